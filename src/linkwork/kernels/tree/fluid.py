# SPDX-License-Identifier: BSD-3-Clause
"""Forces of a medium on shapes of bodies: MuJoCo's ``qfrc_fluid``.

A box with edges ``s`` (the inertia model) has, of the velocity ``u`` of its center through the medium and its angular
velocity ``w``, both along its axes, and ``d`` the mean of its edges::

    force   -3 pi d mu u_i  - 1/2 rho s_j s_k |u_i| u_i
    moment  -pi d³ mu w_i   - 1/64 rho s_i (s_j⁴ + s_k⁴) |w_i| w_i

An ellipsoid with semi-axes ``s`` (the ellipsoid model) has the forces of added mass ``m``, ``I``, of Magnus and Kutta
lift and of drag, linear in viscosity and quadratic in density::

    added mass   rho m u x w;                      moment  rho (m u x u + I w x w)
    Magnus       c_M rho V w x u
    Kutta        c_K rho cos(a) A (n x u) x u      n normal to the ellipsoid where u is normal to its outline
    drag         -(3 pi D mu + rho |u| (c_B A + c_S (A_max - A))) u
                 -(pi D³ mu + rho |w_i (c_A I_i + c_S (I_max - I_i))|) w

``A`` the area that is projected along ``u``, ``D`` the diameter of a sphere of the same mean axis. Velocities and
forces go along the paths from shapes to the root. Cost: for each shape its depth.
"""

from __future__ import annotations

from linkwork.kernels.elementary import magnitude, maximum
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, sqrt
from linkwork.kernels.spatial import Triple, add, cross, dot, rotate, rotate_inverse, scale, sub
from linkwork.kernels.thresholds import LEAST_DIVISOR
from linkwork.kernels.tree.kinematics import joint_transforms
from linkwork.kernels.tree.world_points import (
    add_moment,
    add_point_jacobian,
    body_rotation_rate,
    point_velocity,
    world_point,
    world_poses,
)

PI = 3.141592653589793
DENSITY, VISCOSITY, WIND = range(3)
"""Entries of the medium; the wind is three numbers."""
BLUNT, SLENDER, ANGULAR, KUTTA, MAGNUS, MASS, INERTIA = 0, 1, 2, 3, 4, 5, 8
"""Entries of the coefficients of a shape; added mass and inertia are three numbers each."""


@kernel
def box_wrench(medium: Array, s: Array, w: Vector, u: Vector) -> tuple[Triple, Triple]:
    """Moment and force on a box with edges ``s``."""
    rho = medium[DENSITY]
    mu = medium[VISCOSITY]
    d = (s[0] + s[1] + s[2]) / 3.0
    q = (s[0] * s[0] * s[0] * s[0], s[1] * s[1] * s[1] * s[1], s[2] * s[2] * s[2] * s[2])
    stokes_n = PI * d * d * d * mu
    stokes_f = 3.0 * PI * d * mu
    n = (
        -(stokes_n + rho * s[0] * (q[1] + q[2]) / 64.0 * magnitude(w[0])) * w[0],
        -(stokes_n + rho * s[1] * (q[0] + q[2]) / 64.0 * magnitude(w[1])) * w[1],
        -(stokes_n + rho * s[2] * (q[0] + q[1]) / 64.0 * magnitude(w[2])) * w[2],
    )
    f = (
        -(stokes_f + 0.5 * rho * s[1] * s[2] * magnitude(u[0])) * u[0],
        -(stokes_f + 0.5 * rho * s[0] * s[2] * magnitude(u[1])) * u[1],
        -(stokes_f + 0.5 * rho * s[0] * s[1] * magnitude(u[2])) * u[2],
    )
    return n, f


@kernel
def multiplied(x: Vector, y: Vector) -> Triple:
    """Products of the entries of two vectors."""
    return x[0] * y[0], x[1] * y[1], x[2] * y[2]


