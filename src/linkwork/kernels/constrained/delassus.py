# SPDX-License-Identifier: BSD-3-Clause
"""The Delassus operator ``J M^-1 J'`` and its damped inverse ``(J M^-1 J' + R)^-1``, without either matrix.

**delassus** Sections IV and V; the paper's ``Lambda^-1`` and ``Lambda_R``. The operator is ``J o M^-1 o J'``
(Algorithms 3, 2 and 1) with backward sweeps merged, and forward sweeps (Section IV-D): forces of rows act on bodies,
ABA takes them to the root, and accelerations come back. ``R`` is a damping here, ``(D + R)^-1``, and a stiffness in the
paper, whose Eq. 4 is ``(R^-1 + D)^-1``: our ``mu = 1 / R`` is the paper's ``R``. The damped inverse is ``mu - mu J (M +
J' mu J)^-1 J' mu`` (Eq. 8): LCABA solves the modified mass matrix in the middle (Algorithm 4).

Rows of K of contact points are not formed: see `contact_patches`.

Each operator is split by the inputs of its parts: `factorize` and `setup_rows` on q alone, `factorize_damped` on the
damping, `apply_delassus` and `solve_damped` on the vector. Run one after the other on the same work arrays, later parts
can be repeated.

| symbol   | meaning                                                                           |
|----------|-----------------------------------------------------------------------------------|
| tau      | torques on joints                                                                 |
| residual | residual of each row: ``a_c - J v' - R f``                                          |
| da       | correction of joint accelerations in a step of refinement                          |

Cost: linear in bodies and rows; of the inverse, times the square of the neighbors that a body has when eliminated.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained.constraints import CLOSURE, constraint_rows
from linkwork.kernels.constrained.contact_patches import (
    PATCHES,
    apply_contact_forces,
    contact_accelerations,
    contact_errors,
    contact_patches,
)
from linkwork.kernels.constrained.lcaba import coupled_accelerations, coupled_bias_forces
from linkwork.kernels.constrained.lcaba_factor import SPRINGS, articulate_loops, joint_coupling_rows
from linkwork.kernels.constrained.problem import clear_forces
from linkwork.kernels.elementary import magnitude, max_norm, maximum
from linkwork.kernels.scalar import Array, kernel, where
from linkwork.kernels.spatial import (
    angular,
    dot,
    linear,
    subtract_scaled,
)
from linkwork.kernels.thresholds import LEAST_FORCE, ROUNDING_OF_SUMS
from linkwork.kernels.tree.aba import ARTICULATED, articulate, articulated_bias_forces, joint_accelerations
from linkwork.kernels.tree.kinematics import POSE, acceleration_from_parent, joint_transforms
from linkwork.kernels.tree.rnea import FORCE, inertial_force, joint_torques
from linkwork.plans.delassus import DAMPED_TREE, DELASSUS_TREE

NO_NUMBER = float("nan")

OPERATOR: dict[str, Shape] = (
    POSE | CLOSURE | PATCHES | FORCE | ARTICULATED | {"a": ("n", 6), "tau": ("nv",), "e": ("nc",)}
)
DAMPED: dict[str, Shape] = OPERATOR | SPRINGS | {"residual": ("nc",), "da": ("nv",)}


# The operator ------------------------------------------------------------------------------------------------


@kernel
def factorize(tree: Array, w: Array, q: Array, error: Array) -> None:
    """Quantities that depend on q alone: rows of K and articulated inertias (Algorithm 2, lines 4 and 7)."""
    joint_transforms(tree, w, q)
    constraint_rows(tree, w, q, error)
    contact_patches(tree, w)
    contact_errors(tree, w, error)
    articulate(tree, w)


@kernel
def apply_row_forces(tree: Array, w: Array, forces: Array) -> None:
    """``f -= K' lambda`` on bodies, as a bias force, and ``tau += K' lambda`` on joints (Algorithm 1, lines 1 to 6)."""
    for i in range(tree.n):
        for j in range(6):
            w.f[i, j] = 0.0
    for m in range(tree.nk_link):
        subtract_scaled(forces[tree.k_row[m]], w.K[m], w.f[tree.k_body[m]])
    for g in range(tree.npatches):
        apply_contact_forces(tree, w, g, forces)
    for t in range(tree.nterms):
        w.tau[tree.term_v[t]] += w.dphi[t] * forces[tree.term_row[t]]


@kernel
def constraint_accelerations(tree: Array, w: Array, motion: Array, rows: Array) -> None:
    """``a_c = J v'`` from accelerations of bodies and joints (Algorithm 3, lines 4 to 8)."""
    for r in range(tree.nc):
        rows[r] = 0.0
    for m in range(tree.nk_link):
        K = w.K[m]
        a = w.a[tree.k_body[m]]
        rows[tree.k_row[m]] += dot(angular(K), angular(a)) + dot(linear(K), linear(a))
    for g in range(tree.npatches):
        contact_accelerations(tree, w, g, rows)
    for t in range(tree.nterms):
        rows[tree.term_row[t]] += w.dphi[t] * motion[tree.term_v[t]]


