# SPDX-License-Identifier: BSD-3-Clause
"""The same robot in other units, and its states and forces: those of a similar robot."""

from __future__ import annotations

from linkwork.mechanism.scaling import Scaling as Units
from linkwork.mechanism.scaling import lengths_of_q, lengths_of_v, scaled

__all__ = ["Units", "lengths_of_q", "lengths_of_v", "scaled"]
