# SPDX-License-Identifier: BSD-3-Clause
"""Motion in time: `simulate` one robot, `rollouts` of many states, steps in minimal coordinates; `Sweep`s of joints.

| module              | contents                                                                              |
|---------------------|---------------------------------------------------------------------------------------|
| settings            | how steps are made, as one frozen value                                               |
| program             | which program a step is: integrator, coordinates, contacts, actuators, controller      |
| held_inputs         | inputs that are held over many steps; `contact_inputs`: those about contacts           |
| stepper             | `Stepper`: the steps of that program; `step_result`, `bound_steps`: calls of it         |
| events, event_runs  | zero crossings and what happens there; a simulation cut at its events                   |
| probes              | outputs that are evaluated along runs                                                  |
| propagators         | steps from one stop of a schedule to the next: compiled, in Python, adaptive           |
| schedule, loop      | when steps, controls, records and projections happen, and the loop that follows it     |
| run                 | a simulation as one frozen value, of one robot or of a batch                           |
| trajectories        | `simulate`, over `single`; `batches`: `rollouts`                                       |
| simulation          | `Simulation`: robots that stay on their device; `host_batch` (CPU), `cuda_batch` (GPU)  |
| control             | controllers that are compiled with the steps                                           |
| actuation           | torques, commands and wrenches of users and controllers; `activations`                 |
| radau               | implicit steps for stiff robots                                                        |
| python_steps        | steps in Python around any method of forward dynamics                                  |
| contact_programs    | steps with contacts by straight-line programs                                          |
| stabilization       | Baumgarte stabilization, implicit springs and dampers, stops                           |
| projection          | states back onto the constraint manifold                                               |
| recorder            | states that are kept; `trajectory`, `files`, `tables`: as users get them, and on disk   |
| sensors             | sensors of a state and a solution, and along trajectories                              |
| derivatives         | derivatives of a step; `contact_derivatives`: with contacts                            |
| linearization       | `linearize`: the linear system near a state                                            |
| adjoint             | `Adjoint`: gradients of whole rollouts                                                 |
"""

from __future__ import annotations

from linkwork.simulation.adjoint import Adjoint, Rollout, RolloutGradient
from linkwork.simulation.batches import rollouts
from linkwork.simulation.control import Controller
from linkwork.simulation.events import Event
from linkwork.simulation.linearization import Linearization, linearize
from linkwork.simulation.minimal import MinimalMotion
from linkwork.simulation.probes import Probe
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
    "Event",
    "Linearization",
    "MinimalMotion",
    "Probe",
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
