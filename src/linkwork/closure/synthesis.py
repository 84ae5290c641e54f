# SPDX-License-Identifier: BSD-3-Clause
"""Dimensional synthesis by least squares with exact gradients, and the effect of tolerances of lengths on positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from linkwork.closure.designs import Designs
from linkwork.errors import InputError
from linkwork.inputs import float_array, suggest
from linkwork.model.arrays import Floats
from linkwork.model.lie import VECTOR
from linkwork.model.model import Model
from linkwork.model.parameters import parameter
from linkwork.model.poses import default_configuration

FAILED = 10.0
"""Residuals of a design that cannot be assembled, in units of the goals' size."""

Free = Mapping[str, Mapping[str, Any]]
"""Parameters that may change: by parameter and name, axes of a point (``"xz"``; of an anchor, one for each end)."""


@dataclass(frozen=True)
class Synthesis:
    """Result of a synthesis."""

    robot: Any
    """The mechanism with the lengths that were found; its pose ``"assembled"`` is the first of ``q``."""
    q: Floats
    """Its configurations over the values of the driver, ``(k, nq)``."""
    phase: float
    """Added to the values of the driver."""
    error: float
    """Root of the mean square of the remaining error, in m or rad."""
    evaluations: int
    """Number of designs that were tried."""
    message: str
    """Why it ended."""


class _Place(NamedTuple):
    """A number of a design that may change."""

    parameter: str
    where: tuple[int, ...]


def _places(robot: Model, free: Free) -> list[_Place]:
    places = list[_Place]()
    for name, rows in free.items():
        known = list(parameter(name).rows(robot))
        for row, axes in rows.items():
            if row not in known:
                raise InputError(f"{name} has no row '{row}'{suggest(row, known)}; there are {', '.join(known)}")
            k = known.index(row)
            if name == "length":
                places.append(_Place(name, (k,)))
                continue
            ends = [((), axes)] if name == "joint_position" else [((end,), text) for end, text in enumerate(axes)]
            for end, text in ends:
                if any(axis not in "xyz" for axis in text):
                    raise InputError(f"free axes of {name} of '{row}' are {axes!r}, need some of x, y, z")
                places += [_Place(name, (k, *end, "xyz".index(axis))) for axis in text]
    return places


class _Problem:
    """Residuals of all goals and their derivatives, by the numbers that may change and the phase."""

    def __init__(
        self, robot: Model, driver: str, values: Floats, goals: Mapping[str, Floats], free: Free, phase: bool, q: Floats
    ) -> None:
        self.robot, self.driver, self.values, self.goals, self.q = robot, driver, values, goals, q
        self.places = _places(robot, free)
        names: Any = list(dict.fromkeys(place.parameter for place in self.places))
        self.designs = Designs(robot, [driver], names)
        self.phase = phase
        own = [self.designs.parameters[place.parameter][place.where] for place in self.places]
        self.start = np.array([*own, *([0.0] if phase else [])])
        self.size = max(float(np.nanmax(np.abs(goal), initial=0.0)) for goal in goals.values()) or 1.0
        self.count = 0

    def parameters(self, x: Floats) -> dict[str, Floats]:
        """Parameters of a design."""
        parameters = {name: np.array(own) for name, own in self.designs.parameters.items()}
        for place, number in zip(self.places, x, strict=False):
            parameters[place.parameter][place.where] = number
        return parameters

    def assembled(self, x: Floats) -> tuple[Floats, bool]:
        """Configurations over the values of the driver, and whether there are any."""
        led = self.designs.lead(self.values + (x[-1] if self.phase else 0.0), self.q, **self.parameters(x))
        return led.q, bool(led.closed.all())

    def residuals(self, x: Floats) -> Floats:
        self.count += 1
        q, closed = self.assembled(x)
        wanted = [goal[~np.isnan(goal)] for goal in self.goals.values()]
        if not closed:
            return np.full(sum(len(w) for w in wanted), FAILED * self.size)
        parts = []
        for name, goal in self.goals.items():
            if name in self.robot.joint_names:
                at = q[:, self.robot.q_index(name)]
            else:
                at = self.designs.positions(name, q, **self._repeated(x))
            parts.append((at - goal)[~np.isnan(goal)])
        return np.concatenate(parts)

    def jacobian(self, x: Floats) -> Floats:
        q, _ = self.assembled(x)
        many, rows = self._repeated(x), []
        for name, goal in self.goals.items():
            if name in self.robot.joint_names:
                y = np.zeros((len(q), self.robot.nv))
                y[:, self.robot.v_index(name)] = 1.0
                by = self.designs.vjp(q, y, **many)
            else:
                by = self.designs.position_jacobians(name, q, **many)
            columns = [_entry(by[place.parameter], place) for place in self.places]
            columns += [by["q"][..., 0]] if self.phase else []
            rows.append(np.stack(columns, axis=-1)[~np.isnan(goal)])
        return np.concatenate(rows)

    def _repeated(self, x: Floats) -> dict[str, Floats]:
        n = len(self.values)
        return {name: np.broadcast_to(value, (n, *value.shape)) for name, value in self.parameters(x).items()}


def _entry(jacobians: Floats, place: _Place) -> Floats:
    where: Any = (..., *place.where)
    entry: Floats = jacobians[where]
    return entry


