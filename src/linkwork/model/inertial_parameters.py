# SPDX-License-Identifier: BSD-3-Clause
"""Ten numbers of a body and the parametrizations in which they are physically consistent; leading axes are batch axes.

Symbols, after Wensing, Kim and Slotine (RA-L 2018) and Rucker and Wensing (RA-L 2022):

| here  | shape       | meaning                                                                               |
|-------|-------------|---------------------------------------------------------------------------------------|
| pi    | (..., 10)   | inertial parameters: m, h = m c, and xx, xy, yy, xz, yz, zz of I about the body frame |
| Sigma | (..., 3, 3) | second moments of mass, ``tr(I) / 2 - I``                                             |
| P     | (..., 4, 4) | pseudo-inertia, ``[[Sigma, h], [h', m]]``                                             |
| U     | (..., 4, 4) | upper triangular, ``P = U U'``                                                        |
| theta | (..., 10)   | log-Cholesky parameters: alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3                 |

    U = exp(alpha) [[exp(d1), s12, s13, t1], [0, exp(d2), s23, t2], [0, 0, exp(d3), t3], [0, 0, 0, 1]]

A distribution of mass with parameters ``pi`` exists if and only if P is positive semidefinite, and one that fills space
if it is definite: then theta is any ten numbers, so that an optimizer needs no constraints. Orders are those of
Pinocchio (``toDynamicParameters``, ``PseudoInertia``, ``LogCholeskyParameters``) and of `regressor`s.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.conversions import converted
from linkwork.errors import InputError
from linkwork.inputs import float_array
from linkwork.model.arrays import Floats

SIX = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
"""The entries of a symmetric matrix in the order of inertial parameters: xx, xy, yy, xz, yz, zz."""

SHEARS = ((0, 1), (1, 2), (0, 2))
"""Places of s12, s23, s13 in U."""

ROUNDING = 1e-12
"""Eigenvalues of a pseudo-inertia that count as zero, as a part of its largest."""


def symmetric(six: Any) -> Any:
    """Matrices ``(..., 3, 3)`` of ``(..., 6)``: xx, xy, yy, xz, yz, zz."""
    x = np.asarray(six)
    return np.stack([x[..., (0, 1, 3)], x[..., (1, 2, 4)], x[..., (3, 4, 5)]], axis=-2)


def six_of(matrices: Any) -> Any:
    """The six distinct entries of symmetric matrices: the inverse of `matrix_of`."""
    x = np.asarray(matrices)
    return np.stack([x[..., i, j] for i, j in SIX], axis=-1)


def pseudo_inertia(parameters: npt.ArrayLike) -> Floats:
    """The pseudo-inertia of bodies, ``(..., 4, 4)``: second moments of mass, first moments, mass.

    Args:
        parameters: Inertial parameters, ``(..., 10)``: m, m c, and xx, xy, yy, xz, yz, zz about the frame's origin.
    """
    pi = _numbers(parameters, (10,), "inertial parameters")
    I = symmetric(pi[..., 4:])
    P = np.empty((*pi.shape[:-1], 4, 4))
    P[..., :3, :3] = 0.5 * _traces(I) * np.eye(3) - I
    P[..., :3, 3] = P[..., 3, :3] = pi[..., 1:4]
    P[..., 3, 3] = pi[..., 0]
    return P


def from_pseudo_inertia(matrices: npt.ArrayLike) -> Floats:
    """Inertial parameters, ``(..., 10)``, of bodies with these pseudo-inertias.

    Args:
        matrices: Pseudo-inertias, ``(..., 4, 4)``; the upper triangle is read.
    """
    return _of_upper(_numbers(matrices, (4, 4), "pseudo-inertia"))


def _of_upper(P: Floats) -> Floats:
    """Inertial parameters; the map is linear."""
    Sigma = symmetric(six_of(P[..., :3, :3]))
    I = _traces(Sigma) * np.eye(3) - Sigma
    parameters: Floats = np.concatenate([P[..., 3, 3, None], P[..., :3, 3], six_of(I)], axis=-1)
    return parameters


def is_physically_consistent(parameters: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Whether some distribution of mass has these inertial parameters, ``(...)``, but for rounding.

    That is where the `pseudo_inertia` is positive semidefinite: the mass and the moments of inertia are not negative,
    and no two principal moments sum to less than the third.

    Args:
        parameters: Inertial parameters, ``(..., 10)``.
    """
    _, values, _ = _spectrum(pseudo_inertia(parameters), None)
    consistent: npt.NDArray[np.bool_] = values[..., 0] >= -ROUNDING * np.abs(values).max(axis=-1)
    return consistent


