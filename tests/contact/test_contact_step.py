# SPDX-License-Identifier: BSD-3-Clause
"""Steps in time with contacts: the laws of contact, facts of mechanics, and the same numbers from every backend."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.contacts import ContactPair, ContactShape
from linkwork.model.placement import Placement
from linkwork.model.shapes import Box, Sphere
from tests.support.contact_scenes import (
    EDGE,
    box_on_plane,
    free_bodies,
    ground,
    laws_of_contact,
    stack,
    touching,
    tripod,
)

DT = 1e-3
G = 9.81
TOLERANCE = 5e-9
"""Of velocities: that of the solver is 3e-9 of the velocity at which bodies of this size fall."""


def run(
    step: lw.contact.ContactStep, q: np.ndarray, v: np.ndarray, steps: int, tau: np.ndarray | None = None
) -> tuple[lw.contact.ContactSolution, list[lw.contact.ContactSolution]]:
    """The last solution of so many steps, and all of them; every one is to converge."""
    solutions: list[lw.contact.ContactSolution] = []
    for _ in range(steps):
        s = step(q, v, tau, start=solutions[-1] if solutions else None)
        assert s.converged
        solutions.append(s)
        q, v = s.q, s.v
    return solutions[-1], solutions


# The laws of contact ------------------------------------------------------------------------------------------------


def moved_box(speed: float, seed: int) -> tuple[lw.Mechanism, np.ndarray, np.ndarray]:
    robot, q = box_on_plane(friction=0.6)
    return robot, q, speed * np.random.default_rng(seed).normal(size=robot.nv)


@pytest.mark.parametrize("speed", [0.0, 1e-3, 0.1, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_step_obeys_the_laws_of_contact(speed: float, seed: int) -> None:
    robot, q, v = moved_box(speed, seed)
    s = lw.contact.ContactStep(robot)(q, v)
    assert s.converged and s.residual < TOLERANCE
    missed = laws_of_contact(robot, q, v, s, DT)
    assert max(missed.values()) < 1e-7, missed
    assert missed["dynamics"] < 1e-10  # rounding, of penalties that are 1e7 times the inertia


@pytest.mark.parametrize("masses", [[1.0] * 5, [1.0, 1.0, 1000.0], [1000.0, 1.0, 1e-3]], ids=str)
def test_stacks_stand_and_carry_their_weight(masses: list[float]) -> None:
    robot, q = stack(masses)
    s = lw.contact.ContactStep(robot)(q, np.zeros(robot.nv))
    assert s.converged
    assert np.abs(s.v).max() < len(masses) * TOLERANCE
    for k, pair in enumerate(robot.contacts):
        carried = s.impulses[pair.name][:, 2].sum()
        assert abs(carried - sum(masses[k:]) * G * DT) < 1e-8 * sum(masses) * G * DT + TOLERANCE * sum(masses)
    assert max(laws_of_contact(robot, q, np.zeros(robot.nv), s, DT).values()) < 1e-7


def test_forces_of_redundant_contacts_are_shared_evenly() -> None:
    robot, q = box_on_plane()
    s = lw.contact.ContactStep(robot)(q, np.zeros(6))
    np.testing.assert_allclose(s.forces[:, 2], G / 4, rtol=1e-5)


def test_a_stack_does_not_move() -> None:
    robot, q = stack([1.0] * 4)
    last, _ = run(lw.contact.ContactStep(robot), q, np.zeros(robot.nv), 200)
    assert np.abs(last.q - q).max() < 5e-9


def test_a_body_that_spins_in_flight_keeps_its_momentum() -> None:
    """Its velocity is in axes that turn; counted in those of the start of a step, it stays, and so does its energy."""
    solid = Sphere(0.1)
    robot = touching(free_bodies([solid], [1.0]), ContactPair(ground(), ContactShape("ball", "b0", solid)))
    robot = robot.with_gravity((0, 0, 0))
    q = robot.neutral()
    q[2] = 5.0
    v = np.array([2.0, 0.0, 0.0, 1.0, 20.0, -3.0])
    last, _ = run(lw.contact.ContactStep(robot), q, v, 500)
    world = lw.frame_velocity(robot, last.q, last.v, "b0", "aligned")
    np.testing.assert_allclose(world[3:], v[:3], atol=1e-12)
    np.testing.assert_allclose(last.q[:3], [1.0, 0.0, 5.0], atol=1e-12)


# Friction -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("slope", [0.5 - 1e-9, 0.5 + 1e-9])
def test_a_box_slides_where_the_slope_is_steeper_than_friction(slope: float) -> None:
    """``a = g (sin - mu cos)``, to rounding; at rest below."""
    tilt = np.arctan(slope)
    robot, q = box_on_plane(friction=0.5, tilt=tilt)
    step = lw.contact.ContactStep(robot, tolerance=1e-13)
    s = step(q, np.zeros(6))
    expected = max(0.0, G * (np.sin(tilt) - 0.5 * np.cos(tilt))) * DT
    assert s.converged
    assert np.linalg.norm(s.v[:3]) == pytest.approx(expected, abs=2e-13)
    assert (expected > 0) == (np.linalg.norm(s.v[:3]) > 4e-12)


def test_a_sliding_box_decelerates_by_friction_and_stops() -> None:
    robot, q = box_on_plane(friction=0.3)
    v = np.array([0.5, 0.0, 0.0, 0.0, 0.0, 0.0])
    last, solutions = run(lw.contact.ContactStep(robot), q, v, 180)
    speeds = np.array([s.v[0] for s in solutions])
    times = DT * np.arange(1, len(speeds) + 1)
    np.testing.assert_allclose(speeds, np.maximum(0.5 - 0.3 * G * times, 0.0), atol=1e-6)
    assert last.q[0] == pytest.approx(0.5**2 / (2 * 0.3 * G), abs=0.5 * DT)


def test_without_friction_a_box_keeps_its_velocity() -> None:
    robot, q = box_on_plane(friction=0.0)
    v = np.array([0.5, -0.2, 0.0, 0.0, 0.0, 0.0])
    s = lw.contact.ContactStep(robot)(q, v)
    assert s.converged
    np.testing.assert_allclose(s.v, v, atol=TOLERANCE)
    assert np.abs(s.forces[:, :2]).max() == 0.0


def test_a_sphere_comes_to_roll() -> None:
    """5/7 of the velocity at which it started to slide."""
    solid = Sphere(0.1)
    robot = touching(
        free_bodies([solid], [1.0]), ContactPair(ground(), ContactShape("ball", "b0", solid), friction=0.4)
    )
    q = robot.neutral()
    q[2] = 0.1
    last, _ = run(lw.contact.ContactStep(robot), q, np.array([1.0, 0, 0, 0, 0, 0]), 120)
    np.testing.assert_allclose(lw.frame_velocity(robot, last.q, last.v, "b0", "aligned")[3], 5 / 7, rtol=2e-3)
    assert np.abs(last.contact_velocity[0, :2]).max() < 1e-5
    assert abs(last.gaps[0]) < 1e-8


# Gaps, penetration, restitution, compliance -------------------------------------------------------------------------


def test_a_contact_closes_and_no_more() -> None:
    """Speculative contact: the gap after the step is zero, not negative."""
    robot, q = box_on_plane()
    q[2] += 0.4 * DT
    s = lw.contact.ContactStep(robot)(q, np.array([0, 0, -1.0, 0, 0, 0]))
    np.testing.assert_allclose(s.gaps, 0.4 * DT, rtol=1e-9)
    np.testing.assert_allclose(lw.contact.ContactGeometry(robot)(s.q).gaps, 0.0, atol=1e-9)


def test_deep_overlap_separates_without_exploding() -> None:
    robot, q = box_on_plane()
    q[2] -= 0.8 * EDGE
    last, solutions = run(lw.contact.ContactStep(robot), q, np.zeros(6), 1500)
    speeds = [np.abs(s.v).max() for s in solutions]
    assert max(speeds) < 0.101 * np.sqrt(G * EDGE * np.sqrt(2))  # the bound on the velocity at which it is pushed out
    assert speeds[-1] < 1e-6
    assert np.abs(last.gaps).max() < 1e-6


@pytest.mark.parametrize("restitution", [0.3, 0.8, 1.0])
def test_a_ball_bounces_by_its_restitution(restitution: float) -> None:
    solid = Sphere(0.1)
    ball = ContactShape("ball", "b0", solid)
    robot = touching(free_bodies([solid], [1.0]), ContactPair(ground(), ball, friction=0.5, restitution=restitution))
    q = robot.neutral()
    q[2] = 0.1 + 0.2 * DT
    s = lw.contact.ContactStep(robot)(q, np.array([0, 0, -1.0, 0, 0, 0]))
    assert s.v[2] == pytest.approx(restitution, abs=TOLERANCE)
    q[2] = 0.1
    rest, _ = run(
        lw.contact.ContactStep(robot), q, np.array([0, 0, -0.01, 0, 0, 0]), 5
    )  # slower than two steps of gravity
    assert abs(rest.v[2]) < TOLERANCE


def test_a_compliant_contact_is_a_spring() -> None:
    """In equilibrium, the penetration is compliance times force."""
    solid = Sphere(0.1)
    ball, compliance = ContactShape("ball", "b0", solid), 1e-4
    robot = touching(free_bodies([solid], [2.0]), ContactPair(ground(), ball, compliance=compliance))
    q = robot.neutral()
    q[2] = 0.1 - compliance * 2.0 * G
    s = lw.contact.ContactStep(robot)(q, np.zeros(6))
    assert s.forces[0, 2] == pytest.approx(2.0 * G, rel=1e-6)
    assert np.abs(s.v).max() < TOLERANCE
    hard = lw.contact.ContactStep(touching(robot, replace(robot.contacts[0], compliance=1e-14)))(q, np.zeros(6))
    assert hard.forces[0, 2] > 100 * G  # a stiff spring that is compressed by 2 mm


# Joints and loops ---------------------------------------------------------------------------------------------------


def arm(**options: float) -> lw.Mechanism:
    """A horizontal arm on a hinge, under gravity."""
    build = lw.Builder("arm").body("arm", lw.Inertia(1.0, (0.3, 0.0, 0.0), 0.02 * np.eye(3)))
    return build.joint("hinge", lw.joints.Revolute("y"), "world", "arm", **options).build()


def test_a_limit_holds_and_only_pushes() -> None:
    robot = arm(lower=-1.0, upper=0.2)
    step = lw.contact.ContactStep(robot)
    last, solutions = run(step, np.zeros(1), np.zeros(1), 600)
    assert last.q[0] == pytest.approx(0.2, abs=1e-9)
    assert last.limit_impulses[0] == pytest.approx(-G * 0.3 * np.cos(0.2) * DT, rel=1e-6)
    assert max(s.q[0] for s in solutions) < 0.2 + 1e-9
    assert max(s.limit_impulses[0] for s in solutions) < 1e-12
    away = step([0.2], [-1.0])  # moving off: no force
    assert abs(away.limit_impulses[0]) < 1e-9
    free = lw.contact.ContactStep(robot, limits=False)(last.q, last.v)
    assert free.v[0] > 0


@pytest.mark.parametrize("part", [1 - 1e-6, 1 + 1e-6])
def test_dry_friction_of_a_joint_holds_until_breakaway(part: float) -> None:
    robot = arm(friction=0.7)
    torque = G * 0.3  # of gravity
    s = lw.contact.ContactStep(robot, tolerance=1e-12)(np.zeros(1), np.zeros(1), [-torque + part * 0.7])
    inertia = lw.mass_matrix(robot, np.zeros(1))[0, 0]
    assert s.v[0] == pytest.approx(max(0.0, part - 1) * 0.7 * DT / inertia, abs=1e-11)
    assert s.friction_impulses[0] == pytest.approx(-min(part, 1.0) * 0.7 * DT, abs=1e-11)


def test_damping_and_springs_are_those_of_simulation() -> None:
    """Where nothing touches and no joint is free, a step is that of semi-implicit Euler."""
    robot = lw.zoo.random_tree(3, 8, "rphu")
    joints = tuple(replace(j, damping=j.damping + 0.3, friction=0.0 * j.friction) for j in robot.joints)
    robot = replace(robot, joints=joints)
    q, v = robot.random(0), np.random.default_rng(0).normal(size=robot.nv)
    tau = np.random.default_rng(1).normal(size=robot.nv)
    s = lw.contact.ContactStep(robot, limits=False)(q, v, tau)
    step = lw.simulate(robot, q, v, seconds=DT, dt=DT, tau=tau)
    np.testing.assert_allclose(s.v, step.v[-1], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(s.q, step.q[-1], rtol=1e-12, atol=1e-13)
    assert s.iterations == 1


def test_loops_stay_closed() -> None:
    robot = lw.zoo.four_bar()
    q = np.array(robot.poses["assembled"])
    last, solutions = run(lw.contact.ContactStep(robot), q, np.zeros(robot.nv), 300)
    assert np.abs(last.v).max() > 1.0
    assert max(np.abs(lw.constraint_error(robot, s.q)).max() for s in solutions) < 1e-6
    energies = [sum(lw.energy(robot, s.q, s.v)) for s in solutions]
    assert max(energies) - min(energies) < 0.02 * abs(energies[0])


def four_bar_on_ground() -> tuple[lw.Mechanism, np.ndarray]:
    """A closed four-bar that lies on the ground with two balls, floating."""
    build = lw.Builder("frame")
    rod = lw.Inertia(0.5, (0.15, 0.0, 0.0), np.diag([1e-4, 4e-3, 4e-3]) + 0.5 * 0.15**2 * np.diag([0, 1, 1]))
    for name in ("a", "b", "c", "d"):
        build.body(name, rod)
    build.joint("base", lw.joints.Free(), "world", "a")
    build.joint("ab", lw.joints.Revolute("y"), "a", "b", (0.3, 0.0, 0.0))
    build.joint("bc", lw.joints.Revolute("y"), "b", "c", (0.3, 0.0, 0.0))
    build.joint("cd", lw.joints.Revolute("y"), "c", "d", (0.3, 0.0, 0.0))
    tree = build.build()
    q = tree.neutral()
    q[tree.q_slice("ab")] = q[tree.q_slice("bc")] = q[tree.q_slice("cd")] = -np.pi / 2
    q[2] = 0.05
    robot = tree.constrained(lw.constraints.Hinge("a", "d", second_at=(0.3, 0.0, 0.0), axis="y", name="closing"))
    balls = [ContactShape(f"ball {k}", "a", Sphere(0.05), Placement((x, 0.0, 0.0))) for k, x in ((0, 0.0), (1, 0.3))]
    return touching(robot, *(ContactPair(ground(), ball, friction=0.7) for ball in balls)), q


def test_loops_and_contacts_in_one_step() -> None:
    robot, q = four_bar_on_ground()
    v = np.zeros(robot.nv)
    assert np.abs(lw.constraint_error(robot, q)).max() < 1e-12
    s = lw.contact.ContactStep(robot)(q, v)
    assert s.converged
    assert max(laws_of_contact(robot, q, v, s, DT).values()) < 1e-7
    assert np.abs(lw.constraint_jacobian(robot, q) @ s.v).max() < TOLERANCE
    last, _ = run(lw.contact.ContactStep(robot), q, v, 100)
    assert np.abs(lw.constraint_error(robot, last.q)).max() < 1e-7


# Ways to run --------------------------------------------------------------------------------------------------------


def pushed(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eleven states at ``q``, the first of them at rest."""
    Q, V = np.tile(q, (11, 1)), 0.3 * np.random.default_rng(0).normal(size=(11, 6))
    V[0] = 0.0
    return Q, V


