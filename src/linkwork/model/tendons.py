# SPDX-License-Identifier: BSD-3-Clause
"""Tendons: lengths that are sums of joint coordinates (fixed), or of distances between sites (spatial), around
obstacles, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np

from linkwork.conversions import converted_but
from linkwork.errors import ModelError
from linkwork.inputs import items
from linkwork.model.arrays import numbers
from linkwork.model.soft_contact import SoftConstraint
from linkwork.model.transmissions import JointWrench, SiteWrench, SliderCrank, Wrap


@converted_but("sites")
@dataclass(frozen=True, eq=False)
class Branch:
    """A part of a spatial tendon's path between two pulleys.

    Args:
        sites: Frames that it passes, in order; two or more, with obstacles (`Wrap`) between two of them.
        divisor: Its length counts divided by this, as does its force (MJCF: ``<pulley divisor>``).
    """

    sites: tuple[str | Wrap, ...]
    divisor: float = 1.0

    def __post_init__(self) -> None:
        path = (self.sites,) if isinstance(self.sites, str) else self.sites
        sites = tuple(place if isinstance(place, Wrap) else str(place) for place in path)
        object.__setattr__(self, "sites", sites)
        object.__setattr__(self, "divisor", float(self.divisor))
        if len(sites) < 2:
            raise ModelError(f"a branch of a tendon passes {list(sites)}, needs two sites or more")
        wraps = [isinstance(place, Wrap) for place in sites]
        if wraps[0] or wraps[-1] or any(a and b for a, b in pairwise(wraps)):
            raise ModelError("an obstacle of a tendon needs a site before it and one after it")
        if not 0 < self.divisor < np.inf:
            raise ModelError(f"divisor of a pulley is {self.divisor}, needs a finite number > 0")

    @property
    def segments(self) -> tuple[tuple[str, str], ...]:
        """Pairs of sites with a straight line between them."""
        return tuple((a, b) for a, b in pairwise(self.sites) if isinstance(a, str) and isinstance(b, str))

    @property
    def wraps(self) -> tuple[tuple[str, Wrap, str], ...]:
        """Obstacles, each with the sites before and after it."""
        triples = zip(self.sites, self.sites[1:], self.sites[2:], strict=False)
        return tuple((str(a), wrap, str(b)) for a, wrap, b in triples if isinstance(wrap, Wrap))

    @property
    def frames(self) -> tuple[str, ...]:
        """Frames of sites and obstacles."""
        return tuple(f for place in self.sites for f in (place.frames if isinstance(place, Wrap) else (place,)))

    def renamed(self, place: Callable[[str], str]) -> Branch:
        """A copy on other names.

        Args:
            place: New name of a frame.
        """
        sites = tuple(s.renamed(place) if isinstance(s, Wrap) else place(s) for s in self.sites)
        return Branch(sites, self.divisor)


@converted_but("joints", "path", "rest", "limits", "force_limits", "stop", "transmission")
@dataclass(frozen=True, eq=False)
class Tendon:
    """A tendon, fixed or spatial (MuJoCo's words).

    The length of a **fixed** tendon is a weighted sum of joint coordinates; that of a **spatial** one is the length of
    a path of straight lines through sites. ``Tendon("pair", joints={"left": 0.5, "right": 0.5})``,
    ``Tendon("cable", path=("anchor", "guide", "tip"))``.

    Springs and dampers of tendons act in simulations. Limits are soft stops, and exact in steps with contacts, which
    have dry friction, too.

    Args:
        name: Its name.
        joints: Coefficients by joint, of a fixed tendon; each joint has one degree of freedom.
        path: Of a spatial tendon: frames in order, or branches between pulleys.
        stiffness: Of a spring, in N/m: ``k (lower - length)`` below the range ``rest``, ``k (upper - length)`` above.
        damping: Of a damper, in N s/m.
        rest: Range of lengths in which the spring is slack.
        limits: Of its length; infinite where there are none.
        friction: Dry friction, a force along the tendon: in N, or in the unit of a fixed tendon.
        offset: Added to its length.
        force_limits: Of the sum of forces of all actuators that pull it: these are scaled down together.
        stop: Stiffness and damping that act beyond the limits; zero: simulations choose them, as for limits of joints,
            and limits are exact in steps with contacts.
        transmission: Transmission whose length it is, in place of joints and path: how an actuator acts on a site, a
            ball or free joint, or a slider-crank.
        stiffness_terms: Factors of the square and the cube of the spring's deflection.
        damping_terms: Factors of the square and the cube of the rate, in the damper.
        soft_limit: Softness of its limits in steps with soft contacts.
        soft_friction: Softness of its dry friction in steps with soft contacts.
    """

    name: str
    joints: Mapping[str, float] = field(default_factory=dict)
    path: Sequence[str] | Sequence[Branch] = ()
    stiffness: float = 0.0
    damping: float = 0.0
    rest: tuple[float, float] = (0.0, 0.0)
    limits: tuple[float, float] = (-np.inf, np.inf)
    friction: float = 0.0
    offset: float = 0.0
    force_limits: tuple[float, float] = (-np.inf, np.inf)
    stop: tuple[float, float] = (0.0, 0.0)
    transmission: SiteWrench | JointWrench | SliderCrank | None = None
    stiffness_terms: tuple[float, float] = (0.0, 0.0)
    damping_terms: tuple[float, float] = (0.0, 0.0)
    soft_limit: SoftConstraint | None = None
    soft_friction: SoftConstraint | None = None

    def __post_init__(self) -> None:
        path = (
            (self.path,)
            if isinstance(self.path, str)
            else items(self.path, f"tendon '{self.name}': path", "names of frames")
        )
        plain = [place for place in path if not isinstance(place, Branch)]
        if plain and len(plain) < len(path):
            raise self._error("path has frames and branches; give all frames of a branch in the branch")
        branches = (Branch(tuple(plain)),) if plain else path
        if not isinstance(self.joints, Mapping):
            raise self._error(f"joints is {self.joints!r}, needs coefficients by joint, such as {{'knee': 0.5}}")
        self._set(joints={str(name): self._numbers(c, "coefficient", ()) for name, c in self.joints.items()})
        self._set(path=branches)
        if sum(map(bool, (self.joints, branches, self.transmission is not None))) != 1:
            raise self._error("it needs either joints with coefficients, or a path")
        self._set(offset=self._numbers(self.offset, "offset", ()))
        if not np.isfinite([*self.joints.values(), self.offset]).all():
            raise self._error(f"coefficients are {dict(self.joints)}, offset {self.offset}; needs finite numbers")
        for what in ("stiffness", "damping", "friction"):
            x = self._numbers(getattr(self, what), what, ())
            if not 0 <= x < np.inf:
                raise self._error(f"{what} is {x}, needs a finite number >= 0")
            self._set(**{what: x})
        stiffness, damping = self._numbers(self.stop, "stop", (2,))
        if not (0 <= stiffness < np.inf and 0 <= damping < np.inf):
            raise self._error(f"stop is {self.stop}, needs two finite numbers >= 0")
        self._set(stop=(stiffness, damping))
        for what in ("rest", "limits", "force_limits"):
            low, high = self._numbers(getattr(self, what), what, (2,))
            if not low <= high:
                raise self._error(f"{what} is {low} to {high}; the first must not be greater")
            self._set(**{what: (low, high)})
        if self.stiffness and not np.isfinite(self.rest).any():
            raise self._error(f"rest is {self.rest}, a range in which the spring never acts")

    @property
    def branches(self) -> tuple[Branch, ...]:
        """The path of a spatial tendon; none of a fixed one."""
        return tuple(branch for branch in self.path if isinstance(branch, Branch))

    @property
    def is_spatial(self) -> bool:
        """Whether it is no fixed tendon, so that its moment arms change."""
        return bool(self.path) or self.transmission is not None

    @property
    def is_passive(self) -> bool:
        """Whether it has a spring or a damper, or a stop."""
        return bool(self.stiffness or self.damping or any((*self.stop, *self.stiffness_terms, *self.damping_terms)))

    @property
    def is_limited(self) -> bool:
        """Whether its length has a limit."""
        return bool(np.isfinite(self.limits).any())

    @property
    def sites(self) -> tuple[str, ...]:
        """Frames of the path, or of the transmission, each once."""
        of_transmission = () if self.transmission is None else self.transmission.frames
        return tuple(dict.fromkeys([*(f for branch in self.branches for f in branch.frames), *of_transmission]))

    @property
    def driven(self) -> tuple[str, ...]:
        """Joints that it acts on by name."""
        return (*self.joints, *(() if self.transmission is None else self.transmission.joints))

    @property
    def has_wraps(self) -> bool:
        """Whether it wraps around obstacles."""
        return any(branch.wraps for branch in self.branches)

    def renamed(self, name: str, place: Callable[[str], str], joint: Callable[[str], str]) -> Self:
        """A copy on other names.

        Args:
            name: Its new name.
            place: New name of a frame.
            joint: New name of a joint.
        """
        path = tuple(branch.renamed(place) for branch in self.branches)
        other = None if self.transmission is None else self.transmission.renamed(place, joint)
        joints = {joint(n): c for n, c in self.joints.items()}
        return replace(self, name=name, path=path, joints=joints, transmission=other)

    def _numbers(self, values: object, what: str, shape: tuple[int, ...]) -> Any:
        """A number, or as many as are needed."""
        array = numbers(values, f"tendon '{self.name}': {what}")
        if array.shape != shape:
            raise self._error(f"{what} is {values!r}, needs {'two numbers' if shape else 'a number'}")
        return array.tolist()

    def _error(self, message: str) -> ModelError:
        return ModelError(f"tendon '{self.name}': {message}", subject=self.name)

    def _set(self, **values: object) -> None:
        for key, value in values.items():
            object.__setattr__(self, key, value)

    def __str__(self) -> str:
        return f"Tendon '{self.name}'"


def without_springs(tendons: Sequence[Tendon]) -> tuple[Tendon, ...]:
    """Copies of the tendons without springs and dampers."""
    none = (0.0, 0.0)
    return tuple(
        replace(tendon, stiffness=0.0, damping=0.0, stiffness_terms=none, damping_terms=none) for tendon in tendons
    )
