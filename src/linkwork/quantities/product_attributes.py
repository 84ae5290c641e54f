# SPDX-License-Identifier: BSD-3-Clause
"""Products as attributes of evaluators: `jvp`, `vjp` and `hvp`."""

from __future__ import annotations

from typing import Any, Self, TypeVar, overload

from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.products import Kind, Product

KINDS: tuple[Kind, ...] = ("jvp", "vjp", "hvp")
E = TypeVar("E", bound=type[BaseEvaluator])


class ProductOf:
    """An attribute of an evaluator: a product with its Jacobian, made at first use.

    Args:
        kind: Which.
    """

    def __init__(self, kind: Kind) -> None:
        self._kind = kind

    @overload
    def __get__(self, evaluator: None, owner: type) -> Self: ...
    @overload
    def __get__(self, evaluator: BaseEvaluator, owner: type) -> Product: ...
    def __get__(self, evaluator: BaseEvaluator | None, owner: type) -> Any:
        if evaluator is None:
            return self
        return evaluator.keep(self._kind, lambda: Product(evaluator, self._kind, evaluator.product_inputs))


def differentiable(kind: E) -> E:
    """A class of evaluators that have products with their Jacobians: `jvp`, `vjp` and `hvp`.

    Args:
        kind: The class.
    """
    kind.jvp, kind.vjp, kind.hvp = (ProductOf(name) for name in KINDS)  # type: ignore[assignment]
    return kind
