# SPDX-License-Identifier: BSD-3-Clause
"""Networks as actuators: layers with their weights, and their inputs from a joint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from linkwork.conversions import converted, converted_but
from linkwork.errors import ModelError
from linkwork.inputs import finite_floats
from linkwork.model.arrays import Floats

Nonlinearity = Literal["none", "tanh", "relu", "elu", "softsign", "sigmoid", "silu"]
"""Functions of a layer's outputs."""
NONLINEARITIES: tuple[Nonlinearity, ...] = ("none", "tanh", "relu", "elu", "softsign", "sigmoid", "silu")

MOST_HISTORY = 64
"""Steps before the present one that a network may read."""


@dataclass(frozen=True, eq=False)
class Layer:
    """A linear layer and a nonlinearity: ``y = nonlinearity(weights x + bias)``.

    Args:
        weights: Matrix, ``(outputs, inputs)``.
        bias: Vector, ``(outputs,)``; by default zero.
        nonlinearity: ``none``, ``tanh``, ``relu``, ``elu``, ``softsign``, ``sigmoid`` or ``silu``.
    """

    weights: Floats
    bias: Floats | None = None
    nonlinearity: Nonlinearity = "none"

    def __post_init__(self) -> None:
        weights = _matrix(self.weights, "weights of a layer")
        bias = np.zeros(len(weights)) if self.bias is None else finite_floats(self.bias, "bias of a layer", ModelError)
        if bias.shape != weights.shape[:1]:
            raise ModelError(f"a layer has weights of shape {weights.shape} and a bias of shape {bias.shape}")
        if self.nonlinearity not in NONLINEARITIES:
            raise ModelError(f"no nonlinearity {self.nonlinearity!r}, needs one of {', '.join(NONLINEARITIES)}")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "bias", bias)

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of inputs and of outputs."""
        return self.weights.shape[1], self.weights.shape[0]

    memory = 0
    """Numbers that are kept from step to step."""

    @property
    def rows(self) -> Floats:
        """Weights of each output, its bias last."""
        return np.column_stack([self.weights, np.asarray(self.bias)])


@dataclass(frozen=True, eq=False)
class LSTM:
    """A long short-term memory with the gates and the order of torch's ``nn.LSTM``: input, forget, cell, output.

    Args:
        input_weights: Matrix, ``(4 hidden, inputs)``: torch's ``weight_ih_l0``.
        hidden_weights: Matrix, ``(4 hidden, hidden)``: torch's ``weight_hh_l0``.
        bias: Vector, ``(4 hidden,)``: the sum of torch's ``bias_ih_l0`` and ``bias_hh_l0``; by default zero.
    """

    input_weights: Floats
    hidden_weights: Floats
    bias: Floats | None = None

    def __post_init__(self) -> None:
        first, second = (_matrix(x, "weights of an LSTM") for x in (self.input_weights, self.hidden_weights))
        rows = 4 * second.shape[1]
        bias = np.zeros(rows) if self.bias is None else finite_floats(self.bias, "bias of an LSTM", ModelError)
        if not len(first) == len(second) == len(bias) == rows:
            raise ModelError(
                f"an LSTM has weights of shapes {first.shape} and {second.shape} and a bias of shape {bias.shape}; "
                "needs (4 hidden, inputs), (4 hidden, hidden) and (4 hidden,)"
            )
        for name, x in (("input_weights", first), ("hidden_weights", second), ("bias", bias)):
            object.__setattr__(self, name, x)

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of inputs and of outputs."""
        return self.input_weights.shape[1], self.hidden_weights.shape[1]

    @property
    def memory(self) -> int:
        """Numbers that are kept from step to step: hidden state and cell state."""
        return 2 * self.sizes[1]

    @property
    def rows(self) -> Floats:
        """Weights of each gate: of inputs, of the hidden state, its bias last."""
        return np.column_stack([self.input_weights, self.hidden_weights, np.asarray(self.bias)])


