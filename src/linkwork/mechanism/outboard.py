# SPDX-License-Identifier: BSD-3-Clause
"""Sensors of mechanisms that are built, joined, cut and merged: their frames, and the bodies outboard of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from linkwork.mechanism.topology import Graph, Tree
from linkwork.model.constraints import WORLD
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Fixed
from linkwork.model.model import Model
from linkwork.model.sensors import OUTBOARD, Outboard, Sensor, carried_bodies, missing_part, outboard_of
from linkwork.model.spanning import Spanning


@dataclass(frozen=True, eq=False)
class SensorOnGraph:
    """A sensor of a graph of bodies.

    Args:
        sensor: The sensor; its `outboard`, if it has one, is in the frame of ``body``.
        body: The body of the graph that this is on.
        lenient: Whether a sensor whose body or frame is missing is marked as not computed, in place of an error.
    """

    sensor: Sensor
    body: str = WORLD
    lenient: bool = False


class OutboardParts:
    """The parts outboard of fixed joints of a graph, after these were merged.

    Args:
        graph: Bodies, joints and frames.
        spanning: Its spanning tree.
        tree: Its moving bodies.
    """

    def __init__(self, graph: Graph, spanning: Spanning, tree: Tree) -> None:
        self._graph, self._tree = graph, tree
        self._fixed: dict[str, list[str]] = {}
        self._moving: dict[str, list[str]] = {}
        self._named: dict[str, str] = {}
        """Frames that have the names of fixed joints: the bodies behind these."""
        for name, reversed_ in spanning.order:
            joint = graph.joints[name].joint
            start, end = (joint.child, joint.parent) if reversed_ else (joint.parent, joint.child)
            if isinstance(joint.type, Fixed):
                self._fixed.setdefault(start, []).append(end)
                self._named[name] = end
            else:
                self._moving.setdefault(start, []).append(name)

    def of(self, placed: SensorOnGraph, model: Model) -> Sensor:
        """The sensor with the bodies outboard of it.

        Args:
            placed: A sensor of the graph.
            model: The model of the graph, without sensors.
        """
        sensor = self._with_part(placed)
        return _computed(model, sensor) if placed.lenient else sensor

    def _with_part(self, placed: SensorOnGraph) -> Sensor:
        sensor = placed.sensor
        if sensor.refused or sensor.type not in OUTBOARD:
            return sensor
        if sensor.outboard is not None:
            at = self._tree.home[placed.body][1]
            return replace(sensor, outboard=replace(sensor.outboard, inertia=sensor.outboard.inertia.moved(at)))
        body = self._body(sensor.of) if sensor.of else WORLD
        if body not in self._tree.home:
            return sensor  # on a frame that is not there, as the model will say
        whole = self._tree.home[body][0] == body
        return sensor if whole else replace(sensor, outboard=self._part(body))

    def _body(self, frame: str) -> str:
        """The body of the graph that a frame is on."""
        if frame in self._graph.frames:
            return self._graph.frames[frame].body
        return frame if frame in self._graph.inertias or frame == WORLD else self._named.get(frame, frame)

    def _part(self, body: str) -> Outboard:
        """A body, the bodies fixed to it outboard, and the joints that start from these."""
        bodies = [body]
        for one in bodies:
            bodies += self._fixed.get(one, [])
        masses = [self._graph.inertias[one].moved(self._tree.home[one][1]) for one in bodies if one != WORLD]
        on = set(bodies)
        frames = [name for name, frame in self._graph.frames.items() if frame.body in on]
        frames += [name for name, one in self._named.items() if one in on]
        joints = tuple(name for one in bodies for name in self._moving.get(one, ()))
        return Outboard(sum(masses, Inertia.zero()), joints, (*bodies, *frames))


def locked_sensors(robot: Model, tree: Tree, locked: Mapping[str, object], reduced: Model) -> tuple[Sensor, ...]:
    """The sensors of a robot of which joints were locked.

    Args:
        robot: The robot before.
        tree: Its bodies after.
        locked: Names of locked joints.
        reduced: The robot after, without sensors.
    """
    sensors = []
    for sensor in robot.sensors:
        if sensor.type in OUTBOARD and not sensor.refused:
            sensor = _with_locked(robot, tree, locked, sensor)
        elif sensor.type == "actuatorpos" and not sensor.refused:
            sensor = _of_moving_joints(robot, locked, sensor)
        sensors.append(replace(_computed(reduced, sensor), neutral_quaternion=None))
    return tuple(sensors)


def _of_moving_joints(robot: Model, locked: Mapping[str, object], sensor: Sensor) -> Sensor:
    """The sensor of an actuator's length, which is not computed where it is that of locked joints, too."""
    actuator = next(a for a in robot.actuators if a.name == sensor.of)
    held = [joint for joint, _ in actuator.gears if joint in locked]
    return (
        sensor.without(f"joint '{held[0]}', a part of the length of '{actuator.name}', is locked") if held else sensor
    )


