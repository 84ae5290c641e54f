# SPDX-License-Identifier: BSD-3-Clause
"""Named configurations of a model: the one it is drawn in, ``qpos0``, and its keyframes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.joints import Free, Spherical
from linkwork.model.poses import QPOS0
from linkwork.model.rotations import quaternion_of
from linkwork.parsing.mjcf.document import MjcfDocument
from linkwork.parsing.mjcf.joints import MjcfJoint
from linkwork.parsing.mjcf.tree import Tree, fresh
from linkwork.parsing.mjcf.vocabulary import not_understood, refuse_unknown
from linkwork.parsing.xml import Node, warn

SHORTEST = 1e-15
"""MuJoCo's reading of a quaternion below this length, as in keyframes of zeros that an editor wrote."""
IDENTITY = (0.0, 0.0, 0.0, 1.0)

SAME_PLACE = 1e-9
"""Placements of mocap bodies whose numbers differ by less are the same."""

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
        refuse_unknown(key)
        name = key.get("name")
        if not name or name == QPOS0:
            name = fresh(name or f"key_{number}", taken)
        elif name in poses:
            raise key.error(f"two keyframes are called '{name}'")
        poses[name] = _read_key(key, joints, drawn)
        if any(key.numbers("qvel", *range(sum(joint.type.nv for joint in joints.values()) + 1)) or ()):
            warn(
                key,
                "a keyframe is a pose without velocities here: qvel is not used",
            )
    return poses


def read_mocap(document: MjcfDocument, poses: Mapping[str, Pose], tree: Tree, moved: set[str]) -> dict[str, Floats]:
    """Placements of mocap bodies by keyframe, where they are elsewhere than drawn: position, quaternion ``x y z w``.

    Args:
        document: The model.
        poses: Result of `read_poses`.
        tree: The bodies.
        moved: Mocap bodies of the mechanism.
    """
    bodies = [body for body in tree.bodies[1:] if body.node.get("mocap") == "true"]
    rows = [k for k, body in enumerate(bodies) if tree.names[body] in moved]
    drawn = np.array([[*body.world.position, *quaternion_of(body.world.rotation)] for body in bodies]).reshape(-1, 7)
    placements: dict[str, Floats] = {}
    names = [name for name in poses if name != QPOS0]
    for name, key in zip(names, document.inside("keyframe"), strict=True):
        placed = drawn.copy()
        for what, columns in (("mpos", [0, 1, 2]), ("mquat", [6, 3, 4, 5])):
            values = key.numbers(what, 0, len(columns) * len(bodies))
            if values:
                placed[:, columns] = np.reshape(values, (-1, len(columns)))
        lengths = np.linalg.norm(placed[:, 3:], axis=1, keepdims=True)
        placed[:, 3:] = np.where(lengths >= SHORTEST, placed[:, 3:] / np.maximum(lengths, SHORTEST), IDENTITY)
        if not np.allclose(placed, drawn, atol=SAME_PLACE, rtol=0.0):
            placements[name] = placed[rows]
    return placements


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
    """The numbers of a keyframe; a joint beyond its end keeps its reference position, as in MuJoCo."""
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
