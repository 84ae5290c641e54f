# SPDX-License-Identifier: BSD-3-Clause
"""The loop of every simulation: control, record, steps, projection, early end, progress.

Steps are plugged in (`Propagate`): in machine code for one robot or a batch, with or without their controller, in
Python around any method, of adaptive length.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise

import numpy as np

from linkwork.errors import InputError
from linkwork.model.model import Model
from linkwork.simulation.actuation import Actuation, ControlFunction, ControllerOutput, read_output
from linkwork.simulation.recorder import Recorder, early_end
from linkwork.simulation.schedule import Schedule, Stop
from linkwork.simulation.state import Feedback, Project, Propagate, State

PATIENCE = 2.0
"""Seconds before progress is shown."""


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
    """Simulate from the first stop to the last, and record states; returns why it ended early, or None."""
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
            q, v = project(state.q, state.v, after.at * dt)
            state = state._replace(q=q, v=v)
        if report is not None:
            report(after.at - schedule.start)
    recorder.add(state)
    return ""


def function_feedback(
    robot: Model, function: ControlFunction, output: ControllerOutput, constant: Actuation, robots: int | None = None
) -> Feedback:
    """Feedback by a Python function; ``constant`` torques act beside its commands."""

    def feedback(time: float, state: State) -> Actuation:
        live = ... if robots is None else np.isfinite(state.v).all(axis=-1)
        try:
            held = read_output(robot, function(time, state.q.copy(), state.v.copy()), output, robots, live)
        except InputError as error:
            raise type(error)(f"the controller at {time:g} s: {error}") from None
        return held if held.commands is None else Actuation(constant.tau, held.commands)

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
