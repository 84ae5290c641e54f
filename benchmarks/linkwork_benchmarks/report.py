# SPDX-License-Identifier: BSD-3-Clause
"""Result files, and the tables made from them."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from linkwork_benchmarks.reflow import reflowed
from linkwork_benchmarks.scenarios import BATCH, SCENARIOS, Timing

REPOSITORY = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).resolve().parent / "results" / "trees.json"
README = REPOSITORY / "README.md"
Results = Mapping[str, Any]
"""What a result file holds."""
PACKAGES = ("linkwork", "numpy", "llvmlite", "pin", "mujoco", "example-robot-data")


COMMIT = "LINKWORK_COMMIT"
"""The environment variable that has the commit where the repository itself is not: on a machine that was sent a copy of
its files. `git describe --always --abbrev=40 --dirty`, run before they are sent, writes it."""


def circumstances() -> dict[str, Any]:
    """Machine, versions, commit and date."""
    commit, modified = _commit()
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit,
        "modified": modified,
        "machine": {
            "cpu": _cpu(),
            "cores": os.cpu_count(),
            "instructions": _instructions(),
            "system": platform.platform(),
        },
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
    }


def _commit() -> tuple[str, bool]:
    """The commit, and whether files were changed since."""
    told = os.environ.get(COMMIT, "")
    if told:
        return told.removesuffix("-dirty"), told.endswith("-dirty")
    return _git("rev-parse", "HEAD"), bool(_git("status", "--porcelain", "--", "src/linkwork"))


def _git(*words: str) -> str:
    try:
        done = subprocess.run(["git", *words], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


INSTRUCTIONS = ("sse4_2", "avx", "fma", "avx2", "avx512f")
"""Instruction sets that times depend on, by the names that the kernel has for them."""


def _instructions() -> list[str]:
    """Those of `INSTRUCTIONS` that the processor has; none where the system does not tell."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return []
    flags = next((line.split(":", 1)[1].split() for line in lines if line.startswith("flags")), [])
    return [name for name in INSTRUCTIONS if name in flags]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


# Tables -------------------------------------------------------------------------------------------

COLUMNS = {
    "`pin.aba`": "pinocchio.single",
    "`pin.aba` WORLD": "pinocchio_world.single",
    "`mj_forward`": "mujoco.single",
    "native": "native.single",
    "specialized": "specialized.single",
    "bound": "specialized.bound",
    "native batch": f"native.batch{BATCH}.float64",
    "batch": f"specialized.batch{BATCH}.float64",
    "batch float32": f"specialized.batch{BATCH}.float32",
    "GPU": "gpu",
}
"""Columns of the table of forward dynamics, and the metrics they show."""

OTHER_COLUMNS = {
    "Pinocchio": "pinocchio.single",
    "native": "native.single",
    "specialized": "specialized.single",
    "bound": "specialized.bound",
    "native batch": f"native.batch{BATCH}.float64",
    "batch": f"specialized.batch{BATCH}.float64",
}

OURS = ("native", "specialized")


def tables(results: dict[str, Any]) -> str:
    """Markdown: forward dynamics of every robot, other quantities, and what compiling costs."""
    metrics: dict[str, float] = dict(results["metrics"])
    on_gpu = gpu_metric("gpu.talos.aba.acceleration.float64.us")
    if on_gpu is not None:
        metrics["talos.forward_dynamics.gpu.us"] = on_gpu
    timings = [s for s in SCENARIOS if isinstance(s, Timing) and f"{s.name}.dof" in metrics]
    forward = [s for s in timings if s.quantity == "forward_dynamics"]
    others = [s for s in timings if s.quantity != "forward_dynamics"]
    blocks = []
    if forward:
        blocks += [
            "Forward dynamics, microseconds per evaluation, called from Python, one thread "
            "(in brackets: times faster than `pin.aba`):",
            _table("robot (DoF)", COLUMNS, [(_robot(s, metrics), s.name) for s in forward], metrics),
        ]
    if others:
        blocks += [
            "Other quantities (`pin.rnea`, `pin.crba`):",
            _table("", OTHER_COLUMNS, [(f"{s.robot}, {_words(s.quantity)}", s.name) for s in others], metrics),
        ]
    if facts := _facts(metrics):
        blocks.append("\n".join(f"- {fact}" for fact in facts))
    blocks.append(_where(results))
    return "\n\n".join(blocks)


def _table(corner: str, columns: dict[str, str], rows: list[tuple[str, str]], metrics: dict[str, float]) -> str:
    shown = {
        title: backend
        for title, backend in columns.items()
        if any(f"{name}.{backend}.us" in metrics for _, name in rows)
    }
    lines = [f"| {corner} | operations | {' | '.join(shown)} |", "|---|" + "---:|" * (len(shown) + 1)]
    for label, name in rows:
        count = metrics.get(f"{name}.operations")
        cells = [_cell(metrics, f"{name}.{backend}") for backend in shown.values()]
        lines.append(
            f"| {label} | {'' if count is None else f'{count:,.0f}'.replace(',', ' ')} | {' | '.join(cells)} |"
        )
    return "\n".join(lines)


