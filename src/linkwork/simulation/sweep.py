"""Sweeps: closed configurations over the values of some joints, by numerical continuation.

From one configuration to the next, a predictor goes on along the secant of the last two, and the corrector
(`closure.assemble`, with the swept joints held) closes the loops from there. Where loops have several branches, the
secant keeps to the one that it came on, also through the points where branches cross. Steps are halved where the
corrector fails, or finds something far from what was predicted: that would be another branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkwork.closure import assemble
from linkwork.dynamics import Array
from linkwork.errors import AssemblyError, InputError
from linkwork.inputs import above_zero, real_array
from linkwork.joints import Prismatic
from linkwork.mechanism import Mechanism
from linkwork.plans.loops import loops_of
from linkwork.simulation.run import Run

STRIDE = 0.1
"""The farthest that a swept joint moves in one step, in radians (and in tenths of a metre)."""
FIRST = 0.1
"""The first step, of which there is nothing to predict from, as a part of that."""
LEAST = 1e-6
"""The shortest step, as a part of that."""
ASTRAY = 0.5
"""The largest correction of a prediction, as a part of the motion in the step."""
BEND = 1e-2, 10.0
"""Where a joint comes to its limit, the others go on at other rates: what no prediction knows is no jump if the step is
shorter than this, as a part of a stride, and the motion at most so many times what was predicted."""


@dataclass(frozen=True, eq=False)
class Sweep(Run):
    """Closed configurations over the values of some joints, made by `Mechanism.sweep`.

    It is drawn, played and kept as a `Run`: of a robot at rest in each configuration, without torques and forces, whose
    `times` are those at which an animation shows them.
    """

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints that were swept."""
        return tuple(self.settings["sweep"])

    @property
    def values(self) -> Array:
        """Where they are, ``(k,)``, or ``(k, joints)`` of several."""
        found = np.stack([self.joint_position(name) for name in self.joints], axis=-1)
        return found[..., 0] if len(self.joints) == 1 else found

    def _abscissa(self) -> tuple[Array, str]:
        if len(self.joints) == 1:
            return self.values, f"{self.joints[0]} [{_unit(self._known(), self.joints[0])}]"
        return np.arange(len(self), dtype=np.float64), f"configuration ({', '.join(self.joints)} are swept)"

    def _made(self) -> str:
        return f"sweep of {', '.join(self.joints)}"

    def _moment(self, k: int) -> str:
        return ", ".join(f"{name} = {self.joint_position(name)[k]:.4g}" for name in self.joints)

    def __repr__(self) -> str:
        return f"<Sweep of '{self._name()}' over {', '.join(self.joints)}, {len(self)} configurations>"


def sweep(
    robot: Mechanism,
    joints: str | Sequence[str],
    values: npt.ArrayLike,
    q: npt.ArrayLike | None = None,
    *,
    seconds: float = 5.0,
    tolerance: float = 1e-12,
    limits: bool = True,
) -> Sweep:
    """Closed configurations for the values of one joint, ``(k,)``, or of several, ``(k, joints)``.

    The first is assembled from ``q`` (default: the assembled or neutral pose) with the joints at their first values,
    each other one continued from the one before: it keeps the branch of the loops that it is on, also through points
    where branches cross. Where loops cannot follow, at a dead center of the swept joints, an `AssemblyError` says at
    which value; its ``run`` has the configurations before.

    Args:
        robot: The mechanism.
        joints: A joint with one coordinate, or several that move together.
        values: Where they are to be, in radians or metres; their own limits do not count.
        q: A configuration near the first one, ``(nq,)``: it chooses among the ways to close the loops.
        seconds: How long the sweep takes when it is played.
        tolerance: Loops with errors below this are closed.
        limits: Whether the other joints stay within their limits.
    """
    names = (joints,) if isinstance(joints, str) else tuple(joints)
    if not names or len(set(names)) < len(names):
        raise InputError(f"joints are names, each once; found {joints!r}")
    places = np.array([robot.q_index(name) for name in names], dtype=np.intp)
    given = real_array(values, "values").astype(np.float64)
    wanted = given[:, None] if isinstance(joints, str) and given.ndim == 1 else given
    if wanted.ndim != 2 or wanted.shape[1] != len(names) or not len(wanted):
        needed = "(k,), one value or more" if isinstance(joints, str) else f"(k, {len(names)}): {', '.join(names)}"
        raise InputError(f"values have shape {given.shape}, need {needed}")
    if not np.isfinite(wanted).all():
        raise InputError(f"values are not finite in row {int(np.argwhere(~np.isfinite(wanted))[0, 0])}")
    begin = np.array(robot.poses.get("assembled", robot.neutral()) if q is None else robot.normalise(q))
    if begin.shape != (robot.nq,):
        raise InputError(f"q has shape {begin.shape}, needs one configuration of {robot.nq} numbers")
    begin[places] = wanted[0]
    times = np.linspace(0.0, above_zero(seconds, "seconds"), len(wanted))
    settings = {"sweep": list(names), "tolerance": tolerance, "passive": True}
    found: list[Array] = []

    def made() -> Sweep:
        count = len(found)
        at, still = np.array(found).reshape(count, robot.nq), np.zeros((count, robot.nv))
        return Sweep(robot, times[:count], at, still, still, np.zeros((count, robot.nc)), settings)

    try:
        first = assemble(robot, begin, names, tolerance=tolerance, limits=limits).q
        way = Continuation(robot, first, names, tolerance=tolerance, limits=limits)
        for target in wanted:
            found.append(way.lead(target))
    except AssemblyError as error:
        where = f"to {_numbers(wanted[len(found)])} (value {len(found) + 1} of {len(wanted)})"
        words = f"sweep of '{robot.name}' {where}: {error}"
        told = AssemblyError(words, constraint=error.constraint, gap=error.gap, q=error.q)
        told.run = made()  # type: ignore[attr-defined]
        raise told from None
    return made()


