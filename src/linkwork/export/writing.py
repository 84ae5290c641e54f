# SPDX-License-Identifier: BSD-3-Clause
"""`export_c`: the program of an evaluator, written as C to two files."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.closure.completion import Completion
from linkwork.closure.minimal import Minimal
from linkwork.compilers.program import Program
from linkwork.compilers.trace.fixed import fixed
from linkwork.compilers.trace.tracing import MAX_OPERATIONS, Trace
from linkwork.conversions import converted_but
from linkwork.dynamics.forward import ForwardDynamics
from linkwork.dynamics.iterations import row_regularization
from linkwork.dynamics.jacobians.loop_inverse import LoopInverseDerivatives
from linkwork.errors import InputError, LinkworkError, ProgramTooLarge, UnsupportedFeature
from linkwork.export import comments
from linkwork.export.c_source import CText, Iterations, literal, size_name
from linkwork.inputs import Precision, plural
from linkwork.kernels.steps.clock import FIRST
from linkwork.plans.lcaba import any_regularization, has_closed_forms
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.counts import OperationCount
from linkwork.quantities.evaluator import check_actuators
from linkwork.quantities.products import Product
from linkwork.simulation import Stepper
from linkwork.simulation.derivatives import StepFunction, StepJacobian

Known = dict[str, Sequence[float | None]]
"""Values of inputs of a program; None is an entry that its caller writes."""

NUMBERS: Mapping[str, str] = {"float64": "double", "float32": "float"}

_KEYWORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long main "
    "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while"
)


@dataclass(frozen=True)
class CProgram:
    """C source that was written: names and sizes for calls."""

    name: str
    """The function."""
    source: Path
    header: Path
    dtype: Precision
    inputs: Mapping[str, int]
    """Arrays that the function reads, in the order of its arguments, and their lengths."""
    outputs: Mapping[str, int]
    """Arrays that it writes, after the inputs."""
    operations: OperationCount
    stack: int
    """Bytes of its arrays on the stack."""


@converted_but("evaluator")
def export_c(
    evaluator: BaseEvaluator | Minimal,
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    dtype: Precision = "float64",
    arguments: Sequence[str] = (),
    max_operations: int = MAX_OPERATIONS,
) -> CProgram:
    """Write the straight-line program of an evaluator as C99, to a ``.c`` file and a header beside it.

    The function takes arrays of doubles, or floats, needs ``<math.h>`` alone, allocates nothing and keeps nothing: any
    number of threads may call it. Inputs that a call of the evaluator does not need, such as regularization and
    settings of iterations, are constants in it, with the values that the evaluator has.

    Args:
        evaluator: The evaluator; `Minimal` is exported as its `Completion`, loop closure and ``G``.
        path: The ``.c`` file to write.
        name: Name of the function; by default that of the file.
        dtype: Numbers of the function: doubles or floats.
        arguments: Inputs that are to be arguments of the function instead of constants.
        max_operations: The most operations that the program may have.
    """
    if not isinstance(dtype, str) or dtype not in NUMBERS:
        raise InputError(f"dtype '{dtype}' is neither 'float64' nor 'float32'")
    chosen: BaseEvaluator = program_source(evaluator)
    exportable(chosen, dtype)
    source = Path(path)
    if source.suffix != ".c":
        raise InputError(f"{source} does not end in .c")
    called = identifier(source.stem if name is None else name, exact=name is not None)
    number = NUMBERS[dtype]
    text, counted = _text(chosen, called, number, arguments, max_operations)
    header = source.with_suffix(".h")
    facts = _facts(chosen, text, counted)
    write_text(header, _header(chosen, text, facts))
    write_text(source, _source(header.name, text))
    return CProgram(called, source, header, dtype, text.inputs, text.outputs, counted, text.stack)


def program_source(given: Any) -> Any:
    """The evaluator that is exported: of minimal coordinates, their completion.

    Args:
        given: The evaluator.
    """
    return Completion(given.robot) if isinstance(given, Minimal) else given


def exportable(evaluator: Any, dtype: Precision = "float64") -> None:
    """Raise an error where an evaluator is no program that stands by itself."""
    if not isinstance(evaluator, BaseEvaluator):
        raise InputError(
            f"an export needs an evaluator, such as ForwardDynamics or Evaluator; found {type(evaluator).__name__}"
        )
    method = getattr(evaluator, "method", "")
    if isinstance(evaluator, ForwardDynamics) and method == "kkt":
        raise UnsupportedFeature("kkt is dense linear algebra in NumPy: there is nothing to export; use another method")
    if isinstance(evaluator, Product) and evaluator.computation is not None:
        raise UnsupportedFeature(
            f"{evaluator.quantity} by a method that iterates is several programs: take one that does not, 'ltl' or "
            "'cluster' for instance, or export_casadi of the function, which writes its derivatives too"
        )
    if isinstance(evaluator, LoopInverseDerivatives | StepJacobian):
        raise UnsupportedFeature(f"{evaluator.quantity} are products with unit directions: export the jvp instead")
    if method == "pv_early" and dtype != "float64":
        raise UnsupportedFeature("pv_early needs float64: it tests which joints move a row")


def identifier(text: str, exact: bool = False) -> str:
    """A name that C takes, made of a text; with ``exact``, the text itself or an error."""
    name = re.sub(r"\W+", "_", text.encode("ascii", "ignore").decode()).strip("_").lower() or "model"
    taken = _KEYWORDS.split()
    name = f"m_{name}" if name[0].isdigit() or name in taken else name
    if exact and (not re.fullmatch(r"[A-Za-z_]\w*", text, re.ASCII) or text in taken):
        raise InputError(f"'{text}' is not a name of a C function; '{name}' is")
    return text if exact else name


def straight_program(
    evaluator: BaseEvaluator, program: Program, arguments: Sequence[str], limit: int
) -> tuple[Trace, Known]:
    """The trace of a program of an evaluator with inputs that are known, and these.

    Args:
        evaluator: The evaluator.
        program: A program of it.
        arguments: Inputs that are not to be known, beside those that every call needs.
        limit: The most operations.
    """
    if "regularization" in arguments and has_closed_forms(program.algorithm.layout):
        program = replace(program, tree=any_regularization(program.tree))  # a caller may give each row its own
    try:
        traced = program.trace(limit)
    except (ProgramTooLarge, UnsupportedFeature) as error:
        raise _refusal(evaluator, limit, error) from None
    held = held_values(evaluator, arguments)
    for argument in arguments:
        if argument not in held:
            extra = f"; there are {', '.join(held)}" if held else ": it has all inputs as arguments"
            raise InputError(f"{evaluator.quantity} has no input '{argument}' to make an argument of{extra}")
    known: Known = {array: values for array, values in held.items() if array not in arguments}
    if len(known.get("timing", ())) > FIRST:  # a clock: all but the number of the step is constant
        known["timing"] = [*known["timing"][:FIRST], None]
    return fixed(traced, known), known


def inputs_of(straight: Trace, known: Known) -> tuple[str, ...]:
    """Inputs that are arguments of a program: those of which not all entries are known.

    Args:
        straight: The program.
        known: Values of inputs, None where an entry is not known.
    """
    return tuple(array for array, _ in straight.inputs if None in known.get(array, [None]))


def _refusal(evaluator: BaseEvaluator, limit: int, error: LinkworkError) -> LinkworkError:
    """The error of a program that is too long or no straight line, and what makes it one."""
    if isinstance(evaluator, Stepper) and evaluator.contact:
        robot = evaluator.source
        pairs = plural(len(robot.contacts), "contact pair")
        return UnsupportedFeature(
            f"steps of '{robot.name}' with {pairs} are no straight-line program of at most {limit} operations: leave "
            "contacts out, Stepper(..., contact=False) or --contacts none; WebAssembly has them as kernels"
        )
    if isinstance(error, ProgramTooLarge):
        return ProgramTooLarge(
            f"{evaluator.quantity} of '{evaluator.robot.name}' would be a program of more than {limit} operations: "
            "raise max_operations"
        )
    return error


def _text(
    evaluator: BaseEvaluator, name: str, number: str, arguments: Sequence[str], limit: int
) -> tuple[CText, OperationCount]:
    straight, known, inputs = exported_trace(evaluator, arguments, limit)
    counted = OperationCount.of_trace(straight)
    return CText(name, straight, number, inputs, iterations_of(straight, known, number)), counted


def exported_trace(
    evaluator: BaseEvaluator, arguments: Sequence[str], limit: int
) -> tuple[Trace, Known, tuple[str, ...]]:
    """The trace of an evaluator as it is exported, its inputs that are known, and the names of the others.

    Args:
        evaluator: The evaluator.
        arguments: Inputs that are not to be known, beside those that every call needs.
        limit: The most operations.
    """
    straight, known = straight_program(evaluator, evaluator.exported_program, arguments, limit)
    read = dict(straight.inputs)  # gradients are called after the inputs that they are by
    written = [(f"by_{array}" if array in read else array, symbols) for array, symbols in straight.outputs]
    straight = replace(straight, outputs=tuple(written))
    return straight, known, inputs_of(straight, known)


def iterations_of(traced: Trace, known: Known, number: str) -> Iterations:
    """When iterations of a program stop.

    Args:
        traced: The program.
        known: Values of inputs that are no arguments.
        number: Type of numbers in C.
    """
    stopping = stopping_of(traced, known)
    if stopping is None:
        return Iterations("settings[0]", "settings[1]", "settings[2]")
    tolerance, most, near = stopping
    return Iterations(literal(tolerance, number), str(int(most)), literal(near, number))


def stopping_of(traced: Trace, known: Known) -> tuple[float, float, float] | None:
    """Tolerance, most iterations and the residual near the end; None where settings are an argument.

    Args:
        traced: The program.
        known: Values of inputs that are no arguments.
    """
    if traced.iterate is None or "settings" not in known:
        return None
    tolerance, most, *others = (x for x in known["settings"] if x is not None)
    return tolerance, most, others[0] if traced.refine is not None else 0.0


def held_values(evaluator: BaseEvaluator, arguments: Sequence[str]) -> dict[str, list[float]]:
    """Inputs that a call of the evaluator does not need, and their values beside those that are to be ``arguments``.

    Args:
        evaluator: The evaluator.
        arguments: Inputs that are arguments of the exported function.
    """
    names = [name for name in evaluator.program.algorithm.inputs if name not in evaluator.parameters]
    result: dict[str, Any] = {}
    match evaluator:
        case Product():
            result = held_values(evaluator.evaluator, arguments)
        case StepFunction():
            result = held_values(evaluator.stepper, arguments)
        case Stepper():
            result = {
                "passive": evaluator.planned.passive,
                "regularization": row_regularization(evaluator.robot, evaluator.planned.solver.regularization),
                "timing": evaluator.held.timing_commanded if "commands" in arguments else evaluator.held.timing,
                "settings": [0.0, 2.0],  # one step
                "commands": evaluator.held.commands,
            }
            if "commands" in arguments:
                check_actuators(evaluator.source)
            if not evaluator.frames:
                result["wrenches"] = evaluator.held.wrenches
        case _:
            result = {name: x for name, x in evaluator.execution.held.items() if name != "wrenches"}
    return {name: np.asarray(x, dtype=np.float64).ravel().tolist() for name, x in result.items() if name in names}


# Files -------------------------------------------------------------------------------------------------------------


def _facts(evaluator: BaseEvaluator, text: CText, counted: OperationCount) -> list[str]:
    return [
        f"{text.name}: {comments.title(evaluator)}",
        "",
        "Straight-line code for one state, written by linkwork. It needs <math.h> alone, allocates nothing and keeps",
        "nothing between calls: any number of threads may call it. Inputs and outputs are arrays that do not overlap.",
        "",
        *comments.arrays_of(text.inputs, text.outputs),
        "",
        *comments.order_of(evaluator.robot),
        "",
        *comments.CONVENTIONS,
        *(comments.RESULT if "result" in text.outputs else ()),
        "",
        comments.operations_of(counted),
        f"{text.stack} bytes of arrays on the stack",
    ]


def _header(evaluator: BaseEvaluator, text: CText, facts: Sequence[str]) -> str:
    guard = f"{text.name}_H".upper()
    robot = evaluator.robot
    sizes = {
        f"{text.name}_{size}".upper(): value for size, value in (("NQ", robot.nq), ("NV", robot.nv), ("NC", robot.nc))
    }
    sizes |= {size_name(text.name, array): size for array, size in (*text.inputs.items(), *text.outputs.items())}
    if "result" in text.outputs:  # progress, iterations, forces, residuals
        sizes[f"{text.name}_RESULT_FORCES".upper()] = 2
        sizes[f"{text.name}_RESULT_RESIDUALS".upper()] = 2 + robot.nc
    lines = [
        comments.comment(facts),
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        *(f"#define {size} {value}" for size, value in sizes.items()),
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"{text.prototype()};",
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        "#endif",
        "",
    ]
    return "\n".join(lines)


def _source(header: str, text: CText) -> str:
    begin = comments.comment(
        [f"{text.name}: see {header}", "", "Numbers are named n and a count; parts follow one another."]
    )
    return "\n".join([begin, f'#include "{header}"', "", "#include <math.h>", "", text.source()])


def write_text(path: Path, text: str, encoding: str = "ascii") -> None:
    """Write a file, or say why not.

    Args:
        path: The file.
        text: Its content.
        encoding: Encoding of characters.
    """
    try:
        path.write_text(text, encoding=encoding)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
