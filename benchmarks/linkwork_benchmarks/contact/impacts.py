# SPDX-License-Identifier: BSD-3-Clause
"""Violent impacts: free bodies that meet each other and the world at many points in random directions, at once.

One to twelve bodies with masses over three decades and any inertias, up to three contacts a body and two more, friction
0 to 1.2, velocities of 1 m/s; three in ten contacts are still apart. Contact points are given as data (pairs of kind
``GIVEN``), so that nothing but the solver is tried. Each is one step from rest of the solver (cold start) to 1e-8 m/s.

| symbol | meaning                                                  |
|--------|----------------------------------------------------------|
| Q      | a random rotation: columns are tangents and the normal   |
| x      | contact point, in the world                              |
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

import linkwork as lw
from linkwork.inputs import ContactSolver
from linkwork.model.contacts import ContactPair, ContactShape
from linkwork.model.inertia import Inertia
from linkwork.model.shapes import Mesh
from linkwork_benchmarks.robots import Floats

DT = 1e-3
TOLERANCE = 1e-8
"""The residual that counts as solved, in m/s."""
MOST = 60
"""Newton steps that an impact may take."""
BODIES = 12
FIRST = 150
"""Impacts of the first kind of seeds, those that the solver was designed on; all others are new to it."""


@dataclass(frozen=True)
class Impact:
    """Bodies at the time of an impact."""

    scene: lw.Mechanism
    q: Floats
    v: Floats
    given: Floats
    """(contacts, 7) gap, point, normal."""


@dataclass(frozen=True)
class Outcomes:
    """How a solver ended on many impacts."""

    iterations: Floats
    residuals: Floats
    """In m/s."""
    dissipated: Floats
    """Part of the kinetic energy that is lost."""

    @property
    def solved(self) -> npt.NDArray[np.bool_]:
        """Whether each is solved within the steps that it may take."""
        return (self.residuals <= TOLERANCE) & (self.iterations <= MOST)

    def metrics(self) -> dict[str, float]:
        """What a page shows."""
        return {
            "impacts": float(self.iterations.size),
            "solved": float(np.mean(self.solved)),
            "solved_at_all": float(np.mean(self.residuals <= TOLERANCE)),
            "iterations.median": float(np.median(self.iterations)),
            "iterations.90": float(np.quantile(self.iterations, 0.9)),
            "iterations.99": float(np.quantile(self.iterations, 0.99)),
            "iterations.most": float(self.iterations.max()),
            "residual.worst": float(self.residuals.max()),
            "energy.most_gained": float(-self.dissipated[self.solved].min()),
        }


def impact(seed: int | tuple[int, ...]) -> Impact:
    """A random impact."""
    rng = np.random.default_rng(seed)
    bodies = int(rng.integers(1, BODIES + 1))
    masses = 10 ** rng.uniform(-1.5, 1.5, bodies)
    build, inertias, pose = lw.Builder("impact", gravity=(0.0, 0.0, 0.0)), {}, []
    for k, mass in enumerate(masses):
        name, A = f"body{k}", rng.normal(size=(3, 3))
        build.body(name, Inertia.sphere(mass, 0.1)).joint(name, lw.joints.Free(), "world", name)
        inertias[name] = Inertia(mass, (0.0, 0.0, 0.0), 0.01 * mass * (A @ A.T + 0.3 * np.eye(3)))
        pose.append(0.1 * rng.normal(size=3))
    shapes = {name: ContactShape(name, name, Mesh(name, None)) for name in [*inertias, "world"]}
    pairs, given = [], []
    for k in range(int(rng.integers(1, 3 * bodies + 3))):
        second, first = int(rng.integers(bodies)), int(rng.integers(-1, bodies))
        other = shapes["world" if first in (-1, second) else f"body{first}"]
        Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        x = pose[second] + 0.1 * rng.normal(size=3)
        gap = DT * rng.uniform(0, 2) if rng.random() < 0.3 else 0.0
        given.append([gap, *x, *Q[2]])
        friction = float(rng.uniform(0, 1.2))
        pairs.append(ContactPair(other, shapes[f"body{second}"], f"contact{k}", friction=friction, slots=1))
    scene = replace(build.build(), inertias=inertias, contacts=tuple(pairs))
    q = np.concatenate([[*where, 0.0, 0.0, 0.0, 1.0] for where in pose])
    return Impact(scene, q, rng.normal(size=scene.nv), np.array(given))


def solve(
    seeds: Iterable[int | tuple[int, ...]], solver: ContactSolver = "newton", max_iterations: int = 100
) -> Outcomes:
    """Solve random impacts, each from a cold start."""
    found = []
    for seed in seeds:
        given = impact(seed)
        unit = lw.contact.ContactStep(given.scene, DT).settings[0] / lw.contact.ContactStep(given.scene, DT).tolerance
        step = lw.contact.ContactStep(
            given.scene, DT, solver, tolerance=TOLERANCE / unit, max_iterations=max_iterations
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lw.errors.StateWarning)
            s = step(given.q, given.v, given=given.given)
        before, after = (lw.energy(given.scene, given.q, v).kinetic for v in (given.v, s.v))
        found.append((s.iterations, s.residual, 1 - after / before))
    iterations, residuals, dissipated = np.array(found, dtype=np.float64).T
    return Outcomes(iterations, residuals, dissipated)
