# SPDX-License-Identifier: BSD-3-Clause
"""Kernel code, one family a file: numeric phase only, reads plans, allocates nothing."""

from __future__ import annotations

from linkwork.kernels.scalar import sincos, sqrt, where

__all__ = ["sincos", "sqrt", "where"]


def __dir__() -> list[str]:
    return sorted(__all__)
