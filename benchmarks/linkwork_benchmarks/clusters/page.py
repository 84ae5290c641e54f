# SPDX-License-Identifier: BSD-3-Clause
"""The page of results, in Markdown with plots. No number on it is written by hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from linkwork.dynamics.iterations import TOLERANCE
from linkwork_benchmarks import drawing, report, tables
from linkwork_benchmarks.clusters import orders, papers, plots
from linkwork_benchmarks.clusters.backends import AGREES
from linkwork_benchmarks.clusters.scenarios import FORWARD, METHODS, OURS, PAPERS, TITLES
from linkwork_benchmarks.constrained import series
from linkwork_benchmarks.report import Results
from linkwork_benchmarks.scenarios import BATCH

PAGE = report.REPOSITORY / "docs" / "internals" / "clusters-benchmarks.md"

NAMES = {
    "inverse": {
        "cluster": "`cluster` (C-RNEA)",
        "projected": "projected RNEA",
        "rnea": "`rnea`, loops cut",
        "approximate": "`approximate`",
    },
    "forward": {
        "cluster": "`cluster` (C-ABA)",
        **{m: f"`{m}`" for m in FORWARD if m != "cluster"},
    },
    "inertia": {"efpa": "`efpa` (C-EFPA)", "projection": "`projection`", "approximate": "`approximate`"},
}
TREES = {"inverse": "`rnea`", "forward": "`aba`", "inertia": "`efpa`"}
PEERS = {"inverse": "pinocchio.rnea", "forward": "pinocchio.aba"}
PARTS = {
    "inverse": ("Inverse dynamics: Table II, Fig. 9", "clusters_inverse"),
    "forward": ("Forward dynamics: Table III, Fig. 10", "clusters_forward"),
    "inertia": ("Inverse inertia of end effectors: Table IV, Fig. 12", "clusters_inertia"),
}
HUMANOID = "MIT Humanoid"
NEAR = 0.05
"""Numbers that differ by less than this part count as equal."""


def write(results: Results, page: Path | None = None) -> Path:
    """Write the page, and its plots in the folder ``plots`` beside it."""
    page = page or PAGE
    shown = drawing.write_beside(page, plots.PLOTS, results)
    sections = (
        _introduction(results),
        _orders(results),
        _systems(results),
        *(_quantity(results, shown, quantity) for quantity in PARTS),
        _growth(results, shown),
        _stem(results),
        _parallel(results, shown),
        _leg(results, shown),
        tables.notes(results),
    )
    return tables.write_page(page, sections)


# Parts -----------------------------------------------------------------------------------------------------


def _introduction(results: Results) -> str:
    return (
        "# Gears, belts and differentials, as clusters measures them\n\n"
        "Made by `python -m linkwork_benchmarks clusters_page` from the result file of "
        "`python -m linkwork_benchmarks clusters`: every "
        "number on this page, and every sentence that says whether an order holds. The paper (Chignoli et al., "
        "*Recursive Rigid-Body Dynamics Algorithms for Systems with Kinematic Loops*) gives times as percentages "
        "above those of its own methods; they stand beside ours. "
        f"{tables.circumstances(results)}\n\n"
        "All times are microseconds per state, called from Python, contenders taking turns in one process, best of "
        f"{results['rounds']} rounds. *native*: `evaluator(...)`; *specialized*: `evaluator.compile()(...)`; "
        "*bound*: the same code through `bind`, without what a call costs in Python; "
        f"*batch*: {BATCH} states a call of the specialized program on one thread. Methods that iterate do so until "
        f"rows miss less than {TOLERANCE:g}. States are random ones about the assembled pose, with loops closed and "
        "velocities that keep them so. Before anything is timed, answers are compared with dense linear algebra "
        f"(Pinocchio's with ours), to {AGREES:g} of the largest number; what differs is under [Notes](#notes).\n\n"
        "*Operations* are exact counts of + - * / sqrt sincos in the specialized program, of all iterations: no clock, "
        "no noise. Zeros that are known beforehand cost nothing there."
    )


def _orders(results: Results) -> str:
    metrics = results["metrics"]
    if not orders.systems(metrics):
        return ""
    parts = ["## Orders", "What the paper finds, and whether these results show it (times are bound ones):"]
    lines = [
        orders.verdict(metrics, quantity, method, measure)
        for quantity, methods in orders.SLOWER.items()
        for method in methods
        for measure in orders.MEASURES
        if any(n.startswith("systems.") and f".{quantity}.{method}." in n for n in metrics)
    ]
    parts.append("\n".join(f"- {line}" for line in lines))
    rows = []
    for system in orders.systems(metrics):
        start = f"systems.{system}.forward"
        cells = [tables.time(metrics.get(f"{start}.pinocchio.aba.us"))]
        for backend in ("native", "specialized", "bound", "batch"):
            ratio = orders.against_pinocchio(metrics, system, backend)
            cells.append(
                tables.time(metrics.get(f"{start}.cluster.{backend}.us"))
                + ("" if ratio is None else f" ({ratio:.2f}×)")
            )
        rows.append((system, *cells))
    parts.append("C-ABA with rotors, in brackets times faster than `pin.aba` on the tree without rotors:")
    parts.append(tables.table(("system", "`pin.aba`, no rotors", "native", "specialized", "bound", "batch"), rows))
    ratio = orders.against_pinocchio(metrics, HUMANOID, "specialized")
    if ratio is not None:
        word = "faster" if ratio >= 1 else "slower"
        parts.append(
            f"Specialized C-ABA on the {HUMANOID} with its rotors is **{max(ratio, 1 / ratio):.2f} times {word}** than "
            "`pin.aba` on the tree without them."
        )
    return "\n\n".join(parts)


def _systems(results: Results) -> str:
    metrics, rows = results["metrics"], []
    for system in orders.systems(metrics):
        sizes = ("nv", "rows", "ny", "clusters", "largest", "tree_nv")
        rows.append((system, *(tables.whole(metrics.get(f"systems.{system}.{s}")) for s in sizes)))
    titles = (
        *("system", "velocities", "rows", "degrees of freedom"),
        *("clusters with rows", "joints of the largest", "velocities of the tree without rotors"),
    )
    return "## Systems\n\n" + tables.table(titles, rows) if rows else ""


def _quantity(results: Results, shown: Mapping[str, str], quantity: str) -> str:
    metrics = results["metrics"]
    systems = [s for s in orders.systems(metrics) if f"systems.{s}.{quantity}.{OURS[quantity]}.operations" in metrics]
    title, plot = PARTS[quantity]
    parts = [f"## {title}"]
    if not systems:
        return f"{parts[0]}\n\nNot measured." if orders.systems(metrics) else ""
    parts += tables.image(shown, plot, f"{title.split(':')[0]}: operations, native and specialized times")
    names = {m: n for m, n in NAMES[quantity].items() if any(f".{quantity}.{m}.operations" in n for n in metrics)}
    parts.append(f"Percent above {TITLES[quantity]}: operations / native time / specialized time (the paper's time):")
    rows = []
    for method, name in names.items():
        if method == OURS[quantity]:
            continue
        rows.append((name, *(_percents(metrics, s, quantity, method) for s in systems)))
    bare = f"{TREES[quantity]}, tree without rotors"
    rows.append((bare, *(_percents(metrics, s, quantity, "tree") for s in systems)))
    parts.append(tables.table(("", *systems), rows))
    parts.append(_WORDS[quantity])
    parts.append("Operations:")
    names["tree"] = bare
    rows = [
        (name, *(_operations(metrics, f"systems.{s}.{quantity}.{method}") for s in systems))
        for method, name in names.items()
    ]
    parts.append(tables.table(("", *systems), rows))
    parts.append("Native / native bound / specialized / bound / batch:")
    backends = ("native", "native_bound", "specialized", "bound", "batch")
    rows = []
    for method, name in names.items():
        cells = [
            " / ".join(
                tables.time(metrics.get(f"systems.{s}.{quantity}.{method}.{backend}.us")) for backend in backends
            )
            for s in systems
        ]
        rows.append((name, *cells))
    if quantity in PEERS:
        peer = PEERS[quantity]
        cells = [tables.time(metrics.get(f"systems.{s}.{quantity}.{peer}.us")) for s in systems]
        rows.append((f"`{peer.replace('pinocchio', 'pin')}`, tree without rotors", *cells))
    parts.append(tables.table(("", *systems), rows))
    return "\n\n".join(parts)


_WORDS = {
    "inverse": (
        "Projected RNEA is `G' rnea(G y'' + g)` with dense products, kinematics done once; in a specialized program "
        "zeros of `G` cost nothing, and it is C-RNEA, operation by operation. Times are of calls: those of C-RNEA also "
        "check in Python that the accelerations keep loops closed, which takes longer than such a program. "
        "`rnea` with loops cut gives torques of all joints, rotors and links, as if nothing tied them. What the paper "
        "calls approximate is the tree without rotors, with what they reflect on the diagonal: here `approximate`, and "
        "beside it `rnea` of the bare tree."
    ),
    "forward": (
        "`ltl` factors mass matrix and rows with the zeros of the tree used, the paper's does so with sparse "
        "matrices. `lcaba` and `prox_bbo` are not in the paper. `approximate` is not exact; on Tello the joints of its "
        "links are the independent ones for it."
    ),
    "inertia": (
        "End effectors are the last links of chains and the feet, six rows each. `approximate` is the paper's: EFPA of "
        "the tree without rotors, with what they reflect on the diagonal; it is not exact, and on Tello the joints of "
        "its links are the independent ones for it. Most of what a rotor adds is constant, and costs nothing in a "
        "specialized program: leaving rotors out saves little there. Beside it `efpa` of the bare tree."
    ),
}


def _percents(metrics: Mapping[str, float], system: str, quantity: str, method: str) -> str:
    ours = [orders.percent(metrics, system, quantity, method, measure) for measure in orders.MEASURES]
    theirs = papers.percent(quantity, method, system)
    found = " / ".join("–" if p is None else f"{p:+.0f}" for p in ours)
    return found + ("" if theirs is None else f" ({theirs:+.0f})")


def _growth(results: Results, shown: Mapping[str, str]) -> str:
    metrics = results["metrics"]
    families = [f for f in plots.FAMILIES if series.names(metrics, f"growth.{f}", 2)]
    if not families:
        return ""
    parts = ["## Growth with the number of links: Figs. 11, 13"]
    parts += tables.image(shown, "clusters_growth", "Native time and operations over links")
    parts.append(
        f"The paper has chains of 2 to {PAPERS} links (dotted line). Powers are those that fit best from "
        f"{orders.SMALLEST} links on. The paper: clusters linear, projection and Lagrange multipliers cubic."
    )
    for family in families:
        quantity = family.split("_of_")[0]
        methods = [m for m in METHODS[quantity] if orders.growth(metrics, family, m, "operations")]
        rows = []
        for links in series.names(metrics, f"growth.{family}", 2):
            start = f"growth.{family}.{links}"
            cells = [
                f"{tables.time(metrics.get(f'{start}.{m}.native_bound.us'))} ({_operations(metrics, f'{start}.{m}')})"
                for m in methods
            ]
            rows.append((links, *cells))
        powers = [
            " (".join(
                tables.power(orders.power(orders.growth(metrics, family, m, w)))
                for w in ("native_bound.us", "operations")
            )
            + ")"
            for m in methods
        ]
        parts.append(f"### {tables.words(family)}\n\nNative bound µs (operations):")
        parts.append(tables.table(("links", *(f"`{m}`" for m in methods)), [*rows, ("power", *powers)]))
        known = [m for m in methods if m in (OURS[quantity], *orders.SLOWER[quantity])]
        lines = [orders.growth_verdict(metrics, family, m, m == OURS[quantity]) for m in known]
        parts.append("\n".join(f"- {line}" for line in lines))
    return "\n\n".join(parts)


def _stem(results: Results) -> str:
    metrics = results["metrics"]
    families = series.names(metrics, "stem", 1)
    if not families:
        return ""
    stems = series.names(metrics, f"stem.{families[0]}", 2)
    rows = []
    for family in families:
        for order, title in {"to_world": "rows to the world", "efpa": "`efpa`"}.items():
            curve = orders.stem(metrics, family, order)
            cells = (tables.whole(dict(curve).get(float(n))) for n in stems)
            rows.append((f"{tables.words(family)}, {title}", *cells, tables.whole(orders.further_link(curve))))
    return "\n\n".join(
        (
            "## C-EFPA on a long stem",
            "A stem that floats, with eight chains of seven links at each end, whose 16 tips are the end effectors: "
            "the tree, and the same with a rotor for each hinge. Operations over the links of the stem. *Rows to the "
            "world*: each cluster adds to the blocks of all pairs of end effectors that it supports. `efpa` takes "
            "that order, or lets rows end at common ancestors (Eq. 67), by exact counts.",
            tables.table(("", *(f"stem of {n}" for n in stems), "a further link"), rows),
        )
    )


def _parallel(results: Results, shown: Mapping[str, str]) -> str:
    metrics = results["metrics"]
    kinds = series.names(metrics, "parallel", 1)
    if not kinds:
        return ""
    parts = ["## Parallel chains: depth and size of a loop"]
    parts += tables.image(shown, "clusters_parallel", "Native time and operations over the size of the loop")
    parts.append(
        "Two chains side by side, tied by one loop (files of the paper's sources). A cluster is as large as its loop, "
        "and costs the cube of its joints: clusters gain where loops are local. An explicit loop is a gear; an "
        "implicit one is closed by a hinge, whose rows are redundant in the plane: `ltl` refuses them. Native "
        "bound µs (operations):"
    )
    for kind in kinds:
        rows = []
        methods = [m for m in FORWARD if any(n.startswith(f"parallel.{kind}.") and f".{m}." in n for n in metrics)]
        for depth in series.names(metrics, f"parallel.{kind}", 2):
            for loop in series.names(metrics, f"parallel.{kind}.{depth}", 3):
                start = f"parallel.{kind}.{depth}.{loop}"
                times = [tables.time(metrics.get(f"{start}.{m}.native_bound.us")) for m in methods]
                counts = [_operations(metrics, f"{start}.{m}") for m in methods]
                cells = [f"{us} ({operations})" for us, operations in zip(times, counts, strict=True)]
                sizes = (tables.whole(metrics.get(f"{start}.{x}")) for x in ("nv", "largest"))
                rows.append((f"{depth}, {loop}", *sizes, *cells))
        titles = (f"{kind}: depth, loop", "velocities", "joints of the cluster", *(f"`{m}`" for m in methods))
        parts.append(tables.table(titles, rows))
    return "\n\n".join(parts)


def _leg(results: Results, shown: Mapping[str, str]) -> str:
    metrics = results["metrics"]
    joints = [name for name in series.names(metrics, "leg", 1) if f"leg.{name}.unconstrained" in metrics]
    if not joints:
        return ""
    parts = ["## Torques of a leg: Fig. 14", *tables.image(shown, "clusters_leg", "Torques of knee and ankle")]
    parts.append(
        "One leg of MIT's humanoid, its hip on the world. Every joint follows "
        f"`A sin(2π ω t)` with A = {metrics['leg.amplitude']:g} rad and ω = {metrics['leg.frequency']:g} a second. "
        "*Exact*: C-RNEA with the links' joints as the independent ones. *Unconstrained*: the tree with its rotors "
        "fixed to what carries them. *Approximate*: the same with the inertia that rotors reflect on the diagonal, "
        "`Σ ratio² I` over the rotors that turn with a joint. Root mean squares of what torques are off, in N m, in "
        "brackets as parts of the largest exact torque:"
    )
    rows = []
    for name in joints:
        largest = metrics[f"leg.{name}.largest"]
        missed = [metrics[f"leg.{name}.{model}"] for model in ("unconstrained", "approximate")]
        cells = [f"{x:.2f} ({100 * x / largest:.1f} %)" for x in missed]
        rows.append((name, f"{metrics[f'leg.{name}.reflected']:.4f}", f"{largest:.2f}", *cells))
    ankle = papers.ANKLE
    rows.append(
        (
            "the paper's ankle",
            "",
            f"{ankle.unconstrained / ankle.unconstrained_part:.1f}",
            f"{ankle.unconstrained:.2f} ({100 * ankle.unconstrained_part:.1f} %)",
            f"{ankle.approximate:.2f} ({100 * ankle.approximate_part:.1f} %)",
        )
    )
    titles = ("joint", "reflected inertia, kg m²", "largest exact torque", "unconstrained", "approximate")
    parts.append(tables.table(titles, rows))
    (nearest, away), *others = orders.distances(metrics).items()
    near = "are those" if away < NEAR else "are nearest to those"
    sentence = f"The paper's two root mean squares {near} of our {nearest}, within {100 * away:.1f} %"
    sentence += f"; the next nearest joint, {others[0][0]}, is {100 * others[0][1]:.0f} % off." if others else "."
    if away < NEAR:
        largest, implied = metrics[f"leg.{nearest}.largest"], ankle.unconstrained / ankle.unconstrained_part
        sentence += (
            f" The largest torque that the paper's percentages imply, {implied:.1f} N m, is {_apart(implied, largest)} "
            f"our {nearest}'s, {largest:.2f}. That is all that the paper gives as numbers: whether the curves of its "
            f"Fig. 14, which it calls the ankle's, are those of the {nearest} here cannot be told from them."
        )
    if nearest == "knee" and away < NEAR:
        sentence += (
            " In these models the belts explain the size of the knee's error: the ankle's rotor turns with knee and "
            "ankle, so that the knee moves two rotors, and needs torque for how both joints accelerate and for the "
            "thigh's turning, of which a diagonal knows a part. On the ankle, with a foot so light, nearly all torque "
            "is that of one small rotor."
        )
    parts.append(sentence)
    less = [n for n in joints if metrics[f"leg.{n}.approximate"] < metrics[f"leg.{n}.unconstrained"]]
    parts.append(
        f"Reflected inertia brings torques nearer to the exact ones on {len(less)} of {len(joints)} joints: "
        f"{', '.join(less)}."
    )
    return "\n\n".join(parts)


# Words and numbers -----------------------------------------------------------------------------------------


def _apart(first: float, second: float) -> str:
    """How far a number is from another, in words."""
    percent = 100 * (first / second - 1)
    return f"{abs(percent):.0f} % {'above' if percent > 0 else 'below'}"


def _operations(metrics: Mapping[str, float], name: str) -> str:
    return tables.whole(metrics.get(f"{name}.operations"))
