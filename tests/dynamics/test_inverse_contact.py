# SPDX-License-Identifier: BSD-3-Clause
"""Inverse dynamics with contacts: forces balance, stay within cones, are the least, and do what was asked."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import linkwork as lw
from linkwork.mechanism import Mechanism
from linkwork.quantities.scales import joint_units
from tests.support.robots import model_file
from tests.support.states import Floats, assert_close
from tests.support.units import Units, scaled

ROUNDING = 1e-9
"""What is left of a balance, as a part of its largest term; and how far forces leave their cones."""
FRICTION = 0.6
GRAVITY = 9.81

GROUND = lw.contact.ContactShape("ground", "world", lw.shapes.Ground())


class Stance(NamedTuple):
    """A robot on the ground."""

    robot: Mechanism
    q: Floats

    @property
    def weight(self) -> float:
        return self.robot.mass * GRAVITY


def on_ground(robot: Mechanism, feet: dict[str, tuple[str, Any, tuple[float, float, float]]]) -> Mechanism:
    """The robot with these feet, ``name: (body, solid, position)``, that may touch the ground."""
    pairs = [
        lw.contact.ContactPair(
            GROUND, lw.contact.ContactShape(name, body, solid, lw.Placement(at)), name, friction=FRICTION
        )
        for name, (body, solid, at) in feet.items()
    ]
    return replace(robot, contacts=tuple(pairs))


def lowered(robot: Mechanism, q: Floats) -> Stance:
    """The robot as low as its contacts let it be."""
    at = q.copy()
    at[robot.q_slice("base")][2] -= points_of(robot, at)[0].min()
    return Stance(robot, at)


def points_of(robot: Mechanism, q: Floats) -> tuple[Floats, Floats, Floats]:
    """Gaps, points and axes of all contact points."""
    found = lw.contact.ContactGeometry(robot).plain()(q)
    return found.gaps, found.points, found.frames


def table() -> Stance:
    """A top on four legs with point feet and a motor at each hip."""
    build = lw.Builder("table")
    build.body("top", lw.Inertia.box(10.0, (0.6, 0.4, 0.1)))
    build.joint("base", lw.joints.Free(), "world", "top")
    feet = {}
    for k, (x, y) in enumerate(product((-0.3, 0.3), (-0.2, 0.2))):
        build.body(f"leg{k}", lw.Inertia.rod(1.0, (0, 0, 0), (0, 0, -0.5), 0.02))
        build.joint(f"hip{k}", lw.joints.Revolute("y"), "top", f"leg{k}", at=(x, y, 0.0), actuated=True)
        feet[f"foot{k}"] = (f"leg{k}", lw.shapes.Sphere(0.02), (0.0, 0.0, -0.5))
    robot = on_ground(build.build(), feet)
    return lowered(robot, robot.neutral())


def humanoid() -> Stance:
    """A humanoid on the eight corners of its soles, its knees bent."""
    robot = lw.zoo.humanoid()
    robot = replace(robot, joints=tuple(replace(j, actuated=j.name != "base") for j in robot.joints))
    soles = [
        lw.contact.ContactShape(f"{side}_foot", f"{side}_foot", lw.shapes.Box((0.2, 0.1, 0.02)))
        for side in ("left", "right")
    ]
    robot = robot.with_contacts(*soles, friction=FRICTION)
    return lowered(robot, robot.neutral())


def four_bar_legs(both: bool = False) -> Stance:
    """A box on four legs, each a four-bar linkage with a motor at its hip, or one at its rod as well."""
    build = lw.Builder("four-bar legs")
    build.body("trunk", lw.Inertia.box(8.0, (0.6, 0.4, 0.1)))
    build.joint("base", lw.joints.Free(), "world", "trunk")
    pose: dict[str, tuple[float, ...]] = {}
    feet = {}
    for k, (x, y) in enumerate(product((-0.3, 0.3), (-0.2, 0.2))):
        build.body(f"thigh{k}", lw.Inertia.rod(0.6, (0, 0, 0), (0, 0, -0.3), 0.02))
        build.body(f"shank{k}", lw.Inertia.rod(0.5, (-0.1, 0, 0), (0.1, 0, -0.3), 0.02))
        build.body(f"rod{k}", lw.Inertia.rod(0.2, (0, 0, 0), (0, 0, -0.28), 0.01))
        build.joint(f"hip{k}", lw.joints.Revolute("y"), "trunk", f"thigh{k}", at=(x, y, 0.0), actuated=True)
        build.joint(f"knee{k}", lw.joints.Revolute("y"), f"thigh{k}", f"shank{k}", at=(0.0, 0.0, -0.3))
        build.joint(f"crank{k}", lw.joints.Revolute("y"), "trunk", f"rod{k}", at=(x - 0.1, y, 0.0), actuated=both)
        ends = {"first_at": (-0.1, 0.0, 0.0), "second_at": (0.0, 0.0, -0.28)}
        build.constrain(lw.constraints.Hinge(f"shank{k}", f"rod{k}", name=f"pin{k}", axis="y", **ends))
        feet[f"foot{k}"] = (f"shank{k}", lw.shapes.Sphere(0.02), (0.1, 0.0, -0.3))
        pose |= {f"hip{k}": (0.3,), f"knee{k}": (-0.3,)}
    robot = on_ground(build.build(), feet)
    q = robot.neutral()
    for name, value in pose.items():
        q[robot.q_slice(name)] = value
    q = robot.assemble(q, fixed=["base", *(f"hip{k}" for k in range(4))])
    return lowered(robot, q)


def cassie() -> Stance:
    """Cassie at its keyframe on the capsules of its feet, its springs held by motors; its heels are 4 mm up."""
    robot = lw.load(model_file("cassie/cassie.xml"))
    q = robot.assemble(robot.poses["home"])
    joints = tuple(
        replace(j, actuated=True, stiffness=0.0 * j.stiffness) if j.stiffness.any() else j for j in robot.joints
    )
    robot = replace(robot, joints=joints).without_contacts().with_contacts("left-foot", "right-foot", friction=FRICTION)
    base = next(j.name for j in robot.joints if isinstance(j.type, lw.joints.Free))
    at = q.copy()
    at[robot.q_slice(base)][2] -= points_of(robot, at)[0].min()
    return Stance(robot, at)


STANCES: dict[str, Callable[[], Stance]] = {
    "table": table,
    "humanoid": humanoid,
    "four-bar legs": four_bar_legs,
    "four-bar legs with two motors each": lambda: four_bar_legs(both=True),
    "Cassie": cassie,
}
each_stance = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.models) if name == "Cassie" else name for name in STANCES]
)


@cache
def stance(name: str) -> Stance:
    return STANCES[name]()


@cache
def inverse(name: str, **options: Any) -> lw.InverseDynamics:
    if name == "Cassie":
        options["max_gap"] = 0.01
    return lw.InverseDynamics(stance(name).robot, "actuated", contacts=True, **options)


def at_rest(name: str) -> tuple[Floats, Floats, Floats]:
    robot, q = stance(name)
    return q, np.zeros(robot.nv), np.zeros(robot.nv)


def moving(name: str, seed: int = 0, size: float = 0.3) -> tuple[Floats, Floats, Floats]:
    """A state with small velocities, and small accelerations to make."""
    robot, q = stance(name)
    rng = np.random.default_rng([seed, 5])
    v = size * rng.normal(size=robot.nv)
    if robot.nc:
        v = robot.project_velocity(q, v)
    return q, v, size * rng.normal(size=robot.nv)


def contact_jacobian(robot: Mechanism, q: Floats) -> Floats:
    """Velocities of contact points in their axes for those of joints, ``(3 nslots, nv)``: from frames of bodies."""
    _, points, axes = points_of(robot, q)
    rows, slot = [], 0
    for pair in robot.contacts:
        count = len(points) // len(robot.contacts)
        J = lw.Evaluator(robot, "frame_jacobian", [pair.second.body], "aligned").plain()(q)[0]
        origin = lw.Evaluator(robot, "frame_placement", [pair.second.body]).plain()(q)[1][0]
        for s in range(slot, slot + count):
            x, y, z = points[s] - origin
            across = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
            rows.append(axes[s].T @ (J[3:] - across @ J[:3]))
        slot += count
    return np.concatenate(rows)


def left_over(robot: Mechanism, q: Floats, v: Floats, s: lw.results.InverseSolution) -> float:
    """``M a + c - p - tau - J_l' lambda - J_c' f - unmet``, as a part of the largest of these."""
    f = np.concatenate([x.ravel() for x in s.contact_forces.values()])
    terms = [
        lw.mass_matrix(robot, q) @ s.acceleration,
        lw.bias_forces(robot, q, v),
        -lw.passive_forces(robot, q, v),
        -s.torque,
        -(contact_jacobian(robot, q).T @ f),
        -s.unmet,
    ]
    if robot.nc:
        terms.append(-(lw.constraint_jacobian(robot, q).T @ s.multipliers))
    return float(np.abs(sum(terms)).max() / max(np.abs(x).max() for x in terms))


def beyond_cones(robot: Mechanism, s: lw.results.InverseSolution) -> float:
    """How far forces are outside their cones, as a part of the weight."""
    worst = 0.0
    for pair in robot.contacts:
        f = s.contact_forces[pair.name]
        tangential = np.hypot(f[..., 0], f[..., 1])
        worst = max(worst, float((tangential - pair.friction * f[..., 2]).max()), float(-f[..., 2].min()))
    return worst / (robot.mass * GRAVITY)


def normal_force(s: lw.results.InverseSolution, name: str) -> float:
    """The normal force of a pair."""
    return float(s.contact_forces[name][:, 2].sum())


# Standing ----------------------------------------------------------------------------------------------------


@each_stance
def test_feet_carry_the_weight_and_no_moment_about_the_center_of_mass(name: str) -> None:
    robot, q = stance(name)
    s = inverse(name).solve(*at_rest(name))
    assert s.feasible
    _, points, axes = points_of(robot, q)
    forces = np.einsum("sij,sj->si", axes, np.concatenate(list(s.contact_forces.values())))
    levers = points - lw.center_of_mass(robot, q)
    assert_close(forces.sum(axis=0), [0.0, 0.0, stance(name).weight], ROUNDING)
    assert np.abs(np.cross(levers, forces).sum(axis=0)).max() <= ROUNDING * stance(name).weight


@each_stance
def test_torques_and_forces_make_the_motion(name: str) -> None:
    """Also where some of it is unmet, which then is as an external force."""
    robot, _ = stance(name)
    for state in (at_rest(name), moving(name)):
        s = inverse(name).solve(*state)
        assert left_over(robot, state[0], state[1], s) <= ROUNDING
        assert beyond_cones(robot, s) <= 1e-12
        if not robot.nc:
            assert np.array_equal(s.acceleration, state[2])


@each_stance
def test_joints_without_motor_have_no_torque(name: str) -> None:
    robot, _ = stance(name)
    s = inverse(name).solve(*moving(name))
    motors = {a.joint for a in robot.actuators} | {j.name for j in robot.joints if j.actuated}
    assert motors
    for joint in robot.joints:
        if joint.name not in motors:
            assert np.all(s.torque[robot.v_slice(joint.name)] == 0.0)


def test_forward_dynamics_with_these_torques_and_forces_makes_the_accelerations() -> None:
    robot, q = stance("four-bar legs")
    _, v, wanted = moving("four-bar legs", size=0.1)
    s = inverse("four-bar legs").solve(q, v, wanted)
    assert s.feasible
    _, points, axes = points_of(robot, q)
    frames, wrenches = list[str](), []
    held = robot.without_contacts()
    for pair, point, R in zip(robot.contacts, points, axes, strict=True):
        E, o = (x[0] for x in lw.Evaluator(robot, "frame_placement", [pair.second.body]).plain()(q))
        held = held.with_frame(f"at {pair.name}", pair.second.body, lw.Placement(E.T @ (point - o)))
        frames.append(f"at {pair.name}")
        wrenches.append(np.r_[np.zeros(3), E.T @ R @ s.contact_forces[pair.name][0]])
    forward = lw.ForwardDynamics(held, wrenches=frames)
    made = forward(q, v, s.torque + lw.passive_forces(robot, q, v), np.array(wrenches))
    assert_close(made.acceleration, s.acceleration, 1e-7)


@pytest.mark.models
def test_cassie_stands_on_its_springs() -> None:
    """Where its springs settle, feet held at their ends: ten motors, and the ground, do the rest."""
    robot = lw.load(model_file("cassie/cassie.xml")).without_contacts()
    robot = robot.with_contacts("left-foot", "right-foot", friction=FRICTION)
    q = robot.assemble(robot.poses["home"])
    ends = {"toe": (-0.052821, 0.092622, 0.0), "heel": (0.069746, -0.010224, 0.0)}
    held = []
    for side, (end, at) in product(("left", "right"), ends.items()):
        foot = lw.frame_placement(robot, q, f"{side}-foot")
        ground = foot.position + foot.rotation @ at
        held.append(lw.constraints.Point("world", f"{side}-foot", first_at=ground, second_at=at, name=f"{side} {end}"))
    stands = robot.constrained(*held).equilibrium(q)
    rest = np.zeros(robot.nv)
    q = stands.q.copy()
    q[2] -= points_of(robot, q)[0].min()
    s = lw.InverseDynamics(robot, contacts=True, max_gap=0.01).solve(q, rest, rest)
    assert s.feasible and not s.beyond_limits
    assert left_over(robot, q, rest, s) <= ROUNDING
    assert sum(f[:, 2].sum() for f in s.contact_forces.values()) == pytest.approx(robot.mass * GRAVITY)
    knees = [robot.v_index(name) for name in ("left-knee", "right-knee")]
    assert_close(s.torque[knees], stands.torque[knees], 1e-3)


@pytest.mark.parametrize("name", ["table", "humanoid", "four-bar legs"])
def test_feet_that_are_alike_carry_alike(name: str) -> None:
    """What is mirrored about x-z is mirrored: feet at the left and at the right share the load."""
    forces = list(inverse(name).solve(*at_rest(name)).contact_forces.values())
    normal = np.array([f[:, 2].sum() for f in forces])
    half = normal.reshape(-1, 2) if name != "humanoid" else normal[None]
    assert_close(half[:, 0], half[:, 1], 1e-7)


def test_forces_are_spread_evenly_over_the_corners_of_a_foot() -> None:
    """A box that stands still, its center of mass above the middle."""
    build = lw.Builder("box")
    build.body("box", lw.Inertia.box(3.0, (0.4, 0.2, 0.6)))
    build.joint("base", lw.joints.Free(), "world", "box")
    robot = build.build().with_contacts(lw.contact.ContactShape("box", "box", lw.shapes.Box((0.4, 0.2, 0.6))))
    at = lowered(robot, robot.neutral())
    (f,) = lw.InverseDynamics(robot, contacts=True).solve(at.q, np.zeros(6), np.zeros(6)).contact_forces.values()
    assert_close(f, np.tile([0.0, 0.0, at.weight / 4], (4, 1)), 1e-10, at.weight)


def test_a_box_on_a_box_presses_it_with_its_weight() -> None:
    """Contacts of two bodies that move push both; what is below carries both."""
    build = lw.Builder("two boxes")
    for name, mass in (("lower", 2.0), ("upper", 5.0)):
        build.body(name, lw.Inertia.box(mass, (0.2, 0.2, 0.2)))
        build.joint(f"{name} joint", lw.joints.Free(), "world", name)
    robot = build.build()
    lower, upper = (lw.contact.ContactShape(name, name, lw.shapes.Box((0.2, 0.2, 0.2))) for name in ("lower", "upper"))
    robot = robot.with_contacts(lw.contact.ContactPair(GROUND, lower), lw.contact.ContactPair(lower, upper))
    q = robot.neutral()
    q[2], q[9] = 0.1, 0.3
    for lift in (0.0, 2.0):
        a = np.zeros(12)
        a[[2, 8]] = lift
        s = lw.InverseDynamics(robot, contacts=True).solve(q, np.zeros(12), a)
        assert s.feasible and normal_force(s, "lower:upper") == pytest.approx(5.0 * (GRAVITY + lift))
        assert normal_force(s, "ground:lower") == pytest.approx(7.0 * (GRAVITY + lift))


# What cannot be made --------------------------------------------------------------------------------------------


def test_a_motion_that_needs_more_friction_than_there_is_is_reported() -> None:
    """Feet push a robot at most by friction times gravity, where it does not tip; what is missing grows from there."""
    robot, q = stance("table")
    slippery = replace(robot, contacts=tuple(replace(pair, friction=0.2) for pair in robot.contacts))
    a = np.zeros((4, robot.nv))
    a[:, 1] = np.array([0.5, 0.999, 1.001, 1.5]) * 0.2 * GRAVITY
    s = lw.InverseDynamics(slippery, contacts=True).solve(q, np.zeros(robot.nv), a)
    assert s.feasible.tolist() == [True, True, False, False]
    assert beyond_cones(slippery, s) <= 1e-12
    missing = np.abs(s.unmet).max(axis=-1)
    assert np.all(missing[:2] <= ROUNDING * stance("table").weight)
    assert 0 < missing[2] < missing[3]


def test_a_call_says_in_words_what_is_missing() -> None:
    robot, q = stance("table")
    a = np.zeros(robot.nv)
    a[0] = 3 * GRAVITY
    with pytest.raises(
        lw.errors.UnsupportedFeature, match=r"motors and contacts of 'table' cannot .* along base\[\d\] .* 4 of 4"
    ):
        inverse("table")(q, np.zeros(robot.nv), a)
    with pytest.raises(lw.errors.UnsupportedFeature, match=r"in state \(1,\)"):
        inverse("table")(q, np.zeros(robot.nv), np.array([0 * a, a]))
    tau = np.zeros(robot.nv)
    step = inverse("table").bind(q.copy(), np.zeros(robot.nv), a, out=tau)
    with pytest.raises(lw.errors.UnsupportedFeature, match="are missing"):
        step()


def test_a_robot_in_the_air_falls_and_does_nothing_else() -> None:
    robot, q = stance("table")
    up = q.copy()
    up[2] += 0.1
    rest, fall = np.zeros(robot.nv), np.zeros(robot.nv)
    fall[2] = -GRAVITY
    s = inverse("table").solve(up, rest, np.array([rest, fall]))
    assert s.feasible.tolist() == [False, True]
    assert_close(s.unmet[0, :6], [0, 0, stance("table").weight, 0, 0, 0], 1e-9, stance("table").weight)
    assert np.all(s.contacts is not None and s.contacts.force == 0.0)
    assert min(float(gap.min()) for gap in s.gaps.values()) == pytest.approx(0.1)


def test_a_foot_pulls_nothing() -> None:
    """The ground cannot hold a robot that accelerates down faster than it falls."""
    robot, q = stance("table")
    a = np.zeros(robot.nv)
    a[2] = -2 * GRAVITY
    s = inverse("table").solve(q, np.zeros(robot.nv), a)
    assert not s.feasible
    assert_close(s.unmet[:6], [0, 0, -stance("table").weight, 0, 0, 0], 1e-6, stance("table").weight)


def test_lifted_feet_bear_nothing_and_the_others_bear_more() -> None:
    robot, q = stance("table")
    v, a = np.zeros(robot.nv), np.zeros(robot.nv)
    a[0] = 0.2  # else the center of pressure is on the line between two feet
    a[1] = 0.2
    lifted = q.copy()
    lifted[robot.q_slice("hip0")] = 0.5
    loads = inverse("table").solve(lifted, v, a)
    assert np.all(loads.contact_forces["foot0"] == 0.0)
    assert loads.gaps["foot0"][0] > 0.05
    others = sum(float(loads.contact_forces[f"foot{k}"][0, 2]) for k in (1, 2, 3))
    assert_close(others + float(loads.unmet[2]), stance("table").weight, 1e-9)
    reach = inverse("table", max_gap=1.0).solve(lifted, v, a)
    assert np.any(reach.contact_forces["foot0"] != 0.0)


def test_only_the_pairs_that_are_named_bear_load() -> None:
    robot, q = stance("humanoid")
    left = next(pair.name for pair in robot.contacts if "left" in pair.name)
    v, a = np.zeros(robot.nv), np.zeros(robot.nv)
    s = lw.InverseDynamics(robot, contacts=[left]).solve(q, v, a)
    assert list(s.contact_forces) == [left]
    assert not s.feasible  # the center of mass is between both feet


# The least of all forces ----------------------------------------------------------------------------------------


FRICTIONS = (0.0, 0.3, 0.7, 1.5)


def grasp(seed: int, contacts: int, slippery: bool = True) -> Stance:
    """A body that planes touch at random points, from random sides."""
    rng = np.random.default_rng([seed, contacts])
    build = lw.Builder("grasp")
    build.body("body", lw.Inertia.box(2.0, (0.2, 0.3, 0.4)))
    build.joint("base", lw.joints.Free(), "world", "body")
    pairs = []
    for k in range(contacts):
        R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        R *= np.sign(np.linalg.det(R))
        at = 0.2 * rng.normal(size=3)
        plane = lw.contact.ContactShape(f"plane{k}", "world", lw.shapes.Ground(), lw.Placement(at - 0.01 * R[:, 2], R))
        tip = lw.contact.ContactShape(f"tip{k}", "body", lw.shapes.Sphere(0.01), lw.Placement(at))
        pairs.append(
            lw.contact.ContactPair(plane, tip, friction=float(rng.choice(FRICTIONS[:: 1 if slippery else -1][:3])))
        )
    return Stance(replace(build.build(), contacts=tuple(pairs)), np.array([0, 0, 0, 0, 0, 0, 1.0]))


def least_forces(J: Floats, b: Floats, mu: Floats, start: Floats) -> Floats:
    """Minimize ``|f|²`` with ``J' f = b`` in the cones, by SLSQP."""
    cones = {
        "type": "ineq",
        "fun": lambda x: np.r_[mu * x[2::3] - np.sqrt(x[::3] ** 2 + x[1::3] ** 2 + 1e-24), x[2::3]],
    }
    rows = {"type": "eq", "fun": lambda x: J.T @ x - b, "jac": lambda x: J.T}
    found = minimize(
        lambda x: 0.5 * x @ x,
        start,
        jac=lambda x: x,
        constraints=[cones, rows],
        options={"ftol": 1e-14, "maxiter": 300},
    )
    best: Floats = found.x if found.success else np.full_like(start, np.nan)
    return best


