# SPDX-License-Identifier: BSD-3-Clause
"""Random pairs of shapes, and what their contact points are compared with: support functions, and coal.

``python tests/support/contact_pairs.py 100000`` compares so many pairs of each kind.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import linkwork as lw
from linkwork.contact.convex import hull_of
from linkwork.model.arrays import Floats
from linkwork.model.contacts import ContactPair, ContactShape
from linkwork.model.mesh_files import mesh_vertices
from linkwork.model.shapes import Box, Cylinder, Ellipsoid, Ground, Mesh, Solid, Sphere

Rng = np.random.Generator

KINDS: dict[str, Callable[[Rng], Solid]] = {
    "plane": lambda rng: Ground(),
    "sphere": lambda rng: Sphere(rng.uniform(0.1, 1.0)),
    "capsule": lambda rng: Cylinder(rng.uniform(0.1, 0.5), rng.uniform(0.1, 1.5), rounded=True),
    "box": lambda rng: Box(tuple(rng.uniform(0.1, 1.5, 3))),
    "cylinder": lambda rng: Cylinder(rng.uniform(0.1, 0.7), rng.uniform(0.1, 1.5)),
    "ellipsoid": lambda rng: Ellipsoid(tuple(rng.uniform(0.1, 0.8, 3))),
    "mesh": lambda rng: random_hull(rng),
}
PAIRS = (
    ("plane", "sphere"),
    ("plane", "capsule"),
    ("plane", "box"),
    ("plane", "cylinder"),
    ("plane", "ellipsoid"),
    ("sphere", "sphere"),
    ("capsule", "sphere"),
    ("box", "sphere"),
    ("cylinder", "sphere"),
    ("ellipsoid", "sphere"),
    ("capsule", "capsule"),
    ("box", "capsule"),
    ("box", "box"),
)
"""Kinds of pairs that have kernel code for all backends; height fields aside."""

NATIVE_PAIRS = (
    ("cylinder", "capsule"),
    ("cylinder", "box"),
    ("cylinder", "cylinder"),
    ("ellipsoid", "capsule"),
    ("ellipsoid", "box"),
    ("ellipsoid", "cylinder"),
    ("ellipsoid", "ellipsoid"),
    ("plane", "mesh"),
    ("mesh", "sphere"),
    ("mesh", "capsule"),
    ("mesh", "box"),
    ("mesh", "cylinder"),
    ("mesh", "ellipsoid"),
    ("mesh", "mesh"),
)
"""Kinds of pairs that have kernels of native code alone; meshes are their hulls."""

SHAPES = 40
"""Pairs of different sizes that a sample has."""


# Meshes ---------------------------------------------------------------------------------------------------------------

FOLDER = TemporaryDirectory(prefix="linkwork-hulls-")


def mesh_of(points: Floats) -> Mesh:
    """A mesh whose hull is that of points ``(count, 3)``."""
    name = hashlib.sha256(np.ascontiguousarray(points).tobytes()).hexdigest()[:24]
    file = Path(FOLDER.name) / f"{name}.obj"
    if not file.exists():
        file.write_text("".join(f"v {x!r} {y!r} {z!r}\n" for x, y, z in points.tolist()))
    return Mesh(name, file)


def random_hull(rng: Rng) -> Mesh:
    """The hull of 8 to 200 points on an ellipsoid, or in a box, off the origin."""
    count = int(np.exp(rng.uniform(np.log(8), np.log(200.9))))
    points = rng.normal(size=(count, 3))
    if rng.random() < 0.7:
        points /= np.linalg.norm(points, axis=1, keepdims=True)
    else:
        points = rng.uniform(-1, 1, (count, 3))
    return mesh_of(points * rng.uniform(0.1, 0.8, 3) + rng.uniform(-0.2, 0.2, 3))


def vertices_of(mesh: Mesh) -> Floats:
    """All vertices of a mesh."""
    assert mesh.file is not None
    return mesh_vertices(mesh.file, mesh.scale)


# Scenes ---------------------------------------------------------------------------------------------------------------


def pair_scene(pairs: Sequence[tuple[Solid, Solid]], slots: int | None = None, turned: bool = False) -> lw.Mechanism:
    """Two free bodies, and pairs of shapes at their origins: contacts "0", "1" and so on."""
    builder = lw.Builder("pair")
    for body in ("a", "b"):
        builder.body(body, lw.Inertia(1.0, (0.0, 0.0, 0.0), np.eye(3)))
        builder.joint(f"to_{body}", lw.joints.Free(), "world", body)
    contacts = []
    for k, (first, second) in enumerate(pairs):
        shapes = ContactShape(f"a{k}", "a", first), ContactShape(f"b{k}", "b", second)
        contacts.append(ContactPair(*(shapes[::-1] if turned else shapes), name=str(k), slots=slots))
    return replace(builder.build(), contacts=tuple(contacts))


def random_poses(rng: Rng, count: int, spread: Sequence[float] = (0.1, 0.4, 0.8, 1.6)) -> Floats:
    """Configurations of two free bodies, as far from each other as ``spread`` says, in turns."""
    q = np.empty((count, 14))
    q[:, 3:7] = Rotation.random(count, random_state=rng).as_quat()
    q[:, 10:] = Rotation.random(count, random_state=rng).as_quat()
    q[:, :3] = rng.normal(size=(count, 3))
    q[:, 7:10] = q[:, :3] + rng.normal(size=(count, 3)) * np.resize(spread, count)[:, None]
    return q


def square_poses(rng: Rng, count: int) -> Floats:
    """Configurations in which edges and axes are parallel, at 45 degrees or square, and centers on a grid."""
    q = random_poses(rng, count)
    for start in (3, 10):
        q[:, start : start + 4] = Rotation.from_euler("xyz", rng.integers(0, 8, (count, 3)) * (np.pi / 4)).as_quat()
    q[:, 7:10] = q[:, :3] + rng.integers(-2, 3, (count, 3)) * 0.25
    return q


def poses_of(q: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Rotations and positions of the two bodies."""
    return Rotation.from_quat(q[:, 3:7]).as_matrix(), q[:, :3], Rotation.from_quat(q[:, 10:]).as_matrix(), q[:, 7:10]


