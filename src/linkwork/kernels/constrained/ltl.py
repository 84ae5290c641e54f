# SPDX-License-Identifier: BSD-3-Clause
"""proxLTL: sparse factorization of the proximal KKT matrix in joint space; with ``R = 0``, Featherstone's LTL.

**proximal** Section IV and Algorithm 1: with joints eliminated leaves first, the factor of ``[M J'; J -R]`` has the
branch-induced sparsity of ``M = L' D L`` (Featherstone, Rigid Body Dynamics Algorithms, Sections 6.4 and 6.5) and the
sparsity of the loops in its rows; the rest is dense, the factor of the damped Delassus matrix ``A = R + J M^-1 J'``,
the inverse of the operational-space inertia matrix.

| symbol | meaning                                                     |
|--------|-------------------------------------------------------------|
| M      | mass matrix; after `factorize_mass_matrix`, ``L`` and ``1 / D`` |
| Jc     | Jacobian; after `rows_by_factor`, ``J L^-1``                |
| A      | damped Delassus matrix, then its factor ``L D L'``          |
| z      | ``L^-T (tau - c)``                                          |
| lam    | right-hand sides, then multipliers lambda                   |

Cost: O(n d^2 + m d^2 + m^2 d + m^3), with d the depth of the tree and m the rows.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained.constraints import jacobian_from_rows
from linkwork.kernels.constrained.problem import (
    INPUTS,
    OUTPUTS,
    WORK,
    Problem,
    Result,
    copy_rows,
    first_forward_sweep,
    forward_view,
    remove_internal_forces,
    residual_from_step,
    residual_norm,
    residual_progress,
    subtract_rows,
)
from linkwork.kernels.elementary import maximum, minimum
from linkwork.kernels.scalar import Array, Scalar, kernel, where
from linkwork.kernels.thresholds import DISABLED, NEGLIGIBLE_ROW
from linkwork.kernels.tree.aba import factorize_ldl, solve_ldl
from linkwork.kernels.tree.crba import COMPOSITE, mass_matrix
from linkwork.kernels.tree.rnea import joint_torques
from linkwork.plans.ltl import LTL_TREE

DENSE: dict[str, Shape] = {
    "M": ("nv", "nv"),
    "Jc": ("nc", "nv"),
    "A": ("nc", "nc"),
    "diagonal": ("nc",),
    "z": ("nv",),
    "lam": ("nc",),
    "y6": (6,),
}


@kernel
def factorize_mass_matrix(tree: Array, w: Array) -> None:
    """``M = L' D L`` in place (**proximal** Algorithm 1, first loop): entries of joints and their ancestors only."""
    M = w.M
    for k in range(tree.nv - 1, -1, -1):
        inverse = 1.0 / M[k, k]
        i = tree.dof_parent[k]
        while i >= 0:
            x = M[k, i] * inverse
            j = i
            while j >= 0:
                M[i, j] -= x * M[k, j]
                j = tree.dof_parent[j]
            M[k, i] = x
            i = tree.dof_parent[i]
        M[k, k] = inverse


@kernel
def rows_by_factor(tree: Array, w: Array) -> None:
    """``J L^-1``, row by row (**proximal** Algorithm 1, pass over the constraints)."""
    for r in range(tree.nc):
        for e in range(tree.row_start[r], tree.row_start[r] + tree.row_count[r]):
            k = tree.row_dof[e]
            x = w.Jc[r, k]
            i = tree.dof_parent[k]
            while i >= 0:
                w.Jc[r, i] -= w.M[k, i] * x
                i = tree.dof_parent[i]


@kernel
def delassus_matrix(tree: Array, w: Array, A: Array) -> None:
    """``J M^-1 J'``, the lower triangle."""
    for r in range(tree.nc):
        for s in range(r + 1):
            A[r, s] = 0.0
        for e in range(tree.row_start[r], tree.row_start[r] + tree.row_count[r]):
            k = tree.row_dof[e]
            x = w.Jc[r, k] * w.M[k, k]
            for s in range(r + 1):
                A[r, s] += x * w.Jc[s, k]


@kernel
def factorize_delassus(tree: Array, w: Array, R: Array) -> None:
    """``A = R + J M^-1 J'`` and its factor (**proximal** Algorithm 1, dense factorization)."""
    delassus_matrix(tree, w, w.A)
    for r in range(tree.nc):
        w.A[r, r] += R[r]
        w.diagonal[r] = w.A[r, r]
    factorize_ldl(tree.nc, w.A)


@kernel
def solve_L(tree: Array, w: Array, x: Array) -> None:
    """``x = L^-1 x``, roots first."""
    for k in range(tree.nv):
        y = x[k]
        i = tree.dof_parent[k]
        while i >= 0:
            y = y - w.M[k, i] * x[i]
            i = tree.dof_parent[i]
        x[k] = y


