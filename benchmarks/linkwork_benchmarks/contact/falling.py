# SPDX-License-Identifier: BSD-3-Clause
"""Iterations of steps of robots that fall: quantiles over random starts, and steps that are not solved.

``python -m linkwork_benchmarks.contact.falling humanoid.xml g1.xml`` falls from the first keyframe of each file.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import linkwork as lw

DT, STEPS, COUNT, SPEED = 5e-3, 150, 64, 0.3
"""Time of a step, steps, robots, and the deviation of their joint velocities at the start."""
QUANTILES = (0.5, 0.75, 0.9, 0.95, 0.99, 1.0)


class Falls(NamedTuple):
    """What steps of a batch took."""

    iterations: npt.NDArray[np.int64]
    """``(steps, robots)``."""
    missed: int
    fallback: int
    fastest: float
    """The largest joint velocity, in rad/s or m/s."""


def fall(robot: lw.Mechanism, q: npt.NDArray[np.float64], count: int = COUNT, steps: int = STEPS) -> Falls:
    """Steps of robots from a configuration with random velocities, without commands.

    Args:
        robot: The mechanism.
        q: Its configuration, ``(nq,)``.
        count: Robots.
        steps: Steps of each.
    """
    step = lw.Stepper(robot, DT, threads=1)
    commands = np.zeros(len(robot.actuators)) if step.takes_commands else None
    at, v = np.tile(q, (count, 1)), SPEED * np.random.default_rng(0).standard_normal((count, robot.nv))
    kept, taken, missed, fallback, fastest = None, [], 0, 0, 0.0
    for _ in range(steps):
        found = step(at, v, commands=commands, contact_state=kept)
        at, v, kept = found.q, found.v, found.contact_state
        assert found.contacts is not None
        taken.append(found.contacts.iterations)
        missed += int(found.contacts.missed.sum())
        fallback += int(found.contacts.fallback.sum())
        fastest = max(fastest, float(np.abs(v).max()))
    return Falls(np.array(taken), missed, fallback, fastest)


def main(files: list[str]) -> None:
    """Print a line for each file."""
    for file in files:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            robot = lw.load(file)
            q = next(iter(robot.poses.values()), robot.neutral())
            falls = fall(robot, np.asarray(q))
        numbers = ", ".join(f"{x:.0f}" for x in np.quantile(falls.iterations, QUANTILES))
        print(
            f"{Path(file).stem}: iterations {numbers} (quantiles {QUANTILES}), mean {falls.iterations.mean():.2f}; "
            f"missed {falls.missed}, fallback {falls.fallback} of {falls.iterations.size}; |v| {falls.fastest:.3g}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
