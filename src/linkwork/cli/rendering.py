# SPDX-License-Identifier: BSD-3-Clause
"""ModelReport as tables and trees for people.

A table that is too wide for the terminal folds its texts; where even that has no room, its rows become records of one
value a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from linkwork.cli.layout import heading, item, records, table
from linkwork.cli.report import ActuatorReport, JointReport, ModelReport
from linkwork.cli.terminal import printable
from linkwork.inputs import plural
from linkwork.model.constraints import WORLD

if TYPE_CHECKING:
    from linkwork.cli.operation_counts import Count, Counts

FEW = 12
"""Up to this many joints, actuators or contact pairs are listed by default."""


def draw_info(
    console: Console, report: ModelReport, *, joints: bool = False, pairs: bool = False, tree: bool = False
) -> None:
    """All of ``linkwork info``."""
    _draw_summary(console, report)
    if report.joints and (joints or report.joints <= FEW):
        _draw_joints(console, report)
    if report.constraints:
        _draw_constraints(console, report)
        _draw_groups(console, report)
        _draw_mobility(console, report)
    if report.methods:
        costs = [(m.name, str(m.first), str(m.iteration or ""), "auto" if m.chosen else "") for m in report.methods]
        columns = (("method", False), ("operations", True), ("each further iteration", True), ("chosen", False))
        table(console, "Forward dynamics", columns, costs)
    if report.actuators and (joints or len(report.actuators) <= FEW):
        rows = [
            (a.name, ", ".join((a.joint, *a.also)), _vector((*a.gear, *a.also.values())), _force(a))
            for a in report.actuators
        ]
        columns = (("actuator", False), ("joint or tendon", False), ("gear", False), ("force", False))
        table(console, "Actuators", columns, rows)
    if report.contacts and (pairs or len(report.contacts) <= FEW):
        _draw_contacts(console, report)
    if tree:
        _draw_tree(console, report)
    for title, style, lines in (("Warnings", "yellow", report.warnings), ("Notes", "cyan", report.notes)):
        if lines:
            heading(console, title, style)
            for line in lines:
                item(console, line)


def _draw_summary(console: Console, report: ModelReport) -> None:
    console.print(Text(printable(report.name), "bold"), Text(f"({report.format})", "dim"))
    types = ", ".join(f"{count} {kind}" for kind, count in report.joint_types.items())
    lines = {
        "file": printable(report.file),
        "bodies": str(report.bodies),
        "joints": f"{report.joints} ({types})" if types else "0",
        "sizes": f"nq {report.nq}, nv {report.nv}, nc {report.nc}",
        "moving mass": f"{report.mass:.6g} kg",
        "gravity": f"{_vector(report.gravity)} m/s²",
        "coordinates q": report.coordinates,
        "in the file": report.read_as,
        "degrees of freedom": f"{report.dof}{_where(report)}",
    }
    if report.actuators:
        lines["actuators"] = str(len(report.actuators))
    if report.tendons:
        lines["tendons"] = str(len(report.tendons))
    if report.sensors:
        refused = sum(bool(sensor.refused) for sensor in report.sensors)
        lines["sensors"] = f"{len(report.sensors)}{f', {refused} of them not computed' if refused else ''}"
    if report.contacts:
        lines["contacts"] = plural(len(report.contacts), "pair")
    if report.poses:
        lines["poses"] = ", ".join(printable(pose.name) for pose in report.poses)
    records(console, [lines])


def _draw_contacts(console: Console, report: ModelReport) -> None:
    columns = [("contact", False), ("shapes", False), ("slots", True), ("friction", True), ("others", False)]
    rows = []
    for c in report.contacts:
        others = [f"{name} {x:.4g}" for name in ("restitution", "compliance", "margin") if (x := getattr(c, name))]
        slots = "" if c.slots is None else str(c.slots)
        rows.append((c.name, " on ".join(c.solids), slots, f"{c.friction:.4g}", ", ".join(others)))
    table(console, "Contacts", columns, rows)


def _where(report: ModelReport) -> str:
    if not report.constraints:
        return ""
    pose = report.pose
    if report.mobility.singular:
        return f" at pose '{printable(pose.start)}', {report.dof - report.mobility.singular} near it (singular)"
    if pose.assembled:
        return f" with the loops closed, near pose '{printable(pose.start)}'"
    return f" at pose '{printable(pose.start)}'" + ("" if report.mobility.closed else ", where the loops are open")


def _draw_joints(console: Console, report: ModelReport) -> None:
    columns = [("joint", False), ("type", True), ("parent", False), ("child", False)]
    columns += [("q", True), ("v", True), ("limits", True)]
    rows = [[j.name, j.type, j.parent, j.child, _slots(j.q), _slots(j.v), _limits(j)] for j in report.joint_list]
    motors = [_motor(report, joint) for joint in report.joint_list]
    if any(motors):
        columns.append(("motor", True))
        rows = [[*row, motor] for row, motor in zip(rows, motors, strict=True)]
    table(console, "Joints", columns, rows)


def _slots(at: tuple[int, int]) -> str:
    """Where in a vector the numbers of a joint stand, as an index or as Python's slice."""
    return str(at[0]) if at[1] - at[0] == 1 else f"{at[0]}:{at[1]}"


