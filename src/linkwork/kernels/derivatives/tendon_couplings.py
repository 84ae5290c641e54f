# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of rows on lengths of tendons, ``s = J a + dJ/dt v + kd J v + kp e``, and of their torques ``J' f``.

A row is a function ``x0 - P(x1)`` of the lengths of follower and leader (`tendon_couplings`), so that s has partials by
these, their rates and their second rates (`length_partials`). A length is a sum of joint coordinates and of distances
``|d|``, whose rates have partials that are rates of the unit vector u along d::

    d|d|/dd = u        d|d|'/dd = u'        d|d|''/dd = u''        d|d|''/dd' = 2 u'

They are covectors ``f0, f1, f2`` on position, velocity and acceleration of both ends of a segment; of the row of K of
an end's body (`constraint_derivatives`) these make, in the common frame::

    K = [p x f2; f2]        W = [2 p' x f2 + p x f1; f1]        Q = [p'' x f2 + p' x f1 + p x f0; f0]

| symbol            | meaning                                                                             |
|-------------------|-------------------------------------------------------------------------------------|
| tendon_by_x       | partials of a row by the lengths of follower and leader                             |
| tendon_by_xd      | partials by their rates; those by second rates are ``tendon_weight``                |
| tendon_xd         | rates of both lengths; of the leader, ``tendon_xdd`` too                            |
| tendon_pA, pB     | ends of a segment in the common frame                                               |
| tendon_n, nd      | u and its rate in the common frame                                                  |
| tendon_dx         | derivatives of a leader's length by all joints                                      |
| t, u              | rotation and translation of a displacement                                          |

Cost: a fixed number of operations for each segment and joint; of torques O(d²), with d the joints that support a row.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.derivatives.constraint_forces import (
    add_second_change,
    clear_changes,
    columns_between,
    subtract_first_change,
)
from linkwork.kernels.derivatives.pairs import point_acceleration, point_velocity
from linkwork.kernels.joints import dof_of
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel
from linkwork.kernels.spatial import Triple, add, add_to, angular, cross, dot, linear, rotate, scale, set_vector, sub
from linkwork.kernels.tree.tendon_geometry import direction_rate, direction_second_rate, distance_second_rate

TENDON_PARTIALS: dict[str, Shape] = {
    "tendon_by_x": ("ntendon_rows", 2),
    "tendon_by_xd": ("ntendon_rows", 2),
    "tendon_xd": ("ntendon_rows", 2),
    "tendon_xdd": ("ntendon_rows",),
    "tendon_pA": ("nrow_segments", 3),
    "tendon_pB": ("nrow_segments", 3),
    "tendon_n": ("nrow_segments", 3),
    "tendon_nd": ("nrow_segments", 3),
    "tendon_dx": ("nv",),
}

FOLLOWER, LEADER = range(2)


# Segments ---------------------------------------------------------------------------------------------


@kernel
def segment_velocity(tree: Array, w: Array, s: int) -> Triple:
    """``d'``, after `set_segment`."""
    first = point_velocity(w.V[tree.row_segment_first_body[s]], w.tendon_pA[s])
    return sub(point_velocity(w.V[tree.row_segment_second_body[s]], w.tendon_pB[s]), first)


@kernel
def segment_acceleration(tree: Array, w: Array, s: int) -> Triple:
    """``d''``, after `set_segment` and with accelerations."""
    i = tree.row_segment_first_body[s]
    j = tree.row_segment_second_body[s]
    first = point_acceleration(w.V[i], w.A[i], w.tendon_pA[s])
    return sub(point_acceleration(w.V[j], w.A[j], w.tendon_pB[s]), first)


