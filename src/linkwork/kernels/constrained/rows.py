# SPDX-License-Identifier: BSD-3-Clause
"""Rows of each kind of constraint: position errors, rows of K on single bodies, and bias.

Of a pair of frames, A on the first body and B on the second:

| symbol      | meaning                                                                                   |
|-------------|-------------------------------------------------------------------------------------------|
| E, o        | pose of a body relative to the root of its loops                                          |
| F           | rotation of A in the axes of the pair                                                     |
| G           | rotation from the axes of the second body to those of the pair                            |
| d           | position of B relative to A                                                               |
| orientation | of B in A: a quaternion, or the axis of B that rows are about, in A                       |
| lever       | from the first body's origin to B's origin (or, where they coincide, to A's)              |
| spin, dd    | angular velocity of B and rate of d, relative to A                                        |
| drift       | angular acceleration of B relative to A where ``qdd = 0``                                 |

The axes of a pair are those of its first body, where loops that move in a plane have most of their zeros, whatever
axes A has; where that is the world, they are those of A. Vectors are in them where nothing else is said. A row of a
pair is two vectors ``n, f``: the rate of its error is ``n . spin + f . dd``.
Errors of orientation are ``2 sin(angle / 2) axis``, smooth up to half a turn.
Cost: a fixed number of operations for each pair of bodies, body of a center of mass, and term of a coupling.
"""

from __future__ import annotations

from linkwork.kernels.joints import axis_of, dof_of, rotate_to_parent
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, sqrt, where
from linkwork.kernels.spatial import (
    add,
    angular,
    column,
    cross,
    dot,
    linear,
    rotate,
    rotate_inverse,
    scale,
    set_angular,
    set_linear,
    set_vector,
    sub,
    symmetric_product,
)
from linkwork.kernels.thresholds import HALF_TURN
from linkwork.model.pairs import ABOUT_Z, ANY_SHIFT, ANY_TURN, CARDAN, MEET, NO_TURN, ON_LINE, ON_PLANE, ROD, ROLLING


@kernel
def relative_pose(tree: Array, w: Array, p: int) -> None:
    """Rotation of the second body of a pair, and position of its frame."""
    a = tree.pair_first_pose[p]
    b = tree.pair_second_pose[p]
    G = w.G[p]
    for k in range(3):
        x = in_pair_axes(tree, p, rotate_inverse(w.E[a], column(w.E[b], k)))
        G[0, k] = x[0]
        G[1, k] = x[1]
        G[2, k] = x[2]
    end = in_pair_axes(tree, p, rotate_inverse(w.E[a], sub(w.o[b], w.o[a])))
    end = add(end, rotate(G, tree.frame_position[tree.pair_second[p]]))
    set_vector(sub(end, tree.pair_lever[p]), w.d[p])


@kernel
def in_pair_axes(tree: Array, p: int, x: Vector) -> tuple[Scalar, Scalar, Scalar]:
    """A vector given in the axes of a pair's first body, in those of the pair."""
    if tree.pair_turned[p] != 0:
        return rotate_inverse(tree.pair_axes[p], x)
    return x[0], x[1], x[2]


@kernel
def lever_arm(tree: Array, w: Array, p: int) -> tuple[Scalar, Scalar, Scalar]:
    """The lever arm of the first body's rows; where origins coincide, one that does not depend on the state."""
    f = (tree.pair_lever[p, 0], tree.pair_lever[p, 1], tree.pair_lever[p, 2])
    if tree.pair_translation[p] == MEET or tree.pair_translation[p] == ROD:
        return f
    return add(f, w.d[p])


