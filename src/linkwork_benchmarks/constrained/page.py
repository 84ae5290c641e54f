# SPDX-License-Identifier: BSD-3-Clause
"""The page of results, in Markdown with plots. No number on it is written by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from linkwork_benchmarks import drawing, report, tables
from linkwork_benchmarks.constrained import bars, papers, plots, series
from linkwork_benchmarks.constrained.scenarios import GROUNDED, PROXIMAL, REGULARIZATION
from linkwork_benchmarks.report import Results
from linkwork_benchmarks.scenarios import BATCH

PAGE = report.REPOSITORY / "docs" / "benchmarks.md"

BACKENDS = ("native", "specialized", "batch")
SUMMARY = {
    "lcaba.native": "native `lcaba`",
    "lcaba.native_batch": "native batch",
    "auto.specialized": "specialized",
    "auto.batch": "batch",
}
"""Columns of the README's table; of those that the result file has."""
PEERS = {
    "`constraintDynamics`": "pinocchio.constraintDynamics",
    "`pin.lcaba`": "pinocchio.lcaba",
    "`mj_forward`": "mujoco.forward",
}


def write(results: Results, page: Path | None = None) -> Path:
    """Write the page, and its plots in the folder ``plots`` beside it."""
    page = page or PAGE
    shown = drawing.write_beside(page, plots.PLOTS, results)
    sections = (
        _introduction(results),
        _bars(results),
        _loops(results, shown),
        _growth(
            results,
            shown,
            "loops_growth",
            "loops Figs. 6 to 9",
            ("single_loop", "chain_of_loops", "coupled_loops", "star_of_loops"),
            PROXIMAL,
        ),
        _convergence(results, shown),
        _lqr(results, shown),
        _growth(results, shown, "lqr_growth", "lqr Fig. 4: chains and ladders", ("held_chain", "ladder"), GROUNDED),
        _softness(results, shown),
        _proximal(results, shown),
        _duplicated(results),
        tables.notes(results),
    )
    return tables.write_page(page, sections)


def summary(results: Results) -> str:
    """One table for the README: a state a call and in batches, one iteration, beside the fastest of each peer."""
    metrics, rows = results["metrics"], []
    measured = {name.split(".", 3)[-1] for name in metrics if name.endswith(".us")}
    shown = {
        backend: title
        for backend, title in SUMMARY.items()
        if backend.startswith("auto.") or f"{backend}.us" in measured
    }
    for system in bars.judged(metrics):
        best = bars.fastest(results, system, 1, bars.PINOCCHIO)
        cells = [tables.time(best), tables.time(bars.fastest(results, system, 1, bars.MUJOCO))]
        for backend in shown:
            mine = bars.time(results, system, 1, backend)
            ratio = "" if mine is None or best is None else f" ({best / mine:.1f}×)"
            cells.append(tables.time(mine) + ratio)
        size = f"{metrics[f'{system}.nv']:.0f}, {metrics[f'{system}.rows']:.0f}"
        rows.append((f"{system.partition('.')[2]} ({size})", f"`{results['words'][f'{system}.1.auto']}`", *cells))
    titles = (
        "system (velocities, rows)",
        "auto takes",
        "Pinocchio",
        "MuJoCo",
        *shown.values(),
    )
    return tables.table(titles, rows)


# Parts -----------------------------------------------------------------------------------------------------


def _introduction(results: Results) -> str:
    return (
        "# Constrained dynamics, as the papers measure it\n\n"
        "Made by `python -m linkwork_benchmarks page` from the result file of "
        "`python -m linkwork_benchmarks constrained`: every "
        "number on this page, and every sentence that says which bars are met. "
        f"{tables.circumstances(results, mujoco=True)}\n\n"
        "All times are microseconds per state, called from Python, contenders taking turns in one process, best of "
        f"{results['rounds']} rounds. *native*: `fd(q, v, tau)`; *specialized*: `fd.compile()(q, v, tau)`; "
        f"*native batch*, *batch*: {BATCH} states a call of these on one thread. Proximal methods, ours and "
        f"Pinocchio's, have the regularization {REGULARIZATION:g} and a fixed number of iterations. States are random "
        "ones about the assembled pose, with loops closed and velocities that keep them so. Before anything is timed, "
        "accelerations are compared: ours and Pinocchio's after the same number of iterations, MuJoCo's (soft rows, no "
        "bias) at rest with the softness that MuJoCo chose; what differs by more than 1e-6 of the largest acceleration "
        "is under [Notes](#notes). MuJoCo runs without contacts, limits, friction, damping, springs and actuators.\n\n"
        "*Operations* are exact counts of + - * / sqrt sincos in the specialized program: no clock, no noise. An entry "
        "`a + b` means `a` for the first iteration and `b` for each further one."
    )


