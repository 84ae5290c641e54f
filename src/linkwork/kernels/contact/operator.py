# SPDX-License-Identifier: BSD-3-Clause
"""ADMM for frictional contact on the Delassus operator and its damped inverse, without a matrix.

The iteration of `contact_admm` with the kernels of `delassus`: ``(G + R + rho)^-1`` is LCABA with springs on all rows,
a factorization for each penalty and two sweeps for each vector; products with ``G``, for residuals, are two sweeps of
ABA, whose factor is made once and kept beside that of the springs.

| symbol                           | meaning                                                    |
|----------------------------------|------------------------------------------------------------|
| mass_V, mass_D, mass_L, mass_Y   | factor of the mass matrix (`aba`): ``V, D, L, Y`` there     |

Other symbols as in `contact_admm`. Cost: linear in bodies and rows.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained.delassus import (
    DAMPED,
    apply_spring_forces,
    factorize_damped,
    setup_rows,
    solve_damped,
    solve_damped_iterate,
    spring_accelerations,
)
from linkwork.kernels.constrained.problem import clear_forces
from linkwork.kernels.contact.admm import ADMM_OUTPUTS, ADMM_SETTINGS, ADMM_WORK, State, block, start
from linkwork.kernels.contact.rows import ROW_INPUTS, Rows
from linkwork.kernels.records import view_of
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.tree.aba import articulate, articulated_bias_forces, joint_accelerations
from linkwork.plans.contact_operator import CONTACT_OPERATOR_TREE


class MassFactor(NamedTuple):
    """The work arrays of `aba`, with a factor of its own."""

    H: Array
    V: Array
    D: Array
    L: Array
    Y: Array
    Z: Array
    y: Array
    joint_inertia: Array
    R: Array
    r: Array
    cos: Array
    sin: Array
    f: Array
    a: Array


@kernel
def mass_factor(w: Array) -> MassFactor:
    """The work arrays of `aba`."""
    return MassFactor(
        w.H,
        w.mass_V,
        w.mass_D,
        w.mass_L,
        w.mass_Y,
        w.Z,
        w.y,
        w.joint_inertia,
        w.R,
        w.r,
        w.cos,
        w.sin,
        w.f,
        w.a,
    )


@kernel
def factorize_rows(tree: Array, w: Array, D: Array, rho: Array) -> None:
    """The factor of ``M + J' J / rho``."""
    factorize_damped(tree, w, rho, w.stiffness)


@kernel
def solve_rows(tree: Array, w: Array, D: Array, b: Array, x: Array) -> None:
    """``x = (G + rho)^-1 b``, refined once: stiff rows cost digits."""
    solve_damped(tree, w, b, w.steps, w.motion, x, w.steps)
    solve_damped_iterate(tree, w, b, w.steps, w.motion, x, w.steps)


@kernel
def multiply_rows(tree: Array, w: Array, D: Array, rows: Rows, f: Array, y: Array) -> None:
    """``y = G f + R f + g``."""
    clear_forces(tree, w, w.tau)
    apply_spring_forces(tree, w, f)
    articulated_bias_forces(tree, mass_factor(w), w.tau)
    joint_accelerations(tree, mass_factor(w), w.motion)
    spring_accelerations(tree, w, w.motion, y)
    for r in range(tree.nrows):
        y[r] += rows.compliance[r] * f[r] + rows.g[r]


operator_block = block(factorize_rows, solve_rows, multiply_rows)
operator_start = start(multiply_rows)


operator_view = view_of(Array, Array, Rows, Array, Array, State)


@kernel
def operator_admm(
    tree: Array, w: Array, q: Array, D: Array, rows: Rows, guess: Array, settings: Array, state: State
) -> None:
    """The guess in its cones, the velocities that it leaves, and their residual."""
    setup_rows(tree, w, q, w.e)
    articulate(tree, mass_factor(w))
    operator_start(tree, w, D, rows, D, guess, settings, state)


@kernel
def operator_admm_iterate(
    tree: Array, w: Array, q: Array, D: Array, rows: Rows, guess: Array, settings: Array, state: State
) -> None:
    """A block of iterations."""
    operator_block(tree, w, D, rows, D, settings, state)


OPERATOR_WORK: dict[str, Shape] = {
    "mass_V": ("n", 6),
    "mass_D": ("n",),
    "mass_L": ("n", 6, 6),
    "mass_Y": ("n", 6, 6),
    "stiffness": ("nc",),
    "motion": ("nv",),
    "steps": (2,),
}

OPERATOR_ADMM = Algorithm(
    "contact_operator_admm",
    operator_admm,
    {"q": ("nq",), "D": ("nrows",)} | ROW_INPUTS | ADMM_SETTINGS,
    ADMM_OUTPUTS,
    DAMPED | ADMM_WORK | OPERATOR_WORK,
    CONTACT_OPERATOR_TREE,
    operator_admm_iterate,
    view=operator_view,
)