@kernel
def set_pair_row(tree: Array, w: Array, p: int, k: int, n: Vector, f: Vector, lever: Vector) -> None:
    """Row ``k`` of a pair on its two bodies: spatial forces, dual to their accelerations."""
    K = w.K[tree.pair_second_k[p] + k]
    y = rotate_inverse(w.G[p], f)
    set_angular(add(rotate_inverse(w.G[p], n), cross(tree.frame_position[tree.pair_second[p]], y)), K)
    set_linear(y, K)
    K = w.K[tree.pair_first_k[p] + k]
    moment = add(n, cross(lever, f))
    force = (f[0], f[1], f[2])
    if tree.pair_turned[p] != 0:
        moment = rotate(tree.pair_axes[p], moment)
        force = rotate(tree.pair_axes[p], force)
    set_angular(scale(-1.0, moment), K)
    set_linear(scale(-1.0, force), K)


@kernel
def set_at(x: Vector, y: Array, o: int) -> None:
    """``y[o : o + 3] = x``."""
    y[o] = x[0]
    y[o + 1] = x[1]
    y[o + 2] = x[2]


@kernel
def axis(k: int) -> tuple[Scalar, Scalar, Scalar]:
    """The unit vector along axis ``k``."""
    return 1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0


@kernel
def set_orientation(tree: Array, w: Array, p: int) -> None:
    """``orientation``: the quaternion ``w, x, y, z`` of B in A, ``w > 0``, or the axis of B that rows are about, in A.

    Where the angle is half a turn, the z axis stands for the quaternion's: that of a loop in a plane.
    """
    e = w.orientation[p]
    if tree.pair_rotation[p] == NO_TURN:
        W = tree.pair_closed[p]
        x = rotate(w.G[p], column(W, 0))
        y = rotate(w.G[p], column(W, 1))
        z = rotate(w.G[p], column(W, 2))
        t = 1.0 + (x[0] + y[1] + z[2])
        root = sqrt(where(t, HALF_TURN, HALF_TURN, t))
        k = 0.5 / root
        e[0] = 0.5 * root
        e[1] = where(t, HALF_TURN, 0.0, k * (y[2] - z[1]))
        e[2] = where(t, HALF_TURN, 0.0, k * (z[0] - x[2]))
        e[3] = where(t, HALF_TURN, 1.0, k * (x[1] - y[0]))
    elif tree.pair_rotation[p] != ANY_TURN:
        axis = 2 if tree.pair_rotation[p] == ABOUT_Z else 1
        end = rotate(w.G[p], column(tree.frame_rotation[tree.pair_second[p]], axis))
        b = rotate_inverse(tree.pair_frame[p], end)
        e[0] = 0.0
        e[1] = b[0]
        e[2] = b[1]
        e[3] = b[2]


@kernel
def orientation_vector(w: Array, p: int) -> tuple[Scalar, Scalar, Scalar]:
    """The vector part of the quaternion, or the axis."""
    return w.orientation[p, 1], w.orientation[p, 2], w.orientation[p, 3]


@kernel
def half_tilt(b: Vector) -> tuple[Scalar, Scalar, Scalar]:
    """Of B's z axis ``(x, y, z)``: ``h = sqrt(2 / (1 + z))``, ``h² / 2``, and the error about x."""
    t = 1.0 + b[2]
    half = 1.0 / where(t, HALF_TURN, HALF_TURN, t)
    h = sqrt(2.0 * half)
    return h, half, where(t, HALF_TURN, 2.0, -(h * b[1]))


