# SPDX-License-Identifier: BSD-3-Clause
"""Loops in URDF files: every way that files say them, on small texts and on every model file there is."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ModelError, ModelWarning, TopologyError, UnsupportedFeature
from linkwork.mechanism import Mechanism
from linkwork.model.constraints import Constraint
from linkwork.parsing import load
from linkwork.parsing.urdf.loop_file import find_loop_file
from tests.support import robots
from tests.support.robots import EXAMPLES, MODELS, load_quietly, model_absent, model_file, model_files
from tests.support.states import assert_close, random_state

# Every file ------------------------------------------------------------------------------------------

FILES = [*model_files("*.urdf"), *sorted(EXAMPLES.rglob("*.urdf"))]

DO_NOT_LOAD = {
    "tello_humanoid.urdf": (UnsupportedFeature, "torso-to-left-hip-clamp-rotor.*differential.*not in the file"),
    "tello_legs.urdf": (UnsupportedFeature, "ground-to-left-hip-clamp.*differential.*not in the file"),
    "disney_robot/robot.urdf": (ModelError, r"robot\.yaml:4 .*'left_spherical_free_foot' is no joint"),
    "alex_psyonic_hands.urdf": (ModelError, "mimics 'index_q1', which is no other joint"),
    "falcon.urdf": (TopologyError, "'Z_propeller', which is no link"),
    "ur3.urdf": (ModelError, "no <link>"),
    "pr2.urdf": (UnsupportedFeature, "joint:hinge.*loops=False"),
}
"""By the end of the path: what is wrong with the file, or not in it."""

WITHOUT_DYNAMICS = {
    "bluevolta_bravo7_gripper.urdf",
    "bravo7_gripper.urdf",
    "falcon_bravo7_gripper.urdf",
    "romeo_laas_small.urdf",
}
"""Fingers without mass: these have kinematics alone."""

MIMICKED = {"romeo.urdf"}
"""Fingers without mass that mimic others: these have dynamics with their constraints."""

AS_TREES = {"tello_humanoid.urdf", "tello_legs.urdf", "disney_robot/robot.urdf", "pr2.urdf"}
"""Of these, the ones that load without what they lack."""


def name_of(file: Path) -> str:
    return f"{file.parent.name}/{file.name}"


def trouble(file: Path) -> tuple[type[ModelError], str] | None:
    known = [value for key, value in DO_NOT_LOAD.items() if name_of(file).endswith(f"/{key}") or name_of(file) == key]
    return known[0] if known else None


def no_dynamics(file: Path) -> bool:
    return file.name in WITHOUT_DYNAMICS


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_every_file_loads_or_says_what_is_missing(file: Path) -> None:
    wrong = trouble(file)
    if wrong is None:
        robot = load_quietly(file)
        q = robot.neutral()
        with pytest.raises(lw.errors.SingularMassMatrix, match="no mass") if no_dynamics(file) else nullcontext():
            lw.gravity_forces(robot, q)
        assert lw.frame_placement(robot, q, robot.frame_names[-1]).position.shape == (3,)
    else:
        with pytest.raises(wrong[0], match=wrong[1]) as caught:
            load_quietly(file)
        assert caught.value.file and caught.value.line


def as_tree(file: Path) -> Mechanism | None:
    """What Pinocchio reads: the URDF alone, no constraints."""
    if trouble(file) and not any(name_of(file).endswith(key) for key in AS_TREES):
        return None
    robot = load_quietly(file, loops=False, mimic="ignore", dependent="free", inertias="trust")
    return robot.unconstrained()


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_spanning_trees_of_all_files_are_those_of_pinocchio(file: Path) -> None:
    pin = pytest.importorskip("pinocchio")
    robot = as_tree(file)
    if robot is None or robot.nv == 0 or no_dynamics(file) or file.name in MIMICKED:
        pytest.skip("does not load, does not move, or has no dynamics without constraints")
    model = pin.buildModelFromUrdf(str(file))
    assert set(robot.joint_names) == set(list(model.names)[1:])
    assert_same_dynamics(robot, model, 1e-10)


def assert_same_dynamics(robot: Mechanism, model: Any, rel: float) -> None:
    """Mass matrix and bias forces, at the neutral and at random states, relative to the largest number of each."""
    pin = pytest.importorskip("pinocchio")
    perm = robots.velocity_permutation(robot, model)
    armature = np.zeros(model.nv)
    armature[perm] = robot.armature
    model.armature = armature
    data = model.createData()
    for seed in range(3):
        s = random_state(robot, seed)
        q, v = (robot.neutral(), np.zeros(robot.nv)) if seed == 0 else (s.q, s.v)
        q_there, v_there = robots.to_pinocchio(robot, model, q), np.empty(model.nv)
        v_there[perm] = v
        upper = np.triu(pin.crba(model, data, q_there))
        M = (upper + np.triu(upper, 1).T)[np.ix_(perm, perm)]
        assert_close(lw.mass_matrix(robot, q), M, rel)
        bias = pin.nonLinearEffects(model, data, q_there, v_there)[perm]
        assert_close(lw.bias_forces(robot, q, v), bias, rel, scale=float(np.abs(M).max()))


# Counts of constraints, against the table of the collection of models --------------------------------------

GRBDA = "grbda_parallel_chains"
EXPECTED: dict[str, dict[str, int]] = {
    "grbda_linkages/four_bar.urdf": {"Hinge": 1},
    "grbda_linkages/six_bar.urdf": {"Hinge": 1},
    "grbda_linkages/planar_leg_linkage.urdf": {"Hinge": 1},
    "grbda_linkages/revolute_rotor_chain.urdf": {"JointCoupling": 3},
    "jvrc1/jvrc1.urdf": {"JointCoupling": 10},
    "jvrc1/jvrc1_humanoid.urdf": {"JointCoupling": 25},
    "mini_cheetah/mini_cheetah.urdf": {"JointCoupling": 12},
    "mit_humanoid/mit_humanoid.urdf": {"JointCoupling": 18},
    "reachy_mini/robot_no_collision.urdf": {"Point": 5},
    "example_parallel_robots/5bar_linkage/robot.urdf": {"Weld": 1},
    "example_parallel_robots/5bar_linkage_iso3d/robot.urdf": {"Point": 1},
    "example_parallel_robots/5bar_linkage_iso6d/robot.urdf": {"Weld": 1},
    "example_parallel_robots/cassie_like/robot.urdf": {"Weld": 2},
    "example_parallel_robots/digit_like/robot.urdf": {"Weld": 3},
    "example_parallel_robots/digit_like_2legs/robot.urdf": {"Weld": 6},
    "example_parallel_robots/digit_like_2legs_6D/robot.urdf": {"Weld": 6},
    "example_parallel_robots/kangaroo_like/robot.urdf": {"Weld": 11},
    "example_parallel_robots/robot_delta/robot.urdf": {"Weld": 3},
    "example_parallel_robots/talos_like/robot.urdf": {"Weld": 1},
    "example_parallel_robots/true_talos_2_legs/talos_full_v2.urdf": {"Point": 2, "JointCoupling": 12},
}
FREEDOM = {
    "grbda_linkages/revolute_rotor_chain.urdf": 3,
    "jvrc1/jvrc1_humanoid.urdf": 38,
    "mini_cheetah/mini_cheetah.urdf": 18,
    "mit_humanoid/mit_humanoid.urdf": 24,
    "reachy_mini/robot_no_collision.urdf": 15,
    "example_parallel_robots/5bar_linkage_iso3d/robot.urdf": 2,
    "example_parallel_robots/5bar_linkage_iso6d/robot.urdf": 2,
    "example_parallel_robots/cassie_like/robot.urdf": 7,
    "example_parallel_robots/digit_like/robot.urdf": 9,
    "example_parallel_robots/digit_like_2legs/robot.urdf": 12,
    "example_parallel_robots/digit_like_2legs_6D/robot.urdf": 12,
    "example_parallel_robots/talos_like/robot.urdf": 7,
}
"""Degrees of freedom that are left where the rows are independent: those of the robot without its rotors and rods."""

ROWS = {"Weld": 6, "Hinge": 5, "Point": 3, "JointCoupling": 1}


@cache
def looped(name: str) -> Mechanism:
    return load_quietly(model_file(name))


@pytest.mark.parametrize("name", EXPECTED)
def test_the_constraints_of_a_looped_file(name: str) -> None:
    robot = looped(name)
    assert Counter(type(c).__name__ for c in robot.constraints) == EXPECTED[name]
    assert robot.nc == sum(ROWS[kind] * count for kind, count in EXPECTED[name].items())


@pytest.mark.parametrize("name", FREEDOM)
def test_the_degrees_of_freedom_that_a_looped_file_leaves(name: str) -> None:
    robot = looped(name)
    found = robot.mobility(robot.assemble())
    assert found.dof == FREEDOM[name]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["explicit", "implicit"])
@pytest.mark.parametrize("depth", [5, 10, 20, 40])
def test_parallel_chains_have_one_loop_that_takes_one_freedom(kind: str, depth: int) -> None:
    files = sorted((MODELS / GRBDA).glob(f"{kind}_depth{depth}_*.urdf"))
    if not files:
        model_absent(f"no model files {MODELS / GRBDA}/{kind}_depth{depth}_*.urdf")
    assert len(files) == 5
    for file in files:
        robot = load_quietly(file)
        (constraint,) = robot.constraints
        assert robot.nv == 2 * depth + (kind == "implicit")
        assert (type(constraint).__name__, robot.nc) == (("JointCoupling", 1), ("Hinge", 5))[kind == "implicit"]
        assert robot.mobility(robot.neutral()).dof == 2 * depth - 1
        dependent = [joint.name for joint in robot.joints if joint.independent is False]
        assert dependent and set(dependent) <= {joint.name for joint in robot.joints}


def test_a_coupling_sums_over_both_branches() -> None:
    """Loop size 6: three joints on each branch, all of them in the coupling."""
    file = model_file(f"{GRBDA}/explicit_depth5_loop_size6.urdf")
    (coupling,) = load_quietly(file).constraints
    assert isinstance(coupling, lw.constraints.JointCoupling)
    first = {f"joint_1_{k}": -1.0 for k in (1, 2, 3)}
    assert dict(coupling.coefficients) == first | {f"joint_2_{k}": 1.0 for k in (1, 2, 3)}


def test_a_rotor_turns_by_its_gear_ratio() -> None:
    robot = looped("mit_humanoid/mit_humanoid.urdf")
    q = robot.neutral()
    coupling = robot.constraint("right_knee_transmission")
    assert isinstance(coupling, lw.constraints.JointCoupling)
    rotor, knee = sorted(coupling.joints, key=lambda name: "rotor" not in name)
    q[robot.q_index(knee)], q[robot.q_index(rotor)] = 0.1, 1.2
    assert lw.constraint_error(robot, q)[robot.row_slice("right_knee_transmission")] == pytest.approx(0, abs=1e-15)


CLOSED_AT_NEUTRAL = ("grbda_linkages/four_bar.urdf", "grbda_linkages/planar_leg_linkage.urdf")


@pytest.mark.parametrize("name", CLOSED_AT_NEUTRAL)
def test_files_that_are_closed_at_neutral(name: str) -> None:
    robot = looped(name)
    assert np.abs(lw.constraint_error(robot, robot.neutral())).max() < 1e-15


def test_closing_frames_meet_at_neutral_to_the_digits_of_the_file() -> None:
    robot = looped("reachy_mini/robot_no_collision.urdf")
    assert np.abs(lw.constraint_error(robot, robot.neutral())).max() < 1e-6
    assert [c.name for c in robot.constraints] == [f"closing_{k}" for k in range(1, 6)]


def test_closing_frames_are_left_open_when_asked() -> None:
    assert load(model_file("reachy_mini/robot_no_collision.urdf"), loops=False).constraints == ()


# Side files ---------------------------------------------------------------------------------------------

SIDED = [n for n in EXPECTED if n.startswith("example_parallel_robots")]


@pytest.mark.parametrize("name", SIDED)
def test_motors_of_a_loop_file_are_the_actuated_joints(name: str) -> None:
    robot, side = looped(name), find_loop_file(MODELS / name)
    assert side is not None and side.motors is not None
    assert {j.name for j in robot.joints if j.actuated} == set(side.motors)
    assert all(j.actuated is not None for j in robot.joints if j.name != "root_joint")


NEW_TYPES = {
    "example_parallel_robots/digit_like_2legs/robot.urdf": 48,
    "example_parallel_robots/digit_like_2legs_6D/robot.urdf": 48,
}


@pytest.mark.parametrize("name", NEW_TYPES)
def test_joints_of_other_types_are_those_that_pinocchio_builds(name: str) -> None:
    """Joint by joint from Pinocchio's model of the URDF, as the collection's own loader does it."""
    pin = pytest.importorskip("pinocchio")
    robot, side = looped(name), find_loop_file(MODELS / name)
    assert side is not None and robot.nv == NEW_TYPES[name]
    plain, model = pin.buildModelFromUrdf(str(MODELS / name)), pin.Model()
    x, y = np.eye(3)[:2]
    built = {"Spherical": pin.JointModelSpherical(), "Universal": pin.JointModelUniversal(x, y)}
    home = [(0, pin.SE3.Identity())]  # of each joint of the URDF: the joint that carries it, and where
    for k in range(1, plain.njoints):
        other = type(side.types.get(plain.names[k], (None,))[0]).__name__
        at, below = home[plain.parents[k]]
        place = below * plain.jointPlacements[k]
        if other == "Fixed":
            home.append((at, place))
        else:
            at = model.addJoint(at, built.get(other, plain.joints[k]), place, plain.names[k])
            home.append((at, pin.SE3.Identity()))
        model.appendBodyToJoint(at, plain.inertias[k], home[-1][1])
    assert_same_dynamics(robot.unconstrained(), model, 1e-10)


BODY = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
LINKAGE = """<robot name="linkage">
  <link name="base"/>
  <link name="left">BODY</link>
  <link name="right">BODY</link>
  <link name="bar">BODY</link>
  <link name="bar_end"/>
  <link name="right_end"/>
  <joint name="q1" type="continuous"><parent link="base"/><child link="left"/><axis xyz="0 0 1"/></joint>
  <joint name="q2" type="continuous"><parent link="left"/><child link="bar"/><origin xyz="0 1 0"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="q3" type="continuous"><parent link="base"/><child link="right"/><origin xyz="2 0 0"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="e1" type="fixed"><parent link="bar"/><child link="bar_end"/><origin xyz="2 0 0"/></joint>
  <joint name="e2" type="fixed"><parent link="right"/><child link="right_end"/><origin xyz="0 1 0"/></joint>
  <!-- here -->
