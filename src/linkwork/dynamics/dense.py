# SPDX-License-Identifier: BSD-3-Clause
"""Constrained forward dynamics by dense linear algebra in NumPy, the reference of all other methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwork.closure.mobility import mass_factor, rank_cut
from linkwork.closure.thresholds import RANK
from linkwork.compilers.run import check_out
from linkwork.dynamics.thresholds import KKT_RANK
from linkwork.errors import InputError
from linkwork.inputs import rows_of
from linkwork.model.model import Model
from linkwork.model.thresholds import UNBOUNDED
from linkwork.quantities.arguments import Array
from linkwork.quantities.functions import (
    bias_forces,
    constraint_bias,
    constraint_error,
    constraint_jacobian,
    constraint_target,
    frame_jacobian,
    mass_matrix,
)
from linkwork.quantities.scales import scales_of, singular_mass_matrix


def row_weights(R: Array, mu: float) -> Array:
    """Weights of rows, ``sqrt(mu / R)``; zero for rows that are not enabled."""
    result: Array = np.where(R < UNBOUNDED, np.sqrt(mu / np.maximum(R, 1e-300)), 0.0)
    return result


def rank_tolerance(robot: Model, q: Any, J: Array, B: Array, scale: Array) -> Array:
    """The part of the largest below which singular values of ``B = scale J L^-T`` are zeros, ``(...)``."""
    unitless = B / np.sqrt(scales_of(robot).rows)[..., None] / np.where(scale > 0, scale, 1.0)[..., None]
    s = np.linalg.svd(unitless, compute_uv=False)
    cut = np.where(s.max(axis=-1, initial=0.0) > 0, rank_cut(robot, q, s, J), 0.0)
    result: Array = np.where(cut > RANK, cut, KKT_RANK)
    return result


def solve_kkt(
    robot: Model, q: Any, v: Any, tau: Any, wrenches: dict[str, Any], R: Array, mu: float, target: Any
) -> tuple[Array, Array]:
    """Accelerations, and the result as `ResultLayout` says: least squares by singular values.

    Of all multipliers they are the smallest, rows counting by their regularization ``R`` relative to ``mu``.
    ``wrenches`` are external wrenches by the names of frames, ``target`` accelerations beyond those of rows' gains.
    """
    M, c, J = mass_matrix(robot, q), bias_forces(robot, q, v), constraint_jacobian(robot, q)
    k = constraint_target(robot, q, v) - constraint_bias(robot, q, v) + target
    force = tau - c
    for frame, wrench in wrenches.items():
        force = force + (np.swapaxes(frame_jacobian(robot, q, frame), -1, -2) @ wrench[..., None])[..., 0]
    on = R < UNBOUNDED
    scale = row_weights(R, mu)
    # With M = L L', B = scale J L^-T and f = M^-1 force: a = f + L^-T y, the shortest y with B y = scale (k - J f)
    L = mass_factor(robot, q)
    try:
        free = np.linalg.solve(M, force[..., None])
    except np.linalg.LinAlgError:  # a pivot that Cholesky's factor has as the root of rounding
        raise singular_mass_matrix(robot, M) from None
    B = np.swapaxes(np.linalg.solve(L, np.swapaxes(J, -1, -2)), -1, -2) * scale[..., None]
    if not np.isfinite(B).all():
        raise singular_mass_matrix(robot, M)
    inverse = np.linalg.pinv(B, rcond=rank_tolerance(robot, q, J, B, scale))
    y = inverse @ (scale[..., None] * (k[..., None] - J @ free))
    a = (free + np.linalg.solve(np.swapaxes(L, -1, -2), y))[..., 0]
    multipliers = scale * (np.swapaxes(inverse, -1, -2) @ y)[..., 0]
    residuals = np.where(on, k - (J @ a[..., None])[..., 0], 0.0)
    rates = (J @ np.asarray(v, dtype=np.float64)[..., None])[..., 0]
    gap = np.abs(np.where(on, constraint_error(robot, q), 0.0)).max(axis=-1, initial=0.0)
    opening = np.abs(np.where(on, rates, 0.0)).max(axis=-1, initial=0.0)
    progress = np.broadcast_to([0.0, 1.0], (*a.shape[:-1], 2))
    violation = np.stack(np.broadcast_arrays(gap, opening, a[..., 0])[:2], axis=-1)
    return a, np.concatenate([progress, multipliers, residuals, violation], axis=-1)


def dense_solution(
    robot: Model,
    frames: Sequence[str],
    state: tuple[Any, Any, Any],
    arrays: Mapping[str, Any],
    mu: float,
    out: Array | None,
) -> tuple[Array, Array]:
    """Accelerations and the result as `solve_kkt` computes them, of arrays as callers give them.

    Args:
        robot: The mechanism.
        frames: That external wrenches act on.
        state: ``q``, ``v`` and ``tau``.
        arrays: Wrenches, targets and the regularization of rows, by name.
        mu: The regularization of a row of compliance one.
        out: Array to write accelerations to; None: a new one.
    """
    q, v, tau = state
    R: Array = arrays["regularization"]
    if R.shape[-1:] != (robot.nc,):
        raise InputError(f"regularization has shape {R.shape}, needs (..., {robot.nc})")
    forces = rows_of(arrays["wrenches"], "wrenches", (len(frames), 6))
    wrenches = {name: forces[..., n, :] for n, name in enumerate(frames)}
    target = rows_of(arrays["target"], "target", (robot.nc,))
    a, result = solve_kkt(robot, q, v, rows_of(tau, "tau", (robot.nv,)), wrenches, R, mu, target)
    if out is not None:
        check_out("a", out, a.shape, a.dtype)
        out[...] = a
        a = out
    return a, result
