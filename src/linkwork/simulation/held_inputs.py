# SPDX-License-Identifier: BSD-3-Clause
"""Inputs of steps that are held over many of them: commands, wrenches, passive parameters, settings, timing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.compilers.program import Program
from linkwork.dynamics.iterations import row_regularization
from linkwork.errors import InputError
from linkwork.kernels.steps.clock import FIRST
from linkwork.quantities.arguments import Array
from linkwork.quantities.evaluator import check_actuators
from linkwork.simulation.activations import with_activations
from linkwork.simulation.program import StepProgram


@dataclass(frozen=True, eq=False)
class HeldInputs:
    """Inputs that a stepper holds, in the type of its backend: where a call gives none, and for all calls."""

    planned: StepProgram
    tau: Array
    """No torques."""
    commands: Array
    """No commands."""
    wrenches: Array
    """No external wrenches."""
    passive: Array
    """Springs, dampers and stops of joints, ``(nv, 7)``."""
    solver: Array
    """Regularization of rows; with contacts, settings of their solver and no forces to start from."""
    timing: Array
    """Time of a step, and that there are no commands."""
    timing_commanded: Array
    """Time of a step, and that there are commands."""
    once: Array
    """Settings for one step."""
    shapes: tuple[tuple[int, ...], ...]
    """Of the outputs."""
    idle: tuple[Array, ...] | None
    """All inputs after the torques, for one step to which a call gives nothing else; None where there are none: where
    contact points are found for each step, where parameters are inputs, and of dopri5."""

    @classmethod
    def of(cls, planned: StepProgram, program: Program, dtype: np.dtype[Any]) -> HeldInputs:
        """The inputs of a program.

        Args:
            planned: Which program steps are.
            program: The program with parameters of the robot among its inputs.
            dtype: Of the arrays.
        """
        dt, robot = planned.settings.dt, planned.robot
        if planned.contact is None:
            solver = row_regularization(robot, planned.solver.regularization, dtype.name)
        else:
            solver = planned.contact.settings(dtype.name)
        by_pairs = planned.contact is not None and planned.contact.given is not None
        plain = not (by_pairs or planned.parameters.names or planned.settings.integrator == "dopri5")
        idle = (
            np.zeros(program.input_shapes()[3], dtype),
            np.zeros((len(planned.settings.wrenches), 6), dtype),
            planned.passive.astype(dtype),
            solver,
            np.array([dt, 0.0] + [0.0] * planned.timed, dtype),
        )
        tau, once = np.zeros(robot.nv, dtype), np.array([0.0, 2.0], dtype)
        commanded = np.array([dt, 1.0] + [0.0] * planned.timed, dtype)
        shapes = tuple(program.output_shapes())
        return cls(planned, tau, *idle, commanded, once, shapes, (*idle, once) if plain else None)

    def __call__(
        self,
        commands: Any,
        wrenches: Any = None,
        contacts: Array | None = None,
        q: npt.ArrayLike | None = None,
        act: Any = None,
        time: float = 0.0,
    ) -> tuple[Any, ...]:
        """Inputs from commands to the timing.

        Args:
            commands: Commands of the actuators, or None.
            wrenches: External wrenches on the frames that were named; by default none.
            contacts: Rows about contacts of the step before (`StepProgram.contacts_of`); by default none.
            q: Configuration before the step, where contact points are found between steps.
            act: Activations of actuators before the step; by default zero.
            time: Seconds before the step.
        """
        planned, solver = self.planned, self.solver
        if wrenches is None:
            wrenches = self.wrenches
        if planned.contact is not None and q is not None:
            solver = planned.contact.started(solver, contacts, q)
        if commands is None:
            u = self.commands
            if act is not None and planned.na:
                u = with_activations(planned.source, u[: u.size - planned.na], act, u.dtype)
            return u, wrenches, self.passive, solver, self._at(self.timing, time)
        if not planned.takes_commands:
            check_actuators(planned.source)
        if planned.na:
            commands = with_activations(planned.source, commands, act, self.tau.dtype)
        elif act is not None and np.size(act):
            raise InputError(f"act is given, but no actuator of '{planned.source.name}' has an activation")
        return commands, wrenches, self.passive, solver, self._at(self.timing_commanded, time)

    def _at(self, timing: Array, time: float) -> Array:
        """The timing on a clock that shows so many seconds."""
        if not (self.planned.timed and time):
            return timing
        on = timing.copy()
        on[FIRST] = time / self.planned.settings.dt
        return on

    def repeats(self, steps: int) -> Array:
        """The settings for so many steps.

        Args:
            steps: Number of steps.
        """
        return np.array([0.0, steps + 1.0], dtype=self.tau.dtype)
