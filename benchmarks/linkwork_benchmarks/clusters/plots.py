# SPDX-License-Identifier: BSD-3-Clause
"""Plots of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linkwork_benchmarks import drawing
from linkwork_benchmarks.clusters import orders
from linkwork_benchmarks.clusters.scenarios import METHODS, PAPERS
from linkwork_benchmarks.constrained import series

COLORS = {
    "cluster": "#0b6e4f",
    "efpa": "#0b6e4f",
    "projection": "#d1660a",
    "projected": "#d1660a",
    "ltl": "#3b5ba5",
    "lcaba": "#8c4a97",
    "prox_bbo": "#c2185b",
    "approximate": "#b58900",
    "rnea": "#7fa3d8",
    "tree": "#6b8e23",
    "pinocchio.aba": "#9a9a9a",
    "pinocchio.rnea": "#9a9a9a",
}
LABELS = {
    "tree": "tree without rotors",
    "pinocchio.aba": "pin.aba, tree without rotors",
    "pinocchio.rnea": "pin.rnea, tree without rotors",
    "rnea": "rnea, loops cut",
}
CURVES = {"exact": "#0b6e4f", "unconstrained": "#d1660a", "approximate": "#3b5ba5"}

FAMILIES = ("forward_of_geared_chain", "forward_of_belt_chain", "inertia_of_belt_chain")


def _bars(plt: Any, results: Mapping[str, Any], quantity: str) -> Any:
    """Operations, native and specialized times of every system, by method."""
    from matplotlib.ticker import NullFormatter

    metrics = results["metrics"]
    peer = {"inverse": ("pinocchio.rnea",), "forward": ("pinocchio.aba",)}.get(quantity, ())
    methods = (*METHODS[quantity], "tree", *peer)
    systems = [s for s in orders.systems(metrics) if any(n.startswith(f"systems.{s}.{quantity}.") for n in metrics)]
    if not systems:
        return None
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6))
    measures = {"operations": "operations", "native_bound.us": "native, µs", "bound.us": "specialized, µs"}
    width = 0.8 / len(methods)
    for axis, (measure, title) in zip(axes, measures.items(), strict=True):
        for k, method in enumerate(methods):
            end = "us" if method.startswith("pinocchio") else measure
            if method.startswith("pinocchio") and measure == "operations":
                continue
            points = [(n, metrics.get(f"systems.{s}.{quantity}.{method}.{end}")) for n, s in enumerate(systems)]
            _bar(
                axis, [(n, y) for n, y in points if y is not None], (k - len(methods) / 2 + 0.5) * width, width, method
            )
        axis.set_yscale("log")
        axis.yaxis.set_minor_formatter(NullFormatter())
        axis.set_title(title, fontsize=9)
        axis.set_xticks(range(len(systems)), systems, rotation=30, ha="right")
        axis.grid(axis="x", visible=False)
    handles, labels = axes[1].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=len(labels), fontsize=8, loc="outside upper center")
    return figure


def _bar(axis: Any, points: Sequence[tuple[int, float]], shift: float, width: float, method: str) -> None:
    if points:
        places, heights = [n + shift for n, _ in points], [y for _, y in points]
        axis.bar(places, heights, width, color=COLORS[method], label=LABELS.get(method, method))


def _growth(plt: Any, results: Mapping[str, Any]) -> Any:
    """Native time and operations over links."""
    metrics = results["metrics"]
    shown = [f for f in FAMILIES if series.names(metrics, f"growth.{f}", 2)]
    if not shown:
        return None
    figure, axes = plt.subplots(2, len(shown), figsize=(3.4 * len(shown) + 1.2, 5.4), squeeze=False, sharex="col")
    for column, family in zip(axes.T, shown, strict=True):
        for axis, measure, label in zip(
            column, ("native_bound.us", "operations"), ("native, µs", "operations"), strict=True
        ):
            for method in METHODS[family.split("_of_")[0]]:
                curve = orders.growth(metrics, family, method, measure)
                power = orders.power(curve)
                _curve(axis, curve, method, method if power is None else f"{method}, n^{power:.2f}")
            axis.axvline(PAPERS, color="k", lw=0.7, ls=":")
            axis.set_yticks([], minor=True)
            axis.legend(fontsize=7)
            if family == shown[0]:
                axis.set_ylabel(label)
        column[0].set_title(family.replace("_", " "), fontsize=9)
        column[1].set_xlabel("links")
        _sizes(column[1], [int(n) for n in series.names(metrics, f"growth.{family}", 2)])
    return figure


def _parallel(plt: Any, results: Mapping[str, Any]) -> Any:
    """Native time and operations over the size of the loop, one curve a depth."""
    metrics = results["metrics"]
    kinds = series.names(metrics, "parallel", 1)
    if not kinds:
        return None
    figure, axes = plt.subplots(2, len(kinds), figsize=(4.4 * len(kinds), 5.8), squeeze=False, sharex="col")
    for column, kind in zip(axes.T, kinds, strict=True):
        depths = series.names(metrics, f"parallel.{kind}", 2)
        sizes: set[int] = set()
        for axis, measure in zip(column, ("native_bound.us", "operations"), strict=True):
            for method in ("cluster", "projection", "lcaba", "prox_bbo"):
                for depth in depths:
                    start = f"parallel.{kind}.{depth}"
                    loops = series.names(metrics, start, 3)
                    found = [(float(n), metrics.get(f"{start}.{n}.{method}.{measure}", 0.0)) for n in loops]
                    _curve(axis, found, method, method if depth == depths[0] else None)
                    if method == "cluster" and found[-1][1] > 0:
                        axis.annotate(depth, found[-1], xytext=(3, -3), textcoords="offset points", fontsize=7)
                    sizes |= {int(n) for n in loops}
            axis.set_yticks([], minor=True)
            axis.set_ylabel("operations" if measure == "operations" else "native, µs")
        column[0].set_title(f"parallel chains, {kind}", fontsize=9)
        column[0].legend(fontsize=7)
        column[1].set_xlabel("joints in the loop; one curve a depth, which stands beside it")
        _sizes(column[1], sorted(sizes)[::3])
    return figure


def _curve(axis: Any, curve: series.Curve, method: str, label: str | None) -> None:
    """A curve on logarithmic axes, where it is not zero."""
    points = [(n, y) for n, y in curve if y > 0]
    if points:
        axis.loglog(*zip(*points, strict=True), "o-", ms=3, lw=1.1, label=label, color=COLORS[method])


def _sizes(axis: Any, sizes: Sequence[int]) -> None:
    """Marks at these sizes and nowhere else."""
    axis.set_xticks(sizes, [str(n) for n in sizes])
    axis.set_xticks([], minor=True)


def _leg(plt: Any, results: Mapping[str, Any]) -> Any:
    """Torques of knee and ankle over one period."""
    curves = results["curves"]
    joints = [name for name in ("knee", "ankle") if f"leg.{name}.exact" in curves]
    if not joints:
        return None
    figure, axes = plt.subplots(1, len(joints), figsize=(4.2 * len(joints), 3), squeeze=False)
    for axis, joint in zip(axes[0], joints, strict=True):
        for model, color in CURVES.items():
            axis.plot(curves["leg.time"], curves[f"leg.{joint}.{model}"], lw=1.3, color=color, label=model)
        axis.set_title(f"{joint} of MIT's humanoid", fontsize=9)
        axis.set_xlabel("s")
    axes[0, 0].set_ylabel("torque, N m")
    axes[0, 0].legend(fontsize=8)
    return figure


PLOTS: dict[str, drawing.Draw] = {
    "clusters_inverse": lambda plt, results: _bars(plt, results, "inverse"),
    "clusters_forward": lambda plt, results: _bars(plt, results, "forward"),
    "clusters_inertia": lambda plt, results: _bars(plt, results, "inertia"),
    "clusters_growth": _growth,
    "clusters_parallel": _parallel,
    "clusters_leg": _leg,
}
