# SPDX-License-Identifier: BSD-3-Clause
"""Sensors on frames and subtrees: poses, velocities, accelerations, centers of mass, momenta.

Todorov, Erez and Tassa, MuJoCo: A physics engine for model-based control, 2012; and MuJoCo's ``engine_sensor.c`` for
the definition of each type. Velocities relative to a frame are those that an observer in that frame measures.

| symbol     | meaning                                                                                   |
|------------|-------------------------------------------------------------------------------------------|
| f, g       | frame of a sensor, its reference                                                          |
| E, o       | rotation and position of a body in the world (see `kinematics`)                           |
| omega, u   | angular velocity of a body, linear velocity of its origin, in its own axes                |
| a          | acceleration of a body, that of the root being minus gravity                              |
| h, l       | linear momentum of a subtree, and its angular momentum about the world's origin           |

Cost: O(1) for each sensor after the sweeps of `kinematics`; O(d) for a quaternion, with d the depth of the frame; O(n)
for a subtree of n bodies.
"""

from __future__ import annotations

from linkwork.kernels.elementary import magnitude
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, sincos, sqrt, where
from linkwork.kernels.spatial import (
    Triple,
    add,
    angular,
    column,
    cross,
    linear,
    rotate,
    rotate_inverse,
    scale,
    sub,
    symmetric_product,
)
from linkwork.model.joints import HELICAL, PLANAR, PRISMATIC, REVOLUTE, SPHERICAL
from linkwork.plans.sensors import CODE

FRAMEPOS = CODE["framepos"]
FRAMEQUAT = CODE["framequat"]
XAXIS = CODE["framexaxis"]
YAXIS = CODE["frameyaxis"]
ZAXIS = CODE["framezaxis"]
FRAMELINVEL = CODE["framelinvel"]
FRAMEANGVEL = CODE["frameangvel"]
FRAMELINACC = CODE["framelinacc"]
FRAMEANGACC = CODE["frameangacc"]
ACCELEROMETER = CODE["accelerometer"]
VELOCIMETER = CODE["velocimeter"]
GYRO = CODE["gyro"]
MAGNETOMETER = CODE["magnetometer"]
SUBTREECOM = CODE["subtreecom"]
SUBTREELINVEL = CODE["subtreelinvel"]

Quaternion = tuple[Scalar, Scalar, Scalar, Scalar]


@kernel
def set_values(values: Array, o: int, x: Vector) -> None:
    """Three numbers of a sensor."""
    values[o] = x[0]
    values[o + 1] = x[1]
    values[o + 2] = x[2]


@kernel
def frame_position(tree: Array, w: Array, f: int) -> Triple:
    """Position of a frame in the world."""
    b = tree.frame_body[f]
    return add(w.o[b], rotate(w.E[b], tree.frame_position[f]))


@kernel
def frame_axis(tree: Array, w: Array, f: int, k: int) -> Triple:
    """An axis of a frame, in the world's axes."""
    return rotate(w.E[tree.frame_body[f]], column(tree.frame_rotation[f], k))


@kernel
def in_frame(tree: Array, w: Array, f: int, x: Vector) -> Triple:
    """A vector given in the world's axes, in those of a frame."""
    return rotate_inverse(tree.frame_rotation[f], rotate_inverse(w.E[tree.frame_body[f]], x))


@kernel
def frame_velocity(tree: Array, w: Array, f: int) -> Triple:
    """Linear velocity of a frame's origin, in the axes of its body."""
    b = tree.frame_body[f]
    return add(w.u[b], cross(w.omega[b], tree.frame_position[f]))


@kernel
def frame_acceleration(tree: Array, w: Array, f: int) -> Triple:
    """Linear acceleration of a frame's origin less gravity, in the axes of its body."""
    b = tree.frame_body[f]
    return add(linear(w.a[b]), rotate(w.accel_field[b], tree.frame_position[f]))


# Orientation --------------------------------------------------------------------------------------------------------


@kernel
def quaternion_product(a: Vector, b: Vector) -> Quaternion:
    """``a b`` of quaternions ``w x y z``."""
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] + a[2] * b[0] + a[3] * b[1] - a[1] * b[3],
        a[0] * b[3] + a[3] * b[0] + a[1] * b[2] - a[2] * b[1],
    )


