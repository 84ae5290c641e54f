# SPDX-License-Identifier: BSD-3-Clause
"""Thresholds of kernels: the quantity that each is relative to (*part of*), its reason, and its test.

Kernels run in double and in single precision, for robots of any size: a threshold is relative to a quantity of the same
dimension, or to one where numbers are dimensionless. Those in SI units say so; they keep quotients finite and do not
change results. Parameters of algorithms (step sizes, penalties, factors) are beside their kernels.
"""

from __future__ import annotations

# Constrained dynamics ----------------------------------------------------------------------------------------------

DISABLED = 1e20
"""A row with more regularization is not enabled. Part of: SI units of inverse inertia; users set `UNBOUNDED`.
Test: tests/kernels/test_iterations.py"""

NEGLIGIBLE_ROW = 1e9
"""A row whose diagonal entry of J M⁻¹ Jᵀ is less than `CLUSTER_PIVOT` over this is rounding error. Part of: the largest
diagonal entry. Test: tests/dynamics/test_forward_redundant.py"""

NEGLIGIBLE_RESIDUAL = 1e-20
"""A residual below any tolerance that can be met, and above tolerances set so that iterations never end early. Part of:
the residual's scale, a square. Test: tests/kernels/test_iterations.py"""

STAGNATION = 1e-4
"""The least change of the residual in an iteration that is worth another. Part of: the residual.
Test: tests/kernels/test_iterations.py"""

RESOLVED_ROWS = 5e3
"""Rows are weak, not dependent, where the square of a singular value is above this. Part of: the rounding error of that
square, for rows of unit inertia. Test: tests/kernels/test_iterations.py"""

DEPENDENT_CHANGE = 1e-10
"""Rows are dependent, not weak, where an iteration changes the residual by less. Part of: the residual.
Test: tests/dynamics/test_forward_redundant.py"""

INTERNAL_ACCELERATION = 1e-8
"""Accelerations that contradicting rows may leave when iterations end. Part of: accelerations.
Test: tests/dynamics/test_forward_redundant.py"""

NEARLY_CLOSED = 1e-5
"""Loops that are open by less are open by drift or rounding. Part of: the robot's length, or one for angles.
Test: tests/closure/test_rounded_loops.py"""

HALF_TURN = 1e-12
"""Below this, ``1 + cos`` of an angle is that of half a turn, whose axis is not unique. Part of: one.
Test: tests/kernels/test_constraint_kernels.py"""

CLUSTER_PIVOT = 1e-9
"""A lesser pivot is zero: independent joints do not determine the others, at a dead center of theirs. Part of: the
largest entry of its column, in units of joints and rows. Test: tests/kernels/test_clusters.py"""

LARGEST_CORRECTION = 1e-4
"""The largest last correction of a joint that closes loops: the remaining error is about its square, usually rounding.
Corrections in single precision are 1e-5, where loops are closed to 1e-7. Part of: the unit of the joint, a radian or
the robot's length. Test: tests/simulation/test_minimal_steps.py"""

MASSLESS_PIVOT = 1e-13
"""A lesser pivot of the mass matrix is rounding: a joint moves no mass. Part of: its diagonal entry.
Test: tests/closure/test_mobility.py"""

CLEAR_DISTANCE = 1e-6
"""The least distance of a row from the span of those before it that is never rounding, whatever counts as zero.
Rounding of later rows grows by the inverse of this distance and stays below the threshold of rank. Part of: the length
of the row. Test: tests/closure/test_rounded_loops.py"""

CLEARLY_INDEPENDENT = 1e-3
"""Rows whose pivots are all larger do not depend on each other, whatever counts as zero. Part of: the row's own
diagonal entry. Test: tests/dynamics/test_constrained_derivatives.py"""

LEFT_OUT = 1e-10
"""Rows that are left out as dependent may change others by this. Part of: the least independent row.
Test: tests/dynamics/test_constrained_derivatives.py"""

REFINED = 1e-6
"""Refinement ends with a step that changes accelerations by less: the next one's change is about its square. Part of:
accelerations. Test: tests/kernels/test_pv_early.py"""

