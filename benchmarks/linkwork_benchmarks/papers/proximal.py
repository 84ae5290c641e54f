# SPDX-License-Identifier: BSD-3-Clause
"""**proximal**, item by item."""

from __future__ import annotations

from linkwork_benchmarks.papers.entry import Entry, Paper, claim, drawing, equations, future
from linkwork_benchmarks.papers.found import UNKNOWN, Found, verdict

FACTOR = "constrained --only factor"


def _saved(found: Found, system: str) -> str:
    """What the sparse factor saves against Eigen's dense one."""
    parts = []
    for title, name in (("native", "native"), ("Pinocchio's", "pinocchio.cholesky")):
        ours, dense = (found.get("constrained", f"factor.{system}.{n}.us") for n in (name, "eigen.dense"))
        parts.append(f"{title} {UNKNOWN if ours is None or dense is None else f'{100 * (1 - ours / dense):.0f} %'}")
    sparse, dense = (found.get("constrained", f"factor.{system}.{n}") for n in ("sparse", "dense"))
    counted = UNKNOWN if sparse is None or dense is None else f"{100 * (1 - sparse / dense):.0f} %"
    return f"{', '.join(parts)} in time, {counted} in operations"


def _half(found: Found) -> str:
    metrics, parts = found.metrics("constrained"), []
    for backend in ("native", "specialized"):
        ratios = []
        for name, ours in metrics.items():
            if name.startswith("factor.") and name.endswith(f".{backend}.us"):
                dense = metrics.get(name.replace(f".{backend}.us", ".eigen.dense.us"))
                ratios += [] if dense is None else [ours / dense]
        if not ratios:
            return UNKNOWN
        parts.append(f"{backend} {sum(r < 0.5 for r in ratios)} of {len(ratios)}")
    return f"less than half of Eigen's dense time on so many robots and row sets: {', '.join(parts)}"


def _dynamics(found: Found) -> str:
    metrics, parts = found.metrics("constrained"), []
    for title, name in (("`prox_ltl`, native", "prox_ltl.native"), ("Pinocchio's", "pinocchio.constraintDynamics")):
        saved = []
        for key, before in metrics.items():
            if key.startswith("proximal.") and key.endswith(".pinocchio.forwardDynamics.us"):
                us = metrics.get(key.replace("pinocchio.forwardDynamics", name))
                saved.append(None if us is None else 100 * (1 - us / before))
        parts.append(f"{title} {found.span(saved, '.0f')} %")
    return f"less than `pin.forwardDynamics`: {', '.join(parts)}"


def _extracted(found: Found, what: str) -> str:
    start = f"extraction.Talos 38 (24).{what}"
    peer = found.us("delassus", f"extraction.Talos 38 (24).pinocchio.{what}")
    return (
        f"from q, kinematics included: native {found.us('delassus', f'{start}.native')}, specialized "
        f"{found.us('delassus', f'{start}.specialized')}; Pinocchio {peer} after its factor "
        f"({found.us('delassus', 'extraction.Talos 38 (24).pinocchio.factor')})"
    )


def _motion(found: Found, robot: str) -> str:
    x = found.get("simulation", f"trajectory.{robot}.pinocchio.constraintDynamics.1000us.difference")
    return UNKNOWN if x is None else f"the same motion by Pinocchio's solver differs by {x:.0e}"


def _whole_body(found: Found, robot: str) -> str:
    off, gap = (found.get("simulation", f"whole_body.{robot}.{x}") for x in ("off", "open"))
    if off is None or gap is None:
        return UNKNOWN
    return f"4 s of motion: the center of mass within {off:.0e} m of its path, constraints open by {gap:.0e} at most"


def _on_path(found: Found, robot: str) -> str:
    """Whether the center of mass follows its path within 3e-5 m."""
    off = found.get("simulation", f"whole_body.{robot}.off")
    return UNKNOWN if off is None else verdict(off < 3e-5, 1)


def _redundant(found: Found) -> str:
    rows, rank = (found.get("constrained", f"duplicated.Talos.{x}") for x in ("rows", "rank"))
    error = found.get("constrained", "duplicated.Talos.prox_ltl.1e-06.error")
    if rows is None or rank is None or error is None:
        return UNKNOWN
    word = found.results["constrained"]["words"].get("duplicated.Talos.ltl.0e+00", "no answer")
    return f"{rows:.0f} rows of rank {rank:.0f}: `prox_ltl` is off by {error:.0e}; `ltl` says: {word}"


