# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of kernel code by complex steps: exact to rounding, by no code of ours but the text itself."""

from __future__ import annotations

import cmath
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.compilers.program import Program
from linkwork.compilers.trace.tracing import _loosened
from linkwork.kernels.algorithm import Algorithm, resolve
from linkwork.kernels.tree.tangent_space import coordinate_rates
from linkwork.mechanism import Mechanism

Floats = npt.NDArray[np.float64]

STEP = 1e-30
FURTHER = 6
"""Iterations beyond the first: more than values need, since derivatives follow them."""


class Step:
    """A complex number that kernel code takes for a scalar."""

    __slots__ = ("z",)

    def __init__(self, z: complex) -> None:
        self.z = z

    def __add__(self, other: Any) -> Step:
        return Step(self.z + _complex(other))

    def __sub__(self, other: Any) -> Step:
        return Step(self.z - _complex(other))

    def __mul__(self, other: Any) -> Step:
        return Step(self.z * _complex(other))

    def __truediv__(self, other: Any) -> Step:
        return Step(self.z / _complex(other))

    def __rsub__(self, other: Any) -> Step:
        return Step(_complex(other) - self.z)

    def __rtruediv__(self, other: Any) -> Step:
        return Step(_complex(other) / self.z)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Step:
        return Step(-self.z)

    def sqrt(self) -> Step:
        return Step(cmath.sqrt(self.z) if self.z.real > 0 else 0.0)

    def sincos(self) -> tuple[Step, Step]:
        return Step(cmath.sin(self.z)), Step(cmath.cos(self.z))

    def rint(self) -> Step:
        return Step(complex(np.rint(self.z.real)))

    def fma(self, a: Any, b: Any, c: Any) -> Step:
        return Step(_complex(a) * _complex(b) + _complex(c))

    def where(self, below: Any, bound: Any, then: Any, otherwise: Any) -> Any:
        return then if _complex(below).real < _complex(bound).real else otherwise


def _complex(x: Any) -> complex:
    return x.z if isinstance(x, Step) else complex(x)


def complex_step(program: Program, inputs: Mapping[str, Floats], directions: Mapping[str, Floats]) -> list[Floats]:
    """Rates of a program's outputs along a direction; that of ``q`` is a tangent vector."""
    algorithm, tree = program.algorithm, program.tree
    loose = _loosened(algorithm, tree)
    arrays = []
    for name, shape in algorithm.inputs.items():
        x = np.broadcast_to(np.asarray(inputs[name], dtype=np.float64), resolve(shape, tree)).ravel()
        rate = np.zeros(len(x))
        if name in directions and name == "q":
            coordinate_rates(tree, x, directions[name], rate)
        elif name in directions:
            rate = np.ravel(directions[name])
        arrays.append(_objects([Step(complex(a, STEP * b)) for a, b in zip(x, rate, strict=True)], shape, tree))
    outputs = [np.empty(resolve(shape, tree), dtype=object) for shape in algorithm.outputs.values()]
    work = algorithm.work_type(
        *(np.full(resolve(shape, tree), np.nan, dtype=object) for shape in algorithm.work.values())
    )
    algorithm.text(loose, work, *arrays, *outputs)
    if algorithm.iterate is not None:
        for k in range(FURTHER):
            text = algorithm.refine if algorithm.refine is not None and k >= FURTHER - 3 else algorithm.iterate
            text(loose, work, *arrays, *outputs)
    return [
        np.vectorize(lambda x: _complex(x).imag / STEP, otypes=[float])(y) if y.size else np.zeros(y.shape)
        for y in outputs
    ]


def _objects(values: list[Step], shape: Any, tree: Any) -> Any:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made.reshape(resolve(shape, tree))


def run(algorithm: Algorithm, tree: Any, *inputs: npt.ArrayLike) -> list[npt.NDArray[np.complex128]]:
    """The outputs of a text for complex inputs."""
    loose = _loosened(algorithm, tree)
    arrays = [_steps(np.asarray(x, dtype=np.complex128)) for x in inputs]
    outputs = [np.full(resolve(shape, tree), 0.0, dtype=object) for shape in algorithm.outputs.values()]
    work = [np.full(resolve(shape, tree), 0.0, dtype=object) for shape in algorithm.work.values()]
    algorithm.text(loose, algorithm.work_type(*work), *arrays, *outputs)
    return [np.array([_complex(x) for x in out.ravel()]).reshape(out.shape) for out in outputs]


def _steps(x: npt.NDArray[np.complex128]) -> npt.NDArray[Any]:
    made = np.empty(x.shape, dtype=object)
    for k in np.ndindex(*x.shape):
        made[k] = Step(complex(x[k]))
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
