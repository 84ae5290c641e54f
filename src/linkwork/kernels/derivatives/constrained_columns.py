# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of constrained dynamics by orthogonal rows, for any factor ``M = L' D L`` that can be applied.

Rows ``Q = L^-T J'`` are made orthogonal (`orthogonal_rows`), ``W = L^-1 D^-1 Q``; `derivatives_by` makes the kernel for
a factor along paths of the tree (`constrained`), or for one by articulated bodies (`constrained_articulated`). Symbols
are those of `constrained`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.constrained.constraints import CLOSURE, RATES, constraint_rows
from linkwork.kernels.constrained.orthogonal_rows import (
    CUTS,
    ORTHOGONAL,
    inverse_of_rows,
    marked_pivot,
    orthogonal_rows,
    times_combinations,
)
from linkwork.kernels.derivatives.aba import store_line
from linkwork.kernels.derivatives.constraint_forces import FORCE_PARTIALS, apply_constraint_wrenches
from linkwork.kernels.derivatives.constraints import (
    ROW_PARTIALS,
    common_jacobian,
    row_accelerations,
    row_derivatives,
    rows_in_common_frame,
    set_world,
    velocity_partials,
)
from linkwork.kernels.derivatives.dependent_rows import (
    DEPENDENT_ROWS,
    add_internal_force_derivatives,
    subtract_fit_derivative,
)
from linkwork.kernels.panels import ZERO, entries, line, plus_scaled, scaled, set_line
from linkwork.kernels.records import view_of
from linkwork.kernels.scalar import Array, Scalar, any_below, kernel
from linkwork.kernels.thresholds import CLEARLY_INDEPENDENT
from linkwork.kernels.tree.common_frame import COMMON_INERTIA, ONE_FRAME, acceleration_columns, net_forces
from linkwork.kernels.tree.rnea import WRENCHES
from linkwork.plans.aba_derivatives import LINE
from linkwork.plans.layout import Layout

ROWS: dict[str, Shape] = {
    "k": ("nc",),
    "error": ("nc",),
    "Jc": ("nc", "nv"),
    "Wr": ("nv", "nrow_columns"),
    "T": ("nv", "nrow_columns"),
    "X": ("nc", "nrow_columns"),
    "ds_dq": ("nc", "ncolumns"),
    "ds_dv": ("nc", "ncolumns"),
    "uq": ("nc", LINE),
    "uv": ("nc", LINE),
    "yq": ("nc", LINE),
    "yv": ("nc", LINE),
    "dfq": ("nc", LINE),
    "dfv": ("nc", LINE),
    "Wl": ("nc", LINE),
    "yr": ("nc",),
    "Xl": (3, LINE),
}
INPUTS: dict[str, Shape] = {
    "q": ("nq",),
    "v": ("nv",),
    "tau": ("nv",),
    "wrenches": WRENCHES,
    "softness": ("nc",),
    "regularization": ("nc",),
    "target": ("nc",),
    "cut": (CUTS,),
    "row_scale": ("nc",),
    "row_units": ("nc",),
}
OUTPUTS: dict[str, Shape] = {
    "da_dq": ("nv", "nv"),
    "da_dv": ("nv", "nv"),
    "da_dtau": ("nv", "nv"),
    "df_dq": ("nc", "nv"),
    "df_dv": ("nc", "nv"),
    "df_dtau": ("nc", "nv"),
    "da_dtarget": ("nv", "nc"),
    "df_dtarget": ("nc", "nc"),
    "a": ("nv",),
    "f": ("nc",),
    "pivot": (1,),
}


class DerivativeProblem(NamedTuple):
    """The inputs, by name."""

    q: Array
    v: Array
    tau: Array
    wrenches: Array
    softness: Array
    regularization: Array
    target: Array
    cut: Array
    row_scale: Array
    row_units: Array


class Jacobians(NamedTuple):
    """Derivatives of accelerations ``a`` and constraint forces ``f``, these, and the least pivot of the rows."""

    da_dq: Array
    da_dv: Array
    da_dtau: Array
    df_dq: Array
    df_dv: Array
    df_dtau: Array
    da_dtarget: Array
    df_dtarget: Array
    a: Array
    f: Array
    pivot: Array