def _linear_in_mu(found: Found) -> str:
    """Whether a hundredth of the regularization makes the residual fall a hundred times faster, to a factor of 3."""
    rates = []
    for mu in ("1e-03", "1e-05"):
        first, second = (found.get("constrained", f"convergence.AH²-cube.prox_ltl.{mu}.{k}.mean") for k in (1, 2))
        if first and second:
            rates.append(second / first)
    return UNKNOWN if len(rates) < 2 else verdict(30 < rates[0] / rates[1] < 300, 1)


def _savings(found: Found) -> list[float]:
    """What `prox_ltl` saves of the time of Pinocchio's forwardDynamics, percent."""
    metrics, saved = found.metrics("constrained"), []
    for key, before in metrics.items():
        if key.startswith("proximal.") and key.endswith(".pinocchio.forwardDynamics.us"):
            us = metrics.get(key.replace("pinocchio.forwardDynamics", "prox_ltl.native"))
            saved += [] if us is None else [100 * (1 - us / before)]
    return saved


def _factor_saves(found: Found, system: str, percent: float) -> str:
    ours, dense = (found.get("constrained", f"factor.{system}.{n}.us") for n in ("native", "eigen.dense"))
    return UNKNOWN if ours is None or dense is None else verdict(100 * (1 - ours / dense) >= percent, 1)


def _halves(found: Found) -> str:
    """Whether the sparse factor takes less than half of the dense one's time on almost all robots: nine in ten."""
    ratios = [
        found.get("constrained", name.replace(".eigen.dense.us", ".native.us")) or dense
        for name, dense in found.metrics("constrained").items()
        if name.startswith("factor.") and name.endswith(".eigen.dense.us")
    ]
    dense = [
        x for n, x in found.metrics("constrained").items() if n.startswith("factor.") and n.endswith(".eigen.dense.us")
    ]
    held = sum(a < 0.5 * b for a, b in zip(ratios, dense, strict=True))
    return UNKNOWN if not dense else "holds" if held >= 0.9 * len(dense) else verdict(held, len(dense))


def _faster(found: Found, what: str, printed: float) -> str:
    us = found.get("delassus", f"extraction.Talos 38 (24).{what}.specialized.us")
    return UNKNOWN if us is None else verdict(us <= printed, 1)


def _rate(found: Found) -> str:
    parts = []
    for mu in ("1e-03", "1e-05"):
        first, second = (found.get("constrained", f"convergence.AH²-cube.prox_ltl.{mu}.{k}.mean") for k in (1, 2))
        if first and second:
            parts.append(f"{second / first:.0e} at {float(mu):g}")
    found_at = ", ".join(parts) or UNKNOWN
    return f"residual of the second iteration over the first, AH²-cube: {found_at}; smaller ones meet rounding"


