# SPDX-License-Identifier: BSD-3-Clause
"""Contact points: gaps and normals are those of coal, no direction is better, and all backends agree."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import linkwork as lw
from linkwork.contact.coal import GivenContacts
from linkwork.errors import InputError, ModelError, UnknownName, UnsupportedFeature
from linkwork.kernels.thresholds import NO_CONTACT
from linkwork.model.arrays import Floats
from linkwork.model.contacts import ContactPair, ContactShape
from linkwork.model.shapes import Box, Cylinder, Ellipsoid, Ground, HeightField, Mesh, Solid, Sphere
from linkwork.plans.contacts import PAIR_KINDS
from tests.support.contact_pairs import (
    KINDS,
    PAIRS,
    coal_is_exact,
    compare,
    nearest,
    pair_scene,
    random_poses,
    sample,
    square_poses,
)

every_kind = pytest.mark.parametrize("kinds", PAIRS, ids=":".join)

COUNT = 2000
CUBE = Box((1.0, 1.0, 1.0))


def geometry_of(
    first: Solid, second: Solid, slots: int | None = None, turned: bool = False
) -> lw.contact.ContactGeometry:
    return lw.contact.ContactGeometry(pair_scene([(first, second)], slots, turned), threads=1)


def at(position: Floats | tuple[float, ...], rotation: Rotation | None = None) -> Floats:
    """The first body at the origin, the second here."""
    q = np.zeros(14)
    q[6] = 1.0
    q[7:10] = position
    q[10:] = (rotation or Rotation.identity()).as_quat()
    return q


def turn(*rotvec: float) -> Rotation:
    return Rotation.from_rotvec(rotvec)


# Gaps and normals -----------------------------------------------------------------------------------------------------


@every_kind
def test_gaps_and_normals_are_those_of_coal(kinds: tuple[str, str]) -> None:
    pytest.importorskip("coal")
    found = sample(kinds, COUNT)
    against = compare(found)
    exact = coal_is_exact(found, kinds)
    assert np.abs(against.distance[exact]).max(initial=0.0) < 1e-9
    assert ((against.normal < 1e-7) | (against.as_good < 1e-9))[exact].all()
    assert against.distance.min() > -2e-6
    assert against.as_good.min() > -1e-9, "coal's direction is better"
    assert 0.2 < (found.gap < 0).mean() < 0.9


@every_kind
def test_no_direction_is_better(kinds: tuple[str, str]) -> None:
    """The gap is how far apart the shapes are along the normal; along others, far or near, they are less."""
    found = sample(kinds, COUNT, seed=1)
    rng = np.random.default_rng(0)
    apart = np.abs(found.gap) + 1e-30  # of corners and edges that all but touch, rounding turns the normal
    assert (np.abs(found.separation(found.normal) - found.gap) < 1e-10 + 2e-15 / apart).all()
    for spread in () if kinds[0] == "plane" else (0.0, 0.0, 0.0, 1.0, 0.3, 1e-1, 1e-2, 1e-3, 1e-4):
        n = found.normal + spread * rng.normal(size=found.normal.shape) if spread else rng.normal(size=(COUNT, 3))
        n /= np.linalg.norm(n, axis=1, keepdims=True)
        assert (found.separation(n) - found.gap).max() < 1e-9


@every_kind
def test_nothing_breaks_where_axes_are_parallel_or_square(kinds: tuple[str, str]) -> None:
    """Shapes from a millimeter to meters, thin and flat ones, on a grid: gaps are distances along the normals."""
    rng = np.random.default_rng(11)

    def wild(kind: str) -> Solid:
        x, y, z = (float(a) for a in 10 ** rng.uniform(-3, 0.5, 3))
        solids = {
            "plane": Ground(),
            "sphere": Sphere(x),
            "capsule": Cylinder(x, y, rounded=True),
            "box": Box((x, y, z)),
        }
        return (solids | {"cylinder": Cylinder(x, y), "ellipsoid": Ellipsoid((x, y, z))})[kind]

    pairs = [(wild(kinds[0]), wild(kinds[1])) for _ in range(40)]
    which = np.arange(COUNT) % len(pairs)
    found = nearest(pairs, which, square_poses(rng, COUNT))
    assert np.isfinite(found.gaps).all() and np.isfinite(found.points).all()
    assert (np.abs(found.separation(found.normal) - found.gap) < 1e-10 + 2e-15 / (np.abs(found.gap) + 1e-30)).all()
    if kinds[0] != "plane":
        for start in (3, 10):
            axes = Rotation.from_quat(found.q[:, start : start + 4]).as_matrix()
            for k in range(3):
                for way in (-1.0, 1.0):
                    assert (found.separation(way * axes[:, :, k]) - found.gap).max() < 1e-10


def test_the_normal_of_an_ellipsoid_leads_to_the_center_of_the_sphere() -> None:
    found = sample(("ellipsoid", "sphere"), COUNT, seed=2)
    R = Rotation.from_quat(found.q[:, 3:7])
    radii = np.array([pair[0].radii for pair in found.pairs])[found.which]  # type: ignore[union-attr]
    radius = np.array([pair[1].radius for pair in found.pairs])[found.which]  # type: ignore[union-attr]
    n = R.inv().apply(found.normal)
    foot = radii**2 * n / np.linalg.norm(radii * n, axis=1, keepdims=True)
    center = R.inv().apply(found.q[:, 7:10] - found.q[:, :3])
    assert np.abs(foot + (found.gap + radius)[:, None] * n - center).max() < 1e-12


@every_kind
def test_all_scales_alike(kinds: tuple[str, str]) -> None:
    one = sample(kinds, 200, seed=3)
    for scale in (1e3, 1e-3):
        other = sample(kinds, 200, seed=3, scale=scale)
        assert np.abs(other.gap / scale - one.gap).max() < 1e-11
        assert np.abs(other.points / scale - one.points)[one.gaps < NO_CONTACT].max() < 1e-5


@every_kind
def test_exchanged_shapes_have_opposite_normals(kinds: tuple[str, str]) -> None:
    rng = np.random.default_rng(4)
    pair = KINDS[kinds[0]](rng), KINDS[kinds[1]](rng)
    q = random_poses(rng, 100)
    scene, turned = pair_scene([pair]), pair_scene([pair[::-1]])
    other = np.concatenate([q[:, 7:], q[:, :7]], axis=1)
    if kinds[0] == "plane":  # always first: exchange the bodies alone
        turned, other = pair_scene([pair], turned=True), q
    found, again = lw.contact.ContactGeometry(scene)(q), lw.contact.ContactGeometry(turned)(other)
    best, best_again = found.gaps.argmin(axis=1), again.gaps.argmin(axis=1)
    row = np.arange(len(q))
    assert np.abs(found.gaps[row, best] - again.gaps[row, best_again]).max() < 1e-9
    flip = 1.0 if kinds[0] == "plane" else -1.0
    assert np.abs(found.normals[row, best] - flip * again.normals[row, best_again]).max() < 1e-7


@every_kind
def test_contact_points_move_with_the_shapes(kinds: tuple[str, str]) -> None:
    rng = np.random.default_rng(5)
    geometry = geometry_of(KINDS[kinds[0]](rng), KINDS[kinds[1]](rng))
    q = random_poses(rng, 50)
    turn, shift = Rotation.random(random_state=6), rng.normal(size=3)
    moved = q.copy()
    for start in (0, 7):
        moved[:, start : start + 3] = turn.apply(q[:, start : start + 3]) + shift
        moved[:, start + 3 : start + 7] = (turn * Rotation.from_quat(q[:, start + 3 : start + 7])).as_quat()
    one, other = geometry(q), geometry(moved)
    both = one.exists & other.exists  # corners of a polygon without area come and go with rounding
    overlap = one.gaps.min(axis=1) < 0
    assert (both == one.exists)[overlap].all() and both.any(axis=1).all()
    assert np.abs(one.gaps.min(axis=1) - other.gaps.min(axis=1)).max() < 1e-9
    for k in range(one.gaps.shape[1]):
        there = both[:, k] & overlap
        assert np.abs(one.gaps[:, k] - other.gaps[:, k])[there].max() < 1e-9
        assert np.abs(turn.apply(one.points[:, k]) + shift - other.points[:, k])[there].max() < 1e-8
        assert np.abs(turn.apply(one.normals[:, k]) - other.normals[:, k]).max() < 1e-8


@every_kind
def test_frames_are_right_handed_and_gaps_grow_along_normals(kinds: tuple[str, str]) -> None:
    rng = np.random.default_rng(7)
    geometry = geometry_of(KINDS[kinds[0]](rng), KINDS[kinds[1]](rng))
    q = random_poses(rng, 100)
    found = geometry(q)
    assert np.abs(np.swapaxes(found.frames, -1, -2) @ found.frames - np.eye(3)).max() < 1e-14
    assert np.abs(np.linalg.det(found.frames) - 1.0).max() < 1e-14
    k = found.gaps.argmin(axis=1)
    row = np.arange(len(q))
    q[:, 7:10] += 1e-7 * found.normals[row, k]
    assert np.abs(geometry(q).gaps.min(axis=1) - found.gaps[row, k] - 1e-7).max() < 1e-10


def test_the_point_is_midway_between_surfaces() -> None:
    found = sample(("sphere", "sphere"), 200, seed=8)
    radii = np.array([[a.radius, b.radius] for a, b in found.pairs])[found.which]  # type: ignore[union-attr]
    point = found.points[:, 0]
    first = np.linalg.norm(point - found.q[:, :3], axis=1) - radii[:, 0]
    second = np.linalg.norm(point - found.q[:, 7:10], axis=1) - radii[:, 1]
    shallow = found.gap > -radii.min(axis=1)
    assert np.abs(first - second)[shallow].max() < 1e-12
    assert np.abs(first - found.gap / 2)[shallow].max() < 1e-12


# Degenerate places ----------------------------------------------------------------------------------------------------

CAPSULE, TUBE, BALL = Cylinder(0.2, 1.0, rounded=True), Cylinder(0.5, 1.0), Sphere(0.5)
SPHEROID = Ellipsoid((0.5, 0.5, 0.2))

DEGENERATE = {
    "concentric spheres": (BALL, BALL, at((0, 0, 0)), -1.0),
    "center on the axis of a capsule": (CAPSULE, BALL, at((0, 0, 0.3)), -0.7),
    "center at the end of a capsule": (CAPSULE, BALL, at((0, 0, 0.5)), -0.7),
    "center of a box": (CUBE, BALL, at((0, 0, 0)), -1.0),
    "center on a face": (CUBE, BALL, at((0.5, 0.1, 0.2)), -0.5),
    "center on an edge": (CUBE, BALL, at((0.5, 0.5, 0.2)), -0.5),
    "center on a corner": (CUBE, BALL, at((0.5, 0.5, 0.5)), -0.5),
    "center of a cylinder": (TUBE, BALL, at((0, 0, 0)), -1.0),
    "center on the axis above a cylinder": (TUBE, BALL, at((0, 0, 2)), 1.0),
    "center on a rim": (TUBE, BALL, at((0.5, 0, 0.5)), -0.5),
    "center of an ellipsoid": (SPHEROID, BALL, at((0, 0, 0)), -0.7),
    "center on the axis of an ellipsoid": (SPHEROID, BALL, at((0, 0, 1)), 0.3),
    "center in the focal disk of an ellipsoid": (Ellipsoid((2.0, 1.0, 0.5)), BALL, at((0.1, 0.1, 0)), None),
    "center on an ellipsoid": (SPHEROID, BALL, at((0.5, 0, 0)), -0.5),
    "center of a sphere as ellipsoid": (Ellipsoid((0.5, 0.5, 0.5)), BALL, at((0, 0, 0)), -1.0),
    "parallel capsules": (CAPSULE, CAPSULE, at((1, 0, 0.1)), 0.6),
    "capsules in line": (CAPSULE, CAPSULE, at((0, 0, 2)), 0.6),
    "one capsule twice": (CAPSULE, CAPSULE, at((0, 0, 0)), -0.4),
    "crossed capsules": (CAPSULE, CAPSULE, at((0, 0, 0), turn(np.pi / 2, 0, 0)), -0.4),
    "core in a face": (CUBE, CAPSULE, at((0.5, 0, 0)), -0.2),
    "core along an edge": (CUBE, CAPSULE, at((0.5, 0.5, 0)), -0.2),
    "core at the center of a box": (CUBE, CAPSULE, at((0, 0, 0)), -0.7),
    "capsule beside an edge": (CUBE, CAPSULE, at((1.0, 1.0, 0.2)), np.sqrt(0.5) - 0.2),
    "capsule above a face": (CUBE, CAPSULE, at((1.0, 0.0, 0.0)), 0.3),
    "capsule across a box": (CUBE, Cylinder(0.2, 4.0, rounded=True), at((0, 0, 0)), -0.7),
    "one box twice": (CUBE, CUBE, at((0, 0, 0)), -1.0),
    "boxes face to face": (CUBE, CUBE, at((0, 0, 1)), 0.0),
    "boxes edge to edge": (CUBE, CUBE, at((1, 0, 1)), 0.0),
    "boxes corner to corner": (CUBE, CUBE, at((1, 1, 1)), 0.0),
    "boxes apart at corners": (CUBE, CUBE, at((2, 2, 2)), np.sqrt(3.0)),
    "boxes apart at edges": (CUBE, CUBE, at((2, 0, 2)), np.sqrt(2.0)),
    "boxes with crossed edges": (CUBE, CUBE, at((0, 0, 2), turn(0, 0, np.pi / 4)), 1.0),
    "box on its edge": (CUBE, CUBE, at((0, 0, 0.5 + np.sqrt(0.5)), turn(0, np.pi / 4, 0)), 0.0),
    "upright cylinder": (Ground(), TUBE, at((0, 0, 0.5)), 0.0),
    "lying cylinder": (Ground(), TUBE, at((0, 0, 0.5), turn(np.pi / 2, 0, 0)), 0.0),
    "box on its corner": (Ground(), CUBE, at((0, 0, 1), Rotation.align_vectors([[0, 0, 1]], [[1, 1, 1]])[0]), None),
}


@pytest.mark.parametrize("place", DEGENERATE)
def test_degenerate_places_have_gaps_and_frames(place: str) -> None:
    first, second, q, gap = DEGENERATE[place]
    found = geometry_of(first, second)(q)
    assert np.isfinite(found.gaps).all() and np.isfinite(found.points).all()
    assert np.abs(found.frames.swapaxes(-1, -2) @ found.frames - np.eye(3)).max() < 1e-12
    if gap is not None:
        assert found.gaps.min() == pytest.approx(gap, abs=1e-12)
    noisy = q + 1e-15 * np.random.default_rng(0).normal(size=(64, 14))
    close = geometry_of(first, second)(noisy)
    assert np.isfinite(close.gaps).all() and np.isfinite(close.frames).all()
    assert np.abs(close.gaps.min(axis=-1) - found.gaps.min()).max() < 1e-10


def test_a_center_near_the_focal_conics_of_an_ellipsoid_is_found() -> None:
    """There the secular equation has its root next to a pole."""
    rng = np.random.default_rng(9)
    solid = Ellipsoid((1.0, 0.6, 0.3))
    q = np.tile(at((0, 0, 0)), (600, 1))
    q[:, 7:9] = rng.uniform(-0.9, 0.9, (600, 2)) * (1.0, 0.5)
    q[:, 9] = np.resize((0.0, 1e-300, 1e-18, 1e-15, 1e-12, 1e-9, 1e-6), 600)
    found = geometry_of(solid, Sphere(0.1))(q)
    n = found.normals[:, 0]
    radii = np.array(solid.radii)
    foot = radii**2 * n / np.linalg.norm(radii * n, axis=1, keepdims=True)
    assert np.abs(foot + (found.gaps + 0.1) * n - q[:, 7:10]).max() < 1e-9


# Which points ---------------------------------------------------------------------------------------------------------


def corner_set(points: Floats, digits: int = 9) -> set[tuple[float, ...]]:
    return {tuple(float(x) + 0.0 for x in np.round(point, digits)) for point in points}


@pytest.mark.parametrize("slots", [4, 8])
@pytest.mark.parametrize("noise", [0.0, 1e-15, 1e-13])
def test_aligned_boxes_have_their_four_corners(slots: int, noise: float) -> None:
    rng = np.random.default_rng(0)
    geometry = geometry_of(CUBE, CUBE, slots)
    for gap in (0.0, 0.01, -0.01):
        for _ in range(5):
            found = geometry(at((0, 0, 1.0 + gap)) + noise * rng.normal(size=14))
            there = found.exists
            assert there.sum() == 4
            assert corner_set(found.points[there]) == {(x, y, 0.5 + gap / 2) for x in (-0.5, 0.5) for y in (-0.5, 0.5)}
            assert np.abs(found.gaps[there] - gap).max() < 1e-11


def test_contact_points_that_last_keep_their_slots() -> None:
    """In rounding noise, each of the four slots stays at its corner."""
    rng = np.random.default_rng(1)
    for first, second, height in ((CUBE, CUBE, 1.0), (Ground(), CUBE, 0.5), (Ground(), TUBE, 0.5)):
        geometry = geometry_of(first, second)
        still = geometry(at((0, 0, height)))
        noisy = geometry(at((0, 0, height)) + 1e-14 * rng.normal(size=(200, 14)))
        assert np.abs(noisy.points - still.points)[:, still.gaps < 0.1].max() < 1e-2


def test_shared_polygons_of_boxes() -> None:
    small, wide = Box((0.5, 0.5, 0.5)), Box((2.0, 2.0, 0.5))
    for slots in (4, 8):
        on_top = geometry_of(wide, small, slots)(at((0.2, 0.1, 0.5), turn(0, 0, 0.7)))
        corners = turn(0, 0, 0.7).apply([[x, y, 0] for x in (-0.25, 0.25) for y in (-0.25, 0.25)]) + np.array(
            [0.2, 0.1, 0.25]
        )
        assert corner_set(on_top.points[on_top.exists]) == corner_set(corners)
        below = geometry_of(small, wide, slots)(at((0, 0, 0.5), turn(0, 0, np.pi / 4)))
        assert corner_set(below.points[below.exists]) == {(x, y, 0.25) for x in (-0.25, 0.25) for y in (-0.25, 0.25)}
    plus = geometry_of(Box((2, 0.5, 0.5)), Box((0.5, 2, 0.5)))(at((0, 0, 0.6)))
    assert corner_set(plus.points[plus.exists]) == {(x, y, 0.3) for x in (-0.25, 0.25) for y in (-0.25, 0.25)}
    octagon = geometry_of(CUBE, CUBE, 8)(at((0, 0, 1), turn(0, 0, np.pi / 4)))
    assert octagon.exists.all() and np.abs(octagon.gaps).max() < 1e-12
    radius = np.linalg.norm(octagon.points[:, :2], axis=1)
    assert np.ptp(radius) < 1e-9 and len(corner_set(octagon.points)) == 8
    overhang = geometry_of(CUBE, CUBE)(at((0.75, 0, 1)))
    assert corner_set(overhang.points) == {(x, y, 0.5) for x in (0.25, 0.5) for y in (-0.5, 0.5)}


def test_gaps_of_a_tilted_box_are_distances_along_the_normal() -> None:
    tilt = 1e-3
    found = geometry_of(Box((4, 4, 1)), CUBE, 8)(at((0, 0, 1.1), turn(0, tilt, 0)))
    corners = turn(0, tilt, 0).apply([[x, y, -0.5] for x in (-0.5, 0.5) for y in (-0.5, 0.5)]) + np.array([0, 0, 1.1])
    assert np.allclose(np.sort(found.gaps[found.exists]), np.sort(corners[:, 2] - 0.5), atol=1e-12)
    assert np.abs(found.normals - (0, 0, 1)).max() < 1e-12


def test_the_four_lowest_corners_of_a_box_are_those_of_all_eight() -> None:
    rng = np.random.default_rng(2)
    q = random_poses(rng, 500)
    box = Box((0.3, 0.5, 0.9))
    for first in (Ground(), HeightField(((0.0, 0.0), (0.0, 0.0)), (50.0, 50.0))):
        four, eight = geometry_of(first, box)(q), geometry_of(first, box, 8)(q)
        assert np.abs(np.sort(four.gaps) - np.sort(eight.gaps)[:, :4]).max() < 1e-12


def test_capsules_side_by_side_touch_at_two_places() -> None:
    geometry = geometry_of(CAPSULE, CAPSULE)
    found = geometry(at((0.4, 0, 0.3)))
    assert np.abs(found.gaps).max() < 1e-12
    assert np.allclose(np.sort(found.points[:, 2]), (-0.2, 0.5))
    across = geometry(at((0.4, 0, 0), turn(np.pi / 3, 0, 0)))
    assert across.gaps.min() == pytest.approx(0.0, abs=1e-12)
    assert np.allclose(across.points[across.gaps.argmin()], (0.2, 0, 0), atol=1e-12)
    alone = geometry_of(CAPSULE, CAPSULE, 1)(at((0.4, 0, 0.3)))
    assert np.allclose(alone.points, [(0.2, 0, 0.15)])


def test_a_capsule_lies_on_a_box_with_both_ends() -> None:
    found = geometry_of(Box((2, 2, 1)), CAPSULE)(at((0.2, 0.1, 0.7), turn(0, np.pi / 2, 0)))
    assert np.abs(found.gaps).max() < 1e-12
    assert np.allclose(np.sort(found.points[:, 0]), (-0.3, 0.7))
    over_edge = geometry_of(CUBE, CAPSULE)(at((0.4, 0, 0.7), turn(0, np.pi / 2, 0)))
    assert np.allclose(np.sort(over_edge.points[:, 0]), (-0.1, 0.5))


def test_cylinders_on_a_plane() -> None:
    geometry = geometry_of(Ground(), TUBE)
    upright = geometry(at((0, 0, 0.5)))
    assert (np.abs(upright.gaps) < 1e-9).sum() == 3
    on_rim = upright.points[np.abs(upright.gaps) < 1e-9]
    assert np.allclose(np.linalg.norm(on_rim[:, :2], axis=1), 0.5) and np.abs(on_rim.mean(axis=0)).max() < 1e-9
    lying = geometry(at((0, 0, 0.5), turn(0, 0, 0.3) * turn(np.pi / 2, 0, 0)))
    assert (np.abs(lying.gaps) < 1e-9).sum() == 2


@pytest.mark.parametrize("kinds", PAIR_KINDS, ids=":".join)
def test_slots_are_what_a_pair_may_have(kinds: tuple[str, str]) -> None:
    kind = PAIR_KINDS[kinds]
    field = HeightField(((0.0, 0.1), (0.2, 0.0)), (1.0, 1.0))
    rng = np.random.default_rng(0)
    pair = tuple(field if name == "height field" else KINDS[name](rng) for name in kinds)
    for slots in kind.slots:
        assert geometry_of(*pair, slots)(at((0, 0, 2))).gaps.shape == (slots,)
    assert geometry_of(*pair)(at((0, 0, 2))).gaps.shape == (kind.slots[0],)
    with pytest.raises(ModelError, match=f"slots is 5; a {kinds[0]} and a {kinds[1]} have {kind.slots[0]}"):
        geometry_of(*pair, 5)(at((0, 0, 2)))


# Height fields --------------------------------------------------------------------------------------------------------


def surface(field: HeightField, x: Floats) -> tuple[Floats, Floats]:
    """Height of a surface at places ``(k, 2)`` clamped to its rectangle, and its triangles."""
    grid, (length, width) = np.array(field.heights), field.size
    rows, columns = grid.shape
    u = (np.clip(x[:, 0] / length, -0.5, 0.5) + 0.5) * (rows - 1)
    v = (np.clip(x[:, 1] / width, -0.5, 0.5) + 0.5) * (columns - 1)
    i, j = np.minimum(u.astype(int), rows - 2), np.minimum(v.astype(int), columns - 2)
    u, v = u - i, v - j
    a, b, c, d = grid[i, j], grid[i + 1, j], grid[i + 1, j + 1], grid[i, j + 1]
    height = a + np.where(u >= v, u * (b - a) + v * (c - b), u * (c - d) + v * (d - a))
    X, Y = np.linspace(-length / 2, length / 2, rows), np.linspace(-width / 2, width / 2, columns)
    points = np.stack([*np.meshgrid(X, Y, indexing="ij"), grid], axis=-1)
    a, b, c, d = points[:-1, :-1], points[1:, :-1], points[1:, 1:], points[:-1, 1:]
    triangles = np.concatenate([np.stack([a, b, c], axis=2), np.stack([a, c, d], axis=2)])
    return height, triangles.reshape(-1, 3, 3)


def distance_to_triangles(x: Floats, triangles: Floats) -> Floats:
    """Of points ``(k, 3)``: the least over interiors and edges."""
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    n = np.cross(b - a, c - a)
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    height = np.einsum("kti,ti->kt", x[:, None] - a, n)
    foot = x[:, None] - height[..., None] * n
    best = np.abs(height)
    for p, q in ((a, b), (b, c), (c, a)):
        best = np.where(np.einsum("kti,ti->kt", np.cross(q - p, foot - p), n) >= 0, best, np.inf)
    for p, q in ((a, b), (b, c), (c, a)):
        t = np.clip(np.einsum("kti,ti->kt", x[:, None] - p, q - p) / ((q - p) ** 2).sum(axis=1), 0.0, 1.0)
        best = np.minimum(best, np.linalg.norm(x[:, None] - p - t[..., None] * (q - p), axis=-1))
    return best.min(axis=1)


def random_field(rng: np.random.Generator) -> HeightField:
    rows, columns = rng.integers(2, 8, 2)
    return HeightField(tuple(map(tuple, rng.uniform(-0.3, 0.3, (rows, columns)))), (2.0, 3.0))


@pytest.mark.parametrize("seed", range(4))
def test_distances_to_a_height_field_are_those_to_its_triangles(seed: int) -> None:
    rng = np.random.default_rng(seed)
    field = random_field(rng)
    q = np.tile(at((0, 0, 0)), (500, 1))
    q[:, 7:10] = rng.uniform((-1.3, -1.8, -1.0), (1.3, 1.8, 1.0), (500, 3))
    x = q[:, 7:10]
    found = geometry_of(field, Sphere(0.1))(q)
    height, triangles = surface(field, x[:, :2])
    beside = np.linalg.norm(x[:, :2] - np.clip(x[:, :2], (-1.0, -1.5), (1.0, 1.5)), axis=1)
    lower = x[:, 2] < height
    distance = distance_to_triangles(x, triangles) * np.where(lower, -1.0, 1.0)
    distance = np.where((beside > 0) & lower, beside, distance)
    assert np.abs(found.gaps[:, 0] + 0.1 - distance).max() < 1e-12
    for solid, points in ((CAPSULE, 2), (CUBE, 8)):  # their ends and corners are spheres
        found = geometry_of(field, solid, points)(q)
        assert np.isfinite(found.frames).all()
    corners = x[:, None] + np.array([[a, b, c] for c in (-0.5, 0.5) for b in (-0.5, 0.5) for a in (-0.5, 0.5)])
    height, _ = surface(field, corners.reshape(-1, 3)[:, :2])
    inside = (np.abs(corners[..., :2]) <= (1.0, 1.5)).all(axis=-1)
    lower = (corners[..., 2] < height.reshape(-1, 8)) & inside
    assert ((found.gaps < 0) == lower).all()


def test_normals_of_a_height_field_are_those_of_its_faces() -> None:
    """Also where a corner of a box is on the surface to rounding, and the nearest point has no direction."""
    slope = HeightField(((0.0, 0.0), (1.0, 1.0)), (1.0, 1.0))
    x = np.linspace(-0.4, 0.4, 50)
    q = np.tile(at((0, 0, 0)), (50, 1))
    q[:, 7], q[:, 9] = x, x + 0.5
    for lift in (0.0, 1e-15, -1e-15, 1e-9, 0.1, -0.1):
        found = geometry_of(slope, Sphere(1e-3))(q + lift * np.eye(14)[9])
        assert np.abs(found.normals - np.array([-1, 0, 1]) / np.sqrt(2)).max() < 1e-9
        assert np.abs(found.gaps + 1e-3 - lift / np.sqrt(2)).max() < 1e-12


def test_a_height_field_is_the_same_as_triangles_to_coal() -> None:
    pytest.importorskip("coal")
    import coal

    from linkwork.contact.coal import _field_triangles, _triangles

    rng = np.random.default_rng(1)
    field = random_field(rng)
    model = _triangles(coal, *_field_triangles(field))
    q = np.tile(at((0, 0, 0)), (200, 1))
    q[:, 7:10] = rng.uniform((-0.9, -1.4, 0.6), (0.9, 1.4, 1.5), (200, 3))
    found = geometry_of(field, Sphere(0.1))(q)
    for row, gap in zip(q, found.gaps[:, 0], strict=True):
        pose = coal.Transform3s(np.eye(3), row[7:10])
        result = coal.DistanceResult()
        assert coal.distance(model, coal.Transform3s(), coal.Sphere(0.1), pose, coal.DistanceRequest(), result) == (
            pytest.approx(gap, abs=1e-9)
        )


# Backends and calls ---------------------------------------------------------------------------------------------------


def zoo_of_pairs(all_orders: bool = True) -> lw.Mechanism:
    """Every kind of pair; in both orders, with all numbers of slots."""
    rng = np.random.default_rng(3)
    solids: list[tuple[Solid, Solid, int]] = []
    field = HeightField(((0.0, 0.1), (0.2, 0.1), (0.0, 0.3)), (1.0, 2.0))
    for kinds, kind in PAIR_KINDS.items():
        pair = [field if name == "height field" else KINDS[name](rng) for name in kinds]
        for slots in kind.slots if all_orders else kind.slots[:1]:
            solids.append((pair[0], pair[1], slots))
            if kinds[0] != "plane" and all_orders:
                solids.append((pair[1], pair[0], slots))
    scene = pair_scene([])
    contacts = [
        ContactPair(ContactShape(f"a{k}", "a", a), ContactShape(f"b{k}", "b", b), name=str(k), slots=slots)
        for k, (a, b, slots) in enumerate(solids)
    ]
    return replace(scene, contacts=tuple(contacts))


def agree(one: lw.contact.ContactPoints, other: lw.contact.ContactPoints) -> bool:
    """To rounding; corners of a polygon without area, of boxes that are apart, come and go with that."""
    both = one.exists & other.exists
    return bool(
        all(np.abs(one[name].gaps.min(axis=-1) - other[name].gaps.min(axis=-1)).max() < 1e-11 for name in one)
        and np.abs(one.gaps - other.gaps)[both].max() < 1e-9
        and np.abs(one.points - other.points)[both].max() < 1e-8
        and np.abs(one.frames - other.frames).max() < 1e-8
        and (both == one.exists).mean() > 0.97
    )


def test_native_code_in_lanes_and_plain_python_agree() -> None:
    geometry = lw.contact.ContactGeometry(zoo_of_pairs(), threads=1)
    q = random_poses(np.random.default_rng(4), 24)
    batch = geometry(q)
    for k in range(0, 24, 3):
        found = geometry(q[k : k + 1])
        assert agree(found, geometry.native(lanes=1)(q[k : k + 1]))
        assert (found.gaps[0] == batch.gaps[k]).all()
        if k < 9:
            assert agree(found, geometry.plain()(q[k : k + 1]))


def test_specialized_programs_agree() -> None:
    geometry = lw.contact.ContactGeometry(zoo_of_pairs(all_orders=False), threads=1)
    q = random_poses(np.random.default_rng(4), 24)
    compiled = geometry.compile(lanes=1)
    assert agree(geometry(q), compiled(q))
    q = np.array([at((0, 0, 1)), at((0, 0, 0.2)), at((0, 0, 0)), at((1, 1, 1)), at((0.3, 0, 1))])
    found, special = geometry(q), compiled(q)
    assert np.isfinite(special.gaps).all() and np.isfinite(special.frames).all()
    for name in found:
        assert np.abs(found[name].gaps.min(axis=-1) - special[name].gaps.min(axis=-1)).max() < 1e-10


def test_single_precision_has_its_digits() -> None:
    scene = zoo_of_pairs()
    geometry = lw.contact.ContactGeometry(scene)
    q = random_poses(np.random.default_rng(5), 40)
    single = geometry(q.astype(np.float32))
    assert single.gaps.dtype == np.float32 and np.isfinite(single.gaps).all() and np.isfinite(single.frames).all()
    double = geometry(q)
    for name in double:
        assert np.abs(single[name].gaps.min(axis=-1) - double[name].gaps.min(axis=-1)).max() < 1e-4
    rest = geometry(np.concatenate([at((0, 0, 0))[None], at((0, 0, 1))[None]]).astype(np.float32))
    assert np.isfinite(rest.gaps).all() and np.isfinite(rest.frames).all()


def test_calls_have_batches_names_and_out() -> None:
    geometry = lw.contact.ContactGeometry(pair_scene([(CUBE, CUBE), (CUBE, BALL)]))
    q = random_poses(np.random.default_rng(6), 6).reshape(3, 2, 14)
    found = geometry(q)
    assert found.gaps.shape == (3, 2, 5) and found.points.shape == (3, 2, 5, 3)
    assert found.frames.shape == (3, 2, 5, 3, 3)
    assert found.names == ("0", "1") and found["1"].gaps.shape == (3, 2, 1)
    assert (found["0"].points == found.points[..., :4, :]).all()
    gaps = np.empty((3, 2, 5))
    assert geometry(q, out=gaps).gaps is gaps and (gaps == found.gaps).all()
    all_three = np.empty((3, 2, 5)), np.empty((3, 2, 5, 3)), np.empty((3, 2, 5, 3, 3))
    geometry(q, out=all_three)
    assert (all_three[2] == found.frames).all()
    with pytest.raises(UnknownName, match="has no contact '2'"):
        found["2"]
    again = pickle.loads(pickle.dumps(geometry))
    assert (again(q).gaps == found.gaps).all()
    state, out = q[0, 0].copy(), tuple(np.empty(x.shape[2:]) for x in all_three)
    step = geometry.bind(state, out=out)
    step()
    assert np.abs(out[0] - found.gaps[0, 0]).max() < 1e-12


def test_shapes_are_where_their_bodies_are() -> None:
    """On links of a robot, at placements of their own; the ground on the world, at another."""
    arm = lw.zoo.humanoid()
    bodies = arm.body_names[::7]
    rng = np.random.default_rng(10)
    slope = lw.Placement((0.1, 0.2, 0.3), turn(0.2, -0.1, 0.3).as_matrix())
    ground = ContactShape("ground", "world", Ground(), slope)
    places = [lw.Placement(rng.normal(size=3), Rotation.random(random_state=rng).as_matrix()) for _ in bodies]
    balls = [ContactShape(f"on {body}", body, Sphere(0.1), at) for body, at in zip(bodies, places, strict=True)]
    robot = replace(arm, contacts=tuple(ContactPair(ground, ball) for ball in balls))
    q = robot.random(0)
    found = lw.contact.ContactGeometry(robot)(q)
    for body, at, pair in zip(bodies, places, robot.contacts, strict=True):
        center = (lw.frame_placement(robot, q, body) * at).position
        height = slope.rotation[:, 2] @ (center - slope.position)
        assert found[pair.name].gaps[0] == pytest.approx(height - 0.1, abs=1e-12)
        middle = center - slope.rotation[:, 2] * (0.1 + (height - 0.1) / 2)
        assert np.abs(found[pair.name].points[0] - middle).max() < 1e-12


def test_gaps_are_measured_from_the_margin() -> None:
    pytest.importorskip("coal")
    scene = pair_scene([(CUBE, CUBE), (CUBE, TUBE), (BALL, BALL)])
    wide = replace(
        scene, contacts=tuple(replace(pair, margin=0.01) for pair in scene.contacts[:2]) + scene.contacts[2:]
    )
    q = random_poses(np.random.default_rng(12), 20)
    plain, margin = lw.contact.ContactGeometry(scene)(q), lw.contact.ContactGeometry(wide)(q)
    assert (plain.exists == margin.exists).all() and (plain.points == margin.points).all()
    for name, less in (("0", 0.01), ("1", 0.01), ("2", 0.0)):
        there = plain[name].exists
        assert np.abs(plain[name].gaps - margin[name].gaps - less)[there].max() < 1e-14


def test_a_robot_without_contacts_is_refused() -> None:
    with pytest.raises(UnsupportedFeature, match="has no contacts"):
        lw.contact.ContactGeometry(lw.zoo.pendulum(2))


# Pairs without kernel code --------------------------------------------------------------------------------------------


def cube_file(folder: Path) -> Mesh:
    """A cube with edges of 2, to be scaled by half."""
    corners = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    lines = [f"v {x} {y} {z}" for x, y, z in corners]
    lines += [f"f {a + 1} {b + 1} {c + 1}\nf {a + 1} {c + 1} {d + 1}" for a, b, c, d in faces]
    path = folder / "cube.obj"
    path.write_text("\n".join(lines) + "\n")
    return Mesh("cube", path, (0.5, 0.5, 0.5))


def test_the_hull_of_a_cube_touches_as_a_box_does(tmp_path: Path) -> None:
    pytest.importorskip("coal")
    mesh = cube_file(tmp_path)
    for other in (CUBE, BALL, CAPSULE, Ground()):
        first, second = (other, mesh) if isinstance(other, Ground) else (mesh, other)
        box_first, box_second = (other, CUBE) if isinstance(other, Ground) else (CUBE, other)
        q = random_poses(np.random.default_rng(7), 60, (0.8, 1.6))
        found, expected = geometry_of(first, second)(q), geometry_of(box_first, box_second)(q)
        assert np.abs(found.gaps.min(axis=1) - expected.gaps.min(axis=1)).max() < 2e-6
    rest = geometry_of(CUBE, mesh)(at((0, 0, 1.0)))
    assert np.abs(rest.gaps).max() < 1e-6
    assert corner_set(rest.points, 5) == {(x, y, 0.5) for x in (-0.5, 0.5) for y in (-0.5, 0.5)}
    ground = geometry_of(Ground(), mesh)(at((0.3, 0, 0.5)))
    assert corner_set(ground.points, 6) == {(x, y, 0.0) for x in (-0.2, 0.8) for y in (-0.5, 0.5)}


def test_a_cylinder_stands_on_a_box_and_on_another() -> None:
    pytest.importorskip("coal")
    for other in (CUBE, TUBE):
        found = geometry_of(other, TUBE)(at((0, 0, 1.0)))
        assert np.abs(found.gaps).max() < 1e-6 and np.abs(found.normals - (0, 0, 1)).max() < 1e-6
        around = np.sort(
            np.arctan2(found.points[:, 1], found.points[:, 0])[np.linalg.norm(found.points[:, :2], axis=1) > 0.4]
        )
        assert np.diff(np.append(around, around[0] + 2 * np.pi)).max() < np.pi + 1e-6


def test_triangles_on_the_world_are_not_their_hull(tmp_path: Path) -> None:
    """A sphere in a valley of a mesh: its hull would be level."""
    pytest.importorskip("coal")
    path = tmp_path / "valley.obj"
    path.write_text("v -1 -1 1\nv -1 1 1\nv 0 -1 0\nv 0 1 0\nv 1 -1 1\nv 1 1 1\nf 1 3 2\nf 3 4 2\nf 3 5 4\nf 5 6 4\n")
    scene = pair_scene([])
    valley = ContactShape("valley", "world", Mesh("valley", path))
    pair = ContactPair(valley, ContactShape("ball", "b", Sphere(0.1)), name="in", slots=2)
    geometry = lw.contact.ContactGeometry(replace(scene, contacts=(pair,)))
    found = geometry(at((0.2, 0.0, 0.5)))
    assert found.gaps.min() == pytest.approx(0.3 / np.sqrt(2) - 0.1, abs=1e-6)
    assert np.allclose(found.normals[0], np.array([-1, 0, 1]) / np.sqrt(2), atol=1e-6)
    hull = lw.contact.ContactGeometry(replace(scene, contacts=(pair,)), meshes="hull")
    assert hull(at((0.2, 0.0, 0.5))).gaps.min() < 0


def test_given_contacts_are_rows_of_slots(tmp_path: Path) -> None:
    pytest.importorskip("coal")
    scene = pair_scene([(CUBE, CUBE), (cube_file(tmp_path), CUBE)])
    given = GivenContacts(scene)
    q = random_poses(np.random.default_rng(8), 3)
    rows = given(q)
    assert rows.shape == (3, 4, 7) and given.count == 4
    found = lw.contact.ContactGeometry(scene)(q)
    assert (found["1"].gaps == rows[..., 0]).all() and np.abs(found["1"].normals - rows[..., 4:]).max() == 0
    assert GivenContacts(pair_scene([(CUBE, CUBE)]))(q).shape == (0, 7)
    geometry = lw.contact.ContactGeometry(scene)
    assert np.abs(geometry.compile()(q)["1"].points - found["1"].points).max() < 1e-14
    gaps = np.empty((3, 8))
    with pytest.raises(InputError, match=r"bind q and given, an array of shape \(..., 4, 7\)"):
        geometry.bind(q, out=gaps)
    geometry.bind(q, rows, out=gaps)()
    assert (gaps == found.gaps).all()


def test_without_coal_the_pair_and_the_extra_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "coal", None)
    with pytest.raises(
        UnsupportedFeature, match=r"contact '0' of 'a0' and 'b0', a cylinder and a box, needs coal: .*collide"
    ):
        geometry_of(TUBE, CUBE)
    assert geometry_of(CUBE, CUBE)(at((0, 0, 1))).gaps.shape == (4,)


def test_meshes_that_cannot_be_read_are_errors(tmp_path: Path) -> None:
    pytest.importorskip("coal")
    with pytest.raises(ModelError, match="file of mesh 'lost' was not found"):
        geometry_of(Mesh("lost", None), CUBE)
    (tmp_path / "bad.obj").write_text("nothing\n")
    with pytest.raises(ModelError, match="cannot be read"):
        geometry_of(Mesh("bad", tmp_path / "bad.obj"), CUBE)
    (tmp_path / "flat.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n")
    with pytest.raises(ModelError, match="no convex hull"):
        geometry_of(Mesh("flat", tmp_path / "flat.obj"), CUBE)
    with pytest.raises(InputError, match="meshes is 'convex'"):
        lw.contact.ContactGeometry(pair_scene([(CUBE, CUBE)]), meshes="convex")  # type: ignore[arg-type]
