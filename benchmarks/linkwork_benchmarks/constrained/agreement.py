# SPDX-License-Identifier: BSD-3-Clause
"""How far answers are from those that they should be."""

from __future__ import annotations

import numpy as np

import linkwork as lw
from linkwork_benchmarks.robots import Floats, States


def worst_difference(answer: Floats, wanted: Floats) -> float:
    """The largest difference of any state, relative to the largest number of that state (or to 1, if that is less)."""
    return float((np.abs(answer - wanted).max(axis=1) / np.maximum(np.abs(wanted).max(axis=1), 1.0)).max())


class Rows:
    """The rows of a mechanism at given states, to see what accelerations miss; no method's own account of it."""

    def __init__(self, robot: lw.Mechanism, states: States) -> None:
        self.J = lw.constraint_jacobian(robot, states.q)
        self.k = lw.constraint_target(robot, states.q, states.v) - lw.constraint_bias(robot, states.q, states.v)

    def missed(self, a: Floats) -> Floats:
        """``J a + dJ/dt v`` less what rows are asked for, ``(states, rows)``."""
        found: Floats = np.einsum("kij,kj->ki", self.J, a) - self.k
        return found