def test_forces_are_those_that_a_general_solver_finds() -> None:
    compared = 0
    for seed in range(12):
        robot, q = grasp(seed, 5 + seed % 4, slippery=False)
        s = lw.InverseDynamics(robot, contacts=True).solve(q, np.zeros(6), np.zeros(6))
        if not s.feasible:
            continue
        J = contact_jacobian(robot, q)
        mu = np.array([pair.friction for pair in robot.contacts])
        f = np.concatenate([x.ravel() for x in s.contact_forces.values()])
        b = lw.bias_forces(robot, q, np.zeros(6))
        best = least_forces(J, b, mu, f + 0.1 * np.random.default_rng(seed).normal(size=len(f)))
        if np.isfinite(best).all():
            compared += 1
            assert f @ f <= best @ best * (1 + 1e-9)
            assert_close(f, best, 1e-4)
    assert compared >= 4


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), contacts=st.integers(1, 10), size=st.sampled_from([0.0, 1.0, 100.0]))
def test_any_grasp_has_forces_in_its_cones_that_no_others_improve(seed: int, contacts: int, size: float) -> None:
    """Feasible or not: what is unmet is a direction in which no force within cones does any more."""
    robot, q = grasp(seed, contacts)
    a = size * np.random.default_rng(seed).normal(size=6)
    s = lw.InverseDynamics(robot, contacts=True).solve(q, np.zeros(6), a)
    assert beyond_cones(robot, s) <= 1e-10 * max(1.0, size)
    assert left_over(robot, q, np.zeros(6), s) <= ROUNDING
    if s.feasible:
        return
    J = contact_jacobian(robot, q)
    unit = joint_units(robot) / joint_units(robot).max()
    scaled_J, left = J * unit, s.unmet * unit
    N = scaled_J.T @ scaled_J
    N += 1e-6 * (np.diag(np.diag(N)) + np.trace(N) / 6 * np.eye(6))
    pull = (scaled_J @ np.linalg.solve(N, left)).reshape(-1, 3)
    f = np.array([x[0] for x in s.contact_forces.values()])
    mu = np.array([pair.friction for pair in robot.contacts])
    # the gradient of |unmet|² is in the polar cone, and forces are at right angles to it
    slack = 2e-3 * np.abs(pull).max() + 1e-5 * (np.abs(f).max() + robot.mass * GRAVITY)
    assert np.all(mu * np.hypot(pull[:, 0], pull[:, 1]) + pull[:, 2] <= slack)
    assert np.all(np.abs((pull * f).sum(axis=1)) <= slack * np.abs(f).max())


