# SPDX-License-Identifier: BSD-3-Clause
"""SDF: what is not understood is an error that says file, line and element."""

from __future__ import annotations

import re
import warnings

import pytest

import linkwork as lw
from linkwork.errors import ModelError, ModelWarning, TopologyError, UnsupportedFeature
from tests.files.test_sdf import ARM, AXIS, DRAKE, GEARBOX, HERE, ROD, edited, frame, joint, mimic

SCREW = f"<axis>{AXIS}</axis>"
PITCH = "<screw_thread_pitch>0.1</screw_thread_pitch>"


@pytest.mark.parametrize(
    ("old", "new", "error", "element", "says"),
    [
        ('version="1.8"', 'version="1.3"', UnsupportedFeature, "sdf", "1.4 to 1.12"),
        ('version="1.8"', 'version="2.0"', UnsupportedFeature, "sdf", "1.4 to 1.12"),
        ('version="1.8"', 'version="٣"', UnsupportedFeature, "sdf", "1.4 to 1.12"),
        (' version="1.8"', "", ModelError, "sdf", "'version' is missing"),
        (HERE, "<include/>", ModelError, "include", "needs a <uri>"),
        (HERE, "<spring/>", UnsupportedFeature, "spring", "not understood"),
        (HERE, f"<drake:linear_bushing_rpy {DRAKE}/>", UnsupportedFeature, "drake:linear_bushing_rpy", "understood"),
        (HERE, f'<drake:joint {DRAKE} name="x"/>', UnsupportedFeature, 'drake:joint name="x"', "not understood"),
        (HERE, "<link/>", ModelError, "link", "'name' is missing"),
        (HERE, '<link name="base"/>', ModelError, 'link name="base"', "are called 'base'"),
        (HERE, '<link name="shoulder"/>', ModelError, 'link name="shoulder"', "are called 'shoulder'"),
        (HERE, '<link name="world"/>', ModelError, 'link name="world"', "reserved"),
        (HERE, '<frame name="__x__"/>', ModelError, 'frame name="__x__"', "reserved"),
        (HERE, frame("a", "b") + frame("b", "a"), TopologyError, "frame", "in a cycle"),
        (HERE, frame("a", "upper", "b") + frame("b", "", "a"), TopologyError, "frame", "in a cycle"),
        (HERE, frame("a", "nowhere"), TopologyError, 'frame name="a"', "'nowhere' is no link"),
        (HERE, frame("a", "x::y"), TopologyError, 'frame name="a"', "no model 'x'"),
        (HERE, frame("a", "base", "nowhere"), TopologyError, 'frame name="a"', "'nowhere' is no link"),
        (HERE, '<model name="m"><static>1</static></model>', UnsupportedFeature, "static", "inside one that moves"),
        (HERE, '<model name="m"><link name="l"><a/></link></model>', UnsupportedFeature, "a", "not understood"),
        ("<pose>0 0 1 0 0 0</pose>", "<pose>0 0 1</pose>", ModelError, "pose", "has 3 numbers, needs 6"),
        ("<pose>0 0 1 0 0 0</pose>", "<pose>0 0 x 0 0 0</pose>", ModelError, "pose", "'x' is not a number"),
        (
            "<pose>0 0 1 0 0 0</pose>",
            '<pose frame="base">0 0 1 0 0 0</pose>',
            UnsupportedFeature,
            "pose",
            "relative_to",
        ),
        (
            "<pose>0 0 1 0 0 0</pose>",
            '<pose rotation_format="matrix">1</pose>',
            UnsupportedFeature,
            "pose",
            "rotation_format",
        ),
        (
            "<pose>0 0 1 0 0 0</pose>",
            '<pose rotation_format="quat_xyzw">0 0 1 0 0 0 0</pose>',
            ModelError,
            "pose",
            "zero length",
        ),
        ("<pose>0 0 1 0 0 0</pose>", "<gravity>0</gravity>", UnsupportedFeature, "gravity", "changes the dynamics"),
        ("<pose>0 0 1 0 0 0</pose>", "<gravity>maybe</gravity>", ModelError, "gravity", "neither true nor false"),
        (
            "<pose>0 0 1 0 0 0</pose>",
            "<kinematic>1</kinematic>",
            UnsupportedFeature,
            "kinematic",
            "changes the dynamics",
        ),
        (
            "<pose>0 0 1 0 0 0</pose>",
            "<velocity_decay><linear>1</linear></velocity_decay>",
            UnsupportedFeature,
            "velocity_decay",
            "decay",
        ),
        (
            "<pose>0 0 1 0 0 0</pose>",
            '<pose degrees="yes">0 0 0 0 0 90</pose>',
            ModelError,
            "pose",
            "'degrees' is 'yes', neither true nor false",
        ),
        ("<parent>base</parent>", "<parent>bass</parent>", TopologyError, "parent", "'bass' is no link"),
        ("<parent>base</parent>", "<parent/>", ModelError, "parent", "empty"),
        ("<parent>base</parent>", "", ModelError, 'joint name="shoulder"', "needs a <parent>"),
        ("<parent>base</parent>", "<parent>upper</parent>", TopologyError, 'joint name="shoulder"', "to itself"),
        ('type="revolute"', 'type="piston"', UnsupportedFeature, 'joint name="shoulder"', "none of revolute"),
        ('type="revolute"', 'type="universal"', ModelError, 'joint name="shoulder"', "needs a <axis2>"),
        ('type="revolute"', 'type="screw"', ModelError, 'joint name="shoulder"', "screw_thread_pitch"),
        ('type="revolute"', 'type="gearbox"', ModelError, 'joint name="shoulder"', "gearbox_reference_body"),
        (AXIS, "<xyz>0 0 0</xyz>", ModelError, "axis", "zero length"),
        (AXIS, '<xyz expressed_in="nowhere">0 0 1</xyz>', TopologyError, "axis", "'nowhere' is no link"),
        (
            AXIS,
            f"{AXIS}<use_parent_model_frame>1</use_parent_model_frame>",
            UnsupportedFeature,
            "use_parent_model_frame",
            "expressed_in='__model__'",
        ),
        (AXIS, "<limit><lower>2</lower><upper>1</upper></limit>", ModelError, 'joint name="shoulder"', "above upper"),
        (AXIS, "<limit><spring/></limit>", UnsupportedFeature, "spring", "not understood"),
        (
            AXIS,
            "<dynamics><damping>-1</damping></dynamics>",
            ModelError,
            'joint name="shoulder"',
            "must be finite and >= 0",
        ),
        (AXIS, "<dynamics><drag>1</drag></dynamics>", UnsupportedFeature, "drag", "not understood"),
        (HERE, joint("screw", SCREW + "<thread_pitch>0</thread_pitch>"), ModelError, 'joint name="j"', "thread pitch"),
        (HERE, joint("revolute", parent="base", child="base"), TopologyError, 'joint name="j"', "to itself"),
        (HERE, mimic("", leader="nobody"), TopologyError, "mimic", "'nobody' is no link"),
        (HERE, mimic("", leader="base"), ModelError, "mimic", "no other joint"),
        (HERE, mimic("", leader="j"), ModelError, "mimic", "no other joint"),
        (HERE, mimic("", attributes=' axis="axis2"'), UnsupportedFeature, "mimic", "several degrees of freedom"),
        (HERE, mimic("", attributes=' axis="z"'), ModelError, "mimic", "'axis' or 'axis2'"),
        (
            HERE,
            GEARBOX.format(rod=ROD, a="upper", b="motor", m=1, x=1, y=AXIS),
            UnsupportedFeature,
            "axis",
            "from 'base' to 'motor'",
        ),
        (
            HERE,
            GEARBOX.format(rod=ROD, a="base", b="motor", m=1, x=1, y="<xyz>0 1 0</xyz>"),
            UnsupportedFeature,
            "axis2",
            "from 'base' to 'upper'",
        ),
        (
            HERE,
            GEARBOX.format(rod=ROD, a="base", b="motor", m=1, x=1, y=AXIS).replace(">3<", ">0<"),
            ModelError,
            'joint name="gear"',
            "zero",
        ),
    ],
)
def test_errors_name_file_line_and_element(
    old: str, new: str, error: type[ModelError], element: str, says: str
) -> None:
    text = edited(old, new)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        with pytest.raises(error, match=re.escape(says)) as caught:
            lw.loads(text, "sdf", name="arm.sdf")
    e = caught.value
    assert type(e) is error
    assert (e.element or "").startswith(element)
    start = ARM[: ARM.index(old)].count("\n") + 1
    above = {"joint": 6, "axis": 1}.get(element.split()[0], 0)  # lines from the element to what was edited in it
    assert e.file == "arm.sdf" and e.line is not None
    assert start - above <= e.line <= start + new.count("\n")


