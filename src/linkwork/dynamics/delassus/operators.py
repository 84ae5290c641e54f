# SPDX-License-Identifier: BSD-3-Clause
"""Operators at one configuration, as SciPy takes them. Immutable, and safe from several threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

from linkwork.dynamics.delassus.batches import Matrix, row_dampings, settings
from linkwork.dynamics.delassus.linear import BlockDiagonal, DerivedOperator, RowOperator, check_bound, finite
from linkwork.dynamics.delassus.memory import Pool, Prepared
from linkwork.dynamics.thresholds import BRANCH_PIVOT
from linkwork.errors import InputError, NotConverged
from linkwork.inputs import above_zero, count, real_array
from linkwork.kernels.constrained import delassus as texts
from linkwork.kernels.constrained import osim
from linkwork.quantities.arguments import Array

if TYPE_CHECKING:
    from linkwork.dynamics.delassus.family import Delassus

RELATIVE_DAMPING = 1e-6
"""The default damping, as a part of the largest eigenvalue."""
Frames = tuple[Array, Array, Array]
"""Frames of kernels that an operator has elsewhere than its family: their numbers, turns and shifts."""


class DelassusOperator(RowOperator):
    """``D = J M^-1 J'`` at one configuration. Immutable, and safe from several threads."""

    def __init__(self, family: Delassus, q: npt.ArrayLike, frames: Frames | None = None) -> None:
        super().__init__(family.robot)
        self._family, self._frames = family, frames
        self._pose = family.operator_memory.runner(texts.FACTORIZE.name)._prepared("q", q, (family.robot.nq,)).copy()
        if self._pose.ndim != 1:
            raise InputError(f"q has shape {self._pose.shape}: an operator is of one configuration; use product(q, f)")
        self._pose.flags.writeable = False

    @property
    def q(self) -> Array:
        """The configuration."""
        return self._pose

    def __reduce__(self) -> tuple[Any, ...]:  # work arrays are filled anew
        return type(self), (self._family, self._pose, *(() if self._frames is None else (self._frames,)))

    @cached_property
    def _prepared(self) -> Prepared:
        """Rows of K and articulated inertias."""
        prepared, error = self._fresh(self._family.operator_memory), np.empty(self.robot.nc)
        prepared.call(texts.FACTORIZE.name, self._pose, error)
        error.flags.writeable = False
        self._error = error
        return prepared

    def _fresh(self, pool: Pool) -> Prepared:
        """Work arrays for this operator's frames, not yet computed."""
        workspace = pool.take()
        if self._frames is not None:
            pool.put_frames(workspace, *self._frames)
        return Prepared(pool, workspace)

    @property
    def error(self) -> Array:
        """Position errors of the rows."""
        assert self._prepared is not None
        return self._error

    def _apply_delassus(self, forces: Array, torques: Array) -> tuple[Array, Array]:
        """``y = M^-1 (J' forces + torques)`` and ``J y``, for one vector or several."""
        lead = max(forces.shape[:-1], torques.shape[:-1])
        motion, rows = np.empty((*lead, self.robot.nv)), np.empty((*lead, self.robot.nc))
        if rows.size or motion.size:
            self._prepared.call_columns(texts.APPLY_DELASSUS.name, forces, torques, motion, rows)
        return motion, rows

    # Operators beside it

    @property
    def jacobian(self) -> scipy.sparse.linalg.LinearOperator:
        """``J``, ``(nc, nv)``: velocities of rows; its transpose gives joint torques of forces on rows."""
        return DerivedOperator(self, "jacobian", (self.robot.nc, self.robot.nv), self._apply_J, self._apply_JT)

    @property
    def inverse_mass(self) -> scipy.sparse.linalg.LinearOperator:
        """``M^-1``, ``(nv, nv)``."""
        self._family.tree_only("inverse mass")
        none = np.zeros(self.robot.nc)

        def apply(x: Array) -> Array:
            return self._apply_delassus(none, x)[0]

        return DerivedOperator(self, "inverse_mass", (self.robot.nv, self.robot.nv), apply, apply)

    @property
    def response(self) -> scipy.sparse.linalg.LinearOperator:
        """``M^-1 J'``, ``(nv, nc)``: joint accelerations by forces of rows, or joint velocities by impulses."""
        self._family.tree_only("response")
        still, none = np.zeros(self.robot.nv), np.zeros(self.robot.nc)
        return DerivedOperator(
            self,
            "response",
            (self.robot.nv, self.robot.nc),
            lambda forces: self._apply_delassus(forces, still)[0],
            lambda torques: self._apply_delassus(none, torques)[1],
        )

    def _apply_J(self, motion: Array) -> Array:
        rows = np.empty((*motion.shape[:-1], self.robot.nc))
        self._prepared.call_columns(texts.APPLY_J.name, motion, rows)
        return rows

    def _apply_JT(self, forces: Array) -> Array:
        torques = np.empty((*forces.shape[:-1], self.robot.nv))
        self._prepared.call_columns(texts.APPLY_JT.name, forces, torques)
        return torques

    # What it looks like

    def blocks(self) -> dict[str, Array]:
        """``D`` within each constraint, ``(rows, rows)``, by name, in one sweep."""
        result = self._own_blocks()
        return {c.name: result[self.robot.row_slice(c.name), : c.rows].copy() for c in self.robot.constraints}

    def _own_blocks(self) -> Array:
        pool = self._family.blocks
        result = np.empty(pool.runner(osim.DIAGONAL_BLOCKS.name).outputs[0])
        self._fresh(pool).call(osim.DIAGONAL_BLOCKS.name, self._pose, result)
        return result

    def diagonal(self) -> Array:
        """The diagonal of ``D``, in one sweep."""
        result = self._own_blocks()
        places = np.concatenate([np.arange(c.rows) for c in self.robot.constraints])
        diagonal: Array = result[np.arange(self.robot.nc), places]
        return diagonal

    def preconditioner(self, damping: npt.ArrayLike = 0.0) -> scipy.sparse.linalg.LinearOperator:
        """Inverse of the `blocks` and a damping, a preconditioner ``M`` of SciPy's ``cg`` (pseudo-inverse if singular).

        It helps where constraints are independent; where rows are redundant, ``cg`` is faster without.

        Args:
            damping: One number, or one for each row.
        """
        added = real_array(damping, "damping")
        R = np.full(self.robot.nc, float(added)) if added.ndim == 0 else np.asarray(added, dtype=np.float64)
        if R.shape != (self.robot.nc,) or not ((R >= 0) & np.isfinite(R)).all():
            raise InputError(f"damping needs one number, or {self.robot.nc}, all >= 0")
        parts = [
            np.linalg.pinv(block + np.diag(R[self.robot.row_slice(name)]), rcond=1e-12, hermitian=True)
            for name, block in self.blocks().items()
        ]
        return BlockDiagonal(self.robot, parts)

    def largest_eigenvalue(self, tolerance: float = 1e-6, max_iterations: int = 1_000_000) -> float:
        """The largest eigenvalue of ``D``, by power iteration.

        Args:
            tolerance: Relative error of the eigenvalue.
            max_iterations: The most iterations.
        """
        tolerance, most = above_zero(tolerance, "tolerance"), count(max_iterations, "max_iterations")
        x = np.random.default_rng(0).normal(size=self.robot.nc)
        for _ in range(most):
            x /= np.linalg.norm(x)
            y = self._apply(x)
            value = float(x @ y)
            if np.linalg.norm(y - value * x) <= tolerance * value:
                return value
            x = y
        raise NotConverged(
            f"the largest eigenvalue did not converge to a relative error of {tolerance:g} in {most} iterations"
        )

    def default_damping(self) -> float:
        """A damping that makes any set of rows solvable and changes little: a millionth of the largest eigenvalue."""
        return RELATIVE_DAMPING * (self.largest_eigenvalue(tolerance=1e-2) or 1.0)

    def damped_inverse(self, damping: npt.ArrayLike | None = None, refine: bool | int = True) -> DampedInverse:
        """``(D + diag(damping))^-1`` as an operator.

        Args:
            damping: Compliance of each row, one number, or one for each row; by default
                `default_damping`. The paper's ``R`` is its inverse, a stiffness (**delassus** Eq. 4).
            refine: Whether digits lost to stiff rows are recovered by iterative refinement; a number asks for so
                many steps of refinement.
        """
        R = row_dampings(self.robot, self.default_damping() if damping is None else damping)
        if R.ndim != 1:
            raise InputError(f"damping has shape {R.shape}, needs one number or {self.robot.nc}")
        return self._damped(R, refine)

    def _damped(self, R: Array, refine: bool | int) -> DampedInverse:
        raise NotImplementedError


