# SPDX-License-Identifier: BSD-3-Clause
"""Whole rollouts as one kernel for NVIDIA's GPUs: a warp takes robots and makes all their steps.

A step is a function or two (`device_functions`): the step itself, or with contacts its first Newton iteration and a
further one, which robots need in very different number. So a warp has more robots than lanes, and in every round its
lanes take those that need the same function (`warps`). Robots are not at the same step then; no lane waits for the
slowest, and each robot is computed as it would be alone.

| name        | meaning                                                                                         |
|-------------|-------------------------------------------------------------------------------------------------|
| given       | arrays of the caller: pointer, row stride, number stride, in numbers (``row = 0``: one for all)   |
| own         | arrays of a slot of a warp, in one piece of memory: tiles of `LANES` slots, in which numbers are |
|             | `LANES` apart                                                                                   |
| clock       | steps of each robot since it was reset, 32-bit integers                                         |
| missed      | outputs of a first attempt that did not reach the tolerance; the second starts from zero forces  |

After each step, outputs ``q1, v1, result`` are copied to the inputs ``q, v, before``. Every so many steps the state
goes to the next frame of the records. A robot that stops being finite holds NaN.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from linkwork.compilers.cuda.allocation import Limits
from linkwork.compilers.cuda.device_functions import (
    GLOBAL,
    POOL,
    SHARED,
    THREADS,
    declared,
    device_function,
    module_head,
    own_module,
)
from linkwork.compilers.cuda.ptx import BLOCKS
from linkwork.compilers.cuda.row_functions import copy_function, fill_function
from linkwork.compilers.cuda.warps import AGAIN, EMPTY, ITERATING, LANES, STEP, WARP_BYTES, device_warp, host_warp
from linkwork.compilers.entry.batch import SYMBOL
from linkwork.compilers.lanes import Type
from linkwork.compilers.trace.tracing import Trace
from linkwork.model.thresholds import UNBOUNDED

WARM_ITERATIONS = 50.0
"""After so many, iterations that start from the forces of the step before have failed: most take one or two."""
REGISTERS = {"float32": 200, "float64": 105}
"""Values in registers; the loops around functions need some."""
CARRIED = {"q1": "q", "v1": "v", "result": "before"}
"""Outputs of a step and the inputs of the next that they are."""
RECORDS = ("q", "v")
SCALARS = ("slots", "count", "steps", "control_every", "record_every", "record_frame_q", "record_frame_v", "width")
"""Integers that the kernel takes after its arrays."""


@dataclass(frozen=True, eq=False)
class RolloutProgram:
    """The traces of a rollout: a step, and the controller if there is one.

    With contacts, the step has further iterations; its last output begins with the residual and how many there were.
    """

    step: Trace
    torques: Trace | None
    dt: float
    """Time of a step."""
    known: frozenset[str]
    """Inputs of the step that are constants of the program."""
    tolerance: float = 0.0
    """The residual at which iterations end."""
    most: float = 0.0
    """The most iterations."""

    @property
    def iterates(self) -> bool:
        """Whether a step takes iterations of its own."""
        return self.step.iterate is not None

    @cached_property
    def given(self) -> Mapping[str, int]:
        """Numbers of a robot in each array of the caller, in the order of the kernel's parameters."""
        sizes = dict(self.step.inputs) | dict(() if self.torques is None else self.torques.inputs)
        sizes |= {f"record.{name}": sizes[name] for name in RECORDS}
        controls = () if self.torques is None else [name for name, _ in self.torques.inputs]
        return {name: sizes[name] for name in given_names([name for name, _ in self.step.inputs], controls, self.known)}

    @cached_property
    def own(self) -> Mapping[str, int]:
        """Numbers of a slot in each array of its own, in the order in which they are in memory."""
        outputs = {name: len(symbols) for name, symbols in self.step.outputs}
        sizes = dict(outputs)
        if self.torques is not None:
            sizes = {"time": 1} | sizes
        if self.iterates:
            sizes |= {"carry": len(self.step.carry)} | {f"missed.{name}": size for name, size in outputs.items()}
        return sizes

    @property
    def numbers(self) -> int:
        """Numbers of a slot in arrays of its own."""
        return sum(self.own.values())


def given_names(step: Iterable[str], torques: Iterable[str], known: Collection[str]) -> list[str]:
    """Arrays of the caller, in the order of the kernel's parameters.

    Args:
        step: Inputs of the step.
        torques: Inputs of the controller; none without one.
        known: Inputs of the step that are constants of the program.
    """
    controls = [name for name in torques if name in ("shared", "own")]
    return [*(name for name in step if name not in known), *controls, *(f"record.{name}" for name in RECORDS)]