@kernel
def pair_rows(tree: Array, w: Array, p: int, error: Array) -> None:
    """Position errors of a pair and its rows of K, but for those that are summed in closed form."""
    relative_pose(tree, w, p)
    set_orientation(tree, w, p)
    o = tree.pair_row[p]
    rotation = tree.pair_rotation[p]
    translation = tree.pair_translation[p]
    zero = (0.0, 0.0, 0.0)
    lever = lever_arm(tree, w, p)
    F = tree.pair_frame[p]
    b = orientation_vector(w, p)
    k = 0
    if rotation == NO_TURN:  # e = 2 sin(angle / 2) axis; its rate is (w spin + spin x e / 2)
        set_at(scale(2.0, rotate_inverse(F, b)), error, o)
        c = w.orientation[p, 0]
        if tree.closed_rotation[p] == 0:
            for j in range(3):
                axis = column(F, j)
                set_pair_row(tree, w, p, j, add(scale(c, axis), cross(b, axis)), zero, lever)
        k = 3
    elif rotation == ABOUT_Z:  # e = h (-b1, b0, 0), with b the axis of B: 2 sin(angle / 2) about z x b
        h, half, e = half_tilt(b)
        error[o] = e
        error[o + 1] = h * b[0]
        # the rate of b is spin x b: of b_k it is spin . (b x axis k); of h it is -h half / 2 times that of b_2
        u = 0.5 * (half * b[1])
        v = 0.5 * (half * b[0])
        n = (h * (b[2] + u * b[1]), -(h * (u * b[0])), -(h * b[0]))
        set_pair_row(tree, w, p, 0, rotate(F, n), zero, lever)
        n = (-(h * (v * b[1])), h * (b[2] + v * b[0]), -(h * b[1]))
        set_pair_row(tree, w, p, 1, rotate(F, n), zero, lever)
        k = 2
    elif rotation == CARDAN:
        error[o] = b[0]
        set_pair_row(tree, w, p, 0, rotate(F, (0.0, b[2], -b[1])), zero, lever)
        k = 1
    if translation == ROD:
        each = 1.0 / tree.pair_size[p]
        d = w.d[p]
        error[o + k] = 0.5 * (each * dot(d, d) - tree.pair_size[p])
        set_pair_row(tree, w, p, k, zero, scale(each, d), lever)
    elif translation != ANY_SHIFT:
        d = rotate_inverse(F, w.d[p])
        if translation == MEET:
            set_at(d, error, o + k)
            if tree.closed_translation[p] == 0:
                for j in range(3):
                    set_pair_row(tree, w, p, k + j, zero, column(F, j), lever)
        elif translation == ON_LINE:
            for j in range(2):
                error[o + k + j] = d[j]
                set_pair_row(tree, w, p, k + j, zero, column(F, j), lever)
        elif translation == ON_PLANE:
            error[o + k] = d[2]
            set_pair_row(tree, w, p, k, zero, column(F, 2), lever)
        else:  # rolling, no slip at the point of contact: dd - radius spin x z = 0 in the plane
            radius = tree.pair_size[p]
            error[o + k] = 0.0
            error[o + k + 1] = 0.0
            error[o + k + 2] = d[2] - radius
            set_pair_row(tree, w, p, k, scale(-radius, column(F, 1)), column(F, 0), lever)
            set_pair_row(tree, w, p, k + 1, scale(radius, column(F, 0)), column(F, 1), lever)
            set_pair_row(tree, w, p, k + 2, zero, column(F, 2), lever)


