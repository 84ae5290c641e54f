# SPDX-License-Identifier: BSD-3-Clause
"""Plots of the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linkwork_benchmarks import drawing
from linkwork_benchmarks.constrained import bars, papers, series
from linkwork_benchmarks.constrained.scenarios import GROUNDED, LTL_SOFT, PROXIMAL

COLORS = {
    "lcaba": "#0b6e4f",
    "prox_bbo": "#d1660a",
    "prox_ltl": "#3b5ba5",
    "ltl": "#3b5ba5",
    "pv": "#8c4a97",
    "pv_early": "#c2185b",
    "pv_soft": "#b58900",
    "constrained_aba": "#6b8e23",
    "ltl_soft": "#7fa3d8",
}
BACKENDS = {
    "pinocchio.constraintDynamics": ("Pinocchio, constraintDynamics", "#9a9a9a"),
    "pinocchio.lcaba": ("Pinocchio, lcaba", "#5f5f5f"),
    "mujoco.forward": ("MuJoCo, mj_forward", "#c9b458"),
    "lcaba.native": ("native lcaba", "#7fc8a9"),
    "auto.specialized": ("specialized, auto", "#2a9d6f"),
    "auto.batch": ("batch of 4096, auto", "#0b6e4f"),
}


def _systems(plt: Any, results: Mapping[str, Any]) -> Any:
    """Microseconds of each system of **loops** Table II and of the robots, one iteration, by backend."""
    systems = [
        s
        for study in ("loops", "robots")
        for s in (f"{study}.{n}" for n in series.names(results["metrics"], study, 1))
        if bars.time(results, s, 1, "lcaba.native") is not None
    ]
    if not systems:
        return None
    figure, axis = plt.subplots(figsize=(9, 3.6))
    width = 0.8 / len(BACKENDS)
    for k, (backend, (title, color)) in enumerate(BACKENDS.items()):
        points = [(n, t) for n, s in enumerate(systems) if (t := bars.time(results, s, 1, backend)) is not None]
        if points:
            axis.bar(
                [n + (k - len(BACKENDS) / 2 + 0.5) * width for n, _ in points],
                [t for _, t in points],
                width,
                label=title,
                color=color,
            )
    axis.set_yscale("log")
    axis.set_ylabel("µs per state")
    axis.set_xticks(range(len(systems)), [s.partition(".")[2] for s in systems], rotation=30, ha="right")
    axis.grid(axis="x", visible=False)
    axis.legend(ncols=3, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, 1.22))
    return figure


def _growth(plt: Any, results: Mapping[str, Any], families: tuple[str, ...], methods: tuple[str, ...]) -> Any:
    from matplotlib.ticker import NullFormatter

    metrics = results["metrics"]
    shown = [f for f in families if series.names(metrics, f"growth.{f}", 2)]
    if not shown:
        return None
    figure, axes = plt.subplots(2, len(shown), figsize=(2.6 * len(shown) + 1.4, 5), squeeze=False, sharex="col")
    for column, family in zip(axes.T, shown, strict=True):
        for axis, what, label in zip(column, ("native.us", "operations"), ("native, µs", "operations"), strict=True):
            for method in methods:
                curve = series.growth(metrics, family, method, what)
                if curve:
                    axis.loglog(*zip(*curve, strict=True), "o-", ms=3, lw=1.2, label=method, color=COLORS[method])
            axis.xaxis.set_minor_formatter(NullFormatter())
            if family == shown[0]:
                axis.set_ylabel(label)
        column[0].set_title(family.replace("_", " "), fontsize=9)
        column[1].set_xlabel("links")
    axes[0, 0].legend(fontsize=8)
    return figure


def _convergence(plt: Any, results: Mapping[str, Any]) -> Any:
    metrics = results["metrics"]
    systems = series.names(metrics, "convergence", 1)
    if not systems:
        return None
    name = f"convergence.{systems[0]}"
    regularizations = [d for d in series.names(metrics, f"{name}.lcaba", 3) if f"{name}.lcaba.{d}.1.mean" in metrics]
    figure, axes = plt.subplots(1, len(regularizations) + 1, figsize=(2.3 * len(regularizations) + 3, 3))
    for axis, mu in zip(axes, regularizations, strict=False):
        for method in PROXIMAL:
            counts = [int(k) for k in series.names(metrics, f"{name}.{method}.{mu}", 4) if k.isdigit()]
            at = {w: [metrics[f"{name}.{method}.{mu}.{k}.{w}"] for k in counts] for w in ("least", "mean", "most")}
            axis.semilogy(counts, at["mean"], "o-", ms=3, lw=1.2, color=COLORS[method], label=method)
            axis.fill_between(counts, at["least"], at["most"], color=COLORS[method], alpha=0.12, lw=0)
        axis.axhline(1e-6, color="k", lw=0.7, ls=":")
        axis.set_title(f"regularization {mu}", fontsize=9)
        axis.set_xlabel("iterations")
    axes[0].set_ylabel("residual: mean, least to most")
    axes[0].legend(fontsize=8)
    for method in PROXIMAL:
        found = [d for d in series.names(metrics, f"{name}.{method}", 3) if f"{name}.{method}.{d}.away.mean" in metrics]
        curve = sorted((float(d), max(metrics[f"{name}.{method}.{d}.away.mean"], 1e-17)) for d in found)
        axes[-1].loglog(*zip(*curve, strict=True), "o-", ms=3, lw=1.2, color=COLORS[method])
    axes[-1].set_title("distance from the reference", fontsize=9)
    axes[-1].set_xlabel("regularization")
    axes[-1].invert_xaxis()
    return figure


def _softness(plt: Any, results: Mapping[str, Any]) -> Any:
    metrics = results["metrics"]
    systems = series.names(metrics, "softness", 1)
    if not systems:
        return None
    name = f"softness.{systems[0]}"
    figure, axes = plt.subplots(1, 2, figsize=(7.5, 3))
    for axis, what, title in zip(axes, ("missed", "away"), ("constraint residual", "distance from pv"), strict=True):
        for method in ("pv_soft", "ltl_soft", "prox_ltl"):
            weights = series.names(metrics, f"{name}.{method}", 3)
            if not weights:
                continue
            mean = [metrics[f"{name}.{method}.{w}.{what}.mean"] for w in weights]
            axis.loglog([float(w) for w in weights], mean, "o-", ms=3, lw=1.2, color=COLORS[method], label=method)
        for method in ("pv", "pv_early", "ltl"):
            level = metrics[f"{name}.{method}.hard.{what}.mean"]
            if level > 0:
                axis.axhline(level, color=COLORS[method], lw=1, ls="--", label=f"{method} (hard)")
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("penalty weight of rows (1 / regularization)")
    axes[0].legend(fontsize=8)
    return figure


def _lqr(plt: Any, results: Mapping[str, Any]) -> Any:
    metrics = results["metrics"]
    systems = [s for s in series.names(metrics, "lqr", 1) if f"lqr.{s}.pv.operations" in metrics]
    if not systems:
        return None
    figure, axis = plt.subplots(figsize=(9, 3.2))
    for method in ("ltl", "pv", "pv_early", "pv_soft", "ltl_soft"):
        counts = [metrics.get(f"lqr.{s}.{method}.operations", float("nan")) for s in systems]
        axis.plot(range(len(systems)), counts, "o-", ms=3, lw=1.2, color=COLORS[method], label=method)
    axis.set_yscale("log")
    axis.set_ylabel("operations")
    axis.set_xticks(range(len(systems)), systems, rotation=35, ha="right")
    axis.legend(ncols=4, fontsize=8)
    return figure


def _proximal(plt: Any, results: Mapping[str, Any]) -> Any:
    metrics = results["metrics"]
    timed = [
        s for s in series.names(metrics, "proximal", 1) if bars.time(results, f"proximal.{s}", 1, "prox_ltl.native")
    ]
    counted = series.names(metrics, "factor", 1)
    if not timed and not counted:
        return None
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4))
    for what, color in (("dense", "#9a9a9a"), ("sparse", COLORS["prox_ltl"])):
        axes[0].bar(
            [n + (0.2 if what == "sparse" else -0.2) for n in range(len(counted))],
            [metrics[f"factor.{s}.{what}"] for s in counted],
            0.4,
            color=color,
            label=f"{what} factor",
        )
    axes[0].set_ylabel("operations")
    axes[0].set_xticks(range(len(counted)), counted, rotation=60, ha="right", fontsize=7)
    backends = {
        "pinocchio.constraintDynamics": ("Pinocchio, constraintDynamics", "#9a9a9a"),
        "prox_ltl.native": ("native prox_ltl", "#7fa3d8"),
        "prox_ltl.specialized": ("specialized prox_ltl", COLORS["prox_ltl"]),
    }
    for k, (backend, (title, color)) in enumerate(backends.items()):
        points = [(n, t) for n, s in enumerate(timed) if (t := bars.time(results, f"proximal.{s}", 1, backend))]
        axes[1].bar([n + 0.27 * (k - 1) for n, _ in points], [t for _, t in points], 0.27, color=color, label=title)
    axes[1].set_ylabel("µs")
    axes[1].set_xticks(range(len(timed)), timed, rotation=60, ha="right", fontsize=7)
    for axis in axes:
        axis.set_yscale("log")
        axis.grid(axis="x", visible=False)
        axis.legend(fontsize=7)
    return figure


_LOOP_FAMILIES = ("single_loop", "chain_of_loops", "chain_of_hinged_loops", "coupled_loops", "star_of_loops")
_GROUND_FAMILIES = tuple(family for family in papers.GROWTH if family not in _LOOP_FAMILIES)

PLOTS: dict[str, drawing.Draw] = {
    "systems": _systems,
    "loops_growth": lambda plt, results: _growth(plt, results, _LOOP_FAMILIES, PROXIMAL),
    "convergence": _convergence,
    "lqr_operations": _lqr,
    "lqr_growth": lambda plt, results: _growth(plt, results, _GROUND_FAMILIES, (*GROUNDED, LTL_SOFT)),
    "softness": _softness,
    "proximal": _proximal,
}
