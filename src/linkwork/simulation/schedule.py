# SPDX-License-Identifier: BSD-3-Clause
"""The schedule of a simulation: steps, controls, records and projections, on one clock.

The clock counts steps of the time ``dt`` from time zero. Controls, records and projections happen at multiples of
their periods, wherever a simulation starts, so that a resumed one continues unchanged. A start or an end
between two ticks of the clock is reached by one shorter step: a simulation ends exactly at its final time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError

FINENESS = 2.0**20
"""Times are whole numbers of this part of a step, a millionth, so that rounding adds no step."""


def in_steps(seconds: float, dt: float) -> float:
    """A time on the clock, in steps."""
    steps = seconds / dt * FINENESS
    if not abs(steps) < np.inf:
        raise InputError(f"{seconds:g} s are too many steps of {dt:g} s")
    return round(steps) / FINENESS


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


@dataclass(frozen=True)
class Schedule:
    """Start, end and intermediate stops of a simulation, in steps of the clock."""

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

    @cached_property
    def _columns(self) -> tuple[npt.NDArray[Any], ...]:
        """Columns of all stops: the steps of the clock, and the tasks there."""
        first, last = self.ticks
        edges = [self.start, *([float(first), float(last)] if first <= last else []), self.end]
        periods = [every for every in (self.record, self.control, self.project) if every]
        multiples = [np.arange(first + -first % every, last + 1, every, dtype=np.float64) for every in periods]
        at = np.unique(np.concatenate([np.array(edges), *multiples]))
        inner = (at != self.start) & (at != self.end)
        control = (at % self.control == 0) & (at != self.end) if self.control else np.zeros_like(inner)
        record = (at % self.record == 0) | ~inner
        project = (at % self.project == 0) & (at != self.start) if self.project else np.zeros_like(inner)
        return at, control, record, project

    @property
    def record_times(self) -> npt.NDArray[np.float64]:
        """Seconds at which states are kept."""
        at, _, record, _ = self._columns
        return np.asarray(at[record] * self.dt)

    def stops(self) -> list[Stop]:
        """All times at which something happens, in order. Whole steps lie between them, or a part of one."""
        return _rows(*self._columns)

    def stops_of_kernel(self) -> list[Stop]:
        """Stops where steps are compiled with the controller: its calls are stops only where no whole step leads."""
        at, control, record, project = self._columns
        some = record | project | np.isin(at, self.ticks)
        return _rows(*(x[some] for x in (at, control & (at == self.ticks[0]), record, project)))


def _rows(*columns: npt.NDArray[Any]) -> list[Stop]:
    return [Stop._make(row) for row in zip(*(column.tolist() for column in columns), strict=True)]
