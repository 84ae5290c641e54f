# SPDX-License-Identifier: BSD-3-Clause
"""Contacts of a robot: where shapes touch, and steps in time with friction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwork.names import lazy_names

if TYPE_CHECKING:
    from linkwork.contact.dense import solve_contacts
    from linkwork.contact.geometry import ContactGeometry, ContactPoints
    from linkwork.contact.row_problem import RowSolution
    from linkwork.contact.solution import ContactSolution
    from linkwork.contact.step import ContactStep
    from linkwork.dynamics.delassus import Contacts
    from linkwork.model.contacts import ContactPair, ContactShape
    from linkwork.model.soft_contact import SoftConstraint, SoftContact
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "linkwork.contact.dense": ("solve_contacts",),
            "linkwork.contact.row_problem": ("RowSolution",),
            "linkwork.contact.geometry": ("ContactGeometry", "ContactPoints"),
            "linkwork.contact.solution": ("ContactSolution",),
            "linkwork.contact.step": ("ContactStep",),
            "linkwork.dynamics.delassus": ("Contacts",),
            "linkwork.model.contacts": ("ContactPair", "ContactShape"),
            "linkwork.model.soft_contact": ("SoftConstraint", "SoftContact"),
        },
    )


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "ContactGeometry",
    "ContactPair",
    "ContactPoints",
    "ContactShape",
    "ContactSolution",
    "ContactStep",
    "Contacts",
    "RowSolution",
    "SoftConstraint",
    "SoftContact",
    "solve_contacts",
]
