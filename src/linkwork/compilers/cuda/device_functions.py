# SPDX-License-Identifier: BSD-3-Clause
"""Straight-line programs as LLVM IR for one thread of a GPU: a function of the arrays of one state.

| name      | meaning                                                                                        |
|-----------|------------------------------------------------------------------------------------------------|
| ``%a<k>`` | array ``k`` of this thread's state, inputs then outputs; its numbers are ``%step<k>`` apart       |
| ``%carry``| what the first text carries to further iterations, in local memory; or in global, ``%carry_step`` apart |
| ``%shared``| this thread's first slot in the shared memory of its block; its slots are `THREADS` numbers apart |

Loads and stores of slots are volatile: the assembler leaves values where `allocation` has put them.

A long program is several functions, its parts, which one of them calls in order: the assembler takes time that grows as
the square of a function's length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator

from linkwork.compilers.cuda.allocation import NEVER, Limits, allocate
from linkwork.compilers.cuda.arithmetic import declarations, quotient, root, sincos
from linkwork.compilers.cuda.slots import Action, Allocation, Begin, Compute, Cut, End, Load, Put, Slot, Store
from linkwork.compilers.lanes import Type
from linkwork.compilers.trace.emit import BINARY
from linkwork.compilers.trace.tracing import Trace
from linkwork.model.expressions import CONST, DIV, FMA, INPUT, NEG, RINT, SELECT, SIN, SQRT, operands

TRIPLE = "nvptx64-nvidia-cuda"
GLOBAL, SHARED, LOCAL = "ptr addrspace(1)", "ptr addrspace(3)", "ptr addrspace(5)"
THREADS = 128
"""Threads of a block."""
MULTIPLY_ADD = 'asm "mad.wide.s32 $0, $1, $2, $3;", "=l,r,n,l"'
"""One instruction for an address. LLVM does not look into it: it would look for a shorter way to write each of
thousands of multiples of a stride by all others, which takes ten seconds."""
LONG, LONG_ALONE, PART = 20_000, 40_000, 8192
"""Operations beyond which a program is cut into parts, in a kernel with others and alone in one, and about the most
steps of a part. Between two, values go from registers to memory and back: Digit's dynamics take a fifth more time."""
POOL = "linkwork_pool"
"""The shared memory of a block, as much as a launch asks for."""


def module_head(t: Type) -> str:
    """The head of a module: intrinsics, the pool of shared memory."""
    return f"{thread_head(t)}\n{declarations(t)}"


def thread_head(t: Type) -> str:
    """The head of a module without arithmetic."""
    sizes = [f"declare i32 @llvm.nvvm.read.ptx.sreg.{name}.x()" for name in ("tid", "ctaid", "ntid")]
    pool = f"@{POOL} = external addrspace(3) global [0 x {t.scalar}], align 16"
    return "\n".join([f'target triple = "{TRIPLE}"', *sizes, pool])


def thread_index(t: Type, name: str = "state") -> list[str]:
    """``%state``, or another name: the number of a thread in the grid; ``%shared``: its first slot."""
    return [
        "%thread32 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
        "%block32 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()",
        "%threads32 = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()",
        "%thread = zext i32 %thread32 to i64",
        "%block = zext i32 %block32 to i64",
        "%threads = zext i32 %threads32 to i64",
        "%first = mul i64 %block, %threads",
        f"%{name} = add i64 %first, %thread",
        f"%shared = getelementptr {t.scalar}, {SHARED} @{POOL}, i64 %thread",
    ]


def array_parameters(count: int) -> str:
    """Parameters of a function: where arrays of a state begin, and how far their numbers are apart."""
    return ", ".join(f"{GLOBAL} %a{k}, i64 %step{k}" for k in range(count))


