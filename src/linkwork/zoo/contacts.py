# SPDX-License-Identifier: BSD-3-Clause
"""Many contacts: boxes that stand on each other, and a swimmer on the ground (**delassus** Table I and Fig. 2).

A contact holds its point in all three directions (`Point`, 3 rows), as the Delassus operator sees it. Faces that touch
have four contact points, at the corners of their overlap; most rows are redundant. Sizes and masses are chosen here.
"""

from __future__ import annotations

from itertools import product
from math import cos, sin

from linkwork.conversions import converted
from linkwork.errors import InputError
from linkwork.mechanism import Builder, Mechanism
from linkwork.model.constraints import WORLD, Point
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Free, Planar, Revolute
from linkwork.model.poses import ASSEMBLED
from linkwork.zoo.places import at_least

Vector = tuple[float, float, float]


@converted
def swimmer(links: int = 3, length: float = 0.2, mass: float = 0.3) -> Mechanism:
    """A planar swimmer on the ground: two contact points under each link (**delassus** Fig. 2a).

    Its base is planar and its joints turn about z: ``links + 2`` velocities and ``6 links`` rows, 5 and 18 for three
    links. Links are bars of ``length`` with their points at a quarter of it from either end, on the ground.

    Args:
        links: Number of links.
        length: Of each link, in meters.
        mass: Of each link, in kilograms.
    """
    at_least(links, 1, "links")
    build = Builder(f"swimmer of {links} links")
    parent, height = WORLD, 0.2 * length
    pose: dict[str, tuple[float, ...]] = {}
    x, y, heading = 0.1, -0.2, 0.3
    for k in range(links):
        body = f"link{k}"
        build.body(body, Inertia.box(mass, (length, height, height), com=(length / 2, 0.0, height / 2)))
        if k == 0:
            build.joint("base", Planar("z"), WORLD, body)
            pose["base"] = (x, y, cos(heading), sin(heading))
        else:
            bend = 0.5 * (-1) ** k
            build.joint(f"joint{k}", Revolute("z"), parent, body, at=(length, 0.0, 0.0))
            pose[f"joint{k}"] = (bend,)
            heading += bend
        for side, along in (("back", 0.25 * length), ("front", 0.75 * length)):
            at = (x + along * cos(heading), y + along * sin(heading), 0.0)
            build.constrain(Point(WORLD, body, name=f"{side}{k}", first_at=at, second_at=(along, 0.0, 0.0)))
        x, y, parent = x + length * cos(heading), y + length * sin(heading), body
    return build.pose(ASSEMBLED, pose).build()


@converted
def stack(boxes: int = 30, size: float = 0.2, mass: float = 1.0) -> Mechanism:
    """Boxes on top of each other, the lowest on the ground (**delassus** Table I).

    30 boxes have 180 velocities, 120 contact points and 360 rows.

    Args:
        boxes: Number of boxes.
        size: Edge length, in meters.
        mass: Of each box, in kilograms.
    """
    at_least(boxes, 1, "boxes")
    build = Builder(f"stack of {boxes} boxes")
    centers = [(0.0, 0.0, (k + 0.5) * size) for k in range(boxes)]
    _put_boxes(build, centers, size, mass)
    for k in range(boxes):
        _touch(build, k - 1 if k else None, k, centers, size)
    return build.build()


@converted
def pyramid(layers: int = 4, size: float = 0.2, gap: float = 0.02, mass: float = 1.0) -> Mechanism:
    """A square pyramid of boxes, each standing on four of the layer below or on the ground (**delassus** Table I).

    Four layers, 16 + 9 + 4 + 1 boxes, have 180 velocities, 288 contact points and 864 rows: 16 faces on the ground
    and 14 boxes on four others each, four points a face. Boxes of a layer are ``gap`` apart and do not touch.

    Args:
        layers: Number of layers.
        size: Edge length of a box, in meters.
        gap: Between boxes of a layer, in meters.
        mass: Of each box, in kilograms.
    """
    at_least(layers, 1, "layers")
    if not 0 <= gap < size:
        raise InputError(f"a gap of {gap} leaves boxes of {size} nothing to stand on")
    build = Builder(f"pyramid of {layers} layers")
    pitch = size + gap
    number: dict[tuple[int, int, int], int] = {}
    centers: list[Vector] = []
    for layer in range(layers):
        for i, j in product(range(layers - layer), repeat=2):
            number[layer, i, j] = len(centers)
            centers.append((pitch * (i + layer / 2), pitch * (j + layer / 2), (layer + 0.5) * size))
    _put_boxes(build, centers, size, mass)
    for (layer, i, j), k in number.items():
        if layer == 0:
            _touch(build, None, k, centers, size)
        else:
            for di, dj in product(range(2), repeat=2):
                _touch(build, number[layer - 1, i + di, j + dj], k, centers, size)
    return build.build()


def _put_boxes(build: Builder, centers: list[Vector], size: float, mass: float) -> None:
    """Free cubes, in their places in the pose."""
    pose: dict[str, tuple[float, ...]] = {}
    for k, center in enumerate(centers):
        build.body(f"box{k}", Inertia.box(mass, (size, size, size)))
        build.joint(f"box{k}", Free(), WORLD, f"box{k}")
        pose[f"box{k}"] = (*center, 0.0, 0.0, 0.0, 1.0)
    build.pose(ASSEMBLED, pose)


def _touch(build: Builder, below: int | None, box: int, centers: list[Vector], size: float) -> None:
    """Four contact points at the corners of the overlap of a box and the one below, or of its face on the ground."""
    here = centers[box]
    there = (here[0], here[1], -size / 2) if below is None else centers[below]
    spans = [(max(here[a], there[a]) - size / 2, min(here[a], there[a]) + size / 2) for a in (0, 1)]
    base = (0.0, 0.0, 0.0) if below is None else there
    for corner, (x, y) in enumerate(product(*spans)):
        z = here[2] - size / 2
        build.constrain(
            Point(
                WORLD if below is None else f"box{below}",
                f"box{box}",
                name=f"box{box}_on_{'ground' if below is None else f'box{below}'}_{corner}",
                first_at=(x - base[0], y - base[1], z - base[2]),
                second_at=(x - here[0], y - here[1], z - here[2]),
            )
        )
