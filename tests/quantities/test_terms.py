# SPDX-License-Identifier: BSD-3-Clause
"""All terms at once are those of single functions; the inverse mass matrix, subtrees, points of bodies.

Beside peers: `test_agreement_pinocchio` and `test_quantities_peers`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.mechanism import Mechanism
from tests.quantities.test_jacobian_rates import DERIVATIVE, EXACT, along, tree
from tests.support.states import Floats, State, assert_close, random_state

SEEDS = range(8)


def frames_of(robot: Mechanism) -> tuple[str, ...]:
    return (robot.body_names[-1], robot.body_names[0], "world")


# Terms --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reference", ["local", "aligned", "world"])
@pytest.mark.parametrize("seed", SEEDS)
def test_terms_are_what_each_function_says(seed: int, reference: Any) -> None:
    robot = tree(seed)
    s, frames = random_state(robot, seed, 3), frames_of(robot)
    t = robot.terms(s.q, s.v, frames, reference)
    size = float(np.abs(t.mass_matrix).max())
    assert_close(t.mass_matrix, lw.mass_matrix(robot, s.q), EXACT)
    assert_close(t.bias_forces, lw.bias_forces(robot, s.q, s.v), EXACT, size)
    assert_close(t.gravity_forces, lw.gravity_forces(robot, s.q), EXACT, size)
    assert_close(t.energy.kinetic, lw.energy(robot, s.q, s.v).kinetic, EXACT)
    assert_close(t.energy.potential, lw.energy(robot, s.q, s.v).potential, EXACT, size)
    assert_close(t.center_of_mass, lw.center_of_mass(robot, s.q), EXACT, 1.0)
    J = lw.center_of_mass_jacobian(robot, s.q)
    assert_close(t.center_of_mass_jacobian, J, EXACT, 1.0)
    assert_close(t.center_of_mass_velocity, (J @ s.v[..., None])[..., 0], EXACT, 1.0)
    assert_close(t.centroidal_momentum, lw.centroidal_momentum(robot, s.q, s.v), EXACT, size)
    assert_close(t.centroidal_momentum_matrix, lw.centroidal_momentum_matrix(robot, s.q), EXACT, size)
    assert_close(t.frames.position, lw.frame_placement(robot, s.q, frames).position, EXACT)
    assert_close(t.frames.rotation, lw.frame_placement(robot, s.q, frames).rotation, EXACT)
    assert_close(t.frame_jacobians, lw.frame_jacobian(robot, s.q, frames, reference), EXACT, 1.0)
    assert_close(t.frame_velocities, lw.frame_velocity(robot, s.q, s.v, frames, reference), EXACT, 1.0)
    rates = lw.frame_jacobian_rate(robot, s.q, s.v, frames, reference)
    fast = float(np.abs(rates).max(initial=1.0))
    assert_close(t.frame_bias_accelerations, (rates @ s.v[:, None, :, None])[..., 0], EXACT, fast)
    rate = lw.center_of_mass_jacobian_rate(robot, s.q, s.v)
    assert_close(t.center_of_mass_bias_acceleration, (rate @ s.v[..., None])[..., 0], EXACT, fast)


def test_terms_of_no_frames_and_of_one() -> None:
    robot = tree(5)
    s = random_state(robot, 0)
    none, one = lw.terms(robot, s.q, s.v), lw.terms(robot, s.q, s.v, robot.body_names[0])
    assert none.frame_jacobians.shape == (0, 6, robot.nv) and one.frame_jacobians.shape == (1, 6, robot.nv)
    assert none.energy.kinetic.shape == () and none.energy.total == none.energy.kinetic + none.energy.potential
    np.testing.assert_array_equal(none.mass_matrix, one.mass_matrix)
    with pytest.raises(lw.errors.InputError, match="no mass"):
        lw.terms(lw.Builder("nothing").build(), [], [])


def test_all_terms_take_fewer_operations_than_one_after_the_other() -> None:
    robot = lw.zoo.humanoid()
    parts = ("mass_matrix", "bias_forces", "gravity_forces", "centroidal_momentum_matrix", "energy")
    single = {name: lw.Evaluator(robot, name).operation_count().total for name in parts}  # type: ignore[arg-type]
    together = lw.Evaluator(robot, "terms").operation_count().total
    assert together < 0.85 * sum(single.values())


def test_terms_of_a_mechanism_with_loops_are_those_of_its_tree() -> None:
    """Rows have functions of their own; the velocity of a closed state keeps the loops closed."""
    robot = lw.zoo.stewart()
    q, v = robot.random_states(0, 4)
    t = robot.terms(q, v)
    assert_close(t.mass_matrix, lw.mass_matrix(robot, q), EXACT)
    moved = np.array(
        [along(robot, State(q[k], v[k], v[k], v[k]), lambda x: lw.energy(robot, x, v[0]).potential) for k in range(4)]
    )
    assert_close((t.gravity_forces * v).sum(axis=-1), moved, DERIVATIVE, float(np.abs(moved).max()))


def test_terms_have_the_rows_of_loops_and_the_motion_of_frames_along_them() -> None:
    """At accelerations of forward dynamics, frames and the center of mass accelerate by ``J a`` and the bias."""
    robot = lw.zoo.stewart()
    q, v = robot.random_states(0, 4)
    frames = robot.body_names[-2:]
    t = robot.terms(q, v, frames, "aligned")
    np.testing.assert_array_equal(t.constraint_jacobian, lw.constraint_jacobian(robot, q))
    np.testing.assert_array_equal(t.constraint_bias, lw.constraint_bias(robot, q, v))
    tau = (t.actuation_matrix @ np.ones((t.actuation_matrix.shape[-1], 1)))[..., 0]
    solution = lw.ForwardDynamics(robot)(q, v, tau)
    a = solution.acceleration
    moved = (t.frame_jacobians @ a[:, None, :, None])[..., 0] + t.frame_bias_accelerations
    size = float(np.abs(moved).max())
    assert_close(moved, lw.frame_acceleration(robot, q, v, a, frames, "aligned"), EXACT, size)
    f = np.concatenate([solution.forces[c.name] for c in robot.constraints], axis=-1)
    pushed = tau + (np.swapaxes(t.constraint_jacobian, -1, -2) @ f[..., None])[..., 0]
    assert_close((t.mass_matrix @ a[..., None])[..., 0] + t.bias_forces, pushed, 1e-8, float(np.abs(pushed).max()))
    opened = (t.constraint_jacobian @ a[..., None])[..., 0] + t.constraint_bias
    assert_close(opened, np.zeros_like(opened), 1e-8, size)


def test_the_actuation_matrix_has_gears_and_moment_arms() -> None:
    text = """<mujoco><worldbody><body name="a"><joint name="j" axis="0 1 0"/><geom type="sphere" size=".1" mass="1"/>
      <site name="s" pos=".2 .1 0"/><body name="b" pos=".5 0 0"><joint name="k" type="ball"/>
      <geom type="sphere" size=".1" mass="1"/></body></body><site name="w" pos=".3 0 .4"/></worldbody>
      <tendon><spatial name="t"><site site="w"/><site site="s"/></spatial></tendon>
      <actuator><motor joint="j" gear="3"/><motor tendon="t" gear="2"/><motor joint="k" gear="1 2 3"/></actuator>
    </mujoco>"""
    robot = lw.loads(text)
    q, v = robot.random(0, 5), np.zeros(robot.nv)
    B = lw.actuators.actuation_matrix(robot, q)
    assert B.shape == (5, 4, 3)
    for command in np.eye(3):
        assert_close(B @ command, lw.actuators.actuator_torques(robot, q, v, command), EXACT, 1.0)


def test_without_actuators_columns_are_those_of_actuated_joints() -> None:
    robot = lw.zoo.stewart()
    motors = [robot.v_index(joint.name) for joint in robot.joints if joint.actuated]
    assert motors and not robot.actuators
    np.testing.assert_array_equal(lw.actuators.actuation_matrix(robot, robot.neutral()), np.eye(robot.nv)[:, motors])


# Inverse mass matrix, subtrees, points ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_the_inverse_mass_matrix_is_an_inverse_in_batches_and_compiled(seed: int) -> None:
    robot = tree(seed)
    q = random_state(robot, seed, 5).q
    X = lw.inverse_mass_matrix(robot, q)
    M = lw.mass_matrix(robot, q)
    lost = 1e-14 * float(np.linalg.cond(M).max())
    assert_close(X @ M, np.broadcast_to(np.eye(robot.nv), M.shape), EXACT + lost)
    if seed < 4:  # larger programs take seconds
        fast = lw.Evaluator(robot, "inverse_mass_matrix").compile(threads=1)
        assert_close(fast(q), X, EXACT + lost)
        assert_close(fast(q[0]), X[0], EXACT + lost)


@pytest.mark.parametrize("seed", SEEDS)
def test_rates_of_jacobians_of_subtrees_and_points(seed: int) -> None:
    robot = tree(seed)
    s = random_state(robot, seed)
    body, point = robot.body_names[seed % len(robot.body_names)], np.random.default_rng(seed).normal(size=3)

    def of_subtree(q: Floats) -> Floats:
        return lw.kinematics.subtree_center_of_mass_jacobian(robot, q, body)

    assert_close(
        lw.kinematics.subtree_center_of_mass_jacobian_rate(robot, s.q, s.v, body),
        along(robot, s, of_subtree),
        DERIVATIVE,
        1.0,
    )
    moved = along(robot, s, lambda q: lw.kinematics.subtree_center_of_mass(robot, q, body))
    assert_close(of_subtree(s.q) @ s.v, moved, DERIVATIVE, 1.0)
    J = lw.kinematics.point_jacobian(robot, s.q, body, point)
    moved = along(robot, s, lambda q: lw.kinematics.point_position(robot, q, body, point))
    assert_close(J @ s.v, moved, DERIVATIVE, 1.0)
    rate = along(robot, s, lambda q: lw.kinematics.point_jacobian(robot, q, body, point))
    assert_close(lw.kinematics.point_jacobian_rate(robot, s.q, s.v, body, point), rate, DERIVATIVE, 1.0)


def test_the_subtree_of_the_whole_is_the_whole() -> None:
    robot = lw.zoo.humanoid()
    q = robot.random(0, 4)
    whole = lw.center_of_mass_jacobian(robot, q)
    assert_close(lw.kinematics.subtree_center_of_mass_jacobian(robot, q, robot.body_names[0]), whole, EXACT)
    fast = lw.Evaluator(lw.kinematics.subtree_of(robot, robot.body_names[0]), "center_of_mass")
    assert_close(fast(q), lw.center_of_mass(robot, q), EXACT)
    with pytest.raises(lw.errors.LinkworkError, match="nobody"):
        lw.kinematics.subtree_center_of_mass(robot, q, "nobody")


@pytest.mark.parametrize("seed", SEEDS)
def test_points_are_frames_of_their_own_in_batches(seed: int) -> None:
    robot = tree(seed)
    s = random_state(robot, seed, 4)
    body, points = robot.body_names[-1], np.random.default_rng(seed).normal(size=(4, 3))
    position, velocity = (
        lw.kinematics.point_position(robot, s.q, body, points),
        lw.kinematics.point_velocity(robot, s.q, s.v, body, points),
    )
    acceleration = lw.kinematics.point_acceleration(robot, s.q, s.v, s.a, body, points)
    J, rate = (
        lw.kinematics.point_jacobian(robot, s.q, body, points),
        lw.kinematics.point_jacobian_rate(robot, s.q, s.v, body, points),
    )
    for k in range(4):
        there = robot.with_frame("there", body, points[k])
        state = (s.q[k], s.v[k])
        assert_close(position[k], lw.frame_placement(there, s.q[k], "there").position, EXACT, 1.0)
        assert_close(velocity[k], lw.frame_velocity(there, *state, "there", "aligned")[3:], EXACT, 1.0)
        wanted = lw.frame_acceleration(there, *state, s.a[k], "there", "aligned")[3:]
        assert_close(acceleration[k], wanted, EXACT, 1.0)
        assert_close(J[k], lw.frame_jacobian(there, s.q[k], "there", "aligned")[3:], EXACT, 1.0)
        assert_close(rate[k], lw.frame_jacobian_rate(there, *state, "there", "aligned")[3:], EXACT, 1.0)
    assert_close((J @ s.a[..., None] + rate @ s.v[..., None])[..., 0], acceleration, EXACT, 1.0)
    assert_close(lw.kinematics.point_jacobian(robot, s.q[0], body, points).shape, (4, 3, robot.nv), EXACT)


def test_points_of_several_frames_are_computed_in_one_call() -> None:
    robot = tree(5)
    s, bodies = random_state(robot, 0, 4), robot.body_names[:3]
    points = np.random.default_rng(0).normal(size=(4, 3, 3))
    calls: list[tuple[Any, tuple[Floats, ...]]] = [
        (lw.kinematics.point_position, (s.q,)),
        (lw.kinematics.point_velocity, (s.q, s.v)),
        (lw.kinematics.point_acceleration, (s.q, s.v, s.a)),
        (lw.kinematics.point_jacobian, (s.q,)),
        (lw.kinematics.point_jacobian_rate, (s.q, s.v)),
    ]
    for call, state in calls:
        alone = [call(robot, *state, body, points[:, k]) for k, body in enumerate(bodies)]
        assert_close(call(robot, *state, bodies, points), np.stack(alone, axis=1), EXACT, 1.0)
        same = [call(robot, *state, body, points[0, 0]) for body in bodies]
        assert_close(call(robot, *state, bodies, points[0, 0]), np.stack(same, axis=1), EXACT, 1.0)
    with pytest.raises(lw.errors.InputError, match=r"3 frames need \(..., 3, 3\)"):
        lw.kinematics.point_jacobian(robot, s.q, bodies, points[:, :2])


def test_points_are_three_numbers() -> None:
    robot = lw.zoo.pendulum()
    for wrong, message in (([1.0, 2.0], r"needs \(..., 3\)"), ([np.nan, 0, 0], "NaN"), (3.0, r"needs \(..., 3\)")):
        with pytest.raises(lw.errors.InputError, match=f"point .*{message}"):
            lw.kinematics.point_position(robot, [0.0], robot.body_names[0], wrong)


# Configurations ---------------------------------------------------------------------------------------------------


def test_interpolation_begins_and_ends_and_goes_at_constant_speed() -> None:
    robot = tree(6)
    q, p = random_state(robot, 0, 5).q, random_state(robot, 1, 5).q
    parts = np.linspace(0, 1, 11)[:, None]
    way = robot.interpolate(q, p, parts)
    assert way.shape == (11, 5, robot.nq)
    assert_close(way[0], robot.normalize(q), EXACT)
    assert_close(robot.distance(way[-1], p), np.zeros(5), 1e-7, 1.0)
    steps = robot.distance(way[:-1], way[1:])
    assert_close(steps, np.broadcast_to(0.1 * robot.distance(q, p), steps.shape), 1e-9)


@pytest.mark.parametrize("make", [lw.zoo.four_bar, lw.zoo.stewart, lw.zoo.quadruped_standing, lw.zoo.humanoid])
def test_random_states_are_closed_within_limits_and_move_as_loops_allow(make: Any) -> None:
    robot = make()
    q, v = robot.random_states(3, (4, 5), speed=2.0)
    assert q.shape == (4, 5, robot.nq) and v.shape == (4, 5, robot.nv)
    if robot.nc:
        assert np.abs(lw.constraint_error(robot, q)).max() < 1e-9
        assert np.abs((lw.constraint_jacobian(robot, q) @ v[..., None])[..., 0]).max() < 1e-8
    assert (np.abs(v) <= robot.velocity_limit * (1 + 1e-12)).all()
    flat = q.reshape(-1, robot.nq)
    assert len({tuple(row) for row in flat.round(6).tolist()}) == 20
    again = robot.random_states(np.random.default_rng(3), (4, 5), speed=2.0)
    np.testing.assert_array_equal(again.q, q)
    np.testing.assert_array_equal(again.v, v)
    assert robot.random_states(0).q.shape == (robot.nq,) and robot.random_states(0, 0).v.shape == (0, robot.nv)


def test_random_states_of_what_cannot_close_say_so() -> None:
    robot = lw.zoo.serial_chain(2).constrained(lw.constraints.Point("link1", "world", first_at=(9.0, 0, 0), name="far"))
    with pytest.raises(lw.errors.AssemblyError, match="of 2 random states"):
        robot.random_states(0, 2)
