# SPDX-License-Identifier: BSD-3-Clause
"""What is asked of the numbers, and whether results show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from linkwork_benchmarks.constrained import series
from linkwork_benchmarks.delassus import papers
from linkwork_benchmarks.delassus.operators import AGREES
from linkwork_benchmarks.delassus.scenarios import METHODS

Metrics = Mapping[str, float]

PYRAMID = "Box pyramid"
LEAST = {"product": 100.0, "inverse": 200.0}
"""How many times as fast as Pinocchio's explicit matrix first applications are to be on the pyramid."""
MEMORY = 1e6
"""Bytes of work memory that are to be enough there."""
EXPONENT = 1.1
"""Growth that counts as linear."""

FROM = {"us": 49, "operations": 19}
"""Links or boxes from which on powers are fitted: before, the call from Python counts."""

QUANTITIES = {"product": "the operator", "inverse": "the damped inverse"}
FURTHER = {"product": "the operator", "inverse": "the damped inverse", "damping": "the inverse with a new damping"}


class Route(NamedTuple):
    """A route of Pinocchio to a matrix or to a first application."""

    title: str
    parts: Mapping[str, float]
    """Metrics that are added, and their signs."""
    own: bool = True
    """Whether Pinocchio does all of it itself."""


CHOLESKY, LAPACK = "Cholesky", "LAPACK"
ROUTES: Mapping[str, tuple[Route, ...]] = {
    "product": (
        Route("`computeDelassusMatrix`", {"pinocchio.delassus": 1.0}),
        Route(CHOLESKY, {"pinocchio.cholesky.matrix": 1.0, "pinocchio.cholesky.calc": -1.0}),
        Route(LAPACK, {"pinocchio.jacobian": 1.0, "pinocchio.cholesky.calc": -1.0}, own=False),
    ),
    "inverse": (
        Route("`computeDampedDelassusMatrixInverse`", {"pinocchio.damped": 1.0}),
        Route("lemma", {"pinocchio.lemma": 1.0}),
        Route(CHOLESKY, {"pinocchio.cholesky.first": 1.0, "pinocchio.cholesky.calc": -1.0}),
        Route(LAPACK, {"pinocchio.jacobian": 1.0, "pinocchio.cholesky.calc": -1.0, "dense.damping": 1.0}, own=False),
    ),
}
"""Routes of Pinocchio's to the matrix, and to the first application of the damped inverse.

A loop in Python over contacts, which its Cholesky decomposition needs, is left out of their times.
"""


def rows(metrics: Metrics) -> list[str]:
    """Rows of the table that were measured, in the order of the file."""
    return series.names(metrics, "table", 1)


def ours(metrics: Metrics, row: str, backend: str) -> float | None:
    """Microseconds of ours."""
    return metrics.get(f"table.{row}.{backend}.us")


def route_time(metrics: Metrics, row: str, route: Route) -> float | None:
    """Microseconds of a route; None where it was not measured."""
    times = {part: metrics.get(f"table.{row}.{part}.us") for part in route.parts}
    if any(t is None for t in times.values()):
        return None
    return sum(sign * (times[part] or 0.0) for part, sign in route.parts.items())


def right(metrics: Metrics, row: str, route: Route) -> bool:
    """Whether a route gives the right numbers."""
    errors = [metrics.get(f"table.{row}.{part}.error", 0.0) for part in route.parts]
    return max(errors) < AGREES


def fastest(metrics: Metrics, row: str, quantity: str, own: bool = True) -> tuple[str, float] | None:
    """The fastest right route, of Pinocchio's own or of all, and its microseconds."""
    known = [
        (r.title, t)
        for r in ROUTES[quantity]
        if (r.own or not own) and right(metrics, row, r) and (t := route_time(metrics, row, r)) is not None
    ]
    return min(known, key=lambda found: found[1], default=None)


def ratio(metrics: Metrics, row: str, quantity: str, backend: str = "native", own: bool = True) -> float | None:
    """How many times as fast a first application is as the fastest right route, Pinocchio's own or of all."""
    mine, peer = ours(metrics, row, f"{quantity}.{backend}"), fastest(metrics, row, quantity, own)
    return None if mine is None or peer is None else peer[1] / mine


def explicit(metrics: Metrics, row: str, what: str) -> float | None:
    """Microseconds of the fastest further application with a matrix or factor: NumPy's, LAPACK's or Pinocchio's."""
    names = [f"dense.{what}", f"pinocchio.cholesky.{what}", *(["dense.plain"] if what == "product" else [])]
    known = [metrics.get(f"table.{row}.{name}.us") for name in names]
    return min((t for t in known if t is not None), default=None)


