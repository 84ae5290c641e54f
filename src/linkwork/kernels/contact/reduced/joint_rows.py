# SPDX-License-Identifier: BSD-3-Clause
"""Rows of joints, tendons and loops: limits that can be reached, dry friction, and constraints.

| symbol  | meaning                                                |
|---------|--------------------------------------------------------|
| box_set | set of a limit or of dry friction; -1 where there is none |
| loop_J  | Jacobian of loops                                      |
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.constrained.constraints import jacobian_from_rows
from linkwork.kernels.contact.reduced.matrix import add_multiple
from linkwork.kernels.contact.reduced.problem import BOX, CONE, CONES, EQUALITY, LOOPS
from linkwork.kernels.contact.reduced.rows import (
    ReducedSettings,
    add_side,
    begin_set,
    clear_columns,
    scale_set,
    set_velocities,
)
from linkwork.kernels.contact.reduced.soft import soft_row
from linkwork.kernels.elementary import magnitude, maximum, minimum
from linkwork.kernels.scalar import Array, Scalar, Vector, in_warp, kernel, prange, some_below, sqrt, where
from linkwork.kernels.spatial import dot, scale
from linkwork.kernels.thresholds import DISABLED, LEAST_DENOMINATOR, NO_CONTACT
from linkwork.kernels.tree.configurations import rotation_vector
from linkwork.kernels.tree.implicit_damping import COUPLED_DAMPERS

JOINT_INTEGERS: dict[str, Shape] = {"box_set": ("nboxes",), "damper_set": ("ncoupled",)}
JOINT_WORK: dict[str, Shape] = {"loop_J": ("nc", "nv")} | COUPLED_DAMPERS


@kernel
def list_boxes(tree: Array, w: Array, q: Array, v: Array, settings: ReducedSettings) -> None:
    """Sets of limits that can be reached, one row each, and of dry friction: of joints, and of tendons after these."""
    for b in prange(tree.njoint_boxes):
        w.box_set[b] = 0
        if tree.box_q[b] >= 0:
            w.box_set[b] = can_be_reached(tree, b, q[tree.box_q[b]], v[tree.box_v[b]], settings) - 1
    for b in range(tree.njoint_boxes):
        if w.box_set[b] == 0:
            begin_box(w, b, CONE if tree.box_q[b] >= 0 else BOX)
            add_side(tree, w, w.box_set[b], tree.dof_limb[tree.box_v[b]])
    for b in prange(tree.njoint_boxes):
        if w.box_set[b] >= 0:
            joint_row(tree, w, w.box_set[b], b, v)
            if tree.box_q[b] >= 0:
                limit_offset(tree, w, w.box_set[b], b, q[tree.box_q[b]], v[tree.box_v[b]], settings)
            else:
                friction_offset(tree, w, w.box_set[b], b, v[tree.box_v[b]], settings)
    for k in range(tree.ntendon_boxes):
        list_tendon_box(tree, w, k, settings)
    for k in range(tree.nball_boxes):
        list_ball_box(tree, w, k, q, v, settings)


@kernel
def list_tendon_box(tree: Array, w: Array, k: int, settings: ReducedSettings) -> None:
    """The set of a limit of a tendon that can be reached, or of its dry friction; after `tendon_states`."""
    b = tree.njoint_boxes + k
    t = tree.tendon_box[k]
    w.box_set[b] = 0
    if tree.tendon_box_limits[k] > 0:
        w.box_set[b] = can_be_reached(tree, b, w.ten_length[t], w.ten_rate[t], settings) - 1
    if w.box_set[b] == 0:
        begin_box(w, b, CONE if tree.tendon_box_limits[k] > 0 else BOX)
        tendon_row(tree, w, w.box_set[b], k)
        if tree.tendon_box_limits[k] > 0:
            limit_offset(tree, w, w.box_set[b], b, w.ten_length[t], w.ten_rate[t], settings)
        else:
            friction_offset(tree, w, w.box_set[b], b, w.ten_rate[t], settings)


@kernel
def list_ball_box(tree: Array, w: Array, k: int, q: Array, v: Array, settings: ReducedSettings) -> None:
    """The set of the limit of a ball joint that can be reached: its angle grows by the velocity about its axis."""
    b = tree.njoint_boxes + tree.ntendon_boxes + k
    o = tree.ball_box_q[k]
    i = tree.ball_box_v[k]
    s = where(q[o + 3], 0.0, -1.0, 1.0)
    turn = rotation_vector((s * q[o], s * q[o + 1], s * q[o + 2]), s * q[o + 3])
    angle = sqrt(dot(turn, turn))
    axis = scale(1.0 / maximum(angle, LEAST_DENOMINATOR), turn)
    rate = dot(axis, (v[i], v[i + 1], v[i + 2]))
    w.box_set[b] = can_be_reached(tree, b, angle, rate, settings) - 1
    if w.box_set[b] == 0:
        begin_box(w, b, CONE)
        e = w.box_set[b]
        ball_row(tree, w, e, k, axis)
        w.before[w.cone_row[e]] = tree.box_sign[b] * rate
        scale_box(tree, w, e, b, inverse_inertia_about(axis, tree.ball_D[k]))
        limit_offset(tree, w, e, b, angle, rate, settings)


@kernel
def inverse_inertia_about(axis: Vector, D: Array) -> Scalar:
    """Of those about three axes; the least of them where there is no axis."""
    along = axis[0] * axis[0] * D[0] + axis[1] * axis[1] * D[1] + axis[2] * axis[2] * D[2]
    return maximum(along, minimum(minimum(D[0], D[1]), D[2]))


@kernel
def ball_row(tree: Array, w: Array, e: int, k: int, axis: Vector) -> None:
    """The side and the row of the limit of a ball joint."""
    limb = tree.ball_box_limb[k]
    if in_warp() and tree.nstride > 0:
        clear_columns(tree, w, e, 0, tree.npadded)
    add_side(tree, w, e, limb)
    first = w.side_column[w.cone_side[e]] + tree.ball_box_v[k] - tree.limb_v[limb]
    for j in range(3):
        w.A[w.cone_row[e], first + j] = -axis[j]


@kernel
def begin_box(w: Array, b: int, kind: int) -> None:
    """A further set of one row, without sides, for a limit or dry friction."""
    w.box_set[b] = begin_set(w, kind, 1)
    w.cone_box[w.box_set[b]] = b


@kernel
def gap_of_limit(tree: Array, b: int, x: Scalar) -> Scalar:
    """Distance of a coordinate, or of the length of a tendon, from its limit."""
    return tree.box_sign[b] * (x - tree.box_value[b])


@kernel
def reach_of_limit(tree: Array, b: int, rate: Scalar, settings: ReducedSettings) -> Scalar:
    """The distance by which a coordinate with a rate may approach its limit in the step."""
    h = settings.dt
    away = tree.box_sign[b] * rate
    closing = maximum(-away, 0.0) + 0.5 * magnitude(away)
    if tree.nsoft_boxes > 0:
        return tree.box_margin[b]
    return (tree.reach[0] + 2.0 * h * h * settings.gravity) / tree.box_unit[b] + 2.0 * h * closing


@kernel
def can_be_reached(tree: Array, b: int, x: Scalar, rate: Scalar, settings: ReducedSettings) -> int:
    """1 where a coordinate can come to its limit in the step, in some lane; else 0."""
    return 1 if some_below(gap_of_limit(tree, b, x) - reach_of_limit(tree, b, rate, settings), 0.0) else 0


@kernel
def limit_offset(tree: Array, w: Array, e: int, b: int, x: Scalar, rate: Scalar, settings: ReducedSettings) -> None:
    """``row_c`` and ``removal`` of a limit."""
    h = settings.dt
    gap = gap_of_limit(tree, b, x)
    reach = reach_of_limit(tree, b, rate, settings)
    most = settings.push / tree.box_unit[b]
    c = where(gap, 0.0, maximum(gap / settings.penetration_time, -most), gap / h)
    w.removal[e] = minimum(c, 0.0)
    if tree.nsoft_boxes > 0:
        c = soften_box(tree, w, e, b, gap - reach, tree.box_sign[b] * rate, h)
        w.removal[e] = 0.0
    w.row_c[w.cone_row[e]] = where(gap, reach, c, NO_CONTACT)


@kernel
def friction_offset(tree: Array, w: Array, e: int, b: int, rate: Scalar, settings: ReducedSettings) -> None:
    """``row_c`` and the bounds of dry friction."""
    h = settings.dt
    w.row_c[w.cone_row[e]] = 0.0
    if tree.nsoft_boxes > 0:
        w.row_c[w.cone_row[e]] = soften_box(tree, w, e, b, 0.0, rate, h)
    w.lower[e] = h * tree.box_lower[b]
    w.upper[e] = h * tree.box_upper[b]


@kernel
def joint_row(tree: Array, w: Array, e: int, b: int, v: Array) -> None:
    """The row of a limit or of dry friction of a joint."""
    k = tree.box_v[b]
    row = w.cone_row[e]
    if not in_warp() or tree.nstride == 0:
        w.A[row, w.side_column[w.cone_side[e]] - tree.limb_v[tree.dof_limb[k]] + k] = tree.box_sign[b]
    w.before[row] = tree.box_sign[b] * v[k]
    scale_box(tree, w, e, b, tree.box_D[b])


@kernel
def tendon_row(tree: Array, w: Array, e: int, k: int) -> None:
    """The sides and the row of a limit or of dry friction of a tendon."""
    b = tree.njoint_boxes + k
    t = tree.tendon_box[k]
    row = w.cone_row[e]
    if in_warp() and tree.nstride > 0:
        clear_columns(tree, w, e, 0, tree.npadded)
    for s in range(tree.tendon_box_side[k], tree.tendon_box_side[k] + tree.tendon_box_sides[k]):
        add_side(tree, w, e, tree.tendon_side[s])
    for s in range(w.cone_side[e], w.cone_side[e] + w.cone_sides[e]):
        limb = w.side_limb[s]
        at = tree.limb_v[limb]
        add_multiple(tree.box_sign[b], w.ten_J[t], at, w.A[row], w.side_column[s], tree.limb_size[limb])
    w.before[row] = tree.box_sign[b] * w.ten_rate[t]
    scale_box(tree, w, e, b, tree.box_D[b])


@kernel
def scale_box(tree: Array, w: Array, e: int, b: int, D: Scalar) -> None:
    """The scales of a limit or of dry friction, which is hard, with the inverse inertia ``D``."""
    w.compliance[w.cone_row[e]] = 0.0
    scale_set(w, e, D, 1.0 / D, 0.0, tree.box_unit[b])


@kernel
def soften_box(tree: Array, w: Array, e: int, b: int, r: Scalar, rate: Scalar, h: Scalar) -> Scalar:
    """Make a limit or dry friction soft, as MuJoCo's (`soft`); its ``c``."""
    c, C = soft_row(tree.box_reference[b], tree.box_impedance[b], r, r, rate, h, tree.box_weight[b])
    w.compliance[w.cone_row[e]] = C
    return c


