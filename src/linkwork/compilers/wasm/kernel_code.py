# SPDX-License-Identifier: BSD-3-Clause
"""Kernels as WebAssembly: the code that native code is made of, through LLVM, for code that is not a straight line.

Code is generic in the robot, as native code is: it reads a *context*, words with the sizes of the mechanism and the
addresses of its arrays, which are data of the module. So one object, made once and kept in the cache, serves all
robots. Words have 64 bits as in native code; an address is the lower half of one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from linkwork.compilers import llvm, native
from linkwork.compilers.cache import announced, fetch, key
from linkwork.compilers.entry import batch
from linkwork.compilers.lanes import Type
from linkwork.compilers.program import Program
from linkwork.compilers.wasm import binary
from linkwork.compilers.wasm.object_file import ObjectFile, read_object
from linkwork.compilers.wasm.part_code import FMA_OF_SUMS, SINCOS
from linkwork.kernels.algorithm import Algorithm, resolve

TRIPLE = "wasm32-unknown-unknown"
FEATURES = "+bulk-memory,+mutable-globals,+nontrapping-fptoint,+sign-ext"
"""Features of all browsers since 2021."""
STACK = 1 << 18
"""Bytes of the stack."""
SINE, COSINE = "sin", "cos"
"""Functions that kernels call for angles beyond `language.sincos.LIMIT`."""

_NO_WATCH = "define internal i64 @poll(ptr %watch) {\n  ret i64 0\n}"


@dataclass(frozen=True)
class KernelFunction:
    """A program that is run by its kernels, and its name."""

    name: str
    program: Program
    values: Mapping[str, Any] = field(default_factory=dict)
    """Initial values of inputs."""
    shown: tuple[str, ...] = ()
    """Work arrays of doubles that callers may read after a call, as they read outputs."""

    @property
    def inputs(self) -> dict[str, int]:
        """Arrays that callers write, and their lengths."""
        return _sizes(self.program, self.program.algorithm.inputs)

    @property
    def outputs(self) -> dict[str, int]:
        """Arrays that it writes."""
        return _sizes(self.program, self.program.algorithm.outputs)


def _sizes(program: Program, shapes: Mapping[str, Any]) -> dict[str, int]:
    sizes = {name: math.prod(resolve(shape, program.tree)) for name, shape in shapes.items()}
    return {name: size for name, size in sizes.items() if size}


@cache
def kernel_object(algorithm: Algorithm, features: str = FEATURES) -> ObjectFile:
    """The object of an algorithm, from the cache or compiled now.

    Args:
        algorithm: Its kernels.
        features: Of WebAssembly that it may use.
    """

    def make() -> bytes:
        with announced(f"{algorithm.name} (WebAssembly)"):
            machine = llvm.machine(TRIPLE, features=features, reloc="static")
            return llvm.object_code(_text(algorithm), native.SCALAR_LEVEL, machine, TRIPLE)

    name = key("wasm", features, native.cache_name(algorithm, "float64", 1))
    return read_object(fetch(name, make))


def _text(algorithm: Algorithm) -> str:
    """The LLVM IR: words of the context are as far apart as in native code, and nothing interrupts a loop."""
    text = native.module(algorithm, Type("float64", 1), contract=False)
    text = text.replace(batch.POLL, _NO_WATCH)
    return re.sub(r"getelementptr ptr, ptr %(c|arrays)\b", r"getelementptr i64, ptr %\1", text)


def angle_functions() -> dict[str, binary.Function]:
    """Sine and cosine, each as a function of its own."""
    both = binary.get(0) + binary.call(SINCOS)
    keep = binary.SET + binary.unsigned(0) + binary.DROP + binary.get(0)
    return {
        SINE: binary.Function(both + binary.DROP, parameters=1, results=1),
        COSINE: binary.Function(both + keep, parameters=1, results=1),
    }


OUTSIDE: Mapping[str, int] = {"fma": FMA_OF_SUMS}
"""Functions of every module that objects call."""


def context_arrays(program: Program) -> tuple[list[int], list[Any], dict[str, int]]:
    """Sizes of a mechanism, its arrays, and lengths of work arrays by name: the contents of the context, in order.

    Args:
        program: The program.
    """
    algorithm, tree = program.algorithm, program.tree
    layout = algorithm.layout
    sizes = [int(getattr(tree, name)) for name in layout.sizes]
    kinds = {name: np.int64 if name in layout.integers else np.float64 for name in layout.shapes}
    arrays = [np.ascontiguousarray(getattr(tree, name), dtype=kind) for name, kind in kinds.items()]
    work = {**algorithm.stored, **algorithm.integers}
    return sizes, arrays, {name: math.prod(resolve(shape, tree)) for name, shape in work.items()}


def entry(arrays: int, strides: int, context: int, function: int) -> binary.Function:
    """The function that calls the loop of an object for one state.

    Args:
        arrays: Address of the addresses of inputs and outputs.
        strides: Address of distances between rows.
        context: Address of the context.
        function: Number of the loop.
    """
    call = binary.address(arrays) + binary.address(strides) + binary.ONE + binary.address(context) + binary.address(0)
    return binary.Function(call + binary.call(function) + binary.DROP)
