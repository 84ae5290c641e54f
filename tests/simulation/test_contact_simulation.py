# SPDX-License-Identifier: BSD-3-Clause
"""Simulations with contacts: textbook motions, energy that friction accounts for, exact restarts, all ways to run."""

from __future__ import annotations

import pickle
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.mechanism import Mechanism
from linkwork.zoo.places import placements
from tests.support.states import assert_close

G = 9.81


def start(scene: Mechanism, **velocities: Any) -> np.ndarray:
    """Joint velocities by joint."""
    v = np.zeros(scene.nv)
    for joint, values in velocities.items():
        v[scene.v_slice(joint)] = values
    return v


def solved(trajectory: lw.Trajectory) -> lw.Trajectory:
    """A trajectory all of whose steps reached the tolerance."""
    assert not trajectory.ended
    assert int(np.max(trajectory.contacts.missed)) == 0
    return trajectory


# Textbook motions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("friction", "sticks"), [(np.tan(0.4) + 1e-6, True), (np.tan(0.4) - 1e-6, False)])
def test_a_box_on_a_slope_sticks_above_the_tangent_of_its_angle(friction: float, sticks: bool) -> None:
    scene = zoo.boxes_on_slope(0.4, friction)
    trajectory = solved(lw.simulate(scene, seconds=0.1))
    slips = trajectory.contacts["ground:box0"].velocities[-1][:, 0].max()
    assert slips < 3e-7 if sticks else slips > 6e-7  # 0.1 g (sin - friction cos) is 9e-7


def test_a_box_slides_as_far_as_coulomb_says_to_first_order() -> None:
    """v0² / (2 mu g); a step stops as much as the others, so that the error is that of one step."""
    scene, v = zoo.sliding_box(friction=0.4), np.array([1.0, 0, 0, 0, 0, 0])
    wrong = []
    for dt in (2e-3, 1e-3, 5e-4):
        trajectory = solved(lw.simulate(scene, v=v, seconds=0.4, dt=dt))
        wrong.append(abs(trajectory.q[-1][0] - 1 / (2 * 0.4 * G)))
        stopped = trajectory.times[np.argmax(np.abs(trajectory.v[:, 0]) < 1e-6)]
        assert abs(stopped - 1 / (0.4 * G)) <= dt
        assert wrong[-1] < 1.01 * 0.5 * dt
    assert wrong[2] < 0.3 * wrong[0]


@pytest.mark.parametrize("angle", [0.3, 0.6])
def test_a_ball_rolls_down_a_slope_with_five_sevenths(angle: float) -> None:
    scene = zoo.rolling_sphere(angle, 0.8)
    trajectory = solved(lw.simulate(scene, seconds=0.5, record_every=50))
    R = placements(scene, trajectory.q[-1], ["ball"])["ball"].rotation
    speed = np.linalg.norm(R @ trajectory.v[-1][:3])
    assert_close([speed], [5 / 7 * G * np.sin(angle) * 0.5], 1e-7)
    contact = trajectory.contacts["ground:ball"]
    assert contact.sticking[1:].all()
    assert_close(contact.total[1:], np.full(len(trajectory) - 1, G * np.cos(angle)), 1e-6)


def test_a_ball_that_slides_ends_rolling_with_five_sevenths_of_its_velocity() -> None:
    scene = zoo.rolling_sphere(friction=0.3)
    trajectory = solved(lw.simulate(scene, v=start(scene, ball=[1.0, 0, 0, 0, 0, 0]), seconds=0.3, record_every=10))
    R = placements(scene, trajectory.q[-1], ["ball"])["ball"].rotation
    assert_close([(R @ trajectory.v[-1][:3])[0]], [5 / 7], 1e-6)
    sliding = trajectory.contacts["ground:ball"].sliding[1:, 0]
    assert sliding[0] and not sliding[-1]
    assert abs(trajectory.times[1:][~sliding][0] - 2 / (7 * 0.3 * G)) < 0.011


def test_a_disc_stops_spinning_when_friction_has_taken_its_energy() -> None:
    scene = zoo.spinning_disc(friction=0.3)
    trajectory = solved(lw.simulate(scene, v=start(scene, disc=[0, 0, 0, 0, 0, 10.0]), seconds=0.2))
    spin = trajectory.v[:, 5]
    assert_close(spin[:150], 10.0 - 2 * 0.3 * G / 0.1 * trajectory.times[:150], 1e-6, scale=10.0)
    assert abs(spin[-1]) < 1e-9


