# SPDX-License-Identifier: BSD-3-Clause
"""**loops**, item by item."""

from __future__ import annotations

from collections.abc import Sequence

from linkwork_benchmarks import tables
from linkwork_benchmarks.constrained import papers as printed
from linkwork_benchmarks.constrained.scenarios import PROXIMAL, SINGULAR, STRAIGHT
from linkwork_benchmarks.papers.entry import Entry, Paper, claim, drawing, equations, future
from linkwork_benchmarks.papers.found import UNKNOWN, Found, at_least, verdict

TABLE = "constrained --only '^loops\\.'"
DIGITS = ("Digit", "Digit-cube", "Digit²-cube")


def _table(found: Found) -> str:
    return f"{found.orders('loops')}. [All systems](benchmarks.md#loops-table-ii-and-robots-with-loops-in-their-files)"


def _quotients(above: str, below: str, systems: tuple[str, ...]) -> str:
    """Of the paper's times, one iteration."""
    times = [printed.LOOPS_TIMES[s] | {"aba": printed.LOOPS_ABA[s]} for s in systems]
    return ", ".join(f"{t[above] / t[below]:.1f}" for t in times)


def _printed_numbers(above: str, below: str, systems: tuple[str, ...]) -> list[float]:
    times = [printed.LOOPS_TIMES[s] | {"aba": printed.LOOPS_ABA[s]} for s in systems]
    return [round(t[above] / t[below], 1) for t in times]


def _ratios(found: Found, above: str, below: str, systems: tuple[str, ...]) -> list[float | None]:
    start = [f"loops.{s}.1" for s in systems]
    return [found.ratio("constrained", f"{s}.{above}.native.us", f"{s}.{below}.native.us") for s in start]


def _no_less(found: Found, above: str, below: str) -> str:
    """Whether our ratios on the Digits are as large as printed."""
    return at_least(_ratios(found, above, below, DIGITS), _printed_numbers(above, below, DIGITS), 0.95)


def _converged(found: Found) -> str:
    """Whether residuals of the two hands are below 1e-6 on average after three iterations."""
    means = [
        found.get("constrained", f"convergence.{system}.{method}.{mu}.3.mean")
        for system in ("AH²-cube", STRAIGHT)
        for method in PROXIMAL
        for mu in ("1e-05", "1e-06", "1e-07")
    ]
    return verdict(sum(x is not None and x < 1e-6 for x in means), len(means))


def _deviates(found: Found) -> str:
    far = {m: found.get("constrained", f"convergence.AH²-cube.{m}.1e-11.away.mean") for m in PROXIMAL}
    lcaba, others = far["lcaba"], [far[m] for m in PROXIMAL[1:]]
    return verdict(sum(x is not None and lcaba is not None and x < 1e-2 * lcaba for x in others), len(others))


def _small(found: Found) -> str:
    ratio = found.ratio("constrained", "loops.AH-cube.1.prox_ltl.native.us", "loops.AH-cube.1.lcaba.native.us")
    return UNKNOWN if ratio is None else f"AH-cube: `prox_ltl` takes {ratio:.2f} times `lcaba`'s time"


def _typically(found: Found) -> list[float | None]:
    return _ratios(found, "prox_bbo", "lcaba", tuple(printed.LOOPS_TABLE))


def _ours(found: Found, above: str, below: str, systems: tuple[str, ...]) -> str:
    start = [f"loops.{s}.1" for s in systems]
    return ", ".join(
        found.quotient("constrained", f"{s}.{above}.native.us", f"{s}.{below}.native.us", ".1f") for s in start
    )


def _over_pinocchio(system: str) -> tuple[str, str]:
    """Metrics of native LCABA and Pinocchio's ABA, one iteration."""
    return f"loops.{system}.1.lcaba.native.us", f"loops.{system}.1.pinocchio.aba.us"