@kernel
def set_segment(tree: Array, w: Array, s: int) -> None:
    """Ends of a segment, its direction and the rate of that, in the common frame; its part of a length's rate."""
    i = tree.row_segment_first_body[s]
    j = tree.row_segment_second_body[s]
    set_vector(add(w.oc[i], rotate(w.Ec[i], tree.row_segment_first[s])), w.tendon_pA[s])
    set_vector(add(w.oc[j], rotate(w.Ec[j], tree.row_segment_second[s])), w.tendon_pB[s])
    u = scale(1.0 / w.tendon_span[s], sub(w.tendon_pB[s], w.tendon_pA[s]))
    dd = segment_velocity(tree, w, s)
    set_vector(u, w.tendon_n[s])
    set_vector(direction_rate(u, w.tendon_span[s], dd), w.tendon_nd[s])
    w.tendon_xd[tree.row_segment_row[s], tree.row_segment_role[s]] += tree.row_segment_scale[s] * dot(u, dd)


@kernel
def acceleration_covector(tree: Array, w: Array, s: int) -> Triple:
    """``f2`` on the second end of a segment; the first has the opposite."""
    t = tree.row_segment_row[s]
    weight = w.tendon_weight[t, tree.row_segment_role[s]]
    return scale(tree.row_segment_scale[s] * weight, w.tendon_n[s])


@kernel
def velocity_covector(tree: Array, w: Array, s: int) -> Triple:
    """``f1``."""
    t = tree.row_segment_row[s]
    role = tree.row_segment_role[s]
    x = add(scale(w.tendon_by_xd[t, role], w.tendon_n[s]), scale(2.0 * w.tendon_weight[t, role], w.tendon_nd[s]))
    return scale(tree.row_segment_scale[s], x)


@kernel
def position_covector(tree: Array, w: Array, s: int) -> Triple:
    """``f0``."""
    t = tree.row_segment_row[s]
    role = tree.row_segment_role[s]
    u = w.tendon_n[s]
    ud = w.tendon_nd[s]
    dd = segment_velocity(tree, w, s)
    udd = direction_second_rate(u, w.tendon_span[s], dd, ud, segment_acceleration(tree, w, s))
    x = add(scale(w.tendon_by_x[t, role], u), scale(w.tendon_by_xd[t, role], ud))
    return scale(tree.row_segment_scale[s], add(x, scale(w.tendon_weight[t, role], udd)))


# Partials of rows -------------------------------------------------------------------------------------


@kernel
def tendon_velocity_partials(tree: Array, w: Array, v: Array) -> None:
    """``W`` of rows on lengths of tendons, and their partials by rates of lengths; after `set_world`."""
    for t in range(tree.ntendon_rows):
        w.tendon_xd[t, FOLLOWER] = 0.0
        w.tendon_xd[t, LEADER] = 0.0
    for e in range(tree.nrow_joints):
        rate = v[tree.term_v[tree.row_joint_term[e]]]
        w.tendon_xd[tree.row_joint_row[e], FOLLOWER] += tree.row_joint_coefficient[e, FOLLOWER] * rate
        w.tendon_xd[tree.row_joint_row[e], LEADER] += tree.row_joint_coefficient[e, LEADER] * rate
    for s in range(tree.nrow_segments):
        set_segment(tree, w, s)
    for t in range(tree.ntendon_rows):
        kd = tree.kd[tree.tendon_row[t]]
        w.tendon_by_xd[t, FOLLOWER] = kd
        w.tendon_by_xd[t, LEADER] = kd * w.tendon_weight[t, LEADER] + 2.0 * (w.tendon_curve[t] * w.tendon_xd[t, LEADER])
    clear_covectors(tree, w.Wc)
    for s in range(tree.nrow_segments):
        f2 = acceleration_covector(tree, w, s)
        f1 = velocity_covector(tree, w, s)
        i = tree.row_segment_first_body[s]
        j = tree.row_segment_second_body[s]
        add_velocity_partial(w, tree.row_segment_second_k[s], j, w.tendon_pB[s], f2, f1)
        add_velocity_partial(w, tree.row_segment_first_k[s], i, w.tendon_pA[s], scale(-1.0, f2), scale(-1.0, f1))


@kernel
def add_velocity_partial(w: Array, m: int, i: int, p: Vector, f2: Vector, f1: Vector) -> None:
    """Add the covectors on a point of body ``i`` to ``W`` of a row of K."""
    moment = scale(2.0, cross(point_velocity(w.V[i], p), f2))
    add_to(add(moment, cross(p, f1)), f1, w.Wc[m])


