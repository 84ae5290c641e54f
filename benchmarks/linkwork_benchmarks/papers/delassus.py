# SPDX-License-Identifier: BSD-3-Clause
"""**delassus**, item by item."""

from __future__ import annotations

from linkwork_benchmarks.delassus import bars
from linkwork_benchmarks.delassus import papers as printed
from linkwork_benchmarks.papers.entry import Entry, Paper, claim, drawing, equations, future
from linkwork_benchmarks.papers.found import UNKNOWN, Found, verdict

TABLE = "delassus --only table"
PYRAMID = "Box pyramid"


def _best(found: Found, row: str, quantity: str) -> tuple[str, float] | None:
    """The fastest right route to a matrix of all that were measured, and how many times as fast ours is."""
    metrics = found.metrics("delassus")
    mine = bars.ours(metrics, row, f"{quantity}.native")
    known = [
        (route.title, us)
        for route in bars.ROUTES[quantity]
        if bars.right(metrics, row, route) and (us := bars.route_time(metrics, row, route)) is not None
    ]
    if mine is None or not known:
        return None
    title, us = min(known, key=lambda route: route[1])
    return title, us / mine


def _first(found: Found, quantity: str) -> str:
    metrics = found.metrics("delassus")
    rows = bars.rows(metrics)
    ratios = [best[1] for row in rows if (best := _best(found, row, quantity)) is not None]
    times = [bars.ours(metrics, row, f"{quantity}.native") for row in rows]
    return (
        f"native {found.span(times, '.3g')} µs; {found.span(ratios, '.2g')} times as fast as the fastest right "
        "explicit route of all that were measured"
    )


def _printed(quantity: str) -> str:
    rows = [getattr(row, quantity) for row in printed.TABLE.values()]
    ratios = [row.ratio for row in rows]
    free = [row.free for row in rows]
    return f"{min(free):g} to {max(free):g} µs, {min(ratios):.1f} to {max(ratios):.0f} times as fast as LTL-OSIM"


def _pyramid(found: Found, quantity: str) -> str:
    best, own = _best(found, PYRAMID, quantity), _like_for_like(found, quantity)
    ours, theirs = (
        found.get("delassus", f"table.{PYRAMID}.{quantity}.native.us"),
        getattr(printed.TABLE[PYRAMID], quantity),
    )
    if best is None or own is None or ours is None:
        return UNKNOWN
    return (
        f"{bars.times(own)} times, against our own LTL-OSIM as the paper against its own: {ours:.3g} µs and "
        f"{own * ours / 1e3:.3g} ms, printed {theirs.free:.3g} µs and {theirs.explicit / 1e3:.3g} ms; "
        f"{bars.times(best[1])} times against the fastest right route of all, {best[0]}"
    )


def _like_for_like(found: Found, quantity: str) -> float | None:
    """How many times as fast ours is on the pyramid as by our own LTL-OSIM: a matrix, then a factor."""
    parts = ["matrix.ltl", *(["dense.damping"] if quantity == "inverse" else [])]
    times = [found.get("delassus", f"table.{PYRAMID}.{name}.us") for name in (*parts, f"{quantity}.native")]
    known = [x for x in times if x is not None]
    return sum(known[:-1]) / known[-1] if len(known) == len(times) else None


def _pyramid_verdict(found: Found, quantity: str) -> str:
    """Whether the pyramid's ratio against LTL-OSIM is that of the paper: at least nine tenths of it."""
    ratio = _like_for_like(found, quantity)
    return UNKNOWN if ratio is None else verdict(ratio >= 0.9 * getattr(printed.TABLE[PYRAMID], quantity).ratio, 1)


def _joints_help(found: Found) -> str:
    """Whether a robot with joints takes less time than as many numbers of boxes without."""
    row = "table.{}.inverse.native.us"
    ratio = found.ratio("delassus", row.format("Stack of boxes"), row.format("G1 fallen, friction"))
    return UNKNOWN if ratio is None else verdict(ratio > 1, 1)


def _ahead(found: Found, quantity: str) -> str:
    """On how many rows the operator is faster than every right explicit route, as printed on all."""
    known = [_best(found, row, quantity) for row in bars.rows(found.metrics("delassus"))]
    return verdict(sum(best is not None and best[1] > 1 for best in known), len(known))