@kernel
def apply_delassus(tree: Array, w: Array, forces: Array, torques: Array, motion: Array, rows: Array) -> None:
    """``motion = M^-1 (J' forces + torques)`` and ``rows = J motion``, after `factorize`."""
    for k in range(tree.nv):
        w.tau[k] = torques[k]
    apply_row_forces(tree, w, forces)
    articulated_bias_forces(tree, w, w.tau)
    joint_accelerations(tree, w, motion)
    constraint_accelerations(tree, w, motion, rows)


@kernel
def delassus(tree: Array, w: Array, q: Array, forces: Array, torques: Array, motion: Array, rows: Array) -> None:
    """``motion = M^-1 (J' forces + torques)`` and ``rows = J motion`` at ``q``."""
    joint_transforms(tree, w, q)
    constraint_rows(tree, w, q, w.e)
    contact_patches(tree, w)
    articulate(tree, w)
    apply_delassus(tree, w, forces, torques, motion, rows)


@kernel
def apply_J(tree: Array, w: Array, motion: Array, rows: Array) -> None:
    """``rows = J motion`` (Algorithm 3), after `factorize`."""
    for j in range(6):
        w.a[0, j] = 0.0
    for i in range(1, tree.n):
        acceleration_from_parent(tree, w, i, motion)
    constraint_accelerations(tree, w, motion, rows)


@kernel
def apply_JT(tree: Array, w: Array, forces: Array, torques: Array) -> None:
    """``torques = J' forces`` (Algorithm 1), after `factorize`."""
    for k in range(tree.nv):
        w.tau[k] = 0.0
    apply_row_forces(tree, w, forces)
    joint_torques(tree, w, torques)
    for k in range(tree.nv):
        torques[k] = w.tau[k] - torques[k]


# The damped inverse ----------------------------------------------------------------------------------------------


@kernel
def setup_rows(tree: Array, w: Array, q: Array, error: Array) -> None:
    """Quantities that depend on q alone: rows of K, and contact patches."""
    joint_transforms(tree, w, q)
    constraint_rows(tree, w, q, error)
    joint_coupling_rows(tree, w)
    contact_patches(tree, w)


@kernel
def factorize_damped(tree: Array, w: Array, damping: Array, stiffness: Array) -> None:
    """``M + J' mu J``, factorized (Algorithm 4, lines 2 to 32); ``stiffness`` is ``mu``, NaN for negative damping."""
    articulate_loops(tree, w, damping)
    for r in range(tree.nc):
        stiffness[r] = where(0.0, damping[r], w.mu[r], NO_NUMBER)


