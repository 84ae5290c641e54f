# SPDX-License-Identifier: BSD-3-Clause
"""Motion in minimal coordinates."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from linkwork.closure.minimal import Minimal
from linkwork.inputs import above_zero, fresh_floats
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.simulation.stepper import Stepper


class MinimalMotion:
    """The motion of a robot in minimal coordinates: loops are closed at every stage of a step, without drift.

    The state is a closed configuration ``q`` and the rates of the free degrees of freedom (see `Minimal`). Joints do
    nothing by themselves: no springs, dampers and stops. ``simulate(robot, ..., method="minimal")`` makes whole runs of
    such steps, ``rollouts`` those of many robots, and ``Stepper(robot, ..., method="minimal")`` steps of one length.

    Args:
        robot: The mechanism.
    """

    def __init__(self, robot: Model) -> None:
        self.robot = robot
        self.minimal = Minimal(robot)
        self._stepper = Stepper(robot, 1.0, "rk4", method="minimal", passive=False, limits=False)

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
        h, stepper = above_zero(seconds, "seconds"), self._stepper
        torque = np.zeros(self.robot.nv) if tau is None else fresh_floats(tau, "tau")
        y, at = self.minimal.rates(rate, "rate"), fresh_floats(q, "q")
        *held, _ = stepper.held(None)
        inputs = [at, self.minimal.velocity(at, y), torque, *held, np.array([h, 0.0]), stepper.held.once]
        at, v, _, progress = stepper.runner.evaluate(inputs, [None] * 4)
        stepper.planned.check_loops(progress)
        return at, v[..., self.minimal.index]
