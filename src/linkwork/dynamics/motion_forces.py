# SPDX-License-Identifier: BSD-3-Clause
"""Accelerations, reactions and powers of a recorded motion, computed again at its states by forward dynamics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise

import numpy as np

from linkwork.dynamics.forward import ForwardDynamics
from linkwork.dynamics.reactions import Reactions, reactions
from linkwork.errors import NotFinite, UnsupportedFeature
from linkwork.model.model import Model
from linkwork.quantities.actuation import element_forces, gravity_compensation, tendon_forces
from linkwork.quantities.arguments import Array
from linkwork.quantities.functions import passive_forces
from linkwork.quantities.motions import has_motions, is_timed, row_motions


@dataclass(frozen=True, eq=False)
class MotionForces:
    """Forces at the states of a motion.

    Args:
        robot: The mechanism.
        times: Seconds, ``(k,)``.
        q: Configurations, ``(k, ..., nq)``.
        v: Joint velocities, ``(k, ..., nv)``.
        tau: Torques that were given, and those of actuators, ``(k, ..., nv)``.
        wrenches: Constant external wrenches by frame, in the frame's axes.
        passive: Whether springs, dampers, tendons and force elements act.
        enabled: Which constraints held, ``(k, constraints)``; None: those of the robot.
    """

    robot: Model
    times: Array
    q: Array
    v: Array
    tau: Array
    wrenches: dict[str, Array]
    passive: bool
    enabled: Array | None = None

    def _phases(self) -> list[tuple[slice, Model]]:
        """Spans of states between which no constraint is switched, and the robot of each."""
        if self.enabled is None:
            return [(slice(None), self.robot)]
        names = [c.name for c in self.robot.constraints]
        cuts = np.flatnonzero((self.enabled[1:] != self.enabled[:-1]).any(axis=-1)) + 1
        spans = [slice(int(a), int(b)) for a, b in pairwise((0, *cuts, len(self.enabled)))]
        held = (dict(zip(names, self.enabled[span.start].tolist(), strict=True)) for span in spans)
        return [(span, self.robot.switched(on)) for span, on in zip(spans, held, strict=True)]

    @property
    def _time(self) -> Array:
        """The time of each state, ``(k, ...)``."""
        lead = self.q.shape[:-1]
        return np.broadcast_to(self.times.reshape(-1, *(1,) * (len(lead) - 1)), lead)

    def torques(self) -> dict[str, Array]:
        """Joint torques by their source, ``(k, ..., nv)`` each."""
        robot, q, v = self.robot, self.q, self.v
        torques = {"motors": self.tau}
        if self.passive:
            torques["springs and dampers"] = passive_forces(robot, q, v)
            if any(tendon.is_passive for tendon in robot.tendons):
                torques["tendons"] = tendon_forces(robot, q, v)
            if robot.gravity_compensation:
                torques["gravity compensation"] = gravity_compensation(robot, q)
            if robot.forces:
                time = self._time if any(element.timed for element in robot.forces) else None
                torques["force elements"] = element_forces(robot, q, v, time=time)
        return torques

    @cached_property
    def solution(self) -> tuple[Array, Array]:
        """Joint accelerations, ``(k, ..., nv)``, and forces of constraints, ``(k, ..., nc)``; NaN where a state is not
        finite, or so large that they are not."""
        result = np.full((*self.v.shape[:-1], self.robot.nv + self.robot.nc), np.nan)
        for span, robot in self._phases():
            states = (self.q[span], self.v[span], self.tau[span], self._time[span][..., None])
            result[span] = where_finite(partial(self._solved, robot), result.shape[-1], *states)
        return result[..., : self.robot.nv], result[..., self.robot.nv :]

    def _solved(self, robot: Model, q: Array, v: Array, tau: Array, time: Array) -> Array:
        """Accelerations and forces of states, ``(n, nv + nc)``."""
        here = replace(self, robot=robot, times=time[:, 0], q=q, v=v, tau=tau, enabled=None)
        frames, torque = tuple(self.wrenches), np.sum(list(here.torques().values()), axis=0)
        pushed = np.stack([self.wrenches[name] for name in frames], axis=-2) if frames else None
        timed = is_timed(robot)
        fd = ForwardDynamics(robot, wrenches=frames, parameters=["time"] if timed else [])
        solution = fd(q, v, torque, pushed, **({"time": time} if timed else {}))
        forces = np.zeros((len(q), robot.nc)) if solution.multipliers is None else solution.multipliers
        return np.concatenate([solution.acceleration, forces], axis=-1)

    def reactions(self) -> Reactions:
        """Wrenches of joints and constraints."""
        robot = self.robot
        a, multipliers = self.solution
        return reactions(robot, self.q, self.v, a, multipliers, wrenches=self.wrenches, time=self._time)

    def powers(self) -> dict[str, Array]:
        """Powers by their source, ``(k, ...)`` each, in watts; of each drive under its own name."""
        powers = {name: (tau * self.v).sum(axis=-1) for name, tau in self.torques().items()}
        if has_motions(self.robot):
            _, multipliers = self.solution
            rates = row_motions(self.robot, self._time)[1]
            for c in self.robot.constraints:
                if c.motion is not None:
                    rows = self.robot.row_slice(c.name)
                    powers[c.name] = (multipliers[..., rows] * rates[..., rows]).sum(axis=-1)
        return powers


def refuse_contacts(contact_state: Array | None) -> None:
    """Raise where contacts act: their forces on bodies are not among the reactions."""
    if contact_state is not None:
        raise UnsupportedFeature(
            "accelerations and reactions of a run with contacts cannot be recomputed: use contact=False, or force "
            "sensors (lw.sensors)"
        )


def where_finite(quantity: Callable[..., Array], width: int, *arrays: Array) -> Array:
    """A quantity of states, ``(..., width)``: NaN where a state is not finite, or so large that the quantity is not."""
    lead = arrays[0].shape[:-1]
    count = int(np.prod(lead, dtype=np.int64))
    rows = [x.reshape(count, x.shape[-1]) for x in arrays]
    result = np.full((count, width), np.nan)
    pending = [np.flatnonzero(np.all([np.isfinite(x).all(axis=-1) for x in rows], axis=0))]
    while pending:
        at = pending.pop()
        try:
            result[at] = quantity(*(x[at] for x in rows))
        except NotFinite:  # of one of them at least
            if len(at) > 1:
                pending += np.array_split(at, 2)
    return result.reshape(*lead, width)
