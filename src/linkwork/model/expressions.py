# SPDX-License-Identifier: BSD-3-Clause
"""Scalar expressions as a hash-consed graph, from which straight-line programs are emitted and tapes are recorded.

A `Symbol` is a node of the graph with a sign. Signs are carried outside the nodes, constants are positive, and operands
of sums and products are ordered, so that equal subexpressions become one node whatever way they are written. Constants
fold, zeros and ones vanish.
"""

from __future__ import annotations

import sys
from typing import Any

from linkwork.errors import ProgramTooLarge

OPCODES = ("input", "const", "+", "-", "*", "/", "sqrt", "sin", "cos", "fma", "rint", "select", "neg")
"""All operations of a node."""
INPUT, CONST, ADD, SUB, MUL, DIV, SQRT, SIN, COS, FMA, RINT, SELECT, NEG = OPCODES
CODES = {op: code for code, op in enumerate(OPCODES)}
"""Operations as integers, for tapes that kernels run."""

Node = tuple[Any, ...]
"""An operation and its operands: numbers of earlier nodes (INPUT: array, place; CONST: value)."""


def operands(node: Node) -> tuple[int, ...]:
    """The nodes that a node reads."""
    return () if node[0] is INPUT or node[0] is CONST else node[1:]


class Graph:
    """Nodes in the order in which they were first made."""

    def __init__(self, limit: int = sys.maxsize) -> None:
        self.nodes: list[Node] = []
        self.limit = limit
        self._index: dict[Node, int] = {}

    def node(self, *parts: Any) -> int:
        """The number of a node, new or known."""
        number = self._index.get(parts)
        if number is None:
            number = self._index[parts] = len(self.nodes)
            self.check(number)
            self.nodes.append(parts)
        return number

    def check(self, size: int) -> None:
        """Refuse to grow without bounds."""
        if size >= self.limit:
            raise ProgramTooLarge(
                f"the straight-line program would have more than {self.limit} operations; "
                "call the evaluator without compile(): its native code needs no program for each mechanism"
            )

    def input(self, array: int, place: int) -> Symbol:
        """A number that comes in from outside."""
        return Symbol(self, self.node(INPUT, array, place), False)

    def const(self, value: float) -> Symbol:
        """A number."""
        return Symbol(self, self.node(CONST, abs(value)), value < 0)

    def symbol(self, x: Any) -> Symbol:
        """``x`` as a symbol of this graph."""
        return x if isinstance(x, Symbol) else self.const(float(x))

    def value(self, i: int) -> float | None:
        """The value of a constant node."""
        node = self.nodes[i]
        return node[1] if node[0] is CONST else None


class Symbol:
    """A scalar of a graph: behaves like a float in kernel code."""

    __slots__ = ("g", "i", "minus")

    def __init__(self, g: Graph, i: int, minus: bool) -> None:
        self.g = g
        self.i = i
        self.minus = minus

    def __bool__(self) -> bool:
        raise TypeError("kernel code may not branch on a number of the state: use where()")

    def _compare(self, other: Any) -> bool:
        return bool(self)

    __lt__ = __gt__ = __le__ = __ge__ = __eq__ = __ne__ = _compare
    __hash__ = None  # type: ignore[assignment]
    __float__ = __int__ = __index__ = __bool__

    def __neg__(self) -> Symbol:
        return Symbol(self.g, self.i, not self.minus)

    def __add__(self, other: Any) -> Any:
        g = self.g
        if type(other) is not Symbol:
            if other == 0.0:
                return self
            other = g.const(float(other))
        return _sum(g, self.i, self.minus, other.i, other.minus)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        g = self.g
        if type(other) is not Symbol:
            if other == 0.0:
                return self
            other = g.const(float(other))
        return _sum(g, self.i, self.minus, other.i, not other.minus)

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def __mul__(self, other: Any) -> Any:
        g = self.g
        if type(other) is not Symbol:
            if other == 0.0:
                return 0.0
            if other == 1.0:
                return self
            if other == -1.0:
                return -self
            other = g.const(float(other))
        return _product(g, self.i, other.i, self.minus != other.minus)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        g = self.g
        if type(other) is not Symbol:
            return self * (1.0 / other)
        if self.i == other.i:
            return -1.0 if self.minus != other.minus else 1.0
        return Symbol(g, g.node(DIV, self.i, other.i), self.minus != other.minus)

    def __rtruediv__(self, other: Any) -> Any:
        return 0.0 if other == 0.0 else self.g.const(float(other)) / self

    def sqrt(self) -> Symbol:
        """For `scalar.sqrt`."""
        return Symbol(self.g, self.g.node(SQRT, self.signed()), False)

    def sincos(self) -> tuple[Symbol, Symbol]:
        """For `scalar.sincos`."""
        g = self.g
        return Symbol(g, g.node(SIN, self.i), self.minus), Symbol(g, g.node(COS, self.i), False)

    def rint(self) -> Symbol:
        """For `scalar.rint`."""
        return Symbol(self.g, self.g.node(RINT, self.i), self.minus)

    def fma(self, a: Any, b: Any, c: Any) -> Symbol:
        """For `scalar.fma`."""
        g = self.g
        parts = [g.symbol(x).signed() for x in (a, b, c)]
        return Symbol(g, g.node(FMA, *parts), False)

    def where(self, below: Any, bound: Any, then: Any, otherwise: Any) -> Any:
        """For `scalar.where`."""
        if type(then) is float and type(otherwise) is float and then == otherwise:
            return then
        if type(below) is float and type(bound) is float:
            return then if below < bound else otherwise
        g = self.g
        parts = [g.symbol(x).signed() for x in (below, bound, then, otherwise)]
        return Symbol(g, g.node(SELECT, *parts), False)

    def signed(self) -> int:
        """The number of a node that has this value, sign included."""
        if not self.minus:
            return self.i
        value = self.g.value(self.i)
        return self.g.node(NEG, self.i) if value is None else self.g.node(CONST, -value)


def _sum(g: Graph, i: int, i_minus: bool, j: int, j_minus: bool) -> Any:
    """``±i ± j``, the first operand being the older node."""
    if i == j:
        if i_minus != j_minus:
            return 0.0
        return _product(g, i, g.const(2.0).i, i_minus)
    x, y = g.value(i), g.value(j)
    if x is not None and y is not None:
        return (-x if i_minus else x) + (-y if j_minus else y)
    if i > j:
        i, i_minus, j, j_minus = j, j_minus, i, i_minus
    return Symbol(g, g.node(ADD if i_minus == j_minus else SUB, i, j), i_minus)


def _product(g: Graph, i: int, j: int, minus: bool) -> Any:
    """``± i j``, constants gathered into one."""
    x, y = g.value(i), g.value(j)
    if x is not None:
        i, j, x, y = j, i, y, x
    if y is not None:
        if x is not None:
            return -x * y if minus else x * y
        node = g.nodes[i]
        if node[0] is MUL and (inner := g.value(node[2])) is not None:
            i, y = node[1], y * inner
            j = g.const(y).i
        if y == 1.0:
            return Symbol(g, i, minus)
        return Symbol(g, g.node(MUL, i, j), minus)
    return Symbol(g, g.node(MUL, i, j) if i < j else g.node(MUL, j, i), minus)