def _bars(results: Results) -> str:
    systems = bars.judged(results["metrics"])
    if not systems:
        return ""
    parts = ["## Bars"]
    for iterations in (1, 3):
        rows = []
        for system in systems:
            ratios = [bars.ratio(results, system, iterations, bar) for bar in bars.BARS]
            auto = results["words"].get(f"{system}.{iterations}.auto", "")
            rows.append((system.partition(".")[2], f"`{auto}`", *map(_against, ratios, bars.BARS)))
        titles = [f"{bar.title} (≥ {bar.least:g})" for bar in bars.BARS]
        parts.append(f"Times faster than the fastest of the peer's solvers, {_iterations(iterations)}:")
        parts.append(tables.table(("system", "auto takes", *titles), rows))
        parts.append("\n".join(f"- {bars.verdict(results, systems, iterations, bar)}" for bar in bars.BARS))
    return "\n\n".join(parts)


def _against(value: float | None, bar: bars.Bar) -> str:
    return "–" if value is None else f"{value:.2f} {'✓' if value >= bar.least else '✗'}"


def _loops(results: Results, shown: Mapping[str, str]) -> str:
    metrics = results["metrics"]
    parts = ["## loops Table II, and robots with loops in their files"]
    parts += tables.image(shown, "systems", "Microseconds per state, one iteration")
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
                    for m in PROXIMAL
                ]
                peers = [_peer(metrics, f"{name}.{iterations}.{p}") for p in PEERS.values()]
                rows.append((f"{size} ({iterations})", *cells, *peers))
        if rows:
            parts.append(
                tables.table(
                    (f"{study}: system {{nv}}[rows] (iterations)", *(f"`{m}`" for m in PROXIMAL), *PEERS), rows
                )
            )
    parts.append(
        "Cells of ours: native / specialized / batch; – where the program is too large to be compiled here. "
        "† the answer is off by more than 1e-6 (see Notes)."
    )
    parts.append("### Operations")
    for study in ("loops", "robots"):
        rows = []
        for system in series.names(metrics, study, 1):
            name = f"{study}.{system}"
            counts = [_operations(metrics, f"{name}.{m}") for m in (*PROXIMAL, "prox_pv", "ltl")]
            rows.append((system, *counts, f"`{results['words'].get(f'{name}.3.auto', '')}`"))
        if rows:
            parts.append(tables.table((study, *(f"`{m}`" for m in (*PROXIMAL, "prox_pv", "ltl")), "auto takes"), rows))
    orders = []
    for system, times in papers.LOOPS_TABLE.items():
        mine = {m: metrics.get(f"loops.{system}.{m}.operations") for m in papers.LOOPS_METHODS}
        orders.append((system, dict(zip(papers.LOOPS_METHODS, times[1], strict=True)), mine))
    parts.append(_orders("loops Table II, one iteration", orders))
    return "\n\n".join(parts) if len(parts) > 4 else ""


def _orders(what: str, systems: Sequence[tuple[str, Mapping[str, float], Mapping[str, float | None]]]) -> str:
    """Who needs less than whom: the paper's times against our operation counts, pair by pair."""
    same, other = [], []
    for system, paper, counts in systems:
        known = {m: c for m, c in counts.items() if c is not None}
        if len(known) < 2:
            continue
        theirs = sorted(known, key=lambda m: paper[m])
        mine = sorted(known, key=lambda m: known[m])
        pairs = [f"{a} < {b}" for k, a in enumerate(mine) for b in mine[k + 1 :] if paper[a] > paper[b]]
        if pairs:
            other.append(
                f"- {system}: ours {' < '.join(f'`{m}`' for m in mine)}; "
                f"the paper's {' < '.join(f'`{m}`' for m in theirs)}"
            )
        else:
            same.append(system)
    if not same and not other:
        return ""
    text = f"Order of methods by operations, against the order of the times in {what}: "
    text += f"the same on {len(same)} of {len(same) + len(other)} systems"
    text += f" ({'; '.join(same)})." if same else "."
    return text + ("\n\nOther on:\n\n" + "\n".join(other) if other else "")


def _growth(
    results: Results, shown: Mapping[str, str], plot: str, title: str, families: Sequence[str], methods: Sequence[str]
) -> str:
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


