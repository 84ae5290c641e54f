"""The scalar functions that kernel text may call, and the mark that makes a function a kernel.

Kernel text runs on three kinds of scalars: floats (plain), machine numbers (native, where
``compile.native`` supplies these functions) and nodes of a trace graph (specialised).
A scalar that is not a float is asked to do the work itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

Scalar = Any
"""A float, or a symbol that behaves like one."""

Array = Any
"""A NumPy array of scalars."""

Vector = Any
"""Three scalars: a tuple, or the row of an array."""

F = TypeVar("F", bound=Callable[..., Any])

KERNELS: list[Callable[..., Any]] = []
"""Every function marked as kernel text, for the native compiler."""


def kernel(function: F) -> F:
    """Mark a function as kernel text; it stays a plain Python function.

    Rules, so that all three ways work: loops and branches depend on integers of the tree or of the
    plan, never on a float of the state (use `where`); no allocation, no ``@``, no fancy
    indexing; work arrays come in from outside; inputs are read-only.
    """
    KERNELS.append(function)
    return function


def sincos(x: Scalar) -> tuple[Scalar, Scalar]:
    """Sine and cosine of one angle."""
    return (math.sin(x), math.cos(x)) if isinstance(x, float) else x.sincos()


def sqrt(x: Scalar) -> Scalar:
    """Square root."""
    return math.sqrt(x) if isinstance(x, float) else x.sqrt()


def where(below: Scalar, bound: Scalar, then: Scalar, otherwise: Scalar) -> Scalar:
    """``then if below < bound else otherwise``, without a branch."""
    for x in (below, bound, then, otherwise):
        if not isinstance(x, float):
            return x.where(below, bound, then, otherwise)
    return then if below < bound else otherwise


def fma(a: Scalar, b: Scalar, c: Scalar) -> Scalar:
    """``a * b + c`` with one rounding."""
    for x in (a, b, c):
        if not isinstance(x, float):
            return x.fma(a, b, c)
    return _exact_fma(a, b, c)


def rint(x: Scalar) -> Scalar:
    """The nearest integer, halves to even, as a scalar."""
    return float(round(x)) if isinstance(x, float) else x.rint()


def _exact_fma(a: float, b: float, c: float) -> float:
    from fractions import Fraction

    return float(Fraction(a) * Fraction(b) + Fraction(c))
