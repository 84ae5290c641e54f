# SPDX-License-Identifier: BSD-3-Clause
"""The assignment of robots to the lanes of a warp (`rollouts`).

A warp has some slots, each with a robot. A slot whose robot has made all its steps takes the next robot that no warp
has had. In each round the slots are counted that begin a step, and those that go on iterating; lanes take slots of the
larger group. Of twice as many slots as lanes at least one a lane is in it, as long as there are robots.

| name        | meaning                                                                                         |
|-------------|-------------------------------------------------------------------------------------------------|
| flags       | of each slot: `STEP` times the steps that are left, plus `ITERATING`, plus `AGAIN`; or `EMPTY`;    |
|             | or `CLOSED`, where no robot is left for it                                                      |
| robots      | the robot of each slot                                                                          |
| list        | slots that the lanes take in this round                                                         |
| queue       | in global memory: the next robot that no warp has had                                           |

A lane that took a slot runs the code `work`, with ``%robot``, ``%slot`` (its number among all), its ``%flag`` at
``%flag.at``, and ``%more.iterate``: whether this round is one of further iterations. It ends by going to ``joined``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.compilers.cuda.device_functions import GLOBAL, POOL, SHARED, THREADS
from linkwork.compilers.lanes import Type

ITERATING, AGAIN, STEP = 1, 2, 4
"""Bits of the flags, and what a step counts."""
EMPTY, CLOSED = -1, -2
"""Flags of slots without a robot."""
LANES = 32
"""Lanes of a warp."""
WIDTH = 64
"""The most slots of a warp."""
WARP_BYTES = 12 * WIDTH + 4 * LANES
"""Shared memory of a warp."""


@dataclass(frozen=True)
class Warp:
    """The code of a warp: variables of the module, and instructions."""

    globals: list[str]
    lines: list[str]


def device_warp(t: Type, work: Sequence[str]) -> Warp:
    """A warp of a GPU.

    Args:
        t: Type of numbers.
        work: Work of a lane for a robot.
    """
    lines = [
        *_device_begin(t),
        *rounds(LANES),
        *_taken(),
        *work,
        "joined:",
        "sync",
        "br label %round",
        "end:",
        "ret void",
    ]
    declared = ["declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)", "declare void @llvm.nvvm.bar.warp.sync(i32)"]
    return Warp([*_memory(THREADS // LANES, "undef"), *declared], [_device_line(line) for line in lines])


def host_warp(t: Type, work: Sequence[str]) -> Warp:
    """A warp of one lane, for this machine's processor.

    Args:
        t: Type of numbers.
        work: Work of a lane for a robot.
    """
    lines = [*_host_begin(), *rounds(1), *_taken(), *work, "joined:", "sync", "br label %round", "end:", "ret void"]
    return Warp(_memory(1, "zeroinitializer"), [_host_line(line) for line in lines])


def _taken() -> list[str]:
    """The slot that a lane took."""
    return [
        "work:",
        f"%list.at = getelementptr i32, {SHARED} %list, i64 %lane",
        f"%j32 = load volatile i32, {SHARED} %list.at",
        "%j = zext i32 %j32 to i64",
        f"%robot.at = getelementptr i32, {SHARED} %robots, i64 %j",
        f"%robot32 = load volatile i32, {SHARED} %robot.at",
        "%robot = zext i32 %robot32 to i64",
        "%slot = add i64 %base, %j",
        f"%flag.at = getelementptr i64, {SHARED} %flags, i64 %j",
        f"%flag = load volatile i64, {SHARED} %flag.at",
    ]


def rounds(lanes: int) -> list[str]:
    """From ``go`` to ``work``: all slots of a warp are empty, then in each round lists of those that lanes take.

    There are three passes over the slots: one deals robots, one counts both groups, one lists those of the larger.
    """
    f = SHARED
    return [
        "go:",
        "%base = mul i64 %warp, %width",
        "br label %init",
        "init:",
        "%i = phi i64 [ %lane, %go ], [ %i.next, %init ]",
        f"%i.at = getelementptr i64, {f} %flags, i64 %i",
        f"store volatile i64 {EMPTY}, {f} %i.at",
        f"%i.next = add i64 %i, {lanes}",
        "%i.more = icmp slt i64 %i.next, %width",
        "br i1 %i.more, label %init, label %ready",
        "ready:",
        "sync",
        "br label %round",
        "round:",
        "br label %deal",
        "deal:",  # empty slots take further robots
        "%d = phi i64 [ %lane, %round ], [ %d.next, %dealt ]",
        f"%d.at = getelementptr i64, {f} %flags, i64 %d",
        f"%d.flag = load volatile i64, {f} %d.at",
        f"%d.empty = icmp eq i64 %d.flag, {EMPTY}",
        "br i1 %d.empty, label %fetch, label %dealt",
        "fetch:",
        f"%d.robot = atomicrmw add {GLOBAL} %queue, i32 1 monotonic",
        "%d.64 = zext i32 %d.robot to i64",
        "%d.exists = icmp slt i64 %d.64, %count",
        f"%d.steps = mul i64 %steps, {STEP}",
        f"%d.new = select i1 %d.exists, i64 %d.steps, i64 {CLOSED}",
        f"store volatile i64 %d.new, {f} %d.at",
        f"%d.to = getelementptr i32, {f} %robots, i64 %d",
        f"store volatile i32 %d.robot, {f} %d.to",
        "br label %dealt",
        "dealt:",
        f"%d.next = add i64 %d, {lanes}",
        "%d.more = icmp slt i64 %d.next, %width",
        "br i1 %d.more, label %deal, label %tally.begin",
        "tally.begin:",
        "sync",
        "br label %tally",
        "tally:",
        "%k = phi i64 [ %lane, %tally.begin ], [ %k.next, %tally ]",
        "%begin = phi i32 [ 0, %tally.begin ], [ %begin.next, %tally ]",
        "%iterate = phi i32 [ 0, %tally.begin ], [ %iterate.next, %tally ]",
        f"%k.at = getelementptr i64, {f} %flags, i64 %k",
        f"%k.flag = load volatile i64, {f} %k.at",
        "%k.open = icmp sge i64 %k.flag, 0",
        f"%k.bit = and i64 %k.flag, {ITERATING}",
        "%k.isbit = icmp ne i64 %k.bit, 0",
        "%k.iterate = and i1 %k.open, %k.isbit",
        "%k.notbit = icmp eq i64 %k.bit, 0",
        "%k.begin = and i1 %k.open, %k.notbit",
        "%k.begins = ballot %k.begin",
        "%k.iterates = ballot %k.iterate",
        "%k.nbegin = call i32 @llvm.ctpop.i32(i32 %k.begins)",
        "%k.niterate = call i32 @llvm.ctpop.i32(i32 %k.iterates)",
        "%begin.next = add i32 %begin, %k.nbegin",
        "%iterate.next = add i32 %iterate, %k.niterate",
        f"%k.next = add i64 %k, {lanes}",
        "%k.more = icmp slt i64 %k.next, %width",
        "br i1 %k.more, label %tally, label %choose",
        "choose:",
        "%total = add i32 %begin.next, %iterate.next",
        "%over = icmp eq i32 %total, 0",
        "br i1 %over, label %end, label %fill.list",
        "fill.list:",
        "%more.iterate = icmp sgt i32 %iterate.next, %begin.next",
        "%wanted = select i1 %more.iterate, i64 1, i64 0",
        "br label %listing",
        "listing:",
        "%m = phi i64 [ %lane, %fill.list ], [ %m.next, %listed ]",
        "%taken = phi i32 [ 0, %fill.list ], [ %taken.next, %listed ]",
        f"%m.at = getelementptr i64, {f} %flags, i64 %m",
        f"%m.flag = load volatile i64, {f} %m.at",
        "%m.open = icmp sge i64 %m.flag, 0",
        f"%m.bit = and i64 %m.flag, {ITERATING}",
        "%m.same = icmp eq i64 %m.bit, %wanted",
        "%m.mine = and i1 %m.open, %m.same",
        "%m.all = ballot %m.mine",
        "%m.below = and i32 %m.all, %lanes.below",
        "%m.before = call i32 @llvm.ctpop.i32(i32 %m.below)",
        "%m.place = add i32 %taken, %m.before",
        f"%m.fits = icmp slt i32 %m.place, {lanes}",
        "%m.listed = and i1 %m.mine, %m.fits",
        "br i1 %m.listed, label %enlist, label %listed",
        "enlist:",
        "%m.place64 = zext i32 %m.place to i64",
        f"%m.to = getelementptr i32, {f} %list, i64 %m.place64",
        "%m.32 = trunc i64 %m to i32",
        f"store volatile i32 %m.32, {f} %m.to",
        "br label %listed",
        "listed:",
        "%m.count = call i32 @llvm.ctpop.i32(i32 %m.all)",
        "%taken.next = add i32 %taken, %m.count",
        f"%m.next = add i64 %m, {lanes}",
        "%m.more = icmp slt i64 %m.next, %width",
        "br i1 %m.more, label %listing, label %take",
        "take:",
        "sync",
        "%taken64 = zext i32 %taken.next to i64",
        "%active = icmp slt i64 %lane, %taken64",
        "br i1 %active, label %work, label %joined",
    ]


def _device_begin(t: Type) -> list[str]:
    """Which warp and lane a thread is; ends in `go`."""
    return [
        "%tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
        "%cta = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()",
        "%ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()",
        "%tid64 = zext i32 %tid to i64",
        "%lane32 = and i32 %tid, 31",
        "%lane = zext i32 %lane32 to i64",
        "%bit = shl i32 1, %lane32",
        "%lanes.below = sub i32 %bit, 1",
        "%own = lshr i32 %tid, 5",
        "%own64 = zext i32 %own to i64",
        "%warps = lshr i32 %ntid, 5",
        "%first.warp = mul i32 %cta, %warps",
        "%warp32 = add i32 %first.warp, %own",
        "%warp = zext i32 %warp32 to i64",
        f"%first.flag = mul i64 %own64, {WIDTH}",
        f"%flags = getelementptr i64, {SHARED} @flags, i64 %first.flag",
        f"%first.list = mul i64 %own64, {LANES}",
        f"%list = getelementptr i32, {SHARED} @list, i64 %first.list",
        f"%robots = getelementptr i32, {SHARED} @robots, i64 %first.flag",
        f"%shared = getelementptr {t.scalar}, {SHARED} @{POOL}, i64 %tid64",
        "br label %go",
    ]


def _host_begin() -> list[str]:
    """One warp of one lane, which has all robots one after the other."""
    return [
        f"%flags = getelementptr i64, {SHARED} @flags, i64 0",
        f"%list = getelementptr i32, {SHARED} @list, i64 0",
        f"%robots = getelementptr i32, {SHARED} @robots, i64 0",
        f"%shared = getelementptr i8, {SHARED} @{POOL}, i64 0",
        "%lane = add i64 0, 0",
        "%lanes.below = add i32 0, 0",
        "%warp = add i64 0, 0",
        "br label %go",
    ]


def _device_line(line: str) -> str:
    """A line with what lanes of a warp do together, on a GPU."""
    if line == "sync":
        return "call void @llvm.nvvm.bar.warp.sync(i32 -1)"
    result, _, of = line.partition(" = ballot ")
    return f"{result} = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 {of})" if of else line


def _host_line(line: str) -> str:
    """A line of the code for a warp of one lane."""
    if line == "sync":
        return "fence seq_cst"
    result, _, of = line.partition(" = ballot ")
    return f"{result} = zext i1 {of} to i32" if of else line


def _memory(warps: int, value: str) -> list[str]:
    """Flags and robots of slots, and lists, of the warps of a block."""
    return [
        f"@robots = internal addrspace(3) global [{warps * WIDTH} x i32] {value}, align 8",
        f"@flags = internal addrspace(3) global [{warps * WIDTH} x i64] {value}, align 8",
        f"@list = internal addrspace(3) global [{warps * LANES} x i32] {value}, align 8",
        "declare i32 @llvm.ctpop.i32(i32)",
    ]
