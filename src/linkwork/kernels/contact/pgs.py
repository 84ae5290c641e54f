# SPDX-License-Identifier: BSD-3-Clause
"""Projected Gauss-Seidel for frictional contact, on the explicit Delassus matrix.

Blocks take turns: a contact's three rows, or one row that stands alone. Of each the *local* problem is solved exactly,
all other forces held (Jourdan, Alart and Jean 1998; Siconos' NSGS with an exact local solver), not by a projected step
for the normal and one for the tangential force as in Pinocchio. With ``W = G_kk + R_k`` the block on the diagonal and
``q`` the velocity that the others leave, Coulomb's local problem ``y = W f + q`` has three answers::

    q_n >= 0                              f = 0                                         the contact opens
    f = -W^-1 q in the cone               f                                             it sticks
    else f_t = -(A + l)^-1 b, f_n = -(q_n + w' f_t) / W_nn, l > 0, |f_t| = mu f_n        it slips

with ``A = W_tt - w w' / W_nn`` and ``b = q_t - w q_n / W_nn``: the tangential velocity is ``-l f_t``, against the
force, and the normal one zero. De Saxcé's correction needs no iteration of its own then: a force and a velocity that
solve the local problems of all contacts have residual zero. The multiplier ``l`` is found by Newton's method between
bounds, on ``mu f_n / |f_t| - 1``, which is nearly linear in ``l``.

After each block the velocities of all rows coupled with it are updated, in lines of four; a residual below the
tolerance is believed when velocities that were computed anew have it, too.

| symbol  | meaning                                                                   |
|---------|---------------------------------------------------------------------------|
| G       | the matrix, (nrows, nlines, 4): columns in lines of four, the last padded      |
| f       | impulses                                                                   |
| Y       | velocities of rows ``G f + R f + g``, in lines                             |
| W       | of each slot: ``A_xx, A_xy, A_yy, w_x, w_y, 1 / W_nn``                      |
| l       | multiplier of a slipping contact, velocity over force                       |

Cost of a sweep: the entries of the matrix that are not zero, and 60 operations a contact that slips for each of
Newton's steps.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.contact.rows import (
    ROW_INPUTS,
    Rows,
    at_least_smallest,
    project_rows,
    rows_residual,
    set_three,
    three,
)
from linkwork.kernels.elementary import clamp, magnitude
from linkwork.kernels.panels import line, plus_scaled, set_line
from linkwork.kernels.records import view_of
from linkwork.kernels.scalar import Array, Scalar, any_below, kernel, sqrt, where
from linkwork.kernels.spatial import Triple
from linkwork.kernels.thresholds import LEAST_INVERSE_INERTIA, NEAR_CONE, SINGULAR_SLIDING
from linkwork.plans.contact_rows import DENSE_CONTACTS, LINE

NEWTON_STEPS = 12
"""Of the multiplier of a contact that slips, at most: of a million random contacts, 999 in a thousand have all digits
after 10 steps, and the worst misses the cone by 1e-6 of its force after 12."""

# The matrix ------------------------------------------------------------------------------------------------------


@kernel
def add_block_column(tree: Array, G: Array, block: int, r: int, x: Scalar, Y: Array) -> None:
    """``Y += G_r x`` for one row of a block."""
    column = G[r]
    first = tree.block_start[block]
    for e in range(first, first + tree.block_count[block]):
        for j in range(tree.range_first[e], tree.range_end[e]):
            set_line(plus_scaled(line(Y, j), x, line(column, j)), Y, j)


@kernel
def add_slot_columns(tree: Array, G: Array, s: int, r: int, x: Triple, Y: Array) -> None:
    """``Y += G x`` for the three rows of a slot."""
    G0 = G[r]
    G1 = G[r + 1]
    G2 = G[r + 2]
    first = tree.block_start[s]
    for e in range(first, first + tree.block_count[s]):
        for j in range(tree.range_first[e], tree.range_end[e]):
            y = plus_scaled(plus_scaled(line(Y, j), x[0], line(G0, j)), x[1], line(G1, j))
            set_line(plus_scaled(y, x[2], line(G2, j)), Y, j)


@kernel
def add_product(tree: Array, G: Array, f: Array, Y: Array) -> None:
    """``Y += G f``, in lines."""
    for s in range(tree.nslots):
        r = tree.slot_row[s]
        add_slot_columns(tree, G, s, r, three(f, r), Y)
    for k in range(tree.nsingles):
        r = tree.single_row[k]
        add_block_column(tree, G, tree.nslots + k, r, f[r], Y)


@kernel
def dense_velocities(tree: Array, G: Array, rows: Rows, f: Array, Y: Array, y: Array) -> None:
    """``y = G f + R f + g``; ``Y`` is the same in lines."""
    for j in range(tree.nlines):
        for c in range(LINE):
            Y[j, c] = 0.0
    add_product(tree, G, f, Y)
    for r in range(tree.nrows):
        x = Y[r // LINE, r % LINE] + rows.compliance[r] * f[r] + rows.g[r]
        Y[r // LINE, r % LINE] = x
        y[r] = x


@kernel
def entry(G: Array, r: int, c: int) -> Scalar:
    """``G_rc``."""
    return G[r, c // LINE, c % LINE]


@kernel
def dense_inverse_inertias(tree: Array, G: Array, rows: Rows, D: Array) -> None:
    """``D``: of a contact the mean of the diagonal of ``G + R``, of another row its diagonal entry."""
    for s in range(tree.nslots):
        r = tree.slot_row[s]
        trace = entry(G, r, r) + entry(G, r + 1, r + 1) + entry(G, r + 2, r + 2)
        mean = (trace + rows.compliance[r] + rows.compliance[r + 1] + rows.compliance[r + 2]) / 3.0
        mean = at_least_smallest(mean)
        set_three((mean, mean, mean), D, r)
    for k in range(tree.nsingles):
        r = tree.single_row[k]
        D[r] = at_least_smallest(entry(G, r, r) + rows.compliance[r])


# The local problem -----------------------------------------------------------------------------------------------


@kernel
def setup_slots(tree: Array, G: Array, rows: Rows, D: Array, W: Array) -> None:
    """The inverse inertia of each contact, its normal direction eliminated."""
    for s in range(tree.nslots):
        r = tree.slot_row[s]
        normal = 1.0 / at_least_smallest(entry(G, r + 2, r + 2) + rows.compliance[r + 2])
        x = entry(G, r, r + 2)
        y = entry(G, r + 1, r + 2)
        little = SINGULAR_SLIDING * D[r]
        W[s, 0] = entry(G, r, r) + rows.compliance[r] - x * x * normal + little
        W[s, 1] = entry(G, r, r + 1) - x * y * normal
        W[s, 2] = entry(G, r + 1, r + 1) + rows.compliance[r + 1] - y * y * normal + little
        W[s, 3] = x
        W[s, 4] = y
        W[s, 5] = normal


@kernel
def sliding_force(W: Array, b: Array, q: Scalar, l: Scalar) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """``f_t = -(A + l)^-1 b``, ``f_n = -(q_n + w' f_t) / W_nn``, and the inverse of the determinant of ``A + l``."""
    xx = W[0] + l
    yy = W[2] + l
    inverse = 1.0 / at_least_smallest(xx * yy - W[1] * W[1])
    x = (W[1] * b[1] - yy * b[0]) * inverse
    y = (W[1] * b[0] - xx * b[1]) * inverse
    return x, y, -(q + W[3] * x + W[4] * y) * W[5], inverse


@kernel
def slipping_force(W: Array, b: Array, q: Scalar, mu: Scalar) -> Triple:
    """The force of a contact that slips: ``|f_t| = mu f_n``, by Newton's method between bounds."""
    size = sqrt(b[0] * b[0] + b[1] * b[1])
    arm = sqrt(W[3] * W[3] + W[4] * W[4])
    lower = 0.0
    upper = size * (1.0 + mu * arm * W[5]) / at_least_smallest(-(mu * q * W[5]))  # at most mu f_n there
    l = 0.0
    off = 1.0
    for _ in range(NEWTON_STEPS):
        if any_below(NEAR_CONE - off, 0.0):
            x, y, n, inverse = sliding_force(W, b, q, l)
            r = sqrt(x * x + y * y) + LEAST_INVERSE_INERTIA
            dx = (W[1] * y - (W[2] + l) * x) * inverse  # by l: (A + l) d = -f_t
            dy = (W[1] * x - (W[0] + l) * y) * inverse
            dn = -(W[3] * dx + W[4] * dy) * W[5]
            excess = mu * n - r
            lower = where(excess, 0.0, l, lower)
            upper = where(excess, 0.0, upper, l)
            slope = mu * dn - mu * n * (x * dx + y * dy) / (r * r)  # of mu n / r - 1, times r
            step = l - excess / where(LEAST_INVERSE_INERTIA, slope, slope, LEAST_INVERSE_INERTIA)
            inside = where(step, lower, 0.0, where(upper, step, 0.0, 1.0))
            step = where(inside, 0.5, 0.5 * (lower + upper), step)
            l = where(off, NEAR_CONE, l, step)
            off = where(off, NEAR_CONE, off, magnitude(excess) / r)
    x, y, n, inverse = sliding_force(W, b, q, l)
    n = where(0.0, n, n, 0.0)
    shorten = mu * n / (sqrt(x * x + y * y) + LEAST_INVERSE_INERTIA)
    return shorten * x, shorten * y, n


@kernel
def local_force(W: Array, q: Triple, mu: Scalar, x: Array) -> None:
    """``x``: the force of one contact that solves Coulomb's local problem."""
    b = (q[0] - W[3] * W[5] * q[2], q[1] - W[4] * W[5] * q[2])
    fx, fy, fn, _ = sliding_force(W, b, q[2], 0.0)
    excess = sqrt(fx * fx + fy * fy) - mu * fn
    sticks = where(0.0, excess, 0.0, 1.0)
    opens = where(q[2], 0.0, 0.0, 1.0)
    x[0] = fx
    x[1] = fy
    x[2] = fn
    if any_below(sticks + opens, 0.5):
        sx, sy, sn = slipping_force(W, b, q[2], mu)
        x[0] = where(0.5, sticks, fx, sx)
        x[1] = where(0.5, sticks, fy, sy)
        x[2] = where(0.5, sticks, fn, sn)
    x[0] = where(0.5, opens, 0.0, x[0])
    x[1] = where(0.5, opens, 0.0, x[1])
    x[2] = where(0.5, opens, 0.0, x[2])


# Sweeps ----------------------------------------------------------------------------------------------------------


@kernel
def sweep(tree: Array, G: Array, rows: Rows, D: Array, W: Array, q: Array, x3: Array, f: Array, Y: Array) -> None:
    """All blocks once: rows that stand alone, then contacts; ``q`` and ``x3`` are scratch arrays of three numbers."""
    for k in range(tree.nsingles):
        r = tree.single_row[k]
        x = clamp(f[r] - Y[r // LINE, r % LINE] / D[r], rows.lower[r], rows.upper[r]) - f[r]
        add_block_column(tree, G, tree.nslots + k, r, x, Y)
        Y[r // LINE, r % LINE] += rows.compliance[r] * x
        f[r] += x
    for s in range(tree.nslots):
        r = tree.slot_row[s]
        old = three(f, r)
        for i in range(3):  # q = y - W f
            y = Y[(r + i) // LINE, (r + i) % LINE] - rows.compliance[r + i] * old[i]
            for j in range(3):
                y = y - entry(G, r + i, r + j) * old[j]
            q[i] = y
        local_force(W[s], three(q, 0), rows.friction[s], x3)
        d = (x3[0] - old[0], x3[1] - old[1], x3[2] - old[2])
        add_slot_columns(tree, G, s, r, d, Y)
        for i in range(3):
            Y[(r + i) // LINE, (r + i) % LINE] += rows.compliance[r + i] * d[i]
            f[r + i] = x3[i]


@kernel
def lines_residual(tree: Array, rows: Rows, D: Array, f: Array, Y: Array, y: Array) -> Scalar:
    """The residual of velocities that are in lines."""
    for r in range(tree.nrows):
        y[r] = Y[r // LINE, r % LINE]
    return rows_residual(tree, rows, D, f, y)


class State(NamedTuple):
    """The state between sweeps."""

    f: Array
    """(nrows,) impulses."""
    Y: Array
    """(nlines, 4) velocities of rows, in lines."""
    progress: Array
    """(2,) residual and sweeps."""


pgs_view = view_of(Array, Rows, Array, Array, State)


@kernel
def pgs(tree: Array, w: Array, G: Array, rows: Rows, guess: Array, settings: Array, state: State) -> None:
    """The guess in its cones, the velocities that it leaves, and their residual."""
    f, Y, progress = state
    dense_inverse_inertias(tree, G, rows, w.D)
    setup_slots(tree, G, rows, w.D, w.W)
    project_rows(tree, rows, guess, f)
    dense_velocities(tree, G, rows, f, Y, w.y)
    progress[0] = rows_residual(tree, rows, w.D, f, w.y)
    progress[1] = 0.0


@kernel
def pgs_iterate(tree: Array, w: Array, G: Array, rows: Rows, guess: Array, settings: Array, state: State) -> None:
    """One sweep over all blocks."""
    f, Y, progress = state
    sweep(tree, G, rows, w.D, w.W, w.q, w.x, f, Y)
    residual = lines_residual(tree, rows, w.D, f, Y, w.y)
    last = where(progress[1] + 1.5, settings[1], 0.0, 1.0)
    trusted = where(settings[0], residual, last, 1.0)
    if any_below(-trusted, -0.5):
        dense_velocities(tree, G, rows, f, w.Z, w.y)
        residual = where(trusted, 0.5, residual, rows_residual(tree, rows, w.D, f, w.y))
        for j in range(tree.nlines):
            for c in range(LINE):
                Y[j, c] = where(trusted, 0.5, Y[j, c], w.Z[j, c])
    progress[0] = residual
    progress[1] += 1.0


@kernel
def dense_residual(tree: Array, w: Array, G: Array, rows: Rows, f: Array, residual: Array) -> None:
    """The residual of forces ``f``."""
    dense_inverse_inertias(tree, G, rows, w.D)
    dense_velocities(tree, G, rows, f, w.Z, w.y)
    residual[0] = rows_residual(tree, rows, w.D, f, w.y)


MATRIX: dict[str, Shape] = {"G": ("nrows", "nlines", LINE)}
DENSE_WORK: dict[str, Shape] = {"D": ("nrows",), "y": ("nrows",)}

PGS = Algorithm(
    "contact_pgs",
    pgs,
    MATRIX | ROW_INPUTS | {"settings": (2,)},
    {"impulses": ("nrows",), "velocities": ("nlines", LINE), "progress": (2,)},
    DENSE_WORK | {"Z": ("nlines", LINE), "W": ("nslots", 6), "q": (3,), "x": (3,)},
    DENSE_CONTACTS,
    pgs_iterate,
    view=pgs_view,
)

DENSE_RESIDUAL = Algorithm(
    "contact_dense_residual",
    dense_residual,
    MATRIX | ROW_INPUTS,
    {"residual": (1,)},
    DENSE_WORK | {"Z": ("nlines", LINE)},
    DENSE_CONTACTS,
    view=view_of(Array, Rows, Array, Array),
)
