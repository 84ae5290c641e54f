# SPDX-License-Identifier: BSD-3-Clause
"""Inverse dynamics with contacts: the least contact forces within Coulomb's cones that motors need beside them.

Of the generalized forces ``b`` that accelerations ask for, some rows are to be balanced by contact forces ``f`` and
torques ``t`` that are chosen with them (`contact.balance`)::

    minimize  1/2 |f|²    with    J' f + B t = b,    f in the product of cones K,  t in a box

by the proximal method of multipliers, which adds ``w/2 |t - t0|²``. The dual then has one unknown ``y`` a row: ``f =
P_K(J y)`` and ``t = P(t0 + B' y / w)``, where ``y`` makes the rows balance, the root of the gradient of a convex
function that is piecewise smooth. Newton's method with line search finds it, with a proximal term ``rho N (y - y0)`` in
the gradient as well, so that ``y`` exists where contacts cannot balance the rows: what they miss then, ``left = rho N
(y - y0)``, is about the least in the metric of ``N^-1``, which is the force that contacts without cones would need for
it. Where Newton's method has converged, ``y0 = y`` and ``t0 = t``, and ``rho`` is made smaller: if that does not make
less of what is missing, forces within cones cannot supply it. ``f`` and ``t`` are within their cones and boxes in every
iteration.

| symbol     | meaning                                                                                          |
|------------|--------------------------------------------------------------------------------------------------|
| x, tx      | ``J y`` and ``t0 + B' y / w``                                                                     |
| D, slopes  | derivatives of ``f`` and ``t``: a symmetric block for each contact, a number for each torque      |
| Jd, Bd, Nd | what a full step changes ``J y``, ``B' y / w`` and ``N y`` by                                     |
| Ny         | ``N = J' J + B B'``, and a little more on the diagonal                                            |
| Hy         | ``J' D J + B D B' + rho N``, then its factor                                                      |
| dy         | Newton's step                                                                                     |
| size       | mean square of a column of ``J``                                                                  |
| left       | ``b - J' f - B t``                                                                                |
| pull       | ``N (y - y0)``                                                                                    |

Other symbols as in `contact.balance`. Cost of an iteration: linear in contacts, cubic in the rows that are balanced,
six of a humanoid.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.clusters.rnea import CLUSTER_RNEA
from linkwork.kernels.contact.balance import (
    BALANCE_WORK,
    ContactForcesProblem,
    ContactForcesResult,
    chosen_column,
    contact_forces_view,
    setup_balance,
    torque_unit,
    write_forces,
)
from linkwork.kernels.contact.cones import clamp_slope, cone_derivative, project_cone
from linkwork.kernels.elementary import clamp, magnitude, maximum
from linkwork.kernels.indexed_ldl import factorize_at, solve_at
from linkwork.kernels.scalar import Array, Scalar, any_below, kernel, where
from linkwork.kernels.spatial import Triple
from linkwork.kernels.thresholds import FINAL_RESIDUAL, LEAST_LEVERS
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.contact_forces import CONTACT_FORCES_TREE

TRIALS, BOX_TRIALS = 8, 16
"""Lengths of a step that the line search tries; more where torques are chosen, whose limits are kinks."""
SHORT = 0.5
"""A full step is taken where the slope at its end is less than this part of that at its start."""
INEXACT = 0.1
"""``y0`` is moved where Newton's method misses less than this part of what is unmet."""
STALLED = 0.5
"""Contacts cannot supply more where moving ``y0`` leaves more than this part of what was unmet,"""
NEXT_RHO = 0.1
"""Part that ``rho`` becomes where ``y0`` is moved."""
TORQUE_WEIGHT = 1.0
"""``w`` to start with."""
NEARLY = 0.01
"""Where less than this part of what is required is unmet, contact forces are made the least, by a smaller ``w``:"""
LIGHTER = 0.1
"""this part of it."""
CONTACT_FORCES_WORK: dict[str, Shape] = BALANCE_WORK | {
    "contact_x": ("nslots", 3),
    "contact_D": ("nslots", 6),
    "contact_Jd": ("nslots", 3),
    "tx": ("nchosen",),
    "slopes": ("nchosen",),
    "Bd": ("nchosen",),
    "Ny": ("nv", "nv"),
    "Hy": ("nv", "nv"),
    "dy": ("nv",),
    "pull": ("nv",),
    "Nd": ("nv",),
    "size": (1,),
}


# Forces of y --------------------------------------------------------------------------------------------------------


