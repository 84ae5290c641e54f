# SPDX-License-Identifier: BSD-3-Clause
"""Closed configurations that some joints lead along a branch of the loops: predictor and corrector.

From one configuration to the next, a predictor goes on along the secant of the last two, and the corrector
(`assembly.assemble`, with the leading joints held) closes the loops from there. Where loops have several branches, the
secant keeps to the one that it came on, also through the points where branches cross. Steps are halved where the
corrector fails, or arrives far from the prediction: that would be another branch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from linkwork.closure.assembly import assemble
from linkwork.errors import AssemblyError
from linkwork.model.joints import Prismatic
from linkwork.model.model import Model
from linkwork.plans.loops import loops_of
from linkwork.quantities.arguments import Array

STRIDE = 0.1
"""The farthest that a swept joint moves in one step, in radians (and in tenths of a meter)."""


FIRST = 0.1
"""The first step, of which there is nothing to predict from, as a part of that."""


LEAST = 1e-6
"""The shortest step, as a part of that."""


ASTRAY = 0.5
"""The largest correction of a prediction, as a part of the motion in the step."""


BEND = 1e-2, 10.0
"""Where a joint reaches its limit, rates of the others change, which a prediction does not know. It is no jump if the
step is shorter than this, as a part of a stride, and the motion at most this many times the predicted one."""


class Continuation:
    """A configuration with closed loops (the nearest to ``q``) that some joints lead along its branch."""

    def __init__(
        self, robot: Model, q: Array, joints: Sequence[str], *, tolerance: float = 1e-12, limits: bool = True
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
            result = assemble(
                self.robot, guess, self.joints, tolerance=self.tolerance, limits=self.limits, attempts=1
            ).q
        except AssemblyError as error:
            self._error = error
            return False
        moved = self.robot.difference(self.q, result)
        if step < LEAST:  # nothing is learned from it
            self.q = result
            return True
        if self._rate is not None:
            off, far, usual = (_most(x) for x in (self.robot.difference(guess, result), moved, step * self._rate))
            if off > ASTRAY * far and not (step <= BEND[0] and far <= BEND[1] * usual):
                return False
        self.q, self._rate, self._heading, self._error = result, moved / step, heading, None
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
        stops = "stops" if len(self.joints) == 1 else "stop"
        return AssemblyError(
            f"{', '.join(self.joints)} {stops} at {numbers_of(self.q[self._at])}, where {why}{hint}",
            constraint=None if error is None else error.constraint,
            gap=None if error is None else error.gap,
            q=self.q,
        )


def _most(x: Array) -> float:
    return float(np.abs(x).max(initial=0.0))


def _at_limit(robot: Model, joint: str, q: Array) -> bool:
    at = robot.q_slice(joint)
    if robot.joint(joint).type.nq != robot.joint(joint).type.nv:
        return False
    return bool(((q[at] <= robot.lower[at] + 1e-6) | (q[at] >= robot.upper[at] - 1e-6)).any())


def numbers_of(values: Array) -> str:
    """Values in words."""
    return ", ".join(f"{x:.6g}" for x in values)
