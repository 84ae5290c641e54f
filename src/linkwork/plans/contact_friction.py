# SPDX-License-Identifier: BSD-3-Clause
"""The plan of the reduced step beside `plans.contacts`: dimensions of friction, moving surfaces, adhesion, softness of
contacts.

Numbers are by pair, in the order of `Model.contacts`. Friction against sliding is in ``friction`` by slot, too, where
it may be an input (the parameter ``contact_friction``): kernels take the first two coefficients from there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.contacts import ContactPairs
from linkwork.model.model import Model
from linkwork.model.soft_contact import USUAL
from linkwork.plans.contacts import CONTACT_TREE, with_contacts
from linkwork.plans.layout import Shape
from linkwork.plans.tree import Tree, build_tree

FRICTION_INTEGERS: dict[str, Shape] = {
    "contact_dim": ("ncontacts",),  # numbers of a contact force: 1, 3, 4 or 6
    "contact_adhesive": ("ncontacts",),  # 1 where it pulls
    "contact_pyramidal": ("ncontacts",),  # 1 where the cone of a soft contact is a pyramid
    "contact_moving": ("ncontacts",),  # 1 where the surface of one of its shapes moves relative to the body
}
FRICTION_FLOATS: dict[str, Shape] = {
    "pair_friction": ("ncontacts", 5),  # along t1 and t2; about n, in m; about t1 and t2, in m; > 0 in its dimensions
    "pair_margin": ("ncontacts",),  # gaps are measured from there
    "pair_gap": ("ncontacts",),  # further distance at which adhesion acts
    "pair_adhesion": ("ncontacts",),  # force that pulls at each contact point
    "shape_surface": ("nshapes", 6),  # angular and linear velocity of its surface, at its origin and in its axes
    "soft_reference": ("ncontacts", 2),  # `SoftContact`
    "soft_friction_reference": ("ncontacts", 2),
    "soft_impedance": ("ncontacts", 5),
    "soft_ratio": ("ncontacts",),
}


FRICTION_TREE = CONTACT_TREE.extended("friction_tree", (), FRICTION_INTEGERS, FRICTION_FLOATS)
"""A mechanism without constraints, with all that is known of its contacts."""

LEAST_FRICTION = 1e-5
"""Of coefficients that are zero where others are not, as in MuJoCo: impulses are divided by them."""


def shape_inflation(pairs: ContactPairs) -> Floats:
    """(nshapes,) distance from its surface within which a shape may have forces: of margins, and of adhesion."""
    distance = pairs.column("margin") + pairs.column("gap")
    inflations = np.zeros(len(pairs.shapes))
    np.maximum.at(inflations, pairs.first, distance)
    np.maximum.at(inflations, pairs.second, distance)
    return inflations


def friction_tables(model: Model) -> dict[str, Any]:
    """Arrays of `FRICTION_INTEGERS` and `FRICTION_FLOATS`, for `Layout.build`."""
    pairs = ContactPairs.of(model.contacts)
    sliding, spinning, rolling = (
        pairs.column(name).astype(float) for name in ("friction", "torsional_friction", "rolling_friction")
    )
    dim = np.select([rolling > 0, spinning > 0, sliding > 0], [6, 4, 3], 1)
    sliding = np.where(dim > 1, np.maximum(sliding, LEAST_FRICTION), 0.0)
    spinning = np.where(dim > 3, np.maximum(spinning, LEAST_FRICTION), 0.0)
    surfaces = [(*shape.surface_angular_velocity, *shape.surface_velocity) for shape in pairs.shapes]
    surface = np.array(surfaces).reshape(-1, 6)
    moving = np.asarray(surface.any(axis=1))

    def soft(name: str, *size: int) -> Any:
        values = [getattr(one or USUAL, name) for one in pairs.values("soft")]
        return np.array(values, dtype=float).reshape(-1, *size)[pairs.kind]

    pyramidal = soft("pyramidal") > 0
    own = np.where(pyramidal[:, None], 0.0, soft("friction_reference", 2))

    return {
        "contact_dim": dim,
        "contact_adhesive": pairs.column("adhesion") > 0,
        "contact_pyramidal": pyramidal & (dim > 1),
        "contact_moving": moving[pairs.first] | moving[pairs.second],
        "pair_friction": np.stack([sliding, sliding, spinning, rolling, rolling], axis=1),
        "pair_margin": pairs.column("margin"),
        "pair_gap": pairs.column("gap"),
        "pair_adhesion": pairs.column("adhesion"),
        "shape_surface": surface,
        "soft_reference": soft("reference", 2),
        "soft_friction_reference": own,
        "soft_impedance": soft("impedance", 5),
        "soft_ratio": soft("friction_ratio"),
    }


def friction_tree(model: Model) -> Tree:
    """The arrays of a mechanism without its constraints, with all that is known of its contacts."""
    tree, bodies = build_tree(model)
    return FRICTION_TREE.build(with_contacts(model, tree, bodies, CONTACT_TREE), **friction_tables(model))