@pytest.mark.parametrize("restitution", [0.5, 1.0])
def test_a_ball_bounces_back_with_its_coefficient_of_restitution(restitution: float) -> None:
    scene = zoo.bouncing_ball(restitution, 0.2)
    trajectory = solved(lw.simulate(scene, seconds=0.3))
    fall = trajectory.v[:, 2]
    hit = int(np.argmax(np.diff(fall) > 0))
    assert_close([fall[hit + 1]], [-restitution * fall[hit]], 0.01)


def test_a_stack_stays_where_it_is() -> None:
    trajectory = solved(lw.simulate(zoo.boxes(6, masses=[1] * 5 + [1000]), seconds=0.2, record_every=20))
    assert np.abs(trajectory.q[-1] - trajectory.q[0]).max() < 1e-7
    weights = trajectory.contacts["box4:box5"].total[1:]
    assert_close(weights, np.full(len(weights), 1000 * G), 1e-6)


def test_a_pinched_capsule_does_not_creep() -> None:
    trajectory = solved(lw.simulate(zoo.pinched_capsule(), seconds=0.2, record_every=20))
    assert abs(trajectory.q[-1][2] - trajectory.q[0][2]) < 1e-10


def test_a_joint_stops_at_its_limit_and_stays() -> None:
    """With contacts limits are exact: a pendulum falls on its stop."""
    build = lw.Builder("stopped")
    build.body("arm", lw.Inertia.rod(1.0, (0, 0, 0), (0.5, 0, 0)))
    build.joint("pivot", lw.joints.Revolute("y"), "world", "arm", at=(0, 0, 1), lower=-0.3, upper=0.3)
    build.body("ball", lw.Inertia.sphere(1.0, 0.1)).joint("ball", lw.joints.Free(), "world", "ball")
    build.shape("ball", lw.shapes.Sphere(0.1))
    robot = build.pose("assembled", {"ball": (3, 0, 0.1, 0, 0, 0, 1)}).build().with_contacts("ball", visual=True)
    trajectory = solved(lw.simulate(robot, robot.poses["assembled"], seconds=0.5))
    assert_close([trajectory.q[-1][robot.q_index("pivot")]], [0.3], 1e-9)
    assert trajectory.contacts.dissipated["joints"][-1] > 0.1


def arm_beyond_its_limit() -> Mechanism:
    build = lw.Builder("arm and ball")
    build.body("arm", lw.Inertia.rod(1.0, (0, 0, 0), (0, 0, -0.5)))
    build.joint("pivot", lw.joints.Revolute("y"), "world", "arm", at=(0, 0, 1), lower=-0.3, upper=0.3)
    build.body("ball", lw.Inertia.sphere(1.0, 0.1)).joint("ball", lw.joints.Free(), "world", "ball")
    build.shape("ball", lw.shapes.Sphere(0.1))
    build.pose("beyond", {"pivot": 0.6, "ball": (3, 0, 0.1, 0, 0, 0, 1)})
    return build.build().with_contacts("ball", visual=True)


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
def test_a_joint_that_starts_beyond_its_limit_is_moved_back_slowly(dt: float) -> None:
    robot = arm_beyond_its_limit()
    q = robot.poses["beyond"]
    with pytest.warns(lw.errors.StateWarning, match="starts beyond limits: pivot is moved back slowly"):
        trajectory = solved(lw.simulate(robot, q, seconds=2, dt=dt))
    assert trajectory.settings["limits"] is True
    assert trajectory.q[-1, 0] < 0.3 + 1e-6
    back = trajectory.q[:, 0] > 0.3
    assert np.abs(trajectory.v[back, 0]).max() < 5  # a spring would throw it back at 20 rad/s
    soft = lw.simulate(robot, q, seconds=2, dt=dt, limits="soft")
    assert not soft.ended
    assert np.abs(soft.v[:, 0]).max() < 30


def test_limits_of_joints_that_start_beyond_them_in_loops_alone_are_springs() -> None:
    """The loop keeps ``b`` beyond its limit. The limit of ``free`` holds exactly."""
    build = lw.Builder("two arms")
    for name, y in (("a", 0.0), ("b", 0.2), ("free", 0.4)):
        build.body(name, lw.Inertia.rod(1.0, (0, 0, 0), (0, 0, -0.5)))
        limits = {} if name == "a" else {"lower": -0.3, "upper": 0.3}
        build.joint(name, lw.joints.Revolute("y"), "world", name, at=(0, y, 1), **limits)
    build.constrain(lw.constraints.JointCoupling({"a": 1.0, "b": -1.0}), lw.constraints.JointLock("a", 0.6))
    build.body("ball", lw.Inertia.sphere(1.0, 0.1)).joint("ball", lw.joints.Free(), "world", "ball")
    build.shape("ball", lw.shapes.Sphere(0.1))
    build.pose("beyond", {"a": 0.6, "b": 0.6, "ball": (3, 0, 0.1, 0, 0, 0, 1)})
    robot = build.build().with_contacts("ball", visual=True)
    with pytest.warns(lw.errors.StateWarning, match="limits of b, which loops may keep there, are springs"):
        run = solved(lw.simulate(robot, robot.poses["beyond"], start(robot, free=[3.0]), seconds=0.5))
    assert run.settings["limits"] == ("b",)
    assert run.q[:, 2].max() < 0.3 + 1e-4
    assert_close(run.q[:, 1], np.full(len(run), 0.6), 1e-5)
    again = run.resume(100, seconds=0.1)
    np.testing.assert_array_equal(again.q[-1], run.q[200])


