# SPDX-License-Identifier: BSD-3-Clause
"""Contacts: pairs of shapes that may touch, with friction, restitution and compliance.

Which pairs may touch is part of the model. Each has a fixed number of contact points (slots); a point where the shapes
are apart has a gap and no force.

Friction has up to five directions: two of sliding, one of spinning about the normal (torsional friction), two of
rolling. All of them share one cone: ``|f_t / mu|² + (m_n / mu_s)² + |m_t / mu_r|² <= f_n²`` with forces ``f`` and
torques ``m`` of a contact point, as MuJoCo's elliptic cones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import isfinite
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from linkwork.conversions import converted
from linkwork.errors import ModelError
from linkwork.model.placement import Placement
from linkwork.model.shapes import Ground, Solid
from linkwork.model.soft_contact import SoftContact

__all__ = ["ContactPair", "ContactPairs", "ContactShape", "SoftContact", "changed_shapes", "compact", "contact_shapes"]


@converted
@dataclass(frozen=True, eq=False)
class ContactShape:
    """A solid that may touch others: on a body, or on ``"world"``.

    Its surface may move relative to the body, as that of a conveyor belt, a track or a turntable: friction then drives
    touching bodies. The surface velocity at a contact point is the sum of a constant one and of that of a rotation
    about the origin of the shape; the components of both in the tangent plane count.

    Args:
        name: Its name, by which pairs and contact forces are known.
        body: The moving body that it is on, or ``"world"``.
        solid: Its geometry.
        placement: Where it is in the frame of the body, in which the inertia is given, too.
        surface_velocity: Velocity of its surface relative to the body, in m/s, in the axes of the shape.
        surface_angular_velocity: Angular velocity of its surface about the origin of the shape, in rad/s, in the axes
            of the shape.
        mocap: The mocap body that it moves with, as for `Frame`; empty: none.
        center: Center of mass, in the frame of the shape, of the part of the body that it is on. MuJoCo scales soft
            contacts by the inertia there, where fixed joints make parts one body; None: by that of the whole body.
    """

    name: str
    body: str
    solid: Solid
    placement: Placement = field(default_factory=Placement)
    surface_velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    surface_angular_velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    mocap: str = ""
    center: tuple[float, float, float] | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise ModelError(f"a contact shape on body '{self.body}' has no name; give it one", subject=self.body)
        for what in ("surface_velocity", "surface_angular_velocity"):
            if not all(isfinite(x) for x in getattr(self, what)):
                raise ModelError(
                    f"contact shape '{self.name}': {what} is {getattr(self, what)}, must be finite", subject=self.name
                )

    @property
    def has_moving_surface(self) -> bool:
        """Whether its surface moves relative to its body."""
        return any(self.surface_velocity) or any(self.surface_angular_velocity)


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
        slots: Contact points that the pair may have; by default as many as its shapes need.
        margin: Distance of the shapes, in m, at which they count as touching: gaps are measured from there.
        torsional_friction: Coefficient of friction against spinning about the normal, in m: times the normal force it
            is the largest torque.
        rolling_friction: Coefficient of friction against rolling, in m, in the same way.
        gap: Distance beyond ``margin``, in m, within which ``adhesion`` acts.
        adhesion: Force that pulls the shapes together at each contact point, in N, where they are within
            ``margin + gap``. Friction is bounded by the normal force and the adhesion together.
        soft: Softness of the contact in simulations with ``contact="soft"``; None: as is usual in MuJoCo.
    """

    first: ContactShape
    second: ContactShape
    name: str = ""
    friction: float = 1.0
    restitution: float = 0.0
    compliance: float = 0.0
    slots: int | None = None
    margin: float = 0.0
    torsional_friction: float = 0.0
    rolling_friction: float = 0.0
    gap: float = 0.0
    adhesion: float = 0.0
    soft: SoftContact | None = None

    def __post_init__(self) -> None:
        if isinstance(self.second.solid, Ground) and not isinstance(self.first.solid, Ground):
            first, second = self.second, self.first
            object.__setattr__(self, "first", first)
            object.__setattr__(self, "second", second)
        if not self.name:
            object.__setattr__(self, "name", f"{self.first.name}:{self.second.name}")
        for what in ("friction", "torsional_friction", "rolling_friction", "restitution", "compliance", "adhesion"):
            value, most = getattr(self, what), 1.0 if what == "restitution" else None
            if not (isfinite(value) and value >= 0 and (most is None or value <= most)):
                bound = "must be >= 0" if most is None else f"must be between 0 and {most:g}"
                raise ModelError(f"contact '{self.name}': {what} is {value:g}, {bound}", subject=self.name)
        for what in ("margin", "gap"):
            value = getattr(self, what)
            if not isfinite(value):
                raise ModelError(f"contact '{self.name}': {what} is {value:g}, must be finite", subject=self.name)
        if self.slots is not None and self.slots < 1:
            raise ModelError(f"contact '{self.name}': slots is {self.slots}, must be >= 1", subject=self.name)

    @property
    def bodies(self) -> tuple[str, str]:
        """The bodies of the two shapes."""
        return self.first.body, self.second.body

    @property
    def dimension(self) -> int:
        """Numbers of a contact force, as MuJoCo's ``condim``: 1 without friction, 3 with friction against sliding, 4
        with that against spinning, 6 with that against rolling."""
        if self.rolling_friction > 0:
            return 6
        if self.torsional_friction > 0:
            return 4
        return 3 if self.friction > 0 else 1

    def __str__(self) -> str:
        return f"contact '{self.name}' of '{self.first.name}' and '{self.second.name}'"