def further_ratio(metrics: Metrics, row: str, what: str) -> float | None:
    """How many times as fast a further application is as the fastest explicit one."""
    mine, other = ours(metrics, row, f"further.{what}"), explicit(metrics, row, what)
    return None if mine is None or other is None else other / mine


# Sentences -------------------------------------------------------------------------------------------------


def times(x: float) -> str:
    """A ratio to as many digits as it is worth."""
    return f"{x:.2g}" if x < 10 else f"{x:.0f}"


def verdict(claim: str, found: Mapping[str, float], least: float = 1.0) -> str:
    """One sentence: on which rows a ratio is at least so large."""
    if not found:
        return f"{claim}: not measured."
    missed = [f"{name} ({times(x)})" for name, x in found.items() if x < least]
    low, high = times(min(found.values())), times(max(found.values()))
    if missed:
        return f"{claim}: **missed** on {len(missed)} of {len(found)} rows: {'; '.join(missed)}. Best {high}."
    if len(found) == 1:
        return f"{claim}: **met** ({high} times)."
    return f"{claim}: **met** on all {len(found)} rows ({low} to {high} times)."


def first_verdicts(metrics: Metrics) -> list[str]:
    """Of first applications, and of the pyramid."""
    found = []
    for quantity, words in QUANTITIES.items():
        for own, whose in ((True, "Pinocchio's fastest right route"), (False, "the fastest right route of all")):
            ratios = {r: x for r in rows(metrics) if (x := ratio(metrics, r, quantity, own=own)) is not None}
            found.append(verdict(f"First application of {words}, native, faster than {whose}", ratios))
    if PYRAMID not in rows(metrics):
        return found
    for quantity, words in QUANTITIES.items():
        known, least = ratio(metrics, PYRAMID, quantity), LEAST[quantity]
        claim = f"On the pyramid {words} ≥ {least:g} times faster than Pinocchio's fastest right route"
        found.append(verdict(claim, {} if known is None else {PYRAMID: known}, least) + _others(metrics, quantity))
    sizes = [metrics.get(f"table.{PYRAMID}.memory.{what}") for what in ("operator", "damped_inverse")]
    bytes_ = [x for x in sizes if x is not None]
    if bytes_:
        word = "met" if max(bytes_) < MEMORY else "missed"
        shown = " and ".join(f"{x / 1e3:.0f} kB" for x in bytes_)
        matrix = metrics[f"table.{PYRAMID}.memory.matrix"] / 1e3
        found.append(
            f"Less than {MEMORY / 1e6:g} MB of work memory on the pyramid: **{word}** ({shown}; the matrix alone has "
            f"{matrix:.0f} kB, its factor as many)."
        )
    return found


def _others(metrics: Metrics, quantity: str) -> str:
    """Ratios on the pyramid to what is wrong there, or is not Pinocchio's alone."""
    mine = ours(metrics, PYRAMID, f"{quantity}.native")
    told = []
    for route in ROUTES[quantity]:
        t = route_time(metrics, PYRAMID, route)
        if mine is not None and t is not None and (not route.own or not right(metrics, PYRAMID, route)):
            why = "wrong there" if route.own else "Pinocchio's Jacobian and mass matrix, dense algebra"
            told.append(f"{route.title} ({why}): {times(t / mine)} times")
    return f" To {'; '.join(told)}." if told else ""


def further_verdicts(metrics: Metrics) -> list[str]:
    """Of further applications, on the rows where the paper has the matrix-free one faster."""
    found = []
    for what, words in FURTHER.items():
        faster = [r for r in rows(metrics) if r in papers.TABLE and _paper_further(r, what).ratio > 1]
        ratios = {r: x for r in faster if (x := further_ratio(metrics, r, what)) is not None}
        claim = f"Further applications of {words}, faster than with a matrix, on the rows where the paper's is"
        sentence = verdict(claim, ratios)
        others = [
            r
            for r in rows(metrics)
            if r in papers.TABLE and r not in faster and (further_ratio(metrics, r, what) or 0.0) > 1
        ]
        found.append(sentence + (f" It is also on {'; '.join(others)}." if others else ""))
    return found


def _paper_further(row: str, what: str) -> papers.Both:
    found: papers.Both = getattr(papers.TABLE[row], f"further_{what}")
    return found


# Growth ----------------------------------------------------------------------------------------------------


def growth(metrics: Metrics, family: str, backend: str, measure: str) -> series.Curve:
    """A metric over the size of a family: ``measure`` is ``us`` or ``operations``."""
    found = []
    for size in series.names(metrics, f"growth.{family}", 2):
        value = metrics.get(f"growth.{family}.{size}.{backend}.{measure}")
        if value is not None:
            found.append((float(size), value))
    return sorted(found)


