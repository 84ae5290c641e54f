# SPDX-License-Identifier: BSD-3-Clause
"""Thresholds of plans: the quantity that each is relative to (*part of*), its reason, and its test.

A plan is made once, in double precision, of numbers from users or files: differences below these are rounding.
"""

from __future__ import annotations

EQUAL_NUMBERS = 5e-14
"""Numbers of placements and inertias that differ by less are equal. It is below the gap of closed loops, so that
rounding to equal numbers opens none. Part of: the size of the mechanism. Test: tests/closure/test_rounded_loops.py"""

ROUND_OFF = 2e-13
"""Lesser numbers are zeros, and numbers of rotations that are so close to 0 or 1 are these: rounding of assembled poses
and of composed placements, on which operation counts must not depend. Part of: the size of the mechanism; of rotations,
one. Test: tests/compilers/test_trace.py"""

DISTINCT_DIRECTION = 1e-6
"""Directions that are off an axis by more are directions of their own. Part of: the size of the mechanism.
Test: tests/dynamics/test_forward_models.py"""

LEAST_SLOPE = 1e-3
"""Components of an axis below this do not slide a frame along it: it would slide too far. Part of: a unit vector.
Test: tests/dynamics/test_forward_models.py"""

LEAST_LEVER = 1e-6
"""A contact cannot move where no joint moves it along its normal by more, for a radian or a meter of its own. Part of:
the size of the robot. Test: tests/contact/test_contact_robustness.py"""

FLAT_MESH = 1e-10
"""Meshes that are thinner are flat, or lie on a line. Part of: the largest extent of a mesh, a root of a sum of squares
over its vertices. Test: tests/contact/test_convex_geometry.py"""

SAME_PLANE = 1e-7
"""Faces of a hull whose unit normals differ by less are one face. Part of: a unit vector.
Test: tests/contact/test_convex_geometry.py"""

BOX_MARGIN = 1e-6
"""Margin of the boxes of a hierarchy around their contents, so that rounding in single precision loses no hit. Part of:
the largest coordinate of the solid. Test: tests/quantities/test_rays.py"""
