# SPDX-License-Identifier: BSD-3-Clause
"""The entry point to hybrid dynamics: some joints have an acceleration, the others a torque."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.compilers.program import Program
from linkwork.conversions import converted
from linkwork.dynamics.forward_checks import check_state
from linkwork.dynamics.iterations import MAX_ITERATIONS, REGULARIZATION, TOLERANCE, SolverSettings
from linkwork.dynamics.methods import AUTOMATIC, METHODS, best_method, method_tree
from linkwork.dynamics.solution import PROGRESS, NamedRows, ResultLayout
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import Auto, ForwardMethod, shown
from linkwork.kernels.tree.hybrid import HYBRID_ABA, with_prescribed_rows
from linkwork.model.checks import check_robot
from linkwork.model.constraints import VelocityCoupling
from linkwork.model.model import Model
from linkwork.model.notebook import state_tables
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.hybrid import hybrid_layout, hybrid_tree
from linkwork.plans.tree import without_passive_elements
from linkwork.quantities.arguments import Array, frame_names
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.product_attributes import differentiable
from linkwork.quantities.products import Product


@dataclass(frozen=True)
class HybridSolution:
    """Accelerations and torques of all joints. Leading axes are those of the batch."""

    acceleration: Array
    """Joint accelerations, ``(..., nv)``: those of prescribed joints as they were passed."""
    torque: Array
    """Joint torques, ``(..., nv)``: those of joints that are not prescribed as they were passed."""
    robot: Model = field(repr=False)
    result: Array | None = field(default=None, repr=False, kw_only=True)
    """Progress, forces and residuals of rows, as `ResultLayout` says, prescribed rows last; None for a tree."""
    tolerance: float = field(default=np.inf, repr=False, kw_only=True)
    """Relative residual at which iterations end."""

    @property
    def forces(self) -> Mapping[str, Array]:
        """Forces of the robot's constraints by name, ``(..., rows)`` each."""
        if self.result is None:
            return NamedRows(None, None)
        return NamedRows(self.robot, self.result[..., ResultLayout.of(self.result).multipliers][..., : self.robot.nc])

    @property
    def residual(self) -> Any:
        """The largest residual of a row, in m/s² or rad/s²: above zero where constraints forbid prescribed ones."""
        if self.result is None:
            return np.zeros(self.acceleration.shape[:-1])[()]
        return np.abs(self.result[..., ResultLayout.of(self.result).residuals]).max(axis=-1)

    @property
    def converged(self) -> Any:
        """Whether iterations ended within the tolerance, ``(...)``; in a tree, always."""
        if self.result is None:
            return np.ones(self.acceleration.shape[:-1], dtype=bool)[()]
        return self.result[..., PROGRESS] <= self.tolerance

    def _repr_html_(self) -> str:
        joints = {"acceleration": self.acceleration, "torque": self.torque}
        forces = None if self.result is None else self.result[..., ResultLayout.of(self.result).multipliers]
        rows = {} if forces is None else {"force": forces[..., : self.robot.nc]}
        return state_tables("Hybrid dynamics", self.robot, joints, rows)


