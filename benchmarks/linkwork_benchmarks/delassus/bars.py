# SPDX-License-Identifier: BSD-3-Clause
"""What is asked of the numbers, and whether results show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from linkwork_benchmarks.constrained import series
from linkwork_benchmarks.delassus import papers
from linkwork_benchmarks.delassus.operators import AGREES
from linkwork_benchmarks.delassus.scenarios import EXPLICIT, METHODS

Metrics = Mapping[str, float]

PYRAMID = "Box pyramid"
MEMORY = 1e6
"""Bytes of work memory that are to be enough there."""
EXPONENT = 1.1
"""Growth that counts as linear."""

FROM = {"us": 49, "operations": 19}
"""Links or boxes from which on powers are fitted: before, the call from Python counts."""

QUANTITIES = {"product": "the operator", "inverse": "the damped inverse"}
FURTHER = {"product": "the operator", "inverse": "the damped inverse", "damping": "the inverse with a new damping"}


class Whose(Enum):
    """Who makes the matrix."""

    PINOCCHIO = "Pinocchio's own"
    LAPACK = "Pinocchio's Jacobian and mass matrix, dense algebra"
    LINKWORK = "our own matrix"


class Route(NamedTuple):
    """A route to the matrix, and to a first application of the damped inverse."""

    title: str
    parts: Mapping[str, float]
    """Metrics that are added, and their signs."""
    whose: Whose = Whose.PINOCCHIO


CHOLESKY, LAPACK = "Cholesky", "LAPACK"
_OWN = {method: f"our `{method}`" for method in EXPLICIT}
BASELINE = "ltl"
"""The method that **delassus** compares with."""
ROUTES: Mapping[str, tuple[Route, ...]] = {
    "product": (
        *(Route(title, {f"matrix.{method}": 1.0}, Whose.LINKWORK) for method, title in _OWN.items()),
        Route("`computeDelassusMatrix`", {"pinocchio.delassus": 1.0}),
        Route(CHOLESKY, {"pinocchio.cholesky.matrix": 1.0, "pinocchio.cholesky.calc": -1.0}),
        Route(LAPACK, {"pinocchio.jacobian": 1.0, "pinocchio.cholesky.calc": -1.0}, Whose.LAPACK),
    ),
    "inverse": (
        *(
            Route(title, {f"matrix.{method}": 1.0, "dense.damping": 1.0}, Whose.LINKWORK)
            for method, title in _OWN.items()
        ),
        Route("`computeDampedDelassusMatrixInverse`", {"pinocchio.damped": 1.0}),
        Route("lemma", {"pinocchio.lemma": 1.0}),
        Route(CHOLESKY, {"pinocchio.cholesky.first": 1.0, "pinocchio.cholesky.calc": -1.0}),
        Route(LAPACK, {"pinocchio.jacobian": 1.0, "pinocchio.cholesky.calc": -1.0, "dense.damping": 1.0}, Whose.LAPACK),
    ),
}
"""Explicit routes, ours and Pinocchio's: to the matrix, and to the first application of the damped inverse.

A loop in Python over contacts, which Pinocchio's Cholesky decomposition needs, is left out of their times.
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


def fastest(metrics: Metrics, row: str, quantity: str) -> tuple[str, float] | None:
    """The fastest right route to a matrix of all, ours and Pinocchio's, and its microseconds."""
    known = [
        (r.title, t)
        for r in ROUTES[quantity]
        if right(metrics, row, r) and (t := route_time(metrics, row, r)) is not None
    ]
    return min(known, key=lambda found: found[1], default=None)


def ratio(metrics: Metrics, row: str, quantity: str, backend: str = "native") -> float | None:
    """How many times as fast a first application is as the fastest right route of all."""
    mine, peer = ours(metrics, row, f"{quantity}.{backend}"), fastest(metrics, row, quantity)
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
        ratios = {r: x for r in rows(metrics) if (x := ratio(metrics, r, quantity)) is not None}
        found.append(
            verdict(f"First application of {words}, native, faster than the best right route to a matrix", ratios)
        )
    if PYRAMID not in rows(metrics):
        return found
    found += [line for quantity in QUANTITIES if (line := _pyramid(metrics, quantity))]
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


def _pyramid(metrics: Metrics, quantity: str) -> str:
    """One sentence: ratios on the pyramid to the best right route, and to the method that the paper compares with."""
    mine, best = ours(metrics, PYRAMID, f"{quantity}.native"), fastest(metrics, PYRAMID, quantity)
    if mine is None or best is None:
        return ""
    baseline = next(route for route in ROUTES[quantity] if route.title == _OWN[BASELINE])
    ltl, paper = route_time(metrics, PYRAMID, baseline), getattr(papers.TABLE[PYRAMID], quantity)
    beside = "" if ltl is None else f" It is {times(ltl / mine)} times faster than by {baseline.title}."
    return (
        f"On the pyramid {QUANTITIES[quantity]} is {times(best[1] / mine)} times faster than the best right route, "
        f"{best[0]}.{beside} The paper's is {times(paper.ratio)} times faster than its LTL-OSIM."
    )


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
