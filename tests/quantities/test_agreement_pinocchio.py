# SPDX-License-Identifier: BSD-3-Clause
"""linkwork and Pinocchio compute the same numbers: every quantity, on real robots and on random mechanisms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pinocchio")

import linkwork as lw
from linkwork.mechanism import Mechanism
from linkwork.model.rotations import aligning_rotation
from tests.support import twins
from tests.support.robots import ROBOTS
from tests.support.states import Floats, State, assert_close, random_state
from tests.support.twins import Twin

AGREEMENT = 1e-10
"""Relative to the largest number of a result. Both sides round at 1e-16, and solving with M amplifies that: its
condition number is up to 1e5, and 1e9 for iCub, where most of it is scaling, which costs no digits."""

SEEDS = range(240)
BLOCK = 10
"""Mechanisms that one test looks at."""
STATES = range(3)


RNEA = partial(lw.InverseDynamics, passive=False)
"""Pinocchio's ``rnea`` knows neither springs nor dampers."""


def pushes(twin: Twin, seed: int) -> dict[str, Floats]:
    """A wrench on each frame of the twin."""
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=6) for name in twin.frames}


@cache
def ready(make: Callable[..., Any], robot: Mechanism, frames: tuple[str, ...] = ()) -> Any:
    """`ForwardDynamics` or `InverseDynamics` of a robot, made once."""
    return make(robot, wrenches=frames)


def pushed(make: Callable[..., Any], twin: Twin, s: State, last: Floats, seed: int) -> Any:
    wrenches = np.array(list(pushes(twin, seed).values()))
    return ready(make, twin.robot, tuple(twin.frames))(s.q, s.v, last, wrenches)


OF_STATES: Mapping[str, tuple[Callable[[Mechanism, State], Any], Callable[[Twin, State], Any]]] = {
    "inverse_dynamics": (
        lambda r, s: ready(RNEA, r)(s.q, s.v, s.a),
        lambda t, s: t.inverse_dynamics(s, {}),
    ),
    "forward_dynamics": (
        lambda r, s: ready(lw.ForwardDynamics, r)(s.q, s.v, s.tau).acceleration,
        lambda t, s: t.forward_dynamics(s, {}),
    ),
    "mass_matrix": (lambda r, s: lw.mass_matrix(r, s.q), Twin.mass_matrix),
    "inverse_mass_product": (lambda r, s: lw.inverse_mass_product(r, s.q, s.tau), Twin.inverse_mass_product),
    "bias_forces": (lambda r, s: lw.bias_forces(r, s.q, s.v), Twin.bias_forces),
    "gravity_forces": (lambda r, s: lw.gravity_forces(r, s.q), Twin.gravity_forces),
    "center_of_mass": (lambda r, s: lw.center_of_mass(r, s.q), Twin.center_of_mass),
    "centroidal_momentum": (lambda r, s: lw.centroidal_momentum(r, s.q, s.v), Twin.centroidal_momentum),
    "kinetic_energy": (lambda r, s: lw.energy(r, s.q, s.v).kinetic, Twin.kinetic_energy),
    "potential_energy": (lambda r, s: lw.energy(r, s.q, s.v).potential, Twin.potential_energy),
}
"""Quantities of a whole robot: how to ask linkwork, how to ask Pinocchio."""

OF_FRAMES: Mapping[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "rotation": (lambda t, s: lw.frame_placement(t.robot, s.q, tuple(t.frames)).rotation, Twin.rotation),
    "position": (lambda t, s: lw.frame_placement(t.robot, s.q, tuple(t.frames)).position, Twin.position),
}
OF_AXES: Mapping[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "velocity": (lambda t, s, x: lw.frame_velocity(t.robot, s.q, s.v, tuple(t.frames), x), Twin.frame_velocity),
    "acceleration": (
        lambda t, s, x: lw.frame_acceleration(t.robot, s.q, s.v, s.a, tuple(t.frames), x),
        Twin.frame_acceleration,
    ),
    "jacobian": (lambda t, s, x: lw.frame_jacobian(t.robot, s.q, tuple(t.frames), x), Twin.frame_jacobian),
}
AXES = [
    (quantity, axes)
    for quantity in OF_AXES
    for axes in ("local", "aligned", "world")
    if (quantity, axes) != ("acceleration", "world")
]
"""The classical acceleration of a point has no meaning at the world's origin."""

PUSHED: Mapping[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "inverse_dynamics": (
        lambda t, s, k: pushed(RNEA, t, s, s.a, k),
        lambda t, s, k: t.inverse_dynamics(s, pushes(t, k)),
    ),
    "forward_dynamics": (
        lambda t, s, k: pushed(lw.ForwardDynamics, t, s, s.tau, k).acceleration,
        lambda t, s, k: t.forward_dynamics(s, pushes(t, k)),
    ),
}


