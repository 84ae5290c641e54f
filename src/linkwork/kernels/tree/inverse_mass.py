# SPDX-License-Identifier: BSD-3-Clause
"""The inverse of the mass matrix of a tree, by `inverse_mass_matrix`: its sparse factor, and the inverse of that.

Featherstone, Rigid Body Dynamics Algorithms, Section 6.5: ``M = L' D L``, with ``L`` as sparse as the tree. ``L^-1`` is
as sparse, and a number of ``M^-1 = L^-1 D^-1 L^-T`` is a sum over the ancestors that its row and its column have in
common: few in robots with limbs, where sweeps of articulated inertias (Carpentier, Analytical inverse of the joint
space inertia matrix, 2018) take as long for a pair of joints of different limbs as for any other. The mass matrix is
that of `crba`, in body coordinates: in a common frame, light links far from the root would lose digits.

Symbols: `aba_derivatives` of the factor; X is ``M``, then ``M^-1``. Cost: O(n d^2 + n^2 c), with d the depth of the
tree and c <= d the mean number of ancestors that two joints share.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.derivatives.aba import (
    COLUMNS,
    FACTOR,
    factorize_by_depth,
    inverse_line,
    invert_factor,
    set_inverse_factor_line,
)
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.tree.crba import COMPOSITE, crba
from linkwork.kernels.tree.kinematics import POSE
from linkwork.plans.aba_derivatives import LINE, PATH_TREE


@kernel
def rows_by_depth(tree: Array, M: Array, L: Array) -> None:
    """Rows of ``M`` up to the diagonal, ancestors alone, in ``L``."""
    for k in range(tree.nv):
        for t in range(tree.depth[k] + 1):
            L[k, t] = M[k, tree.path[k, t]]
        for t in range(tree.depth[k] + 1, tree.ndepth):
            L[k, t] = 0.0


@kernel
def inverse_mass_matrix(tree: Array, w: Array, q: Array, X: Array) -> None:
    """``X = M^-1``."""
    crba(tree, w, q, X)
    rows_by_depth(tree, X, w.L)
    factorize_by_depth(tree, w)
    invert_factor(tree, w)
    for l in range(tree.nlines):
        set_inverse_factor_line(tree, w, l)
        for k in range(LINE * l, tree.nv):
            inverse_line(tree, w, l, k, X)


_FACTOR: dict[str, Shape] = {name: FACTOR[name] for name in ("L", "D", "Linv", "LinvD")}

INVERSE_MASS_MATRIX = Algorithm(
    "inverse_mass_matrix",
    inverse_mass_matrix,
    {"q": ("nq",)},
    {"X": ("nv", "nv")},
    POSE | COMPOSITE | _FACTOR | {"Ya": COLUMNS["Ya"]},
    PATH_TREE,
)
