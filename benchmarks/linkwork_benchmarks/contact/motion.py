# SPDX-License-Identifier: BSD-3-Clause
"""Motion with contacts, step by step, with the accounts of its energy.

With ``T = 1/2 v' M v`` and forces that act at the end of a step, ``M (v+ - v) = dt (tau - c + J' f)``, exactly ::

    T(q, v+) - T(q, v) + 1/2 |v+ - v|²_M = dt v+' (tau - c) + dt f . u+ + dt lambda . J_l v+ + dt f_b . (s v+)

Contacts take energy, ``f . u+ <= 0`` by maximum dissipation and Signorini's law, but for those that penetrate: these
are pushed apart, ``u_n+ = -gap / time``, and gain ``f_n u_n+`` (``pushed``). Loops and limits that are violated gain
energy likewise. The rest is the integrator's: ``M`` and ``c`` are those at the start of the step.

| symbol    | meaning                                                                                             |
|-----------|-----------------------------------------------------------------------------------------------------|
| total     | kinetic, potential and elastic energy of each state                                                 |
| contacts  | work of contact forces in each step, ``dt f . u+``                                                  |
| pushed    | the positive part of it that normal forces do: what removing penetration adds                       |
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import linkwork as lw
from linkwork.contact.solution import ContactSolution
from linkwork.model.model import Model
from linkwork_benchmarks.robots import Floats

Control = Callable[[float, Floats, Floats], npt.ArrayLike]
"""Joint torques at a time and state."""


@dataclass(frozen=True)
class Motion:
    """States and what contacts did between them."""

    dt: float
    q: Floats
    """(steps + 1, nq)"""
    v: Floats
    total: Floats
    """(steps + 1,) joules"""
    contacts: Floats
    """(steps,) joules"""
    pushed: Floats
    residuals: Floats
    """(steps,) m/s"""
    converged: npt.NDArray[np.bool_]
    iterations: npt.NDArray[np.int64]
    penetration: Floats
    """(steps,) the deepest, in meters"""
    restarts: int
    """Steps that were solved from zero forces, because those of the step before did not lead to a solution."""
    last: ContactSolution

    @property
    def t(self) -> Floats:
        """Times of the states."""
        return self.dt * np.arange(len(self.q), dtype=np.float64)

    @property
    def rise(self) -> float:
        """The most by which the total energy ever exceeds what it was before, in joules."""
        return float((self.total - np.minimum.accumulate(self.total)).max())

    @property
    def gain(self) -> float:
        """The same without what removing penetration adds."""
        left = self.total[1:] - np.cumsum(self.pushed)
        left = np.concatenate([self.total[:1], left])
        return float((left - np.minimum.accumulate(left)).max())


def elastic_energy(robot: Model, q: Floats) -> Floats:
    """Of the joints' springs, ``(...)``."""
    found: Floats = np.zeros(q.shape[:-1])
    for joint in robot.joints:
        if joint.type.nq == joint.type.nv:
            stretched = q[..., robot.q_slice(joint.name)] - joint.rest
            found += 0.5 * (joint.stiffness * stretched**2).sum(axis=-1)
    return found


def move(
    step: lw.contact.ContactStep,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    steps: int,
    control: Control | None = None,
    warm: bool = True,
) -> Motion:
    """Steps one after the other, each started from the forces of the one before; again without, if that fails."""
    robot, dt = step.robot, step.dt
    now = np.array(q, dtype=np.float64), np.array(v, dtype=np.float64)
    states, found, last, restarts = [now], list[tuple[float, ...]](), None, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.errors.StateWarning)
        for k in range(steps):
            tau = None if control is None else control(k * dt, *now)
            last = step(*now, tau, start=last if warm else None)
            if warm and not last.converged:
                last, restarts = step(*now, tau), restarts + 1
            now = last.q, last.v
            work = dt * (last.forces * last.contact_velocity)
            pushed = np.maximum(work[:, 2], 0.0).sum()
            found.append(
                (work.sum(), pushed, last.residual, last.converged, last.iterations, last.gaps.min(initial=0.0))
            )
            states.append(now)
    if last is None:
        raise lw.errors.InputError(f"steps is {steps}, must be >= 1")
    qs, vs = (np.array(x) for x in zip(*states, strict=True))
    energy = lw.energy(robot, qs, vs)
    work, pushed, residuals, converged, iterations, gaps = np.array(found, dtype=np.float64).T
    return Motion(
        dt,
        qs,
        vs,
        energy.kinetic + energy.potential + elastic_energy(robot, qs),
        work,
        pushed,
        residuals,
        converged.astype(bool),
        iterations.astype(np.int64),
        -gaps,
        restarts,
        last,
    )
