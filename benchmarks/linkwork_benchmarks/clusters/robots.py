# SPDX-License-Identifier: BSD-3-Clause
"""The systems of **clusters** Fig. 8, each with the tree that it is without rotors, and one leg of MIT's humanoid.

Robots are read from the shared models; a file that is not there raises `FileNotFoundError`. What the paper leaves open:
lengths, masses and ratios of the chains are those of the zoo; end effectors of Table IV are the last links of chains
and legs. Trees without rotors of the robots are the files ``..._approximate.urdf``, which leave out the rotors' masses
too. That of JVRC-1 hangs legs and waist on the world instead of the pelvis; its tree is made of the file with rotors.
Of JVRC-1 the paper gears all 32 joints; the file of its sources gears 25, and leaves the rotors of neck and wrists out.
They are put in here as the others are (``JVRC-1``, beside the paper's numbers); ``JVRC-1, its file`` is the file.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import linkwork as lw
from linkwork import zoo
from linkwork.model.constraints import WORLD
from linkwork_benchmarks.robots import MODELS
from linkwork_benchmarks.scenes import ASSEMBLED

Make = Callable[[], lw.Mechanism]


class Subject(NamedTuple):
    """A system: how to make it, the tree that it is without rotors, and its end effectors."""

    make: Make
    tree: Make
    effectors: tuple[str, ...]
    urdf: Path | None = None
    """The file of the tree, where there is one."""


def read(path: Path, **options: Any) -> lw.Mechanism:
    """A robot of a model file, in silence: some inertias in these files are those of no body."""
    if not path.is_file():
        raise FileNotFoundError(f"no model file {path.name}: set LINKWORK_MODELS to the models")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.errors.ModelWarning)
        return lw.load(path, **options)


def assembled(path: Path) -> lw.Mechanism:
    """A robot of a model file with its loops closed, near the pose in which all joints are at rest."""
    robot = read(path)
    return replace(robot, poses={ASSEMBLED: robot.assemble(robot.neutral())})


def tello() -> lw.Mechanism:
    """Tello with its transmissions."""
    return zoo.tello(read(MODELS / "tello/tello_humanoid.urdf", dependent="free"))


def rebuilt(
    robot: lw.Mechanism, name: str, types: Mapping[str, lw.joints.Joint], armature: Mapping[str, float] | None = None
) -> lw.Mechanism:
    """Some joints of a robot with their bodies, each of the type given; what carries them is the world if left out.

    Constraints stay where all their joints stay as they were.
    """
    build, given = lw.Builder(name, gravity=robot.gravity), armature or {}
    kept = [joint for joint in robot.joints if joint.name in types]
    bodies = {joint.child for joint in kept}
    for joint in kept:
        build.body(joint.child, robot.inertias[joint.child], check=False)
        parent = joint.parent if joint.parent in bodies else WORLD
        build.joint(
            joint.name,
            types[joint.name],
            parent,
            joint.child,
            joint.placement,
            armature=given.get(joint.name, 0.0),
            actuated=joint.actuated,
            independent=joint.independent,
        )
    same = {joint.name for joint in kept if types[joint.name] is joint.type}
    build.constrain(*(c for c in robot.constraints if set(c.joints) <= same))
    return build.build()


GEAR = 6.0
"""The ratio of every gear in the file of JVRC-1."""


def geared_jvrc1() -> lw.Mechanism:
    """JVRC-1 with a gear on every joint, 32 of them: those that its file leaves out are as the others in it."""
    robot = assembled(JVRC1)
    rotor = robot.inertias["waist-yaw-rotor"]
    build = lw.Builder("jvrc1 with 32 gears", gravity=robot.gravity)
    for joint in robot.joints:
        build.body(joint.child, robot.inertias[joint.child], check=False)
        at = (joint.name, joint.type, joint.parent, joint.child, joint.placement)
        build.joint(*at, actuated=joint.actuated, independent=joint.independent)
    build.constrain(*robot.constraints)
    driven = {name for constraint in robot.constraints for name in constraint.joints}
    for joint in robot.joints:
        if joint.name not in driven and joint.type.nv == 1:
            spin, body = f"{joint.name}-rotor", f"{joint.child}-rotor"
            build.body(body, rotor, check=False)
            build.joint(spin, joint.type, joint.parent, body, joint.placement, independent=False)
            build.constrain(lw.constraints.Gear(spin, joint.name, GEAR, name=f"{joint.child}-transmission"))
    made = build.build()
    return replace(made, poses={ASSEMBLED: made.assemble(made.neutral())})


def without_rotors(make: Make) -> lw.Mechanism:
    """A robot without its rotors."""
    robot = make()
    return rebuilt(robot, f"{robot.name}, no rotors", {j.name: j.type for j in robot.joints if "rotor" not in j.name})


def _stripped(make: Make, effectors: tuple[str, ...]) -> Subject:
    return Subject(make, partial(without_rotors, make), effectors)


def _robot(folder: str, name: str, effectors: tuple[str, ...], make: Make | None = None) -> Subject:
    whole, tree = (MODELS / folder / f"{name}{end}.urdf" for end in ("", "_approximate"))
    return Subject(make or partial(assembled, whole), partial(read, tree), effectors, tree)


JVRC1 = MODELS / "jvrc1/jvrc1_humanoid.urdf"
SOLES = ("left-ankle-pitch", "right-ankle-pitch")

SUBJECTS: dict[str, Subject] = {
    "geared chain": _stripped(partial(zoo.geared_chain, 12), ("link11",)),
    "belt chain": _stripped(partial(zoo.belt_chain, 12), ("link11",)),
    "Mini Cheetah": _robot(
        "mini_cheetah", "mini_cheetah", tuple(f"{leg}_knee_link" for leg in ("FR", "FL", "HR", "HL"))
    ),
    "MIT Humanoid": _robot("mit_humanoid", "mit_humanoid", ("right_ankle_link", "left_ankle_link")),
    "Tello": _robot("tello", "tello_humanoid", ("left-foot", "right-foot"), tello),
    "JVRC-1": _stripped(geared_jvrc1, SOLES),
    "JVRC-1, its file": _stripped(partial(assembled, JVRC1), SOLES),
}
"""The systems of the paper, by its names, and the file of the last as it is."""


def parallel_chain(kind: str, depth: int, loop: int) -> lw.Mechanism:
    """Two chains of so many links side by side, tied by one loop: a gear (``explicit``) or a rod (``implicit``)."""
    return assembled(MODELS / "grbda_parallel_chains" / f"{kind}_depth{depth}_loop_size{loop}.urdf")


def bare_stalk(stem: int, branches: int, links: int = 7) -> lw.Mechanism:
    """A stem that floats, with chains at both ends: `zoo.stalk`, its tips free."""
    return zoo.stalk(stem, branches, links).unconstrained()


def geared_stalk(stem: int, branches: int, links: int = 7) -> lw.Mechanism:
    """The same, with a rotor for each hinge."""
    return geared(bare_stalk(stem, branches, links))


def tips(branches: int, links: int = 7) -> tuple[str, ...]:
    """The last links of the chains of a stalk."""
    return tuple(f"{side}{k}_{links - 1}" for side in ("root", "top") for k in range(branches))


def geared(robot: lw.Mechanism, ratio: float = 6.0) -> lw.Mechanism:
    """The tree of a robot, each hinge turned through a gear by a rotor on what carries it."""
    build, q = lw.Builder(f"{robot.name}, geared", gravity=robot.gravity), robot.poses[ASSEMBLED]
    pose = {joint.name: q[robot.q_slice(joint.name)] for joint in robot.joints}
    for joint in robot.joints:
        turns = isinstance(joint.type, lw.joints.Revolute)
        build.body(joint.child, robot.inertias[joint.child])
        build.joint(
            joint.name, joint.type, joint.parent, joint.child, joint.placement, independent=True if turns else None
        )
        if turns:
            rotor = f"{joint.child}_rotor"
            build.body(rotor, lw.Inertia.box(0.05, (0.02, 0.02, 0.03)))
            build.joint(rotor, joint.type, joint.parent, rotor, joint.placement, independent=False)
            build.constrain(lw.constraints.Gear(rotor, joint.name, ratio, name=f"{joint.child}_gear"))
            pose[rotor] = ratio * pose[joint.name]
    return build.pose(ASSEMBLED, pose).build()


# One leg -------------------------------------------------------------------------------------------------


def leg_joints(side: str) -> dict[str, tuple[str, str]]:
    """The joints of a leg of MIT's humanoid, hip to ankle: that of the link, and that of its motor's rotor."""
    return {
        "hip z": (f"base_to_{side}_hipz_link", f"{side}_base_to_hipz_rotor"),
        "hip x": (f"{side}_hipz_to_hipx_link", f"{side}_hipz_to_hipx_rotor"),
        "hip y": (f"{side}_hipx_to_hipy_link", f"{side}_hipx_to_hipy_rotor"),
        "knee": (f"{side}_hipy_to_knee_link", f"{side}_hipy_to_knee_rotor"),
        "ankle": (f"{side}_knee_to_ankle", f"{side}_hipy_to_ankle_rotor"),
    }


class Leg(NamedTuple):
    """A leg on the world, three times."""

    joints: tuple[str, ...]
    """Of its links, hip to ankle."""
    exact: lw.Mechanism
    """With rotors that turn; its independent joints are those of the links."""
    still: lw.Mechanism
    """With rotors that are part of what carries them."""
    reflecting: lw.Mechanism
    """The same, and link joints have the inertia that rotors reflect to them: the sum of ``ratio² I``."""


def leg(side: str = "right") -> Leg:
    """One leg of MIT's humanoid, its hip on the world."""
    robot = read(MODELS / "mit_humanoid/mit_humanoid.urdf")
    pairs = leg_joints(side).values()
    links, rotors = (tuple(pair[k] for pair in pairs) for k in (0, 1))
    moving = {name: robot.joint(name).type for name in (*links, *rotors)}
    fixed = moving | dict.fromkeys(rotors, lw.joints.Fixed())
    exact = rebuilt(robot, f"{side} leg", moving).with_independent(*links)
    reflected = reflected_inertias(exact, links)
    return Leg(
        links,
        exact,
        rebuilt(robot, f"{side} leg, rotors fixed", fixed),
        rebuilt(robot, f"{side} leg, rotors reflected", fixed, reflected),
    )


def reflected_inertias(robot: lw.Mechanism, links: tuple[str, ...]) -> dict[str, float]:
    """Of each link's joint, ``G² I`` of the rotors that turn with it, ``I`` about their axes."""
    at = lw.Minimal(robot)
    G = at.matrix(robot.neutral())
    found = dict.fromkeys(links, 0.0)
    for joint in robot.joints:
        if joint.name not in links and isinstance(joint.type, lw.joints.Revolute):
            inertia = robot.inertias[joint.child].rotational
            spin = float(joint.type.axis @ inertia @ joint.type.axis)
            for name, k in zip(at.names, range(at.ny), strict=True):
                found[name] += float(G[robot.v_index(joint.name), k]) ** 2 * spin
    return found
