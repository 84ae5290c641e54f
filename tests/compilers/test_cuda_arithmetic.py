# SPDX-License-Identifier: BSD-3-Clause
"""Quotients and square roots without branches, by approximations as rough as those of GPUs."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
import pytest

from linkwork.compilers import llvm
from linkwork.compilers.cuda.arithmetic import declarations, quotient, root
from linkwork.compilers.lanes import Type
from tests.support.cuda_on_host import host_arithmetic

LOOP = """
define void @each(ptr %a, ptr %b, ptr %out, i64 %count) {{
entry:
  br label %next
next:
  %k = phi i64 [ 0, %entry ], [ %k.next, %next ]
  %pa = getelementptr {s}, ptr %a, i64 %k
  %pb = getelementptr {s}, ptr %b, i64 %k
  %po = getelementptr {s}, ptr %out, i64 %k
  %x = load {s}, ptr %pa
  %y = load {s}, ptr %pb
{body}
  store {s} %z, ptr %po
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, %count
  br i1 %more, label %next, label %end
end:
  ret void
}}
"""


@cache
def code(dtype: str, what: str) -> llvm.Code:
    t = Type(dtype, 1)
    lines = quotient(t, "%z", "%x", "%y") if what == "quotient" else root(t, "%z", "%x")
    body = "\n".join(f"  {line}" for line in lines)
    text = host_arithmetic(f"{declarations(t)}\n{LOOP.format(s=t.scalar, body=body)}")
    return llvm.Code(llvm.object_code(text), "each")


def computed(dtype: str, what: str, a: Any, b: Any) -> Any:
    a, b = (np.ascontiguousarray(x, dtype) for x in np.broadcast_arrays(a, b))
    out = np.empty_like(a)
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)(code(dtype, what).address)
    run(a.ctypes.data, b.ctypes.data, out.ctypes.data, len(a))
    return out


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rounding(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.choice([-1, 1], 20_000) * np.exp(rng.uniform(-30, 30, 20_000)) for _ in range(2))
    a, b = a.astype(dtype), b.astype(dtype)
    for found, exact in (
        (computed(dtype, "quotient", a, b), a / b),
        (computed(dtype, "root", abs(a), b), abs(a) ** 0.5),
    ):
        off = np.abs(found - exact) / np.spacing(np.abs(exact))
        assert off.max() <= 1.0 and (off == 0.0).mean() > 0.99


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ends_of_the_range(dtype: Any) -> None:
    inf, nan = np.inf, np.nan
    a = [1.0, -1.0, 0.0, 0.0, 1.0, inf, inf, nan, 1.0, 1e30, 3.0]
    b = [0.0, 0.0, 0.0, 2.0, inf, 2.0, inf, 1.0, nan, 1e-30, -1e30]
    with np.errstate(all="ignore"):
        expected = np.array(a, dtype) / np.array(b, dtype)
    found = computed(dtype, "quotient", a, b)
    normal = np.isfinite(expected)
    np.testing.assert_allclose(found[normal], expected[normal], rtol=1e-6 if dtype == "float32" else 1e-15)
    assert np.array_equal(found[~normal], expected[~normal], equal_nan=True)
    assert np.array_equal(
        computed(dtype, "root", [0.0, inf, -1.0, nan, 4.0], 0.0), [0, inf, nan, nan, 2], equal_nan=True
    )
