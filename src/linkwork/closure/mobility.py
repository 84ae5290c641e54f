# SPDX-License-Identifier: BSD-3-Clause
"""Mobility: velocities that constraints allow, degrees of freedom, and ranks that tolerate rounded numbers.

This is the function behind `Mechanism.mobility`, with dense linear algebra: it checks a state, not a control loop.

Numbers in files are rounded. Axes that should meet miss each other by 1e-8, and rows that repeat others where all is
exact bind 1e-8 of a motion more. Such rows are no rows: `rank_cut` says which singular values are theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.closure.assembly_problem import which_enabled, which_holonomic
from linkwork.closure.loop_rounding import loop_gap, loop_rounding, nearby, nearest_closed
from linkwork.closure.thresholds import (
    ADDED_INERTIA,
    AT_REST,
    CLOSED_FOR_MOBILITY,
    DOUBTFUL,
    NEARLY_DEPENDENT,
    OPEN,
    RANK,
    ROUNDED,
    SINGULAR_MASS,
    WEAK,
)
from linkwork.errors import InputError
from linkwork.inputs import float_array
from linkwork.model.arrays import Floats
from linkwork.model.computed import computed_once
from linkwork.model.model import Model
from linkwork.model.notebook import table
from linkwork.quantities.functions import constraint_error, constraint_jacobian, mass_matrix
from linkwork.quantities.motions import row_motions
from linkwork.quantities.scales import joint_units, quantity, row_units, scales_of, singular_mass_matrix

TRIES = 3
"""Configurations at which a mass matrix is tried."""

# Ranks ---------------------------------------------------------------------------------------------


def mass_factor(robot: Model, q: Floats, added: float = 0.0) -> Floats:
    """``L`` of ``M = L L'``, ``(..., nv, nv)``; where M is singular, this part of each joint's inertia is ``added``."""
    M: Any = mass_matrix(robot, q)
    for part in (0.0, added):
        try:
            result: Floats = np.linalg.cholesky(M + part * np.diag(scales_of(robot).joints) if part else M)
            return result
        except np.linalg.LinAlgError:
            continue
    raise singular_mass_matrix(robot, M)


def has_singular_mass_matrix(robot: Model) -> bool:
    """Whether a joint moves no mass in any configuration."""
    return _massless_at(robot) is not None


def check_mass_matrix(robot: Model) -> None:
    """Raise `SingularMassMatrix` where a joint moves no mass in any configuration."""
    M = _massless_at(robot)
    if M is not None:
        raise singular_mass_matrix(robot, M)


@computed_once
def _massless_at(robot: Model) -> Floats | None:
    """The mass matrix at the last of a few configurations, if it is singular in all of them."""
    rng, matrix = np.random.default_rng(0), quantity(robot, "mass_matrix")
    unit = np.sqrt(scales_of(robot).joints)
    for _ in range(TRIES):
        M: Floats = matrix(robot.random(rng))
        if np.linalg.eigvalsh(M / np.outer(unit, unit)).min(initial=1.0) > SINGULAR_MASS:
            return None
    return M


def state_warning(robot: Model, q: Floats, v: Floats, on: npt.NDArray[np.bool_]) -> str | None:
    """A warning for one state of a robot whose rows are ``on``: loops that are wide open, or opened by ``v``."""
    J = quantity(robot, "constraint_jacobian")(q)
    holds = on & which_holonomic(robot)
    open_by = np.where(holds, np.abs(quantity(robot, "constraint_error")(q)), 0.0)
    apart = open_by / row_units(robot, J)
    names = [c.name for c in robot.constraints for _ in range(c.rows)]
    if apart.max(initial=0.0) > DOUBTFUL:
        row = int(apart.argmax())
        return (
            f"a loop of '{robot.name}' is open by {open_by[row]:.3g} ('{names[row]}'): accelerations are those of the "
            "rows, not of a closed mechanism. Close it with q = robot.assemble(q)"
        )
    scales = scales_of(robot)
    opening = np.where(on, np.abs(J @ v - row_motions(robot, robot.time)[1]), 0.0)
    fall = AT_REST * scales.mass * scales.length * float(np.linalg.norm(robot.gravity))
    part = opening / np.sqrt(scales.rows * max(float(scales.joints @ (v * v)), fall, np.finfo(float).tiny))
    if part.max(initial=0.0) > DOUBTFUL:
        row = int(part.argmax())
        return (
            f"v opens a loop of '{robot.name}' by {opening[row]:.3g} a second ('{names[row]}'): accelerations do not "
            "close it. Use v = robot.project_velocity(q, v), or give the constraint a time constant"
        )
    return None


def rank_cut(robot: Model, q: Floats, singular_values: npt.NDArray[Any], J: Floats | None = None) -> Floats:
    """The part of the largest below which singular values ``(..., n)`` are zeros, ``(...)``.

    Rows and joints are without units (`without_units`), or scaled by inertia.
    """
    gap = loop_gap(robot, q, J)
    cut = np.maximum(RANK, np.where(gap <= ROUNDED, OPEN * gap, 0.0))
    largest = np.maximum(1.0, singular_values.max(axis=-1, initial=0.0))
    weak = ((singular_values > RANK * largest[..., None]) & (singular_values < WEAK * largest[..., None])).any(axis=-1)
    if (weak & (gap <= ROUNDED)).any():
        cut = np.where(weak & (gap <= ROUNDED), np.maximum(cut, OPEN * loop_rounding(robot)), cut)
    return cut


@computed_once
def has_redundant_rows(robot: Model) -> bool:
    """Whether rows of all constraints, enabled or not, depend on each other, or nearly so, where loops are closed."""
    if robot.nc > robot.nv:
        return True
    if not robot.nc:
        return False
    whole = robot.switched({c.name: True for c in robot.constraints})
    at = _nearly_closed_pose(whole)
    rows = constraint_jacobian(whole, at) / np.sqrt(scales_of(whole).rows)[:, None]
    s = np.linalg.svd(np.linalg.solve(mass_factor(whole, at, ADDED_INERTIA), rows.T), compute_uv=False)
    return bool(s[-1] < NEARLY_DEPENDENT)


def _nearly_closed_pose(robot: Model) -> Floats:
    """The pose with a name, or the neutral one, near which one attempt to close loops comes farthest."""
    candidates = [(float(loop_gap(robot, q)), q) for q in (*robot.poses.values(), robot.neutral())]
    if min(gap for gap, _ in candidates) >= RANK:
        candidates = [(gap, q) for q, gap in (nearest_closed(robot, q) for _, q in candidates)]
    return min(candidates, key=lambda pair: pair[0])[1]


def without_units(robot: Model, J: Floats) -> Floats:
    """Rows ``J: (..., nc, nv)`` as parts of the robot's length and of one."""
    result: Floats = J * joint_units(robot) / row_units(robot, J)[..., None]
    return result


