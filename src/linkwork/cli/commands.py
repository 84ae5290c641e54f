"""What can be typed: the commands, their options and help, and what a failure exits with."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

import linkwork as lw
from linkwork.cli.finding import CLOSED_TO, NEUTRAL
from linkwork.cli.looking import Look, Misused, look, placed
from linkwork.cli.pages import draw_info
from linkwork.cli.terminal import complain, printable, quietly, show, write
from linkwork.cli.verdicts import judge
from linkwork.errors import LinkworkError

FAILED = 1
"""Exit code: a file could not be read, is wrong, or cannot be assembled. (2 is for wrong usage, 130 for Ctrl-C.)"""

INTERRUPTED = 130

app = typer.Typer(
    name="linkwork",
    help="Look at models of mechanisms with closed loops, URDF, MJCF and SDF files, and let them move.",
    epilog="Exit codes: 0 fine, 1 a file failed, 2 wrong usage, 130 interrupted. "
    "Environment: NO_COLOR=1 for plain text, LINKWORK_QUIET=1 for no notices.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line, as the script ``linkwork`` does."""
    try:
        app(prog_name="linkwork")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


# Options ---------------------------------------------------------------------------------------------


def _words(option: str) -> tuple[str, ...]:
    """The words that an option of `linkwork.load` takes, from its signature."""

    def flat(hint: Any) -> list[str]:
        parts = get_args(hint)
        return [hint] if isinstance(hint, str) else [word for part in parts for word in flat(part)]

    return tuple(flat(get_type_hints(lw.load)[option]))


def _choice(option: str, text: str) -> Any:
    known = _words(option)

    def one_of(value: str | None) -> str | None:
        if value is not None and value not in known:
            raise typer.BadParameter(f"'{value}' is none of {', '.join(known)}.")
        return value

    return typer.Option(
        f"--{option}", metavar="|".join(known), callback=one_of, show_default=False, help=text, rich_help_panel=_LOADING
    )


def _version(asked: bool) -> None:
    if asked:
        write(f"linkwork {lw.__version__}\n")
        raise typer.Exit


_LOADING = "How the file is read (as in linkwork.load)"

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


def _teaching(*paragraphs: str, examples: dict[str, str]) -> str:
    """A help text that ends with examples, each with what it is for."""
    width = max(map(len, examples))
    lines = [f"  {line:<{width}}  {meaning}" for line, meaning in examples.items()]
    return "\n\n".join([*paragraphs, "\n".join(["[bold]Examples[/bold]", *lines])])


