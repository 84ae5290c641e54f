"""The Delassus operator ``D = J M^-1 J'`` and its damped inverse ``(D + R)^-1``, without either matrix.

**delassus** Sections IV and V. ``D f``: forces of rows act on the bodies, articulated bodies take them to the root and
accelerations come back (Algorithms 1 to 3 in two sweeps). ``(D + R)^-1 a``: with ``rho = 1 / R``,
``f = rho (a - J (M + J' rho J)^-1 J' rho a)``, where the matrix in the middle is that of a robot whose rows are
springs, which LCABA eliminates.

Each operator is split by what its parts depend on: `factorize` and `setup_rows` on q alone, `factorize_damped` on the
damping, `apply_delassus` and `solve_damped` on the vector. Run one after the other on the same work arrays, later parts
can be repeated.

| symbol | meaning                                                                             |
|--------|-------------------------------------------------------------------------------------|
| pulls  | torques on joints                                                                   |
| rest   | what accelerations and damped forces leave of each row: ``a - J v' - R f``            |
| more   | accelerations of joints that are added to what was found                             |

Cost: linear in bodies and rows; of the inverse, times the square of the neighbors that a body has when eliminated.
"""

from __future__ import annotations

from linkwork.kernels.aba import ARTICULATED, articulate, articulated_bias_forces, joint_accelerations
from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained import max_norm
from linkwork.kernels.constraints import CLOSURE, constraint_rows
from linkwork.kernels.kinematics import POSE, acceleration_from_parent, joint_transforms
from linkwork.kernels.lcaba import (
    SPRINGS,
    apply_constraint_forces,
    articulate_loops,
    constraint_residual,
    coupled_accelerations,
    coupled_bias_forces,
    joint_coupling_rows,
    subtract_scaled,
)
from linkwork.kernels.rnea import FORCE, joint_torques
from linkwork.kernels.scalar import Array, kernel, where
from linkwork.kernels.spatial import add, angular, cross, dot, linear, scale, set_angular, set_linear, symmetric_product
from linkwork.plans.elimination import COUPLED
from linkwork.plans.loops import LOOPS

ROUNDING = 1e-15
"""What a sum of numbers is off by, as a part of the largest of them."""

TINY = 1e-300
"""Less than any force."""

NO_NUMBER = float("nan")

SWEPT: dict[str, Shape] = POSE | CLOSURE | FORCE | ARTICULATED | {"a": ("n", 6), "tau": ("nv",), "e": ("nc",)}
SPRUNG: dict[str, Shape] = SWEPT | SPRINGS | {"rest": ("nc",), "da": ("nv",)}


# The operator ------------------------------------------------------------------------------------------------


@kernel
def factorize(tree: Array, w: Array, q: Array, error: Array) -> None:
    """Everything that depends on q alone: rows of K and articulated inertias."""
    joint_transforms(tree, w, q)
    constraint_rows(tree, w, q, error)
    articulate(tree, w)


@kernel
def row_forces_to_root(tree: Array, w: Array, forces: Array) -> None:
    """Forces of rows on bodies, as what joints must supply less (Algorithm 1, lines 1 to 6), and on joints."""
    for i in range(tree.n):
        for j in range(6):
            w.f[i, j] = 0.0
    for m in range(tree.nown):
        subtract_scaled(forces[tree.k_row[m]], w.K[m], w.f[tree.k_body[m]])
    for t in range(tree.nterms):
        w.tau[tree.term_v[t]] += w.dphi[t] * forces[tree.term_row[t]]


@kernel
def rows_from_accelerations(tree: Array, w: Array, motion: Array, rows: Array) -> None:
    """What rows see of accelerations (Algorithm 3, lines 4 to 8)."""
    for r in range(tree.nc):
        rows[r] = 0.0
    for m in range(tree.nown):
        K = w.K[m]
        a = w.a[tree.k_body[m]]
        rows[tree.k_row[m]] += dot(angular(K), angular(a)) + dot(linear(K), linear(a))
    for t in range(tree.nterms):
        rows[tree.term_row[t]] += w.dphi[t] * motion[tree.term_v[t]]


@kernel
def apply_delassus(tree: Array, w: Array, forces: Array, torques: Array, motion: Array, rows: Array) -> None:
    """``motion = M^-1 (J' forces + torques)`` and ``rows = J motion``, after `factorize`."""
    for k in range(tree.nv):
        w.tau[k] = torques[k]
    row_forces_to_root(tree, w, forces)
    articulated_bias_forces(tree, w, w.tau)
    joint_accelerations(tree, w, motion)
    rows_from_accelerations(tree, w, motion, rows)


@kernel
def delassus(tree: Array, w: Array, q: Array, forces: Array, torques: Array, motion: Array, rows: Array) -> None:
    """All of it."""
    factorize(tree, w, q, w.e)
    apply_delassus(tree, w, forces, torques, motion, rows)


@kernel
def apply_J(tree: Array, w: Array, motion: Array, rows: Array) -> None:
    """``rows = J motion``, after `factorize`."""
    for j in range(6):
        w.a[0, j] = 0.0
    for i in range(1, tree.n):
        acceleration_from_parent(tree, w, i, motion)
    rows_from_accelerations(tree, w, motion, rows)


@kernel
def apply_JT(tree: Array, w: Array, forces: Array, torques: Array) -> None:
    """``torques = J' forces``, after `factorize`."""
    for k in range(tree.nv):
        w.tau[k] = 0.0
    row_forces_to_root(tree, w, forces)
    joint_torques(tree, w, torques)
    for k in range(tree.nv):
        torques[k] = w.tau[k] - torques[k]


# The damped inverse ----------------------------------------------------------------------------------------------


