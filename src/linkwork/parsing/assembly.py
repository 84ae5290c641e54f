"""From parts found in a file to a mechanism: every complaint of the builder gets its place in the file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from linkwork.errors import ModelError, UnsupportedFeature
from linkwork.mechanism import Builder, Mechanism
from linkwork.model.arrays import VectorLike
from linkwork.model.constraints import Constraint, Coupling, JointCoupling, JointLock
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Joint
from linkwork.model.parts import GRAVITY
from linkwork.model.placement import Placement, PlacementLike
from linkwork.parsing.appearance import Seen
from linkwork.parsing.options import Inertias
from linkwork.parsing.xml import Node, Where, located, warn

ROOT_JOINT = "root_joint"


class Assembly:
    """A builder that knows where in the file each body, joint, frame and constraint comes from."""

    def __init__(self, root: Node, name: str, inertias: Inertias, gravity: VectorLike = GRAVITY) -> None:
        self._root = root
        self._inertias = inertias
        self._builder = Builder(name, gravity)
        self._where: dict[str, Where] = {}
        self._constraints: set[str] = set()

    def link(self, where: Where, name: str, inertia: Inertia, gravity_compensation: float = 0.0) -> None:
        """Add a body."""
        self._where[name] = where
        with located(where):
            self._builder.body(
                name, inertia, check=self._inertias == "check", gravity_compensation=gravity_compensation
            )

    def look(self, body: str, shapes: Iterable[Seen]) -> None:
        """Say what a body looks like and collides with."""
        for seen in shapes:
            self._builder.shape(body, seen.solid, seen.place, seen.color, seen.role)

    def joint(
        self,
        where: Where,
        name: str,
        type: Joint,
        parent: str,
        child: str,
        at: Placement,
        child_at: PlacementLike = (0.0, 0.0, 0.0),
        **options: Any,
    ) -> None:
        """Add a joint; ``options`` are those of `Builder.joint`."""
        self._where[name] = where
        with located(where):
            self._builder.joint(name, type, parent, child, at, child_at, **options)

    def frame(self, where: Where, name: str, on: str, at: Placement) -> None:
        """Add a frame."""
        self._where[name] = where
        with located(where):
            self._builder.frame(name, on, at)

    def constrain(self, where: Where, constraint: Constraint) -> None:
        """Add a constraint."""
        if constraint.name in self._constraints:
            raise where.error(f"two constraints are called '{constraint.name}'")
        self._constraints.add(constraint.name)
        self._where.setdefault(constraint.name, where)
        self._builder.constrain(constraint)

    def actuator(self, where: Where, name: str, joint: str, gear: float | Sequence[float], **options: Any) -> None:
        """Add a motor or a servo on a joint; ``options`` are those of `Builder.actuator`."""
        self._where.setdefault(name, where)
        with located(where):
            self._builder.actuator(name, joint, gear, **options)

    def pose(self, name: str, positions: dict[str, Any]) -> None:
        """Name a configuration."""
        self._builder.pose(name, positions)

    def finish(self) -> Mechanism:
        """The mechanism; inertias that no distribution of mass has are said here."""
        try:
            robot = self._builder.build()
        except ModelError as e:
            hint = "; or load with inertias='trust' to take the file as it is" if "moments of inertia" in str(e) else ""
            raise self.where(e.subject).error(f"{e}{hint}", type(e)) from e
        if self._inertias == "warn":
            self._warn_of_inertias(robot)
        return robot

    def _warn_of_inertias(self, robot: Mechanism) -> None:
        """One warning for all bodies of the file, on the line of the first."""
        found: dict[str, ModelError] = {}
        for body, inertia in robot.inertias.items():
            try:
                inertia.validate(body)
            except ModelError as e:
                found[body] = e
        if found:
            first, *others = found
            more = f". So it is with {len(others)} others: {', '.join(others[:5])}" if others else ""
            more += ", ..." if len(others) > 5 else ""
            advice = "Loaded as it is; inertias='check' makes this an error, 'trust' silences it"
            warn(self.where(first), f"{found[first]}{more}. {advice}")

    def where(self, subject: str | None) -> Where:
        """Where something comes from; the root element if that is not known."""
        return self._where.get(subject or "", self._root)


def free_name(name: str, taken: Iterable[str | None]) -> str:
    """The name, or with a number after it if it is taken."""
    names, free, k = set(taken), name, 0
    while free in names:
        k += 1
        free = f"{name}_{k}"
    return free


def mimic_constraint(
    follower: str, leader: str, leader_fixed: bool, multiplier: float, offset: float
) -> JointCoupling | JointLock:
    """``follower = multiplier leader + offset``; a leader that does not move is at zero."""
    name = f"{follower}_mimic"
    if leader_fixed or multiplier == 0:
        return JointLock(follower, offset, name=name)
    return JointCoupling({follower: 1.0, leader: -multiplier}, offset, name=name)


def refuse_untied(assembly: Assembly, robot: Mechanism) -> None:
    """A joint that the file calls dependent depends on others by some constraint, or the file does not say all."""
    parents = {joint.child: joint for joint in robot.joints}

    def above(body: str) -> set[str]:
        found = set()
        while body in parents:
            found.add(parents[body].name)
            body = parents[body].parent
        return found

    tied: set[str] = set()
    for constraint in robot.constraints:
        tied.update(constraint.joints)
        if not isinstance(constraint, Coupling):
            paths = [above(robot.frames[place].body) for place in constraint.places]
            tied |= set().union(*paths) - paths[0].intersection(*paths)
    for joint in robot.joints:
        if joint.independent is False and joint.name not in tied:
            raise assembly.where(joint.name).error(
                f"joint '{joint.name}' is not independent, and no loop or coupling in the file ties it: what it "
                "depends on, such as a differential, is not in the file. dependent='free' loads it as a free joint, "
                "to be constrained in code",
                UnsupportedFeature,
            )
