# SPDX-License-Identifier: BSD-3-Clause
"""Limits and dry friction of tendons in steps with contacts: soft beside MuJoCo's, hard by identities."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.parsing.mjcf import mujoco_map

TENDONS = """<mujoco><option timestep=".002" cone="elliptic" jacobian="dense" tolerance="0" iterations="300"/>
  <compiler angle="radian"/><worldbody><site name="hook" pos=".3 0 1.1"/>
    <body name="a" pos="0 0 1"><joint name="j1" axis="0 1 0"/><site name="eye" pos=".02 .1 -.3"/>
      <inertial pos=".1 0 -.1" mass="1.3" diaginertia=".02 .03 .025"/>
      <body name="b" pos="0 0 -.4"><joint name="j2" axis="0 .8 .6"/><site name="tip" pos=".05 0 -.2"/>
        <inertial pos="0 .05 -.2" mass=".7" diaginertia=".01 .012 .008"/></body></body>
    <body name="c" pos=".5 0 1"><joint name="j3" axis="0 1 0"/><site name="end" pos=".02 .1 -.3"/>
      <inertial pos=".1 0 -.1" mass=".6" diaginertia=".02 .03 .025"/></body>
  </worldbody><tendon>
    <fixed name="pair" frictionloss=".3" solreffriction=".05 1" solimpfriction=".7 .9 .002 .5 2" limited="true"
      range="-.6 .7" margin=".05" solreflimit=".03 .8" solimplimit=".8 .97 .01 .4 3">
      <joint joint="j1" coef=".7"/><joint joint="j3" coef="-1.2"/></fixed>
    <spatial name="rope" frictionloss="1.5" limited="true" range=".8 1.9">
      <site site="hook"/><site site="eye"/><site site="tip"/><site site="end"/>
    </spatial>
  </tendon></mujoco>"""


@pytest.mark.parametrize("saved", [False, True], ids=["file", "saved"])
def test_soft_limits_and_dry_friction_of_tendons_are_those_of_mujoco(saved: bool) -> None:
    """Accelerations of steps from random states, near rest and beyond limits."""
    mujoco = pytest.importorskip("mujoco")
    m, rng = mujoco.MjModel.from_xml_string(TENDONS), np.random.default_rng(0)
    d, robot = mujoco.MjData(m), lw.loads(TENDONS)
    robot = lw.loads(robot.to_text("mjcf")) if saved else robot
    at, step = mujoco_map(robot), lw.Stepper(robot, 0.002, contact="soft", tolerance=1e-12)
    held = beyond = 0
    for spread, speed in ((0.2, 0.005), (0.7, 0.05)) * 10:
        d.qpos[:], d.qvel[:] = spread * rng.normal(size=3), speed * rng.normal(size=3)
        mujoco.mj_forward(m, d)
        held += bool((np.abs(d.efc_force) < 0.999 * d.efc_frictionloss).any())
        beyond += bool((d.efc_force[d.efc_type == mujoco.mjtConstraint.mjCNSTR_LIMIT_TENDON] > 0).any())
        q = at.from_qpos(d.qpos.copy())
        found = step(q, at.from_qvel(q, d.qvel))
        a = (at.to_qvel(found.q, found.v) - d.qvel) / 0.002
        np.testing.assert_allclose(a, d.qacc, rtol=0, atol=1e-9 * np.abs(d.qacc).max())
    assert held > 5 and beyond > 5


def test_friction_of_a_fixed_tendon_on_one_joint_is_friction_of_the_joint() -> None:
    robot = lw.zoo.serial_chain(2)
    first = robot.joints[0].name
    rope = lw.tendons.Tendon("rope", joints={first: 2.0}, friction=0.4)
    friction = np.zeros(robot.nv)
    friction[0] = 0.8
    runs = [
        lw.simulate(one, [0.7, 0.4], seconds=2.0)
        for one in (robot.with_tendons(rope), robot.with_parameters(friction=friction))
    ]
    free = lw.simulate(robot, [0.7, 0.4], seconds=2.0)
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-9)
    assert np.abs(runs[0].q - free.q).max() > 0.1
    lost = [run.contacts.dissipated["joints"][-1] for run in runs]
    assert lost[0] == pytest.approx(lost[1], rel=1e-9) and lost[0] > 0.01


def weights(friction: float) -> lw.Mechanism:
    """Two weights, 1.2 kg and 1 kg, that a tendon over pulleys joins (Atwood's machine), by its sum of lengths."""
    build = lw.Builder("machine")
    for name, mass in (("left", 1.2), ("right", 1.0)):
        build.body(name, lw.Inertia.box(mass, (0.1, 0.1, 0.1)))
        build.joint(f"{name}_slide", lw.joints.Prismatic("z"), "world", name)
    taut = lw.constraints.Gear("left_slide", "right_slide", -1.0, name="taut")
    rope = lw.tendons.Tendon("rope", joints={"left_slide": 0.5, "right_slide": -0.5}, friction=friction)
    return build.build().constrained(taut).with_tendons(rope)


@pytest.mark.parametrize("friction", [1.5, 2.5])
def test_atwoods_machine_moves_where_weights_differ_by_more_than_friction(friction: float) -> None:
    """``2.2 a = 0.2 g - f``, or rest; with a loop, whose steps have few contact points."""
    run = lw.simulate(weights(friction), seconds=0.5)
    a = max(0.2 * 9.81 - friction, 0.0) / 2.2
    np.testing.assert_allclose(run.v[-1], [-0.5 * a, 0.5 * a], atol=1e-7)


def swing(**of_rope: Any) -> lw.Mechanism:
    """A weight on a rope of at most 0.5 m, which slides along three axes."""
    build = lw.Builder("swing")
    for k, axis in enumerate("xyz"):
        parent = "world" if k == 0 else f"part{k - 1}"
        build.body(f"part{k}", lw.Inertia.box(0.8 if k == 2 else 0.0, (0.1, 0.1, 0.1)))
        build.joint(f"slide{k}", lw.joints.Prismatic(axis), parent, f"part{k}")
    rope = lw.tendons.Tendon("rope", path=("world", "part2"), limits=(0.0, 0.5), **of_rope)
    return build.build().with_tendons(rope)


def test_a_weight_on_a_rope_is_a_pendulum() -> None:
    """The rope goes taut, stays so, and is as long as it may be; that of a stop of its own gives way."""
    q = np.array([0.5 * np.sin(1.0), 0.0, -0.5 * np.cos(1.0)])
    exact, soft, own = (
        lw.simulate(robot, q, seconds=1.0, dt=1e-3, contact=True, limits=limits)
        for robot, limits in ((swing(), True), (swing(), "soft"), (swing(stop=(2e3, 40.0)), True))
    )
    lengths = [np.linalg.norm(run.q[100:], axis=-1) for run in (exact, soft, own)]
    assert np.abs(lengths[0] - 0.5).max() < 1e-4
    assert lengths[1].max() > 0.5002 and lengths[2].max() > 0.502
    build = lw.Builder("pendulum")
    build.body("bob", lw.Inertia(0.8, (0, 0, -0.5), 1e-9 * np.eye(3)))
    build.joint("hinge", lw.joints.Revolute("y"), "world", "bob")
    pendulum = lw.simulate(build.build(), [-1.0], seconds=1.0, dt=1e-3, integrator="rk4")
    angle = np.arctan2(exact.q[-1, 0], -exact.q[-1, 2])
    np.testing.assert_allclose(angle, -pendulum.q[-1, 0], atol=5e-3)


def test_contact_steps_hold_limits_of_tendons() -> None:
    """A step that would go beyond ends at the limit; with ``limits=False`` it goes on."""
    robot, q, v = swing(), np.array([0.0, 0.0, -0.4995]), np.array([0.0, 0.0, -2.0])
    held, free = (lw.contact.ContactStep(robot, 1e-3, limits=limits)(q, v) for limits in (True, False))
    np.testing.assert_allclose(held.q, [0, 0, -0.5], atol=1e-9)
    np.testing.assert_allclose(free.v[2], -2.0 - 9.81e-3, atol=1e-9)


def test_steps_without_contacts_and_derivatives_say_that_friction_of_tendons_is_left_out() -> None:
    robot = lw.loads(TENDONS)
    with pytest.warns(lw.errors.ModelWarning, match="dry friction of tendon 'pair', tendon 'rope'"):
        lw.simulate(robot, seconds=0.01, integrator="rk4")
    with pytest.warns(lw.errors.ModelWarning, match="dry friction of tendon 'pair'"):
        lw.Stepper(robot, contact=True).derivatives(robot.neutral(), np.zeros(3))
    with pytest.warns(lw.errors.ModelWarning, match="dry friction of tendon 'pair'; limits of tendon 'pair'"):
        lw.contact.ContactStep(robot, solver="admm")(robot.neutral(), np.zeros(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error", lw.errors.ModelWarning)
        lw.simulate(robot, seconds=0.01)


def test_softness_follows_the_units_of_a_scaled_robot() -> None:
    """A robot of twice the size and half the time moves as the first one, with soft friction of tendons and joints."""
    robot = lw.loads(TENDONS)
    soft = lw.contact.SoftConstraint((0.03, 0.8), (0.8, 0.95, 0.002, 0.5, 2))
    joints = tuple(replace(joint, friction=joint.friction + 0.2, soft_friction=soft) for joint in robot.joints)
    robot = replace(robot, joints=joints, tendons=tuple(replace(t, soft_friction=soft) for t in robot.tendons))
    large = robot.scaled(length=2.0, mass=3.0, time=0.5)
    q = np.array([0.3, -0.4, 0.2])
    small = lw.simulate(robot, q, seconds=0.4, dt=0.002, contact="soft", tolerance=1e-10)
    other = lw.simulate(large, q, seconds=0.2, dt=0.001, contact="soft", tolerance=1e-10)
    np.testing.assert_allclose(other.q[-1], small.q[-1], atol=1e-7)