def test_limits_of_named_joints_are_springs() -> None:
    robot = arm_beyond_its_limit()
    same = [lw.simulate(robot, robot.poses["beyond"], seconds=0.2, limits=limits) for limits in ("soft", ["pivot"])]
    np.testing.assert_array_equal(same[0].q, same[1].q)
    with pytest.raises(lw.errors.InputError, match="limits is 'hard', needs True, False, 'soft', or names of joints"):
        lw.simulate(robot, robot.poses["beyond"], seconds=0.2, limits="hard")


# Energy --------------------------------------------------------------------------------------------------------


def test_friction_takes_the_energy_of_a_sliding_box_exactly() -> None:
    scene = zoo.sliding_box(friction=0.4)
    trajectory = solved(lw.simulate(scene, v=start(scene, box0=[1.0, 0.5, 0, 0, 0, 0]), seconds=0.4))
    lost, energy = trajectory.contacts.dissipated, trajectory.energy["total"]
    assert_close(lost["total"] + energy, np.full(len(trajectory), energy[0]), 1e-9, scale=1.0)
    assert_close(lost["total"], lost["friction"], 1e-7, scale=1.0)
    assert (np.diff(lost["friction"]) > -1e-9).all()


@pytest.mark.parametrize(
    "make", [zoo.spinning_top, lambda: zoo.rolling_sphere(0.3), zoo.spinning_disc, zoo.rattleback, zoo.hopper]
)
def test_energy_never_rises(make: Callable[[], Mechanism]) -> None:
    scene = make()
    v = start(scene, **{scene.joints[0].name: [0, 0, 0, 0, 0, 5.0]}) if scene.joints[0].type.nv == 6 else None
    trajectory = lw.simulate(scene, v=v, seconds=0.2)
    energy = trajectory.energy["total"]
    assert np.diff(energy).max() < 1e-8 * (1 + abs(energy[0]))


def test_what_an_impact_takes_is_accounted_for() -> None:
    scene = zoo.bouncing_ball(0.5, 0.2)
    trajectory = solved(lw.simulate(scene, seconds=0.3))
    lost = trajectory.contacts.dissipated["impacts"][-1]
    assert_close([lost], [0.75 * G * 0.2], 0.01)


# Restart -------------------------------------------------------------------------------------------------------


def moving(seed: int = 0) -> tuple[Mechanism, np.ndarray, np.ndarray]:
    """Two boxes that slide over each other, and turn."""
    scene = zoo.boxes(2)
    v = np.random.default_rng(seed).normal(size=(2, 6)) * 0.3
    v[:, 2:5] = 0.0
    return scene, scene.poses[zoo.ASSEMBLED], v.ravel()


@pytest.mark.parametrize("record_every", [1, 7])
def test_a_simulation_that_is_resumed_goes_on_to_the_last_bit(record_every: int) -> None:
    scene, q, v = moving()
    whole = lw.simulate(scene, q, v, seconds=0.1, record_every=record_every)
    part = whole.resume(5, seconds=0.1 - whole.times[5])
    np.testing.assert_array_equal(part.q[-1], whole.q[-1])
    np.testing.assert_array_equal(part.v[-1], whole.v[-1])
    assert part.contact_state is not None and whole.contact_state is not None
    np.testing.assert_array_equal(part.contact_state[-1], whole.contact_state[-1])


@pytest.mark.parametrize("kind", ["npz", "parquet"])
def test_contacts_are_saved_with_a_trajectory(tmp_path: Path, kind: str) -> None:
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    scene, q, v = moving()
    made = lw.simulate(scene, q, v, seconds=0.02)
    kept = lw.Trajectory.load(made.save(tmp_path / f"run.{kind}"), scene)
    np.testing.assert_array_equal(kept.contacts["box0:box1"].forces, made.contacts["box0:box1"].forces)
    resumed = kept.resume(seconds=0.02)
    np.testing.assert_array_equal(resumed.q, made.resume(seconds=0.02).q)


