# SPDX-License-Identifier: BSD-3-Clause
"""The integrator of `simulate` by default: the cheapest one that is accurate and stable for the robot.

| robot                                                   | integrator | why                                           |
|---------------------------------------------------------|------------|-----------------------------------------------|
| touches, or has dry friction                            | ``euler``  | the one that has contacts                     |
| a tree                                                  | ``euler``  | one evaluation of forward dynamics a step     |
| closed loops                                            | ``rk4``    | passes dead centers and dependent rows        |
| loops, a spring or damper too stiff for ``rk4``         | ``euler``  | takes those of joints and servos implicitly   |
| a force element too stiff for explicit steps            | ``radau``  | takes them implicitly                         |

Stiffness is that at the start, at rest: ``M⁻¹ K`` and ``M⁻¹ D`` in the motions that loops allow, with the springs K and
dampers D of joints, servos, tendons and force elements. Cost: for trees without force elements none, else that of the
mobility and of the eigenvalues of ``(nv)²`` numbers.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from linkwork.errors import SimulationWarning
from linkwork.inputs import SimulationIntegrator, advised, outer_level
from linkwork.model.model import Model
from linkwork.plans.force_elements import has_force_elements
from linkwork.quantities.arguments import Array
from linkwork.quantities.motions import is_timed
from linkwork.simulation.settings import StepSettings
from linkwork.simulation.stiffness import (
    EULER_EXPLICIT,
    RK4_IMAGINARY,
    RK4_REAL,
    Stiffness,
    largest_eigenvalue,
    springs_and_dampers,
)
from linkwork.simulation.thresholds import CHECKED_TIMES, STABLE_PART


class IntegratorChoice(NamedTuple):
    """An integrator, and why it was chosen."""

    integrator: SimulationIntegrator
    reason: str


def chosen_integrator(robot: Model, q: Array, settings: StepSettings, time: float = 0.0) -> IntegratorChoice:
    """The integrator for a simulation from ``q``, for settings whose integrator is ``"auto"``.

    Args:
        robot: The mechanism.
        q: Configuration at the start, ``(nq,)``.
        settings: Settings of the steps.
        time: Seconds at the start.
    """
    euler = replace(settings, integrator="euler")
    if euler.touching(robot):
        return IntegratorChoice("euler", "contacts or dry friction")
    loops = any(constraint.enabled for constraint in robot.constraints)
    stiff = settings.passive and has_force_elements(robot)
    if not loops and not stiff:
        return IntegratorChoice("euler", "no closed loops")
    stiffness = springs_and_dampers(robot, q, settings.passive, time)
    if loops and _stable(robot, q, settings.dt, stiffness, RK4_IMAGINARY, RK4_REAL, implicit=False):
        return IntegratorChoice("rk4", "closed loops")
    if _stable(robot, q, settings.dt, stiffness, EULER_EXPLICIT, EULER_EXPLICIT, implicit=True):
        return IntegratorChoice("euler", "springs or dampers too stiff for rk4" if loops else "no closed loops")
    if settings.method == "auto" and not robot.na and not is_timed(robot):
        return IntegratorChoice("radau", "force elements too stiff for explicit steps")
    return IntegratorChoice("euler", "force elements too stiff for explicit steps; radau has no clock and activations")


def warn_of_stiff_elements(robot: Model, q: Array, settings: StepSettings, start: float, end: float) -> None:
    """Warn of a force element of time that is too stiff for explicit steps at some time of a run (`SimulationWarning`).

    A brake that closes is not stiff at the start; where it holds, steps that are too long chatter within bounds.

    Args:
        robot: The mechanism.
        q: Configuration at the start, ``(nq,)``.
        settings: Settings of the steps.
        start: Seconds at the start.
        end: Seconds at the end.
    """
    limits = {"rk4": RK4_REAL, "euler": EULER_EXPLICIT}
    if settings.integrator not in limits or not settings.passive or not any(element.timed for element in robot.forces):
        return
    limit = limits[settings.integrator]
    for time in np.linspace(start, end, CHECKED_TIMES):
        dampers = springs_and_dampers(robot, q, True, float(time)).explicit_dampers
        rate, joint = largest_eigenvalue(robot, q, dampers)
        if rate * settings.dt > limit:
            warnings.warn(
                f"force elements of '{robot.name}' damp joint '{joint}' at {time:.3g} s with a pole at {-rate:.2g} "
                f"1/s, and {settings.integrator} is unstable beyond {limit:.3g} / dt: joints that stick chatter; try "
                f"dt={advised(limit / rate)}, or a larger slip",
                SimulationWarning,
                stacklevel=outer_level(),
            )
            return


def _stable(
    robot: Model, q: Array, dt: float, stiffness: Stiffness, imaginary: float, real: float, *, implicit: bool
) -> bool:
    """Whether explicit steps are stable: ``implicit`` ones leave out springs and dampers that Euler takes so."""
    springs, dampers = stiffness.explicit_springs, stiffness.explicit_dampers
    if not implicit:
        springs, dampers = springs + stiffness.implicit_springs, dampers + stiffness.implicit_dampers
    square, rate = largest_eigenvalue(robot, q, springs)[0], largest_eigenvalue(robot, q, dampers)[0]
    return max(square, 0.0) ** 0.5 * dt <= STABLE_PART * imaginary and rate * dt <= STABLE_PART * real
