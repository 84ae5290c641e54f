# SPDX-License-Identifier: BSD-3-Clause
"""Soft steps beside MuJoCo's: pyramidal cones, and dampers that act after contacts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import AssemblyError, CannotSave
from linkwork.parsing.mjcf import mujoco_map

mujoco = pytest.importorskip("mujoco")

BODY = """<mujoco><option timestep=".002" impratio="{ratio}" jacobian="dense" tolerance="0" iterations="300"/>
  <worldbody><geom type="plane" size="5 5 .1" euler="5 3 0" friction=".7 .05 .01"/>
    <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .2 .1" condim="{dim}" friction=".7 .05 .01"/>
      <geom type="capsule" size=".05" fromto=".2 .1 -.1 .3 0 -.08" condim="{dim}" friction=".3 .02 .01"/>
    </body></worldbody></mujoco>"""


@pytest.mark.parametrize(("ratio", "dim"), [(1, 3), (4, 3), (1, 4), (2, 6), (1, 1)])
def test_forces_along_pyramids_are_mujocos(ratio: float, dim: int) -> None:
    """From states that touch; edges of pyramids have directions, those of a capsule on a plane along its axis."""
    text = BODY.format(ratio=ratio, dim=dim)
    robot, m = lw.loads(text), mujoco.MjModel.from_xml_string(text)
    at, step = mujoco_map(robot), lw.Stepper(robot, 0.002, contact="soft", tolerance=1e-11)
    d, rng, touching = mujoco.MjData(m), np.random.default_rng(0), 0
    for _ in range(20):
        mujoco.mj_resetData(m, d)
        d.qpos[2] -= 0.01 * rng.random()
        d.qpos[3:] += 0.02 * rng.normal(size=4)
        d.qvel[:] = 0.5 * rng.normal(size=6)
        mujoco.mj_normalizeQuat(m, d.qpos)
        q = at.from_qpos(d.qpos)
        after = step(q, at.from_qvel(q, d.qvel))
        mujoco.mj_step(m, d)
        touching += d.ncon > 2
        np.testing.assert_allclose(at.to_qvel(after.q, after.v), d.qvel, atol=1e-8)
    assert touching > 10


AT_ORIGIN = '<inertial pos="0 0 0" mass="2" diaginertia=".02 .03 .04"/>'

LEGS = """<mujoco><option timestep=".004" integrator="implicitfast" cone="{cone}" jacobian="dense" tolerance="0"
    iterations="300"/><worldbody><geom type="plane" size="5 5 .1"/>
  <body pos="0 0 .3"><freejoint/><geom type="box" size=".2 .1 .05"/>
    <body pos=".2 .1 0"><joint name="a" axis="0 1 0" damping="2" armature=".001" stiffness="20" springref="10"/>
      <geom type="capsule" size=".03" fromto="0 0 0 .1 0 -.15"/>
      <body pos=".1 0 -.15"><joint name="b" axis="0 1 0" damping="1"/>
        <geom type="capsule" size=".03" fromto="0 0 0 0 0 -.1"/></body></body>
    <body pos="0 -.1 0"><joint name="c" axis="1 0 0" range="-10 10" damping=".5"/>
      <geom type="capsule" size=".03" fromto="0 0 0 0 0 -.25"/></body></body></worldbody>
  <tendon><fixed name="t" damping="1.5"><joint joint="a" coef="1"/><joint joint="b" coef="-.5"/></fixed></tendon>
  <actuator><position joint="a" kp="50" kv="5"/><position joint="b" kp="50" kv="5"/>
    <position tendon="t" kp="5" kv="2"/></actuator></mujoco>"""


def moved(text: str, commands: list[float], steps: int) -> tuple[Any, Any]:
    """Configurations after a number of steps: linkwork's, and MuJoCo's."""
    robot, m = lw.loads(text), mujoco.MjModel.from_xml_string(text)
    d, at = mujoco.MjData(m), mujoco_map(robot)
    d.ctrl[:] = commands
    mujoco.mj_step(m, d, steps)
    step = lw.Stepper(robot, m.opt.timestep, contact="soft", tolerance=1e-11)
    result = step(robot.poses["qpos0"], np.zeros(robot.nv), commands=commands, steps=steps)
    return at.to_qpos(result.q), d.qpos


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_dampers_act_after_contacts_as_in_mujoco(cone: str) -> None:
    """Joints, servos and a tendon damp strongly: with contacts and dampers as one system feet press otherwise."""
    ours, theirs = moved(LEGS.format(cone=cone), [0.3, -0.3, 0.1], 200)
    np.testing.assert_allclose(ours, theirs, atol=1e-7)


def test_forces_in_results_are_along_the_axes_of_contact_points() -> None:
    """Edges of a pyramid turn with a capsule; the sum of forces is what changes the momentum."""
    text = BODY.format(ratio=1, dim=3).replace("<freejoint/>", f"<freejoint/>{AT_ORIGIN}")
    robot, h = lw.loads(text), 1e-3
    at, step = mujoco_map(robot), lw.Stepper(robot, h, contact="soft", tolerance=1e-12)
    q = robot.poses["qpos0"].copy()
    q[2] -= 0.005
    v = at.from_qvel(q, np.array([0.4, -0.2, 0, 0, 0, 0]))
    after = step(q, v)
    frames = lw.contact.ContactGeometry(robot)(q).frames
    force = np.einsum("pij,pj->i", frames, after.contacts.forces)
    change = (at.to_qvel(after.q, after.v) - at.to_qvel(q, v))[:3] / h
    np.testing.assert_allclose(force, 2 * (change - robot.gravity), atol=1e-6)
    assert np.linalg.norm(force[:2]) > 1


def test_the_cone_is_saved_and_is_one_for_a_model() -> None:
    robot = lw.loads(BODY.format(ratio=2, dim=3))
    assert all(pair.soft.pyramidal and pair.soft.friction_ratio == 2 for pair in robot.contacts if pair.soft)
    saved = lw.loads(robot.to_text("mjcf"))
    assert [pair.soft for pair in saved.contacts] == [pair.soft for pair in robot.contacts]
    elliptic = lw.loads(BODY.replace("<option", '<option cone="elliptic"').format(ratio=1, dim=3))
    assert 'cone="elliptic"' in elliptic.to_text("mjcf")
    scene = lw.compose({"one": robot, "other": elliptic})
    with pytest.raises(CannotSave, match="pyramidal"):
        scene.to_text("mjcf")


HELD = """<mujoco><option timestep=".002" integrator="implicitfast" tolerance="0" iterations="300"/><worldbody>
  <body name="target" mocap="true" pos=".1 0 1.2"/>
  <body name="hand" pos="0 0 1"><freejoint/><geom type="box" size=".05 .04 .02" mass="1"/></body></worldbody>
  <equality><weld body1="target" body2="hand" relpose="0 0 0 1 0 0 0"/></equality></mujoco>"""


def test_soft_constraints_may_be_open_at_the_start() -> None:
    """As a hand that is welded to a target elsewhere, which pulls it there in MuJoCo."""
    robot, m = lw.loads(HELD), mujoco.MjModel.from_xml_string(HELD)
    d, start = mujoco.MjData(m), robot.poses["qpos0"]
    mujoco.mj_step(m, d, 500)
    run = lw.simulate(robot, start, seconds=1.0, dt=0.002, contact="soft")
    np.testing.assert_allclose(run.q[-1][:3], d.qpos[:3], atol=1e-6)
    with pytest.raises(AssemblyError, match="at the start"):
        lw.simulate(robot, start, seconds=0.01, dt=0.002, contact=False)
