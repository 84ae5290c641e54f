# SPDX-License-Identifier: BSD-3-Clause
"""What is asked of the times, and whether results show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from linkwork_benchmarks.constrained.scenarios import SHOWN

Metrics = Mapping[str, float]

PINOCCHIO = ("pinocchio.constraintDynamics", "pinocchio.lcaba")
MUJOCO = ("mujoco.forward",)


class Bar(NamedTuple):
    """Ours is to be ``least`` times as fast as the fastest of the peers."""

    title: str
    ours: str
    """A backend: of a method, or (``auto``) of the method that ``method="auto"`` takes."""
    peers: tuple[str, ...]
    least: float


BARS = (
    Bar("native `lcaba` / Pinocchio", "lcaba.native", PINOCCHIO, 1.0),
    Bar("specialized / Pinocchio", "auto.specialized", PINOCCHIO, 3.0),
    Bar("batch / Pinocchio", "auto.batch", PINOCCHIO, 12.0),
    Bar("specialized `cluster_lcaba` / Pinocchio", "cluster_lcaba.specialized", PINOCCHIO, 3.0),
    Bar("batch `cluster_lcaba` / Pinocchio", "cluster_lcaba.batch", PINOCCHIO, 12.0),
    Bar("specialized / MuJoCo", "auto.specialized", MUJOCO, 4.0),
    Bar("batch / MuJoCo", "auto.batch", MUJOCO, 15.0),
)

EXPONENT = 1.1
"""Growth that counts as linear."""

LINEAR = {
    "single_loop": ("lcaba", "prox_bbo"),
    "chain_of_loops": ("lcaba", "prox_bbo"),
    "chain_of_hinged_loops": ("lcaba", "prox_bbo"),
    "star_of_loops": ("lcaba",),
    "ladder": ("pv_early", "pv_soft", "constrained_aba"),
}
"""Families and methods that are to be linear from 50 to 500 links."""


def time(results: Mapping[str, Any], system: str, iterations: int, backend: str) -> float | None:
    """Microseconds of a system by a backend; ``auto`` stands for the method that it takes."""
    method, _, rest = backend.partition(".")
    if method == "auto":
        method = results["words"].get(f"{system}.{iterations}.auto", "")
    found: float | None = results["metrics"].get(f"{system}.{iterations}.{method}.{rest}.us")
    return found


def fastest(results: Mapping[str, Any], system: str, iterations: int, peers: Sequence[str]) -> float | None:
    """Microseconds of the fastest of some peers."""
    return min((t for p in peers if (t := time(results, system, iterations, p)) is not None), default=None)


def ratio(results: Mapping[str, Any], system: str, iterations: int, bar: Bar) -> float | None:
    """How many times as fast ours is; None where it or the peers have no time."""
    mine, best = time(results, system, iterations, bar.ours), fastest(results, system, iterations, bar.peers)
    return best / mine if mine is not None and best is not None else None


def baseline_ratio(metrics: Metrics, system: str) -> float | None:
    """How many times as fast native `lcaba` is as Pinocchio's fastest, both without AVX and FMA (`baseline`)."""
    ours = metrics.get(f"baseline.{system}.lcaba.native.us")
    peers = [us for p in PINOCCHIO if (us := metrics.get(f"baseline.{system}.{p}.us")) is not None]
    return min(peers) / ours if ours is not None and peers else None


def baseline_span(metrics: Metrics) -> str:
    """The least and the largest of these ratios; empty where none was measured."""
    known = [x for system in judged(metrics) if (x := baseline_ratio(metrics, system)) is not None]
    return f"{min(known):.1f} to {max(known):.1f}" if known else ""


def peers_off(results: Mapping[str, Any]) -> str:
    """On how many of the systems a peer's answers are off, by the notes of the study."""
    systems, lines = judged(results["metrics"]), []
    for name, title in (("pinocchio.lcaba", "`pin.lcaba`"), ("mujoco.forward", "`mj_forward`")):
        off = [s for s in systems if any(note.startswith(f"{s}.1: {name} is off") for note in results["notes"])]
        if off:
            lines.append(f"{title} is off by more than 1e-6 on {len(off)} of {len(systems)} systems")
    return "; ".join(lines)


def judged(metrics: Metrics) -> list[str]:
    """Systems that bars are for: all of **loops** Table II and `SHOWN`."""
    systems = dict.fromkeys(".".join(name.split(".")[:2]) for name in metrics if name.startswith(("loops.", "robots.")))
    return [s for s in systems if s.startswith("loops.") or s.removeprefix("robots.") in SHOWN]


def verdict(results: Mapping[str, Any], systems: Sequence[str], iterations: int, bar: Bar) -> str:
    """One sentence: where a bar is met and where it is missed."""
    ratios = {s.partition(".")[2]: r for s in systems if (r := ratio(results, s, iterations, bar)) is not None}
    asked = f"{bar.title} ≥ {bar.least:g}, {iterations} iteration{'s' if iterations > 1 else ''}"
    if not ratios:
        return f"{asked}: not measured."
    missed = [f"{name} ({r:.3g})" for name, r in ratios.items() if r < bar.least]
    least, most = min(ratios.values()), max(ratios.values())
    if not missed:
        return f"{asked}: **met** on all {len(ratios)} systems ({least:.2g} to {most:.2g} times)."
    return f"{asked}: **missed** on {len(missed)} of {len(ratios)} systems: {'; '.join(missed)}. Best {most:.2g}."
