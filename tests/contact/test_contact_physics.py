# SPDX-License-Identifier: BSD-3-Clause
"""Motion with contacts obeys mechanics: sticking, sliding, rolling, spinning, bouncing, colliding, and its energy."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.mechanism import Mechanism
from linkwork.zoo.places import placements
from linkwork_benchmarks.contact.motion import Motion, move
from linkwork_benchmarks.contact.physics import SCENES, moved, two_balls
from tests.support.states import Floats, assert_close

G = 9.81
DT = 1e-3


def started(scene: Mechanism, **velocities: tuple[float, ...]) -> tuple[Floats, Floats]:
    """The assembled pose, with velocities of some joints."""
    v = np.zeros(scene.nv)
    for joint, value in velocities.items():
        v[scene.v_slice(joint)] = value
    return scene.poses[zoo.ASSEMBLED], v


def settled(motion: Motion) -> Motion:
    assert motion.converged.all(), f"residual {motion.residuals.max():.2g} m/s"
    return motion


# Sticking and sliding --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("friction", [0.1, 0.5, 1.5])
@pytest.mark.parametrize("beyond", [-1e-9, 1e-9])
def test_a_box_on_a_slope_slips_where_its_angle_is_beyond_that_of_friction(friction: float, beyond: float) -> None:
    """``tan(angle) = friction (1 + beyond)``: it stays, or gains what is left of gravity, a billionth of it."""
    angle = np.arctan(friction * (1 + beyond))
    scene = zoo.boxes_on_slope(angle, friction, (0.2, 0.2, 0.02))
    motion = settled(move(lw.contact.ContactStep(scene, 0.01, tolerance=1e-14), *started(scene), 50))
    gained = G * (np.sin(angle) - friction * np.cos(angle)) * motion.t[-1]
    assert_close(motion.v[-1, 0], max(gained, 0.0), 2e-3, scale=abs(gained))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_a_sliding_box_stops_where_friction_has_taken_its_energy(scale: float) -> None:
    """After ``v² / (2 mu g)``, less what a step of velocities at their end moves less: ``v dt / 2``, of first order."""
    mu, v, found = 0.3, np.sqrt(scale), {}
    exact, stop = v * v / (2 * mu * G), v / (mu * G)
    scene = zoo.sliding_box((0.2 * scale, 0.2 * scale, 0.05 * scale), friction=mu)
    for steps in (50, 100, 200):
        dt = stop / (steps + 0.4)
        motion = settled(move(lw.contact.ContactStep(scene, dt), *started(scene, box0=(v, 0, 0, 0, 0, 0)), steps + 5))
        found[steps] = (motion.q[-1, 0] - exact) / (v * dt)
        stopped = np.abs(motion.v[:, 0]) < 1e-6 * v
        assert int(np.argmax(stopped)) == steps + 1
        assert stopped[steps + 1 :].all()
    assert_close(list(found.values()), [-0.5] * 3, 0.01)


@pytest.mark.parametrize("push", [0.9, 1.1])
def test_a_pushed_box_moves_when_the_push_is_beyond_friction(push: float) -> None:
    scene = zoo.sliding_box((0.2, 0.2, 0.02), mass=2.0, friction=0.4)
    force = np.zeros(6)
    force[:2] = push * 0.4 * 2.0 * G * np.array([0.6, 0.8])
    motion = settled(move(lw.contact.ContactStep(scene, DT), *started(scene), 100, lambda t, q, v: force))
    gained = max(push - 1, 0.0) * 0.4 * G * motion.t[-1] * np.array([0.6, 0.8, 0.0])
    assert_close(motion.v[-1, :3], gained, 1e-6, scale=1.0)


# Rolling and spinning --------------------------------------------------------------------------------------------


def test_a_ball_that_slides_comes_to_roll_with_five_sevenths_of_its_velocity() -> None:
    mu, scene = 0.2, zoo.rolling_sphere(0.0, 0.2)
    motion = settled(move(lw.contact.ContactStep(scene, DT), *started(scene, ball=(1, 0, 0, 0, 0, 0)), 300))
    velocity, rolls = np.diff(motion.q[:, 0]) / DT, 2 / 7 / (mu * G)
    assert abs(int(np.argmax(np.abs(velocity - 5 / 7) < 1e-6)) * DT - rolls) < 2 * DT
    assert_close(velocity[160:], np.full(140, 5 / 7), 1e-7)
    assert np.ptp(motion.total[160:]) < 1e-8
    assert motion.penetration.max() < 1e-9


def test_a_ball_rolls_down_a_slope_without_slipping() -> None:
    angle, scene = 0.3, zoo.rolling_sphere(0.3, 0.5)
    motion = settled(move(lw.contact.ContactStep(scene, DT), *started(scene), 500))
    down = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    way, t = (motion.q[:, :3] - motion.q[0, :3]) @ down, motion.t
    assert_close(way, 5 / 7 * G * np.sin(angle) * t * (t + DT) / 2, 1e-6)
    assert np.abs(motion.last.contact_velocity).max() < 1e-7


def test_friction_stops_the_spin_of_a_disc() -> None:
    """On four points of its rim, by ``2 mu g / radius``."""
    mu, spin, scene = 0.3, 20.0, zoo.spinning_disc(friction=0.3)
    motion = settled(move(lw.contact.ContactStep(scene, DT), *started(scene, disc=(0, 0, 0, 0, 0, spin)), 360))
    slowed = 2 * mu * G / 0.1
    assert_close(motion.v[:300, 5], spin - slowed * motion.t[:300], 1e-6)
    assert abs(int(np.argmax(np.abs(motion.v[:, 5]) < 1e-5)) * DT - spin / slowed) < 2 * DT


@pytest.mark.parametrize("spin", [7.0, 70.0])
def test_a_ball_that_flies_and_spins_keeps_its_momentum(spin: float) -> None:
    scene = zoo.bouncing_ball(0.0, 100.0)
    motion = settled(
        move(lw.contact.ContactStep(scene, DT, tolerance=1e-12), *started(scene, ball=(1, 2, 0, 3, spin, 0)), 300)
    )
    t = motion.t[-1]
    way = np.array([t, 2 * t, -G * t * (t + DT) / 2])
    assert_close(motion.q[-1, :3] - motion.q[0, :3], way, 1e-7)
    momenta = lw.centroidal_momentum(scene, motion.q[[0, -1]], motion.v[[0, -1]])
    assert_close(momenta[1, :5], momenta[0, :5], 1e-7)


# Bouncing and colliding ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("restitution", [0.0, 0.5, 0.8, 1.0])
def test_a_ball_bounces_to_the_square_of_restitution_of_its_height(restitution: float) -> None:
    scene = zoo.bouncing_ball(restitution, 0.2)
    motion = settled(move(lw.contact.ContactStep(scene, DT), *started(scene), 700))
    z = motion.q[:, 2] - 0.1
    hits = np.flatnonzero((motion.v[:-1, 2] < -0.1) & (motion.v[1:, 2] > motion.v[:-1, 2] + 0.05))
    if restitution > 0:
        assert_close(motion.v[hits + 1, 2], -restitution * motion.v[hits, 2], 0.02, scale=2.0)
    peaks = [z[k:].max() for k in hits[:1]]
    assert_close(peaks, [restitution**2 * 0.2], 0.03, scale=0.2)
    assert restitution > 0 or np.abs(z[hits[0] + 1 :]).max() < 1e-9


@pytest.mark.parametrize("restitution", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_balls_that_collide_in_space_keep_their_momentum(restitution: float, friction: float) -> None:
    scene, rng = two_balls(friction, restitution), np.random.default_rng(3)
    n = np.array([0.6, 0.48, 0.64])
    q = np.concatenate([np.zeros(3), [0, 0, 0, 1], 0.25 * n, [0, 0, 0, 1]])
    v = rng.normal(size=12)
    v[:3] += 2 * n
    s = lw.contact.ContactStep(scene, 1e-6, tolerance=1e-13, strict=True)(q, v)
    before, after = lw.centroidal_momentum(scene, q, v), lw.centroidal_momentum(scene, s.q, s.v)
    assert_close(after, before, 1e-13)
    approach = (v[6:9] - v[:3]) @ n
    assert approach < 0
    assert_close(s.contact_velocity[0, 2], -restitution * approach, 1e-7, scale=1.0)
    assert lw.energy(scene, s.q, s.v).kinetic < lw.energy(scene, q, v).kinetic * (1 + 1e-9)


def test_the_last_ball_of_a_cradle_swings_as_high_as_the_first() -> None:
    scene = zoo.newtons_cradle(5, gap=1e-3)
    motion = settled(move(lw.contact.ContactStep(scene, DT), scene.poses["raised"], np.zeros(5), 450))
    assert_close(motion.q[:, 4].min(), -0.5, 5e-3)
    assert np.abs(motion.q[400:, :4]).max() < 0.02


# Stacks, grasps, falls -------------------------------------------------------------------------------------------


def test_a_stack_of_twenty_boxes_stays_where_it_is() -> None:
    scene = zoo.boxes(20)
    motion = settled(move(lw.contact.ContactStep(scene, DT), *started(scene), 300))
    shift = (motion.q - motion.q[0]).reshape(301, 20, 7)
    assert np.abs(shift[..., :3]).max() < 1e-8  # in 10 s less than a micrometer: `linkwork_benchmarks.contact.physics`
    assert_close(np.diff(motion.last.impulses["ground:box0"][:, 2].sum()[None], prepend=0), [20 * G * DT], 1e-7)


def test_a_stack_carries_a_box_of_a_thousand_times_the_mass() -> None:
    scene = zoo.boxes(10, [1.0] * 9 + [1000.0])
    motion = settled(move(lw.contact.ContactStep(scene, DT), *started(scene), 100))
    assert np.abs(motion.q - motion.q[0]).max() < 1e-8


@pytest.mark.parametrize("name", ["pinched_capsule", "hand_and_cube"])
def test_what_is_held_by_friction_does_not_creep(name: str) -> None:
    """MuJoCo's capsule creeps by 155 µm/s (mujoco#3328); here less than a thousandth of a micrometer a second."""
    scene = getattr(zoo, name)()
    motion = settled(move(lw.contact.ContactStep(scene, DT), *started(scene), 300))
    drift = np.abs(motion.q[-1] - motion.q[100])[:3].max() / (motion.t[-1] - motion.t[100])
    assert drift < 1e-9


