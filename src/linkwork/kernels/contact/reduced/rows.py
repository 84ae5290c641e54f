# SPDX-License-Identifier: BSD-3-Clause
"""Rows of what touches: contact points of near pairs, hard or soft (`soft`).

A contact point is listed where its gap can close within the step. Rows are velocities of the second body relative to
the first, along the normal, the tangents, and of rotations about them, times coefficients of friction (`problem`).

| symbol           | meaning                                                                              |
|------------------|--------------------------------------------------------------------------------------|
| axis_w, axis_u   | angular and linear velocity of a body at its origin for a unit velocity of a joint     |
| listed           | numbers in results of the contact points of sets, in order                             |
| point_slot       | their slots, and ``point_contact`` their pairs                                         |
| before           | velocities of rows before the step, ``A v``                                            |
| reach            | how far a contact point may close in the step; ``missed_distance`` is more where it did          |
| offset           | ``b`` of the normal: `contact.problem.normal_offset`                                   |

Cost: linear in contact points times the joints that move them.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.problem import normal_offset, removal_velocity, yielding
from linkwork.kernels.contact.reduced.problem import CONE, CONES, FULL, LOOPS, NEAR, POINTS, PYRAMID, ROWS, SIDES
from linkwork.kernels.contact.reduced.pyramid import PYRAMID_WORK, edge_compliance, set_turn, turned_axis
from linkwork.kernels.contact.reduced.soft import soft_friction_compliance, soft_normal
from linkwork.kernels.contact.reduced.surfaces import surface_rows
from linkwork.kernels.elementary import magnitude, maximum, minimum
from linkwork.kernels.joints import axis_of, dof_of
from linkwork.kernels.records import Entry
from linkwork.kernels.scalar import Array, Scalar, Vector, in_warp, kernel, prange, some_below, where
from linkwork.kernels.spatial import add, column, cross, dot, scale, set_vector, sub
from linkwork.kernels.thresholds import NO_CONTACT
from linkwork.model.joints import HELICAL

ROW_INTEGERS: dict[str, Shape] = {
    "listed": ("nlisted",),
    "point_slot": ("nlisted",),
    "point_contact": ("nlisted",),
    "limb_column": ("nlimbs",),
}
ROW_WORK: dict[str, Shape] = {
    "axis_w": ("nv", 3),
    "axis_u": ("nv", 3),
    "before": ("nrows",),
    "offset": ("nlisted",),
    "effective_gap": ("nlisted",),
    "reach": ("nslots",),
    "missed_distance": ("nslots",),
    "pair_missed": ("ncontacts",),
} | PYRAMID_WORK


class ReducedSettings(NamedTuple):
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
    slack: Entry
    """The least that one less an eigenvalue of a projection's derivative may be: it bounds penalties."""
    mean: Entry
    """Geometric mean of the inertias of contacts, ``2 / (D (1 + mu²))``."""
    loop_factor: Entry
    """Factor of the regularization of rows of loops: more than one in single precision."""
    softness: Entry
    """Compliance of all contacts along their normals, as a part of their inverse inertia: zero in double precision."""


# Lists ---------------------------------------------------------------------------------------------------------------


@kernel
def begin_sets(w: Array) -> None:
    """No sets, rows and sides."""
    w.counts[CONES] = 0
    w.counts[ROWS] = 0
    w.counts[SIDES] = 0
    w.counts[POINTS] = 0
    w.counts[FULL] = 0
    w.counts[LOOPS] = -1


@kernel
def begin_set(w: Array, kind: int, dim: int) -> int:
    """A further set of so many rows, without sides; its number."""
    e: int = w.counts[CONES]
    w.cone_kind[e] = kind
    w.cone_dim[e] = dim
    w.cone_row[e] = w.counts[ROWS]
    w.cone_side[e] = w.counts[SIDES]
    w.cone_sides[e] = 0
    w.cone_box[e] = -1
    w.counts[CONES] += 1
    w.counts[ROWS] += dim
    return e


@kernel
def add_side(tree: Array, w: Array, e: int, limb: int) -> None:
    """A further limb that the last set depends on."""
    s = w.counts[SIDES]
    width = 0
    if w.cone_sides[e] > 0:
        width = w.side_column[s - 1] + tree.limb_size[w.side_limb[s - 1]]
    if in_warp() and tree.nstride > 0:
        width = tree.limb_v[limb]
    else:
        clear_columns(tree, w, e, width, tree.limb_size[limb])
    set_side(tree, w, e, s, limb, width)
    w.counts[SIDES] += 1


