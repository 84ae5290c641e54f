# SPDX-License-Identifier: BSD-3-Clause
"""Draw the pictures of the guide pages: ``python scripts/make_pictures.py [name ...]`` writes docs/pictures/<name>.svg.

Each picture is a function below. All but two are computed: they show what the library says of a mechanism.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.drawing.pictures import COUPLING, FAINT, GROUND, INK, LOOP, PASTELS, blank, write_picture

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
PICTURES: dict[str, Callable[[], Any]] = {}


def picture(name: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Mark a function that draws the picture of that name: it gives a figure."""

    def keep(draw: Callable[[], Any]) -> Callable[[], Any]:
        PICTURES[name] = draw
        return draw

    return keep


def main(names: list[str]) -> None:
    """Draw these pictures, or all."""
    FOLDER.mkdir(exist_ok=True)
    for name in names or PICTURES:
        if name not in PICTURES:
            sys.exit(f"no picture '{name}'; there are {', '.join(PICTURES)}")
        write_picture(PICTURES[name](), FOLDER / f"{name}.svg")
        print(FOLDER / f"{name}.svg")


# What is drawn -------------------------------------------------------------------------------------------


def linkage() -> tuple[lw.Mechanism, np.ndarray]:
    """The four-bar of the guide, and a configuration in which its loop is closed."""
    build = lw.Builder("linkage")
    for name, length in {"crank": 0.5, "coupler": 1.2, "rocker": 0.9}.items():
        build.body(name, lw.Inertia.rod(1.0, (0, 0, 0), (length, 0, 0)))
    build.joint("motor", lw.joints.Revolute("y"), "world", "crank", actuated=True)
    build.joint("knee", lw.joints.Revolute("y"), "crank", "coupler", at=(0.5, 0, 0))
    build.joint("hip", lw.joints.Revolute("y"), "world", "rocker", at=(1, 0, 0))
    build.joint("ankle", lw.joints.Revolute("y"), "coupler", "rocker", at=(1.2, 0, 0), child_at=(0.9, 0, 0), cut=True)
    robot = build.build()
    return robot, robot.assemble([-1.1, 1.4, -1.0], fixed=["motor"])


def leg() -> lw.Mechanism:
    """A shin, a foot, and a motor at the knee that turns the ankle through a four-bar; the foot on the ground."""
    build = lw.Builder("leg")
    build.body("shin", lw.Inertia.rod(2.0, (0, 0, 0), (0, 0, -0.4)))
    build.body("foot", lw.Inertia.box(0.8, (0.2, 0.08, 0.05)))
    build.body("crank", lw.Inertia.rod(0.1, (0, 0, 0), (0.06, 0, 0)))
    build.body("rod", lw.Inertia.rod(0.2, (0, 0, 0), (0, 0, -0.4)))
    build.body("rotor", lw.Inertia.sphere(0.1, 0.02))
    build.joint("knee", lw.joints.Revolute("y"), "world", "shin", actuated=True)
    build.joint("ankle", lw.joints.Revolute("y"), "shin", "foot", at=(0, 0, -0.4))
    build.joint("motor", lw.joints.Revolute("y"), "shin", "crank", actuated=True)
    build.joint("crank_pin", lw.joints.Revolute("y"), "crank", "rod", at=(0.06, 0, 0))
    build.joint("foot_pin", lw.joints.Revolute("y"), "rod", "foot", at=(0, 0, -0.4), child_at=(0.08, 0, 0.0), cut=True)
    build.joint("spin", lw.joints.Revolute("y"), "world", "rotor")
    return build.constrain(lw.constraints.Gear("spin", "knee", 9.0, name="gear")).build()


def paper(wide: float, tall: float) -> tuple[Any, Any]:
    """A figure without axes, in the units of inches."""
    figure = blank(wide, tall)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, wide), ylim=(0, tall))
    axes.set_axis_off()
    return figure, axes


def plot(wide: float = 6.0, tall: float = 3.0, **labels: Any) -> tuple[Any, Any]:
    """A figure with plain axes."""
    figure = blank(wide, tall)
    axes = figure.add_subplot(**labels)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    axes.xaxis.label.set_size(9)
    axes.yaxis.label.set_size(9)
    return figure, axes


