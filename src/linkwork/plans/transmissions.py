# SPDX-License-Identifier: BSD-3-Clause
"""The plan of obstacles of tendons, and of transmissions that are no path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.model.graphs import ancestors
from linkwork.model.model import Model
from linkwork.model.placement import Placement
from linkwork.model.transmissions import JointWrench, SiteWrench, SliderCrank, Wrap
from linkwork.plans.bodies import BodyTable
from linkwork.plans.layout import Shape

TRANSMISSION_SIZES = (
    "nwraps",  # obstacles of tendons
    "nwrenches",  # wrenches on sites,
    "nturns",  # on ball and free joints
    "ncranks",  # slider-cranks
)
TRANSMISSION_INTEGERS: dict[str, Shape] = {
    "wrap_tendon": ("nwraps",),
    "wrap_first_body": ("nwraps",),  # bodies of the sites before and after, and of the obstacle
    "wrap_second_body": ("nwraps",),
    "wrap_body": ("nwraps",),
    "wrap_is_cylinder": ("nwraps",),
    "wrap_side": ("nwraps",),  # 0: either side, 1: that of a point, 2: inside
    "wrap_side_body": ("nwraps",),
    "wrench_tendon": ("nwrenches",),
    "wrench_body": ("nwrenches",),
    "wrench_reference_body": ("nwrenches",),  # -1 where there is none
    "wrench_root": ("nwrenches",),  # the body that carries both
    "turn_tendon": ("nturns",),
    "turn_body": ("nturns",),
    "turn_in_parent": ("nturns",),
    "crank_tendon": ("ncranks",),
    "crank_body": ("ncranks",),
    "slider_body": ("ncranks",),
}
TRANSMISSION_FLOATS: dict[str, Shape] = {
    "wrap_first": ("nwraps", 3),
    "wrap_second": ("nwraps", 3),
    "wrap_position": ("nwraps", 3),
    "wrap_rotation": ("nwraps", 3, 3),
    "wrap_side_point": ("nwraps", 3),
    "wrap_radius": ("nwraps",),
    "wrap_scale": ("nwraps",),
    "wrench_position": ("nwrenches", 3),
    "wrench_rotation": ("nwrenches", 3, 3),
    "wrench_reference_position": ("nwrenches", 3),
    "wrench_reference_rotation": ("nwrenches", 3, 3),
    "wrench_gear": ("nwrenches", 6),
    "turn_gear": ("nturns", 6),
    "crank_position": ("ncranks", 3),
    "slider_position": ("ncranks", 3),
    "slider_axis": ("ncranks", 3),
    "crank_rod": ("ncranks",),
}


def transmission_arrays(mechanism: Model, parent: Sequence[int], bodies: BodyTable) -> dict[str, Any]:
    """The arrays of all obstacles and transmissions of a mechanism."""

    def place(frame: str) -> tuple[int, Placement]:
        placed = mechanism.frames[frame]
        body = bodies.number[placed.body]
        return body, bodies.frames[body].inverse() * placed.placement

    rows: dict[str, list[Any]] = {name: [] for name in (*TRANSMISSION_INTEGERS, *TRANSMISSION_FLOATS)}

    def add(**values: Any) -> None:
        for name, value in values.items():
            rows[name].append(value)

    for t, tendon in enumerate(mechanism.tendons):
        for branch in tendon.branches:
            for before, wrap, after in branch.wraps:
                add(wrap_tendon=t, wrap_radius=wrap.radius, wrap_scale=1.0 / branch.divisor, **_sides(wrap, place))
                for name, site in (("first", before), ("second", after)):
                    body, at = place(site)
                    add(**{f"wrap_{name}_body": body, f"wrap_{name}": at.position})
                body, at = place(wrap.frame)
                add(wrap_body=body, wrap_position=at.position, wrap_rotation=at.rotation)
                add(wrap_is_cylinder=int(wrap.cylinder))
        other = tendon.transmission
        if isinstance(other, SiteWrench):
            body, at = place(other.on)
            root, to = place(other.reference) if other.reference else (-1, Placement())
            shared = set(ancestors(parent, body)) & set(ancestors(parent, root)) if root >= 0 else {0}
            add(wrench_tendon=t, wrench_body=body, wrench_reference_body=root, wrench_root=max(shared, default=0))
            add(wrench_position=at.position, wrench_rotation=at.rotation, wrench_gear=other.gear)
            add(wrench_reference_position=to.position, wrench_reference_rotation=to.rotation)
        elif isinstance(other, JointWrench):
            body = bodies.number[mechanism.joint(other.on).child]
            add(turn_tendon=t, turn_body=body, turn_in_parent=int(other.in_parent), turn_gear=other.gear)
        elif isinstance(other, SliderCrank):
            (pin, at), (slider, to) = place(other.crank), place(other.slider)
            add(crank_tendon=t, crank_body=pin, slider_body=slider, crank_rod=other.rod)
            add(crank_position=at.position, slider_position=to.position, slider_axis=to.rotation[:, 2])
    return rows


def _sides(wrap: Wrap, place: Any) -> dict[str, Any]:
    if not wrap.side:
        return {"wrap_side": 0, "wrap_side_body": 0, "wrap_side_point": np.zeros(3)}
    body, at = place(wrap.side)
    return {"wrap_side": 2 if wrap.inside else 1, "wrap_side_body": body, "wrap_side_point": at.position}
