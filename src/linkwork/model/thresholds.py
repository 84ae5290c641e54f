# SPDX-License-Identifier: BSD-3-Clause
"""Numbers that every level of the package shares. Thresholds of a level are in its own module of this name."""

from __future__ import annotations

UNBOUNDED = 1e30
"""A number that stands for no bound: a force, length, velocity or regularization in SI units that nothing reaches, and
whose square is still a number in double precision. Part of: SI units. Test: tests/contact/test_contact_step.py"""
