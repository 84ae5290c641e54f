# SPDX-License-Identifier: BSD-3-Clause
"""Trajectories, the results of simulations: recording, plots, files, resumption."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from linkwork.conversions import converted
from linkwork.dynamics.motion import Motion
from linkwork.errors import InputError
from linkwork.inputs import plural, real_number
from linkwork.model.model import Model
from linkwork.quantities.arguments import Array
from linkwork.simulation import files, tables
from linkwork.simulation.contacts import ContactHistory, rows_of_slots
from linkwork.simulation.events import Occurrence
from linkwork.simulation.single import simulate

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.animation import FuncAnimation
    from matplotlib.figure import Figure

    from linkwork.quantities.sensors import SensorValues
    from linkwork.viewer import Viewer


RESUMED = (
    *("dt", "integrator", "method", "record_every", "project_every", "time_constant", "passive", "limits"),
    *(
        "accuracy",
        "stops_at",
        "regularization",
        "tolerance",
        "max_iterations",
        "wrenches",
        "controller_output",
        "contact",
    ),
)
"""Settings with which a simulation is resumed."""


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(Motion):
    """States of a robot over time. Arrays begin with the axis of time; in rollouts the next one is that of the batch.

    A trajectory that ended early says so in `ended`, and holds the states until then.
    """

    @converted
    def resume(self, index: int = -1, *, seconds: float, **changes: Any) -> Trajectory:
        """Continue from a recorded state as `simulate` would have, or with other arguments of `simulate`.

        Constraints are enabled as they were then; events, probes and controllers are given again.

        Args:
            index: Which recorded state to go on from.
            seconds: Duration.
            changes: Other arguments of `simulate`.
        """
        if self.q.ndim != 2:
            raise InputError("rollouts cannot be resumed: simulate one of their states")
        if not -len(self) <= index < len(self):
            raise InputError(f"index is {index}, of {plural(len(self), 'state')} recorded")
        robot, kept = self._known(), self.settings
        if self.enabled is not None:
            names = [c.name for c in robot.constraints]
            robot = robot.switched(dict(zip(names, self.enabled[index].tolist(), strict=True)))
        how = {name: kept[name] for name in RESUMED if name in kept} | {"tau": self.tau[index]}
        if self.commands is not None and np.isfinite(self.commands[index]).all():
            how |= {"tau": kept["tau"], "commands": self.commands[index]}
        if kept.get("control_every"):
            how["control_every"] = kept["control_every"]
        if self.contact_state is not None and changes.get("contact") is not False:
            how["contact_state"] = self.contact_state[index]
        if self.act is not None:
            how["act"] = self.act[index]
        how |= {"start": float(self.times[index]), "closed": False} | changes
        return simulate(Trajectory, robot, self.q[index], self.v[index], seconds=seconds, **how)

    @property
    def integrator(self) -> str:
        """The integrator of its steps; ``settings["integrator_reason"]`` says why, where `simulate` chose it."""
        return str(self.settings["integrator"])

    @property
    def events(self) -> tuple[Occurrence, ...]:
        """Events that occurred, in order: their names, times, and impulses of constraints that were enabled."""
        return tuple(Occurrence(**one) for one in self.settings.get("events", ()))

    @property
    def contacts(self) -> ContactHistory:
        """Contacts by the names of their pairs: forces, gaps, and whether points slide; energy that they took."""
        robot = self._known()
        if self.contact_state is None:
            more = "it has no contact pairs" if not robot.contacts else "contact=False"
            raise InputError(f"'{robot.name}' was simulated without contacts: {more}")
        if not self._has_its_contacts():
            raise InputError(
                f"'{robot.name}' has {len(robot.contacts)} contact pairs, and was simulated with "
                f"{len(self.settings['contact_pairs'])} others: load it with the same, or robot.with_contacts(...)"
            )
        return ContactHistory(robot, self.contact_state, float(self.settings["dt"]))

    def _has_its_contacts(self) -> bool:
        """Whether the robot has the contact pairs with which it was simulated."""
        names = [pair.name for pair in self._known().contacts]
        return self.contact_state is not None and self.settings.get("contact_pairs", names) == names

    def _contacts(self, part: str) -> dict[str, Array]:
        if not self._has_its_contacts():
            return {}
        return {name: getattr(series, part) for name, series in self.contacts.items()}

    @property
    def contact_forces(self) -> Array | None:
        """Forces of contact points along t1, t2, n, ``(k, ..., nslots, 3)``, on second shapes; None without any."""
        return self.contacts.forces if self._has_its_contacts() else None

    @converted
    def sensors(self, names: str | Sequence[str] | None = None) -> SensorValues:
        """Values of sensors at the recorded states by name, ``(k, ..., size)`` each.

        Accelerations and forces are those in the step that follows a state, as MuJoCo's ``mj_step`` has them: it is
        made once more, by semi-implicit Euler, with the torques that acted (for the last state, those given before).

        Args:
            names: Names of sensors; by default all that are computed.
        """
        from linkwork.simulation.sensors import trajectory_sensors

        return trajectory_sensors(self, names)

    # Files ----------------------------------------------------------------------------------------------

    @converted
    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the trajectory to one file, an ``.npz`` unless it ends otherwise; an old one is replaced when the new
        one is whole.

        A Parquet or CSV file has a column for each number, called after joints and constraints, for tools that read
        tables. `load` reads the first two again; a CSV file has numbers alone, without settings.

        Args:
            path: File to write, ``.npz``, ``.parquet`` or ``.csv``.
        """
        words = {"robot": self._name(), "settings": self.settings, "ended": self.ended}
        return files.write(path, words, self._arrays(), self.robot)

    def _arrays(self) -> dict[str, Array]:
        """The records, by the names of files."""
        arrays = {name: getattr(self, name) for name in files.ARRAYS}
        for name in tables.OPTIONAL:
            if getattr(self, name) is not None:
                arrays[name] = getattr(self, name)
        return arrays | {f"{tables.PROBE}{name}": values for name, values in self.probes.items()}

    def to_dataframe(self) -> pandas.DataFrame:
        """The trajectory as a data frame of pandas, indexed by time: a column for each number, as in CSV files.

        Of rollouts, indexed by time and robot. ``pip install pandas``.
        """
        return tables.data_frame(self._arrays(), self.robot)

    def to_xarray(self) -> xarray.Dataset:
        """The trajectory as a dataset of xarray: arrays over ``time`` (and ``robot``), with names of joints.

        ``pip install xarray``.
        """
        return tables.dataset(self._arrays(), self.robot, self.settings)

    @classmethod
    @converted
    def load(cls, path: str | os.PathLike[str], robot: Model | None = None) -> Trajectory:
        """A saved trajectory; with its robot it also knows energies, forces by name and how to be drawn.

        Args:
            path: File to read, ``.npz`` or ``.parquet``.
            robot: The robot that the trajectory is of.
        """
        words, arrays = files.read(path)
        if robot is not None and (robot.nq, robot.nv) != (arrays["q"].shape[-1], arrays["v"].shape[-1]):
            raise InputError(f"{path} is of '{words['robot']}', not of '{robot.name}': it has other numbers of joints")
        cut = len(tables.PROBE)
        probes = {name[cut:]: arrays.pop(name) for name in list(arrays) if name.startswith(tables.PROBE)}
        trajectory = cls(robot, settings=words["settings"], ended=words["ended"], probes=probes, **arrays)
        if robot is None or "contact_rows" not in trajectory.settings or not trajectory._has_its_contacts():
            return trajectory
        settings = {name: value for name, value in trajectory.settings.items() if name != "contact_rows"}
        return replace(trajectory, settings=settings, contact_state=rows_of_slots(robot, arrays["contact_state"]))

    # Looking --------------------------------------------------------------------------------------------

    @converted
    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        joints: str | Sequence[str] | None = None,
        quantities: str | Sequence[str] | None = None,
        degrees: bool = False,
        over: str | None = None,
        polar: bool = False,
    ) -> Figure:
        """Plot curves over time, with separate axes for each unit, and save them where ``path`` is given.

        By default joint positions, energies, how far loops open, constraint forces, and normal forces and gaps of
        contacts. Of a trajectory that ended early, as far as it went; its title says where that was, and why.

        Args:
            path: File to write; by default none.
            joints: Names of joints that are drawn, all of their degrees of freedom; by default those that move most.
                With ``"reactions"`` constraints too, as those of joints that close a loop.
            quantities: Some of ``"positions"``, ``"velocities"``, ``"accelerations"``, ``"torques"``, ``"reactions"``
                (of joints and constraints), ``"power"``, ``"energy"``, ``"errors"``, ``"forces"`` (of constraints) and
                ``"contacts"``; where joints are named, by default positions, velocities, and torques where there are
                any.
            degrees: Whether angles are in degrees.
            over: A joint whose coordinate is on the horizontal axis in place of time: a crank.
            polar: Whether that angle goes around the picture.
        """
        from linkwork.drawing.plots import draw_motion

        return draw_motion(self, path, joints, quantities, degrees, over, polar)

    def picture(
        self,
        path: str | os.PathLike[str] | None = None,
        time: float | None = None,
        *,
        view: tuple[float, float] | None = None,
        index: int = 0,
        trace: str | Sequence[str] = (),
    ) -> Figure:
        """The robot, its shapes and bones, at the recorded state nearest to a time; to a file if asked.

        Args:
            path: File to write; by default none.
            time: Seconds; by default the last state's.
            view: Elevation and azimuth of the eye, in degrees.
            index: Which robot, of rollouts.
            trace: Frames whose paths are drawn.
        """
        from linkwork.drawing.figures import draw_state

        if isinstance(path, Real):
            to = "" if time is None else f"{str(time)!r}, "
            at = f"{real_number(path, 'path'):g}"
            raise InputError(f"path is {at}, needs a file; the time comes after it: picture({to}time={at})")
        return draw_state(self, time, path, view, index, trace)

    @converted
    def diagram(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        trace: str | Sequence[str] = (),
        plane: Literal["xy", "xz", "yz", "oblique"] | None = None,
        frames: int = 60,
        seconds: float | None = None,
        index: int = 0,
    ) -> str:
        """A kinematic diagram in the symbols of textbooks that moves: the text of an SVG file, which browsers play.

        Bars, plates, shapes, a color each; pins, ground, sliders, springs, dampers, cylinders and paths of frames.

        Args:
            path: File to write, ``.svg``; by default none.
            trace: Frames whose paths are drawn.
            plane: Plane of projection; by default the plane that the hinges are normal to, oblique where there is none.
            frames: Pictures at most; browsers interpolate between them.
            seconds: Duration of playback; by default as long as the motion takes.
            index: Which robot, of rollouts.
        """
        from linkwork.drawing.diagrams import diagram

        return diagram(self, path, trace=trace, plane=plane, frames=frames, seconds=seconds, index=index)

    @converted
    def animate(
        self, fps: float = 25, *, view: tuple[float, float] | None = None, speed: float = 1.0, index: int = 0
    ) -> FuncAnimation:
        """The trajectory as matplotlib's animation, ``.to_jshtml()`` of which plays in a notebook; see `save_video`.

        Args:
            fps: Pictures in one second.
            view: Elevation and azimuth of the eye, in degrees.
            speed: Seconds of the trajectory shown in one second.
            index: Which robot, of rollouts.
        """
        from linkwork.drawing.figures import animation

        return animation(self, fps, view, speed, index)

    @converted
    def save_video(
        self,
        path: str | os.PathLike[str],
        fps: float = 25,
        *,
        view: tuple[float, float] | None = None,
        speed: float = 1.0,
        index: int = 0,
        trace: str | Sequence[str] = (),
    ) -> Path:
        """The trajectory, shapes and bones, as a .gif, .mp4 or animated .png.

        An .mp4 needs ffmpeg, which ``pip install 'linkwork[video]'`` brings. Forces with which the world holds bodies,
        and those of contacts, are arrows. ``view`` and ``index`` are as for `picture`.

        Args:
            path: File to write; an existing one is replaced.
            fps: Pictures in one second.
            view: Elevation and azimuth of the eye, in degrees.
            speed: Seconds of the trajectory shown in one second.
            index: Which robot, of rollouts.
            trace: Frames whose paths are drawn.
        """
        from linkwork.drawing.figures import write_video

        return write_video(self, path, fps, view, speed, index, trace)

    @converted
    def view(self, *, index: int = 0, port: int = 8080, open_browser: bool | None = None, wait: bool = False) -> Viewer:
        """Show the trajectory in the browser, with a slider for time. See `viewer.Viewer`.

        Args:
            index: Which robot, of rollouts.
            port: Port to listen to; where it is taken, the next free one.
            open_browser: Whether to open a browser; by default where there is a display.
            wait: Whether to wait until Ctrl-C.
        """
        from linkwork.viewer import Viewer

        viewer = Viewer(self, index=index, port=port, open_browser=open_browser)
        if wait:
            viewer.wait()
        return viewer

    @converted
    def save_html(self, path: str | os.PathLike[str], fps: float = 25, *, speed: float = 1.0, index: int = 0) -> Path:
        """The trajectory as one page that plays in any browser, without a server or a network; see `viewer.Viewer`.

        Args:
            path: File to write; an existing one is replaced.
            fps: States in one second.
            speed: Seconds of the trajectory shown in one second.
            index: Which robot, of rollouts.
        """
        from linkwork.viewer import Viewer

        with Viewer(self, index=index, open_browser=False, quiet=True) as viewer:
            return viewer.save_html(path, fps, speed=speed)
