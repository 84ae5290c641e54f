"""Where text goes: to a terminal in color and as wide as it is, else plain and as wide as it needs to be.

Plain means no escape sequences at all: where standard output is no terminal, where ``NO_COLOR`` is set, and on a
terminal called ``dumb``. In a pipe, lines are not wrapped, unless ``COLUMNS`` says how wide they may be.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

from linkwork.compilers.cache import say

BROKEN_PIPE = 141
"""Exit code where the reader of the output went away: 128 + SIGPIPE, as for any other program."""

QUIET = "LINKWORK_QUIET"

_UNBOUNDED = 10_000


def show(draw: Callable[[Console], None]) -> None:
    """Write what ``draw`` prints to standard output, all of it at once."""
    terminal = sys.stdout.isatty()
    plain = not terminal or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    console = Console(
        file=sys.stdout,
        color_system=None if plain else "auto",
        force_terminal=terminal,
        width=None if terminal or os.environ.get("COLUMNS", "").isdigit() else _UNBOUNDED,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )
    with console.capture() as page:
        draw(console)
    write("".join(f"{line.rstrip()}\n" for line in page.get().splitlines()))


def write(text: str) -> None:
    """Write text to standard output; what its encoding cannot say is written as escapes."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more at its end, and would complain: give it somewhere to write to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(BROKEN_PIPE) from None


def complain(message: str) -> None:
    """One line on standard error."""
    text = f"linkwork: {message}\n"
    encoding = sys.stderr.encoding or "utf-8"
    sys.stderr.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stderr.flush()


@contextmanager
def quietly(quiet: bool) -> Iterator[None]:
    """Keep notices of what takes long off standard error, also those of the compiler."""
    before = os.environ.get(QUIET)
    if quiet:
        os.environ[QUIET] = "1"
    try:
        yield
    finally:
        if quiet and before is None:
            del os.environ[QUIET]
        elif quiet and before is not None:
            os.environ[QUIET] = before


@contextmanager
def patience(doing: str, after: float = 1.0) -> Iterator[None]:
    """Say on standard error what is being done if it takes longer than a second."""
    timer = threading.Timer(after, say, [f"{doing} ..."])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def printable(name: str) -> str:
    """A name on one line, whatever is in it."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
