# SPDX-License-Identifier: BSD-3-Clause
"""Which contact pairs a simulation can use: those whose contact points can be found on this machine.

Pairs without kernel code need coal, and meshes their files (`contact.coal`). A robot from a file may have some beside
others that need neither; it then moves without them, and one warning says so.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import TypeVar

import numpy as np

from linkwork.errors import ModelWarning
from linkwork.inputs import ContactLaw, outer_level
from linkwork.model.checks import check_robot
from linkwork.model.contacts import ContactPair
from linkwork.model.model import Model
from linkwork.model.shapes import Mesh
from linkwork.plans.contacts import GIVEN, planned_pairs

AnyModel = TypeVar("AnyModel", bound=Model)


def with_usable_contacts(robot: AnyModel, contact: ContactLaw) -> AnyModel:
    """The robot without the contact pairs whose points cannot be found here; a `ModelWarning` says how many.

    With ``contact=True`` all pairs stay, and the first of these is an error where its points are needed.

    Args:
        robot: The mechanism.
        contact: The argument ``contact`` of the simulation.
    """
    check_robot(robot)
    if contact in (True, False) or not robot.contacts:
        return robot
    pairs = [robot.contacts[k] for k in np.flatnonzero(planned_pairs(robot.contacts, "auto").code == GIVEN).tolist()]
    if not pairs:
        return robot
    if find_spec("coal") is None:
        lost, why = pairs, "they need coal, pip install 'linkwork[collide]'"
    else:
        lost, why = [pair for pair in pairs if _no_triangles(pair)], "files of their meshes were not found"
    if not lost:
        return robot
    warnings.warn(
        f"{len(lost)} of the {len(robot.contacts)} contact pairs of '{robot.name}' are left out, {_some(lost)}: {why}; "
        "contact=True makes this an error, contact=False leaves out all",
        ModelWarning,
        stacklevel=outer_level(),
    )
    names = {pair.name for pair in lost}
    return replace(robot, contacts=tuple(pair for pair in robot.contacts if pair.name not in names))


def _no_triangles(pair: ContactPair) -> bool:
    solids = (pair.first.solid, pair.second.solid)
    return any(isinstance(solid, Mesh) and not solid.is_found for solid in solids)


def _some(pairs: Sequence[ContactPair]) -> str:
    """The first of some pairs by name."""
    words = ", ".join(f"'{pair.name}'" for pair in pairs[:2])
    return words if len(pairs) <= 2 else f"{words} and {len(pairs) - 2} more"
