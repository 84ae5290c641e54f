# SPDX-License-Identifier: BSD-3-Clause
"""When loops count as closed, and singular values as zero: every threshold, from the smallest to the largest.

Errors are without units: parts of the robot's length, or of one radian (`scales.row_units`).
"""

from __future__ import annotations

from linkwork.kernels.constrained import rank_revealing
from linkwork.kernels.thresholds import CLUSTER_PIVOT, NEARLY_CLOSED

CLOSED = 1e-13
"""Errors below this are closed loops after assembly; rounding of most robots is smaller."""
SINGLE_CLOSED = 1e-6
"""The same in single precision."""
CLOSED_BY_PROJECTION = 1e-12
"""Errors below this are closed loops after the projection of a simulated state."""
CLOSED_BY_SLIDERS = 1e-9
"""Errors below this are closed loops while joints are moved by hand."""
CLOSED_FOR_TORQUES = 1e-9
"""Errors in m or rad above this may be why motors cannot make an acceleration: the message says so."""
CLOSED_FOR_MOBILITY = 1e-6
"""Errors in m or rad below this are closed loops to `mobility`, unless another threshold is given."""
CLOSED_AT_START = 1e-6
"""Loops of a simulation may be open by this at the start, and open as fast, relative to the velocity of its joints."""
ROUNDED = NEARLY_CLOSED
"""Loops that are open by less are open because numbers in a file are rounded."""
DOUBTFUL = 0.01
"""Loops that are open by more are open by mistake; so are velocities that open them by more, as a part of what the
kinetic energy could do."""

RANK = 1e-9
"""Singular values of rows below this part of the largest, or of one, are zeros."""
SINGLE_RANK = 1e-4
"""The same in single precision."""
CLUSTER_RANK = 1e-7
"""The same for the rows of a cluster, of which a choice of joints must serve many poses."""
WEAK = 1e-4
"""Singular values below this need a closer look: a singular configuration is near, or numbers are rounded."""
OPEN = rank_revealing.OPEN
"""Motions that rows hinder by less than so many times what loops are open by, they do not hinder."""
LEAST_PIVOT = CLUSTER_PIVOT
"""Pivots below this part of a row are zeros: other rows, or other joints, say the same."""