@kernel
def ellipsoid_wrench(medium: Array, s: Array, c: Array, w: Vector, u: Vector) -> tuple[Triple, Triple]:
    """Moment and force on an ellipsoid with semi-axes ``s`` and coefficients ``c``."""
    rho = medium[DENSITY]
    mu = medium[VISCOSITY]
    momentum = scale(rho, multiplied((c[MASS], c[MASS + 1], c[MASS + 2]), u))
    angular_momentum = scale(rho, multiplied((c[INERTIA], c[INERTIA + 1], c[INERTIA + 2]), w))
    n = add(cross(momentum, u), cross(angular_momentum, w))
    f = cross(momentum, w)
    longest = maximum(maximum(s[0], s[1]), s[2])
    shortest = -maximum(maximum(-s[0], -s[1]), -s[2])
    middle = s[0] + s[1] + s[2] - longest - shortest
    speed = sqrt(dot(u, u) + LEAST_DIVISOR * LEAST_DIVISOR)
    # ``normal = S u`` with the squares of areas of sections, ``|normal|²`` and ``u . normal``.
    sections = (s[1] * s[2] * (s[1] * s[2]), s[2] * s[0] * (s[2] * s[0]), s[0] * s[1] * (s[0] * s[1]))
    normal = multiplied(sections, u)
    squares = dot(normal, normal)
    along = dot(u, normal)
    area = PI * sqrt(squares / maximum(along, LEAST_DIVISOR))
    cosine = along / maximum(speed * squares, LEAST_DIVISOR)
    largest = PI * longest * middle
    f = add(f, scale(c[MAGNUS] * rho * (4.0 / 3.0 * PI * s[0] * s[1] * s[2]), cross(w, u)))
    f = add(f, scale(c[KUTTA] * rho * cosine * area, cross(cross(normal, u), u)))
    d = 2.0 / 3.0 * (s[0] + s[1] + s[2])
    linear = 3.0 * PI * d * mu + rho * speed * (area * c[BLUNT] + c[SLENDER] * (largest - area))
    moment = 8.0 / 15.0 * PI * middle * longest * longest * longest * longest
    across = (maximum(s[1], s[2]), maximum(s[2], s[0]), maximum(s[0], s[1]))
    fourth = multiplied(multiplied(across, across), multiplied(across, across))
    moments = scale(8.0 / 15.0 * PI, multiplied((s[0], s[1], s[2]), fourth))
    resisting = add(scale(c[ANGULAR] - c[SLENDER], moments), scale(c[SLENDER] * moment, (1.0, 1.0, 1.0)))
    spun = multiplied(w, resisting)
    angular = PI * d * d * d * mu + rho * sqrt(dot(spun, spun) + LEAST_DIVISOR * LEAST_DIVISOR)
    return sub(n, scale(angular, w)), sub(f, scale(linear, u))


@kernel
def add_fluid_forces(tree: Array, w: Array, q: Array, v: Array, sign: Scalar, tau: Array) -> None:
    """``tau += sign J' f`` of the forces of the medium on all shapes."""
    joint_transforms(tree, w, q)
    world_poses(tree, w)
    wind = (tree.medium[WIND], tree.medium[WIND + 1], tree.medium[WIND + 2])
    for s in range(tree.nfluid):
        i = tree.fluid_body[s]
        p = world_point(w, i, tree.fluid_position[s])
        through = sub(point_velocity(tree, w, i, p, v), wind)
        R = tree.fluid_rotation[s]
        u = rotate_inverse(R, rotate_inverse(w.ten_E[i], through))
        spin = rotate_inverse(R, rotate_inverse(w.ten_E[i], body_rotation_rate(tree, w, i, v)))
        if tree.fluid_is_box[s] != 0:
            n, f = box_wrench(tree.medium, tree.fluid_size[s], spin, u)
        else:
            n, f = ellipsoid_wrench(tree.medium, tree.fluid_size[s], tree.fluid_drag[s], spin, u)
        add_moment(tree, w, i, 0, scale(sign, rotate(w.ten_E[i], rotate(R, n))), tau)
        add_point_jacobian(tree, w, i, 0, p, scale(sign, rotate(w.ten_E[i], rotate(R, f))), tau)
