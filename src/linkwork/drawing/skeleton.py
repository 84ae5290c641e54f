# SPDX-License-Identifier: BSD-3-Clause
"""Robots as bones: points on bodies, rods between them, where constraints hold them, and with which forces.

A body is straight rods from the origin of its joint to those of the joints it carries and to the places where
constraints hold it; one that carries nothing and is held nowhere, a rod to its center of mass. Places of all states
come from one call of `frame_placement`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkwork.model.constraints import TURN_ROWS, WORLD, Pair
from linkwork.model.contacts import contact_shapes
from linkwork.model.joints import Free, Helical, Planar, Prismatic
from linkwork.model.model import Model
from linkwork.model.pairs import MEET, ON_LINE, ON_PLANE, ROD, ROLLING
from linkwork.model.placement import Placement
from linkwork.model.shapes import Ground
from linkwork.quantities.arguments import Array
from linkwork.quantities.functions import frame_placement

LIMBS = ("#34495e", "#1f77b4", "#d98c1f", "#7b5ea7", "#2a9d8f", "#a05195", "#6b8e23", "#8c564b")
"""Colors of bodies: a new one where the tree branches, over and over."""
STEEP = 0.1
"""Planes that turn away further, by the cosine of the angle, are no grounds."""
FLAT = 0.05
"""Relative thickness below which a robot is drawn from the front."""

IMMENSE = 1e9
"""A coordinate beyond this, in meters or radians, is that of a trajectory that blew up: the robot would not be seen."""

End = tuple[Pair, int, int]
"""A constraint between two frames, and their points."""


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Points on the bodies of a robot, and the lines between them."""

    robot: Model
    body: npt.NDArray[np.int64]
    """The body of each point by its number, 0 for the world, ``(points,)``."""
    local: Array
    """Points in their bodies' frames, ``(points, 3)``."""
    rods: npt.NDArray[np.int64]
    """Two points each, both of one body."""
    slides: npt.NDArray[np.int64]
    """From where a joint is on its parent to where its body is, for joints that slide."""
    ropes: npt.NDArray[np.int64]
    """The two ends of a `Rod`."""
    marks: dict[str, list[int]]
    """Points by kind: ``joint``, ``mass``, ``loop``, ``held``, ``pin``."""
    held: tuple[End, ...]
    """Constraints between a body and the world, with their first and second points."""
    loops: tuple[End, ...]
    """Constraints between two bodies, with their first and second points."""
    limbs: npt.NDArray[np.int64]
    """A number for the color of each body, the world first."""
    limb: npt.NDArray[np.int64]
    """A number for the color of each rod."""

    def poses(self, q: npt.ArrayLike) -> tuple[Array, Array]:
        """Rotations ``(..., 1 + bodies, 3, 3)`` and positions of the world and of all bodies, as their joints move."""
        placements = frame_placement(self.robot, q, self.robot.body_names)
        named = [self.robot.frames[name].placement.inverse() for name in self.robot.body_names]
        turn = np.array([at.rotation for at in named]).reshape(-1, 3, 3)
        shift = np.array([at.position for at in named]).reshape(-1, 3)
        batch = placements.position.shape[:-2]
        p = placements.position + np.einsum("...nij,nj->...ni", placements.rotation, shift)
        R = np.concatenate([np.broadcast_to(np.eye(3), (*batch, 1, 3, 3)), placements.rotation @ turn], axis=-3)
        return R, np.concatenate([np.zeros((*batch, 1, 3)), p], axis=-2)

    def points(self, q: npt.ArrayLike) -> Array:
        """All points in the world, ``(..., points, 3)``."""
        return self.placed(*self.poses(q))

    def placed(self, R: Array, p: Array) -> Array:
        """All points, of `poses`."""
        points: Array = np.einsum("...nij,nj->...ni", R[..., self.body, :, :], self.local) + p[..., self.body, :]
        return points

    def pushes(self, R: Array, points: Array, multipliers: Array) -> tuple[Array, Array]:
        """Where the world holds bodies, and its forces on them, ``(..., held, 3)`` each."""
        forces = self._forces(self.held, R, points, multipliers)
        on_first = [self.body[second] == 0 for _, _, second in self.held]
        ends = [first if turned else second for turned, (_, first, second) in zip(on_first, self.held, strict=True)]
        signs = np.where(on_first, -1.0, 1.0)[:, None]
        return points[..., np.array(ends, dtype=np.int64), :], signs * forces

    def pulls(self, R: Array, points: Array, multipliers: Array) -> tuple[Array, Array]:
        """Where loops close, and the forces on their second bodies there, ``(..., loops, 3)`` each."""
        ends = np.array([second for _, _, second in self.loops], dtype=np.int64)
        return points[..., ends, :], self._forces(self.loops, R, points, multipliers)

    def _forces(self, ends: Sequence[End], R: Array, points: Array, multipliers: Array) -> Array:
        """Of constraints on their second bodies, in the world's axes; what only turns has none."""
        forces = np.zeros((*points.shape[:-2], len(ends), 3))
        for k, (c, first, second) in enumerate(ends):
            rows = multipliers[..., self.robot.row_slice(c.name)][..., TURN_ROWS[c.turns] :]
            seen = np.zeros((*forces.shape[:-2], 3))  # in the axes of the first frame
            if c.shifts in (MEET, ROLLING):
                seen[:] = rows
            elif c.shifts == ON_LINE:
                seen[..., :2] = rows
            elif c.shifts == ON_PLANE:
                seen[..., 2:] = rows
            frame = self.robot.frames[c.first]
            turn = R[..., self.body[first], :, :] @ (frame.placement * c.frames()[0]).rotation
            force = (turn @ seen[..., None])[..., 0]
            if c.shifts == ROD:
                force = rows * (points[..., second, :] - points[..., first, :]) / c.size
            forces[..., k, :] = force
        return forces


