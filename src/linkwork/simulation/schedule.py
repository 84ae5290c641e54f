"""What happens when in a simulation: steps, controls, records and projections, on one clock.

The clock counts steps of the time ``dt`` from time zero. Controls, records and projections happen at multiples of
their periods, wherever a simulation starts, so that one that is resumed goes on as it would have. A start or an end
between two ticks of the clock is reached by one shorter step: a simulation ends exactly when it was asked to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FINENESS = 2.0**20
"""Times are whole numbers of this part of a step, a millionth: what rounding does to them does not make a step."""


def in_steps(seconds: float, dt: float) -> float:
    """A time on the clock, in steps."""
    return round(seconds / dt * FINENESS) / FINENESS


class Stop(NamedTuple):
    """A time at which something happens between steps."""

    at: float
    """In steps of the clock."""
    control: bool = False
    """Whether the controller is called."""
    record: bool = False
    """Whether the state is kept."""
    project: bool = False
    """Whether loops are closed."""


class Segment(NamedTuple):
    """From one stop to the next: several steps, or a part of one."""

    start: float
    stop: float
    dt: float
    final: bool
    """Whether the simulation ends with it."""

    @property
    def whole(self) -> bool:
        """Whether it consists of whole steps."""
        return self.start.is_integer() and self.stop.is_integer()

    @property
    def steps(self) -> int:
        """How many steps are made."""
        return int(self.stop - self.start) if self.whole else 1

    @property
    def seconds(self) -> float:
        """How long it is."""
        return (self.stop - self.start) * self.dt


@dataclass(frozen=True)
class Schedule:
    """When a simulation starts and ends, in steps of the clock, and the steps between what happens on the way."""

    dt: float
    start: float
    end: float
    record: int
    """Steps from one record to the next; the first and the last state are always kept."""
    control: int = 0
    """Steps from one call of the controller to the next; 0: there is none."""
    project: int = 0
    """Steps from one projection to the next; 0: there is none."""

    @classmethod
    def of(
        cls, seconds: float, dt: float, start: float = 0.0, *, record: int = 0, control: int = 0, project: int = 0
    ) -> Schedule:
        """The schedule of so many seconds; without ``record``, only the first and the last state are kept."""
        first = in_steps(start, dt)
        end = first + max(in_steps(seconds, dt), 1 / FINENESS)
        return cls(dt, first, end, record or max(1, ceil(end)), control, project)

    def time(self, at: float) -> float:
        """Seconds on the clock."""
        return at * self.dt

    @property
    def ticks(self) -> tuple[int, int]:
        """The first and the last whole step of the clock, between which steps have their full length."""
        return ceil(self.start), floor(self.end)

    def stops(self) -> list[Stop]:
        """All times at which something happens, in order."""
        first, last = self.ticks
        edges = [self.start, *([float(first), float(last)] if first <= last else []), self.end]
        periods = [every for every in (self.record, self.control, self.project) if every]
        multiples = [np.arange(first + -first % every, last + 1, every, dtype=np.float64) for every in periods]
        at = np.unique(np.concatenate([np.array(edges), *multiples]))
        inner = (at != self.start) & (at != self.end)
        control = (at % self.control == 0) & (at != self.end) if self.control else np.zeros_like(inner)
        record = (at % self.record == 0) | ~inner
        project = (at % self.project == 0) & (at != self.start) if self.project else np.zeros_like(inner)
        flags = (x.tolist() for x in (control, record, project))
        return [Stop(*values) for values in zip(at.tolist(), *flags, strict=True)]

    def stops_of_kernel(self) -> list[Stop]:
        """The same where steps are compiled with the controller: its calls are stops only where no whole step leads."""
        edges = self.ticks
        return [
            stop._replace(control=stop.control and stop.at == edges[0])
            for stop in self.stops()
            if stop.record or stop.project or stop.at in edges
        ]

    def outer_stops(self) -> list[Stop]:
        """The same where all between the first and the last whole step happens in machine code (`events`)."""
        first, last = self.ticks
        if first >= last:
            return self.stops()
        return [Stop(stop.at) if stop.at == first else stop for stop in self.stops() if not first < stop.at < last]

    def events(self) -> npt.NDArray[np.int64]:
        """Rows of whole steps from the first to the last: number, whether control and record happen there (at the last,
        neither)."""
        first, last = self.ticks
        rows = [(int(s.at), s.control, s.record) for s in self.stops() if first <= s.at < last]
        return np.array([*rows, (last, False, False)], dtype=np.int64)

    def segments(self, stops: list[Stop]) -> Iterator[tuple[Stop, Segment, Stop]]:
        """Pairs of stops, and the segments between them."""
        for stop, after in pairwise(stops):
            yield stop, Segment(stop.at, after.at, self.dt, after.at == self.end), after
