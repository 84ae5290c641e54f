# SPDX-License-Identifier: BSD-3-Clause
"""A step in time with contacts: the problem that solvers are given, what they return, and the rows of all contacts.

Velocity level, semi-implicit: ``v+ = v + dt a`` and ``q+`` along ``v+``, with joint accelerations ``a`` and forces of::

    M a + c = tau + J_l' lambda + J_c' f + sum s f_b            dynamics
    J_l v+ = -error / loop_time - dt beta / 2                   loops, closed to second order; errors of rows that move
                                                                are those by their targets after the step
    K ∋ f ⟂ J_c v+ + b + Gamma(J_c v+) ∈ K*                     contacts: Signorini, Coulomb, maximum dissipation
    s v+ + gap / dt ⟂ f_b >= 0;    f_b in [-F, F]               limits and dry friction of joints (boxes)

Of a contact that is apart, ``b = gap / dt``: it may close, and no more. One that no joint moves along its normal, as
of a link that turns about a vertical axis on the ground, has no equation. Penetration is removed with a time constant,
and with a bounded velocity. Where a contact closes faster than a threshold, Newton's law of restitution holds:
``b = e u_n``, with a smaller ``e`` where this would add energy (`contact.restitution`). A compliant contact is an
implicit spring, ``b = gap / dt + compliance f_n / dt``.

Everything is divided by ``dt``, so that rows are of accelerations and the code of `lcaba` applies:

| symbol       | meaning                                                                                       |
|--------------|-----------------------------------------------------------------------------------------------|
| contact_K    | rows of K of a contact, on its first body (three, along t1, t2, n) and on its second (three)   |
| contact_b    | ``(J v + b) / dt`` of each contact                                                            |
| offset       | ``b / dt`` of the normal direction of each contact                                            |
| effective_gap | its gap; where no joint moves it along its normal, not negative: nothing is to be removed      |
| contact_y    | ``J a + contact_b``: velocities of contacts after the step, ``(u+ + b) / dt``                   |
| k            | right-hand sides of loops: ``J_l a = k``                                                      |
| box_b        | as ``contact_b``, of limits and dry friction                                                  |
| torque       | joint torques, with those of springs and dampers at the end of the step                       |
| body_E, body_o | pose of a body in the world                                                                 |

Cost: linear in bodies and contacts.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.clusters.columns import generalized_force
from linkwork.kernels.constrained.constraints import (
    constraint_bias,
    constraint_rows,
    constraint_velocities,
    follow_motions,
)
from linkwork.kernels.constrained.lcaba_factor import SPRINGS, joint_coupling_rows
from linkwork.kernels.constrained.problem import WORK
from linkwork.kernels.contact.cones import box_residual, contact_residual
from linkwork.kernels.contact.row_products import rows_times
from linkwork.kernels.contact.setup import (
    body_rows,
    implicit_joint_torques,
    poses_of_shapes,
    world_poses,
)
from linkwork.kernels.contact.shapes.geometry import CONTACT_WORK, contact_geometry, given_contacts
from linkwork.kernels.elementary import magnitude, maximum, minimum
from linkwork.kernels.integration import axes_accelerations, integrate_from_axes
from linkwork.kernels.joints import dof_of
from linkwork.kernels.records import Entry, view_of
from linkwork.kernels.scalar import Array, Scalar, kernel, where
from linkwork.kernels.spatial import (
    Triple,
    add,
    sub,
)
from linkwork.kernels.thresholds import DISABLED
from linkwork.kernels.tree.kinematics import velocities
from linkwork.kernels.tree.rnea import WRENCHES, apply_wrenches, forward_pass, init_root
from linkwork.model.thresholds import UNBOUNDED

INPUTS: dict[str, Shape] = {
    "q": ("nq",),
    "v": ("nv",),
    "tau": ("nv",),
    "wrenches": WRENCHES,
    "given": ("ngiven", 7),
    "start": ("nstart",),
    "settings": ("nsettings",),
}
"""``given``: contact points of pairs without kernel code; ``start``: forces to start from (warm start)."""
OUTPUTS: dict[str, Shape] = {"q1": ("nq",), "v1": ("nv",), "result": ("nresult",)}

CONTACT_ROWS: dict[str, Shape] = {
    "body_E": ("n", 3, 3),
    "body_o": ("n", 3),
    "contact_K": ("nslots", 6, 6),
    "contact_b": ("nslots", 3),
    "offset": ("nslots",),
    "effective_gap": ("nslots",),
    "contact_C": ("nslots",),
    "lever_K": (3, 6),
    "box_b": ("nboxes",),
    "torque": ("nv",),
    "contact_y": ("nslots", 3),
    "box_y": ("nboxes",),
}
PROBLEM_WORK: dict[str, Shape] = WORK | SPRINGS | CONTACT_WORK | CONTACT_ROWS


STATE = 12
"""Numbers that a solver keeps from one iteration to the next."""


class ContactSettings(NamedTuple):
    """Parameters of a step, and scales of the robot."""

    tolerance: Entry
    """The residual at which iterations end, a velocity."""
    most: Entry
    """The most iterations."""
    dt: Entry
    penetration_time: Entry
    """Time constant in which penetration is removed."""
    loop_time: Entry
    """Time in which loops close."""
    push: Entry
    """The largest velocity at which penetration is removed."""
    threshold: Entry
    """Approach velocity from which on restitution acts."""
    gravity: Entry
    """Magnitude of gravity."""
    penalty: Entry
    """Penalty of a row, in units of its inertia."""
    slack: Entry
    """The least that one less an eigenvalue of a projection's derivative may be: it bounds penalties."""
    mean: Entry
    """Geometric mean of the inertias of contacts, ``2 / (D (1 + mu²))``."""
    rounding: Entry
    """By how much of the smoothing the length of a velocity is rounded at zero."""
    D: Annotated[Array, ("nslots",)]
    """Diagonal of J M⁻¹ Jᵀ, the mean of a contact's three rows."""
    box_D: Annotated[Array, ("nboxes",)]
    """Fields of limits and dry friction."""
    box_unit: Annotated[Array, ("nboxes",)]
    """A length that makes a velocity of the rate of a joint: that of the robot, or one."""
    R: Annotated[Array, ("nc",)]
    """Regularization of rows of loops; infinite where a row is not enabled."""
    row_unit: Annotated[Array, ("nc",)]
    """As ``box_unit``."""
    saxce: Scalar = 1.0
    """Factor of De Saxcé's correction."""


