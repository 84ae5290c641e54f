# SPDX-License-Identifier: BSD-3-Clause
"""Connections: the graph of a mechanism's bodies, of which any spanning tree is the same mechanism.

A joint of the tree may close its loop as a constraint, and a constraint that is a joint (`Hinge`, `Point`, `Weld`, ...)
may be in the tree instead. Joints in series with massless bodies between, which models use for a ball or a universal
joint, are one connection. What a constraint cannot carry, such as a motor, armature or a spring, keeps a joint in the
tree (`Rules`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from linkwork.errors import ModelError
from linkwork.inputs import JointProperty
from linkwork.mechanism.topology import GraphJoint
from linkwork.model.constraints import (
    WORLD,
    Cardan,
    CenterOfMass,
    Constraint,
    Cylindrical,
    Pair,
    Point,
    Weld,
    closing,
    opening,
)
from linkwork.model.joints import Free, Joint, Prismatic, Revolute
from linkwork.model.model import Model
from linkwork.model.parts import Limits, TreeJoint
from linkwork.model.placement import Placement

MEETING = 1e-9
"""Meters by which axes of joints in series may miss each other and still meet, and cosines of right angles."""


@dataclass(frozen=True)
class Rules:
    """The exchanges that are allowed.

    Args:
        cuts: Whether passive joints may become constraints, and constraints joints of the tree.
        root: Whether floating bases may be carried by another body, or by a constraint to the world.
        keep: Names of joints and constraints that do not change kind.
        drop: Properties of joints that may be lost where they become constraints.
    """

    cuts: bool = True
    root: bool = False
    keep: frozenset[str] = frozenset()
    drop: frozenset[JointProperty] = frozenset()


@dataclass(frozen=True, eq=False)
class Connection:
    """A connection of two bodies: joints of the tree, or a constraint where it is not in the tree."""

    name: str
    first: str
    second: str
    joints: tuple[str, ...]
    """Keys of its joints in `ConnectionGraph.joints`, from the first body to the second."""
    dof: int
    """Degrees of freedom in the tree."""
    constraint: Pair | None
    """Its constraint out of the tree; None for a free joint, which binds nothing, and parts that stay in the tree."""
    closes: bool
    """Whether it may be out of it."""
    base: str = ""
    """The free joint that it is, on this body or another; empty for others."""

    @property
    def rows(self) -> int:
        """Rows of its constraint."""
        return 0 if self.constraint is None else self.constraint.rows


@dataclass(frozen=True, eq=False)
class ConnectionGraph:
    """The connections of a robot, and the joints that they are made of."""

    robot: Model
    connections: Mapping[str, Connection]
    joints: Mapping[str, GraphJoint]
    """All joints by key, between the frames of bodies that users see."""
    tree: frozenset[str]
    """Connections that are in the robot's tree."""

    @staticmethod
    def of(robot: Model, rules: Rules) -> ConnectionGraph:
        """The graph of a robot.

        Args:
            robot: The mechanism.
            rules: Rules of exchange.
        """
        joints = {joint.name: graph_joint(robot, joint) for joint in robot.joints}
        connections = {c.name: c for c in _joint_connections(robot, joints, rules)}
        tree = frozenset(connections)
        graph = ConnectionGraph(robot, connections, joints, tree)
        for connection, key, joint in [*_opened(graph, rules), *_other_bases(graph, rules)]:
            connections[connection.name] = connection
            joints[key] = joint
        return graph

    def path(self, tree: frozenset[str], first: str, second: str) -> list[Connection]:
        """Connections of a tree from one body to another."""
        around: dict[str, list[tuple[Connection, str]]] = {}
        for name in tree:
            c = self.connections[name]
            around.setdefault(c.first, []).append((c, c.second))
            around.setdefault(c.second, []).append((c, c.first))
        reached: dict[str, tuple[Connection, str] | None] = {first: None}
        front = [first]
        while front and second not in reached:
            body = front.pop()
            for c, other in around.get(body, []):
                if other not in reached:
                    reached[other] = (c, body)
                    front.append(other)
        steps: list[Connection] = []
        step = reached.get(second)
        while step is not None:
            steps.append(step[0])
            step = reached[step[1]]
        return steps[::-1]

    def exchanges(self, tree: frozenset[str]) -> Iterator[tuple[str, str]]:
        """Pairs of a connection that may enter a tree and one that leaves it, but for bases."""
        for name, c in self.connections.items():
            if name not in tree and not c.base:
                for other in self.path(tree, c.first, c.second):
                    if other.closes:
                        yield name, other.name

    def base_moves(self, tree: frozenset[str]) -> Iterator[tuple[str, str]]:
        """Exchanges of floating bases: each with the bodies next to its own."""
        for name, c in self.connections.items():
            if name not in tree and c.base:
                path = self.path(tree, c.first, c.second)
                if len(path) == 2 and path[0].base == c.base:
                    yield name, path[0].name

    def exchanged(self, tree: frozenset[str], entering: str, leaving: str) -> frozenset[str] | None:
        """The tree after an exchange; None where it would be none."""
        if leaving not in tree or entering in tree:
            return None
        c = self.connections[entering]
        loop = {other.name for other in self.path(tree, c.first, c.second)}
        return (tree - {leaving}) | {entering} if leaving in loop else None

    def size(self, tree: frozenset[str]) -> tuple[int, int]:
        """An estimate of a tree's cost: degrees of freedom and rows, then rows times the joints of their loops."""
        total, spread = 0, 0
        for name, c in self.connections.items():
            if name in tree:
                total += c.dof
            elif c.constraint is not None and not c.base:
                total += c.rows
                spread += c.rows * sum(len(other.joints) for other in self.path(tree, c.first, c.second))
        return total, spread

    def new_constraints(self, tree: frozenset[str]) -> list[Pair]:
        """Constraints of a tree that the robot does not have, with the gains of those whose place they take."""
        opened = [self.connections[name] for name in self.connections if name in tree - self.tree]
        replaced = [c.constraint for c in opened if c.constraint is not None]
        loops = [{other.name for other in self.path(self.tree, c.first, c.second)} for c in opened]
        constraints = []
        for name, c in self.connections.items():
            if name in self.tree and name not in tree and c.constraint is not None:
                mine = next((r for r, loop in zip(replaced, loops, strict=False) if name in loop), None)
                source = mine if mine is not None else next(iter(replaced), c.constraint)
                constraints.append(replace(c.constraint, gains=source.gains))
        return constraints

    def kept_constraints(self, tree: frozenset[str]) -> list[Constraint]:
        """Constraints of the robot that are not in a tree."""
        opened = {c.constraint for name in tree - self.tree if (c := self.connections[name]).constraint is not None}
        return [c for c in self.robot.constraints if c not in opened]


