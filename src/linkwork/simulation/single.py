"""One robot, simulated."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.closure import assemble, project_velocity
from linkwork.compile.door import DONE, OVERFLOW
from linkwork.dynamics import Array, constraint_error, constraint_jacobian
from linkwork.errors import AssemblyError, InputError
from linkwork.inputs import above_zero, count, fresh_floats
from linkwork.mechanism import Mechanism
from linkwork.simulation.run import Run
from linkwork.simulation.stepper import TIME_CONSTANT, Stepper

Controller = Callable[[float, Array, Array], npt.ArrayLike]
"""``controller(time, q, v)``: torques of all joints, ``(nv,)``, or commands of the robot's actuators."""

OPEN = 1e-6
"""How far loops may be open at the start, and how fast they may open."""
PATIENCE = 2.0
"""Seconds before progress is shown."""
SAFETY, LEAST, MOST = 0.9, 0.2, 5.0
"""Of adaptive steps: how much shorter than what would just do, and by how much a step may change."""


def simulate(
    robot: Mechanism,
    q: npt.ArrayLike | None = None,
    v: npt.ArrayLike | None = None,
    *,
    seconds: float,
    dt: float = 1e-3,
    integrator: str = "euler",
    controller: Controller | None = None,
    control_every: int = 1,
    tau: npt.ArrayLike | None = None,
    record_every: int = 1,
    project_every: int = 0,
    start: float = 0.0,
    time_constant: float | None = TIME_CONSTANT,
    passive: bool = True,
    limits: bool = True,
    tolerance: float = 1e-8,
    closed: bool = True,
    progress: bool | None = None,
    **options: Any,
) -> Run:
    """A robot over time, from ``q`` (default: its assembled or neutral pose) and ``v`` (default: at rest).

    ``tau`` are constant torques; a ``controller`` is asked for torques every ``control_every`` steps, which are held in
    between. Every ``record_every`` steps the state is kept. Every ``project_every`` steps loops are closed to rounding
    (0: never; a ``time_constant`` pulls them closed in any case, see `Stepper`, as are ``passive``, ``limits`` and
    further options). ``dopri5`` chooses its steps, ``dt`` at most, so that each is wrong by ``tolerance``. Loops must
    be closed at the start, unless ``closed`` is false.

    Started again from any recorded state (`Run.resume`), it goes on as it did, to the last bit. Where
    something stops being finite, the run ends there and says why; an error of the controller is raised, with what was
    found so far in its ``run``.
    """
    h, span = above_zero(dt, "dt"), above_zero(seconds, "seconds")
    record, control = count(record_every, "record_every"), count(control_every, "control_every")
    if not isinstance(project_every, int) or project_every < 0:
        raise InputError(f"project_every is {project_every!r}, needs a whole number, 0 for never")
    at, rate = initial(robot, q, v, closed)
    stepper = Stepper(
        robot, integrator, h, time_constant=time_constant, passive=passive, limits=limits, at=at, **options
    )
    total, first = max(1, round(span / h)), round(float(start) / h)
    stride = gcd(record, total)
    if controller is not None:
        stride = gcd(stride, control)
    if project_every:
        stride = gcd(stride, project_every)
    held = torques(robot, np.zeros(robot.nv) if tau is None else tau)
    rows: list[tuple[float, Array, Array, Array, Array]] = []
    forces = np.zeros(robot.nc)
    advance = (
        _adaptive(stepper, above_zero(tolerance, "tolerance")) if integrator == "dopri5" else _fixed(stepper, stride)
    )
    ended = ""
    settings = {
        "integrator": integrator,
        "dt": h,
        "record_every": record,
        "control_every": control if controller is not None else 0,
        "project_every": project_every,
        "time_constant": time_constant,
        "passive": passive,
        "limits": limits,
    }

    def made() -> Run:
        parts = [np.array([row[k] for row in rows]) for k in range(5)]
        return Run(robot, parts[0], parts[1], parts[2], parts[3], parts[4], settings, ended)

    with shown(progress, total, robot.name) as tell:
        for done in range(0, total, stride):
            moment = (first + done) * h
            if controller is not None and (first + done) % control == 0:
                try:
                    held = torques(robot, controller(moment, at.copy(), rate.copy()))
                except Exception as error:
                    error.run = made()  # type: ignore[attr-defined]
                    if isinstance(error, InputError):
                        raise _told(error, f"the controller at {moment:g} s: {error}", made()) from None
                    raise
            if (first + done) % record == 0 or not rows:
                rows.append((moment, at, rate, held, forces))
            at, rate, forces, steps = advance(at, rate, held, stride)
            if steps < stride:
                ended = _why(robot, rows, steps, first + done, h)
                break
            if project_every and (first + done + stride) % project_every == 0:
                at = assemble(robot, at, limits=False).q
                rate = project_velocity(robot, at, rate)
            tell(done + stride)
    if not ended:
        rows.append(((first + total) * h, at, rate, held, forces))
    return made()


def _told(error: InputError, words: str, run: Run) -> InputError:
    told = type(error)(words)
    told.run = run  # type: ignore[attr-defined]
    return told


