# SPDX-License-Identifier: BSD-3-Clause
"""Patterns of matrices, column-compressed, as CasADi has them; and groups of columns that share no row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Pattern:
    """Where a matrix has entries: column by column, in each the rows from first to last."""

    rows: int
    columns: int
    starts: tuple[int, ...]
    """Of each column its first entry, and at the end how many entries there are."""
    at: tuple[int, ...]
    """The row of each entry."""

    @classmethod
    def of(cls, rows: int, columns: int, entries: Iterable[tuple[int, int]]) -> Pattern:
        """The pattern with these entries.

        Args:
            rows: Of the matrix.
            columns: Of the matrix.
            entries: Row and column of each entry, in any order.
        """
        ordered = sorted((column, row) for row, column in entries)
        starts = [0] * (columns + 1)
        for column, _ in ordered:
            starts[column + 1] += 1
        for column in range(columns):
            starts[column + 1] += starts[column]
        return cls(rows, columns, tuple(starts), tuple(row for _, row in ordered))

    @classmethod
    def dense(cls, rows: int, columns: int = 1) -> Pattern:
        """All entries.

        Args:
            rows: Of the matrix.
            columns: Of the matrix.
        """
        starts = tuple(rows * column for column in range(columns + 1))
        return cls(rows, columns, starts, tuple(range(rows)) * columns)

    @classmethod
    def empty(cls, rows: int, columns: int = 1) -> Pattern:
        """No entry.

        Args:
            rows: Of the matrix.
            columns: Of the matrix.
        """
        return cls(rows, columns, (0,) * (columns + 1), ())

    @property
    def size(self) -> int:
        """The number of entries."""
        return len(self.at)

    @property
    def is_dense(self) -> bool:
        """Whether all entries are there."""
        return self.size == self.rows * self.columns

    @property
    def entries(self) -> list[tuple[int, int]]:
        """Row and column of each entry, in order."""
        return [(self.at[k], j) for j in range(self.columns) for k in range(self.starts[j], self.starts[j + 1])]

    def numbers(self) -> list[int]:
        """As CasADi writes it: rows, columns, starts, rows of entries; rows, columns, 1 if it is dense."""
        if self.is_dense:
            return [self.rows, self.columns, 1]
        return [self.rows, self.columns, *self.starts, *self.at]


def column_groups(rows_of: Sequence[int]) -> list[list[int]]:
    """Columns in groups that share no row (Curtis, Powell and Reid 1974), so that one product gives all of a group.

    Args:
        rows_of: The rows of each column, a bit for each.
    """
    groups: list[tuple[int, list[int]]] = []
    for column in sorted(range(len(rows_of)), key=lambda j: -rows_of[j].bit_count()):
        if not rows_of[column]:
            continue
        for k, (taken, members) in enumerate(groups):
            if not taken & rows_of[column]:
                groups[k] = (taken | rows_of[column], [*members, column])
                break
        else:
            groups.append((rows_of[column], [column]))
    return [members for _, members in groups]
