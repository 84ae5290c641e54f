# SPDX-License-Identifier: BSD-3-Clause
"""Kernel text on a GPU with a warp for each robot: code that is generic in the mechanism.

All lanes of a warp run the text of a robot together, on work arrays that they share. Where no loop is shared they do the
same: each reads what all of them wrote, numbers and branches are those of one lane. Iterations of a `scalar.prange` are
dealt to the lanes, which wait for each other at its end. So one text serves a CPU and a warp.

A warp takes one robot after another from a queue::

    void linkwork_kernel(ptr a0, i64 row0, ..., ptr clock, ptr queue, ptr scratch, i64 bytes,
                         i64 count, i64 steps, i64 every)

| argument | meaning                                                                                       |
|----------|-----------------------------------------------------------------------------------------------|
| a, row   | arrays of the caller, inputs then outputs, and the distance of two robots in numbers; 0: all share it |
| clock    | steps of each robot since it was reset, 32-bit integers                                        |
| queue    | how many robots warps have taken                                                              |
| scratch  | work arrays, so many bytes a warp                                                             |
| steps    | how many are to be made; ``every``: steps between two calls of the controller                   |

The context is in the constant memory of the module: sizes of the plan, addresses of its arrays, offsets of work arrays.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from linkwork.compilers.cuda.device_functions import TRIPLE
from linkwork.compilers.cuda.warp_code import CONTEXT, WARP
from linkwork.compilers.entry.batch import SYMBOL
from linkwork.compilers.lanes import Type
from linkwork.compilers.language.lowering import Unit
from linkwork.compilers.language.sincos import DOUBLE, SINGLE, sincos_text
from linkwork.compilers.language.values import STATE, Fixed, Float, Source, Table, array_type, tables
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.steps.rollouts import EVERY, NOW, STEPS

CONSTANT = "ptr addrspace(4)"
INLINE = 200
"""Nodes of syntax of kernels that are inlined, if they have no loops."""
REGISTERS = 128
"""Registers of a thread."""


class WarpUnit(Unit):
    """Kernel text for the lanes of a warp."""

    context = "ptr %own, i32 %lane"
    table = f"{CONSTANT} @{CONTEXT}"
    integer = "i32"
    has_scratch = True
    is_warp = True
    loop_notes = ", !llvm.loop !6"

    def sincos(self, caller: Source, node: ast.AST) -> str:
        """The function for sine and cosine: polynomials alone."""
        polynomials = DOUBLE if self.t.dtype == "float64" else SINGLE
        return self.function(sincos_text, (Float, Fixed(polynomials)), caller, node).name

    def inlining(self, source: Source, size: int) -> str:
        """Short functions are inlined, no others: code is to stay in the caches of instructions."""
        return "alwaysinline" if source.size < INLINE and not source.loops else "noinline"

    def text(self) -> str:
        """All of it; barriers are not moved across branches."""
        text = super().text().replace("{ nounwind }", "{ nounwind convergent }")
        return f'{text}\n!6 = distinct !{{!6, !7}}\n!7 = !{{!"llvm.loop.unroll.disable"}}'


class EmulatedUnit(WarpUnit):
    """The same for a CPU, where the lanes of a warp are one after the other."""

    is_emulated = True
    table = f"ptr @{CONTEXT}"


@dataclass(frozen=True)
class WarpKernel:
    """A kernel as LLVM IR."""

    ir: str
    arrays: int
    """Arrays of the caller."""


def warp_kernel(algorithm: Algorithm, dtype: str, *, host: bool = False) -> WarpKernel:
    """The rollout of an algorithm (`kernels.steps.rollouts`) as a kernel.

    Args:
        algorithm: Its text, and the shapes of its arrays.
        dtype: Type of its numbers.
        host: Whether it is for this machine's processor, with a loop over robots.
    """
    t = Type(dtype, 1)
    tree, work = tables(algorithm.layout, algorithm.stored, algorithm.folded, integers=algorithm.integers)
    unit = (EmulatedUnit if host else WarpUnit)(t, tree, len(tree.sizes) + len(tree.arrays) + len(work.arrays))
    shapes = [*algorithm.inputs.values(), *algorithm.outputs.values()]
    kinds = [
        array_type(STATE, shape, writable=k >= len(algorithm.inputs), tag=f"argument {k}")
        for k, shape in enumerate(shapes)
    ]
    lowered = unit.root(algorithm.text, (Fixed(tree), Fixed(work), *kinds))
    n = len(shapes)
    rows = ", ".join(f"ptr %r{k}" for k in range(n))
    lines = [
        "entry:",
        *(_host_warp() if host else _device_warp()),
        "%own.at = mul i64 %warp, %bytes",
        "%own = getelementptr i8, ptr %scratch, i64 %own.at",
        *_clock_words(unit, work),
        "br label %next",
        "next:",
        *(_host_robot() if host else _device_robot()),
        "%some = icmp slt i64 %robot, %count",
        "br i1 %some, label %take, label %end",
        "take:",
        *(line for k in range(n) for line in _row(t, k)),
        "%now.at = getelementptr i32, ptr %clock, i64 %robot",
        "%now = load i32, ptr %now.at",
        "store i32 %now, ptr %clock.0",
        "%steps32 = trunc i64 %steps to i32",
        "store i32 %steps32, ptr %clock.1",
        "%every32 = trunc i64 %every to i32",
        "store i32 %every32, ptr %clock.2",
        *_barrier(host),
        f"call void @{lowered.name}({unit.context}, {rows})",
        *_barrier(host),
        "%then = load i32, ptr %clock.0",
        "store i32 %then, ptr %now.at",
        *_barrier(host),
        "br label %next",
        "end:",
        "ret void",
    ]
    arrays = ", ".join(f"ptr %a{k}, i64 %row{k}" for k in range(n))
    further = "ptr %clock, ptr %queue, ptr %scratch, i64 %bytes, i64 %count, i64 %steps, i64 %every"
    kind = "dso_local" if host else "ptx_kernel"
    head = f"define {kind} void @{SYMBOL}({arrays}, {further})"
    if not host:
        head += f' convergent "nvvm.maxntid"="{WARP}" "nvvm.maxnreg"="{REGISTERS}"'
    body = "\n".join(line if line.endswith(":") else f"  {line}" for line in lines)
    declared = (
        []
        if host
        else [
            f'target triple = "{TRIPLE}"',
            "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
            "declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()",
            "declare void @llvm.nvvm.bar.warp.sync(i32)",
            "declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)",
        ]
    )
    space = "" if host else "addrspace(4) externally_initialized "
    declared.append(f"@{CONTEXT} = {space}global [{unit.words} x i64] zeroinitializer, align 16")
    return WarpKernel("\n".join([*declared, unit.text(), f"{head} {{\n{body}\n}}"]), n)


def _barrier(host: bool) -> list[str]:
    return [] if host else ["call void @llvm.nvvm.bar.warp.sync(i32 -1)"]


def _clock_words(unit: WarpUnit, work: Table) -> list[str]:
    """``%clock.<k>``: entry ``k`` of the clock of a warp."""
    place = work.arrays["clock"][0]
    lines = [
        f"%clock.word = getelementptr i64, {unit.table}, i64 {place}",
        f"%clock.offset = load i64, {unit.table.rpartition(' ')[0]} %clock.word",
        "%clock.own = getelementptr i8, ptr %own, i64 %clock.offset",
    ]
    return lines + [f"%clock.{k} = getelementptr i32, ptr %clock.own, i64 {k}" for k in (NOW, STEPS, EVERY)]


def _row(t: Type, k: int) -> list[str]:
    """``%r<k>``: array ``k`` of this robot."""
    return [f"%at{k} = mul i64 %robot, %row{k}", f"%r{k} = getelementptr {t.scalar}, ptr %a{k}, i64 %at{k}"]


def _device_warp() -> list[str]:
    """A block is a warp."""
    return [
        "%lane = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
        "%block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()",
        "%warp = zext i32 %block to i64",
        "%is.first = icmp eq i32 %lane, 0",
    ]


def _device_robot() -> list[str]:
    """The first lane takes a robot from the queue for all."""
    return [
        "br i1 %is.first, label %fetch, label %fetched",
        "fetch:",
        "%taken = atomicrmw add ptr %queue, i32 1 monotonic",
        "br label %fetched",
        "fetched:",
        "%mine = phi i32 [ 0, %next ], [ %taken, %fetch ]",
        "%robot32 = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %mine, i32 0, i32 31)",
        "%robot = zext i32 %robot32 to i64",
    ]


def _host_warp() -> list[str]:
    return ["%lane = add i32 0, 0", "%warp = add i64 0, 0"]


def _host_robot() -> list[str]:
    """The one warp takes all robots."""
    return [
        "%robot32 = load i32, ptr %queue",
        "%robot = zext i32 %robot32 to i64",
        "%robot.next = add i32 %robot32, 1",
        "store i32 %robot.next, ptr %queue",
    ]
