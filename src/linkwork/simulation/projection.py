# SPDX-License-Identifier: BSD-3-Clause
"""Projection of states onto the constraint manifold, every few steps of a simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linkwork.closure.assembly import assemble
from linkwork.closure.assembly_problem import which_enabled, which_holonomic
from linkwork.closure.thresholds import CLOSED_BY_PROJECTION, ROUNDED
from linkwork.dynamics.forward import ForwardDynamics
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.quantities.functions import constraint_error, constraint_jacobian
from linkwork.quantities.motions import row_motions
from linkwork.quantities.scales import typical_row_units

NEWTON = 5
"""Iterations of Newton's method, after which `assemble` continues."""


class LoopProjection:
    """``LoopProjection(robot)(q, v)``: the nearest state with closed loops, in the metric of kinetic energy.

    A change ``x`` with ``J x = y`` that has the least energy is what forward dynamics gives a robot at rest without
    gravity whose constraints have the target ``y``: no dense algebra, and redundant rows do no harm.
    """

    def __init__(self, robot: Model) -> None:
        self.robot = robot
        held = (c.held(robot.time) for c in robot.constraints)
        plain = tuple(replace(c, gains=None, time_constant=None) for c in held)
        self._least = ForwardDynamics(replace(robot, constraints=plain, gravity=np.zeros(3)), "lcaba")
        self._rest = np.zeros(robot.nv)
        self._target = row_motions(robot, robot.time)[0]
        self._units = typical_row_units(robot)
        self._placed = (which_enabled(robot) & which_holonomic(robot)).astype(float)

    def __call__(self, q: Array, v: Array, time: float = 0.0) -> tuple[Array, Array]:
        """One state at a time, onto the loops."""
        target, rate, _ = row_motions(self.robot, time)
        at = self._closed(q, target - self._target, time)
        return at, v + self._change(at, rate - constraint_jacobian(self.robot, at) @ v)

    def _closed(self, q: Array, moved: Array, time: float) -> Array:
        """Newton's method; where loops are too wide open for it, `assemble`. Targets of rows have ``moved`` so far."""
        at, before = q, np.inf
        for _ in range(NEWTON):
            error = self._placed * (constraint_error(self.robot, at) - moved)
            gap = np.abs(error / self._units).max(initial=0.0)
            if gap <= CLOSED_BY_PROJECTION or (
                gap <= ROUNDED and gap >= 0.5 * before
            ):  # or as near as rounded numbers let it
                return at
            at, before = self.robot.integrate(at, self._change(at, -error)), gap
        return assemble(replace(self.robot, time=time), q, limits=False).q

    def _change(self, q: Array, wanted: Array) -> Array:
        """The least one that changes rows as wanted."""
        return self._least(q, self._rest, self._rest, target=wanted).acceleration
