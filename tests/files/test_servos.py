# SPDX-License-Identifier: BSD-3-Clause
"""Actuators of MJCF make MuJoCo's forces: servos, ranges, gears, default classes, gravity compensation."""

from __future__ import annotations

import pickle
from pathlib import Path

import mujoco
import numpy as np
import pytest

import linkwork as lw
from linkwork.mechanism import Mechanism
from linkwork.parsing.mjcf import mujoco_map
from tests.support.robots import model_file, model_files

AGREEMENT = 1e-12
DRIVEN = [path for path in model_files("*_nomesh.xml") if "<actuator>" in path.read_text()]

BODIES = """<worldbody>
  <body name="upper" pos="0 0 1" gravcomp="{held}"><joint name="j" axis="0 1 0" range="-60 60" {joint}/>
    <geom size=".1" pos=".3 0 .1"/>
    <body name="plate" pos="0.1 0 0" gravcomp="0.5"><geom size=".05 .1 .02" type="box" pos="0 .1 .2"/></body>
    <body name="lower" pos=".5 0 0"><joint name="k" type="slide" axis="1 0 .2" armature="0.2" range="-1 2" ref=".3"/>
      <geom size=".1" mass="2" pos="0 .1 .1"/></body></body>
  <body name="ball" pos="1 0 0"><joint name="b" type="ball"/><geom size=".1" pos=".2 .1 0"/></body>
</worldbody>
<tendon><fixed name="t" range="-1 2"><joint joint="j" coef="0.5"/><joint joint="k" coef="-2"/></fixed></tendon>"""


def text(actuators: str, defaults: str = "", joint: str = "", option: str = "", held: str = "0") -> str:
    around = BODIES.format(joint=joint, held=held)
    return f"<mujoco>{option}<default>{defaults}</default>{around}<actuator>{actuators}</actuator></mujoco>"


def random_state(model: mujoco.MjModel, rng: np.random.Generator) -> mujoco.MjData:
    data = mujoco.MjData(model)
    mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv), 1.0)
    data.qvel[:] = rng.normal(size=model.nv)
    data.ctrl[:] = 3 * rng.normal(size=model.nu)
    mujoco.mj_forward(model, data)
    return data


def assert_same_torques(robot: Mechanism, model: mujoco.MjModel, seed: int = 0) -> None:
    """Both of single states, and of a batch of them."""
    rng, convert = np.random.default_rng(seed), mujoco_map(robot)
    states = [random_state(model, rng) for _ in range(12)]
    q = np.array([convert.from_qpos(data.qpos) for data in states])
    v = np.array([convert.from_qvel(at, data.qvel) for at, data in zip(q, states, strict=True)])
    u = np.array([data.ctrl for data in states])
    theirs = np.array([convert.from_qfrc(at, data.qfrc_actuator) for at, data in zip(q, states, strict=True)])
    scale = max(1.0, np.abs(theirs).max())
    assert np.abs(theirs).max() > 1e-3
    assert np.abs(lw.actuators.actuator_torques(robot, q, v, u) - theirs).max() <= AGREEMENT * scale
    assert np.abs(lw.actuators.actuator_torques(robot, q[0], v[0], u[0]) - theirs[0]).max() <= AGREEMENT * scale
    fast = lw.Evaluator(robot, "actuator_torques").compile()
    assert np.abs(fast(q, v, u) - theirs).max() <= AGREEMENT * scale


