# SPDX-License-Identifier: BSD-3-Clause
"""Constraints on lengths of tendons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.conversions import converted_but
from linkwork.errors import ModelError
from linkwork.inputs import plural
from linkwork.model.arrays import numbers
from linkwork.model.constraints.base import WORLD, Constraint, Renaming
from linkwork.model.tendons import Tendon


@converted_but("gains")
@dataclass(frozen=True, eq=False)
class TendonCoupling(Constraint):
    """The length of a tendon follows a polynomial of another's: ``l - l0 = c0 + c1 x + ... + c4 x^4``, ``x = m - m0``.

    MuJoCo's ``equality/tendon``, between tendons of any kind. Without a leader the tendon keeps its length: a rope that
    is always taut, over as many sites and pulleys as it has.

    Args:
        follower: Tendon that follows.
        leader: Tendon that leads; None: the follower keeps the length ``follower_origin + c0``.
        coefficients: One to five, the constant one first.
        follower_origin: Subtracted from the follower's length.
        leader_origin: Subtracted from the leader's length.
    """

    follower: Tendon
    leader: Tendon | None = None
    coefficients: Sequence[float] = (0.0, 1.0)
    follower_origin: float = 0.0
    leader_origin: float = 0.0

    def __post_init__(self) -> None:
        for tendon in (self.follower, *(() if self.leader is None else (self.leader,))):
            if not isinstance(tendon, Tendon):
                raise ModelError(f"TendonCoupling: {tendon!r} is not a Tendon")
        coefficients = tuple(numbers(self.coefficients, "TendonCoupling: coefficients").reshape(-1).tolist())
        if not 1 <= len(coefficients) <= 5:
            raise ModelError(f"TendonCoupling: {plural(len(coefficients), 'coefficient')}, needs 1 to 5")
        if self.leader is None:
            coefficients = coefficients[:1]
        self._set(
            coefficients=coefficients + (0.0,) * (5 - len(coefficients)),
            follower_origin=float(self.follower_origin),
            leader_origin=float(self.leader_origin),
        )
        if not np.isfinite([*self.coefficients, self.follower_origin, self.leader_origin]).all():
            raise ModelError("TendonCoupling: coefficients and lengths must be finite numbers")
        if not self.name:
            self._set(name=":".join(tendon.name for tendon in self.tendons))
        self._settle()

    @property
    def tendons(self) -> tuple[Tendon, ...]:
        """The follower and, if there is one, the leader."""
        return (self.follower,) if self.leader is None else (self.follower, self.leader)

    @property
    def rows(self) -> int:
        """One."""
        return 1

    @property
    def places(self) -> tuple[str, ...]:
        """Frames that the tendons pass."""
        return tuple(dict.fromkeys(site for tendon in self.tendons for site in tendon.sites))

    @property
    def joints(self) -> tuple[str, ...]:
        """Joints of fixed tendons."""
        return tuple(dict.fromkeys(name for tendon in self.tendons for name in tendon.joints))

    def _renamed_fields(self, names: Renaming) -> dict[str, Any]:
        moved = names.world != WORLD or names.world_at.position.any()
        if WORLD in self.places and (moved or not np.array_equal(names.world_at.rotation, np.eye(3))):
            raise self._error("a tendon passes the world's origin, which would move: name a frame there")

        def renamed(tendon: Tendon) -> Tendon:
            return tendon.renamed(names.tendon(tendon.name), names.place_or_world, names.joint)

        return {"follower": renamed(self.follower), "leader": None if self.leader is None else renamed(self.leader)}
