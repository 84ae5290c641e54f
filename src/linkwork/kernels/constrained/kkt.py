# SPDX-License-Identifier: BSD-3-Clause
"""Sparse factor ``U D U'`` of the KKT matrix of constrained dynamics, and products and solutions with its parts.

**proximal** Section IV: rows come first, joints after them, and of ``M`` the leaves are eliminated first::

    K = [-R  J]  = U D U',     U = [U_A  J L^-1 D_M^-1],     D = diag(-D_A, D_M),
        [ J' M]                    [ 0              L']

with ``M = L' D_M L`` of `ltl` and ``A = R + J M^-1 J' = U_A D_A U_A'``, the inverse of the operational-space inertia
matrix, whose factor is the upper left part of that of ``K`` (Section IV-E). ``M`` may be any symmetric
positive-definite matrix with the sparsity of the mass matrix (end of Section IV).

Kernels are split by what they depend on: `factorize_kkt` on q, `damp` on the regularization ``R`` (a new one repeats
the dense factorization alone), the others on a vector. Vectors have two parts, of rows and of joints.

| symbol | meaning                                                       |
|--------|---------------------------------------------------------------|
| M      | ``L`` below the diagonal, ``1 / D_M`` on it                   |
| Jc     | ``J L^-1``                                                    |
| A      | ``J M^-1 J'``, lower triangle                                 |
| UA     | ``U_A'`` below the diagonal, ``1 / D_A`` on it                |

Cost: O(n d^2 + m d^2 + m^2 d + m^3) to factorize, with d the depth of the tree and m the rows; O(n d + m d + m^2) for a
vector.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained.constraints import CLOSURE, constraint_rows, jacobian_from_rows
from linkwork.kernels.constrained.ltl import delassus_matrix, factorize_mass_matrix, rows_by_factor, solve_L, solve_LT
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.tree.crba import COMPOSITE, mass_matrix
from linkwork.kernels.tree.kinematics import POSE, joint_transforms
from linkwork.plans.ltl import LTL_TREE

FACTOR: dict[str, Shape] = {"M": ("nv", "nv"), "Jc": ("nc", "nv"), "A": ("nc", "nc"), "UA": ("nc", "nc")}


# Factorization ---------------------------------------------------------------------------------------------------


@kernel
def factorize_joints(tree: Array, w: Array, q: Array) -> None:
    """``M = L' D L``, ``J L^-1`` and ``J M^-1 J'`` (Algorithm 1, passes over joints and constraints), with M set."""
    jacobian_from_rows(tree, w, q, w.Jc)
    factorize_mass_matrix(tree, w)
    rows_by_factor(tree, w)
    delassus_matrix(tree, w, w.A)


@kernel
def factorize_kkt(tree: Array, w: Array, q: Array, error: Array) -> None:
    """Factors that depend on q alone, with the mass matrix."""
    joint_transforms(tree, w, q)
    constraint_rows(tree, w, q, error)
    mass_matrix(tree, w, w.M)
    factorize_joints(tree, w, q)


@kernel
def factorize_given(tree: Array, w: Array, q: Array, matrix: Array, error: Array) -> None:
    """Factors that depend on q alone, with a matrix in place of the mass matrix."""
    joint_transforms(tree, w, q)
    constraint_rows(tree, w, q, error)
    for k in range(tree.nv):
        i = k
        while i >= 0:
            w.M[k, i] = matrix[k, i]
            i = tree.dof_parent[i]
    factorize_joints(tree, w, q)


@kernel
def factorize_udu(n: int, U: Array) -> None:
    """``U D U'`` of a symmetric matrix given in the lower triangle, in place; the diagonal becomes ``1 / D``."""
    for k in range(n - 1, -1, -1):
        inverse = 1.0 / U[k, k]
        for i in range(k - 1, -1, -1):
            x = U[k, i] * inverse
            for j in range(i + 1):
                U[i, j] -= x * U[k, j]
            U[k, i] = x
        U[k, k] = inverse


@kernel
def damp(tree: Array, w: Array, damping: Array, D_rows: Array, D_joints: Array) -> None:
    """``A = R + J M^-1 J' = U_A D_A U_A'`` (Algorithm 1, dense factorization); gives the diagonal of ``D``."""
    for r in range(tree.nc):
        for s in range(r + 1):
            w.UA[r, s] = w.A[r, s]
        w.UA[r, r] += damping[r]
    factorize_udu(tree.nc, w.UA)
    for r in range(tree.nc):
        D_rows[r] = -1.0 / w.UA[r, r]
    for k in range(tree.nv):
        D_joints[k] = 1.0 / w.M[k, k]


