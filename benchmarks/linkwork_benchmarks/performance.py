# SPDX-License-Identifier: BSD-3-Clause
"""Result files to docs/internals/performance.md, one page about speed: what is fast, what is not, which backend to use.

No number on it is written by hand. A study whose result file is missing has no section.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from linkwork.compilers.run import SHARE
from linkwork_benchmarks import report, tables
from linkwork_benchmarks.clusters import orders
from linkwork_benchmarks.constrained import bars, series
from linkwork_benchmarks.constrained import page as constrained
from linkwork_benchmarks.constrained.page_systems import STAND_IN
from linkwork_benchmarks.delassus import bars as delassus
from linkwork_benchmarks.delassus import disturbed
from linkwork_benchmarks.quantities import page as quantities
from linkwork_benchmarks.scenarios import BATCH

PAGE = report.REPOSITORY / "docs" / "internals" / "performance.md"
DETAILS = {
    "trees": "this page",
    "constrained": "[benchmarks.md](benchmarks.md)",
    "clusters": "[clusters-benchmarks.md](clusters-benchmarks.md)",
    "delassus": "[delassus-benchmarks.md](delassus-benchmarks.md)",
    "simulation": "[Motion in time](simulation-benchmarks.md)",
    "quantities": "this page",
}
"""Studies, and where all their numbers are."""

Results = Mapping[str, Any]
Metrics = Mapping[str, float]


def write(results_folder: Path = report.RESULTS.parent, out: Path = PAGE) -> Path:
    """Write the page from the result files in a folder."""
    files = {name: results_folder / f"{name}.json" for name in DETAILS}
    found = {name: report.read(file) for name, file in files.items() if file.exists()}
    sections = (
        _introduction(),
        _circumstances(found),
        _trees(found.get("trees")),
        quantities.section(found.get("quantities")),
        _constrained(found.get("constrained")),
        _clusters(found.get("clusters")),
        _delassus(found.get("delassus")),
        disturbed.sentence(found["delassus"]["metrics"]) if "delassus" in found else "",
        _simulation(found.get("simulation")),
        _ways(found.get("trees")),
        _tips(),
        _slower(found),
    )
    return tables.write_page(out, sections)


def _introduction() -> str:
    return (
        "# Performance\n\n"
        "Made from the result files of the benchmarks, `benchmarks/linkwork_benchmarks/results/*.json`, by "
        "`linkwork_benchmarks.performance.write`: every number on this page, and every sentence that says who is "
        "faster. Numbers with all their systems, sizes and notes are on the pages that sections link to.\n\n"
        "## How to read it\n\n"
        "- Times are **microseconds for one state**, called from Python, on one thread, contenders taking turns in one "
        "process, the best of many rounds. Ratios are from the same process: *2×* is twice as fast.\n"
        "- **native**: `fd(q, v, tau)`; code for all robots, nothing to compile for yours.\n"
        "- **specialized**: `fd.compile()(q, v, tau)`; a straight-line program made for one robot.\n"
        "- **bound**: the same program through `fd.compile().bind(q, v, tau, out=...)`: no arguments to look at, "
        "nothing to allocate.\n"
        f"- **batch**: {BATCH} states a call of that program, a state's share; states share SIMD lanes.\n"
        "- **Operations** are exact counts of + - * / sqrt sincos in the program: no clock, no noise.\n"
        "- Before anything is timed, answers are compared. Where a peer's are off, the detailed pages say so, and by "
        "how much."
    )


def _circumstances(found: Mapping[str, Results]) -> str:
    rows = []
    for name, results in found.items():
        machine, versions = results["machine"], results["versions"]
        peers = ", ".join(
            f"{title} {versions[key]}"
            for key, title in (("pin", "Pinocchio"), ("mujoco", "MuJoCo"))
            if versions.get(key)
        )
        ours = f"{results['commit'][:10]}{' (modified)' if results['modified'] else ''}"
        rows.append(
            (
                name,
                results["date"][:10],
                f"{machine['cores']} cores of {machine['cpu']}",
                f"Python {versions['python']}, NumPy {versions['numpy']}, llvmlite {versions['llvmlite']}",
                peers,
                ours,
                f"{results['rounds']}" if "rounds" in results else "–",
                DETAILS[name],
            )
        )
    titles = ("study", "date", "machine", "Python", "peers", "linkwork at", "rounds", "all numbers")
    return f"## What was measured, and where\n\n{_left(titles, rows)}"


def _left(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of words."""
    lines = [f"| {' | '.join(titles)} |", "|" + "---|" * len(titles)]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows])


