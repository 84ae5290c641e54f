# SPDX-License-Identifier: BSD-3-Clause
"""Static equilibria: springs settle, loops and held feet stay closed, motors carry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork.mechanism import Mechanism
from linkwork_benchmarks import scenes
from tests.support.gauss import ROUNDING, Problem
from tests.support.robots import model_file
from tests.support.states import Floats

needs_models = pytest.mark.models


def cassie() -> tuple[Mechanism, Floats]:
    """Cassie at its keyframe, its feet welded to the ground."""
    robot = lw.load(model_file("cassie/cassie.xml"))
    q = robot.assemble(robot.poses["home"])
    return robot.constrained(*(lw.constraints.Weld("world", f"{s}-foot", name=s) for s in scenes.SIDES), at=q), q


def digit() -> tuple[Mechanism, Floats]:
    """Digit of its file, upright on feet that are welded to the ground, its springs straight.

    It stands tall, and leans back over its knees: bent as in `scenes`, they carry 75 N m, whatever others do.
    """
    robot = lw.load(model_file("digit/digit-v3_nomesh.xml"))
    q = robot.poses["qpos0"].copy()
    q[:3] = -0.12, 0.0, 1.18
    feet = (
        lw.constraints.Weld("world", f"{s}-foot", name=s, first_at=(0, y, 0.05))
        for s, y in (("left", 0.13), ("right", -0.13))
    )
    standing = robot.constrained(*feet)
    springs = [j.name for j in robot.joints if j.stiffness.any()]
    return standing, standing.assemble(q, fixed=["base_joint", *springs])


def digit_with_cut_rods() -> tuple[Mechanism, Floats]:
    """Digit of the benchmarks, without springs, its rods cut: 48 rows of rank 32."""
    robot = scenes.digit_standing()
    return robot, robot.poses["assembled"]


STANDING: dict[str, Callable[[], tuple[Mechanism, Floats]]] = {
    "Cassie": cassie,
    "Digit": digit,
    "Digit with cut rods": digit_with_cut_rods,
}
each_robot = pytest.mark.parametrize("name", STANDING)


@cache
def standing(name: str) -> tuple[Mechanism, Floats, lw.results.Equilibrium]:
    robot, q = STANDING[name]()
    return robot, q, robot.equilibrium(q)


def still(robot: Mechanism) -> Floats:
    return np.zeros(robot.nv)


@pytest.mark.slow
@needs_models
@each_robot
def test_motors_of_standing_robots_carry_little(name: str) -> None:
    robot, _, found = standing(name)
    motors = [robot.v_index(a.joint) for a in robot.actuators]
    assert np.abs(found.torque[motors]).max() < 25.0
    assert not np.delete(found.torque, motors).any() and not found.beyond_limits


@needs_models
@each_robot
def test_feet_carry_the_weight(name: str) -> None:
    robot, _, found = standing(name)
    feet = [c for c in robot.constraints if isinstance(c, lw.constraints.Weld) and "world" in c.places]
    force = sum(found.forces[c.name][-3:] for c in feet)
    np.testing.assert_allclose(force, -robot.mass * robot.gravity, rtol=0, atol=1e-9)


@needs_models
@each_robot
def test_nothing_accelerates_there(name: str) -> None:
    robot, _, found = standing(name)
    tau = found.torque + lw.passive_forces(robot, found.q, still(robot))
    back = lw.ForwardDynamics(robot, "kkt")(found.q, still(robot), tau)
    # Legs that are all but parallel jam between welded feet: a condition of 3e8 leaves 2e-8 of 7e3 m/s² that cancel.
    p = Problem(robot, found.q, still(robot), tau)
    known = ROUNDING * np.sqrt(p.condition) * np.abs(p.free).max()
    assert np.abs(back.acceleration).max() < max(1e-8, known)


@needs_models
@each_robot
def test_loops_and_held_feet_stay_closed(name: str) -> None:
    robot, _, found = standing(name)
    assert np.abs(lw.constraint_error(robot, found.q)).max() < 1e-11


@needs_models
@each_robot
def test_motors_of_an_equilibrium_are_those_of_inverse_dynamics(name: str) -> None:
    """To what rows that hardly hold leave: those of Cassie's welded legs have a condition of 5e3, squared in G."""
    robot, _, found = standing(name)
    s = lw.InverseDynamics(robot, "actuated").solve(found.q, still(robot), still(robot))
    np.testing.assert_allclose(s.torque, found.torque, rtol=0, atol=1e-5)


@needs_models
def test_springs_of_cassie_settle_by_less_than_a_degree_and_its_pelvis_by_millimeters() -> None:
    """Where it stands the springs would need 1399 N m of a motor; a motion of 4 mm and 0.3 degrees spares them."""
    robot, q, found = standing("Cassie")
    there = lw.InverseDynamics(robot, "actuated")(q, still(robot), still(robot))
    assert np.abs(there).max() > 1000.0
    moved = robot.difference(q, found.q)
    assert np.abs(moved[:3]).max() < 4e-3 and np.degrees(np.abs(moved).max()) < 1.0


