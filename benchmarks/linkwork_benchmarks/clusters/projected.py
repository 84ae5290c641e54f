# SPDX-License-Identifier: BSD-3-Clause
"""Projected RNEA (**clusters** Section II-C): torques of the tree, and the explicit form of all rows, dense.

``G' rnea(G y'' + g)``: what inverse dynamics of a robot with loops is without clusters. It is kernel code like that of
the package, so that it can be run by every backend, with kinematics done once.
"""

from __future__ import annotations

from typing import Any

import linkwork as lw
from linkwork.closure.clusters import clustered
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.clusters.explicit import EXPLICIT_FORM, explicit_form
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.tree.kinematics import accelerations
from linkwork.kernels.tree.rnea import joint_torques, newton_euler_forces, set_root_acceleration
from linkwork.plans.clusters import CLUSTER_TREE
from linkwork.quantities.evaluator import ProgramEvaluator


@kernel
def projected_rnea(tree: Array, w: Array, q: Array, v: Array, second: Array, tau: Array, pivot: Array) -> None:
    """Torques of the independent joints that make them accelerate by ``second``."""
    explicit_form(tree, w, q, v, w.G_all, w.g_all, pivot)
    for k in range(tree.nv):
        x = w.g_all[k]
        for f in range(tree.nind):
            x = x + w.G_all[k, f] * second[f]
        w.full[k] = x
    set_root_acceleration(tree, w)
    accelerations(tree, w, w.full)
    newton_euler_forces(tree, w)
    joint_torques(tree, w, w.tau_all)
    for k in range(tree.nv):
        w.tau_all[k] += tree.armature[k] * w.full[k]
    for f in range(tree.nind):
        x = 0.0
        for k in range(tree.nv):
            x = x + w.G_all[k, f] * w.tau_all[k]
        tau[f] = x


PROJECTED_RNEA = Algorithm(
    "projected_rnea",
    projected_rnea,
    {"q": ("nq",), "v": ("nv",), "second": ("nind",)},
    {"tau": ("nind",), "pivot": (1,)},
    {**EXPLICIT_FORM.work, "G_all": ("nv", "nind"), "g_all": ("nv",), "full": ("nv",), "tau_all": ("nv",)},
    CLUSTER_TREE,
)


class ProjectedInverseDynamics(ProgramEvaluator):
    """``tau, pivot = evaluator(q, v, second)``, of the independent degrees of freedom."""

    def __init__(self, robot: lw.Mechanism, threads: int | None = None) -> None:
        super().__init__(robot, "projected_inverse_dynamics", PROJECTED_RNEA, clustered, threads=threads)

    def recipe(self) -> dict[str, Any]:
        """Keyword arguments that make an equal evaluator."""
        return {"robot": self.robot}
