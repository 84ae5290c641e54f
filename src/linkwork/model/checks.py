# SPDX-License-Identifier: BSD-3-Clause
"""Checks of arguments that are about models."""

from __future__ import annotations

from collections.abc import Iterable

from linkwork.errors import InputError, LinkworkError, UnsupportedFeature
from linkwork.model.model import Model

A_TENDON = "a Tendon, such as Tendon('cable', path=('anchor', 'tip'))"
A_SENSOR = "a Sensor, such as Sensor('spin', 'gyro', 'torso')"
"""Requirements of `check_all`, in words."""


def check_robot(robot: object) -> None:
    """Raise an `InputError` unless ``robot`` is a mechanism."""
    if not isinstance(robot, Model):
        raise InputError(f"robot is {type(robot).__name__}, needs a Mechanism (from load, Builder or compose)")


def check_all(items: Iterable[object], kind: type, words: str, error: type[LinkworkError] = InputError) -> None:
    """Raise an error unless all are of one kind.

    Args:
        items: The argument.
        kind: Their class.
        words: The expected type, with an example.
        error: Class of the error.
    """
    for item in items:
        if not isinstance(item, kind):
            raise error(f"{item!r} is not {words}")


def refuse_laws(robot: Model, what: str, *, motions: bool = True) -> None:
    """Raise `UnsupportedFeature` where a robot has functions that cannot be changed with it.

    Args:
        robot: The mechanism.
        what: Name of the object, for the error.
        motions: Whether constraints that follow time are refused, too.
    """
    moving = [c for c in robot.constraints if c.motion is not None] if motions else []
    laws = [*robot.forces, *moving]
    if laws:
        raise UnsupportedFeature(
            f"{laws[0]} of '{robot.name}' is defined by functions or tables, which {what} cannot transform: "
            "leave it out, and add a new one to the result"
        )