@kernel
def apply_spring_forces(tree: Array, w: Array, forces: Array) -> None:
    """``f -= K' lambda`` on bodies, ``tau += K' lambda`` on joints for rows of a single degree of freedom."""
    for s in range(tree.nother_k):
        m = tree.other_k[s]
        subtract_scaled(forces[tree.k_row[m]], w.K[m], w.f[tree.k_body[m]])
    for g in range(tree.npatches):
        apply_contact_forces(tree, w, g, forces)
    for t in range(tree.nterms):
        r = tree.term_row[t]
        if tree.single_joint[r] != 0:
            w.tau[tree.term_v[t]] += w.dphi[t] * forces[r]


@kernel
def spring_accelerations(tree: Array, w: Array, motion: Array, rows: Array) -> None:
    """``rows = J v'`` from accelerations of bodies and joints."""
    for r in range(tree.nc):
        rows[r] = 0.0
    for s in range(tree.nother_k):
        m = tree.other_k[s]
        K = w.K[m]
        a = w.a[tree.k_body[m]]
        rows[tree.k_row[m]] += dot(angular(K), angular(a)) + dot(linear(K), linear(a))
    for g in range(tree.npatches):
        contact_accelerations(tree, w, g, rows)
    for t in range(tree.nterms):
        if tree.single_joint[tree.term_row[t]] != 0:
            rows[tree.term_row[t]] += w.dphi[t] * motion[tree.term_v[t]]


@kernel
def solve_damped(
    tree: Array,
    w: Array,
    accelerations: Array,
    settings: Array,
    motion: Array,
    forces: Array,
    progress: Array,
) -> None:
    """``forces = (D + R)^-1 accelerations`` and ``motion = M^-1 J' forces`` (Section V-B), after `factorize_damped`.

    ``mu a`` and ``mu J v'`` may be far larger than their difference, which then has fewer digits: ``progress`` is the
    relative error that this may leave in the forces.
    """
    clear_forces(tree, w, w.tau)
    largest = 0.0
    for r in range(tree.nc):
        x = w.mu[r] * accelerations[r]  # step 1: lambda_R = mu a_c
        forces[r] = x
        largest = maximum(largest, magnitude(x))
    apply_spring_forces(tree, w, forces)
    coupled_bias_forces(tree, w, w.tau)
    coupled_accelerations(tree, w, motion)  # step 2: v' = (M + J' mu J)^-1 J' lambda_R
    spring_accelerations(tree, w, motion, w.e)  # step 3: J v'
    norm = 0.0
    for r in range(tree.nc):
        x = w.mu[r] * (accelerations[r] - w.e[r])  # step 4: lambda = lambda_R - mu J v'
        forces[r] = x
        norm = maximum(norm, magnitude(x))
    progress[0] = ROUNDING_OF_SUMS * largest / (norm + LEAST_FORCE)
    progress[1] = 1.0


@kernel
def solve_damped_iterate(
    tree: Array,
    w: Array,
    accelerations: Array,
    settings: Array,
    motion: Array,
    forces: Array,
    progress: Array,
) -> None:
    """One step of iterative refinement: the residuals of ``M v' = J' f`` and ``J v' + R f = a`` are solved for."""
    clear_forces(tree, w, w.tau)
    for i in range(1, tree.n):
        acceleration_from_parent(tree, w, i, motion)
        inertial_force(tree, w, i)
    spring_accelerations(tree, w, motion, w.e)
    for k in range(tree.nv):
        w.tau[k] -= tree.armature[k] * motion[k]
    apply_spring_forces(tree, w, forces)
    for r in range(tree.nc):
        w.residual[r] = accelerations[r] - forces[r] / w.mu[r] - w.e[r]
        w.e[r] = w.mu[r] * w.residual[r]
    apply_spring_forces(tree, w, w.e)
    coupled_bias_forces(tree, w, w.tau)
    coupled_accelerations(tree, w, w.da)
    spring_accelerations(tree, w, w.da, w.e)
    for k in range(tree.nv):
        motion[k] += w.da[k]
    for r in range(tree.nc):
        w.residual[r] = w.mu[r] * (w.residual[r] - w.e[r])
        forces[r] += w.residual[r]
    progress[0] *= max_norm(tree.nc, w.residual) / (max_norm(tree.nc, forces) + LEAST_FORCE)
    progress[1] += 1.0


