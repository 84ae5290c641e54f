# SPDX-License-Identifier: BSD-3-Clause
"""Designs: assemblies of many lengths and their gradients, synthesis, tolerances, circuits and dead centers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import InputError, SingularConstraints
from linkwork.mechanism import Mechanism

BOTH = ["joint_position", "anchor_position"]
ROBOTS: dict[str, tuple[Callable[[], Mechanism], str]] = {
    "hinge": (lambda: lw.zoo.four_bar("hinge"), "A"),
    "line": (lambda: lw.zoo.four_bar("line"), "A"),
    "jansen": (lw.zoo.jansen, "O"),
    "slider": (lw.zoo.slider_crank, "A"),
    "stewart": (lw.zoo.stewart, ""),
}


@cache
def four_bar(closure: Any = "hinge", **lengths: float) -> Mechanism:
    return lw.zoo.four_bar(closure, **lengths)


def varied(robot: Mechanism, names: list[str], size: float, count: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    own = robot.parameters
    return {name: own[name] + size * rng.normal(size=(count, *own[name].shape)) * [1, 0, 1] for name in names}


@pytest.mark.parametrize("name", ["hinge", "line", "jansen", "slider"])
def test_designs_are_assembled_as_rebuilt_robots_are(name: str) -> None:
    make, driver = ROBOTS[name]
    robot = make()
    designs, given = lw.design.Designs(robot, driver, BOTH), varied(robot, BOTH, 2e-3, 6)
    q = robot.poses["assembled"]
    for one in (designs, designs.compile()):
        found = one(np.tile(q, (6, 1)), **given)
        assert found.closed.all()
        for k in range(6):
            rebuilt = robot.with_parameters(**{name: x[k] for name, x in given.items()})
            np.testing.assert_allclose(found.q[k], rebuilt.assemble(q, fixed=[driver]), rtol=0, atol=1e-9)


def test_lengths_that_do_not_meet_are_named_not_raised() -> None:
    robot = four_bar()
    designs = lw.design.Designs(robot, "A", ["anchor_position"])
    anchors = np.stack([robot.parameters["anchor_position"]] * 2)
    anchors[1, 0, 0, 0] = 2.0
    found = designs(np.tile(robot.poses["assembled"], (2, 1)), anchor_position=anchors)
    assert found.closed.tolist() == [True, False] and found.gap[1] > 0.1


@pytest.mark.parametrize("name", ["hinge", "line", "jansen", "slider"])
def test_gradients_are_those_of_differences(name: str) -> None:
    """By lengths of open chain and loops, and by the driver: configurations, and positions of a frame, to 1e-7."""
    make, driver = ROBOTS[name]
    robot = make()
    designs = lw.design.Designs(robot, driver, BOTH, tolerance=1e-14)
    q, own, h = robot.assemble(robot.poses["assembled"], fixed=[driver]), dict(designs.parameters), 1e-5
    frame, rng = robot.body_names[-1], np.random.default_rng(1)
    y = rng.normal(size=robot.nv)
    by = designs.vjp(q, y)
    at = designs.position_jacobians(frame, q)
    # closed loops of planar linkages stay closed in the plane alone
    move = {name: rng.normal(size=x.shape) * [1, 0, 1] for name, x in own.items()}
    turn = rng.normal()
    ends, points = [], []
    for s in (h, -h):
        start = q.copy()
        start[robot.q_index(driver)] += s * turn
        moved = {name: x + s * move[name] for name, x in own.items()}
        found = designs(start, **moved)
        ends.append(found.q)
        points.append(designs.positions(frame, found.q, **moved))
    exact = sum(float((by[name] * move[name]).sum()) for name in own) + float(by["q"][0]) * turn
    by_differences = float(y @ (ends[0] - ends[1])) / (2 * h)
    assert abs(exact - by_differences) < 1e-7 * max(1.0, abs(exact))
    rate = sum((at[name] * move[name]).reshape(3, -1).sum(axis=-1) for name in own) + at["q"][:, 0] * turn
    np.testing.assert_allclose(rate, (points[0] - points[1]) / (2 * h), rtol=0, atol=1e-7)


def test_leading_a_driver_follows_every_design() -> None:
    robot, n = four_bar(), 20
    designs, given = lw.design.Designs(robot, "A", BOTH), varied(four_bar(), BOTH, 5e-3, 7)
    angles = 1.0 + np.linspace(0, 2 * np.pi, n)
    led = designs.lead(angles, np.tile(robot.poses["assembled"], (7, 1)), **given)
    assert led.q.shape == (n, 7, 3) and led.closed.all()
    np.testing.assert_allclose(led.q[:, :, 0], angles[:, None] + np.zeros((n, 7)), rtol=0, atol=0)
    np.testing.assert_allclose(np.cos(led.q[-1]), np.cos(led.q[0]), rtol=0, atol=1e-9)  # it came round


def test_synthesis_finds_the_lengths_that_drew_a_path() -> None:
    """Points of a coupler of other lengths are met to rounding from a design nearby."""
    build = lambda r, c, x: lw.zoo.four_bar(crank=r, coupler=c, rocker=x)  # noqa: E731
    angles = 1.0 + np.linspace(0, 2 * np.pi, 24, endpoint=False)
    true, first = build(0.21, 0.43, 0.42), build(0.2, 0.45, 0.4)
    q = true.sweep("A", angles).q
    rocker, path = q[:, true.q_index("D")], lw.frame_placement(true, q, "coupler").position
    free = {"joint_position": {"B": "x"}, "anchor_position": {"C": ("x", "x")}}
    found = lw.design.synthesize(first, "A", angles, {"D": rocker, "coupler": path.reshape(24, 3)}, free)
    assert found.error < 1e-12
    anchors = found.robot.parameters["anchor_position"][0, :, 0]
    np.testing.assert_allclose(anchors, [0.43, 0.42], rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.robot.parameters["joint_position"][1, 0], 0.21, rtol=0, atol=1e-10)
    assert found.robot.mobility(found.robot.poses["assembled"]).dof == 1


def test_function_synthesis_with_a_phase_improves_a_generator() -> None:
    """A rocker that turns in proportion to the crank over a third of a turn: Freudenstein's problem."""
    robot, angles = four_bar(), np.linspace(0.6, 1.8, 13)
    wanted = 1.9 + 0.45 * (angles - 0.6)
    free = {"anchor_position": {"C": ("x", "x")}, "joint_position": {"D": "x"}}
    led = lw.design.Designs(robot, "A").lead(angles, robot.poses["assembled"])
    before = np.sqrt(np.mean((led.q[:, 2] - wanted) ** 2))
    found = lw.design.synthesize(robot, "A", angles, {"D": wanted}, free, phase=True)
    assert found.error < 0.02 * before
    np.testing.assert_allclose(found.q[:, 0], angles + found.phase, rtol=0, atol=1e-15)


