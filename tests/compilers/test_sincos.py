# SPDX-License-Identifier: BSD-3-Clause
"""Compiled sine and cosine are within 2 units in the last place, for every angle, type and number of lanes.

The reference is computed here in integers (reduction by pi/2 and Taylor series at 1400 bits): no library is trusted.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from linkwork.compilers import llvm, native
from linkwork.compilers.entry.batch import SYMBOL
from linkwork.compilers.lanes import Type
from linkwork.compilers.language.sincos import LIMIT
from linkwork.compilers.trace import emit
from linkwork.compilers.trace.tracing import trace_function
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.scalar import kernel, sincos
from linkwork.plans.layout import Layout

Floats = npt.NDArray[np.floating]

BITS = 1400
"""Enough to reduce 1e308 by multiples of pi/2 and keep 370 bits, and for 400 bits of 1e-300."""


@cache
def _pi() -> int:
    """pi times 2**BITS (Machin)."""

    def arctan_inverse(n: int) -> int:
        term = total = (1 << (BITS + 64)) // n
        k, sign = 1, -1
        while term:
            term //= n * n
            k += 2
            total += sign * (term // k)
            sign = -sign
        return total

    return (4 * (4 * arctan_inverse(5) - arctan_inverse(239))) >> 64


@cache
def exact(x: float) -> tuple[Fraction, Fraction]:
    """Sine and cosine of ``x``, correct to 200 bits."""
    numerator, denominator = x.as_integer_ratio()
    scaled = (numerator << BITS) // denominator
    quarter = _pi() >> 1
    turns = (2 * scaled + quarter) // (2 * quarter)
    r = scaled - turns * quarter
    square = r * r >> BITS

    def series(term: int, k: int) -> int:
        total = term
        while term:
            term = -(term * square >> BITS) // (k * (k + 1))
            total += term
            k += 2
        return total

    one = 1 << BITS
    sine, cosine = Fraction(series(r, 2), one), Fraction(series(one, 1), one)
    return [(sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine)][turns % 4]


def error_in_ulp(found: np.floating, true: Fraction) -> float:
    """Distance from the true value, in units in the last place of the true value in the type of ``found``."""
    unit = Fraction(float(np.spacing(np.abs(type(found)(float(true))))))
    return float(abs(Fraction(float(found)) - true) / unit)


@cache
def compiled(dtype: str, lanes: int) -> Callable[[Floats], tuple[Floats, Floats]]:
    """A program that does nothing but sine and cosine."""
    made = trace_function("sincos", lambda x: sincos(x), ["x"])
    return _loaded(emit.module(made, dtype, lanes), dtype)


@kernel
def both(tree: Any, w: Any, x: Any, sine: Any, cosine: Any) -> None:
    sine[0], cosine[0] = sincos(x[0])


@cache
def native_code(dtype: str, lanes: int) -> Callable[[Floats], tuple[Floats, Floats]]:
    """The same as native code."""
    layout = Layout("nothing", (), {}, {})
    algorithm = Algorithm("both", both, {"x": (1,)}, {"sine": (1,), "cosine": (1,)}, {}, layout)
    t = Type(dtype, lanes)
    context = native.Context(algorithm, layout.type(), t)
    return _loaded(native.module(algorithm, t), dtype, context, level=1)


WAYS = {"specialized": compiled, "native": native_code}


def _loaded(
    ir: str, dtype: str, context: native.Context | None = None, level: int = 0
) -> Callable[[Floats], tuple[Floats, Floats]]:
    code = llvm.Code(llvm.object_code(ir, level), SYMBOL)
    kernel_type = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, ctypes.c_int64, *[ctypes.c_void_p] * 2)

    def run(x: Floats) -> tuple[Floats, Floats]:
        x = np.ascontiguousarray(x, dtype=dtype)
        s, c = np.empty_like(x), np.empty_like(x)
        arrays = np.array([x.ctypes.data, s.ctypes.data, c.ctypes.data], dtype=np.int64)
        strides = np.ones(3, dtype=np.int64)
        memory = None if context is None else context.address
        kernel_type(code.address)(arrays.ctypes.data, strides.ctypes.data, len(x), memory, None)
        return s, c

    return run


def near_quarter_turns(dtype: str, limit: float) -> Floats:
    """Numbers next to multiples of pi/2, where all leading digits cancel: a few units either side."""
    rng = np.random.default_rng(5)
    top = int(limit / (np.pi / 2))
    some = [np.arange(0, 60), np.rint(np.geomspace(60, top, 100)), rng.integers(0, top, 100)]
    multiples = np.unique(np.concatenate(some))
    base = (multiples * (np.pi / 2)).astype(dtype)
    found = [base]
    for toward in (np.inf, -np.inf):
        x = base
        for _ in range(3):
            x = np.nextafter(x, np.array(toward, dtype=dtype))
            found.append(x)
    x = np.concatenate(found)
    x = x[np.abs(x) <= limit]
    return np.concatenate([x, -x])


def ordinary(dtype: str, limit: float) -> Floats:
    rng = np.random.default_rng(7)
    x = np.concatenate([rng.uniform(-limit, limit, 1000), rng.uniform(-4, 4, 1000), np.geomspace(1e-300, limit, 300)])
    x = x.astype(dtype)
    return np.concatenate([x, [0.0, -0.0, np.pi / 4, -np.pi / 4, limit, -limit]]).astype(dtype)


def beyond(x: Floats) -> Floats:
    return x[np.abs(x) > LIMIT]


ANGLES = {
    "ordinary": lambda dtype: ordinary(dtype, LIMIT),
    "near quarter turns": lambda dtype: near_quarter_turns(dtype, LIMIT),
    "just beyond the limit": lambda dtype: beyond(near_quarter_turns(dtype, 1e5)),
    "huge": lambda dtype: np.array(
        [1e5, -1e5, 1e6 * np.pi, 1e10, -1e10, 1e15, 2.0**60, 1e22, -3e30, 1e38], dtype=dtype
    ),
    "mixed in one vector": lambda dtype: np.array(
        [0.5, 1e10, -0.5, 3.0, 1e5, 1e-8, -2e20, 9999.0, 10001.0, 0.0, 1e4, -1e38, 7.0], dtype=dtype
    ),
}
"""Sets of angles; the vector code is for |x| <= LIMIT, the C library's beyond."""

