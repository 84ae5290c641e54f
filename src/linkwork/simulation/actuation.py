# SPDX-License-Identifier: BSD-3-Clause
"""Inputs of simulations: joint torques, commands of actuators, external wrenches, as users pass them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError
from linkwork.inputs import ParameterName, fresh_floats
from linkwork.model.model import Model
from linkwork.model.parameters import own_values, parameter
from linkwork.quantities.actuation import acting_activations, actuator_torques, commands_and_activations
from linkwork.quantities.arguments import Array
from linkwork.quantities.evaluator import Evaluator, check_actuators

ControlFunction = Callable[[float, Array, Array], npt.ArrayLike]
"""``controller(time, q, v)``: torques of all joints, ``(nv,)``, or commands of the robot's actuators; of a batch,
``(n, nv)`` or ``(n, actuators)``."""

ControllerOutput = Literal["auto", "torques", "commands"]
"""Result of a controller: ``auto`` tells torques from commands by how many numbers they are."""

OUTPUTS = ("auto", "torques", "commands")


class Actuation(NamedTuple):
    """Inputs held constant over steps: joint torques, and commands of actuators where there are any.

    Commands are clamped where they act, by the kernel of actuators: at every stage of every step.
    """

    tau: Array
    commands: Array | None = None

    def rows(self, rows: slice) -> Actuation:
        """Those of some robots of a batch."""
        return Actuation(self.tau[rows], None if self.commands is None else self.commands[rows])


def constant_actuation(
    robot: Model, tau: npt.ArrayLike | None, commands: npt.ArrayLike | None, robots: int | None = None
) -> Actuation:
    """Constant inputs of a whole simulation; of a batch, for each of so many robots."""
    for name, x in (("tau", tau), ("commands", commands)):
        if callable(x):
            raise InputError(f"{name} is a function, needs numbers; controller= takes a function of t, q, v")
    torques = np.zeros(robot.nv) if tau is None else tau
    held = read_output(robot, torques, "auto" if commands is None else "torques", robots)
    if commands is None:
        return held
    return Actuation(held.tau, read_output(robot, commands, "commands", robots).commands)


def read_output(
    robot: Model, given: npt.ArrayLike, output: ControllerOutput, robots: int | None = None, live: Any = ...
) -> Actuation:
    """Torques of all joints or commands of the actuators, checked: as a controller returns them, or a user gives them.

    Of a batch of robots, rows of those that are not ``live`` may hold anything.
    """
    if output not in OUTPUTS:
        raise InputError(f"controller_output is {output!r}, needs 'auto', 'torques' or 'commands'")
    numbers, motors, nv = fresh_floats(given, "torques"), len(robot.actuators), robot.nv
    if robots is None and output != "commands" and numbers.shape == (nv,) and np.isfinite(numbers).all():
        return Actuation(numbers)  # the usual case, in control loops
    fits = numbers.shape == (motors,) or (robots is not None and numbers.shape == (robots, motors))
    commanded = output == "commands" or (output == "auto" and 0 < motors != nv and fits)
    if commanded:
        check_actuators(robot)
    width = motors if commanded else nv
    if numbers.shape != (width,) and (robots is None or numbers.shape != (robots, width)):
        both = output == "auto" and motors > 0
        raise InputError(wrong_shape(robot, numbers.shape, "commands" if commanded else "torques", robots, both=both))
    if not np.isfinite(numbers if numbers.ndim == 1 else numbers[live]).all():
        wrong = [int(k) for k in np.argwhere(~np.isfinite(numbers))[0]]
        if numbers.ndim > 1 and live is not ...:
            bad = ~np.isfinite(numbers).all(axis=-1) & live
            row = int(np.flatnonzero(bad)[0])
            wrong = [row, int(np.flatnonzero(~np.isfinite(numbers[row]))[0])]
        raise InputError(not_finite("command" if commanded else "torque", *reversed(wrong)))
    if robots is not None:
        numbers = np.array(np.broadcast_to(numbers, (robots, width)))
    return Actuation(np.zeros((*numbers.shape[:-1], nv)), numbers) if commanded else Actuation(numbers)


def wrong_shape(
    robot: Model, shape: tuple[int, ...], what: str, robots: int | None = None, *, both: bool = False
) -> str:
    """Words for torques or commands of a shape that does not fit; ``both`` where the other would do as well."""
    motors = len(robot.actuators)
    width = motors if what == "commands" else robot.nv
    needed = f"({width},)" if robots is None else f"({width},) or ({robots}, {width})"
    has = f" has {motors} actuators and" if what == "commands" else ""
    more = f", or {motors} commands of its actuators" if both and what != "commands" else ""
    return f"{what} have shape {shape}, robot '{robot.name}'{has} needs {needed}{more}"


def not_finite(what: str, number: int, robot: int | None = None) -> str:
    """Words for a torque or a command that is NaN or infinite."""
    return f"{what} {number}{'' if robot is None else f' of robot {robot}'} is not finite"


def torques_of_actuators(
    robot: Model,
    q: Array,
    v: Array,
    commands: Array,
    parameters: Mapping[ParameterName, Array] = MappingProxyType({}),
    act: Array | None = None,
    dt: float = 0.0,
) -> Array:
    """Joint torques of actuators in recorded states; zero where there are no commands, or the state is not finite.

    ``parameters`` are those of robots that differ, as `robot_parameters` gives them; ``act`` are activations before a
    step of the time ``dt``.
    """
    live = np.isfinite(commands).all(axis=-1) & np.isfinite(v).all(axis=-1) & np.isfinite(q).all(axis=-1)
    torque = np.zeros_like(v)
    own: dict[ParameterName, Array] = {}
    for name, x in parameters.items():
        if name.startswith(("actuator_", "motor_")):
            shape = own_values(robot, name).shape
            own[name] = np.broadcast_to(x, (*live.shape, *shape))[live]
    used = None if act is None else acting_activations(robot, commands[live], act[live], dt)
    if own:
        inputs = commands_and_activations(robot, commands[live], used)
        torque[live] = Evaluator(robot, "actuator_torques", parameters=list(own))(q[live], v[live], inputs, **own)
    else:
        torque[live] = actuator_torques(robot, q[live], v[live], commands[live], used)
    return torque


def frame_wrenches(
    robot: Model, wrenches: Mapping[str, Any] | None, robots: int | None = None
) -> tuple[tuple[str, ...], Array]:
    """Frames and the external wrenches on them, ``(frames, 6)``; where robots differ, ``(robots, frames, 6)``."""
    wrenches_of_frames = {} if wrenches is None else wrenches
    if not isinstance(wrenches_of_frames, Mapping):
        raise InputError(
            f"wrenches is {type(wrenches_of_frames).__name__}, needs external wrenches by frame: "
            "{'hand': [mx, my, mz, fx, fy, fz]}, in the frame's axes"
        )
    rows = []
    for name, values in wrenches_of_frames.items():
        robot.frame(name)
        if callable(values):
            raise InputError(
                f"wrench on '{name}' is a function, needs numbers here; simulate and rollouts take functions"
            )
        wrench = fresh_floats(values, f"wrench on '{name}'")
        if wrench.shape not in ((6,), (robots, 6)) or not np.isfinite(wrench).all():
            more = "" if robots is None else f" or ({robots}, 6)"
            raise InputError(f"wrench on '{name}' has shape {wrench.shape}, needs (6,){more}, finite numbers")
        rows.append(wrench)
    if any(wrench.ndim > 1 for wrench in rows):
        rows = [np.broadcast_to(wrench, (robots or 1, 6)) for wrench in rows]
    return tuple(wrenches_of_frames), fresh_floats(np.stack(rows, axis=-2) if rows else np.zeros((0, 6)), "wrenches")


def robot_parameters(
    robot: Model, parameters: Mapping[ParameterName, npt.ArrayLike], robots: int
) -> dict[ParameterName, Array]:
    """Parameters of robots by name, of the shape that the robot's own have, or where robots differ, of each."""
    if not isinstance(parameters, Mapping):
        raise InputError(
            f"parameters is {type(parameters).__name__}, needs values by name: {{'mass': masses}}, see robot.parameters"
        )
    arrays: dict[ParameterName, Array] = {}
    for name, values in parameters.items():
        shape, x = own_values(robot, name).shape, fresh_floats(values, name)
        if x.shape not in (shape, (robots, *shape)):
            raise InputError(f"{name} has shape {x.shape}, robot '{robot.name}' needs {shape} or {(robots, *shape)}")
        if not np.isfinite(x).all():
            raise InputError(f"{name} holds numbers that are not finite")
        check = parameter(name).check
        if check is not None:
            check(x, name)
        arrays[name] = x
    return arrays
