# SPDX-License-Identifier: BSD-3-Clause
"""Kernel code itself on a GPU: code that is generic in the mechanism, for programs too long for a straight line.

The functions are those of native code on the CPU (`lowering`), for one state in each thread. They read the plan, which
is data in the memory of the GPU, and work on arrays in a *scratch* there. The scratch of a warp is that of native code
in 32 lanes: entry ``k`` of lane ``l`` stands at ``32 k + l``, so that the threads of a warp, which go through the code
together, read and write neighbors. Threads take one state after another: the scratch does not grow with the batch.

The kernel is that of `ptx` with four more arguments::

    void linkwork_kernel(ptr a0, i64 row0, i64 step0, ..., i64 count, ptr status, ptr context, ptr scratch, i64 threads,
                         ptr axes)

State ``i`` is number ``i modulo n`` along an axis of ``n`` states and ``i / n`` along a second: ``axes`` has ``n``, and
the distance of the rows of each array along the second axis.

Each thread copies the inputs of a state to its scratch, and outputs from it. The context is that of `native`, with
offsets in place of addresses of work arrays, and further words:

| word          | meaning                                                                           |
|---------------|-----------------------------------------------------------------------------------|
| ``n``         | bytes of a warp's scratch                                                         |
| ``n + 1``     | how many places of ``q`` have unit length                                         |
| ``n + 2``     | address of these: where they start, and how many numbers they are                 |
| ``n + 3 + 2k``| offset of array ``k`` in the scratch, inputs then outputs; then how many numbers  |
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence

from linkwork.compilers.cuda.device_functions import GLOBAL, thread_head, thread_index
from linkwork.compilers.cuda.native import BLOCKS, PLAN_WORDS, WARP
from linkwork.compilers.cuda.ptx import Kernel, counted, unfinished
from linkwork.compilers.entry.batch import SYMBOL
from linkwork.compilers.lanes import Type
from linkwork.compilers.language.lowering import Unit
from linkwork.compilers.language.sincos import DOUBLE, SINGLE, sincos_text
from linkwork.compilers.language.values import STATE, Fixed, Float, Source, array_type, tables
from linkwork.compilers.thresholds import LEAST_QUATERNION
from linkwork.errors import UnsupportedFeature
from linkwork.kernels.algorithm import Algorithm


class DeviceUnit(Unit):
    """Kernel code for one thread of a GPU."""

    pointer = GLOBAL
    context = f"{GLOBAL} %c, {GLOBAL} %own"
    table = f"{GLOBAL} %c"
    spacing = WARP
    has_scratch = True

    def sincos(self, caller: Source, node: ast.AST) -> str:
        """The function for sine and cosine: polynomials alone."""
        polynomials = DOUBLE if self.t.dtype == "float64" else SINGLE
        return self.function(sincos_text, (Float, Fixed(polynomials)), caller, node).name


def kernel(algorithm: Algorithm, dtype: str, wanted: Sequence[bool]) -> Kernel:
    """An algorithm as a kernel.

    Args:
        algorithm: Its text, and the shapes of its arrays.
        dtype: Type of its numbers.
        wanted: Which outputs are written.
    """
    if algorithm.integers:
        raise UnsupportedFeature(f"{algorithm.name} keeps lists of integers, which code for GPUs does not have")
    t = Type(dtype, 1)
    tree, work = tables(algorithm.layout, algorithm.stored, algorithm.folded)
    words = len(tree.sizes) + len(tree.arrays) + len(work.arrays)
    unit = DeviceUnit(t, tree, words)
    shapes = [*algorithm.inputs.values(), *algorithm.outputs.values()]
    kinds = [
        array_type(STATE, shape, writable=k >= len(algorithm.inputs), tag=f"argument {k}")
        for k, shape in enumerate(shapes)
    ]
    rows = ", ".join(f"{GLOBAL} %a{k}" for k in range(len(shapes)))

    def call(text: Callable[..., None]) -> str:
        lowered = unit.root(text, (Fixed(tree), Fixed(work), *kinds))
        return f"call void @{lowered.name}({unit.context}, {rows})"

    texts = {"iterate": algorithm.iterate, "refine": algorithm.refine}
    further = {name: call(text) for name, text in texts.items() if text is not None}
    body = [call(algorithm.text), *(_iterations(t, len(algorithm.inputs), len(shapes), further) if further else ())]
    lines = [
        *_opening(t, words, len(shapes)),
        *_inputs(t, len(algorithm.inputs)),
        "compute:",
        *body,
        *_outputs(t, len(algorithm.inputs), wanted),
        *counted("%i", "%bad", "done"),
        "done:",
        "%following = add i64 %i, %stride",
        "%again = icmp slt i64 %following, %count",
        "br i1 %again, label %state, label %end",
        "end:",
        "ret void",
    ]
    arrays = ", ".join(f"{GLOBAL} %b{k}, i64 %row{k}, i64 %step{k}" for k in range(len(shapes)))
    head = f"define ptx_kernel void @{SYMBOL}({arrays}, i64 %count, {GLOBAL} %status, "
    head += f"{GLOBAL} %c, {GLOBAL} %scratch, i64 %stride, {GLOBAL} %axes) "
    head += f'"nvvm.maxntid"="{WARP}" "nvvm.minctasm"="{BLOCKS}"'
    text = "\n".join(line if line.endswith(":") else f"  {line}" for line in lines)
    parts = [thread_head(t), unit.text(), _copy(t), _erase(t), _undirected(t), f"{head} {{\n{text}\n}}"]
    return Kernel("\n".join(parts), 0, 0, level=3, threads=WARP, optimization=2)


# The kernel ----------------------------------------------------------------------------------------------------------


def _word(name: str, place: int, kind: str = "i64", table: str = "%c") -> list[str]:
    """A word of the context, or of another table."""
    return [
        f"{name}.p = getelementptr i64, {GLOBAL} {table}, i64 {place}",
        f"{name} = load {kind}, {GLOBAL} {name}.p, !invariant.load !0",
    ]


def _opening(t: Type, words: int, arrays: int) -> list[str]:
    """``%own``: this thread's part of the scratch; ``%a<k>``: array ``k`` there; ``%i``: its state."""
    lines = [
        "entry:",
        *thread_index(t, "number"),
        *_word("%bytes", words),
        *_word("%units", words + 1),
        *_word("%places", words + 2, GLOBAL),
        "%own.warp = mul i64 %block, %bytes",
        f"%own.lane = mul i64 %thread, {t.bytes}",
        "%own.at = add i64 %own.warp, %own.lane",
        f"%own = getelementptr i8, {GLOBAL} %scratch, i64 %own.at",
    ]
    lines += _word("%length", 0, table="%axes")
    for k in range(arrays):
        lines += [
            *_word(f"%second{k}", 1 + k, table="%axes"),
            *_word(f"%offset{k}", words + PLAN_WORDS + 2 * k),
            *_word(f"%size{k}", words + PLAN_WORDS + 2 * k + 1),
            f"%a{k} = getelementptr i8, {GLOBAL} %own, i64 %offset{k}",
        ]
    lines += ["%any = icmp slt i64 %number, %count", "br i1 %any, label %state, label %end", "state:"]
    return [
        *lines,
        "%i = phi i64 [ %number, %entry ], [ %following, %done ]",
        "%i.second = udiv i64 %i, %length",
        "%i.passed = mul i64 %i.second, %length",
        "%i.first = sub i64 %i, %i.passed",
    ]