REFINABLE = 1e-2
"""A larger step of refinement corrects more than rounding: the configuration is singular. Part of: accelerations.
Test: tests/kernels/test_pv_early.py"""

WEAK_PIVOT = 3e-9
"""A smaller pivot loses too many digits. Part of: the diagonal of J M⁻¹ Jᵀ. Test: tests/kernels/test_pv_early.py"""

SQUARED_RANK = 1e-18
"""``K S`` is left out where its squared norm is less. Part of: the squared norm of the rows as they were given.
Test: tests/kernels/test_pv_early.py"""

SQUARED_ROUNDING = 1e-24
"""``K S`` that is left out is zero where its squared norm is less; else refinement makes up for it. Part of: the
squared norm of the rows as they were given. Test: tests/kernels/test_pv_early.py"""

LEAST_REFLECTOR = 1e-200
"""A squared Householder vector below this is zero: its quotient would not be finite. Part of: SI units, squared.
Test: tests/kernels/test_pv_early.py"""

ROUNDING_OF_SUMS = 1e-15
"""Rounding error of a sum in double precision. Part of: its largest term. Test: tests/dynamics/test_delassus.py"""

LEAST_FORCE = 1e-300
"""Less than any force: keeps quotients finite. Part of: SI units. Test: tests/dynamics/test_delassus.py"""

# Assembly and inverse kinematics -----------------------------------------------------------------------------------

LEAST_REGULARIZATION = 1e-13
"""The least regularization of a step: above the rounding of redundant rows. Part of: the largest entry of ``J J'``.
Test: tests/closure/test_assemble_batches.py"""

SUFFICIENT_DECREASE = 1e-4
"""The least decrease that a line search accepts (Armijo). Part of: the decrease by the slope.
Test: tests/closure/test_inverse_kinematics.py"""

LITTLE_CLOSING = 1e-4
"""A decrease of the error below this is a stagnant iteration of assembly. Part of: the error.
Test: tests/closure/test_assemble_batches.py"""

LITTLE_DECREASE = 1e-6
"""A decrease of the merit below this is a stagnant iteration of inverse kinematics without a posture. Part of: the
merit. Test: tests/closure/test_inverse_kinematics.py"""

LITTLE_DECREASE_OF_POSTURE = 1e-10
"""The threshold of stagnation with a posture, whose distance falls slowly at the end. Part of: the merit.
Test: tests/closure/test_inverse_kinematics.py"""

IGNORED_ROW = 1e-30
"""Keeps divisions finite for ignored rows and zero lengths. Part of: one, in scaled rows.
Test: tests/closure/test_inverse_kinematics.py"""

# Contact -----------------------------------------------------------------------------------------------------------

LEAST_INVERSE_INERTIA = 1e-35
"""Keeps quotients by the diagonal of J M⁻¹ Jᵀ finite where no joint moves a row, in single precision, too. Part of: SI
units. Test: tests/contact/test_contact_robustness.py"""

NEAR_CONE = 1e-9
"""Distance of a force from the cone at which one more step is the last: it doubles the digits. Part of: the force.
Test: tests/contact/test_contact_dense.py"""

SINGULAR_SLIDING = 1e-14
"""Added to the tangential block of J M⁻¹ Jᵀ, for contacts that cannot slide. Part of: the mean of its
diagonal. Test: tests/contact/test_contact_dense.py"""

LEAST_EIGENVALUE = 1e-6
"""The least eigenvalue that the spectral rule of ADMM assumes. Part of: the diagonal of J M⁻¹ Jᵀ.
Test: tests/contact/test_contact_dense.py"""

ZERO_WORK = 1e-11
"""Work of contacts that counts as zero. Part of: ``sum f_n |u_n|`` of contacts that bounce.
Test: tests/contact/test_contact_impacts.py"""

LEAST_SMOOTHING = 1e-14
"""Smoothing at the end of Newton's iterations. Part of: that at the beginning.
Test: tests/contact/test_contact_step.py"""

LEAST_SLACK = 1e-3
"""The least that one less an eigenvalue of a projection's derivative may be in the system of derivatives: it bounds
penalties, by which rounding errors of rows are multiplied. Part of: one.
Test: tests/contact/test_contact_derivatives.py"""

