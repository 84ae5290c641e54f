# SPDX-License-Identifier: BSD-3-Clause
"""Trajectories and live runs as recordings of Rerun (rerun.io): ``pip install 'linkwork[rerun]'``.

| path                        | what is there                                                             |
|-----------------------------|---------------------------------------------------------------------------|
| ``/world``                  | shapes of the world, forever                                               |
| ``/world/NAME``             | the pose of a body over time, and its shapes                               |
| ``/world/contacts``         | points that touch, and their forces on the second shape of each pair       |
| ``/world/tendons``          | paths of spatial tendons                                                   |
| ``/positions``, ``/velocities``, ``/torques`` | of joints with one degree of freedom, by name            |
| ``/energy``, ``/loops``     | kinetic, potential, elastic and total energy; how far loops are open       |
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.conversions import file_path
from linkwork.drawing.contacts import ContactMarks, ContactPictures
from linkwork.drawing.plots import finite_part
from linkwork.drawing.skeleton import IMMENSE, skeleton
from linkwork.drawing.strands import Strands
from linkwork.drawing.surfaces import shape_color, solid_triangles
from linkwork.dynamics.motion import Motion
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.live.window import LiveViewer
from linkwork.model.constraints import WORLD
from linkwork.model.model import Model
from linkwork.model.rotations import quaternion_of
from linkwork.pages.scene import size_at
from linkwork.quantities.arguments import Array

TIME = "time"
"""The timeline: seconds of the robot."""
ARROW = 0.3
"""An arrow of the robot's weight, as a part of its size."""
DETAILED = 100_000
"""Triangles of a mesh, at most."""
ORANGE = (217, 72, 15)


def log_rerun(
    subject: Motion | LiveViewer, path: str | os.PathLike[str] | None = None, *, spawn: bool = False, index: int = 0
) -> Any:
    """Log a trajectory, or a live run from now on, to Rerun: shapes, poses, contacts, tendons and numbers over time.

    Returns Rerun's ``RecordingStream``, to log more into it, to connect it or to flush it.

    Args:
        subject: A trajectory or a sweep, or the viewer of a live run, whose states are logged as they are shown.
        path: The ``.rrd`` file to write; by default nothing is written.
        spawn: Whether to start Rerun's own viewer, and log into it. Without it and without a path, what is logged waits
            in the recording.
        index: Which robot, of rollouts.
    """
    rerun = _rerun()
    if isinstance(subject, Motion):
        motion = finite_part(subject, index, IMMENSE)
        robot, start = motion._known(), motion.q[0]
    elif isinstance(subject, LiveViewer):
        motion, robot, start = None, subject.run.robot, subject.run.q
    else:
        raise InputError(f"a trajectory or a live viewer is logged, not {type(subject).__name__}")
    if path is not None and Path(file_path(path, "path")).suffix.lower() != ".rrd":
        raise InputError(f"{os.fspath(path)} ends in '{Path(path).suffix}'; a recording of Rerun is .rrd")
    recording = rerun.RecordingStream(f"linkwork: {robot.name}")
    if spawn:
        recording.spawn()
    if path is not None:
        recording.save(os.fspath(path))
    log = _Log(rerun, recording, robot, start)
    if motion is not None:
        log.motion(motion)
        recording.flush()
    elif isinstance(subject, LiveViewer):
        subject.observers.append(log.shown)
    return recording


