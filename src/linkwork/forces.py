# SPDX-License-Identifier: BSD-3-Clause
"""Force elements beside springs and dampers, for `Mechanism.with_forces`: one class each; their states and energies."""

from linkwork.model.forces import BumpStop, Bushing, ForceElement, GasSpring, HydraulicCylinder, TorsionSpring
from linkwork.quantities.actuation import ElementStates, element_energy, element_forces, element_states

__all__ = [
    "BumpStop",
    "Bushing",
    "ElementStates",
    "ForceElement",
    "GasSpring",
    "HydraulicCylinder",
    "TorsionSpring",
    "element_energy",
    "element_forces",
    "element_states",
]
