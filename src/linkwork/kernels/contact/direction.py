# SPDX-License-Identifier: BSD-3-Clause
"""Newton's step of the equations of contacts: the factor of LCABA, and conjugate residuals for what is not symmetric.

``dz = -G (T dy + (0, 0, eta)) - r'`` with a symmetric block ``G`` of each contact and ``eta = y_t . dy_t / s``. For
given ``eta``, accelerations are those of LCABA whose rows carry blocks instead of numbers; one number ``eta`` of each
contact is found by a few conjugate residuals (GCR), each of which is a product with the inverse of the factored matrix.

| symbol                       | meaning                                                                       |
|------------------------------|-------------------------------------------------------------------------------|
| contact_P, contact_G         | ``f + df = P - G dy - g eta`` after a full step                               |
| contact_g                    | force of a unit of ``eta``                                                    |
| contact_t                    | ``eta = contact_t . dy_t``                                                    |
| contact_dy, contact_df       | what a full step changes ``y`` and ``f`` by                                   |
| box_P, box_G, box_dy, box_df | the same of limits and dry friction                                           |
| da0                          | what a full step changes joint accelerations by                               |
| rows, drows                  | ``k - J_l a`` of loops, and what a full step changes it by                    |
| dmultipliers                 | what a full step changes forces of loops by                                   |
| eta, eta_r                   | ``eta`` of each contact, and the residual of its equation                     |
| q_after, v_after             | the state after the step of an iterate                                        |
| refined_da, _dy, _rows       | what a second proximal iteration of loops changes                             |
| krylov, krylov_A             | directions of GCR, and their images; other ``krylov_``: what they change      |

Other symbols as in `contact.problem`. Cost: that of `lcaba`, of its two sweeps for each direction, linear in contacts.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.constrained.lcaba import (
    apply_constraint_forces,
    constraint_residual,
    coupled_accelerations,
    coupled_bias_forces,
)
from linkwork.kernels.constrained.lcaba_factor import articulate_coupled, init_augmented_inertias
from linkwork.kernels.constrained.problem import clear_forces
from linkwork.kernels.contact.problem import PROBLEM_WORK, ContactResult, ContactSettings
from linkwork.kernels.contact.row_products import add_contact_inertia, apply_contact_force, contact_accelerations
from linkwork.kernels.elementary import magnitude, maximum
from linkwork.kernels.scalar import Array, Scalar, any_below, kernel, where
from linkwork.kernels.spatial import symmetric_product
from linkwork.kernels.thresholds import DISABLED

DIRECTIONS = 5
"""The most conjugate residuals of a step."""
INEXACT = 0.01
"""Residual at which they end, relative to that of contacts."""
OPEN = 0.03
"""Residual of loops after one proximal iteration, relative to the tolerance; above it there is a second one."""

NEWTON_WORK: dict[str, Shape] = PROBLEM_WORK | {
    "contact_P": ("nslots", 3),
    "contact_G": ("nslots", 6),
    "contact_g": ("nslots", 3),
    "contact_t": ("nslots", 2),
    "contact_dy": ("nslots", 3),
    "contact_df": ("nslots", 3),
    "box_P": ("nboxes",),
    "box_G": ("nboxes",),
    "box_dy": ("nboxes",),
    "box_df": ("nboxes",),
    "rows": ("nc",),
    "drows": ("nc",),
    "row_forces": ("nc",),
    "eta": ("nslots",),
    "q_after": ("nq",),
    "v_after": ("nv",),
    "eta_r": ("nslots",),
    "krylov": (DIRECTIONS, "nslots"),
    "krylov_A": (DIRECTIONS, "nslots"),
    "krylov_norm": (DIRECTIONS,),
    "krylov_da": (DIRECTIONS, "nv"),
    "krylov_dy": (DIRECTIONS, "nslots", 3),
    "krylov_rows": (DIRECTIONS, "nc"),
    "da0": ("nv",),
    "dmultipliers": ("nc",),
    "refined_da": ("nv",),
    "refined_dy": ("nslots", 3),
    "refined_rows": ("nc",),
}


@kernel
def factorize_contacts(tree: Array, w: Array, settings: ContactSettings) -> None:
    """The factor of ``M + J' G J``, loops included."""
    init_augmented_inertias(tree, w, settings.R)
    for c in range(tree.ncontacts):
        for s in range(tree.contact_slot[c], tree.contact_slot[c] + tree.contact_slots[c]):
            add_contact_inertia(tree, w, c, s, w.contact_G[s])
    for b in range(tree.nboxes):
        w.joint_inertia[tree.box_v[b]] += w.box_G[b]
    articulate_coupled(tree, w)


