# SPDX-License-Identifier: BSD-3-Clause
"""Draw the pictures of motors and rays: ``python scripts/sensing_pictures.py`` writes them to docs/pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.drawing.pictures import FAINT, GROUND, INK, LOOP, PASTELS, blank, write_picture

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"


def motors() -> Any:
    """A step of the command of a motor, and its torque over speed."""
    build = lw.Builder("wheel", gravity=(0, 0, 0))
    build.body("rim", lw.Inertia(1.0, (0, 0, 0), 0.5 * np.eye(3)))
    build.joint("axle", lw.joints.Revolute("z"), "world", "rim", actuated=True)
    build.actuator("motor", "axle")
    ideal = build.build()
    motor = lw.actuators.Motor(stall=20.0, no_load=10.0, coulomb=1.5, static=3.0, stribeck=0.6, smoothing=0.02, delay=8)
    real = ideal.with_motors(motor)
    figure = blank(8.0, 3.0)
    time, curve = figure.subplots(1, 2)
    run = lw.simulate(real, [0.0], seconds=1.0, dt=0.01, commands=[15.0])
    late = lw.actuators.Motor(stall=20.0, no_load=10.0, coulomb=1.5, static=3.0, stribeck=0.6, smoothing=0.02)
    force = np.diff(run.v[:, 0]) / 0.01 * 0.5
    time.plot([-0.1, 0, 0, 1], [0, 0, 15, 15], color=FAINT, label="command")
    time.step(run.times[:-1], force, where="post", color=LOOP, label="torque")
    time.plot(run.times, run.v[:, 0], color=GROUND, label="speed")
    time.set_xlabel("time [s]")
    time.legend(frameon=False, fontsize=8)
    v = np.linspace(-12, 12, 961)
    for u, color in ((30.0, LOOP), (0.0, INK), (-30.0, GROUND)):
        commands = np.full((len(v), 1), u)
        tau = lw.actuators.actuator_torques(ideal.with_motors(late), np.zeros((len(v), 1)), v[:, None], commands)
        curve.plot(v, tau[:, 0], color=color, label=f"command {u:g}")
    curve.set_xlabel("speed [rad/s]")
    curve.set_ylabel("torque [N m]")
    curve.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    return figure


def rays() -> Any:
    """A LiDAR among shapes, seen from above, and a height scan of hills."""
    build = lw.Builder("rays")
    build.body("base", lw.Inertia.rod(1.0, (0, 0, 0), (0.3, 0, 0)))
    build.joint("floating", lw.joints.Free(), "world", "base")
    build.shape("world", lw.shapes.Box((6.0, 4.5, 2.0)), (0.4, 0.2, 0.0), role="collision")
    build.shape("world", lw.shapes.Cylinder(0.5, 2.0), (1.8, 1.1, 0.0), role="collision")
    build.shape("world", lw.shapes.Box((0.8, 1.2, 2.0)), (1.6, -0.9, 0.0), role="collision")
    build.shape("world", lw.shapes.Sphere(0.6), (-1.5, 0.9, 0.0), role="collision")
    robot = build.build()
    lidar = lw.sensors.Rays(robot, "base")
    pattern = lw.sensors.lidar(1, (0, 0), resolution=2.0)
    hits = lidar(robot.neutral(), *pattern)
    at: Any = hits.distance[:, None] * pattern.directions
    figure = blank(8.0, 3.6)
    plan = figure.add_axes((0.01, 0.02, 0.46, 0.96), aspect="equal")
    plan.set_axis_off()
    for end in at:
        plan.plot([0, end[0]], [0, end[1]], color=FAINT, lw=0.4, zorder=1)
    plan.quiver(*at.T[:2], *hits.normal.T[:2], color=GROUND, scale=34, width=0.003, zorder=2)
    plan.scatter(at[:, 0], at[:, 1], c=hits.shape, cmap="tab10", s=9, zorder=3)
    plan.plot(0, 0, "o", color=INK, ms=6, zorder=4)
    x, y = np.linspace(-1.6, 1.6, 33), np.linspace(-1.2, 1.2, 25)
    heights = 0.25 * np.sin(2.2 * x)[:, None] * np.cos(2.6 * y)
    hills = lw.Builder("hills")
    hills.body("base", lw.Inertia.rod(1.0, (0, 0, 0), (0.3, 0, 0)))
    hills.joint("floating", lw.joints.Free(), "world", "base")
    hills.shape("world", lw.shapes.HeightField(tuple(map(tuple, heights)), (3.2, 2.4)), role="collision")
    walker = hills.build()
    q = walker.neutral()
    q[2], q[5:7] = 0.6, (np.sin(0.25), np.cos(0.25))
    scan = lw.sensors.height_scan((1.6, 1.0), 0.1, above=0.0)
    depth = lw.sensors.Rays(walker, "base", axes="yaw")(q, *scan)
    turn = np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])
    flat = scan.origins[:, :2] @ turn.T
    relief: Any = figure.add_axes((0.48, -0.05, 0.52, 1.12), projection="3d")
    relief.plot_surface(*np.meshgrid(x, y, indexing="ij"), heights, color=PASTELS[1], lw=0, alpha=0.55)
    relief.scatter(*flat.T, 0.6 - depth.distance + 0.01, c=depth.distance, cmap="viridis_r", s=7, depthshade=False)
    relief.plot([0], [0], [0.6], "o", color=INK, ms=6)
    relief.view_init(38, -60)
    relief.set_box_aspect((3.2, 2.4, 1.0), zoom=1.25)
    relief.set_axis_off()
    return figure


if __name__ == "__main__":
    for draw in (motors, rays):
        write_picture(draw(), FOLDER / f"{draw.__name__}.svg")
        print(FOLDER / f"{draw.__name__}.svg")
