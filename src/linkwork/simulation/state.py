# SPDX-License-Identifier: BSD-3-Clause
"""The state of a simulation between two steps, and functions that change it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from linkwork.quantities.arguments import Array
from linkwork.simulation.actuation import Actuation


class State(NamedTuple):
    """State of a simulation between two steps; of a batch, arrays begin with its axis."""

    q: Array
    v: Array
    actuation: Actuation
    """Inputs of the step that follows."""
    multipliers: Array
    """Constraint forces of the step before."""
    contacts: Array | None = None
    """Rows about contacts (`contacts`): the step that follows starts from their forces; None without contacts."""
    act: Array | None = None
    """Activations of actuators; None where none has any."""


Propagate = Callable[[State, float, float], tuple[State, int]]
"""The state from one stop to the next, in steps of the clock: whole ones, or a part of one. And the steps after which
it was finite: fewer than all end the simulation."""

Feedback = Callable[[float, State], Actuation]
"""Torques or commands at a time and a state."""

Project = Callable[[Array, Array, float], tuple[Array, Array]]
"""``q`` and ``v`` with closed loops, at a time."""