</robot>
""".replace("BODY", BODY)
"""A parallelogram whose coupler meets the right crank at neutral."""

HERE = "<!-- here -->"
DRAKE = 'xmlns:drake="http://drake.mit.edu"'
LOOP = """<loop name="l" type="{}"><predecessor link="bar"><origin xyz="2 0 0"/></predecessor>
  <successor link="right"><origin xyz="0 1 0"/></successor><axis xyz="0 0 1"/></loop>"""


def linkage(inside: str) -> str:
    return LINKAGE.replace(HERE, inside)


def only(robot: Mechanism) -> Constraint:
    (constraint,) = robot.constraints
    return constraint


def assert_closed_parallelogram(robot: Mechanism) -> None:
    """Closed at neutral, and all along the motion of a parallelogram."""
    for angle in (0.0, 0.3, -1.1):
        q = np.zeros(robot.nq)
        for joint, turn in (("q1", 1), ("q2", -1), ("q3", 1)):
            if joint in robot.joint_names:
                q[robot.q_index(joint)] = turn * angle
        assert np.abs(lw.constraint_error(robot, q)).max() < 1e-15
    q[robot.q_index("q1")] += 0.1
    assert np.abs(lw.constraint_error(robot, q)).max() > 0.05


@pytest.mark.parametrize(
    ("kind", "constraint", "rows"),
    [
        ("revolute", lw.constraints.Hinge, 5),
        ("continuous", lw.constraints.Hinge, 5),
        ("spherical", lw.constraints.Point, 3),
        ("ball", lw.constraints.Point, 3),
    ],
)
def test_a_loop_of_urdf_plus_is_the_constraint_of_its_type(kind: str, constraint: type, rows: int) -> None:
    robot = lw.loads(linkage(LOOP.format(kind)), "urdf")
    assert isinstance(only(robot), constraint) and (robot.nc, only(robot).name) == (rows, "l")
    assert_closed_parallelogram(robot)


@pytest.mark.parametrize(
    ("kind", "constraint", "rows"),
    [
        ("fixed", lw.constraints.Weld, 6),
        ("prismatic", lw.constraints.Slider, 5),
        ("planar", lw.constraints.PlaneOnPlane, 3),
    ],
)
def test_loops_of_other_types(kind: str, constraint: type, rows: int) -> None:
    robot = lw.loads(linkage(LOOP.format(kind)), "urdf")
    assert isinstance(only(robot), constraint) and robot.nc == rows
    assert np.abs(lw.constraint_error(robot, robot.neutral())).max() < 1e-15


def test_the_axis_of_a_loop_stands_in_both_origins() -> None:
    """Turning both origins alike about the axis, or the axis with both, changes nothing."""
    turned = LOOP.format("revolute").replace('xyz="2 0 0"', 'xyz="2 0 0" rpy="1.5707963267948966 0 0"')
    turned = turned.replace('<origin xyz="0 1 0"', '<origin xyz="0 1 0" rpy="1.5707963267948966 0 0"')
    robot = lw.loads(linkage(turned.replace('<axis xyz="0 0 1"/>', '<axis xyz="0 1 0"/>')), "urdf")
    assert_closed_parallelogram(robot)


def test_a_ball_constraint_of_drake_is_a_point() -> None:
    inside = f"""<drake:ball_constraint {DRAKE}><drake:ball_constraint_body_A name="bar"/>
      <drake:ball_constraint_body_B name="right"/><drake:ball_constraint_p_AP value="2 0 0"/>
      <drake:ball_constraint_p_BQ value="0 1 0"/></drake:ball_constraint>"""
    robot = lw.loads(linkage(inside), "urdf")
    assert isinstance(only(robot), lw.constraints.Point)
    assert_closed_parallelogram(robot)


def test_a_link_of_two_parents_closes_a_loop() -> None:
    """The joint of many freedoms is cut: here a ball, drawn as one of Drake's."""
    inside = f"""<drake:joint {DRAKE} name="closing" type="ball"><parent link="right"/><child link="bar_end"/>
      <origin xyz="0 1 0"/></drake:joint>"""
    robot = lw.loads(linkage(inside), "urdf")
    assert isinstance(only(robot), lw.constraints.Point) and only(robot).name == "closing"
    assert_closed_parallelogram(robot)


