# SPDX-License-Identifier: BSD-3-Clause
"""Mechanisms with constraints, put together: each part is bound as before, and the world goes where the part stands."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.mechanism import Mechanism
from linkwork.plans.loops import loops_of
from tests.support.catalog import NAMES, SEEDS, bound, constraints, free_tree, meets
from tests.support.states import Floats, assert_close, random_state

BOX = lw.Inertia.box(1.5, (0.1, 0.2, 0.3), com=(0.05, -0.1, 0.2))
SHIFTED = lw.Placement((3.0, -2.0, 1.0))
TURNED = lw.Placement.rpy(0.3, -1.1, 2.0, position=(0.7, 0.2, -0.4))

OF_WORLD = ("com", "com of some", "aligned")
"""Constraints that refer to the world and do not move with a part."""


def part(seed: int) -> Mechanism:
    """All constraints but those that refuse another world."""
    return bound(seed).unconstrained(*OF_WORLD)


def assert_bound_alike(whole: Mechanism, prefix: str, single: Mechanism, q: Floats, own: Floats, v: Floats) -> None:
    """Errors, J and bias of a part of the whole are its own; J has nothing elsewhere."""
    V = np.zeros(whole.nv)
    for joint in single.joint_names:
        V[whole.v_slice(f"{prefix}/{joint}")] = v[single.v_slice(joint)]
    errors, J, bias = lw.constraint_error(whole, q), lw.constraint_jacobian(whole, q), lw.constraint_bias(whole, q, V)
    own_errors, own_J, own_bias = (
        *(lw.constraint_error(single, own), lw.constraint_jacobian(single, own)),
        lw.constraint_bias(single, own, v),
    )
    columns = [k for joint in single.joint_names for k in range(whole.nv)[whole.v_slice(f"{prefix}/{joint}")]]
    others = np.setdiff1d(np.arange(whole.nv), columns)
    for constraint in single.constraints:
        there, here = whole.row_slice(f"{prefix}/{constraint.name}"), single.row_slice(constraint.name)
        assert_close(errors[there], own_errors[here], 1e-13, scale=1.0)
        assert_close(J[there][:, columns], own_J[here], 1e-13, scale=1.0)
        assert_close(bias[there], own_bias[here], 1e-12, scale=10.0)
        np.testing.assert_array_equal(J[there][:, others], 0.0)
        np.testing.assert_array_equal(whole.constraint(f"{prefix}/{constraint.name}").compliance, constraint.compliance)
        assert whole.constraint(f"{prefix}/{constraint.name}").gains == constraint.gains


def joined(whole: Mechanism, parts: dict[str, tuple[Mechanism, Floats]]) -> Floats:
    q = whole.neutral()
    for key, (robot, own) in parts.items():
        for joint in robot.joint_names:
            q[whole.q_slice(f"{key}/{joint}")] = own[robot.q_slice(joint)]
    return q


@pytest.mark.parametrize("place", [lw.Placement(), SHIFTED, TURNED], ids=["there", "shifted", "turned"])
@pytest.mark.parametrize("seed", SEEDS)
def test_parts_of_a_scene_are_bound_as_before(seed: int, place: lw.Placement) -> None:
    """Pairs on the world among them: the world of a part goes where the part stands."""
    parts = {"left": part(seed), "right": part((seed + 1) % len(SEEDS))}
    scene = lw.compose(parts, at={"right": place})
    states = {key: random_state(robot, seed) for key, robot in parts.items()}
    q = joined(scene, {key: (robot, states[key].q) for key, robot in parts.items()})
    assert scene.nc == sum(robot.nc for robot in parts.values())
    for key, robot in parts.items():
        assert_bound_alike(scene, key, robot, q, states[key].q, states[key].v)


@pytest.mark.parametrize("name", ["com", "com of some", "aligned"])
@pytest.mark.parametrize("seed", SEEDS)
def test_what_refers_to_the_world_stays_with_a_part_that_only_shifts(seed: int, name: str) -> None:
    """A center of mass is that of the part, not of the scene, and its target moves along."""
    single = free_tree(seed).constrained(next(c for c in constraints(seed) if c.name == name))
    scene = lw.compose({"one": single, "two": lw.zoo.pendulum(2)}, at={"one": SHIFTED})
    s = random_state(single, seed)
    assert_bound_alike(scene, "one", single, joined(scene, {"one": (single, s.q)}), s.q, s.v)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_centre_of_mass_turns_with_its_part(seed: int) -> None:
    single = free_tree(seed).constrained(next(c for c in constraints(seed) if c.name == "com"))
    scene = lw.compose({"one": single, "two": lw.zoo.pendulum(2)}, at={"one": TURNED})
    s = random_state(single, seed)
    assert_bound_alike(scene, "one", single, joined(scene, {"one": (single, s.q)}), s.q, s.v)


def test_velocities_in_the_worlds_axes_do_not_turn_with_a_part() -> None:
    single = free_tree(0).constrained(next(c for c in constraints(0) if c.name == "aligned"))
    with pytest.raises(lw.errors.ModelError, match="the world's axes, would turn: add it to the composed mechanism"):
        lw.compose({"one": single}, at={"one": TURNED})


# Attached --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_constraints_of_an_attached_part_bind_it_to_what_it_stands_on(seed: int) -> None:
    """What was bound to the world is bound to the body that the part stands on, and knows nothing of its motion.

    But where points that should meet are apart: the gap turns with the base.
    """
    base = lw.zoo.random_tree(seed, bodies=3, kinds="frs")
    single = part(seed)
    whole = lw.attach(base, single, to="frame1", at=TURNED, prefix="on")
    assert whole.joint("on/" + next(j.name for j in single.joints if j.parent == "world")).parent == "body1"
    s, b = random_state(single, seed), random_state(base, seed)
    q = joined(whole, {"on": (single, s.q)})
    for joint in base.joint_names:
        q[whole.q_slice(joint)] = b.q[base.q_slice(joint)]
    assert_close(lw.constraint_error(whole, q), lw.constraint_error(single, s.q), 1e-13, scale=1.0)
    J, own = lw.constraint_jacobian(whole, q), lw.constraint_jacobian(single, s.q)
    columns = [k for joint in single.joint_names for k in range(whole.nv)[whole.v_slice(f"on/{joint}")]]
    assert_close(J[:, columns], own, 1e-13, scale=1.0)
    below = np.setdiff1d(np.arange(whole.nv), columns)
    for constraint in single.constraints:
        rows = J[whole.row_slice(f"on/{constraint.name}")]
        kept = rows[: -3 if meets(constraint) else None]
        if constraint.name != "local":
            assert_close(kept[:, below], np.zeros((len(kept), len(below))), 1e-13, scale=1.0)


def test_an_attached_pair_on_the_world_names_the_body_it_stands_on() -> None:
    gripper = lw.zoo.pendulum(2).constrained(lw.constraints.Point("tip", "world", name="hold", second_at=(0, 0, -1)))
    arm = lw.Builder("arm").body("a", BOX).joint("j", lw.joints.Revolute("y"), "world", "a", (0, 0, 1), (0, 0, 0.1))
    whole = lw.attach(arm.frame("flange", on="a", at=(0.5, 0, 0)).build(), gripper, to="flange", prefix="g")
    hold = whole.constraint("g/hold")
    assert (hold.first, hold.second) == ("g/tip", "a")
    assert_close(hold.second_at.position, np.array([0.5, 0, -1.0]), 1e-14)
    assert loops_of(whole).loops[0].support == ("g/joint0", "g/joint1")


@pytest.mark.parametrize("name", ["com", "aligned"])
def test_what_refers_to_the_world_cannot_stand_on_a_body(name: str) -> None:
    single = free_tree(0).constrained(next(c for c in constraints(0) if c.name == name))
    with pytest.raises(lw.errors.ModelError, match="to the composed mechanism"):
        lw.attach(lw.zoo.pendulum(2), single, to="tip", prefix="on")


def test_constraints_of_the_base_stay_as_they_are() -> None:
    base = part(1)
    whole = lw.attach(base, lw.zoo.pendulum(2), to="frame1", prefix="on")
    s = random_state(base, 0)
    q = whole.neutral()
    for joint in base.joint_names:
        q[whole.q_slice(joint)] = s.q[base.q_slice(joint)]
    assert [c.name for c in whole.constraints] == [name for name in NAMES if name not in OF_WORLD]
    assert_close(lw.constraint_error(whole, q), lw.constraint_error(base, s.q), 1e-13)


# Through the builder -----------------------------------------------------------------------------------


def test_a_scene_takes_constraints_between_its_parts() -> None:
    arm = lw.zoo.pendulum(2)
    scene = lw.compose({"left": arm, "right": arm}, at={"right": (1.0, 0, 0)})
    held = scene.constrained(lw.constraints.Point("left/tip", "right/tip"))
    assert_close(lw.constraint_error(held, np.zeros(4)), np.array([1.0, 0, 0]), 1e-15)
    q = held.assemble()
    ends = [lw.frame_placement(held, q, f"{side}/tip").position for side in ("left", "right")]
    assert_close(ends[0], ends[1], 1e-11)


def test_two_parts_of_one_name_need_a_prefix() -> None:
    robot = lw.zoo.pendulum(1).constrained(lw.constraints.JointLock("joint0"))
    build = lw.Builder().add_mechanism(robot)
    with pytest.raises(lw.errors.ModelError, match="two bodies are called 'link0'"):
        build.add_mechanism(robot)


def test_actuators_poses_and_switches_go_with_their_parts() -> None:
    build = lw.Builder("motor").body("a", BOX).joint("j", lw.joints.Revolute("y"), "world", "a").actuator("m", "j", 3.0)
    single = build.constrain(lw.constraints.JointLock("j", name="lock", enabled=False)).pose("up", {"j": 0.7}).build()
    scene = lw.compose({"one": single, "two": single.switched({"lock": True})})
    assert [(a.name, a.joint, a.gear) for a in scene.actuators] == [
        ("one/m", "one/j", (3.0,)),
        ("two/m", "two/j", (3.0,)),
    ]
    assert [c.enabled for c in scene.constraints] == [False, True]
    np.testing.assert_array_equal(scene.poses["up"], [0.7, 0.7])


def test_composed_loops_assemble_as_alone() -> None:
    build = lw.Builder("loop").body("a", BOX).joint("i", lw.joints.Revolute("y"), "world", "a")
    build.body("b", BOX).joint("j", lw.joints.Revolute("y"), "a", "b", (0.5, 0, 0))
    build.body("c", BOX).joint("k", lw.joints.Revolute("y"), "world", "c", (1, 0, 0))
    single = build.joint("l", lw.joints.Revolute("y"), "b", "c", (1.2, 0, 0), (0.9, 0, 0)).build()
    scene = lw.compose({"one": single, "two": single}, at={"two": TURNED})
    q = scene.assemble(np.tile([0.5, 0.1, 0.2], 2), fixed=["one/i", "two/i"])
    assert_close(q[3:], q[:3], 1e-9)
    assert scene.mobility(q).dof == 2
    assert len(loops_of(scene).groups) == 2
