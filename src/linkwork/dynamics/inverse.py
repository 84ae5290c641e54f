# SPDX-License-Identifier: BSD-3-Clause
"""The entry point to inverse dynamics: the torques that make a robot, open or closed, accelerate as given.

In a tree there is one answer. In a mechanism with loops ``M a + c = tau + p + J' lambda``, ``p`` the torques of springs
and dampers, leaves a choice: which joints push, and which forces their constraints then carry. With ``G`` the explicit
form of the constraints, torques that do the same satisfy ``G' tau = G' (M a + c - p)``.

A robot that stands or walks has degrees of freedom without a motor, which contacts push instead: of all contact forces
within the cones of friction that do, the smallest (`contact_forces`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.closure.clusters import clustered, dof_names, not_a_transmission, ties_of
from linkwork.closure.minimal import evaluated, verify_pivots
from linkwork.closure.thresholds import CLOSED_FOR_TORQUES, LEAST_PIVOT
from linkwork.compilers.program import Program
from linkwork.conversions import converted
from linkwork.dynamics.contact_forces import (
    PIVOT,
    BearingContacts,
    BearingOptions,
    bearing_robot,
    bearing_settings,
    bearing_tree,
    missing,
    with_torque_limits,
)
from linkwork.dynamics.inverse_solution import InverseSolution, driven_dofs
from linkwork.dynamics.jacobians.loop_inverse import inverse_derivatives
from linkwork.dynamics.jacobians.trees import JacobiansOf, regressor
from linkwork.dynamics.thresholds import (
    MOTOR_RANK,
    NOT_ALLOWED,
    NOT_ALLOWED_SINGLE,
    SINGLE_MOTOR_RANK,
    UNREACHABLE,
    UNREACHABLE_SINGLE,
)
from linkwork.dynamics.unmodeled_contacts import warn_unmodeled
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import Auto, InverseMethod, not_negative
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.clusters import actuated, approximate
from linkwork.kernels.clusters import rnea as cluster_rnea
from linkwork.kernels.clusters.actuated import ERROR, REQUIRED, UNMET
from linkwork.kernels.contact.forces import CONTACT_FORCES
from linkwork.kernels.tree import rnea
from linkwork.model.checks import check_robot
from linkwork.model.model import Model
from linkwork.plans.actuated import actuated_tree
from linkwork.plans.contact_forces import SETTINGS as BALANCE_SETTINGS
from linkwork.plans.tree import Tree, tree_of, without_passive_elements
from linkwork.quantities.actuation import torque_limits
from linkwork.quantities.arguments import Array, frame_names
from linkwork.quantities.base import NOTHING, BaseEvaluator
from linkwork.quantities.differentiable import Differentiated
from linkwork.quantities.motions import without_motions
from linkwork.quantities.parameters import ParameterNames
from linkwork.quantities.product_attributes import differentiable
from linkwork.quantities.scales import joint_units, scales_of

METHODS: Mapping[str, str] = {
    "rnea": "every joint of the tree; knows no constraints",
    "cluster": "the independent joints alone push (C-RNEA)",
    "actuated": "the actuated joints alone push, with the smallest torques",
    "least": "all joints push, with the smallest torques",
    "approximate": "the independent joints push, dependent bodies being left out but for the inertia they reflect",
}
"""Methods of inverse dynamics, and the joints that exert torques."""

ALGORITHMS: Mapping[str, Algorithm] = {
    "rnea": rnea.RNEA,
    "cluster": cluster_rnea.CLUSTER_RNEA,
    "actuated": actuated.ACTUATED_RNEA,
    "least": actuated.ACTUATED_RNEA,
    "approximate": approximate.APPROXIMATE_RNEA,
}


@differentiable
class InverseDynamics(BaseEvaluator):
    """Torques that make a robot accelerate as given: ``tau = id(q, v, a)``, the inverse of `ForwardDynamics`.

    By default the robot's constraints are honored: ``ForwardDynamics(robot)(q, v, tau + p).acceleration`` is ``a``,
    with ``p`` the `passive_forces` and `tendon_forces` of springs and dampers, and accelerations that constraints do
    not allow are an error. With loops, many torques do the same; by default the independent joints push.

    A ``method`` that is named takes of ``a`` the accelerations of the independent joints, and the others follow; `rnea`
    knows no constraints: its torques are those of the tree. `solve` gives the forces of constraints as well (none by
    `approximate`, which is not exact).

    Constraints that follow time (`Drive`) are left out, and the joints that they drive are actuated: the torque of a
    driven motion is that of its drive.

    With ``contacts``, motors push, and so does what the robot touches: of all contact forces within the cones of
    friction that make the accelerations, those with the least sum of squares, so that feet share the load evenly, and
    torques that go with them. Accelerations that need other forces are an error; `solve` reports what is missing
    instead (`InverseSolution.unmet`).

    Where loops are slightly open, rows that are redundant on closed loops become independent. Here, as in `cluster` of
    `ForwardDynamics`, they still count as redundant; other forward methods satisfy them as well.

    Args:
        robot: The mechanism.
        method: Joints that exert torques, see `METHODS`. ``"auto"``: of a robot with enabled constraints the
            independent joints, as by `cluster`, with an error for accelerations that the constraints do not allow; of
            another, `rnea`.
        passive: Springs and dampers of joints and tendons do their part (`passive_forces`, `tendon_forces`), as in
            `simulate`: torques are what is left for motors. Without, they are ``M a + c`` alone. Gravity compensation
            of MJCF files is not among them: take `gravity_compensation` off as well.
        wrenches: Names of the frames that external wrenches act on, as for `ForwardDynamics`.
        contacts: Contacts that bear load: all pairs of the robot (True), or those of some names. The method is
            `actuated` then.
        max_gap: Contact points that are open by more carry no load, in m; by default a thousandth of the robot's size.
        limits: Whether torques stay within `torque_limits`, with contact forces chosen to suit.
        parameters: Parameters of the robot that are inputs, further arguments of a call: see `ForwardDynamics`.
        threads: Number of threads for large batches.
    """

    derivatives = JacobiansOf(inverse_derivatives)
    """Jacobians by ``q, v, a``: ``id.derivatives(q, v, a)``, an evaluator on the same backend."""
    regressor = JacobiansOf(regressor)
    """Torques as a linear function of inertial parameters: ``id.regressor(q, v, a)``, an evaluator as well."""

    @converted
    def __init__(
        self,
        robot: Model,
        method: InverseMethod | Auto = "auto",
        *,
        passive: bool = True,
        wrenches: Sequence[str] = (),
        contacts: bool | str | Sequence[str] = False,
        max_gap: float | None = None,
        limits: bool = False,
        parameters: ParameterNames = (),
        threads: int | None = None,
    ) -> None:
        check_robot(robot)
        robot = without_motions(robot)
        if method != "auto" and method not in METHODS:
            raise InputError(f"no method {method!r}; there are auto, {', '.join(METHODS)}")
        bound = any(c.enabled for c in robot.constraints)
        bearing = bearing_robot(robot, contacts)
        self.method: InverseMethod = ("cluster" if bound else "rnea") if method == "auto" else method
        self.bearing: BearingOptions | None = None
        """Contacts that bear load; None where there are none."""
        if bearing.contacts:
            warn_unmodeled(bearing, False, "forces of contacts in inverse dynamics")
            if method not in ("auto", "actuated"):
                raise InputError(f"inverse dynamics with contacts has the method 'actuated', not {method!r}")
            self.method = "actuated"
            gap = None if max_gap is None else float(not_negative(max_gap, "max_gap"))
            self.bearing = BearingOptions(bearing, gap, bool(limits))
        elif limits or max_gap is not None:
            raise InputError("limits and max_gap are for contacts that bear load: pass contacts=True")
        self.passive = bool(passive)
        if self.method == "actuated" and self.bearing is None and not len(driven_dofs(robot)):
            raise UnsupportedFeature(
                f"robot '{robot.name}' has no actuated joint: mark joints by actuated=True of Builder.joint, add "
                "motors by robot.with_actuators(joints), or use method 'least'"
            )
        if self.method == "approximate" and (reason := not_a_transmission(robot)) is not None:
            raise UnsupportedFeature(f"approximate cannot serve '{robot.name}': {reason}")
        frames = frame_names(wrenches)
        arguments = {
            "robot": robot,
            "method": method,
            "passive": self.passive,
            "wrenches": frames,
            "contacts": [pair.name for pair in bearing.contacts] or False,
            "max_gap": max_gap,
            "limits": bool(limits),
        }
        super().__init__(robot, "inverse_dynamics", self._program, arguments, frames, threads, parameters)
        for name in self.parameters:
            if name in ("damping", "stiffness", "rest") and not self.passive:
                raise InputError(f"{name} is a parameter, and passive=False leaves springs and dampers out")
        if self.parameters and self.method == "approximate":
            raise UnsupportedFeature("approximate has no parameters as inputs: 'cluster' has")

    @property
    def _exact(self) -> bool:
        """Whether accelerations that constraints do not allow are an error."""
        return self.recipe()["method"] == "auto" and any(c.enabled for c in self.robot.constraints)

    @property
    def _spreads(self) -> bool:
        """Whether several joints share the load."""
        return self.method in ("actuated", "least")

    @property
    def _unreachable(self) -> float:
        return UNREACHABLE if self.dtype == np.float64 else UNREACHABLE_SINGLE

    def _program(self) -> Program:
        algorithm = ALGORITHMS[self.method] if self.bearing is None else CONTACT_FORCES
        tree = self._plan() if self.passive else without_passive_elements(self._plan())
        if self.method == "rnea" and tree.nforce_elements:
            algorithm = rnea.TENDON_RNEA
        return Program.of_robot(self.robot, algorithm, tree)

    def _plan(self) -> Tree:
        robot, frames = self.robot, self.frames
        if self.bearing is not None:
            return bearing_tree(self.bearing.robot, frames, driven_dofs(robot).tolist(), self.bearing.limits)
        match self.method:
            case "rnea":
                return tree_of(robot, frames)
            case "actuated":
                return actuated_tree(robot, frames, ties_of(robot), set(driven_dofs(robot).tolist()))
            case "least":
                return actuated_tree(robot, frames, ties_of(robot), set(range(robot.nv)))
        return clustered(robot, frames)

    def held_inputs(self, dtype: np.dtype[Any]) -> dict[str, Array]:
        """Inputs that calls may leave out: wrenches, parameters; contact points and settings where contacts bear load.

        Args:
            dtype: Type of the numbers.
        """
        held = super().held_inputs(dtype)
        if self.bearing is not None:
            robot, tree = self.robot, self.program.tree
            rest = robot.neutral(), np.zeros(robot.nv)
            limits = torque_limits(robot, *rest) if self.bearing.limits else None
            settings = bearing_settings(robot, self.bearing.max_gap, dtype.name)
            held["given"] = np.zeros((tree.ngiven, 7), dtype)
            held["settings"] = with_torque_limits(settings, tree, limits)
        elif self._spreads:
            held["tolerance"] = np.array([MOTOR_RANK if dtype == np.float64 else SINGLE_MOTOR_RANK], dtype)
        return held

    @property
    def given_names(self) -> tuple[str, ...]:
        """Names of inputs that callers give, in their order."""
        return ("q", "v", "a", "wrenches", *(("given",) if self.bearing is not None else ()))

    def input_arrays(
        self,
        given: Sequence[Any],
        named: Mapping[str, Any] = NOTHING,
        parameters: Mapping[str, Any] = NOTHING,
        *,
        once: bool = False,
    ) -> list[Any]:
        """All inputs of the program; see `BaseEvaluator.input_arrays`.

        Torque limits are constant here, and contact points of meshes given.

        Args:
            given: Inputs in their order.
            named: Further inputs, by name.
            parameters: Parameters of the robot that are inputs, by name.
            once: Whether parameters are given once for many calls.
        """
        if self.bearing is not None:
            if self.bearing.limits_vary and "settings" not in named:
                raise UnsupportedFeature(
                    f"torque limits of '{self.robot.name}' change with the state, as those of servos and of spatial "
                    "tendons do: call the evaluator, or solve(...); bound calls and products have constant limits"
                )
            count = len(self.execution.held["given"])
            if count and (len(given) < 5 or given[4] is None) and named.get("given") is None:
                raise InputError(
                    f"{count} contact points of '{self.robot.name}' have no kernel code: pass them, "
                    "given=ContactGeometry(robot).given(q)"
                )
        return super().input_arrays(given, named, parameters, once=once)

    def _evaluated(
        self, state: Sequence[Any], wrenches: Any, given: Any, out: Any, parameters: Mapping[str, Any]
    ) -> list[Any]:
        """All outputs but the last, of a method that honors constraints."""
        named = {}
        if self.bearing is None and given is not None:
            raise InputError("contact points are for contacts that bear load: say contacts=True")
        if self.bearing is not None:
            named["given"] = given
            if self.bearing.limits_vary:
                limits, settings = torque_limits(self.robot, *state[:2]), self.execution.held["settings"]
                named["settings"] = with_torque_limits(settings[:BALANCE_SETTINGS], self.program.tree, limits)
        elif wrenches is None and not parameters:  # the fast path for one state
            return evaluated(self, state, out, self._verify)
        return evaluated(self, self.input_arrays((*state, wrenches), named, parameters), out, self._verify)

    def __call__(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        a: npt.ArrayLike,
        wrenches: npt.ArrayLike | None = None,
        *,
        given: npt.ArrayLike | None = None,
        out: Array | None = None,
        **parameters: npt.ArrayLike,
    ) -> Array:
        """Torques of all joints, ``(..., nv)``. Leading axes are batch axes and broadcast.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            a: Accelerations to make, ``(..., nv)``.
            wrenches: External wrenches on the frames that were named, ``(..., frames, 6)``; by default none.
            given: Contact points of pairs of meshes, ``(..., ngiven, 7)``: ``ContactGeometry(robot).given(q)``.
            out: Array to write the result to; by default a new one.
            parameters: Parameters of the robot that are inputs, by name, ``(..., rows)``; by default the robot's own.
        """
        if self.method == "rnea":
            if out is None and wrenches is None and not parameters:
                tau: Array | None = self.execution.results(q, v, a)
                if tau is not None:
                    return tau
            torques: Array = self.evaluate(q, v, a, wrenches, out=out, **parameters)
            return torques
        results = self._evaluated((q, v, a), wrenches, given, out, parameters)
        if self._exact and self.sees_results:
            self._check_allowed(a, results[1])
        if self.bearing is not None and self.sees_results:
            self._check_met(results)
        torque: Array = results[0]
        return torque

    def solve(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        a: npt.ArrayLike,
        wrenches: npt.ArrayLike | None = None,
        *,
        given: npt.ArrayLike | None = None,
        **parameters: npt.ArrayLike,
    ) -> InverseSolution:
        """Torques, the accelerations they make, and the forces of constraints.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            a: Accelerations to make, ``(..., nv)``.
            wrenches: External wrenches on the frames that were named, ``(..., frames, 6)``; by default none.
            given: Contact points of pairs of meshes, ``(..., ngiven, 7)``: ``ContactGeometry(robot).given(q)``.
            parameters: Parameters of the robot that are inputs, by name, ``(..., rows)``; by default the robot's own.
        """
        if self.method == "rnea":
            raise UnsupportedFeature("rnea ignores constraints: choose method 'cluster', 'actuated' or 'least'")
        results = self._evaluated((q, v, a), wrenches, given, None, parameters)
        tau, full, multipliers = results[:3]
        if self._exact:
            self._check_allowed(a, full)
        bearing = None if self.bearing is None else self._contacts_of(results)
        return InverseSolution(tau, full, multipliers, self.robot, state=(q, v), contacts=bearing)

    @property
    def differentiated(self) -> Differentiated:
        """Inputs and results of derivatives of inverse dynamics: the torques."""
        known = super().differentiated
        return replace(known, results={"tau": known.results["tau"]})

    # Checks of results ---------------------------------------------------------------------------

    def _verification(self, alone: bool) -> Callable[[Sequence[Array]], None] | None:
        if self.method == "rnea":
            return None
        exact, pivot_alone = self._exact, self.bearing is None and not self._spreads and not self._exact

        def verify(arrays: Sequence[Array]) -> None:
            if pivot_alone and arrays[-1].ndim == 1 and arrays[-1].item(0) > LEAST_PIVOT:
                return
            outputs = arrays[len(self.runner.inputs) :]
            self._verify(outputs[-1])
            if exact:
                self._check_allowed(arrays[2], outputs[1])
            if self.bearing is not None and alone:  # the caller does not see `unmet`
                self._check_met(outputs[:-1])

        return verify

    @cached_property
    def _acceleration_units(self) -> tuple[Array, float]:
        """Units of joint accelerations, and that of a body in free fall, without unit."""
        length = scales_of(self.robot).length
        return joint_units(self.robot), float(np.linalg.norm(self.robot.gravity)) / length or 1.0

    def _check_allowed(self, a: npt.ArrayLike, full: Array) -> None:
        """Raise an error where constraints do not allow the accelerations: joints that follow would have others."""
        units, falling = self._acceleration_units
        tolerance = NOT_ALLOWED if self.dtype == np.float64 else NOT_ALLOWED_SINGLE
        miss = np.abs(full - a) / units
        if miss.max(initial=0.0) <= tolerance * falling:
            return
        largest = np.max(np.maximum(np.abs(a), np.abs(full)) / units, axis=-1, initial=falling, keepdims=True)
        if (wrong := miss > tolerance * largest).any():
            at = tuple(int(k) for k in np.unravel_index(np.argmax(np.where(wrong, miss, 0.0)), miss.shape))
            where, value = f" in state {at[:-1]}" if len(at) > 1 else "", np.broadcast_to(a, miss.shape)[at]
            raise InputError(
                f"the constraints of '{self.robot.name}' do not allow the acceleration a{where}: "
                f"{dof_names(self.robot)[at[-1]]} has {value:.6g}, and follows the independent joints with "
                f"{full[at]:.6g}. Complete a with Minimal(robot).acceleration(q, v, ...), or name a method: 'cluster', "
                "'actuated' and 'least' read only entries of independent joints"
            )

    def _contacts_of(self, results: Sequence[Array]) -> BearingContacts:
        """The contact forces, from all outputs but the last."""
        *_, force, gap, unmet, balance = results
        assert self.bearing is not None
        return BearingContacts(self.bearing.robot, force, gap, unmet, balance, self._unreachable)

    def _check_met(self, results: Sequence[Array]) -> None:
        """Raise an error where motors and contacts cannot make the accelerations."""
        balance = results[-1]
        if balance.ndim == 1 and balance[0] <= self._unreachable * balance[1]:  # the fast path for one state
            return
        contacts = self._contacts_of(results)
        if not np.all(contacts.feasible):
            raise UnsupportedFeature(
                f"motors and contacts of '{self.robot.name}' cannot make these accelerations: "
                f"{missing(self.robot, contacts, self.execution.held['settings'])}. This is the least residual "
                "with forces within the friction cones (solve(...).unmet): change the motion, or raise max_gap"
            )

    def _verify(self, last: Array) -> None:
        """An error where independent joints do not determine the others, or acting joints cannot produce ``a``."""
        if self.bearing is not None:
            verify_pivots(self, last[..., PIVOT:])
            return
        verify_pivots(self, last)
        if not self._spreads or not self.sees_results:
            return
        allowed = self._unreachable
        if last.ndim == 1 and last[UNMET] <= allowed * last[REQUIRED]:  # the fast path for one state
            return
        worst = last[..., UNMET]
        bad = worst > allowed * last[..., REQUIRED]
        if bad.any():
            gap = float(last[..., ERROR][bad].max())
            hint = f", and its loops are open by {gap:.3g}: close them first, with assemble"
            raise UnsupportedFeature(
                f"the actuated joints of '{self.robot.name}' cannot make these accelerations: "
                f"{worst[bad].max():.3g} N m are missing; the robot has unactuated degrees of freedom"
                + (hint if gap > CLOSED_FOR_TORQUES else "")
            )
