# SPDX-License-Identifier: BSD-3-Clause
"""Accuracy on the page of constrained dynamics: **loops** Figs. 10, 11, **lqr** Fig. 3, **proximal** Figs. 4, 5, 8 and
Section V-F."""

from __future__ import annotations

from collections.abc import Mapping

from linkwork_benchmarks import tables
from linkwork_benchmarks.constrained import series
from linkwork_benchmarks.constrained.page_systems import peer
from linkwork_benchmarks.constrained.scenarios import PROXIMAL
from linkwork_benchmarks.report import Results


def convergence(results: Results, shown: Mapping[str, str]) -> list[str]:
    """**loops** Figs. 10 and 11, a section for each system."""
    systems = series.names(results["metrics"], "convergence", 1)
    return [_convergence(results, shown if k == 0 else {}, system) for k, system in enumerate(systems)]


SHOWN_ITERATIONS = (1, 2, 3, 4, 6, 11)


def _convergence(results: Results, shown: Mapping[str, str], system: str) -> str:
    metrics, name = results["metrics"], f"convergence.{system}"
    parts = [f"## loops Figs. 10, 11: convergence on {system}"]
    rank, count = (metrics.get(f"{name}.{what}") for what in ("rank", "rows"))
    regular = ""
    if rank is not None and count is not None:
        regular = f" {count:.0f} rows of rank {rank:.0f}" + (": a singular system." if rank < count else ".")
    parts.append(
        f"Largest residual of a row (`J a + dJ/dt v`, computed apart) after each iteration, over "
        f"{metrics[f'{name}.states']:.0f} random states (the paper: 10 000); the paper's μ is 1 / regularization."
        f"{regular} Distances are those of accelerations, 20 iterations at most, from `prox_ltl` iterated to 1e-14, "
        "relative (the paper: from proxLTL with μ = 1e3). The paper finds `lcaba` to lose digits as the "
        "regularization falls, the others not before 1e-11."
    )
    parts += tables.image(shown, "convergence", "Residual over iterations; distance over regularization")
    rows, sentences = [], []
    for method in PROXIMAL:
        for mu in series.names(metrics, f"{name}.{method}", 3):
            counts = [k for k in series.names(metrics, f"{name}.{method}.{mu}", 4) if k.isdigit()]
            if not counts:
                continue
            at = {int(k): metrics[f"{name}.{method}.{mu}.{k}.most"] for k in counts}
            rows.append((f"`{method}`", mu, *(f"{at[k]:.1e}" if k in at else "–" for k in SHOWN_ITERATIONS)))
            if 1e-7 <= float(mu) <= 1e-5 and 3 in at:
                verdict = "met" if at[3] < 1e-6 else "missed"
                sentences.append(
                    f"- `{method}`, regularization {mu}: below 1e-6 within 3 iterations: **{verdict}** ({at[3]:.1e})."
                )
    parts.append(tables.table(("method", "regularization", *(f"after {k}" for k in SHOWN_ITERATIONS)), rows))
    parts.append("\n".join(sentences))
    away = [(m, d) for m in PROXIMAL for d in series.names(metrics, f"{name}.{m}", 3)]
    found = dict.fromkeys(d for m, d in away if f"{name}.{m}.{d}.away.mean" in metrics)
    regularizations = sorted(found, key=float, reverse=True)
    rows = [(f"`{m}`", *(f"{metrics[f'{name}.{m}.{d}.away.mean']:.1e}" for d in regularizations)) for m in PROXIMAL]
    parts.append("Mean distance from the reference:")
    parts.append(tables.table(("method", *regularizations), rows))
    return "\n\n".join(p for p in parts if p)