NUMBERS = tuple(one.name for one in fields(ContactPair) if one.name not in ("first", "second", "name"))
"""Fields of a pair beside its shapes and its name."""


class ContactPairs(Sequence[ContactPair]):
    """Very many pairs as arrays: a sequence whose pairs are made when they are read.

    Piles of a thousand bodies have half a million pairs, of a few different kinds.

    Args:
        shapes: The shapes, each once, in the order in which pairs have them.
        first: The first shape of each pair, by number, ``(n,)``.
        second: The second.
        numbers: Different sets of numbers of pairs, each as `NUMBERS` names them.
        kind: Which of these a pair has, ``(n,)``.
        names: Names of pairs, by number, that are not made of those of the shapes.
    """

    def __init__(
        self,
        shapes: Iterable[ContactShape],
        first: npt.ArrayLike,
        second: npt.ArrayLike,
        numbers: Iterable[tuple[Any, ...]],
        kind: npt.ArrayLike,
        names: Mapping[int, str] | None = None,
    ) -> None:
        self.shapes, self.numbers = tuple(shapes), tuple(numbers)
        self.first, self.second, self.kind = (np.array(x, dtype=np.int32) for x in (first, second, kind))
        self.names = dict(names or {})
        for array in (self.first, self.second, self.kind):
            array.flags.writeable = False

    @staticmethod
    def of(pairs: Iterable[ContactPair]) -> ContactPairs:
        """Pairs as arrays.

        Args:
            pairs: Any pairs.
        """
        if isinstance(pairs, ContactPairs):
            return pairs
        shapes: dict[ContactShape, int] = {}
        numbers: dict[tuple[Any, ...], int] = {}
        first, second, kind, names = [], [], [], {}
        for k, pair in enumerate(pairs):
            first.append(shapes.setdefault(pair.first, len(shapes)))
            second.append(shapes.setdefault(pair.second, len(shapes)))
            kind.append(numbers.setdefault(tuple([getattr(pair, name) for name in NUMBERS]), len(numbers)))
            if pair.name != f"{pair.first.name}:{pair.second.name}":
                names[k] = pair.name
        return ContactPairs(shapes, first, second, numbers, kind, names)

    def __len__(self) -> int:
        return len(self.first)

    @overload
    def __getitem__(self, k: int) -> ContactPair: ...
    @overload
    def __getitem__(self, k: slice) -> ContactPairs: ...
    def __getitem__(self, k: int | slice) -> ContactPair | ContactPairs:
        if isinstance(k, slice):
            return self.only(np.arange(len(self))[k])
        k = range(len(self))[k]
        one, other = self.shapes[self.first[k]], self.shapes[self.second[k]]
        name = self.names.get(k) or f"{one.name}:{other.name}"
        pair = object.__new__(ContactPair)  # checked when the arrays were made: there may be a million
        pair.__dict__.update(first=one, second=other, name=name, **self._named[self.kind[k]])
        return pair

    def __iter__(self) -> Iterator[ContactPair]:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        return f"<ContactPairs: {len(self)} pairs of {len(self.shapes)} shapes>"

    @cached_property
    def _named(self) -> list[dict[str, Any]]:
        return [dict(zip(NUMBERS, values, strict=True)) for values in self.numbers]

    @cached_property
    def distinct(self) -> bool:
        """Whether no two pairs are of the same shapes in the same order."""
        codes = np.sort(self.first.astype(np.int64) * len(self.shapes) + self.second)
        return not (codes[1:] == codes[:-1]).any()

    def column(self, name: str) -> npt.NDArray[Any]:
        """One number of all pairs, ``(n, ...)``.

        Args:
            name: The field of `ContactPair`.
        """
        return np.array(self.values(name))[self.kind]

    def values(self, name: str) -> list[Any]:
        """One number of each of the different sets of numbers.

        Args:
            name: The field of `ContactPair`.
        """
        return [numbers[name] for numbers in self._named]

    def only(self, kept: npt.NDArray[Any]) -> ContactPairs:
        """Those of some numbers, or where a mask is true; shapes that are in no pair any more go.

        Args:
            kept: Numbers of pairs, or a mask.
        """
        old = np.flatnonzero(kept) if kept.dtype == bool else kept
        ends = np.stack([self.first[old], self.second[old]], axis=1).ravel()
        used, at = np.unique(ends, return_index=True)
        used = used[np.argsort(at)]
        place = np.zeros(len(self.shapes), dtype=np.int32)
        place[used] = np.arange(len(used), dtype=np.int32)
        names = {k: self.names[n] for k, n in enumerate(old.tolist()) if n in self.names} if self.names else {}
        first, second = (place[x[old]] for x in (self.first, self.second))
        return ContactPairs([self.shapes[k] for k in used], first, second, self.numbers, self.kind[old], names)

    def with_shapes(self, change: Callable[[ContactShape], ContactShape]) -> ContactPairs:
        """A copy with all shapes changed; names of pairs stay.

        Args:
            change: The new shape for each.
        """
        new = [change(shape) for shape in self.shapes]
        renamed = any(a.name != b.name for a, b in zip(self.shapes, new, strict=True))
        names = {k: pair.name for k, pair in enumerate(self)} if renamed else self.names
        return ContactPairs(new, self.first, self.second, self.numbers, self.kind, names)


