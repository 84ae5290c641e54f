# SPDX-License-Identifier: BSD-3-Clause
"""Constraints on joint coordinates as equations that formats can say: linear ones, and polynomials of one joint."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

from linkwork.model.constraints import Coupling, FunctionCoupling, Term, VelocityCoupling


@dataclass(frozen=True)
class JointEquation:
    """``sum of factor q + polynomial of one joint = value``.

    Args:
        linear: Factors by joint and coordinate.
        leader: The joint and coordinate of the polynomial; None: the equation is linear.
        polynomial: Its coefficients of the first to the fourth power of ``q - origin``.
        origin: Of the leader.
        value: Value of the sum.
    """

    linear: dict[tuple[str, int], float]
    leader: tuple[str, int] | None
    polynomial: tuple[float, float, float, float]
    origin: float
    value: float


def equations_of(constraint: Coupling) -> tuple[JointEquation, ...] | None:
    """The equations of a constraint, one for each row; None for one that is none of positions and polynomials.

    Args:
        constraint: A constraint on joints.
    """
    if isinstance(constraint, FunctionCoupling | VelocityCoupling):
        return None
    equations = []
    for terms, value in constraint.equations():
        equation = _equation(terms, value)
        if equation is None:
            return None
        equations.append(equation)
    return tuple(equations)


def _equation(terms: tuple[Term, ...], value: float) -> JointEquation | None:
    linear: dict[tuple[str, int], float] = {}
    leaders: list[Term] = []
    for term in terms:
        if not term.holonomic:
            return None
        if any(term.coefficients[1:]):
            leaders.append(term)
            continue
        key, factor = (term.joint, term.coordinate), term.coefficients[0]
        linear[key] = linear.get(key, 0.0) + factor
        value += factor * term.origin
    if len(leaders) > 1:
        return None
    if not leaders:
        return JointEquation(linear, None, (0.0, 0.0, 0.0, 0.0), 0.0, value)
    (leader,) = leaders
    return JointEquation(linear, (leader.joint, leader.coordinate), leader.coefficients, leader.origin, value)


def shifted_polynomial(coefficients: tuple[float, ...], by: float) -> tuple[float, ...]:
    """The polynomial ``p(x + by)`` of ``x``, of the same degree.

    Args:
        coefficients: Of ``p``, the constant one first.
        by: The shift.
    """
    if by == 0:
        return coefficients
    degree = len(coefficients)
    return tuple(sum(coefficients[n] * comb(n, k) * by ** (n - k) for n in range(k, degree)) for k in range(degree))
