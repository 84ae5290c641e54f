# SPDX-License-Identifier: BSD-3-Clause
"""Events of a simulation: zero crossings of functions of time and state, and their actions.

Steps are made one by one, and functions are evaluated after each. Where one changes its sign, the step is repeated with
shorter lengths until the crossing is known to the tolerance (Illinois' method); the simulation continues there. Two
crossings of one function within a step cancel and are not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from linkwork.closure.evaluators import project_velocity
from linkwork.errors import InputError
from linkwork.inputs import above_zero, fresh_floats, plural
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.quantities.functions import constraint_jacobian, mass_matrix
from linkwork.simulation.initial import check_loops
from linkwork.simulation.state import Propagate, State
from linkwork.simulation.thresholds import CROSSING_TIME, CROWDED

Crossing = Callable[[float, Array, Array], Any]
"""A function of time, ``q`` and ``v`` that crosses zero where an event occurs."""


@dataclass(frozen=True, eq=False)
class Event:
    """Something that occurs in a simulation where a function of time and state crosses zero.

    There the state is recorded; the simulation may end, constraints may be enabled and disabled, and a function may be
    called. Constraints that are enabled must be satisfied by ``q``; the velocity changes to the nearest one that they
    allow, in the metric of kinetic energy: a plastic impact. Drives are constraints, too.

    Args:
        when: ``f(t, q, v)``, whose zero crossing is found.
        direction: Positive: where it rises; negative: where it falls; 0: both.
        stop: Whether the simulation ends there.
        enable: Names of constraints that hold from there on.
        disable: Names of constraints that hold no more.
        action: ``f(t, q, v)``, called there after constraints have changed; returns the velocity from which the
            simulation goes on, ``(nv,)``, or None: as it is.
        name: In `Trajectory.events`.
        tolerance: By how much the time of the crossing may be wrong, in seconds.
    """

    when: Crossing
    direction: float = 0
    stop: bool = False
    enable: Sequence[str] = ()
    disable: Sequence[str] = ()
    action: Callable[[float, Array, Array], npt.ArrayLike | None] | None = None
    name: str = "event"
    tolerance: float = CROSSING_TIME

    def __post_init__(self) -> None:
        if not callable(self.when):
            raise InputError(f"when is {self.when!r}, needs a function f(t, q, v)")
        for field in ("enable", "disable"):
            names = getattr(self, field)
            object.__setattr__(self, field, (names,) if isinstance(names, str) else tuple(names))
        both = set(self.enable) & set(self.disable)
        if both:
            raise InputError(f"event '{self.name}' enables and disables '{min(both)}': choose one")
        above_zero(self.tolerance, "tolerance")

    def value(self, time: float, q: Array, v: Array) -> float:
        """The function at a state; an `InputError` if it is not a finite number.

        Args:
            time: Seconds.
            q: Configuration.
            v: Joint velocities.
        """
        value = np.asarray(self.when(time, q, v))
        if value.size != 1 or not np.isfinite(value.item()):
            raise InputError(f"event '{self.name}' at {time:g} s: when returned {value!r}, needs one finite number")
        return float(value.item())

    def crossed(self, before: float, after: float) -> bool:
        """Whether its function has crossed zero between two values.

        Args:
            before: The first value.
            after: The second one.
        """
        rose, fell = before < 0 <= after, before > 0 >= after
        return (rose and self.direction >= 0) or (fell and self.direction <= 0)


class Occurrence(NamedTuple):
    """An event that has occurred."""

    name: str
    time: float
    """Seconds."""
    impulses: dict[str, list[float]]
    """Impulses of constraints that were enabled, in N s or N m s, by name; those of least norm where rows depend on
    each other."""


def events_of(until: Any, events: Any) -> tuple[Event, ...]:
    """Events of a simulation from the arguments of users.

    Args:
        until: A function, an `Event` or several of these, each of which ends it; None: none.
        events: An `Event`, or several; None: none.
    """
    ends = [] if until is None else list(until) if isinstance(until, Sequence) else [until]
    own = [replace(one, stop=True) if isinstance(one, Event) else Event(one, stop=True, name="until") for one in ends]
    further = [] if events is None else list(events) if isinstance(events, Sequence) else [events]
    for one in further:
        if not isinstance(one, Event):
            raise InputError(f"events has {one!r}, needs lw.Event(when=f, ...)")
    return (*own, *further)


class Watch:
    """Steps that end where an event occurs: a `Propagate`.

    Args:
        events: The events.
        propagate: Makes the steps.
        dt: Time of a step.
        occurred: The event at which the steps start. Its function is near zero there, with either sign: the first sign
            that it has after a step counts.
    """

    def __init__(self, events: Sequence[Event], propagate: Propagate, dt: float, occurred: Event | None = None) -> None:
        self.events, self.dt, self._propagate, self._occurred = events, dt, propagate, occurred
        self.found: tuple[Event, State, float] | None = None
        """The event that ended the steps, the state there and when, in steps of the clock."""
        self._values: list[float] | None = None

    def values(self, state: State, at: float) -> list[float]:
        """All functions at a state."""
        return [event.value(at * self.dt, state.q, state.v) for event in self.events]

    def __call__(self, state: State, start: float, stop: float) -> tuple[State, int]:
        """The state at the next stop, and how many steps were made until an event or the stop."""
        steps = max(1, int(stop - start))
        if self._values is None:
            values = self.values(state, start)
            self._values = [0.0 if e is self._occurred else x for e, x in zip(self.events, values, strict=True)]
        for k in range(steps):
            at, to = start + k, stop if k == steps - 1 else start + k + 1
            after, done = self._propagate(state, at, to)
            if done < 1:
                return state, k
            values = self.values(after, to)
            crossings = [
                (*self._crossing(event, state, at, to, before, now), event)
                for event, before, now in zip(self.events, self._values, values, strict=True)
                if event.crossed(before, now)
            ]
            if crossings:
                when, there, event = min(crossings, key=lambda crossing: crossing[0])
                self.found = event, after if there is None else there, when
                return state, k
            # a value of zero is no crossing yet: the sign before stays
            self._values = [now or before for before, now in zip(self._values, values, strict=True)]
            state = after
        return state, steps

    def _crossing(
        self, event: Event, state: State, low: float, high: float, before: float, after: float
    ) -> tuple[float, State | None]:
        """When an event occurs in a step, on the side after it, and the state there; None: at the end of the step."""
        first, there, side = low, None, 0
        tolerance = max(event.tolerance / self.dt, 4 * np.spacing(high))
        while high - low > tolerance:
            at = (low * after - high * before) / (after - before)
            at = min(max(at, low + 0.5 * tolerance), high - 0.5 * tolerance)
            trial, _ = self._propagate(state, first, at)
            value = event.value(at * self.dt, trial.q, trial.v)
            if value != 0 and (value > 0) == (before > 0):
                low, before = at, value
                after *= 0.5 if side < 0 else 1.0
                side = -1
            else:
                high, after, there = at, value, trial
                before *= 0.5 if side > 0 else 1.0
                side = 1
            if value == 0:
                break
        return high, there


def after_event(robot: Model, event: Event, time: float, state: State) -> tuple[Model, State, Occurrence]:
    """The robot, the state and the record of an event.

    Args:
        robot: The mechanism until then.
        event: The event.
        time: Seconds.
        state: The state there.
    """
    turned = {**dict.fromkeys(event.enable, True), **dict.fromkeys(event.disable, False)}
    before = {c.name: c.enabled for c in robot.constraints}
    if unknown := set(turned) - set(before):
        raise InputError(
            f"event '{event.name}' switches '{min(unknown)}', which is no constraint of '{robot.name}'; "
            f"it has {', '.join(before) or 'none'}"
        )
    impulses: dict[str, list[float]] = {}
    q, v = state.q, state.v
    if any(before[name] != on for name, on in turned.items()):
        robot = robot.switched(turned)
    timed = replace(robot, time=time)
    if any(turned[name] and not before[name] for name in turned):
        where = f"at event '{event.name}', {time:.9g} s"
        check_loops(timed, q, None, where)
        v = project_velocity(timed, q, v)
        impulses = _impulses(timed, q, v - state.v)
    if event.action is not None:
        result = event.action(time, q.copy(), v.copy())
        if result is not None:
            v = fresh_floats(result, "v")
            if v.shape != (robot.nv,) or not np.isfinite(v).all():
                raise InputError(
                    f"the action of event '{event.name}' returned v of shape {v.shape}, needs ({robot.nv},)"
                )
            check_loops(timed, q, v, f"at event '{event.name}', {time:.9g} s")
    return robot, state._replace(v=v), Occurrence(event.name, time, impulses)


def _impulses(robot: Model, q: Array, change: Array) -> dict[str, list[float]]:
    """Impulses of enabled constraints that change the velocity: ``M dv = J' p``."""
    on = np.repeat([c.enabled for c in robot.constraints], [c.rows for c in robot.constraints])
    J = constraint_jacobian(robot, q) * on[:, None]
    p = np.linalg.lstsq(J.T, mass_matrix(robot, q) @ change, rcond=None)[0]
    return {c.name: p[robot.row_slice(c.name)].tolist() for c in robot.constraints if c.enabled}


def crowded(occurrences: Sequence[Occurrence], dt: float) -> str:
    """Words for events that accumulate within a step of the clock; empty if they do not."""
    if len(occurrences) <= CROWDED or occurrences[-1].time - occurrences[-1 - CROWDED].time > dt:
        return ""
    last = occurrences[-1]
    return f"{plural(CROWDED, 'event')} within {dt:g} s, the last '{last.name}' at {last.time:.9g} s"
