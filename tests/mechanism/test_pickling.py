# SPDX-License-Identifier: BSD-3-Clause
"""What is pickled or copied computes the same numbers, in this process and in others."""

from __future__ import annotations

import copy
import inspect
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.zoo import ASSEMBLED

WAYS: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())

ROBOT = zoo.four_bar()
Q = ROBOT.poses[ASSEMBLED]
V = ROBOT.project_velocity(Q, [1.0, 0, 0])
TAU = np.array([1.0, -2.0, 0.5])
ROWS = np.linspace(-1.0, 1.0, ROBOT.nc)
STANDING = zoo.quadruped_standing()


@lw.kernel
def brake(time: Any, q: Any, v: Any, gain: Any, tau: Any) -> None:
    """A controller."""
    tau[0] = -gain * v[0]


EVALUATORS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "Evaluator": (lambda: lw.Evaluator(ROBOT, "mass_matrix"), lambda x: x(Q)),
    "Evaluator of frames": (
        lambda: lw.Evaluator(ROBOT, "frame_jacobian", list(ROBOT.body_names), reference="aligned"),
        lambda x: x(Q),
    ),
    **{
        f"ForwardDynamics by {method}": (
            lambda method=method: lw.ForwardDynamics(ROBOT, method, tolerance=1e-11, max_iterations=7),
            lambda x: x(Q, V, TAU).acceleration,
        )
        for method in ("auto", "kkt", "cluster", "lcaba")
    },
    "ForwardDynamics of a tree": (
        lambda: lw.ForwardDynamics(zoo.pendulum(3)),
        lambda x: x(np.ones(3), np.ones(3), TAU).acceleration,
    ),
    "ForwardDynamics under wrenches": (
        lambda: lw.ForwardDynamics(ROBOT, wrenches=[ROBOT.body_names[1]]),
        lambda x: x(Q, V, TAU, np.ones((1, 6))).acceleration,
    ),
    "HybridDynamics": (lambda: lw.HybridDynamics(ROBOT, "A"), lambda x: x(Q, 0 * V, TAU, V).torque),
    "InverseDynamics": (lambda: lw.InverseDynamics(ROBOT), lambda x: x(Q, 0 * V, 0 * V)),
    "InverseDynamics of the tree": (lambda: lw.InverseDynamics(ROBOT, "rnea"), lambda x: x(Q, V, TAU)),
    "InverseDynamics by least": (lambda: lw.InverseDynamics(ROBOT, "least"), lambda x: x.solve(Q, V, TAU).torque),
    "ImpactDynamics": (lambda: lw.ImpactDynamics(ROBOT), lambda x: x(Q, [1.0, 0, 0]).velocity),
    "Assembly": (lambda: lw.loops.Assembly(ROBOT, fixed=["A"], attempts=2), lambda x: x(Q + 0.01)),
    "VelocityProjection": (lambda: lw.loops.VelocityProjection(ROBOT), lambda x: x(Q, [1.0, 0, 0])),
    "OperationalInertia": (lambda: lw.OperationalInertia(ROBOT, ROBOT.body_names[-1]), lambda x: x(Q)),
    "Minimal": (lambda: lw.Minimal(ROBOT), lambda x: x.matrix(Q)),
    "MinimalMotion": (lambda: lw.loops.MinimalMotion(ROBOT), lambda x: x.step(Q, [1.0], 0.01)[0]),
    "Stepper": (lambda: lw.Stepper(ROBOT, dt=2e-3), lambda x: x(Q, V, TAU, steps=5).q),
    "Stepper of dopri5": (lambda: lw.Stepper(ROBOT, integrator="dopri5"), lambda x: x(Q, V, TAU).q),
    "Delassus": (lambda: lw.Delassus(ROBOT), lambda x: x.product(Q, ROWS)),
    "Delassus operator": (lambda: lw.Delassus(ROBOT).at(Q), lambda x: x @ ROWS),
    "Delassus matrix": (lambda: lw.Delassus(ROBOT, "pv_osim").at(Q), lambda x: x @ ROWS),
    "Delassus in clusters": (
        lambda: lw.Delassus(STANDING, "cluster_efpa"),
        lambda x: x.matrix(STANDING.poses[ASSEMBLED]),
    ),
    "damped inverse": (lambda: lw.Delassus(ROBOT).at(Q).damped_inverse(1e-3, refine=2), lambda x: x @ ROWS),
    "damped inverse of a matrix": (
        lambda: lw.Delassus(ROBOT, "prox_ltl").at(Q).damped_inverse(1e-3),
        lambda x: x @ ROWS,
    ),
    "response": (lambda: lw.Delassus(ROBOT).at(Q).response, lambda x: x @ ROWS),
    "contacts": (
        lambda: lw.contact.Contacts(STANDING).at(
            STANDING.poses[ASSEMBLED], [("world", STANDING.body_names[-1])], [[0, 0, 0]]
        ),
        lambda x: x @ np.ones(x.shape[0]),
    ),
}


