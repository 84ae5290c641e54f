# SPDX-License-Identifier: BSD-3-Clause
"""The projection method: equations of motion of the whole tree, projected on the independent coordinates.

**clusters** Section II-D, the baseline of C-ABA. Symbols are those of `clusters` and `cluster_aba`; matrices are those
of the whole tree. Cost: cubic in the independent degrees of freedom.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.clusters.aba import CLUSTERED
from linkwork.kernels.clusters.explicit import (
    cluster_multipliers,
    cluster_residuals,
    dependent_accelerations,
    explicit_constraints,
)
from linkwork.kernels.constrained.problem import (
    INPUTS,
    OUTPUTS,
    WORK,
    Problem,
    Result,
    constraint_violation,
    forward_view,
    setup_problem,
)
from linkwork.kernels.indexed_ldl import factorize_at, solve_at
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.tree.crba import COMPOSITE, mass_matrix
from linkwork.kernels.tree.rnea import joint_torques
from linkwork.plans.clusters import CLUSTER_TREE

PROJECTED: dict[str, Shape] = CLUSTERED | {"MG": ("nv", "nv")}
"""Work arrays, with ``M G`` of the whole tree."""


@kernel
def projected_mass_matrix(tree: Array, w: Array) -> None:
    """``G' M G`` of the whole tree, dense, and its factor; ``M`` is in ``Mc``."""
    for c in range(tree.nclusters):
        for f in range(tree.ind_start[c], tree.ind_start[c] + tree.ind_count[c]):
            k = tree.ind_dof[f]
            for i in range(tree.nv):
                x = w.Mc[i, k]
                for d in range(tree.dep_start[c], tree.dep_start[c] + tree.dep_count[c]):
                    x = x + w.Mc[i, tree.dep_dof[d]] * w.Gc[tree.dep_dof[d], k]
                w.MG[i, k] = x
    for c in range(tree.nclusters):
        for f in range(tree.ind_start[c], tree.ind_start[c] + tree.ind_count[c]):
            i = tree.ind_dof[f]
            for e in range(tree.nind):
                k = tree.ind_dof[e]
                x = w.MG[i, k]
                for d in range(tree.dep_start[c], tree.dep_start[c] + tree.dep_count[c]):
                    x = x + w.Gc[tree.dep_dof[d], i] * w.MG[tree.dep_dof[d], k]
                w.Dc[i, k] = x
    factorize_at(tree.ind_dof, 0, tree.nind, w.Dc)


@kernel
def projection(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """The projection method: ``y'' = (G' M G)^-1 G' (tau - c - M g)``, dense (**clusters** Section II-D)."""
    setup_problem(tree, w, problem.q, problem.v, problem.wrenches, problem.target)
    constraint_violation(tree, w, problem.R, result)
    explicit_constraints(tree, w)
    joint_torques(tree, w, w.uc)
    mass_matrix(tree, w, w.Mc)
    for k in range(tree.nv):
        w.uc[k] = problem.tau[k] - w.uc[k]
    for c in range(tree.nclusters):
        for d in range(tree.dep_start[c], tree.dep_start[c] + tree.dep_count[c]):
            i = tree.dep_dof[d]
            for k in range(tree.nv):
                w.uc[k] -= w.Mc[k, i] * w.gc[i]
    for c in range(tree.nclusters):
        for f in range(tree.ind_start[c], tree.ind_start[c] + tree.ind_count[c]):
            i = tree.ind_dof[f]
            result.a[i] = w.uc[i]
            for d in range(tree.dep_start[c], tree.dep_start[c] + tree.dep_count[c]):
                result.a[i] += w.Gc[tree.dep_dof[d], i] * w.uc[tree.dep_dof[d]]
    projected_mass_matrix(tree, w)
    solve_at(tree.ind_dof, 0, tree.nind, w.Dc, result.a)
    for r in range(tree.nc):
        result.multipliers[r] = 0.0
        result.residual[r] = 0.0
    for c in range(tree.nclusters):
        dependent_accelerations(tree, w, c, result.a)
    for k in range(tree.nv):  # tau_c = M q'' + c - tau, with u = tau - c - M g
        w.x[k] = -w.uc[k]
        for f in range(tree.nind):
            w.x[k] += w.MG[k, tree.ind_dof[f]] * result.a[tree.ind_dof[f]]
    for c in range(tree.nclusters):
        cluster_multipliers(tree, w, c, w.x, result.multipliers)
        cluster_residuals(tree, w, c, result.a, result.residual)
    result.progress[0] = w.pivot[0]
    result.iterations[0] = 1.0


PROJECTION = Algorithm(
    "projection",
    projection,
    INPUTS,
    OUTPUTS,
    WORK | COMPOSITE | CLUSTERED | {"MG": ("nv", "nv")},
    CLUSTER_TREE,
    view=forward_view,
)
