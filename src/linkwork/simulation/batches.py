"""Many robots at once: batches of rollouts, here or on other machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from linkwork.compilers.entry import CHUNK, DONE, OVERFLOW
from linkwork.errors import InputError, LinkworkError
from linkwork.inputs import Integrator, above_zero, count, fresh_floats, named_options
from linkwork.kernels.control import Control
from linkwork.model.model import Model
from linkwork.quantities.evaluator import Array, check_actuators
from linkwork.simulation.advancing import Torques
from linkwork.simulation.compiled import FINE, WRONG_SHAPE, Plan, drive, is_compiled
from linkwork.simulation.control import ControlledStepper, Controller, as_controller
from linkwork.simulation.single import ControllerOutput, frame_wrenches, shown, with_commands
from linkwork.simulation.stepper import Stepper, forces_of, warn_of_stiff_servos
from linkwork.simulation.trajectory import Trajectory

BatchController = Callable[[float, Array, Array], npt.ArrayLike]
"""``controller(time, q, v)``: torques ``(n, nv)`` for a batch of states, or commands ``(n, actuators)``."""

RETRIES = 2
"""How often work whose worker was lost is given to another."""


@named_options(Stepper)
def rollouts(
    robot: Model,
    q: npt.ArrayLike,
    v: npt.ArrayLike | None = None,
    *,
    seconds: float,
    dt: float = 1e-3,
    integrator: Integrator = "euler",
    tau: npt.ArrayLike | None = None,
    commands: npt.ArrayLike | None = None,
    wrenches: Mapping[str, npt.ArrayLike] | None = None,
    controller: Controller | BatchController | None = None,
    control_every: int = 1,
    controller_output: ControllerOutput = "auto",
    record_every: int | None = None,
    compile: bool = True,
    threads: int | None = None,
    executor: Executor | Any | None = None,
    part: int = 1024,
    progress: bool | None = None,
    **options: Any,
) -> Trajectory:
    """Many copies of a robot over time, in one run.

    States are stepped in SIMD lanes, on several cores. A robot that stops being finite holds NaN from there on;
    `Trajectory.ended` counts them.

    Args:
        robot: The mechanism.
        q: Configurations at the start, ``(n, nq)``.
        v: Joint velocities at the start, ``(n, nv)``; by default at rest.
        seconds: How long.
        dt: Time of one step, in seconds.
        integrator: How steps are made, see `Stepper`; not ``dopri5``.
        tau: Constant torques, ``(nv,)`` or ``(n, nv)``.
        commands: Constant commands of the actuators, ``(actuators,)`` or ``(n, actuators)``.
        wrenches: Constant external wrenches by frame, ``{"hand": [*moment, *force]}`` in the frame's axes, ``(6,)`` or
            ``(n, 6)`` each.
        controller: A `Controller` or a kernel, which is compiled with the steps and runs in lanes and threads as they
            do; its parameters may differ from robot to robot (``per_robot``). Another function is called with time and
            the states of all robots, ``(n, nq)`` and ``(n, nv)``, and gives torques ``(n, nv)`` or commands.
        control_every: Steps between two calls of the controller.
        controller_output: What a controller gives: ``"torques"`` of all joints or ``"commands"`` of the actuators;
            ``"auto"``: torques where there are as many of both, else what fits.
        record_every: Steps between two states that are kept; by default the first and the last one.
        compile: Whether steps are a program made for this robot, or code for any robot.
        threads: Threads that share the states; by default as many as there are cores.
        executor: Of threads, processes, or Dask's ``client.get_executor()``: parts are its jobs, each on one core. Jobs
            whose worker is lost are given out again, and results are the same to the last bit.
        part: States in each job of the executor.
        progress: Whether progress is shown; by default where it takes long and there is a terminal.
        options: Further ones of `Stepper`.
    """
    at, rate = _states(robot, q, v)
    h, span = above_zero(dt, "dt"), above_zero(seconds, "seconds")
    total = max(1, round(span / h))
    record = total if record_every is None else count(record_every, "record_every")
    control = count(control_every, "control_every") if controller is not None else 0
    given = _constant(robot, tau, commands, len(at))
    frames, pushed = frame_wrenches(robot, wrenches, len(at))
    text = as_controller(controller)
    if text is not None:
        text.check(robot, len(at))
        if given.commands is not None:
            raise InputError("commands and a kernel, which writes torques of all joints: give one of them")
        controller = text
    if len(at) and (given.commands is not None or controller_output == "commands"):
        warn_of_stiff_servos(robot, at[0], h)
    if options.get("at") is not None:  # as numbers that can be looked up
        options["at"] = tuple(fresh_floats(options["at"], "at").tolist())
    how = {"integrator": integrator, "dt": h, **options}
    settings = {**how, "record_every": record, "control_every": control}
    if frames:
        how["wrenches"] = frames
    plan = (total, record, control)
    asked = Asked(controller, controller_output)
    if integrator == "dopri5":
        raise InputError("rollouts step together: use euler or rk4")
    if executor is None:
        stepper = _stepper(robot, compile, threads, tuple(sorted(how.items())), text and text.control, control)
        with shown(progress, total, robot.name) as tell:
            parts = [_roll(stepper, at, rate, given, pushed, plan, asked, tell)]
    else:
        edges = range(0, len(at), count(part, "part"))
        jobs = []
        for k in edges:
            rows = slice(k, k + part)
            own = pushed[rows] if pushed.ndim > 2 else pushed
            mine = Torques(given.tau[rows], None if given.commands is None else given.commands[rows])
            jobs.append((robot, how, compile, at[rows], rate[rows], mine, own, plan, _part(asked, rows)))
        parts = _spread(executor, jobs)
    q1, v1, tau1, forces, given_commands = (np.concatenate([p[k] for p in parts], axis=1) for k in range(5))
    steps = sorted({*range(0, total, record), total})
    lost = int((~np.isfinite(v1[-1]).all(axis=-1)).sum()) if len(at) else 0
    ended = f"{lost} of {len(at)} robots stopped being finite; try a shorter dt" if lost else ""
    settings.setdefault("passive", True)
    run = Trajectory(robot, np.array(steps) * h, q1, v1, tau1, forces, settings, ended)
    return with_commands(run, given_commands)


Part = tuple[Array, Array, Array, Array, Array]
"""States that were kept, ``(k, n, ...)`` each: q, v, torques, constraint forces, commands (NaN if there were none)."""


class Asked(NamedTuple):
    """A controller, if there is one, and what it gives."""

    controller: Controller | BatchController | None
    output: ControllerOutput


def _states(robot: Model, q: npt.ArrayLike, v: npt.ArrayLike | None) -> tuple[Array, Array]:
    if not isinstance(robot, Model):
        raise InputError(f"robot is {type(robot).__name__}, needs a Mechanism (from load, Builder or compose)")
    at = robot.normalize(q).astype(np.float64)
    if at.ndim != 2:
        raise InputError(f"q has shape {at.shape}, needs (n, {robot.nq}): one row for each robot")
    rate = np.zeros((len(at), robot.nv)) if v is None else fresh_floats(v, "v")
    if rate.shape != (len(at), robot.nv) or not np.isfinite(rate).all():
        raise InputError(f"v has shape {rate.shape}, needs ({len(at)}, {robot.nv}) finite numbers")
    return at, rate


def _constant(robot: Model, tau: npt.ArrayLike | None, commands: npt.ArrayLike | None, n: int) -> Torques:
    """What acts on each robot over a whole rollout."""
    held = _controlled_by(
        robot, np.zeros(robot.nv) if tau is None else tau, n, "auto" if commands is None else "torques"
    )
    if commands is None:
        return held
    return Torques(held.tau, _controlled_by(robot, commands, n, "commands").commands)


def _controlled_by(robot: Model, given: npt.ArrayLike, n: int, output: ControllerOutput, live: Any = ...) -> Torques:
    """Torques or commands for each robot; what is asked of those that are not alive any more does not count."""
    if output not in ("auto", "torques", "commands"):
        raise InputError(f"controller_output is {output!r}, needs 'auto', 'torques' or 'commands'")
    numbers, motors = fresh_floats(given, "tau"), len(robot.actuators)
    commands = output == "commands" or (
        output == "auto" and motors != robot.nv and motors > 0 and numbers.shape in ((motors,), (n, motors))
    )
    what, width = ("commands", motors) if commands else ("tau", robot.nv)
    if commands:
        check_actuators(robot)
    if numbers.shape not in ((width,), (n, width)) or not np.isfinite(numbers[live]).all():
        raise InputError(f"{what} has shape {numbers.shape}, needs ({width},) or ({n}, {width}) finite numbers")
    full = np.array(np.broadcast_to(numbers, (n, width)))
    return Torques(np.zeros((n, robot.nv)), full) if commands else Torques(full)


@lru_cache(maxsize=8)
def _stepper(
    robot: Model,
    compile: bool,
    threads: int | None,
    how: tuple[tuple[str, Any], ...],
    control: Control | None,
    control_every: int,
) -> Stepper:
    options = {"threads": threads, **dict(how)}
    made = Stepper(robot, **options) if control is None else ControlledStepper(robot, control, control_every, **options)
    return made.compile(threads=threads) if compile else made


def _part(asked: Asked, rows: slice) -> Asked:
    """The controller of some of the robots."""
    own = asked.controller
    return asked._replace(controller=own.part(rows)) if isinstance(own, Controller) else asked


def _roll(
    stepper: Stepper,
    q: Array,
    v: Array,
    given: Torques,
    wrenches: Array,
    plan: tuple[int, int, int],
    asked: Asked,
    tell: Callable[[int], None] = lambda done: None,
) -> Part:
    """One batch through all steps, in as few calls as records and controls allow."""
    total, record, control = plan
    controller = asked.controller
    if isinstance(controller, Controller):
        assert isinstance(stepper, ControlledStepper)
        return _controlled(stepper, q, v, given.tau, wrenches, Plan(0, total, control, record), controller, tell)
    if controller is not None and is_compiled(controller):
        return _driven(stepper, q, v, given, wrenches, Plan(0, total, control, record), asked)
    robot, held = stepper.source, given
    forces, none = np.zeros((len(q), robot.nc)), np.full((len(q), len(robot.actuators)), np.nan)
    kept: list[Part] = []
    done = 0
    while True:
        if controller is not None and done % control == 0 and done < total:
            live = np.isfinite(v).all(axis=-1)
            output = controller(done * stepper.dt, q.copy(), v.copy())
            held = _controlled_by(robot, output, len(q), asked.output, live)
            if held.commands is not None:
                held = Torques(given.tau, held.commands)
        if done % record == 0 or done == total:
            kept.append((q, v, held.tau, forces, none if held.commands is None else held.commands))
        if done == total:
            break
        ahead = min(record - done % record, total - done)
        if controller is not None:
            ahead = min(ahead, control - done % control)
        q, v, forces = _advance(stepper, q, v, held, wrenches, ahead)
        done += ahead
        tell(done)
    return _stacked(kept)


def _stacked(kept: list[Part]) -> Part:
    q, v, tau, forces, commands = (np.array([row[k] for row in kept]) for k in range(5))
    return q, v, tau, forces, commands


def _driven(stepper: Stepper, q: Array, v: Array, given: Torques, wrenches: Array, plan: Plan, asked: Asked) -> Part:
    """The same under a compiled controller."""
    assert asked.controller is not None and not isinstance(asked.controller, Controller)
    found = drive(stepper, asked.controller, asked.output, q, v, *given, wrenches, plan, batched=True)
    if found.status != FINE:
        needs = f"needs ({len(q)}, {stepper.robot.nv}) finite numbers"
        what = f"gave {found.detail}" if found.status == WRONG_SHAPE else f"is not finite for state {found.detail[0]}"
        raise InputError(f"the controller at {found.step * stepper.dt:g} s {what}: {needs}")
    return found.q, found.v, found.tau, found.forces, found.commands


def _controlled(
    stepper: ControlledStepper,
    q: Array,
    v: Array,
    tau: Array,
    wrenches: Array,
    plan: Plan,
    controller: Controller,
    tell: Callable[[int], None],
) -> Part:
    """The same under a controller that is kernel text: one call of machine code from record to record."""
    parameters, robot = controller.packed(), stepper.source
    none = np.full((len(q), len(robot.actuators)), np.nan)
    held = stepper.held(None, wrenches)[:-1]
    kept: list[Part] = []
    for start, stop in [(0, 0), *pairwise(plan.moments())]:
        clock, settings = stepper.settings(start, stop - start, final=stop == plan.total)
        inputs = [q, v, tau, *held, clock, *parameters, settings]
        live = _alive(q, v)
        q1, v1, tau1, found, progress = _run(stepper, inputs, live)
        wrong = np.argwhere(~np.isfinite(tau1))
        if len(wrong):
            row, k = (int(x) for x in wrong[0])
            time = (start + progress[row, 1] - 1.0) * stepper.dt
            which = int(np.flatnonzero(live)[row])
            raise InputError(f"the controller at {time:g} s: torque {k} of robot {which} is not finite")
        good = progress[:, 1] == stop - start + 1
        results = (q1, v1, tau1, forces_of(found, robot.nc))
        q, v, tau, forces = (np.full((len(q), x.shape[1]), np.nan) for x in results)
        for x, y in zip((q, v, tau, forces), results, strict=True):
            x[np.flatnonzero(live)[good]] = y[good]
        kept.append((q, v, tau, forces, none))
        tell(stop)
    return _stacked(kept)


def _advance(
    stepper: Stepper, q: Array, v: Array, given: Torques, wrenches: Array, steps: int
) -> tuple[Array, Array, Array]:
    """The same steps for all; those that are not finite any more are left out."""
    live, nc = _alive(q, v), stepper.source.nc
    q1, v1 = np.full_like(q, np.nan), np.full_like(v, np.nan)
    forces = np.zeros((len(q), nc))
    inputs = [q, v, given.tau, *stepper.held(given.commands, wrenches), stepper._often(steps)]
    out = _run(stepper, inputs, live)
    good = out[3][:, 1] == steps + 1
    q1[live], v1[live] = np.where(good[:, None], out[0], np.nan), np.where(good[:, None], out[1], np.nan)
    forces[live] = np.where(good[:, None], forces_of(out[2], nc), np.nan)
    return q1, v1, forces


def _alive(q: Array, v: Array) -> Array:
    """Which states are finite."""
    return np.asarray(np.isfinite(v).all(axis=-1) & np.isfinite(q).all(axis=-1))


def _run(stepper: Stepper, inputs: list[Array], live: Array) -> list[Array]:
    """Outputs of the steps of those states that are alive, one row each."""
    runner, count = stepper.runner, int(live.sum())
    out = [np.empty((count, *shape)) for shape in stepper.runner.outputs]
    if not count:
        return out
    each = [x.ndim > len(shape) for x, shape in zip(inputs, runner.inputs, strict=True)]
    states = [fresh_floats(x[live], "states") if own else x for x, own in zip(inputs, each, strict=True)]
    single = count == 1
    rows = [x[0] if own and single else x for x, own in zip(states, each, strict=True)]
    results = [y[0] for y in out] if single else out
    status = runner.run_threaded(rows, results, count)
    if status == OVERFLOW and not single:  # an entry point ends with the chunk that holds what is not finite
        for k in range(0, count, CHUNK):
            chunk = slice(k, k + CHUNK)
            parts = [x[chunk] if own else x for x, own in zip(states, each, strict=True)]
            runner.run(parts, [y[chunk] for y in out], len(out[0][chunk]))
    if status not in (DONE, OVERFLOW):
        runner.explain(status, rows, results)
    return out


def _job(
    robot: Model,
    how: dict[str, Any],
    compile: bool,
    q: Array,
    v: Array,
    given: Torques,
    wrenches: Array,
    plan: tuple[int, int, int],
    asked: Asked,
) -> Part:
    """What a worker does: one part, on one core."""
    control = asked.controller.control if isinstance(asked.controller, Controller) else None
    stepper = _stepper.__wrapped__(robot, compile, 1, tuple(how.items()), control, plan[2])
    return _roll(stepper, q, v, given, wrenches, plan, asked)


def _spread(executor: Executor | Any, jobs: list[tuple[Any, ...]]) -> list[Part]:
    """All jobs by an executor; those whose worker is lost once more, and in the end by this process."""
    if not hasattr(executor, "submit"):
        raise InputError(f"executor is {type(executor).__name__}, needs a concurrent.futures.Executor")
    results: dict[int, Part] = {}
    for _ in range(1 + RETRIES):
        left = [k for k in range(len(jobs)) if k not in results]
        waiting: dict[int, Future[Part]] = {}
        with suppress(RuntimeError):  # an executor that takes nothing any more: what is left is done here
            for k in left:
                waiting[k] = executor.submit(_job, *jobs[k])
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
            results[k] = _job(*job)
    return [results[k] for k in range(len(jobs))]
