# SPDX-License-Identifier: BSD-3-Clause
"""Thresholds of quantities: the quantity that each is relative to (*part of*), its reason, and its test."""

from __future__ import annotations

import numpy as np

from linkwork.model.thresholds import UNBOUNDED

UNLIMITED_TORQUE = 1e-10 * UNBOUNDED
"""Larger torques are those of commands without a limit, times gains and gears. Part of: N m or N. Test:
tests/dynamics/test_inverse.py"""

LIGHTEST = float(np.finfo(np.float64).eps)
"""The mass of a lighter body is rounding; rotors may have none. Part of: the mass of the heaviest body. Test:
tests/files/test_mutated_files.py"""

ZERO_MOMENT = 1e-14
"""Lesser moments of inertia about an axis are zeros: rounding of the eigenvalues. Part of: the trace of the rotational
inertia. Test: tests/files/test_mutated_files.py"""

MASSLESS = 1e-10
"""Added to the mass matrix where it is inverted for scales: joints that move no mass while all others are free have
finite ones. Eigenvalues below its negative are no rounding. Part of: one, the inertia of each joint. Test:
tests/closure/test_rounded_loops.py"""

LIGHT_ROW = 1e3
"""The largest inverse inertia of a row: joints that move next to no mass, such as a thin rod about its axis, would make
it so large that rows were soft where other rows hold these joints. Part of: that of its bodies, if these were free.
Test: tests/dynamics/test_published.py"""

STUCK_ROW = 0.1
"""The least inverse inertia of a row that joints keep from moving. Part of: that of its bodies, if these were free.
Test: tests/kernels/test_iterations.py"""
