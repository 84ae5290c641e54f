# SPDX-License-Identifier: BSD-3-Clause
"""A simulation as one frozen value, of one robot or of a batch: it says which steps lead from stop to stop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError
from linkwork.inputs import ParameterName
from linkwork.kernels.steps.control import Control
from linkwork.model.model import Model
from linkwork.model.parameters import own_values
from linkwork.quantities.arguments import Array
from linkwork.simulation.actuation import Actuation, ControlFunction, ControllerOutput
from linkwork.simulation.contacts import warm_start
from linkwork.simulation.control import Controller, as_controller
from linkwork.simulation.loop import function_feedback, run
from linkwork.simulation.projection import LoopProjection
from linkwork.simulation.propagators import CompiledSteps, adaptive_steps, one_compiled_step, python_steps
from linkwork.simulation.python_steps import PythonStepper
from linkwork.simulation.radau import RadauStep, staged_settings
from linkwork.simulation.recorder import Recorder
from linkwork.simulation.schedule import Schedule, Stop
from linkwork.simulation.settings import ADAPTIVE, StepSettings
from linkwork.simulation.state import Feedback, Propagate, State
from linkwork.simulation.stepper import Stepper
from linkwork.simulation.thresholds import STEP_ACCURACY


@dataclass(frozen=True, eq=False)
class Run:
    """A simulation; parts of a batch are jobs of an executor."""

    robot: Model
    settings: StepSettings
    schedule: Schedule
    start: State
    """Of one robot, or with a first axis of many."""
    wrenches: Array
    """External wrenches on the frames that settings name."""
    controller: Controller | ControlFunction | None
    output: ControllerOutput
    """Result of a control function."""
    accuracy: float = STEP_ACCURACY
    """By how much each step of adaptive length may be wrong."""
    compile: bool = False
    """Whether steps are a program made for this robot."""
    threads: int | None = None
    parameters: Mapping[ParameterName, Array] = field(default_factory=dict)
    """Parameters of all robots, or with a first axis, of each."""
    contact_state: npt.ArrayLike | None = None
    """A row of an earlier simulation, from whose forces the first step starts."""
    shared: bool = False
    """Whether steppers are kept for simulations that follow; they are shared with other threads then."""

    @property
    def robots(self) -> int | None:
        """The number of robots; None: one, without an axis."""
        return None if self.start.q.ndim == 1 else len(self.start.q)

    @cached_property
    def stepper(self) -> Stepper:
        """Whole steps in machine code, without a controller."""
        return self._stepper(self.settings, self.compile)

    def shortened(self, dt: float) -> Stepper:
        """A stepper for one step of some length, which is not worth a program.

        Args:
            dt: Time of the step.
        """
        return self._stepper(self.settings.shortened(dt), False)

    def _stepper(self, settings: StepSettings, compile: bool, controller: Controller | None = None) -> Stepper:
        make = _shared_stepper if self.shared else _shared_stepper.__wrapped__
        control, every = (None, 0) if controller is None else (controller.control, self.schedule.control)
        return make(self.robot, settings, tuple(self.parameters), compile, self.threads, control, every)

    @cached_property
    def contacts(self) -> Array | None:
        """Rows about contacts at the start; None without contacts."""
        if not self.settings.touching(self.robot):
            if self.contact_state is not None:
                raise InputError(f"contact_state is given, but '{self.robot.name}' is simulated without contacts")
            return None
        row = (self._stepper(self.settings, False) if self.compile else self.stepper).contact_row
        assert row is not None
        start = warm_start(row, self.contact_state)
        return start if self.robots is None else np.tile(start, (self.robots, 1))

    def rows(self, rows: slice) -> Run:
        """Some of the robots of a batch, on one core.

        Args:
            rows: Which.
        """
        q, v, actuation, multipliers, _, act = self.start
        activations = None if act is None else act[rows]
        start = State(q[rows], v[rows], actuation.rows(rows), multipliers[rows], None, activations)
        axes = {name: own_values(self.robot, name).ndim for name in self.parameters}
        return replace(
            self,
            start=start,
            wrenches=self.wrenches[rows] if self.wrenches.ndim > 2 else self.wrenches,
            controller=self.controller.part(rows) if isinstance(self.controller, Controller) else self.controller,
            parameters={name: x[rows] if x.ndim > axes[name] else x for name, x in self.parameters.items()},
            threads=1,
            shared=False,
        )

    def recorder(self) -> Recorder:
        """Arrays for the states that are kept."""
        contacts, lead = self.contacts, () if self.robots is None else (self.robots,)
        width = None if contacts is None else contacts.shape[-1]
        return Recorder(self.robot, self.schedule.record_times, lead, width, self.parameters)

    def restarted(self, robot: Model, schedule: Schedule, start: State) -> Run:
        """The run from another state on, for a robot some of whose constraints are switched.

        Args:
            robot: The mechanism.
            schedule: Times of steps, controls, records and events.
            start: The state.
        """
        new = replace(self, robot=robot, schedule=schedule, start=start)
        kept: dict[str, Any] = {"contacts": start.contacts}
        if robot is self.robot and "stepper" in vars(self):
            kept["stepper"] = self.stepper
        vars(new).update(kept)
        return new

    def roll(
        self,
        recorder: Recorder,
        report: Callable[[float], None] | None = None,
        watched: Callable[[Propagate], Propagate] | None = None,
    ) -> str:
        """Make all steps, and keep states; the reason why it ended early, or None.

        Args:
            recorder: Keeps the states.
            report: Called with progress.
            watched: Makes steps that may end before a stop of those that lead there.
        """
        stops, propagate, feedback = self._plan()
        propagate = propagate if watched is None else watched(propagate)
        project = LoopProjection(self.robot) if self.schedule.project else None
        start = self.start._replace(contacts=self.contacts)
        return run(self.schedule, stops, start, propagate, recorder, feedback=feedback, project=project, report=report)

    def _plan(self) -> tuple[list[Stop], Propagate, Feedback | None]:
        """Stops, steps from one to the next, and the feedback at them."""
        robot, settings, schedule, controller = self.robot, self.settings, self.schedule, self.controller
        fixed = settings.compiled(robot) and not schedule.project and settings.integrator not in ADAPTIVE
        if isinstance(controller, Controller):
            if fixed:
                steps = self._compiled_steps(controller)
                return schedule.stops_of_kernel(), steps, steps.feedback
            controller = controller.plain(robot)
        if controller is None:
            return schedule.stops(), self._steps(), None
        feedback = function_feedback(robot, controller, self.output, self.start.actuation, self.robots)
        return schedule.stops(), self._steps(), feedback

    def _steps(self) -> Propagate:
        """Steps in machine code, or in Python around other methods of forward dynamics; of one length, or adaptive."""
        robot, settings = self.robot, self.settings
        adaptive, dt = settings.integrator in ADAPTIVE, settings.dt
        if settings.integrator == "radau":
            staged = self._stepper(staged_settings(robot, settings), False)
            return adaptive_steps(RadauStep(staged, self.wrenches, self.accuracy), dt, self.accuracy, robot)
        if settings.compiled(robot):
            if not adaptive:
                return self._compiled_steps()
            return adaptive_steps(one_compiled_step(self.stepper, self.wrenches), dt, self.accuracy, robot)

        def make(h: float) -> PythonStepper:
            return PythonStepper(robot, settings.shortened(h), self.wrenches)

        return adaptive_steps(make(dt), dt, self.accuracy, robot) if adaptive else python_steps(make, dt)

    def _compiled_steps(self, controller: Controller | None = None) -> CompiledSteps:
        stepper = self.stepper if controller is None else self._stepper(self.settings, self.compile, controller)
        values, end = tuple(self.parameters.values()), self.schedule.end
        return CompiledSteps(stepper, self.shortened, self.wrenches, values, controller, end)

    def saved(self) -> dict[str, Any]:
        """Settings as a trajectory keeps them."""
        every, saved = self.schedule, self.settings.saved()
        saved |= {"record_every": every.record, "control_every": every.control}
        if self.settings.wrenches:
            pushed = np.moveaxis(self.wrenches, -2, 0).tolist()
            saved["wrenches"] = dict(zip(self.settings.wrenches, pushed, strict=True))
        if self.contacts is not None:
            saved["contact_pairs"] = [pair.name for pair in self.robot.contacts]
        if self.parameters:
            saved["parameters"] = list(self.parameters)
        if self.robots is None:
            saved |= {"project_every": every.project, "accuracy": self.accuracy}
            if self.controller is not None:
                saved["controller_output"] = self.output
            if self.robot.actuators:
                saved["tau"] = self.start.actuation.tau.tolist()
        return saved


def checked_controller(
    controller: Controller | ControlFunction | None, robot: Model, constant: Actuation, robots: int | None = None
) -> Controller | ControlFunction | None:
    """A controller as simulations take it: kernels are a `Controller`, whose parameters fit the robots.

    Args:
        controller: As it was given.
        robot: The mechanism.
        constant: Torques and commands that act all along.
        robots: Number of robots; None: one.
    """
    kernel = as_controller(controller)
    if kernel is None:
        return controller
    kernel.check(robot, robots)
    if constant.commands is not None:
        raise InputError(
            "commands were passed together with a kernel, which writes torques of all joints: pass one of them"
        )
    return kernel


@lru_cache(maxsize=8)
def _shared_stepper(
    robot: Model,
    settings: StepSettings,
    parameters: tuple[ParameterName, ...],
    compile: bool,
    threads: int | None,
    control: Control | None,
    control_every: int,
) -> Stepper:
    stepper = Stepper.of_settings(robot, settings, parameters, threads)
    if control is not None:
        stepper = stepper.controlled(control, control_every)
    return stepper.compile(threads=threads) if compile else stepper
