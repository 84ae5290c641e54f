# SPDX-License-Identifier: BSD-3-Clause
"""`Simulation`: many robots that stay on their device, on the CPU; `test_cuda_rollouts` has those of a GPU."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.kernels.scalar import kernel


@kernel
def spring(time: Any, q: Any, v: Any, gain: Any, tau: Any) -> None:
    """A spring, a damper, and a torque that grows with time."""
    tau[0] = time - gain * q[0] - 0.5 * v[0]


GAINS = np.linspace(1.0, 5.0, 5)


def controlled(**options: Any) -> lw.Simulation:
    controller = lw.Controller(spring, per_robot="gain", gain=GAINS)
    return lw.Simulation(zoo.four_bar(), 5, controller=controller, control_every=3, compile=True, **options)


@pytest.mark.parametrize("method", ["auto", "minimal"])
def test_a_simulation_is_rollouts_to_the_last_bit(method: Any) -> None:
    sim = controlled(method=method)
    start = sim.q.copy(), sim.v.copy()
    found = sim.run(23, record_every=10)
    expected = lw.rollouts(
        sim.robot,
        *start,
        seconds=0.02,
        method=method,
        controller=sim.controller,
        control_every=3,
        record_every=10,
        compile=True,
    )
    np.testing.assert_array_equal(found.q, expected.q[1:])
    np.testing.assert_array_equal(found.v, expected.v[1:])
    np.testing.assert_array_equal(sim.steps, 23)


def test_a_reset_robot_goes_on_as_one_that_starts() -> None:
    sim, fresh, other = controlled(), controlled(), controlled()
    sim.step(steps=7)
    sim.reset(np.arange(5) == 2)
    sim.step(steps=16)
    fresh.step(steps=16)
    other.step(steps=23)
    np.testing.assert_array_equal(sim.q[2], fresh.q[2])
    kept = np.arange(5) != 2
    np.testing.assert_array_equal(sim.v[kept], other.v[kept])
    assert list(sim.steps) == [23, 23, 16, 23, 23]


def test_contacts_start_from_nothing_after_a_reset() -> None:
    speeds = np.zeros((3, 6))
    speeds[:, 0] = 0.2, 0.5, 1.0
    sim = lw.Simulation(zoo.sliding_box(friction=0.4), 3, v=speeds)
    sim.step(steps=40)
    after = sim.q.copy()
    assert sim.contacts["ground:box0"].touching.any()
    sim.reset([True, False, True])
    assert not sim.contacts.forces[0].any() and sim.contacts.forces[1].any()
    assert np.isinf(sim.contacts["ground:box0"].gaps[[0, 2]]).all() and not sim.contacts.iterations[[0, 2]].any()
    sim.step(steps=40)
    np.testing.assert_array_equal(sim.q[[0, 2]], after[[0, 2]])
    alone = lw.Stepper(sim.robot)(sim.robot.poses[zoo.ASSEMBLED], speeds[1], steps=80)
    np.testing.assert_allclose(sim.q[1], alone.q, rtol=0, atol=1e-9)


def test_robots_have_parameters_of_their_own_which_resets_change() -> None:
    robot = zoo.pendulum()
    own = robot.parameters["mass"]
    masses = own * np.array([1.0, 2.0, 3.0])[:, None]
    sim = lw.Simulation(robot, 3, parameters={"mass": masses}, compile=True)
    tau = np.full(robot.nv, 0.3)
    sim.step(tau=tau, steps=20)
    for k in range(3):
        expected = lw.Stepper(robot, parameters=["mass"]).compile()(
            robot.neutral(), np.zeros(robot.nv), tau, steps=20, mass=masses[k]
        )
        np.testing.assert_allclose(sim.q[k], expected.q, rtol=0, atol=1e-14)
    heavy = sim.q[2].copy()
    sim.reset([True, False, False], parameters={"mass": masses[2]})
    np.testing.assert_array_equal(sim.parameters["mass"], masses[[2, 1, 2]])
    sim.step(tau=tau, steps=20)
    np.testing.assert_array_equal(sim.q[0], heavy)


def test_a_robot_that_is_lost_holds_nan_until_it_is_reset() -> None:
    robot = zoo.pendulum()
    sim = lw.Simulation(robot, 2, compile=False)
    sim.step(tau=[[1e300] * robot.nv, [0.0] * robot.nv], steps=5)
    sim.step(steps=5)
    assert np.isnan(sim.q[0]).all() and np.isfinite(sim.q[1]).all()
    sim.reset(np.isnan(sim.q).any(axis=1))
    sim.step(steps=10)
    np.testing.assert_array_equal(sim.q[0], sim.q[1])


def test_states_and_commands_are_given_for_all_or_for_each() -> None:
    robot = zoo.pendulum()
    sim = lw.Simulation(robot, 2, q=robot.neutral() + 0.1, dtype="float32", compile=True)
    assert sim.q.dtype == np.float32 and sim.q.shape == (2, robot.nq)
    sim.reset(q=np.full((2, robot.nq), 0.2), v=np.full(robot.nv, 0.5))
    np.testing.assert_allclose(sim.q, 0.2, rtol=1e-6)
    np.testing.assert_allclose(sim.v, 0.5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda sim: sim.step(tau=np.zeros(7)), r"tau has shape \(7,\), needs \(1,\) or \(2, 1\)"),
        (lambda sim: sim.step(tau=[np.nan]), "tau is not finite at index"),
        (lambda sim: sim.step(commands=[1.0]), "actuators"),
        (lambda sim: sim.step(wrenches=np.zeros((1, 6))), "wrenches on no frames"),
        (lambda sim: sim.step(steps=0), "steps is 0"),
        (lambda sim: sim.reset(q=np.zeros(4)), r"q has shape \(4,\)"),
        (lambda sim: sim.reset([True]), "mask has shape"),
        (lambda sim: sim.reset(parameters={"mass": 1.0}), "mass"),
        (lambda sim: sim.contacts, "without contacts"),
    ],
)
def test_calls_that_do_not_fit_say_what_is_needed(call: Any, words: str) -> None:
    sim = lw.Simulation(zoo.pendulum(), 2, compile=True)
    with pytest.raises(lw.errors.InputError, match=words):
        call(sim)


def test_simulations_that_cannot_be_say_why() -> None:
    robot = zoo.pendulum()
    with pytest.raises(lw.errors.InputError, match="adaptive length"):
        lw.Simulation(robot, 2, integrator="dopri5")
    with pytest.raises(lw.errors.InputError, match=r"not a kernel"):
        lw.Simulation(robot, 2, controller=lambda time, q, v: v)
    with pytest.raises(lw.errors.InputError, match=r"device is 'tpu'"):
        lw.Simulation(robot, 2, device="tpu")
    with pytest.raises(lw.errors.InputError, match=r"Simulation has no option 'friktion'"):
        lw.Simulation(robot, 2, friktion=1.0)  # type: ignore[call-arg]


@pytest.mark.parametrize("integrator", ["euler", "rk4", "dopri5"])
@pytest.mark.parametrize("compile", [False, True])
def test_a_state_of_a_batch_that_is_not_finite_leaves_the_others(integrator: Any, compile: bool) -> None:
    robot, steps = zoo.four_bar(), 1 if integrator == "dopri5" else 3
    stepper = lw.Stepper(robot, integrator=integrator)
    stepper = stepper.compile() if compile else stepper
    q = np.tile(robot.poses["assembled"], (4, 5, 1))
    v = np.zeros((5, robot.nv))
    fine = stepper(q, v, steps=steps)
    v[3] = 1e200
    with pytest.warns(lw.errors.StateWarning, match=r"4 of 20 states .* hold NaN, the first of them state \(0, 3\)"):
        found = stepper(q, v, steps=steps)
    others = [0, 1, 2, 4]
    np.testing.assert_array_equal(found.v[:, others], fine.v[:, others])
    assert np.isnan(found.q[:, 3]).all()
    np.testing.assert_array_equal(found.steps, np.where(np.arange(5) == 3, 0, steps) * np.ones((4, 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is said once
        later = stepper(found.q, found.v, steps=steps)
    assert np.isnan(later.v[:, 3]).all()
    assert np.isfinite(later.v[:, others]).all()
    with pytest.raises(lw.errors.InputError, match="q holds NaN"):
        stepper(found.q[0, 3], found.v[0, 3])
    with pytest.raises(lw.errors.InputError, match="tau holds NaN"):
        stepper(q, v[0], np.full(robot.nv, np.nan))


def test_a_ball_of_a_batch_that_is_not_finite_leaves_the_others() -> None:
    robot = zoo.bouncing_ball(0.5, 0.2)
    stepper, q, v = lw.Stepper(robot), np.tile(robot.poses["assembled"], (3, 1)), np.zeros((3, 6))
    v[1] = 1e200
    with pytest.warns(lw.errors.StateWarning, match="hold NaN"):
        found = stepper(q, v)
    later = stepper(found.q, found.v, contact_state=found.contact_state)
    alone = stepper(q[0], v[0])
    again = stepper(alone.q, alone.v, contact_state=alone.contact_state)
    np.testing.assert_array_equal(later.q[[0, 2]], [again.q, again.q])
    assert np.isnan(later.q[1]).all()