@kernel
def joint_quaternion(q: Array, o: int) -> Quaternion:
    """The quaternion ``w x y z`` of length one of numbers ``x y z w`` of q."""
    k = 1.0 / sqrt(q[o] * q[o] + q[o + 1] * q[o + 1] + q[o + 2] * q[o + 2] + q[o + 3] * q[o + 3])
    return k * q[o + 3], k * q[o], k * q[o + 1], k * q[o + 2]


@kernel
def half_angle(c: Scalar, s: Scalar) -> Quaternion:
    """The quaternion of a turn about z, given the cosine and sine of its angle."""
    k = 1.0 / sqrt(c * c + s * s)
    x = k * c
    y = k * s
    large = sqrt(0.5 + 0.5 * magnitude(x))  # cosine of half the angle, or the size of its sine
    small = 0.5 * (y / large)
    sign = where(y, 0.0, -1.0, 1.0)
    return where(x, 0.0, sign * small, large), 0.0, 0.0, where(x, 0.0, sign * large, small)


@kernel
def joint_turn(tree: Array, i: int, q: Array) -> Quaternion:
    """The rotation of joint ``i``, from where it is at zero."""
    kind = tree.kind[i]
    o = tree.iq[i]
    if kind == REVOLUTE or kind == HELICAL:
        s, c = sincos(0.5 * q[o])
        return c, 0.0, 0.0, s
    if kind == PRISMATIC:
        return 1.0, 0.0, 0.0, 0.0
    if kind == PLANAR:
        return half_angle(q[o + 2], q[o + 3])
    if kind == SPHERICAL:
        return joint_quaternion(q, o)
    return joint_quaternion(q, o + 3)


@kernel
def frame_quaternion(tree: Array, q: Array, f: int) -> Quaternion:
    """The orientation of a frame in the world, continuous in q."""
    e = tree.frame_quaternion[f]
    x = (e[0], e[1], e[2], e[3])
    i = tree.frame_body[f]
    while i > 0:
        x = quaternion_product(joint_turn(tree, i, q), x)
        if tree.has_turn[i] != 0:
            x = quaternion_product(tree.joint_quaternion[i], x)
        i = tree.parent[i]
    return x


@kernel
def sense_orientation(tree: Array, q: Array, k: int, f: int, g: int, o: int, values: Array) -> None:
    """The quaternion of a frame, in the world or in its reference."""
    x = frame_quaternion(tree, q, f)
    if g >= 0:
        r = frame_quaternion(tree, q, g)
        x = quaternion_product((r[0], -r[1], -r[2], -r[3]), x)
    for j in range(4):
        values[o + j] = tree.sensor_sign[k] * x[j]


# Frames -------------------------------------------------------------------------------------------------------------


@kernel
def sense_pose(tree: Array, w: Array, kind: int, f: int, g: int, o: int, values: Array) -> None:
    """Position, or an axis, of a frame, in the world or in its reference."""
    if kind == FRAMEPOS:
        x = frame_position(tree, w, f)
        if g >= 0:
            x = in_frame(tree, w, g, sub(x, frame_position(tree, w, g)))
        set_values(values, o, x)
    else:
        y = frame_axis(tree, w, f, kind - XAXIS)
        if g >= 0:
            y = in_frame(tree, w, g, y)
        set_values(values, o, y)


@kernel
def sense_motion(tree: Array, w: Array, kind: int, f: int, g: int, o: int, values: Array) -> None:
    """Linear or angular velocity of a frame, in the world's axes or as its reference sees it."""
    b = tree.frame_body[f]
    if kind == FRAMELINVEL:
        x = rotate(w.E[b], frame_velocity(tree, w, f))
        if g >= 0:
            c = tree.frame_body[g]
            arm = sub(frame_position(tree, w, f), frame_position(tree, w, g))
            carried = add(rotate(w.E[c], frame_velocity(tree, w, g)), cross(rotate(w.E[c], w.omega[c]), arm))
            x = in_frame(tree, w, g, sub(x, carried))
        set_values(values, o, x)
    else:
        y = rotate(w.E[b], w.omega[b])
        if g >= 0:
            c = tree.frame_body[g]
            y = in_frame(tree, w, g, sub(y, rotate(w.E[c], w.omega[c])))
        set_values(values, o, y)