# Support functions ----------------------------------------------------------------------------------------------------


def support(solid: Solid, n: Floats) -> Floats:
    """``max n . x`` over a solid, in its own axes."""
    match solid:
        case Sphere(radius=radius):
            return radius * np.linalg.norm(n, axis=-1)
        case Box(size=size):
            return np.abs(n) @ (np.array(size) / 2)
        case Cylinder(radius=radius, length=length, rounded=True):
            return radius * np.linalg.norm(n, axis=-1) + length / 2 * np.abs(n[..., 2])
        case Cylinder(radius=radius, length=length):
            return radius * np.hypot(n[..., 0], n[..., 1]) + length / 2 * np.abs(n[..., 2])
        case Ellipsoid(radii=radii):
            return np.linalg.norm(n * np.array(radii), axis=-1)
        case Mesh():
            return np.max(n @ vertices_of(solid).T, axis=-1)
        case Ground():
            return np.where(n[..., 2] > 1 - 1e-12, 0.0, np.inf)
    raise AssertionError(solid)


def outside(solid: Solid, x: Floats) -> Floats:
    """How far points in the axes of a solid are outside it, at most; negative inside."""
    match solid:
        case Sphere(radius=radius):
            return np.linalg.norm(x, axis=-1) - radius
        case Box(size=size):
            return (np.abs(x) - np.array(size) / 2).max(axis=-1)
        case Cylinder(radius=radius, length=length, rounded=True):
            return np.linalg.norm(x - np.clip(x[..., 2:], -length / 2, length / 2) * [0, 0, 1], axis=-1) - radius
        case Cylinder(radius=radius, length=length):
            return np.maximum(np.hypot(x[..., 0], x[..., 1]) - radius, np.abs(x[..., 2]) - length / 2)
        case Ellipsoid(radii=radii):
            return (np.linalg.norm(x / np.array(radii), axis=-1) - 1) * max(radii)
        case Mesh():
            hull, _ = hull_of(vertices_of(solid), "mesh")
            return np.max(x @ hull.normals.T - hull.offsets, axis=-1)
        case Ground():
            return x[..., 2]
    raise AssertionError(solid)


