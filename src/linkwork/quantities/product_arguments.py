# SPDX-License-Identifier: BSD-3-Clause
"""Cotangents and tangents among the arguments of a product, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from linkwork.errors import InputError
from linkwork.inputs import were_given
from linkwork.quantities.arguments import Array
from linkwork.quantities.differentiable import Differentiated


class ProductArguments(Protocol):
    """The arguments of a product."""

    known: Differentiated
    """Inputs and outputs of the derivative."""
    quantity: str
    """Name of the product."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs to differentiate by."""

    @property
    def zeros(self) -> Mapping[str, Array]:
        """Cotangents and tangents that calls leave out, by name."""

    @property
    def seeded(self) -> bool:
        """Whether a call takes cotangents of results."""

    @property
    def directed(self) -> bool:
        """Whether a call takes tangents of inputs."""


def further_inputs(product: ProductArguments, arrays: Sequence[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Cotangents and tangents of a call by name; zeros for those that are left out.

    Args:
        product: The product.
        arrays: As for a call.
        given: As for a call.
    """
    known, zeros, further = product.known, product.zeros, dict[str, Any]()
    rest, given = list(arrays[len(known.given) :]), {n: x for n, x in given.items() if n not in known.optional}
    if len(arrays) < len(known.given):
        raise InputError(f"{product.quantity} takes {_signature(product)}; {were_given(len(arrays))}")
    directions = sum(name.startswith("d") and name[1:] in known.given for name in zeros)
    seeds = len(rest) - directions if len(rest) > directions else 1  # those of further results may be left out
    for k, (name, zero) in enumerate(zeros.items()):
        keyword = name[2:] if name.startswith("y_") else name
        positional = k < seeds if name.startswith("y_") else name[1:] in known.given
        if rest and positional:
            x = rest.pop(0)
        elif given.get(keyword) is not None:
            x = given.pop(keyword)
        elif _may_be_left_out(known, name):
            x = None
        else:
            missing = "y" if name.startswith("y_") else keyword
            raise InputError(f"{product.quantity} takes {_signature(product)}; {missing} was not given")
        further[name] = zero if x is None else x
    left = [name for name, x in given.items() if x is not None]
    if rest or left:
        what = f"'{left[0]}' was given as well" if left else f"{were_given(len(arrays))}"
        raise InputError(f"{product.quantity} takes {_signature(product)}; {what}")
    return further


def _may_be_left_out(known: Differentiated, name: str) -> bool:
    return name != f"y_{next(iter(known.results))}" if name.startswith("y_") else name[1:] not in known.given


def _signature(product: ProductArguments) -> str:
    """Words for the arguments of a call."""
    known = product.known
    seeds = ["y", *(f"{name} (seeds)" for name in list(known.results)[1:])] if product.seeded else []
    directions = [f"d{name}" for name in product.inputs if name in known.given] if product.directed else []
    return ", ".join([*known.given, *seeds, *directions])
