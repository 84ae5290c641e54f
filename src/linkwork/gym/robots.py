# SPDX-License-Identifier: BSD-3-Clause
"""`RobotBatch`: the states of many copies of a robot, which steps move on together, or some rows of them.

A robot that stops being finite holds NaN until it is put somewhere else (`simulation.batch_propagators`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError
from linkwork.quantities.arguments import Array
from linkwork.simulation.actuation import Actuation
from linkwork.simulation.batch_propagators import batch_steps
from linkwork.simulation.loop import State
from linkwork.simulation.stepper import Stepper

Rows = npt.NDArray[np.int64]
"""Numbers of rows of a batch."""


class RobotBatch:
    """States of many copies of one robot, with parameters of its own for each where the stepper takes some.

    Args:
        stepper: How they move.
        count: How many there are.
    """

    def __init__(self, stepper: Stepper, count: int) -> None:
        if stepper.minimal:
            raise InputError("steps in minimal coordinates have no contacts; use method='auto'")
        robot, row = stepper.source, stepper.contact_row
        self.stepper, self.count, self.robot = stepper, count, robot
        self.q: Array = np.tile(robot.neutral(), (count, 1))
        """Configurations, ``(count, nq)``."""
        self.v: Array = np.zeros((count, robot.nv))
        """Velocities, ``(count, nv)``."""
        self.multipliers: Array = np.zeros((count, robot.nc))
        """Constraint forces of the last step, ``(count, nc)``."""
        self.contact_state: Array | None = None if row is None else np.zeros((count, row.width))
        """What the next step starts from besides the state; None without contacts."""
        self.parameters: dict[str, Array] = {
            name: np.tile(own, (count, *[1] * own.ndim)) for name, own in stepper.parameters.items()
        }
        """Parameters of each robot that are inputs of the steps, by name, ``(count, ...)``."""
        self._tau = np.zeros(robot.nv)

    @property
    def contact_forces(self) -> Array:
        """Forces of contact points in the last step, along t1, t2, n, on second shapes, ``(count, points, 3)``."""
        if self.contact_state is None or self.stepper.contact_row is None:
            return np.zeros((self.count, 0, 3))
        forces: Array = self.contact_state[:, self.stepper.contact_row.places["forces"]]
        return forces.reshape(self.count, -1, 3)

    @property
    def finite(self) -> npt.NDArray[np.bool_]:
        """Which robots have finite states, ``(count,)``."""
        return np.asarray(np.isfinite(self.q).all(axis=-1) & np.isfinite(self.v).all(axis=-1))

    def put(self, rows: Rows, q: Array, v: Array) -> None:
        """Put some robots somewhere, with no forces of contacts to start from.

        Args:
            rows: Which.
            q: Configurations, ``(rows, nq)``.
            v: Velocities, ``(rows, nv)``.
        """
        self.q[rows], self.v[rows], self.multipliers[rows] = q, v, 0.0
        if self.contact_state is not None:
            self.contact_state[rows] = 0.0

    def advance(self, rows: Rows, commands: Array | None, steps: int, wrenches: Array | None = None) -> None:
        """Make steps of some robots; others stay where they are.

        Args:
            rows: Which.
            commands: Commands of the actuators of these, ``(rows, actuators)``; None: none.
            steps: How many steps.
            wrenches: External wrenches on the frames that the stepper was made with, ``(rows, frames, 6)``.
        """
        if not len(rows):
            return
        if len(rows) == 1:  # two rows take the way of all batches, so that results do not depend on how many there are
            rows = np.repeat(rows, 2)
            commands, wrenches = (None if x is None else np.repeat(x, 2, axis=0) for x in (commands, wrenches))
        stepper, some = self.stepper, len(rows) != self.count or rows[0] == rows[-1]
        q, v, contacts = self.q, self.v, self.contact_state
        given = tuple(x[rows] if some else x for x in self.parameters.values())
        if some:
            q, v, contacts = q[rows], v[rows], None if contacts is None else contacts[rows]
        pushed = stepper._no_wrenches if wrenches is None else wrenches
        move = batch_steps(stepper, lambda dt: stepper, pushed, given)
        before = State(q, v, Actuation(self._tau, commands), self.multipliers, contacts)
        after, _ = move(before, 0, steps)
        self.q[rows], self.v[rows], self.multipliers[rows] = after.q, after.v, after.multipliers
        if self.contact_state is not None:
            self.contact_state[rows] = after.contacts
