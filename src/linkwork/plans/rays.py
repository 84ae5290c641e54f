# SPDX-License-Identifier: BSD-3-Clause
"""The plan of rays: shapes, and hierarchies of boxes around the triangles of meshes, hulls and height fields.

Nodes of a hierarchy are in the order of a depth-first walk, each with the node after its subtree, `node_end`. A leaf
has entries: triangles of a mesh, or cells of a height field that are next to each other along y.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.contacts import ContactPairs
from linkwork.model.model import Model
from linkwork.model.sensors import Sensor
from linkwork.model.shapes import Box, Cylinder, Ellipsoid, Ground, HeightField, Mesh, Shape, Solid, Sphere
from linkwork.model.thresholds import UNBOUNDED
from linkwork.plans.bodies import BodyTable
from linkwork.plans.contacts import field_tables
from linkwork.plans.hulls import hull_of_mesh
from linkwork.plans.layout import Shape as ArrayShape
from linkwork.plans.thresholds import BOX_MARGIN
from linkwork.plans.tree import TREE, Tree, build_tree

ELLIPSOID, BOX, CYLINDER, CAPSULE, PLANE, TRIANGLES, FIELD = range(7)
"""Kinds of shapes; the first four are volumes of sensors, too."""

FRAME_AXES, YAW, WORLD_AXES = range(3)
"""Frame that rays rotate with: the frame, its heading, nothing."""

LEAF = 4
"""The most triangles, or cells along y, of a leaf."""

RayMeshes = Literal["triangles", "hull"]
"""Part of a mesh that rays hit: its surface, or its convex hull."""

RAY_SIZES = (
    "nshapes",
    "nseen",  # entries of lists of shapes
    "nnodes",
    "ntriangles",
    "ncorners_at",  # vertices of all meshes
    "nfields",
    "nheights",
)
RAY_INTEGERS: dict[str, ArrayShape] = {
    "shape_body": ("nshapes",),
    "shape_kind": ("nshapes",),
    "shape_field": ("nshapes",),  # number of the height field; 0 of other shapes
    "shape_node": ("nshapes",),  # first node, and their count
    "shape_nodes": ("nshapes",),
    "seen_shape": ("nseen",),
    "node_end": ("nnodes",),
    "node_first": ("nnodes",),  # first entry of a leaf, and their count
    "node_count": ("nnodes",),
    "triangle": ("ntriangles", 3),
    "field_start": ("nfields",),
    "field_rows": ("nfields",),
    "field_columns": ("nfields",),
}
RAY_FLOATS: dict[str, ArrayShape] = {
    "shape_rotation": ("nshapes", 3, 3),
    "shape_position": ("nshapes", 3),
    "shape_size": ("nshapes", 3),  # radii, half edges, radius and half length, half edges of a rectangle
    "node_box": ("nnodes", 6),  # least coordinates, then the largest
    "corner_at": ("ncorners_at", 3),
    "field_range": ("nfields", 2),
    "heights": ("nheights",),
}
RAY_TREE = TREE.extended(
    "rays",
    (*RAY_SIZES, "ray_axes"),
    RAY_INTEGERS,
    {**RAY_FLOATS, "ray_reach": (1,), "ray_miss": (1,)},
)
"""A mechanism without constraints, with shapes that rays hit; the rays are those of its first frame."""


def solid_kind(solid: Solid | None) -> tuple[int, tuple[float, float, float]]:
    """Kind and sizes of a solid, as kernels know them; a solid that is not there is a ball of radius one."""
    match solid:
        case Sphere(radius=r):
            return ELLIPSOID, (r, r, r)
        case Ellipsoid(radii=radii):
            return ELLIPSOID, radii
        case Box(size=(x, y, z)):
            return BOX, (x / 2, y / 2, z / 2)
        case Cylinder(radius=r, length=length, rounded=rounded):
            return (CAPSULE if rounded else CYLINDER), (r, length / 2, 0.0)
        case Ground(extent=(x, y)):
            return PLANE, (min(x, UNBOUNDED), min(y, UNBOUNDED), 0.0)
        case HeightField(size=(x, y)):
            return FIELD, (x / 2, y / 2, 0.0)
        case Mesh():
            return TRIANGLES, (0.0, 0.0, 0.0)
        case _:
            return ELLIPSOID, (1.0, 1.0, 1.0)


class Hierarchy(NamedTuple):
    """Boxes around triangles or cells."""

    box: Floats
    """``(nodes, 6)``."""
    end: list[int]
    first: list[int]
    counts: list[int]
    order: list[int]
    """Triangles in the order of leaves; empty for cells."""


def ray_tree(
    model: Model, shapes: Sequence[Shape], frame: str, meshes: RayMeshes, axes: int, reach: float, miss: float
) -> Tree:
    """The arrays of a mechanism with these shapes, for rays of a frame.

    Args:
        model: The mechanism.
        shapes: Shapes that rays hit.
        frame: The frame.
        meshes: Part of a mesh that rays hit.
        axes: Frame that rays rotate with, see `FRAME_AXES`.
        reach: The greatest distance of a hit.
        miss: Distance of rays that hit nothing.
    """
    tree, bodies = build_tree(model, [frame, *dict.fromkeys(shape.body for shape in shapes)])
    return RAY_TREE.build(
        tree,
        **ray_tables(shapes, bodies, meshes),
        seen_shape=range(len(shapes)),
        ray_axes=axes,
        ray_reach=[min(reach, UNBOUNDED)],
        ray_miss=[miss],
    )


def ray_tables(shapes: Sequence[Shape], bodies: BodyTable, meshes: RayMeshes = "triangles") -> dict[str, Any]:
    """The arrays of shapes, for `Layout.build`; lists of shapes that are seen are not among them."""
    kinds = [solid_kind(shape.solid) for shape in shapes]
    at = [bodies.frames[bodies.number[shape.body]].inverse() * shape.placement for shape in shapes]
    fields = field_tables([shape.solid for shape in shapes])
    nodes = _Nodes(fields["field_start"].tolist())
    spans = [nodes.of(shape.solid, meshes) for shape in shapes]
    return {
        "shape_body": [bodies.number[shape.body] for shape in shapes],
        "shape_kind": [kind for kind, _ in kinds],
        "shape_size": [size for _, size in kinds],
        "shape_rotation": [placement.rotation for placement in at],
        "shape_position": [placement.position for placement in at],
        "shape_node": [first for first, _ in spans],
        "shape_nodes": [count for _, count in spans],
        **fields,
        **nodes.tables(),
    }


class _Nodes:
    """Nodes of all hierarchies, each solid once."""

    def __init__(self, field_start: list[int]) -> None:
        self.field_start = iter(field_start)
        self.spans: dict[int, tuple[int, int]] = {}
        self.found: list[tuple[Hierarchy, int, Floats, Any]] = []
        self.nodes, self.corners, self.triangles = 0, 0, 0

    def of(self, solid: Solid, meshes: RayMeshes) -> tuple[int, int]:
        """First node of a solid, and their count."""
        if not isinstance(solid, Mesh | HeightField):
            return 0, 0
        if id(solid) not in self.spans:
            self.spans[id(solid)] = self._added(solid, meshes)
        return self.spans[id(solid)]

    def _added(self, solid: Mesh | HeightField, meshes: RayMeshes) -> tuple[int, int]:
        none = np.zeros((0, 3))
        if isinstance(solid, HeightField):
            tree, start, corners, faces = field_hierarchy(solid), next(self.field_start), none, none
        else:
            corners, faces = mesh_surface(solid, meshes)
            tree = mesh_hierarchy(corners.tobytes(), faces.tobytes())
            faces, start = faces[tree.order] + self.corners, self.triangles
        span = self.nodes, len(tree.end)
        self.found.append((tree, start, corners, faces))
        self.nodes, self.corners = self.nodes + len(tree.end), self.corners + len(corners)
        self.triangles += len(tree.order)
        return span

    def tables(self) -> dict[str, Any]:
        """The arrays of nodes and triangles."""
        starts = np.cumsum([0, *(len(tree.end) for tree, *_ in self.found)])
        return {
            "node_box": [row for tree, *_ in self.found for row in tree.box],
            "node_end": [end + s for (tree, *_), s in zip(self.found, starts, strict=False) for end in tree.end],
            "node_first": [first + start for tree, start, *_ in self.found for first in tree.first],
            "node_count": [count for tree, *_ in self.found for count in tree.counts],
            "corner_at": np.concatenate([np.zeros((0, 3)), *(corners for *_, corners, _ in self.found)]),
            "triangle": np.concatenate([np.zeros((0, 3)), *(faces for *_, faces in self.found)]),
        }


# Surfaces -----------------------------------------------------------------------------------------------------------


def mesh_surface(mesh: Mesh, meshes: RayMeshes) -> tuple[Floats, Any]:
    """Vertices and triangles of a mesh, scaled, or those of its convex hull; `ModelError` where it has none."""
    surface = None if meshes == "hull" else mesh.surface()
    if surface is None or not len(surface.faces):  # a mesh of points alone is its hull
        hull = hull_of_mesh(mesh)
        fans = [(face[0], face[k], face[k + 1]) for face in hull.faces for k in range(1, len(face) - 1)]
        return hull.points, np.array(fans, dtype=np.int64).reshape(-1, 3)
    faces = surface.faces if np.prod(mesh.scale) > 0 else surface.faces[:, ::-1]  # a mirrored one is inside out
    return np.ascontiguousarray(surface.vertices * np.array(mesh.scale)), np.ascontiguousarray(faces)


@lru_cache(maxsize=64)
def mesh_hierarchy(vertices: bytes, faces: bytes) -> Hierarchy:
    """Boxes around the triangles of a mesh, divided at the median of their centers."""
    corners = np.frombuffer(vertices).reshape(-1, 3)[np.frombuffer(faces, dtype=np.int64).reshape(-1, 3)]
    low, high = corners.min(axis=1), corners.max(axis=1)
    centers = (low + high) / 2
    hierarchy = Hierarchy(np.zeros((0, 6)), [], [], [], [])
    boxes: list[Floats] = []

    def add(chosen: Any) -> None:
        node = len(hierarchy.end)
        boxes.append(np.concatenate([low[chosen].min(axis=0), high[chosen].max(axis=0)]))
        leaf = len(chosen) <= LEAF
        hierarchy.first.append(len(hierarchy.order))
        hierarchy.counts.append(len(chosen) if leaf else 0)
        hierarchy.end.append(0)
        if leaf:
            hierarchy.order.extend(chosen.tolist())
        else:
            axis = int(np.ptp(centers[chosen], axis=0).argmax())
            half = len(chosen) // 2
            sides = chosen[np.argpartition(centers[chosen, axis], half)]
            add(sides[:half])
            add(sides[half:])
        hierarchy.end[node] = len(hierarchy.end)

    if len(corners):
        add(np.arange(len(corners)))
    return hierarchy._replace(box=_wider(boxes))


def field_hierarchy(field: HeightField) -> Hierarchy:
    """Boxes around the cells of a height field, divided at the middle of the longer side."""
    heights = np.array(field.heights)
    rows, columns = heights.shape
    x, y = (np.linspace(-size / 2, size / 2, n) for size, n in zip(field.size, heights.shape, strict=True))
    hierarchy = Hierarchy(np.zeros((0, 6)), [], [], [], [])
    boxes: list[Floats] = []

    def add(i: int, j: int, across: int, along: int) -> None:
        node = len(hierarchy.end)
        part = heights[i : i + across + 1, j : j + along + 1]
        boxes.append(np.array([x[i], y[j], part.min(), x[i + across], y[j + along], part.max()]))
        leaf = across == 1 and along <= LEAF
        hierarchy.first.append(i * columns + j)
        hierarchy.counts.append(along if leaf else 0)
        hierarchy.end.append(0)
        if leaf:
            pass
        elif across * LEAF >= along and across > 1:
            add(i, j, across // 2, along)
            add(i + across // 2, j, across - across // 2, along)
        else:
            add(i, j, across, along // 2)
            add(i, j + along // 2, across, along - along // 2)
        hierarchy.end[node] = len(hierarchy.end)

    add(0, 0, rows - 1, columns - 1)
    return hierarchy._replace(box=_wider(boxes))


def _wider(boxes: list[Floats]) -> Floats:
    """Boxes with a margin for rounding in single precision."""
    boxes_wider = np.array(boxes).reshape(-1, 6)
    if len(boxes_wider):
        size = float(np.abs(boxes_wider).max())
        boxes_wider[:, :3] -= BOX_MARGIN * size
        boxes_wider[:, 3:] += BOX_MARGIN * size
    return boxes_wider


# Visible shapes ------------------------------------------------------------------------------------------------------


def seen_shapes(model: Model, roles: Iterable[str], exclude: Iterable[str] = ()) -> list[Shape]:
    """The shapes of a mechanism with these roles; those of some bodies, or links of bodies, are left out.

    Args:
        model: The mechanism.
        roles: ``"visual"``, ``"collision"``: a shape that may touch others is of both, wherever it is drawn.
        exclude: Names of bodies and of links.
    """
    wanted, hidden = set(roles), set(exclude)
    shapes = [*model.shapes, *(_contact_shapes(model) if "collision" in wanted else ())]
    return [
        shape
        for shape in shapes
        if (shape.role in wanted or ("collision" in wanted and shape.collides))
        and shape.body not in hidden
        and shape.link not in hidden
    ]


def _contact_shapes(model: Model) -> list[Shape]:
    """Shapes of contact pairs that the model does not have as its own, such as a ground."""
    own = {(shape.body, id(shape.solid)) for shape in model.shapes}
    equal = {(shape.body, shape.solid, shape.placement.position.tobytes()) for shape in model.shapes}
    return [
        Shape(known.body, known.solid, known.placement, role="collision", name=known.name)
        for known in ContactPairs.of(model.contacts).shapes
        if (known.body, id(known.solid)) not in own
        and (known.body, known.solid, known.placement.position.tobytes()) not in equal
    ]


def sensed_shapes(model: Model, sensor: Sensor) -> list[Shape]:
    """The shapes that a range finder detects: all that are not invisible, but those of the link that it is on."""
    return [
        shape
        for shape in [*model.shapes, *_contact_shapes(model)]
        if shape.role != "fluid"
        and (shape.color is None or shape.color[3] > 0)
        and (not sensor.exclude or (shape.link or shape.body) != sensor.exclude)
    ]
