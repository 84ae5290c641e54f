# SPDX-License-Identifier: BSD-3-Clause
"""Mechanisms, and functions that make and change them."""

from linkwork.mechanism.builder import Builder
from linkwork.mechanism.compose import attach, compose
from linkwork.mechanism.mechanism import Mechanism

__all__ = ["Builder", "Mechanism", "attach", "compose"]
