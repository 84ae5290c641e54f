# SPDX-License-Identifier: BSD-3-Clause
"""Steps of integrators as kernel code, so that whole rollouts run in machine code.

A step leads from ``q, v`` to ``q1, v1`` and is repeated without returning to Python: an algorithm iterates on its own
outputs. Joint torques are the input's, the passive ones (`joint_forces`: springs, dampers, stops), and those of
actuators under commands (`actuation`), at every stage of a step. Forward dynamics is `aba` for trees and `lcaba` for
loops, with a fixed number of proximal iterations.

| symbol      | meaning                                                                                   |
|-------------|-------------------------------------------------------------------------------------------|
| h           | time of a step                                                                            |
| u           | commands of the actuators; ``commanded`` is one where they act, else zero                  |
| passive     | of each degree of freedom: stiffness, rest position, damping, lower and upper stop, and    |
|             | stiffness and damping of the stops                                                        |
| x           | coordinates of a stage's configuration relative to ``q`` (`integration.retract`)           |
| Xs, As      | rates of x and of v at the stages of a Runge-Kutta method                                  |
| qs, vs      | state of a stage, and in the end that after the step                                      |
| a, b, e     | Butcher tableau: coefficients, weights, weights of the error estimate                      |

Runge-Kutta methods work on ``x`` (Munthe-Kaas): ``x' = dexp^-1(x) v`` for rotations, plain numbers for the rest, so
that they have the order on Lie groups that they have on numbers. Cost of a stage: that of forward dynamics, and O(n).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.elementary import copy_numbers
from linkwork.kernels.integration import chart_rate, retract
from linkwork.kernels.records import view_of, view_records
from linkwork.kernels.scalar import Array, Scalar, kernel, where, with_arrays
from linkwork.kernels.steps.stage_dynamics import (
    COMMANDED,
    DRIVEN_LOOPS_1,
    DRIVEN_LOOPS_3,
    DRIVEN_MINIMAL,
    DRIVEN_REFINED_LOOPS_1,
    DRIVEN_TREES,
    DT,
    IMPLICIT,
    IMPLICIT_WORK,
    LOOPS_1,
    LOOPS_3,
    MINIMAL,
    REFINED_LOOPS_1,
    TIMED_LOOPS_1,
    TIMED_LOOPS_3,
    TIMED_REFINED_LOOPS_1,
    TIMED_TREES,
    TREES,
    Dynamics,
    StepInputs,
    joint_forces,
    no_dependent_joints,
)
from linkwork.kernels.steps.tableaus import DOPRI5, RK4, Scheme
from linkwork.kernels.tree.actuation import load_activations, start_activations, store_activations
from linkwork.model.activations import REGISTER


class Start(NamedTuple):
    """The inputs of an algorithm that repeats a step."""

    q: Array
    v: Array
    inputs: StepInputs


class End(NamedTuple):
    """The outputs of an algorithm that repeats a step: the state from which it continues."""

    q: Array
    v: Array
    flat: Array
    """The result of forward dynamics (`constrained.Result`)."""
    progress: Array
    """One while the state is finite; one more than the steps."""


# Steps ------------------------------------------------------------------------------------------------------------

_NO_ACTIVATIONS = (no_dependent_joints, no_dependent_joints)


class Step(NamedTuple):
    """One step of an integrator, for the algorithms that repeat it."""

    name: str
    dynamics: Dynamics
    text: Callable[..., None]
    """``text(tree, w, q, v, inputs, flat)``: writes the state after the step to ``w.qs, w.vs``."""
    work: dict[str, Shape]
    stages: int = 0
    """Number of calls of `scalar.stage`."""

    @property
    def inputs(self) -> dict[str, Shape]:
        """The inputs of a step without the timing."""
        return {"q": ("nq",), "v": ("nv",)} | self.dynamics.inputs


def euler(dynamics: Dynamics) -> Step:
    """Semi-implicit Euler: velocities first, then positions along the new velocities (**loops** Eqs. 54, 55).

    Springs and dampers are implicit, ``-k (q + h v1 - rest) - d v1``: the terms in the new velocity add ``h d + h² k``
    to the armature. That of joints is part of the mechanism already (`simulation.stabilization`); dampers of stops,
    actuators and tendons add theirs in the step (`Dynamics.dampers`).
    """
    accelerations, actuation = dynamics.accelerations, dynamics.actuation
    dampers, damp_coupled = dynamics.dampers, dynamics.damp_coupled
    joints = dynamics.coordinates
    begin_step, explicit_constraints = joints.begin_step, joints.explicit_constraints
    velocity_slip, integrate, close_loops = joints.velocity_slip, joints.integrate, joints.close_loops
    load, store = (load_activations, store_activations) if dynamics.takes_commands else _NO_ACTIVATIONS
    set_time, mean_targets = dynamics.clock.set_time, dynamics.clock.mean_targets
    drive_positions = dynamics.clock.drive_positions

    @kernel
    def step(tree: Array, w: Array, q: Array, v: Array, inputs: StepInputs, flat: Array) -> None:
        h = inputs.timing[DT]
        set_time(w, h)
        begin_step(tree, w)
        explicit_constraints(tree, w, q)
        velocity_slip(tree, w, v, h)
        load(tree, w, flat)
        joint_forces(tree, q, v, inputs.tau, inputs.passive, h, w.torque)
        actuation(tree, w, q, v, inputs.u, h, inputs.timing[COMMANDED], w.torque)
        dampers(tree, w, q, inputs, h)
        damped = with_arrays(tree, w, IMPLICIT)
        mean_targets(tree, w, q, v, h)
        accelerations(damped, w, q, v, w.torque, inputs, w.acc, flat)
        damp_coupled(damped, w, h, w.acc)
        for k in range(tree.nv):
            w.vs[k] = v[k] + h * w.acc[k]
        integrate(tree, w, q, w.vs, h, w.qs)
        close_loops(tree, w, w.qs)
        drive_positions(tree, w, w.qs)
        store(tree, w, h, flat, flat)

    work: dict[str, Shape] = {"torque": ("nv",), "acc": ("nv",), "vs": ("nv",), "qs": ("nq",)} | IMPLICIT_WORK
    return Step("euler", dynamics, step, work)


def runge_kutta(scheme: Scheme, dynamics: Dynamics) -> Step:
    """An explicit Runge-Kutta-Munthe-Kaas method."""
    accelerations, actuation = dynamics.accelerations, dynamics.actuation
    joints = dynamics.coordinates
    begin_step, explicit_constraints = joints.begin_step, joints.explicit_constraints
    dependent_velocities, close_loops = joints.dependent_velocities, joints.close_loops
    closed_velocities = joints.closed_velocities
    a, b, e, n = scheme.a, scheme.b, scheme.e, len(scheme.b)
    times = tuple(sum(row) for row in a)
    set_time, drive, clear_targets = dynamics.clock.set_time, dynamics.clock.drive, dynamics.clock.clear_targets
    load, store = stage_activations(scheme) if dynamics.takes_commands else _NO_ACTIVATIONS

    @kernel
    def step(tree: Array, w: Array, q: Array, v: Array, inputs: StepInputs, flat: Array) -> None:
        h = inputs.timing[DT]
        begin_step(tree, w)
        for s in range(n):
            # x = h Σ a_st X_t,  v_s = v + h Σ a_st A_t
            for k in range(tree.nv):
                x = 0.0
                y = 0.0
                for t in range(s):
                    x = x + a[s][t] * w.Xs[t, k]
                    y = y + a[s][t] * w.As[t, k]
                w.xs[k] = h * x
                w.vs[k] = v[k] + h * y
            retract(tree, q, w.xs, w.qs)
            set_time(w, times[s] * h)
            if s > 0:
                close_loops(tree, w, w.qs)
                drive(tree, w, w.qs, w.vs)
            explicit_constraints(tree, w, w.qs)
            dependent_velocities(tree, w, w.vs)
            load(tree, w, s, h, flat)
            joint_forces(tree, w.qs, w.vs, inputs.tau, inputs.passive, 0.0, w.torque)
            actuation(tree, w, w.qs, w.vs, inputs.u, h, inputs.timing[COMMANDED], w.torque)
            clear_targets(tree, w)
            accelerations(tree, w, w.qs, w.vs, w.torque, inputs, w.As[s], flat)
            chart_rate(tree, w.qs, w.xs, w.vs, w.Xs[s])
        # x = h Σ b_t X_t,  v_1 = v + h Σ b_t A_t,  errors h Σ e_t X_t and h Σ e_t A_t
        for k in range(tree.nv):
            x = 0.0
            y = 0.0
            ex = 0.0
            ev = 0.0
            for t in range(n):
                x = x + b[t] * w.Xs[t, k]
                y = y + b[t] * w.As[t, k]
                ex = ex + e[t] * w.Xs[t, k]
                ev = ev + e[t] * w.As[t, k]
            w.xs[k] = h * x
            w.vs[k] = v[k] + h * y
            w.step_error[0, k] = h * ex
            w.step_error[1, k] = h * ev
        retract(tree, q, w.xs, w.qs)
        close_loops(tree, w, w.qs)
        closed_velocities(tree, w, w.vs)
        set_time(w, h)
        drive(tree, w, w.qs, w.vs)
        store(tree, w, h, flat)

    work: dict[str, Shape] = {
        "torque": ("nv",),
        "xs": ("nv",),
        "vs": ("nv",),
        "qs": ("nq",),
        "Xs": (n, "nv"),
        "As": (n, "nv"),
        "step_error": (2, "nv"),
    }
    if dynamics.takes_commands:
        work["act_rates"] = (n, "na")
    return Step(scheme.name, dynamics, step, work)


def stage_activations(scheme: Scheme) -> tuple[Callable[..., None], Callable[..., None]]:
    """Activations of actuators in a Runge-Kutta method: before a stage, and after the step."""
    a, b, n = scheme.a, scheme.b, len(scheme.b)

    @kernel
    def load(tree: Array, w: Array, s: int, h: Scalar, flat: Array) -> None:
        """``w.act``: activations of stage ``s``; rates of the stage before are kept."""
        for k in range(tree.na):
            if s > 0:
                w.act_rates[s - 1, k] = w.act_rate[k]
            x = 0.0
            for t in range(s):
                x = x + a[s][t] * w.act_rates[t, k]
            if tree.act_dynamics[k] == REGISTER:
                x = 0.0  # delayed commands advance once in a step
            w.act[k] = flat[tree.act_start + k] + h * x

    @kernel
    def store(tree: Array, w: Array, h: Scalar, flat: Array) -> None:
        """Activations after the step, by the mean rate of its stages."""
        for k in range(tree.na):
            w.act_rates[n - 1, k] = w.act_rate[k]
            x = 0.0
            for t in range(n):
                x = x + b[t] * w.act_rates[t, k]
            w.act_rate[k] = x
        store_activations(tree, w, h, flat, flat)

    return load, store


# Algorithms that repeat a step ------------------------------------------------------------------------------------


@kernel
def zero_solution(tree: Array, inputs: StepInputs, flat: Array) -> None:
    """No step has been made: no constraint forces."""
    for k in range(tree.nresult):
        flat[k] = 0.0


@kernel
def no_solution(tree: Array, inputs: StepInputs, flat: Array) -> None:
    """There are no constraints."""


def begin_of(dynamics: Dynamics) -> Callable[..., None]:
    """The kernel that makes the result before the first step."""
    solution = dynamics.begin or (zero_solution if dynamics.constrained else no_solution)
    if not dynamics.takes_commands:
        return solution

    @kernel
    def begin(tree: Array, inputs: StepInputs, flat: Array) -> None:
        solution(tree, inputs, flat)
        start_activations(tree, inputs.u, flat)

    return begin


@kernel
def count_step(tree: Array, q: Array, v: Array, progress: Array) -> None:
    """``progress``: one while the state is finite (else NaN, which ends the iteration), and one more than the steps."""
    x = 0.0
    for k in range(tree.nq):
        x = x + q[k] * 0.0
    for k in range(tree.nv):
        x = x + v[k] * 0.0
    progress[0] = 1.0 + x
    progress[1] += where(progress[0], 2.0, 1.0, 0.0)


@kernel
def store_state(tree: Array, w: Array, q1: Array, v1: Array, progress: Array) -> None:
    """The state after a step as the output, from which the next step starts."""
    copy_numbers(w.qs, q1, tree.nq)
    copy_numbers(w.vs, v1, tree.nv)
    count_step(tree, q1, v1, progress)


@kernel
def copy_state(tree: Array, start: Start, end: End) -> None:
    """The state before the first step as the output, from which it starts."""
    copy_numbers(start.q, end.q, tree.nq)
    copy_numbers(start.v, end.v, tree.nv)
    end.progress[0] = 1.0
    end.progress[1] = 1.0


def repeated(one: Step) -> Algorithm:
    """The algorithm that repeats a step; ``settings`` are zero and one more than the number of steps, and ``progress``
    ends with one more than the steps after which the state was finite.

    The first kernel only copies the state to the outputs, so that there is one kernel of a step.
    """
    dynamics, step, check_closure = one.dynamics, one.text, one.dynamics.coordinates.check_closure
    begin = begin_of(dynamics)
    start_clock, timed = dynamics.clock.start, dynamics.clock.fields

    @kernel
    def first(tree: Array, w: Array, start: Start, end: End) -> None:
        copy_state(tree, start, end)
        begin(tree, start.inputs, end.flat)

    @kernel
    def iteration(tree: Array, w: Array, start: Start, end: End) -> None:
        start_clock(w, start.inputs.timing, end.progress, start.inputs.timing[DT])
        step(with_arrays(tree, w, timed), w, end.q, end.v, start.inputs, end.flat)
        store_state(tree, w, end.q, end.v, end.progress)
        check_closure(w, end.progress)

    inputs: dict[str, Shape] = one.inputs | {"timing": (dynamics.clock.timing,), "settings": (2,)}
    outputs: dict[str, Shape] = {"q1": ("nq",), "v1": ("nv",)}
    outputs |= {"result": dynamics.result, "progress": (2,)}
    name, work = f"{one.name}_{dynamics.name}", dynamics.work | one.work
    return Algorithm(
        name,
        first,
        inputs,
        outputs,
        work,
        dynamics.layout,
        iteration,
        dynamics.folded,
        view_of(Start, None, End),
        integers=dynamics.integers or {},
        order=order_of(dynamics),
    )


def order_of(dynamics: Dynamics) -> Callable[..., None] | None:
    """The kernel of the sort key of states, or None."""
    order_by = dynamics.order
    if order_by is None:
        return None

    @kernel
    def order(tree: Array, key: Array, start: Start, *rest: Any) -> None:
        order_by(tree, key, start.v, start.inputs)

    return order


def single(repeating: Algorithm) -> Algorithm:
    """One step of an algorithm that repeats it, as a straight-line program to differentiate.

    Args:
        repeating: An algorithm of `repeated`.
    """
    assert repeating.iteration is not None
    first, iteration = repeating.kernel, repeating.iteration

    @kernel
    def once(tree: Array, w: Array, start: Start, end: End) -> None:
        first(tree, w, start, end)
        iteration(tree, w, start, end)

    inputs = {name: shape for name, shape in repeating.inputs.items() if name != "settings"}
    name, outputs, work = f"{repeating.name}_once", repeating.outputs, repeating.work
    return Algorithm(
        name, once, inputs, outputs, work, repeating.layout, folded=repeating.folded, view=view_of(Start, End)
    )


def with_error_estimate(scheme: Scheme, dynamics: Dynamics) -> Algorithm:
    """One step with an estimate of its error, of ``x`` and of ``v``."""
    once = repeated(runge_kutta(scheme, dynamics))
    assert once.iteration is not None
    first, iteration = once.kernel, once.iteration

    @kernel
    def view(tree: Array, *arrays: Array) -> tuple[Start, End, Array]:
        (start,) = view_records(tree, arrays, (Start,))
        q1, v1, flat, step_error, progress = arrays[8:13]
        return start, End(q1, v1, flat, progress), step_error

    @kernel
    def estimated(tree: Array, w: Array, start: Start, end: End, step_error: Array) -> None:
        first(tree, w, start, end)
        iteration(tree, w, start, end)
        for k in range(tree.nv):
            step_error[0, k] = w.step_error[0, k]
            step_error[1, k] = w.step_error[1, k]

    inputs = {name: shape for name, shape in once.inputs.items() if name != "settings"}
    outputs = {name: shape for name, shape in once.outputs.items() if name != "progress"}
    outputs |= {"step_error": (2, "nv"), "progress": (2,)}
    return replace(once, kernel=estimated, inputs=inputs, outputs=outputs, iteration=None, view=view)


SINGLE_STEPS: dict[tuple[str, str], Step] = {
    (one.name, one.dynamics.name): one
    for trees, loops_1, loops_3 in (
        (TREES, LOOPS_1, LOOPS_3),
        (DRIVEN_TREES, DRIVEN_LOOPS_1, DRIVEN_LOOPS_3),
        (TIMED_TREES, TIMED_LOOPS_1, TIMED_LOOPS_3),
    )
    for one in (euler(trees), runge_kutta(RK4, trees), euler(loops_1), euler(loops_3), runge_kutta(RK4, loops_3))
} | {
    (one.name, one.dynamics.name): one
    for minimal in (MINIMAL, DRIVEN_MINIMAL)
    for one in (euler(minimal), runge_kutta(RK4, minimal))
}
"""Steps of one length, by integrator and dynamics."""

STEPS: dict[tuple[str, str], Algorithm] = {
    **{key: repeated(one) for key, one in SINGLE_STEPS.items()},
    **{
        ("dopri5", d.name): with_error_estimate(DOPRI5, d)
        for d in (TREES, LOOPS_3, MINIMAL, DRIVEN_TREES, DRIVEN_LOOPS_3, DRIVEN_MINIMAL, TIMED_TREES, TIMED_LOOPS_3)
    },
}
"""Algorithms of steps, by integrator and dynamics."""

DIFFERENTIATED: dict[str, Algorithm] = {
    STEPS["euler", plain.name].name: repeated(euler(refined))
    for plain, refined in (
        (LOOPS_1, REFINED_LOOPS_1),
        (DRIVEN_LOOPS_1, DRIVEN_REFINED_LOOPS_1),
        (TIMED_LOOPS_1, TIMED_REFINED_LOOPS_1),
    )
}
"""Steps with more digits, for derivatives, by names of algorithms whose steps have too few."""
