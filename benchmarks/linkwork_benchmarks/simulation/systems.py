# SPDX-License-Identifier: BSD-3-Clause
"""Robots that are ready to move: closed loops, and velocities that keep them closed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import linkwork as lw
from linkwork_benchmarks.robots import MODELS, Floats

FILES = {
    "Robotiq 2F-85": "robotiq_2f85/2f85_nomesh.xml",
    "Cassie": "cassie/cassie_nomesh.xml",
    "Digit": "digit/digit-v3_nomesh.xml",
}
MADE: dict[str, Callable[[], lw.Mechanism]] = {
    "four-bar": lw.zoo.four_bar,
    "Stewart platform": lw.zoo.stewart,
    "humanoid": lw.zoo.humanoid,
}
SPEEDS = {"Robotiq 2F-85": 0.5, "four-bar": 2.0, "humanoid": 2.0}
"""Of random velocities, before they are projected onto the loops; 0.3 for the others."""


@dataclass(frozen=True)
class System:
    """A robot in motion, and the MJCF file that it is from."""

    robot: lw.Mechanism
    q: Floats
    v: Floats
    file: Path | None = None


def system(name: str) -> System:
    """By name; `FileNotFoundError` where the model is not there."""
    file = MODELS / FILES[name] if name in FILES else None
    if file is not None and not file.is_file():
        raise FileNotFoundError(f"no file {file}")
    if file is not None:
        robot = lw.load(file, contacts=False)
        q = robot.assemble(robot.poses.get("home", robot.neutral()))
    else:
        robot = MADE[name]()
        q = robot.poses.get("assembled", robot.neutral())
    v = SPEEDS.get(name, 0.3) * np.random.default_rng(1).normal(size=robot.nv)
    return System(robot, q, robot.project_velocity(q, v), file)


def of_points(found: System) -> System:
    """The same with points for hinges and without couplings of joints: what Pinocchio has constraints for."""
    kept = []
    for c in found.robot.constraints:
        if isinstance(c, lw.constraints.Hinge):
            c = lw.constraints.Point(c.first, c.second, first_at=c.first_at, second_at=c.second_at, name=c.name)
        if isinstance(c, lw.constraints.Point):
            kept.append(c)
    return replace(found, robot=replace(found.robot, constraints=tuple(kept)))
