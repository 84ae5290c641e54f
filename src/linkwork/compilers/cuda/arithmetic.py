# SPDX-License-Identifier: BSD-3-Clause
"""Quotients, square roots, sines and cosines as instructions for a GPU, without branches.

The assembler makes a branch of every division and square root, to a routine for numbers at the ends of the range. A
program has hundreds of them: its time goes into short blocks, and that of the assembler, too. Here the hardware's
approximation (``r`` for ``1/b`` or ``1/sqrt(x)``) is refined by the residual of the result, which a fused
multiplication and addition has without rounding (Markstein 1990)::

    a / b     q = a r     q + (a - q b) r
    sqrt(x)   s = x r     s + (x - s s) r / 2

In double precision, whose approximations have 20 bits, ``r`` is refined before: ``e = 1 - b r``, ``r + r (e + e^2)``;
of roots, ``e = 1/2 - s r / 2``, ``s + s e`` and ``r + r e``.

Results are rounded as division is in nearly all cases, and off by one unit in the last place in others. Zero, infinity
and NaN are as of division and root; but for divisors that have no reciprocal (beyond 8e37 in single precision, 4e307 in
double), whose quotients are zero, and numbers that are not normal, which count as zero in single precision.
"""

from __future__ import annotations

import re
from functools import cache

from linkwork.compilers.lanes import Type
from linkwork.compilers.language.sincos import sincos_double, sincos_single
from linkwork.compilers.trace.emit import declarations as basic_declarations
from linkwork.compilers.trace.emit import straight_line
from linkwork.compilers.trace.tracing import trace_function

APPROXIMATIONS = {
    "float32": ("llvm.nvvm.rcp.approx.ftz.f", "llvm.nvvm.rsqrt.approx.ftz.f", "llvm.nvvm.sqrt.approx.ftz.f"),
    "float64": ("llvm.nvvm.rcp.approx.ftz.d", "llvm.nvvm.rsqrt.approx.d"),
}
"""Of reciprocals, of reciprocals of square roots, and of square roots where the hardware has them."""


def declarations(t: Type) -> str:
    """The intrinsics that emitted code may call."""
    approximations = [f"declare {t.scalar} @{name}({t.scalar})" for name in APPROXIMATIONS[t.dtype]]
    return "\n".join([basic_declarations(t), *approximations])


class _Lines:
    """Instructions whose names begin with that of the result."""

    def __init__(self, t: Type, name: str) -> None:
        self.t, self.s, self.name = t, t.scalar, name
        self.text: list[str] = []

    def call(self, suffix: str, function: str, *arguments: str) -> str:
        operands = ", ".join(f"{self.s} {x}" for x in arguments)
        self.text.append(f"{self.name}.{suffix} = call {self.s} @{function}({operands})")
        return f"{self.name}.{suffix}"

    def fma(self, suffix: str, x: str, y: str, z: str) -> str:
        return self.call(suffix, f"llvm.fma.{self.t.suffix}", x, y, z)

    def minus(self, suffix: str, x: str) -> str:
        self.text.append(f"{self.name}.{suffix} = fneg {self.s} {x}")
        return f"{self.name}.{suffix}"

    def times(self, suffix: str, x: str, y: str) -> str:
        self.text.append(f"{self.name}.{suffix} = fmul {self.s} {x}, {y}")
        return f"{self.name}.{suffix}"

    def finite_or(self, tested: str, refined: str, rough: str) -> list[str]:
        """The result: ``refined`` where ``tested`` is finite, else ``rough``."""
        size = self.call("size", f"llvm.fabs.{self.t.suffix}", tested)
        self.text += [
            f"{self.name}.finite = fcmp olt {self.s} {size}, {self.t.number(float('inf'))}",
            f"{self.name} = select i1 {self.name}.finite, {self.s} {refined}, {self.s} {rough}",
        ]
        return self.text


def quotient(t: Type, name: str, a: str, b: str) -> list[str]:
    """Instructions for ``a / b``.

    Args:
        t: Type of the numbers.
        name: Of the result.
        a: Dividend.
        b: Divisor.
    """
    lines, one = _Lines(t, name), t.number(1.0)
    reciprocal = lines.call("r", APPROXIMATIONS[t.dtype][0], b)
    rough = end = lines.times("q", a, reciprocal)
    if t.dtype == "float64":
        minus = lines.minus("b", b)
        error = lines.fma("e", minus, reciprocal, one)
        both = lines.fma("ee", error, error, error)
        reciprocal = lines.fma("rr", reciprocal, both, reciprocal)
        rough = lines.times("qq", a, reciprocal)
    residual = lines.fma("m", lines.minus("n", rough), b, a)
    return lines.finite_or(residual, lines.fma("s", residual, reciprocal, rough), end)


def root(t: Type, name: str, x: str) -> list[str]:
    """Instructions for the square root of ``x``.

    Args:
        t: Type of the numbers.
        name: Of the result.
        x: The number.
    """
    lines, half = _Lines(t, name), t.number(0.5)
    reciprocal = lines.call("r", APPROXIMATIONS[t.dtype][1], x)
    halved = lines.times("h", reciprocal, half)
    if t.dtype == "float32":
        rough = lines.call("q", APPROXIMATIONS[t.dtype][2], x)
        residual = lines.fma("m", lines.minus("n", rough), rough, x)
        refined = lines.fma("s", residual, halved, rough)
        return lines.finite_or(refined, refined, rough)
    rough = lines.times("q", x, reciprocal)
    error = lines.fma("e", lines.minus("o", rough), halved, half)
    better, halved = lines.fma("b", rough, error, rough), lines.fma("g", halved, error, halved)
    residual = lines.fma("m", lines.minus("n", better), better, x)
    refined = lines.fma("s", residual, halved, better)
    s, infinity = t.scalar, t.number(float("inf"))
    return [
        *lines.text,
        f"{name}.zero = fcmp oeq {s} {x}, {t.number(0.0)}",
        f"{name}.most = fcmp oeq {s} {x}, {infinity}",
        f"{name}.end = or i1 {name}.zero, {name}.most",
        f"{name} = select i1 {name}.end, {s} {x}, {s} {refined}",
    ]


def sincos(t: Type, angle: str, prefix: str) -> tuple[list[str], tuple[str, str]]:
    """Instructions for sine and cosine of one angle, by polynomials, and the names of both.

    Args:
        t: Type of the numbers.
        angle: The angle.
        prefix: Of names.
    """
    lines, results = _sincos(t.dtype)
    renamed = [re.sub(r"%(?=[vmn]\d)", f"%{prefix}", line) for line in lines]
    opening = f"%{prefix}angle = fadd {t.scalar} {angle}, {t.number(-0.0)}"
    sine, cosine = (result.replace("%", f"%{prefix}", 1) for result in results)
    return [opening, *(line.replace("%angle", f"%{prefix}angle") for line in renamed)], (sine, cosine)


@cache
def _sincos(dtype: str) -> tuple[list[str], tuple[str, str]]:
    t = Type(dtype, 1)
    trace = trace_function("sincos", sincos_double if dtype == "float64" else sincos_single, ["x"])
    results: dict[int, str] = {}

    def store(k: int, j: int, value: str) -> list[str]:
        results[k] = value
        return []

    def load(i: int, first: int) -> list[str]:
        return [f"%v{i} = fadd {t.scalar} %angle, {t.number(-0.0)}"]

    return straight_line(trace, t, load, store), (results[0], results[1])
