# SPDX-License-Identifier: BSD-3-Clause
"""Whether actuators and constraints fit the model that they are part of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from linkwork.errors import InputError, ModelError
from linkwork.inputs import plural, shown, suggest
from linkwork.model import lie
from linkwork.model.activations import ACTIVATIONS
from linkwork.model.arrays import Floats, finite_array, numbers
from linkwork.model.constraints import (
    WORLD,
    CenterOfMass,
    Constraint,
    Coupling,
    Drive,
    JointLock,
    TendonCoupling,
    VelocityCoupling,
)
from linkwork.model.contacts import ContactPair, ContactPairs
from linkwork.model.forces import ForceElement
from linkwork.model.joints import Free, Spherical
from linkwork.model.parts import Actuator, Frame, mocap_frames
from linkwork.model.shapes import Ground
from linkwork.model.tendons import Tendon

if TYPE_CHECKING:
    from linkwork.model.model import Model


def check_are_constraints(model: Model, values: Sequence[object]) -> None:
    """Raise `InputError` unless all are constraints."""
    for value in values:
        if not isinstance(value, Constraint):
            pose = "; a configuration at which constraints are to hold is given by name: at=q"
            size = (len(value),) if isinstance(value, list | tuple) else getattr(value, "shape", ())
            hint = pose if size == (model.nq,) else ""
            raise InputError(f"{shown(value)} is not a constraint, such as Weld or Gear{hint}")


def check_actuator(model: Model, actuator: Actuator) -> None:
    """Raise `ModelError` unless it drives joints of the tree, or a tendon, with a gear for each degree of freedom."""

    def fail(message: str) -> ModelError:
        return ModelError(f"actuator '{actuator.name}' {message}", subject=actuator.name)

    for what, needed in (("gear", "a tuple of"), ("gain", "three"), ("bias", "three")):
        value = numbers(getattr(actuator, what), f"actuator '{actuator.name}': {what}")
        if value.ndim != 1 or (needed == "three" and value.size != 3) or not np.isfinite(value).all():
            raise fail(f"has the {what} {getattr(actuator, what)}, needs {needed} finite numbers")
    for what in ("limits", "force_limits", "activation_limits"):
        value = numbers(getattr(actuator, what), f"actuator '{actuator.name}': {what}")
        if value.shape != (2,) or not value[0] <= value[1]:
            raise fail(f"has {what} {getattr(actuator, what)}, needs two numbers, the first not greater")
    if actuator.dynamics not in ("none", *ACTIVATIONS):
        raise fail(f"has dynamics {actuator.dynamics!r}, needs one of none, {', '.join(ACTIVATIONS)}")
    if actuator.dynamics == "muscle" and actuator.muscle is None:
        raise fail("has the dynamics 'muscle' and no Muscle, whose time constants it needs")
    if actuator.has_activation and not 0 < actuator.time_constant < np.inf:
        raise fail(f"has the time constant {actuator.time_constant}, needs a finite number > 0")
    if actuator.tendon:
        names = [tendon.name for tendon in model.tendons]
        if actuator.tendon not in names:
            raise fail(f"pulls tendon '{actuator.tendon}', which does not exist{suggest(actuator.tendon, names)}")
        if actuator.joint or actuator.also or len(actuator.gear) != 1:
            raise fail(f"pulls tendon '{actuator.tendon}': it takes no joint, and one gear")
    if actuator.body:
        if actuator.body not in model.inertias:
            raise fail(
                f"is on body '{actuator.body}', which does not move or exist{suggest(actuator.body, model.inertias)}"
            )
        if actuator.joint or actuator.also or actuator.tendon or any((*actuator.gain[1:], *actuator.bias[1:])):
            raise fail(f"is on body '{actuator.body}': it takes neither joint nor tendon, and has no length")
    for joint, gear in actuator.gears:
        if joint not in model.space.indices:
            near = suggest(joint, model.space.indices)
            raise ModelError(
                f"actuator '{actuator.name}' drives joint '{joint}', which does not move or does not exist{near}",
                subject=actuator.name,
            )
        type = model.joint(joint).type
        if len(gear) != type.nv:
            raise ModelError(
                f"actuator '{actuator.name}' has {plural(len(gear), 'gear')}, joint '{joint}' "
                f"{plural(type.nv, 'degree')} of freedom",
                subject=actuator.name,
            )
        if type.nq != type.nv and (actuator.gain[1] != 0 or actuator.bias[1] != 0):
            raise ModelError(
                f"actuator '{actuator.name}' is a servo of the position of joint '{joint}' ({type.kind_name}), "
                "whose configuration space is not a vector space",
                subject=actuator.name,
            )


def check_tendons(model: Model, tendons: Sequence[Tendon]) -> None:
    """Raise `ModelError` unless names are unique, and the model has the joints and frames of all tendons."""
    taken: set[str] = set()
    for tendon in tendons:

        def fail(message: str, name: str = tendon.name) -> ModelError:
            return ModelError(f"tendon '{name}': {message}", subject=name)

        if not tendon.name or tendon.name in taken:
            raise fail("two tendons are called so; give one another name" if tendon.name else "it needs a name")
        taken.add(tendon.name)
        check_path(model, tendon, fail)


def check_forces(model: Model, forces: Sequence[ForceElement]) -> None:
    """Raise `ModelError` unless names are unique, and the model has the joints and frames of all force elements."""
    taken: set[str] = set()
    for element in forces:
        if not isinstance(element, ForceElement):
            raise InputError(f"{shown(element)} is not a force element")
        if element.name in taken:
            raise ModelError(
                f"two force elements are called '{element.name}'; give one another name", subject=element.name
            )
        taken.add(element.name)
        for place, _ in element.places:
            if place not in model.frames and place != WORLD:
                near = suggest(place, model.frames)
                raise ModelError(f"{element}: robot '{model.name}' has no body or frame '{place}'{near}", subject=place)
        for name in (*element.joints, *element.watched):
            if name not in model.space.indices:
                near = model.space.indices.advice(name)
                raise ModelError(f"{element}: robot '{model.name}' has no joint '{name}'{near}", subject=name)
            if model.joint(name).type.nq != 1:
                raise ModelError(
                    f"{element}: joint '{name}' has several coordinates; force elements take joints with one"
                )


def check_path(model: Model, tendon: Tendon, fail: Callable[[str], ModelError]) -> None:
    """Raise unless the model has the joints and frames of a tendon."""
    for site in tendon.sites:
        if site not in model.frames:
            raise fail(f"robot '{model.name}' has no body or frame '{site}'{suggest(site, model.frames)}")
    transmission = tendon.transmission
    for name in tendon.driven:
        if name not in model.space.indices:
            raise fail(f"robot '{model.name}' has no joint '{name}'{model.space.indices.advice(name)}")
        type = model.joint(name).type
        if transmission is not None:
            if not isinstance(type, Spherical | Free):
                raise fail(f"joint '{name}' is no spherical or free joint; others have gears")
        elif type.nq != 1 or type.nv != 1:
            raise fail(f"joint '{name}' has {type.nv} degrees of freedom; tendons take joints with one")


def _implausible(model: Model, contacts: Sequence[ContactPair]) -> Iterable[ContactPair]:
    """The pairs to check: of arrays of pairs none, if their shapes show that all of them are right."""
    if not isinstance(contacts, ContactPairs):
        return contacts
    names = [shape.name for shape in contacts.shapes]
    bodies = [shape.body for shape in contacts.shapes]
    number = {body: k for k, body in enumerate((WORLD, *model.inertias))}
    distinct = len(set(names)) == len(names) and not any(":" in name for name in names) and not contacts.names
    if not distinct or not all(body in number for body in bodies):
        return contacts
    body = np.array([number[body] for body in bodies])
    flat = np.array([isinstance(shape.solid, Ground) for shape in contacts.shapes])
    wrong = (body[contacts.first] == body[contacts.second]) | flat[contacts.second]
    return contacts if wrong.any() or not contacts.distinct else ()


def check_contacts(model: Model, contacts: Sequence[ContactPair]) -> None:
    """Raise `ModelError` unless names are unique and each pair is of two bodies of the model that can touch."""
    taken: set[str] = set()
    for pair in _implausible(model, contacts):
        if pair.name in taken:
            raise ModelError(f"two contacts are called '{pair.name}'; give one another name", subject=pair.name)
        taken.add(pair.name)
        for body in pair.bodies:
            if body != WORLD and body not in model.inertias:
                near = suggest(body, [WORLD, *model.inertias])
                raise ModelError(
                    f"{pair} is on '{body}', which is not a moving body of robot '{model.name}'{near}",
                    subject=pair.name,
                )
        if pair.first.body == pair.second.body:
            raise ModelError(f"{pair}: both shapes are on body '{pair.first.body}'", subject=pair.name)
        if isinstance(pair.second.solid, Ground):
            raise ModelError(f"{pair}: two planes cannot touch in points", subject=pair.name)


def checked_mocap(poses: Mapping[str, Floats], frames: Mapping[str, Frame]) -> dict[str, Floats]:
    """Placements of mocap bodies by pose, ``(mocap, 7)`` each.

    Args:
        poses: The placements.
        frames: Frames of the mechanism.
    """
    count = len(mocap_frames(frames))
    return {name: finite_array(x, (count, 7), f"mocap bodies of pose '{name}'") for name, x in poses.items()}


def check_constraint(model: Model, constraint: Constraint) -> None:
    """Raise `ModelError` unless the model has all that it constrains, and that can be constrained."""

    def fail(message: str) -> ModelError:
        return ModelError(f"{constraint}: {message}", subject=constraint.name)

    for place in constraint.places:
        if place not in model.frames:
            raise fail(f"robot '{model.name}' has no body or frame '{place}'{suggest(place, model.frames)}")
    for name in constraint.joints:
        if name not in model.space.indices:
            raise fail(f"robot '{model.name}' has no joint '{name}'{model.space.indices.advice(name)}")
    if isinstance(constraint, VelocityCoupling):
        for name, matrix in constraint.matrices.items():
            nv, shape = model.joint(name).type.nv, np.shape(matrix)
            if shape[1] != nv:
                raise fail(f"the matrix of joint '{name}' has shape {shape}, needs ({shape[0]}, {nv})")
    elif isinstance(constraint, Coupling):
        for term in (term for terms, _ in constraint.equations() for term in terms):
            joint = model.joint(term.joint).type
            if joint.group is not lie.VECTOR:
                raise fail(
                    f"joint '{term.joint}' ({joint.kind_name}) has a configuration space that is not a vector "
                    "space; constrain its bodies instead, e.g. with a Weld, or its velocities with a VelocityCoupling"
                )
            bound = constraint.rows if isinstance(constraint, (Drive, JointLock)) else 1
            if joint.nv != bound:
                raise fail(f"joint '{term.joint}' has {plural(joint.nv, 'coordinate')}, the constraint {bound}")
    elif isinstance(constraint, TendonCoupling):
        for tendon in constraint.tendons:
            check_path(model, tendon, fail)
        if not constraint.joints and len({model.frames[place].body for place in constraint.places}) == 1:
            raise fail(
                f"the tendons pass '{model.frames[constraint.places[0]].body}' alone, which does not stretch them"
            )
    elif isinstance(constraint, CenterOfMass):
        for place in constraint.places:
            if place not in model.inertias:
                raise fail(f"'{place}' is a frame, not a body that moves")
        if not sum(model.inertias[name].mass for name in constraint.bodies or model.body_names) > 0:
            raise fail("the bodies have no mass")
    elif len(constraint.places) > 1 and len({model.frames[place].body for place in constraint.places}) == 1:
        body = model.frames[constraint.places[0]].body
        raise fail(f"'{constraint.places[0]}' and '{constraint.places[1]}' are both part of '{body}'")
