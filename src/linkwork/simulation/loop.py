# SPDX-License-Identifier: BSD-3-Clause
"""The loop of every simulation: control, record, steps, projection, early end, progress.

What makes the steps is plugged in (`Propagate`): compiled or Python steps of one robot or of a batch, steps of
adaptive length, steps compiled with their controller.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from linkwork.errors import InputError
from linkwork.inputs import ParameterName
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.simulation.actuation import (
    Actuation,
    ControlFunction,
    ControllerOutput,
    read_output,
    torques_of_actuators,
)
from linkwork.simulation.early_end import fastest_joint
from linkwork.simulation.schedule import Schedule, Stop
from linkwork.simulation.trajectory import Trajectory

PATIENCE = 2.0
"""Seconds before progress is shown."""


class State(NamedTuple):
    """State of a simulation between two steps; of a batch, arrays begin with its axis."""

    q: Array
    v: Array
    actuation: Actuation
    """What acts in the step that follows."""
    multipliers: Array
    """Constraint forces of the step before."""
    contacts: Array | None = None
    """What is kept of contacts (`contacts`): the step that follows starts from their forces; None without contacts."""
    act: Array | None = None
    """Activations of actuators; None where none has any."""


Propagate = Callable[[State, float, float], tuple[State, int]]
"""The state from one stop to the next, in steps of the clock: whole ones, or a part of one. And the steps after which
it was finite: fewer than all end the simulation."""

Feedback = Callable[[float, State], Actuation]
"""Torques or commands at a time and a state."""

Project = Callable[[Array, Array], tuple[Array, Array]]
"""``q`` and ``v`` with closed loops."""


class Recorder:
    """Arrays of the states that a simulation keeps at some ``times``, filled one by one."""

    def __init__(self, robot: Model, times: Array, batch: tuple[int, ...] = (), contacts: int | None = None) -> None:
        self.robot, self.times = robot, times
        self.parameters: Mapping[ParameterName, Array] = {}
        """Parameters of robots that differ."""
        self.count = 0
        """How many states were kept so far."""
        widths = (robot.nq, robot.nv, robot.nv, robot.nc, len(robot.actuators))
        self.q, self.v, self.tau, self.multipliers, self.commands = (np.empty((len(times), *batch, n)) for n in widths)
        self.commands.fill(np.nan)
        self.contacts = None if contacts is None else np.zeros((len(times), *batch, contacts))
        self.act = np.zeros((len(times), *batch, robot.na)) if robot.na else None

    def add(self, state: State) -> None:
        """Keep the state at the next of the times."""
        k = self.count
        q, v, (tau, commands), multipliers, contacts, act = state
        self.q[k] = q
        self.v[k] = v
        self.tau[k] = tau
        self.multipliers[k] = multipliers
        if commands is not None:
            self.commands[k] = commands
        if self.contacts is not None and contacts is not None:
            self.contacts[k] = contacts
        if self.act is not None and act is not None:
            self.act[k] = act
        self.count = k + 1

    def trajectory(self, settings: dict[str, Any], ended: str = "") -> Trajectory:
        """What was kept so far; its torques are also those that actuators make of commands."""
        arrays: tuple[Array, ...] = (self.times, self.q, self.v, self.tau, self.multipliers, self.commands)
        contacts, act = self.contacts, self.act
        if self.count < len(self.times):
            arrays = tuple(x[: self.count].copy() for x in arrays)
            contacts = None if contacts is None else contacts[: self.count].copy()
            act = None if act is None else act[: self.count].copy()
        times, q, v, tau, multipliers, commands = arrays
        if not np.isfinite(commands).any():
            return Trajectory(self.robot, times, q, v, tau, multipliers, settings, ended, None, contacts, act)
        dt = float(settings.get("dt", 0.0))
        tau = tau + torques_of_actuators(self.robot, q, v, commands, self.parameters, act, dt)
        return Trajectory(self.robot, times, q, v, tau, multipliers, settings, ended, commands, contacts, act)


def run(
    schedule: Schedule,
    stops: list[Stop],
    state: State,
    propagate: Propagate,
    recorder: Recorder,
    *,
    feedback: Feedback | None = None,
    project: Project | None = None,
    report: Callable[[float], None] | None = None,
) -> str:
    """Simulate from the first stop to the last, and keep states in the recorder; why it ended early, or nothing."""
    dt = schedule.dt
    for (at, control, record, _), after in pairwise(stops):
        if control and feedback is not None:
            state = state._replace(actuation=feedback(at * dt, state))
        if record:
            recorder.add(state)
        state, done = propagate(state, at, after.at)
        if done < after.at - at:
            return early_end(recorder, dt, int(at) + done)
        if after.project and project is not None:
            q, v = project(state.q, state.v)
            state = state._replace(q=q, v=v)
        if report is not None:
            report(after.at - schedule.start)
    recorder.add(state)
    return ""


def early_end(recorder: Recorder, dt: float, step: int) -> str:
    """Words for a simulation that ended early: after which step, and what was fastest when last recorded."""
    fastest = fastest_joint(recorder.robot, recorder.times[: recorder.count], recorder.v[: recorder.count])
    return f"not finite after step {step} ({step * dt:g} s){fastest}"


def function_feedback(
    robot: Model, function: ControlFunction, output: ControllerOutput, constant: Actuation, robots: int | None = None
) -> Feedback:
    """Feedback by a Python function; ``constant`` torques act beside its commands."""

    def feedback(time: float, state: State) -> Actuation:
        live = ... if robots is None else np.isfinite(state.v).all(axis=-1)
        try:
            found = read_output(robot, function(time, state.q.copy(), state.v.copy()), output, robots, live)
        except InputError as error:
            raise type(error)(f"the controller at {time:g} s: {error}") from None
        return found if found.commands is None else Actuation(constant.tau, found.commands)

    return feedback


@contextmanager
def progress_bar(wanted: bool | None, total: float, name: str) -> Iterator[Callable[[float], None] | None]:
    """A function that reports progress of what takes longer than two seconds, on a terminal; None without one."""
    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, TimeRemainingColumn

    began, bar, task = time.monotonic(), None, None
    last = began

    def report(done: float) -> None:
        nonlocal bar, task, last
        now = time.monotonic()
        if bar is None and (wanted or now - began > PATIENCE):
            bar = Progress(*Progress.get_default_columns()[:3], TimeRemainingColumn(), console=Console(stderr=True))
            bar.start()
            task = bar.add_task(name, total=total)
        if bar is not None and task is not None and (now - last > 0.1 or done >= total):
            bar.update(task, completed=done)
            last = now

    try:
        yield report
    finally:
        if bar is not None:
            bar.stop()