# Products and solutions ------------------------------------------------------------------------------------------


@kernel
def apply_U(tree: Array, w: Array, rows: Array, joints: Array, Ux_rows: Array, Ux_joints: Array) -> None:
    """``U x``: ``[U_A x + J L^-1 D_M^-1 y, L' y]``."""
    for r in range(tree.nc):
        x = rows[r]
        for s in range(r + 1, tree.nc):
            x = x + w.UA[s, r] * rows[s]
        for e in range(tree.row_start[r], tree.row_start[r] + tree.row_count[r]):
            k = tree.row_dof[e]
            x = x + w.Jc[r, k] * (w.M[k, k] * joints[k])
        Ux_rows[r] = x
    for k in range(tree.nv):
        Ux_joints[k] = joints[k]
        i = tree.dof_parent[k]
        while i >= 0:
            Ux_joints[i] += w.M[k, i] * joints[k]
            i = tree.dof_parent[i]


@kernel
def apply_UT(tree: Array, w: Array, rows: Array, joints: Array, Ux_rows: Array, Ux_joints: Array) -> None:
    """``U' x``: ``[U_A' x, D_M^-1 L^-T J' x + L y]``."""
    for r in range(tree.nc):
        x = rows[r]
        for s in range(r):
            x = x + w.UA[r, s] * rows[s]
        Ux_rows[r] = x
    for k in range(tree.nv):
        Ux_joints[k] = 0.0
    for r in range(tree.nc):
        for e in range(tree.row_start[r], tree.row_start[r] + tree.row_count[r]):
            k = tree.row_dof[e]
            Ux_joints[k] += w.Jc[r, k] * rows[r]
    for k in range(tree.nv):
        y = Ux_joints[k] * w.M[k, k] + joints[k]
        i = tree.dof_parent[k]
        while i >= 0:
            y = y + w.M[k, i] * joints[i]
            i = tree.dof_parent[i]
        Ux_joints[k] = y


@kernel
def solve_U(tree: Array, w: Array, rows: Array, joints: Array, x_rows: Array, x_joints: Array) -> None:
    """``U^-1 b``: joints first, ``L^-T``, then rows, ``U_A^-1 (b - J L^-1 D_M^-1 x)``."""
    for k in range(tree.nv):
        x_joints[k] = joints[k]
    solve_LT(tree, w, x_joints)
    for r in range(tree.nc - 1, -1, -1):
        x = rows[r]
        for e in range(tree.row_start[r], tree.row_start[r] + tree.row_count[r]):
            k = tree.row_dof[e]
            x = x - w.Jc[r, k] * (w.M[k, k] * x_joints[k])
        for s in range(r + 1, tree.nc):
            x = x - w.UA[s, r] * x_rows[s]
        x_rows[r] = x


@kernel
def solve_UT(tree: Array, w: Array, rows: Array, joints: Array, x_rows: Array, x_joints: Array) -> None:
    """``U^-T b``: rows first, ``U_A^-T``, then joints, ``L^-1 (b - D_M^-1 L^-T J' x)``."""
    for r in range(tree.nc):
        x = rows[r]
        for s in range(r):
            x = x - w.UA[r, s] * x_rows[s]
        x_rows[r] = x
    for k in range(tree.nv):
        x_joints[k] = 0.0
    for r in range(tree.nc):
        for e in range(tree.row_start[r], tree.row_start[r] + tree.row_count[r]):
            k = tree.row_dof[e]
            x_joints[k] -= w.Jc[r, k] * x_rows[r]
    for k in range(tree.nv):
        x_joints[k] = joints[k] + x_joints[k] * w.M[k, k]
    solve_L(tree, w, x_joints)


@kernel
def apply_K(tree: Array, w: Array, rows: Array, joints: Array, Kx_rows: Array, Kx_joints: Array) -> None:
    """``K x = U D U' x``."""
    apply_UT(tree, w, rows, joints, w.x_rows, w.x_joints)
    for r in range(tree.nc):
        w.x_rows[r] = -w.x_rows[r] / w.UA[r, r]
    for k in range(tree.nv):
        w.x_joints[k] = w.x_joints[k] / w.M[k, k]
    apply_U(tree, w, w.x_rows, w.x_joints, Kx_rows, Kx_joints)


