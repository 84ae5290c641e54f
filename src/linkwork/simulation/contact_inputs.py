# SPDX-License-Identifier: BSD-3-Clause
"""Inputs of steps with contacts besides the state: settings of the solver, forces to start from, given points."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from linkwork.contact.coal import GivenContacts
from linkwork.contact.points import FORCE, contact_points
from linkwork.contact.reduced import reduced_settings, takes_reduced_matrix
from linkwork.contact.scales import contact_scales
from linkwork.contact.step_options import penetration_time
from linkwork.contact.step_settings import step_settings
from linkwork.dynamics.iterations import SolverSettings
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import float_array
from linkwork.model.model import Model
from linkwork.plans.implicit_damping import ImplicitDamping
from linkwork.plans.tree import Tree
from linkwork.quantities.arguments import Array
from linkwork.quantities.motions import is_timed
from linkwork.simulation.contacts import ContactRow
from linkwork.simulation.settings import StepSettings
from linkwork.simulation.thresholds import SEARCHED_GAP, SEARCHED_STEPS


def has_reduced_steps(robot: Model, settings: StepSettings) -> bool:
    """Whether steps with contacts are made by the reduced matrix; else they are those by slots.

    Args:
        robot: The mechanism.
        settings: Settings of the steps.
    """
    if settings.contact == "soft" and settings.by_slots:
        raise UnsupportedFeature(
            f"soft contacts of '{robot.name}' are steps of native code: leave out compile(), CUDA and derivatives, "
            "or contact='soft'"
        )
    needed = settings.contact == "soft" or is_timed(robot) or ImplicitDamping().coupled(robot)
    return not settings.by_slots and (bool(needed) or takes_reduced_matrix(robot))


class ContactInputs:
    """The array ``(nheld,)`` that steps with contacts read (`plans.contact_steps`).

    Args:
        robot: The mechanism.
        tree: Its arrays.
        dt: Time of a step.
        solver: When iterations of a step end.
        reduced: Whether steps are made by the reduced matrix.
    """

    def __init__(self, robot: Model, tree: Tree, dt: float, solver: SolverSettings, reduced: bool) -> None:
        self.robot, self.tree, self.dt, self.solver, self.reduced = robot, tree, dt, solver, reduced
        self.row = ContactRow(contact_points(robot), robot.nc, int(tree.nboxes), int(tree.na), reduced)
        """The layout of rows about contacts."""
        self.given = GivenContacts(robot, within=_near(robot, dt), native=reduced) if tree.ngiven else None
        """Contact points of pairs without kernel code."""

    def settings(self, dtype: str) -> Array:
        """Settings of the solver, and no forces to start from.

        Args:
            dtype: Of the array.
        """
        tree, time = self.tree, penetration_time("auto", self.dt)
        if self.reduced:
            values = reduced_settings(self.robot, self.dt, self.solver, time, dtype)
        else:
            values = step_settings(self.robot, tree, self.dt, self.solver, time, dtype)
        return np.concatenate([values, np.zeros(tree.nheld - tree.nsettings, values.dtype)])

    def started(self, settings: Array, row: Array | None, q: npt.ArrayLike) -> Array:
        """Settings with the forces of a step before, and with contact points that are passed, ``(..., nheld)``.

        Args:
            settings: Result of `settings`.
            row: Contact state of the step before, ``(..., width)``; None: none.
            q: Configuration, ``(..., nq)``.
        """
        if row is None and self.given is None:
            return settings
        tree = self.tree
        if row is not None:
            row = float_array(row, "contact_state")  # of states that are not finite it holds NaN, as they do
            if row.shape[-1:] != (self.row.width,):
                raise InputError(f"contact_state has shape {row.shape}, needs (..., {self.row.width})")
        lead = np.shape(q)[:-1] if row is None else np.broadcast_shapes(np.shape(q)[:-1], row.shape[:-1])
        rows = np.empty((*lead, settings.size), settings.dtype)
        points = tree.nsettings + tree.nstart
        if row is None:
            rows[...] = settings
        else:
            rows[..., : tree.nsettings] = settings[: tree.nsettings]
            write_start(self.row, row, float(settings[0]), rows[..., tree.nsettings : points])
        if self.given is not None:
            arrays = self.given(q)
            rows[..., points:] = arrays.reshape(*arrays.shape[:-2], -1)
        return rows


def start_width(layout: ContactRow) -> int:
    """Numbers that a step starts from, ``nstart``."""
    points = layout.points.width + 1 if layout.reduced else 3 * layout.points.nslots
    return points + layout.nc + layout.nboxes


def write_start(layout: ContactRow, row: Array, tolerance: float, start: Array) -> None:
    """Write the warm start of the next step: forces, zero where the step before was not solved, and its kind.

    Args:
        layout: Layout of a row.
        row: The row of the step before.
        tolerance: The residual at which a step is solved.
        start: Where they are written, ``(..., nstart)``.
    """
    at = layout.places
    points, boxes, multipliers = (row[..., at[name]] for name in ("points", "boxes", "multipliers"))
    if not layout.reduced:
        points = layout.points.by_slot(points, FORCE)
        points = points.reshape(*points.shape[:-2], -1)
    first = points.shape[-1]
    ends = first + layout.nboxes, first + layout.nboxes + layout.nc
    start[..., :first], start[..., first : ends[0]], start[..., ends[0] : ends[1]] = points, boxes, multipliers
    missed = row[..., at["solver"].start] > tolerance
    if missed.any():
        start[np.broadcast_to(missed, start.shape[:-1])] = 0.0
    if layout.reduced:
        start[..., -1] = row[..., at["solver"].stop - 1]


def _near(robot: Model, dt: float) -> float:
    """Meters within which coal computes contact points: many times what bodies move in a step."""
    scales = contact_scales(robot)
    fall = scales.velocity(float(np.linalg.norm(robot.gravity)), dt) * dt
    return max(SEARCHED_GAP * scales.length, SEARCHED_STEPS * fall)
