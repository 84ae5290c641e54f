# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of a step with contacts: the implicit function theorem at its solution.

The kernel is `kernels.derivatives.contact_sensitivity`. A step is an implicit function of the state. At its solution,
equations that hold before and after a change of the state are linear in what changes: a forward or reverse sweep over
the equations (straight-line code), and one system with the factor of Newton's matrix (native code) in between. What
contacts do, stick, slide or part, is what they do at the solution; where two of these meet, derivatives are those of a
smoothed problem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from linkwork.compilers.backends import runner_for
from linkwork.compilers.program import Backend, Program
from linkwork.compilers.run import Runner
from linkwork.compilers.trace.tracing import Trace
from linkwork.contact.field_cells import FieldCells
from linkwork.contact.friction_rates import FRICTION, FrictionRates
from linkwork.contact.thresholds import SMOOTHED_TOLERANCE
from linkwork.dynamics.jacobians.steps import StepDerivatives, state_columns
from linkwork.errors import InputError, ProgramTooLarge
from linkwork.inputs import BackendName, above_zero
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.derivatives.contact_step_equations import EQUATIONS
from linkwork.plans.contact_lcaba import HEAD
from linkwork.quantities.arguments import Array
from linkwork.quantities.base import NOTHING, BaseEvaluator
from linkwork.quantities.differentiable import Differentiated
from linkwork.quantities.jacobian_columns import one_more_axis, unit_directions
from linkwork.quantities.parameters import ParameterInputs
from linkwork.quantities.products import Kind, Product

if TYPE_CHECKING:
    from linkwork.model.model import Model

Which = Literal["state", "equations", "all"]

GIVEN = ("q", "v", "tau")
STATE = ("q1", "v1")
SMOOTHED_ITERATIONS = 50
"""The most Newton steps of a smoothed problem."""


class ContactFunction(Protocol):
    """A step with contacts as derivatives see it: `ContactStep`, or a `Stepper` with contacts."""

    @property
    def robot(self) -> Model:
        """The mechanism."""

    @property
    def frames(self) -> tuple[str, ...]:
        """Frames that external wrenches act on."""

    @property
    def backend(self) -> BackendName:
        """How the step is run: derivatives are run plainly where it is."""

    @property
    def planned(self) -> Program:
        """The step, without parameters of the robot among its inputs."""

    @property
    def equations(self) -> Algorithm:
        """The equations of a step at its solution."""

    @property
    def sensitivity(self) -> Algorithm:
        """Linear systems at the solution of a step."""

    @property
    def smoothed(self) -> Algorithm:
        """Steps of a smoothed problem."""

    @property
    def dt(self) -> float:
        """Time of a step."""

    @property
    def parameter_inputs(self) -> ParameterInputs:
        """Parameters of the robot that are inputs."""

    @property
    def acting(self) -> tuple[str, ...]:
        """What acts besides torques: commands and wrenches, where there are any."""

    def equation_inputs(self, state: Sequence[Any], optional: Mapping[str, Any], dtype: Any) -> list[Any]:
        """All inputs of `equations` but parameters; ``optional`` may have ``result``, ``cells`` and ``given``."""

    def problem_inputs(self, q: Any, v: Any, optional: Mapping[str, Any], dtype: Any) -> list[Any]:
        """Inputs of the system: q, v, tau, wrenches, given, start, settings."""

    def applied_torques(self, state: Sequence[Any], optional: Mapping[str, Any], parameters: Sequence[Any]) -> Any:
        """Torques given, and those of stops and actuators."""

    def solve(self, state: Sequence[Any], optional: Mapping[str, Any]) -> Any:
        """What a call returns: commands, wrenches and parameters are by name."""

    def solved(self, solution: Any) -> tuple[Array, Array, Array]:
        """Of what a call returned, the state after the step, and the result."""