class MatrixFree(DelassusOperator):
    """No matrix: two sweeps for each product."""

    def __init__(self, family: Delassus, q: npt.ArrayLike, frames: Frames | None = None) -> None:
        super().__init__(family, q, frames)
        self._no_torques = np.zeros(self.robot.nv)
        assert self._prepared is not None

    def _apply(self, x: Array) -> Array:
        return self._apply_delassus(x, self._no_torques)[1]

    def bind(self, forces: Array, out: Array) -> Callable[[], None]:
        """A call without arguments that reads ``forces`` and writes ``D forces``, without allocation."""
        check_bound(self.robot.nc, forces=forces, out=out)
        call, no_torques, motion = self._prepared.call, self._no_torques, np.empty(self.robot.nv)

        def step() -> None:
            call(texts.APPLY_DELASSUS.name, forces, no_torques, motion, out)

        return step

    @cached_property
    def _rows_set_up(self) -> Prepared:
        """Rows of K, for springs."""
        prepared = self._fresh(self._family.damped_memory)
        prepared.call(texts.SETUP_ROWS.name, self._pose, np.empty(self.robot.nc))
        return prepared

    def _damped(self, R: Array, refine: bool | int) -> DampedInverse:
        return SpringInverse(self, self._rows_set_up, R, refine)

    def bind_damped_inverse(
        self, damping: Array, accelerations: Array, out: Array, refine: bool | int = True
    ) -> Callable[[], None]:
        """A call that reads a new damping and new accelerations each time and writes the forces to ``out``."""
        check_bound(self.robot.nc, damping=damping, accelerations=accelerations, out=out)
        prepared = Prepared(self._family.damped_memory, self._rows_set_up.copy())
        call, how = prepared.call, settings(refine)
        stiffness, motion, progress = np.empty(self.robot.nc), np.empty(self.robot.nv), np.empty(2)

        def step() -> None:
            call(texts.FACTORIZE_DAMPED.name, damping, stiffness)
            call(texts.SOLVE_DAMPED.name, accelerations, how, motion, out, progress)

        return step


