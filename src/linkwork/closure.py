"""Onto the loops of a mechanism: assembling it, projecting velocities, and counting what is left free.

These are the functions behind `Mechanism.assemble`, `Mechanism.project_velocity` and `Mechanism.mobility`. They work on
the rows of enabled constraints. Assembling is compiled (`algorithms.assembly`); the rest is dense linear algebra, for
preparing and checking states.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork import lie
from linkwork.algorithms.assembly import ASSEMBLY, DAMPING, LONGEST, PATIENCE, SCALES, STUCK
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
    Evaluator,
    constraint_error,
    constraint_jacobian,
    frame_placement,
    mass_matrix,
)
from linkwork.errors import AssemblyError, InputError
from linkwork.mechanism import Mechanism
from linkwork.notebook import table
from linkwork.plans.assembly import supports_tree
from linkwork.plans.loops import loops_of
from linkwork.rigid import Floats, Placement, aligning_rotation, as_placement

Integers = npt.NDArray[np.int64]

RANK_TOLERANCE = 1e-9
"""Singular values of J below this part of the largest are zeros."""

SIDES = ("first_at", "second_at")
"""Where a pair has the frames of its two places."""

NEARLY = 1e-4
"""Gaps below this are of rounded numbers, or of loops that are singular where they close."""

FAR = float(np.finfo(np.float64).max)
"""The limit of a coordinate that has none."""

NAMED = 5
"""Joints at their limits, and states of a batch, that a message names."""

ALONE = 5
"""Attempts to close one loop alone, to say which it is that cannot be closed."""

EXAMINED = 24
"""How many loops are tried alone, the widest open first."""


# Assembling ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Assembly:
    """How an assembly went: numbers of one state, or arrays of a batch's leading axes."""

    q: Floats
    """``(..., nq)``"""
    gap: float | Floats
    """The largest error of a row that is left."""
    iterations: int | Integers
    """Over all attempts."""
    attempts: int | Integers


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
    """Configurations near ``q``, ``(..., nq)``, at which every enabled constraint is satisfied to ``tolerance``.

    Damped Gauss-Newton on the joints' manifolds with a line search, in compiled code: each step is the least motion
    that closes the loops to first order. Leading axes are batch axes: each state is closed as it would be alone, up to
    rounding.

    Args:
        robot: The mechanism.
        q: Where to start, ``(..., nq)``; neutral, if nothing is given. What is closed already is returned as it is.
        fixed: Names of joints that stay where they are.
        tolerance: Errors below it are closed loops.
        max_iterations: Of each attempt.
        attempts: Where one gets stuck, the next starts from ``q`` moved at random, farther each time.
        seed: Of these random moves.
        limits: Whether to keep the limits of joints whose coordinates are plain numbers.

    Raises:
        AssemblyError: Where loops stay open after all attempts. It names the constraint that is farthest from closed and,
            unless there was to be one attempt only, says which loops cannot be closed even alone; in a batch it names
            the states, and the others are kept in it.
    """
    problem = _Problem(robot, q, fixed, limits)
    found = problem.given.reshape(-1, robot.nq).copy()
    start = problem.within(found)
    gap = problem.gap()
    iterations, tries = np.zeros((2, len(found)), dtype=np.int64)
    left = np.flatnonzero(~(gap <= tolerance))
    gap[left] = np.inf
    rng = np.random.default_rng(seed)
    for attempt in range(max(1, attempts)):
        if not left.size:
            break
        begin = problem.scattered(start[left], rng, min(1.0, 0.1 * attempt)) if attempt else start[left]
        ends, reached, used = problem.descend(begin, tolerance, max_iterations)
        iterations[left] += used
        tries[left] += 1
        better = reached < gap[left]
        found[left[better]], gap[left[better]] = ends[better], reached[better]
        left = left[~(reached <= tolerance)]
    if left.size:
        raise problem.failure(found, gap, left, tolerance, attempts)
    *lead, nq = problem.given.shape
    if not lead:
        return Assembly(found[0], float(gap[0]), int(iterations[0]), int(tries[0]))
    return Assembly(found.reshape(*lead, nq), gap.reshape(lead), iterations.reshape(lead), tries.reshape(lead))


class _Descent(Evaluator):
    """Gauss-Newton from given configurations."""

    def __init__(self, robot: Mechanism) -> None:
        self._prepare(robot, "assembly", ASSEMBLY, supports_tree(robot), (), None)


