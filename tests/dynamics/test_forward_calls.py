# SPDX-License-Identifier: BSD-3-Clause
"""Calling constrained forward dynamics: what a solution says, batches, out, bind, and what is refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.methods import METHODS
from tests.kernels.test_iterations import ITERATED, robot_for, solver, states
from tests.kernels.test_iterations import KERNELS as TEXTS
from tests.support import linkages
from tests.support.gauss import Problem, distance, open_state
from tests.support.states import assert_close

KERNELS = tuple(name for name in TEXTS if METHODS[name].exact)
WITH_KKT = (*KERNELS, "kkt")


def made(method: str, **options: Any) -> lw.ForwardDynamics:
    return lw.ForwardDynamics(robot_for(method), method, **options)


# What a solution says --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", WITH_KKT)
def test_forces_have_the_names_of_constraints(method: str) -> None:
    robot = robot_for(method)
    s = made(method)(*states(robot, 1, 2, 3))
    assert list(s.forces) == [c.name for c in robot.constraints] and len(s.forces) == len(robot.constraints)
    for c in robot.constraints:
        assert s.forces[c.name].shape == (2, 3, c.rows)
        np.testing.assert_array_equal(s.forces[c.name], s.multipliers[..., robot.row_slice(c.name)])
    with pytest.raises(KeyError, match="no constraint 'nothing'"):
        s.forces["nothing"]


def test_a_tree_has_no_forces() -> None:
    robot = lw.zoo.serial_chain(3)
    s = lw.ForwardDynamics(robot)(np.zeros(3), np.zeros(3), np.zeros(3))
    assert len(s.forces) == 0 and not list(s.forces)
    assert s.multipliers is None and s.residuals is None
    assert (s.residual, s.iterations, s.converged) == (0.0, 0, True)


@pytest.mark.parametrize("method", WITH_KKT)
def test_one_state_has_plain_numbers_a_batch_has_arrays(method: str) -> None:
    robot = robot_for(method)
    s = made(method)(*states(robot, 1))
    assert type(s.residual) is float and type(s.iterations) is int and type(s.converged) is bool
    assert "converged=True" in repr(s) and "iterations=" in repr(s)
    batch = made(method)(*states(robot, 1, 2, 3))
    for x in (batch.residual, batch.iterations, batch.converged):
        assert isinstance(x, np.ndarray) and x.shape == (2, 3)
    assert batch.iterations.dtype == np.int64 and batch.converged.dtype == np.bool_


@pytest.mark.parametrize("method", WITH_KKT)
def test_forces_act_on_the_second_place_of_a_pair(method: str) -> None:
    """A box hanging at a point of the ceiling: the ceiling pulls it up."""
    build = (
        lw.Builder().body("box", lw.Inertia.box(2.0, (0.1, 0.1, 0.1))).joint("free", lw.joints.Free(), "world", "box")
    )
    robot = build.constrain(lw.constraints.Point("world", "box", name="hook")).build()
    options = {} if method == "kkt" else {"tolerance": 1e-13}
    s = lw.ForwardDynamics(robot, method, **options)(robot.neutral(), np.zeros(6), np.zeros(6))
    assert_close(s.forces["hook"], [0, 0, 2.0 * 9.81], 1e-5 if method == "pv_soft" else 1e-9)


# Batches, out, bind ----------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["plain", "native", "specialized"])
@pytest.mark.parametrize("lead", [(0,), (2, 0), (1,), (1, 1)], ids=str)
@pytest.mark.parametrize("method", ["lcaba", "pv_early"])
def test_batches_of_one_and_of_nothing(method: str, lead: tuple[int, ...], way: str) -> None:
    robot = robot_for(method)
    s = solver(method, way)(*states(robot, 0, *lead))
    assert s.acceleration.shape == (*lead, robot.nv) and s.multipliers.shape == (*lead, robot.nc)
    assert np.shape(s.residual) == np.shape(s.iterations) == lead


@pytest.mark.parametrize("way", ["plain", "native", "specialized"])
@pytest.mark.parametrize("method", ["lcaba", "prox_ltl"])
def test_multipliers_broadcast_as_the_others_do(method: str, way: str) -> None:
    robot = robot_for(method)
    q, v, tau = states(robot, 0)
    start = np.random.default_rng(0).normal(size=(4, robot.nc))
    s = solver(method, way)(q, v, tau, multipliers=start)
    assert s.acceleration.shape == (4, robot.nv)
    for k in range(4):
        one = solver(method, "native")(q, v, tau, multipliers=start[k])
        assert_close(s.acceleration[k], one.acceleration, 1e-9)


@pytest.mark.parametrize("lead", [(), (3,), (2, 3)], ids=str)
@pytest.mark.parametrize("method", WITH_KKT)
def test_out_takes_the_accelerations(method: str, lead: tuple[int, ...]) -> None:
    robot = robot_for(method)
    state, out = states(robot, 2, *lead), np.full((*lead, robot.nv), np.nan)
    fd = made(method)
    s = fd(*state, out=out)
    assert s.acceleration is out
    np.testing.assert_array_equal(out, fd(*state).acceleration)


@pytest.mark.parametrize("method", WITH_KKT)
def test_out_that_does_not_fit_is_refused(method: str) -> None:
    robot = robot_for(method)
    with pytest.raises(lw.errors.InputError, match="out for a has shape"):
        made(method)(*states(robot, 2), out=np.zeros(robot.nv + 1))


@pytest.mark.parametrize("way", ["plain", "native", "specialized"])
@pytest.mark.parametrize("method", ["lcaba", "prox_bbo", "prox_ltl"])
def test_bind_reads_and_writes_the_arrays_it_was_given(method: str, way: str) -> None:
    """Outputs are accelerations and what else was found: progress, multipliers, what rows miss."""
    robot, fd = robot_for(method), solver(method, way)
    q, v, tau = (x.copy() for x in states(robot, 1))
    outs = [np.full(n, np.nan) for n in (robot.nv, 4 + 2 * robot.nc)]
    step = fd.bind(q, v, tau, out=outs)
    for seed in (1, 2):
        for x, y in zip((q, v, tau), states(robot, seed), strict=True):
            x[...] = y
        step()
        s = fd(q, v, tau)
        np.testing.assert_array_equal(outs[0], s.acceleration)
        np.testing.assert_array_equal(outs[1][2 : 2 + robot.nc], s.multipliers)
        np.testing.assert_array_equal(outs[1][2 + robot.nc : -2], s.residuals)
        assert outs[1][-2] == s.gap
        assert int(outs[1][1]) == s.iterations
    q[0] = np.nan
    with pytest.raises(lw.errors.InputError, match="q holds NaN"):
        step()


@pytest.mark.parametrize("way", ["plain", "native", "specialized"])
@pytest.mark.parametrize("method", ["lcaba", "prox_bbo", "prox_ltl"])
def test_bind_takes_the_accelerations_alone(method: str, way: str) -> None:
    robot, fd = robot_for(method), solver(method, way)
    state, a = [x.copy() for x in states(robot, 1)], np.full(robot.nv, np.nan)
    fd.bind(*state, out=a)()
    np.testing.assert_array_equal(a, fd(*state).acceleration)


def test_bound_alone_a_hard_method_says_that_rows_are_dependent() -> None:
    robot = lw.zoo.four_bar()
    q, rest, a = robot.poses["assembled"].copy(), np.zeros(robot.nv), np.zeros(robot.nv)
    step = lw.ForwardDynamics(robot, "ltl").bind(q, rest, rest, out=a)
    with pytest.raises(lw.errors.SingularConstraints, match="not independent"):
        step()


def test_bind_of_a_batch() -> None:
    robot, fd = robot_for("lcaba"), solver("lcaba", "specialized")
    state = states(robot, 1, 6)
    outs = [np.empty((6, n)) for n in (robot.nv, 4 + 2 * robot.nc)]
    fd.bind(*state, out=outs)()
    np.testing.assert_array_equal(outs[0], fd(*state).acceleration)


def test_one_evaluator_serves_several_threads() -> None:
    robot, fd = robot_for("lcaba"), solver("lcaba", "native")
    jobs = [states(robot, seed, *((40,) if seed % 2 else ())) for seed in range(8)]
    expected = [fd(*job).acceleration for job in jobs]

    def work(k: int) -> bool:
        return all(np.array_equal(fd(*jobs[j % 8]).acceleration, expected[j % 8]) for j in range(k, k + 40))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))


# Targets and damping of a call -----------------------------------------------------------------------


@pytest.mark.parametrize("way", ["plain", "native", "specialized"])
@pytest.mark.parametrize("method", KERNELS)
def test_rows_get_the_acceleration_that_a_call_asks(method: str, way: str) -> None:
    robot = robot_for(method)
    q, v, tau = states(robot, 3)
    target = np.random.default_rng(1).normal(size=robot.nc)
    p = Problem(robot, q, v, tau)
    s = solver(method, way)(q, v, tau, target=target)
    soft = method == "pv_soft"
    assert_close(p.J @ s.acceleration, p.k + target, 1e-3 if soft else 1e-8, scale=1.0)
    kkt = lw.ForwardDynamics(robot, "kkt")(q, v, tau, target=target)
    assert distance(s.acceleration, kkt.acceleration) <= (1e-3 if soft else 1e-8)


@pytest.mark.parametrize("way", ["plain", "native", "specialized"])
@pytest.mark.parametrize("method", [*ITERATED, "pv_soft"])
def test_the_damping_of_a_call_replaces_that_of_rows(method: str, way: str) -> None:
    robot = robot_for(method)
    q, v, tau = states(robot, 3)
    R = np.random.default_rng(1).uniform(0.1, 1.0, size=(3, robot.nc))
    s = solver(method, way, max_iterations=1)(q, v, tau, regularization=R)
    p = Problem(robot, q, v, tau)
    for k in range(3):
        J = p.J
        expected = np.linalg.solve(p.M + J.T @ (J / R[k][:, None]), p.pull + J.T @ (p.k / R[k]))
        assert_close(s.acceleration[k], expected, 1e-10)


def test_a_damping_below_zero_is_refused() -> None:
    with pytest.raises(lw.errors.InputError, match="regularization must be >= 0; row 0 is -1"):
        solver("lcaba", "native")(*states(robot_for("lcaba"), 1), regularization=np.full(robot_for("lcaba").nc, -1.0))


@pytest.mark.parametrize("method", ITERATED)
def test_iterations_that_must_converge_and_do_not_are_an_error(method: str) -> None:
    robot = robot_for(method)
    fd = lw.ForwardDynamics(robot, method, strict=True, max_iterations=1, tolerance=1e-14)
    with pytest.raises(
        lw.errors.NotConverged, match=rf"{method} of .* did not converge: residual \S+ after 1 iterations"
    ):
        fd(*states(robot, 1))
    assert lw.ForwardDynamics(robot, method, strict=True)(*states(robot, 1)).converged


# What is refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", WITH_KKT)
@pytest.mark.parametrize("which", ["q", "v", "tau"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none_are_refused(method: str, which: str, bad: float) -> None:
    robot = robot_for(method)
    state = dict(zip(("q", "v", "tau"), states(robot, 1), strict=True))
    state[which][1] = bad
    with pytest.raises(lw.errors.InputError, match=which):
        made(method)(*state.values())


@pytest.mark.parametrize("method", WITH_KKT)
def test_arrays_of_the_wrong_length_are_refused(method: str) -> None:
    robot = robot_for(method)
    q, v, tau = states(robot, 1)
    for state in ((q[1:], v, tau), (q, v[1:], tau), (q, v, tau[1:])):
        with pytest.raises((lw.errors.InputError, ValueError)):
            made(method)(*state)


@pytest.mark.parametrize("method", KERNELS)
def test_multipliers_of_the_wrong_length_are_refused(method: str) -> None:
    robot = robot_for(method)
    with pytest.raises(lw.errors.InputError, match=f"has {robot.nc + 1} numbers, .* needs {robot.nc}"):
        made(method)(*states(robot, 1), multipliers=np.zeros(robot.nc + 1))
    with pytest.raises(lw.errors.InputError, match="holds NaN"):
        made(method)(*states(robot, 1), multipliers=np.full(robot.nc, np.nan))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        *(("regularization", bad) for bad in (0, -1e-6, np.nan, "1")),
        *(("tolerance", bad) for bad in (0.0, np.inf)),
        *(("max_iterations", bad) for bad in (0, 2.5, -1)),
    ],
)
def test_settings_that_make_no_sense_are_refused(setting: str, value: Any) -> None:
    with pytest.raises(lw.errors.InputError, match=f"{setting} is {value!r}, needs"):
        lw.ForwardDynamics(lw.zoo.four_bar(), "lcaba", **{setting: value})


def test_an_unknown_method_is_refused_with_those_there_are() -> None:
    with pytest.raises(lw.errors.InputError, match=r"no method 'simplex'; there are auto, aba, kkt, .*lcaba"):
        lw.ForwardDynamics(lw.zoo.four_bar(), "simplex")


def test_a_method_that_was_another_name_says_which_to_use() -> None:
    with pytest.raises(lw.errors.InputError, match=r"no method 'lagrange'; use 'ltl', which is the same method"):
        lw.ForwardDynamics(lw.zoo.four_bar(), "lagrange")  # type: ignore[arg-type]


@pytest.mark.parametrize("what", ["plain", "compile"])
def test_dense_algebra_has_no_kernel(what: str) -> None:
    with pytest.raises(lw.errors.UnsupportedFeature, match=f"nothing to {what}"):
        getattr(lw.ForwardDynamics(lw.zoo.four_bar(), "kkt"), what)()


def test_dense_algebra_cannot_be_bound() -> None:
    robot = lw.zoo.four_bar()
    outs = [np.empty(n) for n in (robot.nv, 4 + 2 * robot.nc)]
    with pytest.raises(lw.errors.UnsupportedFeature, match="nothing to bind"):
        lw.ForwardDynamics(robot, "kkt").bind(np.zeros(3), np.zeros(3), np.zeros(3), out=outs)


def test_methods_are_listed_for_a_robot() -> None:
    loop, ground = lw.zoo.four_bar(), linkages.made("humanoid")
    exact = {name for name, m in METHODS.items() if m.exact}
    assert set(lw.methods.methods_for(ground)) == exact - {"aba"}
    assert set(lw.methods.methods_for(loop)) == {name for name in exact if METHODS[name].internal} - {"aba"}
    assert "approximate" in lw.methods.methods_for(lw.zoo.geared_chain(2))
    assert lw.methods.methods_for(lw.zoo.serial_chain(2)) == ("aba",)


# Numbers of all sizes --------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-3, 1e3])
@pytest.mark.parametrize("method", ITERATED)
def test_slow_and_fast_states_are_as_exact(method: str, size: float) -> None:
    robot = robot_for(method)
    q, v, tau = states(robot, 5)
    p = Problem(robot, q, size * v, size * tau)
    s = lw.ForwardDynamics(robot, method, tolerance=1e-13)(p.q, p.v, p.tau)
    assert s.converged
    assert distance(s.acceleration, p.hard[0]) <= 1e-8


@pytest.mark.parametrize("method", [*ITERATED, "ltl", "pv", "pv_early"])
def test_far_from_the_origin_is_as_exact_as_distance_allows(method: str) -> None:
    """A floating robot a kilometer away, its feet held there."""
    robot = robot_for("pv_early")
    p = open_state(robot, np.random.default_rng(2))
    far = p.q.copy()
    far[:3] += 1000.0, -500.0, 300.0
    moved = robot.unconstrained().constrained(
        lw.constraints.Point(
            "world", "left_shin", name="left", first_at=(1000, -500, 300), second_at=(0, 0, -0.4), time_constant=0.1
        ),
        lw.constraints.PointOnPlane(
            "world", "right_shin", name="right", axis="z", first_at=(0, 0, 300), second_at=(0, 0, -0.4)
        ),
        lw.constraints.JointLock("right_knee", 0.3, name="lock"),
    )
    here = lw.ForwardDynamics(robot, method)(p.q, p.v, p.tau).acceleration
    there = lw.ForwardDynamics(moved, method)(far, p.v, p.tau).acceleration
    assert distance(there, here) <= 1e-9
