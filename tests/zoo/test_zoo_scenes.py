# SPDX-License-Identifier: BSD-3-Clause
"""Robots in contact: sizes as the paper's table gives them, contacts closed and where a robot would touch."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.mechanism import Mechanism
from linkwork.model.constraints import JointLock, Point
from linkwork.zoo.places import placements
from tests.support.states import assert_close


class Scene(NamedTuple):
    """A scene with its velocities, contact points and constraint rows."""

    make: Callable[[], Mechanism]
    nv: int
    contacts: int
    rows: int


ROBOTS = {
    "quadruped standing": Scene(zoo.quadruped_standing, 18, 4, 12),
    "quadruped standing, friction": Scene(functools.partial(zoo.quadruped_standing, True), 18, 4, 24),
    "quadruped fallen": Scene(zoo.quadruped_fallen, 18, 9, 27),
    "quadruped fallen, friction": Scene(functools.partial(zoo.quadruped_fallen, True), 18, 10, 42),
    "humanoid standing": Scene(zoo.humanoid_standing, 35, 8, 24),
    "humanoid standing, friction": Scene(functools.partial(zoo.humanoid_standing, True), 35, 8, 53),
    "humanoid fallen": Scene(zoo.humanoid_fallen, 35, 23, 69),
    "humanoid fallen, friction": Scene(functools.partial(zoo.humanoid_fallen, True), 35, 24, 101),
}
"""delassus, Table I. Of the humanoid fallen with friction it prints 25 contacts; its 101 rows are 24 and 29 joints."""

SCENES = ROBOTS | {"robots on pyramid": Scene(zoo.robots_on_pyramid, 285, 108, 324)}


@functools.cache
def made(name: str) -> Mechanism:
    return SCENES[name].make()


def contacts_of(robot: Mechanism) -> list[Point]:
    return [c for c in robot.constraints if isinstance(c, Point)]


def pose(robot: Mechanism) -> np.ndarray:
    return robot.poses[zoo.ASSEMBLED]


@pytest.mark.parametrize("name", SCENES)
def test_sizes_are_those_of_the_paper(name: str) -> None:
    robot = made(name)
    assert (robot.nv, len(contacts_of(robot)), robot.nc) == SCENES[name][1:]


@pytest.mark.parametrize("name", SCENES)
def test_contacts_are_closed_in_the_assembled_pose(name: str) -> None:
    robot = made(name)
    assert np.abs(lw.constraint_error(robot, pose(robot))).max() <= 1e-12


@pytest.mark.parametrize("name", SCENES)
def test_contacts_with_the_ground_are_on_the_ground(name: str) -> None:
    heights = [c.frames()[0].position[2] for c in contacts_of(made(name)) if c.first == "world"]
    assert_close(heights, np.zeros(len(heights)), 1e-12, scale=1.0)


@pytest.mark.parametrize("name", ROBOTS)
def test_nothing_that_touches_is_said_twice(name: str) -> None:
    """Points of one body are some centimeters apart."""
    found = [(c.second, c.frames()[1].position) for c in contacts_of(made(name))]
    for k, (body, point) in enumerate(found):
        assert all(np.linalg.norm(point - other) > 0.03 for b, other in found[:k] if b == body)


@pytest.mark.parametrize("name", SCENES)
def test_postures_are_within_the_limits(name: str) -> None:
    robot = made(name)
    q = pose(robot)
    assert ((robot.lower <= q) & (q <= robot.upper)).all()


@pytest.mark.parametrize("name", ["quadruped fallen", "quadruped fallen, friction", "humanoid fallen"])
def test_no_joint_of_a_fallen_robot_is_below_the_ground(name: str) -> None:
    robot = made(name)
    where = placements(robot, pose(robot), robot.body_names)
    assert min(place.position[2] for place in where.values()) > 0.015


def test_robots_weigh_what_the_real_ones_do() -> None:
    quadruped, humanoid = zoo.quadruped(), zoo.small_humanoid()
    assert (len(quadruped.joints), quadruped.nv) == (13, 18)
    assert (len(humanoid.joints), humanoid.nv) == (30, 35)
    assert quadruped.mass == pytest.approx(15.4, abs=0.1)
    assert humanoid.mass == pytest.approx(35.0, abs=0.1)


@pytest.mark.parametrize("make", [zoo.quadruped, zoo.small_humanoid])
def test_a_robot_at_rest_is_its_own_mirror_image(make: Callable[[], Mechanism]) -> None:
    robot = make()
    where = placements(robot, robot.poses["standing"], robot.body_names)
    for body in (body for body in robot.body_names if "left" in body):
        mirrored = where[body.replace("left", "right")].position * (1.0, -1.0, 1.0)
        assert_close(where[body].position, mirrored, 1e-15, scale=1.0)
        joint, other = (robot.joint(f"{b}_joint") for b in (body, body.replace("left", "right")))
        sign = 1.0 if np.array_equal(joint.type.axis, (0.0, 1.0, 0.0)) else -1.0  # type: ignore[attr-defined]
        limits = (other.limits.lower, other.limits.upper) if sign > 0 else (-other.limits.upper, -other.limits.lower)
        assert (joint.limits.lower, joint.limits.upper) == limits


@pytest.mark.parametrize("name", [name for name in ROBOTS if "friction" in name])
def test_a_friction_row_is_the_rate_of_its_joint(name: str) -> None:
    robot = made(name)
    J = lw.constraint_jacobian(robot, pose(robot))
    held = [c for c in robot.constraints if isinstance(c, JointLock)]
    assert len(held) == robot.nv - 6
    for lock in held:
        assert lock.name == f"friction_{lock.joint}"
        assert np.array_equal(J[robot.row_slice(lock.name)], np.eye(robot.nv)[[robot.v_index(lock.joint)]])


@pytest.mark.parametrize("name", SCENES)
def test_lcaba_agrees_with_the_dense_solution(name: str) -> None:
    """Where everything is held, accelerations are zero: seen on the scale of 1."""
    robot = made(name)
    q, rng = pose(robot), np.random.default_rng(3)
    v = robot.project_velocity(q, 0.1 * rng.normal(size=robot.nv)) if name in ROBOTS else np.zeros(robot.nv)
    tau = rng.normal(size=robot.nv)
    ours, dense = (lw.ForwardDynamics(robot, method=method)(q, v, tau) for method in ("lcaba", "kkt"))
    assert ours.converged
    assert_close(ours.acceleration, dense.acceleration, 1e-8, scale=1.0)


# Robots on the pyramid ---------------------------------------------------------------------------------


def test_robots_lie_on_the_edges_of_boxes() -> None:
    """A contact is on the edge of a box's top, and within the width of the limb that it is on."""
    robot = made("robots on pyramid")
    on_boxes = [c for c in contacts_of(robot) if c.second.startswith("robot") and c.first != "world"]
    assert len(on_boxes) == 24
    for c in on_boxes:
        x, y, z = np.abs(c.frames()[0].position)
        assert c.first.startswith("pyramid/box")
        assert max(x, y) == pytest.approx(0.1, abs=1e-12) and min(x, y) < 0.1
        assert c.frames()[0].position[2] == pytest.approx(z, abs=0) and z == pytest.approx(0.1, abs=1e-12)
        reach = 0.12 if c.second.endswith(("torso", "pelvis")) else 0.06
        assert np.hypot(*c.frames()[1].position[:2]) < reach


