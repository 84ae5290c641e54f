# SPDX-License-Identifier: BSD-3-Clause
"""Exact operation counts of programs, kept on disk, by which methods and plans are chosen."""

from __future__ import annotations

import json

from linkwork.compilers import cache as disk
from linkwork.compilers.program import Program
from linkwork.compilers.trace.tracing import MAX_OPERATIONS
from linkwork.errors import ProgramTooLarge
from linkwork.quantities.counts import OperationCount

MOST_COUNTED = 4 * MAX_OPERATIONS
"""Operations of a program, or steps of a dense factor, beyond which a method is not counted. Zeros take steps too, in
tracing and in native code."""


def program_cost(program: Program) -> OperationCount | None:
    """Exact operation counts of a program; None where it is too large to count."""

    def make() -> bytes:
        try:
            traced = program.trace(MOST_COUNTED)
        except ProgramTooLarge:
            return b"null"
        counted = OperationCount.of_trace(traced)
        return json.dumps([counted, counted.iteration, counted.refinement]).encode()

    kept = json.loads(disk.fetch(disk.key("cost", program.algorithm.name, program.plan_bytes()), make))
    return None if kept is None else OperationCount(*kept)
