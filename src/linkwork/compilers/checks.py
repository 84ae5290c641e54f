# SPDX-License-Identifier: BSD-3-Clause
"""Kernel code from outside the package is checked before it runs, by whichever backend: it cannot end the process.

First it is compiled: code outside the language is a `KernelError` for plain Python and straight-line programs, too.
Then checked code (`guards`) is run once for the plan of the robot. Branches, loops and indices depend on the integers
of a plan alone, so that once is for all states, types of numbers, lanes and threads.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from traceback import walk_tb
from typing import TYPE_CHECKING

import numpy as np

from linkwork.compilers import native
from linkwork.compilers.lanes import Type
from linkwork.compilers.language.fingerprint import foreign_kernels
from linkwork.compilers.language.guards import SITE, UNWRITTEN
from linkwork.errors import InputError, KernelError
from linkwork.kernels.algorithm import Algorithm, resolve

if TYPE_CHECKING:
    from linkwork.compilers.program import Program

ONE = Type("float64", 1)
_KERNEL = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p
)
_LOCK = threading.Lock()
_PASSED: set[bytes] = set()
"""Digests of texts and plans that have run without a fault."""


def check(program: Program) -> None:
    """Raise a `KernelError` where kernel code from outside the package is outside its language, or at fault.

    Args:
        program: The program.
    """
    for part in (program,) if program.derivation is None else program.derivation.sources:
        algorithm = part.algorithm.outside or part.algorithm
        if native.is_foreign(algorithm):
            _check_once(algorithm, part)


def _check_once(algorithm: Algorithm, program: Program) -> None:
    _check_record(algorithm, program)
    _verify(algorithm)
    if not _is_checked(algorithm):
        return
    digest = hashlib.sha256()
    for part in (native.cache_name(algorithm, ONE.dtype, 1, True).encode(), program.plan_bytes()):
        digest.update(part)
    if digest.digest() not in _PASSED:
        run_checked(algorithm, program)
        with _LOCK:
            _PASSED.add(digest.digest())


@cache
def _is_checked(algorithm: Algorithm) -> bool:
    """Whether some text from outside is not marked ``checked=False``."""
    kernels = [kernel for text in algorithm.texts for kernel in foreign_kernels(text)]
    return any(getattr(kernel, "__checked__", True) for kernel in kernels)


@cache
def _verify(algorithm: Algorithm) -> None:
    """Raise a `KernelError` unless all text is in the language of kernels."""
    native.module(algorithm, ONE)


def run_checked(algorithm: Algorithm, program: Program) -> None:
    """Run the checked code of an algorithm once, each of its kernels; a `KernelError` with the first fault.

    Args:
        algorithm: Its kernels.
        program: The plan.
    """
    from linkwork.compilers.entry.entry_point import watch  # which is made of kernel code itself
    from linkwork.compilers.language.values import source_of

    code = native.code(algorithm, ONE, checked=True)
    context = native.Context(algorithm, program.tree, ONE, checked=True)
    shapes = [resolve(shape, program.tree) for shape in (*algorithm.inputs.values(), *algorithm.outputs.values())]
    arrays = [np.full(math.prod(shape), 0.5) for shape in shapes]
    outputs = dict(zip(algorithm.outputs, arrays[len(algorithm.inputs) :], strict=True))
    for unwritten in (context.memory, *outputs.values()):
        unwritten.view(np.int64)[:] = UNWRITTEN
    places = np.array([array.ctypes.data for array in arrays], dtype=np.int64)
    steps, asked = np.zeros(len(arrays), dtype=np.int64), watch()
    _KERNEL(code.address)(places.ctypes.data, steps.ctypes.data, 1, context.address, asked.address)
    asked.check()
    if context.record[SITE]:
        _, guards = native.guarded_module(algorithm, ONE, checked=True)
        assert guards is not None
        raise guards.error(context.record.tolist())
    for name, array in outputs.items():
        left = np.flatnonzero(array.view(np.int64) == UNWRITTEN)
        if len(left):
            source = source_of(foreign_kernels(algorithm.text)[0])
            raise source.error(source.tree, f"output '{name}' is not written: entry {left[0]} of {len(array)} is not")


def _check_record(algorithm: Algorithm, program: Program) -> None:
    """Refuse a record, or a plan, that machine code would leave the memory of."""
    tree, called = program.tree, f"algorithm '{algorithm.name}'"
    for name, shape in algorithm.layout.shapes.items():
        actual, needed = np.shape(getattr(tree, name)), resolve(shape, tree)
        if actual != needed:
            raise InputError(f"{called}: array '{name}' of the plan has shape {actual}, its layout says {needed}")
    first = math.prod(program.input_shapes()[0]) if algorithm.inputs else 0
    if any(start + count > first for start, count in program.units):
        raise InputError(f"{called}: its first input, q, has {first} numbers, needs ('nq',)")
    if algorithm.iterate is not None:
        settings, progress = math.prod(program.input_shapes()[-1]), math.prod(program.output_shapes()[-1])
        least = 2 if algorithm.refine is None else 3
        if settings < least or progress < 2:
            raise InputError(
                f"{called} iterates: its last input has {settings} numbers, needs {least} or more (tolerance, most "
                f"iterations); its last output has {progress}, needs 2 or more (residual, iterations)"
            )


@contextmanager
def located(algorithm: Algorithm) -> Iterator[None]:
    """A context in which errors of Python in kernel code from outside the package become `KernelError` with file and
    line.

    Args:
        algorithm: Whose code is run as Python.
    """
    try:
        yield
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
        kernels = {kernel.__code__: kernel for text in algorithm.texts for kernel in foreign_kernels(text)}
        frames = [
            (kernels[frame.f_code], line) for frame, line in walk_tb(error.__traceback__) if frame.f_code in kernels
        ]
        if not frames:
            raise
        from linkwork.compilers.language.values import source_of

        kernel, line = frames[-1]
        source = source_of(kernel)
        text = source.lines[line - source.first].strip()
        words = f"{type(error).__name__}: {error}"
        raise KernelError(words, kernel=source.tree.name, file=source.file, line=line, text=text) from error
