# SPDX-License-Identifier: BSD-3-Clause
"""A model in another format, for ``linkwork convert``."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.console import Console
from rich.text import Text

import linkwork as lw
from linkwork.cli import completion
from linkwork.cli.loading import ModelRequest, UsageError, load_model
from linkwork.cli.options import choice
from linkwork.cli.report import NEUTRAL
from linkwork.cli.terminal import printable
from linkwork.errors import CannotSave, InputError, ModelWarning

FORMATS = ("urdf", "mjcf", "sdf", "json")
"""`saving.Format`, which is not imported for a list of names."""
KINDS = (
    *("actuators", "armature", "compliance", "constraints", "contacts", "damping", "friction", "gains", "gravity"),
    *("gravity_compensation", "limits", "medium", "springs", "tendons"),
)
"""`saving.DROPPABLE`."""
DIALECTS = ("standard", "pinocchio", "urdfdom", "linkwork")
"""`saving.DIALECTS`."""


def _complete_kinds(incomplete: str) -> list[str]:
    return [word for word in KINDS if word.startswith(incomplete)]


NewFile = Annotated[
    Path,
    typer.Argument(
        metavar="NEW", show_default=False, help="The file to write: .urdf, .xml, .mjcf, .sdf, .world or .json."
    ),
]


@dataclass(frozen=True)
class ConvertOptions:
    """Options of saving a model."""

    to: Annotated[str | None, choice("to", FORMATS, "The format, where the extension of the file does not say it.")] = (
        None
    )
    drop: Annotated[
        list[str] | None,
        typer.Option(
            "--drop",
            metavar="KIND",
            autocompletion=_complete_kinds,
            show_default=False,
            help=f"Leave this out where the format cannot say it; may be given several times: {', '.join(KINDS)}.",
        ),
    ] = None
    dialect: Annotated[
        str | None,
        choice(
            "dialect",
            DIALECTS,
            "What URDF may have beyond its standard: all that linkwork reads, loops as <constraint> of urdfdom, or "
            "loops in a robot.yaml beside the file.",
        ),
    ] = None
    package: Annotated[
        str | None,
        typer.Option(
            "--package",
            metavar="NAME",
            show_default=False,
            help="Meshes of URDF are package://NAME/...; else their paths are relative to the file.",
        ),
    ] = None
    pose: Annotated[
        str | None,
        typer.Option(
            "--pose",
            metavar="NAME",
            autocompletion=completion.poses,
            show_default=False,
            help=f"The pose in which SDF and MJCF draw the model: one that the file names, or '{NEUTRAL}'. In SDF "
            "joints are at zero there.",
        ),
    ] = None


@dataclass(frozen=True)
class Conversion:
    """Report of a conversion."""

    file: Path
    new: Path
    format: str
    warnings: Sequence[str]
    """Warnings of loading, and differences of the new file."""

    def as_json(self) -> dict[str, Any]:
        """For JSON; keys are explained in docs/reference/cli.md."""
        return {
            "linkwork": lw.__version__,
            "file": str(self.file),
            "new": str(self.new),
            "format": self.format,
            "warnings": list(self.warnings),
        }

    def draw(self, console: Console) -> None:
        """Print the file, and warnings."""
        for warning in self.warnings:
            console.print(Text(printable(f"warning: {warning}"), "yellow"), overflow="fold")
        console.print(Text(printable(str(self.new))), overflow="fold")


def convert_file(file: Path, new: Path, request: ModelRequest, options: ConvertOptions) -> Conversion:
    """Load a model and save it."""
    from linkwork.saving import format_of

    robot, raised = load_model(file, request)
    ModelRequest(request.load, options.pose).check_pose(robot)
    pose: Any = robot.neutral() if options.pose == NEUTRAL else options.pose
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        try:
            form = format_of(new, cast(Any, options.to))
            how: Any = {"drop": tuple(options.drop or ()), "dialect": options.dialect, "package": options.package}
            robot.save(new, form, pose=pose, **how)
        except InputError as error:
            raise UsageError(_as_options(str(error))) from None
        except CannotSave as error:
            said = _as_options(str(error))
            raise CannotSave(said, format=error.format, kinds=error.kinds, refused=error.refused) from None
    return Conversion(file, new, form, [*raised, *(str(w.message) for w in caught)])


def _as_options(message: str) -> str:
    """An error of `Mechanism.save` in words of the command line."""
    message = re.sub(r"drop=\['(\w+)'\]", r"--drop \1", message)
    message = re.sub(r"drop=\[('\w+'(?:, '\w+')+)\]", _drops, message)
    message = re.sub(r"^drop: ", "--drop: ", message)
    message = re.sub(r"dialect='(\w+)'", r"--dialect \1", message)
    return re.sub(r"format='(\w+)'", r"--to \1", message)


def _drops(match: re.Match[str]) -> str:
    return " ".join(f"--drop {kind}" for kind in re.findall(r"\w+", match[1]))
