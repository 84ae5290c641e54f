# SPDX-License-Identifier: BSD-3-Clause
"""Activation dynamics of actuators: how activations follow commands (MJCF: ``dyntype``)."""

from __future__ import annotations

from types import MappingProxyType
from typing import Literal

ActuatorDynamics = Literal["none", "integrator", "filter", "filterexact", "muscle"]
"""Activation dynamics of actuators; without dynamics there is no activation."""

INTEGRATOR, FILTER, FILTER_EXACT, MUSCLE, ERROR_INTEGRAL, REGISTER, NETWORK_MEMORY = range(7)
"""Codes of kernels; the last three are of motors: the integral of a servo's error, a command on its way, and a number
that a network keeps."""
ACTIVATIONS = MappingProxyType(
    {"integrator": INTEGRATOR, "filter": FILTER, "filterexact": FILTER_EXACT, "muscle": MUSCLE}
)
"""Rates of an activation ``w`` under the command ``u``: ``u``; ``(u - w) / T``; the same, integrated exactly; that of
a muscle (`Muscle`)."""