@app.callback()
def _linkwork(
    version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", metavar="", callback=_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    pass


# Commands --------------------------------------------------------------------------------------------


@app.command(
    short_help="Say what is in a model: sizes, joints, loops, mobility.",
    help=_teaching(
        "Say what is in a model: its sizes, its joints, the constraints that close its loops, which of these share "
        "joints, and what is left free to move.",
        "Mobility is counted at the neutral pose; where loops are open there, at the first pose of the file at which "
        "they are closed; else near one of these, where they close. Loops that do not close are a warning here: "
        "to fail on them, use 'linkwork check'.",
        examples={
            "linkwork info cassie.xml": "what is in it",
            "linkwork info go2.urdf --base floating": "not bolted down",
            "linkwork info cassie.xml --joints --tree": "every joint, and the tree",
            "linkwork info cassie.xml --pose home": "at a pose of the file",
            "linkwork info cassie.xml --json | jq .dof": "for scripts",
        },
    ),
)
def info(
    file: File,
    pose: Annotated[
        str | None,
        typer.Option(
            "--pose", metavar="NAME", help=f"Look at a pose that the file names, or at '{NEUTRAL}', and at no other."
        ),
    ] = None,
    assemble: Assemble = True,
    ignore_limits: IgnoreLimits = False,
    tolerance: Tolerance = CLOSED_TO,
    joints: Annotated[
        bool, typer.Option("--joints", metavar="", help="List all joints and actuators, also where many.")
    ] = False,
    tree: Annotated[
        bool, typer.Option("--tree", metavar="", help="Draw the tree of bodies, with what binds each.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    base: Base = None,
    mimic: Mimic = None,
    inertias: Inertias = None,
    dependent: Dependent = None,
    loops: Loops = None,
) -> None:
    """Print what is in a model."""
    given = {"base": base, "mimic": mimic, "inertias": inertias, "dependent": dependent, "loops": loops}
    how = Look(given, pose=pose, assemble=assemble, limits=not ignore_limits, tolerance=tolerance)
    with quietly(quiet):
        try:
            facts = look(file, how)
        except Misused as error:
            raise typer.BadParameter(printable(str(error))) from None
        except LinkworkError as error:
            complain(f"error: {placed(file, error)}")
            raise typer.Exit(FAILED) from None
    if as_json:
        write(json.dumps(facts.as_json(), indent=2, allow_nan=False) + "\n")
    else:
        show(lambda console: draw_info(console, facts, joints=joints, tree=tree))


@app.command(
    short_help="Check that models load and that their loops close.",
    help=_teaching(
        "Check that models load and that their loops close.",
        "Prints a line for each file: OK, or FAIL with the file, line and element at fault, and what is wrong there. "
        "Exits with 1 if any file failed.",
        examples={
            "linkwork check robot.urdf": "one file",
            "linkwork check --strict models/*.xml": "warnings are failures too",
            "linkwork check --no-assemble robot.sdf": "only that it loads",
            "linkwork check --json *.urdf": "for scripts",
        },
    ),
)
def check(
    files: Files,
    strict: Annotated[bool, typer.Option("--strict", metavar="", help="Take warnings for failures.")] = False,
    assemble: Assemble = True,
    ignore_limits: IgnoreLimits = False,
    tolerance: Tolerance = CLOSED_TO,
    as_json: Json = False,
    quiet: Quiet = False,
    base: Base = None,
    mimic: Mimic = None,
    inertias: Inertias = None,
    dependent: Dependent = None,
    loops: Loops = None,
) -> None:
    """Check models one after the other."""
    given = {"base": base, "mimic": mimic, "inertias": inertias, "dependent": dependent, "loops": loops}
    how = Look(given, assemble=assemble, limits=not ignore_limits, tolerance=tolerance)
    verdicts = []
    with quietly(quiet):
        for file in files:
            verdicts.append(judge(file, how, strict=strict))
            if not as_json:
                show(verdicts[-1].draw)
    failed = sum(not verdict.ok for verdict in verdicts)
    if as_json:
        found = {
            "linkwork": lw.__version__,
            "ok": not failed,
            "files": [verdict.as_json() for verdict in verdicts],
        }
        write(json.dumps(found, indent=2, allow_nan=False) + "\n")
    elif len(files) > 1:
        write(f"{len(files)} files, {failed or 'none'} failed\n")
    if failed:
        raise typer.Exit(FAILED)


def _above_zero(value: float) -> float:
    if not value > 0:
        raise typer.BadParameter(f"{value:g} is not above zero.")
    return value


@app.command(
    short_help="Let a model move, and say what became of it.",
    help=_teaching(
        "Let a model move under gravity and its own springs and dampers, from a pose of the file with loops closed, "
        "and say what became of its energy and its loops.",
        "'euler' is robust and quick, 'rk4' exact (fourth order), 'dopri5' chooses its steps. Torques and controllers "
        "are for Python: linkwork.simulate(robot, controller=...).",
        examples={
            "linkwork simulate cassie.xml": "one second of falling",
            "linkwork simulate four_bar.urdf --seconds 10 --integrator rk4": "how well is energy kept?",
            "linkwork simulate cassie.xml --plot fall.png --out fall.npz": "look at it, keep it",
            "linkwork simulate cassie.xml --json | jq .loops_open_by": "for scripts",
        },
    ),
)
def simulate(
    file: File,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="S", callback=_above_zero, help="How long, in simulated seconds.")
    ] = 1.0,
    dt: Annotated[float, typer.Option("--dt", metavar="S", callback=_above_zero, help="Seconds of one step.")] = 1e-3,
    integrator: Annotated[
        str, typer.Option("--integrator", metavar="euler|rk4|dopri5", help="How steps are made.")
    ] = "euler",
    every: Annotated[
        int, typer.Option("--every", metavar="N", min=1, help="Keep the state of every so many steps.")
    ] = 10,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.npz", help="Keep the run (linkwork.Run.load reads it).")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Draw positions, energies, loops, forces: .png, .svg, .pdf."),
    ] = None,
    pose: Annotated[
        str | None, typer.Option("--pose", metavar="NAME", help=f"Start at a pose of the file, or at '{NEUTRAL}'.")
    ] = None,
    ignore_limits: IgnoreLimits = False,
    as_json: Json = False,
    quiet: Quiet = False,
    base: Base = None,
    mimic: Mimic = None,
    inertias: Inertias = None,
    dependent: Dependent = None,
    loops: Loops = None,
) -> None:
    """Let a model move."""
    from linkwork.cli.simulating import simulate_file  # the compiler is not for those who ask for help

    given = {"base": base, "mimic": mimic, "inertias": inertias, "dependent": dependent, "loops": loops}
    how = Look(given, pose=pose, limits=not ignore_limits)
    if integrator not in ("euler", "rk4", "dopri5"):
        raise typer.BadParameter(f"--integrator: '{integrator}' is none of euler, rk4, dopri5.")
    with quietly(quiet):
        try:
            found = simulate_file(
                file,
                how,
                seconds=seconds,
                dt=dt,
                integrator=integrator,
                record_every=every,
                limits=not ignore_limits,
                progress=False if quiet or as_json else None,
            )
            if out is not None:
                found.run.save(out)
            if plot is not None:
                found.run.plot(plot)
        except Misused as error:
            raise typer.BadParameter(printable(str(error))) from None
        except LinkworkError as error:
            complain(f"error: {placed(file, error)}")
            raise typer.Exit(FAILED) from None
        except (OSError, ValueError) as error:  # of the plot's file, or its kind
            complain(f"error: {plot}: {error}")
            raise typer.Exit(FAILED) from None
    if as_json:
        write(json.dumps(found.as_json(), indent=2, allow_nan=False) + "\n")
    else:
        name = found.run.robot.name if found.run.robot else ""
        width = max(len(word) for word, _ in found.lines())
        write(f"{printable(name)}\n" + "".join(f"  {word:<{width}}  {text}\n" for word, text in found.lines()))
    if found.run.ended:
        raise typer.Exit(FAILED)


@app.command(
    short_help="Compile all native code now.",
    help=_teaching(
        "Compile all native code now, on all cores, into the cache (LINKWORK_CACHE_DIR, or linkwork in the user's "
        "cache folder): for container images and test machines. Else each part is compiled when it is first used.",
        examples={"linkwork warm": "takes minutes once, then nothing"},
    ),
)
def warm(quiet: Quiet = False) -> None:
    """Compile ahead."""
    from linkwork.compile.warm import warm as compiled

    with quietly(True):
        count = 0
        for done, total, name in compiled():
            count = total
            if not quiet:
                complain(f"compiled {done} of {total}: {name}")
    write(f"{count} compiled\n" if count else "everything was compiled already\n")
