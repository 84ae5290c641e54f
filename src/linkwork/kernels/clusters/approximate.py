# SPDX-License-Identifier: BSD-3-Clause
"""Approximate ABA, RNEA and EFPA: the independent tree, with the reflected inertia of dependent joints.

**clusters** Sections II-C to II-E. Bodies of dependent joints are omitted but for their rotational inertia, which
independent joints accelerate through the transmission: ``G² I`` on the diagonal of the mass matrix. Inertia that moves
with the body that carries it, such as the mass of a balanced rotor, is part of that body in plans (`regrouped`). This
approximation is common in controllers and simulators. Symbols are those of `clusters`.

Cost: that of ABA, RNEA or EFPA on the independent joints, and of the explicit constraints.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.clusters.aba import CLUSTERED
from linkwork.kernels.clusters.efpa import (
    EFFECTORS,
    PROPAGATORS,
    articulate_single_joint,
    inverse_inertia_of_end_effectors,
)
from linkwork.kernels.clusters.explicit import (
    EXPLICIT,
    dependent_accelerations,
    explicit_constraints,
    update_constraints,
)
from linkwork.kernels.clusters.rnea import MOTION, TORQUES, independent_torques
from linkwork.kernels.constrained.constraints import constraint_rows
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
from linkwork.kernels.joints import axis_of, dof_of
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.tree.aba import (
    articulated_bias_force,
    eliminate,
    inertia_to_parent,
    init_rigid_inertias,
    joint_acceleration,
)
from linkwork.kernels.tree.kinematics import accelerations, joint_transforms
from linkwork.kernels.tree.passive import ELEMENT_WORK, subtract_passive_torques
from linkwork.kernels.tree.rnea import apply_wrenches, force_to_parent, newton_euler_forces
from linkwork.model.joints import HELICAL
from linkwork.plans.cluster_efpa import CLUSTER_EFPA_TREE
from linkwork.plans.clusters import CLUSTER_TREE

REFLECTED: dict[str, Shape] = EXPLICIT | {"uc": ("nv",)}
"""Work arrays of the independent tree."""


@kernel
def add_reflected_inertia(tree: Array, w: Array, tau: Array) -> None:
    """Add the reflected inertia ``G² I`` to independent joints, and make ``uc`` their torques ``G' tau``."""
    for c in range(tree.nclusters):
        for f in range(tree.ind_start[c], tree.ind_start[c] + tree.ind_count[c]):
            k = tree.ind_dof[f]
            w.uc[k] = tau[k]
            for d in range(tree.dep_start[c], tree.dep_start[c] + tree.dep_count[c]):
                j = tree.dep_dof[d]
                w.uc[k] += w.Gc[j, k] * tau[j]
                w.joint_inertia[k] += (w.Gc[j, k] * w.Gc[j, k]) * (tree.rotor_inertia[j] + tree.armature[j])


@kernel
def approximate_aba(tree: Array, w: Array, problem: Problem, result: Result) -> None:
    """Approximate ABA: ``y'' = (H_ind + G² I)^-1 (tau_ind - c_ind)`` by ABA on the independent tree (Section II-D)."""
    setup_problem(tree, w, problem.q, problem.v, problem.wrenches, problem.target)
    constraint_violation(tree, w, problem.R, result)
    explicit_constraints(tree, w)
    init_rigid_inertias(tree, w)
    for r in range(tree.nc):
        result.multipliers[r] = 0.0
        result.residual[r] = 0.0
    add_reflected_inertia(tree, w, problem.tau)
    for i in range(tree.n - 1, 0, -1):
        if tree.is_dependent[i] == 0:
            eliminate(tree, w, i)
            inertia_to_parent(tree, w, i)
            articulated_bias_force(tree, w, i, w.uc)
    for i in range(1, tree.n):
        if tree.is_dependent[i] == 0:
            joint_acceleration(tree, w, i, result.a)
    for c in range(tree.nclusters):
        dependent_accelerations(tree, w, c, result.a)
    result.progress[0] = w.pivot[0]
    result.iterations[0] = 1.0


@kernel
def approximate_rnea(
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
    """Approximate RNEA: torques of the independent joints by RNEA on the independent tree (Section II-C)."""
    update_constraints(tree, w, q, v)
    for r in range(tree.nc):
        multipliers[r] = 0.0
    for k in range(tree.nv):
        w.joint_inertia[k] = tree.armature[k]
        tau[k] = 0.0
    add_reflected_inertia(tree, w, tau)
    for f in range(tree.nind):
        full[tree.ind_dof[f]] = a[tree.ind_dof[f]]
    for c in range(tree.nclusters):
        dependent_accelerations(tree, w, c, full)
    accelerations(tree, w, full)
    newton_euler_forces(tree, w)
    apply_wrenches(tree, w, wrenches)
    for i in range(tree.n - 1, 0, -1):
        if tree.is_dependent[i] == 0:
            for k in range(dof_of(tree.kind[i])):
                o = tree.iv[i] + k
                tau[o] = w.f[i, axis_of(tree.kind[i], k)] + w.joint_inertia[o] * full[o]
                if tree.kind[i] == HELICAL:
                    tau[o] += tree.pitch[i] * w.f[i, 5]
            force_to_parent(tree, w, i)
    subtract_passive_torques(tree, w, q, v, tau)
    for c in range(tree.nclusters):
        independent_torques(tree, w, c, tau)
        for d in range(tree.dep_start[c], tree.dep_start[c] + tree.dep_count[c]):
            tau[tree.dep_dof[d]] = 0.0
    pivot[0] = w.pivot[0]


@kernel
def approximate_efpa(tree: Array, w: Array, q: Array, out: Array, pivot: Array) -> None:
    """Approximate EFPA: ``J (H_ind + G² I)^-1 J'`` by EFPA on the independent tree (Section II-E)."""
    joint_transforms(tree, w, q)
    constraint_rows(tree, w, q, w.error)
    for r in range(tree.nc):
        w.k[r] = 0.0
    explicit_constraints(tree, w)
    init_rigid_inertias(tree, w)
    for k in range(tree.nv):
        w.qdd0[k] = 0.0
    add_reflected_inertia(tree, w, w.qdd0)
    for i in range(tree.n - 1, 0, -1):
        if tree.is_dependent[i] == 0:
            articulate_single_joint(tree, w, i)
    inverse_inertia_of_end_effectors(tree, w, out)
    pivot[0] = w.pivot[0]


APPROXIMATE_ABA = Algorithm(
    "approximate_aba", approximate_aba, INPUTS, OUTPUTS, WORK | REFLECTED, CLUSTER_TREE, view=forward_view
)
APPROXIMATE_RNEA = Algorithm(
    "approximate_rnea", approximate_rnea, MOTION, TORQUES, WORK | REFLECTED | ELEMENT_WORK, CLUSTER_TREE
)
APPROXIMATE_EFPA = Algorithm(
    "approximate_efpa", approximate_efpa, {"q": ("nq",)}, EFFECTORS, WORK | CLUSTERED | PROPAGATORS, CLUSTER_EFPA_TREE
)
