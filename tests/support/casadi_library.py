# SPDX-License-Identifier: BSD-3-Clause
"""Libraries with CasADi's C interface, called as CasADi calls them, without CasADi."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.export import CasadiProgram

COMPILER = shutil.which("cc")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]


def built(program: CasadiProgram) -> str:
    """The library of a program, compiled without a warning."""
    library = program.source.with_suffix(".so")
    command = [str(COMPILER), *STRICT, "-O0", "-shared", "-fPIC", str(program.source), "-o", str(library), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return str(library)


class External:
    """A function of a library: ``external(*inputs)`` gives its outputs as dense matrices."""

    def __init__(self, library: str, name: str) -> None:
        self._library, self.name = ctypes.CDLL(library), name
        self.inputs = self._arrays("in")
        """Name, shape and places (row, column) of the entries of each input."""
        self.outputs = self._arrays("out")

    def _get(self, name: str, kind: Any) -> Any:
        function = getattr(self._library, f"{self.name}_{name}")
        function.restype, function.argtypes = kind, [ctypes.c_longlong] if name.count("_") else []
        return function

    def _arrays(self, side: str) -> list[tuple[str, tuple[int, int], list[tuple[int, int]]]]:
        count = getattr(self._library, f"{self.name}_n_{side}")
        count.restype = ctypes.c_longlong
        name, pattern = self._get(f"name_{side}", ctypes.c_char_p), self._get(f"sparsity_{side}", ctypes.c_void_p)
        found = []
        for k in range(count()):
            numbers = ctypes.cast(pattern(k), ctypes.POINTER(ctypes.c_longlong))
            rows, columns = numbers[0], numbers[1]
            if numbers[2] == 1:
                places = [(r, c) for c in range(columns) for r in range(rows)]
            else:
                starts = [numbers[2 + c] for c in range(columns + 1)]
                at = [numbers[3 + columns + e] for e in range(starts[-1])]
                places = [(at[e], c) for c in range(columns) for e in range(starts[c], starts[c + 1])]
            found.append((name(k).decode(), (rows, columns), places))
        return found

    def __call__(self, *inputs: Any, wanted: Sequence[int] | None = None) -> list[Any]:
        """Outputs as matrices; None for an input is NULL, as are outputs that are not ``wanted``."""
        given = []
        for x, (_, shape, places) in zip(inputs, self.inputs, strict=True):
            matrix = None if x is None else np.asarray(x, dtype=float).reshape(shape)
            given.append(None if matrix is None else np.array([matrix[place] for place in places]))
        found = [np.full(len(places), np.nan) for _, _, places in self.outputs]
        sizes = (ctypes.c_longlong * 4)()
        work = getattr(self._library, f"{self.name}_work")
        work(*(ctypes.byref(sizes, 8 * k) for k in range(4)))
        assert list(sizes[:3]) == [len(self.inputs), len(self.outputs), 0]
        scratch = np.full(sizes[3] + 1, np.nan)
        kept = [x if wanted is None or k in wanted else None for k, x in enumerate(found)]
        status = getattr(self._library, self.name)(
            _pointers(given), _pointers(kept), None, ctypes.c_void_p(scratch.ctypes.data), 0
        )
        assert status == 0
        assert np.isnan(scratch[-1]), "more scratch memory was written than asked for"
        results = []
        for values, (_, shape, places) in zip(found, self.outputs, strict=True):
            matrix = np.zeros(shape)
            for x, place in zip(values, places, strict=True):
                matrix[place] = x
            results.append(matrix)
        return results


def _pointers(arrays: Sequence[Any]) -> Any:
    return (ctypes.c_void_p * max(len(arrays), 1))(*(None if x is None else x.ctypes.data for x in arrays))
