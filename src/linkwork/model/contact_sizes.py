# SPDX-License-Identifier: BSD-3-Clause
"""Sizes of contact shapes as three numbers each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from linkwork.model.arrays import Floats
from linkwork.model.contacts import ContactShape, changed_shapes, contact_shapes
from linkwork.model.model import Model
from linkwork.model.shapes import Box, Cylinder, Ellipsoid, Solid, Sphere

SIZED = (Box, Sphere, Cylinder, Ellipsoid)
"""Solids that have a size."""


def sized_shapes(robot: Model) -> list[ContactShape]:
    """Contact shapes that have a size: spheres, boxes, capsules, cylinders, ellipsoids."""
    return [shape for shape in contact_shapes(robot.contacts) if isinstance(shape.solid, SIZED)]


def size_of_solid(solid: Solid) -> tuple[float, float, float]:
    """Half edges of a box, semi-axes of an ellipsoid, radius and half length of cylinders, radius of a sphere.

    Args:
        solid: A solid with a size.
    """
    match solid:
        case Box(size=(x, y, z)):
            return x / 2, y / 2, z / 2
        case Sphere(radius=radius):
            return radius, 0.0, 0.0
        case Ellipsoid(radii=radii):
            return radii
        case Cylinder(radius=radius, length=length):
            return radius, length / 2, 0.0
        case _:
            return 0.0, 0.0, 0.0


def _resized(solid: Solid, size: Floats) -> Solid:
    a, b, c = size.tolist()
    if isinstance(solid, Box):
        return replace(solid, size=(2 * a, 2 * b, 2 * c))
    if isinstance(solid, Sphere):
        return replace(solid, radius=a)
    if isinstance(solid, Ellipsoid):
        return replace(solid, radii=(a, b, c))
    return replace(solid, radius=a, length=2 * b) if isinstance(solid, Cylinder) else solid


def with_sizes(robot: Model, x: Floats) -> dict[str, Any]:
    """Fields of a model whose contact shapes have other sizes.

    Args:
        robot: The mechanism.
        x: Sizes of `sized_shapes`, ``(shapes, 3)``.
    """
    solids = {shape: _resized(shape.solid, size) for shape, size in zip(sized_shapes(robot), x, strict=True)}
    return {"contacts": changed_shapes(robot.contacts, lambda s: replace(s, solid=solids[s]) if s in solids else s)}
