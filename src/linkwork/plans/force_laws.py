# SPDX-License-Identifier: BSD-3-Clause
"""The plan of force elements: coordinates as sums of joints, distances and poses, and the tape of all laws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.expressions import ADD, CONST, DIV, INPUT, MUL, NEG, SUB
from linkwork.model.functions import Tape
from linkwork.model.graphs import ancestors
from linkwork.model.model import Model
from linkwork.model.placement import Placement
from linkwork.plans.bodies import BodyTable, size_of
from linkwork.plans.kernel_frames import rounded, rounded_rotation
from linkwork.plans.layout import Shape
from linkwork.plans.tapes import tape_nodes

LAW_SIZES = (
    "ncoordinates",  # coordinates of force elements, and joints that their laws watch
    "nforce_inputs",  # inputs of laws: time, coordinates, rates
    "nforce_bodies",  # bodies, if there are force elements; else zero
    "nforce_support",  # bodies that carry an element
    "ncoordinate_joints",  # joints of coordinates
    "ndistances",  # coordinates that are distances
    "nbushings",  # poses of frames in others, each of which is six coordinates
    "nlaw",  # nodes of laws
)
LAW_INTEGERS: dict[str, Shape] = {
    "force_support": ("nforce_support",),  # bodies that carry an element, root to leaves
    "coordinate_joint": ("ncoordinate_joints",),  # the coordinate that a joint is a part of,
    "coordinate_q": ("ncoordinate_joints",),  # and where it stands in q and in v
    "coordinate_v": ("ncoordinate_joints",),
    "distance_coordinate": ("ndistances",),  # the coordinate of a distance, and the bodies of its ends
    "distance_first_body": ("ndistances",),
    "distance_second_body": ("ndistances",),
    "bushing_coordinate": ("nbushings",),  # the first coordinate of a pose, and the bodies of its frames
    "bushing_first_body": ("nbushings",),
    "bushing_second_body": ("nbushings",),
    "bushing_follows": ("nbushings",),  # 1 where forces are in the axes of the second frame
    "law_op": ("nlaw",),  # operation of a node and its operands; of an input, which it is
    "law_left": ("nlaw",),
    "law_right": ("nlaw",),
    "law_node": ("ncoordinates",),  # the force along a coordinate; -1 where it is affine, and of a watched joint
}
LAW_FLOATS: dict[str, Shape] = {
    "coordinate_constant": ("ncoordinates",),
    "coordinate_factor": ("ncoordinate_joints",),
    "coordinate_law": ("ncoordinates", 3),  # of an affine law: constant, factors of the coordinate and of its rate
    "distance_first": ("ndistances", 3),  # ends on their bodies
    "distance_second": ("ndistances", 3),
    "bushing_first_at": ("nbushings", 3),  # origins and axes of frames on their bodies
    "bushing_second_at": ("nbushings", 3),
    "bushing_first_axes": ("nbushings", 3, 3),
    "bushing_second_axes": ("nbushings", 3, 3),
    "law_value": ("nlaw",),
}


def law_arrays(mechanism: Model, parent: Sequence[int], bodies: BodyTable) -> dict[str, Any]:
    """The arrays of all force elements of a mechanism.

    Args:
        mechanism: The mechanism.
        parent: The parent of each body.
        bodies: Its bodies as kernels number them, and their frames.
    """
    length = size_of(mechanism)
    columns: dict[str, list[Any]] = {name: [] for name in (*LAW_INTEGERS, *LAW_FLOATS)}
    starts, total, carrying = list[int](), 0, set[int]()
    for element in mechanism.forces:
        starts.append(total)
        total += element.coordinates + len(element.watched)

    def add(**values: Any) -> None:
        for name, value in values.items():
            columns[name].append(value)

    def point(place: tuple[str, Placement]) -> tuple[int, Floats, Floats]:
        frame = mechanism.frames[place[0]]
        body = bodies.number[frame.body]
        at = bodies.frames[body].inverse() * frame.placement * place[1]
        return body, rounded(at.position, length), rounded_rotation(at.rotation)

    def joint(coordinate: int, name: str, factor: float) -> None:
        add(coordinate_joint=coordinate, coordinate_factor=factor)
        add(coordinate_q=mechanism.q_index(name), coordinate_v=mechanism.v_index(name))

    for element, first in zip(mechanism.forces, starts, strict=True):
        own, n = element.coordinates, element.coordinates + len(element.watched)
        for k, joints in enumerate(element.sums):
            for name, factor in joints.items():
                joint(first + k, name, factor)
        for k, name in enumerate(element.watched):
            joint(first + own + k, name, 1.0)
        if element.places:
            (a, at, axes), (b, to, others) = (point(place) for place in element.places)
            carrying |= {*ancestors(parent, a), *ancestors(parent, b)}
            if own == 1:
                add(distance_coordinate=first, distance_first_body=a, distance_second_body=b)
                add(distance_first=at, distance_second=to)
            else:
                add(bushing_coordinate=first, bushing_first_body=a, bushing_second_body=b)
                add(bushing_first_at=at, bushing_second_at=to, bushing_follows=int(element.follows))
                add(bushing_first_axes=axes, bushing_second_axes=others)
        affine = _affine_law(element.tape) if n == 1 else None
        if affine is None:
            inputs = [0, *range(1 + first, 1 + first + n), *range(1 + total + first, 1 + total + first + n)]
            nodes, outputs = tape_nodes(element.tape, [(k, k) for k in inputs], len(columns["law_op"]))
            for node in nodes:
                add(law_op=node.op, law_left=node.left, law_right=node.right, law_value=node.value)
            columns["law_node"] += [*outputs, *[-1] * len(element.watched)]
        else:
            add(law_node=-1)
        columns["coordinate_law"] += [affine or (0.0, 0.0, 0.0)] * n
        columns["coordinate_constant"] += [0.0] * n
    columns["force_support"] = sorted(carrying - {0})
    bodies_used = len(bodies.frames) if total else 0
    return {"nforce_inputs": 1 + 2 * total if total else 0, "nforce_bodies": bodies_used, **columns}


def _affine_law(tape: Tape) -> tuple[float, float, float] | None:
    """A law of time, a coordinate and its rate as a constant and factors of the two; None where it is not affine.

    Args:
        tape: The law.
    """
    forms: list[Floats | None] = []
    for k, (op, *nodes) in enumerate(tape.nodes):
        if op == INPUT:
            forms.append(None if k == 0 else np.eye(3)[k])  # time is none
            continue
        if op == CONST:
            forms.append(np.array([float(nodes[0]), 0.0, 0.0]))
            continue
        operands = [forms[node] for node in nodes]
        known = [form for form in operands if form is not None]
        forms.append(_affine(op, *known) if len(known) == len(operands) else None)
    form = forms[tape.outputs[0]]
    if form is None:
        return None
    constant, factor, damping = form.tolist()
    return constant, factor, damping


def _affine(op: str, x: Floats, y: Floats | None = None, *_: Floats) -> Floats | None:
    """The affine form of a node by those of its operands; None where there is none."""
    form: Floats | None = None
    if op == NEG:
        form = -x
    elif y is None:
        return None
    elif op in (ADD, SUB):
        form = x + y if op == ADD else x - y
    elif op == MUL and not x[1:].any():
        form = x[0] * y
    elif op in (MUL, DIV) and not y[1:].any():
        form = x * y[0] if op == MUL else x / y[0]
    return form