@kernel
def pair_bias(tree: Array, w: Array, p: int) -> None:
    """Bias of a pair: second derivatives of its errors where ``qdd = 0``."""
    o = tree.pair_row[p]
    rotation = tree.pair_rotation[p]
    translation = tree.pair_translation[p]
    a = tree.pair_first[p]
    b = tree.pair_second[p]
    i = tree.frame_body[a]
    j = tree.frame_body[b]
    G = w.G[p]
    F = tree.pair_frame[p]
    omega = in_pair_axes(tree, p, w.omega[i])
    spin = sub(rotate(G, w.omega[j]), omega)
    drift = (0.0, 0.0, 0.0)
    k = 0
    if rotation != ANY_TURN or translation == ROLLING:
        # derivative of spin in the axes of the pair, which rotate
        drift = sub(rotate(G, angular(w.a[j])), in_pair_axes(tree, p, angular(w.a[i])))
        drift = add(cross(spin, omega), drift)
    if rotation == NO_TURN:
        e = orientation_vector(w, p)
        half_square = 0.5 * dot(spin, spin)
        bias = sub(add(scale(w.orientation[p, 0], drift), cross(drift, e)), scale(half_square, e))
        set_at(rotate_inverse(F, bias), w.beta, o)
        k = 3
    elif rotation != ANY_TURN:
        tilted_axis_bias(tree, w, p, rotate_inverse(F, spin), rotate_inverse(F, drift))
        k = 2 if rotation == ABOUT_Z else 1
    if translation != ANY_SHIFT:
        lever = lever_arm(tree, w, p)
        end = rotate(G, add(linear(w.a[j]), rotate(w.accel_field[j], tree.frame_position[b])))
        bias = sub(end, in_pair_axes(tree, p, linear(w.a[i])))
        if tree.pair_turned[p] == 0:  # the world does not rotate
            bias = sub(bias, rotate(w.accel_field[i], lever))
        if translation == MEET:
            set_at(rotate_inverse(F, bias), w.beta, o + k)
        else:
            end_velocity = rotate(G, add(w.u[j], cross(w.omega[j], tree.frame_position[b])))
            dd = sub(end_velocity, add(in_pair_axes(tree, p, w.u[i]), cross(omega, lever)))
            if translation == ROD:
                w.beta[o + k] = (dot(w.d[p], bias) + dot(dd, dd)) * (1.0 / tree.pair_size[p])
            else:
                bias = rotate_inverse(F, sub(bias, scale(2.0, cross(omega, dd))))
                if translation == ON_PLANE:
                    w.beta[o + k] = bias[2]
                else:
                    w.beta[o + k] = bias[0]
                    w.beta[o + k + 1] = bias[1]
                if translation == ROLLING:
                    rolling = scale(tree.pair_size[p], rotate_inverse(F, drift))
                    w.beta[o + k] = bias[0] - rolling[1]
                    w.beta[o + k + 1] = bias[1] + rolling[0]
                    w.beta[o + k + 2] = bias[2]


@kernel
def tilted_axis_bias(tree: Array, w: Array, p: int, spin: Vector, drift: Vector) -> None:
    """Bias of rows about an axis of B, z or y; all in the axes of A."""
    o = tree.pair_row[p]
    end = orientation_vector(w, p)
    dt = cross(spin, end)
    ddt = add(cross(drift, end), cross(spin, dt))
    if tree.pair_rotation[p] == CARDAN:
        w.beta[o] = ddt[0]
    else:
        h, half, _ = half_tilt(end)
        dh = -0.5 * (h * (half * dt[2]))
        ddh = -0.5 * (half * (h * (ddt[2] - 1.5 * (half * (dt[2] * dt[2])))))
        w.beta[o] = -(h * ddt[1] + 2.0 * (dh * dt[1]) + ddh * end[1])
        w.beta[o + 1] = h * ddt[0] + 2.0 * (dh * dt[0]) + ddh * end[0]


@kernel
def com_rows(tree: Array, w: Array, t: int, error: Array) -> None:
    """One body of a center of mass: its part of the errors, and its rows of K."""
    m = tree.com_mass[t]
    mc = tree.com_mc[t]
    E = w.E[tree.com_pose[t]]
    moment = add(scale(m, w.o[tree.com_pose[t]]), rotate(E, mc))
    for k in range(tree.com_nrows[t]):
        axis = tree.com_axes[t, k]
        error[tree.com_row[t] + k] += dot(axis, moment)
        y = rotate_inverse(E, axis)
        K = w.K[tree.com_k[t] + k]
        set_angular(cross(mc, y), K)
        set_linear(scale(m, y), K)


@kernel
def com_bias(tree: Array, w: Array, t: int) -> None:
    """One body of a center of mass: its part of the bias."""
    i = tree.com_body[t]
    rate = add(scale(tree.com_mass[t], linear(w.a[i])), rotate(w.accel_field[i], tree.com_mc[t]))
    for k in range(tree.com_nrows[t]):
        w.beta[tree.com_row[t] + k] += dot(rate, rotate_inverse(w.E[tree.com_pose[t]], tree.com_axes[t, k]))


