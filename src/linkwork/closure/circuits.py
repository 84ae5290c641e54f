# SPDX-License-Identifier: BSD-3-Clause
"""Circuits of mechanisms with one degree of freedom: traced by arc length, past dead centers; ratios of velocities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from linkwork.closure.assembly import assemble
from linkwork.closure.assembly_problem import which_enabled
from linkwork.closure.thresholds import RANK
from linkwork.errors import AssemblyError, InputError, SingularConstraints
from linkwork.inputs import above_zero, count
from linkwork.model.arrays import Floats
from linkwork.model.forces.base import Place, placed
from linkwork.model.model import Model
from linkwork.model.poses import default_configuration
from linkwork.quantities.functions import constraint_jacobian, frame_placement
from linkwork.quantities.scales import joint_units

REFINED = 60
"""Bisections that a dead center is found by."""


@dataclass(frozen=True)
class DeadCenter:
    """A configuration past which a joint turns back: it cannot drive the mechanism through it."""

    joint: str
    """Its name."""
    position: float
    """The joint's coordinate there, an end of its range."""
    q: Floats
    """``(nq,)``"""


@dataclass(frozen=True)
class Circuit:
    """Closed configurations that a mechanism can move through without being taken apart."""

    robot: Model
    """The mechanism."""
    q: Floats
    """Along the circuit, ``(k, nq)``."""
    tangents: Floats
    """Velocities along it, of unit length in radians and lengths of the robot, ``(k, nv)``."""
    closed: bool
    """Whether it returns to its start, up to whole turns of joints."""

    @cached_property
    def dead_centers(self) -> list[DeadCenter]:
        """Where joints with one coordinate turn back, in the order of the circuit."""
        centers = list[DeadCenter]()
        for joint in self.robot.joints:
            if joint.type.nq != 1:
                continue
            k = self.robot.v_index(joint.name)
            rate = self.tangents[:, k]
            for i in np.flatnonzero(rate[1:] * rate[:-1] < 0):
                q = _turn(self.robot, self.q[i], self.tangents[i], k, self.q[i + 1])
                centers.append(DeadCenter(joint.name, float(q[self.robot.q_index(joint.name)]), q))
        return centers

    def ratio(self, output: str, driver: str) -> Floats:
        """Velocity of a joint per velocity of another, ``(k,)``; its inverse is the mechanical advantage.

        Infinite at dead centers of the driver, zero at those of the output.

        Args:
            output: A joint.
            driver: Another.
        """
        with np.errstate(divide="ignore"):
            ratios: Floats = self.tangents[:, self.robot.v_index(output)] / self.tangents[:, self.robot.v_index(driver)]
        return ratios

    def range(self, joint: str) -> tuple[float, float]:
        """The least and the largest coordinate of a joint, ends at dead centers included.

        Args:
            joint: A joint.
        """
        ends = [x.position for x in self.dead_centers if x.joint == joint]
        values = [*self.q[:, self.robot.q_index(joint)].tolist(), *ends]
        return min(values), max(values)


def tangent(robot: Model, q: Floats, along: Floats | None = None) -> Floats:
    """The direction in which a mechanism with one degree of freedom moves, ``(nv,)``."""
    units = joint_units(robot)
    J = constraint_jacobian(robot, q)[which_enabled(robot)] * units
    _, size, rows = np.linalg.svd(J)
    rank = int((size > RANK * size.max(initial=1.0)).sum())
    if robot.nv - rank != 1:
        raise SingularConstraints(
            f"'{robot.name}' has {robot.nv - rank} degrees of freedom here; a circuit is traced with one: lock the "
            "others (reduced, JointLock), and start away from poses where circuits meet"
        )
    direction: Floats = units * rows[-1]
    return -direction if along is not None and (direction / units) @ (along / units) < 0 else direction


def _turn(robot: Model, q: Floats, along: Floats, k: int, end: Floats) -> Floats:
    """The configuration between two at which the rate of a coordinate vanishes, by bisection of the step."""
    span = float(np.abs(robot.difference(q, end) / joint_units(robot)).max())
    low, high, sign = 0.0, 2.0 * span, np.sign(along[k])
    at = q
    for _ in range(REFINED):
        middle = 0.5 * (low + high)
        at = assemble(robot, robot.integrate(q, middle * along)).q
        if tangent(robot, at, along)[k] * sign > 0:
            low = middle
        else:
            high = middle
    return at


