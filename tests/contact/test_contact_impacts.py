# SPDX-License-Identifier: BSD-3-Clause
"""Impacts with friction and restitution take energy, or keep it: rods, boxes and chains that hit the ground."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.contact.solution import ContactSolution
from linkwork.contact.step import SOLVERS
from linkwork.model.contacts import ContactPair, ContactShape
from linkwork.model.placement import Placement
from linkwork.model.rotations import quaternion_matrix
from linkwork.model.shapes import Box, Solid, Sphere
from tests.support.contact_scenes import ground
from tests.support.states import Floats, assert_close

INSTANT = 1e-11
"""A step in which nothing but contacts changes velocities."""


def hitting(build: lw.Builder, shapes: list[tuple[str, Solid, tuple[float, float, float]]], mu: float, e: Any) -> Any:
    """A robot whose shapes hit the ground; ``e`` is one number, or one for each shape."""
    pairs = [
        ContactPair(ground(), ContactShape(f"s{k}", body, solid, Placement(at)), friction=mu, restitution=float(bounce))
        for k, ((body, solid, at), bounce) in enumerate(zip(shapes, np.broadcast_to(e, len(shapes)), strict=True))
    ]
    return replace(build.build(), contacts=tuple(pairs))


def free_body(inertia: lw.Inertia) -> lw.Builder:
    return lw.Builder("body", gravity=(0, 0, 0)).body("b0", inertia).joint("j0", lw.joints.Free(), "world", "b0")


def rod(mu: float, e: Any) -> lw.Mechanism:
    """A meter long, along its z axis; its ends are points."""
    ends = [("b0", Sphere(1e-6), (0.0, 0.0, z)) for z in (-0.5, 0.5)]
    return hitting(free_body(lw.Inertia(1.0, (0, 0, 0), np.diag([1, 1, 1e-3]) / 12)), ends, mu, e)


def box(mu: float, e: Any) -> lw.Mechanism:
    size = (0.2, 0.3, 0.5)
    return hitting(free_body(lw.Inertia.box(2.0, size)), [("b0", Box(size), (0.0, 0.0, 0.0))], mu, np.max(e))


def chain(mu: float, e: Any) -> lw.Mechanism:
    """Four bars in a row, with a ball at each end of each."""
    build, length = free_body(lw.Inertia.box(0.5, (0.3, 0.05, 0.05), com=(0.15, 0, 0))), 0.3
    for k in range(1, 4):
        inertia = lw.Inertia.box(0.5 + 0.3 * k, (length, 0.05, 0.05), com=(length / 2, 0, 0))
        build.body(f"b{k}", inertia)
        build.joint(f"j{k}", lw.joints.Revolute("z" if k % 2 else "y"), f"b{k - 1}", f"b{k}", at=(length, 0, 0))
    balls = [("b0", Sphere(0.03), (0.0, 0.0, 0.0)), *((f"b{k}", Sphere(0.03), (length, 0.0, 0.0)) for k in range(4))]
    return hitting(build, balls, mu, np.resize(e, 5))


def falling(robot: lw.Mechanism, rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    """Random states that touch the ground, with their bases moving down; half of them lie flat."""
    q, v = robot.random(rng, count), 3 * rng.normal(size=(count, robot.nv))
    flat = rng.random(count) < 0.5
    q[flat, 3:7] = np.array([0, 1, 0, 1]) / np.sqrt(2) if robot.nv == 6 else (0, 0, 0, 1)
    q[flat, 8::2] = 0  # joints about y stay straight
    q[:, 2] -= lw.contact.ContactGeometry(robot)(q).gaps.min(axis=-1)
    v[:, 2] = -abs(v[:, 2])
    v[:, :3] = np.einsum("sji,sj->si", quaternion_matrix(q[:, 3:7]), v[:, :3])
    return q, v


def energy_ratio(robot: lw.Mechanism, q: Floats, v: Floats, s: ContactSolution) -> Floats:
    """Kinetic energy after the impact over that before it."""
    after = lw.energy(robot, q, v + INSTANT * s.acceleration).kinetic
    return np.asarray(after / lw.energy(robot, q, v).kinetic)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("scene", [rod, box, chain])
def test_an_impact_never_adds_energy(scene: Any, solver: Any) -> None:
    """The same with 10 000 impacts: no rise of more than 4e-10, which is what Coriolis forces do in the step."""
    rng = np.random.default_rng(0)
    reduced, solved = 0, []
    for mu, e in [(0, 1), (0.3, 1), (1, 0.8), (2, 1), (2, (1, 0)), (1, (0.2, 1)), (0, (1, 0))]:
        robot = scene(mu, e)
        q, v = falling(robot, rng, 40)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lw.errors.StateWarning)
            s = lw.contact.ContactStep(robot, INSTANT, solver)(q, v)
        solved.append(np.mean(s.converged))
        assert energy_ratio(robot, q, v, s)[s.converged].max() < 1 + 1e-9
        reduced += int((s.restitution < 0.99).sum())
    assert np.mean(solved) > 0.8
    assert reduced > 0  # Newton's law alone adds energy to some


def test_restitution_acts_in_full_where_it_adds_no_energy() -> None:
    rng = np.random.default_rng(1)
    for scene in (rod, box, chain):
        robot = scene(0.5, 0.5)
        q, v = falling(robot, rng, 40)
        v[:, 3:] = 0
        s = lw.contact.ContactStep(robot, INSTANT)(q, v)
        touching = s.forces[..., 2] > 1e-6 * s.forces[..., 2].max(axis=-1, keepdims=True)
        assert (s.restitution == 1).all()
        assert touching.any(axis=-1).all()


def tilted_rod(restitution: float, angle: float = 0.8) -> tuple[lw.Mechanism, Floats, Floats]:
    """A rod that falls at 2 m/s and turns at 8 rad/s, with friction 1."""
    robot = rod(1.0, restitution)
    q, v = robot.neutral(), np.zeros(6)
    q[3:] = (0, np.sin(angle / 2), 0, np.cos(angle / 2))
    q[2] = 0.5 * np.cos(angle) + 1e-6
    v[:3], v[4] = quaternion_matrix(q[3:]).T @ (0, 0, -2), -8
    return robot, q, v


def test_an_elastic_impact_of_a_rod_that_friction_would_speed_up_takes_energy() -> None:
    """Newton's law would add 56 %."""
    robot, q, v = tilted_rod(1.0)
    s = lw.contact.ContactStep(robot, INSTANT, strict=True)(q, v)
    assert_close(energy_ratio(robot, q, v, s), 0.87832, 1e-4)
    assert s.restitution == 0.75
    assert_close(s.contact_velocity[0, 2], 0.75 * 4.869424, 1e-6)


