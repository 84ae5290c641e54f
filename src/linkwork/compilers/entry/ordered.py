# SPDX-License-Identifier: BSD-3-Clause
"""The loop over the states of a batch in lanes (`batch`), with similar states side by side.

States that share a vector cost what any of them needs: the lists of all of them together, and the iterations of the
slowest. So an algorithm may have a kernel that writes a key for each state (`Algorithm.order`); states are sorted by
their keys, number by number, and then by their places, and blocks are taken in that order. Results are written where
the states were.

| name      | meaning                                                            |
|-----------|--------------------------------------------------------------------|
| records   | a key and a number of a state each                                 |
| list      | numbers of states in order, the last one again for each lane        |

Cost: that of the keys, and of sorting them by the C library.
"""

from __future__ import annotations

from linkwork.compilers.entry.batch import Body, header, over_blocks
from linkwork.compilers.entry.lane_rows import gather, keep, scatter, spread
from linkwork.compilers.entry.uneven import no_numbers
from linkwork.compilers.lanes import Type
from linkwork.kernels.algorithm import ORDER

GROUP = 4096
"""States that are put in order together, at most: the more, the more alike neighbors are."""

_BLOCKS = "linkwork_blocks"


def function(body: Body, t: Type) -> str:
    """The loop, and the functions that it calls."""
    needs = """declare ptr @malloc(i64)
declare void @free(ptr)
declare void @qsort(ptr, i64, i64, ptr)"""
    rows = [gather(t), spread(t), scatter(t), keep(t)]
    return "\n".join([*rows, needs, _compare(t), over_blocks(body, t, _BLOCKS), _in_order(body, t)])


def _record(t: Type) -> tuple[int, int]:
    """Where the number of a state is in a record, and how long a record is, in bytes."""
    place = -(-ORDER * t.bytes // 8) * 8
    return place, place + 8


def _compare(t: Type) -> str:
    """Which of two records comes first: less than zero for the first."""
    lines = ["define internal i32 @compare(ptr %x, ptr %y) {", "entry:", "  br label %number0"]
    for k in range(ORDER):
        lines += [
            f"number{k}:",
            f"  %x{k}.at = getelementptr {t.scalar}, ptr %x, i64 {k}",
            f"  %y{k}.at = getelementptr {t.scalar}, ptr %y, i64 {k}",
            f"  %x{k} = load {t.scalar}, ptr %x{k}.at",
            f"  %y{k} = load {t.scalar}, ptr %y{k}.at",
            f"  %less{k} = fcmp olt {t.scalar} %x{k}, %y{k}",
            f"  br i1 %less{k}, label %first, label %other{k}",
            f"other{k}:",
            f"  %more{k} = fcmp ogt {t.scalar} %x{k}, %y{k}",
            f"  br i1 %more{k}, label %second, label %number{k + 1}",
        ]
    place, _ = _record(t)
    return "\n".join(
        [
            *lines,
            f"number{ORDER}:",
            f"  %xs.at = getelementptr i8, ptr %x, i64 {place}",
            f"  %ys.at = getelementptr i8, ptr %y, i64 {place}",
            "  %xs = load i64, ptr %xs.at",
            "  %ys = load i64, ptr %ys.at",
            "  %before = icmp slt i64 %xs, %ys",
            "  br i1 %before, label %first, label %second",
            "first:",
            "  ret i32 -1",
            "second:",
            "  ret i32 1",
            "}",
        ]
    )


def _in_order(body: Body, t: Type) -> str:
    """The loop in the order of keys."""
    assert body.order is not None
    arrays = range(len(body.sizes))
    rows = [f"%row{k}" for k in arrays]
    place, size = _record(t)
    lines = [
        *header(body, t),
        "  br i1 %any, label %some, label %none",
        "none:",
        "  ret i64 0",
        "some:",
        f"  %bytes = mul i64 %count, {size + 8}",
        f"  %enough = add i64 %bytes, {8 * t.lanes}",
        "  %records = call ptr @malloc(i64 %enough)",
        "  %refused = icmp eq ptr %records, null",
        "  br i1 %refused, label %lost, label %state",
        "lost:",  # no memory: results that are no numbers, which callers report
        *(line for k in arrays if k >= body.inputs for line in no_numbers(t, k, body.sizes[k])),
        "  ret i64 0",
        "state:",
        "  %i = phi i64 [ 0, %some ], [ %i.next, %state ]",
        f"  %i.byte = mul i64 %i, {size}",
        "  %key = getelementptr i8, ptr %records, i64 %i.byte",
        f"  %number = getelementptr i8, ptr %key, i64 {place}",
        "  store i64 %i, ptr %number",
    ]
    for k, row in enumerate(rows):
        lines += [f"  %at{k} = mul i64 %i, %stride{k}", f"  {row} = getelementptr {t.scalar}, ptr %base{k}, i64 %at{k}"]
    lines += [
        *(f"  {line}" for line in body.order("%key", rows)),
        "  %i.next = add i64 %i, 1",
        "  %i.more = icmp slt i64 %i.next, %count",
        "  br i1 %i.more, label %state, label %sort",
        "sort:",
        f"  call void @qsort(ptr %records, i64 %count, i64 {size}, ptr @compare)",
        f"  %behind = mul i64 %count, {size}",
        "  %list = getelementptr i8, ptr %records, i64 %behind",
        f"  %length = add i64 %count, {t.lanes}",
        "  br label %entry.of",
        "entry.of:",
        "  %n = phi i64 [ 0, %sort ], [ %n.next, %entry.of ]",
        "  %n.in = icmp slt i64 %n, %count",
        "  %last = sub i64 %count, 1",
        "  %n.from = select i1 %n.in, i64 %n, i64 %last",
        f"  %n.byte = mul i64 %n.from, {size}",
        f"  %n.place = add i64 %n.byte, {place}",
        "  %n.at = getelementptr i8, ptr %records, i64 %n.place",
        "  %n.state = load i64, ptr %n.at",
        "  %n.to = getelementptr i64, ptr %list, i64 %n",
        "  store i64 %n.state, ptr %n.to",
        "  %n.next = add i64 %n, 1",
        "  %n.more = icmp slt i64 %n.next, %length",
        "  br i1 %n.more, label %entry.of, label %run",
        "run:",
        f"  %ended = call i64 @{_BLOCKS}(ptr %arrays, ptr %strides, i64 %count, ptr %c, ptr %watch, ptr %list)",
        "  call void @free(ptr %records)",
        "  ret i64 %ended",
        "}",
    ]
    return "\n".join(lines)
