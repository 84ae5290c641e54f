# SPDX-License-Identifier: BSD-3-Clause
"""Simulations with events: one run from each event to the next, joined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.simulation.events import Event, Occurrence, Watch, after_event, crowded
from linkwork.simulation.recorder import M, Recorder
from linkwork.simulation.run import Run
from linkwork.simulation.schedule import Schedule
from linkwork.simulation.state import Propagate, State


@dataclass
class EventRun:
    """A simulation that is cut at its events.

    Args:
        run: The simulation.
        events: The events.
    """

    run: Run
    events: Sequence[Event]
    occurrences: list[Occurrence] = field(default_factory=list)
    """Events that have occurred so far."""
    parts: list[tuple[Recorder, tuple[bool, ...]]] = field(default_factory=list)
    """States from each event to the next, and which constraints held."""

    @property
    def stopped(self) -> bool:
        """Whether an event ended it."""
        last = self.occurrences[-1] if self.occurrences else None
        return last is not None and any(event.stop and event.name == last.name for event in self.events)

    def roll(self, report: Callable[[float], None] | None = None) -> str:
        """Make all steps; the reason why the simulation ended early, or None.

        Args:
            report: Called with progress.
        """
        if not self.events:
            recorder = self.run.recorder()
            self.parts.append((recorder, _enabled(self.run.robot)))
            return self.run.roll(recorder, report)
        run, occurred = self.run, None
        robots: dict[tuple[bool, ...], Model] = {_enabled(run.robot): run.robot}
        while True:
            recorder = run.recorder()
            self.parts.append((recorder, _enabled(run.robot)))
            ended, watch = self._roll_to_event(run, recorder, occurred, report)
            if watch.found is None:
                return ended
            occurred, there, at = watch.found
            time = at * run.schedule.dt
            recorder.add_at(time, there)
            robot, after, occurrence = after_event(run.robot, occurred, time, there)
            self.occurrences.append(occurrence)
            last = at >= run.schedule.end
            if occurred.stop or last or (full := crowded(self.occurrences, run.schedule.dt)):
                if not occurred.stop and not last:
                    return full
                if robot is not run.robot or not np.array_equal(after.v, there.v):
                    self._keep(robot, time, after)
                return f"event '{occurred.name}' at {time:.9g} s" if occurred.stop else ""
            robot = robots.setdefault(_enabled(robot), robot)
            run = run.restarted(robot, replace(run.schedule, start=at), after)

    def _roll_to_event(
        self, run: Run, recorder: Recorder, occurred: Event | None, report: Callable[[float], None] | None
    ) -> tuple[str, Watch]:
        watches: list[Watch] = []

        def watched(propagate: Propagate) -> Propagate:
            watches.append(Watch(self.events, propagate, run.schedule.dt, occurred))
            return watches[0]

        begun = run.schedule.start - self.run.schedule.start
        told = None if report is None else lambda done: report(begun + done)
        return run.roll(recorder, told, watched), watches[0]

    def _keep(self, robot: Model, time: float, state: State) -> None:
        """Keep the state after the event that ends the simulation."""
        run = self.run.restarted(robot, Schedule(self.run.schedule.dt, 0.0, 0.0, 1), state)
        recorder = Recorder(robot, np.array([time]), (), None if state.contacts is None else len(state.contacts))
        recorder.add(run.start)
        self.parts.append((recorder, _enabled(robot)))

    def motion(self, kind: type[M], settings: Mapping[str, Any], ended: str = "") -> M:
        """All states; where a velocity or constraints change, that before and that after.

        Args:
            kind: The class that holds them.
            settings: Settings of the steps.
            ended: Why the simulation ended early, if it did.
        """
        if not self.events:
            return self.parts[0][0].motion(kind, settings, ended)
        recorded: dict[str, list[Array]] = {}
        held: list[Array] = []
        switched = len({enabled for _, enabled in self.parts}) > 1
        before: tuple[M, tuple[bool, ...]] | None = None
        for recorder, enabled in self.parts:
            part = recorder.motion(kind, settings)
            if before is not None and len(part) and len(before[0]):
                same = np.array_equal(before[0].v[-1], part.v[0]) and enabled == before[1]
                part = part.part(1) if same else part
            before = (part, enabled) if len(part) else before
            for name in RECORDED:
                if (array := getattr(part, name)) is not None:
                    recorded.setdefault(name, []).append(array)
            held.append(np.tile(np.array(enabled, dtype=bool), (len(part), 1)))
        arrays: dict[str, Any] = {name: np.concatenate(parts) for name, parts in recorded.items()}
        if switched:
            arrays["enabled"] = np.concatenate(held)
        events = [occurrence._asdict() for occurrence in self.occurrences]
        return kind(self.run.robot, settings={**settings, "events": events}, ended=ended, **arrays)


RECORDED = ("times", "q", "v", "tau", "multipliers", "commands", "contact_state", "act")
"""Arrays of a motion."""


def _enabled(robot: Model) -> tuple[bool, ...]:
    return tuple(c.enabled for c in robot.constraints)
