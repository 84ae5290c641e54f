# SPDX-License-Identifier: BSD-3-Clause
"""GPUs for tests where none is: the same LLVM modules compiled for the host, and its memory in place of a GPU's."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from contextlib import nullcontext
from functools import cache
from typing import Any

import llvmlite.binding as llvm_binding
import numpy as np

from linkwork.compilers import llvm
from linkwork.compilers.cuda import arrays, driver, runner, warp_plan
from linkwork.compilers.cuda.device_functions import MULTIPLY_ADD, POOL, THREADS
from linkwork.compilers.cuda.ptx import Kernel
from linkwork.compilers.cuda.warp_text import warp_kernel
from linkwork.compilers.entry.batch import SYMBOL
from linkwork.compilers.program import Program
from linkwork.kernels.algorithm import Algorithm
from linkwork.simulation import cuda_batch, warp_batch

ENTRY = """
define void @on_host(ptr %values, i64 %threads, i64 %blocks) {
entry:
  br label %block
block:
  %b = phi i64 [ 0, %entry ], [ %b1, %next ]
  %b32 = trunc i64 %b to i32
  store i32 %b32, ptr @host.ctaid
  br label %thread
thread:
  %t = phi i64 [ 0, %block ], [ %t1, %thread ]
  %t32 = trunc i64 %t to i32
  store i32 %t32, ptr @host.tid
CALL
  %t1 = add i64 %t, 1
  %more = icmp slt i64 %t1, %threads
  br i1 %more, label %thread, label %next
next:
  %b1 = add i64 %b, 1
  %further = icmp slt i64 %b1, %blocks
  br i1 %further, label %block, label %end
end:
  ret void
}
"""


MULTIPLIED = """
define internal i64 @multiply_add(i32 %x, i32 %y, i64 %z) {
  %wx = sext i32 %x to i64
  %wy = sext i32 %y to i64
  %xy = mul i64 %wx, %wy
  %sum = add i64 %xy, %z
  ret i64 %sum
}
"""


def host_arithmetic(ir: str) -> str:
    """A module with functions of the host in place of the GPU's approximations, and nearly as rough."""
    found = set(re.findall(r"@llvm\.nvvm\.(rcp|rsqrt|sqrt)\.approx(?:\.ftz)?\.([fd])\(", ir))
    text = re.sub(r"declare \w+ @llvm\.nvvm\.\w+\.approx\S*\(\w+\)\n?", "", ir)
    text = re.sub(r"@llvm\.nvvm\.(rcp|rsqrt|sqrt)\.approx(?:\.ftz)?\.([fd])\(", r"@host_\1_\2(", text)
    for name, kind in sorted(found):
        s, suffix = ("float", "f32") if kind == "f" else ("double", "f64")
        root = "" if name == "rcp" else f"  %r = call {s} @llvm.sqrt.{suffix}({s} %x)\n"
        exact = "%r" if name == "sqrt" else "%i"
        inverse = "" if name == "sqrt" else f"  %i = fdiv {s} 1.0, {'%x' if name == 'rcp' else '%r'}\n"
        rough = "0x3FF0000020000000" if kind == "f" else "0x3FF0000100000000"  # off by 1e-7, or by 1e-6
        body = f"{root}{inverse}  %y = fmul {s} {exact}, {rough}\n  ret {s} %y"
        text += f"\ndefine internal {s} @host_{name}_{kind}({s} %x) {{\n{body}\n}}"
    return text


def host_module(ir: str, arrays: int, slots: int, native: bool = False, threads: int = THREADS) -> str:
    """A kernel's module for the host: no address spaces, and a loop over threads around it."""
    text = re.sub(r"ptr addrspace\(\d\)", "ptr", host_arithmetic(ir))
    text = re.sub(r"@llvm\.nvvm\.read\.ptx\.sreg\.(\w+)\.x", r"@host_\1", text)
    text = re.sub(r"declare i32 @host_\w+\(\)", "", text)
    scalar = re.search(rf"@{POOL} = external addrspace\(3\) global \[0 x (\w+)\]", text)
    assert scalar is not None
    text = text.replace(
        scalar.group(0), f"@{POOL} = internal global [{max(slots, 1) * THREADS} x {scalar.group(1)}] zeroinitializer"
    )
    text = re.sub(r"= addrspacecast ptr (%\w+) to ptr", r"= getelementptr i8, ptr \1, i64 0", text)
    text = re.sub(r'target triple = ".*"', "", text).replace("ptx_kernel ", "")
    text = re.sub(r'"nvvm.maxntid"="\d+" "nvvm.minctasm"="\d+"', "", text)
    text = re.sub(r" addrspace\(\d\) constant", " constant", text)
    state = "\n".join(
        f"@host.{name} = internal global i32 {start}\n"
        f"define internal i32 @host_{name}() {{\n  %x = load i32, ptr @host.{name}\n  ret i32 %x\n}}"
        for name, start in (("tid", 0), ("ctaid", 0), ("ntid", threads))
    )
    text = text.replace(f"call i64 {MULTIPLY_ADD}", "call i64 @multiply_add")
    state += MULTIPLIED
    kinds = ["ptr", "i64", "i64"] * arrays + ["i64", "ptr"] + (["ptr", "ptr", "i64", "ptr"] if native else [])
    lines = []
    for k, kind in enumerate(kinds):
        lines += [f"  %p{k} = getelementptr i64, ptr %values, i64 {k}", f"  %v{k} = load {kind}, ptr %p{k}"]
    lines.append(f"  call void @{SYMBOL}({', '.join(f'{kind} %v{k}' for k, kind in enumerate(kinds))})")
    return f"{state}\n{text}\n{ENTRY.replace('CALL', chr(10).join(lines))}"


