"""Controllers that Numba has compiled: steps, controls and records of a whole run without returning to Python.

A controller decorated with ``numba.njit`` is a Python function like any other; here it is called from machine code,
between the steps that `Stepper` would make, through the same addresses (`driver`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from linkwork.compilers.entry import addresses
from linkwork.compilers.run import SHARE, thread_pool
from linkwork.errors import InputError
from linkwork.quantities.evaluator import Array, check_actuators
from linkwork.simulation.stepper import Stepper

FINE, WRONG_SHAPE, NOT_FINITE = range(3)
"""What came of asking the controller."""


class Plan(NamedTuple):
    """Counted in steps of the clock, which stands at ``first`` when a run begins."""

    first: int
    total: int
    control: int
    record: int

    def moments(self) -> list[int]:
        """Steps after which states are kept: the first, the last, and those that ``record`` divides."""
        return sorted({0, *range(-self.first % self.record, self.total, self.record), self.total})


class Driven(NamedTuple):
    """States that were kept, ``(k, n, ...)`` each, and how it ended."""

    q: Array
    v: Array
    tau: Array
    forces: Array
    commands: Array
    """Not finite where there were none."""
    status: int
    step: int
    """Where the clock stood at the end."""
    detail: tuple[int, int]
    """Where it ended well, how many states were kept; else the shape that the controller gave, or where it is NaN."""


def is_compiled(controller: object) -> bool:
    """Whether a controller is one of Numba's."""
    return type(controller).__module__.startswith("numba.") and hasattr(controller, "py_func")


def drive(
    stepper: Stepper,
    controller: Callable[..., Any],
    output: str,
    q: Array,
    v: Array,
    tau: Array,
    commands: Array | None,
    wrenches: Array,
    plan: Plan,
    *,
    batched: bool,
) -> Driven:
    """All steps of states ``(n, ...)``; of one, the controller sees no batch axis.

    ``output`` says whether the controller gives torques or commands, or ``"auto"``. A single state that stops being
    finite ends the run; in a batch it holds NaN from there on.
    """
    driver = import_module("linkwork.simulation.driver")
    asked = controller if batched else _for_one(controller)
    runner, robot, nc = stepper.runner, stepper.robot, stepper.source.nc
    motors = len(robot.actuators) if stepper.takes_commands else 0
    takes = (output != "commands", output != "torques" and motors > 0)
    width = stepper.held(None)[0].size
    parts = min(runner.threads, max(1, len(q) // SHARE)) if batched else 1
    edges = [len(q) * k // parts for k in range(parts + 1)]
    times = len(plan.moments())
    if output == "commands":
        check_actuators(stepper.source)

    def roll(start: int, stop: int) -> Driven:
        n = stop - start
        state = (q[start:stop].copy(), v[start:stop].copy(), tau[start:stop].copy(), np.zeros((n, nc)))
        held = np.zeros((n, width)) if commands is None else commands[start:stop].copy()
        pushed = wrenches[start:stop].copy() if wrenches.ndim > 2 else wrenches
        results = tuple(np.empty((n, *shape)) for shape in stepper.runner.outputs)
        kept = tuple(np.empty((times, n, width)) for width in (robot.nq, robot.nv, robot.nv, nc, width))
        clock, settings = np.array([stepper.dt, float(commands is not None)]), np.zeros(2)
        used = (*state[:3], held, pushed, stepper._law, stepper._R, clock, settings, *results)
        places = np.array([x.ctypes.data for x in used])
        own = (0, 1, 2, 3, *((4,) if wrenches.ndim > 2 else ()), *range(9, len(used)))
        widths = np.array([x[0].size if k in own else 0 for k, x in enumerate(used)])
        arrays = (*state, *results, *kept, held, state[2].copy(), clock, settings, stepper.dt)
        entry = runner.own_entry(batched and n > 1)  # held until the end: it owns the kernel's memory
        where = addresses(entry)
        status, step, *detail = driver.drive(asked, *where, tuple(plan), places, widths, arrays, takes, batched)
        return Driven(kept[0], kept[1], kept[2], kept[3], kept[4], status, step, (detail[0], detail[1]))

    try:
        found = (
            [roll(0, len(q))] if parts == 1 else list(thread_pool(parts).map(lambda edge: roll(*edge), pairwise(edges)))
        )
    except driver.NumbaError as error:
        words = str(error).strip().splitlines()
        raise InputError(
            "the compiled controller cannot be called as controller(time, q, v), giving an array of torques: "
            + " ".join(line.strip() for line in words if line.strip())[:500]
        ) from None
    worst = max(found, key=lambda part: part.status)
    arrays = [np.concatenate([part[k] for part in found], axis=1) for k in range(5)]
    return Driven(arrays[0], arrays[1], arrays[2], arrays[3], arrays[4], *worst[5:])


@cache
def _for_one(controller: Callable[..., Any]) -> Callable[..., Any]:
    """The controller of one state as one of a batch of one."""
    from numba import njit

    def batch(time: float, q: Array, v: Array) -> Any:
        found = controller(time, q[0], v[0])
        return found.reshape((1, found.shape[0]))

    made: Callable[..., Any] = njit(nogil=True)(batch)
    return made
