# SPDX-License-Identifier: BSD-3-Clause
"""Random scenes and robot files stand or fall for ten seconds: nothing may end, and steps not solved are counted.

``python -m linkwork_benchmarks.contact.endurance --count 200 --first 400`` runs a portion of the random scenes,
``--robots`` all robot files of the folders ``LINKWORK_SCENES`` and ``LINKWORK_MODELS`` that load. What ends early, says
nothing of steps that are not solved, or has more of them than a thousandth, is a line; sums are the last lines.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import numpy as np

import linkwork as lw
from linkwork_benchmarks.contact.random_scenes import random_scene
from linkwork_benchmarks.robots import MODELS
from linkwork_benchmarks.scene_files.files import SCENE_FILES

SECONDS = 10.0
UNSOLVED = 1e-3
"""The part of steps that may not be solved."""
FORMATS = (".xml", ".urdf", ".sdf")


@dataclass(frozen=True)
class Outcome:
    """What became of a scene."""

    name: str
    steps: int
    missed: int
    fallback: int
    overflowed: int
    speed: float
    """The largest velocity of a joint at the end."""
    ended: str
    """Why it ended early; empty where it did not."""
    said: bool
    """Whether steps that were not solved are in a warning."""

    @property
    def good(self) -> bool:
        """Whether it lasted, and few steps were not solved, and said."""
        return not self.ended and self.said and self.missed <= UNSOLVED * self.steps

    def __str__(self) -> str:
        counts = f"{self.steps} steps, {self.missed} not solved, {self.fallback} of the convex problem"
        return f"{self.name}: {counts}, {self.overflowed} overflowed, |v| {self.speed:.2g} {self.ended}"


def endure(name: str, load: Callable[[], lw.Mechanism], seconds: float, dt: float) -> Outcome:
    """Simulate a scene from its first pose.

    Args:
        name: Of the scene.
        load: Makes it.
        seconds: How long.
        dt: Time of a step.
    """
    steps = round(seconds / dt)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            robot = load()
            run = lw.simulate(robot, _start(robot), seconds=seconds, dt=dt, record_every=steps)
        except lw.errors.LinkworkError as error:
            return Outcome(name, steps, 0, 0, 0, np.inf, f"{type(error).__name__}: {error}", True)
    words = [str(warning.message) for warning in said]
    ended = next((text for text in words if "ended early" in text), "")
    missed = fallback = overflowed = 0
    if run.contact_state is not None:
        contacts = run.contacts
        missed, fallback, overflowed = (int(x[-1]) for x in (contacts.missed, contacts.fallback, contacts.overflowed))
    told = not missed or any("were not solved" in text for text in words)
    return Outcome(name, steps, missed, fallback, overflowed, float(np.abs(run.v[-1]).max(initial=0.0)), ended, told)


def _start(robot: lw.Mechanism) -> np.ndarray:
    """The first pose of a robot, with closed loops."""
    poses = robot.poses
    keyframes = [name for name in poses if name not in ("assembled", "qpos0")]
    q = np.array(next((poses[name] for name in ("assembled", *keyframes, "qpos0") if name in poses), robot.neutral()))
    return robot.assemble(q) if robot.nc else q


def random_outcomes(first: int, count: int, seconds: float = SECONDS) -> Iterator[Outcome]:
    """Outcomes of random scenes.

    Args:
        first: Number of the first.
        count: How many.
        seconds: How long each.
    """
    for number in range(first, first + count):
        with TemporaryDirectory() as folder:
            path = random_scene(number, Path(folder))
            dt = float(np.random.default_rng((34, number)).choice([1e-3, 2e-3, 5e-3]))
            yield endure(f"scene {number}", partial(lw.load, path), seconds, dt)


def robot_outcomes(seconds: float = SECONDS, dt: float = 2e-3) -> Iterator[Outcome]:
    """Outcomes of all robot files, on the ground if they have none.

    Args:
        seconds: How long each.
        dt: Time of a step.
    """
    for folder in (SCENE_FILES, MODELS):
        for path in sorted(path for path in folder.rglob("*") if path.suffix in FORMATS):
            yield endure(str(path.relative_to(folder)), partial(_on_ground, path), seconds, dt)


def _on_ground(path: Path) -> lw.Mechanism:
    """A robot with contacts where it has shapes; bases of URDF are free, by the file's own joint if it has one."""
    own = path.suffix != ".urdf" or 'type="floating"' in path.read_text(encoding="utf-8", errors="ignore")
    base: Literal["floating"] | None = None if own else "floating"
    try:
        return lw.load(path, base=base, contacts=True)
    except lw.errors.InputError:  # no shapes for collision
        return lw.load(path, base=base)


def main() -> None:
    """Run a portion and print what is not good, and sums."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--first", type=int, default=0, help="number of the first random scene")
    parser.add_argument("--count", type=int, default=2000, help="random scenes")
    parser.add_argument("--robots", action="store_true", help="robot files in place of random scenes")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="simulated seconds of each")
    options = parser.parse_args()
    made = (
        robot_outcomes(options.seconds)
        if options.robots
        else random_outcomes(options.first, options.count, options.seconds)
    )
    scenes, steps, missed, fallback, bad = 0, 0, 0, 0, 0
    for outcome in made:
        scenes, steps, bad = scenes + 1, steps + outcome.steps, bad + (not outcome.good)
        missed, fallback = missed + outcome.missed, fallback + outcome.fallback
        if not outcome.good or options.robots:
            print(outcome, flush=True)
    print(
        f"{scenes} scenes, {bad} not good; {steps} steps, {missed} not solved ({missed / max(steps, 1):.2e}), "
        f"{fallback} of the convex problem"
    )


if __name__ == "__main__":
    main()
