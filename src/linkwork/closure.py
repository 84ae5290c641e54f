"""Onto the loops of a mechanism: assembling it, projecting velocities, and counting what is left free.

These are the functions behind `Mechanism.assemble`, `Mechanism.project_velocity` and `Mechanism.mobility`. They work on
the rows of enabled constraints and use dense linear algebra: they prepare and check a state, not a control loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork import lie
from linkwork.binding import ANY_TURN, NO_TURN
from linkwork.constraints import (
    WORLD,
    Axial,
    Cardan,
    CenterOfMass,
    Constraint,
    FunctionCoupling,
    JointCoupling,
    JointLock,
    Pair,
    PolynomialCoupling,
    Rod,
    Rolling,
)
from linkwork.dynamics import (
    constraint_error,
    constraint_jacobian,
    frame_placement,
    mass_matrix,
)
from linkwork.errors import AssemblyError, InputError
from linkwork.mechanism import Mechanism
from linkwork.notebook import table
from linkwork.plans.loops import loops_of
from linkwork.rigid import Floats, Placement, aligning_rotation, as_placement

RANK_TOLERANCE = 1e-9
"""Singular values of J below this part of the largest are zeros."""

SIDES = ("first_at", "second_at")
"""Where a pair has the frames of its two places."""

STUCK = 1e-4
"""A relative decrease of the error in one iteration below which an attempt is not worth going on with."""


# Assembling ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Assembly:
    """How an assembly went."""

    q: Floats
    gap: float
    """The largest error of a row that is left."""
    iterations: int
    """Over all attempts."""
    attempts: int


def assemble(
    robot: Mechanism,
    q: npt.ArrayLike | None = None,
    fixed: Sequence[str] = (),
    *,
    tolerance: float = 1e-12,
    max_iterations: int = 200,
    attempts: int = 20,
    seed: int = 0,
    limits: bool = True,
) -> Assembly:
    """A configuration near ``q`` (default: neutral) at which every enabled constraint is satisfied to ``tolerance``.

    Damped Gauss-Newton on the joints' manifolds with a line search: each step is the least motion that closes the
    loops to first order. Joints called ``fixed`` stay where they are, and limits of joints whose coordinates are plain
    numbers are kept unless ``limits=False``; a ``q`` that is closed already is returned as it is. Where an attempt gets
    stuck, the next starts from ``q`` moved at random, farther each time; after ``attempts`` of them an `AssemblyError`
    names the constraint that is farthest from closed.
    """
    problem = _Problem(robot, q, fixed, limits)
    rng = np.random.default_rng(seed)
    start = problem.start
    gap = float(np.abs(problem.error(problem.given)).max(initial=0.0))
    if gap <= tolerance:
        return Assembly(problem.given, gap, 0, 0)
    best, best_gap, iterations = start, np.inf, 0
    for attempt in range(1, max(1, attempts) + 1):
        found, gap, used = problem.descend(start, tolerance, max_iterations)
        iterations += used
        if gap <= tolerance:
            return Assembly(found, gap, iterations, attempt)
        if gap < best_gap:
            best, best_gap = found, gap
        start = problem.scattered(rng, min(1.0, 0.1 * attempt))
    raise problem.failure(best, tolerance, attempts)


class _Problem:
    """The loops of a robot as equations in its free joints."""

    def __init__(self, robot: Mechanism, q: npt.ArrayLike | None, fixed: Sequence[str], limits: bool) -> None:
        self.robot = robot
        self.given = robot.neutral() if q is None else robot.normalise(q)
        if self.given.shape != (robot.nq,):
            raise InputError(f"assemble takes one configuration of {robot.nq} numbers, not {self.given.shape}")
        self.rows = np.flatnonzero(which_enabled(robot) & which_holonomic(robot))
        self.free = np.ones(robot.nv, dtype=bool)
        for name in (fixed,) if isinstance(fixed, str) else fixed:
            self.free[robot.v_slice(name)] = False
        self.in_q, self.in_v = _plain_numbers(robot)
        self.lower, self.upper = robot.lower[self.in_q], robot.upper[self.in_q]
        held = ~self.free[self.in_v] if limits else np.ones(len(self.in_v), dtype=bool)
        self.lower[held], self.upper[held] = -np.inf, np.inf
        self.start = self._within(self.given)
        # Where points that should meet are apart, J also says how the gap turns with what carries the whole loop:
        # that closes nothing.
        self.moves = np.zeros((robot.nc, robot.nv), dtype=bool)
        for loop in loops_of(robot).loops:
            for name in loop.support:
                self.moves[robot.row_slice(loop.constraint), robot.v_slice(name)] = True

    def error(self, q: Floats) -> Floats:
        found: Floats = constraint_error(self.robot, q)[self.rows]
        return found

    def descend(self, q: Floats, tolerance: float, max_iterations: int) -> tuple[Floats, float, int]:
        """Gauss-Newton from ``q``: where it ends, the largest error there, and the iterations."""
        e = self.error(q)
        size, slow, iteration = _norm(e), 0, -1
        for iteration in range(max_iterations):
            gap = float(np.abs(e).max(initial=0.0))
            if gap <= tolerance:
                return q, gap, iteration
            step = self._step(q, e, size)
            best = None
            for scale in (1.0, 0.5, 0.25, 0.1, 0.03, 0.01, 1e-3):
                trial = self._within(self.robot.integrate(q, scale * step))
                e_trial = self.error(trial)
                if _norm(e_trial) < (1 - 1e-4 * scale) * size:
                    best = trial, e_trial
                    break
            if best is None:
                return q, gap, iteration + 1
            q, e = best
            slow = slow + 1 if _norm(e) > (1 - STUCK) * size else 0
            size = _norm(e)
            if slow > 5:
                break
        return q, float(np.abs(e).max(initial=0.0)), iteration + 1

    def _step(self, q: Floats, e: Floats, size: float) -> Floats:
        """The least motion that closes the loops to first order; damped while they are wide open.

        Coordinates at a limit that would be passed are held and the rest solved again.
        """
        J = np.where(self.moves, constraint_jacobian(self.robot, q), 0.0)[self.rows]
        mobile = self.free.copy()
        damping = 1e-3 * size if size > 1e-3 else 0.0
        step = np.zeros(self.robot.nv)
        for _ in range(len(self.in_v) + 1):
            step[:] = 0.0
            step[mobile] = _least_squares(J[:, mobile], -e, damping)
            x, dx = q[self.in_q], step[self.in_v]
            pressed = ((x <= self.lower) & (dx < 0)) | ((x >= self.upper) & (dx > 0))
            pressed &= mobile[self.in_v]
            if not pressed.any():
                break
            mobile[self.in_v[pressed]] = False
        length = float(np.abs(step).max(initial=0.0))
        return step if length <= 1.0 else step / length  # no turn of more than a radian at once

    def _within(self, q: Floats) -> Floats:
        out = q.copy()
        out[self.in_q] = np.clip(q[self.in_q], self.lower, self.upper)
        return out

    def scattered(self, rng: np.random.Generator, part: float) -> Floats:
        """A start some way from the given one towards a random configuration."""
        way = self.robot.difference(self.start, self.robot.random(rng))
        way[~self.free] = 0.0
        return self._within(self.robot.integrate(self.start, part * way))

    def failure(self, q: Floats, tolerance: float, attempts: int) -> AssemblyError:
        robot, e = self.robot, constraint_error(self.robot, q)
        gaps = {c.name: float(np.abs(e[robot.row_slice(c.name)]).max()) for c in robot.constraints if c.enabled}
        worst = max(gaps, key=gaps.__getitem__)
        at_limit = (q[self.in_q] <= self.lower) | (q[self.in_q] >= self.upper)
        support = next(loop.support for loop in loops_of(robot).loops if loop.constraint == worst)
        names = [name for name in support if at_limit[np.isin(self.in_v, _indices(robot.v_slice(name)))].any()]
        hint = f"; at their limits: {', '.join(names[:5])}" if names else ""
        if gaps[worst] < 1e-4:
            hint += "; numbers in the model may be rounded: pass a tolerance above this gap to take it as closed"
        return AssemblyError(
            f"the loops of '{robot.name}' do not close: after {attempts} attempts {robot.constraint(worst)} is still "
            f"{gaps[worst]:.3g} off (asked: {tolerance:.1g}){hint}",
            constraint=worst,
            gap=gaps[worst],
            q=q,
        )


def _plain_numbers(robot: Mechanism) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Where in q and in v the joints stand whose coordinates are plain numbers."""
    plain = [joint.name for joint in robot.joints if joint.type.group is lie.VECTOR]
    in_q = [k for name in plain for k in _indices(robot.q_slice(name))]
    in_v = [k for name in plain for k in _indices(robot.v_slice(name))]
    return np.array(in_q, dtype=np.intp), np.array(in_v, dtype=np.intp)


