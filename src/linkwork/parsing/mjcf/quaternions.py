# SPDX-License-Identifier: BSD-3-Clause
"""Quaternions of elements with the signs that MuJoCo gives them, for sensors of orientation.

A rotation has two quaternions. MuJoCo multiplies those of the file, as they are written, from the root to a body, so
that the sign of ``framequat`` depends on them, though no motion does. Quaternions are ``x y z w`` here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.joints import Free, Revolute
from linkwork.model.rotations import quaternion_of, quaternion_product
from linkwork.parsing.mjcf.document import TIMES
from linkwork.parsing.mjcf.joints import MjcfJoint
from linkwork.parsing.mjcf.settings import Settings
from linkwork.parsing.mjcf.tree import Body, Item, Tree
from linkwork.parsing.xml import Node

IDENTITY = np.array([0.0, 0.0, 0.0, 1.0])


def turn(axis: Floats, angle: float) -> Floats:
    """The quaternion of a turn about a unit axis."""
    return np.append(np.sin(angle / 2) * axis, np.cos(angle / 2))


def as_written(settings: Settings, node: Node) -> Floats:
    """The orientation of an element, with the sign that its attributes have."""
    quaternion = quaternion_of(settings.rotation(node))
    meant = quaternion
    if node.get("quat") is not None:
        w, x, y, z = node.numbers("quat", 4) or (1.0, 0.0, 0.0, 0.0)
        meant = np.array([x, y, z, w])
    elif node.get("axisangle") is not None:
        *axis, angle = node.numbers("axisangle", 4) or (0.0, 0.0, 1.0, 0.0)
        meant = turn(np.array(axis), settings.angle(angle, node))
    elif node.get("euler") is not None:
        meant = IDENTITY
        angles = np.array(node.vector("euler", (0.0, 0.0, 0.0))) * int(node.get(TIMES) or 1)
        for letter, value in zip(settings.euler_axes(node), angles, strict=True):
            one = turn(np.eye(3)["xyz".index(letter.lower())], settings.angle(float(value), node))
            meant = quaternion_product(meant, one) if letter.islower() else quaternion_product(one, meant)
    elif node.get("xyaxes") is not None and quaternion[3] < 0.5:  # its largest number is positive
        meant = quaternion * np.sign(quaternion[np.abs(quaternion).argmax()])
    return -quaternion if float(quaternion @ meant) < 0 else quaternion


class NeutralOrientations:
    """Orientations of bodies where joints are at zero, with MuJoCo's signs.

    Args:
        tree: The bodies.
        joints: Their joints, by name.
        settings: <compiler>.
    """

    def __init__(self, tree: Tree, joints: dict[str, MjcfJoint], settings: Settings) -> None:
        self._settings = settings
        self._of: dict[Body, Floats] = {tree.bodies[0]: IDENTITY}
        frames = {item.node: item.around for body in tree.bodies for item in body.all("body")}
        for body, _ in tree.without_world:
            moved_by = [joints[name] for name in tree.joint_names[body]]
            if any(isinstance(joint.type, Free) for joint in moved_by):
                self._of[body] = IDENTITY
                continue
            parent = self._of[body.parent or tree.bodies[0]]
            orientation = quaternion_product(parent, self._placed(frames[body.node], as_written(settings, body.node)))
            for joint in moved_by:
                if isinstance(joint.type, Revolute):
                    orientation = quaternion_product(orientation, turn(joint.type.axis, -joint.ref))
            self._of[body] = orientation

    def _placed(self, around: Sequence[Node], own: Floats) -> Floats:
        """The orientation of an element in its body, inside of <frame> elements."""
        for frame in reversed(around):
            own = quaternion_product(as_written(self._settings, frame), own)
        return own

    def of_body(self, body: Body) -> Floats:
        """The orientation of a body, in the world.

        Args:
            body: The body.
        """
        return self._of[body]

    def of(self, body: Body, item: Item, along: Floats | None = None) -> Floats:
        """The orientation of an element of a body, in the world.

        Args:
            body: The body.
            item: The element.
            along: Its rotation inside of its <frame>, where ``fromto`` says it and no orientation.
        """
        own = as_written(self._settings, item.node) if along is None else quaternion_of(along)
        return quaternion_product(self._of[body], self._placed(item.around, own))
