# SPDX-License-Identifier: BSD-3-Clause
"""Measured times on the pages in docs/concepts/algorithms, from the result files; see `algorithm_tables`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from linkwork.dynamics.delassus import METHODS as MATRICES
from linkwork.dynamics.methods import METHODS
from linkwork_benchmarks import report, tables
from linkwork_benchmarks.clusters import orders
from linkwork_benchmarks.constrained import bars, series

Metrics = Mapping[str, float]
RESULTS = report.RESULTS.parent


@cache
def results(name: str) -> dict[str, Any]:
    """A result file of the benchmarks."""
    return report.read(RESULTS / f"{name}.json")


def metrics(name: str) -> Metrics:
    """Its numbers."""
    found: Metrics = results(name)["metrics"]
    return found


def explicit() -> list[str]:
    """Methods that make the Delassus matrix."""
    return [name for name in MATRICES if name not in ("matrix_free", "cluster_efpa")]


def measured_on(name: str) -> str:
    """Where the numbers come from."""
    found = results(name)
    machine = found["machine"]
    return f"Measured {found['date'][:10]} on {machine['cores']} cores of {machine['cpu']}, one thread; µs."


def us(found: Metrics, name: str) -> str:
    """A time."""
    return tables.time(found.get(f"{name}.us"))


def peer(found: Metrics, system: str, name: str) -> str:
    """A peer's time, with a mark where its answers are off."""
    off = any(note.startswith(f"{system}: {name} is off") for note in results("constrained")["notes"])
    return us(found, f"{system}.{name}") + (" †" if off else "")


def tree_times(what: str, robots: Sequence[str]) -> str:
    """Times of trees, beside Pinocchio's."""
    found = metrics("trees")
    ways = {
        "Pinocchio": "pinocchio.single",
        "native": "native.single",
        "specialized": "specialized.single",
        "bound": "specialized.bound",
        "batch of 4096": "specialized.batch4096.float64",
        "batch, float32": "specialized.batch4096.float32",
    }
    ways = {title: way for title, way in ways.items() if any(f"{r}.{what}.{way}.us" in found for r in robots)}
    rows = [
        (
            f"{robot} ({found[f'{robot}.{what}.dof']:.0f})",
            *(us(found, f"{robot}.{what}.{way}") for way in ways.values()),
        )
        for robot in robots
    ]
    return f"{measured_on('trees')}\n\n{tables.table(('robot (velocities)', *ways), rows)}"


PEERS = {
    "`pin.constraintDynamics`": "pinocchio.constraintDynamics",
    "`pin.lcaba`": "pinocchio.lcaba",
    "`mj_forward`": "mujoco.forward",
}


def constrained_times(names: Sequence[str], systems: Sequence[str], iterations: int = 1) -> str:
    """Native / specialized / batch times of methods, beside the peers'."""
    found, rows = metrics("constrained"), []
    for system in systems:
        start = f"{system}.{iterations}"
        size = f"{found[f'{system}.nv']:.0f}, {found[f'{system}.rows']:.0f}"
        cells = [
            " / ".join(us(found, f"{start}.{name}.{way}") for way in _ways(found, systems, iterations))
            for name in names
        ]
        rows.append(
            (f"{system.partition('.')[2]} ({size})", *cells, *(peer(found, start, name) for name in PEERS.values()))
        )
    ways = " / ".join(_ways(found, systems, iterations))
    note = f"{measured_on('constrained')} Ours: {ways}, one proximal iteration where the method iterates. "
    note += "† its answers are off by more than 1e-6 ([notes](../../internals/benchmarks.md#notes))."
    if any(system.startswith("loops.Digit") for system in systems):
        note += (
            " Digit is a [stand-in](../../internals/benchmarks.md#loops-table-ii-and-robots-with-loops-in-their-files)."
        )
    return f"{note}\n\n{tables.table(('system (velocities, rows)', *(f'`{n}`' for n in names), *PEERS), rows)}"


