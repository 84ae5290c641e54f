# SPDX-License-Identifier: BSD-3-Clause
"""The page of results, in Markdown with plots. No number on it is written by hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from linkwork.dynamics.thresholds import REFINED_FORCES
from linkwork_benchmarks import drawing, report, tables
from linkwork_benchmarks.constrained import series
from linkwork_benchmarks.delassus import bars, counts, papers, plots, studies
from linkwork_benchmarks.delassus.operators import AGREES, COLUMNS
from linkwork_benchmarks.delassus.scenarios import DAMPING, METHODS, NEW, STIFF
from linkwork_benchmarks.report import Results
from linkwork_benchmarks.scenarios import BATCH

PAGE = report.REPOSITORY / "docs" / "internals" / "delassus-benchmarks.md"

BACKENDS = ("native", "specialized", "batch")
NOT_PUBLIC = "DelassusOperatorRigidBodySystems"


def write(results: Results, page: Path | None = None) -> Path:
    """Write the page, and its plots in the folder ``plots`` beside it."""
    page = page or PAGE
    shown = drawing.write_beside(page, plots.PLOTS, results)
    sections = (
        _introduction(results),
        _bars(results),
        _pinocchio(results),
        _first(results, shown),
        _further(results, shown),
        _memory(results),
        _growth(results, shown),
        _operations(results, shown),
        _stalk(results),
        _extraction(results),
        tables.notes(results),
    )
    return tables.write_page(page, sections)


# Parts -----------------------------------------------------------------------------------------------------


def _introduction(results: Results) -> str:
    return (
        "# The Delassus operator, as the papers measure it\n\n"
        "Made by `python -m linkwork_benchmarks delassus_page` from the result file of "
        "`python -m linkwork_benchmarks delassus`: every "
        "number on this page, and every sentence that says which bars are met. The papers are **delassus** (Sathya et "
        "al., matrix-free Delassus operator), **lqr** (Sathya et al., PV-OSIM) and **proximal** (Carpentier et al.). "
        f"{tables.circumstances(results)}\n\n"
        "All times are microseconds of processor time, called from Python, contenders taking turns in one process on "
        "one thread, best "
        f"of {results['rounds']} rounds. *native*: `Delassus(robot).product` and `.inverse` through `bind`, a state a "
        f"call; *specialized*: those of `.compile()`; *batch*: that program, {BATCH} states a call (fewer where there "
        f"are many rows), a state's share. The damping is {DAMPING:g} on every row, {NEW:g} where it is a new one; the "
        "papers give none. Before anything is timed, answers are compared with dense linear algebra, to "
        f"{AGREES:g} of the largest number; Pinocchio's matrices, whose rows have other axes, by their eigenvalues.\n\n"
        "*Operations* are exact counts of + - * / sqrt sincos in the specialized program: no clock, no noise."
    )


def _bars(results: Results) -> str:
    metrics = results["metrics"]
    lines = [*bars.first_verdicts(metrics), *bars.further_verdicts(metrics)] if bars.rows(metrics) else []
    lines += [line for family in plots.FAMILIES for line in bars.growth_verdicts(metrics, family)]
    return "## Bars\n\n" + "\n".join(f"- {line}" for line in lines) if lines else ""


def _pinocchio(results: Results) -> str:
    """What Pinocchio's routes are, and where they are wrong."""
    metrics = results["metrics"]
    rows = bars.rows(metrics)
    if not any(".pinocchio." in name for name in metrics) or not rows:
        return ""
    parts = [
        "## Pinocchio's explicit matrix",
        f"The operator of **delassus** itself is in Pinocchio's C++ (`{NOT_PUBLIC}`), not in its Python module, which "
        "has these routes to a matrix:",
        "- `computeDelassusMatrix(model, data, q, ...)`; with a damping, and the matrix inversion lemma in NumPy, the "
        "damped inverse as well (*lemma*);\n"
        "- `computeDampedDelassusMatrixInverse`;\n"
        "- *Cholesky*: `crba`, `calc` of every constraint, `ConstraintCholeskyDecomposition.compute`, then the matrix, "
        "or `solve`. The loop over constraints is one in Python; its time is left out. It is the route of the paper's "
        "baseline, and of Pinocchio's own the only one with joint friction. A new damping is a new `compute`: after "
        "`updateDamping`, `solve` asks for an `updateDecomposition` that Python does not have;\n"
        "- *LAPACK*: its Jacobian and mass matrix; `J M⁻¹ J'`, and of the inverse the factor, by LAPACK and BLAS.",
    ]
    lines = []
    every = [r for routes in bars.ROUTES.values() for r in routes if r.whose is not bars.Whose.LINKWORK]
    for title, route in {r.title: r for r in every}.items():
        known = [row for row in rows if bars.route_time(metrics, row, route) is not None]
        wrong = [row for row in known if not bars.right(metrics, row, route)]
        if not known:
            continue
        if not wrong:
            lines.append(f"{title}: right on all {len(known)} rows where it was asked.")
        else:
            worst = max(metrics.get(f"table.{row}.{part}.error", 0.0) for row in wrong for part in route.parts)
            where = "every row" if len(wrong) == len(known) else ", ".join(wrong)
            far = (
                f"eigenvalues off by up to {worst:.1e} of the largest"
                if worst < studies.NO_NUMBER
                else "not even numbers"
            )
            lines.append(f"{title}: **wrong** on {where} ({far}).")
    parts.append("\n".join(f"- {line}" for line in lines))
    parts.append(
        "Where `computeDelassusMatrix` is wrong, contacts are between two moving bodies: it looks at the first one "
        "alone. `computeDampedDelassusMatrixInverse` needs `initPvDelassus`, which Python does not have; without, it "
        "gives `1 / mu` on the diagonal, and beside it what memory happens to hold."
    )
    return "\n\n".join(parts)


