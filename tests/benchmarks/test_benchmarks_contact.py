# SPDX-License-Identifier: BSD-3-Clause
"""The study of contacts: its piles, Pinocchio's solvers at our residual, its page."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from linkwork.contact.dense import row_solver, solve_contacts
from linkwork_benchmarks import report
from linkwork_benchmarks.contact import bars, page, piles, pinocchio, scenarios, studies
from linkwork_benchmarks.runner import Settings


def test_forces_of_a_pile_carry_its_weight() -> None:
    """The sum of the normal impulses on the ground is that of all weights in a step."""
    pile = piles.pyramid(3)
    found = solve_contacts(*pile, "admm", tolerance=1e-10)
    assert found.converged
    lowest = found.impulses.reshape(-1, 3)[: 4 * 3, 2].sum()
    assert lowest == pytest.approx(6 * piles.GRAVITY * piles.DT, rel=1e-7)


def test_a_pyramid_of_ten_layers_has_four_contacts_a_face() -> None:
    """Ten cubes on the ground, forty-five on two others each."""
    pile = piles.pyramid(10)
    assert len(pile.g) == 3 * 4 * (10 + 2 * 45)
    assert np.array_equal(pile.G, pile.G.T)


@pytest.mark.parametrize("name", ["admm", "admm_tuned"])
def test_pinocchio_reaches_our_residual(name: str) -> None:
    pytest.importorskip("pinocchio")
    pile = piles.stack([1.0, 1.0, 10.0])

    def residual(f: piles.Floats) -> float:
        return float(row_solver(pile.G, pile.friction).residual(*pile, f))

    peer = pinocchio.fitted(pile, name, residual, 1e-8, 5000)
    first = peer.iterations()
    peer.call()
    assert peer.iterations() == first  # from zero forces again
    assert residual(peer.forces()) <= 1e-8


def test_the_page_has_what_was_measured(tmp_path: Path) -> None:
    pytest.importorskip("pinocchio")
    journal = studies.begin()
    scenario = scenarios.smaller(scenarios.SCENARIOS[0])
    studies.measure(scenario, Settings(rounds=1, pass_seconds=1e-4), journal)
    metrics = journal.metrics
    for solver in ("linkwork.pgs", "linkwork.admm", "pinocchio.admm", "pinocchio.pgs"):
        assert metrics[f"{scenario.name}.{solver}.residual"] <= scenarios.RESIDUAL
        assert metrics[f"{scenario.name}.{solver}.us"] > 0
    results = {**report.circumstances(), "rounds": 1, "seconds": 1, "quick": True, **asdict(journal)}
    text = page.write(results, tmp_path / "contact.md").read_text()
    assert "one box (12)" in text
    assert "Pinocchio's ADMM" in text
    assert len(bars.bars(metrics)) == len(bars.SPEEDUPS) + 3 + len(bars.MOTIONS)
