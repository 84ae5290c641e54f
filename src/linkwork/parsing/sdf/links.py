# SPDX-License-Identifier: BSD-3-Clause
"""A ``<link>`` of SDF: what it weighs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.errors import UnsupportedFeature
from linkwork.model.inertia import Inertia
from linkwork.model.solid_inertia import WATER, solid_inertia
from linkwork.parsing.appearance import LinkShape
from linkwork.parsing.sdf.frames import read_pose
from linkwork.parsing.sdf.joints import Version
from linkwork.parsing.xml import Node, located, warn

_IN_LINK = (
    {"pose", "inertial", "gravity", "kinematic", "velocity_decay", "visual", "collision"}
    | {"sensor", "projector", "light", "battery", "audio_source", "audio_sink", "particle_emitter", "plugin"}
    | {"self_collide", "must_be_base_link", "enable_wind", "contact"}
)
"""Elements that are read, and (last) those that do not change the dynamics; ``<contact>`` is a word of Bullet."""


def read_link(link: Node, name: str, version: Version, shapes: Sequence[LinkShape], quiet: bool) -> Inertia:
    """The inertia of a link; ``quiet`` says nothing of an inertia that is left out."""
    link.refuse_other_elements(_IN_LINK)
    _refuse_dynamics_flags(link)
    contact = link.child("contact")
    if contact is not None:
        warn(contact, "Bullet's <contact> is passed over: SDF has friction in the <surface> of a <collision>")
    return _inertia(link, name, version, shapes, quiet)


def _inertia(link: Node, name: str, version: Version, shapes: Sequence[LinkShape], quiet: bool) -> Inertia:
    inertial = link.child("inertial")
    if inertial is None:
        if not quiet:
            warn(link, f"link '{name}' has no <inertial>: by the standard it has 1 kg and 1 kg m² about each axis")
        return Inertia(1.0, rotational=np.eye(3))
    if inertial.is_set("auto"):
        return _automatic(link, inertial, name, shapes)
    inertial.refuse_other_elements({"pose", "mass", "inertia", "density"})
    mass = inertial.value_of("mass", 1.0)
    if mass < 0:
        raise inertial.need("mass").error(f"link '{name}' has mass {mass}; it must be >= 0")
    moments = inertial.child("inertia")
    I = np.eye(3)
    if moments is not None:
        xx, yy, zz = (moments.value_of(tag, 1.0) for tag in ("ixx", "iyy", "izz"))
        xy, xz, yz = (moments.value_of(tag, 0.0) for tag in ("ixy", "ixz", "iyz"))
        I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    pose = inertial.child("pose")
    if pose is not None and pose.get("relative_to"):
        raise pose.error("the pose of an inertia is relative to its link", UnsupportedFeature)
    place = read_pose(inertial, version)
    turned = place.rotation @ I @ place.rotation.T
    return Inertia(mass, place.position, (turned + turned.T) / 2)


def _automatic(link: Node, inertial: Node, name: str, shapes: Sequence[LinkShape]) -> Inertia:
    """The inertia of the shapes for collision, of the density that they or the link say (``auto="true"``)."""
    inertial.refuse_other_elements({"pose", "mass", "inertia", "density", "auto_inertia_params"})
    usual = inertial.value_of("density", WATER)
    nodes = list(link.children("collision"))
    solids = [shape for shape in shapes if shape.role == "collision"]
    if not nodes or len(solids) < len(nodes):
        raise inertial.error(
            f"the inertia of link '{name}' must come from its shapes for collision (auto), of which {len(solids)} of "
            f"{len(nodes)} can be read"
        )
    total = Inertia.zero()
    for node, shape in zip(nodes, solids, strict=True):
        with located(node):
            total = total + solid_inertia(shape.solid, node.value_of("density", usual)).moved(shape.place)
    mass = inertial.child("mass")
    if mass is None or total.mass == 0:
        return total
    factor = mass.values(1)[0] / total.mass
    return Inertia(total.mass * factor, total.com, total.rotational * factor)


def _refuse_dynamics_flags(link: Node) -> None:
    for tag, usual in (("gravity", True), ("kinematic", False)):
        node = link.child(tag)
        if node is not None and node.content and node.flag() is not usual:
            raise node.error(
                f"'{node.content}' changes the dynamics of this link alone, which is not supported; remove it",
                UnsupportedFeature,
            )
    decay = link.child("velocity_decay")
    if decay is not None and any(node.values(1)[0] for node in decay.children("linear", "angular") if node.content):
        raise decay.error("velocity_decay is not supported; use joint damping, or remove it", UnsupportedFeature)
