# SPDX-License-Identifier: BSD-3-Clause
"""The study of motion: its claims on short runs, and its page."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from linkwork_benchmarks import report
from linkwork_benchmarks.runner import Settings
from linkwork_benchmarks.simulation import page, studies
from linkwork_benchmarks.simulation.scenarios import (
    CASSIE,
    DIGIT,
    FOUR_BAR,
    ROBOTIQ,
    SCENARIOS,
    Loops,
    Minimal,
    Momentum,
    Order,
    Scenario,
    Speed,
    Trajectory,
    WholeBody,
    smaller,
)
from linkwork_benchmarks.simulation.systems import system
from tests.support.robots import model_absent


def measured(scenario: Scenario) -> dict[str, float]:
    """What a scenario gives, by the last word of its names."""
    pytest.importorskip("pinocchio")
    pytest.importorskip("mujoco")
    journal = studies.begin()
    studies.measure(scenario, Settings(rounds=1), journal)
    if journal.notes:
        model_absent(journal.notes[0])
    return {name.removeprefix(f"{scenario.name}."): value for name, value in journal.metrics.items()}


@pytest.mark.parametrize("peer", ["pinocchio.lcaba", "pinocchio.constraintDynamics"])
@pytest.mark.parametrize(("name", "seconds"), [(FOUR_BAR, 1.0), (ROBOTIQ, 1.0), (CASSIE, 0.2)])
def test_pinocchio_moves_alike(name: str, seconds: float, peer: str) -> None:
    assert measured(Trajectory(name, peer, seconds=seconds))["difference"] < 1e-6  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [FOUR_BAR, ROBOTIQ, CASSIE])
def test_mujoco_moves_nearly_alike(name: str) -> None:
    """Its equalities give way a little; steps ten times shorter, a motion ten times nearer at the least."""
    coarse, fine = (measured(Trajectory(name, "mujoco", dt, seconds=0.3))["difference"] for dt in (1e-3, 1e-4))
    assert coarse < 1e-5
    assert fine < 0.1 * coarse


@pytest.mark.parametrize("name", ["Cassie", "Talos", "ANYmal"])
def test_center_of_mass_follows_its_path(name: str) -> None:
    """Torques of inverse dynamics are exact but for being held over a step of 1 ms."""
    off = measured(WholeBody(name, seconds=0.5))
    assert off["off"] < 3e-5
    assert off["open"] < 1e-9


def test_momentum_of_digit_is_kept() -> None:
    assert measured(Momentum(DIGIT, "dopri5"))["relative"] < 1e-9
    assert measured(Momentum(DIGIT, "rk4", seconds=0.5))["relative"] < 1e-8


def test_loops_of_digit_stay_closed() -> None:
    """Of Cassie: tests/simulation/test_simulation.py."""
    assert measured(Loops(DIGIT, 0, seconds=5.0))["open"] < 1e-6
    assert measured(Loops(DIGIT, 10, seconds=2.0))["open"] < 1e-10


@pytest.mark.parametrize(("integrator", "order"), [("euler", 1), ("rk4", 4), ("dopri5", 5)])
def test_orders(integrator: str, order: int) -> None:
    assert measured(Order(integrator, "humanoid"))["order"] == pytest.approx(order, abs=0.1)


def test_speeds_are_of_the_same_motion() -> None:
    """A rate for each way, and a ratio that goes with them."""
    found = measured(replace(Speed(ROBOTIQ), states=64, steps=3))
    best = min(found["us.mj_step"], found["us.mujoco.rollout"])
    assert found["ratio"] == pytest.approx(best / found["us.batch"])
    assert found["steps_a_second"] == pytest.approx(1e6 / found["us.batch"])


def test_minimal_coordinates_are_timed_beside_all_joints_and_stay_closed() -> None:
    found = measured(replace(Minimal(ROBOTIQ), states=16, steps=2, seconds=0.2))
    for precision, gap in (("double", 1e-13), ("single", 1e-6)):
        times = [found[f"us.{precision}.{key}"] for key in ("joints", "minimal")]
        assert found[f"ratio.{precision}"] == pytest.approx(times[0] / times[1])
        assert found[f"open.{precision}"] <= gap


def test_every_scenario_has_a_system_and_a_smaller_one() -> None:
    names = [scenario.name for scenario in SCENARIOS]
    assert len(set(names)) == len(names)
    for scenario in SCENARIOS:
        assert smaller(scenario).name == scenario.name
    with pytest.raises(KeyError):
        system("no such robot")


def test_the_page_shows_what_was_measured(tmp_path: Path) -> None:
    journal = studies.begin()
    for scenario in SCENARIOS:
        keys = ("drift", "joules", "open", "change", "relative", "order", "difference", "ratio", "threads")
        keys += ("steps_a_second", *(f"us.{backend}" for backend in page.BACKENDS))
        keys += tuple(f"{key}.{precision}" for precision in ("double", "single") for key in ("ratio", "open"))
        journal.metrics |= {f"{scenario.name}.{key}": 0.125 for key in keys}
    results = {**report.circumstances(), "seconds": 1, "quick": False, **asdict(journal)}
    text = page.write(results, tmp_path / "page.md").read_text(encoding="utf-8")
    for name in (FOUR_BAR, ROBOTIQ, CASSIE, DIGIT, "Stewart platform", "humanoid"):
        assert name in text
    assert "1.2e-01" in text and "0.12×" in text and "In minimal coordinates" in text
    empty = {**results, "metrics": {}}
    assert "##" not in page.write(empty, tmp_path / "empty.md").read_text(encoding="utf-8").replace("## Notes", "")
