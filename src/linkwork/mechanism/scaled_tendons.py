# SPDX-License-Identifier: BSD-3-Clause
"""Tendons of a mechanism of another size."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from linkwork.mechanism.scaled_softness import scaled_softness
from linkwork.model.model import Model
from linkwork.model.tendons import Branch, Tendon
from linkwork.model.transmissions import Wrap


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
        path=tuple(_branch(branch, by.length) for branch in tendon.branches),
        transmission=None if tendon.transmission is None else tendon.transmission.scaled(by.length),
        stiffness_terms=scaled_terms(tendon.stiffness_terms, by.energy / unit**2, unit),
        damping_terms=scaled_terms(tendon.damping_terms, by.energy * by.time / unit**2, unit / by.time),
        joints={name: c * unit / by.coordinate(robot, name) for name, c in tendon.joints.items()},
        stiffness=tendon.stiffness * by.energy / unit**2,
        damping=tendon.damping * by.energy * by.time / unit**2,
        rest=(tendon.rest[0] * unit, tendon.rest[1] * unit),
        limits=(tendon.limits[0] * unit, tendon.limits[1] * unit),
        friction=tendon.friction * by.energy / unit,
        offset=tendon.offset * unit,
        stop=(tendon.stop[0] * by.energy / unit**2, tendon.stop[1] * by.energy * by.time / unit**2),
        force_limits=(tendon.force_limits[0] * by.energy / unit, tendon.force_limits[1] * by.energy / unit),
        soft_limit=scaled_softness(tendon.soft_limit, by.time, unit),
        soft_friction=scaled_softness(tendon.soft_friction, by.time, unit),
    )


def _branch(branch: Branch, length: float) -> Branch:
    sites = tuple(replace(s, radius=s.radius * length) if isinstance(s, Wrap) else s for s in branch.sites)
    return Branch(sites, branch.divisor)


def scaled_terms(terms: tuple[float, float], linear: float, unit: float) -> tuple[float, float]:
    """Factors of the square and the cube of something with a unit, by that of the linear part."""
    return terms[0] * linear / unit, terms[1] * linear / unit**2
