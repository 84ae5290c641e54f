# SPDX-License-Identifier: BSD-3-Clause
"""Random kernel code: programs of loops, branches, tuples, calls and arithmetic that are right by construction.

Indices are inside their arrays, everything is written before it is read, divisors are at least one. All choices are
Hypothesis's, so that a program that fails is made smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from linkwork.plans.layout import Shape

SIZES = {"n": (1, 4), "m": (1, 3), "z": (0, 2)}
"""Sizes of trees, from and to. Axes of size z are indexed by loops over them alone."""

INTEGERS = {"i": ("n",), "j": ("m", 2), "k": ("n", "m")}
FLOATS = {"f": ("n",), "g": ("n", 3), "h": ("m", "n")}
NUMBERS = (1.0, 0.5, -1.0, 2.0, 0.0, 0.1, -3.25, 1e-3)

CONSTANTS = """\
WEIGHTS = (0.5, -1.25, 2.0)
COUNTS = (3, 0, -2, 5)
GRID = ((0.0, 1.0, -0.5), (2.0, 0.1, 1.0))
SAME_COUNTS = (3.0, 0.0, -2.0, 5.0)


@kernel
def squash(x):
    return x / (1.0 + x * x)


@kernel
def counted(k):
    return 0.125 * (float(COUNTS[k % 4]) + SAME_COUNTS[k % 3])


@kernel
def mix(x, y=0.25, z=1.0):
    return x * y - z


@kernel
def turn(x, pair):
    a, b = pair
    return x * b, a - x


@kernel
def blend(v, u):
    return v[0] * u[2] + v[1] * u[1] - u[0]


@kernel
def chosen(v, k, x):
    if k < 0:
        return x
    for i in range(3):
        if i == k:
            return v[i]
    return v[k % 3] * 0.5


@kernel
def shift(v, u, x):
    v[0] = u[1] + x
    v[1] += squash(u[0]) * x
    return v[2] - u[2]