def device_function(
    name: str,
    trace: Trace,
    t: Type,
    limits: Limits,
    at_once: bool = True,
    held: Collection[int] = (),
    global_carry: bool = False,
    ready: Callable[[str], None] = lambda function: None,
) -> tuple[list[str], int]:
    """A program as a function of one state, after those that it calls; and how many slots of shared memory it uses.

    It returns zero, or NaN where a number that it reads or writes is not finite::

        float name(ptr a0, i64 step0, ..., ptr carry, ptr shared)                     carry in local memory
        float name(ptr a0, i64 step0, ..., ptr carry, i64 carry_step, ptr shared)     carry in global memory

    Args:
        name: Of the function.
        trace: The program: one function, without those of further iterations.
        t: Type of its numbers.
        limits: Registers and shared memory of a thread.
        at_once: Whether outputs are written as soon as they are known; not where inputs are outputs too.
        held: Inputs that are the same for all states, and known to be finite.
        global_carry: Whether what is carried to further iterations is in global memory, so that another thread can go
            on with a state.
        ready: Is called with the code of each part when it is written.
    """
    allocation, s = allocate(trace, limits, at_once, part_of(trace)), t.scalar
    emitter = Emitter(trace, t, allocation, held=held, global_carry=global_carry)
    carry = f"{GLOBAL} %carry, i64 %carry_step" if global_carry else f"{LOCAL} %carry"
    parameters = f"{array_parameters(len(trace.inputs) + len(trace.outputs))}, {carry}, {SHARED} %shared"
    begin = [
        f"%spilled = alloca [{max(allocation.local, 1)} x {s}], align {t.bytes}",
        f"%local = addrspacecast ptr %spilled to {LOCAL}",
    ]
    if emitter.is_cut:
        functions, calls = part_functions(name, emitter, parameters, ready)
        lines = [*begin, *calls, f"ret {s} %{name}.written"]
    else:
        functions, lines = [], [*begin, *emitter.lines(), f"%sum = fadd {s} %read, %written", f"ret {s} %sum"]
    return [*functions, function_text(f"define internal {s} @{name}({parameters}) noinline", lines)], allocation.shared


def part_of(trace: Trace, is_alone: bool = False) -> int:
    """About the most steps of a part of a program.

    Args:
        trace: The program.
        is_alone: Whether it is the only one of its kernel, but for further iterations.
    """
    return PART if len(trace.reached()) > (LONG_ALONE if is_alone else LONG) else NEVER


def part_functions(
    name: str, emitter: Emitter, given: str, ready: Callable[[str], None] = lambda function: None
) -> tuple[list[str], list[str]]:
    """The parts of a program as functions, and instructions that call them in order.

    These give ``%<name>.written``: zero, or NaN where a number was not finite.

    Args:
        name: Of the program.
        emitter: Has no prefix.
        given: Arguments of each part, with types, beside ``%local``: slots of local memory.
        ready: Is called with the code of each part when it is written.
    """
    t, s = emitter.t, emitter.t.scalar
    arguments = f"{given}, {LOCAL} %local, {s}"
    functions, calls = list[str](), [f"%{name}.total.0 = fadd {s} {t.number(0.0)}, {t.number(0.0)}"]
    for k, lines in enumerate(emitter.parts("%total")):
        calls.append(f"%{name}.total.{k + 1} = call {s} @{name}_{k}({arguments} %{name}.total.{k})")
        head = f"define internal {s} @{name}_{k}({arguments} %total) noinline"
        functions.append(function_text(head, [*lines, f"%sum = fadd {s} %read, %written", f"ret {s} %sum"]))
        ready(functions[-1])
    calls.append(f"%{name}.written = fadd {s} %{name}.total.{len(functions)}, {t.number(0.0)}")
    return functions, calls


def function_text(head: str, lines: Iterable[str]) -> str:
    """A function of LLVM IR.

    Args:
        head: Up to its body.
        lines: Instructions and labels.
    """
    body = "\n".join(line if line.endswith(":") else f"  {line}" for line in lines)
    return f"{head} {{\nentry:\n{body}\n}}"


def own_module(head: str, function: str) -> str:
    """A function in a module of its own, which others can call.

    Args:
        head: Of the module.
        function: Its text.
    """
    return f"{head}\n{function.replace(' internal', '', 1)}"


def declared(function: str) -> str:
    """The declaration of a function that is defined in another module.

    Args:
        function: Its text.
    """
    return re.sub(r" (noinline )?\{$", "", function.partition("\n")[0]).replace("define internal", "declare", 1)


