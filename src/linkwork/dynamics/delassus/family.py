# SPDX-License-Identifier: BSD-3-Clause
"""The entry point to Delassus operators: plans and programs of a robot."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from linkwork.compilers.cache_lines import cache_lines
from linkwork.conversions import converted_but
from linkwork.dynamics.delassus.batches import METHODS, ClusterMatrix, Inverse, InverseMatrix, Matrix, Product, settings
from linkwork.dynamics.delassus.memory import Pool
from linkwork.dynamics.delassus.operators import DelassusOperator, Explicit, MatrixFree
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import DelassusMethod, among, items, plural, shown
from linkwork.kernels.constrained import delassus as texts
from linkwork.kernels.constrained import osim
from linkwork.model.checks import check_robot
from linkwork.model.constraints import WORLD
from linkwork.model.model import Model
from linkwork.plans.bbo import NOWHERE, bbo_tree
from linkwork.plans.delassus import damped_tree, delassus_tree
from linkwork.quantities.arguments import Array, thread_count


def enabled_part(robot: Model, names: Collection[str] | None = None) -> Model:
    """The robot with its enabled constraints alone, or of these with those of the names given."""
    kept = tuple(c for c in robot.constraints if c.enabled and (names is None or c.name in names))
    return robot if len(kept) == len(robot.constraints) else replace(robot, constraints=kept)


def _refusal(robot: Model, method: DelassusMethod) -> str | None:
    """Why a method cannot serve a robot, if so."""
    if method == "pv_osim_fast":
        bases = [joint for joint in robot.joints if joint.parent == WORLD and joint.type.nv > 0]
        if len(bases) != 1 or bases[0].type.nv != 6 or bases[0].type.nq != 7:
            return "it has no floating base, or several; use pv_osim"
    return None


class Delassus:
    """Delassus operators of a robot: ``Delassus(robot).at(q) @ forces``.

    Args:
        robot: The mechanism.
        method: ``"matrix_free"``, or the method that computes the matrix.
        rows: Constraints whose rows the operator is about; by default all that are enabled. The others count for
            nothing, but for ``"cluster_efpa"``, which solves them where they are: its ``D`` is that of the robot with
            these loops closed; its rows are by default those of constraints to the world.
        threads: Threads that share a large batch; by default as many as there are cores.
        moving: Arrays of the plan that operators change, for `Contacts`.
    """

    @converted_but("rows")
    def __init__(
        self,
        robot: Model,
        method: DelassusMethod = "matrix_free",
        rows: Collection[str] | None = None,
        threads: int | None = None,
        moving: Sequence[str] = (),
    ) -> None:
        check_robot(robot)
        if not isinstance(method, str) or method not in METHODS:
            raise InputError(f"no method {shown(method)}{among(method, METHODS)}")
        if rows is not None:
            rows = [rows] if isinstance(rows, str) else rows
            rows = items(rows, "rows", "names of constraints")
            if not all(isinstance(name, str) for name in rows):
                raise InputError(f"rows are names of constraints; found {rows!r}")
            for name in rows:
                robot.row_slice(name)
        loops = method == "cluster_efpa" and rows is None and any(c.enabled for c in robot.constraints)
        if method == "cluster_efpa" and rows is None:
            rows = [c.name for c in robot.constraints if any(robot.frames[p].body == WORLD for p in c.places)]
        self.whole, self.robot = robot, enabled_part(robot, rows)
        self._rows = set(self.robot.constraints)
        if loops and not self.robot.nc:
            raise UnsupportedFeature(
                f"cluster_efpa takes rows of constraints to the world, and all {robot.nc} rows of '{robot.name}' are "
                "of loops, which it holds closed: use pv_osim for these, or name others by rows=[...]"
            )
        if not self.robot.nc:
            raise UnsupportedFeature(f"robot '{robot.name}' has no enabled constraint, and so no rows")
        reason = _refusal(self.robot, method)
        if reason is not None:
            raise UnsupportedFeature(f"{method} cannot serve '{robot.name}': {reason}")
        self.method, self._threads, self._moving = method, thread_count(threads), tuple(moving)

    def tree_only(self, what: str) -> None:
        """Refuse a feature that is not available for a robot whose other loops are closed.

        Args:
            what: The feature that ignores other loops.
        """
        if self.method == "cluster_efpa" and any(c.enabled for c in self.whole.constraints if c not in self._rows):
            raise UnsupportedFeature(f"cluster_efpa computes no {what} of '{self.whole.name}' with its loops closed")

    @cached_property
    def product(self) -> Product:
        """``D f`` for states and forces: ``product(q, forces)``, ``(..., nc)``."""
        self.tree_only("products without the matrix")
        return Product(self.robot, self._threads)

    @cached_property
    def inverse(self) -> Inverse:
        """``(D + diag(r))^-1 a`` for states: ``inverse(q, accelerations, damping)``, ``(..., nc)``."""
        self.tree_only("inverse without the matrix")
        return Inverse(self.robot, self._threads)

    @cached_property
    def matrix(self) -> Callable[[npt.ArrayLike], Array]:
        """``J M^-1 J'`` for states: ``matrix(q)``, ``(..., nc, nc)``, by this method (matrix-free: `pv_osim`)."""
        if self.method == "cluster_efpa":
            return ClusterMatrix(self.whole, self.robot, self._threads)
        return Matrix(self.robot, "pv_osim" if self.method == "matrix_free" else self.method, self._threads)

    @cached_property
    def inverse_matrix(self) -> InverseMatrix:
        """``(J M^-1 J' + diag(r))^-1`` for states: ``inverse_matrix(q, r)``, ``(..., nc, nc)`` (cABA-OSIM)."""
        return InverseMatrix(self.robot, self._threads)

    @cached_property
    def blocks(self) -> Pool:
        """Work arrays for ``D`` within each constraint."""
        tree = bbo_tree(self.robot, end=NOWHERE)
        return Pool(self.robot, osim.DIAGONAL_BLOCKS, tree, (osim.DIAGONAL_BLOCKS,), self._moving)

    @cached_property
    def operator_memory(self) -> Pool:
        """Work arrays of operators."""
        tree = delassus_tree(self.robot, moving=bool(self._moving))
        stages = (texts.FACTORIZE, texts.APPLY_DELASSUS, texts.APPLY_J, texts.APPLY_JT)
        return Pool(self.robot, texts.DELASSUS, tree, stages, self._moving)

    @cached_property
    def damped_memory(self) -> Pool:
        """Work arrays of damped inverses."""
        tree = damped_tree(self.robot, moving=bool(self._moving))
        stages = (texts.SETUP_ROWS, texts.FACTORIZE_DAMPED, texts.SOLVE_DAMPED)
        return Pool(self.robot, texts.DAMPED_INVERSE, tree, stages, self._moving)

    def at(self, q: npt.ArrayLike) -> DelassusOperator:
        """The operator at a configuration, ``(nq,)``.

        Args:
            q: Configuration, ``(nq,)``.
        """
        kind = MatrixFree if self.method == "matrix_free" else Explicit
        return kind(self, q)

    def compile(self, **options: Any) -> Self:
        """A copy whose `product` and `inverse` are straight-line programs; options are those of `Evaluator.compile`.

        Args:
            options: As for `Evaluator.compile`.
        """
        other = copy(self)
        other.product = self.product.compile(**options)
        other.inverse = self.inverse.compile(**options)
        return other

    def __getstate__(self) -> dict[str, Any]:
        """Everything but work arrays, which are made where they are needed."""
        return {name: x for name, x in self.__dict__.items() if not isinstance(x, Pool)}

    @property
    def memory(self) -> dict[str, int]:
        """Bytes of work memory of one operator, and of one damped inverse."""
        return {"operator": self.operator_memory.bytes, "damped_inverse": self.damped_memory.bytes}

    def cache_lines(self, q: npt.ArrayLike | None = None) -> dict[str, int]:
        """Cache lines of 64 bytes that a first application of the operator, and of its damped inverse, touches.

        Every number of the plan, of work arrays, inputs and outputs that is read or written counts; see
        `linkwork.compilers.cache_lines`. It runs the code as it stands: seconds for hundreds of rows.

        Args:
            q: Configuration, ``(nq,)``; by default the neutral one.
        """
        pose = self.robot.neutral() if q is None else self.robot.normalize(q)
        if pose.ndim != 1:
            raise InputError(f"q has shape {pose.shape}, needs ({self.robot.nq},): one configuration")
        rows, still = np.ones(self.robot.nc), np.zeros(self.robot.nv)
        return {
            "operator": cache_lines(self.product.program, [pose, rows, still]),
            "damped_inverse": cache_lines(self.inverse.program, [pose, rows, rows, settings(False)]),
        }

    def __repr__(self) -> str:
        return f"<Delassus of '{self.robot.name}', {plural(self.robot.nc, 'row')}, {self.method}>"
