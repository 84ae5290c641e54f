# SPDX-License-Identifier: BSD-3-Clause
"""Motion in minimal coordinates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from linkwork.inputs import above_zero, fresh_floats
from linkwork.model.model import Model
from linkwork.quantities.base import Array
from linkwork.simulation.python_steps import MinimalCoordinates, PythonStepper
from linkwork.simulation.stabilization import passive_parameters


class MinimalMotion:
    """A robot that moves in minimal coordinates: loops are closed at every stage of a step, so that nothing drifts.

    The state is a closed configuration ``q`` and the rates of the free degrees of freedom (see `Minimal`).
    ``simulate(robot, ..., method="minimal")`` makes whole runs of such steps.

    Args:
        robot: The mechanism.
    """

    def __init__(self, robot: Model) -> None:
        self.robot = robot
        coordinates = MinimalCoordinates(replace(robot, gravity_compensation={}))
        self.minimal = coordinates.minimal
        nothing = passive_parameters(robot, passive=False, limits=False, at=robot.neutral())
        self._stepper = PythonStepper(coordinates, "rk4", nothing)

    def __reduce__(self) -> tuple[type[MinimalMotion], tuple[Model]]:
        return MinimalMotion, (self.robot,)

    def step(
        self, q: npt.ArrayLike, rate: npt.ArrayLike, seconds: float, tau: npt.ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """Configuration and rates after a time, by Runge and Kutta's method of fourth order on Lie groups.

        Args:
            q: Configuration with closed loops, ``(nq,)``.
            rate: Rates of the free degrees of freedom, ``(ny,)``.
            seconds: Time of the step.
            tau: Constant torques on all joints, ``(nv,)``; by default none.
        """
        h = above_zero(seconds, "seconds")
        torque = np.zeros(self.robot.nv) if tau is None else fresh_floats(tau, "tau")
        y, at = self.minimal.rates(rate, "rate"), fresh_floats(q, "q")
        at, v, _, _ = self._stepper.step(at, self.minimal.velocity(at, y), torque, h)
        return at, v[..., self.minimal.index]