# Headlines ---------------------------------------------------------------------------------------------------


def _trees(results: Results | None) -> str:
    return "" if results is None else f"## Robots without loops\n\n{report.tables(dict(results))}"


def _constrained(results: Results | None) -> str:
    if results is None:
        return ""
    metrics = results["metrics"]
    systems = bars.judged(metrics)
    lines = "\n".join(f"- {bars.verdict(results, systems, 1, bar)}" for bar in bars.BARS)
    return (
        "## Constrained systems\n\n"
        "One proximal iteration, the method that `auto` takes but for native code; in brackets times faster than the "
        "faster of `pin.lcaba` and `pin.constraintDynamics`. More, with three iterations, growth with size and "
        f"convergence: {DETAILS['constrained']}.\n\n"
        f"{constrained.summary(results)}\n\n{STAND_IN}\n\n{lines}\n\n{_growth(metrics)}"
    )


def _growth(metrics: Metrics) -> str:
    methods = ("lcaba", "prox_bbo", "prox_ltl", "pv", "pv_early", "pv_soft")
    families = [f for f in series.names(metrics, "growth", 1) if any(_power(metrics, f, m) for m in methods)]
    rows = [(tables.words(f), *(tables.power(_power(metrics, f, m)) for m in methods)) for f in families]
    title = "Powers of n that fit native times from 50 to 500 links best (1 is linear):"
    return f"{title}\n\n{tables.table(('family', *(f'`{m}`' for m in methods)), rows)}"


def _power(metrics: Metrics, family: str, method: str) -> float | None:
    return series.exponent(series.growth(metrics, family, method, "native.us"))


def _clusters(results: Results | None) -> str:
    if results is None:
        return ""
    metrics, rows = results["metrics"], []
    for system in orders.systems(metrics):
        start = f"systems.{system}.forward"
        cells = [tables.whole(metrics.get(f"{start}.{m}.operations")) for m in ("cluster", "projection", "ltl")]
        cells.append(tables.time(metrics.get(f"{start}.pinocchio.aba.us")))
        for backend in ("native", "specialized", "bound", "batch"):
            us, ratio = metrics.get(f"{start}.cluster.{backend}.us"), orders.against_pinocchio(metrics, system, backend)
            cells.append(tables.time(us) + ("" if ratio is None else f" ({ratio:.1f}×)"))
        rows.append((f"{system} ({metrics[f'systems.{system}.nv']:.0f})", *cells))
    titles = (
        "system (velocities)",
        "operations, `cluster`",
        "`projection`",
        "`ltl`",
        "`pin.aba`, no rotors",
        "native",
        "specialized",
        "bound",
        "batch",
    )
    return (
        "## Gears, belts and differentials\n\n"
        "Forward dynamics by clusters (C-ABA), **with** rotors; in brackets times faster than `pin.aba` on the tree "
        f"**without** them, which is less work. Inverse dynamics and end effectors: {DETAILS['clusters']}.\n\n"
        f"{tables.table(titles, rows)}"
    )


