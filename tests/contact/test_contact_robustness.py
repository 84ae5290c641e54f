# SPDX-License-Identifier: BSD-3-Clause
"""Random impacts and scenes: solved or said not to be, no infinite numbers, nothing explodes."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork.kernels.contact.shapes.frames import tangents
from linkwork.model.contacts import ContactPair, ContactShape
from linkwork.model.shapes import Box, Cylinder, Ground, Sphere
from linkwork_benchmarks.contact import impacts, robustness
from linkwork_benchmarks.contact.motion import move

SEEDS = st.integers(min_value=10_000, max_value=20_000)


# Impacts ---------------------------------------------------------------------------------------------------------


def test_random_impacts_are_solved_in_few_newton_steps() -> None:
    found = impacts.solve(range(50))
    assert np.mean(found.solved) >= 0.98
    assert np.median(found.iterations) <= 15


@settings(max_examples=10, derandomize=True)
@given(SEEDS)
def test_an_impact_that_counts_as_solved_obeys_the_laws_of_contact(seed: int) -> None:
    """Of forces and velocities that the step reports, apart from its own residual."""
    hit = impacts.impact(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.errors.StateWarning)
        s = lw.contact.ContactStep(hit.scene, impacts.DT, tolerance=1e-9)(hit.q, hit.v, given=hit.given)
    if not s.converged:
        return
    f, u, gaps = s.impulse, s.contact_velocity, hit.given[:, 0]
    mu = np.array([pair.friction for pair in hit.scene.contacts])
    most = np.abs(f).max() + 1e-12
    un = u[:, 2] + gaps / impacts.DT
    slip, tangential = np.linalg.norm(u[:, :2], axis=1), np.linalg.norm(f[:, :2], axis=1)
    assert (un > -1e-6).all()  # Signorini
    assert (f[:, 2] > -1e-6 * most).all()
    assert np.abs(f[:, 2] * un).max() < 1e-5 * most
    assert (tangential < mu * f[:, 2] + 1e-6 * most).all()  # Coulomb
    power = (f[:, :2] * u[:, :2]).sum(axis=1)  # maximum dissipation
    assert np.abs(power + mu * f[:, 2] * slip).max() < 1e-5 * most
    assert_momentum(hit, s)


def assert_momentum(hit: impacts.Impact, s: lw.contact.ContactSolution) -> None:
    """Velocities after the step are those of the impulses that it reports: per body, in the axes before the step."""
    change, push = np.zeros((hit.scene.nv // 6, 6)), np.zeros((hit.scene.nv // 6, 6))
    numbers = {name: k for k, name in enumerate(hit.scene.body_names)}
    centers = hit.q.reshape(-1, 7)[:, :3]
    for pair, point, n, f in zip(hit.scene.contacts, hit.given[:, 1:4], hit.given[:, 4:], s.impulse, strict=True):
        R = np.column_stack([*tangents(n), n])
        for shape, sign in ((pair.first, -1.0), (pair.second, 1.0)):
            if shape.body != "world":
                k, force = numbers[shape.body], sign * R @ f
                push[k] += np.concatenate([force, np.cross(point - centers[k], force)])
    for k, name in enumerate(hit.scene.body_names):
        inertia, v, a = hit.scene.inertias[name], hit.v[6 * k : 6 * k + 6], s.acceleration[6 * k : 6 * k + 6]
        gyration = impacts.DT * np.cross(v[3:], inertia.rotational @ v[3:])
        change[k, :3] = inertia.mass * impacts.DT * a[:3]
        change[k, 3:] = inertia.rotational @ (impacts.DT * a[3:]) + gyration
    np.testing.assert_allclose(change, push, atol=1e-6 * max(1.0, float(np.abs(push).max())))


# Scenes ----------------------------------------------------------------------------------------------------------


@settings(max_examples=10, derandomize=True)
@given(SEEDS)
def test_random_scenes_stay_finite_and_say_what_is_not_solved(seed: int) -> None:
    found = robustness.run([seed], 15)
    assert not found.errors
    assert found.silent == 0
    assert found.speeds[~found.arms].max(initial=0.0) < 10


@pytest.mark.parametrize("mass", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("solid", [Box((0.2, 0.2, 0.2)), Sphere(0.1)])
def test_what_begins_deep_in_the_ground_comes_out_slowly(solid: Box | Sphere, mass: float) -> None:
    """Half of it is below: it rises no faster than bodies of its size fall, and comes to rest on the ground."""
    build = lw.Builder("buried").body("thing", lw.Inertia.box(mass, (0.2, 0.2, 0.2)))
    ground, shape = ContactShape("ground", "world", Ground()), ContactShape("thing", "thing", solid)
    scene = build.joint("thing", lw.joints.Free(), "world", "thing").build()
    scene = replace(scene, contacts=(ContactPair(ground, shape),))
    motion = move(lw.contact.ContactStep(scene, 1e-3), scene.neutral(), np.zeros(6), 1000)
    assert motion.converged.all()
    assert np.abs(motion.v).max() < np.sqrt(9.81 * 0.2)
    assert motion.q[:, 2].max() < 0.2
    assert abs(motion.q[-1, 2] - 0.1) < 1e-6


def test_a_joint_beyond_its_limit_returns_slowly() -> None:
    build = lw.Builder("bent", gravity=(0.0, 0.0, 0.0)).body("link", lw.Inertia.sphere(1.0, 0.1, (0.3, 0.0, 0.0)))
    robot = build.joint("link", lw.joints.Revolute("y"), "world", "link", lower=-0.1, upper=0.1).build()
    q, v, step, last = np.array([0.3]), np.zeros(1), lw.contact.ContactStep(robot, 1e-3), None
    fastest = 0.0
    for _ in range(3000):
        last = step(q, v, start=last)
        q, v, fastest = last.q, last.v, max(fastest, float(np.abs(last.v).max()))
    assert 0.01 < fastest < 5
    assert abs(float(q[0])) < 0.1 + 1e-6


# Contacts that cannot move ---------------------------------------------------------------------------------------


def arm_in_the_floor(shoulder: Box | Cylinder) -> lw.Mechanism:
    """An arm that turns about a vertical axis, whose shoulder reaches below the floor."""
    build = lw.Builder("arm")
    build.body("shoulder", lw.Inertia.box(7.0, (0.2, 0.2, 0.2))).joint(
        "pan", lw.joints.Revolute("z"), "world", "shoulder", at=(0, 0, 0.1)
    )
    build.body("upper", lw.Inertia.rod(5.0, (0, 0, 0), (0.6, 0, 0)))
    build.joint("lift", lw.joints.Revolute("y"), "shoulder", "upper", at=(0, 0.15, 0.1))
    build.shape("shoulder", shoulder, lw.Placement((0, 0, -0.05)))
    build.shape("upper", Sphere(0.05), lw.Placement((0.6, 0, 0)))
    return build.build().with_contacts("shoulder", "upper", visual=True)


@pytest.mark.parametrize("solver", ["newton", "admm", "pgs"])
@pytest.mark.parametrize("shoulder", [Cylinder(0.08, 0.2, rounded=True), Box((0.3, 0.3, 0.2))])
def test_a_contact_that_no_joint_moves_along_its_normal_has_no_equation(shoulder: Box | Cylinder, solver: Any) -> None:
    """What is in the ground stays there, and the arm falls and comes to rest on its hand as if it were not."""
    robot = arm_in_the_floor(shoulder)
    q, v = np.array([0.3, 0.2]), np.array([1.0, 0.0])
    buried = lw.contact.ContactStep(robot, solver=solver, strict=True)
    free = lw.contact.ContactStep(robot.without_contacts("shoulder"), solver=solver, strict=True)
    a, b = buried(q, v), free(q, v)
    for _ in range(100):
        a, b = buried(a.q, a.v, start=a), free(b.q, b.v, start=b)
        assert np.abs(a.q - b.q).max() < 1e-7
    assert a.gaps.min() < -0.04
    assert a.impulses["ground:upper"][0, 2] > 0
    assert np.abs(a.impulses["ground:shoulder"]).max() < 1e-15


@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_free_bodies_that_spin_fast_keep_their_angular_momentum(dt: float) -> None:
    """Taken by its rate, the momentum grows until there is no number; turned, it keeps its length."""
    robot = lw.loads(
        """<mujoco><option gravity="0 0 0"/><worldbody><geom type="plane" size="1 1 1" pos="0 0 -50"/><body><freejoint/>
        <inertial pos=".01 0 0" mass="1" diaginertia=".003 .004 .005"/><geom size=".1"/></body></worldbody></mujoco>"""
    )
    spin = 0.5 / dt * np.array([0.6, 0.7, 0.4])
    after = lw.Stepper(robot, dt)(robot.poses["qpos0"], np.r_[0, 0, 0, spin], steps=2000)
    inertia = np.array([0.003, 0.004, 0.005])
    np.testing.assert_allclose(np.linalg.norm(inertia * after.v[3:]), np.linalg.norm(inertia * spin), rtol=1e-9)
    slow = np.r_[0, 0, 0, 0.02 * spin]
    expected = lw.Stepper(robot, dt).by_slots(robot.poses["qpos0"], slow, steps=10)
    np.testing.assert_allclose(lw.Stepper(robot, dt)(robot.poses["qpos0"], slow, steps=10).v, expected.v, atol=1e-12)