def _limits(joint: JointReport) -> str:
    if len(joint.lower) != 1:
        bounded = any(x is not None for x in (*joint.lower, *joint.upper))
        return "some" if bounded else ""
    low, high = joint.lower[0], joint.upper[0]
    if low is None and high is None:
        return ""
    return f"{'-inf' if low is None else f'{low:.4g}'} .. {'inf' if high is None else f'{high:.4g}'}"


def _force(actuator: ActuatorReport) -> str:
    """The force law of an actuator, in words."""
    if actuator.refused:
        return f"not modeled: {actuator.refused}"
    if actuator.gain == (1.0, 0.0, 0.0) and not any(actuator.bias):
        return "its command"
    return f"gain {_vector(actuator.gain)}, bias {_vector(actuator.bias)}"


def _motor(report: ModelReport, joint: JointReport) -> str:
    driven = any(actuator.joint == joint.name for actuator in report.actuators)
    return "yes" if driven or joint.actuated else "no" if joint.actuated is False else ""


def _draw_constraints(console: Console, report: ModelReport) -> None:
    columns = [("constraint", False), ("type", True), ("rows", True), ("between", False), ("root", False)]
    columns += [("joints", True), ("group", True), ("gap", True)]
    rows = [
        (
            c.name,
            c.type + ("" if c.enabled else " (off)"),
            str(c.rows),
            _between(c.between),
            c.root,
            str(len(c.support)),
            str(c.group + 1),
            "" if c.gap is None else f"{c.gap:.1e}" if c.gap > 1e-12 else "0",
        )
        for c in report.constraints
    ]
    title = f"Constraints: {report.nc} rows (gap: the error at pose '{printable(report.pose.start)}', m or rad)"
    table(console, title, columns, rows)


def _between(places: Sequence[str]) -> str:
    shown = " - ".join(places[:3])
    return shown if len(places) <= 3 else f"{shown} and {len(places) - 3} more"


def _draw_groups(console: Console, report: ModelReport) -> None:
    heading(console, "Which constraints share joints")
    if len(report.groups) == len(report.constraints):
        item(console, "none: each depends on joints of its own")
        return
    for k, group in enumerate(report.groups, start=1):
        count = len(group.constraints)
        carried = f"{plural(len(group.joints), 'joint')} above '{group.top}'"
        if count == 1:
            item(console, f"group {k}: '{group.constraints[0]}' alone, {carried}")
        else:
            shared = f"{len(group.shared)} of them shared: {_listed(group.shared)}"
            item(console, f"group {k}: {_listed(group.constraints)}; {carried}, {shared}")


