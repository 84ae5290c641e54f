# SPDX-License-Identifier: BSD-3-Clause
"""Passive forces beyond linear springs and dampers of single coordinates, which `passive` has.

| element                     | torque                                                                    |
|-----------------------------|---------------------------------------------------------------------------|
| spring of a ball joint      | ``-k log(rest^-1 q)``, about the body's axes                              |
| spring of a free joint      | that, and ``-k R' (p - rest)`` of its position                            |
| polynomial of a coordinate  | ``-(k1 x² + k2 x³)`` of ``x = q - rest``, and ``-(d1 |v| v + d2 v³)``      |
| medium                      | see `fluid`                                                               |

MuJoCo's ``qfrc_passive``. Cost: linear in the elements; of a medium, see there.
"""

from __future__ import annotations

from linkwork.kernels.elementary import magnitude
from linkwork.kernels.scalar import Array, Scalar, kernel
from linkwork.kernels.tree.configurations import relative_quaternion, rotate_inverse_by_quaternion, rotation_vector
from linkwork.kernels.tree.fluid import add_fluid_forces
from linkwork.model.joints import FREE


@kernel
def add_ball_springs(tree: Array, q: Array, sign: Scalar, tau: Array) -> None:
    """``tau += sign`` torques of springs of ball and free joints."""
    for s in range(tree.nball_springs):
        i = tree.ball_spring_body[s]
        o = tree.iq[i]
        at = tree.iv[i]
        k = -sign * tree.ball_spring_stiffness[s]
        rest = tree.ball_spring_rest[s]
        if tree.kind[i] == FREE:
            off = rotate_inverse_by_quaternion(q, o + 3, (q[o] - rest[0], q[o + 1] - rest[1], q[o + 2] - rest[2]))
            for j in range(3):
                tau[at + j] += k * off[j]
            o = o + 3
            at = at + 3
        x, c = relative_quaternion(rest[3:7], q[o : o + 4], 0)
        turned = rotation_vector(x, c)
        for j in range(3):
            tau[at + j] += k * turned[j]


@kernel
def add_polynomials(tree: Array, q: Array, v: Array, sign: Scalar, tau: Array) -> None:
    """``tau += sign`` torques of the higher terms of springs and dampers of single coordinates."""
    for s in range(tree.npolynomials):
        k = tree.polynomial_v[s]
        c = tree.polynomial[s]
        x = q[tree.polynomial_q[s]] - c[0]
        spring = x * x * (c[1] + c[2] * x)
        damper = v[k] * (c[3] * magnitude(v[k]) + c[4] * (v[k] * v[k]))
        tau[k] -= sign * (spring + damper)


@kernel
def add_force_elements(tree: Array, w: Array, q: Array, v: Array, sign: Scalar, tau: Array) -> None:
    """``tau += sign`` torques of all of these."""
    if tree.nball_springs != 0:
        add_ball_springs(tree, q, sign, tau)
    if tree.npolynomials != 0:
        add_polynomials(tree, q, v, sign, tau)
    if tree.nfluid != 0:
        add_fluid_forces(tree, w, q, v, sign, tau)
