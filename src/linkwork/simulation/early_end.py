# SPDX-License-Identifier: BSD-3-Clause
"""Why simulations end early: the fastest joint, dampers and springs that are too stiff for the integrator, advice."""

from __future__ import annotations

import warnings

import numpy as np

from linkwork.closure.mobility import has_singular_mass_matrix
from linkwork.errors import SimulationWarning
from linkwork.inputs import SimulationIntegrator, advised, outer_level
from linkwork.model.model import Model
from linkwork.plans.force_elements import has_force_elements
from linkwork.quantities.arguments import Array
from linkwork.simulation.stiffness import (
    EULER_EXPLICIT,
    RK4_IMAGINARY,
    RK4_REAL,
    joint_of,
    largest_eigenvalue,
    springs_and_dampers,
)


def fastest_joint(robot: Model, times: Array, v: Array) -> str:
    """Words for the fastest joint when a state was last recorded; none where none was."""
    if not robot.nv or not len(v):
        return ""
    dof = int(np.abs(v[-1]).argmax())
    return f"; '{joint_of(robot, dof)}' was the fastest joint at {times[-1]:g} s, with {v[-1][dof]:.3g}"


def advice(robot: Model, q: Array, integrator: SimulationIntegrator, dt: float, passive: bool) -> str:
    """Advice for a simulation from ``q`` that ended early: another integrator, or a shorter step.

    Args:
        robot: The mechanism.
        q: Configuration at the start, ``(nq,)``.
        integrator: Integrator of the steps.
        dt: Time of one step, in seconds.
        passive: Whether springs and dampers act.
    """
    if has_singular_mass_matrix(robot):
        return "a file whose base has a floating joint of its own needs no base='floating'"
    if integrator == "radau":
        return "a dead center or a stop may be there: try a larger accuracy, or integrator='euler'"
    if integrator == "dopri5":
        return "a dead center, a stop or a stiff damper may be there: try integrator='euler', or a larger tolerance"
    if integrator == "rk4" and passive:
        rate, damped = largest_eigenvalue(robot, q, np.diag(robot.damping))
        square, sprung = largest_eigenvalue(robot, q, np.diag(robot.stiffness))
        for what, pole, most in (
            (f"damper of joint '{damped}' has a pole at {-rate:.2g} 1/s", rate, RK4_REAL),
            (f"spring of joint '{sprung}' has poles at ±{square**0.5:.2g}i 1/s", square**0.5, RK4_IMAGINARY),
        ):
            if pole * dt > most:
                return (
                    f"the {what}, and rk4 is unstable beyond {most:.3g} / dt: try integrator='euler', which takes "
                    f"springs and dampers implicitly, or dt={advised(most / pole)}"
                )
    limit = {"rk4": RK4_REAL, "euler": EULER_EXPLICIT}[integrator]
    if passive and has_force_elements(robot):
        rate, damped = largest_eigenvalue(robot, q, springs_and_dampers(robot, q, passive, 0.0).explicit_dampers)
        if rate * dt > limit:
            return (
                f"force elements damp joint '{damped}' with a pole at {-rate:.2g} 1/s, and {integrator} is unstable "
                f"beyond {limit:.3g} / dt: try simulate(integrator='radau'), or dt={advised(limit / rate)}"
            )
    if integrator == "rk4":
        return "a pose where rows or joints are singular may be there: try integrator='euler', or a shorter dt"
    if integrator == "euler" and any(constraint.enabled for constraint in robot.constraints) and not robot.contacts:
        return "a pose where rows or joints are singular may be there: try integrator='rk4', or a shorter dt"
    return "try a shorter dt"


def warn_of_early_end(robot: Model, ended: str) -> None:
    """Warn that the simulation a user called ended early."""
    warnings.warn(f"the simulation of '{robot.name}' ended early: {ended}", SimulationWarning, stacklevel=outer_level())
