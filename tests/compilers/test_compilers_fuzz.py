# SPDX-License-Identifier: BSD-3-Clause
"""Random programs and algorithms: however they are run, they compute the same.

Plain Python and machine code that fuses nothing agree to the last bit, scalar and in lanes. Code that fuses, straight
lines, C and single precision agree to what rounding allows, which a run of the same text on numbers with error bounds
(`rounding`) says for each result. ``LINKWORK_FUZZ`` is the number of programs.
"""

from __future__ import annotations

import ast
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, reject, settings
from hypothesis import strategies as st

from linkwork.compilers.lanes import Type
from linkwork.kernels.algorithm import Algorithm, resolve
from tests.support.kernel_backends import COMPILER, HEAD, SCALAR, Run, compiled, exported, plain, specialized
from tests.support.random_algorithms import Program, programs
from tests.support.random_kernels import FLOATS, INTEGERS
from tests.support.rounding import DOUBLE, SINGLE, Bounded, Precision, Undecided, is_less

PROGRAMS = int(os.environ.get("LINKWORK_FUZZ", "40"))
random_programs = settings(
    max_examples=PROGRAMS, database=None, print_blob=True, suppress_health_check=list(HealthCheck)
)


@dataclass(frozen=True)
class Case:
    """A program and what it is run on."""

    program: Program
    lanes: int
    seed: int
    shared: tuple[str, ...]
    """Inputs without a batch axis."""
    single: bool
    """Whether single precision is compared, too."""
    c: bool
    """Whether C is compiled and compared, too."""


@st.composite
def cases(draw: Callable[..., Any]) -> Case:
    program = draw(programs())
    names = list(program.inputs)
    batched = draw(st.sampled_from(names))
    shared = tuple(name for name in names if name != batched and draw(st.booleans()))
    often = [draw(st.integers(0, 9)) for _ in range(2)]
    lanes = draw(st.sampled_from([2, 4, 8]))
    return Case(program, lanes, draw(st.integers(0, 2**16)), shared, often[0] > 7, often[1] == 9)


def inputs_of(case: Case) -> list[Any]:
    """Numbers that single precision holds, some of them zeros and ones."""
    rng = np.random.default_rng(case.seed)
    found = []
    for name, shape in case.program.inputs.items():
        lead = () if name in case.shared else (2 * case.lanes + 1,)
        x = rng.normal(size=(*lead, *resolve(shape, case.program.tree)))
        x[rng.random(x.shape) < 0.1] = 0.0
        x[rng.random(x.shape) < 0.1] = 1.0
        if name == "settings":
            x[..., 0] = rng.choice([0.4, 0.1, 1e-2, 1e-4], size=lead)
            x[..., 1] = rng.integers(1, 7, size=lead)
        found.append(x.astype(np.float32).astype(np.float64))
    return found


# What rounding allows ------------------------------------------------------------------------------------------------


def bounds(case: Case, inputs: list[Any], precision: Precision) -> list[tuple[Any, Any]]:
    """Each output and how far it is known: the text, run on numbers with error bounds."""
    program, tree = case.program, case.program.tree
    module = bounded_text(program.text, precision)
    integers = {name: getattr(tree, name).astype(object) for name in INTEGERS}
    floats = {name: objects(getattr(tree, name), precision.constant) for name in FLOATS}
    loose = tree._replace(**integers, **floats)
    ranks = [len(shape) for shape in program.inputs.values()]
    count, found = 2 * case.lanes + 1, []
    for s in range(count):
        rows = [x[s] if x.ndim > rank else x for x, rank in zip(inputs, ranks, strict=True)]
        given = [objects(row, lambda x: Bounded(x, 0.0, precision)) for row in rows]
        outputs = [np.empty(resolve(shape, tree), dtype=object) for shape in program.outputs.values()]
        work = SimpleNamespace(
            **{name: np.empty(resolve(shape, tree), dtype=object) for name, shape in program.work.items()}
        )
        module["text"](loose, work, *given, *outputs)
        while program.iterates and goes_on(given[-1], outputs[-1]):
            module["again"](loose, work, *given, *outputs)
        found.append(outputs)
    allowed = []
    for k, shape in enumerate(program.outputs.values()):
        numbers = [[(x.value, x.error) for x in outputs[k].ravel()] for outputs in found]
        pairs = np.array(numbers, dtype=float).reshape(count, *resolve(shape, tree), 2)
        allowed.append((pairs[..., 0], pairs[..., 1]))
    return allowed


