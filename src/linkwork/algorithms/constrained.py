"""What all methods of constrained forward dynamics share: the problem, its arrays, and how iterations end.

With ``R`` the damping of each row (a diagonal) and ``lambda0`` the multipliers to start from, a method finds::

    M a + c = tau + J' lambda
    J a + R (lambda - lambda0) = k,        k = target - bias

and, starting again from what it found, ends at ``J a = k`` also where rows are redundant (the proximal method of
multipliers: **proximal** Section III, **loops** Section III-D). Rows that are not enabled have infinite damping.
"""

from __future__ import annotations

from linkwork.algorithms.aba import ARTICULATED
from linkwork.algorithms.algorithm import Shape
from linkwork.algorithms.kinematics import ACCELERATION, MOTION, POSE, follow
from linkwork.algorithms.loops import CLOSURE, RATES, close, pull, swing
from linkwork.algorithms.rnea import FORCE, WRENCHES, apply_wrenches, forward_body, init_root
from linkwork.scalar import Array, Scalar, kernel, where

SWITCHED_OFF = 1e20
"""A row with more damping than this is one that is not enabled."""

NOTHING = 1e9
"""A row whose inverse inertia is less than `LEAST_PIVOT` over this of the largest moves nothing: it is rounding."""

INPUTS: dict[str, Shape] = {
    "q": ("nq",),
    "v": ("nv",),
    "tau": ("nv",),
    "wrenches": WRENCHES,
    "damping": ("nc",),
    "target": ("nc",),
    "multipliers": ("nc",),
    "settings": (2,),
}
OUTPUTS: dict[str, Shape] = {"a": ("nv",), "found": ("nfound",)}
"""``found`` is progress (2 numbers), multipliers, residuals: one array, since making arrays takes time."""

WORK: dict[str, Shape] = (
    POSE
    | MOTION
    | CLOSURE
    | RATES
    | ACCELERATION
    | FORCE
    | ARTICULATED
    | {"error": ("nc",), "target": ("nc",), "ks": ("nc",), "more": ("nv",)}
)


@kernel
def ready(tree: Array, w: Array, q: Array, v: Array, wrenches: Array, asked: Array) -> None:
    """Everything that comes before inertias: poses, rows of K, forces, and ``ks``, the right-hand sides of rows.

    Forces and right-hand sides are those beyond the motion in which no joint accelerates. Of the rows are ``asked``
    accelerations beyond those that their gains ask for.
    """
    init_root(tree, w)
    for k in range(tree.nv):
        w.still[k] = 0.0
    for i in range(1, tree.n):
        forward_body(tree, w, i, q, v, w.still)
    close(tree, w, q, w.error)
    swing(tree, w, q, v)
    if tree.pulled != 0:
        follow(tree, w, v)
        pull(tree, w, q, v, w.target)
    apply_wrenches(tree, w, wrenches)
    for j in range(6):
        w.a[0, j] = 0.0
    for r in range(tree.nc):
        w.ks[r] = asked[r] - w.beta[r]
        if tree.pulled != 0:
            w.ks[r] += w.target[r]


@kernel
def ready_again(tree: Array, w: Array) -> None:
    """Nothing but the rows pushes: no forces, no gravity."""
    for i in range(tree.n):
        for j in range(6):
            w.f[i, j] = 0.0
    for j in range(6):
        w.a[0, j] = 0.0
    for k in range(tree.nv):
        w.still[k] = 0.0


@kernel
def smaller(x: Scalar, y: Scalar) -> Scalar:
    """The smaller of two numbers."""
    return where(x, y, x, y)


@kernel
def larger(x: Scalar, y: Scalar) -> Scalar:
    """The larger of two numbers."""
    return where(x, y, y, x)


@kernel
def largest(n: int, x: Array) -> Scalar:
    """The largest magnitude."""
    found = 0.0
    for k in range(n):
        y = where(x[k], 0.0, -x[k], x[k])
        found = where(found, y, y, found)
    return found


@kernel
def miss(tree: Array, change: Array, damping: Array, residual: Array) -> Scalar:
    """By how much each row's acceleration misses what it should be, ``R`` times the change of its multiplier."""
    for r in range(tree.nc):
        residual[r] = where(damping[r], SWITCHED_OFF, damping[r] * change[r], 0.0)
    return largest(tree.nc, residual)


@kernel
def miss_again(tree: Array, change: Array, damping: Array, residual: Array) -> Scalar:
    """The same, or, if that is less, by how much it is another than before.

    Rows that contradict each other go on missing what they miss, while their multipliers grow, and with these what
    rounding does to accelerations.
    """
    left = 0.0
    moved = 0.0
    for r in range(tree.nc):
        x = where(damping[r], SWITCHED_OFF, damping[r] * change[r], 0.0)
        y = x - residual[r]
        left = larger(left, where(x, 0.0, -x, x))
        moved = larger(moved, where(y, 0.0, -y, y))
        residual[r] = x
    return smaller(left, moved)
