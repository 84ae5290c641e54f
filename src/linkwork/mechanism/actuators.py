# SPDX-License-Identifier: BSD-3-Clause
"""Actuators as users give them to a `Builder`, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.parts import Actuator


def checked_actuator(
    name: str,
    joint: str,
    gear: float | Sequence[float],
    limits: Mapping[str, tuple[float, float]],
    law: Mapping[str, Sequence[float]],
    also: Mapping[str, float] | Sequence[tuple[str, float]],
    **options: Any,
) -> Actuator:
    """An actuator with ``limits`` of its command, force and activation, and the gain and bias of its ``law``."""
    ranges = {}
    for what, (low, high) in limits.items():
        if not float(low) <= float(high):
            raise ModelError(
                f"actuator '{name}' has {what} limits {low} to {high}; the first must not be greater", subject=name
            )
        ranges[what] = (float(low), float(high))
    affine = {}
    for what, value in law.items():
        numbers = tuple(float(x) for x in value)
        if len(numbers) != 3 or not np.isfinite(numbers).all():
            raise ModelError(f"actuator '{name}': {what} is {numbers}, needs 3 finite numbers", subject=name)
        affine[what] = (numbers[0], numbers[1], numbers[2])
    if not joint and not options.get("tendon") and not options.get("body"):
        raise ModelError(f"actuator '{name}' has no target; give a joint, a tendon or a body", subject=name)
    return Actuator(
        name,
        joint,
        tuple(np.asarray(gear, dtype=np.float64).reshape(-1).tolist()),
        limits=ranges["command"],
        gain=affine["gain"],
        bias=affine["bias"],
        force_limits=ranges["force"],
        also=tuple(dict(also).items()),
        activation_limits=ranges["activation"],
        **options,
    )
