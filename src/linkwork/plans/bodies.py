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
    """Meters: the largest distance of joints or centers of mass on a body, or the usual size of bodies, which round-off
    in offsets is measured by. A body with the inertia of a mountain, as files of scenes have, makes no others large."""
    return largest_size(mechanism.joints, mechanism.inertias)


def largest_size(joints: Sequence[TreeJoint], inertias: Mapping[str, Inertia]) -> float:
    """The largest size of joints and inertias that are no mechanism yet."""
    sizes = [float(np.abs(joint.placement.position).max()) for joint in joints if joint.parent != WORLD]
    heavy = [inertia for inertia in inertias.values() if inertia.mass > 0]
    sizes += [float(np.abs(inertia.com).max()) for inertia in heavy]
    if heavy:
        sizes.append(float(np.median([_radius_of_gyration(inertia) for inertia in heavy])))
    return max(sizes, default=0.0) or DEFAULT_SIZE


def _radius_of_gyration(inertia: Inertia) -> float:
    return float(np.sqrt(max(float(np.trace(inertia.rotational)), 0.0) / inertia.mass))
