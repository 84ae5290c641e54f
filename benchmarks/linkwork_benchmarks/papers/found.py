# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of all result files, and how they are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from linkwork_benchmarks import report, tables
from linkwork_benchmarks.constrained import bars, series, verdicts

STUDIES = ("constrained", "clusters", "delassus", "simulation")
UNKNOWN = "not measured"


def verdict(held: int, of: int) -> str:
    """The verdict on a statement that holds in some cases of several."""
    return UNKNOWN if not of else "holds" if held == of else "holds in part" if held else "fails"


def at_least(ours: Sequence[float | None], printed: Sequence[float], part: float = 1.0) -> str:
    """The verdict on ratios that should be as large as printed, or a part of that."""
    known = [(a, b) for a, b in zip(ours, printed, strict=True) if a is not None]
    return verdict(sum(a >= part * b for a, b in known), len(known))


def held_on(held: Mapping[str, bool]) -> str:
    """On how many systems a statement holds, and on which it does not."""
    if not held:
        return UNKNOWN
    others = ", ".join(system for system, holds in held.items() if not holds)
    return f"{sum(held.values())} of {len(held)} systems" + (f" (not {others})" if others else "")


class Found:
    """Results of the studies."""

    def __init__(self, folder: Path = report.RESULTS.parent) -> None:
        files = {name: folder / f"{name}.json" for name in STUDIES}
        empty: dict[str, Any] = {"metrics": {}, "words": {}, "notes": []}
        self.results: dict[str, Mapping[str, Any]] = {
            name: report.read(file) if file.exists() else empty for name, file in files.items()
        }

    def metrics(self, study: str) -> Mapping[str, float]:
        """The numbers of a study."""
        found: Mapping[str, float] = self.results[study]["metrics"]
        return found

    def get(self, study: str, name: str) -> float | None:
        """One number; None where it was not measured."""
        return self.metrics(study).get(name)

    def us(self, study: str, name: str) -> str:
        """A time in microseconds."""
        x = self.get(study, f"{name}.us")
        return UNKNOWN if x is None else f"{tables.time(x)} µs"

    def count(self, study: str, name: str) -> str:
        """A count of operations."""
        x = self.get(study, f"{name}.operations")
        return UNKNOWN if x is None else tables.whole(x)

    def quotient(self, study: str, above: str, below: str, digits: str = ".2f") -> str:
        """One number over another."""
        a, b = self.get(study, above), self.get(study, below)
        return UNKNOWN if a is None or b is None else f"{a / b:{digits}}"

    def ratio(self, study: str, above: str, below: str) -> float | None:
        """One number over another; None where one was not measured."""
        a, b = self.get(study, above), self.get(study, below)
        return None if a is None or b is None else a / b

    def power(self, family: str, method: str, measure: str = "native.us") -> str:
        """The power of links that fits a curve of growth of constrained dynamics."""
        found = series.exponent(series.growth(self.metrics("constrained"), family, method, measure))
        return UNKNOWN if found is None else f"n^{found:.2f}"

    def powers(self, family: str, methods: Iterable[str]) -> str:
        """The same of several methods: native times, in brackets operations."""
        parts = []
        for method in methods:
            timed, counted = self.power(family, method), self.power(family, method, "operations")
            if timed == UNKNOWN and counted != UNKNOWN:
                timed = "timed at too few sizes"
            parts.append(f"`{method}` {timed}{'' if counted == UNKNOWN else f' ({counted})'}")
        return ", ".join(parts)

    def claimed(self, *families: str) -> str:
        """The verdict on the orders that figures of growth show."""
        metrics = self.metrics("constrained")
        held = [
            found[0]
            for claim in verdicts.CLAIMS
            for measure in verdicts.MEASURES
            if claim.family in families and (found := verdicts.holds(metrics, claim, measure)) is not None
        ]
        return verdict(sum(held), len(held))

    def ordered(self, table: str) -> str:
        """The verdict on the order of methods in a table, by operations and native times."""
        found = [
            o.same
            for measure in verdicts.MEASURES
            for o in verdicts.orders(self.results["constrained"], table, measure)
        ]
        return verdict(sum(found), len(found))

    def linear(self, *curves: tuple[str, str], measure: str = "native.us") -> str:
        """The verdict on linear growth: the power is at most `bars.EXPONENT`."""
        powers = [
            series.exponent(series.growth(self.metrics("constrained"), family, method, measure))
            for family, method in curves
        ]
        return verdict(sum(p is not None and p <= bars.EXPONENT for p in powers), len(powers))

    def claims(self, family: str) -> str:
        """Whether the orders that a figure of growth shows hold here."""
        metrics, parts = self.metrics("constrained"), []
        for claim in verdicts.CLAIMS:
            if claim.family != family:
                continue
            words = []
            for measure, name in verdicts.MEASURES.items():
                held = verdicts.holds(metrics, claim, measure)
                if held is not None:
                    words.append(f"{name} {'hold' if held[0] else '**fail**'}")
            parts.append(f"`{claim.below}` below `{claim.above}`: {', '.join(words) or UNKNOWN}")
        return "; ".join(parts)

    def orders(self, table: str) -> str:
        """On how many systems of a table the order of methods is the paper's."""
        parts = []
        for measure, name in verdicts.MEASURES.items():
            found = verdicts.orders(self.results["constrained"], table, measure)
            if found:
                parts.append(f"{name} {held_on({o.system: o.same for o in found})}")
        return "order of methods as printed: " + (", ".join(parts) if parts else UNKNOWN)

    def span(self, numbers: Sequence[float | None], form: str = ".2f") -> str:
        """Least and largest of some numbers."""
        known = [x for x in numbers if x is not None]
        if not known:
            return UNKNOWN
        return f"{min(known):{form}} to {max(known):{form}}" if len(known) > 1 else f"{known[0]:{form}}"