def initial(
    robot: Mechanism, q: npt.ArrayLike | None, v: npt.ArrayLike | None, closed: bool = True
) -> tuple[Array, Array]:
    """A state to start from, its loops closed if they have to be."""
    if not isinstance(robot, Mechanism):
        raise InputError(f"robot is {type(robot).__name__}, needs a Mechanism (from load, Builder or compose)")
    if q is None:
        q = robot.poses.get("assembled", robot.neutral())
    at = fresh_floats(robot.normalise(q), "q")
    rate = np.zeros(robot.nv) if v is None else fresh_floats(v, "v")
    if rate.shape != (robot.nv,) or not np.isfinite(rate).all():
        raise InputError(f"v has shape {rate.shape}, needs {robot.nv} finite numbers")
    on = np.concatenate([np.full(c.rows, c.enabled) for c in robot.constraints]) if robot.nc else np.zeros(0)
    if closed and on.any():
        error = np.abs(constraint_error(robot, at)) * on
        if error.max() > OPEN:
            worst = next(c.name for c in robot.constraints if error[robot.row_slice(c.name)].max() == error.max())
            raise AssemblyError(
                f"'{worst}' is open by {error.max():.3g} at the start: close loops with robot.assemble(q)"
            )
        opening = np.abs(constraint_jacobian(robot, at) @ rate) * on
        if opening.max() > OPEN * max(1.0, float(np.abs(rate).max(initial=0.0))):
            raise InputError(f"v opens loops by {opening.max():.3g} a second: use robot.project_velocity(q, v)")
    return at, rate


def torques(robot: Mechanism, given: npt.ArrayLike) -> Array:
    """Torques of all joints, from these or from commands of the actuators."""
    tau = fresh_floats(given, "torques")
    if robot.actuators and tau.shape == (len(robot.actuators),) != (robot.nv,):
        commands, tau = tau, np.zeros(robot.nv)
        for actuator, command in zip(robot.actuators, commands, strict=True):
            tau[robot.v_slice(actuator.joint)] += np.asarray(actuator.gear) * command
    if tau.shape != (robot.nv,):
        more = f", or {len(robot.actuators)} commands of its actuators" if robot.actuators else ""
        raise InputError(f"torques have shape {tau.shape}, robot '{robot.name}' needs {robot.nv}{more}")
    if not np.isfinite(tau).all():
        raise InputError(f"torque {int(np.argwhere(~np.isfinite(tau))[0, 0])} is not finite")
    return tau


Advance = Callable[[Array, Array, Array, int], tuple[Array, Array, Array, int]]
"""From q, v and torques over so many steps: q, v, constraint forces, and the steps after which all was finite."""


def _fixed(stepper: Stepper, stride: int) -> Advance:
    """Steps of one length, all in machine code."""
    door, nc = stepper._runner.own_door(False), stepper.robot.nc
    settings = stepper._often(stride)
    shapes = stepper._output_shapes

    def advance(q: Array, v: Array, tau: Array, steps: int) -> tuple[Array, Array, Array, int]:
        out = [np.empty(shape) for shape in shapes]
        arrays = (q, v, tau, stepper._law, stepper._R, stepper._clock, settings)
        status = door(*arrays, *out)
        if status not in (DONE, OVERFLOW):
            stepper._runner.explain(status, arrays, out)
        return out[0], out[1], out[2][2 : 2 + nc], int(out[3][1]) - 1

    return advance


def _adaptive(stepper: Stepper, tolerance: float) -> Advance:
    """Steps as long as their error allows. Nothing is remembered from one call to the next."""
    door, nc = stepper._runner.own_door(False), stepper.robot.nc
    shapes, clock = stepper._output_shapes, np.empty(1)

    def advance(q: Array, v: Array, tau: Array, steps: int) -> tuple[Array, Array, Array, int]:
        whole = steps * stepper.dt
        left, h, forces = whole, stepper.dt, np.zeros(nc)
        while left > 1e-12 * whole:
            clock[0] = h = min(h, left)
            out = [np.empty(shape) for shape in shapes]
            arrays = (q, v, tau, stepper._law, stepper._R, clock)
            status = door(*arrays, *out)
            if status not in (DONE, OVERFLOW):
                stepper._runner.explain(status, arrays, out)
            scale = tolerance * np.stack([np.ones_like(v), 1.0 + np.abs(v)])
            off = float((np.abs(out[3]) / scale).max(initial=0.0)) if status == DONE else np.inf
            change = LEAST if not np.isfinite(off) else SAFETY * max(off, 1e-12) ** -0.2
            if off <= 1.0:
                q, v, forces, left = out[0], out[1], out[2][2 : 2 + nc], left - h
            elif h < 1e-9 * stepper.dt:
                return q, v, forces, 0
            h *= min(MOST, max(LEAST, change))
            h = min(h, stepper.dt)
        return q, v, forces, steps

    return advance


def _why(robot: Mechanism, rows: list[Any], steps: int, before: int, h: float) -> str:
    """Words for a run that ended early."""
    fastest = ""
    if robot.nv:
        k = int(np.abs(rows[-1][2]).argmax())
        joint = next(j for j in robot.joints if k in range(*robot.v_slice(j.name).indices(robot.nv)))
        fastest = f"; '{joint.name}' was the fastest joint at {rows[-1][0]:g} s, with {rows[-1][2][k]:.3g}"
    return f"not finite after step {before + steps} ({(before + steps) * h:g} s){fastest}; try a shorter dt"


@contextmanager
def shown(wanted: bool | None, total: int, name: str) -> Iterator[Callable[[int], None]]:
    """Something that tells the progress of what takes longer than two seconds, to people at a terminal."""
    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import Progress, TimeRemainingColumn

    began, bar, task = time.monotonic(), None, None
    last = began

    def tell(done: int) -> None:
        nonlocal bar, task, last
        now = time.monotonic()
        if bar is None and (wanted or now - began > PATIENCE):
            bar = Progress(*Progress.get_default_columns()[:3], TimeRemainingColumn(), console=Console(stderr=True))
            bar.start()
            task = bar.add_task(name, total=total)
        if bar is not None and task is not None and (now - last > 0.1 or done >= total):
            bar.update(task, completed=done)
            last = now

    try:
        yield tell
    finally:
        if bar is not None:
            bar.stop()
