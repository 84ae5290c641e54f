# SPDX-License-Identifier: BSD-3-Clause
"""Force elements: springs, dampers and other laws between points, on joints, between frames and on bodies.

An element has coordinates ``x``, and a law gives the forces along them from ``x``, their rates and time. The law is
recorded as a tape (`functions`), so that it may use what functions of joints may, and profiles and tables.

| element                      | coordinates                             | force along them                         |
|------------------------------|-----------------------------------------|------------------------------------------|
| Spring, Damper, SpringDamper | distance of two points                  | ``-k (x - x0) - c x' + preload``         |
| BumpStop                     | distance of two points                  | ``k (x0 - x)^e - c x'`` where ``x < x0`` |
| GasSpring                    | distance of two points                  | ``F (V / (V + A (x - x0)))^n``           |
| HydraulicCylinder            | distance of two points                  | ``p(t) A - p_rod(t) A_rod - c x'``       |
| TorsionSpring                | coordinate of a joint, or a sum of some | ``-k (x - x0) - c x' + preload``         |
| Friction                     | coordinate of a joint, or a sum of some | Coulomb, Stribeck and viscous            |
| Clutch, OneWayClutch         | difference of two joints                | at most a capacity, against the rate     |
| Backlash                     | difference of two joints                | ``-k (x -+ gap / 2) - c x'`` beyond it   |
| Bushing                      | pose of a frame in another, six numbers | ``-K x - C x' + preload``                |
| Force                        | any of these                            | any function                             |
"""

from linkwork.model.forces.base import Between, ForceElement, OnJoints, Place
from linkwork.model.forces.friction import Backlash, Clutch, Friction, OneWayClutch
from linkwork.model.forces.springs import (
    BumpStop,
    Damper,
    GasSpring,
    HydraulicCylinder,
    Spring,
    SpringDamper,
    TorsionSpring,
)
from linkwork.model.forces.wrenches import Bushing, Force

__all__ = [
    "Backlash",
    "Between",
    "BumpStop",
    "Bushing",
    "Clutch",
    "Damper",
    "Force",
    "ForceElement",
    "Friction",
    "GasSpring",
    "HydraulicCylinder",
    "OnJoints",
    "OneWayClutch",
    "Place",
    "Spring",
    "SpringDamper",
    "TorsionSpring",
]