def usual_rank(robot: Model) -> int:
    """The largest rank of the rows of enabled constraints in configurations around one with closed loops."""
    return _usual_rank(robot, tuple(which_enabled(robot).tolist()))


@computed_once
def _usual_rank(robot: Model, enabled: tuple[bool, ...]) -> int:
    ranks = [0]
    for q, _ in nearby(robot):
        J = constraint_jacobian(robot, q)
        s = np.linalg.svd(without_units(robot, J)[list(enabled)], compute_uv=False)
        ranks.append(int((s > rank_cut(robot, q, s, J) * max(1.0, s.max(initial=0.0))).sum()))
    return max(ranks)


# Velocities ----------------------------------------------------------------------------------------


def project_by_singular_values(robot: Model, q: npt.ArrayLike, v: npt.ArrayLike) -> Floats:
    """`closure.evaluators.project_velocity` at any configuration, near singular ones as well."""
    q_, v_ = float_array(q, "q"), float_array(v, "v")
    robot.integrate(q_, v_)  # checks both
    J = constraint_jacobian(robot, q_)[..., which_enabled(robot), :]
    L = mass_factor(robot, q_, ADDED_INERTIA)
    LT = np.swapaxes(L, -1, -2)
    A: Any = np.swapaxes(np.linalg.solve(L, np.swapaxes(J, -1, -2)), -1, -2)  # J L^-T
    y = (LT @ v_[..., None])[..., 0]
    A = A / np.sqrt(scales_of(robot).rows[which_enabled(robot)])[:, None]
    _, s, Vt = np.linalg.svd(A, full_matrices=False)
    kept = s > rank_cut(robot, q_, s)[..., None] * np.maximum(1.0, s.max(axis=-1, initial=0.0))[..., None]
    V = np.where(kept[..., None], Vt, 0.0)
    pushed: Any = np.swapaxes(V, -1, -2) @ (V @ y[..., None])
    result: Floats = np.linalg.solve(LT, y[..., None] - pushed)[..., 0]
    return result


