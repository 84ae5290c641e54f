# SPDX-License-Identifier: BSD-3-Clause
"""Convex shapes on height fields: distances to triangles, edges of shapes, peaks of fields, no internal edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import linkwork as lw
from linkwork.model.arrays import Floats
from linkwork.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Ground, HeightField, Solid, Sphere
from tests.contact.test_contact_geometry import distance_to_triangles, random_field, surface
from tests.support.contact_pairs import coal_shape, mesh_of, pair_scene, random_hull, random_poses

SOLIDS: dict[str, Solid] = {
    "sphere": Sphere(0.1),
    "capsule": Capsule(0.05, 0.4),
    "box": Box((0.4, 0.3, 0.2)),
    "cylinder": Cylinder(0.1, 0.3),
    "ellipsoid": Ellipsoid((0.2, 0.1, 0.15)),
    "mesh": random_hull(np.random.default_rng(5)),
}
each_solid = pytest.mark.parametrize("kind", SOLIDS)
FLAT = HeightField(((0.0,) * 21,) * 21, (4.0, 4.0))


def geometry_of(first: Solid, second: Solid, slots: int | None = None) -> lw.contact.ContactGeometry:
    return lw.contact.ContactGeometry(pair_scene([(first, second)], slots), native=True, threads=1)


def poses(rng: np.random.Generator, count: int, reach: float, low: float, high: float) -> Floats:
    """The field at rest, and the shape turned anywhere, above a square and between two heights."""
    q = random_poses(rng, count)
    q[:, :7] = (0, 0, 0, 0, 0, 0, 1)
    q[:, 7:9] = rng.uniform(-reach, reach, (count, 2))
    q[:, 9] = rng.uniform(low, high, count)
    return q


def triangle_distances(field: HeightField, solid: Solid, q: Floats) -> Floats:
    """By coal: the least over all triangles; where it is below zero, they touch."""
    import coal

    from linkwork.contact.coal import _field_triangles, _triangles

    model, here = _triangles(coal, *_field_triangles(field)), coal.Transform3s(np.eye(3), np.zeros(3))
    shape = coal_shape(solid)
    request = coal.DistanceRequest()
    request.gjk_tolerance = 1e-9
    found = np.empty(len(q))
    for i, (x, turn) in enumerate(zip(q[:, 7:10], Rotation.from_quat(q[:, 10:]).as_matrix(), strict=True)):
        found[i] = coal.distance(model, here, shape, coal.Transform3s(turn, x), request, coal.DistanceResult())
    return found


@each_solid
def test_distances_are_those_of_the_nearest_triangle(kind: str) -> None:
    pytest.importorskip("coal")
    rng = np.random.default_rng(0)
    field = random_field(rng)
    q = poses(rng, 60, 0.5, 0.0, 0.9)
    found = geometry_of(field, SOLIDS[kind])(q)
    distance = triangle_distances(field, SOLIDS[kind], q)
    apart = distance > 1e-3
    low = q[:, 9] < surface(field, q[:, 7:9])[0]
    near = apart & ~low & (distance < 0.15)
    assert near.sum() > 5
    assert np.abs(found.gaps.min(axis=1) - distance)[near].max() < 2e-6
    touching = ~apart & (distance < -1e-6)
    assert (found.gaps.min(axis=1)[touching] < 0).all()


@each_solid
def test_a_flat_field_is_a_plane(kind: str) -> None:
    """However deep, and over edges of triangles: no normal leans."""
    q = poses(np.random.default_rng(1), 300, 0.6, -0.1, 0.6)
    on_field, on_plane = geometry_of(FLAT, SOLIDS[kind])(q), geometry_of(Ground(), SOLIDS[kind])(q)
    assert np.abs(on_field.gaps.min(axis=1) - on_plane.gaps.min(axis=1)).max() < 1e-12
    assert np.abs(on_field.normals - (0, 0, 1)).max() < 1e-12


def test_boxes_hulls_and_cylinders_lie_on_four_points_of_a_flat_field() -> None:
    cube = mesh_of(np.array([[x, y, z] for x in (-0.2, 0.2) for y in (-0.2, 0.2) for z in (-0.2, 0.2)]))
    for solid in (Box((0.4, 0.4, 0.4)), cube, Cylinder(0.2, 0.4)):
        q = np.zeros(14)
        q[6] = q[13] = 1.0
        q[7:10] = (0.013, 0.027, 0.2)
        found = geometry_of(FLAT, solid)(q)
        assert found.exists.all() and np.abs(found.gaps).max() < 1e-12
        assert len({tuple(x) for x in np.round(found.points, 9).tolist()}) == 4
        assert np.abs(np.linalg.norm(found.points[:, :2] - q[7:9], axis=1)).min() > 0.19


def test_peaks_between_ends_and_corners_are_seen() -> None:
    """A peak of 0.1 m under the middle of a capsule, a box and a hull, whose ends and corners are in the air."""
    heights = np.zeros((5, 5))
    heights[2, 2] = 0.1
    field = HeightField(tuple(map(tuple, heights.tolist())), (2.0, 2.0))
    level = Rotation.from_rotvec((0, np.pi / 2, 0))
    bar = mesh_of(np.array([[x, y, z] for x in (-0.6, 0.6) for y in (-0.1, 0.1) for z in (-0.1, 0.1)]))
    for solid, turn, half in (
        (Capsule(0.1, 1.0), level, 0.1),
        (Box((1.2, 0.2, 0.2)), Rotation.identity(), 0.1),
        (Cylinder(0.1, 1.2), level, 0.1),
        (bar, Rotation.identity(), 0.1),
    ):
        q = np.zeros(14)
        q[6] = 1.0
        q[7:10] = (0.05, 0.0, half + 0.1 - 1e-3)
        q[10:] = turn.as_quat()
        found = geometry_of(field, solid)(q)
        best = int(found.gaps.argmin())
        assert found.gaps[best] == pytest.approx(-1e-3, abs=1e-9)
        assert np.abs(found.normals[best] - (0, 0, 1)).max() < 1e-9
        assert np.abs(found.points[best] - (0, 0, 0.1 - 5e-4)).max() < 1e-9


def test_edges_of_boxes_lie_on_ridges() -> None:
    """A ridge along y, across the edges of a box that stands on one: the normal is across both edges."""
    field = HeightField(((0.0, 0.0), (0.3, 0.3), (0.0, 0.0)), (2.0, 2.0))
    solid = Box((0.4, 0.4, 0.4))
    q = np.zeros(14)
    q[6] = 1.0
    turn = Rotation.from_rotvec((np.pi / 4, 0, 0))
    q[7:10], q[10:] = (0.03, 0.1, 0.3 + 0.2 * np.sqrt(2) + 1e-3), turn.as_quat()
    found = geometry_of(field, solid)(q)
    best = int(found.gaps.argmin())
    assert found.gaps[best] == pytest.approx(1e-3, abs=1e-9)
    assert np.abs(found.normals[best] - (0, 0, 1)).max() < 1e-7
    assert np.abs(found.points[best] - (0, 0.1, 0.3005)).max() < 1e-7


def test_spheres_far_above_have_gaps_straight_down_and_near_ones_are_exact() -> None:
    rng = np.random.default_rng(2)
    field = random_field(rng)
    q = poses(rng, 300, 0.9, -0.5, 1.2)
    found = geometry_of(field, Sphere(0.3))(q)
    height, triangles = surface(field, q[:, 7:9])
    exact = distance_to_triangles(q[:, 7:10], triangles) * np.where(q[:, 9] < height, -1.0, 1.0)
    assert np.abs(found.gaps[:, 0] + 0.3 - exact).max() < 1e-12
    q[:, 9] += 5.0
    height, _ = surface(field, q[:, 7:9])
    assert np.abs(geometry_of(field, Sphere(0.3))(q).gaps[:, 0] + 0.3 - q[:, 9] + height).max() < 1e-12


def test_shapes_beside_a_field_do_not_touch_it() -> None:
    q = poses(np.random.default_rng(3), 50, 0.1, -0.2, 0.3)
    q[:, 7] += 3.0
    for kind in ("capsule", "box", "cylinder", "mesh"):
        assert geometry_of(FLAT, SOLIDS[kind])(q).gaps.min() > 0.0


def test_lanes_and_one_state_agree() -> None:
    rng = np.random.default_rng(4)
    field = random_field(rng)
    scene = pair_scene([(field, solid) for solid in SOLIDS.values()])
    geometry = lw.contact.ContactGeometry(scene, native=True, threads=1)
    q = poses(rng, 21, 0.5, 0.0, 0.6)
    together = geometry(q)
    for k in range(len(q)):
        assert np.abs(together.gaps[k] - geometry(q[k]).gaps).max() < 1e-10
