# SPDX-License-Identifier: BSD-3-Clause
"""Contact problems of arrays by the solver of reduced steps: semismooth and smoothed Newton.

With a factor ``G = L L'`` of the Delassus matrix, ``y = G f + g`` is the problem of a robot with the mass matrix one,
rows ``L`` and offsets ``g`` (`kernels.contact.reduced.array_problem`). Rows of a contact are ordered with the normal
first, and scaled by their coefficients of friction.

Torsional and rolling friction share one cone with sliding friction, ``(f_t / mu)² + (m / nu)² <= f_n²``, or have cones
of their own, ``|f_t| <= mu f_n`` and ``|m| <= nu f_n``. The latter are two cones whose normal impulses are equal: an
additional velocity ``a`` with ``z_1 = z_2`` as its equation of motion, which is zero at a solution::

    K_1 ∋ (f_n, f_t / mu) ⟂ (u_n - a + mu |u_t|, mu u_t) ∈ K_1
    K_2 ∋ (f_n, m / nu) ⟂ (a + nu |omega|, nu omega) ∈ K_2
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from linkwork.compilers.backends import default_threads, runner_for
from linkwork.compilers.program import Backend, Program
from linkwork.compilers.run import Runner
from linkwork.contact.row_problem import RowSolution, check_contacts, check_symmetric, each_row, row_arrays
from linkwork.contact.thresholds import ROW_TOLERANCE, SMOOTHING_SLACK
from linkwork.dynamics.delassus import DelassusOperator
from linkwork.errors import InputError
from linkwork.inputs import above_zero, count, float_array, real_array
from linkwork.kernels.contact.reduced.array_problem import ARRAY_PROBLEM
from linkwork.kernels.contact.reduced.problem import BOX, CONE, EQUALITY
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.contact_sets import RowSet, contact_sets
from linkwork.quantities.arguments import Array


@dataclass(frozen=True)
class SetOfRows:
    """Rows of the given problem with one condition."""

    kind: int
    rows: tuple[int, ...]
    """The normal first."""
    contact: int = -1
    sign: float = 1.0
    """-1 of a force that is bounded above alone."""
    auxiliary: int = -1
    """The additional velocity of a contact with cones of its own for moments."""
    of_moments: bool = False


@dataclass(frozen=True)
class NewtonRows:
    """Status of a solver of arrays, besides forces."""

    forces: Array
    residual: Array
    iterations: Array
    status: Array
    """0: solved; 1: nearly solved; 2: not solved, the forces are those of the convex problem."""


@lru_cache(maxsize=32)
def _runner(sets: tuple[RowSet, ...], nv: int) -> Runner:
    program = Program(ARRAY_PROBLEM, contact_sets(sets, nv), (), "contacts")
    return runner_for(program, Backend(threads=default_threads()))


def contact_rows(first: int, extra: int) -> tuple[int, ...]:
    """Rows of a contact, the normal first: given are two tangents, the normal, and ``extra`` rows of moments.

    Args:
        first: Its first row.
        extra: Rows of torsion and rolling.
    """
    return (first + 2, first, first + 1, *range(first + 3, first + 3 + extra))


def solve_by_newton(
    G: Array,
    g: Array,
    friction: Array,
    lower: Array,
    upper: Array,
    guess: Array,
    slots: Sequence[int],
    moments: Array,
    independent: bool,
    tolerance: float,
    most: int,
) -> NewtonRows:
    """Forces of a contact problem, or of a batch of them.

    Args:
        G: Delassus matrix with compliance, ``(..., m, m)``.
        g: Velocities without forces, ``(..., m)``.
        friction: Coefficients of sliding friction, ``(..., k)``.
        lower: Least forces of rows of no contact, ``(..., m)``.
        upper: Largest forces, ``(..., m)``.
        guess: Forces to start from, ``(..., m)``.
        slots: First rows of contacts.
        moments: Coefficients of the rows of moments of each contact, ``(..., k, extra)``.
        independent: Whether these have a cone of their own.
        tolerance: Of the residual.
        most: Iterations.
    """
    batch = np.broadcast_shapes(
        G.shape[:-2], *(x.shape[:-1] for x in (g, friction, lower, upper, guess)), moments.shape[:-2]
    )
    m, k, extra = G.shape[-1], len(slots), moments.shape[-1]
    g, lower, upper, guess = (np.broadcast_to(x, (*batch, m)) for x in (g, lower, upper, guess))
    friction, moments = np.broadcast_to(friction, (*batch, k)), np.broadcast_to(moments, (*batch, k, extra))
    sets = _sets(m, slots, extra, independent, lower, upper)
    auxiliary = k if independent and extra else 0
    nv = m + auxiliary
    order = [r for s in sets for r in s.rows]
    scales, shift = np.ones((*batch, len(order))), np.zeros((*batch, len(order)))
    D = np.einsum("...ii->...i", np.broadcast_to(G, (*batch, m, m)))
    bounds = np.zeros((*batch, len(sets), 5))
    at = 0
    for e, s in enumerate(sets):
        dim = len(s.rows)
        mean = D[..., s.rows].mean(axis=-1)
        if s.contact >= 0:
            mu = moments[..., s.contact, 0] if s.of_moments else friction[..., s.contact]
            scales[..., at + 1 : at + dim] = mu[..., None]
            if not s.of_moments:
                if extra and not independent:
                    scales[..., at + 3 : at + dim] = moments[..., s.contact, :]
                mean = D[..., s.rows[:3]].mean(axis=-1)
            bounds[..., e, 3], bounds[..., e, 4] = mu, 1.0
        elif s.kind == CONE:
            scales[..., at] = s.sign
            shift[..., at] = lower[..., s.rows[0]] if s.sign > 0 else upper[..., s.rows[0]]
        elif s.kind == BOX:
            bounds[..., e, 0], bounds[..., e, 1] = lower[..., s.rows[0]], upper[..., s.rows[0]]
        bounds[..., e, 2] = np.where(mean > 0, mean, 1.0)
        at += dim
    L = _factor(np.broadcast_to(G, (*batch, m, m)))
    A = np.zeros((*batch, len(order), nv))
    A[..., :m] = L[..., order, :] * scales[..., None]
    rows = np.zeros((*batch, len(order), 3))
    rows[..., 0] = g[..., order] * scales
    rows[..., 2] = np.where(scales == 0, 0.0, (guess[..., order] - shift) / np.where(scales == 0, 1.0, scales))
    mass, momentum = np.broadcast_to(np.eye(nv), (*batch, nv, nv)).copy(), np.zeros((*batch, nv))
    momentum[..., :m] = np.einsum("...ri,...r->...i", L[..., order, :], np.where(_normal(sets), shift, 0.0))
    at = 0
    for s in sets:
        if s.auxiliary >= 0:
            A[..., at, m + s.auxiliary] = 1.0 if s.of_moments else -1.0
            if s.of_moments:
                A[..., at, :m] = 0.0
                rows[..., at, 0] = 0.0
            else:
                mass[..., m + s.auxiliary, m + s.auxiliary] = 1.0 / bounds[..., sets.index(s), 2]
        at += len(s.rows)
    inertias = 2 / (bounds[..., 2] * (1 + bounds[..., 3] ** 2))
    mean = np.exp(np.log(inertias).mean(axis=-1))[..., None]
    settings = np.broadcast_to([tolerance, float(most), SMOOTHING_SLACK, 0.0], (*batch, 4)).copy()
    settings[..., 3:] = mean
    runner = _runner(tuple(RowSet(s.kind, len(s.rows)) for s in sets), nv)
    _, z, _, progress = runner.evaluate([mass, momentum, A, rows, bounds, settings], [None] * 4)
    forces, at = np.zeros((*batch, m)), 0
    for s in sets:
        for i, r in enumerate(s.rows):
            if not (s.of_moments and i == 0):
                forces[..., r] = scales[..., at + i] * z[..., at + i] + shift[..., at + i]
        at += len(s.rows)
    return NewtonRows(forces, progress[..., 0], progress[..., 1].astype(np.int64), progress[..., 2].astype(np.int64))


def _normal(sets: Sequence[SetOfRows]) -> Array:
    """Whether each row is the only one of its set: it may have a least force."""
    return np.array([len(s.rows) == 1 for s in sets for _ in s.rows], dtype=bool)


def _sets(
    m: int, slots: Sequence[int], extra: int, independent: bool, lower: Array, upper: Array
) -> tuple[SetOfRows, ...]:
    """Conditions of all rows."""
    sets, taken = list[SetOfRows](), set[int]()
    for contact, first in enumerate(slots):
        rows = contact_rows(first, extra)
        taken.update(rows)
        if independent and extra:
            sets.append(SetOfRows(CONE, rows[:3], contact, auxiliary=contact))
            sets.append(SetOfRows(CONE, (rows[0], *rows[3:]), contact, auxiliary=contact, of_moments=True))
        else:
            sets.append(SetOfRows(CONE, rows, contact))
    for r in range(m):
        if r not in taken:
            below, above = lower[..., r] > -UNBOUNDED, upper[..., r] < UNBOUNDED
            if below.any() != below.all() or above.any() != above.all():
                raise InputError(
                    f"bounds of row {r} are finite in some problems of the batch only: solve these separately"
                )
            if below.all() and above.all():
                sets.append(SetOfRows(BOX, (r,)))
            elif below.all() or above.all():
                sets.append(SetOfRows(CONE, (r,), sign=1.0 if below.all() else -1.0))
            else:
                sets.append(SetOfRows(EQUALITY, (r,)))
    return tuple(sets)


def _factor(G: Array) -> Array:
    """``L`` with ``L L' = G``, symmetric and positive semidefinite, after its diagonal is scaled to one."""
    d = np.sqrt(np.einsum("...ii->...i", G))
    inverse = np.where(d > 0, 1.0 / np.where(d > 0, d, 1.0), 0.0)
    values, vectors = np.linalg.eigh(inverse[..., :, None] * G * inverse[..., None, :])
    factor: Array = d[..., :, None] * vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]
    return factor


