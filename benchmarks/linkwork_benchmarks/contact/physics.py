# SPDX-License-Identifier: BSD-3-Clause
"""Figures of mechanics: what is known of motion with contacts by formula, and what steps make of it.

Each fact is a function of a number of seconds that its longest motion takes, which returns metrics.

| symbol | meaning                       |
|--------|-------------------------------|
| mu     | coefficient of friction       |
| e      | coefficient of restitution    |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

import linkwork as lw
from linkwork import zoo
from linkwork.model.contacts import ContactPair, ContactShape
from linkwork.model.shapes import Sphere
from linkwork.zoo.places import placements
from linkwork_benchmarks.contact.motion import Motion, move
from linkwork_benchmarks.robots import Floats

G = 9.81
DT = 1e-3
STEPS = (4e-3, 2e-3, 1e-3, 5e-4)
"""Times of a step by which orders are measured, in seconds."""


# Scenes that move ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Start:
    """A scene, its pose, and velocities of some joints."""

    make: Callable[[], lw.Mechanism]
    velocities: Mapping[str, tuple[float, ...]]
    pose: str = zoo.ASSEMBLED
    turning: bool = False
    """Whether bodies turn so fast that the integrator itself changes their energy, by an amount of first order."""

    def begin(self) -> tuple[lw.Mechanism, Floats, Floats]:
        """The scene, its configuration and its velocities."""
        scene = self.make()
        v = np.zeros(scene.nv)
        for joint, value in self.velocities.items():
            v[scene.v_slice(joint)] = value
        return scene, scene.poses[self.pose], v


def _rod(slide: float, angle: float) -> Start:
    """Painlevé's rod whose end slides along x."""
    x, z = slide * np.sin(angle), -slide * np.cos(angle)  # in the axes of the rod
    return Start(lambda: zoo.painleve_rod(2.0, angle), {"rod": (x, 0.0, z, 0.0, 0.0, 0.0)})


SCENES: Mapping[str, Start] = MappingProxyType(
    {
        "10 boxes": Start(zoo.boxes, {}),
        "10 boxes, the top one 1000 kg": Start(lambda: zoo.boxes(10, [1.0] * 9 + [1000.0]), {}),
        "10 boxes, the lowest hit": Start(lambda: zoo.boxes(10), {"box0": (2.0, 0.5, 0.0, 0.0, 0.0, 0.0)}),
        "boxes on a slope": Start(zoo.boxes_on_slope, {}),
        "box that slides and spins": Start(zoo.sliding_box, {"box0": (1.0, 0.3, 0.0, 0.0, 0.0, 5.0)}),
        "box that tips": Start(lambda: zoo.sliding_box((0.1, 0.1, 0.3), friction=0.8), {"box0": (0, 0, 0, 0, 3.0, 0)}),
        "pyramid of 10": Start(lambda: zoo.box_pyramid(4), {}),
        "square pyramid of 14": Start(lambda: zoo.box_pyramid(3, planar=False), {}),
        "dominoes": Start(zoo.dominoes, {}),
        "house of cards": Start(lambda: zoo.card_house(2), {}),
        "house of cards that slips": Start(lambda: zoo.card_house(2, friction=0.2), {}),
        "ball that falls": Start(lambda: zoo.bouncing_ball(0.0, 0.3), {"ball": (1.0, 0.0, 0.0, 0.0, 0.0, 30.0)}),
        "ball that rolls": Start(zoo.rolling_sphere, {"ball": (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)}),
        "disc that spins": Start(zoo.spinning_disc, {"disc": (0.3, 0.0, 0.0, 0.0, 0.0, 20.0)}),
        "disc on its rim": Start(lambda: zoo.spinning_disc(0.3), {"disc": (0, 0, 0, 0, 3.0, 10.0)}, turning=True),
        "top": Start(zoo.spinning_top, {"top": (0, 0, 0, 0, 0, 200.0)}, turning=True),
        "rattleback": Start(zoo.rattleback, {"celt": (0, 0, 0, 0.1, 0, -5.0)}, turning=True),
        "cradle without restitution": Start(lambda: zoo.newtons_cradle(restitution=0.0), {}, "raised", turning=True),
        "Painlevé's rod, jamming": _rod(1.0, np.arctan(2.0)),
        "Painlevé's rod, dragged": _rod(-5.0, np.arctan(2.0)),
        "pinched capsule": Start(zoo.pinched_capsule, {}),
        "hand and cube": Start(zoo.hand_and_cube, {}),
        "hopper": Start(lambda: zoo.hopper(-1.0, height=0.2), {}, turning=True),
    }
)
"""Scenes without restitution and motors, whose energy may not rise."""


