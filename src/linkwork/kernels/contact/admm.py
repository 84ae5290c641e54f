# SPDX-License-Identifier: BSD-3-Clause
"""ADMM for frictional contact, on a damped inverse ``(G + R + rho)^-1`` of the Delassus operator.

Carpentier, Le Lidec, Montaut 2024, *From Compliant to Rigid Contact Simulation*; **delassus** for its use of the damped
inverse without a matrix. Forces twice, ``x`` of the dynamics and ``f`` in cones, tied by a multiplier ``z``,
which is a velocity, and a penalty ``rho``::

    x = (G + R + rho)^-1 (rho f + z - g - Gamma(z))
    h = a x + (1 - a) f                                        over-relaxation, a = 1 for none
    f = P(h - z / rho)
    z = z - rho (h - f)

and De Saxcé's correction ``Gamma`` follows ``z`` in each iteration. Two things differ from the paper. The penalty of a
row is ``c D``, a part ``c`` of the inverse inertia of its contact, where the paper has one number for all rows: masses
of different decades do not slow it down. And ``c`` is balanced as in OSQP, by the root of primal over dual residual,
unless the paper's linear or spectral rule is chosen; both residuals are velocities.

`iteration` is a *block*: the inverse is factorized for one penalty, and up to ten iterations follow, after which the
penalty is adapted. The velocity ``y = (G + R) x + g`` comes with ``x``; where the residual of ``(f, y)`` and
``D (x - f)`` are below the tolerance, the residual of ``f`` and its own velocity is computed and decides.

| symbol    | meaning                                                                                  |
|-----------|------------------------------------------------------------------------------------------|
| x, f      | impulses that solve the dynamics; in their cones                                          |
| z         | multiplier of ``x = f``: velocities of rows with De Saxcé's correction                    |
| c, rho    | penalty as a part of the inverse inertia ``D`` of rows; ``rho = c D``                      |
| primal    | largest ``|D (h - f)|``                                                                   |
| dual      | largest change ``|rho (f - f_before)|``                                                   |

Cost of a block: one factorization, ten solutions, one or two products with ``G``. With an explicit matrix of m
rows and an envelope of b entries a row, ``m b^2 / 2``, then ``2 m b``; without, all linear in bodies and rows
(`contact_step_admm`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.contact.cones import tangential_length
from linkwork.kernels.contact.pgs import MATRIX, dense_inverse_inertias, dense_velocities, entry
from linkwork.kernels.contact.rows import ROW_INPUTS, Rows, project_rows, rows_residual, three
from linkwork.kernels.elementary import clamp, magnitude, maximum
from linkwork.kernels.panels import line, minus_scaled, set_line, sum_of_products
from linkwork.kernels.records import view_of
from linkwork.kernels.scalar import Array, Scalar, any_below, kernel, sqrt, where
from linkwork.kernels.thresholds import LEAST_EIGENVALUE, LEAST_INVERSE_INERTIA
from linkwork.plans.contact_rows import DENSE_CONTACTS, LINE

TOLERANCE, MOST, START, RULE, RATIO, FACTOR, RELAXATION = range(7)
"""Entries of the settings: tolerance, most iterations, first penalty, rule, ratio of residuals beyond which the penalty
is changed, largest factor by which it is, over-relaxation."""
NSETTINGS = 7

CONSTANT, BALANCE, LINEAR, SPECTRAL = 0.0, 1.0, 2.0, 3.0
"""Rules for the penalty: it stays; by the root of the ratio of residuals; by a factor; by a factor that is a power of
the condition number, starting at one (Pinocchio's names for the last two)."""

BLOCK = 10
"""Iterations between two factorizations."""
LEAST, LARGEST = 1e-6, 1e6
"""Bounds of the penalty, as a part of the inverse inertia of rows."""
POWER_STEPS = 20
"""Of power iteration, for the spectral rule."""
ROOT_STEPS = 20


class State(NamedTuple):
    """The state between blocks of iterations."""

    f: Array
    """(nrows,) impulses in their cones."""
    z: Array
    """(nrows,) multipliers: velocities of rows, with De Saxcé's correction."""
    y: Array
    """(nrows,) velocities of rows, with what compliance adds."""
    progress: Array
    """Residual, iterations, penalty, factorizations, factor of the spectral rule."""


RESIDUAL, ITERATIONS, PENALTY, FACTORIZATIONS, GROWTH = range(5)
NPROGRESS = 5


# Penalties -------------------------------------------------------------------------------------------------------


@kernel
def fifth_root(x: Scalar) -> Scalar:
    """``x^(1/5)`` by Newton's method from above, for ``x`` from 1 to 1e10."""
    r = 100.0
    for _ in range(ROOT_STEPS):
        square = r * r
        r = 0.8 * r + 0.2 * x / (square * square)
    return r


@kernel
def set_first_penalty(largest: Scalar, settings: Array, progress: Array) -> None:
    """The penalty that was set; or of the spectral rule ``sqrt(m L) (L / m)^0.2``, and its factor."""
    condition = clamp(largest / LEAST_EIGENVALUE, 1.0, 1e10)
    root = fifth_root(condition)
    spectral = sqrt(LEAST_EIGENVALUE * largest) * root
    progress[PENALTY] = where(settings[RULE], SPECTRAL - 0.5, settings[START], spectral)
    progress[GROWTH] = where(settings[RULE], SPECTRAL - 0.5, settings[FACTOR], sqrt(sqrt(root)))  # (L / m)^0.05


@kernel
def balanced_factor(primal: Scalar, dual: Scalar, most: Scalar) -> Scalar:
    """The factor that balances both residuals: the root of their ratio (OSQP), from ``1 / most`` to ``most``."""
    return clamp(sqrt((primal + LEAST_INVERSE_INERTIA) / (dual + LEAST_INVERSE_INERTIA)), 1.0 / most, most)


@kernel
def adapted_penalty(primal: Scalar, dual: Scalar, settings: Array, progress: Array) -> Scalar:
    """The penalty of the next block."""
    c = progress[PENALTY]
    most = progress[GROWTH]
    ratio = settings[RATIO]
    balanced = balanced_factor(primal, dual, most)
    stepped = where(ratio * dual, primal, most, where(ratio * primal, dual, 1.0 / most, 1.0))
    factor = where(settings[RULE], BALANCE - 0.5, 1.0, where(settings[RULE], BALANCE + 0.5, balanced, stepped))
    return clamp(c * factor, LEAST, LARGEST)


# One block of iterations -----------------------------------------------------------------------------------------


@kernel
def right_hand_side(tree: Array, rows: Rows, rho: Array, f: Array, z: Array, b: Array) -> None:
    """``b = rho f + z - g - Gamma(z)``."""
    for r in range(tree.nrows):
        b[r] = rho[r] * f[r] + z[r] - rows.g[r]
    for s in range(tree.nslots):
        r = tree.slot_row[s]
        b[r + 2] -= rows.friction[s] * tangential_length(three(z, r))


@kernel
def update_forces(tree: Array, w: Array, rows: Rows, D: Array, relaxation: Scalar, state: State) -> Scalar:
    """``f``, ``z`` and ``y`` of one iteration, into work arrays; returns the residual of ``(f, y)``.

    ``w.measure`` is the primal and the dual residual.
    """
    for r in range(tree.nrows):
        w.row_y[r] = w.row_b[r] - w.rho[r] * w.row_x[r] + rows.g[r]  # (G + R) x + g
        w.row_h[r] = relaxation * w.row_x[r] + (1.0 - relaxation) * state.f[r]
        w.row_b[r] = w.row_h[r] - state.z[r] / w.rho[r]
    project_rows(tree, rows, w.row_b, w.row_f)
    apart = 0.0
    primal = 0.0
    dual = 0.0
    for r in range(tree.nrows):
        w.row_z[r] = state.z[r] - w.rho[r] * (w.row_h[r] - w.row_f[r])
        apart = maximum(apart, D[r] * magnitude(w.row_x[r] - w.row_f[r]))
        primal = maximum(primal, D[r] * magnitude(w.row_h[r] - w.row_f[r]))
        dual = maximum(dual, w.rho[r] * magnitude(w.row_f[r] - state.f[r]))
    w.measure[0] = primal
    w.measure[1] = dual
    return maximum(apart, rows_residual(tree, rows, D, w.row_f, w.row_y))


def block(
    factorize: Callable[..., None], solve: Callable[..., None], multiply: Callable[..., None]
) -> Callable[..., None]:
    """A kernel that does up to `BLOCK` iterations with one penalty.

    Args:
        factorize: ``factorize(tree, w, matrix, rho)``: of ``G + rho``.
        solve: ``solve(tree, w, matrix, b, x)``: ``x = (G + rho)^-1 b``.
        multiply: ``multiply(tree, w, matrix, rows, f, y)``: ``y = G f + R f + g``.
    """

    @kernel
    def iterations(tree: Array, w: Array, matrix: Array, rows: Rows, D: Array, settings: Array, state: State) -> None:
        tolerance = settings[TOLERANCE]
        progress = state.progress
        for r in range(tree.nrows):
            w.rho[r] = progress[PENALTY] * D[r]
            w.row_h[r] = w.rho[r] + rows.compliance[r]
        factorize(tree, w, matrix, w.row_h)
        residual = progress[RESIDUAL]
        count = progress[ITERATIONS]
        primal = 0.0
        dual = 0.0
        for _ in range(BLOCK):
            going = where(tolerance, residual, where(count + 0.5, settings[MOST], 1.0, 0.0), 0.0)
            if any_below(-going, -0.5):
                right_hand_side(tree, rows, w.rho, state.f, state.z, w.row_b)
                solve(tree, w, matrix, w.row_b, w.row_x)
                # b = rho f + z - g - Gamma, so that (G + R) x + g = b - rho x + g
                estimate = update_forces(tree, w, rows, D, settings[RELAXATION], state)
                for r in range(tree.nrows):
                    state.f[r] = where(going, 0.5, state.f[r], w.row_f[r])
                    state.z[r] = where(going, 0.5, state.z[r], w.row_z[r])
                primal = where(going, 0.5, primal, w.measure[0])
                dual = where(going, 0.5, dual, w.measure[1])
                count = count + going
                last = where(count + 0.5, settings[MOST], 0.0, 1.0)
                near = going * where(tolerance, estimate, last, 1.0)
                residual = where(going, 0.5, residual, maximum(estimate, tolerance * ABOVE))
                if any_below(-near, -0.5):
                    multiply(tree, w, matrix, rows, state.f, w.row_y)
                    exact = rows_residual(tree, rows, D, state.f, w.row_y)
                    residual = where(near, 0.5, residual, exact)
                    for r in range(tree.nrows):
                        state.y[r] = where(near, 0.5, state.y[r], w.row_y[r])
        progress[RESIDUAL] = residual
        progress[ITERATIONS] = count
        progress[FACTORIZATIONS] += 1.0
        progress[PENALTY] = where(
            tolerance, residual, adapted_penalty(primal, dual, settings, progress), progress[PENALTY]
        )

    return iterations


ABOVE = 1.0 + 1e-9
"""A residual that is no longer an estimate decides that iterations end; an estimate is kept above the tolerance."""


def start(multiply: Callable[..., None]) -> Callable[..., None]:
    """A kernel that puts the guess in its cones and finds its velocities and residual.

    Args:
        multiply: As for `block`.
    """

    @kernel
    def guess_state(
        tree: Array, w: Array, matrix: Array, rows: Rows, D: Array, guess: Array, settings: Array, state: State
    ) -> None:
        progress = state.progress
        largest = 1.0
        if any_below(-settings[RULE], 0.5 - SPECTRAL):
            for r in range(tree.nrows):
                w.row_x[r] = 1.0 + 0.5 * float(r % 3) - 0.1 * float(r % 7)
            for _ in range(POWER_STEPS):  # of D^-1 (G + R)
                multiply(tree, w, matrix, rows, w.row_x, w.row_y)
                largest = 0.0
                for r in range(tree.nrows):
                    w.row_x[r] = (w.row_y[r] - rows.g[r]) / D[r]
                    largest = maximum(largest, magnitude(w.row_x[r]))
                for r in range(tree.nrows):
                    w.row_x[r] /= largest + LEAST_INVERSE_INERTIA
        set_first_penalty(largest, settings, progress)
        project_rows(tree, rows, guess, state.f)
        multiply(tree, w, matrix, rows, state.f, state.y)
        for r in range(tree.nrows):
            state.z[r] = state.y[r]
        for s in range(tree.nslots):
            r = tree.slot_row[s]
            state.z[r + 2] += rows.friction[s] * tangential_length(three(state.y, r))
        progress[RESIDUAL] = rows_residual(tree, rows, D, state.f, state.y)
        progress[ITERATIONS] = 0.0
        progress[FACTORIZATIONS] = 0.0

    return guess_state


# An explicit matrix ----------------------------------------------------------------------------------------------


@kernel
def factorize_dense(tree: Array, w: Array, G: Array, rho: Array) -> None:
    """``G + rho = U' D U`` with ``D U`` at and beyond the diagonal of ``A``, ``1 / D`` in ``pivot``; in lines.

    Rows end where the envelope of the matrix does: no entry beyond it is ever different from zero.
    """
    for r in range(tree.nrows):
        for j in range(r // LINE, (tree.envelope[r] + LINE - 1) // LINE):
            set_line(line(G[r], j), w.A[r], j)
        w.A[r, r // LINE, r % LINE] += rho[r]
    for k in range(tree.nrows):
        row = w.A[k]
        inverse = 1.0 / entry(w.A, k, k)
        w.pivot[k] = inverse
        end = (tree.envelope[k] + LINE - 1) // LINE
        for i in range(k + 1, tree.envelope[k]):
            x = entry(w.A, k, i) * inverse
            to = w.A[i]
            for j in range(i // LINE, end):
                set_line(minus_scaled(line(to, j), x, line(row, j)), to, j)


@kernel
def solve_dense(tree: Array, w: Array, G: Array, b: Array, x: Array) -> None:
    """``x = (G + rho)^-1 b``, after `factorize_dense`."""
    Z = w.Z
    for j in range(tree.nlines):
        set_line((0.0, 0.0, 0.0, 0.0), Z, j)
    for r in range(tree.nrows):
        Z[r // LINE, r % LINE] = b[r]
    for k in range(tree.nrows):
        z = Z[k // LINE, k % LINE] * w.pivot[k]
        row = w.A[k]
        for j in range(k // LINE, (tree.envelope[k] + LINE - 1) // LINE):
            set_line(minus_scaled(line(Z, j), z, line(row, j)), Z, j)
        x[k] = z  # entries up to k of its line are done with
    for j in range(tree.nlines):
        set_line((0.0, 0.0, 0.0, 0.0), Z, j)
    for k in range(tree.nrows - 1, -1, -1):
        row = w.A[k]
        total = 0.0
        for j in range(k // LINE, (tree.envelope[k] + LINE - 1) // LINE):
            total = total + sum_of_products(line(Z, j), line(row, j))
        x[k] -= total * w.pivot[k]
        Z[k // LINE, k % LINE] = x[k]


@kernel
def multiply_dense(tree: Array, w: Array, G: Array, rows: Rows, f: Array, y: Array) -> None:
    """``y = G f + R f + g``."""
    dense_velocities(tree, G, rows, f, w.Z, y)


dense_block = block(factorize_dense, solve_dense, multiply_dense)
dense_start = start(multiply_dense)


admm_view = view_of(Array, Rows, Array, Array, State)


@kernel
def admm(tree: Array, w: Array, G: Array, rows: Rows, guess: Array, settings: Array, state: State) -> None:
    """The guess in its cones, the velocities that it leaves, and their residual."""
    dense_inverse_inertias(tree, G, rows, w.row_D)
    dense_start(tree, w, G, rows, w.row_D, guess, settings, state)


@kernel
def admm_iterate(tree: Array, w: Array, G: Array, rows: Rows, guess: Array, settings: Array, state: State) -> None:
    """A block of iterations."""
    dense_block(tree, w, G, rows, w.row_D, settings, state)


ADMM_SETTINGS: dict[str, Shape] = {"settings": (NSETTINGS,)}
ADMM_OUTPUTS: dict[str, Shape] = {
    "impulses": ("nrows",),
    "multipliers": ("nrows",),
    "velocities": ("nrows",),
    "progress": (NPROGRESS,),
}
ADMM_WORK: dict[str, Shape] = {
    **dict.fromkeys(("rho", "row_b", "row_x", "row_h", "row_f", "row_z", "row_y", "row_D"), ("nrows",)),
    "measure": (2,),
}

DENSE_ADMM = Algorithm(
    "contact_admm",
    admm,
    MATRIX | ROW_INPUTS | ADMM_SETTINGS,
    ADMM_OUTPUTS,
    ADMM_WORK | {"A": ("nrows", "nlines", LINE), "pivot": ("nrows",), "Z": ("nlines", LINE)},
    DENSE_CONTACTS,
    admm_iterate,
    view=admm_view,
)
