# SPDX-License-Identifier: BSD-3-Clause
"""Evaluators as JAX functions, on the CPU and on CUDA devices: ``lw.jax.function(evaluator)``."""

from __future__ import annotations

from linkwork.jax.functions import Function, function

__all__ = ["Function", "function"]
