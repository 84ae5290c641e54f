"""Options that several commands share, and help texts that teach."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

import linkwork as lw
from linkwork.cli import completing
from linkwork.cli.finding import NEUTRAL

_LOADING = "How the file is read (as in linkwork.load)"


_NARROW = 74
"""Characters of an example and what it is for that fit a terminal of eighty."""


def words_of(option: str) -> tuple[str, ...]:
    """The words that an option of `linkwork.load` takes, from its signature."""

    def flat(hint: Any) -> list[str]:
        parts = get_args(hint)
        return [hint] if isinstance(hint, str) else [word for part in parts for word in flat(part)]

    return tuple(flat(get_type_hints(lw.load)[option]))


def one_of(option: str, known: Sequence[str], text: str, **more: Any) -> Any:
    """An option that takes one of some words."""

    def checked(value: str | None) -> str | None:
        if value is not None and value not in known:
            raise typer.BadParameter(f"'{value}' is none of {', '.join(known)}.")
        return value

    def offered(incomplete: str) -> list[str]:
        return [word for word in known if word.startswith(incomplete)]

    settings: dict[str, Any] = {
        "metavar": "|".join(known),
        "callback": checked,
        "autocompletion": offered,
        "show_default": False,
    }
    return typer.Option(f"--{option}", help=text, **(settings | more))


def _choice(option: str, text: str) -> Any:
    return one_of(option, words_of(option), text, rich_help_panel=_LOADING)


def above_zero(value: float) -> float:
    """A callback for options that are numbers above zero."""
    if not value > 0:
        raise typer.BadParameter(f"{value:g} is not above zero.")
    return value


File = Annotated[
    Path, typer.Argument(metavar="FILE", show_default=False, help="A model: .urdf, .xml or .mjcf (MuJoCo), .sdf.")
]
Files = Annotated[
    list[Path], typer.Argument(metavar="FILE", show_default=False, help="Models: .urdf, .xml or .mjcf (MuJoCo), .sdf.")
]
Base = Annotated[
    str | None,
    _choice(
        "base",
        "Bolt the root of the model to the world, or let it float. Default: fixed for URDF, else as the file says.",
    ),
]
Mimic = Annotated[
    str | None,
    _choice("mimic", "Make joints that mimic another follow it by a constraint, or leave them free."),
]
Inertias = Annotated[
    str | None,
    _choice("inertias", "Inertias that no body can have: warn of them, take them for errors, or trust the file."),
]
Dependent = Annotated[
    str | None,
    _choice("dependent", "Joints that the file calls dependent without saying on what: an error, or leave them free."),
]
Loops = Annotated[
    str | None,
    typer.Option(
        "--loops",
        metavar="FILE|none",
        show_default=False,
        help="A file that describes the loops of a URDF, or none. Default: the robot.yaml beside the model, if any.",
        rich_help_panel=_LOADING,
    ),
]
Pose = Annotated[
    str | None,
    typer.Option(
        "--pose",
        metavar="NAME",
        autocompletion=completing.poses,
        help=f"Start at a pose that the file names, or at '{NEUTRAL}'.",
    ),
]
Assemble = Annotated[
    bool,
    typer.Option(
        "--assemble/--no-assemble",
        metavar="",
        help="Where loops are open, look for a pose near by where they close.",
    ),
]
IgnoreLimits = Annotated[
    bool, typer.Option("--ignore-limits", metavar="", help="Let joints pass their limits when loops are closed.")
]
Tolerance = Annotated[
    float,
    typer.Option("--tolerance", metavar="ERROR", min=0.0, help="Loops with an error below this (m, rad) are closed."),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json", metavar="", help="Print one JSON object and nothing else on standard output (keys: docs/cli.md)."
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", metavar="", help="No notices of what takes long on standard error.")
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        metavar="NAME",
        autocompletion=completing.methods,
        show_default=False,
        help="A method of forward dynamics, or auto; may be given several times.",
    ),
]


def loading(
    base: str | None, mimic: str | None, inertias: str | None, dependent: str | None, loops: str | None
) -> dict[str, str | None]:
    """The options of `linkwork.load` as they were given."""
    return {"base": base, "mimic": mimic, "inertias": inertias, "dependent": dependent, "loops": loops}


def teaching(*paragraphs: str, examples: dict[str, str]) -> str:
    """A help text that ends with examples, each with what it is for: beside it, or, where that is too wide, below."""
    width = max(map(len, examples))
    beside = width + max(map(len, examples.values())) <= _NARROW
    between = "  " if beside else "\n      "
    lines = [f"  {f'{line:<{width}}' if beside else line}{between}{meaning}" for line, meaning in examples.items()]
    return "\n\n".join([*paragraphs, "\n".join(["[bold]Examples[/bold]", *lines])])
