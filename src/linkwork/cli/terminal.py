# SPDX-License-Identifier: BSD-3-Clause
"""Output: to a terminal in color and as wide as it is, else plain and as wide as it needs to be.

Plain means no escape sequences at all: where standard output is no terminal, where ``NO_COLOR`` is set, and on a
terminal called ``dumb``. In a pipe, lines are not wrapped, unless ``COLUMNS`` says how wide they may be.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

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
    with _told_if_unwritable(), console.capture() as page:
        draw(console)
    write("".join(f"{line.rstrip()}\n" for line in page.get().splitlines()))


def print_result(as_json: bool, value: Mapping[str, Any], draw: Callable[[Console], None]) -> None:
    """Write a result to standard output: as one JSON object, or as ``draw`` prints it."""
    if as_json:
        write_json(value)
    else:
        show(draw)


def write_json(value: Mapping[str, Any]) -> None:
    """Write one JSON object to standard output."""
    write(json.dumps(value, indent=2, allow_nan=False) + "\n")


def write(text: str) -> None:
    """Write text to standard output; what its encoding cannot say is written as escapes."""
    encoding = sys.stdout.encoding or "utf-8"
    with _told_if_unwritable():
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()


@contextmanager
def _told_if_unwritable() -> Iterator[None]:
    """Exit where the reader of standard output went away, and with a message where its disk is full."""
    try:
        yield
    except OSError as error:
        # Python flushes once more at its end, and would print_error: give it somewhere to write to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise typer.Exit(BROKEN_PIPE) from None
        print_error(f"error: standard output: {error.strerror or error}")
        raise typer.Exit(1) from None


def print_error(message: str) -> None:
    """One line on standard error."""
    text = f"linkwork: {message}\n"
    encoding = sys.stderr.encoding or "utf-8"
    sys.stderr.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stderr.flush()


@contextmanager
def silence_notices(quiet: bool) -> Iterator[None]:
    """Suppress progress notices on standard error, those of the compiler too."""
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
def slow_notice(doing: str, after: float = 1.0) -> Iterator[None]:
    """Print on standard error what is being done if it takes longer than ``after`` seconds."""
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


def names(listed: Sequence[str], most: int = 6) -> str:
    """The names in one line, the first few of many."""
    shown = ", ".join(f"'{name}'" for name in listed[:most])
    return shown if len(listed) <= most else f"{shown} and {len(listed) - most} more"
