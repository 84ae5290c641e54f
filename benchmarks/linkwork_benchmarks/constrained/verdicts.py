# SPDX-License-Identifier: BSD-3-Clause
"""Who needs less than whom, and whether that is what the papers find: sentences made from results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from linkwork_benchmarks import tables
from linkwork_benchmarks.constrained import papers, series
from linkwork_benchmarks.report import Results

Metrics = Mapping[str, float]

MEASURES = {"operations": "operations", "native.us": "native times"}
"""What is compared, by the ends of the names of metrics."""

LEAST_LINKS = 49
"""Members of a family from which on a claim is judged."""


class Order(NamedTuple):
    """The methods of one system, fewest first, by us and by the paper."""

    system: str
    ours: tuple[str, ...]
    paper: tuple[str, ...]
    same: bool
    """Whether no pair of methods is the other way round."""


def orders(results: Results, table: str, measure: str) -> list[Order]:
    """The order of methods on each system of a table, **loops** or **lqr** Table II, by one measure."""
    metrics, found = results["metrics"], []
    printed = papers.LOOPS_TIMES if table == "loops" else papers.LQR_TIMES
    for system, times in printed.items():
        start = f"{table}.{system}." if measure == "operations" else f"{table}.{system}.1."
        mine = {m: metrics.get(f"{start}{m}.{measure}") for m in times}
        known = {m: c for m, c in mine.items() if c is not None}
        if len(known) < 2:
            continue
        ours = sorted(known, key=lambda m: known[m])
        theirs = sorted(known, key=lambda m: times[m])
        other = any(times[a] > times[b] for k, a in enumerate(ours) for b in ours[k + 1 :])
        found.append(Order(system, tuple(ours), tuple(theirs), not other))
    return found


def order_sentences(results: Results, table: str) -> str:
    """On which systems the order is the paper's, by operations and by native times."""
    lines = []
    for measure, words in MEASURES.items():
        found = orders(results, table, measure)
        if not found:
            continue
        same = [o.system for o in found if o.same]
        line = f"- By {words}: the same on {len(same)} of {len(found)} systems"
        lines.append(line + (f" ({'; '.join(same)})." if same else "."))
        lines += [
            f"    - {o.system}: ours {_chain(o.ours)}; the paper's {_chain(o.paper)}" for o in found if not o.same
        ]
    if not lines:
        return ""
    return f"Order of methods, against that of the times in {table} Table II:\n\n" + "\n".join(lines)


def _chain(methods: Sequence[str]) -> str:
    return " < ".join(f"`{m}`" for m in methods)


# Families ----------------------------------------------------------------------------------------------------------


class Claim(NamedTuple):
    """A figure shows one method below another on a family."""

    family: str
    figure: str
    below: str
    above: str


CLAIMS = (
    Claim("single_loop", "loops Fig. 6", "lcaba", "prox_ltl"),
    Claim("single_loop", "loops Fig. 6", "prox_bbo", "prox_ltl"),
    Claim("chain_of_loops", "loops Fig. 7", "prox_bbo", "lcaba"),
    Claim("chain_of_loops", "loops Fig. 7", "lcaba", "prox_ltl"),
    Claim("chain_of_hinged_loops", "loops Fig. 7", "prox_bbo", "lcaba"),
    Claim("chain_of_hinged_loops", "loops Fig. 7", "lcaba", "prox_ltl"),
    Claim("star_of_loops", "loops Fig. 9", "lcaba", "prox_bbo"),
    Claim("star_of_loops", "loops Fig. 9", "prox_bbo", "prox_ltl"),
    Claim("held_chain", "lqr Fig. 4a", "pv", "ltl"),
    Claim("held_chain", "lqr Fig. 4a", "pv_early", "ltl"),
    Claim("held_chain", "lqr Fig. 4a", "pv_soft", "ltl_soft"),
    Claim("ladder", "lqr Fig. 4c", "pv_early", "pv"),
    Claim("ladder", "lqr Fig. 4c", "pv_soft", "ltl_soft"),
)
"""What the papers' figures of growth show, as pairs."""


def holds(metrics: Metrics, claim: Claim, measure: str) -> tuple[bool, str] | None:
    """Whether a claim holds at all sizes from `LEAST_LINKS` on, and a word on where not; None if not measured."""
    below, above = (
        dict(series.growth(metrics, claim.family, method, measure)) for method in (claim.below, claim.above)
    )
    sizes = [n for n in below if n in above and n >= LEAST_LINKS]
    if not sizes:
        return None
    wrong = [n for n in sizes if below[n] >= above[n]]
    ratios = [above[n] / below[n] for n in sizes]
    range_of = f"{min(ratios):.2f} to {max(ratios):.2f} times as much" if len(ratios) > 1 else f"{ratios[0]:.2f} times"
    if not wrong:
        return True, f"`{claim.above}` {range_of}"
    where = "all sizes" if len(wrong) == len(sizes) else ", ".join(f"{n:.0f}" for n in wrong) + " links"
    return False, f"at {where}; `{claim.above}` {range_of}"


def claim_sentence(metrics: Metrics, claim: Claim) -> str:
    """One sentence: whether a figure's order holds here."""
    parts = []
    for measure, words in MEASURES.items():
        found = holds(metrics, claim, measure)
        if found is not None:
            parts.append(f"**{'holds' if found[0] else 'fails'}** by {words} ({found[1]})")
    family = tables.words(claim.family)
    return f"{claim.figure}, {family}, `{claim.below}` below `{claim.above}`: {'; '.join(parts)}." if parts else ""


def claim_sentences(metrics: Metrics, families: Sequence[str]) -> str:
    """All claims about some families."""
    lines = [s for c in CLAIMS if c.family in families and (s := claim_sentence(metrics, c))]
    return (
        f"What the figures show, from {LEAST_LINKS} links on:\n\n" + "\n".join(f"- {s}" for s in lines) if lines else ""
    )
