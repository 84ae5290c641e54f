# SPDX-License-Identifier: BSD-3-Clause
"""Benchmarks of constrained dynamics: twins agree, small studies run to a page, sentences say what numbers show."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo

pytest.importorskip("pinocchio")
pytest.importorskip("mujoco")
pytest.importorskip("matplotlib")
from linkwork_benchmarks import report
from linkwork_benchmarks.constrained import bars, joint_space, mujoco, ours, page, pinocchio, series, studies, verdicts
from linkwork_benchmarks.constrained.agreement import worst_difference
from linkwork_benchmarks.constrained.scenarios import (
    LTL_SOFT,
    PROXIMAL,
    Convergence,
    Duplicated,
    Factor,
    Growth,
    Scenario,
    Softness,
    System,
    twice,
)
from linkwork_benchmarks.constrained.states import closed_states
from tests.support.benchmark_pages import check_page, small_results

LOOPS = {
    "coupled": partial(zoo.coupled_loops, 2),
    "stewart": zoo.stewart,
    "loop": partial(zoo.single_loop, 8),
    "ladder": partial(zoo.ladder, 2),
    "star": partial(zoo.star_of_loops, 3),
}


@pytest.mark.parametrize("name", LOOPS)
def test_random_states_are_on_the_constraints(name: str) -> None:
    robot = LOOPS[name]()
    states = closed_states(robot, 20, distinct=8)
    assert np.abs(lw.constraint_error(robot, states.q)).max() < 1e-10
    J = lw.constraint_jacobian(robot, states.q)
    assert np.abs(np.einsum("kij,kj->ki", J, states.v)).max() < 1e-10
    assert len(np.unique(states.q, axis=0)) == 8


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("solver", pinocchio.SOLVERS)
def test_pinocchio_finds_our_accelerations_after_as_many_iterations(name: str, solver: str) -> None:
    robot = LOOPS[name]()
    states = closed_states(robot, 4)
    answer = pinocchio.contender(pinocchio.twin(robot), solver, states, 1e-4, 2).answer()
    fd = ours.dynamics(robot, "prox_ltl", 1e-4, 2)
    assert worst_difference(answer, fd(*states).acceleration) < 1e-7


@pytest.mark.parametrize("name", LOOPS)
def test_mujoco_finds_what_our_soft_rows_find_at_rest(name: str) -> None:
    robot = LOOPS[name]()
    if name == "stewart":
        pytest.skip("MuJoCo has no universal joints")
    states = closed_states(robot, 4)
    twin = mujoco.twin(robot)
    answer = mujoco.contender(twin, states).answer()
    assert worst_difference(answer, mujoco.expected(twin, robot, states)) < 1e-8


TINY: tuple[Scenario, ...] = (
    System("loops", "AH-cube", partial(zoo.single_loop, 5), PROXIMAL, free=True),
    System("robots", "Cassie", partial(zoo.single_loop, 4), PROXIMAL, (1,)),
    System(
        "lqr",
        "Iiwa (H)",
        partial(zoo.held_chain, 7),
        ("pv", "ltl", "pv_soft"),
        (1,),
        batches=False,
        auto=False,
        soft=True,
    ),
    Growth("single_loop", zoo.single_loop, (4, 8), PROXIMAL, "loops Fig. 6"),
    Growth("ladder", zoo.ladder, (1, 2), ("pv_early", "pv_soft", LTL_SOFT), "lqr Fig. 4c"),
    Convergence(
        "AH²-cube",
        partial(zoo.single_loop, 8),
        regularizations=(1e-5,),
        iterations=(1, 2, 3),
        extremes=(1e-3, 1e-5),
        states=10,
    ),
    Softness("Talos", partial(zoo.held_chain, 8), weights=(1e3, 1e6), states=10),
    Duplicated("Talos", partial(twice, partial(zoo.held_chain, 8)), regularizations=(1e-6,), states=4),
    Factor("UR5 (6)", partial(zoo.held_chain, 6)),
)


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return small_results(studies, TINY)


def test_every_study_leaves_numbers(results: dict[str, dict[str, float]]) -> None:
    metrics = results["metrics"]
    for scenario in TINY:
        assert any(name.startswith(scenario.name) for name in metrics), scenario.name
    for backend in ("lcaba.native", "lcaba.specialized", "lcaba.batch", "pinocchio.lcaba", "mujoco.forward"):
        assert metrics[f"loops.AH-cube.3.{backend}.us"] > 0
    for backend in ("aba.native", "aba.specialized", "aba.batch", "pinocchio.aba"):
        assert metrics[f"loops.AH-cube.1.{backend}.us"] > 0
    for name in ("lqr.Iiwa (H).1.ltl_soft.native", "growth.ladder.20.ltl_soft.native"):
        assert metrics[f"{name}.us"] > 0
    for name in ("native", "specialized", "eigen.dense", "eigen.sparse", "pinocchio.cholesky"):
        assert metrics[f"factor.UR5 (6).{name}.us"] > 0 and metrics[f"factor.UR5 (6).{name}.error"] < 1e-6
    assert all(np.isfinite(x) for x in metrics.values())


def test_the_page_shows_every_study_and_only_plots_that_exist(results: dict[str, Any], tmp_path: Path) -> None:
    titles = ("Bars", "loops Table II", "Figs. 10, 11", "lqr Table II", "Fig. 3", "Sec. V-F", "Notes")
    text = check_page(page, results, tmp_path, titles, plots=7)
    assert "nan" not in text.lower().replace("gives nan", "").replace("| nan |", "")


def test_the_same_results_make_the_same_plots(results: dict[str, Any], tmp_path: Path) -> None:
    made = [
        page.write(results, tmp_path / name / "page.md") for name in ("first", "second") if _folder(tmp_path / name)
    ]
    first, second = ({p.name: p.read_bytes() for p in (m.parent / "plots").iterdir()} for m in made)
    assert first == second


def _folder(path: Path) -> bool:
    path.mkdir()
    return True


def numbers(specialized: float) -> dict[str, dict[str, object]]:
    times = {"pinocchio.lcaba": 12.0, "pinocchio.constraintDynamics": 20.0, "lcaba.specialized": specialized}
    return {
        "metrics": {f"loops.hand.1.{name}.us": us for name, us in times.items()},
        "words": {"loops.hand.1.auto": "lcaba"},
    }


@pytest.mark.parametrize(
    ("specialized", "words"), [(2.0, "**met** on all 1"), (6.0, "**missed** on 1 of 1 systems: hand (2)")]
)
def test_sentences_say_whether_a_bar_is_met(specialized: float, words: str) -> None:
    """The faster of the two peers counts: 12 µs."""
    assert words in bars.verdict(numbers(specialized), ["loops.hand"], 1, bars.BARS[1])


def test_a_bar_without_times_is_not_measured() -> None:
    assert "not measured" in bars.verdict(numbers(2.0), ["loops.hand"], 1, bars.BARS[4])


def test_the_exponent_of_a_power_is_found() -> None:
    assert series.exponent([(n, 3.0 * n**1.5) for n in (10.0, 50.0, 100.0, 500.0)]) == pytest.approx(1.5)
    assert series.exponent([(50.0, 1.0), (100.0, 2.0)]) is None


def test_curves_cross_where_the_first_falls_below() -> None:
    flat, steep = [(n, 50.0) for n in (1.0, 10.0, 100.0)], [(n, n) for n in (1.0, 10.0, 100.0)]
    assert series.crossing(flat, steep) == 100.0
    assert series.crossing(steep, flat) is None


# Joint space ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [partial(zoo.held_chain, 8), partial(zoo.ladder, 2), zoo.quadruped_standing])
def test_soft_rows_in_joint_space_are_those_of_bodies(make: Callable[[], lw.Mechanism]) -> None:
    """LTL-s and PV-soft solve the same problem; without rows LTL-s is forward dynamics of the tree."""
    robot = make()
    states = closed_states(robot, 4)
    found = joint_space.SoftGauss(robot)(*states, np.full((4, robot.nc), 1e-2))
    wanted = ours.dynamics(robot, "pv_soft", 1e-2, 1)(*states).acceleration
    assert worst_difference(found, wanted) < 1e-8
    tree = robot.unconstrained()
    free = joint_space.SoftGauss(tree)(*states, np.zeros((4, 0)))
    assert worst_difference(free, lw.ForwardDynamics(tree)(*states).acceleration) < 1e-9


@pytest.mark.parametrize("make", [partial(zoo.single_loop, 6), partial(zoo.ladder, 2), zoo.stewart])
def test_the_factor_of_the_kkt_matrix_multiplies_back(make: Callable[[], lw.Mechanism]) -> None:
    """``M = L' D L`` and ``R + J M^-1 J' = L D L'``."""
    robot = make()
    q = closed_states(robot, 1).q[0]
    M, J, R = lw.mass_matrix(robot, q), lw.constraint_jacobian(robot, q), np.full(robot.nc, 1e-3)
    L, JL, A = joint_space.KktFactor(robot)(q, M, J, R)
    lower = np.tril(L, -1) + np.eye(robot.nv)
    np.testing.assert_allclose(lower.T @ np.diag(1 / np.diag(L)) @ lower, M, atol=1e-12 * np.abs(M).max())
    np.testing.assert_allclose(JL @ lower, J, atol=1e-12 * np.abs(J).max())
    unit = np.tril(A, -1) + np.eye(robot.nc)
    damped = J @ np.linalg.solve(M, J.T) + np.diag(R)
    np.testing.assert_allclose(unit @ np.diag(1 / np.diag(A)) @ unit.T, damped, atol=1e-9 * np.abs(damped).max())


