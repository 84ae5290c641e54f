# SPDX-License-Identifier: BSD-3-Clause
"""Trees and sets that plans, closure and spanning trees share: ancestors, common ancestors, connected supports.

SciPy has a `DisjointSet` of the same interface in ``scipy.cluster.hierarchy``, whose import takes a quarter of a
second: longer than importing linkwork and building a robot, which needs one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class DisjointSet(Generic[T]):
    """Union-find with path compression, with the interface of SciPy's; elements are added when first seen."""

    def __init__(self, elements: Iterable[T] = ()) -> None:
        self._parent: dict[T, T] = {x: x for x in elements}

    def __getitem__(self, x: T) -> T:
        """The representative of the set that holds ``x``."""
        parent = self._parent
        parent.setdefault(x, x)
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    def merge(self, x: T, y: T) -> bool:
        """Unite the sets of ``x`` and ``y``; whether they were two."""
        a, b = self[x], self[y]
        self._parent[a] = b
        return a != b

    def subsets(self) -> list[set[T]]:
        """All sets, in the order of their first elements."""
        subsets: dict[T, set[T]] = {}
        for x in self._parent:
            subsets.setdefault(self[x], set()).add(x)
        return list(subsets.values())


def connected(supports: Sequence[Set[Hashable]]) -> list[int]:
    """A number for each support, the same where supports share members, directly or through others."""
    sets = DisjointSet[int](range(len(supports)))
    first: dict[Hashable, int] = {}
    for k, members in enumerate(supports):
        for member in members:
            sets.merge(k, first.setdefault(member, k))
    numbers: dict[int, int] = {}
    return [numbers.setdefault(sets[k], len(numbers)) for k in range(len(supports))]


def ancestors(parent: Sequence[int], body: int) -> list[int]:
    """The body and its ancestors, ending with the root, body 0."""
    line = [body]
    while line[-1] > 0:
        line.append(parent[line[-1]])
    return line


def named_ancestors(parent: Mapping[str, str], body: str) -> list[str]:
    """The body and its ancestors by name, ending with the root, which has no parent."""
    line = [body]
    while line[-1] in parent:
        line.append(parent[line[-1]])
    return line


def common_ancestor(lines: Iterable[Sequence[T]]) -> T:
    """The deepest body that is in all of these lists of ancestors."""
    first, *others = lines
    common = set(first).intersection(*others)
    return next(body for body in first if body in common)
