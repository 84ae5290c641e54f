# SPDX-License-Identifier: BSD-3-Clause
"""**lqr**, item by item."""

from __future__ import annotations

from linkwork_benchmarks.constrained import papers as printed
from linkwork_benchmarks.constrained.scenarios import GROUNDED
from linkwork_benchmarks.delassus import bars
from linkwork_benchmarks.papers.entry import Entry, Paper, drawing
from linkwork_benchmarks.papers.found import UNKNOWN, Found

TABLE = "constrained --only '^lqr\\.'"
LARGE = "Talos (2F+2H)"
HUMANOIDS = ("Atlas (2F)", "Atlas (2F+2H)", "Talos (2F)", "Talos (2F+2H)")


def _fewer(found: Found, first: str, second: str, measure: str) -> str:
    """On how many systems a method needs no more than another."""
    start = "lqr.{}." if measure == "operations" else "lqr.{}.1."
    pairs = []
    for system in printed.LQR_TIMES:
        at = start.format(system)
        a, b = (found.get("constrained", f"{at}{m}.{measure}") for m in (first, second))
        if a is not None and b is not None:
            pairs.append(a <= b)
    return f"{sum(pairs)} of {len(pairs)}" if pairs else UNKNOWN


def _both(found: Found, first: str, second: str) -> str:
    return (
        f"operations of `{first}` at or below `{second}` on {_fewer(found, first, second, 'operations')} systems, "
        f"native times on {_fewer(found, first, second, 'native.us')}"
    )


def _part(found: Found, method: str, other: str, measure: str = "operations") -> str:
    start = f"lqr.{LARGE}." if measure == "operations" else f"lqr.{LARGE}.1."
    return found.quotient("constrained", f"{start}{method}.{measure}", f"{start}{other}.{measure}")


def _early(found: Found) -> str:
    return (
        f"{_both(found, 'pv_early', 'pv')}; on {LARGE} operations are {_part(found, 'pv_early', 'ltl')} of `ltl`'s and "
        f"{_part(found, 'pv_early', 'pv')} of `pv`'s"
    )


def _soft(found: Found) -> str:
    parts = [f"{_part(found, m, 'pv_soft', 'native.us')} times `{m}`" for m in ("ltl_soft", "ltl")]
    counts = [f"{_part(found, m, 'pv_soft')} times `{m}`" for m in ("ltl_soft", "ltl")]
    return f"on {LARGE}, native times: {', '.join(parts)}; operations: {', '.join(counts)}"


def _residuals(found: Found, what: str) -> str:
    parts = []
    for label, title in (
        ("pv_soft.1e+04", "`pv_soft` at 1e4"),
        ("pv_soft.1e+08", "at 1e8"),
        ("pv_soft.1e+12", "at 1e12"),
        ("ltl_soft.1e+08", "`ltl_soft` at 1e8"),
        ("ltl_soft.1e+12", "at 1e12"),
        ("pv.hard", "`pv`"),
        ("pv_early.hard", "`pv_early`"),
        ("ltl.hard", "`ltl`"),
    ):
        x = found.get("constrained", f"softness.{LARGE}.{label}.{what}.mean")
        parts.append(f"{title} {UNKNOWN if x is None else f'{x:.0e}'}")
    return "means: " + ", ".join(parts)


def _operations(found: Found) -> str:
    every = bars.counted(found.metrics("delassus"))
    less = [r for r, known in every.items() if "efpa" in known and known["pv_osim"] < known["efpa"]]
    return f"PV-OSIM below EFPA on {len(less)} of {len(every)} robots and row sets" if every else UNKNOWN


def _extremes(found: Found) -> str:
    """Where LTL needs least and most of LTL, PV-OSIM and EFPA, and where KJR needs more than EFPA."""
    every = bars.counted(found.metrics("delassus"))
    if not every:
        return UNKNOWN

    def ranked(robot: str) -> list[str]:
        return sorted(("ltl", "pv_osim", "efpa"), key=lambda m: every[robot].get(m, 0.0))

    least = [r for r in every if ranked(r)[0] == "ltl"]
    most = [r for r in every if ranked(r)[-1] == "ltl"]
    kjr = [r for r, known in every.items() if known.get("kjr", 0.0) > known["efpa"]]
    told = f"LTL least on {', '.join(least) or 'none'}; most on {', '.join(most) or 'none'}"
    return f"{told}; KJR above EFPA on {len(kjr)} of {len(every)}"


def _against_ltl(found: Found) -> str:
    numbers = []
    for robot in HUMANOIDS:
        fast, ltl = (found.get("delassus", f"operations.{robot}.{m}.operations") for m in ("pv_osim_fast", "ltl"))
        numbers.append(None if fast is None or ltl is None else ltl / fast)
    return f"{found.span(numbers)} times fewer operations than LTL on Atlas and Talos"


