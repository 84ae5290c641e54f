# SPDX-License-Identifier: BSD-3-Clause
"""Near pairs of many bodies against all pairs, in lanes, too; what far pairs cost; steps in any order of bodies."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.contact.reduced import reduced_plan
from linkwork.dynamics.iterations import SolverSettings
from linkwork.kernels.algorithm import resolve
from linkwork.kernels.contact.reduced import broad_phase
from linkwork.kernels.contact.reduced.broad_phase import (
    BROAD_INTEGERS,
    BROAD_WORK,
    find_near_groups,
    find_near_pairs,
)
from linkwork.kernels.contact.reduced.problem import NEAR
from linkwork.plans import contact_reduced
from linkwork.quantities.scales import _free_inertias, _mass_matrices

SHAPES = ('type="sphere" size=".05"', 'type="box" size=".05 .03 .08"', 'type="capsule" size=".03 .06"')


def scene(kinds: list[int], fixed: str = '<geom type="plane" size="5 5 .1"/>') -> lw.Mechanism:
    """Free bodies of these shapes, and what is fixed."""
    bodies = "".join(f'<body name="b{k}"><freejoint/><geom {SHAPES[kind]}/></body>' for k, kind in enumerate(kinds))
    return lw.loads(f"<mujoco><worldbody>{fixed}{bodies}</worldbody></mujoco>")


def state(places: np.ndarray, seed: int = 0) -> np.ndarray:
    """Configurations of free bodies at these places, turned at random."""
    turns = np.random.default_rng(seed).normal(size=(len(places), 4))
    turns /= np.linalg.norm(turns, axis=1)[:, None]
    return np.concatenate([places, turns], axis=1).ravel()


def plan_and_work(robot: lw.Mechanism) -> tuple[Any, Any]:
    """The plan of a robot's steps, and work arrays of the broad phase."""
    tree = reduced_plan(robot, robot, (), True, SolverSettings(1e-8, 1e-9, 30))
    w = SimpleNamespace(counts=np.zeros(10, dtype=np.int64))
    for name, shape in BROAD_INTEGERS.items():
        setattr(w, name, np.full(resolve(shape, tree), -7, dtype=np.int64))
    for name, shape in BROAD_WORK.items():
        setattr(w, name, np.zeros(resolve(shape, tree)))
    w.body_o, w.body_E = np.zeros((int(tree.n), 3)), np.tile(np.eye(3), (int(tree.n), 1, 1))
    w.shape_p, w.shape_R = np.zeros((int(tree.nshapes), 3)), np.tile(np.eye(3), (int(tree.nshapes), 1, 1))
    return tree, w


def put(tree: Any, w: Any, places: np.ndarray, speed: np.ndarray) -> None:
    """Put bodies at places; shapes of the world are at its origin."""
    w.body_o[1:], w.speed[1:] = places, speed
    w.body_c[:] = w.body_o + tree.body_center
    for s, body in enumerate(np.asarray(tree.shape_body).tolist()):
        w.shape_p[s] = w.body_o[body] + tree.shape_position[s]
        w.shape_c[s] = w.shape_p[s] + tree.shape_center[s]


def near_pairs(tree: Any, w: Any, h: float = 0.01, find: Any = find_near_pairs) -> list[tuple[int, int]]:
    """Near pairs with their numbers, in the order of the list."""
    w.counts[NEAR] = 0
    find(tree, w, h)
    n = int(w.counts[NEAR])
    return list(zip(w.near[:n].tolist(), w.near_slot[:n].tolist(), strict=True))


FIXED = {
    "plane": '<geom type="plane" size="5 5 .1"/>',
    "wall": '<geom type="box" size=".02 .5 .3"/>',
    "nothing": "",
}