class _Log:
    """A recording of one robot."""

    def __init__(self, rerun: Any, recording: Any, robot: Model, q: Array) -> None:
        self._rerun, self._recording, self._robot = rerun, recording, robot
        self._bones, size = skeleton(robot), size_at(robot, q)
        self._strands = Strands(robot, size)
        weight = robot.mass * float(np.linalg.norm(robot.gravity))
        self._per_newton, self._radius = ARROW * size / (weight or 1.0), 0.006 * size
        self._joints = [joint for joint in robot.joints if joint.type.nq == joint.type.nv == 1]
        up = robot.gravity
        axis = "XYZ"[int(np.abs(up).argmax())] if np.any(up) else "Z"
        sign = "DOWN" if np.any(up) and up[np.abs(up).argmax()] > 0 else "UP"
        view = getattr(rerun.ViewCoordinates, f"RIGHT_HAND_{axis}_{sign}")
        recording.log("/world", view, static=True)
        for name in (WORLD, *robot.body_names):
            self._shapes(name)

    def _place(self, body: str) -> str:
        """The path of a body."""
        escaped: str = self._rerun.escape_entity_path_part(body)
        return "/world" if body == WORLD else f"/world/{escaped}"

    def _shapes(self, body: str) -> None:
        number = 0 if body == WORLD else 1 + self._robot.body_names.index(body)
        for n, shape in enumerate(s for s in self._robot.shapes if s.body == body):
            surface = solid_triangles(shape.solid, DETAILED)
            if surface is None or (shape.color is not None and not shape.color[3] > 0):
                continue
            vertices, faces = surface
            color = (255 * shape_color(shape, int(self._bones.limbs[number]))).astype(np.uint8)
            mesh = self._rerun.Mesh3D(
                vertex_positions=shape.placement.act(vertices), triangle_indices=faces, albedo_factor=(*color, 255)
            )
            self._recording.log(f"{self._place(body)}/{shape.role}/{n}", mesh, static=True)

    def motion(self, motion: Motion) -> None:
        """All states of a trajectory."""
        rerun, record = self._rerun, self._recording.send_columns
        index = [rerun.TimeColumn(TIME, duration=motion.times)]
        R, p = self._bones.poses(motion.q)
        for k, body in enumerate(self._robot.body_names, start=1):
            turns = quaternion_of(R[:, k])
            record(self._place(body), index, rerun.Transform3D.columns(translation=p[:, k], quaternion=turns))
        for place, values in self._series(motion.q, motion.v, motion.tau):
            record(place, index, rerun.Scalars.columns(scalars=values))
        for name, values in motion.energy.items():
            record(f"/energy/{name}", index, rerun.Scalars.columns(scalars=values))
        if self._robot.nc:
            record("/loops/error", index, rerun.Scalars.columns(scalars=motion.errors))
        marks = ContactPictures(motion).at(np.arange(len(motion)))
        for k in range(len(motion)):
            self._recording.set_time(TIME, duration=float(motion.times[k]))
            self._strings(R[k], p[k])
            if marks is not None:
                self._contacts(marks.state(k))

    def shown(self, viewer: LiveViewer, marks: ContactMarks | None) -> None:
        """A state of a live run."""
        run, rerun = viewer.run, self._rerun
        self._recording.set_time(TIME, duration=run.time)
        R, p = self._bones.poses(run.q)
        for k, body in enumerate(self._robot.body_names, start=1):
            pose = rerun.Transform3D(translation=p[k], quaternion=quaternion_of(R[k]))
            self._recording.log(self._place(body), pose)
        for place, values in self._series(run.q[None], run.v[None], np.zeros((1, 0))):
            self._recording.log(place, rerun.Scalars(values))
        self._strings(R, p)
        if self._robot.contacts:
            self._contacts(marks)

    def _series(self, q: Array, v: Array, tau: Array) -> Iterator[tuple[str, Array]]:
        """Numbers of joints over time, and where they are logged."""
        for joint in self._joints:
            name, at = self._rerun.escape_entity_path_part(joint.name), self._robot.v_slice(joint.name).start
            yield f"/positions/{name}", q[:, self._robot.q_slice(joint.name).start]
            yield f"/velocities/{name}", v[:, at]
            if tau.shape[-1] and np.any(tau):
                yield f"/torques/{name}", tau[:, at]

    def _strings(self, R: Array, p: Array) -> None:
        if self._strands.tendons:
            lines = self._rerun.LineStrips3D(self._strands.tendon_lines(R, p), radii=self._radius)
            self._recording.log("/world/tendons", lines)

    def _contacts(self, marks: ContactMarks | None) -> None:
        points, pushes = np.zeros((0, 3)), np.zeros((0, 3))
        if marks is not None:
            points, pushes = marks.points[marks.touching], self._per_newton * marks.forces[marks.touching]
        arrows = self._rerun.Arrows3D(origins=points, vectors=pushes, radii=self._radius, colors=ORANGE)
        self._recording.log("/world/contacts/forces", arrows)
        self._recording.log("/world/contacts/points", self._rerun.Points3D(points, radii=self._radius, colors=ORANGE))
        total = 0.0 if marks is None else float(np.linalg.norm(marks.forces[marks.touching], axis=-1).sum())
        self._recording.log("/contacts/force", self._rerun.Scalars(total))


def _rerun() -> Any:
    try:
        return import_module("rerun")
    except ImportError:
        raise UnsupportedFeature("recordings of Rerun need rerun-sdk: pip install 'linkwork[rerun]'") from None