@converted_but("layers", "history")
@dataclass(frozen=True, eq=False)
class Network:
    """A small network that stands for an actuator: its force by position errors and rates of this step and before.

    It reads ``error_scale (c - l)`` at the steps of ``history``, and after these ``rate_scale r`` at the same steps,
    with ``c`` the command, ``l`` the length and ``r`` the rate of the actuator. Its output times ``scale`` is the
    force. Errors, rates and memory before the first step are zero unless activations at the start say otherwise.
    Simulate with the time step of the recordings that it learned from.

    Args:
        layers: `Layer`s and `LSTM`s; the last has one output.
        history: Steps ago, such as ``(0, 1, 2)``: zero is the present one.
        error_scale: Factor of errors; -1 for networks that learned from position minus command.
        rate_scale: Factor of rates.
        scale: Factor of the output, in N m or N.
    """

    layers: tuple[Layer | LSTM, ...]
    history: tuple[int, ...] = (0,)
    error_scale: float = 1.0
    rate_scale: float = 1.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "layers", tuple(self.layers))
        object.__setattr__(self, "history", tuple(int(k) for k in self.history))
        if not self.layers or not all(isinstance(layer, Layer | LSTM) for layer in self.layers):
            raise ModelError("layers of a network must be Layer or LSTM, at least one")
        if not self.history or not all(0 <= k <= MOST_HISTORY for k in self.history):
            raise ModelError(f"history of a network is {self.history}, needs steps from 0 to {MOST_HISTORY}")
        width = 2 * len(self.history)
        for k, layer in enumerate(self.layers):
            if layer.sizes[0] != width:
                before = f"layer {k - 1} has {width} outputs" if k else f"history {self.history} gives {width}"
                raise ModelError(f"layer {k} of a network takes {layer.sizes[0]} inputs, and {before}")
            width = layer.sizes[1]
        if width != 1:
            raise ModelError(f"a network has {width} outputs, needs one: the force")

    @classmethod
    @converted
    def from_torch(
        cls,
        module: Any,
        history: Sequence[int] = (0,),
        *,
        error_scale: float = 1.0,
        rate_scale: float = 1.0,
        scale: float = 1.0,
    ) -> Network:
        """The network of a torch module, by its ``nn.Linear``, ``nn.LSTM`` and nonlinearities in their order.

        Args:
            module: Such as an ``nn.Sequential``, or a module with an ``nn.LSTM`` and then linear layers.
            history: As of `Network`.
            error_scale: As of `Network`.
            rate_scale: As of `Network`.
            scale: As of `Network`.
        """
        layers: list[Layer | LSTM] = []
        for kind, leaf in _leaves(module):
            weights = {name: x.detach().cpu().double().numpy() for name, x in leaf.named_parameters()}
            if kind == "Linear":
                layers.append(Layer(weights["weight"], weights.get("bias")))
            elif kind == "LSTM":
                layers += _lstms(leaf, weights)
            elif kind in _TORCH and layers and isinstance(layers[-1], Layer) and layers[-1].nonlinearity == "none":
                layers[-1] = Layer(layers[-1].weights, layers[-1].bias, _TORCH[kind])
            elif kind not in ("Identity", "Dropout", "Flatten"):
                raise ModelError(
                    f"a network of torch has {kind} after {len(layers)} layers; needs Linear, each with one of "
                    f"{', '.join(_TORCH)} after it or none, or LSTM"
                )
            if getattr(leaf, "alpha", 1.0) != 1.0:
                raise ModelError(f"a network of torch has {kind} with alpha {leaf.alpha}, needs 1")
        return cls(tuple(layers), tuple(history), error_scale, rate_scale, scale)

    @property
    def depth(self) -> int:
        """Steps ago that it reads at most."""
        return max(self.history)

    @property
    def memory(self) -> int:
        """Numbers that are kept from step to step: errors, then rates, then the memory of each layer."""
        return 2 * self.depth + sum(layer.memory for layer in self.layers)


_TORCH: dict[str, Nonlinearity] = {
    "Tanh": "tanh",
    "ReLU": "relu",
    "ELU": "elu",
    "Softsign": "softsign",
    "Sigmoid": "sigmoid",
    "SiLU": "silu",
}
"""Nonlinearities by torch's names."""


def _matrix(x: Any, name: str) -> Floats:
    matrix = finite_floats(x, name, ModelError)
    if matrix.ndim != 2 or not matrix.size:
        raise ModelError(f"{name} have shape {matrix.shape}, need (outputs, inputs)")
    return matrix


def _leaves(module: Any) -> Iterator[tuple[str, Any]]:
    """Modules without children and their kinds, those of TorchScript too."""
    children = list(module.children())
    if not children:
        yield getattr(module, "original_name", type(module).__name__), module
    for child in children:
        yield from _leaves(child)


def _lstms(module: Any, weights: dict[str, Floats]) -> Iterator[LSTM]:
    """The layers of an ``nn.LSTM``."""
    if any(name.endswith("_reverse") or name.startswith("weight_hr") for name in weights):
        raise ModelError("a network of torch has an LSTM that is bidirectional or projected: neither is supported")
    for k in range(module.num_layers):
        bias = None if f"bias_ih_l{k}" not in weights else weights[f"bias_ih_l{k}"] + weights[f"bias_hh_l{k}"]
        yield LSTM(weights[f"weight_ih_l{k}"], weights[f"weight_hh_l{k}"], bias)
