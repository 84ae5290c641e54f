# SPDX-License-Identifier: BSD-3-Clause
"""Jacobians of forward and inverse dynamics, and the regressor: `ForwardDynamics.derivatives`,
`InverseDynamics.derivatives`, `InverseDynamics.regressor`.

Derivatives by ``q`` are in the tangent space at q: ``f(robot.integrate(q, d)) = f(q) + df_dq d + ...``, with ``nv``
columns. Rows come first: ``da_dq[..., i, j]`` is that of ``a[i]`` by ``q[j]``.

| class           | of                                                                       |
|-----------------|--------------------------------------------------------------------------|
| ForwardJacobians, InverseJacobians | results                                                |
| ForwardDerivatives, InverseDerivatives, Regressor | evaluators                              |
| JacobiansOf     | the attribute of an evaluator that gives another one, on its own backend |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Generic, NamedTuple, Self, TypeVar, overload

import numpy.typing as npt

from linkwork.compilers.program import Program
from linkwork.errors import InputError, ProgramTooLarge, UnsupportedFeature
from linkwork.kernels.derivatives.aba import ABA_DERIVATIVES
from linkwork.kernels.derivatives.articulated import ARTICULATED_DERIVATIVES
from linkwork.kernels.derivatives.rnea import RNEA_DERIVATIVES
from linkwork.kernels.tree.regressor import REGRESSOR
from linkwork.model.model import Model
from linkwork.plans.aba_derivatives import path_tree
from linkwork.plans.articulated_derivatives import articulated_tree, products
from linkwork.plans.regressor import STARTS, regressor_tree
from linkwork.plans.tree import tree_of, without_passive_elements
from linkwork.quantities.arguments import Array, frame_names
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.parameters import ParameterInputs, ParameterNames
from linkwork.quantities.product_attributes import differentiable

FEWER = 0.5
"""Products of articulated bodies, as a part of those of paths, for which these are the faster text. It is below one: in
batches and in packs of straight-line programs, matrix products run faster than sweeps."""


class ForwardJacobians(NamedTuple):
    """Derivatives of forward dynamics of a tree. Leading axes are those of the batch."""

    da_dq: Array
    """Accelerations by configuration, in tangent space, ``(..., nv, nv)``."""
    da_dv: Array
    """By velocity, ``(..., nv, nv)``."""
    da_dtau: Array
    """By torque, ``(..., nv, nv)``: the inverse of the mass matrix."""
    a: Array
    """The accelerations themselves, ``(..., nv)``."""


class InverseJacobians(NamedTuple):
    """Derivatives of inverse dynamics of a tree. Leading axes are those of the batch."""

    dtau_dq: Array
    """Torques by configuration, in tangent space, ``(..., nv, nv)``."""
    dtau_dv: Array
    """By velocity, ``(..., nv, nv)``."""
    dtau_da: Array
    """By acceleration, ``(..., nv, nv)``: the mass matrix."""
    tau: Array
    """The torques themselves, ``(..., nv)``."""


@differentiable
class ForwardDerivatives(BaseEvaluator):
    """Jacobians of forward dynamics of a tree: ``fd.derivatives(q, v, tau)``, see `ForwardJacobians`.

    Constraints of the robot are not known to it: those of a robot whose constraints are all disabled.

    Args:
        robot: The mechanism.
        wrenches: Names of the frames that external wrenches act on; they are held in the axes of these frames.
        parameters: Parameters of the robot that are inputs, further arguments of a call: see `ForwardDynamics`.
        threads: Threads that share a large batch; by default as many as there are cores.
    """

    def __init__(
        self,
        robot: Model,
        *,
        wrenches: Sequence[str] = (),
        parameters: ParameterNames | ParameterInputs = (),
        threads: int | None = None,
    ) -> None:
        frames = frame_names(wrenches)

        def program() -> Program:
            by_paths, by_bodies = products(tree_of(robot))
            if by_bodies < FEWER * by_paths:
                return Program.of_robot(robot, ARTICULATED_DERIVATIVES, articulated_tree(robot, frames))
            return Program.of_robot(robot, ABA_DERIVATIVES, path_tree(robot, frames))

        arguments = {"robot": robot, "wrenches": frames}
        super().__init__(
            robot, "forward_dynamics_derivatives", program, arguments, frames, threads, parameters, ForwardJacobians
        )

    def __call__(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        wrenches: npt.ArrayLike | None = None,
        *,
        out: Sequence[Array] | Array | None = None,
        **parameters: npt.ArrayLike,
    ) -> ForwardJacobians:
        """Derivatives of accelerations, and these. Leading axes are batch axes and broadcast.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            tau: Joint torques, ``(..., nv)``.
            wrenches: External wrenches on the frames that were named, ``(..., frames, 6)``; by default none.
            out: Arrays to write ``da_dq, da_dv, da_dtau, a`` to, or one for ``da_dq``; by default new ones.
            parameters: Parameters of the robot that are inputs, by name, ``(..., rows)``; by default the robot's own.
        """
        if out is None and wrenches is None and not parameters:
            one: ForwardJacobians | None = self.execution.results(q, v, tau)
            if one is not None:
                return one
        result: ForwardJacobians = self.evaluate(q, v, tau, wrenches, out=out, **parameters)
        return result


@differentiable
class InverseDerivatives(BaseEvaluator):
    """Jacobians of inverse dynamics of a tree: ``id.derivatives(q, v, a)``, see `InverseJacobians`.

    Args:
        robot: The mechanism.
        passive: Whether springs and dampers of joints do their part, as in `InverseDynamics`.
        wrenches: Names of the frames that external wrenches act on; they are held in the axes of these frames.
        parameters: Parameters of the robot that are inputs, further arguments of a call: see `ForwardDynamics`.
        threads: Threads that share a large batch; by default as many as there are cores.
    """

    def __init__(
        self,
        robot: Model,
        *,
        passive: bool = True,
        wrenches: Sequence[str] = (),
        parameters: ParameterNames | ParameterInputs = (),
        threads: int | None = None,
    ) -> None:
        frames = frame_names(wrenches)

        def program() -> Program:
            tree = tree_of(robot, frames)
            return Program.of_robot(robot, RNEA_DERIVATIVES, tree if passive else without_passive_elements(tree))

        arguments = {"robot": robot, "passive": bool(passive), "wrenches": frames}
        super().__init__(
            robot, "inverse_dynamics_derivatives", program, arguments, frames, threads, parameters, InverseJacobians
        )

    def __call__(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        a: npt.ArrayLike,
        wrenches: npt.ArrayLike | None = None,
        *,
        out: Sequence[Array] | Array | None = None,
        **parameters: npt.ArrayLike,
    ) -> InverseJacobians:
        """Derivatives of torques, and these. Leading axes are batch axes and broadcast.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            a: Joint accelerations, ``(..., nv)``.
            wrenches: External wrenches on the frames that were named, ``(..., frames, 6)``; by default none.
            out: Arrays to write ``dtau_dq, dtau_dv, dtau_da, tau`` to, or one for ``dtau_dq``; by default new ones.
            parameters: Parameters of the robot that are inputs, by name, ``(..., rows)``; by default the robot's own.
        """
        if out is None and wrenches is None and not parameters:
            one: InverseJacobians | None = self.execution.results(q, v, a)
            if one is not None:
                return one
        result: InverseJacobians = self.evaluate(q, v, a, wrenches, out=out, **parameters)
        return result


@differentiable
class Regressor(BaseEvaluator):
    """Torques as a linear function of parameters: ``id.regressor(q, v, a)`` is ``Y`` with ``tau = Y pi``.

    By default ``pi`` are ten numbers for each body of ``robot.body_names``, in Pinocchio's order: mass, first moment
    (3), and ``Ixx, Ixy, Iyy, Ixz, Iyz, Izz`` about the origin of the body's frame: those of the robot are
    ``robot.parameters["inertial_parameters"].ravel()``. `of` makes a regressor of more parameters. Torques of external
    wrenches are in none.

    Args:
        robot: The mechanism.
        columns: Names of ``robot.parameters`` that have columns, in their order: see `of`.
        threads: Threads that share a large batch; by default as many as there are cores.
    """

    def __init__(
        self, robot: Model, columns: Sequence[str] = ("inertial_parameters",), *, threads: int | None = None
    ) -> None:
        names = tuple(columns)
        for name in names:
            if name not in STARTS:
                raise InputError(f"torques have no columns for {name!r}; there are {', '.join(STARTS)}")
        if not names or len(set(names)) < len(names):
            raise InputError(f"a regressor takes names of parameters, each once; found {', '.join(names) or 'none'}")

        def program() -> Program:
            return Program.of_robot(robot, REGRESSOR, regressor_tree(robot, names))

        self.columns = names
        super().__init__(robot, "regressor", program, {"robot": robot, "columns": names}, (), threads)

    def of(self, *parameters: str) -> Regressor:
        """The regressor of these parameters, on the same backend: ``Y`` with a column for each of their numbers.

        ``pi`` is then ``np.concatenate([robot.parameters[name].ravel() for name in parameters])``. Columns of joints
        are the acceleration (``"armature"``), the velocity (``"damping"``: viscous friction), the distance from rest
        (``"stiffness"``) and the sign of the velocity (``"friction"``: dry, Coulomb friction; zero at rest, where its
        torque is not determined).

        Args:
            parameters: Some of ``"inertial_parameters"``, ``"armature"``, ``"damping"``, ``"stiffness"``,
                ``"friction"``.
        """
        return on_backend_of(self, Regressor(self.robot, parameters))

    def __call__(self, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike, *, out: Array | None = None) -> Array:
        """The regressor ``Y``, ``(..., nv, parameters)``. Leading axes are batch axes and broadcast.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            a: Joint accelerations, ``(..., nv)``.
            out: Array to write the result to; by default a new one.
        """
        result: Array = self.evaluate(q, v, a, out=out)
        return result


# Attributes of evaluators ---------------------------------------------------------------------------------------------

E = TypeVar("E", bound=BaseEvaluator)


class JacobiansOf(Generic[E]):
    """An attribute of an evaluator: another one, about its derivatives, that runs on its backend. Made at first use.

    Args:
        make: Makes it; its backend is set afterwards.
    """

    def __init__(self, make: Callable[[Any], E]) -> None:
        self._make = make

    @overload
    def __get__(self, evaluator: None, owner: type) -> Self: ...
    @overload
    def __get__(self, evaluator: BaseEvaluator, owner: type) -> E: ...
    def __get__(self, evaluator: BaseEvaluator | None, owner: type) -> Any:
        if evaluator is None:
            return self
        return evaluator.keep(self, lambda: on_backend_of(evaluator, self._make(evaluator)))


def on_backend_of(evaluator: BaseEvaluator, other: E) -> E:
    """Another evaluator on the backend of the first; on native code where a program would be too large."""
    backend = evaluator.execution.backend
    same = other.on(backend)
    if backend.name == "specialized":
        try:
            same.execution.prepare()
        except ProgramTooLarge:
            return other.on(replace(backend, name="native"))
    return same


def regressor(inverse: Any) -> Regressor:
    """The evaluator of the regressor of an `InverseDynamics`."""
    if inverse.method != "rnea":
        raise UnsupportedFeature(
            f"inverse dynamics by '{inverse.method}' has no regressor: its torques are one choice of many with the "
            "same effect; take InverseDynamics(robot, 'rnea'), which ignores constraints"
        )
    return Regressor(inverse.robot)
