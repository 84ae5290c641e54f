# SPDX-License-Identifier: BSD-3-Clause
"""Mechanisms: look-ups, configurations, joints that equal each other, composition; and that nothing can be changed."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

import linkwork as lw
from linkwork.mechanism import Mechanism
from linkwork.model.model import Model
from tests.support.states import assert_close, random_state

BOX = lw.Inertia.box(1.5, (0.1, 0.2, 0.3), com=(0.05, -0.1, 0.2))


def dynamics(robot: Mechanism, seed: int = 0) -> np.ndarray:
    """Torques of a random motion: as good as a mechanism's fingerprint."""
    s = random_state(robot, seed)
    return lw.InverseDynamics(robot)(s.q, s.v, s.a)


def chain(*joints: lw.joints.Joint, name: str = "chain") -> Mechanism:
    build = lw.Builder(name)
    for k, joint in enumerate(joints):
        build.body(f"body{k}", BOX)
        at = lw.Placement.rpy(0.1 * k, 0.2, -0.3, position=(0.1, 0.2, 0.3))
        build.joint(f"joint{k}", joint, f"body{k - 1}" if k else "world", f"body{k}", at)
    return build.build()


MIXED = chain(
    lw.joints.Free(),
    lw.joints.Revolute("x"),
    lw.joints.Spherical(),
    lw.joints.Universal(),
    lw.joints.Planar(),
    lw.joints.Prismatic("z"),
)


# Look-ups ------------------------------------------------------------------------------------------


def test_slices_cover_q_and_v_in_the_order_of_joints() -> None:
    qs = [MIXED.q_slice(name) for name in MIXED.joint_names]
    vs = [MIXED.v_slice(name) for name in MIXED.joint_names]
    assert [(s.start, s.stop) for s in qs] == [(0, 7), (7, 8), (8, 12), (12, 14), (14, 18), (18, 19)]
    assert [(s.start, s.stop) for s in vs] == [(0, 6), (6, 7), (7, 10), (10, 12), (12, 15), (15, 16)]
    assert (MIXED.nq, MIXED.nv, MIXED.nc) == (19, 16, 0)


def test_an_index_is_for_joints_of_one_number() -> None:
    assert MIXED.q_index("joint5") == 18
    assert MIXED.v_index("joint5") == 15
    with pytest.raises(lw.errors.InputError, match="joint 'joint2' has 4 coordinates, not one: use q_slice"):
        MIXED.q_index("joint2")
    with pytest.raises(lw.errors.InputError, match="joint 'joint3' has 2 coordinates, not one: use v_slice"):
        MIXED.v_index("joint3")


def test_names_that_are_not_there_get_a_suggestion() -> None:
    with pytest.raises(lw.errors.InputError, match="robot 'chain' has no joint 'jiont3'; did you mean 'joint3'"):
        MIXED.q_slice("jiont3")
    with pytest.raises(lw.errors.InputError, match="robot 'chain' has no frame 'bdoy1'; did you mean 'body1'"):
        MIXED.frame("bdoy1")


def test_joint_k_leads_to_body_k_and_parents_come_first() -> None:
    for seed in range(20):
        robot = lw.zoo.random_tree(seed, bodies=9)
        assert robot.body_names == tuple(joint.child for joint in robot.joints)
        seen = {"world"}
        for joint in robot.joints:
            assert joint.parent in seen
            seen.add(joint.child)


def test_arrays_of_joints_are_ordered_as_v() -> None:
    build = lw.Builder()
    build.body("a", BOX).joint("a", lw.joints.Spherical(), "world", "a", armature=[1, 2, 3], damping=0.5)
    build.body("b", BOX).joint("b", lw.joints.Revolute(), "a", "b", lower=-1, upper=2, velocity=3, effort=4, friction=5)
    robot = build.build()
    assert robot.armature.tolist() == [1, 2, 3, 0]
    assert robot.damping.tolist() == [0.5, 0.5, 0.5, 0]
    assert robot.friction.tolist() == [0, 0, 0, 5]
    assert robot.lower.tolist() == [-np.inf] * 4 + [-1]
    assert robot.upper.tolist() == [np.inf] * 4 + [2]
    assert robot.velocity_limit.tolist() == [np.inf] * 3 + [3]
    assert robot.effort_limit.tolist() == [np.inf] * 3 + [4]


