# SPDX-License-Identifier: BSD-3-Clause
"""A trace cut into parts: straight lines of code short enough for any compiler, and the memory between them.

Numbers that a later part needs go through a work array. A place in it is taken again once no later part reads it, so
that the array stays small. Inputs are read again where they are needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from linkwork.compilers.trace.tracing import Trace, is_zero, mostly_zero
from linkwork.model.expressions import CONST, INPUT, Symbol, operands

LENGTH = 800
"""Operations of a part. Compilers need more than twice the time for twice the length."""


@dataclass(frozen=True)
class Store:
    """A number that goes to a place of an array of results (outputs, then what is carried)."""

    array: int
    place: int
    symbol: Symbol
    late: bool
    """Whether it has to wait for the end of its part."""


@dataclass
class Part:
    """One straight line."""

    nodes: list[int] = field(default_factory=list)
    """Operations, in order."""
    kept: dict[int, int] = field(default_factory=dict)
    """Nodes computed here that later parts read, and their places in the work array."""
    loaded: dict[int, int] = field(default_factory=dict)
    """Nodes of earlier parts that are read here, and their places."""
    stores: list[Store] = field(default_factory=list)
    """Results that are known here."""


@dataclass(frozen=True)
class Parts:
    """A program of parts, to be run one after the other."""

    trace: Trace
    parts: tuple[Part, ...]
    cleared: tuple[int, ...]
    """Outputs that are zeros for the most part: they are cleared beforehand."""
    work: int
    """Numbers of the work array."""


def cut(trace: Trace, length: int | None = None) -> Parts:
    """Cut a trace into parts. Results that take the place of what is read are stored at the very end.

    Args:
        trace: The program.
        length: Operations of a part; by default `LENGTH`.
    """
    length = LENGTH if length is None else length
    nodes = trace.graph.nodes
    needed = trace.needed()
    order = [i for i in needed if nodes[i][0] not in (INPUT, CONST)]
    parts = [Part(order[k : k + length]) for k in range(0, len(order), length)] or [Part()]
    at = {i: p for p, part in enumerate(parts) for i in part.nodes}
    read = {nodes[i][1:] for i in needed if nodes[i][0] is INPUT}
    first = len(trace.inputs)
    cleared = tuple(k for k in sorted(mostly_zero(trace)) if all(array != first + k for array, _ in read))
    for k, symbols in enumerate(trace.results):
        for j, symbol in enumerate(symbols):
            stands = not symbol.minus and nodes[symbol.i] == (INPUT, first + k, j)
            if stands or (k in cleared and is_zero(trace, k, j)):
                continue
            late = symbol.i not in at or (first + k, j) in read
            parts[-1 if late else at[symbol.i]].stores.append(Store(k, j, symbol, late))
    return Parts(trace, tuple(parts), cleared, _share_memory(trace, parts, at))


def _share_memory(trace: Trace, parts: list[Part], at: dict[int, int]) -> int:
    """Give numbers that cross from part to part their places; how many places that takes."""
    nodes = trace.graph.nodes
    last: dict[int, int] = {}
    for p, part in enumerate(parts):
        read = [k for i in part.nodes for k in operands(nodes[i])] + [s.symbol.i for s in part.stores]
        part.loaded = {k: -1 for k in read if at.get(k, p) < p}
        last |= dict.fromkeys(part.loaded, p)
    free: list[int] = []
    places: dict[int, int] = {}
    size = 0
    for p, part in enumerate(parts):
        part.loaded = {k: places[k] for k in part.loaded}
        for k in part.nodes:
            if k in last:
                if not free:
                    free.append(size)
                    size += 1
                places[k] = part.kept[k] = free.pop()
        free += [place for k, place in part.loaded.items() if last[k] == p]
    return size
