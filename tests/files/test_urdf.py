# SPDX-License-Identifier: BSD-3-Clause
"""URDF: real robots read as Pinocchio reads them, and everything not understood is an error that says where."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import linkwork as lw
from linkwork.errors import InputError, ModelError, ModelWarning, TopologyError, UnknownOption, UnsupportedFeature
from linkwork.mechanism import Mechanism
from linkwork.model.constraints import JointCoupling, JointLock
from linkwork.model.joints import Free, Helical, Joint, Planar, Prismatic, Revolute, Spherical, Universal
from linkwork.parsing import load, loads
from tests.support import robots
from tests.support.robots import ROBOTS

ARM = """<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial>
      <origin xyz="0 0 0.1" rpy="0 0 0"/>
      <mass value="2"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.25"/>
    </inertial>
    <visual><geometry><mesh filename="package://arm/upper.stl"/></geometry></visual>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/>
    <child link="upper"/>
    <origin xyz="0 0 1" rpy="0 0 0"/>
    <axis xyz="0 0 2"/>
    <limit lower="-1" upper="2" velocity="3" effort="4"/>
    <dynamics damping="0.5" friction="0.25"/>
  </joint>
  <material name="grey"/>
</robot>
"""

REAL = sorted(ROBOTS)


def edited(old: str, new: str) -> str:
    assert ARM.count(old) == 1, old
    return ARM.replace(old, new)


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def pinocchio_joint(model: Any, name: str) -> Any:
    return model.joints[model.getJointId(name)]


# Real robots, against Pinocchio --------------------------------------------------------------------


@pytest.mark.parametrize("name", REAL)
def test_joints_and_sizes_are_those_of_pinocchio(name: str) -> None:
    robot, model = robots.load(name), robots.pinocchio_model(name)
    assert set(robot.joint_names) == set(list(model.names)[1:])
    assert robot.nv == model.nv
    unbounded = sum(j.nq == 2 and j.nv == 1 for j in list(model.joints)[1:])
    assert robot.nq == model.nq - unbounded


@pytest.mark.parametrize("name", REAL)
def test_inertias_are_those_of_pinocchio(name: str) -> None:
    robot, model = robots.load(name), robots.pinocchio_model(name)
    assert robot.mass == pytest.approx(sum(y.mass for y in list(model.inertias)[1:]), rel=1e-12)
    for joint in robot.joints:
        ours, theirs = robot.inertias[joint.child], model.inertias[model.getJointId(joint.name)]
        assert ours.mass == pytest.approx(theirs.mass, rel=1e-12)
        scale = max(float(np.abs(theirs.matrix()).max()), 1.0)
        np.testing.assert_allclose(ours.mass * ours.com, theirs.mass * theirs.lever, atol=1e-12 * scale)
        np.testing.assert_allclose(ours.about_origin(), theirs.matrix()[3:, 3:], atol=1e-12 * scale)


@pytest.mark.parametrize("name", REAL)
def test_joint_placements_and_axes_are_those_of_pinocchio(name: str) -> None:
    pin = pytest.importorskip("pinocchio")
    robot, model = robots.load(name), robots.pinocchio_model(name)
    for joint in robot.joints:
        index = model.getJointId(joint.name)
        place = model.jointPlacements[index]
        np.testing.assert_allclose(joint.placement.position, place.translation, atol=1e-12)
        np.testing.assert_allclose(joint.placement.rotation, place.rotation, atol=1e-12)
        if isinstance(joint.type, Revolute | Prismatic):
            data = pinocchio_joint(model, joint.name).createData()
            pinocchio_joint(model, joint.name).calc(data, pin.neutral(model))
            S = np.asarray(data.S).reshape(6)  # linear first
            axis = S[3:] if isinstance(joint.type, Revolute) else S[:3]
            np.testing.assert_allclose(axis, joint.type.axis, atol=1e-15)


@pytest.mark.parametrize("name", REAL)
def test_limits_and_losses_are_those_of_pinocchio(name: str) -> None:
    robot, model = robots.load(name), robots.pinocchio_model(name)
    perm = robots.velocity_permutation(robot, model)
    one_dof = np.array([model.joints[model.getJointId(j.name)].nv == 1 for j in robot.joints for _ in range(j.type.nv)])
    limited = [j for j in robot.joints if isinstance(j.type, Revolute | Prismatic) and np.isfinite(j.limits.lower[0])]
    for joint in limited:
        at = pinocchio_joint(model, joint.name).idx_q
        assert joint.limits.lower[0] == model.lowerPositionLimit[at]
        assert joint.limits.upper[0] == model.upperPositionLimit[at]
    unlimited = {j.name for j in robot.joints if j.type.nq == 1} - {j.name for j in limited}
    assert all(pinocchio_joint(model, joint).nq == 2 for joint in unlimited)
    np.testing.assert_array_equal(robot.damping, np.asarray(model.damping)[perm])
    np.testing.assert_array_equal(robot.friction, np.asarray(model.friction)[perm])
    for ours, theirs in ((robot.velocity_limit, model.velocityLimit), (robot.effort_limit, model.effortLimit)):
        np.testing.assert_array_equal(ours[one_dof], np.asarray(theirs)[perm][one_dof])


@pytest.mark.parametrize("name", REAL)
def test_frames_are_those_of_pinocchio(name: str) -> None:
    pin = pytest.importorskip("pinocchio")
    robot, model = robots.load(name), robots.pinocchio_model(name)
    child_of = {j.name: j.child for j in robot.joints} | {"universe": "world"}
    links = {f.name for f in model.frames if f.type == pin.FrameType.BODY}
    compared = set()
    for frame in list(model.frames)[1:]:  # the first is 'universe'
        is_link = frame.type == pin.FrameType.BODY
        if not is_link and (frame.type != pin.FrameType.FIXED_JOINT or frame.name in links):
            continue
        ours = robot.frame(frame.name)
        assert ours.body == child_of[model.names[frame.parentJoint]]
        np.testing.assert_allclose(ours.placement.position, frame.placement.translation, atol=1e-12)
        np.testing.assert_allclose(ours.placement.rotation, frame.placement.rotation, atol=1e-12)
        compared.add(frame.name)
    assert compared >= links


@pytest.mark.parametrize("name", REAL)
def test_configurations_cross_to_pinocchio(name: str) -> None:
    pin = pytest.importorskip("pinocchio")
    robot, model = robots.load(name), robots.pinocchio_model(name)
    np.testing.assert_allclose(robots.to_pinocchio(robot, model, robot.neutral()), pin.neutral(model))
    q = np.stack([robot.random(seed) for seed in range(3)])
    v = np.random.default_rng(0).normal(size=(3, robot.nv)) * 0.1
    perm = robots.velocity_permutation(robot, model)
    for ours, step, theirs in zip(q, v, robots.to_pinocchio(robot, model, q), strict=True):
        step_pin = np.empty(model.nv)
        step_pin[perm] = step
        moved = robots.to_pinocchio(robot, model, robot.integrate(ours, step))
        assert pin.isSameConfiguration(model, pin.integrate(model, theirs, step_pin), moved, 1e-9)


def test_rotor_inertia_of_drake_is_armature() -> None:
    robot = robots.load("iiwa14")
    np.testing.assert_allclose(robot.armature[0], 160.0**2 * 0.0001321, rtol=1e-15)
    assert (robot.armature > 0).all()


def test_frames_of_drake_are_frames() -> None:
    robot = robots.load("atlas_convex_hull")
    np.testing.assert_array_equal(robot.frame("l_foot_sole").placement.position, [0.0426, 0.0017, -0.07645])
    assert robot.frame("l_foot_sole").body == "l_foot"


def test_a_mimic_is_a_coupling_unless_ignored() -> None:
    robot = lw.load(robots.path_of("panda"))
    (coupling,) = robot.constraints
    assert isinstance(coupling, JointCoupling) and coupling.name == "panda_finger_joint2_mimic"
    assert dict(coupling.coefficients) == {"panda_finger_joint2": 1.0, "panda_finger_joint1": -1.0}
    assert lw.load(robots.path_of("panda"), mimic="ignore").constraints == ()


IMPOSSIBLE = [n for n in REAL if ROBOTS[n].options.get("inertias") == "trust"]


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_impossible_inertias_are_one_warning_or_an_error(name: str) -> None:
    says = r"\.urdf:\d+ <link .*no distribution of mass"
    with pytest.warns(ModelWarning, match=says + ".*inertias='check'.*") as caught:
        lw.load(robots.path_of(name), mimic="ignore")
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with pytest.raises(ModelError, match=says + r".*inertias='trust'"):
        lw.load(robots.path_of(name), mimic="ignore", inertias="check")


# What a file says is what the mechanism holds ------------------------------------------------------


def test_everything_of_a_small_arm_is_read() -> None:
    robot = lw.loads(ARM, "urdf")
    assert (robot.name, robot.joint_names, robot.body_names) == ("arm", ("shoulder",), ("upper",))
    joint = robot.joint("shoulder")
    np.testing.assert_array_equal(joint.type.axis, [0, 0, 1])  # type: ignore[attr-defined]
    assert (robot.lower[0], robot.upper[0], robot.velocity_limit[0], robot.effort_limit[0]) == (-1, 2, 3, 4)
    assert (robot.damping[0], robot.friction[0], robot.mass) == (0.5, 0.25, 2)
    np.testing.assert_array_equal(joint.placement.position, [0, 0, 1])
    assert robot.meshes["upper"] == ("package://arm/upper.stl",)


def test_default_axis_is_x() -> None:
    joint = lw.loads(edited('<axis xyz="0 0 2"/>', ""), "urdf").joint("shoulder")
    np.testing.assert_array_equal(joint.type.axis, [1, 0, 0])  # type: ignore[attr-defined]


def test_inertia_is_turned_by_its_origin() -> None:
    robot = lw.loads(edited('xyz="0 0 0.1" rpy="0 0 0"', f'xyz="0 0 0.1" rpy="{np.pi / 2} 0 0"'), "urdf")
    np.testing.assert_allclose(robot.inertias["upper"].rotational, np.diag([0.1, 0.25, 0.2]), atol=1e-16)


def test_quaternions_of_urdf_1_1_are_those_of_pinocchio() -> None:
    text = edited('<origin xyz="0 0 1" rpy="0 0 0"/>', '<origin xyz="0 0 1" quat_xyzw="0.1 -0.2 0.3 0.9"/>')
    text = text.replace('<robot name="arm"', '<robot name="arm" version="1.1"')
    turned = pin.buildModelFromXML(text).jointPlacements[1].rotation
    np.testing.assert_allclose(lw.loads(text, "urdf").joint("shoulder").placement.rotation, turned, atol=1e-15)


@pytest.mark.parametrize(
    ("kind", "type", "nq"),
    [("continuous", Revolute, 1), ("prismatic", Prismatic, 1), ("planar", Planar, 4), ("floating", Free, 7)],
)
def test_joint_types(kind: str, type: type, nq: int) -> None:
    robot = lw.loads(edited('type="revolute"', f'type="{kind}"'), "urdf")
    assert isinstance(robot.joint("shoulder").type, type)
    assert robot.nq == nq
    assert np.isfinite(robot.lower).any() == (kind == "prismatic")


def test_a_fixed_joint_leaves_a_frame() -> None:
    robot = lw.loads(edited('type="revolute"', 'type="fixed"'), "urdf", base="floating")
    assert robot.joint_names == ("root_joint",)
    assert robot.mass == 2
    np.testing.assert_array_equal(robot.frame("upper").placement.position, [0, 0, 1])


def test_limit_without_lower_and_upper_does_not_lock_the_joint() -> None:
    robot = lw.loads(edited('lower="-1" upper="2" ', ""), "urdf")
    assert (robot.lower[0], robot.upper[0], robot.effort_limit[0]) == (-np.inf, np.inf, 4)
    assert lw.loads(edited('lower="-1" ', ""), "urdf").lower[0] == 0


def test_root_joint_takes_a_free_name() -> None:
    text = edited('name="shoulder"', 'name="root_joint"')
    assert lw.loads(text, "urdf", base="floating").joint_names == ("root_joint_1", "root_joint")


def test_root_link_called_world_is_the_world() -> None:
    text = ARM.replace('"base"', '"world"')
    robot = lw.loads(text, "urdf")
    assert robot.joint("shoulder").parent == "world"
    with pytest.raises(ModelError, match="base='fixed'"):
        lw.loads(text, "urdf", base="floating")


@pytest.mark.parametrize("encoding", ["gbk", "latin-1"])
def test_comments_in_an_encoding_that_is_not_said_are_a_warning(tmp_path: Path, encoding: str) -> None:
    """The tools of the format read them, too."""
    words = {"gbk": "\u5173\u8282", "latin-1": "Gelenk f\u00fcr Kn\u00f6chel"}[encoding]
    body = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    text = f'<robot name="r">\n<!-- {words} --><link name="base">{body}</link></robot>'
    (tmp_path / "robot.urdf").write_bytes(text.encode(encoding))
    with pytest.warns(ModelWarning, match=r"robot.urdf:2: .*bytes that are not UTF-8; read as TinyXML"):
        robot = lw.load(tmp_path / "robot.urdf", base="floating")
    assert robot.body_names == ("base",)


def test_str_and_bytes_with_any_encoding_are_read() -> None:
    named = ARM.replace("upper", "ärm")
    header = '<?xml version="1.0" encoding="iso-8859-1"?>\n'
    for text in (named, header + named, named.encode(), (header + named).encode("iso-8859-1")):
        assert lw.loads(text, "urdf").body_names == ("ärm",)


def test_a_default_namespace_is_no_obstacle() -> None:
    assert lw.loads(edited('name="arm"', 'name="arm" xmlns="http://ros.org"'), "urdf").nq == 1


# Everything else is an error that says where ---------------------------------------------------------

JOINT = '<joint name="back" type="{}"><parent link="{}"/><child link="{}"/></joint>'
END = '  <material name="grey"/>'
DRAKE = 'xmlns:drake="http://drake.mit.edu"'


@pytest.mark.parametrize(
    ("old", "new", "error", "says"),
    [
        ('<mass value="2"/>', '<mass value="-2"/>', ModelError, "must be >= 0"),
        ('<mass value="2"/>', '<mass value="two"/>', ModelError, "'two' is not a number"),
        ('<mass value="2"/>', '<mass value="1_0"/>', ModelError, "not a number"),
        ('<mass value="2"/>', '<mass value="nan"/>', ModelError, "not a number"),
        ('<mass value="2"/>', '<mass value="inf"/>', ModelError, "beyond 1e30"),
        ('<mass value="2"/>', '<mass value="1 2"/>', ModelError, "one number"),
        ('<mass value="2"/>', "<mass/>", ModelError, "'value' is missing"),
        ('<mass value="2"/>', '<mass value="2"/><mass value="3"/>', ModelError, "at most one"),
        ('xyz="0 0 0.1"', 'xyz="0 0"', ModelError, "has 2 numbers, needs 3"),
        ('xyz="0 0 0.1"', 'quat_xyzw="0 0 0 1" xyz="0 0 0.1"', ModelError, "both 'rpy' and 'quat_xyzw'"),
        ('<axis xyz="0 0 2"/>', '<axis xyz="0 0 0"/>', ModelError, "zero length"),
        ('lower="-1"', 'lower="5"', ModelError, "above upper"),
        ('velocity="3"', 'velocity="-3"', ModelError, "must be >= 0"),
        ('damping="0.5"', 'damping="-1"', ModelError, "must be >= 0"),
        ('<parent link="base"/>', '<parent link="bass"/>', TopologyError, "no link"),
        ('type="revolute"', 'type="ball"', UnsupportedFeature, "none of revolute"),
        (END, '<link name="base"/>', ModelError, "two links"),
        (END, '<link name="alone"/>', TopologyError, "one root"),
        (END, '<link name="world"/>' + JOINT.format("fixed", "upper", "world"), TopologyError, "'world'"),
        (END, JOINT.format("fixed", "base", "base"), TopologyError, "cycle"),
        (END, JOINT.format("revolute", "base", "base"), ModelError, "needs a <limit>"),
        (END, f"<drake:linear_bushing_rpy {DRAKE}/>", UnsupportedFeature, "a bushing"),
        (END, f"<drake:tendon_constraint {DRAKE}/>", UnsupportedFeature, "JointCoupling"),
        (END, f'<drake:joint {DRAKE} name="j" type="weird"/>', UnsupportedFeature, "none of ball"),
        ('type="revolute"', 'type="revolute" independent="maybe"', ModelError, "neither true nor false"),
        (END, '<frame name="f" link="nowhere"/>', TopologyError, "no link"),
        (END, '<frame name="upper" link="base"/>', ModelError, "name of a body"),
        (END, '<xacro:if xmlns:xacro="x"/>', ModelError, "expand"),
        ("<visual>", "<spring/><visual>", UnsupportedFeature, "not understood"),
        ("<visual>", "<gravity>0</gravity><visual>", UnsupportedFeature, "changes the dynamics"),
        ("<visual>", '<origin xyz="1 0 0"/><visual>', UnsupportedFeature, "origin of its joint"),
        ("<dynamics", '<mimic joint="x"/><dynamics', ModelError, "no other joint"),
        ("<dynamics", '<mimic joint="shoulder"/><dynamics', ModelError, "no other joint"),
        ("<dynamics", '<mimic joint="shoulder"/><mimic joint="shoulder"/><dynamics', ModelError, "twice"),
        ("<dynamics", "<stiffness/><dynamics", UnsupportedFeature, "not understood"),
    ],
)
def test_errors_name_file_line_and_element(old: str, new: str, error: type[ModelError], says: str) -> None:
    text = edited(old, new)
    with pytest.raises(error, match=re.escape(says)) as caught:
        lw.loads(text, "urdf", name="arm.urdf")
    e = caught.value
    assert type(e) is error
    assert e.file == "arm.urdf" and str(e).startswith(f"arm.urdf:{e.line} <{e.element}>: ")
    assert e.line == line_of(ARM, old)


@pytest.mark.parametrize(
    ("kind", "inside", "type"),
    [
        ("ball", "", Spherical()),
        ("universal", "", Universal("x", "y")),
        ("planar", '<axis xyz="0 1 0"/><dynamics damping="1 2 3"/>', Planar("y")),
        ("screw", '<axis xyz="0 0 1"/><drake:screw_thread_pitch value="0.5"/>', Helical("z", 0.5 / (2 * np.pi))),
    ],
)
def test_joints_of_drake(kind: str, inside: str, type: Joint) -> None:
    joint = (
        f'<drake:joint {DRAKE} name="d" type="{kind}"><parent link="upper"/><child link="tip"/>{inside}</drake:joint>'
    )
    robot = lw.loads(edited(END, TIP + joint), "urdf")
    found = robot.joint("d").type
    assert vars(found).keys() == vars(type).keys() and found.nv == type.nv
    for name, value in vars(type).items():
        np.testing.assert_allclose(getattr(found, name), value)
    if kind == "planar":
        np.testing.assert_array_equal(robot.damping[robot.v_slice("d")], [1, 2, 3])


FOLLOWER = """<joint name="follower" type="{}"><parent link="upper"/><child link="tip"/><axis xyz="0 0 1"/>
    <limit effort="1" velocity="1"/><mimic joint="{}" multiplier="{}" offset="0.5"/></joint>"""
TIP = """<link name="tip"><inertial><mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>"""


def test_a_follower_of_a_joint_is_bound_to_it() -> None:
    robot = lw.loads(edited(END, TIP + FOLLOWER.format("revolute", "shoulder", 2)), "urdf")
    (coupling,) = robot.constraints
    assert isinstance(coupling, JointCoupling)
    assert (dict(coupling.coefficients), coupling.offset) == ({"follower": 1.0, "shoulder": -2.0}, 0.5)


def test_a_follower_of_what_does_not_move_is_locked() -> None:
    text = edited(END, TIP + FOLLOWER.format("prismatic", "shoulder", 2)).replace(
        'name="shoulder" type="revolute"', 'name="shoulder" type="fixed"'
    )
    (lock,) = lw.loads(text, "urdf", base="floating").constraints
    assert isinstance(lock, JointLock) and (lock.joint, lock.position) == ("follower", (0.5,))


def test_a_fixed_joint_follows_nothing() -> None:
    assert lw.loads(edited(END, TIP + FOLLOWER.format("fixed", "nobody", 2)), "urdf").constraints == ()


@pytest.mark.parametrize(("follower", "leader"), [("planar", "revolute"), ("revolute", "floating")])
def test_a_mimic_of_several_degrees_of_freedom_is_refused(follower: str, leader: str) -> None:
    text = edited(END, TIP + FOLLOWER.format(follower, "shoulder", 1)).replace('type="revolute"', f'type="{leader}"', 1)
    with pytest.raises(UnsupportedFeature, match=r"arm\.urdf:.*<mimic>.*degrees of freedom"):
        lw.loads(text, "urdf", name="arm.urdf")


def test_transmissions_and_commands_say_which_joints_are_actuated() -> None:
    robot = lw.loads(edited(END, '<transmission name="t"><joint name="shoulder"/></transmission>'), "urdf")
    assert robot.joint("shoulder").actuated is True
    control = '<ros2_control name="c"><joint name="shoulder"><command_interface/></joint></ros2_control>'
    assert lw.loads(edited(END, control), "urdf").joint("shoulder").actuated is True
    assert lw.loads(ARM, "urdf").joint("shoulder").actuated is None
    with pytest.warns(ModelWarning, match="'sholder' is to be driven.* did you mean 'shoulder'"):
        lw.loads(edited(END, control.replace("shoulder", "sholder")), "urdf")


def test_a_static_model_of_gazebo_is_a_warning() -> None:
    with pytest.warns(ModelWarning, match="keeps this model where it is"):
        lw.loads(edited(END, "<gazebo><static>true</static></gazebo>"), "urdf")


def test_an_impossible_inertia_names_its_link_unless_trusted() -> None:
    text = edited('izz="0.25"', 'izz="9"')
    with pytest.raises(ModelError, match=r'arm.urdf:3 <link name="upper">: body .upper. has principal moments'):
        lw.loads(text, "urdf", name="arm.urdf", inertias="check")
    with pytest.warns(ModelWarning, match=r'arm.urdf:3 <link name="upper">: body .upper. has principal moments'):
        lw.loads(text, "urdf", name="arm.urdf")
    assert lw.loads(text, "urdf", inertias="trust").inertias["upper"].rotational[2, 2] == 9


def test_links_without_inertia_have_kinematics_and_no_dynamics() -> None:
    """As files of industrial robots: they say where links are, and nothing of their masses."""
    text = re.sub(r"<inertial>.*?</inertial>", "", ARM, flags=re.S)
    with pytest.warns(ModelWarning, match=r'arm.urdf:\d+ <joint name="shoulder">: body .upper., .* has no mass'):
        robot = lw.loads(text, "urdf", name="arm.urdf")
    q, still = robot.random(1), np.zeros(robot.nv)
    whole = lw.loads(ARM, "urdf")
    np.testing.assert_array_equal(lw.frame_jacobian(robot, q, "upper"), lw.frame_jacobian(whole, q, "upper"))
    assert not lw.mass_matrix(robot, q).any()
    for compute in (
        lambda: lw.ForwardDynamics(robot)(q, still, still),
        lambda: lw.InverseDynamics(robot)(q, still, still),
        lambda: lw.gravity_forces(robot, q),
        lambda: lw.simulate(robot, q, seconds=0.01),
        lambda: robot.equilibrium(q),
        lambda: lw.linearize(robot, q),
    ):
        with pytest.raises(
            lw.errors.SingularMassMatrix, match="has kinematics, but no dynamics: body 'upper'"
        ) as caught:
            compute()
        assert caught.value.joint == "shoulder"
    with pytest.raises(ModelError, match="undetermined"):
        lw.Builder().body("a").joint("j", lw.joints.Revolute(), "world", "a").build()


@pytest.mark.parametrize("tag", ["controller_gains", "traits"])
def test_tags_that_cannot_change_the_dynamics_are_skipped_with_one_warning(tag: str) -> None:
    text = edited("<dynamics", f"<{tag}/><{tag} kp='3'/><dynamics")
    with pytest.warns(ModelWarning, match=rf"<{tag}> is no part of the dynamics here, and is skipped \(and 1 more\)"):
        lw.loads(text, "urdf")


def test_a_floating_base_without_mass_that_carries_one_body_is_a_warning() -> None:
    """Its mass matrix is singular; with a second arm it is not."""
    with pytest.warns(ModelWarning, match=r"'root_joint', 'shoulder' move body 'upper' by 7 .* 'base' has no mass"):
        robot = lw.loads(ARM, "urdf", base="floating")
    assert np.linalg.eigvalsh(lw.mass_matrix(robot, robot.random(0))).min() < 1e-12
    link, joint = (
        ARM[ARM.index(a) : ARM.index(b) + len(b)] for a, b in (('<link name="up', "</link>"), ("<joint", "</joint>"))
    )
    second = (link + joint).replace("upper", "other").replace("shoulder", "hip").replace('xyz="0 0 1"', 'xyz="1 0 0"')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = lw.loads(edited(END, second), "urdf", base="floating")
    assert np.linalg.eigvalsh(lw.mass_matrix(robot, robot.random(0))).min() > 1e-3


def test_a_cycle_without_root_is_a_topology_error() -> None:
    with pytest.raises(TopologyError, match=r'arm.urdf:19 <joint name="back">.*cycle'):
        lw.loads(edited(END, JOINT.format("fixed", "upper", "base")), "urdf", name="arm.urdf")


@pytest.mark.parametrize("actuators", [0, 2])
def test_rotors_of_unusual_transmissions_are_refused(actuators: int) -> None:
    rotor = '<drake:rotor_inertia value="1"/>'
    parts = f"<actuator>{rotor}</actuator>" * actuators if actuators else rotor
    text = edited(END, f'<transmission {DRAKE}><joint name="shoulder"/>{parts}</transmission>')
    with pytest.raises(UnsupportedFeature, match="one <actuator> on one <joint>"):
        lw.loads(text, "urdf")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<robot",
        "\0",
        "<sdf/>",
        "<robot/>",
        "\ud800",
        "<robot><drake:x/></robot>",
        '<?xml version="1.0" encoding="klingon"?><robot/>',
        '<!DOCTYPE r [<!ENTITY a SYSTEM "/etc/passwd">]><robot name="r"><link name="a">&a;</link></robot>',
        '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><robot name="&b;"/>',
        "<robot>" + "<link>" * 5000,
    ],
)
@pytest.mark.filterwarnings("ignore:.*not well-formed XML:linkwork.errors.ModelWarning")
def test_what_is_no_urdf_is_a_model_error(text: str) -> None:
    with pytest.raises(ModelError):
        lw.loads(text, "urdf")


def test_load_goes_by_the_extension_and_xml_by_its_root(tmp_path: Path) -> None:
    for extension in ("URDF", "xml"):
        file = tmp_path / f"arm.{extension}"
        file.write_text(ARM)
        assert isinstance(load(file), Mechanism)
    (tmp_path / "arm.sdf").write_text(ARM)
    with pytest.raises(ModelError, match="<sdf>"):
        load(tmp_path / "arm.sdf")
    (tmp_path / "page.xml").write_text("<html/>")
    with pytest.raises(ModelError, match="<robot>, <sdf>, <mujoco>"):
        load(tmp_path / "page.xml")
    (tmp_path / "arm.txt").write_text(ARM)
    with pytest.raises(ModelError, match=r"arm\.txt"):
        load(tmp_path / "arm.txt")


def test_missing_files_and_bad_options_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"nowhere\.urdf.*no such file"):
        load(tmp_path / "nowhere.urdf")
    with pytest.raises(ModelError, match="folder"):
        load(tmp_path)
    with pytest.raises(InputError, match="path"):
        load(5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="base is 'flying'"):
        load(tmp_path / "nowhere.urdf", base="flying")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="mimic"):
        lw.loads(ARM, "urdf", mimic="yes")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="loops"):
        lw.loads(ARM, "urdf", loops=True)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="dependent"):
        lw.loads(ARM, "urdf", dependent=["free"])  # type: ignore[arg-type]
    (tmp_path / "arm.sdf").write_text("<sdf/>")
    with pytest.raises(InputError, match=r"dependent='free' has no meaning for arm\.sdf"):
        load(tmp_path / "arm.sdf", dependent="free")


# Texts, and what is not quite XML ------------------------------------------------------------------

ODD = {
    "an undeclared prefix": edited(END, '<transmission><drake:thing/></transmission><frame name="f" link="base"/>'),
    "an undeclared prefix of an attribute": edited('velocity="3"', 'velocity="3" drake:acceleration="2"'),
    "hyphens in a comment": edited(END, '<!-- a -- b --><frame name="f" link="base"/>'),
    "a comment that ends in a hyphen": edited(END, "<!-- a\n---><!--- b --->"),
    "a comment before the root": "<!-- ---- -->\n" + ARM,
    "a declaration after an empty line": '\n<?xml version="1.0"?>\n' + ARM,
    "a declaration after a comment": '<!-- an arm -->\n<?xml version="1.0"?>\n' + ARM,
    "a declaration of no version of XML": '<?xml version="0.0" ?>\n' + ARM,
}


@pytest.mark.parametrize("kind", ODD)
def test_what_tinyxml_takes_is_read_with_a_warning(kind: str) -> None:
    with pytest.warns(ModelWarning, match=r"arm\.urdf:\d+: not well-formed XML: .*TinyXML") as said:
        robot = lw.loads(ODD[kind], "urdf", name="arm.urdf")
    assert len(said) == 1
    assert robot.joint_names == lw.loads(ARM, "urdf").joint_names


def test_the_warning_names_the_line_and_all_that_is_wrong() -> None:
    text = edited(END, "<!-- one\ntwo -- three\n--><transmission><drake:thing/></transmission>")
    says = r"arm\.urdf:19: .*'--' inside a comment; namespace prefix drake on thing is not defined; read as"
    with pytest.warns(ModelWarning, match=says):
        lw.loads(text, "urdf", name="arm.urdf")


def test_many_comments_before_what_is_no_xml_are_read_once() -> None:
    """A search for a declaration behind them tried all ways to join 200 comments: it did not end."""
    with pytest.raises(ModelError, match="not well-formed XML"):
        loads("<!-- a -->\n" * 200 + "<robot name='r'><link")


def test_lines_after_a_comment_are_counted_right() -> None:
    with pytest.warns(ModelWarning), pytest.raises(UnsupportedFeature) as caught:
        lw.loads(edited(END, "<!-- one\ntwo -- three\n-->\n<spring/>"), "urdf", name="arm.urdf")
    assert caught.value.line == 22


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (edited(END, "<!-- a -- b --><link>"), 20, "mismatch"),
        (edited(END, "<drake:thing><link>"), 20, "mismatch"),
        (edited(END, "<!-- never --- ends"), 19, "omment"),
        ("<!-- -- -->", 1, ""),
    ],
)
def test_what_tinyxml_does_not_take_is_an_error_on_its_line(text: str, line: int, says: str) -> None:
    with pytest.raises(ModelError, match=f"not well-formed XML: .*{says}") as caught:
        lw.loads(text, "urdf")
    assert caught.value.line == line


def test_hyphens_outside_of_comments_are_left_alone() -> None:
    text = edited(
        END, '<gazebo><plugin><![CDATA[ <!-- kept -- too --> ]]></plugin></gazebo><!-- a -- b --><drake:x y="--"/>'
    )
    with pytest.warns(ModelWarning), pytest.raises(UnsupportedFeature, match="<drake:x>"):
        lw.loads(text, "urdf")


def nested(depth: int) -> str:
    """A chain of bodies inside each other."""
    solid = '<joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    return f"<mujoco><worldbody>{f'<body>{solid}' * depth}{'</body>' * depth}</worldbody></mujoco>"


def test_elements_may_be_nested_deeper_than_libxml_likes() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert loads(nested(400)).nv == 400
    for depth in (500, 1000, 5000):
        with pytest.raises(ModelError, match=r"nested more than 500 deep|Excessive depth"):
            loads(nested(depth))


def test_entities_do_not_come_in_by_way_of_a_deep_document() -> None:
    entities = "<!DOCTYPE r [" + '<!ENTITY a0 "aaaaaaaaaa">'
    entities += "".join(f'<!ENTITY a{k} "{f"&a{k - 1};" * 10}">' for k in range(1, 12)) + "]>"
    text = entities + "<robot name='&a11;'>" + "<link>" * 400 + "</link>" * 400 + "</robot>"
    with pytest.raises(ModelError):
        loads(text)


def test_the_text_of_a_model_is_loaded_as_its_file(tmp_path: Path) -> None:
    for kind, text in {"urdf": ARM, "mjcf": nested(2)}.items():
        robot = loads(text)
        (tmp_path / f"model.{kind}").write_text(text)
        assert robot.joint_names == load(tmp_path / f"model.{kind}").joint_names
        assert robot.joint_names == loads(text.encode("utf-16"), kind).joint_names  # type: ignore[arg-type]
    assert loads(ARM, base="floating").joint_names == ("root_joint", "shoulder")


def test_a_text_is_not_taken_for_a_file_nor_a_file_for_a_text(tmp_path: Path) -> None:
    for text in (ARM, "\n " + ARM, ARM * 100):
        with pytest.raises(InputError, match=r"text of a model, not the name of a file; use loads\(text\)"):
            load(text)
    with pytest.raises(InputError, match=r"text is 'arm\.urdf', which is not XML; to read a file, use load\(path\)"):
        loads("arm.urdf")
    with pytest.raises(InputError, match="text is PosixPath; it is str or bytes"):
        loads(tmp_path)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="format is 'xml'; it is one of 'urdf', 'sdf', 'mjcf'"):
        loads(ARM, "xml")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"page:1 <html>: a model file starts with one of <robot>, <sdf>, <mujoco>"):
        loads("<html/>", name="page")
    with pytest.raises(InputError, match="base='fixed' has no meaning for <text>, a file in MJCF"):
        loads(nested(1), base="fixed")


def test_a_name_too_long_for_a_file_is_an_input_error() -> None:
    with pytest.raises(InputError, match="is not a file name: File name too long"):
        load("x" * 100_000)


def test_a_xacro_file_is_expanded_where_xacro_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "arm.urdf.xacro").write_text(ARM)
    monkeypatch.setitem(sys.modules, "xacro", None)
    with pytest.raises(ModelError, match=r"a xacro file is a template: pip install xacro, or expand it first"):
        load(tmp_path / "arm.urdf.xacro")
    document = SimpleNamespace(toxml=lambda: ARM)
    monkeypatch.setitem(sys.modules, "xacro", SimpleNamespace(process_file=lambda file: document))
    assert load(tmp_path / "arm.urdf.xacro").joint_names == loads(ARM).joint_names


def test_an_option_that_there_is_not_is_named() -> None:
    with pytest.raises(UnknownOption, match="load has no option 'floating'; it has path, base, mimic"):
        load("arm.urdf", floating=True)  # type: ignore[call-arg]
    with pytest.raises(UnknownOption, match=r"loads has no option 'inertia'; did you mean 'inertias'\?"):
        loads(ARM, inertia="trust")  # type: ignore[call-arg]
    assert issubclass(UnknownOption, InputError) and issubclass(UnknownOption, TypeError)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (edited('<child link="upper"/>', '<child link="uper"/>'), "did you mean 'upper'"),
        (edited(END, '<frame name="f" link="Upper"/>'), "did you mean 'upper'"),
        (edited(END, TIP + FOLLOWER.format("revolute", "sholder", 2)), "did you mean 'shoulder'"),
        (
            '<sdf version="1.8"><model name="m"><link name="arm"/><frame name="f" attached_to="amr"/></model></sdf>',
            "'arm'",
        ),
        (
            '<mujoco><worldbody><body name="arm"><joint name="hinge"/><geom size="1"/></body></worldbody>'
            '<equality><joint joint1="hing"/></equality></mujoco>',
            "did you mean 'hinge'",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")
def test_a_name_that_a_file_gets_wrong_is_met_with_one_that_it_has(text: str, says: str) -> None:
    with pytest.raises(ModelError, match=says):
        loads(text)


TWO_INERTIALS = """<robot name="finger"><link name="base"/>
  <link name="tip">{first}<inertial><mass value="0.5"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
  </inertial></link>
  <joint name="j" type="continuous"><parent link="base"/><child link="tip"/></joint></robot>"""
MOMENTS = '<inertia ixx="2" ixy="0" ixz="0" iyy="2" iyz="0" izz="2"/>'


def test_of_two_inertials_the_first_counts_as_in_urdfdom() -> None:
    text = TWO_INERTIALS.format(first=f'<inertial><mass value="0.25"/>{MOMENTS}</inertial>')
    with pytest.warns(lw.errors.ModelWarning, match=r"link 'tip' has a second <inertial>: the first counts"):
        robot = lw.loads(text)
    assert robot.inertias["tip"].mass == 0.25
    pin = pytest.importorskip("pinocchio")
    assert pin.buildModelFromXML(text).inertias[1].mass == 0.25


def test_what_an_inertial_lacks_is_said_with_what_to_write() -> None:
    with pytest.raises(lw.errors.ModelError, match=r"has no <mass>, which URDF requires: write one, or remove"):
        lw.loads(TWO_INERTIALS.format(first=f"<inertial>{MOMENTS}</inertial>"))
    with pytest.raises(lw.errors.UnsupportedFeature, match=r"write the <mass> and <inertia> that it makes"):
        lw.loads(TWO_INERTIALS.format(first='<inertial><density value="291.3"/></inertial>'))
