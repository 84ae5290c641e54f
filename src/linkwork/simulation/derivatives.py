# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of a step in time: products with its Jacobian, and the Jacobian itself, in tangent spaces.

| symbol  | meaning                                                                                     |
|---------|---------------------------------------------------------------------------------------------|
| q, v    | state before the step; directions of ``q`` are tangent vectors there, as velocities are      |
| q1, v1  | state after it; rates of ``q1`` are tangent vectors at ``q1``                                |

A step is a straight line (`kernels.steps.single`), whatever the integrator: sweeps over its trace are its exact
derivatives, stages, springs, stops, actuators, stabilization and corrections of loops included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt

from linkwork.compilers.program import Backend, Program
from linkwork.errors import InputError
from linkwork.inputs import Integrator, Lanes, Precision
from linkwork.kernels.steps import STEPS, single
from linkwork.quantities.base import Array, ArrayEvaluator, BaseEvaluator, OperationCount
from linkwork.quantities.differentiable import Differentiated
from linkwork.quantities.products import JacobianVectorProduct, VectorJacobianProduct

if TYPE_CHECKING:
    from linkwork.simulation.stepper import Stepper

P = TypeVar("P")

RESULTS = {"q1": ("q1", slice(None)), "v1": ("v1", slice(None))}
"""What is differentiated: the state after the step."""


class StepFunction(ArrayEvaluator):
    """One step as a function of arrays: what products are made of.

    Args:
        stepper: Says how steps are made.
    """

    def __init__(self, stepper: Stepper) -> None:
        self.stepper = stepper
        super().__init__(
            stepper.robot,
            stepper.quantity,
            lambda: stepper.single_step_program,
            {"stepper": stepper},
            stepper.frames,
            stepper._backend.threads,
        )
        self._set_backend(stepper._backend)

    @property
    def differentiated(self) -> Differentiated:
        """State and torques; commands where there are actuators, wrenches where frames were named."""
        optional = ("commands",) * self.stepper.takes_commands + ("wrenches",) * bool(self.frames)
        return Differentiated(("q", "v", "tau"), optional, RESULTS, ("q",), ("q1",))

    def _make(self, kind: type[P]) -> P:
        return kind(self, self.differentiated.inputs)  # type: ignore[call-arg]

    def _prepare_inputs(self) -> None:
        """Steppers make what they hold themselves."""

    def _inputs(self, given: Sequence[npt.ArrayLike | None]) -> list[npt.ArrayLike]:
        return self._inputs_with(given, {})

    def _inputs_with(self, state: Sequence[Any], optional: dict[str, Any]) -> list[Any]:
        if len(state) != 3:
            raise InputError(f"a step takes q, v, tau; {len(state)} arguments were given")
        q, v, tau = state
        stepper = self.stepper if self.stepper.dtype == self._dtype else self._stepper_of_type()
        held = stepper.held(optional.get("commands"), optional.get("wrenches"))
        return [q, v, np.zeros(self.robot.nv, self._dtype) if tau is None else tau, *held]

    def _stepper_of_type(self) -> Stepper:
        return self.stepper.native(self._dtype.name)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class StepDerivatives:
    """Derivatives of the state after a step, in tangent spaces. Leading axes are those of the batch."""

    q1: Array
    """Configuration after the step, ``(..., nq)``."""
    v1: Array
    """Joint velocities after it, ``(..., nv)``."""
    dq1_dq: Array
    """``(..., nv, nv)``, as all of the following: what a change of ``q`` in its tangent space changes ``q1`` by."""
    dq1_dv: Array
    dq1_dtau: Array
    dv1_dq: Array
    dv1_dv: Array
    dv1_dtau: Array
    dq1_dcommands: Array | None = None
    """``(..., nv, actuators)``; None where there are no actuators."""
    dv1_dcommands: Array | None = None

    @property
    def A(self) -> Array:
        """Of the state after the step by that before it, ``(..., 2 nv, 2 nv)``: ``dx1 = A dx + B dtau``."""
        return np.concatenate(
            [
                np.concatenate([self.dq1_dq, self.dq1_dv], axis=-1),
                np.concatenate([self.dv1_dq, self.dv1_dv], axis=-1),
            ],
            axis=-2,
        )

    @property
    def B(self) -> Array:
        """Of the state after the step by joint torques, ``(..., 2 nv, nv)``."""
        return np.concatenate([self.dq1_dtau, self.dv1_dtau], axis=-2)

    @property
    def B_commands(self) -> Array:
        """Of the state after the step by commands of the actuators, ``(..., 2 nv, actuators)``."""
        if self.dq1_dcommands is None or self.dv1_dcommands is None:
            raise InputError("the robot has no actuators whose commands to differentiate by")
        return np.concatenate([self.dq1_dcommands, self.dv1_dcommands], axis=-2)


