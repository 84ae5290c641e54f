# SPDX-License-Identifier: BSD-3-Clause
"""Controllers that Numba has compiled: steps, controls and records of a whole simulation without returning to Python.

A controller decorated with ``numba.njit`` is a Python function like any other; here it is called from machine code,
between the steps that `Stepper` would make, as the schedule's table of events says (`numba_loop`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from linkwork.compilers.entry.entry_point import addresses, watch
from linkwork.compilers.entry.interrupts import Job, shared
from linkwork.compilers.run import SHARE, thread_pool
from linkwork.errors import InputError
from linkwork.quantities.arguments import Array
from linkwork.quantities.evaluator import check_actuators
from linkwork.simulation.actuation import Actuation, ControllerOutput, not_finite, wrong_shape
from linkwork.simulation.loop import Propagate, Recorder, State
from linkwork.simulation.schedule import Schedule
from linkwork.simulation.stepper import Stepper

FINE, WRONG_SHAPE, NOT_FINITE = range(3)
"""What came of a call of the controller."""


class NumbaRun(NamedTuple):
    """What a run in machine code left behind."""

    records: tuple[Array, ...]
    """q, v, torques, constraint forces and commands (NaN where there were none), ``(records, n, ...)`` each."""
    state: tuple[Array, ...]
    """The same at the end, ``(n, ...)`` each."""
    status: int
    step: int
    """Step of the clock at the end."""
    detail: tuple[int, int]
    """The shape that the controller returned, or where it is not finite."""
    recorded: int
    """How many records were made."""
    progress: Array
    """What the last steps left, ``(n, 2)``."""


def is_compiled(controller: object) -> bool:
    """Whether a controller is one of Numba's."""
    return type(controller).__module__.startswith("numba.") and hasattr(controller, "py_func")


def numba_steps(
    stepper: Stepper,
    partial: Propagate,
    controller: Callable[..., Any],
    output: ControllerOutput,
    constant: Actuation,
    wrenches: Array,
    schedule: Schedule,
    recorder: Recorder,
) -> Propagate:
    """Whole steps in machine code, with controls and records between them; parts of steps are those of ``partial``.

    Of a batch, a state that stops being finite holds NaN from there on.
    """
    batched = recorder.q.ndim > 2
    events = schedule.events()

    def propagate(state: State, start: float, stop: float) -> tuple[State, int]:
        if stop - start < 1:
            return partial(state, start, stop)
        one = state if batched else _batch_of_one(state)
        found = _run_events(stepper, controller, output, one, constant, wrenches, events, batched=batched)
        _keep(found, recorder)
        if found.status != FINE:
            raise InputError(f"the controller at {schedule.time(found.step):g} s: {_wrong(stepper, found, batched)}")
        if not batched:
            stepper.check_loops(found.progress[0], f"at {schedule.time(found.step):g} s ")
        q, v, tau, forces, commands = found.state if batched else (x[0] for x in found.state)
        given = commands if np.isfinite(commands).any() else None
        return State(q, v, Actuation(tau, given), forces), found.step - int(start)

    return propagate


def _batch_of_one(state: State) -> State:
    tau, commands = state.actuation
    actuation = Actuation(tau[None], None if commands is None else commands[None])
    return State(state.q[None], state.v[None], actuation, state.multipliers[None])


def _keep(found: NumbaRun, recorder: Recorder) -> None:
    """Put what was recorded in machine code where other records are."""
    rows = slice(recorder.count, recorder.count + found.recorded)
    arrays = (recorder.q, recorder.v, recorder.tau, recorder.multipliers, recorder.commands)
    for array, kept in zip(arrays, found.records, strict=True):
        if kept.shape[-1]:
            array[rows] = kept[: found.recorded].reshape(found.recorded, *array.shape[1:])
    recorder.count += found.recorded