def circuit(robot: Model, q: npt.ArrayLike | None = None, *, step: float = 0.05, most: int = 2000) -> Circuit:
    """The circuit of a mechanism with one degree of freedom, traced from a configuration past all dead centers.

    Args:
        robot: The mechanism.
        q: A configuration near the first, ``(nq,)``; by default the assembled one.
        step: Of the arc, in radians and lengths of the robot.
        most: Steps after which it ends.
    """
    above_zero(step, "step")
    start = assemble(robot, default_configuration(robot) if q is None else q).q
    if start.ndim != 1:
        raise InputError(f"q has shape {start.shape}, needs one configuration, ({robot.nq},)")
    units = joint_units(robot)
    at, along = start, tangent(robot, start)
    poses, directions, closed = [start], [along], False
    for _ in range(count(most, "most")):
        try:
            after = assemble(robot, robot.integrate(at, step * along), attempts=1).q
        except AssemblyError:
            break
        at, along = after, tangent(robot, after, along)
        poses.append(at)
        directions.append(along)
        if len(poses) > 3 and _near(robot, start, at, units) < 0.75 * step:
            closed = bool((along / units) @ (directions[0] / units) > 0)
            if closed:
                break
    return Circuit(robot, np.array(poses), np.array(directions), closed)


def _near(robot: Model, q: Floats, p: Floats, units: Floats) -> float:
    """The distance between two configurations, whole turns of joints aside."""
    apart: Floats = robot.difference(q, p) / units
    for joint in robot.joints:
        if joint.type.nq == 1 and joint.type.kind_name == "revolute":
            k = robot.v_index(joint.name)
            apart[k] = (apart[k] + np.pi) % (2 * np.pi) - np.pi
    return float(np.linalg.norm(apart))


def transmission_angle(robot: Model, q: npt.ArrayLike, coupler: Place, pin: Place, output: Place) -> Floats:
    """The angle at a pin between coupler and output, 0 to 90°, in rad, ``(...)``; below 40° little force passes.

    Args:
        robot: The mechanism.
        q: Configurations, ``(..., nq)``.
        coupler: Where a force enters the coupler: a body or frame, or a point of one, ``("coupler", (0.1, 0, 0))``.
        pin: The pin between the two.
        output: About which the output turns.
    """
    places = [placed(place) for place in (coupler, pin, output)]
    placements = frame_placement(robot, q, list(dict.fromkeys(name for name, _ in places)))
    names = list(dict.fromkeys(name for name, _ in places))
    points = []
    for name, at in places:
        k = names.index(name)
        points.append(placements.position[..., k, :] + placements.rotation[..., k, :, :] @ at.position)
    a, b = points[0] - points[1], points[2] - points[1]
    across = np.linalg.norm(np.cross(a, b), axis=-1)
    angle: Floats = np.arctan2(across, np.abs((a * b).sum(axis=-1)))
    return angle


def rates(robot: Model, q: npt.ArrayLike, driver: str | Sequence[str]) -> Floats:
    """Velocities of all joints per unit velocity of drivers, ``(..., nv, drivers)``: NaN at their dead centers.

    Args:
        robot: The mechanism.
        q: Closed configurations, ``(..., nq)``.
        driver: A joint with one coordinate, or several, as many as there are degrees of freedom.
    """
    names = [driver] if isinstance(driver, str) else list(driver)
    held = [robot.v_index(name) for name in names]
    free = np.setdiff1d(np.arange(robot.nv), held)
    J = np.asarray(constraint_jacobian(robot, q))[..., which_enabled(robot), :]
    size = np.linalg.svd(J[..., free], compute_uv=False)
    matrices = np.zeros((*J.shape[:-2], robot.nv, len(held)))
    matrices[..., held, :] = np.eye(len(held))
    if not len(free):
        return matrices
    matrices[..., free, :] = -np.linalg.pinv(J[..., free], rcond=RANK) @ J[..., held]
    full = size.shape[-1] >= len(free)
    dead = (size[..., len(free) - 1] <= RANK * size[..., 0]) if full else np.full(J.shape[:-2], True)
    matrices[dead] = np.nan
    return matrices
