# SPDX-License-Identifier: BSD-3-Clause
"""Packs of straight-line programs: neighboring results by vector instructions, the same numbers in fewer of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork.compilers import llvm
from linkwork.compilers.entry.batch import SYMBOL
from linkwork.compilers.entry.entry_point import DONE, entry_point
from linkwork.compilers.trace import emit, packing
from linkwork.compilers.trace.packing import ONE, Pack, Packing, even_lines, least_lines, packed
from linkwork.compilers.trace.replay import replay, signed
from linkwork.compilers.trace.tracing import Trace
from linkwork.dynamics.jacobians.trees import ForwardDerivatives
from linkwork.model.expressions import CONST, Graph

WIDTH = 8


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pack whatever can be packed."""
    _be_eager(monkeypatch)


def _be_eager(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(packing, "LEAST_SIZE", 0)
    patch.setattr(packing, "LEAST_GAIN", np.inf)
    patch.setattr(packing, "LEAST_FILL", 1.2)


def product_of_matrices(rows: int, inner: int, columns: int, seed: int) -> Trace:
    """``C = A B`` and ``A E A'``, with zeros, constants and signs here and there, and sums that others use."""
    rng = np.random.default_rng(seed)
    graph = Graph()
    A, B, d = np.zeros((rows, inner), dtype=object), np.zeros((inner, columns), dtype=object), list[Any]()
    for k, array in enumerate((A, B)):
        for place, _ in enumerate(array.ravel()):
            kind = rng.integers(6)
            x = graph.input(k, place)
            array.ravel()[place] = (x, -x, 0.0, 1.0, float(rng.normal()), x * x + 0.5)[kind]
    d = [graph.input(2, k) for k in range(inner)]
    C = np.array([[sum(A[i, t] * B[t, j] for t in range(inner)) for j in range(columns)] for i in range(rows)])
    C = C + rng.integers(2, size=C.shape) * C[0, 0]
    S = [[sum(A[i, t] * d[t] * A[j, t] for t in range(inner)) for j in range(rows)] for i in range(rows)]
    outputs = [("C", C), ("S", np.array(S, dtype=object)), ("sums", np.array([C.sum(), sum(d)], dtype=object))]
    inputs = (("A", rows * inner), ("B", inner * columns), ("d", inner))
    named = tuple((name, tuple(graph.symbol(x) for x in array.ravel())) for name, array in outputs)
    return Trace("product", graph, inputs, named, shapes=tuple(array.shape for _, array in outputs))


def numbers_of(trace: Trace, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=size) for _, size in trace.inputs]


def replayed(trace: Trace, inputs: list[Any]) -> list[Any]:
    values = replay(trace, lambda array, place: inputs[array][place])
    return [np.array([float(signed(values, s)) for s in symbols]) for symbols in trace.results]


def interpreted(program: Packing, inputs: list[Any]) -> list[Any]:
    """Both stages, number by number."""
    *outputs, carry = replayed(program.first, inputs)
    nodes = program.first.graph.nodes
    known: dict[Pack, Any] = {}

    def value(pack: Pack) -> Any:
        if pack not in known:
            live = np.array([entry is not None for entry in pack])
            if pack in program.sums:
                parts = [(-1.0 if t.minus else 1.0) * factor(t.factor) * value(t.pack) for t in program.sums[pack]]
                known[pack] = np.sum(parts, axis=0)
            elif pack in program.places:
                place, minus = program.places[pack]
                assert place % program.width == 0
                stored = carry[place : place + len(pack)]
                known[pack] = np.where(live, -stored if minus else stored, 0.0)
            else:
                known[pack] = np.array([0.0 if e is None else e[1] * constant(e[0]) for e in pack])
        return known[pack]

    def factor(i: int) -> float:
        if i == ONE:
            return 1.0
        place, minus = program.factors[i]
        return float(-carry[place] if minus else carry[place])

    def constant(i: int) -> float:
        if i == ONE:
            return 1.0
        assert nodes[i][0] is CONST
        return float(nodes[i][1])

    for result in program.results:
        found = value(result.pack)
        outputs[result.array][result.place : result.place + len(found)] = -found if result.minus else found
    return outputs


def run(trace: Trace, program: Packing | None, dtype: str, lanes: int, inputs: list[Any]) -> list[Any]:
    """Machine code of a program, for a batch."""
    code = llvm.Code(llvm.object_code(emit.module(trace, dtype, lanes, program)), SYMBOL)
    shapes = [(size,) for _, size in trace.inputs] + list(trace.shapes)
    entry = entry_point(code, None, np.dtype(dtype), shapes, len(trace.inputs), ())
    states = len(inputs[0])
    outputs = [np.full((states, *shape), np.nan, dtype) for shape in trace.shapes]
    assert entry(*(np.ascontiguousarray(x, dtype=dtype) for x in inputs), *outputs) == DONE
    return outputs


