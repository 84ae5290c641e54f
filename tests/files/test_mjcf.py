# SPDX-License-Identifier: BSD-3-Clause
"""MJCF: bodies, joints, places, default classes, actuators and keyframes are read as MuJoCo reads them."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.joints import Free, Prismatic, Revolute, Spherical
from linkwork.parsing.mjcf import mujoco_map
from tests.support.mjcf_texts import HINGES, SITES, SOLID, TENDONS, body, both, chain, model
from tests.support.mujoco_twin import MujocoTwin

TREES = {
    "hinge": chain("<joint/>"),
    "joint beside the origin": chain('<joint pos="0.3 -0.2 0.1" axis="1 1 0"/>', '<joint type="slide" pos="1 2 3"/>'),
    "ball beside the origin": chain('<joint type="ball" pos="0.3 -0.2 0.1"/>', '<joint type="ball"/>'),
    "free": chain("<freejoint/>", '<joint axis="0 1 0"/>'),
    "free joint element": chain(
        '<joint type="free" damping="2"/>', '<joint type="ball" pos="0.1 0 0" armature="0.3"/>'
    ),
    "ref of a hinge": chain('<joint ref="0.4" axis="1 2 0" pos="0.1 0.2 0.3"/>', '<joint ref="-2" axis="0 1 0"/>'),
    "ref of a slide": chain('<joint type="slide" ref="0.4" axis="1 2 0"/>', '<joint ref="1" pos="0 1 0"/>'),
    "three hinges": chain(
        '<joint axis="1 0 0" pos="0.1 0 0"/><joint axis="0 1 0" pos="0 0.2 0"/><joint axis="0 0 1" ref="0.5"/>',
        "<joint/>",
    ),
    "slides and a ball": chain(
        '<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0.1" ref="0.2"/>'
        '<joint type="ball" pos="0.2 0.1 0"/>',
        '<joint type="slide" axis="0 0 1"/><joint axis="1 0 1" pos="0.1 0.1 0.1"/>',
    ),
    "ball before a slide": chain('<joint type="ball" pos="0.2 0.1 0"/><joint type="slide" axis="1 1 0"/>'),
    "six joints": chain(
        "".join(f'<joint type="slide" axis="{a}"/>' for a in ("1 0 0", "0 1 0", "0 0 1"))
        + "".join(f'<joint axis="{a}" armature="0.01"/>' for a in ("1 0 0", "0 1 0", "0 0 1"))
    ),
    "armature": chain('<joint armature="0.5"/>', '<joint type="ball" armature="0.2"/>', '<joint armature="3"/>'),
    "fixed bodies": chain("<joint/>", "", "", '<joint axis="1 0 0"/>', ""),
    "branches": body(chain("<joint/>") + '<joint axis="0 1 0"/>' + body('<joint type="ball"/>', more='pos="0 0 1"')),
    "static base": body(chain("<joint/>", "<joint/>"), "base", 'pos="1 2 3" euler="0.1 0.2 0.3"'),
    "joints after bodies": f'<body name="a">{body("<joint/>", "b")}<joint axis="0 1 0"/>{SOLID}</body>',
    "several worlds": chain("<joint/>") + "</worldbody><worldbody>" + body('<joint axis="1 0 0"/>', "late"),
    "nothing": "",
}

# Bodies and joints ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TREES)
def test_a_tree_has_mujocos_dynamics(name: str) -> None:
    both(model(TREES[name]))


@pytest.mark.parametrize("name", TREES)
def test_joints_stand_in_mujocos_order(name: str) -> None:
    robot, theirs = both(model(TREES[name]))
    kinds = {Free: 0, Spherical: 1, Prismatic: 2, Revolute: 3}
    assert [kinds[type(joint.type)] for joint in robot.joints] == list(theirs.jnt_type)


def test_names_that_the_file_lacks_are_made_and_are_unique() -> None:
    first = body('<joint/><joint name="body_2_joint" axis="1 0 0"/>', "body_2")
    robot = lw.loads(model(first + body("<joint/>") + body("<freejoint/>")), "mjcf")
    assert robot.joint_names == ("body_2_joint_1", "body_2_joint", "body_2_1_joint", "body_3_joint")
    assert robot.body_names == ("body_2_after_body_2_joint_1", "body_2", "body_2_1", "body_3")


def test_a_body_between_two_joints_is_called_after_the_first() -> None:
    robot = lw.loads(model(body('<joint name="x"/><joint name="y" axis="1 0 0"/>', "arm")), "mjcf")
    assert robot.body_names == ("arm_after_x", "arm")
    assert robot.inertias["arm_after_x"].mass == 0


def test_the_coordinate_of_a_hinge_is_qpos_with_its_ref_limits_and_spring() -> None:
    joint = '<joint name="j" ref="30" range="-40 50" springref="20" stiffness="3 1 2" damping="4" frictionloss="5"/>'
    robot, theirs = both(model(body(joint), angle="degree"))
    entry = robot.joint("j")
    assert robot.poses["qpos0"] == pytest.approx(theirs.qpos0) == [np.radians(30)]
    assert [*robot.lower, *robot.upper] == pytest.approx(theirs.jnt_range[0])
    assert entry.rest == pytest.approx(theirs.qpos_spring)
    assert (entry.stiffness[0], entry.damping[0], entry.friction[0]) == (3, 4, 5)


@pytest.mark.parametrize(
    ("limited", "auto", "bounded"),
    [("auto", "true", True), ("true", "false", True), ("false", "true", False)],
)
def test_limits_hold_where_the_file_says_so(limited: str, auto: str, bounded: bool) -> None:
    joint = (
        f'<joint type="slide" range="-1 2" limited="{limited}" actuatorfrcrange="-3 4" actuatorfrclimited="{limited}"/>'
    )
    robot = lw.loads(model(body(joint), f'<compiler autolimits="{auto}"/>'), "mjcf")
    assert (robot.lower[0], robot.upper[0]) == ((-1, 2) if bounded else (-np.inf, np.inf))
    assert robot.effort_limit[0] == (4 if bounded else np.inf)


def test_sites_are_frames_where_mujoco_has_them() -> None:
    sites = '<site name="tip" pos="1 2 3" euler="0.1 0.2 0.3"/><site name="b0" pos="0 0 1"/><site/>'
    robot, _ = both(model(chain('<joint ref="0.3" pos="0.1 0.2 0.3"/>' + sites) + '<site name="mark" pos="4 5 6"/>'))
    assert {"tip", "b0", "b0_site", "mark"} <= set(robot.frame_names)
    twin = MujocoTwin(robot, model(chain('<joint ref="0.3" pos="0.1 0.2 0.3"/>' + sites)))
    q = robot.random(1)
    twin.mass_matrix(q)
    place = lw.frame_placement(robot, q, "tip")
    np.testing.assert_allclose(place.position, twin.data.site("tip").xpos, atol=1e-14)
    np.testing.assert_allclose(place.rotation.ravel(), twin.data.site("tip").xmat, atol=1e-14)
    np.testing.assert_allclose(lw.frame_placement(robot, q, "b0").position, twin.data.body("b0").xpos, atol=1e-14)


def test_a_mocap_body_stands_still() -> None:
    both(model(chain("<joint/>") + '<body mocap="true" name="target" pos="1 2 3"><geom size="0.1"/></body>'))


def test_gravity_is_that_of_the_file_and_can_be_switched_off() -> None:
    assert lw.loads(model(HINGES), "mjcf").gravity.tolist() == [0.3, -0.2, -9.81]
    robot, _ = both(model(HINGES, '<option><flag gravity="disable"/></option>'))
    assert robot.gravity.tolist() == [0, 0, 0]


# Places --------------------------------------------------------------------------------------------

ORIENTATIONS = {
    "quat": 'quat="0.3 0.2 -0.5 4"',
    "axisangle": 'axisangle="1 2 -3 0.7"',
    "euler": 'euler="0.3 -0.4 0.5"',
    "xyaxes": 'xyaxes="1 2 3 -1 2 0.5"',
    "zaxis": 'zaxis="1 -2 0.5"',
    "zaxis up": 'zaxis="0 0 3"',
    "zaxis down": 'zaxis="0 0 -2"',
}


@pytest.mark.parametrize("way", ORIENTATIONS)
@pytest.mark.parametrize("angle", ["radian", "degree"])
def test_an_orientation_is_read_as_mujoco_reads_it(way: str, angle: str) -> None:
    turned = ORIENTATIONS[way].replace("0.7", "70") if angle == "degree" else ORIENTATIONS[way]
    inertial = f'<inertial pos="1 2 3" {turned} mass="2" diaginertia="1 2 2.5"/>'
    inner = f'<body pos="1 0 0" {turned}><joint axis="1 0 0"/><geom type="box" size="0.1 0.2 0.3" {turned}/></body>'
    both(model(f'<body pos="0 1 0" {turned}><joint axis="0 1 0"/>{inertial}{inner}</body>', angle=angle))


@pytest.mark.parametrize("sequence", ["xyz", "XYZ", "zyx", "ZYX", "xYz", "XyZ", "zxz", "XXx", "yzX"])
def test_euler_angles_turn_about_moving_axes_in_lower_case_and_fixed_ones_in_upper(sequence: str) -> None:
    inner = body('<joint axis="1 0 0"/>', more='euler="0.3 -0.4 0.5"')
    both(model(body(f"<joint/>{inner}", more='euler="0.3 -0.4 0.5"'), f'<compiler eulerseq="{sequence}"/>'))


def test_angles_are_degrees_where_nothing_is_said() -> None:
    text = model(body('<joint axis="1 0 0" ref="30"/>', more='euler="10 20 30"')).replace(
        '<compiler angle="radian"/>', ""
    )
    both(text)


def test_of_repeated_settings_the_last_counts() -> None:
    before = '<compiler angle="degree" eulerseq="zyx"/><option gravity="1 2 3"/><option timestep="1"/>'
    before += '<compiler angle="radian"/>'
    robot, _ = both(model(body("<joint/>", more='euler="0.3 -0.4 0.5"'), before))
    assert robot.gravity.tolist() == [1, 2, 3]


def test_a_frame_moves_what_is_inside_of_it() -> None:
    inside = (
        '<frame pos="0.1 0.2 0.3" euler="0.3 0.2 0.1"><joint axis="1 0 0" pos="0.3 0 0"/>'
        '<frame pos="0 1 0" zaxis="1 1 0"><geom type="capsule" size="0.1 0.2"/><site name="s" pos="1 0 0"/>'
        + body('<joint type="ball" pos="0.1 0 0"/>', "inner", 'pos="1 0 0"')
        + "</frame></frame>"
        '<frame pos="0 0 1"><geom size="0.2" pos="0 0.1 0"/></frame>'
    )
    both(model(f'<frame pos="1 2 3" quat="1 1 0 0"><body name="a" pos="1 0 0" euler="1 0 0">{inside}</body></frame>'))
    both(model(f'<body><joint axis="0 1 0"/><frame pos="1 2 3" euler="1 0 1">{SOLID}</frame></body>'))
    free = f'<frame pos="1 2 3" quat="1 1 0 0">{body("<freejoint/>", "f")}</frame>'
    both(model(free + body('<frame pos="1 2 3"><freejoint/></frame>')))


# Default classes -----------------------------------------------------------------------------------

DEFAULTS = """<default>
  <joint armature="0.1" axis="1 0 0"/><geom density="500" type="capsule" size="0.05 0.2"/>
  <default class="a"><joint armature="0.2"/>
    <default class="a2"><joint axis="0 1 0" type="slide"/><geom type="box" size="0.1 0.2 0.3" euler="1 2 3"/></default>
  </default>
  <default class="b"><joint pos="0.1 0.2 0.3" type="ball"/><motor gear="3" armature="0.5"/></default>
