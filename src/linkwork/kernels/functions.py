"""Tapes of functions of joint coordinates as kernel text: values, derivatives in reverse, second rates forward."""

from __future__ import annotations

from linkwork.kernels.scalar import Array, kernel, sincos, sqrt
from linkwork.model.functions import CONSTANT, COSINE, INPUT, MINUS, OVER, PLUS, ROOT, SINE, TIMES


@kernel
def tape_forward(tree: Array, w: Array, q: Array) -> None:
    """Values of all steps."""
    x = w.tape
    for s in range(tree.ntape):
        op = tree.tape_op[s]
        a = tree.tape_left[s]
        b = tree.tape_right[s]
        if op == INPUT:
            x[s] = q[a]
        elif op == CONSTANT:
            x[s] = tree.tape_value[s]
        elif op == PLUS:
            x[s] = x[a] + x[b]
        elif op == MINUS:
            x[s] = x[a] - x[b]
        elif op == TIMES:
            x[s] = x[a] * x[b]
        elif op == OVER:
            x[s] = x[a] / x[b]
        elif op == ROOT:
            x[s] = sqrt(x[a])
        else:
            sine, cosine = sincos(x[a])
            x[s] = sine if op == SINE else cosine
            w.other[s] = cosine if op == SINE else -sine


@kernel
def tape_reverse(tree: Array, w: Array, e: int) -> None:
    """Derivatives of result ``e`` with respect to all steps, backwards, after `tape_forward`."""
    x = w.tape
    d = w.slopes
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
        if op == PLUS:
            d[a] += d[s]
            d[b] += d[s]
        elif op == MINUS:
            d[a] += d[s]
            d[b] -= d[s]
        elif op == TIMES:
            d[a] += d[s] * x[b]
            d[b] += d[s] * x[a]
        elif op == OVER:
            y = d[s] / x[b]
            d[a] += y
            d[b] -= y * x[s]
        elif op == ROOT:
            d[a] += d[s] * (0.5 / x[s])
        elif op == SINE or op == COSINE:
            d[a] += d[s] * w.other[s]


@kernel
def tape_second_rates(tree: Array, w: Array, v: Array) -> None:
    """Second rates of all steps while no joint accelerates, after `tape_forward`."""
    x = w.tape
    d = w.rate
    y = w.second
    for s in range(tree.ntape):
        op = tree.tape_op[s]
        a = tree.tape_left[s]
        b = tree.tape_right[s]
        if op == INPUT:
            d[s] = v[b]
            y[s] = 0.0
        elif op == CONSTANT:
            d[s] = 0.0
            y[s] = 0.0
        elif op == PLUS:
            d[s] = d[a] + d[b]
            y[s] = y[a] + y[b]
        elif op == MINUS:
            d[s] = d[a] - d[b]
            y[s] = y[a] - y[b]
        elif op == TIMES:
            d[s] = d[a] * x[b] + x[a] * d[b]
            y[s] = y[a] * x[b] + 2.0 * (d[a] * d[b]) + x[a] * y[b]
        elif op == OVER:
            inverse = 1.0 / x[b]
            d[s] = (d[a] - x[s] * d[b]) * inverse
            y[s] = (y[a] - 2.0 * (d[s] * d[b]) - x[s] * y[b]) * inverse
        elif op == ROOT:
            inverse = 0.5 / x[s]
            d[s] = d[a] * inverse
            y[s] = (y[a] - 2.0 * (d[s] * d[s])) * inverse
        else:
            d[s] = w.other[s] * d[a]
            y[s] = w.other[s] * y[a] - x[s] * (d[a] * d[a])
