# SPDX-License-Identifier: BSD-3-Clause
"""**clusters**, item by item."""

from __future__ import annotations

from linkwork_benchmarks.clusters import orders
from linkwork_benchmarks.clusters import papers as printed
from linkwork_benchmarks.papers.entry import Entry, Paper, claim, drawing, equations, future
from linkwork_benchmarks.papers.found import UNKNOWN, Found, verdict

SYSTEMS = "clusters --only systems"


def _percents(found: Found, quantity: str, method: str) -> str:
    """Least and largest percent above the method by clusters, of the paper's six systems."""
    metrics, parts = found.metrics("clusters"), []
    for measure, words in orders.MEASURES.items():
        known = [orders.percent(metrics, s, quantity, method, measure) for s in printed.SYSTEMS]
        numbers = [x for x in known if x is not None]
        parts.append(f"{words} {min(numbers):+.0f} to {max(numbers):+.0f} %" if numbers else f"{words} {UNKNOWN}")
    return ", ".join(parts)


def _printed(quantity: str, method: str) -> str:
    row = printed.TABLES[quantity][method]
    return f"{min(row):+.0f} to {max(row):+.0f} % against the method by clusters, time"


def _row(
    table: str, figure: str, quantity: str, method: str, about: str, where: tuple[str, ...], differs: str
) -> Entry:
    return Entry(
        f"Table {table}, Fig. {figure}",
        about,
        where,
        _printed(quantity, method),
        lambda f: _percents(f, quantity, method),
        differs,
        SYSTEMS,
        lambda f: _same_sign(f, quantity, method),
    )


def _same_sign(found: Found, quantity: str, method: str) -> str:
    """On how many systems, by native times, a method is faster or slower than that by clusters as printed."""
    metrics = found.metrics("clusters")
    known = [
        (ours, theirs)
        for s, theirs in zip(printed.SYSTEMS, printed.TABLES[quantity][method], strict=True)
        if (ours := orders.percent(metrics, s, quantity, method, "native_bound.us")) is not None
    ]
    return verdict(sum((ours > 0) == (theirs > 0) for ours, theirs in known), len(known))


def _linear(found: Found, family: str, below: str, above: str) -> str:
    """Whether operations of one method grow linearly, and those of another faster."""
    powers = [orders.power(orders.growth(found.metrics("clusters"), family, m, "operations")) for m in (below, above)]
    if powers[0] is None or powers[1] is None:
        return UNKNOWN
    return verdict((powers[0] <= 1.1) + (powers[1] >= 1.5), 2)


def _torques(found: Found) -> str:
    """Whether root mean squares of the knee are those printed of the ankle, to 1 %."""
    known = [found.get("clusters", f"leg.knee.{x}") for x in ("unconstrained", "approximate")]
    return verdict(sum(x is not None and abs(x / y - 1) < 0.01 for x, y in zip(known, (4.31, 1.04), strict=True)), 3)


def _approximate_inertia(found: Found) -> str:
    if any(".inertia.approximate.operations" in name for name in found.metrics("clusters")):
        return _percents(found, "inertia", "approximate")
    return f"`efpa` of the bare tree, without reflected inertia: {_percents(found, 'inertia', 'tree')}"


def _stem(found: Found) -> str:
    here = '`OperationalInertia(robot, frames)`, `Delassus(robot, "cluster_efpa")`'
    metrics = found.metrics("clusters")
    links = [orders.further_link(orders.stem(metrics, "stalk", order)) for order in ("efpa", "to_world")]
    if links[0] is None or links[1] is None:
        return here
    chosen, to_world = (f"{x:.0f}" for x in links if x is not None)
    stem = "a further link of a stem with eight chains at each end"
    return f"{here}; {stem}: {chosen} operations, {to_world} with all rows taken to the world"


def _powers(found: Found, family: str, methods: tuple[str, ...]) -> str:
    metrics, parts = found.metrics("clusters"), []
    for method in methods:
        words = []
        for measure, name in (("operations", "operations"), ("native_bound.us", "time")):
            power = orders.power(orders.growth(metrics, family, method, measure))
            words.append(f"{name} {UNKNOWN if power is None else f'n^{power:.2f}'}")
        parts.append(f"`{method}` {', '.join(words)}")
    return "; ".join(parts)


def _leg(found: Found) -> str:
    parts = []
    for joint in ("knee", "ankle"):
        numbers = [found.get("clusters", f"leg.{joint}.{x}") for x in ("unconstrained", "approximate", "largest")]
        if None in numbers:
            return UNKNOWN
        parts.append(f"{joint} {numbers[0]:.2f} and {numbers[1]:.2f} of {numbers[2]:.2f} N m")
    return "; ".join(parts)


