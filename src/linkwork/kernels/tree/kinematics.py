# SPDX-License-Identifier: BSD-3-Clause
"""Forward kinematics: poses, velocities and accelerations of bodies, and of frames on them.

Featherstone, Rigid Body Dynamics Algorithms, Table 5.1, first loop; in body coordinates, with classical linear
accelerations (see `spatial`).

| symbol      | meaning                                                                               |
|-------------|---------------------------------------------------------------------------------------|
| cos, sin, R | rotation of body i in its parent: about z, or in full (spherical and free joints)     |
| r           | position of body i in its parent, in the parent's axes                                |
| E, o        | rotation and position of body i in the world                                          |
| omega, u    | angular velocity of body i, linear velocity of its origin, in its own axes            |
| c           | velocity-product acceleration of body i                                               |
| a           | acceleration of body i, ``[angular; classical linear]``                               |
| W           | the matrix of ``omega x (omega x .)``, six numbers                                    |
| accel_field | the matrix of ``alpha x . + omega x (omega x .)``: accelerations of points of body i  |
| qdd0        | zero joint accelerations                                                              |

Cost: O(n) in the number of bodies, for frames of those that carry them; Jacobians O(n d), with d the depth of the
frame.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.joints import (
    axis_of,
    dof_of,
    joint_angular_velocity,
    joint_bias_acceleration,
    joint_linear_velocity,
    joint_transform,
    rotate_to_child,
)
from linkwork.kernels.scalar import Array, Vector, kernel
from linkwork.kernels.spatial import (
    add,
    angular,
    centripetal,
    column,
    cross,
    linear,
    multiply,
    rotate,
    rotate_inverse,
    scale,
    set_acceleration_field,
    set_angular,
    set_linear,
    set_vector,
    sub,
)
from linkwork.model.joints import FREE, HELICAL, PRISMATIC, SPHERICAL
from linkwork.plans.tree import ALIGNED, LOCAL

POSE: dict[str, Shape] = {"cos": ("n",), "sin": ("n",), "R": ("n", 3, 3), "r": ("n", 3), "Q": (3, 3)}
WORLD_POSE: dict[str, Shape] = {"E": ("n", 3, 3), "o": ("n", 3)}
MOTION: dict[str, Shape] = {"omega": ("n", 3), "W": ("n", 6), "c": ("n", 6)}
ACCELERATION: dict[str, Shape] = {"a": ("n", 6), "accel_field": ("n", 3, 3), "qdd0": ("nv",)}
VELOCITY: dict[str, Shape] = {"omega": ("n", 3), "u": ("n", 3)}


@kernel
def joint_transforms(tree: Array, w: Array, q: Array) -> None:
    """Pose of every body in its parent (book, Table 5.1: ``XJ``, ``iXp(i)``)."""
    for i in range(1, tree.n):
        joint_transform(tree, w, i, q)


@kernel
def angular_velocities(tree: Array, w: Array, v: Array) -> None:
    """Root to leaves: angular velocities ``omega`` and velocity-product accelerations ``c``."""
    init_world_velocity(w)
    for i in range(1, tree.n):
        body_angular_velocity(tree, w, i, v)


@kernel
def init_world_velocity(w: Array) -> None:
    """``v0 = 0``: the world is at rest."""
    set_vector((0.0, 0.0, 0.0), w.omega[0])
    for j in range(6):
        w.W[0, j] = 0.0


@kernel
def body_angular_velocity(tree: Array, w: Array, i: int, v: Array) -> None:
    """``omega`` and ``c`` of body ``i``: ``v_i = iXp(i) v_p(i) + S v``."""
    parent_omega = rotate_to_child(tree, w, i, w.omega[tree.parent[i]])
    set_vector(add(parent_omega, joint_angular_velocity(tree, i, v)), w.omega[i])
    W = centripetal(w.omega[i])
    for j in range(6):
        w.W[i, j] = W[j]
    joint_bias_acceleration(tree, w, i, v, parent_omega)


@kernel
def velocities(tree: Array, w: Array, v: Array) -> None:
    """Root to leaves: angular and linear velocity of every body, in its own axes."""
    set_vector((0.0, 0.0, 0.0), w.omega[0])
    set_vector((0.0, 0.0, 0.0), w.u[0])
    for i in range(1, tree.n):
        velocity_from_parent(tree, w, i, v)


@kernel
def velocity_from_parent(tree: Array, w: Array, i: int, v: Array) -> None:
    """``v_i = iXp(i) v_p(i) + S v``."""
    set_vector(
        add(rotate_to_child(tree, w, i, w.omega[tree.parent[i]]), joint_angular_velocity(tree, i, v)), w.omega[i]
    )
    linear_velocity(tree, w, i, v)


@kernel
def linear_velocity(tree: Array, w: Array, i: int, v: Array) -> None:
    """Linear velocity of the origin of body ``i``, given the velocity of its parent."""
    h = tree.parent[i]
    u = add(w.u[h], cross(w.omega[h], w.r[i]))
    set_vector(add(rotate_to_child(tree, w, i, u), joint_linear_velocity(tree, i, v)), w.u[i])


@kernel
def accelerations(tree: Array, w: Array, acceleration: Array) -> None:
    """Root to leaves: acceleration of every body, given that of the root, ``w.a[0]``."""
    init_world_acceleration(w)
    for i in range(1, tree.n):
        body_acceleration(tree, w, i, acceleration)


@kernel
def init_world_acceleration(w: Array) -> None:
    """The world does not rotate: all its points have the acceleration ``w.a[0]``."""
    for j in range(3):
        for k in range(3):
            w.accel_field[0, j, k] = 0.0


@kernel
def body_acceleration(tree: Array, w: Array, i: int, acceleration: Array) -> None:
    """Acceleration of body ``i``: ``a_i = iXp(i) a_p(i) + S qdd + c``."""
    h = tree.parent[i]
    a = w.a[h]
    at_joint = add(linear(a), rotate(w.accel_field[h], w.r[i]))
    c = w.c[i]
    angular_part = add(rotate_to_child(tree, w, i, angular(a)), joint_angular_velocity(tree, i, acceleration))
    set_angular(add(angular_part, angular(c)), w.a[i])
    linear_part = add(rotate_to_child(tree, w, i, at_joint), joint_linear_velocity(tree, i, acceleration))
    set_linear(add(linear_part, linear(c)), w.a[i])
    set_acceleration_field(angular(w.a[i]), w.W[i], w.accel_field[i])


@kernel
def bias_accelerations(tree: Array, w: Array) -> None:
    """Accelerations of bodies where ``qdd = 0``."""
    for k in range(tree.nv):
        w.qdd0[k] = 0.0
    accelerations(tree, w, w.qdd0)


@kernel
def acceleration_from_parent(tree: Array, w: Array, i: int, acceleration: Array) -> None:
    """``a_i = iXp(i) a_p(i) + S qdd``, without the velocity products: accelerations beyond those of ``qdd = 0``."""
    kind = tree.kind[i]
    b = w.a[tree.parent[i]]
    a = w.a[i]
    set_angular(rotate_to_child(tree, w, i, angular(b)), a)
    set_linear(rotate_to_child(tree, w, i, add(linear(b), cross(angular(b), w.r[i]))), a)
    for k in range(dof_of(kind)):
        a[axis_of(kind, k)] += acceleration[tree.iv[i] + k]
    if kind == HELICAL:
        a[5] += tree.pitch[i] * acceleration[tree.iv[i]]


@kernel
def world_transforms(tree: Array, w: Array) -> None:
    """Root to leaves: pose of every body in the world."""
    init_world_pose(w)
    for i in range(1, tree.n):
        world_transform(tree, w, i, tree.parent[i])


@kernel
def init_world_pose(w: Array) -> None:
    """Pose of the world in itself."""
    set_vector((0.0, 0.0, 0.0), w.o[0])
    for j in range(3):
        for k in range(3):
            w.E[0, j, k] = 1.0 if j == k else 0.0


@kernel
def support_transforms(tree: Array, w: Array, q: Array) -> None:
    """Root to leaves: poses, in their parents and in the world, of the bodies that frames need."""
    init_world_pose(w)
    for s in range(tree.nframe_support):
        i = tree.frame_support[s]
        joint_transform(tree, w, i, q)
        world_transform(tree, w, i, tree.parent[i])


@kernel
def world_transform(tree: Array, w: Array, i: int, h: int) -> None:
    """Pose of body ``i``, that of its parent being row ``h`` of ``E, o``."""
    pose_from_parent(tree, w, i, w.E[h], w.o[h], w.E[i], w.o[i])


@kernel
def pose_from_parent(tree: Array, w: Array, i: int, parent_E: Array, parent_o: Array, E: Array, o: Array) -> None:
    """``E, o``: the pose of body ``i``, given that of its parent."""
    kind = tree.kind[i]
    set_vector(add(parent_o, rotate(parent_E, w.r[i])), o)
    if kind == SPHERICAL or kind == FREE:
        multiply(parent_E, w.R[i], E)
    else:
        multiply(parent_E, tree.P[i], E)
        if kind != PRISMATIC:
            c = w.cos[i]
            s = w.sin[i]
            x = column(E, 0)
            y = column(E, 1)
            for j in range(3):
                E[j, 0] = c * x[j] + s * y[j]
                E[j, 1] = c * y[j] - s * x[j]


@kernel
def support_velocities(tree: Array, w: Array, q: Array, v: Array, in_world: int) -> None:
    """Kinematics of the support with velocities; poses in the world where ``in_world`` is 1."""
    init_world_pose(w)
    set_vector((0.0, 0.0, 0.0), w.omega[0])
    set_vector((0.0, 0.0, 0.0), w.u[0])
    for s in range(tree.nframe_support):
        i = tree.frame_support[s]
        joint_transform(tree, w, i, q)
        velocity_from_parent(tree, w, i, v)
        if in_world == 1:
            world_transform(tree, w, i, tree.parent[i])


@kernel
def support_accelerations(tree: Array, w: Array, q: Array, v: Array, acceleration: Array, in_world: int) -> None:
    """Kinematics of the support with angular velocities and accelerations."""
    init_world_pose(w)
    init_world_velocity(w)
    init_world_acceleration(w)
    for j in range(6):
        w.a[0, j] = 0.0
    for s in range(tree.nframe_support):
        i = tree.frame_support[s]
        joint_transform(tree, w, i, q)
        body_angular_velocity(tree, w, i, v)
        body_acceleration(tree, w, i, acceleration)
        if in_world == 1:
            world_transform(tree, w, i, tree.parent[i])


@kernel
def frame_transform(tree: Array, w: Array, f: int, rotation: Array, position: Array) -> None:
    """Pose of a frame in the world."""
    b = tree.frame_body[f]
    multiply(w.E[b], tree.frame_rotation[f], rotation)
    set_vector(add(w.o[b], rotate(w.E[b], tree.frame_position[f])), position)


@kernel
def express_in_reference(tree: Array, w: Array, f: int, angular_part: Vector, linear_part: Vector, out: Array) -> None:
    """A velocity or acceleration at frame ``f`` in the axes of its body, in the reference frame ``tree.reference``."""
    b = tree.frame_body[f]
    if tree.reference == LOCAL:
        set_angular(rotate_inverse(tree.frame_rotation[f], angular_part), out)
        set_linear(rotate_inverse(tree.frame_rotation[f], linear_part), out)
    else:
        world_angular = rotate(w.E[b], angular_part)
        world_linear = rotate(w.E[b], linear_part)
        if tree.reference != ALIGNED:
            position = add(w.o[b], rotate(w.E[b], tree.frame_position[f]))
            world_linear = add(world_linear, cross(position, world_angular))
        set_angular(world_angular, out)
        set_linear(world_linear, out)


@kernel
def frame_placements(tree: Array, w: Array, q: Array, rotation: Array, position: Array) -> None:
    """Rotation and position of each frame in the world."""
    support_transforms(tree, w, q)
    for f in range(tree.nf):
        frame_transform(tree, w, f, rotation[f], position[f])


@kernel
def frame_velocities(tree: Array, w: Array, q: Array, v: Array, velocity: Array) -> None:
    """Spatial velocity of each frame."""
    support_velocities(tree, w, q, v, 0 if tree.reference == LOCAL else 1)
    for f in range(tree.nf):
        b = tree.frame_body[f]
        linear_part = add(w.u[b], cross(w.omega[b], tree.frame_position[f]))
        express_in_reference(tree, w, f, w.omega[b], linear_part, velocity[f])


@kernel
def frame_accelerations(tree: Array, w: Array, q: Array, v: Array, acceleration: Array, out: Array) -> None:
    """Angular and classical linear acceleration of each frame (gravity is not added)."""
    support_accelerations(tree, w, q, v, acceleration, 0 if tree.reference == LOCAL else 1)
    for f in range(tree.nf):
        b = tree.frame_body[f]
        a = w.a[b]
        linear_part = add(linear(a), rotate(w.accel_field[b], tree.frame_position[f]))
        express_in_reference(tree, w, f, angular(a), linear_part, out[f])


@kernel
def frame_jacobians(tree: Array, w: Array, q: Array, jacobian: Array) -> None:
    """Jacobian of each frame: a column of motion subspace for each degree of freedom between the frame and the root."""
    support_transforms(tree, w, q)
    for f in range(tree.nf):
        frame_jacobian_columns(tree, w, f, jacobian[f])


@kernel
def frame_jacobian_columns(tree: Array, w: Array, f: int, J: Array) -> None:
    """The Jacobian of frame ``f``, poses of bodies in the world being known."""
    for j in range(6):
        for k in range(tree.nv):
            J[j, k] = 0.0
    b = tree.frame_body[f]
    tip = add(w.o[b], rotate(w.E[b], tree.frame_position[f]))
    i = b
    while i > 0:
        arm = sub(tip, w.o[i])
        for k in range(dof_of(tree.kind[i])):
            axis = axis_of(tree.kind[i], k)
            z = column(w.E[i], axis % 3)
            angular_part = z if axis < 3 else (0.0, 0.0, 0.0)
            linear_part = cross(z, arm) if axis < 3 else z
            if tree.kind[i] == HELICAL:
                linear_part = add(linear_part, scale(tree.pitch[i], z))
            if tree.reference == LOCAL:
                angular_part = rotate_inverse(tree.frame_rotation[f], rotate_inverse(w.E[b], angular_part))
                linear_part = rotate_inverse(tree.frame_rotation[f], rotate_inverse(w.E[b], linear_part))
            elif tree.reference != ALIGNED:
                linear_part = add(linear_part, cross(tip, angular_part))
            for j in range(3):
                J[j, tree.iv[i] + k] = angular_part[j]
                J[3 + j, tree.iv[i] + k] = linear_part[j]
        i = tree.parent[i]


PLACEMENTS = Algorithm(
    "placements", frame_placements, {"q": ("nq",)}, {"rotation": ("nf", 3, 3), "position": ("nf", 3)}, POSE | WORLD_POSE
)
VELOCITIES = Algorithm(
    "velocities", frame_velocities, {"q": ("nq",), "v": ("nv",)}, {"velocity": ("nf", 6)}, POSE | WORLD_POSE | VELOCITY
)
ACCELERATIONS = Algorithm(
    "accelerations",
    frame_accelerations,
    {"q": ("nq",), "v": ("nv",), "a": ("nv",)},
    {"acceleration": ("nf", 6)},
    POSE | WORLD_POSE | MOTION | ACCELERATION,
)
JACOBIANS = Algorithm("jacobians", frame_jacobians, {"q": ("nq",)}, {"jacobian": ("nf", 6, "nv")}, POSE | WORLD_POSE)
