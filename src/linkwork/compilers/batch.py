# SPDX-License-Identifier: BSD-3-Clause
"""The loop around a kernel, as LLVM IR: over the states of a batch, one at a time or as many as there are lanes.

Native code and straight-line programs are called alike::

    void linkwork_kernel(ptr arrays, ptr strides, i64 count, ptr context)

``arrays`` are addresses of row-major inputs and outputs, ``strides`` the distances between their rows in numbers (0:
one row for all states). With lanes, square blocks of rows are transposed into vectors and back; lanes beyond the end of
the batch repeat its last state and are not written.

A kernel that iterates does so while ``progress[0] > settings[0] and progress[1] < settings[1]``, each state by itself:
lanes that have ended keep what they have while others go on, so that a result does not depend on its neighbors. Where
it has a text to end with (`Algorithm.refinement`), that one is run in the last iteration that is allowed, and where
``progress[0] ** 2 <= settings[0] or progress[0] <= settings[2]``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from linkwork.compilers.lanes import Type

SYMBOL = "linkwork_kernel"


@dataclass(frozen=True)
class Body:
    """What a loop calls, and where it finds things. Operands are names or numbers of LLVM IR."""

    prologue: list[str]
    """Instructions before the loop: they define the names below."""
    sizes: list[str]
    """Numbers in each array of one state, inputs then outputs."""
    inputs: int
    call: Callable[[Sequence[str]], list[str]]
    """Instructions for one state, or one state a lane, given the addresses of its arrays."""
    iterate: Callable[[Sequence[str]], list[str]] | None = None
    """The same for a further iteration."""
    buffers: Sequence[str] = ()
    """With lanes, memory for each array of a block of states."""
    spares: Sequence[str] = ()
    """With lanes, memory for each output of a kernel that iterates."""
    refine: Callable[[Sequence[str]], list[str]] | None = None
    """The same as ``iterate``, where iterations are about to end."""

    def further(self, rows: Sequence[str]) -> dict[str, list[str]]:
        """Instructions of further iterations by name."""
        texts = {"iterate": self.iterate, "refine": self.refine}
        return {name: text(rows) for name, text in texts.items() if text is not None}


def function(body: Body, t: Type) -> str:
    """The loop, and with lanes the functions that it calls."""
    if t.lanes == 1:
        return _over_states(body, t)
    return "\n".join([_gather(t), _spread(t), _scatter(t), _keep(t), _over_blocks(body, t)])


def _header(body: Body, t: Type) -> list[str]:
    """The opening: base addresses and row distances of all arrays."""
    lines = [f"define void @{SYMBOL}(ptr %arrays, ptr %strides, i64 %count, ptr noalias %c) {{", "entry:"]
    for k in range(len(body.sizes)):
        lines += [
            f"  %pb{k} = getelementptr ptr, ptr %arrays, i64 {k}",
            f"  %base{k} = load ptr, ptr %pb{k}",
            f"  %ps{k} = getelementptr i64, ptr %strides, i64 {k}",
            f"  %stride{k} = load i64, ptr %ps{k}",
        ]
    return [*lines, *(f"  {line}" for line in body.prologue), "  %any = icmp sgt i64 %count, 0"]


def _over_states(body: Body, t: Type) -> str:
    """One state after another."""
    rows = [f"%row{k}" for k in range(len(body.sizes))]
    lines = [
        *_header(body, t),
        "  br i1 %any, label %state, label %end",
        "state:",
        "  %i = phi i64 [ 0, %entry ], [ %next, %done ]",
    ]
    for k, row in enumerate(rows):
        lines += [f"  %at{k} = mul i64 %i, %stride{k}", f"  {row} = getelementptr {t.scalar}, ptr %base{k}, i64 %at{k}"]
    lines += [f"  {line}" for line in body.call(rows)]
    if body.iterate is not None:
        lines += [
            "  br label %check",
            "check:",
            *_unfinished(t, rows[body.inputs - 1], rows[-1], body.refine is not None),
            "  br i1 %open, label %go, label %done",
            "go:",
            f"  {'br i1 %ending, label %refine, label %iterate' if body.refine is not None else 'br label %iterate'}",
        ]
        for name, text in body.further(rows).items():
            lines += [f"{name}:", *(f"  {line}" for line in text), "  br label %check"]
    else:
        lines += ["  br label %done"]
    return "\n".join([*lines, "done:", *_next_or_end("state", 1)])


def _over_blocks(body: Body, t: Type) -> str:
    """As many states at a time as there are lanes."""
    rows = list(body.buffers)
    lines = [*_header(body, t), "  br i1 %any, label %shared, label %end", "shared:"]
    for k in range(body.inputs):
        lines += [f"  call void @spread(ptr %base{k}, i64 %stride{k}, i64 {body.sizes[k]}, ptr {rows[k]})"]
    lines += ["  br label %block", "block:", "  %i = phi i64 [ 0, %shared ], [ %next, %done ]"]
    for k in range(body.inputs):
        lines += [
            f"  call void @gather(ptr %base{k}, i64 %stride{k}, i64 %i, i64 %count, i64 {body.sizes[k]}, ptr {rows[k]})"
        ]
    lines += [f"  {line}" for line in body.call(rows)]
    if body.iterate is not None:
        outputs = list(zip(rows[body.inputs :], body.sizes[body.inputs :], body.spares, strict=True))
        lines += [
            "  br label %check",
            "check:",
            *_unfinished(t, rows[body.inputs - 1], rows[-1], body.refine is not None),
            *_counted(t, "open"),
            "  br i1 %none.open, label %finished, label %go",
            "go:",
        ]
        masks = {"iterate": "open"} if body.refine is None else {"iterate": "going", "refine": "ending"}
        texts = body.further(rows)
        labels = [*texts, "check"]
        lines += [f"  br label %{labels[0]}"]
        for name, then in zip(texts, labels[1:], strict=True):
            lines += _masked(t, name, masks[name], texts[name], then, outputs)
        lines += ["finished:"]
    for k in range(body.inputs, len(rows)):
        row = f"ptr %base{k}, i64 %stride{k}, i64 %i, i64 %count, i64 {body.sizes[k]}"
        lines += [f"  call void @scatter(ptr {rows[k]}, {row})"]
    return "\n".join([*lines, "  br label %done", "done:", *_next_or_end("block", t.lanes)])


def _next_or_end(block: str, step: int) -> list[str]:
    return [
        f"  %next = add i64 %i, {step}",
        "  %more = icmp slt i64 %next, %count",
        f"  br i1 %more, label %{block}, label %end",
        "end:",
        "  ret void",
        "}",
    ]


def _counted(t: Type, mask: str) -> list[str]:
    """``%all.mask`` and ``%none.mask``: whether all lanes are in a mask, or none."""
    return [
        f"  %bits.{mask} = bitcast <{t.lanes} x i1> %{mask} to i{t.lanes}",
        f"  %all.{mask} = icmp eq i{t.lanes} %bits.{mask}, -1",
        f"  %none.{mask} = icmp eq i{t.lanes} %bits.{mask}, 0",
    ]


def _masked(
    t: Type, name: str, mask: str, text: Sequence[str], then: str, outputs: Sequence[tuple[str, str, str]]
) -> list[str]:
    """An iteration of the lanes in a mask: outputs ``(address, size, spare)`` of the others stay as they are."""
    of = f"<{t.lanes} x i1> %{mask}"
    return [
        f"{name}:",
        *(_counted(t, mask) if mask != "open" else ()),
        f"  br i1 %none.{mask}, label %{then}, label %some.{name}",
        f"some.{name}:",
        f"  br i1 %all.{mask}, label %run.{name}, label %save.{name}",
        f"save.{name}:",
        *(f"  call void @keep(ptr {y}, ptr {x}, ptr {x}, {of}, i64 {n})" for x, n, y in outputs),
        f"  br label %run.{name}",
        f"run.{name}:",
        *(f"  {line}" for line in text),
        f"  br i1 %all.{mask}, label %{then}, label %blend.{name}",
        f"blend.{name}:",
        *(f"  call void @keep(ptr {x}, ptr {y}, ptr {x}, {of}, i64 {n})" for x, n, y in outputs),
        f"  br label %{then}",
    ]


def _unfinished(t: Type, settings: str, progress: str, ends: bool) -> list[str]:
    """``%open``: which lanes have to go on; where a text ``ends`` iterations, ``%ending`` of them, and ``%going``."""
    load = f"load {t.name}, ptr"
    mask = "i1" if t.lanes == 1 else f"<{t.lanes} x i1>"
    lines = [
        f"  %tolerance = {load} {settings}, align {t.bytes}",
        f"  %pmost = getelementptr {t.name}, ptr {settings}, i64 1",
        f"  %most = {load} %pmost, align {t.bytes}",
        f"  %error = {load} {progress}, align {t.bytes}",
        f"  %prounds = getelementptr {t.name}, ptr {progress}, i64 1",
        f"  %rounds = {load} %prounds, align {t.bytes}",
        f"  %wide = fcmp ogt {t.name} %error, %tolerance",
        f"  %short = fcmp olt {t.name} %rounds, %most",
        f"  %open = and {mask} %wide, %short",
    ]
    if ends:
        ones = "true" if t.lanes == 1 else f"<{', '.join(['i1 true'] * t.lanes)}>"
        lines += [
            f"  %pnear = getelementptr {t.name}, ptr {settings}, i64 2",
            f"  %near = {load} %pnear, align {t.bytes}",
            f"  %square = fmul {t.name} %error, %error",
            f"  %squared = fcmp ole {t.name} %square, %tolerance",
            f"  %rough = fcmp ole {t.name} %error, %near",
            f"  %after = fadd {t.name} %rounds, {t.number(1.0)}",
            f"  %last = fcmp oge {t.name} %after, %most",
            f"  %soon = or {mask} %squared, %rough",
            f"  %final = or {mask} %soon, %last",
            f"  %ending = and {mask} %open, %final",
            f"  %others = xor {mask} %final, {ones}",
            f"  %going = and {mask} %open, %others",
        ]
    return lines


# Rows and lanes -------------------------------------------------------------------------------------------------------


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


def _spread(t: Type) -> str:
    """An input that all states share, in all lanes."""
    return f"""
