# SPDX-License-Identifier: BSD-3-Clause
"""The loop around a straight-line program whose states need iterations of very different number (`batch`).

In `batch`, states that share a vector iterate until the slowest of them is done. Here the first text is run for all
states of a group; those that go on are listed, and gathered anew for each further iteration, so that all lanes are busy
but for the last few of a group. Outputs are in the arrays of the caller from the start, and what the first text carries
to others is kept in rows. Each state is computed as it would be alone: results are those of `batch`, to the last bit.

| name     | meaning                                                                    |
|----------|----------------------------------------------------------------------------|
| ``list`` | states of a group that go on                                               |
| ``kept`` | a row of numbers for each state of a group, carried to further iterations   |
"""

from __future__ import annotations

from linkwork.compilers.entry.batch import POLL, Body, block_index, counted, header, polled, unfinished
from linkwork.compilers.entry.lane_rows import gather, scatter, spread
from linkwork.compilers.lanes import Type

GROUP = 4096
"""States that are solved together."""


def function(body: Body, t: Type) -> str:
    """The loop, and the functions that it calls."""
    memory = "declare ptr @malloc(i64)\ndeclare void @free(ptr)"
    return "\n".join([gather(t), spread(t), scatter(t), memory, _over_groups(body, t)])


def _over_groups(body: Body, t: Type) -> str:
    assert body.iterate is not None and body.carry is not None and body.refine is None
    rows, inputs, (carry, width) = list(body.buffers), body.inputs, body.carry
    outputs = range(inputs, len(rows))

    def gathered(k: int) -> str:
        return f"  call void @gather(ptr %base{k}, i64 %stride{k}, ptr %index, i64 {body.sizes[k]}, ptr {rows[k]})"

    def scattered(k: int, states: str) -> str:
        to = f"ptr %base{k}, i64 %stride{k}, ptr %index, i64 {states}, i64 {body.sizes[k]}"
        return f"  call void @scatter(ptr {rows[k]}, {to})"

    lines = [
        *header(body, t),
        f"  %list = alloca [{GROUP} x i64], align 64",
        f"  %kept = call ptr @malloc(i64 {max(GROUP * width * t.bytes, 64)})",
        "  %refused = icmp eq ptr %kept, null",
        "  br i1 %refused, label %lost, label %begin",
        "lost:",  # no memory: results that are no numbers, which callers report
        *(line for k in outputs for line in no_numbers(t, k, body.sizes[k])),
        "  ret i64 0",
        "begin:",
        "  br i1 %any, label %shared, label %end",
        "shared:",
        *(
            f"  call void @spread(ptr %base{k}, i64 %stride{k}, i64 {body.sizes[k]}, ptr {rows[k]})"
            for k in range(inputs)
        ),
        "  br label %group",
        "group:",
        "  %g = phi i64 [ 0, %shared ], [ %g.end, %solved ]",
        f"  %g.next = add i64 %g, {GROUP}",
        "  %g.more = icmp slt i64 %g.next, %count",
        "  %g.end = select i1 %g.more, i64 %g.next, i64 %count",
        f"  %g.before = mul i64 %g, -{width}",
        f"  %rows = getelementptr {t.scalar}, ptr %kept, i64 %g.before",
        "  br label %block",
        "block:",  # the first text, for all states
        "  %i = phi i64 [ %g, %group ], [ %i.next, %following ]",
        *block_index(t, "%g.end"),
        *(gathered(k) for k in range(inputs)),
        *(f"  {line}" for line in body.call(rows)),
        *(scattered(k, "%states") for k in outputs),
        *unfinished(t, rows[inputs - 1], rows[-1], False),
        *counted(t, "open"),
        "  br i1 %none.open, label %next, label %keep",
        "keep:",
        f"  call void @scatter(ptr {carry}, ptr %rows, i64 {width}, ptr %index, i64 %states, i64 {width})",
        "  br label %next",
        "next:",
        *polled("state", "following"),
        "following:",
        f"  %i.next = add i64 %i, {t.lanes}",
        "  %i.more = icmp slt i64 %i.next, %g.end",
        "  br i1 %i.more, label %block, label %look",
        "look:",  # which of them go on
        "  %s = phi i64 [ %g, %following ], [ %s.next, %look ]",
        "  %n = phi i64 [ 0, %following ], [ %n.next, %look ]",
        *_listed(t, "s", "%s", "n", inputs - 1, len(rows) - 1),
        "  %s.more = icmp slt i64 %s.next, %g.end",
        "  br i1 %s.more, label %look, label %round",
        "round:",
        "  %left = phi i64 [ %n.next, %look ], [ %m.next, %review ]",
        "  %none = icmp eq i64 %left, 0",
        "  br i1 %none, label %solved, label %some",
        "some:",  # a further iteration of those in the list
        "  %e = phi i64 [ 0, %round ], [ %e.next, %iterated ]",
        *_list_index(t),
        *(gathered(k) for k in range(len(rows))),
        f"  call void @gather(ptr %rows, i64 {width}, ptr %index, i64 {width}, ptr {carry})",
        *(f"  {line}" for line in body.iterate(rows)),
        "  %e.states = sub i64 %left, %e",
        *(scattered(k, "%e.states") for k in outputs),
        *polled("iteration", "iterated"),
        "iterated:",
        f"  %e.next = add i64 %e, {t.lanes}",
        "  %e.more = icmp slt i64 %e.next, %left",
        "  br i1 %e.more, label %some, label %review",
        "review:",
        "  %r = phi i64 [ 0, %iterated ], [ %r.next, %review ]",
        "  %m = phi i64 [ 0, %iterated ], [ %m.next, %review ]",
        "  %r.at = getelementptr i64, ptr %list, i64 %r",
        "  %r.state = load i64, ptr %r.at",
        *_listed(t, "r", "%r.state", "m", inputs - 1, len(rows) - 1),
        "  %r.more = icmp slt i64 %r.next, %left",
        "  br i1 %r.more, label %review, label %round",
        "solved:",
        "  br i1 %g.more, label %group, label %end",
        "interrupted:",
        "  br label %end",
        "end:",
        "  %ended = phi i64 [ 1, %interrupted ], [ 0, %begin ], [ 0, %solved ]",
        "  call void @free(ptr %kept)",
        "  ret i64 %ended",
        "}",
        POLL,
    ]
    return "\n".join(lines)


