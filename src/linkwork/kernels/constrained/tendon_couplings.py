# SPDX-License-Identifier: BSD-3-Clause
"""Rows of constraints on lengths of tendons: position errors, rows of K on bodies, bias.

A row is ``l - P(m)`` with the lengths ``l`` of the follower and ``m`` of the leader (`TendonCoupling`), each a sum of
joint coordinates and of distances ``|d|`` between points of bodies:

    rate:   l' - P'(m) m',                       |d|'  = u . d'
    bias:   l'' - P'(m) m'' - P''(m) m'^2,        |d|'' by `distance_second_rate`

| symbol  | meaning                                                                                       |
|---------|-----------------------------------------------------------------------------------------------|
| x       | lengths of follower and leader, less their origins                                            |
| weight  | derivative of the row by both lengths: ``1, -P'``                                             |
| curve   | ``-P''``                                                                                      |
| u, span | unit vector from one end of a segment to the other, and the distance                          |
| E, o    | pose of a body relative to the root of its loops                                              |

Cost: a fixed number of operations for each segment and each joint.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel
from linkwork.kernels.spatial import add, cross, dot, linear, rotate, rotate_inverse, scale, set_vector, sub
from linkwork.kernels.tree.tendon_geometry import distance_of, distance_second_rate

TENDON_CLOSURE: dict[str, Shape] = {
    "tendon_x": ("ntendon_rows", 2),
    "tendon_weight": ("ntendon_rows", 2),
    "tendon_curve": ("ntendon_rows",),
    "tendon_u": ("nrow_segments", 3),
    "tendon_span": ("nrow_segments",),
}


@kernel
def segment_end(w: Array, pose: int, at: Vector) -> tuple[Scalar, Scalar, Scalar]:
    """A point of a body, seen from the root of its loops."""
    return add(w.o[pose], rotate(w.E[pose], at))


@kernel
def polynomial(tree: Array, w: Array, t: int, error: Array) -> None:
    """The error of a row, and the weights of its two lengths."""
    c = tree.tendon_row_polynomial[t]
    x = w.tendon_x[t, 1]
    error[tree.tendon_row[t]] += w.tendon_x[t, 0] - (c[0] + x * (c[1] + x * (c[2] + x * (c[3] + x * c[4]))))
    w.tendon_weight[t, 0] = 1.0
    w.tendon_weight[t, 1] = -(c[1] + x * (2.0 * c[2] + x * (3.0 * c[3] + x * (4.0 * c[4]))))
    w.tendon_curve[t] = -(2.0 * c[2] + x * (6.0 * c[3] + x * (12.0 * c[4])))


@kernel
def add_to_row(w: Array, m: int, pose: int, at: Vector, f: Vector) -> None:
    """Add a force at a point of a body, seen from the root, to a row of K."""
    y = rotate_inverse(w.E[pose], f)
    n = cross(at, y)
    for k in range(3):
        w.K[m, k] += n[k]
        w.K[m, 3 + k] += y[k]


@kernel
def tendon_coupling_rows(tree: Array, w: Array, q: Array, error: Array) -> None:
    """Errors of rows on lengths of tendons, their rows of K and derivatives by joints, after `loop_poses`."""
    for t in range(tree.ntendon_rows):
        w.tendon_x[t, 0] = -tree.tendon_row_origin[t, 0]
        w.tendon_x[t, 1] = -tree.tendon_row_origin[t, 1]
    for e in range(tree.nrow_joints):
        x = q[tree.term_q[tree.row_joint_term[e]]]
        t = tree.row_joint_row[e]
        w.tendon_x[t, 0] += tree.row_joint_coefficient[e, 0] * x
        w.tendon_x[t, 1] += tree.row_joint_coefficient[e, 1] * x
    for s in range(tree.nrow_segments):
        first = segment_end(w, tree.row_segment_first_pose[s], tree.row_segment_first[s])
        second = segment_end(w, tree.row_segment_second_pose[s], tree.row_segment_second[s])
        d = sub(second, first)
        span = distance_of(d)
        w.tendon_span[s] = span
        set_vector(scale(1.0 / span, d), w.tendon_u[s])
        w.tendon_x[tree.row_segment_row[s], tree.row_segment_role[s]] += tree.row_segment_scale[s] * span
    for t in range(tree.ntendon_rows):
        polynomial(tree, w, t, error)
    for e in range(tree.nrow_joints):
        t = tree.row_joint_row[e]
        c = tree.row_joint_coefficient[e]
        w.dphi[tree.row_joint_term[e]] = c[0] * w.tendon_weight[t, 0] + c[1] * w.tendon_weight[t, 1]
    for e in range(tree.ntendon_k):
        for k in range(6):
            w.K[tree.tendon_k[e], k] = 0.0
    for s in range(tree.nrow_segments):
        weight = w.tendon_weight[tree.row_segment_row[s], tree.row_segment_role[s]]
        f = scale(tree.row_segment_scale[s] * weight, w.tendon_u[s])
        add_to_row(w, tree.row_segment_second_k[s], tree.row_segment_second_pose[s], tree.row_segment_second[s], f)
        back = scale(-1.0, f)
        add_to_row(w, tree.row_segment_first_k[s], tree.row_segment_first_pose[s], tree.row_segment_first[s], back)


@kernel
def end_velocity(w: Array, i: int, pose: int, at: Vector) -> tuple[Scalar, Scalar, Scalar]:
    """Velocity of a point of body ``i`` in the axes of the root."""
    return rotate(w.E[pose], add(w.u[i], cross(w.omega[i], at)))


@kernel
def end_acceleration(w: Array, i: int, pose: int, at: Vector) -> tuple[Scalar, Scalar, Scalar]:
    """Its acceleration where ``qdd = 0``."""
    return rotate(w.E[pose], add(linear(w.a[i]), rotate(w.accel_field[i], at)))


@kernel
def tendon_coupling_bias(tree: Array, w: Array, v: Array) -> None:
    """Bias of rows on lengths of tendons; ``tendon_x`` becomes the rates of both lengths."""
    for t in range(tree.ntendon_rows):
        w.tendon_x[t, 0] = 0.0
        w.tendon_x[t, 1] = 0.0
    for e in range(tree.nrow_joints):
        rate = v[tree.term_v[tree.row_joint_term[e]]]
        w.tendon_x[tree.row_joint_row[e], 1] += tree.row_joint_coefficient[e, 1] * rate
    for s in range(tree.nrow_segments):
        t = tree.row_segment_row[s]
        i = tree.row_segment_first_body[s]
        j = tree.row_segment_second_body[s]
        a = tree.row_segment_first_pose[s]
        b = tree.row_segment_second_pose[s]
        at = tree.row_segment_first[s]
        to = tree.row_segment_second[s]
        dd = sub(end_velocity(w, j, b, to), end_velocity(w, i, a, at))
        ddd = sub(end_acceleration(w, j, b, to), end_acceleration(w, i, a, at))
        rate = dot(w.tendon_u[s], dd)
        second = distance_second_rate(w.tendon_u[s], w.tendon_span[s], dd, ddd)
        weight = tree.row_segment_scale[s] * w.tendon_weight[t, tree.row_segment_role[s]]
        w.beta[tree.tendon_row[t]] += weight * second
        w.tendon_x[t, tree.row_segment_role[s]] += tree.row_segment_scale[s] * rate
    for t in range(tree.ntendon_rows):
        rate = w.tendon_x[t, 1]
        w.beta[tree.tendon_row[t]] += w.tendon_curve[t] * (rate * rate)
