# SPDX-License-Identifier: BSD-3-Clause
"""Recursive Newton-Euler algorithm: the joint torques of given joint accelerations, by `rnea`.

Featherstone, Rigid Body Dynamics Algorithms, Table 5.1, in body coordinates, with classical linear accelerations (see
`spatial`). Gravity is a fictitious acceleration of the root: ``a0 = -a_g``.

| symbol   | meaning                                                                     |
|----------|-----------------------------------------------------------------------------|
| omega, a | angular velocity and acceleration of body i (see `kinematics`)              |
| f        | net force on body i, then the force across joint i: ``[moment; force]``     |
| I, mc    | rotational inertia about the origin and first moment of mass of body i      |

Cost: O(n).
"""

from __future__ import annotations

from dataclasses import replace

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.joints import axis_of, dof_of, joint_transform, rotate_to_parent
from linkwork.kernels.scalar import Array, in_warp, kernel, prange
from linkwork.kernels.spatial import (
    add,
    add_to,
    angular,
    cross,
    euler_moment,
    linear,
    rotate,
    scale,
    set_angular,
    set_linear,
    sub,
    symmetric_product,
)
from linkwork.kernels.tree.kinematics import (
    ACCELERATION,
    MOTION,
    POSE,
    bias_accelerations,
    body_acceleration,
    body_angular_velocity,
    init_world_acceleration,
    init_world_velocity,
    joint_transforms,
)
from linkwork.kernels.tree.passive import ELEMENT_WORK, subtract_force_elements, subtract_joint_torques
from linkwork.model.joints import HELICAL

FORCE: dict[str, Shape] = {"f": ("n", 6)}
WRENCHES: Shape = ("nf", 6)
FORWARD = dict.fromkeys(("omega", "W", "c", "a", "accel_field"), "forward")
"""Arrays that `forward_pass` reads of the parent alone."""


@kernel
def set_root_acceleration(tree: Array, w: Array) -> None:
    """``a0 = -a_g``."""
    set_angular((0.0, 0.0, 0.0), w.a[0])
    set_linear((-tree.gravity[0], -tree.gravity[1], -tree.gravity[2]), w.a[0])


@kernel
def apply_wrenches(tree: Array, w: Array, wrenches: Array) -> None:
    """``f_i = f_i - fx_i``: external wrenches, each in the axes of its frame."""
    for f in range(tree.nf):
        b = tree.frame_body[f]
        force = rotate(tree.frame_rotation[f], linear(wrenches[f]))
        moment = add(rotate(tree.frame_rotation[f], angular(wrenches[f])), cross(tree.frame_position[f], force))
        if b > 0:
            set_angular(sub(angular(w.f[b]), moment), w.f[b])
            set_linear(sub(linear(w.f[b]), force), w.f[b])


@kernel
def newton_euler_forces(tree: Array, w: Array) -> None:
    """Net force on each body, Newton's and Euler's equations."""
    for i in range(1, tree.n):
        newton_euler_force(tree, w, i)


@kernel
def newton_euler_force(tree: Array, w: Array, i: int) -> None:
    """``f_i = I_i a_i + v_i x* I_i v_i``: net force on body ``i``, Newton's and Euler's equations."""
    a = linear(w.a[i])
    mc = tree.mc[i]
    set_angular(add(euler_moment(tree.I[i], w.accel_field[i]), cross(mc, a)), w.f[i])
    set_linear(add(scale(tree.mass[i], a), rotate(w.accel_field[i], mc)), w.f[i])


@kernel
def inertial_force(tree: Array, w: Array, i: int) -> None:
    """``f_i = I_i a_i``: net force on body ``i`` at zero velocity."""
    alpha = angular(w.a[i])
    a = linear(w.a[i])
    mc = tree.mc[i]
    set_angular(add(symmetric_product(tree.I[i], alpha), cross(mc, a)), w.f[i])
    set_linear(add(scale(tree.mass[i], a), cross(alpha, mc)), w.f[i])


@kernel
def init_root(tree: Array, w: Array) -> None:
    """``v0 = 0``, ``a0 = -a_g``."""
    init_world_velocity(w)
    init_world_acceleration(w)
    set_root_acceleration(tree, w)


@kernel
def forward_pass(tree: Array, w: Array, i: int, q: Array, v: Array, acceleration: Array) -> None:
    """First pass of body ``i``: pose, velocity and acceleration from those of its parent, and the net force.

    Computes `joint_transforms`, `angular_velocities`, `accelerations` and `newton_euler_forces`, in one loop over
    bodies, with each body's arrays still in the cache.
    """
    joint_transform(tree, w, i, q)
    body_angular_velocity(tree, w, i, v)
    body_acceleration(tree, w, i, acceleration)
    newton_euler_force(tree, w, i)


