# SPDX-License-Identifier: BSD-3-Clause
"""External wrenches that are functions of time and state: force elements of the robot that is simulated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any

from linkwork.errors import InputError
from linkwork.model.forces import Force
from linkwork.model.model import Model


class _Entries:
    """Coordinates or velocities by their place in q or v, of joints with one each."""

    def __init__(self, name: str, places: Mapping[int, Any], size: int) -> None:
        self._name, self._places, self._size = name, places, size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, k: int) -> Any:
        place = range(self._size)[k]
        if place not in self._places:
            raise InputError(
                f"a wrench reads {self._name}[{place}], of a joint with several coordinates, needs one with one"
            )
        return self._places[place]


def with_wrench_functions(robot: Model, wrenches: Any) -> tuple[Model, Any]:
    """The robot with a force element for each wrench that is a function, and the wrenches that are numbers.

    Args:
        robot: The mechanism.
        wrenches: Arrays, or functions ``f(t)`` or ``f(t, q, v)`` that return ``[moment, force]`` in the axes of their
            frame, by frame.
    """
    if not isinstance(wrenches, Mapping) or not any(callable(values) for values in wrenches.values()):
        return robot, wrenches
    functions = {name: values for name, values in wrenches.items() if callable(values)}
    numbers = {name: values for name, values in wrenches.items() if not callable(values)}
    elements = tuple(_element(robot, name, function) for name, function in functions.items())
    return replace(robot, forces=(*robot.forces, *elements)), numbers or None


def _element(robot: Model, frame: str, function: Callable[..., Any]) -> Force:
    """The force element of one function."""
    robot.frame(frame)
    name = f"wrench on {frame}"
    try:
        parameters = signature(function).parameters
    except ValueError as error:  # of some builtin types
        needed = "needs numbers or a function of t, or of t, q, v"
        raise InputError(f"the wrench on '{frame}' is {function!r}, {needed}") from error
    if len(parameters) < 2:
        return Force(frame, function, name=name, axes="local")
    joints = tuple(joint.name for joint in robot.joints if joint.type.nq == 1)

    def by_places(t: Any, x: Sequence[Any], rate: Sequence[Any]) -> Any:
        q = {robot.q_index(joint): value for joint, value in zip(joints, x, strict=True)}
        v = {robot.v_index(joint): value for joint, value in zip(joints, rate, strict=True)}
        return function(t, _Entries("q", q, robot.nq), _Entries("v", v, robot.nv))

    return Force(frame, by_places, name=name, axes="local", watched=joints)