def test_tolerances_bound_what_lengths_within_them_do() -> None:
    robot, tolerance = four_bar(), 1e-4
    q = robot.sweep("A", [1.0, 2.0, 3.0]).q
    found = lw.design.deviations(robot, "rocker", q, dict.fromkeys(BOTH, tolerance), fixed="A")
    tip = lw.design.deviations(robot, "coupler", q, dict.fromkeys(BOTH, tolerance), fixed="A")
    assert (found.deviation <= found.worst + 1e-18).all() and next(iter(tip.parts)).startswith("joint_position")
    rng, designs = np.random.default_rng(0), lw.design.Designs(robot, "A", BOTH)
    own = designs.parameters
    for _ in range(20):
        given = {name: x + tolerance * rng.uniform(-1, 1, x.shape) * [1, 0, 1] for name, x in own.items()}
        many = {name: np.stack([x] * 3) for name, x in given.items()}
        moved = designs(q, **many)
        off = designs.positions("coupler", moved.q, **many) - designs.positions("coupler", q)
        assert (np.abs(off) <= 1.01 * tip.worst + 1e-12).all()


@pytest.mark.parametrize("lengths", [(0.5, 0.3, 0.25, 0.4), (0.4, 0.35, 0.3, 0.3)])
def test_dead_centers_of_a_double_rocker_are_those_of_the_cosine_law(lengths: tuple[float, ...]) -> None:
    """Where coupler and rocker are in line, the crank turns back."""
    ground, crank, coupler, rocker = lengths
    robot = lw.zoo.four_bar(ground=ground, crank=crank, coupler=coupler, rocker=rocker, angle=0.9)
    found = lw.design.circuit(robot, step=0.02)
    assert found.closed
    exact = np.arccos((ground**2 + crank**2 - (coupler + rocker) ** 2) / (2 * ground * crank))
    ends = sorted(abs((x.position + np.pi) % (2 * np.pi) - np.pi) for x in found.dead_centers if x.joint == "A")
    assert len(ends) == 2
    np.testing.assert_allclose(ends, exact, rtol=0, atol=1e-7)
    for dead in found.dead_centers:
        assert np.abs(lw.constraint_error(robot, dead.q)).max() < 1e-10


