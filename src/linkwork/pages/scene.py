# SPDX-License-Identifier: BSD-3-Clause
"""The scene of a page, as plain data: shapes and bones of bodies in the frames that the program places."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.drawing.pictures import GROUND, LOOP
from linkwork.drawing.skeleton import LIMBS, Skeleton, skeleton
from linkwork.drawing.surfaces import field_triangles
from linkwork.model.constraints import TURN_ROWS, WORLD, Pair
from linkwork.model.joints import Free, Helical, Prismatic, Revolute
from linkwork.model.model import Model
from linkwork.model.pairs import MEET, ROLLING
from linkwork.model.placement import Placement
from linkwork.model.rotations import aligning_rotation
from linkwork.model.shapes import Box, Cylinder, Ellipsoid, HeightField, Mesh, Shape, Sphere
from linkwork.quantities.arguments import Array
from linkwork.viewer.framing import FIELD_OF_VIEW, framing
from linkwork.viewer.solids import MeshFiles, corners, rgb_of
from linkwork.viewer.stage import ARROW, BONE

FARTHER = 1.3
"""Distance of the camera relative to the viewer's: there are plots in front."""
PLAIN = (0.7, 0.72, 0.75)
JOINT = rgb_of("#565c66")
TRIANGLES = 100_000
"""Triangles of all meshes, at most: further ones are drawn as bones."""


def scene(robot: Model, states: Array, mobile: dict[str, Array]) -> dict[str, Any]:
    """Everything that is drawn of a robot.

    Args:
        robot: The mechanism.
        states: Configurations that are seen, ``(states, nq)``, the first one first: how large the picture is.
        mobile: Parameters with link lengths that sliders change, by name.
    """
    bones, meshes = skeleton(robot), _Meshes()
    names = (WORLD, *robot.body_names)
    frames = [Placement(), *(robot.frames[name].placement.inverse() for name in robot.body_names)]
    shapes = {name: _chosen(robot, name, meshes) for name in names}
    R, p = bones.poses(states)
    points = [bones.placed(R, p), *_around(shapes, names, R, p, meshes)]
    view = framing(robot, np.concatenate(points, axis=1))
    mass = sum(robot.inertias[name].mass for name in robot.body_names)
    weight = mass * max(float(np.linalg.norm(robot.gravity)), 1.0)
    drawn = [shape for seen in shapes.values() for shape in seen]
    return {
        "framing": {
            "up": view.up.tolist(),
            "xAxis": view.level[:, 0].tolist(),
            "yAxis": view.level[:, 1].tolist(),
            "size": view.size,
            "floor": view.floor,
            "square": view.side,
            "center": view.center.tolist(),
            "eye": (view.center + FARTHER * (view.eye - view.center)).tolist(),
            "fov": float(FIELD_OF_VIEW),
            "radius": BONE * view.size,
            "perNewton": ARROW * view.size / max(weight, 1e-9),
        },
        "bodies": [
            {
                "name": name,
                "shapes": [
                    shape_fields
                    for s in shapes[name]
                    if (shape_fields := _shape(s, frames[k] * s.placement, meshes)) is not None
                ],
            }
            for k, name in enumerate(names)
        ],
        "seeThrough": bool(drawn) and all(shape.role != "visual" for shape in drawn),
        "points": _points(robot, bones, frames, mobile),
        "rods": [
            {"ends": [int(i), int(j)], "color": rgb_of(LIMBS[limb % len(LIMBS)])}
            for (i, j), limb in zip(bones.rods, bones.limb.tolist(), strict=True)
        ],
        "pins": _pins(robot, frames),
        "marks": [
            *({"point": k, "color": rgb_of(LOOP)} for k in bones.marks["loop"]),
            *({"point": k, "color": rgb_of(GROUND)} for k in bones.marks["held"]),
        ],
        "slides": bones.slides.tolist(),
        "ropes": bones.ropes.tolist(),
        "forces": _forces(robot, bones, frames),
        "meshes": meshes.data,
        "skipped": meshes.skipped,
    }


