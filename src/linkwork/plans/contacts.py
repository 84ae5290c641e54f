# SPDX-License-Identifier: BSD-3-Clause
"""The plan of contacts, beside the arrays of a tree: shapes, pairs of them, and their contact points.

Each shape is there once, however many pairs it is in. The contact points of a pair are its slots, numbered in the order
of `Model.contacts`; how many there are depends on the two kinds of shapes alone, and on `ContactPair.slots`.

Pairs without kernel code, those of triangle meshes above all, are of kind `GIVEN`: gap, point and normal of each of
their slots are data that come in with the state (`kernels.contact.shapes.geometry.given_contacts`), rows
``contact_given`` and on of an input ``(ngiven, 7)``, which has no rows where no pair needs it.

Kernels of general convex shapes decide by numbers of the state (`kernels.contact.convex`), and are native code alone.
Plans for programs that are traced have these pairs as `GIVEN`, too; ``native`` plans have their kinds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from linkwork.errors import ModelError
from linkwork.model.constraints import WORLD
from linkwork.model.contact_sizes import size_of_solid
from linkwork.model.contacts import ContactPair, ContactPairs, ContactShape
from linkwork.model.model import Model
from linkwork.model.named import Named
from linkwork.model.shapes import Box, Cylinder, Ellipsoid, Ground, HeightField, Mesh, Solid, Sphere
from linkwork.plans.bodies import BodyTable, size_of
from linkwork.plans.cores import (
    BOX_CORE,
    CYLINDER_CORE,
    ELLIPSOID_CORE,
    HULL_CORE,
    NO_CORE,
    POINT_CORE,
    SEGMENT_CORE,
)
from linkwork.plans.hulls import HULL_FLOATS, HULL_INTEGERS, HULL_SIZES, Hull, hull_of_mesh, hull_tables
from linkwork.plans.kernel_frames import rounded, rounded_rotation
from linkwork.plans.layout import Layout, Shape
from linkwork.plans.tree import TREE, Tree, build_tree, merged

Integers = npt.NDArray[np.int64]

MeshKind = Literal["auto", "hull", "triangles"]
"""Representation of meshes in contacts: the convex hull; its surface; the hull on bodies that move, and wherever the
mesh says so (`Mesh.convex`), else the surface."""

CONTACT_SIZES = (
    "nshapes",  # shapes of contacts
    "ncontacts",  # pairs of them
    "nslots",  # contact points of all pairs
    "ngiven",  # those of pairs without kernel code
    "nmargins",  # pairs that count as touching at a distance
    "nfields",  # height fields
    "nheights",  # heights of all of them
    "ncells",  # slots whose cells of height fields are given: all in derivatives, else none
    *HULL_SIZES,
)
CONTACT_INTEGERS: dict[str, Shape] = {
    "shape_body": ("nshapes",),
    "shape_field": ("nshapes",),  # number of the height field; 0 of other shapes
    "shape_core": ("nshapes",),  # see `plans.cores`
    "shape_hull": ("nshapes",),  # number of the hull; 0 of other shapes
    "contact_kind": ("ncontacts",),  # the codes below
    "contact_first": ("ncontacts",),  # the shape that normals point from,
    "contact_second": ("ncontacts",),  # and the one that they point to
    "contact_reversed": ("ncontacts",),  # 1 where the kind names the second shape first
    "contact_slot": ("ncontacts",),  # first slot, and their count
    "contact_slots": ("ncontacts",),
    "contact_given": ("ncontacts",),  # of kind GIVEN: the first row of its data; 0 of others
    "slot_contact": ("nslots",),
    "margin_contact": ("nmargins",),
    "field_start": ("nfields",),  # first of its heights; those along y are next to each other
    "field_rows": ("nfields",),  # heights along x, and along y
    "field_columns": ("nfields",),
    **HULL_INTEGERS,
}
CONTACT_FLOATS: dict[str, Shape] = {
    "shape_rotation": ("nshapes", 3, 3),  # pose in the body
    "shape_position": ("nshapes", 3),
    "shape_size": ("nshapes", 3),  # see `shape_size`
    "friction": ("nslots",),
    "restitution": ("nslots",),
    "contact_compliance": ("nslots",),
    "contact_margin": ("nmargins",),  # distance that gaps are measured from
    "field_range": ("nfields", 2),  # lowest and highest height
    "heights": ("nheights",),
    **HULL_FLOATS,
}

CONTACT_TREE = TREE.extended("contact_tree", CONTACT_SIZES, CONTACT_INTEGERS, CONTACT_FLOATS)
"""A mechanism without constraints, with its contacts."""

(
    GIVEN,
    PLANE_SPHERE,
    PLANE_CAPSULE,
    PLANE_BOX,
    PLANE_CYLINDER,
    PLANE_ELLIPSOID,
    SPHERE_SPHERE,
    CAPSULE_SPHERE,
    BOX_SPHERE,
    CYLINDER_SPHERE,
    ELLIPSOID_SPHERE,
    CAPSULE_CAPSULE,
    BOX_CAPSULE,
    BOX_BOX,
    FIELD_SPHERE,
    FIELD_CAPSULE,
    FIELD_BOX,
    CONVEX_CONVEX,
    PLANE_HULL,
    FIELD_CONVEX,
) = range(20)
"""Kinds of pairs: which kernel finds their contact points. The last three are native code alone."""


class PairKind(NamedTuple):
    """A kind of pair, and how many contact points it may have; the first number is the default."""

    code: int
    slots: tuple[int, ...]


PLANE, SPHERE, CAPSULE, BOX, CYLINDER, ELLIPSOID, FIELD, MESH = (
    "plane",
    "sphere",
    "capsule",
    "box",
    "cylinder",
    "ellipsoid",
    "height field",
    "mesh",
)
"""Kinds of shapes."""
SHAPE_KINDS = (PLANE, SPHERE, CAPSULE, BOX, CYLINDER, ELLIPSOID, FIELD, MESH)

PAIR_KINDS: Mapping[tuple[str, str], PairKind] = MappingProxyType(
    {
        (PLANE, SPHERE): PairKind(PLANE_SPHERE, (1,)),
        (PLANE, CAPSULE): PairKind(PLANE_CAPSULE, (2,)),
        (PLANE, BOX): PairKind(PLANE_BOX, (4, 8)),
        (PLANE, CYLINDER): PairKind(PLANE_CYLINDER, (4,)),
        (PLANE, ELLIPSOID): PairKind(PLANE_ELLIPSOID, (1,)),
        (SPHERE, SPHERE): PairKind(SPHERE_SPHERE, (1,)),
        (CAPSULE, SPHERE): PairKind(CAPSULE_SPHERE, (1,)),
        (BOX, SPHERE): PairKind(BOX_SPHERE, (1,)),
        (CYLINDER, SPHERE): PairKind(CYLINDER_SPHERE, (1,)),
        (ELLIPSOID, SPHERE): PairKind(ELLIPSOID_SPHERE, (1,)),
        (CAPSULE, CAPSULE): PairKind(CAPSULE_CAPSULE, (2, 1)),
        (BOX, CAPSULE): PairKind(BOX_CAPSULE, (2,)),
        (BOX, BOX): PairKind(BOX_BOX, (4, 8)),
        (FIELD, SPHERE): PairKind(FIELD_SPHERE, (1,)),
        (FIELD, CAPSULE): PairKind(FIELD_CAPSULE, (2,)),
        (FIELD, BOX): PairKind(FIELD_BOX, (4, 8)),
    }
)
"""Pairs of shapes that have kernel code for all backends, in one of their two orders."""

GIVEN_SLOTS = 4
"""Contact points of other pairs, unless they say how many."""

CORES: Mapping[str, int] = MappingProxyType(
    {
        PLANE: NO_CORE,
        SPHERE: POINT_CORE,
        CAPSULE: SEGMENT_CORE,
        BOX: BOX_CORE,
        CYLINDER: CYLINDER_CORE,
        ELLIPSOID: ELLIPSOID_CORE,
        FIELD: NO_CORE,
        MESH: HULL_CORE,
    }
)
"""Cores of shapes; that of a mesh is its hull."""


def shape_kind(solid: Solid) -> str:
    """The kind of a shape: a rounded cylinder is a capsule."""
    if isinstance(solid, Cylinder):
        return CAPSULE if solid.rounded else CYLINDER
    kinds = {Ground: PLANE, Sphere: SPHERE, Box: BOX, Ellipsoid: ELLIPSOID, HeightField: FIELD, Mesh: MESH}
    return kinds[type(solid)]


def shape_size(solid: Solid) -> tuple[float, float, float]:
    """Three numbers that kernels know a shape by.

    Half edges of a box, the radius of a sphere, semi-axes of an ellipsoid, radius and half length of cylinders and
    capsules, half the rectangle of a height field. Half the extent of a hull is `Hull.half`.
    """
    if isinstance(solid, HeightField):
        return solid.size[0] / 2, solid.size[1] / 2, 0.0
    return size_of_solid(solid)


class PlannedPair(NamedTuple):
    """A pair with its kind and the number of its slots."""

    pair: ContactPair
    code: int
    reversed: bool
    slots: int


def planned_pair(pair: ContactPair, native: MeshKind | None = None) -> PlannedPair:
    """The kind and slots of a pair; `ModelError` where it cannot have as many as it says.

    Args:
        pair: The pair.
        native: Representation of meshes in native code; None: for any backend.
    """
    kinds = shape_kind(pair.first.solid), shape_kind(pair.second.solid)
    cores = _core(pair.first, native), _core(pair.second, native)
    code, reverse, slots = _planned(kinds, cores, pair.slots, native)
    if slots == 0:
        known = " or ".join(str(n) for n in PAIR_KINDS[kinds[::-1] if reverse else kinds].slots)
        raise ModelError(
            f"{pair}: slots is {pair.slots}; a {kinds[0]} and a {kinds[1]} have {known} contact points",
            subject=pair.name,
        )
    return PlannedPair(pair, code, reverse, slots)


def _planned(
    kinds: tuple[str, str], cores: tuple[int, int], wanted: int | None, native: MeshKind | None
) -> tuple[int, bool, int]:
    """The code of a kind of pair, whether it names the second shape first, and its slots; 0: not as many as wanted."""
    reverse = kinds not in PAIR_KINDS and kinds[::-1] in PAIR_KINDS
    kind = PAIR_KINDS.get(kinds[::-1] if reverse else kinds)
    if kind is None:
        code, reverse = _native_kind(kinds, cores, native)
        return code, reverse, GIVEN_SLOTS if wanted is None else wanted
    slots = kind.slots[0] if wanted is None else wanted
    code = FIELD_CONVEX if native is not None and kind.code in (FIELD_CAPSULE, FIELD_BOX) else kind.code
    return code, reverse, slots if slots in kind.slots else 0


def _native_kind(kinds: tuple[str, str], cores: tuple[int, int], native: MeshKind | None) -> tuple[int, bool]:
    """The kind of a pair of convex shapes, a plane and a hull, or a height field and a convex shape; else `GIVEN`."""
    if native is None or all(core == NO_CORE for core in cores):
        return GIVEN, False
    if NO_CORE not in cores:
        return CONVEX_CONVEX, False
    reverse = cores[1] == NO_CORE
    kind = kinds[1] if reverse else kinds[0]
    return {PLANE: PLANE_HULL, FIELD: FIELD_CONVEX}.get(kind, GIVEN), reverse


def _core(shape: ContactShape, native: MeshKind | None) -> int:
    """The core of a shape; a mesh whose triangles count, or whose file was not found, has none."""
    mesh = shape.solid
    if isinstance(mesh, Mesh):
        convex = native == "hull" or (native == "auto" and (shape.body != WORLD or mesh.convex))
        return HULL_CORE if convex and mesh.is_found else NO_CORE
    return CORES[shape_kind(shape.solid)]


class PlannedPairs(NamedTuple):
    """All pairs of a model as arrays, ``(ncontacts,)``."""

    pairs: ContactPairs
    code: Integers
    reversed: Integers
    slots: Integers


def planned_pairs(contacts: Sequence[ContactPair], native: MeshKind | None = None) -> PlannedPairs:
    """Kinds and slots of pairs; `ModelError` where one cannot have as many as it says.

    Args:
        contacts: The pairs.
        native: Representation of meshes in native code; None: for any backend.
    """
    pairs = ContactPairs.of(contacts)
    names = {name: k for k, name in enumerate(SHAPE_KINDS)}
    kind = np.array([names[shape_kind(shape.solid)] for shape in pairs.shapes], dtype=np.int64)
    core = np.array([_core(shape, native) for shape in pairs.shapes], dtype=np.int64)
    wanted = np.array([-1 if n is None else n for n in pairs.values("slots")], dtype=np.int64)
    # the few different combinations of two kinds of shapes and a number of slots, each a number
    shapes, of_shape = np.unique(np.stack([kind, core]), axis=1, return_inverse=True)
    amounts, amount = np.unique(wanted, return_inverse=True)
    bases = shapes.shape[1], shapes.shape[1], len(amounts)
    first, second = of_shape.reshape(-1)[pairs.first], of_shape.reshape(-1)[pairs.second]
    each = (first * bases[1] + second) * bases[2] + amount[pairs.kind]
    planned = np.zeros((math.prod(bases), 3), dtype=np.int64)
    for number in np.flatnonzero(np.bincount(each)).tolist():
        one, other, k = (int(x) for x in np.unravel_index(number, bases))
        kinds = SHAPE_KINDS[shapes[0, one]], SHAPE_KINDS[shapes[0, other]]
        n = int(amounts[k])
        planned[number] = _planned(kinds, (shapes[1, one], shapes[1, other]), None if n < 0 else n, native)
    code, reverse, slots = planned[each].T
    if not slots.all():
        planned_pair(pairs[int(np.flatnonzero(slots == 0)[0])])  # raises
    return PlannedPairs(pairs, code, reverse, slots)


def contact_slots(model: Model) -> Named[slice]:
    """The slots of each pair by its name."""
    planned = planned_pairs(model.contacts)
    counts, ends = planned.slots.tolist(), np.cumsum(planned.slots).tolist()
    spans = {pair.name: slice(end - n, end) for pair, n, end in zip(model.contacts, counts, ends, strict=True)}
    return Named(model.name, "contact", spans)


def contact_tables(model: Model, bodies: BodyTable, native: MeshKind | None = None) -> dict[str, Any]:
    """Sizes and arrays of `CONTACT_SIZES`, `CONTACT_INTEGERS` and `CONTACT_FLOATS`, for `Layout.build`.

    Args:
        model: The mechanism.
        bodies: Its bodies.
        native: Representation of meshes in native code; None: for any backend, without kinds that are native code
            alone.
    """
    planned = planned_pairs(model.contacts, native)
    pairs, counts = planned.pairs, planned.slots
    length = size_of(model)
    at = [bodies.frames[bodies.number[shape.body]].inverse() * shape.placement for shape in pairs.shapes]
    counts_given = np.where(planned.code == GIVEN, counts, 0)
    of_slot = np.repeat(np.arange(len(pairs)), counts)
    margin = pairs.column("margin")
    return {
        "ngiven": int(counts_given.sum()),
        "ncells": 0,
        "shape_body": [bodies.number[shape.body] for shape in pairs.shapes],
        "contact_kind": planned.code,
        "contact_first": pairs.first,
        "contact_second": pairs.second,
        "contact_reversed": planned.reversed,
        "contact_slot": np.cumsum(counts) - counts,
        "contact_slots": counts,
        "contact_given": np.where(counts_given > 0, np.cumsum(counts_given) - counts_given, 0),
        "slot_contact": of_slot,
        "margin_contact": np.flatnonzero(margin),
        "contact_margin": margin[margin != 0],
        "shape_rotation": merged([rounded_rotation(placement.rotation) for placement in at], 1.0),
        "shape_position": merged([rounded(placement.position, length) for placement in at], length),
        "friction": pairs.column("friction")[of_slot],
        "restitution": pairs.column("restitution")[of_slot],
        "contact_compliance": pairs.column("compliance")[of_slot],
        **field_tables([shape.solid for shape in pairs.shapes]),
        **_core_tables(list(pairs.shapes), native),
    }


def _core_tables(shapes: list[ContactShape], native: MeshKind | None) -> dict[str, Any]:
    """Sizes and cores of shapes, and the arrays of hulls, each once."""
    cores = [_core(shape, native) for shape in shapes]
    numbers: dict[Mesh, int] = {}
    hulls: list[Hull] = []
    sizes, of_shape = [], []
    for shape, core in zip(shapes, cores, strict=True):
        mesh = shape.solid
        if core != HULL_CORE or not isinstance(mesh, Mesh):
            sizes.append(shape_size(shape.solid))
            of_shape.append(0)
            continue
        if mesh not in numbers:
            numbers[mesh] = len(hulls)
            hulls.append(hull_of_mesh(mesh))
        sizes.append(hulls[numbers[mesh]].half)
        of_shape.append(numbers[mesh])
    return {"shape_size": sizes, "shape_core": cores, "shape_hull": of_shape, **hull_tables(hulls)}


def field_tables(solids: list[Solid]) -> dict[str, Any]:
    """The arrays of height fields among the solids of shapes."""
    fields = list({id(solid): solid for solid in solids if isinstance(solid, HeightField)}.values())
    grids = [np.array(field.heights) for field in fields]
    counts = np.array([grid.size for grid in grids], dtype=np.int64)
    number = {id(field): k for k, field in enumerate(fields)}
    return {
        "shape_field": [number.get(id(solid), 0) for solid in solids],
        "field_start": np.cumsum(counts) - counts,
        "field_rows": [grid.shape[0] for grid in grids],
        "field_columns": [grid.shape[1] for grid in grids],
        "field_range": [(grid.min(), grid.max()) for grid in grids],
        "heights": np.concatenate([np.zeros(0), *(grid.ravel() for grid in grids)]),
    }


def contact_tree(model: Model, native: MeshKind | None = None) -> Tree:
    """The arrays of a mechanism without its constraints, with its contacts."""
    tree, bodies = build_tree(model)
    return with_contacts(model, tree, bodies, CONTACT_TREE, native)


def with_contacts(model: Model, tree: Tree, bodies: BodyTable, layout: Layout, native: MeshKind | None = None) -> Tree:
    """The arrays of a mechanism with those of its contacts, for a layout that has both."""
    return layout.build(tree, **contact_tables(model, bodies, native))