def test_forces_change_little_where_the_motion_does() -> None:
    """Also where feet begin to slip and to lift."""
    robot, q = stance("table")
    a = np.zeros((400, robot.nv))
    a[:, 0] = np.linspace(0, 12, 400)
    s = inverse("table").solve(q, np.zeros(robot.nv), a)
    assert s.contacts is not None
    steps = np.abs(np.diff(s.contacts.force[s.feasible], axis=0)).max()
    assert 100 < s.feasible.sum() < 400
    assert steps < 3 * robot.mass * 12 / 400


# Torque limits --------------------------------------------------------------------------------------------------


def legged_with(effort: float) -> Stance:
    """The table with weak motors, its legs spread, so that hips bear load."""
    robot, q = stance("table")
    weak = tuple(
        replace(j, limits=replace(j.limits, effort=np.array([effort]))) if j.actuated else j for j in robot.joints
    )
    robot = replace(robot, joints=weak)
    q = q.copy()
    for k, angle in enumerate((0.4, 0.4, -0.4, -0.4)):
        q[robot.q_slice(f"hip{k}")] = angle
    return lowered(robot, q)


def test_limits_that_bind_nothing_change_nothing() -> None:
    robot, q = legged_with(1e3)
    x = (q, np.zeros(robot.nv), np.zeros(robot.nv))
    free, held = (lw.InverseDynamics(robot, contacts=True, limits=limits).solve(*x) for limits in (False, True))
    assert_close(held.torque, free.torque, 1e-5)
    assert held.feasible and not held.beyond_limits


