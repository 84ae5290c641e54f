# SPDX-License-Identifier: BSD-3-Clause
"""What docs/concepts/determinism.md says is the same to the last bit, and what it says is not."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

import linkwork as lw

Floats = npt.NDArray[np.float64]
Function = Callable[[Floats, Floats], Floats]

N, STEPS = 19, 40
"""States: more than two blocks of lanes and a part of one; steps, in which the hopper lands."""

FORMS = ("native", "compiled")


@cache
def dynamics(form: str) -> Function:
    fd = lw.ForwardDynamics(lw.zoo.jansen())
    fd = fd.compile() if form == "compiled" else fd
    return lambda q, v: np.asarray(fd(q, v, np.ones_like(v)).acceleration)


def contact_steps(threads: int | None = None) -> Function:
    stepper = lw.Stepper(lw.zoo.running_hopper(), dt=2e-3, threads=threads)

    def moved(q: Floats, v: Floats) -> Floats:
        for _ in range(STEPS):
            q, v = stepper(q, v)[:2]
        return np.concatenate([q, v], axis=-1)

    return moved


def leg_states() -> tuple[Floats, Floats]:
    robot = lw.zoo.jansen()
    rng = np.random.default_rng(0)
    q = robot.poses["assembled"]
    v = np.array([robot.project_velocity(q, x) for x in rng.normal(size=(N, robot.nv))])
    return np.tile(q, (N, 1)), v


def hopper_states() -> tuple[Floats, Floats]:
    robot = lw.zoo.running_hopper()
    q = np.tile(robot.poses["assembled"], (N, 1))
    q[:, 1] += np.linspace(0.0, 0.04, N)
    return q, np.zeros((N, robot.nv))


CASES: dict[str, tuple[Callable[[], Function], Callable[[], tuple[Floats, Floats]]]] = {
    **{f"dynamics, {form}": (lambda form=form: dynamics(form), leg_states) for form in FORMS},
    "steps with contacts": (contact_steps, hopper_states),
}


@pytest.mark.parametrize("case", CASES)
def test_results_are_the_same_in_every_run_at_every_place_and_in_every_batch(case: str) -> None:
    make, states = CASES[case]
    function, (q, v) = make(), states()
    results = function(q, v)
    assert np.array_equal(function(q, v), results)
    order = np.random.default_rng(1).permutation(N)
    assert np.array_equal(function(q[order], v[order]), results[order])
    for n in (2, 3, 8, 9, 17):
        assert np.array_equal(function(q[:n], v[:n]), results[:n])


def test_results_do_not_depend_on_threads() -> None:
    q, v = hopper_states()
    assert np.array_equal(contact_steps(1)(q, v), contact_steps(2)(q, v))


@pytest.mark.parametrize("case", CASES)
def test_one_state_and_a_batch_agree_to_rounding(case: str) -> None:
    """Scalar code and lanes are compiled apart: products and sums fuse in other places."""
    make, states = CASES[case]
    function, (q, v) = make(), states()
    results = function(q, v)
    scale = np.abs(results).max()
    for k in (0, N - 1):
        assert np.abs(function(q[k], v[k]) - results[k]).max() <= 1e-9 * scale


PROGRAM = """
import hashlib, sys
from tests.simulation.test_determinism import CASES
for make, states in CASES.values():
    print(hashlib.sha256(make()(*states()).tobytes()).hexdigest())
"""


def test_results_are_the_same_in_every_process() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONHASHSEED": "7"},
    )
    here = [hashlib.sha256(make()(*states()).tobytes()).hexdigest() for make, states in CASES.values()]
    assert ran.stdout.split() == here


def test_an_environment_does_not_depend_on_how_many_there_are() -> None:
    pytest.importorskip("gymnasium")
    few, many = lw.gym.HopperVectorEnv(3), lw.gym.HopperVectorEnv(11)
    few.reset(seed=5)
    many.reset(seed=5)
    rng = np.random.default_rng(0)
    for _ in range(30):
        actions = rng.uniform(-1, 1, (11, 2))
        seen, rewards, *_ = many.step(actions)
        one, gained, *_ = few.step(actions[:3])
        assert np.array_equal(one, seen[:3])
        assert np.array_equal(gained, rewards[:3])