@converted
def nearest_physically_consistent(
    parameters: npt.ArrayLike, *, length: float | None = None, margin: float = 1e-8
) -> Floats:
    """The nearest inertial parameters, ``(..., 10)``, that some distribution of mass has.

    Nearest is least in the Frobenius norm of the `pseudo_inertia`, whose negative eigenvalues are raised. Second
    moments, first moments and mass are compared with the help of a length; bodies that are consistent by the margin
    are unchanged.

    Args:
        parameters: Inertial parameters, ``(..., 10)``.
        length: In m; by default the radius of gyration of each body, where it has one, and else 1.
        margin: The least eigenvalue as a part of the largest, above zero so that `log_cholesky` exists.
    """
    if not 0 <= margin < 1:
        raise InputError(f"margin is {margin}; it must be >= 0 and < 1")
    if length is not None and not 0 < length < np.inf:
        raise InputError(f"length is {length}; it must be finite and > 0")
    pi = _numbers(parameters, (10,), "inertial parameters")
    scales, values, vectors = _spectrum(pseudo_inertia(pi), length)
    if not (values[..., -1] > 0).all():
        at = _first(~(values[..., -1] > 0))
        raise InputError(
            f"inertial parameters{at} have a pseudo-inertia without a positive eigenvalue: there is no "
            "closest physically consistent body"
        )
    least = margin * values[..., -1:]
    raised = (vectors * np.maximum(values, least)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    projected = from_pseudo_inertia(raised * scales[..., :, None] * scales[..., None, :])
    return np.where((values[..., :1] >= least), pi, projected)


def _spectrum(P: Floats, length: float | None) -> tuple[Floats, Floats, Floats]:
    """Scales of rows of P, and eigenvalues and vectors of P without units."""
    square, mass = np.trace(P[..., :3, :3], axis1=-2, axis2=-1), P[..., 3, 3]
    least = np.finfo(np.float64).tiny  # where the quotient overflows or vanishes, there is no size to speak of
    has_size = (square > least * mass) & (mass > least * square)
    gyration = np.sqrt(np.where(has_size, square, 1.0) / np.where(has_size, mass, 1.0))
    scales = np.ones(P.shape[:-1])
    scales[..., :3] = gyration[..., None] if length is None else length
    values, vectors = np.linalg.eigh(P / (scales[..., :, None] * scales[..., None, :]))
    return scales, values, vectors


# Log-Cholesky ---------------------------------------------------------------------------------------------------------


def log_cholesky(parameters: npt.ArrayLike) -> Floats:
    """Log-Cholesky parameters, ``(..., 10)``, of bodies with these inertial parameters.

    Any ten numbers are the log-Cholesky parameters of a body that exists (Rucker and Wensing 2022): alpha, d1, d2, d3,
    s12, s23, s13, t1, t2, t3, as in Pinocchio.

    Args:
        parameters: Inertial parameters, ``(..., 10)``, with a positive definite `pseudo_inertia`.
    """
    U = _factor(parameters)
    last = U[..., 3, 3]
    alpha = np.log(last)
    d = [np.log(U[..., i, i]) - alpha for i in range(3)]
    s = [U[..., i, j] / last for i, j in SHEARS]
    t = [U[..., i, 3] / last for i in range(3)]
    return np.stack([alpha, *d, *s, *t], axis=-1)


def from_log_cholesky(theta: npt.ArrayLike) -> Floats:
    """Inertial parameters, ``(..., 10)``, of bodies with these log-Cholesky parameters.

    Args:
        theta: Log-Cholesky parameters, ``(..., 10)``.
    """
    U = _upper(theta)
    return _of_upper(U @ np.swapaxes(U, -1, -2))


def from_log_cholesky_jacobian(theta: npt.ArrayLike) -> Floats:
    """Derivatives of `from_log_cholesky`, ``(..., 10, 10)``: of the inertial parameters by the log-Cholesky ones.

    Args:
        theta: Log-Cholesky parameters, ``(..., 10)``.
    """
    U = _upper(theta)
    e = U[..., 3, 3]
    dU = np.zeros((*U.shape[:-2], 10, 4, 4))
    dU[..., 0, :, :] = U
    for k in range(3):
        dU[..., 1 + k, k, k] = U[..., k, k]
        dU[(..., 4 + k, *SHEARS[k])] = e
        dU[..., 7 + k, k, 3] = e
    half = dU @ np.swapaxes(U, -1, -2)[..., None, :, :]
    return np.swapaxes(_of_upper(half + np.swapaxes(half, -1, -2)), -1, -2)


def log_cholesky_jacobian(parameters: npt.ArrayLike) -> Floats:
    """Derivatives of `log_cholesky`, ``(..., 10, 10)``: of the log-Cholesky parameters by the inertial ones.

    Args:
        parameters: Inertial parameters, ``(..., 10)``, with a positive definite `pseudo_inertia`.
    """
    U = _factor(parameters)
    dP = pseudo_inertia(np.eye(10))
    inverse = np.linalg.inv(U)[..., None, :, :]
    # P = U U' gives U⁻¹ dP U⁻ᵀ = X + X' with X = U⁻¹ dU upper triangular: half the diagonal, all that is above it
    both = inverse @ dP @ np.swapaxes(inverse, -1, -2)
    X = np.triu(both, 1) + 0.5 * both * np.eye(4)
    dU = U[..., None, :, :] @ X
    e = U[..., 3, 3, None]
    alpha = dU[..., 3, 3] / e
    d = [dU[..., i, i] / U[..., i, i, None] - alpha for i in range(3)]
    others = [(dU[..., i, j] - U[..., i, j, None] * alpha) / e for i, j in (*SHEARS, (0, 3), (1, 3), (2, 3))]
    return np.stack([alpha, *d, *others], axis=-2)


def _factor(parameters: npt.ArrayLike) -> Floats:
    """U of ``P = U U'``: the Cholesky factor of P with rows and columns in reverse order."""
    P = pseudo_inertia(parameters)
    _, values, _ = _spectrum(P, None)
    if not (values[..., 0] > 0).all():
        bad = ~(values[..., 0] > 0)
        raise InputError(
            f"inertial parameters{_first(bad)} have a pseudo-inertia that is not positive definite (its least "
            f"eigenvalue without units is {values[..., 0][bad].flat[0]:.3g}): no body that fills space has them; "
            "nearest_physically_consistent() gives the nearest that do"
        )
    return np.asarray(np.linalg.cholesky(P[..., ::-1, ::-1])[..., ::-1, ::-1], dtype=np.float64)


def _upper(theta: npt.ArrayLike) -> Floats:
    """U of log-Cholesky parameters."""
    x = _numbers(theta, (10,), "log-Cholesky parameters")
    U = np.zeros((*x.shape[:-1], 4, 4))
    for k in range(3):
        U[..., k, k] = np.exp(x[..., 1 + k])
        U[(..., *SHEARS[k])] = x[..., 4 + k]
        U[..., k, 3] = x[..., 7 + k]
    U[..., 3, 3] = 1.0
    U *= np.exp(x[..., 0])[..., None, None]
    return U


def _traces(matrices: Floats) -> Floats:
    traces: Floats = np.trace(matrices, axis1=-2, axis2=-1)[..., None, None]
    return traces


def _first(bad: npt.NDArray[np.bool_]) -> str:
    """Of a batch, which row is the first at fault."""
    return "" if bad.ndim == 0 else f" of row {', '.join(str(int(k)) for k in np.argwhere(bad)[0])}"


def _numbers(values: npt.ArrayLike, shape: tuple[int, ...], what: str) -> Floats:
    x = float_array(values, what)
    if x.shape[-len(shape) :] != shape:
        needs = ", ".join(map(str, shape))
        raise InputError(f"{what}: the shape is {x.shape}, needs (..., {needs})")
    if not np.isfinite(x).all():
        raise InputError(f"{what} hold numbers that are not finite")
    return x