def _ways(found: Metrics, systems: Sequence[str], iterations: int) -> list[str]:
    every = ("native", "specialized", "batch")
    return [
        w
        for w in every
        if any(k.startswith(f"{s}.{iterations}.") and k.endswith(f".{w}.us") for s in systems for k in found)
    ]


def growth(names: Sequence[str], families: Sequence[str]) -> str:
    """Powers of the number of links that fit native times."""
    found, rows = metrics("constrained"), []
    for family in families:
        cells = [tables.power(series.exponent(series.growth(found, family, name, "native.us"))) for name in names]
        rows.append((tables.words(family), *cells))
    note = "Powers of n that fit native times from 50 to 500 links best:"
    return f"{note}\n\n{tables.table(('family', *(f'`{n}`' for n in names)), rows)}"


LOOPS = ("single_loop", "chain_of_loops", "chain_of_hinged_loops", "coupled_loops", "star_of_loops")
SYSTEMS = ("loops.AH-cube", "robots.Cassie", "robots.Talos (2F)", "loops.Digit", "loops.Digit²-cube")
HELD = ("lqr.Iiwa (H)", "lqr.Go1 (4F3)", "lqr.Atlas (2F)", "lqr.Talos (2F+2H)")


def cluster_times(what: str, names: Sequence[str]) -> str:
    """Times through `bind` of transmissions: native / specialized."""
    found, rows = metrics("clusters"), []
    for system in series.names(found, "systems", 1):
        start = f"systems.{system}.{what}"
        cells = [f"{us(found, f'{start}.{n}.native_bound')} / {us(found, f'{start}.{n}.bound')}" for n in names]
        rows.append((system, *cells))
    note = f"{measured_on('clusters')} Native / specialized, through `bind`."
    return f"{note}\n\n{tables.table(('system', *(f'`{n}`' for n in names)), rows)}"


def matrix_operations() -> str:
    """Operations of the explicit methods on the robots of **lqr**, and times of three of them."""
    found, rows = metrics("delassus"), []
    names = [n for n in explicit() if n != "prox_ltl"]
    for system in series.names(found, "operations", 1):
        start = f"operations.{system}"
        size = f"{found[f'{start}.nv']:.0f}, {found[f'{start}.rows']:.0f}"
        rows.append((f"{system} ({size})", *(tables.whole(found.get(f"{start}.{n}.operations")) for n in names)))
    timed = [
        (
            row,
            *(us(found, f"table.{row}.matrix.{n}") for n in ("ltl", "pv_osim", "efpa")),
            us(found, f"table.{row}.product.native"),
        )
        for row in ("Go2 standing", "Cassie", "G1 standing", "G1 fallen")
    ]
    first = tables.table(("operations: robot (velocities, rows)", *(f"`{n}`" for n in names)), rows)
    second = tables.table(("native, µs", "`ltl`", "`pv_osim`", "`efpa`", "one product without the matrix"), timed)
    return f"{measured_on('delassus')} Operations include the factor of the matrix.\n\n{first}\n\n{second}"


def delassus_times() -> str:
    """First and further applications."""
    found, rows = metrics("delassus"), []
    for row in ("Go2 standing", "Cassie", "G1 fallen", "Stack of boxes", "Box pyramid"):
        start = f"table.{row}"
        size = f"{found[f'{start}.nv']:.0f}, {found[f'{start}.rows']:.0f}"
        names = (
            "product.native",
            "product.batch",
            "further.product",
            "dense.product",
            "inverse.native",
            "further.inverse",
            "dense.inverse",
        )
        rows.append((f"{row} ({size})", *(us(found, f"{start}.{n}") for n in names)))
    titles = (
        "robot (velocities, rows)",
        "`D f`, first",
        "in a batch",
        "further",
        "by an existing matrix",
        "`(D + R)⁻¹ a`, first",
        "further",
        "by an existing factor",
    )
    note = f"{measured_on('delassus')} First: configuration, then one vector; further: only another vector."
    return f"{note}\n\n{tables.table(titles, rows)}"


