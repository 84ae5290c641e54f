# SPDX-License-Identifier: BSD-3-Clause
"""Divide and conquer on long chains (**lqr** Section IX-E): right, less deep, of many more operations than ABA."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.methods import method_cost
from tests.support import REPOSITORY
from tests.support.chain_scan import accelerations, links_of
from tests.support.counted import Tally

PAGE = REPOSITORY / "docs" / "internals" / "decisions" / "loops.md"
SIZES = (8, 32, 128)


def work(links: int, parallel: bool) -> tuple[int, int]:
    """Operations, and how many are one after another."""
    robot, tally = lw.zoo.serial_chain(links), Tally()
    q, v, tau = np.random.default_rng(links).normal(size=(3, links))
    chain = links_of(robot, q, v, tau, tally)
    root = tally.numbers(np.concatenate([np.zeros(3), -robot.gravity]))
    tally.operations = 0
    depth = max(x.depth for x in accelerations(chain, root, parallel))
    return tally.operations, depth


@pytest.mark.parametrize("parallel", [False, True], ids=["one by one", "scans"])
@pytest.mark.parametrize("links", [1, 2, 3, 6, 13, 30, 64])
def test_accelerations_are_those_of_aba(links: int, parallel: bool) -> None:
    robot = lw.zoo.serial_chain(links)
    q, v, tau = np.random.default_rng(links).normal(size=(3, links))
    exact = lw.ForwardDynamics(robot)(q, v, tau).acceleration
    root = np.concatenate([np.zeros(3), -robot.gravity])
    result = accelerations(links_of(robot, q, v, tau), root, parallel)
    assert np.abs(result - exact).max() <= 1e-10 * np.abs(exact).max()


def test_operations_and_depth_are_those_on_the_page() -> None:
    table = PAGE.read_text().split("<!-- scans -->")[1].split("<!-- /scans -->")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")][1:]
    printed = [[int(cell.replace(" ", "")) for cell in row] for row in rows]
    expected = []
    for links in SIZES:
        cost = method_cost(lw.zoo.serial_chain(links), "aba")
        assert cost is not None
        expected.append([links, cost.total, *work(links, False), *work(links, True)])
    assert printed == expected


def test_depth_grows_with_the_logarithm_of_the_links() -> None:
    depths = [work(links, True)[1] for links in SIZES]
    further = np.diff(depths) / np.diff(np.log2(SIZES))
    assert further.max() <= 1.1 * further.min()
