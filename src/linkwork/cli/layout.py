# SPDX-License-Identifier: BSD-3-Clause
"""Layout blocks of printed reports: headings, list items, tables, records.

A table that is too wide for the terminal folds its texts; where that is not enough, its rows become records of one
value a line.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from linkwork.cli.terminal import printable

_NARROWEST = 8
"""Width of the narrowest folded column of text."""

_TWO_COLUMNS = 48
"""On a narrower terminal, a name and its value follow each other."""


def heading(console: Console, title: str, style: str = "") -> None:
    """A title, with an empty line before it."""
    console.print()
    console.print(Text(printable(title), f"bold {style}".strip()))


def item(console: Console, line: str) -> None:
    """A paragraph with a dash before it, its further lines set in."""
    grid = Table.grid(padding=0)
    grid.add_column(width=4)
    grid.add_column(overflow="fold")
    grid.add_row("  -", Text(printable(line)))
    console.print(grid)


def table(console: Console, title: str, columns: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str]]) -> None:
    """A table; of each column its title and whether it must stay whole."""
    heading(console, title)
    widths = [
        max(cell_len(head), *(cell_len(printable(row[k])) for row in rows)) for k, (head, _) in enumerate(columns)
    ]
    least = [w if whole else min(w, _NARROWEST) for w, (_, whole) in zip(widths, columns, strict=True)]
    if sum(least) + 3 * len(columns) > console.width:
        records(console, [{head: row[k] for k, (head, _) in enumerate(columns) if row[k]} for row in rows])
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    for head, whole in columns:
        table.add_column(head, no_wrap=whole, overflow="ellipsis" if whole else "fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    console.print(Padding(table, (0, 0, 0, 2)))


def records(console: Console, entries: Sequence[dict[str, str]]) -> None:
    """One value a line, an empty line between records."""
    for k, record in enumerate(entries):
        if k:
            console.print()
        if console.width < _TWO_COLUMNS:
            for key, value in record.items():
                console.print(Text(f"{key}: ", "dim") + Text(printable(value)), overflow="fold")
            continue
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(no_wrap=True, style="dim")
        grid.add_column(overflow="fold")
        for key, value in record.items():
            grid.add_row(key, Text(printable(value)))
        console.print(Padding(grid, (0, 0, 0, 2)))