@pytest.mark.slow
@every_way
@pytest.mark.parametrize("name", EVALUATORS)
def test_a_copy_computes_the_same_to_the_last_bit(name: str, way: Callable[[Any], Any]) -> None:
    make, call = EVALUATORS[name]
    one = make()
    for other in (way(one), way((call(one), one)[1])):  # before it has run, and after
        assert type(other) is type(one)
        np.testing.assert_array_equal(call(other), call(one))


@every_way
@pytest.mark.parametrize("other", ["native", "plain", "compile"])
def test_a_copy_runs_the_same_way(way: Callable[[Any], Any], other: str) -> None:
    how: dict[str, dict[str, Any]] = {
        "native": {"dtype": "float32", "lanes": 2},
        "plain": {},
        "compile": {"dtype": "float32", "lanes": 4, "threads": 1},
    }
    one = getattr(lw.ForwardDynamics(ROBOT, "lcaba", strict=False), other)(**how[other])
    two = way(one)
    assert (two.backend, two.dtype, two.method) == (one.backend, one.dtype, one.method)
    np.testing.assert_array_equal(two(Q, V, TAU).acceleration, one(Q, V, TAU).acceleration)


def test_a_copy_has_the_method_that_auto_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluators = [lw.ForwardDynamics(ROBOT), lw.ImpactDynamics(ROBOT)]
    chosen = [x.method for x in evaluators]
    kept = pickle.dumps(evaluators)
    monkeypatch.setattr("linkwork.dynamics.forward.best_method", lambda *args: pytest.fail("chosen again"))
    monkeypatch.setattr("linkwork.dynamics.impact.best_method", lambda *args: pytest.fail("chosen again"))
    assert [x.method for x in pickle.loads(kept)] == chosen


def test_arguments_that_change_later_do_not_change_copies() -> None:
    at = np.array(Q)
    names = [ROBOT.body_names[0]]
    stepper, evaluator = lw.Stepper(ROBOT, stops_at=at), lw.Evaluator(ROBOT, "frame_placement", names)
    at[:] = np.nan
    names.append("no such frame")
    np.testing.assert_array_equal(copy.copy(stepper).planned.passive, stepper.planned.passive)
    assert copy.copy(evaluator).frames == evaluator.frames


def test_constructors_keep_their_signatures() -> None:
    assert list(inspect.signature(lw.ForwardDynamics).parameters)[:2] == ["robot", "method"]
    assert list(inspect.signature(lw.Evaluator).parameters)[:3] == ["robot", "quantity", "frames"]


@every_way
def test_a_solution_is_whole(way: Callable[[Any], Any]) -> None:
    one = lw.ForwardDynamics(ROBOT)(Q, V, TAU)
    two = way(one)
    np.testing.assert_array_equal(two.acceleration, one.acceleration)
    assert {name: x.tolist() for name, x in two.forces.items()} == {n: x.tolist() for n, x in one.forces.items()}
    assert (two.residual, two.iterations, two.converged) == (one.residual, one.iterations, one.converged)


@every_way
def test_an_inverse_solution_and_an_impact_are_whole(way: Callable[[Any], Any]) -> None:
    one = lw.InverseDynamics(ROBOT, "cluster").solve(Q, V, TAU)
    hit = lw.ImpactDynamics(ROBOT)(Q, [1.0, 0, 0])
    two, after = way(one), way(hit)
    assert {name: x.tolist() for name, x in two.forces.items()} == {n: x.tolist() for n, x in one.forces.items()}
    np.testing.assert_array_equal(after.velocity, hit.velocity)
    assert list(after.impulses) == list(hit.impulses) and after.converged == hit.converged


@every_way
def test_a_run_goes_on_as_it_would_have(way: Callable[[Any], Any]) -> None:
    run = lw.simulate(ROBOT, Q, V, seconds=0.02, controller=lw.Controller(brake, gain=0.3))
    other = way(run)
    np.testing.assert_array_equal(other.resume(seconds=0.01).q, run.resume(seconds=0.01).q)
    np.testing.assert_array_equal(other.energy["total"], run.energy["total"])


def test_other_processes_compute_the_same() -> None:
    """Started afresh, without anything of this process: as on Windows and macOS, and by default from Python 3.14 on."""
    fd, stepper = lw.ForwardDynamics(ROBOT).compile(), lw.Stepper(ROBOT)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        solution, stepped = pool.submit(fd, Q, V, TAU), pool.submit(stepper, Q, V, TAU)
        np.testing.assert_array_equal(solution.result().acceleration, fd(Q, V, TAU).acceleration)
        assert solution.result().converged
        np.testing.assert_array_equal(stepped.result().q, stepper(Q, V, TAU).q)
        with pytest.raises(lw.errors.InputError, match="q has 2 numbers"):
            pool.submit(fd, Q[:2], V, TAU).result()
