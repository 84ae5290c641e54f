# SPDX-License-Identifier: BSD-3-Clause
"""Functions of a model as C source or WebAssembly, for ``linkwork export``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from rich.console import Console
from rich.text import Text

import linkwork as lw
from linkwork.cli.loading import ModelRequest, UsageError, check_method, load_moving
from linkwork.cli.operation_counts import known_methods
from linkwork.cli.options import ExportOptions
from linkwork.cli.terminal import printable, slow_notice
from linkwork.dynamics.inverse import METHODS as OF_INVERSE
from linkwork.dynamics.operational import METHODS as OF_INERTIA
from linkwork.errors import InputError
from linkwork.export import CProgram, WasmProgram, export_c, export_wasm
from linkwork.export.comments import operations_of
from linkwork.export.writing import identifier
from linkwork.inputs import suggest
from linkwork.mechanism import Mechanism
from linkwork.quantities.base import BaseEvaluator
from linkwork.simulation import Stepper


def export_file(file: Path, request: ModelRequest, options: ExportOptions) -> CProgram | WasmProgram:
    """Load a model and write the program of one of its functions."""
    robot = load_moving(file, request)
    default = options.name or identifier(f"{robot.name}_{options.what}")
    if options.wasm:
        return _export_wasm(robot, options, Path(default) if options.out is None else options.out)
    source = options.out if options.out is not None else Path(f"{default}.c")
    try:
        with slow_notice(f"writing {options.what} of '{robot.name}'"):
            return export_c(
                evaluator_of(robot, options),
                source,
                name=options.name,
                dtype=cast(Any, options.dtype),
                arguments=tuple(options.argument or ()),
            )
    except InputError as error:
        raise UsageError(str(error)) from None


def _export_wasm(robot: Mechanism, options: ExportOptions, folder: Path) -> WasmProgram:
    if options.single:
        raise UsageError("--float: WebAssembly is written in doubles; leave --float out")
    try:
        with slow_notice(f"writing {options.what} of '{robot.name}'"):
            function = evaluator_of(robot, options)
            return export_wasm(function, folder, name=options.name, arguments=tuple(options.argument or ()))
    except InputError as error:
        raise UsageError(str(error)) from None


def evaluator_of(robot: Mechanism, options: ExportOptions) -> BaseEvaluator:
    """The evaluator of a quantity."""
    for frame in options.frames:
        if frame not in robot.frames:
            raise UsageError(f"--frame: '{robot.name}' has no frame '{frame}'{suggest(frame, list(robot.frames))}")
    quantity = options.what.replace("-", "_")
    if quantity != "forward_dynamics" and options.iterations is not None:
        raise UsageError(f"--iterations: {options.what} does not iterate; it is for --what forward-dynamics")
    match quantity:
        case "forward_dynamics":
            (method,) = known_methods(robot, [options.method or "auto"])
            more: dict[str, Any] = {} if options.iterations is None else {"max_iterations": options.iterations}
            return lw.ForwardDynamics(robot, cast(Any, method), wrenches=options.frames, **more)
        case "inverse_dynamics":
            method = "auto" if options.method is None else check_method(options.method, tuple(OF_INVERSE))
            return lw.InverseDynamics(robot, cast(Any, method), wrenches=options.frames)
        case "operational_inertia":
            _needs_frames(options)
            method = check_method(options.method or "efpa", tuple(OF_INERTIA))
            return lw.OperationalInertia(robot, options.frames, cast(Any, method))
    if options.method is not None:
        raise UsageError(f"--method: {options.what} has one method only; leave --method out")
    if quantity == "step":
        return Stepper(robot, dt=options.dt)
    if quantity.startswith("frame_"):
        _needs_frames(options)
    elif options.frames:
        raise UsageError(f"--frame: {options.what} has no frames; leave --frame out")
    if quantity.startswith("constraint_") and not robot.constraints:
        raise UsageError(f"--what: '{robot.name}' has no constraints, which {options.what} needs")
    return lw.Evaluator(robot, cast(Any, quantity), options.frames)


def _needs_frames(options: ExportOptions) -> None:
    if not options.frames:
        raise UsageError(f"--frame: {options.what} needs one frame or more")


def draw_export(console: Console, program: CProgram | WasmProgram) -> None:
    """Print the names of written files."""
    if isinstance(program, WasmProgram):
        (name,) = program.outputs
        places = {**program.inputs, **program.outputs[name]}
        lines = {
            "folder": str(program.folder),
            "module": f"{program.module.name}, {program.size} bytes",
            "function": f"{name}: {', '.join(f'{array}[{size}]' for array, (_, size) in places.items())}",
            "one call": operations_of(program.operations[name]),
        }
        _draw_lines(console, lines)
        return
    arrays = ", ".join(f"{name}[{size}]" for name, size in (*program.inputs.items(), *program.outputs.items()))
    lines = {
        "source": str(program.source),
        "header": str(program.header),
        "function": f"{program.name}({arrays})",
        "one call": f"{operations_of(program.operations)}; {program.stack} bytes of arrays on the stack",
    }
    _draw_lines(console, lines)


def _draw_lines(console: Console, lines: Mapping[str, str]) -> None:
    for word, text in lines.items():
        console.print(Text(f"  {word:<12}", "dim") + Text(printable(text)), overflow="fold")


def export_json(file: Path, program: CProgram | WasmProgram) -> dict[str, Any]:
    """The report for JSON; keys are explained in docs/reference/cli.md."""
    if isinstance(program, WasmProgram):
        (name,) = program.outputs
        count = program.operations[name]
        return {
            "linkwork": lw.__version__,
            "file": str(file),
            "function": name,
            "folder": str(program.folder),
            "module": str(program.module),
            "script": str(program.script),
            "size": program.size,
            "inputs": {array: size for array, (_, size) in program.inputs.items()},
            "outputs": {array: size for array, (_, size) in program.outputs[name].items()},
            "total": count.total,
            "iteration": count.iteration,
            "operations": dict(count),
        }
    return {
        "linkwork": lw.__version__,
        "file": str(file),
        "function": program.name,
        "source": str(program.source),
        "header": str(program.header),
        "dtype": program.dtype,
        "inputs": dict(program.inputs),
        "outputs": dict(program.outputs),
        "total": program.operations.total,
        "iteration": program.operations.iteration,
        "operations": dict(program.operations),
        "stack": program.stack,
    }
