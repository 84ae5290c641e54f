# SPDX-License-Identifier: BSD-3-Clause
"""The table of README.md, from result files: linkwork beside MuJoCo and Pinocchio, on their scenes."""

from __future__ import annotations

from linkwork_benchmarks import report, suites, tables
from linkwork_benchmarks.constrained import bars
from linkwork_benchmarks.report import Results
from linkwork_benchmarks.scenarios import BATCH

NAME = "peers"
"""Of the markers in README.md."""
STEPS = {
    "humanoid falls": "a step of MuJoCo's humanoid, falling on the ground",
    "g1 falls": "a step of Menagerie's Unitree G1, all its shapes, falling",
}
SYSTEMS = {
    "Cassie": ("forward dynamics of Cassie, its loops closed", "gpu.cassie.cluster.solution"),
    "Talos (2F)": ("forward dynamics of Talos, both feet held", None),
}
"""What is computed, and the same in the study of GPUs."""
PEERS = {"mujoco": "MuJoCo", "pin": "Pinocchio"}


def table() -> str:
    """Microseconds a state: one state, a batch on one core, a GPU, beside the fastest peer, and where they are from."""
    scenes, constrained = (report.read(suites.results_of(name)) for name in ("scene_files", "constrained"))
    rows = [*_steps(scenes), *_systems(constrained)]
    titles = ("µs a state, and how many times faster", "peer", "linkwork", "a batch on one core", "an H200")
    words = (
        f"One thread, CPU time, called from Python, contenders in turn; batches of {BATCH} states, forward dynamics",
        "by `compile()`; float64. Contacts of MuJoCo are soft, those of linkwork exact. linkwork compiles for the",
        "instruction set of the machine, peers are their wheels from PyPI. Steps:",
        f"{_machine(scenes, 'mujoco')}; forward dynamics: {_machine(constrained, 'pin')}.",
        *_honest(constrained),
    )
    return "\n".join([tables.table(titles, rows), "", *words])


def _honest(results: Results) -> list[str]:
    """Qualifications of the ratios of forward dynamics: instruction sets, and errors of peers."""
    span, off = bars.baseline_span(results["metrics"]), bars.peers_off(results)
    lines = [f"With the instruction set of Pinocchio's wheel, native `lcaba` is {span} times as fast as Pinocchio."]
    return [*(lines if span else []), *([f"Pinocchio is the faster of two solvers; {off}."] if off else [])]


def _machine(results: Results, peer: str) -> str:
    cpu = results["machine"]["cpu"].replace("(R)", "")
    return f"{results['date'][:10]}, {cpu}, {PEERS[peer]} {results['versions'][peer]}"


def _cell(mine: float | None, peer: float | None) -> str:
    if mine is None or peer is None:
        return tables.time(mine)
    ratio = peer / mine
    return f"{tables.time(mine)} ({ratio:.1f}×)" if ratio < 100 else f"{tables.time(mine)} ({ratio:.0f}×)"


def _steps(results: Results) -> list[tuple[str, ...]]:
    rows = []
    for scene, what in STEPS.items():
        peer, *mine = (
            results["metrics"].get(f"scenes.{scene}.{key}") for key in ("us.mj_step", "us.native", "batch.float64.us")
        )
        rows.append((what, f"`mj_step` {tables.time(peer)}", *(_cell(us, peer) for us in mine), "–"))
    return rows


def _systems(results: Results) -> list[tuple[str, ...]]:
    rows = []
    for system in bars.judged(results["metrics"]):
        if (known := SYSTEMS.get(system.partition(".")[2])) is None:
            continue
        what, there = known
        peer = bars.fastest(results, system, 1, bars.PINOCCHIO)
        mine = (bars.time(results, system, 1, f"auto.{backend}") for backend in ("native", "batch"))
        on_gpu = report.gpu_metric(f"{there}.float64.us") if there else None
        rows.append((what, f"Pinocchio {tables.time(peer)}", *(_cell(us, peer) for us in mine), _cell(on_gpu, peer)))
    return rows