</default>
<default><default class="c"><geom mass="2"/><site pos="1 2 3"/></default></default>"""


@pytest.mark.parametrize(
    "world",
    [
        "<body><joint/><geom/></body>",
        '<body childclass="a"><joint/><geom/><body><joint class="main"/><geom class="a2"/></body></body>',
        '<body childclass="a2"><joint/><geom quat="1 1 0 0"/><body childclass="b"><joint/><geom/></body></body>',
        '<body childclass="b"><joint/><geom/><frame childclass="a"><body><joint/><geom/></body></frame></body>',
        '<frame childclass="a2"><body><joint axis="1 1 1"/><geom size="1 1 1" zaxis="1 0 0"/></body></frame>',
    ],
)
def test_classes_give_what_elements_do_not_say(world: str) -> None:
    both(model(world, DEFAULTS))


def test_a_class_inherits_what_its_parent_says_in_the_same_block_before_or_after() -> None:
    before = '<default><default class="n"><joint damping="1"/></default><joint armature="2"/></default>'
    later = "<default><joint armature='3'/></default>"
    robot, _ = both(model(body('<joint class="n"/>') + body("<joint/>"), before + later))
    assert robot.armature.tolist() == [2, 3]


def test_a_free_joint_element_inherits_nothing() -> None:
    robot, _ = both(model(body("<freejoint/>"), DEFAULTS))
    assert not robot.armature.any()


# Actuators, keyframes ------------------------------------------------------------------------------


def test_actuators_on_joints_and_fixed_tendons_are_kept_with_their_gears() -> None:
    after = """<actuator><motor name="m" joint="x" gear="3"/><position joint="y" kp="5" class="geared"/>
      <general joint="x"/><motor tendon="two"/><motor site="s" gear="0 0 1"/><motor joint="b" gear="1 2 3" name="ball"/>
      <motor name="up" joint="f" gear="0 0 1"/><motor name="turn" joint="f" gear="0 0 0 1 2 3"/>
      <motor jointinparent="b" name="outer"/></actuator>"""
    world = SITES.replace('<joint type="ball"/>', '<joint name="b" type="ball"/>') + body(
        '<joint name="f" type="free"/>'
    )
    before = '<default><default class="geared"><motor gear="7"/></default></default>'
    robot, _ = both(model(world, before, TENDONS + after))
    assert {a.name: (a.joint, a.gear) for a in robot.actuators} == {
        "m": ("x", (3,)),
        "y_motor": ("y", (7,)),
        "x_motor": ("x", (1,)),
        "two_motor": ("x", (0.5,)),
        "ball": ("b", (1, 2, 3)),
        "turn": ("f", (0, 0, 0, 1, 2, 3)),
        "s_motor": ("", (1,)),
        "up": ("", (1,)),
        "outer": ("", (1,)),
    }
    (over_tendon,) = [a for a in robot.actuators if a.name == "two_motor"]
    assert over_tendon.gears == (("x", (0.5,)), ("y", (2,)))
    assert {joint.name: joint.actuated for joint in robot.joints if joint.name in "xyzbf"} == {
        "x": True,
        "y": True,
        "z": False,
        "b": True,
        "f": True,
    }
    assert all(joint.actuated is None for joint in lw.loads(model(SITES), "mjcf").joints)


def test_the_rotor_of_an_actuator_is_inertia_of_its_joint() -> None:
    before = '<default><default class="r"><motor armature="0.3" damping="2"/></default></default>'
    motors = '<motor joint="j0" gear="3" class="r"/><position joint="j0" armature="1"/><motor joint="j1"/>'
    after = f"<actuator>{motors}</actuator>"
    robot, _ = both(model(HINGES.replace('name="j0"', 'name="j0" armature="0.5"'), before, after))
    assert robot.armature.tolist() == pytest.approx([0.5 + 9 * 0.3 + 1, 0, 0, 0])
    assert robot.damping.tolist() == [18, 0, 0, 0]


def test_keyframes_are_poses() -> None:
    keys = """<keyframe><key name="home" qpos="1 2 3 2 0 0 0 0.5 0 1 0 0"/><key name="later" time="1"/>
      <key qpos="0 0 1"/><key name="qpos0" qpos="1 1 1 1 0 0 0 0 1 0 0 0"/></keyframe>"""
    text = model(chain("<freejoint/>", '<joint ref="0.3"/>', '<joint type="ball"/>'), "", keys)
    robot, theirs = both(text)
    assert list(robot.poses) == ["qpos0", "home", "later", "key_2", "qpos0_1"]
    home = [1, 2, 3, 0, 0, 0, 1, 0.5, 1, 0, 0, 0]
    np.testing.assert_allclose(robot.poses["home"], home)
    ours = mujoco_map(robot).to_qpos([robot.poses[name] for name in list(robot.poses)[1:]])
    np.testing.assert_allclose(ours[[0, 1, 3]], theirs.key_qpos[[0, 1, 3]], atol=1e-15)


def test_a_zero_quaternion_of_a_keyframe_is_the_identity() -> None:
    """As files have it that a tool wrote: MuJoCo reads no turn, also where rounding is all that there is."""
    keys = """<keyframe><key name="zeros" qpos="1 2 3 0 0 0 0 0.5 0 0 0 0"/>
      <key name="tiny" qpos="1 2 3 0 0 1e-16 0 0.5 0 0 2e-15 0"/></keyframe>"""
    robot, theirs = both(model(chain("<freejoint/>", "<joint/>", '<joint type="ball"/>'), "", keys))
    assert robot.poses["zeros"].tolist() == [1, 2, 3, 0, 0, 0, 1, 0.5, 0, 0, 0, 1]
    ours = mujoco_map(robot).to_qpos([robot.poses["zeros"], robot.poses["tiny"]])
    np.testing.assert_allclose(ours, theirs.key_qpos, atol=1e-15)
