# SPDX-License-Identifier: BSD-3-Clause
"""Warnings for properties of contact pairs that a step leaves out: one for each robot."""

from __future__ import annotations

import warnings

import numpy as np

from linkwork.errors import ModelWarning
from linkwork.inputs import outer_level
from linkwork.model.contacts import ContactPairs
from linkwork.model.model import Model
from linkwork.plans.contact_balls import limited_balls


def warn_unmodeled(
    robot: Model, reduced: bool, what: str = "steps", tendon_limits: bool = False, ball_limits: bool = False
) -> None:
    """Warn of numbers of pairs that a step leaves out.

    Args:
        robot: The mechanism.
        reduced: Whether steps are made by the reduced matrix, which leaves out nothing.
        what: The function that ignores them.
        tendon_limits: Whether it ignores limits of tendons.
        ball_limits: Whether limits of ball joints are.
    """
    if reduced:
        return
    pairs = ContactPairs.of(robot.contacts)
    moving = np.array([shape.has_moving_surface for shape in pairs.shapes], dtype=bool)
    coefficients = {
        "friction against spinning": pairs.column("torsional_friction"),
        "friction against rolling": pairs.column("rolling_friction"),
        "adhesion": pairs.column("adhesion"),
        "the surface velocity": moving[pairs.first] | moving[pairs.second],
    }
    said = []
    for missing, values in coefficients.items():
        where = np.flatnonzero(values)
        if len(where):
            more = f" and {len(where) - 1} more" if len(where) > 1 else ""
            said.append(f"{missing} of contact '{pairs[int(where[0])].name}'{more}")
    said += [f"dry friction of tendon '{tendon.name}'" for tendon in robot.tendons if tendon.friction][:1]
    if tendon_limits:
        said += [f"limits of tendon '{tendon.name}'" for tendon in robot.tendons if tendon.is_limited][:1]
    if ball_limits:
        said += [f"the limit of ball joint '{joint.name}'" for joint in limited_balls(robot)][:1]
    said += [f"softness of constraint '{c.name}'" for c in robot.constraints if not c.is_exact(False)][:1]
    said += [f"adhesion by actuator '{actuator.name}'" for actuator in robot.actuators if actuator.body][:1]
    if said:
        message = f"{what} of robot '{robot.name}' leave out {'; '.join(said)}"
        warnings.warn(message, ModelWarning, stacklevel=outer_level())