def test_touching_pairs_of_the_scene_have_four_points_each() -> None:
    """Two under a heel; and what bears something is held by the ground, through boxes and robots."""
    contacts = contacts_of(made("robots on pyramid"))
    pairs = Counter(c.places for c in contacts)
    heels = {places for places in pairs if places[0] == "world" and places[1].startswith("robot")}
    assert len(pairs) == 30 and len(heels) == 6
    assert all(count == (2 if places in heels else 4) for places, count in pairs.items())
    joined = {"world"}
    for _ in range(len(pairs)):
        for a, b in ((robot_of(a), robot_of(b)) for a, b in pairs):
            joined |= {a, b} if joined & {a, b} else set()
    assert joined == {robot_of(place) for places in pairs for place in places} and len(joined) == 1 + 17 + 3
    whole = Counter(c.places for c in zoo.pyramid().constraints)
    boxes = {tuple(place.removeprefix("pyramid/") for place in places) for places in pairs if "pyramid" in places[1]}
    assert len(boxes) == 18 and boxes <= set(whole)


def robot_of(place: str) -> str:
    """The robot that a body is of; any other body itself."""
    return place.split("/")[0] if place.startswith("robot") else place


def test_robots_on_the_pyramid_are_above_the_ground_and_apart() -> None:
    """Joints of the robots, and their heads, are at least the width of a wrist apart."""
    robot = made("robots on pyramid")
    bodies = [body for body in robot.body_names if body.startswith("robot")]
    where = placements(robot, pose(robot), bodies)
    places = {body: [place.position] for body, place in where.items()}
    for k in range(3):
        places[f"robot{k}/torso"].append((where[f"robot{k}/torso"] * lw.Placement((0.0, 0.0, 0.45))).position)
    assert min(p[2] for group in places.values() for p in group) > 0.03
    groups = [np.array([p for body in bodies if body.startswith(f"robot{k}") for p in places[body]]) for k in range(3)]
    for a, b in ((0, 1), (1, 2), (0, 2)):
        assert np.linalg.norm(groups[a][:, None] - groups[b][None], axis=-1).min() > 0.06


