# SPDX-License-Identifier: BSD-3-Clause
"""Products from whole Jacobians, and rates of several results by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from linkwork.quantities.arguments import Array

Blocks = Mapping[tuple[str, str], Any]
"""Jacobians by results and inputs."""

SHORT: Mapping[str, str] = {"acceleration": "a", "forces": "f"}
"""Results as Jacobians call them: ``da_dq``."""


class Rates(tuple[Array, ...]):
    """Rates of several results: a tuple whose arrays have names, ``d`` and that of the result.

    Args:
        names: Names of the arrays.
        arrays: The arrays.
    """

    names: tuple[str, ...]

    def __new__(cls, names: Sequence[str], arrays: Sequence[Array]) -> Self:
        """A tuple of arrays, and their names."""
        rates = super().__new__(cls, tuple(arrays))
        rates.names = tuple(names)
        return rates

    def __getattr__(self, name: str) -> Array:
        names = self.__dict__.get("names", ())
        if name in names:
            rate: Array = self[names.index(name)]
            return rate
        raise AttributeError(f"there is no '{name}' among rates; there are {', '.join(names)}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Rates, (self.names, tuple(self))

    def __repr__(self) -> str:
        each = ", ".join(f"{name}={x!r}" for name, x in zip(self.names, self, strict=True))
        return f"Rates({each})"


def jacobian_blocks(
    jacobians: Any, results: Iterable[str], inputs: Iterable[str], further: Mapping[str, Any]
) -> dict[tuple[str, str], Any]:
    """Jacobians by results and inputs, where cotangents or tangents are given; None where there is no such Jacobian.

    Args:
        jacobians: A record of Jacobians.
        results: Names of results.
        inputs: Names of inputs.
        further: Cotangents ``y_<result>`` or tangents ``d<input>``, by name.
    """
    return {
        (result, name): getattr(jacobians, f"d{SHORT.get(result, result)}_d{name}", None)
        for result in results
        for name in inputs
        if f"y_{result}" in further or f"d{name}" in further
    }


def multiplied(blocks: Blocks, further: Mapping[str, Array]) -> list[Array]:
    """Jacobians times tangents, a sum for each result; or cotangents times Jacobians, a sum for each input.

    Args:
        blocks: Jacobians by results and inputs.
        further: Cotangents ``y_<result>`` or tangents ``d<input>``, by name.
    """
    sums: dict[str, Any] = {}
    reverse = next(iter(further), "").startswith("y_")
    for (result, name), block in blocks.items():
        key = name if reverse else result
        part = left_times(further["y_" + result], block) if reverse else times(block, further["d" + name])
        sums[key] = sums[key] + part if key in sums else part
    return list(sums.values())


def times(block: Array, d: Any) -> Array:
    """A matrix times a vector, of every state.

    Args:
        block: Matrices.
        d: Vectors.
    """
    product: Array = block @ d if d.ndim == 1 else (block @ d[..., None])[..., 0]
    return product


def left_times(y: Any, block: Array) -> Array:
    """A vector times a matrix, of every state.

    Args:
        y: Vectors.
        block: Matrices.
    """
    product: Array = y @ block if y.ndim == 1 else (y[..., None, :] @ block)[..., 0, :]
    return product
