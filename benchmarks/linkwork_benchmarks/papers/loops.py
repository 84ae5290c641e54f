# SPDX-License-Identifier: BSD-3-Clause
"""**loops**, item by item."""

from __future__ import annotations

from linkwork_benchmarks.constrained import papers as printed
from linkwork_benchmarks.constrained.scenarios import PROXIMAL, SINGULAR, STRAIGHT
from linkwork_benchmarks.papers.entry import Entry, Paper, drawing
from linkwork_benchmarks.papers.found import UNKNOWN, Found

TABLE = "constrained --only '^loops\\.'"
DIGITS = ("Digit", "Digit-cube", "Digit²-cube")


def _table(found: Found) -> str:
    return f"{found.orders('loops')}. [All systems](benchmarks.md#loops-table-ii-and-robots-with-loops-in-their-files)"


def _quotients(above: str, below: str, systems: tuple[str, ...]) -> str:
    """Of the paper's times, one iteration."""
    times = [printed.LOOPS_TIMES[s] | {"aba": printed.LOOPS_ABA[s]} for s in systems]
    return ", ".join(f"{t[above] / t[below]:.1f}" for t in times)


def _ours(found: Found, above: str, below: str, systems: tuple[str, ...]) -> str:
    start = [f"loops.{s}.1" for s in systems]
    return ", ".join(
        found.quotient("constrained", f"{s}.{above}.native.us", f"{s}.{below}.native.us", ".1f") for s in start
    )


def _speedup(found: Found) -> str:
    ours = _ours(found, "prox_ltl", "lcaba", ("Digit²-cube",))
    pin = found.quotient(
        "constrained",
        "loops.Digit²-cube.1.pinocchio.constraintDynamics.us",
        "loops.Digit²-cube.1.lcaba.native.us",
        ".1f",
    )
    return f"{ours} times against our own `prox_ltl`, {pin} times against Pinocchio's `constraintDynamics`"


def _three(found: Found, system: str) -> str:
    parts = []
    for method in PROXIMAL:
        at = []
        for mu in ("1e-05", "1e-07"):
            mean, most = (
                found.get("constrained", f"convergence.{system}.{method}.{mu}.3.{what}") for what in ("mean", "most")
            )
            if mean is not None and most is not None:
                at.append(f"{mean:.0e} ({most:.0e}) at {float(mu):.0e}".replace("e-0", "e-"))
        if at:
            parts.append(f"`{method}` {', '.join(at)}")
    return "; ".join(parts) or UNKNOWN


def _convergence(found: Found) -> str:
    parts = [f"{_rank(found, system)}: {_three(found, system)}" for system in ("AH²-cube", STRAIGHT, SINGULAR)]
    return "mean residual after 3 iterations (largest): " + "; ".join(parts)


def _rank(found: Found, system: str) -> str:
    states, rows, rank = (found.get("constrained", f"convergence.{system}.{x}") for x in ("states", "rows", "rank"))
    if states is None or rows is None or rank is None:
        return f"{system} {UNKNOWN}"
    return f"{system} ({rows:.0f} rows of rank {rank:.0f}, {states:.0f} states)"


def _grown(found: Found, family: str) -> str:
    return f"{found.powers(family, PROXIMAL)}; {found.claims(family)}"


def _stability(found: Found) -> str:
    parts = []
    for method in PROXIMAL:
        far, near = (
            found.get("constrained", f"convergence.AH²-cube.{method}.{mu}.away.mean") for mu in ("1e-11", "1e-07")
        )
        if far is not None and near is not None:
            parts.append(f"`{method}` {near:.0e} at 1e-7, {far:.0e} at 1e-11")
    return "mean distance, AH²-cube: " + ("; ".join(parts) or UNKNOWN)