class Continuation:
    """A configuration with closed loops (the nearest to ``q``) that some joints lead along its branch."""

    def __init__(
        self, robot: Mechanism, q: Array, joints: Sequence[str], *, tolerance: float = 1e-12, limits: bool = True
    ) -> None:
        self.robot, self.joints = robot, tuple(joints)
        self.q = assemble(robot, q, joints, tolerance=tolerance, limits=limits, attempts=1).q
        """Where it is now."""
        self.tolerance, self.limits = tolerance, limits
        self._error: AssemblyError | None = None  # of the last step that failed since one did not
        self._at = np.array([robot.q_index(name) for name in joints], dtype=np.intp)
        prismatic = [isinstance(robot.joint(name).type, Prismatic) for name in joints]
        self._stride = np.where(prismatic, 0.1 * STRIDE, STRIDE)
        self._rate: Array | None = None  # motion of all joints in the last step, by the length of the step
        self._heading = np.zeros(len(joints))  # its direction, as that of the swept joints in strides

    def lead(self, target: npt.ArrayLike) -> Array:
        """Move the swept joints to ``target``, one value each, and `q` with them, as far as loops can follow.

        Raises an `AssemblyError` where they cannot; `q` is then the last closed configuration on the way.
        """
        begin, end = self.q[self._at], np.asarray(target, dtype=np.float64)
        way = (end - begin) / self._stride
        length = float(np.abs(way).max())
        done, step = 0.0, 1.0
        while done < length:
            step = min(step, FIRST if self._rate is None else 1.0)
            if step > 0.9 * (length - done):  # and no crumbs
                step = length - done
            to = length if step == length - done else done + step
            if self._stepped(end if to == length else begin + to / length * (end - begin), step, way / length):
                done, step = to, 2 * step
            else:
                step /= 2
                if step < LEAST:
                    raise self._stopped()
        return self.q

    def _stepped(self, values: Array, step: float, heading: Array) -> bool:
        """Whether a step has led to values of the swept joints, on the same branch."""
        guess = self.q
        if self._rate is not None:
            same = float(heading @ self._heading) / max(float(self._heading @ self._heading), 1e-300)
            guess = self.robot.integrate(self.q, step * np.clip(same, -1.0, 1.0) * self._rate)
        guess = guess.copy()
        guess[self._at] = values
        try:
            found = assemble(self.robot, guess, self.joints, tolerance=self.tolerance, limits=self.limits, attempts=1).q
        except AssemblyError as error:
            self._error = error
            return False
        moved = self.robot.difference(self.q, found)
        if step < LEAST:  # nothing is learned from it
            self.q = found
            return True
        if self._rate is not None:
            off, far, usual = (_most(x) for x in (self.robot.difference(guess, found), moved, step * self._rate))
            if off > ASTRAY * far and not (step <= BEND[0] and far <= BEND[1] * usual):
                return False
        self.q, self._rate, self._heading, self._error = found, moved / step, heading, None
        return True

    def _stopped(self) -> AssemblyError:
        """The error for where the sweep ends."""
        error, robot = self._error, self.robot
        why, hint = "it would jump to another branch of the loops", ""
        if error is not None and error.constraint is not None:
            why = f"{robot.constraint(error.constraint)} would open by {error.gap:.1e}"
            hint = ": it is a dead center of what is swept, or as far as the loops reach"
            support = next(loop.support for loop in loops_of(robot).loops if loop.constraint == error.constraint)
            at_limit = [name for name in support if name not in self.joints and _at_limit(robot, name, self.q)]
            if self.limits and at_limit:
                hint = f": at their limits are {', '.join(at_limit)} (limits=False lets them pass)"
        return AssemblyError(
            f"{', '.join(self.joints)} stops at {_numbers(self.q[self._at])}, where {why}{hint}",
            constraint=None if error is None else error.constraint,
            gap=None if error is None else error.gap,
            q=self.q,
        )


def _most(x: Array) -> float:
    return float(np.abs(x).max(initial=0.0))


def _at_limit(robot: Mechanism, joint: str, q: Array) -> bool:
    at = robot.q_slice(joint)
    if robot.joint(joint).type.nq != robot.joint(joint).type.nv:
        return False
    return bool(((q[at] <= robot.lower[at] + 1e-6) | (q[at] >= robot.upper[at] - 1e-6)).any())


def _numbers(values: Array) -> str:
    return ", ".join(f"{x:.6g}" for x in values)


def _unit(robot: Mechanism, joint: str) -> str:
    return "m" if isinstance(robot.joint(joint).type, Prismatic) else "rad"
