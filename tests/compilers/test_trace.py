# SPDX-License-Identifier: BSD-3-Clause
"""Running text on symbols: what folds, what merges, what is never emitted, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwork as lw
from linkwork.compilers.trace.tracing import Trace, trace_function
from linkwork.errors import ProgramTooLarge
from linkwork.kernels.scalar import fma, sincos, sqrt, where
from linkwork.model.expressions import CONST, FMA, MUL, Graph, Symbol
from tests.support import robots
from tests.support.states import assert_close, random_state


@pytest.fixture
def graph() -> Graph:
    return Graph()


def inputs(graph: Graph, count: int = 2) -> list[Symbol]:
    return [graph.input(0, k) for k in range(count)]


def same(x: Symbol, y: Symbol) -> bool:
    return (x.i, x.minus) == (y.i, y.minus)


def count(*outputs: str, of: int = 2) -> dict[str, int]:
    """Operations of a function of x, y given as expressions."""
    names = ["x", "y", "z"][:of]
    scope = {"sincos": sincos, "sqrt": sqrt, "fma": fma, "where": where}
    function = eval(f"lambda {', '.join(names)}: ({', '.join(outputs)},)", scope)
    return trace_function("test", function, names).operation_count()


# Folding -------------------------------------------------------------------------------------------


def test_a_difference_with_itself_is_zero(graph: Graph) -> None:
    x, _ = inputs(graph)
    assert x - x == 0.0
    assert x + (-x) == 0.0


def test_a_sum_with_itself_is_a_product(graph: Graph) -> None:
    x, _ = inputs(graph)
    assert same(x + x, 2.0 * x)


def test_zeros_and_ones_vanish(graph: Graph) -> None:
    x, _ = inputs(graph)
    assert x + 0.0 is x
    assert 0.0 + x is x
    assert x - 0.0 is x
    assert x * 1.0 is x
    assert x * 0.0 == 0.0
    assert 0.0 / x == 0.0
    assert same(x * -1.0, -x)
    assert same(0.0 - x, -x)
    assert len(graph.nodes) == 2


def test_a_quotient_with_itself_is_one(graph: Graph) -> None:
    x, _ = inputs(graph)
    assert x / x == 1.0
    assert -x / x == -1.0


def test_division_by_a_constant_is_a_product(graph: Graph) -> None:
    x, _ = inputs(graph)
    assert graph.nodes[(x / 4.0).i][0] is MUL


def test_constants_gather_in_products(graph: Graph) -> None:
    x, _ = inputs(graph)
    assert same(2.0 * (3.0 * x), 6.0 * x)
    assert same(0.5 * (2.0 * x), x)


def test_constants_fold(graph: Graph) -> None:
    two, three = graph.const(2.0), graph.const(-3.0)
    assert two + three == -1.0
    assert two * three == -6.0
    assert three - two == -5.0


def test_equal_expressions_are_one_node_whatever_their_order_and_sign(graph: Graph) -> None:
    x, y = inputs(graph)
    assert same(x + y, y + x)
    assert same(x * y, y * x)
    assert same(x - y, -(y - x))
    assert same((-x) * y, -(x * y))
    assert same((-x) * (-y), x * y)
    assert same((-x) / y, x / (-y))


def test_sine_is_odd_and_cosine_even(graph: Graph) -> None:
    x, _ = inputs(graph)
    (s, c), (t, d) = x.sincos(), (-x).sincos()
    assert same(t, -s)
    assert same(d, c)


# Branching -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "branch",
    [
        lambda x, y: bool(x),
        lambda x, y: x < y,
        lambda x, y: x >= 0.0,
        lambda x, y: x == 0.0,
        lambda x, y: x != y,
        lambda x, y: float(x),
        lambda x, y: [1, 2][x],
        lambda x, y: math.sin(x),
        lambda x, y: max(x, y),
    ],
    ids=["bool", "less", "at least", "equal", "unequal", "float", "index", "math", "max"],
)
def test_text_that_branches_on_the_state_is_refused(graph: Graph, branch: object) -> None:
    with pytest.raises(TypeError, match="where"):
        branch(*inputs(graph))  # type: ignore[operator]


def test_where_is_the_branch_that_is_allowed() -> None:
    assert count("where(x, y, x, y)") == {"select": 1}


# Counting ------------------------------------------------------------------------------------------


def test_operations_of_a_small_function_are_counted_exactly() -> None:
    assert count("x * y + sqrt(x) / y - 1.0") == {"*": 1, "+": 1, "-": 1, "sqrt": 1, "/": 1}


def test_sine_and_cosine_of_one_angle_are_one_operation() -> None:
    assert count("sincos(x)[0] * sincos(x)[1]") == {"*": 1, "sincos": 1}


def test_equal_subexpressions_are_counted_once() -> None:
    assert count("(x + y) * (y + x)", "x + y") == {"+": 1, "*": 1}


def test_what_no_output_needs_is_not_emitted() -> None:
    def wasteful(x: Symbol, y: Symbol) -> tuple[Symbol]:
        _ = sqrt(x) * y + sincos(y)[0]
        return (x + y,)

    assert trace_function("wasteful", wasteful, ["x", "y"]).operation_count() == {"+": 1}


def test_operands_come_before_the_operations_that_read_them() -> None:
    robot = lw.zoo.random_tree(1, bodies=4)
    fd = lw.ForwardDynamics(robot)
    from linkwork.compilers.trace.tracing import trace
    from linkwork.model.expressions import operands

    made = trace(fd.program.algorithm, fd.program.tree)
    place = {i: k for k, i in enumerate(made.needed())}
    assert all(place[k] < place[i] for i in place for k in operands(made.graph.nodes[i]))


def test_multiply_add_keeps_its_signs(graph: Graph) -> None:
    x, y = inputs(graph)
    node = graph.nodes[fma(-x, y, -2.0).i]
    assert node[0] is FMA
    assert graph.nodes[node[3]] == (CONST, -2.0)
    assert isinstance(trace_function("f", lambda a: (fma(a, a, a),), ["a"]), Trace)


def test_a_pendulum_needs_few_operations() -> None:
    """a = (tau - m g l sin q) / I: one sine, and no more than a few products around it."""
    total = lw.operation_count(lw.ForwardDynamics(lw.zoo.pendulum()))
    assert total["sincos"] == 1
    assert total.total <= 6


def test_forward_dynamics_of_talos_fits_in_17000_operations() -> None:
    assert lw.operation_count(lw.ForwardDynamics(robots.load("talos"))).total <= 17_000


def test_operation_counts_are_those_of_the_text_whichever_way_it_runs() -> None:
    fd = lw.ForwardDynamics(lw.zoo.pendulum(2))
    assert fd.plain().operation_count() == fd.operation_count() == fd.compile().operation_count()


# Size ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_chain_of_a_thousand_links_is_refused_in_favor_of_native() -> None:
    robot = lw.zoo.serial_chain(1000)
    with pytest.raises(ProgramTooLarge, match="native"):
        lw.ForwardDynamics(robot).compile()


@pytest.mark.slow
def test_operations_are_counted_however_many_there_are() -> None:
    counts = [lw.ForwardDynamics(lw.zoo.serial_chain(n)).operation_count().total for n in (100, 500)]
    assert counts[1] > 120_000
    assert 4.9 < counts[1] / counts[0] < 5.3  # linear in the number of links


def test_a_chain_of_a_hundred_links_compiles_and_agrees_with_native() -> None:
    """Torques that hold an acceleration of one: else a chain of 100 links whips, and M is too ill for 1e-10."""
    robot = lw.zoo.serial_chain(100)
    s = random_state(robot, 0, 5)
    fd = lw.ForwardDynamics(robot)
    tau = lw.InverseDynamics(robot)(s.q, s.v, s.a)
    native = fd(s.q, s.v, tau).acceleration
    assert_close(fd.compile()(s.q, s.v, tau).acceleration, native, 1e-10)


def test_a_limit_of_operations_holds_whether_or_not_the_program_is_in_the_cache() -> None:
    fd = lw.ForwardDynamics(lw.zoo.pendulum(3))
    assert np.isfinite(fd.compile()([0.1] * 3, [0.0] * 3, [0.0] * 3).acceleration).all()
    with pytest.raises(ProgramTooLarge, match="native"):
        fd.compile(max_operations=10)


def test_outputs_too_wide_for_the_stack_take_fewer_lanes() -> None:
    build = lw.Builder("fan")
    for k in range(200):
        build.body(f"blade{k}", lw.Inertia.box(1.0 + k, (0.1, 0.2, 0.3)))
        build.joint(f"joint{k}", lw.joints.Revolute("x"), "world", f"blade{k}")
    robot = build.build()
    evaluator = lw.Evaluator(robot, "mass_matrix")
    q = np.stack([robot.random(k) for k in range(5)])
    assert_close(evaluator.compile(lanes=16)(q), evaluator(q), 1e-12)
