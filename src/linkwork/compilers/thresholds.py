# SPDX-License-Identifier: BSD-3-Clause
"""Thresholds of compiled code outside kernels."""

from __future__ import annotations

LEAST_QUATERNION = 1e-12
"""The least squared length of a quaternion that is a rotation; the entry point refuses lesser ones. Part of: one, the
squared length of unit quaternions. Test: tests/quantities/test_bad_calls.py"""
