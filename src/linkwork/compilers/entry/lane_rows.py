# SPDX-License-Identifier: BSD-3-Clause
"""Rows of states into lanes and back, as functions in LLVM IR that the loop over a batch calls (`batch`)."""

from __future__ import annotations

from linkwork.compilers.lanes import Type


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


def spread(t: Type) -> str:
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


def keep(t: Type) -> str:
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
    """``%r0 ...``: the rows whose numbers are in ``%index``."""
    lines = []
    for lane in range(t.lanes):
        lines += [
            f"  %n{lane} = getelementptr i64, ptr %index, i64 {lane}",
            f"  %m{lane} = load i64, ptr %n{lane}",
            f"  %o{lane} = mul i64 %m{lane}, %stride",
            f"  %r{lane} = getelementptr {t.scalar}, ptr {base}, i64 %o{lane}",
        ]
    return lines


def gather(t: Type) -> str:
    """Rows of some states into lanes: square blocks are transposed, the remainder goes number by number."""
    lanes = range(t.lanes)
    turned, columns = _transposed(t, "t", [f"%l{lane}" for lane in lanes])
    lines = [
        "define internal void @gather(ptr %from, i64 %stride, ptr %index, i64 %size, ptr noalias %to) noinline {",
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


def scatter(t: Type) -> str:
    """Lanes into rows: transposed if every lane is a state, else only the lanes that are."""
    lanes = range(t.lanes)
    turned, rows = _transposed(t, "t", [f"%l{lane}" for lane in lanes])
    lines = [
        "define internal void @scatter(ptr noalias %from, ptr %to, i64 %stride, ptr %index, i64 %states, i64 %size) "
        "noinline {",
        "entry:",
        *_rows_of_lanes(t, "%to"),
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
        "  %pk = getelementptr i64, ptr %index, i64 %k",
        "  %row = load i64, ptr %pk",
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
