# SPDX-License-Identifier: BSD-3-Clause
"""Records and operators that evaluators return: for annotations and `isinstance`, not to be constructed."""

from linkwork.closure.actuation import Actuation
from linkwork.closure.completion import Completed
from linkwork.closure.inverse_kinematics import InverseKinematicsSolution
from linkwork.dynamics.delassus import DampedInverse, DelassusOperator
from linkwork.dynamics.equilibrium import Equilibrium
from linkwork.dynamics.hybrid import HybridSolution
from linkwork.dynamics.impact import Impact
from linkwork.dynamics.inverse_solution import InverseSolution
from linkwork.dynamics.kkt import KKTFactor
from linkwork.dynamics.reactions import Reactions
from linkwork.dynamics.solution import Solution
from linkwork.mechanism.optimized import Optimized
from linkwork.quantities.counts import OperationCount
from linkwork.quantities.functions import Energy
from linkwork.quantities.terms import Terms
from linkwork.simulation import Sweep

__all__ = [
    "Actuation",
    "Completed",
    "DampedInverse",
    "DelassusOperator",
    "Energy",
    "Equilibrium",
    "HybridSolution",
    "Impact",
    "InverseKinematicsSolution",
    "InverseSolution",
    "KKTFactor",
    "OperationCount",
    "Optimized",
    "Reactions",
    "Solution",
    "Sweep",
    "Terms",
]
