# SPDX-License-Identifier: BSD-3-Clause
"""From a graph of bodies and joints, as users and files give it, to a tree and loop constraints.

A spanning tree is chosen (`model.spanning`), bodies joined by fixed joints are merged (their frames stay), and the
joints that the tree leaves out become constraints.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from linkwork.errors import ModelError, TopologyError, UnsupportedFeature
from linkwork.inputs import suggest
from linkwork.model.constraints import WORLD, Constraint, closing
from linkwork.model.contacts import ContactPair, ContactPairs, ContactShape, changed_shapes, contact_shapes
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Fixed, Helical, Joint, Prismatic, Revolute, Universal
from linkwork.model.parts import Frame, TreeJoint
from linkwork.model.placement import Placement
from linkwork.model.shapes import Shape
from linkwork.model.spanning import Edge, Spanning, spanning_tree


@dataclass(frozen=True, eq=False)
class GraphJoint:
    """A joint between ``joint.placement`` on its parent and ``child_at`` on its child, in the tree or closing a loop.

    Args:
        joint: The joint as it is if the tree contains it.
        child_at: Where it is in the child's frame.
        cut: Whether it is to close a loop; None: the library chooses.
    """

    joint: TreeJoint
    child_at: Placement
    cut: bool | None = None


@dataclass(frozen=True, eq=False)
class Graph:
    """Bodies, joints and frames by name; joints may form loops."""

    inertias: Mapping[str, Inertia]
    joints: Mapping[str, GraphJoint]
    frames: Mapping[str, Frame]

    def check_names(self, shapes: Iterable[Shape], contacts: Iterable[ContactPair] = ()) -> None:
        """Raise `ModelError` unless all bodies that joints, frames, shapes and contacts are on exist."""
        for joint in (added.joint for added in self.joints.values()):
            if joint.parent == joint.child:
                raise TopologyError(f"joint '{joint.name}' leads from '{joint.child}' to itself", subject=joint.name)
            for role, body in (("parent", joint.parent), ("child", joint.child)):
                self._check_body(body, f"joint '{joint.name}' has {role}", joint.name)
        for frame in self.frames.values():
            self._check_body(frame.body, f"frame '{frame.name}' is on", frame.name)
            if frame.name in self.inertias or frame.name == WORLD:
                raise ModelError(f"frame '{frame.name}' has the name of a body", subject=frame.name)
        for shape in shapes:
            self._check_body(shape.body, "a shape is on", shape.body)
        for touching in contact_shapes(contacts):
            self._check_body(touching.body, f"contact shape '{touching.name}' is on", touching.name)

    def _check_body(self, body: str, what: str, subject: str) -> None:
        if body not in self.inertias and body != WORLD:
            near = suggest(body, {**self.inertias, WORLD: None})
            raise TopologyError(f"{what} '{body}', which is not a body{near}", subject=subject)

    def spanning(self) -> Spanning:
        """A spanning tree from the world, in depth-first order, and the joints that close loops."""
        edges = [
            Edge(
                name, added.joint.parent, added.joint.child, (*_preference(added), -k), is_reversible(added.joint.type)
            )
            for k, (name, added) in enumerate(self.joints.items())
        ]
        spanning = spanning_tree(WORLD, edges)
        if spanning.stuck is not None:
            joint = self.joints[spanning.stuck].joint
            raise TopologyError(
                f"joint '{joint.name}' ({joint.type.kind_name}) would have to carry its parent '{joint.parent}' "
                f"from its child '{joint.child}', which no other joint leads to from the world: swap parent and child",
                subject=joint.name,
            )
        self._check_reached(spanning)
        return spanning

    def _check_reached(self, spanning: Spanning) -> None:
        """Raise `TopologyError` unless the tree has all bodies."""
        passed = [self.joints[name].joint for name, _ in spanning.order]
        reached = {WORLD} | {body for joint in passed for body in (joint.parent, joint.child)}
        led_to = {added.joint.child for added in self.joints.values()}
        for body in self.inertias:
            if body not in reached and body not in led_to:
                raise TopologyError(
                    f"no joint leads to body '{body}': add one from the world, "
                    f"e.g. joint('{body}_base', Free(), 'world', '{body}')",
                    subject=body,
                )
        if spanning.lost:
            lost = spanning.lost[0]
            raise TopologyError(f"joint '{lost}' is part of a cycle that does not reach the world", subject=lost)

    def loop_constraints(self, spanning: Spanning, frames: Mapping[str, Frame]) -> list[Constraint]:
        """The constraints that stand for the joints that close loops.

        Args:
            spanning: The spanning tree.
            frames: Frames of all bodies after fixed joints were merged.
        """
        constraints: list[Constraint] = []
        for name in spanning.cut:
            joint, child_at = self.joints[name].joint, self.joints[name].child_at
            if joint.armature.any():
                raise UnsupportedFeature(
                    f"joint '{name}' closes a loop and has armature, which only joints of the tree can have: "
                    "cut another joint of the loop",
                    subject=name,
                )
            first, second = frames[joint.parent], frames[joint.child]
            if first.body == second.body:
                ends = first.placement * joint.placement, second.placement * child_at
                if isinstance(joint.type, Fixed) and _same(*ends):
                    continue
                raise TopologyError(
                    f"joint '{name}' connects '{joint.parent}' and '{joint.child}', which are fixed to each other",
                    subject=name,
                )
            constraint = closing(name, joint.type, joint.parent, joint.child, joint.placement, child_at)
            if constraint is not None:
                constraints.append(constraint)
        return constraints


@dataclass(frozen=True, eq=False)
class Tree:
    """The moving bodies of a graph after bodies joined by fixed joints were merged."""

    joints: Sequence[TreeJoint]
    """Joints in depth-first order."""
    inertias: Mapping[str, Inertia]
    """Inertias of the moving bodies, in the frames of their joints."""
    frames: Mapping[str, Frame]
    """All frames, each on a moving body or on the world."""
    home: Mapping[str, tuple[str, Placement]]
    """For every body of the graph: the moving body that it is part of, and where its frame is there."""
    base_inertia: Inertia
    """Of bodies fixed to the world."""

    @staticmethod
    def of(graph: Graph, spanning: Spanning) -> Tree:
        """The tree of a graph; a moving body has the frame of its joint, in which its own frame may be anywhere.

        Args:
            graph: Bodies, joints and frames.
            spanning: The spanning tree.
        """
        home: dict[str, tuple[str, Placement]] = {WORLD: (WORLD, Placement())}
        joints: list[TreeJoint] = []
        inertias: dict[str, Inertia] = {}
        base = Inertia.zero()
        frames = {WORLD: Frame(WORLD, WORLD, Placement())}
        for name, reversed_ in spanning.order:
            joint, child_at = graph.joints[name].joint, graph.joints[name].child_at
            if reversed_:
                joint, child_at = _reversed(joint, child_at), joint.placement
            inertia = graph.inertias[joint.child]
            body, place = home[joint.parent]
            here, seen = place * joint.placement, child_at.inverse()
            if isinstance(joint.type, Fixed):
                here = here * seen
                home[joint.child] = (body, here)
                if body == WORLD:
                    base = base + inertia.moved(here)
                else:
                    inertias[body] = inertias[body] + inertia.moved(here)
                frames[joint.child] = Frame(joint.child, body, here)
                if name not in graph.inertias and name not in graph.frames and name != WORLD:
                    frames[name] = Frame(name, body, here)
            else:
                joints.append(replace(joint, parent=body, placement=here))
                home[joint.child] = (joint.child, seen)
                inertias[joint.child] = inertia.moved(seen)
                frames[joint.child] = Frame(joint.child, joint.child, seen)
        for frame in graph.frames.values():
            body, place = home[frame.body]
            frames[frame.name] = replace(frame, body=body, placement=place * frame.placement)
        return Tree(joints, inertias, frames, home, base)

    def moved(self, shape: Shape) -> Shape:
        """A shape on the moving body that its own body is part of.

        Args:
            shape: On a body of the graph.
        """
        body, place = self.home[shape.body]
        link = shape.link or (shape.body if shape.body != body else "")
        return replace(shape, body=body, placement=place * shape.placement, link=link)

    def merged(self, masses: Mapping[str, Inertia]) -> dict[str, Inertia]:
        """Masses on bodies, such as those whose weight is compensated, as masses on the moving bodies.

        Args:
            masses: By body of the graph, in its frame.
        """
        inertias: dict[str, Inertia] = {}
        for name, mass in masses.items():
            body, place = self.home[name]
            if body != WORLD:
                inertias[body] = inertias.get(body, Inertia.zero()) + mass.moved(place)
        return {body: Inertia(total.mass, total.com) for body, total in inertias.items() if total.mass != 0}

    def check_inertias(self, trusted: Collection[str]) -> None:
        """Refuse inertias of moving bodies that no distribution of mass has; bodies fixed to a body count with it."""
        moving = {self.home[name][0] for name in trusted}
        for body, inertia in self.inertias.items():
            if body not in moving:
                inertia.validate(body)

    def moved_contacts(self, contacts: Iterable[ContactPair]) -> Sequence[ContactPair]:
        """Pairs whose shapes are on the moving bodies that their own bodies are part of; what fixed joints make one
        body does not touch itself.

        Args:
            contacts: On bodies of the graph.
        """

        def moved(shape: ContactShape) -> ContactShape:
            body, place = self.home[shape.body]
            return replace(shape, body=body, placement=place * shape.placement)

        pairs = changed_shapes(contacts, moved)
        if isinstance(pairs, ContactPairs):
            body = np.unique([shape.body for shape in pairs.shapes], return_inverse=True)[1]
            apart = body[pairs.first] != body[pairs.second]
            return pairs if apart.all() else pairs.only(apart)
        return tuple(pair for pair in pairs if pair.first.body != pair.second.body)


def _preference(added: GraphJoint) -> tuple[int, ...]:
    """The preference to keep a joint in the tree where a loop is cut, the most important criterion first."""
    joint = added.joint
    return (
        added.cut is not True,
        isinstance(joint.type, Fixed),
        isinstance(joint.type, Helical) or bool(joint.armature.any()),
        joint.actuated is True,
        bool(joint.stiffness.any()),
        joint.actuated is not False,
        -joint.type.nv,
    )


def is_reversible(type: Joint) -> bool:
    """Whether the joint from child to parent is of the same type, with the same coordinates."""
    return isinstance(type, Revolute | Prismatic | Helical | Fixed)


def _reversed(joint: TreeJoint, child_at: Placement) -> TreeJoint:
    """The joint that leads from its child to its parent; one that is reversible has the same coordinate."""
    type = joint.type
    if isinstance(type, Helical):
        type = Helical(-type.axis, type.pitch)
    elif isinstance(type, Revolute):
        type = Revolute(-type.axis)
    elif isinstance(type, Prismatic):
        type = Prismatic(-type.axis)
    elif isinstance(type, Universal):
        type = Universal(type.second, type.first)
    return replace(joint, type=type, parent=joint.child, child=joint.parent, placement=child_at)


def _same(a: Placement, b: Placement) -> bool:
    """Whether two placements agree to round-off of a file."""
    return bool(np.abs(a.position - b.position).max() < 1e-6 and np.abs(a.rotation - b.rotation).max() < 1e-6)
