# SPDX-License-Identifier: BSD-3-Clause
"""Design of linkages: lengths as inputs with gradients, synthesis, tolerances, circuits, workspaces, balancing."""

from linkwork.closure.circuits import Circuit, DeadCenter, circuit, rates, transmission_angle
from linkwork.closure.designs import AssembledDesigns, Designs
from linkwork.closure.synthesis import Deviations, Synthesis, deviations, synthesize
from linkwork.closure.workspaces import (
    Conditioning,
    Workspace,
    conditioning,
    mechanical_advantage,
    velocities,
    workspace,
)
from linkwork.dynamics.balancing import Balance, balance, shaking_force

__all__ = [
    "AssembledDesigns",
    "Balance",
    "Circuit",
    "Conditioning",
    "DeadCenter",
    "Designs",
    "Deviations",
    "Synthesis",
    "Workspace",
    "balance",
    "circuit",
    "conditioning",
    "deviations",
    "mechanical_advantage",
    "rates",
    "shaking_force",
    "synthesize",
    "transmission_angle",
    "velocities",
    "workspace",
]
