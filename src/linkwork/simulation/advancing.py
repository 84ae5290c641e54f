"""Over several steps from one state to another: ways that `simulate` takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from linkwork.compilers.entry import DONE, OVERFLOW
from linkwork.quantities.evaluator import Array
from linkwork.simulation.control import ControlledStepper, Controller
from linkwork.simulation.stages import Staged
from linkwork.simulation.stepper import Stepper, forces_of


class Torques(NamedTuple):
    """What acts on a robot and is held over steps: torques, and commands of servos where there are any."""

    tau: Array
    commands: Array | None = None


SAFETY, LEAST, MOST = 0.9, 0.2, 5.0
"""Of adaptive steps: how much shorter than what would just do, and by how much a step may change."""

Advance = Callable[[Array, Array, Torques, int], tuple[Array, Array, Array, int]]
"""From q, v and torques over so many steps: q, v, constraint forces, and the steps after which all was finite."""

ControlledAdvance = Callable[[Array, Array, Array, int, int, bool], tuple[Array, Array, Array, Array, int]]
"""From q, v and torques at a step over so many, the last ones or not: q, v, torques, constraint forces, steps done."""

OneStep = Callable[[Array, Array, Torques, float], tuple[Array, Array, Array, Array]]
"""From q, v and torques over one step of some time: q, v, constraint forces, error estimates. NaN where it failed."""


def compiled(stepper: Stepper, stride: int, wrenches: Array | None = None) -> Advance:
    """Steps of one length, all in machine code."""
    entry, nc = stepper.runner.own_entry(False), stepper.source.nc
    settings = stepper._often(stride)
    shapes = stepper.runner.outputs

    def advance(q: Array, v: Array, given: Torques, steps: int) -> tuple[Array, Array, Array, int]:
        out = [np.empty(shape) for shape in shapes]
        arrays = (q, v, given.tau, *stepper.held(given.commands, wrenches), settings)
        status = entry(*arrays, *out)
        if status not in (DONE, OVERFLOW):
            stepper.runner.explain(status, arrays, out)
        return out[0], out[1], forces_of(out[2], nc), int(out[3][1]) - 1

    return advance


def under_control(
    stepper: ControlledStepper, controller: Controller, wrenches: Array | None = None
) -> ControlledAdvance:
    """Steps of one length and controls between them, all in machine code."""
    entry, nc, shapes = stepper.runner.own_entry(False), stepper.source.nc, stepper.runner.outputs
    parameters, held = controller.packed(), stepper.held(None, wrenches)[:-1]

    def advance(
        q: Array, v: Array, tau: Array, now: int, steps: int, final: bool
    ) -> tuple[Array, Array, Array, Array, int]:
        out = [np.empty(shape) for shape in shapes]
        clock, settings = stepper.settings(now, steps, final=final)
        arrays = (q, v, tau, *held, clock, *parameters, settings)
        status = entry(*arrays, *out)
        if status not in (DONE, OVERFLOW):
            stepper.runner.explain(status, arrays, out)
        return out[0], out[1], out[2], forces_of(out[3], nc), int(out[4][1]) - 1

    return advance


def one_compiled(stepper: Stepper, wrenches: Array | None = None) -> OneStep:
    """A step in machine code, with its error estimate."""
    entry, nc, shapes = stepper.runner.own_entry(False), stepper.source.nc, stepper.runner.outputs

    def step(q: Array, v: Array, given: Torques, h: float) -> tuple[Array, Array, Array, Array]:
        out = [np.empty(shape) for shape in shapes]
        *held, clock = stepper.held(given.commands, wrenches)
        arrays = (q, v, given.tau, *held, np.array([h, clock[1]]))
        status = entry(*arrays, *out)
        if status not in (DONE, OVERFLOW):
            stepper.runner.explain(status, arrays, out)
        return out[0], out[1], forces_of(out[2], nc), out[3] if status == DONE else np.full_like(out[3], np.nan)

    return step


def one_staged(staged: Staged) -> OneStep:
    """A step in Python, around any method."""
    dynamics = staged.dynamics

    def step(q: Array, v: Array, given: Torques, h: float) -> tuple[Array, Array, Array, Array]:
        q1, y1, forces, off = staged.step(q, dynamics.speeds(v), given.tau, h, given.commands)
        return q1, dynamics.velocity(q1, y1), forces, off

    return step


def repeated(one: OneStep, dt: float) -> Advance:
    """Steps of one length, one by one."""

    def advance(q: Array, v: Array, given: Torques, steps: int) -> tuple[Array, Array, Array, int]:
        forces = np.zeros(0)
        for k in range(steps):
            q1, v1, forces, _ = one(q, v, given, dt)
            if not (np.isfinite(q1).all() and np.isfinite(v1).all()):
                return q, v, forces, k
            q, v = q1, v1
        return q, v, forces, steps

    return advance


def adaptive(one: OneStep, dt: float, tolerance: float) -> Advance:
    """Steps as long as their error allows. Nothing is remembered from one call to the next."""

    def advance(q: Array, v: Array, given: Torques, steps: int) -> tuple[Array, Array, Array, int]:
        whole = steps * dt
        left, h, forces = whole, dt, np.zeros(0)
        while left > 1e-12 * whole:
            h = min(h, left)
            q1, v1, found, error = one(q, v, given, h)
            scale = tolerance * np.stack([np.ones_like(v), 1.0 + np.abs(v)])
            off = float((np.abs(error) / scale).max(initial=0.0))
            change = SAFETY * max(off, 1e-12) ** -0.2 if np.isfinite(off) else LEAST
            if off <= 1.0:
                q, v, forces, left = q1, v1, found, left - h
            elif h < 1e-9 * dt:
                return q, v, forces, 0
            h = min(dt, h * min(MOST, max(LEAST, change)))
        return q, v, forces, steps

    return advance
