# SPDX-License-Identifier: BSD-3-Clause
"""Triangles of mesh files: STL, OBJ and MuJoCo's MSH by NumPy alone; other formats by coal, where it is installed."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from linkwork.errors import ModelError
from linkwork.model.arrays import Floats, frozen

STL_HEADER = 84
"""Bytes of a binary STL file before its triangles: a text of 80, and their number."""
STL_TRIANGLE = np.dtype([("normal", "<f4", 3), ("vertices", "<f4", (3, 3)), ("attribute", "<u2")])

Faces = npt.NDArray[np.int64]


class Triangles(NamedTuple):
    """A surface of triangles."""

    vertices: Floats
    """``(count, 3)``."""
    faces: Faces
    """Numbers of vertices, ``(faces, 3)``, counterclockwise from outside; none where a file has points alone."""


def mesh_vertices(file: Path, scale: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> Floats:
    """The distinct vertices of a mesh file, ``(count, 3)``, read-only; `ModelError` where it cannot be read.

    Args:
        file: Its path.
        scale: Factors of x, y and z.
    """
    vertices = _read(file, _vertices)
    return vertices if scale == (1.0, 1.0, 1.0) else frozen(vertices * np.array(scale))


def mesh_triangles(file: Path) -> Triangles:
    """The triangles of a mesh file, read-only; `ModelError` where it cannot be read.

    Args:
        file: Its path.
    """
    triangles: Triangles = _read(file, _triangles)
    return triangles


def _read(file: Path, reader: Any) -> Any:
    try:
        return reader(file, file.stat().st_mtime_ns)
    except (OSError, ValueError, RuntimeError, ImportError) as error:
        raise ModelError(f"mesh file {file} cannot be read: {error}") from None


@lru_cache(maxsize=256)
def _vertices(file: Path, changed: int) -> Floats:
    """The distinct vertices of a file as it was at a time."""
    return frozen(np.unique(_triangles(file, changed).vertices, axis=0))


@lru_cache(maxsize=64)
def _triangles(file: Path, changed: int) -> Triangles:
    """The triangles of a file as it was at a time."""
    reader = {".stl": _stl, ".obj": _obj, ".msh": _msh}.get(file.suffix.lower(), _by_coal)
    points, corners = reader(file)
    vertices = np.asarray(points, dtype=np.float64).reshape(-1, 3)
    faces = np.asarray(corners, dtype=np.int64).reshape(-1, 3)
    if not len(vertices) or not np.isfinite(vertices).all():
        raise ValueError("it has no vertices" if not len(vertices) else "it holds NaN or infinity")
    if faces.size and not 0 <= faces.min() <= faces.max() < len(vertices):
        raise ValueError(f"it has {len(vertices)} vertices, and faces with others")
    faces.flags.writeable = False
    return Triangles(frozen(vertices), faces)


def _stl(file: Path) -> tuple[Any, Any]:
    """Corners of all triangles, from binary or text."""
    content = file.read_bytes()
    count = int.from_bytes(content[STL_HEADER - 4 : STL_HEADER], "little")
    if len(content) >= STL_HEADER + count * STL_TRIANGLE.itemsize and not (count == 0 and content[:5] == b"solid"):
        corners = np.frombuffer(content, STL_TRIANGLE, count, STL_HEADER)["vertices"].reshape(-1, 3)
    else:
        words = [line.split()[1:4] for line in content.decode(errors="replace").splitlines() if "vertex" in line]
        return np.array(words, dtype=np.float64), np.arange(len(words) // 3 * 3)
    return corners, np.arange(len(corners) // 3 * 3)


def _obj(file: Path) -> tuple[Any, Any]:
    """Lines that begin with ``v``, and with ``f`` of the first object or group that has some."""
    points: list[list[str]] = []
    polygons: list[list[int]] = []
    ended = False
    for line in file.read_text(errors="replace").splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == "v":
            points.append(words[1:4])
        elif words[0] in ("o", "g"):
            ended = ended or bool(polygons)
        elif words[0] == "f" and not ended:
            numbers = [int(word.split("/")[0]) for word in words[1:]]
            polygons.append([k - 1 if k > 0 else len(points) + k for k in numbers])  # negative ones count backwards
    vertices = np.array(points, dtype=np.float64).reshape(-1, 3)
    return vertices, [triangle for polygon in polygons for triangle in _split(polygon, vertices)]


def _split(polygon: list[int], vertices: Floats) -> list[list[int]]:
    """A polygon as triangles: of four corners by the shorter diagonal, of more by those from the first corner."""
    if len(polygon) == 4 and max(polygon) < len(vertices):
        a, b, c, d = polygon
        first, second = vertices[c] - vertices[a], vertices[d] - vertices[b]
        if not first @ first < second @ second:
            return [[a, b, d], [b, c, d]]
    return [[polygon[0], polygon[k], polygon[k + 1]] for k in range(1, len(polygon) - 1)]


def _msh(file: Path) -> tuple[Any, Any]:
    """Numbers of vertices, normals, texture coordinates and faces; then all of these, of 32 bits."""
    content = file.read_bytes()
    vertices, normals, texture, faces = (int(k) for k in np.frombuffer(content, "<i4", 4))
    start = 16 + 4 * (3 * vertices + 3 * normals + 2 * texture)
    return np.frombuffer(content, "<f4", 3 * vertices, 16), np.frombuffer(content, "<i4", 3 * faces, start)


def _by_coal(file: Path) -> tuple[Any, Any]:
    """Any format that coal reads."""
    model = import_module("coal").MeshLoader().load(str(file), np.ones(3))
    faces = [list(model.tri_indices(k)) for k in range(model.num_tris)]
    return np.array(model.vertices()), faces
