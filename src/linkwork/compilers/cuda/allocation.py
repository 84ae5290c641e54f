# SPDX-License-Identifier: BSD-3-Clause
"""Where a thread keeps the values of a straight-line program: registers, shared memory, local memory.

A thread of a GPU has at most 255 registers of 32 bits; programs of a robot have up to a thousand values alive at a
time. The assembler decides one instruction at a time what to spill, and spills to local memory, which is behind the
caches. A straight-line program is known to its end, so that the best choice is known too (Belady 1966): of the values
in registers, the one whose next use is farthest goes. An input goes nowhere: it is read again.

Values that go have a slot from when they are stored to when they are last read. Shared memory, which is as near as the
first cache, is for those with the most accesses for the time that they take a slot; the others are in local memory.

The result is a list of actions for the emitter:

| action    | meaning                                                                                    |
|-----------|--------------------------------------------------------------------------------------------|
| `Load`    | a value comes into a register: from its slot, or (``slot`` None) an input from its array   |
| `Store`   | a value is copied to a slot                                                                |
| `Compute` | nodes are computed from values in registers: one, or sine and cosine of one angle           |
| `Put`     | a value is written to an output                                                            |
| `Begin`   | what follows is run where ``below < bound``                                                |
| `End`     | of that; values that came into registers since `Begin` are in none any more                |
| `Cut`     | a part ends: all values that are used later are in slots                                   |

A multiprocessor has few threads with so many registers each, and a thread waits where it reads a register whose load is
on its way: 30 cycles for shared memory, 800 for an input. So loads are issued `INPUT_AHEAD` or `SLOT_AHEAD` steps
before the first use, which takes a few registers for values that are on their way.

Values that a branch (`branches.Branch`) gives are in slots: ``otherwise`` is stored there before the branch, ``then``
in it. Values from before the branch that lose their register in it are stored before it, so that they are in their
slots whichever way the thread went.

**Parts.** The assembler takes time that grows as the square of a function's length. Long programs are cut into parts,
each a function of its own (`device_functions`), outside of branches and where few values are alive.

Cost: O(n log n) for n nodes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linkwork.compilers.cuda.slots import (
    Action,
    Allocation,
    Begin,
    Compute,
    Cut,
    End,
    Load,
    Put,
    Slot,
    Store,
    placed,
)
from linkwork.compilers.trace.branches import Branch, scheduled
from linkwork.compilers.trace.tracing import Trace
from linkwork.model.expressions import CONST, COS, INPUT, SIN, Node, operands

NEVER = 1 << 60
"""The next use of a value that has none."""
INPUT_AHEAD, SLOT_AHEAD = 256, 96
"""Number of steps before their first use inputs, and values in slots, are loaded."""
LEAST = 8
"""The fewest registers that programs can be allocated for: operands of one node, and some."""


@dataclass(frozen=True)
class Limits:
    """Memory of one thread, in numbers of the program's type."""

    registers: int
    shared: int


def allocate(trace: Trace, limits: Limits, at_once: bool = True, part: int = NEVER) -> Allocation:
    """The actions of a program with values in registers, shared and local memory.

    Args:
        trace: The program.
        limits: Number of registers and slots of shared memory.
        at_once: Whether outputs are written as soon as they are known; else at the end, where inputs may be outputs.
        part: About the most steps of a part; a branch is in one part, however long.
    """
    copied = () if at_once else _copied(trace)
    return _Allocator(trace, limits, copied).run(with_cuts(_events(trace, at_once, copied), part))


def _copied(trace: Trace) -> tuple[int, ...]:
    """Inputs that become other numbers of outputs: they are read before any output is written."""
    nodes, first = trace.graph.nodes, len(trace.inputs)
    return tuple(
        symbol.i
        for k, symbols in enumerate(trace.results)
        for j, symbol in enumerate(symbols)
        if nodes[symbol.i][0] is INPUT and nodes[symbol.i] != (INPUT, first + k, j)
    )


# The order of events -------------------------------------------------------------------------------------------------


class _Event(NamedTuple):
    """A step of the program: what it reads and, at most one of them, what it does."""

    reads: tuple[int, ...]
    computes: tuple[int, ...] = ()
    put: tuple[int, int] | None = None
    begins: Branch | None = None
    copies: int | None = None
    """The select whose slot gets what is read."""
    ends: Branch | None = None
    cuts: bool = False


