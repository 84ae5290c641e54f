# SPDX-License-Identifier: BSD-3-Clause
"""Tendons of a mechanism of another size."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from linkwork.model.model import Model
from linkwork.model.tendons import Tendon


class Units(Protocol):
    """Factors of a similar mechanism (`scaling.Scaling`)."""

    @property
    def length(self) -> float:
        """Of lengths."""

    @property
    def time(self) -> float:
        """Of times."""

    @property
    def energy(self) -> float:
        """Of energies."""

    def coordinate(self, robot: Model, joint: str) -> float:
        """Of the coordinate of a joint."""


def tendon_unit(robot: Model, tendon: Tendon, by: Units) -> float:
    """The factor of a tendon's length: a fixed one has the unit of its first joint."""
    return by.length if tendon.is_spatial else by.coordinate(robot, next(iter(tendon.joints)))


def scaled_tendon(robot: Model, tendon: Tendon, by: Units) -> Tendon:
    """A tendon of the similar mechanism."""
    unit = tendon_unit(robot, tendon, by)
    return replace(
        tendon,
        joints={name: c * unit / by.coordinate(robot, name) for name, c in tendon.joints.items()},
        stiffness=tendon.stiffness * by.energy / unit**2,
        damping=tendon.damping * by.energy * by.time / unit**2,
        rest=(tendon.rest[0] * unit, tendon.rest[1] * unit),
        limits=(tendon.limits[0] * unit, tendon.limits[1] * unit),
        friction=tendon.friction * by.energy / unit,
        offset=tendon.offset * unit,
        stop=(tendon.stop[0] * by.energy / unit**2, tendon.stop[1] * by.energy * by.time / unit**2),
        force_limits=(tendon.force_limits[0] * by.energy / unit, tendon.force_limits[1] * by.energy / unit),
    )
