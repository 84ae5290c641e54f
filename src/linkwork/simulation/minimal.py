"""Motion in minimal coordinates."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from linkwork.coordinates import Minimal
from linkwork.dynamics import Array
from linkwork.forward import ForwardDynamics
from linkwork.inputs import above_zero
from linkwork.mechanism import Mechanism


class MinimalMotion:
    """A robot that moves in minimal coordinates: loops are closed at every stage of a step, so that nothing drifts.

    The state is a closed configuration ``q`` and the rates of the free degrees of freedom (see `Minimal`).
    """

    def __init__(self, robot: Mechanism) -> None:
        self.robot = robot
        self.minimal = Minimal(robot)
        self._dynamics = ForwardDynamics(robot, "cluster" if self.minimal.ny < robot.nv else "aba")

    def step(
        self, q: npt.ArrayLike, rate: npt.ArrayLike, seconds: float, tau: npt.ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """Configuration and rates after ``seconds`` under constant torques on all joints (default: none).

        Runge and Kutta's method of fourth order; of second order where joints are spherical, planar or free.
        """
        h = above_zero(seconds, "seconds")
        torque = np.zeros(self.robot.nv) if tau is None else tau
        at, y = np.asarray(q, dtype=np.float64), self.minimal.rates(rate, "rate")
        v1, a1 = self._flow(at, y, torque)
        v2, a2 = self._flow(self._ahead(at, v1, h / 2), y + h / 2 * a1, torque)
        v3, a3 = self._flow(self._ahead(at, v2, h / 2), y + h / 2 * a2, torque)
        v4, a4 = self._flow(self._ahead(at, v3, h), y + h * a3, torque)
        mean = (v1 + 2 * v2 + 2 * v3 + v4) / 6
        return self._ahead(at, mean, h), y + h * (a1 + 2 * a2 + 2 * a3 + a4) / 6

    def _ahead(self, q: Array, v: Array, seconds: float) -> Array:
        return self.minimal.complete(self.robot.integrate(q, seconds * v))

    def _flow(self, q: Array, rate: Array, tau: npt.ArrayLike) -> tuple[Array, Array]:
        """All velocities, and the accelerations of the free degrees of freedom."""
        v = self.minimal.velocity(q, rate)
        return v, self._dynamics(q, v, tau).acceleration[..., self.minimal.index]
