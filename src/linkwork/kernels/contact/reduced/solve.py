# SPDX-License-Identifier: BSD-3-Clause
"""The solver of a step by the reduced matrix: semismooth Newton, central paths where it fails, the convex problem.

1. Semismooth Newton on the whole problem, from the impulses of the step before (`stages`). Where no contact bears at
   the start, it is left out: of the many impulses of redundant contacts a path finds those that bear alike.
2. Newton along central paths, from these impulses and then from none, in every island that is not solved (`islands`).
3. Where neither finds a solution, the best iterate is the step if it nearly solves the problem: if it misses less than
   `NEARLY` of what bodies fall in a step. Errors of that size change the work of contacts by that part of the work of
   gravity, and penetration by that part of what one step of free fall would make.
4. Else the step is that of the convex problem (`fallback`), which always has one and takes energy; the residual is that
   of the true problem.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.reduced.central_path import PATHS
from linkwork.kernels.contact.reduced.dense import list_for_warp
from linkwork.kernels.contact.reduced.fallback import FALLBACK_WORK, dissipative_step
from linkwork.kernels.contact.reduced.islands import (
    ISLAND_WORK,
    island_of,
    keep_island,
    label_islands,
    select_island,
)
from linkwork.kernels.contact.reduced.problem import CONE, CONES, PYRAMID, ROWS, SYMMETRIC
from linkwork.kernels.contact.reduced.removal import hold_all, hold_remembered, hold_strong
from linkwork.kernels.contact.reduced.residual import problem_residual, set_residual
from linkwork.kernels.contact.reduced.rows import ReducedSettings
from linkwork.kernels.contact.reduced.smoothing_newton import newton_direction, row_velocities, take_step
from linkwork.kernels.contact.reduced.stages import STAGE_WORK, follow_and_polish, restart, semismooth, unsolved
from linkwork.kernels.elementary import copy_numbers, maximum, minimum
from linkwork.kernels.scalar import Array, Scalar, kernel, prange, some_below, where
from linkwork.kernels.thresholds import LEAST_RADIUS
from linkwork.model.thresholds import UNBOUNDED

OPEN = 10.0
"""Contacts with a smaller multiple of what smoothing of zero leaves are open."""
NEARLY = 1e-3
"""An iterate is the step, though not a solution, if it misses less than this part of the velocity that gravity adds."""
ROUNDED = 10.0
"""Without gravity and in single precision: so many tolerances."""
RETRIED = 30.0
"""The most iterations after a step of the convex problem, as most problems that have a solution need fewer; and steps
after which removal is tried again that took impulses beyond all measure twice: what is jammed stays so for many."""

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
        if (w.cone_kind[e] == CONE and w.cone_dim[e] > 1) or w.cone_kind[e] == PYRAMID:
            touching = where(w.row_y[w.cone_row[e]], fall, 1.0, touching)
            bears = maximum(bears, w.z[w.cone_row[e]])
    return where(0.0, bears, 1.0, 1.0 - touching)


@kernel
def clear_open_contacts(w: Array) -> None:
    """No impulses of contacts and limits that are open, where projections leave `LEAST_RADIUS`."""
    for e in prange(w.counts[CONES]):
        if w.cone_kind[e] == CONE or w.cone_kind[e] == PYRAMID:
            row = w.cone_row[e]
            bears = where(w.z[row], OPEN * LEAST_RADIUS, 0.0, 1.0)
            for r in range(row, row + w.cone_dim[e]):
                w.z[r] = where(0.5, bears, w.z[r], 0.0)


@kernel
def free_velocities(tree: Array, w: Array, free: Scalar) -> None:
    """``v_next = M⁻¹ p``, where ``free`` is one: what limbs without sets have after the step."""
    sets = w.counts[CONES]
    w.counts[CONES] = 0
    w.counts[SYMMETRIC] = 1
    list_for_warp(tree, w)
    newton_direction(tree, w)
    take_step(tree, w, free)
    w.counts[CONES] = sets
    list_for_warp(tree, w)


@kernel
def open_islands(tree: Array, w: Array, settings: ReducedSettings, stepped: Scalar) -> Scalar:
    """Take the best iterate, and mark the islands that it does not solve: all of them where no step was taken in a
    lane (``stepped`` is zero), as momentum is not balanced there. The largest residual of the others."""
    label_islands(tree, w)
    copy_numbers(w.z_best, w.z, w.counts[ROWS])
    copy_numbers(w.v_best, w.v_next, tree.nv)
    if some_below(stepped, 0.5):
        free_velocities(tree, w, 1.0 - stepped)
    row_velocities(tree, w)
    for e in range(w.counts[CONES]):
        solved = where(set_residual(w, e, 1.0), settings.tolerance, stepped, 0.0)
        if some_below(solved, 0.5):
            w.island_open[island_of(w, e)] = 1
    largest = 0.0
    for e in range(w.counts[CONES]):
        if w.island_open[island_of(w, e)] == 0:
            largest = maximum(largest, set_residual(w, e, 1.0))
    return largest


@kernel
def solve_island(
    tree: Array, w: Array, settings: ReducedSettings, stepped: Scalar, done: Scalar, most: Scalar
) -> tuple[Scalar, Scalar, Scalar, Scalar, Scalar]:
    """Residual, iterations, whether the step is that of the convex problem, whether removal is given up, and whether
    that is due to impulses beyond all measure; ``v_best`` and ``z_best`` are the step of the sets and limbs that are
    left in the problem.

    Args:
        tree: Of the robot.
        w: Work arrays; ``kept_z, kept_v`` may solve the island in some lanes.
        settings: Parameters of the step.
        stepped: One where momentum is balanced.
        done: Iterations so far.
        most: The most iterations.
    """
    nearly = maximum(NEARLY * settings.gravity * settings.dt, ROUNDED * settings.tolerance)
    copy_numbers(w.kept_z, w.z_best, w.counts[ROWS])
    copy_numbers(w.kept_v, w.v_best, tree.nv)
    copy_numbers(w.kept_z, w.z, w.counts[ROWS])
    copy_numbers(w.kept_v, w.v_next, tree.nv)
    row_velocities(tree, w)
    best = where(0.5, stepped, problem_residual(w), UNBOUNDED)
    far = 0.0
    held = 0.0
    strong = 0.0
    for _ in range(2):
        number = 0
        while number < PATHS and some_below(0.5 - unsolved(settings, best, done, most), 0.0):
            best, done = follow_and_polish(tree, w, settings, number, best, done, most)
            number += 1
        far = where(best, nearly, 0.0, 1.0)
        beyond = hold_strong(w, settings, w.z_best)
        jammed = maximum(beyond, hold_all(w, settings, far))
        strong = maximum(strong, beyond)
        held = maximum(held, jammed)
        best = where(0.5, jammed, UNBOUNDED, best)
        most = where(0.5, jammed, done + settings.most, 0.0)
    if some_below(0.5 - far, 0.0):
        dissipative_step(tree, w, settings, far)
        copy_numbers(w.z_best, w.z, w.counts[ROWS])
        copy_numbers(w.v_best, w.v_next, tree.nv)
        row_velocities(tree, w)
        missed = problem_residual(w)
        best = where(0.5, far, where(missed, UNBOUNDED, maximum(missed, best), UNBOUNDED), best)
    return best, done, far, held, strong


@kernel
def solve_sets(tree: Array, w: Array, settings: ReducedSettings, before: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Residual, iterations on the true problem in the island that takes most, and the kind of the step; ``v_next`` and
    ``z`` are the step.

    Args:
        tree: Of the robot.
        w: Work arrays.
        settings: Parameters of the step.
        before: The kind of the step before: 0, `CONVEX`, or `JAMMED` and how many steps ago all removal was tried.
    """
    convex = where(0.5, before, where(JAMMED - 0.5, before, 0.0, 1.0), 0.0)
    most = where(0.5, convex, minimum(settings.most, RETRIED), settings.most)
    waited = where(JAMMED - 0.5, before, before - JAMMED + 1.0, 0.0)
    waited = where(waited, RETRIED, waited, 0.0)
    copy_numbers(w.z, w.z_start, w.counts[ROWS])
    copy_numbers(w.v_next, w.v_start, tree.nv)
    copy_numbers(w.z, w.z_best, w.counts[ROWS])
    copy_numbers(w.v_next, w.v_best, tree.nv)
    row_velocities(tree, w)
    strong = hold_remembered(w, settings, minimum(waited, 1.0))
    warm = is_warm(w, settings.gravity * settings.dt)
    going = warm
    best = UNBOUNDED
    done = 0.0
    for _ in range(ROUNDS):
        if some_below(0.5 - going, 0.0):
            restart(tree, w, going, 1.0)
            row_velocities(tree, w)
            best, more = semismooth(tree, w, settings, going, best)
            done = done + more
            going = hold_strong(w, settings, w.z)
            strong = maximum(strong, going)
            best = where(0.5, going, UNBOUNDED, best)
    iterations = done
    held = strong
    convex = 0.0
    if some_below(0.5 - unsolved(settings, best, done, most), 0.0):
        best = open_islands(tree, w, settings, warm)
        copy_numbers(w.z, w.kept_z, w.counts[ROWS])
        copy_numbers(w.v_next, w.kept_v, tree.nv)
        for a in range(tree.nlimbs):
            if w.limb_island[a] == a and w.island_open[a] == 1:
                sets = select_island(tree, w, a)
                residual, its, far, jammed, beyond = solve_island(tree, w, settings, warm, done, most)
                best = maximum(best, residual)
                iterations = maximum(iterations, its)
                convex = maximum(convex, far)
                held = maximum(held, jammed)
                strong = maximum(strong, beyond)
                keep_island(tree, w, sets)
        copy_numbers(w.kept_z, w.z_best, w.counts[ROWS])
        copy_numbers(w.kept_v, w.v_best, tree.nv)
    copy_numbers(w.z_best, w.z, w.counts[ROWS])
    copy_numbers(w.v_best, w.v_next, tree.nv)
    clear_open_contacts(w)
    again = where(JAMMED - 0.5, before, strong, 0.0)
    jam = JAMMED + where(0.5, again, waited, RETRIED)
    return best, iterations, where(0.5, convex, CONVEX, where(0.5, held, jam, 0.0))
