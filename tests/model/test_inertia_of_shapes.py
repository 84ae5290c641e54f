# SPDX-License-Identifier: BSD-3-Clause
"""Inertias of discs, tubes, cones, plates, extrusions, meshes and bodies made of several; units of input."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import linkwork as lw
from linkwork.errors import ModelError
from linkwork.model.mesh_inertia import hull_faces

DENSITY = 2700.0


class Soup(NamedTuple):
    """What trimesh has of a mesh."""

    vertices: np.ndarray
    faces: np.ndarray


def ring(radius: float, z: float, n: int) -> np.ndarray:
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), np.full(n, z)])


def hull(points: np.ndarray) -> Soup:
    return Soup(points, hull_faces(points))


def same(one: lw.Inertia, other: lw.Inertia, tolerance: float) -> None:
    size = np.abs(other.rotational).max()
    assert abs(one.mass - other.mass) <= tolerance * other.mass
    np.testing.assert_allclose(one.com, other.com, rtol=0, atol=tolerance)
    np.testing.assert_allclose(one.rotational, other.rotational, rtol=0, atol=tolerance * size)


ROUND: dict[str, Callable[[], tuple[np.ndarray, lw.Inertia]]] = {
    "disc": lambda: (np.concatenate([ring(0.2, z, 400) for z in (-0.05, 0.05)]), lw.Inertia.disc(1.0, 0.2, 0.1)),
    "cone": lambda: (np.concatenate([ring(0.2, 0, 400), [[0, 0, 0.5]]]), lw.Inertia.cone(1.0, 0.2, 0.5)),
}


@pytest.mark.parametrize("name", ROUND)
def test_round_bodies_are_limits_of_meshes(name: str) -> None:
    points, exact = ROUND[name]()
    same(lw.Inertia.of(hull(points), mass=1.0), exact, 2e-4)


def test_a_tube_is_a_cylinder_without_its_bore() -> None:
    outer, inner = lw.shapes.Cylinder(0.2, 0.3), lw.shapes.Cylinder(0.15, 0.3)
    made = lw.Inertia.of(outer, density=DENSITY) - lw.Inertia.of(inner, density=DENSITY)
    same(lw.Inertia.tube(made.mass, 0.15, 0.2, 0.3), made, 1e-13)
    along = lw.Inertia.tube(2.0, 0.1, 0.2, 0.5, axis=(1, 2, 2))
    turned = lw.Inertia.tube(2.0, 0.1, 0.2, 0.5).moved(lw.Placement((0, 0, 0), _to((1, 2, 2))))
    same(along, turned, 1e-14)


def _to(axis: tuple[float, float, float]) -> np.ndarray:
    z = np.array(axis) / np.linalg.norm(axis)
    x = np.cross(z, [0, 0, 1]) / np.linalg.norm(np.cross(z, [0, 0, 1]))
    return np.column_stack([x, np.cross(z, x), z])


def test_an_extrusion_is_its_mesh_whichever_way_its_outline_runs() -> None:
    corners = np.random.default_rng(0).normal(size=(30, 2))
    outline = corners[ConvexHull(corners).vertices]
    solid = hull(np.concatenate([np.column_stack([outline, np.full(len(outline), z)]) for z in (-0.1, 0.1)]))
    for given in (outline, outline[::-1]):
        same(lw.Inertia.extrusion(given, 0.2, density=DENSITY), lw.Inertia.of(solid, density=DENSITY), 1e-12)
    hollow = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]  # an L: two boxes
    boxes = lw.Inertia.box(2.0, (2, 1, 0.2), (1, 0.5, 0)) + lw.Inertia.box(1.0, (1, 1, 0.2), (0.5, 1.5, 0))
    same(lw.Inertia.extrusion(hollow, 0.2, mass=3.0), boxes, 1e-14)


def test_meshes_from_files_and_composite_bodies(tmp_path: Path) -> None:
    corners = np.array([[x, y, z] for x in (0, 0.1) for y in (0, 0.2) for z in (0, 0.3)], dtype=float)
    faces = hull_faces(corners)
    file = tmp_path / "box.obj"
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]
    file.write_text("\n".join(lines))
    box = lw.Inertia.of(lw.shapes.Box((0.1, 0.2, 0.3)), density=DENSITY, at=(0.05, 0.1, 0.15))
    same(lw.Inertia.of(str(file), density=DENSITY), box, 1e-12)
    halves = [
        lw.Inertia.of(lw.shapes.Box((0.05, 0.2, 0.3)), density=DENSITY, at=(x, 0.1, 0.15)) for x in (0.025, 0.075)
    ]
    same(halves[0] + halves[1], box, 1e-14)
    same(box - halves[0], halves[1], 1e-13)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: lw.Inertia.of(lw.shapes.Sphere(0.1)), "either mass or density"),
        (lambda: lw.Inertia.of(lw.shapes.Sphere(0.1), mass=1.0, density=2.0), "either mass or density"),
        (lambda: lw.Inertia.of(lw.shapes.Sphere(0.1), density=-1.0), "density must be finite and > 0"),
        (lambda: lw.Inertia.of("nowhere.stl", mass=1.0), "no mesh file nowhere.stl"),
        (lambda: lw.Inertia.of(3.0, mass=1.0), "is not a solid"),
        (lambda: lw.Inertia.tube(1.0, 0.3, 0.2, 0.1), "0 <= inner <= outer"),
        (lambda: lw.Inertia.cone(1.0, 0.0, 0.1), "needs numbers > 0"),
        (lambda: lw.Inertia.extrusion([(0, 0), (1, 1), (2, 2)], 0.1, mass=1.0), "no area"),
        (lambda: lw.Inertia.sphere(1.0, 0.1) - lw.Inertia.sphere(1.5, 0.05), "cannot be taken out"),
        (lambda: lw.Inertia.sphere(2.0, 0.1) - lw.Inertia.sphere(1.0, 0.4), "no distribution of mass"),
    ],
)
def test_bodies_that_cannot_be_are_refused(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        make()


def test_units_are_numbers_in_si() -> None:
    u = lw.units
    assert 120 * u.mm == 0.12 and 180 * u.deg == np.pi and abs(60 * u.rpm - u.rev) < 1e-15
    assert type(3 * u.mm) is float and u.mm.__doc__ == "Millimeter: 0.001 in SI units."
    np.testing.assert_array_equal(np.array([1, 2]) * u.bar, [1e5, 2e5])
    assert abs(5 * u.kN / (2 * u.mm) - 2500 * u.N_per_mm) < 1e-9
