# SPDX-License-Identifier: BSD-3-Clause
"""The loops of a robot as equations in its free joints, and the search for configurations that satisfy them.

Rows are those of enabled constraints; the Gauss-Newton descent is compiled (`kernels.constrained.assembly`).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from linkwork.closure.thresholds import CLOSED, OPEN, ROUNDED
from linkwork.errors import AssemblyError, ModelWarning
from linkwork.inputs import above_zero, count, random_generator
from linkwork.kernels.constrained.assembly import ASSEMBLY
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
from linkwork.quantities.evaluator import ProgramEvaluator
from linkwork.quantities.functions import constraint_error
from linkwork.quantities.scales import joint_units, typical_row_units

Integers = npt.NDArray[np.int64]

FARTHER, NEAR = 10.0, 0.05
"""A configuration with closed loops is taken in place of one with rounded ones if it is no more times as far, and this
in rad and lengths of the robot."""

ENOUGH = 10
"""Attempts after which loops that come so near are taken to come no nearer."""

GAP = 2
"""Place of the largest error among the numbers that say how a descent went."""

FAR = float(np.finfo(np.float64).max)
"""The limit of a coordinate that has none."""

NAMED = 5
"""Joints at their limits, and states of a batch, that a message names."""

ALONE = 5
"""Attempts to close one loop alone, to say which it is that cannot be closed."""

EXAMINED = 24
"""Number of loops are tried alone, the widest open first."""


# Assembling ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AssemblySolution:
    """Result of an assembly: numbers of one state, or arrays of a batch's leading axes."""

    q: Floats
    """``(..., nq)``"""
    gap: float | Floats
    """The largest error of a row that is left."""
    iterations: int | Integers
    """Over all attempts."""
    attempts: int | Integers


class Search(NamedTuple):
    """When a search for closed loops ends; see `assemble`."""

    tolerance: float | None
    max_iterations: int
    attempts: int
    seed: int

    def checked(self) -> Search:
        """A copy with checked numbers; an `InputError` names those out of range."""
        tolerance = None if self.tolerance is None else above_zero(self.tolerance, "tolerance")
        most = (
            0
            if type(self.max_iterations) is int and self.max_iterations == 0
            else count(self.max_iterations, "max_iterations")
        )
        return Search(tolerance, most, count(self.attempts, "attempts"), self.seed)


def _warn_rounded(robot: Model, gap: float) -> None:
    """Once for a robot: it is not news any more."""
    if robot.computed.first_time("rounded loops"):
        warnings.warn(
            f"the loops of '{robot.name}' close only to {gap:.2g} (m, rad), as with rounded numbers in a file: "
            "the nearest configuration is taken as closed. Pass a tolerance to make this an error",
            ModelWarning,
            stacklevel=5,
        )


def closed_to(robot: Model) -> float:
    """Loops with errors below this, in rad or m, are closed: `CLOSED` of the largest unit of their rows."""
    return CLOSED * largest_unit(robot)


def largest_unit(robot: Model) -> float:
    """The largest unit of errors of rows."""
    result = typical_row_units(robot)[which_enabled(robot) & which_holonomic(robot)]
    return float(result.max()) if result.size else 1.0


