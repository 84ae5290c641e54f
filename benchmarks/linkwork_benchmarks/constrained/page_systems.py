# SPDX-License-Identifier: BSD-3-Clause
"""Tables of systems and of families on the page of constrained dynamics: **loops** Table II and Figs. 6 to 9, **lqr**
Table II and Fig. 4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linkwork_benchmarks import tables
from linkwork_benchmarks.constrained import bars, papers, series, verdicts
from linkwork_benchmarks.constrained.scenarios import GROUNDED, LOCAL_LOOPS, LTL_SOFT
from linkwork_benchmarks.report import Results

BACKENDS = ("native", "specialized", "batch")
PEERS = {
    "`constraintDynamics`": "pinocchio.constraintDynamics",
    "`pin.lcaba`": "pinocchio.lcaba",
    "`mj_forward`": "mujoco.forward",
}
STAND_IN = (
    "*Digit* (alone, with a cube, and twice) is a stand-in: the paper's model of it is not public. It is made from the "
    "public file, with springs fixed and each rod cut into two halves that are welded: this has the paper's 44 "
    "velocities and 48 rows, of rank 32. *Digit, its file* is the public model as it is. The paper does not give the "
    "cube, the grasps and the postures of its systems either: those here are our own."
)
"""What is ours in **loops** Table II."""


COUNTED = (*LOCAL_LOOPS, "prox_pv", "ltl")
"""Methods whose operations are shown."""


def loops(results: Results, shown: Mapping[str, str]) -> str:
    """**loops** Table II."""
    metrics = results["metrics"]
    parts = ["## loops Table II, and robots with loops in their files"]
    parts += tables.image(shown, "systems", "Microseconds per state, one iteration")
    parts.append(STAND_IN)
    for study in ("loops", "robots"):
        rows: list[Sequence[str]] = []
        for system in series.names(metrics, study, 1):
            name = f"{study}.{system}"
            size = f"{system} {{{metrics[f'{name}.nv']:.0f}}}[{metrics[f'{name}.rows']:.0f}]"
            for iterations in (1, 3):
                cells = [
                    " / ".join(
                        tables.time(metrics.get(f"{name}.{iterations}.{m}.{backend}.us")) for backend in BACKENDS
                    )
                    for m in LOCAL_LOOPS
                ]
                peers = [peer(metrics, f"{name}.{iterations}.{p}") for p in PEERS.values()]
                if study == "loops":
                    cells.append(_aba(metrics, name) if iterations == 1 else "")
                rows.append((f"{size} ({iterations})", *cells, *peers))
        if rows:
            free = ("`aba`, no constraints",) if study == "loops" else ()
            titles = (f"{study}: system {{nv}}[rows] (iterations)", *(f"`{m}`" for m in LOCAL_LOOPS), *free, *PEERS)
            parts.append(tables.table(titles, rows))
    parts.append(
        "Cells of ours: native / specialized / batch; – where the program is too large to be compiled here. "
        "† the answer is off by more than 1e-6 (see Notes)."
    )
    parts.append(_beside_the_paper(metrics))
    parts.append("### Operations")
    for study in ("loops", "robots"):
        rows = []
        for system in series.names(metrics, study, 1):
            name = f"{study}.{system}"
            counts = [operations(metrics, f"{name}.{m}") for m in COUNTED]
            rows.append((system, *counts, f"`{results['words'].get(f'{name}.3.auto', '')}`"))
        if rows:
            parts.append(
                tables.table((study, *(f"`{m}`" for m in (*LOCAL_LOOPS, "prox_pv", "ltl")), "auto takes"), rows)
            )
    parts.append(verdicts.order_sentences(results, "loops"))
    return "\n\n".join(p for p in parts if p) if series.names(metrics, "loops", 1) else ""


def _aba(metrics: Mapping[str, float], system: str) -> str:
    times = [tables.time(metrics.get(f"{system}.1.aba.{backend}.us")) for backend in BACKENDS]
    theirs = metrics.get(f"{system}.1.pinocchio.aba.us")
    return " / ".join(times) + (f" (`pin.aba` {tables.time(theirs)})" if theirs is not None else "")


RATIOS = (("prox_bbo", "lcaba"), ("prox_ltl", "lcaba"), ("lcaba", "aba"))
"""Times of **loops** Table II that are compared as quotients, of which the machine is no part."""


def _beside_the_paper(metrics: Mapping[str, float]) -> str:
    """Quotients of native times of one iteration, beside those of the paper's."""
    rows = []
    for system, theirs in papers.LOOPS_TIMES.items():
        printed = {**theirs, "aba": papers.LOOPS_ABA[system]}
        cells = []
        for above, below in RATIOS:
            first, second = (metrics.get(f"loops.{system}.1.{m}.native.us") for m in (above, below))
            ours = "–" if first is None or second is None else f"{first / second:.2f}"
            cells.append(f"{ours} ({printed[above] / printed[below]:.2f})")
        times = " / ".join(f"{printed[m]:g}" for m in (*papers.LOOPS_METHODS, "aba"))
        rows.append((system, *cells, times))
    if not any(f"loops.{system}.1.lcaba.native.us" in metrics for system in papers.LOOPS_TIMES):
        return ""
    titles = ("one iteration", *(f"`{a}` / `{b}`" for a, b in RATIOS), "the paper's LCABA / BBO / LTL / ABA, µs")
    return "Quotients of native times, in brackets those of the paper's:\n\n" + tables.table(titles, rows)


