# SPDX-License-Identifier: BSD-3-Clause
"""What the reduced step reads of contacts beside `plans.contacts`: dimensions of friction, moving surfaces, adhesion,
and how soft contacts are.

Numbers are by pair, in the order of `Model.contacts`. Friction against sliding is in ``friction`` by slot, too, where
it may be an input (the parameter ``contact_friction``): kernels take the first two coefficients from there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.model.contacts import ContactPairs
from linkwork.model.model import Model
from linkwork.model.soft_contact import SoftContact
from linkwork.plans.layout import Shape

FRICTION_INTEGERS: dict[str, Shape] = {
    "contact_dim": ("ncontacts",),  # numbers of a contact force: 1, 3, 4 or 6
    "contact_moving": ("ncontacts",),  # 1 where the surface of one of its shapes moves relative to the body
    "contact_soft": ("ncontacts",),  # 1 where it is soft if a step is asked for soft contacts
}
FRICTION_FLOATS: dict[str, Shape] = {
    "pair_friction": ("ncontacts", 5),  # along t1 and t2; about n, in m; about t1 and t2, in m
    "pair_margin": ("ncontacts",),  # gaps are measured from there
    "pair_gap": ("ncontacts",),  # further distance at which adhesion acts
    "pair_adhesion": ("ncontacts",),  # force that pulls at each contact point
    "shape_surface": ("nshapes", 6),  # angular and linear velocity of its surface, at its origin and in its axes
    "soft_reference": ("ncontacts", 2),  # `SoftContact`; of rigid pairs, what is usual
    "soft_friction_reference": ("ncontacts", 2),
    "soft_impedance": ("ncontacts", 5),
    "soft_ratio": ("ncontacts",),
}


def friction_tables(model: Model) -> dict[str, Any]:
    """Arrays of `FRICTION_INTEGERS` and `FRICTION_FLOATS`, for `Layout.build`."""
    pairs = ContactPairs.of(model.contacts)
    sliding, spinning, rolling = (
        pairs.column(name).astype(float) for name in ("friction", "torsional_friction", "rolling_friction")
    )
    dim = np.select([rolling > 0, spinning > 0, sliding > 0], [6, 4, 3], 1)
    surfaces = [(*shape.surface_angular_velocity, *shape.surface_velocity) for shape in pairs.shapes]
    surface = np.array(surfaces).reshape(-1, 6)
    moving = surface.any(axis=1)
    usual = SoftContact()

    def soft(name: str, *size: int) -> Any:
        values = [getattr(one or usual, name) for one in pairs.values("soft")]
        return np.array(values, dtype=float).reshape(-1, *size)[pairs.kind]

    return {
        "contact_dim": dim,
        "contact_moving": moving[pairs.first] | moving[pairs.second],
        "contact_soft": np.array([one is not None for one in pairs.values("soft")], dtype=bool)[pairs.kind],
        "pair_friction": np.stack([sliding, sliding, spinning, rolling, rolling], axis=1),
        "pair_margin": pairs.column("margin"),
        "pair_gap": pairs.column("gap"),
        "pair_adhesion": pairs.column("adhesion"),
        "shape_surface": surface,
        "soft_reference": soft("reference", 2),
        "soft_friction_reference": soft("friction_reference", 2),
        "soft_impedance": soft("impedance", 5),
        "soft_ratio": soft("friction_ratio"),
    }
