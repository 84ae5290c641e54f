# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of Runge-Kutta steps by chaining those of their stages: programs of one stage, whatever the scheme.

The program of a whole step grows with its stages. Rates of a step along directions are the scheme itself, applied to
rates of its stages::

    dx_s = h Σ a_st dX_t,    dv_s = dv + h Σ a_st dA_t,    (dX_s, dA_s) = d stage(q, v_s, x_s, tau, u)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.compilers.program import Program
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.steps.runge_kutta_stages import STEP_STAGES
from linkwork.quantities.arguments import Array
from linkwork.quantities.base import NOTHING, BaseEvaluator
from linkwork.quantities.differentiable import Differentiated
from linkwork.quantities.products import Product

if TYPE_CHECKING:
    from linkwork.simulation.stepper import Stepper


class StepPart(BaseEvaluator):
    """A stage of a step, or its end, as a function of arrays.

    Args:
        stepper: Says how steps are made.
        algorithm: The part.
    """

    def __init__(self, stepper: Stepper, algorithm: Algorithm) -> None:
        self.stepper, self._algorithm = stepper, algorithm

        def program() -> Program:
            return replace(stepper.unparametrized_program, algorithm=algorithm)

        arguments = {"stepper": stepper, "algorithm": algorithm}
        super().__init__(
            stepper.robot,
            algorithm.name,
            program,
            arguments,
            stepper.frames,
            parameters=stepper.parameter_inputs if "tau" in algorithm.inputs else (),
            backend=stepper.execution.backend,
        )

    @property
    def differentiated(self) -> Differentiated:
        """State and torques; commands where there are actuators, wrenches where frames were named, parameters."""
        inputs = tuple(name for name in ("q", "v", "x", "tau") if name in self._algorithm.inputs)
        if "tau" not in inputs:
            return Differentiated(inputs, (), {"q1": ("q1", slice(None)), "v1": ("v1", slice(None))}, ("q",), ("q1",))
        optional = ("commands",) * self.stepper.takes_commands
        return Differentiated(inputs, optional, {"X": ("X", slice(None)), "A": ("A", slice(None))})

    def input_arrays(
        self,
        given: Sequence[Any],
        named: Mapping[str, Any] = NOTHING,
        parameters: Mapping[str, Any] = NOTHING,
        *,
        once: bool = False,
    ) -> list[Any]:
        """All inputs of the program; steppers hold the others.

        Args:
            given: State and torques.
            named: Commands, wrenches and parameters, by name.
            parameters: Parameters of the robot that are inputs, by name.
            once: Whether parameters are given once for many calls, and checked thoroughly.
        """
        if "tau" not in self._algorithm.inputs:
            return list(given)
        held, known = self.stepper.held(named.get("commands"), named.get("wrenches")), self.parameter_inputs
        values = {name: x for name, x in {**named, **parameters}.items() if name in known.names}
        return known.among(self.program, [*given, *held], known.given(known.held(self.dtype), values, once=once))

    def values(self, *state: Any, **optional: Any) -> list[Array]:
        """The two results."""
        inputs = self.input_arrays(state, optional)
        return list(self.runner.evaluate(inputs, [None] * len(self.runner.outputs))[:2])


class StageDerivatives:
    """Rates of a Runge-Kutta step along directions, stage by stage.

    Args:
        stepper: Says how steps are made.
    """

    def __init__(self, stepper: Stepper) -> None:
        self.stepper = stepper
        scheme, *parts = STEP_STAGES[stepper.unparametrized_program.algorithm.name]
        self._scheme = scheme
        self._parts = [StepPart(stepper, part) for part in parts]
        self._products = [Product(part, "jvp", part.differentiated.inputs) for part in self._parts]

    @staticmethod
    def serves(stepper: Stepper) -> bool:
        """Whether steps have stages."""
        return stepper.unparametrized_program.algorithm.name in STEP_STAGES

    def rates(
        self, state: Sequence[Array], directions: Sequence[Array], further: Mapping[str, Any]
    ) -> tuple[Array, Array]:
        """Rates of the state after the step.

        Args:
            state: ``q``, ``v`` and ``tau``, with an axis for directions.
            directions: Of these.
            further: Commands and their directions, wrenches, parameters, by name.
        """
        (q, v, tau), (dq, dv, dtau) = state, directions
        h, directions_of_step = self.stepper.dt, {name: x for name, x in further.items() if name != "dcommands"}
        values: list[list[Array]] = []
        rates: list[list[Array]] = []
        used = 1 + max(s for s, weight in enumerate(self._scheme.b) if weight)

        def combined(weights: Sequence[float]) -> tuple[Any, Any, Any, Any]:
            """``x, v_s, dx, dv_s`` from stages before."""
            x, y, dx, dy = (
                h * sum(weight * stage[k] for weight, stage in zip(weights, stages, strict=False) if weight)
                for stages in (values, rates)
                for k in range(2)
            )
            return x, v + y, dx, dv + dy

        for s in range(used):
            at: tuple[Array, ...] = (q, v, tau)
            along: tuple[Array, ...] = (dq, dv, dtau)
            if s > 0:
                x, vs, dx, dvs = combined(self._scheme.a[s])
                at, along = (q, vs, x, tau), (dq, dvs, dx, dtau)
            part = min(s, 1)
            values.append(self._parts[part].values(*at, **directions_of_step))
            rates.append(list(self._products[part](*at, *along, **further)))
        x, vs, dx, dvs = combined(self._scheme.b)
        dq1, dv1 = self._products[2](q, vs, x, dq, dvs, dx)
        return np.asarray(dq1), np.asarray(dv1)
