# SPDX-License-Identifier: BSD-3-Clause
"""States that a simulation keeps, and why it ended early."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from linkwork.closure.mobility import check_mass_matrix
from linkwork.dynamics.motion import Motion
from linkwork.errors import SingularMassMatrix
from linkwork.inputs import ParameterName
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.simulation.actuation import torques_of_actuators
from linkwork.simulation.early_end import fastest_joint
from linkwork.simulation.state import State

M = TypeVar("M", bound=Motion)


class Recorder:
    """Arrays of the states that a simulation keeps, filled one by one.

    Args:
        robot: The mechanism.
        times: When states are kept, in seconds.
        batch: Number of robots, if there is an axis of them.
        contacts: Numbers of a row about contacts; None without contacts.
        parameters: Parameters of robots that differ.
    """

    def __init__(
        self,
        robot: Model,
        times: Array,
        batch: tuple[int, ...] = (),
        contacts: int | None = None,
        parameters: Mapping[ParameterName, Array] = MappingProxyType({}),
    ) -> None:
        self.robot, self.times, self.parameters = robot, times, parameters
        self.count = 0
        """Number of states that were kept so far."""
        widths = (robot.nq, robot.nv, robot.nv, robot.nc, len(robot.actuators))
        self.q, self.v, self.tau, self.multipliers, self.commands = (np.empty((len(times), *batch, n)) for n in widths)
        self.commands.fill(np.nan)
        self.contacts = None if contacts is None else np.zeros((len(times), *batch, contacts))
        self.act = np.zeros((len(times), *batch, robot.na)) if robot.na else None

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All arrays, in an order that depends on the robot alone."""
        kept = (self.q, self.v, self.tau, self.multipliers, self.commands)
        return (*kept, *(x for x in (self.contacts, self.act) if x is not None))

    def add(self, state: State) -> None:
        """Keep the state at the next of the times."""
        k = self.count
        q, v, (tau, commands), multipliers, contacts, act = state
        self.q[k] = q
        self.v[k] = v
        self.tau[k] = tau
        self.multipliers[k] = multipliers
        if commands is not None:
            self.commands[k] = commands
        if self.contacts is not None and contacts is not None:
            self.contacts[k] = contacts
        if self.act is not None and act is not None:
            self.act[k] = act
        self.count = k + 1

    def add_at(self, time: float, state: State) -> None:
        """Keep a state at a time between those of the schedule; it ends there."""
        self.times = np.append(self.times[: self.count], time)
        self.add(state)

    def motion(self, kind: type[M], settings: Mapping[str, Any], ended: str = "") -> M:
        """States kept so far; their torques are also those that actuators make of commands.

        Args:
            kind: The class that holds them.
            settings: Settings of the steps.
            ended: Why the simulation ended early, if it did.
        """
        arrays: tuple[Array, ...] = (self.times, self.q, self.v, self.tau, self.multipliers, self.commands)
        contacts, act = self.contacts, self.act
        if self.count < len(self.q):
            arrays = tuple(x[: self.count].copy() for x in arrays)
            contacts = None if contacts is None else contacts[: self.count].copy()
            act = None if act is None else act[: self.count].copy()
        times, q, v, tau, multipliers, commands = arrays
        if not np.isfinite(commands).any():
            return kind(self.robot, times, q, v, tau, multipliers, dict(settings), ended, None, contacts, act)
        dt = float(settings.get("dt", 0.0))
        tau = tau + torques_of_actuators(self.robot, q, v, commands, self.parameters, act, dt)
        return kind(self.robot, times, q, v, tau, multipliers, dict(settings), ended, commands, contacts, act)


def early_end(recorder: Recorder, dt: float, step: int) -> str:
    """Words for a simulation that ended early: after which step, and the joint that moves no mass, or the fastest one
    when last recorded."""
    try:
        check_mass_matrix(recorder.robot)
    except SingularMassMatrix as error:
        return f"not finite after step {step} ({step * dt:g} s): {error}"
    fastest = fastest_joint(recorder.robot, recorder.times[: recorder.count], recorder.v[: recorder.count])
    return f"not finite after step {step} ({step * dt:g} s){fastest}"