# Configurations ------------------------------------------------------------------------------------


def test_neutral_is_at_rest() -> None:
    expected = [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0]
    assert MIXED.neutral().tolist() == expected


def test_random_is_within_limits() -> None:
    build = lw.Builder()
    build.body("a", BOX).joint("a", lw.joints.Revolute(), "world", "a", lower=0.5, upper=0.75)
    build.body("b", BOX).joint("b", lw.joints.Prismatic(), "a", "b", lower=2.0)
    build.body("c", BOX).joint("c", lw.joints.Revolute(), "b", "c", upper=-3.0)
    robot = build.build()
    for seed in range(200):
        q = robot.random(seed)
        assert (robot.lower <= q).all()
        assert (q <= robot.upper).all()


def test_random_turns_are_of_unit_length_and_positions_within_a_metre() -> None:
    robot = chain(lw.joints.Free(), lw.joints.Spherical(), lw.joints.Planar(), lw.joints.Prismatic("x"))
    found = np.array([robot.random(seed) for seed in range(200)])
    for at in robot.unit_slices():
        np.testing.assert_allclose(np.linalg.norm(found[:, at], axis=-1), 1.0, rtol=1e-15)
    assert np.abs(found[:, :3]).max() <= 1.0
    assert np.abs(found[:, robot.q_slice("joint2")][:, :2]).max() <= 1.0
    assert np.abs(found[:, robot.q_slice("joint3")]).max() <= 1.0


def test_random_is_a_function_of_its_seed() -> None:
    np.testing.assert_array_equal(MIXED.random(3), MIXED.random(3))
    assert not np.array_equal(MIXED.random(3), MIXED.random(4))


@pytest.mark.parametrize(("size", "lead"), [((), ()), (1, (1,)), (5, (5,)), ((2, 3), (2, 3)), (0, (0,))])
def test_random_batches_have_their_size_and_keep_the_limits(size: int | tuple[int, ...], lead: tuple[int, ...]) -> None:
    q = MIXED.random(3, size)
    assert q.shape == (*lead, MIXED.nq)
    assert (q >= MIXED.lower).all() and (q <= MIXED.upper).all()
    np.testing.assert_allclose(MIXED.normalize(q), q, atol=1e-15)
    assert len(np.unique(q.reshape(-1, MIXED.nq), axis=0)) == np.prod(lead, dtype=int)  # no state twice


def test_normalize_changes_lengths_and_nothing_else() -> None:
    q = MIXED.random(1)
    scaled = q.copy()
    for at, length in zip(MIXED.unit_slices(), (2.0, 1e-3, 1e200), strict=True):
        scaled[at] *= length
    assert_close(MIXED.normalize(scaled), q, 1e-15)
    with pytest.raises(lw.errors.InputError, match="zero length"):
        MIXED.normalize(np.zeros(MIXED.nq))


# Nothing changes -----------------------------------------------------------------------------------