def _delassus(results: Results | None) -> str:
    if results is None:
        return ""
    metrics, rows = results["metrics"], []
    for row in delassus.rows(metrics):
        cells = []
        for quantity in ("product", "inverse"):
            peer = delassus.fastest(metrics, row, quantity)
            cells.append("–" if peer is None else tables.time(peer[1]))
            for backend in ("native", "batch"):
                us, ratio = (
                    delassus.ours(metrics, row, f"{quantity}.{backend}"),
                    delassus.ratio(metrics, row, quantity, backend),
                )
                cells.append(tables.time(us) + ("" if ratio is None else f" ({delassus.times(ratio)}×)"))
        size = f"{metrics[f'table.{row}.nv']:.0f}, {metrics[f'table.{row}.rows']:.0f}"
        rows.append((f"{row} ({size})", *cells))
    titles = (
        "robot (velocities, rows)",
        "`D f`: by a matrix",
        "native",
        "batch",
        "`(D + R)⁻¹ a`: by a matrix",
        "native",
        "batch",
    )
    return (
        "## The Delassus operator\n\n"
        "A configuration and one vector, no matrix made; in brackets times faster than the best of all routes by a "
        "matrix that give right numbers, linkwork's own, Pinocchio's and LAPACK's. Each of them, further vectors and "
        f"memory: {DETAILS['delassus']}.\n\n{tables.table(titles, rows)}"
    )


def _simulation(results: Results | None) -> str:
    """Steps of whole robots beside MuJoCo's."""
    if results is None:
        return ""
    metrics: Metrics = results["metrics"]
    robots = [name.split(".")[1] for name in metrics if name.startswith("speed.") and name.endswith(".ratio")]
    rows = [
        (
            robot,
            *(tables.time(metrics[f"speed.{robot}.us.{backend}"]) for backend in ("native", "specialized", "batch")),
            tables.time(min(metrics[f"speed.{robot}.us.{backend}"] for backend in ("mj_step", "mujoco.rollout"))),
            f"{metrics[f'speed.{robot}.ratio']:.1f}×",
        )
        for robot in robots
    ]
    titles = ("robot", "native", "specialized", "batch", "MuJoCo, contacts off", "batch beside MuJoCo")
    return (
        "## Motion in time\n\n"
        "Microseconds for a step of a robot with its loops, semi-implicit Euler. What is conserved, and where the "
        f"motion of peers leads: {DETAILS['simulation']}.\n\n{tables.table(titles, rows)}"
    )


# Which backend ---------------------------------------------------------------------------------------------------


def _ways(results: Results | None) -> str:
    if results is None:
        return ""
    metrics: Metrics = results["metrics"]
    backends = {
        "native": "native.single",
        "specialized": "specialized.single",
        "bound": "specialized.bound",
        "native batch": f"native.batch{BATCH}.float64",
        "batch": f"specialized.batch{BATCH}.float64",
        "batch, float32": f"specialized.batch{BATCH}.float32",
    }
    robots = [name.split(".")[0] for name in metrics if name.endswith(".forward_dynamics.native.single.us")]
    rows = []
    for robot in (r for r in robots if f"{r}.forward_dynamics.specialized.bound.us" in metrics):
        start = f"{robot}.forward_dynamics"
        native = metrics[f"{start}.native.single.us"]
        cells = [metrics.get(f"{start}.{backend}.us") for backend in backends.values()]
        faster = ["" if us in (None, native) else f" ({native / us:.1f}×)" for us in cells]
        rows.append((robot, *(tables.time(us) + more for us, more in zip(cells, faster, strict=True))))
    return (
        "## Which backend pays off\n\nForward dynamics of trees; in brackets times faster than native code.\n\n"
        f"{tables.table(('robot', *backends), rows)}\n\n{_when(metrics)}"
    )


