# SPDX-License-Identifier: BSD-3-Clause
"""Parameters that differ from robot to robot: masses, friction and others, as factors of the model's own values, or as
numbers that are added to these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri

from linkwork.errors import InputError
from linkwork.inputs import ParameterName, among
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.quantities.parameters import ParameterInputs, ParameterNames

Quantile = Callable[[Array], Array]
"""Values of a distribution by probabilities from 0 to 1: the inverse of its cumulative distribution function."""
Distribution = Literal["uniform", "loguniform", "normal"]


@dataclass(frozen=True)
class Draw:
    """Random numbers between two bounds, as factors of a parameter or added to it.

    Args:
        low: The least number.
        high: The greatest.
        distribution: ``"uniform"``; ``"loguniform"``, whose logarithm is uniform; ``"normal"``, about the middle with a
            standard deviation of a quarter of the width, cut off at the bounds; or any other as its quantile function,
            whose values are clipped to the bounds.
        add: Whether numbers are added to the values of the parameter, in its units (of ``com``: meters), one for each
            number of it; and not factors, one for each row.
        each: Whether it is drawn for each ``"episode"``, or anew for each ``"action"``.
    """

    low: float
    high: float
    distribution: Distribution | Quantile = "uniform"
    add: bool = False
    each: Literal["episode", "action"] = "episode"

    def __post_init__(self) -> None:
        if not (np.isfinite([self.low, self.high]).all() and self.low <= self.high):
            raise InputError(f"a draw from {self.low} to {self.high}: needs finite numbers, the first not greater")
        if not self.add and self.low < 0:
            raise InputError(f"a draw from {self.low} to {self.high}: factors must be >= 0; add=True adds numbers")
        if self.each not in ("episode", "action"):
            raise InputError(f"a draw is for each {self.each!r}, needs 'episode' or 'action'")
        known = ("uniform", "loguniform", "normal")
        if not callable(self.distribution) and self.distribution not in known:
            raise InputError(f"no distribution {self.distribution!r}{among(str(self.distribution), known)}")
        if self.distribution == "loguniform" and not self.low > 0:
            raise InputError(f"a loguniform draw from {self.low}: needs a number > 0")

    def __call__(self, u: Array) -> Array:
        """Numbers by uniform ones from 0 to 1.

        Args:
            u: The uniform numbers.
        """
        low, high = self.low, self.high
        if callable(self.distribution):
            return np.clip(np.asarray(self.distribution(u), dtype=np.float64), low, high)
        if self.distribution == "loguniform":
            return np.clip(low * (high / low) ** u, low, high)
        if self.distribution == "normal":
            tail = ndtr(-2.0)  # bounds are two standard deviations away
            return np.clip((low + high) / 2 + (high - low) / 4 * ndtri(tail + (1 - 2 * tail) * u), low, high)
        values: Array = low + (high - low) * u
        return values


Range = tuple[float, float] | Draw
"""The least and the greatest factor of a uniform distribution, or any other draw."""

Ranges = Mapping[ParameterName, Range | Mapping[str, Range]]
"""Draws by parameter, for all of its rows; or for those of some bodies, joints or contact pairs by their names."""


class Randomization:
    """Factors of parameters of a robot, or numbers added to them, drawn anew in every episode.

    A row belongs to a body, a joint, a contact pair and so on (docs/how-to/parameters.md), and gets one factor. All ten
    ``inertial_parameters`` of a body get one factor: such a body has another density. The three components of gravity
    get one, too. A factor of ``actuator_gain`` is one of all that an actuator makes of its command and its state, bias
    included: of a servo it scales stiffness and damping, and leaves the target what it is.

    Args:
        robot: The mechanism.
        ranges: ``{"mass": (0.8, 1.2), "com": Draw(-0.01, 0.01, add=True)}``.
    """

    def __init__(self, robot: Model, ranges: Ranges) -> None:
        chosen: dict[ParameterName, list[str]] = {}
        every: list[ParameterName] = []
        for name, bounds in ranges.items():
            with_bias = name == "actuator_gain" and any(any(actuator.bias) for actuator in robot.actuators)
            if with_bias and "actuator_bias" in ranges:
                raise InputError("randomize: a factor of actuator_gain scales actuator_bias, too; name one of the two")
            together: list[ParameterName] = [name, "actuator_bias"] if with_bias else [name]
            if isinstance(bounds, Mapping):
                chosen |= {key: list(bounds) for key in together}
            else:
                every += together
        inputs = ParameterInputs(robot, every) if every else ParameterInputs(robot)
        some = ParameterInputs(robot, chosen) if chosen else ParameterInputs(robot)
        names = {**inputs.recipe, **some.recipe}
        self.names: ParameterNames = {name: names[name] for name in (*every, *chosen)}
        """Settings of `Stepper`."""
        values = {**inputs.values, **some.values}
        self.values: dict[ParameterName, Array] = {name: values[name] for name in (*every, *chosen)}
        """The robot's own values."""
        self._drawn: dict[ParameterName, list[Draw]] = {}
        for name, bounds in ranges.items():
            rows = 1 if name == "gravity" else len(self.values[name])
            if isinstance(bounds, Mapping):
                if rows != len(bounds):
                    raise InputError(f"{name}: each name of {list(bounds)} must be one row of it, and named once")
                self._drawn[name] = [_draw(f"{name} of '{item}'", pair) for item, pair in bounds.items()]
            else:
                self._drawn[name] = [_draw(name, bounds)] * rows
            if name == "actuator_gain" and any(draw.add for draw in self._drawn[name]):
                raise InputError("randomize: actuator_gain takes factors; add=True is for actuator_bias")
        self.per_action = any(draw.each == "action" for rows in self._drawn.values() for draw in rows)
        """Whether some are drawn anew for each action."""
        self.draws = sum(self._width(name) for name in self._drawn)
        """Numbers that `__call__` takes for a robot."""

    def _width(self, name: ParameterName) -> int:
        """Uniform numbers that the draws of a parameter need."""
        each = self._each(name)
        return sum(each if draw.add else 1 for draw in self._drawn[name])

    def _each(self, name: ParameterName) -> int:
        """Numbers of a row."""
        return self.values[name].size // len(self._drawn[name])

    def redrawn(self, draws: Array, values: Mapping[ParameterName, Array]) -> dict[ParameterName, Array]:
        """Parameters of robots of which those that are drawn for each action are new, by name, ``(rows, ...)``.

        Args:
            draws: Numbers from 0 to 1, ``(rows, draws)``.
            values: Present values, by name, ``(rows, ...)``.
        """
        redrawn = {}
        for name, new in self(draws).items():
            rows = self._drawn["actuator_gain" if name not in self._drawn else name]
            anew = np.array([draw.each == "action" for draw in rows])[:, None]
            lead = (len(draws), len(rows), -1)
            redrawn[name] = np.where(anew, new.reshape(lead), values[name].reshape(lead)).reshape(new.shape)
        return redrawn

    def __call__(self, draws: Array) -> dict[ParameterName, Array]:
        """Parameters of robots, by name, ``(rows, ...)``.

        Args:
            draws: Numbers from 0 to 1, ``(rows, draws)``.
        """
        parameters: dict[ParameterName, Array] = {}
        at = 0
        for name, rows in self._drawn.items():
            each = self._each(name)
            factor, added = np.ones((len(draws), len(rows), each)), np.zeros((len(draws), len(rows), each))
            for k, draw in enumerate(rows):
                if draw.add:
                    added[:, k] = draw(draws[:, at : at + each])
                    at += each
                else:
                    factor[:, k] = draw(draws[:, at : at + 1])
                    at += 1
            scaled: tuple[ParameterName, ...] = (name, "actuator_bias") if name == "actuator_gain" else (name,)
            for own in (one for one in scaled if one in self.values):
                value = self.values[own]
                parameters[own] = (value.reshape(len(rows), each) * factor + added).reshape(len(draws), *value.shape)
        return parameters


def _draw(what: str, range: object) -> Draw:
    """A draw; of two numbers, that of uniform factors."""
    if isinstance(range, Draw):
        return range
    pair = np.asarray(range, dtype=np.float64)
    if pair.shape != (2,) or not np.isfinite(pair).all() or not 0 <= pair[0] <= pair[1]:
        raise InputError(f"randomize: {what} is {range!r}, needs (low, high), factors with 0 <= low <= high, or a Draw")
    return Draw(float(pair[0]), float(pair[1]))
