"""Motion in minimal coordinates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from linkwork.inputs import above_zero, fresh_floats
from linkwork.model.model import Model
from linkwork.quantities.evaluator import Array
from linkwork.simulation.stages import FreeJoints, Staged
from linkwork.simulation.stepper import joint_law


class MinimalMotion:
    """A robot that moves in minimal coordinates: loops are closed at every stage of a step, so that nothing drifts.

    The state is a closed configuration ``q`` and the rates of the free degrees of freedom (see `Minimal`).
    ``simulate(robot, ..., method="minimal")`` makes whole runs of such steps.

    Args:
        robot: The mechanism.
    """

    def __init__(self, robot: Model) -> None:
        self.robot = robot
        dynamics = FreeJoints(replace(robot, gravity_compensation={}))
        self.minimal = dynamics.minimal
        law = joint_law(robot, passive=False, limits=False, at=robot.neutral())
        self._staged = Staged(dynamics, "rk4", law)

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
        y = self.minimal.rates(rate, "rate")
        at, after, _, _ = self._staged.step(fresh_floats(q, "q"), y, torque, h)
        return at, after
