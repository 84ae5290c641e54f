# SPDX-License-Identifier: BSD-3-Clause
"""Parts of a model: joints of the tree with their limits, actuators, frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from linkwork.conversions import converted_but
from linkwork.model.activations import ActuatorDynamics
from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD
from linkwork.model.joints import Joint
from linkwork.model.motors import Motor
from linkwork.model.muscles import Muscle
from linkwork.model.placement import Placement
from linkwork.model.soft_contact import SoftConstraint

GRAVITY = (0.0, 0.0, -9.81)
"""Acceleration of free fall by default, in m/s²."""


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of one joint: of position, one for each q; of velocity and effort, one for each v. Infinite where none."""

    lower: Floats
    upper: Floats
    velocity: Floats
    effort: Floats
    actuation: tuple[float, float] = (-np.inf, np.inf)
    """Of the sum of actuator torques on a joint with one degree of freedom."""
    angle: float = np.inf
    """Of a spherical joint: the largest angle of its rotation."""


@dataclass(frozen=True, eq=False)
class TreeJoint:
    """A joint of the spanning tree: it leads from ``parent`` to ``child``, at ``placement`` in the parent's frame."""

    name: str
    type: Joint
    parent: str
    child: str
    placement: Placement
    limits: Limits
    armature: Floats
    damping: Floats
    friction: Floats
    stiffness: Floats
    """Of a spring with the rest position ``rest``; see `passive_forces`."""
    rest: Floats
    actuated: bool | None = None
    """Whether a motor drives it; None where not specified."""
    independent: bool | None = None
    """Whether it is one of the minimal coordinates of its loops; None where not specified."""
    soft_limit: SoftConstraint | None = None
    """Softness of its limits where contacts are soft; None: as MuJoCo's usual ones."""
    soft_friction: SoftConstraint | None = None
    """Softness of its dry friction there."""
    stiffness_terms: tuple[float, float] = (0.0, 0.0)
    """``k1, k2`` of a spring ``-(k x + k1 x² + k2 x³)`` of each coordinate, ``x`` from its rest."""
    damping_terms: tuple[float, float] = (0.0, 0.0)
    """``d1, d2`` of a damper ``-(d v + d1 |v| v + d2 v³)`` of each coordinate."""


