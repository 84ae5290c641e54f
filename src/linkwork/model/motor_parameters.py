# SPDX-License-Identifier: BSD-3-Clause
"""Parameters of motors: numbers that may differ from robot to robot.

Structure stays that of the model: states of integrals and delays, and whether a motor has a curve or friction at all. A
parameter has a row for each motor that has such a number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import isfinite
from types import MappingProxyType
from typing import Any, NamedTuple

from linkwork.inputs import not_negative
from linkwork.model.arrays import Floats
from linkwork.model.model import Model
from linkwork.model.motors import Motor
from linkwork.model.parameter import Parameter, check_above_zero


class MotorNumber(NamedTuple):
    """Numbers of motors that may differ from robot to robot: a parameter."""

    what: str
    """The part of a motor that has them."""
    has: Callable[[Motor], object]
    """Whether it has."""
    own: Callable[[Motor], Any]
    """Its numbers."""
    changed: Callable[[Motor, Any], Motor]
    """A motor with others."""
    shape: tuple[int, ...] = ()


def _number(what: str, field: str, has: Callable[[Motor], object]) -> MotorNumber:
    def changed(motor: Motor, x: Any) -> Motor:
        fields: dict[str, Any] = {field: float(x)}
        return replace(motor, **fields)

    return MotorNumber(what, has, lambda motor: getattr(motor, field), changed)


def _frictions(motor: Motor) -> tuple[float, float]:
    return motor.coulomb, motor.coulomb if motor.static is None else motor.static


def _with_network_scale(motor: Motor, x: Any) -> Motor:
    return motor if motor.network is None else replace(motor, network=replace(motor.network, scale=float(x)))


MOTOR_NUMBERS: Mapping[str, MotorNumber] = MappingProxyType(
    {
        "motor_stall": _number("a stall force", "stall", lambda m: isfinite(m.stall)),
        "motor_no_load": _number("a rate without load", "no_load", lambda m: isfinite(m.no_load)),
        "motor_friction": MotorNumber(
            "friction",
            lambda m: m.rubs,
            _frictions,
            lambda m, x: replace(m, coulomb=float(x[0]), static=float(x[1])),
            shape=(2,),
        ),
        "motor_stribeck": _number("friction", "stribeck", lambda m: m.rubs),
        "motor_integral": _number("an integral", "integral", lambda m: m.integral > 0),
        "motor_delay": _number("a delay", "delay", lambda m: m.delay > 0),
        "motor_backlash": _number("backlash", "backlash", lambda m: m.backlash > 0),
        "motor_network": MotorNumber(
            "a network",
            lambda m: m.network is not None,
            lambda m: 1.0 if m.network is None else m.network.scale,
            _with_network_scale,
        ),
    }
)
"""Numbers of motors, by the names of parameters."""


def motor_rows(robot: Model, name: str) -> list[int]:
    """Numbers of the actuators whose motors have a parameter.

    Args:
        robot: The mechanism.
        name: The parameter, see `MOTOR_NUMBERS`.
    """
    has = MOTOR_NUMBERS[name].has
    return [k for k, actuator in enumerate(robot.actuators) if actuator.motor is not None and has(actuator.motor)]


def _of_motors(name: str) -> Parameter:
    number = MOTOR_NUMBERS[name]

    def motors(robot: Model) -> list[Motor]:
        return [motor for k in motor_rows(robot, name) if (motor := robot.actuators[k].motor) is not None]

    def changes(robot: Model, x: Floats) -> dict[str, Any]:
        actuators = list(robot.actuators)
        for k, motor, row in zip(motor_rows(robot, name), motors(robot), x, strict=True):
            actuators[k] = replace(actuators[k], motor=number.changed(motor, row))
        return {"actuators": tuple(actuators)}

    return Parameter(
        f"motors with {number.what}",
        number.shape,
        lambda robot: [robot.actuators[k].name for k in motor_rows(robot, name)],
        lambda robot: [number.own(motor) for motor in motors(robot)],
        changes,
        check_above_zero if name in ("motor_no_load", "motor_stribeck") else not_negative,
        most=None if name != "motor_delay" else lambda robot: [motor.registers for motor in motors(robot)],
    )


MOTOR_PARAMETERS: Mapping[str, Parameter] = MappingProxyType({name: _of_motors(name) for name in MOTOR_NUMBERS})
"""Parameters of motors, by name."""