def _convergence(results: Results, shown: Mapping[str, str]) -> str:
    metrics = results["metrics"]
    systems = series.names(metrics, "convergence", 1)
    if not systems:
        return ""
    name = f"convergence.{systems[0]}"
    parts = [f"## loops Figs. 10, 11: convergence on {systems[0]}"]
    parts.append(
        f"Largest residual of a row (`J a + dJ/dt v`, computed apart) after each iteration, over "
        f"{metrics[f'{name}.states']:.0f} random states; the paper's μ is 1 / regularization. "
        "Right: how far accelerations (20 iterations at most) are from `prox_ltl` with regularization 1e-3, "
        "relative; the paper finds `lcaba` to lose digits as the regularization falls, the others not before 1e-11."
    )
    parts += tables.image(shown, "convergence", "Residual over iterations; distance over regularization")
    rows, sentences = [], []
    for method in PROXIMAL:
        for mu in series.names(metrics, f"{name}.{method}", 3):
            counts = [k for k in series.names(metrics, f"{name}.{method}.{mu}", 4) if k.isdigit()]
            if not counts:
                continue
            at = {int(k): metrics[f"{name}.{method}.{mu}.{k}.most"] for k in counts}
            rows.append((f"`{method}`", mu, *(f"{at[k]:.1e}" if k in at else "–" for k in (1, 2, 3, 4, 6, 11))))
            if 1e-7 <= float(mu) <= 1e-5 and 3 in at:
                verdict = "met" if at[3] < 1e-6 else "missed"
                sentences.append(
                    f"- `{method}`, regularization {mu}: below 1e-6 within 3 iterations: **{verdict}** ({at[3]:.1e})."
                )
    parts.append(tables.table(("method", "regularization", *(f"after {k}" for k in (1, 2, 3, 4, 6, 11))), rows))
    parts.append("\n".join(sentences))
    away = [(m, d) for m in PROXIMAL for d in series.names(metrics, f"{name}.{m}", 3)]
    found = dict.fromkeys(d for m, d in away if f"{name}.{m}.{d}.away.mean" in metrics)
    regularizations = sorted(found, key=float, reverse=True)
    rows = [(f"`{m}`", *(f"{metrics[f'{name}.{m}.{d}.away.mean']:.1e}" for d in regularizations)) for m in PROXIMAL]
    parts.append("Mean distance from the reference:")
    parts.append(tables.table(("method", *regularizations), rows))
    return "\n\n".join(parts)


def _lqr(results: Results, shown: Mapping[str, str]) -> str:
    metrics = results["metrics"]
    systems = series.names(metrics, "lqr", 1)
    if not systems:
        return ""
    parts = ["## lqr Table II", *tables.image(shown, "lqr_operations", "Operations by method")]
    rows, counts, orders = [], [], []
    for system in systems:
        name = f"lqr.{system}"
        methods = GROUNDED if metrics[f"{name}.rows"] else ("aba",) * len(GROUNDED)
        cells = [
            " / ".join(tables.time(metrics.get(f"{name}.1.{m}.{backend}.us")) for backend in ("native", "specialized"))
            for m in methods
        ]
        pin = "pinocchio.aba" if not metrics[f"{name}.rows"] else "pinocchio.constraintDynamics"
        peers = [_peer(metrics, f"{name}.1.{p}") for p in (pin, "mujoco.forward")]
        rows.append((system, *cells, *peers))
        counts.append((system, *(tables.whole(metrics.get(f"{name}.{m}.operations")) for m in methods)))
        if system in papers.LQR_TABLE:
            mine = {m: metrics.get(f"{name}.{m}.operations") for m in papers.LQR_METHODS}
            orders.append((system, dict(zip(papers.LQR_METHODS, papers.LQR_TABLE[system], strict=True)), mine))
    titles = [f"`{m}`" for m in GROUNDED]
    parts.append("Native / specialized µs, one iteration where the method iterates; without rows, `aba`:")
    parts.append(tables.table(("system", *titles, "Pinocchio", "`mj_forward`"), rows))
    parts.append("Operations:")
    parts.append(tables.table(("system", *titles), counts))
    parts.append(_orders("lqr Table II", orders))
    return "\n\n".join(p for p in parts if p)


def _softness(results: Results, shown: Mapping[str, str]) -> str:
    metrics = results["metrics"]
    systems = series.names(metrics, "softness", 1)
    if not systems:
        return ""
    name = f"softness.{systems[0]}"
    parts = [
        f"## lqr Fig. 3: soft rows on {systems[0]}",
        *tables.image(shown, "softness", "Soft rows over their weight"),
    ]
    states = f"{metrics[f'{name}.states']:.0f}"
    parts.append(f"Means over {states} random states: what rows miss, and (in brackets) the distance from `pv`.")
    weights = series.names(metrics, f"{name}.pv_soft", 3)

    def cell(label: str) -> str:
        return f"{metrics[f'{name}.{label}.missed.mean']:.1e} ({metrics[f'{name}.{label}.away.mean']:.1e})"

    parts.append(
        "The paper's joint-space soft solver factors `M + J' W J` and diverges from about 1e8 on, as its recursive one "
        "does; the first iteration of `prox_ltl` factors the Delassus matrix instead."
    )
    rows = [(w, cell(f"pv_soft.{w}"), cell(f"ltl_soft.{w}")) for w in weights]
    parts.append(tables.table(("weight", "`pv_soft`", "first iteration of `prox_ltl`"), rows))
    parts.append(
        tables.table(("hard", "missed (distance)"), [(f"`{m}`", cell(f"{m}.hard")) for m in ("pv", "pv_early", "ltl")])
    )
    return "\n\n".join(parts)


