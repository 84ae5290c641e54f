# SPDX-License-Identifier: BSD-3-Clause
"""Controls of a live run in the page: play, step, reset, speed, poses, commands; and messages."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.live.pace import Pace
from linkwork.model.parts import Actuator
from linkwork.quantities.functions import constraint_error
from linkwork.viewer.playing import SPEEDS
from linkwork.viewer.posing import pose_at

SAID = 0.25
"""Seconds between two changes of the words, at least."""


class LivePanel:
    """Controls of a run; ``moved`` is called when the robot was put somewhere else."""

    def __init__(self, gui: Any, pace: Pace, moved: Callable[[], None]) -> None:
        self.pace, self._moved, self._quiet = pace, moved, False
        self.run = pace.run
        self._said = 0.0
        self.words = gui.add_markdown("")
        self.play = gui.add_button("Play", icon="player-play")
        self.steps = gui.add_button_group("run", ("step", "reset"))
        self.speed = gui.add_dropdown("speed", tuple(SPEEDS), initial_value="1")
        self.play.on_click(lambda event: self.pause() if pace.playing else self.start())
        self.steps.on_click(lambda event: self.step() if self.steps.value == "step" else self.reset())
        self.speed.on_update(lambda event: pace.set_speed(SPEEDS[self.speed.value]))
        self.poses = self._poses(gui)
        self.sliders: dict[str, Any] = {}
        self.motors: Any = None
        """Whether actuators act."""
        if self.run.robot.actuators:
            self._commands(gui)
        self.say(at_once=True)

    def _poses(self, gui: Any) -> Any:
        """The box with the names of poses, which reset the run; None without any."""
        poses = self.run.robot.poses
        if not poses:
            return None
        chooser = gui.add_dropdown("keyframe", ("", *poses), initial_value=pose_at(self.run.robot, self.run.q))
        chooser.on_update(lambda event: self._choose(chooser.value))
        return chooser

    def _choose(self, name: str) -> None:
        if name and not self._quiet:
            self.reset(name)

    def _commands(self, gui: Any) -> None:
        """A slider for each actuator, and whether they act."""
        run = self.run
        self.motors = gui.add_checkbox("motors", run.commands is not None)
        self.motors.on_update(lambda event: self._switch(self.motors.value))
        held = np.zeros(len(run.robot.actuators)) if run.commands is None else run.commands
        with gui.add_folder("commands"):
            for actuator, value in zip(run.robot.actuators, held.tolist(), strict=True):
                if not actuator.refused:
                    low, high = command_range(actuator, value)
                    slider = gui.add_slider(actuator.name, low, high, (high - low) / 1000, min(max(value, low), high))
                    slider.on_update(lambda event, name=actuator.name: self._commanded(name))
                    self.sliders[actuator.name] = slider

    def _commanded(self, name: str) -> None:
        if self._quiet:
            return
        with self.pace.lock:
            if self.run.commands is None:
                self._switch(True)
            self.run.command(name, float(self.sliders[name].value))

    def _switch(self, on: bool) -> None:
        """Let actuators act by their sliders, or not at all."""
        if self._quiet:
            return
        with self.pace.lock:
            self.run.commands = None
            if on:
                for name, slider in self.sliders.items():
                    self.run.command(name, float(slider.value))
        self._tell()

    def _tell(self) -> None:
        """Put sliders and boxes where the run is."""
        self._quiet = True
        commands = self.run.commands
        if self.motors is not None and self.motors.value != (commands is not None):
            self.motors.value = commands is not None
        if commands is not None:
            for actuator, value in zip(self.run.robot.actuators, commands.tolist(), strict=True):
                slider = self.sliders.get(actuator.name)
                if slider is not None:
                    slider.value = min(max(value, slider.min), slider.max)
        self._quiet = False

    # Buttons ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Run."""
        self.play.label, self.play.icon = "Pause", "player-pause"
        self.pace.play()
        self.say(at_once=True)

    def pause(self) -> None:
        """Stop."""
        self.pace.pause()
        self._paused()

    def _paused(self) -> None:
        self.play.label, self.play.icon = "Play", "player-play"
        self.say(at_once=True)

    def step(self) -> None:
        """One step."""
        self.pace.step()
        self._paused()

    def reset(self, pose: str | None = None) -> None:
        """Start again, at rest, and go on if it ran.

        Args:
            pose: Name of a pose; by default where the run began.
        """
        with self.pace.lock:
            self.run.reset(pose)
            self.pace.error = ""
        if self.poses is not None:
            self._quiet = True
            self.poses.value = pose or pose_at(self.run.robot, self.run.q)
            self._quiet = False
        self._tell()
        self._moved()
        self.say(at_once=True)

    # Messages -----------------------------------------------------------------------------------------------------

    def say(self, *, at_once: bool = False) -> None:
        """Show time, rate and errors.

        Args:
            at_once: Whether also where that was done a moment ago.
        """
        now = time.monotonic()
        if not at_once and now - self._said < SAID:
            return
        self._said = now
        if not self.pace.playing and self.play.label == "Pause":
            self.play.label, self.play.icon = "Play", "player-play"  # an error has paused it
        self.words.content = "  \n".join(self._lines())

    def _lines(self) -> list[str]:
        pace, run = self.pace, self.run
        lines = [f"{run.time:.3f} s{self._rate()}"]
        robot, pulled = run.robot, run.pulled
        if robot.nc:
            lines.append(f"loops open by {np.abs(constraint_error(robot, run.q)).max(initial=0.0):.1e}")
        if pulled is not None and run.hand is not None:
            lines.append(f"**{run.hand.body}** is pulled with {np.linalg.norm(pulled.force):.3g} N")
        if run.time:
            lines += [f"**{words}**" for words in run.troubles]
        if pace.error:
            lines.append(f"**stopped: {pace.error}** (reset starts again)")
        return [*lines, *run.warnings]

    def _rate(self) -> str:
        """The speed where it is not real time, in words."""
        pace = self.pace
        if not pace.playing:
            return ", paused"
        rate = pace.rate
        if rate is None:
            return "" if self.run.time else ", starting: steps are compiled once for a machine"
        if rate > 0.95 * pace.speed:
            return ", real time" if pace.speed == 1.0 else f", {pace.speed:g} of real time"
        return f", **{rate:.2g} of real time** (requested {pace.speed:g}: this machine is not faster)"


def command_range(actuator: Actuator, value: float) -> tuple[float, float]:
    """The ends of the slider of a command: its limits, or the commands of the largest force, or -1 to 1.

    Args:
        actuator: The actuator.
        value: A command that is between them.
    """
    low, high = actuator.control_limits if actuator.has_activation else actuator.limits
    if not (np.isfinite(low) and np.isfinite(high)):
        gain = actuator.gain[0]
        servo = actuator.bias[1] != 0.0  # whose command is a position
        forces = actuator.force_limits
        reach = np.pi if servo else 1.0
        if not servo and np.isfinite(forces).all() and gain:
            reach = max(abs(force / gain) for force in forces)
        low, high = max(low, -reach), min(high, reach)
    low, high = min(low, value), max(high, value)
    return (low, high) if high > low else (low - 1.0, high + 1.0)