@kernel
def set_side(tree: Array, w: Array, e: int, s: int, limb: int, width: int) -> None:
    """Side ``s`` is the next of a set: a limb, whose columns begin at ``width``."""
    w.side_limb[s] = limb
    w.side_column[s] = width
    w.limb_column[limb] = width - tree.limb_v[limb]
    w.cone_sides[e] += 1


@kernel
def clear_columns(tree: Array, w: Array, e: int, first: int, count: int) -> None:
    """Zeros in so many columns of the rows of a set."""
    clear_rows(w, w.cone_row[e], w.cone_row[e] + w.cone_dim[e], first, count)


@kernel
def clear_rows(w: Array, start: int, end: int, first: int, count: int) -> None:
    """Zeros in so many columns of rows from ``start`` to ``end``."""
    for k in prange(first, first + count):
        for r in range(start, end):
            w.A[r, k] = 0.0


@kernel
def joint_axes(tree: Array, w: Array) -> None:
    """``axis_w, axis_u`` of all degrees of freedom, in the world; after `world_poses`."""
    for i in prange(1, tree.n):
        kind = tree.kind[i]
        for k in range(dof_of(kind)):
            axis = axis_of(kind, k)
            o = tree.iv[i] + k
            x = column(w.body_E[i], axis % 3)
            if axis < 3:
                set_vector(x, w.axis_w[o])
                set_vector((0.0, 0.0, 0.0), w.axis_u[o])
                if kind == HELICAL:
                    set_vector(scale(tree.pitch[i], x), w.axis_u[o])
            else:
                set_vector((0.0, 0.0, 0.0), w.axis_w[o])
                set_vector(x, w.axis_u[o])


# Contacts ------------------------------------------------------------------------------------------------------------


@kernel
def list_contacts(tree: Array, w: Array, v: Array, settings: ReducedSettings, acting: Scalar) -> None:
    """The sets of contact points of near pairs whose gaps can close; ``acting``: of restitution."""
    for n in prange(w.counts[NEAR]):
        c = w.near[n]
        for s in range(tree.contact_slot[c], tree.contact_slot[c] + tree.contact_slots[c]):
            closing_distance(tree, w, c, s, settings)
    for n in range(w.counts[NEAR]):
        c = w.near[n]
        for k in range(tree.contact_slots[c]):
            s = tree.contact_slot[c] + k
            if some_below(w.gap[s] - (w.reach[s] + w.missed_distance[s]), 0.0):
                if w.counts[POINTS] < tree.nlisted:
                    begin_contact(tree, w, c, s, w.near_slot[n] + k)
                    if not in_warp() or tree.nstride == 0:
                        contact_rows(tree, w, w.counts[POINTS] - 1, v, settings, acting)
                else:
                    w.counts[FULL] = 1
    if in_warp() and tree.nstride > 0:
        clear_rows(w, 0, w.counts[ROWS], 0, tree.npadded)
        for p in prange(w.counts[POINTS]):
            contact_rows(tree, w, p, v, settings, acting)


@kernel
def point_velocity(w: Array, i: int, point: Vector) -> tuple[Scalar, Scalar, Scalar]:
    """Velocity of a point of a body in the world; `velocities` are in the body's axes."""
    E = w.body_E[i]
    u = w.u[i]
    x = w.omega[i]
    omega = (
        E[0, 0] * x[0] + E[0, 1] * x[1] + E[0, 2] * x[2],
        E[1, 0] * x[0] + E[1, 1] * x[1] + E[1, 2] * x[2],
        E[2, 0] * x[0] + E[2, 1] * x[1] + E[2, 2] * x[2],
    )
    linear = (
        E[0, 0] * u[0] + E[0, 1] * u[1] + E[0, 2] * u[2],
        E[1, 0] * u[0] + E[1, 1] * u[1] + E[1, 2] * u[2],
        E[2, 0] * u[0] + E[2, 1] * u[1] + E[2, 2] * u[2],
    )
    return add(linear, cross(omega, sub(point, w.body_o[i])))


@kernel
def relative_velocity(tree: Array, w: Array, c: int, s: int) -> tuple[Scalar, Scalar, Scalar]:
    """Velocity of the second body of a pair relative to the first, at a contact point."""
    i = tree.contact_body_first[c]
    j = tree.contact_body_second[c]
    u = (0.0, 0.0, 0.0)
    if i > 0:
        u = sub(u, point_velocity(w, i, w.point[s]))
    if j > 0:
        u = add(u, point_velocity(w, j, w.point[s]))
    return u


@kernel
def closing_velocity(tree: Array, w: Array, c: int, s: int) -> Scalar:
    """Rate of the gap of a contact point."""
    return dot(relative_velocity(tree, w, c, s), column(w.contact_R[s], 2))


