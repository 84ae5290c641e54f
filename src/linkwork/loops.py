# SPDX-License-Identifier: BSD-3-Clause
"""Closed loops: assembly, projection of velocities, clusters, motion in minimal coordinates."""

from linkwork.closure.clusters import clusters
from linkwork.closure.completion import Completion
from linkwork.closure.evaluators import Assembly, VelocityProjection
from linkwork.simulation import MinimalMotion

__all__ = [
    "Assembly",
    "Completion",
    "MinimalMotion",
    "VelocityProjection",
    "clusters",
]
