# SPDX-License-Identifier: BSD-3-Clause
"""Dual numbers ``x + x' e`` with ``e² = 0``: the plain text run on them is differentiated exactly, up to rounding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.compilers.program import Program
from linkwork.kernels.algorithm import resolve
from linkwork.mechanism import Mechanism
from tests.support.states import Floats

STEP = 1e-2
"""Of `coordinate_rates`: the motion of one joint is made of sines and cosines of at most ``STEP``, and differences of
sixth order have an error of 1e-14 there."""


class Dual:
    """A number and its rate."""

    __slots__ = ("rate", "value")

    def __init__(self, value: float, rate: float = 0.0) -> None:
        self.value, self.rate = value, rate

    def __add__(self, y: Any) -> Dual:
        y = dual(y)
        return Dual(self.value + y.value, self.rate + y.rate)

    def __sub__(self, y: Any) -> Dual:
        y = dual(y)
        return Dual(self.value - y.value, self.rate - y.rate)

    def __mul__(self, y: Any) -> Dual:
        y = dual(y)
        return Dual(self.value * y.value, self.rate * y.value + self.value * y.rate)

    def __truediv__(self, y: Any) -> Dual:
        y = dual(y)
        ratio = self.value / y.value
        return Dual(ratio, (self.rate - ratio * y.rate) / y.value)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, y: Any) -> Dual:
        return dual(y) - self

    def __rtruediv__(self, y: Any) -> Dual:
        return dual(y) / self

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.rate)

    def sincos(self) -> tuple[Dual, Dual]:
        """Sine and cosine."""
        of = math if isinstance(self.value, float) else np
        s, c = of.sin(self.value), of.cos(self.value)
        return Dual(s, c * self.rate), Dual(c, -s * self.rate)

    def sqrt(self) -> Dual:
        """Square root."""
        root = math.sqrt(self.value) if isinstance(self.value, float) else np.sqrt(self.value)
        return Dual(root, 0.5 * self.rate / root)

    def where(self, below: Any, bound: Any, then: Any, otherwise: Any) -> Any:
        """One of two numbers."""
        return then if dual(below).value < dual(bound).value else otherwise


def dual(x: Any) -> Dual:
    """A number as a dual one."""
    return x if isinstance(x, Dual) else Dual(float(x))


def coordinate_rates(robot: Mechanism, q: Floats, v: Floats) -> Floats:
    """``dq/dt`` of a robot that moves with ``v``, by differences of sixth order."""
    near, far, farther = (robot.integrate(q, k * STEP * v) - robot.integrate(q, -k * STEP * v) for k in (1.0, 2.0, 3.0))
    return np.asarray((45.0 * near - 9.0 * far + farther) / (60.0 * STEP))


def directional(
    program: Program, inputs: Sequence[Floats], rates: Sequence[Floats], number: type[Any] = float
) -> list[Floats]:
    """Rates of all outputs of a program's plain text, where its inputs have these rates, computed with ``number``."""
    tree, algorithm = program.tree, program.algorithm
    given = []
    for x, rate in zip(inputs, rates, strict=True):
        array = np.empty(np.shape(x), dtype=object)
        for k in np.ndindex(array.shape):
            array[k] = Dual(number(x[k]), number(rate[k]))
        given.append(array)
    work = algorithm.work_type(*(np.empty(resolve(shape, tree), dtype=object) for shape in algorithm.work.values()))
    outputs = [np.empty(shape, dtype=object) for shape in program.output_shapes()]
    algorithm.text(tree, work, *given, *outputs)
    return [np.array([dual(y).rate for y in array.ravel()]).reshape(array.shape) for array in outputs]
