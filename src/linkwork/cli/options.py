# SPDX-License-Identifier: BSD-3-Clause
"""Options of commands: each is declared once, as an annotated type; those that go together are one group.

A group is a frozen dataclass of options: one parameter of a command, which `expand_option_groups` spreads for Typer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from linkwork.cli import completion
from linkwork.cli.report import CLOSED_TOLERANCE, NEUTRAL

INTEGRATORS = ("auto", "euler", "rk4", "dopri5", "radau")
SUITES = (
    "trees",
    "loops",
    "lqr",
    "proximal",
    "constrained",
    "clusters",
    "delassus",
    "simulation",
    "contact",
    "derivatives",
    "quantities",
    "gpu",
    "gpu_peers",
    "environments",
    "scenes",
)
"""Suites of linkwork_benchmarks, which is not imported for a list of names."""

QUANTITIES = (
    "forward-dynamics",
    "inverse-dynamics",
    "mass-matrix",
    "inverse-mass-product",
    "bias-forces",
    "gravity-forces",
    "passive-forces",
    "center-of-mass",
    "centroidal-momentum",
    "energy",
    "frame-placement",
    "frame-velocity",
    "frame-jacobian",
    "operational-inertia",
    "constraint-error",
    "constraint-jacobian",
    "constraint-bias",
    "step",
)
"""Quantities that ``export`` writes programs of."""

PROPERTIES = ("limits", "damping", "friction")
"""Of joints, which they may lose: `mechanism.connections.PROPERTIES`, which is not imported for a list of names."""

_LOADING = "How the file is read (as in linkwork.load)"
_EXAMPLE_WIDTH = 74
"""Characters of an example and its explanation that fit a terminal of eighty."""


# How options are declared ----------------------------------------------------------------------------


def choice(option: str, allowed: Sequence[str], text: str, **settings: Any) -> Any:
    """An option that takes one of the ``allowed`` words."""

    def check(value: str | None) -> str | None:
        if value is not None and value not in allowed:
            raise typer.BadParameter(f"'{value}' is none of {', '.join(allowed)}.")
        return value

    def complete(incomplete: str) -> list[str]:
        return [word for word in allowed if word.startswith(incomplete)]

    defaults: dict[str, Any] = {
        "metavar": "|".join(allowed),
        "callback": check,
        "autocompletion": complete,
        "show_default": False,
    }
    return typer.Option(f"--{option}", help=text, **(defaults | settings))


def _load_choice(option: str, allowed: Sequence[str], text: str) -> Any:
    return choice(option, allowed, text, rich_help_panel=_LOADING)


def _flag(option: str, text: str, *names: str) -> Any:
    return typer.Option(option, *names, metavar="", help=text)


def _named(option: str, text: str, complete: Callable[..., list[str]] | None = None) -> Any:
    return typer.Option(option, metavar="NAME", autocompletion=complete, show_default=complete is None, help=text)


def _file(option: str, text: str, metavar: str = "FILE") -> Any:
    return typer.Option(option, metavar=metavar, show_default=False, help=text)


def _check_positive(value: float) -> float:
    if not value > 0:
        raise typer.BadParameter(f"{value:g} is not above zero.")
    return value


def _seconds(option: str, text: str) -> Any:
    return typer.Option(option, metavar="S", callback=_check_positive, help=text)


def expand_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command with every parameter that is a group of options replaced by the options of the group."""
    parameters: list[Parameter] = []
    groups: dict[str, Any] = {}
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in signature(command).parameters.items():
        if is_dataclass(hints[name]):
            groups[name] = hints[name]
            types = get_type_hints(groups[name], include_extras=True)
            parameters += [
                Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=types[field.name])
                for field in fields(groups[name])
            ]
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[name]))

    @wraps(command)
    def expanded(**arguments: Any) -> None:
        for name, group in groups.items():
            arguments[name] = group(**{field.name: arguments.pop(field.name) for field in fields(group)})
        command(**arguments)

    expanded.__dict__["__signature__"] = Signature(parameters)
    expanded.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return expanded


def help_text(*paragraphs: str, examples: dict[str, str]) -> str:
    """A help text that ends with examples, each explained beside it or, where that is too wide, below it."""
    width = max(map(len, examples))
    beside = width + max(map(len, examples.values())) <= _EXAMPLE_WIDTH
    between = "  " if beside else "\n      "
    lines = [f"  {f'{line:<{width}}' if beside else line}{between}{meaning}" for line, meaning in examples.items()]
    return "\n\n".join([*paragraphs, "\n".join(["[bold]Examples[/bold]", *lines])])


# Options ---------------------------------------------------------------------------------------------

_FORMATS = ".urdf, .xml or .mjcf (MuJoCo), .sdf, .usd, .json."