def _indices(at: slice) -> list[int]:
    return list(range(at.start, at.stop))


def _least_squares(A: Floats, b: Floats, damping: float) -> Floats:
    """The shortest ``x`` of least ``|A x - b|² + damping |x|²``, by singular values."""
    if 0 in A.shape:
        return np.zeros(A.shape[1])
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    cut = RANK_TOLERANCE * s[0]
    gain = np.where(s > cut, s / np.maximum(s * s + damping, np.finfo(float).tiny), 0.0)
    x: Floats = Vt.T @ (gain * (U.T @ b))
    return x


def _norm(x: Floats) -> float:
    return float(np.linalg.norm(x))


def which_enabled(robot: Mechanism) -> npt.NDArray[np.bool_]:
    """Of each row, whether its constraint is enabled."""
    return np.array([c.enabled for c in robot.constraints for _ in range(c.rows)], dtype=bool)


def which_holonomic(robot: Mechanism) -> npt.NDArray[np.bool_]:
    """Of each row, whether it binds positions."""
    return np.array([x for c in robot.constraints for x in c.holonomic], dtype=bool)


def captured(robot: Mechanism, constraints: Sequence[Constraint], q: npt.ArrayLike) -> tuple[Constraint, ...]:
    """The constraints, changed so that they hold at ``q``."""
    at = robot.normalise(q)
    if at.shape != (robot.nq,):
        raise InputError(f"at is one configuration of {robot.nq} numbers, not {at.shape}")
    return tuple(_captured(robot, constraint, at) for constraint in constraints)