def test_what_is_held_too_loosely_falls() -> None:
    scene = zoo.pinched_capsule(0.2, 0.7)
    motion = settled(move(lw.contact.ContactStep(scene, DT), *started(scene), 100))
    lost = G - 2 * 0.7 * 0.2 / 0.045
    t = motion.t[-1]
    assert_close(motion.q[0, 2] - motion.q[-1, 2], lost * t * (t + DT) / 2, 0.05)


def test_dominoes_fall_one_after_the_other() -> None:
    scene = zoo.dominoes(4, tilt=0.25)
    motion = move(lw.contact.ContactStep(scene, DT), *started(scene), 500)
    fallen = [placements(scene, motion.q[-1], [f"domino{k}"])[f"domino{k}"].rotation[2, 2] < 0.9 for k in range(4)]
    assert fallen == [True] * 4
    assert motion.residuals[motion.converged].max() < 1e-8


@pytest.mark.parametrize(("friction", "stands"), [(0.6, True), (0.15, False)])
def test_a_house_of_cards_stands_by_friction(friction: float, stands: bool) -> None:
    scene = zoo.card_house(2, friction=friction)
    motion = move(lw.contact.ContactStep(scene, DT), *started(scene), 150)
    assert (np.abs(motion.q[-1] - motion.q[0]).max() < 1e-6) == stands


