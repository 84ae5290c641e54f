# SPDX-License-Identifier: BSD-3-Clause
"""Why simulations end early: the fastest joint, dampers and springs that are too stiff for the integrator, advice."""

from __future__ import annotations

import warnings

import numpy as np

from linkwork.closure.mobility import has_singular_mass_matrix, mobility
from linkwork.closure.thresholds import ADDED_INERTIA
from linkwork.errors import SimulationWarning
from linkwork.inputs import SimulationIntegrator, advised, outer_level
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.quantities.functions import mass_matrix
from linkwork.quantities.scales import scales_of

RK4_REAL, RK4_IMAGINARY = 2.785, 2.828
"""Where the region of stability of ``rk4`` ends on the two axes: pole times step of a damper, of a spring."""


def fastest_joint(robot: Model, times: Array, v: Array) -> str:
    """Words for the fastest joint when a state was last recorded; none where none was."""
    if not robot.nv or not len(v):
        return ""
    dof = int(np.abs(v[-1]).argmax())
    return f"; '{_joint_of(robot, dof)}' was the fastest joint at {times[-1]:g} s, with {v[-1][dof]:.3g}"


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
    if integrator == "rk4":
        return "a pose where rows or joints are singular may be there: try integrator='euler', or a shorter dt"
    if integrator == "euler" and any(constraint.enabled for constraint in robot.constraints) and not robot.contacts:
        return "a pose where rows or joints are singular may be there: try integrator='rk4', or a shorter dt"
    return "try a shorter dt"


def warn_of_early_end(robot: Model, ended: str) -> None:
    """Warn that the simulation a user called ended early."""
    warnings.warn(f"the simulation of '{robot.name}' ended early: {ended}", SimulationWarning, stacklevel=outer_level())


def largest_eigenvalue(robot: Model, q: Array, coefficients: Array) -> tuple[float, str]:
    """Of ``M^-1 C`` in the motions that loops allow, and the joint that has most part in it.

    Args:
        robot: The mechanism.
        q: Configuration, ``(nq,)``.
        coefficients: C, springs or dampers, of which the symmetric part counts, ``(nv, nv)``.
    """
    if not coefficients.any():
        return 0.0, ""
    free = mobility(robot, q).freedom
    M = mass_matrix(robot, q) + ADDED_INERTIA * np.diag(scales_of(robot).joints)
    inverse = np.linalg.inv(np.linalg.cholesky(free.T @ M @ free))
    values, vectors = np.linalg.eigh(inverse @ free.T @ (0.5 * (coefficients + coefficients.T)) @ free @ inverse.T)
    if not len(values):
        return 0.0, ""
    motion = free @ (inverse.T @ vectors[:, -1])
    return float(values[-1]), _joint_of(robot, int((motion * (coefficients @ motion)).argmax()))


def _joint_of(robot: Model, dof: int) -> str:
    """The joint that a degree of freedom belongs to."""
    return next(j.name for j in robot.joints if dof < robot.v_slice(j.name).stop)