def _draw_mobility(console: Console, report: ModelReport) -> None:
    mobility, pose = report.mobility, report.pose
    heading(console, "Mobility" + ("" if pose.assembled else f" at pose '{pose.start}'"))
    left = plural(mobility.dof, "degree of freedom", "degrees of freedom")
    item(console, f"{report.nv} - {mobility.rank} = {left}: nv less the rank of the rows")
    if mobility.redundancy:
        parts = ", ".join(f"'{name}' ({rows})" for name, rows in mobility.redundant.items())
        item(
            console,
            f"{mobility.redundancy} of {mobility.rows} rows redundant; constraints that repeat what others say, and in "
            f"how many rows: {parts}",
        )
    else:
        item(console, f"all {mobility.rows} rows independent")
    if mobility.conflicting:
        parts = ", ".join(f"'{name}' by {error:.3g}" for name, error in mobility.conflicting.items())
        item(console, f"conflicting, to first order: {parts}")
    if mobility.singular:
        item(console, f"singular: {mobility.singular} of the freedoms exist at this pose and at none near it")
    if pose.assembled:
        item(console, f"assembled: gap {pose.start_gap:.3g} at pose '{pose.start}', {pose.gap:.1e} here")
    elif pose.failure is not None:
        item(console, f"plural where the loops are least open, by {pose.gap:.3g}: they do not close")


def _draw_tree(console: Console, report: ModelReport) -> None:
    """Bodies with the joints that lead to them, and at each body the constraints that bind it."""
    heading(console, "Tree")
    bound: dict[str, list[str]] = {}
    for c in report.constraints:
        for body in c.bodies:
            bound.setdefault(body, []).append(c.name)
    tree = Tree(Text(WORLD, "bold"), guide_style="dim")
    branches = {WORLD: tree}
    for joint in report.joint_list:
        label = Text(printable(joint.child), "bold")
        label.append(f"  {printable(joint.name)}: {joint.type}", "not bold dim")
        for name in bound.get(joint.child, ()):
            label.append(f"  ={printable(name)}", "not bold magenta")
        branches[joint.child] = branches[joint.parent].add(label)
    console.print(tree)


# Counts --------------------------------------------------------------------------------------------

_KINDS = ("+", "-", "*", "/", "sqrt", "sincos")
_BAR = 20
"""Characters of the longest bar."""


def draw_counts(console: Console, counts: Counts) -> None:
    """All of ``linkwork count``."""
    console.print(Text(printable(counts.name), "bold"), Text(f"(nv {counts.nv}, nc {counts.nc})", "dim"))
    for quantity in ("forward_dynamics", "inverse_dynamics", "delassus_matrix"):
        rows = [c for c in counts.counts if c.quantity == quantity]
        if rows:
            _draw_methods(console, quantity.replace("_", " ").capitalize(), rows, counts.iterations)
    others = [c for c in counts.counts if not c.method]
    columns = [("quantity", False), ("operations", True), *((kind, True) for kind in _KINDS), ("others", True)]
    table(
        console, "Other quantities", columns, [(c.quantity.replace("_", " "), str(c.total), *_kinds(c)) for c in others]
    )
    if counts.notes:
        heading(console, "Notes", "cyan")
        for note in counts.notes:
            item(console, note)


def _draw_methods(console: Console, title: str, rows: Sequence[Count], iterations: int) -> None:
    """Methods beside each other, the cheapest first, with bars."""
    repeated = any(c.iteration for c in rows)
    columns = [("method", False), ("operations", True), *((kind, True) for kind in _KINDS), ("others", True)]
    columns += [("each further iteration", True), (f"in {iterations} iterations", True)] if repeated else []
    columns += [("ratio", True), ("", True), ("chosen", True)]
    longest = max(c.ratio for c in rows)
    cells = []
    for c in rows:
        further = (str(c.iteration or ""), str(c.expected)) if repeated else ()
        bar = "#" * max(1, round(_BAR * c.ratio / longest))
        cells.append((c.method, str(c.total), *_kinds(c), *further, f"{c.ratio:.2f}", bar, "auto" if c.chosen else ""))
    if not any(c.chosen for c in rows):
        columns, cells = columns[:-1], [row[:-1] for row in cells]
    table(console, title, columns, cells)


def _kinds(count: Count) -> tuple[str, ...]:
    named = tuple(str(count.operations.get(kind, 0)) for kind in _KINDS)
    return (*named, str(count.total - sum(count.operations.get(kind, 0) for kind in _KINDS)))


def _vector(x: Sequence[float]) -> str:
    return " ".join(f"{value:.6g}" for value in x)


def _listed(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
