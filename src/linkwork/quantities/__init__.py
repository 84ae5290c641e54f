# SPDX-License-Identifier: BSD-3-Clause
"""Functions of a robot's state, and the base of all evaluators."""
