# SPDX-License-Identifier: BSD-3-Clause
"""Commands that inspect models or the cache: info, check, count, optimize, graph, warm, cache.

Each imports its implementation when it runs: help needs none of them.
"""

from __future__ import annotations

import typer

import linkwork as lw
from linkwork.cli.loading import ModelRequest, UsageError, analyze_file, load_model
from linkwork.cli.options import (
    AssemblyOptions,
    ClearCache,
    DrawTree,
    File,
    Files,
    Json,
    ListJoints,
    ListPairs,
    LoadOptions,
    Methods,
    OnlyPose,
    OptimizeOptions,
    OutputOptions,
    Picture,
    Quiet,
    Strict,
)
from linkwork.cli.program import FAILED, command, report_errors, report_os_errors
from linkwork.cli.terminal import print_error, print_result, show, silence_notices, slow_notice, write, write_json


@command(
    "Describe a model: sizes, joints, loops, mobility.",
    "Describe a model: its sizes, its joints, the constraints that close its loops, which of these share joints, and "
    "its degrees of freedom.",
    "Mobility is computed at the neutral pose; where loops are open there, at the first pose of the file at which they "
    "are closed; else at an assembled pose near one of these. Loops that do not close are a warning here: to fail on "
    "them, use 'linkwork check'.",
    examples={
        "linkwork info cassie.xml": "sizes, loops, mobility",
        "linkwork info go2.urdf --base floating": "with a floating base",
        "linkwork info cassie.xml --joints --tree": "every joint, and the tree",
        "linkwork info cassie.xml --pose home": "at a pose of the file",
        "linkwork info cassie.xml --json | jq .dof": "for scripts",
    },
)
def info(
    file: File,
    *,
    pose: OnlyPose = None,
    assembly: AssemblyOptions,
    joints: ListJoints = False,
    pairs: ListPairs = False,
    tree: DrawTree = False,
    output: OutputOptions,
    load: LoadOptions,
) -> None:
    """Describe a model."""
    from linkwork.cli.rendering import draw_info

    with silence_notices(output.quiet), report_errors(file):
        report = analyze_file(file, ModelRequest(load, pose, assembly))
    how = {"joints": joints, "pairs": pairs, "tree": tree}
    print_result(output.as_json, report.as_json(), lambda console: draw_info(console, report, **how))


@command(
    "Check that models load and that their loops close.",
    "Check that models load and that their loops close.",
    "Prints a line for each file: OK, or FAIL with the file, line and element at fault, and what is wrong there. "
    "Exits with 1 if any file failed.",
    examples={
        "linkwork check robot.urdf": "one file",
        "linkwork check --strict models/*.xml": "warnings are failures too",
        "linkwork check --no-assemble robot.sdf": "only that it loads",
        "linkwork check --json *.urdf": "for scripts",
    },
)
def check(
    files: Files, *, strict: Strict = False, assembly: AssemblyOptions, output: OutputOptions, load: LoadOptions
) -> None:
    """Check models one after the other."""
    from linkwork.cli.validation import check_file

    results = []
    with silence_notices(output.quiet):
        for file in files:
            results.append(check_file(file, ModelRequest(load, assembly=assembly), strict=strict))
            if not output.as_json:
                show(results[-1].draw)
    failed = sum(not result.ok for result in results)
    if output.as_json:
        write_json({"linkwork": lw.__version__, "ok": not failed, "files": [result.as_json() for result in results]})
    elif len(files) > 1:
        write(f"{len(files)} files, {failed or 'none'} failed\n")
    if failed:
        raise typer.Exit(FAILED)


@command(
    "Count the arithmetic operations of a model's dynamics.",
    "Count, exactly, the additions, multiplications and so on of the dynamics of a model: forward dynamics by every "
    "applicable method, inverse dynamics, mass matrix, constraints, the Delassus matrix.",
    "Counts are those of the straight-line program that linkwork makes for this model. A method that iterates has "
    "the count of the first iteration and that of each further one; 'auto' takes few operations of three "
    "iterations among methods that handle every redundancy.",
    examples={
        "linkwork count cassie.xml": "which method is cheapest?",
        "linkwork count cassie.xml --method lcaba --method prox_ltl": "these two",
        "linkwork count go2.urdf --base floating": "a kinematic tree",
        "linkwork count cassie.xml --json | jq '.counts[].total'": "for scripts",
    },
)
def count(file: File, *, method: Methods = None, output: OutputOptions, load: LoadOptions) -> None:
    """Count operations."""
    from linkwork.cli.operation_counts import count_file
    from linkwork.cli.rendering import draw_counts

    with silence_notices(output.quiet), report_errors(file):
        counts = count_file(file, ModelRequest(load), method or ())
    print_result(output.as_json, counts.as_json(), lambda console: draw_counts(console, counts))


