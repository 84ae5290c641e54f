# SPDX-License-Identifier: BSD-3-Clause
"""Many robots at once: batches of rollouts, here or on other machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError, LinkworkError
from linkwork.inputs import Integrator, ParameterName, StepMethod, above_zero, count, named_options
from linkwork.kernels.control import Control
from linkwork.model.model import Model
from linkwork.model.parameters import own_values
from linkwork.quantities.arguments import Array
from linkwork.simulation.activations import initial_activations
from linkwork.simulation.actuation import (
    Actuation,
    ControlFunction,
    ControllerOutput,
    constant_actuation,
    frame_wrenches,
    robot_parameters,
)
from linkwork.simulation.batch_propagators import batch_steps, controlled_batch_steps
from linkwork.simulation.contacts import warn_of_missed_steps
from linkwork.simulation.control import ControlledStepper, Controller, as_controller
from linkwork.simulation.early_end import advice, warn_of_early_end
from linkwork.simulation.given_pairs import with_usable_contacts
from linkwork.simulation.initial import initial_states
from linkwork.simulation.loop import Feedback, Propagate, Recorder, State, function_feedback, progress_bar, run
from linkwork.simulation.schedule import Schedule, Stop
from linkwork.simulation.settings import RolloutOptions, StepSettings
from linkwork.simulation.stabilization import warn_of_stiff_servos
from linkwork.simulation.stepper import Stepper
from linkwork.simulation.trajectory import Trajectory

RETRIES = 2
"""How often work whose worker was lost is given to another."""

Arrays = tuple[Array, ...]
"""Records of a batch, ``(k, n, ...)`` each: q, v, torques, constraint forces, commands (NaN if there were none)."""


@named_options(RolloutOptions)
def rollouts(
    robot: Model,
    q: npt.ArrayLike,
    v: npt.ArrayLike | None = None,
    *,
    act: npt.ArrayLike | None = None,
    seconds: float,
    dt: float = 1e-3,
    integrator: Integrator = "euler",
    method: StepMethod = "auto",
    tau: npt.ArrayLike | None = None,
    commands: npt.ArrayLike | None = None,
    wrenches: Mapping[str, npt.ArrayLike] | None = None,
    parameters: Mapping[ParameterName, npt.ArrayLike] | None = None,
    controller: Controller | ControlFunction | None = None,
    record_every: int | None = None,
    compile: bool | None = None,
    threads: int | None = None,
    executor: Executor | Any | None = None,
    part: int = 1024,
    progress: bool | None = None,
    **options: Unpack[RolloutOptions],
) -> Trajectory:
    """The trajectories of many copies of a robot over time, simulated together.

    States are stepped in SIMD lanes, on several cores. A robot that stops being finite holds NaN from there on;
    `Trajectory.ended` counts them, and so does a `SimulationWarning`.

    Args:
        robot: The mechanism.
        q: Configurations at the start, ``(n, nq)``.
        v: Joint velocities at the start, ``(n, nv)``; by default at rest.
        act: Activations of actuators at the start, ``(na,)`` or ``(n, na)``; by default zero.
        seconds: How long; where that is no multiple of ``dt``, the last step is shorter.
        dt: Time of one step, in seconds.
        integrator: How steps are made, see `Stepper`; not ``dopri5``.
        method: Coordinates of a robot with loops, see `Stepper`: ``"auto"``, all joints, or ``"minimal"``, independent
            ones. A robot whose independent joints come to a dead center of theirs holds NaN from there on.
        tau: Constant torques, ``(nv,)`` or ``(n, nv)``.
        commands: Constant commands of the actuators, ``(actuators,)`` or ``(n, actuators)``.
        wrenches: Constant external wrenches by frame, ``{"hand": [*moment, *force]}`` in the frame's axes, ``(6,)`` or
            ``(n, 6)`` each.
        parameters: Parameters of the robots, such as ``{"mass": masses}``, shaped as in `Mechanism.parameters`, or with
            a first axis ``n``: every row then has a robot of its own (domain randomization); with contacts, steps are
            native code then. Stops at joint limits,
            regularization, and energies of the trajectory are those of ``robot``.
        controller: A `Controller` or a kernel, which is compiled with the steps and runs in lanes and threads as they
            do; its parameters may differ from robot to robot (``per_robot``). Another function is called with time and
            the states of all robots, ``(n, nq)`` and ``(n, nv)``, and returns torques ``(n, nv)`` or commands.
        record_every: Steps between two states that are kept; by default the first and the last one.
        compile: Whether steps are a program made for this robot, or code for any robot; by default a program, but with
            contacts, whose programs are large: making one takes half a minute for Cassie.
        threads: Threads that share the states; by default as many as there are cores.
        executor: Of threads, processes, or Dask's ``client.get_executor()``: parts are its jobs, each on one core. Jobs
            whose worker is lost are given out again, and results are the same to the last bit.
        part: States in each job of the executor.
        progress: Whether progress is shown; by default where it takes long and there is a terminal.
        options: About controllers and the clock (``control_every``, ``controller_output``, ``start``) and steps
            (``contact``, ``contact_tolerance``, ``contact_iterations``, ``time_constant``, ``passive``, ``limits``,
            ``stops_at``, ``regularization``, ``iterations``): see `RolloutOptions`.
    """
    robot = with_usable_contacts(robot, options.get("contact"), stacklevel=4)
    at, rate = initial_states(robot, q, v)
    h, span = above_zero(dt, "dt"), above_zero(seconds, "seconds")
    if integrator == "dopri5":
        raise InputError("integrator 'dopri5' has steps of adaptive length, rollouts step together: use euler or rk4")
    schedule = Schedule.of(
        span,
        h,
        float(options.get("start", 0.0)),
        record=0 if record_every is None else count(record_every, "record_every"),
        control=0 if controller is None else count(options.get("control_every", 1), "control_every"),
    )
    constant = constant_actuation(robot, tau, commands, len(at))
    frames, pushed = frame_wrenches(robot, wrenches, len(at))
    kernel = as_controller(controller)
    if kernel is not None:
        kernel.check(robot, len(at))
        if constant.commands is not None:
            raise InputError("commands and a kernel, which writes torques of all joints: give one of them")
        controller = kernel
    output = options.get("controller_output", "auto")
    if len(at) and (constant.commands is not None or output == "commands"):
        warn_of_stiff_servos(robot, at[0], h)
    if method not in ("auto", "minimal"):
        raise InputError(f"no method {method!r} of rollouts, whose steps are compiled; there are auto, minimal")
    steps = StepSettings.of(integrator, h, method, frames, None, options).started_at(robot, at)
    varied = robot_parameters(robot, parameters or {}, len(at))
    steps = replace(steps, parameters=tuple(varied))
    batch = Batch(
        robot,
        steps,
        schedule,
        at,
        rate,
        constant,
        pushed,
        controller,
        output,
        compile=not steps.touching(robot) if compile is None else bool(compile),
        threads=threads,
        parameters=varied,
        act=initial_activations(robot, act, len(at)),
    )
    if executor is None:
        with progress_bar(progress, schedule.end - schedule.start, robot.name) as report:
            recorder = batch.roll(report)
    else:
        size = count(part, "part")
        parts = _spread(executor, [batch.rows(slice(k, k + size)) for k in range(0, len(at), size)])
        recorder = _joined(batch, parts)
    if recorder.contacts is not None and recorder.count:
        warn_of_missed_steps(robot, recorder.contacts[recorder.count - 1], h)
    trajectory = _trajectory(batch, recorder)
    if trajectory.ended:
        warn_of_early_end(robot, trajectory.ended)
    return trajectory


def _joined(batch: Batch, parts: list[Arrays]) -> Recorder:
    """Records of all parts, side by side."""
    recorder = Recorder(batch.robot, batch.schedule.record_times, (len(batch.q),), batch.contact_width())
    for k, array in enumerate(_arrays(recorder)):
        if parts:
            np.concatenate([part[k] for part in parts], axis=1, out=array)
    recorder.count = len(recorder.times)
    return recorder


def _arrays(recorder: Recorder) -> Arrays:
    kept = (recorder.q, recorder.v, recorder.tau, recorder.multipliers, recorder.commands)
    return (*kept, *(x for x in (recorder.contacts, recorder.act) if x is not None))


def _trajectory(batch: Batch, recorder: Recorder) -> Trajectory:
    lost = int((~np.isfinite(recorder.v[-1]).all(axis=-1)).sum())
    ended = ""
    if lost:
        first = int((~np.isfinite(recorder.v[-1]).all(axis=-1)).argmax())
        how = batch.steps.integrator, batch.steps.dt, batch.steps.passive
        ended = f"{lost} of {len(batch.q)} robots stopped being finite; {advice(batch.robot, batch.q[first], *how)}"
    if lost and batch.steps.method == "minimal":
        ended = (
            f"{lost} of {len(batch.q)} robots stopped being finite, or their loops could not be closed: simulate one "
            "of them alone to see which; try a shorter dt, or other joints with robot.with_independent(...)"
        )
    recorder.parameters = batch.parameters
    every: dict[str, Any] = {"record_every": batch.schedule.record, "control_every": batch.schedule.control}
    if recorder.contacts is not None:
        every["contact_pairs"] = [pair.name for pair in batch.robot.contacts]
    if batch.steps.frames:
        every["wrenches"] = dict(zip(batch.steps.frames, np.moveaxis(batch.wrenches, -2, 0).tolist(), strict=True))
    if batch.parameters:
        every["parameters"] = list(batch.parameters)
    return recorder.trajectory({**batch.steps.saved(), **every}, ended)


@dataclass(frozen=True, eq=False)
class Batch:
    """What a simulation of many robots is made of; parts of it are jobs of an executor."""

    robot: Model
    steps: StepSettings
    schedule: Schedule
    q: Array
    v: Array
    constant: Actuation
    wrenches: Array
    controller: Controller | ControlFunction | None
    output: ControllerOutput
    compile: bool
    """Whether steps are a program made for this robot."""
    threads: int | None
    alone: bool = False
    """Whether it is a job of an executor: it then shares no stepper with other threads."""
    parameters: Mapping[ParameterName, Array] = field(default_factory=dict)
    """Parameters of all robots, or with a first axis, of each."""
    act: Array | None = None
    """Activations at the start; None where no actuator has any."""

    def rows(self, rows: slice) -> Batch:
        """Some of the robots, on one core."""
        controller = self.controller.part(rows) if isinstance(self.controller, Controller) else self.controller
        wrenches = self.wrenches[rows] if self.wrenches.ndim > 2 else self.wrenches
        shapes = {name: own_values(self.robot, name).ndim for name in self.parameters}
        parameters = {name: x[rows] if x.ndim > shapes[name] else x for name, x in self.parameters.items()}
        return replace(
            self,
            parameters=parameters,
            act=None if self.act is None else self.act[rows],
            q=self.q[rows],
            v=self.v[rows],
            constant=self.constant.rows(rows),
            wrenches=wrenches,
            controller=controller,
            threads=1,
            alone=True,
        )

    def roll(self, report: Callable[[float], None] | None = None) -> Recorder:
        """Records of all robots."""
        n, robot = len(self.q), self.robot
        width = self.contact_width()
        recorder = Recorder(robot, self.schedule.record_times, (n,), width)
        stops, propagate, feedback = self._plan(recorder)
        contacts = None if width is None else np.zeros((n, width))
        state = State(self.q, self.v, self.constant, np.zeros((n, robot.nc)), contacts, self.act)
        run(self.schedule, stops, state, propagate, recorder, feedback=feedback, report=report)
        return recorder

    def contact_width(self) -> int | None:
        """Numbers that are kept of contacts of each robot; None without contacts."""
        row = self._stepper().contact_row if self.steps.touching(self.robot) else None
        return None if row is None else row.width

    def _plan(self, recorder: Recorder) -> tuple[list[Stop], Propagate, Feedback | None]:
        """Stops, what leads from one to the next, and what controls at them."""
        controller, schedule, wrenches = self.controller, self.schedule, self.wrenches
        given = tuple(self.parameters.values())
        if isinstance(controller, Controller):
            stepper = self._stepper(controller.control, schedule.control)
            assert isinstance(stepper, ControlledStepper)
            partial = batch_steps(stepper, self._shortened, wrenches, given)
            return schedule.stops_of_kernel(), *controlled_batch_steps(
                stepper, partial, controller, wrenches, schedule.end, given
            )
        stepper = self._stepper()
        propagate = batch_steps(stepper, self._shortened, wrenches, given)
        if controller is None:
            return schedule.stops(), propagate, None
        feedback = function_feedback(self.robot, controller, self.output, self.constant, len(self.q))
        return schedule.stops(), propagate, feedback

    def _stepper(self, control: Control | None = None, control_every: int = 0) -> Stepper:
        make = _stepper.__wrapped__ if self.alone else _stepper
        return make(self.robot, self.steps, self.compile, self.threads, control, control_every)

    def _shortened(self, dt: float) -> Stepper:
        """For one step alone, which is not worth a program."""
        make = _stepper.__wrapped__ if self.alone else _stepper
        return make(self.robot, self.steps.shortened(dt), False, self.threads, None, 0)


@lru_cache(maxsize=8)
def _stepper(
    robot: Model,
    steps: StepSettings,
    compile: bool,
    threads: int | None,
    control: Control | None,
    control_every: int,
) -> Stepper:
    options = {**dict(steps.options), "threads": threads}
    made = replace(steps, options=tuple(options.items())).stepper(robot, control, control_every)
    return made.compile(threads=threads) if compile else made


def _job(batch: Batch) -> Arrays:
    """What a worker does: one part, on one core."""
    return _arrays(batch.roll())


def _spread(executor: Executor | Any, jobs: list[Batch]) -> list[Arrays]:
    """Results of all jobs by an executor; those whose worker is lost are submitted again, and in the end done here."""
    if not hasattr(executor, "submit"):
        raise InputError(f"executor is {type(executor).__name__}, needs a concurrent.futures.Executor")
    results: dict[int, Arrays] = {}
    for _ in range(1 + RETRIES):
        left = [k for k in range(len(jobs)) if k not in results]
        waiting: dict[int, Future[Arrays]] = {}
        with suppress(RuntimeError):  # an executor that is shut down: what is left is done here
            for k in left:
                waiting[k] = executor.submit(_job, jobs[k])
        for k, future in waiting.items():
            try:
                results[k] = future.result()
            except (BrokenExecutor, CancelledError, ConnectionError, OSError) as error:
                if isinstance(error, LinkworkError):
                    raise
            except Exception as error:
                if type(error).__name__ not in ("KilledWorker", "CommClosedError"):
                    raise
        if len(results) == len(jobs):
            break
    for k, job in enumerate(jobs):
        if k not in results:
            results[k] = _job(job)
    return [results[k] for k in range(len(jobs))]
