# SPDX-License-Identifier: BSD-3-Clause
"""How soft a contact is, in the terms of MuJoCo: its ``solref``, ``solimp`` and ``impratio``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite

from linkwork.conversions import converted
from linkwork.errors import ModelError


@converted
@dataclass(frozen=True)
class SoftContact:
    """How soft a contact is in MuJoCo's model of constraints; it acts where a simulation is asked for soft contacts.

    Args:
        reference: MuJoCo's ``solref``: time constant in seconds and damping ratio of the motion of the normal direction
            or, both not positive, its stiffness and damping with the opposite sign.
        impedance: MuJoCo's ``solimp``: impedance at zero and at full depth, that depth in m, midpoint and power of the
            curve between.
        friction_reference: MuJoCo's ``solreffriction``: the same as ``reference`` for the directions of friction; two
            zeros: as the normal direction.
        friction_ratio: MuJoCo's ``impratio``: impedance of friction relative to that of the normal direction.
    """

    reference: tuple[float, float] = (0.02, 1.0)
    impedance: tuple[float, ...] = (0.9, 0.95, 0.001, 0.5, 2.0)
    friction_reference: tuple[float, float] = (0.0, 0.0)
    friction_ratio: float = 1.0

    def __post_init__(self) -> None:
        if len(self.impedance) != 5:
            raise ModelError(f"impedance of a soft contact has {len(self.impedance)} numbers, needs 5")
        numbers = (*self.reference, *self.impedance, *self.friction_reference)
        if not all(isfinite(x) for x in numbers):
            raise ModelError(f"numbers of a soft contact are {numbers}, must be finite")
        if not (isfinite(self.friction_ratio) and self.friction_ratio > 0):
            raise ModelError(f"friction_ratio of a soft contact is {self.friction_ratio:g}, must be > 0")

    def mixed(self, other: SoftContact, part: float) -> SoftContact:
        """What two geoms have together, as MuJoCo mixes them: a weighted mean of all numbers or, of references that say
        a stiffness and a damping, the lesser ones.

        Args:
            other: That of the other geom.
            part: The weight of this one, 0 to 1.
        """

        def mean(a: float, b: float) -> float:
            return part * a + (1 - part) * b

        if self.reference[0] > 0 and other.reference[0] > 0:
            first, second = map(mean, self.reference, other.reference)
        else:
            first, second = map(min, self.reference, other.reference)
        impedance = tuple(map(mean, self.impedance, other.impedance))
        return replace(self, reference=(first, second), impedance=impedance)


USUAL = SoftContact()
"""MuJoCo's defaults."""