@pytest.mark.parametrize("fixed", FIXED)
@pytest.mark.parametrize("seed", range(5))
def test_sweep_misses_no_near_pair(seed: int, fixed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    n = 40
    tree, w = plan_and_work(scene(rng.integers(3, size=n).tolist(), FIXED[fixed]))
    assert int(tree.ngroups) > broad_phase.FEW_GROUPS
    for spread in ((1.0, 1.0, 1.0), (0.2, 0.2, 3.0), (3.0, 0.01, 0.3), (0.0, 0.0, 0.0), (1e6, 1e6, 1e6)):
        put(tree, w, rng.uniform(-1, 1, size=(n, 3)) * spread, rng.uniform(0, 5, size=n))
        monkeypatch.setattr(broad_phase, "FEW_GROUPS", 10**9)
        expected = near_pairs(tree, w)
        monkeypatch.setattr(broad_phase, "FEW_GROUPS", 0)
        assert near_pairs(tree, w) == expected
        assert near_pairs(tree, w, find=find_near_groups) == expected  # as the lanes of a warp do
        assert [slot for _, slot in expected] == sorted(slot for _, slot in expected)


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Pairs of bodies that are compared."""
    pairs = list[tuple[int, int]]()
    original = broad_phase.bodies_are_near

    def counted(tree: Any, w: Any, i: int, j: int, h: float) -> int:
        pairs.append((i, j))
        return original(tree, w, i, j, h)

    monkeypatch.setattr(broad_phase, "bodies_are_near", counted)
    return pairs


def test_far_pairs_are_not_compared(compared: list[tuple[int, int]]) -> None:
    """Comparisons of bodies on a line: as many as bodies, where all pairs would be their square."""
    counts = {}
    for n in (50, 100, 200):
        tree, w = plan_and_work(scene([0] * n))
        put(tree, w, np.arange(n)[:, None] * np.array([0.3, 0.0, 0.0]), np.zeros(n))
        compared.clear()
        find_near_pairs(tree, w, 0.01)
        counts[n] = len(compared)
    assert all(n <= count < 1.3 * n for n, count in counts.items()), counts  # with the plane, and neighbors in a cell


def test_bodies_that_fly_away_do_not_make_cells_large(compared: list[tuple[int, int]]) -> None:
    n = 200
    tree, w = plan_and_work(scene([0] * n))
    places = np.random.default_rng(0).uniform(-1, 1, (n, 3)) * [3, 3, 1]
    counts = []
    for away in (0.0, 1e3):
        places[:2] = [[away, 0, 0], [0, 0, -away]]
        put(tree, w, places, np.zeros(n))
        compared.clear()
        find_near_pairs(tree, w, 0.01)
        counts.append(len(compared))
    assert counts[1] < 5 * counts[0] < 0.15 * n * (n - 1), counts


def test_parts_of_bodies_with_many_shapes_miss_no_near_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Walls of the world and a body of many shapes: pairs by hierarchies of spheres are those of all pairs."""
    rng = np.random.default_rng(2)
    walls = "".join(
        '<geom type="box" size=".1 .2 .05" pos="{} {} {}"/>'.format(*p) for p in rng.uniform(-2, 2, (60, 3))
    )
    comb = "".join('<geom type="sphere" size=".04" pos="{} {} {}"/>'.format(*p) for p in rng.uniform(-1, 1, (20, 3)))
    text = f"""<mujoco><worldbody><geom type="plane" size="5 5 .1"/>{walls}<body><freejoint/>{comb}</body>
        <body><freejoint/><geom type="box" size=".2 .1 .1"/></body></worldbody></mujoco>"""
    robot = lw.loads(text)
    tree, w = plan_and_work(robot)
    assert int(tree.nnodes) > 0
    flat = tree._replace(group_nodes=np.zeros_like(tree.group_nodes))
    compared = list[int]()
    original = broad_phase.pair_gap
    for seed in range(10):
        put(tree, w, np.random.default_rng(seed).uniform(-1, 1, (2, 3)), np.zeros(2))
        monkeypatch.setattr(broad_phase, "pair_gap", original)
        expected = near_pairs(flat, w)
        monkeypatch.setattr(broad_phase, "pair_gap", lambda *args: compared.append(args[2]) or original(*args))
        assert near_pairs(tree, w) == expected
        monkeypatch.setattr(broad_phase, "pair_gap", original)
        assert near_pairs(tree, w, find=find_near_groups) == expected
    assert len(compared) / 10 < 0.5 * int(tree.ncontacts)


def test_lanes_find_what_each_state_finds() -> None:
    rng = np.random.default_rng(0)
    n = 30
    robot = scene([0] * n)
    stepper = lw.Stepper(robot, 1e-3)
    Q = np.array([state(rng.uniform(-0.3, 0.3, size=(n, 3)) + np.array([0, 0, 0.35]), k) for k in range(8)])
    V = rng.normal(size=(8, robot.nv))
    batch = stepper(Q, V)
    for k in range(8):
        np.testing.assert_allclose(batch.v[k], stepper(Q[k], V[k]).v, atol=1e-7)


def test_steps_do_not_depend_on_the_order_of_bodies() -> None:
    """Spheres that touch each other and the ground: numbered otherwise, they are eliminated in another order."""
    rng = np.random.default_rng(1)
    n = 30
    places = np.stack(np.meshgrid(*[np.arange(5) * 0.0999] * 2, np.arange(2) * 0.0999), axis=-1).reshape(-1, 3)[:n]
    places = places + np.array([0.0, 0.0, 0.0499]) + rng.uniform(0, 5e-5, size=(n, 3))
    robot = scene([0] * n)
    stepper = lw.Stepper(robot, 1e-3)
    v = 0.1 * rng.normal(size=(n, 6))
    turned = np.concatenate([places, np.tile([1.0, 0, 0, 0], (n, 1))], axis=1)
    first = stepper(turned.ravel(), v.ravel())
    order = rng.permutation(n)
    second = stepper(turned[order].ravel(), v[order].ravel())
    assert abs(first.v - v.ravel()).max() > 0.05
    np.testing.assert_allclose(second.v.reshape(n, 6), first.v.reshape(n, 6)[order], atol=1e-7)


def test_inertias_of_free_bodies_are_the_diagonal_of_the_mass_matrix() -> None:
    robot = scene([0, 1, 2])
    diagonals = [np.diag(M) for M in _mass_matrices(robot)[1]]
    np.testing.assert_allclose(_free_inertias(robot), np.median(diagonals, axis=0), rtol=1e-14)


def test_a_list_without_room_says_after_which_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contact_reduced, "POINTS_PER_SHAPE", 0)
    feet = "".join(f'<geom name="f{k}" type="sphere" size=".01" pos="{0.05 * k} 0 0"/>' for k in range(70))
    robot = lw.loads(
        f'<mujoco><worldbody><geom name="floor" type="plane" size="5 5 .1"/><body pos="0 0 .00999"><freejoint/>{feet}'
        "</body></worldbody></mujoco>"
    )
    q, v = robot.poses["qpos0"], np.zeros(6)
    words = r"room for 64 contact points, and those after 'floor:f63'"
    with pytest.warns(lw.errors.StateWarning, match=words):
        assert lw.contact.ContactStep(robot)(q, v).overflowed is True
    with pytest.warns(lw.errors.StateWarning, match=words):
        assert lw.simulate(robot, q, seconds=0.002).contacts.overflowed[-1] == 2
