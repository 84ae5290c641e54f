# SPDX-License-Identifier: BSD-3-Clause
"""Inverse dynamics with loops: who pushes, with how little, and what constraints then carry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt
import pytest

import linkwork as lw
from linkwork.dynamics.inverse import METHODS
from linkwork.mechanism import Mechanism
from linkwork.quantities.scales import joint_units, typical_row_units
from tests.closure.test_assemble_batches import LOOPED, closed_pose, robot_of
from tests.kernels import test_clusters
from tests.support import linkages
from tests.support.gauss import Problem, closed_state, distance
from tests.support.robots import model_file
from tests.support.states import Floats, assert_close

BALANCE = 1e-9
"""What is left of ``M a + c - tau - J' lambda``, as a part of the largest of these."""

FEET = ("left", "right")


def driving(robot: Mechanism, *unactuated: str) -> Mechanism:
    """The robot with motors on all joints but some."""
    joints = tuple(replace(j, actuated=j.name not in unactuated) for j in robot.joints)
    return replace(robot, joints=joints)


def standing() -> Mechanism:
    """A humanoid on two welded feet, its base not actuated: one loop over both legs and the ground."""
    robot = driving(lw.zoo.humanoid(), "base")
    q = robot.integrate(robot.neutral(), 0.2 * np.random.default_rng(1).normal(size=robot.nv))
    held = robot.constrained(*(lw.constraints.Weld(f"{side}_foot", "world", name=side) for side in FEET), at=q)
    return replace(held, poses={"assembled": q})


def thrice_held() -> Mechanism:
    """The same, each foot welded three times: redundant rows."""
    robot = standing()
    again = [replace(c, name=f"{c.name} {k}") for k in range(2) for c in robot.constraints]
    return replace(robot.constrained(*again), poses=robot.poses)


SERVED: dict[str, Callable[[], Mechanism]] = {
    "geared chain, by its rotors": lambda: lw.zoo.geared_chain(4),
    "belt chain, by its rotors": lambda: lw.zoo.belt_chain(4),
    "five-bar, by two cranks": lambda: linkages.made("five-bar"),
    "four-bar, by its crank": lambda: driving(lw.zoo.four_bar(), "B", "D"),
    "four-bar, by all": lambda: driving(lw.zoo.four_bar()),
    "Jansen's leg, by three": lambda: driving(lw.zoo.jansen(), "P_j", "P_k", "A_upper", "S"),
    "Stewart platform, by its legs": lambda: driving(
        lw.zoo.stewart(), *(j.name for j in lw.zoo.stewart().joints if not isinstance(j.type, lw.joints.Prismatic))
    ),
    "humanoid on two feet": standing,
    "humanoid on feet welded thrice": thrice_held,
}
"""Robots whose motors can make every acceleration that their loops allow."""

each_robot = pytest.mark.parametrize("name", SERVED)
each_method = pytest.mark.parametrize("method", ["actuated", "least"])


@cache
def state(name: str) -> tuple[Problem, Floats]:
    """A closed state, and accelerations to ask for."""
    robot, rng = SERVED[name](), np.random.default_rng([len(name), 13])
    q = robot.poses["assembled"] if "assembled" in robot.poses else robot.assemble(robot.random(seed=1), limits=False)
    return closed_state(robot, q, rng), rng.normal(size=robot.nv)


@cache
def found(name: str, method: str) -> lw.results.InverseSolution:
    p, asked = state(name)
    return lw.InverseDynamics(p.robot, method).solve(p.q, p.v, asked)


def motors(robot: Mechanism, method: str) -> npt.NDArray[np.intp]:
    """Where in v those stand who push."""
    on = [j for j in robot.joints if method != "actuated" or j.actuated]
    return np.array([k for j in on for k in range(robot.nv)[robot.v_slice(j.name)]], dtype=np.intp)


def left_over(p: Problem, s: lw.results.InverseSolution) -> float:
    """``M a + c - tau - J' lambda``, less what external wrenches do, as a part of the largest of these."""
    terms = [p.M @ s.acceleration, -(p.pull - p.tau), -s.torque, -(p.J.T @ s.multipliers)]
    return float(np.abs(sum(terms)).max() / max(1.0, *(np.abs(x).max() for x in terms)))


def smallest(p: Problem, a: Floats, who: npt.NDArray[np.intp]) -> Floats:
    """The smallest torques of some that make an acceleration: least squares on motions that constraints allow.

    Forces of joints that slide count as torques at the length of the robot.
    """
    unit = joint_units(p.robot)
    _, singular, Vt = np.linalg.svd(p.J)
    rank = int((singular > 1e-9 * singular[0]).sum())
    Z = Vt[rank:]
    needed = p.M @ a - (p.pull - p.tau)
    torque = np.zeros(p.robot.nv)
    torque[who] = np.linalg.lstsq(Z[:, who] / unit[who], Z @ needed, rcond=1e-10)[0] / unit[who]
    return torque


# What torques do -----------------------------------------------------------------------------------------------


@each_method
@each_robot
def test_torques_and_forces_of_constraints_balance(name: str, method: str) -> None:
    p, _ = state(name)
    assert left_over(p, found(name, method)) <= BALANCE


@each_method
@each_robot
def test_independent_joints_accelerate_as_asked_and_the_others_as_loops_want(name: str, method: str) -> None:
    p, asked = state(name)
    s, free = found(name, method), lw.Minimal(p.robot).index
    np.testing.assert_array_equal(s.acceleration[free], asked[free])
    assert distance(p.J @ s.acceleration, p.k, max(1.0, float(np.abs(p.k).max()))) <= BALANCE


@each_method
@each_robot
def test_forward_dynamics_gives_the_accelerations_back(name: str, method: str) -> None:
    p, _ = state(name)
    s = found(name, method)
    for forward in ("kkt", "cluster"):
        back = lw.ForwardDynamics(p.robot, forward)(p.q, p.v, s.torque)
        assert distance(back.acceleration, s.acceleration) <= BALANCE, forward
    assert back.multipliers is not None
    assert distance(p.J.T @ back.multipliers, p.J.T @ s.multipliers) <= BALANCE