def _first(results: Results, shown: Mapping[str, str]) -> str:
    metrics = results["metrics"]
    rows = bars.rows(metrics)
    if not rows:
        return ""
    parts = ["## delassus Table I: first applications"]
    parts += tables.image(shown, "delassus_first", "Microseconds of first applications")
    parts.append(
        "In brackets: times faster than the best right route to a matrix, in bold, be it ours or Pinocchio's; of the "
        "inverse, routes include the factor and one solve. † it gives wrong numbers on this row. The last columns are "
        "the paper's explicit (LTL-OSIM) and matrix-free times, in C++ on its machine."
    )
    for quantity, words in bars.QUANTITIES.items():
        routes, found = bars.ROUTES[quantity], []
        for row in rows:
            start = f"table.{row}"
            cells = [_size(metrics, start), tables.whole(metrics.get(f"{start}.{quantity}.operations"))]
            for backend in BACKENDS:
                x = bars.ratio(metrics, row, quantity, backend)
                us = tables.time(bars.ours(metrics, row, f"{quantity}.{backend}"))
                cells.append(us if x is None else f"{us} ({bars.times(x)}×)")
            best = bars.fastest(metrics, row, quantity)
            for route in routes:
                t = bars.route_time(metrics, row, route)
                mark = "**" if best is not None and best[0] == route.title else ""
                wrong = "" if t is None or bars.right(metrics, row, route) else " †"
                cells.append(f"{mark}{tables.time(t)}{mark}{wrong}")
            found.append((row, *cells, *_paper(row, quantity)))
        titles = (
            "row",
            "velocities, rows",
            "operations",
            *BACKENDS,
            *(r.title for r in routes),
            "paper, explicit / free",
        )
        parts.append(f"### First application of {words}")
        parts.append(tables.table(titles, found))
    parts.append(_passes(metrics, rows))
    parts.append(
        "Contact points and postures are chosen here, as the paper gives their numbers alone. Cassie's loops are no "
        "rows; its joint friction has joint-level rows (Eq. 5d) for its two ball joints too."
    )
    return "\n\n".join(p for p in parts if p)


def _size(metrics: Mapping[str, float], start: str) -> str:
    return f"{metrics[f'{start}.nv']:.0f}, {metrics[f'{start}.rows']:.0f}"


def _paper(row: str, what: str) -> tuple[str]:
    if row not in papers.TABLE:
        return ("–",)
    both: papers.Both = getattr(papers.TABLE[row], what)
    return (f"{both.explicit:g} / {both.free:g} ({bars.times(both.ratio)}×)",)


