# SPDX-License-Identifier: BSD-3-Clause
"""The study of Jacobians: results agree with Pinocchio's before they are timed, and its page."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkwork_benchmarks.derivatives import page, studies
from linkwork_benchmarks.derivatives.scenarios import SCENARIOS, Growth, HeldGrowth, smaller
from tests.support.benchmark_pages import check_page, check_that_results_survive_their_file, small_results


def test_a_small_study_makes_a_page(tmp_path: Path) -> None:
    pytest.importorskip("pinocchio")
    few = [smaller(s) for s in SCENARIOS if isinstance(s, Growth | HeldGrowth) or s.robot == "ur5"]
    results = small_results(studies, few)
    assert results["metrics"]["forward.ur5.difference"] < 1e-12
    assert results["metrics"]["inverse.ur5.nv"] == 6
    titles = ("Forward dynamics of trees", "Inverse dynamics of trees", "Growth", "Growth with constraints")
    text = check_page(page, results, tmp_path, titles, 0)
    assert "| ur5 | 6 |" in text
    assert "| weld | 16 | 6 |" in text
    assert (
        page.write(check_that_results_survive_their_file(results, tmp_path), tmp_path / "again.md").read_text() == text
    )
