"""Recursive Newton-Euler: the torques that make a tree accelerate as asked.

Featherstone, Rigid Body Dynamics Algorithms, Table 5.1, with classical linear accelerations (see `spatial`).
Gravity is the root's acceleration. Cost: linear in the number of bodies.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.joints import axis_of, dof_of, joint_place, to_parent
from linkwork.kernels.kinematics import (
    ACCELERATION,
    MOTION,
    POSE,
    coast,
    hasten_body,
    move_body,
    place,
    rest_world,
    spread_world,
)
from linkwork.kernels.passive import subtract_passive_torques
from linkwork.kernels.scalar import Array, kernel
from linkwork.kernels.spatial import (
    add,
    angular,
    cross,
    gain,
    linear,
    put_angular,
    put_linear,
    rotate,
    scale,
    sub,
    tumbling,
)
from linkwork.model.joints import HELICAL

FORCE: dict[str, Shape] = {"f": ("n", 6)}
WRENCHES: Shape = ("nf", 6)
FORWARD = dict.fromkeys(("omega", "W", "k", "a", "spread"), "forward")
"""What `forward_body` needs of a body for its children alone."""


@kernel
def gravitate(tree: Array, w: Array) -> None:
    """The world accelerates upwards."""
    put_angular((0.0, 0.0, 0.0), w.a[0])
    put_linear((-tree.gravity[0], -tree.gravity[1], -tree.gravity[2]), w.a[0])


@kernel
def apply_wrenches(tree: Array, w: Array, wrenches: Array) -> None:
    """Take external wrenches, each in the axes of its frame, off the forces that joints must supply."""
    for f in range(tree.nf):
        b = tree.body[f]
        force = rotate(tree.F[f], linear(wrenches[f]))
        moment = add(rotate(tree.F[f], angular(wrenches[f])), cross(tree.f[f], force))
        if b > 0:
            put_angular(sub(angular(w.f[b]), moment), w.f[b])
            put_linear(sub(linear(w.f[b]), force), w.f[b])


@kernel
def resist(tree: Array, w: Array) -> None:
    """The force that each body's motion needs."""
    for i in range(1, tree.n):
        resist_body(tree, w, i)


@kernel
def resist_body(tree: Array, w: Array, i: int) -> None:
    """The force that the motion of body ``i`` needs (Newton and Euler)."""
    a = linear(w.a[i])
    mc = tree.mc[i]
    put_angular(add(tumbling(tree.I[i], w.spread[i]), cross(mc, a)), w.f[i])
    put_linear(add(scale(tree.mass[i], a), rotate(w.spread[i], mc)), w.f[i])


@kernel
def init_root(tree: Array, w: Array) -> None:
    """The world is at rest and accelerates upwards."""
    rest_world(w)
    spread_world(w)
    gravitate(tree, w)


@kernel
def forward_body(tree: Array, w: Array, i: int, q: Array, v: Array, acceleration: Array) -> None:
    """Of body ``i`` its pose, velocity and acceleration, those of its parent being known, and the force they need.

    One sweep of this does what `place`, `move`, `hasten` and `resist` do, with each body's arrays still in the cache.
    """
    joint_place(tree, w, i, q)
    move_body(tree, w, i, v)
    hasten_body(tree, w, i, acceleration)
    resist_body(tree, w, i)


@kernel
def hand_down(tree: Array, w: Array, i: int) -> None:
    """Add the force on body ``i`` to that on its parent."""
    h = tree.parent[i]
    if h > 0:
        force = to_parent(tree, w, i, linear(w.f[i]))
        moment = to_parent(tree, w, i, angular(w.f[i]))
        gain(add(moment, cross(w.r[i], force)), force, w.f[h])


@kernel
def collect(tree: Array, w: Array, tau: Array) -> None:
    """Leaves to root: joint torques ``tau = S' f``."""
    for i in range(tree.n - 1, 0, -1):
        kind = tree.kind[i]
        o = tree.iv[i]
        f = w.f[i]
        for k in range(dof_of(kind)):
            tau[o + k] = f[axis_of(kind, k)]
        if kind == HELICAL:
            tau[o] += tree.pitch[i] * f[5]
        hand_down(tree, w, i)


@kernel
def rnea(tree: Array, w: Array, q: Array, v: Array, a: Array, wrenches: Array, tau: Array) -> None:
    """``tau = M a + c - sum J' wrench``."""
    init_root(tree, w)
    for i in range(1, tree.n):
        forward_body(tree, w, i, q, v, a)
    apply_wrenches(tree, w, wrenches)
    collect(tree, w, tau)
    for k in range(tree.nv):
        tau[k] += tree.armature[k] * a[k]


@kernel
def inverse_dynamics(tree: Array, w: Array, q: Array, v: Array, a: Array, wrenches: Array, tau: Array) -> None:
    """The same, less what springs and dampers of joints do by themselves."""
    rnea(tree, w, q, v, a, wrenches, tau)
    subtract_passive_torques(tree, q, v, tau)


@kernel
def bias(tree: Array, w: Array, q: Array, v: Array, wrenches: Array, tau: Array) -> None:
    """The torques that hold ``a = 0``: Coriolis, centrifugal, gravity, less external wrenches."""
    for k in range(tree.nv):
        w.still[k] = 0.0
    rnea(tree, w, q, v, w.still, wrenches, tau)


@kernel
def gravity(tree: Array, w: Array, q: Array, tau: Array) -> None:
    """The torques that hold the tree at rest."""
    place(tree, w, q)
    gravitate(tree, w)
    for i in range(1, tree.n):
        for j in range(6):
            w.W[i, j] = 0.0
            w.k[i, j] = 0.0
    coast(tree, w)
    resist(tree, w)
    collect(tree, w, tau)


_WORK: dict[str, Shape] = POSE | MOTION | ACCELERATION | FORCE

RNEA = Algorithm(
    "rnea",
    inverse_dynamics,
    {"q": ("nq",), "v": ("nv",), "a": ("nv",), "wrenches": WRENCHES},
    {"tau": ("nv",)},
    _WORK,
    folded=FORWARD,
)
BIAS = Algorithm(
    "bias",
    bias,
    {"q": ("nq",), "v": ("nv",), "wrenches": WRENCHES},
    {"tau": ("nv",)},
    _WORK,
    folded=FORWARD,
)
GRAVITY = Algorithm("gravity", gravity, {"q": ("nq",)}, {"tau": ("nv",)}, _WORK)
