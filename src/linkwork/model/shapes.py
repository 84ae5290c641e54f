# SPDX-License-Identifier: BSD-3-Clause
"""Shapes of bodies, visual and for collision, for viewers and contacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import hypot, inf, isfinite, pi
from pathlib import Path
from typing import Literal

import numpy as np

from linkwork.conversions import converted, converted_but
from linkwork.errors import ModelError
from linkwork.model.arrays import Floats, finite, numbers
from linkwork.model.medium import Drag
from linkwork.model.mesh_files import Triangles, mesh_triangles, mesh_vertices
from linkwork.model.placement import Placement
from linkwork.model.soft_contact import SoftContact

Color = tuple[float, float, float, float]
"""Red, green, blue and opacity, from 0 to 1."""
Role = Literal["visual", "collision", "fluid"]
"""Purpose of a shape: to be drawn, to touch others, or to be pushed by the medium."""
Combination = Literal["lesser", "greater", "harmonic"]
"""Which friction two surfaces have together."""


def _above_zero(what: str, *sizes: float) -> None:
    if not all(isfinite(size) and size > 0 for size in sizes):
        raise ModelError(f"{what} {', '.join(f'{size:g}' for size in sizes)}: sizes must be finite and > 0")


@converted
@dataclass(frozen=True)
class Box:
    """A box around the origin; edges along the axes.

    Args:
        size: Lengths of the edges along x, y and z, in meters.
    """

    size: tuple[float, float, float]

    def __post_init__(self) -> None:
        _above_zero("a box of", *self.size)


@converted
@dataclass(frozen=True)
class Sphere:
    """A sphere around the origin.

    Args:
        radius: In meters.
    """

    radius: float

    def __post_init__(self) -> None:
        _above_zero("a sphere of", self.radius)


@converted
@dataclass(frozen=True)
class Ellipsoid:
    """An ellipsoid around the origin; its semi-axes are along the axes.

    Args:
        radii: Semi-axes along x, y and z, in meters.
    """

    radii: tuple[float, float, float]

    def __post_init__(self) -> None:
        _above_zero("an ellipsoid of", *self.radii)


@converted
@dataclass(frozen=True)
class Cylinder:
    """A cylinder around the z axis, ``length`` from end to end; a capsule if ``rounded``.

    Args:
        radius: In meters.
        length: From end to end, in meters.
        rounded: Whether there are half spheres beyond the ends.
    """

    radius: float
    length: float
    rounded: bool = False

    def __post_init__(self) -> None:
        _above_zero("a cylinder of", self.radius, self.length)


def Capsule(radius: float, length: float) -> Cylinder:
    """A capsule around the z axis: a `Cylinder` that is ``rounded``, with ``length`` between the centers of its ends.

    Args:
        radius: In meters.
        length: In meters.
    """
    return Cylinder(radius, length, rounded=True)


@converted
@dataclass(frozen=True)
class Ground:
    """The whole xy plane; in contacts, the half-space below it.

    Args:
        extent: Half edges along x and y of the rectangle that rays hit, in meters.
    """

    extent: tuple[float, float] = field(default=(inf, inf), repr=False)


@converted
@dataclass(frozen=True, eq=False)
class HeightField:
    """The surface ``z = height(x, y)`` over a rectangle around the origin, and the volume below it.

    Heights are given on a regular grid; between four of them, the surface is two triangles.

    Args:
        heights: In meters, ``heights[i][j]`` at the i-th x and the j-th y; at least two of each.
        size: Of the rectangle along x and y, in meters.
    """

    heights: tuple[tuple[float, ...], ...]
    size: tuple[float, float]

    def __post_init__(self) -> None:
        _above_zero("a height field of", *self.size)
        heights = finite(self.heights, "heights of a height field")
        if heights.ndim != 2 or min(heights.shape) < 2:
            raise ModelError("the heights of a height field must be at least 2 x 2 numbers, in rows of the same length")
        object.__setattr__(self, "heights", tuple(tuple(row) for row in heights.tolist()))


@converted_but("triangles")
@dataclass(frozen=True)
class Mesh:
    """Triangles from a file, or given as numbers.

    Args:
        name: Of the file, as the model has it.
        file: Its path; None if it was not found.
        scale: Of the vertices along x, y and z.
        convex: Whether contacts are always those of its convex hull, as in MuJoCo.
        triangles: The triangles where they come from no file, unscaled.
    """

    name: str
    file: Path | None
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    convex: bool = False
    triangles: Triangles | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not all(isfinite(factor) and factor != 0 for factor in self.scale):
            raise ModelError(f"mesh '{self.name}' is scaled by {self.scale}: scales must be finite and not zero")

    @property
    def is_found(self) -> bool:
        """Whether its triangles are known: it has them, or its file was found."""
        return self.file is not None or self.triangles is not None

    def surface(self) -> Triangles:
        """Its triangles, unscaled, as they are written; `ModelError` where there are none."""
        if self.triangles is not None:
            return self.triangles
        if self.file is None:
            raise ModelError(f"the file of mesh '{self.name}' was not found")
        return mesh_triangles(self.file)

    def vertices(self) -> Floats:
        """Its distinct vertices, scaled, ``(count, 3)``; `ModelError` where there are none."""
        if self.triangles is None and self.file is not None:
            return mesh_vertices(self.file, self.scale)
        return np.unique(self.surface().vertices * np.array(self.scale), axis=0)


PATCH_LEVER = 3 * pi / 16
"""Mean lever of friction against spinning in a round patch, in units of its radius, under the pressure of Hertz."""

Solid = Box | Sphere | Ellipsoid | Cylinder | Ground | HeightField | Mesh


ENCLOSING_STEPS = 200
"""Steps of the center of a sphere around points; their part of the radius that it misses is about one over this."""


def bounding_sphere(solid: Solid) -> tuple[tuple[float, float, float], float]:
    """Center and radius of a sphere around a solid, in its own frame; the radius of an unbounded one is infinite.

    Unbounded are the ground, height fields, which include the volume below, and meshes whose files were not found.

    Args:
        solid: The solid.
    """
    origin = (0.0, 0.0, 0.0)
    match solid:
        case Box(size=(x, y, z)):
            return origin, hypot(x, y, z) / 2
        case Sphere(radius=radius):
            return origin, radius
        case Ellipsoid(radii=radii):
            return origin, max(radii)
        case Cylinder(radius=radius, length=length, rounded=rounded):
            return origin, radius + length / 2 if rounded else hypot(radius, length / 2)
        case Mesh(is_found=True):
            return _enclosing_sphere(solid.vertices())
        case _:
            return origin, inf


def bounding_box(solid: Solid) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Center and half edges of a box around a solid, along its axes; zeros of unbounded ones (`bounding_sphere`).

    Args:
        solid: The solid.
    """
    origin = (0.0, 0.0, 0.0)
    match solid:
        case Box(size=(x, y, z)):
            return origin, (x / 2, y / 2, z / 2)
        case Sphere(radius=radius):
            return origin, (radius, radius, radius)
        case Ellipsoid(radii=radii):
            return origin, radii
        case Cylinder(radius=radius, length=length, rounded=rounded):
            return origin, (radius, radius, length / 2 + (radius if rounded else 0.0))
        case Mesh(is_found=True):
            points = solid.vertices()
            low, high = points.min(axis=0), points.max(axis=0)
            x, y, z = ((high - low) / 2).tolist()
            return tuple(((low + high) / 2).tolist()), (x, y, z)
        case _:
            return origin, origin


