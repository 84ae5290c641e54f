# SPDX-License-Identifier: BSD-3-Clause
"""The mass matrix of a tree in blocks of limbs, by composite bodies (`tree.crba`).

| symbol               | meaning                                                        |
|----------------------|----------------------------------------------------------------|
| M_diagonal, M_blocks | diagonal blocks, and blocks of limbs (rows) with ancestors (columns) |
| F                    | moment and force of a unit acceleration, ``Ic S``              |

Cost: linear in pairs of joints on a path to the root.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.reduced.dense import dense_mass_matrix
from linkwork.kernels.contact.reduced.pattern import ancestor_block
from linkwork.kernels.joints import axis_of, dof_of, rotate_to_parent
from linkwork.kernels.scalar import Array, Scalar, in_warp, kernel, prange
from linkwork.kernels.spatial import Triple, add, cross, scale, symmetric_product
from linkwork.kernels.tree.crba import COMPOSITE, composite_inertias, kronecker
from linkwork.model.joints import HELICAL, PLANAR, PRISMATIC, REVOLUTE, SPHERICAL

MASS_WORK: dict[str, Shape] = COMPOSITE | {"M_diagonal": ("ndiagonal",), "M_blocks": ("nstatic",)}


@kernel
def unit_force(tree: Array, w: Array, i: int, k: int) -> tuple[Triple, Triple]:
    """``F = Ic S``: moment and force of a unit acceleration along degree of freedom ``k`` of a joint."""
    kind = tree.kind[i]
    m = w.m[i]
    b = w.b[i]
    J = w.J[i]
    if kind == REVOLUTE:
        return (J[2], J[4], J[5]), (-b[1], b[0], 0.0)
    if kind == PRISMATIC:
        return (b[1], -b[0], 0.0), (0.0, 0.0, m)
    axis = axis_of(kind, k)
    S_angular = (kronecker(axis, 0), kronecker(axis, 1), kronecker(axis, 2))
    S_linear = (kronecker(axis, 3), kronecker(axis, 4), kronecker(axis, 5))
    if kind == HELICAL:
        S_linear = (0.0, 0.0, tree.pitch[i])
    n = add(symmetric_product(J, S_angular), cross(b, S_linear))
    f = add(scale(m, S_linear), cross(S_angular, b))
    return n, f


@kernel
def joint_components(tree: Array, i: int, n: Triple, f: Triple, row: Array, at: int, step: int) -> None:
    """``S' F`` of a joint, into ``row`` from ``at`` on, so far apart."""
    kind = tree.kind[i]
    if kind == REVOLUTE:
        row[at] = n[2]
    elif kind == PRISMATIC:
        row[at] = f[2]
    elif kind == HELICAL:
        row[at] = n[2] + tree.pitch[i] * f[2]
    elif kind == PLANAR:
        row[at] = f[0]
        row[at + step] = f[1]
        row[at + 2 * step] = n[2]
    elif kind == SPHERICAL:
        row[at] = n[0]
        row[at + step] = n[1]
        row[at + 2 * step] = n[2]
    else:
        row[at] = f[0]
        row[at + step] = f[1]
        row[at + 2 * step] = f[2]
        row[at + 3 * step] = n[0]
        row[at + 4 * step] = n[1]
        row[at + 5 * step] = n[2]


@kernel
def add_to_diagonal(tree: Array, w: Array, k: int, x: Scalar) -> None:
    """``M_kk = M_kk + x``."""
    a = tree.dof_limb[k]
    r = k - tree.limb_v[a]
    w.M_diagonal[tree.limb_diagonal[a] + r * tree.limb_size[a] + r] += x


@kernel
def reduced_mass_matrix(tree: Array, w: Array) -> None:
    """The mass matrix in blocks, from poses of bodies in their parents (`tree.crba`)."""
    composite_inertias(tree, w)
    mass_matrix_of_composites(tree, w)


@kernel
def mass_matrix_of_composites(tree: Array, w: Array) -> None:
    """The mass matrix from composite inertias."""
    for i in prange(1, tree.n):
        a = tree.body_limb[i]
        size = tree.limb_size[a]
        diagonal = tree.limb_diagonal[a]
        for k in range(dof_of(tree.kind[i])):
            r = tree.iv[i] + k - tree.limb_v[a]
            n, f = unit_force(tree, w, i, k)
            j = i
            while j > 0:
                b = tree.body_limb[j]
                c = tree.iv[j] - tree.limb_v[b]
                if a == b:
                    joint_components(tree, j, n, f, w.M_diagonal, diagonal + r * size + c, 1)
                    joint_components(tree, j, n, f, w.M_diagonal, diagonal + c * size + r, size)
                else:
                    joint_components(
                        tree, j, n, f, w.M_blocks, ancestor_block(tree, a, b) + r * tree.limb_size[b] + c, 1
                    )
                f = rotate_to_parent(tree, w, j, f)
                n = add(rotate_to_parent(tree, w, j, n), cross(w.r[j], f))
                j = tree.parent[j]
    for k in prange(tree.nv):
        add_to_diagonal(tree, w, k, tree.armature[k])
    if in_warp() and tree.nstride > 0:
        dense_mass_matrix(tree, w)
