# SPDX-License-Identifier: BSD-3-Clause
"""Parameters of evaluators: which are inputs, the robot's own values where none are given, and checks of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.compilers.program import Program
from linkwork.conversions import texts
from linkwork.errors import InputError
from linkwork.inputs import ParameterName, finite_floats, on_gpu, real_array, suggest
from linkwork.kernels.parametrized import parameter_start, parametrized
from linkwork.model.model import Model
from linkwork.model.parameters import PARAMETERS, own_values, parameter
from linkwork.plans.parameters import INERTIAL, NEEDED, Chosen, parametrized_tree

Array = npt.NDArray[Any]

ParameterNames = Sequence[ParameterName] | Mapping[ParameterName, Sequence[str]]
"""Names of parameters; or, by name, the bodies, joints and so on of which they are inputs."""


class ParameterInputs:
    """The parameters of a robot that are inputs of an evaluator.

    Args:
        robot: The mechanism.
        names: Names of parameters, see `model.parameters`; or a mapping from these to the names of bodies, joints,
            constraints or actuators of which they are inputs: the others keep the robot's own values.
        implicit_time: The time of steps at whose end springs and dampers act; zero where they act as they are.
    """

    def __init__(self, robot: Model, names: ParameterNames | str = (), implicit_time: float = 0.0) -> None:
        self.robot, self.implicit_time = robot, implicit_time
        if isinstance(names, str):
            names = [names]  # type: ignore[list-item]
        if not isinstance(names, Mapping):
            names = texts(names, "parameters")
        self.chosen = tuple(_chosen(robot, name, _items(names, name)) for name in names)
        self.names = tuple(one.name for one in self.chosen)
        inertial = [name for name in self.names if name in INERTIAL]
        if "inertial_parameters" in inertial and len(inertial) > 1:
            raise InputError(
                f"inertial_parameters are mass, first moment and inertia in one: leave out {', '.join(inertial[:-1])}, "
                "or take mass, com and inertia instead"
            )
        if {"mocap", "anchor_position"} <= set(self.names):
            raise InputError("anchor_position and mocap both place constraints: name one of them")
        if len(set(self.names)) < len(self.names):
            raise InputError(f"parameters are named twice: {', '.join(self.names)}")
        self.values: dict[str, Array] = {one.name: _own(robot, one) for one in self.chosen}
        """The robot's own values, by name."""
        self.shapes = {name: x.shape for name, x in self.values.items()}

    @property
    def recipe(self) -> dict[str, list[str]]:
        """Names of rows by parameter: arguments that make an equal object."""
        rows = {one.name: parameter(one.name).rows(self.robot) for one in self.chosen}
        return {one.name: list(dict.fromkeys(rows[one.name][k] for k in one.rows)) for one in self.chosen}

    def program(self, program: Program) -> Program:
        """A program with the parameters among its inputs."""
        if not self.chosen:
            return program
        algorithm = program.algorithm
        for name in self.names:
            if name in NEEDED and NEEDED[name] not in algorithm.layout.shapes:
                raise InputError(f"{algorithm.name} of '{program.robot}' does not depend on {name}: leave it out")
        tree = parametrized_tree(self.robot, program.tree, algorithm.layout, self.chosen, self.implicit_time)
        return replace(program, algorithm=parametrized(algorithm, self.names), tree=tree)

    def holding(self, parameters: Mapping[str, Any]) -> ParameterInputs:
        """A copy with other values in place of the robot's own."""
        clone = copy(self)
        values = self.given(tuple(self.values.values()), parameters, once=True)
        clone.values = {name: np.asarray(x) for name, x in zip(self.names, values, strict=True)}
        return clone

    def start(self, program: Program) -> int:
        """Where parameters stand among the inputs of a program that has them."""
        return parameter_start(program.algorithm) - len(self.names)

    def among(self, program: Program, inputs: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        """All inputs of a program that has the parameters: others in order, and values of the parameters in order."""
        at = self.start(program) if self.names else len(inputs)
        return [*inputs[:at], *values, *inputs[at:]]

    def held(self, dtype: Any) -> tuple[Array, ...]:
        """The robot's own values as arrays of one type, in order; they are not modified."""
        arrays = tuple(np.ascontiguousarray(self.values[name], dtype=dtype).view() for name in self.names)
        for array in arrays:
            array.flags.writeable = False
        return arrays

    def given(self, held: Sequence[Array], parameters: Mapping[str, Any], *, once: bool = False) -> tuple[Any, ...]:
        """Values by name, checked (`check`), and held ones for all others."""
        self.check(parameters, once=once)
        if not parameters:
            return tuple(held)
        values = (parameters.get(name) for name in self.names)
        return tuple(own if x is None else x for x, own in zip(values, held, strict=True))

    def check(self, parameters: Mapping[str, Any], *, once: bool = False) -> None:
        """Raise where values by name are those of no robot: by their signs, if they are not on a GPU.

        Checks take longer than forward dynamics where they are about inertias: where values are given ``once`` for
        many calls, these are made too.
        """
        for name, x in parameters.items():
            if name not in self.names:
                raise InputError(self._unknown(name))
            check = parameter(name).check if once else parameter(name).quick
            if x is None or on_gpu(x) or not (once or check):
                continue
            array, shape = (finite_floats if once else real_array)(x, name), self.shapes[name]
            fits = array.shape[array.ndim - len(shape) :] == shape
            if once and not fits:
                raise InputError(f"{name} has shape {array.shape}, needs (..., {', '.join(map(str, shape))})")
            if check is not None and fits:  # else the runner has something to say
                check(array, name)
                self._bounded(array, name)

    def _bounded(self, x: Array, name: str) -> None:
        """Raise where a value is larger than the model has room for."""
        rows, most = next(one.rows for one in self.chosen if one.name == name), parameter(name).most
        bounds = None if most is None else np.asarray(most(self.robot), dtype=np.float64)[list(rows)]
        if bounds is not None and not (x <= bounds).all():
            raise InputError(
                f"{name} is up to {np.max(x):g}, '{self.robot.name}' has room for {bounds}: give its model more"
            )

    def _unknown(self, name: str) -> str:
        if self.names:
            near = suggest(name, self.names) or f"; it takes {', '.join(self.names)}"
            return f"there is no argument '{name}'{near}"
        if name not in PARAMETERS:
            return f"there is no argument '{name}'{suggest(name, PARAMETERS)}"
        return f"there is no argument '{name}'; parameters of the robot are arguments if they are named: " + (
            f"parameters=['{name}']"
        )


def _items(names: Any, name: str) -> Sequence[str] | None:
    return names[name] if isinstance(names, Mapping) else None


def _chosen(robot: Model, name: str, items: Sequence[str] | str | None) -> Chosen:
    """The rows of a parameter that belong to some bodies, joints, and so on; all of them by default."""
    kind = parameter(name)
    rows = list(kind.rows(robot))
    if not rows:
        raise InputError(f"robot '{robot.name}' has no {kind.of}: {name} cannot be an input")
    if items is None or not kind.of:
        return Chosen(name, tuple(range(len(rows))))
    wanted = [items] if isinstance(items, str) else list(items)
    for item in wanted:
        if item not in rows:
            near = suggest(item, rows) or f"; there are {', '.join(dict.fromkeys(rows))}"
            raise InputError(f"{name}: '{item}' is none of the {kind.of} of '{robot.name}'{near}")
    return Chosen(name, tuple(k for item in wanted for k, row in enumerate(rows) if row == item))


def _own(robot: Model, one: Chosen) -> Array:
    values = own_values(robot, one.name)
    values = values[list(one.rows)] if parameter(one.name).of else values
    values.flags.writeable = False
    return values