def moved(name: str, seconds: float, dt: float = DT, warm: bool = True) -> tuple[Motion, dict[str, float]]:
    """The motion of a scene, and metrics of it."""
    scene, q, v = SCENES[name].begin()
    motion = move(lw.contact.ContactStep(scene, dt), q, v, round(seconds / dt), warm=warm)
    scale = float(np.abs(motion.total).max() + np.ptp(motion.total))
    metrics = {
        "steps": float(len(motion.residuals)),
        "unsolved": float((~motion.converged).sum()),
        "restarts": float(motion.restarts),
        "residual": float(motion.residuals.max()),
        "iterations.mean": float(motion.iterations.mean()),
        "iterations.most": float(motion.iterations.max()),
        "energy": float(motion.total[0]),
        "energy.lost": float(motion.total[0] - motion.total[-1]),
        "energy.rise": motion.rise / scale,
        "energy.gain": motion.gain / scale,
        "energy.pushed": float(motion.pushed.sum()) / scale,
        "penetration": float(motion.penetration.max()),
    }
    return motion, metrics


# Facts -----------------------------------------------------------------------------------------------------------


def order(errors: Mapping[float, float]) -> float:
    """The power of the step that errors fall with."""
    dt, found = (np.log(np.array(list(x))) for x in (errors.keys(), errors.values()))
    return float(np.polyfit(dt, found, 1)[0])


def slope(seconds: float) -> dict[str, float]:
    """The least part of friction by which a slope must differ from it to be told from it."""
    least = {}
    for mu in (0.1, 0.5, 1.5):
        for beyond in (1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11):
            errors = []
            for sign in (-1, 1):
                angle = np.arctan(mu * (1 + sign * beyond))
                scene = zoo.boxes_on_slope(angle, mu, (0.2, 0.2, 0.02))
                step = lw.contact.ContactStep(scene, 0.01, tolerance=1e-14)
                motion = move(step, scene.poses[zoo.ASSEMBLED], np.zeros(6), round(min(seconds, 1.0) / 0.01))
                gained = G * (np.sin(angle) - mu * np.cos(angle)) * motion.t[-1]
                errors.append(abs(motion.v[-1, 0] - max(gained, 0.0)) / abs(gained))
            if max(errors) > 0.01:
                break
            least[mu] = beyond
    return {f"{mu}": beyond for mu, beyond in least.items()} | {"most": max(least.values())}


def sliding(seconds: float) -> dict[str, float]:
    """Distance and time in which friction stops a box."""
    mu, v, ways, times = 0.3, 1.0, {}, {}
    for dt in STEPS:
        scene = zoo.sliding_box((0.2, 0.2, 0.05), friction=mu)
        motion = move(lw.contact.ContactStep(scene, dt), scene.poses[zoo.ASSEMBLED], np.eye(6)[0], round(0.36 / dt))
        ways[dt] = abs(float(motion.q[-1, 0]) - v * v / (2 * mu * G))
        times[dt] = abs(int(np.argmax(np.abs(motion.v[:, 0]) < 1e-6)) * dt - v / (mu * G)) / dt
    return {"order": order(ways), "distance": ways[DT], "steps_late": max(times.values())}


def rolling(seconds: float) -> dict[str, float]:
    """A ball comes to roll at 5/7 of its velocity; then its energy stays."""
    scene = zoo.rolling_sphere(0.0, 0.2)
    motion = move(
        lw.contact.ContactStep(scene, DT), scene.poses[zoo.ASSEMBLED], np.eye(6)[0], round(min(seconds, 2.0) / DT)
    )
    rolls = motion.t > 2 / 7 / (0.2 * G) + 2 * DT
    return {
        "velocity": abs(float(motion.q[-1, 0] - motion.q[-2, 0]) / DT - 5 / 7),
        "energy": float(np.ptp(motion.total[rolls]) / motion.total[-1]),
        "penetration": float(motion.penetration.max()),
    }


def spinning(seconds: float) -> dict[str, float]:
    """Friction slows a disc on four points of its rim by ``2 mu g / radius``."""
    scene, v = zoo.spinning_disc(friction=0.3), 20 * np.eye(6)[5]
    motion = move(lw.contact.ContactStep(scene, DT), scene.poses[zoo.ASSEMBLED], v, 300)
    return {"deceleration": abs(float((20 - motion.v[-1, 5]) / motion.t[-1]) / (2 * 0.3 * G / 0.1) - 1)}


def bouncing(seconds: float) -> dict[str, float]:
    """Heights of bounces, at worst over restitutions 0.5, 0.8 and 1."""
    errors = {}
    for dt in STEPS:
        worst = 0.0
        for e in (0.5, 0.8, 1.0):
            scene = zoo.bouncing_ball(e, 0.5)
            motion = move(lw.contact.ContactStep(scene, dt), scene.poses[zoo.ASSEMBLED], np.zeros(6), round(1.2 / dt))
            z, rises = motion.q[:, 2] - 0.1, motion.v[:, 2]
            peaks = [float(z[k]) for k in range(1, len(z) - 1) if rises[k] >= 0 > rises[k + 1] and z[k] > 0.01][:2]
            worst = max(worst, *(abs(peak / (0.5 * e ** (2 * k)) - 1) for k, peak in enumerate(peaks, 1)))
        errors[dt] = worst
    return {"order": order(errors), "height": errors[DT]}