def _captured(robot: Mechanism, constraint: Constraint, q: Floats) -> Constraint:
    kept: dict[str, Any] = {"gains": constraint.gains, "time_constant": None}
    if isinstance(constraint, Rod | Rolling):
        first, second = _places(robot, constraint, q)
        between = first.inverse() * second
        if isinstance(constraint, Rod):
            return replace(constraint, length=_norm(between.position), **kept)
        normal = np.asarray(constraint.axis, dtype=np.float64)
        height = float(normal @ between.position)
        lifted = as_placement(constraint.first_at) * Placement(normal * (height - constraint.radius))
        return replace(constraint, first_at=lifted, **kept)
    if isinstance(constraint, Pair):
        return replace(constraint, **_put_together(robot, constraint, q), **kept)
    if isinstance(constraint, JointCoupling):
        total = sum(c * q[robot.q_index(joint)] for joint, c in constraint.coefficients.items())
        return replace(constraint, offset=float(total), **kept)
    if isinstance(constraint, JointLock):
        position = tuple(q[robot.q_slice(constraint.joint)].tolist())
        if len(position) != constraint.rows:
            kept["weight"] = float(np.asarray(constraint.weight)[0])
        return replace(constraint, position=position, **kept)
    if isinstance(constraint, PolynomialCoupling):
        c0, *rest = constraint.coefficients
        return replace(constraint, coefficients=(c0 + float(_error(robot, constraint, q)[0]), *rest), **kept)
    if isinstance(constraint, FunctionCoupling):
        held = np.asarray(constraint.offset) + _error(robot, constraint, q)
        return replace(constraint, offset=tuple(held.tolist()), **kept)
    if isinstance(constraint, CenterOfMass):
        at = as_placement(constraint.at)
        off = sum(
            x * at.rotation[:, "xyz".index(k)]
            for x, k in zip(_error(robot, constraint, q), constraint.axes, strict=True)
        )
        return replace(constraint, at=Placement(at.position + off, at.rotation), **kept)
    return constraint


