# SPDX-License-Identifier: BSD-3-Clause
"""The inverse of the mass matrix of a tree: articulated inertias once, then two passes for each unit torque.

Featherstone, Rigid Body Dynamics Algorithms, Table 7.1, passes 2 and 3 with ``v = 0`` and without gravity; symbols as
in `aba`. A unit torque is felt to the root, and moves all bodies; those after its own are known by symmetry.

| symbol | meaning                                            |
|--------|----------------------------------------------------|
| x      | unit torque                                        |
| X      | ``M^-1``, by rows, which are columns by symmetry   |

Cost: O(n nv).
"""

from __future__ import annotations

from linkwork.kernels.aba import ARTICULATED, articulate, articulated_bias_force, joint_acceleration
from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.joints import dof_of
from linkwork.kernels.kinematics import ACCELERATION, POSE, joint_transforms
from linkwork.kernels.rnea import FORCE
from linkwork.kernels.scalar import Array, kernel

_UNIT: dict[str, Shape] = {"x": ("nv",)}


@kernel
def unit_bias_forces(tree: Array, w: Array, b: int, k: int) -> None:
    """Pass 2 of a unit torque at degree of freedom ``k`` of joint ``b``: joints that do not carry it feel none."""
    i = b
    while i > 0:
        for j in range(6):
            w.f[i, j] = 0.0
        i = tree.parent[i]
    w.x[k] = 1.0
    i = b
    while i > 0:
        articulated_bias_force(tree, w, i, w.x)
        i = tree.parent[i]
    w.x[k] = 0.0


@kernel
def inverse_mass_matrix(tree: Array, w: Array, q: Array, X: Array) -> None:
    """``X = M^-1``: of each row what stands before the diagonal, then the rest by symmetry."""
    joint_transforms(tree, w, q)
    articulate(tree, w)
    for k in range(tree.nv):
        w.x[k] = 0.0
        w.y[k] = 0.0
    for b in range(1, tree.n):
        first = tree.iv[b]
        for k in range(first, first + dof_of(tree.kind[b])):
            unit_bias_forces(tree, w, b, k)
            for j in range(6):
                w.a[0, j] = 0.0
            for i in range(1, b + 1):
                joint_acceleration(tree, w, i, X[k])
            i = b
            while i > 0:
                for j in range(tree.iv[i], tree.iv[i] + dof_of(tree.kind[i])):
                    w.y[j] = 0.0
                i = tree.parent[i]
    for k in range(tree.nv):
        for j in range(k):
            X[j, k] = X[k, j]


INVERSE_MASS_MATRIX = Algorithm(
    "inverse_mass_matrix",
    inverse_mass_matrix,
    {"q": ("nq",)},
    {"X": ("nv", "nv")},
    POSE | {"a": ACCELERATION["a"]} | FORCE | ARTICULATED | _UNIT,
)
