# SPDX-License-Identifier: BSD-3-Clause
"""**lqr**, item by item."""

from __future__ import annotations

from linkwork_benchmarks.constrained import papers as printed
from linkwork_benchmarks.constrained.scenarios import GROUNDED
from linkwork_benchmarks.delassus import bars
from linkwork_benchmarks.papers.entry import Entry, Paper, claim, drawing, equations, future
from linkwork_benchmarks.papers.found import UNKNOWN, Found, held_on, verdict

TABLE = "constrained --only '^lqr\\.'"
LARGE = "Talos (2F+2H)"
HUMANOIDS = ("Atlas (2F)", "Atlas (2F+2H)", "Talos (2F)", "Talos (2F+2H)")


def _fewer(found: Found, first: str, second: str, measure: str) -> dict[str, bool]:
    """Of each system, whether a method needs no more than another."""
    start = "lqr.{}." if measure == "operations" else "lqr.{}.1."
    held = {}
    for system in printed.LQR_TIMES:
        at = start.format(system)
        a, b = (found.get("constrained", f"{at}{m}.{measure}") for m in (first, second))
        if a is not None and b is not None:
            held[system] = a <= b
    return held


def _fewer_verdict(found: Found, first: str, second: str) -> str:
    held = [x for measure in ("operations", "native.us") for x in _fewer(found, first, second, measure).values()]
    return verdict(sum(held), len(held))


def _numbers(found: Found, pairs: tuple[tuple[str, str], ...], measure: str) -> list[float | None]:
    start = f"lqr.{LARGE}." if measure == "operations" else f"lqr.{LARGE}.1."
    return [found.ratio("constrained", f"{start}{a}.{measure}", f"{start}{b}.{measure}") for a, b in pairs]


def _early_saves(found: Found) -> str:
    """Whether PV-early needs 48 % of LTL's and 73 % of PV's time on the largest, or less."""
    known = _numbers(found, (("pv_early", "ltl"), ("pv_early", "pv")), "native.us")
    return verdict(sum(x is not None and x <= y + 0.02 for x, y in zip(known, (0.5, 0.73), strict=True)), 2)


def _soft_saves(found: Found) -> str:
    """Whether LTL-s takes nearly twice and LTL nearly thrice PV-soft's time: 1.8 and 2.6 at least."""
    known = _numbers(found, (("ltl_soft", "pv_soft"), ("ltl", "pv_soft")), "native.us")
    return verdict(sum(x is not None and round(x, 1) >= y for x, y in zip(known, (1.8, 2.6), strict=True)), 2)


def _fig_3a(found: Found) -> str:
    means = [found.get("constrained", f"softness.{LARGE}.pv_soft.{w}.missed.mean") for w in ("1e+04", "1e+08", "1e+12")]
    hard = [found.get("constrained", f"softness.{LARGE}.{m}.hard.missed.mean") for m in ("pv", "pv_early", "ltl")]
    if None in means or None in hard:
        return UNKNOWN
    falling = [x for x in means if x is not None]
    return verdict(
        (falling == sorted(falling, reverse=True)) + (max(x for x in hard if x is not None) < falling[-1]), 2
    )


def _fig_3b(found: Found) -> str:
    known = {
        (m, w): found.get("constrained", f"softness.{LARGE}.{m}.{w}.away.mean")
        for m in ("pv_soft", "ltl_soft")
        for w in ("1e+08", "1e+12")
    }
    soft = [known["pv_soft", w] for w in ("1e+08", "1e+12")]
    ltl = known["ltl_soft", "1e+12"]
    if soft[0] is None or soft[1] is None or ltl is None:
        return UNKNOWN
    return verdict((soft[1] > soft[0]) + (ltl > soft[1]), 2)


def _osim_below(found: Found) -> str:
    every = bars.counted(found.metrics("delassus"))
    return verdict(sum(known["pv_osim"] < known["efpa"] for known in every.values() if "efpa" in known), len(every))


