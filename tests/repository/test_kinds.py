# SPDX-License-Identifier: BSD-3-Clause
"""The kinds of tests that `make quick` leaves out: each is registered, and each file named is there."""

from __future__ import annotations

import re
import tomllib
from fnmatch import fnmatch

from tests.conftest import KINDS, kinds_of
from tests.support import REPOSITORY

ROOT = REPOSITORY
FILES = [path.stem for path in (ROOT / "tests").rglob("test_*.py")]


def test_every_file_that_a_kind_names_is_there() -> None:
    patterns = {pattern for kind in KINDS.values() for pattern in kind}
    assert [pattern for pattern in patterns if not any(fnmatch(file, pattern) for file in FILES)] == []


def test_a_file_is_of_one_kind() -> None:
    assert [file for file in FILES if len(kinds_of(file)) > 1] == []


def test_make_quick_leaves_out_every_kind_and_pytest_knows_it() -> None:
    markers = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"][
        "markers"
    ]
    assert {marker.partition(":")[0] for marker in markers} == {"gpu", "models", *KINDS}
    (left_out,) = re.findall(r"^QUICK := not \((.*)\)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(left_out.split(" or ")) == set(KINDS)
