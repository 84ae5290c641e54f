# SPDX-License-Identifier: BSD-3-Clause
"""`RobotBatch`: the states of many copies of a robot, which steps move on together (`simulation.host_batch`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np
import numpy.typing as npt

from linkwork.inputs import ParameterName
from linkwork.quantities.arguments import Array
from linkwork.simulation.contacts import ContactHistory
from linkwork.simulation.finite_states import finite_states
from linkwork.simulation.host_batch import HostBatch
from linkwork.simulation.stepper import Stepper

Rows = npt.NDArray[np.int64]
"""Numbers of rows of a batch."""


class RobotBatch:
    """States of many copies of one robot, with parameters of its own for each where the stepper takes some.

    A robot that stops being finite holds NaN until it is put somewhere else.

    Args:
        stepper: Stepper of the robots.
        count: Number of robots.
    """

    def __init__(self, stepper: Stepper, count: int) -> None:
        self.stepper, self.count = stepper, count
        # One robot has a second row beside it: two take the way of all batches, in lanes, so that what a robot does is
        # the same to the last bit however many there are.
        self._size = max(count, 2)
        own = {name: np.tile(x, (self._size, *[1] * x.ndim)) for name, x in stepper.parameters.items()}
        self._robots = HostBatch(stepper, self._size, None, 1, cast(dict[ParameterName, Array], own))
        self._robots.q[:] = stepper.source.neutral()

    @property
    def q(self) -> Array:
        """Configurations, ``(count, nq)``: the array that steps change."""
        return self._robots.q[: self.count]

    @property
    def v(self) -> Array:
        """Velocities, ``(count, nv)``: the array that steps change."""
        return self._robots.v[: self.count]

    @property
    def multipliers(self) -> Array:
        """Constraint forces of the last step, ``(count, nc)``."""
        return self._robots.forces[: self.count]

    @property
    def contact_state(self) -> Array | None:
        """The contact state that the next step starts from, ``(count, width)``; None without contacts."""
        return None if self._robots.contacts is None else self._robots.contacts[: self.count]

    @property
    def contacts(self) -> ContactHistory | None:
        """Contacts in the last step by the names of pairs, and counts of each episode: ``contacts.missed`` steps that
        were not solved; None without contacts."""
        rows = self.contact_state
        return None if rows is None else ContactHistory(self.stepper.source, rows, self.stepper.dt)

    @property
    def parameters(self) -> dict[str, Array]:
        """Parameters of each robot that are inputs of the steps, by name, ``(count, ...)``."""
        return {name: x[: self.count] for name, x in self._robots.parameters.items()}

    @property
    def contact_forces(self) -> Array:
        """Forces of contact points in the last step, along t1, t2, n, on second shapes, ``(count, points, 3)``."""
        forces = self._robots.contact_forces
        return np.zeros((self.count, 0, 3)) if forces is None else forces[: self.count]

    @property
    def finite(self) -> npt.NDArray[np.bool_]:
        """Which robots have finite states, ``(count,)``."""
        return finite_states(self.q, self.v)

    def put(self, rows: Rows, q: Array, v: Array, parameters: Mapping[ParameterName, Array] | None = None) -> None:
        """Put some robots somewhere, with no forces of contacts to start from.

        Args:
            rows: Which.
            q: Configurations, ``(rows, nq)``.
            v: Velocities, ``(rows, nv)``.
            parameters: Their parameters by name, ``(rows, ...)``; by default those that they have.
        """
        at = rows if self.count > 1 else np.array([0, 1])
        mask = np.zeros(self._size, dtype=bool)
        mask[at] = True

        def full(x: Array) -> Array:
            array = np.zeros((self._size, *np.shape(x)[1:]))
            array[at] = x
            return array

        self._robots.reset(mask, full(q), full(v), {name: full(x) for name, x in (parameters or {}).items()})

    def advance(self, commands: Array | None, steps: int, wrenches: Array | None = None) -> None:
        """Make steps of all robots.

        Args:
            commands: Commands of the actuators, ``(count, actuators)``; None: none.
            steps: Number of steps.
            wrenches: External wrenches on the frames that the stepper was made with, ``(count, frames, 6)``.
        """
        if self.count == 1:
            commands, wrenches = (None if x is None else np.repeat(x, 2, axis=0) for x in (commands, wrenches))
        self._robots.advance(steps, None, commands, wrenches, 0)