def _proximal(results: Results, shown: Mapping[str, str]) -> str:
    metrics = results["metrics"]
    counted = series.names(metrics, "factor", 1)
    timed = series.names(metrics, "proximal", 1)
    if not counted and not timed:
        return ""
    parts = [
        "## proximal Figs. 4, 5, 8",
        *tables.image(shown, "proximal", "Factor of the KKT matrix; constrained dynamics"),
    ]
    parts.append(
        "Figs. 4 and 5 time the factor of the KKT matrix alone, for which linkwork has no call of its own: its "
        "operations are counted instead, with the zeros of tree and loops used (*sparse*) and not (*dense*). Fig. 8 is "
        "constrained dynamics as a whole, one iteration."
    )
    rows = []
    for system in dict.fromkeys((*counted, *timed)):
        sparse, dense = (metrics.get(f"factor.{system}.{w}") for w in ("sparse", "dense"))
        saved = "–" if sparse is None or dense is None else f"{100 * (1 - sparse / dense):.0f} %"
        name = f"proximal.{system}"
        method, pin = ("prox_ltl", "constraintDynamics") if metrics.get(f"{name}.rows") else ("aba", "aba")
        rows.append(
            (
                system,
                tables.whole(sparse),
                tables.whole(dense),
                saved,
                tables.whole(metrics.get(f"{name}.{method}.operations")),
                tables.time(metrics.get(f"{name}.1.{method}.native.us")),
                tables.time(metrics.get(f"{name}.1.{method}.specialized.us")),
                _peer(metrics, f"{name}.1.pinocchio.{pin}"),
            )
        )
    titles = (
        "robot (rows)",
        "sparse factor",
        "dense factor",
        "saved",
        "`prox_ltl`, operations",
        "native",
        "specialized",
        "Pinocchio",
    )
    parts.append(tables.table(titles, rows))
    return "\n\n".join(parts)


def _duplicated(results: Results) -> str:
    metrics, words = results["metrics"], results["words"]
    systems = series.names(metrics, "duplicated", 1)
    if not systems:
        return ""
    name = f"duplicated.{systems[0]}"
    parts = [f"## proximal Sec. V-F: every constraint of {systems[0]} twice"]
    parts.append(
        f"{metrics[f'{name}.nv']:.0f} velocities, {metrics[f'{name}.rows']:.0f} rows of rank "
        f"{metrics[f'{name}.rank']:.0f}. *Residual*: of rows, computed apart; *error*: of accelerations against the "
        "least-squares oracle `kkt`, relative; *multipliers*: against the smallest that solve the problem. "
        "Up to 20 iterations to 1e-10."
    )
    labels = list(dict.fromkeys(".".join(n.split(".")[2:4]) for n in (*metrics, *words) if n.startswith(f"{name}.")))
    rows = []
    for label in (x for x in labels if "." in x):
        at, (solver, mu) = f"{name}.{label}", label.split(".")
        numbers = [metrics.get(f"{at}.{w}") for w in ("iterations", "residual", "error", "multipliers")]
        cells = [f"{numbers[0]:.0f}" if numbers[0] is not None else "–"]
        cells += [f"{x:.1e}" if x is not None else "–" for x in numbers[1:]]
        shown = f"`{solver.replace('pinocchio_', 'pin.')}`"
        rows.append((shown, "none" if float(mu) == 0 else mu, *cells, words.get(at, "")))
    parts.append(
        tables.table(("method", "regularization", "iterations", "residual", "error", "multipliers", "says"), rows)
    )
    return "\n\n".join(parts)


# Words and numbers -----------------------------------------------------------------------------------------


def _iterations(count: int) -> str:
    return "one iteration" if count == 1 else f"{count} iterations"


def _peer(metrics: Mapping[str, float], name: str) -> str:
    errors = (metrics.get(f"{name}.error", 0.0), metrics.get(f"{name}.error_shared_data", 0.0))
    return tables.time(metrics.get(f"{name}.us")) + (" †" if max(errors) > 1e-6 and f"{name}.us" in metrics else "")


def _operations(metrics: Mapping[str, float], name: str) -> str:
    first, further = metrics.get(f"{name}.operations"), metrics.get(f"{name}.iteration")
    last = metrics.get(f"{name}.refinement")
    text = tables.whole(first) + (f" + {tables.whole(further)}" if further is not None else "")
    return text + (f" (last {tables.whole(last)})" if last is not None else "")