def _passes(metrics: Mapping[str, float], rows: list[str]) -> str:
    """How often the inverse sweeps, and what a stiffer one costs."""
    known = [r for r in rows if f"table.{r}.stiff.passes" in metrics]
    if not known:
        return ""
    cells = []
    for row in known:
        start = f"table.{row}"
        soft, stiff = bars.ours(metrics, row, "inverse.native"), bars.ours(metrics, row, "stiff.native")
        passes = (metrics.get(f"{start}.passes"), metrics.get(f"{start}.stiff.passes"))
        cells.append((row, tables.time(soft), tables.whole(passes[0]), tables.time(stiff), tables.whole(passes[1])))
    return (
        f"The inverse refines what it finds until less than {REFINED_FORCES:g} of it may be wrong; how often it sweeps "
        "depends on the damping:\n\n" + tables.table(("row", f"{DAMPING:g}", "passes", f"{STIFF:g}", "passes"), cells)
    )


def _further(results: Results, shown: Mapping[str, str]) -> str:
    metrics = results["metrics"]
    rows = bars.rows(metrics)
    if not rows:
        return ""
    parts = ["## delassus Table I: further applications"]
    parts += tables.image(shown, "delassus_further", "Microseconds of further applications over rows")
    parts.append(
        "An operator that is there, on another vector: `at(q).bind(f, out)`, `damped_inverse(r).bind(a, out)`, "
        "`bind_damped_inverse(r, a, out)`. *Explicit* is the fastest of NumPy's product and LAPACK's solve or factor "
        "with the matrix at hand, and of Pinocchio's Cholesky decomposition. In brackets: times faster. *Paper*: its "
        "explicit over its matrix-free time. Then the operator and the matrix as one writes them, `op @ f` and "
        f"`matrix @ f`, and a column's share of `op @ X` with {COLUMNS} columns, which are in SIMD lanes."
    )
    found = []
    for row in rows:
        cells = []
        for what in bars.FURTHER:
            x = bars.further_ratio(metrics, row, what)
            ours, explicit = bars.ours(metrics, row, f"further.{what}"), bars.explicit(metrics, row, what)
            paper = (
                f"{bars.times(getattr(papers.TABLE[row], f'further_{what}').ratio)}×" if row in papers.TABLE else "–"
            )
            cells.append(
                f"{tables.time(ours)} / {tables.time(explicit)}" + ("" if x is None else f" ({bars.times(x)}×)")
            )
            cells.append(paper)
        plain = [tables.time(bars.ours(metrics, row, backend)) for backend in ("further.plain", "dense.plain")]
        shares = [tables.time(bars.ours(metrics, row, f"columns.{what}")) for what in bars.QUANTITIES]
        found.append((row, *cells, " / ".join(plain), " / ".join(shares)))
    titles = ["row"]
    for word in ("operator", "inverse", "new damping"):
        titles += [f"{word} / explicit", "paper"]
    titles += ["`op @ f` / `matrix @ f`", "a column: operator / inverse"]
    parts.append(tables.table(titles, found))
    return "\n\n".join(parts)


def _memory(results: Results) -> str:
    metrics, found = results["metrics"], []
    for row in bars.rows(metrics):
        cells = []
        for what in ("operator", "damped_inverse", "matrix"):
            size, lines = (metrics.get(f"table.{row}.{kind}.{what}") for kind in ("memory", "lines"))
            kb = "–" if size is None else f"{size / 1e3:.0f}"
            cells.append(kb if lines is None else f"{kb} ({lines / 1e3:.{1 if lines > 1e3 else 2}f})")
        paper = papers.TABLE.get(row)
        for both, lines_of in (
            ()
            if paper is None
            else (
                (paper.product_memory, paper.product_lines),
                (paper.inverse_memory, paper.inverse_lines),
            )
        ):
            told = (f"{x:g} ({y:g})" for x, y in zip(both, lines_of, strict=True))
            cells.append(" / ".join(told))
        found.append((row, *cells, *(("–", "–") if paper is None else ())))
    if not found:
        return ""
    titles = (
        "row",
        "operator",
        "damped inverse",
        "matrix",
        "paper: operator / explicit",
        "paper: inverse / explicit",
    )
    return (
        "## delassus Table I: memory\n\nkB of work memory, and in brackets thousands of cache lines of 64 bytes that a "
        "first application touches: every number of the plan, of work arrays, inputs and outputs that its text reads "
        "or writes, counted exactly. Of the matrix, its numbers alone; its factor has as many. The paper adds up all "
        "variables of either method, and counts cache lines by Callgrind.\n\n" + tables.table(titles, found)
    )


