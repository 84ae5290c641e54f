# SPDX-License-Identifier: BSD-3-Clause
"""How activations of actuators follow commands (MJCF: ``dyntype``)."""

from __future__ import annotations

from types import MappingProxyType
from typing import Literal

ActuatorDynamics = Literal["none", "integrator", "filter", "filterexact", "muscle"]
"""How the activation of an actuator follows its command; without dynamics there is none."""

INTEGRATOR, FILTER, FILTER_EXACT, MUSCLE = range(4)
ACTIVATIONS = MappingProxyType(
    {"integrator": INTEGRATOR, "filter": FILTER, "filterexact": FILTER_EXACT, "muscle": MUSCLE}
)
"""Rates of an activation ``w`` under the command ``u``: ``u``; ``(u - w) / T``; the same, integrated exactly; that of
a muscle (`Muscle`)."""
