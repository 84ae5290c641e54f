# SPDX-License-Identifier: BSD-3-Clause
"""Convex shapes for contact points at faces: points that may touch, and where lines enter and leave."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.spatial import ConvexHull, QhullError

from linkwork.contact.thresholds import COPLANAR, FACING, INFLATED, LEAST_EXTENT, PARALLEL_LINE
from linkwork.errors import ModelError
from linkwork.model.arrays import Floats
from linkwork.model.shapes import Box, Cylinder, Ellipsoid, Ground, Solid, Sphere

RIM = 16
"""Points of a cylinder's rim that are tried as contact points."""


class Convex(Protocol):
    """A convex shape, in its own axes."""

    @property
    def size(self) -> float:
        """A length that rounding is measured by."""

    def support(self, n: Floats) -> float:
        """``max n . x``; infinite in directions in which there is no end."""

    def points_along(self, n: Floats) -> Floats:
        """Points on the side that faces ``n``, which may touch something there, ``(k, 3)``."""

    def through(self, x: Floats, n: Floats) -> tuple[Floats, Floats]:
        """Where lines ``x + s n`` enter and leave, ``(k,)`` each; those that miss leave before they enter."""


@dataclass(frozen=True, eq=False)
class Polytope:
    """Corners ``(k, 3)``, and half-spaces ``normals . x <= offsets`` whose intersection they span."""

    points: Floats
    normals: Floats
    offsets: Floats

    @property
    def size(self) -> float:
        """The largest coordinate of a corner."""
        return float(np.abs(self.points).max(initial=LEAST_EXTENT))

    def support(self, n: Floats) -> float:
        """Of the farthest corner; infinite of a half-space."""
        return float((self.points @ n).max(initial=-np.inf)) if len(self.points) else np.inf

    @cached_property
    def _planes_of_corners(self) -> npt.NDArray[np.int64]:
        """(k, most) Half-spaces that each corner is on the border of; the first again where there are fewer."""
        on = np.abs(self.offsets - self.points @ self.normals.T) <= COPLANAR * self.size
        most = int(on.sum(axis=1).max(initial=1))
        order = np.argsort(~on, axis=1, kind="stable")[:, :most]
        return np.where(np.take_along_axis(on, order, axis=1), order, order[:, :1])

    def points_along(self, n: Floats) -> Floats:
        """Corners of faces whose normals have a part along ``n``."""
        if not len(self.points):
            return self.points
        facing: npt.NDArray[np.bool_] = self.normals @ n > FACING
        front: Floats = self.points[facing[self._planes_of_corners].any(axis=1)]
        return front

    def through(self, x: Floats, n: Floats) -> tuple[Floats, Floats]:
        """From planes that the line enters by, to those that it leaves by."""
        slope = self.normals @ n
        room = self.offsets - x @ self.normals.T + INFLATED * self.size
        with np.errstate(divide="ignore", invalid="ignore"):
            at = room / slope
        enter = np.where(slope < -PARALLEL_LINE, at, -np.inf).max(axis=1, initial=-np.inf)
        leave = np.where(slope > PARALLEL_LINE, at, np.inf).min(axis=1, initial=np.inf)
        beside = ((np.abs(slope) <= PARALLEL_LINE) & (room < 0)).any(axis=1)
        return enter, np.where(beside, -np.inf, leave)


@dataclass(frozen=True, eq=False)
class Tube:
    """A cylinder about z."""

    radius: float
    half: float

    @property
    def size(self) -> float:
        """Radius and half length."""
        return self.radius + self.half

    def support(self, n: Floats) -> float:
        """Of a point of a rim."""
        return float(self.radius * np.hypot(n[0], n[1]) + self.half * abs(n[2]))

    def points_along(self, n: Floats) -> Floats:
        """Points of both rims, the foremost in direction ``n`` among them."""
        angle = np.arctan2(n[1], n[0]) + 2 * np.pi * np.arange(RIM) / RIM
        ring = np.stack([self.radius * np.cos(angle), self.radius * np.sin(angle)], axis=1)
        return _facing(self, np.concatenate([np.c_[ring, np.full(RIM, z)] for z in (-self.half, self.half)]), n)

    def through(self, x: Floats, n: Floats) -> tuple[Floats, Floats]:
        """Where the line is both within the radius and between the ends."""
        radius = self.radius * (1 + INFLATED)
        enter, leave = _within_sphere(x[:, :2], n[:2], radius)
        room = self.half * (1 + INFLATED)
        if abs(n[2]) > PARALLEL_LINE:
            low, high = np.sort(np.stack([(-room - x[:, 2]) / n[2], (room - x[:, 2]) / n[2]]), axis=0)
            return np.maximum(enter, low), np.minimum(leave, high)
        return enter, np.where(np.abs(x[:, 2]) <= room, leave, -np.inf)