class AppliedFactor(NamedTuple):
    """Kernels that compute and apply a factor ``M = L' D L``."""

    factorize: Callable[..., None]
    """``(tree, w, problem, a)``: the factor, and the motion without forces of constraints."""
    half_solve_rows: Callable[..., None]
    """``(tree, w)``: ``Q = L^-T J'``."""
    solve: Callable[..., None]
    """``(tree, w, tau, least, a, f)``: the solution, after `orthogonal_rows`."""
    force_derivatives: Callable[..., None]
    """``(tree, w, f, da_dtau)``: derivatives of the motion with ``f`` held, but for torques of couplings."""
    coupling_derivatives: Callable[..., None]
    """``(tree, w, q, least, f)``: derivatives of torques of couplings; arrays of the factor that lines need."""
    begin_lines: Callable[..., None]
    """``(tree, w, da_dtau)``: before the first line."""
    subtract_row_motion: Callable[..., None]
    """``(tree, w, l)``: subtract from ``u``, in the columns of line ``l``, accelerations of rows with forces held."""
    add_forces: Callable[..., None]
    """``(tree, w, l)``: changes of forces added to the right-hand sides of line ``l``."""
    acceleration_line: Callable[..., Any]
    """``(tree, w, l, k)``: row ``k`` of ``da_dq`` and ``da_dv``, in the columns of line ``l``."""
    torque_line: Callable[..., None]
    """``(tree, w, l, k, da_dtau)``: ``M^-1 - W pivot W'``, the same."""


@kernel
def setup_rows(tree: Array, w: Array, q: Array, v: Array, target: Array) -> None:
    """Rows in the common frame, ``J``, and their right-hand sides ``k``; after `acceleration_columns` with a = 0."""
    constraint_rows(tree, w, q, w.error)
    set_world(tree, w)
    rows_in_common_frame(tree, w)
    velocity_partials(tree, w, v)
    row_accelerations(tree, w, q, v, w.k)
    for r in range(tree.nc):
        w.k[r] = target[r] - w.k[r] - tree.kp[r] * w.error[r]
    common_jacobian(tree, w, w.Jc)


@kernel
def solve_rows(tree: Array, w: Array, f: Array) -> None:
    """``y = pivot E k`` and ``f = E' y``."""
    for s in range(tree.nc):
        x = 0.0
        for r in range(tree.nc):
            x = x + w.Er[s, r] * w.k[r]
        w.yr[s] = w.pivot[s] * x
    for r in range(tree.nc):
        x = 0.0
        for s in range(tree.nc):
            x = x + w.Er[s, r] * w.yr[s]
        f[r] = x


@kernel
def combine_targets(tree: Array, w: Array, least: Scalar) -> None:
    """``T = W pivot E``."""
    for k in range(tree.nv):
        for s in range(tree.nc):
            w.row[s] = w.Wr[k, s] * w.pivot[s]
        times_combinations(tree, w, least, w.row, w.T[k])


@kernel
def solve_force_line(tree: Array, w: Array, least: Scalar) -> None:
    """``y = pivot E u`` and ``df = E' y`` in four columns."""
    for s in range(tree.nc):
        q = ZERO
        v = ZERO
        for r in range(s + 1):
            q = plus_scaled(q, w.Er[s, r], line(w.uq, r))
            v = plus_scaled(v, w.Er[s, r], line(w.uv, r))
        set_line(scaled(w.pivot[s], q), w.yq, s)
        set_line(scaled(w.pivot[s], v), w.yv, s)
    if tree.redundant != 0:
        if any_below(least, CLEARLY_INDEPENDENT):  # else E is triangular
            for s in range(tree.nc):
                for r in range(s + 1, tree.nc):
                    x = w.pivot[s] * w.Er[s, r]
                    set_line(plus_scaled(line(w.yq, s), x, line(w.uq, r)), w.yq, s)
                    set_line(plus_scaled(line(w.yv, s), x, line(w.uv, r)), w.yv, s)
    for r in range(tree.nc):
        q = ZERO
        v = ZERO
        for s in range(r, tree.nc):
            q = plus_scaled(q, w.Er[s, r], line(w.yq, s))
            v = plus_scaled(v, w.Er[s, r], line(w.yv, s))
        set_line(q, w.dfq, r)
        set_line(v, w.dfv, r)
    if tree.redundant != 0:
        if any_below(least, CLEARLY_INDEPENDENT):
            for r in range(tree.nc):
                for s in range(r):
                    set_line(plus_scaled(line(w.dfq, r), w.Er[s, r], line(w.yq, s)), w.dfq, r)
                    set_line(plus_scaled(line(w.dfv, r), w.Er[s, r], line(w.yv, s)), w.dfv, r)


@kernel
def set_torque_line(tree: Array, w: Array, l: int, da_dtarget: Array, df_dtau: Array) -> None:
    """``pivot W'`` in the columns of line ``l``; gives ``da_dtarget = T`` and ``df_dtau = -T'``."""
    for r in range(tree.nc):
        for c in range(LINE):
            k = LINE * l + c
            w.Wl[r, c] = w.pivot[r] * w.Wr[k, r] if k < tree.nv else 0.0
            if k < tree.nv:
                da_dtarget[k, r] = w.T[k, r]
                df_dtau[r, k] = -w.T[k, r]


