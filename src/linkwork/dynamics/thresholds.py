# SPDX-License-Identifier: BSD-3-Clause
"""Thresholds of dynamics: the quantity that each is relative to (*part of*), its reason, and its test.

Settings that users may choose (regularization, tolerance) are beside what they are settings of.
"""

from __future__ import annotations

LEAST_BLOCK_PIVOT = 1e-6
"""The least pivot of rows that end at a base. Below it their block is nearly singular, and `Method.fallback` is taken.
Part of: the diagonal entry of the row. Test: tests/dynamics/test_forward_models.py"""

CONTRADICTION = 1e-6
"""The residual of rows that do not contradict each other. Part of: the effect of forces and velocities. Test:
tests/dynamics/test_forward_redundant.py"""

KKT_RANK = 1e-6
"""Singular values of rows below this are zeros. Near a dead center accelerations are the gap of loops, times gains,
over a singular value: drift of 1e-12 would throw a mechanism off its branch within 1e-8 of it. Omitted rows act again
as soon as the motion has passed. Part of: the largest singular value, in the metric of inertia. Test:
tests/dynamics/test_kkt.py"""

INDEPENDENT_AT_POSES = 1e-3
"""The least singular value of rows that are independent at the poses tried. Part of: one, the length of each row.
Test: tests/dynamics/test_forward_redundant.py"""

INDEPENDENT_AT_END = 1e-4
"""The least singular value of rows that are independent where they end. Part of: one, the length of each row. Test:
tests/kernels/test_row_ends.py"""

ROUNDED_ROW = 1e-9
"""A singular value of rows that is rounding error. Part of: one, the length of each row. Test:
tests/kernels/test_row_ends.py"""

STRUCTURALLY_ZERO = 1e-11
"""A lesser entry of a row at a joint is structurally zero. Part of: one, the norm of the row. Test:
tests/kernels/test_pv_early.py"""

TRUSTED_JOINT = 1e-4
"""The least entry of a row, in one of the poses tried, at a joint that eliminates it. Part of: one, the norm of the
row. Test: tests/kernels/test_pv_early.py"""

EXACTLY_CLOSED = 1e-12
"""Largest loop error at which redundant rows are those of closed loops. Part of: a meter or a radian. Test:
tests/dynamics/test_constrained_derivatives.py"""

CONTRADICTORY = 1e-6
"""The residual of right-hand sides that do not contradict each other: rounding errors of more count. Part of: all
right-hand sides. Test: tests/quantities/test_products.py"""

CONTRADICTED = 1e-11
"""The residual of the rows of a solution that do not contradict each other: iterations end at less. Part of: the
effect of accelerations and forces. Test: tests/quantities/test_products.py"""

EXACT_FORCES = 3e-12
"""Error of forces at which iterations end. Part of: the forces. Test: tests/quantities/test_products.py"""

CHANGING_FORCES = 1e-3
"""Forces that change by more in the last iteration are those of contradicting rows: iterations ended as nothing else
changed. Part of: the forces. Test: tests/quantities/test_products.py"""

DEPENDENT_PIVOT = 1e-11
"""Rows with a lesser pivot depend on rows before them. Part of: the diagonal entry of the row. Test:
tests/dynamics/test_rounded_derivatives.py"""

SINGLE_DEPENDENT_PIVOT = 1e-5
"""In single precision. Part of: the diagonal entry of the row. Test:
tests/dynamics/test_constrained_derivatives.py"""

AGREES = 1e-9
"""Difference of accelerations of derivatives and of forward dynamics. Part of: the terms of the rows.
Test: tests/dynamics/test_constrained_derivatives.py"""

SINGLE_AGREES = 1e-2
"""In single precision. Part of: the effect of accelerations and forces. Test:
tests/dynamics/test_constrained_derivatives.py"""

INDEPENDENT_PIVOT = 1e-4
"""Rows with larger pivots need no decision on their rank: the factor has the solution to rounding over this, and is
not compared with it. Part of: the squared norm of the row. Test: tests/dynamics/test_constrained_derivatives.py"""

UNREACHABLE = 1e-9
"""Residual of torques of actuated joints. Part of: the generalized forces. Test: tests/dynamics/test_inverse.py"""

UNREACHABLE_SINGLE = 1e-4
"""In single precision. Part of: the generalized forces. Test: tests/dynamics/test_inverse.py"""

NOT_ALLOWED = 1e-6
"""Accelerations that differ by more from what constraints allow are not allowed. Part of: the largest acceleration, or
gravity. Test: tests/dynamics/test_inverse.py"""

NOT_ALLOWED_SINGLE = 1e-2
"""In single precision. Part of: the largest acceleration, or gravity. Test: tests/dynamics/test_inverse.py"""

MOTOR_RANK = 1e-10
"""Motions that motors cause by less are rounding. Part of: the largest motion. Test: tests/dynamics/test_inverse.py"""

SINGLE_MOTOR_RANK = 1e-5
"""In single precision. Part of: the largest motion. Test: tests/dynamics/test_inverse.py"""

EQUILIBRIUM_RANK = 1e-9
"""Directions with a lesser singular value are rounding. Part of: the largest singular value. Test:
tests/dynamics/test_equilibrium.py"""

NEWTON_RANK = 1e-10
"""Of all equations at once: beside stiff springs, the weight of a rod that may spin is next to nothing. Part
of: the largest singular value. Test: tests/dynamics/test_equilibrium.py"""

INDIFFERENT = 1e-10
"""Stiffness below which torques do not tell poses apart. Part of: the load, per radian or meter. Test:
tests/dynamics/test_equilibrium.py"""

SETTLED = 1e-5
"""A pose that changes by less has converged. Part of: a radian or a meter. Test:
tests/dynamics/test_equilibrium.py"""

BALANCED = 1e-9
"""Final residual of the balance. Part of: the torques that there are, or that a radian would make.
Test: tests/dynamics/test_equilibrium.py"""

BRANCH_PIVOT = 1e-10
"""A lesser pivot: the branches of a floating base are singular by themselves. Part of: the diagonal entry. Test:
tests/dynamics/test_delassus_operators.py"""

REFINED_FORCES = 1e-11
"""Error of forces above which they are refined. Part of: the forces. Test: tests/dynamics/test_delassus.py"""
