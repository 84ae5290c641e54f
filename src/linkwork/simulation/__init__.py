# SPDX-License-Identifier: BSD-3-Clause
"""Motion in time: `simulate` one robot, `rollouts` of many states, steps in minimal coordinates; `Sweep`s of joints.

| module            | what it has                                                                             |
|-------------------|-----------------------------------------------------------------------------------------|
| schedule          | when steps, controls, records and projections happen, on one clock                      |
| loop              | the loop that follows a schedule: control, record, steps, projection, early end          |
| propagators       | steps of one robot that are plugged into it: fixed, adaptive, with a kernel controller   |
| batch_propagators | the same of many robots, in SIMD lanes and threads                                      |
| python_steps      | steps in Python around any method of forward dynamics                                    |
| minimal           | single steps in minimal coordinates                                                     |
| open_loops        | what to say where steps in minimal coordinates could not close loops                     |
| stepper           | `Stepper`: compiled steps; `control` has controllers that are compiled with them         |
| settings          | how steps are made, as one value                                                        |
| actuation         | torques, commands and wrenches as users and controllers give them                        |
| initial           | states to start from                                                                    |
| stabilization     | Baumgarte stabilization, implicit springs and dampers, stops                             |
| projection        | states back onto the constraint manifold                                                |
| trajectory, files | what is returned, and how it is kept                                                    |
| single, batches   | `simulate` and `rollouts`                                                               |
| sensors           | sensors of a state and a solution, and along trajectories                                |
| simulation        | `Simulation`: many robots whose states stay on their device, reset one by one            |
| host_batch        | its robots on the CPU; `cuda_batch`: on a GPU                                            |
| derivatives       | derivatives of a step; `contact_derivatives`: with contacts                              |
| linearization     | `linearize`: the linear system near a state                                             |
| adjoint           | `Adjoint`: gradients of whole rollouts                                                  |
"""

from __future__ import annotations

from linkwork.simulation.adjoint import Adjoint, Rollout, RolloutGradient
from linkwork.simulation.batches import rollouts
from linkwork.simulation.control import Controller
from linkwork.simulation.linearization import Linearization, linearize
from linkwork.simulation.minimal import MinimalMotion
from linkwork.simulation.sensors import sensor_data
from linkwork.simulation.simulation import Records, Simulation
from linkwork.simulation.stepper import INTEGRATORS, Stepper
from linkwork.simulation.sweep import Sweep
from linkwork.simulation.trajectories import simulate
from linkwork.simulation.trajectory import Trajectory

__all__ = [
    "INTEGRATORS",
    "Adjoint",
    "Controller",
    "Linearization",
    "MinimalMotion",
    "Records",
    "Rollout",
    "RolloutGradient",
    "Simulation",
    "Stepper",
    "Sweep",
    "Trajectory",
    "linearize",
    "rollouts",
    "sensor_data",
    "simulate",
]