@differentiable
class HybridDynamics(BaseEvaluator):
    """Accelerations and torques of a robot, some joints of which have a prescribed motion: ``hd(q, v, tau, a)``.

    Prescribed joints have the acceleration ``a``, and their torque is computed; the others have the torque ``tau``,
    and their acceleration is computed. Arms on a base that moves as planned, a test bench that drives one joint,
    servos that follow their commands beside joints that swing freely: no gains, no loop of a controller.

    In a tree, by the articulated-body algorithm in O(n) (`kernels.tree.hybrid`), with derivatives `jvp`, `vjp` and
    `hvp`. With constraints, the prescribed accelerations are further rows of a proximal method of `ForwardDynamics`.

    Args:
        robot: The mechanism.
        prescribed: Names of the joints whose acceleration is prescribed, with all their degrees of freedom.
        method: With constraints, a proximal method of `ForwardDynamics`; ``"auto"`` as there. A tree needs none.
        passive: Springs and dampers of joints and tendons do their part (`passive_forces`, `tendon_forces`), as in
            `simulate` and `InverseDynamics`: torques are those of motors. Without, torques are all that acts.
        wrenches: Names of the frames that external wrenches act on, as for `ForwardDynamics`.
        regularization: As for `ForwardDynamics`.
        tolerance: As for `ForwardDynamics`.
        max_iterations: The most iterations.
        threads: Number of threads for large batches.
    """

    @converted
    def __init__(
        self,
        robot: Model,
        prescribed: str | Sequence[str],
        *,
        method: ForwardMethod | Auto = "auto",
        passive: bool = True,
        wrenches: Sequence[str] = (),
        regularization: float = REGULARIZATION,
        tolerance: float = TOLERANCE,
        max_iterations: int = MAX_ITERATIONS,
        threads: int | None = None,
    ) -> None:
        check_robot(robot)
        names = _joint_names(robot, prescribed)
        self.prescribed = names
        """Names of the joints whose acceleration is prescribed."""
        self.passive = bool(passive)
        self.bound = any(c.enabled for c in robot.constraints)
        """Whether constraints act: the result has their forces."""
        if method != "auto" and (method not in AUTOMATIC or not self.bound):
            served = "'auto'" if not self.bound else f"'auto', {', '.join(map(repr, AUTOMATIC))}"
            raise InputError(f"hybrid dynamics of '{robot.name}' has the methods {served}, not {shown(method)}")
        self._method: ForwardMethod | Auto = method
        self.solver = SolverSettings(regularization, tolerance, max_iterations)
        """Settings of the proximal iterations."""
        frames = frame_names(wrenches)
        arguments = {
            "robot": robot,
            "prescribed": names,
            "method": method,
            "passive": self.passive,
            "wrenches": frames,
            **vars(self.solver),
        }
        super().__init__(robot, "hybrid_dynamics", self._program, arguments, frames, threads)

    @property
    def dofs(self) -> list[int]:
        """Prescribed degrees of freedom, in the order of the joints' names."""
        slices = [self.robot.v_slice(name) for name in self.prescribed]
        return [k for at in slices for k in range(at.start, at.stop)]

    @property
    def driven_robot(self) -> Model:
        """The robot with the rows of prescribed joints, which come last."""
        return self.keep("driven robot", self._driven_robot)

    def _driven_robot(self) -> Model:
        taken = {c.name for c in self.robot.constraints}
        rows = []
        for joint in self.prescribed:
            name = f"{joint} acceleration"
            while name in taken:
                name += "'"
            rows.append(VelocityCoupling({joint: np.eye(self.robot.joint(joint).type.nv)}, name=name))
        return self.robot.constrained(*rows)

    def _program(self) -> Program:
        robot, frames = self.robot, self.frames
        if not self.bound:
            tree = hybrid_tree(robot, frames, self.dofs)
            return Program.of_robot(robot, HYBRID_ABA, tree if self.passive else without_passive_elements(tree))
        driven = self.driven_robot
        name = best_method(driven) if self._method == "auto" else self._method
        method = METHODS[name]
        assert method.algorithm is not None and method.arrays is not None
        tree = method_tree(driven, name, method.arrays, frames)
        row = np.full(robot.nv, -1)
        row[self.dofs] = robot.nc + np.arange(len(self.dofs))
        tree = hybrid_layout(method.algorithm.layout).build(tree, prescribed_row=row)
        tree = tree if self.passive else without_passive_elements(tree)
        return Program.of_robot(driven, with_prescribed_rows(method.algorithm), tree)

    def held_inputs(self, dtype: np.dtype[Any]) -> dict[str, Array]:
        """Inputs that calls may leave out: wrenches, regularization, multipliers and settings.

        Args:
            dtype: Type of the numbers.
        """
        held = super().held_inputs(dtype)
        if not self.bound:
            return held
        driven = self.driven_robot
        return {
            **held,
            "regularization": self.solver.rows(driven, dtype.name),
            "multipliers": np.zeros(driven.nc, dtype),
            "settings": self.solver.array(driven, dtype.name),
        }

    def __call__(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        a: npt.ArrayLike,
        wrenches: npt.ArrayLike | None = None,
    ) -> HybridSolution:
        """Accelerations and torques of all joints. Leading axes are batch axes and broadcast.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            tau: Joint torques, ``(..., nv)``; those of prescribed joints are not read.
            a: Joint accelerations, ``(..., nv)``; those of other joints are not read.
            wrenches: External wrenches on the frames that were named, ``(..., frames, 6)``; by default none.
        """
        results = self.evaluate(q, v, tau, a, wrenches)
        if not self.bound:
            acceleration, torque = results
            return HybridSolution(acceleration, torque, self.robot)
        acceleration, torque, result = results
        if result.size:
            check_state(self.robot, q, v, self.keep("enabled", self._enabled_rows), stacklevel=3)
        return HybridSolution(acceleration, torque, self.robot, result=result, tolerance=self._tolerance)

    def _enabled_rows(self) -> Array:
        return self.solver.rows(self.robot, "float64") < UNBOUNDED

    @property
    def _tolerance(self) -> float:
        return float(self.execution.held["settings"][0])

    def computation_of(self, product: Product) -> None:
        """None, in a tree: products are one program. With constraints there are none.

        Args:
            product: The product.
        """
        if self.bound:
            raise UnsupportedFeature(
                f"hybrid dynamics of '{self.robot.name}' has no derivatives, since it has constraints: add a Drive to "
                "the robot and take those of ForwardDynamics"
            )


def _joint_names(robot: Model, prescribed: str | Sequence[str]) -> tuple[str, ...]:
    """Names of prescribed joints, checked."""
    names = (prescribed,) if isinstance(prescribed, str) else tuple(prescribed)
    if not names:
        raise InputError("prescribed is empty: use ForwardDynamics")
    for name in names:
        if robot.joint(name).type.nv == 0:
            raise InputError(f"joint '{name}' is fixed: it has no acceleration to prescribe")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"prescribed names joint '{twice}' twice")
    return names