@pytest.mark.parametrize("robots", [1, 4])
def test_each_robot_adds_twelve_contacts(robots: int) -> None:
    scene = zoo.robots_on_pyramid(robots)
    assert (scene.nv, len(scene.constraints)) == (180 + 35 * robots, 72 + 12 * robots)


@pytest.mark.parametrize("robots", [0, 5])
def test_a_pyramid_has_four_sides(robots: int) -> None:
    with pytest.raises(lw.errors.InputError, match="robots"):
        zoo.robots_on_pyramid(robots)


# Any robot ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_any_robot_rests_anywhere(seed: int) -> None:
    """On frames and bodies, ground and each other; a point is where it was, seen from both sides."""
    robot = zoo.random_tree(seed, 6)
    q, rng = robot.random(seed), np.random.default_rng(seed)
    points = rng.uniform(-1.0, 1.0, (3, 3))
    scene = zoo.resting(
        robot, q, [("body3", points[0]), ("frame5", points[1]), ("frame2", "body4", points[2])], joint_friction=True
    )
    assert np.abs(lw.constraint_error(scene, q)).max() < 1e-12
    assert_close(pose(scene), q, 1e-15)
    touched = placements(robot, q, ["frame5"])["frame5"] * lw.Placement(points[1])
    assert_close(scene.constraint("contact1").first_at.position, touched.position, 1e-14)  # type: ignore[attr-defined]
    assert np.array_equal(scene.constraint("contact2").first_at.position, points[2])  # type: ignore[attr-defined]


def test_rows_of_a_contact_are_the_velocity_of_its_point_in_the_axes_of_the_world() -> None:
    robot = made("quadruped standing")
    foot = robot.constraint("contact0").places[1]
    point = robot.constraint("contact0").frames()[1].position  # type: ignore[attr-defined]
    q, v = pose(robot), np.random.default_rng(0).normal(size=robot.nv)
    before, after = (
        (placements(robot, robot.integrate(q, s * v), [foot])[foot] * lw.Placement(point)).position
        for s in (-1e-6, 1e-6)
    )
    rate = lw.constraint_jacobian(robot, q)[robot.row_slice("contact0")] @ v
    assert_close(rate, (after - before) / 2e-6, 1e-8)


def test_constraints_and_poses_of_the_robot_stay() -> None:
    linkage = zoo.four_bar()
    q = pose(linkage)
    scene = zoo.resting(linkage, q, [("coupler", (0.1, 0.0, 0.0))], name="stuck")
    assert [c.name for c in scene.constraints] == [*(c.name for c in linkage.constraints), "contact0"]
    assert scene.name == "stuck" and zoo.resting(linkage, q, []).name == linkage.name
    assert "standing" in zoo.quadruped_fallen().poses


def test_joint_friction_is_not_of_bases() -> None:
    planar = zoo.resting(zoo.swimmer(3), pose(zoo.swimmer(3)), [], joint_friction=True)
    assert [c.name for c in planar.constraints[-2:]] == ["friction_joint1", "friction_joint2"]
    assert planar.nc == 18 + 2


@pytest.mark.parametrize(
    ("contacts", "message"),
    [
        ([("front_left_shn", (0, 0, 0))], "front_left_shn"),
        ([("front_left_shin", "trnk", (0, 0, 0))], "trnk"),
        ([("front_left_shin", (0, 0))], "three finite numbers"),
        ([("front_left_shin", 1.0)], "three finite numbers"),
        ([("front_left_shin", (0, 0, np.nan))], "three finite numbers"),
        ([("front_left_shin", "down")], "the point"),
        ([("trunk", "trunk", (0, 0, 0))], "both part of 'trunk'"),
        ([("front_left_shin", "front_left_foot", (0, 0, 0))], "both part of"),
        ([("world", (0, 0, 0))], "both part of 'world'"),
        ([("trunk",)], r"\(body, point\)"),
        (["trunk"], r"\(body, point\)"),
    ],
)
def test_contacts_that_are_none_are_refused(contacts: Any, message: str) -> None:
    robot = zoo.quadruped()
    with pytest.raises(lw.errors.InputError, match=message):
        zoo.resting(robot, robot.neutral(), contacts)


@pytest.mark.parametrize("q", [np.zeros(18), np.zeros((2, 19)) + 1.0, np.full(19, np.nan), "standing"])
def test_what_is_no_configuration_is_refused(q: Any) -> None:
    with pytest.raises(lw.errors.InputError):
        zoo.resting(zoo.quadruped(), q, [])


def test_two_calls_give_one_scene() -> None:
    a, b = zoo.robots_on_pyramid(), made("robots on pyramid")
    assert np.array_equal(pose(a), pose(b))
    assert [repr(c) for c in a.constraints] == [repr(c) for c in b.constraints]
