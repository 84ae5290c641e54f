# SPDX-License-Identifier: BSD-3-Clause
"""Trees: pendulum, chain, humanoid, and random ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.conversions import converted
from linkwork.errors import InputError
from linkwork.inputs import random_generator
from linkwork.mechanism import Builder, Mechanism
from linkwork.model.arrays import Floats
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Free, Helical, Joint, Planar, Prismatic, Revolute, Spherical, Universal
from linkwork.model.placement import Placement


@converted
def pendulum(links: int = 1, length: float = 1.0, mass: float = 1.0) -> Mechanism:
    """A planar pendulum of equal rods, turning about y, hanging at rest.

    Args:
        links: Number of rods.
        length: Of each rod, in meters.
        mass: Of each rod, in kilograms.
    """
    build = Builder("pendulum" if links == 1 else f"{links}-link pendulum")
    parent, at = "world", (0.0, 0.0, 0.0)
    for k in range(links):
        body = f"link{k}"
        build.body(body, Inertia.rod(mass, (0, 0, 0), (0, 0, -length), radius=0.02 * length))
        build.joint(f"joint{k}", Revolute("y"), parent, body, at)
        parent, at = body, (0.0, 0.0, -length)
    build.frame("tip", on=parent, at=at)
    return build.build()


@converted
def serial_chain(links: int, seed: int = 0) -> Mechanism:
    """A chain of revolute joints about changing coordinate axes, links of random inertia.

    Args:
        links: Number of links.
        seed: Of the random inertias.
    """
    rng = random_generator(seed)
    build = Builder(f"chain of {links}")
    parent = "world"
    for k in range(links):
        body = f"link{k}"
        build.body(body, random_inertia(rng))
        build.joint(f"joint{k}", Revolute("xyz"[k % 3]), parent, body, at=(0.0, 0.0, 0.3) if k else (0.0, 0.0, 0.0))
        parent = body
    build.frame("tip", on=parent, at=(0.0, 0.0, 0.3))
    return build.build()


@converted
def humanoid() -> Mechanism:
    """A floating humanoid of about 80 kg: legs of six joints, arms of seven, a waist of three, a neck of two."""
    build = Builder("humanoid")
    build.body("pelvis", Inertia.box(12.0, (0.2, 0.3, 0.15)))
    build.joint("base", Free(), "world", "pelvis")
    _limb(build, "pelvis", "waist", "zyx", [(0, 0, 0.1), (0, 0, 0.04), (0, 0, 0.04)], [1.0, 1.0, 22.0], 0.3)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        hip, shoulder = (0, 0.1 * sign, -0.05), (0, 0.2 * sign, 0.28)
        legs = [hip, (0, 0, -0.02), (0, 0, -0.04), (0, 0, -0.38), (0, 0, -0.38), (0, 0, -0.03)]
        _limb(build, "pelvis", f"{side}_leg", "zxyyyx", legs, [1.0, 1.0, 7.0, 3.5, 0.5, 1.2], -0.38)
        build.frame(f"{side}_foot", on=f"{side}_leg5", at=(0.05, 0.0, -0.06))
        arms = [
            shoulder,
            (0, 0.05 * sign, 0),
            (0, 0, -0.05),
            (0, 0, -0.25),
            (0, 0, -0.13),
            (0, 0, -0.12),
            (0, 0, -0.03),
        ]
        _limb(build, "waist2", f"{side}_arm", "yxzyzyx", arms, [0.8, 0.8, 1.6, 1.2, 0.6, 0.3, 0.6], -0.2)
        build.frame(f"{side}_hand", on=f"{side}_arm6", at=(0.0, 0.0, -0.08))
    _limb(build, "waist2", "neck", "zy", [(0, 0, 0.33), (0, 0, 0.05)], [0.5, 4.0], 0.15)
    return build.build()


def _limb(
    build: Builder,
    parent: str,
    name: str,
    axes: str,
    offsets: Sequence[tuple[float, float, float]],
    masses: Sequence[float],
    reach: float,
) -> None:
    """A chain of revolute joints about the given axes; bodies hang ``reach`` below or above their joint."""
    for k, (axis, offset, mass) in enumerate(zip(axes, offsets, masses, strict=True)):
        body = f"{name}{k}"
        build.body(body, Inertia.rod(mass, (0.01, 0.0, 0.0), (0.0, 0.0, reach * min(1.0, 0.3 + mass / 7)), radius=0.05))
        build.joint(f"{name}{k}_joint", Revolute(axis), parent, body, offset, lower=-2.0, upper=2.0, effort=150.0)
        parent = body


@converted
def random_tree(seed: int, bodies: int = 8, kinds: str = "rphusSf", armature: bool = True) -> Mechanism:
    """A random mechanism over all joint types, hanging on the world by one or several joints.

    Args:
        seed: Of the random numbers.
        bodies: Number of bodies.
        kinds: Joint types to draw from: r revolute, p prismatic, h helical, u universal, s spherical, S planar, f free.
        armature: Whether some joints have armature.
    """
    if not kinds:
        raise InputError("kinds is empty, needs some of r, p, h, u, s, S, f")
    rng = random_generator(seed)
    build = Builder(f"random tree {seed}")
    names = ["world"]
    for k in range(bodies):
        parent = names[int(rng.integers(max(0, len(names) - 3), len(names)))]
        joint = _random_joint(rng, kinds[int(rng.integers(len(kinds)))])
        build.body(f"body{k}", random_inertia(rng))
        geared = armature and rng.random() < 0.3
        build.joint(
            f"joint{k}",
            joint,
            parent,
            f"body{k}",
            random_placement(rng),
            armature=rng.uniform(0.1, 0.5, joint.nv) if geared else 0.0,
        )
        build.frame(f"frame{k}", on=f"body{k}", at=random_placement(rng))
        names.append(f"body{k}")
    return build.build()


def _random_joint(rng: np.random.Generator, kind: str) -> Joint:
    axis: str | Floats = "xyz"[int(rng.integers(3))] if rng.random() < 0.5 else random_direction(rng)
    match kind:
        case "r":
            return Revolute(axis)
        case "p":
            return Prismatic(axis)
        case "h":
            return Helical(axis, float(rng.uniform(-0.3, 0.3)))
        case "u":
            first = random_direction(rng)
            return Universal(first, np.cross(first, random_direction(rng)))
        case "s":
            return Spherical()
        case "S":
            return Planar()
        case "f":
            return Free()
    raise InputError(f"joint kind '{kind}' is none of r, p, h, u, s, S, f")


@converted
def random_direction(rng: np.random.Generator) -> Floats:
    """A random unit vector.

    Args:
        rng: Generator of random numbers.
    """
    rng = random_generator(rng)
    x = rng.normal(size=3)
    return x / np.linalg.norm(x)


@converted
def random_placement(rng: np.random.Generator) -> Placement:
    """A random offset; half of the time a random rotation, else none or quarter turns.

    Args:
        rng: Generator of random numbers.
    """
    rng = random_generator(rng)
    position = rng.uniform(-0.5, 0.5, 3) * (rng.random(3) < 0.7)
    if rng.random() < 0.5:
        x, y, z, w = rng.normal(size=4)
        return Placement.from_quaternion(x, y, z, w, position=position)
    roll, pitch, yaw = np.pi / 2 * rng.integers(-1, 2, 3)
    return Placement.rpy(roll, pitch, yaw, position)


@converted
def random_inertia(rng: np.random.Generator) -> Inertia:
    """The inertia of random point masses, so that it is physically consistent.

    Args:
        rng: Generator of random numbers.
    """
    rng = random_generator(rng)
    points = rng.uniform(-0.3, 0.3, (6, 3))
    masses = rng.uniform(0.1, 0.5, 6)
    mass = float(masses.sum())
    com = masses @ points / mass
    d = points - com
    rotational = np.einsum(
        "k,kab->ab", masses, np.einsum("kc,kc,ab->kab", d, d, np.eye(3)) - np.einsum("ka,kb->kab", d, d)
    )
    return Inertia(mass, com, rotational)
