# SPDX-License-Identifier: BSD-3-Clause
"""Products with the Jacobian of an evaluator: evaluators that are called with a state, and a direction or seeds.

| property        | called with                      | result                                                      |
|-----------------|----------------------------------|-------------------------------------------------------------|
| `evaluator.jvp` | inputs, directions               | ``J d``: a rate of each result                              |
| `evaluator.vjp` | inputs, seeds                    | ``y' J``: a tuple, one array for each input                 |
| `evaluator.hvp` | inputs, seeds, directions        | the derivative of ``y' J`` along the direction, a tuple      |

They are straight-line programs, made by sweeps over the trace of the evaluator's own
(`compilers.trace.differentiation`) at the first call, and kept on disk. Derivatives by ``q`` are in the tangent space
at ``q``: as many numbers as ``v`` has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt

from linkwork.compilers.program import Backend, Program
from linkwork.compilers.run import check_out
from linkwork.compilers.trace.derived_programs import derived
from linkwork.errors import InputError, ProgramTooLarge, UnsupportedFeature
from linkwork.inputs import Lanes, Precision, real_array, were_given
from linkwork.kernels.algorithm import resolve
from linkwork.quantities.arguments import Array, bound_call
from linkwork.quantities.base import ArrayEvaluator

_empty = np.empty

SHORT: Mapping[str, str] = {"acceleration": "a", "forces": "f"}
"""Results as Jacobians call them: ``da_dq``."""


class Rates(tuple[Array, ...]):
    """Rates of several results: a tuple whose arrays have names, ``d`` and that of the result.

    Args:
        names: Names of the arrays.
        arrays: The arrays.
    """

    names: tuple[str, ...]

    def __new__(cls, names: Sequence[str], arrays: Sequence[Array]) -> Self:
        """A tuple of arrays, and their names."""
        made = super().__new__(cls, tuple(arrays))
        made.names = tuple(names)
        return made

    def __getattr__(self, name: str) -> Array:
        if name in self.__dict__.get("names", ()):
            found: Array = self[self.names.index(name)]
            return found
        raise AttributeError(f"there is no '{name}' among rates; there are {', '.join(self.__dict__.get('names', ()))}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Rates, (self.names, tuple(self))

    def __repr__(self) -> str:
        each = ", ".join(f"{name}={x!r}" for name, x in zip(self.names, self, strict=True))
        return f"Rates({each})"


class Product(ArrayEvaluator):
    """A product with the Jacobian of an evaluator, or of its gradient.

    Args:
        evaluator: What is differentiated.
        by: Names of the inputs to differentiate by; by default all that a call must have, and wrenches where frames
            were named, and parameters that are inputs.
    """

    kind: ClassVar[str]
    """What it computes: the name of its property."""
    seeded: ClassVar[bool] = False
    """Whether a call takes seeds of results."""
    directed: ClassVar[bool] = False
    """Whether a call takes directions of inputs."""

    def __init__(self, evaluator: ArrayEvaluator, by: Sequence[str] | None = None) -> None:
        self.evaluator = evaluator
        self._known = evaluator.differentiated
        known = self._known
        if by is None:
            optional = ("wrenches", *evaluator.parameters)
            by = [*known.given, *(name for name in known.optional if name in optional)]
        for name in by:
            if name not in known.inputs:
                raise InputError(
                    f"{evaluator.quantity} of '{evaluator.robot.name}' has no derivative by '{name}'; there are those "
                    f"by {', '.join(known.inputs)}"
                )
        self.inputs = tuple(dict.fromkeys(by))
        """Names of the inputs to differentiate by."""
        arguments = {"evaluator": evaluator, "by": self.inputs}
        super().__init__(evaluator.robot, f"{self.kind} of {evaluator.quantity}", self._planned, arguments)
        self._set_backend(self._straight(evaluator._backend))

    @staticmethod
    def _straight(backend: Backend) -> Backend:
        """Where there is no kernel text: straight-line code in place of native code."""
        return backend if backend.name in ("plain", "cuda") else replace(backend, name="specialized")

    def _set_backend(self, backend: Backend) -> None:
        super()._set_backend(backend)
        self._excess: ProgramTooLarge | None = None

    def by(self, *inputs: str) -> Self:
        """The same, differentiating by these inputs alone.

        Args:
            inputs: Names of inputs.
        """
        made = type(self)(self.evaluator, inputs)
        made._set_backend(self._backend)
        return made

    # The program -----------------------------------------------------------------------------------------------

    def _planned(self) -> Program:
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
            {**shapes, **self._further_inputs(source)},
            self._result_shapes(source),
            lambda limit: self.evaluator.product_trace(self.kind, self.inputs, limit),
            key=f"{self.kind} of {', '.join(self._known.results)} by {', '.join(self.inputs)}",
        )

    def _direction_shapes(self, source: Program) -> dict[str, tuple[int, ...]]:
        """Shapes of derivatives by inputs: that of ``v`` for a configuration."""
        tree = source.tree
        shapes = source.algorithm.inputs
        return {
            name: (int(tree.nv),) if name in self._known.curved else resolve(shapes[name], tree) for name in self.inputs
        }

    def _part_shapes(self, source: Program) -> dict[str, tuple[int, ...]]:
        """Shapes of results."""
        shapes = {}
        for name, (output, at) in self._known.results.items():
            shape = resolve(source.algorithm.outputs[output], source.tree)
            if output in self._known.curved_results:
                shape = (int(source.tree.nv),)
            shapes[name] = shape if at == slice(None) else (len(range(*at.indices(shape[0]))), *shape[1:])
        return shapes

    def _further_inputs(self, source: Program) -> dict[str, tuple[int, ...]]:
        """Shapes of seeds and directions, which follow the inputs of the evaluator."""
        seeds = {f"y_{name}": shape for name, shape in self._part_shapes(source).items()} if self.seeded else {}
        directions = {f"d{name}": shape for name, shape in self._direction_shapes(source).items()}
        return {**seeds, **(directions if self.directed else {})}

    def _result_shapes(self, source: Program) -> dict[str, tuple[int, ...]]:
        return self._direction_shapes(source)

    # Calls -----------------------------------------------------------------------------------------------------

    def _prepare_inputs(self) -> None:
        same = self.evaluator.dtype == self._dtype and self.evaluator.backend != "cuda"
        self._holder = self.evaluator if same else self.evaluator.native(self._dtype.name)  # type: ignore[arg-type]
        self._holder._prepare_inputs()
        shapes = self._further_inputs(self.evaluator.differentiated_program)
        self._zeros = {name: np.zeros(shape, self._dtype) for name, shape in shapes.items()}

    def _make_held(self) -> None:
        """Make the inputs that the evaluator holds, where they are not made yet."""
        if self._excess is None:
            self.runner  # noqa: B018  makes them

    def _arranged(self, arrays: Sequence[Any], given: Mapping[str, Any]) -> list[Any]:
        """All inputs of the program: those of the evaluator, then seeds and directions."""
        self._make_held()
        known, given = self._known, dict(given)
        state, rest = list(arrays[: len(known.given)]), list(arrays[len(known.given) :])
        if len(state) < len(known.given):
            raise InputError(f"{self.quantity} takes {self._signature()}; {were_given(len(arrays))}")
        inputs = self._holder._inputs_with(state, {n: given.pop(n) for n in known.optional if given.get(n) is not None})
        further: list[Any] = []
        directions = sum(name.startswith("d") and name[1:] in known.given for name in self._zeros)
        seeds = len(rest) - directions if len(rest) > directions else 1  # those of further results may be left out
        for k, (name, zero) in enumerate(self._zeros.items()):
            keyword = name[2:] if name.startswith("y_") else name
            positional = k < seeds if name.startswith("y_") else name[1:] in known.given
            if rest and positional:
                x = rest.pop(0)
            elif given.get(keyword) is not None:
                x = given.pop(keyword)
            elif self._may_be_left_out(name):
                x = None
            else:
                missing = "y" if name.startswith("y_") else keyword
                raise InputError(f"{self.quantity} takes {self._signature()}; {missing} was not given")
            further.append(zero if x is None else x)
        left = [name for name, x in given.items() if x is not None]
        if rest or left:
            what = f"'{left[0]}' was given as well" if left else f"{were_given(len(arrays))}"
            raise InputError(f"{self.quantity} takes {self._signature()}; {what}")
        return [*inputs, *further]

    def _inputs(self, given: Sequence[npt.ArrayLike | None]) -> list[npt.ArrayLike]:
        return self._arranged(given, {})

    def _checked(self, name: str, x: Any) -> Array:
        """A seed or a direction as an array of finite numbers."""
        array = self._shaped(name, x)
        if not np.isfinite(array).all():
            raise InputError(f"{name} holds NaN or infinity")
        return array

    def _shaped(self, name: str, x: Any) -> Array:
        """A seed or a direction as an array."""
        array, shape = np.asarray(real_array(x, name), self._dtype), self._zeros[name].shape
        if array.shape[max(0, array.ndim - len(shape)) :] != shape:
            needs = ", ".join(map(str, shape))
            raise InputError(f"{name} has shape {array.shape}, robot '{self.robot.name}' needs (..., {needs})")
        return array

    def _written(self, results: Sequence[Array], out: Any) -> list[Array]:
        """Results, in the arrays that a call gave for them."""
        if out is None:
            return list(results)
        given = list(out) if isinstance(out, tuple | list) else [out]
        names = list(self._result_shapes(self.evaluator.differentiated_program))
        if len(given) != len(names):
            raise InputError(f"{self.quantity} writes {', '.join(names)}: out needs as many arrays; found {len(given)}")
        for k, (name, x) in enumerate(zip(names, results, strict=True)):
            if given[k] is None:
                given[k] = x
            check_out(name, given[k], x.shape, x.dtype)
            if any(np.may_share_memory(given[k], other) for other in given[:k]):
                raise InputError(f"out for {name} shares memory with another output")
        for array, x in zip(given, results, strict=True):
            array[...] = x
        return given

    def _may_be_left_out(self, name: str) -> bool:
        known = self._known
        return name != f"y_{next(iter(known.results))}" if name.startswith("y_") else name[1:] not in known.given

    def _signature(self) -> str:
        """Words for the arguments of a call."""
        known = self._known
        seeds = ["y", *(f"{name} (seeds)" for name in list(known.results)[1:])] if self.seeded else []
        directions = [f"d{name}" for name in self.inputs if name in known.given] if self.directed else []
        return ", ".join([*known.given, *seeds, *directions])

    def __call__(self, *arrays: npt.ArrayLike, out: Any = None, **given: npt.ArrayLike | None) -> Any:
        """Evaluate. Leading axes of all arguments are batch axes and broadcast.

        Args:
            arrays: Inputs of the evaluator, then seeds of results, then directions of inputs, as the class says.
            out: Array to write the result to, or a tuple of as many as there are results; by default new ones.
            given: By name: inputs that need not be given (``wrenches``, ``target``), seeds of further results, and
                directions of such inputs (``dwrenches``, ``dtarget``).
        """
        if self._too_large() is not None:
            return self._by_jacobians(arrays, given, out)
        typed = self._for_type_of([*arrays, *given.values(), *(() if out is None else self._outputs(out))])
        inputs = typed._arranged(arrays, given)
        if out is None:
            results = [_empty(shape, typed._dtype) for shape in typed._output_shapes]
            if not typed._entry(*inputs, *results):
                return self._packed(results)
        return self._packed(typed.runner.evaluate(inputs, self._outputs(out)))

    def _packed(self, results: Sequence[Array]) -> Any:
        """Results as a call returns them."""
        return tuple(results)

    # Where a program would be too large ------------------------------------------------------------------------

    def _too_large(self) -> ProgramTooLarge | None:
        """Why there is no program, where Jacobians can take its place."""
        if self._runner is None and self._excess is None:
            try:
                self.runner  # noqa: B018
            except ProgramTooLarge as error:
                if not hasattr(type(self.evaluator), "derivatives") or (self.seeded and self.directed):
                    raise
                self._excess = error
        return self._excess

    def _by_jacobians(self, arrays: Sequence[Any], given: Mapping[str, Any], out: Any) -> Any:
        """The product with the Jacobians of `derivatives`, which native code computes for robots of any size."""
        return self._packed(self._written(self._products_by_jacobians(arrays, given), out))

    @property
    def _jacobians(self) -> Any:
        """What computes the Jacobians."""
        return cast(Any, self.evaluator).derivatives

    def _products_by_jacobians(self, arrays: Sequence[Any], given: Mapping[str, Any]) -> list[Array]:
        """Results, each a new array, by Jacobians."""
        known, state = self._known, arrays[: len(self._known.given)]
        further = self._further(arrays, given)
        options = {name: x for name, x in given.items() if name in known.optional and x is not None}
        jacobians = self._jacobians(*state, **options)
        blocks = self._blocks(jacobians, further)
        if self._excess is not None and any(block is None for block in blocks.values()):
            raise self._excess
        found = self._multiplied(blocks, {name: self._checked(name, x) for name, x in further.items()})
        if all(getattr(x, "dtype", None) == np.float64 for x in arrays):
            return found
        types = [np.asarray(x).dtype for x in (*arrays, *given.values(), *blocks.values()) if x is not None]
        return [x.astype(np.result_type(*types), copy=False) for x in found]

    def _further(self, arrays: Sequence[Any], given: Mapping[str, Any]) -> dict[str, Any]:
        """Seeds and directions that were given, by name."""
        arranged = self._arranged(arrays, given)[-len(self._zeros) :]
        named = zip(self._zeros, arranged, strict=True)
        return {name: x for name, x in named if x is not self._zeros[name]}

    def _blocks(self, jacobians: Any, further: Mapping[str, Any]) -> dict[tuple[str, str], Any]:
        """Jacobians by results and inputs, where seeds or directions are not zero; None where there is none."""
        return {
            (result, name): getattr(jacobians, f"d{SHORT.get(result, result)}_d{name}", None)
            for result in self._known.results
            for name in self.inputs
            if (f"y_{result}" if self.seeded else f"d{name}") in further
        }

    def _multiplied(self, blocks: Mapping[tuple[str, str], Any], further: Mapping[str, Array]) -> list[Array]:
        """Products of Jacobians, by results and inputs, with directions or seeds."""
        raise NotImplementedError

    def bind(self, *inputs: Array, out: Any, **given: Array) -> Callable[[], None]:
        """A call without arguments that reads these arrays and writes ``out``, allocating nothing: for control loops.

        Args:
            inputs: Arrays as for a call, that every call reads as they then are.
            out: Array that every call writes, or a tuple of as many as there are results.
            given: Arrays by name, as for a call.
        """
        outputs = list(out) if isinstance(out, tuple | list) else [out]
        if len(outputs) != len(self.runner.outputs):
            names = ", ".join(self.program.algorithm.outputs)
            raise InputError(f"{self.quantity} writes {names}: out needs as many arrays; found {len(outputs)}")
        return bound_call(self.runner, [*self._arranged(inputs, given), *outputs])

    # Backends --------------------------------------------------------------------------------------------------

    def native(self, dtype: Precision = "float64", lanes: Lanes = "auto", threads: int | None = None) -> Self:
        """The same as `compile`: a product has no kernel text, which native code would be made of.

        Args:
            dtype: Numbers to compute with.
            lanes: States that share one SIMD register in batches; ``"auto"``: as many as fit this machine.
            threads: Threads that share a large batch; by default as many as this evaluator has.
        """
        return self.compile(lanes, dtype, threads)


class JacobianVectorProduct(Product):
    """Rates of an evaluator's results along a direction of its inputs: ``fd.jvp(q, v, tau, dq, dv, dtau)``.

    Args:
        evaluator: What is differentiated.
        by: Names of the inputs to differentiate by.
    """

    kind = "jvp"
    directed = True

    def _result_shapes(self, source: Program) -> dict[str, tuple[int, ...]]:
        return self._part_shapes(source)

    def _packed(self, results: Sequence[Array]) -> Any:
        if len(results) == 1:
            return results[0]
        return Rates([f"d{SHORT.get(name, name)}" for name in self._known.results], results)

    def _multiplied(self, blocks: Mapping[tuple[str, str], Any], further: Mapping[str, Array]) -> list[Array]:
        found: dict[str, Any] = {}
        for (result, name), block in blocks.items():
            part = _times(block, further[f"d{name}"])
            found[result] = found[result] + part if result in found else part
        return list(found.values())


class VectorJacobianProduct(Product):
    """Seeds of an evaluator's results times its Jacobian, by each input: ``fd.vjp(q, v, tau, y)``.

    Args:
        evaluator: What is differentiated.
        by: Names of the inputs to differentiate by.
    """

    kind = "vjp"
    seeded = True

    def _multiplied(self, blocks: Mapping[tuple[str, str], Any], further: Mapping[str, Array]) -> list[Array]:
        found: dict[str, Any] = {}
        for (result, name), block in blocks.items():
            part = _left_times(further[f"y_{result}"], block)
            found[name] = found[name] + part if name in found else part
        return list(found.values())


class HessianVectorProduct(Product):
    """The derivative of `vjp` along a direction, the seeds held: ``id.hvp(q, v, a, y, dq, dv, da)``.

    Args:
        evaluator: What is differentiated.
        by: Names of the inputs to differentiate by.
    """

    kind = "hvp"
    seeded = True
    directed = True


def _times(block: Array, d: Array) -> Array:
    """A matrix times a vector, of every state."""
    found: Array = block @ d if d.ndim == 1 else (block @ d[..., None])[..., 0]
    return found


def _left_times(y: Array, block: Array) -> Array:
    """A vector times a matrix, of every state."""
    found: Array = y @ block if y.ndim == 1 else (y[..., None, :] @ block)[..., 0, :]
    return found
