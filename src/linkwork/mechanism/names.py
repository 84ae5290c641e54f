# SPDX-License-Identifier: BSD-3-Clause
"""A mechanism under other names, without some of its parts, and with other joints marked as actuated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from linkwork.conversions import text
from linkwork.errors import InputError
from linkwork.inputs import suggest
from linkwork.mechanism.outboard import kept_sensors
from linkwork.model.arrays import Floats
from linkwork.model.constraints import WORLD, CenterOfMass, Constraint, Renaming
from linkwork.model.contacts import changed_shapes
from linkwork.model.forces import ForceElement
from linkwork.model.model import Model
from linkwork.model.parts import Actuator
from linkwork.quantities.leaves import check_leaves, lacks_mass

M = TypeVar("M", bound=Model)


def renamed(robot: M, names: Mapping[str, str] | Callable[[str], str], name: str | None) -> M:
    """The mechanism under other names; see `Mechanism.renamed`."""
    known = _all_names(robot)
    if isinstance(names, Mapping):
        for old in names:
            if old not in known:
                raise InputError(
                    f"'{old}' is no body, joint, frame, constraint, actuator, tendon, sensor or shape of '{robot.name}'"
                )
        before = names
        table = {old: str(before.get(old, old)) for old in known}
    elif not callable(names):
        raise InputError(f"names is {names!r}, needs new names by old ones, or a function from old to new ones")
    else:
        table = {old: text(names(old), f"the new name of '{old}'") for old in known}
    table[WORLD] = WORLD

    def new(old: str) -> str:
        return table.get(old, old)

    for kind, group in _groups(robot).items():
        after = [new(old) for old in group]
        for names_after in after:
            if not names_after or after.count(names_after) > 1:
                raise InputError(
                    f"two {kind} would be called '{names_after}'" if names_after else f"one of the {kind} has no name"
                )
    to = Renaming(new, new, new)
    return replace(
        robot,
        name=robot.name if name is None else name,
        joints=tuple(replace(j, name=new(j.name), parent=new(j.parent), child=new(j.child)) for j in robot.joints),
        inertias={new(body): inertia for body, inertia in robot.inertias.items()},
        frames={
            new(key): replace(f, name=new(f.name), body=new(f.body), mocap=new(f.mocap))
            for key, f in robot.frames.items()
        },
        shapes=tuple(replace(s, body=new(s.body), name=new(s.name), link=new(s.link)) for s in robot.shapes),
        constraints=tuple(
            replace(c.renamed(to), name=new(c.name), gains=c.gains, time_constant=None) for c in robot.constraints
        ),
        actuators=tuple(a.renamed(new) for a in robot.actuators),
        tendons=tuple(t.renamed(new(t.name), new, new) for t in robot.tendons),
        forces=tuple(f.renamed(new(f.name), new, new) for f in robot.forces),
        gravity_compensation={new(body): mass for body, mass in robot.gravity_compensation.items()},
        elimination_order=tuple(new(body) for body in robot.elimination_order),
        contacts=tuple(
            replace(pair, name=new(pair.name))
            for pair in changed_shapes(
                robot.contacts, lambda s: replace(s, name=new(s.name), body=new(s.body), mocap=new(s.mocap))
            )
        ),
        sensors=tuple(sensor.renamed(new) for sensor in robot.sensors),
    )


def _groups(robot: Model) -> dict[str, list[str]]:
    """Names that must differ from each other, by kind."""
    return {
        "joints": list(robot.joint_names),
        "frames": list(robot.frames),
        "constraints": [c.name for c in robot.constraints],
        "actuators": [a.name for a in robot.actuators],
        "tendons": [t.name for t in robot.tendons],
        "force elements": [f.name for f in robot.forces],
        "contacts": [c.name for c in robot.contacts],
        "sensors": [s.name for s in robot.sensors],
    }


def _all_names(robot: Model) -> dict[str, None]:
    """Every name that a robot has."""
    groups = (name for names in _groups(robot).values() for name in names)
    shapes = (s.name for pair in robot.contacts for s in (pair.first, pair.second))
    return dict.fromkeys([*groups, *(s.name for s in robot.shapes if s.name), *shapes])


def without_bodies(robot: M, bodies: Iterable[str]) -> M:
    """The mechanism without some bodies and all that they carry; see `Mechanism.without_bodies`."""
    gone = set()
    for body in bodies:
        if body not in robot.inertias:
            raise InputError(f"'{body}' is no moving body of '{robot.name}', which has {', '.join(robot.body_names)}")
        gone.add(body)
    for joint in robot.joints:  # parents come first
        if joint.parent in gone:
            gone.add(joint.child)
    gone |= _empty_links(robot, gone)
    joints = tuple(j for j in robot.joints if j.child not in gone)
    inertias = {body: inertia for body, inertia in robot.inertias.items() if body not in gone}
    check_leaves(joints, inertias, lacks_mass(robot))
    left = {j.name for j in joints}
    frames = {name: frame for name, frame in robot.frames.items() if frame.body not in gone}
    kept = [np.arange(robot.nq)[robot.q_slice(j.name)] for j in joints]
    in_q = np.concatenate(kept) if kept else np.zeros(0, dtype=int)
    tendons = tuple(t for t in robot.tendons if set(t.sites) <= frames.keys() and left >= set(t.driven))
    pulled = {"", *(t.name for t in tendons)}
    actuators = tuple(
        a for a in robot.actuators if left >= {j for j, _ in a.gears} and a.tendon in pulled and a.body not in gone
    )
    reduced = replace(
        robot,
        joints=joints,
        inertias=inertias,
        frames=frames,
        shapes=tuple(s for s in robot.shapes if s.body not in gone),
        constraints=tuple(c for c in robot.constraints if _stays(c, frames, left, bool(gone))),
        poses={name: q[in_q] for name, q in robot.poses.items()},
        actuators=actuators,
        tendons=tendons,
        forces=tuple(f for f in robot.forces if _acts_on(f, frames, left)),
        activations=kept_activations(robot, actuators),
        commands=kept_commands(robot, actuators),
        gravity_compensation={b: mass for b, mass in robot.gravity_compensation.items() if b not in gone},
        elimination_order=tuple(b for b in robot.elimination_order if b not in gone),
        contacts=tuple(c for c in robot.contacts if not gone & set(c.bodies)),
        sensors=(),
    )
    return replace(reduced, sensors=kept_sensors(robot, reduced))


def _empty_links(robot: Model, gone: set[str]) -> set[str]:
    """Bodies that are nothing but links to those that are gone, such as those between several joints of one body."""
    used = {frame.body for name, frame in robot.frames.items() if name != frame.body}
    used |= {shape.body for shape in robot.shapes}
    carried: dict[str, list[str]] = {}
    for joint in robot.joints:
        carried.setdefault(joint.parent, []).append(joint.child)
    links: set[str] = set()
    for joint in reversed(robot.joints):
        body, inertia = joint.child, robot.inertias[joint.child]
        massless = inertia.mass == 0 and not inertia.rotational.any()
        if massless and body not in used and body in carried and gone | links >= set(carried[body]):
            links.add(body)
    return links


def kept_activations(robot: Model, actuators: Sequence[Actuator]) -> dict[str, Floats]:
    """Activations of poses, of those actuators that are kept."""
    names = {actuator.name for actuator in actuators}
    rows = [k for k, a in enumerate(a for a in robot.actuators for _ in a.states) if a.name in names]
    return {pose: act[rows] for pose, act in robot.activations.items()}


def _acts_on(element: ForceElement, frames: Mapping[str, object], joints: set[str]) -> bool:
    """Whether all that a force element acts on and watches is there."""
    places = {place for place, _ in element.places} - {WORLD}
    return places <= frames.keys() and joints >= {*element.joints, *element.watched}


def kept_commands(robot: Model, actuators: Sequence[Actuator]) -> dict[str, Floats]:
    """Commands of poses, of these actuators; zero of new ones."""
    row = {actuator.name: k for k, actuator in enumerate(robot.actuators)}
    return {
        pose: np.array([u[row[a.name]] if a.name in row else 0.0 for a in actuators])
        for pose, u in robot.commands.items()
    }


def _stays(constraint: Constraint, frames: Mapping[str, object], joints: set[str], changed: bool) -> bool:
    """Whether all that a constraint is on is still there; the center of mass of all bodies is another one then."""
    if isinstance(constraint, CenterOfMass) and constraint.bodies is None:
        return not changed
    return all(place in frames for place in constraint.places) and all(name in joints for name in constraint.joints)


def actuated(robot: M, joints: Iterable[str]) -> M:
    """The mechanism with these joints alone marked as actuated; see `Mechanism.with_actuated`."""
    chosen = set(joints)
    for name in chosen:
        robot.joint(name)
    for actuator in robot.actuators:
        left = [joint for joint, _ in actuator.gears if joint not in chosen]
        if left:
            raise InputError(
                f"actuator '{actuator.name}' drives joint '{left[0]}', which would be passive: name it too, or use "
                f"without_actuators('{actuator.name}') first"
            )
    return replace(robot, joints=tuple(replace(j, actuated=j.name in chosen) for j in robot.joints))


def without_actuators(robot: M, names: Iterable[str]) -> M:
    """The mechanism without some actuators; see `Mechanism.without_actuators`."""
    gone, known = set(names), [a.name for a in robot.actuators]
    for name in gone:
        if name not in known:
            raise InputError(f"robot '{robot.name}' has no actuator '{name}'{suggest(name, known)}")
    kept = tuple(a for a in robot.actuators if gone and a.name not in gone)
    changed = replace(
        robot,
        actuators=kept,
        activations=kept_activations(robot, kept),
        commands=kept_commands(robot, kept),
        sensors=(),
    )
    return replace(changed, sensors=kept_sensors(robot, changed))


def without_frames(robot: M, names: Iterable[str]) -> M:
    """The mechanism without some frames; see `Mechanism.without_frames`."""
    gone = set(names)
    for name in gone:
        robot.frame(name)
        if name in (WORLD, *robot.inertias):
            raise InputError(f"'{name}' is a body; without_bodies() takes bodies away with all that they carry")
        held = [c.name for c in robot.constraints if name in c.places]
        if held:
            raise InputError(f"constraint '{held[0]}' is on frame '{name}': use unconstrained('{held[0]}') first")
        held = [f"tendon '{t.name}' passes" for t in robot.tendons if name in t.sites]
        held += [f"sensor '{s.name}' is on" for s in robot.sensors if name in (s.of, s.reference)]
        if held:
            raise InputError(f"{held[0]} frame '{name}'")
    return replace(robot, frames={name: frame for name, frame in robot.frames.items() if name not in gone})
