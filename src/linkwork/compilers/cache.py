# SPDX-License-Identifier: BSD-3-Clause
"""The disk cache of machine code, so that a second process need not compile.

An entry is named by the digest of everything that its content depends on (`key`). It is written to a temporary file
and moved into place, begins with a digest of its content, and is replaced if that does not match. Where nothing can be
written, nothing is kept.

| file in `folder()`       | meaning                                                                        |
|--------------------------|--------------------------------------------------------------------------------|
| ``<key>``                | an entry: `MAGIC`, SHA-256 of the content, content; its mtime is its last use  |
| ``<key>.<random>.tmp``   | an entry that is being written                                                 |
| ``locks/<key>``          | locked by the process that makes the entry                                     |
| ``pruned``               | its mtime is the time of the last `prune`                                      |

Files and folders have the permissions that the umask gives. No other file in the folder is ever removed.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from linkwork.errors import InputError

if TYPE_CHECKING:
    from filelock import BaseFileLock

MAGIC = b"linkwork1\n"
HEADER = len(MAGIC) + hashlib.sha256().digest_size
"""Bytes of an entry before its content."""

DEFAULT_LIMIT = "2GB"
BLOCK = 4096
"""Bytes that a file occupies on disk are a multiple of this: small entries are not free."""

TOUCH_INTERVAL = 10 * 60.0
"""Seconds between two updates of an entry's last use: most reads write nothing to the disk."""
IN_USE = TOUCH_INTERVAL + 5 * 60.0
"""Seconds since its recorded last use for which an entry is never pruned: covers all reads of the last five minutes."""
PRUNE_INTERVAL = 60.0
"""Seconds between two scans of the folder, by whichever process: a scan takes 10 ms for 1000 entries."""
ABANDONED = 60 * 60.0
"""Age in seconds from which temporary files, and unheld locks are removed."""

ROOT = Path(__file__).parents[1]

_KEY = re.compile(r"[0-9a-f]{64}")
_TEMPORARY = re.compile(r"[0-9a-f]{64}\.[0-9a-f]{16}\.tmp")
_IMPORT = re.compile(
    r"^[ \t]*(?:from|import)[ \t]+(linkwork[.\w]*)(?:[ \t]+import[ \t]+(\([^)]*\)|[^\n]*))?", re.MULTILINE
)
_SIZE = re.compile(r"([0-9]{1,18}(?:\.[0-9]+)?) ?([KMGT]?)(I?)B?", re.IGNORECASE)


# Where, and how much -------------------------------------------------------------------------------


def folder() -> Path:
    """The folder of entries: ``LINKWORK_CACHE_DIR``, or ``linkwork`` in the user's cache folder."""
    setting = os.environ.get("LINKWORK_CACHE_DIR")
    if setting:
        return Path(setting)
    from platformdirs import user_cache_path

    nowhere = Path(os.devnull) / "linkwork"  # where nothing can be written
    try:
        path = user_cache_path("linkwork", appauthor=False)
    except RuntimeError:  # a user without a home, as in some containers
        return nowhere
    return path if path.is_absolute() else nowhere  # older platformdirs: "~/.cache" for such a user


def limit() -> int:
    """The bound on the size of all entries in bytes: ``LINKWORK_CACHE_SIZE``, or 2 GB. With 0, nothing is kept."""
    return parse_size(os.environ.get("LINKWORK_CACHE_SIZE") or DEFAULT_LIMIT)


