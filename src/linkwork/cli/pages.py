"""Facts as tables and trees for people.

A table that is too wide for the terminal folds its texts; where even that has no room, its rows become records of one
value a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from linkwork.cli.facts import ActuatorFacts, Facts, JointFacts
from linkwork.cli.finding import counted
from linkwork.cli.terminal import printable
from linkwork.model.constraints import WORLD

if TYPE_CHECKING:
    from linkwork.cli.counting import Count, Counts

FEW = 12
"""Up to so many joints or actuators are listed unasked."""

_NARROWEST = 8
"""A folded column of text is at least so wide."""

_TWO_COLUMNS = 48
"""On a narrower terminal, a name and its value follow each other."""


def draw_info(console: Console, facts: Facts, *, joints: bool = False, tree: bool = False) -> None:
    """All of ``linkwork info``."""
    _draw_summary(console, facts)
    if facts.joints and (joints or facts.joints <= FEW):
        _draw_joints(console, facts)
    if facts.constraints:
        _draw_constraints(console, facts)
        _draw_groups(console, facts)
        _draw_mobility(console, facts)
    if facts.methods:
        costs = [(m.name, str(m.first), str(m.iteration or ""), "auto" if m.chosen else "") for m in facts.methods]
        columns = (("method", False), ("operations", True), ("each further iteration", True), ("chosen", False))
        table(console, "Forward dynamics", columns, costs)
    if facts.actuators and (joints or len(facts.actuators) <= FEW):
        rows = [
            (a.name, ", ".join((a.joint, *a.also)), _vector((*a.gear, *a.also.values())), _force(a))
            for a in facts.actuators
        ]
        columns = (("actuator", False), ("joint", False), ("gear", False), ("force", False))
        table(console, "Actuators", columns, rows)
    if tree:
        _draw_tree(console, facts)
    for title, style, lines in (("Warnings", "yellow", facts.warnings), ("Notes", "cyan", facts.notes)):
        if lines:
            heading(console, title, style)
            for line in lines:
                item(console, line)


def _draw_summary(console: Console, facts: Facts) -> None:
    console.print(Text(printable(facts.name), "bold"), Text(f"({facts.format})", "dim"))
    types = ", ".join(f"{count} {kind}" for kind, count in facts.joint_types.items())
    lines = {
        "file": printable(facts.file),
        "bodies": str(facts.bodies),
        "joints": f"{facts.joints} ({types})" if types else "0",
        "sizes": f"nq {facts.nq}, nv {facts.nv}, nc {facts.nc}",
        "moving mass": f"{facts.mass:.6g} kg",
        "gravity": f"{_vector(facts.gravity)} m/s²",
        "coordinates q": facts.coordinates,
        "in the file": facts.read_as,
        "degrees of freedom": f"{facts.dof}{_where(facts)}",
    }
    if facts.actuators:
        lines["actuators"] = str(len(facts.actuators))
    if facts.poses:
        lines["poses"] = ", ".join(printable(pose.name) for pose in facts.poses)
    _records(console, [lines])


def _where(facts: Facts) -> str:
    if not facts.constraints:
        return ""
    pose = facts.pose
    if facts.mobility.singular:
        return f" at pose '{printable(pose.start)}', {facts.dof - facts.mobility.singular} near it (singular)"
    if pose.assembled:
        return f" with the loops closed, near pose '{printable(pose.start)}'"
    return f" at pose '{printable(pose.start)}'" + ("" if facts.mobility.closed else ", where the loops are open")


def _draw_joints(console: Console, facts: Facts) -> None:
    columns = [("joint", False), ("type", True), ("parent", False), ("child", False)]
    columns += [("q", True), ("v", True), ("limits", True)]
    rows = [[j.name, j.type, j.parent, j.child, _slots(j.q), _slots(j.v), _limits(j)] for j in facts.joint_list]
    motors = [_motor(facts, joint) for joint in facts.joint_list]
    if any(motors):
        columns.append(("motor", True))
        rows = [[*row, motor] for row, motor in zip(rows, motors, strict=True)]
    table(console, "Joints", columns, rows)


def _slots(at: tuple[int, int]) -> str:
    """Where in a vector the numbers of a joint stand, as an index or as Python's slice."""
    return str(at[0]) if at[1] - at[0] == 1 else f"{at[0]}:{at[1]}"


def _limits(joint: JointFacts) -> str:
    if len(joint.lower) != 1:
        bounded = any(x is not None for x in (*joint.lower, *joint.upper))
        return "some" if bounded else ""
    low, high = joint.lower[0], joint.upper[0]
    if low is None and high is None:
        return ""
    return f"{'-inf' if low is None else f'{low:.4g}'} .. {'inf' if high is None else f'{high:.4g}'}"


def _force(actuator: ActuatorFacts) -> str:
    """How an actuator makes force."""
    if actuator.refused:
        return f"not modeled: {actuator.refused}"
    if actuator.gain == (1.0, 0.0, 0.0) and not any(actuator.bias):
        return "its command"
    return f"gain {_vector(actuator.gain)}, bias {_vector(actuator.bias)}"


