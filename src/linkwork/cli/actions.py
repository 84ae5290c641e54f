"""Commands that do something with models: let them move, show them, time them, write programs of them."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from linkwork.cli import completing
from linkwork.cli.looking import Look, Misused, read, start_of
from linkwork.cli.options import (
    Base,
    Dependent,
    File,
    IgnoreLimits,
    Inertias,
    Json,
    Loops,
    Methods,
    Mimic,
    Pose,
    Quiet,
    above_zero,
    loading,
    one_of,
    teaching,
)
from linkwork.cli.program import FAILED, app, failures
from linkwork.cli.terminal import complain, printable, quietly, show, write

INTEGRATORS = ("euler", "rk4", "dopri5")
SUITES = ("trees", "loops", "lqr", "proximal", "constrained", "clusters", "delassus", "simulation")
"""Studies of linkwork_benchmarks, which is not imported for a list of names."""

WHATS = (
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

Port = Annotated[
    int | None,
    typer.Option(
        "--port", metavar="N", min=1, max=65535, show_default=False, help="Listen here, or at the next free port."
    ),
]
NoBrowser = Annotated[bool, typer.Option("--no-browser", metavar="", help="Print the address; open no browser.")]


def _shown(port: int | None, no_browser: bool) -> dict[str, Any]:
    """Options of ``view`` as they were given."""
    found: dict[str, Any] = {"wait": True}
    if port is not None:
        found["port"] = port
    if no_browser:
        found["open_browser"] = False
    return found


@app.command(
    short_help="Let a model move, and say what became of it.",
    help=teaching(
        "Let a model move under gravity and its own springs and dampers, from a pose of the file with loops closed, "
        "and say what became of its energy and its loops.",
        "'euler' is robust and quick, 'rk4' exact (fourth order), 'dopri5' chooses its steps. Torques and controllers "
        "are for Python: linkwork.simulate(robot, controller=...).",
        examples={
            "linkwork simulate cassie.xml": "one second of falling",
            "linkwork simulate cassie.xml --view": "and look at it in the browser",
            "linkwork simulate four_bar.urdf --seconds 10 --integrator rk4": "how well is energy kept?",
            "linkwork simulate cassie.xml --plot fall.png --out fall.npz": "plot it, keep it",
            "linkwork simulate cassie.xml --video fall.gif": "a film of it",
            "linkwork simulate cassie.xml --json | jq .loops_open_by": "for scripts",
        },
    ),
)
def simulate(
    file: File,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="S", callback=above_zero, help="How long, in simulated seconds.")
    ] = 1.0,
    dt: Annotated[float, typer.Option("--dt", metavar="S", callback=above_zero, help="Seconds of one step.")] = 1e-3,
    integrator: Annotated[str, one_of("integrator", INTEGRATORS, "How steps are made.", show_default=True)] = "euler",
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            metavar="NAME",
            autocompletion=completing.methods,
            show_default=False,
            help="How accelerations are found: auto, lcaba, minimal (coordinates), or another method that "
            "'linkwork count' lists.",
        ),
    ] = None,
    every: Annotated[
        int, typer.Option("--every", metavar="N", min=1, help="Keep the state of every so many steps.")
    ] = 10,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Keep the run: .npz or .parquet (linkwork.Trajectory.load reads it)."
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Draw positions, energies, loops, forces: .png, .svg, .pdf."),
    ] = None,
    video: Annotated[
        Path | None, typer.Option("--video", metavar="FILE", help="Draw a moving stick figure: .gif, .mp4 or .png.")
    ] = None,
    view: Annotated[
        bool, typer.Option("--view", metavar="", help="Show the run in the browser, until Ctrl-C.")
    ] = False,
    port: Port = None,
    no_browser: NoBrowser = False,
    pose: Pose = None,
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
    from linkwork.cli.simulating import (
        check_method,
        check_places,
        simulate_file,
    )  # no compiler for those who ask for help

    how = Look(loading(base, mimic, inertias, dependent, loops), pose=pose, limits=not ignore_limits)
    options: dict[str, Any] = {"seconds": seconds, "dt": dt, "integrator": integrator, "record_every": every}
    with quietly(quiet), failures(file):
        check_places(plot, video)
        if method is not None:
            options["method"] = check_method(method)
        found = simulate_file(
            file, how, limits=not ignore_limits, progress=False if quiet or as_json else None, **options
        )
        try:
            found.keep(out, plot, video)
        except OSError as error:
            complain(f"error: {error.filename or plot or video}: {error.strerror or error}")
            raise typer.Exit(FAILED) from None
    if as_json:
        write(json.dumps(found.as_json(), indent=2, allow_nan=False) + "\n")
    else:
        name = found.run.robot.name if found.run.robot else ""
        width = max(len(word) for word, _ in found.lines())
        write(f"{printable(name)}\n" + "".join(f"  {word:<{width}}  {text}\n" for word, text in found.lines()))
    if view:
        with failures(file):
            found.run.view(**_shown(port, no_browser))
    if found.run.ended:
        raise typer.Exit(FAILED)


@app.command(
    short_help="Show a model, or a run of it, in the browser.",
    help=teaching(
        "Show a model in the browser, with a slider for each joint and loops that stay closed; or a run of it that "
        "'linkwork simulate --out' kept, with a slider for time. Ends with Ctrl-C.",
        examples={
            "linkwork view cassie.xml": "move its joints",
            "linkwork view cassie.xml --pose home": "at a pose of the file",
            "linkwork view cassie.xml --run fall.npz": "play a run",
            "linkwork view cassie.xml --no-browser --port 9000": "on a machine without a display",
        },
    ),
)
def view(
    file: File,
    pose: Pose = None,
    run: Annotated[
        Path | None, typer.Option("--run", metavar="FILE", help="A run of the model: .npz or .parquet.")
    ] = None,
    port: Port = None,
    no_browser: NoBrowser = False,
    ignore_limits: IgnoreLimits = False,
    quiet: Quiet = False,
    base: Base = None,
    mimic: Mimic = None,
    inertias: Inertias = None,
    dependent: Dependent = None,
    loops: Loops = None,
) -> None:
    """Show a model."""
    import linkwork as lw

    how = Look(loading(base, mimic, inertias, dependent, loops), pose=pose, limits=not ignore_limits)
    with quietly(quiet), failures(file):
        if run is not None and pose is not None:
            raise Misused("--pose: a run has its own states; give --pose or --run")
        robot, _ = read(file, how)
        options = _shown(port, no_browser)
        if run is not None:
            lw.Trajectory.load(run, robot).view(**options)
        elif pose is not None:
            robot.view(start_of(robot, how), **options)
        else:
            robot.view(**options)


@app.command(
    short_help="Time linkwork on a model, beside Pinocchio and MuJoCo; or run a study.",
    help=teaching(
        "Time forward dynamics, inverse dynamics and the mass matrix of models: natively, as a straight-line program, "
        "bound to arrays, in batches; beside Pinocchio and MuJoCo where these are installed and take the model. All "
        "take turns in one process, and the best of many rounds counts.",
        "With --suite, run a study of the papers instead: trees, loops, lqr, proximal, clusters, delassus, simulation "
        "(constrained: loops, lqr and proximal together). Whole studies take many minutes: see --quick and --only.",
        examples={
            "linkwork bench cassie.xml": "times of one's own model",
            "linkwork bench cassie.xml --method lcaba --method prox_ltl": "by these methods",
            "linkwork bench cassie.xml --json | jq '.files[].times'": "for scripts",
            "linkwork bench --suite loops --quick": "a first look at a study",
            "linkwork bench --suite loops --only Digit --out digit.json": "a part of it, kept",
            "linkwork bench cassie.xml --out cassie.csv --out cassie.tex": "for a spreadsheet, and for a paper",
        },
    ),
)
def bench(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE]...", show_default=False, help="Models: .urdf, .xml or .mjcf (MuJoCo), .sdf."),
    ] = None,
    suite: Annotated[str | None, one_of("suite", SUITES, "A study to run instead.")] = None,
    only: Annotated[
        str | None, typer.Option("--only", metavar="REGEX", help="Of a study: scenarios whose name matches.")
    ] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out",
            metavar="FILE",
            show_default=False,
            help="Keep the results: .json, .csv, or .tex (tables for LaTeX); may be given several times.",
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", metavar="", help="Fewer, shorter rounds; smaller studies.")] = False,
    method: Methods = None,
    pose: Pose = None,
    ignore_limits: IgnoreLimits = False,
    as_json: Json = False,
    quiet: Quiet = False,
    base: Base = None,
    mimic: Mimic = None,
    inertias: Inertias = None,
    dependent: Dependent = None,
    loops: Loops = None,
) -> None:
    """Time models, or run a study."""
    from linkwork.cli.benching import (
        bench_file,
        check_places,
        draw_results,
        draw_times,
        keep_suite,
        keep_times,
        results_of,
        run_suite,
    )

    if (suite is None) == (not files):
        raise typer.BadParameter("give models to time, or --suite, not both.")
    if suite is None and only is not None:
        raise typer.BadParameter("--only is for --suite.")
    with failures():
        check_places(out or ())
    with quietly(quiet):
        if suite is not None:
            with failures():
                results = run_suite(suite, only, quick)
                keep_suite(suite, results, out or ())
            if as_json:
                write(json.dumps(results, indent=2) + "\n")
            else:
                show(lambda console: draw_results(console, suite, results))
            return
        how = Look(loading(base, mimic, inertias, dependent, loops), pose=pose, limits=not ignore_limits)
        found, failed = [], False
        for file in files or ():
            try:
                with failures(file):
                    timed = bench_file(file, how, method or (), quick)
            except typer.Exit:
                failed = True
                continue
            found.append(timed)
            if not as_json:
                show(partial(draw_times, timed=timed))
        results = results_of(found)
        with failures():
            keep_times(results, found, out or ())
        if as_json:
            write(json.dumps(results, indent=2, allow_nan=False) + "\n")
    if failed:
        raise typer.Exit(FAILED)


@app.command(
    short_help="Write a function of a model as C source.",
    help=teaching(
        "Write a function of a model as C99: one .c and one .h that need <math.h> alone, arrays in and out, no "
        "allocation, nothing kept between calls. For microcontrollers, other languages, and other programs.",
        "The header says in which order joints stand in q and v, how many operations a call takes, and how much stack. "
        "'step' is one step of the integrator 'euler' (--dt). From Python: linkwork.export_c(evaluator, 'name.c').",
        examples={
            "linkwork export cassie.xml": "forward dynamics, to cassie_forward_dynamics.c",
            "linkwork export cassie.xml --what mass-matrix --float": "in single precision",
            "linkwork export arm.urdf --what inverse-dynamics --out ctrl/arm_id.c": "where to",
            "linkwork export arm.urdf --what frame-jacobian --frame tool0": "of a frame",
            "linkwork export cassie.xml --method lcaba --iterations 1": "cheap, and nearly exact",
            "linkwork export cassie.xml --argument multipliers": "start from forces known before",
        },
    ),
)
def export(
    file: File,
    what: Annotated[
        str, one_of("what", WHATS, "What to compute.", metavar="NAME", show_default=True)
    ] = "forward-dynamics",
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            metavar="NAME",
            autocompletion=completing.methods,
            show_default=False,
            help="By which method, where there are several. Default: auto.",
        ),
    ] = None,
    to: Annotated[str, one_of("to", ("C", "c"), "The language.", metavar="C", show_default=True)] = "C",
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="NAME.c", help="Where to; the header goes beside it. Default: the name and .c."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Of the function. Default: of the file, or the model and what."),
    ] = None,
    single: Annotated[bool, typer.Option("--float", metavar="", help="Compute with float instead of double.")] = False,
    frame: Annotated[
        list[str] | None,
        typer.Option(
            "--frame",
            metavar="NAME",
            autocompletion=completing.frames,
            help="Frames that a quantity is about, or that wrenches act on; may be given several times.",
        ),
    ] = None,
    argument: Annotated[
        list[str] | None,
        typer.Option(
            "--argument",
            metavar="NAME",
            help="Take this from outside too: regularization, target, multipliers, settings (forward dynamics). Else "
            "they are constants.",
        ),
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option("--iterations", metavar="N", min=1, show_default=False, help="Most iterations of a method."),
    ] = None,
    dt: Annotated[
        float, typer.Option("--dt", metavar="S", callback=above_zero, help="Seconds of a step (--what step).")
    ] = 1e-3,
    as_json: Json = False,
    quiet: Quiet = False,
    base: Base = None,
    mimic: Mimic = None,
    inertias: Inertias = None,
    dependent: Dependent = None,
    loops: Loops = None,
) -> None:
    """Write C source."""
    from linkwork.cli.exporting import Wanted, draw_export, export_file, export_json

    how = Look(loading(base, mimic, inertias, dependent, loops))
    wanted = Wanted(
        what, method, tuple(frame or ()), tuple(argument or ()), "float32" if single else "float64", iterations, dt
    )
    with quietly(quiet), failures(file):
        program = export_file(file, how, wanted, name, out)
    if as_json:
        write(json.dumps(export_json(file, program), indent=2) + "\n")
    else:
        show(lambda console: draw_export(console, program))