def graph_joint(robot: Model, joint: TreeJoint) -> GraphJoint:
    """A joint between the frames that users see."""
    parent = robot.frames[joint.parent].placement.inverse()
    child_at = robot.frames[joint.child].placement.inverse()
    return GraphJoint(replace(joint, placement=parent * joint.placement), child_at)


# Joints of the tree ------------------------------------------------------------------------------------------


PROPERTIES: tuple[JointProperty, ...] = ("limits", "damping", "friction")
"""Properties of joints that may be lost if users say so; others never are."""


def reason_to_stay(robot: Model, joint: TreeJoint, rules: Rules) -> str | None:
    """The property of a joint that a constraint in its place would lose; None where it would lose nothing."""
    limited = np.isfinite(joint.limits.lower).any() or np.isfinite(joint.limits.upper).any()
    coupled = next((c for c in robot.constraints if joint.name in c.joints), None)
    driven = any(joint.name == name for actuator in robot.actuators for name, _ in actuator.gears)
    reasons: list[tuple[object, str]] = [
        (joint.name in rules.keep, "it is to be kept"),
        (joint.actuated or driven, "a motor drives it"),
        (joint.independent, "it is an independent coordinate"),
        (coupled, f"{coupled} is on it"),
        (joint.armature.any(), "it has armature"),
        (joint.stiffness.any(), "it has a spring"),
        (joint.damping.any() and "damping" not in rules.drop, "it has damping"),
        (joint.friction.any() and "friction" not in rules.drop, "it has friction"),
        (limited and "limits" not in rules.drop, "it has limits"),
        (isinstance(joint.type, Free) and not rules.root, "it is the base"),
        (not isinstance(joint.type, Free) and not rules.cuts, "cuts are not to change"),
    ]
    return next((reason for holds, reason in reasons if holds), None)


def _joint_connections(robot: Model, joints: Mapping[str, GraphJoint], rules: Rules) -> Iterator[Connection]:
    taken = {c.name for c in robot.constraints}
    for chain in _chains(robot):
        name = "+".join(chain)
        first, last = joints[chain[0]].joint, joints[chain[-1]].joint
        free = all(reason_to_stay(robot, robot.joint(j), rules) is None for j in chain)
        label = name if name not in taken else f"{name}:loop"
        constraint = _closing([joints[j] for j in chain], label) if free else None
        is_base = isinstance(first.type, Free)
        yield Connection(
            name=name,
            first=first.parent,
            second=last.child,
            joints=chain,
            dof=sum(joints[j].joint.type.nv for j in chain),
            constraint=constraint,
            closes=free and (constraint is not None or is_base),
            base=name if is_base else "",
        )


def _chains(robot: Model) -> Iterator[tuple[str, ...]]:
    """Joints in series whose bodies between have no mass and carry no load else."""
    children: dict[str, list[TreeJoint]] = {}
    for joint in robot.joints:
        children.setdefault(joint.parent, []).append(joint)
    used = {frame.body for name, frame in robot.frames.items() if name != frame.body}
    used |= {shape.body for shape in robot.shapes} | set(robot.gravity_compensation)
    used |= {body for pair in robot.contacts for body in pair.bodies}
    used |= {robot.frames[place].body for c in robot.constraints for place in c.places}
    bare = {
        body
        for body, inertia in robot.inertias.items()
        if inertia.mass == 0 and not inertia.rotational.any() and body not in used and len(children.get(body, [])) == 1
    }
    for joint in robot.joints:
        if joint.parent in bare:
            continue
        chain = [joint]
        while chain[-1].child in bare:
            chain += children[chain[-1].child]
        yield tuple(j.name for j in chain)


