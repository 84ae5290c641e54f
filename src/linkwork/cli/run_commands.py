# SPDX-License-Identifier: BSD-3-Clause
"""Commands that run models: simulate, view, page, bench, export."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import typer

from linkwork.cli.conversion import ConvertOptions, NewFile, convert_file
from linkwork.cli.live_page import PageOptions, page_of_file
from linkwork.cli.loading import ModelRequest, UsageError, load_model
from linkwork.cli.options import (
    AssemblyOptions,
    BenchmarkOptions,
    ExportOptions,
    File,
    IgnoreLimits,
    Live,
    LoadOptions,
    OptionalFiles,
    OutputOptions,
    Quiet,
    RecordedFile,
    RecordOptions,
    SimulationOptions,
    StartPose,
    View,
    ViewerOptions,
)
from linkwork.cli.program import FAILED, command, report_errors, report_os_errors
from linkwork.cli.terminal import print_result, show, silence_notices, write_json


@command(
    "Simulate a model on the ground, and report energy, loop errors and contacts.",
    "Simulate a model under gravity and its own springs and dampers, from a pose of the file with loops closed, and "
    "report the change of energy, the errors of loops, and the forces of contacts. A floating robot stands on the "
    "plane z = 0, unless the file has another ground; --contacts none lets it fall.",
    "'euler' is robust and fast, 'rk4' of fourth order, 'dopri5' adapts its steps. Only 'euler' knows contacts. "
    "Torques and controllers are for Python: linkwork.simulate(robot, controller=...).",
    examples={
        "linkwork simulate cassie.xml": "one second on the ground, without motors",
        "linkwork simulate cassie.xml --view": "and show it in the browser",
        "linkwork simulate cassie.xml --live": "run in the browser: pull it, move its motors",
        "linkwork simulate go2.urdf --base floating": "a URDF model on the ground",
        "linkwork simulate cassie.xml --contacts none": "one second of falling",
        "linkwork simulate four_bar.urdf --seconds 10 --integrator rk4": "how well is energy conserved?",
        "linkwork simulate cassie.xml --plot fall.png --out fall.npz": "plot it, save it",
        "linkwork simulate cassie.xml --video fall.gif": "an animation of it",
        "linkwork simulate cassie.xml --json | jq .loops_open_by": "for scripts",
    },
)
def simulate(
    file: File,
    *,
    options: SimulationOptions,
    record: RecordOptions,
    view: View = False,
    live: Live = False,
    viewer: ViewerOptions,
    pose: StartPose = None,
    ignore_limits: IgnoreLimits = False,
    output: OutputOptions,
    load: LoadOptions,
) -> None:
    """Simulate a model."""
    from linkwork.cli.live_view import check_live, view_live
    from linkwork.cli.simulation import check_output_paths, simulate_file  # imports the compiler: not for help

    request = ModelRequest(load, pose, AssemblyOptions(ignore_limits=ignore_limits))
    if live:
        with silence_notices(output.quiet), report_errors(file):
            check_live(options, record, view=view, as_json=output.as_json)
            view_live(load_model(file, request)[0], request, options, viewer.arguments(), playing=True)
        return
    with silence_notices(output.quiet), report_errors(file):
        check_output_paths(record)
        result = simulate_file(file, request, options, progress=False if output.quiet or output.as_json else None)
        with report_os_errors(record.plot or record.video):
            result.save(record)
    print_result(output.as_json, result.as_json(), result.draw)
    if view:
        with report_errors(file):
            result.trajectory.view(**viewer.arguments())
    if result.trajectory.ended:
        raise typer.Exit(FAILED)


@command(
    "Show a model, or a trajectory of it, in the browser.",
    "Show a model in the browser, where it is run, pulled by the mouse and commanded, and its joints moved with loops "
    "closed; or a trajectory of it that 'linkwork simulate --out' saved, with a slider for time. A floating robot "
    "stands on the plane z = 0, unless the file has another ground. Ends with Ctrl-C.",
    examples={
        "linkwork view cassie.xml": "play, pull, move its joints",
        "linkwork view cassie.xml --pose home": "at a pose of the file",
        "linkwork view cassie.xml --run fall.npz": "replay a trajectory",
        "linkwork view cassie.xml --no-browser --port 9000": "on a machine without a display",
    },
)
def view(
    file: File,
    *,
    pose: StartPose = None,
    run: RecordedFile = None,
    viewer: ViewerOptions,
    ignore_limits: IgnoreLimits = False,
    quiet: Quiet = False,
    load: LoadOptions,
) -> None:
    """Show a model."""
    import linkwork as lw
    from linkwork.cli.live_view import view_file
    from linkwork.cli.standing import on_own_ground

    request = ModelRequest(load, pose, AssemblyOptions(ignore_limits=ignore_limits))
    with silence_notices(quiet), report_errors(file):
        if run is not None and pose is not None:
            raise UsageError("--pose: a trajectory has its own states; give --pose or --run")
        robot, _ = load_model(file, request)
        if run is not None:
            lw.Trajectory.load(run, on_own_ground(robot, request)).view(**viewer.arguments())
        else:
            view_file(robot, request, viewer.arguments())


@command(
    "Write a page in which a model runs, as one file.",
    "Write a page in which a model runs, in any browser, without a server or a network: bodies are pulled with the "
    "mouse, motors, gravity and masses have sliders, numbers are plotted. Without contacts: a floating base is held.",
    examples={
        "linkwork page cassie.xml": "to cassie.html",
        "linkwork page four_bar.urdf --drive crank=velocity:3 --out four_bar.html": "with a motor that turns",
    },
)
def page(
    file: File,
    *,
    options: PageOptions,
    pose: StartPose = None,
    ignore_limits: IgnoreLimits = False,
    output: OutputOptions,
    load: LoadOptions,
) -> None:
    """Write a live page."""
    request = ModelRequest(load, pose, AssemblyOptions(ignore_limits=ignore_limits))
    with silence_notices(output.quiet), report_errors(file):
        written = page_of_file(file, request, options)
    print_result(output.as_json, written.as_json(), written.draw)


@command(
    "Time linkwork on a model, beside Pinocchio and MuJoCo; or run a benchmark suite.",
    "Time forward dynamics, inverse dynamics and the mass matrix of models: natively, as a straight-line program, "
    "bound to arrays, in batches; beside Pinocchio and MuJoCo where these are installed and accept the model. All "
    "run interleaved in one process, and the best of many rounds counts.",
    "With --suite, run the scenarios of a paper instead: trees, loops, lqr, proximal, clusters, delassus, simulation "
    "(constrained: loops, lqr and proximal together). Whole suites take many minutes: see --quick and --only.",
    examples={
        "linkwork bench cassie.xml": "times of your own model",
        "linkwork bench cassie.xml --method lcaba --method prox_ltl": "by these methods",
        "linkwork bench cassie.xml --json | jq '.files[].times'": "for scripts",
        "linkwork bench --suite loops --quick": "a first look at a suite",
        "linkwork bench --suite loops --only Digit --out digit.json": "a part of it, saved",
        "linkwork bench cassie.xml --out cassie.csv --out cassie.tex": "for a spreadsheet, and for a paper",
    },
)
def bench(
    files: OptionalFiles = None,
    *,
    options: BenchmarkOptions,
    pose: StartPose = None,
    ignore_limits: IgnoreLimits = False,
    output: OutputOptions,
    load: LoadOptions,
) -> None:
    """Time models, or run a suite."""
    from linkwork.cli.benchmarks import check_output_paths

    if (options.suite is None) == (not files):
        raise typer.BadParameter("give models to time, or --suite, not both.")
    if options.suite is None and options.only is not None:
        raise typer.BadParameter("--only is for --suite.")
    with report_errors():
        check_output_paths(options.out or ())
    with silence_notices(output.quiet):
        if options.suite is not None:
            _bench_suite(options.suite, options, output.as_json)
        else:
            request = ModelRequest(load, pose, AssemblyOptions(ignore_limits=ignore_limits))
            _bench_files(files or (), request, options, output.as_json)


def _bench_suite(suite: str, options: BenchmarkOptions, as_json: bool) -> None:
    from linkwork.cli.benchmarks import draw_results, run_suite, save_suite

    with report_errors():
        results = run_suite(suite, options.only, options.quick)
        save_suite(suite, results, options.out or ())
    print_result(as_json, results, lambda console: draw_results(console, suite, results))


def _bench_files(files: Sequence[Path], request: ModelRequest, options: BenchmarkOptions, as_json: bool) -> None:
    """Time every file, also after one that failed; exits with 1 if any did."""
    from linkwork.cli.benchmarks import bench_file, draw_times, results_of, save_times

    timings, failed = [], False
    for file in files:
        try:
            with report_errors(file):
                timing = bench_file(file, request, options.method or (), options.quick)
        except typer.Exit:
            failed = True
            continue
        timings.append(timing)
        if not as_json:
            show(partial(draw_times, timing=timing))
    results = results_of(timings)
    with report_errors():
        save_times(results, timings, options.out or ())
    if as_json:
        write_json(results)
    if failed:
        raise typer.Exit(FAILED)


@command(
    "Write a function of a model as C source or WebAssembly.",
    "Write a function of a model as C99: one .c and one .h that need <math.h> alone, arrays in and out, no "
    "allocation, no state between calls. For microcontrollers, other languages, and other programs.",
    "The header says in which order joints stand in q and v, how many operations a call takes, and how much stack. "
    "'step' is one step of the integrator 'euler' (--dt). From Python: linkwork.export.export_c(evaluator, 'name.c').",
    "With --wasm, a module of WebAssembly with a script and types for JavaScript: linkwork.export.export_wasm.",
    examples={
        "linkwork export cassie.xml": "forward dynamics, to cassie_forward_dynamics.c",
        "linkwork export cassie.xml --what mass-matrix --float": "in single precision",
        "linkwork export arm.urdf --what inverse-dynamics --out ctrl/arm_id.c": "to this file",
        "linkwork export arm.urdf --what frame-jacobian --frame tool0": "of a frame",
        "linkwork export cassie.xml --method lcaba --iterations 1": "cheap, and nearly exact",
        "linkwork export cassie.xml --argument multipliers": "with a warm start of the multipliers",
        "linkwork export cassie.xml --what step --wasm": "steps for JavaScript, an npm package",
    },
)
def export(file: File, *, options: ExportOptions, output: OutputOptions, load: LoadOptions) -> None:
    """Write C source or WebAssembly."""
    from linkwork.cli.c_export import draw_export, export_file, export_json

    with silence_notices(output.quiet), report_errors(file):
        program = export_file(file, ModelRequest(load), options)
    print_result(output.as_json, export_json(file, program), lambda console: draw_export(console, program))


@command(
    "Save a model in another format.",
    "Save a model as URDF, MJCF or SDF, loops included: what is written is read back with the same dynamics.",
    "What the new format cannot say is named, and nothing is written; --drop leaves it out. What does not change the "
    "dynamics, such as poses in URDF, is left out with a warning.",
    examples={
        "linkwork convert robot.urdf robot.xml": "to MJCF",
        "linkwork convert cassie.xml cassie.urdf --drop actuators --drop contacts": "without what URDF has not",
        "linkwork convert robot.xml robot.sdf --pose home": "drawn in a pose, where its loops are closed",
    },
)
def convert(file: File, new: NewFile, *, options: ConvertOptions, output: OutputOptions, load: LoadOptions) -> None:
    """Save in another format."""
    with silence_notices(output.quiet), report_errors(file), report_os_errors(new):
        conversion = convert_file(file, new, ModelRequest(load), options)
    print_result(output.as_json, conversion.as_json(), conversion.draw)
