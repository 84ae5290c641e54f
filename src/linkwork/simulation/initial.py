# SPDX-License-Identifier: BSD-3-Clause
"""States that simulations start from, checked."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from linkwork.closure.assembly import assemble
from linkwork.closure.assembly_problem import hold_hint, which_enabled
from linkwork.closure.evaluators import project_velocity
from linkwork.closure.thresholds import CLOSED_AT_START, CLOSED_BY_PROJECTION
from linkwork.errors import AssemblyError, InputError
from linkwork.inputs import fresh_floats
from linkwork.model.checks import check_robot
from linkwork.model.constraints import Drive
from linkwork.model.model import Model
from linkwork.model.parameters import changed_fields
from linkwork.model.poses import HOME, default_configuration
from linkwork.quantities.arguments import Array
from linkwork.quantities.functions import constraint_error, constraint_jacobian
from linkwork.quantities.motions import has_motions, row_motions
from linkwork.quantities.scales import joint_units, scales_of, typical_row_units
from linkwork.simulation.thresholds import RESTING_JOINTS, UNIT_QUATERNION

M = TypeVar("M", bound=Model)


def with_mocap_of(robot: M, q: npt.ArrayLike | str | None) -> M:
    """The robot with its mocap bodies where they are in a pose.

    Args:
        robot: The mechanism.
        q: As for `start_of`.
    """
    pose = HOME if q is None and HOME in robot.poses else q
    if not isinstance(pose, str) or pose not in robot.mocap:
        return robot
    return replace(robot, **changed_fields(robot, "mocap", robot.mocap[pose]))


def start_of(
    robot: Model, q: npt.ArrayLike | str | None, act: npt.ArrayLike | None, commanded: bool
) -> tuple[npt.ArrayLike | None, npt.ArrayLike | None, Array | None]:
    """Configuration, activations and commands at the start, of those that are given and those of a pose.

    Args:
        robot: The mechanism.
        q: A configuration, the name of a pose, or None: the pose ``home``, if there is one.
        act: Activations; None: those of the pose.
        commanded: Whether torques, commands or a controller are given.
    """
    check_robot(robot)
    pose = HOME if q is None and HOME in robot.poses else q
    if not isinstance(pose, str):
        return q, act, None
    commands = None if commanded else robot.commands.get(pose)
    return robot.poses[pose], robot.activations.get(pose) if act is None else act, commands


def initial_state(
    robot: Model,
    q: npt.ArrayLike | None,
    v: npt.ArrayLike | None,
    closed: bool = True,
    time: float = 0.0,
    soft: bool = False,
) -> tuple[Array, Array]:
    """One state at a time; its loops must be closed where ``closed`` says so, but for those that give way where all is
    ``soft``. Drives lead the rest with them."""
    check_robot(robot)
    if q is None:
        q = default_configuration(robot)
    at = fresh_floats(robot.normalize(q), "q")
    start = np.asarray(q, dtype=np.float64)
    if all(abs(np.linalg.norm(start[unit]) - 1.0) < UNIT_QUATERNION for unit in robot.unit_slices()):
        at = fresh_floats(start, "q")  # as it is, to the last bit
    rate = np.zeros(robot.nv) if v is None else fresh_floats(v, "v")
    if rate.shape != (robot.nv,) or not np.isfinite(rate).all():
        raise InputError(f"v has shape {rate.shape}, needs {robot.nv} finite numbers")
    if has_motions(robot):
        at, rate = _driven(replace(robot, time=time), at, rate)
    if closed:
        check_loops(replace(robot, time=time) if has_motions(robot) else robot, at, rate, soft=soft)
    return at, rate


def initial_states(robot: Model, q: npt.ArrayLike, v: npt.ArrayLike | None, time: float = 0.0) -> tuple[Array, Array]:
    """States of a batch at a time. Drives lead the rest with them."""
    check_robot(robot)
    at = robot.normalize(q).astype(np.float64)
    if at.ndim != 2:
        raise InputError(f"q has shape {at.shape}, needs (n, {robot.nq}): one row for each robot")
    rate = np.zeros((len(at), robot.nv)) if v is None else fresh_floats(v, "v")
    if rate.shape != (len(at), robot.nv) or not np.isfinite(rate).all():
        raise InputError(f"v has shape {rate.shape}, needs ({len(at)}, {robot.nv}) finite numbers")
    if has_motions(robot):
        timed = replace(robot, time=time)
        for k in range(len(at)):
            at[k], rate[k] = _driven(timed, at[k], rate[k])
    return at, rate


def _driven(robot: Model, q: Array, v: Array) -> tuple[Array, Array]:
    """The state nearest to ``q, v`` with driven joints where they are at the robot's time, and loops that follow."""
    drives = [c for c in robot.constraints if isinstance(c, Drive) and c.enabled]
    for drive in drives:
        q[robot.q_slice(drive.joint)] = drive.at(robot.time)[0]
    units = np.where(which_enabled(robot), typical_row_units(robot), np.inf)
    if (np.abs(constraint_error(robot, q)) / units).max(initial=0.0) > CLOSED_BY_PROJECTION:
        q = assemble(robot, q, [drive.joint for drive in drives], limits=False).q
    return q, project_velocity(robot, q, v)


def check_loops(robot: Model, q: Array, v: Array | None, where: str = "at the start", soft: bool = False) -> None:
    """Refuse loops that are open, and velocities that open them.

    Args:
        robot: The mechanism, with its time.
        q: Configuration, ``(nq,)``.
        v: Joint velocities, ``(nv,)``; None: any.
        where: Words for errors.
        soft: Whether constraints give way, as in steps with ``contact="soft"``.
    """
    if q.ndim != 1:
        raise InputError(f"q has shape {q.shape}, needs ({robot.nq},): one state; for several, see rollouts")
    acting = [np.full(c.rows, c.enabled and c.is_exact(soft)) for c in robot.constraints]
    on = np.concatenate(acting) if acting else np.zeros(0)
    if not on.any():
        return
    units = typical_row_units(robot)
    error = np.abs(constraint_error(robot, q)) * on
    if (error / units).max() > CLOSED_AT_START:
        row = int((error / units).argmax())
        worst = next(c.name for c in robot.constraints if row < robot.row_slice(c.name).stop)
        poses = {"": robot.neutral()} | {f'robot.poses["{name}"]': pose for name, pose in robot.poses.items()}
        closest = robot.normalize(q)
        start = next(
            (name for name, pose in poses.items() if np.allclose(robot.normalize(pose), closest)),
            "q",
        )
        raise AssemblyError(
            f"'{worst}' is open by {error[row]:.3g} {where}: close loops by q = robot.assemble({start})"
            f"{hold_hint(robot, worst)}"
        )
    if v is None:
        return
    opening = np.abs(constraint_jacobian(robot, q) @ v - row_motions(robot, robot.time)[1]) * on
    swing = float(np.sqrt(np.linalg.norm(robot.gravity) / scales_of(robot).length))
    moving = max(float(np.abs(v / joint_units(robot)).max(initial=0.0)), RESTING_JOINTS * swing)
    if (opening / units).max() > CLOSED_AT_START * moving:
        raise InputError(f"v opens loops by {opening.max():.3g} a second {where}: use robot.project_velocity(q, v)")
