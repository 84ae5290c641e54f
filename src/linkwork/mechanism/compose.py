# SPDX-License-Identifier: BSD-3-Clause
"""Mechanisms made of others: scenes (`compose`), and one mechanism on a body of another (`attach`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from linkwork.conversions import converted_but
from linkwork.errors import InputError
from linkwork.mechanism.builder import Builder
from linkwork.mechanism.mechanism import Mechanism
from linkwork.model.checks import check_robot
from linkwork.model.constraints import WORLD
from linkwork.model.medium import Medium
from linkwork.model.model import Model
from linkwork.model.placement import PlacementLike, as_placement


@converted_but("parts")
def compose(
    parts: Mapping[str, Model],
    at: Mapping[str, PlacementLike] | None = None,
    name: str = "scene",
) -> Mechanism:
    """One scene of several mechanisms; their names become ``"key/name"``.

    Args:
        parts: Mechanisms by key.
        at: Placement of the world of a part in the scene, by key (three numbers, or a `Placement`); by default at its
            origin.
        name: Name of the scene.
    """
    if not isinstance(parts, Mapping):
        raise InputError(f"parts is {type(parts).__name__}, needs mechanisms by key: {{'left': robot, 'right': robot}}")
    if not parts:
        raise InputError("compose needs at least one mechanism")
    for part in parts.values():
        check_robot(part)
    places = dict(at or {})
    for key in places:
        if key not in parts:
            raise InputError(f"'at' names '{key}', which is not a part; the parts are: {', '.join(parts)}")
    build = Builder(name, gravity=next(iter(parts.values())).gravity)
    for key, part in parts.items():
        build.add_mechanism(part, prefix=key, at=places.get(key, (0.0, 0.0, 0.0)))
    return replace(build.build(), medium=_common_medium(parts.values()))


def _common_medium(parts: Iterable[Model]) -> Medium:
    """The medium that all parts are in."""
    first, *others = parts
    for other in others:
        if other.medium != first.medium:
            raise InputError(
                f"'{first.name}' is in {first.medium}, '{other.name}' in {other.medium}; with_medium() makes them equal"
            )
    return first.medium


@converted_but("base", "other")
def attach(
    base: Model,
    other: Model,
    to: str,
    at: PlacementLike = (0.0, 0.0, 0.0),
    prefix: str | None = None,
    *,
    by: str = WORLD,
) -> Mechanism:
    """A new mechanism in which one is fixed to a body of another instead of the world.

    ``lw.attach(arm, gripper, to="flange", by="mount")`` puts the gripper's frame ``mount`` where the arm's ``flange``
    is. Loops across are constraints of the whole, by `Mechanism.constrained`:
    ``lw.constraints.Point("forearm", "gripper/lever")``.

    Args:
        base: The mechanism that carries.
        other: The mechanism that is carried.
        to: Body or frame of ``base`` that it is fixed to.
        at: Placement of ``by`` in that frame (three numbers, or a `Placement`).
        prefix: Names of ``other`` become ``prefix/name``; by default the prefix is its own name.
        by: The frame of ``other`` that is put there; by default its world. Where ``other`` floats, a frame on any of
            its bodies: its `Free` joint is gone then.
    """
    for robot in (base, other):
        check_robot(robot)
    frame = base.frame(to)
    here = base.frames[frame.body].placement.inverse() * frame.placement * as_placement(at)
    build = Builder(base.name, gravity=base.gravity)
    build.add_mechanism(base)
    build.add_mechanism(other, prefix=other.name if prefix is None else prefix, to=frame.body, at=here, by=by)
    return replace(build.build(), medium=_common_medium((base, other)))
