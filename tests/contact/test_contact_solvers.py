# SPDX-License-Identifier: BSD-3-Clause
"""Steps with contacts by every solver: the same motion, the laws of contact, in every way to run."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from linkwork import zoo
from linkwork.contact.step import ContactStep
from linkwork.mechanism import Builder, Mechanism
from linkwork.model.constraints import WORLD
from linkwork.model.contacts import ContactPair, ContactShape
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Free, Revolute
from linkwork.model.placement import Placement
from linkwork.model.shapes import Box, Ground, Sphere
from linkwork.quantities.functions import constraint_error, frame_placement
from tests.support.contact_scenes import laws_of_contact

Floats = npt.NDArray[np.float64]
Solver = Literal["newton", "admm", "pgs"]

ROWS: tuple[Solver, ...] = ("admm", "pgs")
DT = 1e-3
SLOW = 1e-8
"""Velocities that count as none, in m/s: steps end at less than a fifth of it."""


class Scene(NamedTuple):
    """A robot in contact, and a state."""

    robot: Mechanism
    q: Floats
    v: Floats
    unique: bool = True
    """Whether velocities are unique: with redundant contacts that slide they are not. Forces rarely are."""


def ground(height: float = 0.0) -> ContactShape:
    """The ground."""
    return ContactShape("ground", WORLD, Ground(), Placement((0.0, 0.0, height)))


def boxes(masses: tuple[float, ...], friction: float = 0.5) -> Mechanism:
    """A stack of cubes of 20 cm."""
    build, pairs, below = Builder("stack"), [], ground()
    pose = {}
    for k, mass in enumerate(masses):
        name = f"box{k}"
        build.body(name, Inertia.box(mass, (0.2, 0.2, 0.2))).joint(name, Free(), WORLD, name)
        pose[name] = (0.0, 0.0, 0.1 + 0.2 * k, 0.0, 0.0, 0.0, 1.0)
        shape = ContactShape(name, name, Box((0.2, 0.2, 0.2)))
        pairs.append(ContactPair(below, shape, friction=friction, slots=4))
        below = shape
    return replace(build.pose("assembled", pose).build(), contacts=tuple(pairs))


def leg() -> Mechanism:
    """Two links with a ball at their end that slides on the ground, joints with limits and dry friction."""
    build = Builder("leg")
    build.body("thigh", Inertia.box(1.0, (0.05, 0.05, 0.3), com=(0.0, 0.0, -0.15)))
    build.body("shank", Inertia.box(0.7, (0.04, 0.04, 0.3), com=(0.0, 0.0, -0.15)))
    build.joint("hip", Revolute("y"), WORLD, "thigh", at=(0.0, 0.0, 0.6), friction=0.2)
    build.joint("knee", Revolute("y"), "thigh", "shank", at=(0.0, 0.0, -0.3), lower=0.3, upper=2.0, friction=0.1)
    build.pose("assembled", {"hip": (-0.4,), "knee": (0.35,)})
    foot = ContactShape("foot", "shank", Sphere(0.02), Placement((0.0, 0.0, -0.3)))
    height = 0.6 - 0.3 * np.cos(0.4) - 0.3 * np.cos(0.05) - 0.02
    return replace(build.build(), contacts=(ContactPair(ground(float(height)), foot, friction=0.2),))


def linkage() -> Mechanism:
    """A four-bar, closed by a hinge (redundant rows), a ball on its coupler on the ground."""
    robot = zoo.four_bar()
    ball = ContactShape("ball", "coupler", Sphere(0.03))
    lowest = robot_height(robot, "coupler") - 0.03
    return replace(robot, contacts=(ContactPair(ground(lowest), ball, friction=0.4),))


def robot_height(robot: Mechanism, body: str) -> float:
    """Of a body's origin, assembled."""
    return float(frame_placement(robot, robot.poses["assembled"], body).position[..., 2])


@lru_cache
def scene(name: str) -> Scene:
    """A scene by name."""
    match name:
        case "box at rest":
            robot, v, unique = boxes((1.0,)), np.zeros(6), True
        case "box thrown down":
            robot, v, unique = boxes((1.0,)), np.array([0.5, -0.3, -1.0, 2.0, -1.0, 1.0]), False
        case "stack":
            robot, v, unique = boxes((1.0, 2.0, 0.5)), np.zeros(18), True
        case "heavy on light":
            robot, v, unique = boxes((1.0, 100.0)), np.zeros(12), True
        case "leg":
            robot, v, unique = leg(), np.array([0.8, -1.5]), True
        case _:
            robot, unique = linkage(), True
            v = np.zeros(3)
    return Scene(robot, np.array(robot.poses["assembled"]), v, unique)


