# SPDX-License-Identifier: BSD-3-Clause
"""Tables of benchmark results: printed, and written as CSV and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console

from linkwork.cli.layout import table as draw_table

Cell = str | float | None
"""A word, a number, or nothing."""
TEXT = {"µs": r"\textmu s", "×": r"$\times$", "²": r"\textsuperscript{2}"}
SPECIAL = {**{c: f"\\{c}" for c in "&%$#_{}"}, "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
"""Characters that mean something else to LaTeX, and how they are said."""


@dataclass(frozen=True)
class ResultTable:
    """A table: words first, then numbers."""

    title: str
    heads: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]
    words: int
    """Number of columns are words."""

    def used(self) -> ResultTable:
        """The table without empty columns of numbers."""
        empty = [all(row[k] is None for row in self.rows) for k in range(len(self.heads))]
        return self.without(*(head for head, no in zip(self.heads, empty, strict=True) if no))

    def without(self, *heads: str) -> ResultTable:
        """The table without some columns of numbers."""
        kept = [k for k, head in enumerate(self.heads) if k < self.words or head not in heads]
        rows = [tuple(row[k] for k in kept) for row in self.rows]
        return ResultTable(self.title, tuple(self.heads[k] for k in kept), rows, self.words)

    def draw(self, console: Console) -> None:
        """Print it."""
        columns = [(head, k > 0) for k, head in enumerate(self.heads)]
        draw_table(console, self.title, columns, [[shown(cell) for cell in row] for row in self.rows])

    def latex(self) -> str:
        """A table of the package booktabs, with its title for a caption."""
        lines = [" & ".join(map(_escaped, row)) + r" \\" for row in (self.heads, *(map(shown, r) for r in self.rows))]
        align = "l" * self.words + "r" * (len(self.heads) - self.words)
        body = [r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"]
        head = [r"\begin{table}[htbp]", r"\centering", rf"\caption{{{_escaped(self.title)}}}"]
        return "\n".join([*head, rf"\begin{{tabular}}{{{align}}}", *body, r"\end{tabular}", r"\end{table}"]) + "\n"


def latex(tables: Sequence[ResultTable], comments: Sequence[str] = ()) -> str:
    """Tables one after the other, for ``\\input``, with comments at the top."""
    top = [r"% needs \usepackage{booktabs,textcomp}", *(f"% {' '.join(line.split())}" for line in comments)]
    return "\n".join(["\n".join(top), *(table.latex() for table in tables)])


def csv_text(table: ResultTable) -> str:
    """Comma-separated values: a line of heads, numbers with all their digits, empty cells where there is no value."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([table.heads, *table.rows])
    return text.getvalue()


def merge_tables(title: str, tables: Sequence[ResultTable]) -> ResultTable:
    """One table of all rows and all columns; the first is the title of the table that a row is from."""
    words = list(dict.fromkeys(head for table in tables for head in table.heads[: table.words]))
    numbers = list(dict.fromkeys(head for table in tables for head in table.heads[table.words :]))
    rows = []
    for table in tables:
        for row in table.rows:
            cells = dict(zip(table.heads, row, strict=True))
            rows.append((table.title, *(cells.get(head) for head in (*words, *numbers))))
    return ResultTable(title, ("table", *words, *numbers), rows, 1 + len(words))


def tables_from_metrics(title: str, metrics: Mapping[str, float]) -> list[ResultTable]:
    """Tables of metrics with dotted names: ``talos.forward_dynamics.native.single.us`` is in the table
    ``talos.forward_dynamics``, the row ``native.single`` and the column ``us``."""
    by_title: dict[str, dict[str, dict[str, float]]] = {}
    for name, value in metrics.items():
        parts = name.split(".")
        group = parts[: max(0, min(2, len(parts) - 2))]
        row = ".".join(parts[len(group) : -1])
        by_title.setdefault(".".join(group) or title, {}).setdefault(row, {})[parts[-1]] = value
    tables = []
    for group_name, rows in by_title.items():
        leaves = list(dict.fromkeys(leaf for row in rows.values() for leaf in row))
        cells = [(name, *(row.get(leaf) for leaf in leaves)) for name, row in rows.items()]
        tables.append(ResultTable(group_name, ("what", *leaves), cells, 1))
    return tables


def shown(cell: Cell) -> str:
    """A cell as printed: three significant digits, or all digits of a whole number."""
    if cell is None or isinstance(cell, str):
        return cell or ""
    whole = cell == round(cell, 0) or abs(cell) >= 1000
    return f"{cell:.0f}" if whole and abs(cell) < 1e9 else f"{cell:.3g}"


def _escaped(text: str) -> str:
    for unit, said in TEXT.items():
        parts = text.split(unit)
        if len(parts) > 1:
            return said.join(map(_escaped, parts))
    return "".join(SPECIAL.get(c, c) for c in text.replace("\\", "/"))
