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
from linkwork.kernels.contact.reduced.broad_phase import BROAD_INTEGERS, BROAD_WORK, find_near_pairs
from linkwork.kernels.contact.reduced.problem import NEAR
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
    w.shape_p, w.shape_R = np.zeros((int(tree.nshapes), 3)), np.tile(np.eye(3), (int(tree.nshapes), 1, 1))
    return tree, w


def put(tree: Any, w: Any, places: np.ndarray, speed: np.ndarray) -> None:
    """Put bodies at places; shapes of the world are at its origin."""
    w.body_c[1:], w.speed[1:] = places, speed
    for s, body in enumerate(np.asarray(tree.shape_body).tolist()):
        w.shape_c[s] = w.shape_p[s] = w.body_c[body]


def near_pairs(tree: Any, w: Any, h: float = 0.01) -> list[tuple[int, int]]:
    """Near pairs with their numbers, in the order of the list."""
    find_near_pairs(tree, w, h)
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
        assert [slot for _, slot in expected] == sorted(slot for _, slot in expected)


def test_far_pairs_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparisons of bodies on a line: as many as bodies, where all pairs would be their square."""
    compared = list[int]()
    original = broad_phase.groups_are_near

    def counted(tree: Any, w: Any, g: int, h: float) -> int:
        compared.append(g)
        return original(tree, w, g, h)

    monkeypatch.setattr(broad_phase, "groups_are_near", counted)
    counts = {}
    for n in (50, 100, 200):
        tree, w = plan_and_work(scene([0] * n))
        put(tree, w, np.arange(n)[:, None] * np.array([0.3, 0.0, 0.0]), np.zeros(n))
        compared.clear()
        find_near_pairs(tree, w, 0.01)
        counts[n] = len(compared)
    assert all(n <= count < 1.3 * n for n, count in counts.items()), counts  # with the plane, and neighbors in a cell


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