@kernel
def closing_distance(tree: Array, w: Array, c: int, s: int, settings: ReducedSettings) -> Scalar:
    """The distance by which a contact point may close in the step, by its velocity before it; ``reach`` keeps it."""
    u = relative_velocity(tree, w, c, s)
    closing = maximum(-dot(u, column(w.contact_R[s], 2)), 0.0)
    speed = maximum(magnitude(u[0]), maximum(magnitude(u[1]), magnitude(u[2])))
    h = settings.dt
    reach = tree.reach[0]
    if tree.nsoft > 0:
        reach = 0.0
    if tree.contact_adhesive[c] > 0:
        reach = maximum(reach, tree.pair_gap[c])
    w.reach[s] = reach
    if tree.nsoft == 0:
        w.reach[s] = reach + h * (2.0 * closing + 0.5 * speed + 2.0 * h * settings.gravity)
    return w.reach[s]


@kernel
def begin_contact(tree: Array, w: Array, c: int, s: int, number: int) -> None:
    """List the contact point of slot ``s`` of pair ``c``, which has a number in results."""
    kind = PYRAMID if tree.nsoft > 0 and tree.contact_pyramidal[c] > 0 else CONE
    e = begin_set(w, kind, tree.contact_dim[c])
    p = w.counts[POINTS]
    w.counts[POINTS] = p + 1
    w.listed[p] = number
    w.point_slot[p] = s
    w.point_contact[p] = c
    if in_warp() and tree.nstride > 0:
        w.counts[SIDES] += tree.nside_room
    else:
        contact_sides(tree, w, e, tree.contact_body_first[c], tree.contact_body_second[c])


@kernel
def contact_rows(tree: Array, w: Array, p: int, v: Array, settings: ReducedSettings, acting: Scalar) -> None:
    """The rows of a listed contact point; its set has the same number, as contacts are listed first."""
    e = p
    c = w.point_contact[p]
    s = w.point_slot[p]
    if in_warp() and tree.nstride > 0:
        contact_sides(tree, w, e, tree.contact_body_first[c], tree.contact_body_second[c])
    if w.cone_kind[e] == PYRAMID:
        set_turn(tree, w, p, c, s)
    contact_columns(tree, w, e, c, s)
    row = w.cone_row[e]
    width = row_width(tree, w, e)
    lever = 0.0
    for k in range(width):
        lever = maximum(lever, magnitude(w.A[row, k]))
    moves = where(lever, tree.least_lever[0], 0.0, 1.0)  # no joint moves it along its normal: no equation
    for r in range(row, row + w.cone_dim[e]):
        for k in range(width):
            w.A[r, k] = moves * w.A[r, k]
    w.effective_gap[p] = where(0.5, moves, w.gap[s], magnitude(w.gap[s]))
    set_velocities(tree, w, e, v)
    w.offset[p] = normal_offset(tree, s, w.effective_gap[p], w.before[row], settings, acting)
    w.row_c[row] = w.offset[p]
    D = tree.pair_D[c]
    softness = settings.softness * D
    yields = maximum(yielding(tree, s, w.effective_gap[p], w.before[row], D, settings) - softness, 0.0)
    w.compliance[row] = tree.contact_compliance[s] / (settings.dt * settings.dt) + softness + yields
    for r in range(row + 1, row + w.cone_dim[e]):
        w.row_c[r] = 0.0
        w.compliance[r] = 0.0
    if tree.contact_moving[c] > 0:
        surface_rows(tree, w, e, c, s)
    mu = tree.pair_friction[c, 0]
    scale_set(w, e, D, 2.0 / (D * (1.0 + mu * mu)), mu, 1.0)
    rigid = where(0.0, tree.contact_compliance[s], 0.0, 1.0)
    w.removal[e] = rigid * removal_velocity(tree, s, minimum(w.effective_gap[p], 0.0), settings)
    w.yields[e] = yields
    if tree.nsoft > 0:
        soften(tree, w, e, c, settings.dt)
    # in lanes that do not reach it, it is as if it were not there
    reach = w.reach[s] + w.missed_distance[s]
    if tree.nsoft > 0:
        reach = 0.0
    w.row_c[row] = where(w.gap[s], reach, w.row_c[row], NO_CONTACT)


