# SPDX-License-Identifier: BSD-3-Clause
"""When loops count as closed, and singular values as zero: every threshold, from the smallest to the largest.

Errors are without units: parts of the robot's length, or of one radian (`scales.row_units`).
"""

from __future__ import annotations

from linkwork.kernels.constrained import rank_revealing
from linkwork.kernels.thresholds import CLUSTER_PIVOT, NEARLY_CLOSED

CLOSED = 1e-13
"""Errors below this are closed loops after assembly; rounding of most robots is smaller. Part of: the robot's length,
or a radian. Test: tests/closure/test_assemble.py"""
SINGLE_CLOSED = 1e-6
"""In single precision. Part of: as above. Test: tests/closure/test_closure_evaluators.py"""
CLOSED_BY_PROJECTION = 1e-12
"""Errors below this are closed loops after the projection of a simulated state. Part of: the same. Test:
tests/simulation/test_simulation.py"""
CLOSED_BY_SWEEP = 1e-12
"""Errors below this are closed loops of a sweep, unless another threshold is given. Part of: the same. Test:
tests/simulation/test_sweep.py"""
CLOSED_BY_SLIDERS = 1e-9
"""Errors below this are closed loops while joints are moved by hand. Part of: the same. Test:
tests/drawing/test_viewer.py"""
CLOSED_FOR_TORQUES = 1e-9
"""Errors in m or rad above this may be why motors cannot make an acceleration: the message says so. Part of: a meter
or a radian. Test: tests/dynamics/test_inverse.py"""
CLOSED_FOR_MOBILITY = 1e-6
"""Errors in m or rad below this are closed loops to `mobility`, unless another threshold is given. Part of: a meter or
a radian. Test: tests/closure/test_mobility.py"""
CLOSED_AT_START = 1e-6
"""Loops of a simulation may be open by this at the start, and open as fast, relative to the velocity of its joints.
Part of: the robot's length, or a radian; of velocities, that of joints. Test: tests/simulation/test_simulation.py"""
ROUNDED = NEARLY_CLOSED
"""Loops that are open by less are open because numbers in a file are rounded. Part of: the robot's length, or a
radian. Test: tests/closure/test_rounded_loops.py"""
DOUBTFUL = 0.01
"""Loops that are open by more are open by mistake; so are velocities that open them by more, as a part of the velocity
by the kinetic energy. Part of: the robot's length, or a radian. Test: tests/dynamics/test_forward_calls.py"""

RANK = 1e-9
"""Singular values of rows below this part of the largest, or of one, are zeros. Part of: the largest singular value,
or one. Test: tests/closure/test_mobility.py"""
SINGLE_RANK = 1e-4
"""In single precision. Part of: as above. Test: tests/closure/test_closure_evaluators.py"""
CLUSTER_RANK = 1e-7
"""For the rows of a cluster, of which a choice of joints must serve many poses. Part of: as above. Test:
tests/kernels/test_clusters.py"""
WEAK = 1e-4
"""Singular values below this need a closer look: a singular configuration is near, or numbers are rounded. Part of:
the largest singular value, or one. Test: tests/closure/test_mobility.py"""
OPEN = rank_revealing.OPEN
"""Rows do not restrict motions whose rate of error is less than this times the gap of loops. Part of: the gap. Test:
tests/closure/test_rounded_loops.py"""
LEAST_PIVOT = CLUSTER_PIVOT
"""Pivots below this part of a row are zeros: other rows, or other joints, say the same. Part of: the row. Test:
tests/kernels/test_clusters.py"""

TIED = 1e-8
"""A motor whose rows others cannot follow to more is tied. Part of: the row. Test: tests/closure/test_mobility.py"""

LOOSE = 1e-6
"""A joint that moves by more while all motors stand is not determined by them. Part of: the largest motion. Test:
tests/closure/test_mobility.py"""

STILL = 1e-7
"""Lesser steps change a posture no more. Part of: a radian, or the robot's length. Test:
tests/closure/test_inverse_kinematics.py"""

AT_REST = 1e-12
"""Kinetic energy of a robot at rest. Part of: the energy that the robot gains as it falls by its length. Test:
tests/closure/test_mobility.py"""

NEARLY_DEPENDENT = 1e-3
"""Rows with a lesser singular value count as redundant in steps, which then iterate once more. Part of: one, in rows
scaled by inertia. Test: tests/simulation/test_simulation_methods.py"""

SINGULAR_MASS = 1e-14
"""Lesser eigenvalues of the mass matrix are zeros. Part of: one, the inertia of each joint. Test:
tests/closure/test_mobility.py"""

ADDED_INERTIA = 1e-9
"""Inertia that is added where the mass matrix is singular. Part of: the inertia of the joint. Test:
tests/closure/test_mobility.py"""
