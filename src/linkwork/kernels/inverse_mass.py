# SPDX-License-Identifier: BSD-3-Clause
"""The inverse of the mass matrix of a tree: articulated inertias once, then two passes for each unit torque.

Featherstone, Rigid Body Dynamics Algorithms, Table 7.1, passes 2 and 3 with ``v = 0`` and without gravity; symbols as
in `aba`. Straight-line programs leave out what a unit torque does not reach.

| symbol | meaning                                            |
|--------|----------------------------------------------------|
| x      | unit torque                                        |
| X      | ``M^-1``, by rows, which are columns by symmetry   |

Cost: O(n nv).
"""

from __future__ import annotations

from linkwork.kernels.aba import ARTICULATED, articulate, articulated_bias_forces, joint_accelerations
from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.kinematics import ACCELERATION, POSE, joint_transforms
from linkwork.kernels.rnea import FORCE
from linkwork.kernels.scalar import Array, kernel

_UNIT: dict[str, Shape] = {"x": ("nv",)}


@kernel
def inverse_mass_matrix(tree: Array, w: Array, q: Array, X: Array) -> None:
    """``X = M^-1``."""
    joint_transforms(tree, w, q)
    articulate(tree, w)
    for k in range(tree.nv):
        for j in range(tree.nv):
            w.x[j] = 1.0 if j == k else 0.0
        for i in range(tree.n):
            for j in range(6):
                w.f[i, j] = 0.0
        articulated_bias_forces(tree, w, w.x)
        joint_accelerations(tree, w, X[k])


INVERSE_MASS_MATRIX = Algorithm(
    "inverse_mass_matrix",
    inverse_mass_matrix,
    {"q": ("nq",)},
    {"X": ("nv", "nv")},
    POSE | {"a": ACCELERATION["a"]} | FORCE | ARTICULATED | _UNIT,
)
