# SPDX-License-Identifier: BSD-3-Clause
"""A step with contacts by projected Gauss-Seidel, on an explicit Delassus matrix of contacts, boxes and loops.

The matrix ``G = J M^-1 J'`` is made column by column, by two sweeps of ABA for a unit force on each row; then sweeps of
`contact_pgs`. Rows are those of contacts, of boxes (limits and dry friction of joints), and of loops, whose forces are
not bounded. `iteration` is a *block* of ten sweeps that begins with velocities computed anew and ends with joint
accelerations of the forces found: dynamics hold, and the residual is that of the true problem.

| symbol    | meaning                                                                            |
|-----------|------------------------------------------------------------------------------------|
| row_G     | Delassus matrix, columns in lines of four                                          |
| row_g     | ``J a + b`` of all rows with no forces on them                                      |
| row_f     | forces of all rows                                                                  |
| row_Z     | velocities of rows over ``dt``, in lines                                            |
| a_free    | joint accelerations with no forces on rows                                          |

Other symbols as in `contact.problem` and `contact_pgs`. Cost: ``m (n + m)`` for the matrix of m rows, then in each
sweep the entries of the matrix that are not zero.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained.lcaba import apply_constraint_forces
from linkwork.kernels.constrained.problem import clear_forces, force_residual
from linkwork.kernels.contact.pgs import dense_inverse_inertias, dense_velocities, lines_residual, setup_slots, sweep
from linkwork.kernels.contact.problem import (
    INPUTS,
    OUTPUTS,
    STATE,
    ContactProblem,
    ContactResult,
    contact_view,
    problem_residual,
    setup_contact_problem,
    write_step,
)
from linkwork.kernels.contact.restitution import reduce_restitution
from linkwork.kernels.contact.row_products import apply_contact_force
from linkwork.kernels.contact.rows import Rows, project_rows
from linkwork.kernels.contact.step import STEP_WORK, row_changes, rows_of_motion
from linkwork.kernels.scalar import Array, Scalar, any_below, kernel, where
from linkwork.kernels.thresholds import DISABLED
from linkwork.kernels.tree.aba import articulate, articulated_bias_forces, joint_accelerations
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.contact_rows import LINE
from linkwork.plans.contact_step_rows import CONTACT_ROWS_TREE

SWEEPS = 10
"""Of a block."""

PGS_WORK: dict[str, Shape] = {
    "row_G": ("nrows", "nlines", LINE),
    "row_Z": ("nlines", LINE),
    "row_f": ("nrows",),
    "row_x": ("nrows",),
    "row_g": ("nrows",),
    "row_R": ("nrows",),
    "row_lower": ("nrows",),
    "row_upper": ("nrows",),
    "row_D": ("nrows",),
    "row_y": ("nrows",),
    "a_free": ("nv",),
    "row_W": ("nslots", 6),
    "q3": (3,),
    "x3": (3,),
}


@kernel
def apply_forces(tree: Array, w: Array, force: Array) -> None:
    """``f -= K' force``, ``tau += K' force`` of all rows."""
    for c in range(tree.ncontacts):
        for s in range(tree.contact_slot[c], tree.contact_slot[c] + tree.contact_slots[c]):
            apply_contact_force(tree, w, c, s, (force[3 * s], force[3 * s + 1], force[3 * s + 2]))
    o = 3 * tree.nslots
    for b in range(tree.nboxes):
        w.tau[tree.box_v[b]] += tree.box_sign[b] * force[o + b]
    o = o + tree.nboxes
    for r in range(tree.nc):
        w.row_forces[r] = force[o + r]
    apply_constraint_forces(tree, w, w.row_forces)


@kernel
def motion_of_forces(tree: Array, w: Array) -> None:
    """``da = M^-1 (tau - f)``, and what rows see of it."""
    articulated_bias_forces(tree, w, w.tau)
    joint_accelerations(tree, w, w.da)
    row_changes(tree, w, w.da)


@kernel
def changed_row(tree: Array, w: Array, r: int) -> Scalar:
    """The change of row ``r`` by ``da``."""
    o = 3 * tree.nslots
    if r < o:
        return w.contact_dy[r // 3, r % 3]
    if r < o + tree.nboxes:
        return w.box_dy[r - o]
    return -w.drows[r - o - tree.nboxes]


@kernel
def make_matrix(tree: Array, w: Array) -> None:
    """``G``, a unit force on one row after the other; after `articulate`."""
    for r in range(tree.nrows):
        w.row_x[r] = 0.0
        for j in range(tree.nlines):
            for c in range(LINE):
                w.row_G[r, j, c] = 0.0
    for r in range(tree.nrows):
        w.row_x[r] = 1.0
        clear_forces(tree, w, w.tau)
        apply_forces(tree, w, w.row_x)
        motion_of_forces(tree, w)
        w.row_x[r] = 0.0
        for c in range(tree.nrows):
            w.row_G[r, c // LINE, c % LINE] = changed_row(tree, w, c)


@kernel
def set_rows(tree: Array, w: Array, problem: ContactProblem, result: ContactResult) -> None:
    """Free velocities, compliances, bounds and first forces of rows; of disabled ones, forces are zero."""
    for s in range(tree.nslots):
        for k in range(3):
            r = 3 * s + k
            w.row_g[r] = w.contact_y[s, k]
            w.row_R[r] = w.contact_C[s] if k == 2 else 0.0
            w.row_lower[r] = 0.0
            w.row_upper[r] = 0.0
            w.row_x[r] = problem.forces0[r]
    o = 3 * tree.nslots
    for b in range(tree.nboxes):
        w.row_g[o + b] = w.box_y[b]
        w.row_R[o + b] = 0.0
        w.row_lower[o + b] = tree.box_lower[b]
        w.row_upper[o + b] = tree.box_upper[b]
        w.row_x[o + b] = problem.boxes0[b]
    o = o + tree.nboxes
    for r in range(tree.nc):
        bound = where(problem.settings.R[r], DISABLED, UNBOUNDED, 0.0)
        w.row_g[o + r] = -w.rows[r]
        w.row_R[o + r] = 0.0
        w.row_lower[o + r] = -bound
        w.row_upper[o + r] = bound
        w.row_x[o + r] = problem.multipliers0[r]


@kernel
def rows_in(tree: Array, w: Array) -> Rows:
    """The rows as `contact_pgs` takes them."""
    return Rows(w.row_g, tree.friction, w.row_R, w.row_lower, w.row_upper)


@kernel
def write_forces(tree: Array, w: Array, force: Array, result: ContactResult) -> None:
    """Forces of rows to the result."""
    o = 3 * tree.nslots
    for r in range(o):
        result.forces[r] = force[r]
    for b in range(tree.nboxes):
        result.boxes[b] = force[o + b]
    for r in range(tree.nc):
        result.multipliers[r] = force[o + tree.nboxes + r]


@kernel
def read_forces(tree: Array, w: Array, result: ContactResult, force: Array) -> None:
    """Forces of rows from the result."""
    o = 3 * tree.nslots
    for r in range(o):
        force[r] = result.forces[r]
    for b in range(tree.nboxes):
        force[o + b] = result.boxes[b]
    for r in range(tree.nc):
        force[o + tree.nboxes + r] = result.multipliers[r]


@kernel
def finish(tree: Array, w: Array, problem: ContactProblem, result: ContactResult, going: Scalar) -> None:
    """Joint accelerations of the forces, the residual, and the state after the step; where iterations were ``going``
    (one), less restitution where they have ended and contacts added energy."""
    clear_forces(tree, w, w.tau)
    apply_forces(tree, w, w.row_f)
    motion_of_forces(tree, w)
    for k in range(tree.nv):
        result.a[k] = w.a_free[k] + w.da[k]
    for s in range(tree.nslots):
        for k in range(3):
            w.contact_y[s, k] = w.row_g[3 * s + k] + w.contact_dy[s, k]
    o = 3 * tree.nslots
    for b in range(tree.nboxes):
        w.box_y[b] = w.row_g[o + b] + w.box_dy[b]
    for r in range(tree.nc):
        w.rows[r] = -w.row_g[o + tree.nboxes + r] + w.drows[r]
    write_forces(tree, w, w.row_f, result)
    result.residual[0] = problem_residual(tree, w, problem, result, w.rows)
    reduce_restitution(tree, w, problem, result, going)
    for s in range(tree.nslots):
        w.row_g[3 * s + 2] = w.contact_y[s, 2] - w.contact_dy[s, 2]
    write_step(tree, w, problem, result)


@kernel
def contact_pgs(tree: Array, w: Array, problem: ContactProblem, result: ContactResult) -> None:
    """The problem, its matrix, and the forces that sweeps start from."""
    result.reduction[0] = 0.0
    setup_contact_problem(tree, w, problem, 0.0)
    articulate(tree, w)
    for k in range(tree.nv):
        result.a[k] = 0.0
    force_residual(tree, w, w.torque, result.a)
    articulated_bias_forces(tree, w, w.tau)
    joint_accelerations(tree, w, w.a_free)
    rows_of_motion(tree, w, w.a_free)
    set_rows(tree, w, problem, result)
    project_rows(tree, rows_in(tree, w), w.row_x, w.row_f)
    make_matrix(tree, w)
    dense_inverse_inertias(tree, w.row_G, rows_in(tree, w), w.row_D)
    setup_slots(tree, w.row_G, rows_in(tree, w), w.row_D, w.row_W)
    for k in range(STATE):
        result.state[k] = 0.0
    result.iterations[0] = 0.0
    finish(tree, w, problem, result, 1.0)


@kernel
def contact_pgs_iterate(tree: Array, w: Array, problem: ContactProblem, result: ContactResult) -> None:
    """A block of sweeps."""
    rows = rows_in(tree, w)
    tolerance = problem.settings.tolerance
    read_forces(tree, w, result, w.row_f)
    dense_velocities(tree, w.row_G, rows, w.row_f, w.row_Z, w.row_y)
    residual = result.residual[0]
    start = where(tolerance, residual, 1.0, 0.0)
    count = result.iterations[0]
    for _ in range(SWEEPS):
        going = where(tolerance, residual, where(count + 0.5, problem.settings.most, 1.0, 0.0), 0.0)
        if any_below(-going, -0.5):
            for r in range(tree.nrows):
                w.row_x[r] = w.row_f[r]
            sweep(tree, w.row_G, rows, w.row_D, w.row_W, w.q3, w.x3, w.row_f, w.row_Z)
            for r in range(tree.nrows):  # lanes that are done keep their forces
                w.row_f[r] = where(going, 0.5, w.row_x[r], w.row_f[r])
            now = problem.settings.dt * lines_residual(tree, rows, w.row_D, w.row_f, w.row_Z, w.row_y)
            residual = where(going, 0.5, residual, now)
            count = count + going
    result.iterations[0] = count
    finish(tree, w, problem, result, start)


CONTACT_PGS = Algorithm(
    "contact_step_pgs",
    contact_pgs,
    INPUTS,
    OUTPUTS,
    STEP_WORK | PGS_WORK,
    CONTACT_ROWS_TREE,
    contact_pgs_iterate,
    view=contact_view,
)
