# SPDX-License-Identifier: BSD-3-Clause
"""Plates of any outline as meshes: a polygon cut into triangles by its ears."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from linkwork.errors import ModelError
from linkwork.model.arrays import Floats, finite
from linkwork.model.mesh_files import Faces, Triangles
from linkwork.model.shapes import Mesh


def extrusion(outline: npt.ArrayLike, thickness: float, name: str = "plate") -> Mesh:
    """A plate from ``z = -thickness / 2`` to ``thickness / 2``, as a closed mesh.

    Args:
        outline: Corners of a polygon in the x-y plane that does not cross itself, ``(n, 2)``.
        thickness: In m.
        name: Of the mesh.
    """
    points = finite(outline, "outline")
    if points.ndim != 2 or points.shape[1] != 2 or len(points) < 3:
        raise ModelError(f"outline has shape {points.shape}, needs (n, 2) with three corners or more")
    if not 0 < thickness < np.inf:
        raise ModelError(f"thickness is {thickness}, needs a finite number > 0")
    after = np.roll(points, -1, axis=0)
    if float((points[:, 0] * after[:, 1] - points[:, 1] * after[:, 0]).sum()) < 0:
        points = points[::-1]
    n, half, cap = len(points), 0.5 * float(thickness), _ears(points)
    vertices = np.concatenate([np.column_stack([points, np.full(n, z)]) for z in (-half, half)])
    k, following = np.arange(n), (np.arange(n) + 1) % n
    sides = np.concatenate(
        [np.stack([k, following, n + following], axis=-1), np.stack([k, n + following, n + k], axis=-1)]
    )
    return Mesh(name, None, triangles=Triangles(vertices, np.concatenate([sides, cap[:, ::-1], n + cap])))


def _ears(points: Floats) -> Faces:
    """Triangles of a polygon whose corners run counterclockwise, ``(n - 2, 3)``."""
    left, triangles = list(range(len(points))), list[list[int]]()
    while len(left) > 3:
        for i in range(len(left)):
            a, b, c = left[i - 1], left[i], left[(i + 1) % len(left)]
            others = points[[k for k in left if k not in (a, b, c)]]
            if _turn(points[a], points[b], points[c]) > 0 and not _inside(others, points[[a, b, c]]).any():
                triangles.append([a, b, c])
                del left[i]
                break
        else:
            break
    if len(left) > 3 or _turn(*points[left]) <= 0:
        raise ModelError("the outline crosses itself, or has corners in one place")
    return np.array([*triangles, left], dtype=np.int64)


def _turn(a: Floats, b: Floats, c: Floats) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def _inside(points: Floats, corners: Floats) -> npt.NDArray[np.bool_]:
    """Whether points are in a triangle, edges included."""
    inside = np.ones(len(points), dtype=bool)
    for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        d = points - a
        inside &= (b[0] - a[0]) * d[:, 1] - (b[1] - a[1]) * d[:, 0] >= 0
    return inside
