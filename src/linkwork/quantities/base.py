# SPDX-License-Identifier: BSD-3-Clause
"""The one class that all evaluators are made of: a program for one robot, and an execution that runs it.

Nothing is computed when an evaluator is made: its program when it is first needed, machine code at the first call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from linkwork.compilers.backends import runner_for
from linkwork.compilers.program import Backend, Program
from linkwork.compilers.run import Runner
from linkwork.compilers.trace.tracing import Trace
from linkwork.conversions import converted
from linkwork.errors import InputError
from linkwork.inputs import BackendName, DeviceCode, DeviceName, Lanes, Precision, were_given
from linkwork.model.checks import check_robot
from linkwork.model.model import Model
from linkwork.quantities.arguments import (
    Array,
    bound_call,
    chosen_backend,
    frame_names,
    listed_outputs,
    present,
    thread_count,
    verified,
    with_further_outputs,
)
from linkwork.quantities.counts import OperationCount
from linkwork.quantities.differentiable import Differentiated
from linkwork.quantities.execution import LOCK, Execution, once, start
from linkwork.quantities.leaves import planned
from linkwork.quantities.parameters import ParameterInputs, ParameterNames
from linkwork.quantities.signatures import CallSignature

if TYPE_CHECKING:
    from linkwork.quantities.computation import Computation
    from linkwork.quantities.products import Kind, Product

T = TypeVar("T")

NOTHING: Mapping[str, Any] = MappingProxyType({})


class BaseEvaluator:
    """A program for one robot, and the backend that runs it: ``evaluator(q, v, ...)``.

    Evaluators are pickled and copied by their arguments: a copy in another process, one of `multiprocessing` for
    instance, has its machine code from the cache there.

    Calling a method in Python takes longer than the mass matrix of an arm. So ``__call__`` is a slot, with machine code
    in it from the second call on; evaluators whose results need more than arrays have a method in its place.

    Args:
        robot: The mechanism.
        quantity: Name of the result.
        program: Makes the program; called once, when the program is first needed.
        arguments: Keyword arguments that make an equal evaluator of the same class.
        frames: Frames that the quantity is about, or that external wrenches act on.
        threads: Threads that share a large batch; by default as many as there are cores.
        parameters: Parameters of the robot that are inputs.
        record: Class of the results, a named tuple; by default the array itself, or a plain tuple of several.
        backend: Backend of the program; by default native code, with so many threads.
    """

    __slots__ = {
        "__call__": "Evaluate, as `evaluate` does: one array, or a tuple where the quantity has several.",
        "__dict__": "",
        "__weakref__": "",
    }
    __call__: Callable[..., Any]
    __signature__ = CallSignature()

    jvp: Product
    """Products with the Jacobian, ``J d``: inputs, then a direction of each."""
    vjp: Product
    """Products with the transposed Jacobian, ``y' J``: inputs, then seeds; a tuple, one array for each input."""
    hvp: Product
    """Second derivatives of ``y' f`` along a direction: inputs, seeds, directions; a tuple as of `vjp`."""

    def __init__(
        self,
        robot: Model,
        quantity: str,
        program: Callable[[], Program],
        arguments: Mapping[str, Any],
        frames: str | Sequence[str] = (),
        threads: int | None = None,
        parameters: ParameterNames | ParameterInputs = (),
        record: type[Any] | None = None,
        backend: Backend | None = None,
    ) -> None:
        check_robot(robot)
        self.robot, self.quantity, self.frames = robot, quantity, frame_names(frames)
        for name in self.frames:
            robot.frame(name)
        known = parameters if isinstance(parameters, ParameterInputs) else ParameterInputs(robot, parameters)
        self.parameter_inputs = known
        self._arguments = {**arguments, "parameters": known.recipe} if known.names else dict(arguments)
        own = once(lambda: planned(robot, quantity, program))
        self._programs = own, once(lambda: known.program(own()))
        native = Backend(threads=thread_count(threads), single_for_single=True) if backend is None else backend
        start(self, self._adapted(native), record)

    execution: Execution
    """The program on a backend, with the inputs that calls may leave out."""
    kept: dict[Any, Any]
    """Objects of this evaluator on its backend (`keep`)."""

    def keep(self, key: object, make: Callable[[], T]) -> T:
        """A value that is computed once for this evaluator on its backend, under a key."""
        if key not in self.kept:
            with LOCK:
                if key not in self.kept:
                    self.kept[key] = make()
        result: T = self.kept[key]
        return result

    # The program and its backend -----------------------------------------------------------------

    @property
    def program(self) -> Program:
        """The kernel and the plan of this robot."""
        return self._programs[1]()

    @property
    def unparametrized_program(self) -> Program:
        """The program with the robot's own parameters: none are inputs."""
        return self._programs[0]()

    @property
    def traced_program(self) -> Program:
        """The program that `compile` traces."""
        return self.program

    @property
    def exported_program(self) -> Program:
        """The program that `export_c` writes."""
        return self.traced_program

    @property
    def counted_program(self) -> Program:
        """The program that `operation_count` counts."""
        return self.program

    def runner_on(self, backend: Backend) -> Runner:
        """The runner of the program on a backend."""
        programs = {"specialized": lambda: self.traced_program, "cuda": lambda: self.exported_program}
        return runner_for(programs.get(backend.name, lambda: self.program)(), backend)

    @property
    def runner(self) -> Runner:
        """The runner of the program."""
        return self.execution.runner

    @property
    def backend(self) -> BackendName:
        """The name of the backend: ``"plain"``, ``"native"``, ``"specialized"`` or ``"cuda"``."""
        return self.execution.backend.name

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers computed with."""
        return self.execution.dtype

    @property
    def sees_results(self) -> bool:
        """Whether results can be looked at when a call has ended: not on a GPU, which is not waited for."""
        return self.backend != "cuda"

    @converted
    def compile(
        self,
        backend: BackendName = "specialized",
        *,
        dtype: Precision = "float64",
        lanes: Lanes = "auto",
        threads: int | None = None,
        max_operations: int | None = None,
        outputs: str | Sequence[str] | None = None,
        code: DeviceCode | None = None,
    ) -> Self:
        """A copy on another backend.

        | backend         | what runs                                                                                |
        |-----------------|------------------------------------------------------------------------------------------|
        | ``specialized`` | a straight-line program for this robot; compiling takes seconds, once: kept on disk      |
        | ``native``      | machine code that reads the plan of any robot: the default                               |
        | ``plain``       | the kernel in Python: slow, for debugging                                                |
        | ``cuda``        | straight-line or native code on a GPU of NVIDIA, made at the first call                  |

        An evaluator starts with native code in ``float64``, and computes in ``float32`` where all arguments are. On
        ``"cuda"`` it takes arrays that are on a GPU (torch, CuPy, JAX, DLPack; `to_device` makes some) and returns such
        arrays, ordered on the caller's stream. States that are not finite hold NaN there; `check` raises an error.

        Args:
            backend: The backend, see above.
            dtype: Numbers to compute with.
            lanes: States that share one SIMD register in batches; ``"auto"``: as many as fit this machine.
            threads: Threads that share a large batch; by default as many as this evaluator has.
            max_operations: The most operations of a straight-line program, else `ProgramTooLarge`: stay native there.
            outputs: On a GPU, names of results that are computed, such as ``"acceleration"``; by default all.
            code: On a GPU, ``"specialized"`` or ``"native"``; by default the first, and the second where a program
                would have more than ``max_operations``. Products (`jvp`, `vjp`) are specialized always.
        """
        own = self.execution.backend.threads if threads is None else threads
        names = [outputs] if isinstance(outputs, str) else outputs
        wanted = None if names is None else self.differentiated.outputs(self.program.algorithm, self.quantity, names)
        chosen = chosen_backend(backend, dtype, lanes, own, max_operations, wanted, code)
        self._check_backend(chosen)
        other = self.on(chosen)
        if other.backend == "specialized":
            other.execution.prepare()
        return other

    def native(self, dtype: Precision = "float64", lanes: Lanes = "auto", threads: int | None = None) -> Self:
        """A copy on native code, as ``compile("native", ...)``.

        Args:
            dtype: Numbers to compute with.
            lanes: As for `compile`.
            threads: As for `compile`.
        """
        return self.compile("native", dtype=dtype, lanes=lanes, threads=threads)

    def plain(self) -> Self:
        """A copy on plain Python, as ``compile("plain")``."""
        return self.compile("plain")

    def to(self, device: DeviceName, dtype: Precision = "float64", **options: Any) -> Self:
        """A copy on a device: ``compile("cuda", ...)`` for ``"cuda"``, ``compile("native", ...)`` for ``"cpu"``.

        Args:
            device: Where to run.
            dtype: Numbers to compute with.
            options: As for `compile`.
        """
        if device not in ("cpu", "cuda"):
            raise InputError(f"device is {device!r}, needs 'cpu' or 'cuda'")
        return self.compile("cuda" if device == "cuda" else "native", dtype=dtype, **options)

    def on(self, backend: Backend, program: Program | None = None) -> Self:
        """A copy on another backend, or with another program of equal inputs and outputs, in its initial state."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        if program is not None:
            vars(other)["_programs"] = self._programs[0], lambda: program
        start(other, self._adapted(backend), self.execution.record)
        return other

    def _check_backend(self, backend: Backend) -> None:
        """Raise an error where this evaluator cannot run on a backend."""

    def _adapted(self, backend: Backend) -> Backend:
        """A backend as this evaluator uses it."""
        return backend

    def for_type_of(self, arrays: Sequence[Any]) -> Self:
        """This evaluator, or the same in single precision where all arguments that are not None are."""
        if not self.execution.backend.single_for_single:
            return self
        if not all(getattr(x, "dtype", None) == np.float32 for x in arrays if x is not None):
            return self
        return self.keep(np.float32, lambda: self.native("float32"))

    def check(self) -> None:
        """Raise an error where states that a GPU computed since the last check were not finite; waits for the GPU."""
        if self.execution.has_runner:
            self.runner.check()

    def operation_count(self) -> OperationCount:
        """Exact count of the operations of one evaluation, from the trace of the kernel for this robot."""
        return OperationCount.of_trace(self.counted_program.trace(limit=sys.maxsize))

    # Inputs --------------------------------------------------------------------------------------

    @property
    def parameters(self) -> Mapping[str, Array]:
        """Parameters of the robot that are inputs, with its own values: those of a call that gives no others."""
        return MappingProxyType(self.parameter_inputs.values)

    def with_parameters(self, **values: npt.ArrayLike) -> Self:
        """A copy with other values of its parameters, which hold where a call passes none.

        Args:
            values: By name, ``(..., rows)``: leading axes are batch axes and broadcast with those of calls.
        """
        inputs = self.parameter_inputs.holding(values)
        other = self.holding(dict(zip(inputs.names, inputs.held(self.dtype), strict=True)))
        other.parameter_inputs = inputs
        return other

    def holding(self, arrays: Mapping[str, Array]) -> Self:
        """A copy with the machine code of this one and other arrays, by name, for inputs that calls leave out."""
        other = self.on(self.execution.backend)
        other.execution = self.execution.holding(arrays)
        return other

    def held_inputs(self, dtype: np.dtype[Any]) -> dict[str, Array]:
        """Inputs that calls may leave out, by name: external wrenches, of which there are none, and parameters."""
        values = dict(zip(self.parameter_inputs.names, self.parameter_inputs.held(dtype), strict=True))
        return {"wrenches": np.zeros((len(self.frames), 6), dtype), **values}

    @property
    def given_names(self) -> tuple[str, ...]:
        """Names of inputs that callers give, in their order: all but those that are held, and external wrenches."""
        held = self.execution.held
        return tuple(name for name in self.program.algorithm.inputs if name not in held or name == "wrenches")

    def input_arrays(
        self,
        given: Sequence[Any],
        named: Mapping[str, Any] = NOTHING,
        parameters: Mapping[str, Any] = NOTHING,
        *,
        once: bool = False,
    ) -> list[Any]:
        """All inputs of the program: those of a caller, and held ones for the others.

        Args:
            given: Inputs in their order (`given_names`); None, or left out at the end, where held ones serve.
            named: Further inputs, by name.
            parameters: Parameters of the robot that are inputs, by name.
            once: Whether parameters are given once for many calls, and checked thoroughly.
        """
        if not named and not parameters:
            inputs = self.execution.completed(given)
            if inputs is not None:
                return inputs
        if parameters:
            self.parameter_inputs.check(parameters, once=once)
        names = self.keep("given names", lambda: self.given_names)
        arrays = self.execution.held | present({**dict(zip(names, given, strict=False)), **named, **parameters})
        needed = self.program.algorithm.inputs
        if len(given) > len(names) or not needed.keys() <= arrays.keys():
            raise InputError(f"{self.quantity} takes {', '.join(names)}; {were_given(len(given))}")
        return [arrays[name] for name in needed]

    def output_arrays(self, out: Array | Sequence[Array] | None) -> list[Any]:
        """Arrays to write outputs to; None for those that are to be made (`listed_outputs`)."""
        return listed_outputs(self.runner, self.quantity, out)

    # Calls ---------------------------------------------------------------------------------------

    def evaluate(
        self, *inputs: npt.ArrayLike | None, out: Array | Sequence[Array] | None = None, **parameters: npt.ArrayLike
    ) -> Any:
        """The call in Python, for anything array-like: used by `__call__` where machine code cannot serve arguments.

        Args:
            inputs: Arrays, in the order of the quantity's inputs; leading axes are batch axes and broadcast.
            out: Array to write the result to, or a tuple of as many as there are results; by default new ones.
            parameters: Parameters of the robot that are inputs, by name; the robot's own by default.
        """
        if not parameters:
            if out is None:
                names = self.kept.get("given names") or self.keep("given names", lambda: self.given_names)
                results = self.execution.results(*inputs) if len(inputs) <= len(names) else None
                if results is not None:
                    return results
            elif self.execution.writes(inputs, out if isinstance(out, tuple | list) else (out,)):
                return self.execution.packed(out) if isinstance(out, tuple | list) else out
        outputs = self.output_arrays(out)
        typed = self.for_type_of([*inputs, *parameters.values(), *outputs])
        if typed is not self:
            return typed.evaluate(*inputs, out=out, **parameters)
        named = (
            {name: parameters.pop(name) for name in self.given_names if name in parameters} if parameters else NOTHING
        )
        return self.execution.packed(self.runner.evaluate(self.input_arrays(inputs, named, parameters), outputs))

    def bind(self, *inputs: Array, out: Array | Sequence[Array], **parameters: Array) -> Callable[[], None]:
        """A call without arguments that reads these arrays and writes ``out``, without allocation: for control loops.

        Arrays must fit as they are (C-contiguous, of this evaluator's dtype, one state or one batch axis). Shapes are
        checked here, numbers at every call. The call is for one thread at a time, as its arrays are.

        Args:
            inputs: Arrays that every call reads as they then are.
            out: Array that every call writes the main output to, or a tuple of all outputs in their order.
            parameters: Parameters of the robot that are inputs, by name; the robot's own by default.
        """
        outputs = self.output_arrays(out)
        alone = isinstance(out, np.ndarray) and len(outputs) > 1
        if alone:
            outputs = with_further_outputs(self.runner, outputs[0])
        arrays = [*self.input_arrays(inputs, parameters=parameters, once=True), *outputs]
        return verified(bound_call(self.runner, arrays), arrays, self._verification(alone))

    def _verification(self, alone: bool) -> Callable[[Sequence[Array]], bool | None] | None:
        """The verification of a bound call, which raises an error where results are meaningless; None if there is none.

        It may compute them in another way, and then returns True; ``alone``: the caller sees the main output only.
        """
        return None

    # Derivatives ---------------------------------------------------------------------------------

    @property
    def differentiated(self) -> Differentiated:
        """Inputs and results of the evaluator's derivatives."""
        optional = ("wrenches",) if self.frames and "wrenches" in self.program.algorithm.inputs else ()
        return Differentiated.of_algorithm(self.program.algorithm, (*optional, *self.parameters))

    @property
    def differentiated_program(self) -> Program:
        """The program that products are made of."""
        return self.traced_program

    def product_trace(self, kind: Kind, by: Sequence[str], limit: int) -> Trace:
        """The straight-line program of a product by some inputs: a sweep over that of the evaluator, up to a limit."""
        return self.differentiated.swept(self.differentiated_program, kind, by, limit)

    @property
    def product_inputs(self) -> Sequence[str] | None:
        """Inputs that `jvp`, `vjp` and `hvp` differentiate by; None: those of `Product`."""
        return None

    def computation_of(self, product: Product) -> Computation | None:
        """The computation of a product that takes several programs; None where it is one."""
        return None

    # Copies --------------------------------------------------------------------------------------

    def recipe(self) -> dict[str, Any]:
        """Keyword arguments that make an equal evaluator."""
        return self._arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (type(self), self.recipe(), self.execution.backend, dict(self.parameters))

    def __repr__(self) -> str:
        by = f" by {self.method}" if hasattr(self, "method") else ""
        return f"<{type(self).__name__} {self.quantity} of '{self.robot.name}'{by}, {self.backend}, {self.dtype}>"


def _remade(
    kind: type[BaseEvaluator], arguments: Mapping[str, Any], backend: Backend, parameters: Mapping[str, Any]
) -> BaseEvaluator:
    """An evaluator from the result of `BaseEvaluator.__reduce__`."""
    evaluator = kind(**arguments).on(backend)
    return evaluator.with_parameters(**parameters) if parameters else evaluator
