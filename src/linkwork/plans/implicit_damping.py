# SPDX-License-Identifier: BSD-3-Clause
"""Which dampers belong to the matrix of a step, and which degrees of freedom have armature of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from linkwork.model.graphs import ancestors
from linkwork.model.model import Model
from linkwork.model.parts import Actuator
from linkwork.plans.bodies import BodyTable
from linkwork.plans.constraints import body_of_dof
from linkwork.plans.tendons import tendon_segments
from linkwork.plans.tree import Tree


class Transmission(NamedTuple):
    """A degree of freedom that an actuator drives."""

    q: int
    v: int
    length: float
    gear: float


class CoupledDamper(NamedTuple):
    """A damper on several degrees of freedom: of a tendon with its actuators, or of an actuator; the other is -1."""

    tendon: int = -1
    actuator: int = -1


@dataclass(frozen=True)
class ImplicitDamping:
    """Which dampers belong to the matrix of a step (`kernels.tree.implicit_damping`)."""

    variable: bool = False
    """Whether gains or biases of actuators are inputs: all may have damping then."""
    bounded: bool = False
    """Whether a diagonal stands for dampers that couple degrees of freedom."""

    def damps(self, actuator: Actuator) -> bool:
        """Whether the force of an actuator depends on its velocity."""
        rubs = actuator.motor is not None and actuator.motor.damps
        return self.variable or rubs or actuator.gain[2] != 0.0 or actuator.bias[2] != 0.0

    def coupled(self, mechanism: Model) -> list[CoupledDamper]:
        """Dampers that couple degrees of freedom."""
        pulled = {actuator.tendon for actuator in mechanism.actuators if actuator.tendon and self.damps(actuator)}
        return [
            CoupledDamper(tendon=t)
            for t, tendon in enumerate(mechanism.tendons)
            if tendon.name in pulled or tendon.damping > 0.0 or tendon.stop[1] > 0.0
        ] + [
            CoupledDamper(actuator=a)
            for a, actuator in enumerate(mechanism.actuators)
            if not actuator.tendon and sum(len(gear) for _, gear in actuator.gears) > 1 and self.damps(actuator)
        ]

    def armature(
        self, mechanism: Model, transmissions: Sequence[Transmission], of_actuator: Sequence[range]
    ) -> set[int]:
        """Degrees of freedom whose armature depends on the damping of actuators."""
        return {
            transmissions[t].v
            for actuator, span in zip(mechanism.actuators, of_actuator, strict=True)
            for t in span
            if self.damps(actuator) and (len(span) == 1 or self.bounded)
        }

    def bound(self, mechanism: Model, tree: Tree, bodies: BodyTable) -> set[int]:
        """Degrees of freedom that damped tendons may move, where a diagonal stands for their damping."""
        tendons = {damper.tendon for damper in self.coupled(mechanism)} - {-1}
        if not self.bounded or not tendons:
            return set()
        return set().union(*(dofs_of_tendon(mechanism, tree, bodies, t) for t in tendons))


def dofs_of_tendon(mechanism: Model, tree: Tree, bodies: BodyTable, tendon: int) -> set[int]:
    """Degrees of freedom that may move the length of a tendon.

    Args:
        mechanism: The mechanism.
        tree: Its arrays.
        bodies: Its bodies.
        tendon: The number of the tendon.
    """
    own, parents = mechanism.tendons[tendon], tree.parent.tolist()
    segments, _ = tendon_segments(mechanism, mechanism.tendons, parents, bodies)
    ends = [(body, s.root) for s in segments if s.tendon == tendon for body in s.bodies]
    if own.has_wraps or own.transmission is not None:
        moved = [mechanism.frames[site].body for site in own.sites]
        moved += [mechanism.joint(name).child for name in own.driven]
        ends += [(bodies.number[body], 0) for body in moved]
    moving = {i for body, root in ends for i in ancestors(parents, body) if i > root}
    return {mechanism.v_index(name) for name in own.joints} | {
        k for k, body in body_of_dof(tree).items() if body in moving
    }


def with_armature(tree: Tree, dofs: Collection[int]) -> Tree:
    """The arrays of a tree in which some degrees of freedom may have armature that is not planned.

    Args:
        tree: The arrays.
        dofs: Degrees of freedom.
    """
    has_armature, body = tree.has_armature.copy(), body_of_dof(tree)
    for k in dofs:
        has_armature[body[k]] = 1
    return tree._replace(has_armature=has_armature)