@pytest.mark.parametrize("form", ["reduced", "by slots"])
def test_all_backends_agree(form: str) -> None:
    robot, q = box_on_plane()
    Q, V = pushed(q)
    step = lw.contact.ContactStep(robot)
    native = step if form == "reduced" else step.by_slots
    batch, plain = native(Q, V), native.plain()(Q, V)
    ones = [native(x, y) for x, y in zip(Q, V, strict=True)]
    for other in (plain,) if form == "reduced" else (plain, native.compile()(Q, V)):
        np.testing.assert_allclose(batch.v, other.v, atol=1e-7)
        np.testing.assert_allclose(batch.forces, other.forces, atol=1e-3)
        assert np.abs(batch.iterations - other.iterations).max() <= 2
    np.testing.assert_allclose(batch.v, [s.v for s in ones], atol=1e-7)
    np.testing.assert_array_equal(batch.gaps.shape, (11, 4))


def test_steps_by_the_reduced_matrix_are_those_by_slots() -> None:
    """Where forces are unique: those of four points of a face that slides are not, nor is its velocity after a step."""
    robot, q = tripod()
    Q, V = pushed(q)
    reduced = lw.contact.ContactStep(robot)
    one = reduced(Q, V)
    assert one.converged.all() and one.is_listed
    for other in (reduced.by_slots(Q, V), reduced.compile()(Q, V)):
        assert other.converged.all() and not other.is_listed
        np.testing.assert_allclose(one.v, other.v, atol=1e-7)
        np.testing.assert_allclose(one.forces[..., 2], other.forces[..., 2], atol=1e-5)
        np.testing.assert_allclose(one.acceleration, other.acceleration, atol=1e-4)


