# SPDX-License-Identifier: BSD-3-Clause
"""EFPA and KJR: the Delassus matrix ``D = J M^-1 J'`` from inverse inertias propagated from the root.

Both are compared in **lqr** Section VII-C. The inverse inertia ``Omega`` of a body is found from its parent's. EFPA
propagates rows of K to the common ancestor of their bodies and multiplies them by its ``Omega``: n + m d + m², with d
the depth and m the rows. KJR propagates the ``Omega`` of the common ancestor to both bodies: n + p² d + m², with p the
bodies that rows act on.

| symbol | meaning                                                                              |
|--------|--------------------------------------------------------------------------------------|
| Omega  | acceleration of a body under unit forces on it, ``[linear; angular]`` (upper triangle) |
| Kp     | rows of K, propagated to a body                                                      |
| Pi     | acceleration of one body under unit forces on another; row k for force k             |
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained.lcaba_factor import joint_coupling_rows
from linkwork.kernels.constrained.osim import ROWS, rows_at, symmetrize_matrix
from linkwork.kernels.joints import axis_of, dof_of, moves_along, rotate_to_child, rotate_to_parent
from linkwork.kernels.scalar import Array, Scalar, kernel
from linkwork.kernels.spatial import (
    add,
    add_shifted_inertia,
    angular,
    cross,
    linear,
    rotate_inertia,
    rotate_inertia_about_z,
    scale,
    set_angular,
    set_linear,
    symmetrize,
)
from linkwork.kernels.tree.aba import articulate, solve_ldl
from linkwork.model.joints import FREE, HELICAL, PRISMATIC, SPHERICAL
from linkwork.plans.efpa import EFPA_TREE


@kernel
def inverse_inertias(tree: Array, w: Array, q: Array) -> None:
    """Rows of K, and ``Omega`` of the bodies that need it, parents first."""
    rows_at(tree, w, q)
    joint_coupling_rows(tree, w)
    articulate(tree, w)
    for e in range(tree.nomega):
        inverse_inertia(tree, w, tree.omega_body[e])
        symmetrize(w.Omega[tree.omega_body[e]])


@kernel
def inverse_inertia(tree: Array, w: Array, i: int) -> None:
    """``Omega`` of body ``i`` from its parent's: ``S D^-1 S' + (1 - S V') X Omega X' (1 - V S')``; ``V = U D^-1``."""
    kind = tree.kind[i]
    A = w.Omega[i]
    for j in range(6):
        for k in range(6):
            A[j, k] = 0.0
    if tree.parent[i] > 0:
        add_shifted_inertia(scale(-1.0, w.r[i]), w.Omega[tree.parent[i]], A)
        rotate_to_child_axes(tree, w, i, A)
        symmetrize(A)
    for k in range(dof_of(kind)):
        z = w.Pi[k]
        for j in range(6):
            z[j] = 0.0
            for c in range(6):
                z[j] += A[j, c] * propagator_entry(tree, w, i, (c + 3) % 6, k)
    for k in range(dof_of(kind)):
        for m in range(k + 1):
            x = 0.0
            for j in range(6):
                x = x + propagator_entry(tree, w, i, (j + 3) % 6, m) * w.Pi[k, j]
            w.Z[k, m] = x
            w.Z[m, k] = x
    for k in range(dof_of(kind)):
        for j in range(6):
            A[omega_index(tree, i, k), j] -= w.Pi[k, j]
            if kind == HELICAL:
                A[2, j] -= tree.pitch[i] * w.Pi[k, j]
    for k in range(dof_of(kind)):
        for j in range(6):
            A[j, omega_index(tree, i, k)] -= w.Pi[k, j]
            if kind == HELICAL:
                A[j, 2] -= tree.pitch[i] * w.Pi[k, j]
    add_joint_inverse(tree, w, i)
    for k in range(dof_of(kind)):
        for m in range(dof_of(kind)):
            x = w.Z[k, m]
            A[omega_index(tree, i, k), omega_index(tree, i, m)] += x
            if kind == HELICAL:
                A[2, 5] += tree.pitch[i] * x
                A[5, 2] += tree.pitch[i] * x
                A[2, 2] += (tree.pitch[i] * tree.pitch[i]) * x


@kernel
def omega_index(tree: Array, i: int, k: int) -> int:
    """The row of ``Omega``, which is ``[linear; angular]``, of degree of freedom ``k`` of joint ``i``."""
    return (axis_of(tree.kind[i], k) + 3) % 6


@kernel
def propagator_entry(tree: Array, w: Array, i: int, j: int, k: int) -> Scalar:
    """An entry of ``V = U D^-1``: ``1 - V S'`` propagates forces across joint ``i``."""
    kind = tree.kind[i]
    if kind != HELICAL and tree.has_armature[i] == 0 and moves_along(kind, j) != 0:
        return 1.0 if axis_of(kind, k) == j else 0.0
    if kind > HELICAL:
        return w.Y[i, j, k]
    return w.V[i, j]


@kernel
def add_joint_inverse(tree: Array, w: Array, i: int) -> None:
    """Add ``D^-1`` of joint ``i`` to ``Z``."""
    n = dof_of(tree.kind[i])
    if n == 1:
        w.Z[0, 0] += w.D[i]
    else:
        for k in range(n):
            for m in range(n):
                w.y6[m] = 1.0 if m == k else 0.0
            solve_ldl(n, w.L[i], w.y6)
            for m in range(n):
                w.Z[m, k] += w.y6[m]


@kernel
def rotate_to_child_axes(tree: Array, w: Array, i: int, A: Array) -> None:
    """``A``, in the axes of the parent of body ``i``, in its own."""
    kind = tree.kind[i]
    if kind == SPHERICAL or kind == FREE:
        for j in range(3):
            for k in range(3):
                w.Q[j, k] = w.R[i, k, j]
        rotate_inertia(w.Q, A)
    else:
        if tree.has_rotation[i] != 0:
            for j in range(3):
                for k in range(3):
                    w.Q[j, k] = tree.P[i, k, j]
            rotate_inertia(w.Q, A)
        if kind != PRISMATIC:
            rotate_inertia_about_z(w.cos[i], -w.sin[i], A)


@kernel
def propagate_row(tree: Array, w: Array, i: int, s: int) -> None:
    """``K (1 - S V') X``: a row of K on body ``i``, across its joint, on the parent."""
    parent = tree.path_parent[s]
    if parent >= 0:
        K = w.Kp[s]
        for j in range(6):
            w.y6[j] = K[j]
        for k in range(dof_of(tree.kind[i])):
            x = K[axis_of(tree.kind[i], k)]
            if tree.kind[i] == HELICAL:
                x = x + tree.pitch[i] * K[5]
            for j in range(6):
                w.y6[j] -= propagator_entry(tree, w, i, j, k) * x
        f = rotate_to_parent(tree, w, i, linear(w.y6))
        set_angular(add(rotate_to_parent(tree, w, i, angular(w.y6)), cross(w.r[i], f)), w.Kp[parent])
        set_linear(f, w.Kp[parent])


@kernel
def accumulate_product(tree: Array, one: int, other: int, x: Scalar, matrix: Array) -> None:
    """Add the product of two rows of K to the entry of the rows that they are parts of (lower triangle)."""
    r = tree.k_row[one]
    s = tree.k_row[other]
    if r < s:
        matrix[s, r] += x
    else:
        matrix[r, s] += x
        if r == s and one != other:
            matrix[r, s] += x


@kernel
def efpa(tree: Array, w: Array, q: Array, matrix: Array) -> None:
    """EFPA: rows are propagated to their common ancestors, where they are multiplied by its inverse inertia."""
    inverse_inertias(tree, w, q)
    for r in range(tree.nc):
        for s in range(tree.nc):
            matrix[r, s] = 0.0
    for i in range(tree.n - 1, 0, -1):
        for s in range(tree.path_start[i], tree.path_start[i] + tree.path_count[i]):
            m = tree.path_k[s]
            if tree.k_body[m] == i:
                for j in range(6):
                    w.Kp[s, j] = w.K[m, j]
            propagate_row(tree, w, i, s)
    for i in range(1, tree.n):
        for s in range(tree.path_start[i], tree.path_start[i] + tree.path_count[i]):
            if tree.common_count[s] > 0:
                for j in range(6):
                    x = 0.0
                    for k in range(6):
                        x = x + w.Omega[i, j, k] * w.Kp[s, (k + 3) % 6]
                    w.y6[j] = x
                for e in range(tree.common_start[s], tree.common_start[s] + tree.common_count[s]):
                    t = tree.common_path[e]
                    x = 0.0
                    for j in range(6):
                        x = x + w.y6[j] * w.Kp[t, (j + 3) % 6]
                    accumulate_product(tree, tree.path_k[s], tree.path_k[t], x, matrix)
    symmetrize_matrix(tree, matrix)


@kernel
def propagate_acceleration(tree: Array, w: Array, i: int, x: Array) -> None:
    """``(1 - S V') X x``: the acceleration ``x`` of the parent of body ``i``, propagated across its joint."""
    kind = tree.kind[i]
    turn = rotate_to_child(tree, w, i, angular(x))
    set_linear(rotate_to_child(tree, w, i, add(linear(x), cross(angular(x), w.r[i]))), x)
    set_angular(turn, x)
    for k in range(dof_of(kind)):
        y = 0.0
        for j in range(6):
            y = y + propagator_entry(tree, w, i, j, k) * x[j]
        w.y6[k] = y
    for k in range(dof_of(kind)):
        x[axis_of(kind, k)] -= w.y6[k]
        if kind == HELICAL:
            x[5] -= tree.pitch[i] * w.y6[k]


@kernel
def kjr(tree: Array, w: Array, q: Array, matrix: Array) -> None:
    """KJR: inverse inertias of pairs of bodies, propagated from the common ancestor to the one, then to the other."""
    inverse_inertias(tree, w, q)
    for r in range(tree.nc):
        for s in range(tree.nc):
            matrix[r, s] = 0.0
    for p in range(tree.nbody_pairs):
        c = tree.body_pair_ancestor[p]
        for j in range(6):
            for k in range(6):
                w.Pi[j, k] = w.Omega[c, (j + 3) % 6, (k + 3) % 6]
        for e in range(tree.first_descent_start[p], tree.first_descent_start[p] + tree.first_descent_count[p]):
            for k in range(6):
                propagate_acceleration(tree, w, tree.descent_body[e], w.Pi[k])
        for j in range(6):
            for k in range(j):
                x = w.Pi[j, k]
                w.Pi[j, k] = w.Pi[k, j]
                w.Pi[k, j] = x
        for e in range(tree.second_descent_start[p], tree.second_descent_start[p] + tree.second_descent_count[p]):
            for k in range(6):
                propagate_acceleration(tree, w, tree.descent_body[e], w.Pi[k])
        for e in range(tree.product_start[p], tree.product_start[p] + tree.product_count[p]):
            A = w.K[tree.product_first_k[e]]
            B = w.K[tree.product_second_k[e]]
            x = 0.0
            for j in range(6):
                for k in range(6):
                    x = x + A[j] * w.Pi[j, k] * B[k]
            accumulate_product(tree, tree.product_first_k[e], tree.product_second_k[e], x, matrix)
    symmetrize_matrix(tree, matrix)


_WORK: dict[str, Shape] = ROWS | {"Omega": ("n", 6, 6), "Kp": ("npaths", 6), "Pi": (6, 6), "y6": (6,)}

EFPA = Algorithm("efpa", efpa, {"q": ("nq",)}, {"matrix": ("nc", "nc")}, _WORK, EFPA_TREE)
KJR = Algorithm("kjr", kjr, {"q": ("nq",)}, {"matrix": ("nc", "nc")}, _WORK, EFPA_TREE)
