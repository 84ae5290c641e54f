"""Many robots at once: batches of rollouts, here or on other machines."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.compile.door import CHUNK, DONE, OVERFLOW
from linkwork.dynamics import Array
from linkwork.errors import InputError, LinkworkError
from linkwork.inputs import above_zero, count, fresh_floats
from linkwork.mechanism import Mechanism
from linkwork.simulation.compiled import FINE, WRONG_SHAPE, Plan, command_limits, drive, gears, is_compiled
from linkwork.simulation.run import Run
from linkwork.simulation.single import shown
from linkwork.simulation.stepper import Stepper

BatchController = Callable[[float, Array, Array], npt.ArrayLike]
"""``controller(time, q, v)``: torques ``(n, nv)`` for a batch of states, or commands ``(n, actuators)``."""

RETRIES = 2
"""How often work whose worker was lost is given to another."""


def rollouts(
    robot: Mechanism,
    q: npt.ArrayLike,
    v: npt.ArrayLike | None = None,
    *,
    seconds: float,
    dt: float = 1e-3,
    integrator: str = "euler",
    tau: npt.ArrayLike | None = None,
    controller: BatchController | None = None,
    control_every: int = 1,
    record_every: int | None = None,
    compile: bool = True,
    threads: int | None = None,
    executor: Executor | Any | None = None,
    part: int = 1024,
    progress: bool | None = None,
    **options: Any,
) -> Run:
    """Rollouts from ``q: (n, nq)``, ``v: (n, nv)`` (default: at rest) under torques ``tau: (nv,)`` or ``(n, nv)``.

    States are stepped in SIMD lanes by a program made for this robot (``compile=False``: by code for any robot), on
    ``threads`` cores (default: all). Every ``record_every`` steps they are kept (default: at the end only). A robot
    that stops being finite holds NaN from there on; `Run.ended` counts them. Options are those of `Stepper`.

    With an ``executor`` (of threads, processes, or Dask's ``client.get_executor()``), parts of so many states are its
    jobs, each on one core. Jobs whose worker is lost are given out again, and results are the same to the last bit.
    """
    at, rate = _states(robot, q, v)
    h, span = above_zero(dt, "dt"), above_zero(seconds, "seconds")
    total = max(1, round(span / h))
    record = total if record_every is None else count(record_every, "record_every")
    control = count(control_every, "control_every") if controller is not None else 0
    given = _torques(robot, tau, len(at))
    how = {"integrator": integrator, "dt": h, **options}
    plan = (total, record, control)
    if integrator == "dopri5":
        raise InputError("rollouts step together: use euler or rk4")
    if executor is None:
        stepper = _stepper(robot, compile, threads, tuple(sorted(how.items())))
        with shown(progress, total, robot.name) as tell:
            parts = [_roll(stepper, at, rate, given, plan, controller, tell)]
    else:
        edges = range(0, len(at), count(part, "part"))
        jobs = [
            (robot, how, compile, at[k : k + part], rate[k : k + part], given[k : k + part], plan, controller)
            for k in edges
        ]
        parts = _spread(executor, jobs)
    q1, v1, tau1, forces = (np.concatenate([p[k] for p in parts], axis=1) for k in range(4))
    steps = sorted({*range(0, total, record), total})
    lost = int((~np.isfinite(v1[-1]).all(axis=-1)).sum()) if len(at) else 0
    ended = f"{lost} of {len(at)} robots stopped being finite; try a shorter dt" if lost else ""
    settings = {**how, "record_every": record, "control_every": control}
    settings.setdefault("passive", True)
    return Run(robot, np.array(steps) * h, q1, v1, tau1, forces, settings, ended)


Part = tuple[Array, Array, Array, Array]


def _states(robot: Mechanism, q: npt.ArrayLike, v: npt.ArrayLike | None) -> tuple[Array, Array]:
    if not isinstance(robot, Mechanism):
        raise InputError(f"robot is {type(robot).__name__}, needs a Mechanism (from load, Builder or compose)")
    at = robot.normalise(q).astype(np.float64)
    if at.ndim != 2:
        raise InputError(f"q has shape {at.shape}, needs (n, {robot.nq}): one row for each robot")
    rate = np.zeros((len(at), robot.nv)) if v is None else fresh_floats(v, "v")
    if rate.shape != (len(at), robot.nv) or not np.isfinite(rate).all():
        raise InputError(f"v has shape {rate.shape}, needs ({len(at)}, {robot.nv}) finite numbers")
    return at, rate


def _torques(robot: Mechanism, tau: npt.ArrayLike | None, n: int, live: Any = ...) -> Array:
    """Torques for each robot, of these or of commands; what is asked of those that are not alive any more does not
    count."""
    given = np.zeros(robot.nv) if tau is None else fresh_floats(tau, "tau")
    motors = len(robot.actuators)
    if motors and given.shape in ((motors,), (n, motors)) and motors != robot.nv:
        if not np.isfinite(given[live]).all():
            raise InputError("commands of actuators are not all finite")
        given = np.clip(given, *command_limits(robot)) @ gears(robot).T
    if given.shape not in ((robot.nv,), (n, robot.nv)) or not np.isfinite(given[live]).all():
        raise InputError(f"tau has shape {given.shape}, needs ({robot.nv},) or ({n}, {robot.nv}) finite numbers")
    return np.array(np.broadcast_to(given, (n, robot.nv)))


@lru_cache(maxsize=8)
def _stepper(robot: Mechanism, compile: bool, threads: int | None, how: tuple[tuple[str, Any], ...]) -> Stepper:
    made = Stepper(robot, threads=threads, **dict(how))
    return made.compile(threads=threads) if compile else made


def _roll(
    stepper: Stepper,
    q: Array,
    v: Array,
    tau: Array,
    plan: tuple[int, int, int],
    controller: BatchController | None,
    tell: Callable[[int], None] = lambda done: None,
) -> Part:
    """One batch through all steps, in as few calls as records and controls allow."""
    total, record, control = plan
    if controller is not None and is_compiled(controller):
        return _driven(stepper, q, v, tau, Plan(0, total, control, record), controller)
    nc = stepper.robot.nc
    forces = np.zeros((len(q), nc))
    kept: list[tuple[Array, Array, Array, Array]] = []
    done = 0
    while True:
        if controller is not None and done % control == 0 and done < total:
            live = np.isfinite(v).all(axis=-1)
            tau = _torques(stepper.robot, controller(done * stepper.dt, q.copy(), v.copy()), len(q), live)
        if done % record == 0 or done == total:
            kept.append((q, v, tau, forces))
        if done == total:
            break
        ahead = min(record - done % record, total - done)
        if controller is not None:
            ahead = min(ahead, control - done % control)
        q, v, forces = _advance(stepper, q, v, tau, ahead)
        done += ahead
        tell(done)
    q_all, v_all, tau_all, forces_all = (np.array([row[k] for row in kept]) for k in range(4))
    return q_all, v_all, tau_all, forces_all


def _driven(stepper: Stepper, q: Array, v: Array, tau: Array, plan: Plan, controller: BatchController) -> Part:
    """The same under a compiled controller."""
    found = drive(stepper, controller, q, v, tau, plan, batched=True)
    if found.status != FINE:
        needs = f"needs ({len(q)}, {stepper.robot.nv}) finite numbers"
        what = f"gave {found.detail}" if found.status == WRONG_SHAPE else f"is not finite for state {found.detail[0]}"
        raise InputError(f"the controller at {found.step * stepper.dt:g} s {what}: {needs}")
    return found.q, found.v, found.tau, found.forces


def _advance(stepper: Stepper, q: Array, v: Array, tau: Array, steps: int) -> tuple[Array, Array, Array]:
    """The same steps for all; those that are not finite any more are left out."""
    live = np.isfinite(v).all(axis=-1) & np.isfinite(q).all(axis=-1)
    q1, v1 = np.full_like(q, np.nan), np.full_like(v, np.nan)
    forces = np.zeros((len(q), stepper.robot.nc))
    if live.any():
        runner = stepper._runner
        states = [fresh_floats(x[live], "states") for x in (q, v, tau)]
        out = [np.empty((len(states[0]), *shape)) for shape in stepper._output_shapes]
        settings = stepper._often(steps)
        single = len(states[0]) == 1
        rows = [x[0] for x in states] if single else states
        results = [x[0] for x in out] if single else out
        inputs = [*rows, stepper._law, stepper._R, stepper._clock, settings]
        status = runner._run_threaded(inputs, results, len(states[0]))
        if status == OVERFLOW and not single:  # a door ends with the chunk that holds what is not finite
            for k in range(0, len(states[0]), CHUNK):
                chunk = slice(k, k + CHUNK)
                runner.run([*(x[chunk] for x in states), *inputs[3:]], [y[chunk] for y in out], len(out[0][chunk]))
        if status not in (DONE, OVERFLOW):
            runner.explain(status, inputs, results)
        good = out[3][:, 1] == steps + 1
        q1[live], v1[live] = np.where(good[:, None], out[0], np.nan), np.where(good[:, None], out[1], np.nan)
        forces[live] = np.where(good[:, None], out[2][:, 2 : 2 + stepper.robot.nc], np.nan)
    return q1, v1, forces


def _job(
    robot: Mechanism,
    how: dict[str, Any],
    compile: bool,
    q: Array,
    v: Array,
    tau: Array,
    plan: tuple[int, int, int],
    controller: BatchController | None,
) -> Part:
    """What a worker does: one part, on one core."""
    stepper = Stepper(robot, threads=1, **how)
    return _roll(stepper.compile(threads=1) if compile else stepper, q, v, tau, plan, controller)


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
