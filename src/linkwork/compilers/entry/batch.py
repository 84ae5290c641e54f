# SPDX-License-Identifier: BSD-3-Clause
"""The loop around a kernel, as LLVM IR: over the states of a batch, one at a time or as many as there are lanes.

Native code and straight-line programs are called alike::

    i64 linkwork_kernel(ptr arrays, ptr strides, i64 count, ptr context, ptr watch)

``arrays`` are addresses of row-major inputs and outputs, ``strides`` the distances between their rows in numbers (0:
one row for all states), ``watch`` is that of `interrupts`, or null: kernels that iterate look at it, and answer with 1
where they were told to end, else with 0. With lanes, square blocks of rows are transposed into vectors and back; lanes
beyond the end of the batch repeat its last state and are not written.

A kernel that iterates does so while ``progress[0] > settings[0] and progress[1] < settings[1]``, each state by itself:
lanes that have ended keep what they have while others go on, so that a result does not depend on its neighbors. Where
it has a kernel to end with (`Algorithm.refinement`), that one is run in the last iteration that is allowed, and where
``progress[0] ** 2 <= settings[0] or progress[0] <= settings[2]``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from linkwork.compilers.entry.lane_rows import gather, keep, scatter, spread
from linkwork.compilers.lanes import Type

SYMBOL = "linkwork_kernel"

BETWEEN_POLLS = 16
"""Iterations between two looks at the watch, a power of two."""


@dataclass(frozen=True)
class Stage:
    """A function that a loop with lanes calls for each state by itself, after the call for all lanes."""

    arrays: frozenset[int]
    """Arrays that it writes, where users have them."""
    carry: int
    """Number of numbers of each state that it reads, a multiple of the lanes: ``%carry`` has them in lanes,
    ``%scratch`` is memory for them state by state."""
    parts: int
    """Number of parts that it has."""
    call: Callable[[int, Sequence[str], str], str]
    """The instruction that calls a part for one state, given the addresses of its arrays and of its numbers."""


@dataclass(frozen=True)
class Body:
    """The call in a loop, and its operands: names or numbers of LLVM IR."""

    prologue: list[str]
    """Instructions before the loop: they define the names below."""
    sizes: list[str]
    """Numbers in each array of one state, inputs then outputs."""
    inputs: int
    call: Callable[[Sequence[str]], list[str]]
    """Instructions for one state, or one state a lane, given the addresses of its arrays."""
    iterate: Callable[[Sequence[str]], list[str]] | None = None
    """Code of a further iteration."""
    buffers: Sequence[str] = ()
    """With lanes, memory for each array of a block of states."""
    spares: Sequence[str] = ()
    """With lanes, memory for each output of a kernel that iterates."""
    refine: Callable[[Sequence[str]], list[str]] | None = None
    """As ``iterate``, for the last iterations."""
    carry: tuple[str, int] | None = None
    """With lanes, memory for what a further iteration reads beside arrays, and how many numbers it is; where it is
    given, states that go on are gathered anew for each iteration (`uneven`)."""
    stage: Stage | None = None
    """With lanes, the rest of a program whose matrices are packed (`packing`)."""
    order: Callable[[str, Sequence[str]], list[str]] | None = None
    """With lanes, instructions that write the key of one state (`ordered`), given its address and those of the state's
    arrays, where callers have them."""
    ending: Sequence[str] = ("%ended = add i64 0, 0",)
    """Instructions after the loop: they define ``%ended``, 1 where a kernel was told to end."""

    def further(self, rows: Sequence[str]) -> dict[str, list[str]]:
        """Instructions of further iterations by name."""
        texts = {"iterate": self.iterate, "refine": self.refine}
        return {name: text(rows) for name, text in texts.items() if text is not None}


def function(body: Body, t: Type) -> str:
    """The loop, and with lanes the functions that it calls."""
    if t.lanes == 1:
        return _over_states(body, t)
    return "\n".join([gather(t), spread(t), scatter(t), keep(t), over_blocks(body, t)])


def header(body: Body, t: Type, name: str = SYMBOL, further: str = "") -> list[str]:
    """The opening: base addresses and row distances of all arrays."""
    arguments = f"ptr %arrays, ptr %strides, i64 %count, ptr noalias %c, ptr %watch{further}"
    lines = [f"define {'' if name == SYMBOL else 'internal '}i64 @{name}({arguments}) {{", "entry:"]
    if body.iterate is not None:
        lines += ["  %ticks = alloca i64", "  store i64 0, ptr %ticks"]
    for k in range(len(body.sizes)):
        lines += [
            f"  %pb{k} = getelementptr ptr, ptr %arrays, i64 {k}",
            f"  %base{k} = load ptr, ptr %pb{k}",
            f"  %ps{k} = getelementptr i64, ptr %strides, i64 {k}",
            f"  %stride{k} = load i64, ptr %ps{k}",
        ]
    if t.lanes > 1:
        lines.append(f"  %index = alloca [{t.lanes} x i64], align 64")
    return [*lines, *(f"  {line}" for line in body.prologue), "  %any = icmp sgt i64 %count, 0"]


def _over_states(body: Body, t: Type) -> str:
    """One state after another."""
    rows = [f"%row{k}" for k in range(len(body.sizes))]
    lines = [
        *header(body, t),
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
            *unfinished(t, rows[body.inputs - 1], rows[-1], body.refine is not None),
            "  br i1 %open, label %more.work, label %done",
            "more.work:",
            *polled("iteration", "go"),
            "go:",
            f"  {'br i1 %ending, label %refine, label %iterate' if body.refine is not None else 'br label %iterate'}",
        ]
        for name, text in body.further(rows).items():
            lines += [f"{name}:", *(f"  {line}" for line in text), "  br label %check"]
    else:
        lines += ["  br label %done"]
    return "\n".join([*lines, "done:", *_next_or_end("state", 1, body)])


def over_blocks(body: Body, t: Type, name: str = SYMBOL) -> str:
    """As many states at a time as there are lanes: in the order of ``%list``, where there is one."""
    rows = list(body.buffers)
    further = "" if body.order is None else ", ptr %list"
    lines = [*header(body, t, name, further), "  br i1 %any, label %shared, label %end", "shared:"]
    for k in range(body.inputs):
        lines += [f"  call void @spread(ptr %base{k}, i64 %stride{k}, i64 {body.sizes[k]}, ptr {rows[k]})"]
    lines += [
        "  br label %block",
        "block:",
        "  %i = phi i64 [ 0, %shared ], [ %next, %done ]",
        *(block_index(t, "%count") if body.order is None else listed_index(t)),
    ]
    for k in range(body.inputs):
        lines += [f"  call void @gather(ptr %base{k}, i64 %stride{k}, ptr %index, i64 {body.sizes[k]}, ptr {rows[k]})"]
    lines += [f"  {line}" for line in body.call(rows)]
    if body.iterate is not None:
        outputs = list(zip(rows[body.inputs :], body.sizes[body.inputs :], body.spares, strict=True))
        lines += [
            "  br label %check",
            "check:",
            *unfinished(t, rows[body.inputs - 1], rows[-1], body.refine is not None),
            *counted(t, "open"),
            "  br i1 %none.open, label %finished, label %more.work",
            "more.work:",
            *polled("iteration", "go"),
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
        if body.stage is None or k not in body.stage.arrays:
            row = f"ptr %base{k}, i64 %stride{k}, ptr %index, i64 %states, i64 {body.sizes[k]}"
            lines += [f"  call void @scatter(ptr {rows[k]}, {row})"]
    if body.stage is not None:
        lines += _by_state(body.stage, len(rows), t)
    return "\n".join([*lines, "  br label %done", "done:", *_next_or_end("block", t.lanes, body)])


def _by_state(stage: Stage, arrays: int, t: Type) -> list[str]:
    """The second stage of each state of a block, one state after the other: what it reads stays in the first-level
    cache, and neighboring results are written together."""
    vector = f"<{t.lanes} x i64>"
    numbers = ", ".join(f"i64 {lane}" for lane in range(t.lanes))
    rows = [f"%s.row{k}" for k in range(arrays)]
    lines = [
        f"  store {vector} <{numbers}>, ptr %index",
        f"  call void @scatter(ptr %carry, ptr %scratch, i64 {stage.carry}, ptr %index, i64 {t.lanes}, "
        f"i64 {stage.carry})",
        f"  %all.lanes = icmp sge i64 %states, {t.lanes}",
        f"  %most.lanes = select i1 %all.lanes, i64 {t.lanes}, i64 %states",
        "  br label %stage",
        "stage:",
        "  br label %own",
        "own:",
        "  %s = phi i64 [ 0, %stage ], [ %s.next, %own ]",
        "  %s.state = add i64 %i, %s",
        f"  %s.at = mul i64 %s, {stage.carry}",
        f"  %s.carry = getelementptr {t.scalar}, ptr %scratch, i64 %s.at",
    ]
    for k in sorted(stage.arrays):
        lines += [
            f"  %s.at{k} = mul i64 %s.state, %stride{k}",
            f"  {rows[k]} = getelementptr {t.scalar}, ptr %base{k}, i64 %s.at{k}",
        ]
    return [
        *lines,
        *(f"  {stage.call(part, rows, '%s.carry')}" for part in range(stage.parts)),
        "  %s.next = add i64 %s, 1",
        "  %s.more = icmp slt i64 %s.next, %most.lanes",
        "  br i1 %s.more, label %own, label %written",
        "written:",
    ]


def block_index(t: Type, count: str) -> list[str]:
    """``%index``: states from ``%i`` on, one a lane, the last one again beyond the end; ``%states``: how many."""
    lanes, vector = t.lanes, f"<{t.lanes} x i64>"
    return [
        f"  %i.one = insertelement {vector} poison, i64 %i, i32 0",
        f"  %i.all = shufflevector {vector} %i.one, {vector} poison, <{lanes} x i32> zeroinitializer",
        f"  %i.lanes = add {vector} %i.all, <{', '.join(f'i64 {lane}' for lane in range(lanes))}>",
        f"  %i.end = sub i64 {count}, 1",
        f"  %e.one = insertelement {vector} poison, i64 %i.end, i32 0",
        f"  %e.all = shufflevector {vector} %e.one, {vector} poison, <{lanes} x i32> zeroinitializer",
        f"  %i.in = icmp slt {vector} %i.lanes, %e.all",
        f"  %i.rows = select <{lanes} x i1> %i.in, {vector} %i.lanes, {vector} %e.all",
        f"  store {vector} %i.rows, ptr %index",
        f"  %states = sub i64 {count}, %i",
    ]


def listed_index(t: Type) -> list[str]:
    """The index of a state in a list of all states whose last entry is repeated up to the number of lanes."""
    return [
        "  %i.listed = getelementptr i64, ptr %list, i64 %i",
        f"  %i.rows = load <{t.lanes} x i64>, ptr %i.listed, align 8",
        f"  store <{t.lanes} x i64> %i.rows, ptr %index",
        "  %states = sub i64 %count, %i",
    ]


def _next_or_end(block: str, step: int, body: Body) -> list[str]:
    iterates = body.iterate is not None
    return [
        f"  %next = add i64 %i, {step}",
        "  %more = icmp slt i64 %next, %count",
        f"  br i1 %more, label %{block}, label %end",
        *(["interrupted:", "  ret i64 1"] if iterates else []),
        "end:",
        *(f"  {line}" for line in body.ending),
        "  ret i64 %ended",
        "}",
        *([POLL] if iterates else []),
    ]


POLL = """define internal i64 @poll(ptr %watch) noinline cold {
  %alone = icmp eq ptr %watch, null
  br i1 %alone, label %on, label %ask
on:
  ret i64 0
ask:
  %function = load ptr, ptr %watch
  %stop = call i64 %function(ptr %watch)
  ret i64 %stop
}"""
"""A look at the watch, if there is one."""


def polled(name: str, then: str) -> list[str]:
    """The way on to the block ``then``, or to ``interrupted``: every so often, the watch is looked at."""
    return [
        f"  %{name}.before = load i64, ptr %ticks",
        f"  %{name}.count = add i64 %{name}.before, 1",
        f"  store i64 %{name}.count, ptr %ticks",
        f"  %{name}.low = and i64 %{name}.count, {BETWEEN_POLLS - 1}",
        f"  %{name}.due = icmp eq i64 %{name}.low, 0",
        f"  br i1 %{name}.due, label %{name}.look, label %{then}",
        f"{name}.look:",
        f"  %{name}.stop = call i64 @poll(ptr %watch)",
        f"  %{name}.on = icmp eq i64 %{name}.stop, 0",
        f"  br i1 %{name}.on, label %{then}, label %interrupted",
    ]


def counted(t: Type, mask: str) -> list[str]:
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
        *(counted(t, mask) if mask != "open" else ()),
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


def unfinished(t: Type, settings: str, progress: str, ends: bool) -> list[str]:
    """``%open``: which lanes have to go on; where a kernel ``ends`` iterations, ``%ending`` of them, and ``%going``."""
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
