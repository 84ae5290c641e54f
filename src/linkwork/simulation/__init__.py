"""Motion in time: `simulate` one robot, `rollouts` of many states, steps in minimal coordinates; `Sweep`s of joints.

Whole rollouts run in machine code; Python is asked only where a controller speaks or something is recorded.
"""

from __future__ import annotations

from linkwork.simulation.batches import rollouts
from linkwork.simulation.control import Controller
from linkwork.simulation.minimal import MinimalMotion
from linkwork.simulation.single import simulate
from linkwork.simulation.stepper import INTEGRATORS, Stepper
from linkwork.simulation.sweep import Sweep
from linkwork.simulation.trajectory import Trajectory

__all__ = ["INTEGRATORS", "Controller", "MinimalMotion", "Stepper", "Sweep", "Trajectory", "rollouts", "simulate"]
