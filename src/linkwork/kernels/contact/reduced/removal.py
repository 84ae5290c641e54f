# SPDX-License-Identifier: BSD-3-Clause
"""Removal of penetration, and problems without a solution: shapes that overlap and cannot be moved apart.

Penetration is removed by velocities that rows must have, ``A v >= -c`` with ``c < 0``. Shapes of a file that overlap
between links which no joint moves apart, or beyond a joint at its limit, have none: the problem has no solution. Without
the removal it always has one, as the velocity zero violates no row (Klarbring and Pang 1998; Acary and Cadoux 2013). So
where Newton's method fails, the step is solved without it, and then with it from that solution on, which is near to it
where there is one. Where there is none, penetration stays as it is: the step is *jammed*, and counted.

| symbol      | meaning                                                                          |
|-------------|----------------------------------------------------------------------------------|
| removal     | the part of ``row_c`` of a set that removes penetration, at most zero             |
| kept_c      | ``row_c`` of sets with it                                                        |
| held        | one in lanes in which a set has its removal held back                             |
| z_held, v_held | the solution without removal                                                  |
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.contact.reduced.problem import CONE, CONES, ROWS
from linkwork.kernels.contact.reduced.residual import keep_best, problem_residual
from linkwork.kernels.contact.reduced.rows import ReducedSettings
from linkwork.kernels.contact.reduced.smoothing_newton import row_velocities
from linkwork.kernels.contact.reduced.stages import polish
from linkwork.kernels.elementary import copy_numbers, maximum
from linkwork.kernels.scalar import Array, Scalar, kernel, where
from linkwork.model.thresholds import UNBOUNDED

REMOVAL_WORK: dict[str, Shape] = {"kept_c": ("nsets",), "z_held": ("nrows",), "v_held": ("nv",)}


@kernel
def hold_removal(w: Array, settings: ReducedSettings, lanes: Scalar) -> Scalar:
    """Take the removal of penetration out of all sets in ``lanes``: one where a set had any, else zero.

    Contacts that bounce keep their offset, which is larger than that of the removal.
    """
    held = 0.0
    for e in range(w.counts[CONES]):
        c = w.row_c[w.cone_row[e]]
        w.kept_c[e] = c
        if w.cone_kind[e] == CONE:
            bounces = where(c, w.removal[e] - settings.tolerance, 1.0, 0.0)
            without = where(0.5, bounces, c, maximum(c, 0.0))
            held = where(c, where(0.5, lanes, without, c), 1.0, held)
            w.row_c[w.cone_row[e]] = where(0.5, lanes, without, c)
    return held


@kernel
def release_removal(w: Array) -> None:
    """Give sets their removal back."""
    for e in range(w.counts[CONES]):
        w.row_c[w.cone_row[e]] = w.kept_c[e]


@kernel
def with_removal(
    tree: Array, w: Array, settings: ReducedSettings, held: Scalar, best: Scalar
) -> tuple[Scalar, Scalar, Scalar]:
    """The least residual after semismooth steps from the solution without removal, iterations, and which are jammed.

    Lanes that are solved so have this solution; those that are not keep the one without removal, and its residual.

    Args:
        tree: Of the robot.
        w: Work arrays; ``z_best`` and ``v_best`` are the solution without removal.
        settings: Parameters of the step.
        held: One in lanes that are solved without removal, else zero.
        best: Their residual.
    """
    copy_numbers(w.z_best, w.z_held, w.counts[ROWS])
    copy_numbers(w.v_best, w.v_held, tree.nv)
    copy_numbers(w.z_best, w.z, w.counts[ROWS])
    copy_numbers(w.v_best, w.v_next, tree.nv)
    release_removal(w)
    row_velocities(tree, w)
    residual = where(0.5, held, problem_residual(w), best)
    least = where(0.5, held, keep_best(tree, w, residual, where(0.5, held, UNBOUNDED, best)), best)
    going = held * where(settings.tolerance, residual, 1.0, 0.0)
    least, iterations = polish(tree, w, settings, residual, least, going)
    jammed = held * where(settings.tolerance, least, 1.0, 0.0)
    for r in range(w.counts[ROWS]):
        w.z_best[r] = where(0.5, jammed, w.z_held[r], w.z_best[r])
    for k in range(tree.nv):
        w.v_best[k] = where(0.5, jammed, w.v_held[k], w.v_best[k])
    return where(0.5, jammed, best, least), iterations, jammed
