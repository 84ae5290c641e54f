# SPDX-License-Identifier: BSD-3-Clause
"""Actuation through linkages: how motors in loops move the joints that follow them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from linkwork.closure.clusters import closed_poses, clusters, dof_names
from linkwork.closure.loop_rounding import loop_gap, loop_rounding
from linkwork.closure.mobility import without_units
from linkwork.closure.thresholds import CLUSTER_RANK, LOOSE, OPEN, ROUNDED, TIED
from linkwork.errors import InputError, SingularConstraints
from linkwork.inputs import finite_floats, plural, shown
from linkwork.model.joints import Prismatic
from linkwork.model.model import Model
from linkwork.plans.clusters import enabled_rows
from linkwork.quantities.arguments import Array
from linkwork.quantities.functions import center_of_mass, constraint_jacobian, frame_placement
from linkwork.quantities.scales import joint_units

WEAK_SPRING = 0.5
"""In rad, or as a part of the distance to the center of mass: springs that the weight could bend by more are weak."""


@dataclass(frozen=True)
class Actuation:
    """Transmission ratios from motors to joints through linkages, at one configuration (or a batch of them).

    ``joint velocity = matrix motor velocity`` and, since no power is lost, ``motor torque = matrix' joint torque``.
    """

    motors: tuple[str, ...]
    """Joints that drive."""
    joints: tuple[str, ...]
    """Joints that are driven."""
    matrix: Array
    """``(..., joints, motors)``."""
    held: tuple[str, ...] = ()
    """Joints that were taken to stand still: springs, unless others were named."""

    def joint_velocity(self, motor: npt.ArrayLike) -> Array:
        """Joint velocities of motor velocities.

        Args:
            motor: Velocities of the motors, ``(..., motors)``.
        """
        return self._times(self.matrix, motor, self.motors, "motor")

    def motor_torque(self, joint: npt.ArrayLike) -> Array:
        """The motor torques that are equivalent to these joint torques.

        Args:
            joint: Torques of the joints, ``(..., joints)``.
        """
        return self._times(np.swapaxes(self.matrix, -1, -2), joint, self.joints, "joint")

    def motor_velocity(self, joint: npt.ArrayLike) -> Array:
        """The motor velocities of joint velocities, where there are as many joints as motors.

        Args:
            joint: Velocities of the joints, ``(..., joints)``.
        """
        return self._times(self._inverse(), joint, self.joints, "joint")

    def joint_torque(self, motor: npt.ArrayLike) -> Array:
        """The joint torques of motor torques, where there are as many joints as motors.

        Args:
            motor: Torques of the motors, ``(..., motors)``.
        """
        return self._times(np.swapaxes(self._inverse(), -1, -2), motor, self.motors, "motor")

    def of(self, *joints: str) -> Actuation:
        """The transmission ratios of some of the joints.

        Args:
            joints: Names of joints.
        """
        for name in joints:
            if not isinstance(name, str) or name not in self.joints:
                raise InputError(f"{shown(name)} is not moved by the motors, which move {', '.join(self.joints)}")
        at = [self.joints.index(name) for name in joints]
        return replace(self, joints=tuple(joints), matrix=self.matrix[..., at, :])

    def _times(self, matrix: Array, x: npt.ArrayLike, names: Sequence[str], what: str) -> Array:
        times = finite_floats(x, what)
        if times.shape[-1:] != (len(names),):
            raise InputError(f"{what} has shape {times.shape}, needs (..., {len(names)}): {', '.join(names)}")
        result: Array = (matrix @ times[..., None])[..., 0]
        return result

    def _inverse(self) -> Array:
        if len(self.motors) != len(self.joints):
            raise InputError(
                f"{plural(len(self.motors), 'motor moves', 'motors move')} {plural(len(self.joints), 'joint')}: "
                "choose as many joints with of(...)"
            )
        s = np.linalg.svd(self.matrix, compute_uv=False)
        if (s[..., -1] <= CLUSTER_RANK * np.maximum(1.0, s[..., 0])).any():
            raise SingularConstraints(
                f"the motors {', '.join(self.motors)} do not move the joints {', '.join(self.joints)} in every "
                "direction here: the linkage is at a dead center"
            )
        result: Array = np.linalg.inv(self.matrix)
        return result


def actuation(
    robot: Model,
    q: npt.ArrayLike,
    motors: Sequence[str] | None = None,
    joints: Sequence[str] | None = None,
    held: Sequence[str] | None = None,
) -> Actuation:
    """Transmission ratios from the motors of a robot to its other joints through constraints.

    Unless they are given, ``motors`` are the actuated joints in clusters (of those that are tied to each other the
    first), ``held`` those with a spring, which is taken to be rigid, and ``joints`` all others that motors determine.
    `Actuation.held` says which these are. A warning names springs that are too weak for that: those that the robot's
    weight, at its center of mass, could bend by more than `WEAK_SPRING`; pass ``held=[]`` to let springs move.
    A motor that cannot move at ``q``, or does not determine a joint that was named, is an error,
    `SingularConstraints`.
    Loops are closed at ``q`` (see `Mechanism.assemble`): where they are open, rows that repeat others hold back more.
    """
    reports = clusters(robot)
    if not reports:
        raise InputError(f"robot '{robot.name}' has no enabled constraints: its motors are its joints")
    inside = [name for report in reports for name in report.joints if robot.joint(name).type.nv == 1]
    for name in (*(motors or ()), *(joints or ()), *(held or ())):
        if robot.joint(name).type.nv != 1:
            raise InputError(f"joint '{name}' has {robot.joint(name).type.nv} degrees of freedom; one is needed")
    driven = {a.joint for a in robot.actuators} | {j.name for j in robot.joints if j.actuated}
    chosen = [name for name in inside if name in driven] if motors is None else list(motors)
    if held is None:
        held = [n for n in inside if n not in chosen and n not in (joints or ()) and np.any(robot.joint(n).stiffness)]
        _warn_of_weak_springs(robot, q, held)
    linkage = _Linkage(robot, held)
    if motors is None:
        chosen = linkage.movable(chosen)
    if not chosen:
        raise InputError(f"robot '{robot.name}' has no actuated joint in a loop that could move; name the motors")
    bad = linkage.hampered(q, chosen)
    if bad.max() > linkage.cut(q, TIED):
        raise SingularConstraints(
            f"motor '{chosen[int(bad.argmax())]}' cannot move here while the other motors stand: its linkage is at a "
            "dead center, or another motor holds it"
        )
    rates, loose = linkage.rates(q, chosen)
    if joints is None:
        others = [n for n in inside if n not in chosen and n not in held and loose[n] <= LOOSE]
        if not others:
            raise SingularConstraints(f"the motors {', '.join(chosen)} determine no other joint here")
    else:
        others = list(joints)
        for name in others:
            if name in chosen or name in held:
                raise InputError(f"joint '{name}' is a motor, or is held")
            if loose[name] > LOOSE:
                raise SingularConstraints(
                    f"joint '{name}' can move while the motors {', '.join(chosen)} stand: they do not determine it here"
                )
    at = [list(loose).index(name) for name in others]
    return Actuation(tuple(chosen), tuple(others), rates[..., at, :], tuple(held))


class _Linkage:
    """The enabled rows of a robot some of whose joints are held, as rows on motors and on what moves with them."""

    def __init__(self, robot: Model, held: Sequence[str]) -> None:
        self.robot, self.rows, self.units = robot, enabled_rows(robot), joint_units(robot)
        self.names = dof_names(robot)
        self.stuck = {self.names.index(name) for name in held}

    def cut(self, q: npt.ArrayLike, least: float) -> float:
        """The singular value below which a row counts as dependent where rounded numbers leave loops open."""
        gap = float(np.max(loop_gap(self.robot, np.asarray(q, dtype=np.float64))))
        return max(least, OPEN * loop_rounding(self.robot), OPEN * gap if gap <= ROUNDED else 0.0)

    def parts(self, q: npt.ArrayLike, motors: Sequence[str]) -> tuple[Array, Array, list[int]]:
        """Rows on these motors and on all that may move with them, without units, and which those are."""
        J = without_units(self.robot, constraint_jacobian(self.robot, q))[..., self.rows, :]
        mine = [self.names.index(name) for name in motors]
        rest = [k for k in range(self.robot.nv) if k not in mine and k not in self.stuck]
        return J[..., mine], J[..., rest], rest

    def hampered(self, q: npt.ArrayLike, motors: Sequence[str]) -> Array:
        """By how much each motor cannot move while the others stand."""
        driving, moved, _ = self.parts(q, motors)
        left = driving - moved @ (np.linalg.pinv(moved, rcond=self.cut(q, CLUSTER_RANK)) @ driving)
        worst: Array = np.abs(left).max(axis=tuple(range(left.ndim - 1)), initial=0.0)
        return worst / max(1.0, float(np.abs(driving).max(initial=0.0)))

    def movable(self, motors: Sequence[str]) -> list[str]:
        """Those of the motors that can move in some pose, the first of those that are tied to each other."""
        poses, kept = closed_poses(self.robot), list[str]()
        for name in motors:
            if min(self.hampered(q, [*kept, name]).max() / self.cut(q, TIED) for q in poses) <= 1.0:
                kept.append(name)
        return kept

    def rates(self, q: npt.ArrayLike, motors: Sequence[str]) -> tuple[Array, dict[str, float]]:
        """Velocities of all that moves per velocity of each motor, and by how much each can move while motors stand."""
        driving, moved, rest = self.parts(q, motors)
        inverse = np.linalg.pinv(moved, rcond=self.cut(q, CLUSTER_RANK))
        idle = np.eye(len(rest)) - inverse @ moved  # motions of the rest while all motors stand
        loose = np.abs(idle).max(axis=-1, initial=0.0)
        loose = loose.max(axis=tuple(range(loose.ndim - 1)))
        mine = [self.names.index(name) for name in motors]
        matrix: Array = -(inverse @ driving) * self.units[rest][:, None] / self.units[mine]
        return matrix, {self.names[k]: float(x) for k, x in zip(rest, loose, strict=True)}


def _warn_of_weak_springs(robot: Model, q: npt.ArrayLike, springs: Sequence[str]) -> None:
    """Where the weight of the robot could bend springs that are taken to be rigid."""
    weight = robot.mass * float(np.linalg.norm(robot.gravity))
    if not springs or not weight:
        return
    bodies = [robot.joint(name).child for name in springs]
    arms = frame_placement(robot, q, bodies).position - center_of_mass(robot, q)[..., None, :]
    arm = np.linalg.norm(arms, axis=-1).reshape(-1, len(springs)).max(axis=0)
    bends = {}
    for name, reach in zip(springs, arm, strict=True):
        joint = robot.joint(name)
        give = weight / float(joint.stiffness[0])  # of a slide in m; a turn gives by the arm times that
        if isinstance(joint.type, Prismatic):
            weak, bend = give > WEAK_SPRING * reach, f"{give:.2g} m"
        else:
            weak, bend = give * reach > WEAK_SPRING, f"{give * reach:.2g} rad"
        if weak:
            bends[name] = bend
    if bends:
        each = ", ".join(f"'{name}' by {bend}" for name, bend in bends.items())
        warnings.warn(
            f"robot '{robot.name}': weak springs are taken to be rigid: its weight could bend {each}. Pass held=[] "
            "to free all springs, or held=[...] with the joints to hold",
            stacklevel=4,
        )