def separation(pair: tuple[Solid, Solid], q: Floats, n: Floats) -> Floats:
    """How far apart the two solids are along directions ``n (..., 3)`` in one configuration.

    It is at most their distance; or, negative, at most what the shortest way out of an overlap is.
    """
    A, a, B, b = (x[0] for x in poses_of(q[None]))
    return n @ (b - a) - support(pair[0], n @ A) - support(pair[1], -n @ B)


# coal -----------------------------------------------------------------------------------------------------------------


def coal_shape(solid: Solid) -> Any:
    import coal

    match solid:
        case Sphere(radius=radius):
            return coal.Sphere(radius)
        case Box(size=size):
            return coal.Box(*size)
        case Cylinder(radius=radius, length=length, rounded=rounded):
            return (coal.Capsule if rounded else coal.Cylinder)(radius, length)
        case Ellipsoid(radii=radii):
            return coal.Ellipsoid(*radii)
        case Mesh():
            hull, faces = hull_of(vertices_of(solid), "mesh")
            points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
            for point in hull.points:
                points.append(point)
            for a, b, c in faces.tolist():
                triangles.append(coal.Triangle(a, b, c))
            return coal.Convex(points, triangles)
        case Ground():
            return coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
    raise AssertionError(solid)


def coal_requests() -> list[Any]:
    """coal's default accuracy first, and finer ones, which do not always converge."""
    import coal

    requests = []
    for gjk, epa in ((1e-6, 1e-6), (1e-9, 1e-9), (1e-12, 1e-9), (1e-15, 1e-9), (1e-9, 1e-12)):
        request = coal.DistanceRequest()
        request.gjk_tolerance, request.epa_tolerance = gjk, epa
        request.gjk_max_iterations = request.epa_max_iterations = 1000
        requests.append(request)
    return requests


def coal_distance(shapes: tuple[Any, Any], poses: tuple[Any, Any], request: Any) -> tuple[float, Floats]:
    """coal's distance, negative where solids overlap, and its normal."""
    import coal

    result = coal.DistanceResult()
    distance = coal.distance(shapes[0], poses[0], shapes[1], poses[1], request, result)
    return distance, np.array(result.normal)


# Samples --------------------------------------------------------------------------------------------------------------


@dataclass
class Sample:
    """Pairs of shapes in as many configurations, each a pair's own, with the nearest of their contact points."""

    pairs: list[tuple[Solid, Solid]]
    which: np.ndarray
    """The pair of each configuration."""
    q: Floats
    gap: Floats
    normal: Floats
    gaps: Floats
    points: Floats

    def slope(self, step: float = 1e-7) -> Floats:
        """How fast the separation grows where the normal turns, in the best of 16 directions, a part of a radian.

        It is zero or less at the best normal; where the shapes bend with a radius r, and the normal is off by an angle,
        r times that angle.
        """
        best = np.full(len(self.q), -np.inf)
        here = self.separation(self.normal)
        p = np.cross(self.normal, np.where(np.abs(self.normal[:, :1]) < 0.6, [1.0, 0, 0], [0, 1.0, 0]))
        p /= np.linalg.norm(p, axis=1, keepdims=True)
        q = np.cross(self.normal, p)
        for angle in 2 * np.pi * np.arange(16) / 16:
            n = self.normal + step * (np.cos(angle) * p + np.sin(angle) * q)
            n /= np.linalg.norm(n, axis=1, keepdims=True)
            best = np.maximum(best, (self.separation(n) - here) / step)
        return best

    def beyond(self) -> Floats:
        """How far the two ends of the shortest way between the solids, as found, are outside them.

        Where they are apart and this is zero, no shorter way can be missing: the gap is at most their distance.
        """
        row = np.arange(len(self.q))
        point = self.points[row, self.gaps.argmin(axis=1)]
        A, a, B, b = poses_of(self.q)
        ends = point - 0.5 * self.gap[:, None] * self.normal, point + 0.5 * self.gap[:, None] * self.normal
        local = [np.einsum("ij,ijk->ik", x - o, R) for x, o, R in zip(ends, (a, b), (A, B), strict=True)]
        found = np.empty(len(self.q))
        for k, (first, second) in enumerate(self.pairs):
            at = self.which == k
            found[at] = np.maximum(outside(first, local[0][at]), outside(second, local[1][at]))
        return found

    def separation(self, n: Floats) -> Floats:
        """Of each configuration along its own direction."""
        found = np.empty(len(self.q))
        A, a, B, b = poses_of(self.q)
        between = np.einsum("ij,ij->i", n, b - a)
        inner, outer = np.einsum("ij,ijk->ik", n, A), -np.einsum("ij,ijk->ik", n, B)
        for k, (first, second) in enumerate(self.pairs):
            at = self.which == k
            found[at] = between[at] - support(first, inner[at]) - support(second, outer[at])
        return found


