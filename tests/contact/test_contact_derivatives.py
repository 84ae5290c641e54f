# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of steps with contacts: sliding, sticking, impact, rest, and what lies between them, smoothed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork import zoo
from linkwork.compilers.pipeline_runner import PipelineRunner
from linkwork.contact import implicit
from linkwork.contact.step_equations import ContactEquations
from tests.support.states import assert_close, differences_of_step

DT, FRICTION, GRAVITY = 1e-2, 0.5, 9.81
PENETRATION = 1e-4
"""In contact, and off the switch between touching and not."""


def box() -> tuple[lw.Mechanism, Any]:
    """A box of 1 kg on the ground, and its configuration."""
    robot = zoo.sliding_box(friction=FRICTION)
    q = robot.poses["assembled"].copy()
    q[2] -= PENETRATION
    return robot, q


def test_a_sliding_box_loses_speed_by_friction() -> None:
    """``v1 = v (1 - mu g dt / |v|)``: along the motion nothing of a change of speed is lost, across it some is."""
    robot, q = box()
    step = lw.contact.ContactStep(robot, DT, time_constant=None)
    v = np.array([2.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    solution = step(q, v)
    found = step.plain().derivatives(q, v, solution=solution)
    assert_close(found.v1[:2], [2.0 - FRICTION * GRAVITY * DT, 0.0], 1e-6)
    turned = 1.0 - FRICTION * GRAVITY * DT / 2.0
    assert_close(found.dv1_dv[:2, :2], np.diag([1.0, turned]), 1e-6)
    # of a push down, friction takes its part: the box has 1 kg
    assert_close(found.dv1_dtau[:3, 2], [FRICTION * DT, 0.0, 0.0], 1e-6)
    assert_close(found.dv1_dtau[:2, :2], DT * np.diag([1.0, turned]), 1e-6)


def test_a_box_that_sticks_does_not_move() -> None:
    robot, q = box()
    step = lw.contact.ContactStep(robot, DT, time_constant=None)
    push = np.array([0.4 * FRICTION * GRAVITY, 0.3, 0.0, 0.0, 0.0, 0.0])
    found = step.plain().derivatives(q, np.zeros(6), push, solution=step(q, np.zeros(6), push))
    assert_close(found.dv1_dtau, np.zeros((6, 6)), 1e-9, scale=DT)
    assert_close(found.dv1_dv, np.zeros((6, 6)), 1e-9, scale=1.0)


def test_a_ball_bounces_with_its_restitution() -> None:
    robot = zoo.bouncing_ball(restitution=0.8, radius=0.1)
    q = robot.poses["assembled"].copy()
    q[2] += 0.101 - q[2]
    v = np.array([0.0, 0.0, -3.0, 0.0, 0.0, 0.0])
    step = lw.contact.ContactStep(robot, DT)
    found = step.plain().derivatives(q, v, solution=step(q, v))
    assert_close(found.v1[2], 2.4, 1e-6)
    assert abs(found.dv1_dv[2, 2] + 0.8) < 1e-9
    assert_close(found.dv1_dtau[2], np.zeros(6), 1e-9, scale=DT)  # no force in the step changes the bounce


@pytest.mark.parametrize(("depth", "h"), [(1e-4, 1e-6), (1e-7, 1e-8)])
def test_loads_slow_the_removal_of_penetration_in_all_forms(depth: float, h: float) -> None:
    """By a compliance, which depends on slight depths; derivatives have what it changes."""
    robot = zoo.sliding_box(friction=FRICTION)
    q, push = robot.poses["assembled"].copy(), np.array([1.0, 0.3, -2.0, 0.05, 0.02, 0.1])
    q[2] -= depth
    step = lw.contact.ContactStep(robot, DT, tolerance=1e-11)
    solution = step.by_slots(q, np.zeros(6), push)
    assert_close(step(q, np.zeros(6), push).v, solution.v, 1e-10, scale=1.0)
    assert solution.v[2] < depth / (2 * DT) * (1 - 1e-3)
    found = step.by_slots.plain().derivatives(q, np.zeros(6), push, solution=solution)
    sides = [
        [step.by_slots(robot.integrate(q, sign * e), np.zeros(6), push).v for e in h * np.eye(6)] for sign in (1, -1)
    ]
    assert_close(found.dv1_dq, (np.array(sides[0]) - np.array(sides[1])).T / (2 * h), 1e-5)


def test_bodies_that_are_apart_fall_freely() -> None:
    robot, q = box()
    q[2] += 1.0
    step = lw.contact.ContactStep(robot, DT)
    found = step.plain().derivatives(q, np.zeros(6), solution=step(q, np.zeros(6)))
    assert_close(found.dv1_dv[:3, :3], np.eye(3), 1e-9)
    assert_close(found.dv1_dv[3:, 3:], np.eye(3), 1e-9)


def tilted(angles: Any, height: float) -> tuple[lw.Mechanism, Any]:
    robot, q = box()
    q = robot.integrate(q, np.array([0, 0, 0, *angles]))
    q[2] = height
    return robot, q


@pytest.mark.parametrize("velocity", [[0.3, -0.2, -2.0, 0.1, 0.2, 0.3], [0.0, 0.0, -1.0, 0.0, 2.0, 0.0]])
def test_an_edge_or_corner_that_hits_the_ground_against_differences(velocity: Any) -> None:
    robot, q = tilted([0.1, 0.05, 0.0], 0.118)
    step = lw.contact.ContactStep(robot, DT, tolerance=1e-12)
    v, tau = np.array(velocity), np.zeros(6)
    solution = step(q, v, tau)
    assert solution.forces[:, 2].max() > 1.0
    found = step.plain().derivatives(q, v, tau, solution=solution)
    assert_close(np.concatenate([found.A, found.B], axis=-1), differences_of_step(step.robot, step, q, v, tau), 1e-7)


def on_ground(solid: Any, field: lw.shapes.HeightField) -> tuple[lw.Mechanism, Any]:
    """A free body on a height field, a millimeter deep, in two places: within the field, and at its rim."""
    build = lw.Builder("on ground")
    build.body("body", lw.Inertia.box(1.0, (0.2, 0.3, 0.1))).joint("free", lw.joints.Free(), "world", "body")
    robot = build.build().with_contacts(lw.contact.ContactShape("solid", "body", solid), ground=field)
    gaps = lw.contact.ContactGeometry(robot)
    q = robot.integrate(robot.neutral(), np.array([[0.31, -0.22, 0, 0.5, 0.4, 0.3], [1.02, 0.4, 0, 0.5, 0.4, 0.3]]))
    low, high = np.full(2, -1.0), np.full(2, 1.0)
    for _ in range(40):
        q[:, 2] = 0.5 * (low + high)
        deep = gaps(q).gaps.min(axis=-1) < -1e-3
        low, high = np.where(deep, q[:, 2], low), np.where(deep, high, q[:, 2])
    return robot, q


@pytest.mark.parametrize("solid", [lw.shapes.Sphere(0.1), lw.shapes.Capsule(0.05, 0.3), lw.shapes.Box((0.2, 0.3, 0.1))])
def test_steps_on_a_height_field_of_any_size_against_differences(solid: Any) -> None:
    heights = 0.05 * np.random.default_rng(0).normal(size=(40, 30))
    robot, q = on_ground(solid, lw.shapes.HeightField(heights, (2.0, 3.0)))
    step = lw.contact.ContactStep(robot, DT, tolerance=1e-12).by_slots
    v, tau = np.array([0.3, -0.2, -0.5, 0.1, 0.2, 0.3]), np.zeros(6)
    solution = step(q, v, tau)
    assert (solution.forces[..., 2].max(axis=-1) > 1.0).all()
    found = step.derivatives(q, v, tau, solution=solution)
    both = np.concatenate([found.A, found.B], axis=-1)
    for one, x in zip(both, q, strict=True):
        assert_close(one, differences_of_step(step.robot, step, x, v, tau), 1e-7)
    y = np.linspace(-1.0, 1.0, 12).reshape(2, 6)
    assert_close(np.concatenate(step.vjp(q, v, tau, *y), axis=-1), y.ravel() @ both, 1e-9)


def test_a_ball_on_a_tray_of_hills_against_differences() -> None:
    """The height field moves, is the second shape of the pair, and has a margin; positions of joints are inputs."""
    build = lw.Builder("tray")
    for name in ("tray", "ball"):
        build.body(name, lw.Inertia.box(1.0, (0.2, 0.3, 0.1))).joint(name, lw.joints.Free(), "world", name)
    field = lw.contact.ContactShape(
        "field", "tray", lw.shapes.HeightField(((0.0, 0.1, 0.0), (0.2, 0.0, 0.1)), (1.0, 1.0))
    )
    ball = lw.contact.ContactShape("round", "ball", lw.shapes.Sphere(0.1), lw.Placement((0.0, 0.02, 0.01)))
    robot = build.build().with_contacts(lw.contact.ContactPair(ball, field, margin=0.01))
    step = lw.contact.ContactStep(robot, DT, tolerance=1e-12, parameters=["joint_position"])
    at = step.parameters["joint_position"] + 0.01
    step = step.with_parameters(joint_position=at)
    q = robot.integrate(robot.neutral(), 0.1 * np.cos(np.arange(12.0)))
    q[7:10] = 0.1, 0.1, 0.11
    v, tau = 0.1 * np.sin(np.arange(12.0)), np.zeros(12)
    v[8] = -1.0  # the ball hits the tray
    solution = step(q, v, tau)
    assert solution.forces[..., 2].max() > 1.0
    found = step.derivatives(q, v, tau, solution=solution)
    assert_close(np.concatenate([found.A, found.B], axis=-1), differences_of_step(step.robot, step, q, v, tau), 1e-7)
    d, h = np.cos(np.arange(at.size)).reshape(at.shape), 1e-6
    one, other = (step(q, v, tau, joint_position=at + t * d) for t in (h, -h))
    _, rate = step.jvp(q, v, tau, *np.zeros((3, 12)), solution=solution, djoint_position=d)
    assert_close(rate, (one.v - other.v) / (2 * h), 1e-7)


def test_a_program_of_a_step_that_is_too_large_says_what_makes_it_shorter() -> None:
    robot, _ = box()
    equations = ContactEquations(lw.contact.ContactStep(robot, DT).vjp._derivatives.step, "equations")
    with pytest.raises(
        lw.errors.ProgramTooLarge, match=r"4 contact points of 1 pairs.*more than 900 op.*robot.without_contacts"
    ):
        equations.product_trace("vjp", ("q",), 900)


@settings(max_examples=8)
@given(seed=st.integers(0, 10_000))
def test_products_agree_with_each_other_in_any_state(seed: int) -> None:
    rng = np.random.default_rng(seed)
    robot, q = tilted(0.3 * rng.normal(size=3), rng.uniform(0.08, 0.14))
    v, tau = rng.normal(size=(2, 6))
    step = lw.contact.ContactStep(robot, DT)
    solution = step(q, v, tau)
    y, d = rng.normal(size=(2, 6)), rng.normal(size=(3, 6))
    plain = step.plain()
    for smoothing in (None, 0.1):
        rates = plain.jvp(q, v, tau, *d, solution=solution, smoothing=smoothing)
        gradient = plain.vjp(q, v, tau, *y, solution=solution, smoothing=smoothing)
        ahead = sum(a @ b for a, b in zip(y, rates, strict=True))
        back = sum(a @ b for a, b in zip(gradient, d, strict=True))
        size = sum(np.abs(a) @ np.abs(b) for a, b in zip(gradient, d, strict=True))
        assert abs(ahead - back) < 1e-9 * size


def test_smoothing_shows_the_way_out_of_rest() -> None:
    """A box that sticks has no gradient by a push; smoothed, it has one, the larger the more it is smoothed."""
    robot, q = box()
    step, push = lw.contact.ContactStep(robot, DT, time_constant=None), np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    solution = step(q, np.zeros(6), push)
    slopes = [
        step.plain().jvp(q, np.zeros(6), push, np.zeros(6), np.zeros(6), np.eye(6)[0], solution=solution, smoothing=s)[
            1
        ][0]
        for s in (None, 1e-2, 1e-1, 1.0)
    ]
    assert abs(slopes[0]) < 1e-9 * DT
    assert 0 < slopes[1] < slopes[2] < slopes[3] < DT


def test_smoothed_derivatives_are_those_of_the_smoothed_step() -> None:
    robot, q = tilted([0.1, 0.05, 0.0], 0.118)
    step = lw.contact.ContactStep(robot, DT, tolerance=1e-12).by_slots
    v, tau, h, smoothing = np.array([0.3, -0.2, -1.0, 0.1, 0.2, 0.3]), np.zeros(6), 1e-5, 0.2
    made = step.plain()._derivatives()

    def after(dv: Any) -> Any:
        state = [q, v + dv, tau]
        result = made.at(state, {}, step(*state).result, smoothing).result
        return result[made.step.step.layout.places["a"]] * DT + v + dv  # in the axes of the start

    wanted = np.array([(after(e) - after(-e)) / (2 * h) for e in h * np.eye(6)]).T
    solution = step(q, v, tau)
    at = made.at([q, v, tau], {}, solution.result, smoothing)
    accelerations = PipelineRunner(replace(implicit.jvp(made.programs), outputs=("da",)), made.runner)
    along = {"dq": np.zeros(6), "dv": np.eye(6)[2], "dtau": np.zeros(6), "how": implicit.how("jvp", at.theta)}
    changes = accelerations({**at.inputs, **along})["da"]
    assert_close(DT * changes + np.eye(6)[2], wanted[:, 2], 1e-6)


# Parameters ---------------------------------------------------------------------------------------------------------


def test_friction_slows_a_sliding_box_in_proportion() -> None:
    """``v1 = v - mu g dt``, whatever the mass."""
    robot, q = box()
    plain = lw.contact.ContactStep(robot, DT, time_constant=None, parameters=["contact_friction", "mass"]).plain()
    v = np.array([2.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    solution = plain(q, v)
    _, rate = plain.jvp(q, v, None, *np.zeros((3, 6)), dcontact_friction=[1.0], solution=solution)
    assert_close(rate, [-GRAVITY * DT, 0, 0, 0, rate[4], 0], 1e-6)
    *_, by_friction, by_mass = plain.vjp(q, v, None, np.zeros(6), np.eye(6)[0], solution=solution)
    assert_close(by_friction, [-GRAVITY * DT], 1e-6)
    assert abs(by_mass[0]) < 1e-8


@pytest.mark.parametrize("kind", [lw.contact.ContactStep, lw.Stepper])
def test_derivatives_by_parameters_against_differences(kind: Any) -> None:
    """A hopper on the ground, with a loop and dry friction in its joints."""
    robot = zoo.hopper()
    names = ("friction", "contact_friction", "joint_position", "damping", "mass", "gravity")
    step = kind(robot, dt=DT, parameters=names).plain()
    step = step.with_parameters(friction=np.full(robot.nv, 0.3), damping=np.full(robot.nv, 0.3))
    rng, h = np.random.default_rng(1), 1e-6
    q, v, tau = robot.poses["assembled"], 0.5 * rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    y, solution = rng.normal(size=(2, robot.nv)), step(q, v, tau)
    gradient = dict(zip(step.vjp.inputs, step.vjp(q, v, tau, *y, solution=solution), strict=True))
    for name in names:
        own = step.parameters[name]
        d = rng.normal(size=own.shape)
        one, other = (step(q, v, tau, **{name: own + t * d}) for t in (h, -h))
        _, rate = step.jvp(q, v, tau, *np.zeros((3, robot.nv)), solution=solution, **{f"d{name}": d})
        assert_close(rate, (one.v - other.v) / (2 * h), 1e-6, scale=1.0)
        ahead = robot.difference(other.q, one.q) / (2 * h) @ y[0] + rate @ y[1]
        assert abs(ahead - (gradient[name] * d).sum()) < 1e-6 * (1.0 + abs(ahead))


def test_products_write_to_arrays_and_are_bound() -> None:
    robot, q = tilted([0.1, 0.05, 0.0], 0.118)
    step = lw.contact.ContactStep(robot, DT, parameters=["mass"]).plain()
    v, y = np.array([0.3, -0.2, -2.0, 0.1, 0.2, 0.3]), np.ones(6)
    expected = step.vjp(q, v, None, y, y)
    out = [np.empty_like(x) for x in expected]
    state = q.copy()
    call = step.vjp.bind(state, v, None, y, y, out=out)
    call()
    for x, z in zip(out, expected, strict=True):
        np.testing.assert_array_equal(x, z)
    state[2] += 1.0
    call()
    assert np.abs(out[0] - expected[0]).max() > 1e-3
    with pytest.raises(lw.errors.InputError, match="out needs an array for each of q, v, tau, mass"):
        step.vjp(q, v, None, y, y, out=out[:2])


def test_native_batches_of_a_stepper_with_contacts_and_its_rollout() -> None:
    """Steps of a box that slides: where it ends is ``v T - mu g T² / 2``."""
    robot, q = box()
    stepper = lw.Stepper(robot, dt=1e-3)
    q[2] += PENETRATION
    v = np.array([[1.0, 0.0, 0, 0, 0, 0], [0.6, 0.8, 0, 0, 0, 0]])
    steps = 40
    made = lw.derivatives.Adjoint(stepper)(np.stack([q, q]), v, np.zeros((steps, 2, 6)))
    y = np.zeros((2, 6))
    y[:, :2] = v[:, :2]  # distance along the motion
    found = made.gradient(y)
    assert_close((found.v[:, :2] * v[:, :2]).sum(axis=-1), [steps * 1e-3] * 2, 1e-6)
    # a push in step k acts on all positions after it
    later = np.arange(steps, 0, -1) * 1e-6
    assert_close((found.tau[:, :, :2] * v[:, :2]).sum(axis=-1), np.stack([later, later], axis=-1), 1e-6)


def test_the_linear_system_of_a_step_without_actuators() -> None:
    robot, q = box()
    v = np.array([2.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    A = lw.linearize(robot, q, v, np.zeros(6), dt=DT).A
    assert_close(A, lw.Stepper(robot, dt=DT).derivatives(q, v).A, 1e-12)


def test_what_is_refused() -> None:
    robot, q = box()
    with pytest.raises(lw.errors.InputError, match="float64"):
        lw.contact.ContactStep(robot, DT).native("float32").jvp(q, *np.zeros((5, 6)))
    with pytest.raises(lw.errors.InputError, match="smoothing"):
        lw.contact.ContactStep(robot, DT).plain().vjp(
            q, *np.zeros((4, 6)), smoothing=-1.0, solution=lw.contact.ContactStep(robot, DT)(q, np.zeros(6))
        )
    with pytest.raises(lw.errors.InputError, match="has no input 'mas'; did you mean 'mass'"):
        lw.contact.ContactStep(robot, DT, parameters=["mass"]).plain().vjp(q, *np.zeros((4, 6)), mas=[1.0])
