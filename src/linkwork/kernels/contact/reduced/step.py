# SPDX-License-Identifier: BSD-3-Clause
"""A step in time by the reduced matrix: find what is near, list what can touch, solve, and move.

| number of the result | meaning                                                                                   |
|----------------------|-------------------------------------------------------------------------------------------|
| residual, iterations | of the solver; whether a step is the one that is always there; less restitution              |
| points (nlisted, 11) | number of a contact point (`plans.contact_reduced`), force and moment along t1, t2, n,      |
|                      | velocity after the step along these, gap before it; a large number where there is none      |
| boxes, multipliers   | forces of limits and dry friction of joints, and of loops                                   |
| a                    | joint accelerations                                                                         |
| totals               | energy lost by friction, by impacts, in joints; largest residual; steps that were not solved; |
|                      | steps with more contact points than there is room for; steps of the convex problem; steps    |
|                      | that are jammed                                                                             |

Cost: that of kinematics and the mass matrix, linear in near pairs, and that of the solver.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained.constraints import (
    constraint_bias,
    constraint_rows,
    constraint_velocities,
    follow_motions,
)
from linkwork.kernels.constrained.problem import WORK
from linkwork.kernels.contact.convex.geometry import PAIR_INTEGERS, PAIR_WORK
from linkwork.kernels.contact.reduced.adhesion import ADHESION_WORK, apply_adhesion
from linkwork.kernels.contact.reduced.bounding_volumes import bounding_spheres
from linkwork.kernels.contact.reduced.broad_phase import BROAD_INTEGERS, BROAD_WORK, find_near_pairs
from linkwork.kernels.contact.reduced.dense import DENSE_INTEGERS, list_dense_rows
from linkwork.kernels.contact.reduced.gyroscopic import GYROSCOPIC_WORK, turn_linked, turn_momenta
from linkwork.kernels.contact.reduced.islands import ISLAND_INTEGERS
from linkwork.kernels.contact.reduced.joint_rows import JOINT_INTEGERS, JOINT_WORK, list_boxes, list_damper, list_loops
from linkwork.kernels.contact.reduced.mass_matrix import mass_matrix_of_composites, reduced_mass_matrix
from linkwork.kernels.contact.reduced.matrix import MATRIX_WORK, mass_times, rows_times
from linkwork.kernels.contact.reduced.missed import find_missed
from linkwork.kernels.contact.reduced.near_geometry import near_geometry
from linkwork.kernels.contact.reduced.order import order_one_step
from linkwork.kernels.contact.reduced.pattern import PATTERN_INTEGERS, activate_all, fill_pattern
from linkwork.kernels.contact.reduced.problem import (
    CONES,
    FORCE,
    FULL,
    GAP,
    LOOPS,
    MOMENT,
    NUMBER,
    POINTS,
    PROBLEM_INTEGERS,
    PROBLEM_ROWS,
    PYRAMID,
    ROWS,
    VELOCITY,
)
from linkwork.kernels.contact.reduced.pyramid import turn_point_back
from linkwork.kernels.contact.reduced.restitution import reduce_restitution
from linkwork.kernels.contact.reduced.rows import (
    ROW_INTEGERS,
    ROW_WORK,
    ReducedSettings,
    begin_sets,
    joint_axes,
    list_contacts,
)
from linkwork.kernels.contact.reduced.solve import CONVEX, JAMMED, SOLVER_WORK, solve_sets
from linkwork.kernels.contact.reduced.split_damping import SPLIT_WORK, add_joint_dampers, damp_after_contacts
from linkwork.kernels.contact.reduced.warm_start import ReducedResult, warm_start
from linkwork.kernels.contact.setup import implicit_joint_torques, poses_of_shapes, world_poses
from linkwork.kernels.elementary import copy_numbers, magnitude, maximum
from linkwork.kernels.integration import axes_accelerations, integrate_from_axes
from linkwork.kernels.records import view_of
from linkwork.kernels.scalar import Array, Scalar, in_warp, kernel, prange, some_below, stage, where
from linkwork.kernels.tree.kinematics import velocities
from linkwork.kernels.tree.levels import LEVEL_WORK, backward_levels, body_velocities, forward_levels
from linkwork.kernels.tree.rnea import WRENCHES, apply_wrenches, forward_passes, init_root, joint_torques
from linkwork.kernels.tree.tendons import TENDON_WORK, tendon_states
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.contact_reduced import LISTED, REDUCED_TREE, TOTALS

RELISTED = 2
"""Times that contact points are listed which velocities after the step would close, and those before it do not."""
STAGES = 4
"""Number of calls of `scalar.stage` in a step."""
REDUCTIONS = 8
"""Restitution is reduced at most so often in a step: the fifth time it is none, but for what solvers leave."""
FRICTION, IMPACTS, JOINTS, RESIDUAL, MISSED, OVERFLOWED, FALLBACKS, JAMS = range(TOTALS)
"""Entries of the totals."""

REDUCED_INTEGERS: dict[str, Shape] = (
    PROBLEM_INTEGERS
    | PATTERN_INTEGERS
    | ISLAND_INTEGERS
    | BROAD_INTEGERS
    | ROW_INTEGERS
    | JOINT_INTEGERS
    | DENSE_INTEGERS
    | PAIR_INTEGERS
)
REDUCED_WORK: dict[str, Shape] = (
    WORK
    | PAIR_WORK
    | PROBLEM_ROWS
    | MATRIX_WORK
    | BROAD_WORK
    | ROW_WORK
    | JOINT_WORK
    | ADHESION_WORK
    | LEVEL_WORK
    | SOLVER_WORK
    | GYROSCOPIC_WORK
    | SPLIT_WORK
    | TENDON_WORK
    | {
        "body_E": ("n", 3, 3),
        "body_o": ("n", 3),
        "torque": ("nv",),
        "bias": ("nv",),
        "after": ("nrows",),
        "pulled": ("nv",),
        "y6": (6,),
    }
)


class ReducedProblem(NamedTuple):
    """The inputs of one step."""

    q: Array
    v: Array
    tau: Array
    wrenches: Array
    given: Array
    """Contact points of pairs without kernel code."""
    start: Array
    """(nstart,) points, boxes, multipliers and kind of the step before."""
    settings: ReducedSettings


class ReducedStep(NamedTuple):
    """The outputs of one step."""

    q: Array
    v: Array
    result: ReducedResult


# Setup ---------------------------------------------------------------------------------------------------------------


@kernel
def setup_reduced(
    tree: Array, w: Array, q: Array, v: Array, tau: Array, wrenches: Array, given: Array, settings: ReducedSettings
) -> None:
    """Kinematics, near pairs and their geometry, mass matrix and momentum."""
    h = settings.dt
    if tree.ntendon_boxes > 0:
        tendon_states(tree, w, q, v)
    axes_accelerations(tree, v, w.qdd0)
    init_root(tree, w)
    if in_warp():
        forward_levels(tree, w, q, v, w.qdd0)
    else:
        forward_passes(tree, w, q, v, w.qdd0)
        world_poses(tree, w)
        velocities(tree, w, v)
    poses_of_shapes(tree, w)
    stage()
    apply_wrenches(tree, w, wrenches)
    implicit_joint_torques(tree, w, q, v, tau, 0.0 if tree.nsplit > 0 else h)
    if tree.nsplit > 0:
        add_joint_dampers(tree, w, h)
    joint_axes(tree, w)
    bounding_spheres(tree, w, h, settings.gravity)
    find_near_pairs(tree, w, h)
    near_geometry(tree, w, given, h)
    stage()
    if tree.nc > 0:
        constraint_rows(tree, w, q, w.error)
        constraint_bias(tree, w, q, v)
        constraint_velocities(tree, w, q, v, w.Jv)
        follow_motions(tree, w)
    if in_warp():
        backward_levels(tree, w, w.bias)
        mass_matrix_of_composites(tree, w)
    else:
        joint_torques(tree, w, w.bias)
        reduced_mass_matrix(tree, w)
    mass_times(tree, w, v, w.momentum)
    for k in prange(tree.nv):
        w.momentum[k] += h * (w.torque[k] - w.bias[k])
        w.pulled[k] = 0.0
    turn_momenta(tree, w, h)
    turn_linked(tree, w, q, v, h)


@kernel
def list_sets(tree: Array, w: Array, q: Array, v: Array, settings: ReducedSettings) -> None:
    """The sets of all rows, and the pattern of the matrix."""
    begin_sets(w)
    list_contacts(tree, w, v, settings, 1.0)
    list_boxes(tree, w, q, v, settings)
    if tree.nc > 0:
        list_loops(tree, w, q, settings)
    for c in range(tree.ncoupled):
        list_damper(tree, w, c, v, settings.dt, 0.0 if tree.nsplit > 0 else 1.0)
    if in_warp() and tree.nstride > 0:
        for a in prange(tree.nlimbs):
            w.limb_order[a] = a
        activate_all(tree, w)
        list_dense_rows(tree, w)
    else:
        fill_pattern(tree, w)
    apply_adhesion(tree, w, settings.dt)


# Results -------------------------------------------------------------------------------------------------------------


@kernel
def clear_point(point: Array) -> None:
    """A point that is not there."""
    point[NUMBER] = UNBOUNDED
    for k in range(1, LISTED):
        point[k] = 0.0


@kernel
def write_points(tree: Array, w: Array, result: ReducedResult, settings: ReducedSettings) -> None:
    """Forces, velocities and gaps of listed contact points; ``after`` are velocities of rows after the step."""
    h = settings.dt
    n = w.counts[POINTS]
    while n < tree.nlisted and some_below(result.points[LISTED * n], UNBOUNDED):  # points of the step before
        clear_point(result.points[LISTED * n : LISTED * n + LISTED])
        n += 1
    for p in prange(w.counts[POINTS]):
        c = w.point_contact[p]
        clear_point(result.points[LISTED * p : LISTED * p + LISTED])
        row = w.cone_row[p]
        mu = tree.pair_friction[c]
        x = result.points[LISTED * p : LISTED * p + LISTED]
        x[NUMBER] = float(w.listed[p])
        x[FORCE + 2] = w.z[row] / h
        if tree.contact_adhesive[c] > 0:
            x[FORCE + 2] = w.z[row] / h - w.adhesive[p]
        x[VELOCITY + 2] = w.after[row]
        x[GAP] = w.gap[w.point_slot[p]]
        if w.cone_dim[p] > 1:
            for k in range(2):
                x[FORCE + k] = mu[k] * w.z[row + 1 + k] / h
                x[VELOCITY + k] = w.after[row + 1 + k] / mu[k]
        if w.cone_dim[p] > 3:
            x[MOMENT + 2] = mu[2] * w.z[row + 3] / h
        if w.cone_dim[p] > 4:
            for k in range(2):
                x[MOMENT + k] = mu[3 + k] * w.z[row + 4 + k] / h
        if w.cone_kind[p] == PYRAMID:
            turn_point_back(w, p, x)


@kernel
def add_totals(tree: Array, w: Array, result: ReducedResult, settings: ReducedSettings) -> None:
    """Energy that contacts and joints took, and how iterations ended."""
    friction = 0.0
    impacts = 0.0
    joints = 0.0
    for p in range(w.counts[POINTS]):
        row = w.cone_row[p]
        impacts += w.z[row] * (w.before[row] + w.after[row])
        for r in range(row + 1, row + w.cone_dim[p]):
            friction += w.z[r] * (w.before[r] + w.after[r])
    for e in range(w.counts[POINTS], w.counts[CONES]):
        if w.cone_box[e] >= 0:
            row = w.cone_row[e]
            joints += w.z[row] * (w.before[row] + w.after[row])
    result.totals[FRICTION] -= 0.5 * friction
    result.totals[IMPACTS] -= 0.5 * impacts
    result.totals[JOINTS] -= 0.5 * joints
    result.totals[RESIDUAL] = maximum(result.totals[RESIDUAL], result.residual[0])
    result.totals[MISSED] += where(settings.tolerance, result.residual[0], 1.0, 0.0)
    jammed = where(0.5 * (CONVEX + JAMMED), result.fallback[0], 1.0, 0.0)
    result.totals[FALLBACKS] += where(0.5, result.fallback[0], 1.0 - jammed, 0.0)
    result.totals[JAMS] += jammed
    if w.counts[FULL] != 0:
        result.totals[OVERFLOWED] += 1.0


@kernel
def write_reduced(
    tree: Array,
    w: Array,
    q: Array,
    v: Array,
    settings: ReducedSettings,
    result: ReducedResult,
    q1: Array,
    v1: Array,
) -> None:
    """The state after the step, and what led to it."""
    h = settings.dt
    write_points(tree, w, result, settings)
    for b in prange(tree.nboxes):
        result.boxes[b] = 0.0
        if w.box_set[b] >= 0:
            result.boxes[b] = w.z[w.cone_row[w.box_set[b]]] / h
    for l in prange(tree.nloops):
        row = w.cone_row[w.counts[LOOPS] + l]
        for k in range(tree.loop_dim[l]):
            result.multipliers[tree.loop_row[l] + k] = w.z[row + k] / h
    for k in prange(tree.nv):
        result.a[k] = (w.v_next[k] - v[k]) / h
        v1[k] = w.v_next[k]
    integrate_from_axes(tree, q, v1, h, q1)
    add_totals(tree, w, result, settings)


@kernel
def some_bear(w: Array) -> int:
    """1 where some row has an impulse, else 0: velocities after the step are those of free motion."""
    r = 0
    while r < w.counts[ROWS] and not some_below(-magnitude(w.z[r]), 0.0):
        r += 1
    return 1 if r < w.counts[ROWS] else 0


@kernel
def solve_listed(
    tree: Array, w: Array, q: Array, v: Array, settings: ReducedSettings, result: ReducedResult
) -> tuple[Scalar, Scalar, Scalar]:
    """Residual, iterations and kind of the step with the contact points that are listed."""
    list_sets(tree, w, q, v, settings)
    warm_start(tree, w, result, settings)
    copy_numbers(v, w.v_next, tree.nv)
    reduction = 0.0
    residual, iterations, kind = solve_sets(tree, w, settings, result.fallback[0])
    rows_times(tree, w, w.v_next, w.after)
    if tree.nbouncing > 0:
        for _ in range(REDUCTIONS):
            solved = where(settings.tolerance, residual, 0.0, 1.0)
            bounces, reduction = reduce_restitution(tree, w, settings, reduction, solved)
            if some_below(0.5 - bounces, 0.0):
                residual, more, kind = solve_sets(tree, w, settings, result.fallback[0])
                iterations = iterations + more
                rows_times(tree, w, w.v_next, w.after)
    result.reduction[0] = reduction
    return residual, iterations, kind


@kernel
def reduced_step(
    tree: Array,
    w: Array,
    q: Array,
    v: Array,
    tau: Array,
    wrenches: Array,
    given: Array,
    settings: ReducedSettings,
    result: ReducedResult,
    q1: Array,
    v1: Array,
) -> None:
    """One step; ``result`` is that of the step before, whose forces it starts from, and becomes that of this one."""
    setup_reduced(tree, w, q, v, tau, wrenches, given, settings)
    stage()
    residual, iterations, fallback = solve_listed(tree, w, q, v, settings, result)
    for _ in range(RELISTED):
        missed = 0.0
        if tree.nsoft == 0 and some_bear(w) == 1:
            missed = find_missed(tree, w, w.v_next, settings)
        if some_below(0.5 - missed, 0.0):
            body_velocities(tree, w, v)
            residual, more, fallback = solve_listed(tree, w, q, v, settings, result)
            iterations = iterations + more
    stage()
    if tree.nsplit > 0:
        damp_after_contacts(tree, w, v, settings.dt)
        rows_times(tree, w, w.v_next, w.after)
    result.residual[0] = residual
    result.iterations[0] = iterations
    result.fallback[0] = fallback
    write_reduced(tree, w, q, v, settings, result, q1, v1)


@kernel
def load_start(tree: Array, start: Array, result: ReducedResult) -> None:
    """A result with the forces and the kind of the step before, and nothing else."""
    points = LISTED * tree.nlisted
    boxes = points + tree.nboxes
    result.residual[0] = 0.0
    result.iterations[0] = 0.0
    result.fallback[0] = start[tree.nstart - 1]
    result.reduction[0] = 0.0
    copy_numbers(start, result.points, points)
    copy_numbers(start[points:boxes], result.boxes, tree.nboxes)
    copy_numbers(start[boxes : boxes + tree.nc], result.multipliers, tree.nc)
    for k in prange(tree.nv):
        result.a[k] = 0.0
    for k in prange(TOTALS):
        result.totals[k] = 0.0


@kernel
def one_reduced_step(tree: Array, w: Array, problem: ReducedProblem, end: ReducedStep) -> None:
    """One step from the forces of ``start``."""
    q, v, tau, wrenches, arrays, start, settings = problem
    load_start(tree, start, end.result)
    for k in range(tree.nadhesions):
        w.adhesion_force[k] = 0.0
    for k in range(tree.nv):
        w.implicit[k] = 0.0
    reduced_step(tree, w, q, v, tau, wrenches, arrays, settings, end.result, end.q, end.v)


REDUCED_STEP = Algorithm(
    "reduced_step",
    one_reduced_step,
    {
        "q": ("nq",),
        "v": ("nv",),
        "tau": ("nv",),
        "wrenches": WRENCHES,
        "given": ("ngiven", 7),
        "start": ("nstart",),
        "settings": ("nsettings",),
    },
    {"q1": ("nq",), "v1": ("nv",), "result": ("nresult",)},
    REDUCED_WORK,
    REDUCED_TREE,
    view=view_of(ReducedProblem, ReducedStep),
    integers=REDUCED_INTEGERS,
    order=order_one_step,
)
"""A step with contacts by the reduced matrix."""