def sample(kinds: tuple[str, str], count: int, seed: int = 0, scale: float = 1.0, slots: int | None = None) -> Sample:
    """Random shapes in random configurations: apart, overlapping, and a quarter of them touching to 1e-6."""
    rng = np.random.default_rng([seed, *kinds[0].encode(), *kinds[1].encode()])
    pairs = [(KINDS[kinds[0]](rng), KINDS[kinds[1]](rng)) for _ in range(SHAPES)]
    pairs = [(scaled(a, scale), scaled(b, scale)) for a, b in pairs]
    native = kinds in NATIVE_PAIRS
    q = random_poses(rng, count)
    q[:, :3] *= scale
    q[:, 7:10] *= scale
    which = np.arange(count) % SHAPES
    first = nearest(pairs, which, q, slots, native)
    touching = rng.random(count) < 0.25
    moved = (first.gap - scale * rng.uniform(-1e-6, 1e-6, count)) * touching
    q[:, 7:10] -= first.normal * moved[:, None]
    return nearest(pairs, which, q, slots, native)


def nearest(
    pairs: list[tuple[Solid, Solid]], which: np.ndarray, q: Floats, slots: int | None = None, native: bool = False
) -> Sample:
    """The nearest contact point of each configuration's own pair."""
    parts: list[list[Any]] = [[], [], [], []]
    for k, pair in enumerate(pairs):
        found = lw.contact.ContactGeometry(pair_scene([pair], slots), native=native, threads=1)(q[which == k])
        row, best = np.arange(len(found.gaps)), found.gaps.argmin(axis=1)
        own = found.gaps[row, best], found.normals[row, best], found.gaps, found.points
        for part, array in zip(parts, own, strict=True):
            part.append(array)
    order = np.argsort(np.argsort(which, kind="stable"), kind="stable")
    gap, normal, gaps, points = (np.concatenate(part)[order] for part in parts)
    return Sample(pairs, which, q, gap, normal, gaps, points)


def scaled(solid: Solid, k: float) -> Solid:
    """The solid in other units of length."""
    match solid:
        case Sphere(radius=radius):
            return Sphere(k * radius)
        case Box(size=(x, y, z)):
            return Box((k * x, k * y, k * z))
        case Cylinder(radius=radius, length=length, rounded=rounded):
            return Cylinder(k * radius, k * length, rounded)
        case Ellipsoid(radii=(x, y, z)):
            return Ellipsoid((k * x, k * y, k * z))
        case Mesh(scale=(x, y, z)):
            return replace(solid, scale=(k * x, k * y, k * z))
        case _:
            return solid