@kernel
def soften(tree: Array, w: Array, e: int, c: int, h: Scalar) -> None:
    """Rows of a hard contact of pair ``c`` become those of a soft one; after `set_velocities` and `surface_rows`."""
    row = w.cone_row[e]
    offset, R, kept = soft_normal(tree, c, w.effective_gap[e], w.before[row], h, tree.soft_D[c])
    mu = tree.pair_friction[c, 0]
    friction = soft_friction_compliance(tree, c, mu, R)
    if w.cone_kind[e] == PYRAMID:
        R = edge_compliance(mu, tree.soft_ratio[c], R)
        friction = R
    w.row_c[row] = offset
    w.compliance[row] = R
    w.cone_saxce[e] = 0.0
    w.removal[e] = 0.0
    w.yields[e] = 0.0
    for r in range(row + 1, row + w.cone_dim[e]):  # mu s in row_c
        w.row_c[r] = w.row_c[r] - kept * (w.before[r] + w.row_c[r])
        w.compliance[r] = friction


@kernel
def scale_set(w: Array, e: int, D: Scalar, sigma: Scalar, mu: Scalar, unit: Scalar) -> None:
    """The scales of a set."""
    w.cone_D[e] = D
    w.cone_sigma[e] = sigma
    w.cone_mu[e] = mu
    w.cone_unit[e] = unit
    w.cone_saxce[e] = 1.0
    w.removal[e] = 0.0
    w.yields[e] = 0.0


@kernel
def row_width(tree: Array, w: Array, e: int) -> int:
    """Columns of the rows of a set."""
    if in_warp() and tree.nstride > 0:
        columns: int = tree.nv
        return columns
    last = w.cone_side[e] + w.cone_sides[e] - 1
    width: int = w.side_column[last] + tree.limb_size[w.side_limb[last]]
    return width


@kernel
def contact_sides(tree: Array, w: Array, e: int, i: int, j: int) -> None:
    """The limbs between two bodies, and the one that carries both."""
    a = tree.body_limb[i]
    b = tree.body_limb[j]
    while a != b:
        if a > b:
            add_contact_side(tree, w, e, a)
            a = tree.limb_parent[a]
        else:
            add_contact_side(tree, w, e, b)
            b = tree.limb_parent[b]
    if a >= 0:
        add_contact_side(tree, w, e, a)


@kernel
def add_contact_side(tree: Array, w: Array, e: int, limb: int) -> None:
    """A further limb of a contact; lanes of a warp have room for the sides of each."""
    if in_warp() and tree.nstride > 0:
        set_side(tree, w, e, w.cone_side[e] + w.cone_sides[e], limb, tree.limb_v[limb])
    else:
        add_side(tree, w, e, limb)


@kernel
def contact_columns(tree: Array, w: Array, e: int, c: int, s: int) -> None:
    """Rows of a contact on the joints between its two bodies."""
    i = tree.contact_body_first[c]
    j = tree.contact_body_second[c]
    while i != j:
        if i > j:
            body_columns(tree, w, e, c, s, i, -1.0)
            i = tree.parent[i]
        else:
            body_columns(tree, w, e, c, s, j, 1.0)
            j = tree.parent[j]


@kernel
def body_columns(tree: Array, w: Array, e: int, c: int, s: int, i: int, sign: Scalar) -> None:
    """Rows of a contact on the joint of one body."""
    R = w.contact_R[s]
    x = sub(w.point[s], w.body_o[i])
    row = w.cone_row[e]
    dim = w.cone_dim[e]
    mu = tree.pair_friction[c]
    first = column(R, 0)
    second = column(R, 1)
    normal = column(R, 2)
    if w.cone_kind[e] == PYRAMID:
        first = turned_axis(w, e, R, 1.0, 0.0)
        second = turned_axis(w, e, R, 0.0, 1.0)
    for o in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
        k = w.limb_column[tree.dof_limb[o]] + o
        u = add(w.axis_u[o], cross(w.axis_w[o], x))
        w.A[row, k] = sign * dot(normal, u)
        if dim > 1:
            w.A[row + 1, k] = (sign * mu[0]) * dot(first, u)
            w.A[row + 2, k] = (sign * mu[1]) * dot(second, u)
        if dim > 3:
            w.A[row + 3, k] = (sign * mu[2]) * dot(normal, w.axis_w[o])
        if dim > 4:
            w.A[row + 4, k] = (sign * mu[3]) * dot(first, w.axis_w[o])
            w.A[row + 5, k] = (sign * mu[4]) * dot(second, w.axis_w[o])


@kernel
def set_velocities(tree: Array, w: Array, e: int, v: Array) -> None:
    """``before = A v`` of a set."""
    for r in range(w.cone_row[e], w.cone_row[e] + w.cone_dim[e]):
        x = 0.0
        for s in range(w.cone_side[e], w.cone_side[e] + w.cone_sides[e]):
            limb = w.side_limb[s]
            for k in range(tree.limb_size[limb]):
                x = x + w.A[r, w.side_column[s] + k] * v[tree.limb_v[limb] + k]
        w.before[r] = x
