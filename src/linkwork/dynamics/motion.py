# SPDX-License-Identifier: BSD-3-Clause
"""States of a robot over time, and quantities that follow from them, which are drawn, shown and saved."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from linkwork.conversions import converted, text
from linkwork.dynamics.motion_forces import MotionForces, refuse_contacts, where_finite
from linkwork.dynamics.reactions import Reactions
from linkwork.dynamics.solution import NamedRows
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import plural, real_number
from linkwork.model.model import Model
from linkwork.model.placement import Placement
from linkwork.quantities.actuation import element_energy, tendon_energy
from linkwork.quantities.arguments import Array
from linkwork.quantities.functions import (
    constraint_error,
    energy,
    frame_acceleration,
    frame_placement,
    frame_velocity,
)
from linkwork.quantities.motions import has_motions, row_motions

GEOMETRY = frozenset({"joint_position", "anchor_position", "length", "mocap"})
"""Parameters that places of frames and errors of loops depend on."""
INERTIAL = frozenset({"mass", "com", "inertia", "inertial_parameters", "armature", "gravity"})
ENERGETIC = GEOMETRY | INERTIAL | {"stiffness", "rest"}
"""Parameters that energies depend on."""
DYNAMIC = ENERGETIC | {"damping", "gains", "time"}
"""Parameters that accelerations and reactions depend on, torques of motors apart."""


@dataclass(frozen=True, eq=False)
class Motion:
    """States of a robot over time: arrays begin with the axis of time; in rollouts the next is that of the batch."""

    robot: Model | None
    """The robot; None where a file was read without it."""
    times: Array
    """Seconds, ``(k,)``."""
    q: Array
    """Configurations, ``(k, ..., nq)``."""
    v: Array
    """Joint velocities, ``(k, ..., nv)``."""
    tau: Array
    """Torques at the start of the step that follows: inputs, and torques of actuators under commands (for the last
    state, with the inputs of the step before)."""
    multipliers: Array
    """Forces of all constraints in a row in the step that led to each state, ``(k, ..., nc)``; zero at the start."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Settings of the run: integrator, dt and more."""
    ended: str = ""
    """Why it ended before its time; empty if it did not."""
    commands: Array | None = None
    """Commands of the actuators in the step that follows, ``(k, ..., actuators)``; None where there were none."""
    contact_state: Array | None = None
    """Recorded contact states, ``(k, ..., width)``: see `Trajectory.contacts`. None without contacts."""
    act: Array | None = None
    """Activations of actuators, ``(k, ..., na)``; None where none has any."""
    enabled: Array | None = None
    """Which constraints held, ``(k, constraints)``; None where events switched none: those of the robot."""
    probes: dict[str, Array] = field(default_factory=dict)
    """Values of the probes of the simulation by name, ``(k, ..., size)`` or ``(k, ...)`` each."""

    @property
    def forces(self) -> NamedRows:
        """Forces of the constraints by name, ``(k, ..., rows)`` each, at the recorded states, as those of `reactions`.

        With contacts, and in rollouts with parameters, in the step that led to each state: `multipliers`.
        """
        computed = self.contact_state is None and "integrator" in self.settings and not self.settings.get("parameters")
        return NamedRows(self._known(), self._acting.solution[1] if computed else self.multipliers)

    @property
    def contact_forces(self) -> Array | None:
        """Forces of contact points along t1, t2, n, ``(k, ..., nslots, 3)``, on second shapes; None without any."""
        return None

    @property
    def energy(self) -> dict[str, Array]:
        """Kinetic, potential, elastic and total energy, ``(k, ...)`` each, in joules.

        Elastic is that of springs of joints, of tendons and of force elements that have one.

        NaN where a run that diverged exceeds the range of floats; see `ended`.
        """
        robot = self._unvaried("energies", ENERGETIC)
        result = where_finite(lambda q, v: np.stack(energy(robot, q, v), axis=-1), 2, self.q, self.v)
        kinetic, potential = result[..., 0], result[..., 1]
        elastic = np.zeros(self.v.shape[:-1])
        with np.errstate(over="ignore", invalid="ignore"):
            if self.settings.get("passive", False):
                for joint in robot.joints:
                    stiffness = robot.stiffness[robot.v_slice(joint.name)]
                    if joint.type.nq == joint.type.nv and stiffness.any():
                        off = self.q[..., robot.q_slice(joint.name)] - joint.rest
                        elastic = elastic + 0.5 * (off * off) @ stiffness
                if any(tendon.stiffness for tendon in robot.tendons):
                    stretched = lambda q, v: tendon_energy(robot, q)[..., None]  # noqa: E731
                    elastic = elastic + where_finite(stretched, 1, self.q, self.v)[..., 0]
                if robot.forces:
                    stored = lambda q, v: element_energy(robot, q)[..., None]  # noqa: E731
                    elastic = elastic + where_finite(stored, 1, self.q, self.v)[..., 0]
            total = kinetic + potential + elastic
        return {"kinetic": kinetic, "potential": potential, "elastic": elastic, "total": total}

    @cached_property
    def _acting(self) -> MotionForces:
        """Torques, wrenches and passive forces at the recorded states; an error where contacts act."""
        refuse_contacts(self.contact_state)
        robot = self._unvaried("accelerations and reactions", DYNAMIC)
        wrenches = {name: np.array(x) for name, x in self.settings.get("wrenches", {}).items()}
        passive = bool(self.settings.get("passive", False))
        return MotionForces(robot, self.times, self.q, self.v, self.tau, wrenches, passive, self.enabled)

    @cached_property
    def acceleration(self) -> Array:
        """Joint accelerations at the recorded states, by forward dynamics there, ``(k, ..., nv)``."""
        return self._acting.solution[0]

    @cached_property
    def reactions(self) -> Reactions:
        """Wrenches ``[moment, force]`` that joints and constraints transmit, by name, ``(k, ..., 6)`` each.

        By forward dynamics at the recorded states, in the world's axes (``reactions.local()``: in those of children);
        ``reactions.ground``: shaking moment and force.
        """
        return self._acting.reactions()

    @cached_property
    def power(self) -> dict[str, Array]:
        """Powers of motors, springs and dampers, force elements and drives, ``(k, ...)`` each, in watts."""
        return self._acting.powers()

    @property
    def errors(self) -> Array:
        """The most that any loop is open, ``(k, ...)``, in meters or radians; NaN where a state is not finite."""
        result: Array = self._row_errors().max(axis=-1, initial=0.0)
        return result

    def _row_errors(self) -> Array:
        """The sizes of errors of enabled rows, ``(k, ..., nc)``."""
        robot = self._unvaried("errors of loops", GEOMETRY)
        if not robot.nc:
            return np.zeros((*self.q.shape[:-1], 0))
        sizes = [c.rows for c in robot.constraints]
        on = np.array([c.enabled for c in robot.constraints]) if self.enabled is None else self.enabled
        rows = np.repeat(on, sizes, axis=-1)
        error = where_finite(lambda q: constraint_error(robot, q), robot.nc, self.q)
        if has_motions(robot):
            moved = row_motions(robot, self.times)[0] - row_motions(robot, robot.time)[0]
            error = error - moved.reshape(len(self.times), *(1,) * (error.ndim - 2), robot.nc)
        result: Array = np.abs(error * rows)
        return result

    def joint_position(self, joint: str) -> Array:
        """Coordinates of a joint over time, ``(k, ...)``; of one with several, ``(k, ..., n)``.

        Args:
            joint: Name of the joint.
        """
        robot = self._known()
        result: Array = self.q[..., robot.q_slice(joint)]
        return result[..., 0] if result.shape[-1] == 1 else result

    def frame_placement(self, frame: str) -> Placement:
        """Where a frame is in the world over time: a batch with the leading axes ``(k, ...)``.

        Args:
            frame: Name of a frame or body.
        """
        robot = self._unvaried("places of frames", GEOMETRY)
        text(frame, "frame")

        def numbers(q: Array) -> Array:
            placed = frame_placement(robot, q, frame)
            return np.concatenate([placed.rotation.reshape(len(q), 9), placed.position], axis=-1)

        result = where_finite(numbers, 12, self.q)
        return Placement(result[..., 9:], result[..., :9].reshape(*result.shape[:-1], 3, 3), check=False)

    def joint_velocity(self, joint: str) -> Array:
        """Velocities of a joint over time, ``(k, ...)``; of one with several, ``(k, ..., n)``.

        Args:
            joint: Name of the joint.
        """
        return self._of_joint(self.v, joint)

    def joint_acceleration(self, joint: str) -> Array:
        """Accelerations of a joint over time, ``(k, ...)``; of one with several, ``(k, ..., n)``. See `acceleration`.

        Args:
            joint: Name of the joint.
        """
        return self._of_joint(self.acceleration, joint)

    def joint_torque(self, joint: str) -> Array:
        """Torques of motors of a joint over time, ``(k, ...)``; of one with several, ``(k, ..., n)``. See `tau`.

        Args:
            joint: Name of the joint.
        """
        return self._of_joint(self.tau, joint)

    def _of_joint(self, numbers: Array, joint: str) -> Array:
        result: Array = numbers[..., self._known().v_slice(joint)]
        return result[..., 0] if result.shape[-1] == 1 else result

    @converted
    def frame_path(self, frame: str, point: npt.ArrayLike = (0.0, 0.0, 0.0)) -> Array:
        """Where a point of a frame is in the world over time, ``(k, ..., 3)``.

        Args:
            frame: Name of a frame or body.
            point: The point in the axes of the frame; by default its origin.
        """
        placed = self.frame_placement(frame)
        result: Array = placed.position + placed.rotation @ np.asarray(point)
        return result

    def frame_velocity(self, frame: str) -> Array:
        """Velocities ``[angular, linear]`` of a frame over time, of its origin in the world's axes, ``(k, ..., 6)``.

        Args:
            frame: Name of a frame or body.
        """
        robot = self._unvaried("velocities of frames", GEOMETRY)
        return where_finite(lambda q, v: frame_velocity(robot, q, v, frame, "aligned"), 6, self.q, self.v)

    def frame_acceleration(self, frame: str) -> Array:
        """Accelerations ``[angular, linear]`` of a frame over time, of its origin in the world's axes, ``(k, ..., 6)``.

        Args:
            frame: Name of a frame or body.
        """
        robot, a = self._known(), self.acceleration
        return where_finite(lambda q, v, a: frame_acceleration(robot, q, v, a, frame, "aligned"), 6, self.q, self.v, a)

    def __len__(self) -> int:
        return len(self.times)

    def at(self, time: float) -> tuple[Array, Array]:
        """``q`` and ``v`` of the recorded state nearest to a time.

        Args:
            time: Seconds.
        """
        k = self._nearest(time)
        return self.q[k], self.v[k]

    def _nearest(self, time: float) -> int:
        """Which recorded state is the nearest to a time."""
        instant = real_number(time, "time")
        if not np.isfinite(instant):
            raise InputError(f"time is {time!r}, needs a number of seconds")
        if not len(self.times):
            raise InputError("no state was recorded")
        return int(np.abs(self.times - instant).argmin())

    def _known(self) -> Model:
        if self.robot is None:
            raise InputError("the trajectory was loaded without its robot: Trajectory.load(path, robot)")
        return self.robot

    def _unvaried(self, quantities: str, parameters: Collection[str]) -> Model:
        """The robot, where all robots of rollouts have its values of the parameters that quantities depend on."""
        robot = self._known()
        varied = [name for name in self.settings.get("parameters", ()) if name in parameters]
        if varied:
            raise UnsupportedFeature(
                f"{quantities} along a trajectory are those of '{robot.name}', and its robots were simulated with "
                f"{', '.join(varied)} of their own; for one of them take robot.with_parameters(...), and run.q[:, k]"
            )
        return robot

    def _name(self) -> str:
        return "" if self.robot is None else self.robot.name

    def _contacts(self, part: str) -> dict[str, Array]:
        """One quantity of contacts, by pair: ``"forces"``, ``"gaps"``, ``"touching"`` and others of
        `Trajectory.contacts`; nothing without contacts."""
        return {}

    def _abscissa(self) -> tuple[Array, str]:
        """Values and label of the horizontal axis of plots."""
        return self.times, "time [s]"

    def _moment(self, k: int) -> str:
        """Words for the k-th state, for pictures."""
        return f"t = {self.times[k]:.3f} s"

    def _made(self) -> str:
        """Integrator and time step, for titles."""
        return f"{self.settings.get('integrator', '')}, dt {self.settings.get('dt', 0):g} s"

    @converted
    def part(self, start: int = 0, stop: int | None = None) -> Self:
        """Some of the recorded states.

        Args:
            start: Index of the first state.
            stop: Index after the last state; by default all to the end.
        """
        at = slice(start, stop)
        names = ("times", "q", "v", "tau", "multipliers", "commands", "contact_state", "act", "enabled")
        arrays: dict[str, Any] = {name: getattr(self, name) for name in names}
        parts: dict[str, Any] = {name: None if x is None else x[at] for name, x in arrays.items()}
        return replace(self, **parts, probes={name: x[at] for name, x in self.probes.items()})

    def __repr__(self) -> str:
        span = f"{self.times[0]:g} to {self.times[-1]:g} s" if len(self) else "nothing"
        batch = f", {int(np.prod(self.q.shape[1:-1]))} robots" if self.q.ndim > 2 else ""
        ended = f", ended: {self.ended}" if self.ended else ""
        return f"<{type(self).__name__} of '{self._name()}', {span}, {plural(len(self), 'state')}{batch}{ended}>"
