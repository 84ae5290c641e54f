# SPDX-License-Identifier: BSD-3-Clause
"""Tests that need models from files: without these they are skipped, and fail where CI is set."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import REPOSITORY, robots

TESTS = REPOSITORY / "tests"


@pytest.fixture(params=[None, "", "0", "false", "1", "true"])
def ci(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str | None:
    value: str | None = request.param
    if value is None:
        monkeypatch.delenv("CI", raising=False)
    else:
        monkeypatch.setenv("CI", value)
    return value


def outcome(ci: str | None) -> type[BaseException]:
    """What ends a test that has no model."""
    return pytest.fail.Exception if ci in ("1", "true") else pytest.skip.Exception


def test_an_absent_file_skips_a_test_and_fails_it_in_ci(ci: str | None) -> None:
    with pytest.raises(outcome(ci), match=r"no model file .*nowhere.xml"):
        robots.model_file("nowhere.xml")


def test_an_absent_folder_skips_a_test_and_fails_it_in_ci(
    ci: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(robots, "MODELS", tmp_path / "nowhere")
    with pytest.raises(outcome(ci), match=r"no folder of models .*nowhere"):
        robots.models_folder()


def test_lists_of_absent_files_are_empty_and_an_error_in_ci(
    ci: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Parameters of tests: an empty list would skip them."""
    monkeypatch.setattr(robots, "MODELS", tmp_path / "nowhere")
    if robots.models_required():
        with pytest.raises(pytest.fail.Exception, match="set LINKWORK_MODELS"):
            robots.model_files("*.urdf")
    else:
        assert robots.model_files("*.urdf") == []


def test_a_file_that_is_there_is_given_in_ci_too(
    ci: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(robots, "MODELS", tmp_path)
    (tmp_path / "a.urdf").touch()
    assert robots.model_file("a.urdf") == robots.model_file(tmp_path / "a.urdf") == tmp_path / "a.urdf"
    assert robots.model_files("*.urdf") == [tmp_path / "a.urdf"] and robots.models_folder() == tmp_path


MARKED = """
import pytest

pytestmark = pytest.mark.models

def test_of_a_model():
    raise SystemError("it ran")
"""


@pytest.mark.slow
@pytest.mark.parametrize(("ci", "status", "said"), [("", 0, "1 skipped"), ("1", 1, "1 error")])
def test_marked_tests_do_not_run_without_models(tmp_path: Path, ci: str, status: int, said: str) -> None:
    (tmp_path / "tests" / "support").mkdir(parents=True)
    for name in ("__init__.py", "conftest.py", "support/__init__.py", "support/robots.py"):
        (tmp_path / "tests" / name).write_bytes((TESTS / name).read_bytes())
    (tmp_path / "tests" / "test_marked.py").write_text(MARKED)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    models: needs models\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/test_marked.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "CI": ci, "LINKWORK_MODELS": str(tmp_path / "nowhere")},
    )
    assert (done.returncode, "SystemError" in done.stdout) == (status, False), done.stdout + done.stderr
    assert said in done.stdout


def test_only_one_function_decides_what_a_test_without_a_model_does() -> None:
    """What skips for another reason (no compiler, no browser, no Pinocchio) names no model."""
    skips = re.compile(r"""(?:pytest\.skip|skipif)\(.*?(?:\)$|reason=.*?\)$)""", re.MULTILINE | re.DOTALL)
    found = {
        f"{path.name}: {text}"
        for path in TESTS.rglob("*.py")
        if path.name not in ("robots.py", Path(__file__).name)
        for text in skips.findall(path.read_text(encoding="utf-8"))
        if re.search(r"MODELS|is_file|is_dir|no models?\b", text)
    }
    assert found == set()
