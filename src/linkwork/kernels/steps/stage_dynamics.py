# SPDX-License-Identifier: BSD-3-Clause
"""Forward dynamics at a stage of a step: joint torques, and accelerations by a method and its coordinates.

| dynamics  | mechanism, method                                                                  |
|-----------|------------------------------------------------------------------------------------|
| aba       | trees                                                                              |
| lcaba1, 3 | loops, all joints being coordinates; `lcaba` in one or three proximal iterations   |
| minimal   | loops, independent joints being coordinates: C-ABA, see `minimal`                  |

Each has a twin for robots with actuators or gravity compensation, which reads these too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.clusters import minimal
from linkwork.kernels.constrained.lcaba import (
    lcaba_sweeps,
    lcaba_sweeps_iterate,
    lcaba_sweeps_refine,
    start_without_internal_forces,
)
from linkwork.kernels.constrained.lcaba_factor import SPRINGS
from linkwork.kernels.constrained.problem import WORK, Result, setup_problem
from linkwork.kernels.integration import integrate
from linkwork.kernels.joints import dof_of
from linkwork.kernels.records import view_records
from linkwork.kernels.scalar import Array, Scalar, kernel, prange, where
from linkwork.kernels.steps.clock import CLOCK_WORK, LOOP_CLOCK, TREE_CLOCK, Clock, clear_targets, no_clock
from linkwork.kernels.tree.aba import ABA, aba
from linkwork.kernels.tree.actuation import DRIVE_WORK, drive_joints
from linkwork.kernels.tree.implicit_damping import (
    COUPLED_WORK,
    DAMPING_WORK,
    actuator_dampings,
    add_coupled_bound,
    add_joint_dampings,
    coupled_dampers,
    damp_coupled,
)
from linkwork.kernels.tree.passive import damper_torque, spring_torque
from linkwork.kernels.tree.rnea import WRENCHES
from linkwork.model.joints import FREE, PLANAR, SPHERICAL
from linkwork.plans.actuation import ACTUATION_CLUSTER_TREE, ACTUATION_LCABA_TREE, ACTUATION_TREE
from linkwork.plans.clusters import CLUSTER_TREE
from linkwork.plans.layout import Layout
from linkwork.plans.lcaba import LCABA_TREE
from linkwork.plans.tree import TREE

STIFFNESS, REST, DAMPING, LOWER, UPPER, STOP_STIFFNESS, STOP_DAMPING = range(7)
"""Columns of the passive parameters of joints."""

DT, COMMANDED = range(2)
"""Entries of the timing: the time of a step; one where actuators act on commands, else zero."""


class StepInputs(NamedTuple):
    """The inputs that are constant over a step."""

    tau: Array
    """(nv,) torques given."""
    u: Array
    """Commands of the actuators and, after them, activations before the first step."""
    wrenches: Array
    """(nf, 6) external wrenches."""
    passive: Array
    """(nv, 7) passive parameters of joints."""
    R: Array
    """(nc,) regularization of rows; with contacts, settings of their solver and forces to start from."""
    timing: Array


@kernel
def stop_torque(passive: Array, at: Scalar, v: Scalar, lookahead: Scalar) -> Scalar:
    """Torque of the stops of a joint with the passive parameters ``passive``: springs and dampers beyond them.

    Springs are taken at ``at + lookahead v``.
    """
    ahead = at + lookahead * v
    low = passive[STOP_STIFFNESS] * (passive[LOWER] - ahead) - passive[STOP_DAMPING] * v
    high = passive[STOP_STIFFNESS] * (passive[UPPER] - ahead) - passive[STOP_DAMPING] * v
    return where(at, passive[LOWER], low, 0.0) + where(passive[UPPER], at, high, 0.0)


@kernel
def stop_armature(passive: Array, at: Scalar, h: Scalar) -> Scalar:
    """``h d + h² k`` of the stops of a joint with the passive parameters ``passive``: where it is beyond one."""
    beyond = where(at, passive[LOWER], 1.0, 0.0) + where(passive[UPPER], at, 1.0, 0.0)
    return h * (passive[STOP_DAMPING] + h * passive[STOP_STIFFNESS]) * beyond


@kernel
def joint_forces(tree: Array, q: Array, v: Array, tau: Array, passive: Array, lookahead: Scalar, torque: Array) -> None:
    """``torque``: the input's, and those of springs (at ``q + lookahead v``), dampers and stops.

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
                x = x + stop_torque(passive[k], at, v[k], lookahead)
            torque[k] = x