def _cell(metrics: dict[str, float], name: str) -> str:
    us, ratio = metrics.get(f"{name}.us"), metrics.get(f"{name}.ratio")
    if us is None:
        return "–"
    bracket = (
        f" ({ratio:.{1 if ratio >= 1 else 2}f}×)"
        if ratio is not None and any(f".{backend}." in name for backend in OURS)
        else ""
    )
    return f"{us:.3g}{bracket}"


def _robot(scenario: Timing, metrics: dict[str, float]) -> str:
    return f"{scenario.robot} ({metrics[f'{scenario.name}.dof']:.0f})"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _facts(metrics: dict[str, float]) -> list[str]:
    facts = []
    for name, speedup in metrics.items():
        if name.endswith(".speedup"):
            robot, _, batch, _ = name.split(".")
            states = batch.removeprefix("batch")
            facts.append(f"{robot}, {states} states: two threads sustain {speedup:.2f} times the rate of one.")
    if "talos.startup.cold.compile.s" in metrics:
        facts.append(
            f"Talos, first time: trace and compile {metrics['talos.startup.cold.compile.s']:.1f} s; native code "
            f"{metrics['talos.startup.cold.native.s']:.1f} s, once a machine for all robots. A later process has the "
            f"compiled program {metrics['talos.startup.warm.ready.s']:.2f} s after `import linkwork` and reading the "
            f"file ({metrics['talos.startup.warm.load.s']:.2f} s)."
        )
    per_link = {
        int(n.split(".")[0].removeprefix("chain")): x
        for n, x in metrics.items()
        if n.endswith(".forward_dynamics.native.single.us_per_link")
    }
    if per_link:
        each = ", ".join(f"{1000 * x:.0f} ns a link at {links} links" for links, x in sorted(per_link.items()))
        facts.append(f"Serial chains, native: {each}.")
    return facts


def _where(results: dict[str, Any]) -> str:
    machine, versions = results["machine"], results["versions"]
    peers = ", ".join(
        f"{title} {versions[key]}" for key, title in (("pin", "Pinocchio"), ("mujoco", "MuJoCo")) if versions.get(key)
    )
    return (
        f"Measured on {machine['cores']} cores of {machine['cpu']}, Python {versions['python']}, "
        f"NumPy {versions['numpy']}, llvmlite {versions['llvmlite']}{', ' + peers if peers else ''}; linkwork at "
        f"{results['commit'][:10]}{' (modified)' if results['modified'] else ''}, {results['date'][:10]}. "
        f"Best of {results['rounds']} rounds, contenders interleaved in one process. *native*, *specialized*: "
        "`fd(q, v, tau)` and `fd.compile()(q, v, tau)`, a state a call, arguments checked; *bound*: `bind`; "
        f"*native batch*, *batch*: {BATCH} states a call of these. `WORLD` is Pinocchio's other convention. "
        "MuJoCo's figure is its whole pipeline without contacts, on the same URDF; – where it does not take the model, "
        "and where float32 is not enough for it (the mass matrix of iCub has condition 7e11)."
    )


def rewrite_readme(what: str, name: str, readme: Path = README) -> None:
    """Put text between the markers of a README."""
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, opened, rest = readme.read_text(encoding="utf-8").partition(start)
    _, closed, after = rest.partition(end)
    if not opened or not closed:
        raise SystemExit(f"{readme} has no lines {start} and {end} to write between")
    readme.write_text(f"{before}{start}\n{reflowed(what)}\n{end}{after}", encoding="utf-8")


def as_text(results: dict[str, Any]) -> str:
    """The text of a result file, metrics to six digits."""
    if "metrics" in results:
        results = {**results, "metrics": {name: float(f"{x:.6g}") for name, x in results["metrics"].items()}}
    return json.dumps(results, indent=1) + "\n"


def updated(before: Mapping[str, Any], results: Mapping[str, Any], scenarios: Sequence[str]) -> dict[str, Any]:
    """Results of before with what some scenarios found put in the place of what they had found.

    The date, the machine and the commit of the others stay; those of the new ones are kept under ``reruns``.
    """

    def of_them(name: str) -> bool:
        return any(name == s or name.startswith((f"{s}.", f"{s}:")) for s in scenarios)

    found = dict(before)
    for part in ("metrics", "words", "curves"):
        if part in results:
            kept = {name: x for name, x in before.get(part, {}).items() if not of_them(name)}
            found[part] = kept | dict(results[part])
    found["notes"] = [note for note in before["notes"] if not of_them(note)] + list(results["notes"])
    rerun = {key: results[key] for key in ("date", "commit", "modified", "machine", "seconds", "quick")}
    found["reruns"] = [*before.get("reruns", ()), {**rerun, "scenarios": list(scenarios)}]
    return found


def save(results: dict[str, Any], path: Path) -> None:
    """Write a result file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_text(results), encoding="utf-8")


def gpu_metric(name: str) -> float | None:
    """A number of the study of GPUs, where it was run."""
    file = RESULTS.with_name("gpu.json")
    if not file.is_file():
        return None
    found: float | None = read(file)["metrics"].get(name)
    return found


def read(path: Path) -> dict[str, Any]:
    """Read a result file."""
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return results
