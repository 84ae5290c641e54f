# SPDX-License-Identifier: BSD-3-Clause
"""Cycles of executed instructions by the tables that compilers schedule for: in order, two instructions a cycle.

Latencies and units are those of LLVM's ``CortexM7Model`` (``llvm/lib/Target/ARM/ARMScheduleM7.td``) and of GCC's
``sifive-7.md`` (``gcc/config/riscv``), the descriptions of a Cortex-M7 and of a SiFive U7 that both compilers are made
with; neither maker publishes a table. Memory is taken to be tightly coupled, branches to be predicted. Whether an
operation in double precision lets the next one start the cycle after is not said for the M7: cycles are between those
of a pipeline that does, and those of one that is busy until its result is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """Instructions of one timing."""

    pattern: str
    """Of their mnemonics."""
    latency: int
    """Cycles until the result can be read."""
    units: tuple[str, ...]
    """Where they can be issued: one of these."""
    alone: bool = False
    """Whether nothing is issued beside them."""
    busy: int = 1
    """Cycles for which the unit takes nothing else, if operations are pipelined."""
    blocking: int = 1
    """The same if they are not."""
    writes: bool = True
    """Whether the first operand is a result."""


@dataclass(frozen=True)
class Instruction:
    """An instruction as it is disassembled."""

    mnemonic: str
    operands: str


@dataclass(frozen=True)
class Core:
    """A processor: its table, and what registers are called."""

    kinds: tuple[Kind, ...]
    registers: str
    accumulating: str
    """Mnemonics whose result is read as well."""

    def kind(self, instruction: Instruction) -> Kind:
        """The first kind that fits."""
        return next(kind for kind in self.kinds if re.match(kind.pattern, instruction.mnemonic))


CORTEX_M7 = Core(
    (
        Kind(r"v(div|sqrt)\.f64", 30, ("fpu",), busy=30, blocking=30),
        Kind(r"v(div|sqrt)\.f32", 16, ("fpu",), busy=16, blocking=16),
        Kind(r"vf?n?m[als]{2}\.f64|vfn?m[as]\.f64", 11, ("fpu",), blocking=9),
        Kind(r"vn?mul\.f64", 7, ("fpu",), blocking=5),
        Kind(r"vcmpe?\.f64", 4, ("fpu",), blocking=2, writes=False),
        Kind(r"v\w+(\.\w+)*\.f64", 4, ("fpu",), blocking=2),
        Kind(r"vf?n?m[als]{2}\.f32|vfn?m[as]\.f32", 6, ("fpu",)),
        Kind(r"vcmpe?\.f32", 3, ("fpu",), writes=False),
        Kind(r"v(ldm|pop)|ldm|pop", 2, ("load",), alone=True),
        Kind(r"v(stm|push)|stm|push", 2, ("store",), alone=True, writes=False),
        Kind(r"vldr", 2, ("load", "load2")),
        Kind(r"vstr|str(?!d)", 2, ("store",), writes=False),
        Kind(r"strd", 2, ("store",), alone=True, writes=False),
        Kind(r"ldrd", 2, ("load",), alone=True),
        Kind(r"ldr[bhs]", 2, ("load", "load2")),
        Kind(r"ldr", 1, ("load", "load2")),
        Kind(r"vmrs", 3, ("alu",), alone=True),
        Kind(r"vmov", 3, ("alu", "alu2")),
        Kind(r"v", 3, ("fpu",)),
        Kind(r"[us]div", 7, ("alu",), alone=True, busy=7, blocking=7),
        Kind(r"mul|ml[as]|[us]m", 2, ("mac",)),
        Kind(
            r"(b|bl|bx|blx)(eq|ne|cs|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)?(\.[nw])?$|cbn?z", 1, ("branch",), writes=False
        ),
        Kind(r"cmp|cmn|tst|teq", 1, ("alu", "alu2"), writes=False),
        Kind(r"it|nop", 0, ("alu", "alu2"), writes=False),
        Kind(r"", 1, ("alu", "alu2")),
    ),
    r"\b(?:[sd]\d+|r\d+|ip|sp|lr|sl|fp)\b",
    r"vf?n?m[als]{2}|vfn?m[as]|mla|mls|movt",
)
"""LLVM's ``CortexM7Model``. Loads of 64 bits take both ports (`_cost`)."""

