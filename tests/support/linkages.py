# SPDX-License-Identifier: BSD-3-Clause
"""Small mechanisms with loops to assemble: planar and spatial, on rods, on ropes, with a center of mass, with gears."""

from __future__ import annotations

from functools import cache

import numpy as np

import linkwork as lw
from linkwork.mechanism import Mechanism

BOX = lw.Inertia.box(1.5, (0.1, 0.2, 0.3), com=(0.05, -0.1, 0.2))


def rod(length: float) -> lw.Inertia:
    return lw.Inertia.rod(1.0, (0, 0, 0), (length, 0, 0))


def four_bar(
    ground: float = 1.0,
    crank: float = 0.5,
    coupler: float = 1.2,
    rocker: float = 0.9,
    base: bool = False,
    joint: lw.joints.Joint | None = None,
    **limits: float,
) -> Mechanism:
    """A planar four-bar, closed where the coupler meets the rocker; ``base`` lets it float."""
    build = lw.Builder("four-bar")
    root = "world"
    if base:
        build.body("base", BOX).joint("free", lw.joints.Free(), "world", "base")
        root = "base"
    build.body("crank", rod(crank)).joint("j1", lw.joints.Revolute("y"), root, "crank", **limits)
    build.body("coupler", rod(coupler)).joint("j2", lw.joints.Revolute("y"), "crank", "coupler", (crank, 0, 0))
    build.body("rocker", rod(rocker)).joint("j3", lw.joints.Revolute("y"), root, "rocker", (ground, 0, 0))
    close = lw.joints.Revolute("y") if joint is None else joint
    build.joint("close", close, "coupler", "rocker", (coupler, 0, 0), (rocker, 0, 0), cut=True)
    return build.build()


def five_bar() -> Mechanism:
    build = lw.Builder("five-bar")
    for side, at in (("left", (0, 0, 0)), ("right", (0.8, 0, 0))):
        build.body(f"{side}1", rod(0.7)).joint(
            f"{side}1", lw.joints.Revolute("y"), "world", f"{side}1", at, actuated=True
        )
        build.body(f"{side}2", rod(1.0)).joint(f"{side}2", lw.joints.Revolute("y"), f"{side}1", f"{side}2", (0.7, 0, 0))
    build.joint("close", lw.joints.Revolute("y"), "left2", "right2", (1.0, 0, 0), (1.0, 0, 0), cut=True)
    return build.build()


def rssr() -> Mechanism:
    """Two cranks and a bar with a ball at both ends."""
    build = lw.Builder("RSSR").body("a", rod(0.4)).joint("a", lw.joints.Revolute("y"), "world", "a")
    build.body("b", rod(0.9)).joint("b", lw.joints.Revolute((1, 0, 1)), "world", "b", (1.0, 0.3, 0.2))
    build.body("bar", rod(1.2)).joint("ball", lw.joints.Spherical(), "a", "bar", (0.4, 0, 0))
    return build.joint("close", lw.joints.Spherical(), "bar", "b", (1.2, 0, 0), (0.9, 0, 0)).build()


def crosses() -> Mechanism:
    """Two shafts joined through two universal joints and a bar that slides: rows that turn and rows that slide."""
    build = lw.Builder("shafts").body("in", rod(0.4)).joint("in", lw.joints.Revolute("x"), "world", "in")
    build.body("bar", rod(0.5)).joint("first", lw.joints.Universal("y", "z"), "in", "bar", (0.4, 0, 0))
    build.body("tube", rod(0.3)).joint("slide", lw.joints.Prismatic("x"), "bar", "tube", (0.3, 0, 0))
    build.body("out", rod(0.4)).joint("out", lw.joints.Revolute("x"), "world", "out", (1.5, 0.2, 0.1))
    return build.joint("close", lw.joints.Universal("y", "z"), "tube", "out", (0.3, 0, 0), cut=True).build()


def bricard(length: float = 0.3, opened: float = 0.0) -> Mechanism:
    """Bricard's threefold-symmetric loop of six hinges, neighbors at right angles: 5 rows of rank 4, one freedom.

    ``opened``: by how much the third link is too long.
    """
    build = lw.Builder("Bricard")
    turn = 0.9
    pose = {"j0": turn, "j1": float(np.arccos(-np.cos(turn) / (1 + np.cos(turn))))}
    parent, at = "world", lw.Placement()
    for k in range(5):
        build.body(f"link{k}", rod(length)).joint(f"j{k}", lw.joints.Revolute("z"), parent, f"link{k}", at)
        parent, at = f"link{k}", lw.Placement.rpy((-1) ** k * np.pi / 2, 0, 0, (length + opened * (k == 2), 0, 0))
        pose[f"j{k}"] = pose[f"j{k % 2}"]
    base = lw.Placement.rpy(-np.pi / 2, 0, 0, (length, 0, 0)).inverse()
    build.constrain(lw.constraints.Hinge("world", parent, name="loop", first_at=base, second_at=at, axis="z"))
    return build.pose("assembled", pose).build()