define internal void @spread(ptr %from, i64 %stride, i64 %size, ptr noalias %to) noinline {{
entry:
  %shared = icmp eq i64 %stride, 0
  %some = icmp sgt i64 %size, 0
  %go = and i1 %shared, %some
  br i1 %go, label %number, label %end
number:
  %j = phi i64 [ 0, %entry ], [ %next, %number ]
  %p = getelementptr {t.scalar}, ptr %from, i64 %j
  %x = load {t.scalar}, ptr %p
  %one = insertelement {t.name} poison, {t.scalar} %x, i32 0
  %all = shufflevector {t.name} %one, {t.name} poison, <{t.lanes} x i32> zeroinitializer
  %q = getelementptr {t.name}, ptr %to, i64 %j
  store {t.name} %all, ptr %q
  %next = add i64 %j, 1
  %more = icmp slt i64 %next, %size
  br i1 %more, label %number, label %end
end:
  ret void
}}"""


def _keep(t: Type) -> str:
    """``to = x where the mask is set, else y``, number by number."""
    return f"""
define internal void @keep(ptr %to, ptr %y, ptr %x, <{t.lanes} x i1> %mask, i64 %size) noinline {{
entry:
  %some = icmp sgt i64 %size, 0
  br i1 %some, label %number, label %end
number:
  %j = phi i64 [ 0, %entry ], [ %next, %number ]
  %px = getelementptr {t.name}, ptr %x, i64 %j
  %py = getelementptr {t.name}, ptr %y, i64 %j
  %pz = getelementptr {t.name}, ptr %to, i64 %j
  %vx = load {t.name}, ptr %px
  %vy = load {t.name}, ptr %py
  %vz = select <{t.lanes} x i1> %mask, {t.name} %vx, {t.name} %vy
  store {t.name} %vz, ptr %pz
  %next = add i64 %j, 1
  %more = icmp slt i64 %next, %size
  br i1 %more, label %number, label %end
end:
  ret void
}}"""


def _rows_of_lanes(t: Type, base: str) -> list[str]:
    """``%r0 ...``: the rows of a block's states, the last one again and again beyond the end."""
    lines = ["  %last = sub i64 %count, 1"]
    for lane in range(t.lanes):
        lines += [
            f"  %n{lane} = add i64 %first, {lane}",
            f"  %in{lane} = icmp slt i64 %n{lane}, %last",
            f"  %m{lane} = select i1 %in{lane}, i64 %n{lane}, i64 %last",
            f"  %o{lane} = mul i64 %m{lane}, %stride",
            f"  %r{lane} = getelementptr {t.scalar}, ptr {base}, i64 %o{lane}",
        ]
    return lines


