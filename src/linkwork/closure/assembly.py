# SPDX-License-Identifier: BSD-3-Clause
"""Assembly: configurations in which the loops of a mechanism are closed.

This is the function behind `Mechanism.assemble`. It works on the rows of enabled constraints; the Gauss-Newton descent
is compiled (`kernels.assembly`).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.closure.tolerances import CLOSED, ROUNDED
from linkwork.errors import AssemblyError, ModelWarning
from linkwork.kernels.assembly import ASSEMBLY
from linkwork.model import lie
from linkwork.model.arrays import Floats
from linkwork.model.computed import computed_once
from linkwork.model.constraints import (
    WORLD,
    Pair,
)
from linkwork.model.model import Model
from linkwork.model.placement import as_placement
from linkwork.plans.assembly import assembly_tree
from linkwork.plans.loops import loops_of
from linkwork.quantities.base import ProgramEvaluator
from linkwork.quantities.functions import constraint_error
from linkwork.quantities.scales import joint_units, typical_row_units

Integers = npt.NDArray[np.int64]

FARTHER, NEAR = 10.0, 0.05
"""A configuration with closed loops is taken in place of one with rounded ones if it is no more times as far, and this
in rad and lengths of the robot."""

ENOUGH = 10
"""Attempts after which loops that come so near are taken to come no nearer."""

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
    robot: Model,
    q: npt.ArrayLike | None = None,
    fixed: Sequence[str] = (),
    *,
    tolerance: float | None = None,
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
        tolerance: Errors below it are closed loops, in rad or m: those of rows that turn or of rows that slide, which
            are measured by the larger of one and the robot's length, and of the others as much less. Unless it is
            given, 1e-13 of these; then, as numbers in files are rounded, loops that do not close but come near
            (`ROUNDED`) are taken as closed there, with a `ModelWarning`.
        max_iterations: Of each attempt.
        attempts: Where one gets stuck, the next starts from ``q`` moved at random, farther each time.
        seed: Of these random moves.
        limits: Whether to keep the limits of joints whose coordinates are plain numbers.

    Raises:
        AssemblyError: Where loops stay open after all attempts. It names the constraint that is farthest from closed
            and, unless there was to be one attempt only, says which loops cannot be closed even alone; in a batch it
            names the states, and the others are kept in it.
    """
    rounded = 0.0 if tolerance is not None else ROUNDED
    tolerance = closed_to(robot) if tolerance is None else tolerance
    problem = _Problem(robot, q, fixed, limits)
    enough = tolerance / largest_unit(robot)
    *lead, nq = problem.given.shape
    result = problem.given.reshape(math.prod(lead), nq).copy()
    start = problem.within(result)
    gap = problem.gap()
    iterations, tries = np.zeros((2, len(result)), dtype=np.int64)
    left = np.flatnonzero(~(gap <= enough))
    gap[left] = np.inf
    rng = np.random.default_rng(seed)
    for attempt in range(max(1, attempts)):
        if not left.size:
            break
        begin = problem.scattered(start[left], rng, min(1.0, 0.1 * attempt)) if attempt else start[left]
        ends, reached, used = problem.descend(begin, enough, max_iterations)
        iterations[left] += used
        tries[left] += 1
        # Where loops are open by rounding, they may be closed far away, at a dead center: the nearest is meant.
        near = problem.distance(start[left], ends) <= FARTHER * problem.distance(start[left], result[left]) + NEAR
        better = (reached < gap[left]) & ((gap[left] > rounded) | ((reached <= enough) & near))
        result[left[better]], gap[left[better]] = ends[better], reached[better]
        left = left[~(gap[left] <= enough)]
        if attempt + 1 >= min(attempts, ENOUGH):
            left = left[~(gap[left] <= rounded)]
    if left.size:
        raise problem.failure(result, gap, left, tolerance, attempts)
    open_by = problem.largest_error(result)
    if gap.max(initial=0.0) > enough:
        _warn_rounded(robot, float(open_by.max()))
    if not lead:
        return Assembly(result[0], float(open_by[0]), int(iterations[0]), int(tries[0]))
    return Assembly(result.reshape(*lead, nq), open_by.reshape(lead), iterations.reshape(lead), tries.reshape(lead))


