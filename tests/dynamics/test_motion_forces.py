# SPDX-License-Identifier: BSD-3-Clause
"""Forces of constraints along a run are those at its states, and rollouts with parameters say what they do not know."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.errors import UnsupportedFeature


def driven_four_bar() -> lw.Mechanism:
    """A four-bar whose crank follows a function of time."""
    robot = zoo.four_bar()
    start = robot.poses["assembled"][0]
    return robot.constrained(lw.Drive("A", lambda t: start + 2 * t + 0.3 * np.sin(3 * t), name="drive"))


@pytest.mark.parametrize("integrator", ["rk4", "euler"])
def test_forces_of_a_run_are_its_reactions_from_the_start(integrator: str) -> None:
    run = lw.simulate(driven_four_bar(), seconds=0.05, integrator=integrator)  # type: ignore[arg-type]
    np.testing.assert_array_equal(run.forces["drive"], run.reactions["drive"])
    assert np.abs(run.forces["drive"]).min() > 0.1
    assert np.abs(run.multipliers[0]).max() == 0


def test_forces_of_switched_constraints_are_zero_while_they_are_off() -> None:
    robot = driven_four_bar()
    off = lw.Event(lambda t, q, v: t - 0.0205, disable="drive")
    run = lw.simulate(robot, seconds=0.05, events=off)
    held = run.enabled[:, [c.name for c in robot.constraints].index("drive")]
    force = run.forces["drive"][:, 0]
    assert np.abs(force[held]).min() > 0.1 and np.abs(force[~held]).max() < 1e-20


def test_forces_of_a_run_that_blows_up_go_as_far_as_it_went() -> None:
    robot = zoo.four_bar()
    q = robot.poses["assembled"]
    with pytest.warns(lw.errors.SimulationWarning):
        run = lw.simulate(robot, q, robot.project_velocity(q, [1e4, 0, 0]), seconds=5, dt=0.05, integrator="euler")
    with pytest.warns(lw.errors.StateWarning, match="open by"):
        force = run.forces["C"]
    assert np.isfinite(force[0]).all() and np.isnan(force[-1]).all() and len(force) == len(run)


def test_rollouts_with_masses_do_not_answer_for_the_masses_of_the_robot() -> None:
    """Energies and reactions of robots with five times the mass were those of the robot that they are variants of."""
    robot = zoo.four_bar().with_gravity((0, 0, -9.81))
    q = np.tile(robot.poses["assembled"], (3, 1))
    masses = robot.parameters["mass"] * np.array([[1.0], [2.0], [5.0]])
    run = lw.rollouts(robot, q, seconds=0.02, parameters={"mass": masses}, record_every=1)
    for quantity in ("energy", "acceleration", "reactions", "power"):
        with pytest.raises(UnsupportedFeature, match=r"simulated with mass of their own; for one of them take robot\."):
            getattr(run, quantity)
    assert run.errors.max() < 1e-3 and run.frame_placement("rocker").position.shape == (21, 3, 3)
    assert np.abs(run.forces["C"][-1]).max(axis=-1)[2] > 2 * np.abs(run.forces["C"][-1]).max(axis=-1)[0]
    assert len(run.plot().axes) >= 1
    with pytest.raises(UnsupportedFeature, match="energies along a trajectory"):
        run.plot(quantities="energy")


def test_rollouts_with_lengths_do_not_answer_for_the_lengths_of_the_robot() -> None:
    robot = zoo.pendulum(2)
    places = np.tile(robot.parameters["joint_position"], (2, 1, 1))
    places[1, 1, 2] *= 2
    run = lw.rollouts(robot, np.full((2, 2), 0.3), seconds=0.01, parameters={"joint_position": places})
    for quantity in (run.frame_placement, run.frame_velocity):
        with pytest.raises(UnsupportedFeature, match="simulated with joint_position of their own"):
            quantity("tip")
