# SPDX-License-Identifier: BSD-3-Clause
"""Checks of arguments that are about models."""

from __future__ import annotations

from collections.abc import Iterable

from linkwork.errors import InputError, LinkworkError
from linkwork.model.model import Model

A_TENDON = "a Tendon, such as Tendon('cable', path=('anchor', 'tip'))"
A_SENSOR = "a Sensor, such as Sensor('spin', 'gyro', 'torso')"
"""What `check_all` says is needed."""


def check_robot(robot: object) -> None:
    """Raise an `InputError` unless ``robot`` is a mechanism."""
    if not isinstance(robot, Model):
        raise InputError(f"robot is {type(robot).__name__}, needs a Mechanism (from load, Builder or compose)")


def check_all(items: Iterable[object], kind: type, words: str, error: type[LinkworkError] = InputError) -> None:
    """Raise an error unless all are of one kind.

    Args:
        items: What was given.
        kind: Their class.
        words: What they have to be, with an example.
        error: Class of the error.
    """
    for item in items:
        if not isinstance(item, kind):
            raise error(f"{item!r} is not {words}")
