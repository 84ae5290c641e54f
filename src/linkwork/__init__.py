# SPDX-License-Identifier: BSD-3-Clause
"""linkwork: dynamics of mechanisms, written once in Python and compiled well.

>>> import linkwork as lw
>>> robot = lw.zoo.humanoid()
>>> fd = lw.ForwardDynamics(robot)
>>> fd(robot.neutral(), [0.0] * robot.nv, [0.0] * robot.nv).acceleration[:3]
array([ 0.  ,  0.  , -9.81])

The names that most programs use are at the top: models, evaluators, functions of a state, simulation. The rest is in
namespaces:

| namespace                 | contents                                                                                 |
|---------------------------|------------------------------------------------------------------------------------------|
| `joints`, `constraints`   | types of joints; what closes loops, holds feet and couples joints                        |
| `shapes`, `contact`       | shapes that touch; contact pairs, their geometry, steps with contacts                    |
| `profiles`                | motion profiles, tables and splines: functions for drives, couplings and force elements  |
| `forces`                  | force elements: bushings, cylinders, friction, clutches; their lengths, forces, energies |
| `machines`                | cams, gears by teeth, belts, differentials, Geneva wheels                                |
| `actuators`, `tendons`    | motors and muscles, their torques and limits; tendons, their lengths and forces          |
| `sensors`                 | sensors and their readings                                                               |
| `tasks`, `loops`          | tasks of inverse kinematics; assembly, projection, clusters, minimal coordinates in time |
| `design`                  | lengths as inputs with gradients, synthesis, tolerances, circuits and dead centers       |
| `kinematics`              | points of bodies and subtrees                                                            |
| `derivatives`             | gradients of rollouts, derivatives of constraint rows and in minimal coordinates         |
| `methods`                 | methods of forward dynamics and their costs                                              |
| `inertial_parameters`     | pseudo-inertias and log-Cholesky parameters                                              |
| `units`                   | millimeters, degrees, bar and others in SI units, for input                              |
| `results`, `errors`       | records that evaluators return; everything that is raised or warned                      |
| `kernels`                 | scalar functions for kernels of your own: `@lw.kernel`                                   |
| `export`, `peers`         | C source and CasADi; models of Pinocchio and MuJoCo                                      |
| `devices`, `torch`, `jax` | arrays on a GPU; evaluators as functions of tensors and of JAX arrays                    |
| `gym`, `rl`               | environments of Gymnasium, and for libraries of reinforcement learning                   |
| `viewer`, `zoo`           | robots in the browser; mechanisms made in code                                           |
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from linkwork.names import MOVED, lazy_names

if TYPE_CHECKING:
    from linkwork import (
        actuators,
        constraints,
        contact,
        derivatives,
        design,
        devices,
        errors,
        export,
        forces,
        inertial_parameters,
        joints,
        kernels,
        kinematics,
        loops,
        machines,
        methods,
        peers,
        profiles,
        results,
        sensors,
        shapes,
        tasks,
        tendons,
        units,
        zoo,
    )
    from linkwork import gym as gym
    from linkwork import jax as jax
    from linkwork import rl as rl
    from linkwork import torch as torch
    from linkwork import viewer as viewer
    from linkwork.closure.minimal import Minimal
    from linkwork.dynamics.delassus import Delassus
    from linkwork.dynamics.forward import ForwardDynamics
    from linkwork.dynamics.hybrid import HybridDynamics
    from linkwork.dynamics.impact import ImpactDynamics
    from linkwork.dynamics.inverse import InverseDynamics
    from linkwork.dynamics.kkt import KKT
    from linkwork.dynamics.operational import OperationalInertia
    from linkwork.dynamics.reactions import reactions
    from linkwork.kernels.scalar import kernel
    from linkwork.live import log_rerun
    from linkwork.mechanism import Builder, Mechanism, attach, compose
    from linkwork.model.constraints.drives import Drive
    from linkwork.model.forces import Damper, Force, Spring, SpringDamper
    from linkwork.model.inertia import Inertia
    from linkwork.model.placement import Placement
    from linkwork.parsing import load, loads
    from linkwork.parsing.descriptions import load_description
    from linkwork.quantities.evaluator import Evaluator, operation_count
    from linkwork.quantities.functions import (
        bias_forces,
        center_of_mass,
        center_of_mass_jacobian,
        center_of_mass_jacobian_rate,
        centroidal_momentum,
        centroidal_momentum_matrix,
        centroidal_momentum_matrix_rate,
        constraint_bias,
        constraint_error,
        constraint_jacobian,
        constraint_target,
        coriolis_matrix,
        energy,
        frame_acceleration,
        frame_jacobian,
        frame_jacobian_rate,
        frame_placement,
        frame_velocity,
        gravity_forces,
        inverse_mass_product,
        mass_matrix,
        passive_forces,
    )
    from linkwork.quantities.terms import inverse_mass_matrix, terms
    from linkwork.simulation import (
        Controller,
        Event,
        Probe,
        Simulation,
        Stepper,
        Trajectory,
        linearize,
        rollouts,
        simulate,
    )

__version__ = "0.4.0"

if not TYPE_CHECKING:  # hidden from type checkers, so that they report names that do not exist
    _lazy = lazy_names(
        __name__,
        {
            "linkwork": (
                "actuators",
                "constraints",
                "contact",
                "derivatives",
                "design",
                "devices",
                "errors",
                "export",
                "forces",
                "gym",
                "inertial_parameters",
                "jax",
                "joints",
                "kernels",
                "kinematics",
                "loops",
                "machines",
                "methods",
                "peers",
                "profiles",
                "results",
                "rl",
                "sensors",
                "shapes",
                "tasks",
                "tendons",
                "torch",
                "units",
                "viewer",
                "zoo",
            ),
            "linkwork.closure.minimal": ("Minimal",),
            "linkwork.dynamics.delassus": ("Delassus",),
            "linkwork.dynamics.forward": ("ForwardDynamics",),
            "linkwork.dynamics.hybrid": ("HybridDynamics",),
            "linkwork.dynamics.impact": ("ImpactDynamics",),
            "linkwork.dynamics.inverse": ("InverseDynamics",),
            "linkwork.dynamics.kkt": ("KKT",),
            "linkwork.dynamics.operational": ("OperationalInertia",),
            "linkwork.dynamics.reactions": ("reactions",),
            "linkwork.kernels.scalar": ("kernel",),
            "linkwork.live": ("log_rerun",),
            "linkwork.mechanism": ("Builder", "Mechanism", "attach", "compose"),
            "linkwork.model.constraints.drives": ("Drive",),
            "linkwork.model.forces": ("Damper", "Force", "Spring", "SpringDamper"),
            "linkwork.model.inertia": ("Inertia",),
            "linkwork.model.placement": ("Placement",),
            "linkwork.parsing": ("load", "loads"),
            "linkwork.parsing.descriptions": ("load_description",),
            "linkwork.quantities.evaluator": ("Evaluator", "operation_count"),
            "linkwork.quantities.functions": (
                "bias_forces",
                "center_of_mass",
                "center_of_mass_jacobian",
                "center_of_mass_jacobian_rate",
                "centroidal_momentum",
                "centroidal_momentum_matrix",
                "centroidal_momentum_matrix_rate",
                "constraint_bias",
                "constraint_error",
                "constraint_jacobian",
                "constraint_target",
                "coriolis_matrix",
                "energy",
                "frame_acceleration",
                "frame_jacobian",
                "frame_jacobian_rate",
                "frame_placement",
                "frame_velocity",
                "gravity_forces",
                "inverse_mass_product",
                "mass_matrix",
                "passive_forces",
            ),
            "linkwork.quantities.terms": ("inverse_mass_matrix", "terms"),
            "linkwork.simulation": (
                "Controller",
                "Event",
                "Probe",
                "Simulation",
                "Stepper",
                "Trajectory",
                "linearize",
                "rollouts",
                "simulate",
            ),
        },
    )

    def __getattr__(name: str) -> Any:
        """Import a name at first use; of a name that has moved, say where it is."""
        if name not in MOVED:
            return _lazy(name)
        message = f"linkwork.{name} is linkwork.{MOVED[name]}.{name} now"
        if sys._getframe(1).f_code.co_name == "_handle_fromlist":  # `from linkwork import` drops an AttributeError
            raise ImportError(message)
        raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "KKT",
    "Builder",
    "Controller",
    "Damper",
    "Delassus",
    "Drive",
    "Evaluator",
    "Event",
    "Force",
    "ForwardDynamics",
    "HybridDynamics",
    "ImpactDynamics",
    "Inertia",
    "InverseDynamics",
    "Mechanism",
    "Minimal",
    "OperationalInertia",
    "Placement",
    "Probe",
    "Simulation",
    "Spring",
    "SpringDamper",
    "Stepper",
    "Trajectory",
    "actuators",
    "attach",
    "bias_forces",
    "center_of_mass",
    "center_of_mass_jacobian",
    "center_of_mass_jacobian_rate",
    "centroidal_momentum",
    "centroidal_momentum_matrix",
    "centroidal_momentum_matrix_rate",
    "compose",
    "constraint_bias",
    "constraint_error",
    "constraint_jacobian",
    "constraint_target",
    "constraints",
    "contact",
    "coriolis_matrix",
    "derivatives",
    "design",
    "devices",
    "energy",
    "errors",
    "export",
    "forces",
    "frame_acceleration",
    "frame_jacobian",
    "frame_jacobian_rate",
    "frame_placement",
    "frame_velocity",
    "gravity_forces",
    "inertial_parameters",
    "inverse_mass_matrix",
    "inverse_mass_product",
    "joints",
    "kernel",
    "kernels",
    "kinematics",
    "linearize",
    "load",
    "load_description",
    "loads",
    "log_rerun",
    "loops",
    "machines",
    "mass_matrix",
    "methods",
    "operation_count",
    "passive_forces",
    "peers",
    "profiles",
    "reactions",
    "results",
    "rollouts",
    "sensors",
    "shapes",
    "simulate",
    "tasks",
    "tendons",
    "terms",
    "units",
    "zoo",
]