def _over_aba(found: Found) -> str:
    """Operations of LCABA over those of ABA, and what ABA and the difference are."""
    parts = []
    for system in DIGITS:
        lcaba, aba = (found.get("constrained", f"loops.{system}.{m}.operations") for m in ("lcaba", "aba"))
        if lcaba is None or aba is None:
            return UNKNOWN
        parts.append(f"{lcaba / aba:.1f} ({tables.whole(aba)} + {tables.whole(lcaba - aba)})")
    return ", ".join(parts)


def _operations(found: Found, method: str, part: str) -> str:
    """Of an iteration, as parts of the first one's, on the three Digits."""
    starts = [f"loops.{s}.{method}" for s in DIGITS]
    return ", ".join(found.quotient("constrained", f"{s}.{part}", f"{s}.operations") for s in starts)


def _printed_further(method: int) -> list[float]:
    """The cost of a further iteration as a part of the first, by the paper's times."""
    return [(times[3][method] / times[1][method] - 1.0) / 2.0 for times in printed.LOOPS_TABLE.values()]


def _further(found: Found, method: str) -> list[float | None]:
    """The cost of a further iteration as a part of the first, by our native times."""
    parts: list[float | None] = []
    for system in printed.LOOPS_TABLE:
        one, three = (found.get("constrained", f"loops.{system}.{k}.{method}.native.us") for k in (1, 3))
        parts.append(None if one is None or three is None else (three / one - 1.0) / 2.0)
    return parts


def _printed_further_in_aba() -> list[float]:
    """The cost of a further iteration of LCABA in units of ABA, by the paper's times."""
    return [(t[3][0] - t[1][0]) / 2.0 / printed.LOOPS_ABA[system] for system, t in printed.LOOPS_TABLE.items()]


def _further_in_aba(found: Found) -> list[float | None]:
    """The cost of a further iteration of LCABA in units of Pinocchio's ABA, by our native times."""
    first = [found.ratio("constrained", *_over_pinocchio(system)) for system in printed.LOOPS_TABLE]
    return [None if x is None or y is None else x * y for x, y in zip(first, _further(found, "lcaba"), strict=True)]


