# SPDX-License-Identifier: BSD-3-Clause
"""One of each constraint, with random frames, axes and numbers, on random trees over all joint types."""

from __future__ import annotations

from functools import cache

import numpy as np

import linkwork as lw
from linkwork.mechanism import Mechanism
from linkwork.model.constraints import Constraint, Pair
from linkwork.model.pairs import MEET
from tests.support.states import Floats

PAIRS: tuple[type[Pair], ...] = (
    *(
        lw.constraints.Weld,
        lw.constraints.Hinge,
        lw.constraints.Slider,
        lw.constraints.Cylindrical,
        lw.constraints.Cardan,
        lw.constraints.Point,
        lw.constraints.PlaneOnPlane,
    ),
    *(lw.constraints.PointOnLine, lw.constraints.PointOnPlane, lw.constraints.Rod, lw.constraints.Rolling),
)
SIZES = {lw.constraints.Rod: {"length": 0.7}, lw.constraints.Rolling: {"radius": 0.3}}

OTHERS = ("linear", "polynomial", "held", "lock", "lock of two", "com", "com of some", "aligned", "local", "velocities")
OF_TENDONS = ("rope", "rope by rope", "rope by joints", "joints by joints")
NAMES = (*(kind.__name__ for kind in PAIRS), *OTHERS, *OF_TENDONS)
"""The constraints of `bound`, by name."""

SEEDS = range(4)


@cache
def free_tree(seed: int) -> Mechanism:
    """Six random bodies, and three that have the joints which couplings need."""
    rng = np.random.default_rng([seed, 11])
    arm = lw.Builder("arm")
    parent = "world"
    for name, joint in {
        "turn": lw.joints.Revolute("y"),
        "slide": lw.joints.Prismatic((1, 2, 2)),
        "cross": lw.joints.Universal(),
    }.items():
        arm.body(name, lw.zoo.random_inertia(rng))
        arm.joint(name, joint, parent, name, lw.zoo.random_placement(rng), lw.zoo.random_placement(rng))
        parent = name
    tree = lw.zoo.random_tree(seed, bodies=6, kinds=("rphusSf", "srfS", "huSp", "fsrp")[seed % 4])
    return lw.attach(tree, arm.build(), to=f"frame{seed % 6}", at=lw.zoo.random_placement(rng), prefix="arm")


def constraints(seed: int) -> list[Constraint]:
    """One of each of `NAMES`: pairs between random places, the world among them."""
    rng = np.random.default_rng([seed, 12])
    robot = free_tree(seed)
    places = [*(f"frame{k}" for k in range(6)), *(f"arm/{name}" for name in ("turn", "slide", "cross"))]

    def pair(kind: type[Pair]) -> Pair:
        first, second = rng.choice(places, 2, replace=False)
        if rng.random() < 0.25:
            first, second = ("world", second) if rng.random() < 0.5 else (first, "world")
        options: dict[str, object] = dict(SIZES.get(kind, {}))
        if hasattr(kind, "axis"):
            options["axis"] = rng.normal(size=3) if rng.random() < 0.7 else "xyz"[rng.integers(3)]
            if rng.random() < 0.5 or kind is lw.constraints.Cardan:
                options["second_axis"] = rng.normal(size=3)
        at = {"first_at": lw.zoo.random_placement(rng), "second_at": lw.zoo.random_placement(rng)}
        return kind(str(first), str(second), name=kind.__name__, time_constant=0.1, **at, **options)

    some = tuple(rng.choice(robot.body_names, 4, replace=False).tolist())
    mixed = {place: rng.normal(size=(2, 6)) for place in (*rng.choice(places, 3, replace=False).tolist(), "world")}
    turn, slide, cross = "arm/turn", "arm/slide", "arm/cross"
    return [
        *(pair(kind) for kind in PAIRS),
        lw.constraints.JointCoupling({turn: 1.0, slide: -3.0}, 0.4, name="linear", gains=(3.0, 4.0)),
        lw.constraints.PolynomialCoupling(
            turn, slide, (0.1, 0.2, 0.3, 0.4, 0.5), 0.1, 0.2, name="polynomial", gains=(5.0, 0.0)
        ),
        lw.constraints.PolynomialCoupling(slide, None, (0.3,), 0.2, name="held"),
        lw.constraints.JointLock(turn, 0.3, name="lock"),
        lw.constraints.JointLock(cross, (0.3, -0.2), name="lock of two"),
        lw.constraints.CenterOfMass(lw.zoo.random_placement(rng), "zx", name="com", time_constant=0.5),
        lw.constraints.CenterOfMass(bodies=some, name="com of some"),
        lw.constraints.LinearCombination(mixed, name="aligned", gains=(7.0, 8.0)),
        lw.constraints.LinearCombination(mixed, "local", name="local"),
        lw.constraints.VelocityCoupling(_factors(robot, rng), name="velocities", gains=(0.0, 9.0)),
        *tendon_couplings(places, rng),
    ]


def tendon_couplings(places: list[str], rng: np.random.Generator) -> list[Constraint]:
    """One of each of `OF_TENDONS`: tendons over pulleys through random places, and of joints."""
    a, b, c, d, e = rng.choice(places, 5, replace=False).tolist()
    rope = lw.tendons.Tendon("rope", path=(lw.tendons.Branch((a, b, c)), lw.tendons.Branch((c, d), 2.0)))
    other = lw.tendons.Tendon("other", path=(lw.tendons.Branch((d, e)), lw.tendons.Branch((b, e, a), 3.0)), offset=0.1)
    joints = lw.tendons.Tendon("joints", joints={"arm/turn": 0.7, "arm/slide": -0.4})
    more = lw.tendons.Tendon("more", joints={"arm/slide": 1.2, "arm/turn": 0.5})
    bend = (0.1, 0.5, 0.3, -0.2, 0.1)
    return [
        lw.constraints.TendonCoupling(rope, follower_origin=0.4, name="rope", time_constant=0.2),
        lw.constraints.TendonCoupling(rope, other, bend, 0.2, 0.6, name="rope by rope", gains=(3.0, 2.0)),
        lw.constraints.TendonCoupling(rope, joints, bend, leader_origin=0.3, name="rope by joints"),
        lw.constraints.TendonCoupling(more, joints, bend, 0.1, -0.2, name="joints by joints", time_constant=0.3),
    ]


def _factors(robot: Mechanism, rng: np.random.Generator) -> dict[str, Floats]:
    """Factors of the velocities of three joints, of those with the most degrees of freedom."""
    joints = sorted(robot.joints, key=lambda joint: -joint.type.nv)[:2]
    return {joint.name: rng.normal(size=(2, joint.type.nv)) for joint in (*joints, robot.joint("arm/turn"))}


@cache
def bound(seed: int) -> Mechanism:
    """`free_tree` with all of `constraints`; nothing but chance closes them."""
    return free_tree(seed).constrained(*constraints(seed))


def first_turning(robot: Mechanism, constraint: Pair, q: Floats, v: Floats) -> Floats:
    """Angular velocity of the first frame of a pair, in its own axes."""
    omega = lw.frame_velocity(robot, q, v, constraint.first)[:3]
    return np.asarray(constraint.frames()[0].rotation.T @ omega)


def meets(constraint: Constraint) -> bool:
    """Whether the last three rows are a vector that turns with the first frame."""
    return isinstance(constraint, Pair) and constraint.shifts == MEET