class _Constants(ast.NodeTransformer):
    """Float literals become calls of ``constant``."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if not isinstance(node.value, float):
            return node
        return ast.Call(ast.Name("constant", ast.Load()), [node], [])


def bounded_text(text: str, precision: Precision) -> dict[str, Any]:
    """The names of a module of kernel code whose constants, too, have error bounds."""
    tree = ast.fix_missing_locations(_Constants().visit(ast.parse(HEAD + text)))
    names: dict[str, Any] = {"constant": precision.constant, "float": lambda k: precision.constant(float(k))}
    exec(compile(tree, "bounded", "exec"), names)
    return names


def goes_on(limits: Any, progress: Any) -> bool:
    """Whether a text that iterates is run again; iterations are counted without rounding."""
    return progress[1].value < limits[1].value and is_less(limits[0], progress[0])


def objects(x: Any, made: Callable[[float], Bounded]) -> Any:
    found = np.empty(x.shape, dtype=object)
    for at in np.ndindex(x.shape):
        found[at] = made(float(x[at]))
    return found


def assert_within(found: list[Any], allowed: list[tuple[Any, Any]], backend: str) -> None:
    for k, (y, (value, error)) in enumerate(zip(found, allowed, strict=True)):
        distance = np.abs(y.astype(float) - value)
        wrong = ~(distance <= 2.0 * error)
        assert not wrong.any(), (
            f"{backend}: output {k} is {distance[wrong][0]:.3g} off, allowed {2.0 * error[wrong][0]:.3g}"
        )


def assert_same(found: list[Any], expected: list[Any], backend: str) -> None:
    """To the last bit, signs of zeros included."""
    for k, (y, z) in enumerate(zip(found, expected, strict=True)):
        assert y.tobytes() == z.tobytes(), f"{backend}: output {k} is {y}, not {z}"


# Ways ----------------------------------------------------------------------------------------------------------------


def check_states_by_themselves(run: Run, case: Case, inputs: list[Any], whole: list[Any], backend: str) -> None:
    """A state's results depend neither on the size of its batch, nor on the states beside it, nor on what is shared."""
    ranks = [len(shape) for shape in case.program.inputs.values()]

    def batch(rows: Any) -> list[Any]:
        return [x[rows] if x.ndim > rank else x for x, rank in zip(inputs, ranks, strict=True)]

    count = 2 * case.lanes + 1
    for size in range(1, count):
        assert_same(run(*batch(slice(0, size))), [y[:size] for y in whole], f"{backend}, batch of {size}")
    for s in range(min(3, count)):
        same = run(*batch([s] * case.lanes))
        assert_same(
            same, [np.repeat(y[s : s + 1], case.lanes, axis=0) for y in whole], f"{backend}, state {s} in all lanes"
        )
    full = [
        x if x.ndim > rank else np.broadcast_to(x, (count, *x.shape)) for x, rank in zip(inputs, ranks, strict=True)
    ]
    assert_same(run(*full), whole, f"{backend}, nothing shared")


def check(case: Case, folder: Path) -> None:
    """All backends agree on a program."""
    program, tree = case.program, case.program.tree
    algorithm, inputs = program.algorithm(folder), inputs_of(case)
    try:
        allowed = bounds(case, inputs, DOUBLE)
    except Undecided:
        reject()
    expected = plain(algorithm, tree)(*inputs)
    assert_within(expected, allowed, "plain")
    vector = Type("float64", case.lanes)
    for t in (SCALAR, vector):
        found = compiled(algorithm, tree, t, contract=False)(*inputs)
        if "sincos(" in program.own_text:
            assert_within(found, allowed, f"native x {t.lanes} without fusing")
        else:
            assert_same(found, expected, f"native x {t.lanes} without fusing")
    for name, made in (("native", compiled), ("specialized", specialized)):
        for t in (SCALAR, vector):
            run, backend = made(algorithm, tree, t), f"{name} x {t.lanes}"
            found = run(*inputs)
            assert_within(found, allowed, backend)
            check_states_by_themselves(run, case, inputs, found, backend)
    if case.single:
        check_single(case, algorithm, inputs)
    if case.c and COMPILER:
        known = {name: x for name, x in zip(program.inputs, inputs, strict=True) if name in case.shared}
        assert_within(exported(algorithm, tree, folder, known)(*inputs), allowed, "C")


def check_single(case: Case, algorithm: Algorithm, inputs: list[Any]) -> None:
    try:
        allowed = bounds(case, inputs, SINGLE)
    except Undecided:
        return
    for name, made in (("native", compiled), ("specialized", specialized)):
        for t in (Type("float32", 1), Type("float32", 2 * case.lanes)):
            run, backend = made(algorithm, case.program.tree, t), f"{name} x {t.lanes} in single precision"
            found = run(*inputs)
            assert_within(found, allowed, backend)
            check_states_by_themselves(run, case, inputs, found, backend)


@random_programs
@given(cases())
def test_every_way_to_run_a_random_program_gives_the_same(case: Case) -> None:
    note(case.program.own_text)
    folder = Path(tempfile.mkdtemp(prefix="linkwork-fuzz-"))
    try:
        check(case, folder)
    finally:
        shutil.rmtree(folder)


def test_numbers_with_error_bounds_know_when_rounding_decides() -> None:
    third = Bounded(1.0, 0.0, DOUBLE) / 3.0
    assert 0.0 < third.error < 1e-15
    assert is_less(third, third + 1e-12)
    with pytest.raises(Undecided):
        is_less(third + third + third, Bounded(1.0, 0.0, DOUBLE))
    with pytest.raises(Undecided):
        (third * 1.5).rint()
    with pytest.raises(Undecided):
        third / (third - third)