@pytest.mark.parametrize("frame", ["", "<use_parent_model_frame>1</use_parent_model_frame>"])
def test_a_joint_inside_gazebo_closes_a_loop(frame: str) -> None:
    inside = f"""<gazebo><joint name="closing" type="revolute"><parent>bar</parent><child>right</child>
      <pose>0 1 0 0 0 0</pose><axis><xyz>0 0 1</xyz>{frame}</axis></joint></gazebo>"""
    robot = lw.loads(linkage(inside), "urdf")
    assert isinstance(only(robot), lw.constraints.Hinge)
    carried = {joint.name for joint in robot.joints} | {only(robot).name}
    assert carried == {"q1", "q2", "q3", "closing"}
    assert lw.loads(linkage(inside), "urdf", loops=False).constraints == ()
    q = robot.neutral()
    assert np.abs(lw.constraint_error(robot, q)).max() < 1e-15


def test_closing_frames_are_a_point() -> None:
    text = LINKAGE.replace("bar_end", "closing_a_1").replace("right_end", "closing_a_2")
    robot = lw.loads(text, "urdf")
    assert isinstance(only(robot), lw.constraints.Point) and only(robot).name == "closing_a"
    assert_closed_parallelogram(robot)
    assert lw.loads(text, "urdf", loops=False).constraints == ()