def _range(parts: Sequence[float | None]) -> str:
    known = [x for x in parts if x is not None]
    return f"{min(known):.2f} to {max(known):.2f}" if known else UNKNOWN


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
    equations(
        "Eqs. 1 to 3",
        "Gauss' principle, by links and in joint space",
        ("kernels/constrained/problem.py:setup_problem", "kernels/constrained/constraints.py:constraint_rows"),
        "tests/dynamics/test_forward_models.py::test_every_method_agrees_with_least_squares",
    ),
    equations(
        "Eqs. 4 to 11",
        "the augmented Lagrangian method and the dual proximal point algorithm",
        ("kernels/constrained/lcaba.py:lcaba_iterate", "kernels/constrained/bbo.py:prox_bbo_iterate"),
        "tests/kernels/test_iterations.py",
        "iterations of `lcaba` and of `prox_bbo`",
    ),
    drawing("Fig. 3", "non-serial dynamic programming"),
    equations(
        "Eqs. 16 to 19",
        "elimination of variables of a graph",
        ("plans/lcaba.py:initial_couplings",),
        "tests/kernels/test_lcaba.py",
        "planned once for a robot: neighbors, and the couplings that eliminating a body makes",
    ),
    equations(
        "Eqs. 20 to 34",
        "LCABA: springs, elimination of a link, neighbors, multipliers, symmetry where the parent is a neighbor",
        (
            "kernels/constrained/lcaba_factor.py:init_augmented_inertias",
            "kernels/constrained/lcaba_factor.py:eliminate_couplings",
            "kernels/constrained/lcaba_factor.py:couplings_to_parent",
            "kernels/constrained/lcaba.py:update_multipliers",
        ),
        "tests/dynamics/test_forward_models.py::test_every_method_agrees_with_least_squares",
    ),
    Entry(
        "Eq. 35, Sec. IV-A",
        "rows to the ground couple nothing: LCABA is constrainedABA then",
        ("kernels/constrained/lcaba_factor.py:init_augmented_inertias", "dynamics/methods.py:METHODS"),
        "stated",
        "`lcaba` and `constrained_aba` have the same operations on robots whose rows all bind one body to the world",
        command="tests/dynamics/test_forward.py::test_springs_to_the_ground_cost_the_same_by_any_name",
        verdict="holds",
    ),
    Entry(
        "Remark 1, Eq. 36",
        "rows of more than two links; not of very many, as of a center of mass",
        ("plans/constraints.py", "kernels/constrained/lcaba_factor.py:init_augmented_inertias"),
        "stated",
        "`CenterOfMass`, `LinearCombination`, tendons over many bodies: all methods take them",
        command="tests/dynamics/test_paper_claims.py::test_rows_of_several_links_are_served_by_every_proximal_method",
        verdict="holds",
    ),
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
            + _operations(f, "lcaba", "iteration")
            + "; the last: "
            + _operations(f, "lcaba", "refinement")
        ),
        differs=(
            "the last iteration starts from all forces (`lcaba_sweeps_refine`) and corrects what stiff rows cost in "
            "digits, which the paper's does not: [exact counts](../concepts/algorithms/lcaba.md#the-last-iteration)"
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
        verdict=lambda f: f.linear(("chain_of_loops", "lcaba"), ("star_of_loops", "lcaba")),
    ),
    equations(
        "Eqs. 37 to 52",
        "proxBBO: rows that travel, early elimination at the root of a loop",
        (
            "kernels/constrained/bbo_factor.py:propagate_rows",
            "kernels/constrained/bbo_factor.py:eliminate_rows",
            "kernels/constrained/bbo.py:solve_multipliers",
        ),
        "tests/dynamics/test_forward_models.py::test_every_method_agrees_with_least_squares",
    ),
    Entry(
        "Eq. 53, Sec. V-D",
        "proxBBO: O(n + m_b³ n), with m_b loops on a link at most; likelier than LCABA's worst case",
        ("plans/bbo.py:rows_passing",),
        "O(n + m_b³ n)",
        lambda f: (
            f"{f.powers('chain_of_loops', ('prox_bbo',))} on the chain, "
            f"{f.powers('star_of_loops', ('prox_bbo',))} on the star"
        ),
        command="constrained --only growth",
        verdict=lambda f: f.linear(("chain_of_loops", "prox_bbo"), ("chain_of_hinged_loops", "prox_bbo")),
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
            "further iteration / first, operations on the Digits: " + _operations(f, "prox_bbo", "iteration")
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
        "Digit is a stand-in, cube and postures are ours (`scenes.py` says how); times are those of calls from Python; "
        "on hands and a humanoid `prox_bbo` takes less than `prox_ltl`, in the paper more",
        TABLE,
        lambda f: f.ordered("loops"),
    ),
    Entry(
        "Table II, BBO / LCABA",
        "on the three Digits, one iteration",
        ("kernels/constrained/bbo.py", "kernels/constrained/lcaba.py"),
        _quotients("prox_bbo", "lcaba", DIGITS),
        lambda f: "native " + _ours(f, "prox_bbo", "lcaba", DIGITS),
        command=TABLE,
        verdict=lambda f: _no_less(f, "prox_bbo", "lcaba"),
    ),
    Entry(
        "Table II, LTL / LCABA",
        "on the three Digits, one iteration",
        ("kernels/constrained/ltl.py", "kernels/constrained/lcaba.py"),
        _quotients("prox_ltl", "lcaba", DIGITS),
        lambda f: "native " + _ours(f, "prox_ltl", "lcaba", DIGITS),
        command=TABLE,
        verdict=lambda f: _no_less(f, "prox_ltl", "lcaba"),
    ),
    Entry(
        "Table II, LCABA / ABA",
        "what constraints cost, on the three Digits, one iteration",
        ("kernels/tree/aba.py:aba", "kernels/constrained/lcaba.py"),
        _quotients("lcaba", "aba", DIGITS),
        lambda f: (
            f"native {_ours(f, 'lcaba', 'aba', DIGITS)}; operations {_over_aba(f)}; against Pinocchio's ABA "
            + ", ".join(f.quotient("constrained", *_over_pinocchio(s), ".2f") for s in DIGITS)
        ),
        "the less ABA takes, the larger is the part of rows and couplings, full 6 x 6 blocks in both: our ABA omits "
        "what joints about z, motions without joint accelerations and regrouped inertias make zero",
        command=TABLE,
        verdict=lambda f: at_least(
            _ratios(f, "aba", "lcaba", DIGITS), [1 / x for x in _printed_numbers("lcaba", "aba", DIGITS)], 0.95
        ),
    ),
    Entry(
        "Table II, three iterations",
        "half of what two further iterations add / the first, all seven systems",
        ("kernels/constrained/lcaba.py:lcaba_iterate", "kernels/constrained/bbo.py:prox_bbo_iterate"),
        "; ".join(f"{name} {_range(_printed_further(k))}" for k, name in enumerate(("LCABA", "BBO", "LTL")))
        + f"; LCABA in units of its ABA {_range(_printed_further_in_aba())}",
        lambda f: (
            "native: "
            + "; ".join(f"`{m}` {_range(_further(f, m))}" for m in PROXIMAL)
            + f"; `lcaba` in units of Pinocchio's ABA {_range(_further_in_aba(f))}"
        ),
        "the second of our two is the last one, which refines; and the first takes less here. In units of Pinocchio's "
        "ABA, which is the paper's as well, a further iteration takes less than printed but on the humanoid "
        "with hands",
        command=TABLE,
        verdict=lambda f: at_least(
            [None if x is None else -x for x in _further(f, "lcaba")], [-x for x in _printed_further(0)]
        ),
    ),
    claim(
        "Abstract, Sec. VI-B",
        "LCABA over 6 times faster than non-recursive methods (Digit²-cube, printed: 7.3)",
        "even over 6X faster",
        ("kernels/constrained/lcaba.py",),
        _speedup,
        TABLE,
        lambda f: at_least(_ratios(f, "prox_ltl", "lcaba", ("Digit²-cube",)), [6.0]),
    ),
    claim(
        "Sec. VIII",
        "LCABA matches proxLTL on small robots",
        "matches proxLTL's performance",
        ("kernels/constrained/lcaba.py",),
        _small,
        "constrained --only loops.AH-cube",
        lambda f: at_least(_ratios(f, "prox_ltl", "lcaba", ("AH-cube",)), [0.95]),
    ),
    claim(
        "Sec. VI-B, VIII",
        "LCABA typically outperforms proxBBO",
        "typically outperforms proxBBO",
        ("kernels/constrained/lcaba.py", "kernels/constrained/bbo.py"),
        lambda f: f"`prox_bbo` takes {f.span(_typically(f))} times `lcaba`'s native time on the systems of Table II",
        TABLE,
        lambda f: at_least(_typically(f), [1.0] * len(printed.LOOPS_TABLE)),
    ),
    claim(
        "Sec. VI-B",
        "proxBBO is dear where all loops are coupled through a cube",
        "coupled through the free-floating cube",
        ("kernels/constrained/bbo.py",),
        lambda f: (
            "`prox_bbo` over `lcaba`, operations, AH-cube, AH²-cube, Digit: "
            + ", ".join(
                f.quotient("constrained", f"loops.{s}.prox_bbo.operations", f"loops.{s}.lcaba.operations")
                for s in ("AH-cube", "AH²-cube", "Digit")
            )
        ),
        TABLE,
        lambda f: at_least(
            [
                f.ratio("constrained", f"loops.{s}.prox_bbo.operations", f"loops.{s}.lcaba.operations")
                for s in ("AH-cube", "AH²-cube")
            ],
            [1.0, 1.0],
        ),
    ),
    Entry(
        "Fig. 6",
        "a single loop: recursive methods alike and linear, proxLTL superlinear",
        ("zoo/scaling.py:single_loop",),
        "curves without numbers",
        lambda f: f"{f.powers('single_loop', PROXIMAL)}; {f.claims('single_loop')}",
        "up to 500 links",
        "constrained --only growth.single_loop",
        lambda f: f.claimed("single_loop"),
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
        lambda f: f.claimed("chain_of_hinged_loops"),
    ),
    Entry(
        "Fig. 8",
        "all loops coupled: all superlinear",
        ("zoo/scaling.py:coupled_loops",),
        "curves without numbers",
        lambda f: f.powers("coupled_loops", PROXIMAL),
        "the paper draws one such topology and does not say how it goes on; ours shares one joint among all loops",
        "constrained --only growth.coupled_loops",
        lambda f: verdict(sum(f.linear(("coupled_loops", method)) == "fails" for method in PROXIMAL), len(PROXIMAL)),
    ),
    Entry(
        "Fig. 9",
        "a star of loops: LCABA scales better than proxBBO, and that better than proxLTL",
        ("zoo/scaling.py:star_of_loops",),
        "curves without numbers",
        lambda f: f"{f.powers('star_of_loops', PROXIMAL)}; {f.claims('star_of_loops')}",
        "tips are welded to one of them (the paper: with each other)",
        "constrained --only growth.star_of_loops",
        lambda f: f.claimed("star_of_loops"),
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
        _converged,
    ),
    claim(
        "Sec. VI-D",
        "the choice of μ: 1e5 to 1e7, above 1e3 times the largest eigenvalue of the mass matrix, tuned by hand",
        "10^3 times the largest eigenvalue",
        ("quantities/scales.py:scales_of", "dynamics/delassus/operators.py"),
        (
            "a row is regularized by a part of the inverse inertia that it feels, found when a robot is planned: one "
            "default serves four-bars of 10 mg and Digit; `D.largest_eigenvalue()` by power iteration is there too"
        ),
        "tests/kernels/test_iterations.py",
        "holds",
        "μ has the unit of inertia; a part of what rows feel has none, so that nothing is left to tune",
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
        _deviates,
    ),
    future(
        "Sec. VII-A",
        "control problems on graphs: periodic and scenario-tree regulators by these eliminations",
        "promising avenue for future work",
        verdict="not here",
        differs="dynamics alone; a [regulator](../how-to/lqr.md) of a robot with loops takes SciPy's Riccati equation",
    ),
    future(
        "Sec. VII-B",
        "which spanning tree",
        "spanning-tree selection",
        ("mechanism/optimization.py", "mechanism/optimized.py"),
        (
            "`robot.optimized()` exchanges cuts and elimination orders, and on request roots, by exact counts: "
            "[what is won](../how-to/spanning-trees.md#what-is-won)"
        ),
        "tests/mechanism/test_optimized.py",
        differs="by default a file's or the builder's tree is kept, bodies go by minimum degree",
    ),
    future(
        "Sec. VII-B, VIII",
        "elimination orders beyond that of a spanning tree",
        "relax the spanning-tree elimination",
        command="tests/kernels/test_elimination_orders.py",
        verdict="not here",
        differs="leaves of the spanning tree go first, whichever of them needs least. By counts a joint that goes in "
        "the middle of a chain is dearer where axes are perpendicular, as the paper expects, and cheaper where they "
        "are parallel: [hybrids and orders](decisions/loops.md#hybrids-and-orders-of-elimination)",
    ),
    future(
        "Sec. VII-C",
        "inference over factor graphs by the same eliminations",
        "suitable for probabilistic inference",
        verdict="not here",
        differs="dynamics alone",
    ),
    claim(
        "Eq. 56, Sec. VII-D",
        "LCABA and proxBBO are one method in two orders of elimination",
        "equivalence between ALM and dual PPA",
        ("kernels/constrained/lcaba.py:lcaba", "kernels/constrained/bbo.py:prox_bbo"),
        "iterates of `lcaba`, `prox_bbo` and `prox_ltl` agree to 1e-9, far from convergence",
        "tests/dynamics/test_paper_claims.py",
        "holds",
    ),
    claim(
        "Sec. VII-D, VIII",
        "proxBBO for rows of many bodies, as of a center of mass",
        "suitable for constraints like center-of-mass",
        ("kernels/constrained/bbo.py:prox_bbo",),
        "a quadruped on four feet needs fewer operations by `lcaba`, with its center of mass held by `prox_bbo`",
        "tests/dynamics/test_paper_claims.py",
        "holds",
    ),
    future(
        "Sec. VII-D",
        "a method that takes LCABA or proxBBO by the mechanism",
        "can switch to proxBBO or LCABA",
        ("dynamics/methods.py:best_method",),
        "`auto` counts operations of both, of `prox_pv` and `prox_ltl`, estimates their native times, and of the "
        "fastest takes the one with the fewest operations; one method a robot",
        "tests/dynamics/test_forward.py",
        differs="not by constraint: hybrids in one elimination would need fewer operations than any method here on "
        "three of 28 systems, [a few percent](decisions/loops.md#hybrids-and-orders-of-elimination)",
    ),
    claim(
        "Sec. VII-D",
        "the first iteration of LCABA is MuJoCo's soft Gauss principle",
        "generalizes the compliant constraint model",
        ("kernels/constrained/lcaba.py:lcaba",),
        "with MuJoCo's softness `pv_soft` and `lcaba` find its `qacc` to 1e-8",
        "tests/dynamics/test_forward_peers.py",
        "holds",
    ),
    future(
        "Sec. VII-E, VIII",
        "explicit beside implicit constraints, and a hybrid of both",
        "obtain a hybrid algorithm",
        ("kernels/clusters/lcaba.py:cluster_lcaba", "kernels/clusters/aba.py:cluster_aba"),
        (
            "`cluster_lcaba`: local loops as clusters, others as springs, in one elimination, "
            "[counts](../concepts/algorithms/lcaba.md#lcaba-over-clusters); "
            "`cluster` beside `lcaba` and `prox_bbo` on all robots of **clusters**, "
            "[times](clusters-benchmarks.md#forward-dynamics-table-iii-fig-10)"
        ),
        "clusters --only systems",
    ),
    future(
        "Sec. VI-A, VIII",
        "implicit and half-explicit integrators",
        "support implicit integration schemes",
        ("simulation/radau.py",),
        '`simulate(integrator="radau")`: Radau IIA with loops; `euler` takes springs and dampers implicitly',
        "tests/simulation/test_radau.py",
    ),
    future(
        "Sec. VIII",
        "frictional contacts, by ADMM",
        "ADMM-style approach",
        ("kernels/contact/step_admm.py:contact_admm", "kernels/contact/admm.py:admm"),
        "friction cones by ADMM on the Delassus operator, loops included: [contact](../how-to/contact.md)",
        "tests/contact",
    ),
    future(
        "Sec. VIII",
        "contacts by interior points",
        "interior-point based approaches",
        ("kernels/contact/newton.py:contact_newton",),
        "Newton's method, and a path of smoothed equations where it fails: the central path without its interior",
        "tests/contact",
    ),
    future(
        "Sec. VIII",
        "derivatives of the proximal operator",
        "differentiability of the proximal operator",
        ("kernels/derivatives/constrained.py", "dynamics/implicit.py"),
        "Jacobians and products by states, torques and parameters, redundant rows included",
        "tests/dynamics/test_constrained_derivatives.py",
    ),
)

PAPER = Paper(
    "loops",
    "A. S. Sathya, J. Carpentier, *Constrained Articulated Body Algorithms for Closed-Loop Mechanisms*",
    ENTRIES,
    algorithms=6,
    tables=2,
    figures=11,
    equations=56,
    remarks=1,
    claims=8,
    future=10,
)
