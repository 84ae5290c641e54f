# SPDX-License-Identifier: BSD-3-Clause
"""Gprims of USD as shapes, colliders among them, and the volumes that masses are computed from.

| prim               | here                                                                                    |
|--------------------|-----------------------------------------------------------------------------------------|
| Cube               | `Box`                                                                                   |
| Sphere             | `Sphere`; scaled unevenly, `Ellipsoid`                                                  |
| Cylinder, Capsule  | `Cylinder`, also about x and y                                                          |
| Plane              | `Ground`, on the world                                                                  |
| Mesh               | `Mesh` without a file: drawn nowhere, touches nothing; closed ones have a volume        |
| others             | left out                                                                                |
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.arrays import Floats
from linkwork.model.inertia import Inertia
from linkwork.model.joints import unit_axis
from linkwork.model.placement import Placement
from linkwork.model.rotations import aligning_rotation
from linkwork.model.shapes import Box, Color, Cylinder, Ellipsoid, Ground, Mesh, Solid, Sphere, Surface, as_color
from linkwork.parsing.appearance import LinkShape
from linkwork.parsing.contact_rules import Unused
from linkwork.parsing.usd.stage import Stage

_TUBES = {"Cylinder": False, "Cylinder_1": False, "Capsule": True, "Capsule_1": True}


@dataclass(frozen=True)
class Collider:
    """A prim that collides."""

    prim: Any
    place: Placement
    """In the frame of its body."""
    volume: Inertia | None
    """Of a unit density in the frame of the shape; None where it is not computed."""


@dataclass
class Geometry:
    """Shapes and colliders of a body, or of the world."""

    shapes: list[LinkShape] = field(default_factory=list)
    colliders: list[Collider] = field(default_factory=list)


def read_shape(stage: Stage, prim: Any, home: Placement, unused: Unused, into: Geometry, moves: bool) -> None:
    """Add a gprim to the shapes of what it is on.

    Args:
        stage: The stage.
        prim: The gprim.
        home: Where its body is in our world.
        unused: Where to note what cannot touch.
        into: The shapes of the body.
        moves: Whether the body moves.
    """
    physics = stage.pxr.UsdPhysics
    collides = prim.HasAPI(physics.CollisionAPI) and stage.flag(prim, "physics:collisionEnabled", True)
    if not collides and not _is_drawn(stage, prim):
        return
    try:
        at = stage.in_world(prim)
        shape = _solid(stage, prim, at.scale * stage.meters)
    except ModelError:
        at, shape = None, None
    if at is None or shape is None or (isinstance(shape[0], Ground) and moves):
        if collides:
            unused.add(stage.where(prim), f"a collider that is a {prim.GetTypeName()}", always=True)
            into.colliders.append(Collider(prim, Placement(), None))
        return
    solid, turned = shape
    place = home.inverse() * at.place
    into.shapes.append(
        LinkShape(
            solid,
            place * turned,
            _color(stage, prim),
            "collision" if collides else "visual",
            str(prim.GetName()) if collides else "",
            _surface(stage, prim) if collides else None,
        )
    )
    if collides and not isinstance(solid, Ground):
        volume = _mesh_volume(stage, prim, at.scale * stage.meters) if isinstance(solid, Mesh) else _volume(solid)
        into.colliders.append(Collider(prim, place * turned, volume))


def _is_drawn(stage: Stage, prim: Any) -> bool:
    image = stage.pxr.UsdGeom.Imageable(prim)
    return str(image.ComputePurpose()) in ("default", "render") and str(image.ComputeVisibility()) != "invisible"


def _solid(stage: Stage, prim: Any, scale: Floats) -> tuple[Solid, Placement] | None:
    """A solid in meters, and how it is turned in the prim's axes."""
    kind = str(prim.GetTypeName())
    if kind == "Cube":
        x, y, z = (stage.number(prim, "size", 2.0) * scale).tolist()
        return Box((x, y, z)), Placement()
    if kind == "Sphere":
        radii = stage.number(prim, "radius", 1.0) * scale
        if np.ptp(radii) <= 1e-6 * radii.max():
            return Sphere(float(radii[0])), Placement()
        return Ellipsoid((float(radii[0]), float(radii[1]), float(radii[2]))), Placement()
    if kind == "Mesh":
        return Mesh(str(prim.GetPath()), None), Placement()
    axis = unit_axis(stage.axis(prim, "axis", "Z"))
    turned = Placement(rotation=aligning_rotation(axis))
    if kind == "Plane":
        return Ground(), turned
    if kind in _TUBES:
        wide = scale[axis == 0]
        names = ("radius",) if not kind.endswith("_1") else ("radiusTop", "radiusBottom")
        radii = np.array([stage.number(prim, name, 0.5) for name in names])
        if np.ptp(wide) > 1e-6 * wide.max() or np.ptp(radii) > 1e-6 * radii.max():
            return None
        height = stage.number(prim, "height", 1.0) * float(scale @ axis)
        return Cylinder(float(radii[0] * wide[0]), height, _TUBES[kind]), turned
    return None


