# SPDX-License-Identifier: BSD-3-Clause
"""Impacts: what velocities do when constraints act at once."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from tests.support.states import assert_close

METHODS = ("prox_bbo", "lcaba")


def struck(kind: str) -> tuple[lw.Mechanism, np.ndarray]:
    """A robot with constraints that hold at a configuration."""
    if kind == "humanoid":
        tree = lw.zoo.humanoid()
        q = tree.random(0)
        return tree.constrained(
            lw.constraints.Weld("left_foot", "world"), lw.constraints.Point("right_hand", "left_hand"), at=q
        ), q
    robot = lw.zoo.stewart() if kind == "stewart" else lw.zoo.four_bar()
    return robot, np.array(robot.poses["assembled"])


@pytest.fixture(params=["humanoid", "stewart", "four-bar"], scope="module")
def case(request: pytest.FixtureRequest) -> tuple[lw.Mechanism, np.ndarray, np.ndarray]:
    robot, q = struck(request.param)
    return robot, q, np.random.default_rng(1).normal(size=robot.nv)


@pytest.mark.parametrize("method", METHODS)
def test_an_inelastic_impact_leaves_what_the_constraints_allow(case, method: str) -> None:
    robot, q, v = case
    hit = lw.ImpactDynamics(robot, method)(q, v)
    assert hit.converged
    assert_close(lw.constraint_jacobian(robot, q) @ hit.velocity, np.zeros(robot.nc), 1e-9, scale=1.0)
    assert_close(hit.velocity, robot.project_velocity(q, v), 1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_an_elastic_impact_turns_rates_around_and_keeps_energy(case, method: str) -> None:
    robot, q, v = case
    hit = lw.ImpactDynamics(robot, method)(q, v, 1.0)
    J = lw.constraint_jacobian(robot, q)
    before, after = lw.energy(robot, q, v).kinetic, lw.energy(robot, q, hit.velocity).kinetic
    if robot.name == "humanoid":  # independent rows: each rate can be turned around
        assert_close(J @ hit.velocity, -(J @ v), 1e-9)
    assert_close(after, before, 1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_impulses_change_momentum_and_restitution_takes_energy(case, method: str) -> None:
    robot, q, v = case
    hit = lw.ImpactDynamics(robot, method)(q, v, 0.5)
    impulse = np.concatenate([hit.impulses[c.name] for c in robot.constraints])
    change = lw.mass_matrix(robot, q) @ (hit.velocity - v)
    assert_close(change, lw.constraint_jacobian(robot, q).T @ impulse, 1e-8)
    energies = [lw.energy(robot, q, x).kinetic for x in (v, hit.velocity, robot.project_velocity(q, v))]
    assert energies[0] > energies[1] > energies[2]


@pytest.mark.parametrize("method", METHODS)
def test_the_three_ways_and_batches_agree(method: str) -> None:
    robot, q = struck("humanoid")
    v = np.random.default_rng(2).normal(size=(5, robot.nv))
    native = lw.ImpactDynamics(robot, method)
    expected = native(q, v, 0.3).velocity
    assert_close(native.plain()(q, v, 0.3).velocity, expected, 1e-9)
    assert_close(native.compile(threads=1)(q, v, 0.3).velocity, expected, 1e-9)
    assert_close(native(q, v[3], 0.3).velocity, expected[3], 1e-12)


def test_constraints_that_are_switched_off_do_not_strike() -> None:
    robot, q = struck("humanoid")
    v = np.random.default_rng(3).normal(size=robot.nv)
    off = robot.switched({"right_hand:left_hand": False})
    alone = robot.unconstrained("right_hand:left_hand")
    assert_close(
        lw.ImpactDynamics(off, "prox_bbo")(q, v).velocity, lw.ImpactDynamics(alone, "prox_bbo")(q, v).velocity, 1e-9
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r, q, v: lw.ImpactDynamics(r, "magic"), "no method 'magic' for impacts"),
        (lambda r, q, v: lw.ImpactDynamics(r)(q, v, 2.0), "restitution must be between 0 and 1; found 2"),
        (lambda r, q, v: lw.ImpactDynamics(r)(q, v[:-1]), "v has 36 numbers"),
        (lambda r, q, v: lw.ImpactDynamics(r.unconstrained()), "no enabled constraint"),
        (lambda r, q, v: lw.ImpactDynamics("robot"), "needs a Mechanism"),
    ],
)
def test_bad_calls_say_so(call, message: str) -> None:
    robot, q = struck("humanoid")
    with pytest.raises(lw.errors.LinkworkError, match=message):
        call(robot, q, np.zeros(robot.nv))
