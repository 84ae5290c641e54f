# SPDX-License-Identifier: BSD-3-Clause
"""Mocap bodies of MJCF, whose placements are inputs: of welds, contacts and forward dynamics, and in keyframes."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

import linkwork as lw
from linkwork.parsing.mjcf import mujoco_map
from linkwork.peers import from_mujoco
from tests.support.states import Floats

OPTION = '<option timestep="0.002" cone="elliptic" integrator="implicitfast"/>'
BODIES = """<body name="target" mocap="true" pos="0 0 1" euler="10 20 30"><site name="tip" pos=".1 0 0" euler="0 40 0"/>
</body><body name="hand" pos="0 0 1" euler="10 20 30"><freejoint/><site name="knuckle" pos=".1 0 0"/>
<geom type="box" size=".05 .1 .02" mass="1" contype="0" conaffinity="0"/><body pos=".1 0 0"><joint axis="0 1 0"/>
<geom type="capsule" size=".02" fromto="0 0 0 .2 0 0" mass=".2" contype="0" conaffinity="0"/></body></body>"""
PADDLE = """<body name="paddle" mocap="true" pos="1 0 0.5"><geom type="box" size=".3 .3 .02"/></body>
<body pos="1.05 0.02 0.6"><freejoint/><geom size=".08" mass="0.3"/></body>"""
EQUALITIES = {
    "weld": '<weld name="grip" body1="target" body2="hand"/>',
    "weld, reversed": '<weld name="grip" body1="hand" body2="target" relpose=".1 0 .2 .9 .1 .2 .3"/>',
    "sites": '<weld name="grip" site1="tip" site2="knuckle"/>',
    "connect": '<connect name="grip" body1="hand" body2="target" anchor=".1 0 0"/>',
}


def text(equality: str, more: str = "", rest: str = "") -> str:
    world = f"<worldbody>{BODIES}{more}</worldbody>"
    return f"<mujoco>{OPTION}{world}<equality>{EQUALITIES[equality]}</equality>{rest}</mujoco>"


def placements(t: float) -> Floats:
    """Of both mocap bodies at a time: position and quaternion x y z w."""
    turn, tilt = 0.5 * t, 0.1 * np.sin(4 * t)
    where = [0.3 * np.sin(2 * t), 0.2 * t, 1 + 0.1 * np.sin(5 * t)]
    target = [*where, 0.1, 0.2 * np.sin(turn), np.sin(turn), np.cos(turn)]
    paddle = [1, 0, 0.5 + 0.05 * np.sin(6 * t), np.sin(tilt), 0, 0, np.cos(tilt)]
    rows = np.array([target, paddle])
    rows[:, 3:] /= np.linalg.norm(rows[:, 3:], axis=1, keepdims=True)
    return rows


@pytest.mark.parametrize("equality", ["weld", "weld, reversed"])
def test_bodies_follow_mocap_bodies_as_in_mujoco(equality: str) -> None:
    words = text(equality, PADDLE)
    robot, model = lw.loads(words, "mjcf"), mujoco.MjModel.from_xml_string(words)
    data, convert = mujoco.MjData(model), mujoco_map(robot)
    step = lw.Stepper(robot, 0.002, contact="soft", parameters=["mocap"])
    q, v, forces = robot.poses["qpos0"], np.zeros(robot.nv), None
    touched = 0
    for k in range(250):
        at = placements(0.002 * k)
        data.mocap_pos[:], data.mocap_quat[:] = at[:, :3], at[:, [6, 3, 4, 5]]
        mujoco.mj_step(model, data)
        touched += data.ncon
        result: Any = step(q, v, contact_state=forces, mocap=at)
        q, v, forces = result.q, result.v, result.contact_state
    assert touched > 20
    np.testing.assert_allclose(convert.to_qpos(q), data.qpos, atol=1e-8)


@pytest.mark.parametrize("equality", EQUALITIES)
@pytest.mark.parametrize("method", ["lcaba", "prox_bbo", "prox_ltl"])
@pytest.mark.filterwarnings("ignore:a loop of")
def test_accelerations_are_those_of_a_robot_with_its_mocap_bodies_there(equality: str, method: Any) -> None:
    robot, rng = lw.loads(text(equality), "mjcf"), np.random.default_rng(0)
    at = np.array([placements(t)[:1] for t in (0.3, 0.7)])
    q, v, tau = robot.random(1, 2), rng.normal(size=(2, robot.nv)), rng.normal(size=(2, robot.nv))
    found = lw.ForwardDynamics(robot, method, parameters=["mocap"])(q, v, tau, mocap=at).acceleration
    for k in range(2):
        there = lw.ForwardDynamics(robot.with_parameters(mocap=at[k]), method)(q[k], v[k], tau[k]).acceleration
        np.testing.assert_allclose(found[k], there, rtol=0, atol=1e-11 * np.abs(there).max())


def test_what_is_fixed_to_a_mocap_body_moves_with_it() -> None:
    robot = lw.loads(text("sites", PADDLE), "mjcf")
    q = robot.neutral()
    before = lw.frame_placement(robot, q, "tip")
    moved = robot.with_parameters(mocap=placements(0.4))
    first, second = (lw.frame_placement(one, q, "target") for one in (robot, moved))
    after = lw.frame_placement(moved, q, "tip")
    here, there = first.inverse() * before, second.inverse() * after
    np.testing.assert_allclose(here.position, there.position, atol=1e-14)
    np.testing.assert_allclose(here.rotation, there.rotation, atol=1e-14)
    paddle = next(pair.first for pair in moved.contacts if pair.first.mocap)
    np.testing.assert_allclose(paddle.placement.position, placements(0.4)[1, :3], atol=1e-15)


def test_keyframes_say_where_mocap_bodies_are() -> None:
    keys = """<keyframe><key name="up" qpos="0 0 2 1 0 0 0 0" mpos="0 0 2" mquat="2 0 0 0"/><key name="as drawn"/>
    </keyframe>"""
    words = text("weld", rest=keys)
    robot = lw.loads(words, "mjcf")
    assert list(robot.mocap) == ["up"]
    assert robot.mocap["up"].tolist() == [[0, 0, 2, 0, 0, 0, 1]]
    held = lw.simulate(robot, "up", seconds=0.1)
    np.testing.assert_allclose(held.q[-1, :3], (0, 0, 2), atol=1e-4)
    again = from_mujoco(mujoco.MjModel.from_xml_string(words))
    np.testing.assert_allclose(again.mocap["up"], robot.mocap["up"], atol=1e-15)
    image = robot.mirrored("xz").mirrored("xz")
    np.testing.assert_allclose(image.mocap["up"], robot.mocap["up"], atol=1e-15)
    assert robot.scaled(2).mocap["up"][0, 2] == 4


def test_what_cannot_move_with_a_mocap_body_is_said() -> None:
    tendon = '<tendon><spatial name="rope"><site site="tip"/><site site="knuckle"/></spatial></tendon>'
    tied = lw.loads(text("weld", rest=tendon), "mjcf")
    with pytest.raises(lw.errors.UnsupportedFeature, match="tendon 'rope' is on mocap body 'target'"):
        lw.Stepper(tied, 0.002, parameters=["mocap"])
    robot = lw.loads(text("weld"), "mjcf")
    with pytest.raises(lw.errors.InputError, match="quaternion has zero length"):
        robot.with_parameters(mocap=np.zeros((1, 7)))
    with pytest.raises(lw.errors.InputError, match="anchor_position and mocap"):
        lw.Stepper(robot, 0.002, parameters=["anchor_position", "mocap"])
    with pytest.raises(lw.errors.InputError, match="no mocap bodies"):
        lw.Stepper(lw.zoo.pendulum(2), 0.002, parameters=["mocap"])
    carrying = text("connect", '<body mocap="true"><body><joint/><geom size=".1"/></body></body>')
    with pytest.warns(lw.errors.ModelWarning, match="carries joints"):
        assert len(lw.loads(carrying, "mjcf").parameters["mocap"]) == 1


def test_mocap_bodies_of_a_part_of_a_scene_are_said_to_be_fixed() -> None:
    part = lw.loads(text(next(iter(EQUALITIES))))
    with pytest.warns(lw.errors.ModelWarning, match=r"are fixed in the new mechanism: target"):
        lw.compose({"left": part})
    with pytest.warns(lw.errors.ModelWarning, match=r"are fixed in the new mechanism: target"):
        lw.attach(lw.zoo.four_bar(), part, to="crank", at=(0, 0, 1), prefix="tool")
