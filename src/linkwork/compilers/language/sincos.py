# SPDX-License-Identifier: BSD-3-Clause
"""Sine and cosine as kernel code, for machine code without calls to a library.

Reduction by multiples of pi/2 (Cody and Waite, with fused multiply-adds): ``x - k P1`` is exact because both are
multiples of one unit and the difference is small; ``P2`` is short, so that ``k P2`` is exact too and the part that
rounding drops is found exactly. The polynomials on [-pi/4, pi/4] are those of fdlibm (double) and Cephes (single).
Good for |x| <= LIMIT; beyond it the caller turns to the C library.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.compilers.lanes import Type
from linkwork.kernels.scalar import Scalar, fma, kernel, rint, where

LIMIT = 1.0e4


class Coefficients(NamedTuple):
    """Parts of pi/2 (P1 + P2 + P3) and the polynomials."""

    P1: float
    P2: float
    P3: float
    S: tuple[float, ...]
    C: tuple[float, ...]


HALF_PI_DIGITS = "1.5707963267948966192313216916397514420985846996875529104874722961"


def _half_pi(first_bits: int, second_bits: int) -> tuple[float, float, float]:
    """pi/2 as three numbers of which the first two have few bits."""
    from fractions import Fraction

    rest = Fraction(HALF_PI_DIGITS)
    parts = []
    for bits in (first_bits, second_bits):
        unit = Fraction(2) ** (int(np.floor(np.log2(float(rest)))) + 1 - bits)
        part = (rest // unit) * unit
        parts.append(float(part))
        rest -= part
    return parts[0], parts[1], float(rest)


DOUBLE = Coefficients(
    *_half_pi(53, 40),
    S=(
        -1.66666666666666324348e-01,
        8.33333333332248946124e-03,
        -1.98412698298579493134e-04,
        2.75573137070700676789e-06,
        -2.50507602534068634195e-08,
        1.58969099521155010221e-10,
    ),
    C=(
        4.16666666666666019037e-02,
        -1.38888888888741095749e-03,
        2.48015872894767294178e-05,
        -2.75573143513906633035e-07,
        2.08757232129817482790e-09,
        -1.13596475577881948265e-11,
    ),
)
SINGLE = Coefficients(
    *_half_pi(24, 11),
    S=(-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4),
    C=(4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5),
)


@kernel
def horner(p: tuple[float, ...], z: Scalar) -> Scalar:
    """``p0 + z (p1 + z (p2 + ...))``."""
    y = p[-1]
    for k in range(len(p) - 2, -1, -1):
        y = fma(y, z, p[k])
    return y


@kernel
def sincos_text(x: Scalar, c: Coefficients) -> tuple[Scalar, Scalar]:
    """Sine and cosine of |x| <= LIMIT, to about one unit in the last place."""
    k = rint(x * 0.6366197723675814)
    t = fma(-k, c.P1, x)
    y = fma(-k, c.P2, t)
    rest = fma(-k, c.P3, fma(-k, c.P2, t - y))  # x - k pi/2 = y + rest
    z = y * y
    # sin(y + rest) = y + (y³ (S0 + y² S) + rest (1 - y²/2))
    sine = y + fma(z * y, horner(c.S, z), fma(-0.5 * z, rest, rest))
    # cos(y + rest) = 1 - y²/2 + (y⁴ C - y rest), the rounding of 1 - y²/2 made good
    half = 0.5 * z
    whole = 1.0 - half
    cosine = whole + (((1.0 - whole) - half) + fma(z * z, horner(c.C, z), -(y * rest)))
    turn = fma(rint(0.25 * k), -4.0, k)  # k modulo 4, in -2 .. 2
    odd = (turn * turn - 1.0) * (turn * turn - 1.0)  # 0 for quarter turns, else 1 or 9
    a = where(odd, 0.5, cosine, sine)
    b = where(odd, 0.5, sine, cosine)
    sine = where(-0.5, turn, where(1.5, turn, -a, a), -a)
    cosine = where(turn, 0.5, where(turn, -1.5, -b, b), -b)
    return sine, cosine


def sincos_double(x: Scalar) -> tuple[Scalar, Scalar]:
    """`sincos_text` in double precision."""
    return sincos_text(x, DOUBLE)


def sincos_single(x: Scalar) -> tuple[Scalar, Scalar]:
    """`sincos_text` in single precision."""
    return sincos_text(x, SINGLE)


# As a function of a module -----------------------------------------------------------------------------------------

NEW_LINE = "\n  "


SINCOS_NEEDS = """declare double @llvm.sin.f64(double)
declare double @llvm.cos.f64(double)
!1 = !{!"branch_weights", i32 1000, i32 1}"""
"""Definitions that a module with such functions has once."""


def sincos_function(t: Type, name: str, polynomials: str, context: str) -> str:
    """Sine and cosine by polynomials, and by the C library in the lanes that these are not good for."""
    pair = f"{{ {t.name}, {t.name} }}"
    mask, good = "i1", "%good = or i1 %fits, false"
    if t.lanes > 1:
        mask = f"<{t.lanes} x i1>"
        good = f"%bits = bitcast {mask} %fits to i{t.lanes}\n  %good = icmp eq i{t.lanes} %bits, -1"
    lines, sines, cosines = _by_library(t)
    return f"""define internal {pair} @{name}({context}, {t.name} %x) #0 noinline {{
  %size = call {t.name} @llvm.fabs.{t.suffix}({t.name} %x)
  %fits = fcmp ole {t.name} %size, {t.number(LIMIT)}
  {good}
  %near = call {pair} @{polynomials}({context}, {t.name} %x)
  br i1 %good, label %fast, label %slow, !prof !1
fast:
  ret {pair} %near
slow:
  {NEW_LINE.join(lines)}
  %near0 = extractvalue {pair} %near, 0
  %near1 = extractvalue {pair} %near, 1
  %sine = select {mask} %fits, {t.name} %near0, {t.name} {sines}
  %cosine = select {mask} %fits, {t.name} %near1, {t.name} {cosines}
  %one = insertvalue {pair} poison, {t.name} %sine, 0
  %both = insertvalue {pair} %one, {t.name} %cosine, 1
  ret {pair} %both
}}"""


def _by_library(t: Type) -> tuple[list[str], str, str]:
    """Instructions that compute sine and cosine of ``%x`` lane by lane, and the names of both."""
    wide, results = t.dtype == "float64", []
    lines = list[str]()
    for f in ("sin", "cos"):
        packed = "poison"
        for lane in range(t.lanes):
            name, x = f"{f}{lane}", "%x"
            if t.lanes > 1:
                x = f"%x.{name}"
                lines.append(f"{x} = extractelement {t.name} %x, i32 {lane}")
            if not wide:
                lines.append(f"%d.{name} = fpext float {x} to double")
                x = f"%d.{name}"
            y = f"%y.{name}"
            lines.append(f"{y} = call double @llvm.{f}.f64(double {x})")
            if not wide:
                lines.append(f"%n.{name} = fptrunc double {y} to float")
                y = f"%n.{name}"
            if t.lanes > 1:
                lines.append(f"%p.{name} = insertelement {t.name} {packed}, {t.scalar} {y}, i32 {lane}")
                y = f"%p.{name}"
            packed = y
        results.append(packed)
    return lines, results[0], results[1]
