# SPDX-License-Identifier: BSD-3-Clause
"""What users hold: mechanisms, and what makes them."""

from linkwork.mechanism.builder import Builder
from linkwork.mechanism.compose import attach, compose
from linkwork.mechanism.mechanism import Mechanism

__all__ = ["Builder", "Mechanism", "attach", "compose"]