def test_a_mechanism_cannot_be_changed() -> None:
    robot = chain(lw.joints.Revolute("x"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        robot.name = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        robot.inertias["body0"] = BOX  # type: ignore[index]
    with pytest.raises(TypeError):
        robot.frames["more"] = robot.frames["world"]  # type: ignore[index]
    for array in (
        *(robot.gravity, robot.inertias["body0"].com, robot.inertias["body0"].rotational),
        *(robot.joints[0].placement.position, robot.joints[0].placement.rotation, robot.joints[0].armature),
        *(robot.joints[0].limits.lower, robot.joints[0].type.axis),  # type: ignore[attr-defined]
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_a_builder_used_again_does_not_change_what_it_built() -> None:
    build = lw.Builder().body("a", BOX).joint("a", lw.joints.Revolute(), "world", "a")
    robot = build.build()
    build.body("b", BOX).joint("b", lw.joints.Revolute(), "a", "b")
    assert robot.nv == 1
    assert build.build().nv == 2


def test_arrays_given_to_a_mechanism_are_copied() -> None:
    axis, position, com = np.array([0, 0, 1.0]), np.zeros(3), np.array([0.1, 0.2, 0.3])
    build = lw.Builder().body("a", lw.Inertia(1.0, com, (1, 1, 1)))
    robot = build.joint("a", lw.joints.Revolute(axis), "world", "a", position).build()
    before = dynamics(robot)
    axis[:], position[:], com[:] = (1, 0, 0), 7.0, 7.0
    np.testing.assert_array_equal(dynamics(robot), before)


def test_gravity_can_be_replaced() -> None:
    robot = chain(lw.joints.Revolute("x"), lw.joints.Revolute("y"))
    weightless = robot.with_gravity((0, 0, 0))
    assert lw.gravity_forces(weightless, robot.random(0)).tolist() == [0, 0]
    assert robot.gravity.tolist() == [0, 0, -9.81]
    with pytest.raises(lw.errors.InputError, match="gravity holds NaN or infinity"):
        robot.with_gravity((0, 0, np.nan))


# Joints that are each other ------------------------------------------------------------------------


def test_a_universal_joint_is_two_revolutes() -> None:
    first, second = np.array([1.0, 2.0, 3.0]), np.array([-1.0, 0.5, 0.2])
    build = lw.Builder().body("cross").joint("first", lw.joints.Revolute(first), "world", "cross", (1, 2, 3))
    build.body("body0", BOX).joint("second", lw.joints.Revolute(second), "cross", "body0")
    whole = (
        lw.Builder().body("body0", BOX).joint("both", lw.joints.Universal(first, second), "world", "body0", (1, 2, 3))
    )
    assert_close(dynamics(whole.build()), dynamics(build.build()), 1e-14)


def test_a_helical_joint_without_pitch_is_revolute() -> None:
    assert_close(
        dynamics(chain(lw.joints.Helical((1, 2, 3), 0.0))), dynamics(chain(lw.joints.Revolute((1, 2, 3)))), 1e-14
    )


def test_a_reversed_axis_reverses_the_joint() -> None:
    one, other = chain(lw.joints.Revolute((1, 2, 3))), chain(lw.joints.Revolute((-1, -2, -3)))
    s = random_state(one, 0)
    ours, theirs = lw.InverseDynamics(one)(s.q, s.v, s.a), lw.InverseDynamics(other)(-s.q, -s.v, -s.a)
    assert_close(ours, -theirs, 1e-14)


@pytest.mark.parametrize("axis", ["x", "y", "z", "-x", "-y", "-z"])
def test_an_axis_by_name_is_the_vector(axis: str) -> None:
    vector = np.zeros(3)
    vector["xyz".index(axis[-1])] = -2.0 if axis[0] == "-" else 2.0
    np.testing.assert_array_equal(lw.joints.Revolute(axis).axis, lw.joints.Revolute(vector).axis)


# Composition ---------------------------------------------------------------------------------------


def test_a_scene_of_parts_has_a_block_diagonal_mass_matrix() -> None:
    left, right = lw.zoo.random_tree(1, bodies=4), lw.zoo.random_tree(2, bodies=3)
    scene = lw.compose({"left": left, "right": right}, at={"right": (1, 2, 3)})
    p, q = left.random(0), right.random(0)
    M = lw.mass_matrix(scene, np.concatenate([p, q]))
    n = left.nv
    assert_close(M[:n, :n], lw.mass_matrix(left, p), 1e-14)
    assert_close(M[n:, n:], lw.mass_matrix(right, q), 1e-14)
    assert not M[:n, n:].any()
    assert scene.joint_names[0] == f"left/{left.joint_names[0]}"
    assert "right/frame0" in scene.frame_names


def test_placing_a_part_moves_its_frames() -> None:
    part = chain(lw.joints.Revolute("x"))
    there = lw.Placement.rpy(0.3, 0.2, 0.1, position=(1, 2, 3))
    scene = lw.compose({"part": part}, at={"part": there})
    pose = lw.frame_placement(part, [0.4], "body0")
    expected = there * lw.Placement(pose.position, pose.rotation)
    found = lw.frame_placement(scene, [0.4], "part/body0")
    assert_close(found.position, expected.position, 1e-14)
    assert_close(found.rotation, expected.rotation, 1e-14)


def test_attaching_equals_building_by_hand() -> None:
    arm, hand = (
        chain(lw.joints.Revolute("x"), lw.joints.Revolute("y")),
        chain(lw.joints.Spherical(), lw.joints.Prismatic("z"), name="hand"),
    )
    together = lw.attach(arm, hand, to="body1", at=(0.1, 0.0, 0.2))
    build = lw.Builder().add_mechanism(arm)
    for k, joint in enumerate(hand.joints):
        build.body(f"hand{k}", BOX)
        start = lw.Placement((0.1, 0.0, 0.2)) if k == 0 else lw.Placement()
        build.joint(f"hand{k}", joint.type, f"hand{k - 1}" if k else "body1", f"hand{k}", start * joint.placement)
    assert together.joint_names == ("joint0", "joint1", "hand/joint0", "hand/joint1")
    assert_close(dynamics(together), dynamics(build.build()), 1e-14)


def test_attaching_to_a_frame_stands_there() -> None:
    build = lw.Builder("arm").body("a", BOX).joint("a", lw.joints.Revolute("x"), "world", "a")
    arm = build.frame("flange", on="a", at=lw.Placement.rpy(0.1, 0.2, 0.3, position=(0, 0, 0.5))).build()
    hand = chain(lw.joints.Revolute("z"))
    on_frame = lw.attach(arm, hand, to="flange", prefix="h")
    on_body = lw.attach(arm, hand, to="a", at=arm.frame("flange").placement, prefix="h")
    assert_close(dynamics(on_frame), dynamics(on_body), 1e-14)


def test_parts_of_different_gravity_cannot_be_joined() -> None:
    earth, moon = (
        chain(lw.joints.Revolute("x")),
        chain(lw.joints.Revolute("x"), name="rover").with_gravity((0, 0, -1.62)),
    )
    with pytest.raises(lw.errors.ModelError, match="'rover' has gravity"):
        lw.compose({"a": earth, "b": moon})
    with pytest.raises(lw.errors.ModelError, match="gravity"):
        lw.attach(earth, moon, to="body0")


def test_compose_names_what_it_cannot_place() -> None:
    with pytest.raises(lw.errors.InputError, match="at least one"):
        lw.compose({})
    with pytest.raises(lw.errors.InputError, match="'lfet', which is not a part; the parts are: left"):
        lw.compose({"left": MIXED}, at={"lfet": (0, 0, 0)})
    with pytest.raises(lw.errors.InputError, match="no frame 'nowhere'"):
        lw.attach(MIXED, MIXED, to="nowhere")


def test_several_roots_fall_independently() -> None:
    build = lw.Builder("scene")
    for name in ("a", "b", "c"):
        build.body(name, BOX).joint(name, lw.joints.Free(), "world", name)
    scene = build.build()
    s = random_state(scene, 0)
    a = lw.ForwardDynamics(scene)(s.q, s.v, s.tau).acceleration
    alone = lw.Builder().body("b", BOX).joint("b", lw.joints.Free(), "world", "b").build()
    expected = lw.ForwardDynamics(alone)(s.q[7:14], s.v[6:12], s.tau[6:12]).acceleration
    assert_close(a[6:12], expected, 1e-14)


# New mechanisms from old ones ----------------------------------------------------------------------


def assert_same_place(found: lw.Placement, expected: lw.Placement) -> None:
    np.testing.assert_allclose(found.position, expected.position, atol=1e-15)
    np.testing.assert_allclose(found.rotation, expected.rotation, atol=1e-15)


def test_a_frame_is_added_where_the_builder_would_put_it() -> None:
    place = lw.Placement.rpy(0.3, -0.2, 0.9, position=(0.1, 0.2, 0.3))
    build = lw.Builder("b")
    build.body("arm", lw.Inertia.box(1, (1, 1, 1))).body("plate", lw.Inertia.box(1, (1, 1, 1)))
    build.joint("j", lw.joints.Revolute("x"), "world", "arm", at=(0, 0, 1), child_at=(0.2, 0, 0))
    build.joint("k", lw.joints.Fixed(), "arm", "plate", at=place)
    before = build.build()
    for body in ("arm", "plate", "world"):
        build.frame(f"on_{body}", on=body, at=place)
        found = before.with_frame(f"on_{body}", body, place).frame(f"on_{body}")
        expected = build.build().frame(f"on_{body}")
        assert found.body == expected.body
        assert_same_place(found.placement, expected.placement)
    assert "on_arm" not in before.frames
    twice = before.with_frame("a", "plate", (1, 0, 0)).with_frame("b", "a", (0, 1, 0))
    once = before.with_frame("b", "plate", (1, 1, 0))
    assert_same_place(twice.frame("b").placement, once.frame("b").placement)


def test_a_frame_that_cannot_be_added_is_an_input_error() -> None:
    robot = lw.zoo.pendulum(2)
    name = robot.body_names[0]
    with pytest.raises(lw.errors.InputError, match=f"has a frame '{name}' already"):
        robot.with_frame(name, "world")
    with pytest.raises(lw.errors.InputError, match="needs a name"):
        robot.with_frame("", "world")
    with pytest.raises(lw.errors.InputError, match="has no frame 'nowhere'"):
        robot.with_frame("f", "nowhere")


def test_joints_are_driven_by_name_or_by_motors() -> None:
    robot = lw.zoo.pendulum(3)
    first, second, third = robot.joint_names
    driven = robot.with_actuators(first, lw.actuators.Actuator("big", third, (5.0,), (-1.0, 1.0)))
    assert [(a.name, a.joint, a.gear) for a in driven.actuators] == [(first, first, (1.0,)), ("big", third, (5.0,))]
    assert [j.actuated for j in driven.joints] == [True, None, True]
    assert robot.actuators == () and all(j.actuated is None for j in robot.joints)
    more = driven.with_actuators(second)
    assert [a.name for a in more.actuators] == [first, "big", second]
    q, v = robot.random(0), np.zeros(3)
    tau = lw.InverseDynamics(more, method="actuated")(q, v, v)
    np.testing.assert_allclose(tau, lw.gravity_forces(robot, q), atol=1e-12)


def test_motors_that_cannot_be_are_errors() -> None:
    robot = lw.zoo.humanoid()
    with pytest.raises(lw.errors.ModelError, match="drives joint 'nothing', which does not move"):
        robot.with_actuators("nothing")
    free = robot.joint_names[0]
    with pytest.raises(
        lw.errors.ModelError, match=f"actuator '{free}' has 1 gear, joint '{free}' 6 degrees of freedom"
    ):
        robot.with_actuators(free)
    knee = next(j.name for j in robot.joints if j.type.nv == 1)
    with pytest.raises(lw.errors.InputError, match=f"two actuators are called '{knee}'"):
        robot.with_actuators(knee, knee)
    with pytest.raises(lw.errors.InputError, match="3 is neither an Actuator nor the name of a joint"):
        robot.with_actuators(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "says"),
    [
        ("gravity", r"robot\.with_gravity\(\.\.\.\) gives a new one"),
        ("frames", "with_frame"),
        ("actuators", "with_actuators"),
        ("constraints", r"constrained.*switched"),
        ("poses", r"dataclasses\.replace\(robot, poses=\.\.\.\)"),
        ("name", r"dataclasses\.replace\(robot, name=\.\.\.\)"),
        ("damping", r"dataclasses\.replace\(robot, joints=\.\.\.\), damping being a field of each of robot\.joints"),
        ("effort_limit", r"effort_limit being a field of each"),
        ("color", "does not change$"),
    ],
)
def test_assigning_to_a_mechanism_says_what_makes_a_new_one(field: str, says: str) -> None:
    robot = lw.zoo.pendulum(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot assign to '{field}': .*{says}"):
        setattr(robot, field, (0, 0, 0))
    assert robot.gravity.tolist() == [0, 0, -9.81]


def test_a_name_that_a_robot_has_not_is_a_key_error_without_quotes() -> None:
    with pytest.raises(KeyError) as caught:
        lw.zoo.pendulum(1).frames["nothing"]
    assert isinstance(caught.value, lw.errors.UnknownName) and isinstance(caught.value, lw.errors.InputError)
    assert str(caught.value).startswith("robot '")
    assert "nothing" not in lw.zoo.pendulum(1).frames and lw.zoo.pendulum(1).frames.get("nothing") is None


# What users hold ------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*has no <inertial>")
def test_everything_that_makes_a_robot_makes_a_mechanism() -> None:
    made = [getattr(lw.zoo, name) for name in ("pendulum", "four_bar", "delta", "jansen", "humanoid", "swimmer")]
    robots = [make() for make in made]
    robots += [lw.compose({"a": robots[0], "b": robots[1]}), lw.attach(robots[4], robots[0], robots[4].body_names[-1])]
    urdf = "<robot name='r'><link name='a'/></robot>"
    mjcf = "<mujoco><worldbody><body name='a'><geom size='1'/><joint/></body></worldbody></mujoco>"
    sdf = "<sdf version='1.9'><model name='m'><link name='a'/></model></sdf>"
    robots += [lw.loads(text, format=kind) for kind, text in (("urdf", urdf), ("mjcf", mjcf), ("sdf", sdf))]
    assert [type(robot) for robot in robots] == [lw.Mechanism] * len(robots)


def test_what_is_made_of_a_mechanism_is_one() -> None:
    robot = lw.zoo.four_bar()
    loop, joint = robot.constraints[0].name, robot.joint_names[0]
    others = [
        pickle.loads(pickle.dumps(robot)),
        dataclasses.replace(robot, name="other"),
        robot.constrained(lw.constraints.JointLock(joint)),
        robot.constrained(lw.constraints.JointLock(joint), at=robot.poses["assembled"]),
        robot.unconstrained(),
        robot.switched({loop: False}),
        robot.with_frame("eye", robot.body_names[0]),
        robot.with_actuators(joint),
        robot.with_gravity((0, 0, 0)),
    ]
    assert [type(other) for other in others] == [lw.Mechanism] * len(others)
    for other in others:
        with pytest.raises(dataclasses.FrozenInstanceError, match="a mechanism does not change"):
            other.name = "new"


def test_a_model_becomes_a_mechanism() -> None:
    robot = lw.zoo.four_bar()
    model = Model(**{f.name: getattr(robot, f.name) for f in dataclasses.fields(Model) if f.init})
    lifted = lw.Mechanism.of(model)
    assert type(lifted) is lw.Mechanism and "Model" not in lw.__all__
    assert (lifted.nq, lifted.nc, lifted.joint_names) == (model.nq, model.nc, model.joint_names)
    q = robot.poses["assembled"]
    np.testing.assert_array_equal(lw.mass_matrix(lifted, q), lw.mass_matrix(model, q))
