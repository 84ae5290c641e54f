# SPDX-License-Identifier: BSD-3-Clause
"""Newton's matrix of a step with contacts at its solution, factored, for derivatives (`contact_sensitivity`).

Projections are differentiated at the smoothing ``theta``; penalties are bounded (`LEAST_SLACK`), which omits a part
``E`` of a force. The matrix is that of `contact.direction`, but for ``eta``, one number of each contact, for which a
dense system is solved.

| symbol       | meaning                                                                                       |
|--------------|-----------------------------------------------------------------------------------------------|
| theta        | smoothing of projections at the solution                                                      |
| contact_E    | part of a scaled force that bounded penalties omit, and the next iteration adds               |
| contact_Gz   | ``G`` of scaled forces; ``contact_gz`` its normal column without compliance, ``share`` its part  |
| contact_p    | force of a unit of ``eta``: ``g``, transposed ``t``; ``contact_o``: ``eta = o . dy``             |
| eta_Q, eta_R | factors of the system for ``eta``                                                             |

Other symbols as in `contact.direction`. Cost: that of `lcaba`, of its two sweeps for each contact that touches, and
cubic in contacts.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.constrained.problem import clear_forces, force_residual
from linkwork.kernels.contact.cones import inverse_length, smooth_cone, spectral
from linkwork.kernels.contact.direction import changes_of_forces, factorize_contacts
from linkwork.kernels.contact.equation import (
    box_projection,
    box_smoothing,
    cone_smoothing,
    penalized,
    penalty,
    scaled_force,
    smoothed_length,
)
from linkwork.kernels.contact.newton import rows_of
from linkwork.kernels.contact.problem import (
    ContactProblem,
    ContactResult,
    ContactSettings,
    setup_contact_problem,
    slot_vector,
)
from linkwork.kernels.contact.row_products import apply_contact_force
from linkwork.kernels.elementary import maximum
from linkwork.kernels.scalar import Array, Scalar, Vector, any_below, kernel, sqrt, where
from linkwork.kernels.spatial import dot
from linkwork.kernels.thresholds import LEAST_SLACK, SLIGHT_ETA

LINEARIZATION_WORK: dict[str, Shape] = {
    "contact_Gz": ("nslots", 6),
    "contact_E": ("nslots", 6),
    "contact_gz": ("nslots", 3),
    "contact_share": ("nslots",),
    "contact_p": ("nslots", 3),
    "contact_o": ("nslots", 3),
    "box_E": ("nboxes",),
    "eta_Q": ("nslots", "nslots"),
    "eta_R": ("nslots", "nslots"),
}


# Contacts and boxes at the solution -------------------------------------------------------------------------------


@kernel
def sensitivity_of_contact(
    tree: Array, w: Array, s: int, settings: ContactSettings, f: Vector, y: Vector, theta: Scalar
) -> None:
    """``G, g, t, E`` of a contact with the force ``f`` at ``y``."""
    mu = tree.friction[s]
    sigma = penalty(tree, s, settings)
    z = scaled_force(mu, f)
    c = smooth_cone(penalized(tree, w, s, settings, z, y, theta), cone_smoothing(settings, sigma, theta))
    plus = maximum(c.not_plus, LEAST_SLACK)
    minus = maximum(c.not_minus, LEAST_SLACK)
    across = maximum(c.not_across, LEAST_SLACK)
    G = spectral(c.t, sigma * c.plus / plus, sigma * c.minus / minus, sigma * c.across / across)
    E = spectral(c.t, 1.0 - c.not_plus / plus, 1.0 - c.not_minus / minus, 1.0 - c.not_across / across)
    compliance = w.contact_C[s]
    share = compliance / (1.0 + compliance * G[5])
    g = (G[2], G[4], G[5])
    w.contact_share[s] = share
    for k in range(3):
        w.contact_gz[s, k] = g[k]
    for k in range(6):
        w.contact_E[s, k] = E[k]
    w.contact_Gz[s, 0] = G[0] - share * g[0] * g[0]
    w.contact_Gz[s, 1] = G[1] - share * g[0] * g[1]
    w.contact_Gz[s, 2] = G[2] - share * g[0] * g[2]
    w.contact_Gz[s, 3] = G[3] - share * g[1] * g[1]
    w.contact_Gz[s, 4] = G[4] - share * g[1] * g[2]
    w.contact_Gz[s, 5] = G[5] - share * g[2] * g[2]
    w.contact_G[s, 0] = mu * mu * w.contact_Gz[s, 0]
    w.contact_G[s, 1] = mu * mu * w.contact_Gz[s, 1]
    w.contact_G[s, 2] = mu * w.contact_Gz[s, 2]
    w.contact_G[s, 3] = mu * mu * w.contact_Gz[s, 3]
    w.contact_G[s, 4] = mu * w.contact_Gz[s, 4]
    w.contact_G[s, 5] = w.contact_Gz[s, 5]
    w.contact_g[s, 0] = w.contact_G[s, 2]
    w.contact_g[s, 1] = w.contact_G[s, 4]
    w.contact_g[s, 2] = w.contact_G[s, 5]
    x = mu * mu * inverse_length(smoothed_length(mu, y, theta, settings.rounding))
    w.contact_t[s, 0] = x * y[0]
    w.contact_t[s, 1] = x * y[1]


@kernel
def sensitivity_of_box(
    tree: Array, w: Array, b: int, settings: ContactSettings, f: Scalar, y: Scalar, theta: Scalar
) -> None:
    """``G, E`` of a limit, or of dry friction."""
    sigma = settings.penalty / settings.box_D[b]
    tau = box_smoothing(sigma, theta / settings.box_unit[b])
    _, slope, rest = box_projection(tree, b, f - sigma * y, tau)
    bounded = maximum(rest, LEAST_SLACK)
    w.box_G[b] = sigma * slope / bounded
    w.box_E[b] = 1.0 - rest / bounded


@kernel
def linearize_solution(tree: Array, w: Array, problem: ContactProblem, result: ContactResult, theta: Scalar) -> None:
    """All contacts and boxes at the solution, and the factor of Newton's matrix there."""
    settings = problem.settings
    setup_contact_problem(tree, w, problem, result.reduction[0])
    force_residual(tree, w, w.torque, result.a)
    rows_of(tree, w, result.a)
    for s in range(tree.nslots):
        y = (w.contact_y[s, 0], w.contact_y[s, 1], w.contact_y[s, 2])
        sensitivity_of_contact(tree, w, s, settings, slot_vector(result.forces, s), y, theta)
    for b in range(tree.nboxes):
        sensitivity_of_box(tree, w, b, settings, result.boxes[b], w.box_y[b], theta)
    factorize_contacts(tree, w, settings)