def _further_verdict(found: Found, what: str) -> str:
    """On how many rows, by the paper's names, applying again is faster or slower than by a matrix as printed."""
    metrics, held = found.metrics("delassus"), []
    for row, times in printed.TABLE.items():
        ours = bars.further_ratio(metrics, row, what)
        if ours is not None:
            held.append(ours > 1 or getattr(times, f"further_{what}").ratio < 1)
    return verdict(sum(held), len(held))


def _less_memory(found: Found) -> str:
    known = [
        found.ratio("delassus", f"table.{row}.memory.{what}", f"table.{row}.memory.matrix")
        for row in bars.rows(found.metrics("delassus"))
        for what in ("operator", "damped_inverse")
    ]
    given = [x for x in known if x is not None]
    return verdict(sum(x < 1 for x in given), len(given))


def _linear(found: Found) -> str:
    metrics = found.metrics("delassus")
    powers = [bars.power(bars.growth(metrics, "swimmer", f"{q}.native", "us"), "us") for q in bars.QUANTITIES]
    explicit = bars.power(bars.growth(metrics, "swimmer", "matrix.ltl", "us"), "us", least=10)
    return verdict(sum(p is not None and p <= 1.1 for p in powers) + ((explicit or 0.0) > 1.1), len(powers) + 1)


def _further(found: Found, what: str) -> str:
    metrics = found.metrics("delassus")
    ratios = [bars.further_ratio(metrics, row, what) for row in bars.rows(metrics)]
    times = [bars.ours(metrics, row, f"further.{what}") for row in bars.rows(metrics)]
    return f"{found.span(times, '.3g')} µs, {found.span(ratios, '.2g')} times as fast as with a matrix or factor"


def _printed_further(what: str) -> str:
    rows = [getattr(row, f"further_{what}") for row in printed.TABLE.values()]
    ratios, free = [row.ratio for row in rows], [row.free for row in rows]
    return f"{min(free):g} to {max(free):g} µs, {min(ratios):.2g} to {max(ratios):.3g} times as fast as explicit"


def _memory(found: Found) -> str:
    sizes = [
        found.get("delassus", f"table.{PYRAMID}.memory.{what}") for what in ("operator", "damped_inverse", "matrix")
    ]
    if None in sizes:
        return UNKNOWN
    operator, inverse, matrix = (f"{x / 1e3:.0f} kB" for x in sizes if x is not None)
    lines = [found.get("delassus", f"table.{PYRAMID}.lines.{what}") for what in ("operator", "damped_inverse")]
    told = f"pyramid: operator {operator}, damped inverse {inverse}, a matrix {matrix}"
    counted = " and ".join(f"{x / 1e3:.1f} thousand" for x in lines if x is not None)
    return f"{told}; cache lines {counted}" if counted else told


def _growth(found: Found) -> str:
    metrics, parts = found.metrics("delassus"), []
    for quantity, words in bars.QUANTITIES.items():
        power = bars.power(bars.growth(metrics, "swimmer", f"{quantity}.native", "us"), "us")
        parts.append(f"{words} {UNKNOWN if power is None else f'n^{power:.2f}'}")
    power = bars.power(bars.growth(metrics, "swimmer", "matrix.ltl", "us"), "us", least=10)
    parts.append(f"our explicit `ltl` {UNKNOWN if power is None else f'n^{power:.2f}'}")
    return ", ".join(parts)


def _articulated(found: Found) -> str:
    g1, boxes = (
        found.get("delassus", f"table.{row}.inverse.native.us") for row in ("G1 fallen, friction", "Stack of boxes")
    )
    return UNKNOWN if g1 is None or boxes is None else f"{g1:.1f} and {boxes:.1f} µs"


