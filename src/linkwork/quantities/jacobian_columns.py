# SPDX-License-Identifier: BSD-3-Clause
"""Jacobians by columns: products with unit directions, found together as a batch of the program of `jvp`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.compilers.program import Backend
from linkwork.quantities.arguments import Array
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.counts import OperationCount
from linkwork.quantities.products import Product, straight_line


class JacobianColumns(BaseEvaluator):
    """The Jacobian of an evaluator, column by column: a batch of its `jvp`, in SIMD lanes.

    Args:
        function: What is differentiated.
        arguments: Keyword arguments that make an equal evaluator.
    """

    def __init__(self, function: BaseEvaluator, arguments: Mapping[str, Any]) -> None:
        self.function = function
        product = Product(function, "jvp", function.differentiated.inputs)
        self.product = product
        """Products with the Jacobian, whose program this runs."""
        super().__init__(
            function.robot,
            f"derivatives of {function.quantity}",
            lambda: product.program,
            arguments,
            function.frames,
            backend=product.execution.backend,
        )

    def _adapted(self, backend: Backend) -> Backend:
        return straight_line(backend)

    @property
    def columns(self) -> Product:
        """Products with the Jacobian, on the backend of this evaluator."""
        return self.keep("product", lambda: self.product.on(self.execution.backend))

    def operation_count(self) -> OperationCount:
        """Of one column, of which there are as many as inputs have numbers."""
        return self.product.operation_count()


def unit_directions(sizes: Mapping[str, int]) -> dict[str, Array]:
    """Directions along each number of some arrays, one after the other: ``(all numbers, size)`` of each array.

    Args:
        sizes: Numbers of each array, by name.
    """
    units = np.eye(sum(sizes.values()))
    parts = np.split(units, np.cumsum(list(sizes.values()))[:-1], axis=-1)
    return {name: np.ascontiguousarray(part) for name, part in zip(sizes, parts, strict=True)}


def one_more_axis(x: npt.ArrayLike, inner: int = 1) -> Array:
    """An array with one batch axis more, for directions.

    Args:
        x: The array.
        inner: Axes that are no batch axes.
    """
    array = np.asarray(x)
    return np.expand_dims(array, array.ndim - inner)


def column_blocks(rates: Array, sizes: Mapping[str, int]) -> list[Array]:
    """Blocks ``(..., rows, size)`` of a Jacobian, of rates ``(..., all numbers, rows)`` along `unit_directions`.

    Args:
        rates: Of a result.
        sizes: Numbers of each array, by name.
    """
    edges = np.cumsum(list(sizes.values()))[:-1]
    return np.split(np.swapaxes(rates, -1, -2), edges, axis=-1)
