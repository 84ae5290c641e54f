# SPDX-License-Identifier: BSD-3-Clause
"""Constraints on joints whose rows are sums of terms, one for each coordinate: gears, belts, locks, velocities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np

from linkwork.conversions import converted_but
from linkwork.errors import ModelError
from linkwork.inputs import plural, shown
from linkwork.model.arrays import Floats, finite, frozen
from linkwork.model.constraints.base import Constraint, ConstraintOptions, Renaming

Equation = tuple[tuple["Term", ...], float]
"""The terms of a row, and the value of their sum."""


@converted_but("gains")
@dataclass(frozen=True, eq=False)
class Term:
    """A polynomial of one joint's coordinate: ``sum over k of coefficients[k] (q - origin)^(k + 1)``.

    Where it is not ``holonomic``, it is of the velocity alone: ``coefficients[0] v``.
    """

    joint: str
    coefficients: tuple[float, float, float, float]
    origin: float = 0.0
    coordinate: int = 0
    """Which of the joint's coordinates."""
    holonomic: bool = True

    def at(self, q: float) -> float:
        """Its value where the coordinate is ``q``.

        Args:
            q: The coordinate.
        """
        x = q - self.origin
        return sum(c * x ** (k + 1) for k, c in enumerate(self.coefficients))


@converted_but("gains")
@dataclass(frozen=True, eq=False)
class Coupling(Constraint):
    """Constraints on joints: each row is a sum of terms that stays at a value. See the subclasses."""

    def equations(self) -> tuple[Equation, ...]:
        """The terms of each row, and the value of their sum."""
        raise NotImplementedError

    @property
    def rows(self) -> int:
        """One for each equation."""
        return len(self.equations())

    @property
    def joints(self) -> tuple[str, ...]:
        """Every joint of its terms."""
        return tuple(dict.fromkeys(term.joint for terms, _ in self.equations() for term in terms))

    def __post_init__(self) -> None:
        for terms, value in self.equations():
            numbers = [value, *(c for t in terms for c in (*t.coefficients, t.origin))]
            if not np.isfinite(numbers).all():
                raise ModelError(f"{type(self).__name__}: {numbers} must all be finite numbers")
            if not any(c for term in terms for c in term.coefficients):
                raise ModelError(f"{type(self).__name__}: all coefficients are zero; at least one must not be")
        self._settle()


@converted_but("gains")
@dataclass(frozen=True, eq=False)
class JointCoupling(Coupling):
    """A weighted sum of joint coordinates stays at a value: ``JointCoupling({"left": 1, "right": -1})``.

    Args:
        coefficients: Weights by joint.
        offset: The value.
    """

    coefficients: Mapping[str, float]
    offset: float = 0.0

    def __post_init__(self) -> None:
        self._set(coefficients=dict(self.coefficients))
        if not self.coefficients:
            raise ModelError("JointCoupling: coefficients name no joints; give at least one")
        super().__post_init__()

    def equations(self) -> tuple[Equation, ...]:
        """One equation."""
        terms = tuple(Term(joint, (c, 0.0, 0.0, 0.0)) for joint, c in self.coefficients.items())
        return ((terms, float(self.offset)),)

    def _renamed_fields(self, names: Renaming) -> dict[str, Any]:
        return {"coefficients": {names.joint(name): c for name, c in self.coefficients.items()}}


@converted_but("gains")
@dataclass(frozen=True, eq=False, init=False)
class Belt(JointCoupling):
    """A driver coupled by a belt to several joints: ``q_driver = sum of ratio q_driven + offset``.

    Args:
        driver: Joint that drives.
        driven: Ratios by joint that is driven.
        offset: Coordinate of the driver where all others are zero.
        options: Those of `Constraint`: name, compliance, and more.
    """

    driver: str = field(kw_only=True)
    driven: Mapping[str, float] = field(kw_only=True)
    coefficients: Mapping[str, float] = field(init=False, repr=False)
    """Of each joint: 1 of the driver, minus the ratio of a driven one."""

    def __init__(
        self, driver: str, driven: Mapping[str, float], offset: float = 0.0, **options: Unpack[ConstraintOptions]
    ) -> None:
        ratios = dict(driven)
        if driver in ratios:
            raise ModelError(f"{type(self).__name__}: joint '{driver}' cannot drive itself", subject=driver)
        self._set(driver=driver, driven=ratios)
        super().__init__({driver: 1.0} | {joint: -ratio for joint, ratio in ratios.items()}, offset, **options)

    def _renamed_fields(self, names: Renaming) -> dict[str, Any]:
        driven = {names.joint(name): ratio for name, ratio in self.driven.items()}
        return {"driver": names.joint(self.driver), "driven": driven}


