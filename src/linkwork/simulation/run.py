"""What a simulation leaves behind."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.dynamics import Array, Pose, constraint_error, energy, frame_placement
from linkwork.errors import InputError, NotFinite
from linkwork.forward import NamedRows
from linkwork.mechanism import Mechanism
from linkwork.simulation import files

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.figure import Figure

    from linkwork.viewer import Viewer


RESUMED = (
    *("dt", "integrator", "method", "record_every", "project_every", "time_constant", "passive", "limits"),
    *("tolerance", "stops_at", "damping", "iterations", "wrenches", "controller_output"),
)
"""Settings with which a run goes on."""


@dataclass(frozen=True, eq=False)
class Run:
    """States of a robot over time. Arrays begin with the axis of time; in rollouts the next one is that of the batch.

    A run that ended early says so in `ended`, and holds what was found until then.
    """

    robot: Mechanism | None
    """What moved; None where a file was read without it."""
    times: Array
    """Seconds, ``(k,)``."""
    q: Array
    """Configurations, ``(k, ..., nq)``."""
    v: Array
    """Joint velocities, ``(k, ..., nv)``."""
    tau: Array
    """Torques in the step that follows, at its start: those given, and what actuators make of commands (for the last
    state, of what was given before)."""
    multipliers: Array
    """Forces of all constraints in a row in the step that led to each state, ``(k, ..., nc)``; zero at the start."""
    settings: dict[str, Any] = field(default_factory=dict)
    """How it was made: integrator, dt and more."""
    ended: str = ""
    """Why it ended before its time; empty if it did not."""
    commands: Array | None = None
    """Commands of the actuators in the step that follows, ``(k, ..., actuators)``; None where there were none."""

    @property
    def forces(self) -> NamedRows:
        """Forces of the constraints by name, ``(k, ..., rows)`` each."""
        return NamedRows(self._known(), self.multipliers)

    @property
    def energy(self) -> dict[str, Array]:
        """Kinetic, potential, elastic (springs of joints) and total energy, ``(k, ...)`` each, in joules.

        NaN where a run that blew up is beyond what floats hold; see `ended`.
        """
        robot = self._known()
        found = _where_finite(lambda q, v: np.stack(energy(robot, q, v), axis=-1), 2, self.q, self.v)
        kinetic, potential = found[..., 0], found[..., 1]
        elastic = np.zeros(self.v.shape[:-1])
        with np.errstate(over="ignore", invalid="ignore"):
            if self.settings.get("passive", False):
                for joint in robot.joints:
                    stiffness = robot.stiffness[robot.v_slice(joint.name)]
                    if joint.type.nq == joint.type.nv and stiffness.any():
                        off = self.q[..., robot.q_slice(joint.name)] - joint.rest
                        elastic = elastic + 0.5 * (off * off) @ stiffness
            total = kinetic + potential + elastic
        return {"kinetic": kinetic, "potential": potential, "elastic": elastic, "total": total}

    @property
    def errors(self) -> Array:
        """The most that any loop is open, ``(k, ...)``, in metres or radians; NaN where a state is not finite."""
        robot = self._known()
        if not robot.nc:
            return np.zeros(self.q.shape[:-1])
        rows = np.concatenate([np.full(c.rows, c.enabled) for c in robot.constraints])
        error = _where_finite(lambda q: constraint_error(robot, q), robot.nc, self.q)
        found: Array = np.abs(error * rows).max(axis=-1, initial=0.0)
        return found

    def joint_position(self, joint: str) -> Array:
        """Coordinates of a joint over time, ``(k, ...)``; of one with several, ``(k, ..., n)``.

        Args:
            joint: Name of the joint.
        """
        robot = self._known()
        found: Array = self.q[..., robot.q_slice(joint)]
        return found[..., 0] if found.shape[-1] == 1 else found

    def frame_placement(self, frame: str) -> Pose:
        """Where a frame is in the world over time: rotations ``(k, ..., 3, 3)`` and positions ``(k, ..., 3)``.

        Args:
            frame: Name of a frame or body.
        """
        robot = self._known()

        def numbers(q: Array) -> Array:
            R, p = frame_placement(robot, q, frame)
            return np.concatenate([R.reshape(len(q), 9), p], axis=-1)

        found = _where_finite(numbers, 12, self.q)
        return Pose(found[..., :9].reshape(*found.shape[:-1], 3, 3), found[..., 9:])

    def __len__(self) -> int:
        return len(self.times)

    def at(self, time: float) -> tuple[Array, Array]:
        """``q`` and ``v`` of the recorded state nearest to a time.

        Args:
            time: Seconds.
        """
        k = int(np.abs(self.times - time).argmin())
        return self.q[k], self.v[k]

    def _known(self) -> Mechanism:
        if self.robot is None:
            raise InputError("this run does not know its robot: Run.load(path, robot)")
        return self.robot

    def resume(self, index: int = -1, *, seconds: float, **changes: Any) -> Run:
        """Go on from a recorded state as `simulate` would have, or with other arguments of `simulate`.

        Args:
            index: Which recorded state to go on from.
            seconds: How long.
            changes: Other arguments of `simulate`.
        """
        from linkwork.simulation.single import simulate

        if self.q.ndim != 2:
            raise InputError("rollouts cannot be resumed: simulate one of their states")
        robot, kept = self._known(), self.settings
        how = {name: kept[name] for name in RESUMED if name in kept} | {"tau": self.tau[index]}
        if self.commands is not None and np.isfinite(self.commands[index]).all():
            how |= {"tau": kept["tau"], "commands": self.commands[index]}
        if kept.get("control_every"):
            how["control_every"] = kept["control_every"]
        how |= {"start": float(self.times[index]), "closed": False} | changes
        return simulate(robot, self.q[index], self.v[index], seconds=seconds, **how)

    # Files ----------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Keep the run in one file, ``.npz`` or ``.parquet``; an older one is replaced only when the new one is whole.

        A Parquet file has a column for each number, called after joints and constraints, for tools that read tables.

        Args:
            path: File to write, ``.npz`` or ``.parquet``.
        """
        words = {"robot": self._name(), "settings": self.settings, "ended": self.ended}
        arrays = {name: getattr(self, name) for name in files.ARRAYS}
        if self.commands is not None:
            arrays["commands"] = self.commands
        return files.write(path, words, arrays, self.robot)

    @classmethod
    def load(cls, path: str | os.PathLike[str], robot: Mechanism | None = None) -> Run:
        """A saved run; with its robot it also knows energies, forces by name and how to be drawn.

        Args:
            path: File to read, ``.npz`` or ``.parquet``.
            robot: The robot that the run is of.
        """
        words, arrays = files.read(path)
        if robot is not None and (robot.nq, robot.nv) != (arrays["q"].shape[-1], arrays["v"].shape[-1]):
            raise InputError(f"{path} is of '{words['robot']}', not of '{robot.name}': it has other numbers of joints")
        return cls(robot, settings=words["settings"], ended=words["ended"], **arrays)

    def _name(self) -> str:
        return "" if self.robot is None else self.robot.name

    # Looking --------------------------------------------------------------------------------------------

    def _abscissa(self) -> tuple[Array, str]:
        """What plots have on their horizontal axis, and words for it."""
        return self.times, "time [s]"

    def _moment(self, k: int) -> str:
        """Words for the k-th state, for pictures."""
        return f"t = {self.times[k]:.3f} s"

    def _made(self) -> str:
        """How it was made, for titles."""
        return f"{self.settings.get('integrator', '')}, dt {self.settings.get('dt', 0):g} s"

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Joint positions, energies, how far loops open, and constraint forces over time; to a file if asked.

        Of a run that ended early, as far as it went; its title says where that was, and why.

        Args:
            path: File to write; by default none.
        """
        from linkwork.simulation.plots import draw_run

        return draw_run(self, path)

    def picture(
        self,
        time: float | None = None,
        path: str | os.PathLike[str] | None = None,
        *,
        view: tuple[float, float] | None = None,
        index: int = 0,
    ) -> Figure:
        """The robot as a stick figure at the recorded state nearest to a time.

        Args:
            time: Seconds; by default the last state's.
            path: File to write; by default none.
            view: Elevation and azimuth of the eye, in degrees.
            index: Which robot, of rollouts.
        """
        from linkwork.simulation.figures import draw_state

        return draw_state(self, time, path, view, index)

    def animate(
        self, fps: float = 25, *, view: tuple[float, float] | None = None, speed: float = 1.0, index: int = 0
    ) -> FuncAnimation:
        """The run as matplotlib's animation, ``.to_jshtml()`` of which plays in a notebook; see `save_video`.

        Args:
            fps: Pictures in one second.
            view: Elevation and azimuth of the eye, in degrees.
            speed: Seconds of the run shown in one second.
            index: Which robot, of rollouts.
        """
        from linkwork.simulation.figures import animation

        return animation(self, fps, view, speed, index)

    def save_video(
        self,
        path: str | os.PathLike[str],
        fps: float = 25,
        *,
        view: tuple[float, float] | None = None,
        speed: float = 1.0,
        index: int = 0,
    ) -> Path:
        """The run as a moving stick figure in a .gif, .mp4 or animated .png, ``speed`` seconds of it in one second.

        An .mp4 needs ffmpeg, which ``pip install 'linkwork[video]'`` brings. Forces with which the world holds bodies
        are arrows. ``view`` and ``index`` are as for `picture`.

        Args:
            path: File to write; an existing one is replaced.
            fps: Pictures in one second.
            view: Elevation and azimuth of the eye, in degrees.
            speed: Seconds of the run shown in one second.
            index: Which robot, of rollouts.
        """
        from linkwork.simulation.figures import write_video

        return write_video(self, path, fps, view, speed, index)

    def view(self, *, index: int = 0, port: int = 8080, open_browser: bool | None = None, wait: bool = False) -> Viewer:
        """Show the run in the browser, with a slider for time. See `viewer.Viewer`.

        Args:
            index: Which robot, of rollouts.
            port: Port to listen to; where it is taken, the next free one.
            open_browser: Whether to open a browser; by default where there is a display.
            wait: Whether to wait until Ctrl-C.
        """
        how = {"index": index, "port": port, "open_browser": open_browser}
        viewer: Viewer = import_module("linkwork.viewer").Viewer(self, **how)
        if wait:
            viewer.wait()
        return viewer

    def save_html(self, path: str | os.PathLike[str], fps: float = 25, *, speed: float = 1.0, index: int = 0) -> Path:
        """The run as one page that plays in any browser, without a server or a network; see `viewer.Viewer`.

        Args:
            path: File to write; an existing one is replaced.
            fps: States in one second.
            speed: Seconds of the run shown in one second.
            index: Which robot, of rollouts.
        """
        how = {"index": index, "open_browser": False, "quiet": True}
        with import_module("linkwork.viewer").Viewer(self, **how) as viewer:
            found: Path = viewer.save_html(path, fps, speed=speed)
        return found

    def part(self, start: int = 0, stop: int | None = None) -> Run:
        """Some of the recorded states.

        Args:
            start: Index of the first state.
            stop: Index after the last state; by default all to the end.
        """
        at = slice(start, stop)
        arrays = {name: getattr(self, name)[at] for name in ("times", "q", "v", "tau", "multipliers")}
        return replace(self, **arrays, commands=None if self.commands is None else self.commands[at])

    def __repr__(self) -> str:
        span = f"{self.times[0]:g} to {self.times[-1]:g} s" if len(self) else "nothing"
        batch = f", {int(np.prod(self.q.shape[1:-1]))} robots" if self.q.ndim > 2 else ""
        ended = f", ended: {self.ended}" if self.ended else ""
        return f"<Run of '{self._name()}', {span}, {len(self)} states{batch}{ended}>"


def _where_finite(quantity: Callable[..., Array], width: int, *arrays: Array) -> Array:
    """A quantity of states, ``(..., width)``: NaN where a state is not finite, or so large that the quantity is not."""
    lead = arrays[0].shape[:-1]
    count = int(np.prod(lead, dtype=np.int64))
    rows = [x.reshape(count, x.shape[-1]) for x in arrays]
    found = np.full((count, width), np.nan)
    pending = [np.flatnonzero(np.all([np.isfinite(x).all(axis=-1) for x in rows], axis=0))]
    while pending:
        at = pending.pop()
        try:
            found[at] = quantity(*(x[at] for x in rows))
        except NotFinite:  # of one of them at least
            if len(at) > 1:
                pending += np.array_split(at, 2)
    return found.reshape(*lead, width)
