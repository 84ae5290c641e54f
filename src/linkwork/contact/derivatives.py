# SPDX-License-Identifier: BSD-3-Clause
"""Products and Jacobians of a step with contacts with NumPy arrays: the pipelines of `implicit`, at a solution.

Where sticking, sliding and separating contacts meet, derivatives may be those of a smoothed problem instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from linkwork.compilers.backends import runner_for
from linkwork.compilers.pipeline_runner import PipelineRunner
from linkwork.compilers.program import Backend, Program
from linkwork.compilers.run import Runner
from linkwork.contact import implicit
from linkwork.contact.field_cells import FieldCells
from linkwork.contact.implicit import StepPrograms
from linkwork.contact.step_equations import GIVEN, STATE, ContactFunction
from linkwork.contact.thresholds import SMOOTHED_TOLERANCE
from linkwork.dynamics.jacobians.steps import StepDerivatives, state_columns
from linkwork.errors import InputError
from linkwork.inputs import above_zero
from linkwork.quantities.arguments import Array
from linkwork.quantities.jacobian_columns import one_more_axis, unit_directions
from linkwork.quantities.products import Kind

SMOOTHED_ITERATIONS = 50
"""The most Newton steps of a smoothed problem."""


class Point(NamedTuple):
    """Where derivatives of a step are taken."""

    inputs: dict[str, Any]
    """Inputs of pipelines by name, but ``how``, tangents and cotangents."""
    theta: float
    """The smoothing, an acceleration."""

    @property
    def result(self) -> Array:
        """The result of the step, or that of the smoothed problem."""
        result: Array = self.inputs["result"]
        return result


class ContactDerivatives:
    """Products and Jacobians of a step with contacts.

    Args:
        step: The step.
    """

    def __init__(self, step: ContactFunction) -> None:
        self.step = step
        self.inputs = (*GIVEN, *step.acting, *step.parameter_inputs.names)
        """Names of the inputs to differentiate by."""
        self._runners: dict[int, Runner] = {}

    @cached_property
    def _cells(self) -> FieldCells:
        layout = self.step.equations.layout
        return FieldCells(self.step.planned.tree, lambda algorithm: self._native(replace(algorithm, layout=layout)))

    @cached_property
    def programs(self) -> StepPrograms:
        """The programs of pipelines, which hold them."""
        return StepPrograms(self.step, self.inputs, self._cells.count)

    def _native(self, algorithm: Any) -> Runner:
        program = replace(self.step.planned, algorithm=algorithm, derivation=None)
        backend = Backend("plain" if self.step.backend == "plain" else "native")
        return runner_for(self.step.parameter_inputs.program(program), backend)

    @cached_property
    def _smoothed(self) -> Runner:
        return self._native(self.step.smoothed)

    def runner(self, program: Program) -> Runner:
        """The runner of a program of the pipelines; kept.

        Args:
            program: One of `programs`.
        """
        if id(program) not in self._runners:
            self._runners[id(program)] = runner_for(program, self.programs.backend(program))
        return self._runners[id(program)]

    @cached_property
    def _jvp(self) -> PipelineRunner:
        return PipelineRunner(implicit.jvp(self.programs), self.runner)

    @cached_property
    def _vjp(self) -> PipelineRunner:
        return PipelineRunner(implicit.vjp(self.programs), self.runner)

    # Where derivatives are taken -----------------------------------------------------------------------------------

    def at(self, state: Sequence[Any], optional: Mapping[str, Any], result: Array, smoothing: float | None) -> Point:
        """Where derivatives are taken.

        Args:
            state: q, v and tau.
            optional: Commands, wrenches and parameters, by name.
            result: The result of the step.
            smoothing: Of the smoothed problem, in m/s; None: the step itself.
        """
        values = self.programs.equations.given_parameters(optional)
        inputs = self.programs.inputs(state, {**optional, "result": result, "cells": self._cells(state[0], values)})
        inputs.update(zip(self.step.parameter_inputs.names, values, strict=True))
        settings = inputs["settings"]
        dt, tolerance = float(settings[2]), float(settings[0])
        if smoothing is None:
            return Point(inputs, tolerance / dt)
        theta = above_zero(smoothing, "smoothing") / dt
        most = np.array([SMOOTHED_TOLERANCE * theta, SMOOTHED_ITERATIONS])
        problem = {**inputs, "tau": self.step.applied_torques(state, optional, values)}
        arrays = [problem[name] for name in list(self.step.smoothed.inputs)[:-3]]
        inputs["result"] = self._smoothed.evaluate([*arrays, result, np.array([theta]), most, *values], [None] * 4)[2]
        return Point(inputs, theta)

    # Products ------------------------------------------------------------------------------------------------------

    def forward(self, tangents: Mapping[str, Any], at: Point) -> tuple[Array, Array]:
        """Rates of the state after the step along tangents of inputs.

        Args:
            tangents: By names of inputs; none is zero.
            at: Result of `at`.
        """
        along = {f"d{name}": tangents.get(name, self._zeros[name]) for name in self.inputs}
        rates = self._run("jvp", along, at)
        return rates["jvp.q1"], rates["jvp.v1"]

    def reverse(self, cotangents: Sequence[Any], at: Point) -> tuple[Array, ...]:
        """Derivatives of ``y_q1 q1 + y_v1 v1`` by the inputs.

        Args:
            cotangents: ``y_q1`` and ``y_v1``.
            at: Result of `at`.
        """
        seeds = {f"y_{name}": y for name, y in zip(STATE, cotangents, strict=True)}
        gradients = self._run("vjp", seeds, at)
        return tuple(gradients[f"vjp.{name}"] for name in self.inputs)

    def _run(self, kind: Kind, further: Mapping[str, Any], at: Point) -> dict[str, Any]:
        runner = self._jvp if kind == "jvp" else self._vjp
        return runner({**at.inputs, **further, "how": implicit.how(kind, at.theta)})

    @cached_property
    def _zeros(self) -> dict[str, Array]:
        """Tangents of inputs that have none."""
        call = next(self._jvp.pipeline.calls())
        shapes = dict(zip(call.program.algorithm.inputs, call.program.input_shapes(), strict=True))
        return {name: np.zeros(shapes[f"d{name}"]) for name in self.inputs}

    def jacobian(
        self, state: Sequence[Any], optional: Mapping[str, Any], at: Point, after: tuple[Array, Array]
    ) -> StepDerivatives:
        """All derivatives, as a batch of products with unit directions.

        Args:
            state: q, v and tau.
            optional: Commands, wrenches and parameters, by name.
            at: Result of `at`.
            after: The state after the step.
        """
        nv = self.step.robot.nv
        sizes = {"q": nv, "v": nv, "tau": nv}
        if optional.get("commands") is not None:
            sizes["commands"] = np.shape(optional["commands"])[-1]
        ranks = self._jvp.pipeline.ranks
        wider = {name: one_more_axis(x, ranks[name]) if name in ranks else x for name, x in at.inputs.items()}
        lead = np.broadcast_shapes(*(np.shape(x)[:-1] for x in state))
        for name in GIVEN:
            wider[name] = np.broadcast_to(wider[name], (*lead, sum(sizes.values()), np.shape(wider[name])[-1]))
        rates = self.forward(unit_directions(sizes), Point(wider, at.theta))
        return StepDerivatives(*after, **state_columns(rates, sizes))


def checked_state(q: npt.ArrayLike, v: npt.ArrayLike, tau: npt.ArrayLike | None, nv: int) -> list[Any]:
    """q, v and tau, zero if it is None.

    Args:
        q: Configuration.
        v: Joint velocities.
        tau: Joint torques.
        nv: Number of degrees of freedom.
    """
    if np.shape(v)[-1:] != (nv,):
        raise InputError(f"v has shape {np.shape(v)}, needs (..., {nv})")
    return [np.asarray(q, float), np.asarray(v, float), np.zeros(nv) if tau is None else np.asarray(tau, float)]