@kernel
def setup_rows(tree: Array, w: Array, q: Array, error: Array) -> None:
    """Everything that depends on q alone: rows of K."""
    joint_transforms(tree, w, q)
    constraint_rows(tree, w, q, error)
    joint_coupling_rows(tree, w)


@kernel
def factorize_damped(tree: Array, w: Array, damping: Array, stiffness: Array) -> None:
    """Inertias of bodies and springs, eliminated; ``stiffness`` is ``1 / damping``, no number if that is below zero."""
    articulate_loops(tree, w, damping)
    for r in range(tree.nc):
        stiffness[r] = where(0.0, damping[r], w.mu[r], NO_NUMBER)


@kernel
def release(tree: Array, w: Array) -> None:
    """No force on anything."""
    for i in range(tree.n):
        for j in range(6):
            w.f[i, j] = 0.0
    for j in range(6):
        w.a[0, j] = 0.0
    for k in range(tree.nv):
        w.tau[k] = 0.0


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
    """``forces = (D + R)^-1 accelerations`` and ``motion = M^-1 J' forces``, after `factorize_damped`.

    ``rho a`` and ``rho J v'`` may be far larger than their difference, which then has fewer digits: ``progress`` says
    what part of the forces may be wrong.
    """
    release(tree, w)
    for r in range(tree.nc):
        forces[r] = w.mu[r] * accelerations[r]
    progress[0] = max_norm(tree.nc, forces)
    apply_constraint_forces(tree, w, forces)
    coupled_bias_forces(tree, w, w.tau)
    coupled_accelerations(tree, w, motion)
    for r in range(tree.nc):
        w.rest[r] = accelerations[r]
    constraint_residual(tree, w, motion, w.rest)
    for r in range(tree.nc):
        forces[r] = w.mu[r] * w.rest[r]
    progress[0] = ROUNDING * progress[0] / (max_norm(tree.nc, forces) + TINY)
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
    """One step of refinement: what forces and motion leave of ``M v' = J' f`` and ``J v' + R f = a`` is solved for."""
    for r in range(tree.nc):
        w.rest[r] = accelerations[r] - forces[r] / w.mu[r]
    release(tree, w)
    for i in range(1, tree.n):
        acceleration_from_parent(tree, w, i, motion)
        load(tree, w, i)
    constraint_residual(tree, w, motion, w.rest)
    for k in range(tree.nv):
        w.tau[k] -= tree.armature[k] * motion[k]
    apply_constraint_forces(tree, w, forces)
    for r in range(tree.nc):
        w.e[r] = w.mu[r] * w.rest[r]
    apply_constraint_forces(tree, w, w.e)
    coupled_bias_forces(tree, w, w.tau)
    coupled_accelerations(tree, w, w.da)
    constraint_residual(tree, w, w.da, w.rest)
    for k in range(tree.nv):
        motion[k] += w.da[k]
    for r in range(tree.nc):
        w.rest[r] = w.mu[r] * w.rest[r]
        forces[r] += w.rest[r]
    progress[0] *= max_norm(tree.nc, w.rest) / (max_norm(tree.nc, forces) + TINY)
    progress[1] += 1.0


@kernel
def load(tree: Array, w: Array, i: int) -> None:
    """The force that body ``i`` needs for its acceleration, nothing moving."""
    a = w.a[i]
    turn = angular(a)
    shift = linear(a)
    mc = tree.mc[i]
    set_angular(add(symmetric_product(tree.I[i], turn), cross(mc, shift)), w.f[i])
    set_linear(add(scale(tree.mass[i], shift), cross(turn, mc)), w.f[i])


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
    """All of it."""
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
    """One step of refinement."""
    solve_damped_iterate(tree, w, accelerations, settings, motion, forces, progress)


_POSE: dict[str, Shape] = {"q": ("nq",)}
_MOTION: dict[str, Shape] = {"motion": ("nv",)}
_ROWS: dict[str, Shape] = {"rows": ("nc",)}
_PUSH: dict[str, Shape] = {"forces": ("nc",), "torques": ("nv",)}
_ASKED: dict[str, Shape] = {"accelerations": ("nc",), "settings": (2,)}
_FOUND: dict[str, Shape] = {"motion": ("nv",), "forces": ("nc",), "progress": (2,)}
_ERROR: dict[str, Shape] = {"error": ("nc",)}

DELASSUS = Algorithm("delassus", delassus, _POSE | _PUSH, _MOTION | _ROWS, SWEPT, LOOPS)
WEIGH = Algorithm("delassus_weigh", factorize, _POSE, _ERROR, SWEPT, LOOPS)
YIELD = Algorithm("delassus_yield", apply_delassus, _PUSH, _MOTION | _ROWS, SWEPT, LOOPS)
SEE = Algorithm("delassus_see", apply_J, _MOTION, _ROWS, SWEPT, LOOPS)
FEEL = Algorithm("delassus_feel", apply_JT, {"forces": ("nc",)}, {"torques": ("nv",)}, SWEPT, LOOPS)

DAMPED_INVERSE = Algorithm(
    "damped_inverse",
    damped_inverse,
    _POSE | {"damping": ("nc",)} | _ASKED,
    _FOUND,
    SPRUNG,
    COUPLED,
    damped_inverse_iterate,
)
LAY = Algorithm("damped_lay", setup_rows, _POSE, _ERROR, SPRUNG, COUPLED)
TENSE = Algorithm("damped_tense", factorize_damped, {"damping": ("nc",)}, {"stiffness": ("nc",)}, SPRUNG, COUPLED)
RESIST = Algorithm("damped_resist", solve_damped, _ASKED, _FOUND, SPRUNG, COUPLED, solve_damped_iterate)
