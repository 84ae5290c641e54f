# SPDX-License-Identifier: BSD-3-Clause
"""The page of errors: every public one has an example that raises it, with this message, a cause and a cure."""

from __future__ import annotations

import re
import textwrap
import warnings
from pathlib import Path
from typing import NamedTuple

import pytest

import linkwork as lw
from tests.support import REPOSITORY, printed

PAGE = (REPOSITORY / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
SECTIONS = dict(zip(*[iter(re.split(r"^::: linkwork\.errors\.(\w+)$", PAGE, flags=re.MULTILINE)[1:])] * 2, strict=True))
FIRST = re.findall(r"```python\n(.*?)```", PAGE.partition(":::")[0], re.DOTALL)
EXAMPLE = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)\n```", re.DOTALL)


class Example(NamedTuple):
    """Code, the name of what it raises or warns of, and the message, or how it begins."""

    name: str
    code: str
    message: str


EXAMPLES = [Example(name, *found) for name, text in SECTIONS.items() for found in EXAMPLE.findall(text)]


def test_every_error_and_warning_has_an_entry() -> None:
    assert sorted(SECTIONS) == sorted(lw.errors.__all__)
    for name, text in SECTIONS.items():
        assert EXAMPLE.search(text), f"{name} has no example"
        assert "**Cause.**" in text and "**Cure.**" in text, name


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.name}: {example.message[:30]}")
def test_examples_raise_what_the_page_shows(example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if example.name == "DeviceError":
        _without_driver(monkeypatch)
    names: dict[str, object] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            for code in (*FIRST, example.code):
                exec(compile(code, printed.filed(code), "exec", dont_inherit=True), names)
        except lw.errors.LinkworkError as error:
            raised: list[Warning | Exception] = [error]
        else:
            raised = [warning.message for warning in caught if isinstance(warning.message, Warning)]
    messages = [str(one) for one in raised if type(one).__name__ == example.name]
    said = textwrap.dedent(example.message)
    assert any(re.sub(r"<page \d+>", "kernels.py", message).startswith(said) for message in messages), raised


def _without_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    from linkwork.compilers.cuda import driver

    monkeypatch.setattr(driver, "LIBRARY", "libcuda_that_is_not_there.so.1")
    monkeypatch.setattr(driver, "driver", driver.driver.__wrapped__)
