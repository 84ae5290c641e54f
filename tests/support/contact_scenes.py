# SPDX-License-Identifier: BSD-3-Clause
"""Small scenes with contacts for tests, and the laws of contact checked by dense matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

import linkwork as lw
from linkwork.contact.solution import ContactSolution
from linkwork.model.contacts import ContactPair, ContactShape
from linkwork.model.placement import Placement
from linkwork.model.shapes import Box, Ground, Solid, Sphere

EDGE = 0.2


def ground(tilt: float = 0.0) -> ContactShape:
    """The ground, tilted about y: it falls along x."""
    c, s = np.cos(tilt), np.sin(tilt)
    rotation = [[c, 0, s], [0, 1, 0], [-s, 0, c]]
    return ContactShape("ground", "world", Ground(), Placement((0.0, 0.0, 0.0), rotation))


def solid_inertia(solid: Solid, mass: float) -> lw.Inertia:
    """Of a homogeneous solid."""
    if isinstance(solid, Box):
        x, y, z = (size * size for size in solid.size)
        return lw.Inertia(mass, (0.0, 0.0, 0.0), np.diag([y + z, x + z, x + y]) * mass / 12)
    assert isinstance(solid, Sphere)
    return lw.Inertia(mass, (0.0, 0.0, 0.0), 0.4 * mass * solid.radius**2 * np.eye(3))


def free_bodies(
    solids: Sequence[Solid], masses: Sequence[float], gravity: Sequence[float] = (0.0, 0.0, -9.81)
) -> lw.Mechanism:
    """Bodies ``b0, b1, ...`` that fly freely, without contacts."""
    build = lw.Builder("bodies", gravity=gravity)
    for k, (solid, mass) in enumerate(zip(solids, masses, strict=True)):
        build.body(f"b{k}", solid_inertia(solid, mass))
        build.joint(f"j{k}", lw.joints.Free(), "world", f"b{k}")
    return build.build()


def touching(robot: lw.Mechanism, *pairs: ContactPair) -> lw.Mechanism:
    """The robot with these contacts."""
    return replace(robot, contacts=pairs)


def tripod(friction: float = 0.5) -> tuple[lw.Mechanism, np.ndarray]:
    """A box that stands on three spheres, and its configuration: normal forces are unique, and so is how it slides."""
    at = ((0.1, 0.0, -0.1), (-0.08, 0.09, -0.1), (-0.05, -0.1, -0.1))
    feet = [ContactShape(f"foot {k}", "b0", Sphere(0.02), Placement(p)) for k, p in enumerate(at)]
    robot = free_bodies([Box((0.2, 0.2, 0.2))], [1.0])
    q = robot.neutral()
    q[2] = 0.12
    return touching(robot, *(ContactPair(ground(), foot, friction=friction) for foot in feet)), q


def box_on_plane(
    friction: float = 0.5,
    tilt: float = 0.0,
    mass: float = 1.0,
    edge: float = EDGE,
    gravity: float = 9.81,
    **options: float,
) -> tuple[lw.Mechanism, np.ndarray]:
    """A box that rests on the ground, and its configuration."""
    solid = Box((edge, edge, edge))
    robot = free_bodies([solid], [mass], (0.0, 0.0, -gravity))
    pair = ContactPair(ground(tilt), ContactShape("box", "b0", solid), friction=friction, **options)
    at = pair.first.placement * Placement((0.0, 0.0, edge / 2))
    q = robot.neutral()
    q[:3] = at.position
    q[3:] = (0.0, np.sin(tilt / 2), 0.0, np.cos(tilt / 2))
    return touching(robot, pair), q


def stack(masses: Sequence[float], friction: float = 0.5, edge: float = EDGE) -> tuple[lw.Mechanism, np.ndarray]:
    """Boxes that rest on each other, and their configuration."""
    solid = Box((edge, edge, edge))
    robot = free_bodies([solid] * len(masses), masses)
    shapes = [ContactShape(f"box{k}", f"b{k}", solid) for k in range(len(masses))]
    pairs = [
        ContactPair(below, above, friction=friction) for below, above in zip([ground(), *shapes], shapes, strict=False)
    ]
    q = robot.neutral()
    for k in range(len(masses)):
        q[7 * k + 2] = edge * (k + 0.5)
    return touching(robot, *pairs), q


def contact_jacobian(robot: lw.Mechanism, q: np.ndarray) -> np.ndarray:
    """``J`` of all contact points along t1, t2, n, ``(3 nslots, nv)``, by frames at the points."""
    found = lw.contact.ContactGeometry(robot)(q)
    rows, slot = [], 0
    for pair in robot.contacts:
        for _ in range(len(found[pair.name].gaps)):
            point, frame = found.points[slot], found.frames[slot]
            J = np.zeros((3, robot.nv))
            for body, sign in ((pair.first.body, -1.0), (pair.second.body, 1.0)):
                if body != "world":
                    at = lw.frame_placement(robot, q, body)
                    local = np.asarray(at.rotation).T @ (point - np.asarray(at.position))
                    marked = robot.with_frame("contact point", body, tuple(local))
                    J += sign * frame.T @ lw.frame_jacobian(marked, q, "contact point", "aligned")[3:]
            rows.append(J)
            slot += 1
    return np.concatenate(rows)


def axes_accelerations(robot: lw.Mechanism, v: np.ndarray) -> np.ndarray:
    """Joint accelerations at which no body changes its velocity: ``-w x u`` of free joints, whose axes turn."""
    a = np.zeros(robot.nv)
    for joint in robot.joints:
        if isinstance(joint.type, lw.joints.Free):
            at = robot.v_slice(joint.name)
            a[at][:3] = -np.cross(v[at][3:], v[at][:3])
    return a


def laws_of_contact(
    robot: lw.Mechanism, q: np.ndarray, v: np.ndarray, s: ContactSolution, dt: float
) -> dict[str, float]:
    """What a solution misses of each law, by dense matrices: dynamics, velocities, the cone, Signorini, Coulomb.

    Velocities in m/s; forces as parts of the largest, or of the weight. For contacts
    that do not overlap, without restitution.
    """
    M, c, J = lw.mass_matrix(robot, q), lw.bias_forces(robot, q, v), contact_jacobian(robot, q)
    turning = axes_accelerations(robot, v)
    after = v + dt * s.acceleration  # velocities after the step, in the axes of its start
    f, u = s.forces, s.contact_velocity
    largest = max(float(np.abs(f).max(initial=0.0)), robot.mass * float(np.linalg.norm(robot.gravity)))
    out = M @ (s.acceleration + turning) + c - J.T @ f.reshape(-1)
    if robot.nc:
        out = out - lw.constraint_jacobian(robot, q).T @ s.multipliers
    mu = np.repeat([pair.friction for pair in robot.contacts], [len(s.impulses[p.name]) for p in robot.contacts])
    closing = u[:, 2] + np.maximum(s.gaps, 0.0) / dt
    ft, ut = np.linalg.norm(f[:, :2], axis=1), np.linalg.norm(u[:, :2], axis=1)
    dissipation = (f[:, :2] * u[:, :2]).sum(axis=1) + mu * f[:, 2] * ut
    return {
        "dynamics": float(np.abs(np.linalg.solve(M, out)).max()) * dt,
        "velocities": float(np.abs(J @ after - u.reshape(-1)).max(initial=0.0)),
        "cone": float((ft - mu * f[:, 2]).max(initial=0.0)) / largest,
        "pull": float((-f[:, 2]).max(initial=0.0)) / largest,
        "penetration": float((-closing).max(initial=0.0)),
        "complementarity": float(np.abs(f[:, 2] * closing).max(initial=0.0)) / largest,
        "dissipation": float(np.abs(dissipation).max(initial=0.0)) / largest,
    }