def _gather(t: Type) -> str:
    """Rows of a block of states into lanes: square blocks are transposed, what is left goes number by number."""
    lanes = range(t.lanes)
    turned, columns = _transposed(t, "t", [f"%l{lane}" for lane in lanes])
    lines = [
        "define internal void @gather(ptr %from, i64 %stride, i64 %first, i64 %count, i64 %size, ptr noalias %to) "
        "noinline {",
        "entry:",
        "  %shared = icmp eq i64 %stride, 0",
        "  br i1 %shared, label %end, label %rows",
        "rows:",
        *_rows_of_lanes(t, "%from"),
        f"  %whole = and i64 %size, -{t.lanes}",
        "  %blocks = icmp sgt i64 %whole, 0",
        "  br i1 %blocks, label %block, label %tail",
        "block:",
        "  %i = phi i64 [ 0, %rows ], [ %inext, %block ]",
    ]
    for lane in lanes:
        lines += [
            f"  %p{lane} = getelementptr {t.scalar}, ptr %r{lane}, i64 %i",
            f"  %l{lane} = load {t.name}, ptr %p{lane}, align {t.bytes}",
        ]
    lines += [*turned, f"  %at = getelementptr {t.name}, ptr %to, i64 %i"]
    for j, column in enumerate(columns):
        lines += [f"  %q{j} = getelementptr {t.name}, ptr %at, i64 {j}", f"  store {t.name} {column}, ptr %q{j}"]
    lines += [
        f"  %inext = add i64 %i, {t.lanes}",
        "  %imore = icmp slt i64 %inext, %whole",
        "  br i1 %imore, label %block, label %tail",
        "tail:",
        "  %left = icmp slt i64 %whole, %size",
        "  br i1 %left, label %number, label %end",
        "number:",
        "  %j = phi i64 [ %whole, %tail ], [ %jnext, %number ]",
    ]
    packed = "poison"
    for lane in lanes:
        lines += [
            f"  %g{lane} = getelementptr {t.scalar}, ptr %r{lane}, i64 %j",
            f"  %x{lane} = load {t.scalar}, ptr %g{lane}",
            f"  %v{lane} = insertelement {t.name} {packed}, {t.scalar} %x{lane}, i32 {lane}",
        ]
        packed = f"%v{lane}"
    lines += [
        f"  %d = getelementptr {t.name}, ptr %to, i64 %j",
        f"  store {t.name} {packed}, ptr %d",
        "  %jnext = add i64 %j, 1",
        "  %jmore = icmp slt i64 %jnext, %size",
        "  br i1 %jmore, label %number, label %end",
        "end:",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)


