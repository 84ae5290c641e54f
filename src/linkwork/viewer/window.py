# SPDX-License-Identifier: BSD-3-Clause
"""`Viewer`: a server that shows a robot or a trajectory to browsers."""

from __future__ import annotations

import io
import os
import sys
import threading
import webbrowser
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.drawing.contacts import ContactMarks, ContactPictures
from linkwork.drawing.figures import chosen
from linkwork.drawing.plots import finite_part
from linkwork.drawing.skeleton import IMMENSE
from linkwork.dynamics.motion import Motion
from linkwork.errors import InputError, LinkworkError, UnsupportedFeature
from linkwork.inputs import plural
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.viewer.between import ARROWS, PUSHES, SPRINGS, TENDONS, Film
from linkwork.viewer.framing import FIELD_OF_VIEW
from linkwork.viewer.playing import Playing
from linkwork.viewer.posing import Posing, start_of
from linkwork.viewer.stage import ARROW, LOOKS, Stage

ROBOT = "robot"
"""Target of cameras, if not one body: the middle of all."""
MEASURED = 400
"""States of a trajectory that say how large it is and how strong its forces are."""


class Viewer:
    """Shows a robot (at ``q``) or a trajectory in the browser, until `close`.

    The address is in `url`, and printed unless ``quiet``. ``port`` or the next free one is listened to, on this machine
    alone unless ``host`` says otherwise. ``open_browser=None`` opens one where there is a display. Of rollouts,
    ``index`` says which robot. A viewer is a context manager that closes itself.
    """

    def __init__(
        self,
        subject: Model | Motion,
        q: npt.ArrayLike | None = None,
        *,
        index: int = 0,
        port: int = 8080,
        host: str = "127.0.0.1",
        open_browser: bool | None = None,
        quiet: bool = False,
    ) -> None:
        viser = _viser()
        if isinstance(subject, Motion):
            if q is not None:
                raise InputError("a trajectory has its own states: give q with a robot")
            words = ""
            self.motion: Motion | None = finite_part(subject, index, IMMENSE)
            self.robot = self.motion._known()
            some = np.unique(np.linspace(0, len(self.motion) - 1, MEASURED).astype(int))
            states, forces = self.motion.q[some], self.motion.multipliers[some]
            self._touching: ContactPictures | None = ContactPictures(self.motion)
            contacts = self._touching.at(some)
        elif isinstance(subject, Model):
            self.motion, self.robot = None, subject
            at, words = start_of(subject) if q is None else (_one(subject, q), "")
            states, forces = at[None], np.zeros((1, subject.nc))
            self._touching, contacts = None, None
        else:
            raise InputError(f"a viewer shows a robot or a trajectory, not {type(subject).__name__}")
        self._lock = threading.RLock()
        self._done = threading.Event()
        with redirect_stdout(io.StringIO()):  # it prints a table of its own
            self.server: Any = viser.ViserServer(host=host, port=port, label=self.robot.name, verbose=False)
        self.port = int(self.server.get_port())
        self.url = f"http://{'localhost' if host in ('0.0.0.0', '127.0.0.1') else host}:{self.port}"
        self.playing: Playing | None = None
        self.posing: Posing | None = None
        try:
            with self.server.atomic():
                self._furnish(states, forces, contacts, words)
        except BaseException:
            self.close()
            raise
        if not quiet:
            print(f"{self.robot.name}: {self.url}", flush=True)
        if _has_display() if open_browser is None else open_browser:
            webbrowser.open(self.url)

    def _furnish(self, states: Array, forces: Array, contacts: ContactMarks | None, words: str) -> None:
        """The scene and the panel."""
        gui, scene = self.server.gui, self.server.scene
        gui.configure_theme(show_logo=False, show_share_button=False, control_width="medium")
        gui.main_panel.dock_right()
        scene.configure_environment_map(None)  # its light bleaches colors
        scene.add_light_ambient("/sky", intensity=2.5)
        self.stage = self._stage(states, forces, contacts)
        self.follow = ROBOT if self.stage.framing.wanders else ""
        """Target of cameras: at first the robot, if its trajectory leads far away; nothing if empty."""
        self._home = self.stage.middle
        self._camera()
        self._controls(gui, states[0], words)
        self._panel()
        self.server.on_client_connect(self._arrived)

    def _stage(self, states: Array, forces: Array, contacts: ContactMarks | None) -> Stage:
        """The stage of the window."""
        return Stage(self.server.scene, self.robot, states, forces, contacts)

    def _controls(self, gui: Any, q: Array, words: str) -> None:
        """Adds the controls of the robot."""
        if self.motion is not None:
            self.playing = Playing(gui, self.motion, self._show_state)
        else:
            self.posing = Posing(gui, self.robot, q, words, self._move)

    # Looking --------------------------------------------------------------------------------------------

    _shadowed = True
    """Whether bodies cast shadows at first."""

    @property
    def following(self) -> bool:
        """Whether cameras move with the robot or one of its bodies."""
        return bool(self.follow)

    @property
    def _followed(self) -> Array:
        """Position of the body that cameras follow."""
        place: Array = self.stage.places.get(self.follow, self.stage.middle)
        return place

    def show(self, what: float | npt.ArrayLike) -> None:
        """Show the recorded state of a trajectory nearest to a time, or a configuration of a robot, unchanged."""
        if self.playing is not None:
            time = np.asarray(what, dtype=np.float64)
            if time.ndim or not np.isfinite(time):
                raise InputError(f"a trajectory is shown at a time in seconds, not at {what!r}")
            self.playing.go(int(np.abs(self.playing.motion.times - float(time)).argmin()))
        elif self.posing is not None:
            self.posing.go(_one(self.robot, what))

    def wait(self) -> None:
        """Until Ctrl-C, or until another thread closes the viewer."""
        try:
            while not self._done.wait(timeout=0.5):
                pass
        except KeyboardInterrupt:
            print()
        finally:
            self.close()

    def close(self) -> None:
        """Stop the server; pages that are open say that they have lost it."""
        if self._done.is_set():
            return
        self._done.set()
        if self.playing is not None:
            self.playing.close()
        with redirect_stdout(io.StringIO()):
            self.server.stop()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def save_html(self, path: str | os.PathLike[str], fps: float = 25, *, speed: float = 1.0) -> Path:
        """Saves the view as one file that needs no server and no network; a trajectory plays in it, with a time slider.

        ``speed`` seconds of the trajectory pass in one second; states are those recorded nearest to the frames.
        """
        place = Path(path)
        if place.suffix.lower() not in (".html", ".htm"):
            raise InputError(f"{place} ends in '{place.suffix}'; a page is .html")
        with self._lock:
            if self.playing is None or self.motion is None:
                text = self.server.get_scene_serializer().as_html()
            else:
                self.playing.pause()
                kept = self.playing.state
                text = self._filmed(self.motion, chosen(self.motion.times, fps, speed).tolist(), fps)
                self._show_state(kept)
        try:
            place.write_text(text, encoding="utf-8")
        except OSError as error:
            raise LinkworkError(f"cannot write the page to {place}: {error.strerror or error}") from None
        return place

    # Inside ---------------------------------------------------------------------------------------------

    def _filmed(self, motion: Motion, states: list[int], fps: float) -> str:
        """The page of a trajectory that plays."""
        stage = self.stage
        stage.between.show(False)

        def lines(n: int) -> dict[str, Array | None]:
            k = states[n]
            return stage.lines(motion.q[k], motion.multipliers[k], self._marks(k))

        film = Film(stage.lines_at, len(states), lines)
        self._show_state(states[0], lines=False)
        serializer = self.server.get_scene_serializer()
        for n, state in enumerate(states):
            self._show_state(state, lines=False)
            film.show(n)
            serializer.insert_sleep(1 / fps)
        text: str = serializer.as_html()
        film.remove()
        stage.between.show(True)
        return text

    def _show_state(self, k: int, *, lines: bool = True) -> None:
        if self.motion is not None:
            with self._lock:
                marks = self._marks(k) if lines else None
            self._move(self.motion.q[k], self.motion.multipliers[k], marks, lines=lines)

    def _marks(self, k: int) -> ContactMarks | None:
        """Contacts of a state."""
        marks = None if self._touching is None else self._touching.at(np.array([k]))
        return None if marks is None else marks.state(0)

    def _move(
        self,
        q: Array,
        multipliers: Array | None = None,
        contacts: ContactMarks | None = None,
        *,
        lines: bool = True,
    ) -> None:
        """Put the robot there, and cameras that follow it beside it."""
        with self._lock, self.server.atomic():
            before = self._followed
            self.stage.move(q, multipliers, contacts, lines=lines)
            if self.following:
                for client in self.server.get_clients().values():
                    client.camera.position = client.camera.position + (self._followed - before)

    def _arrived(self, client: Any) -> None:
        """A browser has opened the page; it looks at where the robot was first."""
        if self.following:
            client.camera.position = client.camera.position + (self.stage.middle - self._home)

    def _camera(self) -> None:
        view, camera = self.stage.framing, self.server.initial_camera
        camera.position, camera.look_at, camera.up = view.eye, view.center, view.up
        camera.fov, camera.near, camera.far = FIELD_OF_VIEW, 0.01 * view.size, 100 * view.size

    def _panel(self) -> None:
        """Adds the panel of options to draw."""
        gui, stage = self.server.gui, self.stage
        with gui.add_folder("show"):
            if stage.layers.get("shapes"):
                look = gui.add_dropdown("bodies", LOOKS, initial_value=stage.look)
                look.on_update(lambda event: self._do(stage.draw_as, look.value))
            for layer, visible in (
                ("loops", True),
                ("collision", False),
                ("inertia", False),
                ("joint axes", False),
                ("frames", False),
                ("names", False),
                ("ground", True),
                ("terrain", True),
            ):
                if stage.layers.get(layer):
                    self._checkbox(gui, layer, visible)
            for strands in (TENDONS, SPRINGS):
                if strands in stage.between.nodes:
                    self._checkbox(gui, strands, True)
            if self._moves and ARROWS in stage.between.nodes:
                self._checkbox(gui, "forces", True)
            if PUSHES in stage.between.nodes:
                self._checkbox(gui, "contacts", True)
                self._checkbox(gui, "friction cones", False)
            if self._has_arrows():
                scale = gui.add_slider("length of forces", 0.1, 5.0, 0.1, 1.0)
                scale.on_update(lambda event: self._do(stage.scale_forces, scale.value))
            self._shadows(gui)
            if self._moves:
                follow = gui.add_dropdown("follow", ("", ROBOT, *self.robot.body_names), initial_value=self.follow)
                follow.on_update(lambda event: self._do(setattr, self, "follow", follow.value))
        said = gui.add_markdown(self._about())
        stage.clicked = lambda body: setattr(said, "content", self._about(body))

    def _shadows(self, gui: Any) -> None:
        box = gui.add_checkbox("shadows", self._shadowed)
        box.on_update(lambda event: self._do(self.stage.ground.cast_shadows, box.value))

    @property
    def _moves(self) -> bool:
        """Whether forces act: in a trajectory."""
        return self.motion is not None

    def _has_arrows(self) -> bool:
        return self._moves and not {ARROWS, PUSHES}.isdisjoint(self.stage.between.nodes)

    def _checkbox(self, gui: Any, layer: str, visible: bool) -> None:
        box = gui.add_checkbox(layer, visible)
        box.on_update(lambda event: self._do(self.stage.show, layer, box.value))

    def _do(self, action: Any, *arguments: Any) -> None:
        with self._lock, self.server.atomic():
            action(*arguments)

    def _about(self, body: str | None = None) -> str:
        """A body that was clicked on, the lengths of the scale, and shapes that could not be drawn."""
        stage, words = self.stage, []
        if body is not None and body in self.robot.inertias:
            joint = next(j for j in self.robot.joints if j.child == body)
            words.append(
                f"**{body}**, {self.robot.inertias[body].mass:.4g} kg, moved by {joint.name} ({joint.type.kind_name})"
            )
        words.append(f"squares of {stage.framing.side:g} m")
        if self._has_arrows():
            words.append(f"arrows of {ARROW * stage.framing.size:.2g} m for {stage.strong:.3g} N")
        if stage.meshes.skipped:
            name, reason = next(iter(stage.meshes.skipped.items()))
            words.append(
                f"{plural(len(stage.meshes.skipped), 'mesh is', 'meshes are')} not drawn, such as {name}: {reason}"
            )
        return "  \n".join(words)


def _viser() -> Any:
    try:
        return import_module("viser")
    except ImportError:
        raise UnsupportedFeature("the viewer needs viser: pip install 'linkwork[view]'") from None


def _one(robot: Model, q: npt.ArrayLike | float) -> Array:
    pose = robot.normalize(q)
    if pose.ndim != 1:
        raise InputError(f"one configuration of {robot.nq} numbers is shown, not {pose.shape}")
    return pose


def _has_display() -> bool:
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
