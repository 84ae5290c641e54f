# SPDX-License-Identifier: BSD-3-Clause
"""Contact points of pairs without kernel code, by coal: ``pip install 'linkwork[collide]'``.

These pairs (`plans.contacts.GIVEN`) are those with meshes, those of two cylinders, and those of a cylinder or an
ellipsoid and anything but a plane or a sphere. Their contact points enter kernels as data: an input
``given (ngiven, 7)``, a row for each slot of each such pair in the order of ``robot.contacts``, with gap, point (3) and
normal (3) in world axes, from the first shape to the second. It has no rows where a robot has no such pair, and costs
nothing then. Whoever steps through time computes it between steps: ``GivenContacts(robot)(q)``.

coal finds where two shapes are nearest, or the shortest way out of an overlap, and its normal. This is the first slot.
Convex shapes that meet at faces have further points: corners and points of rims that, seen along the normal, are over
the other shape, with distances along the normal; those farthest from each other are taken. Triangles that are not
convex have further points from coal itself, where they overlap, less those that internal edges make (`surfaces`).
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from linkwork.contact.convex import Convex, convex_of, hull_of
from linkwork.contact.surfaces import Surface
from linkwork.contact.thresholds import COAL_TOLERANCES, DISTINCT_POINTS, EQUAL_GAPS, LARGEST_RADIUS, UNIT_NORMAL
from linkwork.errors import InputError, ModelError, UnsupportedFeature
from linkwork.kernels.contact.shapes.geometry import SHAPE_POSES
from linkwork.kernels.thresholds import NO_CONTACT
from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD
from linkwork.model.contacts import ContactPair, ContactShape, contact_shapes
from linkwork.model.model import Model
from linkwork.model.shapes import Box, Cylinder, Ellipsoid, Ground, HeightField, Mesh, Sphere
from linkwork.plans.contacts import GIVEN, MeshKind, contact_tree, planned_pair, shape_kind
from linkwork.quantities.evaluator import ProgramEvaluator

GAPS_DIFFER = 10.0
"""Number of times a difference of gaps counts against a distance of points, where some of many are chosen."""


class GivenContacts:
    """Contact points of the pairs of a robot that have no kernel code: ``given(q)``, ``(..., ngiven, 7)``.

    Args:
        robot: The mechanism.
        meshes: Representation of meshes: ``"hull"``, its convex hull; ``"triangles"``, its surface; ``"auto"``, the
            hull on bodies that move, triangles on the world.
        within: Shapes that are farther apart than this, in meters, have one contact point, and none where their
            bounding spheres are; by default all have all.
        native: Whether pairs that native code alone has kernels for are left to these.
    """

    def __init__(self, robot: Model, meshes: MeshKind = "auto", within: float = np.inf, native: bool = False) -> None:
        if meshes not in ("auto", "hull", "triangles"):
            raise InputError(f"meshes is {meshes!r}, must be 'auto', 'hull' or 'triangles'")
        self.robot = robot
        self.meshes = meshes
        self.within = within
        self.native = native
        planned = [planned_pair(pair, meshes if native else None) for pair in robot.contacts]
        self.pairs: tuple[ContactPair, ...] = tuple(one.pair for one in planned if one.code == GIVEN)
        """The pairs that have no kernel code."""
        self.slots: tuple[int, ...] = tuple(one.slots for one in planned if one.code == GIVEN)
        """Number of contact points each of them has."""
        self._solids: dict[ContactShape, _Solid] = {}
        self._poses: ProgramEvaluator | None = None
        self._shapes: dict[ContactShape, int] = {}
        if self.pairs:
            self._prepare()

    @property
    def count(self) -> int:
        """Rows: contact points of all these pairs."""
        return sum(self.slots)

    def _prepare(self) -> None:
        """Make coal's shapes, and the evaluator of their poses."""
        coal = _coal(self.pairs[0])
        for pair in self.pairs:
            for shape in (pair.first, pair.second):
                if shape not in self._solids:
                    self._solids[shape] = _solid(coal, pair, shape, self.meshes)
        self._shapes = {shape: k for k, shape in enumerate(contact_shapes(self.robot.contacts))}

        def plan(robot: Model, frames: Sequence[str]) -> Any:
            return contact_tree(robot)

        self._poses = ProgramEvaluator(self.robot, "poses of contact shapes", SHAPE_POSES, plan)
        self._ends = np.array([[self._shapes[pair.first], self._shapes[pair.second]] for pair in self.pairs])
        spheres = [[self._solids[shape].sphere() for shape in (pair.first, pair.second)] for pair in self.pairs]
        self._centers = np.array([[center for center, _ in pair] for pair in spheres])
        self._planes = np.array([isinstance(pair.first.solid, Ground) for pair in self.pairs])
        self._reach = np.array([second + (0.0 if np.isinf(first) else first) for (_, first), (_, second) in spheres])

    def _far(self, rotation: Floats, position: Floats) -> npt.NDArray[np.bool_]:
        """Pairs whose bounding spheres are too far apart for contact points, ``(pairs,)``, of shapes at these poses."""
        centers = np.einsum("pkij,pkj->pki", rotation[self._ends], self._centers) + position[self._ends]
        between = centers[:, 1] - centers[:, 0]
        above = np.einsum("pi,pi->p", rotation[self._ends[:, 0]][..., 2], between)
        apart = np.where(self._planes, above, np.linalg.norm(between, axis=-1))
        far: npt.NDArray[np.bool_] = apart > self._reach + self.within
        return far

    def __call__(self, q: npt.ArrayLike) -> Floats:
        """Gap, point and normal of each slot, ``(..., ngiven, 7)``.

        Args:
            q: Configuration, ``(..., nq)``.
        """
        if self._poses is None:
            return np.zeros((0, 7))
        rotation, position = self._poses(np.asarray(q, dtype=np.float64))
        lead = position.shape[:-2]
        result = np.empty((*lead, self.count, 7))
        for state in np.ndindex(*lead):
            start, R, p = 0, rotation[state], position[state]
            pairs = zip(self.pairs, self.slots, self._ends, self._far(R, p), strict=True)
            for pair, slots, (first, second), far in pairs:
                rows = (*state, slice(start, start + slots))
                start += slots
                if far:
                    result[rows] = [NO_CONTACT, *(p[first] + p[second]) / 2, 0.0, 0.0, 1.0]
                    continue
                a = _Posed(self._solids[pair.first], R[first], p[first])
                b = _Posed(self._solids[pair.second], R[second], p[second])
                result[rows] = _contact_points(a, b, slots, self.within)
        return result

    def __reduce__(self) -> tuple[Any, ...]:
        return GivenContacts, (self.robot, self.meshes, self.within, self.native)


