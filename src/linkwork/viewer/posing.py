# SPDX-License-Identifier: BSD-3-Clause
"""The panel of a robot: sliders for its joints, which others follow so that loops stay closed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.closure.assembly import assemble
from linkwork.closure.continuation import Continuation
from linkwork.closure.thresholds import CLOSED_BY_SLIDERS
from linkwork.errors import AssemblyError
from linkwork.model.joints import Prismatic
from linkwork.model.model import Model
from linkwork.model.parts import TreeJoint
from linkwork.model.poses import HOME, QPOS0
from linkwork.quantities.arguments import Array

SAME_POSE = 1e-2
"""Configurations that are nearer than this, in radians and meters, are at the same pose."""
STEP = 1e-3
"""Of sliders, in radians or meters."""


class Pose:
    """A configuration that is moved one joint at a time, with loops closed."""

    def __init__(self, robot: Model, q: Array) -> None:
        self.robot, self.q = robot, q

    def turn(self, name: str, value: float) -> str:
        """Move a joint to a value, or as far as loops can follow; returns the reason where it stopped before."""
        try:
            path = Continuation(self.robot, self.q, [name], tolerance=CLOSED_BY_SLIDERS, limits=False)
        except AssemblyError as error:
            return f"{name} stays: {error}"
        words = ""
        try:
            path.lead([value])
        except AssemblyError as error:
            words = str(error)
        self.q = path.q
        return words


def start_of(robot: Model) -> tuple[Array, str]:
    """A pose to look at first, with loops closed if they can be, and a word about it."""
    for name, q in sorted(robot.poses.items(), key=lambda item: (item[0] != HOME, item[0] == QPOS0)):  # the initial one
        try:
            return assemble(robot, q).q, f"pose {name}"
        except AssemblyError:
            continue
    try:
        return assemble(robot).q, "neutral" if not robot.nc else "neutral, loops closed"
    except AssemblyError as error:
        return robot.neutral(), f"neutral, with open loops: {error}"


def pose_at(robot: Model, q: Array) -> str:
    """The name of the pose of a configuration, up to the motion that closes its loops; empty if there is none."""
    apart = {name: float(robot.distance(q, pose)) for name, pose in robot.poses.items()}
    nearest = min(apart, key=lambda name: apart[name], default="")
    return nearest if nearest and apart[nearest] < SAME_POSE else ""


class Posing:
    """Sliders of all joints with one degree of freedom, those with motors first; ``show`` gets where they lead."""

    def __init__(self, gui: Any, robot: Model, q: Array, words: str, show: Callable[[Array], None]) -> None:
        self.pose, self._show = Pose(robot, np.array(q, dtype=np.float64)), show
        self.words = gui.add_markdown(words)
        self.sliders: dict[str, Any] = {}
        self._following = False
        self.chooser = self._poses(gui)
        single = [j for j in robot.joints if j.type.nq == j.type.nv == 1]
        driven = {actuator.joint for actuator in robot.actuators}
        first = [j for j in single if j.actuated or j.name in driven] or [j for j in single if j.independent] or single
        rest = [j for j in single if j not in first]
        with gui.add_folder("joints"):
            for joint in first:
                self._slider(gui, joint)
        if rest:
            with gui.add_folder("other joints", expand_by_default=False):
                for joint in rest:
                    self._slider(gui, joint)

    def _poses(self, gui: Any) -> Any:
        """The box with the names of poses, where there are any: it shows the one that the robot is at."""
        poses = self.pose.robot.poses
        if not poses:
            return None
        chooser = gui.add_dropdown("pose", ("", *poses), initial_value=pose_at(self.pose.robot, self.pose.q))

        def choose(event: Any) -> None:
            if chooser.value:
                self.go(poses[chooser.value], f"pose {chooser.value}")

        chooser.on_update(choose)
        return chooser

    def _slider(self, gui: Any, joint: TreeJoint) -> None:
        low, high, now = _range(joint, float(self.pose.q[self.pose.robot.q_index(joint.name)]))
        slider = gui.add_slider(joint.name, low, high, STEP, now)
        slider.on_update(lambda event: self._turned(joint.name))
        self.sliders[joint.name] = slider

    def _turned(self, name: str) -> None:
        if self._following:
            return
        self.words.content = self.pose.turn(name, self.sliders[name].value)
        self._follow()

    def go(self, q: Array, words: str = "") -> None:
        """Put the robot at a configuration, as it is."""
        self.pose.q = np.array(q, dtype=np.float64)
        self.words.content = words
        self._follow()

    def _follow(self) -> None:
        """Show the pose, and put all sliders where their joints are."""
        self._show(self.pose.q)
        here = pose_at(self.pose.robot, self.pose.q)
        if self.chooser is not None and self.chooser.value != here:
            self.chooser.value = here
        self._following = True
        for name, slider in self.sliders.items():
            at = float(self.pose.q[self.pose.robot.q_index(name)])
            slider.value = min(max(at, slider.min), slider.max)
        self._following = False


def _range(joint: TreeJoint, now: float) -> tuple[float, float, float]:
    """Ends of a slider: limits of the joint, where it has any, and its value."""
    reach = 1.0 if isinstance(joint.type, Prismatic) else np.pi
    low, high = (float(x[0]) for x in (joint.limits.lower, joint.limits.upper))
    low, high = (low if np.isfinite(low) else -reach), (high if np.isfinite(high) else reach)
    low, high = min(low, now), max(high, now)
    return (low, high, now) if high > low else (low - 1e-3, high + 1e-3, now)
