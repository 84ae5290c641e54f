# SPDX-License-Identifier: BSD-3-Clause
"""`export_wasm`: programs of evaluators as a module of WebAssembly, with a script and types for JavaScript."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from linkwork.closure.minimal import Minimal
from linkwork.compilers.trace.tracing import MAX_OPERATIONS
from linkwork.compilers.wasm.kernel_code import KernelFunction
from linkwork.compilers.wasm.module import AnyFunction, Stopping, WasmFunction, WasmModule, wasm_module
from linkwork.conversions import converted_but
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.export import wasm_text
from linkwork.export.writing import (
    exportable,
    exported_trace,
    held_values,
    identifier,
    program_source,
    stopping_of,
    write_text,
)
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.counts import OperationCount
from linkwork.quantities.evaluator import check_actuators
from linkwork.simulation import Stepper

Evaluators = Mapping[str, BaseEvaluator | Minimal]
"""Evaluators by the names of their functions."""

CONTACT_INPUTS = ("commands", "wrenches", "passive", "regularization", "timing")
"""Inputs of steps with contacts after the torques, but for the number of steps."""
CONTACT_FRAMES = ("point", "contact_R")
"""Work arrays of steps with contacts: positions and axes of the contact points before the last step, by slots."""

RESERVED = ("memory", "inputs")
"""Names of an instance that are no functions."""


@dataclass(frozen=True)
class WasmProgram:
    """A module of WebAssembly that was written: names and sizes for calls."""

    name: str
    """The npm package, and the stem of its files."""
    folder: Path
    """Where all files are."""
    module: Path
    """The module, ``NAME.wasm``."""
    script: Path
    """The wrapper, ``NAME.js``; its types are beside it, in ``NAME.d.ts``."""
    size: int
    """Bytes of the module."""
    inputs: Mapping[str, tuple[int, int]]
    """Arrays that callers write: first place in the memory and length, in doubles."""
    outputs: Mapping[str, Mapping[str, tuple[int, int]]]
    """Arrays that each function writes: first place in the memory and length, in doubles."""
    operations: Mapping[str, OperationCount]
    """Of each function that is a straight line."""


@converted_but("evaluator")
def export_wasm(
    evaluator: BaseEvaluator | Minimal | Evaluators,
    folder: str | os.PathLike[str],
    *,
    name: str | None = None,
    arguments: Sequence[str] = (),
    max_operations: int = MAX_OPERATIONS,
) -> WasmProgram:
    """Write the straight-line programs of evaluators as WebAssembly, with a script for JavaScript: an npm package.

    The module imports nothing: sine and cosine are those of native code. Its functions have no arguments; they read and
    write arrays of doubles at fixed places of one memory, which the script shows as ``Float64Array``. Inputs of the
    same name are one array for all functions. Inputs that a call of the evaluator does not need are constants, as in
    `export_c`.

    Args:
        evaluator: The evaluator, or several by the names that their functions get.
        folder: The folder to write; it may exist.
        name: Name of the package; by default that of the folder. It names the function of a single evaluator.
        arguments: Inputs that are to be arrays in memory instead of constants; they begin with the evaluator's values.
        max_operations: The most operations that a program may have.
    """
    place = Path(folder)
    called = identifier(place.resolve().name if name is None else name, exact=name is not None)
    evaluators = {called: evaluator} if isinstance(evaluator, BaseEvaluator | Minimal) else evaluator
    module, functions = compiled_module(evaluators, arguments, max_operations)
    files = {
        "package.json": wasm_text.package(called),
        f"{called}.js": wasm_text.script(called, module),
        f"{called}.d.ts": wasm_text.types(called, module),
        "README.md": wasm_text.readme(
            called, {name: program_source(x) for name, x in evaluators.items()}, module, functions
        ),
    }
    try:
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{called}.wasm").write_bytes(module.binary)
    except OSError as error:
        raise InputError(f"cannot write {place}: {error.strerror or error}") from None
    for file, text in files.items():
        write_text(place / file, text, "utf-8")
    return WasmProgram(
        called,
        place,
        place / f"{called}.wasm",
        place / f"{called}.js",
        len(module.binary),
        module.inputs,
        module.outputs,
        {f.name: OperationCount.of_trace(f.trace) for f in functions if isinstance(f, WasmFunction)},
    )


def compiled_module(
    evaluators: Evaluators, arguments: Sequence[str] = (), max_operations: int = MAX_OPERATIONS
) -> tuple[WasmModule, list[AnyFunction]]:
    """The module of evaluators, and its functions.

    Args:
        evaluators: Evaluators, by the names of the functions.
        arguments: Inputs that are arrays in memory instead of constants, in functions that have them.
        max_operations: The most operations of a program.
    """
    if not isinstance(evaluators, Mapping) or not evaluators:
        raise InputError(f"export_wasm takes an evaluator, or evaluators by name; found {type(evaluators).__name__}")
    sources: dict[str, BaseEvaluator] = {name: program_source(source) for name, source in evaluators.items()}
    for name in evaluators:
        if name in RESERVED:
            raise InputError(f"a function cannot be called '{name}': the instance has that name already")
    known = {name: _names(evaluator) for name, evaluator in sources.items()}
    for argument in arguments:
        if not any(argument in names for names in known.values()):
            raise InputError(f"no function has an input '{argument}' to make an argument of")
    functions: list[AnyFunction] = []
    values: dict[str, list[float]] = {}
    for name, evaluator in sources.items():
        if isinstance(evaluator, Stepper) and evaluator.contact:
            functions.append(_kernel_function(identifier(name, exact=True), evaluator, "commands" in arguments))
            continue
        own = [argument for argument in arguments if argument in known[name]]
        trace, constants, source = exported_trace(evaluator, own, max_operations)
        stopping = stopping_of(trace, constants)
        functions.append(WasmFunction(identifier(name, exact=True), trace, source, Stopping(*(stopping or ()))))
        values |= {"q": evaluator.robot.neutral().tolist()} if dict(trace.inputs).get("q") == evaluator.robot.nq else {}
        values |= {array: x.ravel().tolist() for array, x in evaluator.execution.held.items() if array in source}
        values |= {array: x for array, x in held_values(evaluator, own).items() if array in source}
    return wasm_module(functions, values), functions


def _kernel_function(name: str, stepper: Stepper, commanded: bool) -> KernelFunction:
    """Steps with contacts, which have loops of lengths that depend on the state, by their kernels."""
    if stepper.given is not None:
        raise UnsupportedFeature(
            f"contact points of some pairs of '{stepper.source.name}' are found by coal, outside of steps: give those "
            "shapes that steps know (docs/how-to/contact.md), or contact=False"
        )
    if commanded:
        check_actuators(stepper.source)
    held = stepper.held(None)
    values = dict(zip(CONTACT_INPUTS, held, strict=True)) | stepper.execution.held
    values |= {"q": stepper.robot.neutral(), "settings": stepper.held.once}
    values["timing"] = stepper.held.timing_commanded if commanded else stepper.held.timing
    return KernelFunction(name, stepper.program, values, CONTACT_FRAMES)


def _names(evaluator: BaseEvaluator) -> set[str]:
    exportable(evaluator)
    return set(held_values(evaluator, ()))
