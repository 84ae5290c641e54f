# SPDX-License-Identifier: BSD-3-Clause
"""Motion and inertia of bodies in a common frame, in which a joint has one motion subspace for all bodies beyond it.

Featherstone, Rigid Body Dynamics Algorithms, Section 3.5 and Table 5.1, in one coordinate system; Singh, Russell and
Wensing, Efficient analytical derivatives of rigid-body dynamics using spatial vector algebra, 2022, for the columns.
The common frame is the current frame of the *root body* of a tree, a child of the world: columns of its joint are unit
vectors there, and no digits are lost far from the world's origin. Accelerations are spatial ones here (the linear part
is not that of a point of the body), gravity is an acceleration of the world.

| symbol  | meaning                                                                                       |
|---------|-----------------------------------------------------------------------------------------------|
| Ec, oc  | rotation and position of body i in the common frame                                           |
| V, A    | spatial velocity and acceleration of body i                                                   |
| S       | column of the motion subspace of each degree of freedom                                       |
| Psid    | ``v_p x S``: partial of the velocity of bodies beyond the joint by its coordinate             |
| Psidd   | ``a_p x S + v_p x Psid``: that of their acceleration is ``Psidd - v_i x Psid``                |
| Psid_Sd | ``v_p x S + v x S``: by the joint's velocity, S and ``Psid_Sd - v_i x S``                     |
| b, J    | first moment and rotational inertia of body i about the common origin                         |
| N, p    | ``sum dm xd x'`` and ``sum dm xd`` of the points x of body i: momenta                         |
| F       | net force on body i                                                                           |
| mC ...  | the same, summed over body i and all beyond it (`composite_inertias`, `composite_forces`)     |

Partials are those of vectors attached to the bodies that the joint moves. Cost: O(n).
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.joints import axis_of, dof_of, joint_transform, rotate_to_child
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel
from linkwork.kernels.spatial import (
    Six,
    Triple,
    add,
    add_to,
    angular,
    cross,
    dot,
    linear,
    rotate,
    rotate_symmetric,
    scale,
    set_angular,
    set_linear,
    set_vector,
    sub,
    symmetric_product,
)
from linkwork.kernels.tree.kinematics import POSE, pose_from_parent
from linkwork.model.joints import HELICAL

ROOT_FRAMES, ONE_FRAME, WORLD_FRAME = range(3)
"""Choices of the common frame: that of each body's own root body; one frame for all bodies, that of the root body if
there is a single one, else the world's; the world's."""

COMMON_MOTION: dict[str, Shape] = POSE | {
    "Ec": ("n", 3, 3),
    "oc": ("n", 3),
    "V": ("n", 6),
    "A": ("n", 6),
    "S": ("nv", 6),
    "Psid": ("nv", 6),
    "Psidd": ("nv", 6),
    "Psid_Sd": ("nv", 6),
}
COMMON_INERTIA: dict[str, Shape] = {
    "b": ("n", 3),
    "J": ("n", 6),
    "N": ("n", 3, 3),
    "p": ("n", 3),
    "F": ("n", 6),
    "mC": ("n",),
    "bC": ("n", 3),
    "JC": ("n", 6),
    "NC": ("n", 3, 3),
    "pC": ("n", 3),
    "fC": ("n", 6),
}


# Motion -----------------------------------------------------------------------------------------------


@kernel
def in_root_frame(tree: Array, frame: int) -> int:
    """1 if the common frame is that of a root body, 0 if it is the world's."""
    if frame == WORLD_FRAME:
        return 0
    roots = 0
    for i in range(1, tree.n):
        if tree.parent[i] == 0:
            roots += 1
    return 0 if frame == ONE_FRAME and roots > 1 else 1


@kernel
def motion_columns(tree: Array, w: Array, q: Array, v: Array, frame: int) -> None:
    """Root to leaves: poses and velocities of bodies, and of each degree of freedom the columns that need no
    acceleration."""
    local = in_root_frame(tree, frame)
    set_identity(w.Ec[0], w.oc[0])
    for j in range(6):
        w.V[0, j] = 0.0
    for i in range(1, tree.n):
        body_pose(tree, w, i, q, local)
        body_velocity(tree, w, i, v)


@kernel
def body_pose(tree: Array, w: Array, i: int, q: Array, local: int) -> None:
    """``Ec, oc`` of body ``i`` and ``S`` of its joint; ``local``: whether the common frame is that of a root body."""
    joint_transform(tree, w, i, q)
    if local == 1 and tree.parent[i] == 0:
        set_identity(w.Ec[i], w.oc[i])
    else:
        h = tree.parent[i]
        pose_from_parent(tree, w, i, w.Ec[h], w.oc[h], w.Ec[i], w.oc[i])
    motion_subspace(tree, w, i)


