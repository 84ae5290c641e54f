# SPDX-License-Identifier: BSD-3-Clause
"""An item of a paper: an algorithm, a table, a figure, or a claim."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from linkwork_benchmarks.papers.found import Found

Text = str | Callable[[Found], str]
"""Words, or words made from results."""


class Entry(NamedTuple):
    """One row of the page."""

    item: str
    """As the paper numbers it: ``Algorithm 1``, ``Table II``, ``Fig. 2a to 2d``, ``Sec. V-F``."""
    about: str
    """What it is, in a few words."""
    where: Sequence[str] = ()
    """Files, each with a name in it or without: ``kernels/constrained/lcaba.py:lcaba_sweeps``; see `page.file_of`."""
    printed: str = ""
    here: Text = ""
    differs: str = ""
    command: str = ""
    """What makes the numbers: a study with its scenarios (``constrained --only REGEX``), or a test
    (``tests/test_x.py::test_name``)."""


class Paper(NamedTuple):
    """A paper and its items."""

    name: str
    """The bold word that the documentation calls it by."""
    title: str
    entries: Sequence[Entry]
    algorithms: int
    tables: int
    figures: int
    """How many of each the paper has: all of them are items."""


def drawing(item: str, about: str, *where: str, here: Text = "") -> Entry:
    """A figure without numbers."""
    return Entry(item, about, where, "drawing, no figure to reproduce", here)
