# SPDX-License-Identifier: BSD-3-Clause
"""The step that is always there, and takes energy: that of the convex problem, where the true one is not solved.

Without De Saxcé's term, with ``c_n >= 0`` (neither restitution, nor penetration that is removed) and with a slight
compliance of all rows, impulses are the minimum of a strongly convex function over cones ``K`` and intervals::

    f(z) = z' (A v_free + c) + z' (A M⁻¹ A' + C) z / 2        M v_free = p

It exists whatever the rows: between walls that contradict each other, the compliance shares out what is missing. Any
``z`` in ``K`` with ``f(z) <= 0`` takes energy from free motion, as the kinetic energy changes by
``z' A v_free + z' A M⁻¹ A' z / 2 <= f(z) - z' c``, and ``z' c >= 0`` but for surfaces that move and loops that close.
So what iterations leave is projected onto ``K`` and multiplied by the ``t`` in [0, 1] with the least ``f(t z)``: the
step takes energy even where iterations did not converge, and is free motion where they left no number.

| symbol           | meaning                                                     |
|------------------|-------------------------------------------------------------|
| far              | one in lanes that take this step                              |
| normal_c, saxce  | ``row_c`` and ``cone_saxce`` of cones of the true problem     |
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.reduced.factor import factorize_reduced, solve_reduced
from linkwork.kernels.contact.reduced.matrix import add_rows_transposed, rows_times
from linkwork.kernels.contact.reduced.problem import BOX, CONE, CONES, PYRAMID, ROWS, SYMMETRIC
from linkwork.kernels.contact.reduced.pyramid import project_pyramid
from linkwork.kernels.contact.reduced.rows import ReducedSettings
from linkwork.kernels.contact.reduced.stages import follow_and_polish
from linkwork.kernels.elementary import clamp, magnitude, maximum
from linkwork.kernels.scalar import Array, Scalar, kernel, prange, sqrt, where
from linkwork.kernels.thresholds import LEAST_DENOMINATOR, LEAST_RADIUS
from linkwork.model.thresholds import UNBOUNDED

SOFTNESS = 1e-6
"""Compliance of all rows, as a part of their inverse inertia: bodies at rest sink by this part of what they fall in a
step."""
MOST = 60.0
"""The most iterations of the convex problem, whatever the settings: without it there is no step."""

FALLBACK_WORK: dict[str, Shape] = {"normal_c": ("nsets",), "saxce": ("nsets",)}


@kernel
def make_convex(w: Array, far: Scalar) -> None:
    """The convex problem in lanes where ``far`` is one."""
    for e in prange(w.counts[CONES]):
        row = w.cone_row[e]
        w.normal_c[e] = w.row_c[row]
        w.saxce[e] = w.cone_saxce[e]
        if w.cone_kind[e] == CONE:
            w.row_c[row] = where(0.5, far, maximum(w.row_c[row], 0.0), w.row_c[row])
            w.cone_saxce[e] = where(0.5, far, 0.0, w.cone_saxce[e])
        if w.cone_kind[e] != BOX:
            soft = where(0.5, far, SOFTNESS * w.cone_D[e], 0.0)
            for r in range(row, row + w.cone_dim[e]):
                w.compliance[r] += soft


@kernel
def make_exact(w: Array, far: Scalar) -> None:
    """The true problem again."""
    for e in prange(w.counts[CONES]):
        row = w.cone_row[e]
        w.row_c[row] = w.normal_c[e]
        w.cone_saxce[e] = w.saxce[e]
        if w.cone_kind[e] != BOX:
            soft = where(0.5, far, SOFTNESS * w.cone_D[e], 0.0)
            for r in range(row, row + w.cone_dim[e]):
                w.compliance[r] -= soft


@kernel
def project_impulses(w: Array) -> None:
    """Impulses in cones and intervals; zeros for what is not a number."""
    for e in prange(w.counts[CONES]):
        row = w.cone_row[e]
        square = 0.0
        for r in range(row, row + w.cone_dim[e]):
            w.z[r] = where(magnitude(w.z[r]), UNBOUNDED, w.z[r], 0.0)
        if w.cone_kind[e] == CONE:
            w.z[row] = maximum(w.z[row], 0.0)
            for r in range(row + 1, row + w.cone_dim[e]):
                square = square + w.z[r] * w.z[r]
            length = sqrt(square)
            part = where(w.z[row], length, w.z[row] / maximum(length, LEAST_RADIUS), 1.0)
            for r in range(row + 1, row + w.cone_dim[e]):
                w.z[r] = part * w.z[r]
        elif w.cone_kind[e] == PYRAMID:
            project_pyramid(w, e)
        elif w.cone_kind[e] == BOX:
            w.z[row] = clamp(w.z[row], w.lower[e], w.upper[e])


@kernel
def velocities_of_impulses(tree: Array, w: Array, far: Scalar) -> None:
    """``v_next`` of free motion and the part of the impulses ``z`` with the least ``f``, in lanes that are ``far``."""
    for e in prange(w.counts[CONES]):
        for r in range(w.cone_row[e], w.cone_row[e] + w.cone_dim[e]):
            for k in range(w.cone_dim[e]):
                w.cone_G[r, k] = 0.0
    w.counts[SYMMETRIC] = 1
    factorize_reduced(tree, w)
    for k in prange(tree.nv):
        w.Mv[k] = w.momentum[k]
        w.dv[k] = 0.0
    solve_reduced(tree, w, w.Mv)
    add_rows_transposed(tree, w, w.z, w.dv)
    solve_reduced(tree, w, w.dv)
    rows_times(tree, w, w.Mv, w.row_y)
    rows_times(tree, w, w.dv, w.dy)
    linear = 0.0
    square = 0.0
    for e in range(w.counts[CONES]):
        for r in range(w.cone_row[e], w.cone_row[e] + w.cone_dim[e]):
            linear = linear + w.z[r] * (w.row_y[r] + w.row_c[r])
            square = square + w.z[r] * w.dy[r]
    t = clamp(-linear / maximum(square, LEAST_DENOMINATOR), 0.0, 1.0)
    t = where(-1.0, t, t, 0.0)
    for k in prange(tree.nv):
        w.v_next[k] = where(0.5, far, w.Mv[k] + t * w.dv[k], w.v_next[k])
    for r in prange(w.counts[ROWS]):
        w.z[r] = t * w.z[r]


@kernel
def dissipative_step(tree: Array, w: Array, settings: ReducedSettings, far: Scalar) -> None:
    """The step of the convex problem where ``far`` is one, in ``z_best`` and ``v_best``."""
    make_convex(w, far)
    start = where(0.5, far, UNBOUNDED, 0.0)
    follow_and_polish(tree, w, settings, 1, start, 0.0, MOST)
    for r in prange(w.counts[ROWS]):
        w.z[r] = w.z_best[r]
    project_impulses(w)
    velocities_of_impulses(tree, w, far)
    for r in prange(w.counts[ROWS]):
        w.z_best[r] = where(0.5, far, w.z[r], w.z_best[r])
    for k in prange(tree.nv):
        w.v_best[k] = where(0.5, far, w.v_next[k], w.v_best[k])
    make_exact(w, far)
