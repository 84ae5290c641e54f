# SPDX-License-Identifier: BSD-3-Clause
"""A step with contacts by ADMM on the damped inverse of the Delassus operator, without a matrix.

The iteration of `contact_admm`. Its linear system ``(G + R + rho) x = rho f + z - g - Gamma`` is solved in
accelerations, by the matrix inversion lemma (**delassus** Eq. 8 and Algorithm 4): springs of stiffness
``1 / (R + rho)`` on all rows are eliminated by LCABA once for a penalty, and every iteration is two sweeps with that
factor. Loops are rows of the same factor, with proximal iterations of their own.

Within a block, forces ``x`` are those that accelerations are the motion of: dynamics always hold, cones to what ``x``
misses. At its end ``x`` is projected on the cones, and the motion of these forces, their residual with it, are the
result. Of ``f`` and ``z`` one vector is kept, ``s`` with ``f = P(s)`` and ``z = rho (f - s)``.

| symbol             | meaning                                                                           |
|--------------------|-----------------------------------------------------------------------------------|
| contact_P, box_P   | forces that rows would have if accelerations stayed: ``(rho f + z - Gamma - y) / (R + rho)`` |
| contact_G, box_G   | ``1 / (R + rho)``                                                                  |
| centers            | ``s``                                                                             |
| state              | penalty ``c``, ``rho = c D``; number of factorizations; residual of ``x`` to reach   |

Other symbols as in `contact.problem` and `contact.step`. Cost of a block: one elimination by LCABA, eleven times two
sweeps; linear in bodies and contacts.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained.lcaba import (
    apply_constraint_forces,
    coupled_accelerations,
    coupled_bias_forces,
)
from linkwork.kernels.constrained.problem import clear_forces, force_residual
from linkwork.kernels.contact.admm import BLOCK, balanced_factor
from linkwork.kernels.contact.cones import project_cone, tangential_length
from linkwork.kernels.contact.direction import factorize_contacts
from linkwork.kernels.contact.problem import (
    INPUTS,
    OUTPUTS,
    STATE,
    ContactProblem,
    ContactResult,
    ContactSettings,
    contact_view,
    problem_residual,
    set_slot_vector,
    setup_contact_problem,
    slot_vector,
    write_step,
)
from linkwork.kernels.contact.restitution import reduce_restitution
from linkwork.kernels.contact.row_products import apply_contact_force
from linkwork.kernels.contact.step import STEP_WORK, row_changes, rows_of_motion
from linkwork.kernels.elementary import clamp, magnitude, maximum
from linkwork.kernels.scalar import Array, Scalar, any_below, kernel, where
from linkwork.kernels.thresholds import DISABLED
from linkwork.kernels.tree.aba import articulate, articulated_bias_forces, joint_accelerations
from linkwork.plans.contact_lcaba import CONTACT_LCABA_TREE

FIRST_PENALTY = 0.1
"""The penalty of the first block, as a part of the inverse inertia of a row."""
LEAST, LARGEST = 1e-5, 1e5
"""Bounds of the penalty."""
MOST_CHANGE = 10.0
"""The largest factor by which the penalty changes."""

CLOSER = 0.3
"""Where forces that solve the dynamics are near enough to their cones, and their projections do not solve the problem,
iterations go on to this part of the distance."""

PENALTY, FACTORIZATIONS, TARGET = 0, 1, 2
"""Entries of the state; the target is the residual of forces that solve the dynamics at which their projections are
tried."""


class Centers(NamedTuple):
    """``s`` of all rows: forces in cones and multipliers in one."""

    contacts: Array
    """(3 nslots,)"""
    boxes: Array
    """(nboxes,)"""


@kernel
def admm_view(tree: Array, *arrays: Array) -> tuple[ContactProblem, ContactResult, Centers]:
    """Arrays by name; the centers are at the end of the result."""
    problem, result = contact_view(tree, *arrays)
    flat = arrays[9]
    o = tree.nresult - 3 * tree.nslots - tree.nboxes
    e = o + 3 * tree.nslots
    return problem, result, Centers(flat[o:e], flat[e : tree.nresult])


@kernel
def set_springs(tree: Array, w: Array, settings: ContactSettings, c: Scalar) -> None:
    """``G = 1 / (R + rho)`` of all contacts and boxes."""
    for s in range(tree.nslots):
        rho = c * settings.D[s]
        for k in range(6):
            w.contact_G[s, k] = 0.0
        w.contact_G[s, 0] = 1.0 / rho
        w.contact_G[s, 3] = 1.0 / rho
        w.contact_G[s, 5] = 1.0 / (rho + w.contact_C[s])
    for b in range(tree.nboxes):
        w.box_G[b] = 1.0 / (c * settings.box_D[b])


@kernel
def target_forces(tree: Array, w: Array, settings: ContactSettings, centers: Centers, c: Scalar) -> None:
    """``P = (rho f + z - Gamma(z) - y) / (R + rho)``."""
    for s in range(tree.nslots):
        rho = c * settings.D[s]
        center = slot_vector(centers.contacts, s)
        f = project_cone(tree.friction[s], center)
        gap = (f[0] - center[0], f[1] - center[1])
        gamma = tree.friction[s] * (rho * tangential_length(gap))
        G = w.contact_G[s]
        w.contact_P[s, 0] = (rho * (f[0] + gap[0]) - w.contact_y[s, 0]) * G[0]
        w.contact_P[s, 1] = (rho * (f[1] + gap[1]) - w.contact_y[s, 1]) * G[3]
        w.contact_P[s, 2] = (rho * (2.0 * f[2] - center[2]) - gamma - w.contact_y[s, 2]) * G[5]
    for b in range(tree.nboxes):
        f = clamp(centers.boxes[b], tree.box_lower[b], tree.box_upper[b])
        w.box_P[b] = 2.0 * f - centers.boxes[b] - w.box_y[b] * w.box_G[b]


@kernel
def apply_row_forces(tree: Array, w: Array, result: ContactResult, multiplied: float) -> None:
    """Forces out of balance: ``P - x`` of contacts and boxes, ``mu (k - J_l a)`` of loops.

    Where ``multiplied`` is one, forces so far are not in what they are added to: ``P``, and multipliers as well.
    """
    for c in range(tree.ncontacts):
        for s in range(tree.contact_slot[c], tree.contact_slot[c] + tree.contact_slots[c]):
            x = slot_vector(result.forces, s)
            P = w.contact_P[s]
            k = 1.0 - multiplied
            apply_contact_force(tree, w, c, s, (P[0] - k * x[0], P[1] - k * x[1], P[2] - k * x[2]))
    for b in range(tree.nboxes):
        w.tau[tree.box_v[b]] += tree.box_sign[b] * (w.box_P[b] - (1.0 - multiplied) * result.boxes[b])
    for r in range(tree.nc):
        w.row_forces[r] = multiplied * result.multipliers[r] + w.mu[r] * w.rows[r]
    apply_constraint_forces(tree, w, w.row_forces)


@kernel
def take_step(tree: Array, w: Array, result: ContactResult, t: Scalar) -> None:
    """Accelerations, rows and forces ``x = P - G dy`` after the step, where ``t`` is one."""
    for k in range(tree.nv):
        result.a[k] += t * w.da[k]
    for s in range(tree.nslots):
        G = w.contact_G[s]
        for k in range(3):
            stiffness = G[5] if k == 2 else G[0]
            x = w.contact_P[s, k] - stiffness * w.contact_dy[s, k]
            w.contact_y[s, k] += t * w.contact_dy[s, k]
            result.forces[3 * s + k] += t * (x - result.forces[3 * s + k])
    for b in range(tree.nboxes):
        x = w.box_P[b] - w.box_G[b] * w.box_dy[b]
        w.box_y[b] += t * w.box_dy[b]
        result.boxes[b] += t * (x - result.boxes[b])
    for r in range(tree.nc):
        result.multipliers[r] += t * w.mu[r] * (w.rows[r] + w.drows[r])
        w.rows[r] += t * w.drows[r]


@kernel
def update_centers(
    tree: Array,
    w: Array,
    settings: ContactSettings,
    result: ContactResult,
    centers: Centers,
    c: Scalar,
    going: Scalar,
) -> None:
    """``s = x - z / rho`` where iterations go on; ``measure`` is the primal and the dual residual."""
    primal = 0.0
    dual = 0.0
    for k in range(tree.nslots):
        mu = tree.friction[k]
        center = slot_vector(centers.contacts, k)
        x = slot_vector(result.forces, k)
        f = project_cone(mu, center)
        new = (x[0] - f[0] + center[0], x[1] - f[1] + center[1], x[2] - f[2] + center[2])
        p = project_cone(mu, new)
        for j in range(3):
            primal = maximum(primal, settings.D[k] * magnitude(x[j] - p[j]))
            dual = maximum(dual, c * settings.D[k] * magnitude(p[j] - f[j]))
            centers.contacts[3 * k + j] = where(going, 0.5, center[j], new[j])
    for b in range(tree.nboxes):
        unit = settings.box_unit[b] * settings.box_D[b]
        f = clamp(centers.boxes[b], tree.box_lower[b], tree.box_upper[b])
        new = result.boxes[b] - f + centers.boxes[b]
        p = clamp(new, tree.box_lower[b], tree.box_upper[b])
        primal = maximum(primal, unit * magnitude(result.boxes[b] - p))
        dual = maximum(dual, c * unit * magnitude(p - f))
        centers.boxes[b] = where(going, 0.5, centers.boxes[b], new)
    w.measure[0] = where(going, 0.5, w.measure[0], primal)
    w.measure[1] = where(going, 0.5, w.measure[1], dual)


@kernel
def adapt_penalty(tree: Array, w: Array, settings: ContactSettings, result: ContactResult, centers: Centers) -> None:
    """``c`` by the root of primal over dual residual, and ``s`` such that ``f`` and ``z`` stay."""
    c = result.state[PENALTY]
    changed = clamp(c * balanced_factor(w.measure[0], w.measure[1], MOST_CHANGE), LEAST, LARGEST)
    changed = where(settings.tolerance, result.residual[0], changed, c)
    ratio = c / changed
    for s in range(tree.nslots):
        center = slot_vector(centers.contacts, s)
        f = project_cone(tree.friction[s], center)
        for k in range(3):
            centers.contacts[3 * s + k] = f[k] - ratio * (f[k] - center[k])
    for b in range(tree.nboxes):
        f = clamp(centers.boxes[b], tree.box_lower[b], tree.box_upper[b])
        centers.boxes[b] = f - ratio * (f - centers.boxes[b])
    result.state[PENALTY] = changed


@kernel
def guess_forces(tree: Array, w: Array, problem: ContactProblem, result: ContactResult) -> None:
    """The forces to start from, in their cones."""
    for s in range(tree.nslots):
        set_slot_vector(slot_vector(problem.forces0, s), result.forces, s)
    for b in range(tree.nboxes):
        result.boxes[b] = problem.boxes0[b]
    for r in range(tree.nc):
        result.multipliers[r] = problem.multipliers0[r]
    project_forces(tree, w, result)


@kernel
def motion_of_forces(tree: Array, w: Array, result: ContactResult) -> None:
    """Accelerations and rows of the forces ``contact_P``, ``box_P`` and the multipliers, by themselves."""
    for k in range(tree.nv):
        result.a[k] = 0.0
    for r in range(tree.nc):
        w.rows[r] = 0.0
    articulate(tree, w)
    force_residual(tree, w, w.torque, result.a)
    apply_row_forces(tree, w, result, 1.0)
    articulated_bias_forces(tree, w, w.tau)
    joint_accelerations(tree, w, result.a)
    rows_of_motion(tree, w, result.a)


@kernel
def project_forces(tree: Array, w: Array, result: ContactResult) -> None:
    """The forces of the result in their cones, and as ``contact_P`` and ``box_P``."""
    for s in range(tree.nslots):
        f = project_cone(tree.friction[s], slot_vector(result.forces, s))
        set_slot_vector(f, result.forces, s)
        for k in range(3):
            w.contact_P[s, k] = f[k]
    for b in range(tree.nboxes):
        result.boxes[b] = clamp(result.boxes[b], tree.box_lower[b], tree.box_upper[b])
        w.box_P[b] = result.boxes[b]


@kernel
def guess_centers(tree: Array, w: Array, settings: ContactSettings, result: ContactResult, centers: Centers) -> None:
    """``s = f - z / rho`` with ``z = y + Gamma(y)``, which is right if the forces are."""
    c = result.state[PENALTY]
    for s in range(tree.nslots):
        y = w.contact_y[s]
        inverse = 1.0 / (c * settings.D[s])
        gamma = tree.friction[s] * tangential_length(y)
        f = slot_vector(result.forces, s)
        normal = y[2] + gamma + w.contact_C[s] * f[2]
        set_slot_vector((f[0] - inverse * y[0], f[1] - inverse * y[1], f[2] - inverse * normal), centers.contacts, s)
    for b in range(tree.nboxes):
        centers.boxes[b] = result.boxes[b] - w.box_y[b] / (c * settings.box_D[b])


@kernel
def contact_admm(tree: Array, w: Array, problem: ContactProblem, result: ContactResult, centers: Centers) -> None:
    """The problem, and the motion of the forces that iterations start from."""
    result.reduction[0] = 0.0
    setup_contact_problem(tree, w, problem, 0.0)
    guess_forces(tree, w, problem, result)
    motion_of_forces(tree, w, result)
    for k in range(STATE):
        result.state[k] = 0.0
    result.state[PENALTY] = FIRST_PENALTY
    result.state[TARGET] = problem.settings.tolerance
    guess_centers(tree, w, problem.settings, result, centers)
    result.residual[0] = problem_residual(tree, w, problem, result, w.rows)
    result.iterations[0] = 0.0
    write_step(tree, w, problem, result)


@kernel
def contact_admm_iterate(
    tree: Array, w: Array, problem: ContactProblem, result: ContactResult, centers: Centers
) -> None:
    """A block: the factor for one penalty, up to ten iterations with it, another penalty.

    Forces ``x`` that solve the dynamics are outside of their cones by what they miss. What counts are forces in their
    cones, and what these do by themselves.
    """
    settings = problem.settings
    start = where(settings.tolerance, result.residual[0], 1.0, 0.0)
    target = result.state[TARGET]
    missed = where(0.5, start, DISABLED, 0.0)
    c = result.state[PENALTY]
    set_springs(tree, w, settings, c)
    factorize_contacts(tree, w, settings)
    w.measure[0] = 1.0
    w.measure[1] = 1.0
    force_residual(tree, w, w.torque, result.a)
    rows_of_motion(tree, w, result.a)
    for k in range(BLOCK):
        going = where(target, missed, 1.0, 0.0)
        going = where(result.iterations[0] + 0.5, settings.most, going, 0.0)
        if any_below(-going, -0.5):
            target_forces(tree, w, settings, centers, c)
            if k == 0:
                apply_row_forces(tree, w, result, 1.0)
            else:
                clear_forces(tree, w, w.tau)
                apply_row_forces(tree, w, result, 0.0)
            coupled_bias_forces(tree, w, w.tau)
            coupled_accelerations(tree, w, w.da)
            row_changes(tree, w, w.da)
            take_step(tree, w, result, going)
            update_centers(tree, w, settings, result, centers, c, going)
            now = problem_residual(tree, w, problem, result, w.rows)
            missed = where(going, 0.5, missed, now)
            result.iterations[0] += going
    result.state[FACTORIZATIONS] += 1.0
    project_forces(tree, w, result)
    motion_of_forces(tree, w, result)
    now = problem_residual(tree, w, problem, result, w.rows)
    result.residual[0] = where(0.5, start, now, result.residual[0])
    failed = where(target, missed, 0.0, where(settings.tolerance, now, start, 0.0))
    result.state[TARGET] = where(0.5, failed, CLOSER * target, target)
    adapt_penalty(tree, w, settings, result, centers)
    reduce_restitution(tree, w, problem, result, start)
    write_step(tree, w, problem, result)


ADMM_WORK: dict[str, Shape] = STEP_WORK | {
    "contact_P": ("nslots", 3),
    "contact_G": ("nslots", 6),
    "box_P": ("nboxes",),
    "box_G": ("nboxes",),
    "measure": (2,),
}

CONTACT_ADMM = Algorithm(
    "contact_step_admm",
    contact_admm,
    INPUTS,
    OUTPUTS,
    ADMM_WORK,
    CONTACT_LCABA_TREE,
    contact_admm_iterate,
    view=admm_view,
)