SLIGHT_ETA = 1e-12
"""Contacts in which ``eta`` has a smaller effect have none. Part of: the effect of their inertia.
Test: tests/contact/test_contact_derivatives.py"""

FINAL_RESIDUAL = 1e-6
"""Residual of Newton's method at which the proximal weight is reduced no further. Part of: the residual of contacts.
Test: tests/dynamics/test_inverse_contact.py"""

LEAST_LEVERS = 1e-6
"""Added to the diagonal of ``N``: levers shorter than its root are not used in full. Part of: the levers of contacts,
squared. Test: tests/dynamics/test_inverse_contact.py"""

# Shapes ------------------------------------------------------------------------------------------------------------

NO_CONTACT = 1e6
"""The gap of a slot that has no point in this configuration: farther than anything that could touch. Part of: meters.
Test: tests/contact/test_contact_geometry.py"""

ZERO_SQUARE = 1e-36
"""Lesser squares of lengths are zeros. Part of: square meters. Test: tests/contact/test_contact_geometry.py"""

EQUAL_LENGTHS = 1e-11
"""Lengths that differ by less are equal: the first one is kept. Part of: the size of the shapes.
Test: tests/contact/test_contact_geometry.py"""

COINCIDENT_EDGES = 1e-10
"""Edges that lie this near to each other coincide: those of the second box count. Part of: their length.
Test: tests/contact/test_contact_geometry.py"""

PARALLEL_EDGES = 1e-10
"""Edges do not cross where they approach each other by less. Part of: their length.
Test: tests/contact/test_contact_geometry.py"""

LEANING = 1e-6
"""Tilt of a direction towards the other box, to choose among corners that are as near along the normal. Part of: a
unit vector. Test: tests/contact/test_contact_geometry.py"""

BOX_TILT = (3e-11, 5e-11, 8e-11)
"""A rotation by which the second box would have no faces and edges parallel to those of the first. Part of: a radian.
Test: tests/contact/test_contact_geometry.py"""

ONE_POINT = 1e-6
"""Two contact points of a capsule that are closer are one. Part of: the length of the cores.
Test: tests/contact/test_contact_geometry.py"""

LEVEL = 1e-30
"""A segment that rises by less is level. Part of: meters. Test: tests/contact/test_contact_geometry.py"""

CELL_ROUNDING = 1e-6
"""Rounding of points of a height field. Part of: a cell. Test: tests/contact/test_contact_surfaces.py"""

UPRIGHT = 1e-11
"""Cylinders that lean by less have contact points at fixed places of their rim. Part of: a radian.
Test: tests/contact/test_contact_geometry.py"""

LEAST_COORDINATE = 1e-18
"""Lesser coordinates of centers count as this, so that no root is at a pole. Part of: the least semi-axis of an
ellipsoid. Test: tests/contact/test_contact_geometry.py"""

CLEARLY_APART = 1e-4
"""Polytopes that are farther apart have the normal from point to point. Part of: the size of the shapes.
Test: tests/contact/test_convex_geometry.py"""

EDGE_ON = 1e-10
"""Corners that are outside the outline of a face by less are over it. Part of: the size of the shapes.
Test: tests/contact/test_convex_geometry.py"""

SIDE_ON = 1e-6
"""A cylinder touches with its whole side or end where the normal is off by less. Part of: a unit vector.
Test: tests/contact/test_convex_geometry.py"""

EQUAL_CANDIDATES = 1e-6
"""Of contact points that are farther out than others by less the first counts. Part of: the size of the shapes.
Test: tests/contact/test_convex_geometry.py"""

ON_EDGE = 1e-6
"""A contact point is on an edge of a triangle where the weight of the third corner is less. Part of: one.
Test: tests/contact/test_convex_fields.py"""

INTERNAL_EDGE = 1e-6
"""A normal that points by more beyond an edge, over the adjacent triangle, is not a normal of the surface. Part of: a
unit vector. Test: tests/contact/test_convex_fields.py"""

ZERO_WEIGHT = 1e-12
"""Points of a simplex with less weight do not count. Part of: one. Test: tests/contact/test_convex_fields.py"""