class _Problem:
    """The loops of a robot as equations in its free joints. Configurations are rows of arrays."""

    def __init__(self, robot: Mechanism, q: npt.ArrayLike | None, fixed: Sequence[str], limits: bool) -> None:
        self.robot, self.fixed, self.limits = robot, fixed, limits
        self.given = robot.neutral() if q is None else robot.normalise(q)
        self.rows = which_enabled(robot) & which_holonomic(robot)
        self.free = np.ones(robot.nv, dtype=bool)
        for name in (fixed,) if isinstance(fixed, str) else fixed:
            self.free[robot.v_slice(name)] = False
        self.in_q, self.in_v = _plain_numbers(robot)
        self.lower, self.upper = np.full(robot.nq, -FAR), np.full(robot.nq, FAR)
        if limits:
            at = self.in_q[self.free[self.in_v]]
            self.lower[at], self.upper[at] = np.clip([robot.lower[at], robot.upper[at]], -FAR, FAR)

    def gap(self) -> Floats:
        """The largest error of a row that counts, of each state as it was given."""
        found: Floats = np.abs(self._error(self.given)).max(axis=-1, initial=0.0).reshape(-1)
        return found

    def within(self, q: Floats) -> Floats:
        """The configurations with their coordinates between the limits."""
        return np.clip(q, self.lower, self.upper)

    def descend(self, q: Floats, tolerance: float, max_iterations: int) -> tuple[Floats, Floats, Integers]:
        """Gauss-Newton from each ``q``: where it ends, the largest error there, and the iterations.

        In compiled code, where damping keeps loops that are nearly closed from following singular values of the size
        of rounding; what only these can close is done once more by `_descend_undamped`.
        """
        if (key := ("assembly",)) not in self.robot.prepared:
            self.robot.prepared[key] = _Descent(self.robot)
        descent: _Descent = self.robot.prepared[key]
        chosen = self.rows.astype(np.float64), self.free.astype(np.float64), self.lower, self.upper
        how = np.array([tolerance, max_iterations], dtype=np.float64)
        some = descent(q if len(q) > 1 else q[0], *chosen, how)
        closed, progress = (x.reshape(len(q), -1) for x in some)
        gap, iterations = progress[:, 2], progress[:, 1].astype(np.int64)
        for k in np.flatnonzero((gap > tolerance) & (gap < NEARLY)):
            found, reached, used = self._descend_undamped(q[k], tolerance, max_iterations)
            iterations[k] += used
            if reached < gap[k]:
                closed[k], gap[k] = found, reached
        return closed, gap, iterations

    def _descend_undamped(self, q: Floats, tolerance: float, max_iterations: int) -> tuple[Floats, float, int]:
        """The same from one configuration, by singular values: not damped once loops are nearly closed."""
        e = self._error(q)
        size, slow, iteration = _norm(e), 0, -1
        for iteration in range(max_iterations):
            gap = float(np.abs(e).max(initial=0.0))
            if gap <= tolerance:
                return q, gap, iteration
            step = self._step(q, e, size)
            best = None
            for scale in SCALES:
                trial = self.within(self.robot.integrate(q, scale * step))
                e_trial = self._error(trial)
                if _norm(e_trial) < (1 - 1e-4 * scale) * size:
                    best = trial, e_trial
                    break
            if best is None:
                return q, gap, iteration + 1
            q, e = best
            slow = slow + 1 if _norm(e) > (1 - STUCK) * size else 0
            size = _norm(e)
            if slow > PATIENCE:
                break
        return q, float(np.abs(e).max(initial=0.0)), iteration + 1

    def _step(self, q: Floats, e: Floats, size: float) -> Floats:
        """The least motion that closes the loops to first order; damped while they are wide open.

        Coordinates at a limit that would be passed are held and the rest solved again.
        """
        J = np.where(self._moves, constraint_jacobian(self.robot, q), 0.0)[self.rows]
        mobile = self.free.copy()
        damping = DAMPING * size if size > DAMPING else 0.0
        step = np.zeros(self.robot.nv)
        for _ in range(len(self.in_v) + 1):
            step[:] = 0.0
            step[mobile] = _least_squares(J[:, mobile], -e, damping)
            x, dx = q[self.in_q], step[self.in_v]
            pressed = ((x <= self.lower[self.in_q]) & (dx < 0)) | ((x >= self.upper[self.in_q]) & (dx > 0))
            pressed &= mobile[self.in_v]
            if not pressed.any():
                break
            mobile[self.in_v[pressed]] = False
        length = float(np.abs(step).max(initial=0.0))
        return step * (LONGEST / max(length, LONGEST))

    @cached_property
    def _moves(self) -> npt.NDArray[np.bool_]:
        """Which joints close which rows.

        Where points that should meet are apart, J also says how the gap turns with what carries the whole loop: that
        closes nothing.
        """
        found = np.zeros((self.robot.nc, self.robot.nv), dtype=bool)
        for loop in loops_of(self.robot).loops:
            for name in loop.support:
                found[self.robot.row_slice(loop.constraint), self.robot.v_slice(name)] = True
        return found

    def _error(self, q: Floats) -> Floats:
        found: Floats = constraint_error(self.robot, q)[..., self.rows]
        return found

    def scattered(self, start: Floats, rng: np.random.Generator, part: float) -> Floats:
        """Starts some way from the given ones towards a random configuration."""
        way = self.robot.difference(start, self.robot.random(rng))
        way[:, ~self.free] = 0.0
        return self.within(self.robot.integrate(start, part * way))

    def failure(
        self, q: Floats, gap: Floats, left: npt.NDArray[np.intp], tolerance: float, attempts: int
    ) -> AssemblyError:
        """What to say of the states that are ``left`` open."""
        robot, lead = self.robot, self.given.shape[:-1]
        state = left[gap[left].argmax()]
        e = constraint_error(robot, q[state])
        gaps = {c.name: float(np.abs(e[robot.row_slice(c.name)]).max()) for c in robot.constraints if c.enabled}
        worst = max(gaps, key=gaps.__getitem__)
        at = self.in_q
        at_limit = (q[state, at] <= self.lower[at]) | (q[state, at] >= self.upper[at])
        support = next(loop.support for loop in loops_of(robot).loops if loop.constraint == worst)
        names = [name for name in support if at_limit[np.isin(self.in_v, _indices(robot.v_slice(name)))].any()]
        hint = f"; at their limits: {', '.join(names[:NAMED])}" if names else ""
        if gaps[worst] < NEARLY:
            hint += "; numbers in the model may be rounded: pass a tolerance above this gap to take it as closed"
        closed = np.ones(len(q), dtype=bool)
        closed[left] = False
        where, here = "", ""
        if lead:
            states = [", ".join(str(k) for k in np.unravel_index(k, lead)) for k in (state, *left[:NAMED])]
            several = "; ".join(states[1:]) + ("; ..." if len(left) > NAMED else "")
            where, here = f" in {len(left)} of {len(q)} states ({several})", f" in state ({states[0]})"
        alone: dict[str, float] = {}
        if attempts > 1 and len(gaps) > 1:
            wide = sorted((name for name in gaps if gaps[name] > tolerance), key=gaps.__getitem__, reverse=True)
            alone, says = _impossible(robot, wide, q[state], tolerance, fixed=self.fixed, limits=self.limits)
            hint += says
        hint += hold_hint(robot, next(iter(alone), worst))
        return AssemblyError(
            f"the loops of '{robot.name}' do not close{where}: after {attempts} attempts {robot.constraint(worst)} is "
            f"still {gaps[worst]:.3g} off{here} (asked: {tolerance:.1g}){hint}",
            constraint=worst,
            gap=gaps[worst],
            q=q.reshape(self.given.shape),
            closed=closed.reshape(lead),
            alone=alone,
        )


