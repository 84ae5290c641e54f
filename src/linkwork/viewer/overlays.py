# SPDX-License-Identifier: BSD-3-Clause
"""Overlays of a body: its inertia as an evenly filled box."""

from __future__ import annotations

import numpy as np

from linkwork.model.inertia import Inertia
from linkwork.model.placement import Placement
from linkwork.model.shapes import Box

THIN = 0.02
"""Boxes are no thinner than this part of their longest edge."""


def inertia_box(inertia: Inertia) -> tuple[Box, Placement] | None:
    """The box, evenly filled, that has the mass and the rotational inertia of a body; None without any.

    Of moments that no body has, an edge is as thin as is drawn.

    Args:
        inertia: Of the body.
    """
    if not inertia.mass > 0:
        return None
    moments, axes = np.linalg.eigh(0.5 * (inertia.rotational + inertia.rotational.T))
    squares = 6 * (moments.sum() - 2 * moments) / inertia.mass
    edges = np.sqrt(np.maximum(squares, 0.0))
    if not edges.max() > 0:
        return None
    x, y, z = np.maximum(edges, THIN * edges.max()).tolist()
    if np.linalg.det(axes) < 0:
        axes[:, 0] = -axes[:, 0]
    return Box((x, y, z)), Placement(inertia.com, axes)