def test_limits_are_kept_by_other_contact_forces() -> None:
    """Feet that push outward relieve hips; without limits they do not, as their forces are larger then."""
    robot, q = legged_with(1e3)
    x = (q, np.zeros(robot.nv), np.zeros(robot.nv))
    free = lw.InverseDynamics(robot, contacts=True).solve(*x)
    most = 0.6 * float(np.abs(free.torque).max())
    robot, q = legged_with(most)
    assert lw.InverseDynamics(robot, contacts=True).solve(*x).beyond_limits
    s = lw.InverseDynamics(robot, contacts=True, limits=True).solve(*x)
    assert s.feasible and np.abs(s.torque).max() <= most
    assert left_over(robot, q, x[1], s) <= ROUNDING
    assert beyond_cones(robot, s) <= 1e-12
    assert s.contacts is not None and free.contacts is not None
    assert np.linalg.norm(s.contacts.force) > np.linalg.norm(free.contacts.force)


def servo(joint: str, most: float, angle: float) -> lw.actuators.Actuator:
    """A position servo that may turn by 0.3 rad about an angle."""
    law = {"gain": (200.0, 0.0, 0.0), "bias": (0.0, -200.0, -5.0), "force_limits": (-most, most)}
    return lw.actuators.Actuator(joint, joint, (1.0,), limits=(angle - 0.3, angle + 0.3), **law)  # type: ignore[arg-type]


