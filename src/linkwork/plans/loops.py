# SPDX-License-Identifier: BSD-3-Clause
"""Constraints by name: the joints that support each of them, the root of each loop, and the loops that share joints.

A constraint's *support* is the joints that can move the bodies it constrains: for a pair of frames those on the path
between the two bodies, for others all the way to the world. Its *root* is the common ancestor of these bodies.
Constraints whose supports share a joint are *coupled*, and so are all that are coupled to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from linkwork.model.constraints import Constraint, Coupling, Pair, TendonCoupling
from linkwork.model.graphs import common_ancestor, connected, named_ancestors
from linkwork.model.model import Model


@dataclass(frozen=True)
class Loop:
    """One constraint in the tree, by names."""

    constraint: str
    kind: str
    rows: int
    root: str
    """The body (or the world) where the two sides of the loop meet."""
    support: tuple[str, ...]
    """The joints that move it."""
    group: int
    """Which set of coupled loops it belongs to."""


@dataclass(frozen=True)
class Group:
    """Loops that share joints, directly or through others."""

    constraints: tuple[str, ...]
    joints: tuple[str, ...]
    root: str
    """The body that carries them all."""


@dataclass(frozen=True)
class Loops:
    """All constraints of a mechanism, and which of them are coupled."""

    loops: tuple[Loop, ...]
    groups: tuple[Group, ...]


def loops_of(mechanism: Model) -> Loops:
    """The loops of a mechanism and their groups."""
    parent = {joint.child: joint.parent for joint in mechanism.joints}
    leads_to = {joint.child: joint.name for joint in mechanism.joints}
    child = {name: body for body, name in leads_to.items()}
    supports = [_support(mechanism, c, parent) for c in mechanism.constraints]
    groups = connected([bodies for _, bodies in supports])
    order = {joint.child: k for k, joint in enumerate(mechanism.joints)}
    loops = [
        Loop(
            c.name, type(c).__name__, c.rows, root, tuple(leads_to[b] for b in sorted(bodies, key=order.__getitem__)), g
        )
        for c, (root, bodies), g in zip(mechanism.constraints, supports, groups, strict=True)
    ]
    gathered = []
    for g in range(max(groups, default=-1) + 1):
        members = [loop for loop in loops if loop.group == g]
        joints = sorted({name for loop in members for name in loop.support}, key=lambda name: order[child[name]])
        inside = {child[name] for name in joints}
        roots = {parent[body] for body in inside} - inside
        root = common_ancestor(named_ancestors(parent, body) for body in roots)
        gathered.append(Group(tuple(loop.constraint for loop in members), tuple(joints), root))
    return Loops(tuple(loops), tuple(gathered))


def _support(mechanism: Model, constraint: Constraint, parent: Mapping[str, str]) -> tuple[str, set[str]]:
    """The root of a constraint, and the bodies whose joints support it."""
    coupled = {mechanism.joint(name).child for name in constraint.joints}
    if isinstance(constraint, Coupling) or (coupled and not constraint.places):
        return common_ancestor(named_ancestors(parent, parent[body]) for body in coupled), coupled
    places = constraint.places or mechanism.body_names
    lines = [named_ancestors(parent, mechanism.frames[place].body) for place in places]
    lines += [named_ancestors(parent, parent[body]) for body in coupled]
    root = common_ancestor(lines) if isinstance(constraint, Pair | TendonCoupling) else lines[0][-1]
    return root, ({body for line in lines for body in line} | coupled) - set(named_ancestors(parent, root))