@converted_but("gains")
@dataclass(frozen=True, eq=False, init=False)
class Gear(JointCoupling):
    """The driver turns ``ratio`` times as far as the driven joint: ``q_driver = ratio q_driven + offset``.

    Args:
        driver: Joint that turns ``ratio`` times as far.
        driven: The other joint.
        ratio: Angle of the driver per angle of the driven joint; negative: in opposite directions.
        offset: Coordinate of the driver where the other is zero.
        options: Those of `Constraint`: name, compliance, and more.
    """

    driver: str = field(kw_only=True)
    driven: str = field(kw_only=True)
    ratio: float = field(kw_only=True)
    coefficients: Mapping[str, float] = field(init=False, repr=False)
    """Of each joint: 1 of the driver, minus the ratio of the driven one."""

    def __init__(
        self, driver: str, driven: str, ratio: float, offset: float = 0.0, **options: Unpack[ConstraintOptions]
    ) -> None:
        if driver == driven:
            raise ModelError(f"{type(self).__name__}: joint '{driver}' cannot drive itself", subject=driver)
        self._set(driver=driver, driven=driven, ratio=float(ratio))
        super().__init__({driver: 1.0, driven: -float(ratio)}, offset, **options)

    def _renamed_fields(self, names: Renaming) -> dict[str, Any]:
        return {"driver": names.joint(self.driver), "driven": names.joint(self.driven)}


@converted_but("gains")
@dataclass(frozen=True, eq=False)
class PolynomialCoupling(Coupling):
    """One joint follows a polynomial of another: ``q - origin = c0 + c1 x + ... + c4 x^4``, ``x`` that of the other.

    MuJoCo's ``equality/joint``.

    Args:
        follower: Joint that follows.
        leader: Joint that leads; None: the follower is held at ``origin + c0``.
        coefficients: One to five, the constant one first.
        follower_origin: Subtracted from the follower's coordinate.
        leader_origin: Subtracted from the leader's coordinate.
    """

    follower: str
    leader: str | None
    coefficients: Sequence[float]
    follower_origin: float = 0.0
    leader_origin: float = 0.0

    def __post_init__(self) -> None:
        coefficients = tuple(float(c) for c in self.coefficients)
        if not 1 <= len(coefficients) <= 5:
            raise ModelError(f"PolynomialCoupling: {plural(len(coefficients), 'coefficient')}, needs 1 to 5")
        if self.leader == self.follower:
            raise ModelError(f"PolynomialCoupling: joint '{self.follower}' cannot follow itself")
        self._set(coefficients=coefficients + (0.0,) * (5 - len(coefficients)))
        super().__post_init__()

    def equations(self) -> tuple[Equation, ...]:
        """One equation."""
        c0, c1, c2, c3, c4 = self.coefficients
        terms = [Term(self.follower, (1.0, 0.0, 0.0, 0.0), float(self.follower_origin))]
        if self.leader is not None:
            terms.append(Term(self.leader, (-c1, -c2, -c3, -c4), float(self.leader_origin)))
        return ((tuple(terms), c0),)

    def _renamed_fields(self, names: Renaming) -> dict[str, Any]:
        leader = None if self.leader is None else names.joint(self.leader)
        return {"follower": names.joint(self.follower), "leader": leader}