# Mobility ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mobility:
    """Degrees of freedom, rank and redundant constraints at one configuration."""

    dof: int
    """Degrees of freedom left."""
    rows: int
    rank: int
    closed: bool
    """Whether the constraints are satisfied there."""
    redundant: dict[str, int]
    """Redundant constraints: the number of rows of each that could be removed while all others are kept. Equal rows of
    several constraints count for each of them."""
    conflicting: dict[str, float]
    """Constraints that cannot be satisfied together, to first order, and the error that must stay."""
    freedom: Floats
    """Directions of v that are free, ``(nv, dof)``, orthonormal."""
    singular: Floats
    """Those of them that are free at this configuration and at none near it, ``(nv, k)``."""
    singular_values: Floats
    """Of the Jacobian without units, the largest first; ranks that are a close call show here."""
    rounding: int = 0
    """Number of them that are not exactly zero but count as zero: loops close to the rounding of numbers in a file
    only, and these rows bind no more than that."""

    @property
    def redundancy(self) -> int:
        """Rows that could go: ``rows - rank``."""
        return self.rows - self.rank

    @property
    def grubler(self) -> int:
        """Grübler's and Kutzbach's count, freedoms of the joints less rows, which is `dof` where none is redundant."""
        return len(self.freedom) - self.rows

    def __str__(self) -> str:
        text = f"{_counted(self.dof, 'degree')} of freedom; {_counted(self.rows, 'row')} of rank {self.rank}"
        if self.redundant:
            text += f"; redundant: {', '.join(self.redundant)}"
        if self.conflicting:
            text += f"; conflicting: {', '.join(self.conflicting)}"
        if self.singular.shape[1]:
            text += f"; singular in {_counted(self.singular.shape[1], 'direction')}"
        if self.rounding:
            text += f"; {_counted(self.rounding, 'row')} taken for rounding"
        return text if self.closed else f"{text}; loops are open here"

    def _repr_html_(self) -> str:
        facts = {
            "degrees of freedom": self.dof,
            "Grübler's count": self.grubler,
            "rows": self.rows,
            "rank": self.rank,
            "loops are closed": self.closed,
            "singular directions": self.singular.shape[1],
            "rows taken for rounding": self.rounding,
        }
        facts |= {f"redundant: {name}": _counted(rows, "row") for name, rows in self.redundant.items()}
        facts |= {f"conflicting: {name}": f"misses {error:.3g}" for name, error in self.conflicting.items()}
        return table("Mobility", (), facts.items())


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def mobility(
    robot: Model, q: npt.ArrayLike, *, closed_to: float = CLOSED_FOR_MOBILITY, rank_tolerance: float | None = None
) -> Mobility:
    """Degrees of freedom, redundant, conflicting and singular constraints at ``q``.

    Args:
        robot: The mechanism.
        q: One configuration, ``(nq,)``.
        closed_to: Errors below it are those of closed loops.
        rank_tolerance: Singular values of the Jacobian, without units, below this part of the largest (or of one) are
            zeros. Without it: 1e-9, or the gap of loops where that is no larger than rounded numbers in a file cause.
    """
    at = robot.normalize(q)
    if at.shape != (robot.nq,):
        raise InputError(f"mobility takes one configuration of {robot.nq} numbers, not {at.shape}")
    on = which_enabled(robot)
    whole = constraint_jacobian(robot, at)
    J = without_units(robot, whole)[on]
    units = row_units(robot, whole)[on]
    e = constraint_error(robot, at)[on] / units
    s: Any = np.linalg.svd(J, compute_uv=False) if J.size else np.zeros(0)
    least = RANK if rank_tolerance is None else rank_tolerance
    cut = float(rank_cut(robot, at, s, whole)) if rank_tolerance is None else rank_tolerance
    bound, s, freedom = _spaces(J, cut)
    rank = bound.shape[1]
    rounding = int((s > least * max(1.0, s.max(initial=0.0))).sum()) - rank
    closed = bool(np.abs(e * units).max(initial=0.0) <= closed_to)
    redundant, conflicting = {}, {}
    stays = e - bound @ (bound.T @ e)  # the part that no motion changes
    start = 0
    for constraint in (c for c in robot.constraints if c.enabled) if rank < len(J) else ():
        mine = slice(start, start + constraint.rows)
        start += constraint.rows
        idle = np.eye(constraint.rows) - bound[mine] @ bound[mine].T  # of combinations of rows that bind nothing
        spare = int(np.linalg.matrix_rank(idle, tol=1e-9, hermitian=True))
        if spare:
            redundant[constraint.name] = spare
            stay = float(np.abs(stays[mine] * units[mine]).max())
            if stay > closed_to:
                conflicting[constraint.name] = stay
    looks = closed and rank and freedom.shape[1]
    singular = _singular(robot, at, freedom, cut) if looks else np.zeros((robot.nv, 0))
    return Mobility(
        dof=robot.nv - rank,
        rows=len(J),
        rank=rank,
        closed=closed,
        redundant=redundant,
        conflicting=conflicting,
        freedom=_unit_columns(joint_units(robot)[:, None] * freedom),
        singular=_unit_columns(joint_units(robot)[:, None] * singular),
        singular_values=s,
        rounding=rounding,
    )


