# SPDX-License-Identifier: BSD-3-Clause
"""Vertices of mesh files: STL, OBJ and MuJoCo's MSH by NumPy alone; other formats by coal, where it is installed."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from pathlib import Path

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.arrays import Floats, frozen

STL_HEADER = 84
"""Bytes of a binary STL file before its triangles: a text of 80, and their number."""
STL_TRIANGLE = np.dtype([("normal", "<f4", 3), ("vertices", "<f4", (3, 3)), ("attribute", "<u2")])


def mesh_vertices(file: Path, scale: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> Floats:
    """The vertices of a mesh file, ``(count, 3)``, read-only; `ModelError` where it cannot be read.

    Args:
        file: Its path.
        scale: Factors of x, y and z.
    """
    try:
        vertices = _vertices(file, file.stat().st_mtime_ns)
    except (OSError, ValueError, RuntimeError, ImportError) as error:
        raise ModelError(f"mesh file {file} cannot be read: {error}") from None
    return vertices if scale == (1.0, 1.0, 1.0) else frozen(vertices * np.array(scale))


@lru_cache(maxsize=256)
def _vertices(file: Path, changed: int) -> Floats:
    """The distinct vertices of a file as it was at a time."""
    reader = {".stl": _stl, ".obj": _obj, ".msh": _msh}.get(file.suffix.lower(), _by_coal)
    vertices = np.asarray(reader(file), dtype=np.float64).reshape(-1, 3)
    if not len(vertices) or not np.isfinite(vertices).all():
        raise ValueError("it has no vertices" if not len(vertices) else "it holds NaN or infinity")
    return frozen(np.unique(vertices, axis=0))


def _stl(file: Path) -> Floats:
    """Corners of all triangles, from binary or text."""
    content = file.read_bytes()
    count = int.from_bytes(content[STL_HEADER - 4 : STL_HEADER], "little")
    if len(content) >= STL_HEADER + count * STL_TRIANGLE.itemsize and not (count == 0 and content[:5] == b"solid"):
        triangles = np.frombuffer(content, STL_TRIANGLE, count, STL_HEADER)
        return np.array(triangles["vertices"], dtype=np.float64)
    words = [line.split()[1:4] for line in content.decode(errors="replace").splitlines() if "vertex" in line]
    return np.array(words, dtype=np.float64)


def _obj(file: Path) -> Floats:
    """Lines that begin with ``v``."""
    lines = file.read_text(errors="replace").splitlines()
    return np.array([line.split()[1:4] for line in lines if line[:2] in ("v ", "v\t")], dtype=np.float64)


def _msh(file: Path) -> Floats:
    """Four numbers of vertices, normals, texture coordinates and faces; then the vertices, of 32 bits."""
    content = file.read_bytes()
    count = int(np.frombuffer(content, "<i4", 4)[0])
    return np.frombuffer(content, "<f4", 3 * count, 16).astype(np.float64)


def _by_coal(file: Path) -> Floats:
    """Vertices of any format that coal reads."""
    loader = import_module("coal").MeshLoader()
    return np.array(loader.load(str(file), np.ones(3)).vertices())
