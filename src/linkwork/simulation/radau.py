# SPDX-License-Identifier: BSD-3-Clause
"""Radau IIA of fifth order on Lie groups, with loops projected after every step: for stiff and constrained robots.

Hairer, Wanner, *Solving Ordinary Differential Equations II*, section IV.8; projection: Ascher, Petzold, *Projected
implicit Runge-Kutta methods for differential-algebraic equations*, 1991. Stages are those of Runge-Kutta steps
(`kernels.steps.runge_kutta_stages`), in the chart at the state before the step, and so are their exact derivatives::

    y = (x, v),   y' = f(y) = (X, A),   Z_s = y_s - y_0 = h Σ a_st f(y_0 + Z_t),   (h⁻¹ A⁻¹ ⊗ 1 - 1 ⊗ f') ΔZ = residual

| symbol | meaning                                                                                     |
|--------|---------------------------------------------------------------------------------------------|
| x      | where a stage is, in the chart at q: tangent vector ``(nv,)``                               |
| X, A   | rates of x and v at a stage: forward dynamics with springs, dampers, actuators, loops        |
| Z      | stages relative to the start, ``(3, 2 nv)``                                                 |
| F      | derivative of f at the start, ``(2 nv, 2 nv)``                                              |
| gamma  | the real eigenvalue of the scheme's matrix, for the estimate of the error                    |

The method is stiffly accurate, so that the last stage is the end of the step, and L-stable: stiff springs, dampers and
stabilized loops need no short steps. Cost of a step: one Jacobian, one factorization of ``(6 nv)³``, a few iterations.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.linalg import LinAlgError

from linkwork.errors import InputError, LinkworkError, NotFinite, UnsupportedFeature
from linkwork.kernels.steps.runge_kutta_stages import STEP_STAGES
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.quantities.products import Product
from linkwork.simulation.activations import refuse_activations
from linkwork.simulation.projection import LoopProjection
from linkwork.simulation.propagators import Attempt
from linkwork.simulation.settings import StepSettings
from linkwork.simulation.stage_derivatives import StepPart
from linkwork.simulation.state import State
from linkwork.simulation.stepper import Stepper
from linkwork.simulation.thresholds import RADAU_ITERATIONS, RADAU_TOLERANCE

_R = np.sqrt(6.0)
SCHEME = np.array(
    [
        [(88 - 7 * _R) / 360, (296 - 169 * _R) / 1800, (-2 + 3 * _R) / 225],
        [(296 + 169 * _R) / 1800, (88 + 7 * _R) / 360, (-2 - 3 * _R) / 225],
        [(16 - _R) / 36, (16 + _R) / 36, 1 / 9],
    ]
)
"""Weights ``a_st`` of the three stages; the last row is that of the end of the step."""
INVERSE = np.linalg.inv(SCHEME)
GAMMA = float(1 / np.linalg.eigvals(INVERSE).real.max())
ESTIMATE = GAMMA / 3 * np.array([-13 - 7 * _R, -13 + 7 * _R, -1.0])
"""Weights of the stages in the estimate of the error, of third order."""


def staged_settings(robot: Model, settings: StepSettings) -> StepSettings:
    """Settings of the stages of ``radau``: loops are not stabilized, since every step projects them.

    Args:
        robot: The mechanism.
        settings: Those of the steps.
    """
    if settings.method != "auto":
        raise InputError(f"method is '{settings.method}'; 'radau' needs method 'auto'")
    if settings.touching(robot):
        raise InputError(f"'{robot.name}' has contacts, which 'radau' does not support: use euler, or contact=False")
    return replace(settings, integrator="rk4", time_constant=None)


class RadauStep:
    """Steps of Radau IIA: a `OneStep`.

    Args:
        stepper: Has the forces of a stage; its integrator is ``rk4``.
        wrenches: External wrenches on the frames that it names.
        accuracy: By how much steps may be wrong: Newton's iterations end at a part of it.
    """

    def __init__(self, stepper: Stepper, wrenches: Array, accuracy: float) -> None:
        name = stepper.unparametrized_program.algorithm.name
        if name not in STEP_STAGES:
            raise UnsupportedFeature(
                f"a constraint or force of '{stepper.source.name}' depends on time, and steps by 'radau' have no "
                "clock: use rk4, dopri5 or euler"
            )
        refuse_activations(stepper.source, "steps by 'radau'")
        self.stepper, self.wrenches, self.tolerance = stepper, wrenches, RADAU_TOLERANCE * accuracy
        self._first, self._later, self._end = (StepPart(stepper, part) for part in STEP_STAGES[name][1:])
        self._known: tuple[Array, Array, Array, Array] | None = None

    @cached_property
    def _product(self) -> Product:
        return Product(self._later, "jvp", self._later.differentiated.inputs)

    @cached_property
    def _project(self) -> LoopProjection | None:
        robot = self.stepper.source
        return LoopProjection(robot) if any(c.enabled for c in robot.constraints) else None

    def __call__(self, state: State, h: float, time: float = 0.0) -> Attempt:
        """One step of the time ``h``; errors are NaN where Newton's iterations do not converge.

        Args:
            state: Before it.
            h: Time, in seconds.
            time: Seconds before it.
        """
        failed = Attempt(state, np.full((2, self.stepper.source.nv), np.nan))
        try:
            f, F = self._linearized(state)
            Z, solved = self._stages(state, h, F)
            if not solved:
                return failed
            n = len(f)
            estimate = GAMMA * h * f + ESTIMATE @ Z
            error = np.linalg.solve(np.eye(n) - GAMMA * h * F, estimate).reshape(2, -1)
            x, dv = Z[2].reshape(2, -1)
            q, v = self._end.values(state.q, state.v + dv, x)
            if self._project is not None:
                q, v = self._project(q, v, time + h)
        except (NotFinite, LinAlgError, LinkworkError):
            return failed
        return Attempt(state._replace(q=q, v=v), error)

    def _given(self, state: State) -> dict[str, Array]:
        inputs = {} if state.actuation.commands is None else {"commands": state.actuation.commands}
        return inputs | ({"wrenches": self.wrenches} if self.stepper.frames else {})

    def _linearized(self, state: State) -> tuple[Array, Array]:
        """``f`` and its derivative at the start of a step."""
        if self._known is None or self._known[0] is not state.q or self._known[1] is not state.v:
            nv = self.stepper.source.nv
            zero, along = np.zeros((2 * nv, nv)), np.eye(2 * nv)
            inputs = self._given(state)
            f = np.concatenate(self._first.values(state.q, state.v, state.actuation.tau, **inputs))
            at = (np.tile(x, (2 * nv, 1)) for x in (state.q, state.v))
            tau = np.tile(state.actuation.tau, (2 * nv, 1))
            many = {name: np.tile(x, (2 * nv, *(1,) * x.ndim)) for name, x in inputs.items()}
            slopes = {"dcommands": np.zeros_like(many["commands"])} if "commands" in many else {}
            columns = self._product(*at, zero, tau, zero, along[:, nv:], along[:, :nv], zero, **many, **slopes)
            self._known = (state.q, state.v, f, np.concatenate([np.asarray(x) for x in columns], axis=-1).T)
        return self._known[2], self._known[3]

    def _stages(self, state: State, h: float, F: Array) -> tuple[Array, bool]:
        """``Z`` by simplified Newton's iterations, and whether they converged."""
        n, nv = len(F), len(F) // 2
        matrix = np.linalg.inv(np.kron(INVERSE / h, np.eye(n)) - np.kron(np.eye(3), F))
        q, tau = np.tile(state.q, (3, 1)), np.tile(state.actuation.tau, (3, 1))
        inputs = {name: np.tile(x, (3, *(1,) * x.ndim)) for name, x in self._given(state).items()}
        scale = np.concatenate([np.ones(nv), 1.0 + np.abs(state.v)])
        Z, before = np.zeros((3, n)), np.inf
        for _ in range(RADAU_ITERATIONS):
            rates = np.concatenate(self._later.values(q, state.v + Z[:, nv:], Z[:, :nv], tau, **inputs), axis=-1)
            change = (matrix @ (rates - INVERSE @ Z / h).ravel()).reshape(3, n)
            Z = Z + change
            size = float(np.abs(change / scale).max())
            if not np.isfinite(size) or size > 2 * before:
                return Z, False
            if size <= self.tolerance or size <= 16 * np.finfo(float).eps:
                return Z, True
            before = size
        return Z, False