# All ways to run -----------------------------------------------------------------------------------------------


def test_rollouts_are_simulations_of_each_robot() -> None:
    """Of a robot whose contact forces are unique: a foot that slides, and a loop."""
    scene = zoo.hopper(height=0.002)
    q = np.tile(scene.poses[zoo.ASSEMBLED], (11, 1))
    v = np.zeros((11, scene.nv))
    v[:, 0], v[:, 1] = np.linspace(0.0, 2.0, 11), np.linspace(-1.0, 0.0, 11)
    many = lw.rollouts(scene, q, v, seconds=0.05, record_every=10)
    for k in (0, 7, 10):
        one = solved(lw.simulate(scene, q[k], v[k], seconds=0.05, record_every=10))
        assert_close(many.q[:, k], one.q, 1e-8, scale=1.0)
        totals = many.contacts["ground:foot"].total[:, k], one.contacts["ground:foot"].total
        assert_close(*totals, 1e-5, scale=G)
    alone = lw.rollouts(scene, q[3:8], v[3:8], seconds=0.05, record_every=10)
    np.testing.assert_array_equal(alone.q, many.q[:, 3:8])


def test_a_batch_without_robots_has_contacts_of_none(tmp_path: Path) -> None:
    box = zoo.sliding_box()
    none = np.zeros((0, box.nq)), np.zeros((0, box.nv))
    assert lw.contact.ContactStep(box)(*none).impulses["ground:box0"].shape == (0, 4, 3)
    run = lw.rollouts(box, *none, seconds=0.002)
    assert run.contacts["ground:box0"].forces.shape == (2, 0, 4, 3)
    pytest.importorskip("pyarrow")
    assert lw.Trajectory.load(run.save(tmp_path / "none.parquet"), box).q.shape == (2, 0, box.nq)


def test_a_stepper_makes_the_steps_of_a_simulation() -> None:
    scene, q, v = moving()
    whole = lw.simulate(scene, q, v, seconds=0.02)
    stepper = lw.Stepper(scene)
    at = stepper(q, v, steps=12)
    at = stepper(at.q, at.v, steps=8, contact_state=at.contact_state)
    np.testing.assert_array_equal(at.q, whole.q[-1])
    np.testing.assert_array_equal(at.contacts["ground:box0"].forces, whole.contacts["ground:box0"].forces[-1])
    moved, rate = q.copy(), v.copy()
    step = stepper.bind(moved, rate)
    for _ in range(20):
        step()
    np.testing.assert_array_equal(moved, whole.q[-1])