def test_links_that_carry_or_move_are_no_closing_frames() -> None:
    assert lw.loads(LINKAGE.replace("left", "closing_a_1").replace("right", "closing_a_2"), "urdf").constraints == ()
    assert lw.loads(LINKAGE.replace("bar_end", "closing_a_1"), "urdf").constraints == ()


def test_a_coupling_is_the_gear_of_generalized_rbda() -> None:
    inside = '<coupling name="c"><predecessor link="bar"/><successor link="right"/><ratio value="6"/></coupling>'
    coupling = only(lw.loads(linkage(inside), "urdf"))
    assert isinstance(coupling, lw.constraints.JointCoupling)
    assert dict(coupling.coefficients) == {"q3": 1.0, "q1": -6.0, "q2": -6.0}


def test_a_dependent_joint_must_depend_on_something() -> None:
    text = LINKAGE.replace('name="q3" type', 'name="q3" independent="false" type')
    with pytest.raises(UnsupportedFeature, match=r'arm:\d+ <joint name="q3">.*dependent=\'free\''):
        lw.loads(text, "urdf", name="arm")
    free = lw.loads(text, "urdf", dependent="free")
    assert free.constraints == () and free.joint("q3").independent is False
    tied = lw.loads(text.replace(HERE, LOOP.format("revolute")), "urdf")
    assert tied.joint("q3").independent is False and tied.joint("q1").independent is None