class ContactProblem(NamedTuple):
    """The inputs of a step with contacts."""

    q: Array
    v: Array
    tau: Array
    wrenches: Array
    given: Array
    forces0: Annotated[Array, ("nslots", 3)]
    """Forces of contacts to start from."""
    boxes0: Annotated[Array, ("nboxes",)]
    multipliers0: Annotated[Array, ("nc",)]
    settings: ContactSettings


class ContactResult(NamedTuple):
    """The outputs of a step with contacts; forces times ``dt`` are impulses."""

    q: Array
    v: Array
    residual: Annotated[Array, (1,)]
    """The residual of the true problem (`cones`), a velocity."""
    iterations: Annotated[Array, (1,)]
    state: Annotated[Array, (STATE,)]
    """State of a solver between iterations."""
    reduction: Annotated[Array, (1,)]
    """The part of the coefficients of restitution that does not act, because it would add energy."""
    a: Annotated[Array, ("nv",)]
    """Joint accelerations."""
    forces: Annotated[Array, ("nslots", 3)]
    """Forces of contacts, in the axes t1, t2, n."""
    velocities: Annotated[Array, ("nslots", 3)]
    """Velocities of contacts after the step, in these axes."""
    gaps: Annotated[Array, ("nslots",)]
    """Gaps before the step."""
    multipliers: Annotated[Array, ("nc",)]
    """Forces of loops."""
    boxes: Annotated[Array, ("nboxes",)]
    """Forces of limits and dry friction."""


contact_view = view_of(ContactProblem, ContactResult)
"""`Algorithm.view` of all solvers of a step with contacts."""


# Setup --------------------------------------------------------------------------------------------------------------