@kernel
def clear_covectors(tree: Array, covectors: Array) -> None:
    """Zero for all rows of K on lengths of tendons."""
    for e in range(tree.ntendon_k):
        for c in range(6):
            covectors[tree.tendon_k[e], c] = 0.0


@kernel
def tendon_pose_partials(tree: Array, w: Array, a: Array) -> None:
    """``Q`` of rows on lengths of tendons, after `tendon_velocity_partials` and with accelerations."""
    length_partials(tree, w, a)
    clear_covectors(tree, w.Qc)
    for s in range(tree.nrow_segments):
        f2 = acceleration_covector(tree, w, s)
        f1 = velocity_covector(tree, w, s)
        f0 = position_covector(tree, w, s)
        i = tree.row_segment_first_body[s]
        j = tree.row_segment_second_body[s]
        add_pose_partial(w, tree.row_segment_second_k[s], j, w.tendon_pB[s], f2, f1, f0)
        back = (scale(-1.0, f2), scale(-1.0, f1), scale(-1.0, f0))
        add_pose_partial(w, tree.row_segment_first_k[s], i, w.tendon_pA[s], *back)


@kernel
def length_partials(tree: Array, w: Array, a: Array) -> None:
    """Partials by lengths of ``x0'' - P' x1'' - P'' x1'^2 + kd (x0' - P' x1') + kp e``."""
    for t in range(tree.ntendon_rows):
        w.tendon_xdd[t] = 0.0
    for e in range(tree.nrow_joints):
        rate = a[tree.term_v[tree.row_joint_term[e]]]
        w.tendon_xdd[tree.row_joint_row[e]] += tree.row_joint_coefficient[e, LEADER] * rate
    for s in range(tree.nrow_segments):
        if tree.row_segment_role[s] == LEADER:
            dd = segment_velocity(tree, w, s)
            second = distance_second_rate(w.tendon_n[s], w.tendon_span[s], dd, segment_acceleration(tree, w, s))
            w.tendon_xdd[tree.row_segment_row[s]] += tree.row_segment_scale[s] * second
    for t in range(tree.ntendon_rows):
        r = tree.tendon_row[t]
        c = tree.tendon_row_polynomial[t]
        third = -(6.0 * c[3] + w.tendon_x[t, LEADER] * (24.0 * c[4]))  # -P'''
        rate = w.tendon_xd[t, LEADER]
        curved = w.tendon_curve[t] * (w.tendon_xdd[t] + tree.kd[r] * rate) + third * (rate * rate)
        w.tendon_by_x[t, FOLLOWER] = tree.kp[r]
        w.tendon_by_x[t, LEADER] = tree.kp[r] * w.tendon_weight[t, LEADER] + curved


@kernel
def add_pose_partial(w: Array, m: int, i: int, p: Vector, f2: Vector, f1: Vector, f0: Vector) -> None:
    """Add the covectors on a point of body ``i`` to ``Q`` of a row of K."""
    moment = add(cross(point_acceleration(w.V[i], w.A[i], p), f2), cross(point_velocity(w.V[i], p), f1))
    add_to(add(moment, cross(p, f0)), f0, w.Qc[m])


@kernel
def add_joint_accelerations(tree: Array, w: Array, v: Array, s: Array) -> None:
    """Adds the parts of tendons' joints to the rows' bias accelerations, beside bodies and ``kd J v``."""
    for e in range(tree.nrow_joints):
        t = tree.row_joint_row[e]
        rate = tree.row_joint_coefficient[e, LEADER] * v[tree.term_v[tree.row_joint_term[e]]]
        s[tree.tendon_row[t]] += w.tendon_curve[t] * (w.tendon_xd[t, LEADER] * rate)


