# SPDX-License-Identifier: BSD-3-Clause
"""Functions of joints as constraints: what is written down, its derivatives, its forces, and what is refused."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork.dynamics.iterations import REGULARIZATION
from linkwork.dynamics.methods import METHODS
from linkwork.mechanism import Mechanism
from linkwork.model.constraints import Constraint
from linkwork.model.expressions import CONST, INPUT, MUL, SUB, operands
from linkwork.model.functions import record
from linkwork.quantities.evaluator import Evaluator
from tests.support.gauss import ROUNDING, Problem, closed_state, distance
from tests.support.states import Floats, assert_close, random_state

NAMES = ("joint0", "joint1", "joint2")
QUANTITIES = ("constraint_error", "constraint_jacobian", "constraint_bias", "constraint_target")


@cache
def chain(links: int = 3) -> Mechanism:
    return lw.zoo.serial_chain(links)


def bound(function: Callable[..., Any], over: tuple[str, ...] = NAMES, links: int = 3, **options: Any) -> Mechanism:
    return chain(links).constrained(lw.constraints.FunctionCoupling(function, over, name="f", **options))


# Derivatives ---------------------------------------------------------------------------------------------------

Expression = tuple[Any, ...]
"""An operation and what it is done to: expressions, numbers of joints, numbers."""


def evaluate(e: Any, q: tuple[Any, ...]) -> Any:
    """An expression as a function would have it; its poles are where `margins` says."""
    if isinstance(e, float):
        return e
    op, *given = e
    if op == "q":
        return q[given[0]]
    x = [evaluate(part, q) for part in given if not isinstance(part, int)]
    if op == "power":
        return x[0] ** given[1]
    if op in ("sin", "cos", "tan", "sqrt", "exp", "tanh", "arctan"):
        return getattr(np, op)(x[0])
    return {"+": lambda: x[0] + x[1], "-": lambda: x[0] - x[1], "*": lambda: x[0] * x[1], "/": lambda: x[0] / x[1]}[
        op
    ]()


def margins(e: Any, q: tuple[float, ...]) -> list[float]:
    """What must stay away from zero: divisors, what roots are taken of, bases of negative powers."""
    if isinstance(e, float) or e[0] == "q":
        return []
    op, *given = e
    found = [m for part in given if not isinstance(part, int) for m in margins(part, q)]
    if min(found, default=1.0) < 0.2:
        return found
    if op == "/":
        found.append(abs(float(evaluate(given[1], q))))
    elif op == "sqrt":
        found.append(float(evaluate(given[0], q)))
    elif op == "tan":
        found.append(abs(float(np.cos(evaluate(given[0], q)))))
    elif op == "power" and given[1] < 0:
        found.append(abs(float(evaluate(given[0], q))))
    return found


def _grown(parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "/"]), parts, parts),
        st.tuples(st.sampled_from(["sin", "cos", "tan", "sqrt", "exp", "tanh", "arctan"]), parts),
        st.tuples(st.just("power"), parts, st.integers(-2, 4)),
    )


leaves = st.one_of(
    st.tuples(st.just("q"), st.integers(0, 2)),
    st.tuples(st.just("q"), st.integers(0, 2)),
    st.floats(-2.0, 2.0).filter(lambda x: abs(x) > 0.05),
)
expressions = st.recursive(leaves, _grown, max_leaves=8)
places = st.tuples(*[st.floats(-1.2, 1.2)] * 3)
speeds = st.tuples(*[st.floats(-1.0, 1.0)] * 3)

TINY = 1e-30


def slope(function: Callable[..., Any], q: Floats, v: Floats) -> Floats:
    """The rate of a function's results along ``v``, by a difference in the imaginary direction, which loses nothing."""
    moved = tuple(complex(x, TINY * y) for x, y in zip(q, v, strict=True))
    return np.array([complex(y).imag / TINY for y in np.atleast_1d(np.array(function(*moved), dtype=complex))])


def second(function: Callable[..., Any], q: Floats, v: Floats, h: float) -> Floats:
    """The second rate along ``v``, by differences of fourth order of the first."""
    rates = {k: slope(function, q + k * h * v, v) for k in (-2, -1, 1, 2)}
    return np.asarray((8 * (rates[1] - rates[-1]) - (rates[2] - rates[-2])) / (12 * h))