COMPACT = 2000
"""From so many pairs on, files and `Mechanism.with_contacts` keep them as arrays."""


def compact(pairs: Iterable[ContactPair]) -> Sequence[ContactPair]:
    """Pairs as a tuple or, where there are very many, as arrays.

    Args:
        pairs: The pairs.
    """
    if isinstance(pairs, ContactPairs):
        return pairs
    pairs_in_order = tuple(pairs)
    return pairs_in_order if len(pairs_in_order) < COMPACT else ContactPairs.of(pairs_in_order)


def contact_shapes(contacts: Iterable[ContactPair]) -> tuple[ContactShape, ...]:
    """The shapes of pairs, each once, in the order in which they come.

    Args:
        contacts: The pairs.
    """
    return ContactPairs.of(contacts).shapes


def changed_shapes(
    contacts: Iterable[ContactPair], change: Callable[[ContactShape], ContactShape]
) -> Sequence[ContactPair]:
    """The pairs with all their shapes changed; one that is in several pairs is changed once, and stays one.

    Args:
        contacts: The pairs; they keep their names.
        change: The new shape for each.
    """
    if isinstance(contacts, ContactPairs):
        return contacts.with_shapes(change)
    new: dict[ContactShape, ContactShape] = {}
    changed = []
    for pair in contacts:
        for shape in (pair.first, pair.second):
            if shape not in new:
                new[shape] = change(shape)
        same = object.__new__(ContactPair)  # not checked again: there may be thousands
        same.__dict__.update(pair.__dict__, first=new[pair.first], second=new[pair.second])
        changed.append(same)
    return tuple(changed)
