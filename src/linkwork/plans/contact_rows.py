# SPDX-License-Identifier: BSD-3-Clause
"""Rows of a contact problem: which are contacts, which stand alone, and which are coupled.

A contact (slot) has three rows, two tangential and the normal one; every other row stands alone, its force in a box.
A *block* is a slot or a single row. Rows of the explicit matrix are in lines of four numbers; a block acts on ranges of
lines, those in which its rows of the matrix are not zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.plans.layout import Integers, Layout, Shape, ragged

LINE = 4
"""Numbers of a line."""

ROW_SIZES = ("nslots", "nsingles")
ROW_INTEGERS: dict[str, Shape] = {
    "slot_row": ("nslots",),  # the first of a contact's three rows
    "single_row": ("nsingles",),  # rows that are of no contact
}

DENSE_CONTACTS = Layout(
    "dense_contacts",
    ("nrows", *ROW_SIZES, "nlines", "nblocks", "nranges"),
    ROW_INTEGERS
    | {
        "block_start": ("nblocks",),  # ranges of lines that a block acts on: slots, then single rows
        "block_count": ("nblocks",),
        "envelope": ("nrows",),  # of the factor of the matrix: where the rows of its upper triangle end
        "range_first": ("nranges",),
        "range_end": ("nranges",),
    },
    {},
)
"""A contact problem whose matrix is explicit."""


def row_tables(nrows: int, slot_rows: npt.ArrayLike) -> dict[str, Integers]:
    """Rows of contacts and others.

    Args:
        nrows: The number of rows.
        slot_rows: The first row of each contact.
    """
    first = np.asarray(slot_rows, dtype=np.int64).reshape(-1)
    alone = np.ones(nrows, dtype=bool)
    for k in range(3):
        alone[first + k] = False
    return {"slot_row": first, "single_row": np.flatnonzero(alone)}


def dense_contacts(coupled: npt.NDArray[np.bool_], slot_rows: npt.ArrayLike) -> Any:
    """The arrays of a contact problem with an explicit matrix.

    Args:
        coupled: Which entries of the matrix may differ from zero, ``(nrows, nrows)``.
        slot_rows: The first row of each contact.
    """
    nrows = len(coupled)
    rows = row_tables(nrows, slot_rows)
    nlines = -(-nrows // LINE)
    padded = np.zeros((nrows, nlines * LINE), dtype=bool)
    padded[:, :nrows] = coupled
    lines: npt.NDArray[np.bool_] = np.logical_or.reduce(padded.reshape(nrows, nlines, LINE), axis=2)
    first = rows["slot_row"]
    of_slots = lines[first] | lines[first + 1] | lines[first + 2] if len(first) else np.zeros((0, nlines), dtype=bool)
    ranges = [_ranges(touched) for touched in (*of_slots, *lines[rows["single_row"]])]
    starts = ragged([[a for a, _ in each] for each in ranges])
    ends = ragged([[b for _, b in each] for each in ranges])
    return DENSE_CONTACTS.build(
        nrows=nrows,
        nlines=nlines,
        **rows,
        envelope=_envelope(coupled),
        block_start=starts.start,
        block_count=starts.count,
        range_first=starts.entries,
        range_end=ends.entries,
    )


def _ranges(touched: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Where runs of true entries begin and end."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], touched, [False]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def _envelope(coupled: npt.NDArray[np.bool_]) -> Integers:
    """Where rows of the upper triangle of a factor end: never before those above them that reach as far."""
    nrows = len(coupled)
    last = (coupled * np.arange(1, nrows + 1)).max(axis=1, initial=0)
    ends: Integers = np.maximum(np.maximum.accumulate(last), np.arange(1, nrows + 1))
    return ends