IMPLICIT = (("armature", "implicit_armature"),)
"""Armature with that of implicit dampers, in place of the tree's (`scalar.with_arrays`)."""
IMPLICIT_WORK: dict[str, Shape] = {"implicit_armature": ("nv",)}


@kernel
def stop_dampers(tree: Array, w: Array, q: Array, inputs: StepInputs, h: Scalar) -> None:
    """``implicit_armature``: armature with ``h d + h² k`` of the stops of joints; it includes springs and dampers.

    A damper by the velocity after a step of the time ``h`` has the force ``-d (v + h a)``: it adds ``h d`` to armature.
    """
    for k in prange(tree.nv):
        w.implicit_armature[k] = tree.armature[k]
    for i in prange(1, tree.n):
        kind = tree.kind[i]
        if kind != SPHERICAL and kind != FREE and kind != PLANAR:
            for j in range(dof_of(kind)):
                k = tree.iv[i] + j
                w.implicit_armature[k] += stop_armature(inputs.passive[k], q[tree.iq[i] + j], h)


@kernel
def all_dampers(tree: Array, w: Array, q: Array, inputs: StepInputs, h: Scalar) -> None:
    """`stop_dampers`, and those of actuators and tendons (`tree.implicit_damping`), after `drive_joints`.

    Dampers on one degree of freedom are in ``implicit_armature``, others in ``coupled_J`` and ``coupled_damping``.
    """
    stop_dampers(tree, w, q, inputs, h)
    actuator_dampings(tree, w, inputs.u, w.act, h, inputs.timing[COMMANDED])
    add_joint_dampings(tree, w, h, w.implicit_armature)
    coupled_dampers(tree, w)


@kernel
def bounded_dampers(tree: Array, w: Array, q: Array, inputs: StepInputs, h: Scalar) -> None:
    """`all_dampers`, with a diagonal bound of those on several degrees of freedom in ``implicit_armature``, too."""
    all_dampers(tree, w, q, inputs, h)
    add_coupled_bound(tree, w, h, w.implicit_armature)


@kernel
def no_coupled_dampers(tree: Array, w: Array, h: Scalar, a: Array) -> None:
    """All dampers are in the armature: accelerations stay."""


@kernel
def no_actuation(
    tree: Array, w: Array, q: Array, v: Array, u: Array, h: Scalar, commanded: Scalar, torque: Array
) -> None:
    """No actuators, no gravity compensation, no tendons: torques stay."""


@kernel
def no_dependent_joints(*arguments: Array) -> None:
    """Positions and velocities of all joints are coordinates."""


@kernel
def integrate_joints(tree: Array, w: Array, q: Array, v: Array, h: Scalar, q1: Array) -> None:
    """``q1``: the configuration after the time ``h`` at constant velocities of all joints."""
    integrate(tree, q, v, h, q1)


class Coordinates(NamedTuple):
    """Kernels that complete dependent joints in a step (`minimal`); by default all joints are independent."""

    begin_step: Callable[..., None] = no_dependent_joints
    """``begin_step(tree, w)``"""
    explicit_constraints: Callable[..., None] = no_dependent_joints
    """``explicit_constraints(tree, w, q)``, before `accelerations` there."""
    velocity_slip: Callable[..., None] = no_dependent_joints
    """``velocity_slip(tree, w, v, h)``: accelerations that return velocities to the loops in the time ``h``."""
    dependent_velocities: Callable[..., None] = no_dependent_joints
    """``dependent_velocities(tree, w, v)``: instead, velocities of dependent joints; after `explicit_constraints`."""
    integrate: Callable[..., None] = integrate_joints
    """``integrate(tree, w, q, v, h, q1)``: a configuration in which loops are nearly closed, after `accelerations`."""
    close_loops: Callable[..., None] = no_dependent_joints
    """``close_loops(tree, w, q)``: positions of dependent joints."""
    closed_velocities: Callable[..., None] = no_dependent_joints
    """``closed_velocities(tree, w, v)``: velocities of dependent joints, after `close_loops`."""
    check_closure: Callable[..., None] = no_dependent_joints
    """``check_closure(w, progress)``: ``progress[0]`` is negative where loops could not be closed."""


