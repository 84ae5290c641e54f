"""The Delassus operator ``D = J M^-1 J'`` and its damped inverse ``(D + R)^-1``, without either matrix.

**delassus** Sections IV and V. ``D f``: forces of rows act on the bodies, articulated bodies take them to the root and
accelerations come back (Algorithms 1 to 3 in two sweeps). ``(D + R)^-1 a``: with ``rho = 1 / R``,
``f = rho (a - J (M + J' rho J)^-1 J' rho a)``, where the matrix in the middle is that of a robot whose rows are
springs, which LCABA eliminates.

Each operator is split by what its parts depend on: `weigh` and `lay` on q alone, `tense` on the damping, `yield_rows`
and `resist_rows` on the vector. Run one after the other on the same work arrays, later parts can be repeated.

| symbol | meaning                                                                             |
|--------|-------------------------------------------------------------------------------------|
| pulls  | torques on joints                                                                   |
| rest   | what accelerations and damped forces leave of each row: ``a - J v' - R f``            |
| more   | accelerations of joints that are added to what was found                             |

Cost: linear in bodies and rows; of the inverse, times the square of the neighbors that a body has when eliminated.
"""

from __future__ import annotations

from linkwork.kernels.aba import ARTICULATED, accelerate, articulate, drive
from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained import largest
from linkwork.kernels.constraints import CLOSURE, close
from linkwork.kernels.kinematics import POSE, carry, place
from linkwork.kernels.lcaba import (
    SPRINGS,
    accelerate_springs,
    articulate_springs,
    drive_springs,
    join,
    lag,
    lose_scaled,
    press,
)
from linkwork.kernels.rnea import FORCE, collect
from linkwork.kernels.scalar import Array, kernel, where
from linkwork.kernels.spatial import add, angular, cross, dot, linear, put_angular, put_linear, scale, symmetric
from linkwork.plans.elimination import COUPLED
from linkwork.plans.loops import LOOPS

ROUNDING = 1e-15
"""What a sum of numbers is off by, as a part of the largest of them."""

TINY = 1e-300
"""Less than any force."""

NO_NUMBER = float("nan")

SWEPT: dict[str, Shape] = POSE | CLOSURE | FORCE | ARTICULATED | {"a": ("n", 6), "pulls": ("nv",), "e": ("nc",)}
SPRUNG: dict[str, Shape] = SWEPT | SPRINGS | {"rest": ("nc",), "more": ("nv",)}


# The operator ------------------------------------------------------------------------------------------------


@kernel
def weigh(tree: Array, w: Array, q: Array, error: Array) -> None:
    """Everything that depends on q alone: rows of K and articulated inertias."""
    place(tree, w, q)
    close(tree, w, q, error)
    articulate(tree, w)


@kernel
def push_rows(tree: Array, w: Array, forces: Array) -> None:
    """Forces of rows on bodies, as what joints must supply less (Algorithm 1, lines 1 to 6), and on joints."""
    for i in range(tree.n):
        for j in range(6):
            w.f[i, j] = 0.0
    for m in range(tree.nown):
        lose_scaled(forces[tree.k_row[m]], w.K[m], w.f[tree.k_body[m]])
    for t in range(tree.nterms):
        w.pulls[tree.term_v[t]] += w.slope[t] * forces[tree.term_row[t]]


@kernel
def read_rows(tree: Array, w: Array, motion: Array, rows: Array) -> None:
    """What rows see of accelerations (Algorithm 3, lines 4 to 8)."""
    for r in range(tree.nc):
        rows[r] = 0.0
    for m in range(tree.nown):
        K = w.K[m]
        a = w.a[tree.k_body[m]]
        rows[tree.k_row[m]] += dot(angular(K), angular(a)) + dot(linear(K), linear(a))
    for t in range(tree.nterms):
        rows[tree.term_row[t]] += w.slope[t] * motion[tree.term_v[t]]


@kernel
def yield_rows(tree: Array, w: Array, forces: Array, torques: Array, motion: Array, rows: Array) -> None:
    """``motion = M^-1 (J' forces + torques)`` and ``rows = J motion``, after `weigh`."""
    for k in range(tree.nv):
        w.pulls[k] = torques[k]
    push_rows(tree, w, forces)
    drive(tree, w, w.pulls)
    accelerate(tree, w, motion)
    read_rows(tree, w, motion, rows)


@kernel
def delassus(tree: Array, w: Array, q: Array, forces: Array, torques: Array, motion: Array, rows: Array) -> None:
    """All of it."""
    weigh(tree, w, q, w.e)
    yield_rows(tree, w, forces, torques, motion, rows)


@kernel
def see(tree: Array, w: Array, motion: Array, rows: Array) -> None:
    """``rows = J motion``, after `weigh`."""
    for j in range(6):
        w.a[0, j] = 0.0
    for i in range(1, tree.n):
        carry(tree, w, i, motion)
    read_rows(tree, w, motion, rows)


@kernel
def feel(tree: Array, w: Array, forces: Array, torques: Array) -> None:
    """``torques = J' forces``, after `weigh`."""
    for k in range(tree.nv):
        w.pulls[k] = 0.0
    push_rows(tree, w, forces)
    collect(tree, w, torques)
    for k in range(tree.nv):
        torques[k] = w.pulls[k] - torques[k]


# The damped inverse ----------------------------------------------------------------------------------------------


@kernel
def lay(tree: Array, w: Array, q: Array, error: Array) -> None:
    """Everything that depends on q alone: rows of K."""
    place(tree, w, q)
    close(tree, w, q, error)
    join(tree, w)


