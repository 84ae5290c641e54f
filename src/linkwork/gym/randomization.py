# SPDX-License-Identifier: BSD-3-Clause
"""Parameters that differ from robot to robot: masses, friction and others, as factors of the model's own values."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from linkwork.errors import InputError
from linkwork.inputs import ParameterName
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.quantities.parameters import ParameterInputs, ParameterNames

Range = tuple[float, float]
"""The least and the greatest factor."""

Ranges = Mapping[ParameterName, Range | Mapping[str, Range]]
"""Factors by parameter, for all of its rows; or for those of some bodies, joints or contact pairs by their names."""


class Randomization:
    """Factors of parameters of a robot, drawn anew in every episode, uniformly, one for each row of a parameter.

    A row belongs to a body, a joint, a contact pair and so on (`docs/parameters.md`). All ten
    ``inertial_parameters`` of a body get one factor: such a body has another density. The three components of gravity
    get one, too. A factor of ``actuator_gain`` is one of all that an actuator makes of its command and its state, bias
    included: of a servo it scales stiffness and damping, and leaves the target what it is.

    Args:
        robot: The mechanism.
        ranges: ``{"mass": (0.8, 1.2), "contact_friction": {"ground:foot": (0.5, 1.5)}}``.
    """

    def __init__(self, robot: Model, ranges: Ranges) -> None:
        chosen: dict[ParameterName, list[str]] = {}
        every: list[ParameterName] = []
        for name, given in ranges.items():
            with_bias = name == "actuator_gain" and any(any(actuator.bias) for actuator in robot.actuators)
            if with_bias and "actuator_bias" in ranges:
                raise InputError("randomize: a factor of actuator_gain is one of the bias, too; name one of the two")
            together: list[ParameterName] = [name, "actuator_bias"] if with_bias else [name]
            if isinstance(given, Mapping):
                chosen |= {key: list(given) for key in together}
            else:
                every += together
        inputs = ParameterInputs(robot, every) if every else ParameterInputs(robot)
        some = ParameterInputs(robot, chosen) if chosen else ParameterInputs(robot)
        names = {**inputs.recipe, **some.recipe}
        self.names: ParameterNames = {name: names[name] for name in (*every, *chosen)}
        """What `Stepper` is made with."""
        values = {**inputs.values, **some.values}
        self.values: dict[ParameterName, Array] = {name: values[name] for name in (*every, *chosen)}
        """The robot's own values."""
        self._bounds: dict[ParameterName, tuple[Array, Array]] = {}
        for name, given in ranges.items():
            rows = 1 if name == "gravity" else len(self.values[name])
            if isinstance(given, Mapping):
                if rows != len(given):
                    raise InputError(f"{name}: name each of {list(given)} once, and only what has one row")
                pairs = [_range(f"{name} of '{item}'", pair) for item, pair in given.items()]
            else:
                pairs = [_range(name, given)] * rows
            low, high = np.array(pairs).T
            self._bounds[name] = (low, high)
        self.draws = sum(len(low) for low, _ in self._bounds.values())
        """Numbers that `__call__` takes for a robot."""

    def __call__(self, draws: Array) -> dict[ParameterName, Array]:
        """Parameters of robots, by name, ``(rows, ...)``.

        Args:
            draws: Numbers from 0 to 1, ``(rows, draws)``.
        """
        found: dict[ParameterName, Array] = {}
        at = 0
        for name, (low, high) in self._bounds.items():
            factor = low + (high - low) * draws[:, at : at + len(low)]
            at += len(low)
            scaled: tuple[ParameterName, ...] = (name, "actuator_bias") if name == "actuator_gain" else (name,)
            for own in (one for one in scaled if one in self.values):
                value = self.values[own]
                found[own] = value * factor.reshape(*factor.shape, *[1] * (value.ndim - 1))
        return found


def _range(what: str, given: object) -> Range:
    """Two factors, the first not greater than the second, none negative."""
    pair = np.asarray(given, dtype=np.float64)
    if pair.shape != (2,) or not np.isfinite(pair).all() or not 0 <= pair[0] <= pair[1]:
        raise InputError(f"randomize: {what} is {given!r}, needs (low, high), factors with 0 <= low <= high")
    return float(pair[0]), float(pair[1])
