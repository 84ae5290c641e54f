# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of the networks of actuators: layers one after another, weights of all outputs in rows (`kernels.tree`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.model.networks import LSTM, NONLINEARITIES, Layer, Network
from linkwork.model.parts import Actuator
from linkwork.plans.layout import Shape, ragged

NETWORK_SIZES = (
    "nnetworks",
    "network_widest",  # the most inputs or outputs of a layer,
    "network_numbers",  # and twice as many
    "nlayers",
    "nlags",
    "nnetwork_weights",
)
NETWORK_INTEGERS: dict[str, Shape] = {
    "actuator_network": ("nu",),  # the network that an actuator is, or -1
    "network_depth": ("nnetworks",),  # steps ago that it reads at most
    "network_lag_start": ("nnetworks",),  # steps ago that it reads: first and count
    "network_lags": ("nnetworks",),
    "network_lag": ("nlags",),
    "network_layer_start": ("nnetworks",),  # its layers: first and count
    "network_layers": ("nnetworks",),
    "layer_kind": ("nlayers",),  # nonlinearity, or a memory: see `kernels.tree.networks`
    "layer_inputs": ("nlayers",),
    "layer_outputs": ("nlayers",),
    "layer_weights": ("nlayers",),  # where its rows of weights begin
}
NETWORK_FLOATS: dict[str, Shape] = {
    "network_scales": ("nnetworks", 2),  # factors of errors and of rates
    "network_weights": ("nnetwork_weights",),
}


def network_arrays(actuators: Sequence[Actuator]) -> dict[str, Any]:
    """Arrays of the networks of actuators; those that share one have its weights once.

    Args:
        actuators: The actuators.
    """
    own = [None if a.motor is None else a.motor.network for a in actuators]
    networks: list[Network] = list(dict.fromkeys(network for network in own if network is not None))
    lags, layers = ragged([n.history for n in networks]), [layer for n in networks for layer in n.layers]
    rows = [layer.rows.ravel() for layer in layers]
    sizes = [layer.sizes for layer in layers]
    starts = ragged([range(len(n.layers)) for n in networks])
    widest = max((size for pair in sizes for size in pair), default=0)
    return {
        "network_widest": widest,
        "network_numbers": 2 * widest,
        "actuator_network": [-1 if network is None else networks.index(network) for network in own],
        "network_depth": [network.depth for network in networks],
        "network_lag_start": lags.start,
        "network_lags": lags.count,
        "network_lag": lags.entries,
        "network_layer_start": starts.start,
        "network_layers": starts.count,
        "layer_kind": [_kind(layer) for layer in layers],
        "layer_inputs": [inputs for inputs, _ in sizes],
        "layer_outputs": [outputs for _, outputs in sizes],
        "layer_weights": np.cumsum([0, *map(len, rows)])[:-1],
        "network_scales": [(network.error_scale, network.rate_scale) for network in networks],
        "network_weights": np.concatenate([*rows, np.zeros(0)]),
    }


def _kind(layer: Layer | LSTM) -> int:
    return len(NONLINEARITIES) if isinstance(layer, LSTM) else NONLINEARITIES.index(layer.nonlinearity)