ENTRIES = (
    drawing(
        "Fig. 1", "the scenes of Table I", "linkwork_benchmarks/delassus/robots.py", "zoo/contacts.py", "zoo/scenes.py"
    ),
    equations(
        "Eqs. 1 to 3",
        "the Delassus matrix, and constrained dynamics by it",
        ("kernels/constrained/osim.py:ltl_osim", "kernels/constrained/delassus.py:delassus"),
        "tests/dynamics/test_delassus.py",
    ),
    Entry(
        "Eq. 4",
        "the damped inverse; R is a stiffness there",
        ("kernels/constrained/delassus.py",),
        here="`damped_inverse(r)`: r is the damping, the paper's `R⁻¹`",
        command="tests/dynamics/test_delassus.py::test_the_damped_inverse_is_that_of_dense_algebra",
    ),
    Entry(
        "Eq. 5",
        "constraints of links and of joints",
        ("plans/constraints.py", "kernels/constrained/constraints.py"),
        here="rows of bodies (5c), and couplings of joints (5d)",
        command="tests/dynamics/test_delassus.py",
    ),
    Entry(
        "Remark 1",
        "the same for impulses",
        ("dynamics/impact.py", "kernels/contact/operator.py"),
        here="`Impact`, and contacts in steps, by the same operators",
        command="tests/dynamics/test_impact.py",
    ),
    Entry(
        "Remark 2",
        "rows of joints as rows of links cost more",
        ("plans/constraints.py",),
        here="couplings are terms on joint coordinates; LCABA makes rows of links of those that bind several joints",
        command="tests/dynamics/test_delassus.py",
    ),
    equations(
        "Eqs. 6 to 9",
        "the operator as a product of three; the matrix inversion lemma",
        ("kernels/constrained/delassus.py:apply_delassus", "kernels/constrained/delassus.py:solve_damped"),
        "tests/dynamics/test_delassus_operators.py",
    ),
    Entry(
        "Algorithm 1",
        "J' on forces",
        ("kernels/constrained/delassus.py:apply_JT", "kernels/constrained/delassus.py:apply_row_forces"),
        here="`Delassus(robot).at(q)`, its transposed Jacobian",
        command="tests/dynamics/test_delassus_operators.py",
    ),
    Entry(
        "Algorithm 2",
        "M⁻¹ on torques",
        ("kernels/constrained/delassus.py:apply_delassus", "kernels/tree/aba.py:articulate"),
        here="ABA without bias forces, between Algorithms 1 and 3 in one pass",
        command="tests/dynamics/test_delassus_operators.py",
    ),
    Entry(
        "Algorithm 3",
        "J on accelerations",
        ("kernels/constrained/delassus.py:apply_J", "kernels/constrained/delassus.py:constraint_accelerations"),
        here="`Delassus(robot).at(q)`, its Jacobian",
        command="tests/dynamics/test_delassus_operators.py",
    ),
    Entry(
        "Sec. IV-D, V-D",
        "sweeps merged",
        ("kernels/constrained/delassus.py:apply_delassus",),
        here="merged",
        command="tests/dynamics/test_delassus.py",
    ),
    Entry(
        "Algorithm 4",
        "the modified mass matrix by LCABA",
        ("kernels/constrained/delassus.py:solve_damped", "kernels/constrained/lcaba_factor.py:articulate_loops"),
        here="`damped_inverse`",
        differs=(
            "signs of forces follow Eqs. 30 of **loops**; small dampings are refined until less than 1e-11 may be "
            "wrong, so that J' times forces is exact on redundant rows with a damping of 1e-8 where these do not "
            "contradict each other"
        ),
        command="tests/dynamics/test_delassus_redundant.py",
    ),
    Entry(
        "Table I",
        "first application of the operator",
        ("kernels/constrained/delassus.py:delassus", "linkwork_benchmarks/delassus/scenarios.py:SCENES"),
        _printed("product"),
        lambda f: _first(f, "product"),
        (
            "postures and contact points are ours, numbers of them the paper's; boxes of the last row keep one "
            "contact of four a pair"
        ),
        TABLE,
        lambda f: _ahead(f, "product"),
    ),
    Entry(
        "Table I",
        "first application of the damped inverse",
        ("kernels/constrained/delassus.py:damped_inverse",),
        _printed("inverse"),
        lambda f: _first(f, "inverse"),
        "the paper gives no damping; 1e-3 here",
        TABLE,
        lambda f: _ahead(f, "inverse"),
    ),
    Entry(
        "Table I, Sec. VI-B",
        "about 400 times on the largest scenes: the operator on the pyramid",
        ("kernels/constrained/delassus.py",),
        "398 times",
        lambda f: _pyramid(f, "product"),
        ("of Pinocchio's own routes only its Cholesky decomposition is right there, and a slow one"),
        "delassus --only 'table.Box'",
        lambda f: _pyramid_verdict(f, "product"),
    ),
    Entry(
        "Table I",
        "the damped inverse on the pyramid",
        ("kernels/constrained/delassus.py",),
        "354 times",
        lambda f: _pyramid(f, "inverse"),
        "as fast as printed; what it is compared with is faster here, above all the dense factor",
        command="delassus --only 'table.Box'",
        verdict=lambda f: _pyramid_verdict(f, "inverse"),
    ),
    Entry(
        "Table I",
        "the operator on another vector",
        ("dynamics/delassus/operators.py",),
        _printed_further("product"),
        lambda f: _further(f, "product"),
        command=TABLE,
        verdict=lambda f: _further_verdict(f, "product"),
    ),
    Entry(
        "Table I",
        "the damped inverse on another vector",
        ("dynamics/delassus/operators.py",),
        _printed_further("inverse"),
        lambda f: _further(f, "inverse"),
        command=TABLE,
        verdict=lambda f: _further_verdict(f, "inverse"),
    ),
    Entry(
        "Table I",
        "the damped inverse with another damping",
        ("kernels/constrained/delassus.py:factorize_damped",),
        _printed_further("damping"),
        lambda f: _further(f, "damping"),
        command=TABLE,
        verdict=lambda f: _further_verdict(f, "damping"),
    ),
    Entry(
        "Table I",
        "memory and cache lines",
        ("dynamics/delassus/memory.py",),
        (
            "pyramid: operator 755 kB, damped inverse 826 kB, explicit 9694 and 15530 kB; cache lines 3.4 and 15.9 "
            "thousand"
        ),
        _memory,
        "work arrays and plans",
        TABLE,
        _less_memory,
    ),
    Entry(
        "Fig. 2",
        "a swimmer that grows: matrix-free linear, explicit superlinear",
        ("zoo/contacts.py:swimmer",),
        "curves without numbers",
        _growth,
        "up to 1000 links",
        "delassus --only growth.swimmer",
        _linear,
    ),
    Entry(
        "Sec. VI-D",
        "G1 with joints beside boxes without, damped inverse",
        ("kernels/constrained/delassus.py",),
        "7.33 and 31.38 µs",
        _articulated,
        command=TABLE,
        verdict=_joints_help,
    ),
    claim(
        "Abstract, Sec. VII",
        "2 to nearly 400 times as fast as explicit matrices",
        "ranging from",
        ("kernels/constrained/delassus.py",),
        lambda f: f"operator: {_first(f, 'product')}; damped inverse: {_first(f, 'inverse')}",
        TABLE,
        lambda f: verdict(
            sum((best := _best(f, PYRAMID, q)) is not None and best[1] >= 100 for q in ("product", "inverse")), 2
        ),
        "the paper's LTL-OSIM is Pinocchio's C++; here the fastest right route of ours and Pinocchio's",
    ),
    future(
        "Sec. VI-A, VI-D",
        "PV-OSIMr and cABA-OSIM for internal loops",
        "remains a subject for future research",
        ("kernels/constrained/osim.py:pv_osimr", "kernels/constrained/osim.py:caba_osim", "plans/pv_osimr.py"),
        '`Delassus(robot, "pv_osimr")`, and `inverse_matrix(q, r)` by cABA-OSIM, of any constraints; over clusters by '
        '`"cluster_efpa"`, whose rows end at common ancestors',
        "tests/dynamics/test_delassus.py",
    ),
    future(
        "Sec. VII",
        "the operators in an engine for contacts",
        "integration into physics engines",
        ("kernels/contact/operator.py:operator_admm",),
        "many contacts of a step are solved by products with these operators: [contact](../how-to/contact.md)",
        "tests/contact",
    ),
)

PAPER = Paper(
    "delassus",
    "A. S. Sathya, L. Montaut, Y. de Mont-Marin, J. Carpentier, *Matrix-Free Delassus Operations: Scalable and "
    "Memory-Efficient Algorithms*",
    ENTRIES,
    algorithms=4,
    tables=1,
    figures=2,
    equations=9,
    remarks=2,
    claims=1,
    future=2,
)