@kernel
def apply_row_forces(tree: Array, w: Array, multipliers: Array) -> None:
    """Forces ``P`` of contacts and boxes, and ``lambda + mu (k - J_l a)`` of loops."""
    for c in range(tree.ncontacts):
        for s in range(tree.contact_slot[c], tree.contact_slot[c] + tree.contact_slots[c]):
            P = w.contact_P[s]
            apply_contact_force(tree, w, c, s, (P[0], P[1], P[2]))
    for b in range(tree.nboxes):
        w.tau[tree.box_v[b]] += tree.box_sign[b] * w.box_P[b]
    for r in range(tree.nc):
        w.row_forces[r] = multipliers[r] + w.mu[r] * w.rows[r]
    apply_constraint_forces(tree, w, w.row_forces)


@kernel
def changes_of_forces(tree: Array, w: Array, da: Array, dy: Array, drows: Array) -> None:
    """Accelerations of forces ``f`` and torques ``tau``, by the factor, and what they change rows by."""
    coupled_bias_forces(tree, w, w.tau)
    coupled_accelerations(tree, w, da)
    for c in range(tree.ncontacts):
        for s in range(tree.contact_slot[c], tree.contact_slot[c] + tree.contact_slots[c]):
            u = contact_accelerations(tree, w, c, s)
            for k in range(3):
                dy[s, k] = u[k]
    for r in range(tree.nc):
        drows[r] = 0.0
    constraint_residual(tree, w, da, drows)


@kernel
def sliding(w: Array, s: int, dy: Array) -> Scalar:
    """``eta`` of a change of ``y``."""
    return w.contact_t[s, 0] * dy[s, 0] + w.contact_t[s, 1] * dy[s, 1]


@kernel
def apply_eta(tree: Array, w: Array, eta: Array) -> None:
    """Forces ``-g eta`` and no others."""
    clear_forces(tree, w, w.qdd0)
    for k in range(tree.nv):
        w.tau[k] = 0.0
    for c in range(tree.ncontacts):
        for s in range(tree.contact_slot[c], tree.contact_slot[c] + tree.contact_slots[c]):
            g = w.contact_g[s]
            e = -eta[s]
            apply_contact_force(tree, w, c, s, (e * g[0], e * g[1], e * g[2]))


@kernel
def subtract_direction(tree: Array, w: Array, j: int, k: int, x: Scalar) -> None:
    """Direction ``k`` of GCR less ``x`` times direction ``j``, with all that it leads to."""
    for s in range(tree.nslots):
        w.krylov[k, s] -= x * w.krylov[j, s]
        w.krylov_A[k, s] -= x * w.krylov_A[j, s]
        for i in range(3):
            w.krylov_dy[k, s, i] -= x * w.krylov_dy[j, s, i]
    for i in range(tree.nv):
        w.krylov_da[k, i] -= x * w.krylov_da[j, i]
    for r in range(tree.nc):
        w.krylov_rows[k, r] -= x * w.krylov_rows[j, r]


@kernel
def conjugate_residual(tree: Array, w: Array, k: int, least: Scalar, left: Scalar) -> None:
    """One more direction of GCR: ``eta`` closer to that of the accelerations that it leads to."""
    for s in range(tree.nslots):
        w.krylov[k, s] = w.eta_r[s]
    apply_eta(tree, w, w.krylov[k])
    changes_of_forces(tree, w, w.krylov_da[k], w.krylov_dy[k], w.krylov_rows[k])
    for s in range(tree.nslots):
        w.krylov_A[k, s] = w.krylov[k, s] - sliding(w, s, w.krylov_dy[k])
    for j in range(k):
        x = 0.0
        for s in range(tree.nslots):
            x = x + w.krylov_A[k, s] * w.krylov_A[j, s]
        subtract_direction(tree, w, j, k, x * w.krylov_norm[j])
    x = 0.0
    y = 0.0
    for s in range(tree.nslots):
        x = x + w.krylov_A[k, s] * w.krylov_A[k, s]
        y = y + w.krylov_A[k, s] * w.eta_r[s]
    w.krylov_norm[k] = where(0.0, x, 1.0 / where(0.0, x, x, 1.0), 0.0)
    # by `where` of the same condition, so that straight-line programs can branch around all of it
    y = y * w.krylov_norm[k]
    for s in range(tree.nslots):
        w.eta[s] = where(least, left, w.eta[s] + y * w.krylov[k, s], w.eta[s])
        w.eta_r[s] = where(least, left, w.eta_r[s] - y * w.krylov_A[k, s], w.eta_r[s])
        for i in range(3):
            w.contact_dy[s, i] = where(least, left, w.contact_dy[s, i] + y * w.krylov_dy[k, s, i], w.contact_dy[s, i])
    for i in range(tree.nv):
        w.da0[i] = where(least, left, w.da0[i] + y * w.krylov_da[k, i], w.da0[i])
    for r in range(tree.nc):
        w.drows[r] = where(least, left, w.drows[r] + y * w.krylov_rows[k, r], w.drows[r])
    if k + 1 < DIRECTIONS:
        keep_direction(tree, w, k, least, left)


