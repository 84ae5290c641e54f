# SPDX-License-Identifier: BSD-3-Clause
"""Steps in time with contacts as kernel code: the iterations of a solver inside the steps that `steps` repeats.

A step is solved from the forces of the step before (warm start), and where that fails, from zero. Iterations go on
while some lane needs them; a lane that has converged keeps its result, which therefore does not depend on other lanes.
Steps also sum up the energy that contacts and joints dissipate: by a force ``f`` in a step ``-dt f (u + u+) / 2`` with
velocities before and after it, the work that changes the kinetic energy of semi-implicit Euler exactly.

| symbol      | meaning                                                                       |
|-------------|-------------------------------------------------------------------------------|
| start       | forces of contacts, of joints, and of loops, to start from                     |
| applied     | joint torques given, and those of actuators                                   |
| kept        | the result of the previous iteration, and the state                           |
| missed      | the result of the previous attempt, and the state                             |
| totals      | `plans.contact_steps.TOTALS` numbers at the end of the result                  |
| damped      | the tree with ``implicit_armature``, that of implicit dampers                  |

Cost: that of the solver.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.contact.newton import CONTACT_NEWTON
from linkwork.kernels.contact.problem import ContactProblem, ContactResult, contact_view
from linkwork.kernels.elementary import copy_numbers, maximum
from linkwork.kernels.joints import dof_of
from linkwork.kernels.records import view_of
from linkwork.kernels.scalar import Array, Scalar, any_below, kernel, prange, where, with_arrays
from linkwork.kernels.steps.fast_turns import FAST_TURN_WORK, bound_energy
from linkwork.kernels.steps.integrators import Step, repeated
from linkwork.kernels.steps.stage_dynamics import (
    COMMANDED,
    DT,
    IMPLICIT,
    IMPLICIT_WORK,
    Dynamics,
    StepInputs,
    bounded_dampers,
    stop_torque,
)
from linkwork.kernels.tree.actuation import DRIVE_WORK, drive_joints, load_activations, store_activations
from linkwork.kernels.tree.implicit_damping import DAMPING_WORK
from linkwork.kernels.tree.kinematics import joint_transforms, velocities
from linkwork.kernels.tree.rnea import WRENCHES
from linkwork.model.joints import FREE, PLANAR, SPHERICAL
from linkwork.plans.contact_steps import CONTACT_PROGRAM_TREE, CONTACT_STEPS_TREE, TOTALS

FRICTION, IMPACTS, JOINTS, RESIDUAL, MISSED = range(TOTALS)
"""Entries of the totals."""


APPLIED: dict[str, Shape] = {"applied": ("nv",), "start": ("nstart",)} | IMPLICIT_WORK


STANDING = 100.0
"""A step is far from solved where its residual is this many tolerances, and more than the velocity above which
restitution acts: the velocity that gravity adds in two steps."""


@kernel
def begin_contacts(tree: Array, inputs: StepInputs, flat: Array) -> None:
    """A result with the initial forces and zeros elsewhere."""
    for k in range(tree.nresult):
        flat[k] = 0.0
    start = inputs.R[tree.nsettings : tree.nsettings + tree.nstart]
    problem, result = contact_view(
        tree, flat, flat, flat, flat, flat, start, inputs.R[0 : tree.nsettings], flat, flat, flat
    )
    for k in range(3 * tree.nslots):
        result.forces[k] = problem.forces0[k]
    for b in range(tree.nboxes):
        result.boxes[b] = problem.boxes0[b]
    for r in range(tree.nc):
        result.multipliers[r] = problem.multipliers0[r]


@kernel
def keep_forces(tree: Array, problem: ContactProblem, result: ContactResult) -> None:
    """Initial forces from the result of the step before; zero, where that was not solved."""
    solved = where(problem.settings.tolerance, result.residual[0], 0.0, 1.0)
    for k in range(3 * tree.nslots):
        problem.forces0[k] = solved * result.forces[k]
    for b in range(tree.nboxes):
        problem.boxes0[b] = solved * result.boxes[b]
    for r in range(tree.nc):
        problem.multipliers0[r] = solved * result.multipliers[r]


@kernel
def add_stop_torques(tree: Array, q: Array, v: Array, passive: Array, h: Scalar, torque: Array) -> None:
    """Torques of joint limits that are springs, in a step of ``h``; exact limits are rows of the solver."""
    for i in prange(1, tree.n):
        kind = tree.kind[i]
        if kind != SPHERICAL and kind != FREE and kind != PLANAR:
            for j in range(dof_of(kind)):
                k = tree.iv[i] + j
                torque[k] += stop_torque(passive[k], q[tree.iq[i] + j], v[k], h)


@kernel
def is_open(settings: Array, result: ContactResult) -> Scalar:
    """One where iterations have to go on, else zero; settings begin with the tolerance and the most iterations."""
    more = where(result.iterations[0], settings[1], 1.0, 0.0)
    return where(settings[0], result.residual[0], more, 0.0)


@kernel
def choose_numbers(new: Scalar, x: Array, y: Array, count: int) -> None:
    """``x`` where ``new`` is one, else ``y``."""
    for k in range(count):
        x[k] = where(0.5, new, x[k], y[k])


@kernel
def keep_result(tree: Array, flat: Array, q: Array, v: Array, kept: Array, size: int) -> None:
    """``kept``: a result with the state after the step."""
    copy_numbers(flat, kept, size)
    copy_numbers(q, kept[size : size + tree.nq], tree.nq)
    copy_numbers(v, kept[size + tree.nq : size + tree.nq + tree.nv], tree.nv)


@kernel
def choose_result(tree: Array, new: Scalar, flat: Array, q: Array, v: Array, kept: Array, size: int) -> None:
    """The result that was kept, where ``new`` is not one."""
    choose_numbers(new, flat, kept, size)
    choose_numbers(new, q, kept[size : size + tree.nq], tree.nq)
    choose_numbers(new, v, kept[size + tree.nq : size + tree.nq + tree.nv], tree.nv)


@kernel
def stand_still(tree: Array, problem: ContactProblem, result: ContactResult) -> None:
    """Stop the robot in a step that is far from solved, or NaN: it loses all kinetic energy, and has no forces."""
    most = maximum(problem.settings.threshold, STANDING * problem.settings.tolerance)
    solved = where(result.residual[0], most, 1.0, 0.0)
    for k in range(tree.nq):
        result.q[k] = where(0.5, solved, result.q[k], problem.q[k])
    for k in range(tree.nv):
        result.v[k] = where(0.5, solved, result.v[k], 0.0)
    for k in range(3 * tree.nslots):
        result.forces[k] = where(0.5, solved, result.forces[k], 0.0)
    for b in range(tree.nboxes):
        result.boxes[b] = where(0.5, solved, result.boxes[b], 0.0)
    for r in range(tree.nc):
        result.multipliers[r] = where(0.5, solved, result.multipliers[r], 0.0)


@kernel
def add_totals(tree: Array, w: Array, problem: ContactProblem, result: ContactResult, totals: Array) -> None:
    """Energy that contacts and joints dissipated, and the totals of iterations."""
    h = problem.settings.dt
    friction = 0.0
    impacts = 0.0
    joints = 0.0
    for s in range(tree.nslots):
        f = result.forces[3 * s : 3 * s + 3]
        u = result.velocities[3 * s : 3 * s + 3]
        b = w.contact_b[s]
        friction += f[0] * (u[0] + h * b[0]) + f[1] * (u[1] + h * b[1])
        impacts += f[2] * (u[2] + h * (b[2] - w.offset[s]))
    for k in range(tree.nboxes):
        i = tree.box_v[k]
        joints += tree.box_sign[k] * result.boxes[k] * (problem.v[i] + result.v[i])
    totals[FRICTION] -= 0.5 * h * friction
    totals[IMPACTS] -= 0.5 * h * impacts
    totals[JOINTS] -= 0.5 * h * joints
    totals[RESIDUAL] = maximum(totals[RESIDUAL], result.residual[0])
    totals[MISSED] += where(problem.settings.tolerance, result.residual[0], 1.0, 0.0)


@kernel
def applied_torques(tree: Array, w: Array, q: Array, v: Array, inputs: StepInputs) -> None:
    """``applied``: torques given, those of stops that are springs, and of actuators with activations ``w.act``."""
    copy_numbers(inputs.tau, w.applied, tree.nv)
    add_stop_torques(tree, q, v, inputs.passive, inputs.timing[DT], w.applied)
    drive_joints(tree, w, q, v, inputs.u, inputs.timing[DT], inputs.timing[COMMANDED], w.applied)


def contact_step(solver: Algorithm) -> Step:
    """A step of semi-implicit Euler with contacts, by a solver of `contact.problem`."""
    solve, iterate = solver.kernel, solver.iteration
    assert iterate is not None

    @kernel
    def step(tree: Array, w: Array, q: Array, v: Array, inputs: StepInputs, flat: Array) -> None:
        settings = inputs.R[0 : tree.nsettings]
        size = tree.act_start - TOTALS
        load_activations(tree, w, flat)
        applied_torques(tree, w, q, v, inputs)
        bounded_dampers(tree, w, q, inputs, inputs.timing[DT])
        damped = with_arrays(tree, w, IMPLICIT)
        problem, result = contact_view(
            tree, q, v, w.applied, inputs.wrenches, w.given, w.start, settings, w.qs, w.vs, flat
        )
        keep_forces(tree, problem, result)
        first = tree.nsettings + tree.nstart
        for s in range(tree.ngiven):
            copy_numbers(inputs.R[first + 7 * s : first + 7 * s + 7], w.given[s], 7)
        for attempt in range(2):
            needed = 1.0 if attempt == 0 else where(settings[0], result.residual[0], 1.0, 0.0)
            if any_below(0.5 - needed, 0.0):
                keep_result(tree, flat, w.qs, w.vs, w.missed, size)
                if attempt > 0:
                    for k in range(tree.nstart):
                        w.start[k] = 0.0
                solve(damped, w, problem, result)
                for _ in range(tree.nfurther):
                    going = is_open(settings, result)
                    if any_below(0.5 - going, 0.0):
                        keep_result(tree, flat, w.qs, w.vs, w.kept, size)
                        iterate(damped, w, problem, result)
                        choose_result(tree, going, flat, w.qs, w.vs, w.kept, size)
                if attempt > 0:  # iterations count together
                    result.iterations[0] += w.missed[1]
                    better = needed * where(result.residual[0], w.missed[0], 1.0, 0.0)
                    choose_result(tree, better, flat, w.qs, w.vs, w.missed, size)
        missing = bound_energy(damped, w, problem, result)
        stand_still(tree, problem, result)
        result.residual[0] = maximum(result.residual[0], missing)
        add_totals(tree, w, problem, result, flat[size : size + TOTALS])
        store_activations(tree, w, inputs.timing[DT], flat, flat)

    work: dict[str, Shape] = (
        APPLIED
        | FAST_TURN_WORK
        | {
            "given": ("ngiven", 7),
            "qs": ("nq",),
            "vs": ("nv",),
            "kept": ("nkept",),
            "missed": ("nkept",),
        }
    )
    dynamics = Dynamics(
        solver.name,
        solver.kernel,
        dict(solver.work) | DRIVE_WORK | DAMPING_WORK,
        CONTACT_STEPS_TREE,
        constrained=True,
        folded={},
        actuation=drive_joints,
        regularization=("nheld",),
        begin=begin_contacts,
    )
    return Step("euler", dynamics, step, work)


class SingleStep(NamedTuple):
    """The inputs of one step with contacts."""

    q: Array
    v: Array
    tau: Array
    u: Array
    wrenches: Array
    before: Array
    """(nresult,) the result of the step before."""
    given: Array
    timing: Array


class SingleEnd(NamedTuple):
    """The outputs of one step with contacts."""

    q: Array
    v: Array
    flat: Array
    """(nresult,)"""


def single_contact_step(solver: Algorithm) -> Algorithm:
    """One step with contacts. Iterations are those of the algorithm, so that straight-line programs can have them.

    ``before`` is the result of the step before, with forces to start from, totals and activations; that of the step
    ends with these totals and its own, and with activations after it. Where iterations do not reach the tolerance,
    another attempt from zero forces is the caller's.
    """
    solve, iterate = solver.kernel, solver.iteration
    assert iterate is not None

    @kernel
    def problem_of(tree: Array, w: Array, one: SingleStep, end: SingleEnd, flat: Array) -> Any:
        q, v, _, _, wrenches, _, arrays, _ = one
        return contact_view(tree, q, v, w.applied, wrenches, arrays, w.start, tree.solver_settings, end.q, end.v, flat)

    @kernel
    def set_totals(
        tree: Array, w: Array, one: SingleStep, problem: ContactProblem, result: ContactResult, flat: Array
    ) -> None:
        size = tree.act_start - TOTALS
        copy_numbers(one.before[size : size + TOTALS], flat[size : size + TOTALS], TOTALS)
        add_totals(tree, w, problem, result, flat[size : size + TOTALS])
        store_activations(tree, w, one.timing[DT], one.before, flat)

    @kernel
    def first(tree: Array, w: Array, one: SingleStep, end: SingleEnd) -> None:
        load_activations(tree, w, one.before)
        held = StepInputs(one.tau, one.u, one.wrenches, tree.joint_passive, tree.solver_settings, one.timing)
        applied_torques(tree, w, one.q, one.v, held)
        bounded_dampers(tree, w, one.q, held, one.timing[DT])
        problem, result = problem_of(tree, w, one, end, one.before)
        keep_forces(tree, problem, result)
        problem, result = problem_of(tree, w, one, end, end.flat)
        solve(with_arrays(tree, w, IMPLICIT), w, problem, result)
        set_totals(tree, w, one, problem, result, end.flat)

    @kernel
    def iteration(tree: Array, w: Array, one: SingleStep, end: SingleEnd) -> None:
        problem, result = problem_of(tree, w, one, end, end.flat)
        iterate(with_arrays(tree, w, IMPLICIT), w, problem, result)
        set_totals(tree, w, one, problem, result, end.flat)

    inputs: dict[str, Shape] = {
        "q": ("nq",),
        "v": ("nv",),
        "tau": ("nv",),
        "commands": ("ncommands",),
        "wrenches": WRENCHES,
        "before": ("nresult",),
        "given": ("ngiven", 7),
        "timing": (2,),
        "settings": (2,),
    }
    outputs: dict[str, Shape] = {"q1": ("nq",), "v1": ("nv",), "result": ("nresult",)}
    work = dict(solver.work) | DRIVE_WORK | DAMPING_WORK | APPLIED
    name, view = f"step_{solver.name}", view_of(SingleStep, None, SingleEnd)
    return Algorithm(
        name, first, inputs, outputs, work, CONTACT_PROGRAM_TREE, iteration, view=view, uneven=True, traced=True
    )


def bounded_contact_step(solver: Algorithm) -> Algorithm:
    """The part of `single_contact_step` for bodies that turn fast: the state after the step with no more energy than
    forces put in, from the ``result``, where the residual ``missing`` is above zero (`fast_turns`).
    """

    @kernel
    def bounded(
        tree: Array,
        w: Array,
        q: Array,
        v: Array,
        tau: Array,
        commands: Array,
        wrenches: Array,
        before: Array,
        result: Array,
        timing: Array,
        q1: Array,
        v1: Array,
        missing: Array,
    ) -> None:
        load_activations(tree, w, before)
        copy_numbers(q, q1, tree.nq)
        copy_numbers(v, v1, tree.nv)
        held = StepInputs(tau, commands, wrenches, tree.joint_passive, tree.solver_settings, timing)
        applied_torques(tree, w, q, v, held)
        bounded_dampers(tree, w, q, held, timing[DT])
        problem, end = contact_view(
            tree, q, v, w.applied, wrenches, w.given, w.start, tree.solver_settings, q1, v1, result
        )
        joint_transforms(tree, w, q)
        velocities(tree, w, v)
        missing[0] = bound_energy(with_arrays(tree, w, IMPLICIT), w, problem, end)

    inputs: dict[str, Shape] = {
        "q": ("nq",),
        "v": ("nv",),
        "tau": ("nv",),
        "commands": ("ncommands",),
        "wrenches": WRENCHES,
        "before": ("nresult",),
        "result": ("nresult",),
        "timing": (2,),
    }
    outputs: dict[str, Shape] = {"q1": ("nq",), "v1": ("nv",), "missing": (1,)}
    work = dict(solver.work) | DRIVE_WORK | DAMPING_WORK | APPLIED | FAST_TURN_WORK | {"given": ("ngiven", 7)}
    return Algorithm(f"bounded_{solver.name}", bounded, inputs, outputs, work, CONTACT_PROGRAM_TREE, traced=True)


CONTACT_STEPS: dict[tuple[str, str], Step] = {
    (one.name, one.dynamics.name): one for one in (contact_step(CONTACT_NEWTON),)
}
"""Steps with contacts, by integrator and solver."""

REPEATED_CONTACT_STEPS: dict[tuple[str, str], Algorithm] = {key: repeated(one) for key, one in CONTACT_STEPS.items()}
"""Algorithms of steps with contacts, by integrator and solver."""

SINGLE_CONTACT_STEPS: dict[str, Algorithm] = {one.name: single_contact_step(one) for one in (CONTACT_NEWTON,)}
"""Algorithms of one step with contacts, by solver."""

BOUNDED_CONTACT_STEPS: dict[str, Algorithm] = {one.name: bounded_contact_step(one) for one in (CONTACT_NEWTON,)}
"""Outputs for callers that bound the energy of fast rotations, by solver."""
