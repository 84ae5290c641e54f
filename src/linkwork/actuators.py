# SPDX-License-Identifier: BSD-3-Clause
"""Actuators of a robot: classes, torques, limits and activations."""

from linkwork.model.motors import Motor
from linkwork.model.muscles import Muscle
from linkwork.model.networks import LSTM, Layer, Network
from linkwork.model.parts import Actuator
from linkwork.quantities.actuation import (
    Activations,
    actuation_matrix,
    actuator_torques,
    gravity_compensation,
    next_activations,
    torque_limits,
)

__all__ = [
    "LSTM",
    "Activations",
    "Actuator",
    "Layer",
    "Motor",
    "Muscle",
    "Network",
    "actuation_matrix",
    "actuator_torques",
    "gravity_compensation",
    "next_activations",
    "torque_limits",
]
