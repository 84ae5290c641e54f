# SPDX-License-Identifier: BSD-3-Clause
"""License headers: every Python file has one, and the script that adds them touches nothing else."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from tests.support import REPOSITORY

ROOT = REPOSITORY
LINE = "# SPDX-License-Identifier: BSD-3-Clause"


@pytest.fixture
def spdx() -> ModuleType:
    spec = importlib.util.spec_from_file_location("spdx", ROOT / "scripts" / "spdx.py")
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def test_every_python_file_names_the_license(spdx: ModuleType) -> None:
    found = [path.relative_to(ROOT).as_posix() for path in spdx.missing(ROOT)]
    assert found == [], "run: python scripts/spdx.py"


def test_the_header_is_the_license_of_the_project(spdx: ModuleType) -> None:
    assert spdx.header() == LINE
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("BSD 3-Clause License\n")


PLACES = {
    "a docstring": ('"""What it is."""\n', f'{LINE}\n"""What it is."""\n'),
    "nothing": ("", f"{LINE}\n"),
    "a shebang": ("#!/usr/bin/env python3\nx = 1\n", f"#!/usr/bin/env python3\n{LINE}\nx = 1\n"),
    "a shebang alone, no end of line": ("#!/usr/bin/env python3", f"#!/usr/bin/env python3\n{LINE}\n"),
    "an encoding": ("# -*- coding: utf-8 -*-\nx = 1\n", f"# -*- coding: utf-8 -*-\n{LINE}\nx = 1\n"),
    "both": ("#!/bin/python\n# coding: utf-8\nx = 1\n", f"#!/bin/python\n# coding: utf-8\n{LINE}\nx = 1\n"),
    "another license": ("# SPDX-License-Identifier: MIT\nx = 1\n", f"{LINE}\nx = 1\n"),
    "a comment": ("# About codes\nx = 1\n", f"{LINE}\n# About codes\nx = 1\n"),
    "the ends of lines of Windows": ("x = 1\r\ny = 2\r\n", f"{LINE}\r\nx = 1\r\ny = 2\r\n"),
}


@pytest.mark.parametrize("place", PLACES)
def test_the_line_comes_behind_what_must_be_first(spdx: ModuleType, place: str) -> None:
    before, after = PLACES[place]
    assert spdx.with_header(before, LINE) == after
    assert spdx.with_header(after, LINE) == after


def test_the_script_adds_what_the_check_misses(
    spdx: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\nlicense = "BSD-3-Clause"\n')
    inside = tmp_path / "src" / "package" / "inside"
    inside.mkdir(parents=True)
    (inside / "module.py").write_bytes(b"x = 1\r\n")
    (tmp_path / "setup.py").write_text(f"{LINE}\n")
    assert spdx.main(["--check"], tmp_path) == 1
    assert capsys.readouterr().out == f"src/package/inside/module.py: no '{LINE}'\n"
    assert (inside / "module.py").read_bytes() == b"x = 1\r\n"
    assert spdx.main([], tmp_path) == 0
    assert (inside / "module.py").read_bytes() == f"{LINE}\r\nx = 1\r\n".encode()
    capsys.readouterr()
    assert spdx.main(["--check"], tmp_path) == 0 and spdx.main([], tmp_path) == 0
    assert capsys.readouterr().out == ""
