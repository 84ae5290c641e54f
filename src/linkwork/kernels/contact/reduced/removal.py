# SPDX-License-Identifier: BSD-3-Clause
"""Removal of penetration, and problems without a solution: shapes that overlap and cannot be moved apart.

Penetration is removed by velocities that rows must have, ``A v >= -c`` with ``c < 0``. Shapes of a file that overlap
between links which no joint moves apart, or beyond a joint at its limit, have none: the problem has no solution, and
impulses of iterations grow without bound. Without the removal it always has one, as the velocity zero violates no row
(Klarbring and Pang 1998; Acary and Cadoux 2013). So the removal is given up at contacts and limits where it takes
impulses beyond all measure, and in the whole problem where no method solves it. Penetration stays as it is there: the
step is *jammed*, and counted. The next ones remember it by velocities: what was to be moved apart and was not is left
alone, until all is tried again.

| symbol  | meaning                                                               |
|---------|-----------------------------------------------------------------------|
| removal | the part of ``row_c`` of a set that removes penetration, at most zero |
| held    | one in lanes in which the removal of a set is given up                |
"""

from __future__ import annotations

from linkwork.kernels.contact.reduced.problem import CONE, CONES
from linkwork.kernels.contact.reduced.rows import ReducedSettings
from linkwork.kernels.elementary import maximum
from linkwork.kernels.scalar import Array, Scalar, kernel, where

STRONG = 100.0
"""Removal is given up where its impulse would move the bodies of a contact alone at so many times the largest velocity
of the removal: joints that hardly move the contact would turn as much faster."""


@kernel
def hold_set(w: Array, settings: ReducedSettings, e: int, lanes: Scalar) -> Scalar:
    """Give up the removal of a set in ``lanes``: one where it had any, else zero.

    Contacts that bounce keep their offset, which is larger than that of the removal.
    """
    row = w.cone_row[e]
    c = w.row_c[row]
    without = where(c, w.removal[e] - settings.tolerance, c, maximum(c, 0.0))
    held = lanes * where(c, without, 1.0, 0.0)
    w.row_c[row] = where(0.5, held, without, c)
    w.row_y[row] += where(0.5, held, without - c, 0.0)
    w.compliance[row] -= where(0.5, held, w.yields[e], 0.0)
    w.yields[e] = where(0.5, held, 0.0, w.yields[e])
    return held


@kernel
def hold_remembered(w: Array, settings: ReducedSettings, lanes: Scalar) -> Scalar:
    """Give up the removal of sets that do not move as fast before the step; after `row_velocities`."""
    held = 0.0
    for e in range(w.counts[CONES]):
        if w.cone_kind[e] == CONE:
            row = w.cone_row[e]
            slow = where(w.row_y[row] - w.row_c[row], -0.5 * w.removal[e], lanes, 0.0)
            held = maximum(held, hold_set(w, settings, e, slow))
    return held


@kernel
def hold_strong(w: Array, settings: ReducedSettings, z: Array) -> Scalar:
    """Give up the removal of sets with impulses ``z`` beyond all measure."""
    held = 0.0
    for e in range(w.counts[CONES]):
        if w.cone_kind[e] == CONE:
            velocity = w.cone_unit[e] * w.cone_D[e] * z[w.cone_row[e]]
            strong = where(STRONG * settings.push, velocity, 1.0, 0.0)
            held = maximum(held, hold_set(w, settings, e, strong))
    return held


@kernel
def hold_all(w: Array, settings: ReducedSettings, lanes: Scalar) -> Scalar:
    """Give up the removal of all sets."""
    held = 0.0
    for e in range(w.counts[CONES]):
        if w.cone_kind[e] == CONE:
            held = maximum(held, hold_set(w, settings, e, lanes))
    return held
