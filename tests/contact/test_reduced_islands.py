# SPDX-License-Identifier: BSD-3-Clause
"""Islands of bodies that touch: each is selected and left again, and piles far apart move as each alone."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import linkwork as lw
from linkwork.kernels.contact.reduced.islands import (
    ISLAND_INTEGERS,
    island_of,
    keep_island,
    label_islands,
    select_island,
)
from linkwork.kernels.contact.reduced.pattern import fill_pattern
from linkwork.kernels.contact.reduced.problem import ACTIVE, CONES, ROWS
from tests.contact.test_reduced_pattern import problem

SETS = ("cone_row", "cone_dim", "cone_kind", "cone_box", "lower", "upper")
SCALES = ("cone_D", "cone_sigma", "cone_mu", "cone_unit", "cone_saxce", "removal", "yields")


@pytest.mark.parametrize("seed", range(10))
def test_other_islands_stay_as_they_were(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 20
    sets = [sorted(rng.choice(n, size=2, replace=False).tolist(), reverse=True) for _ in range(14)]
    tree, w = problem([-1] * n, [1] * n, sets)
    tree.nv, tree.limb_v = n, np.arange(n)
    for name, shape in ISLAND_INTEGERS.items():
        setattr(w, name, np.zeros([getattr(tree, str(k)) for k in shape], dtype=np.int64))
    for name in (*SETS, *SCALES):
        setattr(w, name, np.arange(14) if name.startswith("cone_r") else rng.integers(1, 2, size=14))
    w.cone_D = rng.random(14)
    w.cone_dim = np.ones(14, dtype=np.int64)
    w.z_best, w.v_best, w.kept_z, w.kept_v = np.full(14, 7.0), np.full(n, 7.0), rng.random(14), rng.random(n)
    w.counts[ROWS] = 14
    fill_pattern(tree, w)
    label_islands(tree, w)
    islands = [island_of(w, e) for e in range(14)]
    assert all(w.limb_island[a] == w.limb_island[b] for a, b in sets)
    before = SimpleNamespace(**{name: np.copy(x) for name, x in vars(w).items()})
    assert select_island(tree, w, islands[0]) == 14
    assert int(w.counts[CONES]) == islands.count(islands[0])
    selected = w.cone_row[: w.counts[CONES]].copy()
    assert all(islands[e] == islands[0] for e in selected)
    limbs = w.limb_island == islands[0]
    active = w.active_limb[: w.counts[ACTIVE]]
    assert sorted(active.tolist()) == np.flatnonzero(limbs).tolist()
    assert (np.diff(w.limb_place[active]) > 0).all()
    keep_island(tree, w, 14)
    for name in (*SETS, *SCALES, "cone_side", "cone_sides", "cone_pair", "active_limb", "counts"):
        np.testing.assert_array_equal(getattr(w, name), getattr(before, name), err_msg=name)
    others = np.setdiff1d(np.arange(14), selected)
    assert (w.kept_z[selected] == 7.0).all()
    np.testing.assert_array_equal(w.kept_z[others], before.kept_z[others])
    assert (w.kept_v[limbs] == 7.0).all()
    np.testing.assert_array_equal(w.kept_v[~limbs], before.kept_v[~limbs])


def spheres(places: np.ndarray) -> lw.Mechanism:
    """Spheres above the ground."""
    bodies = "".join(
        f'<body pos="{x} {y} {z}"><freejoint/><geom type="sphere" size=".05" friction=".4"/></body>'
        for x, y, z in places.tolist()
    )
    return lw.loads(f'<mujoco><worldbody><geom type="plane" size="5 5 .1"/>{bodies}</worldbody></mujoco>')


def test_piles_far_apart_move_as_each_alone() -> None:
    rng = np.random.default_rng(0)
    rise = np.array([0, 0, 0.2]) + np.arange(9)[:, None] * np.array([0, 0, 0.08])
    heaps = [rng.uniform(-0.1, 0.1, size=(9, 3)) + rise for _ in range(3)]
    alone = lw.Stepper(spheres(heaps[0]), 2e-3)
    far = np.array([[0.0, 0, 0], [3, 0, 0], [0, 3, 0]])
    together = lw.Stepper(spheres(np.concatenate([heap + at for heap, at in zip(heaps, far, strict=True)])), 2e-3)
    turns = np.tile([1.0, 0, 0, 0], (9, 1))
    results = [alone(np.concatenate([heap, turns], axis=1).ravel(), np.zeros(54), steps=40) for heap in heaps]
    for _ in range(30):
        q = np.array([result.q.reshape(9, 7) for result in results])
        v = np.array([result.v for result in results])
        q[:, :, :3] += far[:, None]
        whole = together(q.ravel(), v.ravel())
        each = [alone(result.q, result.v) for result in results]
        np.testing.assert_allclose(whole.v.reshape(3, 54), [result.v for result in each], atol=1e-7)
        results = [alone(result.q, result.v, steps=5) for result in each]
