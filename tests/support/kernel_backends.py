# SPDX-License-Identifier: BSD-3-Clause
"""Small algorithms of kernel code, and every backend that runs them, without the cache: for tests of the compilers."""

from __future__ import annotations

import ctypes
import importlib.util
import itertools
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from linkwork.compilers import llvm, native
from linkwork.compilers.entry import batch
from linkwork.compilers.entry import entry_point as entry
from linkwork.compilers.lanes import Type
from linkwork.compilers.program import Program
from linkwork.compilers.run import Runner
from linkwork.compilers.trace import emit
from linkwork.compilers.trace.fixed import fixed
from linkwork.compilers.trace.tracing import trace
from linkwork.export.c_source import CText, Iterations, size_name
from linkwork.kernels.algorithm import Algorithm, resolve

Run = Callable[..., list[Any]]
"""``run(*inputs)`` gives outputs; inputs have one batch axis, or none where all states share them."""

COMPILER = shutil.which("cc")
SCALAR = Type("float64", 1)
HEAD = """\
from __future__ import annotations

import math

import numpy as np

from linkwork.kernels.scalar import any_below, fma, kernel, rint, sincos, sqrt, where

"""
_NUMBERS = itertools.count()


def written(text: str, folder: Path) -> ModuleType:
    """A module with this text, in a file of its own, where the compiler finds it."""
    name = f"kernel_text_{next(_NUMBERS)}"
    path = folder / f"{name}.py"
    path.write_text(HEAD + text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Backends ------------------------------------------------------------------------------------------------------------


def plain(algorithm: Algorithm, tree: Any) -> Run:
    """Python on floats."""
    return _called(algorithm, tree, "float64", Runner(Program(algorithm, tree, (), "test")).own_entry(True))


def compiled(algorithm: Algorithm, tree: Any, t: Type = SCALAR, contract: bool = True) -> Run:
    """Native code; without ``contract`` each operation is rounded by itself, as in Python."""
    level = native.SCALAR_LEVEL if t.lanes == 1 else native.LANE_LEVEL
    code = llvm.Code(llvm.object_code(native.module(algorithm, t, contract), level), batch.SYMBOL)
    return _called(algorithm, tree, t.dtype, _entry(algorithm, tree, t, code, native.Context(algorithm, tree, t)))


def specialized(algorithm: Algorithm, tree: Any, t: Type = SCALAR) -> Run:
    """A straight-line program for one tree."""
    code = llvm.Code(llvm.object_code(emit.module(trace(algorithm, tree), t.dtype, t.lanes)), batch.SYMBOL)
    return _called(algorithm, tree, t.dtype, _entry(algorithm, tree, t, code, None))


def exported(algorithm: Algorithm, tree: Any, folder: Path, known: Mapping[str, Any]) -> Run:
    """The straight-line program as C, with known values of some inputs, the others as arguments."""
    traced = fixed(trace(algorithm, tree), {name: np.ravel(x).tolist() for name, x in known.items()})
    name = f"exported_{next(_NUMBERS)}"
    arguments = [array for array in algorithm.inputs if array not in known]
    ends = Iterations(*(repr(float(x)) for x in known.get("settings", ()))) if "settings" in known else None
    text = CText(name, traced, "double", arguments, ends or Iterations("settings[0]", "settings[1]"))
    sizes = {**text.inputs, **text.outputs}
    lines = ["#include <math.h>", *(f"#define {size_name(name, array)} {n}" for array, n in sizes.items())]
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text("\n".join([*lines, text.source()]))
    strict = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-ffp-contract=off", "-shared", "-fPIC"]
    done = subprocess.run(
        [str(COMPILER), *strict, str(source), "-o", str(library), "-lm"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    function = getattr(ctypes.CDLL(str(library)), name)
    arrays = [*algorithm.inputs, *algorithm.outputs]

    def call(*given: Any) -> int:
        ranks = [len(s) for s in (*algorithm.inputs.values(), *algorithm.outputs.values())]
        states = len(given[-1])
        for s in range(states):
            rows = [x[s] if x.ndim > rank else x for x, rank in zip(given, ranks, strict=True)]
            used = [row for array, row in zip(arrays, rows, strict=True) if array in sizes]
            function(*(ctypes.c_void_p(row.ctypes.data) for row in used))
        return entry.DONE

    return _called(algorithm, tree, "float64", call)


def _entry(algorithm: Algorithm, tree: Any, t: Type, code: llvm.Code, context: Any) -> Callable[..., int]:
    shapes = [resolve(shape, tree) for shape in (*algorithm.inputs.values(), *algorithm.outputs.values())]
    return entry.entry_point(code, context, np.dtype(t.dtype), shapes, len(algorithm.inputs), ())


def _called(algorithm: Algorithm, tree: Any, dtype: str, enter: Callable[..., int]) -> Run:
    ranks = [len(shape) for shape in algorithm.inputs.values()]

    def run(*inputs: Any) -> list[Any]:
        given = [np.ascontiguousarray(x, dtype=dtype) for x in inputs]
        states = {len(x) for x, rank in zip(given, ranks, strict=True) if x.ndim > rank}
        assert len(states) == 1
        lead = states.pop()
        found = [np.full((lead, *resolve(shape, tree)), np.nan, dtype=dtype) for shape in algorithm.outputs.values()]
        assert enter(*given, *found) in (entry.DONE, entry.OVERFLOW)
        return found

    return run


def unload(module: ModuleType) -> None:
    """Forget a module that `written` made."""
    sys.modules.pop(module.__name__, None)
