# SPDX-License-Identifier: BSD-3-Clause
"""Checks of arguments that are about models."""

from __future__ import annotations

from linkwork.errors import InputError
from linkwork.model.model import Model


def check_robot(robot: object) -> None:
    """Raise an `InputError` unless ``robot`` is a mechanism."""
    if not isinstance(robot, Model):
        raise InputError(f"robot is {type(robot).__name__}, needs a Mechanism (from load, Builder or compose)")
