# SPDX-License-Identifier: BSD-3-Clause
"""Inverse dynamics with contacts: loaded pairs, parameters of the kernel, and its results.

The kernel is `kernels.contact.forces`; `InverseDynamics` with ``contacts`` runs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from linkwork.closure.clusters import dof_names, ties_of
from linkwork.errors import InputError
from linkwork.kernels.thresholds import NO_CONTACT
from linkwork.model.model import Model
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.contact_forces import contact_forces_tree
from linkwork.plans.contacts import contact_slots
from linkwork.plans.tree import Tree
from linkwork.quantities.actuation import torque_limits
from linkwork.quantities.arguments import Array
from linkwork.quantities.scales import joint_units, scales_of

PIVOT = 2
"""Where the last output of `kernels.contact.forces` has the least pivot."""

TOLERANCE, SINGLE_TOLERANCE = 1e-11, 1e-5
"""Residual at which iterations end, relative to the required torques; in single precision."""
MAX_ITERATIONS = 60
PROXIMAL, SINGLE_PROXIMAL = (1e-3, 1e-8, 1e-5), (1e-2, 1e-4, 1e-3)
"""Weight of the proximal term: the initial one, the least, and the one at which the residual of contacts is final."""
ROUNDING, SINGLE_ROUNDING = 1e-14, 1e-6
MAX_GAP_AT = 5
"""Where the settings have it:"""
MAX_GAP = 1e-3
"""Contacts that are open by more than this part of the robot's size carry no load."""


def bearing_robot(robot: Model, contacts: bool | str | Sequence[str]) -> Model:
    """The robot with those of its contacts that are to bear load: all, none, or those of some names."""
    if contacts is True:
        if not robot.contacts:
            raise InputError(f"robot '{robot.name}' has no contacts; choose pairs with robot.with_contacts(...)")
        return robot
    if contacts is False:
        return replace(robot, contacts=()) if robot.contacts else robot
    names = [contacts] if isinstance(contacts, str) else contacts
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise InputError(f"contacts is {contacts!r}; needs True, False or names of pairs")
    known = {pair.name: pair for pair in robot.contacts}
    for name in names:
        if name not in known:
            raise InputError(f"robot '{robot.name}' has no contact '{name}'; there are {', '.join(known) or 'none'}")
    return replace(robot, contacts=tuple(known[name] for name in dict.fromkeys(names)))


def bearing_tree(robot: Model, frames: Sequence[str], driven: Sequence[int], limits: bool) -> Tree:
    """The arrays of a robot for `kernels.contact.forces`; with ``limits``, torques that have some are chosen."""
    limited: set[int] = set()
    if limits:
        bounds = torque_limits(robot, robot.neutral(), np.zeros(robot.nv))
        limited = set(driven) & set(np.flatnonzero(np.isfinite(bounds).any(axis=0)).tolist())
    return contact_forces_tree(robot, frames, ties_of(robot), set(driven), limited)


def with_torque_limits(settings: Array, tree: Tree, limits: tuple[Array, Array] | None) -> Array:
    """The input ``settings`` with the least and largest of the torques that are chosen, ``(..., nsettings)``."""
    none = np.full(tree.nv, UNBOUNDED)
    bounds = np.stack((-none, none) if limits is None else limits, axis=-1)[..., tree.chosen_dof, :]
    flat = np.clip(bounds, -UNBOUNDED, UNBOUNDED).reshape(*bounds.shape[:-2], -1).astype(settings.dtype)
    return np.concatenate([np.broadcast_to(settings, (*flat.shape[:-1], len(settings))), flat], axis=-1)


def bearing_settings(robot: Model, max_gap: float | None, dtype: str) -> Array:
    """The input ``settings`` of `kernels.contact.forces`, without limits of torques."""
    length, single = scales_of(robot).length, dtype == "float32"
    most = MAX_GAP * length if max_gap is None else max_gap
    values = [
        SINGLE_TOLERANCE if single else TOLERANCE,
        MAX_ITERATIONS,
        *(SINGLE_PROXIMAL if single else PROXIMAL),
        min(most, 0.5 * NO_CONTACT),
        length,
        SINGLE_ROUNDING if single else ROUNDING,
    ]
    return np.array(values, dtype=dtype)


@dataclass(frozen=True)
class BearingOptions:
    """Contacts that bear load, and how."""

    robot: Model
    """The mechanism with the contact pairs that bear load alone."""
    max_gap: float | None
    """Contact points that are open by more carry no load, in m; None: a thousandth of the robot's size."""
    limits: bool
    """Whether torques stay within `torque_limits`."""

    @property
    def limits_vary(self) -> bool:
        """Whether torque limits change with the state, as those of servos and of spatial tendons do."""
        robot = self.robot
        return self.limits and any(
            any((*a.gain[1:], *a.bias[1:])) or (a.tendon and robot.tendon(a.tendon).is_spatial) for a in robot.actuators
        )


@dataclass(frozen=True, eq=False)
class BearingContacts:
    """Contact forces that balance given motions, and the residual forces that contacts cannot provide. Leading axes are
    batch axes.
    """

    robot: Model = field(repr=False)
    """The robot with the contacts that bear load."""
    force: Array
    """``(..., nslots, 3)``"""
    gap: Array
    """``(..., nslots)``"""
    unmet: Array
    """``(..., nv)``"""
    balance: Array = field(repr=False)
    """The largest of ``unmet`` and of the required torques, without units of length, ``(..., 2)``."""
    allowed: float = field(repr=False)
    """Residual at which iterations end, relative to the required torques."""

    @property
    def forces(self) -> Mapping[str, Array]:
        """Forces by the names of pairs, ``(..., slots, 3)`` each."""
        return {name: self.force[..., at, :] for name, at in contact_slots(self.robot).items()}

    @property
    def gaps(self) -> Mapping[str, Array]:
        """Gaps by the names of pairs, ``(..., slots)`` each."""
        return {name: self.gap[..., at] for name, at in contact_slots(self.robot).items()}

    @property
    def feasible(self) -> Any:
        """Whether motors and contacts supply all forces, ``(...)``."""
        inside = self.balance[..., 0] <= self.allowed * self.balance[..., 1]
        return bool(inside) if inside.ndim == 0 else inside


def missing(robot: Model, contacts: BearingContacts, settings: Array) -> str:
    """In words, the largest generalized force that is missing, and how many contact points touch there."""
    size = np.abs(contacts.unmet * joint_units(robot)) * np.where(contacts.feasible, 0.0, 1.0)[..., None]
    at = tuple(int(k) for k in np.unravel_index(int(np.argmax(size)), size.shape))
    closed = contacts.gap[at[:-1]] <= settings[MAX_GAP_AT]
    state = f" in state {at[:-1]}" if len(at) > 1 else ""
    return (
        f"{contacts.unmet[at]:.3g} N or N m along {dof_names(robot)[at[-1]]} are missing{state}, where "
        f"{int(closed.sum())} of {closed.size} contact points touch"
    )