def _scatter(t: Type) -> str:
    """Lanes into rows: transposed if every lane is a state, else only the lanes that are."""
    lanes = range(t.lanes)
    turned, rows = _transposed(t, "t", [f"%l{lane}" for lane in lanes])
    lines = [
        "define internal void @scatter(ptr noalias %from, ptr %to, i64 %stride, i64 %first, i64 %count, i64 %size) "
        "noinline {",
        "entry:",
        *_rows_of_lanes(t, "%to"),
        "  %states = sub i64 %count, %first",
        f"  %full = icmp sge i64 %states, {t.lanes}",
        f"  %most = select i1 %full, i64 {t.lanes}, i64 %states",
        f"  %multiple = and i64 %size, -{t.lanes}",
        "  %whole = select i1 %full, i64 %multiple, i64 0",
        "  %blocks = icmp sgt i64 %whole, 0",
        "  br i1 %blocks, label %block, label %tail",
        "block:",
        "  %i = phi i64 [ 0, %entry ], [ %inext, %block ]",
        f"  %at = getelementptr {t.name}, ptr %from, i64 %i",
    ]
    for j in lanes:
        lines += [f"  %c{j} = getelementptr {t.name}, ptr %at, i64 {j}", f"  %l{j} = load {t.name}, ptr %c{j}"]
    lines += turned
    for lane, row in enumerate(rows):
        lines += [
            f"  %p{lane} = getelementptr {t.scalar}, ptr %r{lane}, i64 %i",
            f"  store {t.name} {row}, ptr %p{lane}, align {t.bytes}",
        ]
    lines += [
        f"  %inext = add i64 %i, {t.lanes}",
        "  %imore = icmp slt i64 %inext, %whole",
        "  br i1 %imore, label %block, label %tail",
        "tail:",
        "  %left = icmp slt i64 %whole, %size",
        "  br i1 %left, label %number, label %end",
        "number:",
        "  %j = phi i64 [ %whole, %tail ], [ %jnext, %written ]",
        f"  %n = getelementptr {t.name}, ptr %from, i64 %j",
        "  br label %lane",
        "lane:",
        "  %k = phi i64 [ 0, %number ], [ %knext, %lane ]",
        f"  %s = getelementptr {t.scalar}, ptr %n, i64 %k",
        f"  %x = load {t.scalar}, ptr %s",
        "  %row = add i64 %first, %k",
        "  %o = mul i64 %row, %stride",
        "  %oj = add i64 %o, %j",
        f"  %d = getelementptr {t.scalar}, ptr %to, i64 %oj",
        f"  store {t.scalar} %x, ptr %d",
        "  %knext = add i64 %k, 1",
        "  %kmore = icmp slt i64 %knext, %most",
        "  br i1 %kmore, label %lane, label %written",
        "written:",
        "  %jnext = add i64 %j, 1",
        "  %jmore = icmp slt i64 %jnext, %size",
        "  br i1 %jmore, label %number, label %end",
        "end:",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)
