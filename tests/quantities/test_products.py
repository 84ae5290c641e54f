# SPDX-License-Identifier: BSD-3-Clause
"""Products with Jacobians: against complex steps of kernel code, against each other, by all methods and backends."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork.compilers import pipeline_runner
from linkwork.dynamics.methods import METHODS, methods_for
from linkwork.errors import InputError, ProgramTooLarge
from linkwork.mechanism import Mechanism
from linkwork.quantities.evaluator import Evaluator
from tests.support import linkages
from tests.support.complex_steps import complex_step
from tests.support.states import Floats, assert_close, random_state

EXACT = 1e-9
"""Of derivatives against complex steps: rounding, times the condition of small mechanisms."""
DOT = 1e-11
"""Of the dot-product test, relative to the product of norms."""

LOOPS = ("four-bar", "floating four-bar", "RSSR", "universal joints", "hexapod", "gears", "center of mass")


def closed(robot: Mechanism, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """A state with loops that are closed and stay so, and torques."""
    rng = np.random.default_rng(seed)
    q = robot.assemble(robot.integrate(robot.neutral(), 0.3 * rng.normal(size=robot.nv)))
    return q, robot.project_velocity(q, rng.normal(size=robot.nv)), rng.normal(size=robot.nv)


def directions(robot: Mechanism, seed: int = 1) -> Floats:
    return np.random.default_rng(seed).normal(size=(3, robot.nv))


def independent(robot: Mechanism, q: Floats) -> bool:
    return bool(np.linalg.matrix_rank(lw.constraint_jacobian(robot, q), tol=1e-6) == robot.nc)


def closed_directions(robot: Mechanism, q: Floats, v: Floats) -> Floats:
    """Directions to states in which loops are closed and stay so: elsewhere, redundant rows contradict each other."""
    d = directions(robot)
    J = lw.constraint_jacobian(robot, q)
    inverse = np.linalg.pinv(J, rcond=1e-8)
    d[0] -= inverse @ (J @ d[0])
    turning = Evaluator(robot, "constraint_jacobian").plain().jvp(q, d[0]) @ v
    d[1] -= inverse @ (J @ d[1] + turning)
    return d


def held_of(evaluator: lw.ForwardDynamics | lw.ImpactDynamics) -> tuple[Floats, Floats, Floats]:
    """Regularization, multipliers and settings that an evaluator holds."""
    held = evaluator.execution.held
    return held["regularization"], held["multipliers"], held["settings"]


def stepped(fd: lw.ForwardDynamics, state: Any, d: Any, **given: Any) -> tuple[Floats, Floats]:
    """Rates of accelerations and forces by complex steps through the text of a method, iterations and all."""
    R, zero, held = held_of(fd) if fd.robot.nc else (0.0, 0.0, 0.0)
    names = ("q", "v", "tau", "wrenches", "regularization", "target", "multipliers", "settings")
    inputs = dict(zip(names, (*state, np.zeros((len(fd.frames), 6)), R, zero, zero, held), strict=True)) | given
    rates = complex_step(fd.program, inputs, dict(zip(names, d, strict=False)))
    return rates[0], rates[1][2 : 2 + fd.robot.nc] if fd.robot.nc else np.zeros(0)


def assert_transposed(seeds: Any, rates: Any, gradient: Any, d: Any, exact: float = DOT) -> None:
    """``y' (J d) = (y' J) d``, relative to the sizes of both sides."""
    left = sum(float(np.sum(y * x)) for y, x in zip(seeds, rates, strict=True))
    right = sum(float(np.sum(g * x)) for g, x in zip(gradient, d, strict=True))
    size = sum(np.linalg.norm(y) * np.linalg.norm(x) for y, x in zip(seeds, rates, strict=True))
    size += sum(np.linalg.norm(g) * np.linalg.norm(x) for g, x in zip(gradient, d, strict=True))
    assert abs(left - right) <= exact * size


# Trees ---------------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10_000))
@settings(max_examples=6)
def test_products_of_a_random_tree_are_those_of_complex_steps(seed: int) -> None:
    robot = lw.zoo.random_tree(seed, bodies=1 + seed % 6, armature=seed % 2 == 1)
    state, d = random_state(robot, seed), directions(robot, seed)
    y = np.random.default_rng(seed).normal(size=robot.nv)
    for evaluator, inputs in (
        (lw.ForwardDynamics(robot).plain(), (state.q, state.v, state.tau)),
        (lw.InverseDynamics(robot, "rnea").plain(), (state.q, state.v, state.a)),
    ):
        named = dict(zip(evaluator.program.algorithm.inputs, (*inputs, np.zeros((0, 6))), strict=True))
        (expected,) = complex_step(evaluator.program, named, dict(zip(named, d, strict=False)))
        rate = evaluator.jvp(*inputs, *d)
        assert_close(rate, expected, EXACT)
        assert_transposed([y], [rate], evaluator.vjp(*inputs, y), d)


@pytest.mark.parametrize("seed", [3, 11])
def test_second_derivatives_are_rates_of_gradients(seed: int) -> None:
    robot = lw.zoo.random_tree(seed, bodies=3)
    state, d = random_state(robot, seed), directions(robot, seed)
    y, h = np.random.default_rng(seed).normal(size=robot.nv), 1e-5

    for evaluator, x in (
        (lw.ForwardDynamics(robot).plain(), state.tau),
        (lw.InverseDynamics(robot, "rnea").plain(), state.a),
    ):

        def gradient(t: float, evaluator: Any = evaluator, x: Any = x) -> Floats:
            q = robot.integrate(state.q, t * d[0])
            return np.concatenate(evaluator.vjp(q, state.v + t * d[1], x + t * d[2], y))

        # central differences of fourth order
        expected = (8 * (gradient(h) - gradient(-h)) - gradient(2 * h) + gradient(-2 * h)) / (12 * h)
        found = evaluator.hvp(state.q, state.v, x, y, *d)
        assert_close(np.concatenate(found), expected, 1e-7)


def test_second_derivatives_are_symmetric_where_coordinates_are_numbers() -> None:
    robot = lw.zoo.pendulum(3)
    state = random_state(robot, 0)
    y, d, e = np.random.default_rng(5).normal(size=(3, robot.nv))
    hvp = lw.ForwardDynamics(robot).plain().hvp.by("q")
    inputs = (state.q, state.v, state.tau, y)
    (along_d,), (along_e,) = hvp(*inputs, d), hvp(*inputs, e)
    assert e @ along_d == pytest.approx(d @ along_e, rel=1e-10)


def test_configurations_that_are_not_of_unit_length_have_the_same_derivatives() -> None:
    robot = lw.zoo.random_tree(5, bodies=5)
    state, d = random_state(robot, 1), directions(robot)
    q = state.q.copy()
    for start, count in lw.ForwardDynamics(robot).program.units:
        q[start : start + count] *= 3.0
    jvp = lw.ForwardDynamics(robot).plain().jvp
    assert_close(jvp(q, state.v, state.tau, *d), jvp(state.q, state.v, state.tau, *d), 1e-11)


# Quantities ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "quantity",
    ["mass_matrix", "bias_forces", "energy", "frame_placement", "frame_velocity", "frame_jacobian", "center_of_mass",
     "centroidal_momentum", "passive_forces", "inverse_mass_product"],
)  # fmt: skip
def test_every_quantity_has_products(quantity: Any) -> None:
    robot = lw.zoo.random_tree(7, bodies=4)
    frames = [list(robot.frames)[-1]] if quantity.startswith(("frame", "point")) else []
    evaluator = Evaluator(robot, quantity, frames).plain()
    rng = np.random.default_rng(0)
    names = [name for name in evaluator.program.algorithm.inputs if name != "wrenches"]
    inputs = [robot.random(rng), *rng.normal(size=(len(names) - 1, robot.nv))]
    d = rng.normal(size=(len(names), robot.nv))
    named = {**dict(zip(names, inputs, strict=True)), "wrenches": np.zeros((0, 6))}
    expected = complex_step(evaluator.program, named, dict(zip(names, d, strict=True)))
    found = evaluator.jvp(*inputs, *d)
    rates = found if isinstance(found, tuple) else (found,)
    for rate, other in zip(rates, expected, strict=True):
        assert_close(rate, other, EXACT)
    seeds = [rng.normal(size=rate.shape) for rate in rates]
    assert_transposed(seeds, rates, evaluator.vjp(*inputs, *seeds), d)


def test_quantities_of_constraints_have_products() -> None:
    robot = linkages.made("universal joints")
    q, v, _ = closed(robot)
    d = directions(robot)[:2]
    for quantity in ("constraint_error", "constraint_jacobian", "constraint_bias"):
        evaluator = Evaluator(robot, quantity).plain()  # type: ignore[arg-type]
        inputs = dict(zip(evaluator.program.algorithm.inputs, (q, v), strict=False))
        (expected,) = complex_step(evaluator.program, inputs, dict(zip(inputs, d, strict=False)))
        rate = evaluator.jvp(*inputs.values(), *d[: len(inputs)])
        assert_close(rate, expected, EXACT)
        seed = np.random.default_rng(2).normal(size=rate.shape)
        assert_transposed([seed], [rate], evaluator.vjp(*inputs.values(), seed), d[: len(inputs)])


# Loops ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOOPS)
def test_products_with_constraints_are_those_of_complex_steps_through_iterations(name: str) -> None:
    robot = linkages.made(name)
    q, v, tau = closed(robot)
    rng, free = np.random.default_rng(3), independent(robot, q)
    v = rng.normal(size=robot.nv) if free else v
    d = directions(robot) if free else closed_directions(robot, q, v)
    fd = lw.ForwardDynamics(robot, "prox_bbo").plain()
    expected, forces = stepped(fd, (q, v, tau), d)
    rate, force_rate = fd.jvp(q, v, tau, *d)
    assert_close(rate, expected, EXACT)
    if free:  # forces of redundant rows are those of iterations, which cancel in part
        assert_close(force_rate, forces, 1e-8)
    y, y_forces = rng.normal(size=robot.nv), rng.normal(size=robot.nc)
    assert_transposed([y], [rate], fd.vjp(q, v, tau, y), d)
    gradient = fd.vjp(q, v, tau, 0.0 * y, forces=y_forces)
    assert_transposed([y_forces], [force_rate], gradient, d)
    # and as Jacobians have them, forces of redundant rows, too
    J = fd.derivatives(q, v, tau)
    assert_close(force_rate, J.df_dq @ d[0] + J.df_dv @ d[1] + J.df_dtau @ d[2], DOT)
    for part, block in zip(gradient, (J.df_dq, J.df_dv, J.df_dtau), strict=True):
        assert_close(part, y_forces @ block, DOT)


@pytest.mark.parametrize("name", ["four-bar", "universal joints", "gears"])
def test_all_exact_methods_have_the_same_products(name: str) -> None:
    robot = linkages.made(name)
    q, v, tau = closed(robot)
    d, y = closed_directions(robot, q, v), np.random.default_rng(4).normal(size=robot.nv)
    expected: Floats | None = None
    for method in methods_for(robot):
        if not METHODS[method].exact or method == "pv_soft":
            continue
        if METHODS[method].hard and not METHODS[method].closed and not independent(robot, q):
            continue
        fd = lw.ForwardDynamics(robot, method)
        jvp, vjp = fd.jvp.plain(), fd.vjp.plain()
        (rate, _), gradient = jvp(q, v, tau, *d), vjp(q, v, tau, y)
        assert_transposed([y], [rate], gradient, d)
        expected = rate if expected is None else expected
        assert_close(rate, expected, 1e-8)


@pytest.mark.parametrize("name", ["floating four-bar", "RSSR"])
def test_second_derivatives_of_methods_that_iterate_are_rates_of_gradients(name: str) -> None:
    robot = linkages.made(name)
    q, v, tau = closed(robot)
    d, h = closed_directions(robot, q, v), 1e-4
    rng = np.random.default_rng(3)
    y, y_forces = rng.normal(size=robot.nv), rng.normal(size=robot.nc)
    fd = lw.ForwardDynamics(robot, "prox_bbo").plain()

    def gradient(t: float) -> Floats:
        at = robot.integrate(q, t * d[0]), v + t * d[1], tau + t * d[2]
        return np.concatenate(fd.vjp(*at, y, forces=y_forces))

    expected = (8 * (gradient(h) - gradient(-h)) - gradient(2 * h) + gradient(-2 * h)) / (12 * h)
    found = fd.hvp(q, v, tau, y, y_forces, *d)
    assert_close(np.concatenate(found), expected, 1e-9)
    out = tuple(np.empty(robot.nv) for _ in found)
    fd.hvp.bind(q, v, tau, y, *d, forces=y_forces, out=out)()
    np.testing.assert_array_equal(np.concatenate(out), np.concatenate(found))


@pytest.mark.filterwarnings("ignore::linkwork.errors.StateWarning")
@pytest.mark.parametrize("method", ["prox_bbo", "lcaba"])
@pytest.mark.parametrize("name", ["floating four-bar", "random loops 24", "random loops 4"])
def test_products_of_open_loops_with_redundant_rows_are_those_of_jacobians(name: str, method: Any) -> None:
    """Rows contradict each other, or are moved by a floating base while points that are to meet are apart."""
    sizes = {"random loops 24": (24, 3, 1), "random loops 4": (4, 5, 2)}
    robot = lw.zoo.random_loops(*sizes[name]) if name in sizes else linkages.made(name)
    rng = np.random.default_rng(7)
    q, (v, tau, y, *d) = robot.random(rng), rng.normal(size=(6, robot.nv))
    y_forces = rng.normal(size=robot.nc)
    fd = lw.ForwardDynamics(robot, method).plain()
    J = fd.derivatives(q, v, tau)
    assert J.pivot[0] == 0.0
    rate, force_rate = fd.jvp(q, v, tau, *d)
    off = 1e-7 if method == "prox_bbo" else 1e-8  # rounding over the regularization, which prox_bbo does not refine
    assert_close(rate, J.da_dq @ d[0] + J.da_dv @ d[1] + J.da_dtau @ d[2], off)
    assert_close(force_rate, J.df_dq @ d[0] + J.df_dv @ d[1] + J.df_dtau @ d[2], off)
    for part, by in zip(fd.vjp(q, v, tau, y, forces=y_forces), ("q", "v", "tau"), strict=True):
        expected = y @ getattr(J, f"da_d{by}") + y_forces @ getattr(J, f"df_d{by}")
        assert_close(part, expected, off)
    bound = np.empty(robot.nv), np.empty(robot.nc)
    fd.jvp.bind(q, v, tau, *d, out=bound)()
    np.testing.assert_array_equal(bound[0], rate)


def test_redundant_rows_leave_derivatives_of_accelerations_unique() -> None:
    robot = linkages.four_bar()
    twice = robot.constrained(
        lw.constraints.Hinge("coupler", "rocker", axis="y", name="again", first_at=(1.2, 0, 0), second_at=(0.9, 0, 0))
    )
    q, v, tau = closed(robot)
    d = closed_directions(robot, q, v)
    once, again = (lw.ForwardDynamics(r, "lcaba").plain() for r in (robot, twice))
    assert_close(again.jvp(q, v, tau, *d)[0], once.jvp(q, v, tau, *d)[0], 1e-8)
    y = np.random.default_rng(0).normal(size=robot.nv)
    assert_transposed([y], [once.jvp(q, v, tau, *d)[0]], again.vjp(q, v, tau, y), d)
    assert_close(again.hvp(q, v, tau, y, *d)[0], once.hvp(q, v, tau, y, *d)[0], 1e-8)
    with pytest.raises(lw.errors.UnsupportedFeature, match="leave out cotangents of forces and assemble q"):
        again.hvp(q, v, tau, y, *d, forces=np.ones(twice.nc))


@pytest.mark.parametrize("seed", [343, 261])
def test_products_near_singular_states_and_of_rows_that_nothing_moves(seed: int) -> None:
    """Rows of condition 9000, where proximal iterations do not end in time; a row that no joint moves."""
    robot = lw.zoo.random_loops(seed, bodies=2 + seed % 4, loops=1 + seed % 2)
    q, rng = robot.poses["assembled"], np.random.default_rng(seed)
    v, tau, y = rng.normal(size=(3, robot.nv))
    v, y_forces = robot.project_velocity(q, v), rng.normal(size=robot.nc)
    fd = lw.ForwardDynamics(robot, "lcaba").plain()
    d, J = closed_directions(robot, q, v), fd.derivatives(q, v, tau)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.errors.StateWarning)
        rates, gradient = fd.jvp(q, v, tau, *d), fd.vjp(q, v, tau, y, forces=y_forces)
    assert_transposed([y, y_forces], rates, gradient, d)
    assert_close(rates.df, J.df_dq @ d[0] + J.df_dv @ d[1] + J.df_dtau @ d[2], DOT)


def test_targets_and_wrenches_have_derivatives() -> None:
    robot = linkages.made("hexapod")
    q, v, tau = closed(robot)
    rng = np.random.default_rng(0)
    W, dW = rng.normal(size=(2, 1, 6))
    target, dtarget = rng.normal(size=(2, robot.nc))
    fd = lw.ForwardDynamics(robot, "lcaba", wrenches=["plate"]).plain()
    names = ("q", "v", "tau", "wrenches", "target")
    d = (*directions(robot), dW, dtarget)
    R, zero, held = held_of(fd)
    inputs = {"q": q, "v": v, "tau": tau, "wrenches": W, "target": target, "multipliers": zero}
    expected = complex_step(
        fd.program, inputs | {"regularization": R, "settings": held}, dict(zip(names, d, strict=True))
    )[0]
    given = {"wrenches": W, "target": target}
    rate, _ = fd.jvp.by(*names)(q, v, tau, *d[:3], dwrenches=dW, dtarget=dtarget, **given)
    assert_close(rate, expected, EXACT)
    y = rng.normal(size=robot.nv)
    gradient = fd.vjp.by(*names)(q, v, tau, y, **given)
    assert_transposed([y], [rate], gradient, d)


def test_an_impact_has_products() -> None:
    robot = linkages.made("four-bar")
    q, v, _ = closed(robot)
    rng = np.random.default_rng(0)
    e = np.full(robot.nc, 0.5)
    d = (rng.normal(size=robot.nv), rng.normal(size=robot.nv), np.full(robot.nc, 0.3))
    for method in ("prox_bbo", "lcaba"):
        impact = lw.ImpactDynamics(robot, method).plain()  # type: ignore[arg-type]
        R, zero, held = held_of(impact)
        inputs = {"q": q, "v": v, "restitution": e, "regularization": R, "multipliers": zero, "settings": held}
        expected = complex_step(impact.program, inputs, {"q": d[0], "v": d[1], "restitution": d[2]})[0]
        rate, _ = impact.jvp(q, v, e, *d)
        assert_close(rate, expected, EXACT)
        y = rng.normal(size=robot.nv)
        assert_transposed([y], [rate], impact.vjp(q, v, e, y), d)


# Backends ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [False, True])
def test_batches_threads_bound_calls_and_single_precision_agree(bound: bool) -> None:
    robot = linkages.made("four-bar") if bound else lw.zoo.random_tree(2, bodies=2)
    rng = np.random.default_rng(0)
    q = closed(robot)[0] if bound else random_state(robot, 0).q
    count = 1100
    many = [np.repeat(q[None], count, axis=0), *rng.normal(size=(2, count, robot.nv))]
    y, d = rng.normal(size=(count, robot.nv)), rng.normal(size=(3, count, robot.nv))
    fd = lw.ForwardDynamics(robot, threads=2)
    gradient, rate = fd.vjp(*many, y), fd.jvp(*many, *d)
    rates = rate if bound else (rate,)
    for k in (0, 7, count - 1):
        state = [x[k] for x in many]
        for whole, one in zip(gradient, fd.vjp(*state, y[k]), strict=True):
            assert_close(whole[k], one, 1e-11)
        one = fd.jvp(*state, *d[:, k])
        for whole, single in zip(rates, one if bound else (one,), strict=True):
            assert_close(whole[k], single, 1e-11)
        for whole, plain in zip(gradient, fd.plain().vjp(*state, y[k]), strict=True):
            assert_close(whole[k], plain, 1e-9)
    out = tuple(np.empty_like(x) for x in gradient)
    returned = fd.vjp(*many, y, out=out)
    for one, other in zip(returned, gradient, strict=True):
        np.testing.assert_array_equal(one, other)
    state, one_out = [x[3].copy() for x in many], tuple(np.empty_like(x[3]) for x in gradient)
    step = fd.vjp.bind(*state, y[3].copy(), out=one_out)
    step()
    for one, other in zip(one_out, gradient, strict=True):
        assert_close(one, other[3], 1e-11)
    rate_out = tuple(np.empty_like(x[3]) for x in rates)
    fd.jvp.bind(*state, *(x[3].copy() for x in d), out=rate_out if bound else rate_out[0])()
    for one, other in zip(rate_out, rates, strict=True):
        assert_close(one, other[3], 1e-11)
    single = fd.vjp(*(x[:9].astype(np.float32) for x in (*many, y)))
    for one, other in zip(single, gradient, strict=True):
        assert one.dtype == np.float32
        assert_close(one, other[:9], 2e-3)
    again = pickle.loads(pickle.dumps(fd.vjp))
    for one, other in zip(again(*many, y), gradient, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_solution_at_hand_is_not_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = linkages.made("four-bar")
    q, v, tau = closed(robot)
    fd = lw.ForwardDynamics(robot).plain()
    y = np.ones(robot.nv)
    expected, solution = fd.vjp(q, v, tau, y), fd(q, v, tau)
    monkeypatch.setattr(lw.ForwardDynamics, "__call__", lambda *_, **__: pytest.fail("computed again"))
    for one, other in zip(fd.vjp(q, v, tau, y, solution=solution), expected, strict=True):
        assert_close(one, other, 1e-12)  # products end iterations later


def test_products_cost_little_more_than_twice_the_function() -> None:
    robot = lw.zoo.humanoid()
    for evaluator in (
        lw.ForwardDynamics(robot.unconstrained(), "aba"),
        lw.InverseDynamics(robot.unconstrained(), "rnea"),
    ):
        count = evaluator.operation_count().total
        assert evaluator.jvp.operation_count().total <= 2.6 * count
        assert evaluator.vjp.operation_count().total <= 2.6 * count
    fd = lw.ForwardDynamics(linkages.made("hexapod"), "prox_bbo")
    assert fd.vjp.operation_count().in_iterations(3) <= 2.7 * fd.operation_count().in_iterations(3)


def test_errors_say_what_is_needed() -> None:
    robot = lw.zoo.pendulum(2)
    fd = lw.ForwardDynamics(robot)
    q = np.zeros(2)
    with pytest.raises(InputError, match="no derivative by 'settings'"):
        fd.vjp.by("settings")
    with pytest.raises(InputError, match="takes q, v, tau, y; y was not given"):
        fd.vjp(q, q, q)
    with pytest.raises(InputError, match="5 arguments were given"):
        fd.vjp(q, q, q, q, q)
    with pytest.raises(InputError, match="takes q, v, tau, dq, dv, dtau"):
        fd.jvp(q, q, q, q)
    with pytest.raises(ProgramTooLarge):
        fd.vjp.compile(max_operations=20)
    with pytest.raises(InputError, match="takes q, v, tau, y, dq, dv, dtau; dtau was not given"):
        fd.hvp(q, q, q, q, q, q)


@pytest.mark.parametrize("method", ["kkt", "pv_early", "prox_bbo"])
def test_rows_that_are_all_disabled_change_no_product(method: Any) -> None:
    tree = lw.zoo.pendulum(3)
    robot = tree.constrained(lw.constraints.Rod("world", tree.body_names[-1], length=0.7, enabled=False))
    q, v, tau, y = np.random.default_rng(0).normal(size=(4, 3))
    gradient = lw.ForwardDynamics(robot, method).vjp(q, v, tau, y)
    for found, expected in zip(gradient, lw.ForwardDynamics(tree).vjp(q, v, tau, y), strict=True):
        assert_close(found, expected, 1e-11)


@pytest.mark.parametrize("method", ["auto", "ltl"])
def test_results_may_be_written_to_arrays_that_are_read(method: Any) -> None:
    robot = lw.zoo.four_bar()
    q, v, tau = closed(robot)
    fd, y = lw.ForwardDynamics(robot, method), np.ones(robot.nv)
    expected = fd.vjp(q, v, tau, y)
    speeds, seeds = v.copy(), y.copy()
    found = fd.vjp(q, speeds, tau, seeds, out=(np.empty(3), seeds, speeds))
    assert found[1] is seeds and found[2] is speeds
    for x, z in zip(found, expected, strict=True):
        assert np.array_equal(x, z)


@pytest.mark.parametrize("method", ["auto", "ltl"])
def test_wrong_seeds_and_outputs_of_loops_are_named(method: Any) -> None:
    robot = lw.zoo.four_bar()
    q, v, tau = closed(robot)
    fd, y = lw.ForwardDynamics(robot, method), np.ones(robot.nv)
    for options, words in (
        ({"forces": np.ones(4)}, "y_forces has .*4"),
        ({"forces": np.full(5, np.nan)}, "y_forces holds NaN"),
        ({"out": (np.empty(3), np.empty(3), np.empty(4))}, r"out for tau has shape \(4,\), needs \(3,\)"),
        ({"out": (np.empty(3), np.empty(3), np.empty(3, int))}, "out for tau has dtype int64"),
    ):
        with pytest.raises(InputError, match=words):
            fd.vjp(q, v, tau, y, **options)
    with pytest.raises(InputError, match="out for forces has dtype int64"):
        fd.jvp(q, v, tau, y, y, y, out=(np.empty(3), np.empty(5, int)))


@pytest.mark.parametrize("method", ["auto", "ltl"])
def test_bound_products_broadcast_and_check_arrays_when_they_are_bound(method: Any) -> None:
    robot = lw.zoo.four_bar()
    q, v, tau = closed(robot)
    fd, y = lw.ForwardDynamics(robot, method), np.random.default_rng(0).normal(size=(2, 3))
    out = np.empty((3, 2, 3))
    fd.vjp.bind(q, v, tau, y, out=tuple(out))()
    for found, expected in zip(out, fd.vjp(q, v, tau, y), strict=True):
        assert_close(found, expected, 1e-12)
    with pytest.raises(InputError, match="y_acceleration has shape"):
        fd.vjp.bind(q, v, tau, y[0, :2].copy(), out=tuple(out))
    with pytest.raises(InputError, match=r"out for tau has shape \(4,\)"):
        fd.vjp.bind(q, v, tau, y[0], out=(np.empty(3), np.empty(3), np.empty(4)))


@pytest.mark.filterwarnings("ignore::linkwork.errors.StateWarning")
@pytest.mark.parametrize("kind", ["jvp", "vjp"])
def test_products_are_bound_whatever_new_arrays_hold(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Conditions read arrays when a product is bound, before the first call writes them."""
    robot = lw.zoo.four_bar()
    rng = np.random.default_rng(0)
    q, (v, tau, *d) = robot.random(rng, 16), rng.normal(size=(5, 16, robot.nv))
    product = getattr(lw.ForwardDynamics(robot), kind)
    arrays = (q, v, tau, *(d if kind == "jvp" else d[:1]))
    expected = product(*arrays)
    out = tuple(np.zeros_like(x) for x in expected)
    monkeypatch.setattr(np, "empty", lambda shape, dtype=float: np.full(shape, np.nan, dtype))
    product.bind(*arrays, out=out)()
    for one, other in zip(out, expected, strict=True):
        assert_close(one, other, 1e-11)


