# SPDX-License-Identifier: BSD-3-Clause
"""Steps from one stop of the schedule to the next: in machine code, in Python, or of adaptive length.

Of a batch, a robot that stops being finite holds NaN from there on, and is left out of further steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from linkwork.compilers.entry.entry_point import DONE, OVERFLOW
from linkwork.errors import InputError
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.simulation.actuation import Actuation, not_finite
from linkwork.simulation.control import Controller
from linkwork.simulation.finite_states import finite_states, step_live
from linkwork.simulation.open_loops import open_loops
from linkwork.simulation.state import Propagate, State
from linkwork.simulation.stepper import Stepper
from linkwork.simulation.thresholds import GROWING, LEAST_STEP_ERROR, ROUNDED_TIME, SHORTEST_STEP, SHRINKING

SAFETY = 0.9
"""Of the step length that the error allows, the part that is taken."""

_empty = np.empty

# Steps in machine code ----------------------------------------------------------------------------------------------


class CompiledSteps:
    """Steps in machine code, of one robot or of a batch: a `Propagate`.

    Args:
        stepper: Makes whole steps; with a controller among them, if there is one.
        shortened: A stepper for one step of some length, where there are parts of steps.
        wrenches: External wrenches.
        parameters: Parameters of the robots that are inputs of the steps, in order, for all robots or for each.
        controller: The controller that is compiled with the steps.
        end: Step of the clock at which the controller is not called.
        begin: Seconds at zero of the clock.
    """

    def __init__(
        self,
        stepper: Stepper,
        shortened: Callable[[float], Stepper] | None,
        wrenches: Array | None = None,
        parameters: Sequence[Array] = (),
        controller: Controller | None = None,
        end: float = np.inf,
        begin: float = 0.0,
    ) -> None:
        self.stepper, self.shortened, self.wrenches, self.parameters = stepper, shortened, wrenches, parameters
        self.controller, self.end, self.begin = controller, end, begin
        self._packed = () if controller is None else controller.packed()
        self._further: dict[int, tuple[Array, ...]] = {}
        self._entry: Callable[..., int] | None = None
        self._idle = stepper.held(None, wrenches)
        self._one_by_one = stepper.given is not None

    def __call__(self, state: State, start: float, stop: float) -> tuple[State, int]:
        """The state at the next stop, and the steps after which it was finite.

        Args:
            state: At the stop before.
            start: That stop, in steps of the clock.
            stop: The next one.
        """
        steps = int(stop - start)
        if not steps:
            assert self.shortened is not None
            short, begin = self.shortened((stop - start) * self.stepper.dt), self.begin + start * self.stepper.dt
            part = CompiledSteps(short, self.shortened, self.wrenches, self.parameters, begin=begin)
            return part(state, 0.0, 1.0)
        one, calls = state.q.ndim == 1, steps if self._one_by_one else 1
        for k in range(calls):  # or one by one, where contact points are found between steps
            each = steps // calls
            state, done = self.advance(state, int(start) + k, each, k == calls - 1 and stop == self.end)
            if one and done < each:
                return state, k + done
        return state, steps

    def feedback(self, time: float, state: State) -> Actuation:
        """Torques of the controller before the first step.

        Args:
            time: Seconds.
            state: The state then.
        """
        return self.advance(state, round(time / self.stepper.dt), 0, False)[0].actuation

    def advance(self, state: State, now: int, steps: int, final: bool = False) -> tuple[State, Any]:
        """The state after some steps in one call of machine code.

        And the steps after which it was finite; of a batch, the steps of each robot: none of those that were not finite
        before.

        Args:
            state: Before the steps.
            now: Step of the clock.
            steps: Number of steps.
            final: Whether the controller is not called after the last.
        """
        q, v, (tau, commands), _, contacts, act = state
        further = self._further.get(steps)
        if further is None:
            repeats = self.stepper.held.repeats(steps)
            further = self._further[steps] = (*self._packed, *self.parameters, repeats)
        held = self._idle
        if self.stepper.planned.timed or not (commands is contacts is act is None):
            time = self.begin + now * self.stepper.dt
            held = self.stepper.held(commands, self.wrenches, contacts, q, act, time)
        if self.controller is not None:
            held = (*held[:-1], control_timing(self.stepper, now, steps, final))
        inputs = (q, v, tau, *held, *further)
        return (self._one if q.ndim == 1 else self._many)(state, inputs, now, steps)

    def _one(self, state: State, inputs: Sequence[Array], now: int, steps: int) -> tuple[State, int]:
        """One robot."""
        stepper = self.stepper
        out = stepper.execution.results(*inputs)
        if out is None:
            if self._entry is None:
                self._entry = stepper.runner.own_entry(False)
            out = [_empty(shape) for shape in stepper.held.shapes]
            status = self._entry(*inputs, *out)
            if status not in (DONE, OVERFLOW):
                stepper.runner.explain(status, inputs, out)
        done, planned = int(out[-1][1]) - 1, stepper.planned
        if done < steps:
            planned.check_loops(out[-1], f"at {self.begin + (now + done) * stepper.dt:g} s ")
        if self.controller is None:
            q, v, result, _ = out
            actuation, act = state.actuation, planned.activations_of(result) if planned.na else None
        else:
            q, v, tau, result, _ = out
            actuation, act = Actuation(tau), state.act
            wrong = np.flatnonzero(~np.isfinite(tau))
            if len(wrong):
                raise InputError(self._not_finite(now + done, int(wrong[0])))
        contacts = None if planned.contact is None else planned.contacts_of(result, state.contacts)
        return State(q, v, actuation, planned.forces_of(result), contacts, act), done

    def _many(self, state: State, inputs: Sequence[Array], now: int, steps: int) -> tuple[State, Array]:
        """A batch."""
        planned = self.stepper.planned
        live = finite_states(state.q, state.v)
        q, v, *tau, result, progress = step_live(self.stepper.runner, list(inputs), live)
        rows, good = np.flatnonzero(live), progress[:, 1] == steps + 1
        for torques in tau:
            wrong = np.argwhere(~np.isfinite(torques))
            if len(wrong):
                row, k = (int(x) for x in wrong[0])
                raise InputError(self._not_finite(now + float(progress[row, 1]) - 1.0, k, int(rows[row])))
        every = len(rows) == len(live)

        def scattered(x: Array, kept: Array | None = None) -> Array:
            """Of all robots; NaN where steps failed, or where other robots stopped."""
            if every and (kept is not None or good.all()):
                return x
            full = np.full((len(live), x.shape[1]), np.nan, x.dtype) if kept is None else kept.copy()
            some = np.ones_like(good) if kept is not None else good
            full[rows[some]] = x[some]
            return full

        contacts, act = state.contacts, state.act
        if contacts is not None:
            after = planned.contacts_of(result, contacts if every else contacts[rows])
            contacts = contacts if after is None else scattered(after, contacts)
        if act is not None and not tau:
            moved = planned.activations_of(result)
            act = act if moved is None else scattered(moved, act)
        actuation = Actuation(scattered(tau[0])) if tau else state.actuation
        forces = scattered(planned.forces_of(result))
        return State(scattered(q), scattered(v), actuation, forces, contacts, act), live * steps

    def _not_finite(self, step: float, torque: int, robot: int | None = None) -> str:
        return f"the controller at {step * self.stepper.dt:g} s: {not_finite('torque', torque, robot)}"


def control_timing(stepper: Stepper, now: int, steps: int, final: bool) -> Array:
    """The input ``timing`` of steps under a controller (`kernels.steps.control`).

    Before the first steps there is a call of none, which has the controller computed if it is due.

    Args:
        stepper: Makes the steps.
        now: Step of the clock.
        steps: Number of steps.
        final: Whether they end without the controller.
    """
    every = stepper.planned.control_every
    wait = -now % every if steps == 0 else every - now % every
    return np.array([stepper.dt, 0.0, now, every, wait, steps + 1 if final else steps + 2], dtype=stepper.dtype)


# One step at a time -------------------------------------------------------------------------------------------------


class Attempt(NamedTuple):
    """A step, which may be taken."""

    state: State
    error: Array
    """Estimates of its error in q and v, ``(2, nv)``; NaN where it failed."""
    fault: float = 1.0
    """Negative where loops could not be closed (`StepProgram.check_loops`)."""


OneStep = Callable[[State, float, float], Attempt]
"""A step of some time from a state, at a time."""


def python_steps(make: Callable[[float], OneStep], dt: float) -> Propagate:
    """Steps of one length, called one by one.

    Args:
        make: Makes steps of some length.
        dt: That of whole steps.
    """
    whole = make(dt)

    def propagate(state: State, start: float, stop: float) -> tuple[State, int]:
        steps, h = (int(stop - start), dt) if stop - start >= 1 else (1, (stop - start) * dt)
        step = whole if h == dt else make(h)
        for k in range(steps):
            after = step(state, h, start * dt + k * h).state
            if not (np.isfinite(after.q).all() and np.isfinite(after.v).all()):
                return state, k
            state = after
        return state, steps

    return propagate


def adaptive_steps(one: OneStep, dt: float, accuracy: float, robot: Model) -> Propagate:
    """Steps as long as their error allows, ``dt`` at most. Nothing is remembered from one segment to the next.

    Args:
        one: Makes one step.
        dt: Time of the longest.
        accuracy: By how much each step may be wrong.
        robot: The mechanism, for errors.
    """

    def propagate(state: State, start: float, stop: float) -> tuple[State, int]:
        left, h, least = (stop - start) * dt, dt, ROUNDED_TIME * (stop - start) * dt
        while left > least:
            h = min(h, left)
            after, error, fault = one(state, h, stop * dt - left)
            scale = accuracy * np.stack([np.ones_like(state.v), 1.0 + np.abs(state.v)])
            off = float((np.abs(error) / scale).max(initial=0.0))
            change = SAFETY * max(off, LEAST_STEP_ERROR) ** -0.2 if np.isfinite(off) else SHRINKING
            if off <= 1.0:
                state, left = after, left - h
            elif h < SHORTEST_STEP * dt:
                if fault < 0:
                    raise open_loops(robot, fault, f"at {stop * dt - left:g} s ")
                return state, 0
            h = min(dt, h * min(GROWING, max(SHRINKING, change)))
        return state, ceil(stop - start)

    return propagate


def one_compiled_step(stepper: Stepper, wrenches: Array) -> OneStep:
    """A step in machine code, with its error estimate.

    Args:
        stepper: Makes it.
        wrenches: External wrenches.
    """
    planned, runner = stepper.planned, stepper.runner
    entry, shapes = runner.own_entry(False), runner.outputs

    def step(state: State, h: float, time: float) -> Attempt:
        out = [np.empty(shape) for shape in shapes]
        tau, commands = state.actuation
        *held, timing = stepper.held(commands, wrenches, act=state.act)
        clock = [time / h] if planned.timed else []
        inputs = (state.q, state.v, tau, *held, np.array([h, timing[1], *clock]))
        status = entry(*inputs, *out)
        if status not in (DONE, OVERFLOW):
            runner.explain(status, inputs, out)
        q, v, result, error, progress = out
        fault = float(progress[0])
        if status != DONE or not fault > 0:
            error = np.full_like(error, np.nan)
        forces, act = planned.forces_of(result), planned.activations_of(result)
        return Attempt(State(q, v, state.actuation, forces, None, act), error, fault)

    return step