class Emitter:
    """The instructions of an allocated program. Names begin with ``prefix``; those of the module docstring are given.

    Quotients and square roots of programs that are cut have no branches (`arithmetic`). A kernel that is one function
    is better off with those of the assembler: without them it is one block, of which more values are spilled.

    With ``wide``, arrays begin at addresses ``%base<k>`` and their numbers are ``%bytes<k>`` apart, 32 bits.

    At the end ``%<prefix>read`` and ``%<prefix>written`` are zero, or NaN where a number was read or written that is
    not finite; without ``looks``, only where one was written. Arrays that are ``held`` by the caller are the same for
    all states, and known to be finite.
    """

    def __init__(
        self,
        trace: Trace,
        t: Type,
        allocation: Allocation,
        prefix: str = "",
        held: Collection[int] = (),
        global_carry: bool = False,
        wide: bool = False,
        looks: bool = True,
    ) -> None:
        self.trace, self.t, self.allocation, self.prefix = trace, t, allocation, prefix
        self.global_carry, self.wide, self.looks = global_carry, wide, looks
        self.is_cut = any(isinstance(action, Cut) for action in allocation.actions)
        """Whether there is more than one part."""
        self.held = frozenset(held)
        self.looked_at: set[tuple[int, int]] = set()
        """Numbers of inputs that are known to be finite where ``read`` is."""
        self.inside = False
        self.nodes = trace.graph.nodes
        self.arrays = len(trace.inputs) + len(trace.outputs)
        self.names: dict[int, str] = {}
        self.count = 0
        self.text: list[str] = []

    def lines(self) -> list[str]:
        """All instructions of a program that is not cut."""
        (lines,) = self.parts(self.t.number(0.0))
        return lines

    def parts(self, total: str = "%total") -> Iterator[list[str]]:
        """Instructions of each part.

        Args:
            total: Zero, or NaN where a number was not finite in a part before.
        """
        parts: list[list[Action]] = [[]]
        for action in self.allocation.actions:
            if isinstance(action, Cut):
                parts.append([])
            else:
                parts[-1].append(action)
        return (self._part(actions, total) for actions in parts)

    def _part(self, actions: Iterable[Action], total: str) -> list[str]:
        self.text, self.names, self.count = [], {}, 0
        self.read, self.written = total, self.t.number(0.0)
        saved: dict[int, str] = {}
        for action in actions:
            if isinstance(action, Begin):
                saved = dict(self.names)
                self._begin(action)
            elif isinstance(action, End):
                self.names = saved
                self._end()
            else:
                self._emit(action)
        for name, sum_ in (("read", self.read), ("written", self.written)):
            self.text.append(f"%{self.prefix}{name} = fadd {self.t.scalar} {sum_}, {self.t.number(0.0)}")
        return self.text

    def _noted(self, value: str, total: str) -> str:
        """A total of zeros that is NaN from here on if a value is not finite."""
        name, s = self._new(), self.t.scalar
        zero = self.t.number(0.0)
        self.text.append(f"{name} = call {s} @llvm.fma.{self.t.suffix}({s} {value}, {s} {zero}, {s} {total})")
        return name

    def _new(self) -> str:
        self.count += 1
        return f"%{self.prefix}x{self.count}"

    def _value(self, i: int) -> str:
        node = self.nodes[i]
        return self.t.number(node[1]) if node[0] is CONST else self.names[i]

    def _emit(self, action: Action) -> None:
        s = self.t.scalar
        if isinstance(action, Load):
            name = self._new()
            if action.slot is not None:
                self.text.append(f"{name} = load volatile {s}, {self._slot(action.slot)}")
            else:
                self._read(name, *self.nodes[action.value][1:])
            self.names[action.value] = name
        elif isinstance(action, Store):
            self.text.append(f"store volatile {s} {self._value(action.value)}, {self._slot(action.slot)}")
        elif isinstance(action, Put):
            self._put(action)
        elif isinstance(action, Compute):
            self._compute(action.values)
            self._look_at(operands(self.nodes[action.values[0]]))

    # Memory ---------------------------------------------------------------------------------------------------------

    def _slot(self, slot: Slot) -> str:
        name = self._new()
        space, base, place = (SHARED, "%shared", slot.place * THREADS) if slot.shared else (LOCAL, "%local", slot.place)
        self.text.append(f"{name} = getelementptr {self.t.scalar}, {space} {base}, i64 {place}")
        return f"{space} {name}"

    def _number(self, array: int, place: int) -> str:
        """The address of a number of an array of this state."""
        name, s = self._new(), self.t.scalar
        if array == self.arrays and not self.global_carry:
            self.text.append(f"{name} = getelementptr {s}, {LOCAL} %carry, i64 {place}")
            return f"{LOCAL} {name}"
        if self.wide and array < self.arrays:
            self.text += [
                f"{name}.k = call i64 {MULTIPLY_ADD}(i32 %bytes{array}, i32 {place}, i64 %base{array})",
                f"{name} = inttoptr i64 {name}.k to {GLOBAL}",
            ]
            return f"{GLOBAL} {name}"
        base, step = ("%carry", "%carry_step") if array == self.arrays else (f"%a{array}", f"%step{array}")
        self.text += [
            f"{name}.k = mul i64 {step}, {place}",
            f"{name} = getelementptr {s}, {GLOBAL} {base}, i64 {name}.k",
        ]
        return f"{GLOBAL} {name}"

    def _read(self, name: str, array: int, place: int) -> None:
        """A number of an input."""
        kind = "load" if array in self.held else "load volatile"
        address = self._number(array, place)
        self.text.append(f"{name} = {kind} {self.t.scalar}, {address}")

    def _look_at(self, values: Iterable[int]) -> None:
        """Note inputs that are not finite where they are first used: where they are loaded, the thread would wait."""
        for i in values:
            op, *at = self.nodes[i]
            if op is not INPUT or self.inside or not self.looks or (at[0], at[1]) in self.looked_at:
                continue
            if at[0] < len(self.trace.inputs) and at[0] not in self.held:
                self.looked_at.add((at[0], at[1]))
                self.read = self._noted(self.names[i], self.read)

    def _put(self, action: Put) -> None:
        t, symbol = self.t, self.trace.results[action.array][action.place]
        value = self._value(action.value)
        if symbol.minus:
            name = self._new()
            self.text.append(f"{name} = fneg {t.scalar} {value}")
            value = name
        array = self.arrays if action.array == len(self.trace.outputs) else len(self.trace.inputs) + action.array
        self.text.append(f"store {t.scalar} {value}, {self._number(array, action.place)}")
        if array < self.arrays and self.nodes[action.value][0] is not CONST:
            self.written = self._noted(value, self.written)

    # Arithmetic -----------------------------------------------------------------------------------------------------

    def _compute(self, values: tuple[int, ...]) -> None:
        t, s = self.t, self.t.scalar
        i = values[0]
        op, *rest = self.nodes[i]
        operands = [self._value(k) for k in rest]
        name = self._new()
        self.names[i] = name
        if op is DIV and self.is_cut:
            self.text += quotient(t, name, *operands)
        elif op in BINARY:
            self.text.append(f"{name} = {BINARY[op]} contract {s} {operands[0]}, {operands[1]}")
        elif op is NEG:
            self.text.append(f"{name} = fneg {s} {operands[0]}")
        elif op is SQRT and self.is_cut:
            self.text += root(t, name, operands[0])
        elif op is SQRT or op is RINT:
            self.text.append(f"{name} = call {s} @llvm.{op}.{t.suffix}({s} {operands[0]})")
        elif op is FMA:
            arguments = ", ".join(f"{s} {x}" for x in operands)
            self.text.append(f"{name} = call {s} @llvm.fma.{t.suffix}({arguments})")
        elif op is SELECT:
            self.text.append(f"{name}.m = fcmp olt {s} {operands[0]}, {operands[1]}")
            self.text.append(f"{name} = select i1 {name}.m, {s} {operands[2]}, {s} {operands[3]}")
        else:
            lines, results = sincos(t, operands[0], f"{name[1:]}.")
            self.text += lines
            for k in values:
                self.names[k] = results[0 if self.nodes[k][0] is SIN else 1]

    # Branches ---------------------------------------------------------------------------------------------------------

    def _begin(self, action: Begin) -> None:
        self.label, self.inside = self._new()[1:], True
        below, bound = self._value(action.below), self._value(action.bound)
        self.text += [
            f"%{self.label} = fcmp olt {self.t.scalar} {below}, {bound}",
            f"br i1 %{self.label}, label %then.{self.label}, label %after.{self.label}",
            f"then.{self.label}:",
        ]

    def _end(self) -> None:
        self.text += [f"br label %after.{self.label}", f"after.{self.label}:"]
        self.inside = False
