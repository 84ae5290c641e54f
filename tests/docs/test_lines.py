# SPDX-License-Identifier: BSD-3-Clause
"""Pages have lines of at most 120 characters, but for tables, code and what does not break."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from linkwork_benchmarks import reflow
from tests.support import REPOSITORY


@pytest.mark.parametrize("page", reflow.pages(), ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_paragraphs_are_narrow(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert reflow.reflowed(text) == text, "run python -m linkwork_benchmarks.reflow"


def test_words_stay_and_links_code_and_tables_do_not_break() -> None:
    link, code, formula = f"[{'a b ' * 30}](c.md)", f"`{'x = 1; ' * 20}`", f"${'a + ' * 40}a$"
    item = f"- {'word ' * 40}{link} {code}, {formula}. 3. end"
    text = f"# {'t ' * 80}\n\n{item}\n\n| {'c ' * 90} |\n\n```\n{'d ' * 90}\n```\n"
    new = reflow.reflowed(text)
    assert new.split() == text.split() and reflow.reflowed(new) == new
    assert all(part in new for part in (link, code, formula, f"| {'c ' * 90} |", "d " * 90))
    prose = [line for line in new.splitlines() if "word" in line]
    assert len(prose) == 2 and all(len(line) <= 120 for line in prose[:1])
    assert not re.search(r"^\s*3\. end", new, re.MULTILINE)