def _crossings(found: Found) -> str:
    metrics, parts = found.metrics("delassus"), []
    for branches in ("8", "9", "10"):
        crossing = bars.crossing(metrics, branches) if f"stalk.{branches}.2.rows" in metrics else None
        if crossing is None:
            parts.append(f"{branches} branches: {UNKNOWN}")
        elif crossing.stem is None:
            parts.append(f"{branches} branches: PV-OSIM for any stem")
        else:
            parts.append(f"{branches} branches: EFPA from {crossing.stem:.0f} links on")
    return "; ".join(parts)


ENTRIES = (
    drawing("Fig. 1", "a constrained robot; the three sweeps"),
    Entry("Table I", "notation", ("docs/reference/glossary.md",), "no numbers", "[glossary](../reference/glossary.md)"),
    Entry(
        "Sec. II-C",
        "Featherstone's LTL",
        ("kernels/constrained/ltl.py:ltl", "plans/ltl.py:ltl_tree"),
        here="`ltl`, its baseline in all comparisons",
        command="tests/dynamics/test_forward_models.py::test_every_method_agrees_with_least_squares",
    ),
    Entry(
        "Sec. III",
        "PV on chains",
        ("kernels/constrained/bbo.py:pv",),
        here="`pv`; chains are trees",
        command="tests/dynamics/test_forward_models.py::test_every_method_agrees_with_least_squares",
    ),
    Entry(
        "Sec. IV",
        "the dual Hessian is the inverse OSIM",
        ("kernels/constrained/osim.py:pv_osim",),
        "proof",
        '`Delassus(robot, "pv_osim").matrix(q)` is `J M⁻¹ J\'`',
        command="tests/dynamics/test_delassus.py",
    ),
    Entry(
        "Algorithm 1",
        "PV on floating trees (Sec. V)",
        ("kernels/constrained/bbo.py:pv", "plans/bbo.py:bbo_tree", "dynamics/rows/ends.py:pv_tree"),
        here=lambda f: _both(f, "pv", "ltl"),
        differs=(
            "rows end at the base (Eq. 49) or at the world (Eq. 47), branch by branch, whichever needs less; at the "
            "world where a branch is singular"
        ),
        command=TABLE,
    ),
    Entry(
        "Eqs. 50 to 52",
        "PV-soft (Sec. VI)",
        ("kernels/constrained/lcaba_factor.py:init_augmented_inertias",),
        here="`pv_soft`: the first iteration of `lcaba`",
        command="tests/dynamics/test_forward_models.py::test_every_method_agrees_with_least_squares",
    ),
    Entry(
        "Algorithm 2",
        "PV-OSIM (Sec. VII-A)",
        ("kernels/constrained/osim.py:pv_osim",),
        here='`Delassus(robot, "pv_osim")`',
        command="tests/dynamics/test_delassus.py",
    ),
    Entry(
        "Eqs. 53 to 55",
        "PV-OSIM-fast (Sec. VII-B)",
        ("kernels/constrained/osim.py:pv_osim_fast",),
        here='`Delassus(robot, "pv_osim_fast")`',
        differs="the damped inverse too; where the base's block is singular it takes the dense factor",
        command="tests/dynamics/test_delassus.py",
    ),
    Entry(
        "Sec. VII-C",
        "EFPA and KJR, compared with",
        ("kernels/constrained/efpa.py:efpa", "kernels/constrained/efpa.py:kjr"),
        here='`Delassus(robot, "efpa")`, `Delassus(robot, "kjr")`',
        command="tests/dynamics/test_delassus.py",
    ),
    Entry(
        "Eqs. 56 to 68",
        "PV-early (Sec. VIII)",
        (
            "kernels/constrained/pv_early.py:pv_early",
            "plans/pv_early.py:pv_early_tree",
            "dynamics/rows/ranks.py:pv_early_plan",
        ),
        "O(n + m)",
        lambda f: f"{f.power('ladder', 'pv_early')} on the ladder, native time",
        (
            "a factor in the place of singular values at joints of several degrees of freedom; where pivots are weak "
            "a second text reveals ranks"
        ),
        "constrained --only growth.ladder",
    ),
    Entry(
        "Remarks 8, 9",
        "joints that feel no row; more than six rows",
        ("kernels/constrained/pv_early.py:pv_early",),
        "cases of the text",
        "served, and rows that contradict each other are an error",
        command="tests/dynamics/test_forward_redundant.py",
    ),
    Entry(
        "Fig. 2a to 2d",
        "operations of OSIM algorithms on Atlas, Talos, Go1, iiwa",
        ("linkwork_benchmarks/delassus/counts.py",),
        "bars without numbers: PV-OSIM below EFPA on all, LTL least on iiwa only",
        lambda f: (
            f"{_operations(f)}; [all parts](delassus-benchmarks.md#lqr-fig-2-operations-of-the-matrix-and-its-factor)"
        ),
        "rows are welds and points where limbs are, the paper's are random matrices",
        "delassus --only operations",
    ),
    Entry(
        "Fig. 2a to 2d, Sec. IX-B",
        "LTL least on iiwa, PV-OSIM slightly below it on Go1, LTL most on Atlas and Talos; KJR above EFPA",
        ("kernels/constrained/osim.py:ltl_osim", "kernels/constrained/efpa.py:kjr"),
        "stated",
        _extremes,
        "of LTL, PV-OSIM and EFPA, all with the dense factor",
        "delassus --only operations",
    ),
    Entry(
        "Fig. 2, Sec. IX-B",
        "PV-OSIM-fast nearly twice as fast as LTL on humanoids",
        ("kernels/constrained/osim.py:pv_osim_fast",),
        "nearly 2 times",
        _against_ltl,
        command="delassus --only operations",
    ),
    drawing("Fig. 2e", "the long stalk", "zoo/scaling.py:stalk"),
    Entry(
        "Fig. 2f",
        "from which stem on EFPA needs fewer operations than PV-OSIM",
        ("zoo/scaling.py:stalk", "linkwork_benchmarks/delassus/scenarios.py:Stalk"),
        "none up to 8 branches; 54 links with 10",
        _crossings,
        "our EFPA hands inverse inertias up with fewer operations, so that it crosses earlier",
        "delassus --only stalk",
    ),
    Entry(
        "Table II",
        "times of 18 systems by PV, PV-e, LTL, PV-s, LTL-s, Pinocchio, MuJoCo",
        ("linkwork_benchmarks/scenes.py:LQR_TABLE",),
        (
            "PV 0.55 to 10.13 µs, PV-e 0.55 to 7.40 µs, LTL 0.63 to 15.4 µs, PV-s 0.55 to 5.11 µs, LTL-s 0.63 to "
            "11.9 µs (generated C)"
        ),
        lambda f: f"{f.orders('lqr')}. [All systems](benchmarks.md#lqr-table-ii)",
        (
            "rows are welds and points, the paper's random matrices; Atlas has 36 velocities (37 is the length of "
            "q); four methods are ordered, LTL-s stands beside"
        ),
        TABLE,
    ),
    Entry(
        "Sec. IX-C1",
        "PV as fast as LTL or faster on all robots",
        ("kernels/constrained/bbo.py:pv",),
        "14 of 14",
        lambda f: _both(f, "pv", "ltl"),
        command=TABLE,
    ),
    Entry(
        "Sec. IX-C1",
        "PV-early: nearly 50 % less than LTL and 30 % less than PV on the largest",
        ("kernels/constrained/pv_early.py:pv_early",),
        "0.48 and 0.73 on Talos (2F+2H), times",
        _early,
        command=TABLE,
    ),
    Entry(
        "Sec. IX-C2",
        "PV-soft nearly twice as fast as LTL-s and nearly thrice as LTL",
        ("kernels/constrained/lcaba.py", "linkwork_benchmarks/constrained/joint_space.py:ltl_soft"),
        "2.3 and 3.0 times on Talos (2F+2H)",
        _soft,
        command=TABLE,
    ),
    Entry(
        "Fig. 3a",
        "residuals of soft rows over their weight, Talos (2F+2H), 1000 states",
        ("linkwork_benchmarks/constrained/accuracy.py:softness",),
        "falling with the weight; hard methods far below",
        lambda f: _residuals(f, "missed"),
        command="constrained --only softness",
    ),
    Entry(
        "Fig. 3b",
        "distance of accelerations from PV",
        ("linkwork_benchmarks/constrained/accuracy.py:softness",),
        "soft solvers diverge from about 1e8 on, LTL-s more than PV-s",
        lambda f: _residuals(f, "away"),
        command="constrained --only softness",
    ),
    Entry(
        "Fig. 4a",
        "chains of 6 to 100 joints, held at both ends",
        ("zoo/scaling.py:held_chain",),
        "PV, PV-e, PV-s linear; LTL, LTL-s superlinear",
        lambda f: f"{f.powers('held_chain', (*GROUNDED[:3], 'ltl', 'ltl_soft'))}; {f.claims('held_chain')}",
        "native code, where the paper's generated code of LTL grows too large for its compiler",
        "constrained --only growth.held_chain",
    ),
    drawing("Fig. 4b", "the ladder", "zoo/scaling.py:ladder"),
    Entry(
        "Fig. 4c",
        "the ladder: PV-e and PV-s linear, PV superlinear like LTL",
        ("zoo/scaling.py:ladder",),
        "curves without numbers",
        lambda f: f"{f.powers('ladder', (*GROUNDED[:3], 'ltl', 'ltl_soft'))}; {f.claims('ladder')}",
        "up to 500 links",
        "constrained --only growth.ladder",
    ),
)

PAPER = Paper(
    "lqr",
    "A. S. Sathya, H. Bruyninckx, W. Decré, G. Pipeleers, *Efficient Constrained Dynamics Algorithms based on an "
    "Equivalent LQR Formulation using Gauss' Principle of Least Constraint*",
    ENTRIES,
    algorithms=2,
    tables=2,
    figures=4,
)