def _impossible(
    robot: Mechanism, names: Sequence[str], q: Floats, tolerance: float, **how: Any
) -> tuple[dict[str, float], str]:
    """Which of the constraints that stay open at ``q`` do so alone, by how much, and words about it."""

    def gap(kept: Collection[str], **how: Any) -> float:
        """What stays open with all but these constraints switched off."""
        some = robot.switched({c.name: c.enabled and c.name in kept for c in robot.constraints})
        try:
            return assemble(some, q, tolerance=tolerance, attempts=ALONE, max_iterations=100, **how).gap
        except AssemblyError as error:
            return error.gap or 0.0

    found = {name: gap([name], **how) for name in names[:EXAMINED]}
    found = {name: left for name, left in found.items() if left > tolerance}
    if found:
        said = []
        for name, left in list(found.items())[:NAMED]:
            beyond = how["limits"] and gap([name], **how | {"limits": False}) <= tolerance
            said.append(f"{robot.constraint(name)} ({left:.3g} off{', closes with limits=False' if beyond else ''})")
        more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
        return found, f"; even with all others open these do not close: {', '.join(said)}{more}"
    if len(names) > EXAMINED:
        return {}, ""
    enabled = {c.name for c in robot.constraints if c.enabled}
    for group in (enabled.intersection(group.constraints) for group in loops_of(robot).groups):
        if group < enabled and group.intersection(names) and gap(group, **how) > tolerance:
            said = [repr(c.name) for c in robot.constraints if c.name in group]
            return {}, f"; each closes alone, but not together: {', '.join(said)}"
    return {}, "; each closes alone, but not all together"


def hold_hint(robot: Mechanism, name: str) -> str:
    """What to say of a constraint that does not hold, if it looks as if it was meant to hold where the robot stands."""
    pair = robot.constraint(name)
    if not isinstance(pair, Pair) or not all(place == WORLD or place in robot.inertias for place in pair.places):
        return ""
    for at in (as_placement(pair.first_at), as_placement(pair.second_at)):
        if at.position.any() or not np.array_equal(at.rotation, np.eye(3)):
            return ""
    return f"; to hold '{pair.second}' where it is at q, say so: robot.constrained({type(pair).__name__}(...), at=q)"


def _plain_numbers(robot: Mechanism) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Where in q and in v the joints stand whose coordinates are plain numbers."""
    if (key := ("plain_numbers",)) not in robot.prepared:
        plain = [joint.name for joint in robot.joints if joint.type.group is lie.VECTOR]
        in_q = [k for name in plain for k in _indices(robot.q_slice(name))]
        in_v = [k for name in plain for k in _indices(robot.v_slice(name))]
        robot.prepared[key] = np.array(in_q, dtype=np.intp), np.array(in_v, dtype=np.intp)
    kept: tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]] = robot.prepared[key]
    return kept


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
