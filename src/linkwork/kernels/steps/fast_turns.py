# SPDX-License-Identifier: BSD-3-Clause
"""A bound on the energy of fast rotations in steps by slots: the work of gravity, torques and wrenches.

Explicit Coriolis forces, and loops that open by large angles, add energy in each step (`gyroscopic`). Kinetic energy is
measured with velocities after a step and the mass matrix of the positions before it::

    v+' M v+ <= v' M_last v + 2 h W        W = (v + v+)' (tau + gravity + wrenches) / 2

Where some body turns by more than `LEAST_TURN` in a step and this does not hold, ``v+`` is scaled by one factor so that
it does. Rows of closed loops stay at rest, and contacts that do not overlap do not close faster. The change of
velocities, in the norm of the mass matrix, is a residual of the step, which counts as missed.

| symbol         | meaning                                                                               |
|----------------|---------------------------------------------------------------------------------------|
| v_half, v_end  | mean velocities of the step, and ``v+``, in axes of its start                          |
| q_last, v_last | positions at the start of the step before, and ``v`` in axes of then                   |
| q_slow         | positions after the step with smaller velocities                                       |
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.problem import ContactProblem, ContactResult
from linkwork.kernels.contact.reduced.gyroscopic import LEAST_TURN
from linkwork.kernels.contact.setup import implicit_joint_torques
from linkwork.kernels.elementary import copy_numbers, maximum, minimum
from linkwork.kernels.integration import integrate_from_axes
from linkwork.kernels.scalar import Array, Scalar, any_below, kernel, sqrt, where
from linkwork.kernels.spatial import angular, cross, dot, linear, symmetric_product
from linkwork.kernels.thresholds import LEAST_DENOMINATOR
from linkwork.kernels.tree.kinematics import joint_transforms, velocities
from linkwork.kernels.tree.rnea import apply_wrenches, forward_pass, init_root

FAST_TURN_WORK: dict[str, Shape] = {
    "v_half": ("nv",),
    "v_last": ("nv",),
    "v_end": ("nv",),
    "q_last": ("nq",),
    "q_slow": ("nq",),
}


@kernel
def largest_turn(tree: Array, w: Array) -> Scalar:
    """The largest angular velocity of bodies."""
    square = 0.0
    for i in range(1, tree.n):
        square = maximum(square, dot(w.omega[i], w.omega[i]))
    return sqrt(square)


@kernel
def twice_energy(tree: Array, w: Array, v: Array) -> Scalar:
    """``v' M v`` of the velocities of bodies and, for armatures, of joints."""
    total = 0.0
    for i in range(1, tree.n):
        x = w.omega[i]
        u = w.u[i]
        spin = dot(x, symmetric_product(tree.I[i], x)) + 2.0 * dot(tree.mc[i], cross(u, x))
        total = total + spin + tree.mass[i] * dot(u, u)
    for k in range(tree.nv):
        total = total + tree.armature[k] * v[k] * v[k]
    return total


@kernel
def work_of_forces(tree: Array, w: Array, problem: ContactProblem, v: Array) -> Scalar:
    """Power of gravity, wrenches and joint torques at the velocities ``v``; ``v_last`` is overwritten."""
    implicit_joint_torques(tree, w, problem.q, problem.v, problem.tau, problem.settings.dt)
    for k in range(tree.nv):
        w.v_last[k] = 0.0
    init_root(tree, w)
    for i in range(1, tree.n):
        forward_pass(tree, w, i, problem.q, w.v_last, w.v_last)
    apply_wrenches(tree, w, problem.wrenches)
    velocities(tree, w, v)
    power = 0.0
    for k in range(tree.nv):
        power = power + w.torque[k] * v[k]
    for i in range(1, tree.n):
        power = power - (dot(angular(w.f[i]), w.omega[i]) + dot(linear(w.f[i]), w.u[i]))
    return power


@kernel
def bound_energy(tree: Array, w: Array, problem: ContactProblem, result: ContactResult) -> Scalar:
    """Scale ``result.v`` down where bodies turn fast and gain energy, and ``result.q`` with it; the residual.

    Velocities of bodies are those before the step, as `setup_contact_problem` leaves them.
    """
    h = problem.settings.dt
    missing = 0.0
    fast = where(LEAST_TURN, h * largest_turn(tree, w), 1.0, 0.0)
    if any_below(0.5 - fast, 0.0):
        for k in range(tree.nv):
            w.v_end[k] = problem.v[k] + h * result.a[k]
            w.v_half[k] = problem.v[k] + 0.5 * h * result.a[k]
        most = 2.0 * h * work_of_forces(tree, w, problem, w.v_half)
        velocities(tree, w, w.v_end)
        energy = twice_energy(tree, w, w.v_end)
        copy_numbers(problem.v, w.v_last, tree.nv)
        integrate_from_axes(tree, problem.q, w.v_last, -h, w.q_last)
        joint_transforms(tree, w, w.q_last)
        velocities(tree, w, w.v_last)
        most = maximum(most + twice_energy(tree, w, w.v_last), 0.0)
        part = minimum(sqrt(most / maximum(energy, LEAST_DENOMINATOR)), 1.0)
        slower = fast * where(part, 1.0, 1.0, 0.0)
        mass = 0.0
        for i in range(1, tree.n):
            mass = mass + tree.mass[i]
        missing = where(0.5, slower, (1.0 - part) * sqrt(energy / mass), 0.0)
        for k in range(tree.nv):
            w.v_end[k] = part * w.v_end[k]
        integrate_from_axes(tree, problem.q, w.v_end, h, w.q_slow)
        for k in range(tree.nv):
            result.v[k] = where(0.5, slower, w.v_end[k], result.v[k])
        for k in range(tree.nq):
            result.q[k] = where(0.5, slower, w.q_slow[k], result.q[k])
    return missing