@kernel
def soften_loop(tree: Array, w: Array, e: int, l: int, settings: ReducedSettings) -> None:
    """Make the rows of a constraint soft: rows are divided by the scale of MuJoCo's, compliances by its square."""
    square = 0.0
    for i in range(tree.loop_row[l], tree.loop_row[l] + tree.loop_dim[l]):
        x = tree.soft_row_scale[i] * w.error[i]
        square = square + x * x
    for k in range(tree.loop_dim[l]):
        i = tree.loop_row[l] + k
        r = w.cone_row[e] + k
        enabled = where(tree.row_R[i], DISABLED, 1.0, 0.0)
        D = tree.soft_row_weight[i] / (tree.soft_row_scale[i] * tree.soft_row_scale[i])
        c, C = soft_row(
            tree.soft_row_reference[i], tree.soft_row_impedance[i], sqrt(square), w.error[i], w.Jv[i], settings.dt, D
        )
        w.row_c[r] = enabled * (c + settings.dt * tree.soft_row_bias[i] * w.beta[i])
        w.compliance[r] = enabled * C


@kernel
def list_damper(tree: Array, w: Array, c: int, v: Array, h: Scalar, acting: Scalar) -> None:
    """The set of a damper on several degrees of freedom, after `coupled_dampers`.

    Its force at the velocity before the step is among the torques; ``z = -h d (A v+ - A v)`` is the rest. Zeros where
    it is at its limit, and where ``acting`` is zero.
    """
    w.damper_set[c] = -1
    if some_below(-w.coupled_damping[c], 0.0):
        e = begin_set(w, EQUALITY, 1)
        w.damper_set[c] = e
        if in_warp() and tree.nstride > 0:
            clear_columns(tree, w, e, 0, tree.npadded)
        for s in range(tree.damper_side[c], tree.damper_side[c] + tree.damper_sides[c]):
            add_side(tree, w, e, tree.damper_limb[s])
        damper_row(tree, w, e, c, v, h, acting)


