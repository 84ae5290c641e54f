"""Object code on disk, so that a second process need not compile.

An entry is a file named by the digest of all that its content depends on. It begins with a digest of the rest, is
written beside its place and moved there, and is ignored and replaced when it does not check. Where nothing can be
written, nothing is kept.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

MAGIC = b"linkwork1\n"


ROOT = Path(__file__).parents[1]


def folder() -> Path:
    """Where entries are kept: ``LINKWORK_CACHE_DIR``, or ``linkwork`` in the user's cache folder."""
    given = os.environ.get("LINKWORK_CACHE_DIR")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "linkwork"


@cache
def source_digest() -> str:
    """A digest of the source that machine code comes from: any change of text makes new entries."""
    digest = hashlib.sha256()
    for path in sources():
        digest.update(path.relative_to(ROOT).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def sources() -> list[Path]:
    """The files with kernel text, and those that make machine code of it."""
    rooms = [ROOT / name for name in ("scalar.py", "spatial.py", "joints.py", "functions.py", "binding.py")]
    return sorted(rooms + [path for room in ("plans", "algorithms", "compile") for path in (ROOT / room).glob("*.py")])


def key(*parts: str | bytes) -> str:
    """The digest that names an entry."""
    digest = hashlib.sha256(source_digest().encode())
    for part in parts:
        part = part.encode() if isinstance(part, str) else part
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def read(name: str) -> bytes | None:
    """The content of an entry, or None if there is none or it is damaged."""
    try:
        raw = (folder() / name).read_bytes()
    except OSError:
        return None
    start = len(MAGIC) + 32
    content = raw[start:]
    if raw[: len(MAGIC)] != MAGIC or raw[len(MAGIC) : start] != hashlib.sha256(content).digest():
        return None
    return content


def write(name: str, content: bytes) -> None:
    """Keep an entry; readers see the old state or the new one, never a part."""
    place = folder()
    temporary = None
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=place, delete=False) as file:
            temporary = file.name
            file.write(MAGIC + hashlib.sha256(content).digest() + content)
        os.replace(temporary, place / name)
    except OSError as error:  # a read-only home, a full disk: work on without
        _warn_once(f"cannot keep compiled code in {place} ({error.strerror}); set LINKWORK_CACHE_DIR")
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)


def fetch(name: str, make: Callable[[], bytes]) -> bytes:
    """The content of an entry, made and kept if there is none. What another process is making is waited for."""
    content = read(name)
    if content is None:
        with _alone(name):
            content = read(name)
            if content is None:
                content = make()
                write(name, content)
    return content


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """While no other process does the same; where files cannot be locked, at once."""
    try:
        import fcntl

        place = Path(tempfile.gettempdir()) / f"linkwork-{os.getuid()}"
        place.mkdir(mode=0o700, exist_ok=True)
        file = open(place / name, "w")  # noqa: SIM115
    except (ImportError, OSError):
        yield
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)  # given back when the file is closed, or the process ends
        try:
            yield
        finally:
            with suppress(OSError):
                os.unlink(place / name)


@contextmanager
def announced(what: str, after: float = 1.0) -> Iterator[None]:
    """Tell the user in one line what is being compiled if it takes longer than a second."""
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