def size_at(robot: Model, q: Array) -> float:
    """The longest edge of the box around the bones of a robot, in meters.

    Args:
        robot: The mechanism.
        q: Its configuration.
    """
    return max(float(np.ptp(skeleton(robot).points(q), axis=0).max()), 1e-3)


def _chosen(robot: Model, body: str, meshes: _Meshes) -> list[Shape]:
    """The shapes that a body is drawn with: visual ones, or where it has none, those of collisions."""
    own = [s for s in robot.shapes if s.body == body and corners(s.solid, meshes.files) is not None]
    seen = [s for s in own if s.role == "visual" and (s.color is None or s.color[3] > 0)]
    return seen or [s for s in own if s.role == "collision"]


def _around(shapes: dict[str, list[Shape]], names: Sequence[str], R: Array, p: Array, meshes: _Meshes) -> list[Array]:
    """Corners of boxes around the shapes of bodies, in the world."""
    points = []
    for k, name in enumerate(names[1:], start=1):
        for shape in shapes[name]:
            box = corners(shape.solid, meshes.files)
            if box is not None:
                local = box @ shape.placement.rotation.T + shape.placement.position
                points.append(np.einsum("tij,nj->tni", R[:, k], local) + p[:, None, k])
    return points


def _place(at: Placement) -> dict[str, Any]:
    return {"position": at.position.tolist(), "rotation": at.rotation.ravel().tolist()}


def _shape(shape: Shape, at: Placement, meshes: _Meshes) -> dict[str, Any] | None:
    color = list(shape.color[:3]) if shape.color is not None else list(PLAIN)
    more: dict[str, Any] = {"color": color, **_place(at)}
    if shape.color is not None and shape.color[3] < 1:
        more["faint"] = True
    match shape.solid:
        case Box(size=size):
            return {"kind": "box", "size": list(size), **more}
        case Sphere(radius=radius):
            return {"kind": "ball", "size": [radius] * 3, **more}
        case Ellipsoid(radii=radii):
            return {"kind": "ball", "size": list(radii), **more}
        case Cylinder(radius=radius, length=length, rounded=rounded):
            return {"kind": "capsule" if rounded else "cylinder", "size": [radius, length], **more}
        case HeightField() as field:
            vertices, faces = field_triangles(field)
            return {"kind": "mesh", "mesh": meshes.add(vertices, faces), **more}
        case Mesh() as mesh:
            number = meshes.of_file(mesh)
            return None if number is None else {"kind": "mesh", "mesh": number, **more}
    return None


class _Meshes:
    """Triangles of files, each once, with corners as 16-bit integers of the box around them."""

    def __init__(self) -> None:
        self.files = MeshFiles()
        self.data: list[dict[str, Any]] = []
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._triangles = 0
        self._large: dict[str, str] = {}

    @property
    def skipped(self) -> dict[str, str]:
        """Meshes that are not drawn, and why."""
        return {**self.files.skipped, **self._large}

    def of_file(self, mesh: Mesh) -> int | None:
        """The number of a mesh; None where it is not drawn."""
        triangles = self.files.triangles(mesh)
        if triangles is None:
            return None
        key = (mesh.file, tuple(np.ravel(mesh.scale)))
        if key not in self._numbers:
            if self._triangles + len(triangles.faces) > TRIANGLES:
                self._large[mesh.name] = f"all meshes together have more than {TRIANGLES} triangles"
                return None
            self._numbers[key] = self.add(triangles.vertices * mesh.scale, triangles.faces)
        return self._numbers[key]

    def add(self, vertices: Array, faces: Any) -> int:
        """The number of a further mesh."""
        self._triangles += len(faces)
        low, high = vertices.min(axis=0), vertices.max(axis=0)
        scale = np.maximum(high - low, 1e-9) / 65535
        packed = np.rint((vertices - low) / scale).astype("<u2")
        narrow = len(vertices) < 1 << 16
        self.data.append(
            {
                "vertices": base64.b64encode(packed.tobytes()).decode(),
                "low": low.tolist(),
                "scale": scale.tolist(),
                "indices": base64.b64encode(faces.astype("<u2" if narrow else "<u4").tobytes()).decode(),
                "narrow": narrow,
            }
        )
        return len(self.data) - 1