def _pinocchio(found: Found) -> str:
    metrics = found.metrics("clusters")
    ratios = [orders.against_pinocchio(metrics, s, "specialized") for s in printed.SYSTEMS]
    return f"C-ABA with rotors, specialized, is {found.span(ratios, '.1f')} times as fast as `pin.aba` without them"


ENTRIES = (
    drawing("Fig. 1", "belts of the MIT Humanoid, differentials of Tello", "zoo/transmissions.py:tello"),
    Entry("Table I", "notation", ("docs/reference/glossary.md",), "no numbers", "[glossary](../reference/glossary.md)"),
    drawing("Fig. 2", "connectivity graphs, spanning trees"),
    drawing(
        "Fig. 3",
        "graphs of a geared chain and of a four-bar",
        "zoo/transmissions.py:geared_chain",
        "zoo/linkages.py:four_bar",
    ),
    Entry(
        "Eqs. 1 to 3, Sec. II-B",
        "equations of motion; implicit and explicit constraints",
        ("closure/minimal.py:Minimal", "kernels/clusters/explicit.py:explicit_constraints"),
        here="`Minimal`: G and g of any constraints that can be solved for the dependent joints",
        command="tests/kernels/test_clusters.py::test_the_maps_of_minimal_coordinates",
    ),
    Entry(
        "Sec. II-C",
        "Approximate and Projected RNEA, compared with",
        (
            "kernels/clusters/approximate.py:approximate_rnea",
            "linkwork_benchmarks/clusters/projected.py:projected_rnea",
        ),
        here='`InverseDynamics(robot, "approximate")`; the projected one is text of the benchmarks',
        command="tests/benchmarks/test_benchmarks_clusters.py::test_projected_inverse_dynamics_is_that_of_clusters",
    ),
    Entry(
        "Sec. II-D",
        "Approximate ABA, projection, Lagrange multipliers, compared with",
        (
            "kernels/clusters/approximate.py:approximate_aba",
            "kernels/clusters/projection.py:projection",
            "kernels/constrained/ltl.py:ltl",
        ),
        here="`approximate`, `projection`, `ltl`",
        command="tests/kernels/test_clusters.py::test_clusters_agree_with_dense_algebra",
    ),
    Entry(
        "Eq. 4, Sec. II-E",
        "the inverse OSIM; Approximate and Projected EFPA, compared with",
        ("kernels/clusters/efpa.py:projected_inertia", "dynamics/operational.py:OperationalInertia"),
        here='`OperationalInertia(robot, frames, "projection")`',
        command="tests/dynamics/test_delassus.py",
    ),
    equations(
        "Eqs. 5 to 10",
        "spatial algebra of bodies and joints",
        ("kernels/spatial.py", "kernels/joints.py"),
        "tests/kernels/test_configurations.py",
    ),
    drawing("Fig. 4", "graphs of bodies and of clusters", "plans/clusters.py", here="`lw.loops.clusters(robot)`"),
    drawing(
        "Fig. 5",
        "parents and outputs of clusters",
        "plans/clusters.py:clusters_of",
        here="the clusters {1, 2, 3}, {4, 5} and {6, 7}, the last on bodies 1 and 2, as in the figure",
    ),
    drawing("Fig. 6", "subtrees inside and outside"),
    equations(
        "Eqs. 11 to 31",
        "spatial algebra of clusters: stacks, transforms, motion and force subspaces",
        ("kernels/clusters/columns.py:cluster_jacobian", "kernels/clusters/explicit.py:explicit_bias"),
        "tests/kernels/test_clusters.py::test_clusters_agree_with_dense_algebra",
        "not stacked: G and g of a cluster act on the motion subspaces of its joints, body by body",
    ),
    Entry(
        "Eqs. 32 to 35, Sec. VI",
        "C-RNEA",
        ("kernels/clusters/rnea.py:cluster_rnea",),
        "O(N_C l²)",
        '`InverseDynamics(robot, "cluster")`',
        "torques of the tree, then `G'` of each cluster: the same numbers, without stacked vectors",
        "tests/kernels/test_clusters.py::test_inverse_and_forward_dynamics_undo_each_other",
    ),
    Entry(
        "Remark 1",
        "RNEA of the spanning tree, then projected, as in earlier work",
        ("kernels/clusters/rnea.py:spanning_tree_torques", "kernels/clusters/rnea.py:independent_torques"),
        here="this is how `cluster_rnea` is written; the projection goes cluster by cluster",
        command="tests/benchmarks/test_benchmarks_clusters.py::test_projected_inverse_dynamics_is_that_of_clusters",
    ),
    equations(
        "Eqs. 36 to 56",
        "articulated inertia of a cluster, by Gauss' principle",
        (
            "kernels/clusters/aba.py:articulate_cluster",
            "kernels/clusters/aba.py:articulated_cluster_force",
            "kernels/clusters/aba.py:cluster_accelerations",
        ),
        "tests/kernels/test_clusters.py::test_clusters_agree_with_dense_algebra",
    ),
    Entry(
        "Remark 2",
        "another form of the cost to go",
        here="kernels hold its quadratic and linear terms, the articulated inertia and bias force, as the earlier form",
    ),
    drawing("Fig. 7", "articulated-cluster inertia"),
    Entry(
        "Algorithm 1",
        "C-ABA (Sec. VII)",
        ("kernels/clusters/aba.py:cluster_aba", "kernels/clusters/explicit.py:update_constraints", "plans/clusters.py"),
        "O(N_C l³)",
        '`ForwardDynamics(robot, "cluster")`',
        (
            "joints of a cluster and its output bodies in the place of stacked vectors of 6 l; where several bodies "
            "carry a cluster, it is merged with what is between them if exact counts say so"
        ),
        "tests/kernels/test_output_bodies.py::test_forward_dynamics_are_those_of_stacked_clusters",
    ),
    Entry(
        "Eqs. 57 to 67",
        "C-EFPA (Sec. VIII)",
        ("kernels/clusters/efpa.py:cluster_efpa", "plans/cluster_efpa.py:cluster_efpa_tree"),
        "O(N_C l³ + N_ee d + N_ee²)",
        _stem,
        "rows end at the world or, as in Eq. 67, at common ancestors: exact counts choose",
        "tests/dynamics/test_delassus.py::test_cluster_efpa_solves_the_other_loops_where_they_are",
    ),
    drawing(
        "Fig. 8",
        "six robots and their graphs",
        "linkwork_benchmarks/clusters/robots.py:SUBJECTS",
        "zoo/transmissions.py",
    ),
    _row(
        "II",
        "9",
        "inverse",
        "approximate",
        "Approximate RNEA beside C-RNEA",
        ("kernels/clusters/approximate.py:approximate_rnea",),
        "ours takes ratios from the rows at every state; the paper's offset of the mass matrix is constant",
    ),
    _row(
        "II",
        "9",
        "inverse",
        "projected",
        "Projected RNEA beside C-RNEA",
        ("linkwork_benchmarks/clusters/projected.py:projected_rnea",),
        (
            "in a specialized program zeros of G cost nothing, and operations are the same; calls of C-RNEA also check "
            "in Python that independent joints determine the others, which takes as long as a small program"
        ),
    ),
    _row(
        "III",
        "10",
        "forward",
        "approximate",
        "Approximate ABA beside C-ABA",
        ("kernels/clusters/approximate.py:approximate_aba",),
        "",
    ),
    _row(
        "III",
        "10",
        "forward",
        "projection",
        "projection beside C-ABA",
        ("kernels/clusters/projection.py:projection",),
        "JVRC-1 has the 32 gears of the paper, seven of which its file leaves out",
    ),
    _row(
        "III",
        "10",
        "forward",
        "ltl",
        "Lagrange multipliers beside C-ABA",
        ("kernels/constrained/ltl.py:ltl",),
        "the paper's uses sparse matrices, ours the zeros of the tree",
    ),
    Entry(
        "Sec. IX",
        "ABA takes 3 µs in Pinocchio and 20 µs in the paper's library",
        ("linkwork_benchmarks/clusters/pinocchio.py",),
        "times are compared among their own only",
        _pinocchio,
        command=SYSTEMS,
    ),
    Entry(
        "Fig. 11",
        "geared chains of 2 to 24 links (left): C-ABA linear, others cubic",
        ("zoo/transmissions.py:geared_chain",),
        "curves without numbers",
        lambda f: _powers(f, "forward_of_geared_chain", ("cluster", "projection", "ltl")),
        "fitted from 24 to 96 links",
        "clusters --only growth.forward_of_geared_chain",
        lambda f: _linear(f, "forward_of_geared_chain", "cluster", "projection"),
    ),
    Entry(
        "Fig. 11",
        "belt chains (right): the same",
        ("zoo/transmissions.py:belt_chain",),
        "curves without numbers",
        lambda f: _powers(f, "forward_of_belt_chain", ("cluster", "projection", "ltl")),
        "powers of times below 0.85 are noise",
        "clusters --only growth.forward_of_belt_chain",
        lambda f: _linear(f, "forward_of_belt_chain", "cluster", "projection"),
    ),
    _row(
        "IV",
        "12",
        "inertia",
        "projection",
        "projection beside C-EFPA",
        ("kernels/clusters/efpa.py:projected_inertia",),
        "end effectors are the last links of chains and the feet: the paper does not name its own",
    ),
    Entry(
        "Table IV, Fig. 12",
        "Approximate EFPA beside C-EFPA",
        ("dynamics/operational.py:OperationalInertia",),
        _printed("inertia", "approximate"),
        _approximate_inertia,
        "both have reflected inertia; ours takes ratios from the rows at every state, the paper's are constant",
        SYSTEMS,
        lambda f: _same_sign(f, "inertia", "approximate"),
    ),
    Entry(
        "Fig. 13",
        "inverse OSIM of belt chains: C-EFPA linear, projection cubic",
        ("zoo/transmissions.py:belt_chain",),
        "curves without numbers",
        lambda f: _powers(f, "inertia_of_belt_chain", ("efpa", "projection")),
        "powers of times below 0.85 are noise",
        "clusters --only growth.inertia_of_belt_chain",
        lambda f: _linear(f, "inertia_of_belt_chain", "efpa", "projection"),
    ),
    Entry(
        "Fig. 14, Sec. IX-B",
        "torques of a leg, exact, unconstrained, approximate",
        ("linkwork_benchmarks/clusters/leg.py:torques",),
        "ankle: root mean squares 4.31 and 1.04 N m, 39.2 and 9.5 % of the largest torque",
        _leg,
        "the paper's root mean squares are those of our knee; more than these and the percentages it does not give",
        "clusters --only leg",
        _torques,
    ),
    claim(
        "Sec. IX-A",
        "the method by clusters is the fastest exact one for inverse and forward dynamics and the inverse OSIM",
        "outperforms the Projection and Lagrange",
        ("kernels/clusters/aba.py:cluster_aba",),
        lambda f: "; ".join(f"`{m}` beside C-ABA: {_percents(f, 'forward', m)}" for m in ("projection", "ltl")),
        SYSTEMS,
        lambda f: verdict(
            sum(_same_sign(f, "forward", m) == "holds" for m in ("projection", "ltl"))
            + (_same_sign(f, "inverse", "projected") == "holds")
            + (_same_sign(f, "inertia", "projection") == "holds"),
            4,
        ),
    ),
    claim(
        "Sec. X",
        "loops are handled within dynamics, so that nothing stabilizes them",
        "handled within the rigid-body dynamics",
        ("closure/minimal.py:Minimal", "kernels/clusters/minimal.py:close_loops"),
        '`simulate(..., coordinates="minimal")`: loops stay closed to rounding, without gains',
        "tests/simulation/test_minimal_steps.py",
        "holds",
    ),
    future(
        "Sec. VII-C",
        "closed forms of constraints, static polymorphism, generated code",
        "left as future work",
        ("compilers/trace/tracing.py",),
        "`compile()`: a straight-line program of the robot, topology and zeros folded",
        SYSTEMS,
    ),
    future(
        "Sec. XI",
        "Coriolis matrix and Christoffel symbols over clusters",
        "Coriolis matrix and Christoffel symbols",
        ("closure/minimal.py:Minimal", "kernels/tree/coriolis.py:coriolis_matrix"),
        "`Minimal(robot).coriolis_matrix(q, rate)`, `christoffel_symbols(q)`",
        "tests/dynamics/test_paper_claims.py::test_coriolis_matrices_over_clusters",
        differs="the matrix of the spanning tree, projected, with the rate of G by a derivative of its kernel",
    ),
    future(
        "Sec. XI",
        "identification of inertial parameters over clusters",
        "identifiable inertial parameters",
        ("dynamics/inverse.py:InverseDynamics",),
        "regressors of spanning trees, projected by G of the loops: [identification](../how-to/identification.md)",
        "tests/dynamics/test_paper_claims.py::test_inertial_parameters_are_identified_over_clusters",
    ),
    future(
        "Sec. XI",
        "derivatives of dynamics over clusters",
        "derivatives with respect to state",
        ("kernels/derivatives/rnea.py:rnea_derivatives", "dynamics/implicit_products.py"),
        "products with Jacobians of `cluster` and `cluster_lcaba` by reverse sweeps over their programs",
        "tests/dynamics/test_derivatives.py",
    ),
)

PAPER = Paper(
    "clusters",
    "M. Chignoli, N. Adrian, S. Kim, P. M. Wensing, *Recursive Rigid-Body Dynamics Algorithms for Systems with "
    "Kinematic Loops*",
    ENTRIES,
    algorithms=1,
    tables=4,
    figures=14,
    equations=67,
    remarks=2,
    claims=2,
    future=4,
)
