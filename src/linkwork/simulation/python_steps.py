# SPDX-License-Identifier: BSD-3-Clause
"""Steps in Python around any method of forward dynamics.

The text of a step is that of `kernels.steps.integrators`, run as Python; forward dynamics at its stages is an
evaluator. Much slower than `Stepper`: for comparing methods.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from linkwork.dynamics.forward import ForwardDynamics
from linkwork.errors import NotFinite
from linkwork.inputs import Auto, ForwardMethod, Integrator
from linkwork.kernels.algorithm import resolve
from linkwork.kernels.steps.integrators import Step, euler, runge_kutta
from linkwork.kernels.steps.stage_dynamics import Dynamics, StepInputs
from linkwork.kernels.steps.tableaus import DOPRI5, RK4
from linkwork.model.model import Model
from linkwork.plans.actuation import ACTUATION_TREE, actuation_tree
from linkwork.quantities.actuation import (
    acting_activations,
    actuator_torques,
    gravity_compensation,
    next_activations,
    tendon_forces,
)
from linkwork.quantities.arguments import Array

SCHEMES: dict[str, Callable[[Dynamics], Step]] = {
    "euler": euler,
    "rk4": lambda dynamics: runge_kutta(RK4, dynamics),
    "dopri5": lambda dynamics: runge_kutta(DOPRI5, dynamics),
}
"""Steps by integrator."""


class PythonStepper:
    """Steps of one integrator around a method of forward dynamics, under constant external ``wrenches`` on ``frames``.

    Torques are those given, the passive ones of joints, those of gravity compensation, and of actuators.
    """

    def __init__(
        self,
        robot: Model,
        method: ForwardMethod | Auto,
        integrator: Integrator,
        passive: Array,
        frames: Sequence[str] = (),
        wrenches: Array | None = None,
    ) -> None:
        self.robot, self.integrator = robot, integrator
        self.forward_dynamics = ForwardDynamics(robot, method, wrenches=frames)
        self._passive, self._wrenches = passive, wrenches
        self._tree = actuation_tree(robot)._replace(act_start=robot.nc)  # the result: constraint forces, activations
        dynamics = Dynamics("python", self._accelerations, {}, ACTUATION_TREE, False, {}, self._actuation)
        self._step = SCHEMES[integrator](dynamics)

    def step(
        self, q: Array, v: Array, tau: Array, h: float, commands: Array | None = None, act: Array | None = None
    ) -> tuple[Array, Array, Array, Array, Array | None]:
        """``q``, ``v``, constraint forces, error estimates ``(2, nv)`` and activations after one step of ``h``.

        NaN where numbers went beyond what floats hold.
        """
        shapes = self._step.work | {"act": ("na",), "act_rate": ("na",)}
        work = {name: np.zeros(resolve(shape, self._tree)) for name, shape in shapes.items()}
        nc = self.robot.nc
        w, found = SimpleNamespace(**work), np.zeros(nc + self.robot.na)
        if act is not None:
            found[nc:] = act
        timing = np.array([h, float(commands is not None)])
        inputs = StepInputs(tau, commands, self._wrenches, self._passive, None, timing)
        error = work.get("step_error", np.zeros((2, self.robot.nv)))
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                self._step.text(self._tree, w, q, v, inputs, found)
        except NotFinite:
            for x in (w.qs, w.vs, error):
                x.fill(np.nan)
        return w.qs, w.vs, found[:nc], error, found[nc:] if self.robot.na else None

    def _accelerations(
        self, tree: Any, w: Any, q: Array, v: Array, torque: Array, inputs: StepInputs, a: Array, found: Array
    ) -> None:
        if not (np.isfinite(q).all() and np.isfinite(v).all() and np.isfinite(torque).all()):
            raise NotFinite("a state or torque at a stage of the step is not finite")
        try:
            solution = self.forward_dynamics(q, v, torque, inputs.wrenches)
        except np.linalg.LinAlgError as error:  # numbers too large for singular values
            raise NotFinite(str(error)) from None
        a[:] = solution.acceleration
        if solution.multipliers is not None:
            found[: self.robot.nc] = solution.multipliers

    def _actuation(
        self, tree: Any, w: Any, q: Array, v: Array, commands: Array | None, h: float, commanded: float, torque: Array
    ) -> None:
        if self.robot.gravity_compensation:
            torque += gravity_compensation(self.robot, q)
        if any(tendon.is_passive for tendon in self.robot.tendons):
            torque += tendon_forces(self.robot, q, v)
        if commands is None:
            return
        act = None
        if self.robot.na:
            w.act_rate[:] = next_activations(self.robot, commands, w.act, h).rate
            act = acting_activations(self.robot, commands, w.act, h)
        torque += actuator_torques(self.robot, q, v, commands, act)
