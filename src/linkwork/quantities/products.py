# SPDX-License-Identifier: BSD-3-Clause
"""Products with the Jacobian of an evaluator: evaluators that are called with a state, and tangents or cotangents.

| property        | called with                      | result                                                      |
|-----------------|----------------------------------|-------------------------------------------------------------|
| `evaluator.jvp` | inputs, tangents                 | ``J d``: a rate of each result                              |
| `evaluator.vjp` | inputs, cotangents               | ``y' J``: a tuple, one array for each input                 |
| `evaluator.hvp` | inputs, cotangents, tangents     | the derivative of ``y' J`` along the tangent, a tuple        |

A product holds a pipeline: of one straight-line program, made by a sweep over the trace of the evaluator's own
(`compilers.differentiation`) at the first call and kept on disk; or of several, where the evaluator solves equations
(`Computation`). Derivatives by ``q`` are in the tangent space at ``q``: as many numbers as ``v`` has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from linkwork.compilers.pipeline import Call, Pipeline
from linkwork.compilers.program import Backend, Program
from linkwork.compilers.run import check_out
from linkwork.compilers.trace.derived_programs import derived
from linkwork.errors import InputError, ProgramTooLarge, UnsupportedFeature
from linkwork.inputs import real_array
from linkwork.kernels.algorithm import resolve
from linkwork.quantities.arguments import Array, bound_call
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.computation import Computation
from linkwork.quantities.counts import OperationCount
from linkwork.quantities.jacobian_products import SHORT, Rates, jacobian_blocks, multiplied
from linkwork.quantities.product_arguments import further_inputs

Kind = Literal["jvp", "vjp", "hvp"]
Shapes = dict[str, tuple[int, ...]]


class Product(BaseEvaluator):
    """A product with the Jacobian of an evaluator: ``fd.jvp(q, v, tau, dq, dv, dtau)``, ``fd.vjp(q, v, tau, y)``.

    Args:
        evaluator: The evaluator.
        kind: ``"jvp"``: rates of results along tangents of inputs. ``"vjp"``: cotangents of results times the Jacobian,
            by each input. ``"hvp"``: the rate of ``"vjp"`` along tangents, cotangents held.
        by: Names of the inputs to differentiate by; by default all that a call must have, and wrenches where frames
            were named, and parameters that are inputs.
    """

    def __init__(self, evaluator: BaseEvaluator, kind: Kind, by: Sequence[str] | None = None) -> None:
        self.evaluator, self.kind = evaluator, kind
        self.known = known = evaluator.differentiated
        """Inputs and outputs of the derivative."""
        if by is None:
            optional = ("wrenches", *evaluator.parameters)
            by = [*known.given, *(name for name in known.optional if name in optional)]
        for name in by:
            if name not in known.inputs:
                raise InputError(
                    f"{evaluator.quantity} of '{evaluator.robot.name}' has no derivative by '{name}'; there are those "
                    f"by {', '.join(known.inputs)}"
                )
        arguments = {"evaluator": evaluator, "kind": kind, "by": tuple(dict.fromkeys(by))}
        quantity, backend = f"{kind} of {evaluator.quantity}", evaluator.execution.backend
        super().__init__(evaluator.robot, quantity, self._derived, arguments, backend=backend)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs to differentiate by."""
        inputs: tuple[str, ...] = self._arguments["by"]
        return inputs

    @property
    def seeded(self) -> bool:
        """Whether a call takes cotangents of results."""
        return self.kind != "jvp"

    @property
    def directed(self) -> bool:
        """Whether a call takes tangents of inputs."""
        return self.kind != "vjp"

    def _adapted(self, backend: Backend) -> Backend:
        return backend.straight_line

    def _check_backend(self, backend: Backend) -> None:
        if backend.name == "cuda" and self.computation is not None:
            raise UnsupportedFeature(
                f"{self.quantity} of '{self.robot.name}' is several programs and a linear system between them: on a "
                "GPU use lw.torch.function, lw.jax.function, or method 'cluster'"
            )

    @property
    def computation(self) -> Computation | None:
        """The computation where it takes several programs; None where it is one."""
        return self.keep("computation", partial(self.evaluator.computation_of, self))

    @property
    def _excess(self) -> ProgramTooLarge | None:
        """Why there is no program, where one was tried."""
        excess: ProgramTooLarge | None = self.kept.get("excess")
        return excess

    def by(self, *inputs: str) -> Self:
        """A copy that differentiates by these inputs alone.

        Args:
            inputs: Names of inputs.
        """
        return type(self)(self.evaluator, self.kind, inputs).on(self.execution.backend)

    # The program -----------------------------------------------------------------------------------------------

    def pipeline(self, seeded: Sequence[str] | None = None) -> Pipeline:
        """The programs of this product; outputs are ``<kind>.<name>``.

        Args:
            seeded: Results that have cotangents; by default all.
        """
        if self.computation is not None:
            return self.computation.pipeline(tuple(self.known.results) if seeded is None else seeded)
        outputs = tuple(f"{self.kind}.{name}" for name in self.program.algorithm.outputs)
        return Pipeline((Call(self.program, outputs),), outputs)

    def _derived(self) -> Program:
        if self.computation is not None:
            return self.computation.program()
        source = self.evaluator.differentiated_program
        if source.derivation is None and source.algorithm.iterate is not None:
            raise UnsupportedFeature(
                f"{self.evaluator.quantity} of '{self.robot.name}' iterates ({source.algorithm.name}): its products "
                "are not those of a fixed number of iterations"
            )
        shapes = {name: resolve(shape, source.tree) for name, shape in source.algorithm.inputs.items()}
        return derived(
            source,
            f"{source.algorithm.name}_{self.kind}",
            {**shapes, **self.further_shapes},
            self.result_shapes,
            lambda limit: self.evaluator.product_trace(self.kind, self.inputs, limit),
            key=f"{self.kind} of {', '.join(self.known.results)} by {', '.join(self.inputs)}",
        )

    @property
    def tangent_shapes(self) -> Shapes:
        """Shapes of derivatives by inputs: that of ``v`` for a configuration."""
        source = self.evaluator.differentiated_program
        tree, shapes = source.tree, source.algorithm.inputs
        return {
            name: (int(tree.nv),) if name in self.known.curved else resolve(shapes[name], tree) for name in self.inputs
        }

    @property
    def part_shapes(self) -> Shapes:
        """Shapes of derivatives of results."""
        source, shapes = self.evaluator.differentiated_program, {}
        for name, (output, at) in self.known.results.items():
            shape = resolve(source.algorithm.outputs[output], source.tree)
            if output in self.known.curved_results:
                shape = (int(source.tree.nv),)
            shapes[name] = shape if at == slice(None) else (len(range(*at.indices(shape[0]))), *shape[1:])
        return shapes

    @property
    def further_shapes(self) -> Shapes:
        """Shapes of cotangents and tangents, which follow the inputs of the evaluator."""
        cotangents = {f"y_{name}": shape for name, shape in self.part_shapes.items()} if self.seeded else {}
        tangents = {f"d{name}": shape for name, shape in self.tangent_shapes.items()} if self.directed else {}
        return cotangents | tangents

    @property
    def result_names(self) -> tuple[str, ...]:
        """Names of results: of the evaluator's results, or of its inputs."""
        return tuple(self.known.results) if self.kind == "jvp" else self.inputs

    @property
    def result_shapes(self) -> Shapes:
        """Shapes of results."""
        return self.part_shapes if self.kind == "jvp" else self.tangent_shapes

    # Arguments -------------------------------------------------------------------------------------------------

    @property
    def holder(self) -> Any:
        """The evaluator in the type of this product: it holds inputs that calls may leave out."""
        return self.keep("holder", self._of_type)

    def _of_type(self) -> BaseEvaluator:
        same = self.evaluator.dtype == self.dtype and self.evaluator.backend != "cuda"
        return self.evaluator if same else self.evaluator.native(self.dtype.name)  # type: ignore[arg-type]

    @property
    def zeros(self) -> Mapping[str, Array]:
        """Cotangents and tangents that calls leave out, by name."""
        return self.keep("zeros", self._make_zeros)

    def _make_zeros(self) -> dict[str, Array]:
        return {name: np.zeros(shape, self.dtype) for name, shape in self.further_shapes.items()}

    def held_inputs(self, dtype: np.dtype[Any]) -> dict[str, Array]:
        """Inputs that calls may leave out: those of the evaluator, cotangents and tangents.

        Args:
            dtype: Type of the numbers.
        """
        return {**self.holder.execution.held, **self.zeros}

    def arranged(self, arrays: Sequence[Any], given: Mapping[str, Any]) -> dict[str, Any]:
        """All inputs by name: those of the evaluator, then cotangents and tangents.

        Args:
            arrays: As for a call.
            given: As for a call.
        """
        holder, known = self.holder, self.known
        further = self.further(arrays, given)
        optional = {name: given[name] for name in known.optional if given.get(name) is not None}
        state = holder.input_arrays(arrays[: len(known.given)], optional)
        return {**dict(zip(holder.program.algorithm.inputs, state, strict=True)), **further}

    def further(self, arrays: Sequence[Any], given: Mapping[str, Any]) -> dict[str, Any]:
        """Cotangents and tangents of a call by name; `zeros` for those that are left out.

        Args:
            arrays: As for a call.
            given: As for a call.
        """
        return further_inputs(self, arrays, given)

    def checked(self, name: str, x: Any) -> Array:
        """A cotangent or tangent as an array of finite numbers.

        Args:
            name: Of the input.
            x: The input.
        """
        array = self.shaped(name, x)
        if not np.isfinite(array).all():
            raise InputError(f"{name} holds NaN or infinity")
        return array

    def shaped(self, name: str, x: Any) -> Array:
        """A cotangent or tangent as an array.

        Args:
            name: Of the input.
            x: The input.
        """
        array, shape = np.asarray(real_array(x, name), self.dtype), self.zeros[name].shape
        if array.shape[max(0, array.ndim - len(shape)) :] != shape:
            needs = ", ".join(map(str, shape))
            raise InputError(f"{name} has shape {array.shape}, robot '{self.robot.name}' needs (..., {needs})")
        return array

    def outputs_of(self, out: Any) -> list[Any]:
        """Arrays to write results to, as many as there are; None for those that are to be made.

        Args:
            out: As given to a call.
        """
        names = self.result_names
        if out is None:
            return [None] * len(names)
        outputs = list(out) if isinstance(out, tuple | list) else [out]
        if len(outputs) != len(names):
            count = len(outputs)
            raise InputError(f"{self.quantity} writes {', '.join(names)}: out needs as many arrays; found {count}")
        return outputs

    # Calls -----------------------------------------------------------------------------------------------------

    def __call__(
        self, *arrays: npt.ArrayLike, out: Any = None, solution: Any = None, **given: npt.ArrayLike | None
    ) -> Any:
        """Evaluate. Leading axes of all arguments are batch axes and broadcast.

        Args:
            arrays: Inputs of the evaluator, then cotangents of results, then tangents of inputs, as the kind needs.
            out: Array to write the result to, or a tuple of as many as there are results; by default new ones.
            solution: Where the evaluator solves equations, its result for these inputs, if known.
            given: By name: inputs that need not be given (``wrenches``, ``target``), cotangents of further results,
                and tangents of such inputs (``dwrenches``, ``dtarget``).
        """
        inputs = self._positional(arrays) if out is None and not given and solution is None else None
        if inputs is not None:
            results = self.execution.results(*inputs)
            if results is None and self.for_type_of(arrays) is self:
                results = tuple(self.runner.evaluate(inputs, self.outputs_of(None)))
            if results is not None:
                return self.packed(results if type(results) is tuple else (results,))
        computation = self.computation
        if computation is not None:
            if not self.sees_results:
                self._check_backend(self.execution.backend)
            if computation.takes_jacobians(arrays, given, () if out is None else self.outputs_of(out)):
                return self.packed(self._written(self.by_jacobians(arrays, given, first=True), out))
        if self.too_large() is not None:
            return self.packed(self._written(self.by_jacobians(arrays, given), out))
        typed = self.for_type_of([*arrays, *given.values(), *(() if out is None else self.outputs_of(out))])
        if typed is not self:
            return typed(*arrays, out=out, solution=solution, **given)
        if computation is not None:
            return self.packed(self._written(computation.results(arrays, given, solution), out))
        inputs = list(self.arranged(arrays, given).values())
        if out is None:
            results = self.execution.results(*inputs)
            if results is not None:
                return self.packed(results if type(results) is tuple else (results,))
        return self.packed(self.runner.evaluate(inputs, self.outputs_of(out)))

    def _positional(self, arrays: Sequence[Any]) -> list[Any] | None:
        """All inputs, where the product is one program that ran before and all of these arrays are given."""
        if self.computation is not None or not self.execution.has_runner:
            return None
        key = "positional", len(arrays)
        if key not in self.kept:
            markers = [object() for _ in arrays]
            inputs = list(self.arranged(markers, {}).values())
            self.kept[key] = inputs, [next(k for k, x in enumerate(inputs) if x is one) for one in markers]
        held, places = self.kept[key]
        inputs = list(held)
        for k, x in zip(places, arrays, strict=True):
            if x is None:
                return None
            inputs[k] = x
        return inputs

    def packed(self, results: Sequence[Array]) -> Any:
        """Results as a call returns them.

        Args:
            results: All outputs.
        """
        if self.kind != "jvp":
            return tuple(results)
        if len(results) == 1:
            return results[0]
        return Rates([f"d{SHORT.get(name, name)}" for name in self.known.results], results)

    def _written(self, results: Sequence[Array], out: Any) -> list[Array]:
        """Results, in the arrays that a call gave for them."""
        if out is None:
            return list(results)
        outputs = self.outputs_of(out)
        for k, (name, x) in enumerate(zip(self.result_names, results, strict=True)):
            if outputs[k] is None:
                outputs[k] = x
                continue
            check_out(name, outputs[k], x.shape, x.dtype)
            if any(np.may_share_memory(outputs[k], other) for other in outputs[:k]):
                raise InputError(f"out for {name} shares memory with another output")
        for array, x in zip(outputs, results, strict=True):
            if array is not x:
                array[...] = x
        return outputs

    def bind(self, *inputs: Array, out: Any, **given: Array) -> Callable[[], None]:
        """A call without arguments that reads these arrays and writes ``out``: for control loops.

        Args:
            inputs: Arrays as for a call, that every call reads as they then are.
            out: Array that every call writes, or a tuple of as many as there are results.
            given: Arrays by name, as for a call.
        """
        outputs = self.outputs_of(out)
        if self.computation is not None:
            return self.computation.bind(inputs, given, outputs)
        return bound_call(self.runner, [*self.arranged(inputs, given).values(), *outputs])

    # Where a program would be too large, or takes longer than Jacobians ------------------------------------------

    def too_large(self) -> ProgramTooLarge | None:
        """Why there is no program, where Jacobians can take its place."""
        if not self.execution.has_runner and self._excess is None:
            try:
                self.prepare()
            except ProgramTooLarge as error:
                if not hasattr(type(self.evaluator), "derivatives") or self.kind == "hvp":
                    raise
                self.kept["excess"] = error
        return self._excess

    def prepare(self) -> None:
        """Make machine code now."""
        self.execution.prepare()
        if self.computation is not None:
            self.computation.prepare()

    @property
    def jacobians(self) -> Any:
        """The evaluator of the Jacobians: native code, for robots of any size."""
        evaluator: Any = self.evaluator
        if self.computation is not None and evaluator.backend == "specialized":  # no program is made for a few states
            backend = replace(evaluator.execution.backend, name="native")
            return self.keep("jacobians", lambda: evaluator.on(backend).derivatives)
        return evaluator.derivatives

    def by_jacobians(self, arrays: Sequence[Any], given: Mapping[str, Any], first: bool = False) -> list[Array]:
        """Results, each a new array, from the Jacobians of the evaluator.

        Args:
            arrays: As for a call.
            given: As for a call.
            first: Whether the evaluator itself is not called for these states: it checks the first it sees.
        """
        known, state = self.known, arrays[: len(self.known.given)]
        further = self.nonzero(arrays, given)
        options = {name: x for name, x in given.items() if name in known.optional and x is not None}
        blocks = jacobian_blocks(self.jacobians(*state, **options), self.known.results, self.inputs, further)
        if self._excess is not None and any(block is None for block in blocks.values()):
            raise self._excess
        results = multiplied(blocks, {name: self.checked(name, x) for name, x in further.items()})
        if first and self.computation is not None and results[0].size:
            self.computation.check(arrays)
        if all(getattr(x, "dtype", None) == np.float64 for x in arrays):
            return results
        types = [np.asarray(x).dtype for x in (*arrays, *given.values(), *blocks.values()) if x is not None]
        return [x.astype(np.result_type(*types), copy=False) for x in results]

    def nonzero(self, arrays: Sequence[Any], given: Mapping[str, Any]) -> dict[str, Any]:
        """Cotangents and tangents of a call, by name; none that was left out.

        Args:
            arrays: As for a call.
            given: As for a call.
        """
        zeros = self.zeros
        return {name: x for name, x in self.further(arrays, given).items() if x is not zeros[name]}

    def operation_count(self) -> OperationCount:
        """Exact count of the operations of one evaluation: of several programs, those of the function included."""
        return super().operation_count() if self.computation is None else self.computation.operation_count()
