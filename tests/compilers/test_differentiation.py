# SPDX-License-Identifier: BSD-3-Clause
"""Sweeps over traces: every operation, common factors, tangent spaces, sparsity, programs made of programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork.compilers.trace.composition import Composition
from linkwork.compilers.trace.derived_programs import TangentSpace, hvp, jvp, sparsity, vjp, whole
from linkwork.compilers.trace.differentiation import adjoints, partials
from linkwork.compilers.trace.replay import replay, signed
from linkwork.compilers.trace.tracing import Trace, trace_function
from linkwork.errors import LinkworkError
from linkwork.kernels.scalar import fma, rint, sincos, sqrt, where
from linkwork.plans.tree import tree_of
from linkwork.quantities.evaluator import Evaluator
from tests.support import linkages
from tests.support.complex_steps import Step
from tests.support.states import Floats, assert_close

H = 1e-30


def evaluated(traced: Trace, arrays: dict[str, Sequence[float]]) -> dict[str, Floats]:
    """What a straight-line program computes, in plain Python."""
    values = replay(traced, lambda array, place: float(arrays[traced.inputs[array][0]][place]))
    return {name: np.array([signed(values, s) for s in symbols], dtype=float) for name, symbols in traced.outputs}


OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": lambda x, y, z: (x + y, x + 2.0, 3.0 - z),
    "-": lambda x, y, z: (x - y, -(z - x), -x - y),
    "*": lambda x, y, z: (x * y * z, -(x * x), 2.0 * x * y),
    "/": lambda x, y, z: (x / y, 1.0 / z, -(x / y) / z, x / 4.0),
    "sqrt": lambda x, y, z: (sqrt(x * x + y * y), sqrt(2.0 + z * z), sqrt(-(-x * x))),
    "sincos": lambda x, y, z: (*sincos(x * y), *sincos(-z)),
    "fma": lambda x, y, z: (fma(x, y, z), fma(-x, y, -z), fma(x, x, 2.0)),
    "select": lambda x, y, z: (where(x, y, x * x, y * z), where(z, 0.0, -z, z), where(x, 10.0, 1.0, z)),
    "rint": lambda x, y, z: (rint(3.3 * x) * y, x - rint(x)),
    "factors": lambda x, y, z: (x * y + x * z, x * y - z * y, (x + y) * z + (x + y) * x),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_has_its_derivatives(operation: str) -> None:
    function = OPERATIONS[operation]
    rng = np.random.default_rng(0)
    x, d = rng.normal(size=(2, 3))
    names = ("x", "y", "z")
    stepped = function(*(Step(complex(a, H * b)) for a, b in zip(x, d, strict=True)))
    expected = np.array([s.z.imag / H if isinstance(s, Step) else 0.0 for s in stepped])
    state = dict(zip(names, x[:, None], strict=True))
    forward = trace_function("f", function, names)
    parts = whole(forward)
    along = {f"d{name}": [b] for name, b in zip(names, d, strict=True)}
    rates = np.concatenate(list(evaluated(jvp(forward, parts, names), {**state, **along}).values()))
    assert_close(rates, expected, 1e-14, scale=1.0)
    y = rng.normal(size=len(expected))
    seeds = {f"y_{name}": [b] for name, b in zip(parts, y, strict=True)}
    reverse = vjp(trace_function("f", function, names), parts, names)
    gradient = np.concatenate(list(evaluated(reverse, {**state, **seeds}).values()))
    assert gradient @ d == pytest.approx(y @ expected, rel=1e-12, abs=1e-13)


def test_partial_derivatives_are_those_of_sweeps() -> None:
    for function in OPERATIONS.values():
        traced = trace_function("f", function, ("x", "y", "z"))
        graph, size = traced.graph, len(traced.graph.nodes)
        for i in range(size):
            for k, c in partials(graph, i):
                assert k < i
                assert isinstance(c, float) or c.i < len(graph.nodes)


@given(st.lists(st.tuples(st.sampled_from("+-*/s"), st.integers(0, 50), st.integers(0, 50)), min_size=3, max_size=40))
@settings(max_examples=60)
def test_random_programs_have_transposed_products(steps: list[tuple[str, int, int]]) -> None:
    def function(*given: Any) -> list[Any]:
        values = list(given)
        for op, i, j in steps:
            x, y = values[i % len(values)], values[j % len(values)]
            more = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: 0.5 * x * y}
            more |= {
                "/": lambda x, y: x / (2.0 + y * y),
                "s": lambda x, y: where(x, y, sincos(x)[0], sqrt(1.0 + y * y)),
            }
            values.append(more[op](x, y))
        return values[-3:]

    names = ("a", "b", "c")
    x, d, y = np.random.default_rng(1).uniform(0.2, 1.0, size=(3, 3))
    stepped = function(*(Step(complex(a, H * b)) for a, b in zip(x, d, strict=True)))
    expected = np.array([s.z.imag / H if isinstance(s, Step) else 0.0 for s in stepped])
    state = dict(zip(names, x[:, None], strict=True))
    traced = trace_function("f", function, names)
    parts = whole(traced)
    seeds = {f"y_{name}": [b] for name, b in zip(parts, y, strict=True)}
    gradient = np.concatenate(list(evaluated(vjp(traced, parts, names), {**state, **seeds}).values()))
    along = {f"d{name}": [b] for name, b in zip(names, d, strict=True)}
    rates = np.concatenate(list(evaluated(jvp(traced, parts, names), {**state, **along}).values()))
    size = float(np.abs(gradient).max() + np.abs(expected).max())
    assert np.abs(rates - expected).max() <= 1e-12 * size
    assert abs(gradient @ d - y @ expected) <= 1e-12 * size


def test_common_factors_are_taken_out() -> None:
    traced = trace_function("f", lambda x, y, z: (x * y + x * z,), ("x", "y", "z"))
    graph = traced.graph
    seed = graph.input(9, 0)
    found = adjoints(graph, [(traced.outputs[0][1][0], seed)], lambda array, _: array == 0)
    program = Trace("g", graph, traced.inputs, (("g", (graph.symbol(found[0, 0]),)),))
    assert program.operation_count() == {"+": 1, "*": 1}  # (y + z) seed


def test_the_root_of_zero_has_no_slope() -> None:
    traced = vjp(
        trace_function("f", lambda x, y: (sqrt(x * x + y * y),), ("x", "y")), {"r": ("result0", slice(None))}, ("x",)
    )
    assert evaluated(traced, {"x": [0.0], "y": [0.0], "y_r": [2.0]})["x"] == [0.0]


def test_second_derivatives_of_a_polynomial() -> None:
    traced = trace_function("f", lambda x, y: (x * x * y,), ("x", "y"))
    second = hvp(traced, whole(traced), ("x", "y"))
    found = evaluated(second, {"x": [3.0], "y": [5.0], "y_result0": [2.0], "dx": [1.0], "dy": [10.0]})
    assert found["x"] == pytest.approx([2 * (2 * 5 * 1 + 2 * 3 * 10)])
    assert found["y"] == pytest.approx([2 * 2 * 3 * 1])


# Tangent spaces ------------------------------------------------------------------------------------------------


def test_rates_of_coordinates_are_those_of_integration() -> None:
    robot = lw.zoo.random_tree(9, bodies=8)
    space, rng = TangentSpace(tree_of(robot, ())), np.random.default_rng(0)
    q, v, h = robot.random(rng), rng.normal(size=robot.nv), 1e-6
    rates = np.array(space.rates(q.tolist(), v.tolist()))
    assert_close(rates, (robot.integrate(q, h * v) - robot.integrate(q, -h * v)) / (2 * h), 1e-9)
    assert_close(np.array(space.velocities(q.tolist(), rates.tolist())), v, 1e-13)


def test_results_on_the_manifold_have_rates_in_its_tangent_space() -> None:
    robot = lw.zoo.random_tree(9, bodies=4)
    tree = tree_of(robot, ())
    rng = np.random.default_rng(0)
    q, d, y = robot.random(rng), *rng.normal(size=(2, robot.nv))
    made = Composition()
    traced = made.trace("copy", {"q1": made.input("q", robot.nq)})
    space = TangentSpace(tree, ("q",), ("q1",))
    rate = evaluated(jvp(traced, whole(traced), ("q",), space), {"q": q, "dq": d})["q1"]
    assert_close(rate, d, 1e-13)
    assert_close(evaluated(vjp(traced, whole(traced), ("q",), space), {"q": q, "y_q1": y})["q"], y, 1e-13)


# Sparsity ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_dynamics", "mass_matrix", "frame_placement"])
def test_sparsity_is_that_of_jacobians(quantity: Any) -> None:
    robot = lw.zoo.random_tree(4, bodies=4)
    frames = [list(robot.frames)[-1]] if quantity == "frame_placement" else []
    evaluator = Evaluator(robot, quantity, frames).plain()
    program = evaluator.program
    traced = program.trace()
    rng = np.random.default_rng(0)
    names = [name for name in program.algorithm.inputs if name != "wrenches"]
    state = [robot.random(rng), *rng.normal(size=(len(names) - 1, robot.nv))]
    output = traced.outputs[0][0]
    for name in names:
        found = sparsity(traced, output, name, TangentSpace(program.tree))
        columns, product = [], evaluator.jvp.by(name)
        for k in range(robot.nv):
            rate = product(*state, np.eye(robot.nv)[k])
            columns.append(np.ravel(rate[0] if isinstance(rate, tuple) else rate))
        numbers = np.abs(np.array(columns).T) > 1e-13
        assert found.shape == numbers.shape
        assert not (numbers & ~found).any()
        assert found.sum() <= 1.15 * numbers.sum() + 12  # entries that cancel are not known to be zero


# Programs of programs -------------------------------------------------------------------------------------------


def test_a_program_that_reads_what_it_is_not_given_is_an_error() -> None:
    made = Composition()
    traced = trace_function("f", lambda x, y: (x * y,), ("x", "y"))
    with pytest.raises(LinkworkError, match="depends on y"):
        made.run(traced, {"x": made.input("x", 1)})


def test_products_by_parameters_of_constrained_dynamics() -> None:
    robot = linkages.made("five-bar")
    rng = np.random.default_rng(0)
    q = robot.assemble(robot.integrate(robot.neutral(), 0.3 * rng.normal(size=robot.nv)))
    v, tau = robot.project_velocity(q, rng.normal(size=robot.nv)), rng.normal(size=robot.nv)
    fd = lw.ForwardDynamics(robot, "prox_bbo", parameters=["mass"]).plain()
    mass = fd.parameters["mass"]
    dmass, y = rng.normal(size=mass.shape), rng.normal(size=robot.nv)
    rate, _ = fd.jvp.by("mass")(q, v, tau, dmass=dmass)
    h = 1e-5
    expected = (
        fd(q, v, tau, mass=mass + h * dmass).acceleration - fd(q, v, tau, mass=mass - h * dmass).acceleration
    ) / (2 * h)
    assert_close(rate, expected, 1e-7)
    (gradient,) = fd.vjp.by("mass")(q, v, tau, y)
    assert np.sum(gradient * dmass) == pytest.approx(y @ rate, rel=1e-10)
