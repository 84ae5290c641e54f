# SPDX-License-Identifier: BSD-3-Clause
"""Whether actuators and constraints fit the model that they are part of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from linkwork.errors import ModelError
from linkwork.inputs import suggest
from linkwork.model import lie
from linkwork.model.constraints import WORLD, CenterOfMass, Constraint, Coupling, JointLock, VelocityCoupling
from linkwork.model.contacts import ContactPair
from linkwork.model.parts import Actuator
from linkwork.model.shapes import Ground

if TYPE_CHECKING:
    from linkwork.model.model import Model


def check_actuator(model: Model, actuator: Actuator) -> None:
    """Raise `ModelError` unless it drives joints of the tree, with a gear for each degree of freedom."""
    for joint, gear in actuator.gears:
        if joint not in model.space.indices:
            near = suggest(joint, model.space.indices)
            raise ModelError(
                f"actuator '{actuator.name}' drives joint '{joint}', which does not move{near}", subject=actuator.name
            )
        type = model.joint(joint).type
        if len(gear) != type.nv:
            raise ModelError(
                f"actuator '{actuator.name}' has {len(gear)} gears, joint '{joint}' {type.nv} degrees of freedom",
                subject=actuator.name,
            )
        if type.nq != type.nv and (actuator.gain[1] != 0 or actuator.bias[1] != 0):
            raise ModelError(
                f"actuator '{actuator.name}' is a servo of the position of joint '{joint}' ({type.kind_name}), "
                "whose configuration space is not a vector space",
                subject=actuator.name,
            )


def check_contacts(model: Model, contacts: Sequence[ContactPair]) -> None:
    """Raise `ModelError` unless names are unique and each pair is of two bodies of the model that can touch."""
    taken: set[str] = set()
    for pair in contacts:
        if pair.name in taken:
            raise ModelError(f"two contacts are called '{pair.name}'; give one another name", subject=pair.name)
        taken.add(pair.name)
        for body in pair.bodies:
            if body != WORLD and body not in model.inertias:
                near = suggest(body, [WORLD, *model.inertias])
                raise ModelError(
                    f"{pair} is on '{body}', which is no moving body of robot '{model.name}'{near}", subject=pair.name
                )
        if pair.first.body == pair.second.body:
            raise ModelError(f"{pair}: both shapes are on body '{pair.first.body}'", subject=pair.name)
        if isinstance(pair.second.solid, Ground):
            raise ModelError(f"{pair}: two planes cannot touch in points", subject=pair.name)


def check_constraint(model: Model, constraint: Constraint) -> None:
    """Raise `ModelError` unless the model has all that it constrains, and that can be constrained."""

    def fail(message: str) -> ModelError:
        return ModelError(f"{constraint}: {message}", subject=constraint.name)

    for place in constraint.places:
        if place not in model.frames:
            raise fail(f"robot '{model.name}' has no body or frame '{place}'{suggest(place, model.frames)}")
    for name in constraint.joints:
        if name not in model.space.indices:
            raise fail(f"robot '{model.name}' has no joint '{name}'{suggest(name, model.space.indices)}")
    if isinstance(constraint, VelocityCoupling):
        for name, matrix in constraint.matrices.items():
            nv, given = model.joint(name).type.nv, np.shape(matrix)
            if given[1] != nv:
                raise fail(f"the matrix of joint '{name}' has shape {given}, needs ({given[0]}, {nv})")
    elif isinstance(constraint, Coupling):
        for term in (term for terms, _ in constraint.equations() for term in terms):
            joint = model.joint(term.joint).type
            if joint.group is not lie.VECTOR:
                raise fail(
                    f"joint '{term.joint}' ({joint.kind_name}) has a configuration space that is not a vector "
                    "space; constrain its bodies instead, e.g. with a Weld, or its velocities with a VelocityCoupling"
                )
            bound = constraint.rows if isinstance(constraint, JointLock) else 1
            if joint.nv != bound:
                raise fail(f"joint '{term.joint}' has {joint.nv} coordinates, the constraint {bound}")
    elif isinstance(constraint, CenterOfMass):
        for place in constraint.places:
            if place not in model.inertias:
                raise fail(f"'{place}' is a frame, not a body that moves")
        if not sum(model.inertias[name].mass for name in constraint.bodies or model.body_names) > 0:
            raise fail("the bodies have no mass")
    elif len(constraint.places) > 1 and len({model.frames[place].body for place in constraint.places}) == 1:
        body = model.frames[constraint.places[0]].body
        raise fail(f"'{constraint.places[0]}' and '{constraint.places[1]}' are both part of '{body}'")
