# SPDX-License-Identifier: BSD-3-Clause
"""Several programs as one module of WebAssembly: functions without arguments over one memory of doubles.

Every array has a fixed place. Inputs of the same name and length are one array, so that a state is written once for all
functions; outputs belong to their function. A function of a straight line calls its parts, and further iterations are a
loop; a function of kernels calls the loop of an object that is linked, with its context in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from linkwork.compilers.entry import batch
from linkwork.compilers.trace.parts import Part, Parts, cut
from linkwork.compilers.trace.tracing import Trace
from linkwork.compilers.wasm import binary, kernel_code
from linkwork.compilers.wasm.kernel_code import KernelFunction
from linkwork.compilers.wasm.object_file import link
from linkwork.compilers.wasm.part_code import PartCode
from linkwork.compilers.wasm.sincos import fma_trace, sincos_trace
from linkwork.errors import InputError

PART_LENGTH = 800
"""Operations of a part: browsers compile parts one by one, each when it has run often enough."""

CARRY = "carry"
"""The array that the first iteration leaves to the others."""


@dataclass(frozen=True)
class Stopping:
    """When iterations end; None where the array ``settings`` says so."""

    tolerance: float | None = None
    most: float | None = None
    near: float | None = None
    """A residual at which iterations are about to end, for programs with a kernel to end with."""


@dataclass(frozen=True)
class WasmFunction:
    """A program, and its name."""

    name: str
    trace: Trace
    given: tuple[str, ...]
    """Inputs that callers write; the others are constants of the program."""
    stopping: Stopping = Stopping()

    @property
    def inputs(self) -> dict[str, int]:
        """Arrays that callers write, and their lengths."""
        return {array: size for array, size in self.trace.inputs if array in self.given and size}

    @property
    def outputs(self) -> dict[str, int]:
        """Arrays that it writes."""
        return {array: len(symbols) for array, symbols in self.trace.outputs if symbols}


@dataclass(frozen=True, eq=False)
class WasmModule:
    """A module, and where its arrays are."""

    binary: bytes
    inputs: Mapping[str, tuple[int, int]]
    """Place and length of inputs, in doubles: of all functions that read the name."""
    outputs: Mapping[str, Mapping[str, tuple[int, int]]]
    """Place and length of outputs, in doubles, by function."""
    numbers: int
    """Doubles of the memory that are in use."""


AnyFunction = WasmFunction | KernelFunction
"""A function of a module: a straight line, or kernels."""


def wasm_module(
    functions: Sequence[AnyFunction], values: Mapping[str, Sequence[float]] = MappingProxyType({})
) -> WasmModule:
    """The module of some programs.

    Args:
        functions: The programs, with different names.
        values: Initial values of inputs; zeros by default.
    """
    memory = _Memory()
    inputs = {array: (memory.taken(size), size) for array, size in _shared_inputs(functions).items()}
    outputs: dict[str, dict[str, tuple[int, int]]] = {}
    code: list[binary.Function | binary.Body] = [_function(sincos_trace()), _function(fma_trace())]
    exports: dict[str, int] = {}
    stack = None
    kernels = [function for function in functions if isinstance(function, KernelFunction)]
    if kernels:
        stack = memory.stack()
        values = {**values, **{array: x for function in kernels for array, x in function.values.items()}}
    for function in functions:
        if function.name in exports:
            raise InputError(f"two functions are called '{function.name}'")
        outputs[function.name] = {array: (memory.taken(size), size) for array, size in function.outputs.items()}
        if isinstance(function, KernelFunction):
            code += _kernel_functions(function, inputs, outputs[function.name], memory, len(code))
        else:
            code += _FunctionCode(function, inputs, outputs[function.name], memory, len(code)).functions
        exports[function.name] = len(code) - 1
    for array in inputs:
        memory.fill(inputs[array][0], values.get(array, ()))
    module = binary.module(code, exports, binary.DOUBLE * memory.numbers, memory.data, stack)
    return WasmModule(module, inputs, outputs, memory.numbers)


class _Memory:
    """Places of arrays, one after the other, and their initial values."""

    def __init__(self) -> None:
        self.numbers = 0
        self.data: dict[int, bytes] = {}

    def taken(self, size: int) -> int:
        """The place of a further array."""
        start = self.numbers
        self.numbers += size
        return start

    def stack(self) -> int:
        """The address at which a stack begins, which grows down from there."""
        self.numbers += -self.numbers % 2 + kernel_code.STACK // binary.DOUBLE
        return binary.DOUBLE * self.numbers

    def fill(self, place: int, numbers: Any) -> int:
        """Doubles, or 64-bit integers, that are there at first; returns the address."""
        values = np.ravel(numbers)
        content = values.astype("<i8" if values.dtype.kind == "i" else "<f8").tobytes()
        if content.strip(b"\0"):
            self.data[binary.DOUBLE * place] = content.rstrip(b"\0")
        return binary.DOUBLE * place

    def kept(self, numbers: Any) -> int:
        """The address of a further array that is filled."""
        return self.fill(self.taken(np.size(numbers)), numbers)


def _shared_inputs(functions: Sequence[AnyFunction]) -> dict[str, int]:
    shared: dict[str, int] = {}
    for function in functions:
        for array, size in function.inputs.items():
            if shared.setdefault(array, size) != size:
                raise InputError(
                    f"input '{array}' of '{function.name}' has {size} numbers, that of another function "
                    f"{shared[array]}: export them to different modules"
                )
    return shared


def _kernel_functions(
    function: KernelFunction,
    inputs: Mapping[str, tuple[int, int]],
    outputs: dict[str, tuple[int, int]],
    memory: _Memory,
    first: int,
) -> list[binary.Function | binary.Body]:
    """The functions of the object of a program, the one to call last; work arrays that it shows become outputs."""
    angles = kernel_code.angle_functions()
    outside = {**kernel_code.OUTSIDE, **{name: first + k for k, name in enumerate(angles)}}
    memory.numbers += -memory.numbers % 2
    object_file = kernel_code.kernel_object(function.program.algorithm)
    linked = link(object_file, first + len(angles), binary.DOUBLE * memory.numbers, outside)
    memory.data |= linked.data
    memory.numbers += sum(-(-len(content) // 16) * 2 for content in linked.data.values())
    sizes, arrays, work = kernel_code.context_arrays(function.program)
    algorithm = function.program.algorithm
    places = [inputs.get(array, (0, 0)) for array in algorithm.inputs]
    places += [outputs.get(array, (0, 0)) for array in algorithm.outputs]
    own_places = {name: (memory.taken(size), size) for name, size in work.items()}
    words = [*sizes, *map(memory.kept, arrays), *(binary.DOUBLE * place for place, _ in own_places.values())]
    outputs |= {name: own_places[name] for name in function.shown}
    context = memory.kept(np.array(words, np.int64))
    addresses = memory.kept(np.array([binary.DOUBLE * place for place, _ in places], np.int64))
    strides = memory.kept(np.array([size for _, size in places], np.int64))
    call = kernel_code.entry(addresses, strides, context, linked.exports[batch.SYMBOL])
    return [*angles.values(), *linked.functions, call]


def _function(trace: Trace) -> binary.Function:
    """A scalar function of scalar arguments."""
    part = Part(cut(trace, len(trace.graph.nodes)).parts[0].nodes)
    results = [symbol for _, symbols in trace.outputs for symbol in symbols]
    parameters = len(trace.inputs)
    return PartCode(
        trace.graph.nodes,
        part,
        lambda array, place: binary.get(array),
        lambda array, place: 0,
        parameters=parameters,
        results=results,
    ).function


class _FunctionCode:
    """The functions of one program, the one to call last."""

    def __init__(
        self,
        function: WasmFunction,
        inputs: Mapping[str, tuple[int, int]],
        outputs: Mapping[str, tuple[int, int]],
        memory: _Memory,
        first: int,
    ) -> None:
        trace = function.trace
        programs = {"first": cut(trace, PART_LENGTH)}
        programs |= {label: cut(program, PART_LENGTH) for label, program in trace.further.items()}
        self._starts = [inputs[array][0] if array in inputs else 0 for array, _ in trace.inputs]
        self._starts += [outputs[array][0] if array in outputs else 0 for array, _ in trace.outputs]
        self._starts.append(memory.taken(len(trace.carry)))
        self._work = memory.taken(max(program.work for program in programs.values()))
        self._first_output = len(trace.inputs)
        self.functions: list[binary.Function] = []
        calls: dict[str, bytes] = {}
        for label, program in programs.items():
            parts = [self._part(program, part) for part in program.parts]
            calls[label] = b"".join(binary.call(first + len(self.functions) + k) for k in range(len(parts)))
            self.functions += parts
        main = self._cleared(trace, programs["first"]) + calls["first"]
        if trace.further:
            main += self._loop(trace, function.stopping, calls, inputs)
        self.functions.append(binary.Function(main, locals=1))

    def _part(self, program: Parts, part: Part) -> binary.Function:
        return PartCode(
            program.trace.graph.nodes,
            part,
            lambda array, entry: binary.load(self._starts[array] + entry),
            lambda array, entry: self._starts[self._first_output + array] + entry,
            work=self._work,
        ).function

    def _cleared(self, trace: Trace, program: Parts) -> bytes:
        sizes = [len(symbols) for _, symbols in trace.outputs]
        return b"".join(
            binary.fill_zeros(self._starts[self._first_output + k], sizes[k]) for k in program.cleared if sizes[k]
        )

    def _loop(
        self, trace: Trace, stopping: Stopping, calls: Mapping[str, bytes], inputs: Mapping[str, tuple[int, int]]
    ) -> bytes:
        """``for (k = 1; k < most && progress > tolerance; ++k)``, the last iteration by a program of its own if any."""
        progress = binary.load(self._starts[self._first_output + len(trace.outputs) - 1])

        def setting(known: float | None, entry: int) -> bytes:
            return binary.load(inputs["settings"][0] + entry) if known is None else binary.constant(known)

        tolerance, most = setting(stopping.tolerance, 0), setting(stopping.most, 1)
        k, one = binary.get(0), binary.constant(1.0)
        set_k = binary.SET + binary.unsigned(0)
        done = k + most + binary.LESS + progress + tolerance + binary.GREATER + binary.AND + binary.NOT
        body = calls["iterate"]
        if "refine" in calls:
            last = k + one + binary.PLUS + most + binary.LESS + binary.NOT
            soon = progress + progress + binary.TIMES + tolerance + binary.LESS_EQUAL
            near = progress + setting(stopping.near, 2) + binary.LESS_EQUAL
            either = last + soon + binary.OR + near + binary.OR
            body = either + binary.IF + calls["refine"] + binary.ELSE + calls["iterate"] + binary.END
        return b"".join(
            [
                *(one, set_k, binary.BLOCK, binary.LOOP),
                *(done, binary.branch_if(1)),
                *(body, k, one, binary.PLUS, set_k, binary.BRANCH, binary.unsigned(0)),
                *(binary.END, binary.END),
            ]
        )