@pytest.mark.slow
@settings(max_examples=200)
@given(results=st.lists(expressions, min_size=1, max_size=3), at=places, along=speeds)
def test_derivatives_of_any_expression(
    results: list[Any], at: tuple[float, float, float], along: tuple[float, float, float]
) -> None:
    """Of one to three results over three joints: values, Jacobian and bias."""
    assume(all(m > 0.2 for e in results for m in margins(e, at)))
    q, v = np.array(at), np.array(along)

    def function(*x: Any) -> list[Any]:
        return [evaluate(e, x) for e in results]

    with np.errstate(all="ignore"):
        values = np.array([float(y) for y in function(*at)])
        J = np.stack([slope(function, q, unit) for unit in np.eye(3)], axis=-1)
        coarse, fine = (second(function, q, v, h) for h in (2e-3, 1e-3))
    assume(np.isfinite([*values, *J.ravel(), *coarse, *fine]).all())
    assume(max(np.abs(values).max(), np.abs(J).max(), np.abs(fine).max()) < 1e4)
    assume(np.abs(coarse - fine).max() <= 1e-4 * (1 + np.abs(fine).max()))  # or differences do not know it
    robot = bound(function, offset=0.25)
    assert_close(lw.constraint_error(robot, q), values - 0.25, 1e-12, scale=1.0)
    assert_close(lw.constraint_jacobian(robot, q), J, 1e-10, scale=1.0)
    unknown = float(np.abs(coarse - fine).max()) + 1e-9
    assert_close(lw.constraint_bias(robot, q, v), fine, 1e-9, scale=max(1.0, unknown / 1e-9))


WRITTEN: dict[str, Callable[..., Any]] = {
    "a sum": lambda a, b, c: a + b - c,
    "constants on the left": lambda a, b, c: 2 + 3 * a - (1 - b) / 4 + 2 / (3 + c),
    "signs": lambda a, b, c: -a + (+b) - (-c),
    "numbers of NumPy": lambda a, b, c: np.float64(2.0) * a + np.float64(0.5) / (2 + b) - np.pi * c,
    "whole powers": lambda a, b, c: a**0 + a**1 + b**5 + (2 + c) ** -3,
    "a root as a power": lambda a, b, c: (2 + a) ** 0.5 * np.sqrt(3 + b) + c,
    "all functions": lambda a, b, c: np.sin(a) * np.cos(b) + np.tan(c) + np.sqrt(2 + a * b),
    "one used often": lambda a, b, c: (lambda x: x * x + x / (2 + x * x) - np.sin(x))(a * b + c),
    "a matrix": lambda a, b, c: np.array([[1.0, 2.0, 0.5], [0.0, -1.0, 1.0]]) @ np.array([a, b, c]),
    "several": lambda a, b, c: (a * b, np.sin(c), a + b + c),
    "its inputs": lambda a, b, c: (a * b * c, b, a, c),
    "the last input first": lambda a, b, c: (c, a),
    "the same twice": lambda a, b, c: (a * b, a * b),
    "one and a constant": lambda a, b, c: (a * b, a * 0 + 1.0),
    "a constant": lambda a, b, c: (a * b + c, 1.5),
    "not all joints": lambda a, b, c: b * b,
    "a list that is made": lambda a, b, c: [x * x for x in (a, b, c)],
}


@pytest.mark.parametrize("name", WRITTEN)
def test_derivatives_of_what_may_be_written(name: str) -> None:
    function = WRITTEN[name]
    rows = np.atleast_1d(np.array(function(0.1, 0.2, 0.3), dtype=float)).size
    robot = bound(function)
    assert robot.nc == rows
    for seed in range(4):
        s = random_state(robot, seed)
        q = 0.3 * s.q  # within ±1
        J = np.stack([slope(function, q, unit) for unit in np.eye(3)], axis=-1)
        assert_close(
            lw.constraint_error(robot, q), np.atleast_1d(np.array(function(*q), dtype=float)), 1e-14, scale=1.0
        )
        assert_close(lw.constraint_jacobian(robot, q), J, 1e-13, scale=1.0)
        assert_close(lw.constraint_bias(robot, q, s.v), second(function, q, s.v, 1e-3), 1e-8, scale=1.0)


