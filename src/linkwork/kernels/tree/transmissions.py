# SPDX-License-Identifier: BSD-3-Clause
"""Transmissions beside joints and tendons: wrenches on sites and on ball and free joints, and slider-cranks.

Their lengths and moment arms are those of MuJoCo's ``mj_transmission``. With ``g`` the gear, of a site at ``p`` with
the rotation ``R``: ``J = g_f' R' dp/dv + g_n' R' dw/dv``, relative to a reference site if there is one. A slider-crank
with the rod ``l``, ``d`` from the slider to the pin and the slider's axis ``z`` has the length
``z.d - sqrt((z.d)² + l² - d²)``. Cost: the depth of the bodies.
"""

from __future__ import annotations

from linkwork.kernels.elementary import maximum
from linkwork.kernels.scalar import Array, kernel, sqrt, where
from linkwork.kernels.spatial import Triple, add, column, cross, dot, multiply, rotate, scale, sub
from linkwork.kernels.thresholds import LEAST_DIVISOR
from linkwork.kernels.tree.configurations import rotate_inverse_by_quaternion, rotation_vector
from linkwork.kernels.tree.world_points import add_moment, add_point_jacobian, world_point
from linkwork.model.joints import FREE


@kernel
def site_gear(gear: Array, o: int) -> Triple:
    """Three entries of a gear."""
    return gear[o], gear[o + 1], gear[o + 2]


@kernel
def relative_turn(R: Array, S: Array) -> Triple:
    """The rotation vector of ``R' S``, by the antisymmetric part of the product and its trace."""
    x = column(R, 0)
    y = column(R, 1)
    z = column(R, 2)
    a = column(S, 0)
    b = column(S, 1)
    c = column(S, 2)
    # entries of Q = R' S; the quaternion has 4 u = 1 + tr and 4 u x = antisymmetric part where u is not small
    xx = dot(x, a)
    yy = dot(y, b)
    zz = dot(z, c)
    u = sqrt(maximum(1.0 + xx + yy + zz, 0.0)) / 2.0
    ux = sqrt(maximum(1.0 + xx - yy - zz, 0.0)) / 2.0
    uy = sqrt(maximum(1.0 - xx + yy - zz, 0.0)) / 2.0
    uz = sqrt(maximum(1.0 - xx - yy + zz, 0.0)) / 2.0
    sx = where(dot(z, b) - dot(y, c), 0.0, -ux, ux)
    sy = where(dot(x, c) - dot(z, a), 0.0, -uy, uy)
    sz = where(dot(y, a) - dot(x, b), 0.0, -uz, uz)
    return rotation_vector((sx, sy, sz), u)


@kernel
def wrench_lengths(tree: Array, w: Array, length: Array) -> None:
    """Add lengths of wrenches on sites that have a reference: its pose in it, times the gear."""
    for s in range(tree.nwrenches):
        h = tree.wrench_reference_body[s]
        if h >= 0:
            i = tree.wrench_body[s]
            p = world_point(w, i, tree.wrench_position[s])
            o = world_point(w, h, tree.wrench_reference_position[s])
            multiply(w.ten_E[i], tree.wrench_rotation[s], w.site_R[0])
            multiply(w.ten_E[h], tree.wrench_reference_rotation[s], w.site_R[1])
            force = rotate(w.site_R[1], site_gear(tree.wrench_gear[s], 0))
            turn = relative_turn(w.site_R[1], w.site_R[0])
            x = dot(force, sub(p, o)) + dot(site_gear(tree.wrench_gear[s], 3), turn)
            length[tree.wrench_tendon[s]] += x


@kernel
def wrench_rows(tree: Array, w: Array, J: Array) -> None:
    """Add moment arms of wrenches on sites."""
    for s in range(tree.nwrenches):
        i = tree.wrench_body[s]
        h = tree.wrench_reference_body[s]
        row = J[tree.wrench_tendon[s]]
        p = world_point(w, i, tree.wrench_position[s])
        f = rotate(tree.wrench_rotation[s], site_gear(tree.wrench_gear[s], 0))
        n = rotate(tree.wrench_rotation[s], site_gear(tree.wrench_gear[s], 3))
        root = 0
        if h < 0:
            f = rotate(w.ten_E[i], f)
            n = rotate(w.ten_E[i], n)
        else:
            root = tree.wrench_root[s]
            f = rotate(tree.wrench_reference_rotation[s], site_gear(tree.wrench_gear[s], 0))
            n = rotate(tree.wrench_reference_rotation[s], site_gear(tree.wrench_gear[s], 3))
            f = rotate(w.ten_E[h], f)
            n = rotate(w.ten_E[h], n)
            o = world_point(w, h, tree.wrench_reference_position[s])
            add_point_jacobian(tree, w, h, root, o, scale(-1.0, f), row)
            add_moment(tree, w, h, root, scale(-1.0, n), row)
        add_point_jacobian(tree, w, i, root, p, f, row)
        add_moment(tree, w, i, root, n, row)