def _ltl_extremes(found: Found) -> str:
    """Whether LTL is least on iiwa, most on Atlas and Talos, and KJR above EFPA, robot by robot."""
    held = []
    for robot, known in bars.counted(found.metrics("delassus")).items():
        ranked = sorted(("ltl", "pv_osim", "efpa"), key=lambda m: known.get(m, 0.0))
        if robot.startswith("Iiwa"):
            held.append(ranked[0] == "ltl")
        if robot.startswith(("Atlas", "Talos")):
            held.append(ranked[-1] == "ltl")
        held.append(known.get("kjr", 0.0) > known["efpa"])
    return verdict(sum(held), len(held))


def _twice(found: Found) -> str:
    numbers = [
        found.ratio("delassus", f"operations.{r}.ltl.operations", f"operations.{r}.pv_osim_fast.operations")
        for r in HUMANOIDS
    ]
    return verdict(sum(x is not None and x >= 1.8 for x in numbers), len(numbers))


def _crossing_verdict(found: Found) -> str:
    """Whether EFPA needs fewer for no stem with 8 branches, and crosses with 10."""
    metrics = found.metrics("delassus")
    known = [bars.crossing(metrics, b) if f"stalk.{b}.2.rows" in metrics else None for b in ("8", "10")]
    if known[0] is None or known[1] is None:
        return UNKNOWN
    return verdict((known[0].stem is None) + (known[1].stem is not None), 2)


