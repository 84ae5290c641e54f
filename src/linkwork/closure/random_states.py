# SPDX-License-Identifier: BSD-3-Clause
"""Random states of a mechanism: within its limits, loops closed, velocities as the loops allow."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import NamedTuple

import numpy as np

from linkwork.closure.assembly import assemble
from linkwork.closure.evaluators import project_velocity
from linkwork.errors import AssemblyError, InputError
from linkwork.inputs import batch_shape, random_generator
from linkwork.model.arrays import Floats
from linkwork.model.model import Model

DRAWS = 50
"""Number of times that states that do not close are drawn again."""
TRIES = 3
"""Attempts to close one of them."""


class RandomStates(NamedTuple):
    """States of a robot."""

    q: Floats
    """``(..., nq)``"""
    v: Floats
    """``(..., nv)``"""


def random_states(
    robot: Model, seed: int | np.random.Generator, size: int | Sequence[int] = (), speed: float = 1.0
) -> RandomStates:
    """Random states; see `Mechanism.random_states`."""
    rng = random_generator(seed)
    lead = batch_shape(size)
    if not isinstance(speed, Real) or not 0 <= speed < np.inf:
        raise InputError(f"speed is {speed!r}, must be >= 0")
    count = int(np.prod(lead, dtype=np.int64))
    q = _closed(robot, rng, count) if any(c.enabled for c in robot.constraints) else robot.random(rng, count)
    v = speed * rng.normal(size=(count, robot.nv))
    if count and any(c.enabled for c in robot.constraints):
        v = project_velocity(robot, q, v)
    over = np.abs(v) / robot.velocity_limit if robot.nv else np.zeros((count, 1))
    v = v / np.maximum(1.0, over.max(axis=-1, initial=0.0))[:, None]
    return RandomStates(q.reshape(*lead, robot.nq), v.reshape(*lead, robot.nv))


def _closed(robot: Model, rng: np.random.Generator, count: int) -> Floats:
    """Configurations with all loops closed; those that do not close are drawn again."""
    poses = np.empty((count, robot.nq))
    left = np.arange(count)
    for draw in range(DRAWS):
        if not left.size:
            return poses
        drawn = robot.random(rng, len(left))
        try:
            poses[left] = assemble(robot, drawn, attempts=TRIES, seed=draw).q
            return poses
        except AssemblyError as failure:
            last, good = failure, np.asarray(failure.closed, dtype=bool)
            poses[left[good]] = np.asarray(failure.q)[good]
            left = left[~good]
    raise AssemblyError(
        f"of {count} random states of '{robot.name}', {len(left)} did not close in {DRAWS} draws; the last: {last}",
        constraint=last.constraint,
        gap=last.gap,
    )
