# SPDX-License-Identifier: BSD-3-Clause
"""Named configurations of a model: the one it is drawn in, ``qpos0``, and its keyframes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.joints import Free, Spherical
from linkwork.parsing.mjcf.document import MjcfDocument
from linkwork.parsing.mjcf.joints import MjcfJoint
from linkwork.parsing.mjcf.tree import Tree, fresh
from linkwork.parsing.mjcf.vocabulary import not_understood
from linkwork.parsing.xml import Node, warn

QPOS0 = "qpos0"

SHORTEST = 1e-15
IDENTITY = (0.0, 0.0, 0.0, 1.0)
"""What MuJoCo takes a quaternion below this length for, as in keyframes of zeros that an editor wrote."""

SAME_PLACE = 1e-9
"""Places of mocap bodies that differ by less, in meters, are the same."""

Pose = dict[str, Floats]


def read_poses(document: MjcfDocument, tree: Tree, joints: Mapping[str, MjcfJoint]) -> dict[str, Pose]:
    """Poses by name: coordinates by joint."""
    drawn = {name: joints[name].drawn(body) for body, names in tree.joint_names.items() for name in names}
    poses = {QPOS0: drawn}
    keys = list(document.inside("keyframe"))
    taken = {QPOS0, *(key.get("name") for key in keys if key.get("name") != QPOS0)}
    for number, key in enumerate(keys):
        if key.tag != "key":
            raise not_understood(key, "keyframe")
        name = key.get("name")
        if not name or name == QPOS0:
            name = fresh(name or f"key_{number}", taken)
        elif name in poses:
            raise key.error(f"two keyframes are called '{name}'")
        poses[name] = _read_key(key, joints, drawn)
        _warn_of_the_rest(key, tree, sum(joint.type.nv for joint in joints.values()))
    return poses


def _warn_of_the_rest(key: Node, tree: Tree, nv: int) -> None:
    """Say what a keyframe has besides positions, activations and commands: velocities, and moved mocap bodies."""
    mocap = [body for body in tree.bodies[1:] if body.node.get("mocap") == "true"]
    moved = np.array(key.numbers("mpos", *range(3 * len(mocap) + 1)) or ())
    places = np.concatenate([body.world.position for body in mocap] or [np.zeros(0)])[: moved.size]
    skipped = ["velocities (qvel)"] if any(key.numbers("qvel", *range(nv + 1)) or ()) else []
    if not np.allclose(moved, places, atol=SAME_PLACE):
        skipped.append("places of mocap bodies (mpos), which stand where they are drawn")
    if skipped:
        warn(key, f"a keyframe is a pose with activations and commands here; not used: {', '.join(skipped)}")


def read_activations(document: MjcfDocument, poses: Mapping[str, Pose], na: int) -> dict[str, Floats]:
    """Activations of actuators by keyframe, where some are written; those beyond its end are zero."""
    activations: dict[str, Floats] = {}
    names = [name for name in poses if name != QPOS0]
    for name, key in zip(names, document.inside("keyframe"), strict=True):
        numbers = key.numbers("act", *range(na + 1))
        if numbers:
            activations[name] = np.array([*numbers, *[0.0] * (na - len(numbers))])
    return activations


def read_commands(document: MjcfDocument, poses: Mapping[str, Pose], count: int) -> dict[str, Floats]:
    """Commands of actuators by keyframe, where some are written; those beyond its end are zero."""
    commands: dict[str, Floats] = {}
    names = [name for name in poses if name != QPOS0]
    for name, key in zip(names, document.inside("keyframe"), strict=True):
        numbers = key.numbers("ctrl", *range(count + 1))
        if numbers:
            commands[name] = np.array([*numbers, *[0.0] * (count - len(numbers))])
    return commands


def _read_key(key: Node, joints: Mapping[str, MjcfJoint], drawn: Pose) -> Pose:
    """The numbers of a keyframe; a joint beyond its end stays as it is drawn, as in MuJoCo."""
    total = sum(q.size for q in drawn.values())
    values = np.array(key.numbers("qpos", *range(total + 1)) or (), dtype=np.float64)
    pose: Pose = {}
    at = 0
    for name, start in drawn.items():
        q = values[at : at + start.size]
        at += start.size
        if q.size < start.size:
            pose[name] = start
        elif isinstance(joints[name].type, Free | Spherical):
            turn = q[-4:][[1, 2, 3, 0]]
            length = np.linalg.norm(turn)
            pose[name] = np.concatenate([q[:-4], turn / length if length >= SHORTEST else IDENTITY])
        else:
            pose[name] = q
    return pose