@dataclass
class Comparison:
    """How a sample and coal differ."""

    distance: Floats
    """Our gap less coal's distance."""
    normal: Floats
    """The largest difference of a component."""
    as_good: Floats
    """How much farther apart the solids are along our normal than along coal's: 0 where both are shortest ways."""
    finer: int
    """How often coal's default accuracy was not enough for 1e-9."""


def compare(found: Sample, bound: float = 1e-9) -> Comparison:
    """Against coal; where it differs by more than ``bound``, at finer accuracies, too, of which the best counts."""
    import coal

    shapes = [(coal_shape(a), coal_shape(b)) for a, b in found.pairs]
    requests = coal_requests()
    A, a, B, b = poses_of(found.q)
    count = len(found.q)
    result = Comparison(np.empty(count), np.empty(count), np.zeros(count), 0)
    normals = found.normal.copy()
    for i, k in enumerate(found.which):
        poses = coal.Transform3s(A[i], a[i]), coal.Transform3s(B[i], b[i])
        best = (np.inf, np.inf, found.normal[i])
        for j, request in enumerate(requests):
            distance, normal = coal_distance(shapes[k], poses, request)
            off, turned = found.gap[i] - distance, float(np.abs(normal - found.normal[i]).max())
            off = max(off, -1e9) if off < 1e9 else 1e9  # where coal has not converged
            if max(abs(off) / bound, turned / (100 * bound)) < max(abs(best[0]) / bound, best[1] / (100 * bound)):
                best = (off, turned, normal)
            if abs(best[0]) <= bound and best[1] <= 100 * bound:
                break
            result.finer += j == 0
        result.distance[i], result.normal[i], normals[i] = best
    result.as_good = found.gap - found.separation(normals)
    return result


TOUCH = 2e-6
"""coal takes cores that are nearer than this for touching."""


def coal_is_exact(found: Sample, kinds: tuple[str, str]) -> np.ndarray:
    """Where coal is exact to 1e-9, and finds the shortest way out.

    It finds ellipsoids to 1e-6, boxes and cores of capsules in boxes but for distances within 1e-6 of touching; its way
    out of a cylinder, from a center inside, is not the shortest.
    """
    if kinds[0] == "plane" or kinds in (("sphere", "sphere"), ("capsule", "sphere"), ("capsule", "capsule")):
        return np.ones(len(found.q), dtype=bool)
    radius = np.array([getattr(pair[1], "radius", 0.0) for pair in found.pairs])[found.which]
    core = found.gap + radius
    if kinds[0] == "ellipsoid":
        return np.zeros(len(found.q), dtype=bool)
    if kinds[0] == "cylinder":
        return core > 0
    exact: np.ndarray = np.abs(core) > TOUCH
    return exact


def main(count: int) -> None:
    """Print how our contact points and coal's differ.

    Columns: pairs; those where coal is exact, the largest difference of gaps and of normals there, and how many normals
    differ by more than 1e-7; of the other pairs, by how much we are farther apart, and nearer; our gap against the
    separation along our normal; how much better coal's direction is at most.
    """
    names = ("pairs", "exact", "gap", "normal", "> 1e-7", "others", "farther", "nearer", "own", "better")
    print(f"{'':17s}" + "".join(f"{name:>9s}" for name in names))
    for kinds in PAIRS:
        found = sample(kinds, count)
        against = compare(found)
        exact = coal_is_exact(found, kinds)
        normal, rest = against.normal[exact], against.distance[~exact]
        sizes = np.abs(against.distance[exact]).max(initial=0), normal.max(initial=0)
        others = rest.max(initial=0), np.abs(rest.min(initial=0))
        own = np.abs(found.separation(found.normal) - found.gap).max()
        numbers = [f"{count:9d}{exact.sum():9d}", *(f"{x:9.0e}" for x in sizes), f"{(normal > 1e-7).sum():9d}"]
        numbers += [f"{len(rest):9d}", *(f"{x:9.0e}" for x in (*others, own, -against.as_good.min()))]
        print(f"{':'.join(kinds):17s}" + "".join(numbers), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
