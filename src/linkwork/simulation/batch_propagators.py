# SPDX-License-Identifier: BSD-3-Clause
"""Steps of many robots at once from one stop of the schedule to the next, in SIMD lanes and threads.

A robot that stops being finite holds NaN from there on, and is left out of further steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from linkwork.errors import InputError
from linkwork.quantities.arguments import Array
from linkwork.simulation.actuation import Actuation, not_finite
from linkwork.simulation.control import ControlledStepper, Controller
from linkwork.simulation.finite_states import finite_states, step_live
from linkwork.simulation.loop import Feedback, Propagate, State
from linkwork.simulation.propagators import one_by_one
from linkwork.simulation.stepper import Stepper


def batch_steps(
    stepper: Stepper, make: Callable[[float], Stepper], wrenches: Array, parameters: Sequence[Array] = ()
) -> Propagate:
    """The same steps for all robots; a shorter one is made by a stepper of its own.

    ``parameters`` are those that are inputs of the steps, in order, for all robots or for each.
    """
    dt = stepper.dt

    def propagate(state: State, start: float, stop: float) -> tuple[State, int]:
        by, steps = (stepper, int(stop - start)) if stop - start >= 1 else (make((stop - start) * dt), 1)
        q, v, actuation, _, contacts, act = state
        live, nc = finite_states(q, v), by.source.nc
        held = by.held(actuation.commands, wrenches, contacts, q, act)
        inputs = [q, v, actuation.tau, *held, *parameters, by.repeats(steps)]
        q1, v1, found, progress = step_live(by.runner, inputs, live)
        good = progress[:, 1] == steps + 1
        forces = np.zeros((len(q), nc))
        q, v = np.full_like(q, np.nan), np.full_like(v, np.nan)
        q[live], v[live] = np.where(good[:, None], q1, np.nan), np.where(good[:, None], v1, np.nan)
        forces[live] = np.where(good[:, None], by.forces_of(found), np.nan)
        return State(
            q, v, actuation, forces, _contacts(by, found, contacts, live), _activations(by, found, act, live)
        ), steps

    return propagate if stepper.given is None else one_by_one(propagate)


def controlled_batch_steps(
    stepper: ControlledStepper,
    partial: Propagate,
    controller: Controller,
    wrenches: Array,
    end: float,
    parameters: Sequence[Array] = (),
) -> tuple[Propagate, Feedback]:
    """Steps and controls between them, all in machine code; and the controller by itself, for a start.

    At the ``end``, in steps of the clock, the controller is not called. ``parameters``: as for `batch_steps`.
    """
    given, dt = (*controller.packed(), *parameters), stepper.dt

    def advance(state: State, now: int, steps: int, final: bool) -> State:
        held = stepper.held(None, wrenches, state.contacts, state.q, state.act)[:-1]
        timing, settings = stepper.settings(now, steps, final=final)
        inputs = [state.q, state.v, state.actuation.tau, *held, timing, *given, settings]
        live = finite_states(state.q, state.v)
        q1, v1, tau1, found, progress = step_live(stepper.runner, inputs, live)
        wrong = np.argwhere(~np.isfinite(tau1))
        if len(wrong):
            row, k = (int(x) for x in wrong[0])
            time, which = (now + progress[row, 1] - 1.0) * dt, int(np.flatnonzero(live)[row])
            raise InputError(f"the controller at {time:g} s: {not_finite('torque', k, which)}")
        good = progress[:, 1] == steps + 1
        results = (q1, v1, tau1, stepper.forces_of(found))
        q, v, tau, forces = (np.full((len(state.q), x.shape[1]), np.nan) for x in results)
        for x, y in zip((q, v, tau, forces), results, strict=True):
            x[np.flatnonzero(live)[good]] = y[good]
        return State(q, v, Actuation(tau), forces, _contacts(stepper, found, state.contacts, live), state.act)

    def propagate(state: State, start: float, stop: float) -> tuple[State, int]:
        if stop - start < 1:
            return partial(state, start, stop)
        steps = int(stop - start)
        return advance(state, int(start), steps, stop == end), steps

    def feedback(time: float, state: State) -> Actuation:
        return advance(state, round(time / dt), 0, False).actuation

    return propagate if stepper.given is None else one_by_one(propagate), feedback


def _contacts(stepper: Stepper, found: Array, before: Array | None, live: Array) -> Array | None:
    """What is kept of contacts after steps of those robots that were finite; others keep what they had."""
    if before is None:
        return None
    kept = before.copy()
    kept[live] = stepper.contacts_of(found, before[live])
    return kept


def _activations(stepper: Stepper, found: Array, before: Array | None, live: Array) -> Array | None:
    """Activations after steps of those robots that were finite; others keep what they had."""
    if before is None:
        return None
    act = before.copy()
    act[live] = stepper.activations_of(found)
    return act