PAIR = '<predecessor link="{}"/><successor link="{}"/>'
COUPLING = '<coupling name="c">{}<ratio value="{}"/></coupling>'
BALL = f"""<drake:ball_constraint {DRAKE}><drake:ball_constraint_body_A name="{{}}"/>
  <drake:ball_constraint_body_B name="right"/><drake:ball_constraint_p_AP value="{{}}"/>
  <drake:ball_constraint_p_BQ value="0 0 0"/></drake:ball_constraint>"""
GAZEBO = '<gazebo><joint name="j" type="{}"><parent>bar</parent><child>{}</child>{}</joint></gazebo>'
FLOATING = '<joint name="f" type="floating"><parent link="bar"/><child link="tip"/></joint>'
TIP = f'<link name="tip">{BODY}</link>'


@pytest.mark.parametrize(
    ("inside", "error", "element", "says"),
    [
        (LOOP.format("helical"), UnsupportedFeature, 'loop name="l"', "none of revolute"),
        (LOOP.format("revolute").replace('"right"', '"rite"'), TopologyError, "successor", "no link"),
        (LOOP.format("revolute").replace('"0 0 1"', '"0 0 0"'), ModelError, 'loop name="l"', "zero length"),
        (LOOP.format("revolute").replace("<axis", "<stiffness/><axis"), UnsupportedFeature, "stiffness", "understood"),
        (LOOP.format("revolute").replace('"right"', '"bar_end"'), ModelError, 'loop name="l"', "both part of"),
        (LOOP.format("revolute") * 2, ModelError, 'loop name="l"', "two constraints"),
        ('<loop name="l" type="revolute"/>', ModelError, 'loop name="l"', "needs a <predecessor>"),
        ('<loop name="l"/>', ModelError, 'loop name="l"', "'type' is missing"),
        (COUPLING.format(PAIR.format("bar", "right"), 0), ModelError, 'coupling name="c"', "zero"),
        (COUPLING.format(PAIR.format("bar", "left"), 1), ModelError, 'coupling name="c"', "no joint moves"),
        (COUPLING.format(PAIR.format("bar", "bar_end"), 1), ModelError, 'coupling name="c"', "no joint moves"),
        (COUPLING.format(PAIR.format("bar", "nothing"), 1), TopologyError, "successor", "no link"),
        (COUPLING.format("", 1), ModelError, 'coupling name="c"', "needs a <predecessor>"),
        ('<coupling name="c" type="belt"/>', UnsupportedFeature, 'coupling name="c" type', "'rolling'"),
        (TIP + FLOATING + COUPLING.format(PAIR.format("tip", "right"), 1), UnsupportedFeature, "coupling", "several"),
        (BALL.format("nothing", "0 0 0"), TopologyError, "drake:ball_constraint_body_A", "no link"),
        (BALL.format("bar", "0 0"), ModelError, "drake:ball_constraint_p_AP", "has 2 numbers, needs 3"),
        (BALL.format("bar", ""), ModelError, "drake:ball_constraint_p_AP", "empty"),
        (GAZEBO.format("gearbox", "right", ""), UnsupportedFeature, 'joint name="j"', "gearbox"),
        (GAZEBO.format("ball", "nothing", ""), TopologyError, 'joint name="j"', "no link"),
        (GAZEBO.format("revolute", "right", ""), ModelError, 'joint name="j"', "needs a <axis>"),
        (GAZEBO.format("ball", "right", '<pose relative_to="bar"/>'), UnsupportedFeature, "pose", "child"),
        ('<gazebo><joint:hinge xmlns:joint="x" name="j"/></gazebo>', UnsupportedFeature, "joint:hinge", "loops=False"),
        ('<gazebo><link name="l"/></gazebo>', UnsupportedFeature, 'link name="l"', "adds bodies"),
        ("<gazebo><model/></gazebo>", UnsupportedFeature, "model", "adds bodies"),
        ("<gazebo><include/></gazebo>", UnsupportedFeature, "include", "adds bodies"),
    ],
)
def test_what_is_wrong_with_a_loop_is_said_with_its_place(
    inside: str, error: type[ModelError], element: str, says: str
) -> None:
    with pytest.raises(error, match=re.escape(says)) as caught:
        lw.loads(linkage(inside), "urdf", name="l.urdf")
    assert type(caught.value) is error
    start = linkage("@").split("@")[0].count("\n") + 1
    assert caught.value.line is not None and start <= caught.value.line <= start + inside.count("\n") + 1
    assert (caught.value.element or "").startswith(element.split(" type")[0])