def arrow(axes: Any, start: Any, end: Any, color: str = INK, **how: Any) -> None:
    """An arrow from here to there."""
    style = {"arrowstyle": "-|>", "color": color, "shrinkA": 0, "shrinkB": 0, "lw": 1.4, **how}
    axes.annotate("", xy=end, xytext=start, arrowprops=style)


# First steps -----------------------------------------------------------------------------------------------


@picture("first-steps-graph")
def _first_graph() -> Any:
    return linkage()[0].draw_graph()


@picture("first-steps-run")
def _first_run() -> Any:
    robot = replace(linkage()[0], name="linkage")
    q = robot.assemble([0.7, 0.0, 0.0], fixed=["motor"])
    v = robot.project_velocity(q, [np.pi, 0, 0])
    return lw.simulate(robot, q, v, seconds=2.0, integrator="rk4", record_every=10).plot()


# Concepts --------------------------------------------------------------------------------------------------


@picture("linkage")
def _linkage() -> Any:
    """The four-bar with its coordinates: two branches of a tree, and a loop that closes them."""
    robot, q = linkage()
    ends = {"crank": 0.5, "coupler": 1.2, "rocker": 0.9}
    pose = {name: lw.frame_placement(robot, q, name) for name in ends}
    start = {name: pose[name].position[[0, 2]] for name in ends}
    stop = {name: (pose[name].position + pose[name].rotation @ [length, 0, 0])[[0, 2]] for name, length in ends.items()}
    figure = blank(6.4, 3.6)
    axes = figure.add_axes((0, 0, 1, 1), aspect="equal", xlim=(-0.5, 2.1), ylim=(-0.3, 1.1625))
    axes.set_axis_off()
    for x in (0.0, 1.0):
        axes.plot([x - 0.1, x + 0.1], [-0.06, -0.06], color=INK, lw=1)
        axes.fill([x, x - 0.05, x + 0.05], [0, -0.06, -0.06], color="#dddddd", ec=INK, lw=1)
    for name, color in zip(ends, ("#d98a2b", "#3a78c2", "#4a9a5a"), strict=True):
        axes.plot(*zip(start[name], stop[name], strict=True), color=color, lw=7, solid_capstyle="round", zorder=2)
        middle, along = 0.5 * (start[name] + stop[name]), stop[name] - start[name]
        aside = np.array([-along[1], along[0]]) / np.linalg.norm(along)
        axes.text(*(middle + 0.14 * aside), name, ha="center", va="center", color=color, fontsize=11, weight="bold")
    for name, at in (("motor", start["crank"]), ("knee", start["coupler"]), ("hip", start["rocker"])):
        axes.plot(*at, "o", color="white", mec=INK, ms=9, zorder=4)
        axes.text(at[0] - 0.1, at[1] + 0.06, name, ha="right", va="center", fontsize=10)
    for name, base in (("crank", 0.0), ("rocker", 0.0), ("coupler", None)):
        along = stop[name] - start[name]
        first = np.arctan2(*(stop["crank"] - start["crank"])[::-1]) if base is None else base
        turn = np.linspace(first, np.arctan2(along[1], along[0]), 40)
        axes.plot(start[name][0] + 0.19 * np.cos(turn), start[name][1] + 0.19 * np.sin(turn), color=INK, lw=1, zorder=1)
        ray = start[name] + 0.3 * np.array([np.cos(first), np.sin(first)])
        axes.plot(*zip(start[name], ray, strict=True), color=FAINT, lw=0.8, ls=(0, (3, 3)), zorder=1)
        at = start[name] + 0.26 * np.array([np.cos(turn.mean()), np.sin(turn.mean())])
        label = {"crank": "q[0]", "coupler": "q[1]", "rocker": "q[2]"}[name]
        axes.text(*at, label, ha="center", va="center", fontsize=9, family="monospace")
    axes.plot(*stop["coupler"], "o", color=LOOP, ms=10, zorder=5)
    axes.text(*(stop["coupler"] + [0.07, 0.06]), "ankle: closes the loop", color=LOOP, fontsize=10, va="center")
    axes.text(0.5, -0.17, "world", ha="center", color=INK, fontsize=10)
    return figure


