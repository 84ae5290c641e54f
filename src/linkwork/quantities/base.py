# SPDX-License-Identifier: BSD-3-Clause
"""What all evaluators share: a program for one robot, and a backend that runs it.

| class            | what it has                                                              |
|------------------|--------------------------------------------------------------------------|
| BaseEvaluator    | program and backend; other backends, operation counts, pickling          |
| ArrayEvaluator   | inputs that are given or held by the evaluator; `bind`                    |
| ProgramEvaluator | a call for any program: ``evaluator(*inputs)``                           |

Nothing is computed when an evaluator is made: its program (plans, scales, choice of a method) when it is first needed,
machine code at the first call.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from types import MappingProxyType
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt

from linkwork.compilers.backends import runner_for
from linkwork.compilers.entry.entry_point import SHAPES
from linkwork.compilers.program import Backend, Program
from linkwork.compilers.run import Runner, always_refused
from linkwork.compilers.trace.tracing import MAX_OPERATIONS
from linkwork.conversions import converted
from linkwork.errors import InputError, NotFinite
from linkwork.inputs import BackendName, Lanes, Precision, plural, were_given
from linkwork.kernels.algorithm import Algorithm
from linkwork.model.checks import check_robot
from linkwork.model.model import Model
from linkwork.plans.tree import Tree
from linkwork.quantities.arguments import Array, bound_call, checked_dtype, checked_lanes, frame_names, thread_count
from linkwork.quantities.counts import OperationCount
from linkwork.quantities.devices import OnDevices
from linkwork.quantities.differentiable import Differentiable
from linkwork.quantities.leaves import check_dynamics
from linkwork.quantities.parameters import ParameterInputs, ParameterNames
from linkwork.quantities.results import NewResults, direct_call

DYNAMICS = frozenset(
    {"forward_dynamics", "forward_dynamics_derivatives", "inverse_dynamics", "inverse_dynamics_derivatives", "impact"}
    | {"inverse_mass_product", "inverse_mass_matrix", "bias_forces", "coriolis_matrix", "gravity_forces", "energy"}
    | {"centroidal_momentum", "centroidal_momentum_matrix", "centroidal_momentum_matrix_rate", "terms", "regressor"}
    | {"kkt", "delassus", "damped_inverse", "delassus_matrix", "inverse_matrix", "contact_step"}
)
"""Quantities that a robot without inertias does not have. The mass matrix, with zeros, is what scales are made of."""

_LOCK = threading.RLock()
"""Around what evaluators make when they are first called."""


class BaseEvaluator(OnDevices, NewResults):
    """A program for one robot, and the backend that runs it.

    Evaluators are pickled and copied by their arguments: a copy in another process, one of `multiprocessing` for
    instance, has its machine code from the cache there.

    Args:
        robot: The mechanism.
        quantity: Name of what is computed.
        program: Makes the program; called once, when the program is first needed.
        arguments: Keyword arguments that make an equal evaluator of the same class.
        frames: Frames that the quantity is about, or that external wrenches act on.
        threads: Threads that share a large batch; by default as many as there are cores.
        parameters: Parameters of the robot that are inputs.
    """

    __call__: Callable[..., Any]
    """Evaluate; every class says with which inputs."""

    def __init__(
        self,
        robot: Model,
        quantity: str,
        program: Callable[[], Program],
        arguments: Mapping[str, Any],
        frames: str | Sequence[str] = (),
        threads: int | None = None,
        parameters: ParameterNames | ParameterInputs = (),
    ) -> None:
        check_robot(robot)
        self.robot = robot
        known = parameters if isinstance(parameters, ParameterInputs) else ParameterInputs(robot, parameters)
        self._parameter_inputs = known
        self.quantity = quantity
        self.frames = frame_names(frames)
        for name in self.frames:
            robot.frame(name)
        self._arguments = dict(arguments)
        if self._parameter_inputs.names:
            self._arguments["parameters"] = self._parameter_inputs.recipe
        self._make_program = program
        self._program: Program | None = None
        self._set_backend(Backend(threads=thread_count(threads), single_for_single=True))

    def _set_backend(self, backend: Backend) -> None:
        """Run the program by this backend; nothing has run yet."""
        self._products: dict[str, Any] = {}
        self._backend = backend
        self._dtype: np.dtype[Any] = np.dtype(backend.dtype)
        self._runner: Runner | None = None
        self._single: Self | None = None
        self._entry: Callable[..., int] = always_refused if backend.name == "cuda" else self._first_call
        self._new_results: Callable[..., Any] = self._first_results
        self._output_shapes: Sequence[tuple[int, ...]] = ()
        self._no_wrenches = np.zeros((len(self.frames), 6), dtype=backend.dtype)
        self._own_parameters = self._parameter_inputs.held(backend.dtype)

    def _first_call(self, *arrays: Any) -> int:
        """The entry point before there is one: calls take the general path, which knows what is missing.

        Code for one state is compiled when one state is given, not for a batch.
        """
        shapes = self.runner.shapes
        if all(getattr(x, "ndim", len(shape)) == len(shape) for x, shape in zip(arrays, shapes, strict=False)):
            self._entry = self.runner.entry
        return SHAPES

    def _prepare_inputs(self) -> None:
        """Make the inputs that the evaluator itself holds, in the type of the backend; called once, before it runs."""

    # The program and its backend -----------------------------------------------------------------

    @property
    def program(self) -> Program:
        """The kernel text and the plan of this robot."""
        if self._program is None:
            with _LOCK:
                if self._program is None:
                    if self.quantity in DYNAMICS:
                        check_dynamics(self.robot)
                    self._program = self._parameter_inputs.program(self._make_program())
        return self._program

    @property
    def parameters(self) -> Mapping[str, Array]:
        """Parameters of the robot that are inputs, with its own values: those of a call that gives no others."""
        return MappingProxyType(self._parameter_inputs.values)

    def with_parameters(self, **values: npt.ArrayLike) -> Self:
        """The same evaluator with other values of its parameters, where a call gives none.

        Args:
            values: By name, ``(..., rows)``: leading axes are batch axes and broadcast with those of calls.
        """
        other = self._on(self._backend)
        other._hold(values)
        if self._runner is not None:
            other._prepare_inputs()
            other._runner, other._output_shapes = self._runner, self._output_shapes
        return other

    def _hold(self, values: Mapping[str, Any]) -> None:
        """Take these values of parameters where a call gives none; nothing has run yet."""
        self._parameter_inputs = self._parameter_inputs.holding(values)
        self._own_parameters = self._parameter_inputs.held(self._dtype)

    def _given_parameters(self, parameters: Mapping[str, Any], *, once: bool = False) -> tuple[Any, ...]:
        """All parameters that are inputs, in order, from those given by name; ``once``: for many calls."""
        if not parameters:
            return self._own_parameters
        return self._parameter_inputs.given(self._own_parameters, parameters, once=once)

    def _all_inputs(self, inputs: Sequence[Any], parameters: Sequence[Any] = ()) -> list[Any]:
        """All inputs of the program, from those without parameters; by default those of the robot."""
        if not self._own_parameters:
            return list(inputs)
        start = self._parameter_inputs.start(self.program)
        return [*inputs[:start], *(parameters or self._own_parameters), *inputs[start:]]

    @property
    def traced_program(self) -> Program:
        """What `compile` makes straight-line code of."""
        return self.program

    @property
    def exported_program(self) -> Program:
        """What `export_c` writes."""
        return self.traced_program

    @property
    def counted_program(self) -> Program:
        """What `operation_count` counts."""
        return self.program

    @property
    def runner(self) -> Runner:
        """What runs the program with arrays."""
        if self._runner is None:
            with _LOCK:
                if self._runner is None:
                    self._prepare_inputs()
                    runner = self._new_runner()
                    self._output_shapes = runner.outputs
                    self._runner = runner
        return self._runner

    def _new_runner(self) -> Runner:
        """What runs the program on the backend."""
        name = self._backend.name
        programs = {"specialized": "traced_program", "cuda": "exported_program"}
        return runner_for(getattr(self, programs.get(name, "program")), self._backend)

    @property
    def backend(self) -> BackendName:
        """How the program is run: ``"plain"``, ``"native"``, ``"specialized"`` or ``"cuda"``."""
        return self._backend.name

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers computed with."""
        return self._dtype

    @converted
    def native(self, dtype: Precision = "float64", lanes: Lanes = "auto", threads: int | None = None) -> Self:
        """The same, running native code with numbers of one type, whatever the type of arguments.

        An evaluator runs native code from the start, in ``float64``; where all arguments are ``float32`` arrays it does
        so in ``float32``, and so are its results.

        Args:
            dtype: Numbers to compute with.
            lanes: States that share one SIMD register in batches; ``"auto"``: as many as fit this machine.
            threads: Threads that share a large batch; by default as many as this evaluator has.
        """
        return self._on(Backend("native", checked_dtype(dtype), checked_lanes(lanes), self._threads(threads)))

    def plain(self) -> Self:
        """The same, running the Python text itself: slow, for debugging."""
        return self._on(Backend("plain"))

    @converted
    def compile(
        self,
        lanes: Lanes = "auto",
        dtype: Precision = "float64",
        threads: int | None = None,
        max_operations: int = MAX_OPERATIONS,
    ) -> Self:
        """The same, running a straight-line program made for this robot.

        Takes seconds the first time; the code is kept on disk. Raises `ProgramTooLarge` where the program would have
        too many operations: stay native there.

        Args:
            lanes: States that share one SIMD register in batches; ``"auto"``: as many as fit this machine.
            dtype: Numbers to compute with.
            threads: Threads that share a large batch; by default as many as this evaluator has.
            max_operations: The most operations that a program may have.
        """
        kind, shared = checked_dtype(dtype), self._threads(threads)
        other = self._on(Backend("specialized", kind, checked_lanes(lanes), shared, max_operations))
        other._entry = other.runner.entry  # code is made now
        return other

    def _threads(self, threads: int | None) -> int:
        return self._backend.threads if threads is None else thread_count(threads)

    def _on(self, backend: Backend) -> Self:
        """The same on another backend."""
        other = copy(self)
        other._program = self._program
        other._set_backend(backend)
        return other

    def _for_type_of(self, inputs: Sequence[Any]) -> Self:
        """This evaluator, or the same in single precision where all arguments are."""
        if not self._backend.single_for_single:
            return self
        if not all(getattr(x, "dtype", None) == np.float32 for x in inputs if x is not None):
            return self
        with _LOCK:
            if self._single is None:
                self._single = self.native("float32")
        return self._single

    def operation_count(self) -> OperationCount:
        """Exact count of the operations of one evaluation, from the trace of the text for this robot."""
        return OperationCount.of_trace(self.counted_program.trace(limit=sys.maxsize))

    # Copies --------------------------------------------------------------------------------------

    def _recipe(self) -> dict[str, Any]:
        """Keyword arguments that make an equal evaluator."""
        return self._arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (type(self), self._recipe(), self._backend, dict(self.parameters))

    def __repr__(self) -> str:
        by = f" by {self.method}" if hasattr(self, "method") else ""
        return f"<{type(self).__name__} {self.quantity} of '{self.robot.name}'{by}, {self.backend}, {self._dtype}>"


