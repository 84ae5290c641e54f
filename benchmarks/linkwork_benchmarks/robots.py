# SPDX-License-Identifier: BSD-3-Clause
"""Real robots to measure on: where their files are, and states to evaluate them at."""

from __future__ import annotations

import os
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

import linkwork as lw
from linkwork.model.model import Model

Floats = npt.NDArray[np.float64]

REPOSITORY = Path(__file__).resolve().parents[2]
MODELS = Path(os.environ.get("LINKWORK_MODELS", REPOSITORY.parent / "shared" / "models"))


class Robot(NamedTuple):
    """A model file and how to load it."""

    path: Path
    base: Literal["fixed", "floating"] = "floating"
    mimic: Literal["constrain", "ignore"] = "constrain"

    def load(self) -> lw.Mechanism:
        """The robot as linkwork reads it."""
        return lw.load(self.path, self.base, mimic=self.mimic)


def _example_robot_data() -> Path:
    """The robots of the package example-robot-data, which needs no Pinocchio (it has no wheels for Windows)."""
    try:
        package = distribution("example-robot-data")
    except PackageNotFoundError:
        return Path("example-robot-data is not installed")
    return Path(str(package.locate_file("cmeel.prefix/share/example-robot-data/robots")))


EXAMPLES = _example_robot_data()

ROBOTS: dict[str, Robot] = {
    "talos": Robot(EXAMPLES / "talos_data/robots/talos_full_v2.urdf", mimic="ignore"),
    "icub": Robot(EXAMPLES / "icub_description/robots/icub.urdf"),
    "g1": Robot(EXAMPLES / "g1_description/urdf/g1_29dof_rev_1_0.urdf"),
    "simple_humanoid": Robot(EXAMPLES / "simple_humanoid_description/urdf/simple_humanoid.urdf"),
    "anymal_c": Robot(EXAMPLES / "anymal_c_simple_description/urdf/anymal.urdf"),
    "go2": Robot(EXAMPLES / "go2_description/urdf/go2.urdf"),
    "solo12": Robot(EXAMPLES / "solo_description/robots/solo12.urdf"),
    "iiwa14": Robot(MODELS / "iiwa14/iiwa14_primitive_collision.urdf", base="fixed"),
    "ur5": Robot(EXAMPLES / "ur_description/urdf/ur5_robot.urdf", base="fixed"),
}


@cache
def load(name: str) -> lw.Mechanism:
    """A robot of `ROBOTS`, read once."""
    return ROBOTS[name].load()


class States(NamedTuple):
    """States and what drives them, one a row: ``u`` is a torque or an acceleration, as the quantity needs."""

    q: Floats
    v: Floats
    u: Floats

    def first(self, count: int) -> States:
        """A few of them."""
        return States(self.q[:count], self.v[:count], self.u[:count])


def random_states(robot: Model, count: int, seed: int = 0) -> States:
    """Random states around the neutral pose."""
    rng = np.random.default_rng(seed)
    q = robot.integrate(robot.neutral(), rng.uniform(-1.5, 1.5, (count, robot.nv)))
    return States(q, rng.normal(size=(count, robot.nv)), 10 * rng.normal(size=(count, robot.nv)))
