# SPDX-License-Identifier: BSD-3-Clause
"""Expressions of kernel code: operators, entries of arrays and tuples, and calls."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Hashable
from itertools import takewhile
from typing import Any

from linkwork.compilers.language.arithmetic import FOLDED, binary, within_64_bits
from linkwork.compilers.language.fingerprint import is_own
from linkwork.compilers.language.line_functions import LINE_FUNCTIONS
from linkwork.compilers.language.memory import Writer
from linkwork.compilers.language.module import Foreign
from linkwork.compilers.language.scalar_functions import SCALAR_FUNCTIONS
from linkwork.compilers.language.values import (
    Array,
    Bool,
    Fixed,
    Float,
    Int,
    Record,
    Table,
    Value,
    entries_of,
    field_defaults,
    field_names,
    is_number,
    is_record_class,
    source_of,
    type_of,
    word,
)

INLINE_SIZE = 200
"""Kernels with fewer nodes of syntax than this are always inlined: calling them costs more than they do."""

INLINE_ALL = 50_000
"""Limit with all functions that they call, for kernels from outside the package."""

MOST_TEXT = 2_000_000
"""Nodes of syntax of a kernel with all that it calls, each as often as it is called."""

COMPARISONS = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "slt", ast.LtE: "sle", ast.Gt: "sgt", ast.GtE: "sge"}
ADVICE = {
    "sin": "use sincos(x), which gives both",
    "cos": "use sincos(x), which gives both",
    "sqrt": "use sqrt of linkwork.kernels.scalar",
    "abs": "use where(x, 0.0, -x, x)",
    "min": "use where(x, y, x, y)",
    "max": "use where(x, y, y, x)",
    "print": "run the kernel as plain Python to look at it",
    "int": "integers come from tables and loops; a float cannot become one",
    "enumerate": "use for k in range(n)",
    "zip": "use for k in range(n)",
    "dot": "write the sum out, or use linkwork.kernels.spatial",
}
NODE_ADVICE = {
    "List": "use a tuple, or a work array",
    "ListComp": "use a loop and a work array",
    "GeneratorExp": "use a loop",
    "Dict": "use a tuple that an integer indexes",
    "Set": "use a tuple",
    "Lambda": "define a kernel with def",
    "JoinedStr": "there is no text in kernels",
    "NamedExpr": "assign on a line of its own",
    "Starred": "write the arguments out",
}


class Expressions(Writer):
    """The lowering of expressions to instructions."""

    def expression(self, node: ast.expr | ast.AST) -> Value:
        """The value of an expression."""
        lower = getattr(self, f"value_{type(node).__name__}", None)
        if lower is None:
            kind = type(node).__name__
            advice = f": {NODE_ADVICE[kind]}" if kind in NODE_ADVICE else ""
            raise self.error(node, f"{kind} is not part of the kernel language{advice}")
        return lower(node)

    def value_Constant(self, node: ast.Constant) -> Value:
        """A number."""
        return node.value

    def value_Name(self, node: ast.Name) -> Value:
        """A variable or a constant."""
        return self.name(node, node.id)

    def value_Tuple(self, node: ast.Tuple) -> Value:
        """Several values."""
        return tuple(self.expression(part) for part in node.elts)

    def value_Attribute(self, node: ast.Attribute) -> Value:
        """An array or a size of a table; a field of a record; an attribute of a constant."""
        base = self.expression(node.value)
        if isinstance(base, Table):
            return self.of_table(node, base, node.attr)
        if isinstance(base, Record):
            return self.of_record(node, base, node.attr)
        if isinstance(base, Int | Bool | Float | Array) or type(base) is tuple:
            raise self.error(node, f"{word(type_of(base))} has no attributes in the kernel language")
        if not hasattr(base, node.attr):
            raise self.error(node, f"{base!r} has no attribute {node.attr}")
        return getattr(base, node.attr)

    def of_record(self, node: ast.AST, record: Record, name: str) -> Value:
        """A field of a record."""
        names = field_names(record.type)
        if name not in names:
            close = difflib.get_close_matches(name, names, 1)
            advice = f"; did you mean {close[0]}?" if close else f", which has {', '.join(names)}"
            raise self.error(node, f"there is no field {name} of a {record.type.__name__}{advice}")
        return record.get(name)

    def condition(self, node: ast.AST) -> bool | Bool:
        """A truth value of the code; constants decide when the kernel is compiled."""
        value = self.expression(node)
        if isinstance(value, Bool):
            return value
        if isinstance(value, Float):
            raise self.error(
                node, "a number of the state cannot decide a branch: all lanes take the same one; use where()"
            )
        if isinstance(value, Int | Array | Record | tuple):
            raise self.error(node, f"{word(type_of(value))} is not a truth value: compare it, as in x != 0")
        return bool(value)

    def value_BinOp(self, node: ast.BinOp) -> Value:
        """Arithmetic."""
        left = self.expression(node.left)
        return binary(self, node, node.op, left, self.expression(node.right))

    def value_UnaryOp(self, node: ast.UnaryOp) -> Value:
        """``-x`` and ``not x``."""
        if isinstance(node.op, ast.Not):
            test = self.condition(node.operand)
            return not test if isinstance(test, bool) else Bool(self.made(f"xor i1 {test.name}, true"))
        value = self.expression(node.operand)
        if not isinstance(node.op, ast.USub):
            raise self.error(node, f"{type(node.op).__name__} is not part of the kernel language")
        if is_number(value):
            return -value
        if isinstance(value, Float):
            return Float(self.made(f"fneg {self.unit.t.name} {value.name}"))
        if self.unit.checked:
            return Int(within_64_bits(self, node, ast.Sub, "0", self.as_int(node, value)))
        return Int(self.made(f"sub nsw {self.unit.integer} 0, {self.as_int(node, value)}"))

    def value_Compare(self, node: ast.Compare) -> Value:
        """Integers compared."""
        if len(node.ops) != 1:
            raise self.error(node, "one comparison at a time: write a < b and b < c")
        op, a, b = type(node.ops[0]), self.expression(node.left), self.expression(node.comparators[0])
        if op not in COMPARISONS:
            raise self.error(node, f"{op.__name__} is not part of the kernel language, which has == != < <= > >=")
        if is_number(a) and is_number(b):
            return bool(FOLDED[op](a, b))
        if isinstance(a, Float | float) or isinstance(b, Float | float):
            raise self.error(
                node, "floats are not compared: all lanes take the same branch; use where(x, bound, then, otherwise)"
            )
        compared = f"{COMPARISONS[op]} {self.unit.integer} {self.as_int(node, a)}, {self.as_int(node, b)}"
        return Bool(self.made(f"icmp {compared}"))

    def value_BoolOp(self, node: ast.BoolOp) -> Value:
        """``and`` and ``or``: what comes after is looked at only where it matters."""
        stops = isinstance(node.op, ast.Or)
        result: bool | Bool = not stops
        ends: list[tuple[str, str]] = []
        end = ""
        for k, part in enumerate(node.values):
            if isinstance(result, Bool):
                if not end:
                    end = self.fresh_label("decided")
                following = self.fresh_label("next")
                ends.append((result.name, self._block))
                self.fork(result, end if stops else following, following if stops else end)
                self.label(following)
            value = self.condition(part)
            if isinstance(value, bool):
                if value == stops:
                    result = value
                    if self.unit.checked and any(inner in self.skippable for inner in ast.walk(part)):
                        for rest in node.values[k + 1 :]:  # what some states look at
                            self.condition(rest)
                    break
                if isinstance(result, bool):
                    continue
            result = value
        if not end:
            return result
        ends.append((self.truth(result), self._block))
        self.branch(end)
        self.label(end)
        return Bool(self.made("phi i1 " + ", ".join(f"[ {value}, %{block} ]" for value, block in ends)))

    def value_IfExp(self, node: ast.IfExp) -> Value:
        """``a if test else b``."""
        test = self.condition(node.test)
        if isinstance(test, bool):
            return self.expression(node.body if test else node.orelse)
        then, otherwise, after = (self.fresh_label(p) for p in ("then", "else", "after"))
        self.fork(test, then, otherwise)
        branches = []
        for name, body in ((then, node.body), (otherwise, node.orelse)):
            self.label(name)
            value = self.expression(body)
            branches.append((type_of(value), self.parts(value), self._block))
            self.branch(after)
        (kind, xs, left), (other, ys, right) = branches
        if kind != other:
            raise self.error(node, f"{word(kind)} if the test holds, else {word(other)}: both need one type")
        self.label(after)
        names = []
        for t, x, y in zip(self.unit.llvm_types(kind), xs, ys, strict=True):
            names.append(self.made(f"phi {t} [ {x}, %{left} ], [ {y}, %{right} ]"))
        return self.rebuilt(kind, iter(names))

    # Arrays and tuples ------------------------------------------------------------------------------------------------

    def value_Subscript(self, node: ast.Subscript) -> Value:
        """An entry, a row, or a part of the first axis."""
        base = self.expression(node.value)
        if isinstance(base, Record):
            base = base.fields
        if isinstance(base, tuple):
            if isinstance(node.slice, ast.Slice):
                return self.part_of_tuple(node, base, node.slice)
            return self.of_tuple(node, base, self.indices(node.slice))
        if not isinstance(base, Array):
            raise self.error(node, f"{word(type_of(base))} has no entries")
        if isinstance(node.slice, ast.Slice):
            if node.slice.step is not None:
                raise self.error(node, "slices have no step in the kernel language")
            high = None if node.slice.upper is None else self.expression(node.slice.upper)
            low = 0 if node.slice.lower is None else self.expression(node.slice.lower)
            return self.part(node, base, low, high)
        return self.load(node, base, self.indices(node.slice))

    def indices(self, node: ast.expr) -> list[Value]:
        """The values between brackets."""
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        if any(isinstance(part, ast.Slice) for part in parts):
            raise self.error(node, "slices are for the first axis alone, and to read")
        return [self.expression(part) for part in parts]

    def part_of_tuple(self, node: ast.AST, value: tuple[Any, ...], part: ast.Slice) -> Value:
        """``x[a:b]`` of a tuple, whose bounds are constants."""
        bounds = [None if end is None else self.expression(end) for end in (part.lower, part.upper)]
        if part.step is not None or not all(end is None or isinstance(end, int) for end in bounds):
            raise self.error(node, "parts of a tuple have constant bounds, and no step")
        return value[bounds[0] : bounds[1]]

    def of_tuple(self, node: ast.AST, value: tuple[Any, ...], at: list[Value]) -> Value:
        """An entry of a tuple: known, or found by an integer."""
        k = at[0]
        if isinstance(k, int):
            if not -len(value) <= k < len(value):
                raise self.error(node, f"there is no entry {k} of a tuple of {len(value)}")
            entry = value[k]
        elif not value:
            raise self.error(node, "there is no entry of an empty tuple")
        elif (fixed := self.unit.constant_array(value)) is not None:
            return self.load(node, Array(*fixed, str(len(value))), at)
        else:
            kind = type_of(value[-1])
            if any(type_of(part) != kind for part in value):
                raise self.error(
                    node, "entries have several types: an index that is not constant needs entries of one type"
                )
            index, types = self.as_int(node, k), self.unit.llvm_types(kind)
            if self.unit.checked:
                words = f"index {{first}} is out of range: the tuple has size {len(value)}, in {self.shown(node)}"
                self.guard(self.made(f"icmp ult i64 {index}, {len(value)}"), node, words, index)
            chosen = self.parts(value[-1])
            for j in range(len(value) - 2, -1, -1):
                here = self.made(f"icmp eq {self.unit.integer} {index}, {j}")
                each = zip(types, self.parts(value[j]), chosen, strict=True)
                chosen = [self.made(f"select i1 {here}, {t} {x}, {t} {y}") for t, x, y in each]
            entry = self.rebuilt(kind, iter(chosen))
        if len(at) == 1:
            return entry
        if isinstance(entry, Record):
            entry = entry.fields
        if isinstance(entry, tuple):
            return self.of_tuple(node, entry, at[1:])
        raise self.error(node, f"{word(type_of(entry))} has no entries")

    # Calls ------------------------------------------------------------------------------------------------------------

    def value_Call(self, node: ast.Call) -> Value:
        """A kernel, a function of scalars, or a record."""
        if isinstance(node.func, ast.Attribute) and node.func.attr == "_replace":
            return self.replaced(node, self.expression(node.func.value))
        function = self.expression(node.func)
        if not isinstance(function, Hashable) or not callable(function):
            raise self.error(node, f"{word(type_of(function))} cannot be called")
        lower = SCALAR_FUNCTIONS.get(function)
        if lower is None and self.unit.has_lines and not self.unit.checked:
            lower = LINE_FUNCTIONS.get(function)
        arguments = list[Value]()
        for argument in node.args:
            arguments += self.spread(argument) if isinstance(argument, ast.Starred) else [self.expression(argument)]
        if self.unit.checked and not is_own(self.source.function):
            self.note_call(node)
        if lower is not None:
            if node.keywords:
                raise self.error(node, "arguments of this function have no names")
            return lower(self, node, arguments)
        if is_record_class(function):
            return self.record(node, function, arguments)
        if function in self.unit.foreign:
            return self.call_foreign(node, self.unit.foreign[function], arguments)
        if not getattr(function, "__kernel__", False):
            name = getattr(function, "__name__", repr(function))
            advice = ADVICE.get(name, "mark it with @kernel if it is kernel code")
            raise self.error(node, f"{name} is not a kernel: {advice}")
        return self.call(node, function, arguments)

    def spread(self, node: ast.Starred) -> tuple[Value, ...]:
        """``*x`` among the arguments of a call: the entries of a tuple."""
        value = self.expression(node.value)
        entries = entries_of(value)
        if entries is None:
            raise self.error(node, f"*x is for tuples, not for {word(type_of(value))}")
        return entries

    def record(self, node: ast.Call, kind: type, arguments: list[Value]) -> Record:
        """An instance of a named tuple."""
        names = field_names(kind)
        values = dict(field_defaults(kind)) | dict(zip(names, arguments, strict=False))
        named = {str(keyword.arg): self.expression(keyword.value) for keyword in node.keywords}
        values |= named
        if len(arguments) > len(names) or set(values) != set(names) or named.keys() & set(names[: len(arguments)]):
            raise self.error(node, f"{kind.__name__} takes {', '.join(names) or 'nothing'}")
        return Record(kind, tuple(values[name] for name in names))

    def replaced(self, node: ast.Call, record: Value) -> Record:
        """``x._replace(name=value)``: a record with other values of some fields."""
        if not isinstance(record, Record) or node.args:
            raise self.error(node, "_replace is for records, with names of fields: x._replace(name=value)")
        named = {str(keyword.arg): self.expression(keyword.value) for keyword in node.keywords}
        for name in named:
            self.of_record(node, record, name)
        return Record(record.type, tuple(named.get(name, record.get(name)) for name in field_names(record.type)))

    def call_foreign(self, node: ast.Call, function: Foreign, arguments: list[Value]) -> Value:
        """A function that is there in LLVM IR."""
        operands = [self.unit.context]
        for x in arguments:
            operands += [f"{t} {part}" for t, part in zip(self.unit.llvm_types(type_of(x)), self.parts(x), strict=True)]
        whole = self.unit.result_type(function.result)
        return self.results(function.result, f"call {whole} @{function.name}({', '.join(operands)})")

    def call(self, node: ast.Call, function: Callable[..., Any], arguments: list[Value]) -> Value:
        """A kernel with these arguments, and those that have names or defaults."""
        source = source_of(function)
        names, ordinary, defaults = source.names, source.parameters, function.__defaults__ or ()
        values: dict[str, Value] = dict(zip(ordinary[len(ordinary) - len(defaults) :], defaults, strict=True))
        if source.gathered is not None:
            values[source.gathered] = ()
        arguments = source.gather(arguments)
        values |= dict(zip(names, arguments, strict=False))
        named = {str(keyword.arg): self.expression(keyword.value) for keyword in node.keywords}
        values |= named
        twice = named.keys() & {*names[: len(arguments)], source.gathered}
        if len(arguments) > len(names) or set(values) != set(names) or twice:
            raise self.error(node, f"{function.__name__} takes {source.takes}")
        plain = list(takewhile(lambda argument: not isinstance(argument, ast.Starred), node.args))
        displays = {name: isinstance(argument, ast.Tuple) for name, argument in zip(ordinary, plain, strict=False)}
        displays[source.gathered or ""] = True
        kinds = [self.argument_type(values[name], displays.get(name, False)) for name in names]
        lowered = self.unit.function(function, kinds, self.source, node, self.in_one_lane)
        self.size_of_text += lowered.size
        if self.size_of_text > MOST_TEXT:
            raise self.error(node, f"the kernel with all that it calls is longer than {MOST_TEXT} nodes of syntax")
        operands = [self.unit.context]
        for name, kind in zip(names, kinds, strict=True):
            types = self.unit.llvm_types(kind)
            parts = self.parts(values[name]) if types else []
            operands += [f"{t} {part}" for t, part in zip(types, parts, strict=True)]
        call = f"call {self.unit.result_type(lowered.result)} @{lowered.name}({', '.join(operands)})"
        if self.unit.t.lanes > 1 and not self._loops and source.loops:
            call += " noinline"  # a sweep: inlined, it would only make its caller longer
        return self.results(lowered.result, call)

    def argument_type(self, value: Value, display: bool) -> Any:
        """The type that a kernel is compiled for; tuples that are constants elsewhere stay constants."""
        if type(value) is tuple and not display and self.unit.constant_array(value) is not None:
            return Fixed(value)
        return type_of(value)