SIFIVE_U7 = Core(
    (
        Kind(r"f(div|sqrt)\.d", 56, ("B",), busy=56, blocking=56),
        Kind(r"f(div|sqrt)\.s", 27, ("B",), busy=27, blocking=27),
        Kind(r"f(n?m)?(add|sub|mul)\.d", 7, ("B",)),
        Kind(r"f(n?m)?(add|sub|mul)\.s", 5, ("B",)),
        Kind(r"fl[dw]", 2, ("A",)),
        Kind(r"fs[dw]$|s[bhwd]$", 1, ("A",), writes=False),
        Kind(r"l[bhwd]u?$", 3, ("A",)),
        Kind(r"fmv\.[xdw]\.", 3, ("A",)),
        Kind(r"f", 3, ("B",)),
        Kind(r"b|j$|jr|ret", 1, ("B",), writes=False),
        Kind(r"jal|call", 1, ("B",), writes=False),
        Kind(r"mul", 3, ("B",)),
        Kind(r"div|rem", 16, ("B",), busy=16, blocking=16),
        Kind(r"", 1, ("A", "B")),
    ),
    r"\b(?:f?[ats]\d+|ra|sp|gp|tp)\b",
    r"(?!)",
)
"""GCC's ``sifive-7.md``."""

CORES = {"cortex-m7": CORTEX_M7, "riscv64": SIFIVE_U7}


def cycles(core: Core, executed: Iterable[Instruction], pipelined: bool) -> int:
    """Cycles of instructions in the order in which they were executed.

    Args:
        core: The processor.
        executed: The instructions.
        pipelined: Whether operations of several cycles let the next one start the cycle after.
    """
    ready: dict[str, int] = {}
    free: dict[str, int] = {}
    now, issued = 0, 0  # the cycle, and instructions that were issued in it
    for instruction in executed:
        kind, (results, sources) = core.kind(instruction), _registers(core, instruction)
        moved = _moved(instruction)
        start = max([now, *(ready.get(name, 0) for name in sources)])
        unit = min(kind.units, key=lambda name: free.get(name, 0))
        start = max(start, free.get(unit, 0))
        alone = kind.alone or _wide(instruction)
        if start == now and (issued >= 2 or (alone and issued)):
            start += 1
        if start > now:
            now, issued = start, 0
        issued = 2 if alone else issued + 1
        free[unit] = now + max(kind.busy if pipelined else kind.blocking, moved)
        for k, name in enumerate(results):
            ready[name] = now + kind.latency + (k * moved // len(results) if moved > 1 else 0)
        if moved > 1:
            now, issued = now + moved - 1, 2
    return max([now + 1, *ready.values()])


def _registers(core: Core, instruction: Instruction) -> tuple[list[str], list[str]]:
    """Registers that an instruction writes and reads; doubles of a Cortex are pairs of singles."""
    kind = core.kind(instruction)
    listed = _of_list(instruction)
    found = listed or re.findall(core.registers, instruction.operands)
    if instruction.mnemonic.startswith("vcmp"):
        return ["flags"], _halves(found)
    if instruction.mnemonic.startswith("vmrs"):
        return ["flags"], ["flags"]
    if listed:
        return (_halves(found), ["sp"]) if kind.writes else ([], _halves(found))
    if not kind.writes or not found:
        return [], _halves(found)
    count = 2 if instruction.mnemonic.startswith("ldrd") else 1
    read = found if re.match(core.accumulating, instruction.mnemonic) else found[count:]
    return _halves(found[:count]), _halves(read)


def _halves(names: Sequence[str]) -> list[str]:
    halves = list[str]()
    for name in names:
        number = name[1:]
        double = name[0] == "d" and number.isdigit()
        halves += [f"s{2 * int(number)}", f"s{2 * int(number) + 1}"] if double else [name]
    return halves


def _of_list(instruction: Instruction) -> list[str]:
    """Registers in braces, ranges as all of theirs."""
    braces = re.search(r"\{(.*)\}", instruction.operands)
    found = list[str]()
    for part in braces[1].split(",") if braces else ():
        ends = re.findall(r"([a-z]+)(\d+)", part)
        if len(ends) == 2:
            found += [f"{ends[0][0]}{k}" for k in range(int(ends[0][1]), int(ends[1][1]) + 1)]
        else:
            found.append(part.strip())
    return found


def _moved(instruction: Instruction) -> int:
    """Cycles that a transfer of a list takes: one for each register."""
    return max(len(_of_list(instruction)), 1)


def _wide(instruction: Instruction) -> bool:
    """Whether 64 bits are loaded or stored at once on a Cortex, which nothing is issued beside."""
    return bool(re.match(r"v(ldr|str)", instruction.mnemonic) and re.match(r"d\d", instruction.operands))