@settings(max_examples=40)
@given(st.integers(1, 6), st.integers(1, 5), st.integers(1, 19), st.integers(0, 10**6), st.sampled_from([2, 4, 8]))
def test_both_stages_are_the_program(rows: int, inner: int, columns: int, seed: int, width: int) -> None:
    trace = product_of_matrices(rows, inner, columns, seed)
    inputs = numbers_of(trace, seed)
    with pytest.MonkeyPatch.context() as patch:
        _be_eager(patch)
        program = packed(trace, width)
    if program is not None:
        for found, expected in zip(interpreted(program, inputs), replayed(trace, inputs), strict=False):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("width", [4, 8])
@pytest.mark.parametrize("lanes", [1, 4, 8])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_machine_code_of_packs(eager: None, width: int, lanes: int, dtype: str) -> None:
    trace = product_of_matrices(5, 6, 13, seed=width)
    program = packed(trace, width)
    assert program is not None
    states = [numbers_of(trace, seed) for seed in range(11)]
    inputs = [np.array(x) for x in zip(*states, strict=True)]
    precision = np.finfo(dtype).eps
    for k, found in enumerate(run(trace, program, dtype, lanes, inputs)):
        expected = np.array([replayed(trace, state)[k] for state in states]).reshape(found.shape)
        np.testing.assert_allclose(found, expected, rtol=0, atol=100 * precision * np.abs(expected).max())


def test_matrix_products_become_multiply_adds() -> None:
    graph = Graph()
    n = 2 * WIDTH
    A, B = (np.array([[graph.input(k, n * i + j) for j in range(n)] for i in range(n)]) for k in range(2))
    C = np.array([[sum(A[i, t] * B[t, j] for t in range(n)) for j in range(n)] for i in range(n)])
    symbols = tuple(C.ravel())
    trace = Trace("product", graph, (("A", n * n), ("B", n * n)), (("C", symbols),), shapes=((n, n),))
    program = packed(trace, WIDTH)
    assert program is not None
    assert sum(map(len, program.sums.values())) == n * n * n // WIDTH
    assert sum(program.first.operation_count().values()) == 0


def test_jacobians_need_fewer_instructions() -> None:
    trace = ForwardDerivatives(lw.zoo.serial_chain(12)).program.trace()
    program = packed(trace, WIDTH)
    assert program is not None
    operations = sum(trace.operation_count().values())
    assert program.arrays == {0, 1, 2}
    assert sum(program.first.operation_count().values()) < 0.6 * operations
    assert program.instructions() < 0.8 * packing.SCALAR * operations


def test_specialized_jacobians_are_the_native_ones() -> None:
    robot = lw.zoo.pendulum(6)
    native = ForwardDerivatives(robot, threads=1)
    program = packed(native.program.trace(), WIDTH)
    assert program is not None
    compiled = native.compile()
    rng = np.random.default_rng(5)
    q, v, tau = rng.normal(size=(3, 11, robot.nv))
    expected = native(q, v, tau)
    for found in (compiled(q, v, tau), [np.array(x) for x in zip(*map(compiled, q, v, tau), strict=True)]):
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=0, atol=1e-11 * np.abs(y).max())


def test_small_programs_and_vectors_are_left_alone() -> None:
    assert packed(ForwardDerivatives(lw.zoo.pendulum(2)).program.trace(), WIDTH) is None
    aba = lw.ForwardDynamics(lw.zoo.serial_chain(20), "aba").program.trace()
    assert packed(aba, WIDTH) is None


@given(st.integers(0, 100), st.sampled_from([2, 4, 8]))
def test_lines_cover_rows(size: int, width: int) -> None:
    factors = [{column // 3, column // 5 + 100} for column in range(size)]
    for found in (even_lines(size, width), least_lines(factors, width, 1)):
        assert [k for first, last in found for k in range(first, last)] == list(range(size))
        assert all(0 < last - first <= width for first, last in found)


def test_lines_end_where_columns_have_nothing_in_common() -> None:
    factors = [{"a"}] * 3 + [{"b"}] * 6 + [{"c"}] * 5
    assert least_lines(factors, WIDTH, 0) == [(0, 3), (3, 9), (9, 14)]