def _both(found: Found, first: str, second: str) -> str:
    counted, timed = (held_on(_fewer(found, first, second, measure)) for measure in ("operations", "native.us"))
    return f"operations of `{first}` at or below those of `{second}` on {counted}, native times on {timed}"


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
    equations(
        "Eqs. 1 to 5",
        "constraints on links, equations of motion, the inverse OSIM",
        ("kernels/constrained/constraints.py:constraint_rows", "kernels/constrained/problem.py:setup_problem"),
        "tests/dynamics/test_forward_models.py::test_every_method_agrees_with_least_squares",
    ),
    Entry(
        "Remarks 1, 2",
        "one solution for independent rows; none or many else",
        ("kernels/constrained/ltl.py:ltl", "dynamics/rows/ranks.py"),
        "stated",
        "`ltl` and `pv` say so of dependent rows; proximal methods and `kkt` return the smallest multipliers",
        command="tests/dynamics/test_forward_redundant.py",
        verdict="holds",
    ),
    Entry(
        "Eqs. 6 to 8, Sec. II-C",
        "Featherstone's LTL",
        ("kernels/constrained/ltl.py:ltl", "plans/ltl.py:ltl_tree"),
        here="`ltl`, its baseline in all comparisons",
        command="tests/dynamics/test_forward_models.py::test_every_method_agrees_with_least_squares",
    ),
    equations(
        "Eqs. 9 to 12",
        "forward kinematics, and Gauss' principle",
        ("kernels/tree/kinematics.py", "kernels/tree/rnea.py:forward_pass"),
        "tests/dynamics/test_forward_models.py::test_every_method_agrees_with_least_squares",
    ),
    Entry(
        "Remarks 3 to 5",
        "force subspaces are duals of motion subspaces; free variables; a unique solution",
        here="torques act on joint coordinates, so that no force subspace is needed; mass matrices are checked to be "
        "positive definite",
        command="tests/dynamics/test_forward_models.py::test_every_method_agrees_with_least_squares",
    ),
    Entry(
        "Eqs. 13 to 24, Sec. III",
        "PV on chains",
        ("kernels/constrained/bbo.py:pv",),
        here="`pv`; chains are trees",
        command="tests/dynamics/test_forward_models.py::test_every_method_agrees_with_least_squares",
    ),
    claim(
        "Eqs. 25 to 35, Sec. IV",
        "the dual Hessian is the inverse OSIM",
        "equality of the dual Hessian",
        ("kernels/constrained/osim.py:pv_osim",),
        '`Delassus(robot, "pv_osim").matrix(q)` is `J M⁻¹ J\'`',
        "tests/dynamics/test_delassus.py",
        "holds",
    ),
    equations(
        "Eqs. 36 to 49",
        "PV on trees with floating bases",
        ("kernels/constrained/bbo.py:pv", "kernels/constrained/bbo_factor.py:propagate_rows"),
        "tests/dynamics/test_forward_models.py::test_every_method_agrees_with_least_squares",
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
            "the factor refines the state, where they vanish ranks are revealed"
        ),
        "constrained --only growth.ladder",
        lambda f: f.linear(("ladder", "pv_early"), measure="operations"),
    ),
    Entry(
        "Remarks 6, 7",
        "L and singular vectors are not formed; rows are exchanged where the first is zero",
        ("kernels/constrained/pv_early.py:eliminate_row",),
        "cases of the text",
        "a reflection for each row of a joint; its sign follows the first entry, and a zero entry needs no exchange",
        command="tests/kernels/test_pv_early.py",
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
        _osim_below,
    ),
    Entry(
        "Fig. 2a to 2d, Sec. IX-B",
        "LTL least on iiwa, PV-OSIM slightly below it on Go1, LTL most on Atlas and Talos; KJR above EFPA",
        ("kernels/constrained/osim.py:ltl_osim", "kernels/constrained/efpa.py:kjr"),
        "stated",
        _extremes,
        "of LTL, PV-OSIM and EFPA, all with the dense factor",
        "delassus --only operations",
        _ltl_extremes,
    ),
    Entry(
        "Fig. 2, Sec. IX-B",
        "PV-OSIM-fast nearly twice as fast as LTL on humanoids",
        ("kernels/constrained/osim.py:pv_osim_fast",),
        "nearly 2 times",
        _against_ltl,
        command="delassus --only operations",
        verdict=_twice,
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
        _crossing_verdict,
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
            "q); four methods are ordered, LTL-s stands beside; on the arm LTL has the fewest operations of the three "
            "hard ones, as in the paper's Fig. 2d, and PV-early refines where a joint feels a row weakly"
        ),
        TABLE,
        lambda f: f.ordered("lqr"),
    ),
    Entry(
        "Sec. IX-C1",
        "PV as fast as LTL or faster on all robots",
        ("kernels/constrained/bbo.py:pv",),
        "14 of 14",
        lambda f: _both(f, "pv", "ltl"),
        command=TABLE,
        verdict=lambda f: _fewer_verdict(f, "pv", "ltl"),
    ),
    Entry(
        "Sec. IX-C1",
        "PV-early: nearly 50 % less than LTL and 30 % less than PV on the largest",
        ("kernels/constrained/pv_early.py:pv_early",),
        "0.48 and 0.73 on Talos (2F+2H), times",
        _early,
        command=TABLE,
        verdict=_early_saves,
    ),
    Entry(
        "Sec. IX-C2",
        "PV-soft nearly twice as fast as LTL-s and nearly thrice as LTL",
        ("kernels/constrained/lcaba.py", "linkwork_benchmarks/constrained/joint_space.py:ltl_soft"),
        "2.3 and 3.0 times on Talos (2F+2H)",
        _soft,
        command=TABLE,
        verdict=_soft_saves,
    ),
    Entry(
        "Fig. 3a",
        "residuals of soft rows over their weight, Talos (2F+2H), 1000 states",
        ("linkwork_benchmarks/constrained/accuracy.py:softness",),
        "falling with the weight; hard methods far below",
        lambda f: _residuals(f, "missed"),
        command="constrained --only softness",
        verdict=_fig_3a,
    ),
    Entry(
        "Fig. 3b",
        "distance of accelerations from PV",
        ("linkwork_benchmarks/constrained/accuracy.py:softness",),
        "soft solvers diverge from about 1e8 on, LTL-s more than PV-s",
        lambda f: _residuals(f, "away"),
        command="constrained --only softness",
        verdict=_fig_3b,
    ),
    Entry(
        "Fig. 4a",
        "chains of 6 to 100 joints, held at both ends",
        ("zoo/scaling.py:held_chain",),
        "PV, PV-e, PV-s linear; LTL, LTL-s superlinear",
        lambda f: f"{f.powers('held_chain', (*GROUNDED[:3], 'ltl', 'ltl_soft'))}; {f.claims('held_chain')}",
        "native code, where the paper's generated code of LTL grows too large for its compiler",
        "constrained --only growth.held_chain",
        lambda f: f.claimed("held_chain"),
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
        lambda f: f.claimed("ladder"),
    ),
    claim(
        "Sec. X-A",
        "LTL needs up to twice PV's computations on humanoids",
        "up to 2x more computations",
        ("kernels/constrained/bbo.py:pv",),
        lambda f: (
            f"on {LARGE} `ltl` has {_part(f, 'ltl', 'pv')} times `pv`'s operations, "
            f"{_part(f, 'ltl', 'pv', 'native.us')} times its native time"
        ),
        TABLE,
        lambda f: verdict(
            sum(
                x is not None and x >= 1.5
                for m in ("operations", "native.us")
                for x in _numbers(f, (("ltl", "pv"),), m)
            ),
            2,
        ),
        "printed for Atlas with all limbs held: 1.4 times in time",
    ),
    future(
        "Sec. IX-E",
        "divide-and-conquer sweeps on several cores",
        "possibilities for parallelizing",
        command="tests/kernels/test_chain_scan.py",
        verdict="not here",
        differs="batches of states share cores, and on a GPU bodies of one level of a tree share a warp. A reference "
        "by associative scans is right, and pays where tens of cores share one chain: "
        "[operations and depth](decisions/loops.md#hybrids-and-orders-of-elimination)",
    ),
    future(
        "Sec. IX-E",
        "methods without Lagrange multipliers, for loops",
        "Lagrange multiplier-free approach",
        ("kernels/clusters/aba.py:cluster_aba",),
        "`cluster` and `Minimal`: loops by independent coordinates",
        "tests/kernels/test_clusters.py",
    ),
    future(
        "Sec. IX-E",
        "a rank-revealing factor in the place of singular values",
        "rank-revealing QR decomposition",
        ("kernels/constrained/pv_early.py:pv_early_iterate",),
        "reflections take rows out one by one, also at joints of several degrees of freedom",
        "tests/kernels/test_pv_early.py",
    ),
    future(
        "Sec. IX-E",
        "generated code where contacts switch",
        "possible contact situations that may arise",
        ("dynamics/forward.py:ForwardDynamics",),
        "`row_regularization` switches rows and `anchor_position` moves them: one program serves all sets of contacts",
        "tests/dynamics/test_switched_calls.py",
    ),
    future(
        "Sec. X-B",
        "internal loops",
        "include internal kinematic loops",
        ("kernels/constrained/bbo.py:prox_bbo", "kernels/constrained/lcaba.py:lcaba"),
        "every method but those for the ground takes loops between bodies",
        "tests/dynamics/test_forward_models.py",
    ),
    future(
        "Sec. X-B",
        "frictional and unilateral contacts",
        "unilateral contact constraints",
        ("kernels/contact/newton.py:contact_newton",),
        "contacts with friction in steps: [contact](../how-to/contact.md)",
        "tests/contact",
    ),
    future(
        "Sec. X-B",
        "proximal iterations for ill-conditioned and redundant rows",
        "proximal point iterations",
        ("kernels/constrained/bbo.py:prox_bbo_iterate",),
        "`prox_pv`, `prox_bbo`, `prox_ltl`, `lcaba`",
        "tests/dynamics/test_forward_redundant.py",
    ),
    future(
        "Sec. X-B",
        "analytical gradients",
        "Analytical gradients",
        ("kernels/derivatives/constrained_articulated.py",),
        "Jacobians in the order of the bodies, and of the factor: `fd.derivatives`",
        "tests/dynamics/test_constrained_articulated_derivatives.py",
    ),
    future(
        "Sec. X-B",
        "results of data-driven regulators for robots",
        "data-driven LQR",
        verdict="not here",
        differs="dynamics alone",
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
    equations=68,
    remarks=9,
    claims=2,
    future=9,
)
