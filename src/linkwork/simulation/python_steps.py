# SPDX-License-Identifier: BSD-3-Clause
"""Steps in Python around any method of forward dynamics.

The code of a step is that of `kernels.steps.integrators`, run as Python; forward dynamics at its stages is an
evaluator. Much slower than `Stepper`: for comparing methods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from linkwork.dynamics.forward import ForwardDynamics
from linkwork.errors import InputError, NotFinite, UnsupportedFeature
from linkwork.inputs import among
from linkwork.kernels.algorithm import Shape, resolve
from linkwork.kernels.steps.integrators import Step, euler, runge_kutta
from linkwork.kernels.steps.stage_dynamics import Dynamics, StepInputs, bounded_dampers
from linkwork.kernels.steps.tableaus import DOPRI5, RK4
from linkwork.kernels.tree.actuation import DRIVE_WORK, drive_joints
from linkwork.kernels.tree.implicit_damping import DAMPING_WORK
from linkwork.kernels.tree.kinematics import ACCELERATION, POSE
from linkwork.kernels.tree.rnea import FORCE
from linkwork.model.model import Model
from linkwork.plans.actuation import ACTUATION_TREE, with_actuators
from linkwork.plans.implicit_damping import ImplicitDamping
from linkwork.plans.tree import tree_of
from linkwork.quantities.arguments import Array
from linkwork.quantities.motions import is_timed
from linkwork.simulation.contact_warnings import warn_of_rows_left_out
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


WORK: dict[str, Shape] = POSE | {"a": ACCELERATION["a"]} | FORCE | DRIVE_WORK | DAMPING_WORK
"""Work arrays of actuators, tendons and gravity compensation."""


class PythonStepper:
    """Steps around a method of forward dynamics: a `OneStep`.

    Torques are those given, the passive ones of joints, those of gravity compensation, and of actuators.

    Args:
        robot: The mechanism.
        settings: Settings of the steps.
        wrenches: Constant external wrenches on the frames that settings name.
    """

    def __init__(self, robot: Model, settings: StepSettings, wrenches: Array | None = None) -> None:
        method, integrator, dt = settings.method, settings.integrator, settings.dt
        assert method != "minimal"
        if is_timed(robot):
            raise UnsupportedFeature(
                f"a constraint or force of '{robot.name}' depends on time, which steps by method '{method}' do "
                "not support: use method='auto'"
            )
        if settings.solver():
            raise InputError(f"method '{method}' takes no {', '.join(settings.solver())}: these are for compiled steps")
        if integrator not in SCHEMES:
            raise InputError(f"no integrator {integrator!r}{among(integrator, SCHEMES)}")
        warn_of_rows_left_out(robot, settings.limits is not False)
        at = robot.neutral() if settings.stops_at is None else np.array(settings.stops_at)
        soft = soft_limits(robot, settings.limits, False)
        self._passive = passive_parameters(robot, settings.passive, soft, at, dt, integrator == "euler")
        moved = stabilized(with_joint_forces(robot, robot, settings, at), settings.time_constant, dt)
        self.robot, self._wrenches = moved, wrenches
        self.forward_dynamics = ForwardDynamics(moved, method, wrenches=settings.wrenches)
        self._damped = lru_cache(maxsize=64)(self._with_armature)
        tree = with_actuators(moved, tree_of(moved), ACTUATION_TREE, ImplicitDamping(bounded=True))
        self._tree = tree._replace(act_start=moved.nc)  # the result: constraint forces, activations
        dynamics = Dynamics(
            "python",
            self._accelerations,
            WORK,
            ACTUATION_TREE,
            False,
            {},
            drive_joints,
            bounded_dampers,
        )
        self._step = SCHEMES[integrator](dynamics)

    def __call__(self, state: State, h: float, time: float = 0.0) -> Attempt:
        """One step of the time ``h``; NaN where numbers exceed the range of floats.

        Args:
            state: Before it.
            h: Time, in seconds.
            time: Seconds before it; nothing depends on it.
        """
        q, v, (tau, commands), _, _, act = state
        shapes = self._step.work | WORK
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

    def _with_armature(self, numbers: bytes) -> ForwardDynamics:
        """Forward dynamics of the robot with armature of implicit dampers, that of all degrees of freedom as bytes."""
        armature, own = np.frombuffer(numbers), self.forward_dynamics
        if np.array_equal(armature, self.robot.armature):
            return own
        joints = (replace(joint, armature=armature[self.robot.v_slice(joint.name)]) for joint in self.robot.joints)
        return ForwardDynamics(replace(self.robot, joints=tuple(joints)), own.method, wrenches=own.frames)

    def _accelerations(
        self, tree: Any, w: Any, q: Array, v: Array, torque: Array, inputs: StepInputs, a: Array, result: Array
    ) -> None:
        if not (np.isfinite(q).all() and np.isfinite(v).all() and np.isfinite(torque).all()):
            raise NotFinite("a state or torque at a stage of the step is not finite")
        try:
            solution = self._damped(tree.armature.tobytes())(q, v, torque, inputs.wrenches)
        except np.linalg.LinAlgError as error:  # numbers too large for singular values
            raise NotFinite(str(error)) from None
        a[:] = solution.acceleration
        if solution.multipliers is not None:
            result[: self.robot.nc] = solution.multipliers