ENTRIES = (
    drawing("Fig. 1", "four robots with constraints"),
    equations(
        "Eqs. 1 to 8",
        "constrained dynamics, its Lagrangian, the KKT system, the OSIM",
        ("kernels/constrained/problem.py:setup_problem", "kernels/constrained/kkt.py"),
        "tests/dynamics/test_forward_models.py::test_every_method_agrees_with_least_squares",
    ),
    equations(
        "Eqs. 9 to 13",
        "proximal operator and algorithm",
        ("kernels/constrained/ltl.py:prox_ltl_iterate",),
        "tests/kernels/test_iterations.py",
    ),
    Entry(
        "Eqs. 14 to 16",
        "the augmented Lagrangian method, compared with",
        ("kernels/constrained/lcaba.py:lcaba",),
        here="`lcaba` is this method by bodies",
        command="tests/dynamics/test_forward_models.py::test_every_method_agrees_with_least_squares",
    ),
    Entry(
        "Eqs. 17 to 20",
        "the proximal iteration",
        ("kernels/constrained/ltl.py:prox_ltl", "kernels/constrained/problem.py"),
        here="`prox_ltl`; `regularization` is the paper's μ for rows of unit inertia",
        command="tests/kernels/test_iterations.py",
    ),
    Entry(
        "Fig. 2",
        "convergence for different μ",
        ("linkwork_benchmarks/constrained/accuracy.py:convergence",),
        "linear, the faster the smaller μ; on a typical quadratic program",
        _rate,
        "on a robot in the place of a quadratic program that the paper does not give",
        "constrained --only convergence",
        _linear_in_mu,
    ),
    drawing("Fig. 3", "a kinematic chain with a closed loop"),
    equations(
        "Eqs. 21 to 23",
        "sparse factor of the mass matrix",
        ("kernels/constrained/ltl.py:factorize_mass_matrix", "plans/ltl.py:ltl_tree"),
        "tests/dynamics/test_kkt.py",
    ),
    equations(
        "Eqs. 24 to 27",
        "sparse factor of the KKT matrix, and its zeros",
        ("kernels/constrained/ltl.py:rows_by_factor", "kernels/constrained/ltl.py:factorize_delassus"),
        "tests/dynamics/test_kkt.py",
    ),
    Entry(
        "Algorithm 1",
        "sparse Cholesky factorization of the KKT matrix",
        (
            "kernels/constrained/ltl.py:factorize_mass_matrix",
            "kernels/constrained/ltl.py:rows_by_factor",
            "kernels/constrained/ltl.py:factorize_delassus",
        ),
        here="part of `prox_ltl`; alone as `lw.KKT(robot).at(q)`",
        command="tests/dynamics/test_kkt.py",
    ),
    Entry(
        "Sec. IV-D",
        "products and solutions with the factor (U, D)",
        ("dynamics/kkt.py:KKTFactor", "kernels/constrained/kkt.py"),
        here="`KKTFactor`: solve, products with U, U' and their inverses, another damping",
        command="tests/dynamics/test_kkt.py",
    ),
    Entry(
        "Sec. IV-E",
        "the factor of the inverse OSIM is part of it",
        ("dynamics/kkt.py:KKTFactor", "kernels/constrained/osim.py:prox_ltl_osim"),
        here='`Delassus(robot, "prox_ltl")` as well',
        command="tests/dynamics/test_kkt.py",
    ),
    Entry(
        "Sec. IV-F",
        "any matrix with the sparsity of the tree in the place of M",
        ("dynamics/kkt.py:KKT",),
        here="`KKT` takes such a matrix",
        command="tests/dynamics/test_kkt.py",
    ),
    Entry(
        "Fig. 4",
        "factor of the KKT matrix on UR5 against Eigen's",
        (
            "linkwork_benchmarks/constrained/factors.py:factor",
            "linkwork_benchmarks/constrained/joint_space.py:kkt_factor",
        ),
        "about 45 % less than Eigen's dense one without constraints",
        lambda f: _saved(f, "UR5 (0)"),
        "calls from Python; Pinocchio's puts its matrix together as well, ours has mass matrix and Jacobian given",
        FACTOR,
        lambda f: _factor_saves(f, "UR5 (0)", 45),
    ),
    Entry(
        "Fig. 5",
        "the same on Solo, ANYmal, iCub, Talos",
        ("linkwork_benchmarks/constrained/factors.py:factor",),
        "more than 50 % less on almost all; about 74 % on Talos (38) without constraints",
        lambda f: f"{_half(f)}; Talos: {_saved(f, 'Talos 38 (0)')}",
        "Solo has 12 joints here, the paper does not say which it took",
        FACTOR,
        _halves,
    ),
    Entry(
        "Fig. 6",
        "inverse OSIM from the factor",
        ("kernels/constrained/osim.py:pv_osim",),
        "about 4 µs on Talos with 24 rows, after the factor",
        lambda f: _extracted(f, "matrix"),
        "ours makes the matrix at once, by `pv_osim`; the factor has it too (`KKTFactor`)",
        "delassus --only extraction",
        lambda f: _faster(f, "matrix", 4),
    ),
    Entry(
        "Fig. 7",
        "OSIM from the factor",
        ("kernels/constrained/osim.py:caba_osim",),
        "about 0.03 µs on UR5, 7 µs on Talos with 24 rows, after the factor",
        lambda f: _extracted(f, "inverse"),
        "ours makes the damped inverse at once",
        "delassus --only extraction",
        lambda f: _faster(f, "inverse", 7),
    ),
    Entry(
        "Fig. 8",
        "constrained dynamics as a whole",
        ("kernels/constrained/ltl.py:prox_ltl",),
        "more than 50 % less than `forwardDynamics` of Pinocchio 2 on all robots",
        _dynamics,
        (
            "Pinocchio's `constraintDynamics` is this paper's own algorithm; Jacobian and drift are given to its "
            "predecessor"
        ),
        "constrained --only '^proximal'",
        lambda f: verdict(sum(x > 50 for x in _savings(f)), len(_savings(f))),
    ),
    Entry(
        "Fig. 9",
        "motion of Cassie",
        ("linkwork_benchmarks/simulation/motions.py:cassie",),
        "pictures of a motion",
        lambda f: f"{_whole_body(f, 'Cassie')}; {_motion(f, 'Cassie')} without control",
        "loops are those of its file, 6 a leg; leaf springs are locked",
        "simulation --only Cassie",
        lambda f: _on_path(f, "Cassie"),
    ),
    Entry(
        "Fig. 10",
        "motion of Talos",
        ("linkwork_benchmarks/simulation/motions.py:talos",),
        "pictures of a motion",
        lambda f: _whole_body(f, "Talos"),
        "grippers do not move; the path of the center of mass is ours, the paper's is not given",
        "simulation --only whole_body.Talos",
        lambda f: _on_path(f, "Talos"),
    ),
    Entry(
        "Fig. 11",
        "motion of ANYmal",
        ("linkwork_benchmarks/simulation/motions.py:anymal",),
        "pictures of a motion",
        lambda f: _whole_body(f, "ANYmal"),
        "the path of the center of mass is ours, the paper's is not given",
        "simulation --only whole_body.ANYmal",
        lambda f: _on_path(f, "ANYmal"),
    ),
    Entry(
        "Fig. 12",
        "motion of a four-bar",
        ("zoo/linkages.py:four_bar",),
        "pictures of a motion",
        lambda f: _motion(f, "four-bar"),
        command="simulation --only trajectory.four-bar",
        verdict=lambda f: verdict(
            (f.get("simulation", "trajectory.four-bar.pinocchio.constraintDynamics.1000us.difference") or 1.0) < 1e-9, 1
        ),
    ),
    Entry(
        "Sec. V-F",
        "every constraint of Talos twice, 36 rows",
        ("linkwork_benchmarks/constrained/accuracy.py:duplicated",),
        "fails with μ = 0, solved with μ > 0",
        _redundant,
        command="constrained --only duplicated",
        verdict=lambda f: verdict(
            ((f.get("constrained", "duplicated.Talos.prox_ltl.1e-06.error") or 1.0) < 1e-9)
            + ("duplicated.Talos.ltl.0e+00" in f.results["constrained"]["words"]),
            2,
        ),
    ),
    claim(
        "Abstract, Sec. VI",
        "a robust solution, despite ill-conditioning or near singularity, without loss of efficiency and accuracy",
        "despite ill-conditioning or near singularity",
        ("kernels/constrained/ltl.py:prox_ltl",),
        "redundant rows, singular configurations and loops open by rounding: accelerations of least squares",
        "tests/dynamics/test_forward_redundant.py",
        "holds",
    ),
    future(
        "Sec. IV-E",
        "Newton's method for contacts on the factor of the OSIM",
        "enable Newton-based methods",
        ("kernels/contact/newton.py:contact_newton",),
        "contacts by Newton's method are the default of `contact_step`",
        "tests/contact",
    ),
    future(
        "Sec. VI",
        "unilateral constraints: friction, sliding, contacts that open",
        "handle unilateral constraints",
        ("kernels/contact/newton.py:contact_newton", "kernels/contact/step_admm.py:contact_admm"),
        "contacts with friction in steps, loops included: [contact](../how-to/contact.md)",
        "tests/contact",
    ),
    future(
        "Sec. VI",
        "derivatives of constrained dynamics",
        "derivatives of the constrained dynamics",
        ("kernels/derivatives/constrained.py",),
        "`fd.derivatives`, `jvp`, `vjp`, `hvp`",
        "tests/dynamics/test_constrained_derivatives.py",
    ),
)

PAPER = Paper(
    "proximal",
    "J. Carpentier, R. Budhiraja, N. Mansard, *Proximal and Sparse Resolution of Constrained Dynamic Equations*",
    ENTRIES,
    algorithms=1,
    tables=0,
    figures=12,
    equations=27,
    remarks=0,
    claims=1,
    future=3,
)