class ContactEquations(BaseEvaluator):
    """The equations of a step as a function of arrays: what sweeps are made of.

    Args:
        step: The step.
        which: Results to differentiate: the state after the step, the equations, or both.
        cells: Slots whose cells of height fields are given; without them, programs have all cells.
    """

    def __init__(self, step: Any, which: Which, cells: int = 0) -> None:
        self.step, self.which = step, which
        super().__init__(
            step.robot,
            f"{which} of a contact step",
            lambda: replace(step.planned, algorithm=step.equations, tree=step.planned.tree._replace(ncells=cells)),
            {"step": step, "which": which, "cells": cells},
            step.frames,
            parameters=step.parameter_inputs,
            backend=Backend("plain") if step.backend == "plain" else None,
        )

    @property
    def differentiated(self) -> Differentiated:
        """The state, what acts, and the result that equations are taken at; `cells` are data."""
        of = {"state": STATE, "equations": tuple(EQUATIONS), "all": (*STATE, *EQUATIONS)}[self.which]
        optional = (*self.step.acting, *self.parameters, "result", "cells")
        results = {name: (name, slice(None)) for name in of}
        return Differentiated(GIVEN, optional, results, ("q",), ("q1",))

    def product_trace(self, kind: Kind, by: Sequence[str], limit: int) -> Trace:
        """The straight-line program of a product; an error says what makes it shorter.

        Args:
            kind: ``"jvp"`` or ``"vjp"``.
            by: Names of the inputs to differentiate by.
            limit: The most operations; `ProgramTooLarge` where there are more.
        """
        try:
            return super().product_trace(kind, by, limit)
        except ProgramTooLarge:
            tree = self.program.tree
            advice = "leave out pairs that never touch, robot.without_contacts(...)"
            if tree.nheights and not tree.ncells:
                advice = f"{tree.nheights} heights of ground are part of it; jvp and vjp of the step itself need few"
            raise ProgramTooLarge(
                f"derivatives of steps of '{self.robot.name}', with {tree.nslots} contact points of {tree.ncontacts} "
                f"pairs, would be a program of more than {limit} operations: {advice}"
            ) from None

    def input_arrays(
        self,
        given: Sequence[Any],
        named: Mapping[str, Any] = NOTHING,
        parameters: Mapping[str, Any] = NOTHING,
        *,
        once: bool = False,
    ) -> list[Any]:
        """All inputs of the program; the step holds the others.

        Args:
            given: q, v and tau.
            named: What acts, parameters, the result and cells, by name.
            parameters: Parameters of the robot that are inputs, by name.
            once: Whether parameters are given once for many calls.
        """
        inputs: list[Any] = self.step.equation_inputs(given, named, self.dtype)
        return self.parameter_inputs.among(self.program, inputs, self.given_parameters({**named, **parameters}))

    def given_parameters(self, optional: Mapping[str, Any]) -> tuple[Any, ...]:
        """All parameters that are inputs, in order.

        Args:
            optional: What was given by name.
        """
        known = self.parameter_inputs
        values = {name: x for name, x in optional.items() if name in known.names}
        return known.given(known.held(self.dtype), values)


class Point(NamedTuple):
    """Where derivatives of a step are taken."""

    inputs: list[Any]
    """Inputs of linear systems, but parameters: q, v, tau, wrenches, given, start, settings."""
    parameters: tuple[Any, ...]
    """Parameters of the robot that are inputs, in order."""
    result: Array
    """The result of the step, or that of the smoothed problem."""
    cells: Array
    """Cells of height fields that contacts depend on (`field_cells`)."""
    theta: float
    """The smoothing, an acceleration."""

    def wider(self, shapes: Sequence[tuple[int, ...]]) -> Point:
        """The same with one batch axis more, for directions.

        Args:
            shapes: Of parameters.
        """
        inputs = [one_more_axis(x, inner) for x, inner in zip(self.inputs, (1, 1, 1, 2, 2, 1, 1), strict=True)]
        parameters = tuple(one_more_axis(x, len(shape)) for x, shape in zip(self.parameters, shapes, strict=True))
        return Point(inputs, parameters, one_more_axis(self.result), one_more_axis(self.cells, 3), self.theta)


