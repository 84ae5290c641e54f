# SPDX-License-Identifier: BSD-3-Clause
"""Options of a step with contacts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from linkwork.contact.thresholds import LEAST_TIME_CONSTANT
from linkwork.dynamics.iterations import SolverSettings
from linkwork.errors import InputError
from linkwork.inputs import ContactSolver, ContactStiffness, TimeConstant, above_zero
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.contacts import MeshKind


@dataclass(frozen=True)
class ContactOptions:
    """Options of steps with contacts: arguments of `ContactStep`, checked."""

    dt: float
    solver: ContactSolver
    end: SolverSettings
    """When iterations end."""
    limits: bool
    joint_friction: bool
    passive: bool
    time_constant: TimeConstant
    meshes: MeshKind
    strict: bool
    contact: ContactStiffness = "hard"
    by_slots: bool = False
    """Whether ``newton`` has all slots of all pairs, as straight-line programs, GPUs and derivatives do."""

    def arguments(self) -> dict[str, Any]:
        """As keywords of `ContactStep`."""
        own = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in ("end", "by_slots")}
        return {**own, "tolerance": self.end.tolerance, "max_iterations": self.end.max_iterations}


def penetration_time(time_constant: TimeConstant, dt: float) -> float:
    """Seconds in which penetration is removed under steps of the time ``dt``; None: it stays."""
    if time_constant is None:
        return UNBOUNDED
    if isinstance(time_constant, str) and time_constant == "auto":
        return max(LEAST_TIME_CONSTANT, 2 * dt)
    time = above_zero(time_constant, "time_constant")
    if time < dt:
        raise InputError(f"time_constant is {time:g} s: penetration cannot be removed in less than a step ({dt:g} s)")
    return time
