# SPDX-License-Identifier: BSD-3-Clause
"""The mechanism of another spanning tree: same bodies, frames, shapes and motors, on other joints and constraints."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.errors import ModelError
from linkwork.mechanism.connections import ConnectionGraph
from linkwork.mechanism.correspondence import Correspondence
from linkwork.mechanism.outboard import sensors_on_tree
from linkwork.mechanism.topology import Graph, Tree, is_reversible
from linkwork.model.arrays import Floats
from linkwork.model.constraints import (
    WORLD,
    Axial,
    Cardan,
    Constraint,
    Cylindrical,
    Hinge,
    Pair,
    PlaneOnPlane,
    Point,
    Rod,
    Slider,
    Weld,
)
from linkwork.model.contacts import changed_shapes
from linkwork.model.placement import Placement
from linkwork.model.spanning import Edge, spanning_tree
from linkwork.quantities.evaluator import Evaluator
from linkwork.quantities.leaves import check_leaves, lacks_mass

if TYPE_CHECKING:
    from linkwork.mechanism.mechanism import Mechanism


@dataclass(frozen=True)
class Choice:
    """A spanning tree of a `ConnectionGraph`, and the constraints whose two places are exchanged."""

    tree: frozenset[str]
    flipped: frozenset[str] = frozenset()


class Rebuilder:
    """Makes mechanisms of choices.

    Args:
        robot: The mechanism that choices are of.
        graph: Its connections.
    """

    def __init__(self, robot: Mechanism, graph: ConnectionGraph) -> None:
        self.robot, self.graph = robot, graph
        seen = {body: robot.frames[body].placement.inverse() for body in robot.inertias}
        self._seen = {WORLD: Placement(), **seen}
        self._bodies = Graph(
            {body: inertia.moved(seen[body]) for body, inertia in robot.inertias.items()},
            graph.joints,
            {
                name: replace(frame, placement=self._seen[frame.body] * frame.placement)
                for name, frame in robot.frames.items()
                if name != WORLD and name not in robot.inertias
            },
        )
        # a joint that was a constraint has no coordinates yet that turning it around would change
        self._opened = {name for name, c in graph.connections.items() if name not in graph.tree and not c.base}
        self._shapes = tuple(replace(s, placement=self._seen[s.body] * s.placement) for s in robot.shapes)
        self._contacts = changed_shapes(
            robot.contacts, lambda s: replace(s, placement=self._seen[s.body] * s.placement)
        )
        self._poses = {name: self._body_poses(q) for name, q in robot.poses.items()}

    def __call__(self, choice: Choice) -> Mechanism | None:
        """The mechanism of a choice; None where there is none: a joint cannot be turned around, a leaf has no inertia,
        or a constraint would be on one body."""
        bound = (*self.graph.kept_constraints(choice.tree), *self.graph.new_constraints(choice.tree))
        constraints = tuple(flipped(c) if c.name in choice.flipped and isinstance(c, Pair) else c for c in bound)
        if choice.tree == self.graph.tree:
            return replace(self.robot, constraints=constraints) if choice.flipped else self.robot
        passed = {key for name in choice.tree for key in self.graph.connections[name].joints}
        joints = [(key, added.joint) for key, added in self._bodies.joints.items() if key in passed]
        edges = [
            Edge(key, j.parent, j.child, (-k,), is_reversible(j.type) or key in self._opened)
            for k, (key, j) in enumerate(joints)
        ]
        spanning = spanning_tree(WORLD, edges)
        if spanning.stuck is not None or spanning.lost or spanning.cut:
            return None
        try:
            mechanism = self._on_tree(Tree.of(self._bodies, spanning), constraints)
        except ModelError:
            return None
        across = Correspondence(self.robot, mechanism)
        poses = {name: across.configuration_at(self.robot.poses[name], at) for name, at in self._poses.items()}
        return replace(mechanism, poses=poses, sensors=sensors_on_tree(self.robot, mechanism))

    def _on_tree(self, tree: Tree, constraints: tuple[Constraint, ...]) -> Mechanism:
        check_leaves(tree.joints, tree.inertias, lacks_mass(self.robot))
        return type(self.robot)(
            self.robot.name,
            tuple(tree.joints),
            tree.inertias,
            {name: frame for name, frame in tree.frames.items() if name in self.robot.frames},
            self.robot.gravity,
            tuple(tree.moved(shape) for shape in self._shapes),
            constraints,
            actuators=self.robot.actuators,
            tendons=self.robot.tendons,
            time=self.robot.time,
            forces=self.robot.forces,
            activations=self.robot.activations,
            commands=self.robot.commands,
            mocap=self.robot.mocap,
            gravity_compensation=tree.merged(
                {name: mass.moved(self._seen[name]) for name, mass in self.robot.gravity_compensation.items()}
            ),
            # what a weld in the tree makes one body does not touch itself
            contacts=tuple(c for c in tree.moved_contacts(self._contacts) if c.first.body != c.second.body),
            base_inertia=self.robot.base_inertia + tree.base_inertia,
            medium=self.robot.medium,
        )

    def _body_poses(self, q: Floats) -> dict[str, Placement]:
        """Where all bodies are."""
        names = self.robot.body_names
        rotation, position = Evaluator(self.robot, "frame_placement", names).plain()(q)
        poses = Placement(position, rotation, check=False)
        return {WORLD: Placement(), **{body: poses[k] for k, body in enumerate(names)}}


SYMMETRIC = (Weld, Hinge, Slider, Cylindrical, Cardan, Point, PlaneOnPlane, Rod)
"""Constraints that allow the same motion with their two places exchanged."""


def can_flip(constraint: Constraint) -> bool:
    """Whether a constraint allows the same with its two places exchanged, and all its rows are as compliant."""
    return isinstance(constraint, SYMMETRIC) and np.ptp(np.asarray(constraint.compliance)) == 0


def flipped(constraint: Pair) -> Pair:
    """A copy of the constraint with its two places exchanged: rows in the axes of the other, forces of opposite
    sign.
    """
    ends: dict[str, Any] = {
        "first": constraint.second,
        "second": constraint.first,
        "first_at": constraint.second_at,
        "second_at": constraint.first_at,
    }
    if isinstance(constraint, Axial | Cardan):
        ends |= {"axis": constraint.second_axis, "second_axis": constraint.axis}
    return replace(constraint, **ends)