@kernel
def setup_contact_problem(tree: Array, w: Array, problem: ContactProblem, reduction: Scalar) -> None:
    """First forward sweep: bias forces, contact points, and the rows of loops, contacts and boxes.

    Coefficients of restitution are less by the part ``reduction``.
    """
    h = problem.settings.dt
    q = problem.q
    v = problem.v
    axes_accelerations(tree, v, w.qdd0)
    init_root(tree, w)
    for i in range(1, tree.n):
        forward_pass(tree, w, i, q, v, w.qdd0)
    world_poses(tree, w)
    poses_of_shapes(tree, w)
    contact_geometry(tree, w)
    given_contacts(tree, w, problem.given)
    apply_wrenches(tree, w, problem.wrenches)
    for i in range(1, tree.n):
        for j in range(6):
            w.f0[i, j] = w.f[i, j]
    implicit_joint_torques(tree, w, q, v, problem.tau, h)
    constraint_rows(tree, w, q, w.error)
    constraint_bias(tree, w, q, v)
    velocities(tree, w, v)
    constraint_velocities(tree, w, q, v, w.Jv)
    follow_motions(tree, w)
    joint_coupling_rows(tree, w)
    for r in range(tree.nc):
        w.k[r] = -((w.Jv[r] + w.error[r] / problem.settings.loop_time) / h) - 0.5 * w.beta[r]
        w.mu[r] = 1.0 / problem.settings.R[r]
    contact_rows(tree, w, problem.settings, 1.0 - reduction)
    for b in range(tree.nboxes):
        k = tree.box_v[b]
        gap = tree.box_sign[b] * (q[tree.box_q[b]] - tree.box_value[b]) if tree.box_q[b] >= 0 else 0.0
        most = problem.settings.push / problem.settings.box_unit[b]
        w.box_b[b] = (tree.box_sign[b] * v[k] + stabilized(gap, problem.settings, most)) / h


YIELDS = 1e-4
"""The most compliance along the normal of contacts whose penetration is removed, as a part of their inverse inertia:
redundant contacts at different depths ask for velocities that contradict each other."""
SAME_GAP = 30.0
"""Gaps of less than this many times what the tolerance allows in a step are zero: several contacts of a face stay on it
together."""


@kernel
def stabilized(gap: Scalar, settings: ContactSettings, most: Scalar) -> Scalar:
    """``b`` of a gap: ``gap / dt`` where it is positive, else at most the velocity ``most`` with a time constant."""
    return where(gap, 0.0, maximum(gap / settings.penetration_time, -most), gap / settings.dt)


@kernel
def contact_rows(tree: Array, w: Array, settings: ContactSettings, acting: Scalar) -> None:
    """``contact_K`` and ``contact_b``, with the part ``acting`` of restitution."""
    h = settings.dt
    for c in range(tree.ncontacts):
        i = tree.contact_body_first[c]
        j = tree.contact_body_second[c]
        for s in range(tree.contact_slot[c], tree.contact_slot[c] + tree.contact_slots[c]):
            K = w.contact_K[s]
            u = (0.0, 0.0, 0.0)
            moves = 1.0
            w.effective_gap[s] = w.gap[s]
            if tree.contact_path_count[c] > 0:
                moves = where(normal_lever(tree, w, c, s), tree.least_lever[c], 0.0, 1.0)
                w.effective_gap[s] = where(0.5, moves, w.gap[s], magnitude(w.gap[s]))
            if i > 0:
                body_rows(w.body_E[i], w.body_o[i], w.contact_R[s], w.point[s], K, 0)
                scale_rows(K, 0, moves)
                u = sub(u, rows_times(K, 0, w.omega[i], w.u[i]))
            if j > 0:
                body_rows(w.body_E[j], w.body_o[j], w.contact_R[s], w.point[s], K, 3)
                scale_rows(K, 3, moves)
                u = add(u, rows_times(K, 3, w.omega[j], w.u[j]))
            w.contact_b[s, 0] = u[0] / h
            w.contact_b[s, 1] = u[1] / h
            w.offset[s] = normal_offset(tree, s, w.effective_gap[s], u[2], settings, acting) / h
            yields = yielding(tree, s, w.effective_gap[s], u[2], settings.D[s], settings)
            w.contact_C[s] = tree.contact_compliance[s] / (h * h) + yields
            w.contact_b[s, 2] = u[2] / h + w.offset[s]


@kernel
def scale_rows(K: Array, start: int, x: Scalar) -> None:
    """The three rows of ``K`` from ``start`` on, times ``x``."""
    for r in range(start, start + 3):
        for k in range(6):
            K[r, k] = x * K[r, k]


@kernel
def normal_lever(tree: Array, w: Array, c: int, s: int) -> Scalar:
    """The largest velocity along the normal of slot ``s`` that a unit velocity of one joint makes."""
    lever = 0.0
    first = tree.contact_path_start[c]
    for e in range(first, first + tree.contact_path_count[c]):
        i = tree.contact_path[e]
        body_rows(w.body_E[i], w.body_o[i], w.contact_R[s], w.point[s], w.lever_K, 0)
        for k in range(dof_of(tree.kind[i])):
            lever = maximum(lever, magnitude(generalized_force(tree, i, k, w.lever_K[2])))
    return lever