def _when(metrics: Metrics) -> str:
    """Sentences: from when on it is worth compiling, what a call costs, threads, precision."""
    backends = ["native.single", "specialized.single", "specialized.bound"]
    backends += [f"native.batch{BATCH}.float64", f"specialized.batch{BATCH}.float64"]
    names = [*(f"talos.forward_dynamics.{backend}.us" for backend in backends), "talos.startup.cold.compile.s"]
    if any(name not in metrics for name in names):
        return ""  # a run of some scenarios alone
    native, single, bound, lanes, wide, compile_s = (metrics[name] for name in names)
    speedups = [f"{n.split('.')[0]} {x:.2f}" for n, x in metrics.items() if n.endswith(".speedup")]
    off = {n.split(".")[0]: x for n, x in metrics.items() if n.endswith(f"specialized.batch{BATCH}.float32.error")}
    worst = max(off, key=lambda robot: off[robot])
    return "\n".join(
        (
            f"- **Native** needs nothing: {metrics['talos.startup.cold.native.s']:.1f} s once a machine for all "
            "robots, then it is loaded from the cache. For scripts, and for robots that change. Batches run in SIMD "
            f"lanes: {native / lanes:.1f} times the rate of single calls on one thread.",
            f"- **Specialized**: Talos takes {compile_s:.1f} s to trace and compile, once; a later process has it "
            f"{metrics['talos.startup.warm.ready.s']:.2f} s after import. A call then saves {native - single:.1f} µs: "
            f"it has paid for itself after {_rounded(compile_s * 1e6 / (native - single))} single calls, or "
            f"{_rounded(compile_s * 1e6 / (lanes - wide))} states in batches.",
            f"- **Bound**: of the {single:.2f} µs of a call, {single - bound:.2f} µs are Python's and the new array's; "
            "the smaller the robot, the more of it.",
            f"- **Batch**: {lanes / wide:.1f} times the rate of native batches on one thread.",
            f"- **float32**: twice the lanes. Accelerations are off by {min(off.values()):.0e} to {off[worst]:.0e} of "
            f"the largest ({worst}). Proximal methods want a damping and a tolerance of 1e-3 "
            "([methods.md](../reference/methods.md#regularization)).",
            f"- **Threads** share batches of {2 * SHARE} states and more, {SHARE} at a time at least. Two threads: "
            f"{', '.join(speedups)} times the rate of one.",
        )
    )


def _rounded(value: float) -> str:
    """A count to two digits."""
    return tables.whole(float(f"{value:.2g}"))


def _tips() -> str:
    many = 2 * SHARE
    return f"""## Tips

```python
import numpy as np
import linkwork as lw

robot = lw.zoo.four_bar()
fd = lw.ForwardDynamics(robot, max_iterations=3)   # make it once: plans and entry points are in it
fast = fd.compile()                                # once a robot; kept on disk
q, v, tau = robot.poses["assembled"], np.zeros(robot.nv), np.zeros(robot.nv)

a, result = np.zeros(robot.nv), np.zeros(4 + 2 * robot.nc)
step = fast.bind(q, v, tau, out=(a, result))       # a control loop: arrays looked at once
step()                                             # reads q, v, tau as they are now

many = {many}
states = np.tile(q, (many, 1))                     # many states: one call, rows of a C-contiguous array
out = np.empty((many, robot.nv))
fast(states, v, tau, out=out)                      # v and tau are shared; nothing large is allocated
single = fd.compile(dtype="float32")               # half the memory, twice the lanes
```

- **Make evaluators once.** `lw.ForwardDynamics(robot)` plans; calling it does not.
- **Batches** of C-contiguous arrays of the program's own type (float64, or float32 for a float32 program) go in as they
  are; others are copied first. One call with {many} states or more uses threads, `threads=1` none.
- **Fewer iterations**: `max_iterations=1` where soft rows will do; the program then has no further
  iterations and is smaller. Start from the multipliers of the state before (`multipliers=`) where the regularization
  is large.
- **Counts before clocks**: `lw.methods.method_costs(robot)` says which method needs what, without running anything.
- **The cache** is in the user's cache folder, or where `LINKWORK_CACHE_DIR` says. Put it into images and onto shared
  disks: files are named by everything they depend on, written aside and moved into place. `linkwork warm` compiles all
  native code at once.
- **Whole rollouts** (`lw.simulate`, `lw.rollouts`, `lw.Stepper`) stay in machine code between states that are kept: let
  `record_every` and `control_every` be large."""