def test_limits_of_servos_are_those_of_the_state() -> None:
    """Forces of servos are clamped, and near the end of their range they have less; each state of a batch its own."""
    robot, q = legged_with(1e3)
    x = (q, np.zeros(robot.nv), np.zeros(robot.nv))
    free = lw.InverseDynamics(robot, contacts=True).solve(*x)
    most = 0.6 * float(np.abs(free.torque).max())
    angles = {j.name: float(q[robot.q_index(j.name)]) for j in robot.joints if j.actuated}
    weak = robot.with_actuators(*(servo(name, most, at) for name, at in angles.items()))
    inverse = lw.InverseDynamics(weak, contacts=True, limits=True)
    held = inverse.solve(*x)
    assert held.feasible and not held.beyond_limits and np.abs(held.torque).max() <= most
    assert lw.InverseDynamics(weak, contacts=True).solve(*x).beyond_limits
    ended = robot.with_actuators(*(servo(name, most, at - 0.29 * np.sign(at)) for name, at in angles.items()))
    lower, upper = lw.actuators.torque_limits(ended, *x[:2])
    both = lw.InverseDynamics(ended, contacts=True, limits=True).solve(np.stack([q, q]), *x[1:])
    assert (lower[6:].max() > -most or upper[6:].min() < most) and not both.beyond_limits
    with pytest.raises(lw.errors.UnsupportedFeature, match="change with the state"):
        inverse.bind(*x, out=np.zeros(robot.nv))


