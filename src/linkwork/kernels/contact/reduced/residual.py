# SPDX-License-Identifier: BSD-3-Clause
"""The residual of the problem of a step, a velocity: what sets of rows miss of their laws, without smoothing."""

from __future__ import annotations

from linkwork.kernels.contact.cones import inverse_length
from linkwork.kernels.contact.reduced.problem import BOX, CONE, CONES, EQUALITY, LOOPS, PYRAMID, ROWS
from linkwork.kernels.contact.reduced.pyramid import pyramid_residual
from linkwork.kernels.elementary import clamp, largest_of, magnitude, maximum, minimum, total_of
from linkwork.kernels.scalar import Array, Scalar, kernel, prange, sqrt, where
from linkwork.kernels.thresholds import LEAST_RADIUS, STAGNATION
from linkwork.model.thresholds import UNBOUNDED

FIRST = 0.1
"""Part of the tolerance at which iterations end; one more iteration may miss it: what steps of a simulation that start
warm leave has one sign, and adds up."""


@kernel
def final_residual(tolerance: Scalar, before: Scalar) -> Scalar:
    """The residual at which iterations end, after one with the residual ``before``."""
    return where(tolerance, before, FIRST * tolerance, UNBOUNDED)


@kernel
def cone_residual(w: Array, e: int) -> Scalar:
    """``|D (f - P_K(f - w / D))|`` of a contact, with forces and velocities along tangents in units of sliding."""
    row = w.cone_row[e]
    D = w.cone_D[e]
    mu = w.cone_mu[e]
    over_mu = inverse_length(mu)
    normal = w.row_y[row] + w.compliance[row] * w.z[row]
    if w.cone_dim[e] == 1:
        return D * magnitude(w.z[row] - maximum(w.z[row] - normal / D, 0.0)) * w.cone_unit[e]
    slip = 0.0
    for r in range(row + 1, row + w.cone_dim[e]):
        slip = slip + w.row_y[r] * w.row_y[r]
    normal = normal + w.cone_saxce[e] * sqrt(slip)
    n = w.z[row] - normal / D
    radius = 0.0
    for r in range(row + 1, row + w.cone_dim[e]):
        u = mu * w.z[r] - (w.row_y[r] + w.compliance[r] * w.z[r]) * over_mu / D
        radius = radius + u * u
    radius = sqrt(radius)
    height = (mu * radius + n) / (1.0 + mu * mu)
    inside = where(mu * n, radius, 0.0, 1.0)
    polar = where(-(mu * radius), n, 0.0, 1.0)
    P = where(0.5, polar, 0.0, where(0.5, inside, n, height))
    side = where(0.5, polar, 0.0, where(0.5, inside, 1.0, mu * height / maximum(radius, LEAST_RADIUS)))
    x = (w.z[row] - P) * (w.z[row] - P)
    for r in range(row + 1, row + w.cone_dim[e]):
        d = mu * w.z[r] - side * (mu * w.z[r] - (w.row_y[r] + w.compliance[r] * w.z[r]) * over_mu / D)
        x = x + d * d
    return D * sqrt(x)


@kernel
def set_residual(w: Array, e: int, met: Scalar) -> Scalar:
    """The residual of a set, a velocity; ``met`` is zero where rows of loops contradict each other."""
    row = w.cone_row[e]
    x = 0.0
    if w.cone_kind[e] == CONE:
        x = cone_residual(w, e)
    elif w.cone_kind[e] == PYRAMID:
        x = pyramid_residual(w, e)
    elif w.cone_kind[e] == BOX:
        y = w.row_y[row] + w.compliance[row] * w.z[row]
        z = clamp(w.z[row] - y / w.cone_D[e], w.lower[e], w.upper[e])
        x = w.cone_unit[e] * w.cone_D[e] * magnitude(w.z[row] - z)
    else:
        for r in range(row, row + w.cone_dim[e]):
            x = maximum(x, met * w.row_unit[r] * magnitude(w.row_y[r] + w.compliance[r] * w.z[r]))
    return x


@kernel
def problem_residual(w: Array) -> Scalar:
    """The largest residual of all sets, a velocity; `UNBOUNDED` where it is no number."""
    met = loops_change(w)
    for e in prange(w.counts[CONES]):
        w.set_value[e] = set_residual(w, e, met)
    largest = largest_of(w.set_value, w.counts[CONES])
    return where(
        total_of(w.set_value, w.counts[CONES]), UNBOUNDED, largest, UNBOUNDED
    )  # what is no number is not solved


@kernel
def loops_change(w: Array) -> Scalar:
    """Zero where a full step does not change what rows of loops miss: they contradict each other; else one."""
    square = 0.0
    change = 0.0
    if w.counts[LOOPS] < 0:
        return 1.0
    for e in range(w.counts[CONES]):
        if w.cone_kind[e] == EQUALITY:
            for r in range(w.cone_row[e], w.cone_row[e] + w.cone_dim[e]):
                unit = w.row_unit[r] * w.row_unit[r]
                x = w.row_y[r] + w.compliance[r] * w.z[r]
                dx = w.dy[r] + w.compliance[r] * w.dz[r]
                square = square + unit * x * x
                change = change + unit * dx * dx
    return where(change, STAGNATION * STAGNATION * square, 0.0, 1.0)


@kernel
def keep_best(tree: Array, w: Array, residual: Scalar, best: Scalar) -> Scalar:
    """Keep the iterate if its residual is less than the best; the less of the two."""
    for r in prange(w.counts[ROWS]):
        w.z_best[r] = where(residual, best, w.z[r], w.z_best[r])
    for k in prange(tree.nv):
        w.v_best[k] = where(residual, best, w.v_next[k], w.v_best[k])
    return minimum(residual, best)
