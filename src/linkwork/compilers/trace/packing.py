# SPDX-License-Identifier: BSD-3-Clause
"""Packs: neighboring results of a straight-line program, computed together by vector instructions for one state.

Superword-level parallelism (Larsen and Amarasinghe, Exploiting superword level parallelism with multimedia instruction
sets, 2000), for programs whose results are matrices. Columns of a row are *packed*, and packs are found from results
down: the entries of a pack are flattened into sums of products, and products that have a factor in common become one
term, the factor times a pack of the other factors::

    (a x + b y, a z, b u + a v) = a (x, z, v) + b (y, 0, u)

The rest are packs of scalars. So a program has two stages: the first computes scalars, straight-line code as ever,
and stores them in the order of these packs; the second reads packs and common factors from there, and is nothing but
multiply-adds on vectors. Matrix products, whatever the sparsity and the zeros of their operands, come out as such.

In a batch the first stage has a state in each lane, the second takes one state after another and writes its results
where they belong.

| symbol  | meaning                                                                                        |
|---------|------------------------------------------------------------------------------------------------|
| entry   | a node and its sign, or None for zero                                                          |
| pack    | a tuple of entries; the first that is not zero has a positive sign                              |
| term    | a common factor times a pack, or a pack alone                                                  |
| sums    | packs that the second stage computes, as sums of terms                                         |
| stored  | scalars that the first stage hands to the second                                               |
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any, NamedTuple

from linkwork.compilers.trace.tracing import Trace
from linkwork.model.expressions import ADD, CONST, DIV, INPUT, MUL, SQRT, SUB, Symbol, operands

ONE = -1
"""In place of the number of a node: the factor of a pack alone, the other factor of a term that is a product itself."""

Entry = tuple[int, int] | None
Pack = tuple[Entry, ...]

LEAST_FILL = 3.0
"""Products that a term of a sum has to stand for, on average: packs of fewer are computed as scalars."""
STORE = 2
"""Work of storing a pack, in terms of a sum."""
LEAST_SIZE = 1000
"""Operations of the smallest program that is worth a second stage."""
LEAST_GAIN = 0.85
"""Instructions of both stages, as a part of those without packs, that are worth it."""
UNEVEN_GAIN = 0.95
"""Cost of packs of uneven size, relative to that of even ones: there are more of them to read."""
SCALAR = 1.2
"""Instructions of a scalar operation: multiplications and additions fuse, but operands have to be read and kept."""


class Term(NamedTuple):
    """``±factor pack``."""

    factor: int
    minus: bool
    pack: Pack


class Result(NamedTuple):
    """Neighbors of an output: ``±pack`` from ``place`` on; ``line``: the number of its columns' pack in a row."""

    line: int
    array: int
    place: int
    minus: bool
    pack: Pack


@dataclass
class Packing:
    """A program in two stages."""

    first: Trace
    """The first stage: its ``carry`` is what the second reads; packed outputs are zeros there, and not to be stored."""
    width: int
    """Entries of a pack, at most."""
    arrays: frozenset[int]
    """Outputs that the second stage writes."""
    results: list[Result]
    sums: dict[Pack, list[Term]]
    """In the order of results; a pack that is in none is read, or constant."""
    places: dict[Pack, tuple[int, bool]] = field(default_factory=dict)
    """Where a stored pack is in ``carry``, and whether negative."""
    factors: dict[int, tuple[int, bool]] = field(default_factory=dict)
    """Where a factor is, and whether it is stored negative."""

    def instructions(self) -> float:
        """An estimate of the number of instructions."""
        nodes = self.first.graph.nodes
        scalars = sum(_instructions(nodes[i][0]) for i in self.first.reached())
        loads = len(self.places) + len(self.results)
        return scalars + len(self.first.carry) + loads + sum(map(len, self.sums.values()))


def packed(trace: Trace, width: int) -> Packing | None:
    """A program with its matrices packed, where that takes clearly fewer instructions."""
    if trace.further or width < 2 or not any(len(shape) > 1 for shape in trace.shapes):
        return None
    nodes = trace.graph.nodes
    reached = trace.reached()
    before = sum(_instructions(nodes[i][0]) for i in reached)
    if before < LEAST_SIZE:
        return None
    even, best = (_packing(trace, width, reached, even) for even in (True, False))
    if best is None or (even is not None and best.instructions() > UNEVEN_GAIN * even.instructions()):
        best = even
    return best if best is not None and best.instructions() <= LEAST_GAIN * before else None


