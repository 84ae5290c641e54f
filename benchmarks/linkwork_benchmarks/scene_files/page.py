# SPDX-License-Identifier: BSD-3-Clause
"""The page of results, in Markdown, and the table of docs/how-to/contact.md. No number of them is written by hand."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from linkwork_benchmarks import drawing, report, tables
from linkwork_benchmarks.report import Results
from linkwork_benchmarks.scene_files.earlier import RATIOS
from linkwork_benchmarks.scene_files.files import FILES
from linkwork_benchmarks.scene_files.scenarios import SCENARIOS, FarPairs, FirstCall, Growth, Motion

PAGE = report.REPOSITORY / "docs" / "internals" / "scenes-benchmarks.md"
CONTACT = report.REPOSITORY / "docs" / "how-to" / "contact.md"
MARKER = "scenes"


def write(results: Results, page: Path | None = None) -> Path:
    """Write the page; with the page of this repository, the table of docs/how-to/contact.md, too."""
    target = page or PAGE
    shown = drawing.write_beside(target, PLOTS, results)
    sections = (
        _introduction(results),
        _speed(results, shown),
        _batches(results),
        _reported(results),
        _far_pairs(results),
        _growth(results),
        _first_call(results),
        tables.notes({"notes": [note.replace("<", "&lt;") for note in results["notes"]]}),
    )
    written = tables.write_page(target, sections)
    if page is None:
        report.rewrite_readme(contact_table(results), MARKER, CONTACT)
    return written


def _introduction(results: Results) -> str:
    return (
        "# Scenes of others, measured\n\n"
        "Made by `python -m linkwork_benchmarks scenes_page` from the result file of "
        "`python -m linkwork_benchmarks scenes`: every number on this page but those of before. "
        f"{tables.circumstances(results, mujoco=True)} "
        "What a step does: [Contact](../how-to/contact.md#what-a-step-does).\n\n"
        "Scenes are robot files as they are, of MuJoCo Menagerie and MuJoCo Warp's benchmarks, with their own time "
        "steps, start at their first keyframe with its controls, and move for 5 s or for as many steps as 2 s of CPU "
        "time make. *falls*: from `qpos0` without controls. The others are written in the benchmark (`scene_files`). "
        "One core, CPU time of the process, linkwork and MuJoCo in turn in one process, the best of "
        f"{results['rounds']} rounds; MuJoCo with the faster of `jacobian` dense and auto. MuJoCo's contacts are soft "
        "and its solver ends at its own tolerance; ours are rigid, and solved to the tolerance of every step."
    )


def _get(results: Results, name: str, key: str) -> float | None:
    found: float | None = results["metrics"].get(f"{name}.{key}")
    return found


def motions(results: Results) -> list[Motion]:
    """Scenes that have results."""
    return [s for s in SCENARIOS if isinstance(s, Motion) and _get(results, s.name, "pairs") is not None]


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def _times(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}×"


def _speed(results: Results, shown: Mapping[str, str]) -> str:
    rows = []
    for s in motions(results):
        get = partial(_get, results, s.name)
        rows.append(
            (
                s.scene,
                *(tables.whole(get(key)) for key in ("nv", "pairs", "pairs_by_coal")),
                f"{get('points.mean') or 0.0:.0f}",
                *(tables.time(get(key)) for key in ("us.native", "us.mj_step")),
                _ratio(get("ratio")),
                _ratio(RATIOS.get(s.scene)),
            )
        )
    if not rows:
        return ""
    titles = ("scene", "velocities", "pairs", "by coal", "points", "native, µs", "`mj_step`, µs", "ratio", "before")
    ratios = [r for s in motions(results) if (r := _get(results, s.name, "ratio")) is not None]
    of_files = [r for s in motions(results) if s.scene in FILES and (r := _get(results, s.name, "ratio")) is not None]
    words = [
        "## One state",
        "A step of one state in native code. *pairs*: pairs of shapes that may touch; *by coal*: those of them without "
        "a kernel, which are found between steps from Python; *points*: contact points that bear a force, on average; "
        "*ratio*: native to `mj_step`, less is faster; *before*: the same of the stage before, where it was measured "
        "(steps by slots; `scene_files/earlier.py` says how).",
        tables.table(titles, rows),
        f"The median ratio of all {len(ratios)} scenes is {np.median(ratios):.2f}, "
        f"{sum(r < 1 for r in ratios)} of them are faster than `mj_step` and {sum(r <= 1.5 for r in ratios)} take at "
        "most 1.5 times as long."
        + (f" Of the {len(of_files)} files the median is {np.median(of_files):.2f}." if of_files else ""),
        *tables.image(shown, "scenes_ratio", "Time of a step as a multiple of mj_step, before and now"),
    ]
    return "\n\n".join(words)


def _batches(results: Results) -> str:
    rows = []
    for s in motions(results):
        if (states := _get(results, s.name, "batch.states")) is None:
            continue
        cells = [s.scene, tables.whole(states), tables.time(_get(results, s.name, "us.mj_step"))]
        for dtype in ("float64", "float32"):
            cells += [
                tables.time(_get(results, s.name, f"batch.{dtype}.us")),
                _times(_get(results, s.name, f"batch.{dtype}.faster")),
            ]
        rows.append(tuple(cells))
    titles = ("scene", "states", "`mj_step`, µs", "float64, µs", "faster", "float32, µs", "faster")
    return (
        ""
        if not rows
        else "## Batches\n\nA step of one state of a batch on one core, in SIMD lanes. States are those of the motion "
        "at random times, in random order, and some occur more than once; native code puts states with the same "
        "contacts side by side. Ten steps a call, from the forces of the step before. Nothing disturbs them: states "
        "that are pushed off the motion start less warm and have less in common, and take longer. "
        "*faster*: `mj_step` to it, more is faster.\n\n" + tables.table(titles, rows)
    )


def _reported(results: Results) -> str:
    rows = []
    for s in motions(results):
        get = partial(_get, results, s.name)
        rows.append(
            (
                s.scene,
                tables.whole(get("steps")),
                *(tables.whole(get(f"iterations.{key}")) for key in ("median", "p90", "p99", "max")),
                *(tables.whole(get(key)) for key in ("cold.median", "cold.p99", "missed", "overflowed")),
                *(f"{speed:.3g}" if (speed := get(key)) is not None else "–" for key in ("speed.max", "mujoco.speed")),
                "yes" if get("finite") else "**no**",
            )
        )
    titles = ("scene", "steps", "median", "p90", "p99", "max", "cold", "cold, p99", "missed", "overflowed")
    further = ("largest v", "MuJoCo's", "finite")
    return (
        ""
        if not rows
        else "## What the steps report\n\nIterations of the solver: of steps that go on from the forces of the "
        "step before, and *cold*, from no forces, at up to 256 states of the motion; steps that missed the tolerance, "
        "steps with more contact points than lists have room for, the largest velocity of the motion (m/s, rad/s) and "
        "MuJoCo's at the end of its own, and whether all states were finite.\n\n"
        + tables.table((*titles, *further), rows)
    )


def _series(results: Results, name: str, counts: tuple[int, ...]) -> list[tuple[float, ...]]:
    found = list[tuple[float, ...]]()
    for count in counts:
        values = [_get(results, name, f"{count}.{key}") for key in ("pairs", "us.native", "us.mj_step")]
        if None not in values:
            found.append((float(count), *(float(x or 0.0) for x in values)))
    return found


def _far_pairs(results: Results) -> str:
    s = next(s for s in SCENARIOS if isinstance(s, FarPairs))
    found = _series(results, s.name, s.spheres)
    if len(found) < 2:
        return ""
    near, first = found[0][1], found[0][2]
    rows = [
        (tables.whole(pairs - near), tables.time(us), f"{100 * (us / first - 1):.0f} %", tables.time(mj_step))
        for _, pairs, us, mj_step in found
    ]
    slope = 100 * (found[-1][2] / first - 1) / ((found[-1][1] - near) / 100)
    return (
        "## Pairs that are far apart\n\nThe humanoid falls, with spheres 50 m away that may touch each of its shapes: "
        f"{slope:.1f} % of a step for a hundred far pairs.\n\n"
        + tables.table(("far pairs", "native, µs", "more", "`mj_step`, µs"), rows)
    )


def _growth(results: Results) -> str:
    s = next(s for s in SCENARIOS if isinstance(s, Growth))
    found = _series(results, s.name, s.bodies)
    if not found:
        return ""
    rows = [
        (tables.whole(n), tables.whole(p), tables.time(us), tables.time(mj), _ratio(us / mj)) for n, p, us, mj in found
    ]
    powers = [_get(results, s.name, f"power.{who}") for who in ("native", "mj_step")]
    return (
        "## Many bodies\n\nBoxes that lie apart on the ground, 200 steps. From the last but one to the last the time "
        f"grows as the power {tables.power(powers[0])} of their number, that of `mj_step` as "
        f"{tables.power(powers[1])}.\n\n"
        + tables.table(("boxes", "pairs", "native, µs", "`mj_step`, µs", "ratio"), rows)
    )


def _first_call(results: Results) -> str:
    rows = []
    for s in SCENARIOS:
        if isinstance(s, FirstCall) and _get(results, s.name, "cold.wall.s") is not None:
            keys = ("cold.wall.s", "cold.cpu.s", "warm.wall.s", "warm.cpu.s")
            rows.append((s.scene, *(f"{_get(results, s.name, key) or 0.0:.2f}" for key in keys)))
    titles = ("scene", "empty cache, s", "its CPU time, s", "full cache, s", "its CPU time, s")
    return (
        ""
        if not rows
        else "## The first call\n\nFrom the loaded robot to the result of its first step in a fresh process.\n\n"
        + tables.table(titles, rows)
    )


def contact_table(results: Results) -> str:
    """The table of docs/how-to/contact.md."""
    rows = [
        (
            s.scene,
            tables.whole(_get(results, s.name, "pairs")),
            *(tables.time(_get(results, s.name, key)) for key in ("us.native", "us.mj_step")),
            _ratio(_get(results, s.name, "ratio")),
            *(_times(_get(results, s.name, f"batch.{dtype}.faster")) for dtype in ("float64", "float32")),
            *(tables.whole(_get(results, s.name, key)) for key in ("iterations.median", "iterations.p99", "missed")),
        )
        for s in motions(results)
    ]
    titles = ("scene", "pairs", "native, µs", "`mj_step`, µs", "ratio", "batch", "float32")
    return tables.table((*titles, "median", "p99", "missed"), rows)


# Plots ------------------------------------------------------------------------------------------------


def _draw_ratios(plt: Any, results: Mapping[str, Any]) -> Any:
    """Ratios to ``mj_step``, one state, now and before."""
    found = [(s.scene, r) for s in motions(results) if (r := _get(results, s.name, "ratio")) is not None]
    if not found:
        return None
    found.sort(key=lambda pair: -pair[1])
    names, ratios = [name for name, _ in found], [ratio for _, ratio in found]
    figure, axes = plt.subplots(figsize=(6.4, 0.6 + 0.24 * len(found)))
    axes.barh(names, [r - 1 for r in ratios], left=1, color=["#2a7fb8" if r <= 1.5 else "#c77f3f" for r in ratios])
    before = [(name, RATIOS[name]) for name in names if name in RATIOS]
    if before:
        axes.plot([r for _, r in before], [name for name, _ in before], "x", color="#333333", label="before")
        axes.legend(loc="lower right")
    axes.axvline(1, color="#333333", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlabel("time of a step as a multiple of mj_step (left is faster)")
    return figure


PLOTS: dict[str, drawing.Draw] = {"scenes_ratio": _draw_ratios}
