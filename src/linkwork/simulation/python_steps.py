# SPDX-License-Identifier: BSD-3-Clause
"""Steps in Python around any method of forward dynamics.

The text of a step is that of `kernels.steps.integrators`, run as Python; forward dynamics at its stages is an
evaluator. Much slower than `Stepper`: for comparing methods.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from linkwork.dynamics.forward import ForwardDynamics
from linkwork.errors import InputError, NotFinite
from linkwork.inputs import among
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
from linkwork.simulation.contacts import warn_of_joint_friction
from linkwork.simulation.program import with_joint_forces
from linkwork.simulation.propagators import Attempt
from linkwork.simulation.settings import StepSettings
from linkwork.simulation.stabilization import passive_parameters, soft_limits, stabilized
from linkwork.simulation.state import State

SCHEMES: dict[str, Callable[[Dynamics], Step]] = {
    "euler": euler,
    "rk4": lambda dynamics: runge_kutta(RK4, dynamics),
    "dopri5": lambda dynamics: runge_kutta(DOPRI5, dynamics),
}
"""Steps by integrator."""


class PythonStepper:
    """Steps around a method of forward dynamics: a `OneStep`.

    Torques are those given, the passive ones of joints, those of gravity compensation, and of actuators.

    Args:
        robot: The mechanism.
        settings: How steps are made.
        wrenches: Constant external wrenches on the frames that settings name.
    """

    def __init__(self, robot: Model, settings: StepSettings, wrenches: Array | None = None) -> None:
        method, integrator, dt = settings.method, settings.integrator, settings.dt
        assert method != "minimal"
        if settings.solver():
            raise InputError(f"method '{method}' takes no {', '.join(settings.solver())}: these are for compiled steps")
        if integrator not in SCHEMES:
            raise InputError(f"no integrator {integrator!r}{among(integrator, SCHEMES)}")
        warn_of_joint_friction(robot)
        at = robot.neutral() if settings.stops_at is None else np.array(settings.stops_at)
        self._passive = passive_parameters(robot, settings.passive, soft_limits(robot, settings.limits, False), at, dt)
        moved = stabilized(with_joint_forces(robot, robot, settings, at), settings.time_constant, dt)
        self.robot, self._wrenches = moved, wrenches
        self.forward_dynamics = ForwardDynamics(moved, method, wrenches=settings.wrenches)
        self._tree = actuation_tree(moved)._replace(act_start=moved.nc)  # the result: constraint forces, activations
        dynamics = Dynamics("python", self._accelerations, {}, ACTUATION_TREE, False, {}, self._actuation)
        self._step = SCHEMES[integrator](dynamics)

    def __call__(self, state: State, h: float) -> Attempt:
        """One step of the time ``h``; NaN where numbers went beyond what floats hold.

        Args:
            state: Before it.
            h: Time, in seconds.
        """
        q, v, (tau, commands), _, _, act = state
        shapes = self._step.work | {"act": ("na",), "act_rate": ("na",)}
        work = {name: np.zeros(resolve(shape, self._tree)) for name, shape in shapes.items()}
        nc = self.robot.nc
        w, result = SimpleNamespace(**work), np.zeros(nc + self.robot.na)
        if act is not None:
            result[nc:] = act
        timing = np.array([h, float(commands is not None)])
        inputs = StepInputs(tau, commands, self._wrenches, self._passive, None, timing)
        error = work.get("step_error", np.zeros((2, self.robot.nv)))
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                self._step.text(self._tree, w, q, v, inputs, result)
        except NotFinite:
            for x in (w.qs, w.vs, error):
                x.fill(np.nan)
        after = result[nc:] if self.robot.na else None
        return Attempt(State(w.qs, w.vs, state.actuation, result[:nc], None, after), error)

    def _accelerations(
        self, tree: Any, w: Any, q: Array, v: Array, torque: Array, inputs: StepInputs, a: Array, result: Array
    ) -> None:
        if not (np.isfinite(q).all() and np.isfinite(v).all() and np.isfinite(torque).all()):
            raise NotFinite("a state or torque at a stage of the step is not finite")
        try:
            solution = self.forward_dynamics(q, v, torque, inputs.wrenches)
        except np.linalg.LinAlgError as error:  # numbers too large for singular values
            raise NotFinite(str(error)) from None
        a[:] = solution.acceleration
        if solution.multipliers is not None:
            result[: self.robot.nc] = solution.multipliers

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