def _motor(facts: Facts, joint: JointFacts) -> str:
    driven = any(actuator.joint == joint.name for actuator in facts.actuators)
    return "yes" if driven or joint.actuated else "no" if joint.actuated is False else ""


def _draw_constraints(console: Console, facts: Facts) -> None:
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
        for c in facts.constraints
    ]
    title = f"Constraints: {facts.nc} rows (gap: the error at pose '{printable(facts.pose.start)}', m or rad)"
    table(console, title, columns, rows)


def _between(places: Sequence[str]) -> str:
    shown = " - ".join(places[:3])
    return shown if len(places) <= 3 else f"{shown} and {len(places) - 3} more"


def _draw_groups(console: Console, facts: Facts) -> None:
    heading(console, "Which constraints share joints")
    if len(facts.groups) == len(facts.constraints):
        item(console, "none: each depends on joints of its own")
        return
    for k, group in enumerate(facts.groups, start=1):
        count = len(group.constraints)
        carried = f"{counted(len(group.joints), 'joint')} above '{group.top}'"
        if count == 1:
            item(console, f"group {k}: '{group.constraints[0]}' alone, {carried}")
        else:
            shared = f"{len(group.shared)} of them shared: {_listed(group.shared)}"
            item(console, f"group {k}: {_listed(group.constraints)}; {carried}, {shared}")


def _draw_mobility(console: Console, facts: Facts) -> None:
    mobility, pose = facts.mobility, facts.pose
    heading(console, "Mobility" + ("" if pose.assembled else f" at pose '{pose.start}'"))
    left = counted(mobility.dof, "degree of freedom", "degrees of freedom")
    item(console, f"{facts.nv} - {mobility.rank} = {left}: nv less the rank of the rows")
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
        item(console, f"counted where the loops are least open, by {pose.gap:.3g}: they do not close")


def _draw_tree(console: Console, facts: Facts) -> None:
    """Bodies with the joints that lead to them, and at each body the constraints that bind it."""
    heading(console, "Tree")
    bound: dict[str, list[str]] = {}
    for c in facts.constraints:
        for body in c.bodies:
            bound.setdefault(body, []).append(c.name)
    tree = Tree(Text(WORLD, "bold"), guide_style="dim")
    branches = {WORLD: tree}
    for joint in facts.joint_list:
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


def draw_counts(console: Console, found: Counts) -> None:
    """All of ``linkwork count``."""
    console.print(Text(printable(found.name), "bold"), Text(f"(nv {found.nv}, nc {found.nc})", "dim"))
    for quantity in ("forward_dynamics", "inverse_dynamics", "delassus_matrix"):
        rows = [c for c in found.counts if c.quantity == quantity]
        if rows:
            _draw_methods(console, quantity.replace("_", " ").capitalize(), rows, found.iterations)
    others = [c for c in found.counts if not c.method]
    columns = [("quantity", False), ("operations", True), *((kind, True) for kind in _KINDS), ("others", True)]
    table(
        console, "Other quantities", columns, [(c.quantity.replace("_", " "), str(c.total), *_kinds(c)) for c in others]
    )
    if found.notes:
        heading(console, "Notes", "cyan")
        for note in found.notes:
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


# Blocks --------------------------------------------------------------------------------------------


def _vector(x: Sequence[float]) -> str:
    return " ".join(f"{value:.6g}" for value in x)


def _listed(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def heading(console: Console, title: str, style: str = "") -> None:
    """A title, with an empty line before it."""
    console.print()
    console.print(Text(printable(title), f"bold {style}".strip()))


def item(console: Console, line: str) -> None:
    """A paragraph with a dash before it, its further lines set in."""
    grid = Table.grid(padding=0)
    grid.add_column(width=4)
    grid.add_column(overflow="fold")
    grid.add_row("  -", Text(printable(line)))
    console.print(grid)


def table(console: Console, title: str, columns: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str]]) -> None:
    """A table; of each column its title and whether it must stay whole."""
    heading(console, title)
    widths = [
        max(cell_len(head), *(cell_len(printable(row[k])) for row in rows)) for k, (head, _) in enumerate(columns)
    ]
    least = [w if whole else min(w, _NARROWEST) for w, (_, whole) in zip(widths, columns, strict=True)]
    if sum(least) + 3 * len(columns) > console.width:
        _records(console, [{head: row[k] for k, (head, _) in enumerate(columns) if row[k]} for row in rows])
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    for head, whole in columns:
        table.add_column(head, no_wrap=whole, overflow="ellipsis" if whole else "fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    console.print(Padding(table, (0, 0, 0, 2)))


def _records(console: Console, records: Sequence[dict[str, str]]) -> None:
    """One value a line, an empty line between records."""
    for k, record in enumerate(records):
        if k:
            console.print()
        if console.width < _TWO_COLUMNS:
            for key, value in record.items():
                console.print(Text(f"{key}: ", "dim") + Text(printable(value)), overflow="fold")
            continue
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(no_wrap=True, style="dim")
        grid.add_column(overflow="fold")
        for key, value in record.items():
            grid.add_row(key, Text(printable(value)))
        console.print(Padding(grid, (0, 0, 0, 2)))
