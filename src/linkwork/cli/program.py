"""The program: its name, its own options, exit codes, and what becomes of errors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.completion
from typer.core import TyperGroup

import linkwork as lw
from linkwork.cli.looking import Misused, placed
from linkwork.cli.terminal import complain, printable, write
from linkwork.errors import LinkworkError

FAILED = 1
"""Exit code: a file could not be read, is wrong, or cannot be assembled. (2 is for wrong usage, 130 for Ctrl-C.)"""

INTERRUPTED = 130

SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")

ORDER = ("info", "check", "count", "graph", "view", "simulate", "bench", "export", "warm", "cache")
"""Of commands in help."""


class _Ordered(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=ORDER.index)


app = typer.Typer(
    name="linkwork",
    cls=_Ordered,
    help="Look at models of mechanisms with closed loops, URDF, MJCF and SDF files, let them move, and measure them.",
    epilog="Exit codes: 0 fine, 1 a file failed, 2 wrong usage, 130 interrupted. "
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
    try:
        app(prog_name="linkwork")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


@contextmanager
def failures(file: Path | None = None) -> Iterator[None]:
    """Errors as messages and exit codes: of usage, and of a file."""
    try:
        yield
    except Misused as error:
        raise typer.BadParameter(printable(str(error))) from None
    except LinkworkError as error:
        complain(f"error: {placed(file, error) if file is not None else printable(str(error))}")
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


_COMPLETION = "Completion with the tab key"


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
        typer.Option(
            "--install-completion",
            metavar="SHELL",
            callback=_install,
            is_eager=True,
            help=f"Install it for a shell: {', '.join(SHELLS)}.",
            rich_help_panel=_COMPLETION,
        ),
    ] = None,
    show_completion: Annotated[
        str | None,
        typer.Option(
            "--show-completion",
            metavar="SHELL",
            callback=_show,
            is_eager=True,
            help="Print the script that would be installed.",
            rich_help_panel=_COMPLETION,
        ),
    ] = None,
) -> None:
    pass
