# SPDX-License-Identifier: BSD-3-Clause
"""Settings of steps as one frozen value: `Stepper` is made of it, and trajectories keep it.

| options           | keywords of                              |
|-------------------|------------------------------------------|
| StepOptions       | `simulate`, `rollouts`, `Simulation`     |
| ControlOptions    | `simulate`, `rollouts`                   |
| SimulationOptions | `simulate`: those, and further ones      |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, TypedDict

import numpy.typing as npt

from linkwork.conversions import word
from linkwork.inputs import ContactLaw, JointLimits, SimulationIntegrator, SimulationMethod, TimeConstant, fresh_floats
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.simulation.actuation import ControllerOutput
from linkwork.simulation.contacts import has_contacts, limits_at_start
from linkwork.simulation.stabilization import AUTO, joint_limits, time_constant_of

RENAMED: Mapping[str, str] = MappingProxyType(
    {"iterations": "max_iterations", "contact_iterations": "max_iterations", "contact_tolerance": "tolerance"}
)
"""New names of options by old ones."""


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
    contact: ContactLaw
    """Whether contact pairs of the robot touch, and dry friction of its joints acts. By default they do, but for pairs
    that need coal where it is not installed, or a mesh file that was not found: these are left out, with one warning;
    True makes it an error. True also makes limits exact in a robot without pairs and dry friction. ``"soft"``: they
    touch, and give way as MuJoCo's contacts do (``soft`` of `ContactPair`)."""
    regularization: float | None
    """Regularization of the proximal iterations, as for `ForwardDynamics`; by default as `Stepper` says."""
    tolerance: float | None
    """Residual at which a step with contacts is solved, as for `ContactStep`; by default 3e-9."""
    max_iterations: int | None
    """The most iterations of a step with contacts, by default 200; without contacts the iterations of the constraint
    forces, by default one for ``euler``, three for the others, and one more of several where rows are redundant."""


ADAPTIVE = ("dopri5", "radau")
"""Integrators whose steps are as long as their error allows."""


class ControlOptions(TypedDict, total=False):
    """Keywords of `simulate` and `rollouts` about controllers and the clock."""

    control_every: int
    """Steps between two calls of the controller; by default 1."""
    controller_output: ControllerOutput
    """Result of a controller: ``"torques"`` of all joints or ``"commands"`` of the actuators; by default
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
    accuracy: float
    """By how much each step of ``dopri5`` and ``radau`` may be wrong; by default 1e-8."""
    closed: bool
    """Whether loops must be closed at the start; by default they must."""
    contact_state: npt.ArrayLike | None
    """A row of `Trajectory.contact_state`, from whose forces the first step starts; by default from none."""


@dataclass(frozen=True)
class StepSettings:
    """Settings of steps: arguments of `Stepper`, checked."""

    dt: float = 1e-3
    integrator: SimulationIntegrator = "euler"
    method: SimulationMethod = "auto"
    time_constant: TimeConstant = AUTO
    passive: bool = True
    limits: bool | str | tuple[str, ...] = True
    stops_at: tuple[float, ...] | None = None
    """Configuration whose inertia stops are made for; None: the neutral one."""
    wrenches: tuple[str, ...] = ()
    """Frames that external wrenches act on."""
    contact: ContactLaw = None
    """Whether contact pairs touch and dry friction acts; None: if the robot has any."""
    regularization: float | None = None
    tolerance: float | None = None
    max_iterations: int | None = None
    by_slots: bool = False
    """Whether steps with contacts are those of straight-line programs and GPUs, which have all slots of all pairs."""

    @classmethod
    def of(
        cls,
        dt: float,
        integrator: SimulationIntegrator,
        method: SimulationMethod,
        wrenches: tuple[str, ...],
        options: StepOptions,
        stops_at: npt.ArrayLike | None = None,
    ) -> StepSettings:
        """From the arguments of `simulate`, `rollouts` and `Simulation`.

        Args:
            dt: Time of one step.
            integrator: Integrator of the steps.
            method: Of forward dynamics, or minimal coordinates.
            wrenches: Frames that external wrenches act on.
            options: Further keywords, of which those about steps are read.
            stops_at: Configuration that stops are made for, if options have none.
        """
        at = options.get("stops_at")
        stops = stops_at if at is None else at
        return cls(
            dt,
            word(integrator, "integrator"),
            word(method, "method"),
            options.get("time_constant", AUTO),
            options.get("passive", True),
            joint_limits(options.get("limits", True)),
            None if stops is None else tuple(fresh_floats(stops, "stops_at").tolist()),
            wrenches,
            options.get("contact"),
            options.get("regularization"),
            options.get("tolerance"),
            options.get("max_iterations"),
        )

    @property
    def implicit_time(self) -> float:
        """The time at whose end springs and dampers act; zero where they act as they are, and in soft steps, which add
        dampers after contacts."""
        return self.dt if self.integrator == "euler" and self.passive and self.contact != "soft" else 0.0

    def touching(self, robot: Model) -> bool:
        """Whether contact pairs of the robot touch; an `InputError` where they cannot."""
        return has_contacts(robot, self.contact, self.integrator, self.method, self.limits)

    def started_at(self, robot: Model, q: Array) -> StepSettings:
        """Settings for a start at ``q``: with hard contacts, limits of joints in loops are springs if it is beyond."""
        if self.limits is not True or self.contact == "soft" or not self.touching(robot):
            return self
        return replace(self, limits=limits_at_start(robot, q))

    def shortened(self, dt: float) -> StepSettings:
        """Settings for a step of another length, with unchanged stabilization."""
        if dt == self.dt:
            return self
        return replace(self, dt=dt, time_constant=time_constant_of(self.time_constant, self.dt))

    def compiled(self, robot: Model) -> bool:
        """Whether steps are made in machine code."""
        known = "lcaba" if any(c.enabled for c in robot.constraints) or self.touching(robot) else "aba"
        return self.method in ("auto", "minimal", known)

    def solver(self) -> dict[str, Any]:
        """Settings of the solver that were given."""
        names = ("regularization", "tolerance", "max_iterations")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def arguments(self) -> dict[str, Any]:
        """As keywords of `Stepper`."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "by_slots"}

    def saved(self) -> dict[str, Any]:
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
            **self.solver(),
        }
