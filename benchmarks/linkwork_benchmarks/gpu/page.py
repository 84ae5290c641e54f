# SPDX-License-Identifier: BSD-3-Clause
"""The page of results, in Markdown. No number of ours on it is written by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from linkwork_benchmarks import report, tables
from linkwork_benchmarks.gpu.scenarios import (
    SCENARIOS,
    Dynamics,
    FirstCalls,
    FirstSteps,
    Gradient,
    Overhead,
    PeerSteps,
    StepGradient,
    Steps,
)
from linkwork_benchmarks.report import Results
from linkwork_benchmarks.scenario import NamedScenario

PAGE = report.REPOSITORY / "docs" / "internals" / "gpu-benchmarks.md"

WHAT = {
    "acceleration": "accelerations alone",
    "solution": "with forces and residuals",
    "converged": "iterations until converged",
}

MOTIONS = {
    "free": "in the air, loops closed, no contacts",
    "standing": "standing, a controller at every step",
    "pushed": "pushed, a controller at every step",
    "dropped": "dropped, a controller at every step",
}

PUBLISHED = (
    ("MuJoCo Warp", "humanoid, 8192 worlds", "RTX PRO 6000 Blackwell", "3.97", "mujoco_warp pull request 1060 (2026)"),
    ("MuJoCo Warp", "three Frankas", "RTX PRO 6000 Blackwell", "8.08", "mujoco_warp pull request 1060 (2026)"),
    ("MuJoCo Warp", "humanoid", "RTX 6000 Ada", "5.7", "published by its authors"),
    ("MuJoCo Warp", "Unitree G1", "RTX 6000 Ada", "2.5", "published by its authors"),
    ("MJX", "humanoid, 131 072 worlds, float64", "H200", "2.90", "mujoco-torch pull request 74 (2026)"),
    ("MJX", "Unitree Go1, 8192 worlds", "", "3.0", "mujoco issue 1389 (2024)"),
)
"""Steps a second, in millions, that others publish."""

S = TypeVar("S", bound=NamedScenario)


def write(results: Results, page: Path | None = None) -> Path:
    """Write the page."""
    sections = (
        _introduction(results),
        _dynamics(results),
        _steps(results),
        _published(results),
        _calls(results),
        tables.notes(results),
    )
    return tables.write_page(page or PAGE, [section for section in sections if section])


def _of(kind: type[S]) -> list[S]:
    return [scenario for scenario in SCENARIOS if isinstance(scenario, kind)]


def _introduction(results: Results) -> str:
    words, versions = results["words"], results["versions"]
    quick = "**Made by a quick run: the times mean nothing.** " if results["quick"] else ""
    return (
        "# GPUs, measured\n\n"
        "Made by `python -m linkwork_benchmarks gpu_page` from the result file of `python -m linkwork_benchmarks gpu`: "
        f"every number on this page but those that others publish. {quick}Run of {results['date'][:10]} on one "
        f"**{words['gpu.name']}**, CUDA {words['gpu.driver']} of the driver, torch {words['gpu.torch']}, Python "
        f"{versions['python']}, llvmlite {versions['llvmlite']}; linkwork at {results['commit'][:10]}"
        f"{' (modified)' if results['modified'] else ''}.{tables.reruns(results)} Times are those of the GPU (events "
        f"around a call), the best of {results['rounds']}. How to run there: [GPUs](../how-to/gpu.md). "
        "Robots of any size, beside MuJoCo Warp: [Any robot on a GPU](gpu-any-robot.md)."
    )


def _dynamics(results: Results) -> str:
    metrics, rows = results["metrics"], []
    for s in _of(Dynamics):
        if f"{s.name}.us" not in metrics:
            continue
        rates = [f"{metrics[f'{s.name}.{kind}states_per_s'] / 1e6:.0f}" for kind in ("", "row_major.")]
        error = f"{metrics[f'{s.name}.error']:.1e}"
        if s.dtype == "float32":
            error += f" ({metrics[f'{s.name}.cpu_float32_error']:.1e})"
        iterations = metrics.get(f"{s.name}.iterations")
        rows.append(
            [
                f"{s.robot.capitalize()}, `{s.method}`, {WHAT[s.what]}",
                s.dtype,
                tables.whole(metrics[f"{s.name}.operations"]),
                "1" if iterations is None else f"{iterations:.0f}",
                *rates,
                f"{1e3 * metrics[f'{s.name}.us']:.2f}",
                f"{100 * metrics[f'{s.name}.peak']:.1f} %",
                error,
                "yes" if metrics[f"{s.name}.repeats"] else "no",
            ]
        )
    titles = (
        "program",
        "numbers",
        "operations",
        "iterations",
        "M states/s",
        "row-major",
        "ns a state",
        "of the peak",
        "error",
        "same bits",
    )
    text = (
        f"Forward dynamics of {tables.whole(1 << 20)} states whose arrays are on the GPU: number-major, and row-major "
        "(`(states, numbers)` in C order). *Operations* are those of one iteration's program for the inputs that are "
        "given and the results that are asked for. *Of the peak*: operations over what the GPU does if all are fused "
        "multiplications and additions. *Error*: largest difference to float64 on the CPU, over the largest "
        "acceleration (in brackets: that of float32 on the CPU). *Same bits*: whether a second run gives the same. "
        "`cluster` is exact; one iteration of `prox_bbo` leaves what the error of float32 shows, two meet the "
        "tolerance of 1e-10."
    )
    return f"## Forward dynamics\n\n{text}\n\n{tables.table(titles, rows)}"


def _steps(results: Results) -> str:
    metrics, rows = results["metrics"], []
    for s in _of(Steps):
        if f"{s.name}.steps_per_s" not in metrics:
            continue
        error = f"{metrics[f'{s.name}.error']:.1e}" if f"{s.name}.error" in metrics else "–"
        if s.dtype == "float32" and f"{s.name}.cpu_float32_error" in metrics:
            error += f" ({metrics[f'{s.name}.cpu_float32_error']:.1e})"
        rows.append(
            [
                f"Cassie, {MOTIONS[s.motion]}",
                s.dtype,
                tables.whole(s.robots),
                str(s.steps),
                f"{metrics[f'{s.name}.steps_per_s'] / 1e6:.1f}",
                error,
                f"{metrics[f'{s.name}.lost']:.0f}",
            ]
        )
    if not rows:
        return ""
    text = (
        "Semi-implicit Euler steps of 1 ms of Cassie with its loops (`lw.Simulation`), all steps of a row in one "
        "launch. All robots start from states of their own, but for those that stand. Contacts are solved by Newton's "
        "method to the residuals that the type of numbers has; robots need one iteration or fifty, and of few robots "
        "the last ones are waited for. *Error*: of a coordinate after 20 steps, largest difference to float64 on the "
        "CPU (in brackets: that of float32 on the CPU). *Lost* are robots whose numbers are not finite at the end."
    )
    titles = ("motion", "numbers", "robots", "steps", "M steps/s", "error", "lost")
    return f"## Steps\n\n{text}\n\n{tables.table(titles, rows)}"


def _published(results: Results) -> str:
    rows = [[f"{who}, {what}", gpu or "–", rate, where] for who, what, gpu, rate, where in PUBLISHED]
    for s in _of(PeerSteps):
        if f"{s.name}.steps_per_s" in results["metrics"]:
            words = results["words"]
            what = f"Cassie's file, contacts on, {tables.whole(s.worlds)} worlds, {s.iterations} iterations, float32"
            rate = f"{results['metrics'][f'{s.name}.steps_per_s'] / 1e6:.2f}"
            where = f"measured here, a scan of {s.steps} steps"
            rows.append([f"MJX {words['gpu.mjx']}, {what}", words["gpu.name"].removeprefix("NVIDIA "), rate, where])
    text = (
        "For comparison, and **not the same work**: other robots but where Cassie's file is named, contacts of many "
        "pairs of shapes found anew in every step, soft constraints, a solver that stops after a few iterations, other "
        "time steps. Loops of MuJoCo's models are soft equality constraints; those here are closed to the tolerance."
    )
    return f"## What others reach\n\n{text}\n\n{tables.table(('what', 'GPU', 'M steps/s', 'source'), rows)}"


def _calls(results: Results) -> str:
    metrics, facts = results["metrics"], []
    first = _of(FirstCalls)[0]
    for robot, method, dtype in first.robots:
        if f"{first.name}.{robot}.cold.s" in metrics:
            cold, cached = (metrics[f"{first.name}.{robot}.{kind}.s"] for kind in ("cold", "cached"))
            facts.append(
                f"First call, {robot.capitalize()}, `{method}`, {dtype}: {cold:.1f} s with nothing on disk, "
                f"{cached:.2f} s with the machine code there (plans included, import and reading the file not)."
            )
    name = _of(Overhead)[0].name
    if f"{name}.evaluator.tree.us" in metrics:
        each = {kind: metrics[f"{name}.{kind}.us"] for kind in ("evaluator.tree", "evaluator.loop", "function.tree")}
        facts.append(
            f"Host time of a call with torch's tensors: {each['evaluator.tree']:.1f} µs for a tree, "
            f"{each['evaluator.loop']:.1f} µs for a robot with loops, {each['function.tree']:.1f} µs through "
            f"`lw.torch.function`; torch's own addition takes {metrics[f'{name}.torch_add.us']:.1f} µs there."
        )
    for s in _of(FirstSteps):
        if f"{s.name}.cold.s" in metrics:
            cold, cached = (metrics[f"{s.name}.{kind}.s"] for kind in ("cold", "cached"))
            facts.append(
                f"First step, Cassie on the ground with a controller, {s.dtype}: {cold:.1f} s with nothing on disk, "
                f"{cached:.2f} s with the machine code there."
            )
    gradients: list[Gradient | StepGradient] = [*_of(Gradient), *_of(StepGradient)]
    facts += [fact for g in gradients if f"{g.name}.both.s" in metrics for fact in _gradient(g, metrics)]
    return "## Calls\n\n" + "\n".join(f"- {fact}" for fact in facts) if facts else ""


def _gradient(scenario: Gradient | StepGradient, metrics: dict[str, float]) -> list[str]:
    name = scenario.name
    forward, both = metrics[f"{name}.forward.s"], metrics[f"{name}.both.s"]
    what = "Cassie's dynamics" if isinstance(scenario, Gradient) else "Steps of Cassie on the ground, pushed,"
    said = (
        f"{what} in torch, {tables.whole(scenario.states)} states, {scenario.dtype}, calls in a row: "
        f"forward {1e3 * forward:.3f} ms, forward and backward {1e3 * both:.3f} ms, {both / forward:.1f} times as long"
    )
    if f"{name}.both.alone.s" not in metrics:
        return [f"{said}."]
    forward, both = metrics[f"{name}.forward.alone.s"], metrics[f"{name}.both.alone.s"]
    host = metrics[f"{name}.both.host.us"]
    return [
        f"{said}; one call at a time, the GPU waited for, {1e3 * forward:.3f} ms and {1e3 * both:.3f} ms, "
        f"{both / forward:.1f} times: there the GPU waits for autograd, which takes {host:.0f} µs of the host."
    ]