def test_several_functions_of_one_robot_keep_to_themselves() -> None:
    """Each has a tape of its own, also where they share joints, between other constraints."""
    first, other = WRITTEN["all functions"], WRITTEN["its inputs"]
    robot = chain(5).constrained(
        lw.constraints.FunctionCoupling(first, NAMES, name="first"),
        lw.constraints.Gear("joint0", "joint4", 2.0, name="gear"),
        lw.constraints.FunctionCoupling(other, ["joint4", "joint1", "joint3"], name="other"),
        lw.constraints.JointLock("joint2", 0.1, name="lock"),
    )
    q = 0.3 * random_state(robot, 1).q
    v = random_state(robot, 1).v
    for name, function, at in (("first", first, [0, 1, 2]), ("other", other, [4, 1, 3])):
        rows = robot.row_slice(name)
        expected = np.zeros((rows.stop - rows.start, 5))
        expected[:, at] = np.stack([slope(function, q[at], unit) for unit in np.eye(3)], axis=-1)
        assert_close(lw.constraint_jacobian(robot, q)[rows], expected, 1e-13, scale=1.0)
        assert_close(lw.constraint_bias(robot, q, v)[rows], second(function, q[at], v[at], 1e-3), 1e-8, scale=1.0)
    alone = lw.constraint_jacobian(robot.unconstrained("first", "other"), q)
    rest = [*range(robot.nc)[robot.row_slice("gear")], *range(robot.nc)[robot.row_slice("lock")]]
    np.testing.assert_array_equal(lw.constraint_jacobian(robot, q)[rest], alone)


def test_the_function_is_called_once() -> None:
    calls = []

    def function(a: Any, b: Any) -> Any:
        calls.append((a, b))
        return a * b

    robot = bound(function, NAMES[:2])
    for seed in range(3):
        lw.constraint_jacobian(robot, random_state(robot, seed).q)
    lw.ForwardDynamics(robot, "lcaba").compile(lanes=1, threads=1)
    assert len(calls) == 1


def test_a_tape_is_the_graph_that_its_outputs_need() -> None:
    """Inputs first, each node after its operands, nothing that no output needs; constants are folded."""
    tape = record(lambda a, b, c: (2.0 * (3.0 * b), np.sin(c) - np.sin(c) + c, a - 4.0), 3)
    assert tape.nodes[:3] == tuple((INPUT, 0, k) for k in range(3))
    assert all(k < i for i, node in enumerate(tape.nodes) for k in operands(node))
    assert {node[0] for node in tape.nodes} == {INPUT, CONST, MUL, SUB}
    assert sorted(node[1] for node in tape.nodes if node[0] == CONST) == [4.0, 6.0]
    assert tape.outputs[1] == 2


def test_what_is_written_twice_is_done_once() -> None:
    tape = record(lambda a, b: (np.sin(a * b), np.sin(a * b) + 1.0, 2.0 * np.sin(a * b)), 2)
    assert (tape.inputs, len(tape.outputs)) == (2, 3)
    assert len(tape.nodes) == 8  # a, b, a b, its sine, 1, the sum, 2, the product


# The same by other constraints -------------------------------------------------------------------------------------

TWINS: dict[str, tuple[Constraint, Constraint]] = {
    "a gear": (
        lw.constraints.JointCoupling({"joint0": 1.0, "joint2": -3.0}, 0.2, name="c", time_constant=0.1),
        lw.constraints.FunctionCoupling(lambda a, c: a - 3 * c, ["joint0", "joint2"], 0.2, name="c", time_constant=0.1),
    ),
    "a belt": (
        lw.constraints.JointCoupling({"joint1": 1.0, "joint2": -2.0, "joint4": 0.5}, name="c"),
        lw.constraints.FunctionCoupling(lambda b, c, e: b - 2 * c + e / 2, ["joint1", "joint2", "joint4"], name="c"),
    ),
    "a polynomial": (
        lw.constraints.PolynomialCoupling(
            "joint1", "joint3", (0.1, 0.2, 0.3, -0.4, 0.5), 0.1, 0.2, name="c", gains=(5.0, 2.0)
        ),
        lw.constraints.Follows(
            "joint1",
            "joint3",
            lambda d: 0.2 + 0.2 * (d - 0.2) + 0.3 * (d - 0.2) ** 2 - 0.4 * (d - 0.2) ** 3 + 0.5 * (d - 0.2) ** 4,
            name="c",
            gains=(5.0, 2.0),
        ),
    ),
    "a lock": (
        lw.constraints.JointLock("joint3", 0.3, name="c"),
        lw.constraints.FunctionCoupling(lambda d: d, "joint3", 0.3, name="c"),
    ),
}