@kernel
def combination_rows(tree: Array, w: Array, t: int) -> None:
    """One row of a linear combination on one body."""
    frame = tree.combination_frame[t]
    n = combination_vector(tree, w, t, 0)
    f = combination_vector(tree, w, t, 3)
    K = w.K[tree.combination_k[t]]
    set_angular(add(n, cross(tree.frame_position[frame], f)), K)
    set_linear(f, K)
    K = w.K[tree.combination_world_k[t]]
    set_angular((0.0, 0.0, 0.0), K)
    set_linear(scale(-1.0, rotate(w.E[tree.combination_pose[t]], f)), K)


@kernel
def combination_vector(tree: Array, w: Array, t: int, start: int) -> tuple[Scalar, Scalar, Scalar]:
    """Three numbers of a linear combination, in the axes of the body."""
    frame = tree.combination_frame[t]
    x = (tree.combination[t, start], tree.combination[t, start + 1], tree.combination[t, start + 2])
    if tree.combination_aligned[t] != 0:
        return rotate_inverse(w.E[tree.combination_pose[t]], x)
    return rotate(tree.frame_rotation[frame], x)


@kernel
def combination_bias(tree: Array, w: Array, t: int) -> None:
    """One body of a linear combination: its part of the bias."""
    frame = tree.combination_frame[t]
    i = tree.frame_body[frame]
    f = combination_vector(tree, w, t, 3)
    a0 = rotate_inverse(
        w.E[tree.combination_pose[t]], linear(w.a[0])
    )  # minus gravity, the fictitious acceleration of the root
    rate = sub(add(linear(w.a[i]), cross(angular(w.a[i]), tree.frame_position[frame])), a0)
    if tree.combination_aligned[t] != 0:
        rate = add(rate, symmetric_product(w.W[i], tree.frame_position[frame]))
    else:  # axes fixed in the body
        rate = sub(rate, cross(w.omega[i], w.u[i]))
    w.beta[tree.combination_row[t]] += dot(combination_vector(tree, w, t, 0), angular(w.a[i])) + dot(f, rate)


@kernel
def term_value(tree: Array, t: int, q: Array) -> Scalar:
    """A term of a joint coupling: a polynomial of its joint's coordinate; zero where it is of the velocity alone."""
    if tree.term_q[t] < 0:
        return 0.0
    c = tree.term_coefficients[t]
    x = q[tree.term_q[t]] - tree.term_origin[t]
    return x * (c[0] + x * (c[1] + x * (c[2] + x * c[3])))


@kernel
def term_derivative(tree: Array, t: int, q: Array) -> Scalar:
    """Its derivative, or the factor of the velocity."""
    c = tree.term_coefficients[t]
    if tree.term_q[t] < 0:
        return c[0]
    x = q[tree.term_q[t]] - tree.term_origin[t]
    return c[0] + x * (2.0 * c[1] + x * (3.0 * c[2] + x * (4.0 * c[3])))


@kernel
def term_second_derivative(tree: Array, t: int, q: Array) -> Scalar:
    """Its second derivative."""
    if tree.term_q[t] < 0:
        return 0.0
    c = tree.term_coefficients[t]
    x = q[tree.term_q[t]] - tree.term_origin[t]
    return 2.0 * c[1] + x * (6.0 * c[2] + x * (12.0 * c[3]))


@kernel
def joint_row(tree: Array, w: Array, t: int) -> None:
    """A row on a joint of several degrees of freedom as rows of K on its body and on the parent.

    ``S' (a_i - iXp a_p) = qdd`` where S is a selection of unit axes (**delassus** Remark 2, ``S^+ = S'``).
    """
    i = tree.joint_row_body[t]
    K = w.K[tree.joint_row_k[t]]
    for j in range(6):
        K[j] = 0.0
    for k in range(dof_of(tree.kind[i])):
        K[axis_of(tree.kind[i], k)] = tree.joint_row_factor[t, k]
    P = w.K[tree.joint_row_parent_k[t]]
    y = rotate_to_parent(tree, w, i, linear(K))
    set_angular(scale(-1.0, add(rotate_to_parent(tree, w, i, angular(K)), cross(w.r[i], y))), P)
    set_linear(scale(-1.0, y), P)