def native_bar() -> str:
    """Where native `lcaba` is as fast as Pinocchio's solvers, and where it is not."""
    found = results("constrained")
    systems = bars.judged(found["metrics"])
    return "\n".join(f"- {bars.verdict(found, systems, iterations, bars.BARS[0])}" for iterations in (1, 3))


def further_iterations() -> str:
    """What iterations of `lcaba` after the first cost, and who needs least where all loops are coupled."""
    found = metrics("constrained")
    systems = [name for name in bars.judged(found) if f"{name}.lcaba.refinement" in found]

    def span(part: str) -> str:
        parts = [100 * found[f"{name}.lcaba.{part}"] / found[f"{name}.lcaba.operations"] for name in systems]
        return f"{min(parts):.0f} to {max(parts):.0f} %"

    least = {}
    for what in ("operations", "native.us"):
        curves = {m: dict(series.growth(found, "coupled_loops", m, what)) for m in ("lcaba", "prox_bbo", "prox_ltl")}
        size = max(set.intersection(*(set(curve) for curve in curves.values())))
        method = min(curves, key=lambda m: curves[m][size])
        least[what] = f"`{method}` ({size:.0f} links)"
    return (
        f"An iteration after the first has {span('iteration')} of its operations, the last one, with its refinement, "
        f"{span('refinement')}, on these {len(systems)} systems. Where all loops are coupled the fewest operations are "
        f"those of {least['operations']}, the least native time that of {least['native.us']}."
    )


def inertia_with_rotors() -> str:
    """What C-EFPA costs beside EFPA of the tree without rotors."""
    found = metrics("clusters")
    pairs = [
        "{1} against {2} on {0}".format(
            title, *(tables.whole(found[f"systems.{system}.inertia.{m}.operations"]) for m in ("efpa", "approximate"))
        )
        for system, title in (("MIT Humanoid", "the MIT Humanoid"), ("geared chain", "the geared chain of 12"))
    ]
    return f"Operations of C-EFPA against those of `approximate`: {', '.join(pairs)}."


def early_crossing() -> str:
    """From which size on PV-early needs less than PV on a ladder."""
    curves = (series.growth(metrics("constrained"), "ladder", name, "operations") for name in ("pv_early", "pv"))
    links = series.crossing(*curves)
    if links is None:
        return ""
    return f"On the ladder `pv_early` needs fewer operations than `pv` from {links:.0f} links on."


def beside_the_tree() -> str:
    """C-ABA with rotors beside Pinocchio without, and what leaving rotors out does to torques."""
    found = metrics("clusters")
    spans = {}
    for way in ("native", "specialized"):
        ratios = [orders.against_pinocchio(found, system, way) or 0.0 for system in orders.systems(found)]
        spans[way] = f"{min(ratios):.2g} to {max(ratios):.2g}"
    leg = {j: 100 * found[f"leg.{j}.approximate"] / found[f"leg.{j}.largest"] for j in ("knee", "ankle")}
    return (
        f"C-ABA *with* rotors is {spans['native']} times as fast as `pin.aba` of the tree *without* them in native "
        f"code, {spans['specialized']} times as a program made for the robot. On a leg of the MIT Humanoid, torques "
        f"by `approximate` are off by {leg['knee']:.0f} % of the largest at knee, {leg['ankle']:.0f} % at ankle "
        "([a leg](../../internals/clusters-benchmarks.md#torques-of-a-leg-fig-14))."
    )


def pyramid_memory() -> str:
    """What an operator needs where a matrix is large."""
    found, start = metrics("delassus"), "table.Box pyramid"
    size = {
        name: f"{found[f'{start}.memory.{name}'] / 1000:.0f} kB ({found[f'{start}.lines.{name}'] / 1000:.1f} thousand)"
        for name in ("operator", "damped_inverse", "matrix")
    }
    return (
        f"The pyramid has {found[f'{start}.rows']:.0f} rows: {size['operator']} for the operator, "
        f"{size['damped_inverse']} for the damped inverse, {size['matrix']} for a matrix; in brackets cache lines that "
        "a first application touches."
    )


