# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of actuator and tendon forces by velocity, which belong to the matrix of an implicit step.

A step of the time ``h`` whose forces are damped by the velocity *after* it solves ``(M + h D) a = tau - c``, with
``D = -d tau / dv`` and ``tau`` at the velocity before it: MuJoCo's ``implicitfast``. Each damper is one row of moment
arms with one coefficient, ``D = sum d J' J``. Where an actuator drives a single degree of freedom, ``h d gear²`` is
armature; tendons, and actuators that drive several, couple degrees of freedom.

| symbol          | meaning                                                                                   |
|-----------------|-------------------------------------------------------------------------------------------|
| d               | damping, ``-d force / d rate >= 0``; zero where the force is at its limit                  |
| J, coupled_J    | moment arms of dampers that couple degrees of freedom; ``coupled_damping`` is their d      |
| Y               | ``M^-1 J'``                                                                               |
| S               | ``1 + h d J Y``                                                                           |

Forces that grow with velocity (``d < 0``) stay explicit: the matrix remains positive definite. Stiffness stays explicit
as well. Cost: linear in actuators, and in the degrees of freedom for each damper that couples some.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.elementary import magnitude, maximum
from linkwork.kernels.scalar import Array, Scalar, any_below, kernel, where
from linkwork.kernels.tree.aba import articulated_bias_forces, joint_accelerations
from linkwork.kernels.tree.actuation import control_of
from linkwork.kernels.tree.motors import motor_damping
from linkwork.kernels.tree.tendons import DAMPING, LONGEST, SHORTEST, STOP_DAMPING

COUPLED_DAMPERS: dict[str, Shape] = {"coupled_damping": ("ncoupled",), "coupled_J": ("ncoupled", "nv")}
DAMPING_WORK: dict[str, Shape] = {"actuator_damping": ("nu",)} | COUPLED_DAMPERS
COUPLED_WORK: dict[str, Shape] = {
    "coupled_Y": ("ncoupled", "nv"),
    "coupled_S": ("ncoupled", "ncoupled"),
    "coupled_z": ("ncoupled",),
}


@kernel
def inside(x: Scalar, range: Array) -> Scalar:
    """One where ``x`` is between two bounds and at neither, else zero."""
    return where(range[0], x, where(x, range[1], 1.0, 0.0), 0.0)


@kernel
def actuator_dampings(tree: Array, w: Array, u: Array, act: Array, h: Scalar, switch: Scalar) -> None:
    """``actuator_damping``: ``-d force / d rate`` of all actuators, after `drive_joints` with this ``switch``.

    Zero where the force of the actuator, or of all actuators on its tendon, is at its limit.
    """
    for a in range(tree.nu):
        w.actuator_damping[a] = 0.0
    if any_below(0.5 - switch, 0.0):
        for a in range(tree.nu):
            slope = tree.actuator_gain[a, 2] * control_of(tree, w, a, u, act, h) + tree.actuator_bias[a, 2]
            d = switch * maximum(-slope, 0.0)
            t = tree.actuator_tendon[a]
            if tree.nbounded_tendons != 0 and t >= 0:
                d = d * inside(w.ten_force[t], tree.tendon_force_range[t])
            if tree.actuator_network[a] >= 0:
                d = 0.0  # forces of networks are explicit
            if tree.actuator_curve[a] + tree.actuator_rubs[a] + tree.actuator_play[a] != 0:
                d = switch * motor_damping(tree.motor[a], tree.force_range[a], w.actuator_rate[a], w.actuator_law[a], d)
            else:
                d = d * inside(w.actuator_law[a], tree.force_range[a])
            w.actuator_damping[a] = d


@kernel
def add_joint_dampings(tree: Array, w: Array, h: Scalar, armature: Array) -> None:
    """``armature += h d gear²`` of actuators that drive one degree of freedom, after `actuator_dampings`.

    Torques at the limit of their joint do not change with velocity.
    """
    for a in range(tree.nu):
        if tree.actuator_tendon[a] < 0 and tree.transmission_count[a] == 1:
            t = tree.transmission_start[a]
            k = tree.transmission_v[t]
            d = w.actuator_damping[a] * inside(w.actuator_tau[k], tree.actuation_range[k])
            armature[k] += h * tree.transmission_gear[t] * tree.transmission_gear[t] * d


