# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of a step with contacts by the implicit function theorem, with the factor of Newton's matrix.

A step is the solution ``x = (a, f, lambda, f_b)`` of the equations of `contact_newton`, for given ``p = (q, v, tau)``::

    F1 = M a + c - tau - J' f - J_l' lambda - s f_b = 0        `balance`
    F2 = z - P(z - sigma w(y)) = 0,     y = J a + b            contacts; ``p`` acts through ``y`` alone
    F3 = k - J_l a = 0                                         loops, `rows`
    F4 = f_b - P(f_b - sigma y_b) = 0,  y_b = s a + b_b         limits and dry friction of joints

so that ``F_x dx = -F_p dp``, and for a function of ``x`` with the gradient ``s`` by ``a``: ``F_x' m = (s, 0, 0, 0)``,
and the gradient by ``p`` is ``-F_p' m``. `contact_step_equations` has ``F1, y, F3, y_b`` as a program, over whose trace
sweeps give ``F_p dp`` and ``F_p' m``; the linear systems are solved here. Of a contact ::

    df = -G dy - g eta,  eta = t . dy        and in the transposed system        phi = G u + t eta,  eta = g . u

with the matrix of `contact_linearization`; the part of a force that its bounded penalties omit is added in further
iterations, as for loops.

| symbol       | meaning                                                                                       |
|--------------|-----------------------------------------------------------------------------------------------|
| contact_n    | part of the multiplier of ``F2`` that bounded penalties omit in the transposed system           |
| contact_N    | part of the force that bounded penalties omit, and the next iteration adds                     |

Other symbols as in `contact_linearization`. Cost: that of the factor, and of four sweeps of `lcaba` in each iteration.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained.lcaba import apply_constraint_forces
from linkwork.kernels.constrained.problem import clear_forces, force_residual
from linkwork.kernels.contact.direction import NEWTON_WORK, changes_of_forces
from linkwork.kernels.contact.equation import scaled_force
from linkwork.kernels.contact.newton import rows_of
from linkwork.kernels.contact.problem import INPUTS, ContactProblem, ContactResult, contact_view
from linkwork.kernels.contact.row_products import apply_contact_force
from linkwork.kernels.derivatives.contact_linearization import (
    LINEARIZATION_WORK,
    factorize_eta,
    linearize_solution,
    set_couplings,
    solve_eta,
    subtract_eta_force,
    vector,
)
from linkwork.kernels.scalar import Array, Scalar, kernel, where
from linkwork.kernels.spatial import dot, symmetric_product
from linkwork.plans.contact_lcaba import CONTACT_LCABA_TREE

ITERATIONS = 6
"""Solutions of the system with bounded penalties."""

WORK: dict[str, Shape] = {
    **NEWTON_WORK,
    **LINEARIZATION_WORK,
    "contact_n": ("nslots", 3),
    "contact_N": ("nslots", 3),
    "box_n": ("nboxes",),
    "box_N": ("nboxes",),
}


class System(NamedTuple):
    """Right-hand sides of the system."""

    torque: Array
    y: Array
    rows: Array
    box_y: Array


class Solution(NamedTuple):
    """The outputs of the sensitivity system."""

    a: Array
    forces: Array
    multipliers: Array
    boxes: Array


# Linear systems -----------------------------------------------------------------------------------------------------


@kernel
def apply_parts(tree: Array, w: Array, multipliers: Array) -> None:
    """Add forces ``contact_P`` and ``box_P`` and multipliers of loops to the unbalanced forces."""
    for c in range(tree.ncontacts):
        for s in range(tree.contact_slot[c], tree.contact_slot[c] + tree.contact_slots[c]):
            apply_contact_force(tree, w, c, s, vector(w.contact_P[s]))
    for b in range(tree.nboxes):
        w.tau[tree.box_v[b]] += tree.box_sign[b] * w.box_P[b]
    for r in range(tree.nc):
        w.row_forces[r] = multipliers[r] + w.mu[r] * w.rows[r]
    apply_constraint_forces(tree, w, w.row_forces)


