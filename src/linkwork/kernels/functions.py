# SPDX-License-Identifier: BSD-3-Clause
"""Tapes of functions of joint coordinates: values forward, derivatives in reverse, second derivatives forward.

A tape is the graph of expressions of `model.functions`, one node after the other. A `SELECT` is its left operand where
the node before it is negative, else its right one (`plans.tapes`).

| symbol       | meaning                                                        |
|--------------|----------------------------------------------------------------|
| tape         | value of each node                                             |
| tape_dtrig   | derivative of a sine or cosine with respect to its operand     |
| tape_adjoint | derivative of an output with respect to each node              |
| tape_dot     | derivative of each node with respect to time                   |
| tape_ddot    | its second derivative while no joint accelerates               |

Cost: linear in the nodes, derivatives times the outputs.
"""

from __future__ import annotations

from linkwork.kernels.scalar import Array, kernel, rint, sincos, sqrt, where
from linkwork.model import expressions
from linkwork.model.expressions import CODES

INPUT = CODES[expressions.INPUT]
CONST = CODES[expressions.CONST]
ADD = CODES[expressions.ADD]
SUB = CODES[expressions.SUB]
MUL = CODES[expressions.MUL]
DIV = CODES[expressions.DIV]
NEG = CODES[expressions.NEG]
SQRT = CODES[expressions.SQRT]
SIN = CODES[expressions.SIN]
COS = CODES[expressions.COS]
RINT = CODES[expressions.RINT]
SELECT = CODES[expressions.SELECT]


@kernel
def tape_forward(tree: Array, w: Array, q: Array) -> None:
    """Values of all nodes of functions of joints."""
    for s in range(tree.motion_start):
        a = tree.tape_left[s]
        if tree.tape_op[s] == INPUT:
            w.tape[s] = q[a]
        else:
            node_value(tree.tape_op, tree.tape_left, tree.tape_right, tree.tape_value, s, w.tape, w.tape_dtrig)


@kernel
def motion_forward(tree: Array, w: Array) -> None:
    """Values and rates of all nodes of functions of time alone, the targets of rows that move."""
    for s in range(tree.motion_start, tree.ntape):
        if tree.tape_op[s] == INPUT:
            w.tape[s] = tree.time[0]
            w.tape_dot[s] = 1.0
            w.tape_ddot[s] = 0.0
        else:
            node_value(tree.tape_op, tree.tape_left, tree.tape_right, tree.tape_value, s, w.tape, w.tape_dtrig)
            node_rates(tree.tape_op, tree.tape_left, tree.tape_right, s, w.tape, w.tape_dtrig, w.tape_dot, w.tape_ddot)


@kernel
def node_value(ops: Array, left: Array, right: Array, value: Array, s: int, x: Array, dtrig: Array) -> None:
    """Value of node ``s``, which is no input, and the derivative of a sine or cosine."""
    op = ops[s]
    a = left[s]
    b = right[s]
    if op == CONST:
        x[s] = value[s]
    elif op == ADD:
        x[s] = x[a] + x[b]
    elif op == SUB:
        x[s] = x[a] - x[b]
    elif op == MUL:
        x[s] = x[a] * x[b]
    elif op == DIV:
        x[s] = x[a] / x[b]
    elif op == NEG:
        x[s] = -x[a]
    elif op == SQRT:
        x[s] = sqrt(x[a])
    elif op == SELECT:
        x[s] = where(x[s - 1], 0.0, x[a], x[b])
    elif op == RINT:
        x[s] = rint(x[a])
    else:
        sine, cosine = sincos(x[a])
        x[s] = sine if op == SIN else cosine
        dtrig[s] = cosine if op == SIN else -sine


@kernel
def tape_reverse(tree: Array, w: Array, e: int) -> None:
    """Derivatives of output ``e`` with respect to all nodes, by reverse accumulation after `tape_forward`."""
    x = w.tape
    d = w.tape_adjoint
    start = tree.output_tape_start[e]
    last = tree.output_node[e]
    for s in range(start, start + tree.output_inputs[e]):
        d[s] = 0.0
    for s in range(start, last + 1):
        d[s] = 0.0
    d[last] = 1.0
    for back in range(last + 1 - start):
        s = last - back
        op = tree.tape_op[s]
        a = tree.tape_left[s]
        b = tree.tape_right[s]
        if op == ADD:
            d[a] += d[s]
            d[b] += d[s]
        elif op == SUB:
            d[a] += d[s]
            d[b] -= d[s]
        elif op == MUL:
            d[a] += d[s] * x[b]
            d[b] += d[s] * x[a]
        elif op == DIV:
            y = d[s] / x[b]
            d[a] += y
            d[b] -= y * x[s]
        elif op == NEG:
            d[a] -= d[s]
        elif op == SQRT:
            d[a] += d[s] * (0.5 / x[s])
        elif op == SELECT:
            d[a] += where(x[s - 1], 0.0, d[s], 0.0)
            d[b] += where(x[s - 1], 0.0, 0.0, d[s])
        elif op == SIN or op == COS:
            d[a] += d[s] * w.tape_dtrig[s]


@kernel
def tape_second_rates(tree: Array, w: Array, v: Array) -> None:
    """Second time derivatives of all nodes while no joint accelerates, after `tape_forward`."""
    tape_rates(tree, w, v, v, 0)


@kernel
def tape_rates(tree: Array, w: Array, v: Array, acceleration: Array, accelerates: int) -> None:
    """First and second time derivatives of all nodes, after `tape_forward`; with ``accelerates`` 0, no joint does."""
    for s in range(tree.motion_start):
        if tree.tape_op[s] == INPUT:
            b = tree.tape_right[s]
            w.tape_dot[s] = v[b]
            w.tape_ddot[s] = acceleration[b] if accelerates != 0 else 0.0
        else:
            node_rates(tree.tape_op, tree.tape_left, tree.tape_right, s, w.tape, w.tape_dtrig, w.tape_dot, w.tape_ddot)


@kernel
def node_rates(ops: Array, left: Array, right: Array, s: int, x: Array, dtrig: Array, d: Array, y: Array) -> None:
    """First and second time derivatives ``d``, ``y`` of node ``s``, which is no input, from those of its operands."""
    op = ops[s]
    a = left[s]
    b = right[s]
    if op == CONST or op == RINT:
        d[s] = 0.0
        y[s] = 0.0
    elif op == ADD:
        d[s] = d[a] + d[b]
        y[s] = y[a] + y[b]
    elif op == SUB:
        d[s] = d[a] - d[b]
        y[s] = y[a] - y[b]
    elif op == MUL:
        d[s] = d[a] * x[b] + x[a] * d[b]
        y[s] = y[a] * x[b] + 2.0 * (d[a] * d[b]) + x[a] * y[b]
    elif op == DIV:
        inverse = 1.0 / x[b]
        d[s] = (d[a] - x[s] * d[b]) * inverse
        y[s] = (y[a] - 2.0 * (d[s] * d[b]) - x[s] * y[b]) * inverse
    elif op == NEG:
        d[s] = -d[a]
        y[s] = -y[a]
    elif op == SQRT:
        inverse = 0.5 / x[s]
        d[s] = d[a] * inverse
        y[s] = (y[a] - 2.0 * (d[s] * d[s])) * inverse
    elif op == SELECT:
        d[s] = where(x[s - 1], 0.0, d[a], d[b])
        y[s] = where(x[s - 1], 0.0, y[a], y[b])
    else:
        d[s] = dtrig[s] * d[a]
        y[s] = dtrig[s] * y[a] - x[s] * (d[a] * d[a])
