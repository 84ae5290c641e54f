# SPDX-License-Identifier: BSD-3-Clause
"""Steps in Python around any method of forward dynamics, and in minimal coordinates.

The text of a step is that of `kernels.steps`, run as Python; forward dynamics at its stages is an evaluator. Much
slower than `Stepper`: for comparing methods, and for loops that must not open at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np

from linkwork.closure.minimal import Minimal
from linkwork.dynamics.forward import ForwardDynamics
from linkwork.inputs import Auto, ForwardMethod, Integrator
from linkwork.kernels.algorithm import resolve
from linkwork.kernels.steps import Dynamics, Step, StepInputs, euler, runge_kutta
from linkwork.kernels.tableaus import DOPRI5, RK4
from linkwork.model.model import Model
from linkwork.plans.tree import TREE, tree_of
from linkwork.quantities.base import Array
from linkwork.quantities.functions import actuator_torques, gravity_compensation

SCHEMES: dict[str, Callable[[Dynamics], Step]] = {
    "euler": euler,
    "rk4": lambda dynamics: runge_kutta(RK4, dynamics),
    "dopri5": lambda dynamics: runge_kutta(DOPRI5, dynamics),
}
"""Steps by integrator."""


class Coordinates(Protocol):
    """Which joints carry the state, and their forward dynamics."""

    robot: Model
    forward_dynamics: ForwardDynamics

    def constrain_velocity(self, tree: Any, q: Array, v: Array) -> None:
        """Overwrite the velocities of dependent joints with those that the others determine."""

    def constrain_configuration(self, tree: Any, q: Array) -> None:
        """Overwrite the positions of dependent joints with those that the others determine."""


class JointCoordinates:
    """All joints, by a method of `ForwardDynamics`."""

    def __init__(self, robot: Model, method: ForwardMethod | Auto, wrenches: Sequence[str] = ()) -> None:
        self.robot = robot
        self.forward_dynamics = ForwardDynamics(robot, method, wrenches=wrenches)

    def constrain_velocity(self, tree: Any, q: Array, v: Array) -> None:
        """No joint depends on others."""

    def constrain_configuration(self, tree: Any, q: Array) -> None:
        """No joint depends on others."""


class MinimalCoordinates:
    """Independent joints alone: loops are closed at every stage."""

    def __init__(self, robot: Model, wrenches: Sequence[str] = ()) -> None:
        self.robot = robot
        self.minimal = Minimal(robot)
        method: ForwardMethod = "cluster" if self.minimal.ny < robot.nv else "aba"
        self.forward_dynamics = ForwardDynamics(robot, method, wrenches=wrenches)

    def constrain_velocity(self, tree: Any, q: Array, v: Array) -> None:
        """``v = G(q) y`` of the independent velocities ``y``."""
        v[:] = self.minimal.velocity(q, v[self.minimal.index])

    def constrain_configuration(self, tree: Any, q: Array) -> None:
        """Positions of dependent joints, by Newton's method."""
        q[:] = self.minimal.complete(q)


class PythonStepper:
    """Steps of one integrator in some coordinates, under constant external ``wrenches``.

    Torques are those given, the passive ones of joints, those of gravity compensation, and of actuators.
    """

    def __init__(
        self, coordinates: Coordinates, integrator: Integrator, passive: Array, wrenches: Array | None = None
    ) -> None:
        self.coordinates, self.integrator = coordinates, integrator
        robot = self.robot = coordinates.robot
        self._passive, self._wrenches = passive, wrenches
        self._tree = tree_of(robot)
        self._step = SCHEMES[integrator](
            Dynamics(
                "python",
                self._accelerations,
                {},
                TREE,
                constrained=False,
                folded={},
                actuation=self._actuation,
            )
        )

    def step(
        self, q: Array, v: Array, tau: Array, h: float, commands: Array | None = None
    ) -> tuple[Array, Array, Array, Array]:
        """``q``, ``v``, constraint forces and error estimates ``(2, nv)`` after one step of the time ``h``."""
        work = {name: np.zeros(resolve(shape, self._tree)) for name, shape in self._step.work.items()}
        w, found = SimpleNamespace(**work), np.zeros(self.robot.nc)
        v = v.copy()
        self.coordinates.constrain_velocity(self._tree, q, v)
        timing = np.array([h, float(commands is not None)])
        inputs = StepInputs(tau, commands, self._wrenches, self._passive, None, timing)
        self._step.text(self._tree, w, q, v, inputs, found)
        return w.qs, w.vs, found, work.get("step_error", np.zeros((2, self.robot.nv)))

    def _accelerations(
        self, tree: Any, w: Any, q: Array, v: Array, torque: Array, inputs: StepInputs, a: Array, found: Array
    ) -> None:
        solution = self.coordinates.forward_dynamics(q, v, torque, inputs.wrenches)
        a[:] = solution.acceleration
        if solution.multipliers is not None:
            found[:] = solution.multipliers

    def _actuation(
        self, tree: Any, w: Any, q: Array, v: Array, commands: Array | None, commanded: float, torque: Array
    ) -> None:
        if self.robot.gravity_compensation:
            torque += gravity_compensation(self.robot, q)
        if commands is not None:
            torque += actuator_torques(self.robot, q, v, commands)