@kernel
def subtract_eta_forces(tree: Array, w: Array) -> None:
    """Forces ``-p eta`` and no others."""
    clear_forces(tree, w, w.qdd0)
    for k in range(tree.nv):
        w.tau[k] = 0.0
    for c in range(tree.ncontacts):
        for s in range(tree.contact_slot[c], tree.contact_slot[c] + tree.contact_slots[c]):
            subtract_eta_force(tree, w, c, s, w.eta[s])


@kernel
def improve(tree: Array, w: Array, da: Array, multipliers: Array) -> None:
    """One solution with bounded penalties for the residual of ``da``; ``contact_P`` and ``box_P`` are forces after it.

    ``contact_N`` and ``box_N`` are forces that it adds to those of bounded penalties.
    """
    force_residual(tree, w, w.torque, da)
    rows_of(tree, w, da)
    for s in range(tree.nslots):
        y = vector(w.contact_y[s])
        x = symmetric_product(w.contact_G[s], y)
        eta = dot(w.contact_o[s], y)
        for k in range(3):
            w.contact_P[s, k] = w.contact_N[s, k] - x[k] - eta * w.contact_p[s, k]
    for b in range(tree.nboxes):
        w.box_P[b] = w.box_N[b] - w.box_G[b] * w.box_y[b]
    apply_parts(tree, w, multipliers)
    changes_of_forces(tree, w, w.da0, w.contact_dy, w.drows)
    take_change(tree, w, da, multipliers, 1.0)
    for s in range(tree.nslots):
        w.eta_r[s] = dot(w.contact_o[s], w.contact_dy[s])
    solve_eta(tree, w)
    subtract_eta_forces(tree, w)
    changes_of_forces(tree, w, w.da0, w.contact_dy, w.drows)
    for s in range(tree.nslots):
        for k in range(3):
            w.contact_P[s, k] -= w.eta[s] * w.contact_p[s, k]
    take_change(tree, w, da, multipliers, 0.0)


@kernel
def take_change(tree: Array, w: Array, da: Array, multipliers: Array, first: Scalar) -> None:
    """Accelerations, forces and multipliers after a change; ``first``: one where rows had a residual, else zero."""
    for k in range(tree.nv):
        da[k] += w.da0[k]
    for s in range(tree.nslots):
        x = symmetric_product(w.contact_G[s], vector(w.contact_dy[s]))
        for k in range(3):
            w.contact_P[s, k] -= x[k]
            w.contact_y[s, k] += w.contact_dy[s, k]
    for b in range(tree.nboxes):
        x = tree.box_sign[b] * w.da0[tree.box_v[b]]
        w.box_P[b] -= w.box_G[b] * x
        w.box_y[b] += x
    for r in range(tree.nc):
        multipliers[r] += w.mu[r] * (first * w.rows[r] + w.drows[r])


@kernel
def sensitivity_view(
    tree: Array, *arrays: Array
) -> tuple[ContactProblem, ContactResult, Scalar, Scalar, System, Solution]:
    """Arrays by name: problem, its result, smoothing, whether to transpose, the system, its solution."""
    problem, result = contact_view(tree, *arrays[0:7], *arrays[0:2], arrays[7])
    how = arrays[8]
    return problem, result, how[0], how[1], System(*arrays[9:13]), Solution(*arrays[13:17])


@kernel
def begin_system(tree: Array, w: Array, system: System, solution: Solution) -> None:
    """Right-hand sides in place of the equations' terms of the state: the system is linear."""
    for i in range(tree.n):
        for j in range(6):
            w.f0[i, j] = 0.0
    for k in range(tree.nv):
        w.torque[k] = system.torque[k]
        solution.a[k] = 0.0
    for s in range(tree.nslots):
        for k in range(3):
            w.contact_b[s, k] = system.y[s, k]
            w.contact_n[s, k] = 0.0
            w.contact_N[s, k] = 0.0
    for b in range(tree.nboxes):
        w.box_b[b] = system.box_y[b]
        w.box_n[b] = 0.0
        w.box_N[b] = 0.0
    for r in range(tree.nc):
        w.k[r] = system.rows[r]
        solution.multipliers[r] = 0.0