def _warn_rounded(robot: Model, gap: float) -> None:
    """Once for a robot: it is not news any more."""
    if robot.computed.first_time("rounded loops"):
        warnings.warn(
            f"the loops of '{robot.name}' close to {gap:.2g} only (m, rad), as they do where numbers in a file are "
            "rounded: the nearest configuration is taken as closed. Pass a tolerance to ask for more",
            ModelWarning,
            stacklevel=4,
        )


def closed_to(robot: Model) -> float:
    """Errors below this are closed loops, in rad or m: `CLOSED` of the larger of what they are measured by."""
    return CLOSED * largest_unit(robot)


def largest_unit(robot: Model) -> float:
    """The largest of what errors of rows are measured by."""
    result = typical_row_units(robot)[which_enabled(robot) & which_holonomic(robot)]
    return float(result.max()) if result.size else 1.0


class _Problem:
    """The loops of a robot as equations in its free joints. Configurations are rows of arrays."""

    def __init__(self, robot: Model, q: npt.ArrayLike | None, fixed: Sequence[str], limits: bool) -> None:
        self.robot, self.fixed, self.limits = robot, fixed, limits
        self.given = robot.neutral() if q is None else robot.normalize(q)
        self.rows = which_enabled(robot) & which_holonomic(robot)
        self.free = np.ones(robot.nv, dtype=bool)
        for name in (fixed,) if isinstance(fixed, str) else fixed:
            self.free[robot.v_slice(name)] = False
        self.in_q, self.in_v = plain_numbers(robot)
        self.lower, self.upper = np.full(robot.nq, -FAR), np.full(robot.nq, FAR)
        if limits:
            at = self.in_q[self.free[self.in_v]]
            self.lower[at], self.upper[at] = np.clip([robot.lower[at], robot.upper[at]], -FAR, FAR)

    def gap(self) -> Floats:
        """The largest error of a row that counts, without units, of each state as it was given."""
        e = self._error(self.given) / typical_row_units(self.robot)[self.rows]
        result: Floats = np.abs(e).max(axis=-1, initial=0.0).reshape(-1)
        return result

    def largest_error(self, q: Floats) -> Floats:
        """The same in rad or m, of these configurations."""
        result: Floats = np.abs(self._error(q)).max(axis=-1, initial=0.0)
        return result

    def distance(self, q: Floats, p: Floats) -> Floats:
        """How far each ``p`` is from ``q``, in rad and lengths of the robot."""
        result: Floats = np.abs(self.robot.difference(q, p) / joint_units(self.robot)).max(axis=-1, initial=0.0)
        return result

    def within(self, q: Floats) -> Floats:
        """The configurations with their coordinates between the limits."""
        return np.clip(q, self.lower, self.upper)

    def descend(self, q: Floats, tolerance: float, max_iterations: int) -> tuple[Floats, Floats, Integers]:
        """Gauss-Newton from each ``q``: where it ends, the largest error there, without units, and the iterations.

        In compiled code, where damping keeps loops that are nearly closed from following singular values of the size
        of rounding.
        """
        descent = _descent_of(self.robot)
        rows, mobile = self.rows / typical_row_units(self.robot), self.free * joint_units(self.robot)
        how = np.array([tolerance, max_iterations], dtype=np.float64)
        some = descent(q if len(q) > 1 else q[0], rows, mobile, self.lower, self.upper, how)
        closed, progress = (x.reshape(len(q), -1) for x in some)
        gap, iterations = progress[:, 2], progress[:, 1].astype(np.int64)
        return closed, gap, iterations

    def _error(self, q: Floats) -> Floats:
        result: Floats = constraint_error(self.robot, q)[..., self.rows]
        return result

    def scattered(self, start: Floats, rng: np.random.Generator, part: float) -> Floats:
        """Starts a part of the distance from the given ones toward a random configuration."""
        toward = self.robot.difference(start, self.robot.random(rng))
        toward[:, ~self.free] = 0.0
        return self.within(self.robot.integrate(start, part * toward))

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
        if gaps[worst] < ROUNDED:
            hint += "; numbers in the model may be rounded: without a tolerance, such loops are taken as closed"
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
            f"still {gaps[worst]:.3g} off{here} (tolerance: {tolerance:.1g}){hint}",
            constraint=worst,
            gap=gaps[worst],
            q=q.reshape(self.given.shape),
            closed=closed.reshape(lead),
            alone=alone,
        )


