# SPDX-License-Identifier: BSD-3-Clause
"""Tendons: lengths that are sums of joint coordinates (fixed), or of distances between sites (spatial)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np

from linkwork.conversions import converted, converted_but
from linkwork.errors import ModelError
from linkwork.inputs import items
from linkwork.model.arrays import numbers


@converted
@dataclass(frozen=True, eq=False)
class Branch:
    """A part of a spatial tendon's path between two pulleys.

    Args:
        sites: Frames that it passes, in order; two or more.
        divisor: Its length counts divided by this, as does its force (MJCF: ``<pulley divisor>``).
    """

    sites: tuple[str, ...]
    divisor: float = 1.0

    def __post_init__(self) -> None:
        sites = (self.sites,) if isinstance(self.sites, str) else tuple(str(name) for name in self.sites)
        object.__setattr__(self, "sites", sites)
        object.__setattr__(self, "divisor", float(self.divisor))
        if len(sites) < 2:
            raise ModelError(f"a branch of a tendon passes {list(sites)}, needs two sites or more")
        if not 0 < self.divisor < np.inf:
            raise ModelError(f"divisor of a pulley is {self.divisor}, needs a finite number > 0")

    @property
    def segments(self) -> tuple[tuple[str, str], ...]:
        """Pairs of sites with a straight line between them."""
        return tuple(pairwise(self.sites))


@converted_but("joints", "rest", "limits", "force_limits", "stop")
@dataclass(frozen=True, eq=False)
class Tendon:
    """A tendon, fixed or spatial (MuJoCo's words).

    The length of a **fixed** tendon is a weighted sum of joint coordinates; that of a **spatial** one is the length of
    a path of straight lines through sites. ``Tendon("pair", joints={"left": 0.5, "right": 0.5})``,
    ``Tendon("cable", path=("anchor", "guide", "tip"))``.

    Springs and dampers of tendons act in simulations, and limits as soft stops. Dry friction is kept, and does not act.

    Args:
        name: Its name.
        joints: Coefficients by joint, of a fixed tendon; each joint has one degree of freedom.
        path: Of a spatial tendon: frames in order, or branches between pulleys.
        stiffness: Of a spring, in N/m: ``k (lower - length)`` below the range ``rest``, ``k (upper - length)`` above.
        damping: Of a damper, in N s/m.
        rest: Range of lengths in which the spring is slack.
        limits: Of its length; infinite where there are none.
        friction: Dry friction.
        offset: Added to its length.
        force_limits: Of the sum of forces of all actuators that pull it: these are scaled down together.
        stop: Stiffness and damping that act beyond the limits; zero: simulations choose them, as for limits of joints.
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

    def __post_init__(self) -> None:
        given = (
            (self.path,)
            if isinstance(self.path, str)
            else items(self.path, f"tendon '{self.name}': path", "names of frames")
        )
        plain = [place for place in given if not isinstance(place, Branch)]
        if plain and len(plain) < len(given):
            raise self._error("path has frames and branches; give all frames of a branch in the branch")
        branches = (Branch(tuple(str(place) for place in plain)),) if plain else given
        if not isinstance(self.joints, Mapping):
            raise self._error(f"joints is {self.joints!r}, needs coefficients by joint, such as {{'knee': 0.5}}")
        self._set(joints={str(name): self._numbers(c, "coefficient", ()) for name, c in self.joints.items()})
        self._set(path=branches)
        if bool(self.joints) == bool(branches):
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
            raise self._error(f"rest is {self.rest}, where a spring never acts")

    @property
    def branches(self) -> tuple[Branch, ...]:
        """The path of a spatial tendon; none of a fixed one."""
        return tuple(branch for branch in self.path if isinstance(branch, Branch))

    @property
    def is_spatial(self) -> bool:
        """Whether it passes sites."""
        return bool(self.path)

    @property
    def is_passive(self) -> bool:
        """Whether it has a spring or a damper, or a stop."""
        return bool(self.stiffness or self.damping or any(self.stop))

    @property
    def is_limited(self) -> bool:
        """Whether its length has a limit."""
        return bool(np.isfinite(self.limits).any())

    @property
    def sites(self) -> tuple[str, ...]:
        """Frames of the path, each once."""
        return tuple(dict.fromkeys(site for branch in self.branches for site in branch.sites))

    def renamed(self, name: str, place: Callable[[str], str], joint: Callable[[str], str]) -> Self:
        """The same tendon on other names.

        Args:
            name: Its new name.
            place: New name of a frame.
            joint: New name of a joint.
        """
        path = tuple(Branch(tuple(place(site) for site in b.sites), b.divisor) for b in self.branches)
        return replace(self, name=name, path=path, joints={joint(n): c for n, c in self.joints.items()})

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
    """The same tendons without springs and dampers."""
    return tuple(replace(tendon, stiffness=0.0, damping=0.0) for tendon in tendons)