# The system for eta ---------------------------------------------------------------------------------------------


@kernel
def vector(x: Array) -> tuple[Scalar, Scalar, Scalar]:
    """Three numbers."""
    return x[0], x[1], x[2]


@kernel
def subtract_eta_force(tree: Array, w: Array, c: int, s: int, eta: Scalar) -> None:
    """The force ``-p eta`` of slot ``s`` of contact ``c``."""
    p = w.contact_p[s]
    apply_contact_force(tree, w, c, s, (-(eta * p[0]), -(eta * p[1]), -(eta * p[2])))


@kernel
def factorize_eta(tree: Array, w: Array, settings: ContactSettings) -> None:
    """``Q R`` of ``1 + O J K^-1 J' P``, column by column (Gram and Schmidt); zero columns are skipped."""
    for s in range(tree.nslots):
        for k in range(tree.nslots):
            w.eta_Q[s, k] = 0.0
            w.eta_R[s, k] = 0.0
        w.eta_Q[s, s] = 1.0
        w.eta_R[s, s] = 1.0
    for c in range(tree.ncontacts):
        for s in range(tree.contact_slot[c], tree.contact_slot[c] + tree.contact_slots[c]):
            strength = sqrt(dot(w.contact_p[s], w.contact_p[s]) * dot(w.contact_o[s], w.contact_o[s])) * settings.D[s]
            if any_below(SLIGHT_ETA - strength, 0.0):
                clear_forces(tree, w, w.qdd0)
                for k in range(tree.nv):
                    w.tau[k] = 0.0
                subtract_eta_force(tree, w, c, s, 1.0)
                changes_of_forces(tree, w, w.da0, w.contact_dy, w.drows)
                for k in range(tree.nslots):
                    w.eta_Q[s, k] -= where(SLIGHT_ETA, strength, dot(w.contact_o[k], w.contact_dy[k]), 0.0)
    for s in range(tree.nslots):
        for j in range(s):
            x = 0.0
            for k in range(tree.nslots):
                x = x + w.eta_Q[j, k] * w.eta_Q[s, k]
            w.eta_R[j, s] = x
            for k in range(tree.nslots):
                w.eta_Q[s, k] -= x * w.eta_Q[j, k]
        x = 0.0
        for k in range(tree.nslots):
            x = x + w.eta_Q[s, k] * w.eta_Q[s, k]
        length = sqrt(x)
        w.eta_R[s, s] = length
        inverse = inverse_length(length)
        for k in range(tree.nslots):
            w.eta_Q[s, k] *= inverse


@kernel
def solve_eta(tree: Array, w: Array) -> None:
    """``eta`` for the right-hand side ``eta_r``, which is overwritten."""
    n = tree.nslots
    for s in range(n):
        x = 0.0
        for k in range(n):
            x = x + w.eta_Q[s, k] * w.eta_r[k]
        w.eta[s] = x
        for k in range(n):
            w.eta_r[k] -= x * w.eta_Q[s, k]
    for i in range(n):
        s = n - 1 - i
        x = w.eta[s]
        for k in range(s + 1, n):
            x = x - w.eta_R[s, k] * w.eta[k]
        w.eta[s] = x * inverse_length(w.eta_R[s, s])


@kernel
def set_couplings(tree: Array, w: Array, transposed: Scalar) -> None:
    """``p`` and ``o`` of each contact: ``g`` and ``t``, or the other way round."""
    for s in range(tree.nslots):
        for k in range(3):
            t = w.contact_t[s, k] if k < 2 else 0.0
            w.contact_p[s, k] = where(0.5, transposed, t, w.contact_g[s, k])
            w.contact_o[s, k] = where(0.5, transposed, w.contact_g[s, k], t)