# What the papers find ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bbo", "words"), [(0.9, "**holds** by operations"), (1.1, "**fails** by operations (at all")])
def test_sentences_say_whether_a_figure_holds(bbo: float, words: str) -> None:
    metrics = {f"growth.chain_of_loops.{n}.lcaba.operations": 10.0 * n for n in (7, 49, 97)}
    metrics |= {f"growth.chain_of_loops.{n}.prox_bbo.operations": bbo * 10.0 * n for n in (7, 49, 97)}
    claim = next(c for c in verdicts.CLAIMS if (c.below, c.above) == ("prox_bbo", "lcaba"))
    assert words in verdicts.claim_sentence(metrics, claim)
    assert verdicts.claim_sentence({}, claim) == ""


def test_orders_are_judged_by_operations_and_by_times() -> None:
    """By operations as in the paper, by times not."""
    metrics = {f"loops.Digit.{m}.operations": x for m, x in {"lcaba": 1.0, "prox_bbo": 2.0, "prox_ltl": 3.0}.items()}
    metrics |= {f"loops.Digit.1.{m}.native.us": x for m, x in {"lcaba": 1, "prox_bbo": 4, "prox_ltl": 3}.items()}
    text = verdicts.order_sentences({"metrics": metrics}, "loops")
    assert "By operations: the same on 1 of 1 systems (Digit)." in text
    assert "By native times: the same on 0 of 1 systems." in text
    assert "Digit: ours `lcaba` < `prox_ltl` < `prox_bbo`; the paper's `lcaba` < `prox_bbo` < `prox_ltl`" in text


def test_scenarios_run_again_take_the_place_of_what_they_found() -> None:
    before = {
        "metrics": {"loops.Digit.nv": 1.0, "loops.Digit-cube.nv": 2.0, "leg.knee": 3.0},
        "words": {"loops.Digit.1.auto": "lcaba"},
        "notes": ["loops.Digit: old", "loops.Digit.1: older", "loops.Digit-cube: kept"],
        "date": "then",
    }
    again = dict.fromkeys(("date", "commit", "modified", "machine", "seconds", "quick"), "now")
    new = {**again, "metrics": {"loops.Digit.rows": 48.0}, "words": {}, "notes": ["loops.Digit: new"]}
    found = report.updated(before, new, ["loops.Digit"])
    assert found["metrics"] == {"loops.Digit-cube.nv": 2.0, "leg.knee": 3.0, "loops.Digit.rows": 48.0}
    assert found["words"] == {} and found["notes"] == ["loops.Digit-cube: kept", "loops.Digit: new"]
    assert found["date"] == "then" and found["reruns"][0]["scenarios"] == ["loops.Digit"]
