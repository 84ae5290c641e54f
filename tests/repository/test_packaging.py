# SPDX-License-Identifier: BSD-3-Clause
"""What is distributed: the sdist has everything, its wheel needs nothing else, README's links work on indexes."""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterable
from importlib import metadata
from importlib.metadata import Distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import linkwork
from tests.support import REPOSITORY
from tests.support.robots import MODELS

pytest.importorskip("setuptools", minversion="77")

ROOT = REPOSITORY
README = (ROOT / "README.md").read_text(encoding="utf-8")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
LEFT = {"build", "dist", "out", "__pycache__", "MUJOCO_LOG.TXT"}
"""Names of what is no part of the sources, beside hidden files and what the build backend leaves."""
ARM = """<robot name="arm"><link name="base"/><link name="arm"><inertial><origin xyz="1 0 0"/><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>"""


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


@pytest.fixture(scope="module")
def wheel_file(unpacked: Path) -> Path:
    """The wheel, built from the sdist."""
    return build("wheel", unpacked, unpacked.parent / "wheel")


def test_a_wheel_has_the_library_alone_and_its_description_links_to_no_missing_file(wheel_file: Path) -> None:
    with zipfile.ZipFile(wheel_file) as wheel:
        names = set(wheel.namelist())
        (metadata,) = (name for name in names if name.endswith("/METADATA"))
        said = email.message_from_bytes(wheel.read(metadata))
    web = (ROOT / "src/linkwork/pages/web").iterdir()
    files = [*(ROOT / "src").rglob("*.py"), *web, ROOT / "src/linkwork/py.typed"]
    packaged = {path.relative_to(ROOT / "src").as_posix() for path in files}
    assert packaged == {name for name in names if ".dist-info/" not in name}
    assert said["Version"] == linkwork.__version__
    assert said["Description-Content-Type"] == "text/markdown"
    shown = said.get_payload()
    assert "# linkwork" in shown
    assert all(link.startswith(("https://", "#")) for link in LINK.findall(shown))


def test_benchmarks_are_a_distribution_of_their_own(unpacked: Path) -> None:
    with zipfile.ZipFile(build("wheel", unpacked / "benchmarks", unpacked.parent / "benchmarks")) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    files = [path for kind in ("*.py", "*.json") for path in (ROOT / "benchmarks").rglob(kind)]
    assert names == {path.relative_to(ROOT / "benchmarks").as_posix() for path in files}


# An empty environment ----------------------------------------------------------------------------------------------


def needed(requirements: Iterable[str], seen: dict[str, Distribution]) -> dict[str, Distribution]:
    """The distributions that are required, extras apart, and those that they require, by name."""
    for requirement in map(Requirement, requirements):
        key = canonicalize_name(requirement.name)
        if key not in seen and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            seen[key] = metadata.distribution(key)
            needed(metadata.requires(key) or (), seen)
    return seen


@pytest.fixture(scope="module")
def installed(wheel_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel and what it requires, and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=os.name != "nt", with_pip=False)
    paths = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", "venv", paths))
    with zipfile.ZipFile(wheel_file) as wheel:
        wheel.extractall(packages)
        said = email.message_from_bytes(wheel.read(f"linkwork-{linkwork.__version__}.dist-info/METADATA"))
    for one in needed(said.get_all("Requires-Dist", ()), {}).values():
        for top in {file.parts[0] for file in one.files or () if file.parts[0] not in ("..", "__pycache__")}:
            source = Path(str(one.locate_file(top)))
            if source.exists() and not (packages / top).exists():
                (packages / top).symlink_to(source, target_is_directory=source.is_dir())
    return Path(sysconfig.get_path("scripts", "venv", paths)) / ("python.exe" if os.name == "nt" else "python")