LANES = [1, 2, 4, 8, 16]


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("angles", ANGLES)
@pytest.mark.parametrize("way", WAYS)
def test_sine_and_cosine_are_within_two_ulp(way: str, angles: str, dtype: str, lanes: int) -> None:
    x = ANGLES[angles](dtype)
    s, c = WAYS[way](dtype, lanes)(x)
    for k in range(len(x)):
        sine, cosine = exact(float(x[k]))
        assert error_in_ulp(s[k], sine) <= 2.0, f"sin({x[k]!r})"
        assert error_in_ulp(c[k], cosine) <= 2.0, f"cos({x[k]!r})"


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("way", WAYS)
def test_the_largest_double_angles_are_within_two_ulp(way: str, lanes: int) -> None:
    x = np.array([1e100, -1e300, np.finfo(np.float64).max])
    s, c = WAYS[way]("float64", lanes)(x)
    for k in range(len(x)):
        sine, cosine = exact(float(x[k]))
        assert error_in_ulp(s[k], sine) <= 2.0
        assert error_in_ulp(c[k], cosine) <= 2.0


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("way", WAYS)
def test_an_angle_does_not_depend_on_its_neighbors(way: str, dtype: str, lanes: int) -> None:
    """The C library is for lanes beyond the limit alone."""
    run = WAYS[way](dtype, lanes)
    x = np.linspace(-300.0, 300.0, 64).astype(dtype)
    odd = x.copy()
    odd[::5], odd[2::7] = np.nan, 3.0 * LIMIT
    same = odd == x
    assert same.sum() > 30
    for found, alone in zip(run(odd), run(x), strict=True):
        np.testing.assert_array_equal(found[same], alone[same])


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("way", WAYS)
def test_every_number_of_angles_is_right_to_the_last(way: str, dtype: str, lanes: int) -> None:
    """Batches that do not fill the lanes."""
    run = WAYS[way](dtype, lanes)
    for count in range(1, 2 * lanes + 2):
        x = np.linspace(-3.0, 3.0, count).astype(dtype)
        s, c = run(x)
        np.testing.assert_allclose(s, np.sin(x), rtol=0, atol=np.finfo(dtype).eps)
        np.testing.assert_allclose(c, np.cos(x), rtol=0, atol=np.finfo(dtype).eps)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_an_angle_that_the_program_computes_goes_the_same_way(dtype: str, lanes: int) -> None:
    def doubled(x: object) -> tuple[object, object]:
        return sincos(x + x)  # type: ignore[operator]

    run = _loaded(emit.module(trace_function("doubled", doubled, ["x"]), dtype, lanes), dtype)
    x = np.linspace(-4.0, 4.0, 37).astype(dtype)
    expected = compiled(dtype, lanes)(2 * x)
    for found, true in zip(run(x), expected, strict=True):
        np.testing.assert_array_equal(found, true)