# Where it is slower --------------------------------------------------------------------------------------------


def _slower(found: Mapping[str, Results]) -> str:
    """What results show against us, each sentence from the numbers."""
    parts = []
    if "trees" in found:
        parts += _slower_trees(found["trees"]["metrics"])
    if "quantities" in found:
        parts += quantities.slower(found["quantities"]["metrics"])
    if "constrained" in found:
        parts += _slower_constrained(found["constrained"])
    if "clusters" in found:
        parts += _slower_clusters(found["clusters"]["metrics"])
    if "delassus" in found:
        parts += _slower_delassus(found["delassus"])
    lines = "\n".join(f"- {part}" for part in parts)
    return f"## Where linkwork is not faster\n\n{lines}" if lines else ""


def _slower_trees(metrics: Metrics) -> list[str]:
    lines = []
    for name, ratio in metrics.items():
        robot, quantity, *backend = name.split(".")
        if backend[-1:] == ["ratio"] and backend[0] in ("native", "specialized") and ratio < 1:
            lines.append(f"{tables.words(quantity)} of {robot}, {backend[0]}: {ratio:.2f} times as fast as Pinocchio.")
    refused = [name.split(".")[0] for name in metrics if name.endswith(".refused")]
    lines += [f"{robot} is too large for a program of its own: native code only." for robot in refused]
    cold = metrics.get("talos.startup.cold.native.s")
    if cold is not None:
        lines.append(
            f"The first call of an algorithm on a new machine compiles native code ({cold:.0f} s for Talos' forward "
            "dynamics); the peers are compiled already."
        )
    return lines


def _slower_constrained(results: Results) -> list[str]:
    metrics = results["metrics"]
    systems = bars.judged(metrics)
    verdicts = [bars.verdict(results, systems, n, bar) for n in (1, 3) for bar in bars.BARS]
    lines = [f"Bar of constrained dynamics: {v}" for v in verdicts if "**missed**" in v]
    for family, methods in bars.LINEAR.items():
        for method in methods:
            power = _power(metrics, family, method)
            if power is not None and power > bars.EXPONENT:
                grows = f"`{method}` on the {tables.words(family)} grows as n^{power:.2f}"
                lines.append(f"{grows}, above {bars.EXPONENT:g}.")
    hidden = [
        f"{s.partition('.')[2]} (`{m}`)"
        for s in systems
        for m in ("prox_bbo", "prox_ltl")
        if f"{s}.1.{m}.native.us" in metrics and f"{s}.1.{m}.specialized.us" not in metrics
    ]
    if hidden:
        lines.append(f"Programs too large to be compiled there: {', '.join(hidden)}.")
    return lines


def _slower_clusters(metrics: Metrics) -> list[str]:
    lines = []
    slow = {s: r for s in orders.systems(metrics) if (r := orders.against_pinocchio(metrics, s, "native") or 1.0) < 1}
    if slow:
        shown = ", ".join(f"{s} {r:.2f}" for s, r in slow.items())
        lines.append(f"Native C-ABA with rotors against `pin.aba` without, times as fast: {shown}.")
    for quantity, methods in orders.SLOWER.items():
        verdicts = [orders.verdict(metrics, quantity, m, measure) for m in methods for measure in orders.MEASURES]
        lines += [v for v in verdicts if "**fails**" in v]
    return lines


def _slower_delassus(results: Results) -> list[str]:
    metrics, lines = results["metrics"], []
    for what, words in (("product", "A product"), ("inverse", "The damped inverse")):
        ratios = {row: delassus.further_ratio(metrics, row, what) for row in delassus.rows(metrics)}
        slow = [f"{row} {r:.2f}" for row, r in ratios.items() if r is not None and r < 1]
        if slow:
            lines.append(
                f"{words} at a configuration where a matrix or factor is there already, times as fast as with it: "
                f"{', '.join(slow)}."
            )
    lines += [f"Delassus: {note}." for note in results.get("notes", ()) if "not specialized" in note]
    return lines