@kernel
def removal_velocity(tree: Array, s: int, gap: Scalar, settings: Array) -> Scalar:
    """The velocity at which penetration is removed, at most zero, as ``b`` has it; settings as of `normal_offset`."""
    most = where(0.0, tree.contact_compliance[s], UNBOUNDED, settings.push)
    time = where(0.0, tree.contact_compliance[s], settings.dt, settings.penetration_time)
    noise = where(0.0, tree.contact_compliance[s], 0.0, SAME_GAP * settings.tolerance * settings.dt)
    return maximum(minimum(gap + noise, 0.0) / time, -most)


@kernel
def yielding(tree: Array, s: int, gap: Scalar, un: Scalar, D: Scalar, settings: Array) -> Scalar:
    """Compliance along the normal by which loads slow the removal of penetration, of a contact with the inverse inertia
    ``D``: what gravity adds to its velocity takes a slow removal, and faster ones have the compliance `YIELDS`.

    Soft contacts have none, nor impacts: what closes faster than at rest.
    """
    hard = where(0.0, tree.contact_compliance[s], 0.0, where(un, -settings.threshold, 0.0, 1.0))
    fall = maximum(settings.gravity * settings.dt, settings.tolerance)
    return hard * D * minimum(YIELDS, -removal_velocity(tree, s, minimum(gap, 0.0), settings) / fall)


@kernel
def normal_offset(tree: Array, s: int, gap: Scalar, un: Scalar, settings: Array, acting: Scalar) -> Scalar:
    """``b`` of the normal direction of a contact that separates at ``un`` before the step, with the part ``acting`` of
    its restitution; settings are `ContactSettings` or `ReducedSettings`."""
    noise = where(0.0, tree.contact_compliance[s], 0.0, SAME_GAP * settings.tolerance * settings.dt)
    b = where(gap, 0.0, removal_velocity(tree, s, gap, settings), maximum(gap - noise, 0.0) / settings.dt)
    e = acting * tree.restitution[s]
    bounced = minimum(e * un, b)
    closes = where(un + gap / settings.dt, 0.0, where(un, -settings.threshold, 1.0, 0.0), 0.0)
    return where(0.0, e * closes, bounced, b)


# Results ---------------------------------------------------------------------------------------------------------


@kernel
def slot_vector(x: Array, s: int) -> Triple:
    """The three numbers of slot ``s``."""
    return x[3 * s], x[3 * s + 1], x[3 * s + 2]


@kernel
def set_slot_vector(x: Triple, y: Array, s: int) -> None:
    """Set the three numbers of slot ``s``."""
    y[3 * s] = x[0]
    y[3 * s + 1] = x[1]
    y[3 * s + 2] = x[2]


@kernel
def problem_residual(tree: Array, w: Array, problem: ContactProblem, result: ContactResult, rows: Array) -> Scalar:
    """The largest residual of contacts, boxes and loops, a velocity, at ``y``; ``rows`` are ``k - J_l a``."""
    settings = problem.settings
    h = settings.dt
    largest = 0.0
    for s in range(tree.nslots):
        f = slot_vector(result.forces, s)
        y = w.contact_y[s]
        largest = maximum(largest, contact_residual(tree.friction[s], settings.D[s], f, y, w.contact_C[s]))
    for b in range(tree.nboxes):
        x = box_residual(settings.box_D[b], result.boxes[b], w.box_y[b], tree.box_lower[b], tree.box_upper[b])
        largest = maximum(largest, settings.box_unit[b] * x)
    for r in range(tree.nc):
        largest = maximum(largest, where(settings.R[r], DISABLED, settings.row_unit[r] * magnitude(rows[r]), 0.0))
    return h * largest


@kernel
def write_step(tree: Array, w: Array, problem: ContactProblem, result: ContactResult) -> None:
    """The state after the step, and velocities of contacts."""
    h = problem.settings.dt
    for k in range(tree.nv):
        result.v[k] = problem.v[k] + h * result.a[k]
    integrate_from_axes(tree, problem.q, result.v, h, result.q)
    for s in range(tree.nslots):
        result.gaps[s] = w.gap[s]
        u = w.contact_y[s]
        set_slot_vector((h * u[0], h * u[1], h * (u[2] - w.offset[s])), result.velocities, s)
