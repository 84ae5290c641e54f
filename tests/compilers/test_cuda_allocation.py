# SPDX-License-Identifier: BSD-3-Clause
"""Where threads of a GPU keep values: right ones, in as many registers and slots as there are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from linkwork.compilers.cuda.allocation import Limits, allocate
from linkwork.compilers.cuda.slots import Allocation, Begin, Compute, End, Load, Put, Store
from linkwork.compilers.trace import branches
from linkwork.compilers.trace.replay import replay, signed
from linkwork.compilers.trace.tracing import Trace
from linkwork.kernels.scalar import fma, sincos, sqrt, where
from linkwork.model.expressions import CONST, INPUT, Graph, Symbol


def random_trace(rng: np.random.Generator, size: int, inputs: int, further: bool = False) -> Trace:
    """A random program. Of a further iteration, the second array is an output too."""
    graph = Graph()
    pool: list[Any] = [graph.input(0, j) for j in range(inputs)]
    if further:
        pool += [graph.input(1, j) for j in range(inputs)]
    while len(pool) < size:
        a, b, c = (pool[k] for k in rng.integers(max(0, len(pool) - 40), len(pool), 3))
        kind = rng.integers(8)
        made = [a + b, a - 0.5 * b, 0.5 * (a * b), sqrt(1.0 + a * a), fma(a, 0.25, c), -a + c, None, None][kind]
        if kind == 6:
            made = sum(sincos(a))
        elif kind == 7:
            x, y = b, c
            for _ in range(12):  # enough work for a branch
                x, y = 0.5 * (x + sqrt(1.0 + y * y)), 0.5 * (x - y * a)
            made = where(a, 0.2, x, b)
        if isinstance(made, Symbol):
            pool.append(made)
    outputs = tuple(pool[k] if rng.integers(2) else -pool[k] for k in rng.integers(0, len(pool), inputs))
    return Trace("random", graph, (("x", inputs),), (("y", outputs),))


def run(trace: Trace, made: Allocation, limits: Limits, arrays: list[np.ndarray[Any, Any]]) -> None:
    """Follow the actions with numbers, as a thread would, and look at registers and slots."""
    nodes = trace.graph.nodes
    registers: dict[int, float] = {}
    memory: dict[Any, float] = {}
    skipping = False
    before: set[int] = set()

    def value(i: int) -> float:
        return float(nodes[i][1]) if nodes[i][0] is CONST else registers[i]

    def computed(i: int) -> float:
        operands, one = _one(trace, i)
        return float(replay(one, lambda array, k: value(operands[k]))[len(operands)])

    for action in made.actions:
        if isinstance(action, End):
            skipping = False
            registers = {i: x for i, x in registers.items() if i in before}
        elif skipping:
            continue
        elif isinstance(action, Begin):
            before = set(registers)
            skipping = not value(action.below) < value(action.bound)
        elif isinstance(action, Load):
            registers[action.value] = (
                float(arrays[nodes[action.value][1]][nodes[action.value][2]])
                if action.slot is None
                else memory[action.slot]
            )
        elif isinstance(action, Store):
            memory[action.slot] = value(action.value)
            assert action.slot.place < (made.shared if action.slot.shared else made.local)
        elif isinstance(action, Compute):
            registers.update({i: computed(i) for i in action.values})
        elif isinstance(action, Put):
            symbol = trace.results[action.array][action.place]
            arrays[1][action.place] = -value(action.value) if symbol.minus else value(action.value)
    assert made.shared <= limits.shared


def _one(trace: Trace, i: int) -> tuple[list[int], Trace]:
    """A program of one node, whose operands are inputs."""
    op, *rest = trace.graph.nodes[i]
    operands = list(dict.fromkeys(rest))
    graph = Graph()
    graph.nodes = [(INPUT, 0, k) for k in range(len(operands))]
    graph.nodes.append((op, *(operands.index(k) for k in rest)))
    return operands, replace(trace, graph=graph, outputs=(("y", (Symbol(graph, len(operands), False),)),), carry=())


def most_registers(trace: Trace, made: Allocation) -> int:
    """The most values that are in registers at a time: from when they come to when they are last read."""
    nodes = trace.graph.nodes
    came: dict[int, int] = {}
    stays: list[tuple[int, int]] = []
    read: dict[int, int] = {}

    def end(i: int) -> None:
        if i in came:
            stays.append((came.pop(i), read.get(i, 0)))

    for now, action in enumerate(made.actions):
        if isinstance(action, Compute):
            reads = tuple(k for i in action.values for k in nodes[i][1:])
        elif isinstance(action, Begin):
            reads = (action.below, action.bound)
        else:
            reads = (action.value,) if isinstance(action, Store | Put) else ()
        for i in reads:
            if nodes[i][0] is not CONST:
                assert i in came, "a value is read that is in no register"
                read[i] = now
        for i in (action.value,) if isinstance(action, Load) else getattr(action, "values", ()):
            end(i)
            came[i] = read[i] = now
    for i in list(came):
        end(i)
    steps = np.zeros(len(made.actions) + 1, int)
    for first, last in stays:
        steps[first:last] += 1
    return int(steps.max())


@pytest.fixture(autouse=True)
def small_branches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branches, "WORTH", 20)


@given(seed=st.integers(0, 10**6), registers=st.integers(8, 40), shared=st.integers(0, 12))
@settings(max_examples=40, phases=[Phase.explicit, Phase.generate])
def test_values_are_right_and_registers_suffice(seed: int, registers: int, shared: int) -> None:
    rng = np.random.default_rng(seed)
    trace = random_trace(rng, 150, 6)
    limits = Limits(registers, shared)
    made = allocate(trace, limits)
    x = rng.normal(size=6)
    values = replay(trace, lambda array, place: float(x[place]))
    arrays = [x, np.full(6, np.nan)]
    run(trace, made, limits, arrays)
    assert np.array_equal(arrays[1], [signed(values, symbol) for symbol in trace.outputs[0][1]])
    assert most_registers(trace, made) <= registers


@given(seed=st.integers(0, 10**6))
@settings(max_examples=20, phases=[Phase.explicit, Phase.generate])
def test_outputs_that_are_inputs_are_read_before_they_are_written(seed: int) -> None:
    rng = np.random.default_rng(seed)
    trace = random_trace(rng, 60, 6, further=True)
    limits = Limits(8, 2)
    made = allocate(trace, limits, at_once=False)
    arrays = [rng.normal(size=6), rng.normal(size=6)]
    values = replay(trace, lambda array, place: float(arrays[array][place]))
    expected = [signed(values, symbol) for symbol in trace.outputs[0][1]]
    run(trace, made, limits, arrays)
    assert np.array_equal(arrays[1], expected)


def test_branches_are_branches() -> None:
    """The random programs have some, whose bodies are skipped where the condition does not hold."""
    made = [allocate(random_trace(np.random.default_rng(seed), 150, 6), Limits(16, 4)) for seed in range(5)]
    assert any(isinstance(action, Begin) for one in made for action in one.actions)


def test_values_that_are_read_often_are_in_shared_memory() -> None:
    graph = Graph()
    x = [graph.input(0, j) for j in range(40)]
    often, seldom = x[0] * x[1], x[2] * x[3]
    total, outputs = x[4] + 1.0, list[Any]()
    for k in range(5, 40):
        total = total * x[k] + (often if k % 6 == 0 else x[k - 1])
        outputs.append(total)
    outputs.append(total + seldom)
    rest = outputs[0]
    for y in outputs[1:]:
        rest = rest * 0.5 + y * y
    trace = Trace("often", graph, (("x", 40),), (("y", (seldom, often, *outputs, rest)),))
    made = allocate(trace, Limits(8, 1))
    loads = [action for action in made.actions if isinstance(action, Load) and action.slot is not None]
    assert loads and made.shared == 1
