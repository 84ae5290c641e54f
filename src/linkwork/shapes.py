"""What bodies look like: shapes in place, kept from files for viewers. Dynamics never asks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from linkwork.rigid import Placement

Colour = tuple[float, float, float, float]
"""Red, green, blue and opacity, from 0 to 1."""


@dataclass(frozen=True)
class Box:
    """Edges along the axes, in metres."""

    size: tuple[float, float, float]


@dataclass(frozen=True)
class Sphere:
    """Around the origin."""

    radius: float


@dataclass(frozen=True)
class Ellipsoid:
    """Around the origin, half axes along the axes."""

    radii: tuple[float, float, float]


@dataclass(frozen=True)
class Tube:
    """A cylinder around the z axis, ``length`` from end to end; ``rounded`` ends are half spheres beyond it."""

    radius: float
    length: float
    rounded: bool = False


@dataclass(frozen=True)
class Ground:
    """The xy plane, all of it."""


@dataclass(frozen=True)
class Mesh:
    """Triangles from a file: as the model spells it, and where it was found (None if nowhere)."""

    name: str
    file: Path | None
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)


Solid = Box | Sphere | Ellipsoid | Tube | Ground | Mesh


@dataclass(frozen=True, eq=False)
class Shape:
    """A solid on a body (or on ``world``), at ``placement`` in the frame that the body's inertia is given in."""

    body: str
    solid: Solid
    placement: Placement
    colour: Colour | None = None
    role: Literal["visual", "collision"] = "visual"