@kernel
def set_identity(E: Array, o: Array) -> None:
    """A pose in its own frame."""
    set_vector((0.0, 0.0, 0.0), o)
    for j in range(3):
        for k in range(3):
            E[j, k] = 1.0 if j == k else 0.0


@kernel
def motion_subspace(tree: Array, w: Array, i: int) -> None:
    """``S`` of joint ``i``."""
    kind = tree.kind[i]
    for k in range(dof_of(kind)):
        axis = axis_of(kind, k)
        S = w.S[tree.iv[i] + k]
        z = (w.Ec[i, 0, axis % 3], w.Ec[i, 1, axis % 3], w.Ec[i, 2, axis % 3])
        if axis >= 3:
            set_angular((0.0, 0.0, 0.0), S)
            set_linear(z, S)
        else:
            set_angular(z, S)
            set_linear(cross(w.oc[i], z), S)
            if kind == HELICAL:
                set_linear(add(linear(S), scale(tree.pitch[i], z)), S)


@kernel
def body_velocity(tree: Array, w: Array, i: int, v: Array) -> None:
    """``v_i = v_p(i) + S v``, and the columns ``Psid``, ``Psid_Sd`` of joint ``i``."""
    h = tree.parent[i]
    o = tree.iv[i]
    count = dof_of(tree.kind[i])
    for j in range(6):
        x = w.V[h, j]
        for k in range(count):
            x = x + w.S[o + k, j] * v[o + k]
        w.V[i, j] = x
    for k in range(o, o + count):
        motion_cross(w.V[h], w.S[k], w.Psid[k])
        if count == 1:  # v x S = v_p x S
            for j in range(6):
                w.Psid_Sd[k, j] = w.Psid[k, j] + w.Psid[k, j]
        else:
            motion_cross(w.V[i], w.S[k], w.Psid_Sd[k])
            for j in range(6):
                w.Psid_Sd[k, j] += w.Psid[k, j]


@kernel
def motion_cross(x: Array, y: Array, z: Array) -> None:
    """``z = x x y`` of spatial motion vectors."""
    set_angular(cross(angular(x), angular(y)), z)
    set_linear(add(cross(angular(x), linear(y)), cross(linear(x), angular(y))), z)


@kernel
def world_acceleration(tree: Array, w: Array, i: int, frame: int) -> Triple:
    """``-a_g`` in the common frame of the root body ``i``."""
    up = (-tree.gravity[0], -tree.gravity[1], -tree.gravity[2])
    return rotate_to_child(tree, w, i, up) if in_root_frame(tree, frame) == 1 else up


@kernel
def acceleration_columns(tree: Array, w: Array, v: Array, a: Array, frame: int) -> None:
    """Root to leaves: ``a_i = a_p(i) + S a + v_i x S v`` and the columns ``Psidd``, after `motion_columns`."""
    for i in range(1, tree.n):
        o = tree.iv[i]
        count = dof_of(tree.kind[i])
        h = tree.parent[i]
        if h == 0:
            set_angular((0.0, 0.0, 0.0), w.A[0])
            set_linear(world_acceleration(tree, w, i, frame), w.A[0])
        for k in range(o, o + count):
            motion_cross(w.A[h], w.S[k], w.Psidd[k])
            Psid = w.Psid[k]
            turned = cross(angular(w.V[h]), angular(Psid))
            moved = add(cross(angular(w.V[h]), linear(Psid)), cross(linear(w.V[h]), angular(Psid)))
            add_to(turned, moved, w.Psidd[k])
        for j in range(6):
            x = w.A[h, j]
            for k in range(count):  # v_i x S v = v_p x S v
                x = x + (w.S[o + k, j] * a[o + k] + w.Psid[o + k, j] * v[o + k])
            w.A[i, j] = x


# Inertia and forces -----------------------------------------------------------------------------------


@kernel
def common_inertia(tree: Array, w: Array, i: int) -> None:
    """``b, J``: inertia of body ``i`` about the common origin, in common axes."""
    c = rotate(w.Ec[i], tree.mc[i])
    moved, J = shifted_inertia(tree.mass[i], c, rotate_symmetric(w.Ec[i], tree.I[i]), w.oc[i])
    set_vector(moved, w.b[i])
    for j in range(6):
        w.J[i, j] = J[j]


@kernel
def shifted_inertia(m: Scalar, c: Vector, J: Vector, r: Vector) -> tuple[Triple, Six]:
    """First moment and rotational inertia, about the common origin, of a body whose own origin is at ``r``."""
    moved = add(c, scale(m, r))
    diagonal = dot(r, c) + dot(r, moved)
    return moved, (
        J[0] + (diagonal - (c[0] + moved[0]) * r[0]),
        J[1] - (c[0] * r[1] + r[0] * moved[1]),
        J[2] - (c[0] * r[2] + r[0] * moved[2]),
        J[3] + (diagonal - (c[1] + moved[1]) * r[1]),
        J[4] - (c[1] * r[2] + r[1] * moved[2]),
        J[5] + (diagonal - (c[2] + moved[2]) * r[2]),
    )