def _remade(
    kind: type[BaseEvaluator], arguments: Mapping[str, Any], backend: Backend, parameters: Mapping[str, Any]
) -> BaseEvaluator:
    """An evaluator from what `BaseEvaluator.__reduce__` says of it."""
    made = kind(**arguments)
    made._set_backend(backend)
    if parameters:
        made._hold(parameters)
    return made


class ArrayEvaluator(BaseEvaluator, Differentiable):
    """An evaluator that is called with the arrays of its program: each is given, or held by the evaluator."""

    def _inputs(self, given: Sequence[npt.ArrayLike | None]) -> list[npt.ArrayLike]:
        """All inputs of the program from those given, with zero external wrenches if none are given."""
        parameters = self._parameter_inputs.names
        names = [name for name in self.program.algorithm.inputs if name not in parameters]
        inputs: list[Any] = list(given)
        if names[-1] == "wrenches":
            if len(inputs) == len(names) - 1:
                inputs.append(self._no_wrenches)
            elif len(inputs) == len(names) and inputs[-1] is None:
                inputs[-1] = self._no_wrenches
        if len(inputs) != len(names):
            raise InputError(f"{self.quantity} takes {', '.join(names)}; {were_given(len(inputs))}")
        return inputs

    def _outputs(self, out: Array | Sequence[Array] | None) -> list[Any]:
        """Arrays to write outputs to; None for those that are to be made."""
        shapes = self.runner.outputs
        if out is None:
            return [None] * len(shapes)
        if len(shapes) == 1:
            return [out]
        if isinstance(out, np.ndarray):
            return [out, *[None] * (len(shapes) - 1)]
        if not isinstance(out, tuple | list) or len(out) != len(shapes):
            names = list(self.program.algorithm.outputs)
            each = ", ".join(f"{name} {shape}" for name, shape in zip(names, shapes, strict=True))
            given = plural(len(out), "array") if isinstance(out, tuple | list) else type(out).__name__
            raise InputError(
                f"{self.quantity} writes {each}: out is an array for {names[0]}, or ({', '.join(names)}); found {given}"
            )
        return list(out)

    def bind(self, *inputs: Array, out: Array | Sequence[Array], **parameters: Array) -> Callable[[], None]:
        """A call without arguments that reads these arrays and writes ``out``, allocating nothing: for control loops.

        ``out`` is the array of the main output, or a tuple of all outputs in their order; an error names them. The
        arrays must fit as they are (C-contiguous, of this evaluator's dtype, one state or one batch axis). Shapes are
        checked here, numbers at every call. The call is for one thread at a time, as its arrays are.

        Args:
            inputs: Arrays that every call reads as they then are.
            out: Array that every call writes, or a tuple of as many as there are results.
            parameters: Parameters of the robot that are inputs, by name; the robot's own by default.
        """
        runner, outputs = self.runner, self._outputs(out)
        alone = isinstance(out, np.ndarray) and len(outputs) > 1
        if alone:
            lead = outputs[0].shape[: max(0, outputs[0].ndim - len(runner.outputs[0]))]
            outputs[1:] = [np.empty((*lead, *shape), self._dtype) for shape in runner.outputs[1:]]
        chosen = self._given_parameters(parameters, once=True)
        arrays = [*cast(list[Array], self._all_inputs(self._inputs(inputs), chosen)), *outputs]
        step = bound_call(runner, arrays)
        verify = self._verification(alone)
        if verify is None:
            return step

        def verified_step() -> None:
            try:
                step()
            except NotFinite:
                if not verify(arrays):  # may know why
                    raise
            else:
                verify(arrays)

        return verified_step

    def _verification(self, alone: bool) -> Callable[[Sequence[Array]], bool | None] | None:
        """What raises an error where inputs and outputs show that the results mean nothing, if anything does.

        It may compute them in another way instead, and then returns True.

        ``alone`` says that the caller has only the main output, and does not see the last.
        """
        return None