def power(curve: series.Curve, measure: str, least: float | None = None) -> float | None:
    """The power of the size that fits best."""
    return series.exponent(curve, least=FROM[measure] if least is None else least, most=float("inf"))


def growth_verdicts(metrics: Metrics, family: str) -> list[str]:
    """Whether times and operations grow linearly."""
    found = []
    for quantity, words in QUANTITIES.items():
        backends = {"us": (f"{quantity}.native", "time"), "operations": (quantity, "operations")}
        known = {
            word: p
            for measure, (backend, word) in backends.items()
            if (p := power(growth(metrics, family, backend, measure), measure)) is not None
        }
        if known:
            word = "met" if max(known.values()) <= EXPONENT else "missed"
            shown = ", ".join(f"{word} n^{p:.2f}" for word, p in known.items())
            found.append(f"{words.capitalize()} on the {family} ≤ n^{EXPONENT:g}: **{word}** ({shown}).")
    return found


# lqr Fig. 2 ------------------------------------------------------------------------------------------------


def counted(metrics: Metrics) -> dict[str, dict[str, float]]:
    """Operations of each robot by method, the factor included."""
    found: dict[str, dict[str, float]] = {}
    for robot in series.names(metrics, "operations", 1):
        known = {m: metrics.get(f"operations.{robot}.{m}.operations") for m in METHODS}
        found[robot] = {m: x for m, x in known.items() if x is not None}
    return found


def order_verdicts(metrics: Metrics) -> list[str]:
    """The orders that **lqr** finds in Fig. 2."""
    every = counted(metrics)
    floating = [r for r in every if "pv_osim_fast" in every[r] or not r.startswith("Iiwa")]
    fixed = [r for r in every if r not in floating]
    return [
        _holds("PV-OSIM needs less than EFPA", {r: _less(every[r], "pv_osim", ("efpa",)) for r in every}),
        _holds("LTL needs least on the arm", {r: _less(every[r], "ltl", METHODS) for r in fixed}),
        _holds(
            "LTL does not need least on floating robots", {r: _not(_less(every[r], "ltl", METHODS)) for r in floating}
        ),
        _holds(
            "PV-OSIM-fast needs least on floating robots",
            {r: _less(every[r], "pv_osim_fast", METHODS) for r in floating},
        ),
        _holds("KJR needs more than EFPA", {r: _less(every[r], "efpa", ("kjr",)) for r in every}),
    ]


def _less(found: Mapping[str, float], method: str, others: Sequence[str]) -> bool | None:
    """Whether a method needs less than some others; None where it was not counted."""
    rest = [found[m] for m in others if m in found and m != method]
    return None if method not in found or not rest else found[method] < min(rest)


def _not(x: bool | None) -> bool | None:
    return None if x is None else not x


def _holds(claim: str, found: Mapping[str, bool | None]) -> str:
    known = {r: x for r, x in found.items() if x is not None}
    if not known:
        return f"{claim}: not counted."
    wrong = [r for r, x in known.items() if not x]
    if not wrong:
        return f"{claim}: **holds** on {', '.join(known)}."
    return f"{claim}: **fails** on {', '.join(wrong)}, holds on {len(known) - len(wrong)} of {len(known)}."


class Crossing(NamedTuple):
    """From which stem on EFPA needs less."""

    stem: float | None
    """None where there is none."""
    beyond: bool = False
    """Whether it is beyond the stems that were counted, along the last two."""


def stalk(metrics: Metrics, branches: str, method: str) -> series.Curve:
    """Operations to make the matrix, over links of the stem."""
    stems = series.names(metrics, f"stalk.{branches}", 2)
    return sorted((float(n), metrics[f"stalk.{branches}.{n}.{method}.operations"]) for n in stems)


def crossing(metrics: Metrics, branches: str) -> Crossing | None:
    """Where the lines of PV-OSIM and EFPA cross, which are straight but for the first links; None if unknown."""
    first, second = (stalk(metrics, branches, m) for m in ("pv_osim", "efpa"))
    gaps = [(n, y - z) for (n, y), (_, z) in zip(first, second, strict=True)]
    if len(gaps) < 2:
        return None
    if gaps[0][1] >= 0:
        return Crossing(gaps[0][0])
    for (n, y), (m, z) in pairwise(gaps):
        if y < 0 <= z:
            return Crossing(n + (m - n) * y / (y - z))
    (n, y), (m, z) = gaps[-2:]
    return Crossing(m + (m - n) * z / (y - z), beyond=True) if z > y else Crossing(None)


def per_link(metrics: Metrics, branches: str, method: str) -> float | None:
    """Operations of a further link, along the last two stems."""
    curve = stalk(metrics, branches, method)
    if len(curve) < 2:
        return None
    (n, y), (m, z) = curve[-2:]
    return (z - y) / (m - n)