TOUCHING_CORES = 1e-9
"""Convex cores that are nearer touch: their normal is that of features, not that from point to point. Part of: the size
of the shapes. Test: tests/contact/test_convex_geometry.py"""

CONVERGED_DISTANCE = 1e-13
"""GJK ends where the square of the distance may fall by less. Part of: the square of the distance.
Test: tests/contact/test_convex_geometry.py"""

MIXED_DISTANCE = 1e-12
"""GJK of a smooth core and one with edges or faces ends where the distance may fall by less: which edge or corner is
nearest is known then. Part of: the size of the shapes. Test: tests/contact/test_convex_geometry.py"""

SMOOTH_FACETS = 1e-11
"""Faces of the expanding polytope of smooth shapes are near enough to the surface for Newton's method. Part of: the
size of the shapes. Test: tests/contact/test_convex_geometry.py"""

FLAT_SIMPLEX = 1e-14
"""Simplices with less volume are flat. Part of: the cube of the size of the shapes.
Test: tests/contact/test_convex_geometry.py"""

FLAT_DIFFERENCE = 1e-10
"""The difference of two shapes has no volume where it is thinner. Part of: the size of the shapes.
Test: tests/contact/test_convex_geometry.py"""

ROUNDED_LENGTH = 1e-13
"""Rounding of lengths in the difference of two shapes. Part of: the size of the shapes.
Test: tests/contact/test_convex_geometry.py"""

PARALLEL_FEATURES = 1e-7
"""Edges that include a lesser angle are parallel, and have no direction across both. Part of: a radian.
Test: tests/contact/test_convex_geometry.py"""

CONVERGED_NORMAL = 1e-10
"""Newton's method for a normal ends with a step that is shorter: the next is about its square. Part of: a radian.
Test: tests/contact/test_convex_geometry.py"""

NEWTON_REGIME = 1e-4
"""Steps of a normal that are shorter converge quadratically, and rounding may hide their decrease. Part of: a radian.
Test: tests/contact/test_convex_geometry.py"""

LEAST_RADIUS = 1e-18
"""Lesser lengths of tangential impulses and velocities count as this, so that their directions are finite. Part of:
N s, or m/s. Test: tests/contact/test_contact_step.py"""

NO_STIFFNESS = 1e-15
"""Lesser blocks of sets of rows are left out of Newton's matrix: those of open contacts, and of joints that slide.
Part of: the inertia of a set. Test: tests/contact/test_reduced_solver.py"""

LEAST_SPAN = 1e-12
"""Least extent of all bodies in the broad phase, so that the size of a cell is above zero. Part of: meters.
Test: tests/contact/test_reduced_broad_phase.py"""

# Tendons, actuators, sensors ---------------------------------------------------------------------------------------

COINCIDENT_ENDS = 1e-30
"""Ends of a segment with a lesser squared distance coincide, and it has no direction. Part of: square meters.
Test: tests/quantities/test_tendons.py"""

CANCELLED_FORCES = 1e-30
"""A sum of actuators' forces on a tendon with a lesser square is zero, and is not scaled. Part of: N².
Test: tests/quantities/test_tendons.py"""

PARALLEL_RAY = 1e-15
"""Rays with a smaller component do not cross a slab. Part of: a unit vector.
Test: tests/quantities/test_sensors_mujoco.py"""

ON_RAY = 1e-7
"""Areas that edges of a triangle span with a ray may be negative by this much: products round differently in two
triangles that share an edge. Part of: the two products of an area. Test: tests/quantities/test_rays.py"""

LEAST_DENOMINATOR = 1e-15
"""The least denominator, width and regularization of soft contacts, as in MuJoCo. Part of: a number without units.
Test: tests/contact/test_soft_contact.py"""

LEAST_DIVISOR = 1e-15
"""The least speed, length, area or slope that forces of a medium, muscles and transmissions divide by, as in MuJoCo.
Part of: SI units. Test: tests/dynamics/test_force_elements.py"""

WRAP_TOLERANCE = 1e-12
"""Residual, an angle, at which Newton's method for the point where a tendon touches an obstacle from inside ends. Part
of: a radian. Test: tests/dynamics/test_transmissions.py"""