def test_a_kernel_and_a_function_control_alike() -> None:
    """A push on the trunk of the hopper."""
    scene = zoo.hopper()

    @lw.kernel
    def pushed(time, q, v, tau):  # type: ignore[no-untyped-def]
        tau[2] = -5.0 * v[2]

    def push(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.array([0.0, 0.0, -5.0 * v[2], 0.0, 0.0])

    v = start(scene, rail_z=[-0.3])
    by_kernel = lw.simulate(
        scene, v=scene.project_velocity(scene.poses["assembled"], v), seconds=0.1, controller=pushed
    )
    by_function = lw.simulate(
        scene, v=scene.project_velocity(scene.poses["assembled"], v), seconds=0.1, controller=push
    )
    assert_close(by_kernel.q, by_function.q, 1e-9, scale=1.0)
    np.testing.assert_array_equal(
        by_kernel.resume(33, seconds=0.1 - by_kernel.times[33], controller=pushed).q[-1], by_kernel.q[-1]
    )


def test_loops_stay_closed() -> None:
    scene = zoo.hopper(height=0.1)
    trajectory = solved(lw.simulate(scene, seconds=0.3, record_every=10))
    assert trajectory.errors.max() < 1e-5
    assert trajectory.contacts["ground:foot"].touching.any()


def test_plain_steps_agree_with_native_ones() -> None:
    scene, q, v = moving()
    stepper = lw.Stepper(scene)
    plain, native = stepper.plain()(q, v, steps=3), stepper(q, v, steps=3)
    assert_close(plain.q, native.q, 1e-9, scale=1.0)


def test_a_step_is_that_of_contact_step() -> None:
    scene, q, v = moving()
    step, stepped = lw.contact.ContactStep(scene)(q, v), lw.Stepper(scene)(q, v)
    assert_close(stepped.q, step.q, 1e-12, scale=1.0)
    assert_close(stepped.contacts["box0:box1"].impulses, step.impulses["box0:box1"], 1e-12, scale=0.01)


def test_steps_in_single_precision_slide_as_far() -> None:
    scene, v = zoo.sliding_box(friction=0.4), np.array([0.4, 0, 0, 0, 0, 0], dtype=np.float32)
    stepper = lw.Stepper(scene).native("float32")
    at = stepper(scene.poses[zoo.ASSEMBLED].astype(np.float32), v, steps=60)
    at = stepper(at.q, at.v, steps=60, contact_state=at.contact_state)
    assert at.q.dtype == np.float32
    assert abs(at.q[0] - 0.4**2 / (2 * 0.4 * G)) < 4e-4


# Without contacts ----------------------------------------------------------------------------------------------


def test_without_contacts_bodies_fall_through_the_ground() -> None:
    scene = zoo.bouncing_ball(height=0.0)
    trajectory = lw.simulate(scene, seconds=0.1, contact=False)
    assert trajectory.q[-1][2] < 0.1 - 0.04
    with pytest.raises(lw.errors.InputError, match="simulated without contacts: contact=False"):
        trajectory.contacts  # noqa: B018


def test_contacts_and_reactions_print_as_one_line() -> None:
    """They have all numbers of a run, which are not for reading."""
    run = lw.simulate(zoo.boxes(5), seconds=2e-3)
    pairs = list(run.contacts)
    listed = f"{len(pairs)} pairs, {', '.join(pairs[:3])} and {len(pairs) - 3} more"
    assert repr(run.contacts) == f"<ContactHistory of 'stack of 5 boxes with friction': {listed}>"
    swing = lw.simulate(zoo.pendulum(2), seconds=2e-3)
    assert repr(swing.reactions) == "<Reactions of '2-link pendulum' in 3 states: joint0, joint1>"


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"integrator": "rk4"}, "integrator 'rk4' does not support: use 'euler', or contact=False"),
        ({"integrator": "dopri5"}, "integrator 'dopri5' does not support"),
        ({"method": "minimal"}, "method 'minimal' does not support: use 'auto', or contact=False"),
        ({"method": "ltl"}, "method 'ltl' does not support"),
        ({"contact_state": [0.0]}, "contact_state has shape"),
    ],
)
def test_what_has_no_contacts_says_so(how: dict[str, Any], words: str) -> None:
    with pytest.raises(lw.errors.InputError, match=words):
        lw.simulate(zoo.sliding_box(), seconds=0.01, **how)


def test_contacts_that_are_not_there_cannot_be_asked_for() -> None:
    robot = zoo.pendulum()
    with pytest.raises(lw.errors.InputError, match="has no contact pairs"):
        lw.simulate(robot, seconds=0.01, contact=True)
    with pytest.raises(lw.errors.InputError, match="it has no contact pairs"):
        lw.simulate(robot, seconds=0.01).contacts  # noqa: B018
    with pytest.raises(lw.errors.InputError, match="simulated without contacts"):
        lw.simulate(robot, seconds=0.01, contact_state=np.zeros(3))


def test_an_unknown_contact_is_named_with_what_is_near() -> None:
    trajectory = lw.simulate(zoo.sliding_box(), seconds=0.002)
    with pytest.raises(lw.errors.InputError, match=r"no contact 'ground:box1'.*ground:box0"):
        trajectory.contacts["ground:box1"]


def test_pairs_without_kernel_text_are_found_between_steps() -> None:
    """A cylinder on a box, by coal: it stays there."""
    pytest.importorskip("coal")
    build = lw.Builder("cylinder on a box")
    build.body("table", lw.Inertia.box(1.0, (0.4, 0.4, 0.2))).joint("table", lw.joints.Free(), "world", "table")
    build.body("can", lw.Inertia.rod(0.5, (0, 0, -0.05), (0, 0, 0.05), 0.05)).joint(
        "can", lw.joints.Free(), "world", "can"
    )
    build.shape("table", lw.shapes.Box((0.4, 0.4, 0.2))).shape("can", lw.shapes.Cylinder(0.05, 0.1))
    pose = {"table": (0, 0, 0.1, 0, 0, 0, 1), "can": (0, 0, 0.25, 0, 0, 0, 1)}
    scene = build.pose("assembled", pose).build().with_contacts("table", ("table", "can"), visual=True)
    trajectory = lw.simulate(scene, scene.poses["assembled"], seconds=0.05, record_every=10)
    assert np.abs(trajectory.q[-1] - trajectory.q[0]).max() < 1e-6
    assert_close([trajectory.contacts["table:can"].total[-1]], [0.5 * G], 1e-4)
    again = trajectory.resume(2, seconds=0.05 - trajectory.times[2])
    np.testing.assert_array_equal(again.q[-1], trajectory.q[-1])


