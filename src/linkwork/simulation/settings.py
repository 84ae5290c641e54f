"""How steps are made, as one value: what `simulate` and `rollouts` hand on to steppers, and keep with a trajectory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwork.errors import InputError
from linkwork.inputs import Integrator, SimulationMethod, TimeConstant
from linkwork.kernels.control import Control
from linkwork.model.model import Model
from linkwork.quantities.base import Array
from linkwork.simulation.control import ControlledStepper
from linkwork.simulation.python_steps import JointCoordinates, MinimalCoordinates, PythonStepper
from linkwork.simulation.stabilization import (
    AUTO,
    passive_parameters,
    stabilized,
    time_constant_of,
    with_implicit_armature,
)
from linkwork.simulation.stepper import INTEGRATORS, Stepper


@dataclass(frozen=True)
class StepSettings:
    """Integrator, time step, stabilization, passive joint forces and stops of the steps of one simulation."""

    integrator: Integrator = "euler"
    dt: float = 1e-3
    method: SimulationMethod = "auto"
    time_constant: TimeConstant = AUTO
    passive: bool = True
    limits: bool = True
    stops_at: tuple[float, ...] | None = None
    """Configuration whose inertia stops are made for; None: the neutral one."""
    frames: tuple[str, ...] = ()
    """Frames that external wrenches act on."""
    options: tuple[tuple[str, Any], ...] = ()
    """Further ones of `Stepper`."""

    def shortened(self, dt: float) -> StepSettings:
        """The same for a step of another length, with the stabilization of these."""
        return replace(self, dt=dt, time_constant=time_constant_of(self.time_constant, self.dt))

    def compiled(self, robot: Model) -> bool:
        """Whether steps are made in machine code."""
        return self.method in ("auto", "lcaba" if any(c.enabled for c in robot.constraints) else "aba")

    def stepper(self, robot: Model, control: Control | None = None, control_every: int = 0) -> Stepper:
        """Compiled steps, with a controller among them if there is one."""
        how: dict[str, Any] = {
            "integrator": self.integrator,
            "dt": self.dt,
            "time_constant": self.time_constant,
            "passive": self.passive,
            "limits": self.limits,
            "stops_at": self.stops_at,
            "wrenches": self.frames,
            **dict(self.options),
        }
        return Stepper(robot, **how) if control is None else ControlledStepper(robot, control, control_every, **how)

    def python_stepper(self, robot: Model, wrenches: Array) -> PythonStepper:
        """Steps in Python around a method of forward dynamics, or in minimal coordinates."""
        if self.options:
            names = ", ".join(name for name, _ in self.options)
            raise InputError(f"method '{self.method}' takes no {names}: these are for compiled steps")
        if self.integrator not in INTEGRATORS:
            raise InputError(f"no integrator {self.integrator!r}; there are {', '.join(INTEGRATORS)}")
        at = robot.neutral() if self.stops_at is None else np.array(self.stops_at)
        passive = passive_parameters(robot, self.passive, self.limits, at)
        moved = with_implicit_armature(robot, self.dt) if self.integrator == "euler" and self.passive else robot
        if not self.passive:
            moved = replace(moved, gravity_compensation={})
        if self.method == "minimal":
            return PythonStepper(MinimalCoordinates(moved, self.frames), self.integrator, passive, wrenches)
        held = stabilized(moved, self.time_constant, self.dt)
        return PythonStepper(JointCoordinates(held, self.method, self.frames), self.integrator, passive, wrenches)

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
            **dict(self.options),
        }
