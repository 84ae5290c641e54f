# SPDX-License-Identifier: BSD-3-Clause
"""Contacts: pairs of shapes that may touch, with friction, restitution and compliance.

Which pairs may touch is part of the model. Each has a fixed number of contact points (slots); a point where the shapes
are apart has a gap and no force.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import isfinite

from linkwork.conversions import converted
from linkwork.errors import ModelError
from linkwork.model.placement import Placement
from linkwork.model.shapes import Ground, Solid


@converted
@dataclass(frozen=True, eq=False)
class ContactShape:
    """A solid that may touch others: on a body, or on ``"world"``.

    Args:
        name: Its name, by which pairs and contact forces are known.
        body: The moving body that it is on, or ``"world"``.
        solid: Its geometry.
        placement: Where it is in the frame of the body, in which the inertia is given, too.
    """

    name: str
    body: str
    solid: Solid
    placement: Placement = field(default_factory=Placement)

    def __post_init__(self) -> None:
        if not self.name:
            raise ModelError(f"a contact shape on body '{self.body}' has no name; give it one", subject=self.body)


@converted
@dataclass(frozen=True, eq=False)
class ContactPair:
    """Two shapes that may touch.

    The normal of a contact points from the first shape to the second; forces are those on the second.

    Args:
        first: A shape; the ground is always first.
        second: Another, on another body.
        name: Name of the pair; by default the names of both shapes with a colon between.
        friction: Coulomb's coefficient of friction.
        restitution: Newton's coefficient of restitution, 0 to 1.
        compliance: Of the normal direction, in m/N: the inverse of a stiffness; 0 is rigid.
        slots: Contact points that the pair may have; by default what its shapes need.
        margin: Distance of the shapes, in m, at which they count as touching: gaps are measured from there.
    """

    first: ContactShape
    second: ContactShape
    name: str = ""
    friction: float = 1.0
    restitution: float = 0.0
    compliance: float = 0.0
    slots: int | None = None
    margin: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.second.solid, Ground) and not isinstance(self.first.solid, Ground):
            first, second = self.second, self.first
            object.__setattr__(self, "first", first)
            object.__setattr__(self, "second", second)
        if not self.name:
            object.__setattr__(self, "name", f"{self.first.name}:{self.second.name}")
        for what, value, most in (
            ("friction", self.friction, None),
            ("restitution", self.restitution, 1.0),
            ("compliance", self.compliance, None),
        ):
            if not (isfinite(value) and value >= 0 and (most is None or value <= most)):
                bound = "must be >= 0" if most is None else f"must be between 0 and {most:g}"
                raise ModelError(f"contact '{self.name}': {what} is {value:g}, {bound}", subject=self.name)
        if not isfinite(self.margin):
            raise ModelError(f"contact '{self.name}': margin is {self.margin:g}, must be finite", subject=self.name)
        if self.slots is not None and self.slots < 1:
            raise ModelError(f"contact '{self.name}': slots is {self.slots}, must be >= 1", subject=self.name)

    @property
    def bodies(self) -> tuple[str, str]:
        """The bodies of the two shapes."""
        return self.first.body, self.second.body

    def __str__(self) -> str:
        return f"contact '{self.name}' of '{self.first.name}' and '{self.second.name}'"


def contact_shapes(contacts: Iterable[ContactPair]) -> tuple[ContactShape, ...]:
    """The shapes of pairs, each once, in the order in which they come.

    Args:
        contacts: The pairs.
    """
    return tuple(dict.fromkeys(shape for pair in contacts for shape in (pair.first, pair.second)))


def changed_shapes(
    contacts: Iterable[ContactPair], change: Callable[[ContactShape], ContactShape]
) -> tuple[ContactPair, ...]:
    """The pairs with all their shapes changed; one that is in several pairs is changed once, and stays one.

    Args:
        contacts: The pairs; they keep their names.
        change: The new shape for each.
    """
    new: dict[ContactShape, ContactShape] = {}
    found = []
    for pair in contacts:
        for shape in (pair.first, pair.second):
            if shape not in new:
                new[shape] = change(shape)
        same = object.__new__(ContactPair)  # not checked again: there may be thousands
        same.__dict__.update(pair.__dict__, first=new[pair.first], second=new[pair.second])
        found.append(same)
    return tuple(found)