def test_a_result_does_not_depend_on_its_neighbors() -> None:
    robot, q = box_on_plane()
    rng = np.random.default_rng(0)
    Q, V = np.tile(q, (16, 1)), rng.normal(size=(16, 6))
    step = lw.contact.ContactStep(robot)
    whole, shuffled = step(Q, V), step(Q[::-1].copy(), V[::-1].copy())
    np.testing.assert_array_equal(whole.v, shuffled.v[::-1])


def test_out_bind_and_warm_start() -> None:
    robot, q = box_on_plane()
    v = np.array([0.2, 0.0, 0.0, 0.0, 0.0, 0.0])
    step = lw.contact.ContactStep(robot)
    s = step(q, v)
    q1, v1 = np.empty(7), np.empty(6)
    t = step(q, v, out=(q1, v1))
    assert t.q is q1 and t.v is v1
    np.testing.assert_array_equal(v1, s.v)
    result = np.empty_like(s.result)
    call = step.bind(q, v, np.zeros(6), out=(q1, v1, result))
    call()
    np.testing.assert_array_equal(v1, s.v)
    again = step(s.q, s.v, start=s)
    cold = step(s.q, s.v)
    np.testing.assert_allclose(again.v, cold.v, atol=TOLERANCE)
    still = step(q, np.zeros(6))
    assert step(still.q, still.v, start=still).iterations == 1


