# SPDX-License-Identifier: BSD-3-Clause
"""Softness of contacts, limits, dry friction and constraints, in the terms of MuJoCo: ``solref``, ``solimp``, ...."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite

from linkwork.conversions import converted
from linkwork.errors import ModelError


@converted
@dataclass(frozen=True)
class SoftContact:
    """Softness of a contact in MuJoCo's model of constraints; it acts in simulations with soft contacts.

    Args:
        reference: MuJoCo's ``solref``: time constant in seconds and damping ratio of the motion of the normal direction
            or, both not positive, its stiffness and damping with the opposite sign.
        impedance: MuJoCo's ``solimp``: impedance at zero and at full depth, that depth in m, midpoint and power of the
            curve between.
        friction_reference: MuJoCo's ``solreffriction``: the same as ``reference`` for the directions of friction; two
            zeros: as the normal direction.
        friction_ratio: MuJoCo's ``impratio``: impedance of friction relative to that of the normal direction.
        pyramidal: Whether the friction cone is a pyramid over the directions of friction, as is usual in MuJoCo, and
            not an ellipse; ``friction_reference`` has no effect then.
    """

    reference: tuple[float, float] = (0.02, 1.0)
    impedance: tuple[float, ...] = (0.9, 0.95, 0.001, 0.5, 2.0)
    friction_reference: tuple[float, float] = (0.0, 0.0)
    friction_ratio: float = 1.0
    pyramidal: bool = False

    def __post_init__(self) -> None:
        if len(self.impedance) != 5:
            raise ModelError(f"impedance of a soft contact has {len(self.impedance)} numbers, needs 5")
        numbers = (*self.reference, *self.impedance, *self.friction_reference)
        if not all(isfinite(x) for x in numbers):
            raise ModelError(f"numbers of a soft contact are {numbers}, must be finite")
        if not (isfinite(self.friction_ratio) and self.friction_ratio > 0):
            raise ModelError(f"friction_ratio of a soft contact is {self.friction_ratio:g}, must be > 0")

    def mixed(self, other: SoftContact, part: float) -> SoftContact:
        """The softness of two geoms together, as MuJoCo mixes them: a weighted mean of all numbers or, of references
        that state a stiffness and a damping, the lesser ones.

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
"""MuJoCo's defaults, but for the cone."""


@converted
@dataclass(frozen=True)
class SoftConstraint:
    """Softness of a limit, of dry friction of a joint or of a constraint, in MuJoCo's model; it acts in simulations
    with soft contacts.

    Args:
        reference: MuJoCo's ``solref``, as for `SoftContact`.
        impedance: MuJoCo's ``solimp``, as for `SoftContact`; its depth is in the unit of the constrained coordinate.
        margin: Of limits: the distance at which they begin to act.
        torque_scale: Of welds: MuJoCo's ``torquescale``, how many units of length a unit of rotation is.
    """

    reference: tuple[float, float] = USUAL.reference
    impedance: tuple[float, ...] = USUAL.impedance
    margin: float = 0.0
    torque_scale: float = 1.0

    def __post_init__(self) -> None:
        if len(self.impedance) != 5:
            raise ModelError(f"impedance of a soft constraint has {len(self.impedance)} numbers, needs 5")
        numbers = (*self.reference, *self.impedance, self.margin, self.torque_scale)
        if not all(isfinite(x) for x in numbers):
            raise ModelError(f"numbers of a soft constraint are {numbers}, must be finite")


USUAL_CONSTRAINT = SoftConstraint()
"""MuJoCo's defaults."""