def _packing(trace: Trace, width: int, reached: Sequence[int], even: bool) -> Packing | None:
    """The packs of those outputs where most of them are sums."""
    search = _Search(trace, width, reached, even)
    arrays = search.worthwhile()
    if not arrays:
        return None
    if len(arrays) < len(search.matrices):
        search = _Search(trace, width, reached, even, arrays)
    return search.packing()


def _instructions(op: str) -> float:
    return 0.0 if op is INPUT or op is CONST else 4.0 if op is DIV or op is SQRT else SCALAR


def _last(pack: Pack) -> int:
    """The latest node of a pack."""
    return max((entry[0] for entry in pack if entry is not None), default=ONE)


def even_lines(size: int, width: int) -> list[tuple[int, int]]:
    """Columns in packs of at most ``width``, first and last: of one size where registers have masks (eight entries),
    else as many full ones as there are."""
    if width < 8:
        return [(first, min(first + width, size)) for first in range(0, size, width)]
    count = -(-size // width)
    return list(pairwise([size * k // count for k in range(count + 1)])) if size else []


def least_lines(factors: Sequence[set[Any]], width: int, store: int) -> list[tuple[int, int]]:
    """Columns in packs of at most ``width``, first and last, with the least work.

    Each column has a set of factors. A pack costs as much as there are different ones in it, and ``store``.
    """
    best: list[tuple[int, int]] = [(0, 0)]  # work of the first columns, and where their last pack begins
    for last in range(1, len(factors) + 1):
        lines, union = list[tuple[int, int]](), set[Any]()
        for first in range(last - 1, max(last - width, 0) - 1, -1):
            union |= factors[first]
            lines.append((best[first][0] + len(union) + store, first))
        best.append(min(lines))
    result, last = list[tuple[int, int]](), len(factors)
    while last > 0:
        result.append((best[last][1], last))
        last = best[last][1]
    return result[::-1]


class _Search:
    """The packs of a program, from results down."""

    def __init__(
        self, trace: Trace, width: int, reached: Sequence[int], even: bool, arrays: frozenset[int] | None = None
    ) -> None:
        self.trace, self.width, self.even = trace, width, even
        self.nodes = trace.graph.nodes
        self.matrices = frozenset(k for k, shape in enumerate(trace.shapes) if len(shape) > 1)
        self.arrays = self.matrices if arrays is None else arrays
        self.uses: Counter[int] = Counter(symbol.i for symbols in trace.results for symbol in symbols)
        for i in reached:
            self.uses.update(operands(self.nodes[i]))
        self._flat: dict[int, list[tuple[int, int]]] = {}
        self.results = list(self._results())
        self.sums: dict[Pack, list[Term]] = {}
        self.leaves: list[Pack] = []
        self.scalars: set[int] = set()
        self._descend()

    def _results(self) -> Iterator[Result]:
        """Packs of all matrices: line by line, so that what a line needs is needed at the same time."""
        rows = []
        widths = {self.trace.shapes[k][-1] for k in self.arrays}
        lines = {columns: self._lines(columns) for columns in widths}
        for k in sorted(self.arrays):
            columns = self.trace.shapes[k][-1]
            symbols = self.trace.outputs[k][1]
            for line, (first, last) in enumerate(lines[columns]):
                rows += [(line, row, k, first, last) for row in range(len(symbols) // columns)]
        for line, row, k, first, last in sorted(rows):
            symbols = self.trace.outputs[k][1]
            place = row * self.trace.shapes[k][-1] + first
            entries = [(s.i, -1 if s.minus else 1) for s in symbols[place : place + last - first]]
            pack, minus = self._pack(entries)
            yield Result(line, k, place, minus, pack)

    def _lines(self, columns: int) -> list[tuple[int, int]]:
        """Columns of matrices of one width in packs: of about the same size, or where neighbors have most factors in
        common."""
        if self.even:
            return even_lines(columns, self.width)
        factors: list[set[tuple[int, int, int]]] = [set() for _ in range(columns)]
        rows = 0
        for k in self.arrays:
            symbols, shape = self.trace.outputs[k][1], self.trace.shapes[k]
            if shape[-1] == columns:
                rows += len(symbols) // columns
                for place, symbol in enumerate(symbols):
                    row, column = divmod(place, columns)
                    for j, _ in self._terms(symbol.i):
                        if self.nodes[j][0] is MUL:
                            factors[column].update((k, row, f) for f in self.nodes[j][1:])
        return least_lines(factors, self.width, STORE * rows)

    def _pack(self, entries: Sequence[Entry]) -> tuple[Pack, bool]:
        """Entries as a pack, and whether it is negative."""
        pack = [None if x is None or self._is_zero(x[0]) else x for x in entries]
        sign = next((x[1] for x in pack if x is not None), 1)
        if sign > 0:
            return tuple(pack), False
        return tuple(None if x is None else (x[0], -x[1]) for x in pack), True

    def _is_zero(self, i: int) -> bool:
        return i != ONE and self.nodes[i][0] is CONST and self.nodes[i][1] == 0.0

    def is_constant(self, pack: Pack) -> bool:
        """Whether all entries are numbers."""
        return all(x is None or x[0] == ONE or self.nodes[x[0]][0] is CONST for x in pack)

    # Sums of products --------------------------------------------------------------------------------

    def _terms(self, i: int) -> list[tuple[int, int]]:
        """A node as a sum: nodes and signs. Sums that something else reads are not taken apart."""
        terms = self._flat.get(i)
        if terms is None:
            terms = self._flat[i] = []
            stack = [(i, 1)]
            while stack:
                j, sign = stack.pop()
                node = self.nodes[j]
                if (node[0] is ADD or node[0] is SUB) and (j == i or self.uses[j] == 1):
                    stack += [(node[2], sign if node[0] is ADD else -sign), (node[1], sign)]
                else:
                    terms.append((j, sign))
        return terms

    def _sum(self, pack: Pack) -> list[Term] | None:
        """A pack as a sum of terms, each of as many products as can be, if they are enough."""
        products = [
            (column, j, sign * entry[1])
            for column, entry in enumerate(pack)
            if entry is not None
            for j, sign in self._terms(entry[0])
        ]
        by_factor: dict[int, dict[int, list[tuple[int, int]]]] = defaultdict(dict)
        for p, (column, j, _) in enumerate(products):
            node = self.nodes[j]
            ways = ((node[1], node[2]), (node[2], node[1]), (j, ONE)) if node[0] is MUL else ((j, ONE),)
            for factor, other in ways:
                if self.nodes[factor][0] is not CONST:
                    by_factor[factor].setdefault(column, []).append((p, other))
        left = set(range(len(products)))
        groups = list[tuple[int, list[Entry]]]()
        heap = [(-len(columns), factor) for factor, columns in by_factor.items() if len(columns) > 1]
        heapify(heap)
        while heap and left:
            size, factor = heappop(heap)
            columns = {c: [x for x in terms if x[0] in left] for c, terms in by_factor[factor].items()}
            columns = {c: terms for c, terms in columns.items() if terms}
            if len(columns) == -size:
                entries: list[Entry] = [None] * len(pack)
                for column, terms in columns.items():
                    p, other = terms.pop(0)
                    entries[column] = other, products[p][2]
                    left.discard(p)
                groups.append((factor, entries))
            by_factor[factor] = columns
            if len(columns) > 1:
                heappush(heap, (-len(columns), factor))
        alone = [products[p] for p in sorted(left)]
        covered = len(products) - sum(self.nodes[j][0] not in (ADD, SUB) for _, j, _ in alone)
        if groups:
            alone = self._whole(pack, products, alone)
        groups += self._alone(pack, alone)
        if covered < LEAST_FILL * len(groups):
            return None
        result = []
        for factor, entries in groups:
            other, minus = self._pack(entries)
            result.append(Term(factor, minus, other))
        return sorted(result, key=lambda term: term.minus)  # begin with a positive one

    def _whole(
        self, pack: Pack, products: Sequence[tuple[int, int, int]], alone: Sequence[tuple[int, int, int]]
    ) -> list[tuple[int, int, int]]:
        """The single products without entries none of whose products have company: these stay whole."""
        together = Counter(column for column, _, _ in products)
        together.subtract(column for column, _, _ in alone)
        wholes = [x for x in alone if together[x[0]] > 0]
        entries = enumerate(pack)
        return [*wholes, *((c, *entry) for c, entry in entries if entry is not None and together[c] == 0)]

    def _alone(self, pack: Pack, products: Sequence[tuple[int, int, int]]) -> Iterator[tuple[int, list[Entry]]]:
        """Products that have no factor in common with others, in packs."""
        waiting: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for column, j, sign in products:
            waiting[column].append((j, sign))
        for k in range(max(map(len, waiting.values()), default=0)):
            yield ONE, [waiting[c][k] if k < len(waiting.get(c, ())) else None for c in range(len(pack))]

    # The search --------------------------------------------------------------------------------------

    def _descend(self) -> None:
        """All packs and scalars that are needed, later nodes first: what needs a pack or scalar is known by then."""
        heap: list[tuple[int, int, int, int | Pack]] = []
        known: set[int | Pack] = set()

        def need(x: int | Pack) -> None:
            if x not in known:
                known.add(x)
                heappush(heap, (-x, 1, len(known), x) if isinstance(x, int) else (-_last(x), 0, len(known), x))

        for result in self.results:
            need(result.pack)
        while heap:
            x = heappop(heap)[-1]
            if isinstance(x, int):
                self.scalars.add(x)
                for k in operands(self.nodes[x]):
                    need(k)
                continue
            if self.is_constant(x):
                continue
            live = [entry[0] for entry in x if entry is not None]
            available = all(i == ONE or i in self.scalars or self.nodes[i][0] is CONST for i in live)
            terms = None if available or len(live) < 2 or ONE in live else self._sum(x)
            if terms is None:
                self.leaves.append(x)
                for i in live:
                    if i != ONE:
                        need(i)
                continue
            self.sums[x] = terms
            for term in terms:
                if term.factor != ONE:
                    need(term.factor)
                need(term.pack)

    def worthwhile(self) -> frozenset[int]:
        """Outputs most of whose packs are sums."""
        uses, sums = Counter[int](), Counter[int]()
        for result in self.results:
            if not self.is_constant(result.pack):
                uses[result.array] += 1
                sums[result.array] += result.pack in self.sums
        return frozenset(k for k in self.arrays if 2 * sums[k] > uses[k])

    # Memory between the stages -------------------------------------------------------------------------

    def packing(self) -> Packing:
        """The two stages, and numbers stored between them: packs where vectors are aligned, others in their gaps."""
        graph, carry = self.trace.graph, list[Symbol | None]()
        places: dict[Pack, tuple[int, bool]] = {}
        factors: dict[int, tuple[int, bool]] = {}
        zero, one = graph.symbol(0.0), graph.symbol(1.0)
        for union, packs in self._unions():
            live = [(column, entry) for column, entry in enumerate(union) if entry is not None]
            starts = range(0, len(carry), self.width)
            start = next((s for s in starts if all(carry[s + c] is None for c, _ in live)), len(carry))
            carry += [None] * (start + self.width - len(carry))
            places |= {pack: (start, minus) for pack, minus in packs}
            for column, (node, sign) in live:
                factors.setdefault(node, (start + column, sign < 0))
                symbol = one if node == ONE else Symbol(graph, node, False)
                carry[start + column] = -symbol if sign < 0 else symbol
        gaps = [place for place, symbol in enumerate(carry) if symbol is None]
        for factor in dict.fromkeys(term.factor for terms in self.sums.values() for term in terms):
            if factor != ONE and factor not in factors:
                place = gaps.pop() if gaps else len(carry)
                carry += [None] * (place + 1 - len(carry))
                carry[place] = Symbol(graph, factor, False)
                factors[factor] = place, False
        outputs = tuple(
            (name, tuple(zero for _ in symbols) if k in self.arrays else symbols)
            for k, (name, symbols) in enumerate(self.trace.outputs)
        )
        first = replace(self.trace, outputs=outputs, carry=tuple(zero if x is None else x for x in carry))
        return Packing(first, self.width, self.arrays, self.results, self.sums, places, factors)

    def _unions(self) -> list[tuple[list[Entry], list[tuple[Pack, bool]]]]:
        """Packs that differ in zeros alone, stored as one: its entries, which packs it has, and whether negative.

        In about the order in which kernel code computes them."""
        unions: list[tuple[list[Entry], list[tuple[Pack, bool]]]] = []
        having: dict[tuple[int, int], list[int]] = defaultdict(list)
        for pack in sorted(self.leaves, key=lambda leaf: (leaf.count(None), _last(leaf))):
            live = [(column, entry) for column, entry in enumerate(pack) if entry is not None]
            for u in dict.fromkeys(u for column, entry in live for u in having[column, entry[0]]):
                sign = _sign_of(pack, unions[u][0])
                if sign:
                    break
            else:
                u, sign = len(unions), 1
                unions.append(([None] * len(pack), []))
            entries, packs = unions[u]
            packs.append((pack, sign < 0))
            for column, entry in live:
                if entries[column] is None:
                    entries[column] = entry[0], sign * entry[1]
                    having[column, entry[0]].append(u)
        return sorted(unions, key=lambda union: _last(tuple(union[0])))


def _sign_of(pack: Pack, entries: Sequence[Entry]) -> int:
    """The sign with which a pack is the same as others where both have entries; 0 where it is not."""
    if len(pack) != len(entries):
        return 0
    both = [(x, y) for x, y in zip(pack, entries, strict=True) if x is not None and y is not None]
    signs = {x[1] * y[1] for x, y in both}
    return signs.pop() if len(signs) == 1 and all(x[0] == y[0] for x, y in both) else 0
