# SPDX-License-Identifier: BSD-3-Clause
"""Random states on the constraints of a mechanism: closed loops, and velocities that keep them closed."""

from __future__ import annotations

import numpy as np

import linkwork as lw
from linkwork_benchmarks.robots import Floats, States
from linkwork_benchmarks.scenes import ASSEMBLED

SPREAD = 0.1
"""Standard deviation of joint coordinates about the assembled pose, in radians or meters."""
CLOSED = 1e-10
REGULAR = 1e-11
"""What is added to the diagonal of ``J J'``, as a part of its largest entry, so that rows may be redundant."""


def closed_states(
    robot: lw.Mechanism, count: int, distinct: int = 16, seed: int = 0, spread: float = SPREAD, speed: float = 1.0
) -> States:
    """``count`` states of which ``distinct`` differ, about the pose ``"assembled"``, with random torques."""
    rng = np.random.default_rng(seed)
    distinct = min(count, distinct)
    q = robot.integrate(robot.poses[ASSEMBLED], spread * rng.normal(size=(distinct, robot.nv)))
    v, tau = speed * rng.normal(size=(distinct, robot.nv)), 10 * rng.normal(size=(distinct, robot.nv))
    if robot.nc:
        q = _closed(robot, q)
        J = lw.constraint_jacobian(robot, q)
        for _ in range(3):  # each takes away what the regularization left
            v = v - _least(J, np.einsum("kij,kj->ki", J, v))
    repeated = np.arange(count) % distinct
    return States(q[repeated], v[repeated], tau[repeated])


def _closed(robot: lw.Mechanism, q: Floats) -> Floats:
    """Newton's iterations, all states at once; a state that does not close is that of a neighbor that does."""
    for _ in range(50):
        error = lw.constraint_error(robot, q)
        if np.abs(error).max() < CLOSED:
            break
        step = _least(lw.constraint_jacobian(robot, q), error)
        size = np.abs(step).max(axis=1, keepdims=True)
        q = robot.integrate(q, -step * np.minimum(1.0, 0.3 / np.maximum(size, 1e-12)))
    good = np.flatnonzero(np.abs(lw.constraint_error(robot, q)).max(axis=1) < CLOSED)
    if not len(good):
        raise lw.errors.AssemblyError(f"no random state of '{robot.name}' closes its loops")
    closed: Floats = q[good[np.arange(len(q)) % len(good)]]
    return closed


def _least(J: Floats, x: Floats) -> Floats:
    """The smallest velocities that give the rows ``x``, nearly."""
    A = J @ np.swapaxes(J, 1, 2)
    rows = np.arange(A.shape[1])
    A[:, rows, rows] += REGULAR * A[:, rows, rows].max(axis=1, keepdims=True)
    found: Floats = (np.swapaxes(J, 1, 2) @ np.linalg.solve(A, x[..., None]))[..., 0]
    return found
