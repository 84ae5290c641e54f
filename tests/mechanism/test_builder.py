# SPDX-License-Identifier: BSD-3-Clause
"""What the builder refuses, and how it says so; and fixed joints, which it merges away."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import linkwork as lw
from linkwork.mechanism import Mechanism
from tests.support.states import assert_close, random_state

BOX = lw.Inertia.box(1.5, (0.1, 0.2, 0.3), com=(0.05, -0.1, 0.2))


def start() -> lw.Builder:
    return lw.Builder("arm").body("upper", BOX).joint("shoulder", lw.joints.Revolute("y"), "world", "upper")


REFUSED: dict[str, tuple[Callable[[], object], type[lw.errors.LinkworkError], str]] = {
    "two bodies of one name": (lambda: start().body("upper"), lw.errors.ModelError, "two bodies are called 'upper'"),
    "two joints of one name": (
        lambda: start().joint("shoulder", lw.joints.Revolute(), "upper", "lower"),
        lw.errors.ModelError,
        "two joints are called 'shoulder'",
    ),
    "two frames of one name": (
        lambda: start().frame("tip", on="upper").frame("tip", on="upper"),
        lw.errors.ModelError,
        "two frames are called 'tip'",
    ),
    "a body called world": (lambda: start().body("world"), lw.errors.ModelError, "a body cannot be called 'world'"),
    "a frame called as a body": (
        lambda: start().frame("upper", on="upper").build(),
        lw.errors.ModelError,
        "frame 'upper' has the name of a body",
    ),
    "an unknown parent": (
        lambda: start().body("lower", BOX).joint("elbow", lw.joints.Revolute(), "uper", "lower").build(),
        lw.errors.TopologyError,
        "joint 'elbow' has parent 'uper', which is not a body; did you mean 'upper'",
    ),
    "an unknown child": (
        lambda: start().joint("elbow", lw.joints.Revolute(), "upper", "lower").build(),
        lw.errors.TopologyError,
        "joint 'elbow' has child 'lower', which is not a body",
    ),
    "a frame on nothing": (
        lambda: start().frame("tip", on="lower").build(),
        lw.errors.TopologyError,
        "frame 'tip' is on 'lower', which is not a body",
    ),
    "a body that hangs on nothing": (
        lambda: start().body("lower", BOX).build(),
        lw.errors.TopologyError,
        "no joint leads to body 'lower': add one from the world",
    ),
    "a cycle": (
        lambda: (
            start()
            .body("a", BOX)
            .body("b", BOX)
            .joint("ab", lw.joints.Revolute(), "a", "b")
            .joint("ba", lw.joints.Revolute(), "b", "a")
        ).build(),
        lw.errors.TopologyError,
        "joint 'ab' is part of a cycle that does not reach the world",
    ),
    "a negative mass": (
        lambda: start().body("lower", lw.Inertia(-1.0)).joint("elbow", lw.joints.Revolute(), "upper", "lower").build(),
        lw.errors.ModelError,
        "body 'lower' has mass -1.0",
    ),
    "an infinite mass": (
        lambda: (
            start().body("lower", lw.Inertia(np.inf)).joint("elbow", lw.joints.Revolute(), "upper", "lower").build()
        ),
        lw.errors.ModelError,
        "body 'lower' has mass inf",
    ),
    "moments that no matter has": (
        lambda: (
            start()
            .body("lower", lw.Inertia(1.0, (0, 0, 0), (1, 1, 3)))
            .joint("elbow", lw.joints.Revolute(), "upper", "lower")
        ).build(),
        lw.errors.ModelError,
        "body 'lower' has principal moments of inertia 1, 1, 3",
    ),
    "a negative moment": (
        lambda: (
            start()
            .body("lower", lw.Inertia(1.0, (0, 0, 0), (-1, 1, 1)))
            .joint("elbow", lw.joints.Revolute(), "upper", "lower")
        ).build(),
        lw.errors.ModelError,
        "body 'lower' has principal moments of inertia -1, 1, 1",
    ),
    "an inertia that is not symmetric": (
        lambda: (
            start()
            .body("lower", lw.Inertia(1.0, (0, 0, 0), [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]))
            .joint("elbow", lw.joints.Revolute(), "upper", "lower")
        ).build(),
        lw.errors.ModelError,
        "body 'lower': the rotational inertia is not symmetric",
    ),
    "limits upside down": (
        lambda: (
            start().body("lower", BOX).joint("elbow", lw.joints.Revolute(), "upper", "lower", lower=1.0, upper=-1.0)
        ),
        lw.errors.ModelError,
        "joint 'elbow': lower limit",
    ),
    "too many armatures": (
        lambda: start().body("lower", BOX).joint("elbow", lw.joints.Revolute(), "upper", "lower", armature=[1, 2]),
        lw.errors.ModelError,
        "joint 'elbow': armature has 2 numbers, needs 1",
    ),
    "a negative damping": (
        lambda: start().body("lower", BOX).joint("elbow", lw.joints.Revolute(), "upper", "lower", damping=-1.0),
        lw.errors.ModelError,
        "joint 'elbow': damping",
    ),
    "the name of a joint type": (
        lambda: start().body("lower", BOX).joint("elbow", "revolute", "upper", "lower"),  # type: ignore[arg-type]
        lw.errors.ModelError,
        "joint 'elbow': 'revolute' is no joint type, such as Revolute('z')",
    ),
    "a class of joints": (
        lambda: start().body("lower", BOX).joint("elbow", lw.joints.Revolute, "upper", "lower"),  # type: ignore[arg-type]
        lw.errors.ModelError,
        "joint 'elbow': <class ",
    ),
    "a mass for an inertia": (
        lambda: start().body("lower", 1.0),  # type: ignore[arg-type]
        lw.errors.ModelError,
        "body 'lower': 1.0 is no Inertia",
    ),
    "a pose without names": (
        lambda: start().pose("home", [0.0]),  # type: ignore[arg-type]
        lw.errors.ModelError,
        "pose 'home' needs coordinates by joint",
    ),
    "an axis without direction": (lambda: lw.joints.Revolute((0, 0, 0)), lw.errors.ModelError, "zero length"),
    "an axis without a name": (lambda: lw.joints.Revolute("w"), lw.errors.ModelError, "axis 'w' is none of x, y, z"),
    "parallel axes": (lambda: lw.joints.Universal("x", "-x"), lw.errors.ModelError, "the two axes are parallel"),
    "a pitch that is no number": (lambda: lw.joints.Helical("x", np.nan), lw.errors.ModelError, "pitch nan"),
    "a rotation that is none": (lambda: lw.Placement(rotation=np.eye(3) * 2), lw.errors.ModelError, "not a rotation"),
    "a reflection": (lambda: lw.Placement(rotation=np.diag([1, 1, -1])), lw.errors.ModelError, "not a rotation"),
    "gravity of two numbers": (
        lambda: lw.Builder(gravity=(0, 1)),
        lw.errors.ModelError,
        "gravity has shape (2,), needs (3,)",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_the_builder_refuses(what: str) -> None:
    make, error, message = REFUSED[what]
    with pytest.raises(error) as caught:
        make()
    assert message in str(caught.value)


# Leaves that nothing holds -------------------------------------------------------------------------

POINT = lw.Inertia(1.0, (0.3, 0.4, 0.5))
ROD = lw.Inertia(1.0, (1.0, 0.0, 0.0), (1.0, 1.0, 0.0))
"""About z through its center nothing resists; about z through the origin the offset of the center does."""

UNDETERMINED = {
    "massless on a revolute": (lw.joints.Revolute("x"), lw.Inertia.zero()),
    "massless on a prismatic": (lw.joints.Prismatic("x"), lw.Inertia.zero()),
    "massless on a free": (lw.joints.Free(), lw.Inertia.zero()),
    "point on its own axis": (lw.joints.Revolute((3, 4, 5)), POINT),
    "point on a ball joint": (lw.joints.Spherical(), POINT),
    "point on a free joint": (lw.joints.Free(), POINT),
    "point on a planar joint": (lw.joints.Planar(), POINT),
    "thin rod on a free joint": (lw.joints.Free(), ROD),
    "thin rod on a planar joint": (lw.joints.Planar("z"), ROD),
}


@pytest.mark.parametrize("what", UNDETERMINED)
def test_a_leaf_that_its_joint_moves_freely_is_refused_with_the_reason(what: str) -> None:
    joint, inertia = UNDETERMINED[what]
    build = start().body("leaf", inertia).joint("wrist", joint, "upper", "leaf")
    with pytest.raises(lw.errors.ModelError) as caught:
        build.build()
    for part in ("joint 'wrist'", "body 'leaf'", "acceleration would be undetermined", "armature"):
        assert part in str(caught.value)


def test_armature_holds_a_massless_leaf() -> None:
    robot = start().body("leaf").joint("wrist", lw.joints.Revolute("x"), "upper", "leaf", armature=0.5).build()
    a = lw.ForwardDynamics(robot)([0.1, 0.2], [0, 0], [0, 1.0]).acceleration
    assert a[1] == pytest.approx(2.0, rel=1e-14)


def test_a_massless_body_may_carry_others() -> None:
    build = lw.Builder().body("cross").joint("a", lw.joints.Revolute("x"), "world", "cross")
    robot = build.body("b", BOX).joint("b", lw.joints.Revolute("y"), "cross", "b").build()
    assert np.linalg.eigvalsh(lw.mass_matrix(robot, [0.3, 0.4]))[0] > 0


# Fixed joints --------------------------------------------------------------------------------------


def with_tool(merged: bool) -> Mechanism:
    """An arm with a tool on a bracket, fixed; or with one body that has the inertia of all three."""
    bracket = lw.Placement.rpy(0.3, -0.2, 0.5, position=(0, 0, 0.4))
    tool = lw.Placement.rpy(-1.0, 0.1, 0.2, position=(0.1, 0.2, 0))
    weight = lw.Inertia.box(0.7, (0.3, 0.1, 0.2), com=(0, 0.1, 0))
    if merged:
        whole = BOX + BOX.moved(bracket) + weight.moved(bracket * tool)
        build = lw.Builder("arm").body("upper", whole).joint("shoulder", lw.joints.Revolute("y"), "world", "upper")
        return build.frame("tip", on="upper", at=bracket * tool * lw.Placement((0, 0, 0.1))).build()
    build = start().body("bracket", BOX).joint("screws", lw.joints.Fixed(), "upper", "bracket", bracket)
    build.body("tool", weight).joint("clamp", lw.joints.Fixed(), "bracket", "tool", tool)
    return build.frame("tip", on="tool", at=(0, 0, 0.1)).build()


def test_fixed_bodies_move_as_one() -> None:
    apart, whole = with_tool(False), with_tool(True)
    assert apart.joint_names == ("shoulder",)
    s = random_state(apart, 0)
    found = lw.InverseDynamics(apart)(s.q, s.v, s.a)
    assert_close(found, lw.InverseDynamics(whole)(s.q, s.v, s.a), 1e-14)


def test_fixed_bodies_and_joints_stay_as_frames() -> None:
    apart, whole = with_tool(False), with_tool(True)
    assert {"bracket", "tool", "screws", "clamp", "tip"} <= set(apart.frame_names)
    found, expected = (lw.frame_placement(robot, [0.7], "tip") for robot in (apart, whole))
    assert_close(found.position, expected.position, 1e-14)
    assert_close(found.rotation, expected.rotation, 1e-14)


def test_what_is_fixed_to_the_world_weighs_nothing() -> None:
    build = lw.Builder().body("base", BOX).joint("bolts", lw.joints.Fixed(), "world", "base", (0, 0, 1))
    robot = build.body("a", BOX).joint("a", lw.joints.Revolute("x"), "base", "a", (0, 0, 1)).build()
    assert robot.mass == BOX.mass
    assert robot.joints[0].parent == "world"
    assert_close(lw.frame_placement(robot, [0.0], "a").position, np.array([0, 0, 2.0]), 1e-15)


def test_joints_may_be_given_in_any_order() -> None:
    build = lw.Builder()
    for name in "cba":
        build.body(name, BOX)
    build.joint("3", lw.joints.Revolute("z"), "b", "c").joint("2", lw.joints.Revolute("y"), "a", "b")
    assert build.joint("1", lw.joints.Revolute("x"), "world", "a").build().joint_names == ("1", "2", "3")


def test_an_unknown_option_of_a_joint_names_the_one_that_was_meant() -> None:
    with pytest.raises(TypeError, match="joint 'elbow': unknown option 'dampnig'; did you mean 'damping'"):
        start().joint("elbow", lw.joints.Revolute(), "upper", "lower", dampnig=1.0)  # type: ignore[call-arg]


@pytest.mark.parametrize("kind", ["Tendon", "Sensor"])
def test_parts_of_another_kind_are_refused_with_an_example(kind: str) -> None:
    build, robot = lw.Builder("arm"), lw.zoo.pendulum()
    for add in (build.tendon, robot.with_tendons) if kind == "Tendon" else (build.sensor, robot.with_sensors):
        with pytest.raises(
            (lw.errors.ModelError, lw.errors.InputError), match=rf"'spin' is not a {kind}, such as {kind}\("
        ):
            add("spin")  # type: ignore[operator]
