# SPDX-License-Identifier: BSD-3-Clause
"""The result of a step by the reduced matrix, and impulses that the next one starts from."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from linkwork.kernels.contact.reduced.problem import FORCE, LOOPS, MOMENT, POINTS, PYRAMID
from linkwork.kernels.contact.reduced.pyramid import turned
from linkwork.kernels.contact.reduced.rows import ReducedSettings
from linkwork.kernels.elementary import maximum
from linkwork.kernels.scalar import Array, Scalar, kernel, prange, some_below, where
from linkwork.plans.contact_reduced import LISTED, TOTALS


class ReducedResult(NamedTuple):
    """The outputs of a step; forces times ``dt`` are impulses."""

    residual: Annotated[Array, (1,)]
    iterations: Annotated[Array, (1,)]
    fallback: Annotated[Array, (1,)]
    """The kind of the step: 0, `CONVEX`, or `JAMMED` and more (`solve`)."""
    reduction: Annotated[Array, (1,)]
    points: Annotated[Array, ("nlisted", LISTED)]
    boxes: Annotated[Array, ("nboxes",)]
    multipliers: Annotated[Array, ("nc",)]
    a: Annotated[Array, ("nv",)]
    totals: Annotated[Array, (TOTALS,)]


@kernel
def warm_start(tree: Array, w: Array, result: ReducedResult, settings: ReducedSettings) -> None:
    """Impulses of the step before, whose result this is, of the same contact points, joints and loops.

    Numbers of contact points increase along both lists. In lanes lists of the step before may differ.
    """
    h = settings.dt * where(settings.tolerance, result.residual[0], 0.0, 1.0)
    first = 0
    for p in range(w.counts[POINTS]):
        number = float(w.listed[p])
        row = w.cone_row[p]
        for k in range(w.cone_dim[p]):
            w.z[row + k] = 0.0
        while first < tree.nlisted and not some_below(number - result.points[LISTED * first], 0.5):
            first += 1
        k = first
        while k < tree.nlisted and some_below(result.points[LISTED * k], number + 0.5):
            same = where(result.points[LISTED * k], number - 0.5, 0.0, 1.0)
            same = where(result.points[LISTED * k], number + 0.5, same, 0.0)
            restore_impulse(tree, w, p, result.points[LISTED * k : LISTED * k + LISTED], same * h)
            k += 1
    for b in prange(tree.nboxes):
        if w.box_set[b] >= 0:
            w.z[w.cone_row[w.box_set[b]]] = h * result.boxes[b]
    for l in prange(tree.nloops):
        row = w.cone_row[w.counts[LOOPS] + l]
        for k in range(tree.loop_dim[l]):
            w.z[row + k] = h * result.multipliers[tree.loop_row[l] + k]


@kernel
def restore_impulse(tree: Array, w: Array, p: int, point: Array, h: Scalar) -> None:
    """Add a force over the time ``h`` to the impulse of a set."""
    row = w.cone_row[p]
    mu = tree.pair_friction[w.point_contact[p]]
    w.z[row] += h * point[FORCE + 2]
    if tree.contact_adhesive[w.point_contact[p]] > 0:
        w.z[row] = maximum(w.z[row] + h * w.adhesive[p], 0.0)
    x = point[FORCE]
    y = point[FORCE + 1]
    roll = point[MOMENT]
    pitch = point[MOMENT + 1]
    if w.cone_kind[p] == PYRAMID:
        x, y = turned(w, p, x, y, 1.0)
        roll, pitch = turned(w, p, roll, pitch, 1.0)
    if w.cone_dim[p] > 1:
        w.z[row + 1] += h * x / mu[0]
        w.z[row + 2] += h * y / mu[1]
    if w.cone_dim[p] > 3:
        w.z[row + 3] += h * point[MOMENT + 2] / mu[2]
    if w.cone_dim[p] > 4:
        w.z[row + 4] += h * roll / mu[3]
        w.z[row + 5] += h * pitch / mu[4]
