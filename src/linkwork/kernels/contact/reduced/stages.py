# SPDX-License-Identifier: BSD-3-Clause
"""Stages of the solver of a step by the reduced matrix: semismooth Newton, and central paths where it fails.

1. *Semismooth Newton*: equations without smoothing, full steps, from the impulses of the step before, whose contacts
   are taken to go on. It ends where the residual has not halved for `PATIENCE` iterations.
2. *Newton along central paths* (`central_path`), whose best iterate semismooth Newton polishes where they end early.

Of all iterates the one with the least residual is kept. A lane that is done keeps what it has.

| symbol           | meaning                                                                        |
|------------------|--------------------------------------------------------------------------------|
| z_start, v_start | impulses and velocities to start from                                          |
| z_best, v_best   | the iterate with the least residual so far                                     |
| guessed          | ``y`` that the first step is linearized at                                     |
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.reduced.central_path import PATH_WORK, follow_path
from linkwork.kernels.contact.reduced.problem import CONE, CONES, PYRAMID, ROWS, SYMMETRIC
from linkwork.kernels.contact.reduced.pyramid import guess_pyramid
from linkwork.kernels.contact.reduced.residual import FIRST, final_residual, keep_best, problem_residual
from linkwork.kernels.contact.reduced.rows import ReducedSettings
from linkwork.kernels.contact.reduced.smoothing_newton import (
    NEWTON_WORK,
    Smoothing,
    linearize,
    newton_direction,
    row_velocities,
    take_step,
)
from linkwork.kernels.elementary import magnitude, maximum
from linkwork.kernels.scalar import Array, Scalar, kernel, prange, some_below, sqrt, where
from linkwork.model.thresholds import UNBOUNDED

PATIENCE = 4.5
"""Semismooth iterations without a residual of half the least before: a cycle is shorter than this."""
SEMISMOOTH = 20
"""The most semismooth iterations of a step."""
WARM = 0.3
"""A contact of a warm start goes on where less than this part of what its impulse can do would end it."""
SLIDES = 0.9
"""A contact of a warm start slides with more than this part of the impulse that friction can have."""

STAGE_WORK: dict[str, Shape] = (
    NEWTON_WORK
    | PATH_WORK
    | {
        "z_start": ("nrows",),
        "v_start": ("nv",),
        "z_best": ("nrows",),
        "v_best": ("nv",),
        "guessed": ("nrows",),
    }
)


# Where to begin -----------------------------------------------------------------------------------------------------


@kernel
def no_changes(w: Array) -> None:
    """A step of nothing."""
    for r in prange(w.counts[ROWS]):
        w.dz[r] = 0.0
        w.dy[r] = 0.0


@kernel
def guess(w: Array, settings: ReducedSettings) -> None:
    """``guessed``: contacts of a warm start go on, sticking or sliding. Without a start, all that gravity closes are
    taken to stick and to bear alike, as they do in a pile at rest."""
    fall = settings.gravity * settings.dt
    bears = 0.0
    for e in range(w.counts[CONES]):
        if (w.cone_kind[e] == CONE and w.cone_dim[e] > 1) or w.cone_kind[e] == PYRAMID:
            bears = maximum(bears, w.z[w.cone_row[e]])
    cold = where(0.0, bears, 0.0, 1.0)
    for e in prange(w.counts[CONES]):
        row = w.cone_row[e]
        for r in range(row, row + w.cone_dim[e]):
            w.guessed[r] = w.row_y[r]
        if w.cone_kind[e] == PYRAMID:
            rests = where(magnitude(w.row_y[row]), fall, cold, 0.0)
            w.z[row] = where(0.5, rests, fall / w.cone_D[e], w.z[row])
            guess_pyramid(w, e, where(0.0, w.z[row], 1.0, 0.0))
        if w.cone_kind[e] == CONE:
            t = 0.0
            for r in range(row + 1, row + w.cone_dim[e]):
                t = t + w.z[r] * w.z[r]
            goes_on = where(w.row_y[row], WARM * w.cone_D[e] * w.z[row], 1.0, 0.0)
            slides = where(sqrt(t), SLIDES * w.z[row], 0.0, goes_on)
            if w.cone_dim[e] > 1:
                rests = where(magnitude(w.row_y[row]), fall, cold, 0.0)
                w.z[row] = where(0.5, rests, fall / w.cone_D[e], w.z[row])
                goes_on = maximum(goes_on, rests)
            moves = 1.0 - goes_on + slides
            w.guessed[row] = where(0.5, goes_on, -(w.compliance[row] * w.z[row]), w.row_y[row])
            for r in range(row + 1, row + w.cone_dim[e]):
                w.guessed[r] = where(0.5, moves, w.row_y[r], -(w.compliance[r] * w.z[r]))


@kernel
def first_step(tree: Array, w: Array, how: Smoothing, going: Scalar) -> None:
    """A full step of equations that are linearized at ``guessed``, in lanes that are ``going``."""
    for r in prange(w.counts[ROWS]):
        y = w.row_y[r]
        w.row_y[r] = w.guessed[r]
        w.guessed[r] = y - w.guessed[r]
    w.counts[SYMMETRIC] = 1
    for e in prange(w.counts[CONES]):
        linearize(w, e, how)
    for e in prange(w.counts[CONES]):  # r + G (y - guessed): what is linear about the guess
        row = w.cone_row[e]
        for i in range(w.cone_dim[e]):
            for j in range(w.cone_dim[e]):
                w.dz[row + i] += w.cone_G[row + i, j] * w.guessed[row + j]
    for r in prange(w.counts[ROWS]):
        w.row_y[r] += w.guessed[r]
    newton_direction(tree, w)
    take_step(tree, w, going)


# Semismooth Newton --------------------------------------------------------------------------------------------------


@kernel
def polish(
    tree: Array, w: Array, settings: ReducedSettings, residual: Scalar, best: Scalar, going: Scalar
) -> tuple[Scalar, Scalar]:
    """Semismooth steps from an iterate in lanes that are ``going``: the least residual, and iterations."""
    how = Smoothing(0.0, 1.0, settings.slack, 1.0, settings.mean, 1.0)
    tolerance = settings.tolerance
    mark = residual
    waited = 0.0
    iterations = 0.0
    k = 0
    while k < SEMISMOOTH and some_below(0.5 - going, 0.0):
        w.counts[SYMMETRIC] = 1
        for e in prange(w.counts[CONES]):
            linearize(w, e, how)
        newton_direction(tree, w)
        take_step(tree, w, going)
        before = residual
        residual = where(0.5, going, problem_residual(w), residual)
        best = keep_best(tree, w, residual, best)
        iterations = iterations + going
        waited = where(residual, 0.5 * mark, 0.0, waited + 1.0)
        mark = where(residual, 0.5 * mark, residual, mark)
        going = going * where(final_residual(tolerance, before), residual, where(waited, PATIENCE, 1.0, 0.0), 0.0)
        k += 1
    return best, iterations


@kernel
def semismooth(tree: Array, w: Array, settings: ReducedSettings, active: Scalar, best: Scalar) -> tuple[Scalar, Scalar]:
    """The least residual of semismooth steps from what `guess` says where ``active`` is one, and iterations; after
    `row_velocities`. ``best`` is the least residual of the other lanes."""
    how = Smoothing(0.0, 1.0, settings.slack, 1.0, settings.mean, 1.0)
    no_changes(w)
    guess(w, settings)
    first_step(tree, w, how, active)
    residual = where(0.5, active, problem_residual(w), best)
    best = keep_best(tree, w, residual, where(0.5, active, UNBOUNDED, best))
    going = active * where(FIRST * settings.tolerance, residual, where(1.0, settings.most, 1.0, 0.0), 0.0)
    best, iterations = polish(tree, w, settings, residual, best, going)
    return best, active + iterations


# Newton along central paths -----------------------------------------------------------------------------------------


@kernel
def follow_and_polish(
    tree: Array, w: Array, settings: ReducedSettings, number: int, best: Scalar, done: Scalar, most: Scalar
) -> tuple[Scalar, Scalar]:
    """The least residual after iterations along a path and semismooth ones in lanes that are not solved, and all
    iterations.

    Args:
        tree: Of the robot.
        w: Work arrays.
        settings: Parameters of the step.
        number: Of the path; the first begins with the impulses of the step before, others with none.
        best: The least residual so far.
        done: Iterations so far.
        most: The most iterations.
    """
    failed = unsolved(settings, best, done, most)
    restart(tree, w, failed, 1.0 if number == 0 else 0.0)
    if number == 0:
        row_velocities(tree, w)
        guess(w, settings)
    best, more = follow_path(tree, w, settings, number, failed, best, most - done)
    done = done + more
    failed = unsolved(settings, best, done, most)
    if some_below(0.5 - failed, 0.0):
        for r in range(w.counts[ROWS]):
            w.z[r] = where(0.5, failed, w.z_best[r], w.z[r])
        for k in range(tree.nv):
            w.v_next[k] = where(0.5, failed, w.v_best[k], w.v_next[k])
        row_velocities(tree, w)
        best, more = polish(tree, w, settings, best, best, failed)
        done = done + more
    return best, done


@kernel
def unsolved(settings: ReducedSettings, best: Scalar, done: Scalar, most: Scalar) -> Scalar:
    """One where the residual is too large and there may be more iterations, else zero."""
    return where(settings.tolerance, best, where(done, most, 1.0, 0.0), 0.0)


@kernel
def restart(tree: Array, w: Array, failed: Scalar, warm: Scalar) -> None:
    """Impulses to start from times ``warm``, in lanes that have ``failed``."""
    for r in prange(w.counts[ROWS]):
        w.z[r] = where(0.5, failed, warm * w.z_start[r], w.z[r])
    for k in prange(tree.nv):
        w.v_next[k] = where(0.5, failed, w.v_start[k], w.v_next[k])