def softness(results: Results, shown: Mapping[str, str]) -> str:
    """**lqr** Fig. 3."""
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
        "The paper's joint-space soft solver, LTL-s, factors `M + J' W J` (`ltl_soft`); it finds both soft solvers to "
        "diverge from about 1e8 on, LTL-s more than PV-soft. The first iteration of `prox_ltl` factors the Delassus "
        "matrix instead."
    )
    soft = {
        "`pv_soft`": "pv_soft",
        "`ltl_soft`": "ltl_soft",
        "first iteration of `prox_ltl`": "prox_ltl",
    }
    soft = {title: m for title, m in soft.items() if series.names(metrics, f"{name}.{m}", 3)}
    rows = [(w, *(cell(f"{m}.{w}") for m in soft.values())) for w in weights]
    parts.append(tables.table(("weight", *soft), rows))
    parts.append(
        tables.table(("hard", "missed (distance)"), [(f"`{m}`", cell(f"{m}.hard")) for m in ("pv", "pv_early", "ltl")])
    )
    return "\n\n".join(parts)


def proximal(results: Results, shown: Mapping[str, str]) -> str:
    """**proximal** Figs. 4, 5 and 8."""
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
        "Figs. 4 and 5 time the factor of the KKT matrix alone. Its operations are counted with the zeros of tree and "
        "loops used (*sparse*) and not (*dense*). The paper finds its sparse factor more than 50 % faster than Eigen's "
        "dense one on almost all robots, about 45 % on UR5 and 74 % on Talos without constraints. Times of ours are "
        "through `bind`, from mass matrix and Jacobian; `pin` puts its matrix together as well:"
    )
    parts.append(_factor_times(metrics))
    parts.append(
        "Fig. 8 is constrained dynamics as a whole, one iteration, beside `pin.forwardDynamics`, which the paper "
        "compares with (Jacobian and drift of the rows are given to it here); the paper's own takes more than 50 % "
        "less time than that:"
    )
    rows = []
    for system in timed:
        name = f"proximal.{system}"
        method, pin = ("prox_ltl", "constraintDynamics") if metrics.get(f"{name}.rows") else ("aba", "aba")
        rows.append(
            (
                system,
                tables.whole(metrics.get(f"{name}.{method}.operations")),
                tables.time(metrics.get(f"{name}.1.{method}.native.us")),
                tables.time(metrics.get(f"{name}.1.{method}.specialized.us")),
                peer(metrics, f"{name}.1.pinocchio.{pin}"),
                peer(metrics, f"{name}.1.pinocchio.forwardDynamics"),
            )
        )
    titles = (
        "robot (rows)",
        "`prox_ltl`, operations",
        "native",
        "specialized",
        "Pinocchio",
        "`pin.forwardDynamics`",
    )
    parts.append(tables.table(titles, rows))
    return "\n\n".join(parts)


FACTORS = {
    "native": "native",
    "specialized": "specialized",
    "`pin`, sparse": "pinocchio.cholesky",
    "Eigen, dense": "eigen.dense",
    "Eigen, sparse": "eigen.sparse",
}


def _factor_times(metrics: Mapping[str, float]) -> str:
    """Operations and times of the factor of the KKT matrix."""
    rows = []
    for system in series.names(metrics, "factor", 1):
        start = f"factor.{system}"
        sparse, dense = metrics[f"{start}.sparse"], metrics[f"{start}.dense"]
        times = {title: metrics.get(f"{start}.{name}.us") for title, name in FACTORS.items()}
        cells = [tables.time(us) for us in times.values()]
        ours, eigen = times["native"], times["Eigen, dense"]
        saved = "–" if ours is None or eigen is None else f"{100 * (1 - ours / eigen):.0f} %"
        counts = (tables.whole(sparse), tables.whole(dense), f"{100 * (1 - sparse / dense):.0f} %")
        rows.append((system, *counts, *cells, saved))
    titles = (
        *("robot (rows)", "operations, sparse", "dense", "saved"),
        *(f"{title}, µs" for title in FACTORS),
        "native, less than Eigen's dense",
    )
    return tables.table(titles, rows) if rows else ""


def duplicated(results: Results) -> str:
    """**proximal** Section V-F."""
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
