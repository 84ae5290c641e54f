# SPDX-License-Identifier: BSD-3-Clause
"""Products, inverses and matrices for batches of states, with nothing kept in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.compilers.program import Program
from linkwork.dynamics.costs import program_cost
from linkwork.dynamics.operational import OperationalInertia
from linkwork.dynamics.thresholds import REFINED_FORCES
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import LARGEST, DelassusMethod, plural, real_array
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.constrained import delassus as texts
from linkwork.kernels.constrained import efpa, osim
from linkwork.model.constraints import WORLD, Pair
from linkwork.model.model import Model
from linkwork.plans.bbo import BASE, WORLD_END, bbo_tree
from linkwork.plans.caba_osim import caba_osim_tree
from linkwork.plans.constraints import constrained_tree
from linkwork.plans.delassus import damped_tree, delassus_tree
from linkwork.plans.efpa import efpa_tree
from linkwork.plans.ltl import ltl_tree
from linkwork.plans.pv_osimr import pv_osimr_tree
from linkwork.plans.tree import Tree
from linkwork.quantities.arguments import Array
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.evaluator import ProgramEvaluator
from linkwork.quantities.product_attributes import differentiable

MOST_REFINEMENTS = 5


@dataclass(frozen=True)
class Method:
    """A method to compute the matrix."""

    algorithm: Algorithm
    arrays: Callable[[Model], Tree]
    damped: bool = False
    """Whether its text takes a damping."""


def junctions_by_operations(robot: Model) -> Tree:
    """The plan of PV-OSIMr: rows end at junctions if that takes fewer operations, by exact counts where there are.

    Args:
        robot: The mechanism.
    """
    tree = pv_osimr_tree(robot)
    if not tree.njunctions:
        return tree
    to_world = pv_osimr_tree(robot, junctions=False)
    fewer, more = (program_cost(Program.of_robot(robot, osim.PV_OSIMR, plan)) for plan in (tree, to_world))
    return to_world if fewer is not None and more is not None and more.total < fewer.total else tree


METHODS: Mapping[str, Method | None] = MappingProxyType(
    {
        "matrix_free": None,
        "ltl": Method(osim.LTL_OSIM, ltl_tree),
        "prox_ltl": Method(osim.PROX_LTL_OSIM, ltl_tree, damped=True),
        "pv_osim": Method(osim.PV_OSIM, lambda robot: bbo_tree(robot, end=WORLD_END)),
        "pv_osimr": Method(osim.PV_OSIMR, junctions_by_operations),
        "pv_osim_fast": Method(osim.PV_OSIM_FAST, lambda robot: bbo_tree(robot, end=BASE), damped=True),
        "kjr": Method(efpa.KJR, lambda robot: efpa_tree(robot, pairs=True)),
        "efpa": Method(efpa.EFPA, efpa_tree),
        "cluster_efpa": None,
    }
)
"""Methods, by name."""


@differentiable
class Product(BaseEvaluator):
    """``D f`` for states and forces: ``product(q, forces)``, ``(..., nc)``."""

    def __init__(self, robot: Model, threads: int | None = None) -> None:
        def program() -> Program:
            return Program.of_robot(robot, texts.DELASSUS, delassus_tree(robot))

        super().__init__(robot, "delassus", program, {"robot": robot}, threads=threads)

    def __call__(self, q: npt.ArrayLike, forces: npt.ArrayLike) -> Array:
        """For ``q: (..., nq)`` and ``forces: (..., nc)``."""
        no_torques = np.zeros(self.robot.nv, dtype=self.dtype)
        return self.runner.evaluate([q, forces, no_torques], [None, None])[1]


@differentiable
class Inverse(BaseEvaluator):
    """``(D + diag(r))^-1 a``: ``inverse(q, accelerations, damping)``, ``(..., nc)``."""

    def __init__(self, robot: Model, threads: int | None = None) -> None:
        def program() -> Program:
            return Program.of_robot(robot, texts.DAMPED_INVERSE, damped_tree(robot))

        super().__init__(robot, "damped_inverse", program, {"robot": robot}, threads=threads)

    def __call__(self, q: npt.ArrayLike, accelerations: npt.ArrayLike, damping: npt.ArrayLike) -> Array:
        """For ``q: (..., nq)``, ``accelerations: (..., nc)``; the damping is one number, or ``(..., nc)``."""
        R = row_dampings(self.robot, damping)
        return self.runner.evaluate([q, R, accelerations, settings(True).astype(self.dtype)], [None] * 3)[1]


@differentiable
class Matrix(BaseEvaluator):
    """``J M^-1 J'``: ``matrix(q)``, ``(..., nc, nc)``."""

    def __init__(self, robot: Model, method: DelassusMethod, threads: int | None = None) -> None:
        how = METHODS[method]
        if how is None:
            raise InputError(f"{method} computes no matrix")
        self.method, self._damped = method, how.damped

        def program() -> Program:
            return Program.of_robot(robot, how.algorithm, how.arrays(robot))

        super().__init__(robot, "delassus_matrix", program, {"robot": robot, "method": method}, threads=threads)

    def __call__(self, q: npt.ArrayLike) -> Array:
        """For ``q: (..., nq)``."""
        if not self._damped:
            return self.runner.evaluate([q], [None])[0]
        return self.parts(q, np.ones(self.robot.nc))[0]

    def parts(self, q: npt.ArrayLike, damping: Array) -> list[Array]:
        """The matrix, and arrays of the method for the damped inverse."""
        results = self.runner.evaluate([q, damping], [None] * len(self.runner.outputs))
        if self.method == "pv_osim_fast":
            branches, rows, base = results[:3]
            results[0] = branches + rows @ np.linalg.solve(base, np.swapaxes(rows, -1, -2))
        return results


