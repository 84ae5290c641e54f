# SPDX-License-Identifier: BSD-3-Clause
"""Benchmarks of constrained dynamics: twins agree, small studies run to a page, sentences say what numbers show."""

from __future__ import annotations

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
from benchmark_pages import check_page, check_that_results_survive_their_file, small_results
from linkwork_benchmarks.constrained import bars, mujoco, ours, page, pinocchio, series, studies
from linkwork_benchmarks.constrained.agreement import worst_difference
from linkwork_benchmarks.constrained.scenarios import (
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
    System("loops", "AH-cube", partial(zoo.single_loop, 5), PROXIMAL),
    System("robots", "Cassie", partial(zoo.single_loop, 4), PROXIMAL, (1,)),
    System("lqr", "Iiwa (H)", partial(zoo.held_chain, 7), ("pv", "ltl", "pv_soft"), (1,), batches=False, auto=False),
    Growth("single_loop", zoo.single_loop, (4, 8), PROXIMAL, "loops Fig. 6"),
    Growth("ladder", zoo.ladder, (1, 2), ("pv_early", "pv_soft"), "lqr Fig. 4c"),
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
    assert all(np.isfinite(x) for x in metrics.values())


def test_results_survive_their_file(results: dict[str, Any], tmp_path: Path) -> None:
    check_that_results_survive_their_file(results, tmp_path)


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
