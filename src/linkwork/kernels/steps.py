"""Motion in time: steps of integrators as kernel text, so that whole rollouts run in machine code.

A step goes from ``q, v`` to ``q1, v1`` and can be repeated without returning to Python: the second text of each
algorithm steps on from its own outputs. Torques are those given, what joints do by themselves (`act`: springs, dampers,
stops), and what actuators make of commands (`actuation`), at every stage of a step. Forward dynamics is `aba` for trees
and `lcaba` for loops, in so many proximal iterations.

| symbol | meaning                                                                                 |
|--------|-----------------------------------------------------------------------------------------|
| u      | commands of actuators; ``switch`` is one where they act, and zero                        |
| law    | of each degree of freedom: stiffness, rest, damping, lower stop, upper stop, and their   |
|        | stiffness and damping                                                                   |
| x      | where a configuration is, seen from another: a turn as a rotation vector                  |
| Xs, As | rates of x and of v at the stages of a Runge-Kutta method                                |

Runge-Kutta methods work on ``x`` (Munthe-Kaas): ``x' = dexp^-1(x) v`` for turns, plain numbers for the rest, so that
they have the order on groups that they have on numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from linkwork.kernels.aba import ABA, aba
from linkwork.kernels.actuation import DRIVE_WORK, drive_joints
from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained import WORK, setup_problem
from linkwork.kernels.joints import dof_of
from linkwork.kernels.lcaba import SPRINGS, lcaba_sweeps, lcaba_sweeps_iterate
from linkwork.kernels.passive import damper_torque, spring_torque
from linkwork.kernels.rnea import WRENCHES
from linkwork.kernels.scalar import Array, Scalar, Vector, kernel, sincos, sqrt, where
from linkwork.kernels.spatial import add, cross, scale
from linkwork.model.joints import FREE, PLANAR, SPHERICAL
from linkwork.plans.actuation import ACTUATION_LCABA_TREE, ACTUATION_TREE
from linkwork.plans.layout import Layout
from linkwork.plans.lcaba import LCABA_TREE
from linkwork.plans.tree import TREE

STIFFNESS, REST, DAMPING, LOWER, UPPER, STOP_STIFFNESS, STOP_DAMPING = range(7)
"""Columns of the law of joints."""

DT, SWITCH = range(2)
"""Entries of the clock: the time of a step; one where actuators act on commands, else zero."""

SMALL = 1e-2
"""Below this, of the square of an angle, series are exact to rounding."""


# Turning ------------------------------------------------------------------------------------------------------


@kernel
def sinc(s: Scalar) -> tuple[Scalar, Scalar]:
    """``sin t / t`` and ``cos t`` from ``s = t²``."""
    t = sqrt(where(s, SMALL, 1.0, s))
    sine, cosine = sincos(t)
    few = 1.0 - s / 6.0 * (1.0 - s / 20.0 * (1.0 - s / 42.0 * (1.0 - s / 72.0)))
    less = 1.0 - s / 2.0 * (1.0 - s / 12.0 * (1.0 - s / 30.0 * (1.0 - s / 56.0 * (1.0 - s / 90.0))))
    return where(s, SMALL, few, sine / t), where(s, SMALL, less, cosine)


@kernel
def sine_rest(s: Scalar) -> Scalar:
    """``(t - sin t) / t³`` from ``s = t²``."""
    t = sqrt(where(s, SMALL, 1.0, s))
    sine, _ = sincos(t)
    few = 1.0 / 6.0 - s / 120.0 * (1.0 - s / 42.0 * (1.0 - s / 72.0 * (1.0 - s / 110.0)))
    return where(s, SMALL, few, (t - sine) / (t * t * t))


@kernel
def turn_quaternion(q: Array, o: int, w: Vector, q1: Array) -> None:
    """``q1 = q exp(w)`` of the quaternions that begin at ``o``, of unit length."""
    s = 0.25 * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    half, c = sinc(s)
    v = scale(0.5 * half, w)
    a = (q[o], q[o + 1], q[o + 2])
    u = q[o + 3]
    x = add(add(scale(c, a), scale(u, v)), cross(a, v))
    y = u * c - (a[0] * v[0] + a[1] * v[1] + a[2] * v[2])
    length = 1.0 / sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + y * y)
    q1[o] = x[0] * length
    q1[o + 1] = x[1] * length
    q1[o + 2] = x[2] * length
    q1[o + 3] = y * length


@kernel
def turned(q: Array, o: int, x: Vector) -> tuple[Scalar, Scalar, Scalar]:
    """``x`` turned by the quaternion that begins at ``o``."""
    a = (q[o], q[o + 1], q[o + 2])
    k = 2.0 / (a[0] * a[0] + a[1] * a[1] + a[2] * a[2] + q[o + 3] * q[o + 3])
    t = scale(k, cross(a, x))
    return add(x, add(scale(q[o + 3], t), cross(a, t)))


@kernel
def turn_direction(q: Array, o: int, angle: Scalar, q1: Array) -> None:
    """The direction ``(cos, sin)`` that begins at ``o``, turned."""
    sine, cosine = sincos(angle)
    x = q[o] * cosine - q[o + 1] * sine
    y = q[o] * sine + q[o + 1] * cosine
    length = 1.0 / sqrt(x * x + y * y)
    q1[o] = x * length
    q1[o + 1] = y * length


# Along a velocity -------------------------------------------------------------------------------------------------


@kernel
def follow_velocity(tree: Array, q: Array, v: Array, h: Scalar, q1: Array) -> None:
    """``q1``: where constant joint velocities lead in the time ``h`` (**loops** Eq. 55)."""
    for i in range(1, tree.n):
        kind = tree.kind[i]
        o = tree.iq[i]
        k = tree.iv[i]
        if kind == SPHERICAL:
            turn_quaternion(q, o, (h * v[k], h * v[k + 1], h * v[k + 2]), q1)
        elif kind == FREE:
            w = (h * v[k + 3], h * v[k + 4], h * v[k + 5])
            u = (h * v[k], h * v[k + 1], h * v[k + 2])
            s = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
            half, _ = sinc(0.25 * s)
            across = cross(w, u)
            way = add(u, add(scale(0.5 * half * half, across), scale(sine_rest(s), cross(w, across))))
            there = turned(q, o + 3, way)
            q1[o] = q[o] + there[0]
            q1[o + 1] = q[o + 1] + there[1]
            q1[o + 2] = q[o + 2] + there[2]
            turn_quaternion(q, o + 3, w, q1)
        elif kind == PLANAR:
            angle = h * v[k + 2]
            half, _ = sinc(0.25 * angle * angle)
            whole, _ = sinc(angle * angle)
            across = 0.5 * angle * half * half
            x = h * (whole * v[k] - across * v[k + 1])
            y = h * (across * v[k] + whole * v[k + 1])
            length = 1.0 / sqrt(q[o + 2] * q[o + 2] + q[o + 3] * q[o + 3])
            q1[o] = q[o] + length * (q[o + 2] * x - q[o + 3] * y)
            q1[o + 1] = q[o + 1] + length * (q[o + 3] * x + q[o + 2] * y)
            turn_direction(q, o + 2, angle, q1)
        else:
            for j in range(dof_of(kind)):
                q1[o + j] = q[o + j] + h * v[k + j]


@kernel
def go(tree: Array, q: Array, x: Array, q1: Array) -> None:
    """``q1``: the configuration at ``x``, seen from ``q``."""
    for i in range(1, tree.n):
        kind = tree.kind[i]
        o = tree.iq[i]
        k = tree.iv[i]
        if kind == SPHERICAL:
            turn_quaternion(q, o, (x[k], x[k + 1], x[k + 2]), q1)
        elif kind == FREE:
            for j in range(3):
                q1[o + j] = q[o + j] + x[k + j]
            turn_quaternion(q, o + 3, (x[k + 3], x[k + 4], x[k + 5]), q1)
        elif kind == PLANAR:
            q1[o] = q[o] + x[k]
            q1[o + 1] = q[o + 1] + x[k + 1]
            turn_direction(q, o + 2, x[k + 2], q1)
        else:
            for j in range(dof_of(kind)):
                q1[o + j] = q[o + j] + x[k + j]


@kernel
def unwind(x: Vector, w: Vector) -> tuple[Scalar, Scalar, Scalar]:
    """``dexp^-1``: the rate of a rotation vector ``x`` while the body turns by ``w``, for turns below half a circle."""
    s = x[0] * x[0] + x[1] * x[1] + x[2] * x[2]
    few = 1.0 / 12.0 + s * (1.0 / 720.0 + s * (1.0 / 30240.0 + s * (1.0 / 1209600.0 + s / 47900160.0)))
    across = cross(x, w)
    return add(w, add(scale(0.5, across), scale(few, cross(x, across))))


@kernel
def rate(tree: Array, q: Array, x: Array, v: Array, dx: Array) -> None:
    """``dx``: how ``x`` changes at the configuration ``q``."""
    for i in range(1, tree.n):
        kind = tree.kind[i]
        o = tree.iq[i]
        k = tree.iv[i]
        if kind == SPHERICAL:
            turn = unwind((x[k], x[k + 1], x[k + 2]), (v[k], v[k + 1], v[k + 2]))
            for j in range(3):
                dx[k + j] = turn[j]
        elif kind == FREE:
            there = turned(q, o + 3, (v[k], v[k + 1], v[k + 2]))
            turn = unwind((x[k + 3], x[k + 4], x[k + 5]), (v[k + 3], v[k + 4], v[k + 5]))
            for j in range(3):
                dx[k + j] = there[j]
                dx[k + 3 + j] = turn[j]
        elif kind == PLANAR:
            length = 1.0 / sqrt(q[o + 2] * q[o + 2] + q[o + 3] * q[o + 3])
            dx[k] = length * (q[o + 2] * v[k] - q[o + 3] * v[k + 1])
            dx[k + 1] = length * (q[o + 3] * v[k] + q[o + 2] * v[k + 1])
            dx[k + 2] = v[k + 2]
        else:
            for j in range(dof_of(kind)):
                dx[k + j] = v[k + j]


# What joints do by themselves ----------------------------------------------------------------------------------------


@kernel
def act(tree: Array, q: Array, v: Array, tau: Array, law: Array, ahead: Scalar, torque: Array) -> None:
    """Torques given, and those of springs (where they will be in the time ``ahead``), dampers and stops.

    A stop pushes back by its stiffness times how far the joint is beyond it, and its damping times the rate, while it
    is there: it is soft, and it does not stick.
    """
    for i in range(1, tree.n):
        kind = tree.kind[i]
        o = tree.iq[i]
        for j in range(dof_of(kind)):
            k = tree.iv[i] + j
            x = tau[k] + damper_torque(law[k, DAMPING], v[k])
            if kind != SPHERICAL and kind != FREE and kind != PLANAR:
                at = q[o + j]
                x = x + spring_torque(law[k, STIFFNESS], at + ahead * v[k], law[k, REST])
                low = law[k, STOP_STIFFNESS] * (law[k, LOWER] - at) - law[k, STOP_DAMPING] * v[k]
                high = law[k, STOP_STIFFNESS] * (law[k, UPPER] - at) - law[k, STOP_DAMPING] * v[k]
                x = x + where(at, law[k, LOWER], low, 0.0) + where(law[k, UPPER], at, high, 0.0)
            torque[k] = x


# Steps ------------------------------------------------------------------------------------------------------------


class Dynamics(NamedTuple):
    """Accelerations as the texts of steps call for them."""

    name: str
    text: Callable[..., None]
    """``text(tree, w, q, v, torque, wrenches, regularization, acceleration, found)``"""
    work: dict[str, Shape]
    layout: Layout
    bound: bool
    folded: Mapping[str, str]
    drive: Callable[..., None]
    """``drive(tree, w, q, v, u, switch, torque)``: what is added to torques, beside `act`."""

    @property
    def driven(self) -> bool:
        """Whether it takes commands of actuators."""
        return self.drive is drive_joints


@kernel
def drive_nothing(tree: Array, w: Array, q: Array, v: Array, u: Array, switch: Scalar, torque: Array) -> None:
    """No actuators."""


def _with_actuators(dynamics: Dynamics, layout: Layout) -> Dynamics:
    """The same for robots with servos, or with gravity compensation."""
    name, work = f"{dynamics.name}_driven", dynamics.work | DRIVE_WORK
    return dynamics._replace(name=name, work=work, layout=layout, drive=drive_joints)


def _of_tree() -> Dynamics:
    @kernel
    def accelerations(
        tree: Array,
        w: Array,
        q: Array,
        v: Array,
        torque: Array,
        wrenches: Array,
        regularization: Array,
        a: Array,
        found: Array,
    ) -> None:
        aba(tree, w, q, v, torque, wrenches, a)

    return Dynamics("aba", accelerations, dict(ABA.work), TREE, bound=False, folded=ABA.folded, drive=drive_nothing)


def _of_loops(iterations: int) -> Dynamics:
    @kernel
    def accelerations(
        tree: Array,
        w: Array,
        q: Array,
        v: Array,
        torque: Array,
        wrenches: Array,
        regularization: Array,
        a: Array,
        found: Array,
    ) -> None:
        for r in range(tree.nc):
            w.none[r] = 0.0
        multipliers = found[2 : 2 + tree.nc]
        residual = found[2 + tree.nc : tree.nresult]
        found[tree.nresult - 2] = 0.0
        found[tree.nresult - 1] = -1.0
        setup_problem(tree, w, q, v, wrenches, w.none)
        lcaba_sweeps(tree, w, torque, regularization, w.none, a, multipliers, residual)
        for _ in range(iterations - 1):
            lcaba_sweeps_iterate(tree, w, torque, wrenches, regularization, a, multipliers, residual)

    work = WORK | SPRINGS | {"none": ("nc",)}
    return Dynamics(f"lcaba{iterations}", accelerations, work, LCABA_TREE, bound=True, folded={}, drive=drive_nothing)


TREES, SOFT, EXACT = _of_tree(), _of_loops(1), _of_loops(3)
DRIVEN_TREES = _with_actuators(TREES, ACTUATION_TREE)
DRIVEN_SOFT, DRIVEN_EXACT = (_with_actuators(loops, ACTUATION_LCABA_TREE) for loops in (SOFT, EXACT))


class Step(NamedTuple):
    """One step of an integrator, for the algorithms that repeat it."""

    name: str
    dynamics: Dynamics
    text: Callable[..., None]
    """``text(tree, w, q, v, tau, u, wrenches, law, regularization, clock, found)``: leaves the state in ``w.qs,
    w.vs``.
    """
    work: dict[str, Shape]

    @property
    def inputs(self) -> dict[str, Shape]:
        """What a step reads, but for the clock."""
        own: dict[str, Shape] = {"q": ("nq",), "v": ("nv",), "tau": ("nv",)}
        driven: dict[str, Shape] = {"commands": ("nu",) if self.dynamics.driven else (0,), "wrenches": WRENCHES}
        return own | driven | {"law": ("nv", 7), "regularization": ("nc",) if self.dynamics.bound else (0,)}


class Scheme(NamedTuple):
    """A Runge-Kutta method: coefficients, weights, and weights of the error estimate."""

    name: str
    order: int
    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    e: tuple[float, ...]


RK4 = Scheme(
    "rk4",
    4,
    ((0.0, 0.0, 0.0, 0.0), (0.5, 0.0, 0.0, 0.0), (0.0, 0.5, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0)),
    (1 / 6, 1 / 3, 1 / 3, 1 / 6),
    (0.0, 0.0, 0.0, 0.0),
)
DOPRI5 = Scheme(
    "dopri5",
    5,
    (
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        (1 / 5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        (3 / 40, 9 / 40, 0.0, 0.0, 0.0, 0.0, 0.0),
        (44 / 45, -56 / 15, 32 / 9, 0.0, 0.0, 0.0, 0.0),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0.0, 0.0, 0.0),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0.0, 0.0),
        (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0.0),
    ),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0.0),
    (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40),
)
"""Dormand and Prince's method of fifth order, with an error estimate of fourth."""