@kernel
def damper_row(tree: Array, w: Array, e: int, c: int, v: Array, h: Scalar, acting: Scalar) -> None:
    """The row of a damper on several degrees of freedom, whose columns are zero before."""
    d = w.coupled_damping[c]
    acts = where(0.0, d, acting, 0.0)
    row = w.cone_row[e]
    for s in range(w.cone_side[e], w.cone_side[e] + w.cone_sides[e]):
        limb = w.side_limb[s]
        add_multiple(acts, w.coupled_J[c], tree.limb_v[limb], w.A[row], w.side_column[s], tree.limb_size[limb])
    set_velocities(tree, w, e, v)
    compliance = 1.0 / where(0.0, d, h * d, 1.0)
    w.row_c[row] = -w.before[row]
    w.compliance[row] = compliance
    w.row_R[row] = 0.0
    w.row_unit[row] = 1.0
    w.z[row] = 0.0
    scale_set(w, e, compliance, 1.0 / compliance, 0.0, 1.0)


@kernel
def list_loops(tree: Array, w: Array, q: Array, settings: ReducedSettings) -> None:
    """Sets of rows of loops, after `constraint_rows`, `constraint_bias` and `constraint_velocities`."""
    jacobian_from_rows(tree, w, q, w.loop_J)
    w.counts[LOOPS] = w.counts[CONES]
    for l in range(tree.nloops):
        e = begin_set(w, EQUALITY, tree.loop_dim[l])
        if in_warp() and tree.nstride > 0:
            clear_columns(tree, w, e, 0, tree.npadded)
        for s in range(tree.loop_side[l], tree.loop_side[l] + tree.loop_sides[l]):
            add_side(tree, w, e, tree.loop_limb[s])
        largest = 0.0
        for k in range(tree.loop_dim[l]):
            i = tree.loop_row[l] + k
            r = w.cone_row[e] + k
            enabled = where(tree.row_R[i], DISABLED, 1.0, 0.0)
            for s in range(w.cone_side[e], w.cone_side[e] + w.cone_sides[e]):
                limb = w.side_limb[s]
                at = tree.limb_v[limb]
                add_multiple(enabled, w.loop_J[i], at, w.A[r], w.side_column[s], tree.limb_size[limb])
            # J v+ = -error / time - dt beta / 2, with J v = Jv at the start and targets of rows after the step
            w.before[r] = enabled * w.Jv[i]
            w.row_c[r] = enabled * (w.error[i] / settings.loop_time + 0.5 * settings.dt * w.beta[i])
            w.compliance[r] = 0.0
            w.row_R[r] = where(tree.row_R[i], DISABLED, settings.loop_factor * tree.row_R[i], 1.0)
            w.row_unit[r] = enabled * tree.row_unit[i]
            largest = maximum(largest, tree.row_D[i])
        scale_set(w, e, largest, 1.0 / largest, 0.0, 1.0)
        if tree.loop_soft[l] > 0:
            soften_loop(tree, w, e, l, settings)