def test_steps_that_are_not_solved_are_counted() -> None:
    """What a trajectory says of a residual is that of the largest one on the way."""
    trajectory = lw.simulate(zoo.sliding_box(), v=np.array([1.0, 0, 0, 0, 0, 0]), seconds=0.05)
    residual = trajectory.contacts.residual
    assert (np.diff(residual) >= 0).all() and residual[-1] < 1e-7
    assert (trajectory.contacts.iterations[1:] >= 1).all()


# Pictures ------------------------------------------------------------------------------------------------------


def test_contact_forces_are_drawn_in_their_cones() -> None:
    pytest.importorskip("viser")
    from linkwork.drawing.contacts import RING
    from linkwork.viewer import Viewer
    from linkwork.viewer.between import CONES, POINTS, PUSHES
    from linkwork.viewer.stage import ARROW

    scene = zoo.rolling_sphere(friction=0.3)
    run = lw.simulate(scene, v=start(scene, ball=[1.0, 0, 0, 0, 0, 0]), seconds=0.05)
    with Viewer(run, open_browser=False, quiet=True) as viewer:
        stage = viewer.stage
        viewer._show_state(20)
        drawn = stage.between.nodes[PUSHES].points[0]
        before = run.q[20][0] - run.settings["dt"] * run.v[20][0]  # forces are those of the step from there
        assert_close(drawn[0], [before, 0.0, 0.0], 1e-5, scale=1.0)
        assert_close(stage.between.nodes[POINTS].points, drawn[:1], 1e-6)
        along = drawn[1] - drawn[0]
        scale = ARROW * stage.framing.size / stage.strong
        assert_close(along, [-0.3 * G * scale, 0.0, G * scale], 1e-5, scale=1.0)
        assert not stage.between.nodes[CONES].visible
        stage.show("friction cones", True)
        ribs = stage.between.nodes[CONES].points
        assert ribs.shape == (2 * RING, 2, 3)
        up = ribs[:RING, 1] - ribs[:RING, 0]
        assert_close(np.hypot(up[:, 0], up[:, 1]), 0.3 * up[:, 2], 1e-5)
        assert_close(up[:, 2], np.full(RING, along[2]), 1e-5)  # as high as the normal force is long
        stage.show("contacts", False)
        assert not stage.between.nodes[PUSHES].visible and not stage.between.nodes[POINTS].visible
        stage.show("contacts", True)
        viewer._show_state(0)  # no step has led there
        assert not any(stage.between.nodes[name].visible for name in (POINTS, CONES, PUSHES))


def test_trajectories_with_contacts_can_be_plotted_and_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    scene, q, v = moving()
    many = lw.rollouts(scene, np.tile(q, (3, 1)), np.tile(v, (3, 1)), seconds=0.01, record_every=2)
    many.plot(tmp_path / "run.png")
    many.picture(tmp_path / "last.png", index=2)
    assert (tmp_path / "run.png").stat().st_size and (tmp_path / "last.png").stat().st_size


@pytest.mark.parametrize("build", [zoo.sliding_box, zoo.hand_and_cube])
def test_forces_in_pictures_balance_what_bodies_feel(build: Callable[[], Mechanism]) -> None:
    """Forces of all points of a body that is held by contacts alone, in world axes, are its weight and inertia."""
    from linkwork.drawing.contacts import ContactPictures

    scene = build()
    body = scene.body_names[0]
    trajectory = solved(lw.simulate(scene, seconds=0.02))
    marks = ContactPictures(trajectory).at(np.array([0, 10]))
    assert marks is not None and not marks.touching[0].any() and marks.touching[1].all()
    signs = np.array([1.0 if pair.second.body == body else -1.0 for pair in scene.contacts])
    forces = marks.forces[1].reshape(len(signs), -1, 3).sum(axis=1)
    assert_close((signs[:, None] * forces).sum(axis=0), [0.0, 0.0, scene.inertias[body].mass * G], 1e-6, scale=1.0)


def test_plots_of_contacts_have_normal_forces_and_gaps_by_pair() -> None:
    pytest.importorskip("matplotlib")
    figure = lw.simulate(zoo.boxes(3), seconds=0.02).plot()
    words = [axes.get_ylabel() for axes in figure.axes]
    assert words == ["joint positions [m]", "energy [J]", "normal forces of contacts [N]", "least gaps [m]"]
    curves = {line.get_label(): np.asarray(line.get_ydata()) for line in figure.axes[2].lines}
    assert set(curves) == {"ground:box0", "box0:box1", "box1:box2"}
    assert_close(curves["ground:box0"][-1], 3 * G, 1e-6)
    falling = lw.simulate(zoo.bouncing_ball(height=1.0), seconds=0.01).plot()
    assert len(falling.axes) == 2  # nothing touches


