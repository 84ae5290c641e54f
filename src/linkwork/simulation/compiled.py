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

from linkwork.compile.entry import addresses
from linkwork.compile.run import SHARE, _pool
from linkwork.dynamics import Array
from linkwork.errors import InputError
from linkwork.mechanism import Mechanism
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
    status: int
    step: int
    """Where the clock stood at the end."""
    detail: tuple[int, int]
    """Where it ended well, how many states were kept; else the shape that the controller gave, or where it is NaN."""


def is_compiled(controller: object) -> bool:
    """Whether a controller is one of Numba's."""
    return type(controller).__module__.startswith("numba.") and hasattr(controller, "py_func")


def gears(robot: Mechanism) -> Array:
    """Torques of all joints for one unit of each actuator's command, ``(nv, actuators)``."""
    found = np.zeros((robot.nv, len(robot.actuators)))
    for k, actuator in enumerate(robot.actuators):
        found[robot.v_slice(actuator.joint), k] += np.asarray(actuator.gear)
    return found


def command_limits(robot: Mechanism) -> Array:
    """The least and the most that each actuator can be commanded, ``(2, actuators)``."""
    return np.array([actuator.limits for actuator in robot.actuators]).reshape(-1, 2).T.copy()


def drive(
    stepper: Stepper, controller: Callable[..., Any], q: Array, v: Array, tau: Array, plan: Plan, *, batched: bool
) -> Driven:
    """All steps of states ``(n, ...)``; of one, the controller sees no batch axis.

    A single state that stops being finite ends the run; in a batch it holds NaN from there on.
    """
    driver = import_module("linkwork.simulation.driver")
    asked = controller if batched else _for_one(controller)
    runner, robot = stepper._runner, stepper.robot
    gear, limits = gears(robot), command_limits(robot)
    parts = min(runner.threads, max(1, len(q) // SHARE)) if batched else 1
    edges = [len(q) * k // parts for k in range(parts + 1)]
    times = len(plan.moments())

    def roll(start: int, stop: int) -> Driven:
        n = stop - start
        state = (q[start:stop].copy(), v[start:stop].copy(), tau[start:stop].copy(), np.zeros((n, robot.nc)))
        results = tuple(np.empty((n, *shape)) for shape in stepper._output_shapes)
        kept = tuple(np.empty((times, n, width)) for width in (robot.nq, robot.nv, robot.nv, robot.nc))
        settings = np.zeros(2)
        used = (*state[:3], stepper._law, stepper._R, stepper._clock, settings, *results)
        places = np.array([x.ctypes.data for x in used])
        widths = np.array([0 if 3 <= k < 7 else x[0].size for k, x in enumerate(used)])
        arrays = (*state, *results, *kept, gear, limits, settings, stepper.dt)
        entry = runner.own_entry(batched and n > 1)  # held until the end: it owns the kernel's memory
        where = addresses(entry)
        status, step, *detail = driver.drive(asked, *where, tuple(plan), places, widths, arrays, batched)
        return Driven(kept[0], kept[1], kept[2], kept[3], status, step, (detail[0], detail[1]))

    try:
        found = [roll(0, len(q))] if parts == 1 else list(_pool(parts).map(lambda edge: roll(*edge), pairwise(edges)))
    except driver.NumbaError as error:
        words = str(error).strip().splitlines()
        raise InputError(
            "the compiled controller cannot be called as controller(time, q, v), giving an array of torques: "
            + " ".join(line.strip() for line in words if line.strip())[:500]
        ) from None
    worst = max(found, key=lambda part: part.status)
    arrays = [np.concatenate([part[k] for part in found], axis=1) for k in range(4)]
    return Driven(arrays[0], arrays[1], arrays[2], arrays[3], *worst[4:])


@cache
def _for_one(controller: Callable[..., Any]) -> Callable[..., Any]:
    """The controller of one state as one of a batch of one."""
    from numba import njit

    def batch(time: float, q: Array, v: Array) -> Any:
        found = controller(time, q[0], v[0])
        return found.reshape((1, found.shape[0]))

    made: Callable[..., Any] = njit(nogil=True)(batch)
    return made
