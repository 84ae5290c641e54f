# SPDX-License-Identifier: BSD-3-Clause
"""Linear operators on rows and on joints, as SciPy takes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any, Self

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

from linkwork.errors import InputError
from linkwork.inputs import real_array
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array

NUMBERS = 14_000
"""Numbers of a matrix that an operator is applied to at once: they stay in the cache."""
LEAST_COLUMNS = 16
"""Columns of a matrix that it is applied to at once at least."""


def real_parts(apply: Callable[[Array], Array], x: Array) -> Array:
    """A linear map of reals on any numbers."""
    if np.iscomplexobj(x):
        result: Array = real_parts(apply, x.real) + 1j * real_parts(apply, x.imag)
        return result
    return apply(np.ascontiguousarray(x, dtype=np.float64))


def columns(apply: Callable[[Array], Array], X: Array) -> Array:
    """A linear map of reals on the columns of a matrix; the map is of rows, ``(k, n)``, and is given some at a time.

    These stay in the cache from where they are copied to where they are used.
    """
    n, count = X.shape
    block = max(LEAST_COLUMNS, NUMBERS // max(n, 1) // LEAST_COLUMNS * LEAST_COLUMNS)
    if count <= block:
        return real_parts(apply, X.T).T
    first = real_parts(apply, X[:, :block].T)
    result = np.empty((count, first.shape[1]), dtype=first.dtype)
    result[:block] = first
    for k in range(block, count, block):
        result[k : k + block] = real_parts(apply, X[:, k : k + block].T)
    return result.T


def finite(x: Array, name: str) -> Array:
    """``x``, checked: products with a matrix would pass NaN and infinity on."""
    if not np.isfinite(x).all():
        index = tuple(int(k) for k in np.argwhere(~np.isfinite(x))[0])
        result = "NaN" if np.isnan(x[index]) else "infinity"
        raise InputError(f"{name} holds {result} at index {index if len(index) > 1 else index[0]}")
    return x


def vectors(x: Any, name: str, size: int, most: float = np.inf) -> Array:
    """``x`` as a vector of so many numbers, or a matrix of such columns; complex ones are taken, as SciPy's are.

    Args:
        x: The operand.
        name: Of the argument.
        size: Numbers of a vector.
        most: Columns that a matrix may have.
    """
    plain = type(x) is np.ndarray and x.dtype.kind in "fc"
    array = x if plain else np.asarray(x) if _is_complex(x) else real_array(x, name)
    if array.ndim not in (1, 2) or len(array) != size or (array.ndim == 2 and array.shape[1] > most):
        raise InputError(f"{name} has shape {array.shape}, needs ({size},) or ({size}, {'k' if most > 1 else 1})")
    return array


def _is_complex(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind == "c" and not np.ma.is_masked(x)


class Operator(scipy.sparse.linalg.LinearOperator):  # type: ignore[misc]
    """SciPy's linear operator with checked arguments: another shape than its own is an `InputError`."""

    def matvec(self, x: Any) -> Array:
        """The product with a vector."""
        result: Array = super().matvec(vectors(x, "x", self.shape[1], most=1))
        return result

    def rmatvec(self, x: Any) -> Array:
        """The product of the transpose with a vector."""
        result: Array = super().rmatvec(vectors(x, "x", self.shape[0], most=1))
        return result

    def matmat(self, X: Any) -> Array:
        """The product with the columns of a matrix."""
        if scipy.sparse.issparse(X):
            return super().matmat(X)  # type: ignore[no-any-return]
        result: Array = super().matmat(_matrix(X, self.shape[1]))
        return result

    def rmatmat(self, X: Any) -> Array:
        """The product of the transpose with the columns of a matrix."""
        result: Array = super().rmatmat(_matrix(X, self.shape[0]))
        return result

    def dot(self, x: Any) -> Any:
        """The product with a vector, a matrix, a number or another operator."""
        if isinstance(x, Number | scipy.sparse.linalg.LinearOperator) or scipy.sparse.issparse(x):
            return super().dot(x)
        x = vectors(x, "x", self.shape[1])
        return self.matvec(x) if x.ndim == 1 else self.matmat(x)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Number):
            raise InputError(f"x is {other!r}, needs a vector; numbers multiply an operator by *")
        return self.dot(other)


def _matrix(X: Any, size: int) -> Array:
    array = vectors(X, "X", size)
    if array.ndim != 2:
        raise InputError(f"X has shape {array.shape}, needs ({size}, k)")
    return array


class RowOperator(Operator):
    """A symmetric operator on rows; subclasses say how it acts on some vectors, ``(k, nc)``."""

    dense = False
    """Whether it is a product with a matrix, which takes all vectors at once."""

    def __init__(self, robot: Model) -> None:
        super().__init__(np.dtype(np.float64), (robot.nc, robot.nc))
        self.robot = robot

    def _apply(self, x: Array) -> Array:
        raise NotImplementedError

    def _matmat(self, X: Array) -> Array:
        return real_parts(self._apply, X.T).T if self.dense else columns(self._apply, X)

    def _matvec(self, x: Array) -> Array:
        return real_parts(self._apply, x.reshape(-1))

    def _adjoint(self) -> Self:
        return self

    def _transpose(self) -> Self:
        return self

    def toarray(self) -> Array:
        """The matrix, column by column; symmetric to the last digit."""
        result = self._matmat(np.eye(self.shape[0]).T)  # rows in order: columns of it need no copy
        return 0.5 * (result + result.T)


class DerivedOperator(Operator):
    """An operator of the same configuration, an attribute of its owner."""

    def __init__(
        self,
        owner: scipy.sparse.linalg.LinearOperator,
        name: str,
        shape: tuple[int, int],
        forth: Callable[[Array], Array],
        back: Callable[[Array], Array],
    ) -> None:
        super().__init__(np.dtype(np.float64), shape)
        self._owner, self._name, self._forth, self._back = owner, name, forth, back

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self._owner, self._name)

    def _matmat(self, X: Array) -> Array:
        return columns(self._forth, X)

    def _matvec(self, x: Array) -> Array:
        return real_parts(self._forth, x.reshape(-1))

    def _rmatvec(self, x: Array) -> Array:
        return real_parts(self._back, x.reshape(-1))

    def _rmatmat(self, X: Array) -> Array:
        return columns(self._back, X)


class BlockDiagonal(RowOperator):
    """A block-diagonal operator."""

    dense = True

    def __init__(self, robot: Model, blocks: Sequence[Array]) -> None:
        super().__init__(robot)
        self._matrix = scipy.sparse.block_diag(list(blocks), format="csr")

    def _apply(self, x: Array) -> Array:
        result: Array = (self._matrix @ x.T).T
        return result


def check_bound(size: int, **arrays: Any) -> None:
    """Whether arrays can be used as they are, ``out`` the last of them."""
    for name, x in arrays.items():
        fits = isinstance(x, np.ndarray) and x.dtype == np.float64 and x.flags.c_contiguous and x.shape == (size,)
        if not fits or (name == "out" and not x.flags.writeable):
            raise InputError(f"bind: {name} needs a C-contiguous float64 array of {size} numbers")
    if any(np.may_share_memory(arrays["out"], x) for name, x in arrays.items() if name != "out"):
        raise InputError("bind: out shares memory with another array")


# The damped inverse ------------------------------------------------------------------------------------------