@kernel
def sense_acceleration(tree: Array, w: Array, kind: int, f: int, o: int, values: Array) -> None:
    """Linear or angular acceleration of a frame, in the world's axes; gravity counts as one upwards."""
    b = tree.frame_body[f]
    if kind == FRAMELINACC:
        set_values(values, o, rotate(w.E[b], frame_acceleration(tree, w, f)))
    else:
        set_values(values, o, rotate(w.E[b], angular(w.a[b])))


@kernel
def sense_inertially(tree: Array, w: Array, kind: int, f: int, k: int, o: int, values: Array) -> None:
    """Values in the frame's own axes: accelerometer, velocimeter, gyro, magnetometer."""
    R = tree.frame_rotation[f]
    if kind == ACCELEROMETER:
        set_values(values, o, rotate_inverse(R, frame_acceleration(tree, w, f)))
    elif kind == VELOCIMETER:
        set_values(values, o, rotate_inverse(R, frame_velocity(tree, w, f)))
    elif kind == GYRO:
        set_values(values, o, rotate_inverse(R, w.omega[tree.frame_body[f]]))
    else:
        set_values(values, o, in_frame(tree, w, f, tree.sensor_constants[k]))


# Subtrees -----------------------------------------------------------------------------------------------------------


@kernel
def moment_of(w: Array, b: int, mass: Scalar, mc: Vector) -> Triple:
    """First moment of a mass on body ``b``, in the world."""
    return add(scale(mass, w.o[b]), rotate(w.E[b], mc))


@kernel
def momentum_of(w: Array, b: int, mass: Scalar, mc: Vector) -> Triple:
    """Linear momentum of a mass on body ``b``, in the world's axes."""
    return rotate(w.E[b], add(scale(mass, w.u[b]), cross(w.omega[b], mc)))


@kernel
def angular_momentum_of(w: Array, b: int, mass: Scalar, mc: Vector, I: Vector) -> Triple:
    """Angular momentum of a mass on body ``b`` about the world's origin, in the world's axes."""
    about_origin = rotate(w.E[b], add(symmetric_product(I, w.omega[b]), cross(mc, w.u[b])))
    return add(about_origin, cross(w.o[b], momentum_of(w, b, mass, mc)))


@kernel
def subtree_moment(tree: Array, w: Array, p: int) -> Triple:
    """First moment of mass of a part and of all that it carries, in the world."""
    x = moment_of(w, tree.part_body[p], tree.part_mass[p], tree.part_mc[p])
    for e in range(tree.part_body_start[p], tree.part_body_start[p] + tree.part_body_count[p]):
        i = tree.part_bodies[e]
        x = add(x, moment_of(w, i, tree.mass[i], tree.mc[i]))
    return x


@kernel
def subtree_momentum(tree: Array, w: Array, p: int) -> Triple:
    """``h`` of a part and of all that it carries."""
    h = momentum_of(w, tree.part_body[p], tree.part_mass[p], tree.part_mc[p])
    for e in range(tree.part_body_start[p], tree.part_body_start[p] + tree.part_body_count[p]):
        i = tree.part_bodies[e]
        h = add(h, momentum_of(w, i, tree.mass[i], tree.mc[i]))
    return h


@kernel
def sense_subtree(tree: Array, w: Array, kind: int, p: int, o: int, values: Array) -> None:
    """Center of mass of a subtree, its velocity, or the angular momentum about it."""
    k = 1.0 / tree.part_total[p]
    if kind == SUBTREECOM:
        set_values(values, o, scale(k, subtree_moment(tree, w, p)))
    elif kind == SUBTREELINVEL:
        set_values(values, o, scale(k, subtree_momentum(tree, w, p)))
    else:
        b = tree.part_body[p]
        l = angular_momentum_of(w, b, tree.part_mass[p], tree.part_mc[p], tree.part_I[p])
        for e in range(tree.part_body_start[p], tree.part_body_start[p] + tree.part_body_count[p]):
            i = tree.part_bodies[e]
            l = add(l, angular_momentum_of(w, i, tree.mass[i], tree.mc[i], tree.I[i]))
        center = scale(k, subtree_moment(tree, w, p))
        set_values(values, o, sub(l, cross(center, subtree_momentum(tree, w, p))))