File = Annotated[Path, typer.Argument(metavar="FILE", show_default=False, help=f"A model: {_FORMATS}")]
Files = Annotated[list[Path], typer.Argument(metavar="FILE", show_default=False, help=f"Models: {_FORMATS}")]
OptionalFiles = Annotated[
    list[Path] | None, typer.Argument(metavar="[FILE]...", show_default=False, help=f"Models: {_FORMATS}")
]
Picture = Annotated[
    Path, typer.Argument(metavar="PICTURE", show_default=False, help="The picture to write: .svg, .png or .pdf.")
]
Json = Annotated[
    bool, _flag("--json", "Print one JSON object and nothing else on standard output (keys: docs/reference/cli.md).")
]
Quiet = Annotated[bool, _flag("--quiet", "Print no progress notices on standard error.", "-q")]
IgnoreLimits = Annotated[bool, _flag("--ignore-limits", "Ignore joint limits when loops are closed.")]
StartPose = Annotated[
    str | None, _named("--pose", f"Start at a pose that the file names, or at '{NEUTRAL}'.", completion.poses)
]
OnlyPose = Annotated[
    str | None,
    _named("--pose", f"Analyze only this pose: one that the file names, or '{NEUTRAL}'.", completion.poses),
]
Methods = Annotated[
    list[str] | None,
    _named("--method", "A method of forward dynamics, or auto; may be given several times.", completion.methods),
]
ListJoints = Annotated[bool, _flag("--joints", "List all joints and actuators, also when there are many.")]
ListPairs = Annotated[bool, _flag("--pairs", "List all contact pairs, also when there are many.")]
DrawTree = Annotated[bool, _flag("--tree", "Draw the tree of bodies, with the constraints that act on each.")]
Strict = Annotated[bool, _flag("--strict", "Treat warnings as failures.")]
ClearCache = Annotated[bool, _flag("--clear", "Remove all entries, without asking.")]
RecordedFile = Annotated[Path | None, _file("--run", "A recorded trajectory of the model: .npz or .parquet.")]
View = Annotated[bool, _flag("--view", "Show the trajectory in the browser, until Ctrl-C.")]
Live = Annotated[bool, _flag("--live", "Run in the browser, to be pulled and commanded, until Ctrl-C.")]


# Groups of options -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class LoadOptions:
    """Options of `linkwork.load`; None where one is not given."""

    base: Annotated[
        str | None,
        _load_choice(
            "base",
            ("fixed", "floating"),
            "Fix the root of the model to the world, or let it float. Default: fixed for URDF, else by the file.",
        ),
    ] = None
    mimic: Annotated[
        str | None,
        _load_choice(
            "mimic", ("constrain", "ignore"), "Bind joints that mimic another by a constraint, or leave them free."
        ),
    ] = None
    inertias: Annotated[
        str | None,
        _load_choice(
            "inertias", ("warn", "check", "trust"), "Physically impossible inertias: a warning, an error, or accepted."
        ),
    ] = None
    dependent: Annotated[
        str | None,
        _load_choice(
            "dependent",
            ("error", "free"),
            "Joints that the file calls dependent without saying on what: an error, or left free.",
        ),
    ] = None
    loops: Annotated[
        str | None,
        typer.Option(
            "--loops",
            metavar="FILE|none",
            show_default=False,
            help="A file that describes the loops of a URDF, or none. Default: the robot.yaml beside the model.",
            rich_help_panel=_LOADING,
        ),
    ] = None
    contacts: Annotated[
        str | None,
        _load_choice(
            "contacts",
            ("ground", "all", "none"),
            "What shapes for collision touch: the ground, each other too, or nothing. Default: what the file pairs.",
        ),
    ] = None

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `linkwork.load`: those given, so that its defaults are the defaults here."""
        options: dict[str, Any] = {name: word for name, word in asdict(self).items() if word is not None}
        for name in ("loops", "contacts"):
            if options.get(name) == "none":
                options[name] = False
        return options


@dataclass(frozen=True)
class AssemblyOptions:
    """Where loops count as closed, and how they are closed where they do not."""

    assemble: Annotated[
        bool,
        typer.Option(
            "--assemble/--no-assemble",
            metavar="",
            help="Where loops are open, look for a nearby pose that closes them.",
        ),
    ] = True
    ignore_limits: IgnoreLimits = False
    tolerance: Annotated[
        float,
        typer.Option(
            "--tolerance", metavar="ERROR", min=0.0, help="Loops with an error of at most this (m, rad) are closed."
        ),
    ] = CLOSED_TOLERANCE


@dataclass(frozen=True)
class OutputOptions:
    """Format of results and progress."""

    as_json: Json = False
    quiet: Quiet = False


@dataclass(frozen=True)
class ViewerOptions:
    """Where the viewer listens, and whether a browser is opened."""

    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            metavar="N",
            min=1,
            max=65535,
            show_default=False,
            help="Listen at this port, or at the next free one.",
        ),
    ] = None
    no_browser: Annotated[bool, _flag("--no-browser", "Print the address without opening a browser.")] = False

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of ``view``: those given."""
        options: dict[str, Any] = {"wait": True}
        if self.port is not None:
            options["port"] = self.port
        if self.no_browser:
            options["open_browser"] = False
        return options


