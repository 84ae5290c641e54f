# SPDX-License-Identifier: BSD-3-Clause
"""Random scenes as MJCF: free bodies of all shapes, hulls among them, chains, loops, servos, piles, on planes, in
trays, on height fields. A scene follows from its number."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.spatial import ConvexHull

from linkwork_benchmarks.robots import Floats

Random = np.random.Generator

MOST_BODIES = 20
"""Free bodies of a pile."""


def random_scene(number: int, folder: Path) -> Path:
    """The file of a random scene, written with the meshes that it needs.

    Args:
        number: Which.
        folder: Where files are written.
    """
    rng = np.random.default_rng((33, number))
    meshes = [_hull(rng, folder / f"hull{k}.obj") for k in range(2)]
    ground, field = _ground(rng)
    parts = [ground]
    equalities, actuators, excludes = list[str](), list[str](), list[str]()
    kind = int(rng.integers(4))
    if kind in (1, 3):
        parts.append(_chain(rng, meshes, actuators, excludes))
    if kind == 2:
        parts.append(_loop(rng, equalities, excludes))
    if kind != 1:
        most = MOST_BODIES if kind in (0, 3) else 5
        parts += _bodies(rng, meshes, int(rng.integers(1, most + 1)), 0.3 if kind == 0 else 2.5)
    assets = "".join(f'<mesh name="hull{k}" file="hull{k}.obj"/>' for k in range(2)) + field
    text = f"""<mujoco model="scene {number}">
  <option cone="elliptic"/>
  <asset>{assets}</asset>
  <worldbody>
    {"".join(parts)}
  </worldbody>
  <contact>{"".join(excludes)}</contact>
  <equality>{"".join(equalities)}</equality>
  <actuator>{"".join(actuators)}</actuator>
