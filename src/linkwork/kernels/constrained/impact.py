# SPDX-License-Identifier: BSD-3-Clause
"""Impact dynamics: the jump of velocities at an impact with Newton's law of restitution.

Featherstone, Rigid Body Dynamics Algorithms, Section 11.7; Pinocchio's ``impulseDynamics``. With ``e`` the coefficient
of restitution of each row, ``M (v+ - v) = J' impulse`` and ``J v+ = -e J v``: forward dynamics without gravity, torques
and velocities, whose accelerations are the change of velocity, by the sweeps of `bbo` and of `lcaba`. Symbols and
convergence as there and in `constrained.problem`. Cost: as of the method.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained.bbo import multipliers_and_accelerations, row_bias_forces, row_residuals
from linkwork.kernels.constrained.bbo_factor import TRAVEL, articulate_rows
from linkwork.kernels.constrained.constraints import constraint_rows, constraint_velocities
from linkwork.kernels.constrained.lcaba import (
    apply_constraint_forces,
    constraint_residual,
    coupled_accelerations,
    coupled_bias_forces,
    update_multipliers,
)
from linkwork.kernels.constrained.lcaba_factor import SPRINGS, articulate_loops
from linkwork.kernels.constrained.problem import (
    WORK,
    Settings,
    clear_forces,
    copy_rows,
    residual_norm,
    residual_progress,
)
from linkwork.kernels.elementary import maximum
from linkwork.kernels.records import view_of
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.tree.kinematics import accelerations, joint_transforms, velocities
from linkwork.kernels.tree.rnea import newton_euler_forces
from linkwork.plans.bbo import BBO_TREE
from linkwork.plans.lcaba import LCABA_TREE

INPUTS: dict[str, Shape] = {
    "q": ("nq",),
    "v": ("nv",),
    "restitution": ("nc",),
    "regularization": ("nc",),
    "multipliers": ("nc",),
    "settings": ("nsettings",),
}
OUTPUTS: dict[str, Shape] = {"after": ("nv",), "result": ("nresult",)}


class ImpactProblem(NamedTuple):
    """The inputs of an impact."""

    q: Array
    v: Array
    """(nv,) velocities before the impact."""
    restitution: Array
    """(nc,) e of each row."""
    R: Array
    """(nc,) regularization of each row; infinite where a row is not enabled."""
    multipliers0: Array
    """(nc,) the impulses to start from."""
    settings: Settings


class ImpactResult(NamedTuple):
    """The outputs of an impact: as `Result`, of velocities and impulses."""

    v: Array
    """(nv,) velocities after the impact."""
    progress: Annotated[Array, (1,)]
    iterations: Annotated[Array, (1,)]
    multipliers: Annotated[Array, ("nc",)]
    residual: Annotated[Array, ("nc",)]
    violation: Annotated[Array, (2,)]


impact_view = view_of(ImpactProblem, ImpactResult)


@kernel
def setup_impact(tree: Array, w: Array, problem: ImpactProblem, result: ImpactResult) -> None:
    """First forward sweep: poses, rows of K, and ``k = -(1 + e) J v``; no other forces.

    Residuals are relative to the kinetic energy of joints.
    """
    v = problem.v
    joint_transforms(tree, w, problem.q)
    constraint_rows(tree, w, problem.q, w.error)
    velocities(tree, w, v)
    constraint_velocities(tree, w, problem.q, v, w.k)
    for r in range(tree.nc):
        w.k[r] = -((1.0 + problem.restitution[r]) * w.k[r])
    result.violation[0] = 0.0
    result.violation[1] = -1.0
    w.residual_scale[0] = 0.0
    for k in range(tree.nv):
        w.residual_scale[0] += v[k] * v[k] / problem.settings.mobility[k]
    clear_forces(tree, w, w.qdd0)


@kernel
def impact_bbo(tree: Array, w: Array, problem: ImpactProblem, result: ImpactResult) -> None:
    """The first iteration, by the sweeps of `bbo.prox_bbo`."""
    setup_impact(tree, w, problem, result)
    for r in range(tree.nc):
        result.residual[r] = w.k[r]
        w.k[r] += problem.R[r] * problem.multipliers0[r]
    articulate_rows(tree, w, problem.R)
    row_bias_forces(tree, w, w.qdd0)
    multipliers_and_accelerations(tree, w, w.da)
    for k in range(tree.nv):
        result.v[k] = problem.v[k] + w.da[k]
    copy_rows(tree, w.lam, result.multipliers)
    row_residuals(tree, w, w.da, problem.R, result.residual)
    result.progress[0] = residual_norm(tree, w, problem.settings, result.residual)
    result.iterations[0] = 1.0


@kernel
def impact_bbo_iterate(tree: Array, w: Array, problem: ImpactProblem, result: ImpactResult) -> None:
    """A further iteration, by the sweeps of `bbo.prox_bbo_iterate`."""
    clear_forces(tree, w, w.qdd0)
    for r in range(tree.nc):
        w.k[r] = result.residual[r]
    row_bias_forces(tree, w, w.qdd0)
    multipliers_and_accelerations(tree, w, w.da)
    for k in range(tree.nv):
        result.v[k] += w.da[k]
    for r in range(tree.nc):
        result.multipliers[r] += w.lam[r]
    copy_rows(tree, result.residual, w.error)
    row_residuals(tree, w, w.da, problem.R, result.residual)
    result.progress[0] = residual_progress(tree, w, problem.settings, w.error, result.residual)
    result.iterations[0] += 1.0


@kernel
def impact_lcaba(tree: Array, w: Array, problem: ImpactProblem, result: ImpactResult) -> None:
    """The first iteration, by the sweeps of `lcaba.lcaba`."""
    setup_impact(tree, w, problem, result)
    articulate_loops(tree, w, problem.R)
    for k in range(tree.nv):
        w.tau[k] = 0.0
    for r in range(tree.nc):
        result.multipliers[r] = problem.multipliers0[r]
        result.residual[r] = problem.multipliers0[r] + w.mu[r] * w.k[r]
    apply_constraint_forces(tree, w, result.residual)
    coupled_bias_forces(tree, w, w.tau)
    coupled_accelerations(tree, w, w.da)
    for r in range(tree.nc):
        result.residual[r] = w.k[r]
    constraint_residual(tree, w, w.da, result.residual)
    update_multipliers(tree, w, problem.R, result.multipliers, result.residual)
    for k in range(tree.nv):
        result.v[k] = problem.v[k] + w.da[k]
    result.progress[0] = maximum(residual_norm(tree, w, problem.settings, result.residual), problem.settings.rounding)
    result.iterations[0] = 1.0


@kernel
def impact_force_residual(tree: Array, w: Array, change: Array) -> None:
    """Iterative refinement: impulses of a change of velocities, as `constrained.force_residual`."""
    for i in range(tree.n):
        for j in range(6):
            w.W[i, j] = 0.0
            w.c[i, j] = 0.0
    for j in range(6):
        w.a[0, j] = 0.0
    accelerations(tree, w, change)
    newton_euler_forces(tree, w)


@kernel
def impact_lcaba_iterate(tree: Array, w: Array, problem: ImpactProblem, result: ImpactResult) -> None:
    """A further iteration, by the sweeps of `lcaba.lcaba_iterate`."""
    for k in range(tree.nv):
        w.qdd0[k] = result.v[k] - problem.v[k]
        w.tau[k] = -(tree.armature[k] * w.qdd0[k])
    impact_force_residual(tree, w, w.qdd0)
    for r in range(tree.nc):
        w.k[r] = result.multipliers[r] + w.mu[r] * result.residual[r]
    apply_constraint_forces(tree, w, w.k)
    coupled_bias_forces(tree, w, w.tau)
    coupled_accelerations(tree, w, w.da)
    copy_rows(tree, result.residual, w.error)
    constraint_residual(tree, w, w.da, result.residual)
    update_multipliers(tree, w, problem.R, result.multipliers, result.residual)
    for k in range(tree.nv):
        result.v[k] += w.da[k]
    result.progress[0] = residual_progress(tree, w, problem.settings, w.error, result.residual)
    result.iterations[0] += 1.0


IMPACT_ROWS = Algorithm(
    "impact_rows", impact_bbo, INPUTS, OUTPUTS, WORK | TRAVEL, BBO_TREE, impact_bbo_iterate, view=impact_view
)
IMPACT_SPRINGS = Algorithm(
    "impact_springs",
    impact_lcaba,
    INPUTS,
    OUTPUTS,
    WORK | SPRINGS,
    LCABA_TREE,
    impact_lcaba_iterate,
    view=impact_view,
)
