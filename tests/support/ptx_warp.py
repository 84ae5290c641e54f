# SPDX-License-Identifier: BSD-3-Clause
"""One warp of a GPU, emulated: PTX is executed on 32 lanes at once, and executed instructions are counted exactly.

Lanes that are at the same instruction of the same call go on together; of several groups the one in the innermost call,
at the earliest instruction, goes first, so that lanes meet again where branches do. Numbers are computed by NumPy: a
product and its sum are rounded twice.

| count        | meaning                                                               |
|--------------|-----------------------------------------------------------------------|
| issued       | times that each instruction was executed by some lanes of the warp     |
| active       | lanes that took part                                                   |
| sectors      | parts of 32 bytes of memory that accesses of lanes touched             |

Cost: microseconds an instruction.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.support.ptx_text import Function, Instruction, parsed

LANES = 32
BASE = 4096
"""Addresses below this are none."""
SECTOR = 5
"""Logarithm of the bytes that memory moves at least."""
KINDS = {
    "f32": np.float32,
    "f64": np.float64,
    "s32": np.int32,
    "u32": np.uint32,
    "b32": np.uint32,
    "s64": np.int64,
    "u64": np.uint64,
    "b64": np.uint64,
    "b16": np.uint16,
    "b8": np.uint8,
    "u8": np.uint8,
}
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "neu": lambda x, y: ~(x == y), "ltu": lambda x, y: ~(x >= y), "leu": lambda x, y: ~(x > y),
    "gtu": lambda x, y: ~(x <= y), "geu": lambda x, y: ~(x < y), "equ": lambda x, y: (x == y) | (x != x) | (y != y),
    "nan": lambda x, y: (x != x) | (y != y), "num": lambda x, y: (x == x) & (y == y),
}  # fmt: skip
UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": np.negative, "abs": np.abs, "not": np.invert, "sqrt": np.sqrt,
    "rcp": lambda x: 1 / x, "rsqrt": lambda x: 1 / np.sqrt(x), "mov": lambda x: x,
}  # fmt: skip
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "min": np.fmin, "max": np.fmax,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "copysign": lambda sign, x: np.copysign(x, sign),
}  # fmt: skip

Lanes = Any
"""An array with a number for each lane."""


class Frame:
    """Registers of a call, one number for each lane."""

    def __init__(self, function: Function, caller: Frame | None, back: int, parameters: dict[str, Any]) -> None:
        self.function, self.caller, self.back = function, caller, back
        self.depth: int = 0 if caller is None else caller.depth + 1
        self.path: tuple[str, ...] = (*(() if caller is None else caller.path), function.name.split("_$_")[0])
        self.parameters, self.passed = parameters, dict[str, Any]()
        sizes = function.registers
        self.short = np.zeros((sizes.get("r", 0), LANES), np.uint32)
        self.long = np.zeros((sizes.get("rd", 0), LANES), np.uint64)
        self.flags = np.zeros((sizes.get("p", 0), LANES), bool)


class Warp:
    """A module that 32 lanes execute.

    Args:
        text: The module, in PTX.
        constants: Content of variables, by name.
    """

    def __init__(self, text: str, constants: Mapping[str, bytes]) -> None:
        self.functions, self._variables = parsed(text)
        for name, content in constants.items():
            self._variables[name][: len(content)] = np.frombuffer(content, np.uint8)
        total = sum(len(f.code) for f in self.functions.values())
        self.issued, self.active, self.sectors = (np.zeros(total, np.int64) for _ in range(3))
        self._memory = {
            size: np.ctypeslib.as_array((kind * ((1 << 47) // size - BASE)).from_address(BASE))
            for size, kind in ((1, ctypes.c_uint8), (4, ctypes.c_uint32), (8, ctypes.c_uint64))
        }
        self.stages: dict[tuple[str, ...], Any] = {}
        """By path of calls: instructions but moves of arguments, accesses of global memory, sectors."""

    # Operands --------------------------------------------------------------------------------------------------------

    def _read(self, frame: Frame, operand: str, kind: Any) -> Any:
        if operand.startswith("%rd"):
            return (
                frame.long[int(operand[3:])].view(kind)
                if np.dtype(kind).itemsize == 8
                else frame.long[int(operand[3:])]
            )
        if operand.startswith("%r"):
            return (
                frame.short[int(operand[2:])].view(kind)
                if np.dtype(kind).itemsize == 4
                else frame.short[int(operand[2:])]
            )
        if operand.startswith("%p"):
            return frame.flags[int(operand[2:])]
        if operand.startswith("%tid"):
            return np.arange(LANES, dtype=np.uint32).view(kind)
        if operand.startswith("%ctaid"):
            return np.zeros(LANES, kind)
        if operand.startswith("0f"):
            return np.uint32(int(operand[2:], 16)).view(np.float32 if kind is np.float32 else np.uint32)
        if operand.startswith("0d"):
            return np.uint64(int(operand[2:], 16)).view(np.float64 if kind is np.float64 else np.uint64)
        if operand in self._variables:
            return np.uint64(self._variables[operand].ctypes.data)
        bits = 8 * np.dtype(kind).itemsize
        return np.array(int(operand) & ((1 << bits) - 1), f"u{bits // 8}").view(kind)[()]

    def _write(self, frame: Frame, operand: str, value: Any, mask: Lanes) -> None:
        if operand.startswith("%p"):
            np.copyto(frame.flags[int(operand[2:])], value, where=mask)
            return
        to = frame.long[int(operand[3:])] if operand.startswith("%rd") else frame.short[int(operand[2:])]
        value = np.asarray(value)
        if value.dtype.itemsize == to.dtype.itemsize:
            value = value.view(to.dtype)
        elif value.dtype.kind == "i":
            value = value.astype(f"i{to.dtype.itemsize}").view(to.dtype)
        np.copyto(to, value.astype(to.dtype, copy=False), where=mask)

    def _place(self, frame: Frame, operand: str) -> tuple[str, int]:
        """Register or name of an address, and what is added to it."""
        base, _, offset = operand[1:-1].partition("+")
        return base, int(offset or 0)

    # Memory ----------------------------------------------------------------------------------------------------------

    def _access(self, frame: Frame, instruction: Instruction, mask: Lanes, at: int) -> None:
        space, kind = instruction.parts[1], KINDS[instruction.parts[-1]]
        store = instruction.parts[0] == "st"
        place, value = instruction.operands if store else instruction.operands[::-1]
        values = [x.strip() for x in value.strip("{}").split(",")]
        size = np.dtype(kind).itemsize
        base, offset = self._place(frame, place)
        if space == "param":
            words = frame.passed if base in ("retval0",) or re.match(r"param\d", base) else frame.parameters
            for k, name in enumerate(values):
                key = (base, offset + k * size)
                if store:
                    if key not in words or words[key].dtype.itemsize != size:  # another call's
                        words[key] = np.zeros(LANES, f"u{size}")
                    x = np.asarray(self._read(frame, name, kind))
                    bits = x.view(f"u{size}") if x.dtype.itemsize == size else x.astype(f"u{size}")
                    np.copyto(words[key], bits, where=mask)
                else:
                    x = words[key]
                    self._write(frame, name, x.astype(f"u{size}").view(kind), mask)
            return
        if base.startswith("%"):
            address = self._read(frame, base, np.uint64) + np.array(offset).astype(np.uint64)
        else:
            address = np.full(LANES, self._variables[base].ctypes.data + offset, np.uint64)
        used = address[mask].astype(np.int64)
        if space == "global":
            last = used + size * len(values) - 1
            self.sectors[at] += len(np.unique(np.concatenate((used >> SECTOR, last >> SECTOR))))
        memory = self._memory[size]
        for k, name in enumerate(values):
            index = (used + k * size - BASE) // size
            if store:
                x = np.broadcast_to(self._read(frame, name, kind), LANES)[mask]
                memory[index] = x.view(memory.dtype) if x.dtype.itemsize == size else x.astype(memory.dtype)
            else:
                x = np.zeros(LANES, memory.dtype)
                x[mask] = memory[index]
                self._write(frame, name, x.view(kind), mask)

    # Execution -------------------------------------------------------------------------------------------------------

    def run(self, entry: str, arguments: Sequence[int]) -> None:
        """Execute a kernel by one warp.

        Args:
            entry: Its name.
            arguments: Addresses and integers.
        """
        function = self.functions[entry]
        words = {
            (name, 0): np.full(LANES, x, np.uint64) for name, x in zip(function.parameters, arguments, strict=True)
        }
        groups: list[tuple[Frame, int, Lanes]] = [(Frame(function, None, 0, words), 0, np.ones(LANES, bool))]
        waiting: list[tuple[Frame, int, Lanes, int]] = []
        living = np.ones(LANES, bool)
        with np.errstate(all="ignore"):
            while groups or waiting:
                if not groups:
                    groups, waiting = self._released(waiting, living)
                k = max(range(len(groups)), key=lambda j: (groups[j][0].depth, -groups[j][1]))
                frame, pc, mask = groups.pop(k)
                for j in reversed(range(len(groups))):
                    if groups[j][0] is frame and groups[j][1] == pc:
                        mask = mask | groups.pop(j)[2]
                self._block(frame, pc, mask, groups, waiting, living)

    def _released(self, waiting: list[Any], living: Lanes) -> tuple[list[Any], list[Any]]:
        """Groups whose barrier all lanes have reached, merged; and those that wait on."""
        there = np.zeros(LANES, bool)
        for _, _, mask, _ in waiting:
            there |= mask
        free, kept = list[Any](), list[Any]()
        for frame, pc, mask, needed in waiting:
            wanted = np.array([bool(needed >> k & 1) for k in range(LANES)]) & living
            if not (wanted & ~there).any():
                same = next((j for j, x in enumerate(free) if x[0] is frame and x[1] == pc), None)
                if same is None:
                    free.append((frame, pc, mask))
                else:
                    free[same] = (frame, pc, free[same][2] | mask)
            else:
                kept.append((frame, pc, mask, needed))
        if not free:
            raise RuntimeError("lanes wait for each other at different barriers")
        return free, kept

    def _block(self, frame: Frame, pc: int, mask: Lanes, groups: list[Any], waiting: list[Any], living: Lanes) -> None:
        """Execute until lanes part, or may meet others."""
        function, count = frame.function, int(mask.sum())
        code, heads = function.code, set(function.labels.values())
        stage = self.stages.setdefault(frame.path, np.zeros(3, np.int64))
        while True:
            instruction, at = code[pc], function.first + pc
            self.issued[at] += 1
            self.active[at] += count
            space = instruction.parts[1] if instruction.parts[0] in ("ld", "st") else ""
            stage += (space != "param", space == "global", -self.sectors[at])
            pc += 1
            name = instruction.parts[0]
            if name in ("bra", "ret", "call", "brx", "bar", "barrier"):
                stage[2] += self.sectors[at]
                self._jump(frame, instruction, pc, mask, groups, waiting, living)
                return
            on = mask
            if instruction.guard:
                on = mask & (frame.flags[int(instruction.guard[2:])] ^ instruction.negated)
            self._execute(frame, instruction, on, at)
            stage[2] += self.sectors[at]
            if pc in heads:
                groups.append((frame, pc, mask))
                return

    def _jump(
        self,
        frame: Frame,
        instruction: Instruction,
        pc: int,
        mask: Lanes,
        groups: list[Any],
        waiting: list[Any],
        living: Lanes,
    ) -> None:
        name, function = instruction.parts[0], frame.function
        taken = mask
        if instruction.guard:
            taken = mask & (frame.flags[int(instruction.guard[2:])] ^ instruction.negated)
            if (mask & ~taken).any():
                groups.append((frame, pc, mask & ~taken))
            if not taken.any():
                return
        if name == "bra":
            groups.append((frame, function.labels[instruction.operands[0]], taken))
        elif name == "brx":
            index, targets = (
                self._read(frame, instruction.operands[0], np.uint32),
                function.tables[instruction.operands[1]],
            )
            for k in np.unique(index[taken]):
                groups.append((frame, function.labels[targets[k]], taken & (index == k)))
        elif name == "call":
            operands = [x for x in instruction.operands if not x.startswith("(retval")]
            callee = self.functions[operands[0]]
            names = [x.strip() for x in operands[1].strip("()").split(",")] if len(operands) > 1 else []
            names_of = dict(zip(names, callee.parameters, strict=True))
            words = {(names_of[base], k): x.copy() for (base, k), x in frame.passed.items() if base in names_of}
            groups.append((Frame(callee, frame, pc, words), 0, taken))
        elif name == "ret":
            if frame.caller is None:
                living &= ~taken
                return
            for (base, k), x in frame.parameters.items():
                if base == "func_retval0":
                    to = frame.caller.passed.setdefault(("retval0", k), np.zeros(LANES, x.dtype))
                    if to.dtype != x.dtype:
                        to = frame.caller.passed["retval0", k] = np.zeros(LANES, x.dtype)
                    np.copyto(to, x, where=taken)
            groups.append((frame.caller, frame.back, taken))
        elif name == "barrier":
            waiting.append((frame, pc, taken, (1 << LANES) - 1))
        else:
            masks = np.broadcast_to(self._read(frame, instruction.operands[0], np.uint32), LANES)
            for needed in np.unique(masks[taken]):
                waiting.append((frame, pc, taken & (masks == needed), int(needed)))

    def _execute(self, frame: Frame, instruction: Instruction, mask: Lanes, at: int) -> None:
        name, parts, operands = instruction.parts[0], instruction.parts, instruction.operands
        if name in ("ld", "st"):
            self._access(frame, instruction, mask, at)
            return
        kind = KINDS.get(parts[-1], np.uint32)
        if parts[-1] == "pred":
            x = [self._read(frame, operand, np.uint32).astype(bool) for operand in operands[1:]]
            self._write(
                frame,
                operands[0],
                (UNARY | {"not": np.logical_not})[name](*x) if len(x) == 1 else BINARY[name](*x),
                mask,
            )
        elif name == "setp":
            x, y = (self._read(frame, operand, kind) for operand in operands[1:3])
            self._write(frame, operands[0], COMPARISONS[parts[1]](x, y), mask)
        elif name == "selp":
            x, y = (self._read(frame, operand, kind) for operand in operands[1:3])
            self._write(frame, operands[0], np.where(self._read(frame, operands[3], bool), x, y).astype(kind), mask)
        elif name in ("mul", "mad") and parts[1] in ("wide", "lo", "hi"):
            self._write(frame, operands[0], self._product(frame, parts, operands, kind), mask)
        elif name == "fma":
            x, y, z = (self._read(frame, operand, kind) for operand in operands[1:4])
            self._write(frame, operands[0], (np.float64(x) * y + z).astype(kind), mask)
        elif name in ("shl", "shr"):
            x = self._read(frame, operands[1], kind)
            count = self._read(frame, operands[2], np.uint32).astype(x.dtype)
            self._write(frame, operands[0], x << count if name == "shl" else x >> count, mask)
        elif name == "cvt":
            to, source = KINDS[parts[-2]], kind
            x = np.broadcast_to(self._read(frame, operands[1], source), LANES)
            if x.dtype.itemsize != np.dtype(source).itemsize:
                x = x.astype(source)
            if "rni" in parts:
                x = np.rint(x)
            self._write(frame, operands[0], x.astype(to), mask)
        elif name == "atom":
            base, offset = self._place(frame, operands[1])
            address, result = self._read(frame, base, np.uint64), np.zeros(LANES, np.uint32)
            for lane in np.flatnonzero(mask):
                word = ctypes.c_uint32.from_address(int(address[lane]) + offset)
                result[lane] = word.value
                word.value += 1
            self._write(frame, operands[0], result, mask)
        elif name == "shfl":
            segment = 32 - (int(operands[3]) >> 8)
            first = np.arange(LANES) & ~(segment - 1)
            source = first + np.broadcast_to(self._read(frame, operands[2], np.uint32), LANES)
            self._write(frame, operands[0], self._read(frame, operands[1], np.uint32)[source.astype(int)], mask)
        elif name in UNARY and len(operands) == 2:
            self._write(frame, operands[0], np.asarray(UNARY[name](self._read(frame, operands[1], kind)), kind), mask)
        elif name in BINARY:
            x, y = (self._read(frame, operand, kind) for operand in operands[1:3])
            if name == "div" and np.issubdtype(kind, np.integer):
                self._write(frame, operands[0], np.trunc(np.divide(x, y)).astype(kind), mask)
            else:
                self._write(frame, operands[0], np.asarray(BINARY[name](x, y), kind), mask)
        else:
            raise NotImplementedError(instruction)

    def _product(self, frame: Frame, parts: tuple[str, ...], operands: tuple[str, ...], kind: Any) -> Any:
        x, y = (np.broadcast_to(self._read(frame, operand, kind), LANES) for operand in operands[1:3])
        bits = 8 * np.dtype(kind).itemsize
        if parts[1] == "hi" or bits == 64:
            products = [int(a) * int(b) for a, b in zip(x, y, strict=True)]
            words = [(p >> bits if parts[1] == "hi" else p) & ((1 << bits) - 1) for p in products]
            product = np.array(words, f"u{bits // 8}").view(kind)
        else:
            wide = np.int64 if np.issubdtype(kind, np.signedinteger) else np.uint64
            product = x.astype(wide) * y.astype(wide)
            if parts[1] == "lo":
                product = product.astype(kind)
        if parts[0] == "mad":
            product = product + self._read(frame, operands[3], product.dtype.type)
        return product
