# SPDX-License-Identifier: BSD-3-Clause
"""Plots of the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linkwork_benchmarks import drawing
from linkwork_benchmarks.constrained import series
from linkwork_benchmarks.delassus import bars, counts
from linkwork_benchmarks.delassus.scenarios import METHODS

OURS = {
    "native": ("native", "#7fc8a9"),
    "specialized": ("specialized", "#2a9d6f"),
    "batch": ("batch", "#0b6e4f"),
}
PEERS = {
    "`computeDelassusMatrix`": ("Pinocchio, computeDelassusMatrix", "#9a9a9a"),
    "lemma": ("Pinocchio, by the lemma", "#9a9a9a"),
    bars.CHOLESKY: ("Pinocchio, Cholesky", "#5f5f5f"),
    bars.LAPACK: ("Pinocchio's J and M, LAPACK", "#c9b458"),
}
CURVES = {
    "product.native": ("operator", "#0b6e4f"),
    "inverse.native": ("damped inverse", "#3b5ba5"),
    "matrix.ltl": ("ltl, matrix", "#d1660a"),
    "matrix.pv_osim": ("pv_osim, matrix", "#8c4a97"),
    "pinocchio.delassus": ("Pinocchio, computeDelassusMatrix", "#9a9a9a"),
    "pinocchio.cholesky.first": ("Pinocchio, Cholesky and solve", "#5f5f5f"),
}
PARTS = {"inertia": "#0b6e4f", "rows": "#7fc8a9", "matrix": "#3b5ba5", "factor": "#d1660a"}
FAMILIES = ("swimmer", "stack")


def _first(plt: Any, results: Mapping[str, Any]) -> Any:
    """Microseconds of first applications on every row, right routes alone."""
    metrics = results["metrics"]
    names = bars.rows(metrics)
    if not names:
        return None
    figure, axes = plt.subplots(2, 1, figsize=(10, 6.4), sharex=True)
    for axis, (quantity, title) in zip(axes, bars.QUANTITIES.items(), strict=True):
        routes = [r for r in bars.ROUTES[quantity] if r.title in PEERS]
        width = 0.84 / (len(OURS) + len(routes))
        shown = [
            ({n: bars.ours(metrics, row, f"{quantity}.{backend}") for n, row in enumerate(names)}, *look)
            for backend, look in OURS.items()
        ]
        for route in routes:
            times = {
                n: bars.route_time(metrics, row, route) if bars.right(metrics, row, route) else None
                for n, row in enumerate(names)
            }
            shown.append((times, *PEERS[route.title]))
        for k, (times, label, color) in enumerate(shown):
            known = {n: t for n, t in times.items() if t is not None}
            places = [n + (k - len(shown) / 2 + 0.5) * width for n in known]
            axis.bar(places, list(known.values()), width, color=color, label=label)
        axis.set_yscale("log")
        axis.set_ylabel(f"{title}, µs")
        axis.grid(axis="x", visible=False)
        axis.legend(fontsize=7, ncols=3, loc="upper left")
    axes[1].set_xticks(range(len(names)), names, rotation=30, ha="right")
    return figure


def _further(plt: Any, results: Mapping[str, Any]) -> Any:
    """Further applications over rows: ours, and those with a matrix."""
    metrics = results["metrics"]
    names = sorted(bars.rows(metrics), key=lambda row: metrics[f"table.{row}.rows"])
    if not names:
        return None
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.2))
    for axis, (what, title) in zip(axes, bars.FURTHER.items(), strict=True):
        sizes = [metrics[f"table.{row}.rows"] for row in names]
        for label, color, times in (
            ("matrix-free", "#0b6e4f", [bars.ours(metrics, row, f"further.{what}") for row in names]),
            ("explicit, fastest", "#9a9a9a", [bars.explicit(metrics, row, what) for row in names]),
        ):
            points = [(n, t) for n, t in zip(sizes, times, strict=True) if t is not None]
            if points:
                axis.loglog(*zip(*points, strict=True), "o", ms=4, color=color, label=label)
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("rows")
    axes[0].set_ylabel("further application, µs")
    axes[0].legend(fontsize=8)
    return figure


def _growth(plt: Any, results: Mapping[str, Any]) -> Any:
    """Time and operations over links or boxes."""
    metrics = results["metrics"]
    shown = [f for f in FAMILIES if series.names(metrics, f"growth.{f}", 2)]
    if not shown:
        return None
    figure, axes = plt.subplots(2, len(shown), figsize=(6 * len(shown), 5.4), squeeze=False, sharex="col")
    for column, family in zip(axes.T, shown, strict=True):
        for axis, measure in zip(column, ("us", "operations"), strict=True):
            for backend, (label, color) in CURVES.items():
                name = backend.removesuffix(".native") if measure == "operations" else backend
                curve = bars.growth(metrics, family, name, measure)
                p = bars.power(curve, measure, least=None if backend.endswith("native") else 0)
                if curve:
                    text = label if p is None else f"{label}, n^{p:.2f}"
                    axis.loglog(*zip(*curve, strict=True), "o-", ms=3, lw=1.1, color=color, label=text)
            axis.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
            axis.set_ylabel("native, µs" if measure == "us" else "operations")
        column[0].set_title(family, fontsize=9)
        column[1].set_xlabel("links" if family == "swimmer" else "boxes")
    return figure


def _operations(plt: Any, results: Mapping[str, Any]) -> Any:
    """Operations of the matrix and its factor by method and part, and PV-OSIM over EFPA on the stalk."""
    metrics = results["metrics"]
    robots, branches = bars.counted(metrics), series.names(metrics, "stalk", 1)
    if not robots:
        return None
    figure, axes = plt.subplots(1, 2, figsize=(11, 3.8), width_ratios=(3, 1.3))
    width, places, labels = 0.8 / len(METHODS), [], []
    for n, robot in enumerate(robots):
        for k, method in enumerate(METHODS):
            place, below = n + (k - len(METHODS) / 2 + 0.5) * width, 0.0
            if method not in robots[robot]:
                continue
            places.append(place)
            labels.append(method)
            for part in counts.PARTS:
                x = metrics.get(f"operations.{robot}.{method}.{part}", 0.0)
                axes[0].bar(place, x, 0.9 * width, bottom=below, color=PARTS[part])
                below += x
        axes[0].annotate(robot, (n, 0.98), xycoords=("data", "axes fraction"), ha="center", va="top", fontsize=8)
    axes[0].set_xticks(places, labels, rotation=90, fontsize=6)
    axes[0].grid(axis="x", visible=False)
    axes[0].margins(y=0.15)
    axes[0].set_ylabel("operations")
    handles = [plt.Rectangle((0, 0), 1, 1, color=color) for color in PARTS.values()]
    axes[0].legend(handles, PARTS, fontsize=7, loc="upper left", bbox_to_anchor=(0.0, 0.9))
    for b in branches:
        first, second = (bars.stalk(metrics, b, m) for m in ("pv_osim", "efpa"))
        ratio = [(n, y / z) for (n, y), (_, z) in zip(first, second, strict=True)]
        axes[1].plot(*zip(*ratio, strict=True), "o-", ms=3, lw=1.1, label=b)
    axes[1].axhline(1.0, color="k", lw=0.7, ls=":")
    axes[1].set_xlabel("links of the stem")
    axes[1].set_ylabel("PV-OSIM / EFPA")
    if branches:
        axes[1].legend(fontsize=7, title="branches", title_fontsize=7)
    return figure


PLOTS: dict[str, drawing.Draw] = {
    "delassus_first": _first,
    "delassus_further": _further,
    "delassus_growth": _growth,
    "delassus_operations": _operations,
}