def test_gravity_that_gazebo_turns_off_is_a_warning() -> None:
    inside = '<gazebo reference="bar"><turnGravityOff>true</turnGravityOff></gazebo>'
    with pytest.warns(ModelWarning, match=r"l:\d+ <turnGravityOff>.*'bar'"):
        lw.loads(linkage(inside), "urdf", name="l")


def test_springs_that_gazebo_adds_are_kept() -> None:
    inside = """<gazebo reference="q1"><springStiffness>5</springStiffness><springReference value="0.5"/></gazebo>"""
    robot = lw.loads(linkage(inside), "urdf")
    assert (robot.joint("q1").stiffness[0], robot.joint("q1").rest[0]) == (5, 0.5)


# Side files of our own --------------------------------------------------------------------------------------

SIDE = """closed_loop: [[bar_end, right_end]]
type: ['3d']
name_mot: [q1]
"""


def put(folder: Path, side: str | bytes | None = SIDE, urdf: str = LINKAGE) -> Path:
    file = folder / "linkage.urdf"
    file.write_text(urdf)
    if side is not None:
        (folder / "robot.yaml").write_bytes(side if isinstance(side, bytes) else side.encode())
    return file


def test_a_loop_file_is_found_beside_the_model(tmp_path: Path) -> None:
    robot = load(put(tmp_path))
    assert isinstance(only(robot), lw.constraints.Point)
    assert [robot.joint(name).actuated for name in ("q1", "q2", "q3")] == [True, False, False]
    assert_closed_parallelogram(robot)


