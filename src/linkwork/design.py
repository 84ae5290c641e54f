# SPDX-License-Identifier: BSD-3-Clause
"""Design of linkages: lengths as inputs with gradients, synthesis, tolerances, circuits and their dead centers."""

from linkwork.closure.circuits import Circuit, DeadCenter, circuit, rates, transmission_angle
from linkwork.closure.designs import AssembledDesigns, Designs
from linkwork.closure.synthesis import Deviations, Synthesis, deviations, synthesize

__all__ = [
    "AssembledDesigns",
    "Circuit",
    "DeadCenter",
    "Designs",
    "Deviations",
    "Synthesis",
    "circuit",
    "deviations",
    "rates",
    "synthesize",
    "transmission_angle",
]
