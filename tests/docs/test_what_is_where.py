# SPDX-License-Identifier: BSD-3-Clause
"""The page of names: every name of ours exists, every function of Pinocchio and MuJoCo has its row."""

from __future__ import annotations

import sys
from collections import Counter

import pytest

from tests.support import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "scripts"))

import what_is_where as names

TABLES = names.tables()


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.title)
def test_names_of_ours_are_there(table: names.Table) -> None:
    assert names.ours_missing(table) == []


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.title)
def test_names_of_theirs_are_there_and_complete(table: names.Table) -> None:
    module = names.installed(table)
    if module is None:
        pytest.skip(f"the table is of {table.title} {table.version}")
    assert names.theirs_missing(table, module) == []
    assert names.theirs_left_out(table, module) == []


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.title)
def test_each_name_has_one_row(table: names.Table) -> None:
    assert [name for name, count in Counter(table.theirs).items() if count > 1] == []


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.title)
def test_what_is_not_here_has_a_reason(table: names.Table) -> None:
    assert [row.theirs for row in table.rows if not row.ours and not row.note] == []


def test_a_name_that_is_gone_is_found() -> None:
    row = names.Row(("aba",), ("lw.no_such_function", "robot.no_such_method", "scipy.optimize.nothing"), "")
    table = names.Table("X", "pinocchio", "0", {"": (row,)})
    assert names.ours_missing(table) == list(row.ours)


def test_the_page_is_up_to_date() -> None:
    assert names.PAGE.read_text() == names.page()