def test_a_loop_file_can_be_left_out_or_be_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    file = put(tmp_path)
    assert load(file, loops=False).constraints == ()
    other = tmp_path / "elsewhere" / "loops.yaml"
    other.write_text(SIDE.replace("3d", "6d"))
    robot = load(file, loops=other)
    assert isinstance(only(robot), lw.constraints.Weld)
    assert isinstance(only(lw.loads(LINKAGE, "urdf", loops=str(other))), lw.constraints.Weld)


@pytest.mark.parametrize("side", ["base: &a 1\nother: *a\n", "closed_loop: [[x, y]]\ntype: [6d]\n", "# nothing", ""])
def test_a_robot_yaml_that_speaks_of_something_else_is_passed_over(tmp_path: Path, side: str) -> None:
    assert load(put(tmp_path, side)).constraints == ()


def test_a_loop_file_is_not_looked_for_where_only_a_text_is_given() -> None:
    assert (
        lw.loads(LINKAGE, "urdf", name=str(MODELS / "example_parallel_robots/talos_like/robot.urdf")).constraints == ()
    )


def test_a_loop_file_that_is_a_link_out_of_the_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "robot.yaml").write_text(SIDE)
    file = put(tmp_path / "model", None)
    (tmp_path / "model" / "robot.yaml").symlink_to(tmp_path / "robot.yaml")
    with pytest.raises(ModelError, match="leads out of the folder"):
        load(file)


def test_frames_of_a_loop_file_may_be_joints(tmp_path: Path) -> None:
    robot = load(put(tmp_path, SIDE.replace("bar_end", "e1").replace("right_end", "e2")))
    assert_closed_parallelogram(robot)


@pytest.mark.parametrize(
    ("kind", "type", "axes"),
    [
        ("SPHERICAL", lw.joints.Spherical, None),
        ("UJOINT_XY", lw.joints.Universal, "xy"),
        ("CARDAN", lw.joints.Universal, "xy"),
        ("UJOINT_ZX", lw.joints.Universal, "zx"),
    ],
)
def test_a_loop_file_gives_joints_other_types(tmp_path: Path, kind: str, type: type, axes: str | None) -> None:
    side = SIDE + f"joint_name: [q3]\njoint_type: [{kind}]\n"
    joint = load(put(tmp_path, side)).joint("q3").type
    assert isinstance(joint, type)
    if isinstance(joint, lw.joints.Universal) and axes:
        found = [joint.first, joint.second]
        np.testing.assert_array_equal(found, [np.eye(3)["xyz".index(axis)] for axis in axes])


