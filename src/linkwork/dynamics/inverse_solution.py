# SPDX-License-Identifier: BSD-3-Clause
"""Results of inverse dynamics: torques, forces of constraints and contacts; and limits of motors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.dynamics.contact_forces import BearingContacts
from linkwork.dynamics.reactions import Reactions, reactions
from linkwork.errors import UnsupportedFeature
from linkwork.model.model import Model
from linkwork.model.notebook import state_tables
from linkwork.quantities.actuation import torque_limits
from linkwork.quantities.arguments import Array

ROUNDING = 8.0
"""A torque beyond its limit by less than this many units of the last digit is at the limit."""


@dataclass(frozen=True)
class InverseSolution:
    """Torques, and forces of constraints. Leading axes are those of the batch."""

    torque: Array
    """Torques of all joints, ``(..., nv)``."""
    acceleration: Array
    """The accelerations they make: those given of the independent joints, and those of the others that follow."""
    multipliers: Array
    """Forces of all constraints in a row, ``(..., nc)``; of those that do the same, the smallest."""
    robot: Model = field(repr=False)
    state: tuple[npt.ArrayLike, npt.ArrayLike] = field(repr=False, kw_only=True)
    """The configuration and the joint velocities that it is for."""
    contacts: BearingContacts | None = field(default=None, repr=False, kw_only=True)
    """Contact forces, where contacts bear load."""

    @property
    def contact_forces(self) -> Mapping[str, Array]:
        """Forces of contact points by the names of pairs, ``(..., slots, 3)`` each: along t1, t2, n, on the second
        shape of the pair, in N. Empty where no contacts bear load."""
        return {} if self.contacts is None else self.contacts.forces

    @property
    def gaps(self) -> Mapping[str, Array]:
        """Gaps of contact points by the names of pairs, ``(..., slots)`` each, in m."""
        return {} if self.contacts is None else self.contacts.gaps

    @property
    def unmet(self) -> Array:
        """Generalized forces, ``(..., nv)``, that neither motors nor contacts can supply: of contact forces within
        their cones, those leave the least. Zero, up to rounding, where the accelerations are possible."""
        return np.zeros_like(self.torque) if self.contacts is None else self.contacts.unmet

    @property
    def feasible(self) -> Any:
        """Whether torques and contact forces make the accelerations, ``(...)``: nothing is unmet."""
        return np.ones(self.torque.shape[:-1], dtype=bool)[()] if self.contacts is None else self.contacts.feasible

    @property
    def forces(self) -> Mapping[str, Array]:
        """Forces of the constraints by name, as in `Solution.forces`."""
        return {c.name: self.multipliers[..., self.robot.row_slice(c.name)] for c in self.robot.constraints}

    @property
    def reactions(self) -> Reactions:
        """Wrenches that joints and constraints transmit, by name, ``(..., 6)`` each, in the world's axes; without
        contacts and external wrenches."""
        if self.contacts is not None:
            raise UnsupportedFeature("reactions do not include contact forces: use contacts=False, or force sensors")
        return reactions(self.robot, *self.state, self.acceleration, self.multipliers)

    @property
    def beyond_limits(self) -> Mapping[str, Array]:
        """Joints whose torques exceed the limits of their motors, and the largest excess, ``(...)``: N m or N.

        Empty where limits are kept, up to rounding. Limits are those of `torque_limits` in this state.
        """
        lower, upper = torque_limits(self.robot, *self.state)
        over = np.maximum(self.torque - upper, lower - self.torque)
        over = np.where(over > ROUNDING * np.finfo(self.torque.dtype).eps * np.abs(self.torque), over, 0.0)
        result = {}
        for joint in self.robot.joints:
            most: Array = np.max(over[..., self.robot.v_slice(joint.name)], axis=-1, initial=0.0)
            if np.any(most > 0.0):
                result[joint.name] = most
        return result

    def _repr_html_(self) -> str:
        joints = {"torque": self.torque, "acceleration": self.acceleration}
        return state_tables("Inverse dynamics", self.robot, joints, {"force": self.multipliers})


def driven_dofs(robot: Model) -> npt.NDArray[np.intp]:
    """The degrees of freedom of joints with a motor, in the order of ``v``."""
    names = {a.joint for a in robot.actuators} | {j.name for j in robot.joints if j.actuated}
    at = [k for j in robot.joints if j.name in names for k in range(*robot.v_slice(j.name).indices(robot.nv))]
    return np.array(at, dtype=np.intp)