@kernel
def count_step(tree: Array, q: Array, v: Array, progress: Array) -> None:
    """``progress``: one while all is finite (else it is no number, and steps end), and the steps so far and one."""
    x = 0.0
    for k in range(tree.nq):
        x = x + q[k] * 0.0
    for k in range(tree.nv):
        x = x + v[k] * 0.0
    progress[0] = 1.0 + x
    progress[1] += where(progress[0], 2.0, 1.0, 0.0)


def euler(dynamics: Dynamics) -> Step:
    """Semi-implicit Euler: velocities first, then positions along the new velocities (**loops** Eqs. 54, 55).

    Springs and dampers act as they will be after the step, ``-k (q + h v1 - rest) - d v1``: what they take of the new
    velocity is ``h d + h² k`` more of armature, which the mechanism has already (`simulation.stepper`).
    """
    accelerate, drive = dynamics.text, dynamics.drive

    @kernel
    def step(
        tree: Array,
        w: Array,
        q: Array,
        v: Array,
        tau: Array,
        u: Array,
        wrenches: Array,
        law: Array,
        regularization: Array,
        clock: Array,
        found: Array,
    ) -> None:
        h = clock[DT]
        act(tree, q, v, tau, law, h, w.torque)
        drive(tree, w, q, v, u, clock[SWITCH], w.torque)
        accelerate(tree, w, q, v, w.torque, wrenches, regularization, w.acc, found)
        for k in range(tree.nv):
            w.vs[k] = v[k] + h * w.acc[k]
        follow_velocity(tree, q, w.vs, h, w.qs)

    work: dict[str, Shape] = {"torque": ("nv",), "acc": ("nv",), "vs": ("nv",), "qs": ("nq",)}
    return Step("euler", dynamics, step, work)


