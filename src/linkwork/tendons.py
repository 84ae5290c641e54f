# SPDX-License-Identifier: BSD-3-Clause
"""Tendons: classes, lengths, forces and energies."""

from linkwork.model.tendons import Branch, Tendon
from linkwork.model.transmissions import JointWrench, SiteWrench, SliderCrank, Wrap
from linkwork.quantities.actuation import tendon_energy, tendon_forces, tendon_jacobian, tendon_length, tendon_velocity

__all__ = [
    "Branch",
    "JointWrench",
    "SiteWrench",
    "SliderCrank",
    "Tendon",
    "Wrap",
    "tendon_energy",
    "tendon_forces",
    "tendon_jacobian",
    "tendon_length",
    "tendon_velocity",
]
