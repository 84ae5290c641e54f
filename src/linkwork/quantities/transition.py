# SPDX-License-Identifier: BSD-3-Clause
"""Evaluators of steps on the way to `BaseEvaluator`: names that they still use. To be removed with the last of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, cast

import numpy as np

from linkwork.compilers.program import Backend, Program
from linkwork.compilers.run import Runner
from linkwork.errors import InputError
from linkwork.inputs import were_given
from linkwork.quantities.arguments import Array
from linkwork.quantities.base import NOTHING, BaseEvaluator
from linkwork.quantities.execution import start
from linkwork.quantities.parameters import ParameterInputs
from linkwork.quantities.products import differentiable


class SteppingEvaluator(BaseEvaluator):
    """An evaluator that sets up a backend by `_set_backend`, and arranges inputs by `_inputs`."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._set_backend(self.execution.backend)

    def on(self, backend: Backend, program: Program | None = None) -> Self:
        """The same on another backend.

        Args:
            backend: How the program is run.
            program: Another program.
        """
        other = super().on(backend, program)
        other._set_backend(other.execution.backend)
        return other

    def holding(self, arrays: Mapping[str, Array]) -> Self:
        """The same machine code with other arrays in the place of inputs that calls leave out.

        Args:
            arrays: By the names of inputs.
        """
        other = super().holding(arrays)
        other._prepare_inputs()
        return other

    def _set_backend(self, backend: Backend) -> None:
        if backend is not self.execution.backend:
            start(self, backend, self.execution.record)

    def runner_on(self, backend: Backend) -> Runner:
        """What runs the program on a backend.

        Args:
            backend: How the program is run.
        """
        self._prepare_inputs()
        return self._new_runner()

    def _new_runner(self) -> Runner:
        return super().runner_on(self.execution.backend)

    def _prepare_inputs(self) -> None:
        """Make the inputs that the evaluator itself holds."""

    def _inputs(self, given: Sequence[Any]) -> list[Any]:
        names = [name for name in self.program.algorithm.inputs if name not in self.parameter_inputs.names]
        inputs = list(given)
        if names[-1] == "wrenches":
            if len(inputs) == len(names) - 1:
                inputs.append(self._no_wrenches)
            elif len(inputs) == len(names) and inputs[-1] is None:
                inputs[-1] = self._no_wrenches
        if len(inputs) != len(names):
            raise InputError(f"{self.quantity} takes {', '.join(names)}; {were_given(len(inputs))}")
        return inputs

    def _all_inputs(self, inputs: Sequence[Any], parameters: Sequence[Any] = ()) -> list[Any]:
        own = self._own_parameters
        if not own:
            return list(inputs)
        at = self.parameter_inputs.start(self.program)
        return [*inputs[:at], *(parameters or own), *inputs[at:]]

    def _inputs_with(self, state: Sequence[Any], optional: dict[str, Any]) -> list[Any]:
        inputs = self._all_inputs(self._inputs(state))
        names = list(self.program.algorithm.inputs)
        for name, x in optional.items():
            inputs[names.index(name)] = x
        return inputs

    def input_arrays(
        self,
        given: Sequence[Any],
        named: Mapping[str, Any] = NOTHING,
        parameters: Mapping[str, Any] = NOTHING,
        *,
        once: bool = False,
    ) -> list[Any]:
        """All inputs of the program; see `BaseEvaluator.input_arrays`.

        Args:
            given: Inputs in their order.
            named: Further inputs, by name.
            parameters: Parameters of the robot that are inputs, by name.
            once: Whether parameters are given once for many calls.
        """
        if named or not parameters:
            return self._inputs_with(given, {**named, **parameters})
        return self._all_inputs(self._inputs(given), self._given_parameters(parameters, once=once))

    def _given_parameters(self, parameters: Mapping[str, Any], *, once: bool = False) -> tuple[Any, ...]:
        own = self._own_parameters
        return self.parameter_inputs.given(own, parameters, once=once) if parameters else own

    def recipe(self) -> dict[str, Any]:
        """Keyword arguments that make an equal evaluator."""
        return self._recipe()

    def _recipe(self) -> dict[str, Any]:
        return super().recipe()

    def _on(self, backend: Backend) -> Self:
        return self.on(backend)

    def _for_type_of(self, inputs: Sequence[Any]) -> Self:
        return self.for_type_of(inputs)

    def _outputs(self, out: Any) -> list[Any]:
        return self.output_arrays(out)

    @property
    def _backend(self) -> Backend:
        return self.execution.backend

    @property
    def _dtype(self) -> np.dtype[Any]:
        return self.execution.dtype

    @property
    def _entry(self) -> Callable[..., int]:
        return self.execution.entry

    @property
    def _output_shapes(self) -> Sequence[tuple[int, ...]]:
        return self.runner.outputs

    @property
    def _no_wrenches(self) -> Array:
        return self.execution.held["wrenches"]

    @property
    def _own_parameters(self) -> tuple[Array, ...]:
        return tuple(self.execution.held[name] for name in self.parameter_inputs.names)

    @property
    def _parameter_inputs(self) -> ParameterInputs:
        return self.parameter_inputs

    @property
    def _make_program(self) -> Callable[[], Program]:
        return lambda: self.unparametrized_program

    @property
    def _products(self) -> dict[str, Any]:
        return cast(dict[str, Any], self.kept)

    @property
    def _sees_results(self) -> bool:
        return self.sees_results


@differentiable
class ArrayEvaluator(SteppingEvaluator):
    """The same with products."""
