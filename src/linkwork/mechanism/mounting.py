# SPDX-License-Identifier: BSD-3-Clause
"""A mechanism as a part of another: under which names, on which body and by which of its frames."""

from __future__ import annotations

import warnings
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from linkwork.errors import ModelError, ModelWarning
from linkwork.mechanism.outboard import SensorOnGraph
from linkwork.model.arrays import Floats
from linkwork.model.checks import refuse_laws
from linkwork.model.constraints import WORLD
from linkwork.model.contacts import ContactPair, contact_shapes
from linkwork.model.joints import Free
from linkwork.model.model import Model
from linkwork.model.parts import Actuator, Frame, mocap_frames
from linkwork.model.placement import Placement
from linkwork.model.sensors import OUTBOARD, Sensor, outboard_of
from linkwork.model.shapes import Ground, HeightField


@dataclass(frozen=True, eq=False)
class Part:
    """A mechanism that becomes a part of another: names get a prefix, its world becomes ``at`` on the body ``to``."""

    other: Model
    prefix: str
    to: str
    at: Placement
    frame: Frame
    """The part that is at ``at``: the part's world, or a frame on a body of a part that floats."""
    released: str = ""
    """The free joint of a part that floats, whose place a fixed one takes."""

    @staticmethod
    def of(other: Model, prefix: str, to: str, at: Placement, by: str) -> Part:
        """The part that a mechanism becomes if its frame ``by`` is put at ``at``."""
        refuse_laws(other, "a part of another mechanism", motions=False)
        if still := mocap_frames(other.frames):
            message = f"mocap bodies of '{other.name}' are fixed in the new mechanism: {', '.join(still)}"
            warnings.warn(message, ModelWarning, stacklevel=4)
        frame = other.frames[by] if by != WORLD else Frame(WORLD, WORLD, Placement())
        if frame.body == WORLD:
            return Part(other, prefix, to, at * frame.placement.inverse(), Frame(WORLD, WORLD, Placement()))
        roots = [joint for joint in other.joints if joint.parent == WORLD]
        if len(roots) != 1 or not isinstance(roots[0].type, Free):
            raise ModelError(
                f"'{by}' moves relative to the world of '{other.name}', in which joint '{roots[0].name}' holds it: "
                "give a frame that is fixed there, or load the mechanism with a floating base",
                subject=by,
            )
        for constraint in other.constraints:
            if WORLD in {other.frames[place].body for place in constraint.places}:
                raise ModelError(
                    f"{constraint} holds '{other.name}' in its world; use unconstrained('{constraint.name}') first",
                    subject=constraint.name,
                )
        return Part(other, prefix, to, at, frame, roots[0].name)

    @property
    def grip(self) -> Placement:
        """Where ``frame`` is in the frame that users see of its body."""
        return self.other.frames[self.frame.body].placement.inverse() * self.frame.placement

    def takes(self, body: str) -> bool:
        """Whether items on a body are copied: those on the world of a floating part are not."""
        return body != WORLD or not self.released

    def kept_pairs(self) -> tuple[ContactPair, ...]:
        """Pairs that may touch also in the whole: not those with a wall that a part that floats leaves behind."""
        left_behind = [s for s in contact_shapes(self.other.contacts) if not self.takes(s.body)]
        walls = {s.name for s in left_behind if not isinstance(s.solid, Ground | HeightField)}
        return tuple(c for c in self.other.contacts if not walls & {c.first.name, c.second.name})

    def named(self, name: str) -> str:
        """A name of the part in the whole."""
        return f"{self.prefix}/{name}" if self.prefix else name

    def moved(self, body: str, placement: Placement) -> tuple[str, Placement]:
        """Body and placement in the whole of a frame on a body of the part."""
        if body == WORLD:
            return self.to, self.at * placement
        return self.named(body), self.other.frames[body].placement.inverse() * placement

    @property
    def stays(self) -> bool:
        """Whether its world is the world of the whole."""
        return self.to == WORLD and not self.at.position.any() and np.array_equal(self.at.rotation, np.eye(3))

    def place(self, frame: str) -> str:
        """Name in the whole of a frame of the part; its world has one only where that stays the world."""
        if frame == WORLD and not self.stays:
            raise ModelError(f"a tendon of '{self.other.name}' passes the origin of its world: name a frame there")
        return WORLD if frame == WORLD else self.named(frame)

    def add_activations(self, known: dict[str, dict[str, float]], commands: dict[str, dict[str, float]]) -> None:
        """Add activations and commands in its poses, by the names that actuators have in the whole."""
        every = [self.named(actuator.name) for actuator in self.other.actuators]
        for pose, ctrl in self.other.commands.items():
            commands.setdefault(pose, {}).update(zip(every, ctrl.tolist(), strict=True))
        names = [state for a in self.other.actuators for state in replace(a, name=self.named(a.name)).states]
        for pose, act in self.other.activations.items():
            known.setdefault(pose, {}).update(zip(names, act.tolist(), strict=True))

    def sensor(self, sensor: Sensor) -> SensorOnGraph:
        """The copy of a sensor."""
        frame = self.other.frames.get(sensor.of)
        copy = sensor.renamed(lambda name: WORLD if name == WORLD and self.stays else self.named(name))
        if not self.stays:
            copy = replace(copy, neutral_quaternion=None)
        if sensor.refused or sensor.type not in OUTBOARD or frame is None:
            return SensorOnGraph(replace(copy, outboard=None), lenient=True)
        if sensor.outboard is None and frame.body != WORLD:
            return SensorOnGraph(copy, lenient=True)
        outboard = outboard_of(self.other, sensor).renamed(self.named)
        body, at = self.moved(frame.body, Placement())
        copy = replace(copy, outboard=replace(outboard, inertia=outboard.inertia.moved(at)))
        return SensorOnGraph(copy, body, lenient=True)


def activations_of(actuators: Sequence[Actuator], known: Mapping[str, Mapping[str, float]]) -> dict[str, Floats]:
    """Activations of all actuators in poses, from those known by pose and actuator; zero where one is not known."""
    names = [state for actuator in actuators for state in actuator.states]
    return {pose: np.array([act.get(name, 0.0) for name in names]) for pose, act in known.items()}


def commands_of(actuators: Sequence[Actuator], known: Mapping[str, Mapping[str, float]]) -> dict[str, Floats]:
    """Commands of all actuators in poses, from those known by pose and actuator; zero where one is not known."""
    return {pose: np.array([u.get(actuator.name, 0.0) for actuator in actuators]) for pose, u in known.items()}


def pose_of(tree: Model, joints: Container[str], name: str, positions: Mapping[str, Floats]) -> Floats:
    """The configuration q of a named pose; of ``joints``, those that are not in the tree have no coordinates."""
    q = tree.neutral()
    for joint, values in positions.items():
        if joint not in joints:
            raise ModelError(f"pose '{name}' names joint '{joint}', which does not exist", subject=name)
        if joint in tree.joint_names:
            at = tree.q_slice(joint)
            if values.size != at.stop - at.start:
                raise ModelError(f"pose '{name}': joint '{joint}' has {at.stop - at.start} numbers", subject=name)
            q[at] = values
    return q