@cache
def compiled(text: str, optimization: int) -> llvm.Code:
    """A module in this process: native code is the same for many mechanisms."""
    return llvm.Code(llvm.object_code(text, min(optimization, 1)), "on_host")


class HostCode:
    """In place of `driver.CudaCode`: a kernel that runs here."""

    def __init__(self, kernel: Kernel, arrays: int, bytes_of_number: int, native: bool) -> None:
        shared_bytes = kernel.shared_bytes
        slots = shared_bytes // (THREADS * bytes_of_number)
        text = host_module(kernel.ir, arrays, slots, native, kernel.threads)
        self._code = compiled(text, kernel.optimization)
        self._run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(self._code.address)
        self.arrays, self.threads, self.shared_bytes = arrays, kernel.threads, shared_bytes

    def function(self, where: Any) -> int:
        return self._code.address

    def launch(self, values: Sequence[int], count: int, stream: int, where: Any, status: int = 0) -> None:
        self.launch_blocks((*values, count, status), -(-count // self.threads), stream, where)

    def launch_blocks(self, values: Sequence[int], blocks: int, stream: int, where: Any) -> None:
        words = np.array(values, np.int64)
        self._run(words.ctypes.data, self.threads, blocks)


class HostWarps:
    """In place of `warp_code.WarpCode`: a rollout whose lanes are one after the other, here."""

    def __init__(self, program: Program, plan: warp_plan.WarpPlan, dtype: str, group: int, where: Any) -> None:
        algorithm = program.algorithm
        self._code = emulated(algorithm, dtype, group)
        arrays = len(algorithm.inputs) + len(algorithm.outputs)
        kinds = [ctypes.c_int64] * (2 * arrays + warp_plan.FURTHER)
        self._run = ctypes.CFUNCTYPE(None, *kinds)(self._code.address)
        self._context = plan.context

    def launch_blocks(self, values: Sequence[int], blocks: int, stream: int, where: Any) -> None:
        ctypes.memmove(self._code.symbol(warp_plan.CONTEXT), self._context, len(self._context))
        self._run(*values)


@cache
def emulated(algorithm: Algorithm, dtype: str, group: int) -> llvm.Code:
    """A rollout in this process: it is the same for many mechanisms."""
    text = warp_kernel(algorithm, dtype, group, host=True)
    return llvm.Code(llvm.object_code(text, 1), SYMBOL, others=[warp_plan.CONTEXT])


class HostMemory:
    """In place of `driver.Memory`."""

    def __init__(self, where: Any, size: int) -> None:
        self.bytes = size
        self._content = np.zeros(max(size, 1), np.uint8)
        self.pointer = self._content.ctypes.data

    def write(self, content: bytes, stream: int = 0) -> None:
        self._content[: len(content)] = np.frombuffer(content, np.uint8)

    def read(self, size: int, offset: int = 0) -> bytes:
        return self._content[offset : offset + size].tobytes()


class HostDevice:
    """In place of `driver.Device`."""

    index, name, architecture, shared_memory = 0, "host", "sm_90", 228 * 1024
    multiprocessors, memory = 1, 1 << 34
    """Few, so that threads of native code take more than one state."""

    def current(self) -> Any:
        return nullcontext()


def use_host_simulations(monkeypatch: Any, assign: Any) -> None:
    """Let simulations on ``"cuda"`` run on the host; ``assign`` takes the place of the kernel that sets rows."""
    use_host(monkeypatch)
    for module in (cuda_batch, warp_batch):
        monkeypatch.setattr(module, "Memory", HostMemory)
        monkeypatch.setattr(module, "zeroed", lambda memory, stream: memory.write(bytes(memory.bytes)))
    monkeypatch.setattr(cuda_batch, "device", lambda index=0: HostDevice())
    monkeypatch.setattr(cuda_batch, "assign_code", assign)
    monkeypatch.setattr(warp_batch, "warp_code", HostWarps)


def use_host(monkeypatch: Any) -> None:
    """Let evaluators on ``"cuda"`` run on the host, with `DeviceArray` in its memory."""

    def code(self: runner.CudaRunner, signature: runner.Signature, where: Any) -> Any:
        found = self.codes.get((signature, 0))
        if found is None:
            kernel = self.kernel(signature, HostDevice.shared_memory)
            made: Any = HostCode(kernel, len(self.shapes), self.dtype.itemsize, self.is_native)
            found = self.codes[signature, 0] = self.with_plan(made, where)
        return found

    llvm_binding.initialize_all_targets()
    monkeypatch.setattr(runner.CudaRunner, "code", code)
    for module in (runner, arrays):
        monkeypatch.setattr(module, "Memory", HostMemory)
    monkeypatch.setattr(runner, "device", lambda index=0: HostDevice())
    monkeypatch.setattr(arrays, "_device", lambda index=0: HostDevice())
    assert driver.LIBRARY