@kernel
def contact_target(tree: Array, w: Array, s: int, y: Array) -> Triple:
    """``J y`` of a slot."""
    x0 = 0.0
    x1 = 0.0
    x2 = 0.0
    for e in range(tree.nbalanced):
        d = tree.balanced_dof[e]
        x0 = x0 + w.contact_J[s, 0, d] * y[d]
        x1 = x1 + w.contact_J[s, 1, d] * y[d]
        x2 = x2 + w.contact_J[s, 2, d] * y[d]
    return x0, x1, x2


@kernel
def torque_step(tree: Array, w: Array, p: int, y: Array, weight: Scalar) -> Scalar:
    """``B' y / w`` of a chosen torque."""
    x = 0.0
    for e in range(tree.chosen_start[p], tree.chosen_start[p] + tree.chosen_count[p]):
        d = tree.chosen_row[e]
        x = x + chosen_column(tree, w, p, d) * y[d]
    return x / weight


@kernel
def bounded_torque(tree: Array, problem: ContactForcesProblem, p: int, x: Scalar) -> Scalar:
    """The torque within its limits that is nearest to ``x``."""
    unit = torque_unit(tree, p, problem.length)
    return clamp(x, unit * problem.limits[2 * p], unit * problem.limits[2 * p + 1])


@kernel
def forces_of_rows(tree: Array, w: Array, problem: ContactForcesProblem, result: ContactForcesResult) -> None:
    """``f`` and ``t`` at ``y``, and what they leave of ``b``."""
    for s in range(tree.nslots):
        x = contact_target(tree, w, s, result.y)
        f = project_cone(tree.friction[s], x)
        for k in range(3):
            w.contact_x[s, k] = x[k]
            result.forces[s, k] = f[k]
    for p in range(tree.nchosen):
        w.tx[p] = result.t0[p] + torque_step(tree, w, p, result.y, result.weight[0])
        w.t[p] = bounded_torque(tree, problem, p, w.tx[p])
    for d in range(tree.nv):
        x = w.b[d]
        for s in range(tree.nslots):
            for k in range(3):
                x = x - w.contact_J[s, k, d] * result.forces[s, k]
        w.left[d] = x
    for p in range(tree.nchosen):
        for e in range(tree.chosen_start[p], tree.chosen_start[p] + tree.chosen_count[p]):
            d = tree.chosen_row[e]
            w.left[d] -= chosen_column(tree, w, p, d) * w.t[p]


# Newton's step ------------------------------------------------------------------------------------------------------


@kernel
def derivatives(tree: Array, w: Array, problem: ContactForcesProblem, result: ContactForcesResult) -> None:
    """``D`` and ``slopes`` at ``y``."""
    for s in range(tree.nslots):
        D = cone_derivative(tree.friction[s], w.contact_x[s])
        for k in range(6):
            w.contact_D[s, k] = D[k]
    for p in range(tree.nchosen):
        unit = torque_unit(tree, p, problem.length)
        slope = clamp_slope(w.tx[p], unit * problem.limits[2 * p], unit * problem.limits[2 * p + 1])
        w.slopes[p] = slope / result.weight[0]


@kernel
def newton_matrix(tree: Array, w: Array, H: Array, rho: Scalar) -> None:
    """``H = J' D J + B D B' + rho N`` on the rows that are balanced, lower triangle."""
    for e in range(tree.nbalanced):
        i = tree.balanced_dof[e]
        for g in range(e + 1):
            j = tree.balanced_dof[g]
            H[i, j] = rho * w.Ny[i, j]
    add_squares(tree, w, H)


@kernel
def add_squares(tree: Array, w: Array, H: Array) -> None:
    """``H += J' D J + B D B'``."""
    for s in range(tree.nslots):
        D = w.contact_D[s]
        J = w.contact_J[s]
        for e in range(tree.nbalanced):
            i = tree.balanced_dof[e]
            x = D[0] * J[0, i] + D[1] * J[1, i] + D[2] * J[2, i]
            y = D[1] * J[0, i] + D[3] * J[1, i] + D[4] * J[2, i]
            z = D[2] * J[0, i] + D[4] * J[1, i] + D[5] * J[2, i]
            for g in range(e + 1):
                j = tree.balanced_dof[g]
                H[i, j] += x * J[0, j] + y * J[1, j] + z * J[2, j]
    for p in range(tree.nchosen):
        start = tree.chosen_start[p]
        for e in range(tree.chosen_count[p]):
            i = tree.chosen_row[start + e]
            x = w.slopes[p] * chosen_column(tree, w, p, i)
            for g in range(e + 1):
                j = tree.chosen_row[start + g]
                H[i, j] += x * chosen_column(tree, w, p, j)


