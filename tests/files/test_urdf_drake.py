# SPDX-License-Identifier: BSD-3-Clause
"""URDF as Drake writes it: the world that nobody declares, bodies that float, its joints and loops, what it ignores."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ModelError, ModelWarning, TopologyError, UnsupportedFeature
from linkwork.mechanism import Mechanism
from linkwork.model.joints import Free

BODY = """<inertial><origin xyz="0.5 0 0"/><mass value="1"/>
  <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>"""


def link(name: str, more: str = "") -> str:
    return f'<link name="{name}" {more}>{BODY}</link>'


def hinge(name: str, parent: str, child: str, at: str = "0 0 0") -> str:
    return (
        f'<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{at}"/><axis xyz="0 1 0"/></joint>'
    )


def weld(name: str, parent: str, child: str) -> str:
    return f'<joint name="{name}" type="fixed"><parent link="{parent}"/><child link="{child}"/></joint>'


def robot(*parts: str) -> str:
    return f'<robot name="r" xmlns:drake="http://drake.mit.edu">{"".join(parts)}</robot>'


def quiet(text: str, **options: str) -> Mechanism:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return lw.loads(text, "urdf", **options)  # type: ignore[arg-type]


def ball(a: str, at: str, b: str, there: str) -> str:
    return (
        f'<drake:ball_constraint><drake:ball_constraint_body_A name="{a}"/><drake:ball_constraint_body_B name="{b}"/>'
        f'<drake:ball_constraint_p_AP value="{at}"/><drake:ball_constraint_p_BQ value="{there}"/>'
        "</drake:ball_constraint>"
    )


PENDULUM = (link("a"), link("b"), hinge("j1", "a", "b", "1 0 0"))
FLOOR = (link("floor"), weld("floor_weld", "world", "floor"))


def same_dynamics(first: Mechanism, second: Mechanism) -> None:
    assert first.joint_names == second.joint_names
    q, v = first.random(0), np.linspace(-1, 1, first.nv)
    np.testing.assert_array_equal(lw.mass_matrix(first, q), lw.mass_matrix(second, q))
    np.testing.assert_array_equal(lw.bias_forces(first, q, v), lw.bias_forces(second, q, v))


def test_the_world_need_not_be_declared() -> None:
    implicit = quiet(robot(*PENDULUM, hinge("j0", "world", "a", "0 0 2")))
    declared = quiet(robot('<link name="world"/>', *PENDULUM, hinge("j0", "world", "a", "0 0 2")))
    assert implicit.joint("j0").parent == "world" and implicit.nv == 2
    same_dynamics(implicit, declared)


def test_frames_and_loops_may_stand_on_the_undeclared_world() -> None:
    """A four-bar of three bars: the third ends at a point of the world."""
    loop = ball("c", "1 0 0", "world", "3 0 0")
    frame = '<frame name="anchor" link="world" xyz="3 0 0"/>'
    bars = (link("a"), link("b"), link("c"), hinge("j1", "a", "b", "1 0 0"), hinge("j2", "b", "c", "1 0 0"))
    linkage = quiet(robot(*bars, hinge("j0", "world", "a"), loop, frame))
    assert linkage.frame("anchor").body == "world"
    assert np.abs(lw.constraint_error(linkage, linkage.neutral())).max() == 0
    assert linkage.frame("anchor").placement.position.tolist() == [3, 0, 0]


def test_a_link_that_nothing_holds_floats_beside_what_stands_on_the_world() -> None:
    """As the Strandbeest does: its floor is welded to the world, its crossbar is a free body."""
    text = robot(*FLOOR, *PENDULUM)
    with pytest.warns(
        ModelWarning, match="no joint connects 'a' to it: floating, as in Drake; base='floating' says so"
    ):
        free = lw.loads(text, "urdf")
    assert free.joint_names == ("root_joint", "j1") and isinstance(free.joint("root_joint").type, Free)
    assert free.frame("floor").body == "world"
    assert quiet(text, base="floating").joint_names == free.joint_names
    assert quiet(text, base="fixed").joint_names == ("j1",)
    same_dynamics(free, quiet(robot(*PENDULUM), base="floating"))


def test_several_bodies_may_float() -> None:
    two = quiet(robot(*FLOOR, *PENDULUM, link("c")), base="floating")
    assert {j.name: j.child for j in two.joints} == {"root_joint": "a", "j1": "b", "root_joint_1": "c"}


def test_without_the_world_two_roots_are_an_error() -> None:
    with pytest.raises(TopologyError, match="a robot has one root link, this one 2"):
        lw.loads(robot(*PENDULUM, link("c")), "urdf")


def test_what_hangs_on_the_world_does_not_float() -> None:
    with pytest.raises(ModelError, match="'world', which does not float"):
        lw.loads(robot(*PENDULUM, weld("w", "world", "a")), "urdf", base="floating")


def test_a_joint_to_the_world_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(TopologyError, match="joint 'w' leads to 'world', which does not move: exchange its ends"):
        lw.loads(robot(*PENDULUM, weld("w", "b", "world")), "urdf")


def test_what_drake_ignores_is_ignored() -> None:
    ignored = link("extra", 'drake_ignore="true"') + hinge("j2", "b", "extra").replace(
        'name="j2"', 'name="j2" drake_ignore="true"'
    )
    same_dynamics(quiet(robot(*PENDULUM, ignored)), quiet(robot(*PENDULUM)))
    kept = quiet(robot(*PENDULUM, ignored.replace('"true"', '"false"')))
    assert kept.joint_names == ("j1", "j2")


@pytest.mark.parametrize(
    ("element", "says"),
    [
        ("drake:linear_bushing_rpy", r"spring and damper between two frames.*ball_constraint.*lw\.constraints\.Hinge"),
        ("drake:linear_spring_damper", "spring and damper between two points"),
        ("drake:tendon_constraint", "JointCoupling"),
        ("drake:something_new", "not understood"),
    ],
)
def test_forces_and_bounds_of_drake_are_refused_by_name(element: str, says: str) -> None:
    with pytest.raises(UnsupportedFeature, match=rf"<{element}>: .*{says}"):
        lw.loads(robot(*PENDULUM, f"<{element}/>"), "urdf")


def test_a_curvilinear_joint_is_refused_by_name() -> None:
    text = robot(*PENDULUM).replace("<joint", "<drake:joint").replace("</joint", "</drake:joint")
    with pytest.raises(UnsupportedFeature, match="joint type 'curvilinear' is none of ball, universal, planar, screw"):
        lw.loads(text.replace('"continuous"', '"curvilinear"'), "urdf")


@pytest.mark.parametrize("tag", ["joint", "drake:joint"])
def test_a_planar_joint_has_a_damping_in_each_direction(tag: str) -> None:
    text = robot(*PENDULUM).replace("<axis", '<dynamics damping="1 2 3"/><axis').replace('"continuous"', '"planar"')
    planar = quiet(text.replace("<joint", f"<{tag}").replace("</joint", f"</{tag}"))
    assert planar.damping.tolist() == [1, 2, 3]


@pytest.mark.parametrize("ends", ["inside", "attributes"])
def test_a_loop_joint_is_the_constraint_of_its_type(ends: str) -> None:
    """Of Drake's earliest files, which put an origin inside, and of Isaac Sim, which has attributes."""
    places = {"link1": ("c", "1 0 0"), "link2": ("a", "3 0 0")}
    inside = "".join(
        f'<{tag} link="{name}"><origin xyz="{at}"/></{tag}>'
        if ends == "inside"
        else f'<{tag} link="{name}" xyz="{at}" rpy="0 0 0"/>'
        for tag, (name, at) in places.items()
    )
    bars = (*PENDULUM, link("c"), hinge("j2", "b", "c", "1 0 0"))
    for kind, constraint in (("continuous", lw.constraints.Hinge), ("spherical", lw.constraints.Point)):
        axis = '<axis xyz="0 1 0"/>' if kind == "continuous" else ""
        loop = f'<loop_joint name="l" type="{kind}">{inside}{axis}</loop_joint>'
        linkage = quiet(robot(*bars, loop))
        (found,) = linkage.constraints
        assert type(found) is constraint and found.name == "l"
        np.testing.assert_allclose(lw.constraint_error(linkage, linkage.neutral()), 0, atol=1e-15)
    with pytest.raises(ModelError, match="holds a <link1> and a <link2>; this one 1"):
        lw.loads(robot(*bars, '<loop_joint name="l" type="ball"><link1 link="a"/></loop_joint>'), "urdf")
