# SPDX-License-Identifier: BSD-3-Clause
"""Steps in time by the reduced matrix as kernels: iterations of a solver inside the steps that `integrators` repeats.

A step starts from the forces of the step before, which are in its result, and sums up there the energy that contacts
and joints dissipate (`contact.reduced.step`).

| symbol  | meaning                                                                                        |
|---------|------------------------------------------------------------------------------------------------|
| applied | joint torques given, and those of actuators                                                    |
| given   | contact points of pairs without kernel code                                                    |
| damped  | the tree with ``implicit_armature``, that of implicit dampers                                  |

Cost: that of the solver.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.contact.reduced.order import order_by_contacts
from linkwork.kernels.contact.reduced.split_damping import split_dampers
from linkwork.kernels.contact.reduced.step import (
    REDUCED_INTEGERS,
    REDUCED_STEP,
    REDUCED_WORK,
    STAGES,
    ReducedProblem,
    ReducedStep,
    load_start,
    reduced_step,
)
from linkwork.kernels.elementary import copy_numbers
from linkwork.kernels.records import view_of
from linkwork.kernels.scalar import Array, kernel, where, with_arrays
from linkwork.kernels.steps.clock import TREE_CLOCK, set_time
from linkwork.kernels.steps.contact_steps import applied_torques
from linkwork.kernels.steps.integrators import Step, repeated
from linkwork.kernels.steps.stage_dynamics import (
    COMMANDED,
    DT,
    IMPLICIT,
    IMPLICIT_WORK,
    Dynamics,
    StepInputs,
    all_dampers,
    with_clock,
)
from linkwork.kernels.tree.actuation import DRIVE_WORK, drive_joints, load_activations, store_activations
from linkwork.kernels.tree.implicit_damping import DAMPING_WORK
from linkwork.plans.contact_reduced import REDUCED_TREE

reduced_view = view_of(ReducedProblem, ReducedStep)


@kernel
def begin_reduced(tree: Array, inputs: StepInputs, flat: Array) -> None:
    """A result with the initial forces and zeros elsewhere."""
    start = inputs.R[tree.nsettings : tree.nsettings + tree.nstart]
    settings = inputs.R[0 : tree.nsettings]
    _, end = reduced_view(tree, flat, flat, flat, flat, flat, start, settings, flat, flat, flat)
    load_start(tree, start, end.result)


@kernel
def order_reduced(tree: Array, key: Array, v: Array, inputs: StepInputs) -> None:
    """The sort key of states: the contacts of the step before."""
    order_by_contacts(tree, key, inputs.R[tree.nsettings : tree.nsettings + tree.nstart], v)


@kernel
def timed_reduced_euler(tree: Array, w: Array, q: Array, v: Array, inputs: StepInputs, flat: Array) -> None:
    """`reduced_euler` with forces and targets of constraints at the end of the step."""
    set_time(w, inputs.timing[DT])
    reduced_euler(tree, w, q, v, inputs, flat)


@kernel
def reduced_euler(tree: Array, w: Array, q: Array, v: Array, inputs: StepInputs, flat: Array) -> None:
    """A step of semi-implicit Euler with contacts, limits, dry friction and loops."""
    load_activations(tree, w, flat)
    applied_torques(tree, w, q, v, inputs)
    all_dampers(tree, w, q, inputs, inputs.timing[DT])
    for k in range(tree.nadhesions):
        w.adhesion_force[k] = where(0.5, inputs.timing[COMMANDED], w.actuator_force[tree.adhesion_actuator[k]], 0.0)
    if tree.nsplit > 0:
        split_dampers(tree, w)
    damped = with_arrays(tree, w, IMPLICIT)
    first = tree.nsettings + tree.nstart
    for s in range(tree.ngiven):
        copy_numbers(inputs.R[first + 7 * s : first + 7 * s + 7], w.given[s], 7)
    settings = inputs.R[0 : tree.nsettings]
    problem, end = reduced_view(tree, q, v, w.applied, inputs.wrenches, w.given, inputs.R, settings, w.qs, w.vs, flat)
    reduced_step(damped, w, q, v, w.applied, inputs.wrenches, w.given, problem.settings, end.result, end.q, end.v)
    store_activations(tree, w, inputs.timing[DT], flat, flat)


_WORK: dict[str, Shape] = {"applied": ("nv",), "given": ("ngiven", 7), "qs": ("nq",), "vs": ("nv",)} | IMPLICIT_WORK

REDUCED_DYNAMICS = Dynamics(
    REDUCED_STEP.name,
    REDUCED_STEP.kernel,
    REDUCED_WORK | DRIVE_WORK | DAMPING_WORK,
    REDUCED_TREE,
    constrained=True,
    folded={},
    actuation=drive_joints,
    regularization=("nheld",),
    begin=begin_reduced,
    integers=REDUCED_INTEGERS,
    order=order_reduced,
)
TIMED_DYNAMICS = with_clock(REDUCED_DYNAMICS, TREE_CLOCK)
"""The steps of robots with constraints or forces that depend on time."""

REDUCED_STEPS: dict[tuple[str, str], Step] = {
    ("euler", dynamics.name): Step("euler", dynamics, step, _WORK, STAGES)
    for dynamics, step in ((REDUCED_DYNAMICS, reduced_euler), (TIMED_DYNAMICS, timed_reduced_euler))
}
"""Steps by the reduced matrix, by integrator and dynamics."""

REPEATED_REDUCED_STEPS: dict[tuple[str, str], Algorithm] = {key: repeated(one) for key, one in REDUCED_STEPS.items()}
"""Algorithms of steps by the reduced matrix, by integrator and dynamics."""