def _unit_columns(A: Floats) -> Floats:
    """An orthonormal basis of the columns."""
    result: Floats = np.linalg.qr(A)[0]
    return result


def _spaces(J: Floats, tolerance: float) -> tuple[Floats, Floats, Floats]:
    """Orthonormal bases of the column space and of the null space, and between them the singular values."""
    rows, columns = J.shape
    if 0 in J.shape:
        return np.zeros((rows, 0)), np.zeros(0), np.eye(columns)
    padded = np.vstack([J, np.zeros((max(0, columns - rows), columns))])  # so that all of V comes out
    U, s, Vt = np.linalg.svd(padded, full_matrices=False)
    rank = int((s > tolerance * max(1.0, s[0])).sum())
    return U[:rows, :rank], s[: min(rows, columns)], Vt[rank:].T


def _singular(robot: Model, q: Floats, freedom: Floats, tolerance: float, distance: float = 1e-3) -> Floats:
    """Directions that are free at ``q`` but not at assembled configurations a little off."""
    rng = np.random.default_rng(0)
    on = which_enabled(robot)
    for _ in range(4):
        step = freedom @ rng.normal(size=freedom.shape[1])
        off = robot.integrate(q, distance * joint_units(robot) * step / max(float(np.linalg.norm(step)), 1e-12))
        near, gap = nearest_closed(robot, off)
        if gap > ROUNDED:  # loops cannot be closed in this direction
            continue
        _, _, other = _spaces(without_units(robot, constraint_jacobian(robot, near))[on], tolerance)
        if other.shape[1] < freedom.shape[1]:
            _, s, Vt = np.linalg.svd(other.T @ freedom)
            kept = int((s > 0.5).sum())
            result: Floats = freedom @ Vt[kept:].T
            return result
        return np.zeros((robot.nv, 0))
    return np.zeros((robot.nv, 0))
