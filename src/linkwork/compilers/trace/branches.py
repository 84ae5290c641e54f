# SPDX-License-Identifier: BSD-3-Clause
"""Branches in straight-line programs that save work: they skip nodes of one side of `where` that no lane selects.

A program computes both sides of ``where(x, bound, then, otherwise)``. Where many nodes are needed for ``then`` alone,
by selects of one condition, they are put behind a branch that is taken if ``x < bound`` in any lane. So kernel code of
the form ::

    if any_below(x - bound, 0.0):
        ...
        y[k] = where(x, bound, new, y[k])

costs as little in a straight-line program as in native code, where the condition does not hold.

| symbol    | meaning                                                                             |
|-----------|-------------------------------------------------------------------------------------|
| selects   | nodes of one condition, none of which another depends on                            |
| body      | nodes that nothing but these selects needs, for ``then``                            |
| externals | nodes that body and selects read                                                    |
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from linkwork.compilers.trace.tracing import Trace
from linkwork.model.expressions import CONST, DIV, INPUT, SELECT, SQRT, Node, operands

WORTH = 400
"""The least work of a body that is worth a branch, in operations."""
SLOW = {DIV: 8, SQRT: 10}
"""Operations that take longer than others, and by how much."""


@dataclass(frozen=True, eq=False)
class Branch:
    """Nodes that are computed if a condition holds in any lane."""

    below: int
    bound: int
    selects: tuple[int, ...]
    body: tuple[int, ...]
    """In the order to compute them."""
    externals: tuple[int, ...]


def scheduled(trace: Trace) -> list[int | Branch]:
    """The nodes of a program in the order to compute them (`Trace.needed`), some of them behind branches."""
    order = trace.needed()
    branches = _branches(trace, order)
    if not branches:
        return list(order)
    nodes = trace.graph.nodes
    of_select = {i: branch for branch in branches for i in branch.selects}
    inside = {i for branch in branches for i in branch.body}
    seen: set[int] = set(inside)
    result: list[int | Branch] = []
    for root in order:
        if root in inside:
            continue
        stack = [root]
        while stack:
            i = stack[-1]
            if i in seen:
                stack.pop()
                continue
            branch = of_select.get(i)
            waiting = [k for k in (operands(nodes[i]) if branch is None else branch.externals) if k not in seen]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            stack.pop()
            if branch is None:
                seen.add(i)
                result.append(i)
            else:
                seen.update(branch.selects)
                result.append(branch)
    return result


def _branches(trace: Trace, order: Sequence[int]) -> list[Branch]:
    """Branches that are worth it; no node is in two of them."""
    nodes = trace.graph.nodes
    groups: dict[tuple[int, int], list[int]] = defaultdict(list)
    uses: Counter[int] = Counter(symbol.i for symbols in trace.results for symbol in symbols)
    for i in order:
        uses.update(operands(nodes[i]))
        if nodes[i][0] is SELECT:
            groups[nodes[i][1:3]].append(i)
    place, by_number = {i: k for k, i in enumerate(order)}, sorted(order)
    taken: set[int] = set()
    branches = []
    for (below, bound), selects in sorted(groups.items(), key=lambda group: min(group[1])):
        chosen = sorted(set(selects) - taken)
        if _work(nodes, _exclusive(nodes, chosen, uses, taken)) < WORTH:
            continue
        chosen = _independent(nodes, chosen, by_number)
        body = _exclusive(nodes, chosen, uses, taken)
        if _work(nodes, body) < WORTH:
            continue
        chosen = [i for i in chosen if nodes[i][3] in body]
        read = {k for i in (*body, *chosen) for k in operands(nodes[i])}
        externals = sorted(read - body, key=place.__getitem__)
        taken |= body
        taken.update(chosen)
        branches.append(
            Branch(below, bound, tuple(chosen), tuple(sorted(body, key=place.__getitem__)), tuple(externals))
        )
    return branches


def _work(nodes: Sequence[Node], body: Iterable[int]) -> int:
    return sum(SLOW.get(nodes[i][0], 1) for i in body)


def _independent(nodes: Sequence[Node], selects: Sequence[int], by_number: Sequence[int]) -> list[int]:
    """Those selects that depend on no other of them; operands have smaller numbers than what is computed of them."""
    first, after = set(selects), set[int]()
    reached = after | first
    between = by_number[bisect_right(by_number, min(selects)) : bisect_right(by_number, max(selects))]
    for i in between:
        if not reached.isdisjoint(operands(nodes[i])):
            after.add(i)
            reached.add(i)
    return [i for i in selects if i not in after]


def _exclusive(nodes: Sequence[Node], selects: Sequence[int], uses: Mapping[int, int], taken: set[int]) -> set[int]:
    """Nodes that nothing but these selects needs, for ``then``."""
    left: dict[int, int] = {}
    heap: list[int] = []

    def use(i: int) -> None:
        left[i] = left.get(i, uses[i]) - 1
        if left[i] == 0 and i not in taken and nodes[i][0] not in (INPUT, CONST):
            heappush(heap, -i)

    for i in selects:
        use(nodes[i][3])
    heapify(heap)
    body: set[int] = set()
    while heap:
        i = -heappop(heap)
        body.add(i)
        for k in operands(nodes[i]):
            use(k)
    return body
