# SPDX-License-Identifier: BSD-3-Clause
"""Joints locked away: what moves has the dynamics that the whole robot has where the others stand still."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.mechanism import Mechanism
from linkwork.model.joint_placement import joint_placement
from tests.support.catalog import SEEDS, bound
from tests.support.robots import load, pinocchio_model, to_pinocchio
from tests.support.states import Floats, assert_close


def parts(robot: Mechanism, small: Mechanism) -> tuple[Floats, Floats, Floats]:
    """Where in q, v and rows of the whole robot the reduced one has its own."""
    joints, rows = small.joint_names, [c.name for c in small.constraints]
    return (
        np.concatenate([np.arange(robot.nq)[robot.q_slice(name)] for name in joints]),
        np.concatenate([np.arange(robot.nv)[robot.v_slice(name)] for name in joints]),
        np.concatenate([np.zeros(0, int), *(np.arange(robot.nc)[robot.row_slice(name)] for name in rows)]).astype(int),
    )


def check(robot: Mechanism, small: Mechanism, q: Floats, seed: int) -> None:
    """Compare all that both have at ``q``, the locked joints standing still."""
    in_q, in_v, in_rows = parts(robot, small)
    v = np.zeros(robot.nv)
    v[in_v] = np.random.default_rng(seed).normal(size=len(in_v))
    own_q, own_v = q[in_q], v[in_v]
    assert_close(lw.mass_matrix(small, own_q), lw.mass_matrix(robot, q)[np.ix_(in_v, in_v)], 1e-12)
    assert_close(lw.bias_forces(small, own_q, own_v), lw.bias_forces(robot, q, v)[in_v], 1e-11)
    names = robot.frame_names
    ours, theirs = lw.frame_placement(small, own_q, names), lw.frame_placement(robot, q, names)
    assert_close(ours.position, theirs.position, 1e-12, scale=1.0)
    assert_close(ours.rotation, theirs.rotation, 1e-12)
    if small.nc:
        assert_close(lw.constraint_error(small, own_q), lw.constraint_error(robot, q)[in_rows], 1e-11, scale=1.0)
        J = lw.constraint_jacobian(robot, q)[np.ix_(in_rows, in_v)]
        assert_close(lw.constraint_jacobian(small, own_q), J, 1e-11, scale=1.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_constraint_kind(seed: int) -> None:
    robot = bound(seed).unconstrained("com", "com of some")
    rng = np.random.default_rng([seed, 5])
    q = robot.normalize(robot.random(seed))
    for share in (0.2, 0.5):
        locked = [name for name in robot.joint_names if rng.random() < share][:-1]
        while True:
            try:
                small = robot.reduced(locked, q=q)
                break
            except lw.errors.InputError as error:  # random frames do not meet
                assert "no joint moves" in str(error)
                robot = robot.unconstrained(str(error).split("'")[1])
        assert small.nv == robot.nv - sum(robot.joint(name).type.nv for name in locked)
        check(robot, small, q, seed)


@pytest.mark.parametrize("locked", [["a"], ["c"], ["a", "b"], ["a", "c"], ["c", "d"], ["b", "d"], ["d", "e"]])
def test_tendons_that_follow_keep_what_locked_joints_add(locked: list[str]) -> None:
    b = lw.Builder("arm")
    for parent, name in zip(["world", *"abcd"], "abcde", strict=True):
        b.body(name, lw.Inertia.box(1.0, (0.1, 0.2, 0.3))).joint(
            name, lw.joints.Revolute("z"), parent, name, (0.3, 0.1, 0.0)
        )
    b.frame("hook", "world", (0.2, -0.4, 0.0)).frame("tip", "e", (0.3, 0.0, 0.1))
    pair, other = (
        lw.tendons.Tendon("pair", {"a": 0.7, "b": -0.4}),
        lw.tendons.Tendon("other", {"c": 1.1, "d": 0.6}, offset=0.2),
    )
    rope = lw.tendons.Tendon("rope", path=("hook", "tip"))
    robot = b.build().constrained(
        lw.constraints.TendonCoupling(pair, other, (0.1, 0.5, 0.3, -0.2), 0.1, -0.3, name="by joints"),
        lw.constraints.TendonCoupling(rope, pair, (0.1, 0.5, 0.3), name="rope"),
        lw.constraints.TendonCoupling(other, rope, (0.1, 0.5, 0.3), name="rope leads"),
    )
    q = np.random.default_rng(3).normal(size=5)
    if {"c", "d"} <= set(locked):
        with pytest.raises(lw.errors.InputError, match="'other', which follows, are locked"):
            robot.reduced(locked, q=q)
        robot = robot.unconstrained("rope leads")
    check(robot, robot.reduced(locked, q=q), q, 0)


@pytest.mark.parametrize("name", ["ur5", "solo12", "talos"])
def test_against_pinocchio(name: str) -> None:
    pin = pytest.importorskip("pinocchio")
    robot, model = load(name), pinocchio_model(name)
    q = robot.normalize(robot.random(1))
    locked = list(robot.joint_names[-1:1:-2])
    small = robot.reduced(locked, q=q)
    theirs = pin.buildReducedModel(model, [model.getJointId(j) for j in locked], to_pinocchio(robot, model, q))
    own = q[parts(robot, small)[0]]
    M = pin.crba(theirs, theirs.createData(), to_pinocchio(small, theirs, own))
    assert_close(np.linalg.eigvalsh(lw.mass_matrix(small, own)), np.linalg.eigvalsh(M), 1e-10)


def test_a_locked_loop_is_left_out_and_an_open_one_refused() -> None:
    robot = lw.zoo.four_bar()
    q = robot.assemble()
    still = robot.reduced(robot.joint_names[:-1], q=q)
    assert (still.nv, still.nc) == (1, robot.nc)  # the last bar still has its end held
    held = robot.reduced(robot.joint_names, q=q)
    assert (held.nv, held.nc) == (0, 0)
    with pytest.raises(lw.errors.InputError, match=r"no joint moves .* error is"):
        robot.reduced({name: 0.3 * k for k, name in enumerate(robot.joint_names, 1)})


def test_a_locked_base_and_its_motors() -> None:
    robot = lw.zoo.humanoid()
    base = robot.joint_names[0]
    fixed = robot.reduced([base])
    assert fixed.nv == robot.nv - 6
    check(robot, fixed, robot.neutral(), 0)
    driven = lw.zoo.four_bar()
    motor = driven.with_actuators(driven.joint_names[0])
    assert motor.reduced([driven.joint_names[0]], q=driven.assemble()).actuators == ()


def test_a_servo_on_two_joints_keeps_its_length() -> None:
    robot = lw.zoo.random_tree(1, bodies=3, kinds="r")
    first, second, _ = robot.joint_names
    servo = lw.actuators.Actuator(
        "servo", first, (2.0,), gain=(5.0, 0.5, 0.0), bias=(0.1, -5.0, -1.0), also=((second, 3.0),)
    )
    robot = robot.with_actuators(servo)
    small = robot.reduced({first: 0.4})
    q, v, u = np.array([0.4, -0.2, 0.3]), np.array([0.0, 0.5, -0.1]), [0.7]
    assert_close(
        lw.actuators.actuator_torques(small, q[1:], v[1:], u), lw.actuators.actuator_torques(robot, q, v, u)[1:], 1e-14
    )


def test_what_a_locked_follower_leaves_of_a_line_is_a_line() -> None:
    robot = lw.zoo.pendulum(2)
    first, second = robot.joint_names
    line = lw.constraints.PolynomialCoupling(
        first, second, coefficients=(0.1, -0.5), leader_origin=0.2, follower_origin=0.3
    )
    robot = robot.constrained(line)
    held = robot.reduced({first: 0.7})
    q = np.array([0.7, 0.9])
    assert_close(lw.constraint_error(held, q[1:]), lw.constraint_error(robot, q), 1e-14)
    assert_close(lw.constraint_jacobian(held, q[1:]), lw.constraint_jacobian(robot, q)[:, 1:], 1e-14)
    back = lw.loads(held.to_text("mjcf"))  # which has no equality for any function
    assert_close(lw.constraint_jacobian(back, q[1:]), lw.constraint_jacobian(held, q[1:]), 1e-14)


def test_joint_placements_are_those_of_kernels() -> None:
    rng = np.random.default_rng(3)
    for joint in (
        lw.joints.Helical((1, 2, 2), 0.3),
        lw.joints.Planar((2, 1, 2)),
        lw.joints.Universal("x", (0, 1, 1)),
        lw.joints.Free(),
        lw.joints.Spherical(),
    ):
        robot = lw.Builder("one").body("b", lw.zoo.random_inertia(rng)).joint("j", joint, "world", "b").build()
        q = robot.random(1)
        place = joint_placement(joint, q)
        seen = lw.frame_placement(robot, q, "b")
        assert_close(place.rotation, seen.rotation, 1e-14)
        assert_close(place.position, seen.position, 1e-14, scale=1.0)


def test_bad_calls() -> None:
    robot = lw.zoo.four_bar()
    first = robot.joint_names[0]
    with pytest.raises(lw.errors.InputError, match="needs a list of joints"):
        robot.reduced(first)
    with pytest.raises(lw.errors.UnknownName):
        robot.reduced(["nothing"])
    with pytest.raises(lw.errors.InputError, match="needs 1 finite"):
        robot.reduced({first: [1.0, 2.0]})
    with pytest.raises(lw.errors.InputError, match="both were given"):
        robot.reduced({first: 1.0}, q=robot.neutral())


@pytest.mark.parametrize("armature", [0.0, 0.1])
def test_a_body_goes_with_all_joints_that_move_it(armature: float) -> None:
    """Several joints of a body in MJCF have bodies without mass between them."""
    rod = '<geom type="capsule" fromto="0 0 0 .3 0 .1" size=".03"/>'
    robot = lw.loads(f"""<mujoco><default><joint armature="{armature}"/></default><worldbody>
      <body name="a"><joint name="shoulder"/>{rod}<body name="b"><joint name="x" axis="1 0 0"/><joint name="y"/>
        <joint name="z" axis="0 1 0"/>{rod}<body name="c"><joint name="wrist"/>{rod}</body></body></body>
      </worldbody></mujoco>""")
    assert robot.without_bodies("b").joint_names == ("shoulder",)
    assert robot.without_bodies("c").joint_names == ("shoulder", "x", "y", "z")