def skeleton(robot: Model) -> Skeleton:
    """The skeleton of a robot: bones, joints and loops to draw."""
    number = {WORLD: 0} | {name: k for k, name in enumerate(robot.body_names, start=1)}
    bodies: list[int] = []
    local: list[Array] = []
    ends: dict[int, list[int]] = {k: [] for k in range(len(number))}
    marks: dict[str, list[int]] = {kind: [] for kind in ("joint", "mass", "loop", "held", "pin")}
    slides: list[tuple[int, int]] = []
    ropes: list[tuple[int, int]] = []
    held: list[End] = []
    loops: list[End] = []

    def put(body: int, at: npt.ArrayLike) -> int:
        bodies.append(body)
        local.append(np.asarray(at, dtype=np.float64))
        ends[body].append(len(bodies) - 1)
        return len(bodies) - 1

    origin = [put(k, np.zeros(3)) for k in range(len(number))]
    for joint in robot.joints:
        me = origin[number[joint.child]]
        if isinstance(joint.type, Free):
            continue
        at = put(number[joint.parent], joint.placement.position)
        if isinstance(joint.type, Prismatic | Helical | Planar):
            slides.append((at, me))
        marks["joint"].append(me)
        if joint.parent == WORLD:
            marks["pin"].append(at)
    for c in robot.constraints:
        if not isinstance(c, Pair) or not c.enabled:
            continue
        pair = []
        for place, there in zip(c.places, c.frames(), strict=True):
            frame = robot.frames[place]
            pair.append(put(number[frame.body], (frame.placement * there).position))
        if c.shifts == ROD:
            ropes.append((pair[0], pair[1]))
        if 0 in (bodies[pair[0]], bodies[pair[1]]):
            held.append((c, pair[0], pair[1]))
            marks["held"].append(pair[0] if bodies[pair[1]] == 0 else pair[1])
        else:
            loops.append((c, pair[0], pair[1]))
            marks["loop"] += pair
    for joint in robot.joints:
        me = number[joint.child]
        if len(ends[me]) == 1:
            marks["mass"].append(put(me, robot.inertias[joint.child].com))
    rods = [(origin[k], end) for k in range(1, len(number)) for end in ends[k][1:]]
    limb = _limbs(robot)
    return Skeleton(
        robot=robot,
        body=np.array(bodies, dtype=np.int64),
        local=np.array(local).reshape(-1, 3),
        rods=_pairs(rods),
        slides=_pairs(slides),
        ropes=_pairs(ropes),
        marks=marks,
        held=tuple(held),
        loops=tuple(loops),
        limbs=np.array(limb, dtype=np.int64),
        limb=np.array([limb[bodies[end]] for _, end in rods], dtype=np.int64),
    )


def _pairs(numbers: Sequence[tuple[int, int]]) -> npt.NDArray[np.int64]:
    return np.array(numbers, dtype=np.int64).reshape(-1, 2)


def _limbs(robot: Model) -> list[int]:
    """A number for each body and the world: that of its parent, or a new one where the parent carries several.

    Bodies of linkages, robots with loops and few bodies, have one each.
    """
    if robot.constraints and len(robot.body_names) <= len(LIMBS):
        return list(range(1 + len(robot.body_names)))
    number = {WORLD: 0} | {name: k for k, name in enumerate(robot.body_names, start=1)}
    carried = [0] * len(number)
    for joint in robot.joints:
        carried[number[joint.parent]] += 1
    limb, last = [0] * len(number), 0
    for joint in robot.joints:
        me, parent = number[joint.child], number[joint.parent]
        last += int(carried[parent] > 1)
        limb[me] = last if carried[parent] > 1 else limb[parent]
    return limb


# How to look at them -------------------------------------------------------------------------------------


def front(extent: Array, up: int) -> tuple[float, float]:
    """Elevation and azimuth: flat robots from the front, others from a corner."""
    flat = extent < FLAT * extent.max()
    if flat.sum() == 1:
        if flat[(up + 2) % 3]:
            return 12.0, -80.0
        if flat[(up + 1) % 3]:
            return 12.0, 10.0
        return 60.0, -80.0
    return 18.0, -55.0


def ground_plane(robot: Model) -> Placement | None:
    """Where the first plane of the world is, its normal along z; None without any."""
    places = [s.placement for s in robot.shapes if s.body == WORLD and isinstance(s.solid, Ground)]
    places += [
        one.placement for one in contact_shapes(robot.contacts) if one.body == WORLD and isinstance(one.solid, Ground)
    ]
    return places[0] if places else None


def on_plane(points: Array, plane: Placement | None, up: int) -> Array:
    """Points, moved along an axis onto a plane that is not parallel to it; as they are without a plane.

    Args:
        points: In the world, ``(..., 3)``.
        plane: Its normal is its z axis.
        up: The number of the axis.
    """
    if plane is None or abs(plane.rotation[up, 2]) < STEEP:
        return points
    normal, moved = plane.rotation[:, 2], points.copy()
    moved[..., up] -= (points - plane.position) @ normal / normal[up]
    return moved


def floor_of(low: float, size: float) -> float:
    """The height of the ground below a robot with this lowest point and size: zero, where it is near."""
    return 0.0 if -0.02 * size <= low <= 0.5 * size else low


def square(size: float) -> float:
    """The side of the ground's squares: 1, 2 or 5 times a power of ten, at most a sixth of ``size``."""
    power = 10.0 ** np.floor(np.log10(size / 6))
    return float(power * max(x for x in (1, 2, 5) if x * power <= size / 6 * (1 + 1e-9)))
