# SPDX-License-Identifier: BSD-3-Clause
"""Functions of a robot's state, and what all evaluators share."""