def _color(stage: Stage, prim: Any) -> Color | None:
    """One color of the whole prim, if it has one."""
    color = stage.value(prim, "primvars:displayColor")
    opacity = stage.value(prim, "primvars:displayOpacity", [1.0])
    try:
        (rgb,), alpha = color, opacity[0] if len(opacity) == 1 else 1.0
        return as_color([min(max(float(x), 0.0), 1.0) for x in (*rgb, alpha)])
    except (TypeError, ValueError):  # none, or one for each vertex
        return None


def _surface(stage: Stage, prim: Any) -> Surface | None:
    """Contact properties in the physics material of a prim."""
    material, _ = stage.pxr.UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")
    if not material or not material.GetPrim().HasAPI(stage.pxr.UsdPhysics.MaterialAPI):
        return None
    friction, restitution = (
        stage.number(material.GetPrim(), f"physics:{name}") for name in ("dynamicFriction", "restitution")
    )
    usable = 0 <= friction < np.inf and 0 <= restitution <= 1
    return Surface(friction, restitution) if usable else None


# Volumes --------------------------------------------------------------------------------------------------------------


def _volume(solid: Solid) -> Inertia | None:
    """Volume, its center and its second moments as the inertia of a unit density."""
    match solid:
        case Box(size):
            return Inertia.box(float(np.prod(size)), size)
        case Sphere(radius):
            return Inertia.sphere(4 / 3 * np.pi * radius**3, radius)
        case Ellipsoid(radii):
            a, b, c = radii
            volume = 4 / 3 * np.pi * a * b * c
            return Inertia(volume, rotational=np.array([b * b + c * c, a * a + c * c, a * a + b * b]) * volume / 5)
        case Cylinder(radius, length, rounded):
            return _tube(radius, length, rounded)
    return None


def _tube(radius: float, length: float, rounded: bool) -> Inertia:
    volume = np.pi * radius**2 * length
    side = volume * (3 * radius**2 + length**2) / 12
    tube = Inertia(volume, rotational=(side, side, volume * radius**2 / 2))
    if not rounded:
        return tube
    # two half balls: of each, the center is 3/8 of the radius beyond the end, with 83/320 m r² about it
    half = 2 / 3 * np.pi * radius**3
    for end in (-1, 1):
        moments = (83 / 320 * half * radius**2,) * 2 + (0.4 * half * radius**2,)
        tube = tube + Inertia(half, (0, 0, end * (length / 2 + 3 / 8 * radius)), moments)
    return tube


def _mesh_volume(stage: Stage, prim: Any, scale: Floats) -> Inertia | None:
    """That of a closed mesh, by tetrahedra from the origin to its triangles; None where it encloses nothing."""
    try:
        points = np.array(stage.value(prim, "points", ()), dtype=np.float64).reshape(-1, 3) * scale
        counts = np.array(stage.value(prim, "faceVertexCounts", ()), dtype=np.intp)
        corners = np.array(stage.value(prim, "faceVertexIndices", ()), dtype=np.intp)
    except (TypeError, ValueError):
        return None
    if not counts.size or counts.min() < 3 or counts.sum() != corners.size or corners.max(initial=0) >= len(points):
        return None
    first = np.cumsum(counts) - counts
    fans = [
        (int(corners[s]), int(corners[s + k]), int(corners[s + k + 1]))
        for s, n in zip(first, counts, strict=True)
        for k in range(1, n - 1)
    ]
    if len({frozenset(e) for e in _edges(fans)}) * 2 != 3 * len(fans):
        return None  # not closed: an edge without two faces
    A = points[np.array(fans)]  # (triangles, 3, 3)
    six = np.linalg.det(A)
    six = six * np.sign(six.sum())  # whichever way its faces are turned
    volume = float(six.sum()) / 6
    if not volume > 0:
        return None
    center = np.einsum("t,tki->i", six, A) / (24 * volume)
    sums = A.sum(axis=1)
    second = (np.einsum("t,tki,tkj->ij", six, A, A) + np.einsum("t,ti,tj->ij", six, sums, sums)) / 120
    about = np.trace(second) * np.eye(3) - second
    I = about - volume * (center @ center * np.eye(3) - np.outer(center, center))
    return Inertia(volume, center, (I + I.T) / 2)


def _edges(triangles: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
    return [(t[k], t[(k + 1) % 3]) for t in triangles for k in range(3)]
