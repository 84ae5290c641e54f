# SPDX-License-Identifier: BSD-3-Clause
"""Dry friction of tendons in steps with contacts: soft beside MuJoCo's, hard by identities."""

from __future__ import annotations

import warnings
from dataclasses import replace

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
    <fixed name="pair" frictionloss=".3" solreffriction=".05 1" solimpfriction=".7 .9 .002 .5 2">
      <joint joint="j1" coef=".7"/><joint joint="j3" coef="-1.2"/></fixed>
    <spatial name="rope" frictionloss="1.5"><site site="hook"/><site site="eye"/><site site="tip"/><site site="end"/>
    </spatial>
  </tendon></mujoco>"""


@pytest.mark.parametrize("saved", [False, True], ids=["file", "saved"])
def test_soft_dry_friction_of_tendons_is_that_of_mujoco(saved: bool) -> None:
    """Accelerations of steps from random states, slow and fast."""
    mujoco = pytest.importorskip("mujoco")
    m, rng = mujoco.MjModel.from_xml_string(TENDONS), np.random.default_rng(0)
    d, robot = mujoco.MjData(m), lw.loads(TENDONS)
    robot = lw.loads(robot.to_text("mjcf")) if saved else robot
    at, step = mujoco_map(robot), lw.Stepper(robot, 0.002, contact="soft", tolerance=1e-12)
    held = 0
    for speed in (0.02, 2.0) * 10:
        d.qpos[:], d.qvel[:] = 0.5 * rng.normal(size=3), speed * rng.normal(size=3)
        mujoco.mj_forward(m, d)
        held += bool((np.abs(d.efc_force) < 0.999 * d.efc_frictionloss).any())
        q = at.from_qpos(d.qpos.copy())
        found = step(q, at.from_qvel(q, d.qvel))
        a = (at.to_qvel(found.q, found.v) - d.qvel) / 0.002
        np.testing.assert_allclose(a, d.qacc, rtol=0, atol=1e-9 * np.abs(d.qacc).max())
    assert 5 < held < 20


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


def test_steps_without_contacts_and_derivatives_say_that_friction_of_tendons_is_left_out() -> None:
    robot = lw.loads(TENDONS)
    with pytest.warns(lw.errors.ModelWarning, match="dry friction of tendon 'pair', tendon 'rope'"):
        lw.simulate(robot, seconds=0.01, integrator="rk4")
    with pytest.warns(lw.errors.ModelWarning, match="dry friction of tendon 'pair'"):
        lw.Stepper(robot, contact=True).derivatives(robot.neutral(), np.zeros(3))
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