@dataclass(frozen=True)
class RolloutKernel:
    """A rollout as LLVM IR, and what a launch needs to know."""

    ir: str
    """The module of the kernel."""
    shared_bytes: int
    """Shared memory of a block, beside that of its warps."""


def rollout_limits(dtype: str, shared_memory: int) -> Limits:
    """Registers and slots of one thread.

    Args:
        dtype: Type of the numbers.
        shared_memory: Shared memory of a multiprocessor, in bytes.
    """
    reserved = 1024 + WARP_BYTES * (THREADS // LANES)
    block = shared_memory // BLOCKS - reserved
    return Limits(REGISTERS[dtype], max(block // (THREADS * Type(dtype, 1).bytes), 0))


class Assembling(Protocol):
    """The receiver of modules as they are written: `assembling.Assembler`."""

    def add(self, ir: str) -> None:
        """A module with one function."""

    def end_group(self) -> None:
        """All functions of a program are written."""


def rollout_kernel(
    program: RolloutProgram, dtype: str, limits: Limits, parts: Assembling | None = None, *, host: bool = False
) -> RolloutKernel:
    """The kernel of a rollout.

    Args:
        program: Its traces.
        dtype: Type of numbers.
        limits: Registers and slots of shared memory of a thread.
        parts: Takes modules of the parts of long programs; by default they are in the module of the kernel, for which
            the assembler takes several times as long.
        host: Whether it is for this machine's processor, where a warp is one lane and a loop runs over all warps.
    """
    t = Type(dtype, 1)
    texts = {"first": program.step} | program.step.further
    if program.torques is not None:
        texts["torques"] = program.torques
    head, functions, slots = module_head(t), list[str](), 0
    for name, trace in texts.items():
        called = list[str]()

        def ready(text: str, trace: Trace = trace, called: list[str] = called) -> None:
            called.append(_with_own_strides(text, trace, program))
            if parts is not None:
                parts.add(own_module(head, called[-1]))

        function, used = device_function(
            name, trace, t, limits, at_once=name != "iterate", global_carry=True, ready=ready
        )
        slots = max(slots, used)
        functions += [
            *(called if parts is None else map(declared, called)),
            _with_own_strides(function[-1], trace, program),
        ]
        if parts is not None:
            parts.end_group()
    if host:
        lines = [line for line in head.splitlines() if not line.startswith(("target triple", f"@{POOL}"))]
        pool = f"@{POOL} = internal addrspace(3) global [{max(slots, 1) * THREADS} x {t.scalar}] zeroinitializer"
        head = "\n".join([*lines, pool])
    ir = "\n".join([head, *functions, copy_function(t), fill_function(t), _kernel(program, t, host)])
    return RolloutKernel(ir, slots * THREADS * t.bytes)


def _with_own_strides(text: str, trace: Trace, program: RolloutProgram) -> str:
    """A function whose number strides of arrays of a slot are constants, so that addresses are, too."""
    names = [*(name for name, _ in trace.inputs), *(name for name, _ in trace.outputs)]
    fixed = {f"step{k}" for k, name in enumerate(names) if name in program.own} | {"carry_step"}
    head, _, body = text.partition("{\n")
    return f"{head}{{\n" + re.sub(r"%(step\d+|carry_step)\b", lambda m: str(LANES) if m[1] in fixed else m[0], body)


class _Text:
    """Lines of the kernel, with fresh names."""

    def __init__(self, program: RolloutProgram, t: Type) -> None:
        self.program, self.t, self.s = program, t, t.scalar
        self.given = {name: k for k, name in enumerate(program.given)}
        self.sizes = {**program.given, **program.own}
        self.lines: list[str] = []
        self.fresh = 0

    def add(self, *lines: str) -> None:
        self.lines += lines

    def new(self, kind: str) -> str:
        self.fresh += 1
        return f"%{kind}.{self.fresh}"

    def row(self, name: str) -> str:
        """The address of the robot's row."""
        at = self.new("row")
        if name in self.given:
            k = self.given[name]
            self.add(f"{at}.i = mul i64 %robot, %row{k}", f"{at} = getelementptr {self.s}, {GLOBAL} %a{k}, i64 {at}.i")
            return at
        before = 0
        for other, size in self.program.own.items():
            if other == name:
                break
            before += size
        self.add(
            f"{at}.b = mul i64 %slots, {before}",
            f"{at}.t = mul i64 %tile, {self.sizes[name]}",
            f"{at}.i = add i64 {at}.b, {at}.t",
            f"{at}.j = add i64 {at}.i, %place",
            f"{at} = getelementptr {self.s}, {GLOBAL} %memory, i64 {at}.j",
        )
        return at

    def step(self, name: str) -> str:
        return f"%step{self.given[name]}" if name in self.given else str(LANES)

    def number(self, name: str, place: int) -> str:
        """The address of a number of the robot."""
        row, at = self.row(name), self.new("number")
        self.add(
            f"{at}.i = mul i64 {self.step(name)}, {place}",
            f"{at} = getelementptr {self.s}, {GLOBAL} {row}, i64 {at}.i",
        )
        return at

    def load(self, result: str, name: str, place: int) -> None:
        at = self.number(name, place)
        self.add(f"{result} = load volatile {self.s}, {GLOBAL} {at}")

    def store(self, value: str, name: str, place: int) -> None:
        at = self.number(name, place)
        self.add(f"store volatile {self.s} {value}, {GLOBAL} {at}")

    def copy(self, source: str, target: str, offset: str = "") -> str:
        """Copies a row; the name of a number that is zero if all of it is finite, else NaN."""
        one, other, result = self.row(source), self.row(target), self.new("copied")
        if offset:
            self.add(f"{result}.to = getelementptr {self.s}, {GLOBAL} {other}, i64 {offset}")
            other = f"{result}.to"
        arrays = f"{GLOBAL} {one}, i64 {self.step(source)}, {GLOBAL} {other}, i64 {self.step(target)}"
        self.add(f"{result} = call {self.s} @copy({arrays}, i64 {self.sizes[source]})")
        return result

    def call(self, function: str, arrays: Sequence[str], carry: str | None) -> None:
        """Calls a device function with rows of the robot; constants of the program are not read."""
        rows = [
            f"{GLOBAL} {self.row(name)}, i64 {self.step(name)}" if name in self.sizes else f"{GLOBAL} null, i64 0"
            for name in arrays
        ]
        kept = f"{GLOBAL} null, i64 0" if carry is None else f"{GLOBAL} {self.row(carry)}, i64 {LANES}"
        result = self.new("call")
        self.add(f"{result} = call {self.s} @{function}({', '.join(rows)}, {kept}, {SHARED} %shared)")


def _kernel(program: RolloutProgram, t: Type, host: bool) -> str:
    text = _Text(program, t)
    arrays = ", ".join(f"{GLOBAL} %a{k}, i64 %row{k}, i64 %step{k}" for k in range(len(program.given)))
    scalars = ", ".join(f"i64 %{name}" for name in SCALARS)
    _work(text)
    warp = host_warp(t, text.lines) if host else device_warp(t, text.lines)
    kind = "dso_local" if host else "ptx_kernel"
    head = f"define {kind} void @{SYMBOL}({arrays}, {GLOBAL} %memory, {GLOBAL} %clock, {GLOBAL} %queue, {scalars})"
    if not host:
        head += f' "nvvm.maxntid"="{THREADS}" "nvvm.minctasm"="{BLOCKS}"'
    body = "\n".join(line if line.endswith(":") else f"  {line}" for line in warp.lines)
    return "\n".join([*warp.globals, f"{head} {{\n{body}\n}}"])


def _work(text: _Text) -> None:
    """Writes the work of a lane on its robot: a step or an iteration, and the transitions after it."""
    program, step = text.program, text.program.step
    arrays = [*(name for name, _ in step.inputs), *(name for name, _ in step.outputs)]
    carry = "carry" if program.iterates else None
    text.add(
        f"%place = and i64 %slot, {LANES - 1}",
        "%tile = sub i64 %slot, %place",
        f"%clock.at = getelementptr i32, {GLOBAL} %clock, i64 %robot",
        f"%now = load volatile i32, {GLOBAL} %clock.at",
        "br i1 %more.iterate, label %iterating, label %beginning",
        "beginning:",
    )
    if program.torques is not None:
        _control(text, program.torques)
    text.call("first", arrays, carry)
    text.add("br label %judge", "iterating:")
    if program.iterates:
        text.call("iterate", arrays, carry)
    text.add("br label %judge", "judge:")
    if program.iterates:
        _judge(text)
    else:
        text.add("br label %finish")
    text.add("finish:")
    _finish(text)


def _control(text: _Text, torques: Trace) -> None:
    """Torques of the controller, where it is due."""
    s = text.s
    text.add(
        "%now64 = zext i32 %now to i64",
        "%since = urem i64 %now64, %control_every",
        "%due = icmp eq i64 %since, 0",
        "br i1 %due, label %control, label %controlled",
        "control:",
        f"%now.number = uitofp i32 %now to {s}",
        f"%now.time = fmul {s} %now.number, {text.t.number(text.program.dt)}",
    )
    text.store("%now.time", "time", 0)
    text.call("torques", [*(name for name, _ in torques.inputs), "tau"], None)
    text.add("br label %controlled", "controlled:")


def _judge(text: _Text) -> None:
    """Whether iterations go on, or start again from zero forces, or have ended with the better of two attempts."""
    s, number, most = text.s, text.t.number, text.program.most
    outputs = [name for name, _ in text.program.step.outputs]
    last = outputs[-1]
    text.load("%error", last, 0)
    text.load("%iterations", last, 1)
    text.add(
        f"%again.bit = and i64 %flag, {AGAIN}",
        "%was.again = icmp ne i64 %again.bit, 0",
        f"%most = select i1 %was.again, {s} {number(most)}, {s} {number(min(most, WARM_ITERATIONS))}",
        f"%wide = fcmp ogt {s} %error, {number(text.program.tolerance)}",
        f"%short = fcmp olt {s} %iterations, %most",
        "%open = and i1 %wide, %short",
        "br i1 %open, label %go.on, label %ended",
        "go.on:",
        f"%flag.on = or i64 %flag, {ITERATING}",
        f"store volatile i64 %flag.on, {SHARED} %flag.at",
        "br label %joined",
        "ended:",
        "br i1 %was.again, label %compare, label %only",
        "only:",
        "br i1 %wide, label %retry, label %finish",
        "retry:",
    )
    for name in outputs:
        text.copy(name, f"missed.{name}")
    text.store(number(UNBOUNDED), "before", 0)
    text.add(
        f"%flag.again = or i64 %flag, {ITERATING | AGAIN}",
        f"%flag.start = xor i64 %flag.again, {ITERATING}",
        f"store volatile i64 %flag.start, {SHARED} %flag.at",
        "br label %joined",
        "compare:",
    )
    text.load("%missed.error", f"missed.{last}", 0)
    text.load("%missed.iterations", f"missed.{last}", 1)
    text.add(f"%all.iterations = fadd {s} %iterations, %missed.iterations")
    text.store("%all.iterations", last, 1)
    text.add(
        f"%better = fcmp olt {s} %error, %missed.error", "br i1 %better, label %finish, label %restore", "restore:"
    )
    for name in outputs:
        text.copy(f"missed.{name}", name)
    text.add("br label %finish")


def _finish(text: _Text) -> None:
    """The state after a step is that before the next; it is recorded, and counted."""
    s, zero = text.s, text.t.number(0.0)
    outputs = [name for name, _ in text.program.step.outputs]
    sums = [text.copy(name, CARRIED[name]) for name in outputs if CARRIED.get(name) in text.given]
    text.add(f"%sum = fadd {s} {sums[0]}, {sums[1]}", f"%finite = fcmp oeq {s} %sum, {zero}")
    good = "%finite"
    if "progress" in outputs:  # not above zero where loops could not be closed
        text.load("%progress", "progress", 0)
        text.add(f"%closed = fcmp ogt {s} %progress, {zero}", "%good = and i1 %finite, %closed")
        good = "%good"
    text.add(
        "%next = add i32 %now, 1",
        f"store volatile i32 %next, {GLOBAL} %clock.at",
        f"br i1 {good}, label %record, label %lose",
        "lose:",
    )
    for name in RECORDS:
        row, nan = text.row(name), text.t.number(float("nan"))
        text.add(f"call void @fill({GLOBAL} {row}, i64 {text.step(name)}, i64 {text.sizes[name]}, {s} {nan})")
    text.add(
        "br label %record",
        "record:",
        f"%left = sdiv i64 %flag, {STEP}",
        "%done.before = sub i64 %steps, %left",
        "%done = add i64 %done.before, 1",
        "%recording = icmp ne i64 %record_every, 0",
        "br i1 %recording, label %due.record, label %counted",
        "due.record:",
        "%past = urem i64 %done, %record_every",
        "%is.frame = icmp eq i64 %past, 0",
        "br i1 %is.frame, label %keep, label %counted",
        "keep:",
        "%frames = udiv i64 %done, %record_every",
        "%frame = sub i64 %frames, 1",
    )
    for name in RECORDS:
        text.add(f"%frame.{name} = mul i64 %frame, %record_frame_{name}")
        text.copy(name, f"record.{name}", f"%frame.{name}")
    text.add(
        "br label %counted",
        "counted:",
        "%left.now = sub i64 %left, 1",
        "%has.more = icmp sgt i64 %left.now, 0",
        f"%left.flag = mul i64 %left.now, {STEP}",
        f"%flag.next = select i1 %has.more, i64 %left.flag, i64 {EMPTY}",
        f"store volatile i64 %flag.next, {SHARED} %flag.at",
        "br label %joined",
    )