SCENES = ["box at rest", "box thrown down", "stack", "heavy on light", "leg", "linkage"]


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("solver", ROWS)
def test_solvers_on_rows_find_what_newton_finds(name: str, solver: Solver) -> None:
    given = scene(name)
    step, reference = (ContactStep(given.robot, DT, s, tolerance=1e-9) for s in (solver, "newton"))
    found, other = step(given.q, given.v), reference(given.q, given.v)
    assert found.converged
    assert other.converged
    if given.unique:
        assert found.v == pytest.approx(other.v, abs=1e-6)
        assert found.q == pytest.approx(other.q, abs=1e-8)


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("solver", ROWS)
def test_contacts_obey_signorini_and_coulomb(name: str, solver: Solver) -> None:
    given = scene(name)
    found = ContactStep(given.robot, DT, solver, tolerance=1e-9)(given.q, given.v)
    f, u = found.forces, found.contact_velocity
    mu = np.array([pair.friction for pair in given.robot.contacts]).repeat(f.shape[0] // len(given.robot.contacts))
    weight = 9.81 * given.robot.mass
    assert (f[:, 2] > -1e-6 * weight).all()
    assert (np.linalg.norm(f[:, :2], axis=1) <= mu * f[:, 2] + 1e-5 * weight).all()
    assert (u[:, 2] > -SLOW).all()
    assert (np.abs(u[:, 2])[f[:, 2] > 1e-3 * weight] < SLOW).all()
    assert (np.einsum("ki,ki->k", f[:, :2], u[:, :2]) < 1e-5 * weight).all()  # friction takes energy


@pytest.mark.parametrize("solver", ROWS)
@pytest.mark.parametrize("name", ["box thrown down", "leg", "linkage"])
def test_batches_in_lanes_are_single_steps(name: str, solver: Solver) -> None:
    given = scene(name)
    step = ContactStep(given.robot, DT, solver)
    rng = np.random.default_rng(1)
    v = given.v + (0.1 * rng.normal(size=(11, given.robot.nv)) if name != "linkage" else np.zeros((11, 3)))
    batch, singles = step(given.q, v), [step(given.q, row) for row in v]
    assert batch.iterations == pytest.approx([x.iterations for x in singles], rel=0.01, abs=1)
    for k, x in enumerate(singles):
        assert batch.v[k] == pytest.approx(x.v, abs=1e-8)  # rounding, in hundreds of iterations


@pytest.mark.parametrize("solver", ROWS)
@pytest.mark.parametrize("name", ["box at rest", "leg"])
def test_plain_text_does_the_same(name: str, solver: Solver) -> None:
    given = scene(name)
    step = ContactStep(given.robot, DT, solver)
    found, plain = step(given.q, given.v), step.plain()(given.q, given.v)
    assert abs(plain.iterations - found.iterations) <= 1 + 0.01 * found.iterations
    assert plain.v == pytest.approx(found.v, abs=1e-8)


@pytest.mark.parametrize("solver", ROWS)
@pytest.mark.parametrize("name", ["stack", "leg", "box thrown down"])
def test_a_step_starts_from_the_forces_of_the_last(name: str, solver: Solver) -> None:
    given = scene(name)
    step = ContactStep(given.robot, DT, solver)
    first = step(given.q, given.v)
    again = step(given.q, given.v, start=first)
    assert again.iterations <= max(1, first.iterations // 4)


@pytest.mark.parametrize("solver", ROWS)
def test_steps_that_do_not_converge_say_so(solver: Solver) -> None:
    given = scene("stack")
    step = ContactStep(given.robot, DT, solver, max_iterations=3)
    with pytest.warns(UserWarning, match="did not solve"):
        found = step(given.q, given.v)
    assert not found.converged
    assert found.iterations == 3


@pytest.mark.parametrize("solver", ROWS)
def test_loops_stay_closed(solver: Solver) -> None:
    """A tenth of a second of a linkage that lies on the ground."""
    given = scene("linkage")
    step = ContactStep(given.robot, DT, solver)
    q, v, last = given.q, given.v, None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(100):
            last = step(q, v, start=last)
            q, v = last.q, last.v
    assert np.abs(constraint_error(given.robot, q)).max() < 1e-6


@pytest.mark.parametrize("solver", ROWS)
def test_forces_are_in_their_cones_and_the_residual_is_theirs(solver: Solver) -> None:
    scene, rng = zoo.boxes(4), np.random.default_rng(0)
    q, v = scene.poses["assembled"], 0.2 * rng.normal(size=scene.nv)
    s = ContactStep(scene, solver=solver)(q, v)
    found = laws_of_contact(scene, q, v, s, 1e-3)
    assert max(found["cone"], found["pull"]) < 1e-15
    assert max(found["dynamics"], found["velocities"]) < 1e-13
    assert found["penetration"] < 2 * s.residual