"""


@dataclass(frozen=True)
class Arrays:
    """Arrays that text may use, by the expression for them."""

    readable: dict[str, Shape]
    writable: dict[str, Shape]


@dataclass(frozen=True)
class Scope:
    """Names that have a value here."""

    floats: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    integers: tuple[str, ...] = ()
    loops: tuple[tuple[str, str | int], ...] = ()
    """Variables of loops, and the size they run to."""
    assigned: tuple[str, ...] = ()
    """Floats that may be assigned to."""


@dataclass
class Writing:
    """Text in the making."""

    draw: Callable[..., Any]
    arrays: Arrays
    angles: bool
    """Whether sines and cosines are taken."""
    count: int = 0

    def pick(self, options: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(options))

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    # Integers --------------------------------------------------------------------------------------------------------

    def integer(self, s: Scope, depth: int = 2) -> str:
        leaves: list[str] = [str(k) for k in (0, 1, 2, -3)] + ["tree.n", "tree.m", "tree.z"]
        leaves += [*s.integers, *(name for name, _ in s.loops)]
        kind = self.pick(["leaf", "entry", "+", "-", "*", "//", "%", "if", "table"]) if depth else "leaf"
        if kind == "leaf":
            return str(self.pick(leaves))
        if kind == "entry":
            return self.entry(s, {f"tree.{name}": shape for name, shape in INTEGERS.items()}, depth - 1)
        if kind == "table":
            return f"COUNTS[{self.integer(s, depth - 1)} % 4]"
        a = self.integer(s, depth - 1)
        if kind in ("//", "%"):
            return f"({a}) {kind} {self.pick([2, 3, -2, -5, 'tree.n', '(-tree.m)'])}"
        b = self.integer(s, depth - 1)
        if kind == "if":
            return f"({a} if {self.condition(s, 0)} else {b})"
        return f"({a} {kind} {b})"

    def index(self, s: Scope, size: str | int, depth: int) -> str:
        loops = [name for name, of in s.loops if of == size]
        if size == "z":
            return str(self.pick(loops))
        options = loops + ["0"] + ([str(size - 1)] if isinstance(size, int) else [f"tree.{size} - 1"])
        if depth > 0:
            options.append("%")
        found = self.pick(options)
        limit = size if isinstance(size, int) else f"tree.{size}"
        return f"({self.integer(s, depth - 1)}) % {limit}" if found == "%" else str(found)

    def reachable(self, s: Scope, arrays: dict[str, Shape]) -> list[str]:
        return [name for name, shape in arrays.items() if "z" not in shape or any(of == "z" for _, of in s.loops)]

    def entry(self, s: Scope, arrays: dict[str, Shape], depth: int = 1) -> str:
        name = self.pick(self.reachable(s, arrays))
        at = [self.index(s, size, depth) for size in arrays[name]]
        return f"{name}[{']['.join(at)}]" if len(at) > 1 and self.pick([False, True]) else f"{name}[{', '.join(at)}]"

    def condition(self, s: Scope, depth: int = 1) -> str:
        kind = self.pick(["compare", "and", "or", "not", "guard"]) if depth else "compare"
        if kind in ("and", "or"):
            return f"({self.condition(s, depth - 1)} {kind} {self.condition(s, depth - 1)})"
        if kind == "not":
            return f"(not {self.condition(s, depth - 1)})"
        inside = [name for name, of in s.loops if of == "n"]
        if kind == "guard" and inside:
            k = self.pick(inside)
            return f"({k} > 0 and tree.i[{k} - 1] > {self.integer(s, 0)})"
        op = self.pick(["<", "==", ">=", "!=", ">", "<="])
        return f"({self.integer(s, 1)} {op} {self.integer(s, 1)})"

    # Floats ----------------------------------------------------------------------------------------------------------

    def number(self, s: Scope, depth: int = 2) -> str:
        kinds = ["entry", "name", "constant", "+", "*", "-", "squash", "/", "neg", "where", "fma", "sqrt", "float"]
        kinds += ["if", "tuple", "table", "mix", "blend", "chosen", "rint", "pair"] + (["sin"] if self.angles else [])
        kind = self.pick(kinds if depth else kinds[:3])
        if kind == "name" and not s.floats:
            kind = "entry"
        one = lambda: self.number(s, depth - 1)  # noqa: E731
        match kind:
            case "entry":
                return self.entry(s, self.arrays.readable)
            case "name":
                return str(self.pick(s.floats))
            case "constant":
                return repr(self.pick(NUMBERS))
            case "+" | "*" | "-":
                return f"({one()} {kind} {one()})"
            case "neg":
                return f"(-{one()})"
            case "/":
                divisor = one()
                return f"({one()} / ({self.pick(['1.0', '2.0'])} + {divisor} * {divisor}))"
            case "sqrt":
                a, b = one(), one()
                return f"sqrt({a} * {a} + {b} * {b} + 1.0)"
            case "where":
                return f"where({one()}, {one()}, {one()}, {one()})"
            case "fma":
                return f"fma({one()}, {one()}, {one()})"
            case "rint":
                return f"rint({one()})"
            case "float":
                return f"{self.pick(['counted(', '0.25 * float(1 * '])}({self.integer(s, 1)}) % 7)"
            case "if":
                return f"({one()} if {self.condition(s)} else {one()})"
            case "tuple":
                return f"({one()}, {one()}, {one()})[({self.integer(s, 1)}) % 3]"
            case "table":
                at = f"({self.integer(s, 1)}) % 3"
                other = f"SAME_COUNTS[({self.integer(s, 0)}) % 4]"
                return str(self.pick([f"WEIGHTS[{at}]", f"GRID[({self.integer(s, 0)}) % 2][{at}]", other]))
            case "mix":
                spread = [f"mix(*{self.pick(s.pairs)})"] if s.pairs else []
                calls = [f"mix({one()})", f"mix({one()}, {one()})", f"mix(z={one()}, x={one()})", *spread]
                return str(self.pick(calls))
            case "blend":
                return f"blend({self.vector(s, depth - 1)}, {self.vector(s, depth - 1)})"
            case "chosen":
                return f"chosen({self.vector(s, depth - 1)}, {self.integer(s, 1)}, {one()})"
            case "pair" if s.pairs:
                return f"{self.pick(s.pairs)}[{self.pick([0, 1, -1])}]"
            case "sin":
                return f"sincos({self.pick(['', '-'])}{one()})[{self.pick([0, 1])}]"
        return f"squash({one()})"

    def vector(self, s: Scope, depth: int) -> str:
        """Three floats: a row, a tuple, constants."""
        rows = self.rows(s, self.arrays.readable)
        options = ["WEIGHTS", "tuple", *rows]
        found = self.pick(options)
        if found == "tuple":
            return f"({self.number(s, depth)}, {self.number(s, depth)}, {self.number(s, depth)})"
        return str(found)

    def rows(self, s: Scope, arrays: dict[str, Shape]) -> list[str]:
        found = []
        for name in self.reachable(s, arrays):
            if arrays[name][-1] == 3:
                at = [self.index(s, size, 0) for size in arrays[name][:-1]]
                found.append(f"{name}[{', '.join(at)}]" if at else name)
        return found

    # Statements ------------------------------------------------------------------------------------------------------

    def block(self, s: Scope, depth: int, most: int) -> list[str]:
        lines: list[str] = []
        for _ in range(self.draw(st.integers(1, most))):
            made, s = self.statement(s, depth)
            lines += made
        return lines

    def statement(self, s: Scope, depth: int) -> tuple[list[str], Scope]:
        kinds = ["store", "change", "assign", "new", "pair", "integer", "shift", "skip"]
        kinds += ["for", "if", "while", "slice"] if depth else []
        kinds += ["sincos"] if self.angles else []
        kind = self.pick(kinds)
        match kind:
            case "store":
                return [f"{self.entry(s, self.arrays.writable)} = {self.bounded(s)}"], s
            case "change":
                return [f"{self.entry(s, self.arrays.writable)} {self.pick(['+=', '-=', '*='])} {self.bounded(s)}"], s
            case "assign" if s.assigned:
                if len(s.assigned) > 1 and self.pick([False, True]):
                    return [f"{s.assigned[0]}, {s.assigned[1]} = {s.assigned[1]}, {self.bounded(s)}"], s
                return [f"{self.pick(s.assigned)} {self.pick(['=', '+=', '-='])} {self.bounded(s)}"], s
            case "pair":
                name = self.fresh("p")
                made = self.pick(["display", "call"])
                value = f"({self.number(s, 1)}, {self.bounded(s)})"
                if made == "call":
                    value = f"turn({self.bounded(s)}, {self.pick([*s.pairs, value])})"
                if self.pick([False, True]):
                    left, right = self.fresh("a"), self.fresh("b")
                    return [f"{left}, {right} = {value}"], replace(s, floats=(*s.floats, left, right))
                return [f"{name} = {value}"], replace(s, pairs=(*s.pairs, name))
            case "sincos":
                sine, cosine = self.fresh("s"), self.fresh("c")
                angle = f"{self.pick(['', '-', '3e4 * '])}{self.bounded(s)}"
                return [f"{sine}, {cosine} = sincos({angle})"], replace(s, floats=(*s.floats, sine, cosine))
            case "integer":
                name = self.fresh("d")
                return [f"{name} = {self.integer(s)}"], replace(s, integers=(*s.integers, name))
            case "shift":
                rows = self.rows(s, self.arrays.writable)
                others = self.rows(s, self.arrays.readable)
                if rows and others:
                    call = f"shift({self.pick(rows)}, {self.pick(others)}, {self.bounded(s)})"
                    target = self.pick(["", f"{self.entry(s, self.arrays.writable)} += "])
                    return [f"{target}{call}"], s
            case "skip":  # a branch that only saves work
                x, bound, target = self.fresh("t"), self.pick(NUMBERS), self.entry(s, self.arrays.writable)
                line = f"{target} = where({x}, {bound}, {self.bounded(s)}, {target})"
                return [f"{x} = {self.number(s, 1)}", f"if any_below({x}, {bound}):", f"    {line}"], s
            case "slice":
                sliced = [name for name, shape in self.arrays.readable.items() if shape == ("n",)]
                k = self.fresh("k")
                view, target = self.fresh("v"), self.entry(s, self.arrays.writable)
                inner = replace(s, loops=(*s.loops, (k, "n")))
                body = [
                    f"{view} = {self.pick(sliced)}[{k}:]",
                    f"{target} += squash({view}[0] * {self.number(inner, 1)})",
                ]
                return [f"for {k} in range({self.pick(['', '1, '])}tree.n):", *indented(body)], s
            case "for":
                return self.loop(s, depth), s
            case "while":
                k = self.fresh("k")
                inner = replace(s, loops=(*s.loops, (k, "n")))
                test = self.pick([f"{k} > 0", f"{k} > 0 and {self.condition(s, 0)}"])
                return [
                    f"{k} = tree.n",
                    f"while {test}:",
                    f"    {k} -= 1",
                    *indented(self.block(inner, depth - 1, 2)),
                ], s
            case "if":
                lines = [f"if {self.condition(s)}:", *indented(self.block(s, depth - 1, 2))]
                if self.pick([False, True]):
                    lines += [f"elif {self.condition(s, 0)}:", *indented(self.block(s, depth - 1, 1))]
                if self.pick([False, True]):
                    lines += ["else:", *indented(self.block(s, depth - 1, 2))]
                return lines, s
        name = self.fresh("t")
        return [f"{name} = {self.number(s)}"], replace(s, floats=(*s.floats, name))

    def bounded(self, s: Scope) -> str:
        """A number that cannot grow from one turn of a loop to the next."""
        made = self.number(s)
        return f"squash({made})"

    def loop(self, s: Scope, depth: int) -> list[str]:
        k = self.fresh("k")
        size = self.pick(["n", "m", 3, "z"])
        limit = size if isinstance(size, int) else f"tree.{size}"
        span = self.pick([f"{limit}", f"{limit} - 1, -1, -1", f"1, {limit}", f"0, {limit}, 2"])
        inner = replace(s, loops=(*s.loops, (k, size)))
        return [f"for {k} in range({span}):", *indented(self.block(inner, depth - 1, 3))]

    def filled(self, arrays: dict[str, Shape], s: Scope) -> list[str]:
        """Every entry of arrays written."""
        lines: list[str] = []
        for name, shape in arrays.items():
            inner, at = s, []
            for depth, size in enumerate(shape):
                k = self.fresh("k")
                lines.append(f"{'    ' * depth}for {k} in range({size if isinstance(size, int) else f'tree.{size}'}):")
                at.append(k)
                inner = replace(inner, loops=(*inner.loops, (k, size)))
            value = f"squash({self.entry(inner, self.arrays.readable)} - {self.number(inner, 1)})"
            lines.append(f"{'    ' * len(shape)}{name}[{', '.join(at)}] = {value}")
            self.arrays.readable[name] = shape
        return lines


def indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]
