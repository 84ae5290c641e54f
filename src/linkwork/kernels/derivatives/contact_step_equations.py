# SPDX-License-Identifier: BSD-3-Clause
"""The equations of a step with contacts at its solution, and steps of a smoothed problem, for derivatives.

`CONTACT_EQUATIONS` writes the state after a step and the terms of each equation of `contact_sensitivity` that depend on
the state before it, at given accelerations and forces: no system is solved, so that sweeps over its trace are short.

`SMOOTHED_CONTACTS` solves the step with smoothed projections (``theta``), by Newton's method with the step lengths of
`contact_newton`, from the solution of the step itself.

| symbol  | meaning                                                                        |
|---------|--------------------------------------------------------------------------------|
| balance | ``M a + c - tau - J' f - J_l' lambda - s f_b``: zero at the solution             |
| y       | ``J a + b``, with ``C f_n`` along normals: velocities of contacts after the step, over ``dt`` |
| rows    | ``k - J_l a`` of loops: zero at the solution                                     |
| box_y   | as ``y``, of limits and dry friction of joints                                  |

Other symbols as in `contact.problem`. Cost: linear in bodies and contacts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained.lcaba import apply_constraint_forces
from linkwork.kernels.constrained.problem import force_residual
from linkwork.kernels.contact.direction import NEWTON_WORK, newton_direction
from linkwork.kernels.contact.equation import merit
from linkwork.kernels.contact.newton import linearize, no_changes, rows_of, step_length, take_step
from linkwork.kernels.contact.problem import (
    INPUTS,
    OUTPUTS,
    ContactProblem,
    ContactResult,
    contact_view,
    setup_contact_problem,
    slot_vector,
    write_step,
)
from linkwork.kernels.contact.row_products import apply_contact_force
from linkwork.kernels.contact.shapes.fields import CELLS
from linkwork.kernels.contact.smoothing import CLOSE
from linkwork.kernels.derivatives.contact_sensitivity import CONTACT_SENSITIVITY
from linkwork.kernels.elementary import copy_numbers
from linkwork.kernels.integration import integrate_from_axes
from linkwork.kernels.scalar import Array, Scalar, kernel, with_arrays
from linkwork.kernels.steps.contact_steps import add_stop_torques
from linkwork.kernels.steps.stage_dynamics import (
    COMMANDED,
    DT,
    IMPLICIT,
    IMPLICIT_WORK,
    StepInputs,
    bounded_dampers,
)
from linkwork.kernels.tree.actuation import DRIVE_WORK, drive_joints
from linkwork.kernels.tree.implicit_damping import DAMPING_WORK
from linkwork.kernels.tree.rnea import WRENCHES, joint_torques
from linkwork.plans.contact_lcaba import CONTACT_LCABA_TREE
from linkwork.plans.contact_steps import CONTACT_STEPS_TREE

# Equations --------------------------------------------------------------------------------------------------------


@kernel
def contact_equations(
    tree: Array,
    w: Array,
    problem: ContactProblem,
    result: ContactResult,
    balance: Array,
    y: Array,
    rows: Array,
    box_y: Array,
    cells: Array,
) -> None:
    """The equations for the accelerations ``result.a`` and the forces of ``result``; the state goes to ``result``.

    ``cells`` are those of height fields that contacts depend on, where passed (`contact.fields`).
    """
    for s in range(tree.ncells):
        for k in range(2):
            copy_numbers(cells[s, k], w.cells[s, k], 6)
    setup_contact_problem(tree, w, problem, result.reduction[0])
    force_residual(tree, w, w.torque, result.a)
    rows_of(tree, w, result.a)
    for c in range(tree.ncontacts):
        for s in range(tree.contact_slot[c], tree.contact_slot[c] + tree.contact_slots[c]):
            f = slot_vector(result.forces, s)
            apply_contact_force(tree, w, c, s, f)
            for k in range(3):
                y[s, k] = w.contact_y[s, k]
            y[s, 2] += w.contact_C[s] * f[2]
    for b in range(tree.nboxes):
        w.tau[tree.box_v[b]] += tree.box_sign[b] * result.boxes[b]
        box_y[b] = w.box_y[b]
    apply_constraint_forces(tree, w, result.multipliers)
    for r in range(tree.nc):
        rows[r] = w.rows[r]
    joint_torques(tree, w, balance)
    h = problem.settings.dt
    for k in range(tree.nv):
        balance[k] -= w.tau[k]
        result.v[k] = problem.v[k] + h * result.a[k]
    integrate_from_axes(tree, problem.q, result.v, h, result.q)


@kernel
def equations_view(
    tree: Array, *arrays: Array
) -> tuple[ContactProblem, ContactResult, Array, Array, Array, Array, Array]:
    """Arrays by name."""
    problem, result = contact_view(tree, *arrays[0:7], *arrays[9:11], arrays[7])
    balance, y, rows, box_y = arrays[11:15]
    return problem, result, balance, y, rows, box_y, arrays[8]


STATE: dict[str, Shape] = {"q1": ("nq",), "v1": ("nv",)}
EQUATIONS: dict[str, Shape] = {"balance": ("nv",), "y": ("nslots", 3), "rows": ("nc",), "box_y": ("nboxes",)}
"""The terms of each equation that depend on the state: ``F1``, ``y``, ``F3``, ``y_b`` of `contact_sensitivity`."""

CONTACT_EQUATIONS = Algorithm(
    "contact_equations",
    contact_equations,
    {**INPUTS, "result": ("nresult",), "cells": ("ncells", *CELLS)},
    {**STATE, **EQUATIONS},
    NEWTON_WORK,
    CONTACT_LCABA_TREE,
    view=equations_view,
    traced=True,
)


@kernel
def applied_torques(
    tree: Array, w: Array, q: Array, v: Array, tau: Array, u: Array, passive: Array, timing: Array, applied: Array
) -> None:
    """``applied``: torques given, and those of stops and actuators."""
    copy_numbers(tau, applied, tree.nv)
    add_stop_torques(tree, q, v, passive, timing[DT], applied)
    for k in range(tree.na):
        w.act[k] = u[tree.nu + k]
    drive_joints(tree, w, q, v, u, timing[DT], timing[COMMANDED], applied)


APPLIED_TORQUES = Algorithm(
    "applied_torques",
    applied_torques,
    {"q": ("nq",), "v": ("nv",), "tau": ("nv",), "commands": ("ncommands",), "passive": ("nv", 7), "timing": (2,)},
    {"applied": ("nv",)},
    NEWTON_WORK | DRIVE_WORK,
    CONTACT_STEPS_TREE,
)


@kernel
def driven_equations(
    tree: Array,
    w: Array,
    q: Array,
    v: Array,
    tau: Array,
    u: Array,
    wrenches: Array,
    passive: Array,
    R: Array,
    timing: Array,
    flat: Array,
    cells: Array,
    q1: Array,
    v1: Array,
    balance: Array,
    y: Array,
    rows: Array,
    box_y: Array,
) -> None:
    """The equations of a step under stops and actuators."""
    applied_torques(tree, w, q, v, tau, u, passive, timing, w.applied)
    bounded_dampers(tree, w, q, StepInputs(tau, u, wrenches, passive, R, timing), timing[DT])
    first = tree.nsettings + tree.nstart
    for s in range(tree.ngiven):
        copy_numbers(R[first + 7 * s : first + 7 * s + 7], w.given[s], 7)
    start = R[tree.nsettings : first]
    problem, result = contact_view(tree, q, v, w.applied, wrenches, w.given, start, R[0 : tree.nsettings], q1, v1, flat)
    contact_equations(with_arrays(tree, w, IMPLICIT), w, problem, result, balance, y, rows, box_y, cells)


DRIVEN_CONTACT_EQUATIONS = Algorithm(
    "driven_contact_equations",
    driven_equations,
    {
        "q": ("nq",),
        "v": ("nv",),
        "tau": ("nv",),
        "commands": ("ncommands",),
        "wrenches": WRENCHES,
        "passive": ("nv", 7),
        "regularization": ("nheld",),
        "timing": (2,),
        "result": ("nresult",),
        "cells": ("ncells", *CELLS),
    },
    {**STATE, **EQUATIONS},
    NEWTON_WORK | DRIVE_WORK | DAMPING_WORK | IMPLICIT_WORK | {"given": ("ngiven", 7), "applied": ("nv",)},
    CONTACT_STEPS_TREE,
    traced=True,
)
"""The equations of steps of a `Stepper`."""


# The smoothed problem -----------------------------------------------------------------------------------------------


@kernel
def smoothed_view(tree: Array, *arrays: Array) -> tuple[ContactProblem, ContactResult, Array, Array, Scalar, Array]:
    """Arrays by name: problem, result, its numbers and those before, smoothing, residual and iterations."""
    before, smoothing, _, q1, v1, flat, progress = arrays[7:14]
    problem, result = contact_view(tree, *arrays[0:7], q1, v1, flat)
    return problem, result, flat, before, smoothing[0], progress


@kernel
def smoothed_contacts(
    tree: Array,
    w: Array,
    problem: ContactProblem,
    result: ContactResult,
    flat: Array,
    before: Array,
    theta: Scalar,
    progress: Array,
) -> None:
    """The solution of the step itself, as initial guess, and its residual of the smoothed equations."""
    copy_numbers(before, flat, tree.nresult)
    result.state[CLOSE] = 0.0  # steps have to reduce the residual
    setup_contact_problem(tree, w, problem, result.reduction[0])
    force_residual(tree, w, w.torque, result.a)
    rows_of(tree, w, result.a)
    no_changes(tree, w)
    progress[0] = merit(tree, w, problem.settings, result, theta, 0.0)
    progress[1] = 1.0
    write_step(tree, w, problem, result)


@kernel
def smoothed_contacts_iterate(
    tree: Array,
    w: Array,
    problem: ContactProblem,
    result: ContactResult,
    flat: Array,
    before: Array,
    theta: Scalar,
    progress: Array,
) -> None:
    """A Newton step of the smoothed equations."""
    settings = problem.settings
    force_residual(tree, w, w.torque, result.a)
    rows_of(tree, w, result.a)
    linearize(tree, w, settings, result, theta, 0.0)
    no_changes(tree, w)
    missed = merit(tree, w, settings, result, theta, 0.0)
    newton_direction(tree, w, settings, result, missed)
    t, now = step_length(tree, w, settings, result, theta, missed)
    take_step(tree, w, result, t)
    progress[0] = now
    progress[1] += 1.0
    write_step(tree, w, problem, result)


SMOOTHED_CONTACTS = Algorithm(
    "smoothed_contacts",
    smoothed_contacts,
    {**INPUTS, "before": ("nresult",), "smoothing": (1,), "most": (2,)},
    {**OUTPUTS, "progress": (2,)},
    NEWTON_WORK,
    CONTACT_LCABA_TREE,
    smoothed_contacts_iterate,
    view=smoothed_view,
)
"""``most`` are the residual, an acceleration, at which iterations end, and their maximum number."""


# Under stops and actuators ------------------------------------------------------------------------------------------


DAMPER_INPUTS: dict[str, Shape] = {"commands": ("ncommands",), "passive": ("nv", 7), "timing": (2,)}


def with_dampers(algorithm: Algorithm) -> Algorithm:
    """An algorithm of a step, for a `Stepper`: with the armature of implicit dampers and its inputs.

    Args:
        algorithm: One whose inputs begin with those of a step.
    """
    first, last = len(INPUTS), len(INPUTS) + len(DAMPER_INPUTS)

    def on_dampers(text: Callable[..., None]) -> Callable[..., None]:
        @kernel
        def damped(tree: Array, w: Array, *arrays: Array) -> None:
            text(with_arrays(tree, w, IMPLICIT), w, *arrays[:first], *arrays[last:])

        return damped

    begin = on_dampers(algorithm.text)

    @kernel
    def with_armature(tree: Array, w: Array, *arrays: Array) -> None:
        q, v, tau, wrenches = arrays[0:4]
        u, passive, timing = arrays[first:last]
        applied_torques(tree, w, q, v, tau, u, passive, timing, w.applied)
        bounded_dampers(tree, w, q, StepInputs(tau, u, wrenches, passive, timing, timing), timing[DT])
        begin(tree, w, *arrays)

    inputs = list(algorithm.inputs.items())
    return replace(
        algorithm,
        name=f"damped_{algorithm.name}",
        kernel=with_armature,
        inputs=dict([*inputs[:first], *DAMPER_INPUTS.items(), *inputs[first:]]),
        work={**algorithm.work, **DRIVE_WORK, **DAMPING_WORK, **IMPLICIT_WORK, "applied": ("nv",)},
        layout=CONTACT_STEPS_TREE,
        iteration=None if algorithm.iterate is None else on_dampers(algorithm.iterate),
        view=None,
    )


DAMPED_SMOOTHED_CONTACTS = with_dampers(SMOOTHED_CONTACTS)
DAMPED_CONTACT_SENSITIVITY = with_dampers(CONTACT_SENSITIVITY)
"""For steps of a `Stepper`."""