@kernel
def solve_K(tree: Array, w: Array, rows: Array, joints: Array, x_rows: Array, x_joints: Array) -> None:
    """``K^-1 b = U^-T D^-1 U^-1 b``."""
    solve_U(tree, w, rows, joints, w.x_rows, w.x_joints)
    for r in range(tree.nc):
        w.x_rows[r] = -w.x_rows[r] * w.UA[r, r]
    for k in range(tree.nv):
        w.x_joints[k] = w.x_joints[k] * w.M[k, k]
    solve_UT(tree, w, w.x_rows, w.x_joints, x_rows, x_joints)


@kernel
def factor_parts(tree: Array, w: Array, vector: Array, UA: Array, A: Array, Jc: Array, L: Array) -> None:
    """The parts of the factor as they are kept (Section IV-E); ``vector`` is not read."""
    for r in range(tree.nc):
        for s in range(r + 1):
            UA[r, s] = w.UA[r, s]
            A[r, s] = w.A[r, s]
        for s in range(r + 1, tree.nc):
            UA[r, s] = 0.0
            A[r, s] = w.A[s, r]
        for k in range(tree.nv):
            Jc[r, k] = w.Jc[r, k]
    for k in range(tree.nv):
        for i in range(tree.nv):
            L[k, i] = 0.0
        i = k
        while i >= 0:
            L[k, i] = w.M[k, i]
            i = tree.dof_parent[i]


@kernel
def kkt(
    tree: Array, w: Array, q: Array, damping: Array, rows: Array, joints: Array, x_rows: Array, x_joints: Array
) -> None:
    """``K^-1 b`` at ``q``."""
    factorize_kkt(tree, w, q, w.e)
    damp(tree, w, damping, w.x_rows, w.x_joints)
    solve_K(tree, w, rows, joints, x_rows, x_joints)


_POSE: dict[str, Shape] = {"q": ("nq",)}
_DAMPING: dict[str, Shape] = {"damping": ("nc",)}
_ERROR: dict[str, Shape] = {"error": ("nc",)}
_VECTOR: dict[str, Shape] = {"rows": ("nc",), "joints": ("nv",)}
_RESULT: dict[str, Shape] = {"x_rows": ("nc",), "x_joints": ("nv",)}
_ALL: dict[str, Shape] = POSE | CLOSURE | COMPOSITE | FACTOR | {"e": ("nc",), "y6": (6,)} | _RESULT
_PARTS: dict[str, Shape] = {"UA": ("nc", "nc"), "A": ("nc", "nc"), "Jc": ("nc", "nv"), "L": ("nv", "nv")}

KKT_SOLVE = Algorithm("kkt", kkt, _POSE | _DAMPING | _VECTOR, _RESULT, _ALL, LTL_TREE)
FACTORIZE = Algorithm("kkt_factorize", factorize_kkt, _POSE, _ERROR, _ALL, LTL_TREE)
FACTORIZE_GIVEN = Algorithm(
    "kkt_factorize_given", factorize_given, _POSE | {"matrix": ("nv", "nv")}, _ERROR, _ALL, LTL_TREE
)
DAMP = Algorithm("kkt_damp", damp, _DAMPING, {"D_rows": ("nc",), "D_joints": ("nv",)}, _ALL, LTL_TREE)
APPLY_K = Algorithm("kkt_apply", apply_K, _VECTOR, _RESULT, _ALL, LTL_TREE)
SOLVE_K = Algorithm("kkt_solve", solve_K, _VECTOR, _RESULT, _ALL, LTL_TREE)
APPLY_U = Algorithm("kkt_apply_U", apply_U, _VECTOR, _RESULT, _ALL, LTL_TREE)
APPLY_UT = Algorithm("kkt_apply_UT", apply_UT, _VECTOR, _RESULT, _ALL, LTL_TREE)
SOLVE_U = Algorithm("kkt_solve_U", solve_U, _VECTOR, _RESULT, _ALL, LTL_TREE)
SOLVE_UT = Algorithm("kkt_solve_UT", solve_UT, _VECTOR, _RESULT, _ALL, LTL_TREE)
PARTS = Algorithm("kkt_parts", factor_parts, {"vector": ("nv",)}, _PARTS, _ALL, LTL_TREE)