@converted_but("gains")
@dataclass(frozen=True, eq=False)
class FixedTendonCoupling(Coupling):
    """Polynomials of several joints that sum to a value: two fixed tendons of MJCF, one a polynomial of the other.

    Args:
        terms: The polynomials.
        value: Their sum.
    """

    terms: tuple[Term, ...]
    value: float = 0.0

    def equations(self) -> tuple[Equation, ...]:
        """One equation."""
        return ((self.terms, self.value),)

    def _renamed_fields(self, names: Renaming) -> dict[str, Any]:
        return {"terms": tuple(replace(term, joint=names.joint(term.joint)) for term in self.terms)}


@converted_but("gains")
@dataclass(frozen=True, eq=False)
class JointLock(Coupling):
    """A joint is locked at a position.

    For joints whose configuration space is a vector space; lock a spherical, planar or free joint with a `Weld`.

    Args:
        joint: The joint.
        position: Its coordinates: one number each.
    """

    joint: str
    position: float | Sequence[float] = 0.0

    def __post_init__(self) -> None:
        position = np.atleast_1d(np.array(self.position, dtype=np.float64))
        if position.ndim != 1 or position.size == 0:
            raise ModelError(f"JointLock: position is {self.position!r}, needs one number for each coordinate")
        self._set(position=tuple(position.tolist()))
        super().__post_init__()

    def equations(self) -> tuple[Equation, ...]:
        """One equation for each coordinate."""
        held = np.atleast_1d(np.asarray(self.position))
        return tuple(((Term(self.joint, (1.0, 0.0, 0.0, 0.0), 0.0, k),), float(x)) for k, x in enumerate(held))

    def _renamed_fields(self, names: Renaming) -> dict[str, Any]:
        return {"joint": names.joint(self.joint)}


@converted_but("gains")
@dataclass(frozen=True, eq=False)
class VelocityCoupling(Coupling):
    """A linear combination of joint velocities stays zero: ``sum of matrix @ velocity``.

    ``VelocityCoupling({"ball": np.eye(3)})`` holds the three velocities of a spherical joint: joint-level rows, as of
    joint friction. It is nonholonomic: velocities are constrained, and there is no position error to correct.

    Args:
        matrices: By joint, ``(rows, nv)`` each: factors of its velocities, in the order of `v`.
    """

    matrices: Mapping[str, Sequence[Sequence[float]] | Floats]

    def __post_init__(self) -> None:
        if not isinstance(self.matrices, Mapping):
            raise ModelError(f"VelocityCoupling: matrices is {shown(self.matrices)}, needs matrices by name")
        items_of_matrices = self.matrices.items()
        matrices = {
            str(joint): finite(matrix, f"VelocityCoupling: the matrix of '{joint}'")
            for joint, matrix in items_of_matrices
        }
        if not matrices:
            raise ModelError("VelocityCoupling: matrices names no joints; give at least one")
        rows = next(iter(matrices.values())).shape[0] if next(iter(matrices.values())).ndim == 2 else 0
        for joint, matrix in matrices.items():
            if matrix.ndim != 2 or len(matrix) != rows or matrix.size == 0:
                raise ModelError(
                    f"VelocityCoupling: the matrix of '{joint}' has shape {matrix.shape}, needs ({rows or 'rows'}, nv)"
                )
            frozen(matrix)
        self._set(matrices=matrices)
        super().__post_init__()

    def equations(self) -> tuple[Equation, ...]:
        """One equation for each row, with a term for each velocity that it has a factor of."""
        matrices = [(joint, np.asarray(matrix)) for joint, matrix in self.matrices.items()]
        return tuple(
            (
                tuple(
                    Term(joint, (float(x), 0.0, 0.0, 0.0), 0.0, k, holonomic=False)
                    for joint, matrix in matrices
                    for k, x in enumerate(matrix[row])
                    if x
                ),
                0.0,
            )
            for row in range(len(matrices[0][1]))
        )

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints, in order."""
        return tuple(self.matrices)

    @property
    def holonomic(self) -> tuple[bool, ...]:
        """No row is holonomic."""
        return (False,) * self.rows

    def _renamed_fields(self, names: Renaming) -> dict[str, Any]:
        return {"matrices": {names.joint(name): matrix for name, matrix in self.matrices.items()}}