def no_numbers(t: Type, k: int, size: str) -> list[str]:
    """Output ``k`` of all states is set to NaN, whose bits are all ones."""
    return [
        f"  %lost.n{k} = mul i64 {size}, %count",
        f"  %lost.b{k} = mul i64 %lost.n{k}, {t.bytes}",
        f"  call void @llvm.memset.p0.i64(ptr %base{k}, i8 -1, i64 %lost.b{k}, i1 false)",
    ]


def _listed(t: Type, counter: str, state: str, place: str, settings: int, progress: int) -> list[str]:
    """A state is put on the list at ``place`` if it has to go on; both count on."""
    c, p = f"%{counter}", f"%{place}"

    def number(name: str, array: int, which: int) -> list[str]:
        return [
            f"  {c}.{name}.row = mul i64 {state}, %stride{array}",
            f"  {c}.{name}.place = add i64 {c}.{name}.row, {which}",
            f"  {c}.{name}.at = getelementptr {t.scalar}, ptr %base{array}, i64 {c}.{name}.place",
            f"  {c}.{name} = load {t.scalar}, ptr {c}.{name}.at",
        ]

    return [
        *number("tolerance", settings, 0),
        *number("most", settings, 1),
        *number("error", progress, 0),
        *number("rounds", progress, 1),
        f"  {c}.wide = fcmp ogt {t.scalar} {c}.error, {c}.tolerance",
        f"  {c}.short = fcmp olt {t.scalar} {c}.rounds, {c}.most",
        f"  {c}.open = and i1 {c}.wide, {c}.short",
        f"  {p}.at = getelementptr i64, ptr %list, i64 {p}",
        f"  store i64 {state}, ptr {p}.at",
        f"  {p}.one = add i64 {p}, 1",
        f"  {p}.next = select i1 {c}.open, i64 {p}.one, i64 {p}",
        f"  {c}.next = add i64 {c}, 1",
    ]


def _list_index(t: Type) -> list[str]:
    """``%index``: states of the list from ``%e`` on, one a lane, the last one again beyond the end."""
    lines = ["  %e.last = sub i64 %left, 1"]
    for lane in range(t.lanes):
        lines += [
            f"  %e.n{lane} = add i64 %e, {lane}",
            f"  %e.in{lane} = icmp slt i64 %e.n{lane}, %e.last",
            f"  %e.m{lane} = select i1 %e.in{lane}, i64 %e.n{lane}, i64 %e.last",
            f"  %e.p{lane} = getelementptr i64, ptr %list, i64 %e.m{lane}",
            f"  %e.s{lane} = load i64, ptr %e.p{lane}",
            f"  %e.q{lane} = getelementptr i64, ptr %index, i64 {lane}",
            f"  store i64 %e.s{lane}, ptr %e.q{lane}",
        ]
    return lines
