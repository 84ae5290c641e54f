# SPDX-License-Identifier: BSD-3-Clause
"""Outlines of solids as an eye far away sees them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from linkwork.quantities.arguments import Array

EDGE_ON = 1e-9
"""Triangles whose normal is across the line of sight to within this part are not seen."""


def hull(points: Array) -> npt.NDArray[np.int64]:
    """Corners of the convex hull of points of a plane, counterclockwise; none where they are on a line."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        corners: npt.NDArray[np.int64] = ConvexHull(points).vertices.astype(np.int64)
    except (QhullError, ValueError):
        return np.arange(0)
    return corners


def silhouette(vertices: Array, faces: npt.NDArray[np.int64], across: Array) -> list[Array]:
    """Closed outlines of a mesh, ``(n, 3)`` each: edges between triangles that are seen and others.

    Args:
        vertices: ``(count, 3)``.
        faces: Triangles that face outward, ``(faces, 3)``.
        across: Directions to the right and up, ``(2, 3)``.
    """
    eye = np.cross(*across)
    corners, number = np.unique(np.round(vertices, 12), axis=0, return_inverse=True)
    faces = number.reshape(-1)[faces]
    D, E, F = (corners[faces[:, k]] for k in range(3))
    normals = np.cross(E - D, F - D)
    seen = faces[normals @ eye > EDGE_ON * np.abs(normals).max(initial=1e-300)]
    edges = {(int(a), int(b)) for f in seen for a, b in ((f[0], f[1]), (f[1], f[2]), (f[2], f[0]))}
    after = {a: b for a, b in sorted(edges) if (b, a) not in edges}
    outlines = list[Array]()
    while after:
        start, at = next(iter(after.items()))
        loop = [start]
        del after[start]
        while at in after:
            loop.append(at)
            at = after.pop(at)
        if len(loop) > 2:
            outlines.append(corners[loop])
    return outlines
