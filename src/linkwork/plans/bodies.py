# SPDX-License-Identifier: BSD-3-Clause
"""Bodies of a mechanism in the arrays that kernels read: numbers, frames and inertias; and the mechanism's size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD
from linkwork.model.inertia import Inertia
from linkwork.model.model import Model
from linkwork.model.parts import TreeJoint
from linkwork.model.placement import Placement

DEFAULT_SIZE = 0.1
"""Meters: the size of a mechanism whose joints are all in one point, or on the world."""


class BodyTable(NamedTuple):
    """Bodies of a mechanism by name, and their frames and inertias in its arrays."""

    number: dict[str, int]
    """The number of each body."""
    frames: list[Placement]
    """The kernels' frame of each body, in the user's frame of that body."""
    inertias: tuple[Floats, Floats, Floats]
    """Mass, first moment and rotational inertia of each body in the kernels' frame, before they are `regrouped`."""


def size_of(mechanism: Model) -> float:
    """Meters: the largest size of a body or distance of joints on one, which round-off in offsets is measured by."""
    return largest_size(mechanism.joints, mechanism.inertias)


def largest_size(joints: Sequence[TreeJoint], inertias: Mapping[str, Inertia]) -> float:
    """The same of joints and inertias that are no mechanism yet."""
    sizes = [float(np.abs(joint.placement.position).max()) for joint in joints if joint.parent != WORLD]
    for inertia in inertias.values():
        if inertia.mass > 0:
            radius = np.sqrt(max(float(np.trace(inertia.rotational)), 0.0) / inertia.mass)
            sizes += [float(np.abs(inertia.com).max()), float(radius)]
    return max(sizes, default=0.0) or DEFAULT_SIZE
