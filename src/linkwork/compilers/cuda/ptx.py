# SPDX-License-Identifier: BSD-3-Clause
"""A straight-line program as PTX for NVIDIA's GPUs, through LLVM's own NVPTX target: one thread computes one state.

The kernel is::

    void linkwork_kernel(ptr a0, i64 row0, i64 step0, ..., ptr ak, i64 rowk, i64 stepk, i64 count, ptr status)

for all inputs and outputs of the program: number ``j`` of state ``i`` of an array stands at ``i row + j step`` numbers
from its beginning (``row = 0``: one row for all states); the numbers of a row are less than 2 GB apart. Threads beyond
``count`` do nothing. Programs that iterate do so in each thread by itself, until that state has ended (`batch` says
when).

**What is not finite.** A state whose inputs hold NaN or infinity, or a quaternion of no length, has NaN in all its
results. ``status``, where it is given, counts such states, and those whose results are not finite:

| word | meaning                                                       |
|------|---------------------------------------------------------------|
| 0    | states with inputs that are not finite, or have no direction  |
| 1    | the first of them                                             |
| 2    | other states with results that are not finite                 |
| 3    | the first of them                                             |
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from linkwork.compilers.cuda.allocation import Limits, allocate
from linkwork.compilers.cuda.device_functions import (
    GLOBAL,
    LOCAL,
    SHARED,
    THREADS,
    TRIPLE,
    Emitter,
    module_head,
    part_functions,
    part_of,
    thread_index,
)
from linkwork.compilers.entry.batch import SYMBOL
from linkwork.compilers.lanes import Type
from linkwork.compilers.llvm import optimize
from linkwork.compilers.thresholds import LEAST_QUATERNION
from linkwork.compilers.trace.tracing import Trace

BLOCKS = 2
"""Blocks that share one multiprocessor: 256 threads, which leaves each of them all the registers that it can name."""
REGISTERS = {"float32": 220, "float64": 105}
"""Values in registers. A thread has 255 registers of 32 bits; addresses and sines need some."""
FEW_BYTES = 2048
"""Local memory of a thread up to which the assembler is to optimize programs in float32 as much as it can. Of others,
and of registers in pairs, it spills the fewest values where it moves the least."""
NO_STATE = 0xFFFFFFFF
STATUS_WORDS = (0, NO_STATE, 0, NO_STATE)
"""The status before anything was computed."""


@dataclass(frozen=True)
class Kernel:
    """A kernel as LLVM IR, and what a launch needs to know."""

    ir: str
    shared_bytes: int
    """Shared memory of a block."""
    local_bytes: int
    """Local memory that a thread's values take."""
    level: int
    """The assembler's level of optimization."""
    threads: int = THREADS
    optimization: int = 0
    """LLVM's level of optimization before: none for straight-line programs."""
    parts: tuple[str, ...] = ()
    """Functions of it that the assembler takes less time for if they are in modules of their own."""
    head: str = ""
    """Of such modules."""


