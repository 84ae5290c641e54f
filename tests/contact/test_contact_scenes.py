# SPDX-License-Identifier: BSD-3-Clause
"""Scenes of contact with friction: bodies touch and do not penetrate, sizes as said, equilibria where springs hold."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.drawing.skeleton import skeleton
from linkwork.kernels.contact.shapes.geometry import CONTACT_POINTS
from linkwork.mechanism import Mechanism
from linkwork.model.contacts import ContactShape
from linkwork.model.shapes import Box, Cylinder, Ground, Sphere
from linkwork.plans.contacts import contact_tree, planned_pair
from linkwork.quantities.evaluator import ProgramEvaluator
from linkwork.viewer.solids import MeshFiles, corners
from linkwork.zoo.contact_builder import reach
from linkwork.zoo.places import placements
from tests.support import robots
from tests.support.states import assert_close

TOUCHING = 1e-9


class Scene(NamedTuple):
    """A scene with its velocities, pairs, contact points, and gaps other than 0 by pair, in meters."""

    make: Callable[[], Mechanism]
    nv: int
    pairs: int
    slots: int
    apart: dict[str, float]


def of(make: Callable[..., Mechanism], *given: object, **named: object) -> Callable[[], Mechanism]:
    return functools.partial(make, *given, **named)


DOMINO_GAPS = {f"domino{k}:domino{k + 1}": 0.0175 for k in range(1, 9)}
DOMINO_GAPS["domino0:domino1"] = 0.0175 - 0.048 * np.sin(0.2)

SCENES = {
    "10 boxes": Scene(of(zoo.boxes), 60, 10, 40, {}),
    "3 flat boxes": Scene(of(zoo.boxes, 3, [1.0, 2.0, 1000.0], (0.3, 0.2, 0.05)), 18, 3, 12, {}),
    "sliding box": Scene(of(zoo.sliding_box), 6, 1, 4, {}),
    "boxes on a slope": Scene(of(zoo.boxes_on_slope), 12, 2, 8, {}),
    "pyramid of 55": Scene(of(zoo.box_pyramid), 330, 100, 400, {}),
    "square pyramid of 55": Scene(of(zoo.box_pyramid, 5, planar=False), 330, 145, 580, {}),
    "pyramid of 100": Scene(of(zoo.box_pyramid, 5, 4, planar=False), 600, 280, 1120, {}),
    "dominoes": Scene(of(zoo.dominoes), 60, 19, 76, DOMINO_GAPS),
    "card house": Scene(of(zoo.card_house), 90, 24, 96, {}),
    "bouncing ball": Scene(of(zoo.bouncing_ball, height=0.3), 6, 1, 1, {"ground:ball": 0.3}),
    "rolling sphere": Scene(of(zoo.rolling_sphere), 6, 1, 1, {}),
    "sphere on a slope": Scene(of(zoo.rolling_sphere, 0.3), 6, 1, 1, {}),
    "disc": Scene(of(zoo.spinning_disc), 6, 1, 4, {}),
    "Euler's disc": Scene(of(zoo.spinning_disc, 0.5), 6, 1, 4, {}),
    "top": Scene(of(zoo.spinning_top, 0.0), 6, 2, 5, {"ground:disc": 0.003 + 0.03 - 0.0045}),
    "rattleback": Scene(of(zoo.rattleback), 6, 1, 1, {}),
    "Painlevé's rod": Scene(of(zoo.painleve_rod), 6, 1, 2, {}),
    "cradle": Scene(of(zoo.newtons_cradle), 5, 4, 4, {}),
    "cradle with gaps": Scene(of(zoo.newtons_cradle, 2, gap=1e-3), 2, 1, 1, {"ball0:ball1": 1e-3}),
    "pinched capsule": Scene(of(zoo.pinched_capsule), 8, 2, 4, {}),
    "hand and cube": Scene(of(zoo.hand_and_cube), 14, 4, 4, {}),
    "hopper": Scene(of(zoo.hopper), 5, 1, 1, {}),
    "running hopper": Scene(of(zoo.running_hopper), 7, 1, 1, {}),
    "running hopper, bent": Scene(of(zoo.running_hopper, 1.2, -2.2), 7, 1, 1, {}),
    "ball on a Stewart platform": Scene(of(zoo.ball_on_stewart), 30, 1, 1, {}),
    "hopper in the air": Scene(of(zoo.hopper, -1.0, height=0.2), 5, 1, 1, {"ground:foot": 0.2}),
}


@functools.cache
def made(name: str) -> Mechanism:
    return SCENES[name].make()


every_scene = pytest.mark.parametrize("name", SCENES)


def slots_of(scene: Mechanism) -> list[int]:
    return [planned_pair(pair).slots for pair in scene.contacts]


def slot_gaps(scene: Mechanism) -> np.ndarray:
    """The gaps of all contact points in the assembled pose."""
    found = ProgramEvaluator(scene, "contact_points", CONTACT_POINTS, lambda robot, _: contact_tree(robot))
    return found(scene.poses[zoo.ASSEMBLED], np.zeros((0, 7)))[0]


def gaps(scene: Mechanism) -> dict[str, float]:
    """The least gap of each pair in the assembled pose."""
    found = np.split(slot_gaps(scene), np.cumsum(slots_of(scene))[:-1])
    return {pair.name: float(gap.min()) for pair, gap in zip(scene.contacts, found, strict=True)}


@every_scene
def test_sizes_are_those_of_the_page(name: str) -> None:
    scene, fact = made(name), SCENES[name]
    assert (scene.nv, len(scene.contacts), sum(slots_of(scene))) == fact[1:4]


@every_scene
def test_bodies_touch_and_do_not_penetrate(name: str) -> None:
    for pair, gap in gaps(made(name)).items():
        assert_close([gap], [SCENES[name].apart.get(pair, 0.0)], TOUCHING, scale=1.0)


@every_scene
def test_pairs_are_named_after_shapes_and_the_ground_is_first(name: str) -> None:
    for pair in made(name).contacts:
        assert pair.name == f"{pair.first.name}:{pair.second.name}"
        assert not isinstance(pair.second.solid, Ground)


@every_scene
def test_what_touches_is_drawn(name: str) -> None:
    scene = made(name)
    drawn = {(shape.body, shape.solid) for shape in scene.shapes}
    assert {(shape.body, shape.solid) for pair in scene.contacts for shape in (pair.first, pair.second)} <= drawn
    for shape in scene.shapes:
        found = corners(shape.solid, MeshFiles())
        assert found is None if isinstance(shape.solid, Ground) else np.isfinite(found).all()
    assert np.isfinite(skeleton(scene).points(scene.poses[zoo.ASSEMBLED])).all()


# Boxes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layers", "ridge", "planar", "count"), [(10, 1, True, 55), (5, 4, False, 100), (8, 9, True, 100)]
)
def test_pyramids_have_as_many_boxes_as_asked(layers: int, ridge: int, planar: bool, count: int) -> None:
    scene = zoo.box_pyramid(layers, ridge, planar)
    assert len(scene.joints) == count
    supports = dict.fromkeys(scene.body_names, 0)
    for pair in scene.contacts:
        supports[pair.second.body] += 4 if pair.first.name == "ground" else 1
    assert set(supports.values()) == ({2, 4} if planar else {4})


def test_masses_of_a_stack_are_given_from_below() -> None:
    scene = zoo.boxes(3, masses=[1.0, 2.0, 1000.0])
    assert [scene.inertias[f"box{k}"].mass for k in range(3)] == [1.0, 2.0, 1000.0]
    with pytest.raises(lw.errors.InputError, match="masses has 2 numbers, needs one, or one for each of 3"):
        zoo.boxes(3, masses=[1.0, 2.0])


def test_a_house_of_cards_has_three_cards_for_each_pair_that_carries_another() -> None:
    for levels in (1, 2, 4):
        assert len(zoo.card_house(levels).joints) == levels * (levels + 1) + levels * (levels - 1) // 2


def test_no_two_cards_of_a_house_overlap() -> None:
    """Of the cards that are no pairs: their bounding boxes in the plane are apart, or a separating side is."""
    scene = zoo.card_house(3)
    everything = replace(scene, contacts=()).with_contacts(self_collision=True, visual=True, ground=False)
    touching = {pair.name for pair in scene.contacts}
    apart = {pair: gap for pair, gap in gaps(everything).items() if pair not in touching}
    assert min(apart.values()) > 1e-4


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (of(zoo.boxes, 0), "count must be at least 1"),
        (of(zoo.boxes, 2, size=-1.0), "size must be finite and > 0"),
        (of(zoo.box_pyramid, 3, gap=0.3), "nothing to stand on"),
        (of(zoo.dominoes, 3, spacing=0.005), "more than the thickness"),
        (of(zoo.dominoes, 3, tilt=1.0), "try a smaller one"),
        (of(zoo.card_house, 2, lean=0.0), "between 0 and 1"),
        (of(zoo.spinning_top, 1.2), "would be in the ground"),
        (of(zoo.painleve_rod, angle=0.0), "between 0 and π"),
        (of(zoo.newtons_cradle, 3, gap=-1.0), "must be >= 0"),
        (of(zoo.hand_and_cube, size=0.5), "do not reach"),
        (of(zoo.hopper, 0.0), "between -1.3 and -0.3"),
        (of(zoo.running_hopper, 0.5, -0.2), "knee is -0.2 rad, needs an angle between -2.3 and -0.45"),
        (of(zoo.running_hopper, torque=0.0), "torque must be finite and > 0"),
        (of(zoo.ball_on_stewart, damping=-1.0), "damping must be >= 0"),
        (of(zoo.bouncing_ball, 1.5), "restitution is 1.5"),
    ],
)
def test_numbers_that_make_no_scene_are_refused(make: Callable[[], Mechanism], words: str) -> None:
    with pytest.raises(lw.errors.LinkworkError, match=words):
        make()


# Equilibria ----------------------------------------------------------------------------------------------------


def held(scene: Mechanism, contacts: list[tuple[str, str, np.ndarray]]) -> lw.results.Solution:
    """Accelerations and forces with points held, under gravity and the springs."""
    q = scene.poses[zoo.ASSEMBLED]
    bound = zoo.resting(
        scene, q, [(body, point) if other == "world" else (body, other, point) for body, other, point in contacts]
    )
    still = np.zeros(scene.nv)
    return lw.ForwardDynamics(bound)(q, still, lw.passive_forces(scene, q, still))


@pytest.mark.parametrize("force", [2.0, 5.0])
def test_the_hand_is_at_rest_and_presses_as_asked(force: float) -> None:
    scene = zoo.hand_and_cube(force)
    q = scene.poses[zoo.ASSEMBLED]
    where = placements(scene, q, scene.body_names)
    points = []
    for k in range(4):
        finger = f"finger{k}_distal"
        outward = np.array([np.cos(k * np.pi / 2), np.sin(k * np.pi / 2), 0.0])
        touched = where["cube"].position + 0.03 * outward
        points.append((finger, "cube", where[finger].inverse().act(touched)))
    found = held(scene, points)
    assert_close(found.acceleration, np.zeros(scene.nv), 1e-8, scale=9.81)
    for k in range(4):
        pressed = np.array(found.forces[f"contact{k}"])
        assert_close([np.linalg.norm(pressed)], [np.hypot(force, 0.1 * 9.81 / 4)], 1e-8)


def test_the_hopper_stands_on_its_spring() -> None:
    for angle in (-1.2, -0.785, -0.4):
        scene = zoo.hopper(angle)
        q = scene.poses[zoo.ASSEMBLED]
        foot = scene.contacts[0].second
        at = foot.placement.position + placements(scene, q, ["shank"])["shank"].rotation.T @ (0.0, 0.0, -0.02)
        found = held(scene, [("shank", "world", at)])
        assert_close(found.acceleration, np.zeros(5), 1e-8, scale=9.81)


def test_the_foot_of_the_hopper_moves_up_and_down() -> None:
    feet = []
    for angle in np.linspace(-1.3, -0.3, 21):
        scene = zoo.hopper(float(angle))
        q = scene.poses[zoo.ASSEMBLED]
        feet.append(placements(scene, q, ["shank"])["shank"].act(scene.contacts[0].second.placement.position))
        feet[-1][2] -= q[scene.q_index("rail_z")]
    x, z = np.array(feet)[:, 0], np.array(feet)[:, 2]
    assert np.ptp(x) < 0.02 and np.ptp(z) > 0.15 and (np.diff(z) > 0).all()


def test_pads_press_on_the_capsule_with_the_force_that_was_asked_for() -> None:
    scene = zoo.pinched_capsule(30.0)
    tau = lw.passive_forces(scene, scene.poses[zoo.ASSEMBLED], np.zeros(scene.nv))
    for pad in ("left_pad", "right_pad"):
        assert_close([tau[scene.v_index(pad)]], [30.0], 1e-12)


# Robots of files -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stem", "make", "slots"),
    [
        ("cassie/cassie", zoo.cassie_on_ground, 8),
        ("cassie/cassie", of(zoo.cassie_on_ground, feet="capsule"), 4),
        ("digit/digit-v3", zoo.digit_on_ground, 8),
        ("go2", zoo.go2_on_ground, 4),
    ],
)
def test_robots_stand_flat_with_loops_closed(stem: str, make: Callable[[Mechanism], Mechanism], slots: int) -> None:
    robot = robots.load("go2") if stem == "go2" else lw.load(robots.model_file(f"{stem}_nomesh.xml"))
    scene = make(robot)
    assert_close(slot_gaps(scene), np.zeros(slots), TOUCHING, scale=1.0)
    assert np.abs(lw.constraint_error(scene, scene.poses[zoo.ASSEMBLED])).max(initial=0.0) < 1e-12


def test_a_foot_that_has_no_sole_is_refused() -> None:
    robot = zoo.quadruped()
    with pytest.raises(lw.errors.InputError, match="feet are boxes, capsules and spheres"):
        zoo.on_ground(robot, [ContactShape("foot", "trunk", Cylinder(0.1, 0.1))])


def test_any_robot_can_be_put_on_the_ground() -> None:
    robot = zoo.quadruped()
    feet = [ContactShape(f"{leg}_foot", f"{leg}_foot", Sphere(0.022)) for leg in ("front_left", "rear_right")]
    scene = zoo.on_ground(robot, feet, robot.poses["standing"])
    assert_close(slot_gaps(scene), np.zeros(2), TOUCHING, scale=1.0)


# Support function ----------------------------------------------------------------------------------------------


def test_reach_is_that_of_the_corners() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        at = zoo.random_placement(rng)
        size = tuple(rng.uniform(0.1, 1.0, 3))
        signs = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T
        points = at.rotation @ (signs * size).T
        assert reach(Box(size), at.rotation, (0.0, 0.0, 1.0)) == pytest.approx(points[2].max(), rel=1e-14)