class StepJacobian(BaseEvaluator):
    """The derivatives of a step: ``stepper.derivatives(q, v, tau).A``.

    Columns are products with unit directions, found together as a batch of the program of `jvp`: they cost as much as
    some 2.5 steps for each degree of freedom, velocity and torque, in SIMD lanes.

    Args:
        function: The step.
    """

    def __init__(self, function: StepFunction) -> None:
        self.function = function
        product = JacobianVectorProduct(function, function.differentiated.inputs)
        super().__init__(
            function.robot,
            f"derivatives of {function.quantity}",
            lambda: product.program,
            {"function": function},
            function.frames,
            function._backend.threads,
        )
        self._set_backend(product._backend)
        self._jvp = product

    def _set_backend(self, backend: Backend) -> None:
        super()._set_backend(backend)
        if hasattr(self, "_jvp"):
            self._jvp = self._jvp._on(backend)

    def native(self, dtype: Precision = "float64", lanes: Lanes = "auto", threads: int | None = None) -> Self:
        """The same as `compile`: sweeps leave straight-line code alone.

        Args:
            dtype: Numbers to compute with.
            lanes: States that share one SIMD register in batches; ``"auto"``: as many as fit this machine.
            threads: Threads that share a large batch; by default as many as this evaluator has.
        """
        return self.compile(lanes, dtype, threads)

    def operation_count(self) -> OperationCount:
        """Of one column, of which there are as many as inputs have numbers."""
        return self._jvp.operation_count()

    def __call__(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike | None = None,
        *,
        commands: npt.ArrayLike | None = None,
        wrenches: npt.ArrayLike | None = None,
    ) -> StepDerivatives:
        """Derivatives of the state after one step. Leading axes are batch axes and broadcast.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            tau: Joint torques, ``(..., nv)``; by default none.
            commands: Commands of the actuators, ``(..., actuators)``, as for the stepper.
            wrenches: External wrenches, ``(..., frames, 6)``, as for the stepper.
        """
        function, nv = self.function, self.robot.nv
        after = function.stepper(q, v, tau, commands=commands, wrenches=wrenches)
        blocks = ["q", "v", "tau", *(["commands"] if commands is not None else [])]
        given = {
            "q": _one_more(q, 1),
            "v": _one_more(v, 1),
            "tau": _one_more(np.zeros(nv) if tau is None else tau, 1),
        }
        sizes = [nv, nv, nv, np.shape(commands)[-1] if commands is not None else 0]
        units = np.eye(sum(sizes))
        parts = np.split(units, np.cumsum(sizes)[:-1], axis=-1)
        further = {} if commands is None else {"commands": _one_more(commands, 1), "dcommands": parts[3]}
        if wrenches is not None:
            further["wrenches"] = _one_more(wrenches, 2)
        rates = self._jvp(given["q"], given["v"], given["tau"], *parts[:3], **further)
        edges = np.cumsum(sizes)[: len(blocks) - 1]
        found: dict[str, Array] = {}
        for name, columns in zip(("q1", "v1"), rates, strict=True):
            for block, part in zip(blocks, np.split(np.swapaxes(columns, -1, -2), edges, axis=-1), strict=True):
                found[f"d{name}_d{block}"] = part
        return StepDerivatives(after.q, after.v, **found)


class DifferentiableSteps:
    """What steps have for their derivatives."""

    integrator: Integrator
    _products: dict[str, Any]
    """What was made for derivatives, by name; none on another backend."""

    @property
    def program(self) -> Program:
        """The kernel text and the plan of a robot."""
        raise NotImplementedError

    @property
    def single_step_program(self) -> Program:
        """One step as a straight line, without the loop that repeats it: what derivatives are taken of.

        With constraint forces in three iterations: those of one have eight digits, and derivatives fewer.
        """
        program, algorithm = self.program, self.program.algorithm
        if self.integrator == "dopri5":
            return program
        if "lcaba1" in algorithm.name:
            algorithm = STEPS[self.integrator, algorithm.name.removeprefix("euler_").replace("lcaba1", "lcaba3")]
        return replace(program, algorithm=single(algorithm))

    @property
    def _function(self) -> StepFunction:
        made: StepFunction | None = self._products.get("function")
        if made is None:
            made = self._products["function"] = StepFunction(cast("Stepper", self))
        return made

    @property
    def jvp(self) -> JacobianVectorProduct:
        """Products with the Jacobian of a step: ``stepper.jvp(q, v, tau, dq, dv, dtau)`` gives ``(dq1, dv1)``."""
        return self._function.jvp

    @property
    def vjp(self) -> VectorJacobianProduct:
        """Products with its transpose: ``stepper.vjp(q, v, tau, y_q1, y_v1)`` gives ``(dq, dv, dtau)``, and more where
        there are actuators or frames with wrenches (`VectorJacobianProduct.inputs`)."""
        return self._function.vjp

    @property
    def derivatives(self) -> StepJacobian:
        """The Jacobian of a step: ``stepper.derivatives(q, v, tau)`` gives `StepDerivatives`."""
        made: StepJacobian | None = self._products.get("jacobian")
        if made is None:
            made = self._products["jacobian"] = StepJacobian(self._function)
        return made


def _one_more(x: npt.ArrayLike, inner: int) -> Array:
    """An array with one batch axis more, for directions."""
    array = np.asarray(x)
    return np.expand_dims(array, array.ndim - inner)