@pytest.mark.parametrize("name", TWINS)
def test_a_function_is_what_the_constraint_of_that_name_is(name: str) -> None:
    ours, theirs = (chain(5).constrained(twin) for twin in TWINS[name][::-1])
    for seed in range(3):
        s = random_state(ours, seed)
        for quantity in QUANTITIES:
            inputs = (s.q,) if quantity in QUANTITIES[:2] else (s.q, s.v)
            assert_close(Evaluator(ours, quantity)(*inputs), Evaluator(theirs, quantity)(*inputs), 1e-13, scale=1.0)


@pytest.mark.parametrize("name", TWINS)
def test_forces_of_a_function_are_those_of_the_constraint_of_that_name(name: str) -> None:
    """By every method that serves them, from closed states."""
    ours, theirs = (chain(5).constrained(twin) for twin in TWINS[name][::-1])
    q = theirs.assemble(random_state(theirs, 2).q, limits=False)
    p = closed_state(theirs, q, np.random.default_rng(2))
    served = lw.methods.methods_for(ours)
    assert served == lw.methods.methods_for(theirs)
    for method in served:
        options = {"tolerance": 1e-12} if METHODS[method].iterates else {}
        a, b = (lw.ForwardDynamics(robot, method, **options)(p.q, p.v, p.tau) for robot in (ours, theirs))  # type: ignore[arg-type]
        assert distance(a.acceleration, b.acceleration) <= 1e-11, method
        assert a.multipliers is not None and b.multipliers is not None
        assert distance(a.multipliers, b.multipliers) <= (1e-6 if method == "pv_soft" else 1e-9), method


def massless(a: Any, d: Any) -> Any:
    """The stretch of the coupler of `zoo.four_bar` between the pins of its crank and its rocker."""
    x, z = 0.5 + 0.4 * np.cos(d) - 0.2 * np.cos(a), 0.4 * np.sin(d) - 0.2 * np.sin(a)
    return (x * x + z * z - 0.45**2) / 0.9


def test_a_coupler_of_no_mass_is_a_rod_or_a_function() -> None:
    rod = lw.zoo.four_bar("rod")
    written = rod.unconstrained().constrained(lw.constraints.FunctionCoupling(massless, ["A", "D"], name="C"))
    p = closed_state(rod, rod.poses["assembled"], np.random.default_rng(3))
    for robot in (rod, written):
        assert np.abs(lw.constraint_error(robot, p.q)).max() <= 1e-15
    assert_close(lw.constraint_jacobian(written, p.q), p.J, 1e-14)
    assert_close(lw.constraint_bias(written, p.q, p.v), lw.constraint_bias(rod, p.q, p.v), 1e-13)
    for method in ("kkt", "lcaba", "prox_bbo", "ltl", "cluster"):
        a, b = (lw.ForwardDynamics(robot, method)(p.q, p.v, p.tau) for robot in (written, rod))
        assert distance(a.acceleration, b.acceleration) <= 1e-9
        assert_close(a.forces["C"], b.forces["C"], 1e-9, scale=1.0)  # along the coupler


# All methods ---------------------------------------------------------------------------------------------------------


def differential(a: Any, b: Any, c: Any) -> tuple[Any, Any]:
    """Two results of three joints, neither linear."""
    return a * np.cos(b) + c / (2 + np.sin(a)), np.sqrt(2 + a * b) - 0.5 * c**2


