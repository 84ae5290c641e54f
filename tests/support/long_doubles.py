# SPDX-License-Identifier: BSD-3-Clause
"""Kernel code in long doubles: results with as many more digits as the machine has, by no other code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.compilers.program import Program
from linkwork.compilers.trace.tracing import _loosened
from linkwork.kernels.algorithm import resolve

WIDER = np.finfo(np.longdouble).eps < 1e-18
"""Whether long doubles have more digits than doubles on this machine."""


class Long:
    """A long double that kernel code takes for a scalar."""

    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x = x

    def __add__(self, other: Any) -> Long:
        return Long(self.x + _value(other))

    def __sub__(self, other: Any) -> Long:
        return Long(self.x - _value(other))

    def __mul__(self, other: Any) -> Long:
        return Long(self.x * _value(other))

    def __truediv__(self, other: Any) -> Long:
        return Long(self.x / _value(other))

    def __rsub__(self, other: Any) -> Long:
        return Long(_value(other) - self.x)

    def __rtruediv__(self, other: Any) -> Long:
        return Long(_value(other) / self.x)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Long:
        return Long(-self.x)

    def sqrt(self) -> Long:
        return Long(np.sqrt(self.x) if self.x > 0 else np.longdouble(0))

    def sincos(self) -> tuple[Long, Long]:
        return Long(np.sin(self.x)), Long(np.cos(self.x))

    def where(self, below: Any, bound: Any, then: Any, otherwise: Any) -> Any:
        return then if _value(below) < _value(bound) else otherwise


def _value(x: Any) -> Any:
    return x.x if isinstance(x, Long) else np.longdouble(x)


def _longs(x: npt.ArrayLike) -> npt.NDArray[Any]:
    values = np.asarray(x)
    made = np.empty(values.shape, dtype=object)
    for k in np.ndindex(*values.shape):
        made[k] = Long(np.longdouble(values[k]))
    return made


def run(program: Program, inputs: Sequence[npt.ArrayLike]) -> list[npt.NDArray[np.longdouble]]:
    """Outputs of a program that does not iterate."""
    algorithm, tree = program.algorithm, program.tree
    numbers = [name for name in algorithm.layout.shapes if name not in algorithm.layout.integers]
    loose = _loosened(algorithm, tree)._replace(**{name: _longs(getattr(tree, name)) for name in numbers})
    work = algorithm.work_type(*(_longs(np.zeros(resolve(shape, tree))) for shape in algorithm.work.values()))
    outputs = [_longs(np.zeros(resolve(shape, tree))) for shape in algorithm.outputs.values()]
    with np.errstate(all="ignore"):
        algorithm.text(loose, work, *map(_longs, inputs), *outputs)
    return [np.array([_value(x) for x in y.ravel()], np.longdouble).reshape(y.shape) for y in outputs]
