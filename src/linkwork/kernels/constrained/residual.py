# SPDX-License-Identifier: BSD-3-Clause
"""Residuals of the equations of constrained dynamics at given accelerations and constraint forces.

    tau = M a + c - J' lambda,        rows = J a + dJ/dt v - (Baumgarte's target)

Forward dynamics solves ``tau = tau_given``, ``rows = target`` (`constrained.problem`). By the implicit function theorem
its derivatives are those of these residuals at the solution, and the solution of a linear system with the same matrix:
derivatives go neither through factors nor through iterations.

| symbol          | meaning                                                           |
|-----------------|-------------------------------------------------------------------|
| a, multipliers  | joint accelerations and constraint forces of forward dynamics     |
| v1, impulses    | of an impact: joint velocities after it, and its impulses            |

Of an impact with restitution ``e``: ``tau = M (v1 - v) - J' impulses``, ``rows = J v1 + e J v``. Cost: O(n).
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained.constraints import CLOSURE, RATES, constraint_rows, constraint_velocities
from linkwork.kernels.constrained.problem import setup_problem_at
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.spatial import subtract_scaled
from linkwork.kernels.tree.kinematics import (
    ACCELERATION,
    MOTION,
    POSE,
    acceleration_from_parent,
    joint_transforms,
    velocities,
)
from linkwork.kernels.tree.rnea import FORCE, FORWARD, WRENCHES, inertial_force, joint_torques, rnea
from linkwork.plans.constraints import CONSTRAINED_TREE


@kernel
def torques_with_constraints(tree: Array, w: Array, a: Array, multipliers: Array, tau: Array) -> None:
    """``tau = M a + ... - J' lambda`` of the net forces of bodies, after `constraint_rows`."""
    for m in range(tree.nk_link):
        if tree.k_body[m] > 0:
            subtract_scaled(multipliers[tree.k_row[m]], w.K[m], w.f[tree.k_body[m]])
    joint_torques(tree, w, tau)
    for k in range(tree.nv):
        tau[k] += tree.armature[k] * a[k]
    for t in range(tree.nterms):
        tau[tree.term_v[t]] -= w.dphi[t] * multipliers[tree.term_row[t]]


@kernel
def constrained_residual(
    tree: Array,
    w: Array,
    q: Array,
    v: Array,
    a: Array,
    wrenches: Array,
    multipliers: Array,
    tau: Array,
    rows: Array,
) -> None:
    """``tau = M a + c - J' lambda - sum J_f' wrench`` and ``rows = J a + dJ/dt v - (Baumgarte's target)``."""
    for r in range(tree.nc):
        w.zero[r] = 0.0
    setup_problem_at(tree, w, q, v, a, wrenches, w.zero)
    torques_with_constraints(tree, w, a, multipliers, tau)
    for r in range(tree.nc):
        rows[r] = -w.k[r]
    for t in range(tree.nterms):
        rows[tree.term_row[t]] += w.dphi[t] * a[tree.term_v[t]]


@kernel
def impact_residual(
    tree: Array,
    w: Array,
    q: Array,
    v: Array,
    restitution: Array,
    v1: Array,
    impulses: Array,
    tau: Array,
    rows: Array,
) -> None:
    """``tau = M (v1 - v) - J' impulses`` and ``rows = J v1 + e J v``."""
    joint_transforms(tree, w, q)
    constraint_rows(tree, w, q, w.error)
    velocities(tree, w, v)
    constraint_velocities(tree, w, q, v, w.Jv)
    velocities(tree, w, v1)
    constraint_velocities(tree, w, q, v1, rows)
    for r in range(tree.nc):
        rows[r] += restitution[r] * w.Jv[r]
    for k in range(tree.nv):
        w.change[k] = v1[k] - v[k]
    for j in range(6):
        w.a[0, j] = 0.0
    for i in range(1, tree.n):
        acceleration_from_parent(tree, w, i, w.change)
        inertial_force(tree, w, i)
    torques_with_constraints(tree, w, w.change, impulses, tau)


_WORK: dict[str, Shape] = (
    POSE
    | MOTION
    | CLOSURE
    | RATES
    | ACCELERATION
    | FORCE
    | {"error": ("nc",), "target": ("nc",), "k": ("nc",), "Jv": ("nc",), "zero": ("nc",), "change": ("nv",)}
)
_OUTPUTS: dict[str, Shape] = {"tau": ("nv",), "rows": ("nc",)}

TREE_RESIDUAL = Algorithm(
    "tree_residual",
    rnea,
    {"q": ("nq",), "v": ("nv",), "a": ("nv",), "wrenches": WRENCHES},
    {"tau": ("nv",)},
    POSE | MOTION | ACCELERATION | FORCE,
    folded=FORWARD,
    traced=True,
)
CONSTRAINED_RESIDUAL = Algorithm(
    "constrained_residual",
    constrained_residual,
    {"q": ("nq",), "v": ("nv",), "a": ("nv",), "wrenches": WRENCHES, "multipliers": ("nc",)},
    _OUTPUTS,
    _WORK,
    CONSTRAINED_TREE,
    traced=True,
)
IMPACT_RESIDUAL = Algorithm(
    "impact_residual",
    impact_residual,
    {"q": ("nq",), "v": ("nv",), "restitution": ("nc",), "v1": ("nv",), "impulses": ("nc",)},
    _OUTPUTS,
    _WORK,
    CONSTRAINED_TREE,
    traced=True,
)
