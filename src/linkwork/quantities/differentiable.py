# SPDX-License-Identifier: BSD-3-Clause
"""Inputs and results of derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.compilers.program import Program
from linkwork.compilers.trace import derived_programs as programs
from linkwork.compilers.trace.derived_programs import Parts, TangentSpace
from linkwork.compilers.trace.tracing import Trace
from linkwork.errors import InputError
from linkwork.inputs import among
from linkwork.kernels.algorithm import Algorithm

HELD = ("settings", "regularization", "multipliers", "tolerance")
"""Inputs that no evaluator is differentiated by: settings, and where iterations start."""


@dataclass(frozen=True)
class Differentiated:
    """Inputs and results of an evaluator's derivatives."""

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

    @classmethod
    def of_algorithm(cls, algorithm: Algorithm, optional: tuple[str, ...]) -> Differentiated:
        """All inputs of an algorithm but settings, and all outputs.

        Args:
            algorithm: Of an evaluator.
            optional: Inputs that a call may leave out.
        """
        inputs = tuple(name for name in algorithm.inputs if name not in (*HELD, "wrenches", *optional))
        return cls(inputs, optional, {name: (name, slice(None)) for name in algorithm.outputs})

    def swept(self, source: Program, kind: str, by: Sequence[str], limit: int) -> Trace:
        """The straight-line program of a product by a sweep over a program.

        Args:
            source: The program that is differentiated.
            kind: ``"jvp"``, ``"vjp"`` or ``"hvp"``.
            by: Names of the inputs to differentiate by.
            limit: The most operations; `ProgramTooLarge` where there are more.
        """
        sweep = {"jvp": programs.jvp, "vjp": programs.vjp, "hvp": programs.hvp}[kind]
        space = TangentSpace(source.tree, self.curved, self.curved_results)
        return sweep(source.trace(limit), self.results, by, space, limit)

    def outputs(self, algorithm: Algorithm, quantity: str, results: Sequence[str]) -> tuple[str, ...]:
        """Names of output arrays of an algorithm that have these results.

        Args:
            algorithm: Of the evaluator.
            quantity: Name of the quantity, for messages.
            results: Names of results, or of output arrays.
        """
        known = {name: name for name in algorithm.outputs} | {
            name: output for name, (output, _) in self.results.items()
        }
        for name in results:
            if name not in known:
                raise InputError(f"{quantity} has no result '{name}'{among(name, known)}")
        return tuple(dict.fromkeys(known[name] for name in results))

    @property
    def inputs(self) -> tuple[str, ...]:
        """All inputs that may be differentiated by."""
        return self.given + self.optional
