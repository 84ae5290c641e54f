# SPDX-License-Identifier: BSD-3-Clause
"""The KKT matrix of constrained dynamics and its sparse factor (**proximal** Section IV).

`KKT` is made once per robot; ``at(q)`` gives the factored matrix at a configuration::

    K = [-R  J]  = U D U'          K [-lambda, a] = [k, tau - c]
        [ J' M]

It solves, multiplies by ``U``, ``U'`` and their inverses, takes another regularization without a new factor of the mass
matrix, and has the factor of the operational-space inertia matrix as its upper left part.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse.linalg

from linkwork.closure.thresholds import LEAST_PIVOT
from linkwork.compilers.program import Program
from linkwork.dynamics.delassus.family import enabled_part
from linkwork.dynamics.delassus.linear import DerivedOperator, Operator, real_parts
from linkwork.dynamics.delassus.memory import Pool, Prepared
from linkwork.dynamics.iterations import REGULARIZATION, row_regularization
from linkwork.errors import InputError, NotFinite, SingularConstraints
from linkwork.inputs import plural, real_array
from linkwork.kernels.constrained import kkt as texts
from linkwork.model.checks import check_robot
from linkwork.model.model import Model
from linkwork.plans.ltl import ltl_tree
from linkwork.quantities.arguments import Array, thread_count
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.product_attributes import differentiable


@differentiable
class KKTSolution(BaseEvaluator):
    """``K^-1 b`` for states: ``solution(q, rows, joints, damping)``, two arrays, ``(..., nc)`` and ``(..., nv)``."""

    def __init__(self, robot: Model, threads: int | None = None) -> None:
        def program() -> Program:
            return Program.of_robot(robot, texts.KKT_SOLVE, ltl_tree(robot))

        super().__init__(robot, "kkt", program, {"robot": robot}, threads=threads)

    def __call__(
        self, q: npt.ArrayLike, rows: npt.ArrayLike, joints: npt.ArrayLike, damping: npt.ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """The parts of ``K^-1 [rows, joints]``: of rows, ``(..., nc)``, and of joints, ``(..., nv)``.

        Args:
            q: Configuration, ``(..., nq)``.
            rows: Right-hand sides of rows, ``(..., nc)``.
            joints: Right-hand sides of joints, ``(..., nv)``.
            damping: The diagonal of ``R``: one number, or ``(..., nc)``; by default that of proximal methods.
        """
        R = row_damping(self.robot, damping).astype(self.dtype)
        of_rows, of_joints = self.runner.evaluate([q, R, rows, joints], [None, None])
        return of_rows, of_joints


class KKT:
    """The KKT matrix of a robot's constrained dynamics, factored at configurations: ``KKT(robot).at(q).solve(b)``.

    ``K = [-R J; J' M]``: rows of the enabled constraints first, joints after them. The factor ``U D U'`` has the
    sparsity of the tree and of the loops (**proximal** Algorithm 1).

    Args:
        robot: The mechanism; without constraints, ``K`` is the mass matrix.
        threads: Threads that share a large batch; by default as many as there are cores.
    """

    def __init__(self, robot: Model, threads: int | None = None) -> None:
        check_robot(robot)
        self.robot = enabled_part(robot)
        self._threads = thread_count(threads)

    def at(
        self, q: npt.ArrayLike, damping: npt.ArrayLike | None = None, matrix: npt.ArrayLike | None = None
    ) -> KKTFactor:
        """The factored matrix at a configuration.

        Args:
            q: Configuration, ``(nq,)``.
            damping: The diagonal of ``R``: one number, or one for each row; zero where rows are independent. By default
                that of proximal methods (`REGULARIZATION` of the apparent inverse inertia of a row).
            matrix: Matrix in place of the mass matrix, ``(nv, nv)``: symmetric, positive definite, and zero where
                neither of two joints moves the other, as the mass matrix is. By default the mass matrix at ``q``.
        """
        return KKTFactor(self, q, damping, matrix)

    @cached_property
    def solution(self) -> KKTSolution:
        """``K^-1 b`` for batches of states: ``solution(q, rows, joints, damping)``."""
        return KKTSolution(self.robot, self._threads)

    @cached_property
    def memory(self) -> Pool:
        """Work arrays of factors."""
        stages = (
            texts.FACTORIZE,
            texts.FACTORIZE_GIVEN,
            texts.DAMP,
            texts.APPLY_K,
            texts.SOLVE_K,
            texts.APPLY_U,
            texts.APPLY_UT,
            texts.SOLVE_U,
            texts.SOLVE_UT,
            texts.PARTS,
        )
        return Pool(self.robot, texts.KKT_SOLVE, ltl_tree(self.robot), stages)

    @cached_property
    def sparsity(self) -> Array:
        """Where the factor ``U`` may have entries, ``(nc + nv, nc + nv)``, of booleans."""
        tree, nc = ltl_tree(self.robot), self.robot.nc
        pattern = np.zeros((nc + self.robot.nv,) * 2, dtype=bool)
        pattern[:nc, :nc] = np.triu(np.ones((nc, nc), dtype=bool))
        for r in range(nc):
            pattern[r, nc + tree.row_dof[tree.row_start[r] : tree.row_start[r] + tree.row_count[r]]] = True
        for k in range(self.robot.nv):
            i = k
            while i >= 0:
                pattern[nc + i, nc + k] = True
                i = int(tree.dof_parent[i])
        return pattern

    def __getstate__(self) -> dict[str, Any]:
        """Everything but work arrays, which are made where they are needed."""
        return {name: x for name, x in self.__dict__.items() if not isinstance(x, Pool)}

    def __repr__(self) -> str:
        return f"<KKT of '{self.robot.name}', {plural(self.robot.nc, 'row')}, nv={self.robot.nv}>"


class TriangularFactor(NamedTuple):
    """``A = U diag(D) U'``."""

    U: Array
    """Unit upper triangular."""
    D: Array
    """The diagonal, of numbers."""


class KKTFactor(Operator):
    """``K = [-R J; J' M] = U D U'`` at one configuration, a linear operator. Immutable, and safe from several threads.

    ``factor @ x`` is the product with ``K``, ``factor.solve(b)`` the solution; vectors are rows first, then joints,
    ``(nc + nv,)``, or the columns of a matrix. `KKT.at` makes it.
    """

    def __init__(
        self,
        family: KKT,
        q: npt.ArrayLike,
        damping: npt.ArrayLike | None = None,
        matrix: npt.ArrayLike | None = None,
        factored: Prepared | None = None,
    ) -> None:
        robot = family.robot
        super().__init__(np.dtype(np.float64), (robot.nc + robot.nv,) * 2)
        self.family, self.robot = family, robot
        self.q = _one(family.memory.runner(texts.FACTORIZE.name)._prepared("q", q, (robot.nq,)), "q")
        self.damping = _one(row_damping(robot, damping), "damping")
        self.matrix = None if matrix is None else tree_sparse(family, matrix)
        """Matrix in place of the mass matrix, if there is one."""
        undamped = self._factorized() if factored is None else factored
        self._undamped = undamped
        self._prepared = Prepared(undamped.pool, undamped.copy())
        D_rows, D_joints = np.empty(robot.nc), np.empty(robot.nv)
        try:
            self._prepared.call(texts.DAMP.name, self.damping, D_rows, D_joints)
        except NotFinite:
            if (self.damping > 0).all():
                raise
            raise self._singular("zero") from None
        self.D = _one(np.concatenate([D_rows, D_joints]), "D")
        """The diagonal of ``D``, ``(nc + nv,)``: negative for rows, positive for joints."""
        self._check_pivots(D_rows, D_joints)

    def _factorized(self) -> Prepared:
        """Work arrays with all that depends on ``q`` alone."""
        pool = self.family.memory
        prepared, error = Prepared(pool, pool.take()), np.empty(self.robot.nc)
        if self.matrix is None:
            prepared.call(texts.FACTORIZE.name, self.q, error)
        else:
            prepared.call(texts.FACTORIZE_GIVEN.name, self.q, self.matrix, error)
        return prepared

    def _check_pivots(self, D_rows: Array, D_joints: Array) -> None:
        if not (D_joints > 0).all():
            k = int(np.argmin(D_joints))
            joint = next(j for j in self.robot.joints if k in range(*self.robot.v_slice(j.name).indices(self.robot.nv)))
            raise InputError(
                f"matrix is not positive definite: its pivot at velocity {k}, of joint '{joint.name}', is "
                f"{D_joints[k]:.3g}; a factor U D U' needs one above zero"
            )
        if (self.damping > 0).all():
            return
        diagonal = np.diagonal(self._parts[1]) + self.damping
        least = float((-D_rows / np.where(diagonal > 0, diagonal, 1.0)).min())
        if not least > LEAST_PIVOT:
            raise self._singular(f"{least:.3g} of its diagonal entry")

    def _singular(self, pivot: str) -> SingularConstraints:
        return SingularConstraints(
            f"the constraints of '{self.robot.name}' are not independent here: a pivot of J M^-1 J' is {pivot}; "
            f"give a damping above zero"
        )

    # The matrix and its inverse

    def _split(self, stage: str, x: Array) -> Array:
        """A stage on vectors, ``(..., nc + nv)``."""
        nc = self.robot.nc
        rows, joints = np.ascontiguousarray(x[..., :nc]), np.ascontiguousarray(x[..., nc:])
        of_rows, of_joints = np.empty(rows.shape), np.empty(joints.shape)
        if x.size:
            self._prepared.call(stage, rows, joints, of_rows, of_joints)
        return np.concatenate([of_rows, of_joints], axis=-1)

    def _applied(self, stage: str) -> Callable[[Array], Array]:
        return lambda x: self._split(stage, x)

    def _matvec(self, x: Array) -> Array:
        return real_parts(self._applied(texts.APPLY_K.name), x.reshape(-1))

    def _matmat(self, X: Array) -> Array:
        return real_parts(self._applied(texts.APPLY_K.name), X.T).T

    def _adjoint(self) -> KKTFactor:
        return self

    def _transpose(self) -> KKTFactor:
        return self

    def solve(self, b: npt.ArrayLike) -> Array:
        """``K^-1 b``.

        Args:
            b: Right-hand side, rows first, then joints: ``(nc + nv,)``, or ``(nc + nv, k)`` for ``k`` of them.
        """
        x = real_array(b, "b")
        if x.ndim not in (1, 2) or x.shape[0] != self.shape[0]:
            raise InputError(
                f"b has shape {x.shape}, needs ({self.shape[0]},) or ({self.shape[0]}, k): {self.robot.nc} rows of "
                f"constraints, then {self.robot.nv} velocities"
            )
        result: Array = self.inverse @ x
        return result

    @property
    def inverse(self) -> scipy.sparse.linalg.LinearOperator:
        """``K^-1`` as an operator."""
        return self._operator("inverse", texts.SOLVE_K, texts.SOLVE_K)

    @property
    def U(self) -> scipy.sparse.linalg.LinearOperator:
        """``U`` as an operator, unit upper triangular; ``U.T`` is its transpose."""
        return self._operator("U", texts.APPLY_U, texts.APPLY_UT)

    @property
    def U_inverse(self) -> scipy.sparse.linalg.LinearOperator:
        """``U^-1`` as an operator; ``U_inverse.T`` is ``U^-T``."""
        return self._operator("U_inverse", texts.SOLVE_U, texts.SOLVE_UT)

    def _operator(self, name: str, forth: Any, back: Any) -> scipy.sparse.linalg.LinearOperator:
        return DerivedOperator(self, name, self.shape, self._applied(forth.name), self._applied(back.name))

    def with_damping(self, damping: npt.ArrayLike) -> KKTFactor:
        """A copy with another ``R``: the factor of ``M`` and ``J M^-1 J'`` are reused, ``(nc, nc)`` is factorized anew.

        Args:
            damping: One number, or one for each row.
        """
        return KKTFactor(self.family, self.q, damping, self.matrix, self._undamped)

    # Parts

    @cached_property
    def _parts(self) -> tuple[Array, Array, Array, Array]:
        """``U_A'`` with ``1 / D_A``, ``J M^-1 J'``, ``J L^-1``, and ``L`` with ``1 / D_M``."""
        nc, nv = self.robot.nc, self.robot.nv
        parts = np.empty((nc, nc)), np.empty((nc, nc)), np.empty((nc, nv)), np.empty((nv, nv))
        self._prepared.call(texts.PARTS.name, np.zeros(nv), *parts)
        for part in parts:
            part.flags.writeable = False
        return parts

    @property
    def delassus_matrix(self) -> Array:
        """``J M^-1 J'``, ``(nc, nc)``: the inverse of the operational-space inertia matrix, without ``R``."""
        return self._parts[1].copy()

    @property
    def osim_factor(self) -> TriangularFactor:
        """``J M^-1 J' + R = U D U'``, the upper left part of the factor (**proximal** Section IV-E)."""
        return TriangularFactor(np.tril(self._parts[0], -1).T + np.eye(self.robot.nc), -self.D[: self.robot.nc])

    @property
    def mass_factor(self) -> TriangularFactor:
        """``M = U D U'``, the lower right part of the factor, ``(nv, nv)``."""
        return TriangularFactor(np.tril(self._parts[3], -1).T + np.eye(self.robot.nv), self.D[self.robot.nc :].copy())

    @cached_property
    def operational_inertia(self) -> Array:
        """The damped operational-space inertia matrix ``(J M^-1 J' + R)^-1``, ``(nc, nc)``."""
        U, D = self.osim_factor
        inverse = scipy.linalg.solve_triangular(U, np.eye(len(D)), unit_diagonal=True)
        result: Array = (inverse.T / D) @ inverse
        return result

    def toarray(self) -> Array:
        """``K`` as a matrix."""
        result = self._split(texts.APPLY_K.name, np.eye(self.shape[0]))
        symmetric: Array = 0.5 * (result + result.T)
        return symmetric

    def __reduce__(self) -> tuple[Any, ...]:  # work arrays are filled anew
        return KKTFactor, (self.family, self.q, self.damping, self.matrix)

    def __repr__(self) -> str:
        return f"<KKTFactor of '{self.robot.name}', {plural(self.robot.nc, 'row')}, nv={self.robot.nv}>"


def _one(x: Array, name: str) -> Array:
    """A copy of one vector that does not change."""
    if x.ndim != 1:
        raise InputError(f"{name} has shape {x.shape}: a factor is of one configuration; use KKT(robot).solution")
    x = x.copy()
    x.flags.writeable = False
    return x


def row_damping(robot: Model, damping: npt.ArrayLike | None) -> Array:
    """The diagonal of ``R``, zero or above, ``(..., nc)``."""
    if damping is None:
        return row_regularization(robot, REGULARIZATION)
    R = np.array(real_array(damping, "damping"), dtype=np.float64)
    if not ((R >= 0) & np.isfinite(R)).all():
        wrong = R[~((R >= 0) & np.isfinite(R))].flat[0]
        raise InputError(f"damping must be >= 0 and finite for every row; found {wrong:g}")
    if R.ndim == 0:
        return np.full(robot.nc, float(R))
    if R.shape[-1] != robot.nc:
        raise InputError(f"damping has {plural(R.shape[-1], 'number')}, the robot {plural(robot.nc, 'row')}")
    return R


def tree_sparse(family: KKT, matrix: npt.ArrayLike) -> Array:
    """A symmetric matrix with the sparsity of the mass matrix, checked."""
    nv, nc = family.robot.nv, family.robot.nc
    M = np.array(real_array(matrix, "matrix"), dtype=np.float64)
    if M.shape != (nv, nv):
        raise InputError(f"matrix has shape {M.shape}, needs ({nv}, {nv})")
    if not np.isfinite(M).all():
        raise InputError("matrix holds NaN or infinity")
    if not np.allclose(M, M.T, rtol=1e-12, atol=1e-12 * np.abs(M).max(initial=0.0)):
        raise InputError(f"matrix is not symmetric: it differs from its transpose by {np.abs(M - M.T).max():.3g}")
    upper = family.sparsity[nc:, nc:]
    outside = np.argwhere((M != 0) & ~(upper | upper.T))
    if len(outside):
        i, j = (int(k) for k in outside[0])
        raise InputError(
            f"matrix has an entry at ({i}, {j}), of joints on different branches, where the mass matrix has none; "
            f"a factor with the sparsity of the tree needs zeros there (pattern: KKT(robot).sparsity)"
        )
    M.flags.writeable = False
    return M
