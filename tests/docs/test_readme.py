# SPDX-License-Identifier: BSD-3-Clause
"""README: its code runs as it is printed, one block after the other."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.support import REPOSITORY, robots

README = REPOSITORY / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)


def test_the_first_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(BLOCKS[0], {})
    assert capsys.readouterr().out.startswith("1 degree of freedom; 5 rows of rank 2; redundant: ankle\n")


def test_all_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(robots.path_of("go2"), tmp_path / "go2.urdf")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in BLOCKS:
        exec(block, names)
    assert len(BLOCKS) > 2
