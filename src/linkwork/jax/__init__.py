# SPDX-License-Identifier: BSD-3-Clause
"""Evaluators as JAX functions, on the CPU and on CUDA devices: ``lw.jax.function(evaluator)``."""

from __future__ import annotations

from importlib.util import find_spec

from linkwork.errors import UnsupportedFeature

if find_spec("jax") is None:
    raise UnsupportedFeature("linkwork.jax needs JAX 0.6 or newer: pip install 'linkwork[jax]' or 'jax>=0.6'")

from linkwork.jax.functions import Function, function, normalize

__all__ = ["Function", "function", "normalize"]