# Backends, batches, units ------------------------------------------------------------------------------------------


def outputs(found: lw.InverseDynamics, state: tuple[Floats, ...]) -> list[Floats]:
    s = found.solve(*state)
    assert s.contacts is not None
    return [s.torque, s.acceleration, s.multipliers, s.contacts.force, s.unmet]


@pytest.mark.parametrize("name", ["table", "four-bar legs with two motors each"])
def test_all_backends_agree(name: str) -> None:
    q, v, a = moving(name)
    states = (np.tile(q, (5, 1)), np.tile(v, (5, 1)), np.linspace(0, 8, 5)[:, None] * a)
    wanted = outputs(inverse(name).plain(), states)
    scale = stance(name).weight
    native, compiled = inverse(name), inverse(name).compile(lanes=4)
    for found in (native, compiled):
        for ours, theirs in zip(outputs(found, states), wanted, strict=True):
            assert_close(ours, theirs, 1e-8, scale)
        for k in range(5):
            one = outputs(found, tuple(x[k] for x in states))
            for ours, theirs in zip(one, wanted, strict=True):
                assert_close(ours, theirs[k], 1e-8, scale)


def test_single_precision_has_the_digits_that_it_has() -> None:
    q, v, a = at_rest("humanoid")
    s = inverse("humanoid").native("float32").solve(*(x.astype(np.float32) for x in (q, v, a)))
    wanted = inverse("humanoid").solve(q, v, a)
    assert s.torque.dtype == np.float32 and s.feasible
    assert s.contacts is not None and wanted.contacts is not None
    assert_close(s.contacts.force, wanted.contacts.force, 2e-3)


