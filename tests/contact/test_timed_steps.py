# SPDX-License-Identifier: BSD-3-Clause
"""Constraints and forces that depend on time in steps with contacts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import UnsupportedFeature
from linkwork.model.contacts import ContactPair, ContactShape
from linkwork.model.shapes import Box
from tests.support.contact_scenes import box_on_plane, ground

G, MU, SPEED = 9.81, 0.3, 0.4


def pushed(follows: object = lambda t: SPEED * t) -> lw.Mechanism:
    """A paddle on a slide that pushes a box of 2 kg over the ground."""
    build = lw.Builder("pusher", gravity=(0, 0, -G))
    solid = Box((0.1, 0.1, 0.1))
    for name, mass in (("paddle", 1.0), ("box", 2.0)):
        build.body(name, lw.Inertia.box(mass, solid.size))
    build.joint("slide", lw.joints.Prismatic("x"), "world", "paddle", at=(0, 0, 0.05))
    build.joint("free", lw.joints.Free(), "world", "box")
    robot = build.build().constrained(lw.Drive("slide", follows))  # type: ignore[arg-type]
    paddle, box = ContactShape("paddle", "paddle", solid), ContactShape("box", "box", solid)
    pairs = ContactPair(paddle, box, friction=0.0), ContactPair(ground(), box, friction=MU)
    return replace(robot, contacts=pairs)


def beside(robot: lw.Mechanism) -> np.ndarray:
    """The box touches the paddle."""
    q = robot.neutral()
    q[1:4] = 0.1, 0.0, 0.05
    return q


def test_drive_pushes_a_box_with_the_force_of_its_friction() -> None:
    robot = pushed()
    run = lw.simulate(robot, beside(robot), [SPEED, SPEED, 0, 0, 0, 0, 0], seconds=0.3, dt=1e-3)
    np.testing.assert_allclose(run.q[:, 0], SPEED * run.times, rtol=0, atol=1e-10)
    np.testing.assert_allclose(run.q[:, 1] - run.q[:, 0], 0.1, rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.forces["slide drive"][1:, 0], MU * 2.0 * G, rtol=1e-6)
    assert run.contacts.missed[-1] == 0


def test_acceleration_of_a_drive_takes_the_force_of_both_masses() -> None:
    """``p = a t²/2``: the force after a step is that of its mean acceleration, ``a``."""
    robot = pushed(lambda t: 0.5 * 3.0 * t * t)
    run = lw.simulate(robot, beside(robot), seconds=0.2, dt=1e-3)
    np.testing.assert_allclose(run.q[:, 0], 1.5 * run.times**2, rtol=0, atol=1e-10)
    np.testing.assert_allclose(run.forces["slide drive"][2:, 0], 3.0 * 3.0 + MU * 2.0 * G, rtol=1e-5)


def test_steps_in_parts_and_batches_keep_their_clock() -> None:
    robot = pushed(lambda t: 0.1 * (1.0 - np.cos(8.0 * t)))
    q, v = beside(robot), np.zeros(robot.nv)
    stepper = lw.Stepper(robot, 1e-3)
    whole = stepper(q, v, steps=60)
    first = stepper(q, v, steps=25)
    parts = stepper(first.q, first.v, steps=35, time=0.025, contact_state=first.contact_state)
    np.testing.assert_array_equal(parts.q, whole.q)
    assert whole.q[0] == pytest.approx(0.1 * (1.0 - np.cos(8.0 * 0.06)), abs=1e-10)
    many = stepper(np.tile(q, (9, 1)), np.tile(v, (9, 1)), steps=60)
    np.testing.assert_allclose(many.q, np.tile(whole.q, (9, 1)), rtol=0, atol=1e-9)
    batch = lw.Simulation(robot, 2, dt=1e-3, q=q)
    for _ in range(2):
        batch.step(steps=30)
    np.testing.assert_allclose(batch.q[0], whole.q, rtol=0, atol=1e-9)


def test_one_step_leads_to_the_motion_a_step_after_the_time_of_the_robot() -> None:
    robot = replace(pushed(), time=0.2)
    q = beside(robot)
    q[0], q[1] = SPEED * 0.2, SPEED * 0.2 + 0.1
    for solver in ("newton", "admm", "pgs"):
        s = lw.contact.ContactStep(robot, dt=1e-3, solver=solver)(q, [SPEED, SPEED, 0, 0, 0, 0, 0])
        assert s.q[0] == pytest.approx(SPEED * 0.201, abs=1e-10)
    by_slots = lw.contact.ContactStep(robot, dt=1e-3).by_slots(q, [SPEED, SPEED, 0, 0, 0, 0, 0])
    assert by_slots.q[0] == pytest.approx(SPEED * 0.201, abs=1e-10)
    assert by_slots.multipliers[0] == pytest.approx(MU * 2.0 * G, rel=1e-6)


def test_driven_linkage_closes_and_lifts_what_lies_on_it() -> None:
    """The crank of a four-bar turns as said, with a ball on its coupler held by a box."""
    linkage = lw.zoo.four_bar()
    joint = linkage.joint_names[0]
    robot = linkage.constrained(lw.Drive(joint, lambda t: 0.7 + 2.0 * t, name="crank drive"))
    robot = robot.with_parameters(friction=np.full(robot.nv, 0.01))
    q = linkage.assemble([0.7, *np.zeros(linkage.nq - 1)], fixed=[joint])
    run = lw.simulate(robot, q, seconds=0.3, dt=1e-3, contact=True)
    np.testing.assert_allclose(run.q[:, 0], 0.7 + 2.0 * run.times, rtol=0, atol=1e-10)
    last = replace(robot, time=run.times[-1])
    assert np.abs(lw.constraint_error(last, run.q[-1])).max() < 1e-7


def test_force_of_time_pushes_a_box_over_the_ground() -> None:
    robot, q = box_on_plane(friction=0.0)
    push = lw.Force("b0", lambda t: (6.0 * t, 0, 0))
    run = lw.simulate(robot.with_forces(push), q, seconds=0.2, dt=1e-3)
    assert run.v[-1, 0] == pytest.approx(6.0 * 0.5 * 0.2 * 0.201, rel=1e-9)


def test_compiled_steps_and_derivatives_without_a_clock_are_refused() -> None:
    robot = pushed()
    with pytest.raises(UnsupportedFeature, match="have no clock"):
        lw.Stepper(robot, 1e-3).compile()