class Explicit(DelassusOperator):
    """The matrix, made by the family's method."""

    dense = True

    def __init__(self, family: Delassus, q: npt.ArrayLike) -> None:
        super().__init__(family, q)
        self._matrix = family.matrix(self._pose)
        self._matrix.flags.writeable = False

    def _apply(self, x: Array) -> Array:
        result: Array = finite(x, "forces") @ self._matrix
        return result

    def _own_blocks(self) -> Array:
        result = np.zeros((self.robot.nc, max(c.rows for c in self.robot.constraints)))
        for c in self.robot.constraints:
            at = self.robot.row_slice(c.name)
            result[at, : c.rows] = self._matrix[at, at]
        return result

    def toarray(self) -> Array:
        """The matrix."""
        return self._matrix.copy()

    def _damped(self, R: Array, refine: bool | int) -> DampedInverse:
        settings(refine)
        maker = self._family.matrix
        if isinstance(maker, Matrix) and self._family.method == "pv_osim_fast":
            parts = maker.parts(self._pose, R)
            if float(parts[6][0]) > BRANCH_PIVOT:
                return BaseInverse(self, self._matrix, R, parts)
        if isinstance(maker, Matrix) and self._family.method == "prox_ltl":
            return FactoredInverse(self, self._matrix, R, maker.parts(self._pose, R)[1])
        return DenseInverse(self, self._matrix, R)


