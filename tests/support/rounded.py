# SPDX-License-Identifier: BSD-3-Clause
"""Mechanisms whose loops close only to the rounding of a file: overconstrained ones, with numbers of seven digits."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

import linkwork as lw
from linkwork.mechanism import Mechanism
from linkwork.model.rotations import quaternion_matrix, quaternion_of
from tests.support.states import Floats


def rounded(x: Floats, digits: int | None) -> Floats:
    return x if digits is None else np.round(x, digits)


def wrist(digits: int | None = 7) -> Mechanism:
    """Three legs of three hinges whose axes meet in one point: the platform turns about it in three ways.

    Two of the legs are closed by hinges, ten rows of which four are independent.
    """
    build = lw.Builder("wrist")
    build.body("platform", lw.Inertia.box(0.4, (0.1, 0.1, 0.02), (0, 0, 0.1)))
    tops = []
    for k in range(3):
        turn = 2 * np.pi * k / 3 + 0.1
        base = np.array([np.cos(turn), np.sin(turn), -0.6])
        elbow = np.array([np.cos(turn + 0.9), np.sin(turn + 0.9), 0.1])
        tops.append(np.array([np.cos(turn + 0.3), np.sin(turn + 0.3), 0.9]))
        # every body frame stands at the common point; only directions of axes differ
        axes = [rounded(axis / np.linalg.norm(axis), digits) for axis in (base, elbow, tops[-1])]
        at = rounded(0.05 * base, digits)
        build.body(f"lower{k}", lw.Inertia.box(0.1, (0.02, 0.03, 0.04), 0.1 * (base + elbow)))
        build.joint(f"base{k}", lw.joints.Revolute(axes[0]), "world", f"lower{k}", at, at)
        middle = rounded(0.07 * elbow, digits)
        build.body(f"upper{k}", lw.Inertia.box(0.1, (0.03, 0.02, 0.04), 0.1 * (elbow + tops[-1])))
        build.joint(f"elbow{k}", lw.joints.Revolute(axes[1]), f"lower{k}", f"upper{k}", middle, middle)
        far = rounded(0.06 * tops[-1], digits)
        if k == 0:
            build.joint("top0", lw.joints.Revolute(axes[2]), "upper0", "platform", far, far)
        else:
            build.constrain(
                lw.constraints.Hinge(f"upper{k}", "platform", axis=axes[2], first_at=far, second_at=far, name=f"top{k}")
            )
    return build.build()


def three_cranks(off: float = 1e-8) -> Mechanism:
    """Equal parallel cranks that carry one coupler: it moves as long as the third pivot is where it has to be."""
    build = lw.Builder("three cranks")
    build.body("coupler", lw.Inertia.rod(0.5, (0, 0, 0), (1, 0, 0)))
    for k, x in enumerate((0.0, 0.4, 1.0)):
        build.body(f"crank{k}", lw.Inertia.rod(0.2, (0, 0, 0), (0.2, 0, 0.25)))
        build.joint(f"pivot{k}", lw.joints.Revolute("y"), "world", f"crank{k}", (x + (off if k == 2 else 0.0), 0, 0))
        top = {"first_at": (0.2, 0, 0.25), "second_at": (x, 0, 0), "name": f"pin{k}"}
        if k == 0:
            build.joint("pin0", lw.joints.Revolute("y"), "crank0", "coupler", (0.2, 0, 0.25))
        else:
            build.constrain(lw.constraints.Hinge(f"crank{k}", "coupler", axis="y", **top))
    return build.build()


def rounded_placement(x: lw.Placement, digits: int) -> lw.Placement:
    """A position and a quaternion as a file has them."""
    turn = np.round(quaternion_of(x.rotation), digits)
    return lw.Placement(np.round(x.position, digits), quaternion_matrix(turn / np.linalg.norm(turn)))


def rounded_placements(robot: Mechanism, digits: int) -> Mechanism:
    """A mechanism whose joints and constraints are placed by numbers of a few digits."""
    joints = tuple(replace(j, placement=rounded_placement(j.placement, digits)) for j in robot.joints)
    constraints = []
    for c in robot.constraints:
        placed = {f.name: getattr(c, f.name) for f in fields(c) if isinstance(getattr(c, f.name), lw.Placement)}
        constraints.append(replace(c, **{name: rounded_placement(x, digits) for name, x in placed.items()}))
    return replace(robot, joints=joints, constraints=tuple(constraints))


def doubled_pins(digits: int, seed: int = 0) -> Mechanism:
    """A plate on two cranks and rods in a plane, frames turned at will; each rod's pin is two points on its axis.

    Twelve rows of rank four. Cranks are short: rows that they hardly move come before rows that repeat them.
    """
    rng = np.random.default_rng(seed)
    build, across = lw.Builder("doubled pins"), np.array([0.0, 1.0, 0.0])
    where = {"world": lw.Placement()}

    def link(name: str, parent: str, at: tuple[float, float, float]) -> None:
        turn = rng.normal(size=4)
        where[name] = lw.Placement(at, quaternion_matrix(turn / np.linalg.norm(turn)))
        axis = np.round(where[name].rotation.T @ across, digits)
        build.body(name, lw.Inertia.box(0.2 + rng.random(), (0.1, 0.1, 0.2), (0.05, 0, 0)))
        placed = rounded_placement(where[parent].inverse() * where[name], digits)
        build.joint(name, lw.joints.Revolute(axis), parent, name, placed)

    link("plate", "world", (0, 0, 0.3))
    for k, x in enumerate((0.03, -0.03)):
        link(f"crank{k}", "world", (x, 0, 0))
        link(f"rod{k}", f"crank{k}", (x + 0.02, 0, 0.005 * (k + 1)))
        for n in range(2):
            point = np.array([x + 0.02, 0.03 * n, 0.3 + 0.002 * (k + 1)])
            first, second = (np.round(where[body].inverse().act(point), digits) for body in (f"rod{k}", "plate"))
            build.constrain(
                lw.constraints.Point(f"rod{k}", "plate", first_at=first, second_at=second, name=f"pin{k} {n}")
            )
    return build.build()
