# SPDX-License-Identifier: BSD-3-Clause
"""Shapes that the medium pushes at: one box of the same inertia for a body, or ellipsoids of its geoms that say so."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from linkwork.errors import UnsupportedFeature
from linkwork.model.inertia import Inertia
from linkwork.model.medium import Drag
from linkwork.model.placement import Placement
from linkwork.model.shapes import Box, Ellipsoid
from linkwork.parsing.appearance import LinkShape
from linkwork.parsing.mjcf.inertia import GEOMS, SIZES, inertial_axes, size_and_place
from linkwork.parsing.mjcf.meshes import MeshAssets
from linkwork.parsing.mjcf.settings import Settings
from linkwork.parsing.mjcf.tree import Body, Item
from linkwork.parsing.xml import located

LEAST = 1e-15
"""Masses and moments below this are none."""


def fluid_shapes(body: Body, inertia: Inertia, settings: Settings, meshes: MeshAssets) -> Iterator[LinkShape]:
    """The shapes of a body that the medium pushes at, in its frame.

    Args:
        body: The body.
        inertia: Its inertia.
        settings: <compiler> and <option>.
        meshes: Meshes that geoms are fitted to.
    """
    if inertia.mass < LEAST:
        return
    own = [item for item in body.all("geom") if item.node.choice("fluidshape", ("none", "ellipsoid"), "none") != "none"]
    if own:
        yield from (_ellipsoid(item, settings, meshes) for item in own)
        return
    axes = inertial_axes(body, inertia, settings, meshes)
    moments = np.diagonal(axes.T @ inertia.rotational @ axes)
    edges = np.sqrt(np.maximum((moments.sum() - 2 * moments), LEAST) / inertia.mass * 6.0)
    x, y, z = edges.tolist()
    yield LinkShape(Box((x, y, z)), Placement(inertia.com, axes), None, "fluid")


def _ellipsoid(item: Item, settings: Settings, meshes: MeshAssets) -> LinkShape:
    node = item.node
    type = node.choice("type", GEOMS, "sphere")
    if type not in SIZES:
        raise node.error(f"fluidshape='ellipsoid' of a {type} is not supported", UnsupportedFeature)
    with located(node):
        size, place = size_and_place(node, type, settings, meshes)
    radii = {
        "sphere": (size[0],) * 3,
        "capsule": (size[0], size[0], size[0] + size[-1]),
        "cylinder": (size[0], size[0], size[-1]),
    }.get(type, tuple(size))
    drag = Drag(*node.completed("fluidcoef", (0.5, 0.25, 1.5, 1.0, 1.0)))
    x, y, z = (float(radius) for radius in radii)
    return LinkShape(Ellipsoid((x, y, z)), item.frame * place, None, "fluid", drag=drag)