@kernel
def damped_inverse(
    tree: Array,
    w: Array,
    q: Array,
    damping: Array,
    accelerations: Array,
    settings: Array,
    motion: Array,
    forces: Array,
    progress: Array,
) -> None:
    """``forces = (D + R)^-1 accelerations`` at ``q``."""
    setup_rows(tree, w, q, w.e)
    factorize_damped(tree, w, damping, forces)
    solve_damped(tree, w, accelerations, settings, motion, forces, progress)


@kernel
def damped_inverse_iterate(
    tree: Array,
    w: Array,
    q: Array,
    damping: Array,
    accelerations: Array,
    settings: Array,
    motion: Array,
    forces: Array,
    progress: Array,
) -> None:
    """One step of iterative refinement."""
    solve_damped_iterate(tree, w, accelerations, settings, motion, forces, progress)


_POSE: dict[str, Shape] = {"q": ("nq",)}
_MOTION: dict[str, Shape] = {"motion": ("nv",)}
_ROWS: dict[str, Shape] = {"rows": ("nc",)}
_FORCES: dict[str, Shape] = {"forces": ("nc",), "torques": ("nv",)}
_TARGET: dict[str, Shape] = {"accelerations": ("nc",), "settings": (2,)}
_SOLUTION: dict[str, Shape] = {"motion": ("nv",), "forces": ("nc",), "progress": (2,)}
_ERROR: dict[str, Shape] = {"error": ("nc",)}

FACTOR = (*POSE, *CLOSURE, *PATCHES, "V", "D", "L", "Y")
"""Arrays that `factorize` writes for others."""
SPRING_FACTOR = (*POSE, *CLOSURE, *PATCHES, "V", "D", "L", "Y", "DSH", "mu")
"""Arrays that `setup_rows` and `factorize_damped` write for `solve_damped`."""

DELASSUS = Algorithm("delassus", delassus, _POSE | _FORCES, _MOTION | _ROWS, OPERATOR, DELASSUS_TREE)
FACTORIZE = Algorithm("delassus_factorize", factorize, _POSE, _ERROR, OPERATOR, DELASSUS_TREE)
APPLY_DELASSUS = Algorithm(
    "delassus_apply", apply_delassus, _FORCES, _MOTION | _ROWS, OPERATOR, DELASSUS_TREE, shared=FACTOR
)
APPLY_J = Algorithm("delassus_apply_J", apply_J, _MOTION, _ROWS, OPERATOR, DELASSUS_TREE, shared=FACTOR)
APPLY_JT = Algorithm(
    "delassus_apply_JT", apply_JT, {"forces": ("nc",)}, {"torques": ("nv",)}, OPERATOR, DELASSUS_TREE, shared=FACTOR
)

DAMPED_INVERSE = Algorithm(
    "damped_inverse",
    damped_inverse,
    _POSE | {"damping": ("nc",)} | _TARGET,
    _SOLUTION,
    DAMPED,
    DAMPED_TREE,
    damped_inverse_iterate,
)
SETUP_ROWS = Algorithm("damped_setup_rows", setup_rows, _POSE, _ERROR, DAMPED, DAMPED_TREE)
FACTORIZE_DAMPED = Algorithm(
    "damped_factorize", factorize_damped, {"damping": ("nc",)}, {"stiffness": ("nc",)}, DAMPED, DAMPED_TREE
)
SOLVE_DAMPED = Algorithm(
    "damped_solve",
    solve_damped,
    _TARGET,
    _SOLUTION,
    DAMPED,
    DAMPED_TREE,
    solve_damped_iterate,
    shared=SPRING_FACTOR,
)