def _put_together(robot: Mechanism, pair: Pair, q: Floats) -> dict[str, Any]:
    """What has to change of a pair for it to hold at ``q``; see `Mechanism.constrained`.

    Origins: that on the world is put where the other is, of two bodies that of the second; but of two of which one was
    given, the other. Turning: ``axis`` keeps its direction in the first place, and ``second_axis`` follows; where no
    turning is left, the second frame is turned as the first, or the first, where only the second was given turned.
    """
    at = [as_placement(pair.first_at), as_placement(pair.second_at)]
    frames = _places(robot, pair, q)

    def other(side: int) -> Placement:
        """The frame of the other side, seen from the place of this one."""
        return at[side] * frames[side].inverse() * frames[1 - side]

    given = [bool(here.position.any()) for here in at]
    one = int(robot.frame(pair.first).body != WORLD) if given[0] == given[1] else given.index(False)
    found: dict[str, Any] = {SIDES[one]: Placement(other(one).position, at[one].rotation)}
    if pair.turns == NO_TURN:
        turned = [not np.array_equal(here.rotation, np.eye(3)) for here in at]
        one = 0 if turned == [False, True] else 1
        found[SIDES[one]] = Placement(found.get(SIDES[one], at[one]).position, other(one).rotation)
        if isinstance(pair, Axial):  # the same line in the first place
            axis = np.asarray(pair.axis) if one else other(0).rotation.T @ at[0].rotation @ np.asarray(pair.axis)
            found |= {"axis": axis, "second_axis": axis}
    elif pair.turns != ANY_TURN and isinstance(pair, Axial | Cardan):
        seen = frames[1].rotation.T @ frames[0].rotation @ np.asarray(pair.axis)
        found["second_axis"] = _normal_to(seen, pair.second_axis) if isinstance(pair, Cardan) else seen
    return found


def _normal_to(axis: Floats, wanted: Any) -> Floats:
    """The direction normal to an axis that is nearest to the one that is wanted."""
    normal: Floats = np.asarray(wanted) - axis * float(axis @ wanted)
    return normal if _norm(normal) > 1e-6 else aligning_rotation(axis)[:, 0]


def _error(robot: Mechanism, constraint: Constraint, q: Floats) -> Floats:
    """The error of a constraint that the robot may not have yet."""
    found: Floats = constraint_error(robot.unconstrained().constrained(constraint), q)
    return found


def _places(robot: Mechanism, constraint: Pair, q: Floats) -> tuple[Placement, Placement]:
    """The frames of a pair in the world, as the user gave them."""
    poses = frame_placement(robot, q, constraint.places)
    found = [Placement(poses.position[k], poses.rotation[k]) for k in range(2)]
    return found[0] * as_placement(constraint.first_at), found[1] * as_placement(constraint.second_at)


# Velocities ----------------------------------------------------------------------------------------


def project_velocity(robot: Mechanism, q: npt.ArrayLike, v: npt.ArrayLike) -> Floats:
    """The velocity that all enabled constraints allow at ``q`` and that is nearest to ``v`` in kinetic energy.

    It is the velocity after a perfectly inelastic impact with the constraints. Leading axes broadcast.
    """
    q_, v_ = np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64)
    robot.integrate(q_, v_)  # checks both
    J = constraint_jacobian(robot, q_)[..., which_enabled(robot), :]
    L = np.linalg.cholesky(mass_matrix(robot, q_))
    LT = np.swapaxes(L, -1, -2)
    A: Any = np.swapaxes(np.linalg.solve(L, np.swapaxes(J, -1, -2)), -1, -2)  # J L^-T
    y = (LT @ v_[..., None])[..., 0]
    _, s, Vt = np.linalg.svd(A, full_matrices=False)
    one = 1 / np.linalg.norm(L, axis=(-2, -1))  # a row of length one has at least this: less is round-off
    kept = s > RANK_TOLERANCE * np.maximum(s.max(axis=-1, initial=0.0), one)[..., None]
    V = np.where(kept[..., None], Vt, 0.0)
    pushed: Any = np.swapaxes(V, -1, -2) @ (V @ y[..., None])
    found: Floats = np.linalg.solve(LT, y[..., None] - pushed)[..., 0]
    return found


