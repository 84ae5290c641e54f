# SPDX-License-Identifier: BSD-3-Clause
"""Passive torques of joints, ``-k (q - rest) - d v`` of each degree of freedom, of tendons and of force elements.

MuJoCo's ``qfrc_passive`` without gravity compensation. Time stepping (`steps`) and inverse dynamics (`rnea`,
`clusters`) have these torques from here. Cost: linear in the number of springs and dampers; of spatial tendons, as in
`tendons`.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.scalar import Array, Scalar, kernel
from linkwork.kernels.tree.force_elements import add_ball_springs, add_force_elements, add_polynomials
from linkwork.kernels.tree.force_laws import FORCE_LAW_WORK
from linkwork.kernels.tree.tendons import TENDON_WORK, add_tendon_force, passive_force, tendon_states

ELEMENT_WORK = TENDON_WORK | FORCE_LAW_WORK
"""Work arrays of tendons and force elements."""


@kernel
def spring_torque(stiffness: Scalar, x: Scalar, rest: Scalar) -> Scalar:
    """``-k (x - rest)``."""
    return -(stiffness * (x - rest))


@kernel
def damper_torque(damping: Scalar, v: Scalar) -> Scalar:
    """``-d v``."""
    return -(damping * v)


@kernel
def subtract_passive_torques(tree: Array, w: Array, q: Array, v: Array, tau: Array) -> None:
    """``tau = tau - passive torques`` of joints, tendons and force elements: torques of actuators remain."""
    subtract_joint_torques(tree, q, v, tau)
    if tree.nforce_elements != 0:
        subtract_force_elements(tree, w, q, v, tau)


@kernel
def subtract_force_elements(tree: Array, w: Array, q: Array, v: Array, tau: Array) -> None:
    """Subtracts all passive forces but linear springs and dampers of joints: those of tendons, too."""
    if tree.npassive_tendons != 0:
        tendon_states(tree, w, q, v)
        for t in range(tree.ntendons):
            add_tendon_force(tree, w, t, -passive_force(tree, w, t), tau)
    add_force_elements(tree, w, q, v, -1.0, tau)


@kernel
def subtract_joint_torques(tree: Array, q: Array, v: Array, tau: Array) -> None:
    """Subtracts the torques of springs and dampers of joints."""
    for s in range(tree.nsprings):
        tau[tree.spring_v[s]] -= spring_torque(tree.stiffness[s], q[tree.spring_q[s]], tree.rest[s])
    for d in range(tree.ndampers):
        tau[tree.damper_v[d]] -= damper_torque(tree.damping[d], v[tree.damper_v[d]])


@kernel
def passive_torques(tree: Array, w: Array, q: Array, v: Array, tau: Array) -> None:
    """Passive torques of all joints: of their springs and dampers, polynomials and ball joints included."""
    for k in range(tree.nv):
        tau[k] = 0.0
    subtract_joint_torques(tree, q, v, tau)
    for k in range(tree.nv):
        tau[k] = -tau[k]
    if tree.nball_springs != 0:
        add_ball_springs(tree, q, 1.0, tau)
    if tree.npolynomials != 0:
        add_polynomials(tree, q, v, 1.0, tau)


PASSIVE = Algorithm("passive", passive_torques, {"q": ("nq",), "v": ("nv",)}, {"tau": ("nv",)}, {})
