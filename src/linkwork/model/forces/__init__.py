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
| TorsionSpring                | coordinate of a joint                   | ``-k (x - x0) - c x' + preload``         |
| Bushing                      | pose of a frame in another, six numbers | ``-K x - C x' + preload``                |
| Force                        | any of these                            | any function                             |
"""

from linkwork.model.forces.base import Between, ForceElement, Place
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
    "Between",
    "BumpStop",
    "Bushing",
    "Damper",
    "Force",
    "ForceElement",
    "GasSpring",
    "HydraulicCylinder",
    "Place",
    "Spring",
    "SpringDamper",
    "TorsionSpring",
]
