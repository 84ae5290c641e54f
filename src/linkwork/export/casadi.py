# SPDX-License-Identifier: BSD-3-Clause
"""`export_casadi`: an evaluator and its derivatives as C source with CasADi's conventions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from linkwork.compilers.program import Program
from linkwork.compilers.trace.fixed import fixed
from linkwork.compilers.trace.tracing import MAX_OPERATIONS, Trace
from linkwork.conversions import converted
from linkwork.dynamics.forward import ForwardDynamics
from linkwork.dynamics.impact import ImpactDynamics
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.export import comments
from linkwork.export.c_source import PART, CText, Iterations, size_name
from linkwork.export.casadi_functions import CasadiArray, Differentiated, arrays_of, differentiated, only
from linkwork.export.casadi_text import EXPORT, MACROS, CasadiText, Slot
from linkwork.export.patterns import Pattern
from linkwork.export.writing import (
    Known,
    exportable,
    identifier,
    inputs_of,
    iterations_of,
    straight_program,
    write_text,
)
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.counts import OperationCount
from linkwork.quantities.products import Product
from linkwork.simulation import Stepper

NOTES = (
    "Functions have CasADi's C interface: compile this file into a shared library and load it with",
    "casadi.external. Matrices are column by column; inputs that are NULL are zero.",
    "",
    "Derivatives are by coordinates: of q by its numbers as they stand in q, the four of a quaternion too. Functions",
    "normalize quaternions (directions of planar joints too), so that derivatives along their length are zero.",
)


@dataclass(frozen=True)
class CasadiProgram:
    """C source for CasADi that was written, and its contents."""

    name: str
    """The function, as ``casadi.external(name, library)`` wants it."""
    source: Path
    header: Path
    inputs: Mapping[str, tuple[int, int]]
    """Rows and columns of the inputs, in order."""
    outputs: Mapping[str, tuple[int, int]]
    """Rows and columns of the outputs."""
    entries: Mapping[str, int]
    """Entries of each block of the Jacobian that are not zero in all states, ``jac_a_q`` for instance."""
    operations: Mapping[str, OperationCount]
    """Of each function: ``f``, ``fwd1``, ``adj1``, ``jac``, ``fwd1_adj1``; of a Jacobian in groups of columns, of one
    group. ``fwd1_adj1``, second derivatives, is absent where it would be too large."""
    groups: int
    """Forward products that the Jacobian takes; 0 where it is a straight line."""


@converted
def export_casadi(
    evaluator: BaseEvaluator,
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    arguments: Sequence[str] = (),
    derivatives: bool = True,
    max_operations: int = MAX_OPERATIONS,
) -> CasadiProgram:
    """Write an evaluator and its derivatives as C99 with the interface of CasADi's external functions.

    The file has ``f`` itself, its Jacobian ``jac_f`` with exact patterns, its products ``fwd1_f`` and ``adj1_f``, and
    ``fwd1_adj1_f``, which Hessians are made of, unless that has more than ``max_operations``.
    Compile it (``cc -O2 -shared -fPIC arm.c -o arm.so -lm``) and load it with ``casadi.external("arm", "./arm.so")``:
    CasADi then uses these derivatives. They are by coordinates: of ``q`` by its ``nq`` numbers.

    A Jacobian that would have more than ``max_operations`` is found by forward products with groups of columns that
    share no row.

    Args:
        evaluator: The evaluator.
        path: The ``.c`` file to write; a header is written beside it.
        name: Name of the function; by default that of the file.
        arguments: Inputs that are to be arguments of the function instead of constants.
        derivatives: Whether derivatives are written.
        max_operations: The most operations that a program may have.
    """
    evaluator = getattr(evaluator, "by_slots", evaluator)  # straight-line text has all slots
    exportable(evaluator)
    if isinstance(evaluator, Product):
        raise UnsupportedFeature(
            f"{evaluator.quantity} is a product, which CasADi derives from the function: export the function, "
            "whose fwd1 and adj1 are its products"
        )
    source = Path(path)
    if source.suffix != ".c":
        raise InputError(f"{source} does not end in .c")
    called = identifier(source.stem if name is None else name, exact=name is not None)
    program = _program(evaluator)
    straight, known = straight_program(evaluator, program, arguments, max_operations)
    arrays = inputs_of(straight, known)
    inputs, outputs = arrays_of(program, straight, arrays)
    straight = only(straight, outputs)
    main = CText(f"{called}_program", straight, "double", arrays, iterations_of(straight, known, "double"))
    texts = [CasadiText(called, _arrays(inputs), _arrays(outputs), main)]
    counts = {"f": OperationCount.of_trace(straight)}
    functions = None
    if derivatives:
        functions = _derivatives(evaluator, program, known, inputs, outputs, max_operations)
        texts += _derivative_texts(called, functions, arrays)
        counts |= {
            "fwd1": OperationCount.of_trace(functions.forward),
            "adj1": OperationCount.of_trace(functions.reverse),
            "jac": OperationCount.of_trace(functions.jacobian or functions.forward),
        }
        if functions.second is not None:
            counts["fwd1_adj1"] = OperationCount.of_trace(functions.second)
    header = source.with_suffix(".h")
    write_text(header, _header(evaluator, called, texts, counts))
    write_text(source, _source(header.name, texts))
    return CasadiProgram(
        called,
        source,
        header,
        {x.name: (x.pattern.rows, x.pattern.columns) for x in inputs},
        {y.name: (y.pattern.rows, y.pattern.columns) for y in outputs},
        {} if functions is None else _entries(functions),
        counts,
        0 if functions is None else len(functions.groups),
    )


def _program(evaluator: BaseEvaluator) -> Program:
    """The program to write: of steps, one without the loop that repeats it."""
    return evaluator.planned.differentiated if isinstance(evaluator, Stepper) else evaluator.exported_program


def _derivatives(
    evaluator: BaseEvaluator,
    program: Program,
    known: Known,
    inputs: Sequence[CasadiArray],
    outputs: Sequence[CasadiArray],
    limit: int,
) -> Differentiated:
    iterates = program.algorithm.iterate is not None
    if iterates and not isinstance(evaluator, ForwardDynamics | ImpactDynamics):
        raise UnsupportedFeature(
            f"{evaluator.quantity} of '{evaluator.robot.name}' iterates, and its iterations have no derivatives in C; "
            "derivatives=False writes the function alone"
        )
    once = program.without_iterations()
    held = {name: values for name, values in known.items() if not iterates or name != "multipliers"}
    return differentiated(fixed(once.trace(limit), held), inputs, outputs, limit)


# Functions ---------------------------------------------------------------------------------------------------------


def _arrays(arrays: Sequence[CasadiArray]) -> tuple[Slot, ...]:
    """Inputs or outputs that are arrays of the program as it has them."""
    return tuple(Slot(x.name, x.pattern, x.array, x.size, None if x.in_order else x.places) for x in arrays)


def _nominal(function: Differentiated) -> tuple[Slot, ...]:
    """The nominal outputs of the function, which derivatives take as inputs: only forces are read, if any."""
    return tuple(
        Slot(f"out_{y.name}", y.pattern, y.name, y.pattern.size)
        if function.start and y.name == "multipliers"
        else Slot(f"out_{y.name}", Pattern.empty(y.pattern.rows, y.pattern.columns))
        for y in function.outputs
    )


def _directions(arrays: Sequence[CasadiArray], prefix: str) -> tuple[Slot, ...]:
    return tuple(Slot(f"{prefix}{x.name}", x.pattern, f"{prefix}{x.name}", x.pattern.size) for x in arrays)


def _derivative_texts(name: str, function: Differentiated, given: Sequence[str]) -> list[CasadiText]:
    state = (*_arrays(function.inputs), *_nominal(function))
    ahead = (*state, *_directions(function.inputs, "fwd_"))
    forward = _text(f"fwd1_{name}_program", function.forward, ahead)
    back = (*state, *_directions(function.outputs, "adj_"))
    blocks = tuple(
        Slot(f"jac_{y.name}_{x.name}", block, f"jac_{y.name}_{x.name}", block.size)
        for y, row in zip(function.outputs, function.patterns, strict=True)
        for x, block in zip(function.inputs, row, strict=True)
    )
    result = [
        CasadiText(f"fwd1_{name}", ahead, _directions(function.outputs, "fwd_"), forward),
        CasadiText(
            f"adj1_{name}",
            back,
            _directions(function.inputs, "adj_"),
            _text(f"adj1_{name}_program", function.reverse, back),
        ),
    ]
    if function.second is not None:
        nominal = tuple(
            Slot(f"out_adj_{x.name}", Pattern.empty(x.pattern.rows, x.pattern.columns)) for x in function.inputs
        )
        along = tuple(
            replace(x, name=f"fwd_{x.name}", array=None if x.array is None else f"fwd_{x.name}", places=None)
            for x in back
        )
        twice = (*back, *nominal, *along)
        ends = tuple(Slot(f"fwd_adj_{x.name}", x.pattern, f"fwd_adj_{x.name}", x.pattern.size) for x in function.inputs)
        result.append(
            CasadiText(f"fwd1_adj1_{name}", twice, ends, _text(f"fwd1_adj1_{name}_program", function.second, twice))
        )
    if function.jacobian is None:
        return [*result, CasadiText(f"jac_{name}", state, blocks, forward, function)]
    return [*result, CasadiText(f"jac_{name}", state, blocks, _text(f"jac_{name}_program", function.jacobian, state))]


def _text(name: str, traced: Trace, inputs: Sequence[Slot]) -> CText:
    arrays = [x.array for x in inputs if x.array is not None]
    straight = replace(traced, outputs=tuple(output for output in traced.outputs if output[1]))
    return CText(name, straight, "double", arrays, Iterations("0", "1"))


def _entries(function: Differentiated) -> dict[str, int]:
    return {
        f"jac_{y.name}_{x.name}": block.size
        for y, row in zip(function.outputs, function.patterns, strict=True)
        for x, block in zip(function.inputs, row, strict=True)
    }


# Files -------------------------------------------------------------------------------------------------------------


def _header(
    evaluator: BaseEvaluator, name: str, texts: Sequence[CasadiText], counts: Mapping[str, OperationCount]
) -> str:
    guard = f"{name}_H".upper()
    main = texts[0]
    facts = [
        f"{name}: {comments.title(evaluator)}",
        "",
        *NOTES,
        "",
        *comments.arrays_of(
            {x.name: x.pattern.size for x in main.inputs}, {y.name: y.pattern.size for y in main.outputs}
        ),
        "",
        *comments.order_of(evaluator.robot),
        "",
        *comments.CONVENTIONS,
        "",
        *(f"{kind}: {comments.operations_of(count)}" for kind, count in counts.items()),
    ]
    lines = [comments.comment(facts), f"#ifndef {guard}", f"#define {guard}", "", MACROS]
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    lines += [f"{prototype};" for text in texts for prototype in text.prototypes()]
    lines += ["", "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    return "\n".join(lines)


def _source(header: str, texts: Sequence[CasadiText]) -> str:
    begin = comments.comment([f"{texts[0].name}: see {header}"])
    lines = [begin, f'#include "{header}"', "", "#include <math.h>", "", EXPORT, PART]
    written = set[str]()
    for text in texts:
        program = text.program
        if program.name not in written:
            written.add(program.name)
            sizes = (*program.inputs.items(), *program.outputs.items())
            lines += [f"#define {size_name(program.name, array)} {size}" for array, size in sizes]
            lines += ["", program.functions(static=True)]
        lines.append(text.source())
    return "\n".join(lines)
