# SPDX-License-Identifier: BSD-3-Clause
"""What evaluators are differentiated by, and what of them."""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.compilers.trace.derived_programs import Parts

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
