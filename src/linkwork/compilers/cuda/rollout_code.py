# SPDX-License-Identifier: BSD-3-Clause
"""Machine code of rollouts, and of the kernel that resets robots: from the cache or made now."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from linkwork.compilers import cache as disk
from linkwork.compilers import llvm
from linkwork.compilers.cuda import ptx
from linkwork.compilers.cuda.assembling import Assembler, uncollected
from linkwork.compilers.cuda.device_functions import GLOBAL, THREADS, TRIPLE
from linkwork.compilers.cuda.driver import CudaCode, Device, machine_code, packed, unpacked, version
from linkwork.compilers.cuda.rollouts import SCALARS, RolloutProgram, rollout_kernel, rollout_limits
from linkwork.compilers.entry.batch import SYMBOL

LARGE = 60_000
"""Programs of more operations are assembled with less optimization: they are as fast, and made in half the time."""


class IntegerCode(CudaCode):
    """A kernel all of whose parameters are integers of 64 bits, addresses among them.

    Args:
        cubin: Machine code for a GPU.
        parameters: Number of parameters that it takes.
        threads: Threads of a block.
        shared_bytes: Shared memory of a block.
        numbers: Of a rollout: numbers of a slot in arrays of its own.
    """

    def __init__(self, cubin: bytes, parameters: int, threads: int, shared_bytes: int, numbers: int = 0) -> None:
        super().__init__(cubin, 0, threads, shared_bytes)
        self._format = struct.Struct(f"<{parameters}q")
        self.numbers = numbers


def rollout_code(
    make: Callable[[], RolloutProgram], content: Sequence[str | bytes], dtype: str, where: Device, name: str
) -> IntegerCode:
    """The kernel of a rollout: from the cache, or made now.

    Args:
        make: Makes its traces.
        content: All that these depend on, beside the code of the package.
        dtype: Type of numbers.
        where: The GPU.
        name: Of what is compiled, for messages.
    """
    parts = [dtype, where.architecture, str(where.shared_memory), str(version()), llvm.version()]
    key = disk.key("cuda rollout", *content, *parts)

    def made() -> bytes:
        with disk.announced(f"{name} ({dtype}, {where.name})"), uncollected():
            program = make()
            operations = sum(len(trace.reached()) for trace in (program.step, *program.step.further.values()))
            limits = rollout_limits(dtype, where.shared_memory)
            large = operations > LARGE
            with Assembler(where, 1 if large else 3, side_by_side=large) as assembler:
                kernel = rollout_kernel(program, dtype, limits, assembler)
                cubin = assembler.complete(kernel.ir)
            parameters = 3 * len(program.given) + 3 + len(SCALARS)
            shape = {"parameters": parameters, "numbers": program.numbers}
            return packed(cubin, threads=THREADS, shared_bytes=kernel.shared_bytes, **shape)

    cubin, known = unpacked(disk.fetch(key, made))
    return IntegerCode(cubin, **known)


ASSIGNED = ("to", "to_row", "to_step", "source", "row", "step", "mask", "mask_step", "numbers", "count")
"""Parameters of the kernel that sets rows of an array where a mask is not zero (address 0: everywhere)."""


def assign_module(bits: int, *, host: bool = False) -> str:
    """The kernel that sets rows: ``to[i, j] = source[i, j]`` where ``mask[i]``.

    Args:
        bits: Of a number.
        host: Whether it is for this machine's processor, with a loop over robots.
    """
    parameters = ", ".join(f"{GLOBAL if name in ('to', 'source', 'mask') else 'i64'} %{name}" for name in ASSIGNED)
    index = [
        "%t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
        "%c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()",
        "%n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()",
        "%f = mul i32 %c, %n",
        "%r = add i32 %f, %t",
        "%robot = zext i32 %r to i64",
        "%some = icmp slt i64 %robot, %count",
        "br i1 %some, label %look, label %end",
    ]
    loop = [
        "br label %each",
        "each:",
        "%robot = phi i64 [ 0, %entry ], [ %robot.next, %end ]",
        "%some = icmp slt i64 %robot, %count",
        "br i1 %some, label %look, label %over",
    ]
    end = ["end:", "%robot.next = add i64 %robot, 1", "br label %each", "over:", "ret void"]
    lines = [
        "entry:",
        *(loop if host else index),
        "look:",
        f"%all = icmp eq {GLOBAL} %mask, null",
        "br i1 %all, label %go, label %test",
        "test:",
        "%mi = mul i64 %robot, %mask_step",
        f"%mp = getelementptr i8, {GLOBAL} %mask, i64 %mi",
        f"%m = load i8, {GLOBAL} %mp",
        "%set = icmp ne i8 %m, 0",
        "br i1 %set, label %go, label %end",
        "go:",
        "%ti = mul i64 %robot, %to_row",
        "%si = mul i64 %robot, %row",
        f"%tp = getelementptr i{bits}, {GLOBAL} %to, i64 %ti",
        f"%sp = getelementptr i{bits}, {GLOBAL} %source, i64 %si",
        "br label %next",
        "next:",
        "%k = phi i64 [ 0, %go ], [ %k.next, %copy ]",
        "%more = icmp slt i64 %k, %numbers",
        "br i1 %more, label %copy, label %end",
        "copy:",
        "%tj = mul i64 %k, %to_step",
        "%sj = mul i64 %k, %step",
        f"%tq = getelementptr i{bits}, {GLOBAL} %tp, i64 %tj",
        f"%sq = getelementptr i{bits}, {GLOBAL} %sp, i64 %sj",
        f"%x = load i{bits}, {GLOBAL} %sq",
        f"store i{bits} %x, {GLOBAL} %tq",
        "%k.next = add i64 %k, 1",
        "br label %next",
        *(end if host else ["end:", "ret void"]),
    ]
    body = "\n".join(line if line.endswith(":") else f"  {line}" for line in lines)
    sizes = [f"declare i32 @llvm.nvvm.read.ptx.sreg.{name}.x()" for name in ("tid", "ctaid", "ntid")]
    head = [] if host else [f'target triple = "{TRIPLE}"', *sizes]
    kind = "dso_local" if host else "ptx_kernel"
    return "\n".join([*head, f"define {kind} void @{SYMBOL}({parameters}) {{\n{body}\n}}"])


def assign_code(bits: int, where: Device) -> IntegerCode:
    """The kernel that sets rows, for numbers of so many bits.

    Args:
        bits: Of a number.
        where: The GPU.
    """

    def made() -> bytes:
        return packed(machine_code(ptx.assembly(assign_module(bits), where.architecture), where), threads=THREADS)

    key = disk.key("cuda assign", str(bits), where.architecture, str(version()), llvm.version())
    cubin, known = unpacked(disk.fetch(key, made))
    return IntegerCode(cubin, len(ASSIGNED), known["threads"], 0)
