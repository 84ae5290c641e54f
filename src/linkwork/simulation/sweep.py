# SPDX-License-Identifier: BSD-3-Clause
"""Sweeps: closed configurations over the values of some joints, by numerical continuation.

From one configuration to the next, a predictor goes on along the secant of the last two, and the corrector
(`closure.assemble`, with the swept joints held) closes the loops from there. Where loops have several branches, the
secant keeps to the one that it came on, also through the points where branches cross. Steps are halved where the
corrector fails, or arrives far from the prediction: that would be another branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from linkwork.closure.assembly import assemble
from linkwork.closure.continuation import Continuation, numbers_of
from linkwork.closure.evaluators import project_velocity
from linkwork.closure.thresholds import CLOSED_BY_SWEEP
from linkwork.errors import AssemblyError, InputError
from linkwork.inputs import above_zero, plural, real_array
from linkwork.model.constraints import Drive
from linkwork.model.joints import Prismatic
from linkwork.model.model import Model
from linkwork.model.poses import default_configuration
from linkwork.quantities.arguments import Array
from linkwork.quantities.motions import without_motions
from linkwork.simulation.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class Sweep(Trajectory):
    """Closed configurations over the values of some joints, made by `Mechanism.sweep`.

    It is drawn, played and kept as a `Trajectory`: of a robot at rest in each configuration, without torques and
    forces, whose `times` are those at which an animation shows them.
    """

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints that were swept."""
        return tuple(self.settings["sweep"])

    @property
    def values(self) -> Array:
        """Where they are, ``(k,)``, or ``(k, joints)`` of several."""
        values = np.stack([self.joint_position(name) for name in self.joints], axis=-1)
        return values[..., 0] if len(self.joints) == 1 else values

    def _abscissa(self) -> tuple[Array, str]:
        if len(self.joints) == 1:
            return self.values, f"{self.joints[0]} [{_unit(self._known(), self.joints[0])}]"
        return np.arange(len(self), dtype=np.float64), f"configuration ({', '.join(self.joints)} are swept)"

    def _made(self) -> str:
        return f"sweep of {', '.join(self.joints)}"

    def _moment(self, k: int) -> str:
        return ", ".join(f"{name} = {self.joint_position(name)[k]:.4g}" for name in self.joints)

    def __repr__(self) -> str:
        return f"<Sweep of '{self._name()}' over {', '.join(self.joints)}, {plural(len(self), 'configuration')}>"


def sweep(
    robot: Model,
    joints: str | Sequence[str],
    values: npt.ArrayLike,
    q: npt.ArrayLike | None = None,
    *,
    seconds: float = 5.0,
    tolerance: float = CLOSED_BY_SWEEP,
    limits: bool = True,
) -> Sweep:
    """Closed configurations for the values of one joint, ``(k,)``, or of several, ``(k, joints)``.

    The first is assembled from ``q`` (default: the assembled or neutral pose) with the joints at their first values,
    each other one continued from the one before: it keeps the branch of the loops that it is on, also through points
    where branches cross. Where loops cannot follow, at a dead center of the swept joints, an `AssemblyError` says at
    which value; its ``trajectory`` has the configurations before.

    Over ``"time"``, the joints that drives lead (`Drive`) are swept to where they are at each time, and velocities are
    those of the motion.

    Args:
        robot: The mechanism.
        joints: A joint with one coordinate, or several that move together; or ``"time"``.
        values: Where they are to be, in radians or meters; their own limits do not count. Or seconds, ``(k,)``.
        q: A configuration near the first one, ``(nq,)``: it selects the assembly mode.
        seconds: Duration of playback.
        tolerance: Loops with errors below this are closed.
        limits: Whether the other joints stay within their limits.
    """
    if joints == "time" and "time" not in robot.joint_names:
        return _over_time(robot, values, q, tolerance, limits)
    names = (joints,) if isinstance(joints, str) else tuple(joints)
    if not names or len(set(names)) < len(names):
        raise InputError(f"joints are names, each once; found {joints!r}")
    places = np.array([robot.q_index(name) for name in names], dtype=np.intp)
    positions = real_array(values, "values").astype(np.float64)
    wanted = positions[:, None] if isinstance(joints, str) and positions.ndim == 1 else positions
    if wanted.ndim != 2 or wanted.shape[1] != len(names) or not len(wanted):
        needed = "(k,), one value or more" if isinstance(joints, str) else f"(k, {len(names)}): {', '.join(names)}"
        raise InputError(f"values have shape {positions.shape}, need {needed}")
    if not np.isfinite(wanted).all():
        raise InputError(f"values are not finite in row {int(np.argwhere(~np.isfinite(wanted))[0, 0])}")
    begin = np.array(default_configuration(robot) if q is None else robot.normalize(q))
    if begin.shape != (robot.nq,):
        raise InputError(f"q has shape {begin.shape}, needs one configuration of {robot.nq} numbers")
    begin[places] = wanted[0]
    times = np.linspace(0.0, above_zero(seconds, "seconds"), len(wanted))
    settings = {"sweep": list(names), "tolerance": tolerance, "passive": True}
    poses: list[Array] = []

    def made() -> Sweep:
        count = len(poses)
        at, still = np.array(poses).reshape(count, robot.nq), np.zeros((count, robot.nv))
        return Sweep(robot, times[:count], at, still, still, np.zeros((count, robot.nc)), settings)

    try:
        first = assemble(robot, begin, names, tolerance=tolerance, limits=limits).q
        way = Continuation(robot, first, names, tolerance=tolerance, limits=limits)
        for target in wanted:
            poses.append(way.lead(target))
    except AssemblyError as error:
        where = f"to {numbers_of(wanted[len(poses)])} (value {len(poses) + 1} of {len(wanted)})"
        words = f"sweep of '{robot.name}' {where}: {error}"
        told = AssemblyError(words, constraint=error.constraint, gap=error.gap, q=error.q)
        told.trajectory = made()
        raise told from None
    return made()


def _over_time(robot: Model, values: npt.ArrayLike, q: npt.ArrayLike | None, tolerance: float, limits: bool) -> Sweep:
    """A sweep of the joints that drives lead, over time."""
    drives = [c for c in robot.constraints if isinstance(c, Drive) and c.enabled]
    times = real_array(values, "values").astype(np.float64)
    if not drives:
        raise InputError(
            f"no constraint of '{robot.name}' drives a joint: sweep joints, or add lw.Drive(joint, motion)"
        )
    if times.ndim != 1 or not len(times):
        raise InputError(f"values have shape {times.shape}, need (k,): seconds")
    led = np.concatenate([drive.at(times)[0] for drive in drives], axis=-1)
    swept = sweep(without_motions(robot), [d.joint for d in drives], led, q, tolerance=tolerance, limits=limits)
    rest = np.zeros(robot.nv)
    v = [project_velocity(replace(robot, time=float(t)), at, rest) for t, at in zip(times, swept.q, strict=True)]
    zero, settings = np.zeros((len(times), robot.nc)), {**swept.settings, "passive": True}
    return replace(swept, robot=robot, times=times, v=np.array(v), multipliers=zero, settings=settings)


def _unit(robot: Model, joint: str) -> str:
    return "m" if isinstance(robot.joint(joint).type, Prismatic) else "rad"
