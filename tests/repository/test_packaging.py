# SPDX-License-Identifier: BSD-3-Clause
"""What is distributed: the sdist has everything, builds, and its tests are found; README's links work on indexes."""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import linkwork
from tests.support import REPOSITORY
from tests.support.robots import MODELS

pytest.importorskip("setuptools", minversion="77")

ROOT = REPOSITORY
README = (ROOT / "README.md").read_text(encoding="utf-8")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
LEFT = {"build", "dist", "out", "__pycache__", "MUJOCO_LOG.TXT"}
"""Names of what is no part of the sources, beside hidden files and what the build backend leaves."""


def sources(folder: Path) -> set[str]:
    """The files of a repository, or of an unpacked sdist, that are written by hand."""
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {
        path.as_posix()
        for path in files
        if not any(name in LEFT or name.startswith(".") or name.endswith(".egg-info") for name in path.parts)
    }


def build(what: str, folder: Path, out: Path) -> Path:
    """An sdist or a wheel by the project's own build backend, from a folder."""
    out.mkdir()
    text = f"import sys; from setuptools import build_meta; print(build_meta.build_{what}(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", text, str(out)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return out / done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist of a copy of the sources, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    for name in sources(ROOT):
        (folder / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / "copy" / name)
    archive = build("sdist", folder / "copy", folder / "dist")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


def test_the_sdist_has_every_file_of_the_sources(unpacked: Path) -> None:
    written = {"PKG-INFO", "setup.cfg"}
    assert sources(unpacked) - written == sources(ROOT) - written


def test_a_wheel_builds_from_the_sdist_and_its_description_links_to_no_missing_file(unpacked: Path) -> None:
    with zipfile.ZipFile(build("wheel", unpacked, unpacked.parent / "wheel")) as wheel:
        names = set(wheel.namelist())
        (metadata,) = (name for name in names if name.endswith("/METADATA"))
        said = email.message_from_bytes(wheel.read(metadata))
    packaged = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py")}
    assert packaged | {"linkwork/py.typed", "linkwork_benchmarks/results/trees.json"} <= names
    assert said["Version"] == linkwork.__version__
    assert said["Description-Content-Type"] == "text/markdown"
    shown = said.get_payload()
    assert "# linkwork" in shown
    assert all(link.startswith(("https://", "#")) for link in LINK.findall(shown))


def test_tests_are_found_in_the_sdist(unpacked: Path) -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "--assert=plain", "-p", "no:cacheprovider"]
    done = subprocess.run(
        command,
        cwd=unpacked,
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": str(unpacked / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "LINKWORK_MODELS": str(MODELS),  # found beside the repository, not beside its copy
        },
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = set(re.findall(r"^(tests/\w+/test_\w+\.py):", done.stdout, re.MULTILINE))
    assert found == {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")}


# README ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return __import__("repository")


def test_links_of_readme_lead_to_files_of_the_repository() -> None:
    relative = [link for link in LINK.findall(README) if not link.startswith(("https://", "#"))]
    assert len(relative) > 10
    assert [link for link in relative if not (ROOT / link.partition("#")[0]).is_file()] == []


def test_on_indexes_links_and_pictures_of_readme_lead_into_the_repository(repository) -> None:
    shown = repository.description(README, "https://example.org/linkwork/")
    links, before = LINK.findall(shown), LINK.findall(README)
    assert all(link.startswith(("https://", "#")) for link in links)
    assert "](https://example.org/linkwork/blob/HEAD/docs/constraints.md)" in shown
    assert "](https://example.org/linkwork/raw/HEAD/docs/pictures/viewer-cassie.png)" in shown
    assert [re.sub("^https://example.org/linkwork/(blob|raw)/HEAD/", "", link) for link in links] == before


def test_without_an_address_readme_names_files_without_links(repository) -> None:
    shown = repository.description(README, None)
    assert all(link.startswith(("https://", "#")) for link in LINK.findall(shown))
    assert "docs/constraints.md" in shown and "viewer-cassie.png" not in shown
    assert re.findall(r"```python\n(.*?)```", shown, re.DOTALL) == re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_the_address_of_the_repository_is_said_in_one_place(repository, tmp_path: Path) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text('[project]\nname = "linkwork"\n')
    assert repository.repository(project) is None
    project.write_text('[project]\nname = "linkwork"\n[project.urls]\nRepository = "https://example.org/linkwork"\n')
    assert repository.repository(project) == "https://example.org/linkwork"


def test_addresses_of_the_project_are_in_its_repository() -> None:
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    address = urls.get("Repository") or urls["Source"]
    assert all(url == address or url.startswith(f"{address}/") for url in urls.values())
    files = [url.partition("/HEAD/")[2] for url in urls.values() if "/HEAD/" in url]
    assert len(files) == 2 and all((ROOT / name).exists() for name in files)


def test_the_version_is_said_in_one_place() -> None:
    """In ``linkwork.__version__``; nothing that is written by hand repeats it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in project["project"] and "version" in project["project"]["dynamic"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "linkwork.__version__"}
    assert not re.search("^version:", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert f"## {linkwork.__version__} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


# Installing ------------------------------------------------------------------------------------------------------


def test_no_text_says_to_install_from_an_index_what_may_not_be_there() -> None:
    """``pip install 'linkwork[plot]'`` adds to a linkwork that is there; the name alone would ask an index for it."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").iterdir()]
    texts = [path for path in (*pages, *(ROOT / "src").rglob("*.py")) if path.is_file()]
    said = [path.name for path in texts if re.search(r"pip install ['\"]?linkwork(?!\[)", path.read_text("utf-8"))]
    assert said == []
    first = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"^pip install .*?(?=\s+#|$)", first, re.MULTILINE) == ["pip install ."]
