# SPDX-License-Identifier: BSD-3-Clause
"""Center of mass, centroidal momentum, kinetic and potential energy: sums over all bodies.

Orin, Goswami and Lee, Centroidal dynamics of a humanoid robot, for the momentum. Symbols as in `kinematics`.
Cost: O(n).
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.scalar import Array, Scalar, kernel
from linkwork.kernels.spatial import (
    add,
    cross,
    dot,
    rotate,
    scale,
    set_angular,
    set_linear,
    set_vector,
    sub,
    symmetric_product,
)
from linkwork.kernels.tree.kinematics import POSE, VELOCITY, WORLD_POSE, joint_transforms, velocities, world_transforms


@kernel
def first_moment(tree: Array, w: Array, out: Array) -> Scalar:
    """First moment of mass, in the world; returns the total mass."""
    total = 0.0
    set_vector((0.0, 0.0, 0.0), out)
    for i in range(tree.n):
        total = total + tree.mass[i]
        set_vector(add(out, add(scale(tree.mass[i], w.o[i]), rotate(w.E[i], tree.mc[i]))), out)
    return total


@kernel
def center_of_mass(tree: Array, w: Array, q: Array, position: Array) -> None:
    """Center of mass in the world."""
    joint_transforms(tree, w, q)
    world_transforms(tree, w)
    total = first_moment(tree, w, position)
    set_vector(scale(1.0 / total, position), position)


@kernel
def momentum(tree: Array, w: Array, q: Array, v: Array, h: Array) -> None:
    """Centroidal momentum: angular about the center of mass, and linear, in the world's axes."""
    joint_transforms(tree, w, q)
    world_transforms(tree, w)
    velocities(tree, w, v)
    set_angular((0.0, 0.0, 0.0), h)
    set_linear((0.0, 0.0, 0.0), h)
    for i in range(1, tree.n):
        mc = tree.mc[i]
        p = add(scale(tree.mass[i], w.u[i]), cross(w.omega[i], mc))
        angular_momentum = add(symmetric_product(tree.I[i], w.omega[i]), cross(mc, w.u[i]))
        p = rotate(w.E[i], p)
        angular_momentum = add(rotate(w.E[i], angular_momentum), cross(w.o[i], p))
        set_angular(add((h[0], h[1], h[2]), angular_momentum), h)
        set_linear(add((h[3], h[4], h[5]), p), h)
    total = first_moment(tree, w, w.center)
    center = scale(1.0 / total, w.center)
    set_angular(sub((h[0], h[1], h[2]), cross(center, (h[3], h[4], h[5]))), h)


@kernel
def energies(tree: Array, w: Array, q: Array, v: Array, kinetic: Array, potential: Array) -> None:
    """Kinetic energy (armatures included), and potential energy of gravity, zero at the world's origin."""
    joint_transforms(tree, w, q)
    world_transforms(tree, w)
    velocities(tree, w, v)
    twice = 0.0
    for i in range(1, tree.n):
        angular_momentum = symmetric_product(tree.I[i], w.omega[i])
        mc_x_u = cross(tree.mc[i], w.u[i])
        u = w.u[i]
        twice = twice + (dot(w.omega[i], add(angular_momentum, add(mc_x_u, mc_x_u))) + tree.mass[i] * dot(u, u))
    for k in range(tree.nv):
        twice = twice + tree.armature[k] * (v[k] * v[k])
    kinetic[0] = 0.5 * twice
    first_moment(tree, w, w.center)
    potential[0] = -dot(tree.gravity, w.center)


_WORK = POSE | WORLD_POSE | VELOCITY | {"center": (3,)}

CENTER_OF_MASS = Algorithm("center_of_mass", center_of_mass, {"q": ("nq",)}, {"position": (3,)}, POSE | WORLD_POSE)
MOMENTUM = Algorithm("momentum", momentum, {"q": ("nq",), "v": ("nv",)}, {"momentum": (6,)}, _WORK)
ENERGIES = Algorithm("energies", energies, {"q": ("nq",), "v": ("nv",)}, {"kinetic": (1,), "potential": (1,)}, _WORK)
