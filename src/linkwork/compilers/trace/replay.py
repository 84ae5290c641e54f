# SPDX-License-Identifier: BSD-3-Clause
"""A trace run once more: node by node, on numbers, or on symbols of another graph."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from linkwork.compilers.trace.tracing import Trace
from linkwork.kernels import scalar
from linkwork.model.expressions import ADD, CONST, COS, DIV, FMA, INPUT, MUL, NEG, RINT, SELECT, SIN, SQRT, SUB, Symbol

Bring = Callable[[int, int], Any]
"""``bring(array, place)``: what stands there, a number or a symbol."""


def replay(
    traced: Trace, bring: Bring, actions: Mapping[str, Callable[..., Any]] = MappingProxyType({})
) -> dict[int, Any]:
    """The value of each node: a number, or a symbol of another graph.

    Args:
        traced: The program.
        bring: Values of inputs.
        actions: Replacements of some operations.
    """
    known = {**_ACTIONS, **actions}
    result: dict[int, Any] = {}
    for i in traced.needed():
        operation, *operands = traced.graph.nodes[i]
        if operation is INPUT:
            result[i] = bring(*operands)
        elif operation is CONST:
            result[i] = operands[0]
        else:
            result[i] = known[operation](*(result[k] for k in operands))
    return result


def signed(values: Mapping[int, Any], symbol: Symbol) -> Any:
    """The value of a symbol, after `replay`."""
    return -values[symbol.i] if symbol.minus else values[symbol.i]


def _divided(x: Any, y: Any) -> Any:
    """As machine code divides: by zero too."""
    if isinstance(y, float) and isinstance(x, float):
        with np.errstate(all="ignore"):
            return float(np.float64(x) / np.float64(y))
    return x / y


def _chosen(below: Any, bound: Any, then: Any, otherwise: Any) -> Any:
    if isinstance(below, float) and isinstance(bound, float):
        return then if below < bound else otherwise
    return scalar.where(below, bound, then, otherwise)


_ACTIONS: Mapping[str, Callable[..., Any]] = {
    ADD: operator.add,
    SUB: operator.sub,
    MUL: operator.mul,
    DIV: _divided,
    NEG: operator.neg,
    SQRT: scalar.sqrt,
    RINT: scalar.rint,
    FMA: scalar.fma,
    SELECT: _chosen,
    SIN: lambda x: scalar.sincos(x)[0],
    COS: lambda x: scalar.sincos(x)[1],
}


class Interpreter:
    """A straight-line program as kernels that run in plain Python alone: `first`, `iterate` and `refine`.

    Args:
        make: Makes the program, when it is first run.
    """

    def __init__(self, make: Callable[[], Trace]) -> None:
        self._make = make
        self._state = threading.local()

    @cached_property
    def _trace(self) -> Trace:
        return self._make()

    def first(self, tree: Any, w: Any, *arrays: Any) -> None:
        """The program itself, on inputs, then outputs."""
        self._run(self._trace, arrays, ())

    def iterate(self, tree: Any, w: Any, *arrays: Any) -> None:
        """A further iteration."""
        self._run(self._trace.iterate, arrays, self._state.carry)

    def refine(self, tree: Any, w: Any, *arrays: Any) -> None:
        """An iteration with which iterations may end."""
        self._run(self._trace.refine, arrays, self._state.carry)

    def _run(self, traced: Trace | None, arrays: Sequence[Any], carry: Sequence[float]) -> None:
        assert traced is not None
        flat = [[float(x) for x in array.ravel()] for array in arrays]
        flat.append(list(carry))
        values = replay(traced, lambda array, place: flat[array][place])
        for (_, symbols), array in zip(traced.outputs, arrays[len(traced.inputs) :], strict=True):
            array[...] = np.array([float(signed(values, s)) for s in symbols]).reshape(array.shape)
        if traced is self._trace:
            self._state.carry = [float(signed(values, s)) for s in traced.carry]