def test_a_copy_steps_alike() -> None:
    robot, q = box_on_plane()
    step = lw.contact.ContactStep(robot, dt=2e-3, tolerance=1e-9)
    copy = pickle.loads(pickle.dumps(step))
    np.testing.assert_array_equal(step(q, np.ones(6)).v, copy(q, np.ones(6)).v)


@pytest.mark.parametrize("length", [1e-3, 1e3])
@pytest.mark.parametrize("mass", [1e-3, 1e3])
def test_units_do_not_matter(length: float, mass: float) -> None:
    """A box in other units of length and mass takes about as many iterations, and moves alike."""
    v = np.array([0.3, 0.1, -0.2, 1.0, 2.0, 0.5])
    robot, q = box_on_plane()
    scaled, p = box_on_plane(mass=mass, edge=EDGE * length, gravity=G * length)
    unit = np.array([length] * 3 + [1.0] * 3)
    s, t = lw.contact.ContactStep(robot)(q, v), lw.contact.ContactStep(scaled)(p, unit * v)
    assert abs(s.iterations - t.iterations) <= 1
    np.testing.assert_allclose(t.v / unit, s.v, atol=TOLERANCE)
    np.testing.assert_allclose(t.forces / (mass * length), s.forces, rtol=1e-6, atol=1e-6 * G)