def test_a_crank_that_turns_round_has_no_dead_center_and_its_rocker_two() -> None:
    robot = four_bar()
    found = lw.design.circuit(robot)
    assert found.closed and {x.joint for x in found.dead_centers if x.joint in "AD"} == {"D"}
    low, high = found.range("D")
    angle = lambda side: np.pi - np.arccos((0.5**2 + 0.4**2 - side**2) / (2 * 0.5 * 0.4))  # noqa: E731
    np.testing.assert_allclose([low, high], [angle(0.65), angle(0.25)][:: 1 if low < high else -1], atol=1e-7)
    ratio = found.ratio("D", "A")
    v = robot.project_velocity(found.q, np.tile([1.0, 0, 0], (len(found.q), 1)))
    np.testing.assert_allclose(ratio, v[:, 2] / v[:, 0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(lw.design.rates(robot, found.q, "A")[:, 2, 0], ratio, rtol=0, atol=1e-9)


def test_the_transmission_angle_is_that_of_the_cosine_law() -> None:
    robot, angles = four_bar(), np.linspace(1, 7, 30)
    q = robot.sweep("A", angles).q
    found = lw.design.transmission_angle(robot, q, "coupler", ("coupler", (0.45, 0, 0)), "rocker")
    square = 0.5**2 + 0.2**2 - 2 * 0.5 * 0.2 * np.cos(angles)
    exact = np.arccos((0.45**2 + 0.4**2 - square) / (2 * 0.45 * 0.4))
    np.testing.assert_allclose(found, np.minimum(exact, np.pi - exact), rtol=0, atol=1e-9)


def test_bad_questions_are_refused_in_words() -> None:
    robot = four_bar()
    with pytest.raises(InputError, match="no row 'E'"):
        lw.design.synthesize(robot, "A", [1.0], {"D": [2.0]}, {"joint_position": {"E": "x"}})
    with pytest.raises(InputError, match="needs \\(1, 3\\)"):
        lw.design.synthesize(robot, "A", [1.0], {"coupler": [2.0]}, {"joint_position": {"B": "x"}})
    with pytest.raises(InputError, match="names no lengths"):
        lw.design.synthesize(robot, "A", [1.0], {"D": [2.0]}, {})
    with pytest.raises(InputError, match="need \\(k, 1\\)"):
        lw.design.Designs(robot, "A").lead([[1.0, 2.0]], robot.poses["assembled"])
    with pytest.raises(SingularConstraints, match="2 degrees of freedom"):
        lw.design.circuit(lw.zoo.five_bar())
