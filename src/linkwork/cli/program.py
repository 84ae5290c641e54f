# SPDX-License-Identifier: BSD-3-Clause
"""The program ``linkwork``: its own options, how commands are registered, exit codes, and how errors are reported."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.completion
from typer.core import TyperGroup

import linkwork as lw
from linkwork.cli.loading import UsageError, located_message
from linkwork.cli.options import expand_option_groups, help_text
from linkwork.cli.terminal import print_error, printable, write
from linkwork.errors import LinkworkError

FAILED = 1
"""Exit code: a file could not be read, is wrong, or cannot be assembled. (2 is for wrong usage, 130 for Ctrl-C.)"""

INTERRUPTED = 130

SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")

ORDER = (
    "info",
    "check",
    "count",
    "optimize",
    "graph",
    "view",
    "page",
    "simulate",
    "bench",
    "export",
    "convert",
    "warm",
    "cache",
)
"""Of commands in help."""


class _OrderedGroup(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=ORDER.index)


app = typer.Typer(
    name="linkwork",
    cls=_OrderedGroup,
    help="Inspect, simulate and benchmark models of mechanisms with closed loops: URDF, MJCF, SDF, USD.",
    epilog="Exit codes: 0 success, 1 a file failed, 2 wrong usage, 130 interrupted. "
    "Environment: NO_COLOR=1 for plain text, LINKWORK_QUIET=1 for no notices.",
    no_args_is_help=True,
    add_completion=False,  # its options guess the shell: ours are told
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
typer.completion.completion_init()  # type: ignore[attr-defined]  # else done by add_completion


def main() -> None:
    """Run the command line, as the script ``linkwork`` does."""
    sys.stdout = sys.stdout or io.StringIO()  # None where they are closed
    sys.stderr = sys.stderr or io.StringIO()
    try:
        app(prog_name="linkwork")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def command(
    summary: str, *paragraphs: str, examples: dict[str, str]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator that registers a command; its parameters are options, or groups of options.

    Args:
        summary: One line, for the list of commands.
        paragraphs: The help of the command.
        examples: Command lines, and what each is for.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        expanded = expand_option_groups(function)
        return app.command(short_help=summary, help=help_text(*paragraphs, examples=examples))(expanded)

    return register


@contextmanager
def report_errors(file: Path | None = None) -> Iterator[None]:
    """Turn errors, of usage or of a file, into messages and exit codes."""
    try:
        yield
    except UsageError as error:
        raise typer.BadParameter(printable(str(error))) from None
    except LinkworkError as error:
        print_error(f"error: {located_message(file, error) if file is not None else printable(str(error))}")
        raise typer.Exit(FAILED) from None


@contextmanager
def report_os_errors(file: Path | None = None) -> Iterator[None]:
    """Turn an error of the operating system into a message, which names the file of the error or else ``file``."""
    try:
        yield
    except OSError as error:
        print_error(f"error: {error.filename or file}: {error.strerror or error}")
        raise typer.Exit(FAILED) from None


def _version(asked: bool) -> None:
    if asked:
        write(f"linkwork {lw.__version__}\n")
        raise typer.Exit


def _shell(value: str | None) -> str | None:
    if value is not None and value not in SHELLS:
        raise typer.BadParameter(f"'{value}' is none of {', '.join(SHELLS)}.")
    return value


def _show(ctx: typer.Context, param: typer.CallbackParam, value: str | None) -> Any:
    return typer.completion.show_callback(ctx, param, _shell(value))


def _install(ctx: typer.Context, param: typer.CallbackParam, value: str | None) -> Any:
    return typer.completion.install_callback(ctx, param, _shell(value))


def _completion_option(name: str, callback: Callable[..., Any], text: str) -> Any:
    panel = "Completion with the tab key"
    return typer.Option(name, metavar="SHELL", callback=callback, is_eager=True, help=text, rich_help_panel=panel)


@app.callback()
def _linkwork(
    version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", metavar="", callback=_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    install_completion: Annotated[
        str | None,
        _completion_option("--install-completion", _install, f"Install it for a shell: {', '.join(SHELLS)}."),
    ] = None,
    show_completion: Annotated[
        str | None, _completion_option("--show-completion", _show, "Print the script that would be installed.")
    ] = None,
) -> None:
    pass
