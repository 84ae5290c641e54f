# SPDX-License-Identifier: BSD-3-Clause
"""Softness of contacts, limits, dry friction and constraints of a mechanism of another size."""

from __future__ import annotations

from dataclasses import replace

from linkwork.model.soft_contact import SoftConstraint, SoftContact


def scaled_softness(soft: SoftConstraint | None, time: float, unit: float) -> SoftConstraint | None:
    """Softness of a limit, of dry friction or of a constraint of the similar mechanism.

    Args:
        soft: Its softness; None: the usual one.
        time: The factor of times.
        unit: The factor of its error.
    """
    if soft is None:
        return None
    return replace(
        soft,
        reference=_reference(soft.reference, time),
        impedance=_impedance(soft.impedance, unit),
        margin=soft.margin * unit,
        torque_scale=soft.torque_scale * unit,
    )


def scaled_soft_contact(soft: SoftContact | None, time: float, length: float) -> SoftContact | None:
    """Softness of a contact of the similar mechanism.

    Args:
        soft: Its softness; None: the usual one.
        time: The factor of times.
        length: The factor of lengths.
    """
    if soft is None:
        return None
    return replace(
        soft,
        reference=_reference(soft.reference, time),
        friction_reference=_reference(soft.friction_reference, time),
        impedance=_impedance(soft.impedance, length),
    )


def _reference(x: tuple[float, float], time: float) -> tuple[float, float]:
    return (x[0] * time, x[1]) if x[0] > 0 else (x[0] / time**2, x[1] / time)


def _impedance(x: tuple[float, ...], unit: float) -> tuple[float, ...]:
    least, most, width, *curve = x
    return (least, most, width * unit, *curve)