def test_an_elastic_impact_without_friction_keeps_its_energy() -> None:
    rng = np.random.default_rng(2)
    for scene in (rod, box):
        robot = scene(0.0, 1.0)
        q, v = falling(robot, rng, 40)
        v[:, 3:] = 0
        s = lw.contact.ContactStep(robot, INSTANT, strict=True)(q, v)
        assert_close(energy_ratio(robot, q, v, s), np.ones(40), 1e-6)


def test_derivatives_of_an_impact_with_less_restitution_against_differences() -> None:
    robot, q, v = tilted_rod(1.0)
    step = lw.contact.ContactStep(robot, 1e-3, tolerance=1e-13)
    tau, h = np.zeros(6), 1e-6
    assert step(q, v).restitution == 0.75
    found = step.plain().derivatives(q, v, tau)
    columns = [(step(q, v + e).v - step(q, v - e).v) / (2 * h) for e in h * np.eye(6)]
    assert_close(found.dv1_dv, np.array(columns).T, 1e-6)


def test_steps_of_a_simulation_add_no_energy_in_impacts() -> None:
    robot, q, v = tilted_rod(1.0)
    run = lw.simulate(robot, q, v, seconds=0.01, dt=1e-3)
    kinetic = run.energy["kinetic"]
    assert np.diff(kinetic).max() < 1e-9 * kinetic[0]
    assert run.contacts.dissipated["total"][-1] > 0.1 * kinetic[0]
