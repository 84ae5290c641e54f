# SPDX-License-Identifier: BSD-3-Clause
"""Random states for tests, and the measure by which results are compared."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from linkwork.mechanism import Mechanism

Floats = npt.NDArray[np.float64]


class State(NamedTuple):
    """Numbers of one state, or of a batch of them."""

    q: Floats
    v: Floats
    a: Floats
    tau: Floats


def random_state(robot: Mechanism, seed: int, *lead: int) -> State:
    """A state with velocities, accelerations and torques of about one; ``lead`` are batch axes."""
    rng = np.random.default_rng([seed, 20240501])
    count = int(np.prod(lead, dtype=int))
    q = np.array([robot.random(rng) for _ in range(count)]).reshape(*lead, robot.nq)
    v, a, tau = rng.normal(size=(3, *lead, robot.nv))
    return State(q, v, a, tau)


def differences_of_step(robot: Mechanism, step: Any, q: Any, v: Any, tau: Any, h: float = 1e-6) -> Floats:
    """``(A, B)`` of a step by central differences in tangent spaces, ``(2 nv, 3 nv)``."""
    middle = step(q, v, tau).q
    columns = []
    for e in h * np.eye(3 * robot.nv):
        sides = []
        for sign in (1, -1):
            dq, dv, dtau = np.split(sign * e, 3)
            after = step(robot.integrate(q, dq), v + dv, tau + dtau)
            sides.append(np.concatenate([robot.difference(middle, after.q), after.v]))
        columns.append((sides[0] - sides[1]) / (2 * h))
    return np.array(columns).T


def assert_close(ours: Any, theirs: Any, rel: float, scale: float = 0.0) -> None:
    """Largest difference of two arrays, relative to the largest number of the second (or to ``scale``, if larger)."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    size = max(float(np.abs(theirs).max(initial=0.0)), scale)
    worst = float(np.abs(ours - theirs).max(initial=0.0))
    assert worst <= rel * size, f"differs by {worst / size if size else np.inf:.2e} of {size:.3g}"
