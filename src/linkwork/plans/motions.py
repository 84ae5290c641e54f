# SPDX-License-Identifier: BSD-3-Clause
"""Rows of constraints that follow functions of time: tapes of their targets, and coordinates of joints they drive."""

from __future__ import annotations

from typing import Any

from linkwork.model.constraints import Drive
from linkwork.model.model import Model
from linkwork.plans.layout import Shape
from linkwork.plans.tapes import TIME, tape_nodes

MOTION_SIZES = (
    "nmotions",  # rows whose targets are functions of time
    "motion_start",  # the first node of the tapes of such functions: they come after all others
    "ndrives",  # coordinates of joints that such rows drive
)
MOTION_INTEGERS: dict[str, Shape] = {
    "motion_row": ("nmotions",),  # a row that moves, and the node that is its target
    "motion_node": ("nmotions",),
    "drive_q": ("ndrives",),  # where a driven coordinate stands in q and in v, the node that it follows, and its row
    "drive_v": ("ndrives",),
    "drive_node": ("ndrives",),
    "drive_row": ("ndrives",),
}


def add_motions(mechanism: Model, columns: dict[str, list[Any]]) -> int:
    """Add the tapes of all motions to the columns of constraints; returns the first of their nodes.

    Args:
        mechanism: The mechanism.
        columns: Entries of arrays of the plan, by name.
    """
    first = len(columns["tape_op"])
    for constraint in mechanism.constraints:
        if constraint.motion is None:
            continue
        row = mechanism.row_slice(constraint.name).start
        nodes, targets = tape_nodes(constraint.motion, [TIME], len(columns["tape_op"]))
        for name, values in zip(("op", "left", "right", "value"), zip(*nodes, strict=True), strict=True):
            columns[f"tape_{name}"] += values
        rows = range(row, row + len(targets))
        columns["motion_row"] += rows
        columns["motion_node"] += targets
        if isinstance(constraint, Drive) and constraint.enabled:
            at, to = mechanism.q_slice(constraint.joint).start, mechanism.v_slice(constraint.joint).start
            columns["drive_q"] += range(at, at + len(targets))
            columns["drive_v"] += range(to, to + len(targets))
            columns["drive_node"] += targets
            columns["drive_row"] += rows
    return first
