# SPDX-License-Identifier: BSD-3-Clause
"""Sine and cosine in WebAssembly, which has no fused multiply-add: the bits of native code without contraction.

The code is that of native code (`language.sincos`). ``fma(a, b, c)`` is made of Dekker's product and Knuth's sum, which
split ``a b`` and ``a b + c`` into a number and its rounding error:

    p + e = a b,    s + f = p + c,    fma = s + (f + e)

Rounding ``f + e`` first changes the last bit where the sum is as near as 2^-53 of a unit to halfway between two
numbers, once in some 10^15 times. Angles may be large: ``k P1`` is exact for any integer ``k`` of the reduction, and
what is left of pi/2 has 146 bits, so that results are good to an ulp or two as far as |x| <= 1e12.
"""

from __future__ import annotations

from functools import cache

from linkwork.compilers.language.sincos import sincos_double
from linkwork.compilers.trace.replay import replay, signed
from linkwork.compilers.trace.tracing import Trace, trace_function
from linkwork.kernels.scalar import Scalar
from linkwork.model.expressions import FMA

SPLITTER = 134217729.0
"""2^27 + 1: halves of a double have 26 bits, so that their products are exact (Veltkamp)."""


def fma_of_sums(a: Scalar, b: Scalar, c: Scalar) -> Scalar:
    """``a b + c`` with one rounding, by products and sums.

    Args:
        a: A number below 1e300.
        b: The other operand.
        c: A number.
    """
    p = a * b
    e = _product_error(a, b, p)
    s = p + c
    t = s - p
    f = (p - (s - t)) + (c - t)
    return s + (f + e)


def _product_error(a: Scalar, b: Scalar, p: Scalar) -> Scalar:
    """``a b - p``, exactly (Dekker)."""
    a1, b1 = _upper_half(a), _upper_half(b)
    a2, b2 = a - a1, b - b1
    return ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


def _upper_half(x: Scalar) -> Scalar:
    t = SPLITTER * x
    return t - (t - x)


@cache
def sincos_trace() -> Trace:
    """``x`` to its sine and cosine, without fused multiply-adds."""
    traced = trace_function("sincos", sincos_double, ["x"])

    def with_sums(x: Scalar) -> list[Scalar]:
        values = replay(traced, lambda array, place: x, {FMA: fma_of_sums})
        return [signed(values, symbol) for _, (symbol,) in traced.outputs]

    return trace_function("sincos", with_sums, ["x"])


@cache
def fma_trace() -> Trace:
    """`fma_of_sums`, for programs that ask for it."""
    return trace_function("fma", lambda a, b, c: [fma_of_sums(a, b, c)], ["a", "b", "c"])
