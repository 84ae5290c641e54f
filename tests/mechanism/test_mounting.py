# SPDX-License-Identifier: BSD-3-Clause
"""Grippers on arms by frames, loops across, and what is added to or taken from a mechanism that exists."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from tests.support.states import assert_close

MOUNT = lw.Placement.rpy(0.3, -0.4, 0.5, position=(0.1, -0.2, 0.3))
FLANGE = lw.Placement.rpy(-0.7, 0.2, 1.1, position=(0.0, 0.05, 0.4))


def arm() -> lw.Mechanism:
    return lw.zoo.random_tree(1, bodies=3, kinds="r").with_frame("flange", "body2", FLANGE)


def gripper(floating: bool) -> lw.Mechanism:
    """A palm that carries two fingers, with a frame on its back."""
    build = lw.Builder("gripper")
    build.body("palm", lw.Inertia.box(0.5, (0.1, 0.2, 0.05), com=(0.01, 0.0, 0.02)))
    build.joint("root_joint", lw.joints.Free() if floating else lw.joints.Fixed(), "world", "palm")
    for side in (-1, 1):
        build.body(f"finger{side}", lw.Inertia.rod(0.1, (0, 0, 0), (0, 0, 0.1)))
        build.joint(f"knuckle{side}", lw.joints.Revolute("x"), "palm", f"finger{side}", at=(0, 0.1 * side, 0.05))
        build.frame(f"tip{side}", on=f"finger{side}", at=(0, 0, 0.1))
    build.frame("mount", on="palm", at=MOUNT)
    build.constrain(lw.constraints.Gear("knuckle-1", "knuckle1", -1.0, name="gear"))
    build.actuator("motor", "knuckle1", 2.0)
    return build.pose("open", {"knuckle1": 0.4, "knuckle-1": -0.4}).build()


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("by", ["mount", "palm"])
def test_a_frame_of_the_part_is_put_at_a_frame_of_the_whole(floating: bool, by: str) -> None:
    at = lw.Placement.rpy(0.0, 0.1, 0.2, position=(0.0, 0.0, 0.01))
    whole = lw.attach(arm(), gripper(floating), "flange", at, prefix="g", by=by)
    q = whole.random(0)
    meant = lw.frame_placement(whole, q, "flange") * at
    found = lw.frame_placement(whole, q, f"g/{by}")
    assert_close(found.position, meant.position, 1e-14, scale=1.0)
    assert_close(found.rotation, meant.rotation, 1e-14, scale=1.0)
    assert whole.joint_names == (*arm().joint_names, "g/knuckle-1", "g/knuckle1")
    assert [c.name for c in whole.constraints] == ["g/gear"]
    assert [a.name for a in whole.actuators] == ["g/motor"]
    assert whole.poses["open"][whole.q_index("g/knuckle1")] == 0.4


def test_a_floating_gripper_is_mounted_as_a_fixed_one() -> None:
    one, other = (lw.attach(arm(), gripper(floating), "flange", prefix="g", by="mount") for floating in (True, False))
    q, v = one.random(1), np.random.default_rng(0).normal(size=one.nv)
    assert_close(lw.mass_matrix(one, q), lw.mass_matrix(other, q), 1e-13)
    assert_close(lw.bias_forces(one, q, v), lw.bias_forces(other, q, v), 1e-13)


def test_what_is_fixed_to_the_world_of_a_part_counts_on_a_body() -> None:
    """The palm of a gripper with a fixed base is part of its world, through all changes of the gripper."""
    fixed = gripper(False)
    assert fixed.base_inertia.mass == 0.5
    held = gripper(True).reduced(["root_joint"])
    assert_close(held.base_inertia.about_origin(), fixed.base_inertia.about_origin(), 1e-14)
    small = fixed.scaled(length=2.0, mass=3.0).mirrored("xz").renamed(lambda name: f"my_{name}")
    assert small.base_inertia.mass == 1.5
    assert_close(small.base_inertia.com, 2 * fixed.base_inertia.com * [1, -1, 1], 1e-15)
    scene = lw.compose({"one": fixed, "two": fixed}, at={"two": (1.0, 0, 0)})
    assert_close(scene.base_inertia.com, np.add(fixed.base_inertia.com, [0.5, 0, 0]), 1e-15)
    q = lw.attach(arm(), fixed, "flange").random(0)
    weights = [lw.gravity_forces(lw.attach(arm(), part, "flange", prefix="g"), q) for part in (fixed, held)]
    assert_close(weights[0], weights[1], 1e-14)


def test_a_part_may_be_held_by_any_of_its_bodies() -> None:
    """Held by a finger, the palm swings: the tree starts at another body, and joints are turned around."""
    whole = lw.attach(arm(), gripper(True), "flange", prefix="g", by="tip1")
    q = whole.random(2)
    tip, flange = (lw.frame_placement(whole, q, name) for name in ("g/tip1", "flange"))
    assert_close(tip.position, flange.position, 1e-14, scale=1.0)
    assert_close(tip.rotation, flange.rotation, 1e-14, scale=1.0)
    # distances within the gripper are those of its own joint angles
    own = gripper(True)
    p = own.neutral()
    for joint in ("knuckle1", "knuckle-1"):
        p[own.q_index(joint)] = q[whole.q_index(f"g/{joint}")]
    for frame in ("mount", "tip-1", "palm"):
        far = lw.frame_placement(whole, q, f"g/{frame}").position - tip.position
        near = lw.frame_placement(own, p, frame).position - lw.frame_placement(own, p, "tip1").position
        assert abs(np.linalg.norm(far) - np.linalg.norm(near)) < 1e-13
    masses = [sum(whole.inertias[b].mass for b in whole.body_names), arm().mass + own.mass]
    assert abs(masses[0] - masses[1]) < 1e-13


def test_loops_across_hold() -> None:
    whole = lw.attach(arm(), gripper(False), "flange", prefix="g", by="mount")
    q = whole.assemble(whole.poses["open"])
    looped = whole.constrained(
        lw.constraints.Rod("body1", "g/finger1", second_at=(0, 0, 0.05), length=1.0, name="lever"), at=q
    )
    assert np.abs(lw.constraint_error(looped, q)).max() < 1e-12
    v = looped.project_velocity(q, np.ones(looped.nv))
    solution = lw.ForwardDynamics(looped).plain()(q, v, np.zeros(looped.nv))
    J = lw.constraint_jacobian(looped, q)
    M, c = lw.mass_matrix(looped, q), lw.bias_forces(looped, q, v)
    K = np.block([[M, J.T], [J, np.zeros((looped.nc, looped.nc))]])
    a = np.linalg.solve(K, np.concatenate([-c, lw.constraint_target(looped, q, v) - lw.constraint_bias(looped, q, v)]))
    assert_close(solution.acceleration, a[: looped.nv], 1e-8)
    assert [c.name for c in looped.unconstrained("lever").constraints] == ["g/gear"]


def test_what_cannot_be_mounted_says_why() -> None:
    with pytest.raises(lw.errors.ModelError, match="'tip1' moves relative to the world of 'gripper'"):
        lw.attach(arm(), gripper(False), "flange", by="tip1")
    tied = gripper(True).constrained(lw.constraints.Point("world", "palm", name="nail"))
    with pytest.raises(lw.errors.ModelError, match=r"unconstrained\('nail'\)"):
        lw.attach(arm(), tied, "flange", by="mount")
    with pytest.raises(lw.errors.UnknownName, match="mont"):
        lw.attach(arm(), gripper(True), "flange", by="mont")


def test_the_world_of_a_floating_part_stays_behind() -> None:
    part = gripper(True).with_frame("corner", "world", (1.0, 2.0, 3.0))
    assert "g/corner" not in lw.attach(arm(), part, "flange", prefix="g", by="palm").frames
    assert "g/corner" in lw.attach(arm(), part, "flange", prefix="g").frames


def test_walls_of_a_floating_part_stay_behind_and_the_ground_is_that_of_the_whole() -> None:
    part = gripper(True).with_contacts(
        lw.contact.ContactShape("wall", "world", lw.shapes.Box((1.0, 1.0, 1.0))),
        lw.contact.ContactShape("pad", "finger1", lw.shapes.Sphere(0.01)),
        self_collision=True,
    )
    assert {frozenset(pair.bodies) for pair in part.contacts} >= {frozenset(("world", "finger1"))}
    base = lw.zoo.pendulum(2).with_contacts(lw.contact.ContactShape("bob", "link1", lw.shapes.Sphere(0.1)))
    whole = lw.attach(base, part, "link1", prefix="g", by="palm")
    assert [(pair.name, pair.bodies) for pair in whole.contacts] == [
        ("ground:bob", ("world", "link1")),
        ("g/ground:pad", ("world", "g/finger1")),
    ]


# Marks, actuators, frames ---------------------------------------------------------------------------------------------


def test_joints_are_marked_as_actuated() -> None:
    robot = lw.zoo.five_bar()
    names = robot.joint_names
    marked = robot.without_actuators().with_actuated(names[1], names[2])
    assert [j.actuated for j in marked.joints] == [name in names[1:3] for name in names]
    assert [j.actuated for j in marked.with_actuated().joints] == [False] * len(names)
    q = marked.assemble()
    tau = lw.InverseDynamics(marked).plain()(q, np.zeros(marked.nv), np.zeros(marked.nv))
    assert set(np.flatnonzero(np.abs(tau) > 1e-12)) <= {1, 2}
    with pytest.raises(lw.errors.UnknownName, match="nowhere"):
        robot.with_actuated("nowhere")
    driven = marked.with_actuators(lw.actuators.Actuator("motor", names[1], (1.0,)))
    with pytest.raises(lw.errors.InputError, match=r"actuator 'motor' drives joint .* without_actuators\('motor'\)"):
        driven.with_actuated(names[2])
    assert driven.with_actuated(names[1]).joint(names[2]).actuated is False


def test_actuators_are_added_and_taken_away() -> None:
    robot = arm().with_actuators(
        "joint0", lw.actuators.Actuator("servo", "joint1", (1.0,), gain=(5, 0, 0), bias=(0, -5, -1))
    )
    q, v = robot.random(0), np.array([0.1, 0.2, 0.3])
    u = np.array([2.0, 0.5])
    tau = lw.actuators.actuator_torques(robot, q, v, u)
    assert_close(tau, [2.0, 5 * (0.5 - q[1]) - v[1], 0.0], 1e-14)
    left = robot.without_actuators("joint0")
    assert [a.name for a in left.actuators] == ["servo"]
    assert left.joint("joint0").actuated is True
    assert robot.without_actuators().actuators == ()
    felt = robot.with_sensors(
        lw.sensors.Sensor("force", "actuatorfrc", "servo"), lw.sensors.Sensor("angle", "jointpos", "joint1")
    )
    assert [s.name for s in felt.without_actuators("servo").sensors] == ["angle"]
    with pytest.raises(lw.errors.InputError, match=r"no actuator 'servos'.*servo"):
        robot.without_actuators("servos")


def test_frames_are_taken_away() -> None:
    robot = arm()
    assert "flange" not in robot.without_frames("flange").frames
    held = robot.constrained(lw.constraints.Point("world", "flange", name="held"))
    with pytest.raises(lw.errors.InputError, match=r"unconstrained\('held'\)"):
        held.without_frames("flange")
    with pytest.raises(lw.errors.InputError, match="is a body"):
        robot.without_frames("body2")
    felt = robot.with_sensors(lw.sensors.Sensor("imu", "gyro", "flange"))
    with pytest.raises(lw.errors.InputError, match="sensor 'imu' is on frame 'flange'"):
        felt.without_frames("flange")
    with pytest.raises(lw.errors.UnknownName):
        robot.without_frames("nowhere")
