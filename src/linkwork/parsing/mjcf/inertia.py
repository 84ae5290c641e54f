# SPDX-License-Identifier: BSD-3-Clause
"""Inertias of bodies: as the file says, or from the shapes of geoms, completed as MuJoCo's compiler does.

Formulas of shapes: solid, and as shells with the mass on the surface. Sizes are radii and half lengths.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.arrays import Floats
from linkwork.model.inertia import Inertia
from linkwork.model.placement import Placement
from linkwork.model.thresholds import UNBOUNDED
from linkwork.parsing.mjcf.meshes import MeshAssets
from linkwork.parsing.mjcf.settings import YES_NO, Settings, z_along
from linkwork.parsing.mjcf.tree import Body, Item, Tree
from linkwork.parsing.mjcf.vocabulary import refuse_unknown
from linkwork.parsing.xml import Node, located

SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
"""Number of sizes shapes have that are made of numbers alone."""
_LONG = ("capsule", "cylinder", "ellipsoid", "box")
"""Shapes that ``fromto`` can place."""
GEOMS = (*SIZES, "plane", "hfield", "mesh", "sdf")
"""All types of geoms."""
_WATER = 1000.0


def read_inertias(tree: Tree, settings: Settings, meshes: MeshAssets) -> dict[Body, Inertia]:
    """The inertia of each body; of those that cannot move, where it is written."""
    scaled = settings.total_mass > 0
    inertias: dict[Body, Inertia] = {}
    for body, name in tree.without_world:
        written = bool(body.all("inertial")) and settings.inertia_from_geoms != "true"
        needed = scaled or not body.is_static or written
        inertias[body] = _body_inertia(body, name, settings, meshes) if needed else Inertia.zero()
    total = sum(inertia.mass for inertia in inertias.values())
    if scaled and total > 0:
        factor = settings.total_mass / total
        inertias = {body: Inertia(y.mass * factor, y.com, y.rotational * factor) for body, y in inertias.items()}
    return inertias


def static_inertias(tree: Tree, settings: Settings, meshes: MeshAssets) -> dict[Body, Inertia]:
    """The inertias of bodies that cannot move, for sensors; without those that would have to come from meshes."""
    inertias: dict[Body, Inertia] = {}
    for body, name in tree.without_world:
        if body.is_static:
            with suppress(ModelError):
                inertias[body] = _body_inertia(body, name, settings, meshes)
    return inertias


def _body_inertia(body: Body, name: str, settings: Settings, meshes: MeshAssets) -> Inertia:
    said = body.all("inertial")
    from_geoms = settings.inertia_from_geoms
    inertia = None
    if from_geoms == "true" or (from_geoms == "auto" and not said):
        inertia = _of_geoms(body, name, settings, meshes)
    if inertia is None and said:
        inertia = _explicit(said[0], settings)
    if inertia is None:
        # A body of nothing, if it must have mass, has it where MuJoCo puts it: at its position in its parent.
        inertia = Inertia(0.0, body.own.position)
    with located(body.node):
        return _completed(inertia, settings, body.node)


def _completed(inertia: Inertia, settings: Settings, node: Node) -> Inertia:
    """With the least mass and moments that all bodies shall have, and unphysical moments made equal."""
    mass = max(inertia.mass, settings.least_mass)
    if not mass <= UNBOUNDED:
        raise node.error(f"a mass of {mass:g} is beyond 1e30, and no number in SI units")
    I = inertia.rotational
    if settings.least_inertia > 0 or settings.balance:
        moments, axes = np.linalg.eigh(I)
        raised = np.maximum(moments, settings.least_inertia) if settings.least_inertia > 0 else moments
        low, middle, high = sorted(raised)
        if settings.balance and low + middle < high * (1 - 1e-12):
            raised = np.full(3, raised.mean())
        if not np.array_equal(raised, moments):
            I = (axes * raised) @ axes.T
    return Inertia(mass, inertia.com, I)


def _explicit(item: Item, settings: Settings) -> Inertia:
    node = item.node
    mass = node.number("mass")
    if mass < 0:
        raise node.error(f"mass is {mass}; it must be >= 0")
    if node.get("pos") is None:
        raise node.error("an <inertial> needs its position 'pos'")
    place = item.frame * settings.placement(node)
    diagonal, full = node.numbers("diaginertia", 3), node.numbers("fullinertia", 6)
    if full is None:
        moments = np.diag(diagonal or (0.0, 0.0, 0.0))
    else:
        if diagonal is not None or not np.array_equal(settings.rotation(node), np.eye(3)):
            raise node.error("'fullinertia' stands without 'diaginertia' and without an orientation")
        xx, yy, zz, xy, xz, yz = full
        moments = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return Inertia(mass, (0.0, 0.0, 0.0), moments).moved(place)


def inertial_axes(body: Body, inertia: Inertia, settings: Settings, meshes: MeshAssets) -> Floats:
    """Principal axes of a body as MuJoCo has them: where moments are equal, those that the file says.

    Args:
        body: The body.
        inertia: Its inertia.
        settings: <compiler>.
        meshes: Meshes of geoms.
    """
    said, from_geoms = body.all("inertial"), settings.inertia_from_geoms
    if said and from_geoms != "true":
        item = said[0]
        if item.node.get("fullinertia") is None:
            return item.frame.rotation @ settings.rotation(item.node)
    else:
        weighing = [item for item in body.all("geom") if _weighs(item, settings)]
        if len(weighing) == 1:
            item, node = weighing[0], weighing[0].node
            type = node.choice("type", GEOMS, "sphere")
            if type in SIZES:
                return (item.frame * size_and_place(node, type, settings, meshes)[1]).rotation
            own = meshes.needed(node.text("mesh"), node, "principal axes").principal[1]
            return (item.frame * settings.placement(node)).rotation @ own
    _, axes = np.linalg.eigh(inertia.rotational)
    axes[:, 2] *= np.sign(np.linalg.det(axes))
    return axes


def _weighs(item: Item, settings: Settings) -> bool:
    """Whether a geom has mass that counts."""
    node, (first, last) = item.node, settings.inertia_groups
    mass = node.numbers("mass", 1)
    heavy = (node.number("density", _WATER) if mass is None else mass[0]) > 0
    flat = node.choice("type", GEOMS, "sphere") in ("plane", "hfield")
    return heavy and not flat and first <= node.number("group", 0.0) <= last


# From geoms ----------------------------------------------------------------------------------------


def _of_geoms(body: Body, name: str, settings: Settings, meshes: MeshAssets) -> Inertia | None:
    """The sum over the geoms that have mass, or None."""
    total = None
    first, last = settings.inertia_groups
    for item in body.all("geom"):
        if first <= item.node.number("group", 0.0) <= last:
            with located(item.node):
                part = _geom(item, name, settings, meshes)
            if part is not None:
                total = part if total is None else total + part
    return total


def _geom(item: Item, body: str, settings: Settings, meshes: MeshAssets) -> Inertia | None:
    node = item.node
    refuse_unknown(node)
    type = node.choice("type", GEOMS, "sphere")
    mass, density = node.numbers("mass", 1), node.number("density", _WATER)
    weighs = mass[0] if mass is not None else density
    if weighs < 0:
        raise node.error(f"mass or density is {weighs}; it must be >= 0")
    if weighs == 0 or type in ("plane", "hfield"):
        return None
    if node.get("mesh") is not None or type in ("mesh", "sdf"):
        asset = meshes.needed(node.text("mesh"), node, f"the inertia of body '{body}'")
        if type not in SIZES:
            properties = asset.properties
            m = mass[0] if mass is not None else density * properties.measure
            with located(node):
                own = Inertia(m, properties.center, properties.moments * (m / properties.measure))
            return own.moved(item.frame * settings.placement(node))
    size, place = size_and_place(node, type, settings, meshes)
    shell = node.choice("shellinertia", YES_NO, "false") == "true"
    shape = (SHELLS if shell else SOLIDS)[type](size)
    m = mass[0] if mass is not None else density * shape.measure
    moments = np.array(shape.moments) * m
    if not (m <= UNBOUNDED and np.isfinite(moments).all()):
        raise node.error(f"a mass of {m:g} is beyond 1e30, and no number in SI units")
    return Inertia(m, (0.0, 0.0, 0.0), moments).moved(item.frame * place)


def size_and_place(
    node: Node, type: str, settings: Settings, meshes: MeshAssets | None = None
) -> tuple[Floats, Placement]:
    """The sizes of a shape, which may be fitted to a mesh, and where it stands."""
    if meshes is not None and node.get("mesh") is not None:
        asset = meshes.needed(node.text("mesh"), node, f"the size of a {type}")
        fitted, inside = asset.fitted(type, settings.fit_bounds, node.number("fitscale", 1.0))
        return fitted, settings.placement(node) * inside
    sizes = node.numbers("size", 1, 2, 3) or ()
    ends = node.numbers("fromto", 6)
    if ends is None:
        size, place = sizes[: SIZES[type]], settings.placement(node)
    else:
        if type not in _LONG:
            raise node.error(f"'fromto' places a {', '.join(_LONG)}; this is a {type}")
        start, end = np.array(ends[:3]), np.array(ends[3:])
        length = float(np.linalg.norm(end - start))
        if length == 0:
            raise node.error("'fromto' goes from a point to itself")
        size = (*sizes[:1] * (SIZES[type] - 1), length / 2)
        place = Placement((start + end) / 2, z_along((start - end) / length))  # backwards, as in MuJoCo
    if len(size) != SIZES[type] or min(size) < 1 / UNBOUNDED:
        raise node.error(f"a {type} has {SIZES[type]} sizes above zero, not {list(size)}")
    return np.array(size), place


class Shape(NamedTuple):
    """A volume or surface, and the moments of inertia for a mass of one."""

    measure: float
    moments: tuple[float, float, float]


def _of_squares(xx: float, yy: float, zz: float) -> tuple[float, float, float]:
    """Moments of inertia from the mean squares of the coordinates."""
    return yy + zz, xx + zz, xx + yy


def _ball(size: Floats) -> Shape:
    (r,) = size
    return Shape(4 / 3 * math.pi * r**3, (0.4 * r**2,) * 3)


def _sphere(size: Floats) -> Shape:
    (r,) = size
    return Shape(4 * math.pi * r**2, (2 / 3 * r**2,) * 3)


def _cylinder(size: Floats) -> Shape:
    r, h = size
    return Shape(2 * math.pi * r**2 * h, _of_squares(r**2 / 4, r**2 / 4, h**2 / 3))


def _tube(size: Floats) -> Shape:
    """The side and both ends of a cylinder."""
    r, h = size
    side, ends = 4 * math.pi * r * h, 2 * math.pi * r**2
    across = (side * r**2 / 2 + ends * r**2 / 4) / (side + ends)
    along = (side * h**2 / 3 + ends * h**2) / (side + ends)
    return Shape(side + ends, _of_squares(across, across, along))


def _capsule(size: Floats) -> Shape:
    """A cylinder, and two half balls with centers of mass 3/8 r from their flats."""
    r, h = size
    middle, ends = 2 * math.pi * r**2 * h, 4 / 3 * math.pi * r**3
    across = (middle * r**2 / 4 + ends * r**2 / 5) / (middle + ends)
    along = (middle * h**2 / 3 + ends * (h**2 + 2 * h * 3 / 8 * r + r**2 / 5)) / (middle + ends)
    return Shape(middle + ends, _of_squares(across, across, along))


def _capsule_shell(size: Floats) -> Shape:
    """The side of a cylinder, and two half spheres with centers of mass r/2 from their rims."""
    r, h = size
    side, ends = 4 * math.pi * r * h, 4 * math.pi * r**2
    across = (side * r**2 / 2 + ends * r**2 / 3) / (side + ends)
    along = (side * h**2 / 3 + ends * (h**2 + h * r + r**2 / 3)) / (side + ends)
    return Shape(side + ends, _of_squares(across, across, along))


def _ellipsoid(size: Floats) -> Shape:
    a, b, c = size
    return Shape(4 / 3 * math.pi * a * b * c, _of_squares(a**2 / 5, b**2 / 5, c**2 / 5))


def _ellipsoid_shell(size: Floats) -> Shape:
    """Between two ellipsoids with radii that differ by ``t``; the surface by Thomsen's formula. Both as in MuJoCo."""
    t, p = 1e-6, 1.6075
    a, b, c = size
    volume = a * b + b * c + c * a + t * (a + b + c) + t**2  # abc grows by t times this

    def square(a: float, b: float, c: float) -> float:
        """The mean of x²: a²/5 in an ellipsoid, and a³bc grows by t times the numerator."""
        return float((a**3 * (b + c + t) + (3 * a**2 + 3 * a * t + t**2) * (b + t) * (c + t)) / (5 * volume))

    area = 4 * math.pi * (((a * b) ** p + (b * c) ** p + (c * a) ** p) / 3) ** (1 / p)
    return Shape(area, _of_squares(square(a, b, c), square(b, c, a), square(c, a, b)))


def _box(size: Floats) -> Shape:
    a, b, c = size
    return Shape(8 * a * b * c, _of_squares(a**2 / 3, b**2 / 3, c**2 / 3))


def _box_shell(size: Floats) -> Shape:
    """Six sides: the coordinate of a pair of them is at its greatest there, and spread evenly on the others."""
    areas = np.array([size[1] * size[2], size[0] * size[2], size[0] * size[1]])
    x, y, z = (float(s**2 * (a + (areas.sum() - a) / 3) / areas.sum()) for s, a in zip(size, areas, strict=True))
    return Shape(8 * float(areas.sum()), _of_squares(x, y, z))


SOLIDS = {"sphere": _ball, "capsule": _capsule, "cylinder": _cylinder, "ellipsoid": _ellipsoid, "box": _box}
SHELLS = {
    "sphere": _sphere,
    "capsule": _capsule_shell,
    "cylinder": _tube,
    "ellipsoid": _ellipsoid_shell,
    "box": _box_shell,
}