@dataclass(frozen=True)
class SimulationOptions:
    """Options of `linkwork.simulate`."""

    seconds: Annotated[float, _seconds("--seconds", "Duration, in simulated seconds.")] = 1.0
    dt: Annotated[float, _seconds("--dt", "Time step, in seconds.")] = 1e-3
    integrator: Annotated[str, choice("integrator", INTEGRATORS, "The integrator.", show_default=True)] = "auto"
    method: Annotated[
        str | None,
        _named(
            "--method",
            "The method of forward dynamics: auto, lcaba, minimal (coordinates), or another that 'linkwork count' "
            "lists.",
            completion.methods,
        ),
    ] = None
    every: Annotated[int, typer.Option("--every", metavar="N", min=1, help="Record every N-th state.")] = 10


@dataclass(frozen=True)
class RecordOptions:
    """Files that a simulation is written to."""

    out: Annotated[
        Path | None,
        _file("--out", "Save the trajectory: .npz or .parquet (linkwork.Trajectory.load reads them), or .csv."),
    ] = None
    plot: Annotated[
        Path | None, _file("--plot", "Plot positions, energies, loop errors and forces: .png, .svg, .pdf.")
    ] = None
    video: Annotated[Path | None, _file("--video", "Draw it moving: .gif, .mp4 or .png.")] = None


@dataclass(frozen=True)
class BenchmarkOptions:
    """Measurements to make, and the file of results."""

    suite: Annotated[str | None, choice("suite", SUITES, "A suite of scenarios to run instead.")] = None
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="REGEX", help="With --suite: run the scenarios whose name matches."),
    ] = None
    out: Annotated[
        list[Path] | None,
        _file("--out", "Save the results: .json, .csv, or .tex (tables for LaTeX); may be given several times."),
    ] = None
    quick: Annotated[bool, _flag("--quick", "Fewer, shorter rounds; smaller scenarios.")] = False
    method: Methods = None


@dataclass(frozen=True)
class OptimizeOptions:
    """Options of `Mechanism.optimized`."""

    method: Annotated[
        str,
        _named("--method", "The method of forward dynamics whose operations are counted.", completion.methods),
    ] = "auto"
    root: Annotated[
        bool,
        _flag("--root", "Let a floating base be on another body, or give way to a constraint that holds the robot."),
    ] = False
    ends: Annotated[
        bool, _flag("--ends", "Exchange the two places of constraints: rows in other axes, forces of opposite sign.")
    ] = False
    keep: Annotated[
        list[str] | None,
        _named("--keep", "A joint or constraint that does not change kind; may be given several times."),
    ] = None
    drop: Annotated[
        list[str] | None,
        typer.Option(
            "--drop",
            metavar="|".join(PROPERTIES),
            show_default=False,
            help="What joints may lose by closing a loop; may be given several times.",
        ),
    ] = None
    seconds: Annotated[float, _seconds("--seconds", "How long to search.")] = 10.0


@dataclass(frozen=True)
class ExportOptions:
    """Which function is exported, and how."""

    what: Annotated[str, choice("what", QUANTITIES, "The quantity to compute.", metavar="NAME", show_default=True)] = (
        "forward-dynamics"
    )
    method: Annotated[
        str | None,
        _named("--method", "The method, where there are several. Default: auto.", completion.methods),
    ] = None
    to: Annotated[str, choice("to", ("C", "c"), "The language.", metavar="C", show_default=True)] = "C"
    out: Annotated[
        Path | None, _file("--out", "The source file; the header goes beside it. Default: NAME.c.", "NAME.c")
    ] = None
    name: Annotated[
        str | None, _named("--name", "Name of the function. Default: that of the file, or the model and quantity.")
    ] = None
    wasm: Annotated[bool, _flag("--wasm", "Write WebAssembly and JavaScript to the folder --out.")] = False
    single: Annotated[bool, _flag("--float", "Compute with float instead of double.")] = False
    frame: Annotated[
        list[str] | None,
        _named(
            "--frame",
            "Frames of the quantity, or on which wrenches act; may be given several times.",
            completion.frames,
        ),
    ] = None
    argument: Annotated[
        list[str] | None,
        _named(
            "--argument",
            "Make this an argument of the function, not a constant: regularization, target, multipliers, settings "
            "(forward dynamics).",
        ),
    ] = None
    iterations: Annotated[
        int | None,
        typer.Option(
            "--iterations", metavar="N", min=1, show_default=False, help="Largest number of iterations of the method."
        ),
    ] = None
    dt: Annotated[float, _seconds("--dt", "Time step, in seconds (--what step).")] = 1e-3

    @property
    def dtype(self) -> str:
        """NumPy's name of the floating-point type."""
        return "float32" if self.single else "float64"

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of frames."""
        return tuple(self.frame or ())