@command(
    "Find the spanning tree of a model with the fewest operations.",
    "Find the spanning tree of a model whose forward dynamics takes the fewest operations, counted exactly: which "
    "joint of a loop is the constraint, and in which order bodies are eliminated. Says what changes and what that "
    "saves.",
    "Joints that carry a motor, armature, a spring, damping, friction or limits stay, and so do the coordinates of all "
    "joints that stay. In Python, robot.optimized() returns the new robot, and moves states to it and back.",
    examples={
        "linkwork optimize robot.urdf": "what would another tree save?",
        "linkwork optimize robot.urdf --root --ends": "with other bases and axes, too",
        "linkwork optimize cassie.xml --drop limits --drop damping": "of passive joints",
        "linkwork optimize robot.urdf --method cluster --seconds 60": "for one method, longer",
        "linkwork optimize robot.urdf --json | jq .saved": "for scripts",
    },
)
def optimize(file: File, *, options: OptimizeOptions, output: OutputOptions, load: LoadOptions) -> None:
    """Find the best spanning tree."""
    from linkwork.cli.tree_search import as_json, draw_optimized, optimize_file

    with silence_notices(output.quiet), report_errors(file):
        progress = not (output.quiet or output.as_json)
        optimization = optimize_file(file, ModelRequest(load), options, progress=progress)
    print_result(output.as_json, as_json(file, optimization), lambda console: draw_optimized(console, optimization))


@command(
    "Draw the graph of a model: bodies, joints, loops.",
    "Draw the graph of a model: bodies with the joints that carry them, the constraints that close loops, which "
    "bodies form clusters, and in which order they are eliminated.",
    examples={
        "linkwork graph cassie.xml cassie.svg": "for a browser",
        "linkwork graph four_bar.urdf four_bar.pdf": "for paper",
    },
)
def graph(file: File, picture: Picture, *, quiet: Quiet = False, load: LoadOptions) -> None:
    """Draw a graph."""
    from linkwork.drawing.pictures import kind_of

    with silence_notices(quiet), report_errors(file):
        try:
            kind_of(picture)
        except lw.errors.InputError as error:
            raise UsageError(str(error)) from None
        robot, _ = load_model(file, ModelRequest(load))
        with report_os_errors(picture), slow_notice(f"drawing '{robot.name}'"):
            robot.draw_graph(picture)
    write(f"{picture}\n")


@command(
    "Compile all native code now.",
    "Compile all native code now, for single states and for batches, on all cores, into the cache "
    "(LINKWORK_CACHE_DIR, or linkwork in the user's cache folder): for container images and test machines. Otherwise "
    "each part is compiled when it is first used.",
    examples={"linkwork warm": "takes about a minute once, then nothing"},
)
def warm(quiet: Quiet = False) -> None:
    """Compile ahead of time."""
    from linkwork.compilers.warm import warm as compile_all

    with silence_notices(True):
        count = 0
        for done, total, name in compile_all():
            count = total
            if not quiet:
                print_error(f"compiled {done} of {total}: {name}")
    write(f"{count} compiled\n" if count else "everything was compiled already\n")


@command(
    "Show the location and size of the cache of compiled code, or clear it.",
    "Show where compiled code is cached, how many entries there are, their total size, and when the oldest and the "
    "newest of them were used.",
    "LINKWORK_CACHE_DIR moves the cache. LINKWORK_CACHE_SIZE bounds it (default 2GB; 0 keeps nothing): the least "
    "recently used entries are removed first, and are compiled again when needed.",
    examples={
        "linkwork cache": "location and size",
        "linkwork cache --clear": "remove all of it",
        "linkwork cache --json | jq .bytes": "for scripts",
    },
)
def cache(clear: ClearCache = False, as_json: Json = False) -> None:
    """Describe the cache, or clear it."""
    from linkwork.cli.cache_report import CacheReport, draw_cache

    with report_errors(), report_os_errors():
        report = CacheReport.collect(clear=clear)
    print_result(as_json, report.as_json(), lambda console: draw_cache(console, report))