def _points(
    robot: Model, bones: Skeleton, frames: Sequence[Placement], mobile: dict[str, Array]
) -> list[dict[str, Any]]:
    """Points of bones; those that are a joint's or an anchor's position follow that parameter."""
    sources = _sources(robot, frames, mobile)
    points = []
    for body, local in zip(bones.body.tolist(), bones.local, strict=True):
        point: dict[str, Any] = {"body": body, "at": frames[body].act(local).tolist()}
        source = sources.get(_key(body, local))
        points.append(point if source is None else {**point, "from": {"array": source[0], "at": source[1]}})
    return points


def _sources(robot: Model, frames: Sequence[Placement], mobile: dict[str, Array]) -> dict[Any, tuple[str, int]]:
    """Where in its parameter the position of a point is, by body and position."""
    number = {WORLD: 0} | {name: k for k, name in enumerate(robot.body_names, start=1)}
    sources: dict[Any, tuple[str, int]] = {}
    if "joint_position" in mobile:
        for k, joint in enumerate(robot.joints):
            sources[_key(number[joint.parent], joint.placement.position)] = "joint_position", 3 * k
    if "anchor_position" in mobile:
        pairs = [c for c in robot.constraints if isinstance(c, Pair)]
        for k, c in enumerate(pairs):
            for side, (place, there) in enumerate(zip(c.places, c.frames(), strict=True)):
                frame = robot.frames[place]
                if frame.name == frame.body:  # positions are in the body's own frame
                    at = _key(number[frame.body], (frame.placement * there).position)
                    sources[at] = "anchor_position", 6 * k + 3 * side
    straight = [k for k, at in enumerate(frames) if np.array_equal(at.rotation, np.eye(3)) and not at.position.any()]
    return {key: source for key, source in sources.items() if key[0] in straight}


def _key(body: int, position: Array) -> tuple[int, tuple[float, ...]]:
    return body, tuple((np.round(position, 9) + 0.0).tolist())


def _pins(robot: Model, frames: Sequence[Placement]) -> list[dict[str, Any]]:
    """Solids of joints between bones: pins, blocks that slide, balls."""
    number = {name: k for k, name in enumerate(robot.body_names, start=1)}
    pins = []
    for joint in robot.joints:
        if isinstance(joint.type, Free) or not joint.type.nv:
            continue
        kind, turn = "ball", np.eye(3)
        if isinstance(joint.type, Revolute | Helical):
            kind, turn = "pin", aligning_rotation(joint.type.axis)
        elif isinstance(joint.type, Prismatic):
            kind, turn = "block", aligning_rotation(joint.type.axis)
        k = number[joint.child]
        at = frames[k] * Placement((0.0, 0.0, 0.0), turn)
        pins.append({"body": k, "kind": kind, "color": JOINT, **_place(at)})
    return pins


def _forces(robot: Model, bones: Skeleton, frames: Sequence[Placement]) -> list[dict[str, Any]]:
    """Constraints that hold points together: where their force acts, its first row, and the axes of its rows."""
    forces = []
    for ends, held in ((bones.loops, False), (bones.held, True)):
        for c, first, second in ends:
            if c.shifts not in (MEET, ROLLING):
                continue
            body = int(bones.body[first])
            frame = robot.frames[c.first]
            turn = (frames[body] * frame.placement * c.frames()[0]).rotation
            row = robot.row_slice(c.name).start + TURN_ROWS[c.turns]
            forces.append({"point": int(second), "body": body, "turn": turn.ravel().tolist(), "row": row, "held": held})
    return forces