@pytest.mark.parametrize("slide", [-5.0, 0.0, 1.0, 5.0])
def test_the_rod_of_painleve_has_a_solution_at_every_step(slide: float) -> None:
    """Where no finite force is one, an impulse is."""
    scene = zoo.painleve_rod()
    q, v = started(scene)
    v[:3] = placements(scene, q, ["rod"])["rod"].rotation.T @ (slide, 0.0, 0.0)
    motion = settled(move(lw.contact.ContactStep(scene, DT), q, v, 300))
    assert motion.penetration.max() < 1e-4


# Every scene -----------------------------------------------------------------------------------------------------

ENERGY = 1e-8
"""Part of the energy that rounding and residuals may add in a tenth of a second."""


@pytest.mark.parametrize("name", SCENES)
def test_energy_never_rises_and_steps_are_solved_or_say_so(name: str) -> None:
    """But for what the removal of penetration lifts, and what the integrator adds to bodies that turn fast."""
    motion, metrics = moved(name, 0.1)
    assert np.isfinite(motion.q).all()
    step = lw.contact.ContactStep(SCENES[name].make(), DT)
    assert np.array_equal(motion.converged, motion.residuals <= step.settings[0])
    assert metrics["unsolved"] <= 0.05 * metrics["steps"]
    allowed = 1e-4 if SCENES[name].turning else ENERGY
    assert metrics["energy.gain"] <= allowed
    assert metrics["energy.rise"] <= allowed + metrics["energy.pushed"]


@pytest.mark.parametrize("name", ["top", "cradle without restitution"])
def test_what_the_integrator_adds_falls_with_the_step(name: str) -> None:
    gains = [moved(name, 0.3, dt)[1]["energy.gain"] for dt in (2e-3, 5e-4)]
    assert gains[1] < 0.5 * gains[0] + 1e-12
