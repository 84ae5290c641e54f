# SPDX-License-Identifier: BSD-3-Clause
"""Jacobians of constrained forward dynamics: `ForwardDynamics.derivatives` of a robot that is bound.

All exact methods solve one problem and have the same derivatives, at whatever state the robot is in: loops open or
closed, rows redundant or not. Shallow trees have them by paths (`constrained_derivatives` of the kernels), deep ones by
articulated bodies (`constrained_articulated_derivatives`).

Where rows are dependent, or nearly so, accelerations of the factor that derivatives are made with are compared with the
solution of forward dynamics at every call. Where they differ, and where the rank of the rows is uncertain, derivatives
are those of singular values (`dense_derivatives`), whose rank is that of `kkt`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from linkwork.closure.assembly_problem import which_enabled, which_holonomic
from linkwork.closure.loop_rounding import loop_rounding
from linkwork.closure.mobility import mobility, usual_rank
from linkwork.closure.thresholds import LEAST_PIVOT, OPEN, RANK, ROUNDED
from linkwork.compilers.program import Program
from linkwork.dynamics.iterations import REGULARIZATION, row_regularization
from linkwork.dynamics.jacobians.dense import dense_derivatives
from linkwork.dynamics.jacobians.trees import FEWER, ForwardDerivatives
from linkwork.dynamics.methods import METHODS
from linkwork.dynamics.rows.dependence import rows_depend
from linkwork.dynamics.thresholds import (
    AGREES,
    DEPENDENT_PIVOT,
    INDEPENDENT_PIVOT,
    SINGLE_AGREES,
    SINGLE_DEPENDENT_PIVOT,
)
from linkwork.errors import SingularConstraints, StateWarning, UnsupportedFeature
from linkwork.inputs import ForwardMethod, above_zero
from linkwork.kernels.derivatives.constrained import CONSTRAINED_DERIVATIVES
from linkwork.kernels.derivatives.constrained_articulated import CONSTRAINED_ARTICULATED_DERIVATIVES
from linkwork.kernels.derivatives.constrained_columns import INPUTS
from linkwork.kernels.thresholds import LEFT_OUT
from linkwork.model.model import Model
from linkwork.model.notebook import shapes
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.constrained_articulated_derivatives import constrained_articulated_tree, constrained_products
from linkwork.plans.constraint_derivatives import derivative_tree
from linkwork.quantities.arguments import Array, frame_names
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.functions import mass_matrix
from linkwork.quantities.parameters import ParameterInputs, ParameterNames
from linkwork.quantities.product_attributes import differentiable
from linkwork.quantities.scales import scales_of, typical_row_units

GROWTH = 50.0
"""Error of a sum of rows, in units of rounding (`kernels.constrained.orthogonal_rows`)."""
NEGLIGIBLE = RANK**2
"""Combinations of rows whose squared norm is less than this part of their own (`scales`) are zero, as in `kkt`."""


class ConstrainedJacobians(NamedTuple):
    """Derivatives of constrained forward dynamics. Leading axes are those of the batch.

    Derivatives by ``q`` are in the tangent space at q. The gains of constraints are part of them: a target depends on
    the state through these. Of rows that depend on others, accelerations are the fit of every method, and forces the
    smallest that do (`kernels.derivatives.dependent_rows`), on open loops too.
    """

    da_dq: Array
    """Accelerations by configuration, ``(..., nv, nv)``."""
    da_dv: Array
    """By velocity, ``(..., nv, nv)``."""
    da_dtau: Array
    """By torque, ``(..., nv, nv)``."""
    df_dq: Array
    """Constraint forces by configuration, ``(..., nc, nv)``."""
    df_dv: Array
    """By velocity, ``(..., nc, nv)``."""
    df_dtau: Array
    """By torque, ``(..., nc, nv)``."""
    da_dtarget: Array
    """Accelerations by the targets of rows, ``(..., nv, nc)``."""
    df_dtarget: Array
    """Constraint forces by these, ``(..., nc, nc)``: the operational-space inertia of the rows."""
    a: Array
    """The accelerations themselves, ``(..., nv)``."""
    f: Array
    """The constraint forces, ``(..., nc)``."""
    pivot: Array
    """``(..., 1)``: how independent rows are, the least pivot of ``J M^-1 J'`` relative to its diagonal; zero where
    rows depend on others. Relative errors of results are those of rounding, over this."""

    def __repr__(self) -> str:
        return shapes(self)


@differentiable
class ConstrainedDerivatives(BaseEvaluator):
    """Jacobians of constrained forward dynamics: ``fd.derivatives(q, v, tau)``, see `ConstrainedJacobians`.

    Args:
        robot: The mechanism.
        method: The method whose derivatives these are. All exact ones have the same; `pv_soft` has those of rows that
            are as soft as their regularization.
        regularization: As in `ForwardDynamics`: the weights of forces of redundant rows.
        wrenches: Names of the frames that external wrenches act on; they are held in the axes of these frames.
        parameters: Parameters of the robot that are inputs, further arguments of a call: see `ForwardDynamics`.
        threads: Threads that share a large batch; by default as many as there are cores.
        forward_dynamics: The evaluator whose derivatives these are, if there is one: accelerations are compared with
            its solution.
    """

    def __init__(
        self,
        robot: Model,
        method: ForwardMethod = "prox_ltl",
        *,
        regularization: float = REGULARIZATION,
        wrenches: Sequence[str] = (),
        parameters: ParameterNames | ParameterInputs = (),
        threads: int | None = None,
        forward_dynamics: Any = None,
    ) -> None:
        if not METHODS[method].exact:
            raise UnsupportedFeature(
                f"{method} does not solve the constrained dynamics exactly, and has no derivatives: use an "
                "exact method, cluster or prox_bbo for instance"
            )
        self.method = method
        self.regularization = above_zero(regularization, "regularization")
        self._forward_dynamics = forward_dynamics
        frames = frame_names(wrenches)

        def program() -> Program:
            return _program(robot, frames, redundant=True, soft=method == "pv_soft")

        arguments = {
            "robot": robot,
            "method": method,
            "regularization": self.regularization,
            "wrenches": frames,
            "forward_dynamics": forward_dynamics,
        }
        super().__init__(
            robot, "forward_dynamics_derivatives", program, arguments, frames, threads, parameters, ConstrainedJacobians
        )

    @property
    def traced_program(self) -> Program:
        """The program that `compile` traces.

        Without the part that finds the smallest forces where no rows depend on others.
        """
        if rows_depend(self.robot):
            return self.program
        return self.parameter_inputs.program(
            _program(self.robot, self.frames, redundant=False, soft=self.method == "pv_soft")
        )

    @property
    def counted_program(self) -> Program:
        """The program that `operation_count` counts."""
        return self.traced_program

    def held_inputs(self, dtype: np.dtype[Any]) -> dict[str, Array]:
        """Inputs that calls may leave out: wrenches, parameters, and of rows softness, regularization, target, scales.

        Args:
            dtype: Type of the numbers.
        """
        robot, soft, double = self.robot, self.method == "pv_soft", dtype == np.float64
        R = row_regularization(robot, self.regularization, dtype.name)
        rounded = (OPEN * loop_rounding(robot)) ** 2
        least = DEPENDENT_PIVOT if double else SINGLE_DEPENDENT_PIVOT
        noise = (GROWTH * float(np.finfo(dtype).eps)) ** 2
        certain = LEFT_OUT**2 if double else 0.0
        cut = [max(least, rounded), noise, max(NEGLIGIBLE, rounded), OPEN, ROUNDED, certain]
        closing = which_enabled(robot) & which_holonomic(robot)
        return super().held_inputs(dtype) | {
            "softness": R if soft else np.where(R < UNBOUNDED, 0.0, UNBOUNDED).astype(dtype),
            "regularization": R,
            "target": np.zeros(robot.nc, dtype),
            "cut": np.array(cut, dtype),
            "row_scale": scales_of(robot).rows.astype(dtype),
            "row_units": np.where(closing, 1 / typical_row_units(robot), 0.0).astype(dtype),
        }

    @property
    def given_names(self) -> tuple[str, ...]:
        """Names of inputs that callers give, in their order."""
        return ("q", "v", "tau", "wrenches", "target")

    def __call__(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        wrenches: npt.ArrayLike | None = None,
        *,
        target: npt.ArrayLike | None = None,
        out: Sequence[Array] | Array | None = None,
        **parameters: npt.ArrayLike,
    ) -> ConstrainedJacobians:
        """Derivatives of accelerations and constraint forces, and these. Leading axes are batch axes and broadcast.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            tau: Joint torques, ``(..., nv)``.
            wrenches: External wrenches on the frames that were named, ``(..., frames, 6)``; by default none.
            target: Accelerations of rows beyond those of their gains, ``(..., nc)``.
            out: Arrays to write all fields of `ConstrainedJacobians` to, or one for ``da_dq``; by default new ones.
            parameters: Parameters of the robot that are inputs, by name, ``(..., rows)``; by default the robot's own.
        """
        state = {"q": q, "v": v, "tau": tau, "wrenches": wrenches, "target": target}
        if out is None and wrenches is target is None and not parameters:
            one: ConstrainedJacobians | None = self.execution.results(q, v, tau)
            if one is not None:
                return self._verified(state, parameters, one)
        typed = self.for_type_of([*state.values(), *self.output_arrays(out), *parameters.values()])
        arrays = typed.input_arrays(tuple(state.values()), parameters=parameters)
        outputs = typed.runner.evaluate(arrays, self.output_arrays(out))
        return self._verified(state, parameters, ConstrainedJacobians(*outputs))

    # Checks of results ---------------------------------------------------------------------------

    def _verified(
        self, state: Mapping[str, Any], parameters: Mapping[str, Any], result: ConstrainedJacobians
    ) -> ConstrainedJacobians:
        """The result, of which states of uncertain rank are computed again.

        Raises an error where the method needs rows that are independent and they are not.
        """
        if not self.sees_results or self.method == "pv_soft" or result.pivot.min(initial=1.0) > INDEPENDENT_PIVOT:
            return result
        solution = self._solution(state, parameters)
        uncertain = result.pivot[..., 0] < 0
        if solution is not None:
            agrees = AGREES if result.a.dtype == np.float64 else SINGLE_AGREES
            uncertain = uncertain | (self._difference(result, solution) > agrees)
        if uncertain.any():
            self._recompute(state, result, uncertain)
            if solution is not None:
                self._warn_if_inexact(np.where(uncertain, self._difference(result, solution), 0.0), agrees)
        if METHODS[self.method].hard and self.method != "pv_early" and not METHODS[self.method].closed:
            if not (result.pivot > LEAST_PIVOT).all():
                raise SingularConstraints(
                    f"the constraints of '{self.robot.name}' are not independent, which {self.method} cannot solve; a "
                    "proximal method can, and its derivatives are defined: prox_bbo for instance"
                )
        if not self.parameters and (result.pivot == 0).any():
            self._warn_if_singular(state["q"], result)
        return result

    def _solution(self, state: Mapping[str, Any], parameters: Mapping[str, Any]) -> Array | None:
        """Accelerations of forward dynamics."""
        if self._forward_dynamics is None:
            return None
        # states are checked where forward dynamics itself is called
        fd = self.keep("forward dynamics", self._forward_dynamics.without_state_check)
        acceleration: Array = fd(**state, **parameters).acceleration
        return acceleration

    def _difference(self, result: ConstrainedJacobians, solution: Array) -> Array:
        """The relative difference of accelerations, measured with accelerations and constraint forces."""
        scales = scales_of(self.robot)
        size = np.square(result.a) @ scales.joints + np.square(result.f) @ scales.rows
        part = np.square(result.a - solution) @ scales.joints / np.where(size > 0, size, 1.0)
        difference: Array = np.sqrt(part)
        return difference

    def _recompute(self, state: Mapping[str, Any], result: ConstrainedJacobians, uncertain: Array) -> None:
        """Overwrite results of the states of uncertain rank by those of singular values."""
        if self.parameters:
            raise SingularConstraints(
                f"the rank of the constraints of '{self.robot.name}' is numerically uncertain, and its derivatives are "
                "computed by singular values, without parameters as inputs: use robot.with_parameters(...)"
            )
        lead = result.a.shape[:-1]
        R = row_regularization(self.robot, self.regularization)
        none = {"wrenches": np.zeros((len(self.frames), 6)), "target": np.zeros(self.robot.nc)}
        width = {"wrenches": 2}
        arrays = {name: np.asarray(none[name] if x is None else x, dtype=np.float64) for name, x in state.items()}
        full = {
            name: np.broadcast_to(x, (*lead, *x.shape[x.ndim - width.get(name, 1) :])) for name, x in arrays.items()
        }
        for k in zip(*np.nonzero(np.atleast_1d(uncertain)), strict=True) if lead else ((),):
            one = {name: x[k] for name, x in full.items()}
            solution = dense_derivatives(self.robot, one, self.frames, R, self.regularization)
            for name, x in solution.items():
                getattr(result, name)[k] = x

    def _warn_if_inexact(self, difference: Array, agrees: float) -> None:
        if (difference > agrees).any():
            warnings.warn(
                f"forward dynamics of '{self.robot.name}' by {self.method} has a relative error of "
                f"{difference.max():.2g}, since rows are dependent up to rounding: derivatives are those of the exact "
                "solution, as by 'kkt'",
                StateWarning,
                stacklevel=4,
            )

    def _warn_if_singular(self, q: npt.ArrayLike, result: ConstrainedJacobians) -> None:
        """Warn where rows have a lower rank than in closed configurations nearby: accelerations jump there."""
        robot = self.robot
        # M da/dtau is a projection on the null space of the rows: its trace is the number of degrees of freedom
        freedom = np.einsum("...ij,...ij->...", mass_matrix(robot, q), result.da_dtau)
        usual, most = robot.nv - usual_rank(robot), float(freedom.max())
        if most < usual + 0.5:
            return
        at = np.broadcast_to(q, (*freedom.shape, robot.nq)).reshape(-1, robot.nq)[freedom.argmax()]
        if mobility(robot, at).singular.size:
            warnings.warn(
                f"'{robot.name}' is in a singular configuration: constraints leave {round(most)} degrees of freedom "
                f"there, and {usual} nearby. Accelerations jump, and have no derivative by q; "
                "robot.mobility(q).singular are the directions that nearby configurations do not have",
                StateWarning,
                stacklevel=4,
            )

    def _verification(self, alone: bool) -> Callable[[Sequence[Array]], None] | None:
        held = self.execution.held

        def verify(arrays: Sequence[Array]) -> None:
            inputs = dict(zip(INPUTS, arrays, strict=False))
            state: dict[str, Array | None] = {name: inputs[name] for name in ("q", "v", "tau")}
            # held inputs are omitted: forward dynamics holds the same, and has less to check
            state |= {name: None if inputs[name] is held[name] else inputs[name] for name in ("wrenches", "target")}
            outputs = ConstrainedJacobians(*arrays[-len(ConstrainedJacobians._fields) :])
            parameters = dict(zip(self.parameters, arrays[len(INPUTS) :], strict=False))
            self._verified(state, parameters, outputs)

        return verify


def uncertain_rank(pivot: Any, a: Any, f: Any, solution: Any, joints: Any, rows: Any) -> Any:
    """Which states have an uncertain rank: accelerations of dependent rows differ from those of a solution.

    Args:
        pivot: As in `ConstrainedJacobians`.
        a: Accelerations of the factor that derivatives are made with.
        f: Constraint forces of it.
        solution: Accelerations of forward dynamics.
        joints: The diagonal of the mass matrix (`scales`).
        rows: The diagonal of J M⁻¹ Jᵀ (`scales`).
    """
    least, difference = pivot[..., 0], a - solution
    size = (a * a) @ joints + (f * f) @ rows
    return (least < 0.0) | ((least <= INDEPENDENT_PIVOT) & ((difference * difference) @ joints > AGREES**2 * size))


def _program(robot: Model, frames: Sequence[str], redundant: bool, soft: bool) -> Program:
    """The code that has fewer products, by the rule of `ForwardDerivatives`; tendons act on many bodies, by paths."""
    tree = derivative_tree(robot, frames, redundant, soft)
    by_paths, by_bodies = constrained_products(tree)
    if by_bodies < FEWER * by_paths and not tree.ntendon_rows:
        bodies = constrained_articulated_tree(robot, frames, redundant, soft)
        return Program.of_robot(robot, CONSTRAINED_ARTICULATED_DERIVATIVES, bodies)
    return Program.of_robot(robot, CONSTRAINED_DERIVATIVES, tree)


def forward_derivatives(fd: Any) -> ForwardDerivatives | ConstrainedDerivatives:
    """The evaluator of the Jacobians of a `ForwardDynamics`, by its method."""
    if not fd.bound:
        return ForwardDerivatives(fd.robot, wrenches=fd.frames, parameters=fd.parameter_inputs)
    return ConstrainedDerivatives(
        fd.robot,
        fd.method,
        regularization=fd.solver.regularization,
        wrenches=fd.frames,
        parameters=fd.parameter_inputs,
        forward_dynamics=fd,
    )