@cache
def parse_size(text: str) -> int:
    """Bytes of a text such as ``1000000``, ``500MB``, ``2 GB`` or ``1.5GiB``."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or (match[3] and not match[2]):
        raise InputError(
            f"LINKWORK_CACHE_SIZE is '{text}'; it must be a number of bytes, or a number with a unit "
            f"(KB, MB, GB, TB, KiB, MiB, GiB, TiB), such as 500MB; default {DEFAULT_LIMIT}"
        )
    power = " KMGT".index(match[2].upper() or " ")
    return int(float(match[1]) * (1024 if match[3] else 1000) ** power)


# Names ---------------------------------------------------------------------------------------------


@cache
def source_digest(*modules: str) -> str:
    """A digest of the source that machine code comes from: any change of text makes new entries.

    With ``modules``, of these and all that they import, so that a change elsewhere makes no new entries.
    """
    digest = hashlib.sha256()
    for path in imported(*modules) if modules else sources():
        digest.update(path.relative_to(ROOT).as_posix().encode())
        digest.update(_file_digest(path))
    return digest.hexdigest()


@cache
def _file_digest(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()


@cache
def sources() -> tuple[Path, ...]:
    """The files with kernel code, and those that make machine code of it."""
    names = ("activations.py", "expressions.py", "functions.py", "joints.py", "pairs.py", "sensors.py", "thresholds.py")
    modules = [ROOT / "model" / name for name in names]
    packages = ("plans", "kernels", "compilers")
    return tuple(sorted(modules + [path for package in packages for path in (ROOT / package).rglob("*.py")]))


def imported(*modules: str) -> list[Path]:
    """The files among `sources` that modules are made of: their own, and those of all that they import."""
    known = set(sources())
    reached: set[Path] = set()
    open_modules = list(modules)
    while open_modules:
        base = ROOT.parent.joinpath(*open_modules.pop().split("."))
        path = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
        if path in known and path not in reached:
            reached.add(path)
            open_modules += _imports(path)
    return sorted(reached)


@cache
def _imports(path: Path) -> tuple[str, ...]:
    """Modules of the package that a file imports, lazily too; each name may be a module."""
    modules = set()
    for module, names in _IMPORT.findall(path.read_text(encoding="utf-8")):
        modules |= {module, *(f"{module}.{name}" for name in re.findall(r"\w+", names))}
    return tuple(sorted(modules))


@cache
def versions() -> str:
    """Versions that all entries depend on beside the source: the major one of NumPy (layout of arrays).

    Object code depends on more, which its names have besides (`llvm.version`).
    """
    return f"numpy {np.__version__.split('.')[0]}"


def key(*parts: str | bytes, modules: tuple[str, ...] = ()) -> str:
    """The digest that names an entry: of its parts, the source (of ``modules``, or all) and `versions`."""
    digest = hashlib.sha256()
    for part in (source_digest(*modules), versions(), *parts):
        part = part.encode() if isinstance(part, str) else part
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


# Entries -------------------------------------------------------------------------------------------


def read(name: str) -> bytes | None:
    """The content of an entry, or None if there is none or it is damaged."""
    limit()  # a wrong setting is an error at the first use of the cache, not at the first entry written
    path = folder() / name
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    content = raw[HEADER:]
    if raw[:HEADER] != MAGIC + hashlib.sha256(content).digest():
        return None
    _touch(path)
    return content


def _touch(path: Path) -> None:
    """Record that an entry was used now, unless that was recorded not long ago."""
    with suppress(OSError):  # read-only, of another user, or just removed: its order of use is not ours to record
        status = path.lstat()
        if stat.S_ISREG(status.st_mode) and abs(time.time() - status.st_mtime) > TOUCH_INTERVAL:
            os.utime(path)


def write(name: str, content: bytes) -> None:
    """Keep an entry; readers see the old state or the new one, never a part."""
    if _on_disk(HEADER + len(content)) > limit():
        return
    place = folder()
    temporary = place / f"{name}.{os.urandom(8).hex()}.tmp"
    try:
        place.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:  # new, never through a link, with the permissions of the umask
            file.write(MAGIC + hashlib.sha256(content).digest() + content)
        temporary.replace(place / name)
    except OSError as error:  # a read-only home, a full disk: work on without
        _warn_once(f"cannot keep compiled code in {place} ({error.strerror}); set LINKWORK_CACHE_DIR")
        return
    finally:
        with suppress(OSError):  # it was moved, or never made
            temporary.unlink()
    _prune_if_due()


def fetch(name: str, make: Callable[[], bytes]) -> bytes:
    """The content of an entry, made and kept if there is none; waits for another process that is making it."""
    content = read(name)
    if content is None:
        with _locked(name):
            content = read(name)
            if content is None:
                content = make()
                write(name, content)
    return content


# Locks ---------------------------------------------------------------------------------------------


@contextmanager
def _locked(name: str) -> Iterator[None]:
    """While no other process makes the same entry; where there can be no lock, or nothing is kept, at once."""
    lock = _acquire(name) if limit() else None
    try:
        yield
    finally:
        if lock is not None:
            lock.release()


def _acquire(name: str, timeout: float = -1) -> BaseFileLock | None:
    """The lock of an entry, waited for (at most ``timeout`` seconds, if not negative), or None."""
    from filelock import FileLock  # takes 30 ms: not needed where all entries are cached

    path = folder() / "locks" / name
    try:
        mode = _lock_file(path)
        if mode is None:
            _warn_once(
                f"{path.parent} is or contains a link: no locks, processes may compile the same code twice; remove it"
            )
            return None
        lock = FileLock(path, timeout=timeout, mode=mode)
        lock.acquire()
    except OSError:  # an unwritable folder, a disk without locks, or the time is over
        return None
    return lock


def _lock_file(path: Path) -> int | None:
    """The permissions of a lock file, made if there is none; None if it would be reached through a link.

    A lock file is opened for writing, by some versions of filelock also truncated: through a link that would be a file
    of another process. Where files cannot be locked (network disks), `OSError`; newer versions of filelock would take
    the mere existence of a file for a lock, and wait forever for a process that ended on another machine.
    """
    if path.parent.is_symlink() or path.is_symlink():
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)  # less the umask
    try:
        status = os.fstat(file)
        if sys.platform != "win32":
            import fcntl

            with suppress(BlockingIOError):  # held by another process, so there are locks; ours ends with the file
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(file)
    alone = stat.S_ISREG(status.st_mode) and status.st_nlink <= 1  # a hard link is a link
    return stat.S_IMODE(status.st_mode) if alone else None


# Size ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """A file of the cache: its size on disk in bytes, and its last use in seconds since 1970."""

    path: Path
    size: int
    used: float


def entries() -> list[Entry]:
    """All entries, the least recently used first."""
    return sorted(_files(folder(), _KEY), key=lambda entry: entry.used)


def _files(place: Path, names: re.Pattern[str]) -> Iterator[Entry]:
    """Plain files of a folder whose names match; none if there is no folder."""
    try:
        with os.scandir(place) as result:
            listed = [file for file in result if names.fullmatch(file.name)]
    except (FileNotFoundError, NotADirectoryError):
        return
    for file in listed:
        with suppress(FileNotFoundError):  # removed by another process since it was listed
            status = file.stat(follow_symlinks=False)
            if stat.S_ISREG(status.st_mode):
                yield Entry(Path(file.path), _on_disk(status.st_size), status.st_mtime)


def _on_disk(size: int) -> int:
    return -(-size // BLOCK) * BLOCK


def prune() -> None:
    """Remove the least recently used entries until the rest is within the limit; none that is in use.

    Also removes files of processes that ended early.
    """
    now, result = time.time(), entries()
    excess = sum(entry.size for entry in result) - limit()
    for entry in result:
        if excess <= 0 or abs(now - entry.used) < IN_USE:
            break
        entry.path.unlink(missing_ok=True)
        excess -= entry.size
    _remove_temporaries(before=now - ABANDONED)
    _remove_locks(before=now - ABANDONED)


def _prune_if_due() -> None:
    """Prune, unless this or another process did so a moment ago."""
    stamp = folder() / "pruned"
    with suppress(OSError):  # files of another user, or a process that prunes now: the next write is another chance
        with suppress(FileNotFoundError):
            if abs(time.time() - stamp.lstat().st_mtime) < PRUNE_INTERVAL:
                return
            stamp.unlink()
        stamp.touch(exist_ok=False)
        prune()


def _remove_temporaries(before: float) -> None:
    """Remove temporary files last written before a time: of processes that ended while they wrote."""
    for file in _files(folder(), _TEMPORARY):
        if file.used < before:
            file.path.unlink(missing_ok=True)


def _remove_locks(before: float) -> None:
    """Remove lock files from before a time that no process holds."""
    place = folder() / "locks"
    for file in () if place.is_symlink() else _files(place, _KEY):
        if file.used < before and (lock := _acquire(file.path.name, timeout=0)) is not None:
            with suppress(PermissionError):  # Windows removes no file that is open
                file.path.unlink(missing_ok=True)
            lock.release()


def clear() -> list[Entry]:
    """Remove all entries, and return them; also unheld lock files, and abandoned temporary files.

    Raises `OSError` at the first file that cannot be removed.
    """
    now, removed = time.time(), entries()
    for entry in removed:
        entry.path.unlink(missing_ok=True)
    _remove_temporaries(before=now - ABANDONED)
    _remove_locks(before=now)
    return removed


# Messages to the user ------------------------------------------------------------------------------


@contextmanager
def announced(what: str, after: float = 1.0) -> Iterator[None]:
    """Name the code that is being compiled, in one line, if it takes longer than a second."""
    timer = threading.Timer(after, say, [f"compiling {what}, once for this machine ..."])
    timer.daemon = True
    start = time.perf_counter()
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
    seconds = time.perf_counter() - start
    if seconds > 10:
        say(f"compiled {what} in {seconds:.0f} s")


def say(message: str) -> None:
    """One line on standard error, unless ``LINKWORK_QUIET`` is set."""
    if not os.environ.get("LINKWORK_QUIET"):
        print(f"linkwork: {message}", file=sys.stderr, flush=True)


@cache
def _warn_once(message: str) -> None:
    say(message)