@kernel
def left_out_of_force(tree: Array, w: Array, s: int) -> tuple[Scalar, Scalar, Scalar]:
    """The part of a contact's force that bounded penalties omit."""
    mu = tree.friction[s]
    n = symmetric_product(w.contact_E[s], scaled_force(mu, vector(w.contact_P[s])))
    c = w.contact_share[s] * n[2]
    return (
        mu * (n[0] - c * w.contact_gz[s, 0]),
        mu * (n[1] - c * w.contact_gz[s, 1]),
        n[2] - c * w.contact_gz[s, 2],
    )


@kernel
def left_out_of_multiplier(tree: Array, w: Array, s: int) -> tuple[Scalar, Scalar, Scalar]:
    """The part of the multiplier of ``F2``, kept in ``contact_n``, that the transposed system omits."""
    mu = tree.friction[s]
    u = w.contact_y[s]
    n = (mu * u[0] + w.contact_n[s, 0], mu * u[1] + w.contact_n[s, 1], u[2] + w.contact_n[s, 2])
    c = w.contact_share[s] * dot(w.contact_gz[s], n)
    n = symmetric_product(w.contact_E[s], (n[0], n[1], n[2] - c))
    x = symmetric_product(w.contact_Gz[s], n)
    for k in range(3):
        w.contact_n[s, k] = n[k]
    return (
        -(mu * x[0] + w.contact_t[s, 0] * x[2]),
        -(mu * x[1] + w.contact_t[s, 1] * x[2]),
        -x[2],
    )


@kernel
def contact_sensitivity(
    tree: Array,
    w: Array,
    problem: ContactProblem,
    result: ContactResult,
    theta: Scalar,
    transposed: Scalar,
    system: System,
    solution: Solution,
) -> None:
    """``F_x x = r``, or ``F_x' x = r`` where ``transposed`` is one, not zero.

    ``r = (torque, y, rows, box_y)``: forward minus the rate of `balance`, and rates of ``y``, of rows and of ``y_b``;
    transposed the gradient by ``a``, and zeros. The solution is rates of accelerations and forces; transposed,
    multipliers of `balance`, of ``-y``, of rows and of ``-y_b``.
    """
    linearize_solution(tree, w, problem, result, theta)
    set_couplings(tree, w, transposed)
    factorize_eta(tree, w, problem.settings)
    begin_system(tree, w, system, solution)
    for _ in range(ITERATIONS):
        improve(tree, w, solution.a, solution.multipliers)
        for s in range(tree.nslots):
            forward = left_out_of_force(tree, w, s)
            back = left_out_of_multiplier(tree, w, s)
            for k in range(3):
                w.contact_N[s, k] = where(0.5, transposed, back[k], forward[k])
        for b in range(tree.nboxes):
            w.box_n[b] = w.box_E[b] * (w.box_y[b] + w.box_n[b])
            w.box_N[b] = where(0.5, transposed, -(w.box_G[b] * w.box_n[b]), w.box_E[b] * w.box_P[b])
    for s in range(tree.nslots):
        for k in range(3):
            solution.forces[s, k] = w.contact_P[s, k]
    for b in range(tree.nboxes):
        solution.boxes[b] = w.box_P[b]


SYSTEM: dict[str, Shape] = {"torque": ("nv",), "y": ("nslots", 3), "rows": ("nc",), "box_y": ("nboxes",)}
SOLUTION: dict[str, Shape] = {"a": ("nv",), "forces": ("nslots", 3), "multipliers": ("nc",), "boxes": ("nboxes",)}

CONTACT_SENSITIVITY = Algorithm(
    "contact_sensitivity",
    contact_sensitivity,
    {**INPUTS, "result": ("nresult",), "how": (2,), **SYSTEM},
    SOLUTION,
    WORK,
    CONTACT_LCABA_TREE,
    view=sensitivity_view,
)
"""``how``: the smoothing of projections, an acceleration, and one where the system is transposed, else zero."""