class _Solid(NamedTuple):
    """A shape as coal has it, and its data for contact points at faces."""

    geometry: Any
    convex: Convex | None
    """None of triangles that are not convex."""
    surface: Surface | None = None
    """These triangles."""

    def sphere(self) -> tuple[Floats, float]:
        """Center and radius of a sphere around it, in its own frame; that of a half-space has no end."""
        self.geometry.computeLocalAABB()
        radius = float(self.geometry.aabb_radius)
        return (np.array(self.geometry.aabb_center), radius) if radius < LARGEST_RADIUS else (np.zeros(3), np.inf)


class _Posed(NamedTuple):
    """A shape somewhere."""

    solid: _Solid
    rotation: Floats
    position: Floats


def _coal(pair: ContactPair) -> Any:
    """The module, or an error that says which pair needs it."""
    try:
        return import_module("coal")
    except ImportError:
        kinds = shape_kind(pair.first.solid), shape_kind(pair.second.solid)
        raise UnsupportedFeature(
            f"{pair}, a {kinds[0]} and a {kinds[1]}, needs coal: pip install 'linkwork[collide]'", subject=pair.name
        ) from None


def _solid(coal: Any, pair: ContactPair, shape: ContactShape, meshes: MeshKind) -> _Solid:
    """A contact shape for coal."""
    match shape.solid:
        case Ground():
            solid = coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
        case Sphere(radius=radius):
            solid = coal.Sphere(radius)
        case Box(size=size):
            solid = coal.Box(*size)
        case Ellipsoid(radii=radii):
            solid = coal.Ellipsoid(*radii)
        case Cylinder(radius=radius, length=length, rounded=rounded):
            solid = (coal.Capsule if rounded else coal.Cylinder)(radius, length)
        case Mesh() as mesh:
            convex = meshes == "hull" or (meshes == "auto" and (shape.body != WORLD or mesh.convex))
            return _mesh(coal, pair, mesh, convex)
        case HeightField() as field:
            return _surface(coal, *_field_triangles(field))
    return _Solid(solid, convex_of(shape.solid))