@each_robot
def test_joints_without_a_motor_do_not_push(name: str) -> None:
    p, _ = state(name)
    who = motors(p.robot, "actuated")
    assert 0 < len(who) <= p.robot.nv
    assert (np.delete(found(name, "actuated").torque, who) == 0.0).all()


@each_method
@each_robot
def test_torques_are_the_smallest(name: str, method: str) -> None:
    """As dense least squares has them."""
    p, _ = state(name)
    s = found(name, method)
    expected = smallest(p, s.acceleration, motors(p.robot, method))
    assert distance(s.torque, expected) <= BALANCE


@each_robot
def test_all_joints_together_need_least(name: str) -> None:
    """No more than the actuated ones, nor the independent ones, and less where they are others."""
    p, asked = state(name)
    unit = joint_units(p.robot)
    sizes = {method: float(np.linalg.norm(unit * found(name, method).torque)) for method in ("actuated", "least")}
    sizes["cluster"] = float(np.linalg.norm(unit * lw.InverseDynamics(p.robot, "cluster")(p.q, p.v, asked)))
    for method in ("actuated", "cluster"):
        assert sizes["least"] <= sizes[method] * (1 + 1e-12)
    assert sizes["least"] < 0.999 * sizes["cluster"]


@each_method
@each_robot
def test_forces_of_constraints_are_the_smallest(name: str, method: str) -> None:
    """They have no part along which rows, without units, say the same."""
    p, _ = state(name)
    units = typical_row_units(p.robot)
    forces = found(name, method).multipliers * units
    u, singular, _ = np.linalg.svd(p.J / units[:, None], full_matrices=False)
    span = u[:, singular > 1e-9 * singular[0]]
    assert np.abs(forces - span @ (span.T @ forces)).max() <= 1e-9 * max(1.0, float(np.abs(forces).max()))


@pytest.mark.parametrize("method", ["cluster", "actuated", "least"])
def test_the_feet_of_a_standing_humanoid_carry_it(method: str) -> None:
    """Both legs and the ground are one loop. At rest its feet, and who pushes its base, hold up what it weighs."""
    robot = SERVED["humanoid on two feet"]()
    (report,) = lw.loops.clusters(robot)
    assert report.top == "world" and {robot.frame(f"{side}_foot").body for side in FEET} <= set(report.bodies)
    q, rest = robot.poses["assembled"], np.zeros(robot.nv)
    s = lw.InverseDynamics(robot, method).solve(q, rest, rest)
    assert np.abs(s.acceleration).max() <= 1e-9
    base = lw.frame_placement(robot, q, robot.joint("base").child).rotation
    carried = base @ s.torque[robot.v_slice("base")][:3]
    assert np.abs(carried).max() == 0.0 or method != "actuated"
    for side in FEET:  # rows are [moment, force] on the world, in the axes of the foot
        carried -= lw.frame_placement(robot, q, f"{side}_foot").rotation @ s.forces[side][3:]
    assert_close(carried, -robot.mass * robot.gravity, 1e-9)


def test_a_gear_in_numbers() -> None:
    """A rotor of ratio n holds a link with an n-th of its weight's torque; both together with the smallest torques."""
    robot, n = lw.zoo.geared_chain(1, ratio=6.0), 6.0
    robot = robot.with_gravity((0.0, -9.81, 0.0))
    q, rest = robot.poses["assembled"], np.zeros(2)
    link, rotor = robot.v_index("joint0"), robot.v_index("rotor0")
    weight = lw.gravity_forces(robot, q)[link]
    assert abs(weight) > 1e-3
    held = lw.InverseDynamics(robot, "actuated").solve(q, rest, rest)
    assert held.torque[rotor] == pytest.approx(weight / n, rel=1e-12) and held.torque[link] == 0.0
    assert np.abs(held.forces["gear0"]) == pytest.approx(abs(weight / n), rel=1e-12)
    least = lw.InverseDynamics(robot, "least")(q, rest, rest)  # along (link, rotor) = (1, n), with the same work
    assert least[rotor] == pytest.approx(n * least[link], rel=1e-12)
    assert least[link] + n * least[rotor] == pytest.approx(weight, rel=1e-12)


# Loops that are not quite closed ------------------------------------------------------------------------------------