def _enclosing_sphere(points: Floats) -> tuple[tuple[float, float, float], float]:
    """A sphere around points that is little larger than the smallest (Badoiu and Clarkson 2003)."""
    center = (points.min(axis=0) + points.max(axis=0)) / 2
    best, radius = center, inf
    for step in range(ENCLOSING_STEPS):
        away = np.linalg.norm(points - center, axis=1)
        farthest = int(away.argmax())
        if away[farthest] < radius:
            best, radius = center, float(away[farthest])
        center = center + (points[farthest] - center) / (step + 2)
    x, y, z = best.tolist()
    return (x, y, z), radius


@converted
@dataclass(frozen=True)
class Surface:
    """Contact properties of a shape in a file; None where the file states none.

    Args:
        friction: Coulomb's coefficient of friction.
        restitution: Newton's coefficient of restitution.
        compliance: The inverse of a stiffness, in m/N.
        combination: Which friction two such surfaces have: the lesser, as in ODE, the greater, as in MuJoCo, or the
            harmonic mean, as in Drake. Where the two differ in this, the lesser.
        mask: Bits of which two shapes that touch have one in common; -1: all.
        torsional_friction: Coefficient of friction against spinning, in m.
        rolling_friction: Coefficient of friction against rolling, in m.
        velocity: Of the surface relative to the body, in m/s, in the axes of the shape.
        angular_velocity: Of the surface about the origin of the shape, in rad/s, in its axes.
        adhesion: Force that pulls at each contact point, in N; of two surfaces, the sum.
        soft: Softness of contacts in simulations with ``contact="soft"``, None: as is usual in MuJoCo; of two
            surfaces, the mean.
    """

    friction: float | None = None
    restitution: float | None = None
    compliance: float | None = None
    combination: Combination = "lesser"
    mask: int = -1
    torsional_friction: float | None = None
    rolling_friction: float | None = None
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    angular_velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    adhesion: float = 0.0
    soft: SoftContact | None = None


@dataclass(frozen=True, eq=False)
class Shape:
    """A solid on a body (or on ``world``), at ``placement`` in the frame of the body's inertia."""

    body: str
    solid: Solid
    placement: Placement
    color: Color | None = None
    role: Role = "visual"
    name: str = ""
    """Its own name; empty where a file gives none."""
    link: str = ""
    """The body that it was given to, which is part of ``body`` where a fixed joint joins them; empty: ``body``."""
    surface: Surface | None = None
    """Properties of its contacts; a shape that has one may touch others, also if it is visual."""
    drag: Drag | None = None
    """Coefficients of fluid forces on an ellipsoid that models drag."""

    @property
    def collides(self) -> bool:
        """Whether it may touch others: its role is collision, or it has a surface, and no mask forbids it."""
        return self.role == "collision" if self.surface is None else self.surface.mask != 0


def as_color(values: Sequence[float] | None) -> Color | None:
    """A color from three or four numbers; opaque by default."""
    if values is None:
        return None
    entries = tuple(numbers(values, "color").reshape(-1).tolist())
    if len(entries) not in (3, 4) or not all(0 <= value <= 1 for value in entries):
        raise ModelError(f"color is {list(entries)}, needs red, green, blue and optionally opacity, each from 0 to 1")
    red, green, blue, opacity = entries if len(entries) == 4 else (*entries, 1.0)
    return red, green, blue, opacity