@cache
def branched() -> Mechanism:
    """A tree on which functions tie joints of one branch, of both, and one alone."""
    build, rng = lw.Builder("branched"), np.random.default_rng(4)
    for k, parent in enumerate(("world", "b0", "b1", "b1", "b3", "b0", "b5")):
        build.body(f"b{k}", lw.zoo.random_inertia(rng))
        joint = lw.joints.Prismatic((1, 2, 2)) if k == 4 else lw.joints.Revolute("xyz"[k % 3])
        build.joint(f"j{k}", joint, parent, f"b{k}", lw.zoo.random_placement(rng), armature=0.01 * k)
    return build.constrain(
        lw.constraints.FunctionCoupling(
            differential, ["j1", "j2", "j4"], (0.1, 1.3), name="differential", time_constant=0.1
        ),
        lw.constraints.Follows("j6", ["j5", "j3"], lambda x, y: 0.3 * np.sin(2 * x) + 0.2 * y, name="cam"),
    ).build()


@cache
def problem() -> Problem:
    robot = branched()
    q = robot.assemble(np.full(robot.nq, 0.3), limits=False)
    p = closed_state(robot, q, np.random.default_rng(5))
    assert not p.redundant and p.weakest > 1e-2
    return p


EXACT = tuple(name for name, method in METHODS.items() if name != "aba" and method.exact)


@pytest.mark.parametrize("method", [name for name in EXACT if METHODS[name].internal])
def test_every_method_serves_functions(method: str) -> None:
    p = problem()
    options = {"tolerance": 1e-12} if METHODS[method].iterates else {}
    s = lw.ForwardDynamics(p.robot, method, **options)(p.q, p.v, p.tau)  # type: ignore[arg-type]
    assert distance(s.acceleration, p.hard[0]) <= 1e-9
    assert p.unbalanced(s) <= 1e-9
    assert s.multipliers is not None
    assert distance(s.multipliers, p.hard[1]) <= 1e-8
    assert s.residual <= 1e-9


@pytest.mark.parametrize("method", EXACT)
def test_every_method_serves_a_function_of_one_joint(method: str) -> None:
    robot = chain(4).constrained(lw.constraints.FunctionCoupling(lambda x: np.sin(x) + x**2, ["joint2"], 0.5, name="f"))
    p = closed_state(robot, robot.assemble(np.full(4, 0.3), limits=False), np.random.default_rng(6))
    options = {"tolerance": 1e-12} if METHODS[method].iterates else {}
    s = lw.ForwardDynamics(robot, method, **options)(p.q, p.v, p.tau)  # type: ignore[arg-type]
    expected = p.soft(REGULARIZATION)[0] if method == "pv_soft" else p.hard[0]
    stiff = ROUNDING * p.stiffness / REGULARIZATION if method == "pv_soft" else 0.0  # one iteration of stiff rows
    assert distance(s.acceleration, expected) <= 1e-9 + stiff


@pytest.mark.parametrize("method", [name for name in EXACT if not METHODS[name].internal])
def test_methods_for_the_ground_refuse_functions_of_several_joints(method: str) -> None:
    with pytest.raises(
        lw.errors.UnsupportedFeature, match="FunctionCoupling 'differential' is between several moving bodies"
    ):
        lw.ForwardDynamics(branched(), method)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_the_three_ways_agree_on_constraints(quantity: str) -> None:
    p, native = problem(), Evaluator(branched(), quantity)
    rng = np.random.default_rng(7)
    q = p.q + 0.2 * rng.normal(size=(5, p.robot.nq))
    inputs = (q,) if quantity in QUANTITIES[:2] else (q, rng.normal(size=(5, p.robot.nv)))
    expected = native(*inputs)
    for way in (native.plain(), native.compile(lanes=1, threads=1), native.compile(lanes=4, threads=1)):
        assert_close(way(*inputs), expected, 1e-13, scale=1.0)
        assert_close(way(*(x[2] for x in inputs)), expected[2], 1e-13, scale=1.0)


