# SPDX-License-Identifier: BSD-3-Clause
"""Loops in a ``loop_closures.yaml`` beside a URDF file, as exporters of CAD assemblies write it.

```yaml
closures:                                   hinges that were cut (sw2robot, scikit-robot): their point and axis in the
- {link_a: a, link_b: b,                    frame of the root link, all joints at zero
   point: [x, y, z], axis: [x, y, z]}
independent: [joint, ...]                   joints that are driven, and
dependent: [joint, ...]                     those that the loops determine; their mimics are linear approximations

pin_loops:                                  hinges, and
- {name: n, parent: a, child: b,            ball joints (RoboNex): their points in the frames of both links, the axis
   parent_xyz: [x, y, z],                   in that of the parent
   child_xyz: [x, y, z], axis: [x, y, z]}
ball_loops:                                 the same without an axis
- {name: n, parent: a, child: b, parent_xyz: [x, y, z], child_xyz: [x, y, z]}
ball_upgrades: [joint, ...]                 joints that are really ball joints
actuated_joints: [joint, ...]               joints that motors drive
```

It is read without trust, as a ``robot.yaml`` is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.errors import TopologyError
from linkwork.inputs import suggest
from linkwork.model.constraints import Hinge, Point
from linkwork.model.placement import Placement
from linkwork.parsing.located_builder import LocatedBuilder
from linkwork.parsing.xml import LineLocation

NAME = "loop_closures.yaml"
KEYS = (
    *("closures", "independent", "dependent"),
    *("pin_loops", "ball_loops", "ball_upgrades", "ball_limit_deg", "actuated_joints"),
)
FIELDS = {
    "closures": ("link_a", "link_b", "point", "axis"),
    "pin_loops": ("name", "parent", "child", "parent_xyz", "child_xyz", "axis"),
    "ball_loops": ("name", "parent", "child", "parent_xyz", "child_xyz"),
}
"""Keys of each loop, by the list that it is in."""

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Closure:
    """A joint that closes a loop: a hinge, or without an axis a ball joint.

    Args:
        name: Its name.
        links: The two links.
        points: Where it is in the frame of each; one alone is in that of the root.
        axis: Its axis in the frame of the first, or of the root.
        where: Its line.
    """

    name: str
    links: tuple[str, str]
    points: tuple[Vector, ...]
    axis: Vector | None
    where: LineLocation


def closure(kind: str, given: Mapping[str, Any], where: LineLocation) -> Closure:
    """A loop of one of the lists.

    Args:
        kind: The list.
        given: Its names and vectors by the words of the file.
        where: Its line.
    """
    if kind == "closures":
        ends = (given["link_a"], given["link_b"])
        return Closure(":".join(ends), ends, (given["point"],), given["axis"], where)
    ends = (given["parent"], given["child"])
    return Closure(given["name"], ends, (given["parent_xyz"], given["child_xyz"]), given.get("axis"), where)


def add_closure(
    builder: LocatedBuilder, loop: Closure, links: Mapping[str, Any], zero: Mapping[str, Placement]
) -> None:
    """Add the constraint of a loop.

    Args:
        builder: Where to add it.
        loop: The loop.
        links: The links of the robot.
        zero: Where they are when all joints are at zero.
    """
    for link in loop.links:
        if link not in links:
            raise loop.where.error(f"'{link}' is no link of the URDF{suggest(link, links)}", TopologyError)
    first, second = (zero[link] for link in loop.links)
    origin = first
    if len(loop.points) == 1:
        origin = zero[next(iter(zero))]
        there = origin.act(np.array(loop.points[0]))
        points: Any = tuple(place.inverse().act(there) for place in (first, second))
    else:
        points = loop.points
    if loop.axis is None:
        builder.constrain(loop.where, Point(*loop.links, first_at=points[0], second_at=points[1], name=loop.name))
        return
    axis = np.array(loop.axis)
    if not axis.any():
        raise loop.where.error("the axis is 0 0 0; it must have a direction")
    axes = [place.rotation.T @ origin.rotation @ axis for place in (first, second)]
    at = {"first_at": points[0], "second_at": points[1], "axis": axes[0], "second_axis": axes[1]}
    builder.constrain(loop.where, Hinge(*loop.links, **at, name=loop.name))
