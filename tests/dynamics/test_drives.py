# SPDX-License-Identifier: BSD-3-Clause
"""Drives: rows that follow functions of time, in all methods, steps, batches and derivatives."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import UnsupportedFeature
from linkwork.mechanism import Mechanism
from linkwork.quantities.motions import row_motions

RESTING = np.zeros(3)


def crank(t: float) -> float:
    return 0.7 + 2 * t + 0.3 * np.sin(3 * t)  # type: ignore[no-any-return]


@cache
def four_bar() -> Mechanism:
    build = lw.Builder("four-bar")
    for name, length in {"crank": 0.5, "coupler": 1.2, "rocker": 0.9}.items():
        build.body(name, lw.Inertia.rod(1.0, (0, 0, 0), (length, 0, 0)))
    build.joint("motor", lw.joints.Revolute("y"), "world", "crank", actuated=True)
    build.joint("knee", lw.joints.Revolute("y"), "crank", "coupler", at=(0.5, 0, 0))
    build.joint("hip", lw.joints.Revolute("y"), "world", "rocker", at=(1, 0, 0))
    build.joint("ankle", lw.joints.Revolute("y"), "coupler", "rocker", at=(1.2, 0, 0), child_at=(0.9, 0, 0))
    return build.build()


@cache
def driven() -> Mechanism:
    return four_bar().constrained(lw.Drive("motor", crank, name="drive"))


def state(time: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    robot = replace(driven(), time=time)
    q = robot.assemble(four_bar().assemble([crank(time), 0, 0], fixed=["motor"]))
    return q, robot.project_velocity(q, RESTING)


@pytest.mark.parametrize(
    "method", ["kkt", "lcaba", "prox_ltl", "prox_bbo", "prox_pv", "cluster", "projection", "cluster_lcaba"]
)
@pytest.mark.parametrize("time", [0.0, 0.4])
def test_every_method_gives_the_acceleration_of_the_motion_and_the_torque_of_inverse_dynamics(
    method: lw.methods.Method, time: float
) -> None:
    robot, drive = replace(driven(), time=time), driven().constraint("drive")
    assert isinstance(drive, lw.Drive)
    q, v = state(time)
    solution = lw.ForwardDynamics(robot, method)(q, v, RESTING)
    np.testing.assert_allclose(solution.acceleration[0], drive.at(time)[2][0], rtol=0, atol=1e-11)
    needed = lw.InverseDynamics(four_bar(), "actuated")(q, v, solution.acceleration)
    np.testing.assert_allclose(solution.forces["drive"][0], needed[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(lw.InverseDynamics(robot)(q, v, solution.acceleration), needed, rtol=0, atol=1e-9)


def test_time_is_an_input_of_batches_and_compiled_programs() -> None:
    times = np.linspace(0, 1, 5)
    states = [state(t) for t in times]
    q, v = (np.array(x) for x in zip(*states, strict=True))
    alone = [lw.ForwardDynamics(replace(driven(), time=t))(*s, RESTING) for t, s in zip(times, states, strict=True)]
    fd = lw.ForwardDynamics(driven(), parameters=["time"])
    for evaluator in (fd, fd.compile()):
        batch = evaluator(q, v, RESTING, time=times[:, None])
        np.testing.assert_allclose(batch.acceleration, [s.acceleration for s in alone], rtol=0, atol=1e-9)
        np.testing.assert_allclose(batch.forces["drive"], [s.forces["drive"] for s in alone], rtol=0, atol=1e-8)


@pytest.mark.parametrize("integrator", ["euler", "rk4", "dopri5"])
def test_simulated_rows_and_rates_have_no_error(integrator: lw.simulation.Integrator) -> None:
    run = lw.simulate(driven(), seconds=0.2, dt=2e-3, integrator=integrator, project_every=1)
    motion = row_motions(driven(), run.times)
    rates = (lw.constraint_jacobian(driven(), run.q) @ run.v[..., None])[..., 0] - motion[1]
    assert run.errors.max() <= 1e-12
    assert np.abs(rates).max() <= 1e-12


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_driven_coordinates_are_exact_without_projection_and_in_batches(integrator: lw.simulation.Integrator) -> None:
    q, _ = state()
    run = lw.rollouts(
        driven(), np.tile(q, (3, 1)), seconds=0.1, dt=1e-3, integrator=integrator, start=0.3, compile=False
    )
    assert np.abs(run.q[-1, :, 0] - crank(0.4)).max() <= 1e-12
    alone = lw.simulate(driven(), q, seconds=0.1, dt=1e-3, integrator=integrator, start=0.3)
    np.testing.assert_allclose(run.q[-1], np.tile(alone.q[-1], (3, 1)), rtol=0, atol=1e-10)


def test_runge_kutta_steps_keep_their_order_under_a_drive() -> None:
    exact = np.array([crank(0.1), *_followed(crank(0.1))])
    errors = [
        np.abs(lw.simulate(driven(), seconds=0.1, dt=h, integrator="rk4", time_constant=None).q[-1] - exact).max()
        for h in (0.02, 0.01)
    ]
    assert 12 < errors[0] / errors[1] < 24


def _followed(angle: float) -> np.ndarray:
    return four_bar().assemble([angle, *state(0.1)[0][1:]], fixed=["motor"])[1:]


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_derivatives_of_driven_steps_are_those_of_differences(integrator: lw.simulation.Integrator) -> None:
    stepper, (q, v) = lw.Stepper(driven(), 1e-2, integrator), state()
    step = 1e-6
    columns = []
    for direction in np.eye(6):
        ends = [stepper(q + s * direction[:3], v + s * direction[3:], RESTING) for s in (step, -step)]
        columns.append(np.concatenate([ends[0].q - ends[1].q, ends[0].v - ends[1].v]) / (2 * step))
    A = stepper.derivatives(q, v, RESTING).A
    np.testing.assert_allclose(A, np.transpose(columns), rtol=1e-6, atol=1e-6 * np.abs(A).max())


def test_derivatives_of_driven_dynamics_are_those_of_differences() -> None:
    fd, (q, v) = lw.ForwardDynamics(driven(), tolerance=1e-12, max_iterations=50), state()
    J, h = fd.derivatives(q, v, RESTING), 1e-6
    for k, x in enumerate(np.eye(3)):
        by_v = (fd(q, v + h * x, RESTING).acceleration - fd(q, v - h * x, RESTING).acceleration) / (2 * h)
        np.testing.assert_allclose(J.da_dv[:, k], by_v, rtol=0, atol=1e-6)


def test_frames_and_lengths_follow_motions() -> None:
    build = lw.Builder("arm")
    for k in range(3):
        build.body(f"link{k}", lw.Inertia.rod(1.0, (0, 0, 0), (0.5, 0, 0)))
    build.joint("yaw", lw.joints.Revolute("z"), "world", "link0")
    build.joint("shoulder", lw.joints.Revolute("y"), "link0", "link1", at=(0.5, 0, 0))
    build.joint("elbow", lw.joints.Revolute("y"), "link1", "link2", at=(0.5, 0, 0))
    build.frame("tip", "link2", (0.5, 0, 0))
    build.frame("base", "world", (0, 0, 0.5))
    arm = build.build()
    tip = lw.constraints.FrameDrive("tip", lambda t: (0.9 + 0.1 * np.cos(2 * t), 0.2 * np.sin(t), -0.4))
    run = lw.simulate(arm.constrained(tip), [0, 0.3, 0.5], seconds=0.2, dt=2e-3, integrator="rk4", project_every=1)
    np.testing.assert_allclose(run.frame_placement("tip").position, tip.at(run.times)[0], rtol=0, atol=1e-12)
    cable = lw.constraints.LengthDrive(lw.tendons.Tendon("cable", path=("base", "tip")), lambda t: 1.2 + 0.3 * t * t)
    held = arm.constrained(cable, lw.Drive("yaw", 0.1), lw.Drive("elbow", 0.5))
    run = lw.simulate(held, [0, 0.3, 0.5], seconds=0.2, dt=2e-3, integrator="rk4", project_every=1)
    reach = np.linalg.norm(run.frame_placement("tip").position - [0, 0, 0.5], axis=-1)
    np.testing.assert_allclose(reach, 1.2 + 0.3 * run.times**2, rtol=0, atol=1e-12)


def test_a_sweep_over_time_has_positions_and_velocities_of_the_motion() -> None:
    sweep = driven().sweep("time", np.linspace(0, 1, 6))
    position, velocity, _ = driven().constraint("drive").at(sweep.times)  # type: ignore[attr-defined]
    np.testing.assert_allclose(sweep.joint_position("motor"), position[:, 0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(sweep.v[:, 0], velocity[:, 0], rtol=0, atol=1e-12)


def test_simulation_of_many_keeps_its_clock_between_calls() -> None:
    many = lw.Simulation(driven(), 2, dt=1e-3)
    for _ in range(2):
        many.step(steps=10)
    assert np.abs(many.q[:, 0] - crank(0.02)).max() <= 1e-12


def test_minimal_coordinates_and_other_methods_are_refused_in_words() -> None:
    with pytest.raises(UnsupportedFeature, match="project_every=1"):
        lw.simulate(driven(), seconds=0.1, method="minimal")
    with pytest.raises(UnsupportedFeature, match="which steps by method 'kkt' do not support"):
        lw.simulate(driven(), seconds=0.1, method="kkt")


def test_gpus_without_a_clock_are_refused_before_one_is_looked_for() -> None:
    with pytest.raises(UnsupportedFeature, match="steps on a GPU have no clock"):
        lw.Simulation(driven(), 2, device="cuda")
