# SPDX-License-Identifier: BSD-3-Clause
"""Bounding spheres of solids, and vertices of mesh files."""

from __future__ import annotations

from math import inf
from pathlib import Path

import numpy as np
import pytest

from linkwork.errors import ModelError
from linkwork.model.mesh_files import mesh_vertices
from linkwork.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Ground, HeightField, Mesh, Sphere, bounding_sphere
from tests.support.contact_pairs import KINDS, support

CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]])
FACES = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))


def write_obj(file: Path, vertices: np.ndarray) -> Path:
    file.write_text("# points\n" + "".join(f"v {x!r} {y!r} {z!r}\n" for x, y, z in vertices.tolist()) + "vn 0 0 1\n")
    return file


def write_stl(file: Path, binary: bool) -> Path:
    if binary:
        rows = [np.array([0, 0, 1, *CORNERS[list(face)].ravel()], "<f4").tobytes() + b"\0\0" for face in FACES]
        file.write_bytes(b"solid, but binary".ljust(80) + len(FACES).to_bytes(4, "little") + b"".join(rows))
    else:
        body = "".join(
            "facet normal 0 0 1\nouter loop\n"
            + "".join(f"  vertex {x} {y} {z}\n" for x, y, z in CORNERS[list(face)])
            + "endloop\nendfacet\n"
            for face in FACES
        )
        file.write_text(f"solid tetrahedron\n{body}endsolid\n")
    return file


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "plane"])
def test_bounding_spheres_touch_the_solids_that_they_contain(kind: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        solid = KINDS[kind](rng)
        center, radius = bounding_sphere(solid)
        n = rng.normal(size=(4000, 3))
        n /= np.linalg.norm(n, axis=1, keepdims=True)
        reach = support(solid, n) - n @ np.array(center)
        assert reach.max() <= radius * (1 + 1e-12)
        assert reach.max() > 0.95 * radius


def test_unbounded_shapes_have_infinite_radius() -> None:
    for solid in (Ground(), HeightField(((0.0, 1.0), (0.0, 1.0)), (1.0, 1.0)), Mesh("missing", None)):
        assert bounding_sphere(solid)[1] == inf


def test_bounding_sphere_of_a_mesh_is_nearly_the_smallest(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    points = rng.normal(size=(500, 3))
    points = (1.0, -2.0, 0.5) + 0.3 * points / np.linalg.norm(points, axis=1, keepdims=True)
    center, radius = bounding_sphere(Mesh("ball", write_obj(tmp_path / "ball.obj", points), (2.0, 2.0, 2.0)))
    assert np.linalg.norm(2 * points - center, axis=1).max() <= radius * (1 + 1e-12)
    assert 0.6 * 0.999 < radius < 0.6 * 1.02
    assert bounding_sphere(Capsule(0.1, 1.0))[1] == pytest.approx(0.6)
    assert bounding_sphere(Cylinder(0.3, 0.8))[1] == pytest.approx(0.5)
    assert bounding_sphere(Box((2.0, 2.0, 1.0)))[1] == pytest.approx(1.5)
    assert bounding_sphere(Sphere(2.0))[1] == 2.0 and bounding_sphere(Ellipsoid((1.0, 3.0, 2.0)))[1] == 3.0


def test_vertices_are_read_from_all_formats(tmp_path: Path) -> None:
    packed = np.array([4, 0, 0, 4], "<i4").tobytes() + CORNERS.astype("<f4").tobytes() + np.zeros(12, "<i4").tobytes()
    (tmp_path / "a.msh").write_bytes(packed)
    files = [
        write_obj(tmp_path / "a.obj", CORNERS),
        write_stl(tmp_path / "binary.stl", True),
        write_stl(tmp_path / "TEXT.STL", False),
        tmp_path / "a.msh",
    ]
    for file in files:
        found = mesh_vertices(file, (1.0, 1.0, -2.0))
        assert {tuple(x) for x in found} == {tuple(x) for x in CORNERS * (1, 1, -2)}


def test_files_that_cannot_be_read_are_errors(tmp_path: Path) -> None:
    (tmp_path / "empty.obj").write_text("# nothing\n")
    (tmp_path / "cut.msh").write_bytes(np.array([4, 0, 0, 4], "<i4").tobytes())
    for name in ("empty.obj", "cut.msh", "missing.stl"):
        with pytest.raises(ModelError, match="cannot be read"):
            mesh_vertices(tmp_path / name)
