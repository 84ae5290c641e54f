# SPDX-License-Identifier: BSD-3-Clause
"""Inverse kinematics: configurations with closed loops, within limits, that bring frames to their targets.

This is the function behind `Mechanism.inverse_kinematics`. Whole descents are compiled
(`kernels.constrained.inverse_kinematics`); what is here decides where to start, when to start again, and says how it
went.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkwork.closure.assembly_problem import FAR, NAMED, plain_numbers, which_enabled, which_holonomic
from linkwork.closure.loop_rounding import loop_rounding
from linkwork.closure.tasks import CenterOfMassTask, FrameTask, PostureTask, Task
from linkwork.closure.thresholds import CLOSED_BY_PROJECTION, OPEN, ROUNDED, STILL
from linkwork.errors import InputError
from linkwork.inputs import above_zero, count, not_negative, random_generator
from linkwork.kernels.constrained.inverse_kinematics import INVERSE_KINEMATICS
from linkwork.model.arrays import Floats
from linkwork.model.computed import computed_once
from linkwork.model.model import Model
from linkwork.model.poses import default_configuration
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.inverse_kinematics import ORIENTATION, task_tree
from linkwork.plans.tree import Tree
from linkwork.quantities.evaluator import ProgramEvaluator
from linkwork.quantities.scales import joint_units, scales_of, typical_row_units

Integers = npt.NDArray[np.int64]

SCATTER = 0.25
"""The first start after the given one is this part of the way to a random configuration, the next one twice, ..."""
WEIGHTLESS = 0.1
"""Joints that a posture does not count for move as easily as one of this weight, as a part of the largest."""


@dataclass(frozen=True)
class InverseKinematicsSolution:
    """Result of inverse kinematics: of one state, or arrays with a batch's leading axes."""

    q: Floats
    """``(..., nq)``: within limits, and as near to the targets as was found."""
    converged: bool | npt.NDArray[np.bool_]
    """Whether loops are closed and all targets are met."""
    errors: dict[str, Floats]
    """Of each task, by its frame's name or ``"center_of_mass"``: ``(..., 6)``, ``2 sin(angle / 2)`` about axes of the
    frame, then m along those of the world; ``(..., 3)`` where only one of orientation and position has a target."""
    gap: float | Floats
    """By how much loops are open, in rad or m."""
    iterations: int | Integers
    """Over all attempts."""
    attempts: int | Integers
    """Number of starts."""
    message: str
    """Explanation: which targets are out of reach, by how much, and which joints are at their limits."""


def inverse_kinematics(
    robot: Model,
    *tasks: Task,
    q: npt.ArrayLike | None = None,
    fixed: Sequence[str] = (),
    limits: bool = True,
    tolerance: float = 1e-9,
    max_iterations: int = 100,
    attempts: int = 20,
    seed: int = 0,
) -> InverseKinematicsSolution:
    """Configurations at which frames, or the center of mass, are at their targets, with loops closed.

    Loops and limits hold; errors of targets, by their weights, are made as small as they allow: zero where all targets
    can be met. Of what meets them, a posture decides. Sequential quadratic programming (Gauss-Newton with
    Levenberg-Marquardt damping) on the joints' manifolds, in compiled code. Leading axes of ``q`` and of targets
    broadcast: each state is solved as it would be alone, up to rounding.

    Args:
        robot: The mechanism.
        tasks: Where frames and the center of mass are to be (`FrameTask`, `CenterOfMassTask`), and at most one
            `PostureTask`.
        q: Where to start, ``(..., nq)``; loops need not be closed. By default the posture, the pose ``"assembled"`` or
            neutral.
        fixed: Names of joints that stay where they are.
        limits: Whether to keep the limits of joints whose coordinates are plain numbers.
        tolerance: A target is met where each error is below it, in rad and lengths of the robot.
        max_iterations: Of each attempt.
        attempts: Where one gets stuck, the next starts nearer to a configuration that is random within the limits.
        seed: Of these.
    """
    problem = _Problem(robot, tasks, fixed, limits, above_zero(tolerance, "tolerance"))
    start, targets, posture = problem.arrays(q)
    lead = start.shape[:-1]
    states = int(np.prod(lead, dtype=np.int64))
    start, targets, posture = (x.reshape(states, *x.shape[len(lead) :]) for x in (start, targets, posture))
    best, errors, iterations = problem.descend(start, targets, posture, count(max_iterations, "max_iterations"))
    quality = problem.quality(errors)
    tries = np.ones(len(best), dtype=np.int64)
    rng = random_generator(seed)
    for attempt in range(1, count(attempts, "attempts")):
        left = np.flatnonzero(quality > 1.0)
        if not left.size:
            break
        begin = problem.scattered(start[left], rng, min(1.0, SCATTER * attempt))
        ends, further, used = problem.descend(begin, targets[left], posture[left], max_iterations)
        iterations[left] += used
        tries[left] += 1
        reached = problem.quality(further)
        better = reached < quality[left]
        best[left[better]], errors[left[better]] = ends[better], further[better]
        quality[left[better]] = reached[better]
    if problem.posture is not None:
        settled = np.flatnonzero(quality <= 1.0)
        best[settled], errors[settled], used = problem.settle(
            best[settled], targets[settled], posture[settled], max_iterations
        )
        iterations[settled] += used
    return problem.solution(lead, best, errors, iterations, tries)


