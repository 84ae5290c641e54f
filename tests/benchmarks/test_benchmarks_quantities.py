# SPDX-License-Identifier: BSD-3-Clause
"""The study of quantities: every one has its pair, results are compared before they are timed, tables follow."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pinocchio")

from linkwork_benchmarks.quantities import page, pairs, studies
from linkwork_benchmarks.quantities.scenarios import QUANTITIES, SCENARIOS, Timing, smaller
from linkwork_benchmarks.robots import ROBOTS
from linkwork_benchmarks.runner import Disagreement
from tests.support.robots import model_absent


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    if not ROBOTS["ur5"].path.is_file():
        model_absent(f"no model file {ROBOTS['ur5'].path}")
    journal = studies.begin()
    for quantity in ("mass_matrix", "frame_placement", "interpolate", "terms"):
        studies.measure(smaller(Timing("ur5", quantity)), studies.QUICK, journal)
    return {"metrics": journal.metrics}


def test_every_quantity_has_a_pair_and_is_measured_on_both_robots() -> None:
    assert set(QUANTITIES) == set(pairs.PAIRS)
    assert {(s.robot, s.quantity) for s in SCENARIOS} == {(r, q) for r in ("talos", "ur5") for q in QUANTITIES}


def test_tables_have_a_row_for_what_was_measured(results: dict[str, Any]) -> None:
    text = page.section(results)
    assert "### UR5" in text and "### Talos" not in text
    for words in ("mass matrix (`crba`)", "interpolate (`interpolate`)", "terms (`computeAllTerms`)"):
        assert words in text
    assert page.section(None) == ""


def test_what_is_slower_is_said() -> None:
    metrics = {"ur5.mass_matrix.us.pinocchio": 1.0, "ur5.mass_matrix.us.native": 2.0, "ur5.mass_matrix.us.batch": 0.1}
    (line,) = page.slower(metrics)
    assert line == "mass matrix of ur5, native: 0.50 times as fast as Pinocchio (2 and 1 µs)."


def test_results_that_differ_are_not_timed(monkeypatch: pytest.MonkeyPatch, results: dict[str, Any]) -> None:
    wrong = pairs.PAIRS["mass_matrix"]._replace(compare=lambda M: 1.001 * M)
    monkeypatch.setitem(pairs.PAIRS, "mass_matrix", wrong)
    with pytest.raises(Disagreement, match=r"ur5.mass_matrix: results differ by 1\.0e-03"):
        studies.measure(smaller(Timing("ur5", "mass_matrix")), studies.QUICK, studies.begin())