def synthesize(
    robot: Model,
    driver: str,
    values: npt.ArrayLike,
    goals: Mapping[str, npt.ArrayLike],
    free: Free,
    *,
    q: npt.ArrayLike | None = None,
    phase: bool = False,
    bounds: tuple[float, float] = (-np.inf, np.inf),
    max_evaluations: int = 200,
) -> Synthesis:
    """Lengths with which frames and joints go where they are to go while a driver turns, by least squares.

    Path synthesis: a frame and its points. Function synthesis: a joint and its coordinates. Motion synthesis: two or
    three frames on one body. It starts from the robot's own lengths and finds the nearest optimum; derivatives are
    those of closed loops (`Designs`).

    Args:
        robot: A mechanism that can be assembled at all values of the driver.
        driver: A joint with one coordinate.
        values: Its coordinates, ``(k,)``, in steps that the assembly can follow.
        goals: By frame, points in the world ``(k, 3)``; by joint, coordinates ``(k,)``. NaN: anything.
        free: Parameters that may change: ``{"joint_position": {"B": "x", "D": "xz"}, "anchor_position": {"C": ("x",
            "x")}, "length": {"rod": ""}}``.
        q: A configuration near the first, ``(nq,)``; by default the assembled one.
        phase: Whether the driver may start elsewhere.
        bounds: Of all numbers that may change.
        max_evaluations: The most designs that are tried.
    """
    from scipy.optimize import least_squares

    angles = float_array(values, "values")
    if angles.ndim != 1 or not len(angles):
        raise InputError(f"values have shape {angles.shape}, need (k,)")
    wanted = {name: np.array(float_array(goal, f"goal of '{name}'")) for name, goal in goals.items()}
    for name, goal in wanted.items():
        one = name in robot.joint_names
        if not one and name not in robot.frames:
            raise InputError(f"'{robot.name}' has neither a frame nor a joint '{name}'{suggest(name, robot.frames)}")
        if one and robot.joint(name).type.group is not VECTOR:
            raise InputError(f"joint '{name}' has several coordinates; goals are frames and joints with one")
        if goal.shape != (needed := (len(angles),) if one else (len(angles), 3)):
            raise InputError(f"the goal of '{name}' has shape {goal.shape}, needs {needed}")
    begin = np.array(default_configuration(robot) if q is None else robot.normalize(q))
    problem = _Problem(robot, driver, angles, wanted, free, phase, begin)
    if not problem.places:
        raise InputError("free names no lengths: give some, such as {'joint_position': {'B': 'x'}}")
    if not problem.assembled(problem.start)[1]:
        raise InputError(
            f"'{robot.name}' cannot be assembled at all values of '{driver}': begin with a design that can"
        )
    optimum = least_squares(
        problem.residuals,
        problem.start,
        problem.jacobian,
        bounds,
        x_scale="jac",
        max_nfev=max_evaluations,
        xtol=1e-14,
        ftol=1e-14,
        gtol=1e-14,
    )
    led, _ = problem.assembled(optimum.x)
    design: Any = robot
    design = design.with_parameters(**problem.parameters(optimum.x))
    design = replace(design, poses={**design.poses, "assembled": led[0]})
    error = float(np.sqrt(np.mean(optimum.fun**2)))
    return Synthesis(design, led, float(optimum.x[-1]) if phase else 0.0, error, problem.count, str(optimum.message))


@dataclass(frozen=True)
class Deviations:
    """Deviations of a point; ``(..., 3)`` each, in meters."""

    worst: Floats
    """If all lengths are at the ends of their tolerances, the worst of them."""
    deviation: Floats
    """Root of the sum of squares: one standard deviation, if the tolerances are."""
    parts: dict[str, Floats]
    """The largest parts of the worst, by parameter and row, ``(...)`` each."""


def deviations(
    robot: Model, frame: str, q: npt.ArrayLike, tolerances: Mapping[str, float], fixed: str | Sequence[str] = ()
) -> Deviations:
    """Deviations of a frame's position that tolerances of lengths cause, by its derivatives on closed loops.

    Args:
        robot: The mechanism.
        frame: Name of a frame or body.
        q: Closed configurations, ``(..., nq)``.
        tolerances: Of each coordinate, by parameter: ``{"joint_position": 1e-4, "anchor_position": 1e-4}``.
        fixed: Joints that stay where they are: drivers.
    """
    at = np.asarray(q, dtype=np.float64)
    names: Any = list(tolerances)
    designs = Designs(robot, fixed, names)
    lead = at.shape[:-1]
    many = {name: np.broadcast_to(own, (*lead, *own.shape)) for name, own in designs.parameters.items()}
    slopes = designs.position_jacobians(frame, at, **many)
    worst, square, parts = np.zeros((*lead, 3)), np.zeros((*lead, 3)), dict[str, Floats]()
    for name, tolerance in tolerances.items():
        rows = parameter(name).rows(robot)
        sizes = np.abs(slopes[name]) * float(tolerance)
        sizes = sizes.reshape(*lead, 3, len(rows), -1)
        worst, square = worst + sizes.sum(axis=(-1, -2)), square + (sizes**2).sum(axis=(-1, -2))
        largest = sizes.sum(axis=-1).max(axis=len(lead))
        parts |= {f"{name} {row}": largest[..., k] for k, row in enumerate(rows)}
    ordered = sorted(parts, key=lambda key: -float(np.max(parts[key])))
    return Deviations(worst, np.sqrt(square), {key: parts[key] for key in ordered})
