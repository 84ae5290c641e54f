# SPDX-License-Identifier: BSD-3-Clause
"""The base of all constraints: a name, rows, compliance, and gains of Baumgarte stabilization."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypedDict

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.arrays import Floats, frozen, numbers
from linkwork.model.functions import Tape
from linkwork.model.placement import Placement
from linkwork.model.recordings import pickled_state
from linkwork.model.soft_contact import SoftConstraint

WORLD = "world"


@dataclass(frozen=True, eq=False)
class Renaming:
    """New names of the bodies, frames and joints of a constraint, where its model becomes a part of another.

    Args:
        place: New name of a body or frame.
        joint: New name of a joint.
        tendon: New name of a tendon.
        world: Body that the world becomes.
        world_at: Where the world stands in the frame of that body.
        prefix: Put before the constraint's own name.
    """

    place: Callable[[str], str]
    joint: Callable[[str], str]
    tendon: Callable[[str], str]
    world: str = WORLD
    world_at: Placement = field(default_factory=Placement)
    prefix: str = ""

    def place_or_world(self, name: str) -> str:
        """New name of a body or frame, or of the world."""
        return self.world if name == WORLD else self.place(name)


class ConstraintOptions(TypedDict, total=False):
    """Keywords that every constraint takes; see `Constraint`."""

    name: str
    compliance: float | Sequence[float] | Floats
    enabled: bool
    time_constant: float | None
    gains: tuple[float, float] | None
    soft: SoftConstraint | None
    exact: bool | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Constraint:
    """The base of all constraints; see the subclasses.

    Args:
        name: Its name; by default composed of the names of bodies, frames or joints that it constrains.
        compliance: Scales the regularization of rows in proximal and soft methods: one number, or one per row.
        enabled: Whether it acts. A disabled constraint keeps its rows.
        time_constant: Of Baumgarte stabilization, in seconds: errors decay with it, critically damped.
        gains: ``(kp, kd)`` of Baumgarte stabilization instead: rows accelerate by ``-kp error - kd rate``.
        soft: Softness where it is not exact; by default as MuJoCo's usual ones.
        exact: Whether it holds exactly in steps with contacts, or gives way as ``soft`` says; by default it does, but
            where contacts are soft. Constraints that follow functions of time always do.
    """

    name: str = ""
    compliance: float | Sequence[float] | Floats = 1.0
    enabled: bool = True
    time_constant: float | None = None
    gains: tuple[float, float] | None = None
    soft: SoftConstraint | None = None
    exact: bool | None = None

    def is_exact(self, soft: bool) -> bool:
        """Whether it holds exactly in steps with contacts.

        Args:
            soft: Whether contacts are soft.
        """
        return self.motion is not None or (not soft if self.exact is None else self.exact)

    @property
    def motion(self) -> Tape | None:
        """Targets of its rows as functions of time; None where these do not depend on it."""
        return None

    def held(self, time: float) -> Constraint:
        """A copy with its motion fixed at a time; itself, where it does not depend on time.

        Args:
            time: Seconds.
        """
        return self

    @property
    def rows(self) -> int:
        """Number of scalar constraints."""
        raise NotImplementedError

    @property
    def blocks(self) -> tuple[int, ...]:
        """Lengths of groups of successive rows that have the same unit and are scaled together."""
        return (1,) * self.rows

    @property
    def places(self) -> tuple[str, ...]:
        """Bodies or frames that it constrains."""
        return ()

    @property
    def joints(self) -> tuple[str, ...]:
        """Joints whose coordinates it constrains."""
        return ()

    @property
    def holonomic(self) -> tuple[bool, ...]:
        """For each row, whether it constrains positions; otherwise velocities alone."""
        return (True,) * self.rows

    def __getstate__(self) -> dict[str, Any]:
        return pickled_state(self)

    def renamed(self, names: Renaming) -> Self:
        """A copy on other names.

        Args:
            names: New names of bodies, frames and joints.
        """
        return replace(self, name=names.prefix + self.name, **self._renamed_fields(names))

    def _renamed_fields(self, names: Renaming) -> dict[str, Any]:
        """Fields that hold names, renamed."""
        raise NotImplementedError

    def _settle(self) -> None:
        """Check and complete the fields that all constraints have."""
        if not self.name:
            self._set(name=":".join((*self.places, *self.joints)) or type(self).__name__)
        compliance = numbers(self.compliance, f"{self}: compliance")
        if compliance.ndim == 0:
            compliance = np.full(self.rows, float(compliance))
        if compliance.shape != (self.rows,):
            raise self._error(f"compliance has {compliance.size} numbers, needs one or {self.rows}")
        if not (np.isfinite(compliance).all() and (compliance > 0).all()):
            raise self._error(f"compliance must be finite and > 0, not {compliance.tolist()}")
        if self.exact is False and self.motion is not None:
            raise self._error("exact is False; a constraint that follows a function of time holds exactly")
        self._set(
            compliance=frozen(compliance), gains=self._baumgarte(), time_constant=None, enabled=bool(self.enabled)
        )

    def _baumgarte(self) -> tuple[float, float]:
        """The gains ``(kp, kd)``, from a time constant where that was given."""
        gains = None if self.gains is None else numbers(self.gains, f"{self}: gains").ravel()
        if gains is not None and gains.any() and self.time_constant is not None:
            raise self._error("give a time constant or gains, not both")
        if self.time_constant is not None:
            T = float(self.time_constant)
            if not (T > 0 and 0 < T * T < np.inf):
                raise self._error(f"time constant must be finite and > 0, not {T}")
            return 1 / T**2, 2 / T
        if gains is None:
            return 0.0, 0.0
        if gains.size != 2 or not (np.isfinite(gains).all() and (gains >= 0).all()):
            raise self._error(f"gains must be (kp, kd), both finite and >= 0, not {self.gains}")
        return float(gains[0]), float(gains[1])

    def _error(self, message: str) -> ModelError:
        return ModelError(f"{self}: {message}", subject=self.name)

    def _set(self, **values: object) -> None:
        for key, value in values.items():
            object.__setattr__(self, key, value)

    def __str__(self) -> str:
        return f"{type(self).__name__} '{self.name}'"
