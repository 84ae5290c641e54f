# SPDX-License-Identifier: BSD-3-Clause
"""Random mechanisms with random loops, closed at a known configuration: for tests that hold for any mechanism."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from linkwork.conversions import converted
from linkwork.errors import InputError
from linkwork.mechanism import Mechanism
from linkwork.model import lie
from linkwork.model.arrays import Floats
from linkwork.model.constraints import (
    WORLD,
    Cardan,
    CenterOfMass,
    Constraint,
    Cylindrical,
    Hinge,
    JointCoupling,
    JointLock,
    LinearCombination,
    Pair,
    PlaneOnPlane,
    Point,
    PointOnLine,
    PointOnPlane,
    PolynomialCoupling,
    Rod,
    Rolling,
    Slider,
    Weld,
)
from linkwork.model.placement import Placement
from linkwork.model.poses import ASSEMBLED
from linkwork.zoo.basic import random_direction, random_placement, random_tree
from linkwork.zoo.places import at_least, placements, turn

Rng = np.random.Generator


@dataclass(frozen=True)
class _Scene:
    """A tree at a configuration, to which constraints are added."""

    robot: Mechanism
    q: Floats
    where: dict[str, Placement]
    rng: Rng

    def numbers(self) -> list[tuple[str, float]]:
        """Joints with one coordinate in a vector space, and that coordinate."""
        return [
            (joint.name, float(self.q[self.robot.q_slice(joint.name)][0]))
            for joint in self.robot.joints
            if joint.type.group is lie.VECTOR and joint.type.nv == 1
        ]


@converted
def random_loops(
    seed: int,
    bodies: int = 8,
    loops: int = 2,
    kinds: str = "rphusSf",
    constraints: Sequence[str] | None = None,
    armature: bool = True,
) -> Mechanism:
    """A `random_tree` with random constraints, all of which hold in the pose ``"assembled"``.

    Constraints are between two bodies, or a body and the world; their frames are chosen so that they hold at a random
    configuration, somewhere in the middle of the motion that they allow. A constraint on joint coordinates becomes a
    `Point` if no joint has such coordinates.

    Args:
        seed: Of the random numbers.
        bodies: Number of bodies.
        loops: Number of constraints.
        kinds: Joint types to draw from, as for `random_tree`.
        constraints: Types of constraints to draw from, by name; by default all of `LOOP_KINDS`.
        armature: Whether some joints have armature.
    """
    chosen = list(LOOP_KINDS if constraints is None else constraints)
    at_least(bodies, 1, "bodies")
    at_least(loops, 0, "loops")
    if not chosen:
        raise InputError(f"constraints is empty, needs some of {', '.join(LOOP_KINDS)}")
    for name in chosen:
        if name not in LOOP_KINDS:
            raise InputError(f"constraint '{name}' is none of {', '.join(LOOP_KINDS)}")
    robot = random_tree(seed, bodies, kinds, armature)
    rng = np.random.default_rng([seed, bodies, loops])
    q = robot.random(rng)
    scene = _Scene(robot, q, placements(robot, q, [WORLD, *robot.body_names]), rng)
    loops_between = []
    for k in range(loops):
        kind = chosen[int(rng.integers(len(chosen)))]
        loops_between.append(replace(LOOP_KINDS[kind](scene), name=f"loop{k}"))
    closed = robot.constrained(*loops_between)
    return replace(closed, name=f"random loops {seed}", poses={ASSEMBLED: q})


# Between two frames ----------------------------------------------------------------------------------


def _pair(make: Callable[[str, str, Placement, Rng], Pair], allowed: Callable[[Rng], Placement]) -> _Maker:
    """Constrains two bodies so that the second frame is where ``allowed`` moves it from the first."""

    def closed(scene: _Scene) -> Constraint:
        rng, places = scene.rng, list(scene.where)
        i, j = rng.choice(len(places), 2, replace=False)
        first, second = places[int(i)], places[int(j)]
        open_pair = make(first, second, random_placement(rng), rng)
        # where[first] * F1 * allowed = where[second] * second_at * F2
        F1, F2 = open_pair.frames()
        at = scene.where[second].inverse() * scene.where[first] * F1 * allowed(rng) * F2.inverse()
        return replace(open_pair, second_at=at)

    return closed


def _plain(type: Callable[..., Pair], **options: float) -> Callable[[str, str, Placement, Rng], Pair]:
    return lambda first, second, at, rng: type(first, second, first_at=at, **options)


def _axial(type: Callable[..., Pair], **options: float) -> Callable[[str, str, Placement, Rng], Pair]:
    def make(first: str, second: str, at: Placement, rng: Rng) -> Pair:
        axes = [_axis(rng), _axis(rng)]
        return type(first, second, first_at=at, axis=axes[0], second_axis=axes[1], **options)

    return make


def _axis(rng: Rng) -> Floats:
    """A coordinate axis half of the time."""
    return np.eye(3)[int(rng.integers(3))] if rng.random() < 0.5 else random_direction(rng)


def _stay(rng: Rng) -> Placement:
    return Placement()


def _spin(rng: Rng) -> Placement:
    return turn("z", rng.uniform(-2.0, 2.0))


def _any_turn(rng: Rng) -> Placement:
    x, y, z, w = rng.normal(size=4)
    return Placement.from_quaternion(x, y, z, w)


def _shift(rng: Rng, along: Sequence[float]) -> Placement:
    return Placement(rng.uniform(-0.5, 0.5, 3) * np.asarray(along))


LENGTH, RADIUS = 0.4, 0.15


# On joints and on many bodies ------------------------------------------------------------------------


def _some_numbers(scene: _Scene, count: int) -> list[tuple[str, float]]:
    numbers = scene.numbers()
    order = scene.rng.permutation(len(numbers))[:count]
    return [numbers[int(k)] for k in order]


def _coupling(scene: _Scene) -> Constraint:
    """Two or three joints (a gear, a belt), or what there are."""
    some = _some_numbers(scene, int(scene.rng.integers(2, 4)))
    if not some:
        return LOOP_KINDS["Point"](scene)
    factors = {joint: float(scene.rng.uniform(0.5, 6.0) * scene.rng.choice([-1, 1])) for joint, _ in some}
    return JointCoupling(factors, offset=sum(factors[joint] * q for joint, q in some))


def _polynomial(scene: _Scene) -> Constraint:
    some = _some_numbers(scene, 2)
    if len(some) < 2:
        return LOOP_KINDS["JointLock"](scene)
    (follower, y), (leader, x) = some
    c = scene.rng.uniform(-0.3, 0.3, 5)
    origins = scene.rng.uniform(-0.2, 0.2, 2)
    c[0] = y - origins[0] - sum(c[k] * (x - origins[1]) ** k for k in range(1, 5))
    return PolynomialCoupling(follower, leader, c.tolist(), float(origins[0]), float(origins[1]))


def _lock(scene: _Scene) -> Constraint:
    some = _some_numbers(scene, 1)
    if not some:
        return LOOP_KINDS["Point"](scene)
    joint = some[0][0]
    return JointLock(joint, scene.q[scene.robot.q_slice(joint)].tolist())


def _center_of_mass(scene: _Scene) -> Constraint:
    """Of all bodies or of some, along some axes of a turned frame, at which the others are off."""
    rng, robot = scene.rng, scene.robot
    count = int(rng.integers(1, len(robot.joints) + 1))
    names = [robot.body_names[int(k)] for k in rng.permutation(len(robot.joints))[:count]]
    inertias = [robot.inertias[name] for name in names]
    moved = [inertia.moved(scene.where[name]) for name, inertia in zip(names, inertias, strict=True)]
    center = sum((part.mass * part.com for part in moved), np.zeros(3)) / sum(part.mass for part in moved)
    axes = str(rng.choice(["x", "yz", "xyz", "zx"]))
    free = [0.0 if axis in axes else float(rng.uniform(-1, 1)) for axis in "xyz"]
    at = Placement(center) * _any_turn(rng) * Placement(free)
    return CenterOfMass(at, axes, None if count == len(robot.joints) else tuple(names))


def _combination(scene: _Scene) -> Constraint:
    rng = scene.rng
    names = [scene.robot.body_names[int(k)] for k in rng.permutation(len(scene.robot.joints))[:2]]
    rows = int(rng.integers(1, 4))
    reference: Literal["local", "aligned"] = "local" if rng.random() < 0.5 else "aligned"
    return LinearCombination({name: rng.uniform(-1, 1, (rows, 6)) for name in names}, reference)


_Maker = Callable[[_Scene], Constraint]

LOOP_KINDS: dict[str, _Maker] = {
    "Weld": _pair(_plain(Weld), _stay),
    "Hinge": _pair(_axial(Hinge), _spin),
    "Slider": _pair(_axial(Slider), lambda rng: _shift(rng, (0, 0, 1))),
    "Cylindrical": _pair(_axial(Cylindrical), lambda rng: _spin(rng) * _shift(rng, (0, 0, 1))),
    "Cardan": _pair(_axial(Cardan), lambda rng: turn("x", rng.uniform(-1, 1)) * turn("y", rng.uniform(-1, 1))),
    "Point": _pair(_plain(Point), _any_turn),
    "PlaneOnPlane": _pair(_axial(PlaneOnPlane), lambda rng: _shift(rng, (1, 1, 0)) * _spin(rng)),
    "PointOnLine": _pair(_axial(PointOnLine), lambda rng: _shift(rng, (0, 0, 1)) * _any_turn(rng)),
    "PointOnPlane": _pair(_axial(PointOnPlane), lambda rng: _shift(rng, (1, 1, 0)) * _any_turn(rng)),
    "Rod": _pair(_plain(Rod, length=LENGTH), lambda rng: Placement(LENGTH * random_direction(rng)) * _any_turn(rng)),
    "Rolling": _pair(
        _axial(Rolling, radius=RADIUS),
        lambda rng: Placement((0, 0, RADIUS)) * _shift(rng, (1, 1, 0)) * _any_turn(rng),
    ),
    "JointCoupling": _coupling,
    "PolynomialCoupling": _polynomial,
    "JointLock": _lock,
    "CenterOfMass": _center_of_mass,
    "LinearCombination": _combination,
}
"""Every type of constraint: how `random_loops` makes one that holds."""