@kernel
def keep_direction(tree: Array, w: Array, k: int, least: Scalar, left: Scalar) -> None:
    """Direction ``k`` for those that follow; where there is none, zeros."""
    w.krylov_norm[k] = where(least, left, w.krylov_norm[k], 0.0)
    for s in range(tree.nslots):
        w.krylov[k, s] = where(least, left, w.krylov[k, s], 0.0)
        w.krylov_A[k, s] = where(least, left, w.krylov_A[k, s], 0.0)
        for i in range(3):
            w.krylov_dy[k, s, i] = where(least, left, w.krylov_dy[k, s, i], 0.0)
    for i in range(tree.nv):
        w.krylov_da[k, i] = where(least, left, w.krylov_da[k, i], 0.0)
    for r in range(tree.nc):
        w.krylov_rows[k, r] = where(least, left, w.krylov_rows[k, r], 0.0)


@kernel
def find_eta(tree: Array, w: Array, residual: Scalar) -> None:
    """``eta`` and the step with it, from that for ``eta = 0``, where it changes more than a part of the residual."""
    left = 0.0
    for s in range(tree.nslots):
        w.eta_r[s] = sliding(w, s, w.contact_dy)
        left = left + w.eta_r[s] * w.eta_r[s]
    least = INEXACT * INEXACT * residual * residual
    for k in range(DIRECTIONS):
        if any_below(least - left, 0.0):
            conjugate_residual(tree, w, k, least, left)
            left = 0.0
            for s in range(tree.nslots):
                left = left + w.eta_r[s] * w.eta_r[s]


@kernel
def refine_rows(tree: Array, w: Array, settings: ContactSettings) -> None:
    """``dmultipliers``, and a second proximal iteration of loops by the same factor, where they miss too much."""
    largest = 0.0
    for r in range(tree.nc):
        left = w.rows[r] + w.drows[r]
        w.dmultipliers[r] = w.mu[r] * left
        missed = settings.row_unit[r] * magnitude(left)
        largest = maximum(largest, where(settings.R[r], DISABLED, missed, 0.0))
    least = OPEN * settings.tolerance / settings.dt
    if any_below(least - largest, 0.0):
        clear_forces(tree, w, w.qdd0)
        for k in range(tree.nv):
            w.tau[k] = 0.0
        apply_constraint_forces(tree, w, w.dmultipliers)
        changes_of_forces(tree, w, w.refined_da, w.refined_dy, w.refined_rows)
        for k in range(tree.nv):
            w.da0[k] = where(least, largest, w.da0[k] + w.refined_da[k], w.da0[k])
        for s in range(tree.nslots):
            for k in range(3):
                more = w.contact_dy[s, k] + w.refined_dy[s, k]
                w.contact_dy[s, k] = where(least, largest, more, w.contact_dy[s, k])
        for r in range(tree.nc):
            left = w.rows[r] + w.drows[r] + w.refined_rows[r]
            more = w.dmultipliers[r] + w.mu[r] * left
            w.dmultipliers[r] = where(least, largest, more, w.dmultipliers[r])
            w.drows[r] = where(least, largest, w.drows[r] + w.refined_rows[r], w.drows[r])


@kernel
def newton_direction(tree: Array, w: Array, settings: ContactSettings, result: ContactResult, residual: Scalar) -> None:
    """``da0``, and what it changes rows and forces by, of forces ``f`` and torques ``tau`` that are out of balance."""
    factorize_contacts(tree, w, settings)
    for s in range(tree.nslots):
        w.eta[s] = 0.0
    apply_row_forces(tree, w, result.multipliers)
    changes_of_forces(tree, w, w.da0, w.contact_dy, w.drows)
    find_eta(tree, w, residual)
    refine_rows(tree, w, settings)
    for b in range(tree.nboxes):
        w.box_dy[b] = tree.box_sign[b] * w.da0[tree.box_v[b]]
    forces_of_step(tree, w, result)


@kernel
def forces_of_step(tree: Array, w: Array, result: ContactResult) -> None:
    """``df``: a full step has the forces ``P - G dy - g eta``."""
    for s in range(tree.nslots):
        x = symmetric_product(w.contact_G[s], w.contact_dy[s])
        for k in range(3):
            w.contact_df[s, k] = w.contact_P[s, k] - x[k] - w.eta[s] * w.contact_g[s, k] - result.forces[3 * s + k]
    for b in range(tree.nboxes):
        w.box_df[b] = w.box_P[b] - w.box_G[b] * w.box_dy[b] - result.boxes[b]
