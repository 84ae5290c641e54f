# SPDX-License-Identifier: BSD-3-Clause
"""Tapes of functions as kernels read them: an operation, two operands and a constant for each node.

A `SELECT` compares two numbers: their difference is the node before it, whose sign chooses one of its two operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from linkwork.model.expressions import CODES, CONST, INPUT, SELECT, SUB
from linkwork.model.functions import Tape

TIME = (-1, -1)
"""In place of where an input is: it is the time."""


class TapeNode(NamedTuple):
    """A node of a tape."""

    op: int
    left: int
    right: int
    value: float


def tape_nodes(tape: Tape, inputs: Sequence[tuple[int, int]], start: int = 0) -> tuple[list[TapeNode], list[int]]:
    """The nodes of a tape, and which of them are its outputs.

    Args:
        tape: The tape.
        inputs: Two numbers for each input, in place of operands: where its value and its rate are.
        start: The number of its first node.
    """
    nodes, number = list[TapeNode](), list[int]()
    for op, *operands in tape.nodes:
        left, right, value = -1, -1, 0.0
        if op == INPUT:
            left, right = inputs[operands[1]]
        elif op == CONST:
            value = operands[0]
        elif op == SELECT:
            below, bound, then, otherwise = (number[k] for k in operands)
            nodes.append(TapeNode(CODES[SUB], below, bound, 0.0))
            left, right = then, otherwise
        else:
            left, right = number[operands[0]], number[operands[-1]]
        number.append(start + len(nodes))
        nodes.append(TapeNode(CODES[op], left, right, value))
    return nodes, [number[k] for k in tape.outputs]