@differentiable
class InverseMatrix(BaseEvaluator):
    """``(D + diag(r))^-1`` as a matrix: ``inverse_matrix(q, damping)``, ``(..., nc, nc)``."""

    def __init__(self, robot: Model, threads: int | None = None) -> None:
        def program() -> Program:
            return Program.of_robot(robot, osim.CABA_OSIM, caba_osim_tree(robot))

        super().__init__(robot, "inverse_matrix", program, {"robot": robot}, threads=threads)

    def __call__(self, q: npt.ArrayLike, damping: npt.ArrayLike) -> Array:
        """For ``q: (..., nq)``; the damping is one number, or ``(..., nc)``."""
        return self.runner.evaluate([q, row_dampings(self.robot, damping)], [None])[0]


class ClusterMatrix:
    """``D`` of some rows of a robot whose other constraints are solved as clusters (C-EFPA)."""

    def __init__(self, whole: Model, robot: Model, threads: int | None = None) -> None:
        self.robot, self._arguments = robot, (whole, robot, threads)
        for c in robot.constraints:
            if not isinstance(c, Pair):
                raise UnsupportedFeature(f"cluster_efpa cannot serve '{robot.name}': {c} does not bind two frames")
        rows = {c.name for c in robot.constraints}
        rest = tuple(c for c in whole.constraints if c.enabled and c.name not in rows)
        bodies = {robot.frames[place].body for c in robot.constraints for place in c.places} - {WORLD}
        self.frames = sorted(bodies)
        self._inertia = OperationalInertia(replace(whole, constraints=rest), self.frames, threads=threads)
        frames = tuple(self.frames)
        self._parts = ProgramEvaluator(
            robot, "rows", osim.LINK_ROWS, lambda robot, _: constrained_tree(robot, frames), threads=threads
        )

    def __call__(self, q: npt.ArrayLike) -> Array:
        """For ``q: (..., nq)``."""
        K = self._parts(q)
        W = self._on_frames(K)
        matrix: Array = W @ self._inertia(q) @ np.swapaxes(W, -1, -2)
        return matrix

    def __reduce__(self) -> tuple[Any, ...]:
        return ClusterMatrix, self._arguments

    def _on_frames(self, K: Array) -> Array:
        """Rows as covectors of the accelerations of frames, side by side."""
        tree = self._parts.program.tree
        W = np.zeros((*K.shape[:-2], self.robot.nc, 6 * len(self.frames)))
        for f in range(len(self.frames)):
            on = np.flatnonzero((tree.k_body == tree.frame_body[f]) & (tree.k_body > 0))
            turn, shift = K[..., on, :3], K[..., on, 3:]
            R, p = tree.frame_rotation[f], tree.frame_position[f]
            here = np.concatenate([(turn - np.cross(p, shift)) @ R, shift @ R], axis=-1)
            rows = tree.k_row[on]
            for k, r in enumerate(rows):
                W[..., r, 6 * f : 6 * f + 6] += here[..., k, :]
        return W


def row_dampings(robot: Model, damping: npt.ArrayLike) -> Array:
    """A damping above zero for each row."""
    R = np.array(real_array(damping, "damping"), dtype=np.float64)
    if not (R > 0).all() or not np.isfinite(R).all():
        wrong = R[~((R > 0) & np.isfinite(R))].flat[0]
        raise InputError(f"damping must be > 0 and finite for every row; found {wrong:g}")
    if R.ndim == 0:
        return np.full(robot.nc, float(R))
    if R.shape[-1] != robot.nc:
        raise InputError(f"damping has {plural(R.shape[-1], 'number')}, the operator {plural(robot.nc, 'row')}")
    return R


def settings(refine: bool | int) -> Array:
    """Those of the damped inverse's text: steps of refinement if they seem to be needed, none, or so many."""
    if refine is True:
        return np.array([REFINED_FORCES, MOST_REFINEMENTS])
    if not isinstance(refine, int) or not 0 <= refine <= LARGEST:
        raise InputError(f"refine is {refine!r}, needs True, False or a number of steps")
    return np.array([0.0, 1.0 + refine])
