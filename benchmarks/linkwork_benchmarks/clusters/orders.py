# SPDX-License-Identifier: BSD-3-Clause
"""Who needs less than whom, and whether that is what the paper finds."""

from __future__ import annotations

from collections.abc import Mapping

from linkwork_benchmarks.clusters import papers
from linkwork_benchmarks.clusters.scenarios import OURS, PAPERS, TITLES
from linkwork_benchmarks.constrained import series

Metrics = Mapping[str, float]

MEASURES = {"operations": "operations", "native_bound.us": "native time", "bound.us": "specialized time"}
"""What is compared, by the ends of metrics' names. Times are those through `bind`: without Python's part of a call."""

SLOWER = {"inverse": ("projected",), "forward": ("projection", "ltl"), "inertia": ("projection",)}
"""Methods that the paper finds slower than the one by clusters, on every system."""

SAME = 1.0
"""Percent that do not count as a difference."""

SMALLEST = PAPERS
"""Links from which on powers are fitted: before, the first links, which are on the world, count for less."""
LINEAR = 1.15
"""The largest power that counts as linear."""
DISTURBED = 0.85
"""The smallest power of times that is credible: each further link costs as much as the one before, and calls cost
little. Less is noise of the clock, of which no verdict is made."""


def systems(metrics: Metrics) -> list[str]:
    """Those that were measured, in the order of the file."""
    return series.names(metrics, "systems", 1)


def percent(metrics: Metrics, system: str, quantity: str, method: str, measure: str) -> float | None:
    """By how many percent a method needs more than the one by clusters."""
    start = f"systems.{system}.{quantity}"
    ours, other = metrics.get(f"{start}.{OURS[quantity]}.{measure}"), metrics.get(f"{start}.{method}.{measure}")
    return None if ours is None or other is None else 100 * (other / ours - 1)


def verdict(metrics: Metrics, quantity: str, method: str, measure: str) -> str:
    """One sentence: on which systems the method by clusters needs less."""
    found = {s: p for s in systems(metrics) if (p := percent(metrics, s, quantity, method, measure)) is not None}
    claim = f"{TITLES[quantity]} needs less than `{method}`, {MEASURES[measure]}"
    if not found:
        return f"{claim}: not measured."
    least, most = min(found.values()), max(found.values())
    if least > SAME:
        return f"{claim}: **holds** on all {len(found)} systems (the other needs {least:.0f} to {most:.0f} % more)."
    alike = [system for system, p in found.items() if abs(p) <= SAME]
    missed = [f"{system} ({p:+.0f} %)" for system, p in found.items() if p < -SAME]
    if len(alike) == len(found):
        return f"{claim}: **neither**, both need the same within {SAME:g} % on all {len(found)} systems."
    parts = [f"**fails** on {len(missed)} of {len(found)} systems: {'; '.join(missed)}"] if missed else []
    parts += [f"the same within {SAME:g} % on {', '.join(alike)}"] if alike else []
    more = [p for p in found.values() if p > SAME]
    parts += [f"holds on {len(more)} (up to {max(more):.0f} % more)"] if more else []
    return f"{claim}: {'; '.join(parts)}."


def growth(metrics: Metrics, name: str, method: str, measure: str) -> series.Curve:
    """A metric over the links of a family."""
    found = []
    for links in series.names(metrics, f"growth.{name}", 2):
        value = metrics.get(f"growth.{name}.{links}.{method}.{measure}")
        if value is not None:
            found.append((float(links), value))
    return sorted(found)


def power(curve: series.Curve) -> float | None:
    """The power of the number of links that fits best from `SMALLEST` links on."""
    return series.exponent(curve, least=SMALLEST, most=float("inf"))


def growth_verdict(metrics: Metrics, name: str, method: str, linear: bool) -> str:
    """One sentence: whether a method grows as the paper says, linearly or faster."""
    claim = f"`{method}`, {'linear' if linear else 'faster than linear (the paper: cubic)'}"
    powers = {m: power(growth(metrics, name, method, m)) for m in ("operations", "native_bound.us")}
    known = {m: p for m, p in powers.items() if p is not None}
    if not known:
        return f"{claim}: not measured."
    noisy = {m for m, p in known.items() if m != "operations" and p < DISTURBED}
    shown = ", ".join(
        f"{MEASURES[m]} n^{p:.2f}" + (", too noisy to judge" if m in noisy else "") for m, p in known.items()
    )
    judged = [p for m, p in known.items() if m not in noisy]
    if not judged:
        return f"{claim}: **not known** ({shown})."
    holds = all((p <= LINEAR) == linear for p in judged)
    return f"{claim}: **{'holds' if holds else 'fails'}** ({shown})."


def stem(metrics: Metrics, family: str, order: str) -> series.Curve:
    """Operations of C-EFPA over the links of a stem, rows ending as counts say, or all at the world."""
    stems = series.names(metrics, f"stem.{family}", 2)
    found = ((float(n), metrics.get(f"stem.{family}.{n}.{order}.operations")) for n in stems)
    return sorted((n, value) for n, value in found if value is not None)


def further_link(curve: series.Curve) -> float | None:
    """Operations of a further link, between the two longest stems."""
    if len(curve) < 2:
        return None
    (n, before), (m, after) = curve[-2:]
    return (after - before) / (m - n)


def against_pinocchio(metrics: Metrics, system: str, backend: str) -> float | None:
    """How many times as fast C-ABA with rotors is as ``pin.aba`` without."""
    start = f"systems.{system}.forward"
    ours, theirs = metrics.get(f"{start}.cluster.{backend}.us"), metrics.get(f"{start}.pinocchio.aba.us")
    return None if ours is None or theirs is None else theirs / ours


def distances(metrics: Metrics) -> dict[str, float]:
    """Of each joint of the leg, how far its torques are off from being off as the paper's ankle is; nearest first."""
    joints = [name for name in series.names(metrics, "leg", 1) if f"leg.{name}.unconstrained" in metrics]
    found = {}
    for name in joints:
        pairs = (
            (metrics[f"leg.{name}.unconstrained"], papers.ANKLE.unconstrained),
            (metrics[f"leg.{name}.approximate"], papers.ANKLE.approximate),
        )
        found[name] = max(abs(ours / theirs - 1) for ours, theirs in pairs)
    return dict(sorted(found.items(), key=lambda entry: entry[1]))