@kernel
def tense(tree: Array, w: Array, damping: Array, stiffness: Array) -> None:
    """Inertias of bodies and springs, eliminated; ``stiffness`` is ``1 / damping``, no number if that is below zero."""
    articulate_springs(tree, w, damping)
    for r in range(tree.nc):
        stiffness[r] = where(0.0, damping[r], w.rho[r], NO_NUMBER)


@kernel
def release(tree: Array, w: Array) -> None:
    """No force on anything."""
    for i in range(tree.n):
        for j in range(6):
            w.f[i, j] = 0.0
    for j in range(6):
        w.a[0, j] = 0.0
    for k in range(tree.nv):
        w.pulls[k] = 0.0


@kernel
def resist_rows(
    tree: Array,
    w: Array,
    accelerations: Array,
    settings: Array,
    motion: Array,
    forces: Array,
    progress: Array,
) -> None:
    """``forces = (D + R)^-1 accelerations`` and ``motion = M^-1 J' forces``, after `tense`.

    ``rho a`` and ``rho J v'`` may be far larger than their difference, which then has fewer digits: ``progress`` says
    what part of the forces may be wrong.
    """
    release(tree, w)
    for r in range(tree.nc):
        forces[r] = w.rho[r] * accelerations[r]
    progress[0] = largest(tree.nc, forces)
    press(tree, w, forces)
    drive_springs(tree, w, w.pulls)
    accelerate_springs(tree, w, motion)
    for r in range(tree.nc):
        w.rest[r] = accelerations[r]
    lag(tree, w, motion, w.rest)
    for r in range(tree.nc):
        forces[r] = w.rho[r] * w.rest[r]
    progress[0] = ROUNDING * progress[0] / (largest(tree.nc, forces) + TINY)
    progress[1] = 1.0


@kernel
def resist_rows_again(
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
        w.rest[r] = accelerations[r] - forces[r] / w.rho[r]
    release(tree, w)
    for i in range(1, tree.n):
        carry(tree, w, i, motion)
        load(tree, w, i)
    lag(tree, w, motion, w.rest)
    for k in range(tree.nv):
        w.pulls[k] -= tree.armature[k] * motion[k]
    press(tree, w, forces)
    for r in range(tree.nc):
        w.e[r] = w.rho[r] * w.rest[r]
    press(tree, w, w.e)
    drive_springs(tree, w, w.pulls)
    accelerate_springs(tree, w, w.more)
    lag(tree, w, w.more, w.rest)
    for k in range(tree.nv):
        motion[k] += w.more[k]
    for r in range(tree.nc):
        w.rest[r] = w.rho[r] * w.rest[r]
        forces[r] += w.rest[r]
    progress[0] *= largest(tree.nc, w.rest) / (largest(tree.nc, forces) + TINY)
    progress[1] += 1.0


@kernel
def load(tree: Array, w: Array, i: int) -> None:
    """The force that body ``i`` needs for its acceleration, nothing moving."""
    a = w.a[i]
    turn = angular(a)
    shift = linear(a)
    mc = tree.mc[i]
    put_angular(add(symmetric(tree.I[i], turn), cross(mc, shift)), w.f[i])
    put_linear(add(scale(tree.mass[i], shift), cross(turn, mc)), w.f[i])


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
    lay(tree, w, q, w.e)
    tense(tree, w, damping, forces)
    resist_rows(tree, w, accelerations, settings, motion, forces, progress)


@kernel
def damped_inverse_again(
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
    resist_rows_again(tree, w, accelerations, settings, motion, forces, progress)


_POSE: dict[str, Shape] = {"q": ("nq",)}
_MOTION: dict[str, Shape] = {"motion": ("nv",)}
_ROWS: dict[str, Shape] = {"rows": ("nc",)}
_PUSH: dict[str, Shape] = {"forces": ("nc",), "torques": ("nv",)}
_ASKED: dict[str, Shape] = {"accelerations": ("nc",), "settings": (2,)}
_FOUND: dict[str, Shape] = {"motion": ("nv",), "forces": ("nc",), "progress": (2,)}
_ERROR: dict[str, Shape] = {"error": ("nc",)}

DELASSUS = Algorithm("delassus", delassus, _POSE | _PUSH, _MOTION | _ROWS, SWEPT, LOOPS)
WEIGH = Algorithm("delassus_weigh", weigh, _POSE, _ERROR, SWEPT, LOOPS)
YIELD = Algorithm("delassus_yield", yield_rows, _PUSH, _MOTION | _ROWS, SWEPT, LOOPS)
SEE = Algorithm("delassus_see", see, _MOTION, _ROWS, SWEPT, LOOPS)
FEEL = Algorithm("delassus_feel", feel, {"forces": ("nc",)}, {"torques": ("nv",)}, SWEPT, LOOPS)

DAMPED_INVERSE = Algorithm(
    "damped_inverse",
    damped_inverse,
    _POSE | {"damping": ("nc",)} | _ASKED,
    _FOUND,
    SPRUNG,
    COUPLED,
    damped_inverse_again,
)
LAY = Algorithm("damped_lay", lay, _POSE, _ERROR, SPRUNG, COUPLED)
TENSE = Algorithm("damped_tense", tense, {"damping": ("nc",)}, {"stiffness": ("nc",)}, SPRUNG, COUPLED)
RESIST = Algorithm("damped_resist", resist_rows, _ASKED, _FOUND, SPRUNG, COUPLED, resist_rows_again)
