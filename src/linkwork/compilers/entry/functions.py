# SPDX-License-Identifier: BSD-3-Clause
"""Functions that the kernel code of entry points calls and that are written in LLVM IR: memory at an address as arrays,
numbers that are finite, the call of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from linkwork.compilers.lanes import Type

if TYPE_CHECKING:
    from linkwork.compilers.language.module import Foreign


def words(address: int) -> Any:
    """The memory at an address, as integers."""
    raise NotImplementedError


def floats(address: int) -> Any:
    """The memory at an address, as numbers."""
    raise NotImplementedError


def is_finite(address: int, numbers: int) -> int:
    """Whether all numbers at an address are finite."""
    raise NotImplementedError


def is_below(x: float, bound: float) -> int:
    """Whether one float is less than another."""
    raise NotImplementedError


def call_kernel(kernel: int, rows: Any, steps: Any, states: int, context: int, watch: int) -> int:
    """The kernel at an address: 1 where it was told to end."""
    raise NotImplementedError


def poll(watch: int) -> int:
    """A look at the watch at an address (`interrupts`), if it is not 0: 1 to end."""
    raise NotImplementedError


def foreign() -> dict[Callable[..., Any], Foreign]:
    """The functions that the compiler implements itself."""
    from linkwork.compilers.language.module import Foreign  # where something is to be compiled alone
    from linkwork.compilers.language.values import INTEGER, STATE, Int, array_type

    return {
        words: Foreign("words", array_type(INTEGER, ("arrays",), writable=False)),
        floats: Foreign("floats", array_type(STATE, ("arrays",), writable=False)),
        is_finite: Foreign("is_finite", Int),
        is_below: Foreign("is_below", Int),
        call_kernel: Foreign("call_kernel", Int),
        poll: Foreign("poll", Int),
    }


def functions(t: Type) -> str:
    """Their LLVM IR, for one type of numbers."""
    v, w = Type(t.dtype, 4), Type(t.dtype, 8)
    starts = [f"  %sum{k} = phi {w.name} [ zeroinitializer, %entry ], [ %next{k}, %block ]" for k in range(4)]
    sums = "\n".join(
        [
            *starts,
            *(
                f"  %b{k} = add i64 %b, {8 * k}\n"
                f"  %q{k} = getelementptr {t.scalar}, ptr %x, i64 %b{k}\n"
                f"  %x{k} = load {w.name}, ptr %q{k}, align {t.bytes}\n"
                f"  %d{k} = fsub {w.name} %x{k}, %x{k}\n"
                f"  %next{k} = fadd {w.name} %sum{k}, %d{k}"
                for k in range(4)
            ),
        ]
    )
    ends = "\n".join(f"  %end{k} = phi {w.name} [ zeroinitializer, %entry ], [ %next{k}, %block ]" for k in range(4))
    return f"""define internal ptr @words(ptr %c, i64 %address) alwaysinline {{
  %p = inttoptr i64 %address to ptr
  ret ptr %p
}}
define internal ptr @floats(ptr %c, i64 %address) alwaysinline {{
  %p = inttoptr i64 %address to ptr
  ret ptr %p
}}
define internal i64 @is_below(ptr %c, {t.name} %x, {t.name} %bound) alwaysinline {{
  %less = fcmp olt {t.name} %x, %bound
  %one = zext i1 %less to i64
  ret i64 %one
}}
define internal i64 @call_kernel(ptr %c, i64 %at, ptr %rows, ptr %steps, i64 %n, i64 %context, i64 %w) alwaysinline {{
  %f = inttoptr i64 %at to ptr
  %memory = inttoptr i64 %context to ptr
  %watch = inttoptr i64 %w to ptr
  %ended = call i64 %f(ptr %rows, ptr %steps, i64 %n, ptr %memory, ptr %watch)
  ret i64 %ended
}}
define internal i64 @poll(ptr %c, i64 %w) {{
  %alone = icmp eq i64 %w, 0
  br i1 %alone, label %on, label %ask
on:
  ret i64 0
ask:
  %watch = inttoptr i64 %w to ptr
  %function = load ptr, ptr %watch
  %stop = call i64 %function(ptr %watch)
  ret i64 %stop
}}

; x - x is NaN for NaN and infinity; four sums, so that none waits for another
define internal i64 @is_finite(ptr %c, i64 %address, i64 %n) {{
entry:
  %x = inttoptr i64 %address to ptr
  %most = and i64 %n, -32
  %many = icmp sgt i64 %most, 0
  br i1 %many, label %block, label %few
block:
  %b = phi i64 [ 0, %entry ], [ %b32, %block ]
{sums}
  %b32 = add i64 %b, 32
  %bmore = icmp slt i64 %b32, %most
  br i1 %bmore, label %block, label %few
few:
{ends}
  %e01 = fadd {w.name} %end0, %end1
  %e23 = fadd {w.name} %end2, %end3
  %ends = fadd {w.name} %e01, %e23
  %lost = fcmp uno {w.name} %ends, zeroinitializer
  %lostbits = bitcast <8 x i1> %lost to i8
  %sound = icmp eq i8 %lostbits, 0
  %whole = and i64 %n, -4
  %some = icmp sgt i64 %whole, %most
  br i1 %some, label %wide, label %after
wide:
  %i = phi i64 [ %most, %few ], [ %i4, %wide ]
  %bad = phi <4 x i1> [ zeroinitializer, %few ], [ %worse, %wide ]
  %p = getelementptr {t.scalar}, ptr %x, i64 %i
  %a = load {v.name}, ptr %p, align {t.bytes}
  %d = fsub {v.name} %a, %a
  %nan = fcmp uno {v.name} %d, zeroinitializer
  %worse = or <4 x i1> %bad, %nan
  %i4 = add i64 %i, 4
  %more = icmp slt i64 %i4, %whole
  br i1 %more, label %wide, label %after
after:
  %found = phi <4 x i1> [ zeroinitializer, %few ], [ %worse, %wide ]
  %bits = bitcast <4 x i1> %found to i4
  %right = icmp eq i4 %bits, 0
  %clean = and i1 %right, %sound
  br label %rest
rest:
  %j = phi i64 [ %whole, %after ], [ %j1, %one ]
  %good = phi i1 [ %clean, %after ], [ %still, %one ]
  %left = icmp slt i64 %j, %n
  br i1 %left, label %one, label %end
one:
  %r = getelementptr {t.scalar}, ptr %x, i64 %j
  %y = load {t.scalar}, ptr %r
  %e = fsub {t.scalar} %y, %y
  %ok = fcmp ord {t.scalar} %e, 0.0
  %still = and i1 %good, %ok
  %j1 = add i64 %j, 1
  br label %rest
end:
  %answer = zext i1 %good to i64
  ret i64 %answer
}}
"""
