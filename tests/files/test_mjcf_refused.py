# SPDX-License-Identifier: BSD-3-Clause
"""MJCF: what is not supported or wrong is an error that says where; what does not matter is passed over."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import InputError, LinkworkError, ModelError, UnsupportedFeature
from tests.support.mjcf_texts import EQUALITIES, HINGES, SITES, SOLID, TENDONS, body, chain, equality, model

# What is not supported -----------------------------------------------------------------------------

UNSUPPORTED = {
    "composite": model("<composite/>"),
    "flexcomp": model("<flexcomp/>"),
    "plugin": model(body('<plugin plugin="p"/>')),
    "flex": model("", "", "<deformable><flex/></deformable>"),
    "flex equality": model("", "", "<equality><flex/></equality>"),
    "gravcomp within the range of actuators": model(
        body('<joint actuatorgravcomp="true" actuatorfrcrange="-1 1"/>', more='gravcomp="1"')
    ),
    "scale": model('<frame scale="2"/>'),
    "massscale": model('<frame massscale="2"/>'),
    "coordinate": model("", '<compiler coordinate="global"/>'),
    "fusestatic": model("", '<compiler settotalmass="1" fusestatic="true"/>'),
    "align": model(body('<freejoint align="true"/>')),
    "alignfree": model(body("<freejoint/>"), '<compiler alignfree="true"/>'),
    "armature of a tendon over two joints": model(SITES, "", TENDONS.replace('name="two"', 'name="two" armature="1"')),
    "armature of tendons": model(SITES, '<default><tendon armature="1"/></default>', TENDONS),
    "rotor on a spatial tendon": model(SITES, "", TENDONS + '<actuator><motor tendon="far" armature="1"/></actuator>'),
    "unknown attribute of an actuator": model(HINGES, "", '<actuator><motor joint="j0" geer="1"/></actuator>'),
    "unknown attribute of a site": model('<site name="s" poss="1 0 0"/>'),
    "unknown attribute of a pair": model(HINGES, "", '<contact><pair geom1="a" geom2="b" cond="1"/></contact>'),
    "unknown attribute in a tendon": model(
        SITES, "", '<tendon><fixed name="t"><joint joint="x" coef="1" scale="2"/></fixed></tendon>'
    ),
    "unknown attribute of a flag": model("", '<option><flag weight="disable"/></option>'),
    "a spring that yields": model(
        SITES, "", TENDONS.replace('name="one"', 'name="one" stiffness="1" springyield="0.1"')
    ),
    "a spring of a joint that yields": model(body('<joint stiffness="1" springyield="0.1"/>')),
    "unknown section": model("", "<physics/>"),
    "unknown in a body": model(body("<motor/>")),
    "unknown in the world": model("<motor/>"),
    "unknown default": model("", "<default><body/></default>"),
    "unknown equality": model("", "", "<equality><distance/></equality>"),
    "unknown tendon": model("", "", "<tendon><rope/></tendon>"),
    "unknown actuator": model("", "", "<actuator><engine/></actuator>"),
    "unknown keyframe": model("", "", "<keyframe><frame/></keyframe>"),
    "unknown attribute of a body": model('<body color="1"/>'),
    "unknown attribute of a joint": model(body('<joint armatur="1"/>')),
    "unknown attribute of a default": model(body("<joint/>"), '<default><joint armatur="1"/></default>'),
    "unknown attribute of an inertial": model('<body><inertial pos="0 0 0" mass="1" com="1"/></body>'),
    "unknown attribute of a geom that weighs": model('<body><joint/><geom size="1" densty="1"/></body>'),
    "unknown attribute of an equality": equality('<weld body1="b1" body3="d"/>'),
    "unknown compiler": model("", '<compiler units="inch"/>'),
    "unknown option": model("", '<option moon="1"/>'),
}


@pytest.mark.parametrize("case", UNSUPPORTED)
def test_what_is_not_supported_is_an_error_that_says_where(case: str) -> None:
    with pytest.raises(UnsupportedFeature) as error:
        lw.loads(UNSUPPORTED[case], "mjcf", name="robot.xml")
    assert error.value.file == "robot.xml"
    assert error.value.line is not None and error.value.line > 1
    assert error.value.element is not None and str(error.value).count(error.value.element.split()[0])


IGNORED = {
    "contact": '<contact><exclude body1="terrain" body2="b0"/><pair geom1="a" geom2="b"/></contact>',
    "sensor": '<sensor><gyro site="nowhere"/><plugin plugin="p"/></sensor>',
    "visual": '<visual><global offwidth="1"/></visual><statistic meansize="1"/><size nkey="3"/>',
    "custom": '<custom><numeric name="n" data="1"/></custom>',
    "extension": '<extension><plugin plugin="p"/></extension>',
    "asset": '<asset><mesh file="a.stl"/><texture name="t" file="a.png"/><model file="other.xml"/></asset>',
    "skin": "<deformable><skin/></deformable>",
    "option": '<option timestep="1" integrator="RK4" wind="1 2 3" cone="elliptic"><flag contact="disable"/></option>',
    "compiler": '<compiler meshdir="a" convexhull="false" exactmeshinertia="true" fusestatic="true"/>',
    "tendon": '<tendon><fixed name="t" frictionloss="3" range="-1 1"><joint joint="j0" coef="1"/></fixed></tendon>',
    "actuator": '<actuator><adhesion body="b0" ctrlrange="0 1"/><muscle joint="j0"/></actuator>',
}


@pytest.mark.parametrize("case", IGNORED)
def test_what_does_not_change_the_dynamics_is_passed_over(case: str) -> None:
    robot, plain = lw.loads(model(HINGES, IGNORED[case]), "mjcf"), lw.loads(model(HINGES), "mjcf")
    q = plain.random(1)
    np.testing.assert_array_equal(lw.mass_matrix(robot, q), lw.mass_matrix(plain, q))


def test_cameras_lights_and_shapes_of_bodies_with_inertia_are_passed_over() -> None:
    shown = '<camera mode="track"/><light dir="1 0 0"/><geom type="sdf" size="-1" odd="1"><plugin/></geom>'
    assert lw.loads(model(chain(f"<joint/>{shown}") + shown), "mjcf").nv == 1


# What is wrong -------------------------------------------------------------------------------------

WRONG = {
    "the root element": ("<robot/>", "URDF"),
    "two bodies of a name": (model(body("", "a") + body("", "a")), "two bodies are called 'a'"),
    "a body called world": (model(body("", "world")), "cannot be called 'world'"),
    "two joints of a name": (model(chain('<joint name="j"/>', '<joint name="j"/>')), "two joints are called 'j'"),
    "two sites of a name": (model('<site name="s"/><site name="s"/>'), "two sites are called 's'"),
    "a class that is not there": (model(body('<joint class="c"/>')), "no default class 'c'"),
    "a childclass that is not there": (model(body("", more='childclass="c"')), "no default class 'c'"),
    "a frame's class that is not there": (model('<frame childclass="c"/>'), "no default class 'c'"),
    "a class twice": (
        model("", '<default><default class="c"/><default class="c"/></default>'),
        "two default classes are called 'c'",
    ),
    "a class without a name": (model("", "<default><default/></default>"), "'class' is missing"),
    "an outermost class": (model("", '<default class="c"/>'), "outermost default class is 'main'"),
    "two orientations": (model(body("", more='quat="1 0 0 0" euler="1 0 0"')), "both give the orientation"),
    "a zero quaternion": (model(body("", more='quat="0 0 0 0"')), "zero length"),
    "a short quaternion": (model(body("", more='quat="1 0 0"')), "has 3 numbers, needs 4"),
    "a zero axis of an orientation": (model(body("", more='axisangle="0 0 0 1"')), "zero length"),
    "parallel axes": (model(body("", more='xyaxes="1 2 3 2 4 6"')), "parallel axes"),
    "euler's letters": (model("", '<compiler eulerseq="xyw"/>'), "letters x y z X Y Z"),
    "a keyword": (model(body('<joint type="Hinge"/>')), "it is one of free, ball, slide, hinge"),
    "a number": (model(body("", more='pos="1 2 x"')), "'x' is not a number"),
    "a zero joint axis": (model(body('<joint axis="0 0 0"/>')), "zero length"),
    "a joint of the world": (model("<joint/>"), "the world has no <joint>"),
    "an inertial of the world": (model(SOLID), "the world has no <inertial>"),
    "attributes of the world": (model("").replace("<worldbody>", '<worldbody pos="1 0 0">'), "world has no attributes"),
    "a free joint inside": (model(body(body("<freejoint/>"))), "directly in the world"),
    "a free joint with another": (model(body("<freejoint/><joint/>")), "has no other joint"),
    "a hinge after a ball": (model(body('<joint type="ball"/><joint/>')), "follows a ball joint"),
    "two inertials": (model(body(SOLID)), "one <inertial>"),
    "an inertial without a place": (model('<body><joint/><inertial mass="1"/></body>'), "needs its position"),
    "a negative mass": (model('<body><joint/><inertial pos="0 0 0" mass="-1"/></body>'), "must be >= 0"),
    "a negative density": (model('<body><joint/><geom size="1" density="-1"/></body>'), "must be >= 0"),
    "too much inertia": (
        model('<body><joint/><inertial pos="0 0 0" mass="1" fullinertia="1 1 1 0 0 0" diaginertia="1 1 1"/></body>'),
        "stands without",
    ),
    "a geom without a size": (model('<body><joint/><geom type="box" size="1"/></body>'), "3 sizes above zero"),
    "a sphere between points": (
        model('<body><joint/><geom size="1" fromto="0 0 0 1 0 0"/></body>'),
        "this is a sphere",
    ),
    "a capsule of a point": (
        model('<body><joint/><geom type="capsule" size="1" fromto="1 0 0 1 0 0"/></body>'),
        "from a point to itself",
    ),
    "a leaf without mass": (model("<body><joint/></body>"), "has no mass"),
    "two geoms of one name": (
        model(body('<joint/><geom name="g" size="1"/><geom name="g" size="1"/>')),
        "two geoms are",
    ),
    "two actuators of one name": (
        model(body('<joint name="j"/>'), "<actuator>" + 2 * '<motor name="m" joint="j"/>' + "</actuator>"),
        "two actuators are called 'm'",
    ),
    "two meshes of one name": (
        model(body("<joint/>"), "<asset>" + 2 * '<mesh name="x" file="x.stl"/>' + "</asset>"),
        "two meshes are called 'x'",
    ),
    "limits that cross": (model(body('<joint range="1 -1" limited="true"/>')), "range goes from 1 to -1"),
    "negative armature": (model(body('<joint armature="-1"/>')), "must be finite and >= 0"),
    "a body that is not there": (equality('<weld body1="nobody"/>'), "no body 'nobody'"),
    "a site that is not there": (equality('<weld site1="s" site2="u"/>'), "no site 'u'"),
    "a joint that is not there": (equality('<joint joint1="u"/>'), "no joint 'u'"),
    "a tendon that is not there": (equality('<tendon tendon1="u"/>'), "no tendon 'u'"),
    "a ball in a joint equality": (
        model(body('<joint name="j" type="ball"/>'), "", '<equality><joint joint1="j"/></equality>'),
        "is no hinge and no slide",
    ),
    "a joint that follows itself": (equality('<joint joint1="x" joint2="x"/>'), "cannot follow itself"),
    "a body held to itself": (equality('<connect body1="d" body2="d" anchor="0 0 0"/>'), "held to itself"),
    "a connection without an anchor": (equality('<connect body1="d"/>'), "'anchor' is missing"),
    "sites and bodies": (equality('<connect body1="d" site1="s" site2="t"/>'), "not both"),
    "two equalities of a name": (equality(EQUALITIES["weld"] + EQUALITIES["connect"]), "two constraints are called"),
    "two tendons of a name": (model(SITES, "", TENDONS + TENDONS), "two tendons are called"),
    "a joint twice in a tendon": (
        model(SITES, "", TENDONS.replace('joint="y"', 'joint="x"')),
        "is in this tendon twice",
    ),
    "a tendon through a site that is not there": (
        model(SITES, "", '<tendon><spatial name="r"><site site="s"/><site site="u"/></spatial></tendon>'),
        "passes site 'u', which does not exist",
    ),
    "a tendon of one site": (
        model(SITES, "", '<tendon><spatial name="r"><site site="s"/></spatial></tendon>'),
        "needs two sites or more",
    ),
    "an actuator of an absent tendon": (model("", "", '<actuator><motor tendon="u"/></actuator>'), "no tendon 'u'"),
    "an actuator of nothing": (model("", "", "<actuator><motor/></actuator>"), "acts on one of"),
    "an actuator of an absent joint": (model("", "", '<actuator><motor joint="u"/></actuator>'), "no joint 'u'"),
    "two keyframes of a name": (model("", "", '<keyframe><key name="k"/><key name="k"/></keyframe>'), "two keyframes"),
    "a long keyframe": (
        model(body("<joint/>"), "", '<keyframe><key qpos="1 2"/></keyframe>'),
        "has 2 numbers, needs ",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_an_error_that_says_where(case: str) -> None:
    text, message = WRONG[case]
    with pytest.raises(ModelError, match=re.escape(message)) as error:
        lw.loads(text, "mjcf", name="robot.xml")
    assert error.value.file == "robot.xml" and error.value.line is not None


@pytest.mark.parametrize(
    "text", ["", "<mujoco>", "<mujoco/", b"\xff\xfe", "<a/>", "<!DOCTYPE a [<!ENTITY b 'c'>]><mujoco/>"]
)
def test_what_is_no_model_is_an_error(text: bytes | str) -> None:
    with pytest.raises(LinkworkError):
        lw.loads(text, "mjcf")


def test_a_text_is_text_and_a_path_is_a_path(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        lw.loads(3, "mjcf")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="no such file"):
        lw.load(tmp_path / "absent.xml")
    with pytest.raises(InputError, match="inertias"):
        lw.loads("<mujoco/>", "mjcf", inertias="maybe")  # type: ignore[arg-type]


def test_the_range_of_a_ball_joint_is_an_angle_above_zero() -> None:
    """The second number; the first is zero. A range that does not act is none."""
    text = """<mujoco><worldbody><body><joint type="ball" range="{}" {}/>
      <inertial pos="0 0 -.1" mass="1" diaginertia="1 1 1"/></body></worldbody></mujoco>"""
    assert lw.loads(text.format("0 60", "")).joints[0].limits.angle == pytest.approx(np.pi / 3)
    assert lw.loads(text.format("0 60", 'limited="false"')).joints[0].limits.angle == np.inf
    with pytest.raises(ModelError, match="goes from -3 to 0, needs 0 and an angle"):
        lw.loads(text.format("-3 0", ""))
