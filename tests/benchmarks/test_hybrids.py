# SPDX-License-Identifier: BSD-3-Clause
"""Hybrids of LCABA and proxBBO by constraint: operations on docs/internals/decisions/loops.md."""

from __future__ import annotations

import pytest

from linkwork_benchmarks.constrained.hybrids import Hybrid, hybrid, systems
from tests.support import REPOSITORY

PAGE = REPOSITORY / "docs" / "internals" / "decisions" / "loops.md"


@pytest.mark.parametrize("name", ["Iiwa (H)", "Cassie, feet welded", "four-bar", "Stewart platform"])
def test_counts_are_those_on_the_page(name: str) -> None:
    counts = hybrid(systems()[name]())
    table = PAGE.read_text().split("<!-- hybrids -->")[1].split("<!-- /hybrids -->")[0]
    row = next(line for line in table.splitlines() if line.startswith(f"| {name} |"))
    constraints, lcaba, prox_bbo, best, by_rows, ordered = (
        int(cell.replace(" ", "")) for cell in row.strip("| ").split(" | ")[1:]
    )
    assert counts == Hybrid(lcaba, prox_bbo, best, by_rows, constraints, ordered)


def test_hybrids_are_no_dearer_than_either_method_alone() -> None:
    counts = hybrid(systems()["Stewart platform"]())
    assert 0 < counts.by_rows < counts.constraints
    assert counts.best < min(counts.lcaba, counts.prox_bbo)