OPEN = (0.0, 1e-12, 1e-10, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
"""How far joints are from where loops are closed, in rad and m."""

each_opening = pytest.mark.parametrize("off", OPEN)


@cache
def two_hands_and_a_cube() -> Mechanism:
    """A humanoid on eight points that holds a cube at eight more: 48 rows of rank 24, of more where they are open."""
    cube = lw.Builder("cube").body("cube", lw.Inertia.box(2.0, (0.2, 0.2, 0.2)))
    parts = {"robot": lw.zoo.humanoid_standing(), "cube": cube.joint("free", lw.joints.Free(), "world", "cube").build()}
    touch = []
    for (side, y), x, z in product((("left", 0.1), ("right", -0.1)), (-0.04, 0.04), (-0.015, 0.015)):
        at = {"first_at": (x, y, z), "second_at": (z, -0.3 * y, -0.06 - x)}
        touch.append(lw.constraints.Point("cube/cube", f"robot/{side}_hand", **at, name=f"{side} {x} {z}"))
    scene = lw.compose(parts, name="two hands and a cube").constrained(*touch)
    q = scene.poses["assembled"].copy()
    q[[scene.q_index(f"robot/{side}_elbow_joint") for side in ("left", "right")]] = -1.5
    q[scene.q_slice("cube/free")] = [0.2, 0, 0.8, 0, 0, 0, 1]
    return replace(scene, poses={"assembled": scene.assemble(q, fixed=["cube/free"])})


REPEATING: dict[str, Callable[[], Mechanism]] = {
    "two hands and a cube": two_hands_and_a_cube,
    "humanoid standing on points": lambda: lw.zoo.humanoid_standing(),
    "humanoid on feet welded thrice": thrice_held,
    "four-bar, by its crank": lambda: driving(lw.zoo.four_bar(), "B", "D"),
}
each_repeating = pytest.mark.parametrize("name", REPEATING)


def opened(robot: Mechanism, off: float) -> tuple[Floats, Floats]:
    """A configuration whose loops are open, and a velocity that they allow about there."""
    rng = np.random.default_rng(20)
    closed = robot.poses["assembled"]
    v = robot.project_velocity(closed, rng.normal(size=robot.nv))
    return robot.integrate(closed, off * rng.normal(size=robot.nv)), v


def test_opening_a_loop_makes_rows_of_those_that_repeated_others() -> None:
    robot = two_hands_and_a_cube()
    ranks = [robot.mobility(opened(robot, off)[0]).rank for off in (0.0, 1e-5)]
    assert ranks[0] == robot.nv - lw.Minimal(robot).ny == 24 and ranks[1] > 24


@pytest.mark.slow
@each_opening
@each_method
@each_repeating
def test_torques_make_what_is_asked_where_loops_are_open(name: str, method: str, off: float) -> None:
    """Forces are those that forward dynamics then finds, and torques as large as in closed loops."""
    robot, a = REPEATING[name](), np.random.default_rng(21).normal(size=(3, REPEATING[name]().nv))
    q, v = opened(robot, off)
    s = lw.InverseDynamics(robot, method).solve(q, v, a)
    free = lw.Minimal(robot).index
    np.testing.assert_array_equal(s.acceleration[:, free], a[:, free])
    back = lw.ForwardDynamics(robot, "cluster")(q, v, s.torque)
    assert distance(back.acceleration, s.acceleration) <= BALANCE
    assert distance(back.multipliers, s.multipliers) <= BALANCE
    closed = lw.InverseDynamics(robot, method).solve(robot.poses["assembled"], v, a)
    assert distance(s.torque, closed.torque) <= 1e-9 + 200 * off
    assert distance(s.multipliers, closed.multipliers) <= 1e-9 + 200 * off


@pytest.mark.slow
@each_opening
@each_method
@each_repeating
def test_what_holds_a_robot_still_does_so_by_any_method_where_loops_are_open(
    name: str, method: str, off: float
) -> None:
    robot = REPEATING[name]()
    q, rest = opened(robot, off)[0], np.zeros(robot.nv)
    s = lw.InverseDynamics(robot, method).solve(q, rest, rest)
    assert np.abs(s.acceleration).max() <= 1e-12
    for forward in ("cluster", "auto"):
        back = lw.ForwardDynamics(robot, forward, tolerance=1e-15)(q, rest, s.torque)
        # rows that repeat others differ by off, and so do the parts that they carry of what gravity accelerates
        assert np.abs(back.acceleration).max() <= 1e-8 + 9.81 * off, forward


def test_a_batch_of_open_and_closed_states() -> None:
    robot = two_hands_and_a_cube()
    q = np.stack([opened(robot, off)[0] for off in OPEN])
    v, a = opened(robot, 0.0)[1], np.random.default_rng(22).normal(size=robot.nv)
    inverse = lw.InverseDynamics(robot, "actuated")
    s = inverse.solve(q, v, a)
    for k in range(len(OPEN)):
        one = inverse.solve(q[k], v, a)
        assert distance(s.torque[k], one.torque) <= BALANCE and distance(s.multipliers[k], one.multipliers) <= BALANCE


@each_opening
def test_what_motors_cannot_make_they_cannot_make_in_open_loops_either(off: float) -> None:
    """Without those of the waist, of 17 motions 14 are left to 26 motors; a gap is no lever for the other three."""
    whole = two_hands_and_a_cube()
    waist = ("robot/waist_yaw_joint", "robot/waist_roll_joint", "robot/torso_joint")
    robot = replace(whole, joints=tuple(replace(j, actuated=j.actuated and j.name not in waist) for j in whole.joints))
    q, v = opened(robot, off)
    with pytest.raises(
        lw.errors.UnsupportedFeature, match=r"cannot make these accelerations: \S+ N m are missing"
    ) as said:
        lw.InverseDynamics(robot, "actuated")(q, v, np.ones(robot.nv))
    assert ("close them first" in str(said.value)) == (off > 1e-9)


# Robots with too few motors --------------------------------------------------------------------------------------

TOO_FEW: dict[str, Callable[[], Mechanism]] = {
    "five-bar, by one crank": lambda: driving(lw.zoo.five_bar(), "B", "D", "E"),
    "floating four-bar": lambda: driving(linkages.made("floating four-bar"), "free"),
    "humanoid on one foot's point": lambda: driving(lw.zoo.humanoid(), "base").constrained(
        lw.constraints.Point("left_foot", "world", name="left"), at=lw.zoo.humanoid().neutral()
    ),
}


def few(name: str) -> tuple[Problem, Floats]:
    robot, rng = TOO_FEW[name](), np.random.default_rng(14)
    q = robot.poses.get("assembled", robot.neutral())
    return closed_state(robot, robot.assemble(q, limits=False), rng), rng.normal(size=robot.nv)


@pytest.mark.parametrize("name", TOO_FEW)
def test_what_motors_cannot_make_is_an_error(name: str) -> None:
    p, asked = few(name)
    with pytest.raises(lw.errors.UnsupportedFeature, match=r"cannot make these accelerations: \S+ N m are missing"):
        lw.InverseDynamics(p.robot, "actuated")(p.q, p.v, asked)
    s = lw.InverseDynamics(p.robot, "least").solve(p.q, p.v, asked)
    assert left_over(p, s) <= BALANCE


def test_what_motors_of_a_tiny_robot_cannot_make_is_an_error() -> None:
    """Two rods of a millimeter and a microgram on hinges, of which one has a motor: 1e-14 N m are missing."""
    build = lw.Builder("tiny")
    for k, parent in enumerate(("world", "rod0")):
        build.body(f"rod{k}", lw.Inertia.rod(1e-9, (0, 0, 0), (1e-3, 0, 0)))
        build.joint(f"hinge{k}", lw.joints.Revolute("y"), parent, f"rod{k}", at=(1e-3 * k, 0, 0), actuated=k == 0)
    robot, rest = build.build(), np.zeros(2)
    with pytest.raises(lw.errors.UnsupportedFeature, match="cannot make these accelerations"):
        lw.InverseDynamics(robot, "actuated")(rest, rest, rest)


@pytest.mark.parametrize("name", TOO_FEW)
def test_what_few_motors_can_make_they_make(name: str) -> None:
    """Accelerations that come from torques of theirs."""
    p, _ = few(name)
    who = motors(p.robot, "actuated")
    tau = np.zeros(p.robot.nv)
    tau[who] = p.tau[who]
    made = lw.ForwardDynamics(p.robot, "kkt")(p.q, p.v, tau).acceleration
    s = lw.InverseDynamics(p.robot, "actuated").solve(p.q, p.v, made)
    assert distance(s.acceleration, made) <= BALANCE
    assert left_over(p, s) <= BALANCE
    assert np.linalg.norm(s.torque) <= np.linalg.norm(tau) * (1 + 1e-9)
    back = lw.ForwardDynamics(p.robot, "kkt")(p.q, p.v, s.torque).acceleration
    assert distance(back, made) <= BALANCE


@pytest.mark.parametrize("name", ["Digit", "Cassie", "Booster T1"])
def test_the_motors_of_real_robots_in_the_air(name: str) -> None:
    """Their bases, springs and rods are not actuated; torques of their motors are found again."""
    p = test_clusters.problem(f"file: {name}")
    inverse = lw.InverseDynamics(p.robot, "actuated", passive=False)
    with pytest.raises(lw.errors.UnsupportedFeature, match="unactuated degrees of freedom"):
        inverse(p.q, p.v, np.random.default_rng(0).normal(size=p.robot.nv))
    tau = np.zeros(p.robot.nv)
    who = [p.robot.v_index(a.joint) for a in p.robot.actuators]
    tau[who] = p.tau[who]
    made = lw.ForwardDynamics(p.robot, "kkt")(p.q, p.v, tau).acceleration
    assert distance(inverse(p.q, p.v, made), tau) <= 1e-8


# External wrenches ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["cluster", "actuated", "least"])
@pytest.mark.parametrize("name", ["humanoid on two feet", "five-bar, by two cranks", "geared chain, by its rotors"])
def test_wrenches_are_taken_into_account(name: str, method: str) -> None:
    p, asked = state(name)
    rng = np.random.default_rng(15)
    frames, wrenches = (p.robot.body_names[-1], p.robot.body_names[1], "world"), 10 * rng.normal(size=(3, 6))
    inverse = lw.InverseDynamics(p.robot, method, wrenches=frames)
    s = inverse.solve(p.q, p.v, asked, wrenches)
    pushed = replace(p, frames=frames, wrenches=wrenches)
    assert left_over(pushed, s) <= BALANCE
    assert distance(inverse(p.q, p.v, asked, wrenches), s.torque) == 0.0
    without = lw.InverseDynamics(p.robot, method)(p.q, p.v, asked)
    assert distance(inverse(p.q, p.v, asked), without) <= 1e-12
    assert distance(s.torque, without) > 1e-3
    forward = lw.ForwardDynamics(p.robot, "kkt", wrenches=frames)
    back = forward(p.q, p.v, s.torque, wrenches)
    assert distance(back.acceleration, s.acceleration) <= BALANCE


# Calls ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["cluster", "actuated", "least"])
def test_batches_are_their_states_one_by_one(method: str) -> None:
    p, _ = state("five-bar, by two cranks")
    rng, robot = np.random.default_rng(16), p.robot
    free = robot.integrate(p.q, 0.1 * rng.normal(size=(3, 1, robot.nv)))
    q = lw.Minimal(robot).complete(free)
    a = rng.normal(size=(4, robot.nv))
    v = robot.project_velocity(q, rng.normal(size=robot.nv))
    inverse = lw.InverseDynamics(robot, method)
    s = inverse.solve(q, v, a)
    assert s.torque.shape == s.acceleration.shape == (3, 4, robot.nv) and s.multipliers.shape == (3, 4, robot.nc)
    out = np.full((3, 4, robot.nv), np.nan)
    assert inverse(q, v, a, out=out) is out
    np.testing.assert_array_equal(out, s.torque)
    for i, j in np.ndindex(3, 4):
        one = inverse.solve(q[i, 0], v[i, 0], a[j])
        assert_close(s.torque[i, j], one.torque, 1e-9, scale=1.0)
        assert_close(s.multipliers[i, j], one.multipliers, 1e-9, scale=1.0)
        assert_close(s.forces["close"][i, j], one.forces["close"], 1e-9, scale=1.0)


@pytest.mark.parametrize("method", ["cluster", "actuated", "least"])
def test_the_three_ways_agree(method: str) -> None:
    p, asked = state("five-bar, by two cranks")
    native = lw.InverseDynamics(p.robot, method)
    expected = native.solve(p.q, p.v, asked)
    for way in (native.plain(), native.compile(lanes=1, threads=1), native.compile(lanes=4, threads=1)):
        s = way.solve(p.q, p.v, asked)
        for part in ("torque", "acceleration", "multipliers"):
            assert_close(getattr(s, part), getattr(expected, part), 1e-11, scale=1.0)


@pytest.mark.parametrize("method", ["cluster", "actuated", "least"])
@pytest.mark.parametrize("name", [name for name in SERVED if name.split()[0] not in ("Stewart", "humanoid")])
def test_single_precision_has_its_digits(name: str, method: str) -> None:
    p, asked = state(name)
    single = lw.InverseDynamics(p.robot, method).compile(dtype="float32", threads=1)
    expected = lw.InverseDynamics(p.robot, method)(p.q, p.v, asked)
    assert_close(single(p.q, p.v, asked), expected, 1e-4, scale=1.0)


def test_rnea_knows_no_constraints() -> None:
    p, asked = state("five-bar, by two cranks")
    tree = p.robot.unconstrained()
    expected = lw.InverseDynamics(tree)(p.q, p.v, asked)
    np.testing.assert_array_equal(lw.InverseDynamics(p.robot, "rnea")(p.q, p.v, asked), expected)
    with pytest.raises(lw.errors.UnsupportedFeature, match="rnea ignores constraints: choose method 'cluster'"):
        lw.InverseDynamics(p.robot, "rnea").solve(p.q, p.v, asked)


# By default ------------------------------------------------------------------------------------------------------


@cache
def loops_closed(name: str) -> tuple[Problem, Floats]:
    """A closed state of a robot with loops, and accelerations that its loops allow."""
    robot, rng = robot_of(name), np.random.default_rng([len(name), 17])
    p = closed_state(robot, closed_pose(name), rng)
    return p, lw.ForwardDynamics(robot, "kkt")(p.q, p.v, p.tau).acceleration


@pytest.mark.parametrize("name", sorted(LOOPED))
def test_by_default_forward_dynamics_gives_accelerations_back(name: str) -> None:
    p, a = loops_closed(name)
    tau = lw.InverseDynamics(p.robot)(p.q, p.v, a)
    back = lw.ForwardDynamics(p.robot, "kkt")(p.q, p.v, tau + lw.passive_forces(p.robot, p.q, p.v))
    assert distance(back.acceleration, a) <= BALANCE
    usual = lw.ForwardDynamics(p.robot)(p.q, p.v, tau + lw.passive_forces(p.robot, p.q, p.v))
    assert distance(usual.acceleration, a) <= 1e-6


@pytest.mark.parametrize("lead", [(), (3,)])
def test_by_default_accelerations_that_loops_do_not_allow_are_an_error(lead: tuple[int, ...]) -> None:
    p, _ = state("five-bar, by two cranks")
    inverse = lw.InverseDynamics(p.robot)
    assert inverse.method == "cluster"
    a = np.tile(lw.Minimal(p.robot).acceleration(p.q, p.v, [1.0, 2.0]), (*lead, 1)).reshape(*lead, p.robot.nv)
    inverse(p.q, p.v, a)
    a[..., -1] += 0.01
    where = r" in state \(0,\)" if lead else ""
    for call in (inverse, inverse.solve):
        with pytest.raises(
            lw.errors.InputError, match=f"constraints of 'five-bar' do not allow the acceleration a{where}"
        ):
            call(p.q, p.v, a)
    assert np.isfinite(lw.InverseDynamics(p.robot, "cluster")(p.q, p.v, a)).all()


def test_by_default_a_bound_call_checks_accelerations() -> None:
    p, asked = state("five-bar, by two cranks")
    a = lw.Minimal(p.robot).acceleration(p.q, p.v, [1.0, 2.0])
    tau = np.empty(p.robot.nv)
    step = lw.InverseDynamics(p.robot).bind(p.q.copy(), p.v.copy(), a, out=tau)
    step()
    assert_close(tau, lw.InverseDynamics(p.robot)(p.q, p.v, a), 1e-14)
    a[:] = asked
    with pytest.raises(lw.errors.InputError, match="do not allow the acceleration"):
        step()


def test_by_default_a_robot_without_enabled_constraints_is_a_tree() -> None:
    robot = lw.zoo.four_bar()
    names = [c.name for c in robot.constraints]
    for tree in (robot.unconstrained(), robot.switched(dict.fromkeys(names, False))):
        inverse = lw.InverseDynamics(tree)
        assert inverse.method == "rnea"
        q, (v, a) = robot.poses["assembled"], np.random.default_rng(1).normal(size=(2, robot.nv))
        assert_close(lw.ForwardDynamics(tree)(q, v, inverse(q, v, a)).acceleration, a, 1e-12)


@pytest.mark.parametrize("method", ["cluster", "actuated", "least"])
def test_on_a_tree_all_methods_are_rnea(method: str) -> None:
    robot = driving(lw.zoo.serial_chain(5))
    q, (v, a) = robot.random(0), np.random.default_rng(17).normal(size=(2, 5))
    expected = lw.InverseDynamics(robot)(q, v, a)
    s = lw.InverseDynamics(robot, method).solve(q, v, a)
    assert_close(s.torque, expected, 1e-12)
    assert s.multipliers.shape == (0,) and dict(s.forces) == {}


@pytest.mark.parametrize("method", ["cluster", "actuated", "least"])
def test_constraints_that_are_switched_off_carry_nothing(method: str) -> None:
    robot = lw.zoo.geared_chain(2)
    robot = driving(robot)
    p = closed_state(robot, robot.poses["assembled"], np.random.default_rng(18))
    a = np.random.default_rng(19).normal(size=robot.nv)
    lw.InverseDynamics(robot, method)(p.q, p.v, a)
    off = lw.InverseDynamics(robot.switched({"gear0": False}), method).solve(p.q, p.v, a)
    alone = lw.InverseDynamics(robot.unconstrained("gear0"), method).solve(p.q, p.v, a)
    assert distance(off.torque, alone.torque) <= BALANCE
    assert distance(off.acceleration, alone.acceleration) <= BALANCE
    assert (off.forces["gear0"] == 0.0).all()
    assert distance(off.forces["gear1"], alone.forces["gear1"]) <= BALANCE


# Springs and dampers -----------------------------------------------------------------------------------------------


def elastic(robot: Mechanism, seed: int = 0) -> Mechanism:
    """The robot with springs and dampers in all joints, some of them zero."""
    rng = np.random.default_rng(seed)
    joints = []
    for j in robot.joints:
        n = j.type.nv
        stiffness, damping = rng.uniform(0, 20, size=n) * rng.integers(0, 2, n), rng.uniform(0, 3, size=n)
        joints.append(replace(j, stiffness=stiffness, damping=damping, rest=rng.normal(size=n)))
    return replace(robot, joints=tuple(joints))


@pytest.mark.parametrize("method", METHODS)
def test_torques_leave_to_springs_and_dampers_what_these_do(method: str) -> None:
    """Torques less those of passive joints, in what free joints feel of both."""
    robot = elastic(lw.zoo.geared_chain(4))
    p, a = closed_state(robot, robot.poses["assembled"], np.random.default_rng(3)), np.ones(robot.nv)
    with_them, without = (lw.InverseDynamics(robot, method, passive=x)(p.q, p.v, a) for x in (True, False))
    felt = lw.Minimal(robot).force(p.q, np.stack([with_them, without, lw.passive_forces(robot, p.q, p.v)]))
    if method == "rnea":
        assert_close(with_them, without - lw.passive_forces(robot, p.q, p.v), 1e-13)
    assert_close(felt[0], felt[1] - felt[2], 1e-12)
    assert np.abs(felt[2]).max() > 1.0


@pytest.mark.parametrize("method", ["cluster", "actuated", "least"])
@pytest.mark.parametrize("name", ["five-bar, by two cranks", "humanoid on two feet", "humanoid on feet welded thrice"])
def test_forward_dynamics_with_springs_and_dampers_gives_the_accelerations_back(name: str, method: str) -> None:
    p, asked = state(name)
    robot = elastic(p.robot)
    s = lw.InverseDynamics(robot, method).solve(p.q, p.v, asked)
    back = lw.ForwardDynamics(robot, "kkt")(p.q, p.v, s.torque + lw.passive_forces(robot, p.q, p.v))
    assert distance(back.acceleration, s.acceleration) <= BALANCE
    assert distance(p.J.T @ back.multipliers, p.J.T @ s.multipliers) <= BALANCE


@pytest.mark.parametrize("passive", [True, False])
def test_springs_and_dampers_are_those_of_steps_in_time(passive: bool) -> None:
    """A step of the time h under the torques that were found changes velocities by h a, and by terms of h²."""
    robot, h = elastic(lw.zoo.serial_chain(3)), 1e-8
    q, (v, a) = robot.random(4), np.random.default_rng(4).normal(size=(2, 3))
    tau = lw.InverseDynamics(robot, passive=passive)(q, v, a)
    stepper = lw.Stepper(robot, dt=h, integrator="rk4", passive=passive, limits=False)
    assert_close((stepper(q, v, tau).v - v) / h, a, 1e-4, scale=1.0)
    other = lw.InverseDynamics(robot, passive=not passive)(q, v, a)
    assert np.abs(tau - other).max() > 1.0


def test_a_robot_without_springs_and_dampers_has_the_same_program() -> None:
    robot = lw.zoo.serial_chain(4)
    bare = replace(robot, joints=tuple(replace(j, damping=0 * j.damping) for j in robot.joints))
    counts = [lw.InverseDynamics(bare, passive=x).operation_count() for x in (True, False)]
    assert counts[0] == counts[1]
    assert lw.InverseDynamics(elastic(robot)).operation_count().total > counts[0].total


# Limits of motors ----------------------------------------------------------------------------------------------------


def arm(effort: float, *motors: tuple[float, tuple[float, float]]) -> Mechanism:
    """A rod of 2 kg and 1 m, held level by 9.81 N m, and its motors: gears and limits of commands."""
    build = lw.Builder("arm").body("rod", lw.Inertia.rod(2.0, (0, 0, 0), (1, 0, 0)))
    build.joint("hinge", lw.joints.Revolute("y"), "world", "rod", actuated=True, effort=effort)
    for k, (gear, limits) in enumerate(motors):
        build.actuator(f"motor {k}", "hinge", gear, limits=limits)
    return build.build()


@pytest.mark.parametrize(
    ("robot", "beyond"),
    [
        (arm(np.inf), None),
        (arm(10.0), None),
        (arm(9.0), 0.81),
        (arm(10.0, (2.0, (-4.0, 4.0))), 1.81),
        (arm(10.0, (-2.0, (-4.0, 5.0))), None),
        (arm(np.inf, (2.0, (-4.0, 4.0)), (1.0, (-1.0, 1.0))), 0.81),
    ],
)
def test_torques_beyond_the_limits_of_motors_are_reported(robot: Mechanism, beyond: float | None) -> None:
    s = lw.InverseDynamics(robot, "actuated").solve([0.0], [0.0], [0.0])
    assert s.torque[0] == pytest.approx(-9.81)
    assert set(s.beyond_limits) == (set() if beyond is None else {"hinge"})
    if beyond is not None:
        assert s.beyond_limits["hinge"] == pytest.approx(beyond)


LIMITED = """<mujoco><worldbody>
<body><joint name="a" axis="0 1 0" actuatorfrcrange="-30 20" actuatorfrclimited="true"/>
<geom type="capsule" size=".05" fromto="0 0 0 .5 0 0"/><site name="s" pos=".3 0 .1"/>
<body pos=".5 0 0"><joint name="b" axis="0 1 0" range="-1 1"/><geom type="capsule" size=".05" fromto="0 0 0 .5 0 0"/>
<site name="t" pos=".2 0 .1"/>
<body pos=".5 0 0"><joint name="c" type="slide" axis="1 0 0"/><geom size=".1"/></body></body></body></worldbody>
<tendon><spatial name="rope"><site site="s"/><site site="t"/></spatial>
<fixed name="sum" actuatorfrcrange="-2 3" actuatorfrclimited="true"><joint joint="a" coef=".7"/>
<joint joint="c" coef="-1.3"/></fixed></tendon>
<actuator>
<motor joint="a" gear="-8" ctrlrange="-2 3" ctrllimited="true" forcerange="-1.5 9" forcelimited="true"/>
<general joint="a" gainprm="4" ctrlrange="-1 2" ctrllimited="true"/>
<position joint="b" kp="50" kv="3" ctrlrange="-1 1" ctrllimited="true" forcerange="-40 25" forcelimited="true"/>
<motor tendon="rope" gear="2" ctrlrange="-3 5" ctrllimited="true"/>
<motor tendon="sum" gear="3" ctrlrange="-9 9" ctrllimited="true"/>
<damper joint="c" kv="6" ctrlrange="0 2"/>
</actuator></mujoco>"""
"""Gears, gains, ranges of commands, forces, joints and tendons; a servo, a damper, a spatial tendon."""


def test_torque_limits_are_the_least_and_the_largest_that_mujocos_actuators_make() -> None:
    robot, model = lw.loads(LIMITED, "mjcf"), mujoco.MjModel.from_xml_string(LIMITED)
    data, rng = mujoco.MjData(model), np.random.default_rng(2)
    corners = list(product(*model.actuator_ctrlrange))
    q, v = robot.random(rng, 6), rng.normal(size=(6, robot.nv))
    lower, upper = lw.actuators.torque_limits(robot, q, v)
    for k in range(6):
        data.qpos[:], data.qvel[:] = q[k], v[k]
        made = []
        for data.ctrl[:] in corners:
            mujoco.mj_fwdPosition(model, data)
            mujoco.mj_fwdVelocity(model, data)
            mujoco.mj_fwdActuation(model, data)
            made.append(data.qfrc_actuator.copy())
        assert_close(lower[k], np.min(made, axis=0), 1e-12)
        assert_close(upper[k], np.max(made, axis=0), 1e-12)
    assert (lower.min(axis=0) >= -robot.effort_limit).all() and (upper.max(axis=0) <= robot.effort_limit).all()


@pytest.mark.models
@pytest.mark.parametrize(
    ("name", "joint", "most"),
    [
        ("booster_t1/T1_23dof_parallel_nomesh.xml", "aahead_yaw_joint", 7.0),  # forcerange of a motor
        ("panda/panda_nomesh.xml", "joint4", 87.0),  # of a servo, whose range of commands is in radians
        ("digit/digit-v3_nomesh.xml", "left-hip-roll", 126.682458),  # commands of 1.583530725 by a gear of 80
    ],
)
def test_torque_limits_of_real_robots(name: str, joint: str, most: float) -> None:
    robot = lw.load(model_file(name), contacts=False)
    q = robot.poses.get("home", robot.poses["qpos0"])
    lower, upper = lw.actuators.torque_limits(robot, q, np.zeros(robot.nv))
    k = robot.v_index(joint)
    assert (-lower[k], upper[k], robot.effort_limit[k]) == pytest.approx((most, most, most), rel=1e-9)


def held_by(**law: Any) -> Mechanism:
    """The arm with one actuator of gear 2."""
    return arm(np.inf).with_actuators(lw.actuators.Actuator("motor", "hinge", (2.0,), **law))


SERVO: dict[str, Any] = {"gain": (100.0, 0.0, 0.0), "bias": (0.0, -100.0, -10.0)}


@pytest.mark.parametrize(
    ("robot", "limits", "effort"),
    [
        (held_by(), (-np.inf, np.inf), np.inf),
        (held_by(force_limits=(-3.0, 4.0)), (-6.0, 8.0), 8.0),
        (held_by(limits=(-1.0, 2.0), gain=(5.0, 0.0, 0.0)), (-10.0, 20.0), 20.0),
        (held_by(limits=(-1.0, 2.0), gain=(-5.0, 0.0, 0.0), force_limits=(-8.0, 3.0)), (-16.0, 6.0), 16.0),
        # l = 0.2, rate 0.4: 100 u - 20 - 4
        (held_by(**SERVO, limits=(0.2, 0.3)), (-8.0, 12.0), np.inf),
        (held_by(**SERVO, limits=(-3.0, 3.0), force_limits=(-7.0, 6.0)), (-14.0, 12.0), 14.0),
        (held_by(dynamics="filter", limits=(-1.0, 2.0)), (-2.0, 4.0), 4.0),
        (held_by(dynamics="integrator", limits=(-1.0, 2.0), activation_limits=(0.0, 3.0)), (0.0, 6.0), 6.0),
    ],
)
def test_torque_limits_are_those_of_forces_and_gains(
    robot: Mechanism, limits: tuple[float, float], effort: float
) -> None:
    found = lw.actuators.torque_limits(robot, [0.1], [0.2])
    assert (found[0][0], found[1][0]) == pytest.approx(limits, rel=1e-12)
    assert robot.effort_limit[0] == pytest.approx(effort, rel=1e-12)
    s = lw.InverseDynamics(robot, "actuated").solve([[0.1], [-0.2]], [0.2], [0.0])
    assert ("hinge" in s.beyond_limits) == bool((s.torque[:, 0] < limits[0]).any())


def test_an_actuator_that_is_not_modeled_has_no_limits_that_are_known() -> None:
    robot = held_by(refused="a <muscle>")
    with pytest.raises(lw.errors.UnsupportedFeature, match="a <muscle>"):
        lw.actuators.torque_limits(robot, [0.1], [0.2])


def test_of_a_batch_each_state_says_by_how_much_it_is_beyond() -> None:
    s = lw.InverseDynamics(arm(9.0), "cluster").solve([[0.0], [1.5]], [0.0], [0.0])
    assert_close(s.beyond_limits["hinge"], [0.81, 0.0], 1e-12)


# Binding ----------------------------------------------------------------------------------------------------------

WAYS: dict[str, Callable[[lw.InverseDynamics], lw.InverseDynamics]] = {
    "plain": lambda e: e.plain(),
    "native": lambda e: e,
    "specialized": lambda e: e.compile(threads=1),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", ["rnea", "cluster", "actuated", "least"])
def test_a_bound_call_gives_what_a_call_gives(method: str, way: str) -> None:
    p, asked = state("five-bar, by two cranks")
    inverse = WAYS[way](lw.InverseDynamics(p.robot, method))
    q, v, a, tau = p.q.copy(), p.v.copy(), asked.copy(), np.full(p.robot.nv, np.nan)
    step = inverse.bind(q, v, a, out=tau)
    for scale in (1.0, 2.0):
        a[:] = scale * asked
        step()
        np.testing.assert_array_equal(tau, inverse(q, v, a))


@pytest.mark.parametrize("method", ["cluster", "actuated", "least"])
def test_a_bound_call_writes_all_outputs_where_they_are_given(method: str) -> None:
    p, asked = state("geared chain, by its rotors")
    inverse = lw.InverseDynamics(p.robot, method)
    out = [np.zeros(shape) for shape in inverse.program.output_shapes()]
    inverse.bind(p.q.copy(), p.v.copy(), asked.copy(), out=out)()
    s = inverse.solve(p.q, p.v, asked)
    for ours, theirs in zip(out, (s.torque, s.acceleration, s.multipliers), strict=False):
        np.testing.assert_array_equal(ours, theirs)


def test_a_bound_batch_needs_the_main_output_alone() -> None:
    p, asked = state("five-bar, by two cranks")
    inverse, out = lw.InverseDynamics(p.robot, "actuated"), np.zeros((5, p.robot.nv))
    a = np.linspace(0, 1, 5)[:, None] * asked
    inverse.bind(p.q.copy(), p.v.copy(), a, out=out)()
    assert_close(out, inverse(p.q, p.v, a), 1e-13)


def test_what_motors_cannot_make_is_an_error_of_a_bound_call_too() -> None:
    p, asked = few("five-bar, by one crank")
    tau = np.zeros(p.robot.nv)
    step = lw.InverseDynamics(p.robot, "actuated").bind(p.q.copy(), p.v.copy(), asked, out=tau)
    with pytest.raises(lw.errors.UnsupportedFeature, match="cannot make these accelerations"):
        step()


def test_out_that_does_not_fit_names_outputs_and_shapes() -> None:
    p, asked = state("five-bar, by two cranks")
    x = (p.q.copy(), p.v.copy(), asked.copy())
    expected = (
        r"inverse_dynamics writes tau \(4,\), full \(4,\), multipliers \(\d+,\), checks \(4,\): out is an array for "
        r"tau, or \(tau, full, multipliers, checks\); found 2 arrays"
    )
    with pytest.raises(lw.errors.InputError, match=expected):
        lw.InverseDynamics(p.robot, "actuated").bind(*x, out=(np.zeros(4), np.zeros(4)))
    with pytest.raises(lw.errors.InputError, match=r"bind: out for tau has shape \(3,\), needs \(4,\)"):
        lw.InverseDynamics(p.robot, "actuated").bind(*x, out=np.zeros(3))
    with pytest.raises(
        lw.errors.InputError, match=r"forward_dynamics writes a \(4,\), result \(\d+,\): out is an array for a"
    ):
        lw.ForwardDynamics(p.robot, "lcaba").bind(*x, out=[np.zeros(4)])


@pytest.mark.parametrize("method", ["actuated", "least"])
def test_a_compiled_program_serves_batches(method: str) -> None:
    p, _ = state("humanoid on two feet")
    native = lw.InverseDynamics(p.robot, method, threads=1)
    a = np.random.default_rng(23).normal(size=(9, p.robot.nv))
    assert_close(native.compile(threads=1)(p.q, p.v, a), native(p.q, p.v, a), 1e-9, scale=1.0)


BAD: dict[str, tuple[Callable[[Mechanism, Floats, Floats], object], type[Exception], str]] = {
    "an unknown method": (
        lambda r, q, v: lw.InverseDynamics(r, "magic"),
        lw.errors.InputError,
        f"no method 'magic'; there are auto, {', '.join(METHODS)}",
    ),
    "no robot": (
        lambda r, q, v: lw.InverseDynamics("robot", "least"),  # type: ignore[arg-type]
        lw.errors.InputError,
        "robot is str, needs a Mechanism",
    ),
    "no motors": (
        lambda r, q, v: lw.InverseDynamics(lw.zoo.four_bar(), "actuated"),
        lw.errors.UnsupportedFeature,
        "has no actuated joint: mark joints by actuated=True.*or use method 'least'",
    ),
    "a short q": (lambda r, q, v: lw.InverseDynamics(r, "least")(q[1:], v, v), lw.errors.InputError, "q has 3 numbers"),
    "a short a": (
        lambda r, q, v: lw.InverseDynamics(r, "cluster")(q, v, v[1:]),
        lw.errors.InputError,
        "a has 3 numbers",
    ),
    "NaN": (lambda r, q, v: lw.InverseDynamics(r, "actuated")(q, v * np.nan, v), lw.errors.InputError, "v holds NaN"),
    "out that does not fit": (
        lambda r, q, v: lw.InverseDynamics(r, "least")(q, v, v, out=np.zeros(3)),
        lw.errors.InputError,
        r"out for tau has shape \(3,\), needs \(4,\)",
    ),
    "an unknown frame": (
        lambda r, q, v: lw.InverseDynamics(r, "least", wrenches=["nowhere"]),
        lw.errors.InputError,
        "no frame 'nowhere'",
    ),
    "wrenches without frames": (
        lambda r, q, v: lw.InverseDynamics(r, "least")(q, v, v, np.zeros((1, 6))),
        lw.errors.InputError,
        "wrenches",
    ),
}


@pytest.mark.parametrize("call", BAD)
def test_bad_calls_say_so(call: str) -> None:
    p, _ = state("five-bar, by two cranks")
    make, error, message = BAD[call]
    with pytest.raises(error, match=message):
        make(p.robot, p.q, p.v)