@needs_models
def test_an_equilibrium_found_again_stays_where_it_is() -> None:
    robot, _, found = standing("Digit")
    again = robot.equilibrium(found.q)
    assert np.abs(robot.difference(found.q, again.q)).max() < 1e-4
    np.testing.assert_allclose(again.torque, found.torque, rtol=0, atol=0.05)


# Small mechanisms whose equilibria are known --------------------------------------------------------------------------


def pendulum(stiffness: float = 0.0, actuated: bool = False) -> Mechanism:
    """A rod of 2 kg and 1 m on a hinge about y, with a spring that is at rest where the rod is horizontal."""
    build = lw.Builder("pendulum").body("rod", lw.Inertia.rod(2.0, (0, 0, 0), (1, 0, 0)))
    build.joint("hinge", lw.joints.Revolute("y"), "world", "rod", actuated=actuated, stiffness=stiffness)
    return build.build()


def test_what_nothing_carries_hangs() -> None:
    found = pendulum().equilibrium([0.3])
    assert found.q[0] == pytest.approx(np.pi / 2, abs=1e-9) and found.torque[0] == 0.0


def test_a_level_pendulum_hangs_too() -> None:
    """Its potential energy has a slope there, and no curvature."""
    assert pendulum().equilibrium([0.0]).q[0] == pytest.approx(np.pi / 2, abs=1e-9)


def test_a_spring_without_a_motor_carries_the_weight() -> None:
    k = 100.0
    found = pendulum(k).equilibrium([0.0])
    assert k * found.q[0] == pytest.approx(9.81 * np.cos(found.q[0]), abs=1e-9)
    assert found.torque[0] == 0.0


def test_a_motor_beside_a_spring_carries_what_is_left_and_the_joint_stays() -> None:
    found = pendulum(100.0, actuated=True).equilibrium([0.2])
    assert found.q[0] == 0.2
    assert found.torque[0] == pytest.approx(100.0 * 0.2 - 9.81 * np.cos(0.2), abs=1e-12)


def series_elastic(stiffness: float) -> Mechanism:
    """A motor, a spring behind it, and a rod of 2 kg and 1 m on that."""
    build = lw.Builder("series elastic").body("gear", lw.Inertia.sphere(0.1, 0.05))
    build.body("rod", lw.Inertia.rod(2.0, (0, 0, 0), (1, 0, 0)))
    build.joint("motor", lw.joints.Revolute("y"), "world", "gear", actuated=True)
    build.joint("spring", lw.joints.Revolute("y"), "gear", "rod", stiffness=stiffness)
    return build.build()


@pytest.mark.parametrize("stiffness", [50.0, 500.0, 50000.0])
def test_motor_and_spring_in_series_carry_the_same(stiffness: float) -> None:
    robot = series_elastic(stiffness)
    found = robot.equilibrium([0.1, 0.0])
    assert found.torque[0] == pytest.approx(-stiffness * found.q[1], rel=1e-9)
    assert found.torque[0] == pytest.approx(-9.81 * np.cos(found.q.sum()), abs=1e-9)


@pytest.mark.parametrize(("stiffness", "stays"), [(1e-3, True), (1e5, False)])
def test_a_weak_spring_in_a_loop_leaves_the_weight_to_the_motor_and_a_stiff_one_takes_it(
    stiffness: float, stays: bool
) -> None:
    """Of a four-bar the motor turns one bar, the spring another: one freedom, which both can hold."""
    robot = lw.zoo.four_bar()
    q = robot.poses["assembled"]
    first, other = robot.joints[0].name, robot.joints[-1].name
    joints = tuple(
        replace(
            j,
            actuated=j.name == first,
            stiffness=np.array([stiffness if j.name == other else 0.0]),
            rest=q[robot.q_slice(j.name)] - 0.01,
        )
        for j in robot.joints
    )
    robot = replace(robot, joints=joints)
    found = robot.equilibrium(q)
    moved = np.abs(robot.difference(q, found.q)).max()
    push = lw.InverseDynamics(robot, "actuated", passive=False)(q, still(robot), still(robot))
    part = np.abs(found.torque).max() / np.abs(push).max()
    assert (moved < 1e-3 and part > 0.99) if stays else (moved > 1e-2 and part < 1e-3)


def test_a_robot_in_the_air_has_no_equilibrium() -> None:
    with pytest.raises(
        lw.errors.NotConverged, match=r"in static equilibrium: joint 'base' lacks \S+ N m \(or N\). Hold its feet"
    ):
        lw.zoo.humanoid().equilibrium()


def test_a_speck_in_the_air_has_none_either() -> None:
    """Forces of 1e-8 N are as much missing as those of a humanoid."""
    speck = (
        lw.Builder("speck")
        .body("speck", lw.Inertia.sphere(1e-9, 1e-4))
        .joint("base", lw.joints.Free(), "world", "speck")
    )
    with pytest.raises(lw.errors.NotConverged, match="joint 'base' lacks"):
        speck.build().equilibrium()


def test_a_batch_of_configurations_is_an_error_in_words() -> None:
    with pytest.raises(lw.errors.InputError, match=r"q has shape \(2, 3\), needs \(3,\): one state"):
        lw.zoo.four_bar().equilibrium(np.zeros((2, 3)))