def winners() -> str:
    """Which method needs least, system by system: of operations, and of time in a program made for the robot."""
    found, rows = metrics("constrained"), []
    every = [
        n
        for n, m in METHODS.items()
        if m.algorithm is not None and m.exact and n not in ("aba", "constrained_aba", "pv_soft")
    ]
    for system in (*bars.judged(found), "lqr.Go1 (4F3)", "lqr.Atlas (2F)", "lqr.Talos (2F+2H)"):
        cost = {
            n: sum(found.get(f"{system}.{n}.{part}", 0.0) for part in ("operations", "iteration"))
            + found.get(f"{system}.{n}.refinement", found.get(f"{system}.{n}.iteration", 0.0))
            for n in every
            if f"{system}.{n}.operations" in found
        }
        times = {n: found[f"{system}.1.{n}.specialized.us"] for n in every if f"{system}.1.{n}.specialized.us" in found}
        natives = {n: found[f"{system}.1.{n}.native.us"] for n in every if f"{system}.1.{n}.native.us" in found}
        size = f"{found[f'{system}.nv']:.0f}, {found[f'{system}.rows']:.0f}"
        cells = [f"`{min(have, key=have.__getitem__)}`" if have else "–" for have in (cost, natives, times)]
        rows.append((f"{system.partition('.')[2]} ({size})", *cells))
    clusters = metrics("clusters")
    for system in series.names(clusters, "systems", 1):
        start = f"systems.{system}"
        exact = ("cluster", "projection", "ltl", "lcaba", "prox_bbo")
        have = [
            {n: clusters[f"{start}.forward.{n}.{what}"] for n in exact}
            for what in ("operations", "native_bound.us", "bound.us")
        ]
        size = f"{clusters[f'{start}.nv']:.0f}, {clusters[f'{start}.rows']:.0f}"
        rows.append((f"{system} ({size})", *(f"`{min(h, key=h.__getitem__)}`" for h in have)))
    titles = ("system (velocities, rows)", "fewest operations", "fastest, native", "fastest, specialized")
    return tables.table(titles, rows)


MEASURED: dict[str, Callable[[], str]] = {
    "rnea": lambda: (
        tree_times("inverse_dynamics", ("talos", "ur5"))
        + "\n\n"
        + cluster_times("inverse", ("cluster", "projected", "rnea"))
    ),
    "crba": lambda: (
        tree_times("mass_matrix", ("talos", "ur5")) + "\n\n" + cluster_times("forward", ("projection", "cluster"))
    ),
    "aba": lambda: tree_times("forward_dynamics", ("talos", "g1", "go2", "ur5")),
    "ltl": lambda: constrained_times(("prox_ltl", "lcaba"), SYSTEMS) + "\n\n" + growth(("prox_ltl",), LOOPS),
    "pv": lambda: (
        constrained_times(("pv", "pv_early", "pv_soft"), HELD)
        + "\n\n"
        + growth(("pv", "pv_early", "pv_soft", "ltl"), ("held_chain", "ladder"))
        + "\n\n"
        + early_crossing()
    ),
    "lcaba": lambda: (
        constrained_times(("lcaba",), SYSTEMS)
        + "\n\n"
        + growth(("lcaba", "prox_bbo", "prox_ltl"), LOOPS)
        + "\n\n"
        + native_bar()
        + "\n\n"
        + further_iterations()
    ),
    "bbo": lambda: constrained_times(("prox_bbo", "lcaba"), SYSTEMS) + "\n\n" + growth(("prox_bbo", "lcaba"), LOOPS),
    "clusters": lambda: (
        cluster_times("forward", ("cluster", "projection", "ltl", "prox_bbo", "lcaba", "approximate"))
        + "\n\n"
        + beside_the_tree()
    ),
    "osim": lambda: matrix_operations() + "\n\n" + inertia_with_rotors(),
    "delassus": lambda: delassus_times() + "\n\n" + pyramid_memory(),
    "index": winners,
}
"""What goes between ``<!-- measured -->`` and its end, by page."""
