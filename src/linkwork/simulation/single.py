# SPDX-License-Identifier: BSD-3-Clause
"""One robot, simulated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError
from linkwork.inputs import Integrator, SimulationMethod, above_zero, count, named_options
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.simulation.activations import initial_activations
from linkwork.simulation.actuation import (
    Actuation,
    ControlFunction,
    ControllerOutput,
    constant_actuation,
    frame_wrenches,
)
from linkwork.simulation.contacts import warm_start, warn_of_missed_steps
from linkwork.simulation.control import ControlledStepper, Controller, as_controller
from linkwork.simulation.early_end import advice, warn_of_early_end
from linkwork.simulation.given_pairs import with_usable_contacts
from linkwork.simulation.initial import initial_state
from linkwork.simulation.loop import Feedback, Propagate, Recorder, State, function_feedback, progress_bar, run
from linkwork.simulation.projection import LoopProjection
from linkwork.simulation.propagators import (
    adaptive_steps,
    compiled_steps,
    controlled_steps,
    one_compiled_step,
    one_python_step,
    python_steps,
)
from linkwork.simulation.python_steps import PythonStepper
from linkwork.simulation.schedule import Schedule, Stop
from linkwork.simulation.settings import SimulationOptions, StepSettings
from linkwork.simulation.stabilization import warn_of_stiff_servos
from linkwork.simulation.stepper import Stepper
from linkwork.simulation.trajectory import Trajectory


@named_options(SimulationOptions)
def simulate(
    robot: Model,
    q: npt.ArrayLike | None = None,
    v: npt.ArrayLike | None = None,
    *,
    act: npt.ArrayLike | None = None,
    seconds: float,
    dt: float = 1e-3,
    integrator: Integrator = "euler",
    method: SimulationMethod = "auto",
    controller: Controller | ControlFunction | None = None,
    tau: npt.ArrayLike | None = None,
    commands: npt.ArrayLike | None = None,
    wrenches: Mapping[str, npt.ArrayLike] | None = None,
    record_every: int = 1,
    progress: bool | None = None,
    **options: Unpack[SimulationOptions],
) -> Trajectory:
    """The trajectory of a robot over time.

    By default forward dynamics is `aba` or `lcaba`, and steps are compiled; so they are in minimal coordinates. Other
    methods step in Python, some twenty to a hundred times slower, and there, with ``dopri5`` and with ``project_every``
    kernels are called as Python functions.

    Servos follow their commands in every step, also where the controller is called less often; without commands
    actuators do nothing. Torques act beside commands.

    A robot with contact pairs touches: bodies do not pass through each other, and friction holds them
    (`Trajectory.contacts`). See `Stepper` for what that means.

    Started again from any recorded state (`Trajectory.resume`), it goes on as it did, to the last bit: steps, controls,
    records and projections happen at multiples of ``dt`` on a clock that starts at time zero. Where something stops
    being finite, it ends there and says why: `Trajectory.ended`, and a `SimulationWarning`. An error of the controller
    is raised, with what was simulated before as its ``trajectory``.

    Args:
        robot: The mechanism.
        q: Configuration at the start, ``(nq,)``; by default the assembled or neutral pose.
        v: Joint velocities at the start, ``(nv,)``; by default at rest.
        act: Activations of actuators at the start, ``(na,)``, such as ``robot.activations["home"]``; by default zero.
        seconds: How long. It need not be a multiple of ``dt``: the last step is then shorter, so that the simulation
            ends when it should.
        dt: Time of one step, in seconds; the longest one of ``dopri5``.
        integrator: How steps are made, see `Stepper`.
        method: Forward dynamics: ``"auto"``, any method of `ForwardDynamics`, or ``"minimal"``, which moves in minimal
            coordinates with loops closed at every stage; `SingularConstraints` where the independent joints come to a
            dead center of theirs.
        controller: Computes torques of all joints or commands of the actuators, which are held in between: a
            `Controller` or a kernel, which is compiled with the steps, or a Python function of time, ``q`` and ``v``.
        tau: Constant torques, ``(nv,)``.
        commands: Constant commands of the actuators, ``(actuators,)``; with a controller that returns commands, those
            before it is first called.
        wrenches: Constant external wrenches by frame, ``{"hand": [*moment, *force]}`` in the frame's axes.
        record_every: Steps between two states that are kept.
        progress: Whether progress is shown; by default where it takes long and there is a terminal.
        options: About controllers and the clock (``control_every``, ``controller_output``, ``start``), steps
            (``contact``, ``contact_tolerance``, ``contact_iterations``, ``time_constant``, ``passive``, ``limits``,
            ``stops_at``, ``regularization``, ``iterations``), and ``project_every``, ``tolerance``, ``closed``,
            ``contact_state``: see `SimulationOptions`.
    """
    robot = with_usable_contacts(robot, options.get("contact"), stacklevel=4)
    h, project_every, output = (
        above_zero(dt, "dt"),
        options.get("project_every", 0),
        options.get("controller_output", "auto"),
    )
    if not isinstance(project_every, int) or project_every < 0:
        raise InputError(f"project_every is {project_every!r}, needs a whole number, 0 for never")
    control, output = count(options.get("control_every", 1), "control_every"), options.get("controller_output", "auto")
    schedule = Schedule.of(
        above_zero(seconds, "seconds"),
        h,
        _finite(options.get("start", 0.0), "start"),
        record=count(record_every, "record_every"),
        control=0 if controller is None else control,
        project=project_every,
    )
    at, rate = initial_state(robot, q, v, options.get("closed", True))
    constant = constant_actuation(robot, tau, commands)
    frames, pushed = frame_wrenches(robot, wrenches)
    steps = StepSettings.of(integrator, h, method, frames, at, options).started_at(robot, at)
    if constant.commands is not None or output == "commands":
        warn_of_stiff_servos(robot, at, h)
    tolerance = above_zero(options.get("tolerance", 1e-8), "tolerance")
    task = _Task(robot, steps, schedule, controller, output, constant, pushed, tolerance)
    contacts = task.contacts(options.get("contact_state"))
    recorder = Recorder(robot, schedule.record_times, contacts=None if contacts is None else contacts.size)
    events, propagate, feedback = task.plan(recorder)
    settings = task.settings()
    try:
        with progress_bar(progress, schedule.end - schedule.start, robot.name) as report:
            ended = run(
                schedule,
                events,
                State(at, rate, constant, np.zeros(robot.nc), contacts, initial_activations(robot, act)),
                propagate,
                recorder,
                feedback=feedback,
                project=LoopProjection(robot) if project_every else None,
                report=report,
            )
    except Exception as error:
        vars(error)["trajectory"] = recorder.trajectory(settings)
        raise
    if recorder.contacts is not None and recorder.count:
        warn_of_missed_steps(robot, recorder.contacts[recorder.count - 1], h)
    if ended:
        ended += f"; {advice(robot, at, integrator, h, steps.passive)}"
        warn_of_early_end(robot, ended)
    return recorder.trajectory(settings, ended)


@dataclass(frozen=True, eq=False)
class _Task:
    """What one simulation is made of."""

    robot: Model
    steps: StepSettings
    schedule: Schedule
    controller: Controller | ControlFunction | None
    output: ControllerOutput
    constant: Actuation
    wrenches: Array
    tolerance: float

    def settings(self) -> dict[str, Any]:
        """As the trajectory keeps them."""
        every = self.schedule
        found = {
            **self.steps.saved(),
            "record_every": every.record,
            "control_every": every.control,
            "project_every": every.project,
            "tolerance": self.tolerance,
        }
        if self.steps.frames:
            found["wrenches"] = dict(zip(self.steps.frames, self.wrenches.tolist(), strict=True))
        if self.steps.touching(self.robot):
            found["contact_pairs"] = [pair.name for pair in self.robot.contacts]
        if self.controller is not None:
            found["controller_output"] = self.output
        if self.robot.actuators:
            found["tau"] = self.constant.tau.tolist()
        return found

    def contacts(self, given: npt.ArrayLike | None) -> Array | None:
        """What is kept of contacts at the start; None without contacts."""
        if not self.steps.touching(self.robot):
            if given is not None:
                raise InputError(f"contact_state is given, but '{self.robot.name}' is simulated without contacts")
            return None
        row = self._stepper(self.steps.dt).contact_row
        assert row is not None
        return warm_start(row, given)

    def plan(self, recorder: Recorder) -> tuple[list[Stop], Propagate, Feedback | None]:
        """Stops, what leads from one to the next, and what controls at them."""
        robot, steps, schedule, wrenches = self.robot, self.steps, self.schedule, self.wrenches
        kernel = as_controller(self.controller)
        function = None if isinstance(self.controller, Controller) else self.controller
        machine_code = steps.compiled(robot) and not schedule.project and steps.integrator != "dopri5"
        if kernel is not None:
            kernel.check(robot)
            if self.constant.commands is not None:
                raise InputError("commands and a kernel, which writes torques of all joints: give one of them")
            if machine_code:
                controlled = steps.stepper(robot, kernel.control, schedule.control)
                assert isinstance(controlled, ControlledStepper)
                return schedule.stops_of_kernel(), *controlled_steps(
                    controlled, self._stepper, kernel, wrenches, schedule.end
                )
            function = kernel.plain(robot)
        feedback = None if function is None else function_feedback(robot, function, self.output, self.constant)
        if not steps.compiled(robot):
            return schedule.stops(), self._python_steps(), feedback
        stepper = self._stepper(steps.dt)
        if steps.integrator == "dopri5":
            one = one_compiled_step(stepper, wrenches)
            return schedule.stops(), adaptive_steps(one, steps.dt, self.tolerance, robot), feedback
        propagate = compiled_steps(stepper, self._stepper, wrenches)
        return schedule.stops(), propagate, feedback

    def _python_steps(self) -> Propagate:
        """Steps in Python, of one length or adaptive."""
        if self.steps.integrator != "dopri5":
            return python_steps(self._python_stepper, self.steps.dt)
        one = one_python_step(self._python_stepper(self.steps.dt))
        return adaptive_steps(one, self.steps.dt, self.tolerance, self.robot)

    def _stepper(self, dt: float) -> Stepper:
        return (self.steps if dt == self.steps.dt else self.steps.shortened(dt)).stepper(self.robot)

    def _python_stepper(self, dt: float) -> PythonStepper:
        steps = self.steps if dt == self.steps.dt else self.steps.shortened(dt)
        return steps.python_stepper(self.robot, self.wrenches)


def _finite(x: float, name: str) -> float:
    found = float(x)
    if not np.isfinite(found):
        raise InputError(f"{name} is {x!r}, needs a finite number")
    return found