def hexapod() -> Mechanism:
    """A plate on six rods, in pairs that meet nearly at the ground and nearly at the plate."""
    build = lw.Builder("hexapod").body("plate", BOX).joint("free", lw.joints.Free(), "world", "plate")
    low, high = np.deg2rad([10, 110, 130, 230, 250, 350]), np.deg2rad([50, 70, 170, 190, 290, 310])
    for k, (a, b) in enumerate(zip(low, high, strict=True)):
        ends = {"first_at": (np.cos(a), np.sin(a), 0), "second_at": (0.6 * np.cos(b), 0.6 * np.sin(b), 0)}
        build.constrain(lw.constraints.Rod("world", "plate", name=f"leg{k}", length=1.1, **ends))
    return build.build()


def balanced() -> Mechanism:
    """A chain whose center of mass is to stand over the world's axis."""
    robot = lw.zoo.serial_chain(6)
    return robot.constrained(
        lw.constraints.CenterOfMass(axes="xy"),
        lw.constraints.CenterOfMass(bodies=("link2", "link4"), axes="z", name="c"),
    )


def geared() -> Mechanism:
    """A chain with a gear, a polynomial and a lock."""
    robot = lw.zoo.serial_chain(5)
    return robot.constrained(
        lw.constraints.Gear("joint0", "joint1", 3.0, 0.2),
        lw.constraints.PolynomialCoupling("joint2", "joint3", (0.1, 0.2, 0.3, -0.1)),
        lw.constraints.JointLock("joint4", 0.7),
    )


def roped(kind: str) -> Mechanism:
    """Two arms on a base that floats, whose ropes or joints follow each other; they do in the pose "assembled".

    ``rope``: one over a pulley keeps its length, another holds an arm to the world. ``rope by rope``, ``rope by
    joints``, ``joints by joints``: lengths that follow a polynomial of others.
    """
    build = lw.Builder(kind).body("base", BOX).joint("free", lw.joints.Free(), "world", "base")
    build.frame("hook", "world", (1.5, 0.2, 1.0)).frame("eye", "base", (0.1, -0.2, 0.4))
    joints = {
        "left": (lw.joints.Revolute("y"), lw.joints.Prismatic("z"), lw.joints.Universal()),
        "right": (lw.joints.Revolute("x"),) * 2,
    }
    for side, at in (("left", (0.2, 0.4, 0.1)), ("right", (0.1, -0.4, 0.2))):
        parent = "base"
        for k, joint in enumerate(joints[side]):
            build.body(f"{side}{k}", BOX).frame(f"{side}_eye{k}", f"{side}{k}", (0.3 - 0.3 * k, 0.2 * k, 0.3))
            build.joint(f"{side}{k}", joint, parent, f"{side}{k}", at if k == 0 else (0.1, 0.0, 0.4))
            parent = f"{side}{k}"
    build.pose("assembled", {"left0": 0.3, "left1": 0.2, "left2": (0.4, -0.3), "right0": -0.4, "right1": 0.7})
    robot, bend = build.build(), (0.0, 0.6, 0.5, -0.4, 0.3)
    over = lw.tendons.Tendon(
        "over",
        path=(lw.tendons.Branch(("eye", "left_eye0", "left_eye2")), lw.tendons.Branch(("right_eye1", "eye"), 2.0)),
    )
    across = lw.tendons.Tendon(
        "across", path=(lw.tendons.Branch(("left_eye1", "right_eye0")), lw.tendons.Branch(("left_eye2", "base"), 3.0))
    )
    low, high = (
        lw.tendons.Tendon(n, joints=c) for n, c in (("low", {"left0": 0.5, "right0": -0.8}), ("high", {"right1": 1.1}))
    )
    couplings = {
        "rope": [
            lw.constraints.TendonCoupling(over, time_constant=0.2),
            lw.constraints.TendonCoupling(lw.tendons.Tendon("up", path=("hook", "right_eye1")), gains=(3.0, 0.0)),
        ],
        "rope by rope": [lw.constraints.TendonCoupling(over, across, bend, leader_origin=0.4, time_constant=0.1)],
        "rope by joints": [lw.constraints.TendonCoupling(over, low, bend, leader_origin=0.2, gains=(4.0, 1.0))],
        "joints by joints": [lw.constraints.TendonCoupling(high, low, bend, leader_origin=-0.2, time_constant=0.3)],
    }
    return robot.constrained(*couplings[kind], at=robot.poses["assembled"])


def standing() -> Mechanism:
    """A humanoid whose feet stand where they do at rest."""
    robot = lw.zoo.humanoid()
    feet = [lw.constraints.Weld(f"{side}_foot", "world", name=side) for side in ("left", "right")]
    return robot.constrained(*feet, at=robot.neutral())


MECHANISMS = {
    "four-bar": four_bar,
    "four-bar of points": lambda: four_bar(joint=lw.joints.Spherical()),
    "four-bar on a line": lambda: (
        four_bar()
        .unconstrained()
        .constrained(
            lw.constraints.PointOnLine("coupler", "rocker", axis="y", first_at=(1.2, 0, 0), second_at=(0.9, 0, 0))
        )
    ),
    "floating four-bar": lambda: four_bar(base=True),
    "five-bar": five_bar,
    "RSSR": rssr,
    "universal joints": crosses,
    "hexapod": hexapod,
    "center of mass": balanced,
    "gears": geared,
    "humanoid": standing,
}


@cache
def made(name: str) -> Mechanism:
    return MECHANISMS[name]()
