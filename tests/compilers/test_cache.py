# SPDX-License-Identifier: BSD-3-Clause
"""Compiled code on disk: a second process compiles nothing, and no state of the folder makes an answer wrong.

Each process prints numbers of a small robot, some native and some specialized; the right ones come from plain. Locks,
permissions and the bound on the size are tested on the cache alone, with entries that need no compiler.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.compilers import cache, llvm, native
from linkwork.compilers.lanes import Type
from linkwork.compilers.language import values
from linkwork.compilers.language.fingerprint import own_modules
from linkwork.compilers.warm import all_algorithms
from linkwork.quantities.evaluator import Evaluator

PROGRAM = """
import sys
import linkwork as lw
from linkwork.quantities.evaluator import Evaluator
robot = lw.zoo.pendulum(2)
state = [0.3, -0.4], [0.5, 0.6], [0.7, 0.8]
center = lw.center_of_mass(robot, state[0])
fast = Evaluator(robot, "gravity_forces").compile()(state[0])
print(*center.tolist(), *fast.tolist())
print("linkwork.compilers.language.lowering" in sys.modules)
"""
"""Center of mass natively (the quickest kernel to compile) and gravity forces specialized."""


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
        numbers, compiled = out.splitlines()
        self.numbers = [float(x) for x in numbers.split()]
        self.compiled = compiled == "True"


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
    assert first.compiled
    return folder


def files(folder: Path) -> list[Path]:
    """Files of the entries in a folder."""
    return [path for path in folder.iterdir() if len(path.name) == 64]


def entries(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in files(folder)}


def copied(folder: Path, to: Path) -> Path:
    to.mkdir()
    for path in files(folder):
        (to / path.name).write_bytes(path.read_bytes())
    return to


def test_a_second_process_compiles_nothing(warm: Path, answer: list[float]) -> None:
    before = entries(warm)
    second = run(warm)
    assert_right(second, answer)
    assert not second.compiled
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
    whole = {path.name: path.read_bytes() for path in files(folder)}
    for path in files(folder):
        path.write_bytes(DAMAGE[damage](path.read_bytes()))
    assert_right(run(folder), answer)
    again = run(folder)
    assert not again.compiled
    assert {path.name for path in files(folder)} == set(whole)


def test_a_folder_in_the_place_of_an_entry_does_no_harm(warm: Path, answer: list[float], tmp_path: Path) -> None:
    folder = copied(warm, tmp_path / "odd")
    for path in files(folder):
        path.unlink()
        path.mkdir()
    assert_right(run(folder), answer)


def test_processes_that_compile_at_once_all_succeed(answer: list[float], tmp_path: Path) -> None:
    folder = tmp_path / "crowd"
    running = [process(PROGRAM, folder) for _ in range(4)]
    for outcome in [Outcome(one) for one in running]:
        assert_right(outcome, answer)
    assert not run(folder).compiled
    assert not list(folder.glob("*.tmp")), "temporary files were left behind"


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
    monkeypatch.setenv("LINKWORK_QUIET", "1" if quiet else "")
    with cache.announced("something", after=0.01):
        time.sleep(0.2)
    said = capsys.readouterr().err.splitlines()
    assert said == ([] if quiet else ["linkwork: compiling something, once for this machine ..."])


def test_a_short_compilation_is_not_announced(capsys: pytest.CaptureFixture[str]) -> None:
    with cache.announced("something", after=100.0):
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
    files = {path.resolve() for path in cache.ROOT.rglob("*.py") if "@kernel" in path.read_text(encoding="utf-8")}
    files = {path for path in files if path.parent.name != "jax"}  # their text is in names: `jax.call_frame.kept_code`
    assert len(files) > 15
    assert files <= {path.resolve() for path in cache.sources()}


# The cache alone: names and folder ------------------------------------------------------------------


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a cache that is not there yet."""
    for name in ("LINKWORK_CACHE_SIZE", "LINKWORK_QUIET"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def name_of(k: int) -> str:
    return cache.key("test", str(k))


def aged(path: Path, seconds: float) -> None:
    """Let a file be last written, or an entry last used, so long ago."""
    os.utime(path, (time.time() - seconds,) * 2)


DAY = 86400.0
ONE_BLOCK = bytes(cache.BLOCK - cache.HEADER)
"""Content of an entry that occupies one block of the disk."""


def test_the_default_folder_is_that_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("LINKWORK_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "linkwork"


@pytest.mark.parametrize("home", ["an error", "relative"])
def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: str) -> None:
    def user_cache_path(*args: object, **options: object) -> Path:
        if home == "relative":
            return Path("~/.cache/linkwork")
        raise RuntimeError("could not determine the home directory")

    monkeypatch.delenv("LINKWORK_CACHE_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("platformdirs.user_cache_path", user_cache_path)
    assert cache.fetch(name_of(0), lambda: b"made") == b"made"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("change", ["versions", "source_digest"])
def test_a_name_depends_on_versions_and_source(monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    before = cache.key("part")
    monkeypatch.setattr(cache, change, lambda: "another")
    assert cache.key("part") != before


def test_native_code_is_named_by_all_source_that_it_is_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every function that is compiled is in a file of the name; kernels of contacts are in no name of dynamics."""
    compiled: set[str] = set()

    def recorded(function: Callable[..., object]) -> values.Source:
        compiled.add(function.__module__.removeprefix("linkwork.").replace(".", "/"))
        return source_of(function)

    source_of = values.source_of
    for module in [one for name, one in sys.modules.items() if name.startswith("linkwork.compilers")]:
        if getattr(module, "source_of", None) is source_of:
            monkeypatch.setattr(module, "source_of", recorded)
    for name in ("aba", "lcaba", "contact_newton", "cluster_aba"):
        algorithm = all_algorithms()[name]
        compiled.clear()
        native.module(algorithm, Type("float64", 1))
        kernels = [one for text in algorithm.texts for one in own_modules(text)]
        files = {
            path.relative_to(cache.ROOT).with_suffix("").as_posix()
            for path in cache.imported(native.__name__, *kernels)
        }
        assert compiled and compiled <= files
        assert ("kernels/contact/cones" in files) == ("contact" in name)


def test_versions_are_those_that_are_installed() -> None:
    major = np.__version__.split(".")[0]
    assert cache.versions() == f"numpy {major}"
    llvmlite = pytest.importorskip("llvmlite").__version__
    assert llvm.version().startswith(f"{llvmlite}|")


def test_parts_of_a_name_do_not_run_together() -> None:
    assert len({cache.key("ab", "c"), cache.key("a", "bc"), cache.key("abc"), cache.key("abc", "")}) == 4


def test_a_name_is_found_without_importing_the_compiler() -> None:
    program = "import sys; from linkwork.compilers import cache; cache.key('x'); sys.exit('llvmlite' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


# Permissions ---------------------------------------------------------------------------------------


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.parametrize("mask", [0o002, 0o022, 0o077])
def test_permissions_are_those_of_the_umask(place: Path, mask: int) -> None:
    with umask(mask):
        cache.fetch(name_of(0), lambda: b"content")
    for path in (place, place / "locks"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o777 & ~mask
    for path in (place / name_of(0), place / "locks" / name_of(0), place / "pruned"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_where_nothing_can_be_written_nothing_is_kept(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Below a file nobody can make a folder, not even root."""
    place.write_text("not a folder")
    monkeypatch.setenv("LINKWORK_CACHE_DIR", str(place / "cache"))
    made = [cache.fetch(name_of(k), lambda k=k: str(k).encode()) for k in (0, 1, 0)]  # type: ignore[misc]
    assert made == [b"0", b"1", b"0"]
    assert cache.entries() == [] and cache.clear() == []
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert place.read_text() == "not a folder"


# Locks ---------------------------------------------------------------------------------------------


def link_to_file(locks: Path, victim: Path) -> None:
    locks.mkdir(parents=True)
    for k in range(2):
        (locks / name_of(k)).symlink_to(victim)


def hard_link(locks: Path, victim: Path) -> None:
    locks.mkdir(parents=True)
    for k in range(2):
        (locks / name_of(k)).hardlink_to(victim)


def link_to_nothing(locks: Path, victim: Path) -> None:
    locks.mkdir(parents=True)
    for k in range(2):
        (locks / name_of(k)).symlink_to(victim.with_name("not there"))


def link_to_folder(locks: Path, victim: Path) -> None:
    locks.parent.mkdir(parents=True)
    locks.symlink_to(victim.parent)


def link_to_no_folder(locks: Path, victim: Path) -> None:
    locks.parent.mkdir(parents=True)
    locks.symlink_to(victim.with_name("not there"))


def folder_is_file(locks: Path, victim: Path) -> None:
    locks.parent.mkdir(parents=True)
    locks.symlink_to(victim)


LINKS = (link_to_file, hard_link, link_to_nothing, link_to_folder, link_to_no_folder, folder_is_file)


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.__name__)
def test_no_lock_goes_through_a_link(
    place: Path, tmp_path: Path, link: Callable[[Path, Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    victim = tmp_path / "home" / name_of(0)
    victim.parent.mkdir()
    victim.write_text("precious")
    aged(victim, 2 * DAY)
    link(place / "locks", victim)
    before = victim.stat()
    for k in range(2):
        assert cache.fetch(name_of(k), lambda: b"made") == b"made"
    cache.prune()
    cache.clear()
    after = victim.stat()
    assert victim.read_text() == "precious"
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
    assert list(victim.parent.iterdir()) == [victim]
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and "link" in said[0] and str(place / "locks") in said[0]


def test_without_a_lock_entries_are_kept_all_the_same(place: Path, tmp_path: Path) -> None:
    link_to_folder(place / "locks", tmp_path / "home" / "file")
    cache.fetch(name_of(0), lambda: b"made")
    assert cache.read(name_of(0)) == b"made"


def test_a_disk_without_locks_is_used_without(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As some network disks are; an existing lock file is not taken for a lock."""

    def flock(*args: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", flock)
    for _ in range(2):
        assert cache.fetch(name_of(0), lambda: b"made") == b"made"
    assert cache.read(name_of(0)) == b"made"


MAKER = """
import sys, time
from linkwork.compilers import cache, llvm, native
from linkwork.compilers.lanes import Type
from linkwork.compilers.language import values
from linkwork.compilers.language.fingerprint import own_modules
from linkwork.compilers.warm import all_algorithms

def make():
    with open(sys.argv[1], "a") as file:
        file.write("made\\n")
    time.sleep(0.5)
    return b"content"

name = cache.key("shared")
print("ready", flush=True)
sys.stdin.readline()
assert cache.fetch(name, make) == b"content"
"""


def test_processes_that_need_the_same_entry_make_it_once(place: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", MAKER, str(tmp_path / "made")]
    pipe = subprocess.PIPE
    crowd = [subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) for _ in range(4)]
    for one in crowd:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in crowd:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    for one in crowd:
        said = one.communicate()[1]
        assert (one.returncode, said) == (0, "")
    assert (tmp_path / "made").read_text() == "made\n"


def test_a_failure_gives_the_lock_back(place: Path) -> None:
    def fail() -> bytes:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cache.fetch(name_of(0), fail)
    assert cache.fetch(name_of(0), lambda: b"made") == b"made"


# Size ----------------------------------------------------------------------------------------------

SIZES = {
    "0": 0,
    "4096": 4096,
    "12 B": 12,
    "500MB": 500_000_000,
    "500 mb": 500_000_000,
    "2G": 2_000_000_000,
    " 1.5GiB ": 3 * 2**29,
    "1KiB": 1024,
    "1TB": 10**12,
}


@pytest.mark.parametrize("text", SIZES)
def test_a_size_has_a_unit_or_is_in_bytes(place: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("LINKWORK_CACHE_SIZE", text)
    assert cache.limit() == SIZES[text]


@pytest.mark.parametrize("text", ["lots", "-1", "2 XB", "GB", "1e9", "1,5GB", "5iB", "nan", "inf", "9" * 400, "٣MB"])
def test_a_wrong_size_is_an_error_at_first_use(place: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("LINKWORK_CACHE_SIZE", text)
    for use in (lambda: cache.read(name_of(0)), lambda: cache.write(name_of(0), b""), cache.limit):
        with pytest.raises(lw.errors.InputError, match=r"LINKWORK_CACHE_SIZE is .* such as 500MB"):
            use()
    assert not place.exists()


def test_a_wrong_size_is_no_error_at_import() -> None:
    environment = os.environ | {"LINKWORK_CACHE_SIZE": "lots"}
    program = "import linkwork; from linkwork.compilers import cache; cache.key('x')"
    assert subprocess.run([sys.executable, "-c", program], env=environment, check=False).returncode == 0


@pytest.mark.parametrize("size", [None, "", "2GB"])
def test_the_default_is_two_gigabytes(place: Path, monkeypatch: pytest.MonkeyPatch, size: str | None) -> None:
    if size is not None:
        monkeypatch.setenv("LINKWORK_CACHE_SIZE", size)
    assert cache.limit() == 2 * 10**9


def test_with_size_zero_nothing_is_kept(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKWORK_CACHE_SIZE", "0")
    assert cache.fetch(name_of(0), lambda: b"made") == b"made"
    assert not place.exists()


def test_the_least_recently_used_go_first(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six entries of a block each, made in one order and used in another; three fit."""
    for k in range(6):
        cache.write(name_of(k), ONE_BLOCK)
    for days, k in enumerate((4, 1, 5, 0, 2, 3), start=1):
        aged(place / name_of(k), days * DAY)
    assert [entry.path.name for entry in cache.entries()] == [name_of(k) for k in (3, 2, 0, 5, 1, 4)]
    monkeypatch.setenv("LINKWORK_CACHE_SIZE", str(3 * cache.BLOCK))
    cache.prune()
    assert {path.name for path in files(place)} == {name_of(k) for k in (4, 1, 5)}
    cache.prune()
    assert len(files(place)) == 3


def test_reading_an_entry_is_using_it(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for k in range(3):
        cache.write(name_of(k), ONE_BLOCK)
        aged(place / name_of(k), (3 - k) * DAY)
    assert cache.read(name_of(0)) == ONE_BLOCK
    monkeypatch.setenv("LINKWORK_CACHE_SIZE", str(cache.BLOCK))
    cache.prune()
    assert [path.name for path in files(place)] == [name_of(0)]


def test_an_entry_read_again_soon_is_not_written_to(place: Path) -> None:
    cache.write(name_of(0), ONE_BLOCK)
    aged(place / name_of(0), cache.TOUCH_INTERVAL / 2)
    before = (place / name_of(0)).stat().st_mtime_ns
    assert cache.read(name_of(0)) == ONE_BLOCK
    assert (place / name_of(0)).stat().st_mtime_ns == before


def test_entries_in_use_stay(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that were read a moment ago and whose last use was not recorded for that."""
    for k in range(3):
        cache.write(name_of(k), ONE_BLOCK)
    aged(place / name_of(1), cache.TOUCH_INTERVAL + 60)
    aged(place / name_of(2), cache.IN_USE + 1)
    monkeypatch.setenv("LINKWORK_CACHE_SIZE", str(cache.BLOCK))
    cache.prune()
    assert {path.name for path in files(place)} == {name_of(0), name_of(1)}


def test_writing_prunes_but_not_every_time(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKWORK_CACHE_SIZE", str(2 * cache.BLOCK))
    for k in range(2):
        cache.write(name_of(k), ONE_BLOCK)
        aged(place / name_of(k), (2 - k) * DAY)
    cache.write(name_of(2), ONE_BLOCK)
    assert len(files(place)) == 3, "pruned a moment ago"
    aged(place / "pruned", cache.PRUNE_INTERVAL + 1)
    cache.write(name_of(3), ONE_BLOCK)
    assert {path.name for path in files(place)} == {name_of(2), name_of(3)}


def test_an_entry_larger_than_the_limit_is_not_kept(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.write(name_of(0), ONE_BLOCK)
    monkeypatch.setenv("LINKWORK_CACHE_SIZE", str(2 * cache.BLOCK))
    assert cache.fetch(name_of(1), lambda: 3 * ONE_BLOCK) == 3 * ONE_BLOCK
    assert [path.name for path in files(place)] == [name_of(0)]


def test_small_entries_count_as_a_block(place: Path) -> None:
    cache.write(name_of(0), b"")
    cache.write(name_of(1), ONE_BLOCK + b"1")
    assert sorted(entry.size for entry in cache.entries()) == [cache.BLOCK, 2 * cache.BLOCK]


def test_what_ended_processes_left_is_removed(place: Path) -> None:
    """Old temporary files and locks go; young ones and locks that are held stay."""
    cache.write(name_of(0), b"content")
    (place / "locks").mkdir()
    old = [place / f"{name_of(1)}.{'0' * 16}.tmp", place / "locks" / name_of(1), place / "locks" / name_of(2)]
    young = [place / f"{name_of(2)}.{'0' * 16}.tmp", place / "locks" / name_of(3)]
    for path in (*old, *young):
        path.touch()
    for path in old:
        aged(path, cache.ABANDONED + 1)
    with old[2].open("w") as held:
        aged(old[2], cache.ABANDONED + 1)
        fcntl.flock(held, fcntl.LOCK_EX)
        cache.prune()
        assert [path.exists() for path in (*old, *young)] == [False, False, True, True, True]
    aged(old[2], cache.ABANDONED + 1)  # older versions of filelock write to a file that they fail to lock
    cache.prune()
    assert not old[2].exists() and cache.read(name_of(0)) == b"content"


def test_pruning_leaves_the_lock_of_the_entry_being_made(place: Path) -> None:
    """Its file may be old, of an attempt that failed."""
    lock = place / "locks" / name_of(0)
    lock.parent.mkdir(parents=True)
    lock.touch()
    aged(lock, cache.ABANDONED + 1)

    def make() -> bytes:
        aged(lock, cache.ABANDONED + 1)
        return b"made"

    assert cache.fetch(name_of(0), make) == b"made"
    assert lock.exists()


def test_only_files_of_the_cache_are_removed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user may keep other files in the folder; folders and links with names of entries are none."""
    place.mkdir()
    (place / "notes.txt").write_text("mine")
    (place / ("0" * 63)).write_text("mine")
    (place / "tmpab12").write_text("mine")
    (place / ("1" * 64)).mkdir()
    (place / ("2" * 64)).symlink_to(place / "notes.txt")
    before = sorted(place.iterdir())
    for path in before:
        if path.is_file():
            aged(path, DAY)
    monkeypatch.setenv("LINKWORK_CACHE_SIZE", "1")
    cache.prune()
    assert cache.clear() == [] and sorted(place.iterdir()) == before


def test_clearing_says_what_was_removed(place: Path) -> None:
    for k in range(3):
        cache.fetch(name_of(k), lambda: ONE_BLOCK)
    removed = cache.clear()
    assert {entry.path.name for entry in removed} == {name_of(k) for k in range(3)}
    assert sum(entry.size for entry in removed) == 3 * cache.BLOCK
    assert cache.entries() == [] and not list((place / "locks").iterdir())
    assert cache.clear() == []
