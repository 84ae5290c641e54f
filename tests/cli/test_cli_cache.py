# SPDX-License-Identifier: BSD-3-Clause
"""``linkwork cache``: what it prints is the state of the folder, and it removes entries alone."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

import linkwork as lw
from linkwork.cli.cache_report import in_bytes
from linkwork.compilers import cache
from tests.cli.test_cli import PROBE, json_of, run
from tests.support.robots import REPOSITORY


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a cache that is not there yet."""
    monkeypatch.delenv("LINKWORK_CACHE_SIZE", raising=False)
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def filled(place: Path) -> Path:
    """Two entries of a block each, used an hour and a day ago, and a file that is none."""
    now = time.time()
    for name, age in (("hour", 3600), ("day", 86400)):
        cache.fetch(cache.key(name), lambda: b"content")
        os.utime(place / cache.key(name), (now - age, now - age))
    (place / "notes.txt").write_text("mine")
    return place


described = partial(json_of, "cache")


def test_where_how_many_and_how_large(filled: Path) -> None:
    page = run("cache").stdout
    assert [line.split(maxsplit=1) for line in page.splitlines()][:3] == [
        ["folder", str(filled)],
        ["entries", "2"],
        ["size", "8.19 KB of at most 2 GB"],
    ]
    assert [line.split()[0] for line in page.splitlines()][3:] == ["oldest", "newest"]


def test_json_has_the_same(filled: Path) -> None:
    found = described()
    oldest, newest = found.pop("oldest"), found.pop("newest")
    assert oldest < newest and oldest.endswith("+00:00")
    assert found == {
        "linkwork": lw.__version__,
        "folder": str(filled),
        "limit": 2 * 10**9,
        "entries": 2,
        "bytes": 2 * cache.BLOCK,
        "removed": None,
    }


def test_the_limit_is_that_of_the_environment(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKWORK_CACHE_SIZE", "500MB")
    assert described()["limit"] == 500_000_000
    assert "of at most 500 MB" in run("cache").stdout


def test_clear_removes_entries_and_says_so(filled: Path) -> None:
    result = run("cache", "--clear")
    assert (result.exit_code, result.stdout) == (0, f"removed 2 entries, 8.19 KB, from {filled}\n")
    assert cache.entries() == [] and (filled / "notes.txt").read_text() == "mine"
    assert run("cache", "--clear").stdout == f"removed nothing from {filled}\n"


def test_clear_as_json(filled: Path) -> None:
    found = described("--clear")
    assert found["removed"] == {"entries": 2, "bytes": 2 * cache.BLOCK}
    assert (found["entries"], found["bytes"], found["oldest"], found["newest"]) == (0, 0, None, None)


def test_a_cache_that_is_not_there_is_empty(place: Path) -> None:
    assert described()["entries"] == 0
    assert "0 bytes of at most 2 GB" in run("cache").stdout
    assert run("cache", "--clear").exit_code == 0
    assert not place.exists()


def test_a_wrong_size_is_a_message(place: Path) -> None:
    result = run("cache", LINKWORK_CACHE_SIZE="lots")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("linkwork: error: LINKWORK_CACHE_SIZE is 'lots'")


def test_an_entry_that_cannot_be_removed_is_a_message(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unlink(self: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "unlink", unlink)
    result = run("cache", "--clear")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "Permission denied" in result.stderr and str(filled) in result.stderr


def test_neither_compiler_nor_locks_are_imported(filled: Path) -> None:
    probe = PROBE.replace('"matplotlib"', '"matplotlib", "filelock"')
    done = subprocess.run([sys.executable, "-c", probe, "cache"], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "loaded: 0", done.stderr


def test_the_documentation_names_every_key(filled: Path) -> None:
    text = (REPOSITORY / "docs" / "reference" / "cli.md").read_text().partition("`linkwork cache --json`")[2]
    missing = [key for key in described() if f"`{key}`" not in text]
    assert not missing


SIZES = {0: "0 bytes", 999: "999 bytes", 1000: "1 KB", 999_499: "999 KB", 999_500: "1 MB", 52_100_000: "52.1 MB"}


@pytest.mark.parametrize("size", SIZES)
def test_sizes_have_three_digits(size: int) -> None:
    assert in_bytes(size) == SIZES[size]