@dataclass(frozen=True, eq=False)
class Round:
    """An ellipsoid, or the two ends of a capsule: semi-axes, and half the distance of the ends along z."""

    radii: Floats
    half: float = 0.0

    @property
    def size(self) -> float:
        """The largest extent."""
        return float(self.radii.max()) + self.half

    def support(self, n: Floats) -> float:
        """Of the foremost point of an end."""
        return float(np.linalg.norm(self.radii * n) + self.half * abs(n[2]))

    def points_along(self, n: Floats) -> Floats:
        """The foremost point of each end in direction ``n``."""
        scaled = self.radii * n
        foremost = self.radii * scaled / np.linalg.norm(scaled)
        ends = (-self.half, self.half) if self.half else (0.0,)
        return _facing(self, np.array([foremost + np.array([0.0, 0.0, z]) for z in ends]), n)

    def through(self, x: Floats, n: Floats) -> tuple[Floats, Floats]:
        """Where the line is in the ellipsoid; in one of the ends of a capsule, the tube between them left out."""
        spans = [
            _within_sphere((x - (0.0, 0.0, z)) / self.radii, n / self.radii, 1.0 + INFLATED)
            for z in ((-self.half, self.half) if self.half else (0.0,))
        ]
        return np.min([enter for enter, _ in spans], axis=0), np.max([leave for _, leave in spans], axis=0)


def _facing(shape: Convex, points: Floats, n: Floats) -> Floats:
    """Those points of the surface from which lines along ``n`` leave at once."""
    _, leave = shape.through(points, n)
    face: Floats = points[leave < COPLANAR * shape.size]
    return face


def _within_sphere(x: Floats, n: Floats, radius: float) -> tuple[Floats, Floats]:
    """Where lines enter and leave a sphere, or a circle."""
    a, b, c = n @ n, x @ n, (x * x).sum(axis=1) - radius**2
    if a < PARALLEL_LINE**2:
        return np.where(c <= 0, -np.inf, np.inf), np.where(c <= 0, np.inf, -np.inf)
    square = b * b - a * c
    root = np.sqrt(np.maximum(square, 0.0))
    return np.where(square < 0, np.inf, (-b - root) / a), np.where(square < 0, -np.inf, (-b + root) / a)


def convex_of(solid: Solid) -> Convex | None:
    """The convex shape of a solid that has no mesh."""
    match solid:
        case Ground():
            return Polytope(np.zeros((0, 3)), np.array([[0.0, 0.0, 1.0]]), np.zeros(1))
        case Sphere(radius=radius):
            return Round(np.full(3, radius))
        case Ellipsoid(radii=radii):
            return Round(np.array(radii))
        case Cylinder(radius=radius, length=length, rounded=True):
            return Round(np.full(3, radius), length / 2)
        case Cylinder(radius=radius, length=length):
            return Tube(radius, length / 2)
        case Box(size=size):
            half = np.array(size) / 2
            corners = np.array(list(product((-1.0, 1.0), repeat=3))) * half
            return Polytope(corners, np.concatenate([np.eye(3), -np.eye(3)]), np.concatenate([half, half]))
        case _:
            return None


def hull_of(vertices: Floats, what: str) -> tuple[Polytope, npt.NDArray[np.int64]]:
    """The convex hull of points, and its triangles, counterclockwise from outside."""
    try:
        hull = ConvexHull(vertices)
    except (QhullError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise ModelError(f"{what} has no convex hull ({reason}); its points must span a volume") from None
    number = np.full(len(vertices), -1)
    number[hull.vertices] = np.arange(len(hull.vertices))
    faces = hull.simplices
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0
    faces = np.where(inward[:, None], faces[:, ::-1], faces)
    planes = np.unique(np.round(hull.equations, 12), axis=0)
    return Polytope(vertices[hull.vertices], planes[:, :3], -planes[:, 3]), number[faces]
