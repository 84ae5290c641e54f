# SPDX-License-Identifier: BSD-3-Clause
"""Functions on rows of numbers that kernels of rollouts call, as LLVM IR."""

from __future__ import annotations

from linkwork.compilers.cuda.device_functions import GLOBAL
from linkwork.compilers.lanes import Type


def copy_function(t: Type) -> str:
    """Copies numbers, and tells by NaN if one is not finite.

    Args:
        t: Type of the numbers.
    """
    s = t.scalar
    arrays = f"{GLOBAL} %from, i64 %from.step, {GLOBAL} %to, i64 %to.step"
    return f"""define internal {s} @copy({arrays}, i64 %count) noinline {{
entry:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %next, label %end
next:
  %k = phi i64 [ 0, %entry ], [ %k.next, %next ]
  %sum = phi {s} [ {t.number(0.0)}, %entry ], [ %sum.next, %next ]
  %i = mul i64 %k, %from.step
  %j = mul i64 %k, %to.step
  %p = getelementptr {s}, {GLOBAL} %from, i64 %i
  %q = getelementptr {s}, {GLOBAL} %to, i64 %j
  %x = load volatile {s}, {GLOBAL} %p
  store volatile {s} %x, {GLOBAL} %q
  %zero = fmul {s} %x, {t.number(0.0)}
  %sum.next = fadd {s} %sum, %zero
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, %count
  br i1 %more, label %next, label %end
end:
  %result = phi {s} [ {t.number(0.0)}, %entry ], [ %sum.next, %next ]
  ret {s} %result
}}"""


def fill_function(t: Type) -> str:
    """Sets numbers to one value.

    Args:
        t: Type of the numbers.
    """
    s = t.scalar
    return f"""define internal void @fill({GLOBAL} %to, i64 %step, i64 %count, {s} %value) noinline {{
entry:
  br label %next
next:
  %k = phi i64 [ 0, %entry ], [ %k.next, %next ]
  %i = mul i64 %k, %step
  %p = getelementptr {s}, {GLOBAL} %to, i64 %i
  store volatile {s} %value, {GLOBAL} %p
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, %count
  br i1 %more, label %next, label %end
end:
  ret void
}}"""