def _events(trace: Trace, at_once: bool, copied: Sequence[int]) -> list[_Event]:
    nodes, first = trace.graph.nodes, len(trace.inputs)
    waiting: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for k, symbols in enumerate(trace.results):
        for j, symbol in enumerate(symbols):
            if at_once or symbol.minus or nodes[symbol.i] != (INPUT, first + k, j):  # else it is there already
                waiting[symbol.i].append((k, j))
    events: list[_Event] = [_Event((i,)) for i in copied]
    items = scheduled(trace)
    partner = _partners(nodes, items)
    done: set[int] = set()

    def compute(i: int) -> None:
        if i in done or nodes[i][0] is CONST or nodes[i][0] is INPUT:
            return
        both = partner.get(i, (i,))
        done.update(both)
        events.append(_Event(operands(nodes[i]), both))

    def put(values: Iterable[int]) -> None:
        for i in values:
            for place in waiting.pop(i, ()):
                events.append(_Event((i,), put=place))

    for item in items:
        if isinstance(item, Branch):
            for select in item.selects:
                events.append(_Event((nodes[select][4],), copies=select))
            events.append(_Event((item.below, item.bound), begins=item))
            for i in item.body:
                compute(i)
            for select in item.selects:
                events.append(_Event((nodes[select][3],), copies=select))
            events.append(_Event((), ends=item))
            if at_once:
                put(item.selects)
        else:
            compute(item)
            if at_once and nodes[item][0] is not CONST:
                put(partner.get(item, (item,)))
    put(list(waiting))
    return events


