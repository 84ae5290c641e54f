# SPDX-License-Identifier: BSD-3-Clause
"""Steps of integrators as kernel text, so that whole rollouts run in machine code.

A step leads from ``q, v`` to ``q1, v1`` and is repeated without returning to Python: an algorithm iterates on its own
outputs. Joint torques are those given, the passive ones (`joint_forces`: springs, dampers, stops), and those of
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

from collections.abc import Callable, Mapping
from typing import NamedTuple

from linkwork.kernels.aba import ABA, aba
from linkwork.kernels.actuation import DRIVE_WORK, drive_joints
from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained import WORK, result_view, setup_problem
from linkwork.kernels.integration import chart_rate, integrate, retract
from linkwork.kernels.joints import dof_of
from linkwork.kernels.lcaba import SPRINGS, lcaba_sweeps, lcaba_sweeps_iterate, lcaba_sweeps_refine
from linkwork.kernels.passive import damper_torque, spring_torque
from linkwork.kernels.rnea import WRENCHES
from linkwork.kernels.scalar import Array, Scalar, kernel, where
from linkwork.kernels.tableaus import DOPRI5, RK4, Scheme
from linkwork.model.joints import FREE, PLANAR, SPHERICAL
from linkwork.plans.actuation import ACTUATION_LCABA_TREE, ACTUATION_TREE
from linkwork.plans.layout import Layout
from linkwork.plans.lcaba import LCABA_TREE
from linkwork.plans.tree import TREE

STIFFNESS, REST, DAMPING, LOWER, UPPER, STOP_STIFFNESS, STOP_DAMPING = range(7)
"""Columns of the passive parameters of joints."""

DT, COMMANDED = range(2)
"""Entries of the timing: the time of a step; one where actuators act on commands, else zero."""


class StepInputs(NamedTuple):
    """What is held over a step."""

    tau: Array
    """(nv,) torques given."""
    u: Array
    """Commands of the actuators."""
    wrenches: Array
    """(nf, 6) external wrenches."""
    passive: Array
    """(nv, 7) passive parameters of joints."""
    R: Array
    """(nc,) regularization of rows."""
    timing: Array


class Start(NamedTuple):
    """What an algorithm that repeats a step is given."""

    q: Array
    v: Array
    inputs: StepInputs


class End(NamedTuple):
    """What it returns, and goes on from."""

    q: Array
    v: Array
    flat: Array
    """The result of forward dynamics (`constrained.result_view`)."""
    progress: Array
    """One while the state is finite; one more than the steps."""


# Dynamics of a stage ----------------------------------------------------------------------------------------------


@kernel
def joint_forces(tree: Array, q: Array, v: Array, tau: Array, passive: Array, lookahead: Scalar, torque: Array) -> None:
    """``torque``: those given, and those of springs (at ``q + lookahead v``), dampers and stops.

    A stop is a spring and a damper that act beyond it: it is soft, and it does not stick.
    """
    for i in range(1, tree.n):
        kind = tree.kind[i]
        o = tree.iq[i]
        for j in range(dof_of(kind)):
            k = tree.iv[i] + j
            x = tau[k] + damper_torque(passive[k, DAMPING], v[k])
            if kind != SPHERICAL and kind != FREE and kind != PLANAR:
                at = q[o + j]
                x = x + spring_torque(passive[k, STIFFNESS], at + lookahead * v[k], passive[k, REST])
                low = passive[k, STOP_STIFFNESS] * (passive[k, LOWER] - at) - passive[k, STOP_DAMPING] * v[k]
                high = passive[k, STOP_STIFFNESS] * (passive[k, UPPER] - at) - passive[k, STOP_DAMPING] * v[k]
                x = x + where(at, passive[k, LOWER], low, 0.0) + where(passive[k, UPPER], at, high, 0.0)
            torque[k] = x


@kernel
def no_actuation(tree: Array, w: Array, q: Array, v: Array, u: Array, commanded: Scalar, torque: Array) -> None:
    """No actuators and no gravity compensation: torques stay."""


@kernel
def keep_velocity(tree: Array, q: Array, v: Array) -> None:
    """Velocities of all joints are coordinates."""


@kernel
def keep_configuration(tree: Array, q: Array) -> None:
    """Positions of all joints are coordinates."""


class Dynamics(NamedTuple):
    """Forward dynamics as the text of steps calls it."""

    name: str
    accelerations: Callable[..., None]
    """``accelerations(tree, w, q, v, torque, inputs, a, flat)``"""
    work: dict[str, Shape]
    layout: Layout
    constrained: bool
    folded: Mapping[str, str]
    actuation: Callable[..., None] = no_actuation
    """``actuation(tree, w, q, v, u, commanded, torque)``: adds torques of actuators and of gravity compensation."""
    constrain_velocity: Callable[..., None] = keep_velocity
    """``constrain_velocity(tree, q, v)``: velocities of dependent joints, in minimal coordinates."""
    constrain_configuration: Callable[..., None] = keep_configuration
    """``constrain_configuration(tree, q)``: positions of dependent joints, in minimal coordinates."""

    @property
    def takes_commands(self) -> bool:
        """Whether there are commands of actuators among the inputs."""
        return self.actuation is drive_joints


def _with_actuators(dynamics: Dynamics, layout: Layout) -> Dynamics:
    """The same for robots with actuators, or with gravity compensation."""
    name, work = f"{dynamics.name}_driven", dynamics.work | DRIVE_WORK
    return dynamics._replace(name=name, work=work, layout=layout, actuation=drive_joints)


def _tree_dynamics() -> Dynamics:
    @kernel
    def accelerations(
        tree: Array, w: Array, q: Array, v: Array, torque: Array, inputs: StepInputs, a: Array, flat: Array
    ) -> None:
        aba(tree, w, q, v, torque, inputs.wrenches, a)

    return Dynamics("aba", accelerations, dict(ABA.work), TREE, constrained=False, folded=ABA.folded)


def _loop_dynamics(iterations: int) -> Dynamics:
    @kernel
    def accelerations(
        tree: Array, w: Array, q: Array, v: Array, torque: Array, inputs: StepInputs, a: Array, flat: Array
    ) -> None:
        R = inputs.R
        for r in range(tree.nc):
            w.none[r] = 0.0
        result = result_view(tree, a, flat)
        result.violation[0] = 0.0
        result.violation[1] = -1.0
        setup_problem(tree, w, q, v, inputs.wrenches, w.none)
        lcaba_sweeps(tree, w, torque, R, w.none, a, result.multipliers, result.residual)
        for _ in range(iterations - 2):
            lcaba_sweeps_iterate(tree, w, a, result.multipliers, result.residual)
        if iterations > 1:
            lcaba_sweeps_refine(tree, w, torque, R, a, result.multipliers, result.residual)

    work = WORK | SPRINGS | {"none": ("nc",)}
    return Dynamics(f"lcaba{iterations}", accelerations, work, LCABA_TREE, constrained=True, folded={})


TREES, LOOPS_1, LOOPS_3 = _tree_dynamics(), _loop_dynamics(1), _loop_dynamics(3)
"""Forward dynamics of trees, and of loops in one and in three proximal iterations."""
DRIVEN_TREES = _with_actuators(TREES, ACTUATION_TREE)
DRIVEN_LOOPS_1, DRIVEN_LOOPS_3 = (_with_actuators(loops, ACTUATION_LCABA_TREE) for loops in (LOOPS_1, LOOPS_3))


# Steps ------------------------------------------------------------------------------------------------------------


class Step(NamedTuple):
    """One step of an integrator, for the algorithms that repeat it."""

    name: str
    dynamics: Dynamics
    text: Callable[..., None]
    """``text(tree, w, q, v, inputs, flat)``: writes the state after the step to ``w.qs, w.vs``."""
    work: dict[str, Shape]

    @property
    def inputs(self) -> dict[str, Shape]:
        """What a step reads, but for the timing."""
        state: dict[str, Shape] = {"q": ("nq",), "v": ("nv",), "tau": ("nv",)}
        commands: dict[str, Shape] = {"commands": ("nu",) if self.dynamics.takes_commands else (0,)}
        regularization: dict[str, Shape] = {"regularization": ("nc",) if self.dynamics.constrained else (0,)}
        return state | commands | {"wrenches": WRENCHES, "passive": ("nv", 7)} | regularization


def euler(dynamics: Dynamics) -> Step:
    """Semi-implicit Euler: velocities first, then positions along the new velocities (**loops** Eqs. 54, 55).

    Springs and dampers act as they will be after the step, ``-k (q + h v1 - rest) - d v1``: what they take of the new
    velocity is ``h d + h² k`` more of armature, which the mechanism has already (`simulation.stabilization`).
    """
    accelerations, actuation = dynamics.accelerations, dynamics.actuation
    constrain_velocity, constrain_configuration = dynamics.constrain_velocity, dynamics.constrain_configuration

    @kernel
    def step(tree: Array, w: Array, q: Array, v: Array, inputs: StepInputs, flat: Array) -> None:
        h = inputs.timing[DT]
        joint_forces(tree, q, v, inputs.tau, inputs.passive, h, w.torque)
        actuation(tree, w, q, v, inputs.u, inputs.timing[COMMANDED], w.torque)
        accelerations(tree, w, q, v, w.torque, inputs, w.acc, flat)
        for k in range(tree.nv):
            w.vs[k] = v[k] + h * w.acc[k]
        constrain_velocity(tree, q, w.vs)
        integrate(tree, q, w.vs, h, w.qs)
        constrain_configuration(tree, w.qs)
        constrain_velocity(tree, w.qs, w.vs)

    work: dict[str, Shape] = {"torque": ("nv",), "acc": ("nv",), "vs": ("nv",), "qs": ("nq",)}
    return Step("euler", dynamics, step, work)


def runge_kutta(scheme: Scheme, dynamics: Dynamics) -> Step:
    """An explicit Runge-Kutta-Munthe-Kaas method."""
    accelerations, actuation = dynamics.accelerations, dynamics.actuation
    constrain_velocity, constrain_configuration = dynamics.constrain_velocity, dynamics.constrain_configuration
    a, b, e, n = scheme.a, scheme.b, scheme.e, len(scheme.b)

    @kernel
    def step(tree: Array, w: Array, q: Array, v: Array, inputs: StepInputs, flat: Array) -> None:
        h = inputs.timing[DT]
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
            constrain_configuration(tree, w.qs)
            constrain_velocity(tree, w.qs, w.vs)
            joint_forces(tree, w.qs, w.vs, inputs.tau, inputs.passive, 0.0, w.torque)
            actuation(tree, w, w.qs, w.vs, inputs.u, inputs.timing[COMMANDED], w.torque)
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
        constrain_configuration(tree, w.qs)
        constrain_velocity(tree, w.qs, w.vs)

    work: dict[str, Shape] = {
        "torque": ("nv",),
        "xs": ("nv",),
        "vs": ("nv",),
        "qs": ("nq",),
        "Xs": (n, "nv"),
        "As": (n, "nv"),
        "step_error": (2, "nv"),
    }
    return Step(scheme.name, dynamics, step, work)


# Algorithms that repeat a step ------------------------------------------------------------------------------------


@kernel
def zero_solution(tree: Array, flat: Array) -> None:
    """No step has been made: no constraint forces."""
    for k in range(tree.nresult):
        flat[k] = 0.0


@kernel
def no_solution(tree: Array, flat: Array) -> None:
    """There are no constraints."""


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
    for k in range(tree.nq):
        q1[k] = w.qs[k]
    for k in range(tree.nv):
        v1[k] = w.vs[k]
    count_step(tree, q1, v1, progress)


@kernel
def copy_state(tree: Array, start: Start, end: End) -> None:
    """The state before the first step as the output, from which it starts."""
    for k in range(tree.nq):
        end.q[k] = start.q[k]
    for k in range(tree.nv):
        end.v[k] = start.v[k]
    end.progress[0] = 1.0
    end.progress[1] = 1.0


@kernel
def steps_view(
    tree: Array,
    q: Array,
    v: Array,
    tau: Array,
    u: Array,
    wrenches: Array,
    passive: Array,
    R: Array,
    timing: Array,
    settings: Array,
    q1: Array,
    v1: Array,
    flat: Array,
    progress: Array,
) -> tuple[Start, End]:
    """Arrays of an algorithm that repeats a step, by name."""
    return Start(q, v, StepInputs(tau, u, wrenches, passive, R, timing)), End(q1, v1, flat, progress)


def repeated(one: Step) -> Algorithm:
    """The algorithm that repeats a step; ``settings`` are zero and one more than the number of steps, and ``progress``
    ends with one more than the steps after which the state was finite.

    The first kernel only copies the state to the outputs, so that there is one text of a step.
    """
    dynamics, step = one.dynamics, one.text
    clear = zero_solution if dynamics.constrained else no_solution

    @kernel
    def first(tree: Array, w: Array, start: Start, end: End) -> None:
        copy_state(tree, start, end)
        clear(tree, end.flat)

    @kernel
    def iteration(tree: Array, w: Array, start: Start, end: End) -> None:
        step(tree, w, end.q, end.v, start.inputs, end.flat)
        store_state(tree, w, end.q, end.v, end.progress)

    inputs: dict[str, Shape] = one.inputs | {"timing": (2,), "settings": (2,)}
    outputs: dict[str, Shape] = {"q1": ("nq",), "v1": ("nv",)}
    outputs |= {"result": ("nresult",) if dynamics.constrained else (0,), "progress": (2,)}
    name, work = f"{one.name}_{dynamics.name}", dynamics.work | one.work
    return Algorithm(name, first, inputs, outputs, work, dynamics.layout, iteration, dynamics.folded, steps_view)


def with_error_estimate(scheme: Scheme, dynamics: Dynamics) -> Algorithm:
    """One step with an estimate of its error, of ``x`` and of ``v``."""
    once = repeated(runge_kutta(scheme, dynamics))
    assert once.iteration is not None
    first, iteration = once.kernel, once.iteration

    @kernel
    def view(
        tree: Array,
        q: Array,
        v: Array,
        tau: Array,
        u: Array,
        wrenches: Array,
        passive: Array,
        R: Array,
        timing: Array,
        q1: Array,
        v1: Array,
        flat: Array,
        step_error: Array,
        progress: Array,
    ) -> tuple[Start, End, Array]:
        inputs = StepInputs(tau, u, wrenches, passive, R, timing)
        return Start(q, v, inputs), End(q1, v1, flat, progress), step_error

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
    return Algorithm(once.name, estimated, inputs, outputs, once.work, once.layout, folded=once.folded, view=view)


SINGLE_STEPS: dict[tuple[str, str], Step] = {
    (one.name, one.dynamics.name): one
    for trees, loops_1, loops_3 in ((TREES, LOOPS_1, LOOPS_3), (DRIVEN_TREES, DRIVEN_LOOPS_1, DRIVEN_LOOPS_3))
    for one in (euler(trees), runge_kutta(RK4, trees), euler(loops_1), euler(loops_3), runge_kutta(RK4, loops_3))
}
"""Steps of one length, by integrator and dynamics."""

STEPS: dict[tuple[str, str], Algorithm] = {
    **{key: repeated(one) for key, one in SINGLE_STEPS.items()},
    **{("dopri5", d.name): with_error_estimate(DOPRI5, d) for d in (TREES, LOOPS_3, DRIVEN_TREES, DRIVEN_LOOPS_3)},
}
"""Algorithms of steps, by integrator and dynamics."""
