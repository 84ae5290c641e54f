# SPDX-License-Identifier: BSD-3-Clause
"""Outlines of bodies that have no bones: free bodies such as boxes and balls, and what stands on the world."""

from __future__ import annotations

import numpy as np

from linkwork.drawing.skeleton import Skeleton
from linkwork.drawing.surfaces import drawn_shapes
from linkwork.model.constraints import WORLD
from linkwork.model.joints import Free
from linkwork.model.shapes import Box, Cylinder, Ellipsoid, Solid, Sphere
from linkwork.quantities.arguments import Array

ROUND = 24
"""Straight pieces of a circle."""


def outlines(bones: Skeleton, R: Array, p: Array) -> Array:
    """Straight pieces around free bodies that carry nothing, and around shapes of the world, ``(..., pieces, 2, 3)``.

    Args:
        bones: The robot.
        R: Rotations of the world and of all bodies, ``(..., bodies, 3, 3)``.
        p: Their positions, ``(..., bodies, 3)``.
    """
    robot = bones.robot
    carrying = {joint.parent for joint in robot.joints}
    alone = [
        j.child for j in robot.joints if isinstance(j.type, Free) and j.parent == WORLD and j.child not in carrying
    ]
    number = {WORLD: 0} | {name: k for k, name in enumerate(robot.body_names, start=1)}
    segments = [np.zeros((*p.shape[:-2], 0, 2, 3))]
    for body in (WORLD, *alone):
        shapes = [shape for shape in robot.shapes if shape.body == body and shape.role != "fluid"]
        for shape in drawn_shapes(shapes):
            local = solid_edges(shape.solid) @ shape.placement.rotation.T + shape.placement.position
            k = number[body]
            segments.append(np.einsum("...ij,nej->...nei", R[..., k, :, :], local) + p[..., None, None, k, :])
    return np.concatenate(segments, axis=-3)


def solid_edges(solid: Solid) -> Array:
    """Straight pieces of a solid in its own frame, ``(pieces, 2, 3)``; none of planes, height fields and meshes."""
    match solid:
        case Box(size):
            corners = np.array([[k & 1, k >> 1 & 1, k >> 2] for k in range(8)])
            edges = [(a, b) for a in range(8) for b in range(a) if (a ^ b).bit_count() == 1]
            segments: Array = (corners[np.array(edges)] - 0.5) * np.array(size)
            return segments
        case Sphere(radius):
            return _circles((radius,) * 3)
        case Ellipsoid(radii):
            return _circles(radii)
        case Cylinder(radius, length, rounded):
            half = length / 2 + radius * rounded
            ends = [_circle((radius, radius, 0.0), 2, z) for z in (-length / 2, length / 2)]
            sides = [[(x, y, -half), (x, y, half)] for x, y in ((radius, 0), (0, radius), (-radius, 0), (0, -radius))]
            return np.concatenate([*ends, np.array(sides, dtype=np.float64)])
    return np.zeros((0, 2, 3))


def _circles(radii: tuple[float, ...]) -> Array:
    """Three circles about the axes."""
    return np.concatenate([_circle(radii, axis) for axis in range(3)])


def _circle(radii: tuple[float, ...], axis: int, height: float = 0.0) -> Array:
    """An ellipse across an axis."""
    angles = np.linspace(0, 2 * np.pi, ROUND + 1)
    points = np.zeros((ROUND + 1, 3))
    one, other = (axis + 1) % 3, (axis + 2) % 3
    points[:, one], points[:, other] = radii[one] * np.cos(angles), radii[other] * np.sin(angles)
    points[:, axis] = height
    return np.stack([points[:-1], points[1:]], axis=1)
