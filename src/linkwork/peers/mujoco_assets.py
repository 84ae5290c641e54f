# SPDX-License-Identifier: BSD-3-Clause
"""Height fields and meshes of a compiled model of MuJoCo, as assets of MJCF."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from lxml import etree

from linkwork.model.arrays import Floats


def written_numbers(values: Any) -> str:
    """Numbers as text, to the last digit."""
    return " ".join(repr(float(x)) for x in np.ravel(values))


def write_assets(model: Any, root: Any, add: Callable[..., Any], elevations: dict[int, float]) -> None:
    """Add the section of assets.

    Args:
        model: A ``mujoco.MjModel``.
        root: The document's root.
        add: Adds an element: its parent, tag, kind, number and attributes.
        elevations: Where the lowest point of each height field is put.
    """
    assets = etree.SubElement(root, "asset")
    for k in range(model.nhfield):
        elevations[k] = _height_field(model, assets, add, k)
    for k in range(model.nmesh):
        _mesh(model, assets, add, k)


def _height_field(m: Any, assets: Any, add: Callable[..., Any], k: int) -> float:
    rows, columns, start = int(m.hfield_nrow[k]), int(m.hfield_ncol[k]), int(m.hfield_adr[k])
    data = m.hfield_data[start : start + rows * columns].reshape(rows, columns)[::-1]  # files begin at the far end
    x, y, unit, base = m.hfield_size[k]
    low, high = float(data.min()), float(data.max())  # files have these at zero and at the height
    size = written_numbers((x, y, (high - low) * unit or unit, base))
    sizes = {"nrow": str(rows), "ncol": str(columns), "size": size}
    add(assets, "hfield", "hfield", k, elevation=written_numbers(data), **sizes)
    return float(low * unit)


def _mesh(m: Any, assets: Any, add: Callable[..., Any], k: int) -> None:
    """The triangles about the center of mass, along principal axes, as the compiler has turned them.

    Geoms of a compiled model have the place of these. Every inertia is written: that of the mesh is not used.
    """
    first, faces = int(m.mesh_vertadr[k]), int(m.mesh_faceadr[k])
    vertices = m.mesh_vert[first : first + int(m.mesh_vertnum[k])]
    triangles = m.mesh_face[faces : faces + int(m.mesh_facenum[k])]
    corners = " ".join(str(int(corner)) for corner in np.ravel(triangles))
    add(assets, "mesh", "mesh", k, vertex=written_numbers(vertices), face=corners, inertia="shell")


def z_axis(quat: Floats) -> Floats:
    """The third column of the rotation of a quaternion (w, x, y, z)."""
    w, x, y, z = quat
    return np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