# What is refused, and what is said ----------------------------------------------------------------------------------


def test_a_step_that_does_not_converge_says_so() -> None:
    robot, q = box_on_plane()
    v = np.array([1.0, 0.3, -1.0, 3.0, 2.0, 1.0])
    with pytest.warns(lw.errors.StateWarning, match="did not solve the contacts"):
        s = lw.contact.ContactStep(robot, max_iterations=1)(q, v)
    assert not s.converged and s.iterations == 1
    with pytest.raises(lw.errors.NotConverged, match="residual"):
        lw.contact.ContactStep(robot, max_iterations=1, strict=True)(q, v)


def test_wrong_arguments_are_refused() -> None:
    robot, q = box_on_plane()
    with pytest.raises(lw.errors.InputError, match="no solver 'magic'"):
        lw.contact.ContactStep(robot, solver="magic")  # type: ignore[arg-type]
    with pytest.raises(lw.errors.InputError, match="less than a step"):
        lw.contact.ContactStep(robot, dt=0.01, time_constant=1e-3)
    with pytest.raises(KeyError):
        lw.contact.ContactStep(robot)(q, np.zeros(6)).impulses["no such pair"]


@pytest.mark.parametrize("seed", range(4))
def test_random_piles_converge(seed: int) -> None:
    """Boxes and balls that hit each other and the ground, masses over three decades."""
    rng = np.random.default_rng(seed)
    solids = [Box(tuple(rng.uniform(0.1, 0.3, 3))) if k % 2 else Sphere(rng.uniform(0.05, 0.15)) for k in range(4)]
    bodies = free_bodies(solids, list(10 ** rng.uniform(-1.5, 1.5, 4)))
    shapes = [ContactShape(f"s{k}", f"b{k}", solid) for k, solid in enumerate(solids)]
    pairs = [ContactPair(ground(), shape, friction=rng.uniform(0, 1.2)) for shape in shapes]
    pairs += [ContactPair(a, b, friction=rng.uniform(0, 1.2)) for a, b in pairwise(shapes)]
    robot = touching(bodies, *pairs)
    q = robot.neutral()
    for k in range(4):
        q[7 * k : 7 * k + 3] = rng.uniform(-0.1, 0.1, 3) + np.array([0.0, 0.0, 0.15 + 0.12 * k])
    v = rng.normal(size=robot.nv)
    s = lw.contact.ContactStep(robot)(q, v)
    assert np.isfinite(s.v).all()
    assert s.converged


@pytest.mark.parametrize("solver", ["newton", "pgs", "admm"])
def test_a_robot_without_rows_moves_as_by_forward_dynamics(solver: str) -> None:
    robot = lw.zoo.pendulum(2)
    q, v, dt = np.array([0.3, -0.2]), np.array([1.0, 0.5]), 1e-3
    step = lw.contact.ContactStep(robot, dt, solver=solver)(q, v, np.zeros(2))
    np.testing.assert_allclose(step.v, v + dt * lw.ForwardDynamics(robot)(q, v, np.zeros(2)).acceleration, rtol=1e-12)
