# SPDX-License-Identifier: BSD-3-Clause
"""Loop joints: the constraint that a joint is when it closes a loop, and the joint that a constraint is in the tree."""

from __future__ import annotations

from typing import Any, NamedTuple

from linkwork.errors import ModelError
from linkwork.model.constraints.pairs import Cardan, Hinge, Pair, PlaneOnPlane, Point, Slider, Weld
from linkwork.model.joints import Fixed, Free, Joint, Planar, Prismatic, Revolute, Spherical, Universal
from linkwork.model.placement import Placement


def closing(name: str, joint: Joint, first: str, second: str, first_at: Placement, second_at: Placement) -> Pair | None:
    """The constraint that a joint is when it closes a loop; None for one that binds nothing."""
    at: dict[str, Any] = {"name": name, "first_at": first_at, "second_at": second_at}
    if isinstance(joint, Free):
        return None
    if isinstance(joint, Revolute):
        return Hinge(first, second, axis=joint.axis, **at)
    if isinstance(joint, Prismatic):
        return Slider(first, second, axis=joint.axis, **at)
    if isinstance(joint, Planar):
        return PlaneOnPlane(first, second, axis=joint.axis, **at)
    if isinstance(joint, Spherical):
        return Point(first, second, **at)
    if isinstance(joint, Fixed):
        return Weld(first, second, **at)
    if isinstance(joint, Universal) and abs(float(joint.first @ joint.second)) < 1e-9:
        return Cardan(first, second, axis=joint.first, second_axis=joint.second, **at)
    raise ModelError(
        f"joint '{name}' ({joint.kind_name}) would have to close a loop, which is not supported: "
        "let another joint of the loop close it",
        subject=name,
    )


class Opened(NamedTuple):
    """A constraint as a joint of the tree: it leads from ``first_at`` on the first place to ``second_at`` on the
    second."""

    type: Joint
    first_at: Placement
    second_at: Placement


def opening(constraint: Pair) -> Opened | None:
    """The joint with the relative motions of a constraint; None where there is none.

    It is the inverse of `closing`. A `Cylindrical` constraint is two joints, others (`Rod`, `PointOnPlane`) are none.
    """
    kinds: dict[type[Pair], Joint] = {
        Weld: Fixed(),
        Hinge: Revolute("z"),
        Slider: Prismatic("z"),
        PlaneOnPlane: Planar("z"),
        Point: Spherical(),
        Cardan: Universal("x", "y"),
    }
    joint = kinds.get(type(constraint))
    return None if joint is None else Opened(joint, *constraint.frames())