class Dynamics(NamedTuple):
    """Forward dynamics as the code of steps calls it."""

    name: str
    accelerations: Callable[..., None]
    """``accelerations(tree, w, q, v, torque, inputs, a, flat)``"""
    work: dict[str, Shape]
    layout: Layout
    constrained: bool
    folded: Mapping[str, str]
    actuation: Callable[..., None] = no_actuation
    """``actuation(tree, w, q, v, u, h, commanded, torque)``: adds torques of actuators, tendons and gravity
    compensation, with the activations ``w.act`` of a step of the time ``h``, and leaves rates in ``w.act_rate``."""
    dampers: Callable[..., None] = stop_dampers
    """``dampers(tree, w, q, inputs, h)``: ``w.implicit_armature`` of a step of the time ``h``, after `actuation`."""
    damp_coupled: Callable[..., None] = no_coupled_dampers
    """``damp_coupled(tree, w, h, a)``: accelerations under dampers that are not in the armature, from those without."""
    coordinates: Coordinates = Coordinates()
    clock: Clock = Clock()
    regularization: Shape = ("nc",)
    """The shape of `StepInputs.R`, if the mechanism is constrained."""
    begin: Callable[..., None] | None = None
    """``begin(tree, inputs, flat)``: the result before the first step; by default zero."""
    integers: Mapping[str, Shape] | None = None
    """Work arrays of integers."""
    order: Callable[..., None] | None = None
    """``order(tree, key, v, inputs)``: the sort key of states (`Algorithm.order`)."""

    @property
    def takes_commands(self) -> bool:
        """Whether there are commands of actuators among the inputs, and their activations in the result."""
        return self.actuation is not no_actuation

    @property
    def inputs(self) -> dict[str, Shape]:
        """The inputs that are held over a step, but for the timing."""
        commands: dict[str, Shape] = {"commands": ("ncommands",) if self.takes_commands else (0,)}
        of_rows: dict[str, Shape] = {"regularization": self.regularization if self.constrained else (0,)}
        return {"tau": ("nv",)} | commands | {"wrenches": WRENCHES, "passive": ("nv", 7)} | of_rows

    @property
    def result(self) -> Shape:
        """The shape of the result of steps."""
        return ("nresult",) if self.constrained else ("na",) if self.takes_commands else (0,)


def _with_actuators(dynamics: Dynamics, layout: Layout) -> Dynamics:
    """The dynamics of robots with actuators, or with gravity compensation."""
    name, work = f"{dynamics.name}_driven", dynamics.work | DRIVE_WORK | DAMPING_WORK
    return dynamics._replace(name=name, work=work, layout=layout, actuation=drive_joints, dampers=bounded_dampers)


def with_clock(dynamics: Dynamics, clock: Clock) -> Dynamics:
    """The dynamics of robots with constraints or forces that depend on time.

    Args:
        dynamics: Those of other robots.
        clock: The time inputs of a step.
    """
    return dynamics._replace(name=f"{dynamics.name}_timed", work=dynamics.work | CLOCK_WORK, clock=clock)


def _timed_loops(iterations: int, refined: bool = False) -> Dynamics:
    """Loops with actuators in so many proximal iterations, rows of which may move."""
    timed = _with_actuators(_loop_dynamics(iterations, refined, timed=True), ACTUATION_LCABA_TREE)
    return with_clock(timed, LOOP_CLOCK)


def _tree_dynamics() -> Dynamics:
    @kernel
    def accelerations(
        tree: Array, w: Array, q: Array, v: Array, torque: Array, inputs: StepInputs, a: Array, flat: Array
    ) -> None:
        aba(tree, w, q, v, torque, inputs.wrenches, a)

    return Dynamics("aba", accelerations, dict(ABA.work), TREE, constrained=False, folded=ABA.folded)


