# SPDX-License-Identifier: BSD-3-Clause
"""`LiveViewer`: a viewer in whose page the robot runs, with its joints to be moved while it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.drawing.contacts import ContactMarks
from linkwork.inputs import ContactLaw
from linkwork.live.contacts import LiveContacts
from linkwork.live.pace import Pace
from linkwork.live.panel import LivePanel
from linkwork.live.run import LiveRun
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.viewer import Viewer
from linkwork.viewer.posing import Posing, start_of
from linkwork.viewer.solids import rgb_of
from linkwork.viewer.stage import Stage

HAND = rgb_of("#1f5fbf")


class HandMarks:
    """The hand that pulls: a line from the point that it grasps to where it is, and an arrow for its force.

    Args:
        scene: The scene to draw in.
        radius: Of bones, in meters.
    """

    def __init__(self, scene: Any, radius: float) -> None:
        blank = np.zeros((1, 2, 3))
        heads = {"shaft_radius": 0.9 * radius, "head_radius": 2 * radius, "head_length": 4 * radius}
        self._line = scene.add_line_segments("/hand/line", blank, HAND, thickness=0.6 * radius, visible=False)
        self._force = scene.add_arrows("/hand/force", blank, tuple(0.5 * x for x in HAND), visible=False, **heads)
        self.visible = False
        """Whether it pulls."""

    def show(self, point: Array | None, target: Array | None = None, arrow: Array | None = None) -> None:
        """Draw the hand, or nothing.

        Args:
            point: Point that the hand grasps; None: nothing.
            target: Where it is.
            arrow: Its force, with the length that is drawn.
        """
        seen = point is not None
        if point is not None and target is not None and arrow is not None:
            self._line.points = np.stack([point, target])[None]
            self._force.points = np.stack([point, point + arrow])[None]
        if seen != self.visible:
            self.visible = self._line.visible = self._force.visible = seen


class LiveViewer(Viewer):
    """Shows a robot that runs: ``robot.view(live=True)``.

    `play`, `pause`, `step` and `reset` are the buttons of the page; `run` has the state, which other threads
    change within `lock`.

    Args:
        robot: The mechanism.
        q: Configuration at the start, ``(nq,)``, with closed loops; by default the pose ``home`` or another of the
            robot, or one near `neutral`.
        dt: Time of one step, in seconds.
        commands: Commands of the actuators at the start; by default actuators do nothing until a slider is moved.
        act: Activations of actuators at the start; by default zero.
        contact: Whether contact pairs touch, as in `Stepper`.
        playing: Whether it runs at once.
        options: About the server, as for `Viewer`.
    """

    def __init__(
        self,
        robot: Model,
        q: npt.ArrayLike | None = None,
        *,
        dt: float = 1e-3,
        commands: npt.ArrayLike | None = None,
        act: npt.ArrayLike | None = None,
        contact: ContactLaw = None,
        playing: bool = False,
        **options: Any,
    ) -> None:
        self.run = LiveRun(
            robot, start_of(robot)[0] if q is None else q, dt=dt, commands=commands, act=act, contact=contact
        )
        """The run: the state and its motion."""
        self.observers: list[Callable[[LiveViewer, ContactMarks | None], None]] = []
        """Called with the viewer and contact points after each state that is shown."""
        self._contacts = LiveContacts(self.run.robot, dt) if self.run.robot.contacts else None
        super().__init__(self.run.robot, self.run.q, **options)
        if playing:
            self.play()

    _shadowed = False

    # Controls -----------------------------------------------------------------------------------------------------

    @property
    def lock(self) -> Any:
        """Held while steps are made."""
        return self.pace.lock

    def play(self) -> None:
        """Run."""
        self.panel.start()

    def pause(self) -> None:
        """Stop."""
        self.panel.pause()

    def step(self, steps: int = 1) -> None:
        """Pause, and make some steps.

        Args:
            steps: Number of steps.
        """
        self.pace.step(steps)
        self.panel.pause()

    def reset(self, pose: str | None = None) -> None:
        """Start again, at rest.

        Args:
            pose: Name of a pose; by default where the run began.
        """
        self.panel.reset(pose)

    def close(self) -> None:
        """End the run, and stop the server."""
        if hasattr(self, "pace"):
            self.pace.close()
        super().close()

    # Inside -------------------------------------------------------------------------------------------------------

    def _stage(self, states: Array, forces: Array, contacts: ContactMarks | None) -> Stage:
        """Forces are drawn beside the robot's weight."""
        robot = self.run.robot
        weight = robot.mass * float(np.linalg.norm(robot.gravity))
        stage = Stage(self.server.scene, robot, states, forces, touches=bool(robot.contacts), strong=weight or 1.0)
        self.hand = HandMarks(self.server.scene, stage.radius)
        return stage

    def _controls(self, gui: Any, q: Array, words: str) -> None:
        """The run, and the joints."""
        self.pace = Pace(self.run, self._show_run)
        tabs = gui.add_tab_group()
        with tabs.add_tab("run"):
            self.panel = LivePanel(gui, self.pace, self._show_run)
        with tabs.add_tab("joints"):
            self.posing = Posing(gui, self.run.robot, q, words, self._posed)
        self.stage.on_drag(self._dragged)
        self.stage.ground.cast_shadows(False)  # they take most of the time of drawing

    def _posed(self, q: Array) -> None:
        """A slider of a joint has moved the robot: it starts from there."""
        self.panel.pause()
        with self.lock:
            self.run.move_to(q)
        self._show_run()
        self.panel.say(at_once=True)

    def _show_run(self) -> None:
        """Show the state of the run."""
        run, marks = self.run, None
        with self.lock:
            q, v, multipliers, row = run.q, run.v, run.multipliers, run.contact_state
            pulled, hand = run.pulled, run.hand
        if self._contacts is not None and row is not None and self.stage.shows_contacts:
            layout = run.stepper.contact_row
            if layout is not None:
                marks = self._contacts.marks(q, v, row[layout.places["points"]])
        with self._lock, self.server.atomic():
            self._move(q, multipliers, marks)
            if pulled is None or hand is None:
                self.hand.show(None)
            else:
                self.hand.show(pulled.point, hand.target, self.stage.per_newton * pulled.force)
            self.panel.say()
        for observer in self.observers:
            observer(self, marks)

    def _dragged(self, body: str, phase: str, point: Array, target: Array) -> None:
        """The mouse pulls a body."""
        with self.lock:
            if phase == "start":
                self.run.pull(body, point, target)
            elif phase == "update":
                self.run.drag(target)
            else:
                self.run.release()
        if not self.pace.playing:
            self._show_run()

    @property
    def _moves(self) -> bool:
        """Forces act."""
        return True
