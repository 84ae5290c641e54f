# SPDX-License-Identifier: BSD-3-Clause
"""How steps are made, as one value: what `simulate` and `rollouts` hand on to steppers, and keep with a trajectory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from linkwork.conversions import word
from linkwork.dynamics.implicit_armature import with_implicit_armature
from linkwork.errors import InputError
from linkwork.inputs import Integrator, JointLimits, ParameterName, SimulationMethod, TimeConstant, among, fresh_floats
from linkwork.kernels.steps.control import Control
from linkwork.model.model import Model
from linkwork.model.tendons import without_springs
from linkwork.quantities.arguments import Array
from linkwork.simulation.actuation import ControllerOutput
from linkwork.simulation.contacts import has_contacts, limits_at_start, warn_of_joint_friction
from linkwork.simulation.control import ControlledStepper
from linkwork.simulation.python_steps import PythonStepper
from linkwork.simulation.stabilization import (
    AUTO,
    joint_limits,
    passive_parameters,
    soft_limits,
    stabilized,
    stopped_tendons,
    time_constant_of,
)
from linkwork.simulation.stepper import INTEGRATORS, Stepper


class StepOptions(TypedDict, total=False):
    """Keywords of `simulate` and `rollouts` about how steps are made, with the meanings that `Stepper` gives them."""

    time_constant: TimeConstant
    """Baumgarte stabilization: seconds in which open loops close again; by default 5 ms, or two steps if that is more.
    None: they do not."""
    passive: bool
    """Whether springs and dampers of joints, and gravity compensation, act; by default they do."""
    limits: JointLimits
    """Whether joint limits are stops; by default they are. With contacts stops hold exactly, or are springs if this is
    ``"soft"``, as they always are without contacts; or those of joints that are named here."""
    stops_at: npt.ArrayLike | None
    """Configuration that stops are made for, ``(nq,)``; by default the first one of `simulate`, the neutral one of
    `rollouts`."""
    regularization: float
    """Regularization of the proximal iterations, as for `ForwardDynamics`; by default as `Stepper` says."""
    iterations: int | None
    """Iterations of the constraint forces; by default one for ``euler``, three for the others, and one more of several
    where rows are redundant."""
    contact: bool | None
    """Whether contact pairs of the robot touch. By default they do, but for those that need coal where it is not
    installed, or a mesh file that was not found: these are left out, with one warning; True makes it an error. True
    also makes dry friction of joints act in a robot without pairs."""
    contact_tolerance: float
    """Residual at which a step with contacts is solved: ``tolerance`` of `ContactStep`."""
    contact_iterations: int
    """Iterations of a step with contacts at most; by default 200."""


class ControlOptions(TypedDict, total=False):
    """Keywords of `simulate` and `rollouts` about controllers and the clock."""

    control_every: int
    """Steps between two calls of the controller; by default 1."""
    controller_output: ControllerOutput
    """What a controller returns: ``"torques"`` of all joints or ``"commands"`` of the actuators; by default
    ``"auto"``: torques where there are as many of both, else what fits."""
    start: float
    """Time at the start, in seconds, by default zero; from one between two multiples of ``dt``, the first step is
    shorter."""


class RolloutOptions(StepOptions, ControlOptions, total=False):
    """Further keywords of `rollouts`."""


class SimulationOptions(StepOptions, ControlOptions, total=False):
    """Further keywords of `simulate`."""

    project_every: int
    """Steps after which loops are closed to rounding; by default never, 0."""
    tolerance: float
    """By how much each step of ``dopri5`` may be wrong; by default 1e-8."""
    closed: bool
    """Whether loops must be closed at the start; by default they must."""
    contact_state: npt.ArrayLike | None
    """A row of `Trajectory.contact_state`, from whose forces the first step starts; by default from none."""


@dataclass(frozen=True)
class StepSettings:
    """Integrator, time step, stabilization, passive joint forces and stops of the steps of one simulation."""

    integrator: Integrator = "euler"
    dt: float = 1e-3
    method: SimulationMethod = "auto"
    time_constant: TimeConstant = AUTO
    passive: bool = True
    limits: bool | str | tuple[str, ...] = True
    stops_at: tuple[float, ...] | None = None
    """Configuration whose inertia stops are made for; None: the neutral one."""
    frames: tuple[str, ...] = ()
    """Frames that external wrenches act on."""
    options: tuple[tuple[str, Any], ...] = ()
    """Further ones of `Stepper`."""
    contact: bool | None = None
    """Whether contact pairs touch; None: if the robot has any."""
    parameters: tuple[ParameterName, ...] = ()
    """Parameters of the robot that are inputs of the steps."""

    @classmethod
    def of(
        cls,
        integrator: Integrator,
        dt: float,
        method: SimulationMethod,
        frames: tuple[str, ...],
        stops_at: npt.ArrayLike | None,
        options: StepOptions,
    ) -> StepSettings:
        """From what `simulate` and `rollouts` were given."""
        at = options.get("stops_at")
        stops = stops_at if at is None else at
        solver = ("iterations", "regularization", "contact_tolerance", "contact_iterations")
        iterations = {name: value for name, value in options.items() if name in solver}
        return cls(
            word(integrator, "integrator"),
            dt,
            word(method, "method"),
            options.get("time_constant", AUTO),
            options.get("passive", True),
            joint_limits(options.get("limits", True)),
            None if stops is None else tuple(fresh_floats(stops, "stops_at").tolist()),
            frames,
            tuple(iterations.items()),
            options.get("contact"),
        )

    def touching(self, robot: Model) -> bool:
        """Whether contact pairs of the robot touch; an `InputError` where they cannot."""
        return has_contacts(robot, self.contact, self.integrator, self.method)

    def started_at(self, robot: Model, q: Array) -> StepSettings:
        """The same for a start at ``q``: with contacts, limits of joints in loops are springs where it is beyond."""
        if self.limits is not True or not self.touching(robot):
            return self
        return replace(self, limits=limits_at_start(robot, q))

    def shortened(self, dt: float) -> StepSettings:
        """The same for a step of another length, with the stabilization of these."""
        return replace(self, dt=dt, time_constant=time_constant_of(self.time_constant, self.dt))

    def compiled(self, robot: Model) -> bool:
        """Whether steps are made in machine code."""
        known = "lcaba" if any(c.enabled for c in robot.constraints) or self.touching(robot) else "aba"
        return self.method in ("auto", "minimal", known)

    def stepper(self, robot: Model, control: Control | None = None, control_every: int = 0) -> Stepper:
        """Compiled steps, with a controller among them if there is one."""
        how: dict[str, Any] = {
            "integrator": self.integrator,
            "dt": self.dt,
            "method": "minimal" if self.method == "minimal" else "auto",
            "time_constant": self.time_constant,
            "passive": self.passive,
            "limits": self.limits,
            "stops_at": self.stops_at,
            "wrenches": self.frames,
            "contact": self.contact,
            "parameters": self.parameters,
            **dict(self.options),
        }
        return Stepper(robot, **how) if control is None else ControlledStepper(robot, control, control_every, **how)

    def python_stepper(self, robot: Model, wrenches: Array) -> PythonStepper:
        """Steps in Python around a method of forward dynamics."""
        assert self.method != "minimal"
        if self.options:
            names = ", ".join(name for name, _ in self.options)
            raise InputError(f"method '{self.method}' takes no {names}: these are for compiled steps")
        if self.integrator not in INTEGRATORS:
            raise InputError(f"no integrator {self.integrator!r}{among(self.integrator, INTEGRATORS)}")
        warn_of_joint_friction(robot)
        at = robot.neutral() if self.stops_at is None else np.array(self.stops_at)
        passive = passive_parameters(robot, self.passive, soft_limits(robot, self.limits, False), at, self.dt)
        moved = with_implicit_armature(robot, self.dt) if self.integrator == "euler" and self.passive else robot
        if not self.passive:
            moved = replace(moved, gravity_compensation={}, tendons=without_springs(moved.tendons))
        moved = replace(moved, tendons=stopped_tendons(robot, moved.tendons, self.limits is not False, at, self.dt))
        held = stabilized(moved, self.time_constant, self.dt)
        return PythonStepper(held, self.method, self.integrator, passive, self.frames, wrenches)

    def saved(self) -> Mapping[str, Any]:
        """As a trajectory keeps them."""
        return {
            "integrator": self.integrator,
            "method": self.method,
            "dt": self.dt,
            "time_constant": self.time_constant,
            "passive": self.passive,
            "limits": self.limits,
            **({} if self.stops_at is None else {"stops_at": list(self.stops_at)}),
            **({} if self.contact is None else {"contact": self.contact}),
            **dict(self.options),
        }
