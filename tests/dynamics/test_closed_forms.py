# SPDX-License-Identifier: BSD-3-Clause
"""Machines whose motion has a closed form: slider-crank, delta robot, Stewart platform; the balance of energy."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo

CRANK, ROD = 0.05, 0.2
SPEED = 40.0


def slider_crank() -> lw.Mechanism:
    """A balanced crank drives a piston of 0.6 kg by a light rod; no gravity."""
    build = lw.Builder("slider-crank", gravity=(0, 0, 0))
    light = lw.Inertia(1e-9, (0, 0, 0), 1e-12 * np.eye(3))
    wheel = lw.Inertia(1.0, (0, 0, 0), 1e-2 * np.eye(3))
    for name, inertia in (("crank", wheel), ("rod", light), ("piston", lw.Inertia(0.6, (0, 0, 0), 1e-4 * np.eye(3)))):
        build.body(name, inertia)
    build.joint("pivot", lw.joints.Revolute("z"), "world", "crank")
    build.joint("pin", lw.joints.Revolute("z"), "crank", "rod", at=(CRANK, 0, 0))
    build.joint("bore", lw.joints.Prismatic("x"), "world", "piston")
    point = lw.constraints.Point("rod", "piston", first_at=(ROD, 0, 0), name="wrist")
    return build.build().constrained(point, lw.Drive("pivot", lambda t: 0.3 + SPEED * t, name="drive"))


def test_a_slider_crank_moves_and_pushes_as_its_closed_form_says() -> None:
    """Position, velocity, acceleration of the piston, torque of the crank, side force on the bore over a turn."""
    robot = slider_crank()
    q = robot.assemble([0.3, -0.4, 0.24], fixed=["pivot"])
    run = lw.simulate(robot, q, seconds=0.16, dt=1e-4, integrator="rk4", project_every=1, record_every=50)
    angle = 0.3 + SPEED * run.times
    s, c = np.sin(angle), np.cos(angle)
    height = np.sqrt(ROD**2 - CRANK**2 * s**2)
    x = CRANK * c + height
    slope = -CRANK * s - CRANK**2 * s * c / height
    bend = -CRANK * c - CRANK**2 * (c**2 - s**2) / height - CRANK**4 * s**2 * c**2 / height**3
    np.testing.assert_allclose(run.joint_position("bore"), x, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.joint_velocity("bore"), slope * SPEED, rtol=0, atol=1e-11)
    np.testing.assert_allclose(run.joint_acceleration("bore"), bend * SPEED**2, rtol=0, atol=1e-5)
    inertia_force = 0.6 * bend * SPEED**2
    torque = inertia_force * slope  # virtual work
    np.testing.assert_allclose(run.power["drive"], torque * SPEED, rtol=0, atol=1e-5 * np.abs(torque).max() * SPEED)
    side = inertia_force * CRANK * s / height  # the rod pushes along itself
    np.testing.assert_allclose(np.abs(run.reactions["bore"][:, 4]), np.abs(side), rtol=0, atol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_a_delta_robot_stands_where_three_spheres_meet(seed: int) -> None:
    """Clavel's forward kinematics: the tool is at the rod's length from three elbows, moved inwards by the platform."""
    base, platform, arm, rod = 0.2, 0.06, 0.25, 0.6
    robot = zoo.delta("rod")
    angles = np.random.default_rng(seed).uniform(-0.2, 0.7, 3)
    q = robot.poses["assembled"].copy()
    for k, angle in enumerate(angles):
        q[robot.q_index(f"arm{k}")] = angle
    q = robot.assemble(q, fixed=["arm0", "arm1", "arm2"])
    centers = []
    for k, angle in enumerate(angles):
        reach, azimuth = base - platform + arm * np.cos(angle), 2 * np.pi / 3 * k
        centers.append([reach * np.cos(azimuth), reach * np.sin(azimuth), -arm * np.sin(angle)])
    tool = _below(np.array(centers), rod)
    np.testing.assert_allclose(lw.frame_placement(robot, q, "platform").position, tool, rtol=0, atol=1e-10)


def _below(centers: np.ndarray, radius: float) -> np.ndarray:
    """The lower of the two points at one distance from three centers."""
    a, b, c = centers
    u, w = b - a, c - a
    n = np.cross(u, w)
    middle = a + (np.cross(n, u) * (w @ w) + np.cross(w, n) * (u @ u)) / (2 * n @ n)
    down = n / np.linalg.norm(n) * -np.sign(n[2])
    found: np.ndarray = middle + down * np.sqrt(radius**2 - (middle - a) @ (middle - a))
    return found


def test_legs_of_a_stewart_platform_have_the_lengths_of_its_pose() -> None:
    """Held at the lengths |p + R b - a| of a pose, legs bring the platform back to it from 30 mm and 0.1 rad away."""
    robot = zoo.stewart()
    pose = lw.Placement.rpy(0.1, -0.05, 0.15, (0.03, -0.02, 0.72))
    exact = zoo.platforms.stewart_pose(robot, pose)
    legs = [name for name in robot.joint_names if name.startswith("leg")]
    assert len(legs) == 6
    q = robot.poses["assembled"].copy()
    for name in legs:
        q[robot.q_slice(name)] = exact[robot.q_slice(name)]
    found = lw.frame_placement(robot, robot.assemble(q, fixed=legs), "platform")
    np.testing.assert_allclose(found.position, pose.position, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.rotation, pose.rotation, rtol=0, atol=1e-9)


def test_energy_is_balanced_to_the_order_of_the_integrator() -> None:
    """Of a driven, sprung, damped four-bar, energy gained is work done; half the step, a tenth of the error or less."""
    linkage = zoo.four_bar()
    crank, start = linkage.joint_names[0], linkage.poses["assembled"][0]
    robot = linkage.constrained(lw.Drive(crank, lambda t: start + 3 * t + 0.3 * np.sin(5 * t), name="drive"))
    robot = robot.with_forces(
        lw.SpringDamper(("world", (0, 0, 1)), linkage.body_names[1], 200.0, 3.0, free_length=0.5, name="strut")
    )
    errors = []
    for dt in (8e-3, 4e-3):
        run = lw.simulate(robot, seconds=0.64, dt=dt, integrator="rk4", project_every=1)
        power = np.sum([p for name, p in run.power.items() if name != "force elements"], axis=0)
        states = lw.forces.element_states(robot, run.q, run.v)["strut"]
        damper = -3.0 * np.asarray(states.rate).reshape(len(run)) ** 2
        rate = power + damper
        work = dt / 3 * (rate[0] + rate[-1] + 4 * rate[1:-1:2].sum() + 2 * rate[2:-1:2].sum())  # Simpson's rule
        energy = run.energy["total"]
        errors.append(abs(energy[-1] - energy[0] - work) / np.ptp(energy))
    assert errors[1] <= 1e-5 and errors[0] / errors[1] >= 10