</mujoco>
"""
    path = folder / f"scene{number}.xml"
    path.write_text(text)
    return path


def _numbers(values: Floats | list[float]) -> str:
    return " ".join(f"{x:.6g}" for x in values)


def _hull(rng: Random, path: Path) -> float:
    """Write a mesh of random points on an ellipsoid; its radius about the origin."""
    points = rng.normal(size=(int(rng.integers(6, 40)), 3))
    radii = 10 ** rng.uniform(-1.3, -0.8, 3)
    points *= radii / np.linalg.norm(points, axis=1)[:, None]
    points -= points.mean(axis=0)
    hull = ConvexHull(points)
    lines = [f"v {_numbers(point)}" for point in points]
    lines += [f"f {' '.join(str(int(k) + 1) for k in triangle)}" for triangle in hull.simplices]
    path.write_text("\n".join(lines) + "\n")
    return float(np.linalg.norm(points - points.mean(axis=0), axis=1).max())


def _ground(rng: Random) -> tuple[str, str]:
    """What bodies fall on: a plane, a tray, or a height field, and the asset that it needs."""
    friction = f'friction="{rng.uniform(0.1, 1.2):.3g} 0.005 0.0001"'
    match int(rng.integers(3)):
        case 0:
            return f'<geom name="floor" type="plane" size="0 0 1" {friction}/>', ""
        case 1:
            walls = "".join(
                f'<geom type="box" pos="{x} {y} .2" size="{sx} {sy} .2"/>'
                for x, y, sx, sy in (
                    (0.8, 0, 0.05, 0.8),
                    (-0.8, 0, 0.05, 0.8),
                    (0, 0.8, 0.8, 0.05),
                    (0, -0.8, 0.8, 0.05),
                )
            )
            return f'<geom name="floor" type="box" pos="0 0 -.1" size=".8 .8 .1" {friction}/>{walls}', ""
    n = 12
    heights = _numbers(rng.uniform(0, 1, n * n))
    size = f"2.5 2.5 {rng.uniform(0.02, 0.2):.3g} .1"
    asset = f'<hfield name="field" nrow="{n}" ncol="{n}" size="{size}" elevation="{heights}"/>'
    return f'<geom name="floor" type="hfield" hfield="field" pos="0 0 -.2" {friction}/>', asset


def _inertial(rng: Random, size: float) -> str:
    mass = float(10 ** rng.uniform(-1.5, 1.5))
    moments = mass * size**2 * rng.uniform(0.3, 0.5, 3)
    return f'<inertial pos="0 0 0" mass="{mass:.4g}" diaginertia="{_numbers(moments)}"/>'


def _geom(rng: Random, meshes: list[float], size: float) -> str:
    """A geom about as large as ``size``."""
    a, b, c = size * rng.uniform(0.4, 1.0, 3)
    condim = int(rng.choice([1, 3, 3, 3, 4, 6]))
    surface = (
        f'condim="{condim}" friction="{rng.uniform(0, 1.5):.3g} {rng.uniform(0, 0.02):.3g} {rng.uniform(0, 0.001):.3g}"'
    )
    shapes = (
        f'type="sphere" size="{a:.4g}"',
        f'type="box" size="{a:.4g} {b:.4g} {c:.4g}"',
        f'type="capsule" size="{a:.4g} {b:.4g}"',
        f'type="cylinder" size="{a:.4g} {b:.4g}"',
        f'type="ellipsoid" size="{a:.4g} {b:.4g} {c:.4g}"',
        f'type="mesh" mesh="hull{int(rng.integers(len(meshes)))}"',
    )
    return f"<geom {shapes[int(rng.integers(len(shapes)))]} {surface}/>"


def _quaternion(rng: Random) -> str:
    x = rng.normal(size=4)
    return _numbers(x / np.linalg.norm(x))


def _bodies(rng: Random, meshes: list[float], count: int, height: float) -> list[str]:
    """Free bodies above each other, which fall into a pile, and do not overlap at the start."""
    found = []
    for k in range(count):
        size = float(10 ** rng.uniform(-1.4, -0.9))
        x, y = rng.uniform(-0.3, 0.3, 2)
        radius = max(2 * size, *meshes)
        height += radius
        geoms = "".join(_geom(rng, meshes, size) for _ in range(int(rng.integers(1, 3))))
        found.append(
            f'<body name="body{k}" pos="{x:.4g} {y:.4g} {height:.4g}" quat="{_quaternion(rng)}"><freejoint/>'
            f"{_inertial(rng, size)}{geoms}</body>"
        )
        height += radius
    return found


def _chain(rng: Random, meshes: list[float], actuators: list[str], excludes: list[str]) -> str:
    """A tree of links on hinges, slides and balls, with limits, dampers, dry friction and servos.

    Links that begin within each other do not touch each other, as files of robots say it.
    """
    n = int(rng.integers(2, 8))
    sizes = [float(x) for x in rng.uniform(0.04, 0.12, n)]
    parents = [-1, *(int(rng.integers(k)) if rng.random() < 0.25 else k - 1 for k in range(1, n))]
    places, offsets = list[Floats](), list[Floats]()
    for k, parent in enumerate(parents):
        way = rng.normal(size=3)
        offsets.append(way / np.linalg.norm(way) * 2.2 * (sizes[k] + sizes[parent]) if k else np.array([0, 0, 1.2]))
        places.append(offsets[k] + (places[parent] if k else 0.0))
        excludes += [
            f'<exclude body1="link{j}" body2="link{k}"/>'
            for j in range(k)
            if np.linalg.norm(places[j] - places[k]) < 2 * max(sizes[j] + sizes[k], *meshes) and j != parent
        ]
    free = bool(rng.random() < 0.6)

    def link(k: int) -> str:
        joint = "<freejoint/>" if k == 0 and free else _joint(rng, k, actuators)
        children = "".join(link(j) for j in range(k + 1, n) if parents[j] == k)
        body = f"{joint}{_inertial(rng, sizes[k])}{_geom(rng, meshes, sizes[k])}{children}"
        return f'<body name="link{k}" pos="{_numbers(offsets[k])}">{body}</body>'

    return link(0)


def _joint(rng: Random, k: int, actuators: list[str]) -> str:
    """A joint of a chain, with a servo or a motor, or neither."""
    kind = str(rng.choice(["hinge", "hinge", "hinge", "slide", "ball"]))
    axis = _numbers(rng.normal(size=3))
    text = f'<joint name="joint{k}" type="{kind}" damping="{rng.choice([0, 0.1, 1])}"'
    if kind == "ball":
        return text + "/>"
    if rng.random() < 0.7:
        low, high = rng.uniform(-80, -5), rng.uniform(5, 80)
        text += f' limited="true" range="{_numbers([low, high]) if kind == "hinge" else "-.1 .1"}"'
    if rng.random() < 0.3:
        text += f' frictionloss="{rng.uniform(0.01, 0.5):.3g}"'
    gain = float(10 ** rng.uniform(0, 3))
    if rng.random() < 0.35:
        actuators.append(f'<position joint="joint{k}" kp="{gain:.4g}" kv="{0.05 * gain:.4g}" forcerange="-50 50"/>')
    elif rng.random() < 0.25:
        actuators.append(f'<motor joint="joint{k}" ctrlrange="-5 5"/>')
    return f'{text} axis="{axis}"/>'


def _loop(rng: Random, equalities: list[str], excludes: list[str]) -> str:
    """A four-bar of capsules on a frame that is fixed or free, its coupler and rocker connected."""
    a, d = 0.3, 0.4
    b, c = (float(x) for x in rng.uniform(0.35, 0.5, 2))
    # the crank stands across the base; the pin is where circles of b about its end and of c about the other base meet
    between = float(np.hypot(a, d))
    x = (between**2 + b * b - c * c) / (2 * between)
    along, across = np.array([d, -a]) / between, np.array([a, d]) / between
    pin = np.array([0, a]) + x * along + np.sqrt(b * b - x * x) * across
    coupler = np.degrees(np.arctan2(pin[1] - a, pin[0]))
    rocker = np.degrees(np.arctan2(pin[1], pin[0] - d))
    free = "<freejoint/>" if rng.random() < 0.5 else ""
    bar = (
        '<geom type="capsule" fromto="0 0 0 {0} 0 0" size=".02"/>'
        '<inertial pos="{1} 0 0" mass=".5" diaginertia=".001 .01 .01"/>'
    )
    equalities.append(f'<connect body1="coupler" body2="rocker" anchor="{b} 0 0"/>')
    names = ("frame", "crank", "coupler", "rocker")
    excludes += [f'<exclude body1="{x}" body2="{y}"/>' for k, x in enumerate(names) for y in names[:k]]
    return (
        f'<body name="frame" pos="0 0 .8" euler="90 0 0">{free}'
        '<inertial pos="0 0 0" mass="2" diaginertia=".05 .05 .05"/>'
        '<geom type="box" pos=".2 -.05 .08" size=".25 .02 .02"/>'
        f'<body name="crank" euler="0 0 90"><joint name="crank" axis="0 0 1" damping=".01"/>{bar.format(a, a / 2)}'
        f'<body name="coupler" pos="{a} 0 0" euler="0 0 {coupler - 90:.9g}"><joint axis="0 0 1"/>'
        f"{bar.format(b, b / 2)}</body></body>"
        f'<body name="rocker" pos="{d} 0 0" euler="0 0 {rocker:.9g}"><joint axis="0 0 1"/>{bar.format(c, c / 2)}</body>'
        "</body>"
    )