def test_batches_broadcast_and_write_to_out() -> None:
    robot, q = stance("table")
    v = np.zeros(robot.nv)
    a = 0.2 * np.random.default_rng(3).normal(size=(2, 3, robot.nv))
    s = inverse("table").solve(q, v, a)
    assert s.torque.shape == (2, 3, robot.nv) and s.contact_forces["foot1"].shape == (2, 3, 1, 3)
    assert s.feasible.shape == (2, 3) and s.feasible.all()
    out = np.zeros((2, 3, robot.nv))
    assert inverse("table")(q, v, a, out=out) is out
    assert np.array_equal(out, s.torque)
    assert_close(inverse("table")(q, v, a[1, 2]), out[1, 2], 1e-10)


def test_a_bound_call_finds_the_same() -> None:
    robot, q = stance("table")
    v, a = np.zeros(robot.nv), np.zeros(robot.nv)
    tau = np.zeros(robot.nv)
    step = inverse("table").bind(q.copy(), v, a, out=tau)
    for a[0] in (0.3, -0.4):
        step()
        assert np.array_equal(tau, inverse("table")(q, v, a))


def test_evaluators_are_pickled() -> None:
    robot, q = stance("table")
    made = pickle.loads(pickle.dumps(lw.InverseDynamics(robot, contacts=["foot0", "foot3"], max_gap=0.1)))
    s = made.solve(q, np.zeros(robot.nv), np.zeros(robot.nv))
    assert list(s.contact_forces) == ["foot0", "foot3"] and made.bearing.max_gap == 0.1


