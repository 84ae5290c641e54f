# SPDX-License-Identifier: BSD-3-Clause
"""Sensors of a robot as a function of its state, and of accelerations and forces where they need these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from linkwork.compilers.program import Backend, Program
from linkwork.conversions import converted
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.kernels.sensors.readings import needed_inputs, sensors_of
from linkwork.model.checks import check_robot
from linkwork.model.model import Model
from linkwork.model.named import Named
from linkwork.model.sensors import Sensor
from linkwork.model.shapes import Mesh, Shape
from linkwork.plans.rays import sensed_shapes
from linkwork.plans.sensors import sensor_tree
from linkwork.quantities.arguments import Array, frame_names
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.product_attributes import differentiable
from linkwork.quantities.rays import check_straight_line, native_on_device


class SensorValues(Mapping[str, Array]):
    """Values of sensors by name, ``(..., size)`` each.

    Args:
        values: Of all sensors in a row, ``(..., size)``.
        slices: Where each sensor has its numbers.
    """

    __slots__ = ("_slices", "vector")

    vector: Array
    """All values in a row, ``(..., size)``."""

    def __init__(self, values: Array, slices: Named[slice]) -> None:
        self.vector, self._slices = values, slices

    def __getitem__(self, name: str) -> Array:
        part: Array = self.vector[..., self._slices[name]]
        return part

    def __iter__(self) -> Iterator[str]:
        return iter(self._slices)

    def __len__(self) -> int:
        return len(self._slices)

    def __repr__(self) -> str:
        return f"SensorValues({', '.join(f'{name}={self[name]!r}' for name in self)})"


@differentiable
class Sensors(BaseEvaluator):
    """Sensors of one robot, ready to call: ``sensors(q, v, a)`` are the values of all of them in a row.

    `inputs` names the inputs of a call: ``q``, and those of the others that the chosen sensors need, in this order:

    | input               | shape               | meaning                                                             |
    |---------------------|---------------------|---------------------------------------------------------------------|
    | `q`                 | `(..., nq)`         | configuration                                                       |
    | `v`                 | `(..., nv)`         | joint velocities                                                    |
    | `a`                 | `(..., nv)`         | joint accelerations, such as ``solution.acceleration``              |
    | `constraint_forces` | `(..., nc)`         | forces of constraints, ``solution.multipliers``                     |
    | `commands`          | `(..., nu + na)`    | commands of the actuators, and after them their activations         |
    | `contacts`          | `(..., nslots, 12)` | point, normal, force and moment of contacts, in the world           |
    | `limit_forces`      | `(..., nv)`         | torques of joint limits                                             |
    | `time`              | `(..., 1)`          | seconds                                                             |
    | `wrenches`          | `(..., frames, 6)`  | external wrenches at ``frames``, each in its axes; may be left out  |

    `sensor_data` finds them in the solution of forward dynamics or of a step with contacts.

    Args:
        robot: The mechanism.
        names: Names of sensors, in the order of their values; by default all that are computed, in that of the robot.
        frames: Frames that external wrenches act on, which force sensors measure.
        contacts: Whether sensors measure contact forces; by default where the robot has contact pairs.
        threads: Threads that share a large batch; by default as many as there are cores.
    """

    @converted
    def __init__(
        self,
        robot: Model,
        names: str | Sequence[str] | None = None,
        frames: str | Sequence[str] = (),
        contacts: bool | None = None,
        threads: int | None = None,
    ) -> None:
        check_robot(robot)
        self.sensors = _chosen(robot, names)
        """The sensors, in the order of their values."""
        acted_on = frame_names(frames)
        needs = _given(robot, self.sensors, bool(acted_on), contacts)
        for sensor in self.sensors:
            _check(robot, sensor)

        def program() -> Program:
            return Program.of_robot(robot, sensors_of(needs), sensor_tree(robot, self.sensors, acted_on, needs))

        chosen = tuple(sensor.name for sensor in self.sensors)
        arguments = {"robot": robot, "names": chosen, "frames": acted_on, "contacts": contacts}
        super().__init__(robot, "sensors", program, arguments, acted_on, threads)
        self.inputs = needs
        """Names of the inputs of a call, in their order."""

    def _adapted(self, backend: Backend) -> Backend:
        return native_on_device(backend, self._seen())

    def _check_backend(self, backend: Backend) -> None:
        check_straight_line(backend, self._seen(), "range finders")

    def _seen(self) -> list[Shape]:
        """All that range finders see."""
        finders = [sensor for sensor in self.sensors if sensor.type == "rangefinder"]
        return [shape for sensor in finders for shape in sensed_shapes(self.robot, sensor)]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the sensors, in the order of their values."""
        return tuple(sensor.name for sensor in self.sensors)

    @property
    def slices(self) -> Named[slice]:
        """Where each sensor has its numbers."""
        return self.keep("slices", self._slices)

    def _slices(self) -> Named[slice]:
        slices, start = {}, 0
        for sensor in self.sensors:
            slices[sensor.name] = slice(start, start + sensor.size)
            start += sensor.size
        return Named(self.robot.name, "sensor among those that were chosen,", slices)

    @property
    def size(self) -> int:
        """Numbers of all sensors."""
        return sum(sensor.size for sensor in self.sensors)

    def by_name(self, values: Array) -> SensorValues:
        """Values by the names of sensors, ``(..., size)`` each.

        Args:
            values: Result of a call, ``(..., size)``.
        """
        if values.shape[-1] != self.size:
            raise InputError(f"values have {values.shape[-1]} numbers in the last axis, these sensors {self.size}")
        return SensorValues(values, self.slices)