def _loop_dynamics(iterations: int, refined: bool = False, timed: bool = False) -> Dynamics:
    """Loops in so many proximal iterations.

    The last of several corrects rounding errors, ``1e-16 / R`` of the dynamics in the factor. A single one has eight
    digits; ``refined``, it solves ``M a + c = tau + J' lambda``, ``J a + R lambda = k`` to rounding. Several have one
    more where rows are redundant, and end with `start_without_internal_forces`. Where rows are ``timed``, their targets
    ``none`` are set by the step.
    """
    set_targets = no_clock if timed else clear_targets

    @kernel
    def accelerations(
        tree: Array, w: Array, q: Array, v: Array, torque: Array, inputs: StepInputs, a: Array, flat: Array
    ) -> None:
        R = inputs.R
        set_targets(tree, w)
        (result,) = view_records(tree, (a, flat), (Result,))
        result.violation[0] = 0.0
        result.violation[1] = -1.0
        setup_problem(tree, w, q, v, inputs.wrenches, w.none)
        lcaba_sweeps(tree, w, torque, R, w.none, a, result.multipliers, result.residual)
        for _ in range(iterations - 2):
            lcaba_sweeps_iterate(tree, w, a, result.multipliers, result.residual)
        if iterations > 1 and tree.has_redundant_rows != 0:
            lcaba_sweeps_iterate(tree, w, a, result.multipliers, result.residual)
            start_without_internal_forces(tree, w, iterations + 1, result.multipliers)
        if iterations > 1:
            lcaba_sweeps_refine(tree, w, torque, R, a, result.multipliers, result.residual)
        if refined:
            for r in range(tree.nc):
                result.multipliers[r] = 0.0  # where the iteration started, so that lambda = mu (k - J a) as before
            lcaba_sweeps_refine(tree, w, torque, R, a, result.multipliers, result.residual)

    work = WORK | SPRINGS | {"none": ("nc",)}
    name = f"lcaba{iterations}_refined" if refined else f"lcaba{iterations}"
    return Dynamics(name, accelerations, work, LCABA_TREE, constrained=True, folded={})


def _minimal_dynamics() -> Dynamics:
    minimal_accelerations = minimal.minimal_accelerations

    @kernel
    def accelerations(
        tree: Array, w: Array, q: Array, v: Array, torque: Array, inputs: StepInputs, a: Array, flat: Array
    ) -> None:
        (result,) = view_records(tree, (a, flat), (Result,))
        result.violation[0] = 0.0
        result.violation[1] = -1.0
        for r in range(tree.nc):
            result.residual[r] = 0.0
        minimal_accelerations(tree, w, q, v, torque, inputs.wrenches, result)

    coordinates = Coordinates(
        minimal.begin_step,
        minimal.explicit_constraints,
        minimal.velocity_slip,
        minimal.dependent_velocities,
        minimal.integrate_independent,
        minimal.close_loops,
        minimal.closed_velocities,
        minimal.check_closure,
    )
    work, layout = minimal.MINIMAL_WORK, CLUSTER_TREE
    return Dynamics("minimal", accelerations, work, layout, constrained=True, folded={}, coordinates=coordinates)


TREES, LOOPS_1, LOOPS_3 = _tree_dynamics(), _loop_dynamics(1), _loop_dynamics(3)
"""Forward dynamics of trees, and of loops in one and in three proximal iterations."""
DRIVEN_TREES = _with_actuators(TREES, ACTUATION_TREE)._replace(
    work=TREES.work | DRIVE_WORK | DAMPING_WORK | COUPLED_WORK, dampers=all_dampers, damp_coupled=damp_coupled
)
DRIVEN_LOOPS_1, DRIVEN_LOOPS_3 = (_with_actuators(loops, ACTUATION_LCABA_TREE) for loops in (LOOPS_1, LOOPS_3))
REFINED_LOOPS_1 = _loop_dynamics(1, refined=True)
"""One iteration without rounding errors: derivatives of steps with one iteration are derivatives of this."""
DRIVEN_REFINED_LOOPS_1 = _with_actuators(REFINED_LOOPS_1, ACTUATION_LCABA_TREE)
MINIMAL = _minimal_dynamics()
"""Forward dynamics of loops in minimal coordinates."""
DRIVEN_MINIMAL = _with_actuators(MINIMAL, ACTUATION_CLUSTER_TREE)
TIMED_TREES, TIMED_LOOPS_1, TIMED_LOOPS_3 = with_clock(DRIVEN_TREES, TREE_CLOCK), _timed_loops(1), _timed_loops(3)
TIMED_REFINED_LOOPS_1 = _timed_loops(1, refined=True)
"""For robots with constraints or forces that depend on time."""
