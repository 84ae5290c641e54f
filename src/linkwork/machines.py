# SPDX-License-Identifier: BSD-3-Clause
"""Machine elements: cams and their followers; gears, belts, differentials and Geneva wheels by teeth and radii."""

from linkwork.model.machines.cams import Cam, CamContact
from linkwork.model.machines.gears import (
    belt,
    differential,
    geneva,
    harmonic,
    homokinetic,
    planetary,
    rack,
    worm,
)

__all__ = [
    "Cam",
    "CamContact",
    "belt",
    "differential",
    "geneva",
    "harmonic",
    "homokinetic",
    "planetary",
    "rack",
    "worm",
]