@kernel
def forward_passes(tree: Array, w: Array, q: Array, v: Array, acceleration: Array) -> None:
    """First pass of all bodies, root to leaves."""
    if in_warp():
        for i in prange(1, tree.n):
            joint_transform(tree, w, i, q)
        for i in range(1, tree.n):
            body_angular_velocity(tree, w, i, v)
            body_acceleration(tree, w, i, acceleration)
        for i in prange(1, tree.n):
            newton_euler_force(tree, w, i)
    else:
        for i in range(1, tree.n):
            forward_pass(tree, w, i, q, v, acceleration)


@kernel
def force_to_parent(tree: Array, w: Array, i: int) -> None:
    """``f_p(i) = f_p(i) + p(i)X*i f_i``."""
    h = tree.parent[i]
    if h > 0:
        force = rotate_to_parent(tree, w, i, linear(w.f[i]))
        moment = rotate_to_parent(tree, w, i, angular(w.f[i]))
        add_to(add(moment, cross(w.r[i], force)), force, w.f[h])


@kernel
def joint_torques(tree: Array, w: Array, tau: Array) -> None:
    """Second pass, leaves to root: ``tau_i = S' f_i``."""
    for i in range(tree.n - 1, 0, -1):
        kind = tree.kind[i]
        o = tree.iv[i]
        f = w.f[i]
        for k in range(dof_of(kind)):
            tau[o + k] = f[axis_of(kind, k)]
        if kind == HELICAL:
            tau[o] += tree.pitch[i] * f[5]
        force_to_parent(tree, w, i)


@kernel
def rnea(tree: Array, w: Array, q: Array, v: Array, a: Array, wrenches: Array, tau: Array) -> None:
    """``tau = M a + c - sum J' wrench`` (Table 5.1); rotor inertias of the joints are added at the end."""
    init_root(tree, w)
    for i in range(1, tree.n):
        forward_pass(tree, w, i, q, v, a)
    apply_wrenches(tree, w, wrenches)
    joint_torques(tree, w, tau)
    for k in range(tree.nv):
        tau[k] += tree.armature[k] * a[k]


@kernel
def inverse_dynamics(tree: Array, w: Array, q: Array, v: Array, a: Array, wrenches: Array, tau: Array) -> None:
    """`rnea` less the passive torques of springs and dampers of joints."""
    rnea(tree, w, q, v, a, wrenches, tau)
    subtract_joint_torques(tree, q, v, tau)


@kernel
def tendon_inverse_dynamics(tree: Array, w: Array, q: Array, v: Array, a: Array, wrenches: Array, tau: Array) -> None:
    """Inverse dynamics less the forces of tendons and force elements: an algorithm for robots that have some, so that
    others need no work arrays for them.
    """
    inverse_dynamics(tree, w, q, v, a, wrenches, tau)
    subtract_force_elements(tree, w, q, v, tau)


@kernel
def bias_forces(tree: Array, w: Array, q: Array, v: Array, wrenches: Array, tau: Array) -> None:
    """The bias force ``c``, torques of ``qdd = 0``: Coriolis, centrifugal and gravity terms, less external wrenches."""
    for k in range(tree.nv):
        w.qdd0[k] = 0.0
    rnea(tree, w, q, v, w.qdd0, wrenches, tau)


@kernel
def gravity_forces(tree: Array, w: Array, q: Array, tau: Array) -> None:
    """Gravity torques: `rnea` with ``v = 0`` and ``qdd = 0``."""
    joint_transforms(tree, w, q)
    set_root_acceleration(tree, w)
    for i in range(1, tree.n):
        for j in range(6):
            w.W[i, j] = 0.0
            w.c[i, j] = 0.0
    bias_accelerations(tree, w)
    newton_euler_forces(tree, w)
    joint_torques(tree, w, tau)


_WORK: dict[str, Shape] = POSE | MOTION | ACCELERATION | FORCE

RNEA = Algorithm(
    "rnea",
    inverse_dynamics,
    {"q": ("nq",), "v": ("nv",), "a": ("nv",), "wrenches": WRENCHES},
    {"tau": ("nv",)},
    _WORK,
    folded=FORWARD,
)
TENDON_RNEA = replace(RNEA, name="tendon_rnea", kernel=tendon_inverse_dynamics, work=_WORK | ELEMENT_WORK)
BIAS = Algorithm(
    "bias",
    bias_forces,
    {"q": ("nq",), "v": ("nv",), "wrenches": WRENCHES},
    {"tau": ("nv",)},
    _WORK,
    folded=FORWARD,
)
GRAVITY = Algorithm("gravity", gravity_forces, {"q": ("nq",)}, {"tau": ("nv",)}, _WORK)
