# SPDX-License-Identifier: BSD-3-Clause
"""Surfaces, tendons and springs of pictures: triangles enclose what solids do, paths are as long as tendons are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.drawing.skeleton import ground_plane, on_plane, skeleton
from linkwork.drawing.strands import Strands
from linkwork.drawing.surfaces import field_triangles, simplified, solid_triangles, surfaces
from linkwork.model.mesh_files import Triangles
from linkwork.model.shapes import Box, Cylinder, Ellipsoid, HeightField, Mesh, Solid, Sphere
from linkwork.quantities.arguments import Array
from linkwork.viewer.overlays import inertia_box

WRAPPED = """<mujoco><worldbody>
  <site name="top" pos="0.3 0.05 1"/><geom name="drum" type="cylinder" size="0.08 0.1" pos="0.1 0 0.6"
  euler="90 20 0"/>
  <site name="aside" pos="0.25 0 0.6"/>
  <body pos="0 0 0.5"><joint axis="0 1 0"/><geom name="ball" size="0.07" pos="0 0 -0.2" mass="1"/>
    <site name="low" pos="0.15 0.02 -0.45"/><site name="out" pos="-0.3 0.01 -0.1"/></body></worldbody>
  <tendon><spatial name="a"><site site="top"/><geom geom="drum" sidesite="aside"/><site site="low"/></spatial>
    <spatial name="b"><site site="low"/><geom geom="ball"/><site site="out"/></spatial>
    <spatial name="c"><site site="top"/><site site="low"/><pulley divisor="1"/><site site="out"/><site site="top"/>
    </spatial>
  </tendon></mujoco>"""
"""Around a cylinder, around a ball, and straight."""


def volume(vertices: Array, faces: Array) -> float:
    a, b, c = vertices[faces].transpose(1, 0, 2)
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)


@pytest.mark.parametrize(
    ("solid", "exact"),
    [
        (Box((0.2, 0.3, 0.4)), 0.2 * 0.3 * 0.4),
        (Sphere(0.3), 4 / 3 * np.pi * 0.3**3),
        (Ellipsoid((0.1, 0.2, 0.3)), 4 / 3 * np.pi * 0.1 * 0.2 * 0.3),
        (Cylinder(0.1, 0.5), np.pi * 0.1**2 * 0.5),
        (Cylinder(0.1, 0.5, rounded=True), np.pi * 0.1**2 * 0.5 + 4 / 3 * np.pi * 0.1**3),
    ],
    ids=["box", "sphere", "ellipsoid", "cylinder", "capsule"],
)
def test_triangles_enclose_the_solid(solid: Solid, exact: float) -> None:
    """All faces look outwards; those of round solids are chords of 24 to a turn."""
    found = solid_triangles(solid)
    assert found is not None
    assert volume(*found) == pytest.approx(exact, rel=1e-12 if isinstance(solid, Box) else 0.035)


def test_a_mesh_with_many_triangles_keeps_its_volume_with_few() -> None:
    around = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    rings = np.linspace(-1, 1, 200)
    vertices = np.array([[0.2 * np.cos(a), 0.2 * np.sin(a), z] for z in rings for a in around])
    k = np.arange(199 * 400)
    right = k // 400 * 400 + (k + 1) % 400
    faces = np.concatenate([np.stack([k, right, k + 400], 1), np.stack([right, right + 400, k + 400], 1)])
    few, joined = simplified(vertices, faces, most=1000)
    assert 200 < len(joined) <= 1000
    np.testing.assert_allclose(np.ptp(few, axis=0), [0.4, 0.4, 2.0], atol=0.1)
    assert volume(few, joined) == pytest.approx(volume(vertices, faces), rel=0.1)


def test_a_mesh_without_a_file_is_left_out_and_one_with_numbers_is_drawn() -> None:
    corners = Triangles(np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]), np.array([[0, 1, 2]]))
    assert solid_triangles(Mesh("gone.stl", None)) is None
    found = solid_triangles(Mesh("here", None, (2.0, 3.0, 1.0), triangles=corners))
    assert found is not None
    np.testing.assert_allclose(np.ptp(found[0], axis=0), [2.0, 3.0, 0.0])
    build = lw.Builder("arm").body("rod", lw.Inertia.rod(1.0, (0, 0, 0), (1, 0, 0)))
    build.joint("pin", lw.joints.Revolute("y"), "world", "rod").shape("rod", Mesh("gone.stl", None))
    build.shape("rod", Sphere(0.1), role="collision")
    assert surfaces(skeleton(build.build())).bodies == [1]


def test_terrain_is_drawn_with_few_cells() -> None:
    heights = np.add.outer(np.arange(200.0), np.zeros(150)) / 200
    field = HeightField(tuple(map(tuple, heights.tolist())), (4.0, 3.0))
    vertices, faces = field_triangles(field, 96)
    assert len(faces) == 2 * 96**2
    np.testing.assert_allclose(np.ptp(vertices, axis=0), [4.0, 3.0, 199 / 200])
    build = (
        lw.Builder("hill").body("ball", lw.Inertia.sphere(1.0, 0.1)).joint("free", lw.joints.Free(), "world", "ball")
    )
    robot = build.shape("ball", Sphere(0.1)).shape("world", field).build()
    assert surfaces(skeleton(robot)).bodies == [0, 1]


def test_the_ground_of_pictures_lies_on_its_plane() -> None:
    slope = lw.zoo.boxes_on_slope(0.3)
    plane = ground_plane(slope)
    assert plane is not None
    flat = np.random.default_rng(0).normal(size=(50, 3))
    moved = on_plane(flat, plane, 2)
    np.testing.assert_array_equal(moved[:, :2], flat[:, :2])
    np.testing.assert_allclose((moved - plane.position) @ plane.rotation[:, 2], 0, atol=1e-12)


def test_pictures_show_meshes_and_terrain(tmp_path: Path) -> None:
    """Colors of shapes are in a picture, and in one of environments."""
    image = pytest.importorskip("PIL.Image")
    from linkwork.gym.rendering import Camera

    box = Triangles(solid_triangles(Box((0.3, 0.3, 0.3)))[0], solid_triangles(Box((1, 1, 1)))[1])  # type: ignore[index]
    build = lw.Builder("block").body("block", lw.Inertia.box(1.0, (0.3, 0.3, 0.3)))
    build.joint("slide", lw.joints.Prismatic("z"), "world", "block", at=(0, 0, 0.5))
    build.shape("block", Mesh("block", None, triangles=box), color=(1.0, 0.0, 0.0))
    hill = HeightField(tuple((0.02 * k,) * 21 for k in range(21)), (2.0, 2.0))
    robot = build.shape("world", hill, color=(0.0, 0.8, 0.0)).build()
    lw.simulate(robot, [0.0], seconds=0.01).picture(tmp_path / "block.png")
    pictures = (
        np.asarray(image.open(tmp_path / "block.png").convert("RGB")),
        Camera(center=(0, 0, 0.3)).picture(robot, np.zeros(1)),
    )
    for seen in pictures:
        r, g, b = seen.reshape(-1, 3).astype(int).T
        assert ((r > 1.5 * g) & (r > 1.5 * b)).sum() > 300 and ((g > 1.3 * r) & (g > 1.3 * b)).sum() > 300


def test_a_base_larger_than_the_robot_is_within_the_picture(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    corners, faces = solid_triangles(Box((0.3, 0.1, 0.1)))  # type: ignore[misc]
    build = lw.Builder("hand").body("finger", lw.Inertia.rod(1.0, (0, 0, 0), (0.2, 0, 0)))
    build.joint("knuckle", lw.joints.Revolute("y"), "world", "finger").frame("tip", "finger", (0.2, 0, 0))
    forearm = Mesh("forearm", None, triangles=Triangles(corners - [0.15, 0, 0], faces))
    robot = build.shape("world", forearm, color=(1.0, 0.0, 0.0)).build()
    lw.simulate(robot, seconds=0.01).picture(tmp_path / "hand.png", time=0.0, trace="tip")
    r, g, b = np.asarray(image.open(tmp_path / "hand.png").convert("RGB")).astype(int).transpose(2, 0, 1)
    red = (r > 1.5 * g) & (r > 1.5 * b)
    assert red.sum() > 3000 and not (red[[0, -1]].any() or red[:, [0, -1]].any())


def test_paths_of_tendons_are_as_long_as_tendons() -> None:
    """Around obstacles arcs are chords of eight pieces."""
    robot = lw.loads(WRAPPED)
    strands, bones = Strands(robot, 1.0), skeleton(robot)
    wrapped = 0
    for angle in np.linspace(-1.0, 1.0, 21):
        q = np.array([angle])
        R, p = bones.poses(q)
        pieces = strands.tendon_lines(R, p)
        wrapped += len(pieces) > 4
        drawn = np.linalg.norm(pieces[:, 1] - pieces[:, 0], axis=1).sum()
        assert drawn == pytest.approx(lw.tendons.tendon_length(robot, q).sum(), rel=5e-3)
    assert 5 <= wrapped < 21


def test_springs_end_where_they_are_fixed() -> None:
    robot = lw.zoo.pendulum(1)
    spring = lw.Spring(("world", (0.5, 0, 0)), robot.body_names[0], stiffness=10.0)
    sprung = robot.with_forces(spring)
    R, p = skeleton(sprung).poses(np.zeros(1))
    pieces = Strands(sprung, 1.0).spring_lines(R, p)
    np.testing.assert_allclose(pieces[0, 0], (0.5, 0, 0), atol=1e-12)
    np.testing.assert_allclose(pieces[-1, 1], lw.frame_placement(sprung, np.zeros(1), robot.body_names[0]).position)
    np.testing.assert_allclose(pieces[1:, 0], pieces[:-1, 1])


def test_the_box_of_an_inertia_has_that_inertia() -> None:
    turned = lw.Placement.rpy(0.3, 0.2, -0.5).rotation
    box = lw.Inertia.box(3.0, (0.2, 0.5, 0.3), (0.1, 0, 0.4))
    found = inertia_box(lw.Inertia(3.0, box.com, turned @ box.rotational @ turned.T))
    assert found is not None
    solid, place = found
    again = place.rotation @ lw.Inertia.box(3.0, solid.size).rotational @ place.rotation.T
    np.testing.assert_allclose(again, turned @ box.rotational @ turned.T, atol=1e-14)
    np.testing.assert_allclose(sorted(solid.size), [0.2, 0.3, 0.5])
    assert np.linalg.det(place.rotation) == pytest.approx(1.0)
    assert inertia_box(lw.Inertia(0.0)) is None
