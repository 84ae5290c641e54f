# SPDX-License-Identifier: BSD-3-Clause
"""Damped inverses with the smallest dampings on redundant rows: the forces that they mean are as exact as they can be.

Forces ``(D + r)^-1 a`` have a part in the null space of ``J'`` that acts on nothing and is ``1 / r`` times what of
``a`` no motion makes. Where ``a`` is a motion's, that part is rounding alone, and ``J'`` times forces is exact to
rounding. Where it is not, forces are of size ``1 / r``, and no double-precision forces have ``J'`` times them closer
than this size times ``eps``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.delassus import Delassus
from linkwork.mechanism import Mechanism
from tests.support.states import Floats

DAMPING = 1e-8
EPS = float(np.finfo(np.float64).eps)

redundant = pytest.mark.parametrize(
    "make",
    [lambda: lw.zoo.stack(3), lw.zoo.four_bar, lambda: lw.zoo.chain_of_loops(3), lw.zoo.jansen],
    ids=["boxes on four points each", "a four-bar", "loops closed by welds", "Jansen's leg"],
)


class Rows:
    """Rows of a mechanism by singular values of ``J M^-1/2``, where what redundant rows add is left out."""

    def __init__(self, robot: Mechanism) -> None:
        self.q = next(iter(robot.poses.values()))
        self.J = lw.constraint_jacobian(robot, self.q)
        self.L = np.linalg.cholesky(lw.mass_matrix(robot, self.q))
        U, S, Vt = np.linalg.svd(np.linalg.solve(self.L, self.J.T).T, full_matrices=False)
        rank = int(np.sum(1e-9 * S[0] < S))
        self.U, self.S, self.Vt = U[:, :rank], S[:rank], Vt[:rank]

    def torques(self, a: Floats) -> Floats:
        """``J' (D + r)^-1 a``."""
        return np.asarray(self.L @ (self.Vt.T @ (self.S / (self.S**2 + DAMPING) * (self.U.T @ a))))


@redundant
def test_forces_of_motions_are_exact(make: Callable[[], Mechanism]) -> None:
    robot = make()
    rows = Rows(robot)
    a = rows.J @ np.random.default_rng(3).normal(size=robot.nv)
    exact = rows.torques(a)
    forces = Delassus(robot).at(rows.q).damped_inverse(DAMPING) @ a
    assert np.abs(rows.J.T @ forces - exact).max() <= 1e-11 * np.abs(exact).max()


@redundant
def test_forces_of_what_rows_contradict_are_exact_to_their_rounding(make: Callable[[], Mechanism]) -> None:
    robot = make()
    rows = Rows(robot)
    a = np.random.default_rng(4).normal(size=robot.nc)
    forces = Delassus(robot).at(rows.q).damped_inverse(DAMPING, refine=6) @ a
    rounding = EPS * (np.abs(rows.J.T) @ np.abs(forces)).max()
    assert np.abs(rows.J.T @ forces - rows.torques(a)).max() <= 4.0 * rounding + 1e-11 * np.abs(rows.torques(a)).max()