def _mesh(coal: Any, pair: ContactPair, mesh: Mesh, convex: bool) -> _Solid:
    """The hull or the triangles of a mesh file."""
    if not mesh.is_found:
        raise ModelError(
            f"{pair}: the file of mesh '{mesh.name}' was not found; contacts need its triangles", subject=pair.name
        )
    try:
        surface = mesh.surface()
    except ModelError as error:
        raise ModelError(f"{pair}: {error}", subject=pair.name) from None
    vertices = surface.vertices * np.array(mesh.scale)
    if not convex:
        return _surface(coal, vertices, surface.faces)
    hull, faces = hull_of(vertices, f"{pair}: mesh '{mesh.name}'")
    points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for point in hull.points:
        points.append(point)
    for a, b, c in faces.tolist():
        triangles.append(coal.Triangle(a, b, c))
    return _Solid(coal.Convex(points, triangles), hull)


def _surface(coal: Any, vertices: Floats, faces: npt.NDArray[Any]) -> _Solid:
    """Triangles as they are."""
    return _Solid(_triangles(coal, vertices, faces), None, Surface.of(vertices, faces))


def _triangles(coal: Any, vertices: Floats, faces: npt.NDArray[Any]) -> Any:
    model = coal.BVHModelOBBRSS()
    model.beginModel(len(faces), len(vertices))
    model.addVertices(vertices)
    model.addTriangles(faces)
    model.endModel()
    return model


def _field_triangles(field: HeightField) -> tuple[Floats, npt.NDArray[Any]]:
    """Corners and triangles of the surface, two a cell."""
    heights = np.array(field.heights)
    rows, columns = heights.shape
    x = np.linspace(-field.size[0] / 2, field.size[0] / 2, rows)
    y = np.linspace(-field.size[1] / 2, field.size[1] / 2, columns)
    vertices = np.stack([*np.meshgrid(x, y, indexing="ij"), heights], axis=-1).reshape(-1, 3)
    a = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    b, c, d = a + columns, a + columns + 1, a + 1
    return vertices, np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])


# Contact points -------------------------------------------------------------------------------------------


def _contact_points(a: _Posed, b: _Posed, slots: int, within: float) -> Floats:
    """Rows of gap, point and normal; one point of shapes that are farther apart than ``within``."""
    gap, n, x, y = _nearest(a, b)
    rows = np.tile(np.array([NO_CONTACT, *(x + y) / 2, *n]), (slots, 1))
    points = [np.array([gap, *(x + y) / 2, *n])]
    if a.solid.convex is None or b.solid.convex is None:
        if gap <= 0:
            overlaps = _overlapping_triangles(a, b, slots)
            points = sorted(overlaps, key=lambda row: float(row[0])) or points
    elif slots > 1 and gap <= within:
        points += list(_at_faces(a, b, n))
    chosen = _farthest(np.array(points), slots)
    rows[: len(chosen)] = chosen
    return rows


def _nearest(a: _Posed, b: _Posed) -> tuple[float, Floats, Floats, Floats]:
    """Distance, normal, and the points of both shapes.

    Of answers at several accuracies, of which the finer do not always converge, that counts along whose normal the
    shapes are farthest apart, or overlap least.
    """
    coal = import_module("coal")
    poses = [coal.Transform3s(np.ascontiguousarray(p.rotation), p.position) for p in (a, b)]
    middle = (a.position + b.position) / 2
    best = (0.0, np.array([0.0, 0.0, 1.0]), middle, middle)
    most = -np.inf
    for tolerance in COAL_TOLERANCES:
        request, result = coal.DistanceRequest(), coal.DistanceResult()
        request.gjk_tolerance = request.epa_tolerance = tolerance
        gap = coal.distance(a.solid.geometry, poses[0], b.solid.geometry, poses[1], request, result)
        n, x, y = (np.array(v) for v in (result.normal, result.getNearestPoint1(), result.getNearestPoint2()))
        if not np.isfinite([gap, *n, *x, *y]).all() or abs(gap) > NO_CONTACT or not abs(n @ n - 1.0) < UNIT_NORMAL:
            continue
        apart = _separation(a, b, n)
        if most < apart or most == -np.inf:
            best, most = (gap, n / np.linalg.norm(n), x, y), apart
        if not np.isfinite(apart) or abs(apart - gap) < COAL_TOLERANCES[1]:
            break
    return best