def contacts_by_newton(
    G: npt.ArrayLike | DelassusOperator,
    g: npt.ArrayLike,
    friction: npt.ArrayLike,
    contacts: Sequence[int] | None,
    further: Sequence[npt.ArrayLike],
    tolerance: float = ROW_TOLERANCE,
    max_iterations: int = 300,
    torsion: npt.ArrayLike | None = None,
    rolling: npt.ArrayLike | None = None,
    independent: bool = False,
) -> RowSolution:
    """Forces of contacts and other rows by Newton's method: `solve_contacts` with ``solver="newton"``.

    Args:
        G: As for `solve_contacts`, as are others without a word here.
        g: Velocities of rows without forces.
        friction: Coefficients of sliding friction.
        contacts: First rows of contacts.
        further: Compliance, least and largest forces, and forces to start from.
        tolerance: Of the residual.
        max_iterations: The most iterations.
        torsion: Coefficients of torsional friction, lengths.
        rolling: Coefficients of rolling friction, lengths.
        independent: Whether moments have a cone of their own.
    """
    matrix = float_array(G.toarray() if isinstance(G, DelassusOperator) else G, "G")
    check_symmetric(matrix)
    m = matrix.shape[-1]
    kinds = [(torsion, "torsion", 1), (rolling, "rolling", 2)]
    size = 3 + sum(rows for array, _, rows in kinds if array is not None)
    mu = real_array(friction, "friction")
    if contacts is None:
        contacts = [size * c for c in range(mu.shape[-1] if mu.ndim else m // size)]
    slots = [int(r) for r in contacts]
    check_contacts(slots, m, size)
    rows = row_arrays(m, len(slots), g, friction, *further)
    extra = [
        np.repeat(_coefficients(array, name, len(slots))[..., None], repeated, axis=-1)
        for array, name, repeated in kinds
        if array is not None
    ]
    moments = _joined(extra, len(slots))
    if independent and len(extra) == 2:
        raise InputError("independent=True has one cone of moments: give torsion or rolling, not both")
    offsets, coefficients, R, lower, upper, guess = rows
    damped = matrix + R[..., None] * np.eye(m)
    end = above_zero(tolerance, "tolerance")
    most = count(max_iterations, "max_iterations")
    solution = solve_by_newton(
        damped, offsets, coefficients, lower, upper, guess, slots, moments, independent, end, most
    )
    velocities = np.einsum("...ij,...j->...i", matrix, solution.forces) + offsets
    return RowSolution(
        solution.forces,
        velocities,
        solution.residual,
        solution.iterations,
        solution.residual <= end,
    )


def _coefficients(argument: npt.ArrayLike, name: str, slots: int) -> Array:
    """Coefficients of friction of contacts, not negative."""
    array = each_row(argument, name, slots)
    if array.size and not array.min() >= 0:
        raise InputError(f"{name} must be >= 0; found {array.min():g}")
    return array


def _joined(parts: Sequence[Array], slots: int) -> Array:
    """Arrays along their last axis, with batch axes alike; of none, one without entries."""
    if not parts:
        return np.zeros((slots, 0))
    shape = np.broadcast_shapes(*(x.shape[:-1] for x in parts))
    return np.concatenate([np.broadcast_to(x, (*shape, x.shape[-1])) for x in parts], axis=-1)