def runge_kutta(scheme: Scheme, dynamics: Dynamics) -> Step:
    """An explicit Runge-Kutta method."""
    accelerate, drive = dynamics.text, dynamics.drive
    a, b, e, n = scheme.a, scheme.b, scheme.e, len(scheme.b)

    @kernel
    def step(
        tree: Array,
        w: Array,
        q: Array,
        v: Array,
        tau: Array,
        u: Array,
        wrenches: Array,
        law: Array,
        regularization: Array,
        clock: Array,
        found: Array,
    ) -> None:
        h = clock[DT]
        for s in range(n):
            for k in range(tree.nv):
                x = 0.0
                y = 0.0
                for t in range(s):
                    x = x + a[s][t] * w.Xs[t, k]
                    y = y + a[s][t] * w.As[t, k]
                w.xs[k] = h * x
                w.vs[k] = v[k] + h * y
            go(tree, q, w.xs, w.qs)
            act(tree, w.qs, w.vs, tau, law, 0.0, w.torque)
            drive(tree, w, w.qs, w.vs, u, clock[SWITCH], w.torque)
            accelerate(tree, w, w.qs, w.vs, w.torque, wrenches, regularization, w.As[s], found)
            rate(tree, w.qs, w.xs, w.vs, w.Xs[s])
        for k in range(tree.nv):
            x = 0.0
            y = 0.0
            ex = 0.0
            ev = 0.0
            for t in range(n):
                x = x + b[t] * w.Xs[t, k]
                y = y + b[t] * w.As[t, k]
                ex = ex + e[t] * w.Xs[t, k]
                ev = ev + e[t] * w.As[t, k]
            w.xs[k] = h * x
            w.vs[k] = v[k] + h * y
            w.off[0, k] = h * ex
            w.off[1, k] = h * ev
        go(tree, q, w.xs, w.qs)

    work: dict[str, Shape] = {
        "torque": ("nv",),
        "xs": ("nv",),
        "vs": ("nv",),
        "qs": ("nq",),
        "Xs": (n, "nv"),
        "As": (n, "nv"),
        "off": (2, "nv"),
    }
    return Step(scheme.name, dynamics, step, work)


