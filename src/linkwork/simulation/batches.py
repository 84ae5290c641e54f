# SPDX-License-Identifier: BSD-3-Clause
"""Many robots at once: batches of rollouts, here or on other machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import suppress
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError, LinkworkError
from linkwork.inputs import Integrator, ParameterName, StepMethod, above_zero, count, named_options
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.simulation.activations import initial_activations
from linkwork.simulation.actuation import ControlFunction, constant_actuation, frame_wrenches, robot_parameters
from linkwork.simulation.contact_warnings import warn_of_missed_steps
from linkwork.simulation.control import Controller
from linkwork.simulation.early_end import advice, warn_of_early_end
from linkwork.simulation.given_pairs import with_usable_contacts
from linkwork.simulation.initial import initial_states
from linkwork.simulation.loop import progress_bar
from linkwork.simulation.probes import Probe, probed, probes_of
from linkwork.simulation.recorder import Recorder
from linkwork.simulation.run import Run, checked_controller
from linkwork.simulation.schedule import Schedule
from linkwork.simulation.settings import ADAPTIVE, RENAMED, RolloutOptions, StepSettings
from linkwork.simulation.stabilization import warn_of_stiff_servos
from linkwork.simulation.state import State
from linkwork.simulation.trajectory import Trajectory
from linkwork.simulation.wrench_functions import with_wrench_functions

RETRIES = 2
"""Number of times that work of a lost worker is given to another."""

Arrays = tuple[Array, ...]
"""Records of a batch, ``(k, n, ...)`` each: q, v, torques, constraint forces, commands (NaN if there were none)."""


@named_options(RolloutOptions, renamed=RENAMED)
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
    wrenches: Mapping[str, npt.ArrayLike | Callable[..., Any]] | None = None,
    parameters: Mapping[ParameterName, npt.ArrayLike] | None = None,
    controller: Controller | ControlFunction | None = None,
    probes: Probe | Sequence[Probe] | Mapping[str, Callable[[Trajectory], npt.ArrayLike]] | None = None,
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
        seconds: Duration; where that is no multiple of ``dt``, the last step is shorter.
        dt: Time of one step, in seconds.
        integrator: Integrator of the steps, see `Stepper`; not ``dopri5``.
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
        probes: Outputs that are evaluated along the run, see `Probe`; or functions of the run by name.
        record_every: Steps between two states that are kept; by default the first and the last one.
        compile: Whether steps are a program made for this robot, or code for any robot; by default a program, but with
            contacts, whose programs are large: making one takes half a minute for Cassie.
        threads: Threads that share the states; by default as many as there are cores.
        executor: Of threads, processes, or Dask's ``client.get_executor()``: parts are its jobs, each on one core. Jobs
            whose worker is lost are given out again, and results are the same to the last bit.
        part: States in each job of the executor.
        progress: Whether progress is shown; by default where it takes long and there is a terminal.
        options: About controllers and the clock (``control_every``, ``controller_output``, ``start``) and steps
            (``contact``, ``time_constant``, ``passive``, ``limits``, ``stops_at``, ``regularization``, ``tolerance``,
            ``max_iterations``): see `RolloutOptions`.
    """
    robot, wrenches = with_wrench_functions(with_usable_contacts(robot, options.get("contact")), wrenches)
    at, rate = initial_states(robot, q, v, float(options.get("start", 0.0)))
    n, h, span = len(at), above_zero(dt, "dt"), above_zero(seconds, "seconds")
    if integrator in ADAPTIVE:
        raise InputError(f"'{integrator}' has steps of adaptive length, rollouts step together: use euler or rk4")
    schedule = Schedule.of(
        span,
        h,
        float(options.get("start", 0.0)),
        record=0 if record_every is None else count(record_every, "record_every"),
        control=0 if controller is None else count(options.get("control_every", 1), "control_every"),
    )
    constant = constant_actuation(robot, tau, commands, n)
    frames, pushed = frame_wrenches(robot, wrenches, n)
    chosen, output = checked_controller(controller, robot, constant, n), options.get("controller_output", "auto")
    if n and (constant.commands is not None or output == "commands"):
        warn_of_stiff_servos(robot, at[0], h, integrator)
    if method not in ("auto", "minimal"):
        raise InputError(f"no method {method!r} of rollouts, whose steps are compiled; there are auto, minimal")
    settings = StepSettings.of(h, integrator, method, frames, options).started_at(robot, at)
    run = Run(
        robot,
        settings,
        schedule,
        State(at, rate, constant, np.zeros((n, robot.nc)), None, initial_activations(robot, act, n)),
        pushed,
        chosen,
        output,
        compile=not settings.touching(robot) if compile is None else bool(compile),
        threads=threads,
        parameters=robot_parameters(robot, parameters or {}, n),
        shared=True,
    )
    recorder, outputs = run.recorder(), probes_of(probes)
    if executor is None:
        with progress_bar(progress, schedule.end - schedule.start, robot.name) as report:
            run.roll(recorder, report)
    else:
        size = count(part, "part")
        parts = _spread(executor, [run.rows(slice(k, k + size)) for k in range(0, n, size)])
        for k, array in enumerate(recorder.arrays):
            if parts:
                np.concatenate([arrays[k] for arrays in parts], axis=1, out=array)
        recorder.count = len(recorder.times)
    if recorder.contacts is not None and recorder.count:
        warn_of_missed_steps(robot, recorder.contacts[recorder.count - 1], h)
    ended = _ended(run, recorder)
    if ended:
        warn_of_early_end(robot, ended)
    return probed(recorder.motion(Trajectory, run.saved(), ended), outputs)


def _ended(run: Run, recorder: Recorder) -> str:
    """Why some robots ended early; empty if none did."""
    lost = ~np.isfinite(recorder.v[-1]).all(axis=-1)
    if not lost.any():
        return ""
    words = f"{int(lost.sum())} of {len(lost)} robots stopped being finite"
    if run.settings.method == "minimal":
        return (
            f"{words}, or their loops could not be closed: simulate one "
            "of them alone to see which; try a shorter dt, or other joints with robot.with_independent(...)"
        )
    how = run.settings
    return f"{words}; {advice(run.robot, run.start.q[int(lost.argmax())], how.integrator, how.dt, how.passive)}"


def _job(run: Run) -> Arrays:
    """The work of a worker: one part, on one core."""
    recorder = run.recorder()
    run.roll(recorder)
    return recorder.arrays


def _spread(executor: Executor | Any, jobs: list[Run]) -> list[Arrays]:
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
