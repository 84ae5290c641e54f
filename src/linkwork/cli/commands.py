"""Commands that look at models or at the cache: their arguments and help, and what a failure exits with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import linkwork as lw
from linkwork.cli import completing
from linkwork.cli.finding import CLOSED_TO, NEUTRAL
from linkwork.cli.looking import Look, look, read
from linkwork.cli.options import (
    Assemble,
    Base,
    Dependent,
    File,
    Files,
    IgnoreLimits,
    Inertias,
    Json,
    Loops,
    Methods,
    Mimic,
    Quiet,
    Tolerance,
    loading,
    teaching,
)
from linkwork.cli.pages import draw_counts, draw_info
from linkwork.cli.program import FAILED, app, failures
from linkwork.cli.terminal import complain, patience, quietly, show, write
from linkwork.cli.verdicts import judge


@app.command(
    short_help="Say what is in a model: sizes, joints, loops, mobility.",
    help=teaching(
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
            "--pose",
            metavar="NAME",
            autocompletion=completing.poses,
            help=f"Look at a pose that the file names, or at '{NEUTRAL}', and at no other.",
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
    given = loading(base, mimic, inertias, dependent, loops)
    how = Look(given, pose=pose, assemble=assemble, limits=not ignore_limits, tolerance=tolerance)
    with quietly(quiet), failures(file):
        facts = look(file, how)
    if as_json:
        write(json.dumps(facts.as_json(), indent=2, allow_nan=False) + "\n")
    else:
        show(lambda console: draw_info(console, facts, joints=joints, tree=tree))


@app.command(
    short_help="Check that models load and that their loops close.",
    help=teaching(
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
    given = loading(base, mimic, inertias, dependent, loops)
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


@app.command(
    short_help="Count the operations of what one computes with a model.",
    help=teaching(
        "Count, exactly, the additions, multiplications and so on of what one computes with a model: forward dynamics "
        "by every method that serves it, inverse dynamics, mass matrix, constraints, the Delassus matrix.",
        "Counts are those of the straight-line program that linkwork makes for this model. A method that iterates has "
        "the count of the first iteration and that of each further one; 'auto' takes the fewest operations of three "
        "iterations among methods that serve every redundancy.",
        examples={
            "linkwork count cassie.xml": "which method is cheapest?",
            "linkwork count cassie.xml --method lcaba --method prox_ltl": "these two",
            "linkwork count go2.urdf --base floating": "of a tree",
            "linkwork count cassie.xml --json | jq '.counts[].total'": "for scripts",
        },
    ),
)
def count(
    file: File,
    method: Methods = None,
    as_json: Json = False,
    quiet: Quiet = False,
    base: Base = None,
    mimic: Mimic = None,
    inertias: Inertias = None,
    dependent: Dependent = None,
    loops: Loops = None,
) -> None:
    """Count operations."""
    from linkwork.cli.counting import count_file  # the compiler is not for those who ask for help

    with quietly(quiet), failures(file):
        found = count_file(file, Look(loading(base, mimic, inertias, dependent, loops)), method or ())
    if as_json:
        write(json.dumps(found.as_json(), indent=2, allow_nan=False) + "\n")
    else:
        show(lambda console: draw_counts(console, found))


@app.command(
    short_help="Draw the graph of a model: bodies, joints, loops.",
    help=teaching(
        "Draw the graph of a model: bodies with the joints that carry them, the constraints that close loops, which "
        "bodies form clusters, and in which order they are eliminated.",
        examples={
            "linkwork graph cassie.xml cassie.svg": "for a browser",
            "linkwork graph four_bar.urdf four_bar.pdf": "for paper",
        },
    ),
)
def graph(
    file: File,
    picture: Annotated[
        Path, typer.Argument(metavar="PICTURE", show_default=False, help="Where to draw: .svg, .png or .pdf.")
    ],
    quiet: Quiet = False,
    base: Base = None,
    mimic: Mimic = None,
    inertias: Inertias = None,
    dependent: Dependent = None,
    loops: Loops = None,
) -> None:
    """Draw a graph."""
    with quietly(quiet), failures(file):
        robot, _ = read(file, Look(loading(base, mimic, inertias, dependent, loops)))
        try:
            with patience(f"drawing '{robot.name}'"):
                robot.draw_graph(picture)
        except OSError as error:
            complain(f"error: {picture}: {error.strerror or error}")
            raise typer.Exit(FAILED) from None
    write(f"{picture}\n")


@app.command(
    short_help="Compile all native code now.",
    help=teaching(
        "Compile all native code now, for single states and for batches, on all cores, into the cache "
        "(LINKWORK_CACHE_DIR, or linkwork in the user's cache folder): for container images and test machines. Else "
        "each part is compiled when it is first used.",
        examples={"linkwork warm": "takes about a minute once, then nothing"},
    ),
)
def warm(quiet: Quiet = False) -> None:
    """Compile ahead."""
    from linkwork.compilers.warm import warm as compiled

    with quietly(True):
        count = 0
        for done, total, name in compiled():
            count = total
            if not quiet:
                complain(f"compiled {done} of {total}: {name}")
    write(f"{count} compiled\n" if count else "everything was compiled already\n")


@app.command(
    short_help="Say where compiled code is kept and how much there is, or remove it.",
    help=teaching(
        "Say where compiled code is kept, how many entries there are, how large they are together, and when the first "
        "and the last of them were used.",
        "LINKWORK_CACHE_DIR moves the cache. LINKWORK_CACHE_SIZE bounds it (default 2GB; 0 keeps nothing): the least "
        "recently used entries are removed first. What is removed is compiled again when it is needed.",
        examples={
            "linkwork cache": "where, and how large",
            "linkwork cache --clear": "remove all of it",
            "linkwork cache --json | jq .bytes": "for scripts",
        },
    ),
)
def cache(
    clear: Annotated[bool, typer.Option("--clear", metavar="", help="Remove all entries, without asking.")] = False,
    as_json: Json = False,
) -> None:
    """Describe the cache, or clear it."""
    from linkwork.cli.caching import CacheFacts, draw_cache

    with failures():
        try:
            facts = CacheFacts.collect(clear=clear)
        except OSError as error:
            complain(f"error: {error.filename}: {error.strerror or error}")
            raise typer.Exit(FAILED) from None
    if as_json:
        write(json.dumps(facts.as_json(), indent=2) + "\n")
    else:
        show(lambda console: draw_cache(console, facts))