def repeated(one: Step) -> Algorithm:
    """The algorithm that repeats a step; ``settings`` are zero and one more than how often, and ``progress`` ends with
    one more than the steps after which all was finite.

    The first text only puts the state where steps find it, so that there is one text of a step.
    """
    dynamics, step = one.dynamics, one.text
    clear = clear_found if dynamics.bound else clear_nothing

    @kernel
    def first(
        tree: Array,
        w: Array,
        q: Array,
        v: Array,
        tau: Array,
        u: Array,
        wrenches: Array,
        law: Array,
        regularization: Array,
        clock: Array,
        settings: Array,
        q1: Array,
        v1: Array,
        found: Array,
        progress: Array,
    ) -> None:
        for k in range(tree.nq):
            q1[k] = q[k]
        for k in range(tree.nv):
            v1[k] = v[k]
        clear(tree, found)
        progress[0] = 1.0
        progress[1] = 1.0

    @kernel
    def iterate(
        tree: Array,
        w: Array,
        q: Array,
        v: Array,
        tau: Array,
        u: Array,
        wrenches: Array,
        law: Array,
        regularization: Array,
        clock: Array,
        settings: Array,
        q1: Array,
        v1: Array,
        found: Array,
        progress: Array,
    ) -> None:
        step(tree, w, q1, v1, tau, u, wrenches, law, regularization, clock, found)
        leave(tree, w, q1, v1, progress)

    inputs: dict[str, Shape] = one.inputs | {"clock": (2,), "settings": (2,)}
    outputs: dict[str, Shape] = {"q1": ("nq",), "v1": ("nv",)}
    outputs |= {"found": ("nresult",) if dynamics.bound else (0,), "progress": (2,)}
    name, work = f"{one.name}_{dynamics.name}", dynamics.work | one.work
    return Algorithm(name, first, inputs, outputs, work, dynamics.layout, iterate, dynamics.folded)


