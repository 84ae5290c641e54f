# SPDX-License-Identifier: BSD-3-Clause
"""A builder of mechanisms whose errors name the place in the file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from linkwork.errors import ModelError, NotFinite, SingularMassMatrix, UnsupportedFeature
from linkwork.inputs import plural
from linkwork.mechanism import Builder, Mechanism
from linkwork.model.arrays import VectorLike
from linkwork.model.constraints import Constraint, Coupling, JointCoupling, JointLock
from linkwork.model.contacts import ContactPair
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Joint
from linkwork.model.parts import GRAVITY
from linkwork.model.placement import Placement, PlacementLike
from linkwork.model.sensors import Sensor
from linkwork.model.tendons import Tendon
from linkwork.parsing.appearance import LinkShape
from linkwork.parsing.options import Inertias
from linkwork.parsing.xml import Location, located, warn
from linkwork.quantities.leaves import free_massless_leaves, moved_too_freely, without_mass

ROOT_JOINT = "root_joint"


class LocatedBuilder:
    """A builder that knows where in the file each body, joint, frame and constraint comes from."""

    def __init__(self, root: Location, name: str, inertias: Inertias, gravity: VectorLike = GRAVITY) -> None:
        self._root = root
        self._inertias = inertias
        self._builder = Builder(name, gravity)
        self._where: dict[str, Location] = {}
        self._constraints: set[str] = set()

    def link(self, where: Location, name: str, inertia: Inertia, gravity_compensation: float = 0.0) -> None:
        """Add a body."""
        self._where[name] = where
        with located(where):
            self._builder.body(
                name, inertia, check=self._inertias == "check", gravity_compensation=gravity_compensation
            )

    def shapes(self, body: str, shapes: Iterable[LinkShape]) -> None:
        """Add the visual and collision shapes of a body."""
        for shape in shapes:
            options: dict[str, Any] = {"name": shape.name, "surface": shape.surface, "drag": shape.drag}
            self._builder.shape(body, shape.solid, shape.place, shape.color, shape.role, **options)

    def contacts(self, pairs: Iterable[ContactPair]) -> None:
        """Add pairs that may touch; those whose bodies fixed joints make one are left out."""
        self._builder.add_contacts(pairs)

    def joint(
        self,
        where: Location,
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

    def frame(self, where: Location, name: str, on: str, at: Placement) -> None:
        """Add a frame."""
        self._where[name] = where
        with located(where):
            self._builder.frame(name, on, at)

    def constrain(self, where: Location, constraint: Constraint) -> None:
        """Add a constraint."""
        if constraint.name in self._constraints:
            raise where.error(f"two constraints are called '{constraint.name}'")
        self._constraints.add(constraint.name)
        self._where.setdefault(constraint.name, where)
        self._builder.constrain(constraint)

    def actuator(self, where: Location, name: str, joint: str, gear: float | Sequence[float], **options: Any) -> None:
        """Add a motor or a servo on a joint; ``options`` are those of `Builder.actuator`."""
        self._where.setdefault(name, where)
        with located(where):
            self._builder.actuator(name, joint, gear, **options)

    def sensor(self, sensor: Sensor) -> None:
        """Add a sensor; one on something that is not there is not computed."""
        self._builder.sensor(sensor, lenient=True)

    def tendon(self, where: Location, tendon: Tendon) -> None:
        """Add a tendon."""
        self._where.setdefault(tendon.name, where)
        self._builder.tendon(tendon)

    def pose(self, name: str, positions: dict[str, Any]) -> None:
        """Name a configuration."""
        self._builder.pose(name, positions)

    def finish(self, *, massless: bool = False) -> Mechanism:
        """The mechanism; inertias that no distribution of mass has are reported here.

        Leaves without mass may be ``massless``, with a warning.
        """
        try:
            robot = self._builder.build(massless=massless)
        except ModelError as e:
            hint = "; or load with inertias='trust' to accept it" if "moments of inertia" in str(e) else ""
            raise self.where(e.subject).error(f"{e}{hint}", type(e)) from e
        self._refuse_negative_energy(robot)
        leaves = free_massless_leaves(robot)
        if leaves:
            said = f"{without_mass(leaves)}: loaded for its kinematics; dynamics are an error until it has inertias"
            warn(self.where(leaves[0].name), said)
        if self._inertias == "warn":
            self._warn_of_inertias(robot)
            undetermined = moved_too_freely(robot.joints, robot.inertias)
            if undetermined is not None:
                warn(self.where(undetermined[0]), undetermined[1])
        return robot

    def _refuse_negative_energy(self, robot: Mechanism) -> None:
        """An error where bodies have negative moments of inertia that others do not make up for.

        Files of real robots have such bodies; as long as the mass matrix is positive definite, they do no harm.
        """
        least = {body: float(np.linalg.eigvalsh(y.rotational)[0]) for body, y in robot.inertias.items()}
        if min(least.values(), default=0.0) >= 0:
            return
        from linkwork.quantities.scales import check_kinetic_energy  # few files need what it imports

        try:
            check_kinetic_energy(robot)
        except (NotFinite, SingularMassMatrix) as e:
            body = min(least, key=least.__getitem__)
            raise self.where(body).error(
                f"body '{body}' has a negative moment of inertia, {least[body]:.4g} kg m², and {e}"
            ) from None

    def _warn_of_inertias(self, robot: Mechanism) -> None:
        """One warning for all bodies of the file, on the line of the first."""
        errors: dict[str, ModelError] = {}
        for body, inertia in robot.inertias.items():
            try:
                inertia.validate(body)
            except ModelError as e:
                errors[body] = e
        if errors:
            first, *others = errors
            more = f". The same for {plural(len(others), 'other')}: {', '.join(others[:5])}" if others else ""
            more += ", ..." if len(others) > 5 else ""
            advice = "Loaded unchanged; inertias='check' makes this an error, 'trust' silences it"
            warn(self.where(first), f"{errors[first]}{more}. {advice}")

    def where(self, subject: str | None) -> Location:
        """The place in the file that something comes from; the root element if that is not known."""
        return self._where.get(subject or "", self._root)


def unused_name(name: str, taken: Iterable[str | None]) -> str:
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


def refuse_unconstrained_dependents(builder: LocatedBuilder, robot: Mechanism) -> None:
    """Raise `UnsupportedFeature` for a joint that the file calls dependent and that no constraint acts on."""
    parents = {joint.child: joint for joint in robot.joints}

    def ancestors(body: str) -> set[str]:
        bodies = set()
        while body in parents:
            bodies.add(parents[body].name)
            body = parents[body].parent
        return bodies

    constrained: set[str] = set()
    for constraint in robot.constraints:
        constrained.update(constraint.joints)
        if not isinstance(constraint, Coupling):
            paths = [ancestors(robot.frames[place].body) for place in constraint.places]
            constrained |= set().union(*paths) - paths[0].intersection(*paths)
    for joint in robot.joints:
        if joint.independent is False and joint.name not in constrained:
            raise builder.where(joint.name).error(
                f"joint '{joint.name}' is not independent, and no loop or coupling in the file constrains it: what "
                "it depends on, such as a differential, is not in the file. dependent='free' loads it as a free joint, "
                "to be constrained in code",
                UnsupportedFeature,
            )
