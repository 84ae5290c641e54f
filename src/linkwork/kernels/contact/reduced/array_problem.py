# SPDX-License-Identifier: BSD-3-Clause
"""The solver of reduced steps on arrays: ``M v = p + A' z`` with a dense mass matrix and dense rows.

| symbol  | meaning                                                                                     |
|---------|---------------------------------------------------------------------------------------------|
| rows    | of each row the offset ``c``, the compliance ``C``, and the impulse to start from             |
| bounds  | of each set ``lower, upper`` (boxes), inverse inertia ``D``, friction ``mu``, De Saxcé's factor |

Others as in `contact.reduced.problem`. Cost: as `contact.reduced.solve`.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.contact.reduced.factor import factorize_reduced, solve_reduced
from linkwork.kernels.contact.reduced.islands import ISLAND_INTEGERS
from linkwork.kernels.contact.reduced.matrix import add_rows_transposed, rows_times
from linkwork.kernels.contact.reduced.pattern import PATTERN_INTEGERS, fill_pattern
from linkwork.kernels.contact.reduced.problem import (
    CONES,
    EQUALITY,
    FULL,
    LOOPS,
    PROBLEM_INTEGERS,
    PROBLEM_ROWS,
    ROWS,
    SIDES,
    SYMMETRIC,
)
from linkwork.kernels.contact.reduced.rows import ReducedSettings
from linkwork.kernels.contact.reduced.solve import SOLVER_WORK, solve_sets
from linkwork.kernels.scalar import Array, kernel, where
from linkwork.plans.contact_reduced import MAX_DIM
from linkwork.plans.contact_sets import SET_LAYOUT

ARRAY_WORK: dict[str, Shape] = (
    PROBLEM_ROWS
    | SOLVER_WORK
    | {
        "M_diagonal": ("ndiagonal",),
        "M_blocks": ("nstatic",),
        "H_diagonal": ("ndiagonal",),
        "H_U": ("nblocks",),
        "H_L": ("nblocks",),
        "cone_B": (MAX_DIM, "nwidth"),
    }
)
OFFSET, COMPLIANCE, START = range(3)
LOWER, UPPER, INVERSE_INERTIA, FRICTION, SAXCE = range(5)


@kernel
def solve_array_problem(
    tree: Array,
    w: Array,
    M: Array,
    momentum: Array,
    A: Array,
    rows: Array,
    bounds: Array,
    settings: Array,
    v: Array,
    z: Array,
    velocities: Array,
    progress: Array,
) -> None:
    """Velocities, impulses and velocities of rows; residual, iterations and status."""
    w.counts[CONES] = tree.nsets
    w.counts[ROWS] = tree.nrows
    w.counts[SIDES] = tree.nsets
    w.counts[FULL] = 0
    w.counts[LOOPS] = 0
    tolerance = settings[0]
    w.counts[SYMMETRIC] = 1
    for i in range(tree.nv):
        w.momentum[i] = momentum[i]
        w.v_next[i] = 0.0
        for j in range(tree.nv):
            w.M_diagonal[i * tree.nv + j] = M[i, j]
    for e in range(tree.nsets):
        w.cone_kind[e] = tree.set_kind[e]
        w.cone_dim[e] = tree.set_dim[e]
        w.cone_row[e] = tree.set_row[e]
        w.cone_side[e] = e
        w.cone_sides[e] = 1
        w.side_limb[e] = 0
        w.side_column[e] = 0
        w.lower[e] = bounds[e, LOWER]
        w.upper[e] = bounds[e, UPPER]
        w.cone_D[e] = bounds[e, INVERSE_INERTIA]
        w.cone_mu[e] = bounds[e, FRICTION]
        w.cone_saxce[e] = bounds[e, SAXCE]
        w.cone_unit[e] = 1.0
        w.removal[e] = 0.0
        w.yields[e] = 0.0
        mu = bounds[e, FRICTION]
        w.cone_sigma[e] = 1.0 / bounds[e, INVERSE_INERTIA]
        if tree.set_dim[e] > 1 and tree.set_kind[e] != EQUALITY:
            w.cone_sigma[e] = 2.0 / (bounds[e, INVERSE_INERTIA] * (1.0 + mu * mu))
        for r in range(tree.set_row[e], tree.set_row[e] + tree.set_dim[e]):
            w.row_R[r] = settings[2] * bounds[e, INVERSE_INERTIA]
    for r in range(tree.nrows):
        w.row_c[r] = rows[r, OFFSET]
        w.compliance[r] = rows[r, COMPLIANCE]
        w.z[r] = rows[r, START]
        w.row_unit[r] = 1.0
        for k in range(tree.nv):
            w.A[r, k] = A[r, k]
    fill_pattern(tree, w)
    known = ReducedSettings(
        tolerance, settings[1], 1.0, 1.0, 1.0, 1.0, 1.0, tolerance, settings[2], settings[3], 1.0, 0.0
    )
    consistent_velocity(tree, w)
    residual, iterations, fallback = solve_sets(tree, w, known, 0.0)
    rows_times(tree, w, w.v_next, velocities)
    for k in range(tree.nv):
        v[k] = w.v_next[k]
    for r in range(tree.nrows):
        z[r] = w.z[r]
        velocities[r] = velocities[r] + rows[r, OFFSET]
    progress[0] = residual
    progress[1] = iterations
    progress[2] = where(tolerance, residual, 1.0, 0.0) + fallback  # solved, nearly so, or of the convex problem


@kernel
def consistent_velocity(tree: Array, w: Array) -> None:
    """``v_next``: velocities that the impulses ``z`` make."""
    for r in range(w.counts[ROWS]):
        for k in range(MAX_DIM):
            w.cone_G[r, k] = 0.0
    factorize_reduced(tree, w)
    for k in range(tree.nv):
        w.v_next[k] = w.momentum[k]
    add_rows_transposed(tree, w, w.z, w.v_next)
    solve_reduced(tree, w, w.v_next)


ARRAY_PROBLEM = Algorithm(
    "array_contact_problem",
    solve_array_problem,
    {
        "M": ("nv", "nv"),
        "momentum": ("nv",),
        "A": ("nrows", "nv"),
        "rows": ("nrows", 3),
        "bounds": ("nsets", 5),
        "settings": (4,),
    },
    {"v": ("nv",), "z": ("nrows",), "velocities": ("nrows",), "progress": (3,)},
    ARRAY_WORK,
    SET_LAYOUT,
    integers=PROBLEM_INTEGERS | PATTERN_INTEGERS | ISLAND_INTEGERS,
)
"""A contact problem of arrays."""
