# SPDX-License-Identifier: BSD-3-Clause
"""Functions with CasADi's C interface around programs: the functions that it looks up for a function ``f`` by name.

``int f(const casadi_real **arg, casadi_real **res, casadi_int *iw, casadi_real *w, int mem)``, ``f_n_in``, ``f_n_out``,
``f_name_in``, ``f_name_out``, ``f_default_in``, ``f_sparsity_in``, ``f_sparsity_out``, ``f_work`` and the functions
that count references, which do nothing here. An input that is NULL is zero, an output that is NULL is not wanted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from linkwork.export.c_source import CText
from linkwork.export.casadi_functions import Differentiated
from linkwork.export.patterns import Pattern

MACROS = """\
#ifndef casadi_real
#define casadi_real double
#endif
#ifndef casadi_int
#define casadi_int long long int
#endif
"""

EXPORT = """\
#ifndef CASADI_SYMBOL_EXPORT
#if defined(_WIN32) || defined(__CYGWIN__)
#define CASADI_SYMBOL_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define CASADI_SYMBOL_EXPORT __attribute__((visibility("default")))
#else
#define CASADI_SYMBOL_EXPORT
#endif
#endif
"""

_ARGUMENTS = "const casadi_real **arg, casadi_real **res, casadi_int *iw, casadi_real *w, int mem"


@dataclass(frozen=True)
class Slot:
    """An input or output of a function of CasADi, and the array of a program that it stands for."""

    name: str
    pattern: Pattern
    array: str | None = None
    """Of the program; None: it is not read."""
    size: int = 0
    """Numbers of that array."""
    places: tuple[int, ...] | None = None
    """Where entries stand in it; None: in the same order."""


@dataclass(frozen=True)
class CasadiText:
    """One function with CasADi's interface."""

    name: str
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    program: CText
    """Functions that it calls."""
    differentiated: Differentiated | None = None
    """Where columns of a Jacobian are found group by group: in which, and of which patterns."""

    def prototypes(self) -> list[str]:
        """The functions as they are declared."""
        n = self.name
        return [
            f"int {n}({_ARGUMENTS})",
            f"casadi_int {n}_n_in(void)",
            f"casadi_int {n}_n_out(void)",
            f"const char *{n}_name_in(casadi_int i)",
            f"const char *{n}_name_out(casadi_int i)",
            f"casadi_real {n}_default_in(casadi_int i)",
            f"const casadi_int *{n}_sparsity_in(casadi_int i)",
            f"const casadi_int *{n}_sparsity_out(casadi_int i)",
            f"int {n}_work(casadi_int *sz_arg, casadi_int *sz_res, casadi_int *sz_iw, casadi_int *sz_w)",
            f"int {n}_checkout(void)",
            f"void {n}_release(int mem)",
            f"void {n}_incref(void)",
            f"void {n}_decref(void)",
        ]

    def source(self) -> str:
        """The text of these functions, after that of the program."""
        body, scratch = self._products() if self.differentiated is not None else self._call()
        bodies = [
            [*(f"(void){x};" for x in ("iw", "mem")), *body, "return 0;"],
            [f"return {len(self.inputs)};"],
            [f"return {len(self.outputs)};"],
            self._switch([f'"{x.name}"' for x in self.inputs]),
            self._switch([f'"{x.name}"' for x in self.outputs]),
            ["(void)i;", "return 0;"],
            self._switch([f"{self.name}_s{k}" for k in range(len(self.inputs))]),
            self._switch([f"{self.name}_s{len(self.inputs) + k}" for k in range(len(self.outputs))]),
            [
                f"if (sz_arg) *sz_arg = {len(self.inputs)};",
                f"if (sz_res) *sz_res = {len(self.outputs)};",
                "if (sz_iw) *sz_iw = 0;",
                f"if (sz_w) *sz_w = {scratch};",
                "return 0;",
            ],
            ["return 0;"],
            ["(void)mem;"],
            [],
            [],
        ]
        texts = [*self._tables()]
        for prototype, lines in zip(self.prototypes(), bodies, strict=True):
            texts.append("\n".join([f"CASADI_SYMBOL_EXPORT {prototype}", "{", *(f"    {x}" for x in lines), "}", ""]))
        return "\n".join(texts)

    def _switch(self, values: Sequence[str]) -> list[str]:
        return ["switch (i) {", *(f"case {k}: return {x};" for k, x in enumerate(values)), "default: return 0;", "}"]

    def _tables(self) -> list[str]:
        """Patterns, orders of entries, zeros."""
        lines = [
            _numbers("casadi_int", f"{self.name}_s{k}", x.pattern.numbers())
            for k, x in enumerate((*self.inputs, *self.outputs))
        ]
        for k, x in enumerate((*self.inputs, *self.outputs)):
            if x.array is not None and x.places is not None:
                lines.append(_numbers("int", f"{self.name}_p{k}", x.places))
        largest = max((x.size for x in self.inputs if x.array is not None), default=1)
        return [*lines, f"static const casadi_real {self.name}_zeros[{max(largest, 1)}] = {{0}};", ""]

    def _given(self) -> tuple[dict[str, str], list[str], int]:
        """Expressions of inputs of the program, statements before it, numbers of scratch memory."""
        values, lines, scratch = {}, list[str](), 0
        for k, x in enumerate(self.inputs):
            if x.array is None:
                continue
            if x.places is None:
                values[x.array] = f"arg[{k}] ? arg[{k}] : {self.name}_zeros"
                continue
            table, entries = f"{self.name}_p{k}", len(x.places)
            lines.append(
                f"for (int k = 0; k < {entries}; ++k) w[{scratch} + {table}[k]] = arg[{k}] ? arg[{k}][k] : 0.0;"
            )
            values[x.array] = f"w + {scratch}"
            scratch += x.size
        return values, lines, scratch

    def _call(self) -> tuple[list[str], int]:
        """The statements of a function that is its program, and how much scratch memory they need."""
        values, lines, scratch = self._given()
        after = []
        for k, y in enumerate(self.outputs):
            assert y.array is not None
            if y.places is None:
                values[y.array] = f"res[{k}] ? res[{k}] : w + {scratch}"
            else:
                table, entries = f"{self.name}_p{len(self.inputs) + k}", len(y.places)
                values[y.array] = f"w + {scratch}"
                after.append(
                    f"if (res[{k}]) for (int k = 0; k < {entries}; ++k) res[{k}][k] = w[{scratch} + {table}[k]];"
                )
            scratch += y.size
        for array, size in self.program.outputs.items():
            if array not in values:  # not requested
                values[array] = f"w + {scratch}"
                scratch += size
        call = ", ".join(values[array] for array in (*self.program.inputs, *self.program.outputs))
        unused = [] if scratch else ["(void)w;"]
        unused += [] if self.inputs else ["(void)arg;"]
        return [*unused, *lines, f"{self.program.name}({call});", *after], scratch

    def _products(self) -> tuple[list[str], int]:
        """The statements of a Jacobian whose columns are found by forward products, a group of them at a time."""
        derivatives = self.differentiated
        assert derivatives is not None
        values, lines, scratch = self._given()
        first = _offsets({x.name: x.pattern.size for x in derivatives.inputs})
        seeds, start = sum(x.pattern.size for x in derivatives.inputs), scratch
        values |= {f"fwd_{name}": f"w + {start + o}" for name, o in first.items()}
        out = start + seeds
        results = _offsets(self.program.outputs)
        values |= {name: f"w + {out + o}" for name, o in results.items()}
        columns, column_starts, entries, entry_starts = self._grouped(derivatives, first, results)
        call = ", ".join(values[array] for array in (*self.program.inputs, *self.program.outputs))
        lines += [
            _numbers("int", "columns", columns),
            _numbers("int", "column", column_starts),
            _numbers("int", "entries", [x for entry in entries for x in entry]),
            _numbers("int", "entry", entry_starts),
            f"for (int g = 0; g < {len(derivatives.groups)}; ++g) {{",
            f"    for (int k = 0; k < {seeds}; ++k) w[{start} + k] = 0.0;",
            f"    for (int k = column[g]; k < column[g + 1]; ++k) w[{start} + columns[k]] = 1.0;",
            f"    {self.program.name}({call});",
            "    for (int k = entry[g]; k < entry[g + 1]; ++k) {",
            "        casadi_real *block = res[entries[3 * k]];",
            f"        if (block) block[entries[3 * k + 1]] = w[{out} + entries[3 * k + 2]];",
            "    }",
            "}",
        ]
        return lines, out + sum(self.program.outputs.values())

    def _grouped(
        self, function: Differentiated, first: dict[str, int], results: dict[str, int]
    ) -> tuple[list[int], list[int], list[tuple[int, int, int]], list[int]]:
        """Seeds of each group, and its entries: block, place in it, place among products."""
        columns, column_starts = list[int](), [0]
        entries, entry_starts = list[tuple[int, int, int]](), [0]
        for group in function.groups:
            for k, j in group:
                columns.append(first[function.inputs[k].name] + j)
                for n, y in enumerate(function.outputs):
                    block = function.patterns[n][k]
                    at = {c * y.pattern.rows + r: e for e, (r, c) in enumerate(y.pattern.entries)}
                    for place in range(block.starts[j], block.starts[j + 1]):
                        source = results[f"fwd_{y.name}"] + at[block.at[place]]
                        entries.append((n * len(function.inputs) + k, place, source))
            column_starts.append(len(columns))
            entry_starts.append(len(entries))
        return columns, column_starts, entries, entry_starts


def _numbers(kind: str, name: str, values: Sequence[int]) -> str:
    return f"static const {kind} {name}[{max(len(values), 1)}] = {{{', '.join(map(str, values)) or '0'}}};"


def _offsets(sizes: Mapping[str, int]) -> dict[str, int]:
    """Where arrays begin that stand one after the other."""
    return dict(zip(sizes, accumulate(sizes.values(), initial=0), strict=False))