def _wrong(stepper: Stepper, found: NumbaRun, batched: bool) -> str:
    """Words for what a controller returned."""
    first, second = found.detail
    if found.status == NOT_FINITE:
        return not_finite("torque", second, first if batched else None)
    shape, robots = ((first, second), len(found.state[0])) if batched else ((second,), None)
    return wrong_shape(stepper.source, shape, "torques", robots, both=stepper.takes_commands)


def _run_events(
    stepper: Stepper,
    controller: Callable[..., Any],
    output: ControllerOutput,
    state: State,
    constant: Actuation,
    wrenches: Array,
    events: Array,
    *,
    batched: bool,
) -> NumbaRun:
    """All events of states ``(n, ...)``; of one, the controller sees no batch axis."""
    loop = import_module("linkwork.simulation.numba_loop")
    called = controller if batched else _of_batch(controller)
    runner, robot, nc = stepper.runner, stepper.robot, stepper.source.nc
    q, v, (tau, commands), forces, *_ = state
    width = stepper.held(None)[0].size
    accepts = (output != "commands", output != "torques" and width > 0)
    parts = min(runner.threads, max(1, len(q) // SHARE)) if batched else 1
    edges = [len(q) * k // parts for k in range(parts + 1)]
    count = int(events[:, 2].sum())
    if output == "commands":
        check_actuators(stepper.source)

    job = Job()

    def roll(start: int, stop: int) -> NumbaRun:
        n = stop - start
        now = tuple(x[start:stop].copy() for x in (q, v, tau, forces))
        held = np.zeros((n, width)) if commands is None else commands[start:stop].copy()
        constant_tau = np.broadcast_to(constant.tau, tau.shape)[start:stop].copy()
        pushed = wrenches[start:stop].copy() if wrenches.ndim > 2 else wrenches
        results = tuple(np.empty((n, *shape)) for shape in stepper.runner.outputs)
        kept = tuple(np.empty((count, n, width)) for width in (robot.nq, robot.nv, robot.nv, nc, width))
        timing, settings = np.array([stepper.dt, float(commands is not None)]), np.zeros(2)
        used = (*now[:3], held, pushed, *stepper.held(None)[2:4], timing, settings, *results)
        places = np.array([x.ctypes.data for x in used])
        own = (0, 1, 2, 3, *((4,) if wrenches.ndim > 2 else ()), *range(9, len(used)))
        widths = np.array([x[0].size if k in own else 0 for k, x in enumerate(used)])
        arrays = (*now, *results, *kept, held, constant_tau, timing, settings, stepper.dt)
        entry, asked = runner.own_entry(batched and n > 1), watch()  # held until the end: they own memory
        with shared(job):
            status, step, i, j, made = loop.run_events(
                called, *addresses(entry), events, places, widths, arrays, accepts, batched, asked.words
            )
        asked.check()
        last = held if timing[1] > 0.5 else np.full_like(held, np.nan)
        return NumbaRun(kept, (*now, last), status, step, (i, j), made, results[-1])

    try:
        found = (
            [roll(0, len(q))] if parts == 1 else list(thread_pool(parts).map(lambda edge: roll(*edge), pairwise(edges)))
        )
    except KeyboardInterrupt:
        job.given_up = True
        raise
    except loop.NumbaError as error:
        words = str(error).strip().splitlines()
        raise InputError(
            "the compiled controller cannot be called as controller(time, q, v), giving an array of torques: "
            + " ".join(line.strip() for line in words if line.strip())[:500]
        ) from None
    worst = max(found, key=lambda part: part.status)
    records = tuple(np.concatenate([part.records[k] for part in found], axis=1) for k in range(5))
    end = tuple(np.concatenate([part.state[k] for part in found]) for k in range(5))
    return worst._replace(records=records, state=end)


@cache
def _of_batch(controller: Callable[..., Any]) -> Callable[..., Any]:
    """The controller of one state as one of a batch of one."""
    from numba import njit

    def batch(time: float, q: Array, v: Array) -> Any:
        output = controller(time, q[0], v[0])
        return output.reshape((1, output.shape[0]))

    made: Callable[..., Any] = njit(nogil=True)(batch)
    return made