def _separation(a: _Posed, b: _Posed, n: Floats) -> float:
    """The separation of convex shapes along ``n``; -inf where it is unknown."""
    first, second = a.solid.convex, b.solid.convex
    if first is None or second is None:
        return -np.inf
    between = float(n @ (b.position - a.position))
    return between - first.support(n @ a.rotation) - second.support(-n @ b.rotation)


def _at_faces(a: _Posed, b: _Posed, n: Floats) -> Floats:
    """Rows of the points of each convex shape that, along ``n``, are over the other, ``(k, 7)``."""
    points = []
    for own, other, way in ((a, b, n), (b, a, -n)):
        one, two = own.solid.convex, other.solid.convex
        assert one is not None and two is not None
        direction = way @ own.rotation
        world = one.points_along(direction) @ own.rotation.T + own.position
        enter, left = two.through((world - other.position) @ other.rotation, way @ other.rotation)
        over = enter <= left
        gap = enter[over, None]
        points.append(np.concatenate([gap, world[over] + 0.5 * gap * way, np.tile(n, (len(gap), 1))], axis=1))
    return np.concatenate(points)


def _overlapping_triangles(a: _Posed, b: _Posed, slots: int) -> list[Floats]:
    """Rows of coal's own contact points of triangles; the shape with triangles goes first."""
    coal = import_module("coal")
    turned = a.solid.convex is not None
    first, second = (b, a) if turned else (a, b)
    request, result = coal.CollisionRequest(), coal.CollisionResult()
    request.num_max_contacts = 64 * slots
    request.enable_contact = True
    poses = [coal.Transform3s(np.ascontiguousarray(p.rotation), p.position) for p in (first, second)]
    coal.collide(first.solid.geometry, poses[0], second.solid.geometry, poses[1], request, result)
    triangles = []
    for k in range(result.numContacts()):
        contact = result.getContact(k)
        row = np.array([contact.penetration_depth, *contact.pos, *contact.normal])
        if np.isfinite(row).all() and abs(row[4:] @ row[4:] - 1.0) < UNIT_NORMAL:
            triangles += _over_triangle(first, second, int(contact.b1), row)
    if turned:
        for row in triangles:
            row[4:] *= -1
    return triangles


def _over_triangle(a: _Posed, b: _Posed, triangle: int, row: Floats) -> list[Floats]:
    """The contact point of a triangle of ``a``, with the normal of the triangle where its own is that of an internal
    edge; none, where ``b`` is not over it then, or not convex."""
    surface = a.solid.surface
    assert surface is not None
    if surface.admits(triangle, row[4:] @ a.rotation):
        return [row]
    if b.solid.convex is None:
        return []
    n = a.rotation @ surface.m[triangle]
    x = a.rotation @ surface.nearest(triangle, (row[1:4] - a.position) @ a.rotation) + a.position
    enter, left = b.solid.convex.through(((x - b.position) @ b.rotation)[None], n @ b.rotation)
    return [np.array([enter[0], *(x + 0.5 * enter[0] * n), *n])] if enter[0] <= left[0] else []


def _farthest(rows: Floats, slots: int) -> Floats:
    """Rows that are far from each other, of those that are not much farther apart than the first, which is nearest.

    The first is among them unless another is as near.
    """
    points, gaps = rows[:, 1:4], rows[:, 0]
    apart = np.linalg.norm(points - points[0], axis=1)
    extent = float(apart.max())
    least = DISTINCT_POINTS * extent
    later = GAPS_DIFFER * (gaps - gaps[0])
    chosen: list[int] = []
    while len(chosen) < slots:
        k = int(np.argmax(apart - later))
        if not apart[k] > max(least, later[k]):
            break
        to = np.linalg.norm(points - points[k], axis=1)
        apart = np.minimum(apart, to) if chosen else to
        chosen.append(k)
    if not chosen or gaps[0] < gaps[chosen].min() - EQUAL_GAPS * extent:
        chosen = [0, *chosen[: slots - 1]]
    return rows[chosen]
