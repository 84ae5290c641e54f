# SPDX-License-Identifier: BSD-3-Clause
"""Loops of a URDF file in a ``robot.yaml`` beside it: that of example-parallel-robots and its loader for Pinocchio.

| in the model | in the file                                                                       |
|--------------|-----------------------------------------------------------------------------------|
| Weld         | a pair of type ``6d``                                                             |
| Point        | a pair of type ``3d``                                                             |
| Hinge        | two pairs of type ``3d`` on its axis: the same loop, with a row that is redundant |

Pairs are of links on fixed joints, ``<constraint>_1`` and ``<constraint>_2``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import yaml

from linkwork.model.constraints import Constraint, Hinge, Point, Weld
from linkwork.model.parts import Frame
from linkwork.model.placement import Placement
from linkwork.saving.dialects import DIALECTS
from linkwork.saving.joint_numbers import refuse_softness
from linkwork.saving.layout import Layout
from linkwork.saving.report import Report
from linkwork.saving.urdf_loops import refuse_constraint
from linkwork.saving.xml import fresh

HEADER = "# Loops"
"""First line of files that are written here: these are replaced."""

LOOP_FILE = "robot.yaml"
"""A file that readers of URDF look for in the folder of a model."""


def loop_file(layout: Layout, report: Report, said: Collection[str], ends: list[Frame]) -> str:
    """The text of the file; empty where there are no loops.

    Args:
        layout: The model, in the frames of the URDF.
        report: Where to refuse constraints that are no pairs of frames.
        said: Names of constraints that the URDF says.
        ends: The frames that pairs name are appended, to be links of the URDF.
    """
    taken = set(layout.model.frames)
    pairs: list[list[str]] = []
    kinds: list[str] = []
    for constraint in layout.model.constraints:
        refuse_softness(constraint, report)
        if constraint.name in said or not constraint.enabled:
            continue
        for kind, name, frames in _pairs(constraint, layout.length):
            names = [fresh(f"{name}_{k + 1}", taken) for k in range(2)]
            for end, place, at in zip(names, constraint.places, frames, strict=True):
                frame = layout.model.frames[place]
                ends.append(Frame(end, frame.body, frame.placement * at))
            pairs.append(names)
            kinds.append(kind)
        if isinstance(constraint, Hinge):
            what = "in 'robot.yaml' a hinge is two points, with a row that follows from the others"
            report.leave_out("names", f"'{constraint.name}'", what)
        elif not isinstance(constraint, Point | Weld):
            refuse_constraint(constraint, report, DIALECTS["pinocchio"])
    if not pairs:
        return ""
    motors = [joint.name for joint in layout.model.joints if joint.actuated]
    sections: dict[str, list[str] | list[list[str]]] = {"closed_loop": pairs, "type": kinds}
    if any(joint.actuated is not None for joint in layout.model.joints):
        sections["name_mot"] = motors
    text: str = yaml.safe_dump(sections, sort_keys=False, default_flow_style=None, allow_unicode=True, width=120)
    return f"{HEADER} of robot '{layout.model.name}'\n{text}" if layout.model.name.isprintable() else text


def _pairs(constraint: Constraint, length: float) -> Iterator[tuple[str, str, tuple[Placement, Placement]]]:
    """Kind, name and frames of the pairs that a constraint is, seen from its places."""
    if isinstance(constraint, Weld):
        yield "6d", constraint.name, constraint.frames()
    elif type(constraint) is Point:
        yield "3d", constraint.name, constraint.frames()
    elif isinstance(constraint, Hinge):
        first, second = constraint.frames()
        along = Placement((0.0, 0.0, length))
        yield "3d", constraint.name, (first, second)
        yield "3d", f"{constraint.name}_axis", (first * along, second * along)
