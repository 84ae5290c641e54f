# SPDX-License-Identifier: BSD-3-Clause
"""Sensors: their frames or bodies, and the number of their outputs.

Types have the names of MJCF's elements, and give the numbers of MuJoCo's ``sensordata``: quaternions are ``w x y z``.

| type                                    | on       | numbers                                                         |
|-----------------------------------------|----------|-----------------------------------------------------------------|
| accelerometer                           | frame    | its acceleration less gravity, in its own axes, m/s²            |
| velocimeter, gyro                       | frame    | linear, angular velocity in its own axes                        |
| force, torque                           | frame    | of what carries its body on it, at the frame, in its own axes   |
| magnetometer                            | frame    | the magnetic flux, in its own axes                              |
| touch                                   | frame    | sum of the normal forces of contacts in its volume, N           |
| insidesite                              | frame    | 1 where its origin is in the volume at ``reference``, else 0    |
| framepos, framequat, frame[xyz]axis     | frame    | pose in the world, or in ``reference``                          |
| framelinvel, frameangvel                | frame    | velocity in the world's axes, or relative to ``reference``      |
| framelinacc, frameangacc                | frame    | acceleration less gravity, in the world's axes                  |
| subtreecom, subtreelinvel               | body     | center of mass of a body and all that it carries, its velocity  |
| subtreeangmom                           | body     | their angular momentum about it                                 |
| jointpos, jointvel                      | joint    | of a joint with one degree of freedom                           |
| ballquat, ballangvel                    | joint    | of a spherical joint                                            |
| jointlimitpos, jointlimitvel            | joint    | how far a limit is violated (negative), and its rate; else zero |
| jointlimitfrc                           | joint    | force of a limit                                                |
| jointactuatorfrc                        | joint    | torque of all actuators                                         |
| actuatorpos, actuatorvel, actuatorfrc   | actuator | length, its rate, force before the gear                         |
| tendonpos, tendonvel                    | tendon   | length, its rate                                                |
| tendonlimitpos, tendonlimitvel          | tendon   | as of joints                                                    |
| tendonactuatorfrc                       | tendon   | sum of the forces of its actuators                              |
| e_potential, e_kinetic                  | nothing  | energies of the robot; potential with that of springs           |
| clock                                   | nothing  | time                                                            |
| rangefinder                             | frame    | distance along its z axis to the nearest shape, or -1           |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isfinite
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from linkwork.conversions import converted
from linkwork.errors import ModelError
from linkwork.inputs import suggest
from linkwork.model.constraints import WORLD
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Spherical
from linkwork.model.shapes import Box, Cylinder, Ellipsoid, Solid, Sphere

if TYPE_CHECKING:
    from linkwork.model.model import Model

FRAME, BODY, JOINT, BALL = "frame", "body", "joint", "spherical joint"
ACTUATOR, TENDON, ROBOT = "actuator", "tendon", ""


class SensorType(NamedTuple):
    """Attachment, output and requirements of a type of sensors."""

    code: int
    """By which kernels know the type."""
    on: str
    """Kind of part that they are on."""
    size: int
    """Numbers that they give."""
    needs: tuple[str, ...] = ()
    """Inputs that they need beside ``q``: names of inputs of `Sensors`."""
    clamp: str = "both"
    """Sides that ``cutoff`` clamps: ``"both"`` sides, ``"above"``, or ``"none"``."""


_ROWS: tuple[tuple[str, str, int, str, str], ...] = (
    ("accelerometer", FRAME, 3, "v a", "both"),
    ("velocimeter", FRAME, 3, "v", "both"),
    ("gyro", FRAME, 3, "v", "both"),
    ("force", FRAME, 3, "v a constraint_forces contacts wrenches", "both"),
    ("torque", FRAME, 3, "v a constraint_forces contacts wrenches", "both"),
    ("magnetometer", FRAME, 3, "", "both"),
    ("touch", FRAME, 1, "contacts", "above"),
    ("insidesite", FRAME, 1, "", "none"),
    ("framepos", FRAME, 3, "", "both"),
    ("framequat", FRAME, 4, "", "none"),
    ("framexaxis", FRAME, 3, "", "none"),
    ("frameyaxis", FRAME, 3, "", "none"),
    ("framezaxis", FRAME, 3, "", "none"),
    ("framelinvel", FRAME, 3, "v", "both"),
    ("frameangvel", FRAME, 3, "v", "both"),
    ("framelinacc", FRAME, 3, "v a", "both"),
    ("frameangacc", FRAME, 3, "v a", "both"),
    ("subtreecom", BODY, 3, "", "both"),
    ("subtreelinvel", BODY, 3, "v", "both"),
    ("subtreeangmom", BODY, 3, "v", "both"),
    ("jointpos", JOINT, 1, "", "both"),
    ("jointvel", JOINT, 1, "v", "both"),
    ("ballquat", BALL, 4, "", "none"),
    ("ballangvel", BALL, 3, "v", "both"),
    ("jointlimitpos", JOINT, 1, "", "both"),
    ("jointlimitvel", JOINT, 1, "v", "both"),
    ("jointlimitfrc", JOINT, 1, "limit_forces", "above"),
    ("jointactuatorfrc", JOINT, 1, "v commands", "both"),
    ("actuatorpos", ACTUATOR, 1, "", "both"),
    ("actuatorvel", ACTUATOR, 1, "v", "both"),
    ("actuatorfrc", ACTUATOR, 1, "v commands", "both"),
    ("tendonpos", TENDON, 1, "", "both"),
    ("tendonvel", TENDON, 1, "v", "both"),
    ("tendonlimitpos", TENDON, 1, "", "both"),
    ("tendonlimitvel", TENDON, 1, "v", "both"),
    ("tendonactuatorfrc", TENDON, 1, "v commands", "both"),
    ("e_potential", ROBOT, 1, "", "both"),
    ("e_kinetic", ROBOT, 1, "v", "above"),
    ("clock", ROBOT, 1, "time", "above"),
    ("rangefinder", FRAME, 1, "", "both"),
)

SENSOR_TYPES: Mapping[str, SensorType] = MappingProxyType(
    {
        name: SensorType(code, on, size, tuple(needs.split()), clamp)
        for code, (name, on, size, needs, clamp) in enumerate(_ROWS)
    }
)
"""All types that are computed, by name."""

_POSES = ("framepos", "framequat", "framexaxis", "frameyaxis", "framezaxis")
WITH_REFERENCE = (*_POSES, "framelinvel", "frameangvel", "insidesite")
"""Types that may be relative to a frame."""

OUTBOARD = ("force", "torque", "subtreecom", "subtreelinvel", "subtreeangmom", "e_potential")
"""Types that measure the bodies that a part of a body carries."""

RAY_DATA: Mapping[str, int] = MappingProxyType({"dist": 1, "dir": 3, "origin": 3, "point": 3, "normal": 3, "depth": 1})
"""Outputs of a range finder, in this order, and their sizes: distance along z of its frame (-1: nothing is
hit), its direction, its start, the point of the hit, the normal there, and the distance again."""

VOLUMES = (Sphere, Box, Ellipsoid, Cylinder)
"""Solids that volumes of touch sensors may be."""


@converted
@dataclass(frozen=True, eq=False)
class Outboard:
    """A part of a moving body and the bodies that it carries, outboard of a fixed joint that the model has merged.

    A model joins bodies that fixed joints connect; a force sensor at such a joint measures the load of its far side.

    Args:
        inertia: Of the part, in the frame of the moving body (or of the world).
        joints: Joints that start from the part.
        frames: Frames that are on the part, the names of merged bodies among them.
    """

    inertia: Inertia
    joints: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()

    def renamed(self, new: Callable[[str], str]) -> Outboard:
        """A copy under other names.

        Args:
            new: The new name of each joint and frame.
        """
        return replace(self, joints=tuple(map(new, self.joints)), frames=tuple(map(new, self.frames)))


@converted
@dataclass(frozen=True, eq=False)
class Sensor:
    """A sensor: a function of a state and, for some types, of the solution of forward dynamics; see `Sensors`.

    Args:
        name: Its name.
        type: A name of MJCF, such as ``"gyro"``; see docs/how-to/sensors.md.
        of: The frame, body, joint, actuator or tendon that it is on; of energies and the clock, nothing.
        reference: Frame that poses and velocities of frames are relative to; by default the world.
    """

    name: str
    type: str
    of: str = ""
    reference: str = ""
    cutoff: float = 0.0
    """Values are clamped to ± this, as MuJoCo does; 0: they are not."""
    noise: float = 0.0
    """Standard deviation, as the file says; it is not added, as MuJoCo does not."""
    outboard: Outboard | None = None
    """Bodies of a force sensor or a subtree, where these are a part of a moving body; by default, all of the body."""
    magnetic_flux: tuple[float, float, float] = (0.0, -0.5, 0.0)
    """Of a magnetometer: in the world's axes."""
    neutral_quaternion: tuple[float, float, float, float] | None = None
    """Of ``framequat``: its value where joints are at zero (free ones at the origin), which says which of the two
    quaternions of a rotation is meant; by default the product of placements, each with ``w >= 0``."""
    actuators: tuple[str, ...] = ()
    """Of the force of a tendon's actuators: which these are; by default those that pull it by its name."""
    margin: float = 0.0
    """Of sensors of limits: distance at which a limit counts as reached."""
    volume: Solid | None = None
    """Of touch sensors: contacts count whose normals meet it; of ``insidesite``: the volume that is tested."""
    data: tuple[str, ...] = ("dist",)
    """Of a range finder: its outputs, of `RAY_DATA`."""
    exclude: str = ""
    """Of a range finder: the body, or the link that is part of one, whose shapes it does not see."""
    refused: str = ""
    """Why the sensor is not computed. Empty if it can."""
    size: int = field(init=False)
    """Numbers that it gives."""

    def __post_init__(self) -> None:
        if not self.name:
            raise ModelError(f"a sensor ({self.type}) needs a name")
        known = SENSOR_TYPES.get(self.type)
        if known is None and not self.refused:
            raise ModelError(
                f"sensor '{self.name}' is of type '{self.type}', which is none of "
                f"{', '.join(SENSOR_TYPES)}{suggest(self.type, SENSOR_TYPES)}",
                subject=self.name,
            )
        for what, x in (("cutoff", self.cutoff), ("noise", self.noise)):
            if not (isfinite(x) and x >= 0):
                raise ModelError(f"sensor '{self.name}': {what} is {x}, needs a finite number >= 0", subject=self.name)
        if self.type == "rangefinder" and (not self.data or self.data != tuple(x for x in RAY_DATA if x in self.data)):
            raise ModelError(
                f"sensor '{self.name}': data is {self.data}, needs some of {tuple(RAY_DATA)}, in this order",
                subject=self.name,
            )
        size = 0 if known is None else known.size
        size = sum(RAY_DATA[part] for part in self.data) if self.type == "rangefinder" else size
        object.__setattr__(self, "size", size)

    @property
    def needs(self) -> tuple[str, ...]:
        """Inputs of `Sensors` that it needs beside ``q``."""
        return SENSOR_TYPES[self.type].needs

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds that values are clamped to."""
        clamp = SENSOR_TYPES[self.type].clamp
        if self.cutoff == 0 or clamp == "none":
            return -inf, inf
        return (-self.cutoff if clamp == "both" else -inf), self.cutoff

    def renamed(self, new: Callable[[str], str]) -> Sensor:
        """A copy under other names.

        Args:
            new: The new name of each sensor, frame, joint and actuator.
        """
        return replace(
            self,
            name=new(self.name),
            of=new(self.of) if self.of else "",
            reference=new(self.reference) if self.reference else "",
            exclude=new(self.exclude) if self.exclude not in ("", WORLD) else self.exclude,
            outboard=None if self.outboard is None else self.outboard.renamed(new),
            actuators=tuple(map(new, self.actuators)),
        )

    def without(self, why: str) -> Sensor:
        """A copy that is not computed, because the part it is on was removed.

        Args:
            why: The part that is missing.
        """
        return replace(self, refused=why, outboard=None)


def check_sensors(model: Model, sensors: Sequence[Sensor]) -> None:
    """Raise `ModelError` unless names are unique and the model has the part that each sensor is on."""
    taken: set[str] = set()
    for sensor in sensors:
        if sensor.name in taken:
            raise ModelError(f"two sensors are called '{sensor.name}'; give one another name", subject=sensor.name)
        taken.add(sensor.name)
        missing = missing_part(model, sensor)
        if missing:
            raise ModelError(f"sensor '{sensor.name}' ({sensor.type}) {missing}", subject=sensor.name)


def missing_part(model: Model, sensor: Sensor) -> str:
    """The part that a model lacks for a sensor, in words; empty where it lacks none."""
    if sensor.refused:
        return ""
    kind = SENSOR_TYPES[sensor.type]
    if kind.on in (FRAME, BODY):
        return _missing_frames(model, sensor)
    if kind.on in (JOINT, BALL):
        return _wrong_joint(model, sensor, ball=kind.on == BALL)
    if kind.on == ACTUATOR:
        return _wrong_actuator(model, sensor)
    if kind.on == TENDON:
        tendons = {tendon.name: tendon for tendon in model.tendons}
        if sensor.of not in tendons:
            return f"is on tendon '{sensor.of}', which is not there{suggest(sensor.of, tendons)}"
        known = {actuator.name for actuator in model.actuators}
        for name in sensor.actuators:
            if name not in known:
                return f"is about actuator '{name}', which is not there{suggest(name, known)}"
    return ""


def _wrong_actuator(model: Model, sensor: Sensor) -> str:
    actuators = {actuator.name: actuator for actuator in model.actuators}
    if sensor.of not in actuators:
        return f"is on actuator '{sensor.of}', which is not there{suggest(sensor.of, actuators)}"
    for joint, _ in actuators[sensor.of].gears:
        type = model.joint(joint).type
        if sensor.type == "actuatorpos" and type.nq != type.nv:
            return f"is on actuator '{sensor.of}' of joint '{joint}' ({type.kind_name}), whose position is no number"
    return ""


def _missing_frames(model: Model, sensor: Sensor) -> str:
    for name in (sensor.of, *([sensor.reference] if sensor.reference else ())):
        if name not in model.frames:
            return f"is on frame '{name}', which is not there{suggest(name, model.frames)}"
    if sensor.reference and sensor.type not in WITH_REFERENCE:
        return f"has a reference frame '{sensor.reference}'; only {', '.join(WITH_REFERENCE)} have one"
    outboard = sensor.outboard
    if outboard is not None:
        body = model.frames[sensor.of].body
        for joint in outboard.joints:
            if joint not in model.space.indices or model.joint(joint).parent != body:
                return f"is about joint '{joint}', which does not start from body '{body}'"
    if sensor.type.startswith("subtree") and not _carried_mass(model, sensor):
        return f"is about what '{sensor.of}' carries, which has no mass"
    if sensor.type in ("touch", "insidesite") and not isinstance(sensor.volume, VOLUMES):
        return f"has the volume {sensor.volume!r}, needs one of {', '.join(solid.__name__ for solid in VOLUMES)}"
    return ""


def _carried_mass(model: Model, sensor: Sensor) -> float:
    part = outboard_of(model, sensor)
    return part.inertia.mass + sum(model.inertias[body].mass for body in carried_bodies(model, part))


def _wrong_joint(model: Model, sensor: Sensor, ball: bool) -> str:
    if sensor.of not in model.space.indices:
        near = suggest(sensor.of, model.space.indices)
        return f"is on joint '{sensor.of}', which does not move or does not exist{near}"
    type = model.joint(sensor.of).type
    if ball and not isinstance(type, Spherical):
        return f"is on joint '{sensor.of}' ({type.kind_name}), which is not spherical"
    if not ball and type.nq != 1:
        return f"is on joint '{sensor.of}' ({type.kind_name}), which has {type.nq} coordinates, not one"
    return ""


def outboard_of(model: Model, sensor: Sensor) -> Outboard:
    """The mass and joints outboard of a force sensor, a subtree or an energy sensor."""
    if sensor.outboard is not None:
        return sensor.outboard
    body = model.frames[sensor.of].body if sensor.of else WORLD
    joints = tuple(joint.name for joint in model.joints if joint.parent == body)
    frames = tuple(name for name, frame in model.frames.items() if frame.body == body)
    return Outboard(model.base_inertia if body == WORLD else model.inertias[body], joints, frames)


def carried_bodies(model: Model, part: Outboard) -> tuple[str, ...]:
    """The moving bodies that a part carries."""
    carried: dict[str, None] = {}
    for joint in model.joints:  # parents come first
        if joint.name in part.joints or joint.parent in carried:
            carried[joint.child] = None
    return tuple(carried)