def _row(t: Type, k: int) -> list[str]:
    """``%r<k>``: where array ``k`` of this state is the caller's."""
    return [
        f"%at{k}.first = mul i64 %i.first, %row{k}",
        f"%at{k}.second = mul i64 %i.second, %second{k}",
        f"%at{k} = add i64 %at{k}.first, %at{k}.second",
        f"%r{k} = getelementptr {t.scalar}, {GLOBAL} %b{k}, i64 %at{k}",
    ]


def _inputs(t: Type, inputs: int) -> list[str]:
    """Copy inputs, and leave a state alone whose numbers are none."""
    lines, total = list[str](), t.number(0.0)
    for k in range(inputs):
        copied = f"{GLOBAL} %r{k}, i64 %step{k}, {GLOBAL} %a{k}, i64 {WARP}, i64 %size{k}"
        lines += [
            *_row(t, k),
            f"%read{k} = call {t.scalar} @copy({copied})",
            f"%total{k} = fadd {t.scalar} {total}, %read{k}",
        ]
        total = f"%total{k}"
    return [
        *lines,
        f"%nan = fcmp uno {t.scalar} {total}, {t.number(0.0)}",
        f"%none = call i1 @undirected({GLOBAL} %a0, {GLOBAL} %places, i64 %units)",
        "%bad = or i1 %nan, %none",
        "br i1 %bad, label %erase, label %compute",
    ]


def _iterations(t: Type, inputs: int, arrays: int, further: dict[str, str]) -> list[str]:
    """Further iterations of one state, until it has ended."""
    ends = "refine" in further
    settings, progress = (f"%a{inputs - 1}", str(WARP)), (f"%a{arrays - 1}", str(WARP))
    lines = ["br label %check", "check:", *unfinished(t, settings, progress, ends)]
    lines += ["br i1 %open, label %more, label %ended", "more:"]
    lines += ["br i1 %ending, label %refine, label %iterate" if ends else "br label %iterate"]
    for name, call in further.items():
        lines += [f"{name}:", call, "br label %check"]
    return [*lines, "ended:"]


