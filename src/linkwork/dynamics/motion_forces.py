# SPDX-License-Identifier: BSD-3-Clause
"""Accelerations, reactions and powers of a recorded motion, computed again at its states by forward dynamics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from linkwork.dynamics.forward import ForwardDynamics
from linkwork.dynamics.reactions import Reactions, reactions
from linkwork.errors import UnsupportedFeature
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
        """Joint torques by what makes them, ``(k, ..., nv)`` each."""
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
        """Joint accelerations, ``(k, ..., nv)``, and forces of constraints, ``(k, ..., nc)``."""
        a, multipliers = np.zeros_like(self.v), np.zeros((*self.v.shape[:-1], self.robot.nc))
        frames, torque = tuple(self.wrenches), np.sum(list(self.torques().values()), axis=0)
        pushed = np.stack([self.wrenches[name] for name in frames], axis=-2) if frames else None
        for span, robot in self._phases():
            timed = is_timed(robot)
            fd = ForwardDynamics(robot, wrenches=frames, parameters=["time"] if timed else [])
            clock: dict[str, Any] = {"time": self._time[span][..., None]} if timed else {}
            solution = fd(self.q[span], self.v[span], torque[span], pushed, **clock)
            a[span] = solution.acceleration
            if solution.multipliers is not None:
                multipliers[span] = solution.multipliers
        return a, multipliers

    def reactions(self) -> Reactions:
        """Wrenches of joints and constraints."""
        robot = self.robot
        a, multipliers = self.solution
        return reactions(robot, self.q, self.v, a, multipliers, wrenches=self.wrenches, time=self._time)

    def powers(self) -> dict[str, Array]:
        """Powers by what does the work, ``(k, ...)`` each, in watts; of each drive under its own name."""
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
            "accelerations and reactions of a run with contacts are not computed again: use contact=False, or force "
            "sensors (lw.sensors)"
        )
