# SPDX-License-Identifier: BSD-3-Clause
"""A part of a trace as instructions of WebAssembly.

A number that is read once is computed where it is read, on the operand stack; the others are local variables, each of
which is taken again after the last read of its number. Constants that are read twice are such variables too: an
instruction that reads one has two bytes, a constant nine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from linkwork.compilers.trace.parts import Part, Store
from linkwork.compilers.wasm import binary
from linkwork.model.expressions import (
    ADD,
    CONST,
    COS,
    DIV,
    FMA,
    INPUT,
    MUL,
    NEG,
    RINT,
    SELECT,
    SIN,
    SQRT,
    SUB,
    Node,
    Symbol,
    operands,
)

SINCOS, FMA_OF_SUMS = 0, 1
"""Functions that every module begins with, by their places."""

_OPERATIONS = {
    ADD: binary.PLUS,
    SUB: binary.MINUS,
    MUL: binary.TIMES,
    DIV: binary.DIVIDE,
    NEG: binary.NEGATE,
    SQRT: binary.ROOT,
    RINT: binary.NEAREST,
    SELECT: binary.LESS + binary.SELECT,
    FMA: binary.call(FMA_OF_SUMS),
}

Bring = Callable[[int, int], bytes]
"""``bring(array, entry)``: the instructions that push an input."""
PlaceOfResult = Callable[[int, int], int]
"""``place(array, entry)``: where in memory an entry of a result array is."""


class PartCode:
    """The instructions of one part.

    Args:
        nodes: The graph of the trace.
        part: The part.
        bring: Code that reads inputs.
        place: Where results go.
        work: Where in memory the numbers between parts are.
        parameters: Parameters of the function, which are its first local variables.
        results: Results of the function.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        part: Part,
        bring: Bring,
        place: PlaceOfResult,
        *,
        work: int = 0,
        parameters: int = 0,
        results: Sequence[Symbol] = (),
    ) -> None:
        self._nodes, self._part, self._bring, self._place = nodes, part, bring, place
        self._work, self._parameters = work, parameters
        self._partners = _partners(nodes, part)
        self._reads = _reads(nodes, part, results, self._partners)
        self._local: dict[int, int] = {}
        self._free: list[int] = []
        self._locals = 0
        code = self._instructions() + b"".join(self._value(symbol) for symbol in results)
        self.function = binary.Function(code, self._locals, parameters, len(results))
        """The function of these instructions."""

    def _instructions(self) -> bytes:
        """Numbers in order, each stored where it is known; results that take the place of inputs at the end."""
        part, code = self._part, bytearray()
        late = [store for store in part.stores if store.late]
        ready: dict[int, list[Store]] = {}
        for store in part.stores:
            if not store.late:
                ready.setdefault(store.symbol.i, []).append(store)
        for i in part.nodes:
            if self._nodes[i][0] in (SIN, COS):
                code += self._sine_and_cosine(i)
            elif self._reads[i] > 1:
                code += self._operation(i) + self._set(i)
            if i in part.kept:
                code += binary.store(self._work + part.kept[i], self._pushed(i))
            for store in ready.get(i, ()):
                code += self._stored(store)
        for i in dict.fromkeys(store.symbol.i for store in late):  # all are known before the first is stored
            if i not in self._local and self._nodes[i][0] is not CONST:
                code += self._fetched_or_computed(i) + self._set(i)
        return bytes(code) + b"".join(map(self._stored, late))

    def _stored(self, store: Store) -> bytes:
        return binary.store(self._place(store.array, store.place), self._value(store.symbol))

    def _value(self, symbol: Symbol) -> bytes:
        return self._pushed(symbol.i) + (binary.NEGATE if symbol.minus else b"")

    def _pushed(self, i: int) -> bytes:
        """Instructions that push a number; what is read here alone is computed here."""
        code = bytearray()
        waiting: list[int | bytes] = [i]
        while waiting:
            item = waiting.pop()
            if isinstance(item, bytes):
                code += item
            elif item in self._local:
                code += binary.get(self._local[item])
                self._count_read(item)
            elif self._is_fetched(item):
                code += self._fetched(item)
                if self._reads[item] > 1:
                    code += self._tee(item)
                self._count_read(item)
            else:
                waiting.append(_OPERATIONS[self._nodes[item][0]])
                waiting += reversed(_order(self._nodes[item]))
        return bytes(code)

    def _operation(self, i: int) -> bytes:
        """Instructions that push a number and count no read of it."""
        return b"".join(map(self._pushed, _order(self._nodes[i]))) + _OPERATIONS[self._nodes[i][0]]

    def _fetched_or_computed(self, i: int) -> bytes:
        return self._fetched(i) if self._is_fetched(i) else self._operation(i)

    def _is_fetched(self, i: int) -> bool:
        return i in self._part.loaded or self._nodes[i][0] in (INPUT, CONST)

    def _fetched(self, i: int) -> bytes:
        """A number that is not computed here: of another part, a constant, an input."""
        if i in self._part.loaded:
            return binary.load(self._work + self._part.loaded[i])
        operation, *where = self._nodes[i]
        return binary.constant(where[0]) if operation is CONST else self._bring(where[0], where[1])

    def _sine_and_cosine(self, i: int) -> bytes:
        """One call for both of an angle, as far as this part has them; nothing where the other one made it."""
        if i in self._local:
            return b""
        angle = self._nodes[i][1]
        code = self._pushed(angle) + binary.call(SINCOS)
        for partner in reversed(self._partners[angle]):  # the cosine is on top
            code += binary.DROP if partner is None else self._set(partner)
        return code

    # Local variables -------------------------------------------------------------------------------------------

    def _new_local(self, i: int) -> bytes:
        if not self._free:
            heappush(self._free, self._parameters + self._locals)
            self._locals += 1
        self._local[i] = heappop(self._free)
        return binary.unsigned(self._local[i])

    def _set(self, i: int) -> bytes:
        return binary.SET + self._new_local(i)

    def _tee(self, i: int) -> bytes:
        return binary.TEE + self._new_local(i)

    def _count_read(self, i: int) -> None:
        """One read less; after the last, the local is free."""
        self._reads[i] -= 1
        if not self._reads[i] and i in self._local:
            heappush(self._free, self._local.pop(i))


def _order(node: Node) -> tuple[int, ...]:
    """Operands in the order in which instructions want them."""
    if node[0] is SELECT:
        below, bound, then, otherwise = node[1:]
        return then, otherwise, below, bound
    return operands(node)


def _partners(nodes: Sequence[Node], part: Part) -> dict[int, list[int | None]]:
    """For each angle the nodes of its sine and cosine in a part."""
    partners: dict[int, list[int | None]] = {}
    for i in part.nodes:
        if nodes[i][0] in (SIN, COS):
            partners.setdefault(nodes[i][1], [None, None])[nodes[i][0] is COS] = i
    return partners


def _reads(
    nodes: Sequence[Node], part: Part, results: Sequence[Symbol], partners: dict[int, list[int | None]]
) -> Counter[int]:
    """The number of reads of each value in a part; an angle counts once for its sine and cosine."""
    count = Counter(k for i in part.nodes for k in operands(nodes[i]))
    count.update(store.symbol.i for store in part.stores)
    count.update(part.kept.keys())
    count.update(symbol.i for symbol in results)
    for angle, both in partners.items():
        count[angle] -= None not in both
    return count