def test_products_by_jacobians_are_checked_as_others(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = lw.zoo.pendulum(2)
    product = lw.ForwardDynamics(robot).vjp
    q, v, tau, y = np.random.default_rng(0).normal(size=(4, 2))
    expected = product(q, v, tau, y)
    monkeypatch.setitem(product.kept, "excess", ProgramTooLarge("too large"))
    for found, wanted in zip(product(q, v, tau, y), expected, strict=True):
        assert_close(found, wanted, 1e-12)
    assert product(*(x.astype(np.float32) for x in (q, v, tau, y)))[0].dtype == np.float32
    with pytest.raises(InputError, match="y was not given"):
        product(q, v, tau)
    with pytest.raises(InputError, match="'foo' was given"):
        product(q, v, tau, y, foo=y)
    with pytest.raises(InputError, match="out for tau has shape"):
        product(q, v, tau, y, out=(np.empty(2), np.empty(2), np.empty(3)))


# Nearly dependent rows -----------------------------------------------------------------------------------------


def random_loops_state(seed: int) -> tuple[Mechanism, Floats, Floats, Floats, Floats, Floats]:
    """A mechanism on closed loops that move closed, torques, and seeds of accelerations and forces."""
    robot = lw.zoo.random_loops(seed, bodies=2 + seed % 4, loops=1 + seed % 2)
    q, rng = robot.poses["assembled"], np.random.default_rng(seed)
    v, tau, y = rng.normal(size=(3, robot.nv))
    return robot, q, robot.project_velocity(q, v), tau, y, rng.normal(size=robot.nc)


def assert_jacobians(robot: Mechanism, state: Any, seeds: Any, d: Any, rates: Any, gradient: Any) -> None:
    """Products are transposes of each other, and those of Jacobians: rounding, times a condition of up to 1000."""
    J = lw.ForwardDynamics(robot, "prox_ltl").derivatives(*state)
    blocks = (J.da_dq, J.da_dv, J.da_dtau), (J.df_dq, J.df_dv, J.df_dtau)
    assert_transposed(seeds, rates, gradient, d)
    for rate, row in zip(rates, blocks, strict=True):
        assert_close(rate, sum(block @ x for block, x in zip(row, d, strict=True)), DOT)
    for part, of_a, of_f in zip(gradient, *blocks, strict=True):
        assert_close(part, seeds[0] @ of_a + seeds[1] @ of_f, DOT)


@pytest.mark.parametrize(
    ("seed", "method"),
    [(67, "lcaba"), (102, "prox_bbo"), (173, "lcaba"), (357, "prox_bbo"), (228, "prox_bbo"), (75, "prox_bbo")],
)
def test_products_of_nearly_dependent_rows_are_those_of_jacobians(seed: int, method: Any) -> None:
    """Rows of condition 38 to 600, whose residuals are small before their forces are exact; centers of mass."""
    robot, q, v, tau, y, y_forces = random_loops_state(seed)
    fd, d = lw.ForwardDynamics(robot, method).plain(), closed_directions(robot, q, v)
    rates, gradient = fd.jvp(q, v, tau, *d), fd.vjp(q, v, tau, y, forces=y_forces)
    assert_jacobians(robot, (q, v, tau), (y, y_forces), d, rates, gradient)
    out = tuple(np.empty(robot.nv) for _ in gradient)
    fd.vjp.bind(q, v, tau, y, forces=y_forces, out=out)()
    for found, expected in zip(out, gradient, strict=True):
        assert_close(found, expected, DOT)


@pytest.mark.parametrize("seed", [214, 431])
def test_products_of_redundant_rows_that_nothing_moves_are_those_of_jacobians(seed: int) -> None:
    """Seeds of forces of rows that loops move where they are open alone: by all degrees of freedom."""
    robot, q, v, tau, y, y_forces = random_loops_state(seed)
    fd, d = lw.ForwardDynamics(robot, "lcaba").plain(), closed_directions(robot, q, v)
    rates, gradient = fd.jvp(q, v, tau, *d), fd.vjp(q, v, tau, y, forces=y_forces)
    assert_jacobians(robot, (q, v, tau), (y, y_forces), d, rates, gradient)


def test_states_of_a_batch_that_are_not_exact_are_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    robot, q, v, tau, y, y_forces = random_loops_state(343)
    well = robot.integrate(q, 0.3 * np.random.default_rng(1).normal(size=robot.nv))
    many = np.array([[well, q, well], [well, well, q]])
    fd = lw.ForwardDynamics(robot, "prox_bbo").plain()
    redone: list[Any] = []
    evaluated = pipeline_runner.evaluated

    def noted(runner: Any, inputs: Any) -> Any:
        if "pivot" in runner.program.algorithm.outputs:  # Jacobians
            redone.append(inputs)
        return evaluated(runner, inputs)

    monkeypatch.setattr(pipeline_runner, "evaluated", noted)
    found = fd.vjp(many, v, tau, y, forces=np.broadcast_to(y_forces, (2, 1, robot.nc)))
    assert len(redone) == 1 and redone[0][0].shape == (2, robot.nq)
    for state, at in ((q, (0, 1)), (q, (1, 2)), (well, (1, 0))):
        for part, expected in zip(found, fd.vjp(state, v, tau, y, forces=y_forces), strict=True):
            assert part.shape == (2, 3, robot.nv)
            assert_close(part[at], expected, 1e-13)


@pytest.mark.parametrize("seed", [67, 102])
def test_products_without_jacobians_iterate_on(seed: int) -> None:
    """There are none by wrenches: more iterations have the digits."""
    robot, q, v, tau, y, y_forces = random_loops_state(seed)
    W = np.random.default_rng(0).normal(size=(1, 6))
    fd = lw.ForwardDynamics(robot, "lcaba", wrenches=[robot.body_names[-1]]).plain()
    J = fd.derivatives(q, v, tau, W)
    gradient = fd.vjp(q, v, tau, y, forces=y_forces, wrenches=W)
    for part, of_a, of_f in zip(gradient, (J.da_dq, J.da_dv, J.da_dtau), (J.df_dq, J.df_dv, J.df_dtau), strict=False):
        assert_close(part, y @ of_a + y_forces @ of_f, DOT)


# Few states ----------------------------------------------------------------------------------------------------


def test_one_state_takes_jacobians_and_no_program_is_made() -> None:
    robot = lw.zoo.four_bar()
    q, v, tau = closed(robot)
    rng = np.random.default_rng(0)
    y, y_forces, target = rng.normal(size=robot.nv), rng.normal(size=robot.nc), rng.normal(size=robot.nc)
    d, fd = directions(robot), lw.ForwardDynamics(robot, "prox_bbo")
    stages = fd.plain()  # plain text is run as it is
    vjp, jvp = fd.vjp.by("tau", "q", "target"), fd.jvp.by("q", "v", "tau", "target")
    given = {"target": target, "forces": y_forces}
    gradient = vjp(q, v, tau, y, **given)
    rates = jvp(q, v, tau, *d, target=target, dtarget=y_forces)
    assert not vjp.execution.has_runner and not jvp.execution.has_runner
    for found, expected in zip(gradient, stages.vjp.by("tau", "q", "target")(q, v, tau, y, **given), strict=True):
        assert_close(found, expected, 1e-12)
    expected = stages.jvp.by("q", "v", "tau", "target")(q, v, tau, *d, target=target, dtarget=y_forces)
    assert_close(rates.da, expected.da, 1e-12)
    assert_close(rates.df, expected.df, 1e-12)
    out = (np.empty(3), y, np.empty(5))
    assert vjp(q, v, tau, y, out=out, solution=fd(q, v, tau, target=target), **given)[1] is y
    for found, expected in zip(out, gradient, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_one_state_by_jacobians_is_checked_as_a_batch_is() -> None:
    robot = lw.zoo.four_bar()
    q, v, tau = closed(robot)
    y = np.ones(robot.nv)
    with pytest.warns(lw.errors.StateWarning, match="open"):
        lw.ForwardDynamics(robot).vjp(q + 0.1, v, tau, y)
    vjp = lw.ForwardDynamics(robot).vjp
    for arguments, words in (
        ((q[:2], v, tau, y), "q has 2 numbers"),
        ((q, np.full(3, np.nan), tau, y), "v holds NaN"),
        ((q, v, tau, y[:2]), "y_acceleration has shape"),
        ((q, v, tau, np.full(3, np.inf)), "y_acceleration holds NaN or infinity"),
        ((q, v, tau), "y was not given"),
    ):
        with pytest.raises(InputError, match=words):
            vjp(*arguments)
    assert vjp(*(list(x) for x in (q, v, tau, y)))[0].dtype == np.float64


def test_later_calls_take_what_the_first_one_takes() -> None:
    """Machine code serves calls with arrays of one state alone: lists, batches and single precision go around it."""
    robot, rng = lw.zoo.serial_chain(4), np.random.default_rng(0)
    arrays = rng.normal(size=(4, 3, 4))
    first = [lw.ForwardDynamics(robot).vjp(*x) for x in np.swapaxes(arrays, 0, 1)]
    vjp = lw.ForwardDynamics(robot).vjp
    for _ in range(2):
        for k, expected in enumerate(first):
            one = arrays[:, k]
            for x in (one, one.tolist()):
                for found, y in zip(vjp(*x), expected, strict=True):
                    np.testing.assert_array_equal(found, y)
            singles = vjp(*one.astype(np.float32))
            assert all(x.dtype == np.float32 for x in singles)
        for found, y in zip(vjp(*arrays), zip(*first, strict=True), strict=True):
            assert_close(found, np.array(y), 1e-14)
        with pytest.raises(lw.errors.InputError, match="y was not given"):
            vjp(*arrays[:3])
        with pytest.raises(lw.errors.InputError, match="v"):
            vjp(arrays[0], None, arrays[2], arrays[3])
