# SPDX-License-Identifier: BSD-3-Clause
"""XML of model files: elements with numbers to the last digit, and rotations as roll, pitch and yaw."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from lxml import etree

from linkwork.model.arrays import Floats
from linkwork.model.placement import Placement
from linkwork.model.rotations import axis_rotation

DRAKE = "http://drake.mit.edu"
"""Namespace of Drake's additions to URDF and SDF."""

UNLIMITED = 1.7976931348623157e308
"""Number that is written for no limit, where a limit must be given: the greatest float."""


def drake(tag: str) -> str:
    """The name of an element that Drake has added.

    Args:
        tag: Without its prefix.
    """
    return f"{{{DRAKE}}}{tag}"


def number(x: float) -> str:
    """A number, to the last digit.

    Args:
        x: The number.
    """
    return repr(float(x) + 0.0).removesuffix(".0")


def numbers(values: npt.ArrayLike) -> str:
    """Numbers with spaces between, to the last digit.

    Args:
        values: The numbers.
    """
    return " ".join(number(x) for x in np.ravel(np.asarray(values, dtype=np.float64)))


def add(parent: Any, tag: str, text: str | None = None, /, **attributes: str) -> Any:
    """A new element at the end of another.

    Args:
        parent: The other.
        tag: Its name.
        text: Its text.
        attributes: Its attributes.
    """
    element = etree.SubElement(parent, tag, **attributes)
    element.text = text
    return element


def document(root: Any) -> str:
    """The text of a document.

    Args:
        root: Its root element.
    """
    etree.indent(root, "  ")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{etree.tostring(root, encoding="unicode")}\n'


def writable(name: str) -> bool:
    """Whether XML can hold a name.

    Args:
        name: The name.
    """
    try:
        etree.Element("a", name=name)
        name.encode()
    except (ValueError, UnicodeEncodeError):
        return False
    return bool(name.strip()) and name == name.strip() and not set("\t\r\n") & set(name)


def rpy(rotation: Floats) -> Floats:
    """Roll, pitch and yaw of a rotation ``Rz(yaw) Ry(pitch) Rx(roll)``, ``(3,)``.

    Roll is that of what is left without yaw, so that the three together are exact also where the axes of roll and yaw
    are parallel and each alone is not.

    Args:
        rotation: The matrix, ``(3, 3)``.
    """
    yaw = math.atan2(rotation[1, 0], rotation[0, 0])
    rest = axis_rotation((0.0, 0.0, 1.0), -yaw) @ rotation
    roll, pitch = math.atan2(-rest[1, 2], rest[1, 1]), math.atan2(-rest[2, 0], rest[0, 0])
    return np.array([roll, pitch, yaw])


def pose(place: Placement) -> str:
    """Position, roll, pitch and yaw, as SDF writes them.

    Args:
        place: The placement.
    """
    return f"{numbers(place.position)} {numbers(rpy(place.rotation))}"


def quaternion(place: Placement) -> str:
    """The rotation of a placement as MJCF writes it: ``w x y z``.

    Args:
        place: The placement.
    """
    x, y, z, w = place.quaternion
    return numbers((w, x, y, z))


def is_identity(place: Placement) -> bool:
    """Whether a placement moves and turns nothing.

    Args:
        place: The placement.
    """
    return not place.position.any() and np.array_equal(place.rotation, np.eye(3))


def fresh(name: str, taken: set[str]) -> str:
    """The name or one like it, and from now on taken.

    Args:
        name: The name that is wanted.
        taken: Names in use.
    """
    free, k = name, 0
    while free in taken:
        k += 1
        free = f"{name}_{k}"
    taken.add(free)
    return free
