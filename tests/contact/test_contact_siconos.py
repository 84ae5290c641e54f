# SPDX-License-Identifier: BSD-3-Clause
"""Friction problems of Siconos' tests, with rolling friction among them, by Newton's method on arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from linkwork.contact.dense import solve_contacts
from linkwork.contact.row_problem import RowSolution
from tests.support.siconos import Floats, FrictionProblem, friction_files, friction_problem

TOLERANCE = 1e-8
FILES = friction_files()


def solve(p: FrictionProblem, solver: str, **options: float) -> tuple[RowSolution, Floats]:
    """The solution, and its forces in the order of the file."""
    count = len(p.mu)
    size = max(p.rows, 3)
    places = [2, 0, 1, 3, 4][: p.rows]  # two tangents, the normal; in the plane the second tangent is a zero row
    at = np.array([size * c + k for c in range(count) for k in places])
    G, g = np.zeros((size * count, size * count)), np.zeros(size * count)
    G[np.ix_(at, at)], g[at] = p.W, p.q
    further = {} if p.rolling is None else {"rolling": p.rolling, "independent": True}
    solution = solve_contacts(G, g, p.mu, solver, **options, **further)  # type: ignore[arg-type]
    return solution, solution.impulses[at]


@pytest.mark.skipif(not FILES, reason="no files: set LINKWORK_VALIDATION")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_newton_solves_problems_of_siconos(path: Path) -> None:
    p = friction_problem(path)
    solution, f = solve(p, "newton")
    assert solution.converged
    assert p.residual(f) <= 2 * TOLERANCE  # the mean of a set's diagonal differs for rows of moments
    assert solution.iterations <= 60
