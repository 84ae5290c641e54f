"""One robot, simulated."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from math import gcd
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from linkwork.closure.assembly import hold_hint
from linkwork.errors import AssemblyError, InputError
from linkwork.inputs import Integrator, SimulationMethod, TimeConstant, above_zero, count, fresh_floats, named_options
from linkwork.model.model import Model
from linkwork.quantities.evaluator import Array, check_actuators
from linkwork.quantities.functions import actuator_torques, constraint_error, constraint_jacobian
from linkwork.quantities.scales import joint_units, scales_of, typical_row_units
from linkwork.simulation import advancing
from linkwork.simulation.advancing import Torques
from linkwork.simulation.closing import Closing
from linkwork.simulation.compiled import FINE, WRONG_SHAPE, Plan, drive, is_compiled
from linkwork.simulation.control import ControlledStepper, Controller, as_controller
from linkwork.simulation.stages import AllJoints, FreeJoints, Staged
from linkwork.simulation.stepper import (
    AUTO,
    INTEGRATORS,
    Stepper,
    held_back,
    joint_law,
    stabilized,
    warn_of_stiff_servos,
)
from linkwork.simulation.trajectory import Trajectory

ControlFunction = Callable[[float, Array, Array], npt.ArrayLike]
"""``controller(time, q, v)``: torques of all joints, ``(nv,)``, or commands of the robot's actuators."""

ControllerOutput = Literal["auto", "torques", "commands"]
"""What a controller gives: ``auto`` tells torques from commands by how many numbers they are."""

Record = tuple[float, Array, Array, Array, Array, Array | None]
"""Time, q, v, torques, constraint forces, and commands if there are any."""

OPEN = 1e-6
"""How far loops may be open at the start, and how fast they may open: as parts of the robot's length and of one, and of
what joints move."""
RESTING = 1e-6
"""Joints that move by less than this part of how a pendulum of the robot's length swings are at rest."""
UNIT = 1e-12
"""How much longer or shorter than one quaternions may be at the start."""
PATIENCE = 2.0
"""Seconds before progress is shown."""


