"""Compiled code on disk: a second process compiles nothing, and no state of the folder makes an answer wrong.

Each process prints numbers of a small robot, some native and some specialised; the right ones come from plain.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics import Evaluator

PROGRAM = """
import sys
import linkwork as lw
from linkwork.dynamics import Evaluator
robot = lw.zoo.pendulum(2)
state = [0.3, -0.4], [0.5, 0.6], [0.7, 0.8]
center = lw.center_of_mass(robot, state[0])
fast = Evaluator(robot, "gravity_forces").compile()(state[0])
print(*center.tolist(), *fast.tolist())
print("numba" in sys.modules)
"""
"""Center of mass natively (the quickest kernel to compile) and gravity forces specialised."""


@pytest.fixture(scope="module")
def answer() -> list[float]:
    robot = lw.zoo.pendulum(2)
    parts = [Evaluator(robot, name).plain()([0.3, -0.4]) for name in ("center_of_mass", "gravity_forces")]
    return np.concatenate(parts).tolist()


def process(program: str, folder: Path, **more: str) -> subprocess.Popen[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LINKWORK_")}
    environment |= {"LINKWORK_CACHE_DIR": str(folder), **more}
    command = [sys.executable, "-c", program]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class Outcome:
    """What a process said."""

    def __init__(self, running: subprocess.Popen[str]) -> None:
        out, self.stderr = running.communicate()
        assert running.returncode == 0, self.stderr
        numbers, numba = out.splitlines()
        self.numbers = [float(x) for x in numbers.split()]
        self.imported_numba = numba == "True"


def run(folder: Path, **more: str) -> Outcome:
    return Outcome(process(PROGRAM, folder, **more))


def assert_right(found: Outcome, answer: list[float]) -> None:
    np.testing.assert_allclose(found.numbers, answer, rtol=1e-13, atol=1e-15)


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory, answer: list[float]) -> Path:
    """A folder that one process has filled."""
    folder = tmp_path_factory.mktemp("warm")
    first = run(folder)
    assert_right(first, answer)
    assert first.imported_numba
    return folder


def entries(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def copied(folder: Path, to: Path) -> Path:
    to.mkdir()
    for path in folder.iterdir():
        (to / path.name).write_bytes(path.read_bytes())
    return to


def test_a_second_process_compiles_nothing_and_imports_no_numba(warm: Path, answer: list[float]) -> None:
    before = entries(warm)
    second = run(warm)
    assert_right(second, answer)
    assert not second.imported_numba
    assert second.stderr == ""
    assert entries(warm) == before


DAMAGE = {
    "empty": lambda raw: b"",
    "cut short": lambda raw: raw[: len(raw) // 2],
    "header only": lambda raw: raw[:42],
    "one bit": lambda raw: raw[:-1] + bytes([raw[-1] ^ 1]),
    "another header": lambda raw: b"linkwork0\n" + raw[10:],
    "noise": lambda raw: bytes(range(256)) * 50,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_entries_are_replaced(warm: Path, answer: list[float], tmp_path: Path, damage: str) -> None:
    folder = copied(warm, tmp_path / "damaged")
    whole = {path.name: path.read_bytes() for path in folder.iterdir()}
    for path in folder.iterdir():
        path.write_bytes(DAMAGE[damage](path.read_bytes()))
    assert_right(run(folder), answer)
    again = run(folder)
    assert not again.imported_numba
    assert {path.name for path in folder.iterdir()} == set(whole)


def test_a_folder_in_the_place_of_an_entry_does_no_harm(warm: Path, answer: list[float], tmp_path: Path) -> None:
    folder = copied(warm, tmp_path / "odd")
    for path in list(folder.iterdir()):
        path.unlink()
        path.mkdir()
    assert_right(run(folder), answer)


def test_processes_that_compile_at_once_all_succeed(answer: list[float], tmp_path: Path) -> None:
    folder = tmp_path / "crowd"
    running = [process(PROGRAM, folder) for _ in range(4)]
    for outcome in [Outcome(one) for one in running]:
        assert_right(outcome, answer)
    assert not run(folder).imported_numba
    assert all(len(path.name) == 64 for path in folder.iterdir()), "temporary files were left behind"


def test_a_folder_that_cannot_be_written_is_told_of_once(answer: list[float], tmp_path: Path) -> None:
    """Below a file nobody can make a folder, not even root."""
    (tmp_path / "file").write_text("")
    found = run(tmp_path / "file" / "cache")
    assert_right(found, answer)
    said = [line for line in found.stderr.splitlines() if "cannot keep compiled code" in line]
    assert len(said) == 1
    assert "LINKWORK_CACHE_DIR" in said[0]


def test_quiet_is_quiet(answer: list[float], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = run(tmp_path / "file" / "cache", LINKWORK_QUIET="1")
    assert_right(found, answer)
    assert found.stderr == ""


@pytest.mark.parametrize("quiet", [False, True])
def test_a_long_compilation_is_announced_in_one_line(
    quiet: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from linkwork.compile.cache import announced

    monkeypatch.setenv("LINKWORK_QUIET", "1" if quiet else "")
    with announced("something", after=0.01):
        time.sleep(0.2)
    said = capsys.readouterr().err.splitlines()
    assert said == ([] if quiet else ["linkwork: compiling something, once for this machine ..."])


def test_a_short_compilation_is_not_announced(capsys: pytest.CaptureFixture[str]) -> None:
    from linkwork.compile.cache import announced

    with announced("something", after=100.0):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("module", ["numba", "llvmlite", "scipy", "pinocchio"])
def test_importing_the_package_does_not_import(module: str) -> None:
    program = f"import sys, linkwork; linkwork.Builder; sys.exit('{module}' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_robots_that_differ_in_one_number_do_not_share_a_program() -> None:
    """What a program depends on is in the name of its entry."""
    first, second = lw.zoo.pendulum(1, mass=1.0), lw.zoo.pendulum(1, mass=1.0 + 1e-12)
    found = [Evaluator(robot, "mass_matrix").compile()([0.0])[0, 0] for robot in (first, second)]
    assert found[0] != found[1]


def test_every_file_with_kernel_text_counts_in_the_digest() -> None:
    """Else a changed kernel would run as it was compiled before."""
    import linkwork.forward
    import linkwork.impulse
    import linkwork.operational  # noqa: F401
    from linkwork.compile.cache import sources
    from linkwork.scalar import KERNELS

    files = {Path(function.__code__.co_filename).resolve() for function in KERNELS}
    assert len(files) > 15
    assert files <= {path.resolve() for path in sources()}