def growth(
    results: Results, shown: Mapping[str, str], plot: str, title: str, families: Sequence[str], methods: Sequence[str]
) -> str:
    """Growth of families with their links."""
    metrics = results["metrics"]
    families = [f for f in families if series.names(metrics, f"growth.{f}", 2)]
    if not families:
        return ""
    parts = [f"## {title}", *tables.image(shown, plot, "Native time and operations over links")]
    parts.append("Powers of n that fit best from 50 to 500 links, of native time and (in brackets) of operations:")
    rows, sentences = [], []
    for family in families:
        cells = []
        for method in methods:
            powers = [series.exponent(series.growth(metrics, family, method, w)) for w in ("native.us", "operations")]
            cells.append(f"{tables.power(powers[0])} ({tables.power(powers[1])})")
            if method in bars.LINEAR.get(family, ()) and powers[0] is not None:
                met = "met" if powers[0] <= bars.EXPONENT else "missed"
                sentences.append(
                    f"- `{method}` on {tables.words(family)} ≤ {bars.EXPONENT}: **{met}** ({powers[0]:.2f})."
                )
        rows.append((tables.words(family), *cells, papers.GROWTH[family]))
    parts.append(tables.table(("family", *(f"`{m}`" for m in methods), "the paper says"), rows))
    parts.append("\n".join(sentences))
    parts.append(verdicts.claim_sentences(metrics, families))
    crossings = []
    for family in families:
        for k, a in enumerate(methods):
            for b in (*methods[:k], *methods[k + 1 :]):
                at = series.crossing(*(series.growth(metrics, family, m, "operations") for m in (a, b)))
                if at is not None:
                    crossings.append(
                        f"{tables.words(family)}: `{a}` needs fewer operations than `{b}` from {at:.0f} links on"
                    )
    if crossings:
        parts.append("Crossovers at the sizes measured:\n\n" + "\n".join(f"- {c}." for c in crossings))
    rows = []
    for family in families:
        for links in series.names(metrics, f"growth.{family}", 2):
            name = f"growth.{family}.{links}"
            times = [tables.time(metrics.get(f"{name}.{m}.native.us")) for m in methods]
            counts = [tables.whole(metrics.get(f"{name}.{m}.operations")) for m in methods]
            cells = [f"{us} ({operations})" for us, operations in zip(times, counts, strict=True)]
            rows.append((tables.words(family), links, f"{metrics[f'{name}.rows']:.0f}", *cells))
    parts.append("Native µs (operations; – where the program is too large to be counted):")
    parts.append(tables.table(("family", "links", "rows", *(f"`{m}`" for m in methods)), rows))
    return "\n\n".join(p for p in parts if p)


def lqr(results: Results, shown: Mapping[str, str]) -> str:
    """**lqr** Table II."""
    metrics = results["metrics"]
    systems = series.names(metrics, "lqr", 1)
    if not systems:
        return ""
    parts = ["## lqr Table II", *tables.image(shown, "lqr_operations", "Operations by method")]
    rows, counts, printed = [], [], []
    for system in systems:
        name = f"lqr.{system}"
        methods: tuple[str, ...] = (*GROUNDED, LTL_SOFT)
        if not metrics[f"{name}.rows"]:
            methods = tuple(LTL_SOFT if m in ("ltl", LTL_SOFT) else "aba" for m in methods)
        cells = [
            " / ".join(tables.time(metrics.get(f"{name}.1.{m}.{backend}.us")) for backend in ("native", "specialized"))
            for m in methods
        ]
        pin = "pinocchio.aba" if not metrics[f"{name}.rows"] else "pinocchio.constraintDynamics"
        peers = [peer(metrics, f"{name}.1.{p}") for p in (pin, "mujoco.forward")]
        rows.append((system, *cells, *peers))
        counts.append((system, *(tables.whole(metrics.get(f"{name}.{m}.operations")) for m in methods)))
        if system in papers.LQR_TABLE:
            printed.append((system, *(f"{us:g}" for us in papers.LQR_TABLE[system].values())))
    titles = [f"`{m}`" for m in (*GROUNDED, LTL_SOFT)]
    parts.append(
        "Native / specialized µs, one iteration where the method iterates; without rows, `aba`, and for `ltl` and "
        "`ltl_soft` the mass matrix and its factor. `ltl_soft` is the paper's LTL-s, `M + J' W J` factored with the "
        "zeros of the tree; it is text of the benchmarks, no method of the package."
    )
    parts.append(tables.table(("system", *titles, "Pinocchio", "`mj_forward`"), rows))
    parts.append("Operations:")
    parts.append(tables.table(("system", *titles), counts))
    if printed:
        parts.append("The paper's times, of generated C code but for Pin and Mu, µs:")
        parts.append(tables.table(("system", "PV", "PV-e", "LTL", "Pin", "PV-s", "LTL-s", "Mu"), printed))
    parts.append(verdicts.order_sentences(results, "lqr"))
    return "\n\n".join(p for p in parts if p)


def peer(metrics: Mapping[str, float], name: str) -> str:
    """A peer's time, with a mark where its answer is off."""
    errors = (metrics.get(f"{name}.error", 0.0), metrics.get(f"{name}.error_shared_data", 0.0))
    return tables.time(metrics.get(f"{name}.us")) + (" †" if max(errors) > 1e-6 and f"{name}.us" in metrics else "")


def operations(metrics: Mapping[str, float], name: str) -> str:
    """Operations of a first iteration, of each further one, and of the last one where that refines."""
    first, further = metrics.get(f"{name}.operations"), metrics.get(f"{name}.iteration")
    last = metrics.get(f"{name}.refinement")
    text = tables.whole(first) + (f" + {tables.whole(further)}" if further is not None else "")
    return text + (f" (last {tables.whole(last)})" if last is not None else "")