@kernel
def turn_lengths(tree: Array, q: Array, length: Array) -> None:
    """Add lengths of wrenches on ball joints: rotation vector times gear; those on free joints have none."""
    for s in range(tree.nturns):
        i = tree.turn_body[s]
        if tree.kind[i] != FREE:
            o = tree.iq[i]
            squares = q[o] * q[o] + q[o + 1] * q[o + 1] + q[o + 2] * q[o + 2] + q[o + 3] * q[o + 3]
            k = where(q[o + 3], 0.0, -1.0, 1.0) / sqrt(squares)
            turn = rotation_vector((k * q[o], k * q[o + 1], k * q[o + 2]), k * q[o + 3])
            length[tree.turn_tendon[s]] += dot(turn, site_gear(tree.turn_gear[s], 3))


@kernel
def turn_rows(tree: Array, q: Array, J: Array) -> None:
    """Add moment arms of wrenches on ball and free joints."""
    for s in range(tree.nturns):
        i = tree.turn_body[s]
        o = tree.iq[i]
        k = tree.iv[i]
        row = J[tree.turn_tendon[s]]
        n = site_gear(tree.turn_gear[s], 3)
        if tree.kind[i] == FREE:
            o = o + 3
            f = rotate_inverse_by_quaternion(q, o, site_gear(tree.turn_gear[s], 0))
            for j in range(3):
                row[k + j] += f[j]
            k = k + 3
        if tree.turn_in_parent[s] != 0:
            n = rotate_inverse_by_quaternion(q, o, n)
        for j in range(3):
            row[k + j] += n[j]


@kernel
def crank_terms(tree: Array, w: Array, s: int) -> tuple[Triple, Triple, Triple, Triple]:
    """Pin and slider of a slider-crank, from one to the other, and the slider's axis."""
    pin = world_point(w, tree.crank_body[s], tree.crank_position[s])
    slider = world_point(w, tree.slider_body[s], tree.slider_position[s])
    axis = rotate(w.ten_E[tree.slider_body[s]], tree.slider_axis[s])
    return pin, slider, sub(pin, slider), axis


@kernel
def crank_lengths(tree: Array, w: Array, length: Array) -> None:
    """Add lengths of slider-cranks; beyond their reach, the pin's place along the axis."""
    for s in range(tree.ncranks):
        _, _, d, axis = crank_terms(tree, w, s)
        along = dot(d, axis)
        square = along * along + tree.crank_rod[s] * tree.crank_rod[s] - dot(d, d)
        length[tree.crank_tendon[s]] += along - where(0.0, square, sqrt(maximum(square, LEAST_DIVISOR)), 0.0)


@kernel
def crank_rows(tree: Array, w: Array, J: Array) -> None:
    """Add moment arms of slider-cranks."""
    for s in range(tree.ncranks):
        pin, slider, d, axis = crank_terms(tree, w, s)
        along = dot(d, axis)
        square = along * along + tree.crank_rod[s] * tree.crank_rod[s] - dot(d, d)
        inverse = where(0.0, square, 1.0 / sqrt(maximum(square, LEAST_DIVISOR)), 0.0)
        by_d = add(scale(1.0 - along * inverse, axis), scale(inverse, d))
        by_axis = scale(1.0 - along * inverse, d)
        row = J[tree.crank_tendon[s]]
        add_point_jacobian(tree, w, tree.crank_body[s], 0, pin, by_d, row)
        add_point_jacobian(tree, w, tree.slider_body[s], 0, slider, scale(-1.0, by_d), row)
        add_moment(tree, w, tree.slider_body[s], 0, cross(axis, by_axis), row)
