# SPDX-License-Identifier: BSD-3-Clause
"""HTML tables for notebooks, which ask objects for ``_repr_html_``: plain tables, all text escaped, nothing loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from linkwork.model.model import Model

MOST_ROWS = 60
"""Rows of a table; how many more there are is said."""


def cell(value: object) -> str:
    """A value as text: numbers with four digits, several of them side by side."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    if isinstance(value, np.ndarray | list | tuple):
        return " ".join(cell(x) for x in value)
    return str(value)


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a line of text above it, and one of heads unless there are none."""
    lines = list(rows)
    more = len(lines) - MOST_ROWS
    top = f"<tr>{''.join(f'<th>{escape(head)}</th>' for head in heads)}</tr>" if heads else ""
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell(x))}</td>' for x in row)}</tr>" for row in lines[:MOST_ROWS])
    rest = f'<tr><td colspan="{len(lines[0])}">and {more} more</td></tr>' if more > 0 else ""
    return f"<table><caption>{escape(caption)}</caption>{top}{body}{rest}</table>"


def mechanism_tables(robot: Model) -> str:
    """Joints, constraints and contacts of a robot."""
    joints = (
        (j.name, repr(j.type), j.parent, j.child, _range(robot.q_slice(j.name)), _range(robot.v_slice(j.name)))
        for j in robot.joints
    )
    tables = table(repr(robot).strip("<>"), ("joint", "type", "from", "to", "q", "v"), joints)
    if robot.constraints:
        bound = (
            (c.name, type(c).__name__, ", ".join((*c.places, *c.joints)), _range(robot.row_slice(c.name)), c.enabled)
            for c in robot.constraints
        )
        tables += table("Constraints", ("constraint", "type", "binds", "rows", "enabled"), bound)
    if robot.contacts:
        touching = ((c.name, " and ".join(c.bodies), c.friction, c.restitution, c.compliance) for c in robot.contacts)
        tables += table("Contacts", ("contact", "bodies", "friction", "restitution", "compliance"), touching)
    return tables


def state_tables(
    caption: str, robot: Model, joints: Mapping[str, Any], constraints: Mapping[str, Any] | None = None
) -> str:
    """Numbers of one state by joint, ``(nv,)`` each, and by constraint, ``(nc,)`` each; of a batch, their shapes."""
    if any(np.ndim(numbers) > 1 for numbers in joints.values()):
        return shape_table(caption, {**joints, **(constraints or {})})
    by_joint = ((j.name, *(x[robot.v_slice(j.name)] for x in joints.values())) for j in robot.joints)
    tables = table(caption, ("joint", *joints), by_joint)
    if constraints and robot.constraints:
        by_row = ((c.name, *(x[robot.row_slice(c.name)] for x in constraints.values())) for c in robot.constraints)
        tables += table("Constraints", ("constraint", *constraints), by_row)
    return tables


def shape_table(caption: str, arrays: Mapping[str, Any]) -> str:
    """Arrays that are too large to show, or belong to no names: their shapes, or their numbers if these are few."""
    return table(caption, (), ((name, x if np.ndim(x) == 1 else f"{np.shape(x)}") for name, x in arrays.items()))


def shapes(record: Any) -> str:
    """A named tuple of large arrays in one line: their shapes."""
    each = (f"{name}: {np.shape(x)}" for name, x in zip(record._fields, record, strict=True))
    return f"{type(record).__name__}({', '.join(each)})"


def _range(at: slice) -> str:
    """The places of a slice: ``3``, or ``3:6``."""
    return f"{at.start}" if at.stop == at.start + 1 else f"{at.start}:{at.stop}"