SERVOS = {
    "motor": '<motor joint="j" gear="3"/>',
    "position": '<position joint="j" kp="40" kv="3"/>',
    "position, geared": '<position joint="k" kp="40" kv="3" gear="-2.5"/>',
    "velocity": '<velocity joint="j" kv="7" gear="2"/>',
    "damper": '<damper joint="j" kv="3" ctrlrange="0 2"/>',
    "general": '<general joint="k" gainprm="5" biastype="affine" biasprm="1 -4 -2"/>',
    "general without its bias": '<general joint="k" gainprm="5" biasprm="1 -4 -2"/>',
    "affine gain": '<general joint="j" gaintype="affine" gainprm="5 1 2" biastype="affine" biasprm="1 2 3"/>',
    "fixed gain with more numbers": '<general joint="j" gaintype="fixed" gainprm="5 1 2"/>',
    "control range": '<position joint="j" kp="40" ctrlrange="-0.5 1"/>',
    "control range that does not count": '<position joint="j" kp="40" ctrlrange="-0.5 1" ctrllimited="false"/>',
    "force range": '<position joint="j" kp="40" gear="3" forcerange="-20 10"/>',
    "both ranges of a motor": '<motor joint="j" gear="3" ctrlrange="-2 2" forcerange="-1 5"/>',
    "inherited range": '<position joint="j" kp="40" inheritrange="0.5"/>',
    "inherited range of a tendon": '<position tendon="t" kp="40" inheritrange="0.9"/>',
    "damping ratio of a hinge": '<position joint="j" kp="40" dampratio="0.7" gear="2"/>',
    "damping ratio of a slide with a rotor": '<position joint="k" kp="40" dampratio="0.7" gear="2" armature="3"/>',
    "damping ratio over a tendon": '<position tendon="t" kp="40" dampratio="1"/>',
    "damping ratio in numbers": '<general joint="j" gainprm="5" biastype="affine" biasprm="0 -5 0.5"/>',
    "tendon": '<general tendon="t" gear="3" gainprm="2" biastype="affine" biasprm="1 -4 -2" forcerange="-30 30"/>',
    "several on one joint": '<position joint="j" kp="9"/><motor joint="j" gear="2"/><velocity tendon="t" kv="4"/>',
    "pid of position and velocity": '<pid joint="j" kp="5" kv="3" posrange="-1 1" velrange="-2 2"/>',
    "pid of velocity and force": '<pid joint="j" kp="5" kv="3" input="vel ff" gear="2" ffrange="-1 2"/>',
    "pid of all inputs over a tendon": '<pid tendon="t" kp="5" kv="3" input="pos vel ff"/>',
    "pid with a range of force": '<pid joint="j" kp="40" kv="3" input="vel" forcerange="-2 2"/>',
    "voltage": '<dcmotor joint="j" resistance="2" motorconst=".5 .3" gear="3"/>',
    "voltage, saturated": '<dcmotor joint="j" nominal="24 3 100" saturation="0 .9 0"/>',
    "current, controlled": '<dcmotor joint="j" nominal="24 3 100" input="pos vel ff voltage" controller="7 0 2"/>',
    "ball": '<motor joint="b" gear="1 2 3"/><velocity joint="b" kv="3" gear="0 1 1"/>',
}


@pytest.mark.parametrize("kind", SERVOS)
def test_servos_make_mujocos_forces(kind: str) -> None:
    words = text(SERVOS[kind])
    assert_same_torques(lw.loads(words, "mjcf"), mujoco.MjModel.from_xml_string(words))


@pytest.mark.parametrize("bounds", ["-9 9", "-2 12"])
def test_joints_bound_the_torque_of_all_their_actuators(bounds: str) -> None:
    words = text(SERVOS["several on one joint"], joint=f'actuatorfrcrange="{bounds}"')
    robot = lw.loads(words, "mjcf")
    assert robot.joint("j").limits.actuation == tuple(map(float, bounds.split()))
    assert_same_torques(robot, mujoco.MjModel.from_xml_string(words))


