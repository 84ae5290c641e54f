# SPDX-License-Identifier: BSD-3-Clause
"""C-RNEA: inverse dynamics of a mechanism with loops, by torques of its independent joints.

**clusters** Section VI. Accelerations of all joints are ``q'' = G y'' + g`` (Eq. 33 cluster by cluster), RNEA on the
spanning tree gives the torques of all joints, and ``tau_ind = G' tau`` (Eqs. 29, 31). Symbols are those of `clusters`.

Cost: linear in the clusters, cubic in the joints of one.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.clusters.explicit import (
    EXPLICIT,
    cluster_multipliers,
    dependent_accelerations,
    update_constraints,
)
from linkwork.kernels.constrained.problem import WORK
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.tree.kinematics import accelerations
from linkwork.kernels.tree.passive import ELEMENT_WORK, subtract_passive_torques
from linkwork.kernels.tree.rnea import WRENCHES, apply_wrenches, joint_torques, newton_euler_forces
from linkwork.plans.clusters import CLUSTER_TREE

MOTION: dict[str, Shape] = {"q": ("nq",), "v": ("nv",), "a": ("nv",), "wrenches": WRENCHES}
TORQUES: dict[str, Shape] = {"tau": ("nv",), "full": ("nv",), "multipliers": ("nc",), "pivot": (1,)}
"""Inputs and outputs of inverse dynamics."""


@kernel
def spanning_tree_torques(
    tree: Array, w: Array, q: Array, v: Array, a: Array, wrenches: Array, tau: Array, full: Array
) -> None:
    """RNEA on the spanning tree, springs and dampers included, and all accelerations ``q'' = G y'' + g``."""
    update_constraints(tree, w, q, v)
    for f in range(tree.nind):
        full[tree.ind_dof[f]] = a[tree.ind_dof[f]]
    for c in range(tree.nclusters):
        dependent_accelerations(tree, w, c, full)
    accelerations(tree, w, full)
    newton_euler_forces(tree, w)
    apply_wrenches(tree, w, wrenches)
    joint_torques(tree, w, tau)
    for k in range(tree.nv):
        tau[k] += tree.armature[k] * full[k]
    subtract_passive_torques(tree, w, q, v, tau)


@kernel
def independent_torques(tree: Array, w: Array, c: int, tau: Array) -> None:
    """``tau_ind = G' tau`` of a cluster (Eq. 29), in the place of its independent degrees of freedom."""
    for d in range(tree.dep_start[c], tree.dep_start[c] + tree.dep_count[c]):
        i = tree.dep_dof[d]
        for f in range(tree.ind_start[c], tree.ind_start[c] + tree.ind_count[c]):
            tau[tree.ind_dof[f]] += w.Gc[i, tree.ind_dof[f]] * tau[i]


@kernel
def cluster_rnea(
    tree: Array,
    w: Array,
    q: Array,
    v: Array,
    a: Array,
    wrenches: Array,
    tau: Array,
    full: Array,
    multipliers: Array,
    pivot: Array,
) -> None:
    """C-RNEA: torques of the independent joints alone that make them accelerate by ``a``.

    Of ``a`` the entries of independent degrees of freedom count; ``full`` are the accelerations of all.
    """
    spanning_tree_torques(tree, w, q, v, a, wrenches, tau, full)
    for r in range(tree.nc):
        multipliers[r] = 0.0
    for c in range(tree.nclusters):
        independent_torques(tree, w, c, tau)
        cluster_multipliers(tree, w, c, tau, multipliers)
        for d in range(tree.dep_start[c], tree.dep_start[c] + tree.dep_count[c]):
            tau[tree.dep_dof[d]] = 0.0
    pivot[0] = w.pivot[0]


CLUSTER_RNEA = Algorithm("cluster_rnea", cluster_rnea, MOTION, TORQUES, WORK | EXPLICIT | ELEMENT_WORK, CLUSTER_TREE)