class _Problem:
    """Loops and tasks of a robot as rows, and how they are measured. Configurations are rows of arrays."""

    def __init__(
        self, robot: Model, tasks: Sequence[Task], fixed: Sequence[str], limits: bool, tolerance: float
    ) -> None:
        self.robot = robot
        postures = [task for task in tasks if isinstance(task, PostureTask)]
        self.tasks = [task for task in tasks if isinstance(task, FrameTask | CenterOfMassTask)]
        if len(postures) + len(self.tasks) != len(tasks) or len(postures) > 1 or not tasks:
            raise InputError(
                "inverse kinematics needs at least one FrameTask or CenterOfMassTask, and at most one PostureTask; "
                f"found {', '.join(type(task).__name__ for task in tasks) or 'none'}"
            )
        names = [task.name for task in self.tasks]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"two tasks on '{twice}': give its position and orientation in one")
        self.posture = postures[0] if postures else None
        self.free = np.ones(robot.nv, dtype=bool)
        for name in (fixed,) if isinstance(fixed, str) else fixed:
            self.free[robot.v_slice(name)] = False
        self._set_limits(limits)
        self._set_rows(tolerance)
        self._set_posture()

    def _set_limits(self, limits: bool) -> None:
        robot = self.robot
        in_q, in_v = plain_numbers(robot)
        self.lower, self.upper = np.full(robot.nq, -FAR), np.full(robot.nq, FAR)
        if limits:
            at = in_q[self.free[in_v]]
            self.lower[at], self.upper[at] = np.clip([robot.lower[at], robot.upper[at]], -FAR, FAR)

    def _set_rows(self, tolerance: float) -> None:
        """Scale and tolerance of each row: of loops, then of targets."""
        robot, length = self.robot, scales_of(self.robot).length
        units = typical_row_units(robot)
        loops = which_enabled(robot) & which_holonomic(robot)
        closed = max(CLOSED_BY_PROJECTION, min(ROUNDED, OPEN * loop_rounding(robot)) if loops.any() else 0.0)
        targets = [target for task in self.tasks for target in task.targets]
        units = np.concatenate([units, *([[1.0 if t.kind == ORIENTATION else length] * 3 for t in targets])])
        weights = np.concatenate([loops.astype(np.float64), *[target.weight for target in targets]])
        largest = weights[robot.nc :].max(initial=0.0)
        if self.tasks and not largest:
            raise InputError("all weights of targets are 0: at least one must be > 0")
        weights[robot.nc :] /= largest or 1.0
        self.row_scale = weights / units
        self.units = units
        self.tolerance = np.where(weights > 0, weights * tolerance, 1.0)
        self.tolerance[: robot.nc] = closed
        self.soft = np.arange(len(weights)) >= robot.nc
        kinds = [target.kind for target in targets]
        frames = tuple(task.frame for task in self.tasks if isinstance(task, FrameTask))
        numbers = [k for k, task in enumerate(self.tasks) for _ in task.targets]
        places = {k: at for at, k in enumerate(k for k, task in enumerate(self.tasks) if isinstance(task, FrameTask))}
        rows = tuple((kind, places.get(k, -1)) for kind, k in zip(kinds, numbers, strict=True))
        if any(not isinstance(task, FrameTask) for task in self.tasks) and robot.mass == 0:
            raise InputError(f"robot '{robot.name}' has no mass, and so no center of mass")
        self.descent = _descent_of(robot, frames, rows)

    def _set_posture(self) -> None:
        """Which coordinates a posture counts for, and how easily each moves."""
        robot, units = self.robot, joint_units(self.robot)
        self.mobile = self.free * units
        self.pull, self.yielding = np.zeros(robot.nv), self.mobile
        if self.posture is None:
            return
        weights = self.posture.weight
        weight = np.zeros(robot.nv)
        if isinstance(weights, Mapping):
            for name, value in weights.items():
                weight[robot.v_slice(name)] = not_negative(value, f"weight of '{name}'")
        else:
            all_joints = not_negative(weights, "weight")
            if all_joints.shape not in ((), (robot.nv,)):
                raise InputError(
                    f"weight has shape {all_joints.shape}, needs one number, or some by joint: {{'knee': 1}}"
                )
            weight[:] = all_joints
        if not weight.any():
            raise InputError("all weights of the posture are 0: give one of them a weight, or leave the task out")
        weight = weight / weight.max()
        self.pull = (self.free & (weight > 0)).astype(np.float64)
        self.yielding = self.mobile / np.sqrt(np.where(weight > 0, weight, WEIGHTLESS))

    def arrays(self, q: npt.ArrayLike | None) -> tuple[Floats, Floats, Floats]:
        """Start, targets ``(..., ntasks, 3, 3)`` and posture, with the same leading axes."""
        robot = self.robot
        posture = None if self.posture is None else robot.normalize(self.posture.q)
        if q is None:
            start = posture if posture is not None else default_configuration(robot)
        else:
            start = robot.normalize(q)
        posture = start if posture is None else posture
        values = [target.values for task in self.tasks for target in task.targets]
        try:
            lead = np.broadcast_shapes(start.shape[:-1], posture.shape[:-1], *(x.shape[:-2] for x in values))
        except ValueError:
            shapes = ", ".join(str(x.shape[:-2]) for x in values)
            raise InputError(
                f"leading axes do not broadcast: q has {start.shape[:-1]}, targets have {shapes}"
            ) from None
        targets = np.zeros((*lead, len(values), 3, 3))
        for k, x in enumerate(values):
            targets[..., k, :, :] = x
        full = (np.array(np.broadcast_to(x, (*lead, robot.nq))) for x in (start, posture))
        begin, posed = full
        return begin, targets, posed

    def descend(
        self, q: Floats, targets: Floats, posture: Floats, max_iterations: int
    ) -> tuple[Floats, Floats, Integers]:
        """Where targets alone lead from each ``q``: its end, scaled errors, and iterations."""
        arrays = targets, posture, self.soft.astype(np.float64), self.mobile, np.zeros_like(self.pull)
        ends, errors, used = self._run(q, *arrays, self.row_scale, [1.0, max_iterations, 0.0, 1.0])
        open_ = np.flatnonzero(self._worst(errors, ~self.soft) > 1.0)
        if open_.size:  # where targets cannot be met, loops come to an end last
            some = targets[open_], posture[open_], *arrays[2:]
            loops = np.where(self.soft, 0.0, self.row_scale)
            ends[open_], _, more = self._run(ends[open_], *some, loops, [1.0, max_iterations, 0.0, 1.0])
            _, errors[open_], _ = self._run(ends[open_], *some, self.row_scale, [1.0, 0.0, 0.0, 1.0])
            used[open_] += more
        return ends, errors, used

    def settle(
        self, q: Floats, targets: Floats, posture: Floats, max_iterations: int
    ) -> tuple[Floats, Floats, Integers]:
        """Where the posture leads with targets met; where those are lost on the way, they are met again."""
        hard = np.zeros(len(self.soft))
        arrays = targets, posture, hard, self.yielding, self.pull
        ends, errors, used = self._run(q, *arrays, self.row_scale, [1.0, max_iterations, 1.0, STILL])
        lost = np.flatnonzero(self.quality(errors) > 1.0)
        if lost.size:
            ends[lost], errors[lost], more = self.descend(ends[lost], targets[lost], posture[lost], max_iterations)
            used[lost] += more
        return ends, errors, used

    def _run(
        self,
        q: Floats,
        targets: Floats,
        posture: Floats,
        soft: Floats,
        joint_scale: Floats,
        pull: Floats,
        row_scale: Floats,
        settings: Sequence[float],
    ) -> tuple[Floats, Floats, Integers]:
        if not len(q):
            return q, np.zeros((0, len(self.soft))), np.zeros(0, dtype=np.int64)
        one = slice(None) if len(q) > 1 else 0
        shared = (row_scale, soft, self.tolerance, joint_scale, self.lower, self.upper)
        ends = self.descent(q[one], targets[one], *shared, posture[one], pull, np.array(settings))
        solution, errors, progress = (x.reshape(len(q), -1) for x in ends)
        return solution, errors, progress[:, 1].astype(np.int64)

    def _worst(self, errors: Floats, rows: npt.NDArray[np.bool_]) -> Floats:
        """The largest error of some rows by their tolerance."""
        result: Floats = (np.abs(errors) / self.tolerance)[:, rows].max(axis=1, initial=0.0)
        return result

    def quality(self, errors: Floats) -> Floats:
        """At most one where all is well; else how far off targets are, and `UNBOUNDED` or more where loops are open."""
        loops, tasks = self._worst(errors, ~self.soft), self._worst(errors, self.soft)
        result: Floats = np.where(loops > 1.0, UNBOUNDED * loops, 0.0) + tasks
        return result

    def scattered(self, start: Floats, rng: np.random.Generator, part: float) -> Floats:
        """Starts a part of the distance from the given ones toward random configurations."""
        toward = self.robot.difference(start, self.robot.random(rng, len(start)))
        toward[:, ~self.free] = 0.0
        result: Floats = np.clip(self.robot.integrate(start, part * toward), self.lower, self.upper)
        return result

    def solution(
        self, lead: tuple[int, ...], q: Floats, errors: Floats, iterations: Integers, tries: Integers
    ) -> InverseKinematicsSolution:
        """The results with the leading axes of the inputs."""
        quality = self.quality(errors)
        with np.errstate(divide="ignore", invalid="ignore"):
            plain = np.where(self.row_scale > 0, errors / self.row_scale, 0.0)
        gap = np.abs(plain[:, ~self.soft]).max(axis=1, initial=0.0)
        each: dict[str, Floats] = {}
        at = self.robot.nc
        for task in self.tasks:
            rows = 3 * len(task.targets)
            each[task.name] = plain[:, at : at + rows]
            at += rows
        message = self._message(lead, q, quality, gap, each, int(tries.max(initial=1)))
        converged = quality <= 1.0
        if not lead:
            return InverseKinematicsSolution(
                q[0],
                bool(converged[0]),
                {name: x[0] for name, x in each.items()},
                float(gap[0]),
                int(iterations[0]),
                int(tries[0]),
                message,
            )
        return InverseKinematicsSolution(
            q.reshape(*lead, q.shape[-1]),
            converged.reshape(lead),
            {name: x.reshape(*lead, x.shape[-1]) for name, x in each.items()},
            gap.reshape(lead),
            iterations.reshape(lead),
            tries.reshape(lead),
            message,
        )

    def _message(
        self, lead: tuple[int, ...], q: Floats, quality: Floats, gap: Floats, errors: dict[str, Floats], tries: int
    ) -> str:
        """A summary in words: of a batch, the number of solved states and the error of the worst."""
        failed = np.flatnonzero(quality > 1.0)
        loops = "loops closed, " if self.robot.nc else ""
        if not failed.size:
            return f"{loops}all targets met"
        k = int(quality.argmax())
        where = ""
        if lead:
            state = ", ".join(str(x) for x in np.unravel_index(k, lead))
            where = f"{len(failed)} of {len(q)} states did not converge; in state ({state}) "
        after = f"after {tries} attempt{'s' if tries > 1 else ''}"
        if quality[k] >= UNBOUNDED:
            what = f"loops of '{self.robot.name}' stay open by {gap[k]:.3g} {after}"
        else:
            what = (
                f"{loops and loops + 'but '}{', '.join(self._misses(errors, k))} {after}: out of reach of these starts"
            )
        names = self._at_limits(q[k])
        more = ", ..." if len(names) > NAMED else ""
        hint = f"; at their limits: {', '.join(names[:NAMED])}{more} (limits=False lets them pass)" if names else ""
        return where + what + hint

    def _misses(self, errors: dict[str, Floats], k: int) -> list[str]:
        """By how much each target is missed that is."""
        said, at = [], self.robot.nc
        for task in self.tasks:
            far = []
            for j, target in enumerate(task.targets):
                e = errors[task.name][k, 3 * j : 3 * j + 3]
                counted = np.where(self.row_scale[at : at + 3] > 0, e, 0.0)
                if (np.abs(counted) * self.row_scale[at : at + 3] > self.tolerance[at : at + 3]).any():
                    size = float(np.linalg.norm(counted))
                    turned = 2 * np.arcsin(min(1.0, size / 2))
                    far.append(f"{turned:.3g} rad" if target.kind == ORIENTATION else f"{size:.3g} m")
                at += 3
            if far:
                said.append(f"'{task.name}' stays {' and '.join(far)} from its target")
        return said

    def _at_limits(self, q: Floats) -> list[str]:
        at = (q <= self.lower) | (q >= self.upper)
        return [joint.name for joint in self.robot.joints if at[self.robot.q_slice(joint.name)].any()]


@computed_once
def _descent_of(robot: Model, frames: tuple[str, ...], tasks: tuple[tuple[int, int], ...]) -> ProgramEvaluator:
    """Descents for tasks on these frames, each a kind and the number of its frame."""

    def plan(robot: Model, frames: Sequence[str]) -> Tree:
        return task_tree(robot, frames, tasks)

    return ProgramEvaluator(robot, "inverse kinematics", INVERSE_KINEMATICS, plan, frames)