@pytest.mark.parametrize("method", ["lcaba", "prox_bbo", "ltl", "cluster", "projection"])
def test_the_three_ways_agree_on_dynamics(method: str) -> None:
    p = problem()
    native = lw.ForwardDynamics(p.robot, method)
    expected = native(p.q, p.v, p.tau)
    for way in (native.plain(), native.compile(lanes=1, threads=1), native.compile(lanes=4, threads=1)):
        for s in (way(p.q, p.v, p.tau), way(np.tile(p.q, (3, 1)), p.v, p.tau)):
            assert_close(s.acceleration, np.broadcast_to(expected.acceleration, s.acceleration.shape), 1e-10)


def test_impacts_and_minimal_coordinates_know_functions() -> None:
    p = problem()
    v = np.random.default_rng(8).normal(size=p.robot.nv)
    assert_close(lw.ImpactDynamics(p.robot)(p.q, v).velocity, p.robot.project_velocity(p.q, v), 1e-8)
    minimal = lw.Minimal(p.robot)
    assert minimal.ny == p.robot.nv - 3
    assert np.abs(p.J @ minimal.matrix(p.q)).max() <= 1e-13
    moved = minimal.complete(p.q + 0.05)
    assert np.abs(lw.constraint_error(p.robot, moved)).max() <= 1e-13


# Names, copies, switches ---------------------------------------------------------------------------------------------


def test_follows_says_where_a_joint_is() -> None:
    cam = chain(3).constrained(
        lw.constraints.Follows("joint2", ["joint0", "joint1"], lambda x, y: x * y + 0.1, name="cam")
    )
    assert cam.constraints[0].joints == ("joint2", "joint0", "joint1")
    assert lw.constraint_error(cam, [0.5, 0.4, 0.7]) == pytest.approx(0.7 - 0.5 * 0.4 - 0.1)
    q = cam.assemble([0.5, 0.4, 0.0], fixed=["joint0", "joint1"])
    assert q[2] == pytest.approx(0.3, abs=1e-12)
    alone = lw.constraints.Follows("joint2", "joint0", np.sin)
    assert alone.joints == ("joint2", "joint0") and alone.name == "joint2:joint0"


def test_offsets_are_one_for_all_rows_or_one_each() -> None:
    def two(a: Any, b: Any) -> Any:
        return a, a * b

    for offset, expected in ((0.5, (0.5, 0.5)), ((0.5, 0.6), (0.5, 0.6)), ([0.1, 0.2], (0.1, 0.2))):
        constraint = lw.constraints.FunctionCoupling(two, ["joint0", "joint1"], offset)
        assert constraint.offset == expected and constraint.rows == 2
        error = lw.constraint_error(chain().constrained(constraint), [1.0, 2.0, 3.0])
        assert_close(error, np.array([1.0, 2.0]) - expected, 1e-15)


def test_a_part_of_a_whole_keeps_its_functions() -> None:
    part = branched()
    base = lw.Builder("base").body("base", lw.Inertia.box(3.0, (0.3, 0.2, 0.1)))
    base_robot = base.joint("free", lw.joints.Free(), "world", "base").build()
    whole = lw.attach(base_robot, part, to="base", at=(0.1, 0.0, 0.05), prefix="arm")
    assert [c.name for c in whole.constraints] == ["arm/differential", "arm/cam"]
    assert whole.constraint("arm/differential").joints == ("arm/j1", "arm/j2", "arm/j4")
    s = random_state(whole, 3)
    names = [joint for joint in whole.joint_names if joint.startswith("arm/")]
    into = {name: part.joint_names.index(name.removeprefix("arm/")) for name in names}
    q, v = np.zeros(part.nq), np.zeros(part.nv)
    for name, k in into.items():
        q[part.q_index(part.joint_names[k])] = s.q[whole.q_index(name)]
        v[part.v_index(part.joint_names[k])] = s.v[whole.v_index(name)]
    assert_close(lw.constraint_error(whole, s.q), lw.constraint_error(part, q), 1e-14, scale=1.0)
    assert_close(lw.constraint_bias(whole, s.q, s.v), lw.constraint_bias(part, q, v), 1e-13, scale=1.0)
    assert_close(lw.constraint_target(whole, s.q, s.v), lw.constraint_target(part, q, v), 1e-13, scale=1.0)
    two = lw.compose({"left": part, "right": part})
    assert two.nc == 2 * part.nc and lw.Minimal(two).ny == 2 * lw.Minimal(part).ny


