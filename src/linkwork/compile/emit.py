"""A trace as LLVM IR: straight-line code for one state or one state per SIMD lane, and the loop over a batch around it.

The code is emitted depth first from the outputs, which keeps few values alive at a time, and is meant for code
generation without LLVM's middle end: `contract` lets multiplications and additions fuse, nothing else is rearranged.

A kernel has the signature that Numba gives to functions of integers, so that both go through one door::

    i32 kernel(ptr unused, ptr unused, i64 arrays, i64 strides, i64 count, i64 context)

``arrays`` is the address of pointers to row-major inputs and outputs, ``strides`` of the distances between their rows,
in numbers (0: one row for all states).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from linkwork.compile.sincos import LIMIT, sincos_double, sincos_single
from linkwork.compile.trace import (
    ADD,
    CONST,
    COS,
    DIV,
    FMA,
    INPUT,
    MUL,
    NEG,
    RINT,
    SELECT,
    SIN,
    SQRT,
    SUB,
    Trace,
    trace_function,
)

BINARY = {ADD: "fadd", SUB: "fsub", MUL: "fmul", DIV: "fdiv"}
SINCOS_WIDTH = 4
"""Angles that a scalar kernel takes at once."""


class Type:
    """A floating-point type and its vector of lanes, as LLVM spells them."""

    def __init__(self, dtype: str, lanes: int) -> None:
        self.dtype = dtype
        self.lanes = lanes
        self.scalar = "double" if dtype == "float64" else "float"
        self.bytes = 8 if dtype == "float64" else 4
        self.name = self.scalar if lanes == 1 else f"<{lanes} x {self.scalar}>"
        self.suffix = ("" if lanes == 1 else f"v{lanes}") + ("f64" if dtype == "float64" else "f32")

    def number(self, value: float) -> str:
        """A constant; single precision is written as the double it rounds to."""
        if self.dtype == "float32":
            value = struct.unpack("f", struct.pack("f", value))[0]
        text = f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
        if self.lanes == 1:
            return text
        return "<" + ", ".join([f"{self.scalar} {text}"] * self.lanes) + ">"


def straight_line(
    trace: Trace, t: Type, load: Callable[[int, int], list[str]], store: Callable[..., list[str]]
) -> list[str]:
    """The instructions of a trace; ``load`` and ``store`` say where numbers come from and go to.

    ``load(node, angle)`` gives the lines that define ``%v<node>`` for an INPUT, SIN or COS node,
    ``store(array, place, value)`` those that put an output away.
    """
    nodes, lines = trace.graph.nodes, list[str]()

    def value(i: int) -> str:
        node = nodes[i]
        return t.number(node[1]) if node[0] is CONST else f"%v{i}"

    for i in trace.needed():
        node = nodes[i]
        op = node[0]
        if op in BINARY:
            lines.append(f"%v{i} = {BINARY[op]} contract {t.name} {value(node[1])}, {value(node[2])}")
        elif op is INPUT or op is SIN or op is COS:
            lines += load(i, node[1])
        elif op is NEG:
            lines.append(f"%v{i} = fneg {t.name} {value(node[1])}")
        elif op is SQRT or op is RINT:
            lines.append(f"%v{i} = call {t.name} @llvm.{op}.{t.suffix}({t.name} {value(node[1])})")
        elif op is FMA:
            arguments = ", ".join(f"{t.name} {value(k)}" for k in node[1:])
            lines.append(f"%v{i} = call {t.name} @llvm.fma.{t.suffix}({arguments})")
        elif op is SELECT:
            mask = "i1" if t.lanes == 1 else f"<{t.lanes} x i1>"
            below, bound, then, otherwise = (value(k) for k in node[1:])
            lines.append(f"%m{i} = fcmp olt {t.name} {below}, {bound}")
            lines.append(f"%v{i} = select {mask} %m{i}, {t.name} {then}, {t.name} {otherwise}")
    for k, (_, symbols) in enumerate(trace.outputs):
        for j, symbol in enumerate(symbols):
            result = value(symbol.i)
            if symbol.minus:
                lines.append(f"%n{k}.{j} = fneg {t.name} {result}")
                result = f"%n{k}.{j}"
            lines += store(k, j, result)
    return lines


def declarations(t: Type) -> str:
    """The intrinsics that emitted code may call."""
    one = [f"declare {t.name} @llvm.{f}.{t.suffix}({t.name})" for f in ("sqrt", "rint", "fabs")]
    return "\n".join([*one, f"declare {t.name} @llvm.fma.{t.suffix}({t.name}, {t.name}, {t.name})"])


def sincos_function(t: Type) -> str:
    """Sines, then cosines, of as many angles as there are lanes, from memory to memory.

    (Called `sincos` it would be taken for the C library's, to which LLVM turns the slow branch.)"""
    trace = trace_function("sincos", sincos_double if t.dtype == "float64" else sincos_single, ["x"])
    size = t.bytes * t.lanes

    def store(k: int, j: int, value: str) -> list[str]:
        return [
            f"%p{k} = getelementptr i8, ptr %to, i64 {k * size}",
            f"store {t.name} {value}, ptr %p{k}, align {t.bytes}",
        ]

    lines = straight_line(trace, t, lambda i, _: [f"%v{i} = load {t.name}, ptr %from, align {t.bytes}"], store)
    mask = f"<{t.lanes} x i1>"
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
  br i1 %good, label %fast, label %slow
fast:
  {_indent(lines)}
  ret void
slow:
  %l = phi i64 [ 0, %0 ], [ %next, %slow ]
  %px = getelementptr {t.scalar}, ptr %from, i64 %l
  %x = load {t.scalar}, ptr %px, align {t.bytes}
  {_indent(widen)}
  {_indent(slow)}
  %next = add i64 %l, 1
  %done = icmp eq i64 %next, {t.lanes}
  br i1 %done, label %end, label %slow
end:
  ret void
}}
declare double @llvm.sin.f64(double)
declare double @llvm.cos.f64(double)
"""


def module(trace: Trace, name: str, dtype: str, lanes: int) -> str:
    """The LLVM IR of a kernel: ``name`` is its symbol."""
    t = Type(dtype, lanes)
    st = t if lanes > 1 else Type(dtype, SINCOS_WIDTH)
    nodes = trace.graph.nodes
    needed = trace.needed()
    angles = list(dict.fromkeys(nodes[i][1] for i in needed if nodes[i][0] in (SIN, COS)))
    given = [i for i in angles if nodes[i][0] is INPUT]
    slot = {i: k for k, i in enumerate(given)}
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
            source, offset = "%angles", angle_place(slot[first], 0 if node[0] is SIN else 1)
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

    cleared = _mostly_zero(trace)

    def store(k: int, j: int, value: str) -> list[str]:
        pointer = f"%o{k}.{j}"
        if k in cleared and _is_zero(trace, k, j):
            return []
        return [
            f"{pointer} = getelementptr i8, ptr %a{len(trace.inputs) + k}, i64 {j * size}",
            f"store {t.name} {value}, ptr {pointer}, align {t.bytes}",
        ]

    body = straight_line(trace, t, load, store)
    late = []
    if len(given) < len(angles):
        late = [
            f"%late = alloca [{st.lanes} x {t.scalar}], align 32",
            f"%late_results = alloca [{2 * st.lanes} x {t.scalar}], align 32",
        ]
        late += [f"store [{st.lanes} x {t.scalar}] zeroinitializer, ptr %late"]
    parameters = ", ".join(f"ptr noalias %a{k}" for k in range(arrays))
    parts = [declarations(t), "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"]
    if st is not t:
        parts.append(declarations(st))
    if angles:
        parts.append(sincos_function(st))
    parts.append(f"define internal void @body({parameters}, ptr noalias %angles) noinline {{")
    parts.append(f"  {_indent(late + body)}\n  ret void\n}}")
    gather = [(nodes[i][1], nodes[i][2]) for i in given]
    parts.append(_scalar_loop(trace, t, name, gather) if lanes == 1 else _lane_loop(trace, t, name, gather))
    return "\n".join(parts)


def _is_zero(trace: Trace, k: int, j: int) -> bool:
    """Whether number ``j`` of output ``k`` is zero in every state."""
    return trace.graph.value(trace.outputs[k][1][j].i) == 0.0


def _mostly_zero(trace: Trace) -> set[int]:
    """Outputs with so many zeros, as in mass matrices and Jacobians, that they are cleared as a whole beforehand."""
    counts = {k: sum(_is_zero(trace, k, j) for j in range(len(s))) for k, (_, s) in enumerate(trace.outputs)}
    return {k for k, zeros in counts.items() if zeros > 16}


def _indent(lines: Sequence[str]) -> str:
    return "\n  ".join(lines)


def _header(trace: Trace, t: Type, name: str, angle_numbers: int) -> list[str]:
    """The opening of a kernel: base pointers and row distances of all arrays."""
    lines = [
        f"define i32 @{name}(ptr %unused0, ptr %unused1, i64 %arrays, i64 %strides, i64 %count, i64 %context) {{",
        "entry:",
        f"  %angles = alloca [{max(angle_numbers, 1)} x {t.scalar}], align 64",
        "  %parrays = inttoptr i64 %arrays to ptr",
        "  %pstrides = inttoptr i64 %strides to ptr",
    ]
    for k in range(len(trace.inputs) + len(trace.outputs)):
        lines += [
            f"  %q{k} = getelementptr ptr, ptr %parrays, i64 {k}",
            f"  %b{k} = load ptr, ptr %q{k}",
            f"  %t{k} = getelementptr i64, ptr %pstrides, i64 {k}",
            f"  %s{k} = load i64, ptr %t{k}",
        ]
    return lines


def _clear(t: Type, pointer: str, size: int) -> str:
    """Zeros into ``size`` numbers of every lane."""
    return f"  call void @llvm.memset.p0.i64(ptr {pointer}, i8 0, i64 {size * t.lanes * t.bytes}, i1 false)"


def _scalar_loop(trace: Trace, t: Type, name: str, angles: list[tuple[int, int]]) -> str:
    """One state after another; the angles of a state go through the vector sincos together."""
    arrays = len(trace.inputs) + len(trace.outputs)
    groups = -(-len(angles) // SINCOS_WIDTH)
    lines = _header(trace, t, name, 2 * groups * SINCOS_WIDTH)
    lines += [f"  %few = alloca [{max(groups, 1) * SINCOS_WIDTH} x {t.scalar}], align 32"]
    for place in range(len(angles), groups * SINCOS_WIDTH):
        lines += [
            f"  %pad{place} = getelementptr {t.scalar}, ptr %few, i64 {place}",
            f"  store {t.scalar} 0.0, ptr %pad{place}",
        ]
    lines += [
        "  %any = icmp sgt i64 %count, 0",
        "  br i1 %any, label %state, label %end",
        "state:",
        "  %i = phi i64 [ 0, %entry ], [ %j, %state ]",
    ]
    for k in range(arrays):
        lines += [f"  %m{k} = mul i64 %i, %s{k}", f"  %r{k} = getelementptr {t.scalar}, ptr %b{k}, i64 %m{k}"]
    for place, (array, index) in enumerate(angles):
        lines += [
            f"  %f{place} = getelementptr {t.scalar}, ptr %r{array}, i64 {index}",
            f"  %x{place} = load {t.scalar}, ptr %f{place}",
            f"  %w{place} = getelementptr {t.scalar}, ptr %few, i64 {place}",
            f"  store {t.scalar} %x{place}, ptr %w{place}",
        ]
    for group in range(groups):
        lines += [
            f"  %g{group} = getelementptr {t.scalar}, ptr %few, i64 {group * SINCOS_WIDTH}",
            f"  %h{group} = getelementptr {t.scalar}, ptr %angles, i64 {2 * group * SINCOS_WIDTH}",
            f"  call void @linkwork_sincos(ptr %g{group}, ptr %h{group})",
        ]
    for k in sorted(_mostly_zero(trace)):
        lines.append(_clear(t, f"%r{len(trace.inputs) + k}", len(trace.outputs[k][1])))
    rows = ", ".join(f"ptr %r{k}" for k in range(arrays))
    lines += [
        f"  call void @body({rows}, ptr %angles)",
        "  %j = add i64 %i, 1",
        "  %more = icmp slt i64 %j, %count",
        "  br i1 %more, label %state, label %end",
        "end:",
        "  ret i32 0",
        "}",
    ]
    return "\n".join(lines)


def _lane_loop(trace: Trace, t: Type, name: str, angles: list[tuple[int, int]]) -> str:
    """As many states at a time as there are lanes: rows are gathered into lanes, results scattered back.

    Lanes beyond the end of the batch repeat its last state and are not written.
    """
    lanes = t.lanes
    sizes = [size for _, size in trace.inputs] + [len(symbols) for _, symbols in trace.outputs]
    lines = _header(trace, t, name, 2 * len(angles) * lanes)
    lines += [f"  %a{k} = alloca [{max(size, 1) * lanes} x {t.scalar}], align 64" for k, size in enumerate(sizes)]
    for k in sorted(_mostly_zero(trace)):
        lines.append(_clear(t, f"%a{len(trace.inputs) + k}", len(trace.outputs[k][1])))
    lines += [
        "  %last = sub i64 %count, 1",
        "  %any = icmp sgt i64 %count, 0",
        "  br i1 %any, label %block, label %end",
        "block:",
        "  %i = phi i64 [ 0, %entry ], [ %next, %scattered ]",
    ]
    for lane in range(lanes):
        lines += [
            f"  %lane{lane} = add i64 %i, {lane}",
            f"  %in{lane} = icmp slt i64 %lane{lane}, %last",
            f"  %row{lane} = select i1 %in{lane}, i64 %lane{lane}, i64 %last",
        ]
    previous = "block"
    for k, size in enumerate(sizes[: len(trace.inputs)]):
        if size:
            lines += _gather(t, k, size, previous)
            previous = f"gathered{k}"
    for place, (array, index) in enumerate(angles):
        lines += [
            f"  %f{place} = getelementptr {t.name}, ptr %a{array}, i64 {index}",
            f"  %h{place} = getelementptr {t.name}, ptr %angles, i64 {2 * place}",
            f"  call void @linkwork_sincos(ptr %f{place}, ptr %h{place})",
        ]
    rows = ", ".join(f"ptr %a{k}" for k in range(len(sizes)))
    lines += [f"  call void @body({rows}, ptr %angles)", "  %left = sub i64 %count, %i"]
    for k in range(len(trace.inputs), len(sizes)):
        if sizes[k]:
            lines += _scatter(t, k, sizes[k])
    lines += [
        "  br label %scattered",
        "scattered:",
        f"  %next = add i64 %i, {lanes}",
        "  %more = icmp slt i64 %next, %count",
        "  br i1 %more, label %block, label %end",
        "end:",
        "  ret i32 0",
        "}",
    ]
    return "\n".join(lines)


def _transposed(t: Type, prefix: str, rows: list[str]) -> tuple[list[str], list[str]]:
    """Instructions that turn one vector per row into one vector per column, and the columns' names.

    Each stage exchanges one bit of the row number with the same bit of the column number.
    """
    lines, lanes, step = list[str](), t.lanes, 1
    while step < lanes:
        low = [j + lanes - step if j & step else j for j in range(lanes)]
        high = [j + lanes if j & step else j + step for j in range(lanes)]
        fresh = list(rows)
        for i in range(lanes):
            if not i & step:
                for name, mask, place in (("l", low, i), ("h", high, i + step)):
                    picks = ", ".join(f"i32 {k}" for k in mask)
                    fresh[place] = f"%{prefix}.{name}{step}.{i}"
                    lines.append(
                        f"  {fresh[place]} = shufflevector {t.name} {rows[i]}, {t.name} {rows[i + step]}, "
                        f"<{lanes} x i32> <{picks}>"
                    )
        rows, step = fresh, 2 * step
    return lines, rows


def _gather(t: Type, k: int, size: int, previous: str) -> list[str]:
    """Array ``k`` of each state into lanes: square blocks are transposed, what is left goes number by number."""
    lines, lanes = list[str](), t.lanes
    for lane in range(lanes):
        lines += [
            f"  %gm{k}.{lane} = mul i64 %row{lane}, %s{k}",
            f"  %gr{k}.{lane} = getelementptr {t.scalar}, ptr %b{k}, i64 %gm{k}.{lane}",
        ]
    whole = size - size % lanes
    if whole:
        lines += [
            f"  br label %gblock{k}",
            f"gblock{k}:",
            f"  %gi{k} = phi i64 [ 0, %{previous} ], [ %gin{k}, %gblock{k} ]",
        ]
        for lane in range(lanes):
            lines += [
                f"  %gq{k}.{lane} = getelementptr {t.scalar}, ptr %gr{k}.{lane}, i64 %gi{k}",
                f"  %gl{k}.{lane} = load {t.name}, ptr %gq{k}.{lane}, align {t.bytes}",
            ]
        turned, columns = _transposed(t, f"gt{k}", [f"%gl{k}.{lane}" for lane in range(lanes)])
        lines += [*turned, f"  %gto{k} = getelementptr {t.name}, ptr %a{k}, i64 %gi{k}"]
        for j, column in enumerate(columns):
            lines += [
                f"  %gs{k}.{j} = getelementptr {t.name}, ptr %gto{k}, i64 {j}",
                f"  store {t.name} {column}, ptr %gs{k}.{j}",
            ]
        lines += [
            f"  %gin{k} = add i64 %gi{k}, {lanes}",
            f"  %gc{k} = icmp slt i64 %gin{k}, {whole}",
            f"  br i1 %gc{k}, label %gblock{k}, label %gtail{k}",
            f"gtail{k}:",
        ]
    for j in range(whole, size):
        packed = "poison"
        for lane in range(lanes):
            name = f"{k}.{j}.{lane}"
            lines += [
                f"  %gp{name} = getelementptr {t.scalar}, ptr %gr{k}.{lane}, i64 {j}",
                f"  %gx{name} = load {t.scalar}, ptr %gp{name}",
                f"  %gv{name} = insertelement {t.name} {packed}, {t.scalar} %gx{name}, i32 {lane}",
            ]
            packed = f"%gv{name}"
        lines += [
            f"  %gd{k}.{j} = getelementptr {t.name}, ptr %a{k}, i64 {j}",
            f"  store {t.name} {packed}, ptr %gd{k}.{j}",
        ]
    return [*lines, f"  br label %gathered{k}", f"gathered{k}:"]


def _scatter(t: Type, k: int, size: int) -> list[str]:
    """Lanes of output ``k`` into rows: transposed if every lane is a state, else only the lanes that are."""
    lanes, whole = t.lanes, size - size % t.lanes
    lines = list[str]()
    for lane in range(lanes):
        lines += [
            f"  %sm{k}.{lane} = mul i64 %row{lane}, %s{k}",
            f"  %sr{k}.{lane} = getelementptr {t.scalar}, ptr %b{k}, i64 %sm{k}.{lane}",
        ]
    lines += [
        f"  %sfull{k} = icmp sge i64 %left, {lanes}",
        f"  br i1 %sfull{k}, label %sall{k}, label %slane{k}.0",
        f"sall{k}:",
    ]
    if whole:
        lines += [
            f"  br label %sblock{k}",
            f"sblock{k}:",
            f"  %si{k} = phi i64 [ 0, %sall{k} ], [ %sin{k}, %sblock{k} ]",
        ]
        lines += [f"  %sfrom{k} = getelementptr {t.name}, ptr %a{k}, i64 %si{k}"]
        for j in range(lanes):
            lines += [
                f"  %sc{k}.{j} = getelementptr {t.name}, ptr %sfrom{k}, i64 {j}",
                f"  %sl{k}.{j} = load {t.name}, ptr %sc{k}.{j}",
            ]
        turned, rows = _transposed(t, f"st{k}", [f"%sl{k}.{j}" for j in range(lanes)])
        lines += turned
        for lane, row in enumerate(rows):
            lines += [
                f"  %sp{k}.{lane} = getelementptr {t.scalar}, ptr %sr{k}.{lane}, i64 %si{k}",
                f"  store {t.name} {row}, ptr %sp{k}.{lane}, align {t.bytes}",
            ]
        lines += [
            f"  %sin{k} = add i64 %si{k}, {lanes}",
            f"  %sg{k} = icmp slt i64 %sin{k}, {whole}",
            f"  br i1 %sg{k}, label %sblock{k}, label %stail{k}",
            f"stail{k}:",
        ]
    for j in range(whole, size):
        for lane in range(lanes):
            lines += _copied(t, k, f"{k}.{j}.{lane}", lane, str(j))
    lines += [f"  br label %scattered{k}"]
    for lane in range(lanes):
        after = f"slane{k}.{lane + 1}" if lane < lanes - 1 else f"scattered{k}"
        lines += [
            f"slane{k}.{lane}:",
            f"  %sv{k}.{lane} = icmp sgt i64 %left, {lane}",
            f"  br i1 %sv{k}.{lane}, label %swrite{k}.{lane}, label %scattered{k}",
            f"swrite{k}.{lane}:",
            f"  %sj{k}.{lane} = phi i64 [ 0, %slane{k}.{lane} ], [ %sn{k}.{lane}, %swrite{k}.{lane} ]",
            *_copied(t, k, f"{k}.w.{lane}", lane, f"%sj{k}.{lane}"),
            f"  %sn{k}.{lane} = add i64 %sj{k}.{lane}, 1",
            f"  %se{k}.{lane} = icmp slt i64 %sn{k}.{lane}, {size}",
            f"  br i1 %se{k}.{lane}, label %swrite{k}.{lane}, label %{after}",
        ]
    return [*lines, f"scattered{k}:"]


def _copied(t: Type, k: int, name: str, lane: int, j: str) -> list[str]:
    """One number of output ``k`` from a lane into its row."""
    return [
        f"  %sa{name} = getelementptr {t.name}, ptr %a{k}, i64 {j}",
        f"  %sb{name} = getelementptr {t.scalar}, ptr %sa{name}, i64 {lane}",
        f"  %sx{name} = load {t.scalar}, ptr %sb{name}",
        f"  %sd{name} = getelementptr {t.scalar}, ptr %sr{k}.{lane}, i64 {j}",
        f"  store {t.scalar} %sx{name}, ptr %sd{name}",
    ]
