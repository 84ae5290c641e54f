# SPDX-License-Identifier: BSD-3-Clause
"""Force elements beside springs and dampers, for `Mechanism.with_forces`: one class each; their states and energies."""

from linkwork.model.forces import BumpStop, Bushing, Cylinder, ForceElement, GasSpring, TorsionSpring
from linkwork.quantities.actuation import ElementStates, element_energy, element_forces, element_states

__all__ = [
    "BumpStop",
    "Bushing",
    "Cylinder",
    "ElementStates",
    "ForceElement",
    "GasSpring",
    "TorsionSpring",
    "element_energy",
    "element_forces",
    "element_states",
]