# Mobility ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mobility:
    """What the enabled constraints leave free at one configuration."""

    dof: int
    """Degrees of freedom left."""
    rows: int
    rank: int
    closed: bool
    """Whether the constraints are satisfied there."""
    redundant: dict[str, int]
    """Constraints that say, wholly or in part, what the others say: how many rows of each could go, were all others
    kept. Rows that say the same count for each constraint that says it."""
    conflicting: dict[str, float]
    """Constraints that cannot be satisfied together, to first order, and the error that must stay."""
    freedom: Floats
    """Directions of v that are free, ``(nv, dof)``, orthonormal."""
    singular: Floats
    """Those of them that are free at this configuration and at none near it, ``(nv, k)``."""
    singular_values: Floats
    """Of the Jacobian, the largest first; ranks that are a close call show here."""

    @property
    def redundancy(self) -> int:
        """Rows that could go: ``rows - rank``."""
        return self.rows - self.rank

    def __str__(self) -> str:
        text = f"{_counted(self.dof, 'degree')} of freedom; {_counted(self.rows, 'row')} of rank {self.rank}"
        if self.redundant:
            text += f"; redundant: {', '.join(self.redundant)}"
        if self.conflicting:
            text += f"; conflicting: {', '.join(self.conflicting)}"
        if self.singular.shape[1]:
            text += f"; singular in {_counted(self.singular.shape[1], 'direction')}"
        return text if self.closed else f"{text}; loops are open here"

    def _repr_html_(self) -> str:
        facts = {
            "degrees of freedom": self.dof,
            "rows": self.rows,
            "rank": self.rank,
            "loops are closed": self.closed,
            "singular directions": self.singular.shape[1],
        }
        facts |= {f"redundant: {name}": _counted(rows, "row") for name, rows in self.redundant.items()}
        facts |= {f"conflicting: {name}": f"misses {error:.3g}" for name, error in self.conflicting.items()}
        return table("Mobility", (), facts.items())


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def mobility(
    robot: Mechanism, q: npt.ArrayLike, *, closed_to: float = 1e-6, rank_tolerance: float = RANK_TOLERANCE
) -> Mobility:
    """Degrees of freedom, redundant, conflicting and singular constraints at ``q``.

    Singular values of the Jacobian below ``rank_tolerance`` times the largest (or one) count as zeros; errors below
    ``closed_to`` as closed.
    """
    at = robot.normalise(q)
    if at.shape != (robot.nq,):
        raise InputError(f"mobility takes one configuration of {robot.nq} numbers, not {at.shape}")
    on = which_enabled(robot)
    J = constraint_jacobian(robot, at)[on]
    e = constraint_error(robot, at)[on]
    bound, s, freedom = _spaces(J, rank_tolerance)
    rank = bound.shape[1]
    closed = bool(np.abs(e).max(initial=0.0) <= closed_to)
    redundant, conflicting = {}, {}
    stays = e - bound @ (bound.T @ e)  # what no motion changes
    start = 0
    for constraint in (c for c in robot.constraints if c.enabled) if rank < len(J) else ():
        mine = slice(start, start + constraint.rows)
        start += constraint.rows
        idle = np.eye(constraint.rows) - bound[mine] @ bound[mine].T  # of combinations of rows that bind nothing
        spare = int(np.linalg.matrix_rank(idle, tol=1e-9, hermitian=True))
        if spare:
            redundant[constraint.name] = spare
            if np.abs(stays[mine]).max() > closed_to:
                conflicting[constraint.name] = float(np.abs(stays[mine]).max())
    looks = closed and rank and freedom.shape[1]
    singular = _singular(robot, at, freedom, rank_tolerance) if looks else np.zeros((robot.nv, 0))
    return Mobility(
        dof=robot.nv - rank,
        rows=len(J),
        rank=rank,
        closed=closed,
        redundant=redundant,
        conflicting=conflicting,
        freedom=freedom,
        singular=singular,
        singular_values=s,
    )


def _spaces(J: Floats, tolerance: float) -> tuple[Floats, Floats, Floats]:
    """Orthonormal bases of the column space and of the null space, and between them the singular values."""
    rows, columns = J.shape
    if 0 in J.shape:
        return np.zeros((rows, 0)), np.zeros(0), np.eye(columns)
    padded = np.vstack([J, np.zeros((max(0, columns - rows), columns))])  # so that all of V comes out
    U, s, Vt = np.linalg.svd(padded, full_matrices=False)
    rank = int((s > tolerance * max(1.0, s[0])).sum())
    return U[:rows, :rank], s[: min(rows, columns)], Vt[rank:].T


def _singular(robot: Mechanism, q: Floats, freedom: Floats, tolerance: float, way: float = 1e-3) -> Floats:
    """Directions that are free at ``q`` but not at assembled configurations a little way off."""
    rng = np.random.default_rng(0)
    on = which_enabled(robot)
    for _ in range(4):
        step = freedom @ rng.normal(size=freedom.shape[1])
        off = robot.integrate(q, way * step / max(_norm(step), 1e-12))
        try:
            near = assemble(robot, off, attempts=1, limits=False).q
        except AssemblyError:  # no way out in this direction to first order
            continue
        _, _, other = _spaces(constraint_jacobian(robot, near)[on], tolerance)
        if other.shape[1] < freedom.shape[1]:
            _, s, Vt = np.linalg.svd(other.T @ freedom)
            kept = int((s > 0.5).sum())
            found: Floats = freedom @ Vt[kept:].T
            return found
        return np.zeros((robot.nv, 0))
    return np.zeros((robot.nv, 0))
