# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of constrained dynamics by singular values: where the rank of rows is a close call.

They are those of `dense.solve_kkt` with its rank held: of rows that are dependent up to the rounding of numbers in a
file, singular values that are not zero are taken for zeros, and the matrix of the rows is replaced by the nearest one
of lower rank, whose null space rotates with the configuration as singular vectors do.

With ``M = F F'``, ``B = S J F^-T = U1 s1 V1' + U2 s2 V2'`` and weights S of rows, ``alpha = F' a`` and forces are::

    alpha = V2 V2' alpha_free + B+ S k,    f = S B+' (alpha - alpha_free),    B+ = V1 s1^-1 U1',    alpha_free = F^-1 u

where u are the torques less bias forces, and k the right-hand sides of rows. Along a change of the configuration,
``D = U' dB V`` in blocks, the spaces of singular vectors turn into each other by ``dU1 = U2 X + ...`` and ``dV1 = V2 Y
+ ...`` (Stewart and Sun, Matrix Perturbation Theory, Section V.4)::

    X s1 = D21 + s2 Y,    Y s1 = D12' + s2' X
    dB+ = -V1 s1^-1 D11 s1^-1 U1' + V1 s1^-1 X' U2' + V2 Y s1^-1 U1',    d(V2 V2') = -V2 Y V1' - V1 Y' V2'

F may be any factor of M; the one with ``F^-1 dF = Phi / 2``, ``Phi = F^-1 dM F^-T``, needs no derivative of a
Cholesky factor.

Cost: O(n^4) in NumPy, for n degrees of freedom and m rows: tensors ``dM/dq`` and ``dJ/dq`` are made of inverse
dynamics and of rows for unit accelerations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from linkwork.closure.mobility import mass_factor
from linkwork.dynamics.dense import rank_tolerance, row_weights
from linkwork.dynamics.jacobians.trees import InverseDerivatives
from linkwork.model.computed import computed_once
from linkwork.model.model import Model
from linkwork.plans.constraints import constrained_tree
from linkwork.quantities.arguments import Array
from linkwork.quantities.functions import (
    constraint_bias,
    constraint_derivatives,
    constraint_error_jacobian,
    constraint_jacobian,
    constraint_target,
)
from linkwork.quantities.scales import scales_of


class _Partials(NamedTuple):
    """Terms of the equations at a state, and their derivatives; in derivatives by q, the last axis is the direction."""

    u: Array
    k: Array
    du: tuple[Array, Array]
    """By q and by v, ``(nv, nv)``."""
    dk: tuple[Array, Array]
    """``(nc, nv)``."""
    J: Array
    dJ: Array
    """``(nc, nv, nv)``."""
    dM: Array
    """``(nv, nv, nv)``."""


@computed_once
def _inverse_derivatives(robot: Model, frames: tuple[str, ...]) -> InverseDerivatives:
    return InverseDerivatives(robot, passive=False, wrenches=frames, threads=1)


def _partials(robot: Model, frames: tuple[str, ...], q: Any, v: Any, tau: Any, wrenches: Any, target: Any) -> _Partials:
    nv, unit, still, tree = robot.nv, np.eye(robot.nv), np.zeros(robot.nv), constrained_tree(robot)
    at_q = np.broadcast_to(q, (nv, robot.nq))
    inverse = _inverse_derivatives(robot, frames)
    bias = inverse(q, v, still, wrenches)
    heavy = inverse(at_q, still, unit).dtau_dq - inverse(q, still, still).dtau_dq
    rows = constraint_derivatives(robot, q, v, still)
    dJ = np.moveaxis(constraint_derivatives(robot, at_q, still, unit).ds_dq, 0, 1)
    J, kp, kd = constraint_jacobian(robot, q), np.asarray(tree.kp)[:, None], np.asarray(tree.kd)[:, None]
    rates = np.einsum("rkj,k->rj", dJ, v)
    return _Partials(
        u=tau - bias.tau,
        k=constraint_target(robot, q, v) - constraint_bias(robot, q, v) + target,
        du=(-bias.dtau_dq, -bias.dtau_dv),
        dk=(-kp * constraint_error_jacobian(robot, q) - kd * rates - rows.ds_dq, -kd * J - rows.ds_dv),
        J=J,
        dJ=dJ,
        dM=np.moveaxis(heavy, 0, 1),
    )


def dense_derivatives(
    robot: Model,
    state: Mapping[str, Array],
    frames: tuple[str, ...],
    R: Array,
    mu: float,
) -> dict[str, Array]:
    """All fields of `ConstrainedJacobians`, of one state.

    Args:
        robot: The mechanism.
        state: ``q``, ``v``, ``tau``, ``wrenches`` and ``target``.
        frames: Names of the frames that wrenches act on.
        R: Regularization of rows, ``(nc,)``.
        mu: The regularization of the method.
    """
    p = _partials(robot, frames, **state)
    S, L = row_weights(R, mu), mass_factor(robot, state["q"])
    half = np.linalg.inv(L).T  # F^-T
    rows = p.J @ half
    cut = rank_tolerance(robot, state["q"], p.J, S[:, None] * rows, S)
    B = S[:, None] * rows
    U, s, Vt = np.linalg.svd(B)
    rank = int((s > cut * s.max(initial=0.0)).sum())
    (U1, U2), (V1, V2) = np.split(U, [rank], axis=1), np.split(Vt.T, [rank], axis=1)
    s1, s2 = np.split(s, [rank])
    plus = (V1 / s1) @ U1.T
    alpha_free = half.T @ p.u
    alpha = V2 @ (V2.T @ alpha_free) + plus @ (S * p.k)
    T = half @ (plus * S)

    # along each degree of freedom, in the first axis
    phi = half.T @ np.moveaxis(p.dM, -1, 0) @ half
    dB = S[:, None] * (np.moveaxis(p.dJ, -1, 0) @ half) - 0.5 * B @ phi
    D11, D12, D21 = U1.T @ dB @ V1, U1.T @ dB @ V2, U2.T @ dB @ V1
    X, Y = _turned(D21, np.swapaxes(D12, -1, -2), s1, s2)
    XT, YT = np.swapaxes(X, -1, -2), np.swapaxes(Y, -1, -2)
    dplus = -(V1 / s1) @ (D11 / s1) @ U1.T + (V1 / s1) @ XT @ U2.T + V2 @ (Y / s1) @ U1.T
    dfree = (half.T @ p.du[0]).T - 0.5 * phi @ alpha_free
    turned = V2 @ Y @ V1.T + V1 @ YT @ V2.T
    dalpha = dfree @ V2 @ V2.T - turned @ alpha_free + dplus @ (S * p.k) + (plus @ (S[:, None] * p.dk[0])).T
    da_dq = half @ (dalpha - 0.5 * phi @ alpha).T
    df_dq = S[:, None] * (np.swapaxes(dplus, -1, -2) @ (alpha - alpha_free) + (dalpha - dfree) @ plus).T

    zero = np.square(rows).sum(axis=1) <= cut**2 * scales_of(robot).rows
    df_dq[zero] = 0.0  # as forces of these rows

    da_dtau, df_dtarget = half @ (V2 @ V2.T) @ half.T, (S[:, None] * (plus.T @ plus)) * S
    return {
        "da_dq": da_dq,
        "da_dv": da_dtau @ p.du[1] + T @ p.dk[1],
        "da_dtau": da_dtau,
        "df_dq": df_dq,
        "df_dv": -T.T @ p.du[1] + df_dtarget @ p.dk[1],
        "df_dtau": -T.T,
        "da_dtarget": T,
        "df_dtarget": df_dtarget,
        "a": half @ alpha,
        "f": S * (plus.T @ (alpha - alpha_free)),
        "pivot": np.array([(s1.min() / s1.max()) ** 2 if rank == len(S) else 0.0]),
    }


def _turned(D21: Array, D12T: Array, s1: Array, s2: Array) -> tuple[Array, Array]:
    """X ``(..., rows - rank, rank)`` and Y ``(..., nv - rank, rank)``; singular values beyond those there are, zero."""
    few = len(s2)
    X, Y = D21 / s1, D12T / s1
    gap = s1**2 - s2[:, None] ** 2
    above, below = D21[..., :few, :], D12T[..., :few, :]
    X[..., :few, :] = (above * s1 + s2[:, None] * below) / gap
    Y[..., :few, :] = (below * s1 + s2[:, None] * above) / gap
    return X, Y
