# SPDX-License-Identifier: BSD-3-Clause
"""Jacobians by columns: products with unit directions, found together as a batch of the program of `jvp`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.quantities.arguments import Array
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.products import Product


def columns_product(function: BaseEvaluator) -> Product:
    """Products with the Jacobian of an evaluator by all its inputs: along unit directions, its columns.

    Args:
        function: The function to be differentiated.
    """
    return Product(function, "jvp", function.differentiated.inputs)


def columns_evaluator(function: BaseEvaluator) -> dict[str, Any]:
    """Arguments of `BaseEvaluator` for an evaluator of all columns of a Jacobian, with the program of `jvp`.

    Args:
        function: The function to be differentiated; the evaluator is made of it alone.
    """
    product = columns_product(function)
    return {
        "robot": function.robot,
        "quantity": f"derivatives of {function.quantity}",
        "program": lambda: product.program,
        "arguments": {"function": function},
        "frames": function.frames,
        "backend": product.execution.backend,
    }


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