@kernel
def metric(tree: Array, w: Array) -> None:
    """``N`` on the rows that are balanced, lower triangle, and the mean square of a column of contacts."""
    size = 0.0
    for e in range(tree.nbalanced):
        i = tree.balanced_dof[e]
        for g in range(e + 1):
            w.Ny[i, tree.balanced_dof[g]] = 0.0
        for s in range(tree.nslots):
            for k in range(3):
                size = size + w.contact_J[s, k, i] * w.contact_J[s, k, i]
    if tree.nbalanced > 0:
        size = size / float(tree.nbalanced)
    w.size[0] = where(0.0, size, size, 1.0)
    for s in range(tree.nslots):
        for k in range(6):
            w.contact_D[s, k] = 1.0 if k == 0 or k == 3 or k == 5 else 0.0
    for p in range(tree.nchosen):
        w.slopes[p] = 1.0
    add_squares(tree, w, w.Ny)
    for e in range(tree.nbalanced):
        i = tree.balanced_dof[e]
        w.Ny[i, i] += LEAST_LEVERS * (w.Ny[i, i] + w.size[0])


@kernel
def times_metric(tree: Array, w: Array, x: Array, y: Array) -> None:
    """``y = N x``."""
    for e in range(tree.nbalanced):
        i = tree.balanced_dof[e]
        y[i] = w.Ny[i, i] * x[i]
        for g in range(e):
            j = tree.balanced_dof[g]
            y[i] += w.Ny[i, j] * x[j]
            y[j] += w.Ny[i, j] * x[i]


@kernel
def proximal_pull(tree: Array, w: Array, result: ContactForcesResult) -> None:
    """``pull = N (y - y0)``."""
    for e in range(tree.nbalanced):
        d = tree.balanced_dof[e]
        w.dy[d] = result.y[d] - result.y0[d]
    times_metric(tree, w, w.dy, w.pull)


@kernel
def newton_direction(tree: Array, w: Array, problem: ContactForcesProblem, result: ContactForcesResult) -> None:
    """``dy``, and what it changes ``J y`` and ``B' y / w`` by."""
    derivatives(tree, w, problem, result)
    newton_matrix(tree, w, w.Hy, result.rho[0])
    factorize_at(tree.balanced_dof, 0, tree.nbalanced, w.Hy)
    for e in range(tree.nbalanced):
        d = tree.balanced_dof[e]
        w.dy[d] = w.left[d] - result.rho[0] * w.pull[d]
    solve_at(tree.balanced_dof, 0, tree.nbalanced, w.Hy, w.dy)
    times_metric(tree, w, w.dy, w.Nd)
    for s in range(tree.nslots):
        x = contact_target(tree, w, s, w.dy)
        for k in range(3):
            w.contact_Jd[s, k] = x[k]
    for p in range(tree.nchosen):
        w.Bd[p] = torque_step(tree, w, p, w.dy, result.weight[0])


@kernel
def slope(tree: Array, w: Array, problem: ContactForcesProblem, result: ContactForcesResult, part: Scalar) -> Scalar:
    """The derivative of the dual function along the step, at a part of it."""
    x = 0.0
    for e in range(tree.nbalanced):
        d = tree.balanced_dof[e]
        x = x + w.dy[d] * (result.rho[0] * (w.pull[d] + part * w.Nd[d]) - w.b[d])
    for s in range(tree.nslots):
        at = w.contact_x[s]
        step = w.contact_Jd[s]
        f = project_cone(tree.friction[s], (at[0] + part * step[0], at[1] + part * step[1], at[2] + part * step[2]))
        x = x + (f[0] * step[0] + f[1] * step[1] + f[2] * step[2])
    for p in range(tree.nchosen):
        t = bounded_torque(tree, problem, p, w.tx[p] + part * w.Bd[p])
        x = x + result.weight[0] * (t * w.Bd[p])
    return x


@kernel
def line_search(tree: Array, w: Array, problem: ContactForcesProblem, result: ContactForcesResult) -> Scalar:
    """The part of the step at which the slope is about zero: regula falsi (Illinois), or all of it."""
    low = 0.0
    high = 1.0
    below = slope(tree, w, problem, result, 0.0)
    above = slope(tree, w, problem, result, 1.0)
    least = -(SHORT * below)
    part = 1.0
    at = above
    for _ in range(BOX_TRIALS if tree.nchosen > 0 else TRIALS):
        open = where(least, at, 1.0, where(at, -least, where(0.0, above, 1.0, 0.0), 0.0))
        if any_below(-open, -0.5):
            width = above - below
            trial = (low * above - high * below) / where(0.0, width, width, 1.0)
            part = where(0.5, open, trial, part)
            at = where(0.5, open, slope(tree, w, problem, result, part), at)
            beyond = where(0.0, at, 1.0, 0.0)
            # an end that stays has its slope halved
            high = where(0.5, beyond * open, part, high)
            low = where(0.5, (1.0 - beyond) * open, part, low)
            above = where(0.5, open, where(0.5, beyond, at, 0.5 * above), above)
            below = where(0.5, open, where(0.5, beyond, 0.5 * below, at), below)
    return part