@named_options(Stepper)
def simulate(
    robot: Model,
    q: npt.ArrayLike | None = None,
    v: npt.ArrayLike | None = None,
    *,
    seconds: float,
    dt: float = 1e-3,
    integrator: Integrator = "euler",
    method: SimulationMethod = "auto",
    controller: Controller | ControlFunction | None = None,
    control_every: int = 1,
    controller_output: ControllerOutput = "auto",
    tau: npt.ArrayLike | None = None,
    commands: npt.ArrayLike | None = None,
    wrenches: Mapping[str, npt.ArrayLike] | None = None,
    record_every: int = 1,
    project_every: int = 0,
    start: float = 0.0,
    time_constant: TimeConstant = AUTO,
    passive: bool = True,
    limits: bool = True,
    tolerance: float = 1e-8,
    closed: bool = True,
    stops_at: npt.ArrayLike | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Trajectory:
    """A robot over time.

    By default forward dynamics is `aba` or `lcaba`, and steps are compiled. Other methods step in Python, some twenty
    to a hundred times slower, and there, with ``dopri5`` and with ``project_every`` kernels are called as Python
    functions.

    Servos follow their commands in every step, also where the controller is asked less often; without commands
    actuators do nothing. Torques act beside commands.

    Started again from any recorded state (`Trajectory.resume`), it goes on as it did, to the last bit. Where something
    stops being finite, the run ends there and says why; an error of the controller is raised, with what was found so
    far in its ``run``.

    Args:
        robot: The mechanism.
        q: Configuration at the start, ``(nq,)``; by default the assembled or neutral pose.
        v: Joint velocities at the start, ``(nv,)``; by default at rest.
        seconds: How long.
        dt: Time of one step, in seconds; the longest one of ``dopri5``.
        integrator: How steps are made, see `Stepper`.
        method: Forward dynamics: ``"auto"``, any method of `ForwardDynamics`, or ``"minimal"``, which moves in minimal
            coordinates with loops closed at every stage.
        controller: Asked for torques of all joints or commands of the actuators, which are held in between: a
            `Controller` or a kernel, which is compiled with the steps; a Python function of time, ``q`` and ``v``; such
            a function compiled by Numba (``numba.njit``) is called from machine code.
        control_every: Steps between two calls of the controller.
        controller_output: What a controller gives: ``"torques"`` of all joints or ``"commands"`` of the actuators;
            ``"auto"``: torques where there are as many of both, else what fits.
        tau: Constant torques, ``(nv,)``.
        commands: Constant commands of the actuators, ``(actuators,)``; with a controller that gives commands, those
            before it is first asked.
        wrenches: Constant external wrenches by frame, ``{"hand": [*moment, *force]}`` in the frame's axes.
        record_every: Steps between two states that are kept.
        project_every: Steps after which loops are closed to rounding; 0: never.
        start: Time at the start, in seconds.
        time_constant: As for `Stepper`: pulls loops closed.
        passive: As for `Stepper`: springs and dampers of joints act.
        limits: As for `Stepper`: joint limits are stops.
        tolerance: By how much each step of ``dopri5`` may be wrong.
        closed: Whether loops must be closed at the start.
        stops_at: Configuration that stops are made for, ``(nq,)``; by default the first one.
        progress: Whether progress is shown; by default where it takes long and there is a terminal.
        options: Further ones of `Stepper`.
    """
    h, span = above_zero(dt, "dt"), above_zero(seconds, "seconds")
    record, control = count(record_every, "record_every"), count(control_every, "control_every")
    if not isinstance(project_every, int) or project_every < 0:
        raise InputError(f"project_every is {project_every!r}, needs a whole number, 0 for never")
    at, rate = initial(robot, q, v, closed)
    stops = at if stops_at is None else fresh_floats(stops_at, "stops_at")
    total, first = max(1, round(span / h)), round(float(start) / h)
    stride = gcd(record, total)
    if controller is not None:
        stride = gcd(stride, control)
    if project_every:
        stride = gcd(stride, project_every)
    start_from = held = constant(robot, tau, commands)
    frames, pushed = frame_wrenches(robot, wrenches)
    how: dict[str, Any] = {"time_constant": time_constant, "passive": passive, "limits": limits}
    compiled = method in ("auto", "aba" if not any(c.enabled for c in robot.constraints) else "lcaba")
    settings = {
        "integrator": integrator,
        "method": method,
        "dt": h,
        "record_every": record,
        "control_every": control if controller is not None else 0,
        "project_every": project_every,
        **how,
        "tolerance": above_zero(tolerance, "tolerance"),
        "stops_at": stops.tolist(),
        **options,
    }
    if frames:
        settings["wrenches"] = dict(zip(frames, pushed.tolist(), strict=True))
        how["wrenches"] = frames
    if controller is not None:
        settings["controller_output"] = controller_output
    if robot.actuators:
        settings["tau"] = held.tau.tolist()
    if held.commands is not None or controller_output == "commands":
        warn_of_stiff_servos(robot, at, h)
    text = as_controller(controller)
    function = None if isinstance(controller, Controller) else controller
    if text is not None:
        text.check(robot)
        if held.commands is not None:
            raise InputError("commands and a kernel, which writes torques of all joints: give one of them")
        if compiled and not project_every and integrator != "dopri5":
            under = ControlledStepper(robot, text.control, control, integrator, h, at=stops, **how, **options)
            return _controlled(
                under, robot, text, at, rate, held.tau, pushed, Plan(first, total, control, record), settings, progress
            )
        function = text.plain(robot)
    steps: Stepper | Staged
    if compiled:
        steps = Stepper(robot, integrator, h, at=stops, **how, **options)
        if function is not None and is_compiled(function) and not project_every and integrator != "dopri5":
            plan = Plan(first, total, control, record)
            return _driven(steps, robot, function, controller_output, at, rate, held, pushed, plan, settings)
    elif options:
        raise InputError(f"method '{method}' takes no {', '.join(options)}: these are for compiled steps")
    else:
        steps = staged(robot, integrator, method, h, stops, pushed=pushed, **how)
    advance = _way(steps, h, stride, tolerance, pushed)
    closing = Closing(robot) if project_every else None
    rows: list[Record] = []
    forces, ended = np.zeros(robot.nc), ""

    def made() -> Trajectory:
        return recorded(robot, rows, settings, ended)

    with shown(progress, total, robot.name) as tell:
        for done in range(0, total, stride):
            moment = (first + done) * h
            if function is not None and (first + done) % control == 0:
                try:
                    held = controlled(robot, function(moment, at.copy(), rate.copy()), controller_output)
                    if held.commands is not None:
                        held = Torques(start_from.tau, held.commands)
                except Exception as error:
                    error.run = made()  # type: ignore[attr-defined]
                    if isinstance(error, InputError):
                        raise _told(error, f"the controller at {moment:g} s: {error}", made()) from None
                    raise
            if (first + done) % record == 0 or not rows:
                rows.append((moment, at, rate, held.tau, forces, held.commands))
            at, rate, forces, gone = advance(at, rate, held, stride)
            if gone < stride:
                ended = _why(robot, rows[-1][0], rows[-1][2], first + done + gone, h)
                break
            if closing is not None and (first + done + stride) % project_every == 0:
                at, rate = closing(at, rate)
            tell(done + stride)
    if not ended:
        rows.append(((first + total) * h, at, rate, held.tau, forces, held.commands))
    return made()


def recorded(robot: Model, rows: list[Record], settings: dict[str, Any], ended: str) -> Trajectory:
    """A run of the states that were kept; its torques are those of actuators, too."""
    times, q, v, tau, forces = (np.array([row[k] for row in rows]) for k in range(5))
    if all(row[5] is None for row in rows):
        return Trajectory(robot, times, q, v, tau, forces, settings, ended)
    none = np.full(len(robot.actuators), np.nan)
    commands = np.array([none if row[5] is None else row[5] for row in rows])
    return Trajectory(robot, times, q, v, tau + made_of(robot, q, v, commands), forces, settings, ended, commands)


def made_of(robot: Model, q: Array, v: Array, commands: Array) -> Array:
    """Torques of actuators in states that were kept; zero where there were no commands, or the state is lost."""
    live = np.isfinite(commands).all(axis=-1) & np.isfinite(v).all(axis=-1) & np.isfinite(q).all(axis=-1)
    torque = np.zeros_like(v)
    torque[live] = actuator_torques(robot, q[live], v[live], commands[live])
    return torque


def staged(
    robot: Model,
    integrator: Integrator,
    method: SimulationMethod,
    dt: float,
    at: npt.ArrayLike,
    *,
    time_constant: TimeConstant,
    passive: bool,
    limits: bool,
    wrenches: tuple[str, ...] = (),
    pushed: Array | None = None,
) -> Staged:
    """Steps in Python around a method of forward dynamics, or in minimal coordinates."""
    if integrator not in INTEGRATORS:
        raise InputError(f"no integrator {integrator!r}; there are {', '.join(INTEGRATORS)}")
    law = joint_law(robot, passive, limits, at)
    moved = held_back(robot, dt) if integrator == "euler" and passive else robot
    if not passive:
        moved = replace(moved, gravity_compensation={})
    if method == "minimal":
        return Staged(FreeJoints(moved, wrenches), integrator, law, pushed)
    return Staged(AllJoints(stabilized(moved, time_constant, dt), method, wrenches), integrator, law, pushed)


def _way(steps: Stepper | Staged, dt: float, stride: int, tolerance: float, wrenches: Array) -> advancing.Advance:
    """How to go on: in machine code, or one step after the other; steps of one length, or as long as errors allow."""
    if isinstance(steps, Stepper) and steps.integrator != "dopri5":
        return advancing.compiled(steps, stride, wrenches)
    one = advancing.one_compiled(steps, wrenches) if isinstance(steps, Stepper) else advancing.one_staged(steps)
    if steps.integrator == "dopri5":
        return advancing.adaptive(one, dt, tolerance)
    return advancing.repeated(one, dt)


def _controlled(
    stepper: ControlledStepper,
    robot: Model,
    controller: Controller,
    q: Array,
    v: Array,
    tau: Array,
    wrenches: Array,
    plan: Plan,
    settings: dict[str, Any],
    progress: bool | None,
) -> Trajectory:
    """A run under a controller that is kernel text: one call of machine code from record to record."""
    h, first, advance = stepper.dt, plan.first, advancing.under_control(stepper, controller, wrenches)
    rows: list[Record] = []
    forces, ended = np.zeros(robot.nc), ""

    def made() -> Trajectory:
        return recorded(robot, rows, settings, ended)

    with shown(progress, plan.total, robot.name) as tell:
        for start, stop in [(0, 0), *pairwise(plan.moments())]:
            q, v, tau, forces, gone = advance(q, v, tau, first + start, stop - start, stop == plan.total)
            if not np.isfinite(tau).all():
                what = f"torque {int(np.argwhere(~np.isfinite(tau))[0, 0])} is not finite"
                words = f"the controller at {(first + start + gone) * h:g} s: {what}"
                raise _told(InputError(what), words, made())
            if gone < stop - start:
                ended = _why(robot, rows[-1][0], rows[-1][2], first + start + gone, h)
                break
            rows.append(((first + stop) * h, q, v, tau, forces, None))
            tell(stop)
    return made()


def _driven(
    stepper: Stepper,
    robot: Model,
    controller: ControlFunction,
    output: ControllerOutput,
    q: Array,
    v: Array,
    held: Torques,
    wrenches: Array,
    plan: Plan,
    settings: dict[str, Any],
) -> Trajectory:
    """A run under a compiled controller."""
    both = held.tau[None], None if held.commands is None else held.commands[None]
    found = drive(stepper, controller, output, q[None], v[None], *both, wrenches, plan, batched=False)
    h, moments = stepper.dt, plan.moments()
    ended, count = "", len(moments)
    if found.status != FINE or found.step < plan.first + plan.total:
        count = sum(plan.first + moment < found.step + (found.status == FINE) for moment in moments)
    times = (plan.first + np.array(moments[:count])) * h
    kept = [array[:count, 0] for array in (found.q, found.v, found.tau, found.forces, found.commands)]
    if found.status == FINE and count < len(moments):
        ended = _why(robot, times[-1], kept[1][-1], found.step, h)
    run = with_commands(Trajectory(robot, times, kept[0], kept[1], kept[2], kept[3], settings, ended), kept[4])
    if found.status == FINE:
        return run
    what = f"torques have shape {found.detail[1:]}, robot '{robot.name}' needs {robot.nv}"
    if found.status != WRONG_SHAPE:
        what = f"torque {found.detail[1]} is not finite"
    raise _told(InputError(what), f"the controller at {found.step * h:g} s: {what}", run)


def with_commands(run: Trajectory, commands: Array) -> Trajectory:
    """The run with the commands that were given in it, if any were, and the torques that came of them."""
    if run.robot is None or not np.isfinite(commands).any():
        return run
    return replace(run, tau=run.tau + made_of(run.robot, run.q, run.v, commands), commands=commands)


def _told(error: InputError, words: str, run: Trajectory) -> InputError:
    told = type(error)(words)
    told.run = run  # type: ignore[attr-defined]
    return told


def initial(robot: Model, q: npt.ArrayLike | None, v: npt.ArrayLike | None, closed: bool = True) -> tuple[Array, Array]:
    """A state to start from, its loops closed if they have to be."""
    if not isinstance(robot, Model):
        raise InputError(f"robot is {type(robot).__name__}, needs a Mechanism (from load, Builder or compose)")
    if q is None:
        q = robot.poses.get("assembled", robot.neutral())
    at = fresh_floats(robot.normalize(q), "q")
    given = np.asarray(q, dtype=np.float64)
    if all(abs(np.linalg.norm(given[unit]) - 1.0) < UNIT for unit in robot.unit_slices()):
        at = fresh_floats(given, "q")  # as it is, to the last bit
    rate = np.zeros(robot.nv) if v is None else fresh_floats(v, "v")
    if rate.shape != (robot.nv,) or not np.isfinite(rate).all():
        raise InputError(f"v has shape {rate.shape}, needs {robot.nv} finite numbers")
    on = np.concatenate([np.full(c.rows, c.enabled) for c in robot.constraints]) if robot.nc else np.zeros(0)
    if closed and on.any():
        units = typical_row_units(robot)
        error = np.abs(constraint_error(robot, at)) * on
        if (error / units).max() > OPEN:
            row = int((error / units).argmax())
            worst = next(c.name for c in robot.constraints if row < robot.row_slice(c.name).stop)
            raise AssemblyError(
                f"'{worst}' is open by {error[row]:.3g} at the start: close loops with robot.assemble(q)"
                f"{hold_hint(robot, worst)}"
            )
        opening = np.abs(constraint_jacobian(robot, at) @ rate) * on
        swing = float(np.sqrt(np.linalg.norm(robot.gravity) / scales_of(robot).length))
        moving = max(float(np.abs(rate / joint_units(robot)).max(initial=0.0)), RESTING * swing)
        if (opening / units).max() > OPEN * moving:
            raise InputError(f"v opens loops by {opening.max():.3g} a second: use robot.project_velocity(q, v)")
    return at, rate


def constant(robot: Model, tau: npt.ArrayLike | None, commands: npt.ArrayLike | None) -> Torques:
    """What acts over a whole run."""
    held = controlled(robot, np.zeros(robot.nv) if tau is None else tau, "auto" if commands is None else "torques")
    if commands is None:
        return held
    return Torques(held.tau, controlled(robot, commands, "commands").commands)


def controlled(robot: Model, given: npt.ArrayLike, output: ControllerOutput) -> Torques:
    """Torques of all joints, or commands of the actuators, as a controller gave them."""
    if output not in ("auto", "torques", "commands"):
        raise InputError(f"controller_output is {output!r}, needs 'auto', 'torques' or 'commands'")
    numbers, motors = fresh_floats(given, "torques"), len(robot.actuators)
    commands = output == "commands" or (output == "auto" and motors > 0 and numbers.shape == (motors,) != (robot.nv,))
    if commands:
        check_actuators(robot)
        if numbers.shape != (motors,):
            raise InputError(f"commands have shape {numbers.shape}, robot '{robot.name}' has {motors} actuators")
    elif numbers.shape != (robot.nv,):
        more = f", or {motors} commands of its actuators" if motors and output == "auto" else ""
        raise InputError(f"torques have shape {numbers.shape}, robot '{robot.name}' needs {robot.nv}{more}")
    if not np.isfinite(numbers).all():
        what = "command" if commands else "torque"
        raise InputError(f"{what} {int(np.argwhere(~np.isfinite(numbers))[0, 0])} is not finite")
    return Torques(np.zeros(robot.nv), numbers) if commands else Torques(numbers)


def frame_wrenches(
    robot: Model, wrenches: Mapping[str, npt.ArrayLike] | None, robots: int | None = None
) -> tuple[tuple[str, ...], Array]:
    """Frames and the external wrenches on them, ``(frames, 6)``; where robots differ, ``(robots, frames, 6)``."""
    given = {} if wrenches is None else wrenches
    if not isinstance(given, Mapping):
        raise InputError(
            f"wrenches is {type(given).__name__}, needs external wrenches by frame: "
            "{'hand': [mx, my, mz, fx, fy, fz]}, in the frame's axes"
        )
    found = []
    for name, values in given.items():
        robot.frame(name)
        wrench = fresh_floats(values, f"wrench on '{name}'")
        if wrench.shape not in ((6,), (robots, 6)) or not np.isfinite(wrench).all():
            more = "" if robots is None else f" or ({robots}, 6)"
            raise InputError(f"wrench on '{name}' has shape {wrench.shape}, needs (6,){more}, finite numbers")
        found.append(wrench)
    if any(wrench.ndim > 1 for wrench in found):
        found = [np.broadcast_to(wrench, (robots or 1, 6)) for wrench in found]
    return tuple(given), fresh_floats(np.stack(found, axis=-2) if found else np.zeros((0, 6)), "wrenches")


def _why(robot: Model, time: float, v: Array, step: int, h: float) -> str:
    """Words for a run that ended early: after which step, and what was fastest when last seen."""
    fastest = ""
    if robot.nv:
        k = int(np.abs(v).argmax())
        joint = next(j for j in robot.joints if k in range(*robot.v_slice(j.name).indices(robot.nv)))
        fastest = f"; '{joint.name}' was the fastest joint at {time:g} s, with {v[k]:.3g}"
    return f"not finite after step {step} ({step * h:g} s){fastest}; try a shorter dt"


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
