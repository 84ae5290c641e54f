# SPDX-License-Identifier: BSD-3-Clause
"""Our solvers: on the matrix, and whole steps of the same scene, from geometry to the next state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import linkwork as lw
from linkwork import zoo
from linkwork.contact.dense import RowSolverName, row_solver
from linkwork.contact.scales import contact_scales
from linkwork.contact.step import SOLVERS, ContactStep
from linkwork.errors import UnsupportedFeature
from linkwork.model.constraints import WORLD
from linkwork.model.contacts import ContactPair, ContactShape
from linkwork.model.placement import Placement
from linkwork.model.shapes import Ground, Sphere
from linkwork_benchmarks.contact.piles import DT, EDGE, Pile
from linkwork_benchmarks.peers import Unable
from linkwork_benchmarks.robots import Floats

ON_MATRIX: tuple[RowSolverName, ...] = ("pgs", "admm")
STEPS: tuple[str, ...] = tuple(SOLVERS)


@dataclass(frozen=True)
class Run:
    """A solver on one problem."""

    name: str
    call: Callable[[], object]
    residual: float
    iterations: int
    answer: Callable[[], Floats]


def on_matrix(pile: Pile, solver: RowSolverName, residual: float, most: int) -> Run:
    """A solver on the matrix."""
    call, read = row_solver(pile.G, pile.friction, solver).bind(*pile, tolerance=residual, max_iterations=most)
    call()
    found = read()
    return Run(f"linkwork.{solver}", call, float(found.residual), int(found.iterations), lambda: read().impulses.copy())


def scene(kind: str, given: tuple[float, ...]) -> lw.Mechanism:
    """A scene of the zoo; `Unable` where there is none of that name."""
    make: Any = getattr(zoo, kind, None)
    if make is None:
        raise Unable(f"the zoo has no scene '{kind}'")
    made: lw.Mechanism = make(len(given), masses=list(given), size=EDGE) if kind == "boxes" else make(int(given[0]))
    return made


def swimmer(links: int) -> lw.Mechanism:
    """A chain on the ground: a floating base, joints about z and y in turn, two spheres under each link."""
    length, height, radius = 0.2, 0.04, 0.02
    build, ground, pairs, parent = (
        lw.Builder(f"swimmer of {links} links"),
        ContactShape("ground", WORLD, Ground()),
        [],
        "",
    )
    for k in range(links):
        body = f"link{k}"
        build.body(body, lw.Inertia.box(0.3, (length, height, height), com=(length / 2, 0.0, radius)))
        if k == 0:
            build.joint("base", lw.joints.Free(), WORLD, body)
        else:
            build.joint(f"joint{k}", lw.joints.Revolute("z" if k % 2 else "y"), parent, body, at=(length, 0.0, 0.0))
        for side, x in (("back", 0.25), ("front", 0.75)):
            at = Placement((x * length, 0.0, radius))
            pairs.append(ContactPair(ground, ContactShape(f"{side}{k}", body, Sphere(radius), at), friction=0.5))
        parent = body
    return replace(build.build(), contacts=tuple(pairs))


def whole_step(robot: lw.Mechanism, solver: Any, residual: float, q: Floats, v: Floats, most: int | None) -> Run:
    """A whole step from a state, cold start; `Unable` where contacts of the scene have no kernel code yet."""
    gravity = float(np.linalg.norm(robot.gravity))
    unit = contact_scales(robot).velocity(gravity, DT)
    step = ContactStep(robot, DT, solver, tolerance=residual / unit, max_iterations=most, threads=1)
    try:
        found = step(q, v)
    except UnsupportedFeature as reason:
        raise Unable(str(reason)) from None
    q1, v1, result = np.empty(robot.nq), np.empty(robot.nv), np.empty(step.runner.outputs[2])
    call = step.bind(q, v, out=(q1, v1, result))
    return Run(f"step.{solver}", call, float(found.residual), int(found.iterations), lambda: step(q, v).v)
