# SPDX-License-Identifier: BSD-3-Clause
"""Mocap bodies: frames of the world whose placements are given from outside, with what is fixed to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from linkwork.mechanism import Mechanism
from linkwork.parsing.mjcf.tree import Body, Tree
from linkwork.parsing.xml import warn


def mocap_names(tree: Tree) -> dict[Body, str]:
    """The names of mocap bodies, for these and for all bodies that are fixed to them.

    One that carries joints stands where it is drawn, with a warning.
    """
    carrying = {body.mocap for body in tree.bodies if not body.is_static}
    for body in tree.bodies:
        if body.mocap is body and body in carrying:
            warn(body.node, "a mocap body that carries joints is not supported as one: it stands where it is drawn")
    return {
        body: tree.names[mocap] for body in tree.bodies if (mocap := body.mocap) is not None and mocap not in carrying
    }


def with_mocap_bodies(robot: Mechanism, tree: Tree, sites: Mapping[str, str], names: Mapping[Body, str]) -> Mechanism:
    """The mechanism with the frames of bodies and sites marked that move with mocap bodies.

    Args:
        robot: The mechanism.
        tree: The bodies of the file.
        sites: Names of the frames of sites.
        names: Result of `mocap_names`.
    """
    moved = {}
    for body, mocap in names.items():
        moved[tree.names[body]] = mocap
        moved |= {sites[name]: mocap for item in body.all("site") if (name := item.node.get("name") or "") in sites}
    if not moved:
        return robot
    frames = {
        name: replace(frame, mocap=moved[name]) if name in moved else frame for name, frame in robot.frames.items()
    }
    return replace(robot, frames=frames)
