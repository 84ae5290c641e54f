# SPDX-License-Identifier: BSD-3-Clause
"""Steps of one robot from one stop of the schedule to the next: fixed, adaptive, or compiled with a controller."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

import numpy as np

from linkwork.compilers.entry.entry_point import DONE, OVERFLOW
from linkwork.errors import InputError
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.simulation.actuation import Actuation, not_finite
from linkwork.simulation.control import ControlledStepper, Controller
from linkwork.simulation.loop import Feedback, Propagate, State
from linkwork.simulation.open_loops import open_loops
from linkwork.simulation.python_steps import PythonStepper
from linkwork.simulation.stepper import Stepper

SAFETY, LEAST, MOST = 0.9, 0.2, 5.0
"""Of adaptive steps: safety factor, and the factors by which a step may shrink and grow."""

MakeStepper = Callable[[float], Stepper]
"""A stepper for steps of some length."""

OneStep = Callable[
    [Array, Array, Actuation, float, Array | None], tuple[Array, Array, Array, Array, float, Array | None]
]
"""From q, v, what acts over one step of some time, and activations: q, v, constraint forces, error estimates (NaN where
it failed), what is wrong with loops (`Stepper.check_loops`: negative, if anything is), and activations."""


# Steps of one length ------------------------------------------------------------------------------------------------


def compiled_steps(stepper: Stepper, make: MakeStepper, wrenches: Array, begin: float = 0.0) -> Propagate:
    """Steps in machine code; a shorter one is made by a stepper of its own. ``begin``: seconds at zero of the clock."""
    entry, shapes = stepper.runner.own_entry(False), stepper.runner.outputs
    without_commands = stepper.held(None, wrenches)
    repeats: dict[int, Array] = {}

    def propagate(state: State, start: float, stop: float) -> tuple[State, int]:
        steps = int(stop - start)
        if not steps:
            short = make((stop - start) * stepper.dt)
            return compiled_steps(short, make, wrenches, begin + start * stepper.dt)(state, 0.0, 1.0)
        q, v, actuation, _, contacts, act = state
        tau, commands = actuation
        out = [np.empty(shape) for shape in shapes]
        settings = repeats.get(steps)
        if settings is None:
            settings = repeats[steps] = stepper.repeats(steps)
        plain = commands is None and contacts is None and act is None
        held = without_commands if plain else stepper.held(commands, wrenches, contacts, q, act)
        arrays = (q, v, tau, *held, settings)
        status = entry(*arrays, *out)
        if status not in (DONE, OVERFLOW):
            stepper.runner.explain(status, arrays, out)
        done = int(out[3][1]) - 1
        if done < steps:
            stepper.check_loops(out[3], f"at {begin + (start + done) * stepper.dt:g} s ")
        kept = stepper.contacts_of(out[2], contacts)
        end = stepper.activations_of(out[2])
        return State(out[0], out[1], actuation, stepper.forces_of(out[2]), kept, end), done

    return propagate if stepper.given is None else one_by_one(propagate)


def one_by_one(propagate: Propagate) -> Propagate:
    """Whole steps in calls of their own: what is given, such as contact points of meshes, is found between them."""

    def each(state: State, start: float, stop: float) -> tuple[State, int]:
        if stop - start < 1:
            return propagate(state, start, stop)
        for k in range(int(stop - start)):
            state, done = propagate(state, start + k, start + k + 1)
            if done < 1:
                return state, k
        return state, int(stop - start)

    return each


def python_steps(make: Callable[[float], PythonStepper], dt: float) -> Propagate:
    """Steps in Python around any method."""
    whole = make(dt)

    def propagate(state: State, start: float, stop: float) -> tuple[State, int]:
        steps, h = (int(stop - start), dt) if stop - start >= 1 else (1, (stop - start) * dt)
        stepper = whole if h == dt else make(h)
        q, v, (tau, commands), forces, _, act = state
        for k in range(steps):
            q1, v1, forces, _, act1 = stepper.step(q, v, tau, h, commands, act)
            if not (np.isfinite(q1).all() and np.isfinite(v1).all()):
                return State(q, v, state.actuation, forces, None, act), k
            q, v, act = q1, v1, act1
        return State(q, v, state.actuation, forces, None, act), steps

    return propagate


# Steps of adaptive length -------------------------------------------------------------------------------------------


def adaptive_steps(one: OneStep, dt: float, tolerance: float, robot: Model) -> Propagate:
    """Steps as long as their error allows, ``dt`` at most. Nothing is remembered from one segment to the next."""

    def propagate(state: State, start: float, stop: float) -> tuple[State, int]:
        q, v, actuation, forces, _, act = state
        left, h, least = (stop - start) * dt, dt, 1e-12 * (stop - start) * dt
        while left > least:
            h = min(h, left)
            q1, v1, forces_after, error, fault, act1 = one(q, v, actuation, h, act)
            scale = tolerance * np.stack([np.ones_like(v), 1.0 + np.abs(v)])
            off = float((np.abs(error) / scale).max(initial=0.0))
            change = SAFETY * max(off, 1e-12) ** -0.2 if np.isfinite(off) else LEAST
            if off <= 1.0:
                q, v, forces, left, act = q1, v1, forces_after, left - h, act1
            elif h < 1e-9 * dt:
                if fault < 0:
                    raise open_loops(robot, fault, f"at {stop * dt - left:g} s ")
                return State(q, v, actuation, forces, None, act), 0
            h = min(dt, h * min(MOST, max(LEAST, change)))
        return State(q, v, actuation, forces, None, act), ceil(stop - start)

    return propagate


def one_compiled_step(stepper: Stepper, wrenches: Array) -> OneStep:
    """A step in machine code, with its error estimate."""
    entry, shapes = stepper.runner.own_entry(False), stepper.runner.outputs

    def step(
        q: Array, v: Array, actuation: Actuation, h: float, act: Array | None
    ) -> tuple[Array, Array, Array, Array, float, Array | None]:
        out = [np.empty(shape) for shape in shapes]
        *held, timing = stepper.held(actuation.commands, wrenches, act=act)
        arrays = (q, v, actuation.tau, *held, np.array([h, timing[1]]))
        status = entry(*arrays, *out)
        if status not in (DONE, OVERFLOW):
            stepper.runner.explain(status, arrays, out)
        fault = float(out[4][0])
        error = out[3] if status == DONE and fault > 0 else np.full_like(out[3], np.nan)
        return out[0], out[1], stepper.forces_of(out[2]), error, fault, stepper.activations_of(out[2])

    return step


def one_python_step(stepper: PythonStepper) -> OneStep:
    """A step in Python, around any method."""

    def step(
        q: Array, v: Array, actuation: Actuation, h: float, act: Array | None
    ) -> tuple[Array, Array, Array, Array, float, Array | None]:
        *found, after = stepper.step(q, v, actuation.tau, h, actuation.commands, act)
        return found[0], found[1], found[2], found[3], 1.0, after

    return step


# Steps compiled with their controller -------------------------------------------------------------------------------


def controlled_steps(
    stepper: ControlledStepper, make: MakeStepper, controller: Controller, wrenches: Array, end: float
) -> tuple[Propagate, Feedback]:
    """Steps and controls between them, all in machine code; and the controller by itself, for a start.

    At the ``end``, in steps of the clock, the controller is not called.
    """
    entry, shapes = stepper.runner.own_entry(False), stepper.runner.outputs
    parameters, dt = controller.packed(), stepper.dt

    def advance(state: State, now: int, steps: int, final: bool) -> tuple[State, int]:
        out = [np.empty(shape) for shape in shapes]
        held = stepper.held(None, wrenches, state.contacts, state.q, state.act)[:-1]
        timing, settings = stepper.settings(now, steps, final=final)
        arrays = (state.q, state.v, state.actuation.tau, *held, timing, *parameters, settings)
        status = entry(*arrays, *out)
        if status not in (DONE, OVERFLOW):
            stepper.runner.explain(status, arrays, out)
        done, tau = int(out[4][1]) - 1, out[2]
        if done < steps:
            stepper.check_loops(out[4], f"at {(now + done) * dt:g} s ")
        if not np.isfinite(tau).all():
            what = not_finite("torque", int(np.flatnonzero(~np.isfinite(tau))[0]))
            raise InputError(f"the controller at {(now + done) * dt:g} s: {what}")
        kept = stepper.contacts_of(out[3], state.contacts)
        return State(out[0], out[1], Actuation(tau), stepper.forces_of(out[3]), kept, state.act), done

    def propagate(state: State, start: float, stop: float) -> tuple[State, int]:
        if stop - start >= 1:
            return advance(state, int(start), int(stop - start), stop == end)
        return compiled_steps(make((stop - start) * dt), make, wrenches, start * dt)(state, 0.0, 1.0)

    def feedback(time: float, state: State) -> Actuation:
        return advance(state, round(time / dt), 0, False)[0].actuation

    return propagate if stepper.given is None else one_by_one(propagate), feedback