# Pairs that cannot be used -------------------------------------------------------------------------------------


def barrels() -> Mechanism:
    """Two cylinders one beside the other, on the ground."""
    build = lw.Builder("barrels")
    for k in range(2):
        build.body(f"barrel{k}", lw.Inertia.box(1.0, (0.17, 0.17, 0.3))).joint(
            f"barrel{k}", lw.joints.Free(), "world", f"barrel{k}"
        )
        build.shape(f"barrel{k}", lw.shapes.Cylinder(0.1, 0.3))
    build.pose("standing", {f"barrel{k}": (x, 0, 0.15, 0, 0, 0, 1) for k, x in enumerate((0.0, 0.21))})
    robot = build.build()
    return robot.with_contacts(visual=True).with_contacts(("barrel0", "barrel1"), visual=True)


def test_convex_pairs_do_not_need_coal_in_native_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = barrels()
    q = robot.poses["standing"]
    monkeypatch.setitem(sys.modules, "coal", None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trajectory = lw.simulate(robot, q, seconds=0.005)
        assert lw.Stepper(robot).given is None
    assert set(trajectory.contacts) == {"ground:barrel0", "ground:barrel1", "barrel0:barrel1"}
    with pytest.raises(lw.errors.UnsupportedFeature, match=r"linkwork\[collide\]"):
        lw.Stepper(robot).by_slots(q, np.zeros(robot.nv))


def test_meshes_without_files_are_left_out(tmp_path: Path) -> None:
    robot = barrels()
    lost = lw.contact.ContactShape("hull", "barrel0", lw.shapes.Mesh("gone.stl", None))
    robot = robot.with_contacts(lost)
    with pytest.warns(lw.errors.ModelWarning, match="1 of the 4 contact pairs .*'ground:hull': files of their meshes"):
        trajectory = lw.simulate(robot, robot.poses["standing"], seconds=0.002)
    assert "barrel0:barrel1" in trajectory.contacts


def test_far_pairs_are_not_given_to_coal() -> None:
    """Bounding spheres decide; what is near is the same to the last bit."""
    pytest.importorskip("coal")
    from linkwork.contact.coal import GivenContacts

    robot = barrels()
    near, far = robot.poses["standing"], robot.poses["standing"].copy()
    far[robot.q_slice("barrel1")][:3] += (5.0, 0.0, 0.0)
    every, some = GivenContacts(robot), GivenContacts(robot, within=0.1)
    np.testing.assert_array_equal(some(near), every(near))
    assert (some(far)[:, 0] == 1e6).all() and every(far)[0, 0] == pytest.approx(5.01, abs=1e-6)
    both = some(np.stack([near, far]))
    np.testing.assert_array_equal(both[0], every(near))
    assert pickle.loads(pickle.dumps(some)).within == 0.1


def test_a_trajectory_does_not_show_contacts_of_another_robot(tmp_path: Path) -> None:
    robot = barrels()
    trajectory = lw.simulate(robot, robot.poses["standing"], seconds=0.002)
    path = trajectory.save(tmp_path / "run.npz")
    again = lw.Trajectory.load(path, robot)
    assert set(again.contacts) == {pair.name for pair in robot.contacts}
    other = lw.Trajectory.load(path, robot.without_contacts("barrel1"))
    with pytest.raises(lw.errors.InputError, match="has 1 contact pairs, and was simulated with 3 others"):
        _ = other.contacts
    assert other.contact_forces is None
    other.plot()


# Sensors -----------------------------------------------------------------------------------------------------


def test_sensors_feel_the_contacts_of_the_step_that_follows() -> None:
    build = lw.Builder("box").body("box", lw.Inertia.box(2.0, (0.2, 0.2, 0.2)))
    build.joint("root", lw.joints.Free(), "world", "box").shape("box", lw.shapes.Box((0.2, 0.2, 0.2)), role="collision")
    build.sensor(
        lw.sensors.Sensor("felt", "touch", "box", volume=lw.shapes.Box((0.3, 0.3, 0.3))),
        lw.sensors.Sensor("none", "force", "box"),
    )
    robot = build.contact().build()
    q = robot.neutral()
    q[2] = 0.101
    run = solved(lw.simulate(robot, q, [0.3, 0.0, 0.0, 0.2, 1.0, 0.5], seconds=0.05))
    values, normal = run.sensors(), run.contacts.forces[..., 2].sum(axis=-1)
    size = float(normal.max())
    assert size > 10.0
    assert_close(values["felt"][:-1, 0], normal[1:], 1e-7)
    assert_close(values["none"], np.zeros((len(run), 3)), 1e-7, size)  # nothing carries a free body


# Dry friction of joints ------------------------------------------------------------------------------------------


def sliding_joint() -> Mechanism:
    """A mass of 2 kg whose dry friction is 4 N."""
    build = lw.Builder("slider", gravity=(0, 0, 0)).body("mass", lw.Inertia.box(2.0, (0.1, 0.1, 0.1)))
    return build.joint("rail", lw.joints.Prismatic("x"), "world", "mass", friction=4.0).build()


@pytest.mark.parametrize("compile", [False, True])
def test_dry_friction_stops_a_joint_of_a_robot_without_contact_pairs(compile: bool) -> None:
    """From 3 m/s in 1.5 s, after ``v² / (2 a)`` less ``v dt / 2``."""
    robot, v = sliding_joint(), np.array([3.0])
    run = lw.simulate(robot, [0.0], v, seconds=2)
    assert_close(run.q[-1], [2.25 - 1.5e-3], 1e-9)
    assert_close(run.contacts.dissipated["joints"][-1], 9.0, 1e-9)
    assert_close(lw.simulate(robot, [0.0], v, seconds=2, contact=True).q[-1], run.q[-1], 1e-12)
    many = lw.rollouts(robot, [[0.0], [0.0]], [v, 2 * v], seconds=4, compile=compile)
    assert_close(many.q[-1, :, 0], [2.2485, 9 - 3e-3], 1e-9)


def test_limits_hold_exactly_without_contact_pairs_on_request() -> None:
    build = lw.Builder("pendulum").body("rod", lw.Inertia.rod(1.0, (0, 0, 0), (0.5, 0, 0)))
    build.joint("pivot", lw.joints.Revolute("y"), "world", "rod", upper=0.4)
    robot = build.build()
    run = lw.simulate(robot, seconds=1.0, contact=True)
    assert abs(run.q[-1, 0] - 0.4) < 1e-9 and run.q.max() < 0.4 + 1e-9
    soft = lw.simulate(robot, seconds=1.0)
    assert 1e-5 < soft.q[-1, 0] - 0.4 < 1e-2
    with pytest.raises(lw.errors.InputError, match="neither dry friction nor limits"):
        lw.simulate(zoo.pendulum(2), seconds=0.1, contact=True)


def test_a_start_beyond_one_limit_leaves_others_exact() -> None:
    """Without loops, too: ``a`` starts beyond its limit, that of ``b`` holds."""
    build = lw.Builder("two sliders", gravity=(0, 0, 0))
    for name in ("a", "b"):
        build.body(name, lw.Inertia.box(1.0, (0.1, 0.1, 0.1)))
        build.joint(name, lw.joints.Prismatic("x"), "world", name, upper=0.5, friction=0.01)
    robot = build.build()
    with pytest.warns(lw.errors.StateWarning, match="a is moved back slowly"):
        run = lw.simulate(robot, [0.6, 0.0], [0.0, 2.0], seconds=1.0)
    assert run.q[:, 1].max() < 0.5 + 1e-9
    assert 0.5 < run.q[-1, 0] < 0.59


def test_dry_friction_that_does_not_act_is_a_warning() -> None:
    robot = sliding_joint()
    for make in (
        lambda: lw.Stepper(robot, integrator="rk4"),
        lambda: lw.simulate(robot, [0.0], [3.0], seconds=0.1, contact=False),
        lambda: lw.rollouts(robot, [[0.0]], [[3.0]], seconds=0.1, integrator="rk4"),
    ):
        with pytest.warns(lw.errors.ModelWarning, match="dry friction of 'rail' of 'slider' does not act in these"):
            make()
    with pytest.raises(lw.errors.InputError, match="dry friction or limits of joints, which integrator 'rk4' does not"):
        lw.simulate(robot, [0.0], seconds=0.1, integrator="rk4", contact=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.Stepper(robot.with_parameters(friction=np.zeros(1)))


def test_simulations_take_the_tolerance_of_contacts() -> None:
    scene = zoo.boxes(5)
    q = scene.poses["assembled"]
    coarse = lw.simulate(scene, q, seconds=0.02, tolerance=1e-4, max_iterations=20)
    assert coarse.contacts.residual[-1] > lw.simulate(scene, q, seconds=0.02).contacts.residual[-1]
    assert coarse.resume(3, seconds=0.01).settings["tolerance"] == 1e-4
    many = lw.rollouts(scene, q[None], seconds=0.02, tolerance=1e-4, max_iterations=20)
    np.testing.assert_array_equal(many.q[-1, 0], coarse.q[-1])