def test_a_function_that_is_switched_off_binds_nothing() -> None:
    p = problem()
    for name in ("differential", "cam"):
        off, without = p.robot.switched({name: False}), p.robot.unconstrained(name)
        assert not off.constraint(name).enabled and off.nc == p.robot.nc
        np.testing.assert_array_equal(lw.constraint_error(off, p.q), lw.constraint_error(p.robot, p.q))
        for method in ("kkt", "lcaba", "prox_bbo", "ltl", "cluster"):
            s = lw.ForwardDynamics(off, method)(p.q, p.v, p.tau)
            expected = lw.ForwardDynamics(without, method)(p.q, p.v, p.tau)
            assert distance(s.acceleration, expected.acceleration) <= 1e-9, (name, method)
            assert np.abs(s.forces[name]).max() <= 1e-20
    assert p.robot.mobility(p.q).dof == 4
    assert p.robot.switched({"differential": False}).mobility(p.q).dof == 6


def test_a_captured_function_holds_where_it_was_captured() -> None:
    q = np.array([0.3, 0.5, 0.7])
    robot = chain().constrained(lw.constraints.FunctionCoupling(differential, NAMES, name="f", gains=(3.0, 4.0)), at=q)
    assert np.abs(lw.constraint_error(robot, q)).max() <= 1e-15
    made = robot.constraint("f")
    assert isinstance(made, lw.constraints.FunctionCoupling)
    assert made.gains == (3.0, 4.0) and made.offset == pytest.approx(differential(*q))


def test_copies_do_what_the_original_does() -> None:
    constraint = lw.constraints.FunctionCoupling(differential, NAMES, (0.1, 0.2), name="f", compliance=(1.0, 3.0))
    heavy = replace(constraint, compliance=5.0)
    np.testing.assert_array_equal(heavy.compliance, [5.0, 5.0])
    assert (heavy.offset, heavy.over, heavy.tape) == (constraint.offset, constraint.over, constraint.tape)
    robot = chain().constrained(constraint)
    copy = pickle.loads(pickle.dumps(robot))  # a function that has a name
    q = random_state(robot, 0).q
    assert_close(lw.constraint_jacobian(copy, q), lw.constraint_jacobian(robot, q), 1e-15)


# What is refused -----------------------------------------------------------------------------------------------------