def _growth(results: Results, shown: Mapping[str, str]) -> str:
    metrics = results["metrics"]
    families = [f for f in plots.FAMILIES if series.names(metrics, f"growth.{f}", 2)]
    if not families:
        return ""
    parts = ["## delassus Fig. 2: growth", *tables.image(shown, "delassus_growth", "Time and operations over size")]
    parts.append(
        f"Powers that fit best, of times from {bars.FROM['us'] + 1} links or boxes on, of operations from "
        f"{bars.FROM['operations'] + 1} on, of matrices from the first on. The paper: matrix-free linear, explicit "
        "methods superlinear. Native µs (operations):"
    )
    for family in families:
        backends = [w for w in plots.CURVES if bars.growth(metrics, family, w, "us")]
        rows = []
        for size in series.names(metrics, f"growth.{family}", 2):
            start = f"growth.{family}.{size}"
            cells = []
            for backend in backends:
                operations = metrics.get(f"{start}.{backend.removesuffix('.native')}.operations")
                us = tables.time(metrics.get(f"{start}.{backend}.us"))
                cells.append(us if operations is None else f"{us} ({tables.whole(operations)})")
            kb = [f"{metrics[f'{start}.memory.{what}'] / 1e3:.0f}" for what in ("operator", "damped_inverse")]
            rows.append((size, tables.whole(metrics[f"{start}.rows"]), *cells, " / ".join(kb)))
        powers = []
        for backend in backends:
            least = None if backend.endswith("native") else 0
            found = [
                bars.power(bars.growth(metrics, family, name, measure), measure, least)
                for name, measure in ((backend, "us"), (backend.removesuffix(".native"), "operations"))
            ]
            powers.append(tables.power(found[0]) + ("" if found[1] is None else f" ({tables.power(found[1])})"))
        titles = (family, "rows", *(plots.CURVES[w][0] for w in backends), "kB, operator / inverse")
        parts.append(tables.table(titles, [*rows, ("power", "", *powers, "")]))
    return "\n\n".join(parts)


def _operations(results: Results, shown: Mapping[str, str]) -> str:
    metrics = results["metrics"]
    every = bars.counted(metrics)
    if not every:
        return ""
    parts = ["## lqr Fig. 2: operations of the matrix and its factor"]
    parts += tables.image(shown, "delassus_operations", "Operations by method and part; PV-OSIM over EFPA on the stalk")
    parts.append(
        "Cells: inertia + rows + matrix + factor = all. *Inertia*: articulated-body inertias, of LTL the mass matrix "
        "and its factor, with kinematics; *rows*: rows handed down through joints, of LTL the Jacobian and its share "
        "of the factor; *factor*: a dense `L D L'`, of PV-OSIM-fast its factored form, which is all that it makes. Of "
        "KJR, rows are part of the matrix; of PV-OSIMr, inertia is too."
    )
    rows = []
    for robot, found in every.items():
        cells = []
        for method in METHODS:
            if method not in found:
                cells.append("–")
                continue
            known = [metrics.get(f"operations.{robot}.{method}.{part}") for part in counts.PARTS]
            told = " + ".join(tables.whole(x) for x in known if x is not None)
            least = "**" if found[method] == min(found.values()) else ""
            cells.append(f"{told} = {least}{tables.whole(found[method])}{least}")
        rows.append((robot, _size(metrics, f"operations.{robot}"), *cells))
    parts.append(tables.table(("robot", "velocities, rows", *(f"`{m}`" for m in METHODS)), rows))
    parts.append("The orders that the paper finds:")
    parts.append("\n".join(f"- {line}" for line in bars.order_verdicts(metrics)))
    return "\n\n".join(parts)


