# SPDX-License-Identifier: BSD-3-Clause
"""What evaluators that can be differentiated have: what they are differentiated by, and products (`products`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from linkwork.compilers.program import Program
from linkwork.compilers.trace import derived_programs as programs
from linkwork.compilers.trace.derived_programs import Parts, TangentSpace
from linkwork.compilers.trace.tracing import Trace

if TYPE_CHECKING:
    from linkwork.quantities.products import HessianVectorProduct, JacobianVectorProduct, VectorJacobianProduct

HELD = ("settings", "regularization", "multipliers", "tolerance")
"""Inputs that no evaluator is differentiated by: settings, and where iterations start."""

P = TypeVar("P")


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
    def jvp(self) -> JacobianVectorProduct:
        """Products with the Jacobian, ``J d``: inputs, then a direction of each."""
        from linkwork.quantities.products import JacobianVectorProduct

        return self._product(JacobianVectorProduct)

    @property
    def vjp(self) -> VectorJacobianProduct:
        """Products with the transposed Jacobian, ``y' J``: inputs, then seeds; a tuple, one array for each input."""
        from linkwork.quantities.products import VectorJacobianProduct

        return self._product(VectorJacobianProduct)

    @property
    def hvp(self) -> HessianVectorProduct:
        """Second derivatives of ``y' f`` along a direction: inputs, seeds, directions; a tuple as of `vjp`."""
        from linkwork.quantities.products import HessianVectorProduct

        return self._product(HessianVectorProduct)

    def _product(self, kind: type[P]) -> P:
        """The product of a kind, made once."""
        made: P = self._products.get(kind.__name__) or self._products.setdefault(kind.__name__, self._make(kind))
        return made

    def _make(self, kind: type[P]) -> P:
        return kind(self)  # type: ignore[call-arg]

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