def _outputs(t: Type, inputs: int, wanted: Sequence[bool]) -> list[str]:
    """Copy outputs, or NaN in their place."""
    outputs = [k for k, has in enumerate(wanted, inputs) if has]
    lines, total = list[str](), t.number(0.0)
    for k in outputs:
        copied = f"{GLOBAL} %a{k}, i64 {WARP}, {GLOBAL} %w{k}, i64 %step{k}, i64 %size{k}"
        lines += [
            *(line.replace(f"%r{k} ", f"%w{k} ").replace(f"%at{k}", f"%to{k}") for line in _row(t, k)),
            f"%written{k} = call {t.scalar} @copy({copied})",
            f"%total{k} = fadd {t.scalar} {total}, %written{k}",
        ]
        total = f"%total{k}"
    lines += [
        f"%lost = fcmp uno {t.scalar} {total}, {t.number(0.0)}",
        "br i1 %lost, label %report, label %done",
        "erase:",
    ]
    for k in outputs:
        lines += [*_row(t, k), f"call void @erase({GLOBAL} %r{k}, i64 %step{k}, i64 %size{k})"]
    return [*lines, "br label %report", "report:"]


def _loop(before: Sequence[str], inside: Sequence[str], count: str) -> str:
    """``inside`` for ``%j`` below a count, one label after ``before``."""
    lines = [
        "br label %head",
        "head:",
        "%j = phi i64 [ 0, %entry ], [ %j1, %body ]",
        *before,
        f"%more = icmp slt i64 %j, {count}",
        "br i1 %more, label %body, label %end",
        "body:",
        *inside,
        "%j1 = add i64 %j, 1",
        "br label %head",
        "end:",
    ]
    return "\n".join(["entry:", *lines])


def _copy(t: Type) -> str:
    """Copies numbers; zero, or NaN where one of them is not finite."""
    s = t.scalar
    inside = [
        "%from.j = mul i64 %j, %from.step",
        f"%from.p = getelementptr {s}, {GLOBAL} %from, i64 %from.j",
        "%to.j = mul i64 %j, %to.step",
        f"%to.p = getelementptr {s}, {GLOBAL} %to, i64 %to.j",
        f"%x = load {s}, {GLOBAL} %from.p",
        f"store {s} %x, {GLOBAL} %to.p",
        f"%sum1 = call {s} @llvm.fma.{t.suffix}({s} %x, {s} {t.number(0.0)}, {s} %sum)",
    ]
    before = [f"%sum = phi {s} [ {t.number(0.0)}, %entry ], [ %sum1, %body ]"]
    head = f"@copy({GLOBAL} %from, i64 %from.step, {GLOBAL} %to, i64 %to.step, i64 %size) #0"
    return f"define internal {s} {head} {{\n{_loop(before, inside, '%size')}\nret {s} %sum\n}}"


def _erase(t: Type) -> str:
    """NaN in all numbers of a row."""
    inside = [
        "%to.j = mul i64 %j, %to.step",
        f"%to.p = getelementptr {t.scalar}, {GLOBAL} %to, i64 %to.j",
        f"store {t.scalar} {t.number(math.nan)}, {GLOBAL} %to.p",
    ]
    head = f"@erase({GLOBAL} %to, i64 %to.step, i64 %size) #0"
    return f"define internal void {head} {{\n{_loop([], inside, '%size')}\nret void\n}}"


def _undirected(t: Type) -> str:
    """Whether ``q`` holds a quaternion or a direction of no length, or of one beyond all numbers."""
    s, zero = t.scalar, t.number(0.0)
    inside = [
        f"%places.j = getelementptr [2 x i64], {GLOBAL} %places, i64 %j",
        f"%start = load i64, {GLOBAL} %places.j",
        f"%numbers.p = getelementptr i64, {GLOBAL} %places.j, i64 1",
        f"%numbers = load i64, {GLOBAL} %numbers.p",
        f"%squared = call {s} @squared({GLOBAL} %q, i64 %start, i64 %numbers)",
        f"%short = fcmp ule {s} %squared, {t.number(LEAST_QUATERNION)}",
        f"%long = fcmp uge {s} %squared, {t.number(math.inf)}",
        "%no = or i1 %short, %long",
        "%found1 = or i1 %found, %no",
    ]
    before = ["%found = phi i1 [ false, %entry ], [ %found1, %body ]"]
    head = f"define internal i1 @undirected({GLOBAL} %q, {GLOBAL} %places, i64 %units) #0"
    each = [
        "%k = add i64 %start, %j",
        f"%at = mul i64 %k, {WARP}",
        f"%p = getelementptr {s}, {GLOBAL} %q, i64 %at",
        f"%x = load {s}, {GLOBAL} %p",
        f"%sum1 = call {s} @llvm.fma.{t.suffix}({s} %x, {s} %x, {s} %sum)",
    ]
    sums = [f"%sum = phi {s} [ {zero}, %entry ], [ %sum1, %body ]"]
    squared = f"define internal {s} @squared({GLOBAL} %q, i64 %start, i64 %numbers) #0"
    return (
        f"{squared} {{\n{_loop(sums, each, '%numbers')}\nret {s} %sum\n}}\n"
        f"{head} {{\n{_loop(before, inside, '%units')}\nret i1 %found\n}}"
    )
