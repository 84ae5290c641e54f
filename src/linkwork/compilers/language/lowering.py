# SPDX-License-Identifier: BSD-3-Clause
"""Kernel code to LLVM IR, by its syntax tree: one function of machine code for a kernel and the types of its arguments.

`Unit` is a module of LLVM IR that grows by the functions that are called; `Lowering` walks the code of one of them.
Types are inferred on the way: they are those of the arguments, of the arrays of tables, and of constants. A float is
one number or a vector with one state in each lane, whatever `Type` the unit has; integers are the same for all lanes,
so that lanes never part. Local variables that are assigned once are values; the others are memory that LLVM turns into
registers. [docs/internals/kernels.md] says what may be written.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import Any

from linkwork.compilers.lanes import Type
from linkwork.compilers.language.arithmetic import binary
from linkwork.compilers.language.expressions import INLINE_ALL, INLINE_SIZE
from linkwork.compilers.language.fingerprint import is_own
from linkwork.compilers.language.instructions import Slot, Unset
from linkwork.compilers.language.loops import Loops
from linkwork.compilers.language.module import Lowered, Module
from linkwork.compilers.language.sincos import DOUBLE, SINCOS_NEEDS, SINGLE, sincos_function, sincos_text
from linkwork.compilers.language.values import (
    Array,
    Bool,
    Fixed,
    Float,
    RecordType,
    Source,
    Value,
    entries_of,
    source_of,
    type_of,
    word,
)
from linkwork.kernels.scalar import any_below

STATEMENTS = "assignments, if, for ... in range(...), while, return and calls"
STATEMENT_ADVICE = {
    "Break": "put the loop into a kernel of its own and return, or use while",
    "Continue": "put the rest under an if",
    "FunctionDef": "define kernels at the top of the file",
    "Import": "import at the top of the file",
    "ImportFrom": "import at the top of the file",
    "Assert": "check before the kernel is called",
    "Raise": "check before the kernel is called",
    "Try": "check before the kernel is called",
}


class Unit(Module):
    """A module of LLVM IR: functions are made when they are first called."""

    def function(
        self,
        function: Callable[..., Any],
        kinds: Sequence[Any],
        caller: Source,
        node: ast.AST,
        in_one_lane: bool = False,
    ) -> Lowered:
        """The machine code of a kernel for arguments of these types; of a warp, or for one lane of it."""
        alone = in_one_lane and self.is_warp
        key = (function, tuple(kinds), alone)
        if (known := self._functions.get(key)) is not None:
            return known
        if any(lowered is None and open[0] is function for open, lowered in self._functions.items()):
            raise caller.error(node, f"{function.__name__} calls itself: kernels are not recursive; use a loop")
        self._functions[key] = None
        symbol = f"{self.prefix}{re.sub('[^A-Za-z0-9_]', '_', function.__name__)}.{len(self._functions)}"
        source = source_of(function)
        try:
            lowered, text = Lowering(self, source, symbol, alone).run(kinds)
        except RecursionError:
            raise source.error(source.tree, "an expression is nested too deeply: use several lines") from None
        self._text.append(text)
        self._functions[key] = lowered
        return lowered

    def root(self, function: Callable[..., Any], kinds: Sequence[Any]) -> Lowered:
        """The lowered form of a kernel that no other calls."""
        source = source_of(function)
        names, kinds = source.names, source.gather(kinds)
        if len(names) != len(kinds):
            raise source.error(source.tree, f"{function.__name__} takes {len(names)} arguments, needs {len(kinds)}")
        return self.function(function, kinds, source, source.tree)

    def sincos(self, caller: Source, node: ast.AST) -> str:
        """The function for sine and cosine: polynomials, and the C library for angles beyond `LIMIT`, lane by lane.

        (Called `sincos` it would be taken for the C library's, to which LLVM turns the slow branch.)
        """
        if not self._sincos:
            self._sincos = f"{self.prefix}linkwork_sincos"
            polynomials = DOUBLE if self.t.dtype == "float64" else SINGLE
            lowered = self.function(sincos_text, (Float, Fixed(polynomials)), caller, node)
            if SINCOS_NEEDS not in self._text:
                self._text.append(SINCOS_NEEDS)
            self._text.append(sincos_function(self.t, self._sincos, lowered.name, self.context))
        return self._sincos

    def inlining(self, source: Source, size: int) -> str:
        """The attribute of LLVM that says whether a function is inlined.

        Args:
            source: Its text.
            size: Size of its code, with all functions that it calls.
        """
        short = size < INLINE_ALL or is_own(source.function)
        return "alwaysinline" if source.size < INLINE_SIZE and short and not self.checked else ""

    def lane_unit(self) -> LaneUnit:
        """Where functions are for the state in one lane; part of the same code."""
        if self._lane is None:
            self._lane = LaneUnit(self)
        assert isinstance(self._lane, LaneUnit)
        return self._lane


class LaneUnit(Unit):
    """Functions for the state in one lane of a unit in lanes: scalar code, whose numbers are as many apart."""

    context = "ptr %c, i64 %lane"
    one_lane = True
    prefix = "lane."

    def __init__(self, lanes: Unit) -> None:
        super().__init__(Type(lanes.t.dtype, 1), lanes.layout, lanes.words, bool(lanes.flags))
        self.spacing = lanes.t.lanes
        self._text, self._constants, self._tags = lanes._text, lanes._constants, lanes._tags


class RowUnit(Unit):
    """Functions for one state whose arrays are as callers have them, beside a unit in lanes: without work arrays."""

    prefix = "row."

    def __init__(self, lanes: Unit) -> None:
        super().__init__(Type(lanes.t.dtype, 1), lanes.layout, lanes.words, bool(lanes.flags))
        self._text, self._constants, self._tags = lanes._text, lanes._constants, lanes._tags


def _is_of_floats(kind: Any) -> bool:
    """Whether values of a type are floats, or tuples of them."""
    parts = kind.fields if isinstance(kind, RecordType) else kind
    return all(map(_is_of_floats, parts)) if isinstance(parts, tuple) else kind is Float


class Lowering(Loops):
    """The code of one kernel, for arguments of given types."""

    def __init__(self, unit: Unit, source: Source, name: str, in_one_lane: bool = False) -> None:
        super().__init__(unit, source, name)
        self.in_one_lane = in_one_lane
        self._returns = [node for node in ast.walk(source.tree) if isinstance(node, ast.Return)]
        self._result: Slot | None = None
        self._direct: Value = None

    def run(self, kinds: Sequence[Any]) -> tuple[Lowered, str]:
        """The function, and its text."""
        tree, unit = self.source.tree, self.unit
        known = f"align 8 dereferenceable({8 * unit.words}) " if unit.words else ""
        attributes = f"{unit.pointer} noalias readonly {known}%c"
        parameters = [unit.context.replace(f"{unit.pointer} %c", attributes, 1)]
        names = self.source.names
        counter = iter(range(10**9))
        for name, kind in zip(names, kinds, strict=True):
            types = unit.llvm_types(kind)
            registers = [f"%a{next(counter)}" for _ in types]
            parameters += [f"{t} {g}" for t, g in zip(types, registers, strict=True)]
            value = self.rebuilt(kind, iter(registers))
            if self._assigned[name]:
                self._assigned[name] += 1
                self.bind(tree, name, value)
            else:
                self._names[name] = value
        self.block(tree.body)
        result = self.finish()
        inline = unit.inlining(self.source, self.size_of_text)
        head = f"define internal {unit.result_type(result)} @{self.symbol}({', '.join(parameters)}) #0 {inline} {{"
        text = "\n  ".join(["entry:", *self._head, *self._lines])
        return Lowered(self.symbol, result, self.size_of_text), f"{head}\n{text}\n}}"

    def finish(self) -> Any:
        """The end of the function; the type that it returns."""
        if self._direct is not None:
            kind = type_of(self._direct)
            self.give_back(self._direct)
            return kind
        if self._result is not None and self._open:
            raise self.error(
                self.source.tree, "some paths through the kernel end without a return: return a value on all of them"
            )
        self.branch("exit")
        self.label("exit")
        if self._result is None:
            self.emit("ret void")
            return None
        self.give_back(self.load_slot(self._result))
        return self._result.kind

    def give_back(self, value: Value) -> None:
        """The instruction that returns a value."""
        kind = type_of(value)
        types, parts = self.unit.llvm_types(kind), self.parts(value)
        if len(parts) == 1:
            self.emit(f"ret {types[0]} {parts[0]}")
            return
        whole, merged = self.unit.result_type(kind), "poison"
        for k, (t, part) in enumerate(zip(types, parts, strict=True)):
            name = self.new("r")
            self.emit(f"{name} = insertvalue {whole} {merged}, {t} {part}, {k}")
            merged = name
        self.emit(f"ret {whole} {merged}" if parts else "ret void")

    def merge(self, before: dict[str, Any], paths: Sequence[dict[str, Any]]) -> None:
        """Merges the values of names where several paths through the code meet."""
        merged: dict[str, Any] = {}
        for name in {name for path in paths for name in path}:
            values = [path.get(name) for path in paths]
            if all(x is values[0] for x in values):
                merged[name] = values[0]
            elif any(x is None for x in values):
                merged[name] = Unset(f"{name} has no value on some paths to this line: set it before the branch")
            else:
                merged[name] = Unset(f"{name} has values of several types on the paths to this line")
        self._names = merged

    # Statements -------------------------------------------------------------------------------------------------------

    def block(self, body: Sequence[ast.stmt]) -> None:
        """Statements in order; those after a return are never reached."""
        for statement in body:
            if not self._open:
                return
            lower = getattr(self, f"lower_{type(statement).__name__}", None)
            if lower is None:
                kind = type(statement).__name__
                advice = f": {STATEMENT_ADVICE[kind]}" if kind in STATEMENT_ADVICE else ""
                raise self.error(
                    statement, f"{kind} is not part of the kernel language, which has {STATEMENTS}{advice}"
                )
            lower(statement)

    def lower_Pass(self, statement: ast.Pass) -> None:
        """Nothing."""

    def lower_Expr(self, statement: ast.Expr) -> None:
        """A call for its effects, or a docstring."""
        if not isinstance(statement.value, ast.Constant):
            self.expression(statement.value)

    def lower_Assign(self, statement: ast.Assign) -> None:
        """A value for one or several targets."""
        value = self.expression(statement.value)
        for target in statement.targets:
            self.assign(target, value)

    def lower_AnnAssign(self, statement: ast.AnnAssign) -> None:
        """A value for a target whose type is written beside it."""
        if statement.value is None:
            raise self.error(statement, "a variable needs a value")
        self.assign(statement.target, self.expression(statement.value))

    def assign(self, target: ast.expr, value: Value) -> None:
        """Put a value where a target says."""
        if isinstance(target, ast.Name):
            self.bind(target, target.id, value)
        elif isinstance(target, ast.Tuple):
            entries = entries_of(value)
            if entries is None or len(entries) != len(target.elts):
                raise self.error(target, f"{word(type_of(value))} cannot be unpacked into {len(target.elts)} names")
            for part, x in zip(target.elts, entries, strict=True):
                self.assign(part, x)
        elif isinstance(target, ast.Subscript):
            array = self.expression(target.value)
            if not isinstance(array, Array):
                raise self.error(target, f"{word(type_of(array))} cannot be assigned to: only entries of arrays can")
            self.store(target, array, self.indices(target.slice), value)
        else:
            raise self.error(target, "only names and entries of arrays can be assigned to")

    def lower_AugAssign(self, statement: ast.AugAssign) -> None:
        """``+=`` and the like."""
        target = statement.target
        if isinstance(target, ast.Name):
            value = self.expression(statement.value)
            self.bind(target, target.id, binary(self, statement, statement.op, self.name(target, target.id), value))
        elif isinstance(target, ast.Subscript):
            array = self.expression(target.value)
            if not isinstance(array, Array):
                raise self.error(target, f"{word(type_of(array))} cannot be assigned to: only entries of arrays can")
            at = self.indices(target.slice)
            old = self.load(target, array, at)
            value = self.expression(statement.value)
            self.store(target, array, at, binary(self, statement, statement.op, old, value))
        else:
            raise self.error(target, "only names and entries of arrays can be assigned to")

    def lower_If(self, statement: ast.If) -> None:
        """A branch; one that a constant decides is taken or left out when the kernel is compiled."""
        tests = self._skippable_tests(statement.test)
        self.skippable = tests if not statement.orelse else ()
        test = self.condition(statement.test)
        if tests:
            self._check_skippable(statement)
        self.skipped += bool(tests)
        self._branch(statement, test)
        self.skipped -= bool(tests)

    def _branch(self, statement: ast.If, test: bool | Bool) -> None:
        if isinstance(test, bool):
            self.block(statement.body if test else statement.orelse)
            return
        then, otherwise, after = (self.fresh_label(p) for p in ("then", "else", "after"))
        before = self._names
        self.fork(test, then, otherwise if statement.orelse else after)
        paths = [] if statement.orelse else [before]
        for name, body in ((then, statement.body), (otherwise, statement.orelse)):
            if body:
                self._names = dict(before)
                self.label(name)
                self.block(body)
                if self._open:
                    paths.append(self._names)
                self.branch(after)
        if paths:
            self.merge(before, paths)
            self.label(after)

    def _skippable_tests(self, test: ast.expr) -> tuple[ast.expr, ...]:
        """Calls of `any_below` that decide a branch."""
        if isinstance(test, ast.BoolOp):
            return tuple(tests for part in test.values for tests in self._skippable_tests(part))
        if not isinstance(test, ast.Call) or not isinstance(test.func, ast.Name | ast.Attribute):
            return ()
        return (test,) if self.expression(test.func) is any_below else ()

    def _check_skippable(self, statement: ast.If) -> None:
        """Branches that only save work change floats alone: integers, and what is run, are those of all states."""
        for node in (inner for part in statement.body for inner in ast.walk(part)):
            if isinstance(node, ast.Return):
                raise self.error(node, "no return inside if any_below(...): all states take the same path")
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in self._names:
                before = self._names[node.id]
                kind = before.kind if isinstance(before, Slot) else type_of(before)
                if not isinstance(before, Unset) and not _is_of_floats(kind):
                    raise self.error(node, f"{node.id} is {word(kind)}, which cannot change inside if any_below(...)")

    def lower_Return(self, statement: ast.Return) -> None:
        """The value of the kernel."""
        value = None if statement.value is None else self.expression(statement.value)
        if value is None:
            if any(other.value is not None for other in self._returns):
                raise self.error(statement, "other returns have a value: return one on all paths through the kernel")
            self.branch("exit")
            return
        if len(self._returns) == 1 and statement is self.source.tree.body[-1]:
            self._direct = value
            return
        kind = type_of(value)
        if self._result is None:
            self._result = self.slot(("return",), kind)
        if self._result.kind != kind:
            raise self.error(
                statement, f"returns {word(kind)}, elsewhere {word(self._result.kind)}: one type for all returns"
            )
        self.store_slot(self._result, value)
        self.branch("exit")
