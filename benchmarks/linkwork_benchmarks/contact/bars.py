# SPDX-License-Identifier: BSD-3-Clause
"""What is asked of the numbers, and whether results show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from linkwork_benchmarks.constrained import series
from linkwork_benchmarks.contact.scenarios import ONE, RESIDUAL, TEN, THOUSAND, TWENTY

Metrics = Mapping[str, float]

NEWTON = "step.newton"
PEERS = ("pinocchio.admm", "pinocchio.pgs")
TUNED = ("pinocchio.admm_tuned",)
"""With settings that are not its own, and not asked for."""
SPEEDUPS = {ONE: 1.0, TEN: 5.0, THOUSAND: 50.0, TWENTY: 20.0}
"""How many times faster a whole step by Newton's method is to be than the faster of Pinocchio's solvers alone."""
MOST_STEPS = 20
EXPONENT = 1.1
MOTIONS = ("standing", "pushed", "dropped")
MUJOCO, OPEN = 8.0, 1e-6
"""How many times faster than ``mj_step`` a step of Cassie in a batch is to be, and how far its loops may be open."""


class Bar(NamedTuple):
    """Something asked, what was found, and whether it is enough; None where it was not measured."""

    asked: str
    found: str
    met: bool | None


def piles(metrics: Metrics) -> list[str]:
    """Problems that were measured, in the order of the file."""
    return series.names(metrics, "solve", 1)


def value(metrics: Metrics, pile: str, solver: str, what: str) -> float | None:
    """A metric of a solver."""
    return metrics.get(f"solve.{pile}.{solver}.{what}")


def fastest_peer(metrics: Metrics, pile: str, peers: Sequence[str] = PEERS) -> float | None:
    """Microseconds of the fastest of Pinocchio's solvers that reached the residual."""
    times = [us for peer in peers if (us := value(metrics, pile, peer, "us")) is not None]
    return min(times, default=None)


def speedup(metrics: Metrics, pile: str, solver: str, peers: Sequence[str] = PEERS) -> float | None:
    """How many times faster a solver is than Pinocchio's."""
    ours, theirs = value(metrics, pile, solver, "us"), fastest_peer(metrics, pile, peers)
    return None if ours is None or theirs is None else theirs / ours


def growth(metrics: Metrics, family: str, solver: str) -> float | None:
    """The power of the size that the time of an iteration grows with."""
    curve = series.growth(metrics, family, solver, "us_per_iteration")
    return series.exponent(curve, 10, 500)


def bars(metrics: Metrics) -> list[Bar]:
    """All that is asked."""
    found = []
    for pile, least in SPEEDUPS.items():
        ratio = speedup(metrics, pile, NEWTON)
        tuned = speedup(metrics, pile, NEWTON, (*PEERS, *TUNED))
        said = "not measured" if ratio is None else f"{ratio:.1f} times; tuned {tuned:.1f}"
        asked = f"{pile}: a whole step by `newton` at least {least:g} times as fast as Pinocchio's solve alone"
        found.append(Bar(asked, said, None if ratio is None else ratio >= least))
    steps = {pile: value(metrics, pile, NEWTON, "iterations") for pile in piles(metrics)}
    known = [n for n in steps.values() if n is not None]
    enough = len(known) == len(steps) > 0
    residuals = [value(metrics, pile, NEWTON, "residual") or 0.0 for pile in steps]
    met = max(known) <= MOST_STEPS and max(residuals) <= RESIDUAL if enough else None
    said = f"{max(known):.0f} at most" if known else "not measured"
    found.append(Bar(f"at most {MOST_STEPS} Newton steps on all of them, residuals at most {RESIDUAL:g}", said, met))
    for family in ("boxes", "swimmer"):
        power = growth(metrics, family, "newton")
        said = "not measured" if power is None else f"{power:.2f}"
        asked = f"time of a Newton step by the number of {family}: exponent at most {EXPONENT:g}"
        found.append(Bar(asked, said, None if power is None else power <= EXPONENT))
    return [*found, *(on_ground(metrics, motion) for motion in MOTIONS)]


def on_ground(metrics: Metrics, motion: str) -> Bar:
    """What is asked of Cassie on the ground."""
    name = f"robots.cassie.{motion}"
    ratio, opened = metrics.get(f"{name}.compiled.ratio"), metrics.get(f"{name}.compiled.open")
    asked = (
        f"Cassie {motion}, 8 contact points, batch of 4096 on one core: at least {MUJOCO:g} times `mj_step`, loops "
        f"open by less than {OPEN:g} m"
    )
    if ratio is None or opened is None:
        return Bar(asked, "not measured", None)
    return Bar(asked, f"{ratio:.1f} times, {opened:.0e} m", ratio >= MUJOCO and opened < OPEN)
