# SPDX-License-Identifier: BSD-3-Clause
"""Loops of kernel code in LLVM IR: ``for``, ``while``, and `scalar.prange`, whose iterations lanes of a warp share."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from linkwork.compilers.language.expressions import Expressions
from linkwork.compilers.language.fingerprint import is_own
from linkwork.compilers.language.instructions import Unset
from linkwork.compilers.language.values import Bool, Int, Value
from linkwork.kernels.scalar import aligned_entries, prange

FEW = 9
"""Iterations between constants that a GPU has one after the other, without a loop."""
SHORT = 1024
"""Loops between smaller constants end soon."""


class Loops(Expressions):
    """Statements that repeat others."""

    def block(self, body: Sequence[ast.stmt]) -> None:
        """Statements in order."""
        raise NotImplementedError

    def loop_body(self, statement: ast.For | ast.While, before: dict[str, Any], latch: str) -> None:
        """The body of a loop, and the values of names after it."""
        if statement.orelse:
            raise self.error(statement, "a loop has no else in the kernel language")
        self._loops += 1
        self.block(statement.body)
        self._loops -= 1
        self.branch(latch, self.unit.loop_notes if isinstance(statement, ast.While) else "")
        for name, value in before.items():
            if self._names.get(name) is not value and not isinstance(value, Unset):
                raise self.error(statement, f"{name} has another type after the loop's body than before: use two names")
        inside = set(self._names) - set(before)
        after = {name: Unset(f"{name} is set inside a loop that may not run: set it before") for name in inside}
        self._names = {**before, **after}

    def lower_For(self, statement: ast.For) -> None:
        """``for k in range(...)``, or ``prange``, whose iterations the lanes of a warp share."""
        call = statement.iter
        named = isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        function = self.expression(call.func) if named and isinstance(call, ast.Call) else None
        if function not in (range, prange) or not isinstance(call, ast.Call) or call.keywords:
            raise self.error(statement, "loops are for k in range(...), with one name")
        if not isinstance(statement.target, ast.Name):
            raise self.error(statement, "loops are for k in range(...), with one name")
        if not 1 <= len(call.args) <= 3:
            raise self.error(statement, f"range takes one to three integers, not {len(call.args)}")
        arguments = [self.expression(argument) for argument in call.args]
        operands = [self.as_int(argument, x) for argument, x in zip(call.args, arguments, strict=True)]
        step = arguments[2] if len(arguments) == 3 else 1
        if not isinstance(step, int) or step == 0:
            raise self.error(statement, "the step of a range is a constant, and not zero")
        first, last = ("0", operands[0]) if len(arguments) == 1 else (operands[0], operands[1])
        bounds = [0, arguments[0]] if len(arguments) == 1 else arguments[:2]
        if all(isinstance(x, int) for x in bounds) and not range(bounds[0], bounds[1], step):
            return
        if function is prange:
            self._check_independent(statement)
        shared, stride = function is prange and self.unit.is_warp and not self.in_one_lane, step
        if shared:
            first, stride, close = self._dealt(first, step)
        head, body, latch, end = (self.fresh_label(p) for p in ("head", "body", "latch", "end"))
        before, start = dict(self._names), self._block
        k, following = self.new("k"), self.new("k")
        self.branch(head)
        self.label(head)
        self.emit(f"{k} = phi {self.unit.integer} [ {first}, %{start} ], [ {following}, %{latch} ]")
        order = "slt" if step > 0 else "sgt"
        self.fork(Bool(self.made(f"icmp {order} {self.unit.integer} {k}, {last}")), body, end)
        self.label(body)
        self.count_iteration(statement, bounds, end)
        self.bind(statement.target, statement.target.id, Int(k))
        variable = statement.target.id
        if variable in before and self._names[variable] is not before[variable]:
            before.pop(variable)
        self.in_one_lane = self.in_one_lane or shared
        self.loop_body(statement, before, latch)
        self.label(latch)
        self.emit(f"{following} = add nsw {self.unit.integer} {k}, {stride}")
        plain = not any(self._is_long(node) for x in statement.body for node in ast.walk(x))
        counted = all(isinstance(x, int) for x in bounds) and (bounds[1] - bounds[0]) // step <= FEW
        notes = self.unit.few_loop_notes if plain and counted else self.unit.loop_notes
        self.branch(head, self.unit.short_loop_notes if plain and self.in_one_lane and not counted else notes)
        self.label(end)
        if shared:
            self.in_one_lane = False
            close()

    def _is_long(self, node: ast.AST) -> bool:
        """Whether a part of a loop's body is a loop, or a call of more than loads."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self.expression(node.func) is not aligned_entries
        return isinstance(node, ast.Call | ast.For | ast.While)

    def _check_independent(self, statement: ast.For) -> None:
        """Refuse variables that iterations of a `prange` would hand to one another, and returns."""
        for node in (inner for part in statement.body for inner in ast.walk(part)):
            if isinstance(node, ast.Return):
                raise self.error(node, "no return inside prange: lanes of a warp make its iterations at the same time")
            stored = node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else ""
            if stored in self._names and not isinstance(self._names[stored], Unset):
                raise self.error(
                    node, f"{stored} has a value before prange, whose iterations are independent: use another name"
                )

    def _dealt(self, first: str, step: int) -> tuple[str, int, Callable[[], None]]:
        """Of a `prange`: the first iteration of a lane, the step to its next, and the end of the loop.

        The lanes of a GPU are at work at the same time; in emulation they are one after the other, the last lane first.
        """
        unit, integer = self.unit, self.unit.integer
        if not unit.is_emulated:
            self.emit("call void @llvm.nvvm.bar.warp.sync(i32 %mask)")
            start = self.made(f"add nsw {integer} {first}, {self.made(f'mul nsw {integer} %lane, {step}')}")
            return start, step * unit.group, lambda: self.emit("call void @llvm.nvvm.bar.warp.sync(i32 %mask)")
        head, body, end = (self.fresh_label(p) for p in ("lane", "body", "end"))
        before, lane, following = self._block, self.new("lane"), self.new("lane")
        last = self.fresh_label("last")
        self.branch(head)
        self.label(head)
        self.emit(f"{lane} = phi {integer} [ {unit.group - 1}, %{before} ], [ {following}, %{last} ]")
        self.fork(Bool(self.made(f"icmp sge {integer} {lane}, 0")), body, end)
        self.label(body)
        start = self.made(f"add nsw {integer} {first}, {self.made(f'mul nsw {integer} {lane}, {step}')}")

        def close() -> None:
            self.branch(last)
            self.label(last)
            self.emit(f"{following} = sub {integer} {lane}, 1")
            self.branch(head)
            self.label(end)

        return start, step * unit.group, close

    def count_iteration(self, statement: ast.For | ast.While, bounds: Sequence[Value], end: str) -> None:
        """In guarded code, the end of a loop that has gone on for too long, or that a user interrupts.

        Loops of the package end by themselves, and those between constants that are few, unless more is checked.
        """
        guards = self.unit.guards
        short = bool(bounds) and all(isinstance(x, int) and abs(x) <= SHORT for x in bounds)
        if guards is None or (not guards.checked and (short or is_own(self.source.function))):
            return
        words = "loops went round {first} times for one state, this one last: does it end? (`checked=False`: no limit)"
        site, on = guards.site(self.source, statement, words), self.fresh_label("on")
        self.fork(Bool(self.made(f"call i1 @linkwork_iterate(ptr %c, i64 {site})")), on, end)
        self.label(on)

    def lower_While(self, statement: ast.While) -> None:
        """A loop on integers."""
        head, body, end = (self.fresh_label(p) for p in ("head", "body", "end"))
        before = dict(self._names)
        self.branch(head)
        self.label(head)
        test = self.condition(statement.test)
        if isinstance(test, bool):
            raise self.error(statement, "a while loop needs a condition that integers decide")
        self.fork(test, body, end)
        self.label(body)
        self.count_iteration(statement, (), end)
        self.loop_body(statement, before, head)
        self.label(end)
