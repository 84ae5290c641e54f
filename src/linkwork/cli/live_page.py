# SPDX-License-Identifier: BSD-3-Clause
"""A page in which a model runs, for ``linkwork page``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.text import Text

import linkwork as lw
from linkwork.cli.loading import ModelRequest, UsageError, load_model, start_configuration
from linkwork.cli.terminal import printable, slow_notice
from linkwork.errors import InputError

MODES = ("free", "torque", "velocity", "position")
"""`pages.controls.MODES`, which is not imported for a list of names."""


@dataclass(frozen=True)
class PageOptions:
    """Initial state of a page."""

    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="NAME.html", show_default=False, help="The page. Default: NAME.html."),
    ] = None
    dt: Annotated[float, typer.Option("--dt", metavar="S", min=1e-6, help="Time step, in seconds.")] = 1e-3
    drive: Annotated[
        list[str] | None,
        typer.Option(
            "--drive",
            metavar="JOINT=MODE:VALUE",
            show_default=False,
            help="A motor that runs from the start: crank=velocity:2; may be given several times.",
        ),
    ] = None
    fall: Annotated[
        bool, typer.Option("--fall", metavar="", help="Let a floating base fall instead of holding it.")
    ] = False

    def motors(self) -> dict[str, tuple[str, float]]:
        """Joints, and how they are driven."""
        return dict(map(_motor, self.drive or ()))


def _motor(text: str) -> tuple[str, tuple[str, float]]:
    joint, _, rest = text.rpartition("=")
    mode, _, value = rest.partition(":")
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not joint or mode not in MODES[1:] or number != number:
        raise UsageError(f"--drive: found '{text}', needs JOINT=MODE:VALUE, such as crank=velocity:2")
    return joint, (mode, number)


@dataclass(frozen=True)
class WrittenPage:
    """A page that was written."""

    file: Path
    page: Path

    def draw(self, console: Console) -> None:
        """Print where it is."""
        words = f"{self.page}, {self.page.stat().st_size / 1000:.0f} kB: open it in a browser"
        console.print(Text("  page         ", "dim") + Text(printable(words)), overflow="fold")

    def as_json(self) -> dict[str, Any]:
        """The report for JSON; keys are explained in docs/reference/cli.md."""
        return {
            "linkwork": lw.__version__,
            "file": str(self.file),
            "page": str(self.page),
            "size": self.page.stat().st_size,
        }


def page_of_file(file: Path, request: ModelRequest, options: PageOptions) -> WrittenPage:
    """Load a model and write its page."""
    robot, _ = load_model(file, request)
    q = start_configuration(robot, request) if request.pose is not None else None
    out = options.out if options.out is not None else Path(f"{file.stem}.html")
    try:
        with slow_notice(f"writing the page of '{robot.name}'"):
            base: Literal["free", "auto"] = "free" if options.fall else "auto"
            page = robot.save_html(out, q, live=True, dt=options.dt, drive=options.motors(), base=base)
    except InputError as error:
        raise UsageError(str(error)) from None
    return WrittenPage(file, page)
