# SPDX-License-Identifier: BSD-3-Clause
"""Saving mechanisms: what a format cannot say is refused by name; names, meshes and rotations in files."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkwork as lw
from linkwork.model.model import Model
from linkwork.model.parts import Actuator, Limits, TreeJoint
from linkwork.model.rotations import axis_rotation
from linkwork.model.sensors import Sensor
from linkwork.model.tendons import Tendon
from linkwork.saving import DROPPABLE, FORMATS
from linkwork.saving.xml import rpy
from tests.support.round_trips import closed_states, discrepancy, saved

pytestmark = pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")

# Refused by name -----------------------------------------------------------------------------------------------------


def arm(**options: Any) -> lw.Mechanism:
    """A body on a joint called elbow."""
    build = lw.Builder("arm")
    build.body("link", lw.Inertia.sphere(1.0, 0.1, (0.1, 0, 0)))
    build.joint("elbow", options.pop("type", lw.joints.Revolute("z")), "world", "link", **options)
    build.body("wrist", lw.Inertia.sphere(1.0, 0.1, (0.1, 0, 0)))
    build.joint("turn", lw.joints.Revolute("x"), "link", "wrist")
    return build.build()


PARTS: dict[str, tuple[Any, str, str, str]] = {
    "planar": (lambda: arm(type=lw.joints.Planar("z")), "mjcf", "joint 'elbow': MJCF has no planar joint", "URDF can"),
    "range of a ball joint": (
        lambda: arm(type=lw.joints.Spherical(), angle=0.7),
        "urdf",
        "joint 'elbow': limits of position of a spherical joint",
        "MJCF can",
    ),
    "helical": (
        lambda: arm(type=lw.joints.Helical("z", 0.1)),
        "mjcf",
        "joint 'elbow': MJCF has no helical",
        "SDF can",
    ),
    "oblique": (
        lambda: arm(type=lw.joints.Universal("x", (1, 1, 0))),
        "linkwork",
        "joint 'elbow': .* right angles",
        "MJCF, SDF, dialect='pinocchio'",
    ),
    "gravity": (lambda: arm().with_gravity((0, 0, -1)), "urdf", "robot 'arm': .*gravity", "MJCF and SDF can"),
    "actuators": (lambda: arm().with_actuators("elbow"), "sdf", "actuator 'elbow': SDF", "MJCF can"),
    "springs": (lambda: arm(type=lw.joints.Spherical(), stiffness=2.0), "sdf", "joint 'elbow': springs", "MJCF can"),
    "damping": (
        lambda: arm(type=lw.joints.Spherical(), damping=(1, 2, 3)),
        "mjcf",
        "joint 'elbow': damping",
        "drop=['damping']",
    ),
    "friction": (
        lambda: arm(type=lw.joints.Spherical(), friction=1.0),
        "sdf",
        "joint 'elbow': friction",
        "MJCF can",
    ),
    "armature": (lambda: arm(type=lw.joints.Free(), armature=1.0), "mjcf", "joint 'elbow': armature", "drop="),
    "loop": (
        lambda: arm().constrained(lw.constraints.Point("wrist", "world", name="pin")),
        "urdf",
        "'pin': standard URDF has no constraints other than mimics",
        "SDF, dialect='pinocchio', dialect='urdfdom' and dialect='linkwork' can",
    ),
    "armature in URDF": (lambda: arm(armature=1.0), "urdf", "'elbow': armature", "SDF and dialect='linkwork' can"),
    "limits": (
        lambda: arm(type=lw.joints.Helical("z", 0.1), lower=-1.0),
        "urdf",
        "joint 'elbow': limits of position",
        "",
    ),
    "effort": (lambda: arm(effort=0.0), "mjcf", "joint 'elbow': .*torques", "URDF and SDF can"),
    "gains": (
        lambda: arm().constrained(lw.constraints.JointLock("elbow", name="held", time_constant=0.1)),
        "urdf",
        "JointLock 'held': gains",
        "A .json file can",
    ),
    "compliance": (
        lambda: arm().constrained(lw.constraints.JointLock("elbow", name="held", compliance=2.0)),
        "mjcf",
        "JointLock 'held': compliance",
        "A .json file can",
    ),
    "disabled": (
        lambda: arm().constrained(lw.constraints.JointLock("elbow", name="held", enabled=False)),
        "urdf",
        "JointLock 'held': constraints that are disabled",
        "MJCF can",
    ),
    "constraints": (
        lambda: arm().constrained(lw.constraints.Follows("elbow", "turn", np.sin, name="cam")),
        "mjcf",
        "'cam': MJCF has no equality for a Follows",
        "A .json file can",
    ),
    "contacts": (
        lambda: arm().with_contacts(lw.contact.ContactShape("tip", "wrist", lw.shapes.Sphere(0.1)), restitution=0.5),
        "mjcf",
        "contact 'ground:tip': the restitution",
        "A .json file can",
    ),
    "tendons": (
        lambda: replace(arm(), tendons=(lw.tendons.Tendon("rope", joints={"elbow": 1.0}, stiffness=1.0),)),
        "sdf",
        "tendon 'rope': SDF has no tendons",
        "MJCF can",
    ),
}


@pytest.mark.parametrize("case", PARTS)
def test_what_a_format_cannot_say_is_refused_by_name(case: str, tmp_path: Path) -> None:
    make, format, what, able = PARTS[case]
    how: Any = {"dialect": format} if format not in FORMATS else {}
    format = "urdf" if how else format
    robot, file = make(), tmp_path / f"arm.{format}"
    with pytest.raises(lw.errors.CannotSave, match=what) as refused:
        robot.save(file, **how)
    assert able in str(refused.value) and refused.value.format == format and refused.value.refused
    assert not file.exists()
    kinds = refused.value.kinds
    if set(kinds) <= set(DROPPABLE):
        assert f"drop=['{kinds[0]}']" in str(refused.value)
        robot.save(file, drop=kinds, **how)
        assert lw.load(file).nv == robot.nv


def test_a_constraint_that_is_disabled_is_left_out_if_it_is_dropped() -> None:
    off = {"enabled": False}
    robot = arm().constrained(
        lw.constraints.JointLock("elbow", name="held", **off),
        lw.constraints.Gear("elbow", "turn", 2.0, name="geared", **off),
    )
    for format in ("urdf", "sdf"):
        assert saved(robot, format, drop=["constraints"]).nc == 0
    assert [constraint.enabled for constraint in saved(robot, "mjcf").constraints] == [False, False]


def test_the_error_of_an_open_loop_names_a_pose_in_which_it_is_closed() -> None:
    with pytest.raises(lw.errors.CannotSave, match="pose='assembled' draws the model where it is closed"):
        lw.zoo.four_bar().to_text("sdf")


def test_several_couplings_of_one_joint_come_back() -> None:
    robot = lw.zoo.serial_chain(4)
    a, b, c, d = robot.joint_names
    robot = robot.constrained(
        lw.constraints.Gear(a, b, 2.0, 0.1),
        lw.constraints.Gear(a, c, -3.0),
        lw.constraints.Gear(a, d, 0.5, name=f"{a}_mimic"),
        lw.constraints.JointLock(b, 0.2, name="x"),
    )
    for format in ("urdf", "mjcf"):
        assert discrepancy(robot, saved(robot, format), [(np.full(4, 0.1), np.ones(4))]) < 1e-14
    with pytest.raises(lw.errors.CannotSave, match="SDF has no Gear such as this"):
        robot.to_text("sdf")


def test_dependent_joints_that_nothing_ties_come_back_without_their_mark() -> None:
    robot = arm(independent=False)
    assert saved(robot, "urdf").joint("elbow").independent is None
    tied = robot.constrained(lw.constraints.Gear("elbow", "turn", 2.0))
    assert saved(tied, "urdf").joint("elbow").independent is False


def test_a_model_that_does_not_move_comes_back() -> None:
    build = lw.Builder("rock")
    build.body("rock", lw.Inertia.sphere(5.0, 0.2))
    build.joint("lies", lw.joints.Fixed(), "world", "rock", (1, 2, 3))
    for format in FORMATS:
        back = saved(build.build(), format)
        assert (
            back.nv == 0 and back.base_inertia.mass == 5.0 and list(back.frames["rock"].placement.position) == [1, 2, 3]
        )


def test_what_does_not_change_the_dynamics_is_a_warning() -> None:
    with pytest.warns(lw.errors.ModelWarning, match="pose 'assembled': URDF has no poses"):
        lw.zoo.four_bar().to_text("urdf", strict=False)
    with pytest.warns(lw.errors.ModelWarning, match="joint 'elbow': limits of velocity"):
        arm(velocity=2.0).to_text("mjcf")
    with pytest.warns(
        lw.errors.ModelWarning, match="constraint 'g': a mimic has no name in URDF: it is called 'elbow_mimic'"
    ):
        arm().constrained(lw.constraints.Gear("elbow", "turn", 2.0, name="g")).to_text("urdf")


def test_a_tree_too_deep_for_nested_bodies_is_refused() -> None:
    with pytest.raises(lw.errors.CannotSave, match=r"nested in MJCF.*URDF and SDF can"):
        lw.zoo.serial_chain(460).to_text("mjcf")


def test_names_that_xml_cannot_hold_are_refused() -> None:
    robot = arm().renamed({"link": "a\x01b"})
    with pytest.raises(lw.errors.CannotSave, match="names that XML cannot hold"):
        robot.to_text("sdf")
    for name in ("<&\"'>", "ü 漢", "a::b", "__a__x", "world_link"):
        back = saved(arm().renamed({"link": name}), "urdf")
        assert back.body_names[0] == name


def test_calls_that_make_no_sense(tmp_path: Path) -> None:
    robot = arm()
    with pytest.raises(lw.errors.InputError, match=r"extension '.step' of 'arm.step' is none of"):
        robot.save(tmp_path / "arm.step")
    with pytest.raises(lw.errors.InputError, match=r"format is 'urfd'; .*did you mean 'urdf'"):
        robot.to_text("urfd")  # type: ignore[arg-type]
    with pytest.raises(lw.errors.InputError, match="drop: 'motors' is none of"):
        robot.to_text("urdf", drop=["motors"])  # type: ignore[list-item]
    with pytest.raises(lw.errors.InputError, match=r"drop=\['limits'\]"):
        robot.to_text("urdf", drop="limits")  # type: ignore[arg-type]
    with pytest.raises(lw.errors.UnknownName, match="'assembled'"):
        robot.to_text("sdf", pose="assembled")
    with pytest.raises(lw.errors.UnknownOption, match="save has no option 'dorp'"):
        robot.save(tmp_path / "arm.urdf", dorp=["limits"])  # type: ignore[call-arg]
    robot.save(tmp_path / "arm.txt", format="sdf")
    assert "<sdf" in (tmp_path / "arm.txt").read_text()


def test_every_field_of_a_model_is_saved_or_refused() -> None:
    """Who adds a field says here, and in `linkwork.saving`, what becomes of it."""
    known = {
        Model: "name joints inertias frames gravity shapes constraints poses actuators gravity_compensation "
        "elimination_order contacts base_inertia tendons activations commands mocap sensors medium time forces",
        TreeJoint: "name type parent child placement limits armature damping friction stiffness rest "
        "actuated independent soft_limit soft_friction stiffness_terms damping_terms",
        Limits: "lower upper velocity effort actuation angle",
        Actuator: "name joint gear limits gain bias force_limits also refused tendon dynamics time_constant "
        "activation_limits early muscle motor body",
        Tendon: "name joints path stiffness damping rest limits friction offset force_limits stop transmission "
        "stiffness_terms damping_terms soft_limit soft_friction",
        Sensor: "name type of reference cutoff noise outboard magnetic_flux neutral_quaternion actuators margin volume "
        "data exclude refused",
    }
    for kind, words in known.items():
        assert [field.name for field in fields(kind) if field.init] == words.split(), kind


# Meshes, names, rotations --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
def test_meshes_are_relative_to_the_saved_file(format: str, tmp_path: Path) -> None:
    mesh = tmp_path / "meshes" / "part.stl"
    mesh.parent.mkdir()
    mesh.write_bytes(b"")
    build = lw.Builder("arm")
    build.body("link", lw.Inertia.sphere(1.0, 0.1))
    build.joint("elbow", lw.joints.Revolute("z"), "world", "link")
    build.shape("link", lw.shapes.Mesh("package://far/part.stl", mesh, (1.0, 2.0, 3.0)), (0, 0, 0.1), color=(0, 1, 0))
    robot = build.build()
    extension = {"mjcf": "xml"}.get(format, format)
    for folder, path in ((tmp_path, "meshes/part.stl"), (tmp_path / "there", "../meshes/part.stl")):
        folder.mkdir(exist_ok=True)
        robot.save(folder / f"arm.{extension}")
        assert f'{path}"' in (text := (folder / f"arm.{extension}").read_text()) or f">{path}<" in text
        (shape,) = lw.load(folder / f"arm.{extension}").shapes
        assert isinstance(shape.solid, lw.shapes.Mesh) and shape.solid.file is not None
        assert shape.solid.file.resolve() == mesh and shape.solid.scale == (1.0, 2.0, 3.0)
        assert shape.color == (0.0, 1.0, 0.0, 1.0) and np.allclose(shape.placement.position, (0, 0, 0.1))
    assert mesh.as_posix() in robot.to_text(format)  # type: ignore[arg-type]


def test_a_mesh_that_mujoco_does_not_read_is_left_out(tmp_path: Path) -> None:
    build = lw.Builder("arm")
    build.body("link", lw.Inertia.sphere(1.0, 0.1))
    build.joint("elbow", lw.joints.Revolute("z"), "world", "link")
    build.shape("link", lw.shapes.Mesh("part.dae", tmp_path / "part.dae"))
    with pytest.warns(lw.errors.ModelWarning, match="a shape of 'link': MuJoCo reads meshes of .stl"):
        assert not lw.loads(build.build().to_text("mjcf")).shapes


@pytest.mark.parametrize("format", FORMATS)
def test_frames_and_shapes_of_a_fixed_base_come_back(format: str) -> None:
    build = lw.Builder("arm")
    build.body("pedestal", lw.Inertia.box(20.0, (0.3, 0.3, 0.5)))
    build.joint("bolted", lw.joints.Fixed(), "world", "pedestal", (0, 0, 0.5))
    build.shape("pedestal", lw.shapes.Box((0.3, 0.3, 0.5)), role="collision", name="block")
    build.body("link", lw.Inertia.sphere(1.0, 0.1, (0.1, 0, 0)))
    build.joint("elbow", lw.joints.Revolute("z"), "pedestal", "link", (0, 0, 0.25))
    robot = build.build()
    back = saved(robot, format)
    assert back.base_inertia.mass == 20.0 and back.shapes[0].name == "block"
    np.testing.assert_allclose(back.base_inertia.about_origin(), robot.base_inertia.about_origin(), atol=1e-14)
    np.testing.assert_allclose(back.shapes[0].placement.position, (0, 0, 0.5))
    for name in ("pedestal", "bolted"):
        np.testing.assert_allclose(back.frames[name].placement.position, (0, 0, 0.5))


def test_names_that_sdf_does_not_tell_apart_get_others() -> None:
    build = lw.Builder("arm")
    build.body("elbow", lw.Inertia.sphere(1.0, 0.1))
    build.joint("elbow", lw.joints.Revolute("z"), "world", "elbow")
    build.frame("elbow_joint", "elbow", (0, 0, 1))
    back = saved(build.build(), "sdf")
    assert back.joint_names == ("elbow_joint",) and back.body_names == ("elbow",)
    assert back.frames["elbow_joint_frame"].placement.position[2] == 1.0


def test_a_loop_that_frames_say_by_their_names_is_said_once() -> None:
    build = lw.Builder("closing")
    for k, side in enumerate(("left", "right")):
        build.body(side, lw.Inertia.sphere(1.0, 0.1, (0.2, 0, 0)))
        build.joint(f"{side}_joint", lw.joints.Revolute("z"), "world", side, (0.1 * k, 0, 0))
        build.frame(f"closing_x_{k + 1}", side, (0.3, 0, 0))
    robot = build.build()
    both = robot.constrained(lw.constraints.Point("closing_x_1", "closing_x_2", name="closing_x"))
    assert saved(robot, "urdf").nc == 0 and saved(both, "urdf").nc == 3
    moved = robot.constrained(
        lw.constraints.Point("closing_x_1", "closing_x_2", first_at=(0, 0.1, 0), name="closing_x")
    )
    assert discrepancy(moved, saved(moved, "urdf"), closed_states(moved, 0)) < 1e-13


@given(
    angles=st.tuples(*[st.floats(-np.pi, np.pi)] * 3),
    near=st.sampled_from([0.0, 1e-16, 1e-12, 1e-9, 1e-6, 1e-3]),
)
def test_roll_pitch_and_yaw_are_exact_where_axes_are_parallel(angles: tuple[float, float, float], near: float) -> None:
    for pitch in (angles[1], np.pi / 2 - near, -np.pi / 2 + near):
        place = lw.Placement.rpy(angles[0], pitch, angles[2])
        turned = place.rotation @ axis_rotation((0.6, 0.0, 0.8), near)
        assert np.abs(lw.Placement.rpy(*rpy(turned)).rotation - turned).max() < 2e-15


# What URDF says with additions of ours -------------------------------------------------------------------------------

LINKS = """<robot name="r"><link name="world"/>
  <link name="a"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <link name="b"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="j" type="continuous"><parent link="world"/><child link="a"/></joint>
  <joint name="k" type="continuous"><parent link="a"/><child link="b"/></joint>{}</robot>"""
ENDS = '<predecessor link="world"/><successor link="b"/>'
WRONG = {
    '<coupling name="c" type="linear"><joint name="jj" factor="1"/></coupling>': "no joint of this robot",
    '<coupling name="c" type="linear"><joint name="j" factor="1"/><joint name="j" factor="1"/></coupling>': "twice",
    '<coupling name="c" type="linear"><joint name="j"/></coupling>': "attribute 'factor' is missing",
    '<coupling name="c" type="linear"/>': "name no joints",
    '<coupling name="c" type="cubic"/>': "'rolling' and 'linear' are",
    f'<loop name="c" type="rod">{ENDS}</loop>': "attribute 'length' is missing",
    f'<loop name="c" type="rolling" radius="-1">{ENDS}</loop>': "needs a finite length > 0",
    f'<loop name="c" type="sliding">{ENDS}</loop>': "none of revolute.*rod, rolling",
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_additions_to_urdf_are_errors_with_a_line(text: str) -> None:
    with pytest.raises(lw.errors.ModelError, match=WRONG[text]) as error:
        lw.loads(LINKS.format(text))
    assert error.value.line == 5