@picture("leg-graph")
def _leg_graph() -> Any:
    return leg().draw_graph()


@picture("frames")
def _frames() -> Any:
    """A body on a free joint: what q and v are."""
    figure, axes = paper(6.4, 2.7)
    origin, center, angle = np.array([0.7, 0.5]), np.array([4.0, 1.45]), np.radians(25)
    along, up = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    corners = [center + a * 1.0 * along + b * 0.42 * up for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    axes.fill(*zip(*corners, strict=True), color=PASTELS[2], ec=INK, lw=1)
    for side, name in ((np.array([0.8, 0.0]), "x"), (np.array([0.0, 0.8]), "z")):
        arrow(axes, origin, origin + side)
        axes.text(*(origin + 1.12 * side), name, ha="center", va="center", fontsize=10)
    axes.text(origin[0] - 0.08, origin[1] - 0.2, "world", ha="center", fontsize=10)
    for direction, name in ((along, "x"), (up, "z")):
        arrow(axes, center, center + 0.62 * direction)
        axes.text(*(center + 0.74 * direction), name, ha="center", va="center", fontsize=10)
    arrow(axes, origin, center, FAINT, lw=1.2, linestyle=(0, (4, 3)))
    axes.text(2.15, 1.2, "q[0:3]  position", fontsize=10, family="monospace", color=INK, ha="center", rotation=16)
    turn = np.linspace(np.pi * 0.05, np.pi * 0.75, 30)
    swing = center + np.stack([1.25 * np.cos(turn + angle), 0.85 * np.sin(turn + angle)], axis=-1)
    axes.plot(*swing.T, color=GROUND, lw=1.5)
    arrow(axes, swing[-2], swing[-1], GROUND)
    axes.text(3.55, 2.45, "v[3:6]  angular, body axes", fontsize=10, family="monospace", color=GROUND, ha="center")
    arrow(axes, center, center + np.array([1.45, 0.12]), LOOP, lw=1.8)
    axes.text(5.5, 1.57, "v[0:3]", fontsize=10, family="monospace", color=LOOP, va="center")
    axes.text(5.5, 1.37, "linear,", fontsize=10, family="monospace", color=LOOP, va="center")
    axes.text(5.5, 1.17, "body axes", fontsize=10, family="monospace", color=LOOP, va="center")
    axes.text(3.4, 0.45, "q[3:7]  quaternion x y z w", fontsize=10, family="monospace", ha="left")
    return figure


@picture("redundant")
def _redundant() -> Any:
    """A table on three and on four legs, its weight off center: what the legs carry."""
    figure = blank(6.4, 2.6)
    corners = {3: [(-0.4, -0.3), (0.4, -0.3), (0.0, 0.3)], 4: [(-0.4, -0.3), (0.4, -0.3), (0.4, 0.3), (-0.4, 0.3)]}
    for k, (count, feet) in enumerate(corners.items()):
        build = lw.Builder("table").body("top", lw.Inertia.box(10.0, (1.0, 0.8, 0.05), com=(0.1, -0.1, 0.0)))
        table = build.joint("free", lw.joints.Free(), "world", "top").build()
        legs = [
            lw.constraints.PointOnPlane("world", "top", first_at=(0, 0, -0.7), second_at=(*foot, -0.7), name=f"leg{n}")
            for n, foot in enumerate(feet)
        ]
        standing = table.constrained(*legs)
        q, rest = standing.neutral(), np.zeros(6)
        forces = lw.ForwardDynamics(standing)(q, rest, rest).forces
        report = standing.mobility(q)
        axes = figure.add_axes((0.5 * k, 0, 0.5, 1), aspect="equal", xlim=(-0.75, 0.75), ylim=(-0.68, 0.55))
        axes.set_axis_off()
        axes.fill([-0.5, 0.5, 0.5, -0.5], [-0.4, -0.4, 0.4, 0.4], color=PASTELS[0], ec=INK, lw=1)
        for n, foot in enumerate(feet):
            axes.plot(*foot, "o", color=GROUND, ms=9)
            left = foot[0] <= 0
            note = {"ha": "left" if left else "right", "va": "center", "fontsize": 10, "color": GROUND}
            axes.text(foot[0] + (0.06 if left else -0.06), foot[1], f"{forces[f'leg{n}'][0]:.1f} N", **note)
        axes.plot(0.1, -0.1, "x", color=LOOP, ms=8, mew=2)
        axes.text(0.15, -0.1, "98.1 N", fontsize=10, color=LOOP, va="center")
        axes.text(0, -0.55, f"{count} rows of rank {report.rank}", ha="center", fontsize=10)
    return figure


@picture("proximal")
def _proximal() -> Any:
    """What rows miss after each proximal iteration, for several dampings."""
    robot = lw.zoo.stewart()
    q = robot.poses["assembled"]
    v = robot.project_velocity(q, np.random.default_rng(0).normal(size=robot.nv))
    figure, axes = plot(5.6, 2.9, xlabel="iterations", ylabel="largest residual, m/s²", yscale="log")
    for damping, color in ((1e-2, LOOP), (1e-4, COUPLING), (1e-6, GROUND)):
        missed = []
        for n in range(1, 8):
            fd = lw.ForwardDynamics(robot, "lcaba", regularization=damping, tolerance=1e-15, max_iterations=n)
            missed.append(fd(q, v, np.zeros(robot.nv)).residual)
        axes.plot(range(1, 8), np.maximum(missed, 1e-15), "o-", color=color, ms=4, lw=1.5, label=f"damping {damping:g}")
    axes.axhline(1e-10, color=FAINT, lw=0.8, ls="--")
    axes.text(7, 1.4e-10, "tolerance", ha="right", va="bottom", fontsize=8, color=FAINT)
    axes.legend(frameon=False, fontsize=9)
    figure.tight_layout()
    return figure


@picture("ways")
def _ways() -> Any:
    """One text, and the ways to run it."""
    figure, axes = paper(6.6, 2.9)

    def box(x: float, y: float, wide: float, title: str, text: str, color: str) -> None:
        from matplotlib.patches import FancyBboxPatch

        axes.add_patch(FancyBboxPatch((x, y - 0.3), wide, 0.6, boxstyle="round,pad=0.04", fc=color, ec=INK, lw=1))
        axes.text(x + wide / 2, y + 0.12, title, ha="center", va="center", fontsize=10, weight="bold")
        axes.text(x + wide / 2, y - 0.14, text, ha="center", va="center", fontsize=8)

    box(0.15, 1.45, 1.45, "kernel text", "one Python function", PASTELS[5])
    rows = {
        2.4: ("plain()", "Python, as it stands", PASTELS[9]),
        1.45: ("native", "machine code, any robot", PASTELS[2]),
    }
    rows[0.5] = ("compile()", "a program for one robot", PASTELS[1])
    for y, (title, text, color) in rows.items():
        box(2.4, y, 1.6, title, text, color)
        arrow(axes, (1.66, 1.45), (2.34, y), lw=1.1)
    box(4.9, 0.95, 1.5, "bind()", "no arguments, no memory", PASTELS[3])
    for y in (1.45, 0.5):
        arrow(axes, (4.06, y), (4.84, 0.95 + 0.12 * np.sign(y - 0.95)), lw=1.1)
    box(4.9, 2.15, 1.5, "batches", "leading axes, lanes, cores", PASTELS[4])
    for y in (1.45, 0.5):
        arrow(axes, (4.06, y + 0.1), (4.84, 2.15 - (0.0 if y > 1 else 0.15)), lw=1.1)
    return figure


@picture("operations")
def _operations() -> Any:
    """Exact operations of methods on two mechanisms: three iterations where they iterate."""
    cases = {"Stewart platform": lw.zoo.stewart(), "geared chain of 6": lw.zoo.geared_chain(6)}
    names = ("cluster", "prox_bbo", "lcaba", "prox_pv", "prox_ltl", "projection")
    figure = blank(6.4, 2.7)
    for k, (title, robot) in enumerate(cases.items()):
        costs = lw.methods.method_costs(robot)
        counts = {name: costs[name].in_iterations(3) for name in names if name in costs}
        axes = figure.add_subplot(1, 2, k + 1)
        shown = sorted(counts, key=counts.__getitem__, reverse=True)
        axes.barh(shown, [counts[name] / 1000 for name in shown], color=PASTELS[2], ec=INK, lw=0.8, height=0.65)
        for y, name in enumerate(shown):
            note = f"{counts[name]:,}".replace(",", " ")
            axes.text(counts[name] / 1000 + 0.015 * max(counts.values()) / 1000, y, note, va="center", fontsize=8)
        axes.set_title(title, fontsize=10)
        axes.set_xlim(0, max(counts.values()) / 1000 * 1.3)
        axes.set_xlabel("thousand operations", fontsize=9)
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    return figure


@picture("delassus")
def _delassus() -> Any:
    """The Delassus matrix of three boxes on top of each other, four contact points between any two."""
    robot = lw.zoo.stack(3)
    D = lw.Delassus(robot).at(robot.poses["assembled"]).toarray()
    figure = blank(4.6, 3.5)
    axes = figure.add_subplot()
    most = np.abs(D).max()
    shown = axes.imshow(D, cmap="RdBu_r", vmin=-most, vmax=most)
    axes.set_xticks([])
    axes.set_yticks([])
    for at in (11.5, 23.5):
        axes.axhline(at, color=INK, lw=0.6)
        axes.axvline(at, color=INK, lw=0.6)
    for k, name in enumerate(("ground, box 0", "box 0, box 1", "box 1, box 2")):
        axes.text(-1.2, 12 * k + 5.5, name, ha="right", va="center", fontsize=8)
    figure.colorbar(shown, shrink=0.85).set_label("m/s² per N", fontsize=9)
    figure.tight_layout()
    return figure


@picture("drift")
def _drift() -> Any:
    """How far the loop of the four-bar opens, by how it is kept closed."""
    robot, q = linkage()
    v = robot.project_velocity(q, [6.0, 0, 0])
    figure, axes = plot(6.0, 3.0, xlabel="seconds", ylabel="loop open by, m or rad", yscale="log")
    ways: dict[str, tuple[dict[str, Any], str]] = {
        "time_constant=None": ({"time_constant": None}, LOOP),
        "time_constant=0.005": ({}, COUPLING),
        "project_every=10": ({"project_every": 10}, GROUND),
    }
    for name, (options, color) in ways.items():
        run = lw.simulate(robot, q, v, seconds=5.0, dt=1e-3, integrator="euler", record_every=10, **options)
        axes.plot(run.times[1:], np.maximum(run.errors[1:], 1e-16), color=color, lw=1.2, label=name)
    free = lw.Minimal(robot)
    motion, rate, error = lw.loops.MinimalMotion(robot), v[free.index], []
    at = q
    for k in range(1, 5001):
        at, rate = motion.step(at, rate, 1e-3)
        if k % 10 == 0:
            error.append(max(float(np.abs(lw.constraint_error(robot, at)).max()), 1e-16))
    axes.plot(1e-2 * np.arange(1, 501), error, color=FAINT, lw=1.2, label="MinimalMotion")
    axes.legend(frameon=False, fontsize=8, ncols=2, loc="center")
    figure.tight_layout()
    return figure


# Contact ---------------------------------------------------------------------------------------------------


@picture("contact-frame")
def _contact_frame() -> Any:
    """A contact of two shapes: gap, frame, friction cone, and a force in it."""
    mu, high, radius = 0.6, 1.5, 0.85
    tip, center = np.array([2.45, 1.2]), np.array([2.45, 2.2])
    figure, axes = paper(6.4, 3.4)
    axes.fill([0, 6.4, 6.4, 0], [0, 0, 1.05, 1.05], color="#eceff2")
    axes.plot([0, 6.4], [1.05, 1.05], color=INK, lw=1.2)
    turn = np.linspace(0, 2 * np.pi, 200)
    ball = center[:, None] + radius * np.stack([np.cos(turn), np.sin(turn)])
    axes.fill(*ball, color=PASTELS[2], zorder=1)
    axes.plot(*ball, color=INK, lw=1.2, zorder=2)
    corners = np.array([tip, tip + np.array([mu * high, high]), tip + np.array([-mu * high, high])])
    axes.fill(*corners.T, color=COUPLING, alpha=0.12, zorder=3)
    axes.plot(*corners[[1, 0, 2]].T, color=COUPLING, lw=1, zorder=3)
    rim = np.stack([tip[0] + mu * high * np.cos(turn), tip[1] + high + 0.13 * np.sin(turn)])
    axes.plot(*rim, color=COUPLING, lw=1, zorder=3)
    axes.text(
        corners[1, 0] + 0.08, corners[1, 1], r"$K$: $|f_t| \leq \mu f_n$", color=COUPLING, fontsize=11, va="center"
    )
    for end, word, where in (((0.0, 1.05), "$n$", (-0.14, 0.97)), ((1.05, 0.0), "$t_1$", (1.0, 0.14))):
        arrow(axes, tip, tip + np.array(end), INK, zorder=5)
        axes.text(*(tip + np.array(where)), word, fontsize=12, ha="center", va="center", zorder=6)
    force = tip + np.array([-0.42, 1.15])
    arrow(axes, tip, force, LOOP, lw=2.0, zorder=5)
    axes.text(force[0] - 0.14, force[1] + 0.05, "$f$", color=LOOP, fontsize=12, ha="center", zorder=6)
    axes.plot(*tip, "o", color=LOOP, ms=5, zorder=6)
    arrow(axes, (3.4, 2.2), (4.3, 2.2), GROUND, lw=2.0)
    axes.text(3.45, 2.32, "$u$: velocity of the second shape", color=GROUND, fontsize=10, ha="left")
    axes.plot([0.75, 1.6], [1.35, 1.35], color=FAINT, lw=0.8, ls=(0, (3, 3)), zorder=4)
    arrow(axes, (0.95, 1.05), (0.95, 1.35), INK, arrowstyle="<|-|>", lw=1.0)
    axes.text(0.85, 1.2, "gap $g$", fontsize=10, ha="right", va="center")
    axes.text(0.25, 0.5, "first shape: the ground", fontsize=10, color=INK)
    axes.text(center[0], center[1] + 0.98, "second shape", fontsize=10, ha="center", zorder=6)
    axes.text(2.6, 0.5, "$f$ acts on the second shape, $-f$ on the first", fontsize=10, color=LOOP, ha="left")
    return figure


@picture("contact-sliding")
def _contact_sliding() -> Any:
    """A box that slides to rest, and a ball that bounces: velocities, forces and energies over time."""
    box = lw.zoo.sliding_box(friction=0.4)
    slid = lw.simulate(box, v=[1.0, 0, 0, 0, 0, 0], seconds=0.4)
    ball = lw.zoo.bouncing_ball(restitution=0.7, height=0.3)
    bounced = lw.simulate(ball, seconds=1.4)
    figure = blank(7.2, 4.4)
    axes = figure.subplots(2, 2, sharex="col")
    push = slid.contacts["ground:box0"].forces.sum(axis=1)
    axes[0, 0].plot(slid.times, slid.v[:, 0], color=COUPLING)
    axes[0, 0].set(ylabel="velocity [m/s]", title="a box slides to rest, friction 0.4")
    friction = np.hypot(push[1:, 0], push[1:, 1])
    axes[1, 0].plot(slid.times[1:], push[1:, 2], color=INK, label="normal force")
    axes[1, 0].plot(slid.times[1:], friction, color=LOOP, label="friction")
    axes[1, 0].set(ylabel="force [N]", xlabel="time [s]", ylim=(0, 12))
    axes[0, 1].plot(bounced.times, bounced.q[:, 2] - 0.1, color=COUPLING)
    axes[0, 1].set(ylabel="height [m]", title="a ball bounces, restitution 0.7", ylim=(0, None))
    lost, energy = bounced.contacts.dissipated["total"], bounced.energy["total"]
    axes[1, 1].plot(bounced.times, energy - energy[-1], color=INK, label="energy left")
    axes[1, 1].plot(bounced.times, lost, color=LOOP, label="dissipated")
    axes[1, 1].set(ylabel="energy [J]", xlabel="time [s]")
    for one in axes.flat:
        one.spines[["top", "right"]].set_visible(False)
        one.tick_params(labelsize=8)
        one.title.set_size(9)
        one.xaxis.label.set_size(9)
        one.yaxis.label.set_size(9)
    for one in axes[1]:
        one.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    return figure


if __name__ == "__main__":
    main(sys.argv[1:])
