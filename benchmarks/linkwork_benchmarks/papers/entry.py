# SPDX-License-Identifier: BSD-3-Clause
"""An item of a paper: an algorithm, equations, a table, a figure, a remark, a claim, or future work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from linkwork_benchmarks.papers.found import Found

Text = str | Callable[[Found], str]
"""Words, or words made from results."""

VERDICTS = ("here", "holds", "holds in part", "fails", "not here", "drawing")
"""What can be said of an item: what the paper makes is here or is not; what it states holds, in part, or fails."""


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
    verdict: Text = "here"
    """One of `VERDICTS`. Of what a paper states it is made from results, or is what a test asserts."""
    words: str = ""
    """Of a claim or future work: where it stands in the paper, by a few words of its text."""


class Paper(NamedTuple):
    """A paper and its items."""

    name: str
    """The bold word that the documentation calls it by."""
    title: str
    entries: Sequence[Entry]
    algorithms: int
    tables: int
    figures: int
    equations: int
    remarks: int
    """How many of each the paper has: all of them are items."""
    claims: int
    """How many rows are statements of abstract, discussion and conclusion."""
    future: int
    """How many rows are open questions and future work."""


def drawing(item: str, about: str, *where: str, here: Text = "") -> Entry:
    """A figure without numbers."""
    return Entry(item, about, where, "drawing, no figure to reproduce", here, verdict="drawing")


def equations(item: str, about: str, where: Sequence[str], command: str, here: Text = "") -> Entry:
    """Numbered equations, the kernels that compute them, and what compares these with dense algebra."""
    return Entry(item, about, where, here=here or "computed by these kernels", command=command)


def claim(
    item: str, about: str, words: str, where: Sequence[str], here: Text, command: str, verdict: Text, differs: str = ""
) -> Entry:
    """A statement of abstract, discussion or conclusion."""
    return Entry(item, about, where, "stated", here, differs, command, verdict, words)


def future(
    item: str,
    about: str,
    words: str,
    where: Sequence[str] = (),
    here: Text = "",
    command: str = "",
    verdict: str = "here",
    differs: str = "",
) -> Entry:
    """An open question, or future work."""
    return Entry(item, about, where, FUTURE, here or "not here", differs, command, verdict, words)


FUTURE = "left for future work"
"""What `Entry.printed` is of open questions and future work."""
