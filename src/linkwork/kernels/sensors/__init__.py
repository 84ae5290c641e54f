# SPDX-License-Identifier: BSD-3-Clause
"""Sensors of a robot."""