def _with_locked(robot: Model, tree: Tree, locked: Mapping[str, object], sensor: Sensor) -> Sensor:
    body = robot.frames[sensor.of].body if sensor.of else WORLD
    home, at = tree.home[body]
    if sensor.outboard is None and home == body:
        return sensor
    part = outboard_of(robot, sensor)
    inertia, joints, frames = part.inertia.moved(at), [], list(part.frames)
    waiting = list(part.joints)
    while waiting:
        joint = robot.joint(waiting.pop(0))
        if joint.name not in locked:
            joints.append(joint.name)
            continue
        inertia = inertia + robot.inertias[joint.child].moved(tree.home[joint.child][1])
        frames += [name for name, frame in robot.frames.items() if frame.body == joint.child]
        waiting += [other.name for other in robot.joints if other.parent == joint.child]
    return replace(sensor, outboard=Outboard(inertia, tuple(joints), tuple(frames)))


def kept_sensors(robot: Model, reduced: Model) -> tuple[Sensor, ...]:
    """The sensors of a robot of which bodies were left out: those that are on something that is still there.

    Args:
        robot: The robot before.
        reduced: The robot after, without sensors.
    """
    sensors = []
    for sensor in robot.sensors:
        part = sensor.outboard
        if part is not None:
            joints = tuple(name for name in part.joints if name in reduced.space.indices)
            frames = tuple(name for name in part.frames if name in reduced.frames)
            sensor = replace(sensor, outboard=replace(part, joints=joints, frames=frames))
        if not missing_part(reduced, sensor):
            sensors.append(sensor)
    return tuple(sensors)


def sensors_on_tree(robot: Model, rebuilt: Model) -> tuple[Sensor, ...]:
    """The sensors of a robot on another spanning tree; those that would measure something else are not computed.

    Args:
        robot: The robot before.
        rebuilt: The robot after, without sensors.
    """
    sensors = []
    for sensor in robot.sensors:
        sensor = _computed(rebuilt, sensor)
        if sensor.type in OUTBOARD and sensor.of and not sensor.refused and not _same_part(robot, rebuilt, sensor):
            sensor = sensor.without(f"another spanning tree has other bodies outboard of '{sensor.of}'")
        sensors.append(sensor)
    return tuple(sensors)


def _computed(model: Model, sensor: Sensor) -> Sensor:
    """The sensor; marked as not computed where the model lacks its body or frame."""
    missing = missing_part(model, sensor)
    return sensor.without(f"it {missing}") if missing else sensor


def _same_part(robot: Model, rebuilt: Model, sensor: Sensor) -> bool:
    """Whether the same joint carries the same bodies."""
    before, after = (_inboard(one, sensor) for one in (robot, rebuilt))
    parts = outboard_of(robot, sensor), outboard_of(rebuilt, sensor)
    if before != after or (sensor.outboard is None and set(parts[0].frames) != set(parts[1].frames)):
        return False
    return set(carried_bodies(robot, parts[0])) == set(carried_bodies(rebuilt, parts[1]))


def _inboard(model: Model, sensor: Sensor) -> Sequence[str]:
    """The joint that carries the body of a sensor, and the body from which it starts."""
    body = model.frames[sensor.of].body
    return next(((joint.name, joint.parent, joint.child) for joint in model.joints if joint.child == body), ())
