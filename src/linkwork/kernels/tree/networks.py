# SPDX-License-Identifier: BSD-3-Clause
"""Networks of actuators: linear layers and long short-term memories, one step at a time.

A layer is ``y = s(W x + b)``. A long short-term memory (Hochreiter, Schmidhuber 1997, with forget gates) has the gates
``i, f, o = sigmoid(W x + U h + b)`` and ``g = tanh(W x + U h + b)``, and ``c' = f c + i g``, ``h' = o tanh(c')``.

| symbol | meaning                                                                               |
|--------|---------------------------------------------------------------------------------------|
| x, y   | inputs and outputs of a layer: alternately the two halves of ``network_x``            |
| act    | errors and rates of the steps before, then ``h`` and ``c`` of each memory             |
| next   | the same after the step                                                               |

Cost: two operations a weight, about 30 a nonlinearity.
"""

from __future__ import annotations

from linkwork.kernels.elementary import magnitude, maximum, minimum
from linkwork.kernels.scalar import Array, Scalar, kernel, where
from linkwork.kernels.tree.motors import NETWORK_SCALE, decay

NONE, TANH, RELU, ELU, SOFTSIGN, SIGMOID, SILU, MEMORY = range(8)
"""Kinds of layers: the order of `model.networks.NONLINEARITIES`, and long short-term memories."""


@kernel
def tanh(x: Scalar) -> Scalar:
    """``(1 - e) / (1 + e)``, ``e = exp(-2 |x|)``, with the sign of ``x``."""
    e = decay(2.0 * magnitude(x))
    y = e / (2.0 - e)
    return where(x, 0.0, -y, y)


@kernel
def sigmoid(x: Scalar) -> Scalar:
    """``1 / (1 + exp(-x))``."""
    e = decay(magnitude(x))
    return where(x, 0.0, 1.0 - e, 1.0) / (2.0 - e)


@kernel
def nonlinear(kind: int, x: Scalar) -> Scalar:
    """The nonlinearity of a layer."""
    y = x
    if kind == TANH:
        y = tanh(x)
    elif kind == RELU:
        y = maximum(x, 0.0)
    elif kind == ELU:
        y = where(x, 0.0, -decay(-minimum(x, 0.0)), x)
    elif kind == SOFTSIGN:
        y = x / (1.0 + magnitude(x))
    elif kind == SIGMOID:
        y = sigmoid(x)
    elif kind == SILU:
        y = x * sigmoid(x)
    return y


@kernel
def weighted(c: Array, first: int, x: Array, at: int, count: int) -> Scalar:
    """The sum of numbers times their weights."""
    total = 0.0
    for j in range(count):
        total = total + c[first + j] * x[at + j]
    return total


@kernel
def remember(tree: Array, l: int, x: Array, at: int, to: int, act: Array, first: int, after: Array) -> None:
    """A long short-term memory: ``h', c'`` from ``first`` on in ``after``, and ``h'`` as outputs."""
    c, n, m = tree.network_weights, tree.layer_inputs[l], tree.layer_outputs[l]
    width = n + m + 1
    for k in range(m):
        gate = tree.layer_weights[l] + k * width
        i = weighted(c, gate, x, at, n) + weighted(c, gate + n, act, first, m) + c[gate + n + m]
        gate = gate + m * width
        f = weighted(c, gate, x, at, n) + weighted(c, gate + n, act, first, m) + c[gate + n + m]
        gate = gate + m * width
        g = weighted(c, gate, x, at, n) + weighted(c, gate + n, act, first, m) + c[gate + n + m]
        gate = gate + m * width
        o = weighted(c, gate, x, at, n) + weighted(c, gate + n, act, first, m) + c[gate + n + m]
        cell = sigmoid(f) * act[first + m + k] + sigmoid(i) * tanh(g)
        hidden = sigmoid(o) * tanh(cell)
        after[first + k] = hidden
        after[first + m + k] = cell
        x[to + k] = hidden


@kernel
def read_history(tree: Array, n: int, error: Scalar, rate: Scalar, x: Array, act: Array, first: int) -> None:
    """Inputs of the first layer: errors, then rates, of the steps that a network reads."""
    count, depth = tree.network_lags[n], tree.network_depth[n]
    for k in range(count):
        lag = tree.network_lag[tree.network_lag_start[n] + k]
        if lag == 0:
            x[k] = error
            x[count + k] = rate
        else:
            x[k] = act[first + lag - 1]
            x[count + k] = act[first + depth + lag - 1]


@kernel
def shift_history(depth: int, error: Scalar, rate: Scalar, act: Array, first: int, after: Array) -> None:
    """Errors and rates, each a step older."""
    if depth > 0:
        after[first] = error
        after[first + depth] = rate
    for k in range(1, depth):
        after[first + k] = act[first + k - 1]
        after[first + depth + k] = act[first + depth + k - 1]


@kernel
def network_force(tree: Array, w: Array, a: int, c: Scalar, act: Array) -> Scalar:
    """The force of the network of an actuator under a command; ``network_next``: its memory after the step."""
    n, first = tree.actuator_network[a], tree.actuator_memory[a]
    x, wide = w.network_x[a], tree.network_widest
    error = tree.network_scales[n, 0] * (c - w.actuator_length[a])
    rate = tree.network_scales[n, 1] * w.actuator_rate[a]
    read_history(tree, n, error, rate, x, act, first)
    shift_history(tree.network_depth[n], error, rate, act, first, w.network_next)
    first = first + 2 * tree.network_depth[n]
    at = 0
    for l in range(tree.network_layer_start[n], tree.network_layer_start[n] + tree.network_layers[n]):
        to = wide - at
        if tree.layer_kind[l] == MEMORY:
            remember(tree, l, x, at, to, act, first, w.network_next)
            first = first + 2 * tree.layer_outputs[l]
        else:
            width = tree.layer_inputs[l]
            for k in range(tree.layer_outputs[l]):
                row = tree.layer_weights[l] + k * (width + 1)
                y = weighted(tree.network_weights, row, x, at, width) + tree.network_weights[row + width]
                x[to + k] = nonlinear(tree.layer_kind[l], y)
        at = to
    return tree.motor[a, NETWORK_SCALE] * x[at]
