# SPDX-License-Identifier: BSD-3-Clause
"""Warnings of unsolved steps with contacts, and of dry friction and limits that other steps leave out."""

from __future__ import annotations

import warnings

import numpy as np

from linkwork.contact.points import words_of_jam, words_of_overflow
from linkwork.errors import ModelWarning, StateWarning
from linkwork.inputs import at_most_three, outer_level, plural
from linkwork.model.model import Model
from linkwork.plans.contact_balls import limited_balls
from linkwork.quantities.arguments import Array
from linkwork.simulation.contacts import ContactHistory


def warn_of_rows_left_out(robot: Model, limits: bool) -> None:
    """A `ModelWarning` of dry friction of joints and tendons, of limits of ball joints and of softness of constraints,
    which steps without contacts leave out.

    Args:
        robot: The mechanism.
        limits: Whether limits are to hold.
    """
    yielding = [f"'{constraint.name}'" for constraint in robot.constraints if not constraint.is_exact(False)]
    if yielding:
        warnings.warn(
            f"constraints {at_most_three(yielding)} of '{robot.name}' are exact in these steps, and soft in those of "
            "integrator 'euler', with method 'auto' and without contact=False",
            ModelWarning,
            stacklevel=outer_level(),
        )
    balls = [f"'{joint.name}'" for joint in limited_balls(robot)] if limits else []
    if balls:
        warnings.warn(
            f"limits of ball joints {at_most_three(balls)} of '{robot.name}' do not act in these steps; integrator "
            "'euler', with method 'auto' and without contact=False, makes steps with them, limits=False leaves them "
            "out without this warning",
            ModelWarning,
            stacklevel=outer_level(),
        )
    names = [f"'{joint.name}'" for joint in robot.joints if np.any(robot.friction[robot.v_slice(joint.name)])]
    names += [f"tendon '{tendon.name}'" for tendon in robot.tendons if tendon.friction]
    if names:
        warnings.warn(
            f"dry friction of {at_most_three(names)} of '{robot.name}' does not act in these steps; "
            "integrator 'euler', with method 'auto' and without contact=False, makes steps with it, "
            "robot.with_parameters(friction=np.zeros(robot.nv)) leaves it out without this warning",
            ModelWarning,
            stacklevel=outer_level(),
        )


def warn_of_missed_steps(robot: Model, rows: Array, dt: float) -> None:
    """A `StateWarning` where iterations of some steps did not reach the tolerance.

    Args:
        robot: The mechanism.
        rows: The last row of each robot, ``(..., width)``.
        dt: Time of a step.
    """
    history = ContactHistory(robot, rows, dt)
    if history.overflowed.any():
        warnings.warn(
            f"'{robot.name}' had too many contact points in {plural(int(history.overflowed.sum()), 'step')} "
            f"(Trajectory.contacts.overflowed): {words_of_overflow(robot, history.points)}",
            StateWarning,
            stacklevel=outer_level(),
        )
    if history.jammed.any():
        warnings.warn(
            f"penetration of '{robot.name}' could not be removed in {plural(int(history.jammed.sum()), 'step')} "
            "(Trajectory.contacts.jammed): shapes overlap that no joint can separate"
            f"{words_of_jam(robot, history.points)}, and stay as they are; leave these pairs out, or start where they "
            "are apart",
            StateWarning,
            stacklevel=outer_level(),
        )
    missed = history.missed
    if not missed.any():
        return
    robots = f" of {np.count_nonzero(missed)} of {missed.size} robots" if missed.ndim else ""
    convex = int(history.fallback.sum())
    steps = f"; {convex} of them are dissipative steps of the convex problem (Trajectory.contacts.fallback)"
    warnings.warn(
        f"contacts of '{robot.name}' were not solved in {plural(int(missed.sum()), 'step')}{robots}: residual "
        f"{np.max(history.residual):.2g} m/s at most (Trajectory.contacts.missed){steps if convex else ''}; try a "
        "shorter dt",
        StateWarning,
        stacklevel=outer_level(),
    )
