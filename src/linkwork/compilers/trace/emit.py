# SPDX-License-Identifier: BSD-3-Clause
"""A trace as LLVM IR: straight-line code for one state or one state per SIMD lane; `batch` is the loop around it.

The code is emitted depth first from the outputs, which keeps few values alive at a time, and is meant for code
generation without LLVM's middle end: `contract` lets multiplications and additions fuse, nothing else is rearranged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from linkwork.compilers.entry import batch, uneven
from linkwork.compilers.lanes import FRAME, Type
from linkwork.compilers.language.sincos import LIMIT, sincos_double, sincos_single
from linkwork.compilers.trace import pack_code
from linkwork.compilers.trace.branches import Branch, scheduled
from linkwork.compilers.trace.packing import Packing
from linkwork.compilers.trace.tracing import Trace, is_zero, mostly_zero, trace_function
from linkwork.model.expressions import ADD, CONST, COS, DIV, FMA, INPUT, MUL, NEG, RINT, SELECT, SIN, SQRT, SUB

SINCOS_WIDTH = 4
"""Angles that a scalar program takes at once."""

BINARY = {ADD: "fadd", SUB: "fsub", MUL: "fmul", DIV: "fdiv"}


def straight_line(
    trace: Trace,
    t: Type,
    load: Callable[[int, int], list[str]],
    store: Callable[..., list[str]],
    at_once: bool = False,
) -> list[str]:
    """The instructions of a trace; ``load`` and ``store`` say where numbers come from and go to.

    ``load(node, angle)`` gives the lines that define ``%v<node>`` for an INPUT, SIN or COS node,
    ``store(array, place, value)`` those that put an output away: ``at_once`` where no input is an output as well, which
    keeps fewer numbers alive.
    """
    nodes, lines, block = trace.graph.nodes, list[str](), "entry"
    mask = "i1" if t.lanes == 1 else f"<{t.lanes} x i1>"
    waiting: dict[int, list[tuple[int, int]]] = {}
    for k, symbols in enumerate(trace.results):
        for j, symbol in enumerate(symbols):
            waiting.setdefault(symbol.i, []).append((k, j))

    def value(i: int) -> str:
        node = nodes[i]
        return t.number(node[1]) if node[0] is CONST else f"%v{i}"

    def instructions(i: int) -> list[str]:
        node = nodes[i]
        op = node[0]
        if op in BINARY:
            return [f"%v{i} = {BINARY[op]} contract {t.name} {value(node[1])}, {value(node[2])}"]
        if op is INPUT or op is SIN or op is COS:
            return load(i, node[1])
        if op is NEG:
            return [f"%v{i} = fneg {t.name} {value(node[1])}"]
        if op is SQRT or op is RINT:
            return [f"%v{i} = call {t.name} @llvm.{op}.{t.suffix}({t.name} {value(node[1])})"]
        if op is FMA:
            arguments = ", ".join(f"{t.name} {value(k)}" for k in node[1:])
            return [f"%v{i} = call {t.name} @llvm.fma.{t.suffix}({arguments})"]
        if op is SELECT:
            below, bound, then, otherwise = (value(k) for k in node[1:])
            return [
                f"%m{i} = fcmp olt {t.name} {below}, {bound}",
                f"%v{i} = select {mask} %m{i}, {t.name} {then}, {t.name} {otherwise}",
            ]
        return []

    def branch(item: Branch, before: str) -> list[str]:
        """The body behind a test of all lanes; selects are chosen there, else they have their other values."""
        name = item.selects[0]
        test = [f"%c{name} = fcmp olt {t.name} {value(item.below)}, {value(item.bound)}"]
        if t.lanes > 1:
            test += [
                f"%b{name} = bitcast {mask} %c{name} to i{t.lanes}",
                f"%any{name} = icmp ne i{t.lanes} %b{name}, 0",
            ]
        taken = f"%any{name}" if t.lanes > 1 else f"%c{name}"
        test += [f"br i1 {taken}, label %then{name}, label %after{name}", f"then{name}:"]
        test += [line for i in item.body for line in instructions(i)]
        after = [f"br label %after{name}", f"after{name}:"]
        for i in item.selects:
            then, otherwise = value(nodes[i][3]), value(nodes[i][4])
            test.append(f"%s{i} = select {mask} %c{name}, {t.name} {then}, {t.name} {otherwise}")
            after.append(f"%v{i} = phi {t.name} [ %s{i}, %then{name} ], [ {otherwise}, %{before} ]")
        return test + after

    def put_away(k: int, j: int) -> list[str]:
        symbol = trace.results[k][j]
        if not symbol.minus:
            return store(k, j, value(symbol.i))
        return [f"%n{k}.{j} = fneg {t.name} {value(symbol.i)}", *store(k, j, f"%n{k}.{j}")]

    for item in scheduled(trace):
        if isinstance(item, Branch):
            lines += branch(item, block)
            block = f"after{item.selects[0]}"
        else:
            lines += instructions(item)
        if at_once:
            for i in item.selects if isinstance(item, Branch) else (item,):
                for k, j in waiting.pop(i, ()) if nodes[i][0] is not CONST else ():
                    lines += put_away(k, j)
    for places in waiting.values():
        for k, j in places:
            lines += put_away(k, j)
    return lines


def declarations(t: Type) -> str:
    """The intrinsics that emitted code may call."""
    one = [f"declare {t.name} @llvm.{f}.{t.suffix}({t.name})" for f in ("sqrt", "rint", "fabs")]
    return "\n".join([*one, f"declare {t.name} @llvm.fma.{t.suffix}({t.name}, {t.name}, {t.name})"])


def sincos_function(t: Type) -> str:
    """Sines, then cosines, of as many angles as there are lanes, from memory to memory: polynomials, and the C library
    for those beyond `LIMIT`.

    (Called `sincos` it would be taken for the C library's, to which LLVM turns the slow branch.)
    """
    trace = trace_function("sincos", sincos_double if t.dtype == "float64" else sincos_single, ["x"])
    size = t.bytes * t.lanes

    def store(k: int, j: int, value: str) -> list[str]:
        return [
            f"%p{k} = getelementptr i8, ptr %to, i64 {k * size}",
            f"store {t.name} {value}, ptr %p{k}, align {t.bytes}",
        ]

    lines = straight_line(trace, t, lambda i, _: [f"%v{i} = load {t.name}, ptr %from, align {t.bytes}"], store)
    one, mask = Type(t.dtype, 1), f"<{t.lanes} x i1>"
    convert = t.dtype == "float32"
    widen = ["%d = fpext float %x to double"] if convert else ["%d = fadd double %x, 0.0"]
    slow = []
    for k, function in enumerate(("sin", "cos")):
        narrow = f"%s{k} = fptrunc double %r{k} to float" if convert else f"%s{k} = fadd double %r{k}, 0.0"
        slow += [
            f"%r{k} = call double @llvm.{function}.f64(double %d)",
            narrow,
            f"%a{k} = getelementptr {t.scalar}, ptr %to, i64 {k * t.lanes}",
            f"%b{k} = getelementptr {t.scalar}, ptr %a{k}, i64 %l",
            f"store {t.scalar} %s{k}, ptr %b{k}, align {t.bytes}",
        ]
    return f"""
define internal void @linkwork_sincos(ptr %from, ptr %to) noinline {{
  %all = load {t.name}, ptr %from, align {t.bytes}
  %size = call {t.name} @llvm.fabs.{t.suffix}({t.name} %all)
  %fits = fcmp ole {t.name} %size, {t.number(LIMIT)}
  %bits = bitcast {mask} %fits to i{t.lanes}
  %good = icmp eq i{t.lanes} %bits, -1
  {_indent(lines)}
  br i1 %good, label %end, label %slow
slow:
  %l = phi i64 [ 0, %0 ], [ %next, %after ]
  %px = getelementptr {t.scalar}, ptr %from, i64 %l
  %x = load {t.scalar}, ptr %px, align {t.bytes}
  %xsize = call {t.scalar} @llvm.fabs.{one.suffix}({t.scalar} %x)
  %beyond = fcmp ugt {t.scalar} %xsize, {one.number(LIMIT)}
  br i1 %beyond, label %far, label %after
far:
  {_indent(widen)}
  {_indent(slow)}
  br label %after
after:
  %next = add i64 %l, 1
  %done = icmp eq i64 %next, {t.lanes}
  br i1 %done, label %end, label %slow
end:
  ret void
}}
declare double @llvm.sin.f64(double)
declare double @llvm.cos.f64(double)
"""


def angles_of(trace: Trace) -> tuple[list[int], list[int]]:
    """Nodes of which sine or cosine is needed, and those of them that are inputs."""
    nodes = trace.graph.nodes
    angles = list(dict.fromkeys(nodes[i][1] for i in trace.needed() if nodes[i][0] in (SIN, COS)))
    return angles, [i for i in angles if nodes[i][0] is INPUT]


def module(trace: Trace, dtype: str, lanes: int, packing: Packing | None = None) -> str:
    """The LLVM IR of a program: straight-line code, and the loop around it (`batch`); in two stages where its matrices
    are packed."""
    t = Type(dtype, lanes)
    if packing is not None:
        packing = pack_code.factors_apart(packing) if lanes == 1 else packing
        trace = packing.first
    st = t if lanes > 1 else Type(dtype, SINCOS_WIDTH)
    angles, angles_in = angles_of(trace)
    parts = [declarations(t), "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"]
    if st is not t:
        parts.append(declarations(st))
    if angles or any(angles_of(further)[0] for further in trace.further.values()):
        if lanes > 1:
            parts.append(declarations(Type(dtype, 1)))
        parts.append(sincos_function(st))
    elsewhere = set() if packing is None else {*packing.arrays, len(trace.outputs)}  # gaps of `carry` are not stored
    parts.append(function("body", trace, t, st, mostly_zero(trace) | elsewhere))
    if packing is not None:
        parts += pack_code.functions(packing, t)
    for name, further in trace.further.items():
        parts.append(function(name, further, t, st, set(), own_angles=True))
    places = [(trace.graph.nodes[i][1], trace.graph.nodes[i][2]) for i in angles_in]
    loop = uneven.function if trace.uneven and lanes > 1 else batch.function
    return "\n".join([*parts, loop(_body(trace, t, places, packing), t)])


def _body(trace: Trace, t: Type, angles: list[tuple[int, int]], packing: Packing | None) -> batch.Body:
    """The call in the loop: sines and cosines of all angle inputs, then the straight line."""
    sizes = [size for _, size in trace.inputs] + [len(symbols) for _, symbols in trace.outputs]
    inputs = len(trace.inputs)
    packed = frozenset[int]() if packing is None else packing.arrays
    groups = -(-len(angles) // SINCOS_WIDTH)
    numbers = 2 * len(angles) * t.lanes if t.lanes > 1 else 2 * groups * SINCOS_WIDTH

    def memory(name: str, count: int) -> str:
        return f"{name} = alloca [{max(count, 1)} x {t.scalar}], align {max(64, t.bytes * t.lanes)}"

    carried = -(-len(trace.carry) // t.lanes) * t.lanes
    prologue = [memory("%angles", numbers), memory("%carry", carried * t.lanes)]
    buffers, spares = list[str](), list[str]()
    if t.lanes > 1:
        buffers = [f"%buffer{k}" for k in range(len(sizes))]
        spares = [f"%spare{k}" for k in range(inputs, len(sizes))] if trace.iterate is not None else []
        prologue += [
            memory(name, 0 if k - inputs in packed else size * t.lanes)
            for k, (name, size) in enumerate(zip(buffers, sizes, strict=True))
        ]
        if packed:
            prologue.append(memory("%scratch", carried * t.lanes))
        prologue += [memory(name, size * t.lanes) for name, size in zip(spares, sizes[inputs:], strict=False)]
    else:
        prologue += [
            memory("%few", groups * SINCOS_WIDTH),
            f"store [{max(groups, 1) * SINCOS_WIDTH} x {t.scalar}] zeroinitializer, ptr %few",
        ]

    def call(rows: Sequence[str]) -> list[str]:
        lines = _angles_in_lanes(t, angles, rows) if t.lanes > 1 else _angles_by_fours(t, angles, rows)
        for k in sorted(mostly_zero(trace) - packed):
            size = sizes[inputs + k] * t.lanes * t.bytes
            lines.append(f"call void @llvm.memset.p0.i64(ptr {rows[inputs + k]}, i8 0, i64 {size}, i1 false)")
        lines.append(called("body", rows))
        if packing is not None and t.lanes == 1:
            lines += [second(line, rows, "%carry") for line in range(pack_code.count(packing))]
        return lines

    def second(line: int, rows: Sequence[str], carry: str) -> str:
        pointers = ", ".join(f"ptr {rows[inputs + k]}" for k in sorted(packed))
        return f"call void @{pack_code.STAGE}{line}({pointers}, ptr {carry})"

    def called(name: str, rows: Sequence[str]) -> str:
        return f"call void @{name}({', '.join(f'ptr {row}' for row in rows)}, ptr %carry, ptr %angles)"

    iterate = None if trace.iterate is None else lambda rows: [called("iterate", rows)]
    refine = None if trace.refine is None else lambda rows: [called("refine", rows)]
    carry = ("%carry", len(trace.carry))
    named = [str(size) for size in sizes]
    stage = None
    if packing is not None:
        stage = batch.Stage(frozenset(inputs + k for k in packed), carried, pack_code.count(packing), second)
    return batch.Body(prologue, named, inputs, call, iterate, buffers, spares, refine, carry, stage)


def _angles_in_lanes(t: Type, angles: list[tuple[int, int]], rows: Sequence[str]) -> list[str]:
    lines = []
    for place, (array, index) in enumerate(angles):
        lines += [
            f"%f{place} = getelementptr {t.name}, ptr {rows[array]}, i64 {index}",
            f"%h{place} = getelementptr {t.name}, ptr %angles, i64 {2 * place}",
            f"call void @linkwork_sincos(ptr %f{place}, ptr %h{place})",
        ]
    return lines


def _angles_by_fours(t: Type, angles: list[tuple[int, int]], rows: Sequence[str]) -> list[str]:
    lines = []
    for place, (array, index) in enumerate(angles):
        lines += [
            f"%f{place} = getelementptr {t.scalar}, ptr {rows[array]}, i64 {index}",
            f"%x{place} = load {t.scalar}, ptr %f{place}",
            f"%w{place} = getelementptr {t.scalar}, ptr %few, i64 {place}",
            f"store {t.scalar} %x{place}, ptr %w{place}",
        ]
    for group in range(-(-len(angles) // SINCOS_WIDTH)):
        lines += [
            f"%g{group} = getelementptr {t.scalar}, ptr %few, i64 {group * SINCOS_WIDTH}",
            f"%h{group} = getelementptr {t.scalar}, ptr %angles, i64 {2 * group * SINCOS_WIDTH}",
            f"call void @linkwork_sincos(ptr %g{group}, ptr %h{group})",
        ]
    return lines


def function(name: str, trace: Trace, t: Type, st: Type, cleared: set[int], own_angles: bool = False) -> str:
    """A trace as a function of pointers to all arrays, to sines and cosines, and to what texts carry between them.

    Outputs that were ``cleared`` beforehand are not given their zeros. With ``own_angles`` sines and cosines of what
    comes in are computed here.
    """
    nodes, lanes = trace.graph.nodes, t.lanes
    angles, angles_in = angles_of(trace)
    slot = {i: k for k, i in enumerate(angles_in)}
    arrays = len(trace.inputs) + len(trace.outputs)
    size = t.bytes * lanes

    def angle_place(k: int, which: int) -> int:
        """Where the pre-computed sine (0) or cosine (1) of angle k stands, in bytes."""
        if lanes > 1:
            return (2 * k + which) * size
        group, place = divmod(k, SINCOS_WIDTH)
        return ((2 * group + which) * SINCOS_WIDTH + place) * t.bytes

    def load(i: int, first: int) -> list[str]:
        node = nodes[i]
        if node[0] is INPUT:
            source, offset = f"%a{node[1]}", node[2] * size
        elif first in slot:
            source, offset = "%own" if own_angles else "%angles", angle_place(slot[first], 0 if node[0] is SIN else 1)
        else:
            return late_angle(i, first, 0 if node[0] is SIN else 1)
        return [
            f"%p{i} = getelementptr i8, ptr {source}, i64 {offset}",
            f"%v{i} = load {t.name}, ptr %p{i}, align {t.bytes}",
        ]

    def late_angle(i: int, angle: int, which: int) -> list[str]:
        """An angle that the program computes: through memory, by a call."""
        return [
            f"store {t.name} %v{angle}, ptr %late, align {t.bytes}",
            "call void @linkwork_sincos(ptr %late, ptr %late_results)",
            f"%p{i} = getelementptr i8, ptr %late_results, i64 {which * st.bytes * st.lanes}",
            f"%v{i} = load {t.name}, ptr %p{i}, align {t.bytes}",
        ]

    def store(k: int, j: int, value: str) -> list[str]:
        pointer = f"%o{k}.{j}"
        if k in cleared and is_zero(trace, k, j):
            return []
        return [
            f"{pointer} = getelementptr i8, ptr %a{len(trace.inputs) + k}, i64 {j * size}",
            f"store {t.name} {value}, ptr {pointer}, align {t.bytes}",
        ]

    def first_angles() -> list[str]:
        """Sines and cosines of angles that come in: lanes are taken as they are, single numbers by fours."""
        groups = -(-len(angles_in) // SINCOS_WIDTH)
        numbers = 2 * len(angles_in) * lanes if lanes > 1 else 2 * groups * SINCOS_WIDTH
        lines = [f"%own = alloca [{numbers} x {t.scalar}], align 64"]
        if lanes == 1:
            lines += [f"%few = alloca [{groups * SINCOS_WIDTH} x {t.scalar}], align 32"]
            lines += [f"store [{groups * SINCOS_WIDTH} x {t.scalar}] zeroinitializer, ptr %few"]
        for k, i in enumerate(angles_in):
            lines.append(f"%f{k} = getelementptr i8, ptr %a{nodes[i][1]}, i64 {nodes[i][2] * size}")
            if lanes > 1:
                lines.append(f"%g{k} = getelementptr i8, ptr %own, i64 {angle_place(k, 0)}")
                lines.append(f"call void @linkwork_sincos(ptr %f{k}, ptr %g{k})")
            else:
                lines.append(f"%x{k} = load {t.scalar}, ptr %f{k}")
                lines.append(f"%w{k} = getelementptr {t.scalar}, ptr %few, i64 {k}")
                lines.append(f"store {t.scalar} %x{k}, ptr %w{k}")
        for group in range(groups if lanes == 1 else 0):
            lines.append(f"%g{group} = getelementptr {t.scalar}, ptr %few, i64 {group * SINCOS_WIDTH}")
            lines.append(f"%h{group} = getelementptr {t.scalar}, ptr %own, i64 {2 * group * SINCOS_WIDTH}")
            lines.append(f"call void @linkwork_sincos(ptr %g{group}, ptr %h{group})")
        return lines

    body = straight_line(trace, t, load, store, at_once=not own_angles)
    late = first_angles() if own_angles and angles_in else []
    if len(angles_in) < len(angles):
        late += [
            f"%late = alloca [{st.lanes} x {t.scalar}], align 32",
            f"%late_results = alloca [{2 * st.lanes} x {t.scalar}], align 32",
        ]
        late += [f"store [{st.lanes} x {t.scalar}] zeroinitializer, ptr %late"]
    parameters = ", ".join(f"ptr noalias %a{k}" for k in range(arrays + 1))
    head = f"define internal void @{name}({parameters}, ptr noalias %angles) noinline {FRAME} {{"
    return f"{head}\nentry:\n  {_indent(late + body)}\n  ret void\n}}"


def _indent(lines: Sequence[str]) -> str:
    return "\n  ".join(lines)
