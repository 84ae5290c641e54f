# SPDX-License-Identifier: BSD-3-Clause
"""Boxes that touch each other and the ground with friction: stacks, pyramids, slopes, dominoes, a house of cards.

Each body floats on a `Free` joint of its name, ``box0`` and so on, which has the velocities ``[linear, angular]`` in
the body's axes. Pairs of faces have four contact points.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from math import cos, sin

import numpy as np

from linkwork.conversions import converted
from linkwork.errors import InputError
from linkwork.inputs import float_array
from linkwork.mechanism import Mechanism
from linkwork.model.arrays import Floats, VectorLike
from linkwork.model.contacts import ContactShape
from linkwork.model.inertia import Inertia
from linkwork.model.placement import Placement
from linkwork.model.shapes import Box
from linkwork.zoo.contact_builder import ContactScene, Size, above_zero, box_size, per_body
from linkwork.zoo.places import at_least, turn

FACE = 4
"""Contact points of two faces."""


@converted
def boxes(
    count: int = 10,
    masses: float | Sequence[float] | Floats = 1.0,
    size: float | VectorLike = 0.2,
    friction: float = 0.5,
) -> Mechanism:
    """A stack of boxes on the ground that touch with friction: ``4 count`` contact points.

    Args:
        count: Number of boxes; ``box0`` is on the ground.
        masses: In kilograms: one for all, or one for each from the lowest up.
        size: Edge lengths along x, y, z, in meters, or one for cubes.
        friction: Coefficient of friction, of all pairs.
    """
    at_least(count, 1, "count")
    edges, weights = box_size(size), per_body(masses, count, "masses")
    scene = ContactScene(f"stack of {count} boxes with friction", friction)
    below = scene.ground()
    for k in range(count):
        box = _box(scene, f"box{k}", weights[k], edges, Placement((0.0, 0.0, (k + 0.5) * edges[2])))
        scene.touch(below, box, FACE)
        below = box
    return scene.finish()


@converted
def sliding_box(size: float | VectorLike = 0.2, mass: float = 1.0, friction: float = 0.5) -> Mechanism:
    """A box on level ground, to be pushed: it slides by ``v² / (2 friction g)`` if it does not tip.

    Args:
        size: Edge lengths along x, y, z, in meters, or one for a cube.
        mass: In kilograms.
        friction: Coefficient of friction.
    """
    return boxes(1, mass, size, friction)


@converted
def boxes_on_slope(
    angle: float = 0.4,
    friction: float | Sequence[float] = (0.3, 0.5),
    size: float | VectorLike = 0.2,
    mass: float = 1.0,
) -> Mechanism:
    """Boxes side by side on a slope, one for each coefficient of friction: those of more than ``tan(angle)`` stick.

    The slope goes down along x; boxes that slip gain ``g (sin(angle) - friction cos(angle))`` along it.

    Args:
        angle: Of the slope, in radians.
        friction: Coefficients of friction, one for each box, or one for a single box.
        size: Edge lengths, in meters, or one for cubes. A box tips that is higher than ``x / tan(angle)``.
        mass: Of each box, in kilograms.
    """
    edges, slope = box_size(size), turn("y", angle)
    coefficients = float_array(friction, "friction").reshape(-1).tolist()
    scene = ContactScene(f"boxes on a slope of {angle:g} rad")
    ground = scene.ground(slope)
    for k, mu in enumerate(coefficients):
        where = slope * Placement((0.0, 1.5 * k * edges[1], edges[2] / 2))
        scene.touch(ground, _box(scene, f"box{k}", mass, edges, where), FACE, mu)
    return scene.finish()


@converted
def box_pyramid(
    layers: int = 10,
    ridge: int = 1,
    planar: bool = True,
    *,
    size: float | VectorLike = 0.2,
    gap: float = 0.02,
    mass: float = 1.0,
    friction: float = 0.5,
) -> Mechanism:
    """A pyramid of boxes on the ground: in a plane each box rests on two below it, otherwise on four.

    Ten layers in a plane are 55 boxes, as are five layers that are square: ``box_pyramid(5, planar=False)``. Five
    layers under a ridge of four are 100 boxes: ``box_pyramid(5, 4, planar=False)``. Boxes of a layer are ``gap`` apart
    and are no pairs.

    Args:
        layers: Number of layers.
        ridge: Boxes of the highest layer; each layer below is longer by one.
        planar: Whether layers are rows along x, or rectangles that widen along y from 1, too.
        size: Edge lengths, in meters, or one for cubes.
        gap: Between boxes of a layer, in meters.
        mass: Of each box, in kilograms.
        friction: Coefficient of friction.
    """
    at_least(layers, 1, "layers")
    at_least(ridge, 1, "ridge")
    edges = box_size(size)
    if not 0 <= gap < min(edges[:2]):
        raise InputError(f"a gap of {gap:g} m leaves boxes of {edges[:2]} m nothing to stand on")
    scene = ContactScene(f"pyramid of {layers} layers with friction", friction)
    ground, pitch = scene.ground(), np.array(edges[:2]) + gap
    boxes: dict[tuple[int, int, int], ContactShape] = {}
    beneath = list(product(range(2), range(1 if planar else 2)))
    for layer in range(layers):
        wide = layers - layer
        for i, j in product(range(ridge - 1 + wide), range(1 if planar else wide)):
            x, y = pitch * (i + layer / 2, j if planar else j + layer / 2)
            where = Placement((x, y, (layer + 0.5) * edges[2]))
            box = boxes[layer, i, j] = _box(scene, f"box{len(boxes)}", mass, edges, where)
            below = [boxes[layer - 1, i + di, j + dj] for di, dj in beneath] if layer else [ground]
            for support in below:
                scene.touch(support, box, FACE)
    return scene.finish()


@converted
def dominoes(
    count: int = 10,
    size: VectorLike = (0.0075, 0.024, 0.048),
    spacing: float = 0.025,
    tilt: float = 0.2,
    *,
    mass: float = 0.01,
    friction: float = 0.3,
) -> Mechanism:
    """Dominoes in a row along x; the first leans on its front edge, and falls onto the second.

    Args:
        count: Number of dominoes; ``domino0`` is the first.
        size: Thickness along x, width and height, in meters.
        spacing: From one to the next, in meters.
        tilt: Of the first, in radians, about its lower edge at the side of the second; it falls if that is more than
            ``atan(thickness / height)``.
        mass: Of each, in kilograms.
        friction: Coefficient of friction, of all pairs.
    """
    at_least(count, 1, "count")
    edges = box_size(size)
    thickness, _, height = edges
    if not thickness < spacing:
        raise InputError(f"spacing is {spacing:g} m, must be more than the thickness of {thickness:g} m")
    if not 0 <= tilt < np.pi / 2 or (count > 1 and not height * sin(tilt) < spacing - thickness):
        raise InputError(f"tilt is {tilt:g} rad: the first domino would stand in the second; try a smaller one")
    scene = ContactScene(f"{count} dominoes", friction)
    ground, standing = scene.ground(), Placement((-thickness / 2, 0.0, height / 2))
    row: list[ContactShape] = []
    for k in range(count):
        where = Placement((k * spacing, 0.0, 0.0)) * turn("y", 0.0 if k else tilt) * standing
        row.append(_box(scene, f"domino{k}", mass, edges, where))
        scene.touch(ground, row[-1], FACE)
    for domino, following in pairwise(row):
        scene.touch(domino, following, FACE)
    return scene.finish()


@converted
def card_house(
    levels: int = 3,
    size: VectorLike = (0.001, 0.063, 0.088),
    lean: float = 0.35,
    *,
    mass: float = 0.005,
    friction: float = 0.6,
) -> Mechanism:
    """A house of cards: pairs of cards that lean against each other, and cards across that the next level stands on.

    Level ``l`` from below, counted from 0, has ``levels - l`` pairs, ``left{l}_{k}`` and ``right{l}_{k}``, and one
    card ``across{l}_{k}`` less. It stands if ``friction`` is more than about ``tan(lean)``.

    Args:
        levels: Number of levels.
        size: Thickness, width and length of a card, in meters; those across are cut to the distance of pairs.
        lean: Angle of leaning cards from the vertical, in radians.
        mass: Of a card that leans, in kilograms; those across have the same density.
        friction: Coefficient of friction, of all pairs.
    """
    at_least(levels, 1, "levels")
    edges = box_size(size)
    thickness, width, length = edges
    if not 0 < lean < 1:
        raise InputError(f"lean is {lean:g} rad, needs an angle between 0 and 1")
    above_zero(mass, "mass")
    # The upper inner edges of two cards meet in the apex; they stand on their lower inner edges, and carry what is
    # above on their upper outer edges, to either side of the apex. Those across end halfway between.
    across, up = thickness * cos(lean), length * cos(lean)
    pitch = 2 * (length * sin(lean) + across + thickness)
    plank = (pitch - across, width, thickness)
    plank_mass = mass * plank[0] / length
    scene = ContactScene(f"card house of {levels} levels", friction)
    below, height = [scene.ground()] * levels, 0.0
    for level in range(levels):
        lefts: list[ContactShape] = []
        rights: list[ContactShape] = []
        for k in range(levels - level):
            apex = Placement(((k + level / 2) * pitch, 0.0, height + up))
            for side, sign, cards in (("left", 1.0, lefts), ("right", -1.0, rights)):
                where = apex * turn("y", sign * lean) * Placement((-sign * thickness / 2, 0.0, -length / 2))
                cards.append(_box(scene, f"{side}{level}_{k}", mass, edges, where))
                scene.touch(below[k], cards[-1], FACE)
            scene.touch(lefts[k], rights[k], FACE)
        height += up + thickness * sin(lean)
        below = []
        for k in range(levels - level - 1):
            where = Placement(((k + (level + 1) / 2) * pitch, 0.0, height + thickness / 2))
            below.append(_box(scene, f"across{level}_{k}", plank_mass, plank, where))
            scene.touch(rights[k], below[-1], FACE)
            scene.touch(lefts[k + 1], below[-1], FACE)
        height += thickness
    return scene.finish()


def _box(scene: ContactScene, name: str, mass: float, size: Size, where: Placement) -> ContactShape:
    """A solid box that floats."""
    return scene.free(name, Inertia.box(above_zero(mass, "mass"), size), Box(size), where)
