# SPDX-License-Identifier: BSD-3-Clause
"""The solver of a step by the reduced matrix: semismooth Newton, smoothed Newton where it fails, the convex problem.

1. Semismooth Newton, from the impulses of the step before, and smoothed Newton, from these and then from none
   (`stages`). Where no contact bears at the start, smoothed Newton comes first: of the many impulses of redundant
   contacts it finds those that bear alike.
2. Where neither finds a solution, the best iterate is the step if it nearly solves the problem: if it misses less than
   `NEARLY` of what bodies fall in a step. Errors of that size change the work of contacts by that part of the work of
   gravity, and penetration by that part of what one step of free fall would make.
3. Else the step is that of the convex problem (`fallback`), which always has one and takes energy; the residual is that
   of the true problem.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.reduced.fallback import FALLBACK_WORK, dissipative_step
from linkwork.kernels.contact.reduced.islands import (
    ISLAND_WORK,
    bring_back_solved,
    island_of,
    label_islands,
    set_aside_solved,
)
from linkwork.kernels.contact.reduced.problem import CONE, CONES, ROWS
from linkwork.kernels.contact.reduced.removal import hold_all, hold_remembered, hold_strong
from linkwork.kernels.contact.reduced.residual import problem_residual, set_residual
from linkwork.kernels.contact.reduced.rows import ReducedSettings
from linkwork.kernels.contact.reduced.smoothing_newton import row_velocities
from linkwork.kernels.contact.reduced.stages import STAGE_WORK, restart, semismooth, smoothed_and_polished, unsolved
from linkwork.kernels.elementary import copy_numbers, maximum, minimum
from linkwork.kernels.scalar import Array, Scalar, kernel, prange, some_below, where
from linkwork.kernels.thresholds import LEAST_RADIUS
from linkwork.model.thresholds import UNBOUNDED

OPEN = 10.0
"""Contacts with a smaller multiple of what smoothing of zero leaves are open."""
NEARLY = 1e-3
"""An iterate is the step, though not a solution, if it misses less than this part of the velocity that gravity adds."""
ROUNDED = 10.0
"""The same without gravity and in single precision: so many tolerances."""
RETRIED = 30.0
"""The most iterations after a step of the convex problem: what is jammed stays so for many steps, and most problems
that have a solution need fewer."""

ROUNDS = 3
"""Times that removal is given up where impulses are beyond all measure: those that are left may follow."""
CONVEX, JAMMED = 1.0, 2.0
"""Kinds of steps that are not those of the true problem: of the convex one, and without removal of penetration."""

SOLVER_WORK: dict[str, Shape] = STAGE_WORK | FALLBACK_WORK | ISLAND_WORK


@kernel
def is_warm(w: Array, fall: Scalar) -> Scalar:
    """One where a contact bears at the start, or none closes with what gravity adds to its velocity; else zero."""
    bears = 0.0
    touching = 0.0
    for e in range(w.counts[CONES]):
        if w.cone_kind[e] == CONE and w.cone_dim[e] > 1:
            touching = where(w.row_y[w.cone_row[e]], fall, 1.0, touching)
            bears = maximum(bears, w.z[w.cone_row[e]])
    return where(0.0, bears, 1.0, 1.0 - touching)


@kernel
def clear_open_contacts(w: Array) -> None:
    """No impulses of contacts and limits that are open, where projections leave `LEAST_RADIUS`."""
    for e in prange(w.counts[CONES]):
        if w.cone_kind[e] == CONE:
            row = w.cone_row[e]
            bears = where(w.z[row], OPEN * LEAST_RADIUS, 0.0, 1.0)
            for r in range(row, row + w.cone_dim[e]):
                w.z[r] = where(0.5, bears, w.z[r], 0.0)


@kernel
def open_islands(tree: Array, w: Array, settings: ReducedSettings, stepped: Scalar) -> None:
    """Take the best iterate, and mark the islands that it does not solve: all of them where no step was taken in a
    lane (``stepped`` is zero), as momentum is not balanced there."""
    label_islands(tree, w)
    if some_below(stepped, 0.5):
        for a in range(tree.nlimbs):
            w.island_open[a] = 1
    copy_numbers(w.z_best, w.z, w.counts[ROWS])
    copy_numbers(w.v_best, w.v_next, tree.nv)
    row_velocities(tree, w)
    for e in range(w.counts[CONES]):
        solved = where(set_residual(w, e, 1.0), settings.tolerance, 1.0, 0.0)
        if some_below(solved, 0.5):
            w.island_open[island_of(w, e)] = 1


@kernel
def solve_sets(tree: Array, w: Array, settings: ReducedSettings, before: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Residual, iterations on the true problem, and the kind of the step; ``v_next`` and ``z`` are the step.

    Args:
        tree: Of the robot.
        w: Work arrays.
        settings: Parameters of the step.
        before: The kind of the step before: 0, `CONVEX`, or `JAMMED` and how many steps ago all removal was tried.
    """
    most = where(0.5, before, minimum(settings.most, RETRIED), settings.most)
    waited = where(JAMMED - 0.5, before, before - JAMMED + 1.0, 0.0)
    waited = where(waited, RETRIED, waited, 0.0)
    nearly = maximum(NEARLY * settings.gravity * settings.dt, ROUNDED * settings.tolerance)
    copy_numbers(w.z, w.z_start, w.counts[ROWS])
    copy_numbers(w.v_next, w.v_start, tree.nv)
    copy_numbers(w.z, w.z_best, w.counts[ROWS])
    copy_numbers(w.v_next, w.v_best, tree.nv)
    row_velocities(tree, w)
    held = hold_remembered(w, settings, minimum(waited, 1.0))
    warm = is_warm(w, settings.gravity * settings.dt)
    going = warm
    best = UNBOUNDED
    iterations = 0.0
    sets = -1
    far = 0.0
    for attempt in range(2):
        for _ in range(ROUNDS):
            if some_below(0.5 - going, 0.0):
                restart(tree, w, going, 1.0)
                row_velocities(tree, w)
                best, more = semismooth(tree, w, settings, going, best)
                iterations = iterations + more
                going = hold_strong(w, settings, w.z)
                held = maximum(held, going)
        if attempt == 0 and some_below(0.5 - unsolved(settings, best, iterations, most), 0.0):
            open_islands(tree, w, settings, warm)
            sets = set_aside_solved(tree, w)
        for again in range(2):
            if some_below(0.5 - unsolved(settings, best, iterations, most), 0.0):
                start = 1.0 - float(again)
                best, iterations = smoothed_and_polished(tree, w, settings, start, best, iterations, most)
        far = where(best, nearly, 0.0, 1.0)
        jammed = maximum(hold_strong(w, settings, w.z_best), hold_all(w, settings, far))
        held = maximum(held, jammed)
        best = where(0.5, jammed, UNBOUNDED, best)
        most = where(0.5, jammed, iterations + settings.most, 0.0)
        going = jammed * warm
    if some_below(0.5 - far, 0.0):
        dissipative_step(tree, w, settings, far)
    copy_numbers(w.z_best, w.z, w.counts[ROWS])
    copy_numbers(w.v_best, w.v_next, tree.nv)
    if sets >= 0:
        bring_back_solved(tree, w, sets)
    clear_open_contacts(w)
    if some_below(0.5 - far, 0.0):
        row_velocities(tree, w)
        missed = problem_residual(w)
        best = where(0.5, far, where(missed, UNBOUNDED, maximum(missed, best), UNBOUNDED), best)
    return best, iterations, where(0.5, far, CONVEX, where(0.5, held, JAMMED + waited, 0.0))