def _stalk(results: Results) -> str:
    metrics = results["metrics"]
    branches = series.names(metrics, "stalk", 1)
    if not branches:
        return ""
    parts = [
        "## lqr Figs. 2e, 2f: the long stalk",
        "Chains of seven links at both ends of a stem, their tips welded. Operations of `pv_osim` / `efpa` to make the "
        "matrix, and their ratio; the factor is the same for both. Between the stems that were counted, and beyond, "
        "operations are taken to grow along straight lines.",
    ]
    stems = series.names(metrics, f"stalk.{branches[0]}", 2)
    rows, lines = [], []
    for b in branches:
        first, second = (dict(bars.stalk(metrics, b, m)) for m in ("pv_osim", "efpa"))
        cells = [
            f"{tables.whole(first[n])} / {tables.whole(second[n])} = {first[n] / second[n]:.2f}" if n in first else "–"
            for n in map(float, stems)
        ]
        at = bars.crossing(metrics, b)
        each = " / ".join(tables.whole(bars.per_link(metrics, b, m)) for m in ("pv_osim", "efpa"))
        rows.append((b, *cells, each, "–" if at is None else _crossing(at)))
        lines.append(_furtherst_paper(int(b), at))
    titles = ("branches at either end", *(f"stem of {n}" for n in stems), "a further link", "EFPA needs less from")
    parts.append(tables.table(titles, rows))
    told = [line for line in lines if line]
    if told:
        parts.append("\n".join(f"- {line}" for line in told))
    return "\n\n".join(parts)


def _crossing(at: bars.Crossing) -> str:
    if at.stem is None:
        return "never"
    return f"{at.stem:.0f} links" + (", beyond what was counted" if at.beyond else "")


def _furtherst_paper(branches: int, at: bars.Crossing | None) -> str:
    """One sentence beside the paper's; empty where it says nothing."""
    if at is None:
        return ""
    if branches in papers.CROSSING:
        paper = papers.CROSSING[branches]
        return f"{branches} branches: EFPA needs less from {_crossing(at)} on; the paper's crosses at {paper}."
    some = at.stem is not None
    expected = branches > papers.MOST_WITHOUT
    word = "holds" if some == expected else "fails"
    claim = "a stem from which on EFPA needs less" if expected else "no stem for which EFPA needs less"
    return f"{branches} branches: the paper finds {claim}: **{word}** (ours: {_crossing(at)})."


def _extraction(results: Results) -> str:
    metrics = results["metrics"]
    robots = series.names(metrics, "extraction", 1)
    if not robots:
        return ""
    parts = [
        "## proximal Figs. 6, 7: the matrix and its damped inverse",
        "The figures time what is left to do once the KKT matrix is factored: to read `D + mu` (Fig. 6), and its "
        "inverse (Fig. 7), from the factor. linkwork makes either at once, `D` by `pv_osim` and the damped inverse by "
        "`inverse_matrix` (cABA), without that factor. Pinocchio: its factor (with `crba` and `calc`), then either. In "
        "brackets: times faster than Pinocchio, factor included. The paper's time to extract on Talos with 24 rows: "
        f"{papers.EXTRACTED['matrix']:g} µs, and {papers.EXTRACTED['inverse']:g} µs for the inverse.",
    ]
    rows = []
    for robot in robots:
        start = f"extraction.{robot}"
        factor = metrics.get(f"{start}.pinocchio.factor.us")
        cells = []
        for what in ("matrix", "inverse"):
            peer = metrics.get(f"{start}.pinocchio.{what}.us")
            cells.append(tables.whole(metrics.get(f"{start}.{what}.operations")))
            for backend in ("native", "specialized"):
                us = metrics.get(f"{start}.{what}.{backend}.us")
                whole = None if peer is None or factor is None or us is None else (peer + factor) / us
                cells.append(tables.time(us) + ("" if whole is None else f" ({whole:.1f}×)"))
            cells.append(tables.time(peer))
        rows.append((robot, *cells[:4], *cells[4:], tables.time(factor)))
    titles = ["robot (rows)"]
    for word in ("matrix", "inverse"):
        titles += [f"{word}: operations", "native", "specialized", "Pinocchio, from the factor"]
    parts.append(tables.table((*titles, "Pinocchio's factor"), rows))
    return "\n\n".join(parts)
