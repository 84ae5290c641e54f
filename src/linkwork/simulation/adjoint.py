# SPDX-License-Identifier: BSD-3-Clause
"""Gradients through whole rollouts: steps forward, then the adjoint of each step backward in time.

With ``x = (q, v)``, steps ``x_(k+1) = s(x_k, u_k)`` and a function ``L`` of the states, ::

    y_n = dL/dx_n,      y_k = dL/dx_k + (ds/dx)' y_(k+1),      dL/du_k = (ds/du)' y_(k+1)

which is one `Stepper.vjp` a step, for a whole batch of robots at once. Configurations have tangent vectors as
derivatives, as everywhere.

**Memory.** States that are not recorded are computed again: of ``n`` steps, a state every ``sqrt(n)`` steps is kept (a
*checkpoint*), and on the way back the steps between two of them are made once more. So a gradient costs one rollout
more, and memory grows with the root of the number of steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.contact.step_products import ContactStepVjp
from linkwork.conversions import converted
from linkwork.errors import InputError
from linkwork.inputs import count, float_array
from linkwork.quantities.arguments import Array
from linkwork.simulation.step_result import StepResult
from linkwork.simulation.stepper import Stepper


@dataclass(frozen=True, eq=False)
class RolloutGradient:
    """The gradient of a function of recorded states by the inputs of the rollout."""

    q: Array
    """By the configuration at the start, in its tangent space, ``(..., nv)``."""
    v: Array
    """By the velocities at the start, ``(..., nv)``."""
    tau: Array
    """By the torques of each step, ``(steps, ..., nv)``."""
    commands: Array | None = None
    """By the commands of each step, ``(steps, ..., actuators)``; None where there were none."""
    wrenches: Array | None = None
    """By the external wrenches of each step, ``(steps, ..., frames, 6)``; None where no frames were named."""
    parameters: Mapping[str, Array] = field(default_factory=dict)
    """By parameters of the robot that are inputs of the stepper, by name, ``(..., rows)``."""


@dataclass(frozen=True, eq=False)
class _State:
    q: Array
    v: Array
    contacts: Array | None
    """Contact state, which the next step starts from."""


class Rollout:
    """Steps of a rollout that were made: recorded states, and the gradient of functions of them."""

    def __init__(self, adjoint: Adjoint, start: _State, inputs: _Inputs, record_every: int) -> None:
        self._adjoint, self._inputs, self._every = adjoint, inputs, record_every
        steps = inputs.steps
        self._segment = max(1, math.isqrt(max(steps - 1, 0)) + 1)
        self._checkpoints = [start]
        kept_q, kept_v = [start.q], [start.v]
        self.steps_recorded = [0]
        """The number of steps before each recorded state."""
        state = start
        for k in range(steps):
            if k and k % self._segment == 0:
                self._checkpoints.append(state)
            state = _after(adjoint.step(state, inputs, k), adjoint.stepper)
            if (k + 1) % record_every == 0 or k + 1 == steps:
                kept_q.append(state.q)
                kept_v.append(state.v)
                self.steps_recorded.append(k + 1)
        self.q = np.stack(kept_q)
        """Recorded configurations, ``(k, ..., nq)``, that at the start first."""
        self.v = np.stack(kept_v)
        """Recorded joint velocities, ``(k, ..., nv)``."""

    @property
    def time(self) -> Array:
        """Seconds of the recorded states."""
        return self._adjoint.stepper.dt * np.array(self.steps_recorded, dtype=np.float64)

    def gradient(self, y_q: npt.ArrayLike | None = None, y_v: npt.ArrayLike | None = None) -> RolloutGradient:
        """The gradient of a function of the recorded states, from its derivatives by these.

        Args:
            y_q: Derivatives by recorded configurations, each in the tangent space there, ``(k, ..., nv)``; or by the
                last alone, ``(..., nv)``. By default none.
            y_v: Gradient by recorded velocities.
        """
        seeds = [self._seeds(y, name) for y, name in ((y_q, "y_q"), (y_v, "y_v"))]
        at = {step: k for k, step in enumerate(self.steps_recorded)}
        inputs, steps, adjoint = self._inputs, self._inputs.steps, self._adjoint
        y = [seed[-1].copy() for seed in seeds]
        per_step: dict[str, list[Array]] = {name: [] for name in adjoint.inputs[2:]}
        for number in range(len(self._checkpoints) - 1, -1, -1):
            first = number * self._segment
            states, results = [self._checkpoints[number]], list[StepResult]()
            for k in range(first, min(first + self._segment, steps)):
                results.append(adjoint.step(states[-1], inputs, k))
                states.append(_after(results[-1], adjoint.stepper))
            for k in range(first + len(results) - 1, first - 1, -1):
                state = states[k - first]
                gradients = dict(
                    zip(adjoint.inputs, adjoint.backward(state, inputs, k, y, results[k - first]), strict=True)
                )
                for name, parts in per_step.items():
                    parts.append(gradients[name])
                y = [gradients["q"], gradients["v"]]
                if k in at:
                    y = [x + seed[at[k]] for x, seed in zip(y, seeds, strict=True)]
        return self._gathered(y, per_step)

    def _gathered(self, y: list[Array], per_step: Mapping[str, list[Array]]) -> RolloutGradient:
        stacked = {
            name: np.stack(parts[::-1])
            for name, parts in per_step.items()
            if parts and name in ("tau", "commands", "wrenches")
        }
        parameters = {
            name: np.sum(parts, axis=0)
            for name, parts in per_step.items()
            if name not in ("tau", "commands", "wrenches")
        }
        if self._inputs.commands is None:
            stacked.pop("commands", None)
        return RolloutGradient(y[0], y[1], **stacked, parameters=parameters)

    def _seeds(self, y: npt.ArrayLike | None, name: str) -> Array:
        shape = self.v.shape
        if y is None:
            return np.zeros(shape)
        seeds = np.asarray(y, dtype=np.float64)
        if seeds.shape == shape:
            return seeds
        if seeds.shape == shape[1:]:
            last = np.zeros(shape)
            last[-1] = seeds
            return last
        raise InputError(
            f"{name} has shape {seeds.shape}, needs {shape} of all recorded states or {shape[1:]} of the last"
        )

    def __repr__(self) -> str:
        return f"<Rollout of '{self._adjoint.stepper.source.name}': {self._inputs.steps} steps, {len(self.q)} recorded>"


@dataclass(frozen=True, eq=False)
class _Inputs:
    """Inputs over the steps."""

    steps: int
    tau: Array | None
    commands: Array | None
    wrenches: Array | None
    parameters: Mapping[str, Array]

    def of(self, k: int) -> dict[str, Any]:
        """Commands, wrenches and parameters of step ``k``."""
        inputs: dict[str, Any] = dict(self.parameters)
        if self.commands is not None:
            inputs["commands"] = self.commands[k]
        if self.wrenches is not None:
            inputs["wrenches"] = self.wrenches[k]
        return inputs


def _after(step: StepResult, stepper: Stepper) -> _State:
    return _State(step.q, step.v, step.contact_state if stepper.contact else None)


class Adjoint:
    """Rollouts that can be differentiated: ``Adjoint(stepper)(q, v, tau).gradient(y_q, y_v)``.

    Args:
        stepper: The stepper; contacts, loops and actuators included.
        smoothing: Of steps with contacts, in m/s: gradients are those of steps in which contacts are smoothed by about
            this velocity, where those of hard contacts vanish or are uninformative. By default they are those of the
            steps themselves.
    """

    @converted
    def __init__(self, stepper: Stepper, *, smoothing: float | None = None) -> None:
        if not isinstance(stepper, Stepper):
            raise InputError(
                f"Adjoint takes a Stepper; found {type(stepper).__name__}: Adjoint(lw.Stepper(robot, dt=1e-3))"
            )
        if smoothing is not None and not stepper.contact:
            raise InputError("smoothing is for steps with contacts, and this stepper has none")
        self.stepper, self.smoothing = stepper, smoothing
        self._vjp = stepper.vjp
        self.inputs = tuple(self._vjp.inputs)
        """Names of the inputs of gradients: q, v, tau, and where there are any, commands, wrenches, parameters."""

    def __call__(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike | None = None,
        tau: npt.ArrayLike | None = None,
        *,
        steps: int | None = None,
        commands: npt.ArrayLike | None = None,
        wrenches: npt.ArrayLike | None = None,
        record_every: int = 1,
        **parameters: npt.ArrayLike,
    ) -> Rollout:
        """Make the steps. Axes between the first and the last are those of a batch.

        Args:
            q: Configuration at the start, ``(..., nq)``.
            v: Joint velocities at the start, ``(..., nv)``; by default at rest.
            tau: Torques of each step, ``(steps, ..., nv)``; by default none.
            steps: Number of steps; by default as many as torques, commands or wrenches are given for.
            commands: Commands of the actuators in each step, ``(steps, ..., actuators)``.
            wrenches: External wrenches in each step, ``(steps, ..., frames, 6)``.
            record_every: Steps between two states that are recorded; the first and the last always are.
            parameters: Parameters of the robot that are inputs of the stepper, by name, ``(..., rows)``.
        """
        robot = self.stepper.source
        at = float_array(q, "q")
        rate = np.zeros((*at.shape[:-1], robot.nv)) if v is None else float_array(v, "v")
        if at.shape[-1:] != (robot.nq,) or rate.shape != (*at.shape[:-1], robot.nv):
            raise InputError(
                f"q and v have shapes {at.shape} and {rate.shape}, need (..., {robot.nq}) and (..., {robot.nv})"
            )
        optional = {"tau": tau, "commands": commands, "wrenches": wrenches}
        arrays = {name: None if x is None else float_array(x, name) for name, x in optional.items()}
        for name, x in arrays.items():
            if x is not None and x.ndim < 2:
                raise InputError(f"{name} has shape {x.shape}, needs (steps, ...): its first axis is that of steps")
        lengths = {name: len(x) for name, x in arrays.items() if x is not None}
        if steps is None and not lengths:
            raise InputError("pass the number of steps: steps=100, or torques of each step, tau (steps, ..., nv)")
        n = next(iter(lengths.values())) if steps is None else count(steps, "steps")
        for name, length in lengths.items():
            if length != n:
                raise InputError(f"{name} is for {length} steps, needs to be for {n}: its first axis is that of steps")
        held = {name: float_array(x, name) for name, x in parameters.items()}
        inputs = _Inputs(n, arrays["tau"], arrays["commands"], arrays["wrenches"], held)
        return Rollout(self, _State(at, rate, None), inputs, count(record_every, "record_every"))

    def step(self, state: _State, inputs: _Inputs, k: int) -> StepResult:
        """Step ``k``.

        Args:
            state: Before it.
            inputs: Commands, torques and wrenches.
            k: Its number.
        """
        tau = None if inputs.tau is None else inputs.tau[k]
        more: dict[str, Any] = {} if state.contacts is None else {"contact_state": state.contacts}
        return self.stepper(state.q, state.v, tau, **more, **inputs.of(k))

    def backward(self, state: _State, inputs: _Inputs, k: int, y: list[Array], step: StepResult) -> tuple[Array, ...]:
        """Derivatives by the state before step ``k``, and by its inputs.

        Args:
            state: Before it.
            inputs: Commands, torques and wrenches.
            k: Its number.
            y: Derivatives by configuration and velocities after it.
            step: Result of the step.
        """
        tau = np.zeros(self.stepper.source.nv) if inputs.tau is None else inputs.tau[k]
        gradients: tuple[Array, ...]
        if isinstance(self._vjp, ContactStepVjp):
            gradients = self._vjp(state.q, state.v, tau, *y, solution=step, smoothing=self.smoothing, **inputs.of(k))
        else:
            gradients = self._vjp(state.q, state.v, tau, *y, **inputs.of(k))
        return gradients
