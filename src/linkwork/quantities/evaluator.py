# SPDX-License-Identifier: BSD-3-Clause
"""Quantities of a robot by name: each an algorithm, evaluated for one robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from linkwork.compilers.program import Program
from linkwork.conversions import converted
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import Quantity, Reference, among, shown
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.constrained import constraints as loops
from linkwork.kernels.derivatives import constraints as constraint_derivatives
from linkwork.kernels.tree import (
    aba,
    actuation,
    configurations,
    coriolis,
    crba,
    force_laws,
    inverse_mass,
    kinematics,
    momentum_matrix,
    passive,
    points,
    rnea,
    tendons,
    terms,
)
from linkwork.kernels.tree import centroidal as centroid
from linkwork.model.checks import check_robot
from linkwork.model.model import Model
from linkwork.plans.aba_derivatives import path_tree
from linkwork.plans.actuation import actuation_tree
from linkwork.plans.constraint_derivatives import error_tree, row_tree
from linkwork.plans.constraints import constrained_tree
from linkwork.plans.force_elements import has_force_elements
from linkwork.plans.tree import ALIGNED, LOCAL, WORLD_ORIGIN, Tree, tree_of
from linkwork.quantities.arguments import Array, frame_names, thread_count
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.counts import OperationCount
from linkwork.quantities.differentiable import Differentiated
from linkwork.quantities.parameters import ParameterNames
from linkwork.quantities.product_attributes import differentiable

__all__ = [
    "Array",
    "BaseEvaluator",
    "Evaluator",
    "OperationCount",
    "ProgramEvaluator",
    "check_actuators",
    "operation_count",
    "thread_count",
]

QUANTITIES: Mapping[str, Algorithm] = MappingProxyType(
    {
        "forward_dynamics": aba.ABA,
        "inverse_dynamics": rnea.RNEA,
        "mass_matrix": crba.CRBA,
        "inverse_mass_product": aba.INVERSE_MASS,
        "inverse_mass_matrix": inverse_mass.INVERSE_MASS_MATRIX,
        "bias_forces": rnea.BIAS,
        "coriolis_matrix": coriolis.CORIOLIS,
        "passive_forces": passive.PASSIVE,
        "gravity_forces": rnea.GRAVITY,
        "frame_placement": kinematics.PLACEMENTS,
        "frame_velocity": kinematics.VELOCITIES,
        "frame_acceleration": kinematics.ACCELERATIONS,
        "frame_jacobian": kinematics.JACOBIANS,
        "frame_jacobian_rate": momentum_matrix.JACOBIAN_RATES,
        "point_position": points.POINT_POSITIONS,
        "point_velocity": points.POINT_VELOCITIES,
        "point_acceleration": points.POINT_ACCELERATIONS,
        "point_jacobian": points.POINT_JACOBIANS,
        "point_jacobian_rate": points.POINT_JACOBIAN_RATES,
        "center_of_mass": centroid.CENTER_OF_MASS,
        "center_of_mass_jacobian": momentum_matrix.COM_JACOBIAN,
        "center_of_mass_jacobian_rate": momentum_matrix.COM_JACOBIAN_RATE,
        "centroidal_momentum": centroid.MOMENTUM,
        "centroidal_momentum_matrix": momentum_matrix.MOMENTUM_MATRIX,
        "centroidal_momentum_matrix_rate": momentum_matrix.MOMENTUM_MATRIX_RATE,
        "energy": centroid.ENERGIES,
        "terms": terms.TERMS,
        "integrate": configurations.INTEGRATE,
        "difference": configurations.DIFFERENCE,
        "interpolate": configurations.INTERPOLATE,
        "distance": configurations.DISTANCE,
        "constraint_error": loops.ERRORS,
        "constraint_jacobian": loops.CONSTRAINT_JACOBIAN,
        "constraint_bias": loops.CONSTRAINT_BIAS,
        "constraint_target": loops.TARGET,
        "constraint_derivatives": constraint_derivatives.CONSTRAINT_DERIVATIVES,
        "constraint_error_jacobian": constraint_derivatives.ERROR_JACOBIAN,
        "actuator_torques": actuation.ACTUATOR_TORQUES,
        "activations": actuation.ACTIVATIONS,
        "gravity_compensation": actuation.GRAVITY_COMPENSATION,
        "tendon_length": tendons.TENDON_LENGTHS,
        "tendon_velocity": tendons.TENDON_VELOCITIES,
        "tendon_jacobian": tendons.TENDON_JACOBIAN,
        "tendon_forces": tendons.TENDON_FORCES,
        "element_forces": force_laws.ELEMENT_TORQUES,
        "element_states": force_laws.ELEMENT_STATES,
    }
)
"""The algorithms of quantities, by name."""


OF_CONSTRAINTS = ("constraint_error", "constraint_jacobian", "constraint_bias", "constraint_target")
"""Quantities that depend on the constraints of a robot; the others are those of its tree."""


OF_ROWS = MappingProxyType({"constraint_derivatives": row_tree, "constraint_error_jacobian": error_tree})
"""Plans of the derivatives of constraint rows."""


OF_TENDONS = ("tendon_length", "tendon_velocity", "tendon_jacobian", "tendon_forces")
OF_FORCES = ("element_forces", "element_states")
OF_ACTUATORS = ("actuator_torques", "activations", "gravity_compensation", *OF_TENDONS, *OF_FORCES)
"""Quantities that depend on actuators and tendons."""


REFERENCES: Mapping[str, int] = MappingProxyType({"local": LOCAL, "aligned": ALIGNED, "world": WORLD_ORIGIN})
"""Axes of vectors at frames: the frame's own; the world's, at the frame's origin; spatial, at the world's origin."""


@differentiable
class ProgramEvaluator(BaseEvaluator):
    """Any algorithm for one robot, ready to call: ``evaluator(q, v, ...)``.

    Args:
        robot: The mechanism.
        quantity: Name of the quantity, for messages.
        algorithm: Kernel and the shapes of its arrays.
        plan: Makes the plan that the algorithm reads, from the robot and the frames.
        frames: Frames that the quantity is about, or that external wrenches act on.
        threads: Threads that share a large batch; by default as many as there are cores.
        parameters: Parameters of the robot that are inputs (`parameters` of a robot), further arguments of a call.
    """

    def __init__(
        self,
        robot: Model,
        quantity: str,
        algorithm: Algorithm,
        plan: Callable[[Model, Sequence[str]], Tree],
        frames: str | Sequence[str] = (),
        threads: int | None = None,
        parameters: ParameterNames = (),
    ) -> None:
        names = frame_names(frames)

        def program() -> Program:
            return Program.of_robot(robot, algorithm, plan(robot, names))

        arguments: dict[str, Any] = {"robot": robot, "quantity": quantity, "algorithm": algorithm, "plan": plan}
        super().__init__(robot, quantity, program, {**arguments, "frames": names}, names, threads, parameters)


@differentiable
class Evaluator(BaseEvaluator):
    """One quantity of one robot, ready to call with its inputs: ``evaluator(q, v, ...)``.

    It runs native code; `compile` and `plain` make evaluators that run the same program by another backend.

    Evaluators are pickled and copied by their arguments: a copy in another process, one of `multiprocessing` for
    instance, has its machine code from the cache there.

    Args:
        robot: The mechanism.
        quantity: The quantity.
        frames: Frames that the quantity is about, or that external wrenches act on.
        reference: Axes of vectors at frames: ``"local"``, the frame's own; ``"aligned"``, the world's at the frame's
            origin; ``"world"``, the world's at its own origin.
        threads: Threads that share a large batch; by default as many as there are cores.
        parameters: Parameters of the robot that are inputs, such as ``["mass"]``: see `ForwardDynamics`.
    """

    @converted
    def __init__(
        self,
        robot: Model,
        quantity: Quantity,
        frames: Sequence[str] = (),
        reference: Reference = "local",
        threads: int | None = None,
        parameters: ParameterNames = (),
    ) -> None:
        check_robot(robot)
        if quantity not in QUANTITIES:
            raise InputError(f"no quantity {shown(quantity)}{among(quantity, QUANTITIES)}")
        if not isinstance(reference, str) or reference not in REFERENCES:
            raise InputError(f"reference {reference!r} is none of {', '.join(REFERENCES)}")
        if quantity == "frame_acceleration" and reference == "world":
            raise InputError(
                "the acceleration of a point has no meaning at the world's origin: use 'local' or 'aligned'"
            )
        if quantity == "actuator_torques" and robot.actuators:
            check_actuators(robot)
        names = frame_names(frames)

        def program() -> Program:
            algorithm = QUANTITIES[quantity]
            passive = has_force_elements(robot) or any(tendon.is_passive for tendon in robot.tendons)
            if quantity == "inverse_dynamics" and passive:
                algorithm = rnea.TENDON_RNEA
            return Program.of_robot(robot, algorithm, _plan(robot, quantity, names, reference))

        arguments = {"robot": robot, "quantity": quantity, "frames": names, "reference": reference}
        super().__init__(robot, quantity, program, arguments, names, threads, parameters)

    @property
    def differentiated(self) -> Differentiated:
        """Inputs and results of the quantity's derivatives: configurations, also as results, in their tangent
        spaces.
        """
        known = super().differentiated
        results = tuple(name for name in ("q1",) if name in known.results)
        return replace(known, curved=tuple(x for x in ("q", "p") if x in known.given), curved_results=results)


def _plan(robot: Model, quantity: Quantity, frames: Sequence[str], reference: Reference) -> Tree:
    """The plan that the algorithm of a quantity reads."""
    if quantity in OF_ACTUATORS:
        return actuation_tree(robot)
    if quantity == "inverse_mass_matrix":
        return path_tree(robot, frames)
    if quantity in OF_ROWS:
        return OF_ROWS[quantity](robot)
    plan = constrained_tree if quantity in OF_CONSTRAINTS else tree_of
    return plan(robot, frames, REFERENCES[reference])


@converted
def operation_count(evaluator: BaseEvaluator) -> OperationCount:
    """Exact count of + - * / sqrt sincos of one evaluation: a benchmark without noise.

    Args:
        evaluator: The evaluator.
    """
    return evaluator.operation_count()


def check_actuators(robot: Model) -> None:
    """Raise unless the robot has actuators and the forces of all of them are known."""
    if not robot.actuators:
        raise InputError(f"robot '{robot.name}' has no actuators and takes no commands: give torques")
    for actuator in robot.actuators:
        if actuator.refused:
            raise UnsupportedFeature(
                f"actuator '{actuator.name}' of '{robot.name}' is {actuator.refused}, whose force is not modeled: "
                "give torques of the joints instead of commands",
                subject=actuator.name,
            )