@kernel
def pad_rows(tree: Array, w: Array) -> None:
    """``ds = 0`` beyond the last column."""
    for r in range(tree.nc):
        for k in range(tree.nv, tree.ncolumns):
            w.ds_dq[r, k] = 0.0
            w.ds_dv[r, k] = 0.0


@kernel
def store_force_line(tree: Array, w: Array, l: int, df_dq: Array, df_dv: Array) -> None:
    """``df`` in the columns of line ``l``."""
    for r in range(tree.nc):
        store_line(tree.nv, w.dfq, r, l, df_dq[r])
        store_line(tree.nv, w.dfv, r, l, df_dv[r])


@kernel
def store_inverse_of_rows(tree: Array, w: Array, df_dtarget: Array) -> None:
    """``df_dtarget = X``."""
    for r in range(tree.nc):
        for s in range(tree.nc):
            df_dtarget[r, s] = w.X[r, s]


@kernel
def nothing(tree: Array, w: Array, x: Any) -> None:
    """A factor that needs no such step."""


def derivatives_by(factor: AppliedFactor) -> Callable[..., None]:
    """The kernel that differentiates accelerations and constraint forces with a factor of the mass matrix."""
    factorize, half_solve_rows, solve, force_derivatives, coupling_derivatives = factor[:5]
    begin_lines, subtract_row_motion, add_forces, acceleration_line, torque_line = factor[5:]

    @kernel
    def solve_lines(tree: Array, w: Array, least: Scalar, result: Jacobians) -> None:
        """All derivatives, four columns at a time."""
        begin_lines(tree, w, result.da_dtau)
        for l in range(tree.nlines):
            for r in range(tree.nc):
                set_line(scaled(-1.0, entries(w.ds_dq[r], LINE * l)), w.uq, r)
                set_line(scaled(-1.0, entries(w.ds_dv[r], LINE * l)), w.uv, r)
            subtract_row_motion(tree, w, l)
            solve_force_line(tree, w, least)
            add_forces(tree, w, l)
            set_torque_line(tree, w, l, result.da_dtarget, result.df_dtau)
            store_force_line(tree, w, l, result.df_dq, result.df_dv)
            for k in range(tree.nv):
                q, v = acceleration_line(tree, w, l, k)
                set_line(q, w.Xl, 0)
                set_line(v, w.Xl, 1)
                store_line(tree.nv, w.Xl, 0, l, result.da_dq[k])
                store_line(tree.nv, w.Xl, 1, l, result.da_dv[k])
            for k in range(LINE * l, tree.nv):
                torque_line(tree, w, l, k, result.da_dtau)
        store_inverse_of_rows(tree, w, result.df_dtarget)

    @kernel
    def derivatives(tree: Array, w: Array, problem: DerivativeProblem, result: Jacobians) -> None:
        q, v, tau, wrenches, softness, regularization, target, cut, row_scale, row_units = problem
        factorize(tree, w, problem, result.a)
        setup_rows(tree, w, q, v, target)
        half_solve_rows(tree, w)
        least = orthogonal_rows(tree, w, softness, regularization, cut, row_scale, row_units)
        result.pivot[0] = marked_pivot(w, least)
        inverse_of_rows(tree, w, least, w.X)
        solve(tree, w, tau, least, result.a, result.f)
        acceleration_columns(tree, w, v, result.a, ONE_FRAME)
        net_forces(tree, w, wrenches)
        apply_constraint_wrenches(tree, w, result.f)
        force_derivatives(tree, w, result.f, result.da_dtau)
        row_derivatives(tree, w, q, v, result.a, w.ds_dq, w.ds_dv)
        pad_rows(tree, w)
        coupling_derivatives(tree, w, q, least, result.f)
        subtract_fit_derivative(tree, w, q, regularization, least)
        solve_lines(tree, w, least, result)
        add_internal_force_derivatives(tree, w, q, regularization, least, result.f, result.df_dq)

    return derivatives


COLUMN_WORK: dict[str, Shape] = (
    ROW_PARTIALS | COMMON_INERTIA | CLOSURE | RATES | FORCE_PARTIALS | ORTHOGONAL | ROWS | DEPENDENT_ROWS
)


def constrained_algorithm(name: str, factor: AppliedFactor, work: Mapping[str, Shape], layout: Layout) -> Algorithm:
    """The algorithm of `derivatives_by`."""
    view = view_of(DerivativeProblem, Jacobians)
    return Algorithm(name, derivatives_by(factor), INPUTS, OUTPUTS, {**work, **COLUMN_WORK}, layout, view=view)
