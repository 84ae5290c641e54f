# SPDX-License-Identifier: BSD-3-Clause
"""The study of motion with contacts: every kind of scenario is measured and is on the page."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from linkwork_benchmarks import report
from linkwork_benchmarks.contact import impacts, motion_page, motions, page, physics, scenarios, studies
from linkwork_benchmarks.runner import Journal, Settings


def test_every_scenario_is_measured_and_shown(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    journal, chosen = Journal(), ("physics.spinning", "motion.ball that rolls", "impacts.first", "impacts.more")
    chosen += ("robustness.random scenes", "mujoco.ball that comes to roll")
    for scenario in scenarios.SCENARIOS:
        if scenario.name in chosen:
            studies.measure(scenarios.smaller(scenario), Settings(), journal)
    assert {name for name in chosen if not any(key.startswith(f"{name}.") for key in journal.metrics)} == set()
    results = {**report.circumstances(), "rounds": 1, "seconds": 1, "quick": True, **asdict(journal)}
    text = page.write(results, tmp_path / "contact.md").read_text()
    for title in ("## Mechanics", "## Energy of scenes", "## Violent impacts", "## Random scenes", "## Beside MuJoCo"):
        assert title in text
    assert "nan" not in text


def test_bars_of_motions_are_met_or_not() -> None:
    metrics = {"physics.slope.most": 1e-10, "physics.stack.moved": 1e-3}
    metrics |= {f"impacts.{which}.{key}": 1.0 for which in ("first", "more") for key in ("solved", "impacts")}
    metrics |= {f"impacts.{which}.iterations.median": 9.0 for which in ("first", "more")}
    assert [bar.met for bar in motion_page.motion_bars(metrics)] == [True, False, None, None, True]


def test_every_difference_from_mujoco_is_explained() -> None:
    assert set(motion_page.DIFFERENCES) == set(motions.COMPARED)
    assert {key.partition(".")[0] for _, key, _ in motion_page.FACTS} == set(physics.FACTS)


def test_impacts_are_the_same_for_a_seed() -> None:
    first, again = impacts.impact(7), impacts.impact(7)
    assert first.q.tobytes() == again.q.tobytes()
    assert first.given.tobytes() == again.given.tobytes()
    assert first.v.tobytes() != impacts.impact(8).v.tobytes()