@kernel
def momenta(tree: Array, w: Array, i: int) -> None:
    """``p = m u + omega x b`` and ``N = u b' + [omega]x sum dm x x'`` of body ``i``."""
    omega = angular(w.V[i])
    u = linear(w.V[i])
    b = w.b[i]
    J = w.J[i]
    set_vector(add(scale(tree.mass[i], u), cross(omega, b)), w.p[i])
    half = 0.5 * (J[0] + J[3] + J[5])
    x = cross(omega, (half - J[0], -J[1], -J[2]))  # sum dm x x' = tr(J) / 2 - J
    y = cross(omega, (-J[1], half - J[3], -J[4]))
    z = cross(omega, (-J[2], -J[4], half - J[5]))
    for k in range(3):
        w.N[i, k, 0] = x[k] + u[k] * b[0]
        w.N[i, k, 1] = y[k] + u[k] * b[1]
        w.N[i, k, 2] = z[k] + u[k] * b[2]


@kernel
def angular_momentum(N: Array) -> Triple:
    """``sum dm x x xd``."""
    return N[2, 1] - N[1, 2], N[0, 2] - N[2, 0], N[1, 0] - N[0, 1]


@kernel
def net_force(tree: Array, w: Array, i: int) -> None:
    """``F = I a + v x* I v`` of body ``i``."""
    omega = angular(w.V[i])
    u = linear(w.V[i])
    alpha = angular(w.A[i])
    a = linear(w.A[i])
    p = w.p[i]
    b = w.b[i]
    gyroscopic = add(cross(omega, angular_momentum(w.N[i])), cross(u, p))
    set_angular(add(add(symmetric_product(w.J[i], alpha), cross(b, a)), gyroscopic), w.F[i])
    set_linear(add(add(scale(tree.mass[i], a), cross(alpha, b)), cross(omega, p)), w.F[i])


@kernel
def body_inertias(tree: Array, w: Array) -> None:
    """``b, J, N, p`` of all bodies, after `motion_columns`."""
    for i in range(1, tree.n):
        common_inertia(tree, w, i)
        momenta(tree, w, i)


@kernel
def net_forces(tree: Array, w: Array, wrenches: Array) -> None:
    """``F`` of all bodies, less external wrenches, each of which is given in the axes of its frame."""
    for i in range(1, tree.n):
        net_force(tree, w, i)
    for f in range(tree.nf):
        i = tree.frame_body[f]
        if i > 0:
            force = rotate(tree.frame_rotation[f], linear(wrenches[f]))
            moment = add(rotate(tree.frame_rotation[f], angular(wrenches[f])), cross(tree.frame_position[f], force))
            subtract_body_force(w, i, moment, force)


@kernel
def subtract_body_force(w: Array, i: int, moment: Vector, force: Vector) -> None:
    """``F_i = F_i - [moment; force]``, given in the axes of body ``i`` and about its origin: it moves with the body."""
    common = rotate(w.Ec[i], force)
    set_angular(sub(angular(w.F[i]), add(rotate(w.Ec[i], moment), cross(w.oc[i], common))), w.F[i])
    set_linear(sub(linear(w.F[i]), common), w.F[i])


@kernel
def composite_inertias(tree: Array, w: Array) -> None:
    """Leaves to root: ``m, b, J, N, p`` of each body and all beyond it."""
    for i in range(1, tree.n):
        w.mC[i] = tree.mass[i]
        for j in range(3):
            w.bC[i, j] = w.b[i, j]
            w.pC[i, j] = w.p[i, j]
            for k in range(3):
                w.NC[i, j, k] = w.N[i, j, k]
        for j in range(6):
            w.JC[i, j] = w.J[i, j]
    for i in range(tree.n - 1, 0, -1):
        h = tree.parent[i]
        if h > 0:
            w.mC[h] += w.mC[i]
            for j in range(3):
                w.bC[h, j] += w.bC[i, j]
                w.pC[h, j] += w.pC[i, j]
                for k in range(3):
                    w.NC[h, j, k] += w.NC[i, j, k]
            for j in range(6):
                w.JC[h, j] += w.JC[i, j]


@kernel
def composite_forces(tree: Array, w: Array) -> None:
    """Leaves to root: forces across joints, ``fC_p(i) = fC_p(i) + fC_i``."""
    for i in range(1, tree.n):
        for j in range(6):
            w.fC[i, j] = w.F[i, j]
    for i in range(tree.n - 1, 0, -1):
        if tree.parent[i] > 0:
            add_to(angular(w.fC[i]), linear(w.fC[i]), w.fC[tree.parent[i]])
