# SPDX-License-Identifier: BSD-3-Clause
"""Gauss' principle by dense linear algebra: what all methods of constrained dynamics are compared with.

The problem at one state is ``M a = pull + J' lambda``, ``J a = k``; with damping, ``J a + R lambda = k``. How well a
method can know the answer depends on how stiff its rows are: a factor of ``M + J' J / R`` is known to the rounding of
``J' J / R``, which in the metric of M is `Problem.stiffness` over the damping.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

import linkwork as lw
from linkwork.mechanism import Mechanism
from linkwork.quantities.scales import scales_of
from tests.support.states import Floats

ROUNDING = float(np.finfo(np.float64).eps)

SINGULAR = 1e-10
"""Singular values of ``J M^-1/2`` below this part of the largest are zero."""


@dataclass(frozen=True)
class Problem:
    """Constrained dynamics at one state, dense."""

    robot: Mechanism
    q: Floats
    v: Floats
    tau: Floats
    frames: tuple[str, ...] = ()
    wrenches: Floats | None = None

    @cached_property
    def M(self) -> Floats:
        return lw.mass_matrix(self.robot, self.q)

    @cached_property
    def J(self) -> Floats:
        return lw.constraint_jacobian(self.robot, self.q)

    @cached_property
    def k(self) -> Floats:
        """What rows ask: ``J a = k``."""
        target = lw.constraint_target(self.robot, self.q, self.v)
        return np.asarray(target - lw.constraint_bias(self.robot, self.q, self.v))

    @cached_property
    def pull(self) -> Floats:
        """Generalized forces but those of constraints."""
        pull = self.tau - lw.bias_forces(self.robot, self.q, self.v)
        for name, wrench in zip(self.frames, () if self.wrenches is None else self.wrenches, strict=True):
            pull = pull + lw.frame_jacobian(self.robot, self.q, name).T @ wrench
        return np.asarray(pull)

    @cached_property
    def on(self) -> npt.NDArray[np.bool_]:
        """Rows of enabled constraints."""
        return np.repeat([c.enabled for c in self.robot.constraints], [c.rows for c in self.robot.constraints])

    @cached_property
    def weights(self) -> Floats:
        """What the damping of each row is a part of: the inverse inertia that it feels, times its weight."""
        return np.concatenate([np.asarray(c.compliance) for c in self.robot.constraints]) * scales_of(self.robot).rows

    @cached_property
    def free(self) -> Floats:
        """Accelerations without constraints."""
        return np.linalg.solve(self.M, self.pull)

    @cached_property
    def _scaled(self) -> tuple[Floats, Floats, Floats, Floats]:
        """``L`` of ``M = L L'``, and the parts ``u s v`` of ``W^-1/2 J L^-T``, zeros of s left out."""
        L = np.linalg.cholesky(self.M)
        scale = np.where(self.on, self.weights**-0.5, 0.0)
        u, s, v = np.linalg.svd(scale[:, None] * np.linalg.solve(L, self.J.T).T, full_matrices=False)
        kept = s > SINGULAR * s.max(initial=0.0)
        return L, u[:, kept], s[kept], v[kept]

    @property
    def rank(self) -> int:
        """How many rows are independent."""
        return len(self._scaled[2])

    @property
    def redundant(self) -> bool:
        return self.rank < int(self.on.sum())

    @property
    def stiffness(self) -> float:
        """The largest eigenvalue of ``J M^-1 J'``, rows scaled by their `weights`."""
        return float(self._scaled[2].max(initial=0.0) ** 2)

    @property
    def weakest(self) -> float:
        """The smallest one that is not zero."""
        return float(self._scaled[2].min(initial=np.inf) ** 2)

    @property
    def condition(self) -> float:
        """Of ``J M^-1 J'`` on the rows that are independent: by how much a factor of it amplifies rounding."""
        return self.stiffness / self.weakest if self.rank else 1.0

    @cached_property
    def hard(self) -> tuple[Floats, Floats]:
        """Accelerations nearest to the free ones of all that miss k by least squares; the smallest multipliers."""
        L, u, s, v = self._scaled
        scale = np.where(self.on, self.weights**-0.5, 0.0)
        y = (u.T @ (scale * (self.k - self.J @ self.free))) / s
        a = self.free + np.linalg.solve(L.T, v.T @ y)
        return a, scale * (u @ (y / s))

    @property
    def gap(self) -> float:
        """What rows miss whatever the accelerations: not zero where they contradict each other."""
        return float(np.abs(self.k - self.J @ self.hard[0])[self.on].max(initial=0.0))

    def soft(self, damping: float, start: Floats | None = None) -> tuple[Floats, Floats]:
        """With ``J a + R (lambda - start) = k``."""
        n, on = self.robot.nv, self.on
        J, R = self.J[on], damping * self.weights[on]
        k = self.k[on] if start is None else self.k[on] + R * start[on]
        found = np.linalg.solve(np.block([[self.M, -J.T], [J, np.diag(R)]]), np.concatenate([self.pull, k]))
        forces = np.zeros(self.robot.nc)
        forces[on] = found[n:]
        return found[:n], forces

    def unbalanced(self, s: lw.results.Solution) -> float:
        """The largest force of ``M a - pull - J' lambda``, as a part of the largest that adds up to nothing there."""
        assert s.multipliers is not None
        left = self.M @ s.acceleration - self.pull - self.J.T @ s.multipliers
        size = np.abs(self.M) @ np.abs(s.acceleration) + np.abs(self.J.T) @ np.abs(s.multipliers)
        return float(np.abs(left).max() / max(size.max(), np.abs(self.pull).max()))


def distance(ours: Floats, theirs: Floats, scale: float = 1.0) -> float:
    """The largest difference, relative to the largest number of the second, or to ``scale`` if that is larger."""
    return float(np.abs(ours - theirs).max(initial=0.0) / max(np.abs(theirs).max(initial=0.0), scale))


def closed_state(robot: Mechanism, q: Floats, rng: np.random.Generator) -> Problem:
    """At a pose where loops are closed, moving as they allow."""
    v, tau = rng.normal(size=(2, robot.nv))
    return Problem(robot, q, robot.project_velocity(q, v), tau)


def open_state(robot: Mechanism, rng: np.random.Generator) -> Problem:
    """Anywhere, moving anyhow: rows bind accelerations all the same."""
    q = robot.random(rng)
    v, tau = rng.normal(size=(2, robot.nv))
    return Problem(robot, q, v, tau)