@converted_but("gear", "gain", "bias", "limits", "force_limits", "activation_limits", "muscle", "motor")
@dataclass(frozen=True, eq=False)
class Actuator:
    """A motor or a servo. With ``l`` its length and ``r`` its rate, its force for a command ``u`` is::

        force = (gain[0] + gain[1] l + gain[2] r) u + bias[0] + bias[1] l + bias[2] r

    where an *activation* takes the place of the command if it has ``dynamics`` (see `ACTIVATIONS`),

    and ``gear`` times the force are torques on the degrees of freedom of its joint, whose coordinates times ``gear``
    are the length. A plain motor has the gain ``(1, 0, 0)`` and no bias, so that its command is its force; a position
    servo with the stiffness ``kp`` and the damping ``kv`` the gain ``(kp, 0, 0)`` and the bias ``(0, -kp, -kv)``. On a
    tendon its length is ``gear`` times that of the tendon.

    Args:
        name: Its name.
        joint: The joint that it drives; empty if it pulls a tendon.
        gear: Torque or force on each degree of freedom of the joint per unit of force.
    """

    name: str
    joint: str
    gear: tuple[float, ...]
    limits: tuple[float, float] = (-np.inf, np.inf)
    """Commands are clamped to these."""
    gain: tuple[float, float, float] = (1.0, 0.0, 0.0)
    """Factors of the command: constant, of the length, of its rate."""
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """The part that does not depend on the command: constant, of the length, of its rate."""
    force_limits: tuple[float, float] = (-np.inf, np.inf)
    """Forces are clamped to these, before the gear."""
    also: tuple[tuple[str, float], ...] = ()
    """Further joints that it drives, as by a tendon, with their gears; each has one degree of freedom."""
    refused: str = ""
    """Its kind, if its force is not modeled (``"a <muscle>"``): it takes no commands. Else empty."""
    tendon: str = ""
    """The tendon that it pulls, with one gear; then it drives no joint by itself."""
    dynamics: ActuatorDynamics = "none"
    """Activation dynamics (MJCF: ``dyntype``); without, there is no activation."""
    time_constant: float = 1.0
    """Of the filters, in seconds (MJCF: ``dynprm``)."""
    activation_limits: tuple[float, float] = (-np.inf, np.inf)
    """Activations are clamped to these."""
    early: bool = False
    """Whether its force comes from the activation after the step and not before it (MJCF: ``actearly``)."""
    muscle: Muscle | None = None
    """Muscle in place of gain, bias and time constant."""
    motor: Motor | None = None
    """Its torque-speed curve, friction, integral action, delay, backlash and network."""
    body: str = ""
    """The body whose contacts it makes adhesive (MJCF: ``<adhesion>``), in place of joints: its force is shared by the
    contact points of that body."""

    @property
    def has_activation(self) -> bool:
        """Whether it has dynamics of its own, whose activation takes the place of the command."""
        return self.dynamics != "none"

    @property
    def states(self) -> tuple[str, ...]:
        """Names of its activations: of its dynamics, the integral of its error, delayed commands, latest first, and
        the memory of its network."""
        own = (self.name,) if self.has_activation else ()
        if self.motor is None:
            return own
        integral = (f"{self.name}.integral",) if self.motor.integral > 0 else ()
        commands = (f"{self.name}.command[{k + 1}]" for k in range(self.motor.registers))
        return (*own, *integral, *commands, *(f"{self.name}.network[{k}]" for k in range(self.motor.memory)))

    @property
    def gears(self) -> tuple[tuple[str, tuple[float, ...]], ...]:
        """All joints that it drives by itself, with the gears of their degrees of freedom; none through a tendon."""
        if self.tendon or self.body:
            return ()
        return ((self.joint, self.gear), *((joint, (gear,)) for joint, gear in self.also))

    def renamed(self, new: Callable[[str], str]) -> Actuator:
        """A copy with other names of the actuator, its joints and its tendon.

        Args:
            new: New name of a joint, tendon or actuator.
        """
        also = tuple((new(joint), gear) for joint, gear in self.also)
        joint, tendon, body = (new(name) if name else "" for name in (self.joint, self.tendon, self.body))
        return replace(self, name=new(self.name), joint=joint, also=also, tendon=tendon, body=body)

    @property
    def control_limits(self) -> tuple[float, float]:
        """Range of the input of its gain: commands, or activations, which filters keep in the range of commands."""
        if not self.has_activation:
            return self.limits
        low, high = self.activation_limits
        if self.dynamics == "integrator":
            return low, high
        return max(low, self.limits[0]), min(high, self.limits[1])

    @property
    def largest_force(self) -> float:
        """The largest magnitude of its force in any state, before the gear; infinite where nothing limits it."""
        low, high = self.force_limits
        servo = any(self.gain[1:]) or any(self.bias[1:]) or self.muscle is not None  # its force depends on the state
        servo = servo or (self.motor is not None and (self.motor.integral > 0 or self.motor.network is not None))
        if not servo and self.gain[0]:
            ends = sorted(self.gain[0] * u + self.bias[0] for u in self.control_limits)
            low, high = np.clip(ends, low, high).tolist()
        return max(abs(low), abs(high))


@dataclass(frozen=True, eq=False)
class Frame:
    """A named frame, fixed to a body."""

    name: str
    body: str
    placement: Placement
    mocap: str = ""
    """The mocap body that it moves with: a frame of the world whose placement is given from outside, which has its own
    name here; empty: none."""


def mocap_frames(frames: Mapping[str, Frame]) -> list[str]:
    """Mocap bodies by name.

    Args:
        frames: Frames of a mechanism.
    """
    return [name for name, frame in frames.items() if frame.mocap == name and frame.body == WORLD]