class ProgramEvaluator(ArrayEvaluator):
    """Any algorithm for one robot, ready to call: ``evaluator(q, v, ...)``.

    Args:
        robot: The mechanism.
        quantity: Name of what is computed, for messages.
        algorithm: Kernel text and the shapes of its arrays.
        plan: Makes the plan that the algorithm reads, from the robot and the frames.
        frames: Frames that the quantity is about, or that external wrenches act on.
        threads: Threads that share a large batch; by default as many as there are cores.
        parameters: Parameters of the robot that are inputs (`parameters` of a robot), further arguments of a call.
        arguments: Of a subclass: keyword arguments that make an equal evaluator of that class.
    """

    def __init__(
        self,
        robot: Model,
        quantity: str,
        algorithm: Algorithm,
        plan: Callable[[Model, Sequence[str]], Tree],
        frames: str | Sequence[str] = (),
        threads: int | None = None,
        arguments: Mapping[str, Any] | None = None,
        parameters: ParameterNames = (),
    ) -> None:
        names = frame_names(frames)
        if arguments is None:
            arguments = {"robot": robot, "quantity": quantity, "algorithm": algorithm, "plan": plan, "frames": names}

        def program() -> Program:
            return Program.of_robot(robot, algorithm, plan(robot, names))

        super().__init__(robot, quantity, program, arguments, names, threads, parameters)

    def _set_backend(self, backend: Backend) -> None:
        super()._set_backend(backend)
        self._direct: Callable[..., Any] = self._first_direct

    def _first_direct(self, *inputs: Any, **options: Any) -> Any:
        """The first calls: the general path, until a call for one state makes an entry point."""
        general = ProgramEvaluator.__call__.method.__get__(self)
        if self._has_entry(inputs):
            self._new_results, self._direct = self._direct_call(), self._direct_call(general)
        return general(*inputs, **options)

    @direct_call
    def __call__(
        self, *inputs: npt.ArrayLike, out: Array | Sequence[Array] | None = None, **parameters: npt.ArrayLike
    ) -> Any:
        """Evaluate: one array, or a tuple where the quantity has several.

        Args:
            inputs: Arrays, in the order of the quantity's inputs; leading axes are batch axes and broadcast.
            out: Array to write the result to, or a tuple of as many as there are results; by default new ones.
            parameters: Parameters of the robot that are inputs, by name; the robot's own by default.
        """
        if out is None and not parameters:
            made = self._new_results(*inputs)
            if made is not None:
                return made
        elif type(out) is np.ndarray and not self._own_parameters and [out.shape] == self._output_shapes:
            if not parameters and not self._entry(*inputs, out):
                return out
        typed = self._for_type_of([*inputs, *parameters.values(), *self._outputs(out)])
        chosen = typed._given_parameters(parameters)
        results = typed.runner.evaluate(typed._all_inputs(typed._inputs(inputs), chosen), self._outputs(out))
        return results[0] if len(results) == 1 else tuple(results)