def _closing(chain: Sequence[GraphJoint], name: str) -> Pair | None:
    """The constraint that a chain of joints is when it closes a loop, if there is one."""
    first, last = chain[0].joint, chain[-1].joint
    if len(chain) == 1:
        try:
            return closing(name, first.type, first.parent, first.child, first.placement, chain[0].child_at)
        except ModelError:  # a joint of a type that no constraint is
            return None
    here, axes, points = Placement(), [], []
    for added in chain:
        type_ = added.joint.type
        if not isinstance(type_, Revolute | Prismatic):
            return None
        here = here * added.joint.placement
        axes.append(here.rotation @ type_.axis)
        points.append(here.position)
        here = here * added.child_at.inverse()
    turns = [isinstance(added.joint.type, Revolute) for added in chain]
    meeting = np.concatenate([np.eye(3) - np.outer(n, n) for n, turn in zip(axes, turns, strict=True) if turn])
    through = np.concatenate([p - n * (n @ p) for n, p, turn in zip(axes, points, turns, strict=True) if turn])
    point, *_ = np.linalg.lstsq(meeting, through, rcond=None)
    square = all(abs(a @ b) < MEETING for a, b in pairwise(axes))
    if not turns.count(True) or np.abs(meeting @ point - through).max() > MEETING:
        return None
    ends: dict[str, Any] = {
        "name": name,
        "first_at": Placement(point),
        "second_at": Placement(here.inverse().act(point)),
    }
    back = here.rotation.T
    if turns == [True, True, True] and square:
        return Point(first.parent, last.child, **ends)
    if turns == [True, True] and square:
        return Cardan(first.parent, last.child, axis=axes[0], second_axis=back @ axes[1], **ends)
    if len(turns) == 2 and turns.count(True) == 1 and np.linalg.norm(np.cross(axes[0], axes[1])) < MEETING:
        return Cylindrical(first.parent, last.child, axis=axes[0], second_axis=back @ axes[0], **ends)
    return None


# Constraints that may be in the tree -------------------------------------------------------------------------


def _opened(graph: ConnectionGraph, rules: Rules) -> Iterator[tuple[Connection, str, GraphJoint]]:
    robot = graph.robot
    names, balanced = set(graph.connections), any(isinstance(c, CenterOfMass) for c in robot.constraints)
    for constraint in robot.constraints:
        if not isinstance(constraint, Pair) or constraint.name in rules.keep or not constraint.enabled:
            continue
        opened = opening(constraint)
        merges = isinstance(constraint, Weld) and balanced  # a center of mass needs its bodies apart
        if opened is None or merges or np.any(np.asarray(constraint.compliance) != 1.0):
            continue
        (first, at), (second, child_at) = (
            _on_body(robot, constraint.first, opened.first_at),
            _on_body(robot, constraint.second, opened.second_at),
        )
        loop = graph.path(graph.tree, first, second)
        floating = any(c.base for c in loop)
        if not loop or not (rules.root if floating else rules.cuts):
            continue
        name = constraint.name if constraint.name not in names | set(robot.joint_names) else f"{constraint.name}:joint"
        joint = _passive_joint(name, opened.type, first, second, at)
        dof = opened.type.nv
        yield Connection(name, first, second, (name,), dof, constraint, True), name, GraphJoint(joint, child_at)


def _on_body(robot: Model, place: str, at: Placement) -> tuple[str, Placement]:
    """A frame at a place, in the frame of its body that users see."""
    frame = robot.frames[place]
    return frame.body, robot.frames[frame.body].placement.inverse() * frame.placement * at


def _passive_joint(name: str, type: Joint, parent: str, child: str, at: Placement) -> TreeJoint:
    """A joint with neither limits nor losses."""
    none, infinite = np.zeros(type.nv), np.full(type.nv, np.inf)
    limits = Limits(np.full(type.nq, -np.inf), np.full(type.nq, np.inf), infinite, infinite)
    return TreeJoint(name, type, parent, child, at, limits, none, none, none, none, none)


def _other_bases(graph: ConnectionGraph, rules: Rules) -> Iterator[tuple[Connection, str, GraphJoint]]:
    """Each free joint on each of the other bodies that it carries."""
    if not rules.root:
        return
    robot = graph.robot
    carried = {joint.child: joint for joint in robot.joints if isinstance(joint.type, Free) and joint.parent == WORLD}
    for joint in robot.joints:
        base = carried.get(joint.parent)
        if base is None:
            continue
        carried[joint.child] = base
        key = f"{base.name}@{joint.child}"
        moved = GraphJoint(replace(base, child=joint.child), Placement())
        if graph.connections.get(base.name) is not None and graph.connections[base.name].closes:
            yield Connection(key, WORLD, joint.child, (key,), 6, None, True, base.name), key, moved
