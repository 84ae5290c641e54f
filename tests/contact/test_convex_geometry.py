# SPDX-License-Identifier: BSD-3-Clause
"""Contact points of general convex shapes: exact distances, depths and normals, and points that stay in place."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

import linkwork as lw
from linkwork.errors import ModelError, UnsupportedFeature
from linkwork.kernels.thresholds import NO_CONTACT
from linkwork.model.arrays import Floats
from linkwork.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Ground, Mesh, Solid, Sphere
from linkwork.plans.contacts import CONVEX_CONVEX, GIVEN, PLANE_HULL, contact_tree
from linkwork.plans.hulls import convex_hull
from tests.support.contact_pairs import (
    KINDS,
    NATIVE_PAIRS,
    compare,
    mesh_of,
    nearest,
    pair_scene,
    poses_of,
    random_hull,
    random_poses,
    sample,
    square_poses,
    vertices_of,
)

every_kind = pytest.mark.parametrize("kinds", NATIVE_PAIRS, ids=":".join)
CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
CUBE, TUBE = Box((1.0, 1.0, 1.0)), Cylinder(0.5, 1.0)
COUNT = 400


def geometry_of(first: Solid, second: Solid, slots: int | None = None) -> lw.contact.ContactGeometry:
    return lw.contact.ContactGeometry(pair_scene([(first, second)], slots), native=True, threads=1)


def at(position: Floats | tuple[float, ...], rotation: Rotation | None = None) -> Floats:
    """The first body at the origin, the second here."""
    q = np.zeros(14)
    q[6] = 1.0
    q[7:10] = position
    q[10:] = (rotation or Rotation.identity()).as_quat()
    return q


def turn(*rotvec: float) -> Rotation:
    return Rotation.from_rotvec(rotvec)


def cube_mesh() -> Mesh:
    return mesh_of(CORNERS)


# Distances, depths and normals ----------------------------------------------------------------------------------------


@every_kind
def test_gaps_are_separations_along_the_best_normal(kinds: tuple[str, str]) -> None:
    """Along the normal, the shapes are as far apart as the gap says, and turning the normal makes that no more."""
    found = sample(kinds, COUNT, seed=1)
    assert np.abs(found.separation(found.normal) - found.gap).max() < 1e-10
    if kinds[0] != "plane":
        assert found.slope().max() < 1e-7
    assert 0.2 < (found.gap < 0).mean() < 0.9


@every_kind
def test_shortest_ways_end_on_the_shapes(kinds: tuple[str, str]) -> None:
    """Contact points are midway between points of both shapes, along the normal."""
    found = sample(kinds, COUNT, seed=2, slots=1)
    apart = found.gap > 1e-9
    assert apart.sum() > 50
    assert found.beyond()[apart].max() < 1e-6


@every_kind
def test_no_direction_of_coal_is_better(kinds: tuple[str, str]) -> None:
    pytest.importorskip("coal")
    found = sample(kinds, COUNT, seed=3)
    against = compare(found)
    assert against.as_good.min() > -1e-9
    assert np.abs(against.distance).max() < 3e-6, "coal finds smooth shapes, and what touches, to 1e-6"
    if not {"cylinder", "ellipsoid"} & set(kinds):
        assert np.abs(against.distance)[np.abs(found.gap) > 2e-6].max() < 1e-9


@every_kind
def test_no_direction_is_better(kinds: tuple[str, str]) -> None:
    found = sample(kinds, COUNT, seed=4)
    rng = np.random.default_rng(0)
    for spread in () if kinds[0] == "plane" else (0.0, 0.0, 0.0, 0.0, 1.0, 0.3, 1e-1, 1e-2, 1e-3):
        n = found.normal + spread * rng.normal(size=found.normal.shape) if spread else rng.normal(size=(COUNT, 3))
        n /= np.linalg.norm(n, axis=1, keepdims=True)
        assert (found.separation(n) - found.gap).max() < 1e-9


def corners_of(solid: Solid) -> Floats:
    return CORNERS * solid.size if isinstance(solid, Box) else vertices_of(solid)  # type: ignore[arg-type]


@pytest.mark.parametrize("kinds", [("mesh", "mesh"), ("mesh", "box")], ids=":".join)
def test_depths_of_polytopes_are_those_of_all_faces_of_their_difference(kinds: tuple[str, str]) -> None:
    """Exact, however deep: the hull of all differences of corners has the shortest way out as a face."""
    found = sample(kinds, 120, seed=5)
    A, a, B, b = poses_of(found.q)
    checked = 0
    for i in np.flatnonzero(found.gap < 0):
        first, second = found.pairs[found.which[i]]
        x, y = corners_of(first) @ A[i].T + a[i], corners_of(second) @ B[i].T + b[i]
        faces = ConvexHull((y[:, None] - x[None]).reshape(-1, 3)).equations
        assert found.gap[i] == pytest.approx(faces[:, 3].max(), abs=1e-10)
        checked += 1
    assert checked > 30


@every_kind
def test_nothing_breaks_where_axes_are_parallel_or_square(kinds: tuple[str, str]) -> None:
    rng = np.random.default_rng(11)
    pairs = [(KINDS[kinds[0]](rng), KINDS[kinds[1]](rng)) for _ in range(20)]
    which = np.arange(COUNT) % len(pairs)
    found = nearest(pairs, which, square_poses(rng, COUNT), native=True)
    assert np.isfinite(found.gaps).all() and np.isfinite(found.points).all()
    assert np.abs(found.separation(found.normal) - found.gap).max() < 1e-10
    if kinds[0] != "plane":
        for start in (3, 10):
            axes = Rotation.from_quat(found.q[:, start : start + 4]).as_matrix()
            for k in range(3):
                for way in (-1.0, 1.0):
                    assert (found.separation(way * axes[:, :, k]) - found.gap).max() < 1e-9


@every_kind
def test_all_scales_alike(kinds: tuple[str, str]) -> None:
    one = sample(kinds, 200, seed=6)
    for scale in (1e3, 1e-3):
        other = sample(kinds, 200, seed=6, scale=scale)
        assert np.abs(other.gap / scale - one.gap).max() < 1e-9


@every_kind
def test_far_from_the_origin_is_as_near_it(kinds: tuple[str, str]) -> None:
    """But for the rounding of positions themselves."""
    rng = np.random.default_rng(7)
    geometry = geometry_of(KINDS[kinds[0]](rng), KINDS[kinds[1]](rng))
    q = random_poses(rng, 100)
    moved = q.copy()
    moved[:, :3] += (1e5, -1e5, 1e5)
    moved[:, 7:10] += (1e5, -1e5, 1e5)
    assert np.abs(geometry(q).gaps.min(axis=1) - geometry(moved).gaps.min(axis=1)).max() < 1e-9


@every_kind
def test_exchanged_shapes_have_opposite_normals(kinds: tuple[str, str]) -> None:
    rng = np.random.default_rng(8)
    pair = KINDS[kinds[0]](rng), KINDS[kinds[1]](rng)
    q = random_poses(rng, 100)
    if kinds[0] == "plane":
        turned, other, flip = pair_scene([pair], turned=True), q, 1.0
    else:
        turned, other, flip = pair_scene([pair[::-1]]), np.concatenate([q[:, 7:], q[:, :7]], axis=1), -1.0
    found = geometry_of(*pair)(q)
    again = lw.contact.ContactGeometry(turned, native=True)(other)
    best, best_again = found.gaps.argmin(axis=1), again.gaps.argmin(axis=1)
    row = np.arange(len(q))
    assert np.abs(found.gaps[row, best] - again.gaps[row, best_again]).max() < 1e-9
    assert np.abs(found.normals[row, best] - flip * again.normals[row, best_again]).max() < 1e-7


# Backends -------------------------------------------------------------------------------------------------------------


def zoo() -> lw.Mechanism:
    rng = np.random.default_rng(9)
    return pair_scene([(KINDS[a](rng), KINDS[b](rng)) for a, b in NATIVE_PAIRS])


def test_lanes_and_one_state_agree_to_the_last_bit() -> None:
    geometry = lw.contact.ContactGeometry(zoo(), native=True, threads=1)
    q = random_poses(np.random.default_rng(10), 37)
    together = geometry(q)
    for k in range(len(q)):
        alone = geometry(q[k])
        assert np.abs(together.gaps[k] - alone.gaps).max() < 1e-12
        assert np.abs(together.frames[k] - alone.frames)[alone.exists].max() < 1e-9


@pytest.mark.parametrize("noise", [1e-6, 1e-3, 0.05])
def test_lanes_of_alike_states_and_one_state_agree(noise: float) -> None:
    """Hulls that overlap begin with the polytope of the lane before."""
    rng = np.random.default_rng(14)
    hulls = [(random_hull(rng), KINDS[kind](rng)) for kind in ("mesh", "box", "capsule", "sphere", "mesh")]
    geometry = lw.contact.ContactGeometry(pair_scene(hulls, slots=1), native=True, threads=1)
    for center in random_poses(rng, 6, (0.02, 0.1, 0.4)):
        q = center + noise * rng.standard_normal((48, 14))
        for start in (3, 10):
            q[:, start : start + 4] /= np.linalg.norm(q[:, start : start + 4], axis=1, keepdims=True)
        together = geometry(q)
        alone = [geometry(x) for x in q]
        assert np.abs(together.gaps - [x.gaps for x in alone]).max() < 1e-12
        assert np.abs(together.normals - [x.normals for x in alone]).max() < 1e-9


def test_plain_python_agrees() -> None:
    geometry = lw.contact.ContactGeometry(zoo(), native=True, threads=1)
    plain = geometry.plain()
    for q in random_poses(np.random.default_rng(12), 4):
        assert np.abs(plain(q).gaps - geometry(q).gaps).max() < 1e-10


def test_single_precision_has_its_digits() -> None:
    geometry = lw.contact.ContactGeometry(zoo(), native=True)
    q = random_poses(np.random.default_rng(13), 400)
    single, double = geometry(q.astype(np.float32)), geometry(q)
    assert single.gaps.dtype == np.float32 and np.isfinite(single.gaps).all() and np.isfinite(single.frames).all()
    for name in double:
        assert np.abs(single[name].gaps.min(axis=-1) - double[name].gaps.min(axis=-1)).max() < 1e-4


def test_native_kinds_are_planned_on_request() -> None:
    hull = cube_mesh()
    scene = pair_scene([(TUBE, CUBE), (Ground(), hull), (hull, Sphere(0.1))])
    assert contact_tree(scene).contact_kind.tolist() == [GIVEN] * 3
    assert contact_tree(scene, "auto").contact_kind.tolist() == [CONVEX_CONVEX, PLANE_HULL, CONVEX_CONVEX]
    assert contact_tree(scene, "triangles").contact_kind.tolist() == [CONVEX_CONVEX, GIVEN, GIVEN]
    geometry = lw.contact.ContactGeometry(scene, native=True)
    assert pickle.loads(pickle.dumps(geometry))(at((0, 0, 1))).gaps.shape == (12,)
    with pytest.raises(UnsupportedFeature, match="straight-line programs have no branches"):
        geometry.compile()


def test_meshes_without_a_hull_are_errors() -> None:
    with pytest.raises(ModelError, match="no convex hull: its 2 points are one point"):
        convex_hull(np.zeros((2, 3)), "mesh 'dot'")
    with pytest.raises(ModelError, match="file of mesh 'lost' was not found"):
        geometry_of(Mesh("lost", None), CUBE)


# Which points ---------------------------------------------------------------------------------------------------------


def corner_set(points: Floats, digits: int = 9) -> set[tuple[float, ...]]:
    return {tuple(float(x) + 0.0 for x in np.round(point, digits)) for point in points}


SQUARE = {(x, y) for x in (-0.5, 0.5) for y in (-0.5, 0.5)}


@pytest.mark.parametrize("noise", [0.0, 1e-15, 1e-13])
def test_hulls_that_lie_on_each_other_touch_at_four_corners(noise: float) -> None:
    rng = np.random.default_rng(0)
    for first, second in ((cube_mesh(), cube_mesh()), (cube_mesh(), CUBE), (CUBE, cube_mesh())):
        geometry = geometry_of(first, second)
        for gap in (0.0, 0.01, -0.01):
            found = geometry(at((0, 0, 1.0 + gap)) + noise * rng.normal(size=14))
            assert found.exists.all()
            assert corner_set(found.points) == {(x, y, 0.5 + gap / 2) for x, y in SQUARE}
            assert np.abs(found.gaps - gap).max() < 1e-11
    found = geometry_of(Ground(), cube_mesh())(at((0, 0, 0.5)))
    assert corner_set(found.points) == {(x, y, 0.0) for x, y in SQUARE}


def test_a_tilted_hull_touches_with_its_edge() -> None:
    """A prism of eight sides on its edge: both ends of the edge, not those that are farther out."""
    ring = np.array([[np.cos(a), np.sin(a)] for a in np.pi * (np.arange(8) + 0.5) / 4])
    prism = mesh_of(np.array([[*x, z] for x in ring for z in (-0.2, 0.2)]))
    tilt = 0.02
    low = np.cos(np.pi / 8) * np.sin(tilt) + 0.2 * np.cos(tilt)
    for ground, height in ((Ground(), 0.0), (Box((4, 4, 1)), 0.5)):
        found = geometry_of(ground, prism)(at((0, 0, height + low), turn(0, tilt, 0)))
        touching = np.abs(found.gaps) < 1e-9
        assert touching.sum() == 2
        assert np.abs(np.sort(found.points[touching, 1]) - np.sin(np.pi / 8) * np.array([-1, 1])).max() < 1e-9


def test_cylinders_stand_and_lie_on_boxes() -> None:
    floor = Box((4.0, 4.0, 1.0))
    standing = geometry_of(floor, TUBE)(at((0.1, 0.2, 1.0)))
    assert standing.exists.all() and np.abs(standing.gaps).max() < 1e-12
    assert np.abs(np.linalg.norm(standing.points[:, :2] - (0.1, 0.2), axis=1) - 0.5).max() < 1e-12
    assert np.abs(standing.points.mean(axis=0) - (0.1, 0.2, 0.5)).max() < 1e-9
    lying = geometry_of(floor, TUBE)(at((0.1, 0.2, 1.0), turn(0, np.pi / 2, 0)))
    assert lying.exists.sum() == 2
    assert np.abs(np.sort(lying.points[lying.exists], axis=0) - [(-0.4, 0.2, 0.5), (0.6, 0.2, 0.5)]).max() < 1e-9
    leaning = geometry_of(floor, TUBE)(at((0, 0, 0.5 + np.sqrt(0.5)), turn(0, np.pi / 4, 0)))
    assert leaning.gaps.min() == pytest.approx(0.0, abs=1e-12)
    assert np.abs(leaning.points[leaning.gaps.argmin()] - (0, 0, 0.5)).max() < 1e-9


def test_cylinders_and_capsules_lie_side_by_side() -> None:
    for first, second, apart in ((TUBE, TUBE, 1.0), (TUBE, Capsule(0.5, 1.0), 1.0)):
        found = geometry_of(first, second)(at((apart, 0, 0.3)))
        assert found.exists.sum() == 2 and np.abs(found.gaps[found.exists]).max() < 1e-12
        assert np.allclose(np.sort(found.points[found.exists][:, 2]), (-0.2, 0.5))
        crossed = geometry_of(first, second)(at((apart, 0, 0.1), turn(0.7, 0, 0)))
        assert crossed.exists.sum() == 1 and np.abs(crossed.points[crossed.exists] - (0.5, 0, 0.1)).max() < 1e-9


@pytest.mark.parametrize(
    ("first", "second", "height"),
    [
        (cube_mesh(), cube_mesh(), 1.0),
        (Ground(), cube_mesh(), 0.5),
        (Box((4, 4, 1)), TUBE, 1.0),
        (Ground(), random_hull(np.random.default_rng(3)), None),
    ],
)
def test_contact_points_keep_their_slots_in_noise(first: Solid, second: Solid, height: float | None) -> None:
    """Of what rests, as solvers leave it: to 1e-9."""
    rng = np.random.default_rng(1)
    geometry = geometry_of(first, second)
    q = at((0.05, 0.02, 2.0 if height is None else height), turn(0, 0, 0.3))
    q[9] -= geometry(q).gaps.min()
    still = geometry(q)
    noisy = geometry(q + 1e-9 * rng.normal(size=(200, 14)))
    near = still.gaps < 0.1
    assert near.any() and np.abs(noisy.points - still.points)[:, near].max() < 1e-6


def test_contact_points_move_with_shapes_that_slide() -> None:
    """From step to step, none jumps while a hull turns and slides on a face."""
    geometry = geometry_of(Box((4, 4, 1)), cube_mesh())
    before = geometry(at((0.0, 0, 1.0))).points
    for k in range(1, 200):
        points = geometry(at((1e-3 * k, 5e-4 * k, 1.0 - 1e-9), turn(0, 0, 2e-3 * k))).points
        assert np.abs(points - before).max() < 5e-3
        before = points


# Degenerate hulls -----------------------------------------------------------------------------------------------------

PLATE = mesh_of(CORNERS[:, [0, 1, 2]] * [1, 1, 0])
NEEDLE = mesh_of(np.array([[0.0, 0, -0.5], [0, 0, 0.1], [0, 0, 0.5]]))


@pytest.mark.parametrize(
    ("first", "second", "q", "gap"),
    [
        (PLATE, CUBE, at((0.2, 0, 0.8)), 0.3),
        (PLATE, PLATE, at((0, 0, 0.25)), 0.25),
        (PLATE, PLATE, at((0, 0, 0)), 0.0),
        (PLATE, PLATE, at((0, 0, 0), turn(np.pi / 2, 0, 0)), -0.5),
        (PLATE, Sphere(0.1), at((0.1, 0.2, 0.05)), -0.05),
        (PLATE, Capsule(0.1, 0.4), at((0.1, 0.2, 0.0), turn(0, np.pi / 2, 0)), -0.1),
        (Ground(), PLATE, at((0, 0, 0.1)), 0.1),
        (NEEDLE, CUBE, at((0.7, 0, 0)), 0.2),
        (NEEDLE, NEEDLE, at((0.25, 0, 0), turn(0.3, 0, 0)), 0.25),
        (NEEDLE, NEEDLE, at((0, 0, 0), turn(0.3, 0, 0)), 0.0),
        (NEEDLE, NEEDLE, at((0, 0, 0)), 0.0),
        (NEEDLE, Sphere(0.1), at((0.0, 0.0, 0.2)), -0.1),
        (NEEDLE, TUBE, at((0.9, 0, 0)), 0.4),
        (Ground(), NEEDLE, at((0, 0, 0.5)), 0.0),
        (CUBE, cube_mesh(), at((0, 0, 0)), -1.0),
        (cube_mesh(), cube_mesh(), at((1, 1, 1)), 0.0),
        (cube_mesh(), cube_mesh(), at((2, 2, 2)), np.sqrt(3.0)),
        (cube_mesh(), CUBE, at((1, 0, 1)), 0.0),
        (cube_mesh(), CUBE, at((0, 0, 0.5 + np.sqrt(0.5)), turn(0, np.pi / 4, 0)), 0.0),
        (TUBE, TUBE, at((0, 0, 0)), -1.0),
        (TUBE, TUBE, at((0, 0, 1)), 0.0),
        (TUBE, TUBE, at((1, 0, 0)), 0.0),
        (TUBE, CUBE, at((0, 0, 0)), -1.0),
        (Ellipsoid((0.5, 0.5, 0.5)), Ellipsoid((0.5, 0.5, 0.5)), at((0, 0, 0)), -1.0),
        (Ellipsoid((0.5, 0.5, 0.5)), Ellipsoid((0.5, 0.5, 0.5)), at((1, 0, 0)), 0.0),
        (Ellipsoid((0.5, 0.3, 0.2)), CUBE, at((0, 0, 0.7)), 0.0),
        (Ellipsoid((0.5, 0.3, 0.2)), TUBE, at((0, 0, 0.7)), 0.0),
        (Ellipsoid((0.5, 0.3, 0.2)), Capsule(0.1, 1.0), at((0, 0.4, 0)), 0.0),
    ],
)
def test_degenerate_shapes_and_places_have_gaps_and_frames(first: Solid, second: Solid, q: Floats, gap: float) -> None:
    geometry = geometry_of(first, second)
    found = geometry(q)
    assert np.isfinite(found.points).all()
    assert np.abs(found.frames.swapaxes(-1, -2) @ found.frames - np.eye(3)).max() < 1e-12
    assert found.gaps.min() == pytest.approx(gap, abs=1e-9)
    close = geometry(q + 1e-14 * np.random.default_rng(0).normal(size=(32, 14)))
    assert np.isfinite(close.gaps).all() and np.isfinite(close.frames).all()
    assert np.abs(close.gaps.min(axis=-1) - gap).max() < 1e-9


def test_slots_are_as_many_as_a_pair_asks_for() -> None:
    for slots in (1, 2, 3, 5, 8, 9):
        found = geometry_of(CUBE, cube_mesh(), slots)(at((0, 0, 1), turn(0, 0, np.pi / 4)))
        assert found.gaps.shape == (slots,) and found.gaps.min() == pytest.approx(0.0, abs=1e-12)
        assert (found.gaps < NO_CONTACT).sum() == {1: 1, 2: 2, 3: 2, 5: 4, 8: 8, 9: 8}[slots]


def test_hulls_have_the_faces_of_their_bodies() -> None:
    cube = convex_hull(np.concatenate([CORNERS, CORNERS * 0.3, CORNERS * [1, 1, 0.2]]), "cube")
    assert len(cube.points) == 8 and len(cube.faces) == 6 and all(len(face) == 4 for face in cube.faces)
    for face, normal in zip(cube.faces, cube.normals, strict=True):
        a, b, c = cube.points[list(face[:3])]
        assert np.cross(b - a, c - b) @ normal > 0.9
    assert np.abs(np.sort(cube.normals, axis=0)[[0, -1]] - [[-1] * 3, [1] * 3]).max() < 1e-12
    assert cube.half == (0.5, 0.5, 0.5)