@kernel
def add_joint_derivatives(tree: Array, w: Array, ds_dq: Array, ds_dv: Array) -> None:
    """Add the derivatives by joints of fixed tendons to those of rows, after `tendon_pose_partials`."""
    for e in range(tree.nrow_joints):
        t = tree.row_joint_row[e]
        r = tree.tendon_row[t]
        k = tree.term_v[tree.row_joint_term[e]]
        c = tree.row_joint_coefficient[e]
        ds_dq[r, k] += c[FOLLOWER] * w.tendon_by_x[t, FOLLOWER] + c[LEADER] * w.tendon_by_x[t, LEADER]
        ds_dv[r, k] += c[FOLLOWER] * w.tendon_by_xd[t, FOLLOWER] + c[LEADER] * w.tendon_by_xd[t, LEADER]


# Torques ----------------------------------------------------------------------------------------------


@kernel
def set_segment_changes(tree: Array, w: Array, s: int, multipliers: Array, t: Vector, u: Vector) -> None:
    """``y1, y2`` of a segment, whose force keeps its size, for a relative displacement of the second end's body."""
    row = tree.row_segment_row[s]
    tension = multipliers[tree.tendon_row[row]] * w.tendon_weight[row, tree.row_segment_role[s]]
    tension = tension * tree.row_segment_scale[s]
    n = w.tendon_n[s]
    moved = add(u, cross(t, w.tendon_pB[s]))
    f = scale(tension, n)
    change = scale(tension, direction_rate(n, w.tendon_span[s], moved))
    turned = cross(w.tendon_pA[s], change)
    clear_changes(w)
    subtract_first_change(w, turned, change)
    add_second_change(w, cross(w.tendon_pA[s], f), f, turned, change, t, u)


segment_columns = columns_between(set_segment_changes)


@kernel
def tendon_force_derivatives(tree: Array, w: Array, multipliers: Array, dr_dq: Array) -> None:
    """Subtract the derivatives of the torques ``J' f`` of tendons, with ``f`` held, that `rnea_derivatives` lack.

    Forces of segments rotate with the segments, and those of the leader, ``-P' f``, change by ``-P'' f dx1``.
    """
    for s in range(tree.nrow_segments):
        first = tree.row_segment_first_body[s]
        second = tree.row_segment_second_body[s]
        segment_columns(tree, w, s, first, second, multipliers, dr_dq)
    for t in range(tree.ntendon_rows):
        leader_gradient(tree, w, t)
        r = tree.tendon_row[t]
        growth = w.tendon_curve[t] * multipliers[r]
        for e in range(tree.row_start[r], tree.row_start[r] + tree.row_count[r]):
            k = tree.row_dof[e]
            x = growth * w.tendon_dx[k]
            for o in range(tree.row_start[r], tree.row_start[r] + tree.row_count[r]):
                j = tree.row_dof[o]
                dr_dq[k, j] -= x * w.tendon_dx[j]


@kernel
def leader_gradient(tree: Array, w: Array, t: int) -> None:
    """``tendon_dx`` of the leader of a row."""
    r = tree.tendon_row[t]
    for e in range(tree.row_start[r], tree.row_start[r] + tree.row_count[r]):
        w.tendon_dx[tree.row_dof[e]] = 0.0
    for e in range(tree.nrow_joints):
        if tree.row_joint_row[e] == t:
            w.tendon_dx[tree.term_v[tree.row_joint_term[e]]] += tree.row_joint_coefficient[e, LEADER]
    for s in range(tree.nrow_segments):
        if tree.row_segment_row[s] == t and tree.row_segment_role[s] == LEADER:
            size = tree.row_segment_scale[s]
            add_point_gradient(tree, w, tree.row_segment_second_body[s], w.tendon_pB[s], w.tendon_n[s], size)
            add_point_gradient(tree, w, tree.row_segment_first_body[s], w.tendon_pA[s], w.tendon_n[s], -size)


@kernel
def add_point_gradient(tree: Array, w: Array, i: int, p: Vector, n: Vector, size: Scalar) -> None:
    """Add to ``tendon_dx`` the derivatives of the point ``p`` of body ``i`` along ``n`` by joints, times ``size``."""
    moment = cross(p, n)
    while i > 0:
        for k in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
            w.tendon_dx[k] += size * (dot(moment, angular(w.S[k])) + dot(n, linear(w.S[k])))
        i = tree.parent[i]
