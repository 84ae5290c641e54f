# SPDX-License-Identifier: BSD-3-Clause
"""Kernel text on complex numbers: derivatives by complex steps of texts that know none, exact to rounding."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.kernels.algorithm import Algorithm, resolve
from linkwork.mechanism import Mechanism
from states import Floats

STEP = 1e-30


class Stepped:
    """A complex number that kernel text computes with; comparisons look at the real part."""

    __slots__ = ("z",)

    def __init__(self, z: complex) -> None:
        self.z = z

    def __add__(self, other: Any) -> Stepped:
        return Stepped(self.z + complex_of(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Stepped:
        return Stepped(self.z - complex_of(other))

    def __rsub__(self, other: Any) -> Stepped:
        return Stepped(complex_of(other) - self.z)

    def __mul__(self, other: Any) -> Stepped:
        return Stepped(self.z * complex_of(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Stepped:
        return Stepped(self.z / complex_of(other))

    def __rtruediv__(self, other: Any) -> Stepped:
        return Stepped(complex_of(other) / self.z)

    def __neg__(self) -> Stepped:
        return Stepped(-self.z)

    def sqrt(self) -> Stepped:
        """For `scalar.sqrt`."""
        return Stepped(cmath.sqrt(self.z))

    def sincos(self) -> tuple[Stepped, Stepped]:
        """For `scalar.sincos`."""
        return Stepped(cmath.sin(self.z)), Stepped(cmath.cos(self.z))

    def where(self, below: Any, bound: Any, then: Any, otherwise: Any) -> Any:
        """For `scalar.where`."""
        return then if complex_of(below).real < complex_of(bound).real else otherwise


def complex_of(x: Any) -> complex:
    """A number of kernel text as a complex one."""
    return x.z if isinstance(x, Stepped) else complex(x)


def run(algorithm: Algorithm, tree: Any, *inputs: npt.ArrayLike) -> list[npt.NDArray[np.complex128]]:
    """The outputs of a text for complex inputs."""
    integers = algorithm.layout.integers
    loose = tree._replace(
        **{
            name: getattr(tree, name) if name in integers else getattr(tree, name).astype(object)
            for name in algorithm.layout.shapes
        }
    )
    arrays = [_objects(np.asarray(x, dtype=np.complex128)) for x in inputs]
    outputs = [np.full(resolve(shape, tree), 0.0, dtype=object) for shape in algorithm.outputs.values()]
    work = [np.full(resolve(shape, tree), 0.0, dtype=object) for shape in algorithm.work.values()]
    algorithm.text(loose, algorithm.work_type(*work), *arrays, *outputs)
    return [np.array([complex_of(x) for x in out.ravel()]).reshape(out.shape) for out in outputs]


def _objects(x: npt.NDArray[np.complex128]) -> npt.NDArray[Any]:
    made = np.empty(x.shape, dtype=object)
    for k in np.ndindex(*x.shape):
        made[k] = Stepped(complex(x[k]))
    return made


def tangent_map(robot: Mechanism, q: Floats) -> Floats:
    """``(nq, nv)``: rates of the numbers in ``q`` by joint velocities, from differences of a smooth map at zero."""
    h, E = 1e-3, np.eye(robot.nv)

    def at(t: float) -> Floats:
        return np.array([robot.integrate(q, t * e) for e in E])

    thrice = 45 * (at(h) - at(-h)) - 9 * (at(2 * h) - at(-2 * h)) + (at(3 * h) - at(-3 * h))
    return np.asarray(thrice / (60 * h)).T


def by_configuration(robot: Mechanism, q: Floats, f: Callable[[Any], Any]) -> Floats:
    """The derivative of ``f(q)`` in the tangent space at ``q``, in columns."""
    columns = [np.imag(f(q + 1j * STEP * t)) / STEP for t in tangent_map(robot, q).T]
    return np.stack(columns, axis=-1)


def by_vector(x: Floats, f: Callable[[Any], Any]) -> Floats:
    """The derivative of ``f(x)`` by a vector, in columns."""
    return np.stack([np.imag(f(x + 1j * STEP * e)) / STEP for e in np.eye(len(x))], axis=-1)