class DampedInverse(RowOperator):
    """``(D + diag(damping))^-1`` at one configuration. Immutable, and safe from several threads."""

    def __init__(self, operator: DelassusOperator, damping: Array) -> None:
        super().__init__(operator.robot)
        self.operator = operator
        self._refine: bool | int = True
        self.damping = damping
        self.damping.flags.writeable = False

    def with_damping(self, damping: npt.ArrayLike) -> DampedInverse:
        """A copy with another damping; quantities that depend on q alone are reused.

        Args:
            damping: One number, or one for each row.
        """
        return self.operator.damped_inverse(damping, self._refine)

    def __reduce__(self) -> tuple[Any, ...]:
        return DelassusOperator.damped_inverse, (self.operator, self.damping, self._refine)


class SpringInverse(DampedInverse):
    """By LCABA, without a matrix."""

    def __init__(self, operator: MatrixFree, set_up: Prepared, damping: Array, refine: bool | int) -> None:
        super().__init__(operator, damping)
        self._refine = refine
        self._prepared = Prepared(set_up.pool, set_up.copy())
        self._prepared.call(texts.FACTORIZE_DAMPED.name, damping, np.empty(self.robot.nc))
        self._settings = settings(refine)

    def _apply(self, x: Array) -> Array:
        motion, forces, progress = (
            np.empty((*x.shape[:-1], self.robot.nv)),
            np.empty(x.shape),
            np.empty((*x.shape[:-1], 2)),
        )
        if x.size:
            self._prepared.call_columns(texts.SOLVE_DAMPED.name, x, self._settings, motion, forces, progress)
        return forces

    def bind(self, accelerations: Array, out: Array) -> Callable[[], None]:
        """A call without arguments that reads ``accelerations`` and writes forces, without allocation."""
        check_bound(self.robot.nc, accelerations=accelerations, out=out)
        call, how, motion, progress = self._prepared.call, self._settings, np.empty(self.robot.nv), np.empty(2)

        def step() -> None:
            call(texts.SOLVE_DAMPED.name, accelerations, how, motion, out, progress)

        return step


class DenseInverse(DampedInverse):
    """By a dense Cholesky factor of the matrix."""

    dense = True

    def __init__(self, operator: DelassusOperator, matrix: Array, damping: Array) -> None:
        super().__init__(operator, damping)
        self._factor = scipy.linalg.cho_factor(matrix + np.diag(damping), lower=True)

    def _apply(self, x: Array) -> Array:
        result: Array = scipy.linalg.cho_solve(self._factor, finite(x, "accelerations").T).T
        return result


class FactoredInverse(DampedInverse):
    """By the factor ``L D L'`` that the method has made with the matrix."""

    dense = True

    def __init__(self, operator: DelassusOperator, matrix: Array, damping: Array, factored: Array) -> None:
        super().__init__(operator, damping)
        self._lower, self._scale = np.tril(factored, -1) + np.eye(len(factored)), np.diagonal(factored).copy()

    def _apply(self, x: Array) -> Array:
        half = scipy.linalg.solve_triangular(self._lower, finite(x, "accelerations").T, lower=True, unit_diagonal=True)
        half = (half.T * self._scale).T
        result: Array = scipy.linalg.solve_triangular(self._lower, half, lower=True, trans="T", unit_diagonal=True).T
        return result


class BaseInverse(FactoredInverse):
    """By the branches of a floating base and the matrix inversion lemma (**lqr** Eq. 55)."""

    def __init__(self, operator: DelassusOperator, matrix: Array, damping: Array, parts: Sequence[Array]) -> None:
        factored, self._solved, small = parts[3:6]
        super().__init__(operator, matrix, damping, np.tril(factored))
        self._small = np.tril(small, -1) + np.eye(6), np.diagonal(small).copy()

    def _apply(self, x: Array) -> Array:
        lower, scale = self._small
        seen = scipy.linalg.solve_triangular(
            lower, (finite(x, "accelerations") @ self._solved).T, lower=True, unit_diagonal=True
        )
        seen = (seen.T * scale).T
        share = scipy.linalg.solve_triangular(lower, seen, lower=True, trans="T", unit_diagonal=True)
        result: Array = super()._apply(x) - (self._solved @ share).T
        return result