def limits(dtype: str, shared_memory: int) -> Limits:
    """Registers and slots of one thread.

    Args:
        dtype: Type of the numbers.
        shared_memory: Shared memory of a multiprocessor, in bytes.
    """
    reserved = 1024  # of each block, by the system
    block = shared_memory // BLOCKS - reserved
    return Limits(REGISTERS[dtype], max(block // (THREADS * Type(dtype, 1).bytes), 0))


def kernel(
    trace: Trace,
    dtype: str,
    limits: Limits,
    held: Collection[int] = (),
    units: Sequence[tuple[int, int]] = (),
) -> Kernel:
    """A program as a kernel.

    Args:
        trace: The program.
        dtype: Type of its numbers.
        limits: Registers and slots of one thread.
        held: Inputs that are the same for all states.
        units: Where in the first input numbers of unit length begin, and how many they are.
    """
    t = Type(dtype, 1)
    arrays = len(trace.inputs) + len(trace.outputs)
    texts = {"body": trace, **trace.further}
    placed = {
        name: allocate(each, limits, name == "body", part_of(each, is_alone=True)) for name, each in texts.items()
    }
    emitters, lines, functions = dict[str, Emitter](), dict[str, list[str]](), list[str]()
    pointers = ", ".join(f"i64 %base{k}, i32 %bytes{k}" for k in range(arrays))
    for name, each in texts.items():
        emitters[name] = emitter = Emitter(each, t, placed[name], f"{name}.", held, wide=True)
        if emitter.is_cut:
            emitter.prefix, emitter.looks = "", False
            parts, calls = part_functions(name, emitter, f"{pointers}, {LOCAL} %carry, {SHARED} %shared")
            lines[name] = [*calls, f"%{name}.read = fadd {t.scalar} {t.number(0.0)}, {t.number(0.0)}"]
            functions += parts
        else:
            lines[name] = emitter.lines()
    local = max(1, *(allocation.local for allocation in placed.values()))
    entry = [
        f"%spilled = alloca [{local} x {t.scalar}], align {t.bytes}",
        f"%local = addrspacecast ptr %spilled to {LOCAL}",
        f"%carried = alloca [{max(len(trace.carry), 1)} x {t.scalar}], align {t.bytes}",
        f"%carry = addrspacecast ptr %carried to {LOCAL}",
        f"%finite = alloca {t.scalar}, align {t.bytes}",
        *thread_index(t),
        "%some = icmp slt i64 %state, %count",
        "br i1 %some, label %go, label %end",
        "go:",
    ]
    for k in range(arrays):
        entry += [
            f"%at{k} = mul i64 %state, %row{k}",
            f"%a{k} = getelementptr {t.scalar}, {GLOBAL} %b{k}, i64 %at{k}",
            f"%base{k} = ptrtoint {GLOBAL} %a{k} to i64",
            f"%distance{k} = mul i64 %step{k}, {t.bytes}",
            f"%bytes{k} = trunc i64 %distance{k} to i32",
        ]
    further = [] if trace.iterate is None else _iterations(trace, t, lines)
    text = [
        *entry,
        *lines["body"],
        f"store {t.scalar} %body.written, ptr %finite",
        *further,
        *_checks(trace, t, emitters["body"].looked_at, held, units),
        "end:",
        "ret void",
    ]
    parameters = ", ".join(f"{GLOBAL} %b{k}, i64 %row{k}, i64 %step{k}" for k in range(arrays))
    head = f'define ptx_kernel void @{SYMBOL}({parameters}, i64 %count, {GLOBAL} %status) "nvvm.maxntid"="{THREADS}"'
    body = "\n".join(line if line.endswith(":") else f"  {line}" for line in text)
    kernel = f'{head} "nvvm.minctasm"="{BLOCKS}" {{\n{body}\n}}'
    ir = "\n".join([module_head(t), *functions, kernel])
    slots = max(allocation.shared for allocation in placed.values())
    local_bytes = (local + len(trace.carry)) * t.bytes
    level = 3 if dtype == "float32" and local_bytes <= FEW_BYTES and not functions else 1
    return Kernel(ir, slots * THREADS * t.bytes, local_bytes, level, parts=tuple(functions), head=module_head(t))


def _iterations(trace: Trace, t: Type, lines: dict[str, list[str]]) -> list[str]:
    """Further iterations of one state, until it has ended."""
    ends = trace.refine is not None
    progress = len(trace.inputs) + len(trace.outputs) - 1
    settings = len(trace.inputs) - 1
    where = [(f"%a{k}", f"%step{k}") for k in (settings, progress)]
    text = ["br label %check", "check:", *unfinished(t, where[0], where[1], ends)]
    text += ["br i1 %open, label %more, label %ended", "more:"]
    text += ["br i1 %ending, label %refine, label %iterate" if ends else "br label %iterate"]
    for name in trace.further:
        text += [f"{name}:", *lines[name], f"store {t.scalar} %{name}.written, ptr %finite", "br label %check"]
    return [*text, "ended:"]


def unfinished(t: Type, settings: tuple[str, str], progress: tuple[str, str], ends: bool) -> list[str]:
    """``%open``: whether the state goes on; where a kernel ends iterations, ``%ending``: whether that one is next.

    Args:
        t: Type of the numbers.
        settings: Where settings are, and how far their numbers are apart.
        progress: Where the progress of iterations is, and how far its numbers are apart.
        ends: Whether a kernel ends iterations.
    """

    def number(name: str, array: tuple[str, str], place: int) -> list[str]:
        return [
            f"%{name}.k = mul i64 {array[1]}, {place}",
            f"%{name}.p = getelementptr {t.scalar}, {GLOBAL} {array[0]}, i64 %{name}.k",
            f"%{name} = load volatile {t.scalar}, {GLOBAL} %{name}.p",
        ]

    lines = [
        *number("tolerance", settings, 0),
        *number("most", settings, 1),
        *number("error", progress, 0),
        *number("rounds", progress, 1),
        f"%wide = fcmp ogt {t.scalar} %error, %tolerance",
        f"%short = fcmp olt {t.scalar} %rounds, %most",
        "%open = and i1 %wide, %short",
    ]
    if ends:
        lines += [
            *number("near", settings, 2),
            f"%square = fmul {t.scalar} %error, %error",
            f"%squared = fcmp ole {t.scalar} %square, %tolerance",
            f"%rough = fcmp ole {t.scalar} %error, %near",
            f"%next = fadd {t.scalar} %rounds, {t.number(1.0)}",
            f"%last = fcmp oge {t.scalar} %next, %most",
            "%soon = or i1 %squared, %rough",
            "%ending = or i1 %soon, %last",
        ]
    return lines


# What is not finite --------------------------------------------------------------------------------------------------


def _checks(
    trace: Trace, t: Type, seen: Collection[tuple[int, int]], held: Collection[int], units: Sequence[tuple[int, int]]
) -> list[str]:
    """Where inputs are no numbers, results are none; both are counted."""
    s, zero = t.scalar, t.number(0.0)
    lines, total = list[str](), "%body.read"

    def number(name: str, array: int, place: int) -> list[str]:
        return [
            f"{name}.k = mul i64 %step{array}, {place}",
            f"{name}.p = getelementptr {s}, {GLOBAL} %a{array}, i64 {name}.k",
            f"{name} = load {s}, {GLOBAL} {name}.p",
        ]

    for k, (_, size) in enumerate(trace.inputs):
        for j in range(size) if k not in held else ():
            if (k, j) not in seen:
                name = f"%unread.{k}.{j}"
                lines += number(name, k, j)
                lines.append(f"{name}.t = call {s} @llvm.fma.{t.suffix}({s} {name}, {s} {zero}, {s} {total})")
                total = f"{name}.t"
    lines.append(f"%bad.0 = fcmp uno {s} {total}, {zero}")
    bad = "%bad.0"
    for unit, (start, size) in enumerate(units if 0 not in held else ()):
        squared = zero
        for j in range(start, start + size):
            name = f"%unit.{unit}.{j}"
            lines += number(name, 0, j)
            lines.append(f"{name}.s = call {s} @llvm.fma.{t.suffix}({s} {name}, {s} {name}, {s} {squared})")
            squared = f"{name}.s"
        lines += [
            f"%short.{unit} = fcmp ule {s} {squared}, {t.number(LEAST_QUATERNION)}",
            f"%long.{unit} = fcmp uge {s} {squared}, {t.number(float('inf'))}",
            f"%no.{unit} = or i1 %short.{unit}, %long.{unit}",
            f"%bad.{unit + 1} = or i1 {bad}, %no.{unit}",
        ]
        bad = f"%bad.{unit + 1}"
    return [*lines, *_reports(trace, t, bad)]


def _reports(trace: Trace, t: Type, bad: str) -> list[str]:
    s = t.scalar
    lines = [
        f"%written = load {s}, ptr %finite",
        f"%lost = fcmp uno {s} %written, {t.number(0.0)}",
        f"%wrong = or i1 {bad}, %lost",
        "br i1 %wrong, label %report, label %end",
        "report:",
        f"br i1 {bad}, label %erase, label %counted",
        "erase:",
    ]
    outputs = list(enumerate(trace.outputs, len(trace.inputs)))
    before = "erase"
    for k, (_, symbols) in outputs:
        lines += [
            f"br label %erase{k}",
            f"erase{k}:",
            f"%e{k} = phi i64 [ 0, %{before} ], [ %e{k}.next, %erase{k}.go ]",
            f"%e{k}.more = icmp slt i64 %e{k}, {len(symbols)}",
            f"br i1 %e{k}.more, label %erase{k}.go, label %erased{k}",
            f"erase{k}.go:",
            f"%e{k}.k = mul i64 %e{k}, %step{k}",
            f"%e{k}.p = getelementptr {s}, {GLOBAL} %a{k}, i64 %e{k}.k",
            f"store {s} {t.number(float('nan'))}, {GLOBAL} %e{k}.p",
            f"%e{k}.next = add i64 %e{k}, 1",
            f"br label %erase{k}",
            f"erased{k}:",
        ]
        before = f"erased{k}"
    return [*lines, "br label %counted", "counted:", *counted("%state", bad, "end")]


def counted(state: str, bad: str, then: str) -> list[str]:
    """Count a state in the status, where it is given.

    Args:
        state: Number of the state.
        bad: Whether its inputs are not finite; else its results are not.
        then: The label to go on with.
    """
    lines = [f"%number32 = trunc i64 {state} to i32", f"br i1 {bad}, label %count.0, label %count.2"]
    for word in (0, 2):
        lines += [
            f"count.{word}:",
            f"%asked.{word} = icmp ne {GLOBAL} %status, null",
            f"br i1 %asked.{word}, label %add.{word}, label %{then}",
            f"add.{word}:",
            f"%word.{word} = getelementptr i32, {GLOBAL} %status, i64 {word}",
            f"%word.{word + 1} = getelementptr i32, {GLOBAL} %status, i64 {word + 1}",
            f"%old.{word} = atomicrmw add {GLOBAL} %word.{word}, i32 1 monotonic",
            f"%old.{word + 1} = atomicrmw umin {GLOBAL} %word.{word + 1}, i32 %number32 monotonic",
            f"br label %{then}",
        ]
    return lines


# To PTX --------------------------------------------------------------------------------------------------------------


@cache
def machine(architecture: str) -> Any:
    """LLVM's target machine of an architecture, ``sm_90`` for instance."""
    for option in ("-nvptx-prec-divf32=1", "-nvptx-prec-sqrtf32=0"):
        llvm.set_option("linkwork", option)  # quotients and roots of single precision to two units in the last place
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(TRIPLE)
    return target.create_target_machine(cpu=architecture, features="+ptx78", opt=2)


def assembly(ir: str, architecture: str = "sm_90", optimization: int = 0) -> str:
    """The PTX of a module.

    Args:
        ir: The module as LLVM IR.
        architecture: The oldest GPU that it is for.
        optimization: LLVM's level of optimization.
    """
    target = machine(architecture)
    parsed = llvm.parse_assembly(ir)
    parsed.data_layout = str(target.target_data)
    parsed.verify()
    if optimization:
        optimize(parsed, target, optimization)
    return str(target.emit_assembly(parsed))