def with_cuts(events: list[_Event], part: int) -> list[_Event]:
    """Events in parts of nearly the same length, cut where the fewest values are alive.

    Args:
        events: Of a program.
        part: About the most events of a part.
    """
    count = -(-len(events) // part)
    if count < 2:
        return events
    alive, inside = _alive(events), _parts(events)
    step, near = len(events) / count, len(events) // (8 * count) + 1
    allowed = np.array([k for k in range(1, len(events)) if not inside[k] and events[k - 1].begins is None])
    cuts = set[int]()
    for middle in (round(step * k) for k in range(1, count)):
        closest = int(allowed[np.abs(allowed - middle).argmin()])
        around = allowed[np.abs(allowed - closest) <= near]
        cuts.add(int(around[alive[around].argmin()]))
    bounds = [0, *sorted(cuts), len(events)]
    pieces = [events[a:b] for a, b in pairwise(bounds)]
    return [event for piece in pieces for event in (*piece, _Event((), cuts=True))][:-1]


def _alive(events: Sequence[_Event]) -> npt.NDArray[np.int64]:
    """The number of values that are computed before an event and read by it or later."""
    change = np.zeros(len(events) + 1, dtype=np.int64)
    born: dict[int, int] = {}
    last: dict[int, int] = {}
    for now, event in enumerate(events):
        for i in event.computes:
            born[i] = now
        for i in event.reads:
            last[i] = now
    for i, now in born.items():
        if i in last:
            change[now + 1] += 1
            change[last[i] + 1] -= 1
    return np.cumsum(change)[:-1]


def _parts(events: Sequence[_Event]) -> list[int]:
    """The branch that each event is in: 0 for none. The event that begins a branch is before it."""
    parts, count, inside = list[int](), 0, False
    for event in events:
        parts.append(count if inside else 0)
        if event.begins is not None:
            count, inside = count + 1, True
        inside = inside and event.ends is None
    return parts


def _is_ahead(parts: Sequence[int], cuts: Sequence[int], now: int, then: int) -> bool:
    """Whether what a later event reads can be loaded now: it is in the same part, and in no other branch."""
    return cuts[then] == cuts[now] and parts[now] in (0, parts[then])


def _partners(nodes: Sequence[Node], items: Sequence[int | Branch]) -> dict[int, tuple[int, ...]]:
    """Sine and cosine of one angle, where both are needed in one part of the program: they are computed together."""
    partner: dict[int, tuple[int, ...]] = {}
    outside = [item for item in items if not isinstance(item, Branch)]
    for part in (outside, *(item.body for item in items if isinstance(item, Branch))):
        partners: dict[int, list[int]] = defaultdict(list)
        for i in part:
            if nodes[i][0] is SIN or nodes[i][0] is COS:
                partners[nodes[i][1]].append(i)
        for both in partners.values():
            for i in both:
                partner[i] = tuple(sorted(both, key=lambda k: nodes[k][0] is COS))
    return partner


# Registers and slots -------------------------------------------------------------------------------------------------


class _Allocator:
    """One pass over the events of a program."""

    def __init__(self, trace: Trace, limits: Limits, copied: Sequence[int]) -> None:
        self.nodes = trace.graph.nodes
        self.copied = frozenset(copied)
        self.limits = Limits(max(limits.registers, LEAST), limits.shared)
        self.actions: list[Action] = []
        self.registers: set[int] = set()
        self.slots: dict[int, Slot] = {}
        """Values that are in memory; places are numbers of values, until `slots.placed` gives others."""
        self.farthest: list[tuple[int, int]] = []
        """Heap of values by their next use, the farthest first; entries that are out of date are dropped when met."""
        self.before: set[int] | None = None
        """In a branch: the values that were in registers before, and still are."""
        self.hoisted: list[Action] = []
        self.chosen: dict[int, Slot] = {}
        """Selects of a branch: they are in memory when it has ended."""
        self.begin = 0

    def run(self, events: Sequence[_Event]) -> Allocation:
        """Allocate, event by event."""
        self.uses: dict[int, list[int]] = defaultdict(list)
        nodes = self.nodes
        reads = [[i for i in event.reads if nodes[i][0] is not CONST] for event in events]
        for now, read in enumerate(reads):
            for i in set(read):
                self.uses[i].append(now)
        parts, cuts = _parts(events), list(accumulate(event.cuts for event in events))
        has_input = [any(nodes[i][0] is INPUT for i in read) for read in reads]
        for now, event in enumerate(events):
            then = now + INPUT_AHEAD
            if then < len(events) and has_input[then] and _is_ahead(parts, cuts, now, then):
                self._load_ahead(reads[then], then, now, INPUT_AHEAD)
            then = now + SLOT_AHEAD
            if then < len(events) and not self.registers.issuperset(reads[then]) and _is_ahead(parts, cuts, now, then):
                self._load_ahead(reads[then], then, now, SLOT_AHEAD)
            self._bring(reads[now], now)
            if event.begins is not None:
                self._enter(event.begins)
            elif event.ends is not None:
                self._leave()
            elif event.cuts:
                self._cut(reads, events, cuts, now)
            elif event.copies is not None:
                self._copy(event.reads[0], event.copies)
            elif event.put is not None:
                self.actions.append(Put(event.reads[0], *event.put))
            self._release(reads[now], now)
            if event.computes:
                self._make_room(len(event.computes), now, event.reads)
                self.actions.append(Compute(event.computes))
                for i in event.computes:
                    self._hold(i, now)
                self._release(event.computes, now)
        return placed(self.actions, self.limits.shared)

    def _next_use(self, i: int, now: int) -> int:
        """The first use of a value after now."""
        uses = self.uses[i]
        k = bisect_left(uses, now + 1)
        return uses[k] if k < len(uses) else NEVER

    def _load_ahead(self, reads: Sequence[int], then: int, now: int, distance: int) -> None:
        """Have operands of a later event on their way, where registers are free or hold values for events after it."""
        for i in reads:
            if i in self.registers:
                continue
            known = i in self.slots if distance <= SLOT_AHEAD else self.nodes[i][0] is INPUT
            if known and self._has_room_until(then, now):
                self.actions.append(Load(i, self.slots.get(i)))
                self._hold(i, now)

    def _cut(self, reads: Sequence[Sequence[int]], events: Sequence[_Event], cuts: Sequence[int], now: int) -> None:
        """Let all values go, and have those on their way that the next part reads first."""
        for i in sorted(self.registers):
            self._evict(i)
        self.actions.append(Cut())
        for then in range(now + 1, min(now + INPUT_AHEAD, len(events))):
            if cuts[then] != cuts[now] or events[then].begins is not None:
                break
            self._load_ahead(reads[then], then, now, then - now)

    def _has_room_until(self, then: int, now: int) -> bool:
        """Whether a register is free, or becomes free of a value that is used later."""
        if len(self.registers) < self.limits.registers:
            return True
        while self.farthest:
            use, i = self.farthest[0]
            if i in self.registers and -use == self._next_use(i, now - 1):
                if -use <= then:
                    return False
                heappop(self.farthest)
                self._evict(i)
                return True
            heappop(self.farthest)
        return False

    def _bring(self, reads: Sequence[int], now: int) -> None:
        """Have all operands in registers."""
        for i in reads:
            if i in self.registers:
                continue
            self._make_room(1, now, reads)
            self.actions.append(Load(i, self.slots.get(i)))
            self._hold(i, now)
        for i in reads:
            self._hold(i, now)

    def _hold(self, i: int, now: int) -> None:
        self.registers.add(i)
        heappush(self.farthest, (-self._next_use(i, now), i))

    def _make_room(self, count: int, now: int, kept: Sequence[int]) -> None:
        """Let those values go whose next use is farthest, until there are registers for ``count`` more."""
        passed = []
        while len(self.registers) + count > self.limits.registers:
            use, i = heappop(self.farthest)
            if i in kept:
                passed.append((use, i))
            elif i in self.registers and -use == self._next_use(i, now):
                self._evict(i)
        for entry in passed:
            heappush(self.farthest, entry)

    def _evict(self, i: int) -> None:
        self.registers.discard(i)
        if i not in self.slots and (self.nodes[i][0] is not INPUT or i in self.copied):
            self.slots[i] = Slot(False, i)
            inherited = self.before is not None and i in self.before
            (self.hoisted if inherited else self.actions).append(Store(i, self.slots[i]))
        if self.before is not None:
            self.before.discard(i)

    def _release(self, values: Sequence[int], now: int) -> None:
        """Forget values that have no further use."""
        for i in values:
            if self._next_use(i, now) == NEVER:
                self.registers.discard(i)
                self.slots.pop(i, None)

    # Branches --------------------------------------------------------------------------------------------------------

    def _copy(self, value: int, select: int) -> None:
        """A side of a select goes to its slot."""
        self.chosen[select] = Slot(False, select)
        self.actions.append(Store(value, self.chosen[select]))

    def _enter(self, branch: Branch) -> None:
        self.begin = len(self.actions)
        self.actions.append(Begin(branch.below, branch.bound))
        self.before = set(self.registers)

    def _leave(self) -> None:
        assert self.before is not None
        self.actions.append(End())
        self.actions[self.begin : self.begin] = self.hoisted
        self.registers &= self.before
        self.slots |= self.chosen
        self.before, self.hoisted, self.chosen = None, [], {}
