"""Impacts: how velocities jump when constraints act at once, by the sweeps of forward dynamics.

With ``e`` the restitution of each row, ``M (v+ - v) = J' impulse`` and ``J v+ = -e J v``: forward dynamics without
gravity, torques and velocities, whose accelerations are the change of velocity. Iterations as in `constrained`.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.bbo import TRAVEL, articulate_rows, multipliers_and_accelerations, row_bias_forces, row_residuals
from linkwork.kernels.constrained import WORK, clear_forces, copy_rows, maximum, residual_norm, residual_progress
from linkwork.kernels.constraints import constraint_rows, constraint_velocities
from linkwork.kernels.kinematics import accelerations, joint_transforms, velocities
from linkwork.kernels.lcaba import (
    SPRINGS,
    apply_constraint_forces,
    articulate_loops,
    constraint_residual,
    coupled_accelerations,
    coupled_bias_forces,
    update_multipliers,
)
from linkwork.kernels.rnea import newton_euler_forces
from linkwork.kernels.scalar import Array, kernel
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
OUTPUTS: dict[str, Shape] = {"after": ("nv",), "found": ("nresult",)}


@kernel
def setup_impact(tree: Array, w: Array, q: Array, v: Array, restitution: Array, settings: Array, found: Array) -> None:
    """Poses, rows of K, and by how much each row's rate is to change, ``ks``; nothing else pushes.

    What is left of the rows is measured by what joints have of kinetic energy.
    """
    joint_transforms(tree, w, q)
    constraint_rows(tree, w, q, w.error)
    velocities(tree, w, v)
    constraint_velocities(tree, w, q, v, w.ks)
    for r in range(tree.nc):
        w.ks[r] = -((1.0 + restitution[r]) * w.ks[r])
    found[tree.nresult - 2] = 0.0
    found[tree.nresult - 1] = -1.0
    w.magnitude[0] = 0.0
    for k in range(tree.nv):
        w.magnitude[0] += v[k] * v[k] / settings[6 + k]
    clear_forces(tree, w)


@kernel
def impact_rows(
    tree: Array,
    w: Array,
    q: Array,
    v: Array,
    restitution: Array,
    regularization: Array,
    start: Array,
    settings: Array,
    after: Array,
    found: Array,
) -> None:
    """By rows that travel, as in `bbo`."""
    multipliers = found[2 : 2 + tree.nc]
    residual = found[2 + tree.nc : tree.nresult]
    setup_impact(tree, w, q, v, restitution, settings, found)
    for r in range(tree.nc):
        residual[r] = w.ks[r]
        w.ks[r] += regularization[r] * start[r]
    articulate_rows(tree, w, regularization)
    row_bias_forces(tree, w, w.still)
    multipliers_and_accelerations(tree, w, w.more)
    for k in range(tree.nv):
        after[k] = v[k] + w.more[k]
    copy_rows(tree, w.l, multipliers)
    row_residuals(tree, w, w.more, regularization, residual)
    found[0] = residual_norm(tree, w, settings, residual)
    found[1] = 1.0


@kernel
def impact_rows_iterate(
    tree: Array,
    w: Array,
    q: Array,
    v: Array,
    restitution: Array,
    regularization: Array,
    start: Array,
    settings: Array,
    after: Array,
    found: Array,
) -> None:
    """One more iteration."""
    multipliers = found[2 : 2 + tree.nc]
    residual = found[2 + tree.nc : tree.nresult]
    clear_forces(tree, w)
    for r in range(tree.nc):
        w.ks[r] = residual[r]
    row_bias_forces(tree, w, w.still)
    multipliers_and_accelerations(tree, w, w.more)
    for k in range(tree.nv):
        after[k] += w.more[k]
    for r in range(tree.nc):
        multipliers[r] += w.l[r]
    copy_rows(tree, residual, w.error)
    row_residuals(tree, w, w.more, regularization, residual)
    found[0] = residual_progress(tree, w, settings, w.error, residual)
    found[1] += 1.0


@kernel
def impact_springs(
    tree: Array,
    w: Array,
    q: Array,
    v: Array,
    restitution: Array,
    regularization: Array,
    start: Array,
    settings: Array,
    after: Array,
    found: Array,
) -> None:
    """By springs between bodies, as in `lcaba`."""
    multipliers = found[2 : 2 + tree.nc]
    residual = found[2 + tree.nc : tree.nresult]
    setup_impact(tree, w, q, v, restitution, settings, found)
    articulate_loops(tree, w, regularization)
    for k in range(tree.nv):
        w.pulls[k] = 0.0
    for r in range(tree.nc):
        multipliers[r] = start[r]
        residual[r] = start[r] + w.rho[r] * w.ks[r]
    apply_constraint_forces(tree, w, residual)
    coupled_bias_forces(tree, w, w.pulls)
    coupled_accelerations(tree, w, w.more)
    for r in range(tree.nc):
        residual[r] = w.ks[r]
    constraint_residual(tree, w, w.more, residual)
    update_multipliers(tree, w, regularization, multipliers, residual)
    for k in range(tree.nv):
        after[k] = v[k] + w.more[k]
    found[0] = maximum(residual_norm(tree, w, settings, residual), settings[2])
    found[1] = 1.0


@kernel
def impact_force_residual(tree: Array, w: Array, change: Array) -> None:
    """Impulses on bodies that a change of velocities leaves without a balance, as in `constrained`."""
    for i in range(tree.n):
        for j in range(6):
            w.W[i, j] = 0.0
            w.k[i, j] = 0.0
    for j in range(6):
        w.a[0, j] = 0.0
    accelerations(tree, w, change)
    newton_euler_forces(tree, w)


@kernel
def impact_springs_iterate(
    tree: Array,
    w: Array,
    q: Array,
    v: Array,
    restitution: Array,
    regularization: Array,
    start: Array,
    settings: Array,
    after: Array,
    found: Array,
) -> None:
    """One more iteration."""
    multipliers = found[2 : 2 + tree.nc]
    residual = found[2 + tree.nc : tree.nresult]
    for k in range(tree.nv):
        w.still[k] = after[k] - v[k]
        w.pulls[k] = -(tree.armature[k] * w.still[k])
    impact_force_residual(tree, w, w.still)
    for r in range(tree.nc):
        w.ks[r] = multipliers[r] + w.rho[r] * residual[r]
    apply_constraint_forces(tree, w, w.ks)
    coupled_bias_forces(tree, w, w.pulls)
    coupled_accelerations(tree, w, w.more)
    copy_rows(tree, residual, w.error)
    constraint_residual(tree, w, w.more, residual)
    update_multipliers(tree, w, regularization, multipliers, residual)
    for k in range(tree.nv):
        after[k] += w.more[k]
    found[0] = residual_progress(tree, w, settings, w.error, residual)
    found[1] += 1.0


IMPACT_ROWS = Algorithm("impact_rows", impact_rows, INPUTS, OUTPUTS, WORK | TRAVEL, BBO_TREE, impact_rows_iterate)
IMPACT_SPRINGS = Algorithm(
    "impact_springs", impact_springs, INPUTS, OUTPUTS, WORK | SPRINGS, LCABA_TREE, impact_springs_iterate
)