class Problem:
    """The loops of a robot as equations in its free joints. Configurations are rows of arrays.

    Args:
        robot: The mechanism.
        fixed: Names of joints that stay where they are.
        limits: Whether to keep the limits of joints whose coordinates are plain numbers.
        rounding_of: By how much loops of a robot stay open because its numbers are rounded, without units. It is called
            where a further attempt might be in vain; by default none is.
    """

    def __init__(
        self, robot: Model, fixed: tuple[str, ...], limits: bool, rounding_of: Callable[[Model], float] | None = None
    ) -> None:
        self.robot, self.limits = robot, limits
        self._rounding_of = rounding_of
        self.fixed = fixed
        self.rows = which_enabled(robot) & which_holonomic(robot)
        self.free = np.ones(robot.nv, dtype=bool)
        for name in self.fixed:
            self.free[robot.v_slice(name)] = False
        self.in_q, self.in_v = plain_numbers(robot)
        self.lower, self.upper = np.full(robot.nq, -FAR), np.full(robot.nq, FAR)
        if limits:
            at = self.in_q[self.free[self.in_v]]
            self.lower[at], self.upper[at] = np.clip([robot.lower[at], robot.upper[at]], -FAR, FAR)
        rows, mobile = self.rows / typical_row_units(robot), self.free * joint_units(robot)
        self.arrays = (rows, mobile, self.lower, self.upper)
        """Inputs of a descent beside configurations and settings."""
        self.rounding = 0.0
        """Errors up to this, without units, are known to be those of rounded numbers: found by the first search."""
        self._settings: dict[tuple[float | None, int], Floats] = {}

    def settings(self, search: Search) -> Floats:
        """The largest error of closed loops, without units, and the most iterations, as a descent reads them."""
        tolerance = closed_to(self.robot) if search.tolerance is None else search.tolerance
        return np.array([tolerance / largest_unit(self.robot), search.max_iterations], dtype=np.float64)

    def enough(self, search: Search, settings: Floats) -> float:
        """Errors up to this after one descent need no further attempts."""
        closed = float(settings[0])
        return max(closed, self.rounding) if search.tolerance is None else closed

    def closed(self, q: npt.ArrayLike, search: Search) -> Floats:
        """`solve` for configurations alone: in machine code where the first attempt from one state suffices."""
        if search.tolerance is not None or type(search.max_iterations) is not int:
            search = search.checked()
        settings = self._settings.get(search[:2])
        if settings is None:
            settings = self._settings[search[:2]] = self.settings(search.checked())
        results = descent_of(self.robot).execution.results(q, *self.arrays, settings)
        if results is not None and results[1][GAP] <= self.enough(search, settings):
            result: Floats = results[0]
            return result
        return self.solve(q, search).q

    def solve(self, q: npt.ArrayLike, search: Search) -> AssemblySolution:
        """Closed configurations, by as many attempts as it takes."""
        search = search.checked()
        robot, attempts = self.robot, search.attempts
        enough = float(self.settings(search)[0])
        rounded = 0.0 if search.tolerance is not None else ROUNDED
        poses = robot.normalize(q)
        *lead, nq = poses.shape
        poses = poses.reshape(math.prod(lead), nq)
        start = self.within(poses)
        raw = np.asarray(q, dtype=np.float64).reshape(poses.shape)  # the descent normalizes by itself
        result, gap, iterations = self.descend(raw, enough, search.max_iterations)
        tries = ((iterations > 0) | ~(gap <= enough)).astype(np.int64)
        left = self._open(np.flatnonzero(~(gap <= enough)), gap, rounded, attempts, 1)
        rng = random_generator(search.seed)
        for attempt in range(1, attempts):
            if not left.size:
                break
            begin = self.scattered(start[left], rng, min(1.0, 0.1 * attempt))
            ends, reached, used = self.descend(begin, enough, search.max_iterations)
            iterations[left] += used
            tries[left] += 1
            # Where loops are open by rounding, they may be closed far away, at a dead center: the nearest is meant.
            near = self.distance(start[left], ends) <= FARTHER * self.distance(start[left], result[left]) + NEAR
            better = (reached < gap[left]) & ((gap[left] > rounded) | ((reached <= enough) & near))
            result[left[better]], gap[left[better]] = ends[better], reached[better]
            left = self._open(left[~(gap[left] <= enough)], gap, rounded, attempts, attempt + 1)
        if left.size:
            tolerance = enough * largest_unit(robot)
            raise self.failure(result, tuple(lead), gap, left, tolerance, attempts)
        open_by = self.largest_error(result)
        if gap.max(initial=0.0) > enough:
            _warn_rounded(robot, float(open_by.max()))
        if not lead:
            return AssemblySolution(result[0], float(open_by[0]), int(iterations[0]), int(tries[0]))
        return AssemblySolution(
            result.reshape(*lead, nq), open_by.reshape(lead), iterations.reshape(lead), tries.reshape(lead)
        )

    def _open(
        self, left: npt.NDArray[np.intp], gap: Floats, rounded: float, attempts: int, done: int
    ) -> npt.NDArray[np.intp]:
        """Which of the states that are ``left`` are to be tried again: loops that are open by rounding are not, after
        `ENOUGH` attempts, or after one if loops of this robot close nowhere."""
        if not rounded or not left.size or not (gap[left] <= rounded).any():
            return left
        if done < min(attempts, ENOUGH) and self._rounding_of is not None:
            rounded = self.rounding = min(rounded, OPEN * self._rounding_of(self.robot))
        return left[~(gap[left] <= rounded)]

    def largest_error(self, q: Floats) -> Floats:
        """The largest error of a row that counts, in rad or m, of these configurations."""
        result: Floats = np.abs(self._error(q)).max(axis=-1, initial=0.0)
        return result

    def distance(self, q: Floats, p: Floats) -> Floats:
        """The distance of each ``p`` from ``q``, in rad and lengths of the robot."""
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
        settings = np.array([tolerance, max_iterations], dtype=np.float64)
        ends = descent_of(self.robot)(q if len(q) != 1 else q[0], *self.arrays, settings)
        closed, progress = (x.reshape(len(q), x.shape[-1]) for x in ends)
        return closed, progress[:, GAP].copy(), progress[:, 1].astype(np.int64)

    def _error(self, q: Floats) -> Floats:
        result: Floats = constraint_error(self.robot, q)[..., self.rows]
        return result

    def scattered(self, start: Floats, rng: np.random.Generator, part: float) -> Floats:
        """Starts a part of the distance from the given ones toward a random configuration."""
        toward = self.robot.difference(start, self.robot.random(rng))
        toward[:, ~self.free] = 0.0
        return self.within(self.robot.integrate(start, part * toward))

    def failure(
        self,
        q: Floats,
        lead: tuple[int, ...],
        gap: Floats,
        left: npt.NDArray[np.intp],
        tolerance: float,
        attempts: int,
    ) -> AssemblyError:
        """The error for states that are ``left`` open."""
        robot = self.robot
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
            q=q.reshape(*lead, robot.nq),
            closed=closed.reshape(lead),
            alone=alone,
        )


def _impossible(
    robot: Model, names: Sequence[str], q: Floats, tolerance: float, **how: Any
) -> tuple[dict[str, float], str]:
    """Which of the constraints that stay open at ``q`` do so alone, by how much, and words about it."""

    search = Search(tolerance, max_iterations=100, attempts=ALONE, seed=0)

    def gap(kept: Collection[str], **how: Any) -> float:
        """The remaining gap with all but these constraints disabled."""
        some = robot.switched({c.name: c.enabled and c.name in kept for c in robot.constraints})
        try:
            return float(Problem(some, **how).solve(q, search).gap)
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
    """Advice for a constraint that does not hold, if it seems meant to hold where the robot stands."""
    pair = robot.constraint(name)
    if not isinstance(pair, Pair) or not all(place == WORLD or place in robot.inertias for place in pair.places):
        return ""
    for at in (as_placement(pair.first_at), as_placement(pair.second_at)):
        if at.position.any() or not np.array_equal(at.rotation, np.eye(3)):
            return ""
    return f"; to hold '{pair.second}' where it is at q, say so: robot.constrained({type(pair).__name__}(...), at=q)"


@computed_once
def descent_of(robot: Model) -> ProgramEvaluator:
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