def fails(*_: Any) -> Any:
    raise KeyError("a mistake")


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "a coordinate of another function": (
        lambda: bound(lambda a, b, c: bound(lambda x, y, z: x + a)),
        "uses an argument of another function",
    ),
    "a division by zero": (lambda: bound(lambda a, b, c: a / 0.0), "failed: ZeroDivisionError.*It may use"),
    "functions of math": (
        lambda: bound(lambda a, b, c: math.sin(a)),
        "NumPy's sin, cos, .*, not the functions of math",
    ),
    "a whole number of it": (lambda: bound(lambda a, b, c: int(a)), "not the functions of math"),
    "a branch": (lambda: bound(lambda a, b, c: a if a > 0 else b), "branches on an argument"),
    "the larger one": (lambda: bound(lambda a, b, c: max(a, b)), "branches on an argument"),
    "a test for zero": (lambda: bound(lambda a, b, c: b if a == 0 else c), "branches on an argument"),
    "a truth": (lambda: bound(lambda a, b, c: a or b), "branches on an argument"),
    "an unknown function": (lambda: bound(lambda a, b, c: np.cbrt(a)), "calls numpy.cbrt; it may use"),
    "an unknown function of two": (lambda: bound(lambda a, b, c: np.hypot(a, b)), "calls numpy.hypot; it may use"),
    "an imaginary power": (lambda: bound(lambda a, b, c: a**1j), "has the power 1j; it may use"),
    "a power of joints": (lambda: bound(lambda a, b, c: 2**a), "failed: TypeError"),
    "text": (lambda: bound(lambda a, b, c: a + "b"), "computes with str; it needs numbers"),
    "an imaginary number": (lambda: bound(lambda a, b, c: a * 1j), "computes with complex; it needs numbers"),
    "infinity": (lambda: bound(lambda a, b, c: a + np.inf), "numbers that are not finite"),
    "NaN": (lambda: bound(lambda a, b, c: a * np.nan), "numbers that are not finite"),
    "a function that raises": (lambda: bound(fails), "the function failed: KeyError: 'a mistake'"),
    "a function of others": (lambda: bound(lambda a, b: a), "failed: TypeError: .*It may use"),
    "no function": (lambda: bound(3), "failed: TypeError: 'int' object is not callable"),  # type: ignore[arg-type]
    "nothing": (lambda: bound(lambda a, b, c: None), "computes with NoneType; it needs numbers"),
    "no results": (lambda: bound(lambda a, b, c: ()), "returns no number"),
    "a table": (lambda: bound(lambda a, b, c: [[a, b], [b, c]]), "computes with list; it needs numbers"),
    "three offsets for two rows": (
        lambda: bound(lambda a, b, c: (a, b), offset=(1, 2, 3)),
        r"offset is \(1, 2, 3\), needs one number for each of 2 rows",
    ),
    "two offsets for one row": (lambda: bound(lambda a, b, c: a, offset=(1, 2)), "one number for each of 1 rows"),
    "a table of offsets": (lambda: bound(lambda a, b, c: (a, b), offset=[[1], [2]]), "one number for each of 2 rows"),
    "an infinite offset": (lambda: bound(lambda a, b, c: a, offset=np.inf), "offset must be finite"),
    "a joint twice": (
        lambda: bound(lambda a, b: a, ("joint0", "joint0")),
        r"joints \['joint0', 'joint0'\], needs at least one, and each once",
    ),
    "a joint that follows itself": (
        lambda: lw.constraints.Follows("joint0", "joint0", np.sin),
        "needs at least one, and each once",
    ),
    "no joints": (lambda: bound(lambda: 1.0, ()), r"joints \[\], needs at least one, and each once"),
    "an unknown joint": (
        lambda: bound(lambda a, b: a * b, ("joint0", "jonit1")),
        "FunctionCoupling 'f': robot 'chain of 3' has no joint 'jonit1'; did you mean 'joint1'",
    ),
    "weights": (
        lambda: bound(lambda a, b, c: (a, b), compliance=(1, 2, 3)),
        "compliance has 3 numbers, needs one or 2",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_function_coupling_refuses(what: str) -> None:
    make, message = REFUSED[what]
    with pytest.raises(lw.errors.ModelError, match=message):
        make()


@pytest.mark.parametrize(
    ("joint", "message"),
    [
        (lw.joints.Spherical(), r"joint 'ball' \(spherical\) has a configuration space that is not a vector space"),
        (lw.joints.Free(), "not a vector space"),
        (lw.joints.Planar(), "not a vector space"),
        (lw.joints.Universal(), "joint 'ball' has 2 coordinates, the constraint 1"),
    ],
    ids=["spherical", "free", "planar", "universal"],
)
def test_joints_have_one_plain_number_each(joint: lw.joints.Joint, message: str) -> None:
    box = lw.Inertia.box(1.0, (0.1, 0.2, 0.3))
    build = lw.Builder().body("a", box).joint("turn", lw.joints.Revolute("x"), "world", "a")
    build.body("b", box).joint("ball", joint, "a", "b")
    with pytest.raises(lw.errors.ModelError, match=message):
        build.constrain(lw.constraints.FunctionCoupling(lambda x, y: x * y, ["turn", "ball"], name="f")).build()


def test_a_pole_is_no_number() -> None:
    """Where a function has none, neither has the constraint."""
    robot = bound(lambda a, b, c: a / b + np.sqrt(c))
    for q in ([0.3, 0.0, 0.5], [0.3, 0.5, -0.1]):
        with pytest.raises(lw.errors.NotFinite):
            lw.constraint_error(robot, q)
    with pytest.raises(lw.errors.NotFinite):  # it has a value there, and no slope
        lw.constraint_jacobian(robot, [0.3, 0.5, 0.0])


def test_arguments_in_the_other_order_are_named() -> None:
    with pytest.raises(lw.errors.ModelError, match="takes the function first"):
        lw.constraints.FunctionCoupling(["x", "z"], lambda x, z: z - x)  # type: ignore[arg-type]