def _impossible(
    robot: Model, names: Sequence[str], q: Floats, tolerance: float, **how: Any
) -> tuple[dict[str, float], str]:
    """Which of the constraints that stay open at ``q`` do so alone, by how much, and words about it."""

    def gap(kept: Collection[str], **how: Any) -> float:
        """What stays open with all but these constraints switched off."""
        some = robot.switched({c.name: c.enabled and c.name in kept for c in robot.constraints})
        try:
            return float(assemble(some, q, tolerance=tolerance, attempts=ALONE, max_iterations=100, **how).gap)
        except AssemblyError as error:
            return error.gap or 0.0

    result = {name: gap([name], **how) for name in names[:EXAMINED]}
    result = {name: left for name, left in result.items() if left > tolerance}
    if result:
        said = []
        for name, left in list(result.items())[:NAMED]:
            beyond = how["limits"] and gap([name], **how | {"limits": False}) <= tolerance
            said.append(f"{robot.constraint(name)} ({left:.3g} off{', closes with limits=False' if beyond else ''})")
        more = f" and {len(result) - NAMED} more" if len(result) > NAMED else ""
        return result, f"; even with all others open these do not close: {', '.join(said)}{more}"
    if len(names) > EXAMINED:
        return {}, ""
    enabled = {c.name for c in robot.constraints if c.enabled}
    for group in (enabled.intersection(group.constraints) for group in loops_of(robot).groups):
        if group < enabled and group.intersection(names) and gap(group, **how) > tolerance:
            said = [repr(c.name) for c in robot.constraints if c.name in group]
            return {}, f"; each closes alone, but not together: {', '.join(said)}"
    return {}, "; each closes alone, but not all together"


def hold_hint(robot: Model, name: str) -> str:
    """What to say of a constraint that does not hold, if it looks as if it was meant to hold where the robot stands."""
    pair = robot.constraint(name)
    if not isinstance(pair, Pair) or not all(place == WORLD or place in robot.inertias for place in pair.places):
        return ""
    for at in (as_placement(pair.first_at), as_placement(pair.second_at)):
        if at.position.any() or not np.array_equal(at.rotation, np.eye(3)):
            return ""
    return f"; to hold '{pair.second}' where it is at q, say so: robot.constrained({type(pair).__name__}(...), at=q)"


@computed_once
def _descent_of(robot: Model) -> ProgramEvaluator:
    """Gauss-Newton from given configurations."""
    return ProgramEvaluator(robot, "assembly", ASSEMBLY, lambda robot, frames: assembly_tree(robot))


@computed_once
def plain_numbers(robot: Model) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Where in q and in v the joints stand whose coordinates are plain numbers."""
    plain = [joint.name for joint in robot.joints if joint.type.group is lie.VECTOR]
    in_q = [k for name in plain for k in _indices(robot.q_slice(name))]
    in_v = [k for name in plain for k in _indices(robot.v_slice(name))]
    return np.array(in_q, dtype=np.intp), np.array(in_v, dtype=np.intp)


def _indices(at: slice) -> list[int]:
    return list(range(at.start, at.stop))


def which_enabled(robot: Model) -> npt.NDArray[np.bool_]:
    """Of each row, whether its constraint is enabled."""
    return np.array([c.enabled for c in robot.constraints for _ in range(c.rows)], dtype=bool)


def which_holonomic(robot: Model) -> npt.NDArray[np.bool_]:
    """Of each row, whether it binds positions."""
    return np.array([x for c in robot.constraints for x in c.holonomic], dtype=bool)
