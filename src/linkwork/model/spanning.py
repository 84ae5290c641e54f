# SPDX-License-Identifier: BSD-3-Clause
"""Which joints of a graph carry its bodies, and which close loops.

Any graph of joints is accepted. The joints that carry form a spanning tree from the world, of greatest total preference
(Kruskal); a joint that the tree passes from child to parent is turned around where its type allows it, else another
joint of the loop is cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from linkwork.model.graphs import DisjointSet


class Edge(NamedTuple):
    """A joint of the graph; of two joints of a loop the one with the greater ``preference`` is kept."""

    name: str
    parent: str
    child: str
    preference: tuple[int, ...]
    reversible: bool


class Spanning(NamedTuple):
    """A spanning tree: joints in depth-first order with the direction in which they are passed, and the rest."""

    order: tuple[tuple[str, bool], ...]
    """Name of each joint, and whether it leads from its child to its parent."""
    cut: tuple[str, ...]
    lost: tuple[str, ...]
    """Joints that the root does not reach."""
    stuck: str | None
    """A joint that would have to be turned around and cannot be."""


def spanning_tree(root: str, edges: Sequence[Edge]) -> Spanning:
    """The tree of greatest preference that needs no joint turned around whose type does not allow it."""
    barred: set[str] = set()
    while True:
        kept = _heaviest(edges, barred)
        order, lost = _walk(root, [edge for edge in edges if edge.name in kept])
        by_name = {edge.name: edge for edge in edges}
        wrong = next((name for name, turned in order if turned and not by_name[name].reversible), None)
        if wrong is None or wrong in barred:
            cut = tuple(edge.name for edge in edges if edge.name not in kept)
            return Spanning(order, cut, lost, wrong)
        barred.add(wrong)


def _heaviest(edges: Sequence[Edge], barred: set[str]) -> set[str]:
    """Kruskal: the most preferred joints that close no loop, barred ones last."""
    ranked = sorted(edges, key=lambda edge: (edge.name not in barred, edge.preference), reverse=True)
    reached = DisjointSet[str]()
    return {edge.name for edge in ranked if reached.merge(edge.parent, edge.child)}


def _walk(root: str, edges: Sequence[Edge]) -> tuple[tuple[tuple[str, bool], ...], tuple[str, ...]]:
    """Depth first from the root, neighbors in the order of the edges."""
    around: dict[str, list[tuple[Edge, bool]]] = {}
    for edge in edges:
        around.setdefault(edge.parent, []).append((edge, False))
        around.setdefault(edge.child, []).append((edge, True))
    order: list[tuple[str, bool]] = []
    seen, done = {root}, set()
    stack = around.get(root, [])[::-1]
    while stack:
        edge, turned = stack.pop()
        if edge.name in done:
            continue
        done.add(edge.name)
        order.append((edge.name, turned))
        reached = edge.parent if turned else edge.child
        seen.add(reached)
        stack.extend((e, t) for e, t in around.get(reached, [])[::-1] if e.name not in done)
    return tuple(order), tuple(edge.name for edge in edges if edge.name not in done)
