# SPDX-License-Identifier: BSD-3-Clause
"""What papers compare with in joint space: LTL-s (**lqr** Section IX-C), and the factor of the KKT matrix alone
(**proximal** Section V-B).

Both are kernel code like that of the package, so that every backend runs them and their operations are counted.

**LTL-s** solves the soft Gauss principle (**lqr** Eq. 50; proxLTLs of **loops**, Eqs. 14a and 15, after one iteration):
``(M + J' R^-1 J) a = tau - c + J' R^-1 k``. Of constraints to the world the matrix has the zeros of the mass matrix,
and `linkwork.kernels.constrained.ltl` factorizes it; of loops between bodies it has not.

The **factor** is that of ``[-R J; J' M]`` from ``M``, ``J`` and ``R``: kinematics, mass matrix and Jacobian are given,
as the paper times it.

| symbol | meaning                                                      |
|--------|--------------------------------------------------------------|
| M      | mass matrix (with ``J' R^-1 J``); then ``L`` and ``1 / D``   |
| Jc     | Jacobian; of the factor, then ``J L^-1``                     |
| A      | ``R + J M^-1 J'``, then its factor                           |
| z      | right-hand side, then accelerations                          |
"""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwork as lw
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.constrained.constraints import jacobian_from_rows
from linkwork.kernels.constrained.ltl import DENSE, factorize_delassus, factorize_mass_matrix, rows_by_factor
from linkwork.kernels.constrained.problem import WORK, setup_problem
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.tree.crba import COMPOSITE, mass_matrix
from linkwork.kernels.tree.rnea import joint_torques
from linkwork.plans.ltl import LTL_TREE, ltl_tree
from linkwork.quantities.evaluator import ProgramEvaluator
from linkwork_benchmarks.robots import Floats


@kernel
def soften_mass_matrix(tree: Array, w: Array, R: Array) -> None:
    """``M += J' R^-1 J`` and ``z += J' R^-1 k``, on the degrees of freedom that support each row."""
    for r in range(tree.nc):
        stiffness = 1.0 / R[r]
        for e in range(tree.row_start[r], tree.row_start[r] + tree.row_count[r]):
            k = tree.row_dof[e]
            x = stiffness * w.Jc[r, k]
            w.z[k] += x * w.k[r]
            i = k
            while i >= 0:
                w.M[k, i] += x * w.Jc[r, i]
                i = tree.dof_parent[i]


@kernel
def solve_by_factor(tree: Array, w: Array, a: Array) -> None:
    """``a = M^-1 z`` with ``M = L' D L``."""
    for k in range(tree.nv - 1, -1, -1):
        i = tree.dof_parent[k]
        while i >= 0:
            w.z[i] -= w.M[k, i] * w.z[k]
            i = tree.dof_parent[i]
    for k in range(tree.nv):
        x = w.z[k] * w.M[k, k]
        i = tree.dof_parent[k]
        while i >= 0:
            x = x - w.M[k, i] * a[i]
            i = tree.dof_parent[i]
        a[k] = x


@kernel
def ltl_soft(tree: Array, w: Array, q: Array, v: Array, tau: Array, R: Array, a: Array) -> None:
    """LTL-s: accelerations with rows as springs of stiffness ``1 / R``."""
    for r in range(tree.nc):
        w.lam[r] = 0.0
    setup_problem(tree, w, q, v, w.no_wrenches, w.lam)
    joint_torques(tree, w, w.z)  # z = c
    for k in range(tree.nv):
        w.z[k] = tau[k] - w.z[k]
    mass_matrix(tree, w, w.M)
    jacobian_from_rows(tree, w, q, w.Jc)
    soften_mass_matrix(tree, w, R)
    factorize_mass_matrix(tree, w)
    solve_by_factor(tree, w, a)


LTL_SOFT = Algorithm(
    "ltl_soft",
    ltl_soft,
    {"q": ("nq",), "v": ("nv",), "tau": ("nv",), "R": ("nc",)},
    {"a": ("nv",)},
    WORK | COMPOSITE | DENSE | {"no_wrenches": ("nf", 6)},
    LTL_TREE,
)


class SoftGauss(ProgramEvaluator):
    """``a = evaluator(q, v, tau, R)`` by LTL-s, for constraints between one moving body or joint and the world."""

    def __init__(self, robot: lw.Mechanism, threads: int | None = None) -> None:
        super().__init__(robot, "soft_gauss", LTL_SOFT, ltl_tree, threads=threads)

    def recipe(self) -> dict[str, Any]:
        """Keyword arguments that make an equal evaluator."""
        return {"robot": self.robot}


@kernel
def kkt_factor(tree: Array, w: Array, q: Array, M: Array, J: Array, R: Array, L: Array, JL: Array, A: Array) -> None:
    """The factor of ``[-R J; J' M]`` (**proximal** Algorithm 1), entries of the tree and of the loops only."""
    for k in range(tree.nv):
        i = k
        while i >= 0:
            w.M[k, i] = M[k, i]
            i = tree.dof_parent[i]
    for r in range(tree.nc):
        for k in range(tree.nv):
            w.Jc[r, k] = J[r, k]
    factorize_mass_matrix(tree, w)
    rows_by_factor(tree, w)
    factorize_delassus(tree, w, R)
    for k in range(tree.nv):
        for i in range(tree.nv):
            L[k, i] = 0.0
        i = k
        while i >= 0:
            L[k, i] = w.M[k, i]
            i = tree.dof_parent[i]
    for r in range(tree.nc):
        for k in range(tree.nv):
            JL[r, k] = w.Jc[r, k]
        for s in range(tree.nc):
            A[r, s] = w.A[r, s] if s <= r else 0.0


KKT_FACTOR = Algorithm(
    "kkt_factor",
    kkt_factor,
    {"q": ("nq",), "M": ("nv", "nv"), "J": ("nc", "nv"), "R": ("nc",)},
    {"L": ("nv", "nv"), "JL": ("nc", "nv"), "A": ("nc", "nc")},
    DENSE,
    LTL_TREE,
)


class KktFactor(ProgramEvaluator):
    """``L, JL, A = evaluator(q, M, J, R)``: lower triangles, with the inverse diagonals of ``D`` in them.

    Evaluators look at ``q``, which the factor does not need.
    """

    def __init__(self, robot: lw.Mechanism, threads: int | None = None) -> None:
        super().__init__(robot, "kkt_factor", KKT_FACTOR, ltl_tree, threads=threads)

    def recipe(self) -> dict[str, Any]:
        """Keyword arguments that make an equal evaluator."""
        return {"robot": self.robot}


def kkt_matrix(M: Floats, J: Floats, R: Floats) -> Floats:
    """``[-R J; J' M]``."""
    found: Floats = np.block([[-np.diag(R), J], [J.T, M]])
    return found