def stack(seconds: float) -> dict[str, float]:
    """How far any of 20 boxes in a stack moves."""
    scene = zoo.boxes(20)
    motion = move(
        lw.contact.ContactStep(scene, DT), scene.poses[zoo.ASSEMBLED], np.zeros(scene.nv), round(seconds / DT)
    )
    places = (motion.q - motion.q[0]).reshape(len(motion.q), -1, 7)[..., :3]
    return {"moved": float(np.abs(places).max()), "seconds": seconds, "unsolved": float((~motion.converged).sum())}


def pinching(seconds: float) -> dict[str, float]:
    """How fast a capsule creeps that two pads pinch; beside it in MuJoCo."""
    scene = zoo.pinched_capsule()
    motion = move(
        lw.contact.ContactStep(scene, DT), scene.poses[zoo.ASSEMBLED], np.zeros(scene.nv), round(seconds / DT)
    )
    half = len(motion.q) // 2
    return {"creep": float(np.abs(motion.q[-1] - motion.q[half]).max() / (motion.t[-1] - motion.t[half]))}


def two_balls(friction: float, e: float) -> lw.Mechanism:
    """Two balls of 1 and 3 kg in space, of radii 0.1 and 0.15 m."""
    build = lw.Builder("two balls", gravity=(0.0, 0.0, 0.0))
    for name, mass, radius in (("first", 1.0, 0.1), ("second", 3.0, 0.15)):
        build.body(name, lw.Inertia.sphere(mass, radius)).joint(name, lw.joints.Free(), "world", name)
    first, second = ContactShape("first", "first", Sphere(0.1)), ContactShape("second", "second", Sphere(0.15))
    return replace(build.build(), contacts=(ContactPair(first, second, friction=friction, restitution=e),))


def colliding(seconds: float) -> dict[str, float]:
    """Momentum that random collisions of two balls lose, and the error of their restitution; energy that they gain."""
    rng, lost, missed, gained = np.random.default_rng(0), 0.0, 0.0, -1.0
    for _ in range(50):
        e = float(rng.uniform(0, 1))
        scene = two_balls(float(rng.uniform(0, 1)), e)
        n = rng.normal(size=3)
        n /= np.linalg.norm(n)
        q = np.concatenate([np.zeros(3), [0, 0, 0, 1], 0.25 * n, [0, 0, 0, 1]])
        v = rng.normal(size=12)
        v[:3] += 2 * n
        s = lw.contact.ContactStep(scene, 1e-6, tolerance=1e-13)(q, v)
        before, after = (lw.centroidal_momentum(scene, *state) for state in ((q, v), (s.q, s.v)))
        lost = max(lost, float(np.abs(after - before).max() / np.abs(before).max()))
        approach = float((v[6:9] - v[:3]) @ n)
        missed = max(missed, abs(float(s.contact_velocity[0, 2]) + e * approach) if approach < 0 else 0.0)
        gained = max(gained, float(lw.energy(scene, s.q, s.v).kinetic / lw.energy(scene, q, v).kinetic) - 1)
    return {"momentum": lost, "restitution": missed, "energy": gained}


def falling(seconds: float) -> dict[str, float]:
    """Dominoes that fall, and how far houses of cards move with enough friction and with too little."""
    scene = zoo.dominoes()
    motion = move(lw.contact.ContactStep(scene, DT), scene.poses[zoo.ASSEMBLED], np.zeros(scene.nv), 1000)
    at = placements(scene, motion.q[-1], scene.body_names)
    found = {"dominoes": float(sum(place.rotation[2, 2] < 0.9 for place in at.values()))}
    for mu in (0.2, 0.6):
        house = zoo.card_house(2, friction=mu)
        motion = move(
            lw.contact.ContactStep(house, DT),
            house.poses[zoo.ASSEMBLED],
            np.zeros(house.nv),
            round(min(seconds, 1.0) / DT),
        )
        found[f"cards.{mu}"] = float(np.abs(motion.q[-1] - motion.q[0]).max())
    return found


FACTS: Mapping[str, Callable[[float], dict[str, float]]] = MappingProxyType(
    {
        "slope": slope,
        "sliding": sliding,
        "rolling": rolling,
        "spinning": spinning,
        "bouncing": bouncing,
        "stack": stack,
        "pinching": pinching,
        "colliding": colliding,
        "falling": falling,
    }
)