# The iteration ------------------------------------------------------------------------------------------------------


@kernel
def end_of_iteration(tree: Array, w: Array, problem: ContactForcesProblem, result: ContactForcesResult) -> None:
    """Whether ``y`` is what is sought, or all that there is; else ``y0 = y`` where Newton's method has converged."""
    missed = 0.0
    inner = 0.0
    largest = 0.0
    for e in range(tree.nbalanced):
        d = tree.balanced_dof[e]
        missed = maximum(missed, magnitude(w.left[d]))
        inner = maximum(inner, magnitude(w.left[d] - result.rho[0] * w.pull[d]))
        largest = maximum(largest, magnitude(result.y[d]))
    required = result.balance.required[0] / problem.length
    floor = problem.tolerance * required
    met = where(floor, missed, 0.0, 1.0)
    least = floor + problem.rounding * (w.size[0] * largest)
    stalling = where(problem.enough_rho, result.rho[0], 0.0, where(STALLED * result.before[0], missed, 1.0, 0.0))
    stalled = stalling * where(maximum(FINAL_RESIDUAL * missed, least), inner, 0.0, 1.0)
    converged = (1.0 - stalling) * where(maximum(INEXACT * missed, least), inner, 0.0, 1.0)
    left = maximum(missed, inner) / where(0.0, required, required, 1.0)
    result.residual[0] = where(0.5, maximum(met, stalled), 0.0, left)
    for e in range(tree.nbalanced):
        d = tree.balanced_dof[e]
        result.y0[d] = where(0.5, converged, result.y[d], result.y0[d])
    for p in range(tree.nchosen):
        result.t0[p] = where(0.5, converged, w.t[p], result.t0[p])
    result.before[0] = where(0.5, converged, missed, result.before[0])
    rho = maximum(NEXT_RHO * result.rho[0], problem.least_rho)
    result.rho[0] = where(0.5, converged, rho, result.rho[0])
    lighter = converged * where(missed, NEARLY * required, 1.0, 0.0)
    result.weight[0] = where(0.5, lighter, LIGHTER * result.weight[0], result.weight[0])
    result.balance.missed[0] = missed * problem.length


@kernel
def contact_forces_iterate(tree: Array, w: Array, problem: ContactForcesProblem, result: ContactForcesResult) -> None:
    """A Newton step."""
    forces_of_rows(tree, w, problem, result)
    proximal_pull(tree, w, result)
    newton_direction(tree, w, problem, result)
    part = line_search(tree, w, problem, result)
    for e in range(tree.nbalanced):
        d = tree.balanced_dof[e]
        result.y[d] += part * w.dy[d]
    forces_of_rows(tree, w, problem, result)
    proximal_pull(tree, w, result)
    end_of_iteration(tree, w, problem, result)
    result.iterations[0] += 1.0
    write_forces(tree, w, problem, result)


@kernel
def contact_forces(tree: Array, w: Array, problem: ContactForcesProblem, result: ContactForcesResult) -> None:
    """Torques of actuated joints and the least contact forces that make the independent joints accelerate by ``a``."""
    setup_balance(tree, w, problem, result)
    metric(tree, w)
    for d in range(tree.nv):
        result.y[d] = 0.0
        result.y0[d] = 0.0
    for p in range(tree.nchosen):
        result.t0[p] = 0.0
    result.rho[0] = problem.rho0
    result.weight[0] = TORQUE_WEIGHT
    result.before[0] = UNBOUNDED
    result.iterations[0] = 0.0
    contact_forces_iterate(tree, w, problem, result)


CONTACT_FORCES = Algorithm(
    "contact_forces",
    contact_forces,
    {**CLUSTER_RNEA.inputs, "given": ("ngiven", 7), "settings": ("nbalance_settings",)},
    {
        "tau": ("nv",),
        "full": ("nv",),
        "multipliers": ("nc",),
        "forces": ("nslots", 3),
        "gaps": ("nslots",),
        "unmet": ("nv",),
        "balance": (2,),
        "progress": ("nprogress",),
    },
    CONTACT_FORCES_WORK,
    CONTACT_FORCES_TREE,
    contact_forces_iterate,
    view=contact_forces_view,
)
