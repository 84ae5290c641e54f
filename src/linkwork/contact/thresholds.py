# SPDX-License-Identifier: BSD-3-Clause
"""Thresholds of contacts: the quantity that each is relative to (*part of*), its reason, and its test."""

from __future__ import annotations

# Steps -------------------------------------------------------------------------------------------------------------

CONTACT_TOLERANCE = 3e-9
"""The residual at which the iterations of a step end by default. Part of: the velocity at which bodies of the robot's
size fall. Test: tests/contact/test_contact_step.py"""

SINGLE_CONTACT_TOLERANCE = 1e-4
"""The least in single precision, which rounds residuals to about this. Part of: the same. Test:
tests/simulation/test_contact_programs.py"""

LEAST_TIME_CONSTANT = 0.005
"""The time in which penetration is removed and open loops close by default; two steps, if these are longer. Part of:
seconds. Test: tests/simulation/test_simulation.py"""

SMOOTHING_SLACK = 1e-7
"""Slack of the smoothed projections: it bounds the penalty by the first penalty over this. Part of: one, an eigenvalue
of a projection's derivative. Test: tests/contact/test_contact_step.py"""

SINGLE_SMOOTHING_SLACK = 1e-4
"""In single precision: larger penalties round inertias to zero beside them. Part of: the same. Test:
tests/simulation/test_contact_programs.py"""

SINGLE_REDUCED_SLACK = 1e-3
"""Of steps by the reduced matrix, whose full derivative converges as fast: rounding of velocities
changes impulses by as many times as this is less than one. Part of: the same. Test:
tests/contact/test_contact_single_precision.py"""

SINGLE_SOFTNESS = 1e-4
"""Compliance of contacts along their normals in single precision: rounding of gaps would decide which of redundant
points bear. Part of: the inverse inertia of a contact. Test: tests/contact/test_contact_single_precision.py"""

PENETRATION_VELOCITY = 0.1
"""The largest velocity at which penetration is removed, so that deep penetration does not throw bodies off. Part of:
the velocity at which bodies of the robot's size fall. Test: tests/contact/test_contact_step.py"""

RESTING_STEPS = 2.0
"""Restitution acts on contacts that close faster than gravity accelerates them in so many steps: others are at rest.
Part of: the change of velocity by gravity in a step. Test: tests/contact/test_contact_step.py"""

MOTION_PER_STEP = 1e-3
"""Without gravity, the distance per step that is the velocity of reference, at most that of bodies that fall on Earth.
Part of: the size of the largest body. Test: tests/contact/test_contact_impacts.py"""

LEAST_DIAGONAL = 1e-6
"""Lesser entries of the diagonal of J M⁻¹ Jᵀ are taken as this: it bounds the penalty of rows that hardly move. Part
of: the largest entry. Test: tests/contact/test_contact_robustness.py"""

SMOOTHED_TOLERANCE = 1e-6
"""The residual at which Newton's method ends on a smoothed problem. Part of: the smoothing. Test:
tests/contact/test_contact_derivatives.py"""

# Rows in a matrix or an operator -----------------------------------------------------------------------------------

ROW_TOLERANCE = 1e-8
"""The residual at which iterations of `solve_contacts` end by default. Part of: the unit of the free velocity ``g``.
Test: tests/contact/test_contact_dense.py"""

ASYMMETRY = 1e-9
"""Matrices that differ by more from their transpose are not symmetric. Part of: the largest entry. Test:
tests/contact/test_contact_dense.py"""

# Shapes ------------------------------------------------------------------------------------------------------------

COAL_TOLERANCES = (1e-6, 1e-9, 1e-12)
"""Tolerances of coal's GJK and EPA, tried in order until its distance is that along its normal to the second of them.
Part of: meters. Test: tests/contact/test_contact_geometry.py"""

EQUAL_GAPS = 1e-7
"""Gaps that differ by less are equal: coal iterates to 1e-6. Part of: the largest distance of two contact points.
Test: tests/contact/test_contact_geometry.py"""

DISTINCT_POINTS = 1e-3
"""Contact points that are closer are one. Part of: the largest distance of two. Test:
tests/contact/test_contact_geometry.py"""

UNIT_NORMAL = 1e-6
"""Results of coal whose normal differs by more from a unit vector are not used. Part of: one, its squared length.
Test: tests/contact/test_contact_geometry.py"""

LARGEST_RADIUS = 1e9
"""A bounding sphere with a larger radius is that of a half-space. Part of: meters. Test:
tests/simulation/test_contact_simulation.py"""

COPLANAR = 1e-9
"""Points that are closer to a plane are on it. Part of: the size of the shape. Test:
tests/contact/test_contact_geometry.py"""

FACING = 1e-3
"""Faces whose normal has a larger component along a direction face it. Part of: a unit vector. Test:
tests/contact/test_contact_geometry.py"""

PARALLEL_LINE = 1e-12
"""Lines with a smaller component along a normal do not cross its plane. Part of: a unit vector. Test:
tests/contact/test_contact_geometry.py"""

INFLATED = 1e-12
"""Enlargement of shapes where lines enter and leave them, so that points of the surface are inside. Part of: the
size of the shape. Test: tests/contact/test_contact_geometry.py"""

LEAST_EXTENT = 1e-300
"""The size of a shape whose points are all at the origin: keeps quotients finite. Part of: meters. Test:
tests/contact/test_contact_surfaces.py"""

SAME_POINT = 1e-9
"""Corners of triangles that differ by less are one. Part of: the size of the surface. Test:
tests/contact/test_contact_surfaces.py"""

OVER_EDGE = 1e-3
"""A normal with a larger component across an edge leans over it. Part of: a unit vector. Test:
tests/contact/test_contact_surfaces.py"""
