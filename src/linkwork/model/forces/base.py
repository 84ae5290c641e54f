# SPDX-License-Identifier: BSD-3-Clause
"""The base of all force elements: coordinates, and a force law that is recorded as a tape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from linkwork.errors import ModelError
from linkwork.inputs import shown
from linkwork.model.arrays import Floats
from linkwork.model.expressions import INPUT
from linkwork.model.functions import Tape, record
from linkwork.model.placement import Placement, PlacementLike, as_placement
from linkwork.model.recordings import pickled_state

Place = str | tuple[str, PlacementLike]
"""A body or frame, or a point of one: ``("arm", (0.1, 0, 0))``."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ForceElement:
    """The base of all force elements; see the subclasses.

    Args:
        name: Its name; by default composed of the names of bodies, frames or joints on which it acts.
        watched: Joints with one coordinate each, whose positions and velocities are further inputs of the law.
    """

    name: str = ""
    watched: tuple[str, ...] = ()
    tape: Tape = field(init=False, repr=False)
    """The law: of time, coordinates and rates, those of watched joints last."""

    @property
    def places(self) -> tuple[tuple[str, Placement], ...]:
        """Two places with a distance or a pose between them; none of an element on joints."""
        return ()

    @property
    def joints(self) -> Mapping[str, float]:
        """Joints that it acts on, with their weights in its coordinate."""
        return {}

    @property
    def sums(self) -> Sequence[Mapping[str, float]]:
        """Weighted sums of joints, one for each coordinate; none of an element between places."""
        return (self.joints,) if self.joints else ()

    @property
    def coordinates(self) -> int:
        """Coordinates that forces act along."""
        return 1

    @property
    def follows(self) -> bool:
        """Whether forces are in the axes of the second place; else of the first."""
        return False

    @property
    def timed(self) -> bool:
        """Whether the law depends on time."""
        return any(0 in node[1:] for node in self.tape.nodes if node[0] != INPUT) or 0 in self.tape.outputs

    def law(self, x: Sequence[Any], rate: Sequence[Any], time: Any) -> Sequence[Any]:
        """Forces along the coordinates.

        Args:
            x: Coordinates, then those of watched joints.
            rate: Their rates.
            time: Seconds.
        """
        raise NotImplementedError

    def energy(self, x: Floats) -> Floats | None:
        """Elastic energy, ``(...)``; None where the force has none.

        Args:
            x: Coordinates, ``(..., coordinates)``.
        """
        return None

    def renamed(self, name: str, place: Callable[[str], str], joint: Callable[[str], str]) -> Self:
        """A copy on other names.

        Args:
            name: Its new name.
            place: New name of a body or frame.
            joint: New name of a joint.
        """
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        return pickled_state(self)

    def __post_init__(self) -> None:
        if not self.name:
            self._set(name=":".join((*(place for place, _ in self.places), *self.joints)))
        n = self.coordinates + len(self.watched)
        try:
            tape = record(lambda time, *x: self.law(x[:n], x[n:], time), 1 + 2 * n)
        except ModelError as error:
            raise ModelError(f"{self}: {error}", subject=self.name) from None
        if len(tape.outputs) != self.coordinates:
            raise self._error(f"the law returns {len(tape.outputs)} numbers, needs {self.coordinates}")
        self._set(tape=tape)

    def _numbers(self, **values: Any) -> None:
        """Check that numbers are finite."""
        for name, value in values.items():
            if not np.isfinite(float(value)):
                raise self._error(f"{name} is {value}, needs a finite number")
            self._set(**{name: float(value)})

    def _error(self, message: str) -> ModelError:
        return ModelError(f"{self}: {message}", subject=self.name)

    def _set(self, **values: object) -> None:
        for key, value in values.items():
            object.__setattr__(self, key, value)

    def __str__(self) -> str:
        return f"{type(self).__name__} '{self.name}'"


def placed(place: Place) -> tuple[str, Placement]:
    """A place as the name of a body or frame, and where in it."""
    if isinstance(place, str):
        return place, as_placement((0.0, 0.0, 0.0))
    if not isinstance(place, tuple | list) or len(place) != 2 or not isinstance(place[0], str):
        raise ModelError(f"a point is given as 'body' or ('body', (x, y, z)), not as {shown(place)}")
    return place[0], as_placement(place[1])


@dataclass(frozen=True, eq=False)
class Between(ForceElement):
    """A force along the line between two points.

    Args:
        a: A body or frame, or a point of one: ``("arm", (0.1, 0, 0))``.
        b: The other.
    """

    a: Place
    b: Place

    def __post_init__(self) -> None:
        self._set(a=placed(self.a), b=placed(self.b))
        super().__post_init__()

    @property
    def places(self) -> tuple[tuple[str, Placement], ...]:
        """Both points."""
        return placed(self.a), placed(self.b)

    def renamed(self, name: str, place: Callable[[str], str], joint: Callable[[str], str]) -> Self:
        """A copy on other names.

        Args:
            name: Its new name.
            place: New name of a body or frame.
            joint: New name of a joint.
        """
        (a, at), (b, to) = self.places
        watched = tuple(joint(other) for other in self.watched)
        return replace(self, name=name, a=(place(a), at), b=(place(b), to), watched=watched)


@dataclass(frozen=True, eq=False)
class OnJoints(ForceElement):
    """A force along a joint, or along a weighted sum of joints: ``{"motor": 1, "wheel": -1}`` is a shaft between two.

    Args:
        joint: A joint with one coordinate, or weights of several by name.
    """

    joint: str | Mapping[str, float]

    def __post_init__(self) -> None:
        if not isinstance(self.joint, str):
            self._set(joint={str(name): float(weight) for name, weight in dict(self.joint).items()})
            if not self.joint or not all(np.isfinite(w) and w != 0 for w in self.joints.values()):
                raise ModelError(f"{type(self).__name__}: joint is {self.joint}; needs weights by joint, none zero")
        super().__post_init__()

    @property
    def joints(self) -> Mapping[str, float]:
        """The joints and their weights."""
        return {self.joint: 1.0} if isinstance(self.joint, str) else self.joint

    def renamed(self, name: str, place: Callable[[str], str], joint: Callable[[str], str]) -> Self:
        """A copy on other names.

        Args:
            name: Its new name.
            place: New name of a body or frame.
            joint: New name of a joint.
        """
        one = self.joint
        on = joint(one) if isinstance(one, str) else {joint(other): weight for other, weight in one.items()}
        return replace(self, name=name, joint=on, watched=tuple(joint(other) for other in self.watched))
