# SPDX-License-Identifier: BSD-3-Clause
"""Kernel code on a GPU with lanes of a warp for each robot: code that is generic in the mechanism.

The lanes of a group, a warp or a part of it, run the code of a robot together, on work arrays that they share. Where no
loop is shared they do the same: each reads what all of them wrote, numbers and branches are those of one lane.
Iterations of a `scalar.prange` are dealt to the lanes, which wait for each other at its end. So one kernel serves a CPU
and a warp. What a robot computes does not depend on how many lanes it has, nor on its place in the batch.

A group takes one robot after another from a queue::

    void linkwork_kernel(ptr a0, i64 row0, ..., ptr clock, ptr queue, ptr scratch, i64 bytes,
                         i64 count, i64 steps, i64 every)

| argument | meaning                                                                                       |
|----------|-----------------------------------------------------------------------------------------------|
| a, row   | arrays of the caller, inputs then outputs, and the distance of two robots in numbers; 0: all share it |
| clock    | steps of each robot since it was reset, 32-bit integers                                        |
| queue    | how many robots groups have taken                                                             |
| scratch  | work arrays, so many bytes a group                                                            |
| steps    | how many are to be made; ``every``: steps between two calls of the controller                   |

The context is in the constant memory of the module: sizes of the plan, addresses of its arrays, offsets of work arrays.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from linkwork.compilers.cuda.device_functions import GLOBAL, TRIPLE
from linkwork.compilers.cuda.warp_plan import BLOCK, CONTEXT, WARP
from linkwork.compilers.entry.batch import SYMBOL
from linkwork.compilers.lanes import Type
from linkwork.compilers.language.lowering import Unit
from linkwork.compilers.language.module import Lowered
from linkwork.compilers.language.sincos import DOUBLE, SINGLE, sincos_text
from linkwork.compilers.language.values import (
    STATE,
    ArrayType,
    Fixed,
    Float,
    Source,
    Table,
    array_type,
    source_of,
    tables,
)
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.steps.rollouts import EVERY, NOW, STEPS

CONSTANT = "ptr addrspace(4)"
SCALARS = ("bytes", "count", "steps", "every")
"""Integers that the kernel takes after its arrays."""
UNROLLED = 4
"""Iterations of short loops of one lane that are written out: loads do not wait for each other."""
INLINE = 1000
"""Nodes of syntax of kernels that are inlined, if they have no loops: calls save registers in local memory."""
REGISTERS = 128
"""Registers of a thread."""


class WarpUnit(Unit):
    """Kernel code for the lanes of a warp."""

    pointer = GLOBAL
    context = f"{GLOBAL} %own, i32 %lane, i32 %mask"
    table = f"{CONSTANT} @{CONTEXT}"
    integer = "i32"
    has_scratch = True
    is_warp = True
    loop_notes, short_loop_notes, few_loop_notes = ", !llvm.loop !6", ", !llvm.loop !8", ", !llvm.loop !5"

    def __init__(self, t: Type, layout: Table, words: int, group: int) -> None:
        super().__init__(t, layout, words)
        self.group = group

    def sincos(self, caller: Source, node: ast.AST) -> str:
        """The function for sine and cosine: polynomials alone."""
        polynomials = DOUBLE if self.t.dtype == "float64" else SINGLE
        return self.function(sincos_text, (Float, Fixed(polynomials)), caller, node).name

    def inlining(self, source: Source, size: int) -> str:
        """Short functions are inlined, no others: code is to stay in the caches of instructions."""
        return "alwaysinline" if source.size < INLINE and not source.loops else "noinline"

    def function(
        self,
        function: Callable[..., Any],
        kinds: Sequence[Any],
        caller: Source,
        node: ast.AST,
        in_one_lane: bool = False,
    ) -> Lowered:
        """The machine code of a kernel: one for arrays of the same shape, whichever they are."""
        untagged = kinds
        if self.inlining(source_of(function), 0) == "noinline":
            untagged = [_untagged(kind) for kind in kinds]
        return super().function(function, untagged, caller, node, in_one_lane)

    def text(self) -> str:
        """All of it; barriers are not moved across branches."""
        text = super().text().replace("{ nounwind }", "{ nounwind convergent }")
        notes = ['!7 = !{!"llvm.loop.unroll.disable"}', f'!9 = !{{!"llvm.loop.unroll.count", i32 {UNROLLED}}}']
        notes += ["!5 = distinct !{!5, !4}", '!4 = !{!"llvm.loop.unroll.full"}']
        return "\n".join([text, "!6 = distinct !{!6, !7}", "!8 = distinct !{!8, !9}", *notes])


class EmulatedUnit(WarpUnit):
    """A unit for a CPU, where the lanes of a warp run one after the other."""

    is_emulated = True
    pointer = "ptr"
    context = "ptr %own, i32 %lane, i32 %mask"
    table = f"ptr @{CONTEXT}"


def _untagged(kind: Any) -> Any:
    """The type of an array without the memory that it is part of."""
    return replace(kind, tag="") if isinstance(kind, ArrayType) and kind.writable else kind


def warp_kernel(algorithm: Algorithm, dtype: str, group: int, *, host: bool = False) -> str:
    """The rollout of an algorithm (`kernels.steps.rollouts`) as a kernel, in LLVM IR.

    Args:
        algorithm: Its text, and the shapes of its arrays.
        dtype: Type of its numbers.
        group: Lanes of a warp that a robot has, a power of two.
        host: Whether it is for this machine's processor, with a loop over robots.
    """
    t = Type(dtype, 1)
    tree, work = tables(algorithm.layout, algorithm.stored, algorithm.folded, integers=algorithm.integers)
    unit = (EmulatedUnit if host else WarpUnit)(t, tree, len(tree.sizes) + len(tree.arrays) + len(work.arrays), group)
    shapes = [*algorithm.inputs.values(), *algorithm.outputs.values()]
    kinds = [
        array_type(STATE, shape, writable=k >= len(algorithm.inputs), tag=f"argument {k}")
        for k, shape in enumerate(shapes)
    ]
    lowered = unit.root(algorithm.text, (Fixed(tree), Fixed(work), *kinds))
    n = len(shapes)
    p = unit.pointer
    rows = ", ".join(f"{p} %r{k}" for k in range(n))
    lines = [
        "entry:",
        *(_host_group() if host else _device_group(group)),
        "%own.at = mul i64 %group, %bytes",
        f"%own = getelementptr i8, {p} %scratch, i64 %own.at",
        *_clock_words(unit, work),
        "br label %next",
        "next:",
        *(_host_robot() if host else _device_robot(group)),
        "%some = icmp slt i64 %robot, %count",
        "br i1 %some, label %take, label %end",
        "take:",
        *(line for k in range(n) for line in _row(t, k, p)),
        f"%now.at = getelementptr i32, {p} %clock, i64 %robot",
        f"%now = load i32, {p} %now.at",
        f"store i32 %now, {p} %clock.0",
        "%steps32 = trunc i64 %steps to i32",
        f"store i32 %steps32, {p} %clock.1",
        "%every32 = trunc i64 %every to i32",
        f"store i32 %every32, {p} %clock.2",
        *_barrier(host),
        f"call void @{lowered.name}({unit.context}, {rows})",
        *_barrier(host),
        f"%then = load i32, {p} %clock.0",
        f"store i32 %then, {p} %now.at",
        *_barrier(host),
        "br label %next",
        "end:",
        "ret void",
    ]
    arrays = ", ".join(f"{p} %a{k}, i64 %row{k}" for k in range(n))
    addresses = [f"{p} %{name}" for name in ("clock", "queue", "scratch")]
    further = ", ".join([*addresses, *(f"i64 %{name}" for name in SCALARS)])
    kind = "dso_local" if host else "ptx_kernel"
    head = f"define {kind} void @{SYMBOL}({arrays}, {further})"
    if not host:
        head += f' convergent "nvvm.maxntid"="{BLOCK}" "nvvm.maxnreg"="{REGISTERS}"'
    body = "\n".join(line if line.endswith(":") else f"  {line}" for line in lines)
    declared = (
        []
        if host
        else [
            f'target triple = "{TRIPLE}"',
            "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
            "declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()",
            "declare void @llvm.nvvm.bar.warp.sync(i32)",
            "declare void @llvm.nvvm.barrier.cta.sync.all(i32)",
            "declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)",
        ]
    )
    space = "" if host else "addrspace(4) externally_initialized "
    declared.append(f"@{CONTEXT} = {space}global [{unit.words} x i64] zeroinitializer, align 16")
    return "\n".join([*declared, unit.text(), f"{head} {{\n{body}\n}}"])


def _barrier(host: bool) -> list[str]:
    return [] if host else ["call void @llvm.nvvm.bar.warp.sync(i32 %mask)"]


def _clock_words(unit: WarpUnit, work: Table) -> list[str]:
    """``%clock.<k>``: entry ``k`` of the clock of a warp."""
    place = work.arrays["clock"][0]
    lines = [
        f"%clock.word = getelementptr i64, {unit.table}, i64 {place}",
        f"%clock.offset = load i64, {unit.table.rpartition(' ')[0]} %clock.word",
        f"%clock.own = getelementptr i8, {unit.pointer} %own, i64 %clock.offset",
    ]
    return lines + [f"%clock.{k} = getelementptr i32, {unit.pointer} %clock.own, i64 {k}" for k in (NOW, STEPS, EVERY)]


def _row(t: Type, k: int, pointer: str) -> list[str]:
    """``%r<k>``: array ``k`` of this robot."""
    return [f"%at{k} = mul i64 %robot, %row{k}", f"%r{k} = getelementptr {t.scalar}, {pointer} %a{k}, i64 %at{k}"]


def _device_group(group: int) -> list[str]:
    """Which group of lanes of all this is."""
    return [
        "%thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
        "%block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()",
        f"%lane = and i32 %thread, {group - 1}",
        f"%first = and i32 %thread, {WARP - group}",
        f"%mask = shl i32 {(1 << group) - 1 if group < WARP else -1}, %first",
        f"%before = mul i32 %block, {BLOCK // group}",
        f"%place = udiv i32 %thread, {group}",
        "%group32 = add i32 %before, %place",
        "%group = zext i32 %group32 to i64",
        "%is.first = icmp eq i32 %lane, 0",
    ]


def _device_robot(group: int) -> list[str]:
    """The first lane takes a robot from the queue for all."""
    return [
        "br i1 %is.first, label %fetch, label %fetched",
        "fetch:",
        f"%taken = atomicrmw add {GLOBAL} %queue, i32 1 monotonic",
        "br label %fetched",
        "fetched:",
        "%mine = phi i32 [ 0, %next ], [ %taken, %fetch ]",
        f"%robot32 = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 %mask, i32 %mine, i32 0, i32 {(32 - group) * 256 + 31})",
        "%robot = zext i32 %robot32 to i64",
    ]


def _host_group() -> list[str]:
    return ["%lane = add i32 0, 0", "%mask = add i32 0, 0", "%group = add i64 0, 0"]


def _host_robot() -> list[str]:
    """The one group takes all robots."""
    return [
        "%robot32 = load i32, ptr %queue",
        "%robot = zext i32 %robot32 to i64",
        "%robot.next = add i32 %robot32, 1",
        "store i32 %robot.next, ptr %queue",
    ]
