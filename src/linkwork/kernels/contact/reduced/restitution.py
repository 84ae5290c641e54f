# SPDX-License-Identifier: BSD-3-Clause
"""Restitution that adds no energy, in steps by the reduced matrix: the law of `contact.restitution`.

The work of all rows, but for removing penetration and closing loops, is ::

    W = sum z (u + u+) / 2 + sum z_0 min(b, 0),      b of a plastic impact

with velocities ``u`` before the step and ``u+`` after it. Where it is positive, the step is solved again with the
coefficients ``(1 - reduction) e``.
"""

from __future__ import annotations

from linkwork.kernels.contact.problem import normal_offset
from linkwork.kernels.contact.reduced.problem import LOOPS, POINTS
from linkwork.kernels.contact.reduced.rows import ReducedSettings
from linkwork.kernels.contact.restitution import FIRST_REDUCTION, LEFT
from linkwork.kernels.elementary import maximum, minimum
from linkwork.kernels.scalar import Array, Scalar, kernel, where
from linkwork.kernels.thresholds import ZERO_WORK


@kernel
def impact_work(tree: Array, w: Array, settings: ReducedSettings) -> tuple[Scalar, Scalar, Scalar]:
    """``W`` of all rows, ``sum z_0 |u_n|`` of contacts that bounce, and ``sum z_0`` of all; after `rows_times`."""
    work = 0.0
    pressure = 0.0
    approach = 0.0
    for p in range(w.counts[POINTS]):
        row = w.cone_row[p]
        plastic = normal_offset(tree, w.point_slot[p], w.effective_gap[p], w.before[row], settings, 0.0)
        work += w.z[row] * (0.5 * (w.before[row] + w.after[row]) + minimum(plastic, 0.0))
        for r in range(row + 1, row + w.cone_dim[p]):
            work += 0.5 * w.z[r] * (w.before[r] + w.after[r])
        pressure += w.z[row]
        approach += where(w.offset[p], plastic, maximum(-(w.z[row] * w.before[row]), 0.0), 0.0)
    for b in range(tree.nboxes):
        if w.box_set[b] >= 0:
            row = w.cone_row[w.box_set[b]]
            work += w.z[row] * (0.5 * (w.before[row] + w.after[row]) + minimum(w.row_c[row], 0.0))
    for l in range(tree.nloops):
        row = w.cone_row[w.counts[LOOPS] + l]
        for r in range(row, row + tree.loop_dim[l]):
            work -= 0.5 * w.z[r] * (w.after[r] - w.before[r])
    return work, approach, pressure


@kernel
def reduce_restitution(
    tree: Array, w: Array, settings: ReducedSettings, reduction: Scalar, solved: Scalar
) -> tuple[Scalar, Scalar]:
    """One where a solution adds energy and offsets have less restitution now, else zero; and the reduction."""
    work, approach, pressure = impact_work(tree, w, settings)
    gains = where(ZERO_WORK * approach, work, where(reduction, 1.0, solved, 0.0), 0.0)
    gain = work / where(0.0, approach, approach, 1.0)
    more = where(reduction, FIRST_REDUCTION, FIRST_REDUCTION, 2.0 * reduction)
    changed = where(work, LEFT * pressure * settings.tolerance, reduction + 4.0 * gain, more)
    bounces = gains * where(0.0, approach, 1.0, 0.0)
    reduced = where(0.5, bounces, minimum(changed, 1.0), reduction)
    for p in range(w.counts[POINTS]):
        row = w.cone_row[p]
        offset = normal_offset(tree, w.point_slot[p], w.effective_gap[p], w.before[row], settings, 1.0 - reduced)
        change = where(0.5, bounces, offset - w.offset[p], 0.0)
        w.offset[p] += change
        w.row_c[row] += change
    return bounces, reduced