@kernel
def solve_LT(tree: Array, w: Array, x: Array) -> None:
    """``x = L^-T x``, leaves first."""
    for k in range(tree.nv - 1, -1, -1):
        i = tree.dof_parent[k]
        while i >= 0:
            x[i] -= w.M[k, i] * x[k]
            i = tree.dof_parent[i]


@kernel
def solve_accelerations(tree: Array, w: Array, qdd: Array) -> None:
    """``lambda = A^-1 lam``, then ``qdd = L^-1 D^-1 (z + L^-T J' lambda)``."""
    solve_ldl(tree.nc, w.A, w.lam)
    for r in range(tree.nc):
        for e in range(tree.row_start[r], tree.row_start[r] + tree.row_count[r]):
            k = tree.row_dof[e]
            w.z[k] += w.Jc[r, k] * w.lam[r]
    for k in range(tree.nv):
        qdd[k] = w.z[k] * w.M[k, k]
    solve_L(tree, w, qdd)


@kernel
def half_solve(tree: Array, w: Array, tau: Array) -> None:
    """``z = L^-T (tau - c)``, with ``c`` in z."""
    for k in range(tree.nv):
        w.z[k] = tau[k] - w.z[k]
    solve_LT(tree, w, w.z)


@kernel
def multiplier_rhs(tree: Array, w: Array, problem: Problem) -> None:
    """``lam = k + R lambda0 - J M^-1 (tau - c)``."""
    for r in range(tree.nc):
        w.lam[r] = w.k[r] + problem.R[r] * problem.multipliers0[r]
        for e in range(tree.row_start[r], tree.row_start[r] + tree.row_count[r]):
            k = tree.row_dof[e]
            w.lam[r] -= w.Jc[r, k] * (w.M[k, k] * w.z[k])


@kernel
def prox_ltl(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """The first proximal iteration (**proximal** Eqs. 18 and 19): factorize, then solve for ``lambda`` and ``a``."""
    first_forward_sweep(tree, w, problem, result)
    joint_torques(tree, w, w.z)  # z = c
    mass_matrix(tree, w, w.M)
    jacobian_from_rows(tree, w, problem.q, w.Jc)
    factorize_mass_matrix(tree, w)  # Algorithm 1, pass over the joints
    rows_by_factor(tree, w)  # pass over the constraints
    factorize_delassus(tree, w, problem.R)  # dense factorization
    half_solve(tree, w, problem.tau)
    multiplier_rhs(tree, w, problem)
    solve_accelerations(tree, w, result.a)
    for r in range(tree.nc):
        result.multipliers[r] = w.lam[r]
        w.lam[r] = w.lam[r] - problem.multipliers0[r]
    residual_from_step(tree, w.lam, problem.R, result.residual)
    result.progress[0] = residual_norm(tree, w, problem.settings, result.residual)
    result.iterations[0] = 1.0


@kernel
def prox_ltl_iterate(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """A further proximal iteration: solve for the residual, and add the change."""
    for k in range(tree.nv):
        w.z[k] = 0.0
    for r in range(tree.nc):
        w.lam[r] = result.residual[r]
    solve_accelerations(tree, w, w.da)
    for k in range(tree.nv):
        result.a[k] += w.da[k]
    for r in range(tree.nc):
        result.multipliers[r] += w.lam[r]
    copy_rows(tree, result.residual, w.error)
    residual_from_step(tree, w.lam, problem.R, result.residual)
    result.progress[0] = residual_progress(tree, w, problem.settings, w.error, result.residual)
    result.iterations[0] += 1.0
    if tree.has_redundant_rows != 0:
        subtract_rows(tree, result.residual, w.error)
        remove_internal_forces(tree, w, problem, w.lam, w.error, result)


@kernel
def least_pivot(tree: Array, w: Array) -> Scalar:
    """Least pivot of ``A``, relative to its diagonal entry; near zero where rows are dependent."""
    relative = 1.0
    least = DISABLED
    largest = 0.0
    for r in range(tree.nc):
        pivot = 1.0 / w.A[r, r]
        relative = minimum(pivot / w.diagonal[r], relative)
        least = minimum(pivot, least)
        largest = maximum(where(w.diagonal[r], DISABLED, w.diagonal[r], 0.0), largest)
    return minimum(relative, NEGLIGIBLE_ROW * (least / largest))


@kernel
def ltl(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """LTL with a dense factor, ``R = 0``, no iterations; ``progress`` is the least pivot."""
    prox_ltl(tree, w, problem, result)
    result.progress[0] = least_pivot(tree, w)


_ALL = WORK | COMPOSITE | DENSE

PROX_LTL = Algorithm("prox_ltl", prox_ltl, INPUTS, OUTPUTS, _ALL, LTL_TREE, prox_ltl_iterate, view=forward_view)
LTL = Algorithm("ltl", ltl, INPUTS, OUTPUTS, _ALL, LTL_TREE, view=forward_view)
