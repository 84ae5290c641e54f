# SPDX-License-Identifier: BSD-3-Clause
"""What evaluators that can be differentiated have: what they are differentiated by, and products (`products`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from linkwork.compilers.program import Program
from linkwork.compilers.trace import derived_programs as programs
from linkwork.compilers.trace.derived_programs import Parts, TangentSpace
from linkwork.compilers.trace.tracing import Trace

if TYPE_CHECKING:
    from linkwork.quantities.computation import Computation
    from linkwork.quantities.products import Kind, Product

HELD = ("settings", "regularization", "multipliers", "tolerance")
"""Inputs that no evaluator is differentiated by: settings, and where iterations start."""


@dataclass(frozen=True)
class Differentiated:
    """What an evaluator is differentiated by, and what of it."""

    given: tuple[str, ...]
    """Inputs that a call must have, in their order."""
    optional: tuple[str, ...]
    """Further inputs that a call may have, by name; zero where they are not given, and parameters the robot's own."""
    results: Parts
    """Results, by name."""
    curved: tuple[str, ...] = ("q",)
    """Inputs that are configurations."""
    curved_results: tuple[str, ...] = ()
    """Output arrays that are configurations."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """All inputs that may be differentiated by."""
        return self.given + self.optional


class Differentiable:
    """Products with the Jacobian of an evaluator, which are evaluators themselves."""

    frames: tuple[str, ...]
    _products: dict[str, Any]
    """Products that were made, by their classes; none on another backend."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the robot that are inputs."""
        raise NotImplementedError

    @property
    def program(self) -> Program:
        """The kernel text and the plan of a robot."""
        raise NotImplementedError

    @property
    def differentiated(self) -> Differentiated:
        """What this evaluator is differentiated by, and what of it."""
        algorithm = self.program.algorithm
        optional = [name for name in algorithm.inputs if name == "wrenches" and self.frames]
        optional += self.parameters
        given = [name for name in algorithm.inputs if name not in (*HELD, "wrenches", *self.parameters)]
        results = {name: (name, slice(None)) for name in algorithm.outputs}
        return Differentiated(tuple(given), tuple(optional), results)

    @property
    def differentiated_program(self) -> Program:
        """The program that products are made of."""
        return self.traced_program

    @property
    def traced_program(self) -> Program:
        """What straight-line code is made of."""
        raise NotImplementedError

    def product_trace(self, kind: str, by: Sequence[str], limit: int) -> Trace:
        """The straight-line program of a product: by default, a sweep over that of the evaluator.

        Args:
            kind: ``"jvp"``, ``"vjp"`` or ``"hvp"``.
            by: Names of the inputs to differentiate by.
            limit: The most operations; `ProgramTooLarge` where there are more.
        """
        source, known = self.differentiated_program, self.differentiated
        sweep = {"jvp": programs.jvp, "vjp": programs.vjp, "hvp": programs.hvp}[kind]
        space = TangentSpace(source.tree, known.curved, known.curved_results)
        return sweep(source.trace(limit), known.results, by, space, limit)

    @property
    def jvp(self) -> Product:
        """Products with the Jacobian, ``J d``: inputs, then a tangent of each."""
        return self._product("jvp")

    @property
    def vjp(self) -> Product:
        """Products with the transposed Jacobian, ``y' J``: inputs, cotangents; a tuple, one array for each input."""
        return self._product("vjp")

    @property
    def hvp(self) -> Product:
        """Second derivatives of ``y' f`` along a tangent: inputs, cotangents, tangents; a tuple as of `vjp`."""
        return self._product("hvp")

    def _product(self, kind: Kind) -> Product:
        """The product of a kind, made once."""
        product: Product = self._products.get(kind) or self._products.setdefault(kind, self._make(kind))
        return product

    def _make(self, kind: Kind) -> Product:
        from linkwork.quantities.products import Product

        return Product(cast(Any, self), kind)

    def computation_of(self, product: Product) -> Computation | None:
        """How a product is computed that is several programs; None where it is one.

        Args:
            product: The product.
        """
        return None

    def _inputs(self, given: Sequence[Any]) -> list[Any]:
        """All inputs of the program from those given, without parameters."""
        raise NotImplementedError

    def _all_inputs(self, inputs: Sequence[Any]) -> list[Any]:
        """All inputs of the program, with the parameters that the evaluator holds."""
        raise NotImplementedError

    def _inputs_with(self, state: Sequence[Any], optional: dict[str, Any]) -> list[Any]:
        """All inputs of the program from those that a call must have, and others by name."""
        inputs = self._all_inputs(self._inputs(state))
        names = list(self.program.algorithm.inputs)
        for name, x in optional.items():
            inputs[names.index(name)] = x
        return inputs