class ContactDerivatives:
    """What products and Jacobians of a step with contacts are made of.

    Args:
        step: The step.
    """

    def __init__(self, step: ContactFunction) -> None:
        self.step = step
        self.dtype = np.dtype(np.float64)
        self.inputs = (*GIVEN, *step.acting, *step.parameter_inputs.names)
        """Names of the inputs to differentiate by."""

    @cached_property
    def _cells(self) -> FieldCells:
        layout = self.step.equations.layout
        return FieldCells(self.step.planned.tree, lambda algorithm: self._runner(replace(algorithm, layout=layout)))

    def _equations_of(self, which: Which) -> ContactEquations:
        return ContactEquations(self.step, which, self._cells.count)

    @cached_property
    def _equations(self) -> ContactEquations:
        return self._equations_of("equations")

    @cached_property
    def _friction(self) -> FrictionRates | None:
        """How parameters of friction act, where they are inputs."""
        names = tuple(name for name in FRICTION if name in self.step.parameter_inputs.names)
        return FrictionRates(self._equations.program.tree, self.step.dt, names) if names else None

    @property
    def _by(self) -> tuple[str, ...]:
        """What equations are differentiated by: friction acts through forces."""
        return (*self.inputs, *(("result",) if self._friction is not None else ()))

    @cached_property
    def _rates(self) -> Product:
        return Product(self._equations, "jvp", self._by)

    @cached_property
    def _state_rates(self) -> Product:
        return Product(self._equations_of("state"), "jvp", ("q", "v", "result"))

    @cached_property
    def _state_seeds(self) -> Product:
        return Product(self._equations_of("state"), "vjp", ("result",))

    @cached_property
    def _gradients(self) -> Product:
        return Product(self._equations_of("all"), "vjp", self._by)

    def _runner(self, algorithm: Any) -> Runner:
        program = replace(self.step.planned, algorithm=algorithm, derivation=None)
        backend = Backend("plain" if self.step.backend == "plain" else "native")
        return runner_for(self.step.parameter_inputs.program(program), backend)

    @cached_property
    def _sensitivity(self) -> Runner:
        return self._runner(self.step.sensitivity)

    @cached_property
    def _smoothed(self) -> Runner:
        return self._runner(self.step.smoothed)

    # Where derivatives are taken -----------------------------------------------------------------------------------

    def at(self, state: Sequence[Any], optional: Mapping[str, Any], result: Array, smoothing: float | None) -> Point:
        """Where derivatives are taken.

        Args:
            state: q, v and tau.
            optional: Commands, wrenches and parameters, by name.
            result: The result of the step.
            smoothing: Of the smoothed problem, in m/s; None: the step itself.
        """
        inputs = self.step.problem_inputs(state[0], state[1], optional, self.dtype)
        parameters = self._equations.given_parameters(optional)
        cells = self._cells(state[0], parameters)
        settings = inputs[-1]
        dt, tolerance = float(settings[2]), float(settings[0])
        if smoothing is None:
            return Point(inputs, parameters, result, cells, tolerance / dt)
        theta = above_zero(smoothing, "smoothing") / dt
        most = np.array([SMOOTHED_TOLERANCE * theta, SMOOTHED_ITERATIONS])
        applied = list(inputs)
        applied[2] = self.step.applied_torques(state, optional, parameters)
        found = self._smoothed.evaluate([*applied, result, np.array([theta]), most, *parameters], [None] * 4)
        return Point(inputs, parameters, found[2], cells, theta)

    # Products ------------------------------------------------------------------------------------------------------

    def forward(
        self, state: Sequence[Any], directions: Mapping[str, Any], optional: Mapping[str, Any], at: Point
    ) -> tuple[Array, Array]:
        """Rates of the state after the step along directions of the inputs.

        Args:
            state: q, v and tau.
            directions: By names of inputs; none is zero.
            optional: Commands, wrenches and parameters, by name.
            at: What `at` returned.
        """
        given = [directions[name] for name in GIVEN]
        named = {f"d{name}": x for name, x in directions.items() if name not in GIVEN}
        shift: Any = 0.0
        if self._friction is not None:
            named["dresult"], shift = self._friction.forward(at.result, directions, self._values(at))
        held = {"result": at.result, "cells": at.cells, **optional}
        rates = self._rates(*state, *given, **held, **named)
        how = np.array([at.theta, 0.0])
        sides = [-rates[0], rates[1] + shift, *rates[2:]]
        changes = self._sensitivity.evaluate([*at.inputs, at.result, how, *sides, *at.parameters], [None] * 4)
        dresult = np.zeros((*changes[0].shape[:-1], at.result.shape[-1]))
        dresult[..., HEAD : HEAD + self.step.robot.nv] = changes[0]
        dq1, dv1 = self._state_rates(*state, *given[:2], dresult=dresult, **held)
        return dq1, dv1

    def reverse(
        self, state: Sequence[Any], seeds: Sequence[Any], optional: Mapping[str, Any], at: Point
    ) -> tuple[Array, ...]:
        """Derivatives of ``y_q1 q1 + y_v1 v1`` by the inputs.

        Args:
            state: q, v and tau.
            seeds: ``y_q1`` and ``y_v1``.
            optional: Commands, wrenches and parameters, by name.
            at: What `at` returned.
        """
        held = {"result": at.result, "cells": at.cells, **optional}
        (of_result,) = self._state_seeds(*state, *seeds, **held)
        seed = np.ascontiguousarray(of_result[..., HEAD : HEAD + self.step.robot.nv])
        zeros = [np.zeros(shape) for shape in self._equations.program.output_shapes()[-3:]]
        how = np.array([at.theta, 1.0])
        inputs = [*at.inputs, at.result, how, seed, *zeros, *at.parameters]
        balance, y, rows, box_y = self._sensitivity.evaluate(inputs, [None] * 4)
        parts = self._gradients(*state, *seeds, -balance, y, -rows, box_y, **held)
        found = dict(zip(self._by, parts, strict=True))
        if self._friction is not None:
            for name, x in self._friction.reverse(at.result, found["result"], y, self._values(at)).items():
                found[name] = found[name] + x
        return tuple(found[name] for name in self.inputs)

    def jacobian(
        self, state: Sequence[Any], optional: Mapping[str, Any], at: Point, after: tuple[Array, Array]
    ) -> StepDerivatives:
        """All derivatives, as a batch of products with unit directions.

        Args:
            state: q, v and tau.
            optional: Commands, wrenches and parameters, by name.
            at: What `at` returned.
            after: The state after the step.
        """
        nv = self.step.robot.nv
        sizes = {"q": nv, "v": nv, "tau": nv}
        if optional.get("commands") is not None:
            sizes["commands"] = np.shape(optional["commands"])[-1]
        shapes = self.step.parameter_inputs.shapes
        ranks = {"commands": 1, "wrenches": 2} | {name: len(shape) for name, shape in shapes.items()}
        wider = {name: one_more_axis(x, ranks[name]) for name, x in optional.items()}
        units = unit_directions(sizes)
        lead = np.broadcast_shapes(*(np.shape(x)[:-1] for x in state))
        full = [np.broadcast_to(one_more_axis(x), (*lead, sum(sizes.values()), np.shape(x)[-1])) for x in state]
        rates = self.forward(full, units, wider, at.wider(list(shapes.values())))
        return StepDerivatives(*after, **state_columns(rates, sizes))

    def _values(self, at: Point) -> dict[str, Any]:
        """Parameters by name."""
        return dict(zip(self.step.parameter_inputs.names, at.parameters, strict=True))


def checked_state(q: npt.ArrayLike, v: npt.ArrayLike, tau: npt.ArrayLike | None, nv: int) -> list[Any]:
    """q, v and tau, zero if it is None.

    Args:
        q: Configuration.
        v: Joint velocities.
        tau: Joint torques.
        nv: How many there are.
    """
    if np.shape(v)[-1:] != (nv,):
        raise InputError(f"v has shape {np.shape(v)}, needs (..., {nv})")
    return [np.asarray(q, float), np.asarray(v, float), np.zeros(nv) if tau is None else np.asarray(tau, float)]