def test_a_loop_file_fixes_a_joint(tmp_path: Path) -> None:
    robot = load(put(tmp_path, SIDE + "joint_name: [q3]\njoint_type: [FIXED]\n"))
    assert robot.joint_names == ("q1", "q2")


@pytest.mark.parametrize(
    ("side", "error", "line", "says"),
    [
        (SIDE.replace("bar_end", "bar_and"), ModelError, 1, "'bar_and' is neither link nor joint"),
        (SIDE.replace("right_end", "bar"), ModelError, 1, "both part of"),
        (SIDE.replace("3d", "4d"), UnsupportedFeature, 2, "3d, 6d"),
        (SIDE.replace("['3d']", "['3d', '6d']"), ModelError, 1, "1 pairs of frames and 2 types"),
        (SIDE.replace("type: ['3d']\n", ""), ModelError, 1, "0 types"),
        (SIDE.replace("[[bar_end, right_end]]", "[[bar_end]]"), ModelError, 1, "two frames, not 1"),
        (SIDE.replace("[[bar_end, right_end]]", "[bar_end]"), ModelError, 1, "list of pairs"),
        (SIDE.replace("[[bar_end, right_end]]", "bar_end"), ModelError, 1, "is a list"),
        (SIDE.replace("[[bar_end, right_end]]", "[[bar_end, [right_end]]]"), ModelError, 1, "holds names"),
        (SIDE.replace("right_end", "17"), ModelError, 1, "put quotes"),
        (SIDE.replace("right_end", "!weird right_end"), ModelError, 1, "holds names"),
        (SIDE.replace("q1", "q9"), ModelError, 3, "'q9' is no joint"),
        (SIDE + "spring: [1]\n", UnsupportedFeature, 4, "'spring' is none of"),
        (SIDE + "type: ['3d']\n", ModelError, 4, "second time"),
        (SIDE + "joint_name: [q3]\n", ModelError, 4, "0 joint types"),
        (SIDE + "joint_type: [FIXED]\n", ModelError, 4, "0 joint names"),
        (SIDE + "joint_name: [q3]\njoint_type: [FREE]\n", UnsupportedFeature, 5, "SPHERICAL"),
        (SIDE + "joint_name: [q3, q3]\njoint_type: [FIXED, FIXED]\n", ModelError, 4, "twice"),
        (SIDE + "joint_name: [q8]\njoint_type: [FIXED]\n", ModelError, 4, "'q8' is no joint"),
        (SIDE + "joint_name: [e1]\njoint_type: [SPHERICAL]\n", UnsupportedFeature, 4, "not revolute"),
        (SIDE.replace("[q1]", "&a [q1]"), ModelError, 3, "anchors"),
        (SIDE.replace("[q1]", "*a"), ModelError, 3, "anchors"),
        (SIDE + "x: [[\n", ModelError, 5, "not readable"),
        (SIDE.replace("[q1]", "[" * 60 + "]" * 60), ModelError, 3, "too deep"),
        ("- closed_loop\n", ModelError, None, "no list of keys"),
        (b"closed_loop: \xff", ModelError, None, "not readable"),
        ("closed_loop: [" + " " * 300_000 + "]", ModelError, None, "KiB"),
        ("---\nclosed_loop: []\n---\n", ModelError, 3, "not readable"),
    ],
)
def test_what_is_wrong_with_a_loop_file_is_said_with_its_line(
    tmp_path: Path, side: str | bytes, error: type[ModelError], line: int | None, says: str
) -> None:
    with pytest.raises(error, match=re.escape(says)) as caught:
        load(put(tmp_path, side))
    assert type(caught.value) is error
    assert caught.value.file == str(tmp_path / "robot.yaml")
    assert caught.value.line == line


def test_a_joint_that_mimics_keeps_its_type(tmp_path: Path) -> None:
    urdf = LINKAGE.replace('<child link="right"/>', '<child link="right"/><mimic joint="q1"/>')
    with pytest.raises(UnsupportedFeature, match="mimics"):
        load(put(tmp_path, SIDE + "joint_name: [q3]\njoint_type: [SPHERICAL]\n", urdf))