@kernel
def tendon_damping(tree: Array, w: Array, t: int) -> Scalar:
    """Damping of a tendon by itself and, beyond its limits, of its stops; after `tendons.tendon_states`."""
    c = tree.tendon_passive[t]
    l = w.ten_length[t]
    return c[DAMPING] + c[STOP_DAMPING] * (where(l, c[SHORTEST], 1.0, 0.0) + where(c[LONGEST], l, 1.0, 0.0))


@kernel
def coupled_dampers(tree: Array, w: Array) -> None:
    """``coupled_J, coupled_damping``: dampers of tendons, and of actuators that drive several degrees of freedom.

    After `actuator_dampings`.
    """
    for c in range(tree.ncoupled):
        row = w.coupled_J[c]
        t = tree.coupled_tendon[c]
        d = 0.0
        if t >= 0:
            d = tendon_damping(tree, w, t)
            for k in range(tree.nv):
                row[k] = w.ten_J[t, k]
            for a in range(tree.nu):
                if tree.actuator_tendon[a] == t:
                    d = d + tree.tendon_gear[a] * tree.tendon_gear[a] * w.actuator_damping[a]
        else:
            a = tree.coupled_actuator[c]
            d = w.actuator_damping[a]
            for k in range(tree.nv):
                row[k] = 0.0
            for e in range(tree.transmission_start[a], tree.transmission_start[a] + tree.transmission_count[a]):
                row[tree.transmission_v[e]] += tree.transmission_gear[e]
        w.coupled_damping[c] = d


@kernel
def add_coupled_bound(tree: Array, w: Array, h: Scalar, armature: Array) -> None:
    """``armature += h sum_c d_c |J_ck| sum_j |J_cj|``, a diagonal that is at least ``h D`` of coupled dampers.

    For methods that have no matrix to which ``h D`` could be added: ``h D - diagonal <= 0``, so that no damper reverses
    a velocity within a step, however stiff it is. The motion differs by the order of the step.
    """
    for c in range(tree.ncoupled):
        total = 0.0
        for k in range(tree.nv):
            total = total + magnitude(w.coupled_J[c, k])
        for k in range(tree.nv):
            armature[k] += h * w.coupled_damping[c] * (magnitude(w.coupled_J[c, k]) * total)


@kernel
def eliminate_unpivoted(n: int, S: Array, x: Array) -> None:
    """``x = S^-1 x`` by elimination without pivots, which overwrites ``S``."""
    for p in range(n):
        inverse = 1.0 / S[p, p]
        for i in range(p + 1, n):
            l = S[i, p] * inverse
            x[i] -= l * x[p]
            for j in range(p + 1, n):
                S[i, j] -= l * S[p, j]
    for i in range(n):
        p = n - 1 - i
        for j in range(p + 1, n):
            x[p] -= S[p, j] * x[j]
        x[p] = x[p] / S[p, p]


@kernel
def damp_coupled(tree: Array, w: Array, h: Scalar, a: Array) -> None:
    """``a`` of ``(M + h J' d J) a = x`` from that of ``M a = x``, after `aba`, whose factor of ``M`` it takes.

    Woodbury's identity: ``a - Y z`` with ``Y = M^-1 J'`` and ``(1 + h d J Y) z = h d J a``. The matrix is similar to a
    symmetric one whose eigenvalues are at least one.
    """
    for c in range(tree.ncoupled):
        for i in range(tree.n):
            for j in range(6):
                w.f[i, j] = 0.0
        articulated_bias_forces(tree, w, w.coupled_J[c])
        joint_accelerations(tree, w, w.coupled_Y[c])
    for c in range(tree.ncoupled):
        factor = h * w.coupled_damping[c]
        x = 0.0
        for k in range(tree.nv):
            x = x + w.coupled_J[c, k] * a[k]
        w.coupled_z[c] = factor * x
        for e in range(tree.ncoupled):
            x = 0.0
            for k in range(tree.nv):
                x = x + w.coupled_J[c, k] * w.coupled_Y[e, k]
            w.coupled_S[c, e] = factor * x
        w.coupled_S[c, c] += 1.0
    eliminate_unpivoted(tree.ncoupled, w.coupled_S, w.coupled_z)
    for c in range(tree.ncoupled):
        for k in range(tree.nv):
            a[k] -= w.coupled_Y[c, k] * w.coupled_z[c]
