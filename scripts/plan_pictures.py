# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of the symbolic phase, for the pages in docs/concepts/algorithms: ``python scripts/plan_pictures.py``.

Every number and every line in them is read from the plan of a small mechanism (`linkwork.plans`), none is written here.
Lengths are inches of paper.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.drawing.graphs import layout, ties
from linkwork.drawing.pictures import COUPLING, FAINT, GROUND, INK, LOOP, PASTELS, blank, write_picture
from linkwork.dynamics.rows.ranks import pv_early_plan
from linkwork.kernels.steps.tableaus import DOPRI5, RK4, Scheme
from linkwork.plans.bbo import LOOP as LOOP_END
from linkwork.plans.bbo import WORLD_END, bbo_tree, rows_of_block, rows_passing
from linkwork.plans.constraints import constrained_tree
from linkwork.plans.efpa import efpa_tree
from linkwork.plans.lcaba import lcaba_tree
from linkwork.plans.ltl import ltl_tree
from linkwork.plans.tree import Tree, build_tree

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "algorithms"
MARKED = "#f0a030"
"""Of the body that something happens to."""

Place = tuple[float, float]


# Paper -----------------------------------------------------------------------------------------------------


class Paper:
    """A figure on which lengths are inches, from the lower left."""

    def __init__(self, width: float, height: float) -> None:
        self.figure = blank(width, height)
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set_axis_off()
        self.axes.set_xlim(0, width)
        self.axes.set_ylim(0, height)

    def text(self, x: float, y: float, text: str, size: float = 8.0, **how: Any) -> None:
        """Words, centered unless told otherwise."""
        how = {"ha": "center", "va": "center", "color": INK} | how
        self.axes.text(x, y, text, fontsize=size, parse_math=False, zorder=8, **how)

    def line(self, start: Place, end: Place, color: str = INK, bend: float = 0.0, **how: Any) -> None:
        """A line, bent by a part of its length; ``arrowstyle`` puts a head on it."""
        from matplotlib.patches import FancyArrowPatch

        how = {"arrowstyle": "-", "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 9, "zorder": 2} | how
        self.axes.add_patch(FancyArrowPatch(start, end, connectionstyle=f"arc3,rad={bend}", color=color, **how))

    def body(
        self, at: Place, name: str, face: str = "white", edge: str = INK, ink: str = INK, tall: float = 0.2
    ) -> None:
        """A box with the name of a body; that of the world is dark."""
        from matplotlib.patches import FancyBboxPatch

        if name == "world":
            face, ink = INK, "white"
        wide = max(tall, 0.085 * len(name) + 0.04)
        corner = (at[0] - wide / 2, at[1] - tall / 2)
        box = "square,pad=0" if name == "world" else "round,pad=0,rounding_size=0.05"
        self.axes.add_patch(
            FancyBboxPatch(corner, wide, tall, boxstyle=box, facecolor=face, edgecolor=edge, linewidth=0.9, zorder=5)
        )
        self.text(*at, name, 7, color=ink)

    def cross(self, at: Place, size: float = 0.13) -> None:
        """Something is gone."""
        for sign in (1, -1):
            self.line((at[0] - size, at[1] - sign * size), (at[0] + size, at[1] + sign * size), "#b8b8b8", zorder=6)

    def cell(self, x: float, y: float, size: float, face: str) -> None:
        """A square of a matrix, its upper left corner given."""
        from matplotlib.patches import Rectangle

        self.axes.add_patch(Rectangle((x, y - size), size, size, facecolor=face, edgecolor="white", linewidth=0.25))

    def frame(self, x: float, y: float, wide: float, tall: float, color: str = FAINT) -> None:
        """A thin rectangle, its upper left corner given."""
        from matplotlib.patches import Rectangle

        self.axes.add_patch(Rectangle((x, y - tall), wide, tall, fill=False, edgecolor=color, linewidth=0.6, zorder=6))


def places(robot: lw.Mechanism, left: float, top: float, dx: float, dy: float, gap: float = 0.0) -> dict[str, Place]:
    """Where bodies stand: columns by depth, the world on the left with a gap of its own."""
    found = layout(robot).items()
    return {body: (left + dx * column + (gap if column else 0.0), top - dy * row) for body, (column, row) in found}


def numbers(robot: lw.Mechanism) -> dict[int, str]:
    """Names of bodies by their numbers in plans."""
    return {0: "world"} | {k: name for name, k in build_tree(robot)[1].number.items()}


def draw_tree(
    paper: Paper, robot: lw.Mechanism, at: Mapping[str, Place], face: Mapping[str, str] | None = None
) -> None:
    """Bodies, and joints as lines."""
    for joint in robot.joints:
        paper.line(at[joint.parent], at[joint.child], FAINT)
    for body, where in at.items():
        paper.body(where, body, (face or {}).get(body, "white"))


def between(start: Place, end: Place, part: float = 0.5) -> Place:
    """A point on the way."""
    return start[0] + part * (end[0] - start[0]), start[1] + part * (end[1] - start[1])


# Mechanisms --------------------------------------------------------------------------------------------------


def walker() -> lw.Mechanism:
    """A floating torso with two legs of two links: the smallest tree that branches."""
    build = (
        lw.Builder("walker")
        .body("torso", lw.Inertia.box(10.0, (0.2, 0.3, 0.4)))
        .joint("base", lw.joints.Free(), "world", "torso")
    )
    for side, y in (("left", 0.1), ("right", -0.1)):
        thigh, shin = f"{side[0]}_thigh", f"{side[0]}_shin"
        build.body(thigh, lw.Inertia.rod(2.0, (0, 0, 0), (0, 0, -0.4)))
        build.body(shin, lw.Inertia.rod(1.0, (0, 0, 0), (0, 0, -0.4)))
        build.joint(f"{side}_hip", lw.joints.Revolute("y"), "torso", thigh, at=(0, y, -0.2))
        build.joint(f"{side}_knee", lw.joints.Revolute("y"), thigh, shin, at=(0, 0, -0.4))
    return build.build()


def on_feet() -> lw.Mechanism:
    """The zoo's humanoid with both feet welded to the ground."""
    robot = lw.zoo.humanoid()
    feet = [lw.constraints.Weld(f"{side}_foot", "world", name=side) for side in ("left", "right")]
    return robot.constrained(*feet, at=robot.neutral())


# Trees -------------------------------------------------------------------------------------------------------


def sweeps(parts: Sequence[tuple[str, bool, str]], robot: lw.Mechanism) -> Any:
    """A tree for each sweep, with arrows the way it goes and the order in which it meets bodies."""
    wide, top = 3.1, 1.25
    paper = Paper(wide * len(parts), 1.75)
    tree = build_tree(robot)[0]
    name = numbers(robot)
    for k, (title, outward, carries) in enumerate(parts):
        at = places(robot, 0.35 + wide * k, top, 0.8, 0.72)
        order = range(1, tree.n) if outward else range(tree.n - 1, 0, -1)
        for when, i in enumerate(order, start=1):
            ends = at[name[int(tree.parent[i])]], at[name[i]]
            ends = ends if outward else ends[::-1]
            paper.line(*ends, GROUND if outward else LOOP, arrowstyle="-|>", shrinkA=17, shrinkB=17)
            paper.text(at[name[i]][0], at[name[i]][1] - 0.19, f"{when}", 6.5, color=FAINT)
        for body, where in at.items():
            paper.body(where, body)
        paper.text(0.12 + wide * k, 1.6, title, 8.5, ha="left", weight="bold")
        paper.text(0.12 + wide * k, 0.1, carries, 7, ha="left", color=GROUND if outward else LOOP)
    return paper.figure


def rnea() -> Any:
    """Two sweeps."""
    parts = (
        ("1  out: place, move", True, "poses, velocities, accelerations"),
        ("2  in: collect", False, "forces; torques where they pass joints"),
    )
    return sweeps(parts, walker())


def aba() -> Any:
    """Three sweeps."""
    parts = (
        ("1  out: place, move", True, "poses, velocities, bias forces"),
        ("2  in: articulate, drive", False, "inertia H − U D⁻¹ U', force f"),
        ("3  out: accelerate", True, "accelerations, joint by joint"),
    )
    return sweeps(parts, walker())


def on_the_way(up: Sequence[int], k: int) -> list[int]:
    """A degree of freedom and those below it."""
    found = []
    while k >= 0:
        found.append(k)
        k = int(up[k])
    return found


def crba() -> Any:
    """The entries of M that are not zero, and the walk that finds one row of them."""
    robot = walker().constrained(lw.constraints.Weld("l_shin", "world"))
    tree = ltl_tree(robot)
    names = [
        joint.name
        for joint in robot.joints
        for _ in range(robot.v_slice(joint.name).start, robot.v_slice(joint.name).stop)
    ]
    size, left, top = 0.165, 4.6, 1.9
    paper = Paper(6.6, 2.05)
    at = places(robot, 0.35, 1.35, 0.95, 0.8)
    draw_tree(paper, robot, at, {"l_shin": MARKED})
    for start, end in (("l_shin", "l_thigh"), ("l_thigh", "torso"), ("torso", "world")):
        paper.line(at[start], at[end], LOOP, bend=0.35, arrowstyle="-|>", shrinkA=12, shrinkB=12)
    paper.text(0.12, 0.12, "the force of a unit knee acceleration, carried down", 7, ha="left", color=LOOP)
    for k in range(tree.nv):
        line = on_the_way(tree.dof_parent, k)
        for j in range(tree.nv):
            held = j in line or k in on_the_way(tree.dof_parent, j)
            marked = names[k] == "left_knee" and j in line
            paper.cell(left + size * j, top - size * k, size, MARKED if marked else PASTELS[2] if held else "#f4f4f4")
        if k == 0 or names[k] != names[k - 1]:
            paper.text(left - 0.06, top - size * (k + 0.5), names[k], 6.5, ha="right")
    paper.frame(left, top, size * tree.nv, size * tree.nv)
    filled = sum(2 * len(on_the_way(tree.dof_parent, k)) - 1 for k in range(tree.nv))
    paper.text(left + size * tree.nv / 2, 0.08, f"{filled} of {tree.nv**2} entries of M", 7)
    return paper.figure


def ltl() -> Any:
    """The factor of the KKT matrix of a humanoid on its feet, with the zeros of the tree."""
    robot = on_feet()
    tree = ltl_tree(robot)
    n, m, size, left, top = tree.nv, tree.nc, 0.066, 0.75, 3.5
    paper = Paper(6.2, 3.75)
    used = 0
    for k in range(n):
        for j in on_the_way(tree.dof_parent, k):
            paper.cell(left + size * j, top - size * k, size, PASTELS[2] if j < k else COUPLING)
            used += 1
    rows = 0
    for r in range(m):
        for j in tree.row_dof[tree.row_start[r] : tree.row_start[r] + tree.row_count[r]]:
            paper.cell(left + size * int(j), top - size * (n + r), size, PASTELS[0])
            rows += 1
        for s in range(r + 1):
            paper.cell(left + size * (n + s), top - size * (n + r), size, LOOP)
    paper.frame(left, top, size * n, size * n)
    paper.frame(left, top - size * n, size * n, size * m)
    paper.frame(left + size * n, top - size * n, size * m, size * m)
    for label, at, tall in (("L of M", 0, n), ("J L⁻¹", n, m)):
        paper.text(left - 0.08, top - size * (at + tall / 2), label, 8, ha="right")
    x = left + size * n + 0.18
    for k, (face, words) in enumerate(
        (
            (COUPLING, "pivots: one for each degree of freedom"),
            (PASTELS[2], f"L: {used - n} of {n * (n - 1) // 2} entries"),
            (PASTELS[0], f"rows of J: {rows} of {n * m} entries"),
            (LOOP, f"R + J M⁻¹ J': {m} × {m}, dense"),
        )
    ):
        paper.cell(x, top - 0.1 - 0.22 * k, 0.13, face)
        paper.text(x + 0.2, top - 0.165 - 0.22 * k, words, 7.5, ha="left")
    paper.text(x, top - 1.15, f"humanoid, feet welded:\n{n} velocities, {m} rows", 8, ha="left", va="top")
    return paper.figure


# Rows --------------------------------------------------------------------------------------------------------


def satisfied(robot: lw.Mechanism) -> list[int]:
    """Of each body, how many rows end at its joint in PV-early."""
    ended: list[int] = pv_early_plan(robot, ()).early_rank.tolist()
    return ended


def started(tree: Tree) -> list[int]:
    """Rows that start on each body."""
    own = [0] * tree.n
    for body in tree.k_body.tolist():
        own[body] += int(body > 0)
    return own


def rows_left(tree: Tree, ended: Sequence[int]) -> list[int]:
    """Rows that pass each joint when so many end there: what is on the body, less what the joint satisfies."""
    left = started(tree)
    for i in range(tree.n - 1, 0, -1):
        left[i] -= ended[i]
        if tree.parent[i] > 0:
            left[int(tree.parent[i])] += left[i]
    return left


def counted_tree(
    paper: Paper,
    robot: lw.Mechanism,
    at: Mapping[str, Place],
    counts: Mapping[str, int],
    title: str,
    ended: Iterable[str] = (),
    raised: float = 0.38,
) -> None:
    """A tree whose joints carry numbers, thick where many rows pass."""
    top = max(y for _, y in at.values()) + raised
    paper.text(min(x for x, _ in at.values()) - 0.2, top, title, 8, ha="left", weight="bold")
    for joint in robot.joints:
        ends, count = (at[joint.child], at[joint.parent]), counts[joint.child]
        color = LOOP if count else FAINT
        paper.line(*ends, color, linewidth=0.8 + 0.28 * count, alpha=0.9 if count else 0.6)
        x, y = between(*ends)
        label = str(count)
        box = {"boxstyle": "circle,pad=0.12", "facecolor": "white", "edgecolor": color, "linewidth": 0.6}
        paper.text(x, y, label, 6, color=color, bbox=box)
        if joint.child in ended:
            paper.line((x, y + 0.1), (x, y + 0.2), GROUND, linewidth=2.2)
    for body, where in at.items():
        held = any(tie.style == "ground" and body in tie.bodies for tie in ties(robot))
        if body == "world":
            paper.body(where, body)
        else:
            paper.axes.plot(*where, "o", markersize=6, color=GROUND if held else INK, zorder=7)
        if held:
            paper.text(where[0] + 0.1, where[1], "held", 7, ha="left", color=GROUND)


def pv() -> Any:
    """Rows of a ladder: all the way to the world, or ended by the joints that can satisfy them."""
    robot = lw.zoo.ladder(2)
    paper = Paper(7.4, 3.4)
    name = numbers(robot)
    tree = bbo_tree(robot, (), WORLD_END)
    carried = {name[i]: rows_passing(tree, i) for i in range(1, tree.n)}
    counted_tree(
        paper, robot, places(robot, 0.35, 2.85, 0.46, 0.62, 0.3), carried, "PV: rows that pass each joint, to the world"
    )
    early, ended = pv_early_plan(robot, ()), satisfied(robot)
    left = {name[i]: x for i, x in enumerate(rows_left(early, ended)) if i}
    done = {name[i] for i, x in enumerate(ended) if x}
    title = "PV-early: rows that are left below each joint (green bar: the joint satisfied one)"
    counted_tree(paper, robot, places(robot, 0.35, 1.4, 0.46, 0.62, 0.3), left, title, done)
    blocks = lcaba_tree(robot).ncouplings
    paper.text(
        0.15,
        0.15,
        f"PV-soft: no row travels; springs to the world add to inertias, {blocks} couplings of bodies",
        8,
        ha="left",
        weight="bold",
    )
    return paper.figure


def bbo() -> Any:
    """Two loops in a row: where rows travel, and the blocks in which their forces are found."""
    robot = lw.zoo.chain_of_loops(2, links=4, floating=False)
    paper = Paper(7.2, 3.45)
    name = numbers(robot)
    for k, (title, end) in enumerate(
        (("proxBBO: rows end at the root of their loop", LOOP_END), ("PV, proxPV: rows end at the world", WORLD_END))
    ):
        tree = bbo_tree(robot, (), end)
        at = places(robot, 0.5, 2.75 - 1.7 * k, 1.05, 0.62)
        carried = {name[i]: rows_passing(tree, i) for i in range(1, tree.n)}
        counted_tree(paper, robot, at, carried, title, raised=0.55)
        for i in range(tree.n):
            for b in range(tree.block_start[i], tree.block_start[i] + tree.block_count[i]):
                x, y = at[name[i]]
                rows = rows_of_block(tree, b)
                paper.text(x, y - 0.27, f"block {rows} × {rows}", 7, color=COUPLING, weight="bold")
                ring = {"markerfacecolor": "none", "markeredgecolor": COUPLING, "markeredgewidth": 1.6}
                if i:
                    paper.axes.plot(x, y, "s", markersize=11, zorder=9, **ring)
        for tie in ties(robot):
            paper.line(
                at[tie.bodies[0]],
                at[tie.bodies[1]],
                LOOP,
                bend=-0.2,
                linestyle=(0, (4, 2)),
                linewidth=1.0,
            )
    return paper.figure


# Elimination ---------------------------------------------------------------------------------------------------


def first_couplings(tree: Tree) -> set[frozenset[int]]:
    """Pairs of moving bodies that one row binds."""
    found = set()
    for r in range(tree.nc):
        bodies = {int(b) for b, row in zip(tree.k_body, tree.k_row, strict=True) if row == r and b > 0}
        found |= {frozenset((a, b)) for a in bodies for b in bodies if a < b}
    return found


def lcaba() -> Any:
    """Jansen's leg, a body after the other."""
    robot = lw.zoo.jansen()
    tree, name = lcaba_tree(robot), numbers(robot)
    order = [int(i) for i in tree.elimination_order[1:]]
    wide, tall = 2.0, 1.95
    paper = Paper(4 * wide, 2 * tall)
    pairs, gone = first_couplings(tree), set[int]()
    new: set[frozenset[int]] = set()
    for k in range(len(order) + 1):
        x, y = wide * (k % 4), tall * (2 - k // 4)
        at = places(robot, x + 0.28, y - 0.5, 0.66, 0.36)
        now = order[k - 1] if k else 0
        title = "loops couple bodies" if k == 0 else f"{k}  {name[now]}"
        paper.text(x + 0.1, y - 0.16, title, 8, ha="left", weight="bold")
        if k:
            start, count = int(tree.neighbor_start[now]), int(tree.neighbor_count[now])
            near = {int(j) for j in tree.neighbor_body[start : start + count]}
            assert near == {j for pair in pairs if now in pair for j in pair - {now}}
            joined = near | ({int(tree.parent[now])} - {0} if near else set())
            met = ", ".join(name[j] for j in sorted(near)) or "none"
            paper.text(x + 0.1, y - tall + 0.14, f"neighbors: {met}", 7, ha="left", color=FAINT)
            pairs = {pair for pair in pairs if now not in pair}
            new = {frozenset((a, b)) for a in joined for b in joined if a < b} - pairs
            pairs |= new
            gone.add(now)
        for joint in robot.joints:
            i = next(n for n, body in name.items() if body == joint.child)
            paper.line(at[joint.parent], at[joint.child], "#dddddd" if i in gone else FAINT)
        for pair in pairs:
            a, b = sorted(pair)
            fresh = pair in new
            paper.line(
                at[name[a]],
                at[name[b]],
                COUPLING if fresh else LOOP,
                bend=-0.5 if at[name[a]][0] == at[name[b]][0] else -0.22,
                linewidth=1.8 if fresh else 1.3,
                linestyle="-" if fresh else (0, (4, 2)),
            )
        for i, body in name.items():
            faded = i in gone and i != now
            paper.body(
                at[body],
                body,
                MARKED if i == now and k else "white",
                "#cccccc" if faded else INK,
                "#666666" if faded else INK,
            )
            if i in gone:
                paper.cross(at[body], 0.11)
    return paper.figure


def clusters() -> Any:
    """Belts over two joints each: bodies by clusters, and the tree that is left."""
    robot = lw.zoo.belt_chain(4, group=2)
    found = lw.loops.clusters(robot)
    paper = Paper(7.3, 2.75)
    at = places(robot, 0.4, 2.2, 0.86, 0.44)
    face = {body: PASTELS[k] for k, cluster in enumerate(found) for body in cluster.bodies}
    paper.text(0.15, 2.6, "bodies and belts", 8, ha="left", weight="bold")
    for tie in ties(robot):
        paper.line(at[tie.bodies[0]], at[tie.bodies[1]], COUPLING, bend=0.15, linestyle=(0, (1, 1.5)), linewidth=1.4)
    draw_tree(paper, robot, at, face)
    left = 4.75
    paper.text(left, 2.6, "the tree of clusters", 8, ha="left", weight="bold")
    nodes = {"world": (left + 0.3, 2.1)}
    owner = {body: cluster for cluster in found for body in cluster.bodies}
    for k, cluster in enumerate(found):
        x, y = left + 0.75, 1.55 - 0.95 * k
        nodes[cluster.bodies[0]] = (x, y)
        top = nodes["world"] if cluster.top == "world" else nodes[owner[cluster.top].bodies[0]]
        paper.line(top, (x, y), FAINT)
        words = f"free: {', '.join(cluster.independent)}\ntied: {', '.join(cluster.dependent)}"
        paper.text(x + 0.3, y, words, 7, ha="left", linespacing=1.4)
        paper.axes.plot(x, y, "o", markersize=22, color=PASTELS[k], markeredgecolor=INK, zorder=5)
        paper.text(x, y, f"{len(cluster.joints)}", 9)
    paper.body(nodes["world"], "world")
    return paper.figure


# Inverse inertia -------------------------------------------------------------------------------------------------


def osim() -> Any:
    """A short stalk held at four tips: where pairs of rows meet, and the blocks of D that they fill there."""
    robot = lw.zoo.stalk(3, 2, links=2)
    tree, name = efpa_tree(robot), numbers(robot)
    paper = Paper(7.3, 2.95)
    at = places(robot, 0.4, 2.45, 0.78, 0.55)
    paper.text(0.15, 2.8, "rows on their way down, and where they meet others", 8, ha="left", weight="bold")
    home = {int(m): body for body, m in ((int(b), m) for m, b in enumerate(tree.k_body)) if body > 0}
    row = {m: int(tree.k_row[m]) for m in home}
    meets: dict[tuple[int, int], int] = {}
    for i in range(1, tree.n):
        for s in range(int(tree.path_start[i]), int(tree.path_start[i] + tree.path_count[i])):
            one = int(tree.path_k[s])
            for other in tree.common_path[int(tree.common_start[s]) : int(tree.common_start[s] + tree.common_count[s])]:
                meets[row[one], row[int(tree.path_k[int(other)])]] = i
    seats = sorted(set(meets.values()))
    color = {i: PASTELS[k % len(PASTELS)] for k, i in enumerate(seats)}
    for joint in robot.joints:
        i = next(n for n, body in name.items() if body == joint.child)
        count = int(tree.path_count[i])
        goes = any(tree.path_parent[s] >= 0 for s in range(int(tree.path_start[i]), int(tree.path_start[i] + count)))
        paper.line(
            at[joint.child], at[joint.parent], LOOP if goes else FAINT, linewidth=0.8 + 0.15 * (count if goes else 0)
        )
    for i, body in name.items():
        paper.body(at[body], body if i else "world", color.get(i, "white"))
        if i and tree.path_count[i]:
            paper.text(at[body][0], at[body][1] - 0.19, f"{int(tree.path_count[i])} rows", 6, color=LOOP)
    size, left, top = 0.095, 4.75, 2.6
    for (r, s), i in meets.items():
        for a, b in {(r, s), (s, r)}:
            paper.cell(left + size * b, top - size * a, size, color[i])
    paper.frame(left, top, size * tree.nc, size * tree.nc)
    paper.text(left + size * tree.nc / 2, 0.18, f"D = J M⁻¹ J', {tree.nc} × {tree.nc}, by where rows meet", 7.5)
    return paper.figure


def delassus() -> Any:
    """What is done once for q, once for a damping, and for each vector."""
    robot = lw.zoo.quadruped_standing()
    tree, name = constrained_tree(robot), numbers(robot)
    own = started(tree)
    paper = Paper(7.3, 3.45)
    for k, (title, outward) in enumerate(
        (("f: forces of rows, down to the root", False), ("D f: accelerations, out to the rows", True))
    ):
        at = places(robot, 0.35 + 3.7 * k, 2.95, 0.66, 0.48)
        paper.text(0.15 + 3.7 * k, 3.4, title, 8, ha="left", weight="bold")
        for joint in robot.joints:
            ends = (at[joint.parent], at[joint.child]) if outward else (at[joint.child], at[joint.parent])
            paper.line(*ends, GROUND if outward else LOOP, arrowstyle="-|>", shrinkA=9, shrinkB=9, mutation_scale=7)
        for i, body in name.items():
            if i == 0:
                paper.body(at[body], body)
                continue
            paper.axes.plot(*at[body], "o", markersize=5, color=INK, zorder=7)
            if own[i]:
                paper.text(
                    at[body][0] + 0.1, at[body][1], f"{own[i]} rows", 7, ha="left", color=GROUND if outward else LOOP
                )
    stages = (
        ("once for q", "weigh, lay", "rows of K, articulated inertias", PASTELS[2]),
        ("once for a damping", "tense", "LCABA's factor of M + J' R⁻¹ J", PASTELS[0]),
        ("for each vector", "yield_rows, resist_rows", "two sweeps", PASTELS[1]),
    )
    for k, (when, text, what, face) in enumerate(stages):
        x = 0.25 + 2.4 * k
        paper.cell(x, 0.62, 0.14, face)
        paper.text(x + 0.22, 0.55, when, 8, ha="left", weight="bold")
        paper.text(x + 0.22, 0.36, text, 7, ha="left", family="monospace")
        paper.text(x + 0.22, 0.18, what, 7, ha="left", color=FAINT)
    return paper.figure


# Time --------------------------------------------------------------------------------------------------------------


def stages(paper: Paper, left: float, wide: float, title: str, scheme: Scheme | None) -> None:
    """Where in a step forward dynamics is asked, and with what weight its answers count."""
    paper.text(left, 2.45, title, 8.5, ha="left", weight="bold")
    base = 0.7
    paper.line((left, base), (left + wide, base), INK)
    for x, words in ((0.0, "t"), (1.0, "t + h")):
        paper.line((left + wide * x, base - 0.05), (left + wide * x, base + 0.05), INK)
        paper.text(left + wide * x, base - 0.16, words, 7.5)
    if scheme is None:
        paper.axes.plot(left, base, "o", markersize=8, color=MARKED, markeredgecolor=INK, zorder=7)
        paper.line((left, base + 0.35), (left + wide, base + 0.35), GROUND, arrowstyle="-|>")
        paper.text(left + wide / 2, base + 0.5, "v₁ = v + h a(q, v)", 7.5)
        paper.line((left + wide, base + 0.75), (left, base + 0.75), COUPLING, arrowstyle="<|-")
        paper.text(left + wide / 2, base + 0.9, "q₁ = q ⊕ h v₁", 7.5)
        paper.text(left, 2.28, "1 call of forward dynamics, order 1", 7.5, ha="left", color=FAINT)
        return
    n = len(scheme.b)
    for s in range(n):
        x, y = left + wide * sum(scheme.a[s]), base + 0.16 + 0.17 * s
        paper.line((left + wide * sum(scheme.a[s]), base), (x, y), FAINT, linewidth=0.6)
        paper.axes.plot(
            x, y, "o", markersize=8, color=MARKED if scheme.b[s] else "white", markeredgecolor=INK, zorder=7
        )
        paper.text(x, y, f"{s + 1}", 6)
    words = textwrap.wrap("weights " + ", ".join(fraction(b) for b in scheme.b if b), 34)
    paper.text(left, base - 0.3, "\n".join(words), 7, ha="left", va="top")
    calls = f"{n} calls, order {scheme.order}" + (", error estimated" if any(scheme.e) else "")
    paper.text(left, 2.28, calls, 7.5, ha="left", color=FAINT)


def fraction(x: float) -> str:
    """A number as it stands in the tableau."""
    from fractions import Fraction

    exact = Fraction(x).limit_denominator(10_000)
    return f"{exact.numerator}/{exact.denominator}".replace("-", "−")


def motion() -> Any:
    """Stages of the integrators."""
    paper = Paper(7.7, 2.6)
    for k, (title, scheme) in enumerate((("euler (semi-implicit)", None), ("rk4", RK4), ("dopri5", DOPRI5))):
        stages(paper, 0.2 + 2.5 * k, 1.95, title, scheme)
    return paper.figure


def impact() -> Any:
    """Velocities of the rows of a quadruped's feet, before and after it lands."""
    robot = lw.zoo.quadruped_standing()
    q, v = robot.poses["assembled"], np.zeros(robot.nv)
    v[:6] = 0.4, 0.0, -1.0, 0.0, 0.5, 0.0
    J = lw.constraint_jacobian(robot, q)
    strike = lw.ImpactDynamics(robot, "prox_bbo")
    figure = blank(6.6, 2.2)
    axes = figure.add_axes((0.09, 0.24, 0.89, 0.6))
    bars = {"before": J @ v} | {f"after, e = {e:g}": J @ strike(q, v, e).velocity for e in (0.0, 0.5, 1.0)}
    for k, (label, height) in enumerate(bars.items()):
        axes.bar(
            np.arange(robot.nc) + 0.2 * (k - 1.5), height, 0.19, label=label, color=(FAINT, LOOP, MARKED, GROUND)[k]
        )
    axes.axhline(0, color=INK, linewidth=0.6)
    axes.set_xticks(
        range(robot.nc),
        [f"{c.name.removeprefix('contact')}.{'xyz'[r]}" for c in robot.constraints for r in range(c.rows)],
        fontsize=7,
    )
    axes.set_ylabel("velocity, m/s", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=7, ncols=4, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    figure.text(0.5, 0.03, "rows: foot and axis", fontsize=7, ha="center", color=FAINT)
    return figure


PICTURES: dict[str, Callable[[], Any]] = {
    "rnea": rnea,
    "crba": crba,
    "aba": aba,
    "ltl": ltl,
    "pv": pv,
    "bbo": bbo,
    "lcaba": lcaba,
    "clusters": clusters,
    "osim": osim,
    "delassus": delassus,
    "motion": motion,
    "impact": impact,
}
"""All pictures, by name."""


def main(folder: Path = FOLDER, ending: str = ".svg") -> None:
    """Draw them all."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        write_picture(draw(), folder / f"{name}{ending}")


if __name__ == "__main__":
    main(*(Path(word) if k == 0 else word for k, word in enumerate(sys.argv[1:])))  # type: ignore[arg-type]
