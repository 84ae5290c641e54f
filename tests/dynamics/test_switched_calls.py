# SPDX-License-Identifier: BSD-3-Clause
"""Constraints that are switched and moved between calls, by inputs: nothing is planned or compiled anew."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compilers import cache

ROBOT = lw.zoo.quadruped_standing()
FEET = [c.name for c in ROBOT.constraints]
METHODS = ("prox_bbo", "lcaba", "prox_ltl", "pv", "pv_early", "ltl")


def state(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q = ROBOT.poses["assembled"].copy()
    return q, ROBOT.project_velocity(q, rng.normal(size=ROBOT.nv)), rng.normal(size=ROBOT.nv)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_a_bound_call_serves_every_set_of_contacts(method: Any, compiled: bool) -> None:
    fd, (q, v, tau) = lw.ForwardDynamics(ROBOT, method), state()
    fd = fd.compile() if compiled else fd
    a, R = np.empty(ROBOT.nv), fd.row_regularization()
    step = fd.bind(q, v, tau, out=a, regularization=R)
    for enabled in product((True, False), repeat=len(FEET)):
        on = dict(zip(FEET, enabled, strict=True))
        R[:] = fd.row_regularization(on)
        step()
        exact = lw.ForwardDynamics(ROBOT.switched(on), "kkt")(q, v, tau).acceleration
        assert np.abs(a - exact).max() <= 1e-10 * np.abs(exact).max()


@pytest.mark.parametrize("method", ["prox_bbo", "lcaba"])
def test_a_bound_call_serves_other_footholds(method: Any) -> None:
    q, v, tau = state()
    fd = lw.ForwardDynamics(ROBOT, method, parameters={"anchor_position": FEET[:2]}).compile()
    a, anchors = np.empty(ROBOT.nv), fd.parameters["anchor_position"].copy()
    step = fd.bind(q, v, tau, out=a, anchor_position=anchors)
    rng = np.random.default_rng(1)
    for _ in range(3):
        anchors[:, 0] += 0.05 * rng.normal(size=(2, 3))
        step()
        moved = ROBOT.parameters["anchor_position"].copy()
        moved[:2] = anchors
        exact = lw.ForwardDynamics(ROBOT.with_parameters(anchor_position=moved), "kkt")(q, v, tau).acceleration
        assert np.abs(a - exact).max() <= 1e-9 * np.abs(exact).max()


def test_switching_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    fd, (q, v, tau) = lw.ForwardDynamics(ROBOT, "lcaba").compile(), state()
    a, R = np.empty(ROBOT.nv), fd.row_regularization()
    step = fd.bind(q, v, tau, out=a, regularization=R)
    step()

    def compiled(*_: Any, **__: Any) -> None:
        raise AssertionError("something is compiled")

    for name in ("fetch", "read"):
        monkeypatch.setattr(cache, name, compiled)
    before = a.copy()
    R[:] = fd.row_regularization({FEET[0]: False})
    step()
    assert np.abs(a - before).max() > 1e-3


def test_targets_and_multipliers_are_read_at_every_call() -> None:
    fd, (q, v, tau) = lw.ForwardDynamics(ROBOT, "prox_bbo"), state()
    a, target, start = np.empty(ROBOT.nv), np.zeros(ROBOT.nc), np.zeros(ROBOT.nc)
    step = fd.bind(q, v, tau, out=a, target=target, multipliers=start)
    for seed in range(2):
        target[:] = np.random.default_rng(seed).normal(size=ROBOT.nc)
        solution = fd(q, v, tau, target=target)
        start[:] = solution.multipliers
        step()
        assert np.abs(a - solution.acceleration).max() <= 1e-9 * np.abs(a).max()


def test_a_tree_takes_no_inputs_of_rows() -> None:
    robot = lw.zoo.pendulum(2)
    x = np.zeros(2)
    with pytest.raises(lw.errors.InputError, match="has no enabled constraint: bind takes no target"):
        lw.ForwardDynamics(robot).bind(x, x, x, out=np.empty(2), target=np.zeros(0))


def test_a_negative_regularization_is_refused() -> None:
    q, v, tau = state()
    with pytest.raises(lw.errors.InputError, match="regularization"):
        lw.ForwardDynamics(ROBOT, "lcaba").bind(
            q, v, tau, out=np.empty(ROBOT.nv), regularization=np.full(ROBOT.nc, -1.0)
        )
