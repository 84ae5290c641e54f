# SPDX-License-Identifier: BSD-3-Clause
"""Points of bodies in the world: positions, velocities, accelerations, Jacobians, and rates of Jacobians.

Featherstone, Rigid Body Dynamics Algorithms, Section 2.10: the classical acceleration of a point. Points are inputs,
each in the axes of a frame. Symbols as in `kinematics`, and for rates as in `common_frame`, in the world's frame.

| symbol | meaning                                             |
|--------|-----------------------------------------------------|
| points | a point for each frame, in the axes of that frame   |
| c      | the same in the axes of the body                    |
| tip    | the same in the world                               |

Cost: O(n) in the number of bodies that carry the frames; Jacobians O(n d), with d the depth of the frame.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.joints import axis_of, dof_of
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.spatial import Triple, add, angular, column, cross, linear, rotate, scale, set_vector, sub
from linkwork.kernels.tree.common_frame import COMMON_MOTION
from linkwork.kernels.tree.kinematics import (
    ACCELERATION,
    MOTION,
    POSE,
    VELOCITY,
    WORLD_POSE,
    support_accelerations,
    support_transforms,
    support_velocities,
)
from linkwork.kernels.tree.momentum_matrix import support_motion_columns
from linkwork.model.joints import HELICAL


@kernel
def point_in_body(tree: Array, f: int, points: Array) -> Triple:
    """``c`` of frame ``f``."""
    return add(tree.frame_position[f], rotate(tree.frame_rotation[f], points[f]))


@kernel
def point_positions(tree: Array, w: Array, q: Array, points: Array, position: Array) -> None:
    """Positions in the world."""
    support_transforms(tree, w, q)
    for f in range(tree.nf):
        b = tree.frame_body[f]
        set_vector(add(w.o[b], rotate(w.E[b], point_in_body(tree, f, points))), position[f])


@kernel
def point_velocities(tree: Array, w: Array, q: Array, v: Array, points: Array, velocity: Array) -> None:
    """Velocities in the world."""
    support_velocities(tree, w, q, v, 1)
    for f in range(tree.nf):
        b = tree.frame_body[f]
        moved = add(w.u[b], cross(w.omega[b], point_in_body(tree, f, points)))
        set_vector(rotate(w.E[b], moved), velocity[f])


@kernel
def point_accelerations(tree: Array, w: Array, q: Array, v: Array, a: Array, points: Array, out: Array) -> None:
    """Accelerations in the world; gravity is not added."""
    support_accelerations(tree, w, q, v, a, 1)
    for f in range(tree.nf):
        b = tree.frame_body[f]
        moved = add(linear(w.a[b]), rotate(w.accel_field[b], point_in_body(tree, f, points)))
        set_vector(rotate(w.E[b], moved), out[f])


@kernel
def clear_point_rows(tree: Array, J: Array) -> None:
    """``J = 0``."""
    for j in range(3):
        for k in range(tree.nv):
            J[j, k] = 0.0


@kernel
def set_point_column(x: Triple, k: int, J: Array) -> None:
    """Column ``k`` of a Jacobian."""
    for j in range(3):
        J[j, k] = x[j]


@kernel
def point_jacobians(tree: Array, w: Array, q: Array, points: Array, jacobian: Array) -> None:
    """Jacobians of positions."""
    support_transforms(tree, w, q)
    for f in range(tree.nf):
        clear_point_rows(tree, jacobian[f])
        b = tree.frame_body[f]
        tip = add(w.o[b], rotate(w.E[b], point_in_body(tree, f, points)))
        i = b
        while i > 0:
            arm = sub(tip, w.o[i])
            for k in range(dof_of(tree.kind[i])):
                axis = axis_of(tree.kind[i], k)
                z = column(w.E[i], axis % 3)
                x = cross(z, arm) if axis < 3 else z
                if tree.kind[i] == HELICAL:
                    x = add(x, scale(tree.pitch[i], z))
                set_point_column(x, tree.iv[i] + k, jacobian[f])
            i = tree.parent[i]


@kernel
def point_jacobian_rates(tree: Array, w: Array, q: Array, v: Array, points: Array, jacobian: Array) -> None:
    """Rates of Jacobians: ``Sd`` at the point, and ``S`` at its velocity."""
    support_motion_columns(tree, w, q, v)
    for f in range(tree.nf):
        clear_point_rows(tree, jacobian[f])
        b = tree.frame_body[f]
        tip = add(w.oc[b], rotate(w.Ec[b], point_in_body(tree, f, points)))
        speed = add(linear(w.V[b]), cross(angular(w.V[b]), tip))
        i = b
        while i > 0:
            for k in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
                turning = sub(angular(w.Psid_Sd[k]), angular(w.Psid[k]))
                moving = sub(linear(w.Psid_Sd[k]), linear(w.Psid[k]))
                x = add(moving, add(cross(turning, tip), cross(angular(w.S[k]), speed)))
                set_point_column(x, k, jacobian[f])
            i = tree.parent[i]


_Q: dict[str, Shape] = {"q": ("nq",)}
_V: dict[str, Shape] = {"v": ("nv",)}
_A: dict[str, Shape] = {"a": ("nv",)}
_POINTS: dict[str, Shape] = {"points": ("nf", 3)}
_JACOBIAN: dict[str, Shape] = {"jacobian": ("nf", 3, "nv")}
_IN_WORLD = POSE | WORLD_POSE

POINT_POSITIONS = Algorithm("point_positions", point_positions, _Q | _POINTS, {"position": ("nf", 3)}, _IN_WORLD)
POINT_VELOCITIES = Algorithm(
    "point_velocities", point_velocities, _Q | _V | _POINTS, {"velocity": ("nf", 3)}, _IN_WORLD | VELOCITY
)
POINT_ACCELERATIONS = Algorithm(
    "point_accelerations",
    point_accelerations,
    _Q | _V | _A | _POINTS,
    {"acceleration": ("nf", 3)},
    _IN_WORLD | MOTION | ACCELERATION,
)
POINT_JACOBIANS = Algorithm("point_jacobians", point_jacobians, _Q | _POINTS, _JACOBIAN, _IN_WORLD)
POINT_JACOBIAN_RATES = Algorithm(
    "point_jacobian_rates", point_jacobian_rates, _Q | _V | _POINTS, _JACOBIAN, COMMON_MOTION
)