def _chosen(robot: Model, names: str | Sequence[str] | None) -> tuple[Sensor, ...]:
    if names is None:
        sensors = tuple(sensor for sensor in robot.sensors if not (sensor.refused or _unseen_mesh(robot, sensor)))
    else:
        sensors = tuple(robot.sensor(name) for name in ([names] if isinstance(names, str) else names))
        for sensor in sensors:
            if sensor.refused:
                raise UnsupportedFeature(
                    f"sensor '{sensor.name}' ({sensor.type}) of '{robot.name}' is not computed: {sensor.refused}",
                    subject=sensor.name,
                )
            if sensors.count(sensor) > 1:
                raise InputError(f"sensor '{sensor.name}' is named twice")
    if names is not None and not sensors:
        raise InputError("names of sensors is empty; by default, names=None, all are computed")
    if not sensors:
        why = "; ".join(f"'{s.name}' ({s.type}): {s.refused}" for s in robot.sensors[:3])
        raise InputError(
            f"robot '{robot.name}' has no sensors that are computed{f' ({why})' if why else ''}: add some with "
            "robot.with_sensors(...)"
        )
    return sensors


def _unseen_mesh(robot: Model, sensor: Sensor) -> str:
    """The name of a mesh that a range finder would see, whose file was not found."""
    if sensor.type == "rangefinder":
        for shape in sensed_shapes(robot, sensor):
            if isinstance(shape.solid, Mesh) and not shape.solid.is_found:
                return shape.solid.name
    return ""


def _given(robot: Model, sensors: Sequence[Sensor], wrenches: bool, contacts: bool | None) -> tuple[str, ...]:
    """Inputs that these sensors of this robot need."""
    needs: set[str] = {name for sensor in sensors for name in sensor.needs}
    if any(sensor.type in ("force", "torque") for sensor in sensors) and any(a.tendon for a in robot.actuators):
        needs.add("commands")  # of what pulls tendons from body to body
    if contacts and not robot.contacts:
        raise InputError(f"contacts=True, but '{robot.name}' has no contact pairs: add some with with_contacts(...)")
    there: dict[str, Any] = {
        "constraint_forces": robot.nc,
        "contacts": robot.contacts and contacts is not False,
        "wrenches": wrenches,
    }
    return needed_inputs(name for name in needs if there.get(name, True))


def _check(robot: Model, sensor: Sensor) -> None:
    """Raise an error where a robot lacks the object of a sensor."""
    mesh = _unseen_mesh(robot, sensor)
    if mesh:
        raise InputError(
            f"sensor '{sensor.name}' (rangefinder) of '{robot.name}' sees mesh '{mesh}', whose file was not found"
        )
    if sensor.type == "touch" and not robot.contacts:
        raise InputError(
            f"sensor '{sensor.name}' (touch) of '{robot.name}' measures contact forces, but there are no contacts: "
            "add them by robot.with_contacts(...)"
        )
    if "commands" in sensor.needs:
        for actuator in robot.actuators:
            if actuator.refused:
                raise UnsupportedFeature(
                    f"sensor '{sensor.name}' ({sensor.type}) of '{robot.name}' needs the force of actuator "
                    f"'{actuator.name}', {actuator.refused}, which is not modeled",
                    subject=sensor.name,
                )