@pytest.mark.parametrize("quantity", OF_STATES)
@pytest.mark.parametrize("name", ROBOTS)
def test_real_robots_agree(name: str, quantity: str) -> None:
    twin = twins.of_robot(name)
    ours, theirs = OF_STATES[quantity]
    for seed in STATES:
        s = random_state(twin.robot, seed)
        assert_close(ours(twin.robot, s), theirs(twin, s), AGREEMENT)


@pytest.mark.parametrize("quantity", OF_FRAMES)
@pytest.mark.parametrize("name", ROBOTS)
def test_frames_of_real_robots_stand_where_pinocchio_puts_them(name: str, quantity: str) -> None:
    twin = twins.of_robot(name)
    ours, theirs = OF_FRAMES[quantity]
    for seed in STATES:
        s = random_state(twin.robot, seed)
        assert_close(ours(twin, s), theirs(twin, s), AGREEMENT)


@pytest.mark.slow
@pytest.mark.parametrize(("quantity", "axes"), AXES)
@pytest.mark.parametrize("name", ROBOTS)
def test_frames_of_real_robots_move_as_in_pinocchio(name: str, quantity: str, axes: str) -> None:
    twin = twins.of_robot(name)
    ours, theirs = OF_AXES[quantity]
    for seed in STATES:
        s = random_state(twin.robot, seed)
        assert_close(ours(twin, s, axes), theirs(twin, s, axes), AGREEMENT)


@pytest.mark.parametrize("quantity", PUSHED)
@pytest.mark.parametrize("name", ROBOTS)
def test_external_wrenches_on_real_robots_agree(name: str, quantity: str) -> None:
    twin = twins.of_robot(name)
    ours, theirs = PUSHED[quantity]
    for seed in STATES:
        s = random_state(twin.robot, seed)
        assert_close(ours(twin, s, seed), theirs(twin, s, seed), AGREEMENT)


def of_random_mechanism(seed: int) -> Iterator[tuple[str, Any, Any]]:
    """Every quantity of a random mechanism at a random state: what it is, ours, Pinocchio's."""
    twin = twins.of_random_tree(seed)
    s = random_state(twin.robot, seed)
    for quantity, (ours, theirs) in OF_STATES.items():
        yield quantity, ours(twin.robot, s), theirs(twin, s)
    for quantity, (ours, theirs) in OF_FRAMES.items():
        yield f"{quantity} of frames", ours(twin, s), theirs(twin, s)
    for quantity, axes in AXES:
        ours, theirs = OF_AXES[quantity]
        yield f"{quantity} of frames, {axes}", ours(twin, s, axes), theirs(twin, s, axes)
    for quantity, (ours, theirs) in PUSHED.items():
        yield f"{quantity} with wrenches", ours(twin, s, seed), theirs(twin, s, seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", SEEDS[::BLOCK])
def test_random_mechanisms_agree(first: int) -> None:
    wrong = {}
    for seed in SEEDS[first : first + BLOCK]:
        for quantity, ours, theirs in of_random_mechanism(seed):
            try:
                assert_close(ours, theirs, AGREEMENT)
            except AssertionError as difference:
                wrong[seed, quantity] = str(difference)
    assert not wrong


def test_random_mechanisms_have_every_joint_type_armature_and_several_roots() -> None:
    robots = [twins.of_random_tree(seed).robot for seed in SEEDS]
    types = {type(joint.type) for robot in robots for joint in robot.joints}
    assert types == {
        lw.joints.Revolute,
        lw.joints.Prismatic,
        lw.joints.Helical,
        lw.joints.Universal,
        lw.joints.Spherical,
        lw.joints.Planar,
        lw.joints.Free,
    }
    assert any(robot.armature.any() for robot in robots)
    assert any(sum(joint.parent == "world" for joint in robot.joints) > 1 for robot in robots)


@pytest.mark.parametrize("seed", range(8))
def test_planar_joint_about_any_axis_is_pinocchios_in_turned_axes(seed: int) -> None:
    """Pinocchio's planar joint is about z: turn its placement, and turn the body back."""
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3)
    inertia, place = lw.zoo.random_inertia(rng), lw.zoo.random_placement(rng)
    turn = lw.Placement(rotation=aligning_rotation(axis / np.linalg.norm(axis)))

    def built(joint: lw.joints.Joint, at: lw.Placement, seen: lw.Placement) -> Mechanism:
        build = lw.Builder()
        build.body("body", inertia.moved(seen)).joint("joint", joint, "world", "body", at)
        return build.build()

    robot = built(lw.joints.Planar(axis), place, lw.Placement())
    twin = twins.of_mechanism(built(lw.joints.Planar(), place * turn, turn.inverse()))
    s = random_state(robot, seed)
    assert_close(lw.InverseDynamics(robot)(s.q, s.v, s.a), twin.inverse_dynamics(s, {}), AGREEMENT)
