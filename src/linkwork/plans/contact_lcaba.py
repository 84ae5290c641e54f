# SPDX-License-Identifier: BSD-3-Clause
"""LCABA with contacts: couplings of bodies that may touch, limits and dry friction of joints, the scales of rows.

Contacts of two moving bodies couple these as loops do, so that they are in the order of elimination from the start.
A limit or the dry friction of a degree of freedom is a row on this one alone, whose force is in an interval: a *box*.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from linkwork.model.joints import FREE
from linkwork.model.model import Model
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.bodies import size_of
from linkwork.plans.constraints import body_of_dof
from linkwork.plans.contacts import CONTACT_FLOATS, CONTACT_INTEGERS, CONTACT_SIZES, contact_tables
from linkwork.plans.layout import Shape
from linkwork.plans.lcaba import LCABA_TREE, lcaba_tree_of_compliances
from linkwork.plans.thresholds import LEAST_LEVER
from linkwork.plans.tree import Tree, build_tree

SETTINGS, HEAD = 12, 15
"""Numbers at the head of the settings and of the result: see `kernels.contact.problem`."""

CONTACT_LCABA_TREE = LCABA_TREE.extended(
    "contact_lcaba",
    sizes=(*CONTACT_SIZES, "nboxes", "nstart", "npath"),
    integers={
        **CONTACT_INTEGERS,
        "contact_body_first": ("ncontacts",),  # bodies of the two shapes of a pair; 0 is the world
        "contact_body_second": ("ncontacts",),
        "contact_coupling": ("ncontacts",),  # their coupling; -1 where one of them is the world
        "contact_coupling_transposed": ("ncontacts",),  # 1 where it has the second body's rows
        "contact_path_start": ("ncontacts",),  # bodies whose joints move a pair relative to each other, where none is
        "contact_path_count": ("ncontacts",),  # a free joint
        "contact_path": ("npath",),
        "box_v": ("nboxes",),  # degree of freedom of a limit or of dry friction, and its place in q; -1: dry friction
        "box_q": ("nboxes",),
    },
    floats={
        **CONTACT_FLOATS,
        "least_lever": ("ncontacts",),  # joints that move its normal by less do not move a contact
        "box_sign": ("nboxes",),  # 1.0; -1.0 for an upper limit
        "box_value": ("nboxes",),  # the limit
        "box_lower": ("nboxes",),  # between which numbers its force is
        "box_upper": ("nboxes",),
    },
)
"""A mechanism with its constraints, contacts and the order of elimination."""


CONTACT_CONSTANTS: dict[str, Shape] = {"solver_settings": ("nsettings",)}
"""Settings of the solver, as `kernels.contact.problem` has them: of programs in which they are constants."""

KNOWN_CONTACT_TREE = CONTACT_LCABA_TREE.extended("known_contact", (), {}, CONTACT_CONSTANTS)
"""The layout with settings of the solver."""


def contact_lcaba_tree(
    model: Model, frames: Sequence[str] = (), limits: bool | Collection[str] = True, joint_friction: bool = True
) -> Tree:
    """The arrays of a mechanism with its contacts, limits (of all joints, or of those named) and dry friction."""
    _, bodies = build_tree(model)
    contacts = contact_tables(model, bodies)
    of_shape = contacts["shape_body"]
    first = [of_shape[shape] for shape in contacts["contact_first"]]
    second = [of_shape[shape] for shape in contacts["contact_second"]]
    tree = lcaba_tree_of_compliances(model, frames, zip(first, second, strict=True))
    pairs = zip(tree.coupling_first.tolist(), tree.coupling_second.tolist(), strict=True)
    numbers = {pair: number for number, pair in enumerate(pairs)}
    couplings = [_coupling(numbers, a, b) for a, b in zip(first, second, strict=True)]
    paths = [_path(tree, a, b) for a, b in zip(first, second, strict=True)]
    counts = np.array([len(path) for path in paths], dtype=np.int64)
    boxes = box_tables(model, limits, joint_friction)
    has_armature = tree.has_armature.copy()
    joints = body_of_dof(tree)
    for v in boxes["box_v"]:
        has_armature[joints[v]] = 1  # the row adds to the joint's own inertia
    nslots, nboxes = int(contacts["contact_slots"].sum()), len(boxes["box_v"])
    return CONTACT_LCABA_TREE.build(
        tree,
        has_armature=has_armature,
        contact_body_first=first,
        contact_body_second=second,
        contact_coupling=[number for number, _ in couplings],
        contact_coupling_transposed=[transposed for _, transposed in couplings],
        contact_path_start=np.cumsum(counts) - counts,
        contact_path_count=counts,
        contact_path=[body for path in paths for body in path],
        least_lever=np.full(len(paths), LEAST_LEVER * size_of(model)),
        nsettings=SETTINGS + nslots + 2 * nboxes + 2 * model.nc,
        nstart=3 * nslots + nboxes + model.nc,
        nresult=HEAD + model.nv + 7 * nslots + nboxes + model.nc,
        **contacts,
        **boxes,
    )


def _path(tree: Tree, first: int, second: int) -> list[int]:
    """Bodies whose joints move two bodies relative to each other; none, where one of them is free to move."""
    sides: list[set[int]] = []
    for body in (first, second):
        line = set()
        while body:
            line.add(body)
            body = int(tree.parent[body])
        sides.append(line)
    path = sorted(sides[0] ^ sides[1])
    return [] if any(tree.kind[body] == FREE for body in path) else path


def _coupling(numbers: dict[tuple[int, int], int], first: int, second: int) -> tuple[int, bool]:
    """The coupling of two bodies, and whether it has the second one's rows; -1 where one is the world."""
    if first == 0 or second == 0:
        return -1, False
    return (numbers[first, second], False) if (first, second) in numbers else (numbers[second, first], True)


def box_tables(model: Model, limits: bool | Collection[str], joint_friction: bool) -> dict[str, Any]:
    """Limits of joints whose coordinates are plain numbers, of all or of those named, and dry friction of all joints:
    the fields ``box_``."""
    limited = {joint.name for joint in model.joints if limits} if isinstance(limits, bool) else set(limits)
    rows: dict[str, list[Any]] = {
        name: [] for name in ("box_v", "box_q", "box_sign", "box_value", "box_lower", "box_upper")
    }

    def add(*values: float) -> None:
        for column, value in zip(rows.values(), values, strict=True):
            column.append(value)

    lower, upper, friction = model.lower, model.upper, model.friction
    for joint in model.joints:
        in_q, in_v = model.q_slice(joint.name), model.v_slice(joint.name)
        if joint.name in limited and joint.type.nq == joint.type.nv:
            for q, v in zip(range(in_q.start, in_q.stop), range(in_v.start, in_v.stop), strict=True):
                for sign, bound in ((1.0, lower[q]), (-1.0, upper[q])):
                    if np.isfinite(bound):
                        add(v, q, sign, bound, 0.0, UNBOUNDED)
        if joint_friction:
            for v in range(in_v.start, in_v.stop):
                if friction[v] > 0:
                    add(v, -1, 1.0, 0.0, -friction[v], friction[v])
    return rows
