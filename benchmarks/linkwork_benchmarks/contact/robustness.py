# SPDX-License-Identifier: BSD-3-Clause
"""Random scenes that are hard on purpose: no number may become infinite, and a step that is not solved must say so.

Bodies of all shapes with masses over six decades lie within each other and in the ground, with friction 0 to 10. Half
of the scenes have an arm whose joints begin beyond their limits, and which limits hold in the ground: no configuration
satisfies all. What overlaps must come apart no faster than removing penetration and falling make it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

import linkwork as lw
from linkwork.contact.scales import contact_scales
from linkwork.model.contacts import ContactPair, ContactShape
from linkwork.model.inertia import Inertia
from linkwork.model.shapes import Box, Cylinder, Ellipsoid, Ground, Solid, Sphere
from linkwork.plans.contacts import GIVEN, planned_pair
from linkwork.zoo import random_placement
from linkwork_benchmarks.robots import Floats

DT = 2e-3
STEPS = 50
GRAVITY = 9.81


@dataclass(frozen=True)
class Outcomes:
    """What became of random scenes."""

    steps: int
    missed: Floats
    """Of each scene, the part of its steps that said that they are not solved."""
    arms: npt.NDArray[np.bool_]
    """Whether each has an arm, whose limits may be in conflict with the ground."""
    silent: int
    """Steps that were not solved and did not say so."""
    errors: tuple[str, ...]
    """Of scenes that ended in an exception, infinite numbers among them."""
    speeds: Floats
    """Of each scene, the largest velocity of a body, in units of that which it may be pushed and fall with."""
    depths: Floats
    """Penetration at the end, as a part of that at the beginning."""

    def metrics(self) -> dict[str, float]:
        """What a page shows."""
        return {
            "scenes": float(self.speeds.size + len(self.errors)),
            "steps": float(self.steps),
            "errors": float(len(self.errors)),
            "missed.free": float(self.missed[~self.arms].mean()) if (~self.arms).any() else 0.0,
            "missed.arms": float(self.missed[self.arms].mean()) if self.arms.any() else 0.0,
            "silent": float(self.silent),
            "speed.median": float(np.median(self.speeds)),
            "speed.99": float(np.quantile(self.speeds, 0.99)),
            "speed.most": float(self.speeds.max()),
            "depth.median": float(np.median(self.depths)),
            "depth.99": float(np.quantile(self.depths, 0.99)),
        }


def random_solid(rng: np.random.Generator) -> Solid:
    """A solid of a few centimeters to decimeters."""
    a, b, c = (float(x) for x in 10 ** rng.uniform(-1.5, -0.5, 3))
    match int(rng.integers(5)):
        case 0:
            return Box((a, b, c))
        case 1:
            return Sphere(a)
        case 2:
            return Ellipsoid((a, b, c))
        case 3:
            return Cylinder(a, b, rounded=True)
    return Cylinder(a, b)


def random_inertia(rng: np.random.Generator, mass: float) -> Inertia:
    """Matter somewhere in a few centimeters."""
    points = 0.1 * rng.normal(size=(6, 3))
    spread = points - points.mean(axis=0)
    squares = spread.T @ spread / 6
    return Inertia(mass, 0.01 * rng.normal(size=3), mass * (np.trace(squares) * np.eye(3) - squares))


def random_scene(seed: int | tuple[int, ...]) -> tuple[lw.Mechanism, Floats, Floats]:
    """A scene, its configuration and its velocities."""
    rng = np.random.default_rng(seed)
    build, shapes, q = lw.Builder("random scene"), list[ContactShape](), list[Floats]()
    for k in range(int(rng.integers(1, 7))):
        name = f"body{k}"
        build.body(name, random_inertia(rng, float(10 ** rng.uniform(-3, 3)))).joint(
            name, lw.joints.Free(), "world", name
        )
        shapes.append(ContactShape(name, name, random_solid(rng)))
        at = random_placement(rng)
        q.append(np.array([*(0.2 * rng.normal(size=3)), *at.quaternion]))
    if rng.random() < 0.5:
        parent = "world"
        for k in range(int(rng.integers(1, 4))):
            name, low = f"link{k}", float(rng.uniform(-1, 0.5))
            joint = lw.joints.Revolute("y") if rng.random() < 0.7 else lw.joints.Prismatic("z")
            build.body(name, random_inertia(rng, float(10 ** rng.uniform(-3, 3))))
            high, dry = low + float(rng.uniform(0, 1)), float(rng.choice([0.0, 1.0]))
            build.joint(name, joint, parent, name, (0.1, 0.0, -0.2), lower=low, upper=high, friction=dry)
            shapes.append(ContactShape(name, name, random_solid(rng)))
            q.append(rng.normal(size=1))
            parent = name
    ground = ContactShape("ground", "world", Ground())
    friction = float(rng.choice([0.0, rng.uniform(0, 1), 10.0]))
    pairs = []
    for first, second in [*((ground, shape) for shape in shapes), *combinations(shapes, 2)]:
        joined = first.name.startswith("link") and second.name.startswith("link")
        pair = ContactPair(first, second, friction=friction, restitution=float(rng.choice([0.0, 0.5])))
        if planned_pair(pair).code != GIVEN and not joined:
            pairs.append(pair)
    scene = replace(build.build(), contacts=tuple(pairs))
    return scene, np.concatenate(q), rng.normal(size=scene.nv)


def run(seeds: Iterable[int | tuple[int, ...]], steps: int = STEPS) -> Outcomes:
    """Move random scenes for some steps."""
    made, silent, errors, found = 0, 0, list[str](), list[tuple[float, float, float, bool]]()
    for seed in seeds:
        scene, q, v = random_scene(seed)
        step, last, depths, fastest, missed = lw.contact.ContactStep(scene, DT), None, list[float](), 0.0, 0
        try:
            for _ in range(steps):
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    last = step(q, v, start=last)
                made, missed, silent = made + 1, missed + bool(said), silent + (not said and not last.converged)
                q, v = last.q, last.v
                depths.append(float(last.gaps.min(initial=0.0)))
                fastest = max(fastest, float(np.abs(v).max(initial=0.0)))
        except lw.errors.LinkworkError as error:
            errors.append(f"{seed}: {error}")
            continue
        allowed = np.sqrt(GRAVITY * contact_scales(scene).length) + GRAVITY * steps * DT
        arm = any(joint.name.startswith("link") for joint in scene.joints)
        found.append((missed / steps, fastest / allowed, depths[-1] / min(depths[0], -1e-6), arm))
    missed_parts, speeds, left, arms = np.array(found, dtype=np.float64).reshape(-1, 4).T
    return Outcomes(made, missed_parts, arms > 0, silent, tuple(errors), speeds, left)