CHAINS = {
    "numbers before a position": (
        '<general gainprm="10 3" biastype="affine" biasprm="1 -10 -1"/>',
        '<position joint="j"/><position joint="k" kp="20"/><velocity joint="j"/><motor joint="k"/>',
    ),
    "a position before others": (
        '<position kp="5" kv="1"/>',
        '<general joint="j" gainprm="8"/><velocity joint="k" kv="8"/><motor joint="j"/><position joint="k"/>'
        '<damper joint="j" kv="3" ctrlrange="0 2"/>',
    ),
    "a damper before others": (
        '<damper kv="5" ctrlrange="0 1"/>',
        '<position joint="j" kp="3"/><general joint="k"/><velocity joint="j"/><damper joint="k" ctrlrange="0 3"/>',
    ),
    "a damping ratio before others": (
        '<position kp="5" dampratio="1"/>',
        '<position joint="j"/><position joint="k" kv="0.3"/><position joint="k" kp="9"/>',
    ),
    "an inherited range before others": (
        '<position kp="5" inheritrange="1"/>',
        '<position joint="j"/><general joint="k"/><velocity joint="j"/><position joint="k" ctrlrange="-1 1"/>',
    ),
    "a class in a class": (
        '<position kp="5"/><default class="c"><general biasprm="3"/><default class="d"><velocity kv="2"/>'
        "</default></default>",
        '<general joint="j" class="c"/><general joint="k" class="d"/><motor joint="k" class="c"/>',
    ),
    "a velocity and numbers before others": (
        '<velocity kv="5"/><general gainprm="7"/>',
        '<position joint="j"/><velocity joint="k"/><general joint="k" biastype="none"/>',
    ),
    "a velocity before others": ('<velocity kv="5"/>', '<position joint="j"/><general joint="k" biastype="none"/>'),
    "a muscle before a motor": ("<muscle/>", '<motor joint="j"/>'),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_default_classes_of_one_kind_of_actuator_count_for_others(chain: str) -> None:
    words = text(CHAINS[chain][1], CHAINS[chain][0])
    assert_same_torques(lw.loads(words, "mjcf"), mujoco.MjModel.from_xml_string(words))


def test_ranges_of_controls_count_unless_a_flag_says_otherwise() -> None:
    words = text(SERVOS["control range"], option='<option><flag clampctrl="disable"/></option>')
    assert_same_torques(lw.loads(words, "mjcf"), mujoco.MjModel.from_xml_string(words))


def test_the_panda_has_a_servo_that_drives_two_fingers() -> None:
    robot = lw.load(model_file("panda/panda_nomesh.xml"))
    assert [len(a.gears) for a in robot.actuators] == [1] * 7 + [2]


@pytest.mark.parametrize("path", DRIVEN, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_actuators_of_robots_make_mujocos_forces(path: Path) -> None:
    robot, model = lw.load(path, inertias="trust"), mujoco.MjModel.from_xml_path(str(path))
    assert len(robot.actuators) == model.nu > 0
    assert_same_torques(robot, model)


REFUSED = {
    "a muscle without 'lengthrange'": '<muscle joint="j"/>',
    "a <pid> with a limit of the rate": '<pid joint="j" kp="5" input="pos" slewmax="3"/>',
    "a <dcmotor> with 'lugre'": '<dcmotor joint="j" nominal="24 3 100" lugre="9 1 1 1 1"/>',
    "a <dcmotor> without 'nominal'": '<dcmotor joint="j" resistance="2"/>',
    "dyntype 'user'": '<general joint="j" dyntype="user" actdim="1"/>',
    "gaintype 'user'": '<general joint="j" gaintype="user"/>',
    "a delay of more than": '<position joint="j" delay="0.01" nsample="5" interp="cubic"/>',
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_modeled_takes_no_commands_and_says_what_it_is(what: str) -> None:
    robot = lw.loads(text(REFUSED[what].replace("/>", ' name="first"/>') + '<motor joint="k"/>'), "mjcf")
    q, v = robot.neutral(), np.zeros(robot.nv)
    with pytest.raises(lw.errors.UnsupportedFeature, match=f"actuator 'first' .*{what}.*torques of the joints"):
        lw.actuators.actuator_torques(robot, q, v, [0.0, 0.0])
    with pytest.raises(lw.errors.UnsupportedFeature, match="actuator 'first'"):
        lw.simulate(robot, q, seconds=0.01, commands=[0.0, 0.0])
    lw.simulate(robot, q, seconds=0.01)  # nothing is commanded


def test_several_inputs_with_a_range_of_force_together_take_no_commands() -> None:
    robot = lw.loads(text('<pid name="both" joint="j" kp="5" forcerange="-1 1"/>'), "mjcf")
    assert [actuator.name for actuator in robot.actuators] == ["both", "both_vel"]
    with pytest.raises(lw.errors.UnsupportedFeature, match="several inputs, whose forces have a range together"):
        lw.actuators.actuator_torques(robot, robot.neutral(), np.zeros(robot.nv), [0.0, 0.0])


@pytest.mark.parametrize(
    "option", ['<option><flag actuation="disable"/></option>', '<option actuatorgroupdisable="0 3"/>']
)
def test_actuators_that_are_switched_off_take_no_commands(option: str) -> None:
    robot = lw.loads(text('<motor joint="j"/>', option=option), "mjcf")
    with pytest.raises(lw.errors.UnsupportedFeature, match="switched off"):
        lw.actuators.actuator_torques(robot, robot.neutral(), np.zeros(robot.nv), [0.0])


def test_a_servo_stays_one_in_copies_and_compositions(tmp_path: Path) -> None:
    words = text(SERVOS["tendon"], joint='actuatorfrcrange="-2 12"', held="1")
    robot = lw.loads(words, "mjcf")
    scene = lw.compose({"left": robot, "right": pickle.loads(pickle.dumps(robot))}, at={"right": (1.0, 0.0, 0.0)})
    rng = np.random.default_rng(3)
    q, v, u = robot.random(3), rng.normal(size=robot.nv), rng.normal(size=1)
    one = lw.actuators.actuator_torques(robot, q, v, u)
    both = lw.actuators.actuator_torques(scene, np.tile(q, 2), np.tile(v, 2), np.tile(u, 2))
    assert np.array_equal(both, np.tile(one, 2))
    held = lw.actuators.gravity_compensation(scene, np.tile(q, 2))
    assert np.allclose(held, np.tile(lw.actuators.gravity_compensation(robot, q), 2), rtol=1e-14, atol=1e-13)


def test_gravity_compensation_is_mujocos() -> None:
    words = text('<motor joint="j"/>', held="0.8").replace('gravity="', "")
    robot, model = lw.loads(words, "mjcf"), mujoco.MjModel.from_xml_string(words)
    rng, convert = np.random.default_rng(1), mujoco_map(robot)
    assert set(robot.gravity_compensation) == {"upper"}  # with the plate that is fixed to it
    for _ in range(8):
        data = random_state(model, rng)
        q, v = convert.from_qpos(data.qpos), convert.from_qvel(convert.from_qpos(data.qpos), data.qvel)
        ours, theirs = lw.actuators.gravity_compensation(robot, q), convert.from_qfrc(q, data.qfrc_gravcomp)
        assert np.abs(ours - theirs).max() <= AGREEMENT * np.abs(theirs).max()
        a = lw.ForwardDynamics(robot)(q, v, ours + lw.actuators.actuator_torques(robot, q, v, data.ctrl)).acceleration
        qacc = convert.from_qacc(q, v, data.qacc_smooth)
        assert np.abs(a - qacc).max() <= 1e-11 * np.abs(qacc).max()


def test_weight_that_is_held_up_in_full_does_not_fall() -> None:
    build = lw.Builder("held")
    build.body("arm", lw.Inertia.rod(1.0, (0, 0, 0), (0.5, 0, 0)), gravity_compensation=1.0)
    build.joint("joint", lw.joints.Revolute("y"), "world", "arm")
    robot = build.build()
    assert np.abs(lw.simulate(robot, seconds=0.1).q).max() < 1e-15
    assert np.abs(lw.simulate(robot, seconds=0.1, passive=False).q).max() > 1e-2
    assert np.abs(lw.simulate(robot.with_gravity((0, 0, 0)), seconds=0.1).q).max() == 0


def test_an_actuator_with_two_targets_acts_on_mujocos() -> None:
    """The site, not the joint that is named first."""
    text = """<mujoco><worldbody><body><joint name="j"/><geom size=".1"/>
      <site name="s" pos=".1 0 0"/></body></worldbody>
      <actuator><motor joint="j" site="s" gear="0 1 0 0 0 0"/></actuator></mujoco>"""
    with pytest.warns(lw.errors.ModelWarning, match="one of site, joint: here on the site, as in MuJoCo"):
        robot = lw.loads(text)
    m = mujoco.MjModel.from_xml_string(text)
    d = mujoco.MjData(m)
    d.ctrl[:] = 2.0
    mujoco.mj_forward(m, d)
    torque = lw.actuators.actuator_torques(robot, [0.0], [0.0], [2.0])
    np.testing.assert_allclose(torque, d.qfrc_actuator, atol=1e-14)
