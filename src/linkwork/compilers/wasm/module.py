# SPDX-License-Identifier: BSD-3-Clause
"""Several programs as one module of WebAssembly: functions without arguments over one memory of doubles.

Every array has a fixed place. Inputs of the same name and length are one array, so that a state is written once for all
functions; outputs belong to their function. A function calls its parts; further iterations are a loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from linkwork.compilers.trace.parts import Part, Parts, cut
from linkwork.compilers.trace.tracing import Trace
from linkwork.compilers.wasm import binary
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
    """A residual at which iterations are about to end, for programs with a text to end with."""


@dataclass(frozen=True)
class WasmFunction:
    """A program, and what it is called."""

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
    """The same of outputs, by function."""
    numbers: int
    """Doubles of the memory that are in use."""


def wasm_module(
    functions: Sequence[WasmFunction], values: Mapping[str, Sequence[float]] = MappingProxyType({})
) -> WasmModule:
    """The module of some programs.

    Args:
        functions: The programs, with different names.
        values: What inputs hold at first; zeros where nothing is said.
    """
    memory = _Memory()
    inputs = {array: (memory.taken(size), size) for array, size in _shared_inputs(functions).items()}
    outputs: dict[str, dict[str, tuple[int, int]]] = {}
    code = [_function(sincos_trace()), _function(fma_trace())]
    exports: dict[str, int] = {}
    for function in functions:
        if function.name in exports:
            raise InputError(f"two functions are called '{function.name}'")
        outputs[function.name] = {array: (memory.taken(size), size) for array, size in function.outputs.items()}
        emitted = _FunctionCode(function, inputs, outputs[function.name], memory, len(code))
        code += emitted.functions
        exports[function.name] = len(code) - 1
    at_first = {inputs[array][0]: values[array] for array in inputs if array in values}
    return WasmModule(binary.module(code, exports, memory.numbers, at_first), inputs, outputs, memory.numbers)


class _Memory:
    """Places of arrays, one after the other."""

    def __init__(self) -> None:
        self.numbers = 0

    def taken(self, size: int) -> int:
        """The place of a further array."""
        start = self.numbers
        self.numbers += size
        return start


def _shared_inputs(functions: Sequence[WasmFunction]) -> dict[str, int]:
    shared: dict[str, int] = {}
    for function in functions:
        for array, size in function.inputs.items():
            if shared.setdefault(array, size) != size:
                raise InputError(
                    f"input '{array}' of '{function.name}' has {size} numbers, that of another function "
                    f"{shared[array]}: export them to different modules"
                )
    return shared


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