def alone(python: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A command in that environment, away from the repository."""
    hidden = ("PYTHONPATH", "PYTHONHOME")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    return subprocess.run(
        [str(python), *command], cwd=python.parent, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege there")
def test_the_wheel_alone_answers_the_first_example_of_readme(installed: Path) -> None:
    example = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[0]
    checks = "import importlib.util\nprint(linkage.mobility(q).dof, importlib.util.find_spec('linkwork_benchmarks'))\n"
    done = alone(installed, "-c", f"{example}\n{checks}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "1 None"


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege there")
def test_without_benchmarks_the_command_line_says_what_to_install(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(ARM)
    for arguments in ((str(tmp_path / "arm.urdf"),), ("--suite", "trees")):
        done = alone(installed, "-m", "linkwork", "bench", *arguments)
        assert done.returncode == 1
        said = " ".join(done.stderr.split())
        assert "No module named 'linkwork_benchmarks'" in said and "pip install ./benchmarks" in said


WRONG = """import linkwork as lw

robot = lw.zoo.four_bar()
robot.assembel()
lw.Revolute
lw.simulate(robot, seconds="long")
"""
"""Three errors, one a line."""


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege there")
@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_type_checkers_read_the_types_of_the_installed_wheel(checker: str, installed: Path, tmp_path: Path) -> None:
    """A user's program passes, and a misspelled method, a name that moved and a wrong argument do not."""
    if checker == "pyright":
        pytest.importorskip("pyright")
        command = ["pyright", "--pythonpath", str(installed)]
    else:
        pytest.importorskip("mypy")
        command = ["mypy", "--strict", "--python-executable", str(installed), "--cache-dir", str(tmp_path / "cache")]
    shutil.copy(Path(__file__).parent / "user_program.py", tmp_path / "right.py")
    (tmp_path / "wrong.py").write_text(WRONG)
    hidden = {name: text for name, text in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}
    for name, lines in (("right", set()), ("wrong", {"4", "5", "6"})):
        done = subprocess.run(
            [sys.executable, "-m", *command, f"{name}.py"], cwd=tmp_path, env=hidden, capture_output=True, text=True
        )
        assert set(re.findall(rf"{name}\.py:(\d+):.*error", done.stdout)) == lines, done.stdout + done.stderr
        assert done.returncode == bool(lines)


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege there")
def test_the_program_that_type_checkers_read_runs(installed: Path) -> None:
    done = alone(installed, str(Path(__file__).parent / "user_program.py"))
    assert done.returncode == 0, done.stderr
    assert "did you mean 'hinge'?" in done.stdout


def test_tests_that_read_files_of_the_repository_are_found_in_the_sdist(unpacked: Path) -> None:
    """Those of the repository and of its pages; all files of tests are there, see above."""
    folders = ["tests/repository", "tests/docs"]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "--assert=plain", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *folders],
        cwd=unpacked,
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(str(unpacked / name) for name in ("src", "benchmarks")),
            "PYTHONDONTWRITEBYTECODE": "1",
            "LINKWORK_MODELS": str(MODELS),  # found beside the repository, not beside its copy
        },
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = set(re.findall(r"^(tests/\w+/test_\w+\.py):", done.stdout, re.MULTILINE))
    assert found == {path.relative_to(ROOT).as_posix() for name in folders for path in (ROOT / name).glob("test_*.py")}


# README ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return __import__("repository")


def test_links_of_readme_lead_into_the_repository() -> None:
    relative = [link for link in LINK.findall(README) if not link.startswith(("https://", "#"))]
    assert len(relative) > 10
    assert [link for link in relative if not (ROOT / link.partition("#")[0]).exists()] == []


def test_on_indexes_links_and_pictures_of_readme_lead_into_the_repository(repository) -> None:
    shown = repository.description(README, "https://example.org/linkwork/")
    links, before = LINK.findall(shown), LINK.findall(README)
    assert all(link.startswith(("https://", "#")) for link in links)
    assert "](https://example.org/linkwork/blob/HEAD/docs/how-to/constraints.md)" in shown
    assert "](https://example.org/linkwork/raw/HEAD/docs/pictures/viewer-cassie.png)" in shown
    assert [re.sub("^https://example.org/linkwork/(blob|raw)/HEAD/", "", link) for link in links] == before


def test_without_an_address_readme_names_files_without_links(repository) -> None:
    shown = repository.description(README, None)
    assert all(link.startswith(("https://", "#")) for link in LINK.findall(shown))
    assert "constraints" in shown and "viewer-cassie.png" not in shown
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


def test_every_extra_is_in_the_table_of_the_first_page() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    listed = {name for row in re.findall(r"^\| `linkwork\[.*?\|", page, re.MULTILINE) for name in NAMED.findall(row)}
    assert listed == set(project["optional-dependencies"])


NAMED = re.compile(r"`linkwork\[([\w-]+)\]`")
"""An extra, as the table has it."""


def test_versions_of_python_that_are_named_are_those_that_are_tested() -> None:
    """In classifiers, in both workflows and on the first page."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = [name.rpartition(" ")[2] for name in project["classifiers"] if re.search(r":: 3\.\d", name)]
    assert project["requires-python"] == f">={versions[0]}"
    tested = ", ".join(f'"{version}"' for version in versions)
    for workflow in ("tests", "wheels"):
        assert f"python: [{tested}]" in (ROOT / ".github" / "workflows" / f"{workflow}.yml").read_text("utf-8")
    assert f"Python {versions[0]} to {versions[-1]}" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")


def test_no_text_says_to_install_from_an_index_what_may_not_be_there() -> None:
    """``pip install 'linkwork[plot]'`` adds to a linkwork that is there; the name alone would ask an index for it."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").iterdir()]
    texts = [path for path in (*pages, *(ROOT / "src").rglob("*.py")) if path.is_file()]
    said = [path.name for path in texts if re.search(r"pip install ['\"]?linkwork(?!\[)", path.read_text("utf-8"))]
    assert said == []
    first = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"^pip install .*?(?=\s+#|$)", first, re.MULTILINE) == ["pip install ."]
