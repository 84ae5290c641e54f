# SPDX-License-Identifier: BSD-3-Clause
"""MuJoCo's compiled models and specs as ours: what reading their files gives."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.mechanism import Mechanism
from linkwork.peers.mujoco import from_mujoco
from tests.support.mjcf_texts import EQUALITIES, HINGES, equality, model
from tests.support.robots import model_files
from tests.support.states import assert_close

mujoco = pytest.importorskip("mujoco")


def same(ours: Mechanism, read: Mechanism, rel: float = 1e-11) -> None:
    """Compare dynamics, rows, motors and contacts."""
    assert ours.joint_names == read.joint_names
    q = read.normalize(read.random(0))
    v = np.random.default_rng(0).normal(size=read.nv)
    assert_close(lw.mass_matrix(ours, q), lw.mass_matrix(read, q), rel)
    assert_close(lw.bias_forces(ours, q, v), lw.bias_forces(read, q, v), rel)
    assert_close(lw.passive_forces(ours, q, v), lw.passive_forces(read, q, v), rel, scale=1e-6)
    assert ours.nc == read.nc
    if read.nc:
        assert_close(lw.constraint_error(ours, q), lw.constraint_error(read, q), rel, scale=1.0)
        assert_close(lw.constraint_jacobian(ours, q), lw.constraint_jacobian(read, q), rel, scale=1.0)
        np.testing.assert_allclose([c.gains for c in ours.constraints], [c.gains for c in read.constraints], rel)
    assert [a.name for a in ours.actuators] == [a.name for a in read.actuators]
    if read.actuators and not any(a.refused for a in read.actuators):
        u = np.random.default_rng(1).normal(size=len(read.actuators))
        assert_close(
            lw.actuators.actuator_torques(ours, q, v, u), lw.actuators.actuator_torques(read, q, v, u), rel, scale=1e-6
        )
    np.testing.assert_allclose(ours.lower, read.lower, rel)
    np.testing.assert_allclose(ours.upper, read.upper, rel)
    for name, pose in read.poses.items():
        assert_close(ours.poses[name], pose, 1e-12, scale=1.0)


def states_cross(robot: Mechanism, loaded: Any) -> None:
    """Batches of states there and back, and bodies where MuJoCo puts them."""
    across = lw.peers.mujoco_map(robot)
    q = robot.normalize(robot.random(1, 3))
    v, tau = np.random.default_rng(1).normal(size=(2, 3, robot.nv))
    assert_close(across.from_qpos(across.to_qpos(q)), q, 1e-15)
    assert_close(across.from_qvel(q, across.to_qvel(q, v)), v, 1e-14)
    assert_close(across.from_qfrc(q, across.to_qfrc(q, tau)), tau, 1e-14)
    state = mujoco.MjData(loaded)
    state.qpos, state.qvel = across.to_qpos(q)[2], across.to_qvel(q, v)[2]
    mujoco.mj_forward(loaded, state)
    names = [name for name in robot.body_names if mujoco.mj_name2id(loaded, mujoco.mjtObj.mjOBJ_BODY, name) >= 0]
    theirs = np.array([state.body(name).xpos for name in names])
    assert_close(lw.frame_placement(robot, q[2], names).position, theirs, 1e-10, scale=1.0)
    turning = [state.body(name).cvel[:3] for name in names]
    ours = [lw.frame_velocity(robot, q[2], v[2], name, reference="world")[:3] for name in names]
    assert_close(ours, turning, 1e-10, scale=1.0)


def files() -> list[Any]:
    return [pytest.param(path, id=path.parent.name) for path in model_files("*/*_nomesh.xml")]


@pytest.mark.models
@pytest.mark.parametrize("path", files())
def test_models_from_files(path: Path) -> None:
    loaded = mujoco.MjModel.from_xml_path(str(path))
    robot = from_mujoco(loaded)
    same(robot, lw.load(path))
    states_cross(robot, loaded)


@pytest.mark.parametrize("name", EQUALITIES)
def test_equalities(name: str) -> None:
    text = equality(EQUALITIES[name])
    same(from_mujoco(mujoco.MjModel.from_xml_string(text)), lw.loads(text))


def test_a_spec_is_compiled_and_stays_as_it_is() -> None:
    text = model(HINGES)
    spec = mujoco.MjSpec.from_string(text)
    spec.body("world").add_site(name="here", pos=[1.0, 2.0, 3.0])
    robot = from_mujoco(spec)
    assert_close(robot.frames["here"].placement.position, [1.0, 2.0, 3.0], 1e-15)
    same(robot, lw.loads(text))


def test_contacts_of_primitive_geoms() -> None:
    text = model(
        '<geom type="plane" size="1 1 1"/><body name="b" pos="0 0 1"><freejoint name="f"/>'
        '<geom name="ball" type="sphere" size="0.1" friction="0.7"/></body>'
    )
    robot = from_mujoco(mujoco.MjModel.from_xml_string(text))
    assert [(pair.second.name, pair.friction) for pair in robot.contacts] == [("ball", 1.0)]
    same(robot, lw.loads(text))


def test_refusals() -> None:
    with pytest.raises(lw.errors.InputError, match="takes a mujoco"):
        from_mujoco(3)


def test_a_mocap_body_stands_where_it_is_drawn() -> None:
    robot = from_mujoco(mujoco.MjModel.from_xml_string(model('<body name="b" mocap="true" pos="1 2 3"/>')))
    assert_close(robot.frames["b"].placement.position, [1.0, 2.0, 3.0], 1e-15)


SWITCHES = ("gravity", "spring", "damper", "limit", "frictionloss", "equality", "constraint", "contact", "clampctrl")


@pytest.mark.parametrize("switch", SWITCHES)
def test_what_a_flag_switches_off(switch: str) -> None:
    """From a compiled model as from its text, and passive forces as MuJoCo has them."""
    text = f"""<mujoco><compiler angle="radian"/><option><flag {switch}="disable"/></option><worldbody>
      <geom type="plane" size="1 1 1"/><site name="peg" pos="0 0 2"/>
      <body name="a"><joint name="j" axis="0 1 0" stiffness="2" damping="3" frictionloss=".1" range="-1 1"/>
        <geom type="capsule" fromto="0 0 0 .3 0 .1" size=".03"/><site name="tip" pos=".3 0 0"/></body></worldbody>
      <tendon><spatial name="t" stiffness="5" damping=".7" springlength=".1" range="0 3" frictionloss=".2">
        <site site="peg"/><site site="tip"/></spatial></tendon>
      <equality><joint joint1="j"/></equality>
      <actuator><position joint="j" inheritrange="1" gear="2" armature=".3" damping=".2"/></actuator></mujoco>"""
    loaded = mujoco.MjModel.from_xml_string(text)
    read, ours = lw.loads(text), from_mujoco(loaded)
    same(ours, read)
    for one in (read, ours):
        assert one.gravity.any() == (switch != "gravity")
        assert (
            np.isfinite(one.lower).all()
            == np.isfinite(one.tendon("t").limits).all()
            == (switch not in ("limit", "constraint"))
        )
        assert one.friction.any() == bool(one.tendon("t").friction) == (switch not in ("frictionloss", "constraint"))
        assert one.constraints[0].enabled == (switch not in ("equality", "constraint"))
        assert len(one.contacts) == (switch not in ("contact", "constraint"))
        assert np.isfinite(one.actuators[0].limits).all() == (switch != "clampctrl")
        state = mujoco.MjData(loaded)
        state.qpos[:], state.qvel[:] = 0.4, 0.7
        mujoco.mj_forward(loaded, state)
        tau = lw.passive_forces(one, [0.4], [0.7]) + lw.tendons.tendon_forces(one, [0.4], [0.7])
        assert_close(tau, state.qfrc_passive, 1e-12, scale=1.0)


def test_what_holds_for_a_whole_model() -> None:
    arm = '<body name="a"><joint name="j" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 .1" size=".03"/></body>'
    motor = '<actuator><motor name="m" joint="j" group="2" gear="2" armature=".3" damping=".2"/></actuator>'
    text = model(arm, motor).replace("<worldbody>", '<option actuatorgroupdisable="2"/><worldbody>')
    robot = from_mujoco(mujoco.MjModel.from_xml_string(text))
    assert "switched off" in robot.actuators[0].refused
    assert_close(robot.armature, [1.2], 1e-14)
    assert_close(robot.damping, [0.8], 1e-14)


def test_plugins_and_flexes_are_not_passed_over() -> None:
    arm = '<body name="a"><joint name="j"/><geom type="capsule" fromto="0 0 0 .3 0 .1" size=".03"/></body>'
    driven = model(
        arm,
        '<extension><plugin plugin="mujoco.pid"/></extension>',
        '<actuator><plugin name="p" joint="j" plugin="mujoco.pid"><config key="kp" value="3"/></plugin></actuator>',
    )
    assert from_mujoco(mujoco.MjModel.from_xml_string(driven)).actuators[0].refused == "a <plugin>"
    cloth = '<flexcomp name="cloth" type="grid" count="3 3 1" spacing=".1 .1 .1" dim="2" radius=".01"/>'
    with pytest.raises(lw.errors.UnsupportedFeature, match="flexes"):
        from_mujoco(mujoco.MjModel.from_xml_string(model(cloth)))


def test_actuators_that_are_left_out_are_a_warning() -> None:
    text = model(
        '<body name="a"><freejoint name="f"/><geom size=".1"/><site name="s"/>'
        '<body name="b"><joint name="ball" type="ball"/><geom size=".1"/></body></body>'
        '<body name="still"><geom size=".1"/></body>',
        after='<actuator><adhesion name="odd" body="still" ctrlrange="0 1"/>'
        '<motor name="even" joint="ball" gear="1 2 3"/></actuator>',
    )
    for make in (lambda: lw.loads(text), lambda: from_mujoco(mujoco.MjModel.from_xml_string(text))):
        with pytest.warns(lw.errors.ModelWarning, match="is left out, commands have none for it"):
            assert [actuator.name for actuator in make().actuators] == ["even"]


ODD = """<orientation name="turn" joint="ball" kp="3"/><motor name="first" joint="h" gear="7" ctrlrange="-1 2"/>
<pid name="pid" joint="h" kp="1" kv="2" ki=".3" imax=".2" velrange="-1 2"/>
<motor name="last" joint="h" gear="9" forcerange="-3 3"/><motor name="late" joint="h" delay=".01" nsample="3"/>
<dcmotor name="voltage" joint="h" nominal="24 3 100" saturation="2 0 0" ctrlrange="-24 24"/>
<dcmotor name="current" joint="h" nominal="24 3 100" input="pos ff" controller="3 1 2 0 .5 0"/>
<orientation name="site" site="s" refsite="w" kp="3"/>"""
"""Actuators of several commands between those of one."""


@pytest.mark.skipif(not hasattr(mujoco.mjtTrn, "mjTRN_SO3"), reason="MuJoCo 4 has orientations and PID controllers")
def test_actuators_of_several_commands_are_those_of_the_file() -> None:
    text = model(
        '<body name="b"><joint name="ball" type="ball"/><geom size=".1"/><site name="s"/>'
        '<body pos="1 0 0"><joint name="h"/><geom size=".1"/></body></body><site name="w"/>',
        after=f"<actuator>{ODD}</actuator>",
    )
    robots = []
    for make in (lambda: lw.loads(text), lambda: from_mujoco(mujoco.MjModel.from_xml_string(text))):
        robots.append(make())
    read, ours = robots
    names = ["turn", "first", "pid", "pid_vel", "last", "late", "voltage", "current", "current_ff", "site"]
    assert [a.name for a in ours.actuators] == names
    assert [bool(a.refused) for a in ours.actuators] == [bool(a.refused) for a in read.actuators]
    for one, other in zip(ours.actuators, read.actuators, strict=True):
        if not one.refused:
            for what in ("gear", "limits", "force_limits", "motor"):
                assert getattr(one, what) == getattr(other, what)
            np.testing.assert_allclose([one.gain, one.bias], [other.gain, other.bias], rtol=1e-14)


def test_polynomials_of_joints_are_read_as_in_files() -> None:
    text = model('<body><joint damping="3 0 1" stiffness="2 1"/><geom size=".1"/></body>')
    read = lw.loads(text)
    robot = from_mujoco(mujoco.MjModel.from_xml_string(text))
    same(robot, read)
    for joint in (robot.joints[0], read.joints[0]):
        assert (joint.damping_terms, joint.stiffness_terms) == ((0.0, 1.0), (1.0, 0.0))


TOUCHING = """<asset><mesh name="wedge" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>
<hfield name="hills" nrow="3" ncol="4" size="2 3 .5 .1" elevation="0 1 2 3 4 5 6 7 8 9 1 2"/></asset>"""


def test_contacts_of_meshes_and_height_fields_stay() -> None:
    text = model(
        '<geom type="hfield" hfield="hills"/><body name="b" pos="0 0 1"><freejoint/>'
        '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><geom name="ball" size=".1"/>'
        '<geom name="edge" type="mesh" mesh="wedge"/>'
        '<geom type="mesh" mesh="wedge" contype="0" conaffinity="0"/></body>',
        TOUCHING,
    )
    robot, read = from_mujoco(mujoco.MjModel.from_xml_string(text)), lw.loads(text)
    assert [pair.second.name for pair in robot.contacts] == [pair.second.name for pair in read.contacts]
    assert {pair.second.name for pair in robot.contacts} == {"ball", "edge"}
    ours, theirs = ([pair for pair in r.contacts if pair.second.name == "ball"] for r in (robot, read))
    field, other = ours[0].first.solid, theirs[0].first.solid
    assert isinstance(field, lw.shapes.HeightField) and isinstance(other, lw.shapes.HeightField)
    np.testing.assert_allclose(field.heights, other.heights, atol=1e-6)


def test_a_height_field_that_was_changed_stands_where_its_numbers_say() -> None:
    """Files are scaled to heights from zero to one; a program may write any others."""
    text = model(
        '<geom type="hfield" hfield="hills" pos="0 0 1" euler="30 20 10"/><body><freejoint/><geom size=".1"/></body>',
        TOUCHING,
    )
    loaded = mujoco.MjModel.from_xml_string(text)
    before = from_mujoco(loaded).contacts[0].first
    loaded.hfield_data[:] = 2 * loaded.hfield_data + 3
    after = from_mujoco(loaded).contacts[0].first
    assert isinstance(before.solid, lw.shapes.HeightField) and isinstance(after.solid, lw.shapes.HeightField)
    np.testing.assert_allclose(after.solid.heights, 2 * np.array(before.solid.heights), rtol=1e-6)
    up = before.placement.rotation[:, 2]
    np.testing.assert_allclose(after.placement.position, before.placement.position + 1.5 * up, rtol=1e-6)


def test_impedance_that_is_not_mujocos_default_is_a_warning() -> None:
    text = model(
        '<geom type="plane" size="1 1 1"/><body name="b"><joint name="j" type="slide"/><geom size=".1" {0}/></body>'
        '<body name="c"><joint name="k" type="slide"/><geom size=".1" contype="0" conaffinity="0"/></body>',
        after='<equality><joint name="tie" joint1="j" joint2="k" {1}/></equality>',
    )
    soft, usual = 'solimp="0.8 0.9 0.01"', 'solimp="0.9 0.95"'
    for make in (lw.loads, lambda words: from_mujoco(mujoco.MjModel.from_xml_string(words))):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            make(text.format(usual, usual))
        with pytest.warns(lw.errors.ModelWarning, match="'solimp', which acts with contact='soft' alone"):
            make(text.format(soft, ""))
        with pytest.warns(lw.errors.ModelWarning, match=r"'solimp' acts with contact='soft' alone: .* \('tie'\)"):
            make(text.format("", soft))