@pytest.mark.parametrize("factors", [(1e3, 1e3, 1.0), (1e-3, 1e3, 1e3), (1e3, 1e-3, 1e-3)])
def test_units_do_not_matter(factors: tuple[float, float, float]) -> None:
    """The same motion, possible or not, in millimeters, grams and milliseconds."""
    robot, q = stance("table")
    other = on_ground(
        scaled(robot.without_contacts(), *factors),
        {
            pair.name: (
                pair.second.body,
                lw.shapes.Sphere(factors[0] * 0.02),
                tuple(factors[0] * pair.second.placement.position),
            )
            for pair in robot.contacts
        },
    )
    units = Units(robot, *factors)
    _, v, a = moving("table")
    force = factors[1] * factors[0] / factors[2] ** 2
    for part in (1.0, 40.0):
        ours = inverse("table").solve(q, v, part * a)
        theirs = lw.InverseDynamics(other, contacts=True).solve(units.q(q), units.v(v), units.a(part * a))
        assert ours.contacts is not None and theirs.contacts is not None
        assert ours.feasible == theirs.feasible
        scale = stance("table").weight
        assert_close(theirs.contacts.force / force, ours.contacts.force, 1e-6, scale)
        assert_close(
            theirs.torque, units.tau(ours.torque), 1e-6, float(np.abs(units.tau(np.full(robot.nv, scale))).max())
        )


# End to end -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["table", "humanoid", "four-bar legs"])
def test_a_step_with_contacts_makes_what_was_asked(name: str) -> None:
    """From rest, feet at rest: velocities after a step are those that the accelerations make."""
    robot, q = stance(name)
    J = np.concatenate([contact_jacobian(robot, q), lw.constraint_jacobian(robot, q)])
    a = np.random.default_rng(1).normal(size=robot.nv)
    a -= np.linalg.lstsq(J, J @ a, rcond=1e-9)[0]  # feet stay where they are, and loops are closed
    a *= 0.5 / np.abs(a).max()
    dt = 1e-3
    s = lw.InverseDynamics(robot, contacts=True).solve(q, np.zeros(robot.nv), a)
    assert s.feasible
    step = lw.contact.ContactStep(robot, dt=dt, tolerance=1e-10)(q, np.zeros(robot.nv), s.torque)
    assert step.converged
    # a residual is a velocity of contacts; levers are longer than 0.1 m, and light rods move by more
    assert np.abs(step.v - dt * a).max() <= 1e-6 * dt + 100 * step.residual


# Errors --------------------------------------------------------------------------------------------------------


def test_what_cannot_be_meant_is_an_error() -> None:
    robot, q = stance("table")
    with pytest.raises(lw.errors.InputError, match="has no contact 'toe'; there are foot0, foot1"):
        lw.InverseDynamics(robot, contacts=["toe"])
    with pytest.raises(lw.errors.InputError, match="with_contacts"):
        lw.InverseDynamics(robot.without_contacts(), contacts=True)
    with pytest.raises(lw.errors.InputError, match="has the method"):
        lw.InverseDynamics(robot, "least", contacts=True)
    with pytest.raises(lw.errors.InputError, match="contacts=True"):
        lw.InverseDynamics(robot, limits=True)
    with pytest.raises(lw.errors.InputError, match="max_gap"):
        lw.InverseDynamics(robot, contacts=True, max_gap=-1.0)
    with pytest.raises(lw.errors.InputError, match="True, False or names"):
        lw.InverseDynamics(robot, contacts=3)  # type: ignore[arg-type]
    with pytest.raises(lw.errors.InputError, match="say contacts=True"):
        lw.InverseDynamics(robot, "actuated")(q, np.zeros(robot.nv), np.zeros(robot.nv), given=np.zeros((1, 7)))
