# SPDX-License-Identifier: BSD-3-Clause
"""Exact operation counts of programs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from linkwork.compilers.trace.tracing import Trace


class OperationCount(dict[str, int]):
    """Counts of operations: of a method that iterates, in the first iteration.

    Args:
        counts: Operations by name.
        iteration: All operations of each further iteration.
        refinement: All operations of the last iteration, where that is another; 0 where it is not.
    """

    def __init__(
        self, counts: Mapping[str, int] = MappingProxyType({}), iteration: int = 0, refinement: int = 0
    ) -> None:
        super().__init__(counts)
        self.iteration = iteration
        """All operations of each further iteration."""
        self.refinement = refinement
        """All operations of the last iteration, where that is another; 0 where it is not."""

    @classmethod
    def of_trace(cls, traced: Trace) -> OperationCount:
        """The operations of a traced program and of its iterations.

        Args:
            traced: The program.
        """
        further = {name: sum(program.operation_count().values()) for name, program in traced.further.items()}
        return cls(traced.operation_count(), further.get("iterate", 0), further.get("refine", 0))

    def in_iterations(self, count: int) -> int:
        """All operations of ``count`` iterations.

        Args:
            count: Iterations, at least one.
        """
        further = count - 1 if self.iteration else 0
        extra = self.refinement - self.iteration if self.refinement and further else 0
        return self.total + further * self.iteration + extra

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.values())