ENTRIES = (
    drawing("Fig. 1", "a hand with a cube, two humanoids with a box", "linkwork_benchmarks/scenes.py:hand_and_cube"),
    Entry("Table I", "symbols", ("docs/reference/glossary.md",), "no numbers", "[glossary](../reference/glossary.md)"),
    drawing("Fig. 2", "kinematic graph, spanning tree, cut joints", "plans/loops.py:Loop", "drawing/graphs.py"),
    drawing("Fig. 3", "non-serial dynamic programming"),
    Entry(
        "Eqs. 12, 13",
        "proxLTL",
        ("kernels/constrained/ltl.py:prox_ltl", "kernels/constrained/ltl.py:prox_ltl_iterate"),
        here="`prox_ltl`, also [Algorithm 1 of **proximal**](#proximal)",
        command="tests/dynamics/test_forward_models.py::test_every_method_agrees_with_least_squares",
    ),
    Entry(
        "Eqs. 14, 15",
        "proxLTLs",
        ("linkwork_benchmarks/constrained/joint_space.py:ltl_soft",),
        "mentioned, not measured",
        "its first iteration, with constraints to the world, as LTL-s of **lqr**",
        "further iterations and loops between bodies, of which M has dense blocks, are left to `lcaba`",
        "constrained --only '^lqr\\.'",
    ),
    Entry(
        "Algorithm 1",
        "LCABA, three sweeps",
        (
            "kernels/constrained/lcaba.py:lcaba_sweeps",
            "kernels/constrained/lcaba_factor.py:articulate_loops",
            "plans/lcaba.py:lcaba_tree",
        ),
        here="`lcaba`; agrees with dense least squares (`kkt`) on robots and random mechanisms",
        differs=(
            "which bodies are coupled is planned once; ties of the minimum degree are broken by index, not at random"
        ),
        command="tests/dynamics/test_forward_models.py::test_every_method_agrees_on_random_mechanisms",
    ),
    drawing(
        "Fig. 4",
        "elimination of eleven links by LCABA",
        "plans/lcaba.py:lcaba_tree",
        "drawing/graphs.py:elimination",
        here="of any mechanism: `robot.draw_graph()`; [Jansen's leg](../concepts/algorithms/lcaba.md)",
    ),
    Entry(
        "Algorithm 2",
        "LCABA, two sweeps",
        ("kernels/constrained/lcaba.py:lcaba_sweeps_iterate", "kernels/constrained/lcaba.py:lcaba_sweeps_refine"),
        here=lambda f: (
            "further iteration / first, operations on the Digits: "
            + ", ".join(
                f.quotient("constrained", f"loops.{s}.lcaba.iteration", f"loops.{s}.lcaba.operations") for s in DIGITS
            )
        ),
        differs=(
            "the last iteration starts from all forces (`lcaba_sweeps_refine`) and corrects what stiff rows cost in "
            "digits, which the paper's does not"
        ),
        command=TABLE,
    ),
    Entry(
        "Algorithm 3",
        "LCABA",
        ("kernels/constrained/lcaba.py:lcaba", "kernels/constrained/lcaba.py:lcaba_iterate"),
        here='`ForwardDynamics(robot, "lcaba")`',
        differs="the tolerance has no unit: residuals are weighed by the inertia that rows feel",
        command="tests/kernels/test_iterations.py",
    ),
    Entry(
        "Sec. IV-D",
        "LCABA: O(n + m) where loops are local",
        ("plans/lcaba.py",),
        "O(n + m) at best, O(n + m + m_c² n)",
        lambda f: (
            f.powers("chain_of_loops", ("lcaba",))
            + " on the chain, "
            + f.powers("star_of_loops", ("lcaba",))
            + " on the star"
        ),
        command="constrained --only growth",
    ),
    Entry(
        "Algorithm 4",
        "proxBBO, three sweeps",
        (
            "kernels/constrained/bbo.py:prox_bbo",
            "kernels/constrained/bbo_factor.py:articulate_rows",
            "plans/bbo.py:bbo_tree",
        ),
        here="`prox_bbo`",
        differs="multipliers have the opposite sign",
        command="tests/dynamics/test_forward_models.py::test_every_method_agrees_with_least_squares",
    ),
    drawing(
        "Fig. 5",
        "elimination of eleven links by proxBBO",
        "plans/bbo.py:bbo_tree",
        here="[a chain of two loops](../concepts/algorithms/bbo.md)",
    ),
    Entry(
        "Algorithm 5",
        "proxBBO, two sweeps",
        ("kernels/constrained/bbo.py:prox_bbo_iterate",),
        here=lambda f: (
            "further iteration / first, operations on the Digits: "
            + ", ".join(
                f.quotient("constrained", f"loops.{s}.prox_bbo.iteration", f"loops.{s}.prox_bbo.operations")
                for s in DIGITS
            )
        ),
        command=TABLE,
    ),
    Entry(
        "Algorithm 6",
        "proxBBO",
        ("kernels/constrained/bbo.py:prox_bbo", "kernels/constrained/bbo.py:prox_bbo_iterate"),
        here='`ForwardDynamics(robot, "prox_bbo")`',
        command="tests/kernels/test_iterations.py",
    ),
    Entry(
        "Eqs. 54, 55",
        "semi-implicit Euler with Baumgarte's stabilization",
        ("kernels/steps/integrators.py:euler", "kernels/constrained/problem.py:setup_problem"),
        here=lambda f: (
            "Cassie's loops after 100 s of random torques are open by "
            + (f"{x:.0e} m" if (x := f.get("simulation", "loops.Cassie.stabilized.open")) is not None else UNKNOWN)
        ),
        differs="Runge-Kutta and Dormand-Prince as well, and projection onto the loops",
        command="simulation --only loops",
    ),
    Entry(
        "Table II",
        "times of seven systems, one and three iterations",
        ("linkwork_benchmarks/scenes.py:LOOPS_TABLE",),
        "LCABA 4.1 to 22 µs, BBO 5.1 to 37 µs, LTL 4.4 to 160 µs, ABA 2.0 to 11 µs (one iteration, their machine)",
        _table,
        "Digit is a stand-in, cube and postures are ours (`scenes.py` says how); times are those of calls from Python",
        TABLE,
    ),
    Entry(
        "Table II, BBO / LCABA",
        "on the three Digits, one iteration",
        ("kernels/constrained/bbo.py", "kernels/constrained/lcaba.py"),
        _quotients("prox_bbo", "lcaba", DIGITS),
        lambda f: "native " + _ours(f, "prox_bbo", "lcaba", DIGITS),
        command=TABLE,
    ),
    Entry(
        "Table II, LTL / LCABA",
        "on the three Digits, one iteration",
        ("kernels/constrained/ltl.py", "kernels/constrained/lcaba.py"),
        _quotients("prox_ltl", "lcaba", DIGITS),
        lambda f: "native " + _ours(f, "prox_ltl", "lcaba", DIGITS),
        command=TABLE,
    ),
    Entry(
        "Table II, LCABA / ABA",
        "what constraints cost, on the three Digits, one iteration",
        ("kernels/tree/aba.py:aba", "kernels/constrained/lcaba.py"),
        _quotients("lcaba", "aba", DIGITS),
        lambda f: "native " + _ours(f, "lcaba", "aba", DIGITS),
        command=TABLE,
    ),
    Entry(
        "Abstract, Sec. VI-B",
        "LCABA over 6 times faster than non-recursive methods (Digit²-cube)",
        ("kernels/constrained/lcaba.py",),
        f"{_quotients('prox_ltl', 'lcaba', ('Digit²-cube',))} times",
        _speedup,
        command=TABLE,
    ),
    Entry(
        "Fig. 6",
        "a single loop: recursive methods alike and linear, proxLTL superlinear",
        ("zoo/scaling.py:single_loop",),
        "curves without numbers",
        lambda f: f"{f.powers('single_loop', PROXIMAL)}; {f.claims('single_loop')}",
        "up to 500 links",
        "constrained --only growth.single_loop",
    ),
    Entry(
        "Fig. 7",
        "a chain of loops: proxBBO slightly faster than LCABA, proxLTL slowest",
        ("zoo/scaling.py:chain_of_loops",),
        "curves without numbers",
        lambda f: f"closed by hinges: {_grown(f, 'chain_of_hinged_loops')}; by welds: {_grown(f, 'chain_of_loops')}",
        (
            "the paper does not say what closes these loops: a loop of seven links closed by a hinge moves; one closed "
            "by a weld of 6 rows has six joints and stands still; up to 499 links"
        ),
        "constrained --only growth.chain_of",
    ),
    Entry(
        "Fig. 8",
        "all loops coupled: all superlinear",
        ("zoo/scaling.py:coupled_loops",),
        "curves without numbers",
        lambda f: f.powers("coupled_loops", PROXIMAL),
        "the paper draws one such topology and does not say how it goes on; ours shares one joint among all loops",
        "constrained --only growth.coupled_loops",
    ),
    Entry(
        "Fig. 9",
        "a star of loops: LCABA scales better than proxBBO, and that better than proxLTL",
        ("zoo/scaling.py:star_of_loops",),
        "curves without numbers",
        lambda f: f"{f.powers('star_of_loops', PROXIMAL)}; {f.claims('star_of_loops')}",
        "tips are welded to one of them (the paper: with each other)",
        "constrained --only growth.star_of_loops",
    ),
    Entry(
        "Fig. 10",
        "residuals over iterations, two hands with a cube, 10 000 states",
        ("linkwork_benchmarks/constrained/accuracy.py:convergence",),
        "below 1e-6 within 3 iterations, typically, for μ of 1e5 to 1e7",
        _convergence,
        (
            "curled fingers have independent rows, straight ones redundant rows, as the paper says of its own; those "
            "are taken at rest, since moving ones ask for what no acceleration satisfies. Digit's loops are redundant "
            "in motion"
        ),
        "constrained --only convergence",
    ),
    Entry(
        "Fig. 11",
        "distance from a reference over μ",
        ("linkwork_benchmarks/constrained/accuracy.py:convergence",),
        "LCABA deviates as μ grows; proxBBO and proxLTL stable up to 1e11",
        _stability,
        (
            "the reference is `prox_ltl` iterated to 1e-14, the paper's proxLTL with μ = 1e3; our LCABA corrects "
            "the force balance and keeps its digits longer"
        ),
        "constrained --only convergence",
    ),
    Entry(
        "Sec. VII-B",
        "which spanning tree: an open question there",
        ("mechanism/optimization.py", "mechanism/optimized.py"),
        "left for future work",
        (
            "`robot.optimized()` exchanges cuts and elimination orders, and on request roots, by exact counts: "
            "[what is won](../how-to/spanning-trees.md#what-is-won)"
        ),
        "by default a file's or the builder's tree is kept, bodies go by minimum degree",
        "tests/mechanism/test_optimized.py",
    ),
    Entry(
        "Sec. VII-D",
        "a method that takes LCABA or proxBBO by the mechanism: an open question there",
        ("dynamics/methods.py:best_method",),
        "left for future work",
        "`auto` counts operations of both, of `prox_pv` and `prox_ltl`, and takes the least; one method a robot",
        command="tests/dynamics/test_forward_calls.py",
    ),
    Entry(
        "Sec. VII-D",
        "the first iteration of LCABA is MuJoCo's soft Gauss principle",
        ("kernels/constrained/lcaba.py:lcaba",),
        "stated",
        "with MuJoCo's softness `pv_soft` and `lcaba` find its `qacc` to 1e-8",
        command="tests/dynamics/test_forward_peers.py",
    ),
    Entry(
        "Sec. VII-E",
        "explicit beside implicit constraints, and a hybrid of both: an open question there",
        ("kernels/clusters/lcaba.py:cluster_lcaba", "kernels/clusters/aba.py:cluster_aba"),
        "left for future work",
        (
            "`cluster_lcaba`: local loops as clusters, others as springs, in one elimination, "
            "[counts](../concepts/algorithms/lcaba.md#lcaba-over-clusters); "
            "`cluster` beside `lcaba` and `prox_bbo` on all robots of **clusters**, "
            "[times](clusters-benchmarks.md#forward-dynamics-table-iii-fig-10)"
        ),
        command="clusters --only systems",
    ),
)

PAPER = Paper(
    "loops",
    "A. S. Sathya, J. Carpentier, *Constrained Articulated Body Algorithms for Closed-Loop Mechanisms*",
    ENTRIES,
    algorithms=6,
    tables=2,
    figures=11,
)
