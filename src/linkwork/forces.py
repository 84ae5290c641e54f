# SPDX-License-Identifier: BSD-3-Clause
"""Force elements beside springs and dampers, for `Mechanism.with_forces`: one class each; their states and energies."""

from linkwork.model.forces import (
    Backlash,
    BumpStop,
    Bushing,
    Clutch,
    ForceElement,
    Friction,
    GasSpring,
    HydraulicCylinder,
    OneWayClutch,
    TorsionSpring,
)
from linkwork.quantities.actuation import ElementStates, element_energy, element_forces, element_states

__all__ = [
    "Backlash",
    "BumpStop",
    "Bushing",
    "Clutch",
    "ElementStates",
    "ForceElement",
    "Friction",
    "GasSpring",
    "HydraulicCylinder",
    "OneWayClutch",
    "TorsionSpring",
    "element_energy",
    "element_forces",
    "element_states",
]
