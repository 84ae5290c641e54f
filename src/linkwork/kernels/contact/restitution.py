# SPDX-License-Identifier: BSD-3-Clause
"""Restitution that adds no energy: Newton's law with coefficients that are reduced until impulses do no positive work.

Newton's law prescribes normal velocities after an impact, whatever this takes. Friction that reverses tangential
velocities, contacts that separate when others close, and coefficients that differ can make it add energy. A plastic
impact (``e = 0``) cannot: with velocities ``u`` before the step and ``u+`` after it, the work of all rows is ::

    W = sum f (u + u+) / 2 = sum f u+ - sum f (u+ - u) / 2,      f u+ = -mu f_n |u_t+| <= 0,      u+ - u = G f

but for what other forces do in a step. So a solution with ``W > 0`` is left for that with the coefficients
``(1 - reduction) e``, with a larger ``reduction`` each time, up to one. ``reduction`` has few values, so that it does
not depend on the state almost everywhere; only work that solvers leave is removed by as much as it takes.

The work of removing penetration and closing loops is not counted: it is not that of restitution.
"""

from __future__ import annotations

from linkwork.kernels.contact.problem import ContactProblem, ContactResult, normal_offset, problem_residual, slot_vector
from linkwork.kernels.elementary import maximum, minimum
from linkwork.kernels.scalar import Array, Scalar, kernel, where
from linkwork.kernels.thresholds import ZERO_WORK

UNSOLVED = 1.001
"""The residual of changed rows is at least so many times the tolerance, so that iterations go on."""
LEFT = 10.0
"""Work of less than this many times the tolerance in the velocity of all contacts is taken for what solvers leave."""
FIRST_REDUCTION = 0.0625
"""The first reduction; it doubles up to one."""


@kernel
def impact_work(tree: Array, w: Array, problem: ContactProblem, result: ContactResult) -> tuple[Scalar, Scalar, Scalar]:
    """``W`` of all rows over ``dt²``, ``sum f_n |u_n|`` of contacts that bounce, and ``sum f_n`` of all."""
    h = problem.settings.dt
    work = 0.0
    pressure = 0.0
    approach = 0.0
    for s in range(tree.nslots):
        f = slot_vector(result.forces, s)
        y = w.contact_y[s]
        b = w.contact_b[s]
        before = b[2] - w.offset[s]
        plastic = normal_offset(tree, s, w.effective_gap[s], h * before, problem.settings, 0.0) / h
        normal = 0.5 * (y[2] - w.offset[s] + before) + minimum(plastic, 0.0)
        work += 0.5 * (f[0] * (y[0] + b[0]) + f[1] * (y[1] + b[1])) + f[2] * normal
        pressure += f[2]
        approach += where(w.offset[s], plastic, maximum(-(f[2] * before), 0.0), 0.0)
    for k in range(tree.nboxes):
        before = tree.box_sign[k] * problem.v[tree.box_v[k]] / h
        offset = w.box_b[k] - before
        work += result.boxes[k] * (0.5 * (w.box_y[k] - offset + before) + minimum(offset, 0.0))
    for r in range(tree.nc):
        work -= 0.5 * result.multipliers[r] * (w.k[r] + w.rows[r])
    return work, approach, pressure


@kernel
def reduce_restitution(tree: Array, w: Array, problem: ContactProblem, result: ContactResult, going: Scalar) -> Scalar:
    """One where a solution adds energy, and rows have less restitution and another residual now; else zero.

    Only where iterations were ``going`` (one, else zero) and the residual is within the tolerance.
    """
    settings = problem.settings
    h = settings.dt
    work, approach, pressure = impact_work(tree, w, problem, result)
    reduction = result.reduction[0]
    solved = where(settings.tolerance, result.residual[0], 0.0, going)
    gains = where(ZERO_WORK * approach, work, where(reduction, 1.0, solved, 0.0), 0.0)
    gain = work / where(0.0, approach, approach, 1.0)
    more = where(reduction, FIRST_REDUCTION, FIRST_REDUCTION, 2.0 * reduction)
    changed = where(work, LEFT * pressure * settings.tolerance / h, reduction + 4.0 * gain, more)
    bounces = gains * where(0.0, approach, 1.0, 0.0)
    reduction = where(0.5, bounces, minimum(changed, 1.0), reduction)
    result.reduction[0] = reduction
    for s in range(tree.nslots):
        before = w.contact_b[s, 2] - w.offset[s]
        offset = normal_offset(tree, s, w.effective_gap[s], h * before, settings, 1.0 - reduction) / h
        change = where(0.5, bounces, offset - w.offset[s], 0.0)
        w.offset[s] += change
        w.contact_b[s, 2] += change
        w.contact_y[s, 2] += change
    missed = maximum(problem_residual(tree, w, problem, result, w.rows), UNSOLVED * settings.tolerance)
    result.residual[0] = where(0.5, bounces, missed, result.residual[0])
    return bounces
