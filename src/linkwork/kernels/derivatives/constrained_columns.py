# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of constrained dynamics by orthogonal rows: what paths and articulated bodies have in common.

Both texts, `constrained_derivatives` and `constrained_articulated_derivatives`, have rows ``Q = L^-T J'`` made
orthogonal (`orthogonal_rows`) and ``W = L^-1 D^-1 Q``, each in its own way; forces and targets follow here. Symbols are
those of `constrained_derivatives`.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.constrained.constraints import constraint_rows
from linkwork.kernels.constrained.orthogonal_rows import CUTS, EXPECTED, times_combinations
from linkwork.kernels.derivatives.aba import store_line
from linkwork.kernels.derivatives.constraints import (
    common_jacobian,
    row_accelerations,
    rows_in_common_frame,
    set_world,
    velocity_partials,
)
from linkwork.kernels.panels import ZERO, line, plus_scaled, scaled, set_line
from linkwork.kernels.scalar import Array, Scalar, any_below, kernel
from linkwork.kernels.tree.rnea import WRENCHES
from linkwork.plans.aba_derivatives import LINE

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


class Jacobians(NamedTuple):
    """Derivatives of accelerations ``a`` and constraint forces ``f``."""

    da_dq: Array
    da_dv: Array
    da_dtau: Array
    df_dq: Array
    df_dv: Array
    df_dtau: Array
    da_dtarget: Array
    df_dtarget: Array


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
        if any_below(least, EXPECTED):  # else E is triangular
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
        if any_below(least, EXPECTED):
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
