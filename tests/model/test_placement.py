# SPDX-License-Identifier: BSD-3-Clause
"""Placements are a group that acts on points: axioms, batches, and far from the origin."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork.errors import ModelError
from linkwork.model.arrays import Floats
from linkwork.model.placement import as_placement
from linkwork.model.rotations import axis_rotation, quaternion_matrix, quaternion_of, quaternion_rotate

STABLE = settings(derandomize=True, max_examples=100)

SIZES = st.sampled_from([0.0, 1e-9, 1.0, 1e6, 1e12])
"""Distances from the origin, in meters."""
SEEDS = st.integers(0, 2**32 - 1)


def placed(seed: int, size: float, batch: tuple[int, ...] = ()) -> lw.Placement:
    """Random placements; turns by nothing, by little and by half a turn among them."""
    rng = np.random.default_rng(seed)
    angle = rng.choice([0.0, 1e-8, rng.uniform(-np.pi, np.pi), np.pi - 1e-8, np.pi])
    q = np.broadcast_to([*(np.sin(angle / 2) * _unit(rng.normal(size=3))), np.cos(angle / 2)], (*batch, 4))
    if batch:
        q = _unit(rng.normal(size=(*batch, 4)))
    return lw.Placement(size * rng.normal(size=(*batch, 3)), quaternion_matrix(q))


def _unit(x: Floats) -> Floats:
    found: Floats = x / np.linalg.norm(x, axis=-1, keepdims=True)
    return found


def assert_same(a: lw.Placement, b: lw.Placement, size: float) -> None:
    """Equal to round-off of numbers of this size."""
    np.testing.assert_allclose(a.rotation, b.rotation, rtol=0, atol=4e-15)
    np.testing.assert_allclose(a.position, b.position, rtol=0, atol=2e-14 * size)


@STABLE
@given(SEEDS, SIZES)
def test_products_are_associative(seed: int, size: float) -> None:
    a, b, c = (placed(seed + k, size) for k in range(3))
    assert_same((a * b) * c, a * (b * c), 3 * size)


@STABLE
@given(SEEDS, SIZES)
def test_inverses_undo_on_both_sides(seed: int, size: float) -> None:
    a = placed(seed, size)
    assert_same(a * a.inverse(), lw.Placement(), size)
    assert_same(a.inverse() * a, lw.Placement(), size)
    assert_same(a.inverse().inverse(), a, size)


@STABLE
@given(SEEDS, SIZES)
def test_the_identity_changes_nothing(seed: int, size: float) -> None:
    a = placed(seed, size)
    for same in (a * lw.Placement(), lw.Placement() * a):
        np.testing.assert_array_equal(same.position, a.position)
        np.testing.assert_allclose(same.rotation, a.rotation, rtol=0, atol=4e-16)


@STABLE
@given(SEEDS, SIZES)
def test_products_act_one_after_the_other(seed: int, size: float) -> None:
    a, b = placed(seed, size), placed(seed + 1, size)
    x = np.random.default_rng(seed).normal(size=(5, 3))
    np.testing.assert_allclose((a * b).act(x), a.act(b.act(x)), rtol=0, atol=1e-14 * (1 + 3 * size))


@STABLE
@given(SEEDS, SIZES)
def test_distances_stay(seed: int, size: float) -> None:
    a = placed(seed, size)
    x, y = np.random.default_rng(seed).normal(size=(2, 3))
    moved = a.act(x) - a.act(y)
    assert np.linalg.norm(moved) == pytest.approx(np.linalg.norm(x - y), rel=1e-14, abs=4e-15 * (1 + size))


@STABLE
@given(SEEDS, st.sampled_from([(1,), (4,), (2, 3), (0,)]))
def test_batches_are_their_members(seed: int, batch: tuple[int, ...]) -> None:
    a, b, single = placed(seed, 1.0, batch), placed(seed + 1, 1.0, batch), placed(seed + 2, 1.0)
    x = np.random.default_rng(seed).normal(size=(*batch, 3))
    product, mixed, back, moved = a * b, single * a, a.inverse(), a.act(x)
    assert product.position.shape == (*batch, 3) and product.rotation.shape == (*batch, 3, 3)
    assert a.quaternion.shape == (*batch, 4)
    for k in np.ndindex(batch):
        assert_same(product[k], a[k] * b[k], 1.0)
        assert_same(mixed[k], single * a[k], 1.0)
        assert_same(back[k], a[k].inverse(), 1.0)
        np.testing.assert_allclose(moved[k], a[k].act(x[k]), rtol=0, atol=4e-15)
        np.testing.assert_array_equal(a.quaternion[k], a[k].quaternion)


@STABLE
@given(SEEDS)
def test_quaternions_and_matrices_are_the_same_rotation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = placed(seed, 1.0)
    q, x = a.quaternion, rng.normal(size=3)
    assert q[3] >= 0 and np.linalg.norm(q) == pytest.approx(1.0, abs=4e-16)
    np.testing.assert_allclose(quaternion_matrix(q), a.rotation, rtol=0, atol=2e-15)
    np.testing.assert_allclose(quaternion_rotate(q, x), a.rotation @ x, rtol=0, atol=4e-15)
    again = lw.Placement.from_quaternion(*(-3.0 * q), position=a.position)
    np.testing.assert_allclose(again.rotation, a.rotation, rtol=0, atol=2e-15)
    back = quaternion_of(again.rotation)
    np.testing.assert_allclose(back * np.sign(back @ q), q, rtol=0, atol=2e-15)  # near half a turn, of either sign


INDICES = [
    1,
    -1,
    slice(1, None),
    (1, 2),
    (slice(None), 0),
    [1, 0],
    (..., 1),
    (slice(None), None),
    np.array([True, False]),
]


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_indices_choose_among_the_batch_axes(index: object) -> None:
    a = placed(0, 1.0, (2, 3))
    number = np.arange(6).reshape(2, 3)[index]  # type: ignore[index]
    chosen = a[index]
    np.testing.assert_array_equal(chosen.position, a.position.reshape(-1, 3)[number])
    np.testing.assert_array_equal(chosen.rotation, a.rotation.reshape(-1, 3, 3)[number])


@pytest.mark.parametrize("index", [5, (0, 0, 0), (0, 1, 2, 1)], ids=repr)
def test_indices_beyond_the_batch_axes_are_refused(index: object) -> None:
    with pytest.raises(IndexError):
        placed(0, 1.0, (2, 3))[index]


def test_placements_broadcast() -> None:
    frames, points = placed(1, 1.0, (4,)), np.random.default_rng(0).normal(size=(7, 3))
    seen = frames[:, None].act(points)
    assert seen.shape == (4, 7, 3)
    np.testing.assert_allclose(seen[2], frames[2].act(points), rtol=0, atol=4e-15)
    spread = lw.Placement(np.zeros((4, 3)), np.eye(3))
    assert spread.rotation.shape == (4, 3, 3)


@pytest.mark.parametrize("batch", [(), (2,)])
def test_placements_do_not_unpack(batch: tuple[int, ...]) -> None:
    with pytest.raises(TypeError, match=r"does not unpack: use \.position and \.rotation"):
        _R, _p = placed(0, 1.0, batch)


def test_a_single_placement_is_not_indexed() -> None:
    with pytest.raises(TypeError, match=r"use \.position and \.rotation"):
        placed(0, 1.0)[0]
    with pytest.raises(TypeError, match=r"\.act\(points\)"):
        placed(0, 1.0) * (0, 0, 1)  # type: ignore[operator]


def test_placements_do_not_change() -> None:
    a = placed(0, 1.0)
    for made in (a, a * a, a.inverse(), placed(0, 1.0, (2,))[0]):
        with pytest.raises(ValueError, match="read-only"):
            made.position[0] = 1.0
        with pytest.raises(FrozenInstanceError):
            made.position = np.zeros(3)  # type: ignore[misc]


def test_placements_are_copied_and_pickled() -> None:
    a = placed(3, 1.0, (2,))
    for copy in (pickle.loads(pickle.dumps(a)), replace(a, position=a.position)):
        np.testing.assert_array_equal(copy.position, a.position)
        np.testing.assert_array_equal(copy.rotation, a.rotation)


def test_repr_leaves_out_no_rotation() -> None:
    assert repr(lw.Placement((0, 0, 1))) == "Placement(position=[0.0, 0.0, 1.0])"
    assert "rotation" in repr(lw.Placement((0, 0, 1), axis_rotation((0, 0, 1), 1.0)))


REFUSED: dict[str, tuple[npt.ArrayLike, npt.ArrayLike | None, str]] = {
    "two numbers": ((1, 2), None, r"position has shape \(2,\), needs \(3,\)"),
    "one number": (1.0, None, r"position has shape \(\), needs \(3,\)"),
    "text": ("abc", None, "position is 'abc', needs numbers"),
    "NaN": ((0, 0, np.nan), None, "position holds NaN or infinity"),
    "a vector for a matrix": ((0, 0, 0), (1, 0, 0), r"rotation has shape \(3,\), needs \(3, 3\)"),
    "a reflection": ((0, 0, 0), np.diag([1.0, 1.0, -1.0]), "not a rotation matrix"),
    "one reflection of a batch": ((0, 0, 0), np.stack([np.eye(3), -np.eye(3)]), "not a rotation matrix"),
    "batches that differ": (np.zeros((2, 3)), np.stack([np.eye(3)] * 3), "leading axes do not broadcast"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors_say_what_is_needed(name: str) -> None:
    position, rotation, message = REFUSED[name]
    with pytest.raises(ModelError, match=message):
        lw.Placement(position, rotation)


def test_a_batch_is_not_a_place_of_a_model() -> None:
    with pytest.raises(ModelError, match="one placement, not a batch"):
        as_placement(placed(0, 1.0, (2,)))


def test_frames_are_placements() -> None:
    robot = lw.zoo.serial_chain(3)
    q = robot.random(0, 5)
    names = robot.body_names
    frames = lw.frame_placement(robot, q, names)
    assert isinstance(frames, lw.Placement) and frames.position.shape == (5, 3, 3)
    for k, name in enumerate(names):
        np.testing.assert_array_equal(frames[:, k].rotation, lw.frame_placement(robot, q, name).rotation)
    relative = frames[:, 0].inverse() * frames[:, 2]
    np.testing.assert_allclose((frames[:, 0] * relative).position, frames[:, 2].position, rtol=0, atol=1e-15)