INERTIAL = f'<link name="base">{ROD}</link>'


@pytest.mark.parametrize(
    ("inertial", "error", "says"),
    [
        ("<inertial><mass>-1</mass></inertial>", ModelError, "must be >= 0"),
        ("<inertial><mass>1 2</mass></inertial>", ModelError, "has 2 numbers, needs 1"),
        ("<inertial><mass>nan</mass></inertial>", ModelError, "not a number"),
        ('<inertial auto="true"/>', ModelError, "must come from its shapes"),
        ("<inertial><fluid_added_mass/></inertial>", UnsupportedFeature, "not understood"),
        ('<inertial><pose relative_to="x"/></inertial>', UnsupportedFeature, "relative to its link"),
        ("<inertial/><inertial/>", ModelError, "at most one"),
    ],
)
def test_wrong_inertials(inertial: str, error: type[ModelError], says: str) -> None:
    with pytest.raises(error, match=re.escape(says)) as caught:
        lw.loads(edited(INERTIAL, f'<link name="base">{inertial}</link>'), "sdf", name="arm.sdf")
    assert (caught.value.file, caught.value.line) == ("arm.sdf", 3)


@pytest.mark.parametrize("version", ["1.5", "1.6"])
@pytest.mark.parametrize(
    ("inside", "says"),
    [
        ("<frame name='f'/>", "since SDF 1.7"),
        (f'<link name="x"><pose relative_to="base"/>{ROD}</link>', "needs SDF 1.7"),
        (joint("revolute", '<axis><xyz expressed_in="base">0 0 1</xyz></axis>'), "needs SDF 1.7"),
    ],
)
def test_words_of_later_versions_are_refused(version: str, inside: str, says: str) -> None:
    with pytest.raises(UnsupportedFeature, match=re.escape(says)):
        lw.loads(edited(HERE, inside).replace('"1.8"', f'"{version}"'), "sdf")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('<sdf version="1.7"/>', "0 models"),
        ('<sdf version="1.7"><model name="a"/></sdf>', "no <link>"),
        ('<sdf version="1.7"><model name="a"/><model name="b"/></sdf>', "2 models"),
        ('<sdf version="1.7"><world><model name="a"/></world><world/></sdf>', "2 worlds"),
        ('<sdf version="1.7"><world><include/></world></sdf>', "needs a <uri>"),
        ('<sdf version="1.7"><world><joint/></world></sdf>', "not understood"),
        ('<sdf version="1.7"><world><state/></world></sdf>', "not understood"),
        ('<sdf version="1.7"><model name="a"><pose relative_to="f"/></model></sdf>', "not read"),
        ('<sdf version="1.7"><model><link name="a"/></model></sdf>', "'name' is missing"),
        ("<robot/>", "<sdf>"),
        ("", "XML"),
    ],
)
def test_files_that_are_no_one_model(text: str, says: str) -> None:
    with pytest.raises(ModelError, match=re.escape(says)):
        lw.loads(text, "sdf")


@pytest.mark.parametrize(
    ("kind", "inside", "says"),
    [
        ("ball", "<axis><dynamics><damping>2</damping></dynamics></axis>", "damping.*'j' are not read"),
        ("screw", f"<axis>{AXIS}<limit><lower>-1</lower></limit></axis>{PITCH}", "limits of screw joint 'j'"),
        ("revolute", f"<axis>{AXIS}</axis><axis2><xyz>0 0 1</xyz></axis2>", "<axis2> is not read"),
    ],
)
def test_what_a_joint_does_not_read_is_a_warning(kind: str, inside: str, says: str) -> None:
    text = edited(HERE, joint(kind, inside))
    with pytest.warns(ModelWarning, match=says):
        lw.loads(text, "sdf")


def test_impossible_inertias_are_a_warning_or_an_error() -> None:
    text = edited(INERTIAL, INERTIAL.replace("0.1", "9"))
    with pytest.warns(ModelWarning, match=r'a:3 <link name="base">.*no distribution of mass'):
        lw.loads(text, "sdf", name="a")
    with pytest.raises(ModelError, match="no distribution of mass"):
        lw.loads(text, "sdf", name="a", inertias="check")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.loads(text, "sdf", inertias="trust")