@kernel
def clear_found(tree: Array, found: Array) -> None:
    """Nothing is found yet."""
    for k in range(tree.nresult):
        found[k] = 0.0


@kernel
def clear_nothing(tree: Array, found: Array) -> None:
    """Nothing is to be found."""


@kernel
def leave(tree: Array, w: Array, q1: Array, v1: Array, progress: Array) -> None:
    """The state after a step, where the next one finds it."""
    for k in range(tree.nq):
        q1[k] = w.qs[k]
    for k in range(tree.nv):
        v1[k] = w.vs[k]
    count_step(tree, q1, v1, progress)


def adaptive(scheme: Scheme, dynamics: Dynamics) -> Algorithm:
    """One step with an estimate of its error, of ``x`` and of ``v``."""
    whole = repeated(runge_kutta(scheme, dynamics))
    first, iterate = whole.text, whole.iterate

    @kernel
    def estimated(
        tree: Array,
        w: Array,
        q: Array,
        v: Array,
        tau: Array,
        u: Array,
        wrenches: Array,
        law: Array,
        regularization: Array,
        clock: Array,
        q1: Array,
        v1: Array,
        found: Array,
        off: Array,
        progress: Array,
    ) -> None:
        first(tree, w, q, v, tau, u, wrenches, law, regularization, clock, clock, q1, v1, found, progress)
        iterate(tree, w, q, v, tau, u, wrenches, law, regularization, clock, clock, q1, v1, found, progress)  # type: ignore[misc]
        for k in range(tree.nv):
            off[0, k] = w.off[0, k]
            off[1, k] = w.off[1, k]

    inputs = {name: shape for name, shape in whole.inputs.items() if name != "settings"}
    outputs = {name: shape for name, shape in whole.outputs.items() if name != "progress"}
    outputs |= {"off": (2, "nv"), "progress": (2,)}
    return Algorithm(whole.name, estimated, inputs, outputs, whole.work, whole.layout, folded=whole.folded)


SINGLE_STEPS: dict[tuple[str, str], Step] = {
    (one.name, one.dynamics.name): one
    for trees, soft, exact in ((TREES, SOFT, EXACT), (DRIVEN_TREES, DRIVEN_SOFT, DRIVEN_EXACT))
    for one in (euler(trees), runge_kutta(RK4, trees), euler(soft), euler(exact), runge_kutta(RK4, exact))
}
"""Steps of one length, by integrator and dynamics."""

STEPS: dict[tuple[str, str], Algorithm] = {
    **{key: repeated(one) for key, one in SINGLE_STEPS.items()},
    **{("dopri5", d.name): adaptive(DOPRI5, d) for d in (TREES, EXACT, DRIVEN_TREES, DRIVEN_EXACT)},
}
"""Algorithms of steps, by integrator and dynamics."""
