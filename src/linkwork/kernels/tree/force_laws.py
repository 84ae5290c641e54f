# SPDX-License-Identifier: BSD-3-Clause
"""Force elements: springs, dampers and other laws between points, on joints and on bodies, as joint torques.

An element has coordinates ``x(q)``: sums of joint coordinates, distances of points, components of the pose of one frame
in another. Its law is a tape (`functions`) of time, ``x`` and ``x'`` that gives the forces ``f`` along them; the
torques are ``J' f`` with ``x' = J v``. ``J`` is not formed: velocities and wrenches are those about the world's origin,
so that they are added along the path to the root without shifts. A distance is a line ``(m; d)``, moment about that
origin and direction: its rate is ``m · (w2 - w1) + d · (u2 - u1)``, and its force ``f`` is the wrench ``f (m; d)`` on
one body and the opposite one on the other.

| symbol     | meaning                                                                            |
|------------|------------------------------------------------------------------------------------|
| fe_E, fe_o | pose of a body in the world                                                        |
| fe_w, fe_u | its angular velocity, and its velocity at the world's origin, in the world's axes  |
| fe_m       | moment about that origin of the axis of its hinge                                   |
| fe_f       | wrench of the elements on it, about the world's origin                              |
| fe_line    | moment and direction of the line of a distance                                      |
| fe_x       | inputs of laws: time, all coordinates, all rates; then forces in place of these    |

Cost: O(n), and a fixed number of operations for each part of a coordinate and each node of a law.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.functions import INPUT, node_value
from linkwork.kernels.joints import axis_of, dof_of, joint_transform
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, sqrt, where
from linkwork.kernels.spatial import (
    add,
    add_to,
    angular,
    column,
    cross,
    dot,
    linear,
    rotate,
    scale,
    set_angular,
    set_linear,
    set_vector,
    sub,
)
from linkwork.kernels.thresholds import HALF_TURN
from linkwork.kernels.tree.kinematics import POSE, pose_from_parent
from linkwork.kernels.tree.tendon_geometry import distance_of
from linkwork.model.joints import HELICAL, REVOLUTE
from linkwork.plans.actuation import ACTUATION_TREE

FORCE_LAW_WORK: dict[str, Shape] = {
    "fe_E": ("nforce_bodies", 3, 3),
    "fe_o": ("nforce_bodies", 3),
    "fe_w": ("nforce_bodies", 3),
    "fe_u": ("nforce_bodies", 3),
    "fe_m": ("nforce_bodies", 3),
    "fe_f": ("nforce_bodies", 6),
    "fe_line": ("ndistances", 6),
    "fe_x": ("nforce_inputs",),
    "fe_tape": ("nlaw",),
    "fe_dtrig": ("nlaw",),
}


@kernel
def element_poses(tree: Array, w: Array, q: Array, v: Array) -> None:
    """Root to leaves: poses and velocities in the world of the bodies that carry elements."""
    set_vector((0.0, 0.0, 0.0), w.fe_o[0])
    set_vector((0.0, 0.0, 0.0), w.fe_w[0])
    set_vector((0.0, 0.0, 0.0), w.fe_u[0])
    for j in range(3):
        for k in range(3):
            w.fe_E[0, j, k] = 1.0 if j == k else 0.0
    for s in range(tree.nforce_support):
        i = tree.force_support[s]
        h = tree.parent[i]
        joint_transform(tree, w, i, q)
        pose_from_parent(tree, w, i, w.fe_E[h], w.fe_o[h], w.fe_E[i], w.fe_o[i])
        omega = (w.fe_w[h, 0], w.fe_w[h, 1], w.fe_w[h, 2])
        u = (w.fe_u[h, 0], w.fe_u[h, 1], w.fe_u[h, 2])
        if tree.kind[i] == REVOLUTE:
            z = column(w.fe_E[i], 2)
            m = cross(w.fe_o[i], z)
            omega = add(omega, scale(v[tree.iv[i]], z))
            u = add(u, scale(v[tree.iv[i]], m))
            set_vector(m, w.fe_m[i])
        else:
            for k in range(dof_of(tree.kind[i])):
                axis = axis_of(tree.kind[i], k)
                moved = scale(v[tree.iv[i] + k], column(w.fe_E[i], axis % 3))
                if axis < 3:
                    omega = add(omega, moved)
                    u = add(u, cross(w.fe_o[i], moved))
                else:
                    u = add(u, moved)
                if tree.kind[i] == HELICAL:
                    u = add(u, scale(tree.pitch[i], moved))
        set_vector(omega, w.fe_w[i])
        set_vector(u, w.fe_u[i])


@kernel
def element_point(w: Array, i: int, at: Vector) -> tuple[Scalar, Scalar, Scalar]:
    """A point of body ``i`` in the world."""
    return add(w.fe_o[i], rotate(w.fe_E[i], at))


@kernel
def point_velocity(w: Array, i: int, p: Vector) -> tuple[Scalar, Scalar, Scalar]:
    """Velocity of the point of body ``i`` that is at ``p``."""
    return add(w.fe_u[i], cross(w.fe_w[i], p))


@kernel
def apply_force(w: Array, i: int, p: Vector, force: Vector) -> None:
    """A force on body ``i`` at the point ``p``."""
    add_to(cross(p, force), force, w.fe_f[i])


@kernel
def element_coordinates(tree: Array, w: Array, q: Array, v: Array) -> None:
    """``fe_x``: time, coordinates and rates of all elements, after `element_poses`."""
    x = w.fe_x
    n = tree.ncoordinates
    x[0] = tree.time[0]
    for c in range(n):
        x[1 + c] = tree.coordinate_constant[c]
        x[1 + n + c] = 0.0
    for k in range(tree.ncoordinate_joints):
        c = tree.coordinate_joint[k]
        x[1 + c] += tree.coordinate_factor[k] * q[tree.coordinate_q[k]]
        x[1 + n + c] += tree.coordinate_factor[k] * v[tree.coordinate_v[k]]
    for s in range(tree.ndistances):
        c = tree.distance_coordinate[s]
        i = tree.distance_first_body[s]
        j = tree.distance_second_body[s]
        first = element_point(w, i, tree.distance_first[s])
        second = element_point(w, j, tree.distance_second[s])
        gap = sub(second, first)
        span = distance_of(gap)
        d = scale(1.0 / span, gap)
        moment = cross(first, d)
        turning = dot(moment, sub(w.fe_w[j], w.fe_w[i]))
        x[1 + c] += span
        x[1 + n + c] += turning + dot(d, sub(w.fe_u[j], w.fe_u[i]))
        set_angular(moment, w.fe_line[s])
        set_linear(d, w.fe_line[s])
    for p in range(tree.nbushings):
        bushing_coordinates(tree, w, p)


@kernel
def bushing_coordinates(tree: Array, w: Array, p: int) -> None:
    """Rotation (``2 sin(angle / 2)`` about its axis) and translation of a frame in another, in axes of the first."""
    x = w.fe_x
    c = 1 + tree.bushing_coordinate[p]
    d = c + tree.ncoordinates
    i = tree.bushing_first_body[p]
    j = tree.bushing_second_body[p]
    first = element_point(w, i, tree.bushing_first_at[p])
    second = element_point(w, j, tree.bushing_second_at[p])
    omega = sub(w.fe_w[j], w.fe_w[i])
    rate = sub(point_velocity(w, j, second), point_velocity(w, i, second))
    a = bushing_axis(tree, w, p, 0)
    b = bushing_axis(tree, w, p, 1)
    e = bushing_axis(tree, w, p, 2)
    gap = sub(second, first)
    E = w.fe_E[j]
    S = tree.bushing_second_axes[p]
    xs = rotate(E, column(S, 0))
    ys = rotate(E, column(S, 1))
    zs = rotate(E, column(S, 2))
    t = 1.0 + (dot(a, xs) + dot(b, ys) + dot(e, zs))
    half = 1.0 / sqrt(where(t, HALF_TURN, HALF_TURN, t))
    x[c] = half * (dot(e, ys) - dot(b, zs))
    x[c + 1] = half * (dot(a, zs) - dot(e, xs))
    x[c + 2] = half * (dot(b, xs) - dot(a, ys))
    x[c + 3] = dot(a, gap)
    x[c + 4] = dot(b, gap)
    x[c + 5] = dot(e, gap)
    x[d] = dot(a, omega)
    x[d + 1] = dot(b, omega)
    x[d + 2] = dot(e, omega)
    x[d + 3] = dot(a, rate)
    x[d + 4] = dot(b, rate)
    x[d + 5] = dot(e, rate)


@kernel
def bushing_axis(tree: Array, w: Array, p: int, k: int) -> tuple[Scalar, Scalar, Scalar]:
    """Axis ``k`` of the first frame of a pair, in the world."""
    return rotate(w.fe_E[tree.bushing_first_body[p]], column(tree.bushing_first_axes[p], k))


@kernel
def evaluate_laws(tree: Array, w: Array) -> None:
    """Forces of all laws, after `element_coordinates`: those along coordinates take the place of rates."""
    for s in range(tree.nlaw):
        if tree.law_op[s] == INPUT:
            w.fe_tape[s] = w.fe_x[tree.law_left[s]]
        else:
            node_value(tree.law_op, tree.law_left, tree.law_right, tree.law_value, s, w.fe_tape, w.fe_dtrig)
    n = tree.ncoordinates
    for c in range(n):
        s = tree.law_node[c]
        if s >= 0:
            w.fe_x[1 + n + c] = w.fe_tape[s]
        else:
            k = tree.coordinate_law[c]
            w.fe_x[1 + n + c] = k[0] + k[1] * w.fe_x[1 + c] + k[2] * w.fe_x[1 + n + c]


@kernel
def apply_elements(tree: Array, w: Array, tau: Array) -> None:
    """Add torques of elements on joints to ``tau``; ``fe_f`` of others, after `evaluate_laws`."""
    f = w.fe_x[1 + tree.ncoordinates : 1 + 2 * tree.ncoordinates]
    for j in range(6):
        w.fe_f[0, j] = 0.0
    for s in range(tree.nforce_support):
        for j in range(6):
            w.fe_f[tree.force_support[s], j] = 0.0
    for m in range(tree.ncoordinate_joints):
        tau[tree.coordinate_v[m]] += tree.coordinate_factor[m] * f[tree.coordinate_joint[m]]
    for s in range(tree.ndistances):
        i = tree.distance_first_body[s]
        j = tree.distance_second_body[s]
        along = f[tree.distance_coordinate[s]]
        for k in range(6):
            part = along * w.fe_line[s, k]
            w.fe_f[j, k] += part
            w.fe_f[i, k] -= part
    for p in range(tree.nbushings):
        c = tree.bushing_coordinate[p]
        i = tree.bushing_first_body[p]
        j = tree.bushing_second_body[p]
        second = element_point(w, j, tree.bushing_second_at[p])
        force = (0.0, 0.0, 0.0)
        moment = (0.0, 0.0, 0.0)
        for k in range(3):
            axis = bushing_axis(tree, w, p, k)
            if tree.bushing_follows[p] != 0:
                axis = rotate(w.fe_E[j], column(tree.bushing_second_axes[p], k))
            moment = add(moment, scale(f[c + k], axis))
            force = add(force, scale(f[c + 3 + k], axis))
        apply_force(w, j, second, force)
        apply_force(w, i, second, scale(-1.0, force))
        add_to(moment, (0.0, 0.0, 0.0), w.fe_f[j])
        add_to(scale(-1.0, moment), (0.0, 0.0, 0.0), w.fe_f[i])


@kernel
def element_torques(tree: Array, w: Array, tau: Array) -> None:
    """Leaves to root: add the torques of the wrenches ``fe_f`` to ``tau``."""
    for back in range(tree.nforce_support):
        i = tree.force_support[tree.nforce_support - 1 - back]
        h = tree.parent[i]
        force = linear(w.fe_f[i])
        moment = angular(w.fe_f[i])
        if tree.kind[i] == REVOLUTE:
            tau[tree.iv[i]] += dot(moment, column(w.fe_E[i], 2)) + dot(force, w.fe_m[i])
        else:
            for k in range(dof_of(tree.kind[i])):
                axis = axis_of(tree.kind[i], k)
                z = column(w.fe_E[i], axis % 3)
                x = dot(moment, z) + dot(force, cross(w.fe_o[i], z)) if axis < 3 else dot(force, z)
                if tree.kind[i] == HELICAL:
                    x = x + tree.pitch[i] * dot(force, z)
                tau[tree.iv[i] + k] += x
        if h > 0:
            add_to(moment, force, w.fe_f[h])


@kernel
def add_force_laws(tree: Array, w: Array, q: Array, v: Array, sign: Scalar, tau: Array) -> None:
    """Add ``sign`` times the torques of all force elements to ``tau``."""
    element_poses(tree, w, q, v)
    element_coordinates(tree, w, q, v)
    evaluate_laws(tree, w)
    for c in range(tree.ncoordinates):
        w.fe_x[1 + tree.ncoordinates + c] = sign * w.fe_x[1 + tree.ncoordinates + c]
    apply_elements(tree, w, tau)
    element_torques(tree, w, tau)


@kernel
def evaluate_element_torques(tree: Array, w: Array, q: Array, v: Array, tau: Array) -> None:
    """Torques of all force elements."""
    for k in range(tree.nv):
        tau[k] = 0.0
    if tree.ncoordinates != 0:
        add_force_laws(tree, w, q, v, 1.0, tau)


@kernel
def evaluate_element_states(
    tree: Array, w: Array, q: Array, v: Array, coordinate: Array, rate: Array, force: Array
) -> None:
    """Coordinates of all force elements, their rates, and the forces along them."""
    n = tree.ncoordinates
    if n != 0:
        element_poses(tree, w, q, v)
        element_coordinates(tree, w, q, v)
        for c in range(n):
            coordinate[c] = w.fe_x[1 + c]
            rate[c] = w.fe_x[1 + n + c]
        evaluate_laws(tree, w)
        for c in range(n):
            force[c] = w.fe_x[1 + n + c]


_STATE: dict[str, Shape] = {"q": ("nq",), "v": ("nv",)}
ELEMENT_TORQUES = Algorithm(
    "element_torques", evaluate_element_torques, _STATE, {"tau": ("nv",)}, POSE | FORCE_LAW_WORK, ACTUATION_TREE
)
ELEMENT_STATES = Algorithm(
    "element_states",
    evaluate_element_states,
    _STATE,
    dict.fromkeys(("coordinate", "rate", "force"), ("ncoordinates",)),
    POSE | FORCE_LAW_WORK,
    ACTUATION_TREE,
)
